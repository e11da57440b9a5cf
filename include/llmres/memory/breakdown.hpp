// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/interval.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// Where the memory of one GPU of one layout goes.
namespace llmres::inline v0 {

/// What the memory of a GPU is taken by.
enum class memory_term : std::uint8_t {
    weights,            ///< of the model
    adapter,            ///< weights of adapters
    gradients,          ///< training
    optimizer,          ///< training: states, master weights, averages
    optimizer_scratch,  ///< training: what the optimizer makes and frees while it steps
    activations,        ///< tensors of a forward or backward pass, but for the logits
    kv_cache,           ///< keys and values of all sequences
    recurrent_state,    ///< of mixers other than attention
    logits,             ///< scores over the vocabulary, and what the loss makes of them
    communication,      ///< communicators, and buffers of what GPUs exchange
    workspace,          ///< scratch memory of libraries and kernels
    runtime,            ///< the process itself: CUDA context, CUDA graphs
    fragmentation,      ///< what the allocator or pool holds beyond what it hands out
    reference,          ///< preference tuning: weights of the model that answers are held against
};
/// The names of the terms, in their order: keys of a plan's JSON.
template <>
inline constexpr std::array<std::string_view, 14> names_of<memory_term>{
    "weights",         "adapter", "gradients",     "optimizer", "optimizer_scratch", "activations",   "kv_cache",
    "recurrent_state", "logits",  "communication", "workspace", "runtime",           "fragmentation", "reference"};

/// The part of a step in which memory peaks.
enum class phase : std::uint8_t {
    prefill,    ///< serving: a chunk of prompt tokens is computed while the cache is full
    loss,       ///< training: the loss or its gradient is computed; all activations are saved, and the logits exist
    backward,   ///< training: a layer's backward pass, or its recomputation
    optimizer,  ///< training: the optimizer's step, with all gradients and states, and no activations
    forward,    ///< training: a layer's forward pass; all layers before it have saved theirs
    decode,     ///< serving: the last token of every sequence is computed while the cache is full
    load,       ///< serving: weights are converted, beside what they are converted to, before the first step
    start,      ///< serving on unified memory: weights are read from files whose pages lie in the same memory
    reference,  ///< preference tuning: a reference computes log-probabilities beside all that the trained model saved
};
/// The names of the phases, in their order.
template <>
inline constexpr std::array<std::string_view, 9> names_of<phase>{"prefill", "loss", "backward", "optimizer", "forward",
                                                                 "decode",  "load", "start",    "reference"};

/// A training step by its passes: the most bytes of tensors that are alive in each.
struct training_passes {
    byte_count forward{};    ///< from the first layer to the head
    byte_count loss{};       ///< the head and the loss, and in preference tuning the reference
    byte_count backward{};   ///< from the gradient of the logits to that of the embedding
    byte_count step{};       ///< the optimizer's step
    byte_count reference{};  ///< of `loss`, what a reference or a teacher computes
    friend constexpr bool operator==(const training_passes&, const training_passes&) = default;
};

/// Serving by its phases: the most bytes of tensors that are alive in each.
struct serving_phases {
    byte_count load{};     ///< weights, and what they are converted from
    byte_count prefill{};  ///< a chunk of prompt tokens is computed
    byte_count decode{};   ///< the last token of every sequence: without the activations of one token each
    friend constexpr bool operator==(const serving_phases&, const serving_phases&) = default;
};

/// The memory of one GPU at the peak of a step.
struct memory_breakdown {
    std::array<interval<byte_count>, names_of<memory_term>.size()> terms{};  ///< by memory_term
    byte_count ideal{};                                                      ///< tensors alone
    interval<byte_count> allocated{};  ///< as the runtime's allocator hands them out
    interval<byte_count> reserved{};   ///< what that allocator or pool holds
    // Training, each of the stage that has most of it, for which a step waits:
    byte_count reduced{};   ///< training: gradients that data-parallel ranks sum, before ZeRO shards them
    byte_count gathered{};  ///< training: weights that ZeRO gathers
    byte_count updated{};   ///< training: what the optimizer's step reads and writes on the GPU
    /// A paged optimizer's states in managed memory, beside what PyTorch's allocator hands out: what the driver evicts
    /// to the host where the GPU lacks memory.
    byte_count evictable{};
    /// What of them evict_beyond() counted as evicted: no part of total(), but for its upper bound.
    interval<byte_count> evicted{};
    /// Of `reserved`, cached whole segments that the allocator frees before it runs out of memory.
    interval<byte_count> releasable{};
    /// What release_beyond() took off `releasable.high`: no part of total().
    byte_count released{};
    /// Training on samples that differ in length: cached blocks of many sizes come to fill a device of any size.
    bool caches_many_sizes = false;
    /// By how much the upper bounds of the terms exceed that of their sum, since some never hold together: no part of
    /// total().
    byte_count never_both{};
    std::int32_t stage = 0;                ///< pipeline stage of the GPU
    llmres::phase phase = phase::prefill;  ///< when it is fullest

