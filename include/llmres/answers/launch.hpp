// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <llmres/answers/mixed_gpus.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/command_line.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <string>
#include <string_view>
#include <vector>

/// Which command starts a job in a layout under its runtime?
namespace llmres::inline v0 {

/// The command that starts the job in that layout, with the runtime's own names for its degrees, batch and lengths
/// (runtimes/command_line.hpp), and what the job sets of the engine: the part of the GPU that it takes, formats,
/// blocks, budgets. MODEL, a draft model, and for a training script everything that is not about size, is the caller's.
/// Empty for a runtime whose launcher is not known.
inline std::string launch_command(const job& j, const layout& l, const cluster& c);

/// What the job or the layout says and that command does not, since no words of its runtime are known for it: the
/// fields of a job document, as "layout.context_parallel". A server that is started without them is not the planned
/// one.
inline std::vector<std::string_view> unsaid_by_launch(const job& j, const layout& l, const cluster& c);

/// The command for layers that are dealt to GPUs that differ; empty for a runtime that takes no such shares.
inline std::string launch_command(const job& j, const dealt_layers& dealt);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The profile of the library that a runtime was made from; null where it is made from none of these.
inline const runtime* profile_of(const runtime& r) {
    for (const runtime* profile : runtimes::all)
        if (profile->identity == r.identity) return profile;
    return nullptr;
}

/// What the command of a job says.
struct launched {
    const job& j;
    const layout& l;
    const cluster& c;
    const dealt_layers* dealt = nullptr;  ///< layers that were dealt to GPUs that differ

    /// Whether stages have as many layers each as the launcher gives them unasked.
    bool deals_evenly() const { return dealt == nullptr && l.deals_evenly(); }
    std::int32_t layers_of_stage(std::int32_t stage) const {
        return dealt != nullptr ? dealt->shares[static_cast<std::size_t>(stage)].layers()
                                : count_layers_of_stage(l, j.model.layers.size, stage);
    }
    /// The layers of each stage, with commas; the last has `more` beside its own.
    std::string layers_of_stages(std::int64_t more) const {
        std::string sizes;
        for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
            if (stage > 0) sizes += ',';
            sizes += std::to_string(layers_of_stage(stage) + (stage == l.pipeline - 1 ? more : 0));
        }
        return sizes;
    }
    std::int64_t figure(launch_figure f) const;
    /// A setting of the engine that the job makes; 0 where it is as in the engine's profile.
    std::int64_t setting(launch_figure f) const;
    std::string words(const launch_word& w) const;
};

/// Whether a job's weights are cast to fp8 as they are loaded.
inline bool casts_to_fp8(const job& j) { return j.weights && *j.weights == fp8_e4m3 && !(j.model.weights == fp8_e4m3); }

/// The format of the cache where nobody names one.
inline precision kv_cache_unasked(job j) {
    j.kv_cache = {};
    return kv_cache_of(j);
}

/// What drafts tokens, where something does: a draft model, the model's own prediction layers, or a look-up.
inline launch_figure drafter_of(const job& j) {
    if (j.options.draft_weights > byte_count{}) return launch_figure::draft_model;
    return j.options.speculates_ahead ? launch_figure::own_predictions : launch_figure::looked_up_tokens;
}

