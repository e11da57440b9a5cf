// SPDX-License-Identifier: MIT
// A card that no vendor sells: the RTX 2080 Ti with its memory doubled to 22 GB.
#include <cstdio>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <string>

using namespace llmres;

int main() {
    // [gpu]
    constexpr gpu card = with_memory(gpus::rtx_2080_ti_11gb, gib(22));
    // [gpu]
    const job work{.model = models::qwen2_5_14b, .compute = fp16, .batch = 4, .context = tokens(8192)};
    const result<job_plan> answer = plan(work, standard_cluster(card, 4).value());
    if (!answer) return 1;
    std::printf("%s: %s on %d of 4\n", card.id.characters, std::string{name_of(answer->verdict)}.c_str(),
                static_cast<int>(answer->layout.gpus()));
}
