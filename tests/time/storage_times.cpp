// SPDX-License-Identifier: MIT
#include <llmres/time/storage_times.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>

using namespace llmres;

namespace {

constexpr std::int64_t of_70b = 70'553'706'496;

job full(const runtime& r) { return {.model = models::llama_3_1_70b, .task = task::finetuning, .runtime = r}; }
cluster h100(std::int32_t gpus) { return standard_cluster(gpus::h100_sxm5_80gb, gpus).value(); }
constexpr layout sixteen{.data = 16, .zero = 3};

storage_answer answer(const storage_request& r, const job& j, const layout& l) {
    const cluster c = h100(static_cast<std::int32_t>(l.gpus()));
    return storage_answer_of(r, j, l, c, memory_of(j, l, c)).value();
}
double as_number(byte_count b) { return static_cast<double>(b.in(bytes)); }
double seconds_of(const duration& d) { return d.in(seconds); }

}  // namespace

TEST_CASE("a gathered checkpoint is written by one node") {
    // 16 bytes a parameter at 2 GB/s: 1,128,859,303,936 bytes are 564.4 s.
    const storage_answer a =
        answer({.storage = storage{.bandwidth = gb_per_s(2)}}, full(runtimes::huggingface), sixteen);
    CHECK(seconds_of(a.saving->written) == doctest::Approx(16 * of_70b / 2e9));
    CHECK(a.saving->stall == a.saving->written);
    CHECK_FALSE(a.loading);
}

TEST_CASE("shards are written by all nodes at once, as fast as the file system that they share lets them") {
    // 12 bytes a parameter over two nodes: 423.3 GB each, 211.7 s at 2 GB/s; all 846.6 GB at 3 GB/s are 282.2 s.
    const job j = full(runtimes::torchtitan);
    const auto written = [&](byte_rate total) {
        const storage s{.bandwidth = gb_per_s(2), .total_bandwidth = total};
        return seconds_of(answer({.storage = s}, j, sixteen).saving->written);
    };
    CHECK(written({}) == doctest::Approx(6 * of_70b / 2e9));
    CHECK(written(gb_per_s(3)) == doctest::Approx(12 * of_70b / 3e9));
    CHECK(written(gb_per_s(40)) == doctest::Approx(6 * of_70b / 2e9));
}

TEST_CASE("asynchronous, training waits until each rank's part is in main memory") {
    const job j = full(runtimes::torchtitan);
    const storage_answer a = answer({.checkpoint = checkpoint_request{.mode = checkpoint_mode::async},
                                     .storage = storage{.bandwidth = gb_per_s(2)}},
                                    j, sixteen);
    const double link = h100(16).host.link.bandwidth().base();
    CHECK(seconds_of(a.saving->stall) == doctest::Approx(12 * of_70b / 16.0 / link));
    CHECK(seconds_of(a.saving->stall) < 2);
    CHECK(seconds_of(a.saving->written) == doctest::Approx(6 * of_70b / 2e9));
}

TEST_CASE("without a storage there are bytes and no seconds, and unasked there is nothing") {
    const storage_answer bytes_alone =
        answer({.checkpoint = checkpoint_request{}}, full(runtimes::torchtitan), sixteen);
    CHECK(bytes_alone.checkpoint);
    CHECK_FALSE(bytes_alone.saving);
    CHECK_FALSE(answer({}, full(runtimes::torchtitan), sixteen).checkpoint);
}

TEST_CASE("an engine reads its files once a node, at the storage's bandwidth") {
    // 141.1 GB at 5 GB/s are 28.2 s; a quarter of them over a PCIe 5 link is there sooner.
    const job j{.model = models::llama_3_1_70b, .context = tokens(4096), .runtime = runtimes::vllm};
    const layout l{.tensor = 4};
    const load_time t = *answer({.storage = storage{.bandwidth = gb_per_s(5)}}, j, l).loading;
    CHECK(t.files == bytes(2 * of_70b));
    CHECK(t.node == t.files);
    CHECK(seconds_of(t.storage) == doctest::Approx(2 * of_70b / 5e9));
    CHECK(seconds_of(t.page_cache) == doctest::Approx(as_number(t.gpu) / h100(4).host.link.bandwidth().base()));
    CHECK(t.gpu >= bytes(2 * of_70b / 4));
    CHECK(t.page_cache < seconds(1));
}

TEST_CASE("nodes that share a replica read their own parts, and all nodes share the file system") {
    const job j{.model = models::llama_3_1_405b, .context = tokens(4096), .runtime = runtimes::vllm};
    const layout l{.tensor = 8, .pipeline = 2};
    const storage s{.bandwidth = gb_per_s(5), .total_bandwidth = gb_per_s(6)};
    const load_time t = *answer({.storage = s}, j, l).loading;
    CHECK(t.node == t.gpu * 8);
    CHECK(t.node < t.files);
    CHECK(seconds_of(t.storage) == doctest::Approx(2 * as_number(t.node) / 6e9));
}

TEST_CASE("a fast storage is no faster than the link to the GPU") {
    const job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    const load_time t = *answer({.storage = storage{.bandwidth = gb_per_s(1000)}}, j, {}).loading;
    CHECK(t.storage == t.page_cache);
}

TEST_CASE("a GGUF file is read as it is stored") {
    job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", "q4_k_m").value();
    const load_time t = *answer({.storage = storage{.bandwidth = gb_per_s(1)}}, j, {}).loading;
    CHECK(t.files == gguf_tensor_bytes(j.model, *j.gguf));
    CHECK(seconds_of(t.storage) == doctest::Approx(as_number(t.files) / 1e9));
}

TEST_CASE("a format that is named is that of the files") {
    job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    j.weights = fp8_e4m3;
    const load_time t = *answer({.storage = storage{.bandwidth = gb_per_s(1)}}, j, {}).loading;
    CHECK(t.files < gb(10));
    CHECK(t.files > gb(8));
}

TEST_CASE("bad storage and checkpoints of serving are refused") {
    const cluster c = h100(1);
    const job serving{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    const auto field_of = [&](const storage_request& r) {
        return storage_answer_of(r, serving, {}, c, memory_of(serving, {}, c)).error().field;
    };
    CHECK(field_of({.checkpoint = checkpoint_request{}}) == "checkpoint");
    CHECK(field_of({.storage = storage{}}) == "storage.bandwidth");
    const job training = full(runtimes::litgpt);
    CHECK(storage_answer_of({.checkpoint = checkpoint_request{.mode = checkpoint_mode::async}}, training, sixteen,
                            h100(16), {})
              .error()
              .field == "checkpoint.mode");
}
