// SPDX-License-Identifier: MIT
// Layouts enumerated once more, from one predicate a rule, beside those of the walk.
#include <llmres/jobs/layouts.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/litgpt.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/lmdeploy.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "walked_jobs.hpp"

using namespace llmres;
using namespace walked_jobs;

namespace {

/// Every layout of up to so many GPUs, whatever is to be laid out: all degrees, and how layers can be dealt to stages.
template <class Visit>
void for_each_thinkable(std::int32_t gpus, std::int32_t layers, const layout& given, Visit&& visit) {
    layout l = given;
    for (l.tensor = 1; l.tensor <= gpus; ++l.tensor)
        for (l.pipeline = 1; l.tensor * l.pipeline <= gpus; ++l.pipeline)
            for (l.context_parallel = 1; l.tensor * l.pipeline * l.context_parallel <= gpus; ++l.context_parallel)
                for (l.data = 1; l.gpus() <= gpus; ++l.data)
                    for (l.virtual_pipeline = 1; l.virtual_pipeline <= layers; ++l.virtual_pipeline)
                        for (l.expert = 1; l.expert <= gpus; ++l.expert)
                            for (const std::int32_t expert_tensor : std::set<std::int32_t>{0, 1, l.tensor})
                                for (l.zero = 0; l.zero <= 3; ++l.zero) {
                                    l.expert_tensor = expert_tensor;
                                    visit(l);
                                }
}

/// What is to be laid out, and among which layouts.
struct question {
    job asked;
    layout_space space;
    cluster on;

    bool training() const { return asked.task != task::serving; }
    const layout_rules& rules() const { return asked.runtime.layouts; }
    std::int32_t layers() const { return asked.model.layers.size; }
    std::int64_t sequence() const { return asked.sequence.in(tokens); }
    std::int32_t node() const { return on.node_size(); }
    std::int32_t most() const { return space.most_gpus > 0 ? std::min(space.most_gpus, on.gpus) : on.gpus; }
    const layer& kind() const { return asked.model.layers[0]; }
    std::int64_t experts() const { return kind().feed_forward.experts.count; }

