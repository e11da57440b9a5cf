// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdlib>
#include <llmres/io/device_json.hpp>

#include "nccl.hpp"
#include "nvml.hpp"

using namespace llmres;
using namespace llmres::probe;

namespace {

constexpr std::string_view first = "GPU-51515151-0000-4000-8000-000000000000";
constexpr std::string_view instance = "MIG-51515151-0000-4000-8000-0000000000a0";

device described(const char* mood, std::string_view uuid = first) {
    setenv("LLMRES_FAKE_NVML", mood, 1);
    const nvml driver{LLMRES_FAKE_NVML_LIBRARY};
    REQUIRE(driver.reason().empty());
    const auto handle = driver.find(uuid, "");
    REQUIRE(handle.known);
    device live;
    driver.describe(handle, live);
    return live;
}

/// Every reading that NVML alone could fill, with its key.
template <class Check>
void each_reading(const device& live, Check&& check) {
    const auto visit = [&](const auto& section) {
        detail::each_field(section, [&](const char* key, const auto& field) { check(std::string{key}, field); });
    };
    visit(live.identity), visit(live.software), visit(live.memory), visit(live.compute), visit(live.power),
        visit(live.pcie);
}

}  // namespace

TEST_CASE("a device is described as the driver tells it") {
    const device live = described("good");
    CHECK(live.identity.uuid.value == first);
    CHECK(*live.identity.index_nvml == 0);
    CHECK(live.identity.mig_profile.why == "not a MIG instance");
    CHECK(live.identity.board_part_number.why == "NVML: empty text");
    CHECK(live.software.compute_mode.value == "default");
    CHECK(*live.memory.nvml_total == gib(24));
    CHECK(*live.memory.nvml_reserved == mib(500));
    CHECK(*live.memory.ecc_enabled);
    CHECK(*live.memory.remapped_rows_correctable == 2);
    CHECK(live.compute.sm_clock_max->in(mhz) == doctest::Approx(1980));
    CHECK(live.power.draw->in(watts) == doctest::Approx(71.5));
    CHECK(live.power.throttle_reasons.value == "gpu_idle,sw_power_cap");
    CHECK(*live.pcie.generation_now == 1);
    CHECK(*live.pcie.generation_max == 5);
    CHECK(live.pcie.numa_node.why == "NVML: Function Not Found");
    CHECK(*live.nvlinks_active == 3);
    CHECK(*live.process_count == 4);  // who computes and draws counts once
    CHECK(*live.processes[1].used == mib(100));
    CHECK(live.processes[3].pid == 4300);
}

TEST_CASE("an instance is described with its parent, and card-wide facts come from the card") {
    const device live = described("good", instance);
    CHECK(live.identity.uuid.value == instance);
    CHECK(live.identity.mig_profile.value == "1g.10gb");
    CHECK(live.identity.mig_parent_uuid.value == "GPU-51515151-0000-4000-8000-000000000002");
    CHECK(*live.identity.mig_enabled);
    CHECK(*live.identity.index_nvml == 2);
    CHECK(*live.memory.nvml_total == gib(10));
    CHECK(live.power.draw.known);
    CHECK(*live.process_count == 3);  // an instance draws nothing
}

TEST_CASE("a driver that denies, fails or supports nothing gives reasons and never a zero") {
    const std::pair<const char*, const char*> moods[] = {{"no_permission", "NVML: Insufficient Permissions"},
                                                         {"unsupported", "NVML: Not Supported"},
                                                         {"errors", "NVML: Unknown Error"},
                                                         {"lost", "NVML: GPU is lost"}};
    for (const auto& [mood, why] : moods) {
        CAPTURE(mood);
        const device live = described(mood);
        int denied = 0;
        each_reading(live, [&](const std::string& key, const auto& field) {
            CAPTURE(key);
            CHECK_FALSE(field.known);
            CHECK_FALSE(field.why.empty());
            denied += field.why == why ? 1 : 0;
        });
        CHECK(denied >= 30);
        CHECK(live.nvlinks_active.why == why);
        CHECK(live.process_count.why == why);
        CHECK(live.processes.empty());
    }
}

TEST_CASE("nonsense is not believed") {
    const device live = described("nonsense");
    each_reading(live, [](const std::string& key, const auto& field) {
        CAPTURE(key);
        if (key == "throttle_reasons") return;  // any mask has names
        CHECK_FALSE(field.known);
    });
    CHECK(live.memory.nvml_total.why.view().starts_with("NVML: implausible value"));
    CHECK(live.identity.name.why == "NVML: unreadable text");
    CHECK_FALSE(live.process_count.known);
    CHECK_FALSE(to_json(live).dump().empty());  // and nothing that is no UTF-8 got through
}

