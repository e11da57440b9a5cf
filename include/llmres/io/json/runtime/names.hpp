// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <string_view>

/// The names of a runtime profile's enumerations as data, and of the functions that choose a fraction of the device.
namespace llmres::inline v0::detail {

using names_3 = std::array<std::string_view, 3>;

constexpr auto names_of(runtime_work) { return names_3{"any", "serving", "training"}; }
constexpr auto names_of(allocator_code) { return names_3{"cuda_malloc", "pytorch_caching", "stream_ordered"}; }
constexpr auto names_of(cache_pool) {
    return std::array<std::string_view, 5>{"grows", "allotted", "share_of_total", "share_with_weights",
                                           "share_of_free"};
}
constexpr auto names_of(window_cells) {
    return std::array<std::string_view, 4>{"window", "whole", "window_batch", "longer_part"};
}
constexpr auto names_of(rope_tables) { return std::array<std::string_view, 4>{"computed", "shared", "own", "cached"}; }
constexpr auto names_of(projection_tensors) { return names_3{"separate", "fused", "joined"}; }
constexpr auto names_of(scored_tokens) {
    return std::array<std::string_view, 4>{"last", "profiled", "chunk", "prompt"};
}
constexpr auto names_of(profiled_images) { return names_3{"none", "tower", "whole"}; }
constexpr auto names_of(norm_code) { return std::array<std::string_view, 2>{"eager", "fused"}; }
constexpr auto names_of(adapter_code) { return std::array<std::string_view, 2>{"modules", "fused"}; }
constexpr auto names_of(gate_code) { return names_3{"eager", "fused", "in_place"}; }
constexpr auto names_of(linear_code) { return names_3{"plain", "accumulates", "accumulates_beside"}; }
constexpr auto names_of(attention_code) { return attention_code_names; }
constexpr auto names_of(packed_code) { return packed_code_names; }
constexpr auto names_of(routed_code) { return routed_code_names; }
constexpr auto names_of(latent_value_code) { return std::array<std::string_view, 2>{"view", "copy"}; }
constexpr auto names_of(joined_heads_code) { return names_3{"by_model", "views", "copies"}; }
constexpr auto names_of(loss_compiling) { return names_3{"never", "chunked", "any"}; }
constexpr auto names_of(sharding_code) {
    return std::array<std::string_view, 4>{"buckets", "fsdp1", "fsdp2", "deepspeed"};
}
constexpr auto names_of(adapted_layer_units) { return names_3{"one", "one_kept", "by_trained_matrix"}; }
constexpr auto names_of(loss_code) { return loss_code_names; }
constexpr auto names_of(expert_code) { return expert_code_names; }
constexpr auto names_of(scan_code) { return scan_code_names; }
constexpr auto names_of(fp8_recipe) { return fp8_recipe_names; }
constexpr auto names_of(selective_code) { return selective_code_names; }
constexpr auto names_of(format_family) {
    return std::array<std::string_view, 14>{
        "plain",     "eight_bit_float", "eight_bit",      "microscaling", "gptq_words",
        "awq_words", "packed",          "bitsandbytes",   "gguf",         "gguf_ik",
        "exllama2",  "exllama3",        "half_quadratic", "mlx"};
}
constexpr auto names_of(knob_setting) {
    return std::array<std::string_view, 21>{
        "batched_tokens",     "sequences",   "cache_block",     "cache_bytes",       "cache_tokens",
        "cache_blocks",       "window_part", "max_loras",       "max_lora_rank",     "no_cuda_graphs",
        "graph_context",      "gpu_layers",  "flash_attention", "whole_windows",     "experts_on_host",
        "host_expert_layers", "latent_part", "latent_use",      "no_mapped_weights", "repacks_on_host",
        "host_computes"};
}
static_assert(names_of(knob_setting::host_computes).back() == "host_computes" &&
                  names_of(knob_setting::host_computes).size() ==
                      static_cast<std::size_t>(knob_setting::host_computes) + 1,
              "each setting has a name, in the order of knob_setting");

/// How a runtime chooses its fraction of the device, by the names that profiles as data have for it.
struct named_fraction {
    std::string_view name;
    decltype(runtime_cache::default_fraction) choose;
};
inline constexpr std::array named_fractions{named_fraction{"sglang_by_step", runtimes::detail::sglang_by_step},
                                            named_fraction{"sglang_by_size", runtimes::detail::sglang_by_size},
                                            named_fraction{"sglang_by_ranks", runtimes::detail::sglang_by_ranks}};

}  // namespace llmres::inline v0::detail
