// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <algorithm>
#include <cstdint>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <vector>

using namespace llmres;

TEST_CASE("a replica takes tensor x pipeline x data x context_parallel GPUs") {
    constexpr layout l{.tensor = 2, .pipeline = 3, .data = 4, .context_parallel = 5, .replicas = 6};
    static_assert(l.gpus_per_replica() == 120);
    static_assert(l.gpus() == 720);
    CHECK(l.dense_data_ranks() == 20);
}

TEST_CASE("degrees whose product leaves 64 bits are too many GPUs, not none") {
    constexpr layout l{.tensor = 16, .data = 1 << 20, .context_parallel = 1 << 20, .replicas = 1 << 20};
    static_assert(l.gpus() > std::int64_t{1} << 62);
    CHECK(validate(l, models::llama_3_1_8b).error().field == "layout");
}

TEST_CASE("experts are distributed over ranks that the other degrees already count") {
    // Megatron-Core: experts cut as everything else is, over the data ranks.
    constexpr layout megatron{.tensor = 2, .data = 8, .expert = 4};
    static_assert(megatron.gpus() == 16);
    static_assert(megatron.expert_data_ranks() == 2);
    // vLLM: whole experts over all tensor and data ranks.
    constexpr layout serving{.tensor = 8, .data = 2, .expert = 16, .expert_tensor = 1};
    static_assert(serving.expert_data_ranks() == 1);
    CHECK(validate(serving, models::mixtral_8x7b).error().field == "layout.expert");  // eight experts for sixteen ranks
}

TEST_CASE("stages cover every layer once, and differ by one layer at most") {
    for (std::int32_t layers = 1; layers <= 130; ++layers)
        for (std::int32_t stages = 1; stages <= layers && stages <= 32; ++stages) {
            std::int32_t next = 0;
            for (std::int32_t stage = 0; stage < stages; ++stage) {
                const stage_range range = stage_layers(layers, stages, stage);
                REQUIRE(range.first == next);
                REQUIRE(range.size() >= layers / stages);
                REQUIRE(range.size() <= layers / stages + 1);
                next = range.last;
            }
            REQUIRE(next == layers);
        }
}

TEST_CASE("degrees that do not go round are refused with the number that they must divide") {
    const status s = validate({.tensor = 7}, models::llama_3_1_8b);
    REQUIRE_FALSE(s);
    CHECK(s.error().field == "layout.tensor");
    CHECK(s.error().value == "7");
    CHECK(s.error().expected == "a divisor of the model's attention heads, 32");
    CHECK(validate({.pipeline = 33}, models::llama_3_1_8b).error().field == "layout.pipeline");
    const status chunks = validate({.pipeline = 16, .virtual_pipeline = 4}, models::llama_3_1_8b);
    REQUIRE_FALSE(chunks);
    CHECK(chunks.error().field == "layout.virtual_pipeline");
    CHECK(chunks.error().value == "4");
    CHECK(chunks.error().expected == "at most one chunk a layer, of each stage at most 2");
    CHECK(validate({.pipeline = 16, .virtual_pipeline = 2}, models::llama_3_1_8b));
    CHECK(validate({.sequence_parallel = true}, models::llama_3_1_8b).error().field == "layout.sequence_parallel");
    CHECK(validate({.tensor = 4, .sequence_parallel = true}, models::llama_3_1_8b));
    CHECK(validate({.data = 4, .expert = 3}, models::mixtral_8x7b).error().field == "layout.expert");
    CHECK(validate({.data = 1 << 20, .replicas = 1 << 20}, models::llama_3_1_8b).error().field == "layout");
}

namespace {

/// Layers of each stage.
std::vector<std::int32_t> layers_of(const layout& l, std::int32_t layers) {
    std::vector<std::int32_t> found;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) found.push_back(layers_of_stage(l, layers, stage).size());
    return found;
}

}  // namespace

