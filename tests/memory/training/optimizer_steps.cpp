// SPDX-License-Identifier: MIT
// What each optimizer keeps of a tensor and makes while it steps, and what adapters and casts add (weights.hpp). By
// hand from the optimizers' code as jobs/optimizer.hpp cites it: n values in fp32 are 4 n bytes.
#include <llmres/jobs/find_names.hpp>
#include <llmres/memory/training/weights.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <vector>

#include "../../training_jobs.hpp"

using namespace llmres::detail;
using namespace training_jobs;

namespace {

/// Trained with fp32 master weights, states and gradients in bf16, tensor by tensor where the optimizer does.
job trained_by(const optimizer& o) {
    job j = full();
    j.task = task::pretraining;
    j.optimizer = o;
    return j;
}
job adapted(const adapter& a) {
    job j = full();
    j.adapter = a;
    j.runtime = runtimes::huggingface;
    j.runtime.kernels.fp32_adapters = false;
    return j;
}

/// What training keeps of some weights of one place, in their order.
template <class... Weights>
training_state fold_of(const job& j, const layout& l, weight_place place, const Weights&... weights) {
    const training_context context{j, l};
    const weight_training how{j, l, context};
    weight_fold fold{how, place};
    (fold(weights), ...);
    return fold.state();
}
template <class... Weights>
training_state layer_of(const job& j, const Weights&... weights) {
    return fold_of(j, {}, weight_place::layer, weights...);
}

weight matrix_of(weight_role role, std::int64_t rows, std::int64_t columns) {
    return {.role = role, .rows = rows, .columns = columns, .quantised = true};
}
/// Four experts of 1,000 inner features, stacked as transformers does.
weight experts_of(weight_role role) {
    weight w = matrix_of(role, 1000, 500);
    if (role == weight_role::down_proj) w.rows = 500, w.columns = 1000;
    w.copies = 4, w.routed = true;
    return w;
}
job stacking(const optimizer& o) {
    job j = trained_by(o);
    j.runtime.kernels.experts = expert_code::grouped;
    return j;
}

const weight square = matrix_of(weight_role::up_proj, 1024, 1024);
const weight smaller = matrix_of(weight_role::o_proj, 512, 512);
const weight norm{.role = weight_role::norm, .columns = 4096};
constexpr layout four{.data = 4, .zero = 1};

}  // namespace

TEST_CASE("linear layers are projections, wherever they stand; embeddings, norms and heads are none") {
    for (const weight_role role :
         {weight_role::q_proj, weight_role::down_proj, weight_role::router, weight_role::classifier})
        CHECK(is_projection(role));
    for (const weight_role role : {weight_role::embed_tokens, weight_role::shared_gate, weight_role::norm,
                                   weight_role::lm_head, weight_role::values})
        CHECK_FALSE(is_projection(role));
}

TEST_CASE("a matrix has two values and more on both sides") {
    CHECK(counted_shape{{2, 2, 1}}.is_matrix());
    CHECK_FALSE(counted_shape{{1, 8, 1}}.is_matrix());
    CHECK_FALSE(counted_shape{{8, 1, 1}}.is_matrix());
}

TEST_CASE("a loop over tensors has two temporaries of each, of its part of the values under ZeRO") {
    const job j = trained_by(adamw_loop);
    training_state s = layer_of(j, smaller, square, smaller);
    CHECK(s.optimizer.largest_step == mib(2 * 4));
    CHECK(s.optimizer.first_step == mib(2));
    CHECK(s.optimizer.last_step == mib(2));
    s = fold_of(j, four, weight_place::layer, smaller, square);
    CHECK(s.optimizer.largest_step == mib(2));
    CHECK(s.optimizer.first_step == kib(512));
    job norms_first = j;
    norms_first.model.architecture = "gpt2";  // registers norms before all else in a layer
    CHECK(layer_of(norms_first, square).optimizer.first_step == byte_count{});
    CHECK(fold_of(norms_first, {}, weight_place::output, square).optimizer.first_step == mib(8));
}

TEST_CASE("where two sets of temporaries overlap, half of the smaller one's is there beside the larger") {
    optimizer o = apollo;
    const auto beside = [&](std::int64_t one, std::int64_t last) {
        return beside_last_step(o, bytes(one), bytes(last));
    };
    CHECK(beside(10, 6) == bytes(13));
    CHECK(beside(6, 10) == bytes(13));
    o.tensor_temporaries = 1;
    CHECK(beside(10, 6) == bytes(16));
    o.carries = false;
    CHECK(beside(10, 6) == bytes(10));
}

