// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <llmres/hardware/collectives.hpp>
#include <llmres/hardware/interconnects/all.hpp>

using namespace llmres;

namespace {

constexpr llmres::link wire{
    .topology = link_topology::network, .raw = gb_per_s(100), .achievable = 0.5, .latency = microseconds(2)};
constexpr collective_kind kinds[]{collective_kind::all_reduce, collective_kind::all_gather,
                                  collective_kind::reduce_scatter, collective_kind::all_to_all, collective_kind::send};

}  // namespace

TEST_CASE("a ring all-reduce sends 2 (n-1)/n of the message at the bandwidth that large transfers reach") {
    const double sent = 2 * 7.0 / 8 * 1000 / 50, latency = 8.6e-6 + 14 * (0.81e-6 + 2e-6);
    CHECK(time_of(collective_kind::all_reduce, gb(1000), 8, wire).in(seconds) ==
          doctest::Approx(sent + latency + 1.2 * std::sqrt(sent * latency)).epsilon(1e-9));
}

TEST_CASE("a short exchange takes its latency: a call and a hop for each message that a rank passes on") {
    const auto short_one = [](collective_kind kind, std::int64_t ranks) {
        return time_of(kind, bytes(1), {.ranks = ranks, .in_node = ranks}, links::nvlink4_h100_sxm5, {})
            .in(microseconds);
    };
    CHECK(short_one(collective_kind::all_reduce, 8) == doctest::Approx(8.6 + 14 * 0.81).epsilon(0.01));
    CHECK(short_one(collective_kind::all_gather, 8) == doctest::Approx(8.6 + 7 * 0.81).epsilon(0.01));
    CHECK(short_one(collective_kind::all_to_all, 8) == doctest::Approx(8.6 + 0.81).epsilon(0.01));
}

TEST_CASE("a runtime's own all-reduce has one latency, whatever the ranks, and NCCL's is used between nodes") {
    const auto t = [](std::int64_t ranks, std::int64_t in_node, bool own) {
        return time_of(collective_kind::all_reduce, kib(16), {ranks, in_node, own}, links::nvlink4_h100_sxm5,
                       links::ib_ndr_400);
    };
    CHECK(t(8, 8, true) < t(8, 8, false));
    CHECK(t(8, 8, true).in(microseconds)-t(2, 2, true).in(microseconds) < 1);
    CHECK(t(16, 8, true) == t(16, 8, false));
}

TEST_CASE("an all-reduce takes no longer than a reduce-scatter and an all-gather, which have two calls") {
    for (const std::int64_t ranks : {2, 3, 8, 72}) {
        const double once = time_of(collective_kind::all_reduce, mb(300), ranks, wire).in(seconds);
        const double twice = (time_of(collective_kind::reduce_scatter, mb(300), ranks, wire) +
                              time_of(collective_kind::all_gather, mb(300), ranks, wire))
                                 .in(seconds);
        CHECK(once <= twice);
        CHECK(once == doctest::Approx(twice).epsilon(0.03));
    }
}

TEST_CASE("a ring over nodes uses the adapters of all its members in a node, at the fabric's rate at most") {
    const auto rate = [](std::int64_t in_node) {
        const byte_count message = gb(1000);
        const duration t = time_of(collective_kind::all_reduce, message, {.ranks = 16, .in_node = in_node},
                                   links::nvlink3_a100_sxm4, links::ib_edr_100);
        return (sent_bytes(collective_kind::all_reduce, message, 16) / t).in(gb_per_s);
    };
    const double adapter = links::ib_edr_100.bandwidth().in(gb_per_s);
    CHECK(rate(1) == doctest::Approx(adapter).epsilon(0.01));
    CHECK(rate(4) == doctest::Approx(4 * adapter).epsilon(0.01));
    CHECK(rate(8) == doctest::Approx(8 * adapter).epsilon(0.02));
    llmres::link wide = links::ib_edr_100;
    wide.raw = gb_per_s(1000);
    const duration bounded =
        time_of(collective_kind::all_gather, gb(1000), {.ranks = 16, .in_node = 8}, links::nvlink3_a100_sxm4, wide);
    CHECK((sent_bytes(collective_kind::all_gather, gb(1000), 16) / bounded).in(gb_per_s) ==
          doctest::Approx(0.75 * 300).epsilon(0.01));
}