TEST_CASE(
    "the first and the last stage may hold other numbers of layers, and the embedding and the loss count as layers") {
    using counts = std::vector<std::int32_t>;
    CHECK(layers_of({.pipeline = 4, .first_stage_layers = 6}, 30) == counts{6, 8, 8, 8});
    CHECK(layers_of({.pipeline = 4, .first_stage_layers = 6, .last_stage_layers = 4}, 30) == counts{6, 10, 10, 4});
    CHECK(layers_of({.pipeline = 2, .first_stage_layers = 20, .last_stage_layers = 12}, 32) == counts{20, 12});
    CHECK(layers_of({.pipeline = 4, .embedding_as_layer = true, .loss_as_layer = true}, 30) == counts{7, 8, 8, 7});
    CHECK(layers_of({.pipeline = 2, .virtual_pipeline = 2, .loss_as_layer = true}, 31) == counts{16, 15});
    CHECK(validate({.pipeline = 4, .first_stage_layers = 8}, models::llama_3_1_8b));
    CHECK(validate({.pipeline = 4, .first_stage_layers = 7}, models::llama_3_1_8b).error().field ==
          "layout.first_stage_layers");  // 25 over 3
    CHECK(validate({.pipeline = 4, .first_stage_layers = 33}, models::llama_3_1_8b).error().field ==
          "layout.first_stage_layers");
    CHECK(validate({.pipeline = 2, .first_stage_layers = 20, .loss_as_layer = true}, models::llama_3_1_8b)
              .error()
              .field == "layout.stages");
    CHECK(most_layers({.pipeline = 4, .first_stage_layers = 6, .last_stage_layers = 4}, 30) == 10);
}

TEST_CASE("chunks must be as many as the pipeline has, and hold all layers") {
    const model& m = models::llama_3_1_8b;
    CHECK(validate({.pipeline = 2, .stages = read_stages("20|12").value()}, m));
    CHECK(validate({.pipeline = 2, .stages = read_stages("20|11").value()}, m).error().expected ==
          "stages that hold all layers of the model, 32");
    CHECK(validate({.pipeline = 3, .stages = read_stages("20|12").value()}, m).error().expected ==
          "pipeline x virtual_pipeline chunks: 3");
    CHECK(validate({.pipeline = 2, .virtual_pipeline = 2, .stages = read_stages("E|16|15|1L").value()},
                   m));  // an embedding alone
    CHECK(validate({.pipeline = 1 << 20, .virtual_pipeline = 1 << 20, .stages = read_stages("32").value()}, m)
              .error()
              .field == "layout.stages");
    CHECK(validate({.pipeline = 2, .schedule = pipeline_schedule::zb_v}, m).error().field == "layout.schedule");
    CHECK(validate({.pipeline = 2, .virtual_pipeline = 2, .schedule = pipeline_schedule::zb_v}, m));
    CHECK(validate({.pipeline = 2, .virtual_pipeline = 2, .schedule = pipeline_schedule::zb_h1}, m).error().field ==
          "layout.schedule");
}

TEST_CASE("interleaved chunks and the arms of a V hold every layer once") {
    for (const pipeline_schedule schedule : {pipeline_schedule::one_forward_one_backward, pipeline_schedule::zb_v})
        for (std::int32_t stages = 1; stages <= 8; ++stages) {
            const layout l{.pipeline = stages,
                           .virtual_pipeline = 2,
                           .schedule = schedule,
                           .loss_as_layer = schedule != pipeline_schedule::zb_v};
            const std::int32_t layers = 4 * stages + 3;
            std::vector<int> held(static_cast<std::size_t>(layers));
            for (std::int32_t stage = 0; stage < stages; ++stage)
                for_each_chunk(l, layers, stage, [&](stage_range range, std::int32_t) {
                    for (std::int32_t i = range.first; i < range.last; ++i) ++held[static_cast<std::size_t>(i)];
                });
            CHECK(held == std::vector<int>(static_cast<std::size_t>(layers), 1));
        }
    constexpr layout v{.pipeline = 4, .virtual_pipeline = 2, .schedule = pipeline_schedule::zb_v};
    static_assert(v.stage_of(0) == 0 && v.stage_of(3) == 3 && v.stage_of(4) == 3 && v.stage_of(7) == 0);
    static_assert(v.last_stage() == 0);
}

