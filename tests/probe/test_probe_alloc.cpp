// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <llmres/memory/events/caching_allocator.hpp>

#include "host_room.hpp"
#include "report.hpp"
#include "simulated_cuda.hpp"

using namespace llmres;
using namespace llmres::probe;

namespace {

tested_plan plan_of(byte_count weights_a_layer, byte_count cache_a_layer, std::int64_t layers) {
    tested_plan plan;
    plan.buffers.push_back({"layer.weights", memory_term::weights, weights_a_layer, layers});
    plan.buffers.push_back({"layer.kv", memory_term::kv_cache, cache_a_layer, layers});
    plan.memory[memory_term::kv_cache].expected = cache_a_layer * layers;
    plan.memory[memory_term::weights].expected = weights_a_layer * layers;
    plan.usable = plan.available = gib(24);
    return plan;
}

struct bench {
    simulated_cuda cuda;
    stop_signal stop;
    explicit bench(simulation s = {}, double timeout_s = 0) : cuda{std::move(s)}, stop{timeout_s} {}
    alloc_environment around() {
        return {cuda, [this] { return reading<byte_count>{cuda.others()}; }, stop};
    }
    alloc_run run(const tested_plan& plan, const alloc_options& options = {}) {
        return run_allocation(around(), plan, options);
    }
};

}  // namespace

TEST_CASE("a plan that fits is held at once, verified, and let go of") {
    bench b;
    const alloc_run run = b.run(plan_of(mib(400), mib(100), 32));
    CHECK(run.outcome == run_outcome::held);
    CHECK(judge(run).says == probe::verdict::fits);
    CHECK(run.buffers.size() == 64);
    CHECK(run.buffers.front().name == "layer.weights[0]");
    CHECK(run.requested == mib(500) * 32);
    CHECK(run.granted == run.requested);
    CHECK(run.buffers.back().cumulative == run.granted);
    CHECK(b.cuda.peak() == run.granted);
    CHECK(b.cuda.held() == byte_count{});
    CHECK(b.cuda.blocks_held() == 0);
}

TEST_CASE("granted counts the device's rounding") {
    bench b;
    const alloc_run run = b.run(plan_of(mib(3), mib(1), 4));
    CHECK(run.requested == mib(16));
    CHECK(run.granted == mib(4 * 4 + 2 * 4));
}

TEST_CASE("a plan that does not fit says at which buffer, and nothing stays held") {
    bench b;
    const alloc_run run = b.run(plan_of(gib(1), gib(1), 16));
    CHECK(run.outcome == run_outcome::no_room);
    CHECK(run.failed_at == 24);
    CHECK(run.failed_name == "layer.kv[8]");
    CHECK(run.failed_size == gib(1));
    CHECK(judge(run).says == probe::verdict::does_not_fit);
    CHECK(exit_of(judge(run).says) == exit_does_not_fit);
    CHECK(b.cuda.held() == byte_count{});
}

TEST_CASE("a device that refuses and no longer says what is free is at fault, and no verdict is given") {
    tested_plan plan = plan_of(gib(1), gib(1), 16);
    plan.usable = plan.available = gib(64);
    bench refuses;
    CHECK(refuses.run(plan).outcome == run_outcome::no_room);
    simulation s;
    s.silent_after = refuses.cuda.allocations();
    bench b{s};
    const alloc_run run = b.run(plan);
    CHECK(run.outcome == run_outcome::failed);
    CHECK(run.reason == "simulated fault");
    CHECK(exit_of(judge(run).says) == exit_internal);
    CHECK(b.cuda.held() == byte_count{});
}

TEST_CASE("another tenant that moves makes it inconclusive, whatever was found") {
    simulation s;
    s.tenants = [](std::int64_t n) { return n > 10 ? gib(4) : byte_count{}; };
    bench fits{s};
    CHECK(judge(fits.run(plan_of(mib(100), mib(100), 10))).says == probe::verdict::inconclusive);
    bench does_not{s};
    const alloc_run run = does_not.run(plan_of(gib(1), gib(1), 12));
    CHECK(run.outcome == run_outcome::no_room);
    CHECK(judge(run).says == probe::verdict::inconclusive);
    CHECK(exit_of(judge(run).says) == exit_inconclusive);

    // A tenant that NVML does not show is still seen: what was released does not come back.
    bench hidden{s};
    const alloc_environment blind{hidden.cuda, [] { return reading<byte_count>::unavailable("NVML: no permission"); },
                                  hidden.stop};
    CHECK(judge(run_allocation(blind, plan_of(mib(100), mib(100), 10), {})).says == probe::verdict::inconclusive);
}

