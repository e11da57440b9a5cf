// SPDX-License-Identifier: MIT
#include <llmres/answers/queue.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/mig.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <random>
#include <span>
#include <string_view>
#include <vector>

using namespace llmres;

namespace {

const job chat{.model = models::llama_3_1_8b, .batch = 16, .context = tokens(8192), .runtime = runtimes::vllm};

cluster nodes_of(const gpu& card, std::int32_t each, std::int32_t nodes = 1) {
    cluster c = standard_cluster(card, each * nodes).value();
    c.gpus_per_node = each;
    return c;
}
cluster instance(const gpu& card, std::string_view profile) { return nodes_of(mig_slice(card, profile).value(), 1); }

}  // namespace

TEST_CASE("of the GPUs that hold a job it gets those with the least free memory, in the node with the fewest free") {
    const std::array kinds{nodes_of(gpus::h100_sxm5_80gb, 8, 2), nodes_of(gpus::l4_24gb, 4),
                           nodes_of(gpus::l40s_48gb, 4)};
    const std::array nodes{node_gpus{0, 8}, node_gpus{0, 3}, node_gpus{1, 1}, node_gpus{2, 4}, node_gpus{2, 2}};
    const job_place place = place_job(chat, kinds, nodes).value();
    CHECK(place.state == place_state::placed);
    CHECK(place.kind == 2);
    CHECK(place.node == 4);
    CHECK(place.gpus() == 1);
    CHECK(plan(chat, place.layout, kinds[2])->verdict == verdict::fits);
    CHECK(place.tokens_per_second == plan(chat, place.layout, kinds[2])->speed.tokens_per_second);
}

TEST_CASE("what others hold of a GPU is not there, and what little is left is taken first") {
    cluster used = nodes_of(gpus::h100_sxm5_80gb, 8);
    used.in_use = gib(30);
    const std::array kinds{nodes_of(gpus::l40s_48gb, 4), used};
    std::array nodes{node_gpus{0, 4}, node_gpus{1, 1}};
    job small = chat;
    small.runtime.cache.refuses_less = false;
    small.runtime.cache.fraction = {};
    CHECK(place_job(small, kinds, nodes)->kind == 0);
    used.in_use = gib(40);
    CHECK(place_job(small, std::array{nodes_of(gpus::l40s_48gb, 4), used}, nodes)->kind == 1);
    used.in_use = gib(70);
    CHECK(place_job(small, std::array{nodes_of(gpus::l40s_48gb, 4), used}, nodes)->kind == 0);
}

TEST_CASE("a job waits where others have the GPUs that would hold it, and does not fit where there are none") {
    const std::array kinds{nodes_of(gpus::h100_sxm5_80gb, 8), nodes_of(gpus::l4_24gb, 4)};
    std::array nodes{node_gpus{0, 1}, node_gpus{1, 4}};
    job large = chat;
    large.model = models::llama_3_1_70b;
    const job_place later = place_job(large, kinds, nodes).value();
    CHECK(later.state == place_state::waits);
    CHECK(later.kind == 0);
    CHECK(later.gpus() >= 3);
    take(later, nodes);
    CHECK(nodes[0].free == 1);
    large.model = models::llama_3_1_405b;
    CHECK(place_job(large, kinds, nodes)->state == place_state::does_not_fit);
}

TEST_CASE("the smallest MIG profile that holds a job, and no job has two instances") {
    std::vector<cluster> kinds;
    std::vector<node_gpus> nodes;
    for (const mig_profile& p : mig_profiles(gpus::a100_sxm4_80gb)) {
        nodes.push_back({static_cast<std::int32_t>(kinds.size()), p.instances});
        kinds.push_back(instance(gpus::a100_sxm4_80gb, p.name.view()));
    }
    job j = chat;
    j.batch = 4;
    const job_place place = place_job(j, kinds, nodes).value();
    CHECK(kinds[static_cast<std::size_t>(place.kind)].gpu.id == "a100-sxm4-80gb/3g.40gb");
    CHECK(place.gpus() == 1);
    j.model = models::llama_3_1_70b;
    CHECK(place_job(j, kinds, nodes)->state == place_state::does_not_fit);
}

