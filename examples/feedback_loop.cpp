// SPDX-License-Identifier: MIT
// A scheduler that feeds back what finished jobs really took: after each of ten jobs the bounds of the next are nearer.
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <llmres/answers/observe.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

namespace {

double in_gib(byte_count size) { return static_cast<double>(size.in(bytes)) / 1073741824.0; }

}  // namespace

int main() {
    const cluster gpus{.gpu = gpus::h100_sxm5_80gb};
    const layout one{};
    job asked{.model = models::llama_3_1_8b, .context = tokens(8192), .runtime = runtimes::vllm_v1_18};
    // On this site vLLM takes 300 MiB more beside tensors than the profile expects, and some jobs a little more.
    const byte_count site = asked.runtime.process.workspace.expected + mib(300);
    constexpr std::int64_t spread[] = {0, 12, -8, 20, 4, -16, 9, -3, 15, -11};

    observed_profile known{.prior = asked.runtime};
    bool narrows = true;
    double width = 0;
    std::puts("job  pool predicted, GiB      workspace learnt, MiB");
    for (std::size_t i = 0; i < std::size(spread); ++i) {
        job next = asked;
        next.runtime = with_learnt(asked.runtime, known);
        const interval<byte_count> pool = predicted(observed_figure::pool, next, one, gpus).value;
        const interval<byte_count>& learnt_now = next.runtime.process.workspace;
        std::printf("%3zu  %6.2f (%6.2f to %6.2f)  %6.0f (%5.0f to %5.0f)\n", i + 1, in_gib(pool.expected),
                    in_gib(pool.low), in_gib(pool.high), 1024 * in_gib(learnt_now.expected),
                    1024 * in_gib(learnt_now.low), 1024 * in_gib(learnt_now.high));
        // Once a job was seen, the bounds narrow with each that agrees.
        const double now = in_gib(learnt_now.high - learnt_now.low);
        narrows = narrows && (i < 2 || now < width);
        width = now;
        // The job runs; what it took beside tensors is fed back.
        known = observe(known, asked, one, gpus, {observed_figure::beside_tensors, site + mib(spread[i]), {}});
    }
    std::puts(narrows ? "the bounds narrowed" : "the bounds did not narrow");
    return narrows ? 0 : 1;
}
