// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <algorithm>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/models/deepseek.hpp>
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
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace llmres;

namespace {

std::vector<layout> tried(const job& j, std::int32_t gpus, const layout_space& space = {}) {
    std::vector<layout> all;
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, gpus).value();
    for_each_layout(j, space, c, [&](const layout& l) {
        all.push_back(l);
        return false;
    });
    return all;
}
job serving(const model& m, std::int64_t batch = 64, const runtime& r = runtimes::vllm) {
    return {.model = m, .batch = batch, .context = tokens(4096), .runtime = r};
}
job training(const model& m, std::int64_t batch, const runtime& r = runtimes::megatron) {
    return {.model = m, .task = task::pretraining, .sequence = tokens(8192), .global_batch = batch, .runtime = r};
}
/// The values that one degree takes.
template <class Degree>
std::set<std::int32_t> values(const std::vector<layout>& all, Degree degree) {
    std::set<std::int32_t> found;
    for (const layout& l : all) found.insert(l.*degree);
    return found;
}

}  // namespace

TEST_CASE("every layout is one that the checks allow, on no more GPUs than there are, and none comes twice") {
    for (const std::int32_t gpus : {1, 2, 3, 6, 8, 12, 16, 64})
        for (const job& j : {serving(models::llama_3_1_8b), serving(models::mixtral_8x7b),
                             training(models::llama_3_1_70b, 64), training(models::deepseek_v3, 64)}) {
            const std::vector<layout> all = tried(j, gpus);
            CHECK(all.size() > 0);
            for (std::size_t i = 0; i < all.size(); ++i) {
                CAPTURE(gpus);
                CAPTURE(i);
                CHECK(all[i].gpus() <= gpus);
                CHECK(validate(all[i], j.model));
                CHECK(validate_training(j, all[i], gpus::h100_sxm5_80gb));
            }
            for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i] != all[i - 1]);
        }
}

TEST_CASE("eight GPUs serve as tensor ranks, stages and data ranks") {
    const std::vector<layout> all = tried(serving(models::llama_3_1_8b), 8);
    for (const layout& l : {layout{.tensor = 8}, layout{.tensor = 4, .data = 2}, layout{.tensor = 4, .pipeline = 2},
                            layout{.data = 8}, layout{.tensor = 2, .pipeline = 2, .data = 2}})
        CHECK(std::find(all.begin(), all.end(), l) != all.end());
}

TEST_CASE("tensor ranks divide the heads, and the vocabulary as the runtime pads it") {
    job j = serving(models::qwen2_5_32b);  // 40 heads, 8 of keys and values
    CHECK(values(tried(j, 8), &layout::tensor) == std::set<std::int32_t>{1, 2, 4, 8});
    j = serving(models::llama_3_1_8b);
    CHECK(values(tried(j, 7), &layout::tensor) == std::set<std::int32_t>{1, 2, 4});
}

TEST_CASE("groups of tensor ranks lie in one node") {
    std::int64_t widest_beyond_a_node = 0;
    for (const layout& l : tried(serving(models::llama_3_1_8b), 24)) {
        CHECK(l.tensor <= 8);
        if (l.gpus() > 8) widest_beyond_a_node = std::max<std::int64_t>(widest_beyond_a_node, l.tensor);
    }
    CHECK(widest_beyond_a_node == 8);
}

TEST_CASE("a runtime that splits no matrices gets stages alone") {
    const std::vector<layout> all = tried(serving(models::llama_3_1_8b, 1, runtimes::llama_cpp), 4);
    CHECK(values(all, &layout::tensor) == std::set<std::int32_t>{1});
    CHECK(values(all, &layout::pipeline) == std::set<std::int32_t>{1, 2, 3, 4});
    const std::vector<layout> trained = tried(training(models::llama_3_1_8b, 64, runtimes::litgpt), 8);
    for (const layout& l : trained) CHECK(l.gpus() == l.data);
    CHECK(values(trained, &layout::data) == std::set<std::int32_t>{1, 2, 4, 8});
}

