// SPDX-License-Identifier: MIT
#include <llmres/jobs/layouts.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/litgpt.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "walked_jobs.hpp"

using namespace llmres;
using namespace walked_jobs;

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
