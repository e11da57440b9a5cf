// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shared_library.hpp"

namespace llmres::probe {

/// The part of NCCL's binary interface that the probe calls.
namespace nccl_abi {
inline constexpr int float32 = 7, sum = 0;
struct functions : shared_library {
    using shared_library::shared_library;
    symbol<int(void**, int, const int*)> init_all{*this, "ncclCommInitAll"};
    symbol<int(void*)> destroy{*this, "ncclCommDestroy"};
    symbol<int(const void*, void*, std::size_t, int, int, void*, void*)> all_reduce{*this, "ncclAllReduce"};
    symbol<int()> group_start{*this, "ncclGroupStart"};
    symbol<int()> group_end{*this, "ncclGroupEnd"};
};
}  // namespace nccl_abi

/// NCCL, loaded at run time: all devices of one process sum a vector. Facts of the interface: NCCL's documentation.
class nccl {
public:
    /// Joins devices 0 .. count-1. What fails here throws call_failed.
    void open(std::int32_t count) {
        if (static_cast<std::int32_t>(members_.size()) == count) return;
        members_.clear();
        call_ = std::make_unique<nccl_abi::functions>("libnccl.so.2", "libnccl.so");
        std::vector<void*> made(static_cast<std::size_t>(count), nullptr);
        must("ncclCommInitAll", call_->init_all(made.data(), count, nullptr));
        for (void* member : made) members_.emplace_back(member, call_->destroy);
    }

    /// Sums `floats` floats of every device's `send` into its `receive`, on its stream; returns before it is done.
    void all_reduce(const std::vector<void*>& send, const std::vector<void*>& receive, std::size_t floats,
                    const std::vector<void*>& streams) {
        int code = call_->group_start();
        for (std::size_t i = 0; i < members_.size() && code == 0; ++i)
            code = call_->all_reduce(send[i], receive[i], floats, nccl_abi::float32, nccl_abi::sum, members_[i].get(),
                                     streams[i]);
        const int end = call_->group_end();
        must("ncclAllReduce", code != 0 ? code : end);
    }

private:
    static void must(const char* call, int result) { must_be_zero(call, "NCCL result", result); }
    std::unique_ptr<nccl_abi::functions> call_;
    std::vector<library_handle> members_;
};

}  // namespace llmres::probe
