// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// Where the memory of one GPU of one layout goes.
namespace llmres::inline v0 {

/// What memory is used for.
enum class memory_term : std::uint8_t {
    weights,
    adapter,
    gradients,
    optimizer,
    activations,
    kv_cache,
    recurrent_state,
    logits,
    communication,
    workspace,
    runtime,
    fragmentation,
};
/// The names of the terms, in their order.
inline constexpr std::array<std::string_view, 12> memory_term_names{
    "weights",         "adapter", "gradients",     "optimizer", "activations", "kv_cache",
    "recurrent_state", "logits",  "communication", "workspace", "runtime",     "fragmentation"};
/// The name of a term: "kv_cache".
constexpr std::string_view name_of(memory_term term) { return memory_term_names[static_cast<std::size_t>(term)]; }

/// When in a step the memory is fullest.
enum class phase : std::uint8_t {
    prefill,    ///< serving: a chunk of prompt tokens passes while the cache is full
    loss,       ///< training: all saved activations and the logits are there
    backward,   ///< gradients are complete, one layer's activations are computed again
    optimizer,  ///< gradients and optimizer states, no activations
    forward,    ///< training: a layer is computed, all before it are kept
    decode,     ///< serving: the last token of every sequence is made, the cache is full
    load,       ///< serving: weights are there beside what is made of them, before the first step
};
/// The name of a phase: "prefill".
constexpr std::string_view name_of(phase p) {
    constexpr std::array<std::string_view, 7> names{"prefill", "loss",   "backward", "optimizer",
                                                    "forward", "decode", "load"};
    return names[static_cast<std::size_t>(p)];
}

/// The memory of one GPU at its fullest moment.
struct memory_breakdown {
    std::array<interval<byte_count>, memory_term_names.size()> terms{};  ///< the memory of each term
    byte_count ideal{};                                                  ///< tensors alone
    interval<byte_count> allocated{};                                    ///< as the engine's allocator hands them out
    interval<byte_count> reserved{};                                     ///< what that allocator or pool holds
    byte_count reduced{};               ///< training: gradients that data ranks sum, before ZeRO shards them
    byte_count gathered{};              ///< training: weights that ZeRO brings together
    interval<byte_count> releasable{};  ///< of `reserved`, whole blocks that it hands back before it runs out
    byte_count released{};   ///< ... and that it did hand back where every term takes its most: no part of the total
    std::int32_t stage = 0;  ///< pipeline stage of the GPU
    llmres::phase phase = phase::prefill;  ///< when it is fullest

    /// The memory of a term.
    constexpr interval<byte_count>& operator[](memory_term t) { return terms[static_cast<std::size_t>(t)]; }
    /// The memory of a term.
    constexpr const interval<byte_count>& operator[](memory_term t) const { return terms[static_cast<std::size_t>(t)]; }
    /// What the device loses, context and libraries included.
    constexpr interval<byte_count> total() const {
        interval<byte_count> sum;
        for (const auto& term : terms) sum += term;
        sum.high -= released;
        return sum;
    }
    /// Gives back what the device lacks, as far as it is releasable. (PyTorch frees cached blocks and tries once more.)
    constexpr void release_beyond(byte_count available) {
        const interval<byte_count> held = total();
        if (is_saturated(held.high)) return;  // nobody can say how much it lacks
        const auto lacking = [&](byte_count holds, byte_count most) {
            const byte_count more = holds > available ? holds - available : byte_count{};
            return more < most ? more : most;
        };
        // What it holds where all else takes least.
        const byte_count others = held.low - reserved.low;
        const byte_count most = available > others ? available - others : byte_count{};
        const byte_count unreleased = reserved.high < most ? reserved.high : most;
        const byte_count given_back = lacking(held.expected, releasable.expected);
        terms[static_cast<std::size_t>(memory_term::fragmentation)].expected -= given_back;
        reserved.expected -= given_back;
        released = lacking(held.high, releasable.high);
        reserved.high -= released;
        if (unreleased > reserved.high) reserved.high = unreleased;
    }
    /// The largest term.
    constexpr memory_term largest() const {
        std::size_t best = 0;
        for (std::size_t i = 1; i < terms.size(); ++i)
            if (terms[i].expected > terms[best].expected) best = i;
        return static_cast<memory_term>(best);
    }
};

}  // namespace llmres::inline v0
