// SPDX-License-Identifier: MIT
#include <llmres/runtimes/runtime.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/vllm.hpp>
#include <type_traits>

using namespace llmres;

TEST_CASE("a runtime and each of its parts is a plain value") {
    static_assert(std::is_trivially_copyable_v<runtime> && std::is_aggregate_v<runtime>);
    static_assert(std::is_aggregate_v<runtime_process> && std::is_aggregate_v<runtime_cache>);
    static_assert(std::is_aggregate_v<serving_step> && std::is_aggregate_v<training_kernels>);
}

TEST_CASE("a new version is a short value: the one before, what changed, and from when on") {
    // As if vLLM 0.30 admitted 512 sequences by default (docs/contributing/add-a-runtime-version.md).
    constexpr auto admits_more = [] {
        runtime r = runtimes::vllm;
        r.step.max_num_seqs = 512;
        return r;
    };
    constexpr runtime vllm_0_30 = for_versions(admits_more(), "0.30 and later", {0, 30, 0});
    static_assert(covers(vllm_0_30.identity, {0, 31, 2}) && !covers(vllm_0_30.identity, {0, 29}));
    static_assert(step_on(vllm_0_30.step, gib(24), false).max_num_seqs == 512);
    static_assert(step_on(vllm_0_30.step, gib(80), false).max_num_seqs == 1024);  // of large devices, as before
    static_assert(vllm_0_30.cache.fraction == runtimes::vllm.cache.fraction);
    static_assert(vllm_0_30 != runtimes::vllm);
}

namespace {

/// Whether a part of a runtime of which nothing is said does none of these.
template <class Part, class... More>
bool does_none(bool Part::* first, bool More::*... more) {
    Part part;
    return !(part.*first) && (!(part.*more) && ...);
}
template <class Part, class... More>
bool does_all(bool Part::* first, bool More::*... more) {
    Part part;
    return (part.*first) && ((part.*more) && ...);
}
template <class Part, class Number, class... More>
bool is_zero(Number Part::* first, More Part::*... more) {
    Part part;
    return (part.*first) == 0 && (((part.*more) == 0) && ...);
}

}  // namespace

