// SPDX-License-Identifier: MIT
// How long a scheduler takes to place a queue: 10,000 jobs that differ over 5,000 nodes of sixteen kinds, partly used;
// and that the places of a tenth of it are those of a plain loop over all nodes, GPUs and layouts.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <llmres/answers/queue.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/mig.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <random>
#include <string>
#include <vector>

using namespace llmres;

namespace {

/// Nodes of a kind: what a job may have of them at most, and how many GPUs are in one.
cluster kind_of(const gpu& card, std::int32_t each, std::int32_t nodes, byte_count in_use = {}) {
    cluster c = standard_cluster(card, each * nodes).value();
    c.gpus_per_node = each;
    c.in_use = in_use;
    c.host.memory = gib(512);
    c.host.bandwidth = gb_per_s(200);
    c.host.cores = 64;
    return c;
}

std::vector<cluster> all_kinds() {
    using namespace llmres::gpus;
    std::vector<cluster> kinds;
    for (const gpu& card : {h100_sxm5_80gb, h200_sxm5_141gb, a100_sxm4_80gb, a100_sxm4_40gb})
        kinds.push_back(kind_of(card, 8, 16));
    for (const gpu& card : {l40s_48gb, l4_24gb, a10_24gb, rtx_a6000, t4_16gb}) kinds.push_back(kind_of(card, 4, 1));
    kinds.push_back(kind_of(rtx_4090, 2, 1));
    for (const char* profile : {"1g.10gb", "2g.20gb", "3g.40gb"})
        kinds.push_back(kind_of(mig_slice(h100_sxm5_80gb, profile).value(), 1, 1));
    kinds.push_back(kind_of(h100_sxm5_80gb, 8, 1, gib(40)));
    kinds.push_back(kind_of(a100_sxm4_80gb, 8, 1, gib(22)));
    kinds.push_back(kind_of(l4_24gb, 4, 1, gib(6)));
    return kinds;
}

/// A number below `below`, the same with every standard library.
std::size_t draw(std::mt19937& random, std::size_t below) { return random() % below; }

job serving(std::mt19937& random) {
    const std::array served{models::llama_3_2_1b, models::llama_3_1_8b, models::qwen3_32b, models::llama_3_1_70b,
                            models::mixtral_8x7b};
    return {.model = served[draw(random, served.size())],
            .batch = static_cast<std::int64_t>(1 + draw(random, 64)),
            .context = tokens(1024 * static_cast<std::int64_t>(1 + draw(random, 16))),
            .runtime = draw(random, 2) == 0 ? runtimes::vllm : runtimes::sglang};
}

job training(std::mt19937& random) {
    const std::array trained{models::llama_3_2_1b, models::llama_3_2_3b, models::llama_3_1_8b, models::qwen3_14b};
    job j{.model = trained[draw(random, trained.size())],
          .task = task::finetuning,
          .sequence = tokens(512 * static_cast<std::int64_t>(1 + draw(random, 16))),
          .micro_batch = static_cast<std::int64_t>(1 + draw(random, 4)),
          .recompute = draw(random, 2) == 0 ? recompute::full : recompute::none,
          .runtime = runtimes::huggingface};
    if (draw(random, 2) == 0) j.adapter = {.kind = adapter_kind::lora, .rank = 16};
    return j;
}

/// Jobs as people queue them: half say how many GPUs they want, half take those that hold them.
struct queue {
    std::vector<job> jobs;
    std::vector<queued_job> asked;
};
queue make_queue(std::size_t size) {
    std::mt19937 random{17};
    queue q;
    for (std::size_t i = 0; i < size; ++i) q.jobs.push_back(draw(random, 3) == 0 ? training(random) : serving(random));
    for (const job& j : q.jobs) {
        queued_job one{.job = &j};
        layout_space& space = one.request.search.space.layouts;
        if (draw(random, 2) == 0) space.least_gpus = space.most_gpus = 1 << draw(random, 4);
        if (draw(random, 50) == 0) space.least_gpus = space.most_gpus = 16;
        q.asked.push_back(one);
    }
    return q;
}

std::vector<node_gpus> make_nodes(std::size_t size, const std::vector<cluster>& kinds) {
    std::mt19937 random{71};
    std::vector<node_gpus> nodes;
    for (std::size_t i = 0; i < size; ++i) {
        const std::size_t kind = draw(random, kinds.size());
        const auto most = static_cast<std::size_t>(kinds[kind].gpus > 1 ? kinds[kind].node_size() : 7);
        const std::size_t free = draw(random, 3) == 0 ? most : draw(random, most + 1);
        nodes.push_back({static_cast<std::int32_t>(kind), static_cast<std::int32_t>(free)});
    }
    return nodes;
}

/// The most tokens per second on exactly so many GPUs, each layout through plan(); 0 where none fits.
double plain_rate(const job& j, const cluster& c, std::int32_t gpus, const layout_space& asked) {
    layout_space space = asked;
    space.least_gpus = space.most_gpus = gpus;
    double most = 0;
    for_each_layout(j, space, c, [&](const layout& l) {
        const result<job_plan> p = plan(j, l, c);
        if (p && p->verdict == verdict::fits && p->speed.tokens_per_second.in(tokens_per_s) > most)
            most = p->speed.tokens_per_second.in(tokens_per_s);
        return false;
    });
    return most;
}

/// A place as a plain loop finds it: every node and every number of its GPUs, and whole nodes of each kind.
struct plain_place {
    std::int32_t gpus = 0;
    std::int32_t node = 0;
    double rate = 0;
};
plain_place plainly(const queued_job& asked, const std::vector<cluster>& kinds, const std::vector<node_gpus>& nodes) {
    const layout_space& space = asked.request.search.space.layouts;
    const std::int32_t least = space.least_gpus, most = space.most_gpus > 0 ? space.most_gpus : 1 << 20;
    plain_place best;
    const auto memory = [&](std::int32_t node, std::int32_t gpus) {
        return available_memory(kinds[static_cast<std::size_t>(nodes[static_cast<std::size_t>(node)].kind)]) * gpus;
    };
    const auto before = [&](std::int32_t node, std::int32_t gpus) {
        if (best.gpus == 0) return true;
        const byte_count mine = memory(node, gpus), its = memory(best.node, best.gpus);
        if (mine != its) return mine < its;
        if (gpus != best.gpus) return gpus < best.gpus;
        const node_gpus &a = nodes[static_cast<std::size_t>(node)], &b = nodes[static_cast<std::size_t>(best.node)];
        if (a.kind != b.kind) return a.kind < b.kind;
        return a.free < b.free && gpus <= kinds[static_cast<std::size_t>(a.kind)].node_size();
    };
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto node = static_cast<std::int32_t>(i);
        const cluster& c = kinds[static_cast<std::size_t>(nodes[i].kind)];
        std::int32_t whole = 0;
        for (const node_gpus& n : nodes) whole += n.kind == nodes[i].kind && n.free >= c.node_size() ? 1 : 0;
        for (std::int32_t gpus = least; gpus <= most && gpus <= c.gpus; ++gpus) {
            const bool one = gpus <= c.node_size() && gpus <= nodes[i].free;
            const bool several = gpus > c.node_size() && gpus % c.node_size() == 0 && gpus / c.node_size() <= whole &&
                                 nodes[i].free >= c.node_size();
            if ((!one && !several) || !before(node, gpus)) continue;
            const double rate = plain_rate(*asked.job, c, gpus, space);
            if (rate > 0) best = {gpus, node, rate};
        }
    }
    return best;
}

