// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/runtimes/all.hpp>
#include <string_view>
#include <type_traits>

/// The fields of a runtime profile, each listed once, for whoever reads, writes or compares profiles as data. A key is
/// the name of the C++ field.
namespace llmres::inline v0::detail {

/// The names of fields.
template <class... Names>
constexpr std::array<std::string_view, sizeof...(Names)> named_fields(Names... names) {
    return {names...};
}

// ---- names of enumerations, in their order --------------------------------------------------------------------------

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
constexpr auto names_of(gate_code) { return std::array<std::string_view, 2>{"eager", "fused"}; }
constexpr auto names_of(linear_code) { return names_3{"plain", "accumulates", "accumulates_beside"}; }
constexpr auto names_of(attention_code) { return attention_code_names; }
constexpr auto names_of(latent_value_code) { return std::array<std::string_view, 2>{"view", "copy"}; }
constexpr auto names_of(loss_compiling) { return names_3{"never", "chunked", "any"}; }
constexpr auto names_of(sharding_code) {
    return std::array<std::string_view, 4>{"buckets", "fsdp1", "fsdp2", "deepspeed"};
}
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
    return std::array<std::string_view, 17>{
        "batched_tokens", "sequences",  "cache_block",       "max_loras",       "max_lora_rank",   "no_cuda_graphs",
        "graph_context",  "gpu_layers", "flash_attention",   "whole_windows",   "experts_on_host", "host_expert_layers",
        "latent_part",    "latent_use", "no_mapped_weights", "repacks_on_host", "host_computes"};
}

/// How a runtime chooses its fraction of the device, by the names that profiles as data have for it.
struct named_fraction {
    std::string_view name;
    decltype(runtime_cache::default_fraction) choose;
};
inline constexpr std::array named_fractions{named_fraction{"sglang_by_step", runtimes::detail::sglang_by_step},
                                            named_fraction{"sglang_by_size", runtimes::detail::sglang_by_size},
                                            named_fraction{"sglang_by_ranks", runtimes::detail::sglang_by_ranks}};

// ---- fields ---------------------------------------------------------------------------------------------------------

/// The names of a part's fields, in their order; 0 for what is no part of a profile.
template <class Part>
inline constexpr int fields_of = 0;
template <>
inline constexpr auto fields_of<llmres::runtime_identity> =
    named_fields("name", "work", "versions", "since", "before", "built", "knobs");
template <>
inline constexpr auto fields_of<llmres::runtime_launches> = named_fields(
    "layer", "eager_layer", "graph_context", "narrow_product", "looped_expert", "step", "request", "floors",
    "small_kernels", "attention", "joined", "overlaps_gradients", "own_all_reduce", "copies_cache", "bytes_a_clock");
template <>
inline constexpr auto fields_of<llmres::runtime_process> =
    named_fields("context", "workspace", "expert_workspace", "product_workspace", "communicator", "communicator_once",
                 "pipeline_groups", "fused_all_reduce", "cuda_graphs", "layer_graphs");
template <>
inline constexpr auto fields_of<llmres::runtime_allocator> =
    named_fields("code", "fragmentation", "expandable_fragmentation", "expandable_segments", "activation_fragmentation",
                 "rounds_to_segments", "caches_freed_blocks");
template <>
inline constexpr auto fields_of<llmres::host_experts> = named_fields("copied", "copied_by_expert", "fused_gates");
template <>
inline constexpr auto fields_of<llmres::mxfp4_experts> = named_fields("scales_again", "padded");
template <>
inline constexpr auto fields_of<llmres::runtime_loading> =
    named_fields("formats", "rope", "embedding_on_host", "maps_weights", "host_experts", "head_again", "mxfp4",
                 "projections", "repacked", "towers_everywhere", "fits_memory");
template <>
inline constexpr auto fields_of<llmres::runtime_cache> =
    named_fields("pool", "fraction", "default_fraction", "fraction_name", "refuses_less", "graphs_deducted", "block",
                 "windows", "expands_latent", "latent_values", "fp32_states", "whole_batches", "copies");
template <>
inline constexpr auto fields_of<llmres::device_default> = named_fields("from", "max_batched_tokens", "max_num_seqs");
template <>
inline constexpr auto fields_of<llmres::serving_logits> = named_fields(
    "rows", "bytes", "chunked_bytes", "dense_bytes", "few_rows_bytes", "hidden_vectors", "filter_rows", "on_first_gpu");
template <>
inline constexpr auto fields_of<llmres::serving_step> =
    named_fields("max_batched_tokens", "max_num_seqs", "larger_devices", "a100_is_small", "chunked_beyond", "profiles",
                 "images", "copies", "logits");
template <>
inline constexpr auto fields_of<llmres::latent_kernels> = named_fields("absorbed", "expanded", "expands_all");
template <>
inline constexpr auto fields_of<llmres::ggml_graphs> =
    named_fields("laid_out", "gated_apart", "value_rows", "narrow_masks", "rotates_quantised", "all_states",
                 "copies_states", "values_first", "inputs_of_embedding");
template <>
inline constexpr auto fields_of<llmres::serving_kernels> = named_fields(
    "fp32_activations", "written_in_place", "graph", "output_over_query", "attention_mask", "flash_attention", "latent",
    "more_hidden", "dequantised_from", "score_bytes", "feed_forward_under_logits", "keeps_expert_scratch");