TEST_CASE("an all-to-all over nodes has one adapter a GPU") {
    const duration t = time_of(collective_kind::all_to_all, gb(1000), {.ranks = 16, .in_node = 8},
                               links::nvlink4_h100_sxm5, links::ib_ndr_400);
    CHECK((sent_bytes(collective_kind::all_to_all, gb(1000), 16) / t).in(gb_per_s) ==
          doctest::Approx(links::ib_ndr_400.bandwidth().in(gb_per_s)).epsilon(0.01));
}

TEST_CASE("eight GPUs behind an NVSwitch reach the measured rate of its all-reduce, fewer a part of the line rate") {
    const auto rate = [](std::int64_t ranks) {
        const duration t = time_of(collective_kind::all_reduce, gb(1000), {.ranks = ranks, .in_node = ranks},
                                   links::nvlink4_h100_sxm5, {});
        return (sent_bytes(collective_kind::all_reduce, gb(1000), ranks) / t).in(gb_per_s);
    };
    CHECK(rate(8) == doctest::Approx(463.5).epsilon(0.01));
    CHECK(rate(4) == doctest::Approx(0.75 * 450).epsilon(0.01));
}

TEST_CASE("GPUs that share the host's bus get less than half of the line rate") {
    const duration t =
        time_of(collective_kind::all_gather, gb(1000), {.ranks = 4, .in_node = 4}, links::pcie_gen5_x16, {});
    CHECK((sent_bytes(collective_kind::all_gather, gb(1000), 4) / t).in(gb_per_s) ==
          doctest::Approx(0.42 * links::pcie_gen5_x16.raw.in(gb_per_s)).epsilon(0.01));
}

TEST_CASE("two GPUs that share the host's bus with nobody else reach the part of other links") {
    llmres::link bus;
    bus.raw = gb_per_s(32);
    const duration two = time_of(collective_kind::all_gather, gb(10), {.ranks = 2, .in_node = 2}, bus, {});
    const duration four = time_of(collective_kind::all_gather, gb(10), {.ranks = 4, .in_node = 4}, bus, {});
    CHECK(two.in(seconds) == doctest::Approx(10 * 0.5 / (32 * 0.75)).epsilon(0.02));
    CHECK(four.in(seconds) == doctest::Approx(10 * 0.75 / (32 * 0.42)).epsilon(0.02));
}

TEST_CASE("in a mesh few ranks have the links between them alone") {
    // MI300X: 448 GB/s over seven links, 313 measured of all eight GPUs and 47.7 of two. V100: six links to four
    // neighbours, 131 of eight and 22.5 of two.
    const auto bus_rate = [](const llmres::link& mesh, std::int64_t ranks) {
        const duration t = time_of(collective_kind::all_reduce, gb(100), {.ranks = ranks, .in_node = ranks}, mesh, {});
        return sent_bytes(collective_kind::all_reduce, gb(100), ranks).in(bytes) / t.in(seconds) / 1e9;
    };
    CHECK(bus_rate(links::xgmi_mi300x, 2) == doctest::Approx(47.7).epsilon(0.05));
    CHECK(bus_rate(links::xgmi_mi300x, 8) == doctest::Approx(313).epsilon(0.1));
    CHECK(bus_rate(links::nvlink2_v100_sxm2, 2) == doctest::Approx(22.5).epsilon(0.26));
    CHECK(bus_rate(links::nvlink2_v100_sxm2, 4) == doctest::Approx(85).epsilon(0.05));
    CHECK(bus_rate(links::nvlink2_v100_sxm2, 8) == doctest::Approx(131).epsilon(0.05));
    CHECK(share_of_mesh(links::nvlink4_h100_sxm5, 2) == 1.0);
}

TEST_CASE("no exchange gets slower with a faster link") {
    for (const collective_kind kind : kinds)
        for (const std::int64_t in_node : {1, 4, 16}) {
            duration before = seconds(1e9);
            for (double faster = 1; faster < 100; faster *= 1.3) {
                llmres::link inside = links::nvlink3_a100_sxm4, between = links::ib_hdr_200;
                inside.raw = inside.raw * faster;
                between.raw = between.raw * faster;
                const duration t = time_of(kind, mb(64), {.ranks = 16, .in_node = in_node}, inside, between);
                CHECK(t <= before);
                before = t;
            }
        }
}

