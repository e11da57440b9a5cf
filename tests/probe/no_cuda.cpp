// SPDX-License-Identifier: MIT
// Stands in for cuda_device.cu where there is no CUDA compiler: the program then knows recorded devices only.
#include "cuda_api.hpp"

namespace llmres::probe {

namespace {

constexpr const char* why = "built without CUDA";

class no_cuda final : public cuda_api {
public:
    device_total device_count() override { return {.why = why}; }
    void describe(std::int32_t, device&) override {}
    void describe_peer(std::int32_t, std::int32_t, device_peer&) override {}
    problem open_context(std::int32_t) override { return why; }
    problem open_libraries() override { return why; }
    reading<memory_state> memory() override { return reading<memory_state>::unavailable(why); }
    allocation allocate(allocator_kind, byte_count) override { return {reading<block>::unavailable(why), false}; }
    problem release(const block&) override { return why; }
    problem touch(const block&, std::uint64_t) override { return why; }
    reading<std::int64_t> verify(const block&, std::uint64_t) override {
        return reading<std::int64_t>::unavailable(why);
    }
    problem trim() override { return {}; }
    samples time_transfer(transfer, byte_count, const timing&) override { return samples::unavailable(why); }
    checked_samples time_product(const product_shape&, const timing&) override { return {}; }
    samples time_peer(std::int32_t, std::int32_t, byte_count, const timing&) override {
        return samples::unavailable(why);
    }
    checked_samples time_all_reduce(std::int32_t, byte_count, const timing&) override { return {}; }
};

}  // namespace

std::unique_ptr<cuda_api> make_cuda() { return std::make_unique<no_cuda>(); }

}  // namespace llmres::probe
