// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/layer_parts.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/jobs/serving_options.hpp>
#include <llmres/models/format_families.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/teacher.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/loading.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What the caller wants to run.
namespace llmres::inline v0 {

/// What a job does.
enum class task : std::uint8_t { serving, pretraining, finetuning };
/// The names of the tasks, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<task>{"serving", "pretraining", "finetuning"};

/// How attention is computed, and so what it keeps.
enum class attention_kernel : std::uint8_t {
    eager,  ///< scores and probabilities of every pair of tokens are tensors
    sdpa,   ///< torch's scaled_dot_product_attention: as flash, keys and values copied to every query head first
    flash,  ///< tile by tile: only the softmax statistics are kept
    cudnn,  ///< as sdpa, by cuDNN's kernel (PyTorch's first choice on B200)
};
/// The names of the kernels, in their order.
template <>
inline constexpr std::array<std::string_view, 4> names_of<attention_kernel>{"eager", "sdpa", "flash", "cudnn"};

/// What a training step computes again in the backward pass instead of keeping it.
enum class recompute : std::uint8_t {
    none,
    selective,  ///< the core of attention
    full,       ///< every layer, from its input
};
/// The names of the kinds, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<recompute>{"none", "selective", "full"};

/// How a model learns which answers are preferred.
enum class preference_method : std::uint8_t {
    none,       ///< it does not: it learns the next token
    dpo,        ///< direct preference optimization, by whichever loss of log-probabilities (IPO, hinge, APO, ...)
    kto,        ///< Kahneman-Tversky optimization: single answers, desired or not
    orpo,       ///< odds ratio preference optimization
    simpo,      ///< simple preference optimization
    cpo,        ///< contrastive preference optimization
    reward,     ///< a reward model: a score for each answer
    gkd,        ///< generalized knowledge distillation: a teacher's probabilities of all words, not its answers alone
    grpo,       ///< group relative policy optimization of its own answers, by their rewards (DAPO, Dr. GRPO, ...)
    rloo,       ///< REINFORCE leave-one-out, likewise
    reinforce,  ///< REINFORCE and REINFORCE++: answers are held to the mean of a rollout, not of their prompt's
    ppo,        ///< proximal policy optimization of its own answers, beside a critic that learns their values
};
/// The names of the methods, in their order.
template <>
inline constexpr std::array<std::string_view, 12> names_of<preference_method>{
    "none", "dpo", "kto", "orpo", "simpo", "cpo", "reward", "gkd", "grpo", "rloo", "reinforce", "ppo"};

/// Where the log-probabilities come from that the trained model's are held against.
enum class reference_model : std::uint8_t {
    /// The method's own: for dpo, kto, rloo and ppo the model itself where adapters are trained, else another copy of
    /// it; for gkd the teacher; for others none.
    by_method,
    loaded,        ///< another model, which is not trained: of the same size, or the teacher
    adapters_off,  ///< the trained model with its adapters switched off
    precomputed,   ///< computed before training
    offloaded,     ///< another model of the same size, in main memory but for the layer that computes
    none,          ///< there is no reference
};
/// The names of the kinds of references, in their order.
template <>
inline constexpr std::array<std::string_view, 6> names_of<reference_model>{"by_method",   "loaded",    "adapters_off",
                                                                           "precomputed", "offloaded", "none"};

/// True of methods that train a model on answers that it generates itself (reinforcement learning).
constexpr bool learns_from_rollouts(preference_method m) { return m >= preference_method::grpo; }
/// Answers to one prompt that a method needs at least: those of a group are held to each other.
constexpr std::int64_t least_group(preference_method m) {
    return m == preference_method::grpo || m == preference_method::rloo ? 2 : 1;
}
/// True where a sample is two answers to one prompt, which are computed together.
constexpr bool learns_from_pairs(preference_method m) {
    return m != preference_method::none && m != preference_method::kto && m < preference_method::gkd;
}
/// True of methods that train a model on the probabilities of another one.
constexpr bool learns_from_teacher(preference_method m) { return m == preference_method::gkd; }
/// True of methods whose training step computes a reference's log-probabilities, or reads precomputed ones. (Those that
/// learn from rollouts may have a reference too, which computes before the step.)
constexpr bool has_reference(preference_method m) { return m == preference_method::dpo || m == preference_method::kto; }
/// Sequences that one sample is.
constexpr std::int64_t sequences_of_sample(preference_method m) { return learns_from_pairs(m) ? 2 : 1; }

/// Tokens of a finetuning sequence where none are given: samples are far shorter than the longest context
/// (LLaMA-Factory's cutoff_len; trl's max_length is 1,024, torchtune's packs 4,096).
inline constexpr token_count usual_finetuning_sequence = tokens(2048);

/// Images of a prompt, whose tokens are among the prompt's: the vision tower computes them before it
/// (models/images.hpp says what an image of so many pixels has).
struct prompt_images {
    std::int64_t count = 0;  ///< images of each prompt
    token_count patches{};   ///< patches of each of them
};

/// A job reads like its JSON; a field left out takes the default named here.
struct job {
    llmres::model model{};              ///< the model
    llmres::task task = task::serving;  ///< what is done with it

