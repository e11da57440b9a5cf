// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/memory/sharing_rank.hpp>
#include <llmres/memory/tensor_events.hpp>
#include <llmres/runtimes/all.hpp>
#include <map>
#include <vector>

#include "../training_jobs.hpp"

using namespace training_jobs;

namespace {

constexpr layout two_ranks{.data = 2, .zero = 3};

/// LoRA of Llama 3.1 8B under FSDP1.
job adapted(precision weights) {
    job j = full();
    j.runtime = runtimes::huggingface;
    j.weights = weights;
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    return j;
}

std::vector<tensor_event> before_first_step(const job& j, sharing_rank rank) {
    std::vector<tensor_event> all;
    for_each_tensor_event(
        j, two_ranks, gpus::h100_sxm5_80gb, 0, 0, [&](const tensor_event& e) { all.push_back(e); }, rank);
    return all;
}

/// So many tensors of a size were alive at once.
int most_alive(const std::vector<tensor_event>& events, byte_count size) {
    std::map<std::int64_t, int> alive;
    int now = 0, most = 0;
    for (const tensor_event& e : events) {
        if (e.size == byte_count{}) now -= alive[e.group], alive[e.group] = 0;
        if (e.size == size) ++alive[e.group], most = std::max(most, ++now);
    }
    return most;
}

// Of a layer, with fp32 adapters of rank 8 beside each matrix.
constexpr std::int64_t matrices = std::int64_t{4096} * (2 * 4096 + 2 * 1024 + 3 * 14336);
constexpr byte_count adapters = bytes(4 * 8 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336)));
constexpr byte_count norm = bytes(2 * 4096);

}  // namespace

TEST_CASE("a rank that makes quantised weights empty holds the buckets of all units until the last one is wrapped") {
    // A layer is one bucket, and one flat tensor.
    const byte_count layer = bytes(matrices / 2) + adapters + norm * 2;
    CHECK(most_alive(before_first_step(adapted(nf4), sharing_rank::first), layer) == 1);
    const auto other = before_first_step(adapted(nf4), sharing_rank::other);
    CHECK(most_alive(other, layer) == 32 + 1);
    byte_count alive, kept;
    std::map<std::int64_t, byte_count> groups;
    for (const tensor_event& e : other) {
        alive += e.size > byte_count{} ? e.size : byte_count{} - groups[e.group];
        groups[e.group] = e.size > byte_count{} ? groups[e.group] + e.size : byte_count{};
    }
    for (const tensor_event& e : before_first_step(adapted(nf4), sharing_rank::first))
        if (e.group == 0) kept += e.size;
    CHECK(alive == kept);  // none is left
}

TEST_CASE("weights that are not quantised are copied from the host by all ranks, which wait for each other") {
    const auto first = before_first_step(adapted(bf16), sharing_rank::first);
    const auto other = before_first_step(adapted(bf16), sharing_rank::other);
    REQUIRE(first.size() == other.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        CHECK(first[i].group == other[i].group);
        CHECK(first[i].size == other[i].size);
    }
}

TEST_CASE("a bucket ends with the tensor that fills 250 MiB, and one tensor alone is sent as it is") {
    const auto events = before_first_step(adapted(bf16), sharing_rank::first);
    const byte_count down = bytes(2 * 14336 * 4096 + 4 * 8 * (4096 + 14336));
    const byte_count head = bytes(2 * 4096) * std::int64_t{128256};
    CHECK(most_alive(events, bytes(2 * matrices) + adapters - down) == 1);  // 306 MiB, and what is left
    CHECK(most_alive(events, down + norm * 2) == 1);
    CHECK(most_alive(events, head + norm) == 1);  // the embedding, which is as large, goes before it
    CHECK(most_alive(events, head) == 2);
}