TEST_CASE("a runtime of which nothing is said does none of what only some software does, and has no sizes of its own") {
    CHECK(does_none(&runtime_allocator::expandable_segments, &runtime_allocator::gaps_by_step,
                    &runtime_allocator::rounds_to_segments, &runtime_allocator::caches_freed_blocks,
                    &runtime_allocator::splits_buffers));
    CHECK(does_none(&runtime_cache::refuses_less, &runtime_cache::graphs_deducted, &runtime_cache::expands_latent,
                    &runtime_cache::latent_values, &runtime_cache::transposed_values,
                    &runtime_cache::needs_state_blocks, &runtime_cache::shares_prefixes,
                    &runtime_cache::whole_batches));
    CHECK(does_none(&training_loss::narrow, &training_loss::holds_logits, &training_loss::holds_outputs,
                    &training_loss::returns_fp32, &training_loss::widens_head_gradient));
    CHECK(is_zero(&training_loss::chunk_tokens));
    CHECK(does_none(&checkpointing::recomputes_cudnn, &checkpointing::reentrant, &checkpointing::inside_units,
                    &checkpointing::offloads_at_once));
    CHECK(does_none(&compilation::layers, &compilation::loss));
    CHECK(does_none(&fp8_training::param_gather));
    CHECK(does_none(&training_kernels::use_fused_weighted_squared_relu, &training_kernels::keeps_gathered_inputs,
                    &training_kernels::fp32_stream, &training_kernels::four_bit_keeps_inputs));
    CHECK(does_none(&runtime_launches::joined, &runtime_launches::own_all_reduce, &runtime_launches::copies_cache,
                    &runtime_launches::joins_casts));
    CHECK(is_zero(&runtime_launches::bytes_a_clock));
    CHECK(does_none(&tensor_split::pads_width, &tensor_split::power_of_two, &tensor_split::refuses_uneven,
                    &tensor_split::refuses_cut_blocks));
    CHECK(is_zero(&tensor_split::vocabulary_multiple));
    CHECK(does_none(&untried_degrees::tensor, &untried_degrees::pipeline, &untried_degrees::sequence_parallel,
                    &untried_degrees::context_parallel, &untried_degrees::expert));
    CHECK(does_none(&layout_rules::virtual_pipeline, &layout_rules::sequence_parallel, &layout_rules::context_parallel,
                    &layout_rules::uneven_stages));
    CHECK(does_none(&host_experts::copied, &host_experts::copied_by_expert, &host_experts::fused_gates));
    CHECK(does_none(&mxfp4_experts::scales_again, &mxfp4_experts::padded, &mxfp4_experts::pads_values));
    CHECK(does_none(&runtime_loading::embedding_on_host, &runtime_loading::maps_weights, &runtime_loading::head_again,
                    &runtime_loading::towers_everywhere, &runtime_loading::fits_memory,
                    &runtime_loading::fetches_quantised, &runtime_loading::head_first, &runtime_loading::own_library));
    CHECK(does_none(&ends_in_use::by_predictions, &ends_in_use::by_adapters, &ends_in_use::by_every_stage));
    CHECK(is_zero(&runtime_loading::repacked));
    CHECK(does_none(&runtime_process::communicator_once));
    CHECK(is_zero(&runtime_process::pipeline_groups));
    CHECK(does_none(&latent_kernels::absorbed, &latent_kernels::expands_all, &latent_kernels::copies_values,
                    &latent_kernels::compressed_in_fp8, &latent_kernels::not_in_nvfp4));
    CHECK(does_none(&ggml_graphs::laid_out, &ggml_graphs::gated_apart, &ggml_graphs::value_rows,
                    &ggml_graphs::narrow_masks, &ggml_graphs::rotates_quantised, &ggml_graphs::all_states,
                    &ggml_graphs::copies_states, &ggml_graphs::values_first));
    CHECK(is_zero(&ggml_graphs::inputs_of_embedding));
    CHECK(does_none(&serving_kernels::fp32_activations, &serving_kernels::written_in_place,
                    &serving_kernels::output_over_query, &serving_kernels::attention_mask,
                    &serving_kernels::feed_forward_under_logits, &serving_kernels::keeps_expert_scratch,
                    &serving_kernels::copies_int8, &serving_kernels::loads_in_compute));
    CHECK(is_zero(&serving_kernels::more_hidden, &serving_kernels::widest_fused_head));
    CHECK(is_zero(&device_default::max_num_seqs));
    CHECK(does_none(&serving_logits::on_first_gpu, &serving_logits::to_host));
    CHECK(is_zero(&serving_logits::few_rows_bytes, &serving_logits::hidden_vectors, &serving_logits::filter_rows));
    CHECK(does_none(&serving_step::a100_is_small, &serving_step::profiles));
    CHECK(is_zero(&serving_step::max_num_seqs));
    CHECK(
        does_none(&deepspeed_zero::bucket_size_known, &deepspeed_zero::overlap_comm, &deepspeed_zero::flattens_on_gpu));
    CHECK(is_zero(&deepspeed_zero::reduce_bucket_size, &deepspeed_zero::sub_group_size));
    CHECK(does_none(&training_sharding::keeps_gradients, &training_sharding::upcasts,
                    &training_sharding::separate_streams, &training_sharding::separate_ends));
    CHECK(does_none(&optimizer_step::steps_weights, &optimizer_step::fp32_beside_bf16,
                    &optimizer_step::widens_gradients, &optimizer_step::copies_master_weights,
                    &optimizer_step::layer_wise));
    CHECK(does_none(&training_pipeline::defer_embedding_wgrad_compute, &training_pipeline::keeps_stage_outputs,
                    &training_pipeline::partitions_sends, &training_pipeline::naive));
    CHECK(is_zero(&training_pipeline::wgrad_deferral_limit));
}

TEST_CASE("a runtime of which nothing is said does what all software does that says nothing of it") {
    CHECK(does_all(&training_loss::returns_logits));
    CHECK(does_all(&training_kernels::shared_heads, &training_kernels::fp32_adapters));
    CHECK(does_all(&runtime_launches::overlaps_gradients));
    CHECK(does_all(&tensor_split::copies_kv_heads));
    CHECK(does_all(&layout_rules::tensor, &layout_rules::pipeline, &layout_rules::expert));
    CHECK(does_all(&training_sharding::gradient_as_bucket_view, &training_sharding::sync_each_batch,
                   &training_sharding::reshards_after_forward));
    CHECK(does_all(&optimizer_step::foreach_tensors, &optimizer_step::layer_wise_param_layout));
    runtime nothing_said;
    CHECK(nothing_said.cache.copies == 1);
    CHECK(nothing_said.kernels.loss.chunks == 8);
    CHECK(nothing_said.launches.floors == 1.0);
    CHECK(nothing_said.launches.small_kernels == 6);
    CHECK(nothing_said.layouts.least_zero == 1);
    CHECK(nothing_said.layouts.most_zero == 3);
    CHECK(nothing_said.layouts.most_zero_with_pipeline == 1);
    CHECK(nothing_said.serving_kernels.score_bytes == 4);
    CHECK(nothing_said.step.copies == 1);
    CHECK(nothing_said.accuracy.activations == interval<double>{1.0, 1.0, 1.0});
    CHECK(nothing_said.accuracy.undescribed == interval<double>{1.0, 1.0, 1.0});
}

TEST_CASE("a profile of some versions says so in words, and holds for these alone") {
    const runtime some = for_versions(no_runtime, "0.3 and 0.4", {0, 3}, {0, 5});
    CHECK(some.identity.versions == "0.3 and 0.4");
    CHECK_FALSE(covers(some.identity, {0, 2, 9}));
    CHECK(covers(some.identity, {0, 3}));
    CHECK(covers(some.identity, {0, 4, 9}));
    CHECK_FALSE(covers(some.identity, {0, 5}));
}
