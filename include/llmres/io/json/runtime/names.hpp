// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// The names of a runtime profile's enumerations as data, and of the functions that choose a fraction of the device.
namespace llmres::inline v0 {

/// The names of the values of runtime_work, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<runtime_work>{"any", "serving", "training"};
/// The names of the values of cache_pool, in their order.
template <>
inline constexpr std::array<std::string_view, 5> names_of<cache_pool>{"grows", "allotted", "share_of_total",
                                                                      "share_with_weights", "share_of_free"};
/// The names of the values of window_cells, in their order.
template <>
inline constexpr std::array<std::string_view, 5> names_of<window_cells>{"window", "whole", "window_batch",
                                                                        "longer_part", "grouped"};
/// The names of the values of state_cells, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<state_cells>{"mixed", "wide", "published"};
/// The names of the values of steps_in_flight, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<steps_in_flight>{"one", "stages", "stages_ahead"};
/// The names of the values of slot_cells, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<slot_cells>{"of_sequences", "of_slots", "apart"};
/// The names of the values of row_split, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<row_split>{"beside_layers", "beside_first",
                                                                     "always_beside_first"};
/// The names of the values of rope_tables, in their order.
template <>
inline constexpr std::array<std::string_view, 4> names_of<rope_tables>{"computed", "shared", "own", "cached"};
/// The names of the values of projection_tensors, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<projection_tensors>{"separate", "fused", "joined"};
/// The names of the values of scored_tokens, in their order.
template <>
inline constexpr std::array<std::string_view, 4> names_of<scored_tokens>{"last", "profiled", "chunk", "prompt"};
/// The names of the values of profiled_images, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<profiled_images>{"none", "tower", "whole"};
/// The names of the values of norm_code, in their order.
template <>
inline constexpr std::array<std::string_view, 2> names_of<norm_code>{"eager", "fused"};
/// The names of the values of adapter_code, in their order.
template <>
inline constexpr std::array<std::string_view, 2> names_of<adapter_code>{"modules", "fused"};
/// The names of the values of gate_code, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<gate_code>{"eager", "fused", "in_place"};
/// The names of the values of linear_code, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<linear_code>{"plain", "accumulates", "accumulates_beside"};
/// The names of the values of latent_value_code, in their order.
template <>
inline constexpr std::array<std::string_view, 2> names_of<latent_value_code>{"view", "copy"};
/// The names of the values of joined_heads_code, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<joined_heads_code>{"by_model", "views", "copies"};
/// The names of the values of loss_compiling, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<loss_compiling>{"never", "chunked", "any"};
/// The names of the values of sharding_code, in their order.
template <>
inline constexpr std::array<std::string_view, 4> names_of<sharding_code>{"buckets", "fsdp1", "fsdp2", "deepspeed"};
/// The names of the values of module_code, in their order.
template <>
inline constexpr std::array<std::string_view, 2> names_of<module_code>{"transformers", "own"};
/// The names of the values of adapted_layer_units, in their order.
template <>
inline constexpr std::array<std::string_view, 2> names_of<adapted_layer_units>{"one", "by_trained_matrix"};
/// The names of the values of format_family, in their order.
template <>
inline constexpr std::array<std::string_view, 14> names_of<format_family>{
    "plain", "eight_bit_float", "eight_bit", "microscaling", "gptq_words",     "awq_words", "packed", "bitsandbytes",
    "gguf",  "gguf_ik",         "exllama2",  "exllama3",     "half_quadratic", "mlx"};
/// The names of the values of device_support, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<device_support>{"runs", "unmeasured", "absent"};
/// The names of the values of knob_setting, in their order.
template <>
inline constexpr std::array<std::string_view, 22> names_of<knob_setting>{
    "batched_tokens",    "sequences",       "cache_block",     "cache_bytes",        "cache_tokens",  "cache_blocks",
    "window_part",       "max_loras",       "max_lora_rank",   "no_cuda_graphs",     "graph_context", "gpu_layers",
    "flash_attention",   "whole_windows",   "experts_on_host", "host_expert_layers", "latent_part",   "latent_use",
    "no_mapped_weights", "repacks_on_host", "overlaps_steps",  "host_computes"};

static_assert(name_of(knob_setting::host_computes) == names_of<knob_setting>.back(),
              "each setting has a name, in the order of knob_setting");

namespace detail {

/// How a runtime chooses its fraction of the device, by the names that profiles as data have for it.
struct named_fraction {
    std::string_view name;
    decltype(runtime_cache::default_fraction) choose;
};
inline constexpr std::array named_fractions{named_fraction{"sglang_by_step", runtimes::detail::sglang_by_step},
                                            named_fraction{"sglang_by_size", runtimes::detail::sglang_by_size},
                                            named_fraction{"sglang_by_ranks", runtimes::detail::sglang_by_ranks}};

}  // namespace detail

}  // namespace llmres::inline v0