TEST_CASE("more GPUs than a node has are whole nodes") {
    const std::array kinds{nodes_of(gpus::h100_sxm5_80gb, 8, 4)};
    std::array nodes{node_gpus{0, 7}, node_gpus{0, 8}, node_gpus{0, 8}, node_gpus{0, 8}};
    place_request sixteen;
    sixteen.search.space.layouts.least_gpus = sixteen.search.space.layouts.most_gpus = 16;
    const job_place place = place_job(chat, kinds, nodes, sixteen).value();
    CHECK(place.state == place_state::placed);
    CHECK(place.nodes == 2);
    CHECK(place.each == 8);
    take(place, nodes);
    CHECK(nodes[0].free == 7);
    CHECK(nodes[1].free == 0);
    CHECK(nodes[2].free == 0);
    CHECK(nodes[3].free == 8);
    CHECK(place_job(chat, kinds, nodes, sixteen)->state == place_state::waits);
    sixteen.search.limits.one_node = true;
    CHECK(place_job(chat, kinds, nodes, sixteen)->state == place_state::does_not_fit);
}

TEST_CASE("the best score takes the fastest GPUs that are free, and limits of time leave slow ones out") {
    const std::array kinds{nodes_of(gpus::l40s_48gb, 1), nodes_of(gpus::h100_sxm5_80gb, 1)};
    std::array nodes{node_gpus{0, 1}, node_gpus{1, 1}};
    CHECK(place_job(chat, kinds, nodes)->kind == 0);
    CHECK(place_job(chat, kinds, nodes, {.prefer = place_preference::best_score})->kind == 1);
    place_request quick;
    quick.search.limits.time_per_token = approx(seconds(1)) * 0.02;
    CHECK(place_job(chat, kinds, nodes, quick)->kind == 1);
    nodes[1].free = 0;
    CHECK(place_job(chat, kinds, nodes, quick)->state == place_state::waits);
}

TEST_CASE("a queue is placed in its order, each job where a plain loop over nodes, GPUs and layouts would place it") {
    const std::array kinds{nodes_of(gpus::h100_sxm5_80gb, 8), nodes_of(gpus::l4_24gb, 4),
                           nodes_of(gpus::a100_sxm4_40gb, 8), instance(gpus::h100_sxm5_80gb, "2g.20gb")};
    std::mt19937 random{3};
    std::vector<job> jobs;
    for (int i = 0; i < 60; ++i) {
        job j = chat;
        if (i % 3 == 0) j.model = models::llama_3_1_70b;
        if (i % 5 == 0)
            j = {.model = models::llama_3_2_1b,
                 .task = task::finetuning,
                 .sequence = tokens(2048),
                 .runtime = runtimes::huggingface};
        j.batch = 1 + static_cast<std::int64_t>(random() % 32);
        jobs.push_back(j);
    }
    std::vector<queued_job> queue;
    queue.reserve(jobs.size());
    for (const job& j : jobs) queue.push_back({.job = &j});
    std::vector<node_gpus> nodes;
    nodes.reserve(30);
    for (int i = 0; i < 30; ++i)
        nodes.push_back({static_cast<std::int32_t>(random() % 4), static_cast<std::int32_t>(random() % 5)});
    std::vector<node_gpus> left = nodes;
    std::vector<job_place> places(queue.size());
    const queue_counts counts = place_queue(queue, kinds, left, places).value();
    CHECK(counts.placed + counts.waiting + counts.does_not_fit == queue.size());
    CHECK(counts.placed > 20);
    CHECK(counts.waiting > 0);
    for (std::size_t i = 0; i < queue.size(); ++i) {
        byte_count least;
        for (const node_gpus& n : nodes) {
            const cluster& c = kinds[static_cast<std::size_t>(n.kind)];
            for (std::int32_t gpus = 1; gpus <= std::min(n.free, c.gpus); ++gpus)
                for_each_layout(jobs[i], {.least_gpus = gpus, .most_gpus = gpus}, c, [&](const layout& l) {
                    const byte_count held = available_memory(c) * gpus;
                    if (fits(jobs[i], l, c) && (least == byte_count{} || held < least)) least = held;
                    return false;
                });
        }
        const job_place& p = places[i];
        CHECK((p.state == place_state::placed) == (least > byte_count{}));
        if (p.state != place_state::placed) continue;
        CHECK(available_memory(kinds[static_cast<std::size_t>(p.kind)]) * p.gpus() == least);
        for (const node_gpus& n : nodes)
            if (n.kind == p.kind && n.free >= p.each) CHECK(n.free >= nodes[static_cast<std::size_t>(p.node)].free);
        take(p, nodes);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) CHECK(nodes[i].free == left[i].free);
}

