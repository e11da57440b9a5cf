// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/devices.hpp>

using namespace llmres;

TEST_CASE("every profile of software names what says on which devices it starts; none and pytorch take any") {
    for (const runtime* r : runtimes::all) {
        CAPTURE(r->identity.name.view());
        CAPTURE(r->identity.versions.view());
        const runtime_devices& d = r->devices;
        const bool any_software = r->identity.work == runtime_work::any;
        CHECK(d.source.empty() == any_software);
        CHECK_FALSE(d.source.view().ends_with(".."));  // cut
        for (const gpu_vendor v : {gpu_vendor::nvidia, gpu_vendor::amd, gpu_vendor::google, gpu_vendor::apple})
            if (any_software) CHECK(support_of(d, gpu{.vendor = v}) == device_support::runs);
        CHECK(support_of(d, gpu{.vendor = gpu_vendor::other}) == device_support::runs);
    }
}

TEST_CASE("Gaudi is another device than Intel's GPUs") {
    const gpu gaudi{.vendor = gpu_vendor::intel, .architecture = "Gaudi3"};
    const gpu arc{.vendor = gpu_vendor::intel, .architecture = "Xe2 (Battlemage)"};
    CHECK(support_of(runtimes::llama_cpp.devices, gaudi) == device_support::absent);
    CHECK(support_of(runtimes::llama_cpp.devices, arc) == device_support::unmeasured);
    CHECK(support_of(runtimes::vllm.devices, gaudi) == device_support::unmeasured);
}

TEST_CASE("ports are those of the release") {
    const gpu apple{.vendor = gpu_vendor::apple};
    CHECK(support_of(runtimes::vllm.devices, apple) == device_support::unmeasured);
    CHECK(support_of(runtimes::vllm_v1_9.devices, apple) == device_support::absent);
    CHECK(support_of(runtimes::sglang.devices, apple) == device_support::unmeasured);
    CHECK(support_of(runtimes::sglang_0_5_2.devices, apple) == device_support::absent);
    CHECK(runtimes::vllm.devices.least == compute_capability{7, 5});
    CHECK(runtimes::vllm_v0_7.devices.least == compute_capability{7, 0});
}

TEST_CASE("software for CUDA runs on NVIDIA's GPUs, and is said to do the same on those of all other vendors") {
    for (const device_support others : {device_support::absent, device_support::unmeasured}) {
        const runtime_devices d = beside_nvidia(others);
        CHECK(d.nvidia == device_support::runs);
        for (device_support runtime_devices::* vendor :
             {&runtime_devices::amd, &runtime_devices::intel, &runtime_devices::gaudi, &runtime_devices::google,
              &runtime_devices::aws, &runtime_devices::huawei, &runtime_devices::apple, &runtime_devices::cambricon,
              &runtime_devices::hygon, &runtime_devices::moore_threads})
            CHECK(d.*vendor == others);
    }
}
