// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/remedies.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/to_string.hpp>
#include <string>
#include <string_view>

/// Reasons, remedies and errors as sentences: the only header in which answers become prose.
namespace llmres::inline v0 {

namespace detail {

/// A text with its parts in the places of {}.
inline std::string sentence(std::string_view form, std::initializer_list<std::string_view> parts) {
    std::string made;
    for (const std::string_view part : parts) {
        const std::size_t place = form.find("{}");
        made.append(form.substr(0, place)).append(part);
        form.remove_prefix(place + 2);
    }
    return made.append(form);
}

}  // namespace detail

/// A sentence for an error.
inline std::string to_text(const error& e) {
    if (e.value.empty())
        return detail::sentence("{}: {}; expected {}", {e.field.view(), name_of(e.code), e.expected.view()});
    return detail::sentence("{} is {}; expected {}", {e.field.view(), e.value.view(), e.expected.view()});
}

namespace detail {

/// Which format of a job a GPU converts before it multiplies, and which one it need not convert.
inline std::string converted_format(const job& j, const gpu& card) {
    const bool computes = has_arithmetic(card, j.compute.arithmetic);
    const std::string_view field = computes ? "weights" : "compute";
    const std::string_view lacked = name_of(computes ? weight_arithmetic_of(j) : j.compute.arithmetic);
    const precision& plain = computes ? j.compute : has_arithmetic(card, bf16.arithmetic) ? bf16 : fp16;
    const precision& format = computes ? weights_of(j) : j.compute;
    return sentence(
        "{} {}: {} has no {} arithmetic, and converts values before it multiplies them; {} {}, or a GPU with "
        "{} arithmetic, needs no conversion",
        {field, format.name.view(), card.name.view(), lacked, field, plain.name.view(), lacked});
}

/// Which degree a runtime does not run, or is not known to, and what says so: "llama.cpp does not run tensor 8
/// (common/arg.cpp: --split-mode is none, layer or row)".
inline std::string unrun_layout(bool unproven, const job& j, const layout& l) {
    const unrun_degree lacked = unrun_degree_of(j, l);
    const std::string_view source = j.runtime.layouts.source.view();
    if (lacked.name.empty() && is_naive(j, l))
        return sentence("{} does not run pipeline {} over several nodes: one process computes all stages",
                        {j.runtime.identity.name.view(), std::to_string(l.pipeline)});
    return sentence(unproven ? "{} may run {}{}, of which no run is known{}" : "{} does not run {}{}{}",
                    {j.runtime.identity.name.view(), lacked.name,
                     lacked.degree > 1 ? " " + std::to_string(lacked.degree) : std::string{},
                     source.empty() ? std::string{} : sentence(" ({})", {source})});
}

/// Why a runtime does not start on a GPU, or that its port to it is not measured, and what says so.
inline std::string start_on(bool unmeasured, const job& j, const gpu& card) {
    const device_start start = device_start_of(j, card);
    const std::string_view name = j.runtime.identity.name.view();
    const std::string_view source = j.runtime.devices.source.view();
    const std::string named = source.empty() ? std::string{} : sentence(" ({})", {source});
    const auto written = [](const compute_capability& c) {
        return std::to_string(c.major) + "." + std::to_string(c.minor);
    };
    if (unmeasured)
        return sentence("no run of {} on {} was measured here: memory and times are as on the GPUs that were{}",
                        {name, card.name.view(), named});
    if (!start.arithmetic.empty())
        return sentence("{} with {} needs a GPU with {} arithmetic, and {} has none{}",
                        {name, start.what, start.arithmetic, card.name.view(), named});
    if (start.needed == compute_capability{} && start.before == compute_capability{})
        return sentence("{} does not start on {}{}", {name, card.name.view(), named});
    const bool within = start.before != compute_capability{};
    return sentence("{}{} needs compute capability {}{}, and {} has {}{}",
                    {name, start.what.empty() ? std::string{} : sentence(" with {}", {start.what}),
                     written(start.needed), within ? " to below " + written(start.before) : " or newer",
                     card.name.view(), written(card.capability), named});
}

/// Which groups tensor ranks cut, and which width would not be: the next multiple of a group for each rank.
inline std::string cut_groups(const job& j, const layout& l) {
    const cut_blocks cut = cut_blocks_of(j, l);
    return sentence(
        "tensor {} cuts groups of {} in {} {}: it starts only with a checkpoint whose width is padded to a multiple of "
        "{}, as Qwen2.5-72B's AWQ files are",
        {std::to_string(l.tensor), std::to_string(cut.block), std::to_string(cut.size), cut.what,
         std::to_string(cut.block * l.tensor)});
}

/// How many sequences a step may have, and for how many the pool has blocks.
inline std::string missing_states(const job_plan& p, const job& j, const cluster& c) {
    const state_blocks blocks = state_blocks_of(j, p.layout, c, p.memory).value_or({});
    const interval<std::int64_t>& there = blocks.there;
    return sentence(
        "does not start where a step may have {} sequences (max_num_seqs): the pool has {} blocks ({} to {}) "
        "for their states",
        {std::to_string(blocks.needed), std::to_string(there.expected), std::to_string(there.low),
         std::to_string(there.high)});
}

/// How much a GPU may need, in a step or while the job starts.
inline std::string tight_memory(const reason& r, const std::string& where, const job_plan& p, const job& j,
                                const cluster& c) {
    if (p.memory.phase == phase::start && r.needed == most_at_start(j, p.memory, c.gpu))
        return sentence(
            "may need up to {}{} while it starts, has {}: the weights, the pages of the files that they are read from, "
            "and the profiling run; drop the page cache first, or keep the files out of it",
            {to_string(r.needed), where, to_string(r.available)});
    const interval<byte_count>& term = p.memory[r.term];
    return sentence(
        "may need up to {}{}, has {}; the least certain part is {}, with up to {} more than expected",
        {to_string(r.needed), where, to_string(r.available), name_of(r.term), to_string(term.high - term.expected)});
}

/// A sentence on the fraction of a GPU that an engine takes before it starts, and how much of it is free.
inline std::string start_sentence(const reason& r, const job& j, const cluster& c) {
    if (!start_refused(j, c))
        return sentence(
            "does not start: it sets {} aside for its steps on a GPU of {}, which leaves no room for caches",
            {to_string(r.needed), to_string(r.available)});
    return sentence("does not start: its {} of the GPU is {}, of which {} are free",
                    {std::string{j.runtime.cache.fraction_name.view()}, to_string(r.needed), to_string(r.available)});
}

/// How much main memory offloading, evicted states or a checkpoint take, of what is there or is not known.
inline std::string host_memory(const reason& r) {
    if (r.code == reason_code::states_evicted)
        return sentence(
            "the driver moves up to {} of the optimizer's states to a node's main memory and back in each step, which "
            "the times leave out",
            {to_string(r.needed)});
    if (r.code == reason_code::checkpoint_exceeded)
        return sentence("writing a checkpoint takes {} of a node's main memory, which has {} for it",
                        {to_string(r.needed), to_string(r.available)});
    const std::string needed = sentence("offloading takes up to {} of a node's main memory", {to_string(r.needed)});
    return r.code == reason_code::host_memory_unknown ? sentence("{}; say how much it has (host memory)", {needed})
                                                      : sentence("{}, which has {}", {needed, to_string(r.available)});
}

/// A sentence on the memory of a phase together with that of the others on its GPU.
inline std::string memory_with_others(const reason& r, std::string_view where, verdict found) {
    return sentence(
        "needs {} {}{} with what other phases keep there, has {}",
        {found == verdict::tight ? "up to" : "about", to_string(r.needed), std::string{where}, to_string(r.available)});
}

}  // namespace detail

/// A sentence for a reason of the plan of a job on a cluster.
inline std::string to_text(const reason& r, const job_plan& p, const job& j, const cluster& c) {
    const std::string where =
        p.layout.gpus() == 1
            ? ""
            : detail::sentence(" on GPU {} of {}", {std::to_string(r.gpu), std::to_string(p.layout.gpus())});
    switch (r.code) {
        case reason_code::memory_exceeded:
            return detail::sentence("needs {}{}, has {}; the largest part is {} with {}",
                                    {to_string(r.needed), where, to_string(r.available), name_of(r.term),
                                     to_string(p.memory[r.term].expected)});
        case reason_code::weights_exceed:
            return detail::sentence("the weights alone take {}{}, has {}",
                                    {to_string(r.needed), where, to_string(r.available)});
        case reason_code::memory_tight: return detail::tight_memory(r, where, p, j, c);
        case reason_code::phases_exceed: return detail::memory_with_others(r, where, p.verdict);
        case reason_code::flash_attention_unsupported: return "flash attention needs compute capability 8.0 or newer";
        case reason_code::states_evicted:
        case reason_code::checkpoint_exceeded:
        case reason_code::host_memory_exceeded:
        case reason_code::host_memory_unknown: return detail::host_memory(r);
        case reason_code::format_emulated: return detail::converted_format(j, c.gpu);
        case reason_code::not_described:
            return "not described: computed as Llama, with bounds as wide as other architectures differ from it";
        case reason_code::sequence_assumed:
            return detail::sentence("no sequence is given: at most {} tokens are assumed",
                                    {std::to_string(usual_finetuning_sequence.in(tokens))});
        case reason_code::context_extended:
            return "the context is longer than the model was trained for: its answers may be worse, at any length "
                   "where the runtime scales every sequence alike";
        case reason_code::weights_dequantised:
            return "the weights are published in a format that is not trained, and are widened when they are loaded";
        case reason_code::experts_left_out:
            return "the adapter leaves out the routed experts, whose weights this runtime stacks in bare parameters "
                   "(adapter.experts adds them)";
        case reason_code::power_unknown:
            return "the power of this GPU is not known, so that times of long runs have wider bounds";
        case reason_code::from_tensors:
            return "not described: planned from its stored tensors, with bounds as wide as other architectures differ "
                   "from Llama's";
        case reason_code::attention_unmeasured: return "no run with compressed attention was measured here";
        case reason_code::multiprocessors_unknown:
            return "the number of this GPU's multiprocessors is not known, so that times have wider bounds";
        case reason_code::buffer_exceeded:
            return detail::sentence("one buffer of {} takes up to {}{}, and the driver allocates {} at once",
                                    {name_of(r.term), to_string(r.needed), where, to_string(r.available)});
        case reason_code::layout_not_run:
        case reason_code::layout_unproven:
            return detail::unrun_layout(r.code == reason_code::layout_unproven, j, p.layout);
        case reason_code::gpu_not_supported:
        case reason_code::gpu_unmeasured: return detail::start_on(r.code == reason_code::gpu_unmeasured, j, c.gpu);
        case reason_code::groups_cut: return detail::cut_groups(j, p.layout);
        case reason_code::states_exceeded: return detail::missing_states(p, j, c);
        case reason_code::start_refused: return detail::start_sentence(r, j, c);
        case reason_code::pool_exceeded:
            return detail::sentence("the caches of the job's sequences take {}{}, and the pool was given {}",
                                    {to_string(r.needed), where, to_string(r.available)});
    }
    return std::string{name_of(r.code)};
}

/// The name of a mix in lower case: q4_k_m.
inline std::string mix_name(const gguf_mix& mix) {
    std::string name;
    for (const auto& known : detail::gguf::quantisations)
        if (known.quantisation == mix.quantisation) name = known.name;
    for (const auto& extended : detail::gguf::extended_mixes)
        if (extended.base == name && extended.is_of(mix)) {
            name = extended.name;
            break;
        }
    for (char& c : name) c = detail::lower_case(c);
    return name;
}

/// The degrees of a layout that are more than one: "tensor 4 with sequence, data 2"; empty on one GPU.
inline std::string degrees_of(const layout& l) {
    std::string text;
    const auto part = [&](std::string_view name, std::int32_t degree) {
        if (degree > 1) text += detail::sentence("{}{} {}", {text.empty() ? "" : ", ", name, std::to_string(degree)});
    };
    part("tensor", l.tensor);
    if (l.sequence_parallel) text += " with sequence";
    part("pipeline", l.pipeline);
    part("virtual_pipeline", l.virtual_pipeline);
    part("data", l.data);
    part("context_parallel", l.context_parallel);
    part("expert", l.expert);
    part("replicas", l.replicas);
    if (l.zero > 0) text += detail::sentence("{}zero {}", {text.empty() ? "" : ", ", std::to_string(l.zero)});
    return text;
}

/// A layout in words: "8 GPUs, tensor 4 with sequence, data 2".
inline std::string to_text(const layout& l) {
    const std::string degrees = degrees_of(l);
    return detail::sentence("{} GPU{}{}{}",
                            {std::to_string(l.gpus()), l.gpus() == 1 ? "" : "s", degrees.empty() ? "" : ", ", degrees});
}

/// A layout on so many GPUs in words: "24 GPUs, 20 of them in use, pipeline 20" where whole nodes have more than it
/// takes.
inline std::string to_text(const layout& l, std::int64_t gpus) {
    if (gpus <= l.gpus()) return to_text(l);
    return detail::sentence("{} GPUs, {} of them in use, {}",
                            {std::to_string(gpus), std::to_string(l.gpus()), degrees_of(l)});
}

/// A change in words: "weights in fp8_e4m3".
inline std::string to_text(const change& made) {
    const auto host = [&](std::string_view text) {
        return made.host_memory > byte_count{}
                   ? detail::sentence("{} (of {} or more)", {text, to_string(made.host_memory)})
                   : std::string{text};
    };
    switch (made.what) {
        case change::kind::known_host:
            return detail::sentence("main memory of {} or more in a node", {to_string(made.host_memory)});
        case change::kind::shared_each_batch:
            return "gradients shared between data ranks in each micro-batch (sync_each_batch)";
        case change::kind::bucket_views: return "gradients as views of DDP's buckets (gradient_as_bucket_view)";
        case change::kind::more_gpus: return to_text(made.layout, made.amount);
        case change::kind::other_layout: return "another layout: " + to_text(made.layout);
        case change::kind::narrower_weights:
            return detail::sentence("weights in {}",
                                    {made.mix ? mix_name(*made.mix) : std::string{made.format.name.view()}});
        case change::kind::narrower_cache: return detail::sentence("a KV cache in {}", {made.format.name.view()});
        case change::kind::smaller_batch: return detail::sentence("a batch of {}", {std::to_string(made.amount)});
        case change::kind::smaller_micro_batch:
            return detail::sentence("a micro-batch of {}", {std::to_string(made.amount)});
        case change::kind::shorter_context:
            return detail::sentence("{} tokens a sequence", {std::to_string(made.amount)});
        case change::kind::smaller_fraction:
            return detail::sentence("{} % of the GPU (gpu_memory_utilization)", {std::to_string(made.amount)});
        case change::kind::fewer_step_sequences:
            return detail::sentence("at most {} sequences in a step (max_num_seqs)", {std::to_string(made.amount)});
        case change::kind::full_recompute: return "full recomputation of activations";
        case change::kind::sdpa_attention: return "attention sdpa";
        case change::kind::eight_bit_optimizer: return "AdamW with 8-bit states";
        case change::kind::adapter:
            return detail::sentence("LoRA of rank {} in place of full fine-tuning", {std::to_string(made.amount)});
        case change::kind::offloaded_optimizer: return host("optimizer states in main memory");
        case change::kind::offloaded_activations: return host("saved activations in main memory");
        case change::kind::fewer_gpu_layers:
            return host(
                detail::sentence("{} layers on GPUs, the others in main memory", {std::to_string(made.amount)}));
        case change::kind::experts_on_host:
            return host(detail::sentence("routed experts of the first {} layers in main memory",
                                         {std::to_string(made.amount)}));
    }
    return {};
}

/// A remedy in words: its changes with "and" between them.
inline std::string to_text(const remedy& r) {
    std::string text;
    for (const change& made : r) text += (text.empty() ? "" : ", and ") + to_text(made);
    return text;
}

}  // namespace llmres::inline v0
