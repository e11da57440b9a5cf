// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
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