TEST_CASE("memory of others leaves out our own, and is unknown where one of them is hidden") {
    setenv("LLMRES_FAKE_NVML", "good", 1);
    const nvml driver{LLMRES_FAKE_NVML_LIBRARY};
    const auto handle = driver.find(first, "");
    CHECK(*driver.used_by_others(handle) == mib(180));
    CHECK(*driver.used(handle) == mib(700));
    setenv("LLMRES_FAKE_NVML_HIDDEN", "1", 1);
    CHECK(driver.used_by_others(handle).why == "NVML: the driver does not tell");
    unsetenv("LLMRES_FAKE_NVML_HIDDEN");
    setenv("LLMRES_FAKE_NVML", "no_permission", 1);
    CHECK(driver.used_by_others(handle).why == "NVML: Insufficient Permissions");
}

TEST_CASE("devices are found by UUID, else by address; an instance never by address") {
    setenv("LLMRES_FAKE_NVML", "good", 1);
    const nvml driver{LLMRES_FAKE_NVML_LIBRARY};
    CHECK(*driver.device_count() == 3);
    CHECK(*driver.find("GPU-other", "00000000:02:00.0") == *driver.by_index(1));
    CHECK_FALSE(driver.find("GPU-other", "").known);
    CHECK_FALSE(driver.find("MIG-other", "00000000:02:00.0").known);
    CHECK(driver.by_index(9).why == "NVML: Not Found");
    CHECK(driver.topology(driver.by_index(0), driver.by_index(1)).value == "multiple_switches");
    setenv("LLMRES_FAKE_NVML", "nonsense", 1);
    CHECK_FALSE(driver.device_count().known);
    CHECK_FALSE(driver.topology(driver.by_index(0), driver.by_index(1)).known);
}

TEST_CASE("no driver, or one that does not start, is a reason and no crash") {
    setenv("LLMRES_FAKE_NVML", "init_fails", 1);
    const nvml asleep{LLMRES_FAKE_NVML_LIBRARY};
    CHECK(asleep.reason() == "NVML: Driver Not Loaded");
    setenv("LLMRES_FAKE_NVML", "good", 1);
    const nvml absent{"libno-such-thing.so.1"};
    CHECK(absent.reason() == "NVML: libno-such-thing.so.1 could not be loaded");
    CHECK(absent.find(first, "").why == "NVML: libno-such-thing.so.1 could not be loaded");
    CHECK_FALSE(absent.device_count().known);
    const nvml::handle none = absent.by_index(0);
    CHECK(absent.used_by_others(none).why == none.why);
    device live;
    live.identity.uuid = reading<text<63>>::unavailable("CUDA: denied");
    absent.describe(none, live);
    each_reading(live, [&](const std::string& key, const auto& field) {
        CAPTURE(key);
        CHECK_FALSE(field.known);
    });
    CHECK(live.identity.uuid.why == "CUDA: denied");
    CHECK(live.power.draw.why == none.why);
    CHECK(live.identity.mig_profile.why == none.why);
    CHECK(absent.now(none).sm_clock.why == none.why);
    const nvml foreign{"libm.so.6"};
    CHECK(foreign.reason() == "NVML: libm.so.6 has no nvmlInit_v2");
}

TEST_CASE("what was in use before CUDA was touched stays known") {
    setenv("LLMRES_FAKE_NVML", "good", 1);
    setenv("LLMRES_FAKE_NVML_GROWS", "1", 1);
    const nvml driver{LLMRES_FAKE_NVML_LIBRARY};
    const auto handle = driver.find(first, "");
    REQUIRE(handle.known);
    const auto start = driver.used_at_start(handle);
    REQUIRE(start.known);
    const auto now = driver.used(handle);
    CHECK(*now > *start);
    CHECK(*driver.used(handle) > *now);
    CHECK(*driver.used_at_start(handle) == *start);
    device live;
    driver.describe(handle, live);
    CHECK(*live.memory.nvml_used == *start);
    unsetenv("LLMRES_FAKE_NVML_GROWS");
}

TEST_CASE("a library that is missing, or that lacks a function, is said by name, and is no fault of the device") {
    const auto why = [](const auto&... names) { return problem_of([&] { nccl_abi::functions{names...}; }); };
    CHECK(why("libno-such-thing.so.1", "libno-other-thing.so") == "libno-such-thing.so.1 could not be loaded");
    CHECK(why("libno-such-thing.so.1", "libm.so.6") == "libm.so.6 lacks a function that the probe needs");
    CHECK(library_missing(why("libno-such-thing.so.1")));
    CHECK(library_missing(why("libm.so.6")));
}
