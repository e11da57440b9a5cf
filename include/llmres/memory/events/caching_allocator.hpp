// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <set>
#include <vector>

/// What does PyTorch hold for tensors that are allocated and freed? Its allocator by its rules, of sizes alone: the
/// project's tests replay steps through it without a device, and cuda_probe/ with one.
namespace llmres::inline v0::detail {

/// PyTorch's CUDA caching allocator by its rules (c10/cuda/CUDACachingAllocator.cpp of 2.1). Sizes are rounded to 512
/// bytes; up to 1 MiB is small. The smallest free block of the stream's pool that is large enough is taken, and split
/// where more than 1 MiB (small: 512 bytes) would be left over; where there is none, a segment is (2 MiB for small
/// ones, 20 MiB for less than 10, else in steps of 2 MiB). Free neighbours in a segment are joined. When the device has
/// no room, segments without a tensor are given back first. With expandable segments each pool is one segment that
/// grows at its end by pages of 2 MiB (large: 20 MiB). Sizes alone: `device` is what stands behind them.
class caching_allocator {
public:
    struct block {
        std::int64_t segment = 0;
        std::int64_t offset = 0;
        std::int64_t size = 0;
        bool used = false;
        std::size_t pool = 0;
        block* before = nullptr;
        block* after = nullptr;
    };
    /// Memory of the device, segment by segment. take(): false if there is no room.
    struct segment_source {
        virtual bool take(std::int64_t segment, std::int64_t size) = 0;
        virtual void give(std::int64_t segment) = 0;

    protected:
        ~segment_source() = default;
    };

    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
    std::int64_t peak_allocated = 0;
    std::int64_t peak_reserved = 0;

    caching_allocator() = default;
    explicit caching_allocator(bool expands, segment_source* device = nullptr) : expands_{expands}, device_{device} {}

    /// A block for so many bytes; null if the device has no room for it.
    block* take(std::int64_t bytes, std::size_t stream = 0) {
        const std::int64_t size = std::max<std::int64_t>(512, (bytes + 511) / 512 * 512);
        const bool small = size <= mib;
        const std::size_t pool = stream * 2 + (small ? 1 : 0);
        auto& free = free_[pool];
        block wanted{.segment = -1, .size = size};
        const auto found = free.lower_bound(&wanted);
        block* b = nullptr;
        if (found != free.end()) {
            b = *found;
            free.erase(found);
        } else if (b = expands_ ? grown(pool, size) : segment_for(pool, size); b == nullptr) {
            return nullptr;
        }
        const std::int64_t left = b->size - size;
        if (small || expands_ ? left >= 512 : left > mib) split(b, size);
        b->used = true;
        allocated += b->size;
        peak_allocated = std::max(peak_allocated, allocated);
        return b;
    }

    void give(block* b) {
        allocated -= b->size;
        b->used = false;
        auto& free = free_[b->pool];
        if (b->before != nullptr && !b->before->used) {
            free.erase(b->before);
            b = join(b->before, b);
        }
        if (b->after != nullptr && !b->after->used) {
            free.erase(b->after);
            join(b, b->after);
        }
        free.insert(b);
    }

    /// Free blocks of segments in use: what it could not hand back.
    std::int64_t stuck() const {
        std::int64_t whole = 0;
        for (const auto& free : free_)
            for (const block* b : free)
                if (b->before == nullptr && b->after == nullptr) whole += b->size;
        return reserved - allocated - whole;
    }

private:
    static constexpr std::int64_t mib = std::int64_t{1} << 20;
    static constexpr std::size_t pools = 6;  ///< large and small blocks of three streams

    struct smaller {
        bool operator()(const block* a, const block* b) const {
            if (a->size != b->size) return a->size < b->size;
            return a->segment != b->segment ? a->segment < b->segment : a->offset < b->offset;
        }
    };

    bool reserve(std::int64_t segment, std::int64_t size) {
        if (device_ != nullptr && !device_->take(segment, size) &&
            (!give_back_unused() || !device_->take(segment, size)))
            return false;
        reserved += size;
        peak_reserved = std::max(peak_reserved, reserved);
        return true;
    }
    block* segment_for(std::size_t pool, std::int64_t size) {
        const std::int64_t segment = pool % 2 == 1     ? 2 * mib
                                     : size < 10 * mib ? 20 * mib
                                                       : (size + 2 * mib - 1) / (2 * mib) * (2 * mib);
        if (!reserve(segments_, segment)) return nullptr;
        return make({.segment = segments_++, .size = segment, .pool = pool});
    }
    /// The free end of the pool's one segment, grown until there is room.
    block* grown(std::size_t pool, std::int64_t size) {
        block*& end = ends_[pool];
        while (end != nullptr && end->after != nullptr) end = end->after;
        const bool open = end != nullptr && !end->used;
        const std::int64_t page = pool % 2 == 1 ? 2 * mib : 20 * mib;
        const std::int64_t more = (size - (open ? end->size : 0) + page - 1) / page * page;
        if (!reserve(segments_++, more)) return nullptr;
        if (open) {
            free_[pool].erase(end);
            end->size += more;
            return end;
        }
        block* made = make({.segment = static_cast<std::int64_t>(pool),
                            .offset = end == nullptr ? 0 : end->offset + end->size,
                            .size = more,
                            .pool = pool,
                            .before = end});
        if (end != nullptr) end->after = made;
        return end = made;
    }
    /// Whether there was one.
    bool give_back_unused() {
        if (expands_) return false;
        const std::int64_t before = reserved;
        for (auto& free : free_)
            for (auto at = free.begin(); at != free.end();) {
                block* b = *at;
                if (b->before != nullptr || b->after != nullptr) {
                    ++at;
                    continue;
                }
                at = free.erase(at);
                device_->give(b->segment);
                reserved -= b->size;
                spare_.push_back(b);
            }
        return reserved < before;
    }
    void split(block* b, std::int64_t size) {
        block* rest = make({.segment = b->segment,
                            .offset = b->offset + size,
                            .size = b->size - size,
                            .pool = b->pool,
                            .before = b,
                            .after = b->after});
        if (b->after != nullptr) b->after->before = rest;
        b->after = rest;
        b->size = size;
        free_[b->pool].insert(rest);
    }
    block* make(const block& as) {
        if (spare_.empty()) {
            all_.push_back(as);
            return &all_.back();
        }
        block* b = spare_.back();
        spare_.pop_back();
        *b = as;
        return b;
    }
    block* join(block* a, block* b) {
        if (ends_[a->pool] == b) ends_[a->pool] = a;
        a->size += b->size;
        a->after = b->after;
        if (b->after != nullptr) b->after->before = a;
        spare_.push_back(b);
        return a;
    }

    std::list<block> all_;
    std::vector<block*> spare_;
    std::array<std::set<block*, smaller>, pools> free_;
    std::array<block*, pools> ends_{};
    std::int64_t segments_ = 0;
    bool expands_ = false;
    segment_source* device_ = nullptr;
};

}  // namespace llmres::inline v0::detail