TEST_CASE("an optimizer that steps in fp32 copies a narrower tensor and its gradient, and has fp32 states") {
    job j = trained_by(adafactor_hf);
    CHECK(layer_of(j, square).optimizer.largest_step == mib(2 * 4));
    j.optimizer_states = bf16;
    CHECK(layer_of(j, square).optimizer.largest_step == mib(2 * 4 + 2 * 4));
    const byte_count masters = mib(4);
    j.optimizer = {.name = "wide", .moments = 1, .widens = true};
    CHECK(layer_of(j, square).optimizer.states == masters + mib(4));
    j.optimizer.widens = false;
    CHECK(layer_of(j, square).optimizer.states == masters + mib(2));
}

TEST_CASE("LOMO has each tensor and its gradient in fp32 as it steps it, of stacked experts gate and up at once") {
    job j = trained_by(lomo);
    training_state s = layer_of(j, square, smaller);
    CHECK(s.optimizer.largest_step == mib(4 + 4));
    CHECK(s.gradients.kept == byte_count{});
    CHECK(s.gradients.whole == mib(2) + kib(512));
    j.gradients = fp32;
    CHECK(layer_of(j, square).optimizer.largest_step == mib(4));
    j = stacking(lomo);
    const byte_count stack = bytes(2) * (4 * 1000 * 500);
    CHECK(layer_of(j, experts_of(weight_role::up_proj)).optimizer.largest_step == stack * 2 * 4);
    CHECK(layer_of(j, experts_of(weight_role::down_proj)).optimizer.largest_step == stack * 4);
}

TEST_CASE("torchao quantises a tensor's states with thirteen bytes a value, of one rank's part") {
    job j = trained_by(adamw_8bit_torchao);
    CHECK(layer_of(j, smaller, square).optimizer.largest_step == mib(13));
    CHECK(fold_of(j, four, weight_place::layer, square).optimizer.largest_step * 4 == mib(13));
    j.optimizer.in_backward = true;  // beside its gradient, which is freed after
    CHECK(layer_of(j, square).optimizer.largest_step == mib(13 + 2));
}

TEST_CASE("averages, states on the host and paged states are a rank's part from ZeRO 1 on") {
    job j = trained_by(adamw_fused);
    const auto of_four = [&] { return fold_of(j, four, weight_place::layer, square); };
    CHECK(of_four().optimizer.states == mib(3));  // masters and two moments, 12 MiB in all
    j.ema = true;
    CHECK(of_four().optimizer.states == mib(4));
    j.ema = false;
    j.offload.optimizer = offload_place::host;
    CHECK(of_four().host == div_up(mib(12 + 2), 4));
    CHECK(of_four().optimizer.states == byte_count{});
    j = trained_by(paged_adamw);
    CHECK(of_four().optimizer.paged == mib(2));
    CHECK(of_four().optimizer.states == mib(3));
    CHECK(layer_of(j, matrix_of(weight_role::up_proj, 100, 999)).optimizer.paged == byte_count{});
    j = trained_by(adamw);
    j.runtime.optimizer.foreach_tensors = true;
    CHECK(of_four().optimizer.temporaries == mib(1));
}

TEST_CASE("DeepSpeed copies master weights of any format under ZeRO, and widens no gradients in stage 3") {
    job j = trained_by(adamw_fused);
    j.runtime = runtimes::deepspeed;
    const auto of = [&](std::int32_t zero) {
        return fold_of(j, {.data = 4, .zero = zero}, weight_place::layer, square).optimizer;
    };
    CHECK(of(2).temporaries > byte_count{});
    CHECK(of(3).temporaries == byte_count{});
    j.weights = fp32;
    CHECK(of(0).states == mib(8));
    CHECK(of(1).states == mib(3));
    j.master_weights = bf16;
    CHECK(of(1).states == div_up(mib(8 + 2), 4));
}

