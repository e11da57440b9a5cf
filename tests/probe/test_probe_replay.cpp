// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/memory/events/caching_allocator.hpp>
#include <llmres/models/all.hpp>

#include "alloc.hpp"
#include "simulated_cuda.hpp"

using namespace llmres;
using namespace llmres::probe;
using llmres::detail::caching_allocator;

namespace {

plan_request small_job() {
    const auto read = read_job(std::string_view{
        R"({"model":{"from":"smollm2-135m","layers":3},"task":"finetuning","sequence":512,"micro_batch":4,
            "runtime":"pytorch","layout":{},"cluster":{"gpu":"rtx-4090","gpus":1}})"});
    REQUIRE(read);
    return *read;
}

replay_result played(simulated_cuda& cuda, const tensor_allocator& through, byte_count guard = {}) {
    const plan_request request = small_job();
    const layout l = request.layout.value_or({});
    const stop_signal stop;
    const replay_result r =
        replay(cuda, {.what = request.job, .over = l, .card = request.cluster.gpu}, through, guard, stop);
    if (r.outcome != run_outcome::failed) CHECK(cuda.held() == byte_count{});
    return r;
}

constexpr std::int64_t one_mib = std::int64_t{1} << 20;

}  // namespace

TEST_CASE("each allocator replays the same step, and gives everything back") {
    byte_count requested;
    for (const tensor_allocator& through : allocators) {
        simulated_cuda cuda;
        const replay_result r = played(cuda, through);
        CHECK(r.outcome == run_outcome::done);
        CHECK(r.events > 100);
        CHECK(r.peak_reserved == cuda.peak());
        CHECK(r.peak_requested <= r.peak_allocated);
        CHECK(r.peak_allocated <= r.peak_reserved);
        if (requested > byte_count{}) CHECK(r.peak_requested == requested);
        requested = r.peak_requested;
    }
}

TEST_CASE("PyTorch's allocator takes fewer calls than cudaMalloc, and less memory than blocks of 2 MiB each") {
    simulated_cuda each, cached;
    const replay_result a = played(each, allocators[0]), b = played(cached, allocators[3]);
    CHECK(cached.allocations() * 4 < each.allocations());
    CHECK(b.peak_reserved < a.peak_reserved);
}

TEST_CASE("where there is no room, the step ends there; the guard band is never touched") {
    for (const tensor_allocator& through : allocators) {
        simulation s;
        s.total = mib(1200);
        simulated_cuda cuda{s};
        const replay_result r = played(cuda, through, mib(300));
        CHECK(r.outcome == run_outcome::no_room);
        CHECK(r.why.find("no room for a tensor of") != std::string::npos);
        CHECK(cuda.peak() <= mib(900));
    }
}

TEST_CASE("any call to the device that fails ends the replay as a fault, and nothing stays held") {
    for (const tensor_allocator& through : allocators) {
        simulated_cuda whole;
        played(whole, through);
        for (std::int64_t n = 0; n < whole.allocations(); n = n < 40 ? n + 1 : n * 2) {
            simulation s;
            s.fail_at = n;
            simulated_cuda cuda{s};
            const replay_result r = played(cuda, through);
            CHECK(r.outcome == run_outcome::failed);
            CHECK(r.why == "simulated fault");
            CHECK(cuda.held() == byte_count{});
        }
    }
}

TEST_CASE("blocks: small and large pools, segments of 2 MiB and 20 MiB, rounding to 512 bytes") {
    caching_allocator a;
    caching_allocator::block* small = a.take(1);
    CHECK(small->size == 512);
    CHECK(a.reserved == 2 * one_mib);
    a.take(one_mib + 1);
    CHECK(a.reserved == 22 * one_mib);
    a.take(8 * one_mib);  // from the rest of the 20 MiB
    CHECK(a.reserved == 22 * one_mib);
    a.take(11 * one_mib);
    CHECK(a.reserved == 34 * one_mib);
}

TEST_CASE("the smallest free block that is large enough is taken, and neighbours are joined") {
    caching_allocator a;
    caching_allocator::block* large = a.take(40 * one_mib);
    caching_allocator::block* middle = a.take(24 * one_mib);
    a.give(large), a.give(middle);
    caching_allocator::block* again = a.take(23 * one_mib);
    CHECK(again->segment == 1);
    CHECK(again->size == 24 * one_mib);  // a rest of 1 MiB is not split off
    a.give(again);
    caching_allocator::block* first = a.take(10 * one_mib);
    caching_allocator::block* second = a.take(10 * one_mib);
    a.give(first), a.give(second);
    CHECK(a.take(24 * one_mib)->segment == 1);
    CHECK(a.reserved == 64 * one_mib);
}

TEST_CASE("a stream's freed blocks do not serve another stream") {
    caching_allocator a;
    a.give(a.take(40 * one_mib, 1));
    a.take(40 * one_mib, 0);
    CHECK(a.reserved == 80 * one_mib);
    a.take(40 * one_mib, 1);
    CHECK(a.reserved == 80 * one_mib);
}

TEST_CASE("expandable segments grow at their end, and serve longer tensors from joined blocks") {
    caching_allocator plain, growing{true};
    for (caching_allocator* a : {&plain, &growing})
        for (std::int64_t n = 20; n <= 100; n += 20) a->give(a->take(n * one_mib));
    CHECK(plain.reserved == 300 * one_mib);
    CHECK(growing.reserved == 100 * one_mib);
}

TEST_CASE("without room, segments that hold no tensor are given back first") {
    struct device final : caching_allocator::segment_source {
        std::int64_t left = 100 * one_mib;
        std::map<std::int64_t, std::int64_t> taken;
        int asked = 0;
        bool take(std::int64_t name, std::int64_t size) override {
            ++asked;
            if (size > left) return false;
            left -= size, taken[name] = size;
            return true;
        }
        void give(std::int64_t name) override { left += taken[name]; }
    } behind;
    caching_allocator a{false, &behind};
    a.give(a.take(60 * one_mib));
    CHECK(a.take(80 * one_mib) != nullptr);
    CHECK(a.reserved == 80 * one_mib);
    CHECK(behind.asked == 3);
    CHECK(a.take(40 * one_mib) == nullptr);
    CHECK(behind.asked == 4);  // there is nothing to give back, and so no second try
}