    bool tensor(const layout& l) const {
        if (!space.tensor) return l.tensor == space.given.tensor;
        if (l.tensor == 1) return true;
        const std::int64_t t = l.tensor, heads = kind().attention.heads, kv_heads = kind().attention.kv_heads;
        const tensor_split& split = rules().split;
        if (!rules().tensor || t > node() || heads % t != 0) return false;
        if (kv_heads % t != 0 && !(split.copies_kv_heads && t % kv_heads == 0)) return false;
        if (split.power_of_two && t != 2 && t != 4 && t != 8 && t != 16) return false;
        if (!split.pads_width && experts() == 0 && kind().feed_forward.width % t != 0) return false;
        const std::int64_t unit = split.vocabulary_multiple;
        return unit == 0 || (asked.model.vocabulary + unit - 1) / unit * unit % t == 0;
    }
    bool sequence_parallel(const layout& l) const {
        if (!space.sequence_parallel) return l.sequence_parallel == space.given.sequence_parallel;
        return l.sequence_parallel ==
               (training() && rules().sequence_parallel && l.tensor > 1 && sequence() % l.tensor == 0);
    }
    /// Stages, and how their layers are dealt: evenly, with the embedding and the loss as layers, or fewer in the last.
    bool stages(const layout& l) const {
        if (!space.pipeline) return l.pipeline == space.given.pipeline && deals_evenly(l);
        if (l.pipeline > layers() || (l.pipeline > 1 && !rules().pipeline)) return false;
        if (!training() || l.pipeline == 1 || asked.runtime.pipeline.naive) return deals_evenly(l);
        if (layers() % l.chunks() == 0) return deals_evenly(l);
        if (!rules().uneven_stages) return false;
        if ((layers() + 2) % l.chunks() == 0 && layers() + 2 > l.chunks())
            return l.embedding_as_layer && l.loss_as_layer && l.last_stage_layers == 0;
        const std::int32_t each = (layers() + l.pipeline - 1) / l.pipeline, last = layers() - each * (l.pipeline - 1);
        const bool power_of_two = l.pipeline == 2 || l.pipeline == 4 || l.pipeline == 8 || l.pipeline == 16;
        return power_of_two && l.virtual_pipeline == 1 && last > 0 && l.last_stage_layers == last &&
               !l.embedding_as_layer && !l.loss_as_layer;
    }
    static bool deals_evenly(const layout& l) {
        return !l.embedding_as_layer && !l.loss_as_layer && l.last_stage_layers == 0;
    }
    bool chunks(const layout& l) const {
        if (l.virtual_pipeline == 1) return true;
        return space.virtual_pipeline && training() && l.pipeline > 1 && rules().virtual_pipeline &&
               l.virtual_pipeline * l.pipeline <= layers();
    }
    bool context(const layout& l) const {
        if (!space.context_parallel) return l.context_parallel == space.given.context_parallel;
        if (l.context_parallel == 1) return true;
        return training() && rules().context_parallel && sequence() % (2 * l.context_parallel) == 0;
    }
    bool data(const layout& l) const {
        if (!space.data) return l.data == space.given.data;
        const std::int32_t group = l.tensor * l.pipeline * l.context_parallel * l.replicas, room = most() / group;
        if (!training()) {
            const std::int64_t ranks = l.data * l.replicas, fewer = (l.data - 1) * l.replicas;
            const auto each = [&](std::int64_t n) { return (asked.batch + n - 1) / n; };
            return l.data == 1 || (l.data == room && experts() > 0) || each(ranks) < each(fewer);
        }
        if (l.pipeline > 1 && asked.runtime.pipeline.naive && l.data > 1) return false;
        if (asked.global_batch == 0)
            return l.virtual_pipeline == 1 && (l.data == room || l.data == node() / (l.tensor * l.context_parallel));
        const std::int64_t round = l.virtual_pipeline > 1 ? l.pipeline : 1;
        return asked.global_batch % (asked.micro_batch * l.data * l.replicas * round) == 0;
    }
    bool expert_ranks(const layout& l) const {
        const layer& k = kind();
        if (!space.expert || !rules().expert || experts() == 0)
            return l.expert == space.given.expert && l.expert_tensor == space.given.expert_tensor &&
                   (experts() == 0 || k.feed_forward.experts.width % l.expert_tensor_ranks() == 0);
        if (l.expert == 1) return l.expert_tensor == 0 && k.feed_forward.experts.width % l.tensor == 0;
        const std::int64_t ranks = std::int64_t{l.tensor} * l.context_parallel * l.data;
        if (l.expert_tensor == 0 || (!training() && (l.expert != ranks || l.expert_tensor != 1))) return false;
        return ranks % (std::int64_t{l.expert} * l.expert_tensor) == 0 && experts() % l.expert == 0 &&
               k.feed_forward.experts.width % l.expert_tensor == 0;
    }
    bool zero(const layout& l) const {
        if (!space.zero || !training()) return l.zero == space.given.zero;
        const bool gathers = asked.offload.parameters != offload_place::none;
        if (gathers && l.zero < 3) return false;
        if (!gathers && l.data * l.context_parallel == 1) return l.zero == 0;
        if (l.zero == 0) return true;
        return l.zero >= rules().least_zero &&
               l.zero <= (l.pipeline > 1 ? rules().most_zero_with_pipeline : rules().most_zero);
    }
    bool gpus(const layout& l) const {
        const std::int64_t all = std::int64_t{l.tensor} * l.pipeline * l.context_parallel * l.data * l.replicas;
        return all <= most() && all >= space.least_gpus && (!space.tensor || all <= node() || node() % l.tensor == 0);
    }
    bool has(const layout& l) const {
        return tensor(l) && sequence_parallel(l) && stages(l) && chunks(l) && context(l) && data(l) &&
               expert_ranks(l) && zero(l) && gpus(l);
    }

    /// The layouts that each rule allows.
    std::vector<layout> expected() const {
        std::vector<layout> found;
        for_each_thinkable(on.gpus, layers(), space.given, [&](layout l) {
            if (!tensor(l) || !context(l) || !data(l) || !expert_ranks(l) || !zero(l) || !gpus(l)) return;
            for (const bool shares : {false, true})
                for (const bool as_layers : {false, true})
                    for (std::int32_t last = 0; last <= (as_layers ? 0 : layers()); ++last) {
                        l.sequence_parallel = shares;
                        l.embedding_as_layer = l.loss_as_layer = as_layers;
                        l.last_stage_layers = last;
                        if (sequence_parallel(l) && stages(l) && chunks(l)) found.push_back(l);
                    }
        });
        return found;
    }
    std::vector<layout> walked() const {
        std::vector<layout> found;
        for_each_layout(asked, space, on, [&](const layout& l) {
            found.push_back(l);
            return false;
        });
        return found;
    }
};

/// A layout in one line.
std::string written(const layout& l) {
    std::string all;
    for (const std::int32_t n :
         {l.tensor, l.pipeline, l.virtual_pipeline, l.context_parallel, l.data, l.expert, l.expert_tensor, l.zero,
          std::int32_t{l.sequence_parallel}, std::int32_t{l.embedding_as_layer}, l.last_stage_layers, l.replicas})
        all += std::to_string(n) + " ";
    return all;
}
std::multiset<std::string> written(const std::vector<layout>& all) {
    std::multiset<std::string> lines;
    for (const layout& l : all) lines.insert(written(l));
    return lines;
}

model with_experts(std::int64_t count) {
    model m = cut(models::mixtral_8x7b, 2);
    for (layer& kind : m.layers.kinds)
        if (kind.feed_forward.routed()) kind.feed_forward.experts.count = count;
    return m;
}

/// Whether a walk visits what each rule allows, no more and no less.
void check_walk(const question& q) {
    const std::multiset<std::string> expected = written(q.expected()), walked = written(q.walked());
    CAPTURE(q.asked.runtime.identity.name.view());
    CAPTURE(q.asked.model.name.view());
    CAPTURE(q.on.gpus);
    CAPTURE(q.asked.global_batch);
    CHECK(walked.size() == expected.size());
    for (const std::string& l : expected) {
        CAPTURE(l);
        REQUIRE(walked.count(l) == 1);
    }
}

}  // namespace