TEST_CASE("Muon has one moment of each linear layer, and two of all else; only the latter are stepped in one call") {
    const job j = trained_by(muon);
    const auto states = [&](weight_place place, weight_role role) {
        return fold_of(j, {}, place, matrix_of(role, 1024, 1024)).optimizer;
    };
    CHECK(states(weight_place::layer, weight_role::up_proj).states == mib(4 + 4));
    CHECK(states(weight_place::layer, weight_role::conv).states == mib(4 + 4));
    CHECK(states(weight_place::output, weight_role::classifier).states == mib(4 + 4));
    CHECK(states(weight_place::input, weight_role::embed_tokens).states == mib(4 + 8));
    REQUIRE(j.runtime.optimizer.foreach_tensors);
    CHECK(states(weight_place::layer, weight_role::up_proj).temporaries == byte_count{});
    CHECK(states(weight_place::input, weight_role::embed_tokens).temporaries == mib(4));
    CHECK(layer_of(j, norm).optimizer.temporaries == kib(16));
}

TEST_CASE("GaLore decomposes each matrix beside its update; queries, keys and values that are one layer are one") {
    job j = trained_by(galore);
    const weight wide = matrix_of(weight_role::o_proj, 1024, 512);
    // Singular vectors of both sides, and the first 128 scaled.
    const byte_count scratch = kib(4) * 512 + kib(2) * 512 + kib(4) * 128;
    training_state s = layer_of(j, wide);
    CHECK(s.optimizer.first_projection == scratch);
    CHECK(s.optimizer.largest_step == scratch + mib(2));
    // The projected moments; of the projection, all vectors of the shorter side. And master weights.
    CHECK(s.optimizer.states == kib(4) * 128 * 2 + kib(2) * 512 + mib(2));
    s = layer_of(j, wide, square);
    CHECK(s.optimizer.first_projection == scratch);  // the first one's
    CHECK(s.optimizer.largest_step == kib(4) * 1024 * 2 + kib(4) * 128 + mib(4));
    s = fold_of(j, four, weight_place::layer, wide);
    CHECK(s.optimizer.first_projection == div_up(scratch, 4));
    CHECK(s.optimizer.largest_step == div_up(scratch + mib(2), 4));
    CHECK(layer_of(j, norm).optimizer.first_projection == byte_count{});
    CHECK(layer_of(j, norm).optimizer.largest_step == kib(16 * 2));

    const auto heads = [&](const job& of) {
        return layer_of(of, matrix_of(weight_role::q_proj, 512, 512), matrix_of(weight_role::k_proj, 256, 512),
                        matrix_of(weight_role::v_proj, 256, 512));
    };
    job joined = j;
    joined.model.architecture = "phi3";
    CHECK(heads(joined).optimizer.states == layer_of(j, wide).optimizer.states);
    CHECK(heads(j).optimizer.states > heads(joined).optimizer.states);
    joined.optimizer.rank = j.optimizer.rank = 1;
    CHECK(heads(joined).optimizer.states == layer_of(j, wide).optimizer.states);
}

TEST_CASE("Shampoo has a statistic and a root for each side of a layer's matrix, and steps no other one alone") {
    const job j = trained_by(shampoo);
    const weight w = matrix_of(weight_role::o_proj, 100, 300);
    const byte_count tensor = bytes(4 * 100 * 300), sides = bytes(4 * 2) * (100 * 100 + 300 * 300);
    CHECK(layer_of(j, w).optimizer.states == tensor * 2 + sides);
    CHECK(layer_of(j, w).optimizer.largest_step == tensor + bytes(4 * 4 * 300 * 300));
    CHECK(fold_of(j, four, weight_place::layer, w).optimizer.largest_step ==
          div_up(tensor + bytes(4 * 4 * 300 * 300), 4));
    const training_state outside = fold_of(j, {}, weight_place::input, matrix_of(weight_role::embed_tokens, 100, 300));
    CHECK(outside.optimizer.states == tensor * 2);
    CHECK(outside.optimizer.largest_step == byte_count{});
    CHECK(fold_of(trained_by(soap), {}, weight_place::input, matrix_of(weight_role::embed_tokens, 100, 300))
              .optimizer.largest_step > byte_count{});
}

TEST_CASE("SOAP has bases of the three sides of stacked experts, gate and up being one side, and steps them at once") {
    const job j = stacking(soap);
    const byte_count of_up = bytes(4) * (4 * 1000 * 500);
    const auto bases = [](std::int64_t side) { return bytes(4 * 2) * (side * side); };
    training_state s = layer_of(j, experts_of(weight_role::up_proj));
    CHECK(s.optimizer.states == of_up * 3 + bases(1000) + bases(500) + bases(4));
    s = layer_of(j, experts_of(weight_role::gate_proj), experts_of(weight_role::up_proj));
    CHECK(s.optimizer.states == of_up * 6 + bases(2000) + bases(500) + bases(4));
    // Five temporaries of both; the last statistic's update, and of the wider side four squares.
    CHECK(s.optimizer.largest_step == of_up * 2 * 5 + bytes(4 * 500 * 500) + bytes(4 * 4) * (2000 * 2000));
    // Of down the wider side is the second one: the first statistic is updated already.
    s = layer_of(j, experts_of(weight_role::down_proj));
    CHECK(s.optimizer.largest_step == of_up * 5 + bytes(4) * (500 * 500 + 1000 * 1000) + bytes(4 * 4) * (1000 * 1000));
}