inline std::int64_t launched::figure(launch_figure f) const {
    using figure = launch_figure;
    const bool deals_experts = l.expert > 1, in_turn = l.pipeline > 1;
    switch (f) {
        case figure::tensor_ranks: return l.tensor;
        case figure::tensor_ranks_and_shared: return std::int64_t{l.tensor} * (deals_experts ? l.data : 1);
        case figure::pipeline_stages: return l.pipeline;
        case figure::virtual_stages: return l.virtual_pipeline;
        case figure::data_ranks: return l.all_data_ranks();
        case figure::data_shares_experts: return deals_experts && l.data > 1;
        case figure::data_ranks_sharded: return l.zero > 0 ? l.all_data_ranks() / l.shard_replicas : 0;
        case figure::data_ranks_replicated:
            return l.zero == 0 ? l.all_data_ranks() : l.shard_replicas > 1 ? l.shard_replicas : 0;
        case figure::expert_ranks: return l.expert;
        case figure::deals_experts: return deals_experts;
        case figure::expert_tensor_ranks: return deals_experts ? l.expert_tensor_ranks() : 0;
        case figure::context_ranks: return l.context_parallel;
        case figure::sequence_parallel: return l.sequence_parallel;
        case figure::sharded_optimizer: return l.zero > 0;
        case figure::sharded_gradients: return l.zero == 2;
        case figure::sharded_weights: return l.zero == 3;
        case figure::first_stage_layers: return l.first_stage_layers;
        case figure::last_stage_layers: return l.last_stage_layers;
        case figure::embedding_as_layer: return l.embedding_as_layer;
        case figure::loss_as_layer: return l.loss_as_layer;
        case figure::context: return context_of(j).in(tokens);
        case figure::context_of_all: return context_of(j).in(tokens)*sequences_per_rank(j, l);
        case figure::sequences_of_rank: return sequences_per_rank(j, l);
        case figure::training_sequence: return sequence_of(j).in(tokens);
        case figure::micro_batch: return j.micro_batch;
        case figure::global_batch: return j.global_batch > 0 ? j.global_batch : sequences_at_once(j, l);
        case figure::full_recomputation: return j.recompute == recompute::full;
        case figure::selective_recomputation: return j.recompute == recompute::selective;
        case figure::no_recomputation: return j.recompute == recompute::none;
        case figure::compiled_layers: return j.runtime.kernels.compilation.layers;
        case figure::weights_cast_to_fp8: return casts_to_fp8(j);
        case figure::cache_format: return j.kv_cache && !(*j.kv_cache == kv_cache_unasked(j));
        case figure::gpu_layers: return j.options.gpu_layers.value_or(j.model.layers.size + 1);
        case figure::host_expert_layers: return j.options.host_expert_layers;
        case figure::all_experts_on_host: return j.options.experts_on_host && j.options.host_expert_layers <= 0;
        case figure::pools: return !generates(j.model);
        case figure::classifies: return classes_of(j.model);
        case figure::reranks: return classes_of(j.model) == 1;
        case figure::split_by_layers: return in_turn && !splits_rows(j);
        case figure::split_by_rows: return in_turn && splits_rows(j);
        case figure::head_on_gpu: return !host_part_of(j).head;
        case figure::rope_factor: return j.options.rope_scaling == 1.0 ? 0 : std::llround(j.options.rope_scaling * 1e6);
        case figure::draft_model: return j.options.draft_weights > byte_count{};
        case figure::own_predictions: return j.options.speculates_ahead;
        case figure::drafted_tokens: return j.options.draft_weights > byte_count{} ? j.options.draft_tokens : 0;
        case figure::looked_up_tokens: return drafter_of(j) == figure::looked_up_tokens ? j.options.draft_tokens : 0;
        case figure::drafting_steps: return drafter_of(j) == figure::looked_up_tokens ? 0 : j.options.draft_tokens;
        case figure::verified_tokens: return j.options.draft_tokens > 0 ? j.options.draft_tokens + 1 : 0;
        case figure::speculation: return this->figure(drafter_of(j)) != 0;
        default: return setting(f);
    }
}

/// The prompt tokens of a step that a job sets, whatever the device; 0 where they are the engine's.
inline std::int64_t batched_tokens_set(const llmres::serving_step& step, const llmres::serving_step& profile) {
    const auto of_device = [](const device_default& d) { return d.max_batched_tokens; };
    const bool same_on_devices =
        std::ranges::equal(step.larger_devices, profile.larger_devices, {}, of_device, of_device);
    return same_on_devices && step.max_batched_tokens == profile.max_batched_tokens
               ? 0
               : step.max_batched_tokens.in(tokens);
}

/// True of a cache in another format than ggml's own 16 bits.
inline bool has_type(const precision& format) { return !(format == bf16) && !(format == fp16); }

inline const precision& cached_values_of(const job& j) {
    return j.kv_cache_values ? *j.kv_cache_values : kv_cache_of(j);
}