TEST_CASE("chunks of a stage follow each other as chunk_layers() counts them, whatever partitions the layers") {
    std::vector<layout> uneven{
        {.pipeline = 4, .stages = read_stages("5|7|8|4").value()},
        {.pipeline = 2, .virtual_pipeline = 2, .stages = read_stages("5|7|8|4").value()},
        {.pipeline = 4, .first_stage_layers = 3},
        {.pipeline = 4, .last_stage_layers = 3},
        {.pipeline = 3, .last_stage_layers = 4},
        {.pipeline = 7, .loss_as_layer = true},
        {.pipeline = 4, .first_stage_layers = 5, .last_stage_layers = 5},
        {.pipeline = 2, .first_stage_layers = 10, .last_stage_layers = 14},
        {.pipeline = 13, .embedding_as_layer = true, .loss_as_layer = true},
        {.pipeline = 5, .embedding_as_layer = true},
        {.pipeline = 5, .virtual_pipeline = 5, .loss_as_layer = true},
        {.pipeline = 4, .virtual_pipeline = 2, .schedule = pipeline_schedule::zb_v},
    };
    for (const layout& l : uneven) {
        REQUIRE_FALSE(l.deals_evenly());
        std::int32_t seen = 0;
        std::int32_t before_stage = 0;
        for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
            std::int32_t here = 0, last_chunk = -1;
            for_each_chunk(l, 24, stage, [&](stage_range range, std::int32_t chunk) {
                CHECK(chunk > last_chunk);
                CHECK(l.stage_of(chunk) == stage);
                CHECK(range.size() == chunk_layers(l, 24, chunk));
                std::int32_t first = 0;
                for (std::int32_t c = 0; c < chunk; ++c) first += chunk_layers(l, 24, c);
                CHECK(range.first == first);
                last_chunk = chunk;
                here += range.size();
            });
            CHECK(count_layers_of_stage(l, 24, stage) == here);
            CHECK(layers_of_stage(l, 24, stage).first == before_stage);
            CHECK(layers_of_stage(l, 24, stage).size() == here);
            before_stage += here;
            seen += here;
        }
        CHECK(seen == 24);
    }
}

TEST_CASE("the span of a kind goes from its first layer to its last, and is empty where there is none") {
    const layer_stack& layers = models::llama_4_scout.layers;  // three chunked layers and a whole one, by turns
    const stage_range second = span_of(layers, layers.order[3], {0, 48});
    CHECK(second.first == 3);
    CHECK(second.last == 48);
    CHECK(span_of(layers, layers.order[0], {1, 47}).last == 47);
    CHECK(span_of(layers, layers.order[0], {3, 4}).size() == 0);
    CHECK(span_of(layers, layers.order[0], {3, 4}).first == 4);
}

TEST_CASE("layers that the first or the last stage is not given are dealt to the others, one of them being enough") {
    CHECK(chunk_layers({.pipeline = 4, .first_stage_layers = 1}, 31, 0) == 1);
    for (const int chunk : {1, 2, 3}) CHECK(chunk_layers({.pipeline = 4, .first_stage_layers = 1}, 31, chunk) == 10);
    for (const int chunk : {0, 1, 2}) CHECK(chunk_layers({.pipeline = 4, .last_stage_layers = 1}, 31, chunk) == 10);
    CHECK(chunk_layers({.pipeline = 4, .last_stage_layers = 1}, 31, 3) == 1);
}

TEST_CASE("stages are partitioned in one way alone") {
    const model& m = models::llama_3_1_8b;
    const stage_list stages = read_stages("16|16").value();
    for (const layout& l : {layout{.pipeline = 2, .stages = stages, .first_stage_layers = 16},
                            layout{.pipeline = 2, .stages = stages, .embedding_as_layer = true},
                            layout{.pipeline = 2, .first_stage_layers = 15, .loss_as_layer = true}}) {
        const status s = validate(l, m);
        REQUIRE_FALSE(s);
        CHECK(s.error().field == "layout.stages");
        CHECK(s.error().expected.view().starts_with("one way to partition layers"));
    }
}

TEST_CASE("ranks with the same experts are all ranks over those that hold other parts of them") {
    CHECK(layout{.tensor = 2, .data = 4, .expert = 4, .expert_tensor = 1}.expert_data_ranks() == 2);
    CHECK(layout{.tensor = 2, .data = 4, .expert = 4}.expert_data_ranks() == 1);
    CHECK(layout{.tensor = 8, .expert = 8, .expert_tensor = 1}.expert_data_ranks() == 1);
    CHECK(layout{.tensor = 2, .data = 4, .context_parallel = 2}.expert_data_ranks() == 8);
}

TEST_CASE("what ZeRO shards is shared by the ranks of one replica of shards, and by one rank at least") {
    CHECK(layout{.data = 8, .zero = 3, .shard_replicas = 2}.dense_shard_ranks() == 4);
    CHECK(layout{.data = 8, .zero = 3, .shard_replicas = 2}.expert_shard_ranks() == 4);
    CHECK(layout{.data = 8, .expert = 4, .zero = 3}.expert_shard_ranks() == 2);
    CHECK(layout{.data = 8, .expert = 4, .zero = 3, .shard_replicas = 2}.expert_shard_ranks() == 1);
    CHECK(layout{.data = 8, .expert = 2, .zero = 3, .shard_replicas = 2}.expert_shard_ranks() == 2);
}

