// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/jobs/serving_options.hpp>
#include <llmres/runtimes/runtime.hpp>

/// The knobs of a runtime that a job document turns by the library's names for them, each with its place: one list for
/// those who read them and for those who write what differs from a profile.
namespace llmres::inline v0::detail {

/// Calls turn's functions for each knob of serving, with its name, its place, and its value where nobody turns it.
template <class Runtime, class Options, class Turn>
void for_each_serving_knob(Runtime& r, Options& asked, const runtime& usual, Turn& turn) {
    constexpr serving_options unasked{};
    turn.value("kv_block", r.cache.block, usual.cache.block);
    turn.value("max_num_seqs", asked.max_num_seqs, unasked.max_num_seqs);
    turn.value("flash_attention", r.serving_kernels.flash_attention, usual.serving_kernels.flash_attention);
    turn.value("gpu_layers", asked.gpu_layers, unasked.gpu_layers);
    turn.value("embedding_on_host", r.loading.embedding_on_host, usual.loading.embedding_on_host);
    turn.value("experts_on_host", asked.experts_on_host, unasked.experts_on_host);
    turn.value("split_rows", asked.splits_rows, unasked.splits_rows);
    turn.value("ggml_backend", asked.backend, unasked.backend);
    turn.value("largest_buffer", asked.largest_buffer, unasked.largest_buffer);
    turn.value("max_loras", asked.max_loras, unasked.max_loras);
    turn.value("max_lora_rank", asked.max_lora_rank, unasked.max_lora_rank);
    turn.value("encoder_tokens", asked.encoder_tokens, unasked.encoder_tokens);
    turn.value("speculates_ahead", asked.speculates_ahead, unasked.speculates_ahead);
    turn.value("draft_tokens", asked.draft_tokens, unasked.draft_tokens);
    turn.value("acceptance", asked.acceptance, unasked.acceptance);
    turn.value("rope_scaling", asked.rope_scaling, unasked.rope_scaling);
}

/// The same for each knob of training. A flag that stands for one of two values names both.
template <class Runtime, class Turn>
void for_each_training_knob(Runtime& r, const runtime& usual, Turn& turn) {
    auto& k = r.kernels;
    const training_kernels& u = usual.kernels;
    turn.value("loss", k.loss.code, u.loss.code);
    turn.value("scan", k.scan, u.scan);
    turn.value("expandable_segments", r.allocator.expandable_segments, usual.allocator.expandable_segments);
    turn.value("attention_kernels", r.launches.attention, usual.launches.attention);
    turn.value("compiled", k.compilation.layers, u.compilation.layers);
    turn.value("compiled_loss", k.compilation.loss, u.compilation.loss);
    turn.either("fused_norms", k.norm, u.norm, norm_code::fused, norm_code::eager);
    // Beside a runtime without such a kernel of its own it is Liger's.
    const gate_code gate = u.gate == gate_code::eager ? gate_code::in_place : u.gate;
    turn.either("fused_gates", k.gate, u.gate, gate, gate_code::eager);
    turn.value("use_fused_weighted_squared_relu", k.use_fused_weighted_squared_relu, u.use_fused_weighted_squared_relu);
    turn.value("narrow_loss", k.loss.narrow, u.loss.narrow);
    turn.value("holds_outputs", k.loss.holds_outputs, u.loss.holds_outputs);
    turn.value("experts", k.experts, u.experts);
    turn.value("selective", k.checkpointing.selective, u.checkpointing.selective);
    turn.value("save_on_cpu", k.checkpointing.offloads_at_once, u.checkpointing.offloads_at_once);
    turn.either("gradient_accumulation_fusion", k.linear, u.linear, linear_code::accumulates_beside,
                linear_code::plain);
    turn.value("fp32_stream", k.fp32_stream, u.fp32_stream);
    turn.value("fp32_adapters", k.fp32_adapters, u.fp32_adapters);
    turn.either("fused_adapters", k.adapters, u.adapters, adapter_code::fused, adapter_code::modules);
    turn.value("four_bit_keeps_inputs", k.four_bit_keeps_inputs, u.four_bit_keeps_inputs);
    turn.value("use_reentrant", k.checkpointing.reentrant, u.checkpointing.reentrant);
    turn.value("checkpoints_inside_units", k.checkpointing.inside_units, u.checkpointing.inside_units);
    turn.value("reshard_after_forward", r.sharding.reshards_after_forward, usual.sharding.reshards_after_forward);
    turn.value("sync_each_batch", r.sharding.sync_each_batch, usual.sharding.sync_each_batch);
    turn.value("gradient_as_bucket_view", r.sharding.gradient_as_bucket_view, usual.sharding.gradient_as_bucket_view);
    turn.value("fp8_recipe", k.fp8.recipe, u.fp8.recipe);
    turn.value("fp8_param_gather", k.fp8.param_gather, u.fp8.param_gather);
    turn.value("layer_wise_param_layout", r.optimizer.layer_wise_param_layout, usual.optimizer.layer_wise_param_layout);
    turn.value("defer_embedding_wgrad_compute", r.pipeline.defer_embedding_wgrad_compute,
               usual.pipeline.defer_embedding_wgrad_compute);
    turn.value("wgrad_deferral_limit", r.pipeline.wgrad_deferral_limit, usual.pipeline.wgrad_deferral_limit);
    turn.value("reduce_bucket_size", r.sharding.deepspeed.reduce_bucket_size,
               usual.sharding.deepspeed.reduce_bucket_size);
    turn.value("overlap_comm", r.sharding.deepspeed.overlap_comm, usual.sharding.deepspeed.overlap_comm);
    turn.value("sub_group_size", r.sharding.deepspeed.sub_group_size, usual.sharding.deepspeed.sub_group_size);
}

}  // namespace llmres::inline v0::detail
