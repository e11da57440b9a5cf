// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/pipeline.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <numeric>
#include <string>
#include <string_view>

using namespace llmres;

namespace {

job trained(const model& m, std::int64_t micro_batches) {
    return {.model = m,
            .task = task::pretraining,
            .sequence = tokens(2048),
            .global_batch = micro_batches,
            .attention = attention_kernel::flash,
            .runtime = runtimes::megatron};
}

/// Activations of a stage at its fullest moment.
byte_count activations(const job& j, const layout& l, std::int32_t stage) {
    return training_memory(j, l, stage)[memory_term::activations].expected;
}

/// Layers of all chunks.
std::int32_t layers_of(const stage_list& list) {
    return std::accumulate(list.layers.begin(), list.layers.begin() + list.chunks, 0);
}

}  // namespace

TEST_CASE("chunks of layers are read as numbers, and as Megatron-Core writes them") {
    const stage_list numbers = read_stages("20|22|22|16").value();
    CHECK(numbers.chunks == 4);
    CHECK(layers_of(numbers) == 80);
    CHECK(numbers.prediction == 0);

    // pipeline_parallel_layer_layout.py's own example: [Ettt] + [tt] * 29 + [m] + [L].
    const stage_list deepseek = read_stages("Ettt|(tt|)*29,m|L").value();
    CHECK(deepseek.chunks == 32);
    CHECK(layers_of(deepseek) == 61);
    CHECK(deepseek.layers[0] == 3);
    CHECK(deepseek.layers[29] == 2);
    CHECK(deepseek.layers[31] == 0);
    CHECK(deepseek.prediction == 31);

    // Eight chunks on two stages: 3, 2, 2, 2 layers and 2, 2, 2, none.
    const layout l{.pipeline = 2, .virtual_pipeline = 4, .stages = read_stages("Et*3|(tt|)*6mL").value()};
    CHECK(layers_of_stage(l, 15, 0).size() == 9);
    CHECK(layers_of_stage(l, 15, 1).size() == 6);
    CHECK(l.stage_of(l.stages.prediction - 1) == 1);

    for (const char* wrong : {"20|x", "(tt", "(tt)", "t*", "()*2", "t*300", "(t|)*200", "t*99999"}) {
        CAPTURE(wrong);
        const auto read = read_stages(wrong);
        REQUIRE_FALSE(read);
        CHECK(read.error().field == "layout.stages");
        CHECK_FALSE(read.error().expected.empty());
    }
}

TEST_CASE("a schedule holds the micro-batches between their forward and backward passes") {
    using enum pipeline_schedule;
    const auto in_flight = [](pipeline_schedule s, std::int32_t stage, std::int64_t rounds) {
        return detail::in_flight({.pipeline = 8, .virtual_pipeline = s == zb_v ? 2 : 1, .schedule = s}, stage, rounds);
    };
    for (const std::int32_t stage : {0, 3, 7}) {
        CAPTURE(stage);
        CHECK(in_flight(one_forward_one_backward, stage, 64) == 8 - stage);
        CHECK(in_flight(gpipe, stage, 64) == 64);
        CHECK(in_flight(zb_h1, stage, 64) == 8 - stage);
        CHECK(in_flight(zb_h2, stage, 64) == 2 * (8 - stage) - 1);
        CHECK(in_flight(zb_v, stage, 64) == 8);
        CHECK(detail::deferred_micro_batches({.pipeline = 8, .schedule = zb_h1}, stage, 64) == stage);
        CHECK(detail::deferred_micro_batches({.pipeline = 8, .schedule = zb_h2}, stage, 64) == 2 * stage);
        CHECK(detail::deferred_micro_batches({.pipeline = 8}, stage, 64) == 0);
        for (const pipeline_schedule s : {one_forward_one_backward, gpipe, zb_h1, zb_h2, zb_v})
            CHECK(in_flight(s, stage, 1) == 1);
    }
}

TEST_CASE("what gradients of weights need is 32 bytes a token and feature of a GPT layer") {
    // arXiv 2401.10241 table 1: M_W = 32 s b h, with the products of a plain feed-forward four times as wide.
    job j = trained(models::gpt2_xl, 8);
    j.sequence = tokens(1024);
    const layout l{.pipeline = 8};
    const training_context context{j, l};
    const byte_count needed = detail::needed_by_weights(j.model.layers.kinds[0], j.model.hidden, context, l);
    CHECK(needed == bytes(32) * 1024 * j.model.hidden);
}

