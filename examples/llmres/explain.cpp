// SPDX-License-Identifier: MIT
// llmres explain: what a term of memory or time counts, its formula and source, and its value in a job; what a constant
// of a runtime profile means, its unit, and its value and source in a job's runtime.
#include "commands.hpp"
#include "report.hpp"
#include "table.hpp"
#include "words.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/buffers.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/json/runtime/constants.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/values/to_string.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace program {
namespace {

/// What is to be known of a term whatever the job.
struct term_text {
    std::string_view counts;
    std::string_view formula;
    std::string_view source;
};

/// Of memory, in the order of llmres::memory_term.
constexpr auto memory_texts = std::to_array<term_text>(
    {{"the model's weights that lie on the GPU, with scales and zero points, embedding and head",
      "sum over the tensors of rows x columns x bits / 8, split by tensor, pipeline and expert ranks, and by ZeRO 3",
      "arithmetic: inventory/placement.hpp, values/precision.hpp"},
     {"the trained tensors of an adapter, or the adapters that an engine loads beside the model",
      "LoRA: rank x (inputs + outputs) of every adapted matrix x bytes of the format",
      "arXiv 2106.09685; inventory/adapter_weights.hpp"},
     {"one gradient for each trained weight, from its backward pass to the optimizer's step",
      "trained weights x bytes of `gradients`, split as the weights and by ZeRO 2",
      "arXiv 1910.02054 section 3; memory/training_state.hpp"},
     {"the optimizer's states, the master copy of the weights, and averages of them",
      "trained weights x (states x bytes of `optimizer_states` + bytes of `master_weights`), split by ZeRO 1",
      "arXiv 1910.02054 section 3; jobs/optimizer.hpp has each optimizer's states with its paper"},
     {"what the optimizer makes and frees while it steps, where the step is the fullest moment or overlaps it",
      "one value for each weight of the tensors that are updated together, in the format of the states",
      "torch.optim under a tracker of allocations (tests/validation/pytorch); jobs/optimizer.hpp"},
     {"tensors of the pass that is the fullest: what the forward pass saved, and what an operation reads and writes",
      "training: saved tensors of every layer x micro-batches in flight, and the temporaries of the fullest moment; "
      "serving: the fullest layer alone, for the tokens of one step",
      "arXiv 2205.05198 section 4, read off PyTorch and the engines: inventory/activations.hpp"},
     {"keys and values of every sequence in flight at its full context",
      "layers x 2 x KV heads x head width x bytes of `kv_cache` x tokens, in the engine's blocks; latent attention "
      "keeps one vector for both; layers with a window keep its tokens, as the engine allots them",
      "models/kv_cache.hpp; blocks: runtimes/cache.hpp; windows: memory/block_pool.hpp, memory/serving/cache.hpp"},
     {"the states of layers that are not attention (Mamba, linear attention), whatever the context",
      "layers x state values x bytes, for every sequence in flight", "models/kv_cache.hpp, recurrent_state_bytes()"},
     {"scores over the vocabulary, and what sampling or the loss makes of them",
      "serving: sequences x vocabulary x bytes, and again in fp32 to sample; training: tokens of a micro-batch x "
      "vocabulary x bytes, with the gradient of the loss, in the runtime's kernels; where preferences are learned, of "
      "both answers, and once more while a reference is computed; of a teacher, 17 times at a mixture's loss. TRL "
      "makes tiles of 4,096 tokens and 32,768 words",
      "inventory/layers/loss.hpp, inventory/activations.hpp; trl 1.16, kernels/chunked_logprob.py"},
     {"NCCL's communicators, and buffers of what GPUs exchange",
      "a constant of the runtime for each group of ranks; gathered weights and reduced gradients of ZeRO, FSDP, DDP",
      "the runtime's profile (runtimes/process.hpp); memory/training/"},
     {"scratch memory of libraries and kernels: cuBLAS, attention", "a constant of the runtime",
      "the runtime's profile (runtimes/process.hpp)"},
     {"the process itself: CUDA context, loaded kernels, CUDA graphs",
      "a constant of the runtime, or the context that was measured on the device",
      "the runtime's profile (runtimes/process.hpp)"},
     {"what the allocator or a pool holds beyond what it hands out",
      "a part of what is allocated, and what a pool withholds because it is a fraction of the device",
      "a simulation of PyTorch's allocator, and the runtime's profile (runtimes/allocator.hpp)"},
     {"weights of the model that preferred answers are held against (DPO, KTO), or of a teacher (GKD); none where "
      "adapters are switched off for it, or its log-probabilities were computed before",
      "as `weights`: another copy of the model, split as they are by ZeRO 3 and FSDP, whole on each GPU else; in the "
      "format of the trained weights, or in that of the checkpoint (LLaMA-Factory). A teacher's own, in "
      "`teacher_weights`, split by DeepSpeed's ZeRO 3 alone",
      "arXiv 2305.18290, 2306.13649; trl 1.16, trainer/dpo_trainer.py, experimental/gkd; llamafactory 0.9.5, "
      "model/loader.py; docs/preferences.md"}});
static_assert(memory_texts.size() == llmres::names_of<llmres::memory_term>.size());

/// Of time, in the order of llmres::time_term.
constexpr std::array<term_text, llmres::names_of<llmres::time_term>.size()> time_texts{
    {{"operations that take longer to compute than to move",
      "FLOPs of each operation / (the GPU's peak in its arithmetic x the part that kernels reach)",
      "roofline, doi 10.1145/1498765.1498785; time/roofline.hpp, time/kernels.hpp"},
     {"operations that take longer to move than to compute: weights and caches of a token, norms, optimizer steps",
      "bytes that each operation reads and writes / (the GPU's bandwidth x the part that kernels reach)",
      "roofline, doi 10.1145/1498765.1498785; time/roofline.hpp, time/kernels.hpp"},
     {"all-reduces, or gathers and scatters, between tensor ranks",
      "two a layer and pass: bytes of the hidden states by a ring over the link, with its latency",
      "arXiv 1909.08053 section 3; doi 10.1016/j.jpdc.2008.09.002; hardware/collectives.hpp"},
     {"waiting for other pipeline stages",
      "1F1B: (stages - 1) micro-batches' time; interleaving divides it by the chunks. Serving: what all stages take "
      "for "
      "a token, less what the busiest one takes for the batches that are in flight",
      "arXiv 2104.04473 section 2.2; time/steps/training.hpp, time/steps/serving.hpp"},
     {"activations on their way to the next pipeline stage, and in training gradients on their way back",
      "messages of a micro-batch's hidden states, with the link's latency: one a stage and pass",
      "hardware/collectives.hpp; time/steps/training.hpp, time/steps/serving.hpp"},
     {"gradients' all-reduce and ZeRO's gathers, as far as computing does not hide them",
      "bytes of gradients and gathered weights by a ring over the link, less the part that overlaps",
      "arXiv 1910.02054 section 7; hardware/collectives.hpp"},
     {"tokens on their way to routed experts on other GPUs and back",
      "an all-to-all before and after the experts of every layer",
      "hardware/collectives.hpp; inventory/operations.hpp"},
     {"offloaded tensors over the link to the host, and layers or experts that the CPU computes",
      "bytes / the link's bandwidth, less the part that overlaps; weights of the CPU's layers / the host's bandwidth",
      "arXiv 2101.06840, arXiv 2104.07857; time/host.hpp"},
     {"optimizer steps that the CPU computes", "bytes of states, master weights and gradients / the host's bandwidth",
      "arXiv 2101.06840; time/host.hpp"},
     {"starting kernels, where the GPU waits for the CPU", "kernels of the pass x the runtime's time to start one",
      "time/kernels.hpp; the runtime's profile (runtimes/launches.hpp)"}}};

/// A term of either kind.
struct term {
    bool of_memory = false;
    std::size_t index = 0;
    std::string_view name() const {
        return of_memory ? llmres::name_of(static_cast<llmres::memory_term>(index))
                         : llmres::name_of(static_cast<llmres::time_term>(index));
    }
    const term_text& text() const { return of_memory ? memory_texts[index] : time_texts[index]; }
};

std::vector<term> all_terms() {
    std::vector<term> all;
    all.reserve(memory_texts.size() + time_texts.size());
    for (std::size_t i = 0; i < memory_texts.size(); ++i) all.push_back({true, i});
    for (std::size_t i = 0; i < time_texts.size(); ++i) all.push_back({false, i});
    return all;
}

/// The term of that name, or the constant of profiles: a term where both have it.
std::variant<term, llmres::detail::profile_constant> find_term(const std::string& typed) {
    std::string name = typed;
    std::replace(name.begin(), name.end(), '-', '_');
    std::vector<std::string_view> names;
    for (const term& t : all_terms()) {
        if (t.name() == name) return t;
        names.push_back(t.name());
    }
    const auto constants = llmres::detail::profile_constants();
    if (const auto* constant = llmres::detail::find_constant(constants, name)) return *constant;
    throw refusal{
        llmres::refused(llmres::error_code::unknown, "term", typed, "one of"),
        fmt::format(" {}; a word of an answer, a field of a job document, or a constant of a profile: `llmres runtimes "
                    "NAME --constants`",
                    fmt::join(names, ", "))};
}

/// A part of a term, and how many equal ones there are of it.
struct part {
    std::string name;
    llmres::byte_count size;
    std::int64_t count = 0;
};

/// The tensors of a memory term, those of all layers with one name together, the largest first. They add up to what the
/// plan expects.
std::vector<part> parts_of(const llmres::plan_request& r, const llmres::job_plan& p, llmres::memory_term wanted) {
    std::vector<part> parts;
    llmres::for_each_buffer(r.job, r.cluster, p, [&](const llmres::buffer& b) {
        if (b.term != wanted) return;
        std::string name{b.name.view()};
        if (name.starts_with("layers.")) name = "layers' " + name.substr(name.find('.', 7) + 1);
        const auto known =
            std::find_if(parts.begin(), parts.end(), [&](const part& other) { return other.name == name; });
        if (known == parts.end()) {
            parts.push_back({name, b.size * b.count, b.count});
        } else {
            known->size += b.size * b.count;
            known->count += b.count;
        }
    });
    std::sort(parts.begin(), parts.end(),
              [](const part& a, const part& b) { return a.size == b.size ? a.name < b.name : b.size < a.size; });
    return parts;
}

/// Figures of a job that a memory term is made of, in words.
using figure_list = std::vector<std::pair<std::string, std::string>>;

std::string bounds_text(const llmres::interval<llmres::byte_count>& size) {
    return size.low == size.high
               ? to_string(size.expected)
               : fmt::format("{} ({} to {})", to_string(size.expected), to_string(size.low), to_string(size.high));
}

/// In which format the optimizer's states are.
std::string states_in(const llmres::job& j) {
    if (j.optimizer.block > 0) return fmt::format("8 bits, blocks of {}", j.optimizer.block);
    if (j.optimizer.widens) return "fp32";
    return std::string{(j.adapter.trains() ? adapter_format_of(j) : optimizer_states_of(j)).name.view()};
}

/// What a data rank computes at once, in words: 2 pairs of 1024 tokens each.
std::string micro_batch_text(const llmres::job& j) {
    return fmt::format("{} {} {} tokens", j.micro_batch, learns_from_pairs(j.preference) ? "pairs x 2 x" : "x",
                       sequence_of(j).in(llmres::tokens));
}

/// Where a reference's log-probabilities come from.
std::string log_probabilities_text(llmres::reference_model reference) {
    switch (reference) {
        case llmres::reference_model::loaded: return "of another model, which lies beside the trained one";
        case llmres::reference_model::adapters_off: return "of the trained model with its adapters off: no weights";
        case llmres::reference_model::precomputed: return "computed before training: no weights";
        case llmres::reference_model::offloaded: return "of another model, which lies in main memory";
        case llmres::reference_model::by_method:
        case llmres::reference_model::none: break;
    }
    return "none";
}

figure_list figures_of(const llmres::plan_request& r, const llmres::job_plan& p, llmres::memory_term t) {
    const llmres::job& j = r.job;
    using enum llmres::memory_term;
    switch (t) {
        case weights:
            return {{"parameters", to_string(llmres::count_parameters(j.model))},
                    {"format", j.gguf ? llmres::mix_name(*j.gguf) : std::string{weights_of(j).name.view()}}};
        case kv_cache:
            return {
                {"a token in all layers", to_string(kv_bytes_per_token(j.model, kv_cache_of(j)) * llmres::tokens(1))},
                {"context", fmt::format("{} tokens", context_of(j).in(llmres::tokens))},
                {"sequences", fmt::format("{}", j.batch)},
                {"format", std::string{kv_cache_of(j).name.view()}}};
        case optimizer: return {{"optimizer", std::string{j.optimizer.name.view()}}, {"states in", states_in(j)}};
        case activations:
            if (!trains(j)) return {};
            return {{"saved by one micro-batch", to_string(llmres::saved_activations(j, p.layout, p.memory.stage))},
                    {"micro-batch", micro_batch_text(j)},
                    {"recomputed", std::string{name_of(j.recompute)}}};
        case logits:
            if (!trains(j)) return {{"vocabulary", fmt::format("{}", j.model.vocabulary)}};
            return {{generates(j.model) ? "vocabulary" : "scores of a sequence",
                     fmt::format("{}", scored_vocabulary(j.model))},
                    {"micro-batch", micro_batch_text(j)},
                    {"loss", std::string{name_of(j.runtime.kernels.loss.code)}}};
        case reference: {
            if (learns_from_teacher(j.preference))
                return {{"learned by", std::string{name_of(j.preference)}},
                        {"teacher", std::string{j.teacher.name.view()}},
                        {"weights", to_string(j.teacher.held)},
                        {"format", std::string{j.teacher.weights.name.view()}}};
            if (!has_reference(j.preference)) return {};
            figure_list of_reference{{"learned by", std::string{name_of(j.preference)}},
                                     {"log-probabilities", log_probabilities_text(reference_of(j))}};
            if (loads_reference(j))
                of_reference.insert(of_reference.end(), {{"parameters", to_string(llmres::count_parameters(j.model))},
                                                         {"format", std::string{reference_format_of(j).name.view()}}});
            return of_reference;
        }
        case runtime: return {{"context", bounds_text(llmres::context_on(j.runtime, r.cluster.gpu))}};
        case fragmentation:
            return {{"allocated", bounds_text(p.memory.allocated)}, {"reserved", bounds_text(p.memory.reserved)}};
        default: return {};
    }
}

llmres::json_value bytes_json(const llmres::interval<llmres::byte_count>& size) {
    return {{"low", size.low.in(llmres::bytes)},
            {"expected", size.expected.in(llmres::bytes)},
            {"high", size.high.in(llmres::bytes)}};
}

/// Writes what a term of memory is in this job into `out`, and says it where no JSON is asked for.
void explain_memory(const llmres::job_answer& answer, const term& t, llmres::json_value& out, bool json) {
    const llmres::job_plan& p = answer.planned.plan;
    const auto which = static_cast<llmres::memory_term>(t.index);
    const llmres::interval<llmres::byte_count> value = p.memory[which];
    const llmres::interval<llmres::byte_count> total = p.memory.total();
    out["value"] = bytes_json(value);
    out["total"] = bytes_json(total);
    out["phase"] = name_of(p.memory.phase);
    out["stage"] = p.memory.stage;
    out["figures"] = llmres::json_value::object();
    out["parts"] = llmres::json_value::array();
    const figure_list known = figures_of(answer.request, p, which);
    for (const auto& [name, text] : known) out["figures"][name] = text;
    std::vector<table_row> rows;
    for (const part& each : parts_of(answer.request, p, which)) {
        out["parts"].push_back({{"name", each.name}, {"bytes", each.size.in(llmres::bytes)}, {"tensors", each.count}});
        rows.push_back({"", each.name, to_string(each.size), fmt::format("{}", each.count)});
    }
    if (json) return;
    fmt::print("here      {}, {:.1f} % of the {} that the busiest GPU needs, at its fullest in {}{}\n",
               bounds_text(value), 100 * llmres::ratio(value.expected, total.expected), to_string(total.expected),
               name_of(p.memory.phase), p.layout.pipeline > 1 ? fmt::format(" of stage {}", p.memory.stage) : "");
    for (const auto& [name, text] : known) fmt::print("          {}: {}\n", name, text);
    if (rows.empty()) return;
    fmt::print("\n");
    print_table({{""}, {"part"}, {"size", true}, {"tensors", true}}, rows);
}

/// Writes what a term of time is in this job into `out`, and says it where no JSON is asked for.
void explain_time(const llmres::job_answer& answer, const term& t, llmres::json_value& out, bool json) {
    const llmres::job_plan& p = answer.planned.plan;
    const auto which = static_cast<llmres::time_term>(t.index);
    const bool serves = !trains(answer.request.job);
    const bool together = serves && prompts_before_token(answer.request.job, p.layout) > 1;
    using pass = std::pair<std::string_view, const llmres::time_breakdown*>;
    std::vector<pass> passes{{serves ? "one token of every sequence" : "a step", &p.speed.step}};
    if (serves) passes.insert(passes.begin(), {together ? "the prompts of a batch" : "one prompt", &p.speed.prefill});
    out["parts"] = llmres::json_value::array();
    std::string_view head = "here     ";
    for (const auto& [name, time] : passes) {
        const llmres::interval<llmres::duration> value = (*time)[which], total = time->total();
        out["parts"].push_back({{"name", name}, {"value", llmres::to_json(value)}, {"total", llmres::to_json(total)}});
        if (!json)
            fmt::print("{} {}: {} ({} to {}), {:.1f} % of {}\n", head, name, to_string(value.expected),
                       to_string(value.low), to_string(value.high),
                       total.expected > llmres::duration{} ? 100 * (value.expected / total.expected) : 0.0,
                       to_string(total.expected));
        head = "         ";
    }
}

void list_terms(bool json) {
    llmres::json_value rows = llmres::json_value::array();
    std::vector<table_row> table;
    for (const term& t : all_terms()) {
        const std::string_view kind = t.of_memory ? "memory" : "time";
        rows.push_back({{"term", t.name()}, {"of", kind}, {"counts", t.text().counts}});
        table.push_back({std::string{t.name()}, std::string{kind}, std::string{t.text().counts}});
    }
    if (json)
        print_answer("terms", {{"terms", rows}});
    else
        print_table({{"term"}, {"of"}, {"counts"}}, table);
}

/// Says what a constant of runtime profiles is, and its value in a job's runtime.
void explain_constant(const llmres::detail::profile_constant& c, const plan_options& job) {
    llmres::json_value out{{"constant", c.path},
                           {"means", c.means},
                           {"unit", c.unit},
                           {"bounds", c.has_bounds},
                           {"header", "llmres/runtimes/" + std::string{c.header}}};
    if (!job.json)
        fmt::print("{}, a constant of runtime profiles\n\nmeans     {}\nunit      {}{}\nheader    llmres/runtimes/{}\n",
                   c.path, c.means, c.unit, c.has_bounds ? "; low, expected and high, or one number" : "", c.header);
    if (!job.source.empty()) {
        const llmres::job_answer answer = answered(job);
        llmres::runtime_profile profile = answer.request.profile;
        const std::string source = llmres::detail::constant_sources{profile}.source_of(c);
        out["value"] = llmres::detail::value_at(llmres::detail::constants_to_json(profile.runtime), c.path);
        out["source"] = source;
        if (!job.json) fmt::print("here      {}\nsource    {}\n", out["value"].dump(), source);
    }
    if (job.json) print_answer("constant", out);
}

/// Says what a word of answers or a field of job documents means: whether it is such a word and no term.
bool explain_word(const std::string& typed, bool json) {
    std::string name = typed;
    std::replace(name.begin(), name.end(), '-', '_');
    for (const term& t : all_terms())
        if (t.name() == name) return false;
    const std::optional<std::string> means = meaning_of(name);
    if (!means) return false;
    if (json)
        print_answer("word", {{"word", name}, {"means", *means}});
    else
        fmt::print("{}\n\nmeans     {}\n", name, *means);
    return true;
}

}  // namespace

