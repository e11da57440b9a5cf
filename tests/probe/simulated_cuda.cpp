// SPDX-License-Identifier: MIT
// The probe on a simulated device, for tests of the program: LLMRES_SIMULATED chooses what the device is like.
#include "simulated_cuda.hpp"

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace llmres::probe {

std::unique_ptr<cuda_api> make_cuda() {
    simulation s;
    const char* said = std::getenv("LLMRES_SIMULATED");
    const std::string_view like = said ? said : "";
    if (like == "none") s.devices = 0;
    if (like == "two") s.devices = 2;
    if (like == "large") s.total = mib(81079), s.name = "NVIDIA H100 80GB HBM3", s.capability = 90, s.sm_count = 132;
    if (like == "coarse") s.granule = mib(96);  // every buffer takes far more than it asks for
    if (like == "small") s.total = gib(12);
    if (like == "integrated") s.integrated = true;
    if (like == "old_driver") s.count_problem = "cudaGetDeviceCount: cudaErrorInsufficientDriver";
    if (like == "wrong") s.right = false;
    if (like == "leaving") s.tenants = [](std::int64_t n) { return n > 5 ? byte_count{} : gib(18); };
    if (like == "passing") s.tenants = [](std::int64_t n) { return n > 5 && n < 9 ? gib(2) : byte_count{}; };
    if (like == "faulty") s.corrupt_at = 3;
    if (like == "busy") s.context_problem = "cudaSetDevice: cudaErrorDevicesUnavailable";
    if (like == "broken") s.context_problem = "cudaSetDevice: cudaErrorUnknown";
    if (like == "stuck") s.on_count = [] { std::this_thread::sleep_for(std::chrono::hours{1}); };
    if (like == "moving") s.tenants = [](std::int64_t n) { return n > 5 ? gib(3) : byte_count{}; };
    if (like == "no_cublas") s.libraries_missing = true;
    if (like == "slow")
        s.on_allocate = [](std::int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds{200}); };
    return std::make_unique<simulated_cuda>(s);
}

}  // namespace llmres::probe
