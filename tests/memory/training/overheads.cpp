// SPDX-License-Identifier: MIT
// What a runtime adds to a GPU's tensors, of sizes and errors that are set by hand.
#include <llmres/memory/training/overheads.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t largest_count = std::numeric_limits<std::int64_t>::max();
constexpr interval<byte_count> mib_of(std::int64_t low, std::int64_t expected, std::int64_t high) {
    return {mib(low), mib(expected), mib(high)};
}
/// A training job whose runtime adds nothing, and is right by half to twice.
job bare() {
    job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(1024)};
    j.runtime.process = {};
    j.runtime.allocator = {.fragmentation = {}, .expandable_fragmentation = {}};
    j.runtime.accuracy = {.activations = {0.5, 1.0, 2.0}, .undescribed = {0.5, 1.0, 3.0}};
    j.runtime.sharding.deepspeed.bucket_size_known = true;
    return j;
}
memory_breakdown terms(const tensor_memory& t, const job& j, sdpa_backend sdpa = sdpa_backend::flash,
                       const tensor_details& d = {}) {
    return terms_of(t, d, j, is_described(j.model), sdpa);
}

}  // namespace

TEST_CASE("all tensors of a moment are the sum of their terms; what is paged is no term") {
    const tensor_memory t{.weights = bytes(1),
                          .adapter = bytes(2),
                          .gradients = bytes(4),
                          .optimizer = bytes(8),
                          .activations = bytes(16),
                          .logits = bytes(32),
                          .communication = bytes(64),
                          .optimizer_scratch = bytes(128),
                          .paged = bytes(8)};
    CHECK(t.all() == bytes(255));
}

TEST_CASE("activations, logits, scratch and communication are estimates, weights and states are none") {
    job j = bare();
    const tensor_memory t{.weights = mib(1000),
                          .adapter = mib(10),
                          .gradients = mib(200),
                          .optimizer = mib(300),
                          .activations = mib(100),
                          .logits = mib(40),
                          .communication = mib(60),
                          .optimizer_scratch = mib(20),
                          .paged = mib(30)};
    const tensor_details d{.maybe_more = mib(5), .dummies = mib(8)};
    memory_breakdown m = terms(t, j, sdpa_backend::flash, d);
    CHECK(m[memory_term::weights] == mib_of(1000, 1000, 1000));
    CHECK(m[memory_term::adapter] == mib_of(10, 10, 10));
    CHECK(m[memory_term::gradients] == mib_of(200, 200, 200));
    CHECK(m[memory_term::optimizer] == mib_of(300, 300, 300));
    CHECK(m[memory_term::kv_cache] == mib_of(0, 0, 0));
    CHECK(m[memory_term::activations] == mib_of(50, 100, 200 + 5));
    CHECK(m[memory_term::logits] == mib_of(20, 40, 80));
    CHECK(m[memory_term::optimizer_scratch] == mib_of(10, 20, 40));
    CHECK(m[memory_term::communication] == mib_of(26, 52, 104));
    CHECK(m[memory_term::workspace] == mib_of(8, 8, 8));  // a library's unused gradients
    CHECK(m.evictable == mib(30));
    j.runtime.accuracy.logits = {0.75, 1.0, 1.25};
    CHECK(terms(t, j)[memory_term::logits] == mib_of(30, 40, 50));
    j.runtime.accuracy.logits = {0.25, 0.5, 0.75};
    CHECK(terms(t, j)[memory_term::logits] == mib_of(10, 20, 30));
    job served = j;
    served.task = task::serving;
    CHECK(terms(t, served, sdpa_backend::flash, d)[memory_term::activations] == mib_of(100, 100, 105));
}

TEST_CASE("bounds of activations are wider where an architecture is not described, and of stored tensors alone") {
    job j = bare();
    const auto activations = [&] { return terms({.activations = mib(100)}, j)[memory_term::activations]; };
    j.model.architecture = "none that is known";
    CHECK(activations() == mib_of(25, 100, 600));
    j.model.from_tensors = true;
    CHECK(activations().low == scaled_up(mib(100), 0.5 * undescribed_activations.low));
    CHECK(activations().high == scaled_up(mib(100), 2 * undescribed_activations.high));
}

TEST_CASE("buckets whose size nobody said may not be there, as far as they are communication") {
    job j = bare();
    const tensor_memory t{.communication = mib(60)};
    const tensor_details some{.buckets = mib(20)}, more{.buckets = mib(90)};
    CHECK(unsure_buckets(t, some, j.runtime) == byte_count{});
    j.runtime.sharding.deepspeed.bucket_size_known = false;
    CHECK(unsure_buckets(t, some, j.runtime) == mib(20));
    CHECK(unsure_buckets(t, more, j.runtime) == mib(60));
    CHECK(terms(t, j, sdpa_backend::flash, some)[memory_term::communication] == mib_of(20, 60, 120));
}