    maybe<precision> weights{};          ///< default: as the model is published
    maybe<gguf_mix> gguf{};              ///< the weights are those of a GGUF file of this mix, whatever `weights` says
    maybe<precision> kv_cache{};         ///< default: what the checkpoint is calibrated for, else `compute`
    maybe<precision> kv_cache_values{};  ///< format of cached values, where it is not that of keys; default: `kv_cache`
    precision compute = bf16;            ///< format of activations
    double expert_load = 1.0;            ///< tokens of the busiest rank's experts, over the mean of all ranks
    maybe<precision> gradients{};        ///< default: the runtime's, or as the weights
    /// Copy that the optimizer updates; as the weights: none. Default: fp32 where the weights are narrower, none under
    /// runtimes that step the weights as they are (torchtune, huggingface, litgpt).
    maybe<precision> master_weights{};
    /// Format of the optimizer's states; default: fp32, under such runtimes that of the weights.
    maybe<precision> optimizer_states{};

    // Serving. `context` is what a sequence may reach: the default is prompt + output, or else what the model was
    // trained for.
    std::int64_t batch = 1;  ///< sequences in flight, over all replicas' data ranks
    token_count prompt{};    ///< tokens of a prompt
    token_count output{};    ///< tokens generated for a prompt
    token_count context{};   ///< tokens that a sequence may reach
    /// The part of a prompt's tokens whose keys and values an earlier request left in the cache (prefix caching). They
    /// are not computed again; the cache is planned as if no sequence shared them (`shared_prefix` says so), since they
    /// may be a sequence's own earlier turns.
    double prefix_hit_rate = 0.0;
    /// Tokens at the beginning of every prompt that all sequences in flight have in common (a system prompt). Their
    /// keys and values are in the cache once where the runtime shares them (runtime_cache::shares_prefixes), else with
    /// each sequence. `prefix_hit_rate` says how much of a prompt is not computed.
    token_count shared_prefix{};
    token_count max_batched_tokens{};  ///< prompt tokens computed in one step; default: the runtime's, or one prompt
    prompt_images images{};            ///< images of each prompt