inline std::int64_t launched::setting(launch_figure f) const {
    using figure = launch_figure;
    const runtime* const named = profile_of(j.runtime);
    const runtime &r = j.runtime, &profile = named != nullptr ? *named : r;
    const serving_options& o = j.options;
    constexpr token_count none = tokens(1);  // the longest sequence of CUDA graphs, where none are captured
    const bool shares = r.cache.shares_prefixes, usually_shares = profile.cache.shares_prefixes;
    const maybe<bool>& flash = r.serving_kernels.flash_attention;
    const bool flash_is_set = flash && flash != profile.serving_kernels.flash_attention;
    switch (f) {
        case figure::cache_fraction:
            return r.cache.fraction && r.cache.fraction != profile.cache.fraction
                       ? std::llround(*r.cache.fraction * 1e6)
                       : 0;
        case figure::batched_tokens: {
            if (j.max_batched_tokens > token_count{}) return j.max_batched_tokens.in(tokens);
            // An engine that computes its largest step at start takes one for the longest text by itself.
            const token_count step = step_tokens_of(j, r.step.max_batched_tokens);
            return !r.step.profiles && step > r.step.max_batched_tokens ? step.in(tokens)
                                                                        : batched_tokens_set(r.step, profile.step);
        }
        case figure::batch_of_steps: {
            constexpr std::int64_t usual_batch = 2048;  // llama.cpp, common/common.h: n_batch
            const std::int64_t step = setting(figure::batched_tokens);
            return step > usual_batch ? step : 0;
        }
        case figure::sequences_set: return o.max_num_seqs;
        case figure::cache_block: return r.cache.block == profile.cache.block ? 0 : r.cache.block.in(tokens);
        case figure::cache_bytes: return o.cache_bytes.in(bytes);
        case figure::cache_tokens: return o.cache_tokens.in(tokens);
        case figure::cache_blocks: return o.cache_blocks;
        case figure::resident_adapters: return o.max_loras;
        case figure::adapter_rank: return o.max_loras > 0 ? o.max_lora_rank : 0;
        case figure::eager: return r.launches.graph_context == none && profile.launches.graph_context != none;
        case figure::whole_prompts: return usually_shares && !shares;
        case figure::shared_prefixes: return shares && !usually_shares;
        case figure::flash_attention: return flash_is_set && *flash;
        case figure::no_flash_attention: return flash_is_set && !*flash;
        case figure::whole_windows: return r.cache.windows != profile.cache.windows;
        case figure::copied_weights: return profile.loading.maps_weights && !r.loading.maps_weights;
        case figure::key_type: return has_type(kv_cache_of(j));
        case figure::value_type: return has_type(cached_values_of(j));
        case figure::optimizer_copies: return l.zero > 0 ? l.shard_replicas : 1;
        case figure::bf16_weights: return weights_of(j) == bf16;
        case figure::fp16_weights: return weights_of(j) == fp16;
        case figure::one_gpu_of_several: return l.gpus() == 1 && c.gpus > 1;
        default: return 0;
    }
}

/// The name of a format of caches, as ggml has it where that is another one.
inline std::string format_name(const precision& format) {
    return format == fp32 ? "f32" : std::string{format.name.view()};
}

/// The name of a format of caches under engines that have names of their own for those with a scale a head (vLLM,
/// config/cache.py: CacheDType), and PyTorch's for those of 16 bits.
inline std::string cache_dtype(const precision& format) {
    struct named {
        const precision& format;
        std::string_view name;
    };
    constexpr std::array names{named{int8_row, "int8_per_token_head"},
                               named{int4_row, "int4_per_token_head"},
                               named{fp8_row, "fp8_per_token_head"},
                               named{bf16, "bfloat16"},
                               named{fp16, "float16"},
                               named{fp32, "float32"}};
    for (const named& known : names)
        if (known.format == format) return std::string{known.name};
    return std::string{format.name.view()};
}

/// A part of a whole, without zeros at its end: 850,000 is 0.85.
inline std::string millionths(std::int64_t part) {
    std::string digits = std::to_string(part % 1'000'000 + 1'000'000).substr(1);
    while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
    return std::to_string(part / 1'000'000) + "." + digits;
}

/// vLLM's object of what drafts (config/speculative.py: SpeculativeConfig). Without a number of tokens one is drafted:
/// the engine must be told some.
inline std::string vllm_object(const job& j) {
    const launch_figure drafter = drafter_of(j);
    const std::string_view drafts = drafter == launch_figure::draft_model       ? R"("model": "DRAFT")"
                                    : drafter == launch_figure::own_predictions ? R"("method": "mtp")"
                                                                                : R"("method": "ngram")";
    const std::int64_t number = j.options.draft_tokens > 0 ? j.options.draft_tokens : 1;
    return "'{" + std::string{drafts} + ", \"num_speculative_tokens\": " + std::to_string(number) + "}'";
}

/// The words of a command and their figure; empty where there is nothing to say.
inline std::string launched::words(const launch_word& w) const {
    const std::int64_t says = figure(w.figure);
    const std::string words = " " + std::string{w.words};
    switch (w.form) {
        case launch_form::words: return says != 0 ? words : "";
        case launch_form::some: return says != 0 ? words + " " + std::to_string(says) : "";
        case launch_form::degree: return says > 1 ? words + " " + std::to_string(says) : "";
        case launch_form::part: return says != 0 ? words + " " + millionths(says) : "";
        case launch_form::format: {
            const bool of_values = w.figure == launch_figure::value_type;
            if (w.figure == launch_figure::cache_format)
                return says != 0 ? words + " " + cache_dtype(kv_cache_of(j)) : "";
            return says != 0 ? words + " " + format_name(of_values ? cached_values_of(j) : kv_cache_of(j)) : "";
        }
        case launch_form::vllm_object: return says != 0 ? words + " " + vllm_object(j) : "";
        case launch_form::layers_of_stages: return deals_evenly() ? "" : words + " " + layers_of_stages(says);
        case launch_form::number: break;
    }
    return words + " " + std::to_string(says);
}

