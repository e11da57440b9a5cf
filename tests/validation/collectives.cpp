// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <llmres/hardware/collectives.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <string>

#include "../csv.hpp"

// Exchanges timed alone, inside a node, against time_of().

using namespace llmres;

namespace {

collective_kind kind_of(const std::string& name) {
    if (name == "all_gather") return collective_kind::all_gather;
    if (name == "reduce_scatter") return collective_kind::reduce_scatter;
    return name == "alltoall" ? collective_kind::all_to_all : collective_kind::all_reduce;
}

/// How far time_of() is from a row, relative to what was measured.
double error_of(csv::row row) {
    const std::int32_t ranks = std::stoi(row["ranks"]);
    const cluster c = standard_cluster(find_gpu(row["gpu"]).value(), ranks).value();
    const bool own = row["collective"].find("own") != std::string::npos;
    const rank_group group{.ranks = ranks, .in_node = ranks, .own_kernels = own};
    const duration planned =
        time_of(kind_of(row["collective"]), bytes(std::stoll(row["bytes"])), group, c.scale_up, c.scale_out);
    return std::fabs(planned.in(microseconds) / std::stod(row["microseconds"]) - 1.0);
}

}  // namespace

TEST_CASE("collectives timed alone are met within 15 % from 1 MiB, within 30 % below") {
    const std::string shared{LLMRES_SHARED_DATA};
    if (shared.empty()) return;
    double of_long = 0, of_short = 0;
    int longs = 0, shorts = 0;
    for (const csv::row& row : csv::read(shared + "/time/collectives.csv")) {
        csv::row read = row;
        const bool is_long = std::stoll(read["bytes"]) >= (1 << 20);
        (is_long ? of_long : of_short) += error_of(row);
        ++(is_long ? longs : shorts);
    }
    CHECK(longs == 772);
    CHECK(shorts == 706);
    CHECK(of_long / longs < 0.15);
    CHECK(of_short / shorts < 0.30);
}

TEST_CASE("the bus bandwidth of the largest exchanges is what was measured, within 15 %") {
    const std::string shared{LLMRES_SHARED_DATA};
    if (shared.empty()) return;
    double sum = 0;
    int seen = 0;
    for (const csv::row& row : csv::read(shared + "/gpus/measured.csv")) {
        csv::row read = row;
        const std::string metric = read["metric"], at = read["conditions"];
        if (metric.find("_busbw") == std::string::npos || at.find("512 MiB payload, one node") == std::string::npos ||
            at.find("bad topology") != std::string::npos)
            continue;
        const auto card = find_gpu(read["subject_id"]);
        if (!card) continue;
        const std::int32_t ranks = std::stoi(at);
        const auto c = standard_cluster(*card, ranks);
        if (!c) continue;
        const collective_kind kind = kind_of(metric.substr(5, metric.find("_busbw") - 5));
        const byte_count message = mib(512);
        const duration planned = time_of(kind, message, {.ranks = ranks, .in_node = ranks}, c->scale_up, c->scale_out);
        const double bus = sent_bytes(kind, message, ranks).in(bytes) / planned.in(seconds) / 1e9;
        INFO(read["subject_id"] << " " << metric << " " << at << " " << bus << " " << read["value"]);
        sum += std::fabs(bus / std::stod(read["value"]) - 1.0);
        ++seen;
    }
    CHECK(seen > 10);
    CHECK(sum / seen < 0.15);
}
