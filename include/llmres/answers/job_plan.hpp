// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/time/breakdown.hpp>
#include <llmres/time/job_speed.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What a plan says: the verdict with its reasons, memory and times.
namespace llmres::inline v0 {

/// Whether a job fits.
enum class verdict : std::uint8_t {
    fits,          ///< even if every estimate is at its upper bound (memory_breakdown::surely_within())
    tight,         ///< only if estimates turn out below their upper bounds
    does_not_fit,  ///< not even at the lower bounds, or it cannot run there at all
};
/// The names of the verdicts, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<verdict>{"fits", "tight", "does_not_fit"};

/// Why a job does not fit, or may not.
enum class reason_code : std::uint8_t {
    memory_exceeded,              ///< `needed` bytes on `gpu`, `available` are there; `term` is the largest part
    weights_exceed,               ///< the weights alone are too many
    memory_tight,                 ///< the upper bound exceeds what is there
    flash_attention_unsupported,  ///< asked for, and needs compute capability 8.0
    host_memory_exceeded,         ///< what is offloaded needs more than a node's main memory
    format_emulated,              ///< the GPU has no arithmetic for a format of the job and converts it first
    host_memory_unknown,          ///< `needed` bytes of main memory, and nobody said how much a node has
    not_described,        ///< how the runtime writes this architecture's modules is not known: computed as Llama's
    sequence_assumed,     ///< a finetuning job gives no sequence: usual_finetuning_sequence is assumed
    context_extended,     ///< sequences are longer than the model was trained for: its rotary embedding is stretched
    weights_dequantised,  ///< weights are published in a format that is not trained, and widened when loaded
    power_unknown,        ///< the board's power is not published: times of long runs have wider bounds
    multiprocessors_unknown,  ///< their number is not published: times have wider bounds
    pool_exceeded,      ///< the caches need more than the pool that the caller sized: `needed` bytes, `available` there
    experts_left_out,   ///< the adapter's targets have routed experts, which the runtime stacks in bare parameters
    from_tensors,       ///< no formula describes the model: it is planned from its stored tensors
    buffer_exceeded,    ///< the driver allocates no buffer of `needed` bytes, but `available`; `term` is in it
    states_evicted,     ///< a paged optimizer's states do not all stay on the GPU: `needed` bytes of main memory a node
    layout_not_run,     ///< the runtime does not have a degree of the layout (jobs/layouts.hpp, unrun_degree_of())
    layout_unproven,    ///< the runtime may run a degree of the layout, and no run of it is known
    gpu_not_supported,  ///< the runtime does not start on the GPU, or not with a format of the job (jobs/checks.hpp)
    gpu_unmeasured,     ///< the runtime has a port for the GPU, of which no run was measured here
    groups_cut,         ///< tensor ranks cut groups of quantised weights, unless the checkpoint's width is padded
    /// A step may have more sequences than the pool has blocks for their states: `needed` bytes of blocks, `available`
    /// in the pool. The runtime does not start (memory/pool.hpp).
    states_exceeded,
    /// The runtime takes a fraction of the GPU, `needed` bytes, of which only `available` are free: it does not start
    /// (memory/memory.hpp, start_refused()).
    start_refused,
    attention_unmeasured,  ///< no run of a model with such attention was measured here
    /// Writing a checkpoint takes `needed` bytes of a node's main memory, which has `available` beside what the job
    /// keeps there (memory/checkpoint.hpp).
    checkpoint_exceeded,
    /// With what other phases of a workload keep on the GPU, `needed` bytes, of which `available` are there
    /// (answers/phases/reinforcement.hpp).
    phases_exceed,
};
/// The names of the codes, in their order.
template <>
inline constexpr std::array<std::string_view, 28> names_of<reason_code>{
    "memory_exceeded",         "weights_exceed",       "memory_tight",        "flash_attention_unsupported",
    "host_memory_exceeded",    "format_emulated",      "host_memory_unknown", "not_described",
    "sequence_assumed",        "context_extended",     "weights_dequantised", "power_unknown",
    "multiprocessors_unknown", "pool_exceeded",        "experts_left_out",    "from_tensors",
    "buffer_exceeded",         "states_evicted",       "layout_not_run",      "layout_unproven",
    "gpu_not_supported",       "gpu_unmeasured",       "groups_cut",          "states_exceeded",
    "start_refused",           "attention_unmeasured", "checkpoint_exceeded", "phases_exceed"};

/// Why a job does not fit, or may not.
struct reason {
    reason_code code = reason_code::memory_exceeded;  ///< which reason
    std::int32_t gpu = 0;                             ///< rank within the replica
    memory_term term = memory_term::weights;          ///< the largest term
    byte_count needed{};                              ///< bytes needed
    byte_count available{};                           ///< bytes that are there
};

/// The answer for one layout.
struct job_plan {
    llmres::verdict verdict = verdict::does_not_fit;  ///< whether the job fits
    llmres::layout layout{};                          ///< the layout
    byte_count usable{};                              ///< what the job may take of the busiest GPU
    memory_breakdown memory{};                        ///< of the busiest GPU
    std::int32_t gpu = 0;                             ///< the busiest GPU's rank within the replica
    interval<byte_count> host_memory{};               ///< main memory that a node needs; zero: nothing is there
    job_speed speed{};                                ///< how fast the job runs
    bool prompts_elsewhere = false;   ///< plan_disaggregated()'s decode side: other GPUs compute the prompts
    std::array<reason, 8> reasons{};  ///< storage; the first `reason_count` are in use
    std::int32_t reason_count = 0;    ///< reasons in use

    /// Largest term of the time of a training step, of one output token, or of one input where no token is made.
    constexpr time_term bottleneck() const {
        return (speed.step.expected() > duration{} ? speed.step : speed.prefill).largest();
    }
    /// Appends a reason.
    constexpr void because(const reason& r) {
        if (static_cast<std::size_t>(reason_count) < reasons.size())
            reasons[static_cast<std::size_t>(reason_count++)] = r;
    }
};

}  // namespace llmres::inline v0
