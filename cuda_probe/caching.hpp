// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/values/units.hpp>
#include <set>
#include <tuple>

namespace llmres::probe {

/// How PyTorch's caching allocator asks the device for memory (CUDACachingAllocator, default settings): requests round
/// up to 512 bytes; up to 1 MiB they share 2 MiB segments; below 10 MiB they share 20 MiB segments; above, a segment of
/// their own, rounded up to 2 MiB. A free rest is used again by best fit; of large segments only if over 1 MiB is left.
/// Nothing is given back here, so this is the allocator of a job that starts up.
class caching_layout {
public:
    static constexpr byte_count smallest = bytes(512);
    static constexpr byte_count small_request = mib(1);
    static constexpr byte_count small_segment = mib(2);
    static constexpr byte_count large_request = mib(10);
    static constexpr byte_count large_segment = mib(20);

    /// The new segment to take from the device for this request; zero if an earlier one has room.
    byte_count segment_for(byte_count request) {
        const byte_count rounded = aligned_up(request < smallest ? smallest : request, smallest);
        const bool small = rounded <= small_request;
        auto& rests = small ? small_rests_ : large_rests_;
        if (const auto room = rests.lower_bound(rounded); room != rests.end()) {
            const byte_count rest = *room - rounded;
            rests.erase(room);
            keep(rest, small);
            return {};
        }
        const byte_count segment = small                     ? small_segment
                                   : rounded < large_request ? large_segment
                                                             : aligned_up(rounded, small_segment);
        keep(segment - rounded, small);
        return segment;
    }

private:
    void keep(byte_count rest, bool small) {
        if (rest >= (small ? smallest : small_request + bytes(1))) (small ? small_rests_ : large_rests_).insert(rest);
    }
    std::multiset<byte_count> small_rests_;
    std::multiset<byte_count> large_rests_;
};

}  // namespace llmres::probe