TEST_CASE("a tenant that sits still does not disturb") {
    simulation s;
    s.tenants = [](std::int64_t) { return gib(10); };
    bench b{s};
    CHECK(judge(b.run(plan_of(gib(1), gib(1), 5))).says == probe::verdict::fits);
    CHECK(judge(b.run(plan_of(gib(1), gib(1), 8))).says == probe::verdict::does_not_fit);
}

TEST_CASE("the guard band is never put to the test") {
    bench b;
    const tested_plan nearly = plan_of(gib(1), mib(480), 16);  // 23.5 GiB of 24
    CHECK(judge(b.run(nearly, {.guard = gib(1)})).says == probe::verdict::skipped);
    CHECK(b.cuda.peak() <= gib(23));
    CHECK(judge(b.run(nearly)).says == probe::verdict::fits);
    // What is left exceeds what is free: that needs no try.
    CHECK(judge(b.run(plan_of(gib(1), gib(1), 13), {.guard = gib(1)})).says == probe::verdict::does_not_fit);
    static_assert(default_guard(gib(80)) > mib(800));
    static_assert(default_guard(gib(8)) == mib(256));
}

TEST_CASE("memory that does not keep what was written is a fault, not a verdict") {
    simulation s;
    s.corrupt_at = 5;
    bench b{s};
    const alloc_run run = b.run(plan_of(mib(100), mib(100), 10));
    CHECK(run.outcome == run_outcome::wrong_content);
    CHECK(exit_of(judge(run).says) == exit_internal);
    CHECK(b.cuda.held() == byte_count{});
}

TEST_CASE("a call that fails at buffer k for another reason than room is a fault that names the buffer") {
    simulation s;
    s.fail_at = 7;
    bench b{s};
    const alloc_run run = b.run(plan_of(mib(100), mib(100), 10));
    CHECK(run.failed_at == 7);
    CHECK(judge(run).says == probe::verdict::failed);
    CHECK(judge(run).reason.find("buffer 7") != std::string::npos);
    CHECK(b.cuda.held() == byte_count{});
}

TEST_CASE("memory that is handed out twice is not believed") {
    simulation s;
    s.overcommits = true;
    bench b{s};
    CHECK(judge(b.run(plan_of(gib(10), gib(10), 10))).says == probe::verdict::inconclusive);
}

TEST_CASE("memory that does not come back is noticed") {
    simulation s;
    s.leak_at = 3;
    bench b{s};
    CHECK(judge(b.run(plan_of(mib(100), mib(100), 10))).says == probe::verdict::inconclusive);
}

TEST_CASE("Ctrl-C in the middle frees everything and skips") {
    simulation s;
    s.on_allocate = [](std::int64_t n) {
        if (n == 12) stop_signal::noted() = 2;
    };
    bench b{s};
    const alloc_run run = b.run(plan_of(mib(100), mib(100), 10));
    stop_signal::noted() = 0;
    CHECK(run.outcome == run_outcome::stopped);
    CHECK(run.reason == "interrupted");
    CHECK(exit_of(judge(run).says) == exit_skipped);
    CHECK(run.buffers.size() == 13);
    CHECK(b.cuda.held() == byte_count{});
}

TEST_CASE("the time can be up") {
    bench b{{}, 1e-9};
    const alloc_run run = b.run(plan_of(mib(100), mib(100), 10));
    CHECK(run.outcome == run_outcome::stopped);
    CHECK(run.reason.find("timed out") == 0);
}

TEST_CASE("another order holds the same bytes") {
    bench b;
    const tested_plan plan = plan_of(mib(400), mib(100), 32);
    const alloc_run in_order = b.run(plan);
    const alloc_run shuffled = b.run(plan, {.shuffled = true, .seed = 2});
    CHECK(shuffled.granted == in_order.granted);
    CHECK(shuffled.buffers.front().name != in_order.buffers.front().name);
}