    // Training.
    /// Default: what the model was trained for; in finetuning at most `usual_finetuning_sequence`.
    token_count sequence{};
    /// Tokens to a multiple of which each sequence is padded (the collators of transformers and torchtune).
    std::int32_t pad_to_multiple_of = 1;
    std::int64_t micro_batch = 1;  ///< samples a data rank computes at once: sequences, or pairs of them (`preference`)
    std::int64_t global_batch = 0;  ///< samples in one optimizer step; default: one micro-batch a data rank
    preference_method preference = preference_method::none;  ///< what is learned from, where not the next token
    reference_model reference = reference_model::by_method;  ///< what a preferred answer is held against
    llmres::teacher teacher{};                               ///< the model whose probabilities are learned (`gkd`)
    /// Weight of the teacher in the mixture that both models of a distillation are held against (the generalised
    /// Jensen-Shannon divergence, arXiv 2306.13649 eq. 1); 0 and 1: each is held against the other.
    double beta = 0.5;
    token_count scored{};  ///< tokens of a sequence whose log-probabilities are learned from (answers); 0: all
    /// Forward passes over a sample before the step that trains on it, for log-probabilities (`grpo`, `ppo`).
    std::int32_t passes_before_step = 0;
    llmres::optimizer optimizer = adamw;                  ///< the optimizer
    attention_kernel attention = attention_kernel::sdpa;  ///< how attention is computed
    llmres::recompute recompute = recompute::none;        ///< what is recomputed
    /// The parts of a layer that selective recomputation recomputes (Megatron-Core's recompute-modules).
    layer_part_set recompute_modules{layer_part::core_attn};
    std::int32_t recompute_every = 1;  ///< with full recomputation: only every n-th layer is recomputed
    llmres::adapter adapter{};         ///< adapter that is trained beside a frozen model
    llmres::offload offload{};         ///< what is kept outside the GPU
    /// Default: where weights are wider than `compute` and the runtime casts at each operation.
    maybe<bool> autocast{};
    bool dropout = false;         ///< residual branches and attention probabilities have dropout
    bool varied_lengths = false;  ///< samples are truncated at `sequence`, but neither packed nor padded to it
    /// With `varied_lengths`: mean tokens of a sample before truncation; 0: lengths are uniform up to `sequence`.
    token_count mean_length{};
    bool ema = false;                     ///< an exponential moving average of the weights is kept in fp32
    std::int32_t mtp_layers = 0;          ///< depths of multi-token prediction that are trained with the model
    bool mtp_use_repeated_layer = false;  ///< all depths of multi-token prediction share one layer's weights
    /// Optimizer steps that are taken; 0: many. During the first, the optimizer's states are allocated after the
    /// backward pass.
    std::int64_t steps = 0;