TEST_CASE("data ranks of a serving job are the fewest that hold so many sequences each") {
    layout_space space;
    space.tensor = space.pipeline = false;
    CHECK(values(tried(serving(models::llama_3_1_8b, 8), 8, space), &layout::data) ==
          std::set<std::int32_t>{1, 2, 3, 4, 8});
    CHECK(values(tried(serving(models::llama_3_1_8b, 1), 8, space), &layout::data) == std::set<std::int32_t>{1});
}

TEST_CASE("data ranks of a training job divide its batch") {
    CHECK(values(tried(training(models::llama_3_1_8b, 12), 8), &layout::data) == std::set<std::int32_t>{1, 2, 3, 4, 6});
}

TEST_CASE("beside any tensor, pipeline and context ranks, data ranks are all that the batch and the GPUs allow") {
    constexpr std::int32_t gpus = 32;
    for (const std::int64_t batch : {64, 24, 0}) {
        std::map<std::int64_t, std::set<std::int32_t>> data_of;  // of those that take as many GPUs
        std::set<std::int32_t> contexts;
        for (const layout& l : tried(training(models::llama_3_1_8b, batch), gpus)) {
            if (l.virtual_pipeline > 1) continue;  // whose micro-batches come in rounds
            data_of[std::int64_t{l.tensor} * l.pipeline * l.context_parallel].insert(l.data);
            contexts.insert(l.context_parallel);
        }
        CAPTURE(batch);
        CHECK(contexts == std::set<std::int32_t>{1, 2, 4, 8, 16, 32});
        CHECK(data_of.size() > 5);
        for (const auto& [group, found] : data_of) {
            CAPTURE(group);
            std::set<std::int32_t> expected;
            for (std::int32_t d = 1; batch > 0 && d * group <= gpus; ++d)
                if (batch % d == 0) expected.insert(d);
            if (batch > 0)
                CHECK(found == expected);
            else
                CHECK(*found.rbegin() == gpus / group);
        }
    }
}

TEST_CASE("training stages are equal, or the embedding and the loss make them so, or the last has fewer layers") {
    const std::vector<layout> all = tried(training(models::llama_3_1_405b, 64), 256);  // 126 layers
    std::set<std::int32_t> even;
    for (const layout& l : all)
        if (l.deals_evenly()) {
            CHECK(126 % l.chunks() == 0);
            even.insert(l.pipeline);
        }
    CHECK(even == std::set<std::int32_t>{1, 2, 3, 6, 7, 9, 14, 18, 21, 42, 63, 126});
    const auto sixteen = std::find_if(all.begin(), all.end(), [](const layout& l) { return l.pipeline == 16; });
    REQUIRE(sixteen != all.end());
    CHECK(sixteen->embedding_as_layer);
    CHECK(sixteen->loss_as_layer);
    const std::set<std::int32_t> of_61 = values(tried(training(models::deepseek_v3, 64), 256), &layout::pipeline);
    CHECK(of_61.contains(8));
    CHECK_FALSE(of_61.contains(59));
    CHECK(values(tried(training(models::llama_3_1_405b, 64, runtimes::litgpt), 64), &layout::pipeline) ==
          std::set<std::int32_t>{1});
}

TEST_CASE("chunks of stages need whole rounds of micro-batches") {
    std::set<std::int32_t> chunks;
    for (const layout& l : tried(training(models::llama_3_1_70b, 64), 64))
        if (l.virtual_pipeline > 1) {
            CHECK(64 / l.data % l.pipeline == 0);
            chunks.insert(l.virtual_pipeline);
        }
    CHECK(chunks.contains(2));
    CHECK(chunks.contains(40));  // two stages of one layer a chunk
}