TEST_CASE("runs that disagree are inconclusive, a fault in one decides") {
    alloc_run yes;
    yes.outcome = run_outcome::held;
    alloc_run no;
    no.outcome = run_outcome::no_room;
    alloc_run fault;
    fault.outcome = run_outcome::failed;
    CHECK(judge(std::vector{yes, yes}).says == probe::verdict::fits);
    CHECK(judge(std::vector{yes, no}).says == probe::verdict::inconclusive);
    CHECK(judge(std::vector{no, no}).says == probe::verdict::does_not_fit);
    CHECK(judge(std::vector{yes, fault}).says == probe::verdict::failed);
    CHECK(judge(std::vector<alloc_run>{}).says == probe::verdict::skipped);
}

TEST_CASE("what a plan counts beside its buffers is held, too: it fits whole or not at all") {
    bench b;
    tested_plan plan = plan_of(gib(1), mib(448), 16);  // 23 GiB
    plan.memory[memory_term::runtime].expected = gib(1);
    plan.memory[memory_term::workspace].expected = mib(512);
    plan.memory[memory_term::fragmentation].expected = mib(448);  // 24.94 GiB
    const alloc_run run = b.run(plan);
    CHECK(run.outcome == run_outcome::no_room);
    CHECK(run.buffers.front().name == "rest_of_runtime");
    CHECK(judge(run).says == probe::verdict::does_not_fit);
    CHECK(b.cuda.held() == byte_count{});
    // What the process has taken itself is not held again.
    CHECK(stand_ins(plan, {}).size() == 3);
    CHECK(stand_ins(plan, gib(1)).size() == 2);
    CHECK(stand_ins(plan, mib(24))[1].size == mib(1000));
}

TEST_CASE("of a plan for PyTorch's allocator, what its steps will fragment is held, less what segments have free") {
    bench b;
    tested_plan plan = plan_of(gib(1), mib(3), 2);  // each of 3 MiB in one segment of 20
    plan.memory[memory_term::fragmentation].expected = gib(2);
    const alloc_run run = b.run(plan, {.caching = true});
    REQUIRE(run.outcome == run_outcome::held);
    CHECK(run.buffers.back().name == "rest_of_fragmentation");
    CHECK(run.granted == plan.memory.expected());
    CHECK(run.buffers.back().requested < gib(2));
    byte_count allocated{};
    for (const buffer_result& buffer : run.buffers) allocated += buffer.allocated;
    CHECK(allocated < run.granted);
    plan.memory[memory_term::fragmentation].expected = gib(24);
    CHECK(judge(b.run(plan, {.caching = true})).says == probe::verdict::does_not_fit);
}

TEST_CASE("of a plan for ggml, all tensors of a kind are one buffer") {
    bench b;
    tested_plan plan = plan_of(mib(3), mib(1), 4);
    plan.request.job.runtime.allocator.code = allocator_code::device;
    const alloc_run run = b.run(plan);
    REQUIRE(run.buffers.size() == 2);
    CHECK(run.buffers[0].name == "weights");
    CHECK(run.granted == mib(12 + 4));
}

TEST_CASE("a plan takes no more than it says is usable, whatever the device has") {
    bench b;
    tested_plan plan = plan_of(gib(1), gib(1), 10);
    plan.usable = gib(21);
    CHECK(judge(b.run(plan)).says == probe::verdict::fits);
    CHECK(judge(b.run(plan, {.own = gib(2)})).says == probe::verdict::does_not_fit);
    CHECK(judge(b.run(plan, {.own = gib(2)})).reason.find("usable") != std::string::npos);
}

TEST_CASE("a device whose memory is the host's is asked for no more than the host has") {
    bench b;
    CHECK(judge(b.run(plan_of(gib(1), gib(1), 5), {.host_room = gib(8)})).says == probe::verdict::skipped);
    CHECK(b.cuda.peak() == gib(8));
    CHECK(judge(b.run(plan_of(gib(1), gib(1), 4), {.host_room = gib(8)})).says == probe::verdict::fits);
}

