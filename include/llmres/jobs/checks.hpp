// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/jobs/pipeline.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/jobs/runtime_checks.hpp>
#include <llmres/models/format_families.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/runtimes/devices.hpp>
#include <llmres/runtimes/identity.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/layout_rules.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// Which jobs, layouts and adapters are refused, and why? On which GPUs does a runtime not start?
namespace llmres::inline v0 {

namespace detail {

/// Refuses images of which nobody says the patches, and images of a model that sees none.
constexpr status validate_images(const job& j) {
    if (const status s = in_range("images", j.images.count, 0, most::sequences); !s) return s;
    if (const status s = in_range("image_patches", j.images.patches.in(tokens), 0, most::tokens); !s) return s;
    if (j.images.count == 0) return done{};
    if (j.model.encoders[0].layers == 0)
        return refused(error_code::unsupported, "images", j.images.count, "0: the model has no vision tower");
    if (j.images.patches == token_count{})
        return refused(error_code::missing, "image_patches", "absent",
                       "the patches of an image, or image: its size in pixels");
    return done{};
}

/// Refuses so many tokens at once that the bytes of a tensor would leave 64 bits.
constexpr status tokens_fit(std::string_view field, std::int64_t value, double at_once, const model& m) {
    constexpr double most = 1152921504606846976.0;  // 2^60: bytes, copies and sums have room above it
    if (at_once * widest_activation(m) <= most) return done{};
    return refused(error_code::overflow, field, value, "tokens at once whose widest tensor has at most 2^60 elements");
}

/// The error of a context that the model was not trained for, with the least factor that would do.
constexpr error beyond_own_context(const job& j) {
    error made = refused(error_code::out_of_range, "context", context_of(j).in(tokens),
                         "at most the model's own context, ", j.model.max_context.in(tokens));
    if (j.options.rope_scaling > 1) {
        made.expected.append(", times runtime.rope_scaling");
    } else {
        made.expected.append(", unless the runtime extends it (runtime.rope_scaling ");
        made.expected.append(digits(ceil_quotient(context_of(j).in(tokens), j.model.max_context.in(tokens))));
        made.expected.append(")");
    }
    return made;
}

/// Refuses a context that nobody gives, that is too small for prompt and output, or that the model was not trained for.
constexpr status validate_context(const job& j) {
    if (context_of(j) == token_count{})
        return refused(error_code::missing, "context", "absent",
                       "tokens that a sequence may reach (--context N): the model gives no longest context");
    if (const status s = in_range("context", context_of(j).in(tokens), 1, most::tokens); !s) return s;
    if (j.prompt + j.output > context_of(j))
        return refused(error_code::inconsistent, "context", context_of(j).in(tokens),
                       "at least prompt + output tokens");
    if (exceeds_own_context(j) && context_of(j) > scaled_context(j)) return beyond_own_context(j);
    return done{};
}

/// Refuses sizes that would leave 64 bits: of the tokens of a training step; or of a serving job, of one step of its
/// runtime, and of the images in such a step.
constexpr status sizes_fit(const job& j) {
    const auto count = [](token_count t) { return static_cast<double>(t.in(tokens)); };
    const encoder& seen = j.model.encoders[0];
    if (trains(j)) {
        const token_count each = computed_tokens(j) < seen.output ? seen.output : computed_tokens(j);
        return tokens_fit("micro_batch", j.micro_batch, static_cast<double>(j.micro_batch) * count(each), j.model);
    }
    const runtime& r = j.runtime;
    const double all = static_cast<double>(j.batch) * count(context_of(j));
    if (const status s = tokens_fit("batch", j.batch, all, j.model); !s) return s;
    const token_count step =
        j.max_batched_tokens > r.step.max_batched_tokens ? j.max_batched_tokens : r.step.max_batched_tokens;
    if (count(step) > all)
        if (const status s = tokens_fit("max_batched_tokens", step.in(tokens), count(step), j.model); !s) return s;
    if (seen.layers == 0) return done{};
    if (const status s = tokens_fit("runtime.encoder_tokens", j.options.encoder_tokens.in(tokens),
                                    count(j.options.encoder_tokens), j.model);
        !s)
        return s;
    const double of_prompts = static_cast<double>(j.batch) * static_cast<double>(j.images.count);
    if (const status s = tokens_fit("images", j.images.count, of_prompts * count(j.images.patches), j.model); !s)
        return s;
    if (seen.image_tokens == token_count{}) return done{};
    const double images = 1 + (count(step) > all ? count(step) : all) / count(seen.image_tokens);
    const token_count of_image = seen.image_patches > seen.image_tokens ? seen.image_patches : seen.image_tokens;
    return tokens_fit("encoder.image_patches", of_image.in(tokens), images * count(of_image), j.model);
}

/// Refuses a schedule without the chunks that it needs, and stages that do not hold each of the layers once.
constexpr status validate_stages(const layout& l, std::int32_t layers) {
    if (l.schedule == pipeline_schedule::zb_v && l.virtual_pipeline != 2)
        return refused(error_code::inconsistent, "layout.schedule", name_of(l.schedule),
                       "virtual_pipeline 2: the two arms of the V");
    if (defers_weight_gradients(l.schedule) && l.schedule != pipeline_schedule::zb_v && l.virtual_pipeline != 1)
        return refused(error_code::unsupported, "layout.schedule", name_of(l.schedule),
                       "1f1b or zb_v with virtual_pipeline");
    if (l.deals_evenly()) return done{};
    if (const status s = all_in_range(bounded_field{"layout.first_stage_layers", l.first_stage_layers, 0, layers},
                                      bounded_field{"layout.last_stage_layers", l.last_stage_layers, 0, layers});
        !s)
        return s;
    const bool by_ends = l.first_stage_layers + l.last_stage_layers > 0;
    const bool as_layers = l.embedding_as_layer || l.loss_as_layer;
    if ((l.stages.chunks > 0) + by_ends + as_layers > 1)
        return refused(
            error_code::inconsistent, "layout.stages", l.stages.chunks,
            "one way to partition layers: stages, those of the first and last, or embedding and loss as layers");
    std::int32_t placed = 0;
    for (std::int32_t chunk = 0; chunk < l.chunks(); ++chunk) {
        const std::int32_t here = chunk_layers(l, layers, chunk);
        if (here < 0)
            return refused(error_code::inconsistent, "layout.pipeline", l.pipeline,
                           "at least one layer a chunk, embedding or loss counted");
        placed += here;
    }
    if (placed == layers) return done{};
    return refused(error_code::inconsistent,
                   l.stages.chunks > 0 ? "layout.stages"
                   : by_ends           ? "layout.first_stage_layers"
                                       : "layout.pipeline",
                   placed, "stages that hold all layers of the model, ", layers);
}

/// Whether an adapter trains anything beside the weights of this model.
constexpr bool adds_weights(const adapter& a, const model& m) {
    if (a.kind == adapter_kind::prompt || a.prompts_layers()) return true;
    bool any = false;
    for (const layer& kind : m.layers.distinct())
        for_each_weight(kind, m.hidden, [&](const weight& w) {
            any = any || (w.rows > 1 && w.columns > 1 && a.touches(w.role, w.routed));
        });
    return any;
}

}  // namespace detail

/// Refuses an adapter without a rank, with a dropout outside [0, 1), or one that adds no weights to this model.
constexpr status validate(const adapter& a, const model& m) {
    if (!a.trains()) return done{};
    if (a.kind != adapter_kind::ia3) {
        if (a.rank == 0)
            return refused(error_code::missing, "adapter.rank", "0 or absent",
                           a.low_rank() ? "an integer from 1 to 65536 (PEFT's default is 8)"
                                        : "a number of trained tokens from 1 to 65536");
        if (const status s = in_range("adapter.rank", a.rank, 1, 65536); !s) return s;
    }
    if (!(a.dropout >= 0 && a.dropout < 1))
        return refused(error_code::out_of_range, "adapter.dropout", "not in [0, 1)", "a part of 1");
    if (!detail::adds_weights(a, m))
        return refused(error_code::inconsistent, "adapter.targets", "no tensor", "linear layers that the model has");
    return done{};
}

namespace detail {

/// Refuses degrees out of their bounds, and more than 2^20 GPUs.
constexpr status validate_degrees(const layout& l) {
    if (const status s = all_in_range(numbers_of(l)); !s) return s;
    if (l.gpus() > most::gpus) return refused(error_code::out_of_range, "layout", l.gpus(), "at most 1048576 GPUs");
    return done{};
}

/// Refuses a tensor degree that does not divide the attention heads, and an expert degree that does not divide the
/// routed experts.
constexpr status validate_split_of_layers(const layout& l, const model& m) {
    bool routes = l.expert == 1;
    for (const layer& kind : m.layers.distinct()) {
        if (kind.attention.kind != attention_kind::none && kind.attention.heads % l.tensor != 0)
            return refused(error_code::inconsistent, "layout.tensor", l.tensor,
                           "a divisor of the model's attention heads, ", kind.attention.heads);
        const llmres::experts& moe = kind.feed_forward.experts;
        routes = routes || moe.count > 0;
        if (moe.count > 0 && moe.count % l.expert != 0)
            return refused(error_code::inconsistent, "layout.expert", l.expert,
                           "a divisor of the model's routed experts, ", moe.count);
    }
    if (!routes)
        return refused(error_code::inconsistent, "layout.expert", l.expert, "1: the model has no routed experts");
    if (l.dense_data_ranks() * l.tensor % (std::int64_t{l.expert} * l.expert_tensor_ranks()) != 0)
        return refused(error_code::inconsistent, "layout.expert", l.expert,
                       "expert x expert_tensor that divides data x context_parallel x tensor");
    return done{};
}

/// Refuses degrees within their bounds that this model cannot be partitioned by.
constexpr status validate_partition(const layout& l, const model& m) {
    if (l.dense_data_ranks() % l.shard_replicas != 0)
        return refused(error_code::inconsistent, "layout.shard_replicas", l.shard_replicas,
                       "a divisor of data x context_parallel");
    if (l.micro_batch_group > 0 && (l.virtual_pipeline == 1 || l.micro_batch_group < l.pipeline))
        return refused(error_code::inconsistent, "layout.micro_batch_group", l.micro_batch_group,
                       "at least `pipeline`, with virtual_pipeline above 1");
    const std::int64_t chunks = std::int64_t{l.pipeline} * l.virtual_pipeline;
    if (l.stages.chunks > 0 && l.stages.chunks != chunks)
        return refused(error_code::inconsistent, "layout.stages", l.stages.chunks,
                       "pipeline x virtual_pipeline chunks: ", chunks);
    const std::int32_t most_chunks = m.layers.size + l.embedding_as_layer + l.loss_as_layer;
    if (l.stages.chunks == 0 && l.pipeline > most_chunks)
        return refused(error_code::out_of_range, "layout.pipeline", l.pipeline,
                       "at most one pipeline stage a layer: ", m.layers.size);
    if (l.stages.chunks == 0 && chunks > most_chunks)
        return refused(error_code::out_of_range, "layout.virtual_pipeline", l.virtual_pipeline,
                       "at most one chunk a layer, of each stage at most ", most_chunks / l.pipeline);
    if (!l.deals_evenly() || l.schedule != pipeline_schedule::one_forward_one_backward)
        if (const status s = validate_stages(l, m.layers.size); !s) return s;
    if (l.sequence_parallel && l.tensor == 1)
        return refused(error_code::inconsistent, "layout.sequence_parallel", "true", "tensor parallelism above 1");
    return validate_split_of_layers(l, m);
}

}  // namespace detail

/// Refuses a layout that this model cannot be partitioned into: degrees below one, tensor degrees that do not divide
/// its heads, more stages than layers, stages that do not hold its layers, expert degrees that do not divide its
/// experts.
constexpr status validate(const layout& l, const model& m) {
    if (const status s = detail::validate_degrees(l); !s) return s;
    return detail::validate_partition(l, m);
}

namespace detail {

/// Refuses formats of the cache that the runtime does not keep it in.
constexpr status validate_cache(const job& j) {
    if (j.kv_cache)
        if (const status s = validate_cache_format(j.runtime, "kv_cache", *j.kv_cache); !s) return s;
    if (j.kv_cache_values)
        if (const status s = validate_cache_format(j.runtime, "kv_cache_values", *j.kv_cache_values); !s) return s;
    const precision& values = j.kv_cache_values ? *j.kv_cache_values : kv_cache_of(j);
    const bool flash = serving_attention_of(j) == attention_kernel::flash;
    if (!j.runtime.loading.caches.narrow_values_by_flash || flash || is_wide(values)) return done{};
    return refused(error_code::unsupported, j.kv_cache_values ? "kv_cache_values" : "kv_cache", values.name,
                   "fp16 values without flash attention: name runtime.flash_attn or another format of values");
}

}  // namespace detail

/// Refuses a job whose numbers are out of their bounds or contradict each other. What a layout or a cluster cannot do
/// is refused by the other functions here.
constexpr status validate(const job& j) {
    if (const status s = validate(j.model); !s) return s;
    if (j.runtime.identity.work == (trains(j) ? runtime_work::serving : runtime_work::training))
        return refused(error_code::unsupported, "runtime", j.runtime.identity.name,
                       trains(j) ? "a runtime that trains, such as pytorch or megatron, or task serving"
                                 : "a runtime that serves, such as vllm, or task pretraining or finetuning");
    if (const status s = detail::all_in_range(detail::reals_of(j)); !s) return s;
    if (!trains(j)) {
        if (const status s = validate(j.runtime, j.options, stored_format_of(j)); !s) return s;
        if (const status s = detail::validate_cache(j); !s) return s;
        if (const status s = detail::all_in_range(detail::serving_numbers_of(j)); !s) return s;
        if (j.output > token_count{} && !generates(j.model))
            return refused(error_code::unsupported, "output", j.output.in(tokens),
                           "0: the model embeds, scores or classifies its input, and generates no tokens");
        if (const status s = detail::validate_context(j); !s) return s;
        if (const status s = detail::validate_images(j); !s) return s;
        if (const status s = in_range("shared_prefix", j.shared_prefix.in(tokens), 0, prompt_of(j).in(tokens)); !s)
            return s;
        return detail::sizes_fit(j);
    }
    if (const status s = validate(j.adapter, j.model); !s) return s;
    const precision& held = weights_of(j);
    if (!j.adapter.trains() && !is_wide(held)) {
        text<191> expected{"an adapter to train beside weights of "};
        expected.append(held.name.view());
        expected.append(", or plain weights");
        return refused(error_code::unsupported, "optimizer", j.optimizer.name.view(), expected);
    }
    if (j.adapter.trains() && j.weights)
        if (const status s = detail::validate_format(j.runtime, stored_format{held}); !s) return s;
    if (const status s = detail::all_in_range(detail::training_numbers_of(j)); !s) return s;
    if (j.recompute_every > 1 && j.recompute != recompute::full)
        return refused(error_code::inconsistent, "recompute_every", j.recompute_every, "recompute to be full");
    if (j.mean_length > token_count{} && !j.varied_lengths)
        return refused(error_code::inconsistent, "mean_length", j.mean_length.in(tokens), "varied_lengths to be true");
    if (j.mtp_use_repeated_layer && j.mtp_layers == 0)
        return refused(error_code::inconsistent, "mtp_use_repeated_layer", "true", "mtp_layers beside it");
    if (j.runtime.kernels.fp8.param_gather && j.runtime.kernels.fp8.recipe == fp8_recipe::none)
        return refused(error_code::inconsistent, "runtime.fp8_param_gather", "true", "an fp8_recipe beside it");
    return detail::sizes_fit(j);
}

namespace detail {

/// Refuses to compute in a format for which a GPU has no arithmetic units; integers are no format to train in.
constexpr status validate_arithmetic(const precision& format, const gpu& card, task to) {
    const bool training = to != task::serving;
    switch (format.arithmetic) {
        case arithmetic_kind::fp8:
            if (has_fp8(card)) return done{};
            return refused(
                error_code::unsupported, "compute", format.name.view(),
                training ? "a GPU with fp8 units to train in fp8" : "a GPU with fp8 units to compute in fp8");
        case arithmetic_kind::fp4:
            if (card.rates.fp4.value_or({}) > flop_rate{}) return done{};
            return refused(
                error_code::unsupported, "compute", format.name.view(),
                training ? "a GPU with fp4 units to train in fp4" : "a GPU with fp4 units to compute in fp4");
        case arithmetic_kind::int8:
        case arithmetic_kind::int4:
            if (!training) return done{};
            return refused(error_code::unsupported, "compute", format.name.view(),
                           "a floating-point format to train in");
        default: return done{};
    }
}

/// Serving has stages with one run of layers each, whose numbers may differ (vLLM: VLLM_PP_LAYER_PARTITION, llama.cpp:
/// --tensor-split), and no schedule of passes.
constexpr status validate_serving_stages(const job& j, const layout& l) {
    if (l.schedule != pipeline_schedule::one_forward_one_backward || l.chunks() != l.pipeline || l.embedding_as_layer ||
        l.loss_as_layer)
        return refused(error_code::unsupported, "layout.stages", name_of(j.task),
                       "a training job: serving has one run of layers a stage, and no schedule");
    if (!l.deals_evenly() && j.options.gpu_layers && *j.options.gpu_layers <= j.model.layers.size)
        return refused(error_code::unsupported, "layout.stages", *j.options.gpu_layers,
                       "gpu_layers that leaves no layer on the host, or stages of equal size");
    return done{};
}

/// Refuses layers that no graph of ggml describes.
constexpr status validate_ggml_layers(const job& j) {
    if (!j.runtime.serving_kernels.fp32_activations) return done{};
    for (const layer& kind : j.model.layers.distinct())
        if (kind.attention.kind == attention_kind::compressed)
            return refused(error_code::unsupported, "runtime", j.runtime.identity.name,
                           "vllm or sglang: compressed attention is not described under ggml");
    return done{};
}

/// Refuses a cache in more than 8 bits of compressed attention under a runtime that has none.
constexpr status validate_compressed_cache(const job& j) {
    const precision& cache = kv_cache_of(j);
    if (!j.runtime.serving_kernels.latent.compressed_in_fp8 || family_of(cache) == format_family::eight_bit_float)
        return done{};
    for (const layer& kind : j.model.layers.distinct())
        if (kind.attention.kind == attention_kind::compressed)
            return refused(error_code::unsupported, "kv_cache", cache.name,
                           "fp8: compressed attention has no other cache under this runtime");
    return done{};
}

/// Whether a format is NVFP4, but for GGUF's.
constexpr bool is_nvfp4(const precision& format) {
    return family_of(format) == format_family::microscaling && format.name.starts_with("nvfp4");
}

/// Refuses a cache of latents in a format, or in blocks, that no kernel of the runtime reads on a GPU. Blocks that
/// nobody named, of 16 tokens, grow (block_of()).
constexpr status validate_latent_cache(const job& j, const gpu& card) {
    const latent_kernels& reads = j.runtime.serving_kernels.latent;
    const std::int64_t block = j.runtime.cache.block.in(tokens);
    const std::int64_t of_card = reads.sparse_block.in(tokens) / (card.capability.major == 10 ? 2 : 1);
    for (const layer& kind : j.model.layers.distinct()) {
        if (kind.attention.kind != attention_kind::latent) continue;
        if (reads.not_in_nvfp4 && is_nvfp4(kv_cache_of(j)))
            return refused(error_code::unsupported, "kv_cache", kv_cache_of(j).name,
                           "fp8 or the model's own format: latent attention has no cache in NVFP4 under this runtime");
        const bool picks = kind.attention.indexer.heads > 0 && card.vendor == gpu_vendor::nvidia;
        if (picks && of_card > 0 && block != 16 && block % of_card != 0)
            return refused(error_code::unsupported, "runtime.block_size", block,
                           "what kernels of sparse attention read: a multiple of ", of_card);
    }
    return done{};
}

/// Refuses a teacher whose words are others than the student's, one that nothing is learned from, and a distillation
/// without one.
constexpr status validate_teacher(const job& j) {
    const teacher& t = j.teacher;
    if (!learns_from_teacher(j.preference)) {
        if (t.known())
            return refused(error_code::inconsistent, "teacher", t.name, "absent: only gkd learns from a teacher");
        if (j.beta != job{}.beta)
            return refused(error_code::inconsistent, "beta", "given",
                           "absent: it weighs the teacher of gkd; others have a reference or none");
        return done{};
    }
    if (!t.known())
        return refused(error_code::missing, "teacher", "absent", "the model that gkd learns from, such as qwen2.5-7b");
    if (j.runtime.kernels.modules != module_code::transformers)
        return refused(error_code::unsupported, "preference", name_of(j.preference),
                       "a runtime whose trainer has a teacher: trl, ms-swift, huggingface or deepspeed");
    if (j.runtime.kernels.loss.code > loss_code::triton)
        return refused(error_code::unsupported, "runtime.loss", name_of(j.runtime.kernels.loss.code),
                       "eager: a divergence from a teacher is computed over whole logits");
    // trl 1.16, experimental/gkd/gkd_trainer.py: "requires a shared vocabulary".
    const std::int64_t words = scored_vocabulary(j.model);
    if (t.vocabulary != words)
        return refused(error_code::inconsistent, "teacher.vocabulary", t.vocabulary, "as many words as the student's, ",
                       words);
    if (j.reference != reference_model::by_method && j.reference != reference_model::loaded)
        return refused(error_code::inconsistent, "reference", name_of(j.reference), "absent: gkd loads its teacher");
    return done{};
}

/// Refuses a preference that is learned while nothing is finetuned, a reward without a score, references that
/// contradict the method or the adapter, and runtimes without such losses.
constexpr status validate_preference(const job& j) {
    if (j.preference == preference_method::none) {
        if (const status s = validate_teacher(j); !s) return s;
        if (j.reference == reference_model::by_method) return done{};
        return refused(error_code::inconsistent, "reference", name_of(j.reference),
                       "a preference to learn, such as dpo");
    }
    if (j.task != task::finetuning)
        return refused(error_code::inconsistent, "preference", name_of(j.preference), "task finetuning, and no other");
    if (!j.runtime.kernels.loss.learns_preferences)
        return refused(
            error_code::unsupported, "preference", name_of(j.preference),
            "a runtime that learns preferences: trl, llama-factory, axolotl, unsloth, huggingface, deepspeed or "
            "torchtune");
    const bool scores = scored_vocabulary(j.model) == 0;
    if (scores != (j.preference == preference_method::reward))
        return refused(error_code::inconsistent, "preference", name_of(j.preference),
                       scores ? "reward: the model's head makes no scores of tokens"
                              : "a model with head reranking, which makes one score");
    // trl 1.16, trainer/kto_trainer.py: "Actual (not effective) batch size must be > 1".
    const bool by_trl = j.runtime.kernels.loss.code == loss_code::fused_log_probabilities;
    if (j.preference == preference_method::kto && by_trl && j.micro_batch < 2)
        return refused(error_code::out_of_range, "micro_batch", j.micro_batch,
                       "2 or more: kto holds each answer against another of its micro-batch");
    if (const status s = validate_teacher(j); !s) return s;
    if (learns_from_teacher(j.preference)) return done{};
    const bool by_rollouts = learns_from_rollouts(j.preference);
    if (!has_reference(j.preference) && !by_rollouts && j.reference != reference_model::by_method)
        return refused(error_code::inconsistent, "reference", name_of(j.reference),
                       "absent: only dpo, kto, grpo, rloo, reinforce and ppo have a reference");
    if (has_reference(j.preference) && j.reference == reference_model::none)
        return refused(error_code::inconsistent, "reference", "none", "loaded, adapters_off or precomputed");
    if (has_reference(j.preference) && j.reference == reference_model::offloaded)
        return refused(error_code::unsupported, "reference", "offloaded",
                       "loaded with offload.parameters, where a step computes it");
    if (by_rollouts && j.reference == reference_model::precomputed)
        return refused(error_code::unsupported, "reference", "precomputed",
                       "loaded, offloaded, adapters_off or none: answers are new in each step");
    if (j.reference == reference_model::adapters_off && !j.adapter.trains())
        return refused(error_code::inconsistent, "reference", name_of(j.reference),
                       "an adapter, which is switched off");
    return done{};
}

}  // namespace detail

/// Refuses what a training job cannot do in this layout on this GPU: a global batch that is no multiple of
/// micro-batches, ZeRO 2 and 3 with pipeline stages under DeepSpeed (its PipelineEngine asserts stage 1 at most; FSDP
/// gathers for every micro-batch), fp8 and fp4 without arithmetic units for them, offloaded weights that nothing
/// gathers, several micro-batches under an optimizer that frees gradients in the backward pass, and layers whose
/// backward pass no inventory describes, and preferences without their losses.
constexpr status validate_training(const job& j, const layout& l, const gpu& card) {
    if (!trains(j)) {
        if (const status s = detail::validate_serving_stages(j, l); !s) return s;
        if (const status s = detail::validate_ggml_layers(j); !s) return s;
        if (const status s = detail::validate_compressed_cache(j); !s) return s;
        if (const status s = detail::validate_latent_cache(j, card); !s) return s;
        return detail::validate_arithmetic(j.compute, card, j.task);
    }
    if (const status s = detail::validate_preference(j); !s) return s;
    if (learns_from_teacher(j.preference) && (l.tensor > 1 || l.pipeline > 1 || l.context_parallel > 1))
        return refused(error_code::unsupported,
                       l.tensor > 1     ? "layout.tensor"
                       : l.pipeline > 1 ? "layout.pipeline"
                                        : "layout.context_parallel",
                       l.tensor > 1     ? l.tensor
                       : l.pipeline > 1 ? l.pipeline
                                        : l.context_parallel,
                       "1: a teacher is computed by each data rank alone");
    const std::int64_t at_once = sequences_at_once(j, l);
    if (j.global_batch > 0 && j.global_batch % at_once != 0)
        return refused(error_code::inconsistent, "global_batch", j.global_batch,
                       "a multiple of micro_batch x data x replicas, ", at_once);
    if (j.runtime.pipeline.defer_embedding_wgrad_compute && l.pipeline == 1)
        return refused(error_code::inconsistent, "runtime.defer_embedding_wgrad_compute", "true",
                       "pipeline stages: it is deferred until these drain");
    if (l.zero >= 2 && l.pipeline > 1 && j.runtime.sharding.code == sharding_code::deepspeed)
        return refused(error_code::unsupported, "layout.zero", l.zero,
                       "at most 1 with pipeline stages under DeepSpeed");
    if (j.offload.parameters != offload_place::none && l.zero < 3)
        return refused(error_code::inconsistent, "offload.parameters", name_of(j.offload.parameters),
                       "layout.zero 3, which gathers layer by layer what is offloaded");
    if (const status s = detail::validate_arithmetic(j.compute, card, j.task); !s) return s;
    if (j.optimizer.in_backward && micro_batches(j, l) > 1)
        return refused(error_code::unsupported, "global_batch", j.global_batch, "one micro-batch a step, ", at_once,
                       ": the optimizer steps in the backward pass");
    if (j.runtime.kernels.fp8.recipe != fp8_recipe::none && !has_fp8(card))
        return refused(error_code::unsupported, "runtime.fp8_recipe", name_of(j.runtime.kernels.fp8.recipe),
                       "a GPU with fp8 units to train in fp8");
    for (const layer& kind : j.model.layers.distinct()) {
        const recurrent& r = kind.recurrent;
        // Of gated delta nets transformers' code was read, and no trainer's own.
        const bool read = is_gated_delta(r) && j.runtime.kernels.modules == module_code::transformers;
        const bool counted = r.kind == recurrent_kind::none || r.kind == recurrent_kind::mamba2 || read;
        if (!counted || kind.attention.cross == cross_attention::instead ||
            kind.attention.kind == attention_kind::compressed)
            return refused(error_code::unsupported, "layers", kind_name(kind).view(),
                           "layers of attention, Mamba 2 or, in transformers' code, gated delta nets with a decay a "
                           "head, and feed-forward, "
                           "to train");
    }
    return done{};
}

namespace detail {

/// Refuses tensor ranks with which the runtime does not start: those that do not split the parts of its layers evenly,
/// key-value heads copied where it copies them, and its experts' features.
constexpr status validate_ranks(const layout& l, const model& m, const runtime_identity& name, const layout_rules& r) {
    if (!r.split.refuses_uneven || l.tensor == 1) return done{};
    const auto refuse = [&](std::initializer_list<std::string_view> rule) -> status {
        text<191> expected{"what "};
        expected.append(name.name);
        for (const std::string_view part : rule) expected.append(part);
        return refused(error_code::inconsistent, "layout.tensor", l.tensor, expected);
    };
    if (r.split.power_of_two && (l.tensor & (l.tensor - 1)) != 0) return refuse({" runs: a power of two"});
    uneven_part uneven = uneven_under(m, r, l.tensor);
    const bool splits_experts_too = !r.split.pads_width && l.expert == 1;
    for (const layer& kind : m.layers.distinct()) {
        const experts& moe = kind.feed_forward.experts;
        if (splits_experts_too && uneven.what.empty() && moe.count > 0 && moe.width % l.tensor != 0)
            uneven = {"features of an expert", moe.width};
    }
    if (uneven.what.empty()) return done{};
    const bool copied = uneven.what == "key-value heads" && r.split.copies_kv_heads;
    return refuse(
        {" splits evenly: a divisor of the ", uneven.what, ", ", digits(uneven.size), copied ? ", or a multiple" : ""});
}

/// Refuses tensor ranks with which the runtime does not start, whatever cluster they are on.
constexpr status validate_ranks(const job& j, const layout& l) {
    if (const status s = validate_ranks(l, j.model, j.runtime.identity, j.runtime.layouts); !s) return s;
    const cut_blocks cut = cut_blocks_of(j, l);
    if (cut.what.empty() || cut.may_be_padded) return done{};
    text<191> expected{"what "};
    for (const std::string_view part :
         {j.runtime.identity.name.view(), std::string_view{" runs: ranks that leave whole the blocks of "}})
        expected.append(part);
    expected.append(digits(cut.block));
    expected.append(" that share a scale in ");
    expected.append(weights_of(j).name);
    expected.append(", of ");
    expected.append(digits(cut.size));
    expected.append(" ");
    expected.append(cut.what);
    return refused(error_code::inconsistent, "layout.tensor", l.tensor, expected);
}

/// Refuses a layout that this model cannot be partitioned into, or whose tensor ranks the runtime refuses.
constexpr status validate_split(const job& j, const layout& l) {
    if (const status s = validate(l, j.model); !s) return s;
    return validate_ranks(j, l);
}

/// Refuses a job, layout or cluster that is wrong on its own, and tensor ranks that the runtime refuses.
constexpr status validate_all(const job& j, const layout& l, const cluster& c) {
    if (const status s = validate(j); !s) return s;
    if (const status s = validate_split(j, l); !s) return s;
    return validate(c);
}

/// Refuses what validate_training() refuses, and a layout of more GPUs than the cluster has.
constexpr status validate_on(const job& j, const layout& l, const cluster& c) {
    if (const status s = validate_training(j, l, c.gpu); !s) return s;
    if (l.gpus() <= c.gpus) return done{};
    return refused(error_code::inconsistent, "layout", l.gpus(), "at most the cluster's GPUs, ", c.gpus);
}

/// Refuses what validate_all() and validate_on() refuse.
constexpr status validate_placed(const job& j, const layout& l, const cluster& c) {
    if (const status s = validate_all(j, l, c); !s) return s;
    return validate_on(j, l, c);
}

}  // namespace detail

/// Whether a runtime starts on a GPU, and if not, what keeps it: the vendor, or a compute capability for something.
struct device_start {
    device_support support = device_support::runs;  ///< whether it starts
    std::string_view what{};        ///< what needs the compute capability: "weights in fp8"; empty: the runtime itself
    compute_capability needed{};    ///< the least that it needs; zero: the vendor is the reason
    compute_capability before{};    ///< the first above it that will not do; zero: none
    std::string_view arithmetic{};  ///< the arithmetic that the GPU lacks for it: "fp8"; empty: none
};

/// Whether the job's runtime starts on a GPU with the job's formats (runtimes/devices.hpp). A GPU of NVIDIA whose
/// compute capability is not known is taken for a recent one.
constexpr device_start device_start_of(const job& j, const gpu& card) {
    const runtime_devices& d = j.runtime.devices;
    const device_support vendor = support_of(d, card);
    if (vendor == device_support::absent) return {vendor};
    const precision& weights = weights_of(j);
    const format_family family = family_of(weights);
    if (card.vendor == gpu_vendor::amd && d.fp8_by_arithmetic && family == format_family::eight_bit_float &&
        !(weights == fp8_block) && card.rates.fp8 && card.rates.fp8.value == flop_rate{})
        return {device_support::absent, "weights in fp8", {}, {}, "fp8"};
    if (card.vendor != gpu_vendor::nvidia || card.capability == compute_capability{}) return {vendor};
    const bool caches = !trains(j);
    const format_family cache = caches ? family_of(kv_cache_of(j)) : format_family::plain;
    struct need {
        bool asked;
        std::string_view what;
        compute_capability least;
        capability_gap gap{};
    };
    for (const need& of :
         {need{d.least != compute_capability{}, {}, d.least},
          need{family == format_family::eight_bit_float, "weights in fp8", d.fp8},
          need{detail::is_nvfp4(weights), "weights in NVFP4", d.nvfp4},
          need{family == format_family::awq_words, "weights in AWQ's words", d.awq},
          need{cache == format_family::eight_bit_float, "a cache in fp8", d.fp8_cache},
          need{caches && detail::is_nvfp4(kv_cache_of(j)), "a cache in NVFP4", d.nvfp4_cache, d.nvfp4_cache_gap}}) {
        if (of.asked && (card.capability < of.least || is_in(of.gap, card.capability)))
            return {device_support::absent, of.what, of.least, of.gap.from};
    }
    return {vendor};
}

}  // namespace llmres::inline v0
