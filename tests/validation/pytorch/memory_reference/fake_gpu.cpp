// SPDX-License-Identifier: MIT
// Lets a CUDA build of PyTorch trace CUDA code paths on a machine without a GPU.
//
// Fake tensors carry the device "cuda" and no memory, so nothing below the dispatcher ever runs. One call still
// reaches for the driver: before a backward pass the autograd engine asks the CUDA hooks whether the device has
// a context. These hooks answer yes; every other question keeps the answer of a build without CUDA.
#include <ATen/detail/CUDAHooksInterface.h>

#include <new>

namespace {

struct fake_gpu_hooks final : at::CUDAHooksInterface {
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasCUDA() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
};

}  // namespace

extern "C" void install_fake_gpu() {
    static_assert(sizeof(fake_gpu_hooks) == sizeof(at::CUDAHooksInterface), "only the virtual table is replaced");
    new (const_cast<at::CUDAHooksInterface*>(&at::detail::getCUDAHooks())) fake_gpu_hooks{};
}
