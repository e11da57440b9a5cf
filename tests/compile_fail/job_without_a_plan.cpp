// SPDX-License-Identifier: MIT
// A job that has no plan
//
// A field of the job, layout or cluster that must_fit() asserts on is wrong. The message holds the field, its value,
// and what was expected, in lines of 35 letters.
//
// EXPECT: refused_input<.*"layout.tensor".*"3".*"heads, 64"
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>

#ifdef LLMRES_COMPILE_FAIL
constexpr std::int32_t ranks = 3;
#else
constexpr std::int32_t ranks = 4;
#endif
constexpr llmres::job work{.model = llmres::models::llama_3_1_70b, .batch = 4, .context = llmres::tokens(4096)};
constexpr auto machine = llmres::standard_cluster(llmres::gpus::h100_sxm5_80gb, 4).value();
static constexpr auto answer = llmres::plan(work, {.tensor = ranks}, machine);
static_assert(llmres::must_fit<answer>());