TEST_CASE("what a host has for a device that shares its memory is what is available, and what its cgroup leaves") {
    namespace fs = std::filesystem;
    const fs::path root = fs::temp_directory_path() / ("llmres-probe-host-" + std::to_string(getpid()));
    const auto write = [&](const std::string& file, const std::string& content) {
        fs::create_directories((root / file).parent_path());
        std::ofstream{root / file} << content;
    };
    device live;
    live.memory.allocation.integrated = false;
    CHECK_FALSE(host_room(live, root).has_value());
    live.memory.allocation.integrated = true;
    CHECK(host_room(live, root) == byte_count{});  // nobody says what there is
    write("proc/meminfo", "MemTotal: 33554432 kB\nMemFree: 1 kB\nMemAvailable: 16777216 kB\n");
    CHECK(host_room(live, root) == gib(16) - mib(256));
    write("sys/fs/cgroup/memory.max", "max\n"), write("sys/fs/cgroup/memory.current", "0\n");
    CHECK(host_room(live, root) == gib(16) - mib(256));
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write("sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n");
    CHECK(host_room(live, root) == gib(16) - mib(256));  // no limit of either version
    write("sys/fs/cgroup/memory.max", "8589934592\n"), write("sys/fs/cgroup/memory.current", "4294967296\n");
    CHECK(host_room(live, root) == gib(4) - mib(256));
    write("sys/fs/cgroup/memory.current", "8589934592\n");
    CHECK(host_room(live, root) == byte_count{});
    live.memory.allocation.integrated = reading<bool>::unavailable("");
    CHECK_FALSE(host_room(live, root).has_value());
    write("proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n");
    CHECK(host_room(live, root) == byte_count{});
    fs::remove_all(root);
}

TEST_CASE("a neighbour that leaves, passes or grows makes it inconclusive, also where memory is as it was in the end") {
    const auto judged = [](std::function<byte_count(std::int64_t)> tenants, std::int64_t layers) {
        simulation s;
        s.tenants = std::move(tenants);
        bench b{s};
        return judge(b.run(plan_of(gib(1), gib(1), layers))).says;
    };
    const auto leaving = [](std::int64_t n) { return n > 2 ? byte_count{} : gib(18); };
    const auto passing = [](std::int64_t n) { return n > 5 && n < 9 ? gib(2) : byte_count{}; };
    const auto at_the_end = [](std::int64_t n) { return n == 23 ? gib(2) : byte_count{}; };
    CHECK(judged(leaving, 2) == probe::verdict::inconclusive);  // it would fit with and without
    CHECK(judged(leaving, 13) == probe::verdict::inconclusive);
    CHECK(judged(passing, 8) == probe::verdict::inconclusive);
    CHECK(judged(passing, 12) == probe::verdict::inconclusive);
    CHECK(judged(at_the_end, 12) == probe::verdict::inconclusive);  // refused while it is there
    CHECK(judged([](std::int64_t) { return gib(1); }, 8) == probe::verdict::fits);
}

TEST_CASE("prediction and measurement are compared term by term") {
    bench b;
    tested_plan plan = plan_of(mib(401), mib(100), 32);
    plan.memory[memory_term::runtime].expected = mib(400);
    plan.memory[memory_term::workspace].expected = mib(40);
    const baselines around{mib(306), mib(14)};
    const alloc_run run = b.run(plan, {.own = taken_before(plan, around)});
    alloc_report report;
    report.plan = plan;
    report.around = around;
    report.runs = {run};
    const auto line_of = [&](const char* what) {
        const auto all = agreement_of(report);
        const auto found = std::find_if(all.begin(), all.end(), [&](const auto& line) { return line.what == what; });
        REQUIRE(found != all.end());
        return *found;
    };
    CHECK(line_of("weights").predicted == (mib(401) * 32).in(bytes));
    CHECK(line_of("weights").measured == (mib(402) * 32).in(bytes));
    CHECK(line_of("kv_cache").measured == line_of("kv_cache").predicted);
    CHECK(line_of("workspace").measured.is_null());
    CHECK(line_of("workspace").stood_in == mib(40));
    CHECK(line_of("runtime").measured.is_null());
    CHECK(line_of("runtime").stood_in == mib(80));
    CHECK(line_of("total").measured == (mib(502) * 32 + mib(440)).in(bytes));
    CHECK(line_of("total").stood_in == mib(120));
    const auto document = to_json(report);
    for (const auto& line : document["agreement"]["lines"])
        if (line["what"] == "weights")
            CHECK(line["error_percent"].get<double>() == doctest::Approx(-0.2488).epsilon(0.001));

    report.runs[0].outcome = run_outcome::no_room;
    CHECK(line_of("weights").measured.is_null());
    CHECK(line_of("total").measured.is_null());

    // Where nobody can tell what the context takes, neither can the total.
    report.runs[0].outcome = run_outcome::held;
    report.around = {reading<byte_count>::unavailable("NVML: no permission"), {}};
    CHECK(line_of("total").measured.is_null());
    plan.process_context = interval<byte_count>{mib(200), mib(250), mib(300)};
    CHECK(taken_before(plan, report.around) == mib(250));
}

