// SPDX-License-Identifier: MIT
// The firmware of a robot ships its models. One that does not fit beside the robot's other programs, or whose files do
// not fit its flash, stops the build.
#include <cstdio>
#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/llama_cpp.hpp>

using namespace llmres;

// [shipped]
// Processor and GPU share 64 GB, of which the other programs take up to 40 GiB.
constexpr cluster robot{.gpu = gpus::jetson_agx_orin_64gb, .in_use = gib(40)};
constexpr byte_count flash = gb(12);

template <const model& Model>
struct shipped {
    static constexpr job work{.model = Model,
                              .gguf = gguf_mix{.quantisation = gguf_quantisation::Q4_K_M},
                              .context = tokens(8192),
                              .runtime = runtimes::llama_cpp};
    static constexpr auto answer = plan(work, layout{}, robot);
    static_assert(must_fit<answer>());  // else the message has the model's name, and needed and available MiB
    static constexpr byte_count file = gguf_tensor_bytes(Model, *work.gguf);
};

using quick = shipped<models::qwen3_1_7b>;
using thorough = shipped<models::qwen3_8b>;
static_assert(quick::file + thorough::file <= flash);
// [shipped]

template <class Shipped>
void print() {
    const result<token_count> longest = max_context(Shipped::work, layout{}, robot);
    std::printf(
        "%-12s %5lld MiB of memory, %5lld MiB of flash, conversations of up to %lld tokens\n",
        Shipped::work.model.name.characters, static_cast<long long>(Shipped::answer->memory.total().high.in(mib)),
        static_cast<long long>(Shipped::file.in(mib)), static_cast<long long>(longest ? longest->in(tokens) : 0));
}

int main() {
    print<quick>();
    print<thorough>();
}