TEST_CASE("what is wrong is refused by name: kinds, nodes, jobs of a queue, and prices") {
    const std::array kinds{nodes_of(gpus::l4_24gb, 4)};
    std::array nodes{node_gpus{0, 4}};
    CHECK(place_job(chat, {}, nodes).error().field == "kinds");
    CHECK(place_job(chat, kinds, std::array{node_gpus{1, 4}}).error().field == "nodes.kind");
    CHECK(place_job(chat, kinds, std::array{node_gpus{0, -1}}).error().field == "nodes.free");
    place_request priced;
    priced.search.objective = objective::cost_per_token;
    CHECK(place_job(chat, kinds, nodes, priced).error().field == "objective");
    job wrong = chat;
    wrong.batch = 0;
    const std::array queue{queued_job{.job = &chat}, queued_job{.job = &wrong}};
    std::array<job_place, 2> places;
    CHECK(place_queue(queue, kinds, nodes, places).error().field == "jobs[1]: batch");
    CHECK(place_queue(queue, kinds, nodes, std::span{places}.first(1)).error().field == "places");
    CHECK(name_of(place_state::waits) == "waits");
    CHECK(name_of(place_preference::best_score) == "best_score");
}

TEST_CASE("a place of which nothing is said is no GPU of the first kind and node") {
    const node_gpus no_node;
    CHECK(no_node.kind == 0);
    CHECK(no_node.free == 0);
    const job_place none;
    CHECK(none.state == place_state::does_not_fit);
    CHECK(none.kind == 0);
    CHECK(none.node == 0);
    CHECK(none.gpus() == 0);
    CHECK(none.score == 0);
}

TEST_CASE(
    "a job that waits or does not fit has no nodes that are taken, one that is placed those of its kind with room") {
    const std::array nodes{node_gpus{1, 8}, node_gpus{0, 4}, node_gpus{0, 8},
                           node_gpus{1, 8}, node_gpus{0, 8}, node_gpus{0, 8}};
    const auto taken = [&](place_state state) {
        job_place p{.state = state, .kind = 0, .node = 0, .nodes = 2, .each = 8};
        std::vector<std::size_t> seen;
        for_each_node(p, nodes, [&](std::size_t node) { seen.push_back(node); });
        return seen;
    };
    CHECK(taken(place_state::placed) == std::vector<std::size_t>{2, 4});
    CHECK(taken(place_state::waits).empty());
    CHECK(taken(place_state::does_not_fit).empty());
}

TEST_CASE("the first node may be the one with the fewest free GPUs") {
    const std::array kinds{nodes_of(gpus::l40s_48gb, 4)};
    CHECK(place_job(chat, kinds, std::array{node_gpus{0, 1}, node_gpus{0, 2}})->node == 0);
    CHECK(place_job(chat, kinds, std::array{node_gpus{0, 2}, node_gpus{0, 1}})->node == 1);
    CHECK(place_job(chat, kinds, std::array{node_gpus{0, 2}, node_gpus{0, 2}})->node == 0);
}