TEST_CASE("a stage repeats the one before it where it has as many layers of each kind; the first repeats none") {
    const layer_stack& alike = models::llama_3_1_8b.layers;  // 32 of one kind
    CHECK_FALSE(repeats_layers_before(alike, {.pipeline = 4}, 0));
    for (const int stage : {1, 2, 3}) CHECK(repeats_layers_before(alike, {.pipeline = 4}, stage));
    CHECK_FALSE(repeats_layers_before(alike, {.pipeline = 5}, 0));
    CHECK(repeats_layers_before(alike, {.pipeline = 5}, 1));
    CHECK_FALSE(repeats_layers_before(alike, {.pipeline = 5}, 2));  // 7, 7, 6, 6, 6
    CHECK(repeats_layers_before(alike, {.pipeline = 5}, 3));
    CHECK_FALSE(repeats_layers_before(alike, {.pipeline = 4, .last_stage_layers = 5}, 3));
    CHECK(repeats_layers_before(alike, {.pipeline = 4, .last_stage_layers = 5}, 2));
}

namespace {

/// Whether the split of a layout is another where one of its fields is changed; then its mix is another, too.
template <class Split, class Change>
bool depends(const Change& change, const layout& from = {.tensor = 2, .data = 2}) {
    layout to = from;
    change(to);
    const bool same = Split{from} == Split{to};
    CHECK((Split{from}.mix() == Split{to}.mix()) == same);
    return !same;
}

}  // namespace

TEST_CASE("a layer's tensors depend on how they are cut, on whether there are stages, and on ZeRO 3") {
    CHECK(depends<layer_split>([](layout& l) { l.tensor = 4; }));
    CHECK(depends<layer_split>([](layout& l) { l.context_parallel = 2; }));
    CHECK(depends<layer_split>([](layout& l) { l.expert = 2; }));
    CHECK(depends<layer_split>([](layout& l) { l.expert_tensor = 1; }));
    CHECK(depends<layer_split>([](layout& l) { l.sequence_parallel = true; }));
    CHECK(depends<layer_split>([](layout& l) { l.cp_comm_type = cp_communication::a2a; }));
    CHECK(depends<layer_split>([](layout& l) { l.zero = 3; }));
    CHECK(depends<layer_split>([](layout& l) { l.pipeline = 2; }));
    CHECK_FALSE(depends<layer_split>([](layout& l) { l.pipeline = 4; }, {.tensor = 2, .pipeline = 2}));
    CHECK_FALSE(depends<layer_split>([](layout& l) { l.zero = 2; }));
    CHECK_FALSE(depends<layer_split>([](layout& l) { l.data = 8; }));
    CHECK_FALSE(depends<layer_split>([](layout& l) { l.expert_tensor = 2; }));  // as many as tensor ranks
}

TEST_CASE("what is kept of weights depends on ZeRO's stage and shards, of which there are none without it") {
    for (const std::int32_t zero : {1, 2, 3}) CHECK(depends<zero_split>([&](layout& l) { l.zero = zero; }));
    CHECK_FALSE(depends<zero_split>([](layout& l) { l.data = 8; }));
    CHECK_FALSE(depends<zero_split>([](layout& l) { l.shard_replicas = 2; }));
    const layout sharded{.data = 8, .zero = 1};
    CHECK(depends<zero_split>([](layout& l) { l.data = 16; }, sharded));
    CHECK(depends<zero_split>([](layout& l) { l.shard_replicas = 2; }, sharded));
    CHECK(zero_split{sharded}.dense_ranks == 8);
    CHECK(zero_split{layout{.data = 8, .expert = 4, .zero = 1}}.expert_ranks == 2);
    CHECK(zero_split{layout{.data = 8, .expert = 4, .zero = 1}}.dense_ranks == 8);
    CHECK(zero_split{layout{.data = 8, .expert = 4}}.expert_ranks == 1);
}