int run_explain(const explain_options& o) {
    if (o.term.empty()) {
        list_terms(o.job.json);
        return fits;
    }
    if (o.job.source.empty() && explain_word(o.term, o.job.json)) return fits;
    const auto found = find_term(o.term);
    if (const auto* constant = std::get_if<llmres::detail::profile_constant>(&found)) {
        explain_constant(*constant, o.job);
        return fits;
    }
    const term t = std::get<term>(found);
    llmres::json_value out{{"term", t.name()},
                           {"of", t.of_memory ? "memory" : "time"},
                           {"counts", t.text().counts},
                           {"formula", t.text().formula},
                           {"source", t.text().source}};
    const bool in_a_job = !o.job.source.empty();
    const llmres::job_answer answer = in_a_job ? answered(o.job) : llmres::job_answer{};
    if (!o.job.json)
        fmt::print("{}, a term of {}\n\ncounts    {}\nformula   {}\nsource    {}\n", t.name(),
                   t.of_memory ? "memory" : "time", t.text().counts, t.text().formula, t.text().source);
    if (in_a_job) {
        out["verdict"] = name_of(answer.planned.verdict());
        t.of_memory ? explain_memory(answer, t, out, o.job.json) : explain_time(answer, t, out, o.job.json);
        if (!o.job.json) {
            fmt::print("\n");
            print_assumed(answer.assumed);
        }
    }
    if (o.job.json) print_answer("term", out);
    return fits;
}

}  // namespace program
