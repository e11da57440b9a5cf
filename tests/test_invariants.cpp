// SPDX-License-Identifier: MIT
// What must hold of every plan, whatever the job: held against random job documents. 10,000 are tried (five plans or
// more each; 1,000 under the sanitizers); LLMRES_RANDOM_JOBS=1000000 tries as many as it says, LLMRES_RANDOM_SEED=n
// others. A document that breaks a rule is printed as a caller would write it: `llmres plan FILE.json` shows it again.
#include <llmres/io/job_json.hpp>
#include <llmres/plan.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/jobs/upcast.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/find_precision.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "properties.hpp"
#include "random_documents.hpp"
#include "sanitized.hpp"

using namespace llmres;
using namespace random_documents;

namespace {

struct planned {
    plan_request asked;
    job_plan plan;
};

/// The plan of a document in its own layout; nothing where it is refused.
std::optional<planned> planned_of(const document& d) {
    const result<plan_request> read = read_job(d);
    if (!read || !read->layout) return {};
    const result<job_plan> made = plan(read->job, *read->layout, read->cluster);
    if (!made) return {};
    return planned{*read, *made};
}

/// The rules that were broken: how often, and first by which document.
class findings {
public:
    void found(const std::string& rule, const document& d, const std::string& how) {
        if (++count_[rule] > (verbose() ? 1000 : 1)) return;
        first_[rule] += how + "\n    " + d.dump() + "\n";
    }
    void report() const {
        for (const auto& [rule, count] : count_) {
            const std::string message = rule + ": " + std::to_string(count) + " times, first\n    " + first_.at(rule);
            FAIL_CHECK(message);
        }
    }

private:
    static bool verbose() { return std::getenv("LLMRES_RANDOM_ALL") != nullptr; }

