// SPDX-License-Identifier: MIT
// Stands in for cuda_device.cu where there is no CUDA compiler: the program then knows recorded devices only.
#include "cuda_api.hpp"

namespace llmres::probe {

namespace {

/// Nothing but device_count() is ever called.
class no_cuda final : public cuda_api {
public:
    device_total device_count() override { return {.why = "built without CUDA"}; }
    void describe(std::int32_t, device&) override {}
    void open_context(std::int32_t) override {}
    void open_libraries() override {}
    memory_state memory() override { return {}; }
    block allocate(allocator_kind, byte_count) override { return {}; }
    void release(const block&) override {}
    void touch(const block&, std::uint64_t) override {}
    std::int64_t verify(const block&, std::uint64_t) override { return 0; }
    void trim() override {}
    samples time_transfer(transfer, byte_count, const timing&) override { return {}; }
    checked_samples time_product(const product_shape&, const timing&) override { return {}; }
    samples time_peer(std::int32_t, std::int32_t, byte_count, const timing&) override { return {}; }
    checked_samples time_all_reduce(std::int32_t, byte_count, const timing&) override { return {}; }
};

}  // namespace

std::unique_ptr<cuda_api> make_cuda() { return std::make_unique<no_cuda>(); }

}  // namespace llmres::probe
