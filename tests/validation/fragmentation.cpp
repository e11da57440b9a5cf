// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

#include "replay.hpp"

// Training steps of published runs, replayed tensor by tensor; `table_fragmentation` prints the table that
// docs/accuracy.md shows.

namespace {

struct deviation {
    int rows = 0;
    double ratio = 0, allocated = 0;
};

std::map<std::string, deviation> deviations() {
    std::map<std::string, deviation> all;
    training_runs::for_each_run([&](const training_runs::run& r) {
        if (r.out_of_memory || r.defective || r.allocated <= 0) return;
        const auto m = training_runs::predicted(r);
        if (!m || (r.reserved <= 0 && r.series.rfind("fms_", 0) != 0)) return;
        const llmres::byte_count beside = m->total().expected - m->reserved.expected;
        const training_runs::replayed said = r.reserved > 0 ? training_runs::replay(r, m->stage, beside)
                                                            : training_runs::replay_mean(r, m->stage, beside);
        // Of fms nvidia-smi's figure is known alone: what the plan counts beside the allocator is taken off it.
        const double reserved = r.reserved > 0 ? r.reserved : r.smi - beside.in(llmres::gib);
        deviation& d = all[r.series];
        ++d.rows;
        d.ratio += std::fabs(said.ratio() / (reserved / r.allocated) - 1);
        d.allocated += std::fabs(said.allocated / m->allocated.expected.in(llmres::gib)-1);
    });
    return all;
}

}  // namespace

TEST_CASE(
    "replayed steps of 149 published runs take what their plans count, and Megatron's reserve what was measured") {
    const auto all = deviations();
    REQUIRE(all.count("megatron_b200") == 1);
    CHECK(all.at("megatron_b200").rows == 24);
    CHECK(all.at("megatron_b200").ratio / 24 <= 0.024);
    CHECK(all.at("fms_a100_80gb").ratio / 44 <= 0.102);
    CHECK(all.at("fms_a100_80gb_granite").ratio / 14 <= 0.033);
    CHECK(all.at("fms_a100_80gb_liger").ratio / 67 <= 0.029);
    int rows = 0;
    for (const auto& [name, d] : all) {
        CAPTURE(name);
        CHECK(d.allocated / d.rows <= 0.014);
        rows += d.rows;
    }
    CHECK(rows == 149);
    CHECK(all.at("megatron_b200").allocated / 24 <= 0.0005);
}