TEST_CASE("zero-bubble stages hold what gradients of weights need, and the first no more than 1F1B's") {
    using enum pipeline_schedule;
    const job j = trained(models::llama_3_1_8b, 32);
    for (const std::int32_t stage : {0, 1, 2, 3}) {
        const byte_count plain = activations(j, {.pipeline = 4}, stage);
        const byte_count deferred = activations(j, {.pipeline = 4, .schedule = zb_h1}, stage);
        CAPTURE(stage);
        CHECK((stage == 0 ? deferred == plain : deferred > plain));
        CHECK(activations(j, {.pipeline = 4, .schedule = zb_h2}, stage) > deferred);
        CHECK(activations(j, {.pipeline = 4, .schedule = gpipe}, stage) >
              activations(j, {.pipeline = 4, .schedule = zb_h2}, stage));
    }
    CHECK(activations(j, {.pipeline = 4, .schedule = zb_h1}, 3) < activations(j, {.pipeline = 4}, 0));
}

TEST_CASE("a V has embedding and head on its first stage, and as much to keep on each") {
    const job j = trained(models::llama_3_1_8b, 32);
    const layout v{.pipeline = 4, .virtual_pipeline = 2, .schedule = pipeline_schedule::zb_v};
    const byte_count both = training_state_of(j, v, 0).weights;
    CHECK(both == training_state_of(j, v, 1).weights + size_of(bf16, 2 * j.model.vocabulary + 1, j.model.hidden));
    CHECK(training_state_of(j, v, 3).weights == training_state_of(j, v, 1).weights);
    const memory_breakdown first = training_memory(j, v, 0);
    CHECK(first.phase == phase::loss);
    // All layers' activations of one micro-batch, on each: p micro-batches of the p-th part.
    CHECK(activations(j, v, 1) == activations(j, v, 2));
}

TEST_CASE("uneven stages hold the layers they are given, and the fullest decides") {
    const job j = trained(models::llama_3_1_8b, 16);
    const layout even{.pipeline = 2};
    const layout uneven{.pipeline = 2, .stages = read_stages("12|20").value()};
    const byte_count layer = training_state_of(j, even, 0).weights -
                             training_state_of(j, {.pipeline = 2, .stages = read_stages("15|17").value()}, 0).weights;
    CHECK(training_state_of(j, uneven, 0).weights == training_state_of(j, even, 0).weights - layer * 4);
    CHECK(training_state_of(j, uneven, 1).weights == training_state_of(j, even, 1).weights + layer * 4);
    CHECK(training_memory(j, uneven).stage == 1);
    // The same layers, however they are written down.
    CHECK(training_memory(j, {.pipeline = 2, .first_stage_layers = 12}).ideal == training_memory(j, uneven).ideal);
    CHECK(training_memory(j, {.pipeline = 2, .stages = read_stages("16|16").value()}).ideal ==
          training_memory(j, even).ideal);
    // A step takes as long as its busiest stage: one of 20 layers, not of 16.
    const cluster c = *standard_cluster(gpus::h100_sxm5_80gb, 2);
    const duration busy = plan(j, even, c)->speed.step.total().expected;
    const duration waits = plan(j, uneven, c)->speed.step.total().expected - busy;
    CHECK(waits > busy * 0.1);
    CHECK(waits < busy * 0.26);
}

TEST_CASE("chunks that differ count with what each has in flight") {
    // Two stages of four chunks: seven passes before the first comes back, two each of the first three chunks, one of
    // the last.
    const layout l{.pipeline = 2, .virtual_pipeline = 4};
    const auto of = [&](std::array<double, 4> sizes, std::int64_t rounds) {
        std::array<double, stage_list::max_chunks> all{};
        for (std::size_t i = 0; i < 4; ++i) all[i] = sizes[i];
        return detail::in_flight_unevenly(l, 1, rounds, all).most;
    };
    CHECK(of({1, 1, 1, 1}, 8) == doctest::Approx(detail::in_flight(l, 1, 8)));
    CHECK(of({2, 2, 2, 0}, 2) == doctest::Approx(12.0 / 6));
    CHECK(of({2, 2, 2, 0}, 8) ==
          doctest::Approx(14.0 / 6));  // the first chunk's third, when the last chunk has come back
    CHECK(of({0, 0, 0, 1}, 8) == doctest::Approx(1));
    CHECK(of({0, 0, 0, 1}, 1) == doctest::Approx(1));
    CHECK(of({3, 0, 0, 0}, 8) == doctest::Approx(4));  // two more go forward before the first two come back
}

