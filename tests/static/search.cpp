// SPDX-License-Identifier: MIT
// A search of a node is a constant expression within the compilers' default limits.
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

static constexpr job served{.model = models::llama_3_1_70b, .context = tokens(4096), .runtime = runtimes::vllm};
static constexpr cluster node = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
// Batches to 32, 153 layouts, take 920,000 of the 1,048,576 steps that Clang allows.
static_assert(search(served, node, {.space = {.max_batch = 32}})->choice.batch == 32);