TEST_CASE("what an allocator fills its granules with is no difference, and anything beyond is one") {
    // Llama 3.2 1B as the H100 held it, each tensor in granules of 2 MiB of its own
    // (tests/validation/data/h100/agreement.csv, alloc-virtual_memory).
    tested_plan plan;
    const auto add = [&](byte_count size, std::int64_t count) {
        plan.buffers.push_back({"tensor", memory_term::weights, size, count});
        plan.memory[memory_term::weights].expected += size * count;
    };
    add(bytes(128'256 * 2048 * 2), 1);  // embedding and head are one
    add(bytes(2048 * 2048 * 2), 32);    // q, o
    add(bytes(2048 * 512 * 2), 32);     // k, v
    add(bytes(2048 * 8192 * 2), 48);    // gate, up, down
    add(bytes(2048 * 2), 33);           // norms
    plan.usable = plan.available = gib(24);
    const auto weights_on = [&](allocator_kind allocator, byte_count more) {
        bench b;
        alloc_report report;
        report.plan = plan;
        report.plan.memory[memory_term::weights].expected -= more;
        report.runs = {b.run(plan, {.allocator = allocator})};
        const auto all = agreement_of(report);
        return *std::find_if(all.begin(), all.end(), [](const auto& line) { return line.what == "weights"; });
    };
    const agreement_line held = weights_on(allocator_kind::virtual_memory, {});
    CHECK(held.predicted == 2'471'628'800);
    CHECK(held.measured == 2'541'748'224);
    CHECK(held.agrees);
    CHECK(held.why == "70119424 bytes of it fill the allocator's granules");
    const agreement_line short_of = weights_on(allocator_kind::virtual_memory, mib(30));
    CHECK_FALSE(short_of.agrees);
    CHECK(short_of.why == "its buffers take more than the plan says");
    CHECK_FALSE(weights_on(allocator_kind::cuda_malloc, {}).agrees);
}

TEST_CASE("the caching allocator shares segments as PyTorch does") {
    llmres::detail::caching_allocator caching;
    const auto segment_for = [&](byte_count request) {
        const std::int64_t before = caching.reserved;
        caching.take(request.in(bytes));
        return bytes(caching.reserved - before);
    };
    CHECK(segment_for(bytes(1)) == mib(2));  // small ones share 2 MiB
    CHECK(segment_for(kib(512)) == byte_count{});
    CHECK(segment_for(mib(1)) == byte_count{});
    CHECK(segment_for(mib(1)) == mib(2));
    CHECK(segment_for(mib(4)) == mib(20));  // middle ones share 20 MiB
    CHECK(segment_for(mib(9)) == byte_count{});
    CHECK(segment_for(mib(7)) == byte_count{});  // 7 of the 7 left
    CHECK(segment_for(mib(2)) == mib(20));
    CHECK(segment_for(mib(11)) == byte_count{});  // 18 were left
    CHECK(segment_for(mib(11)) == mib(12));       // large ones round to 2 MiB; 1 MiB of it is not kept
    CHECK(segment_for(mib(100)) == mib(100));

    bench b;
    tested_plan plan;
    plan.buffers.push_back({"norms", memory_term::weights, kib(16), 100});
    plan.usable = gib(24);
    CHECK(b.run(plan, {.caching = true}).granted == mib(2));
    CHECK(b.run(plan).granted == mib(200));
}