TEST_CASE("stages of serving hold as many layers as the layout says, or equally many") {
    job j{.model = models::llama_3_1_8b, .context = tokens(1024), .runtime = runtimes::llama_cpp};
    const cluster c = *standard_cluster(gpus::h100_sxm5_80gb, 2);
    const auto weights = [&](const char* stages, std::int32_t stage) {
        layout l{.pipeline = 2};
        if (stages != nullptr) l.stages = read_stages(stages).value();
        REQUIRE(plan(j, l, c));
        return serving_memory_of_stage(j, l, j.runtime, stage)[memory_term::weights].expected;
    };
    for (std::int32_t stage : {0, 1}) CHECK(weights("16|16", stage) == weights(nullptr, stage));
    const byte_count layer = weights("17|15", 0) - weights("16|16", 0);
    CHECK(weights("20|12", 0) == weights(nullptr, 0) + layer * 4);
    CHECK(weights("20|12", 1) == weights(nullptr, 1) - layer * 4);
    CHECK(memory_of(j, {.pipeline = 2, .stages = read_stages("20|12").value()}, c).stage == 0);
    CHECK(memory_of(j, {.pipeline = 2}, c).stage == 1);  // with the head
    const auto refused_field = [&](const layout& l) { return plan(j, l, c).error().field; };
    CHECK(refused_field({.pipeline = 2, .stages = read_stages("20|11").value()}) == "layout.stages");
    CHECK(refused_field({.pipeline = 2, .virtual_pipeline = 2}) == "layout.stages");
    CHECK(refused_field({.pipeline = 2, .embedding_as_layer = true}) == "layout.stages");
    j.options.gpu_layers = 20;
    CHECK(refused_field({.pipeline = 2, .stages = read_stages("20|12").value()}) == "layout.stages");
}

TEST_CASE("ratios split layers and the head as llama.cpp's --tensor-split does") {
    const auto split = [](std::string_view ratios, std::int32_t layers) {
        const result<stage_list> read = split_by_ratios(ratios, layers);
        std::string all;
        for (std::size_t i = 0; read && i < read->chunks; ++i) all += std::to_string(read->layers[i]) + " ";
        return all;
    };
    // 33 layers with the head: i / 33 < 3 / 4 up to i = 24.
    CHECK(split("3,1", 32) == "25 7 ");
    CHECK(split("1,1", 32) == "17 15 ");
    CHECK(split("0.5/0.25/0.25", 80) == "41 20 19 ");
    CHECK(split("0,1", 32) == "0 32 ");
    CHECK(split("24,24,12", 60) == split("2,2,1", 60));
    CHECK(split("1", 32) == "32 ");
    static_assert(split_by_ratios("3,1", 32).value().layers[0] == 25);
    for (const char* wrong : {"", "3,", ",1", "a,b", "-1,2", "0,0", "1..2,1", "1e9,1", "1234567890,1"}) {
        CAPTURE(wrong);
        const result<stage_list> read = split_by_ratios(wrong, 32);
        REQUIRE(!read);
        CHECK(read.error().field == "layout.tensor_split");
        CHECK(read.error().code == error_code::malformed);
    }
    CHECK(split_by_ratios("1", 256).error().code == error_code::out_of_range);
    std::string many = "1";
    for (int i = 0; i < 128; ++i) many += ",1";
    CHECK(!split_by_ratios(many, 32));
}

TEST_CASE("ratios are read digit by digit: only what they are of each other counts, and nine digits are read") {
    const auto same = [](std::string_view one, std::string_view other) {
        return split_by_ratios(one, 32).value() == split_by_ratios(other, 32).value();
    };
    CHECK(same("10,2", "5,1"));
    CHECK(same("100,300", "1,3"));
    CHECK(same("2.5,7.5", "1,3"));
    CHECK(same("0.25,12.5", "1,50"));
    CHECK(same("100000000,300000000", "1,3"));
    CHECK_FALSE(same("1,3", "3,1"));
}

TEST_CASE("a number of layers that leaves its integer is too many, and a list that ends in them is refused") {
    CHECK(read_stages("255").value().layers[0] == 255);
    for (const char* wrong : {"256", "100000", "4294967301", "99999999999999999999", "8|256", "(256|8)*2"}) {
        CAPTURE(wrong);
        const result<stage_list> read = read_stages(wrong);
        REQUIRE(!read);
        CHECK(read.error().field == "layout.stages");
    }
}