    std::map<std::string, int> count_;
    std::map<std::string, std::string> first_;
};

std::string in_gib(byte_count size) { return std::to_string(size.in(gib)) + " GiB"; }
std::string more_than(byte_count a, byte_count b) { return in_gib(a) + ", not at most " + in_gib(b); }

/// Calls check(document, plan) for so many documents that are planned.
void for_random_jobs(document (*make)(dice&), const std::function<void(const document&, const planned&)>& check) {
    const std::int64_t wanted = from_environment("LLMRES_RANDOM_JOBS", sanitized ? 1'000 : 10'000) / 2;
    dice d;
    std::int64_t tried = 0;
    for (std::int64_t done = 0; done < wanted; ++tried) {
        REQUIRE(tried < 40 * (wanted + 100));
        const document j = make(d);
        const std::optional<planned> p = planned_of(j);
        if (!p) continue;
        ++done;
        check(j, *p);
    }
}

// ---- rules of every plan
// --------------------------------------------------------------------------------------------

void check_memory(const document& d, const planned& p, findings& broken) {
    for (std::size_t t = 0; t < names_of<memory_term>.size(); ++t) {
        const interval<byte_count>& size = p.plan.memory.terms[t];
        if (size.low < byte_count{} || size.expected < size.low || size.high < size.expected)
            broken.found("a term of memory is not negative, and its bounds are in order", d,
                         std::string{names_of<memory_term>[t]} + " " + in_gib(size.low) + " " + in_gib(size.expected) +
                             " " + in_gib(size.high));
    }
    if (!trains(p.asked.job)) return;
    const training_passes passes = training_passes_of(p.asked.job, p.plan.layout, sdpa_backend_of(p.asked.cluster.gpu));
    for (const byte_count most : {passes.forward, passes.loss, passes.backward, passes.step})
        if (most > p.plan.memory.ideal)
            broken.found("no pass of a step takes more than its plan", d, more_than(most, p.plan.memory.ideal));
    for (std::int32_t stage = 0; stage < p.plan.layout.pipeline; ++stage)
        if (const byte_count saved = saved_activations(p.asked.job, p.plan.layout, stage); saved < byte_count{})
            broken.found("no saved activations are negative", d, in_gib(saved));
}

void check_times(const document& d, const planned& p, findings& broken) {
    const auto check = [&](const time_breakdown& t) {
        for (std::size_t i = 0; i < names_of<time_term>.size(); ++i)
            for (const duration each : {t.terms[i].low, t.terms[i].expected, t.terms[i].high})
                if (!(each.in(seconds) >= 0) || std::isinf(each.in(seconds)))
                    broken.found("a time is a number and not negative", d,
                                 std::string{names_of<time_term>[i]} + " " + std::to_string(each.in(seconds)));
    };
    check(p.plan.speed.step);
    check(p.plan.speed.prefill);
    if (!(p.plan.speed.mfu <= 1)) broken.found("mfu is at most 1", d, std::to_string(p.plan.speed.mfu));
}

/// Checks a rule of two plans: what a document changed in one field takes.
template <class Rule>
void with_change(document d, const char* field, const document& value, const Rule& rule) {
    d[field] = value;
    if (const std::optional<planned> p = planned_of(d)) rule(d, *p);
}

/// Of a buffer that ggml lays out, what lies between its tensors (ggml-alloc.c: each takes the smallest hole that holds
/// it). Larger tensors may leave less of that, never less than nothing.
byte_count between_tensors(const planned& p) {
    const job& j = p.asked.job;
    if (trains(j)) return {};
    const runtime r = on_device(j, p.asked.cluster.gpu, p.plan.layout);
    detail::serving_folds folds;
    detail::serving_stages stages{j, p.plan.layout, r, folds};
    return stages.fold_layers().stage(placement_of(j, p.plan.layout, p.plan.memory.stage)).peak.in_holes;
}

void takes_no_less(const std::string& rule, const document& less, const planned& of_less, const planned& of_more,
                   findings& broken) {
    const byte_count before = of_less.plan.memory.total().expected, after = of_more.plan.memory.total().expected;
    if (after < before && before - after <= between_tensors(of_less)) return;
    if (after < before) broken.found(rule + " takes no less", less, in_gib(before) + ", then " + in_gib(after));
}

/// Whether a shorter model ends with layers of the kinds that a longer one ends with.
bool ends_alike(const layer_stack& fewer, const layer_stack& more) {
    for (std::int32_t i = 1; i <= fewer.size; ++i)
        if (fewer.order[static_cast<std::size_t>(fewer.size - i)] !=
            more.order[static_cast<std::size_t>(more.size - i)])
            return false;
    return true;
}

/// Longer sequences, larger batches and more layers take no less.
void check_growth(const document& d, const planned& p, findings& broken, const char* length, const char* batch) {
    const auto grown = [&](const std::string& rule) {
        return [&, rule](const document&, const planned& more) { takes_no_less(rule, d, p, more, broken); };
    };
    with_change(d, length, d[length].get<std::int64_t>() * 2, grown("a longer context"));
    document larger = d;  // as many micro-batches
    // A class token's gradient is a view of its image's, unless there are several images.
    const bool one_image = modeling_of(p.asked.job.model).class_token && p.asked.job.micro_batch == 1;
    if (d.contains("global_batch")) larger["global_batch"] = d["global_batch"].get<std::int64_t>() * 2;
    if (!one_image) with_change(larger, batch, d[batch].get<std::int64_t>() * 2, grown("a larger batch"));
    const std::int32_t layers = p.asked.job.model.layers.size;
    const std::int32_t stages = p.plan.layout.chunks();
    // Of layers of several kinds, a shorter model may have more of the largest kind on one stage.
    if (layers < 2 * stages || (stages > 1 && p.asked.job.model.layers.kind_count > 1)) return;
    // A naive pipeline deals layers by what their weights weigh, so that other numbers of them move its boundaries.
    if (detail::is_naive_pipeline(p.asked.job, p.plan.layout)) return;
    const document cut{{"from", d["model"]}, {"layers", (layers / 2 + stages - 1) / stages * stages}};
    // A layer that predicts further tokens is of the last one's kind; and where activations leave the GPU, the peak is
    // that of the widest kind's last layer, beside the gradients of those after it.
    const bool by_last_layers = p.asked.job.model.layers.kind_count > 1 &&
                                (d.contains("mtp_layers") || p.asked.job.offload.activations != offload_place::none);
    with_change(d, "model", cut, [&](const document& fewer, const planned& less) {
        if (by_last_layers && !ends_alike(less.asked.job.model.layers, p.asked.job.model.layers)) return;
        takes_no_less("more layers", fewer, less, p, broken);
    });
}

// ---- rules of training
// ----------------------------------------------------------------------------------------------

byte_count saved(const planned& p, std::int32_t stage) { return saved_activations(p.asked.job, p.plan.layout, stage); }

/// What recomputation may keep of a micro-batch beyond what it recomputes.
struct kept_to_recompute {
    byte_count before_layers;  ///< what layers read beside the residual stream: masks, an encoder's output
    /// Of a frozen model the layers before the first adapter save nothing unless they are recomputed, when the
    /// embedding's output has to require a gradient (PEFT, enable_input_require_grads).
    byte_count first_layers;
    double in_flight;  ///< micro-batches that a stage holds at once, each with its own first layers