TEST_CASE("Adafactor's temporaries of stacked experts are those of gate and up together, and then of down beside") {
    const job j = stacking(adafactor);
    const byte_count of_up = bytes(4) * (4 * 1000 * 500);
    const weight gate = experts_of(weight_role::gate_proj), up = experts_of(weight_role::up_proj),
                 down = experts_of(weight_role::down_proj);
    CHECK(layer_of(j, gate).optimizer.largest_step == of_up * 2);
    CHECK(layer_of(j, gate, up).optimizer.largest_step == of_up * 2);
    CHECK(layer_of(j, gate, up, down).optimizer.largest_step == of_up * 3);
    CHECK(layer_of(j, gate, up, down).optimizer.last_step == of_up);
    CHECK(layer_of(j, gate, up, down).optimizer.first_step == of_up * 2);
}

TEST_CASE("a layer folded at once keeps what its weights do one by one, whatever the job asks of each") {
    std::vector<job> jobs;
    for (const optimizer& o : optimizers) jobs.push_back(trained_by(o));
    jobs.push_back(trained_by(adamw));
    jobs.back().ema = true;
    jobs.push_back(trained_by(adamw));
    jobs.back().offload.optimizer = offload_place::host;
    jobs.push_back(trained_by(adamw));
    jobs.back().offload.parameters = offload_place::nvme;
    jobs.push_back(trained_by(adamw));
    jobs.back().optimizer.in_backward = true;
    jobs.push_back(trained_by(adamw));
    jobs.back().weights = fp32, jobs.back().autocast = true;
    jobs.push_back(adapted({.kind = adapter_kind::lora, .rank = 8}));
    for (const job& j : jobs) {
        CAPTURE(j.optimizer.name.view());
        const layout l = four;
        const training_context context{j, l};
        const weight_training how{j, l, context};
        const layer& kind = j.model.layers.kinds[0];
        weight_fold fold{how, weight_place::layer};
        for_each_weight(kind, j.model.hidden, [&](const weight& w) { fold(w); });
        const training_state one_by_one = fold.state(), whole = training_state_of(kind, j.model.hidden, how);
        CHECK(whole.weights == one_by_one.weights);
        CHECK(whole.adapter == one_by_one.adapter);
        CHECK(whole.host == one_by_one.host);
        CHECK(whole.nvme == one_by_one.nvme);
        CHECK(whole.gathered == one_by_one.gathered);
        CHECK(whole.largest == one_by_one.largest);
        CHECK(whole.gradients.kept == one_by_one.gradients.kept);
        CHECK(whole.gradients.feed_forward == one_by_one.gradients.feed_forward);
        CHECK(whole.optimizer.states == one_by_one.optimizer.states);
        CHECK(whole.optimizer.paged == one_by_one.optimizer.paged);
        CHECK(whole.optimizer.temporaries == one_by_one.optimizer.temporaries);
        CHECK(whole.optimizer.largest_step == one_by_one.optimizer.largest_step);
        CHECK(whole.casts.all == one_by_one.casts.all);
    }
}

TEST_CASE("gradients of the feed-forward and of its last matrix are counted apart, inside layers alone") {
    const job j = trained_by(adamw);
    const weight down = matrix_of(weight_role::down_proj, 1024, 1024);
    const training_state s = layer_of(j, smaller, square, down);
    CHECK(s.gradients.kept == kib(512) + mib(4));
    CHECK(s.gradients.feed_forward == mib(4));
    CHECK(s.gradients.down == mib(2));
    CHECK(fold_of(j, {}, weight_place::output, square, down).gradients.feed_forward == byte_count{});
}

