// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/interval.hpp>
#include <llmres/units.hpp>

/// What PyTorch's caching allocator holds where samples have many lengths.
///
/// A sample longer than any before it finds no block for its widest tensors, and takes new ones; the old stay for what is
/// narrower. Of n samples in random order H(n) = 1 + 1/2 + ... + 1/n are longest so far, and the lengths of those add up to
/// H(n + 1) - 1 times the longest of all where lengths are spread evenly. Logits are few and far wider than all else: each such
/// sample's are new. Activations are many, and cut from the blocks of wider ones.
namespace llmres {

struct varied_blocks {
    interval<byte_count> idle{};   ///< whole segments, which the allocator hands back before it runs out
    interval<byte_count> stuck{};  ///< gaps in segments in use, which it cannot
};

/// `passing`: tensors that come and go in a step of the longest sample; `scores`: of those, the logits and what the loss makes of them.
///
/// Of logits: nothing idle where the longest sample comes first; after 10 000 samples H(10001) - 2 = 7.8 times as much; between them,
/// geometrically, 2.0 (30 samples). Of all else: what runs of 38 to 1500 samples show in a simulation of the allocator's rules
/// (tests/validation/caching_allocator.cpp). There gaps beside the longest sample are a tenth of what passes; cornered, long runs
/// may need up to half. The bound is what runs that did go on fitted in (seed case E1).
constexpr varied_blocks blocks_of_varied_lengths(byte_count passing, byte_count scores) {
    const byte_count rest = passing > scores ? passing - scores : byte_count{};
    return {.idle = {byte_count{}, rest + scores * 2, rest * 3 + scaled_up(scores, 7.8)},
            .stuck = {byte_count{}, scaled_up(passing, 0.10), scaled_up(passing, 0.15)}};
}

}  // namespace llmres