TEST_CASE("the layers of each stage depend on how they are dealt") {
    CHECK(depends<stage_split>([](layout& l) { l.pipeline = 2; }));
    CHECK(depends<stage_split>([](layout& l) { l.virtual_pipeline = 2; }));
    CHECK(depends<stage_split>([](layout& l) { l.first_stage_layers = 2; }));
    CHECK(depends<stage_split>([](layout& l) { l.last_stage_layers = 2; }));
    CHECK(depends<stage_split>([](layout& l) { l.embedding_as_layer = true; }));
    CHECK(depends<stage_split>([](layout& l) { l.loss_as_layer = true; }));
    CHECK(depends<stage_split>([](layout& l) { l.schedule = pipeline_schedule::zb_v; }));
    CHECK_FALSE(depends<stage_split>([](layout& l) { l.schedule = pipeline_schedule::gpipe; }));
    CHECK_FALSE(depends<stage_split>([](layout& l) { l.tensor = 4; }));
    CHECK_FALSE(depends<stage_split>([](layout& l) { l.data = 8; }));
}

TEST_CASE("a split of which nothing is said is that of one GPU") {
    layer_split layer;
    zero_split shards;
    stage_split stages;
    layout one;
    CHECK(layer == layer_split{one});
    CHECK(shards == zero_split{one});
    CHECK(stages == stage_split{one});
}

TEST_CASE("splits that differ in any of their fields are told apart, whichever others differ") {
    std::vector<layout> all;
    for (const bool sequence_parallel : {false, true})
        for (const std::int32_t pipeline : {1, 2})
            for (const std::int32_t zero : {0, 3})
                for (const bool embedding : {false, true})
                    for (const bool loss : {false, true})
                        for (const auto schedule :
                             {pipeline_schedule::one_forward_one_backward, pipeline_schedule::zb_v})
                            all.push_back({.tensor = 2,
                                           .sequence_parallel = sequence_parallel,
                                           .pipeline = pipeline,
                                           .zero = zero,
                                           .schedule = schedule,
                                           .embedding_as_layer = embedding,
                                           .loss_as_layer = loss});
    for (const layout& a : all)
        for (const layout& b : all) {
            const bool same_layer =
                a.sequence_parallel == b.sequence_parallel && a.zero == b.zero && (a.pipeline > 1) == (b.pipeline > 1);
            CHECK((layer_split{a} == layer_split{b}) == same_layer);
            CHECK((layer_split{a}.mix() == layer_split{b}.mix()) == same_layer);
            const bool same_stages = a.pipeline == b.pipeline && a.schedule == b.schedule &&
                                     a.embedding_as_layer == b.embedding_as_layer && a.loss_as_layer == b.loss_as_layer;
            CHECK((stage_split{a} == stage_split{b}) == same_stages);
            CHECK((stage_split{a}.mix() == stage_split{b}.mix()) == same_stages);
        }
}

TEST_CASE("the GPUs of a replica are the product of its four degrees, whichever is above one") {
    for (std::int32_t layout::* degree :
         {&layout::tensor, &layout::pipeline, &layout::data, &layout::context_parallel}) {
        layout l;
        l.*degree = 6;
        CHECK(l.gpus_per_replica() == 6);
    }
}

TEST_CASE("stages that are given one layer at an end deal the rest, and hold the first or the last layers") {
    for (const std::int32_t ends : {0, 1, 5})
        for (const std::int32_t lasts : {0, 1, 5}) {
            const layout l{.pipeline = 4, .first_stage_layers = ends, .last_stage_layers = lasts};
            if (l.deals_evenly()) continue;
            const std::int32_t others = 4 - (ends > 0) - (lasts > 0), layers = ends + lasts + 3 * others;
            std::vector<std::int32_t> expected;
            for (std::int32_t stage = 0; stage < 4; ++stage)
                expected.push_back(stage == 0 && ends > 0 ? ends : stage == 3 && lasts > 0 ? lasts : 3);
            CHECK(layers_of(l, layers) == expected);
            CHECK(most_layers(l, layers) == *std::max_element(expected.begin(), expected.end()));
        }
    CHECK(most_layers({.pipeline = 4}, 29) == 8);
    CHECK(most_layers({.pipeline = 4}, 32) == 8);
    CHECK(most_layers({.pipeline = 3, .stages = read_stages("1|2|0").value()}, 3) == 2);
    CHECK(most_layers({.pipeline = 3, .stages = read_stages("3|0|0").value()}, 3) == 3);
    CHECK(most_layers({.pipeline = 2, .stages = read_stages("0|0").value()}, 0) == 0);
    CHECK(count_layers_of_stage({.pipeline = 2, .stages = read_stages("0|7").value()}, 7, 0) == 0);
    CHECK(count_layers_of_stage({.stages = read_stages("7").value()}, 7, 0) == 7);  // a list of one chunk
    // Both ends of two stages are given: nothing is left for others.
    CHECK(chunk_layers({.pipeline = 2, .first_stage_layers = 3, .last_stage_layers = 4}, 7, 0) == 3);
}

