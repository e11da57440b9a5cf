// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <vector>

/// PyTorch's CUDA caching allocator on one stream, by its rules (c10/cuda/CUDACachingAllocator.cpp of 2.1): sizes are
/// rounded to 512 bytes; up to 1 MiB is small; the smallest free block that is large enough is taken, and split where
/// more than 1 MiB (small: 512 bytes) would be left over; where there is none, a segment is (2 MiB for small ones, 20
/// MiB for less than 10, else in steps of 2 MiB). Free neighbours in a segment are joined. No memory is behind it:
/// sizes alone.
class caching_allocator {
public:
    struct block {
        std::int64_t segment = 0;
        std::int64_t offset = 0;
        std::int64_t size = 0;
        bool used = false;
        bool small = false;
        block* before = nullptr;
        block* after = nullptr;
    };

    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
    std::int64_t peak_allocated = 0;

    block* take(std::int64_t bytes) {
        const std::int64_t size = std::max<std::int64_t>(512, (bytes + 511) / 512 * 512);
        const bool small = size <= mib;
        auto& free = free_[small ? 1 : 0];
        block wanted{.segment = -1, .size = size};
        const auto found = free.lower_bound(&wanted);
        block* b = nullptr;
        if (found != free.end()) {
            b = *found;
            free.erase(found);
        } else {
            const std::int64_t segment = small             ? 2 * mib
                                         : size < 10 * mib ? 20 * mib
                                                           : (size + 2 * mib - 1) / (2 * mib) * (2 * mib);
            b = make({.segment = segments_++, .size = segment, .small = small});
            reserved += segment;
        }
        const std::int64_t left = b->size - size;
        if (small ? left >= 512 : left > mib) {
            block* rest = make({.segment = b->segment,
                                .offset = b->offset + size,
                                .size = left,
                                .small = small,
                                .before = b,
                                .after = b->after});
            if (b->after != nullptr) b->after->before = rest;
            b->after = rest;
            b->size = size;
            free.insert(rest);
        }
        b->used = true;
        allocated += b->size;
        peak_allocated = std::max(peak_allocated, allocated);
        return b;
    }

    void give(block* b) {
        allocated -= b->size;
        b->used = false;
        auto& free = free_[b->small ? 1 : 0];
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

    struct smaller {
        bool operator()(const block* a, const block* b) const {
            if (a->size != b->size) return a->size < b->size;
            return a->segment != b->segment ? a->segment < b->segment : a->offset < b->offset;
        }
    };

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
        a->size += b->size;
        a->after = b->after;
        if (b->after != nullptr) b->after->before = a;
        spare_.push_back(b);
        return a;
    }

    std::list<block> all_;
    std::vector<block*> spare_;
    std::set<block*, smaller> free_[2];
    std::int64_t segments_ = 0;
};

/// A tensor: so many bytes, until it goes or is let go.
class simulated_tensor {
public:
    simulated_tensor(caching_allocator& from, std::int64_t bytes) : from_{&from}, block_{from.take(bytes)} {}
    simulated_tensor(simulated_tensor&& o) noexcept : from_{o.from_}, block_{o.block_} { o.block_ = nullptr; }
    simulated_tensor& operator=(simulated_tensor&& o) noexcept {
        if (this != &o) {
            free();
            from_ = o.from_;
            block_ = o.block_;
            o.block_ = nullptr;
        }
        return *this;
    }
    simulated_tensor(const simulated_tensor&) = delete;
    simulated_tensor& operator=(const simulated_tensor&) = delete;
    ~simulated_tensor() { free(); }

    void free() {
        if (block_ != nullptr) from_->give(block_);
        block_ = nullptr;
    }

private:
    caching_allocator* from_;
    caching_allocator::block* block_;
};