    byte_count of_one() const { return before_layers + first_layers; }
    byte_count of_all() const { return before_layers + scaled_up(first_layers, in_flight); }
};

kept_to_recompute kept_to_recompute_of(const planned& less, const planned& more, std::int32_t stage) {
    const auto before_layers = [&](const planned& p) {
        const detail::folded_job f{p.asked.job, p.plan.layout};
        const detail::training_stage s = detail::training_stage_of(f, placement_of(p.asked.job, p.plan.layout, stage));
        return detail::saved_before_layers(f, s.holds, s.encoder);
    };
    const detail::folded_job f{more.asked.job, more.plan.layout};
    const placement here = placement_of(more.asked.job, more.plan.layout, stage);
    const byte_count a = before_layers(less), b = before_layers(more);
    return {a > b ? a - b : byte_count{}, detail::saved_by_layers(f, here).cut,
            detail::micro_batches_held(f, here).most};
}

/// What the recomputation of a layer has beside all that the layer saves: the layer's input; and what low-rank adapters
/// make in a forward pass, which then stands beside the gradients of later layers.
byte_count beside_recomputed_layer(const planned& p) {
    const detail::folded_job f{p.asked.job, p.plan.layout};
    byte_count most;
    for (std::size_t k = 0; k < f.kinds(); ++k)
        if (f.layers[k].checkpoint + f.layers[k].recomputed > most)
            most = f.layers[k].checkpoint + f.layers[k].recomputed;
    return p.asked.job.adapter.low_rank() ? most + p.plan.memory.reduced : most;
}

/// What recomputation makes of biases that all layers add to their scores (T5): the first layer's once more, and
/// cross-attention's with its gradient.
byte_count biases_made_again(const planned& recomputed) {
    const detail::folded_job f{recomputed.asked.job, recomputed.plan.layout};
    const detail::training_stage s =
        detail::training_stage_of(f, placement_of(recomputed.asked.job, recomputed.plan.layout, 0));
    const detail::stage_step in = detail::stage_step_of(f, s);
    return f.context.recomputes ? detail::score_bias(in) + detail::shared_cross_bias(in) : byte_count{};
}

/// Where saved tensors lie in main memory and come back one by one (torch.autograd.graph.save_on_cpu), a layer is never
/// whole on the GPU, unless it is recomputed: of that one, what it saves may stand beside what the other job holds.
/// The tracked rows llama-h4096l4-full-sdpa-bf16-sgd-offload-b1s4096 (3.95 GB) and, with full recomputation, -rc- (4.29
/// GB) show it.
byte_count whole_only_if_recomputed(const planned& read_back, const planned& recomputed) {
    const detail::folded_job f{read_back.asked.job, read_back.plan.layout};
    byte_count most;
    if (!detail::reads_back_by_tensor(read_back.asked.job, f.context) ||
        recomputed.asked.job.recompute != recompute::full)
        return most;
    for (std::size_t k = 0; k < f.kinds(); ++k)
        if (f.layers[k].saved > most) most = f.layers[k].saved;
    return most;
}

void check_recomputation(const document& d, findings& broken) {
    const auto with = [&](const char* what) {
        document changed = d;
        changed["recompute"] = what;
        return planned_of(changed);
    };
    const std::optional<planned> none = with("none"), selective = with("selective"), full = with("full");
    const auto compare = [&](const std::string& rule, const std::optional<planned>& more,
                             const std::optional<planned>& less) {
        if (!more || !less) return;
        byte_count extra;
        for (std::int32_t s = 0; s < more->plan.layout.pipeline; ++s) {
            const kept_to_recompute kept = kept_to_recompute_of(*less, *more, s);
            if (kept.of_all() > extra) extra = kept.of_all();
            if (saved(*less, s) > saved(*more, s) + kept.of_one())
                broken.found(rule + " saves no more", d, more_than(saved(*less, s), saved(*more, s) + kept.of_one()));
        }
        const byte_count a = less->plan.memory.ideal,
                         b = more->plan.memory.ideal + extra + beside_recomputed_layer(*less) +
                             whole_only_if_recomputed(*more, *less) + biases_made_again(*less);
        if (a > b) broken.found(rule + " takes no more", d, more_than(a, b));
    };
    // Recomputation by product stores the products of frozen layers too, which save no products by themselves.
    const bool stores_more =
        selective && selective->asked.job.adapter.trains() && detail::keeps_by_product(selective->asked.job);
    if (!stores_more) compare("selective recomputation than none", none, selective);
    compare("full recomputation than selective", selective, full);
    compare("full recomputation than none", none, full);
}

byte_count state(const planned& p) {
    byte_count most;
    for (std::int32_t s = 0; s < p.plan.layout.pipeline; ++s) {
        const training_state t = training_state_of(p.asked.job, p.plan.layout, s);
        const byte_count all = t.weights + t.adapter + t.gradients.kept + t.optimizer.states;
        if (all > most) most = all;
    }
    return most;
}

void check_sharding(const document& d, findings& broken) {
    std::optional<planned> before;
    for (int zero = 0; zero <= 3; ++zero) {
        document changed = d;
        changed["layout"]["zero"] = zero;
        const std::optional<planned> p = planned_of(changed);
        // DeepSpeed's ZeRO copies fp32 weights to step them, which are their own master copy without it.
        const bool copies = p && zero == 1 && p->asked.job.runtime.optimizer.copies_master_weights &&
                            !steps_in_backward(p->asked.job.optimizer) && !master_weights_of(p->asked.job);
        // accelerate's FSDP widens weights that nobody named.
        const bool widens = p && zero == 2 && upcasts(p->asked.job, p->plan.layout);
        // FSDP gathers what it casts, be it as wide (bf16 on a GPU that computes in fp16), beside the rank's part of
        // it.
        const bool casts = p && zero == 2 && !(weights_of(p->asked.job) == p->asked.job.compute) &&
                           weights_of(p->asked.job).element_bytes == p->asked.job.compute.element_bytes;
        // What the runtime does not run has no state to compare with (torchtitan's graph_trainer shards, or does not).
        const bool runs = before && unrun_degree_of(before->asked.job, before->plan.layout).name.empty();
        // Unsloth takes another optimizer where weights are sharded.
        const bool steps_alike = p && before && p->asked.job.optimizer == before->asked.job.optimizer;
        if (p && runs && steps_alike && !copies && !widens && !casts && state(*p) > state(*before))
            broken.found("ZeRO " + std::to_string(zero) + " keeps no more of a rank's state", changed,
                         more_than(state(*p), state(*before)));
        if (p) before = p;
    }
}

void check_offload(const document& d, const planned& p, findings& broken) {
    if (!p.asked.job.offload.to_host() || p.asked.cluster.host.memory > byte_count{}) return;
    // An adapter beside modules that a model does not have trains nothing, so that there is nothing to offload.
    if (host_memory_of_node(p.asked.job, p.plan.layout, 1).high == byte_count{}) return;
    if (shares_host_memory(p.asked.cluster.gpu)) return;  // the host's memory is the GPU's, which is known
    if (p.plan.verdict == verdict::fits) broken.found("nothing is offloaded to an unknown host and `fits`", d, "fits");
}

/// Weights in a narrower format take no more, whatever their kernels make of them.
void check_narrower_weights(const document& d, const planned& p, findings& broken) {
    for (const char* narrower : {"bf16", "fp8_e4m3", "awq_int4_g128", "nf4", "q8_0", "q4_k"}) {
        if (size_of(find_precision("weights", narrower).value(), 1024, 1024) >=
            size_of(weights_of(p.asked.job), 1024, 1024))
            continue;
        // An FP8 checkpoint of a tied model holds a head beside the embedding, which small ones feel.
        if (p.asked.job.model.tied_head && find_precision("weights", narrower).value() == fp8_e4m3) continue;
        with_change(d, "weights", narrower, [&](const document&, const planned& less) {
            takes_no_less("wider weights than " + std::string{narrower}, d, less, p, broken);
        });
    }
}

/// What fits under a runtime that reserves a pool has room in it for all sequences of the batch that it caches.
void check_pool(const document& d, const planned& p, findings& broken) {
    if (p.plan.verdict != verdict::fits) return;
    const job& j = p.asked.job;
    const layout& l = p.plan.layout;
    const result<pool_size> pool = cache_pool_of(j, l, p.asked.cluster);
    const runtime r = on_device(j, p.asked.cluster.gpu, l);
    if (pool && pool->sequences.low < static_cast<double>(detail::cached_sequences_of(j, r, sequences_per_rank(j, l))))
        broken.found("what fits has a pool for the batch", d, std::to_string(pool->sequences.low) + " sequences");
}

}  // namespace

TEST_CASE("no random training job breaks a rule of memory") {
    findings broken;
    for_random_jobs(random_training_job, [&](const document& d, const planned& p) {
        check_memory(d, p, broken);
        check_recomputation(d, broken);
        check_sharding(d, broken);
        check_offload(d, p, broken);
        check_growth(d, p, broken, "sequence", "micro_batch");
    });
    broken.report();
}

TEST_CASE("no random serving job breaks a rule of memory") {
    findings broken;
    for_random_jobs(random_serving_job, [&](const document& d, const planned& p) {
        check_memory(d, p, broken);
        check_growth(d, p, broken, "context", "batch");
        check_narrower_weights(d, p, broken);
        check_pool(d, p, broken);
    });
    broken.report();
}

TEST_CASE("no random job breaks a rule of time") {
    findings broken;
    const auto check = [&](const document& d, const planned& p) { check_times(d, p, broken); };
    for_random_jobs(random_training_job, check);
    for_random_jobs(random_serving_job, check);
    broken.report();
}