    llmres::runtime runtime = no_runtime;  ///< the software that runs it
    serving_options options{};             ///< what is asked of the runtime beside the model
};

// ---- the defaults, resolved -----------------------------------------------------------------------------------------

/// Whether the job trains.
constexpr bool trains(const job& j) { return j.task != task::serving; }
/// Sequences that a data rank computes at once in training.
constexpr std::int64_t computed_sequences(const job& j) { return j.micro_batch * sequences_of_sample(j.preference); }
/// The reference that the job has: its own, or that of its method; never `by_method`.
constexpr reference_model reference_of(const job& j) {
    if (j.reference != reference_model::by_method) return j.reference;
    if (learns_from_teacher(j.preference)) return reference_model::loaded;
    const bool unless_said = has_reference(j.preference) || j.preference == preference_method::rloo ||
                             j.preference == preference_method::ppo;
    if (!unless_said) return reference_model::none;
    return j.adapter.trains() ? reference_model::adapters_off : reference_model::loaded;
}
/// True where a reference's weights lie beside those that are trained.
constexpr bool loads_reference(const job& j) { return reference_of(j) == reference_model::loaded; }
/// True where training keeps in main memory what else would lie on GPUs.
constexpr bool trains_from_host(const job& j) {
    return j.offload.to_host() || reference_of(j) == reference_model::offloaded;
}
/// True where a training step computes a reference or a teacher beside what the trained model saved.
constexpr bool computes_reference(const job& j) {
    return learns_from_teacher(j.preference) ||
           (has_reference(j.preference) && reference_of(j) != reference_model::precomputed);
}
/// Whether the runtime serves in fp16 on that GPU though the job says bf16.
constexpr bool serves_in_fp16(const job& j, const gpu& card) {
    return !trains(j) && j.runtime.serving_kernels.without_bf16 != bf16_code::converts && prefers_fp16(card) &&
           j.compute.arithmetic == arithmetic_kind::bf16;
}
/// Format of what training saves for its backward pass: 16 bits or more, also where matrix products are computed in 8
/// bits, because each product casts its inputs and the originals are saved (torchao, float8_linear.py).
constexpr const precision& activations_of(const job& j) { return is_wide(j.compute) ? j.compute : bf16; }
/// The arithmetic of linear layers: 8 bits where `compute` is narrow, or the runtime has a recipe for it.
constexpr arithmetic_kind linear_arithmetic_of(const job& j) {
    return trains(j) && j.runtime.kernels.fp8.recipe != fp8_recipe::none ? arithmetic_kind::fp8 : j.compute.arithmetic;
}
/// Whether a training job widens the weights when it loads them. Weights that are trained themselves are never
/// quantised: a model published in a narrower format is trained in the format of activations, and so is one beside an
/// adapter in a format that the runtime cannot differentiate through.
constexpr bool dequantises(const job& j) {
    if (j.weights || !trains(j) || is_wide(j.model.weights)) return false;
    return !j.adapter.trains() || !loads(j.runtime.loading, family_of(j.model.weights));
}
/// True if weights are loaded in the format that the job computes in. Training loads 16-bit weights in the other 16-bit
/// format (DeepSpeed, runtime/engine.py, _cast_module_mixed_precision; torchtune, `dtype: bf16`; Megatron-Core,
/// `bf16`); a serving runtime may load an fp32 checkpoint in 16 bits (serving_kernels, `loads_in_compute`).
constexpr bool loads_as_computed(const job& j) {
    const precision& published = j.model.weights;
    if (j.weights) return false;
    if (!trains(j)) return !j.gguf && j.runtime.serving_kernels.loads_in_compute && published == fp32;
    if (published.arithmetic == j.compute.arithmetic || j.model.mixed.any()) return false;
    return (published == fp16 || published == bf16) && (j.compute == fp16 || j.compute == bf16);
}
/// Format of the weights; of a GGUF file that of most of its matrices.
constexpr const precision& weights_of(const job& j) {
    if (j.gguf && j.gguf->stored.count == 0) return detail::gguf::format_of(j.gguf->quantisation);
    if (j.weights) return *j.weights;
    return dequantises(j) || loads_as_computed(j) ? activations_of(j) : j.model.weights;
}
/// What the weights are stored as: a GGUF file, or their format.
constexpr stored_format stored_format_of(const job& j) {
    return j.gguf.known ? stored_format::gguf_file() : stored_format{weights_of(j)};
}
/// The format of each weight; those that are not quantised are in `wide`. A checkpoint may mix formats; a job that
/// names a format has that one alone, but for MXFP4 of models that are published in it: there it means the routed
/// experts only (gpt-oss's modules_to_not_convert). A type of ggml holds embedding and head, too, as llama-quantize
/// --pure makes it.
constexpr weight_format_view formats_of(const job& j, const precision& wide) {
    const precision& weights = weights_of(j);
    if (weights == j.model.weights && (!j.weights || weights == mxfp4)) return detail::view_of(j.model, weights, wide);
    weight_format_view formats = detail::view_for(weights, wide);
    const format_family family = family_of(weights);
    if (family == format_family::gguf || family == format_family::gguf_ik) formats.head = formats.embedding = &weights;
    // transformers 5 keeps routed experts in bare parameters, and bitsandbytes replaces linear layers alone
    // (integrations/bitsandbytes.py, replace_with_bnb_linear: type(module) is nn.Linear).
    if (family == format_family::bitsandbytes && trains(j) && stacks_weights(j.runtime.kernels.experts)) {
        formats.attention = formats.feed_forward = &weights;
        formats.matrices = formats.rest;
    }
    return formats;
}
/// True if the cache has the format that the checkpoint is calibrated for: nobody names another, and the engine follows
/// the tool that calibrated it.
constexpr bool caches_as_calibrated(const job& j) {
    const cache_calibrator by = j.model.mixed.cache.by;
    if (j.weights && !(*j.weights == j.model.weights)) return false;  // another checkpoint of the model
    if (j.kv_cache || by == cache_calibrator::none || by > j.runtime.loading.calibrated) return false;
    // vLLM's attention.py asks quant_config.kv_cache_scheme, and its mla_attention.py does not.
    return by == cache_calibrator::modelopt || !has_latent_attention(j.model);
}
/// Format of a loaded reference: that of what is trained, or the checkpoint's where that is narrower and the trainer
/// keeps it.
constexpr const precision& reference_format_of(const job& j) {
    const precision &kept = j.model.weights, &trained = weights_of(j);
    const bool narrower = kept.element_bytes >= 2 && kept.element_bytes < trained.element_bytes;
    return j.runtime.loading.training.published_reference && narrower ? kept : trained;
}
/// Format of the cache.
constexpr const precision& kv_cache_of(const job& j) {
    if (j.kv_cache) return *j.kv_cache;
    return caches_as_calibrated(j) ? j.model.mixed.cache.format : j.compute;
}
/// How attention is computed when serving: by the runtime's kernels, or as the job says.
constexpr attention_kernel serving_attention_of(const job& j) {
    const maybe<bool>& flash = j.runtime.serving_kernels.flash_attention;
    if (!flash) return j.attention;
    return *flash ? attention_kernel::flash : attention_kernel::eager;
}
/// Format of the gradients.
constexpr const precision& gradients_of(const job& j) {
    if (j.gradients) return *j.gradients;
    const optimizer_step& step = j.runtime.optimizer;
    if (step.gradients && !step.fp32_beside_bf16) return *step.gradients;
    const precision& weights = weights_of(j);
    if (step.fp32_beside_bf16 && weights == bf16) return bf16_and_fp32;
    return step.gradients ? *step.gradients : weights;
}
// These return references into the job, so that none may be asked of a temporary.
weight_format_view formats_of(const job&&, const precision&) = delete;
const precision& activations_of(const job&&) = delete;
const precision& weights_of(const job&&) = delete;
const precision& kv_cache_of(const job&&) = delete;
const precision& reference_format_of(const job&&) = delete;
const precision& gradients_of(const job&&) = delete;

/// Mixed precision keeps an fp32 copy of 16-bit weights (arXiv 1710.03740); fp32 weights are their own, and LOMO widens
/// each tensor as it steps it.
constexpr maybe<precision> master_weights_of(const job& j) {
    if (steps_in_backward(j.optimizer)) return {};
    if (j.master_weights) return *j.master_weights == weights_of(j) ? maybe<precision>{} : j.master_weights;
    if (j.runtime.optimizer.steps_weights) return {};
    const precision& weights = weights_of(j);
    return weights == fp32 || weights == tf32 ? maybe<precision>{} : maybe<precision>{fp32};
}
/// Format of an adapter's weights, and so of its gradients and states.
constexpr const precision& adapter_format_of(const job& j) {
    return j.runtime.kernels.fp32_adapters ? fp32 : activations_of(j);
}
const precision& adapter_format_of(const job&&) = delete;
/// Format of the optimizer's states of an adapter.
constexpr const precision& adapter_states_of(const job& j) {
    return j.optimizer.states != state_kind::torch ? fp32 : adapter_format_of(j);
}
const precision& adapter_states_of(const job&&) = delete;
/// Format of the optimizer's states of the model's weights.
constexpr const precision& optimizer_states_of(const job& j) {
    if (j.optimizer_states) return *j.optimizer_states;
    if (j.optimizer.states != state_kind::torch) return fp32;
    return j.runtime.optimizer.steps_weights && is_wide(weights_of(j)) ? weights_of(j) : fp32;
}
const precision& optimizer_states_of(const job&&) = delete;
/// Tokens that a sequence may reach.
constexpr token_count context_of(const job& j) {
    if (j.context > token_count{}) return j.context;
    const token_count both = j.prompt + j.output;
    return both > token_count{} ? both : j.model.max_context;
}
/// Whether sequences may be longer than those that the model was trained for.
constexpr bool exceeds_own_context(const job& j) {
    return j.model.max_context > token_count{} && context_of(j) > j.model.max_context;
}
/// Tokens of the longest sequence for which the runtime has the model's rotary embedding; 0: unknown.
constexpr token_count scaled_context(const job& j) {
    const double scaled = static_cast<double>(j.model.max_context.in(tokens)) * j.options.rope_scaling;
    return scaled < 1e15 ? tokens(static_cast<std::int64_t>(scaled)) : j.model.max_context;
}
/// The prompt: what the context leaves beside the output, unless given.
constexpr token_count prompt_of(const job& j) { return j.prompt > token_count{} ? j.prompt : context_of(j) - j.output; }
/// The tokens of a prompt that are computed: those that the cache does not hold yet, at least the last (vLLM's
/// KVCacheManager.get_computed_blocks: its logits are needed).
constexpr token_count computed_prompt_of(const job& j) {
    const std::int64_t whole = prompt_of(j).in(tokens);
    const auto cached = static_cast<std::int64_t>(static_cast<double>(whole) * j.prefix_hit_rate);
    return tokens(cached < whole ? whole - cached : whole > 0 ? 1 : 0);
}
/// Tokens of a sequence that is trained on, padding included.
constexpr token_count sequence_of(const job& j) {
    const token_count longest = j.model.max_context;
    const bool shortened =
        j.task == task::finetuning && (longest == token_count{} || longest > usual_finetuning_sequence);
    const token_count usual = shortened ? usual_finetuning_sequence : longest;
    const token_count length = j.sequence > token_count{} ? j.sequence : usual;
    if (j.pad_to_multiple_of <= 1) return length;
    return tokens(detail::ceil_quotient(length.in(tokens), j.pad_to_multiple_of) * j.pad_to_multiple_of);
}
/// Tokens of a sequence as it is computed: with the trained tokens of prompt tuning before it.
constexpr token_count computed_tokens(const job& j) {
    return j.adapter.kind == adapter_kind::prompt ? sequence_of(j) + tokens(j.adapter.rank) : sequence_of(j);
}

/// Whether the GPUs of a pipeline share the rows of each matrix when they serve.
constexpr bool splits_rows(const job& j) {
    return !trains(j) && (j.options.splits_rows || j.runtime.layouts.rows == row_split::always_beside_first);
}

/// Whether each text passes the layers whole: that of an encoder, under a runtime that does not cut it.
constexpr bool passes_whole(const job& j) {
    const head_kind head = j.model.head.kind;
    return !trains(j) && j.runtime.step.whole_encoded && (head == head_kind::encoder || head == head_kind::masked_lm);
}

/// Prompt tokens that a runtime computes in one step at most, where it takes so many unasked; 0: a whole prompt.
constexpr token_count step_tokens_of(const job& j, token_count usual) {
    if (j.max_batched_tokens > token_count{}) return j.max_batched_tokens;
    const token_count longest = passes_whole(j) ? context_of(j) : token_count{};
    return usual > token_count{} && usual < longest ? longest : usual;
}

/// Prompt tokens that pass the layers at once.
constexpr token_count batched_tokens_of(const job& j) {
    const token_count whole = prompt_of(j) * j.batch;
    const token_count step = step_tokens_of(j, j.runtime.step.max_batched_tokens);
    const token_count limit = step > token_count{} ? step : prompt_of(j);
    return limit < whole ? limit : whole;
}

// ---- bounds ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Tokens that need not be given: zero stands for their default.
constexpr bounded_field bounded_unless_zero(const char* name, token_count given) {
    return {name, given == token_count{} ? 1 : given.in(tokens), 1, most::tokens};
}

/// The whole numbers of a serving job with their bounds, for those who check them, read them and describe them.
constexpr std::array<bounded_field, 6> serving_numbers_of(const job& j) {
    return {{{"batch", j.batch, 1, most::sequences},
             bounded_unless_zero("prompt", j.prompt),
             {"output", j.output.in(tokens), 0, most::tokens},
             bounded_unless_zero("context", j.context),
             {"shared_prefix", j.shared_prefix.in(tokens), 0, most::tokens},
             {"max_batched_tokens", j.max_batched_tokens.in(tokens), 0, most::tokens}}};
}

/// The numbers of a training job, with their bounds.
constexpr std::array<bounded_field, 8> training_numbers_of(const job& j) {
    return {{{"sequence", sequence_of(j).in(tokens), 1, most::tokens},
             {"pad_to_multiple_of", j.pad_to_multiple_of, 1, 65536},
             {"micro_batch", j.micro_batch, 1, most::sequences},
             {"global_batch", j.global_batch, 0, std::int64_t{1} << 32},
             {"recompute_every", j.recompute_every, 1, 256},
             {"mean_length", j.mean_length.in(tokens), 0, most::tokens},
             {"mtp_layers", j.mtp_layers, 0, layer_stack::max_layers},
             {"steps", j.steps, 0, most::tokens}}};
}

/// The numbers of a job that may be fractional, with their bounds.
constexpr std::array<bounded_real, 3> reals_of(const job& j) {
    return {{{"beta", j.beta, 0, 1, "the teacher's part of the mixture, 0 to 1"},
             {"expert_load", j.expert_load, 1, 1024, "tokens of the busiest experts over the mean, 1 to 1024"},
             {"prefix_hit_rate", j.prefix_hit_rate, 0, 1, "a part of the prompt's tokens, 0 to 1"}}};
}

}  // namespace detail

}  // namespace llmres::inline v0