TEST_CASE("ZeRO stages are those that the runtime has beside pipeline stages") {
    std::set<int> with_stages, without;
    for (const layout& l : tried(training(models::llama_3_1_70b, 64, runtimes::deepspeed), 64)) {
        CHECK(l.zero <= (l.pipeline > 1 ? 1 : l.data * l.context_parallel > 1 ? 3 : 0));
        (l.pipeline > 1 ? with_stages : without).insert(l.zero);
    }
    CHECK(with_stages == std::set<int>{0, 1});
    CHECK(without == std::set<int>{0, 1, 2, 3});
}

TEST_CASE("routed experts are given whole to ranks, or split over tensor ranks") {
    const std::vector<layout> all = tried(training(models::mixtral_8x7b, 64), 16);
    CHECK(values(all, &layout::expert) == std::set<std::int32_t>{1, 2, 4, 8});
    const std::vector<layout> served = tried(serving(models::mixtral_8x7b), 8);
    for (const layout& l : served)
        if (l.expert > 1) CHECK(l.expert == l.data * l.tensor);
    CHECK(values(served, &layout::expert) == std::set<std::int32_t>{1, 2, 4, 8});
}

TEST_CASE("degrees that are given stay") {
    const layout_space space = free_data_ranks({.tensor = 2, .zero = 3});
    for (const layout& l : tried(training(models::llama_3_1_8b, 64), 16, space)) {
        CHECK(l.tensor == 2);
        CHECK(l.zero == 3);
        CHECK(l.pipeline == 1);
    }
    CHECK(values(tried(training(models::llama_3_1_8b, 64), 16, space), &layout::data) ==
          std::set<std::int32_t>{1, 2, 4, 8});
}

TEST_CASE("the walk stops at the first layout that is taken") {
    int calls = 0;
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    CHECK(for_each_layout(serving(models::llama_3_1_8b), {}, c, [&](const layout&) { return ++calls == 2; }));
    CHECK(calls == 2);
}

TEST_CASE("a layout without data ranks gets those for which the GPUs have room") {
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    CHECK(with_data_ranks({.zero = 3}, training(models::llama_3_1_8b, 0), eight) == layout{.data = 8, .zero = 3});
    CHECK(with_data_ranks({.tensor = 2}, training(models::llama_3_1_8b, 6), eight).data == 3);
    CHECK(with_data_ranks({.context_parallel = 4}, training(models::llama_3_1_8b, 6), eight).data == 2);
    CHECK(with_data_ranks({.tensor = 2}, serving(models::llama_3_1_8b, 64), eight).data == 4);
    CHECK(with_data_ranks({.replicas = 2}, serving(models::llama_3_1_8b, 8), eight).data == 4);
    CHECK(with_data_ranks({}, serving(models::llama_3_1_8b, 6), eight).data == 6);
    CHECK(with_data_ranks({.tensor = 2}, serving(models::llama_3_1_8b, 1), eight).data == 1);
    CHECK(with_data_ranks({.tensor = 16}, serving(models::llama_3_1_8b), eight).data == 1);
    CHECK(with_data_ranks({.tensor = 0}, serving(models::llama_3_1_8b), eight) == layout{.tensor = 0});
    CHECK(with_data_ranks({.tensor = 2}, training(models::llama_3_1_8b, 7), eight).data == 1);
    job nothing_at_once = training(models::llama_3_1_8b, 8);
    nothing_at_once.micro_batch = 0;
    CHECK(with_data_ranks({.data = 5}, nothing_at_once, eight).data == 5);
    nothing_at_once.micro_batch = 1;
    nothing_at_once.batch = 0;
    CHECK(with_data_ranks({.data = 5}, nothing_at_once, eight).data == 5);
}

namespace {

/// Counts layouts, and passes over every second pair of tensor ranks and stages.
struct every_second_pair {
    bool& takes_next;
    std::vector<layout>& visited;
    bool takes() const { return takes_next = !takes_next; }
    bool operator()(const layout& l) const { return visited.push_back(l), false; }
};

}  // namespace