TEST_CASE("each of the two threads that multiply has a workspace, of 32 MiB from Hopper on; experts have their own") {
    job j = bare();
    j.runtime.process.workspace = mib_of(1, 2, 3);
    j.runtime.process.product_workspace = mib(8);
    CHECK(terms({}, j)[memory_term::workspace] == mib_of(9, 18, 19));
    CHECK(terms({}, j, sdpa_backend::cudnn)[memory_term::workspace] == mib_of(33, 66, 67));
    j.runtime.process.expert_workspace = mib_of(100, 100, 100);
    j.runtime.kernels.experts = expert_code::grouped;
    CHECK(terms({}, j)[memory_term::workspace] == mib_of(9, 18, 19));  // no experts
    j.model = models::mixtral_8x7b;
    CHECK(terms({}, j)[memory_term::workspace] == mib_of(109, 118, 119));
    j.runtime.kernels.experts = expert_code::loop;
    CHECK(terms({}, j)[memory_term::workspace] == mib_of(9, 18, 19));
}

TEST_CASE("errors that have nothing to do with each other add up as the sides of a right angle") {
    CHECK(independent_sum(mib_of(70, 100, 130), mib_of(60, 100, 140)) == mib_of(150, 200, 250));
    CHECK(independent_sum(mib_of(88, 100, 105), mib_of(95, 100, 112)) == mib_of(187, 200, 213));
    CHECK(independent_sum(mib_of(70, 100, 130), mib_of(5, 5, 5)) == mib_of(75, 105, 135));
    CHECK(independent_sum(mib_of(5, 5, 5), mib_of(70, 100, 130)) == mib_of(75, 105, 135));
}

TEST_CASE("gaps are a part of what is allocated, what is known to be left, and a part of the activations") {
    runtime r;
    r.allocator = {};
    r.allocator.fragmentation = {0.25, 0.5, 0.75};
    r.allocator.expandable_fragmentation = {0.0, 0.25, 0.25};
    const auto gaps = [&] { return gaps_between(mib_of(100, 200, 400), mib(64), r, {.fragmented = mib_of(1, 2, 3)}); };
    CHECK(gaps() == mib_of(26, 102, 303));
    r.allocator.activation_fragmentation = {0.25, 0.5, 0.75};
    CHECK(gaps() == mib_of(26 + 16, 102 + 32, 303 + 48));
    r.allocator.expandable_segments = true;
    CHECK(gaps() == mib_of(1, 52, 103));
}

TEST_CASE("an estimate without buckets is that much less, and not more certain") {
    CHECK(without_buckets(mib_of(50, 100, 120), mib(30)) == mib_of(50, 70, 90));
    CHECK(without_buckets(mib_of(50, 100, 120), mib(60)) == mib_of(40, 40, 60));
    CHECK(without_buckets(mib_of(50, 100, 120), mib(110)) == mib_of(0, 0, 10));
}

TEST_CASE("what is reserved is allocated or a gap, or a free segment, which the allocator would release") {
    job j = bare();
    j.runtime.allocator.fragmentation = {0.25, 0.25, 0.25};
    const auto reserved = [&](const tensor_memory& t, const idle_blocks& idle) {
        memory_breakdown m;
        m.allocated = mib_of(80, 400, 800);
        reserve(m, t, {.buckets = t.communication}, j.runtime, idle);
        return m;
    };
    memory_breakdown m = reserved({}, {.releasable = mib_of(10, 10, 10)});
    CHECK(m.reserved == mib_of(110, 510, 1010));
    CHECK(m[memory_term::fragmentation] == mib_of(30, 110, 210));
    CHECK(m.releasable == mib_of(10, 10, 10));
    j.runtime.sharding.deepspeed.bucket_size_known = false;
    // The lower bound has neither 360 MiB of buckets nor free segments that may be theirs: 40 MiB, and their gaps.
    const tensor_memory t{.communication = mib(360)};
    m = reserved(t, {.releasable = mib_of(10, 10, 10)});
    CHECK(m.reserved.low == mib(50));
    CHECK(m.reserved.expected == mib(510));
    CHECK(reserved({}, {.releasable = mib_of(10, 10, 10), .buckets = mib(4)}).reserved.low == mib(106));
    CHECK(reserved({}, {.releasable = mib_of(10, 10, 10)}).reserved.low == mib(110));
}

