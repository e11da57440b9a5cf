// SPDX-License-Identifier: MIT
// Plans for the GPUs in a file of `llmres-probe calibrate --out FILE`: their free memory and measured speed take the
// place of the datasheet's.
#include <cstdio>
#include <llmres/hardware/live_cluster.hpp>
#include <llmres/io/files.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <string>

using namespace llmres;

int main(int count, char** arguments) {
    if (count != 2) return std::fprintf(stderr, "usage: example_live_gpu FILE\n"), 2;
    const result<device_file> file = read_device_file(arguments[1]);
    if (!file)
        return std::fprintf(stderr, "%s: %s\n", file.error().field.characters, file.error().expected.characters), 2;
    for (const device& live : file->devices) {
        const result<cluster> here = cluster_of(live);
        if (!here)
            return std::fprintf(stderr, "%s: %s\n", here.error().field.characters, here.error().expected.characters), 2;
        const job work{
            .model = models::llama_3_1_8b, .batch = 16, .context = tokens(8192), .runtime = runtimes::vllm_v1};
        const result<job_plan> answer = plan(work, *here);
        if (!answer) return 1;
        std::printf("%s: %.1f GiB to use, %.1f taken by others: %s\n", here->gpu.name.characters,
                    usable_memory(here->gpu).in(gib), here->in_use.in(gib),
                    std::string{name_of(answer->verdict)}.c_str());
    }
}