TEST_CASE("who shares a walk passes over pairs of tensor ranks and stages, and together all are visited") {
    const job j{.model = models::llama_3_1_8b,
                .task = task::pretraining,
                .sequence = tokens(4096),
                .global_batch = 64,
                .runtime = runtimes::megatron};
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 16).value();
    std::vector<layout> one, other;
    bool odd = false;
    bool even = true;
    for_each_layout(j, {}, c, every_second_pair{odd, one});
    for_each_layout(j, {}, c, every_second_pair{even, other});
    CHECK_FALSE(one.empty());
    CHECK_FALSE(other.empty());
    CHECK(one.size() + other.size() == tried(j, 16).size());
}

TEST_CASE("without a global batch, data ranks are all that there is room for, or those of one node") {
    const layout_space tensor_given{
        .given = {.tensor = 4}, .tensor = false, .pipeline = false, .context_parallel = false};
    const std::vector<layout> all = tried(training(models::llama_3_1_8b, 0), 16, tensor_given);
    CHECK(values(all, &layout::data) == std::set<std::int32_t>{2, 4});
}

TEST_CASE("stages that are not equal are for runtimes that have them") {
    job j = training(models::llama_3_1_8b, 64);
    j.model.layers = {30, models::llama_3_1_8b.layers[0]};  // with the embedding and the loss they are 32
    j.runtime.layouts.uneven_stages = true;
    CHECK(values(tried(j, 8), &layout::pipeline).contains(8));
    j.runtime.layouts.uneven_stages = false;
    CHECK_FALSE(values(tried(j, 8), &layout::pipeline).contains(8));
}

TEST_CASE("serving asks a runtime for no ZeRO stage") {
    job j = serving(models::llama_3_1_8b);
    j.runtime.layouts.least_zero = 2;
    CHECK(unrun_degree_of(j, {}).name.empty());
    j = training(models::llama_3_1_8b, 64);
    j.runtime.layouts.least_zero = 2;
    CHECK(unrun_degree_of(j, {.data = 2, .zero = 1}).name == "zero");
}

TEST_CASE("tensor ranks that train share norms and residuals where the sequence can be split over them") {
    for (const auto& [length, shares] : {std::pair{8192, true}, {8191, false}}) {
        job j = training(models::llama_3_1_8b, 64);
        j.sequence = tokens(length);
        const std::vector<layout> all = tried(j, 8);
        CHECK_FALSE(all.empty());
        for (const layout& l : all) CHECK(l.sequence_parallel == (shares && l.tensor > 1));
        CHECK(values(all, &layout::context_parallel).contains(2) == shares);
    }
    for (const layout& l : tried(serving(models::llama_3_1_8b), 8)) CHECK_FALSE(l.sequence_parallel);
}

TEST_CASE("experts on one rank are split by the tensor ranks, as all else") {
    for (const layout& l : tried(training(models::mixtral_8x7b, 64), 8))
        if (l.expert == 1) CHECK(l.expert_tensor_ranks() == l.tensor);
}

TEST_CASE("a walk that trains stops at the layout that is taken, whatever its ZeRO stage") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const job j = training(models::llama_3_1_8b, 64);
    const std::vector<layout> all = tried(j, 8);
    for (const std::size_t stop : {std::size_t{0}, all.size() / 3, all.size() / 2, all.size() - 1}) {
        std::size_t calls = 0;
        CHECK(for_each_layout(j, {}, c, [&](const layout& l) {
            CHECK(l == all[calls]);
            return calls++ == stop;
        }));
        CHECK(calls == stop + 1);
    }
}

TEST_CASE("data ranks of a batch are its divisors, and no more than there is room for") {
    const layout_space data_alone{.tensor = false, .pipeline = false, .context_parallel = false, .zero = false};
    CHECK(values(tried(training(models::llama_3_1_8b, 4), 16, data_alone), &layout::data) ==
          std::set<std::int32_t>{1, 2, 4});
    CHECK(values(tried(training(models::llama_3_1_8b, 64), 16, data_alone), &layout::data) ==
          std::set<std::int32_t>{1, 2, 4, 8, 16});
}

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