TEST_CASE("whole nodes that others have are waited for, as many as there are of a kind and no more") {
    const std::array kinds{nodes_of(gpus::h100_sxm5_80gb, 8, 2)};
    std::array nodes{node_gpus{0, 0}, node_gpus{0, 0}};
    place_request asked;
    asked.search.space.layouts.least_gpus = asked.search.space.layouts.most_gpus = 16;
    CHECK(place_job(chat, kinds, nodes, asked)->state == place_state::waits);
    CHECK(place_job(chat, kinds, nodes, asked)->nodes == 2);
    asked.search.space.layouts.least_gpus = asked.search.space.layouts.most_gpus = 24;
    CHECK(place_job(chat, kinds, nodes, asked)->state == place_state::does_not_fit);
    asked.search.space.layouts.least_gpus = 9;  // no whole number of nodes, and no more is asked for
    asked.search.space.layouts.most_gpus = 15;
    CHECK(place_job(chat, kinds, nodes, asked)->state == place_state::does_not_fit);
}

TEST_CASE("of kinds that are alike the first is taken, and of as many layouts that fit the one with fewer GPUs") {
    const cluster whole = nodes_of(gpus::h100_sxm5_80gb, 4);
    const std::array kinds{whole, whole};
    CHECK(place_job(chat, kinds, std::array{node_gpus{1, 4}, node_gpus{0, 4}})->kind == 0);
    CHECK(place_job(chat, kinds, std::array{node_gpus{1, 4}})->kind == 1);
    CHECK(place_job(chat, kinds, std::array{node_gpus{1, 4}})->gpus() == 1);
}

TEST_CASE(
    "what a job holds at least is its weights and states less a sixteenth, nothing where a part may lie elsewhere") {
    const job trained{.model = models::llama_3_2_1b, .task = task::pretraining, .sequence = tokens(2048)};
    const memory_breakdown m = memory_of(trained, layout{});
    const byte_count held = m[memory_term::weights].low + m[memory_term::optimizer].low;
    const byte_count least = detail::least_of_all(trained, {});
    CHECK(least <= held - div_down(held, 16));
    CHECK(least > held - div_up(held, 15));
    CHECK(detail::least_of_all(trained, {.offload = true}) == byte_count{});
    CHECK(detail::least_of_all(trained, {.offload_parameters = true}) == byte_count{});
    job offloaded = trained;
    offloaded.offload.optimizer = offload_place::host;
    CHECK(detail::least_of_all(offloaded, {}) == byte_count{});
    search_space narrower;
    narrower.weights.count = 1;
    narrower.weights.list[0] = fp8_tensor;
    CHECK(detail::least_of_all(chat, narrower) == byte_count{});
}

TEST_CASE("a job has at least as many GPUs as are asked for, and of as much memory in all those that are fewer") {
    gpu half = gpus::h100_sxm5_80gb;  // of as much memory as two of these are together
    half.memory.cuda_visible = div_down(usable_memory(gpus::h100_sxm5_80gb), 2);
    half.memory.reported = {};
    REQUIRE(usable_memory(half) * 2 == usable_memory(gpus::h100_sxm5_80gb));
    job small = chat;
    small.model = models::llama_3_2_1b;
    small.runtime = no_runtime;
    const cluster whole = nodes_of(gpus::h100_sxm5_80gb, 8), halves = nodes_of(half, 8);
    for (std::int32_t least = 1; least <= 4; ++least) {
        place_request asked;
        asked.search.space.layouts.least_gpus = least;
        CAPTURE(least);
        const job_place one = place_job(small, std::array{whole}, std::array{node_gpus{0, 8}}, asked).value();
        CHECK(one.gpus() == least);
    }
    job large = small;  // on one whole GPU or two halves
    large.model = models::llama_3_1_8b;
    large.batch = 32;
    for (const bool whole_first : {true, false}) {
        const std::array kinds{whole_first ? whole : halves, whole_first ? halves : whole};
        const std::array nodes{node_gpus{0, 8}, node_gpus{1, 8}};
        CHECK(place_job(large, kinds, nodes)->gpus() == 1);
    }
}

TEST_CASE("whole nodes are the first that are free, and for each of them one is visited") {
    const std::array nodes{node_gpus{0, 3}, node_gpus{0, 8}, node_gpus{0, 8}, node_gpus{0, 8}};
    for (const std::int32_t many : {1, 2, 3}) {
        job_place p{.kind = 0, .nodes = many, .each = 8};
        detail::find_node(p, nodes);
        CHECK(p.node == 1);
        p.state = place_state::placed;
        int visited = 0;
        for_each_node(p, nodes, [&](std::size_t node) {
            CHECK(node == static_cast<std::size_t>(1 + visited));
            ++visited;
        });
        CHECK(visited == many);
    }
    job_place beyond{.state = place_state::placed, .kind = 0, .nodes = 9, .each = 8};  // more than there are
    int visited = 0;
    for_each_node(beyond, nodes, [&](std::size_t) { ++visited; });
    CHECK(visited == 3);
}