TEST_CASE("a rank has a communicator for each way that it is parallel in, all but the first without NCCL's kernels") {
    runtime r;
    r.process.communicator = mib_of(400, 600, 1500);
    r.process.pipeline_groups = 2;
    const auto groups = [&](const layout& l) { return communicators_of(r, l); };
    const auto of = [](std::int64_t n) { return mib_of(400 * n, 600 * n, 1500 + (1500 - 740) * (n - 1)); };
    CHECK(groups({}) == interval<byte_count>{});
    CHECK(groups({.tensor = 2}) == of(1));
    CHECK(groups({.data = 2}) == of(1));
    CHECK(groups({.context_parallel = 2}) == of(1));
    CHECK(groups({.pipeline = 2}) == of(3));  // and two beside its own
    CHECK(groups({.tensor = 2, .data = 2}) == of(2));
    CHECK(groups({.data = 2, .expert = 2}) == of(2));
    CHECK(groups({.tensor = 2, .pipeline = 2, .data = 2, .expert = 2}) == of(6));
    r.process.communicator = mib_of(400, 800, 1500);  // the kernels are no more than its error
    CHECK(groups({.tensor = 2, .data = 2}) == mib_of(800, 1600, 3000));
}

TEST_CASE("managed memory is not the allocator's, and an expandable segment shrinks to what is in use") {
    job j = bare();
    j.runtime.process.context = mib_of(1, 2, 3);
    j.runtime.process.cuda_graphs = mib_of(10, 20, 30);
    j.runtime.process.communicator = mib_of(100, 100, 100);
    const tensor_memory t{.weights = mib(50), .optimizer = mib(40), .paged = mib(30)};
    const auto with = [&] {
        return with_runtime(t, {}, j, {.data = 2}, is_described(j.model), {.releasable = mib_of(5, 5, 5)});
    };
    CHECK(with().allocated == mib_of(60, 60, 60));
    CHECK(with().reserved == mib_of(65, 65, 65));
    CHECK(with()[memory_term::runtime] == mib_of(11, 22, 33));
    CHECK(with()[memory_term::communication] == mib_of(100, 100, 100));
    CHECK(with().total() == mib_of(90 + 5 + 11 + 100, 90 + 5 + 22 + 100, 90 + 5 + 33 + 100));
    j.runtime.allocator.expandable_segments = true;
    CHECK(with().reserved == mib_of(60, 60, 60));
}

TEST_CASE("what ranks exchange and what a step updates are told beside the terms, and are none") {
    const job j = bare();
    const tensor_memory t{.weights = mib(1)};
    const tensor_details d{.reduced = bytes(3), .gathered = bytes(5), .updated = bytes(7)};
    const memory_breakdown m = terms(t, j, sdpa_backend::flash, d);
    CHECK(m.reduced == bytes(3));
    CHECK(m.gathered == bytes(5));
    CHECK(m.updated == bytes(7));
    CHECK(m.total().expected == mib(1));
    job varied = j;
    CHECK_FALSE(with_runtime(t, d, varied, {}, true).caches_many_sizes);
    varied.varied_lengths = true;
    CHECK(with_runtime(t, d, varied, {}, true).caches_many_sizes);
}

TEST_CASE("a term of nothing stays nothing, whatever its error is, and a sum that is too large stays the largest") {
    job j = bare();
    j.runtime.accuracy.activations = {0.5, 1.5, 2.0};
    CHECK(terms({}, j)[memory_term::activations] == byte_count{});
    // Of two errors, one of nothing: the other's distance. Of 3 and 4: 5.
    const auto sum = [](const interval<byte_count>& a, const interval<byte_count>& b) { return independent_sum(a, b); };
    CHECK(sum({bytes(10), bytes(13), bytes(16)}, {bytes(20), bytes(20), bytes(20)}) ==
          interval<byte_count>{bytes(30), bytes(33), bytes(36)});
    CHECK(sum({bytes(10), bytes(13), bytes(16)}, {bytes(20), bytes(24), bytes(28)}) ==
          interval<byte_count>{bytes(32), bytes(37), bytes(42)});
    const byte_count most = bytes(largest_count);
    CHECK(sum({byte_count{}, byte_count{}, most}, {byte_count{}, byte_count{}, bytes(5)}).high == most);
    CHECK(sum({byte_count{}, byte_count{}, bytes(5)}, {byte_count{}, byte_count{}, most}).high == most);
}
