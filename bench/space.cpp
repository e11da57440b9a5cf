// SPDX-License-Identifier: MIT
// How long the big space takes on one thread: GPT-3 175B on 1,024 A100 at a global batch of 3,072, every layout that
// Megatron runs there by micro-batches to 64, twelve recomputations, two schedules, and parameters, optimizer and
// activations on the GPU or the host. Prints how many layouts are valid, how many fit, and the best; the best alone,
// with bounds, must be the same. Beside it, on 48 GPUs, the layout that Calculon publishes for the same question.
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <string>

using namespace llmres;

namespace {

/// A way to recompute: a set of modules, or every n-th layer whole.
struct recomputation {
    layer_part_set modules{};
    std::int32_t every = 0;  ///< 0: the modules
};
constexpr std::array recomputations{
    recomputation{},
    recomputation{layer_part::core_attn},
    recomputation{layer_part::layernorm},
    recomputation{layer_part::mlp},
    recomputation{{layer_part::core_attn, layer_part::layernorm}},
    recomputation{{layer_part::core_attn, layer_part::mlp}},
    recomputation{{layer_part::layernorm, layer_part::mlp}},
    recomputation{{layer_part::core_attn, layer_part::layernorm, layer_part::mlp}},
    recomputation{{}, 8},
    recomputation{{}, 4},
    recomputation{{}, 2},
    recomputation{{}, 1},
};

void set(job& j, const recomputation& r) {
    j.recompute = r.every > 0 ? recompute::full : r.modules.empty() ? recompute::none : recompute::selective;
    j.recompute_every = r.every > 0 ? r.every : 1;
    j.recompute_modules = r.modules;
}

/// Calls visit() for each way to set the fields of the job that may be chosen.
template <class Visit>
void for_each_choice(job& j, const Visit& visit) {
    const auto place = [](int on_host) { return on_host == 1 ? offload_place::host : offload_place::none; };
    for (std::int64_t micro_batch = 1; micro_batch <= 64 && j.global_batch % micro_batch == 0; micro_batch *= 2)
        for (int on_host = 0; on_host < 8; ++on_host)
            for (const recomputation& r : recomputations) {
                j.micro_batch = micro_batch;
                j.offload.optimizer = place(on_host & 1);
                j.offload.activations = place(on_host >> 1 & 1);
                j.offload.parameters = place(on_host >> 2);
                set(j, r);
                visit();
            }
}

struct answer {
    found_layout best{};
    search_counts counts{};
    double seconds = 0;
};

/// Searches the whole space, with bounds or planning every layout.
answer searched(job j, const cluster& c, bool bounded) {
    const search_request r{};
    std::array<found_layout, 1> best{};
    const auto on = [](const search_counts&) { return true; };
    detail::running_search<decltype(on)> running{
        .c = c, .r = r, .best = best, .front = {}, .against = r.objective, .watch = on, .bounded = bounded};
    const auto start = std::clock();
    static detail::layout_folds known;
    running.known = &known;
    for_each_choice(j, [&] {
        known = {};
        running.least.score = 0;
        for (const pipeline_schedule s : {pipeline_schedule::one_forward_one_backward, pipeline_schedule::gpipe}) {
            const layout_space space{.given = {.schedule = s}};
            for_each_layout(j, space, c, [&](const layout& l) { return running.visit(j, l); });
        }
    });
    return {best[0], running.counts, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC};
}

void print(const char* what, const job_plan& p) {
    const layout& l = p.layout;
    std::printf("  %s: tensor %d, pipeline %d, interleave %d, data %d, context %d, zero %d: %.3f s, %.2f GiB\n", what,
                l.tensor, l.pipeline, l.virtual_pipeline, l.data, l.context_parallel, l.zero,
                p.speed.step.total().expected.in(seconds), p.memory.total().expected.in(gib));
    for (const memory_term t :
         {memory_term::weights, memory_term::gradients, memory_term::optimizer, memory_term::activations})
        std::printf("    %s %.2f GiB\n", std::string{name_of(t)}.c_str(), p.memory[t].expected.in(gib));
}

bool measure(const job& j, std::int32_t gpus) {
    const cluster c = [&] {
        cluster made = standard_cluster(gpus::a100_sxm4_80gb, gpus).value();
        made.host = {.memory = tib(2), .bandwidth = gb_per_s(300), .cores = 128, .link = made.host.link};
        return made;
    }();
    const answer all = searched(j, c, false);
    const answer best = searched(j, c, true);
    const auto count = [](std::int64_t n) { return static_cast<long long>(n); };
    std::printf("%d GPUs, global batch %lld: %lld layouts, of these %lld valid, %lld fit\n", gpus,
                count(j.global_batch), count(all.counts.tried), count(all.counts.tried - all.counts.refused),
                count(all.counts.kept));
    std::printf("  all planned in %.1f s, the best alone in %.1f s\n", all.seconds, best.seconds);
    print("best", all.best.plan);
    return best.best.score == all.best.score && best.best.plan.layout == all.best.plan.layout;
}

}  // namespace

int main() {
    job gpt3{.model = models::gpt3_175b,
             .task = task::pretraining,
             .sequence = tokens(2048),
             .global_batch = 48,
             .runtime = runtimes::megatron};
    bool same = measure(gpt3, 48);
    job published = gpt3;
    set(published, {layer_part::core_attn});
    const cluster few = standard_cluster(gpus::a100_sxm4_80gb, 48).value();
    const layout given{
        .tensor = 4, .sequence_parallel = true, .pipeline = 6, .virtual_pipeline = 8, .data = 2, .zero = 1};
    print("published as 11.451 s and 79.52 GiB", plan(published, given, few).value());
    gpt3.global_batch = 3072;
    same = measure(gpt3, 1024) && same;
    return same ? 0 : 1;
}
