// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/hardware/device.hpp>
#include <string>
#include <vector>

#include "shared_library.hpp"

namespace llmres::probe {

/// The part of NCCL's binary interface that the probe calls.
namespace nccl_abi {
inline constexpr int float32 = 7, sum = 0;
using init_all = int(void**, int, const int*);
using destroy = int(void*);
using all_reduce = int(const void*, void*, std::size_t, int, int, void*, void*);
using group = int();
}  // namespace nccl_abi

/// NCCL, loaded at run time: all devices of one process sum a vector. Facts of the interface: NCCL's documentation.
class nccl {
public:
    nccl() = default;
    ~nccl() { close(); }
    nccl(const nccl&) = delete;
    nccl& operator=(const nccl&) = delete;

    /// Joins devices 0 .. count-1. Empty, or why not.
    text<95> open(std::int32_t count) {
        if (static_cast<std::int32_t>(members_.size()) == count) return {};
        close();
        if (!library_) library_ = shared_library{"libnccl.so.2", "libnccl.so"};
        if (!library_) return text<95>{library_.reason()};
        library_.resolve(init_all_, "ncclCommInitAll");
        library_.resolve(destroy_, "ncclCommDestroy");
        library_.resolve(all_reduce_, "ncclAllReduce");
        library_.resolve(group_start_, "ncclGroupStart");
        library_.resolve(group_end_, "ncclGroupEnd");
        if (!init_all_ || !destroy_ || !all_reduce_ || !group_start_ || !group_end_)
            return "libnccl lacks a function that the probe needs";
        std::vector<void*> made(static_cast<std::size_t>(count), nullptr);
        const int code = init_all_(made.data(), count, nullptr);
        if (code != 0) return failure("ncclCommInitAll", code);
        members_ = std::move(made);
        return {};
    }
    void close() {
        for (void* member : members_) destroy_(member);
        members_.clear();
    }

    /// Sums `floats` floats of every device's `send` into its `receive`, on its stream; returns before it is done.
    text<95> all_reduce(const std::vector<void*>& send, const std::vector<void*>& receive, std::size_t floats,
                        const std::vector<void*>& streams) {
        int code = group_start_();
        for (std::size_t i = 0; i < members_.size() && code == 0; ++i)
            code = all_reduce_(send[i], receive[i], floats, nccl_abi::float32, nccl_abi::sum, members_[i], streams[i]);
        const int end = group_end_();
        return failure("ncclAllReduce", code != 0 ? code : end);
    }

private:
    static text<95> failure(const char* call, int code) {
        if (code == 0) return {};
        text<95> why{call};
        why.append(": NCCL result " + std::to_string(code));
        return why;
    }
    shared_library library_;
    std::vector<void*> members_;
    nccl_abi::init_all* init_all_ = nullptr;
    nccl_abi::destroy* destroy_ = nullptr;
    nccl_abi::all_reduce* all_reduce_ = nullptr;
    nccl_abi::group* group_start_ = nullptr;
    nccl_abi::group* group_end_ = nullptr;
};

}  // namespace llmres::probe
