// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/values/units.hpp>

/// ggml's allocator of a compute buffer.
namespace llmres::inline v0::detail {

/// ggml-alloc.c: a tensor takes the smallest hole that holds it, or grows the end. Sizes are rounded to 128 bytes, as
/// CUDA's buffers are. Beyond 256 holes (ggml's own limit) a freed tensor is not used again. A buffer for a tensor of
/// more than 64 TiB, which no machine holds, is as large as can be said.
class ggml_buffer {
public:
    struct tensor {
        std::int64_t offset;
        std::int64_t size;
    };

    /// What rounding adds to a tensor.
    static constexpr byte_count most_padding = bytes(127);

    constexpr ggml_buffer() {}  // holes beyond the count stay as they are

    constexpr tensor add(byte_count wanted) { return add(wanted.in(bytes)); }
    /// Adds a tensor of so many bytes.
    constexpr tensor add(std::int64_t wanted) {
        if (wanted > largest_tensor) {
            most = (byte_count::max)().in(bytes);
            return {};
        }
        const std::int64_t size = (wanted + 127) & ~std::int64_t{127};
        tensor* const holes = holes_.data();
        const std::size_t all = count;
        std::size_t best = all;
        std::int64_t smallest = no_hole;
        for (std::size_t i = 0; i < all; ++i)
            if (const std::int64_t room = holes[i].size; room >= size && room <= smallest) best = i, smallest = room;
        if (best == all) {
            const tensor made{end, size};
            end += size;
            if (end > most) set_most();
            return made;
        }
        tensor& hole = holes[best];
        const tensor made{hole.offset, size};
        hole = {made.offset + size, smallest - size};
        if (smallest == size) erase(best);
        return made;
    }
    constexpr void free(const tensor& t) {
        const std::int64_t size = t.size, offset = t.offset, behind = offset + size;
        if (size == 0) return;
        tensor* const holes = holes_.data();
        const std::size_t all = count;
        if (behind == end) {  // no hole: the end comes back, also from a hole before it
            end = offset;
            if (all > 0 && holes[all - 1].offset + holes[all - 1].size == offset) end = holes[--count].offset;
            return;
        }
        std::size_t at = 0;
        while (at < all && holes[at].offset < offset) ++at;
        const bool before = at > 0 && holes[at - 1].offset + holes[at - 1].size == offset;
        const bool after = at < all && behind == holes[at].offset;
        if (before && after) {
            holes[at - 1].size += size + holes[at].size;
            erase(at);
        } else if (before) {
            holes[at - 1].size += size;
        } else if (after) {
            holes[at] = {offset, holes[at].size + size};
        } else if (all < most_holes) {
            tensor moved{offset, size};
            for (; at < all; ++at) {
                const tensor there = holes[at];
                holes[at] = moved;
                moved = there;
            }
            holes[count++] = moved;
        }
    }
    /// Up to the end of the last tensor that lives.
    constexpr byte_count size() const { return bytes(end); }
    constexpr byte_count peak() const { return bytes(most); }
    /// Of the peak, what lay in holes when it was reached. The same tensors, each as large or larger, take a buffer of
    /// at least the rest: which of them find holes hangs on their sizes, so that larger ones may take less in all.
    constexpr byte_count in_holes() const { return bytes(unused); }

private:
    constexpr void set_most() {
        most = end;
        unused = 0;
        for (std::size_t i = 0; i < count; ++i) unused += holes_[i].size;
    }
    constexpr void erase(std::size_t at) {
        for (--count; at < count; ++at) holes_[at] = holes_[at + 1];
    }

    /// A graph has fewer than 2^17 tensors: offsets stay below 2^63.
    static constexpr std::int64_t largest_tensor = tib(64).in(bytes);
    static constexpr std::int64_t no_hole = (byte_count::max)().in(bytes);
    static constexpr std::size_t most_holes = 256;

    std::array<tensor, most_holes> holes_;  ///< by offset
    std::size_t count = 0;
    std::int64_t end = 0;
    std::int64_t most = 0;
    std::int64_t unused = 0;
};

}  // namespace llmres::inline v0::detail