/// A field of a job document that a command must say where it is set.
struct told_field {
    std::string_view field;
    bool is_set;                           ///< the job or its layout says something other than the default
    std::array<launch_figure, 3> said_by;  ///< the figures of which a launcher's words say one
};

/// Degrees of a layout that are more than one. Training scripts learn their data ranks from the number of processes.
inline std::array<told_field, 5> degrees_told(const launched& what) {
    using enum launch_figure;
    const layout& l = what.l;
    const bool counts_processes = what.j.runtime.identity.launcher->started_by == process_starter::torchrun;
    return {{{"layout.tensor", l.tensor > 1, {tensor_ranks, tensor_ranks_and_shared, tensor_ranks}},
             {"layout.pipeline", l.pipeline > 1, {pipeline_stages, split_by_layers, split_by_rows}},
             {"layout.data",
              l.all_data_ranks() > 1 && !counts_processes,
              {data_ranks, data_ranks_sharded, data_ranks_replicated}},
             {"layout.expert", l.expert > 1, {expert_ranks, deals_experts, deals_experts}},
             {"layout.context_parallel", l.context_parallel > 1, {context_ranks, context_ranks, context_ranks}}}};
}

/// What a job asks of its engine, in serving.
inline std::array<told_field, 12> settings_told(const launched& what) {
    using enum launch_figure;
    const auto told = [&](std::string_view field, launch_figure f, launch_figure or_by) {
        return told_field{field, what.figure(f) != 0, {f, or_by, or_by}};
    };
    const auto one = [&](std::string_view field, launch_figure f) { return told(field, f, f); };
    return {{told("kv_cache", cache_format, key_type),
             one("runtime.rope_scaling", rope_factor),
             one("runtime.max_loras", resident_adapters),
             told("runtime.draft", draft_model, speculation),
             told("runtime.speculates_ahead", own_predictions, speculation),
             told("runtime.draft_tokens", looked_up_tokens, speculation),
             one("runtime.max_num_seqs", sequences_set),
             one("runtime.gpu_memory_utilization", cache_fraction),
             {"max_batched_tokens",
              what.j.max_batched_tokens > token_count{},
              {batched_tokens, batched_tokens, batched_tokens}},
             one("runtime.block_size", cache_block),
             one("runtime.cache_bytes", cache_bytes),
             one("runtime.cache_tokens", cache_tokens)}};
}

/// torchrun over the nodes that a layout takes.
inline std::string torchrun(const layout& l, const cluster& c) {
    const std::int64_t each = l.gpus() < c.node_size() ? l.gpus() : c.node_size();
    const std::int64_t nodes = ceil_quotient(l.gpus(), each);
    return "torchrun " + (nodes > 1 ? "--nnodes " + std::to_string(nodes) + " " : std::string{}) + "--nproc-per-node " +
           std::to_string(each) + " ";
}

inline std::string launch_command(const launched& what) {
    const launcher& with = *what.j.runtime.identity.launcher;
    std::string line;
    if (!with.stage_variable.empty() && !what.deals_evenly())
        line.append(with.stage_variable).append("=").append(what.layers_of_stages(0)).append(" ");
    if (with.started_by == process_starter::torchrun) line += torchrun(what.l, what.c);
    line += with.program;
    for (const launch_word& w : with) line += what.words(w);
    return line;
}

}  // namespace detail

inline std::string launch_command(const job& j, const layout& l, const cluster& c) {
    return j.runtime.identity.launcher == nullptr ? "" : detail::launch_command(detail::launched{j, l, c});
}

inline std::vector<std::string_view> unsaid_by_launch(const job& j, const layout& l, const cluster& c) {
    std::vector<std::string_view> unsaid;
    const launcher* const with = j.runtime.identity.launcher;
    if (with == nullptr) return unsaid;
    const auto add = [&](const auto& fields) {
        for (const detail::told_field& f : fields)
            if (f.is_set && std::ranges::none_of(f.said_by, [&](launch_figure said) { return with->says(said); }))
                unsaid.push_back(f.field);
    };
    const detail::launched what{j, l, c};
    add(detail::degrees_told(what));
    if (!trains(j)) add(detail::settings_told(what));
    return unsaid;
}

inline std::string launch_command(const job& j, const dealt_layers& dealt) {
    const launcher* const with = j.runtime.identity.launcher;
    if (with == nullptr || !with->takes_layers_of_gpus()) return {};
    job placed = j;
    if (dealt.on_host > 0)
        placed.options.gpu_layers = j.model.layers.size - dealt.on_host + (dealt.head_on_host ? 0 : 1);
    const layout one_after_another{.pipeline = static_cast<std::int32_t>(dealt.gpus)};
    const cluster several{.gpus = static_cast<std::int32_t>(dealt.gpus)};
    return detail::launch_command(detail::launched{placed, one_after_another, several, &dealt});
}

}  // namespace llmres::inline v0
