// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/gpus/google.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>

using namespace llmres;

TEST_CASE("a cluster says how much memory is free on each GPU") {
    cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const byte_count all = available_memory(c);
    CHECK(all == usable_memory(gpus::h100_sxm5_80gb));
    c.in_use = gib(3);
    CHECK(available_memory(c) == all - gib(3));
}

TEST_CASE("a standard cluster joins its GPUs as the cards allow") {
    CHECK(standard_cluster(gpus::h100_sxm5_80gb, 8)->scale_up.kind == link_kind::nvlink);
    CHECK(standard_cluster(gpus::rtx_4090, 2)->scale_up.kind == link_kind::pcie);
    CHECK(standard_cluster(gpus::h100_sxm5_80gb, 16)->node_size() == 8);
    CHECK(standard_cluster(gpus::gb200_186gb, 144)->node_size() == 72);
    CHECK(standard_cluster(gpus::h100_sxm5_80gb, 16)->scale_out.kind == link_kind::infiniband);
}

TEST_CASE("without a number of GPUs in a node, all are in one") {
    const cluster c{.gpu = gpus::h100_sxm5_80gb, .gpus = 4};
    CHECK(c.node_size() == 4);
}

TEST_CASE("a cluster that lacks something is refused by the name of the field") {
    CHECK(validate({.gpu = gpus::h100_sxm5_80gb, .gpus = 0}).error().field == "cluster.gpus");
    CHECK(validate({.gpu = gpus::h100_sxm5_80gb, .gpus = 2}).error().field == "cluster.scale_up");
    CHECK(validate({.gpu = gpus::h100_sxm5_80gb, .gpus = 2, .gpus_per_node = 1}).error().field == "cluster.scale_up");
    CHECK(validate({.gpu = gpus::h100_sxm5_80gb, .in_use = bytes(-1)}).error().field == "cluster.in_use");
    CHECK(validate(cluster{}).error().field == "cluster.gpu.memory");
    cluster nodes = standard_cluster(gpus::h100_sxm5_80gb, 16).value();
    nodes.scale_out.raw = {};
    CHECK(validate(nodes).error().field == "cluster.scale_out");
    nodes.gpus = 8;
    nodes.scale_up.raw = {};
    CHECK(validate(nodes).error().field == "cluster.scale_up");
    CHECK(standard_cluster(gpus::h100_sxm5_80gb, -1).error().field == "cluster.gpus");
}