model cut(const model& m, std::int32_t layers) {
    model less = m;
    less.layers = {layers, m.layers[m.layers.size - 1]};
    return less;
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

TEST_CASE("what keeps a tensor degree from splitting a model evenly is named with its size, one of it being enough") {
    layout_rules rules;
    const auto part = [&](const model& m, std::int32_t tensor) {
        const detail::uneven_part found = detail::uneven_under(m, rules, tensor);
        return std::string{found.what} + " " + std::to_string(found.size);
    };
    model m = models::llama_3_1_8b;
    CHECK(part(m, 8) == " 0");
    m.vocabulary = 1001;
    CHECK(part(m, 8) == " 0");  // it is padded to a multiple of the ranks
    rules.split.vocabulary_multiple = 1;
    CHECK(part(m, 8) == "rows of the padded vocabulary 1001");
    rules.split.vocabulary_multiple = 64;
    CHECK(part(m, 8) == " 0");
    CHECK(part(m, 1) == " 0");
    rules.split.vocabulary_multiple = 0;
    for (layer& kind : m.layers.kinds) kind.attention.kv_heads = 1;
    CHECK(part(m, 8) == " 0");  // copied
    rules.split.copies_kv_heads = false;
    CHECK(part(m, 8) == "key-value heads 1");
    for (layer& kind : m.layers.kinds) kind.attention.kv_heads = 0;
    CHECK(part(m, 8) == " 0");
    rules.split.copies_kv_heads = true;
    CHECK(part(m, 8) == " 0");
    for (layer& kind : m.layers.kinds) kind.attention = {.kind = attention_kind::none, .heads = 7, .kv_heads = 7};
    CHECK(part(m, 8) == " 0");  // no heads are there
    model moe = models::deepseek_v2_lite;
    for (layer& kind : moe.layers.kinds) kind.feed_forward.experts.shared_width = 2818;
    CHECK(part(moe, 4) == "shared experts' features 2818");
    rules.split.pads_width = true;
    CHECK(part(moe, 4) == " 0");
}

TEST_CASE("a runtime for powers of two takes no other tensor ranks") {
    layout_rules rules;
    rules.split.pads_width = rules.split.power_of_two = true;
    model m = models::llama_3_1_8b;
    for (layer& kind : m.layers.kinds) kind.attention.heads = kind.attention.kv_heads = 24;
    for (const auto& [tensor, splits] : {std::pair{1, true}, {2, true}, {3, false}, {4, true}, {6, false}, {8, true}})
        CHECK(detail::splits_evenly(m, rules, tensor) == splits);
    rules.split.power_of_two = false;
    for (const std::int32_t tensor : {1, 2, 3, 4, 6, 8}) CHECK(detail::splits_evenly(m, rules, tensor));
    rules.tensor = false;
    CHECK(detail::splits_evenly(m, rules, 1));
    CHECK_FALSE(detail::splits_evenly(m, rules, 2));
}

TEST_CASE("a model of one expert is shared by one rank, and one of none likewise") {
    model m = models::mixtral_8x7b;
    for (layer& kind : m.layers.kinds) kind.feed_forward.experts.count = 1;
    CHECK(detail::splits_experts(m, 1, 1));
    CHECK_FALSE(detail::splits_experts(m, 2, 1));
    CHECK(detail::splits_experts(models::llama_3_1_8b, 1, 8));
    CHECK_FALSE(detail::splits_experts(models::llama_3_1_8b, 2, 1));
    CHECK_FALSE(detail::splits_experts(models::mixtral_8x7b, 1, 9));
}

TEST_CASE("stages that a caller describes stay as they are, and those of a naive pipeline, too") {
    job j = training(cut(models::llama_3_1_8b, 6), 24);
    layout given{.pipeline = 4, .last_stage_layers = 3};
    const layout before = given;
    CHECK(detail::split_stages(j, given));
    CHECK(given == before);
    layout five{.pipeline = 5};  // neither divides 6 nor 8
    CHECK_FALSE(detail::split_stages(j, five));
    j.runtime.pipeline.naive = true;
    five = {.pipeline = 5};
    CHECK(detail::split_stages(j, five));
    CHECK(five == layout{.pipeline = 5});
    layout one{.virtual_pipeline = 2};
    CHECK_FALSE(detail::split_stages(j, one));
    j.runtime.pipeline.naive = false;
    layout eight{.pipeline = 8};  // of which the embedding and the loss would be two
    CHECK_FALSE(detail::split_stages(j, eight));
}

TEST_CASE("the first degree that a runtime does not have is named before one that it may have") {
    job j = training(models::mixtral_8x7b, 64);
    j.runtime.layouts = {};
    j.runtime.layouts.tensor = j.runtime.layouts.pipeline = j.runtime.layouts.expert = false;
    j.runtime.layouts.untried = {.tensor = true, .pipeline = true};
    const layout all{.tensor = 2, .pipeline = 3, .data = 4, .expert = 4};
    CHECK(unrun_degree_of(j, all).name == "expert");
    CHECK(unrun_degree_of(j, all).degree == 4);
    CHECK_FALSE(unrun_degree_of(j, all).untried);
    const layout may{.tensor = 2, .pipeline = 3};
    CHECK(unrun_degree_of(j, may).name == "tensor");
    CHECK(unrun_degree_of(j, may).degree == 2);
    CHECK(unrun_degree_of(j, may).untried);
    unrun_degree none = unrun_degree_of(j, {});
    CHECK(none.name.empty());
    CHECK(none.degree == 1);
    CHECK_FALSE(none.untried);
    CHECK(unrun_degree{}.degree == 1);
    CHECK(cut_blocks{}.size + cut_blocks{}.block == 0);
}

TEST_CASE("data ranks are found only for degrees of one and more, and for GPUs that are there") {
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    for (std::int32_t layout::* degree :
         {&layout::tensor, &layout::pipeline, &layout::context_parallel, &layout::replicas}) {
        layout l{.data = 5};
        l.*degree = 0;
        CHECK(with_data_ranks(l, training(models::llama_3_1_8b, 64), eight) == l);
    }
    CHECK(with_data_ranks({.tensor = 8, .data = 5}, serving(models::llama_3_1_8b), eight).data == 1);
    CHECK(with_data_ranks({.tensor = 16, .data = 5}, training(models::llama_3_1_8b, 64), eight).data == 1);
    CHECK(with_data_ranks({.data = 5}, training(models::llama_3_1_8b, 1), eight).data == 1);
    CHECK(with_data_ranks({.data = 5}, training(models::llama_3_1_8b, 0), eight).data == 8);
    job odd = training(models::llama_3_1_8b, 7);
    odd.micro_batch = 2;  // which no number of ranks makes whole
    CHECK(with_data_ranks({.data = 5}, odd, eight).data == 1);
    job naive = training(models::llama_3_1_8b, 64, runtimes::huggingface);
    naive.runtime.pipeline.naive = true;
    CHECK(with_data_ranks({.pipeline = 2}, naive, eight).data == 1);
    CHECK(with_data_ranks({}, naive, eight).data == 8);
    CHECK(with_data_ranks({.pipeline = 2}, training(models::llama_3_1_8b, 64), eight).data == 4);
}

TEST_CASE("stages of a naive pipeline have no data ranks beside them") {
    job naive = training(models::llama_3_1_8b, 24, runtimes::huggingface);
    naive.runtime.pipeline.naive = naive.runtime.layouts.pipeline = true;
    for (const std::int64_t batch : {0, 24}) {
        naive.global_batch = batch;
        const std::vector<layout> all = tried(naive, 8);
        for (const layout& l : all) CHECK((l.pipeline == 1 || l.data == 1));
        CHECK(values(all, &layout::pipeline).contains(8));
        CHECK(values(all, &layout::pipeline).contains(2) == (batch > 0));  // without a batch they fill the GPUs
        CHECK(values(all, &layout::data).contains(8));
    }
}