    /// The size of a term.
    constexpr interval<byte_count>& operator[](memory_term t) { return terms[static_cast<std::size_t>(t)]; }
    /// The memory of a term.
    constexpr const interval<byte_count>& operator[](memory_term t) const { return terms[static_cast<std::size_t>(t)]; }
    /// What the device loses, context and libraries included: the sum of all terms.
    constexpr interval<byte_count> total() const {
        byte_count low, high;
        for (const auto& term : terms) low += term.low, high += term.high;
        return {low, expected(), high - (released + never_both)};
    }
    /// Whether so much surely holds it: even the upper bound is within it. Where that bound was cut because the
    /// allocator frees cached blocks before it runs out, the expected value stays below, too: a job that is expected to
    /// live on what is freed each time may not find room. Blocks of many sizes are expected to fill any device, and say
    /// nothing of the room that is left (seed case E1: 14 such runs ran).
    constexpr bool surely_within(byte_count usable) const {
        const interval<byte_count> all = total();
        return all.high <= usable && (released == byte_count{} || caches_many_sizes || all.expected < usable);
    }
    /// What of it is expected.
    constexpr byte_count expected() const {
        byte_count sum;
        for (const auto& term : terms) sum += term.expected;
        return sum;
    }
    /// Evicts what the device lacks, as far as it is evictable. The upper bound keeps all, since a job that runs only
    /// because the driver moves its states in each step does not fit for sure. A saturated total stays as it is.
    constexpr void evict_beyond(byte_count available) {
        const interval<byte_count> held = total();
        if (is_saturated(held.high)) return;
        const auto lacking = [&](byte_count holds) {
            const byte_count more = beyond(holds, available);
            return more < evictable ? more : evictable;
        };
        evicted = {lacking(held.low), lacking(held.expected), lacking(held.high)};
        interval<byte_count>& states = terms[static_cast<std::size_t>(memory_term::optimizer)];
        states.low -= evicted.expected;
        states.expected -= evicted.expected;
    }
    /// Releases what the device lacks, as far as it is releasable. (Before PyTorch runs out of memory, it frees cached
    /// blocks and tries once more.) A saturated total stays as it is.
    constexpr void release_beyond(byte_count available) {
        const interval<byte_count> held = total();
        if (is_saturated(held.high)) return;  // how much is lacking is unknown
        const auto lacking = [&](byte_count holds, byte_count most) {
            const byte_count more = beyond(holds, available);
            return more < most ? more : most;
        };
        // What the allocator may hold where all else takes least.
        const byte_count others = held.low - reserved.low;
        const byte_count most = beyond(available, others);
        const byte_count unreleased = reserved.high < most ? reserved.high : most;
        interval<byte_count>& slack = terms[static_cast<std::size_t>(memory_term::fragmentation)];
        const byte_count given_back = lacking(held.expected, releasable.expected);
        slack.expected -= given_back;
        reserved.expected -= given_back;
        // Where memory is expected to run out, it may have freed all of them, whatever it lacks; else it may never run
        // out, and holds them.
        if (held.expected > available) slack.low -= releasable.low, reserved.low -= releasable.low;
        if (slack.low > slack.expected) reserved.low -= slack.low - slack.expected, slack.low = slack.expected;
        released = lacking(held.high, releasable.high);
        reserved.high -= released;
        if (unreleased > reserved.high) reserved.high = unreleased;
    }
    /// The term that is expected to be largest.
    constexpr memory_term largest() const {
        std::size_t best = 0;
        for (std::size_t i = 1; i < terms.size(); ++i)
            if (terms[i].expected > terms[best].expected) best = i;
        return static_cast<memory_term>(best);
    }
    /// The term whose upper bound is farthest above what is expected of it.
    constexpr memory_term least_certain() const {
        const auto above = [&](std::size_t i) { return terms[i].high - terms[i].expected; };
        std::size_t best = 0;
        for (std::size_t i = 1; i < terms.size(); ++i)
            if (above(i) > above(best)) best = i;
        return static_cast<memory_term>(best);
    }
};

}  // namespace llmres::inline v0