TEST_CASE("layers in the order of the stages: each stage's own, one after the other") {
    layer_stack layers;  // every layer is of a kind of its own width
    const std::int32_t count = 8;
    for (std::int32_t i = 0; i < count; ++i) {
        layer kind = models::llama_3_1_8b.layers[0];
        kind.feed_forward.width = i + 1;
        REQUIRE(layers.append(1, kind));
    }
    const auto widths = [&](const layout& l) {
        const layer_stack by_stage = ordered_by_stage(layers, l);
        std::vector<std::int64_t> found;
        for (std::int32_t i = 0; i < by_stage.size; ++i) found.push_back(by_stage[i].feed_forward.width);
        return found;
    };
    using order = std::vector<std::int64_t>;
    CHECK(widths({.pipeline = 4}) == order{1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(widths({.pipeline = 2, .stages = read_stages("3|5").value()}) == order{1, 2, 3, 4, 5, 6, 7, 8});
    // Two stages of two chunks: the first holds the first and the third quarter.
    CHECK(widths({.pipeline = 2, .virtual_pipeline = 2, .stages = read_stages("2|2|2|2").value()}) ==
          order{1, 2, 5, 6, 3, 4, 7, 8});
    CHECK(widths({.pipeline = 2, .virtual_pipeline = 2, .schedule = pipeline_schedule::zb_v}) ==
          order{1, 2, 7, 8, 3, 4, 5, 6});
}

TEST_CASE("a stage repeats the one before it where its layers are of the same kinds, as many of each") {
    layer_stack pairs;  // two kinds by turns
    for (std::int32_t i = 0; i < 12; ++i) {
        layer kind = models::llama_3_1_8b.layers[0];
        kind.feed_forward.width += i % 2;
        REQUIRE(pairs.append(1, kind));
    }
    for (std::int32_t stage = 1; stage < 6; ++stage) CHECK(repeats_layers_before(pairs, {.pipeline = 6}, stage));
    for (std::int32_t stage = 0; stage < 4; ++stage)  // three layers each: two of one kind, then two of the other
        CHECK_FALSE(repeats_layers_before(pairs, {.pipeline = 4}, stage));
    for (std::int32_t stage = 0; stage < 12; ++stage)
        CHECK_FALSE(repeats_layers_before(pairs, {.pipeline = 12}, stage));
    CHECK_FALSE(
        repeats_layers_before(pairs, {.pipeline = 2, .stages = read_stages("6|6").value()}, 1));  // not looked at
    layer_stack then;  // one of a kind, and all others alike
    layer first = models::llama_3_1_8b.layers[0];
    first.feed_forward.width += 1;
    REQUIRE(then.append(2, first));
    REQUIRE(then.append(6, models::llama_3_1_8b.layers[0]));
    CHECK_FALSE(repeats_layers_before(then, {.pipeline = 4}, 0));
    CHECK_FALSE(repeats_layers_before(then, {.pipeline = 4}, 1));
    CHECK(repeats_layers_before(then, {.pipeline = 4}, 2));
    CHECK(repeats_layers_before(then, {.pipeline = 4}, 3));
}

TEST_CASE("the span of a kind that ends before the range does, and of one that fills it") {
    layer_stack layers{2, models::llama_3_1_8b.layers[0]};
    layer other = models::llama_3_1_8b.layers[0];
    other.feed_forward.width += 1;
    REQUIRE(layers.append(3, other));
    CHECK(span_of(layers, 0, {0, 5}).first == 0);
    CHECK(span_of(layers, 0, {0, 5}).last == 2);
    CHECK(span_of(layers, 1, {0, 5}).first == 2);
    CHECK(span_of(layers, 1, {0, 5}).last == 5);
    CHECK(span_of(layers, 1, {0, 2}).size() == 0);
    CHECK(span_of(layers, 0, {2, 4}).size() == 0);
    CHECK(span_of(layers, 1, {2, 2}).size() == 0);
}

TEST_CASE("a stage of equal chunks is visited once, with as many layers as all of its chunks") {
    const layout l{.pipeline = 4, .virtual_pipeline = 2};
    std::int32_t visits = 0;
    for_each_chunk(l, 32, 1, [&](stage_range range, std::int32_t chunk) {
        ++visits;
        CHECK(chunk == 1);
        CHECK(range.first == 8);
        CHECK(range.last == 16);
    });
    CHECK(visits == 1);
}
