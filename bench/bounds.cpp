// SPDX-License-Identifier: MIT
// Whether the bounds that a search skips layouts by ever exceed what they bound: a million layouts of random jobs of
// every model that comes with the library. Prints how near they are, and fails on the first that does.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <memory>
#include <random>

using namespace llmres;

namespace {

constexpr std::int64_t most_of_a_job = 400;  // layouts of one job, so that a million are of many jobs

class random_jobs {
public:
    /// A job of a model, as a search would be asked for it.
    job of_model(const model& m) {
        job j{.model = m};
        if (one_of(3) == 0) {
            j.batch = std::int64_t{1} << one_of(9);
            j.prompt = tokens(128 << one_of(6));
            if (one_of(4) > 0) j.output = tokens(64 << one_of(5));
            j.runtime = one_of(2) == 0 ? runtimes::vllm : runtimes::sglang;
            if (one_of(3) == 0) j.kv_cache = fp8_e4m3;
            return j;
        }
        j.task = task::pretraining;
        j.sequence = tokens(512 << one_of(6));
        j.micro_batch = std::int64_t{1} << one_of(3);
        j.global_batch = one_of(5) == 0 ? 0 : std::int64_t{32} << one_of(6);
        j.recompute = static_cast<recompute>(one_of(names_of<recompute>.size()));
        const std::size_t runtime = one_of(3);
        j.runtime = runtime == 0 ? runtimes::megatron : runtime == 1 ? runtimes::pytorch : runtimes::deepspeed;
        if (one_of(3) == 0) j.offload.optimizer = offload_place::host;
        if (one_of(5) == 0) j.offload.activations = offload_place::host;
        return j;
    }
    std::size_t one_of(std::size_t n) { return engine_() % n; }

private:
    std::mt19937_64 engine_{17};
};

struct checked {
    std::int64_t layouts = 0;
    double closeness = 0;  ///< sum of bound over value, of times

    void add(const job& j, const layout& l, const job_speed& least, const job_speed& speed) {
        const double bound = least.step.total().expected.in(seconds);
        const double time = speed.step.total().expected.in(seconds);
        const bool holds = bound <= time && least.tokens_per_second >= speed.tokens_per_second &&
                           least.prefill.total().expected <= speed.prefill.total().expected;
        if (!holds) {
            std::printf("%s, tensor %d, pipeline %d, data %d: bound %.9g s, step %.9g s\n", j.model.name.view().data(),
                        l.tensor, l.pipeline, l.data, bound, time);
            std::exit(1);
        }
        ++layouts;
        closeness += bound / time;
    }
};

/// Bounds of a job's layouts.
void check(const job& j, const cluster& c, checked& all) {
    if (!validate(j)) return;
    detail::layout_folds folds{detail::folds_are::kept};
    std::int64_t left = most_of_a_job;
    for_each_layout(j, {}, c, [&](const layout& l) {
        if (detail::validate_placed(j, l, c)) {
            const result<job_plan> p = detail::evaluated(j, l, c, folds);
            if (!p) return --left == 0;
            all.add(j, l, detail::speed_of(j, l, c, nullptr, default_efficiency, folds), p->speed);
            const byte_count most = p->memory.total().high;
            if (detail::surely_exceeds(j, l, c, most, folds.training, folds.serving)) {
                std::printf("%s: bound of memory above %.0f bytes\n", j.model.name.view().data(),
                            static_cast<double>(most.in(bytes)));
                std::exit(1);
            }
        }
        return --left == 0;
    });
}

}  // namespace

int main() {
    random_jobs random;
    checked all;
    while (all.layouts < 1'000'000) {
        const model& m = *models::all[random.one_of(models::all.size())];
        const std::int32_t gpus = 1 << random.one_of(11);
        const cluster c =
            standard_cluster(random.one_of(2) == 0 ? gpus::h100_sxm5_80gb : gpus::a100_sxm4_80gb, gpus).value();
        check(random.of_model(m), c, all);
    }
    std::printf("%-40s %9lld layouts, none exceeds its value; those of time are %.3f of it\n",
                "bounds of time and memory", static_cast<long long>(all.layouts),
                all.closeness / static_cast<double>(all.layouts));
}