TEST_CASE("a job has no more GPUs than it may have, be it one, and in one node all of it") {
    job large = chat;
    large.model = models::llama_3_1_70b;
    const std::array kinds{nodes_of(gpus::h100_sxm5_80gb, 8, 2)};
    const std::array nodes{node_gpus{0, 8}, node_gpus{0, 8}};
    const auto placed = [&](std::int32_t least, std::int32_t most, bool one_node) {
        place_request asked;
        asked.search.space.layouts.least_gpus = least;
        asked.search.space.layouts.most_gpus = most;
        asked.search.limits.one_node = one_node;
        const job_place p = place_job(large, kinds, nodes, asked).value();
        return p.state == place_state::placed ? p.gpus() : 0;
    };
    CHECK(placed(0, 1, false) == 0);
    CHECK(placed(0, 8, false) > 1);
    CHECK(placed(8, 8, true) == 8);
    CHECK(placed(16, 16, true) == 0);
    CHECK(placed(16, 16, false) == 16);
}

TEST_CASE("a place of which nothing is said is none, and a job that needs more nodes than there are never starts") {
    CHECK(job_place{}.each == 0);
    CHECK(job_place{}.nodes == 0);
    CHECK(job_place{}.gpus() == 0);
    job large = chat;
    large.model = models::llama_3_1_405b;
    const std::array few{nodes_of(gpus::l4_24gb, 1, 2)}, more{nodes_of(gpus::h100_sxm5_80gb, 8, 2)};
    CHECK(place_job(large, few, std::array{node_gpus{0, 1}, node_gpus{0, 1}})->state == place_state::does_not_fit);
    const job_place later = place_job(large, more, std::array{node_gpus{0, 3}, node_gpus{0, 0}}).value();
    CHECK(later.state == place_state::waits);
    const job_place now = place_job(large, more, std::array{node_gpus{0, 8}, node_gpus{0, 8}}).value();
    CHECK(now.state == place_state::placed);
    CHECK(now.nodes == 2);
    CHECK(now.each == 8);
    CHECK(now.node == 0);
}

TEST_CASE("a large job is placed among as many kinds of GPU as there may be") {
    std::vector<cluster> kinds(most_kinds, nodes_of(gpus::l4_24gb, 1));
    kinds.back() = nodes_of(gpus::h100_sxm5_80gb, 8);
    const std::array nodes{node_gpus{0, 1}, node_gpus{static_cast<std::int32_t>(most_kinds) - 1, 8}};
    job large = chat;
    large.model = models::llama_3_1_70b;
    CHECK(place_job(large, kinds, nodes)->kind == static_cast<std::int32_t>(most_kinds) - 1);
    kinds.push_back(kinds[0]);
    CHECK(place_job(large, kinds, nodes).error().field == "kinds");
}

TEST_CASE("the best score is taken though GPUs with more memory are slower, and come later") {
    // 40 GB at 1,555 GB/s before 48 GB at 864 GB/s: the weights are read for each token.
    const std::array kinds{nodes_of(gpus::a100_sxm4_40gb, 1), nodes_of(gpus::l40s_48gb, 1)};
    REQUIRE(available_memory(kinds[0]) < available_memory(kinds[1]));
    const std::array nodes{node_gpus{0, 1}, node_gpus{1, 1}};
    CHECK(place_job(chat, kinds, nodes, {.prefer = place_preference::best_score})->kind == 0);
}

TEST_CASE("of a job that holds more than can be counted nothing is said") {
    job endless = chat;
    endless.model.vocabulary = endless.model.hidden = std::int64_t{1} << 40;
    CHECK(detail::least_of_all(endless, {}) == byte_count{});
}