/// Holds the places of a queue against those of the plain loop; how many differ.
std::size_t wrong_places(const queue& q, const std::vector<cluster>& kinds, std::vector<node_gpus> nodes) {
    std::size_t wrong = 0;
    for (const queued_job& asked : q.asked) {
        const job_place found = place_job(*asked.job, kinds, nodes, asked.request).value();
        const plain_place plain = plainly(asked, kinds, nodes);
        const bool placed = found.state == place_state::placed;
        const double rate = found.tokens_per_second.in(tokens_per_s);
        if (placed != (plain.gpus > 0) || (placed && (found.gpus() != plain.gpus || found.node != plain.node ||
                                                      static_cast<float>(rate) != static_cast<float>(plain.rate))))
            ++wrong;
        take(found, nodes);
    }
    return wrong;
}

/// Seconds that this thread has computed.
double since(std::clock_t start) { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; }

}  // namespace

int main() {
    const std::vector<cluster> kinds = all_kinds();
    const queue q = make_queue(10'000);
    std::vector<node_gpus> nodes = make_nodes(5'000, kinds);
    std::vector<job_place> places(q.asked.size());
    const auto start = std::clock();
    const result<queue_counts> counts = place_queue(q.asked, kinds, nodes, places);
    const double spent = since(start);
    if (!counts) {
        std::printf("%s: %s\n", std::string{counts.error().field.view()}.c_str(),
                    std::string{counts.error().expected.view()}.c_str());
        return 1;
    }
    std::printf("10,000 jobs, 5,000 nodes of %zu kinds: %.3f s of one thread (%zu placed, %zu wait, %zu fit nowhere)\n",
                kinds.size(), spent, counts->placed, counts->waiting, counts->does_not_fit);
    const auto again = std::clock();
    const std::size_t wrong = wrong_places(make_queue(1'000), kinds, make_nodes(500, kinds));
    std::printf("a tenth of both, beside a plain loop (%.1f s): %zu places differ\n", since(again), wrong);
    return wrong == 0 ? 0 : 1;
}