TEST_CASE("a link of no bandwidth takes no time: validate() refuses clusters with such links") {
    for (const collective_kind kind : kinds) CHECK(time_of(kind, gb(1), 8, llmres::link{}) == duration{});
}

TEST_CASE("one rank alone exchanges nothing") {
    for (const collective_kind kind : kinds)
        if (kind != collective_kind::send) CHECK(time_of(kind, gb(1), 1, wire) == duration{});
}

TEST_CASE("no exchange gets quicker with a longer message") {
    for (const collective_kind kind : kinds) {
        duration before;
        for (std::int64_t size = 1; size < (std::int64_t{1} << 40); size *= 16) {
            const duration t = time_of(kind, bytes(size), 8, wire);
            CHECK(t >= before);
            before = t;
        }
    }
}

TEST_CASE("one rank of a node exchanges nothing, but sends to another; the link inside changes nothing of that") {
    const auto alone = [](collective_kind kind) {
        return time_of(kind, gb(1), {.ranks = 1, .in_node = 1}, links::nvlink4_h100_sxm5, links::ib_ndr_400);
    };
    for (const collective_kind kind : kinds)
        if (kind != collective_kind::send) CHECK(alone(kind) == duration{});
    const double sent = 1.0 / (0.75 * 450), latency = 8.6e-6 + 0.81e-6;
    CHECK(alone(collective_kind::send).in(seconds) ==
          doctest::Approx(sent + latency + 1.2 * std::sqrt(sent * latency)));
}

TEST_CASE("an all-to-all inside a node sends 7/8 of a message at 0.69 of the line rate, in one hop") {
    const double sent = 7.0 / 8 * 100 / (0.69 * 450), latency = 8.6e-6 + 0.81e-6;
    CHECK(time_of(collective_kind::all_to_all, gb(100), {.ranks = 8, .in_node = 8}, links::nvlink4_h100_sxm5, {})
              .in(seconds) == doctest::Approx(sent + latency + 1.2 * std::sqrt(sent * latency)));
}

TEST_CASE("three GPUs share the host's bus as eight do, and two alone have it") {
    constexpr llmres::link bus{.topology = link_topology::bus, .raw = gb_per_s(32)};
    const auto rate = [&](std::int64_t ranks) {  // of a message that is long beside its latency
        const byte_count message = gb(1000000);
        const auto sent = sent_bytes(collective_kind::all_gather, message, ranks);
        return (sent / time_of(collective_kind::all_gather, message, ranks, bus)).in(gb_per_s);
    };
    CHECK(rate(2) == doctest::Approx(0.75 * 32).epsilon(0.01));
    CHECK(rate(3) == doctest::Approx(0.42 * 32).epsilon(0.01));
    CHECK(rate(8) == doctest::Approx(0.42 * 32).epsilon(0.01));
}

TEST_CASE("two ranks of a mesh use one of its links, and all of it where nobody says how many GPUs it joins") {
    constexpr llmres::link eight{.topology = link_topology::mesh, .members = 8}, pair{.topology = link_topology::mesh};
    CHECK(share_of_mesh(eight, 2) == doctest::Approx(1.0 / 7));
    CHECK(share_of_mesh(eight, 8) == 1.0);
    CHECK(share_of_mesh(eight, 1) == 1.0);  // it shares nothing with others
    CHECK(share_of_mesh(pair, 2) == 1.0);
}

TEST_CASE("a group of which nothing is said is one rank, which sends nothing") {
    for (const collective_kind kind : kinds)
        if (kind != collective_kind::send) CHECK(time_of(kind, gib(1), rank_group{}, wire, wire) == duration{});
}

TEST_CASE("a fabric of unknown latency is taken to have two microseconds") {
    llmres::link unknown = wire;
    unknown.latency = {};
    for (const collective_kind kind : kinds)
        CHECK(time_of(kind, kib(1), 8, unknown) == time_of(kind, kib(1), 8, wire));  // which has as much
}
