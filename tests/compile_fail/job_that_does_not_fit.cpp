// SPDX-License-Identifier: MIT
// A job that does not fit
//
// The plan asserted by must_fit() needs more memory than the busiest GPU has. The message holds the MiB needed, the
// MiB there are and the largest term: more GPUs, a smaller batch or context, or narrower weights make it fit.
//
// EXPECT: memory_in_mib<[0-9]+, 81[0-9][0-9][0-9], llmres::(v0::)?memory_term::weights>::fits
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>

#ifdef LLMRES_COMPILE_FAIL
constexpr std::int32_t gpus = 1;
#else
constexpr std::int32_t gpus = 4;
#endif
constexpr llmres::job work{.model = llmres::models::llama_3_1_70b, .batch = 4, .context = llmres::tokens(4096)};
constexpr auto machine = llmres::standard_cluster(llmres::gpus::h100_sxm5_80gb, gpus).value();
static constexpr auto answer = llmres::plan(work, {.tensor = gpus}, machine);
static_assert(llmres::must_fit<answer>());