template <>
inline constexpr auto fields_of<llmres::training_loss> =
    named_fields("code", "chunks", "chunk_tokens", "returns_logits", "narrow", "holds_logits", "returns_fp32",
                 "widens_head_gradient");
template <>
inline constexpr auto fields_of<llmres::checkpointing> =
    named_fields("selective", "recomputes_cudnn", "reentrant", "inside_units", "offloads_at_once");
template <>
inline constexpr auto fields_of<llmres::compilation> = named_fields("layers", "loss_with_layers", "loss");
template <>
inline constexpr auto fields_of<llmres::fp8_training> = named_fields("recipe", "param_gather");
template <>
inline constexpr auto fields_of<llmres::training_kernels> = named_fields(
    "norm", "gate", "loss", "linear", "experts", "scan", "latent_values", "use_fused_weighted_squared_relu",
    "joined_heads", "shared_heads", "casts_weights", "keeps_gathered_inputs", "fp32_adapters", "fp32_stream",
    "four_bit_keeps_inputs", "compilation", "fp8", "checkpointing");
template <>
inline constexpr auto fields_of<llmres::training_sharding> =
    named_fields("code", "keeps_gradients", "keeps_frozen_gathered", "reshards_after_forward", "separate_streams",
                 "separate_ends", "reduce_bucket_size", "sub_group_size");
template <>
inline constexpr auto fields_of<llmres::optimizer_step> =
    named_fields("foreach_tensors", "gradients", "steps_weights", "fp32_beside_bf16", "widens_gradients",
                 "copies_master_weights", "layer_wise", "layer_wise_param_layout");
template <>
inline constexpr auto fields_of<llmres::training_pipeline> = named_fields(
    "defer_embedding_wgrad_compute", "wgrad_deferral_limit", "keeps_stage_outputs", "partitions_sends", "naive");
template <>
inline constexpr auto fields_of<llmres::tensor_split> =
    named_fields("copies_kv_heads", "pads_width", "power_of_two", "vocabulary_multiple", "refuses_uneven");
template <>
inline constexpr auto fields_of<llmres::layout_rules> =
    named_fields("tensor", "pipeline", "virtual_pipeline", "sequence_parallel", "context_parallel", "expert",
                 "uneven_stages", "split", "most_zero", "most_zero_with_pipeline");
template <>
inline constexpr auto fields_of<llmres::runtime_accuracy> = named_fields("activations", "undescribed", "logits");
template <>
inline constexpr auto fields_of<llmres::runtime> =
    named_fields("identity", "launches", "process", "allocator", "accuracy", "loading", "cache", "step",
                 "serving_kernels", "kernels", "optimizer", "sharding", "pipeline", "layouts");

/// Whether a type is a part of a profile, which holds fields.
template <class Part>
inline constexpr bool is_part = !std::is_same_v<decltype(fields_of<Part>), const int>;

/// Calls visit(field) for each of a struct's first-to-last fields. A number of names other than the struct's number of
/// fields does not compile.
template <std::size_t Count, class Part, class Visit>
constexpr void each_member(Part& part, Visit&& visit) {
    const auto all = [&](auto&... member) { (visit(member), ...); };
    if constexpr (Count == 2) {
        auto& [a, b] = part;
        all(a, b);
    } else if constexpr (Count == 3) {
        auto& [a, b, c] = part;
        all(a, b, c);
    } else if constexpr (Count == 4) {
        auto& [a, b, c, d] = part;
        all(a, b, c, d);
    } else if constexpr (Count == 5) {
        auto& [a, b, c, d, e] = part;
        all(a, b, c, d, e);
    } else if constexpr (Count == 6) {
        auto& [a, b, c, d, e, f] = part;
        all(a, b, c, d, e, f);
    } else if constexpr (Count == 7) {
        auto& [a, b, c, d, e, f, g] = part;
        all(a, b, c, d, e, f, g);
    } else if constexpr (Count == 8) {
        auto& [a, b, c, d, e, f, g, h] = part;
        all(a, b, c, d, e, f, g, h);
    } else if constexpr (Count == 9) {
        auto& [a, b, c, d, e, f, g, h, i] = part;
        all(a, b, c, d, e, f, g, h, i);
    } else if constexpr (Count == 10) {
        auto& [a, b, c, d, e, f, g, h, i, j] = part;
        all(a, b, c, d, e, f, g, h, i, j);
    } else if constexpr (Count == 11) {
        auto& [a, b, c, d, e, f, g, h, i, j, k] = part;
        all(a, b, c, d, e, f, g, h, i, j, k);
    } else if constexpr (Count == 12) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l);
    } else if constexpr (Count == 13) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m);
    } else if constexpr (Count == 14) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
    } else if constexpr (Count == 15) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
    } else if constexpr (Count == 18) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
    } else {
        static_assert(Count == 0, "a part has more fields than are listed here");
    }
}

/// Calls visit(name, field) for each field of a part.
template <class Part, class Visit>
constexpr void each_field(Part& part, Visit&& visit) {
    constexpr const auto& names = fields_of<std::remove_const_t<Part>>;
    std::size_t next = 0;
    each_member<names.size()>(part, [&](auto& member) { visit(names[next++], member); });
}

}  // namespace llmres::inline v0::detail
