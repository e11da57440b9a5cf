// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/gpus/google.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>

using namespace llmres;

TEST_CASE("nodes hold eight GPUs, joined by the card's own link inside and by InfiniBand between them") {
    const cluster sixteen = standard_cluster(gpus::h100_sxm5_80gb, 16).value();
    CHECK(sixteen.gpus == 16);
    CHECK(sixteen.node_size() == 8);
    CHECK(sixteen.scale_up.id == links::nvlink4_h100_sxm5.id);
    CHECK(sixteen.scale_out.id == links::ib_ndr_400.id);
    CHECK(sixteen.host.link.id == links::pcie_gen5_x16.id);
}

TEST_CASE("a cluster of fewer GPUs than a node holds is one node") {
    CHECK(standard_cluster(gpus::h100_sxm5_80gb, 4).value().node_size() == 4);
}

TEST_CASE("a fabric that joins more than eight GPUs makes nodes of that size") {
    const cluster rack = standard_cluster(gpus::gb200_186gb, 144).value();
    CHECK(rack.node_size() == *gpus::gb200_186gb.links.scale_up_domain);
    CHECK(rack.node_size() == 72);
}

TEST_CASE("one GPU needs no link, several need one") {
    gpu card = gpus::tpu_v5e;
    card.links = {};
    CHECK(standard_cluster(card, 1).has_value());
    const result<cluster> two = standard_cluster(card, 2);
    REQUIRE_FALSE(two);
    CHECK(two.error().code == error_code::missing);
}

TEST_CASE("a number of GPUs out of its bounds is refused by name") {
    const result<cluster> none = standard_cluster(gpus::h100_sxm5_80gb, 0);
    REQUIRE_FALSE(none);
    CHECK(none.error().field == "cluster.gpus");
}

TEST_CASE("a cluster is there at compile time") {
    static_assert(standard_cluster(gpus::rtx_4090, 2).value().gpus_per_node == 2);
}
