// SPDX-License-Identifier: MIT
#include "uses_llmres.hpp"

#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/vllm.hpp>

#include <cstdio>

using namespace llmres;

// Plans a job, and whatever model the config.json named on the command line describes. Fails by name.
int main(int arguments, char** argument) {
    const job chat{.model = models::llama_3_1_8b, .batch = 32, .context = tokens(8192), .runtime = runtimes::vllm};
    const result<job_plan> on_one_gpu = plan(chat, {}, {.gpu = gpus::h100_sxm5_80gb});
    const bool planned = on_one_gpu && on_one_gpu->verdict == verdict::fits;
    std::printf("llama-3.1-8b on an H100: %s\n", planned ? "fits" : "does not fit");

    const bool same = version_seen_elsewhere() == &version;
    std::printf("the version is %s object in both translation units\n", same ? "one" : "another");
    if (arguments < 2) return planned && same ? 0 : 1;

    const result<bool> config = model_of_config_fits(argument[1]);
    std::printf("%s on an H100: %s\n", argument[1], config && *config ? "fits" : "does not fit, or cannot be read");
    return planned && same && config && *config ? 0 : 1;
}