TEST_CASE("the largest matrix is in the format that it is computed in, and a vector is none") {
    job j = trained_by(adamw);
    CHECK(layer_of(j, smaller, square, smaller).largest == mib(2));
    CHECK(layer_of(j, norm).largest == byte_count{});
    CHECK(layer_of(j, norm).dummies == byte_count{});
    j.weights = fp32;
    weight other = square;
    other.quantised = false;
    for (const weight& w : {square, other}) {
        CHECK(layer_of(j, w).largest == mib(2));
        j.autocast = true;  // casts what was gathered
        CHECK(layer_of(j, w).gathered == mib(4));
        j.autocast = false;
        CHECK(layer_of(j, w).gathered == mib(2));
    }
    j.weights = fp8_e4m3;  // matrices alone
    CHECK(layer_of(j, square).gathered == mib(2));
    CHECK(layer_of(j, square).weights == mib(1));
}

TEST_CASE("buffers are held, and not trained; nor are an encoder's sinusoids") {
    job j = trained_by(adamw);
    weight buffer = square;
    buffer.buffer = true;
    training_state s = layer_of(j, buffer);
    CHECK(s.weights == mib(2));
    CHECK(s.gradients.kept == byte_count{});
    CHECK(s.optimizer.states == byte_count{});
    j.model.architecture = "whisper";
    j.model.encoders[0].output = tokens(1500);
    const auto gradients = [&](weight_role role, std::int64_t rows, weight_place place) {
        return fold_of(j, {}, place, matrix_of(role, rows, 64)).gradients.kept;
    };
    CHECK(gradients(weight_role::positions, 1500, weight_place::input) == byte_count{});
    CHECK(gradients(weight_role::positions, 448, weight_place::input) > byte_count{});  // the decoder's are learned
    CHECK(gradients(weight_role::conv, 1500, weight_place::input) > byte_count{});
    CHECK(gradients(weight_role::positions, 1500, weight_place::layer) > byte_count{});
    j.model.architecture = "bart";
    CHECK(gradients(weight_role::positions, 1500, weight_place::input) > byte_count{});
}

TEST_CASE("scales of four-bit weights are whole on each rank of ZeRO 3, and no part of what is gathered") {
    job j = adapted({.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::q_proj}});
    j.weights = nf4;
    const layout eight{.data = 8, .zero = 3};
    const training_state s = fold_of(j, eight, weight_place::layer, square);
    const byte_count codes = kib(512), scales = bytes(4) * (1024 * 1024 / 64) + bytes(64);  // and a table of 16
    CHECK(s.weights == kib(64) + scales);
    CHECK(s.gathered == codes);
    j.weights = bf16;
    CHECK(fold_of(j, eight, weight_place::layer, square).weights == kib(256));
}

TEST_CASE("a trained prompt is a table of its own: shared by ZeRO 3, and no linear layer to any optimizer") {
    job j = adapted({.kind = adapter_kind::prompt, .rank = 20});
    j.runtime.kernels.fp32_adapters = true;
    const byte_count table = bytes(4) * (20 * 4096);
    const auto prompt = [&](const layout& l) {
        const training_context context{j, l};
        return prompt_state(weight_training{j, l, context}, placement_of(j, l, 0));
    };
    j.optimizer = muon;
    CHECK(prompt({}).adapter == table);
    CHECK(prompt({}).gathered == table);
    CHECK(prompt({}).gradients.kept == table);
    CHECK(prompt({}).optimizer.states == table * 2);
    CHECK(prompt({.data = 4, .zero = 3}).adapter == div_up(table, 4));
    j.optimizer = lomo;
    CHECK(prompt({}).optimizer.largest_step == table);
    // The table is of what stands before the layers, where they begin: and of no later stage.
    const auto before_layers = [&](const layout& l, std::int32_t stage) {
        const training_context context{j, l};
        return state_before_layers(weight_training{j, l, context}, placement_of(j, l, stage));
    };
    j.optimizer = adamw;
    CHECK(before_layers({}, 0).adapter == table);
    CHECK(before_layers({}, 0).gradients.kept == table);
    CHECK(before_layers({}, 0).optimizer.states == table * 2);
    CHECK(before_layers({.pipeline = 2}, 1).adapter == byte_count{});
    j.adapter.kind = adapter_kind::lora;
    CHECK(prompt({}).adapter == byte_count{});
    CHECK(before_layers({}, 0).adapter == byte_count{});
}

TEST_CASE("an adapter of a layer's norm and linear layers leaves the embedding as it is") {
    const job j = adapted({.kind = adapter_kind::llama_adapter_v2, .rank = 10});
    CHECK(layer_of(j, norm).adapter == kib(8));
    CHECK(layer_of(j, smaller).adapter == bytes(2 * 2 * 512));  // a scale and a shift of each output
    CHECK(fold_of(j, {}, weight_place::input, matrix_of(weight_role::embed_tokens, 512, 512)).adapter == byte_count{});
}