TEST_CASE("a walk visits the layouts that each rule of the runtime, the model and the batch allows, each once") {
    std::size_t visited = 0;
    for (const std::int32_t gpus : {1, 4, 6, 12})
        for (const model& m : {cut(models::llama_3_1_8b, 6), cut(models::mixtral_8x7b, 6), cut(models::qwen2_5_7b, 4),
                               with_experts(1), with_experts(5)})
            for (const runtime* r : {&runtimes::megatron, &runtimes::deepspeed, &runtimes::huggingface,
                                     &runtimes::litgpt, &runtimes::vllm, &runtimes::llama_cpp, &runtimes::lmdeploy}) {
                question q{.asked = {.model = m, .runtime = *r},
                           .space = {},
                           .on = standard_cluster(gpus::h100_sxm5_80gb, gpus).value()};
                if (r->identity.work == runtime_work::serving) {
                    for (const std::int64_t batch : {1, 5, 64}) {
                        q.asked.batch = batch;
                        check_walk(q);
                        visited += q.walked().size();
                    }
                    continue;
                }
                q.asked.task = task::pretraining;
                q.asked.sequence = tokens(8192);
                for (const std::int64_t batch : {0, 1, 24}) {
                    q.asked.global_batch = batch;
                    check_walk(q);
                    visited += q.walked().size();
                }
                q.asked.micro_batch = 2;
                q.asked.sequence = tokens(36);  // 4 and 6 tensor ranks divide it, but not 8 chunks of context
                check_walk(q);
                q.asked.offload = {.optimizer = offload_place::host, .parameters = offload_place::host};
                check_walk(q);
            }
    CHECK(visited > 7'000);
}

TEST_CASE("a walk keeps what is given, and stays within the GPUs that it is given") {
    question q{.asked = training(cut(models::mixtral_8x7b, 6), 24),
               .space = {},
               .on = standard_cluster(gpus::h100_sxm5_80gb, 12).value()};
    for (const auto& [least, most] : {std::pair{1, 0}, {1, 1}, {1, 4}, {7, 0}, {4, 8}, {12, 12}, {1, 40}}) {
        q.space = {.least_gpus = least, .most_gpus = most};
        check_walk(q);
    }
    q.space = {.given = {.replicas = 2}, .least_gpus = 7};
    check_walk(q);
    q.asked.global_batch = 0;
    check_walk(q);
    q.asked.global_batch = 24;
    const layout given{.tensor = 2, .pipeline = 2, .data = 2, .zero = 1};
    for (bool layout_space::* fixed :
         {&layout_space::tensor, &layout_space::pipeline, &layout_space::data, &layout_space::context_parallel,
          &layout_space::zero, &layout_space::sequence_parallel, &layout_space::virtual_pipeline}) {
        q.space = {.given = given};
        q.space.given.sequence_parallel = fixed == &layout_space::sequence_parallel;
        q.space.*fixed = false;
        if (fixed != &layout_space::tensor) q.space.given.tensor = 1;
        if (fixed != &layout_space::pipeline) q.space.given.pipeline = 1;
        if (fixed != &layout_space::data) q.space.given.data = 1;
        if (fixed != &layout_space::zero) q.space.given.zero = 0;
        check_walk(q);
    }
    q.space = free_data_ranks({.tensor = 2, .expert = 2, .expert_tensor = 1});
    for (const layout& l : q.walked()) {
        CHECK(l.expert == 2);
        CHECK(l.expert_tensor == 1);
        CHECK(l.context_parallel == 1);
        CHECK_FALSE(l.sequence_parallel);  // as it was given
    }
    CHECK_FALSE(q.walked().empty());
    q.space.given.expert = 3;  // of eight experts
    CHECK(q.walked().empty());
}

TEST_CASE("a walk that is over leaves no trace of what it tried: a second one visits the same") {
    const question q{.asked = training(cut(models::mixtral_8x7b, 6), 24),
                     .space = {},
                     .on = standard_cluster(gpus::h100_sxm5_80gb, 12).value()};
    CHECK_FALSE(for_each_layout(q.asked, q.space, q.on, [](const layout&) { return false; }));
    const std::vector<layout> all = q.walked();
    const auto stops_at = [&](std::size_t last) {
        std::size_t calls = 0;
        const bool stopped = for_each_layout(q.asked, q.space, q.on, [&](const layout&) { return calls++ == last; });
        return stopped && calls == last + 1;
    };
    for (std::size_t last = 0; last < all.size(); last += 7) CHECK(stops_at(last));
    CHECK_FALSE(stops_at(all.size()));
}