TEST_CASE("autocast casts an adapter's factors, and no vector") {
    job j = adapted({.kind = adapter_kind::lora, .rank = 2});
    j.autocast = true;
    j.runtime.kernels.fp32_adapters = true;
    CHECK(layer_of(j, smaller).casts.all == bytes(2) * (2 * 2 * 512));
    j.adapter.kind = adapter_kind::dora;
    CHECK(layer_of(j, smaller).casts.all == bytes(2) * (2 * 2 * 512));
}

TEST_CASE("DoRA's norm has an identity, the weight, B A scaled, and their sum; or a cast identity and B A") {
    job j = adapted({.kind = adapter_kind::dora, .rank = 8});
    const std::int64_t rows = 100, columns = 300;
    const weight up = matrix_of(weight_role::up_proj, rows, columns),
                 down = matrix_of(weight_role::down_proj, rows, columns);
    const byte_count square_of = bytes(2 * columns * columns), tensor = bytes(2 * rows * columns),
                     output = bytes(2) * (4096 * rows);
    CHECK(layer_of(j, up).magnitudes.other == square_of + tensor * 3 + output);
    CHECK(layer_of(j, up).magnitudes.down == byte_count{});
    CHECK(layer_of(j, down).magnitudes.down == square_of + tensor * 3);
    CHECK(layer_of(j, down).magnitudes.other == byte_count{});
    // The largest counts, in whatever order.
    const weight less = matrix_of(weight_role::o_proj, 50, columns),
                 less_down = matrix_of(weight_role::down_proj, 50, 300);
    CHECK(layer_of(j, less, up, less).magnitudes.other == square_of + tensor * 3 + output);
    CHECK(layer_of(j, less_down, down, less_down).magnitudes.down == square_of + tensor * 3);
    CHECK(layer_of(j, norm).magnitudes.other == byte_count{});
    // Gate and up are one layer in Phi 3.
    job joined = j;
    joined.model.architecture = "phi3";
    CHECK(layer_of(joined, matrix_of(weight_role::gate_proj, rows, columns), up).magnitudes.other ==
          square_of + tensor * 3 * 2 + output * 2);
    // An adapter in fp32 copies its input: one more tensor, all of them as wide as it.
    j.runtime.kernels.fp32_adapters = true;
    CHECK(layer_of(j, down).magnitudes.down == square_of * 2 + tensor * 2 * 4);
    // Autocast casts the identity; while B A is computed, all is there.
    j.autocast = true;
    const weight flat = matrix_of(weight_role::down_proj, 10, columns);
    CHECK(layer_of(j, flat).magnitudes.down == square_of * 2 + square_of + bytes(2 * 10 * columns));
    CHECK(layer_of(j, down).magnitudes.down == square_of + tensor * 2 * 4);
    const weight tall = matrix_of(weight_role::down_proj, 1000, columns);
    CHECK(layer_of(j, tall).magnitudes.down == square_of + bytes(4 * 1000 * columns) * 4);
    j.adapter.kind = adapter_kind::lora;
    CHECK(layer_of(j, down).magnitudes.down == byte_count{});
}

TEST_CASE("the gradient of one image's class token is a view of the whole sequence's") {
    job j = trained_by(adamw);
    j.model.architecture = "vit";
    j.sequence = tokens(197);
    const auto gradient = [&](const job& of, std::int32_t stage = 0) {
        const layout l{.pipeline = 2};
        const training_context context{of, l};
        return class_token_gradient(weight_training{of, l, context}, placement_of(of, l, stage));
    };
    CHECK(gradient(j) == bytes(2) * (196 * 4096));
    CHECK(gradient(j, 1) == byte_count{});
    job two = j;
    two.micro_batch = 2;
    CHECK(gradient(two) == byte_count{});
    job frozen = j;
    frozen.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(gradient(frozen) == byte_count{});
    job llama = j;
    llama.model.architecture = "llama";
    CHECK(gradient(llama) == byte_count{});
    const layout l{};
    const training_context context{j, l}, others{llama, l};
    CHECK(state_before_layers(weight_training{j, l, context}, placement_of(j, l, 0)).gradients.kept ==
          state_before_layers(weight_training{llama, l, others}, placement_of(llama, l, 0)).gradients.kept +
              bytes(2) * (196 * 4096));
}
