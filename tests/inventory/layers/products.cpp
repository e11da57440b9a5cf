// SPDX-License-Identifier: MIT
// Each product of tokens with a matrix: what it multiplies, reads and writes.
#include <doctest/doctest.h>

#include "../../kernels_of_layers.hpp"

#include <array>
#include <cmath>
#include <llmres/inventory/layers/products.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <vector>

using namespace kernels_of_layers;

TEST_CASE("a dense layer has seven products, of which three are one with the product before them where runtimes join") {
    using enum weight_role;
    const token_pass pass{.tokens = {1, 10, 10}};
    for (const bool joins : {false, true}) {
        const std::vector<operation> all = kernels_of(dense, 4096, pass, {.joined = joins});
        CHECK(all.size() == 9);  // and attention, and what lies between them
        std::vector<weight_role> roles, joined;
        for (const operation& o : of_kind(all, operation_kind::projection)) {
            roles.push_back(o.role);
            if (o.joined) joined.push_back(o.role);
        }
        CHECK(roles == std::vector{q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj});
        CHECK(joined == (joins ? std::vector{k_proj, v_proj, up_proj} : std::vector<weight_role>{}));
    }
}

TEST_CASE("going back, a product reads weights and gradients of outputs, and adds to the weights' gradients") {
    const byte_count weights = bytes(4096 * 4096 * 2), some = bytes(10 * 4096 * 2);  // q_proj in bf16, ten tokens
    token_pass back{.tokens = {1, 10, 10}, .training = true, .backward = true};
    const operation_formats formats{.gradients = fp32};
    const auto queries = [&] {
        std::vector<operation> found;
        for (const operation& o : kernels_of(dense, 4096, back, formats)) {
            if (o.kind == operation_kind::projection && o.role != weight_role::q_proj) break;
            found.push_back(o);
        }
        return found;
    };
    std::vector<operation> made = queries();
    REQUIRE(made.size() == 2);
    CHECK(made[0].pass == product_pass::input_gradients);
    CHECK(made[0].flops == flops(2.0 * 10 * 4096 * 4096));
    CHECK(made[0].read == weights + some);
    CHECK(made[0].written == some);
    CHECK(made[1].pass == product_pass::weight_gradients);
    CHECK(made[1].flops == made[0].flops);
    CHECK(made[1].read == some + some + weights * 2);
    CHECK(made[1].written == weights * 2);
    back.adds_gradients = true;  // by a kernel of their own
    made = queries();
    REQUIRE(made.size() == 3);
    CHECK(made[1].read == some + some);
    CHECK(made[1].written == weights);
    CHECK(made[2].kind == operation_kind::elementwise);
    CHECK(made[2].read == weights + weights * 2);
    CHECK(made[2].written == weights * 2);
}

TEST_CASE("beside LoRA's two factors, a frozen weight has no gradient; 4-bit weights are unpacked in every pass") {
    const auto products = [&](bool backward) {
        const token_pass pass{.tokens = {1, 10, 10},
                              .training = true,
                              .backward = backward,
                              .adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = all_linears}};
        return of_kind(kernels_of(dense, 4096, pass), operation_kind::projection);
    };
    const std::vector<operation> forward = products(false), backward = products(true);
    REQUIRE(forward.size() == 7 * 3);
    CHECK(std::array{forward[0].rows, forward[0].columns} == std::array<std::int64_t, 2>{4096, 4096});
    CHECK(std::array{forward[1].rows, forward[1].columns} == std::array<std::int64_t, 2>{16, 4096});
    CHECK(std::array{forward[2].rows, forward[2].columns} == std::array<std::int64_t, 2>{4096, 16});
    CHECK(backward.size() == 7 * (1 + 2 + 2));
    operation_formats formats;
    const precision four_bits = nf4;
    formats.weights = detail::view_for(four_bits, bf16);
    const std::vector<operation> unpacked = kernels_of(dense, 4096, {.tokens = {1, 10, 10}, .training = true}, formats);
    REQUIRE(unpacked.size() == 7 * 2 + 2);
    CHECK(unpacked[0].kind == operation_kind::elementwise);
    CHECK(unpacked[0].read == size_of(four_bits, 4096, 4096));
    CHECK(unpacked[0].written == bytes(4096 * 4096 * 2));
    CHECK(unpacked[1].read == bytes(4096 * 4096 * 2 + 10 * 4096 * 2));
}

TEST_CASE("an expert's product has the tokens that chose it, and reads the experts that any token chose") {
    const model& m = models::mixtral_8x7b;  // eight experts of 4,096 by 14,336, of which a token chooses two
    const auto gate = [&](std::int64_t here, const layout& over = {}) {
        return of_kind(kernels_of(m.layers[0], m.hidden, {.tokens = {here, 1, 1}, .decode = true}, {}, over),
                       operation_kind::experts)[0];
    };
    const double weights = 4096.0 * 14336 * 2, input = 4096 * 2;
    for (const auto& [here, touched] : {std::pair{1, 2.0}, std::pair{2, 8 * (1 - 0.75 * 0.75)}, std::pair{64, 8.0}}) {
        const operation o = gate(here);
        CHECK(o.tokens == 2 * here);
        CHECK(o.flops.in(flops) == doctest::Approx(2.0 * 2 * here * 4096 * 14336));
        CHECK(o.groups == doctest::Approx(touched));
        CHECK(static_cast<double>(o.read.in(bytes)) == doctest::Approx(touched * weights + 2 * here * input));
    }
    // Four ranks with two tokens each: eight meet, each rank holds two experts and computes what chose them.
    const operation shared = gate(2, {.data = 4, .expert = 4});
    CHECK(shared.tokens == 4);
    CHECK(shared.groups == doctest::Approx(2 * (1 - std::pow(0.75, 8))));
}

TEST_CASE("integers are unpacked by the product itself in serving; floats of 8 bits are multiplied as they are") {
    const auto all_packed = [&](const precision& stored, const token_pass& pass) {
        operation_formats formats;
        formats.weights = detail::view_for(stored, bf16);
        std::size_t packed = 0;
        const std::vector<operation> products =
            of_kind(kernels_of(dense, 4096, pass, formats), operation_kind::projection);
        for (const operation& o : products) packed += o.packed;
        CHECK((packed == 0 || packed == products.size()));
        return packed > 0;
    };
    const token_pass decoded{.tokens = {1, 1, 10}, .decode = true};
    CHECK(all_packed(gptq(4, 128), decoded));
    CHECK(all_packed(gptq(4, 128), {.tokens = {1, 10, 10}}));
    CHECK(!all_packed(fp8_e4m3, decoded));
    CHECK(!all_packed(bf16, decoded));
    CHECK(!all_packed(nf4, {.tokens = {1, 10, 10}, .training = true}));  // a kernel of its own unpacks them
}

TEST_CASE("under autocast wider weights are cast for their products, and their gradients back") {
    const operation_formats wide{.weights = {.matrices = &fp32, .rest = &fp32}, .gradients = fp32};
    operation_formats cast = wide;
    cast.autocast = true;
    const std::int64_t n = 1000, square = 4096 * 4096;
    for (const bool backward : {false, true}) {
        const token_pass pass{.tokens = {1, n, n}, .training = true, .backward = backward};
        const operation before = kernels_of(dense, 4096, pass, cast)[0];
        CHECK(before.kind == operation_kind::elementwise);
        CHECK(before.read + before.written == bytes(6 * square));
        CHECK(kernels_of(dense, 4096, pass, cast)[1].read == bytes(2 * (square + n * 4096)));
        CHECK(kernels_of(dense, 4096, pass, wide)[0].read == bytes(4 * square + 2 * n * 4096));
    }
}

TEST_CASE("training in 8 bits casts inputs, weights and gradients: each is read twice and written in half the bytes") {
    operation_formats formats;
    formats.linear = arithmetic_kind::fp8;
    const std::int64_t n = 1000, input = n * 4096 * 2, square = 4096 * 4096 * 2;
    const auto first_two = [&](const token_pass& pass) {
        const std::vector<operation> all = kernels_of(dense, 4096, pass, formats);
        REQUIRE(all.size() > 4);
        CHECK(all[0].kind == operation_kind::elementwise);
        CHECK(all[1].kind == operation_kind::projection);
        CHECK(all[1].arithmetic == arithmetic_kind::fp8);
        return all;
    };
    const std::vector<operation> forward = first_two({.tokens = {1, n, n}, .training = true});
    CHECK(forward[0].read == bytes(2 * (input + square)));
    CHECK(forward[0].written == bytes((input + square) / 2));
    CHECK(forward[1].role == weight_role::q_proj);
    CHECK(forward[3].role == weight_role::k_proj);
    const std::int64_t kv = forward[3].rows * 4096 * 2;
    CHECK(forward[2].read == bytes(2 * kv));  // its input is that of the queries, which is cast already
    const std::vector<operation> back = first_two({.tokens = {1, n, n}, .training = true, .backward = true});
    // The outputs of q_proj are as large as its inputs; their gradients are transposed for the weights'.
    CHECK(back[0].read == bytes(2 * (input + square + input) + input / 2));
    CHECK(back[0].written == bytes((input + square + input) / 2 + input / 2));
    const token_pass frozen{.tokens = {1, n, n},
                            .training = true,
                            .backward = true,
                            .adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = all_linears}};
    CHECK(first_two(frozen)[0].read == bytes(2 * (square + input)));
    formats.casts_weights = false;  // once for all micro-batches
    CHECK(first_two({.tokens = {1, n, n}, .training = true})[0].read == bytes(2 * input));
    CHECK(first_two(frozen)[0].read == bytes(2 * input));  // of the outputs' gradients
    formats.linear = {};
    CHECK(kernels_of(dense, 4096, {.tokens = {1, n, n}, .training = true}, formats)[0].kind ==
          operation_kind::projection);
}

TEST_CASE("a runtime that launches experts one by one launches all of the rank, for every 256 tokens that meet there") {
    const model& m = models::mixtral_8x7b;
    const auto each = [&](std::int64_t here, const layout& over = {}) {
        return of_kind(kernels_of(m.layers[0], m.hidden, {.tokens = {here, 1, 1}, .decode = true}, {}, over),
                       operation_kind::experts)[0]
            .each;
    };
    CHECK(each(1) == 8);
    CHECK(each(256) == 8);
    CHECK(each(257) == 16);
    CHECK(each(1, {.tensor = 2}) == 8);               // each rank has a part of every expert
    CHECK(each(100, {.data = 4, .expert = 4}) == 4);  // two experts, 400 tokens
}

TEST_CASE("going back, a product reads gradients as wide as its outputs and writes those of its inputs") {
    const token_pass back{.tokens = {1, 10, 10}, .training = true, .backward = true};
    const std::vector<operation> all = of_kind(kernels_of(dense, 4096, back), operation_kind::projection);
    const std::int64_t weights = std::int64_t{2} * 4096 * 14336;
    for (const operation& o : all)
        if (o.role == weight_role::up_proj && o.pass == product_pass::input_gradients) {
            CHECK(o.read == bytes(weights + 10 * 14336 * 2));
            CHECK(o.written == bytes(10 * 4096 * 2));
        }
}

TEST_CASE("an adapter's factors are stored and multiplied in the compute format, whatever the weight beside them") {
    const auto all = [](const precision& stored, bool training) {
        operation_formats formats;
        formats.weights = detail::view_for(stored, bf16);
        const token_pass pass{.tokens = {1, 10, 10},
                              .training = training,
                              .adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = all_linears}};
        return of_kind(kernels_of(dense, 4096, pass, formats), operation_kind::projection);
    };
    for (const precision& stored : {nf4, fp8_e4m3, bf16})
        for (const bool training : {true, false}) {
            const std::vector<operation> made = all(stored, training);
            REQUIRE(made.size() == 7 * 3);
            CHECK(made[1].read == bytes(2 * (16 * 4096 + 10 * 4096)));  // q_proj's: 4,096 features to 16
            CHECK(made[2].read == bytes(2 * (16 * 4096 + 10 * 16)));
            CHECK(made[2].written == bytes(2 * 10 * 4096));
            for (const std::size_t factor : {1U, 2U}) CHECK(made[factor].arithmetic == arithmetic_kind::bf16);
            // Serving multiplies 8-bit floats as they are, training in the compute format unless a recipe says else.
            const bool narrow = stored == fp8_e4m3 && !training;
            CHECK(made[0].arithmetic == (narrow ? arithmetic_kind::fp8 : arithmetic_kind::bf16));
        }
}

TEST_CASE("an adapter of its own copies its input, scales its output and adds it to the layer's") {
    // llama-3.1-8b's k_proj: 4,096 features to 1,024. A is 16 x 4096, B 1024 x 16.
    constexpr std::int64_t n = 10, in = n * 4096, out = n * 1024;
    const auto beside = [&](operation_formats formats, bool backward, double dropout = 0) {
        const token_pass pass{
            .tokens = {1, n, n},
            .training = true,
            .backward = backward,
            .adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = {weight_role::k_proj}, .dropout = dropout}};
        const std::vector<operation> all = kernels_of(dense, 4096, pass, formats);
        for (std::size_t i = 0; i + 1 < all.size(); ++i)
            if (all[i].columns == 16 && all[i + 1].columns == 0 && all[i + 1].kind == operation_kind::elementwise)
                return all[i + 1];
        return operation{};
    };
    const operation_formats narrow;                                     // bf16 throughout
    CHECK(beside(narrow, false).read == bytes(2 * (out + out + out)));  // the output; the layer's, and the scaled one
    CHECK(beside(narrow, false).written == bytes(2 * (out + out)));
    CHECK(beside(narrow, true).read == bytes(2 * (out + 2 * in)));  // the gradient; those of the input, which are added
    CHECK(beside(narrow, true).written == bytes(2 * (out + in)));
    CHECK(beside(narrow, false, 0.1).read - beside(narrow, false).read == bytes(2 * in));
    CHECK(beside(narrow, false, 0.1).written - beside(narrow, false).written == bytes(2 * in + in));  // and a mask
    CHECK(beside(narrow, true, 0.1).read - beside(narrow, true).read == bytes(2 * in + in));
    CHECK(beside(narrow, true, 0.1).written - beside(narrow, true).written == bytes(2 * in));
    operation_formats wide;
    wide.adapters = fp32;
    // The input is copied to fp32, and the sum in fp32 back to bf16.
    CHECK(beside(wide, false).read == bytes(2 * in + 4 * out + (2 * out + 4 * out) + 4 * out));
    CHECK(beside(wide, false).written == bytes(4 * in + 4 * out + 4 * out + 2 * out));
    CHECK(beside(wide, true).read == bytes(2 * out + 4 * out + 4 * in + 2 * 2 * in));
    CHECK(beside(wide, true).written == bytes(4 * out + 4 * out + 2 * in + 2 * in));
    operation_formats fused;
    fused.fused_adapters = true;
    CHECK(beside(fused, false).read == byte_count{});
}

TEST_CASE("beside routed experts an adapter moves the tokens that chose them, and nothing where experts have none") {
    const model& m = models::mixtral_8x7b;  // two experts a token
    const auto moved = [&](bool experts) {
        const token_pass pass{
            .tokens = {1, 10, 10},
            .training = true,
            .adapter = {
                .kind = adapter_kind::lora, .rank = 16, .targets = {weight_role::up_proj}, .experts = {experts}}};
        byte_count read;
        for (const operation& o : of_kind(kernels_of(m.layers[0], m.hidden, pass), operation_kind::elementwise))
            read += o.read;
        return read;
    };
    // Each of 20 choices has an output of 14,336 features scaled, and added to the layer's.
    CHECK(moved(true) - moved(false) == bytes(2 * 20 * 14336 * 3));
}

TEST_CASE("training in 8 bits multiplies by the head in 16") {
    operation_formats formats;
    formats.linear = arithmetic_kind::fp8;
    const token_pass pass{.tokens = {1, 10, 10}, .scored = 10, .training = true};
    std::vector<operation> head;
    for_each_head_operation(models::llama_3_1_8b, formats, std::array{pass}, {},
                            [&](const operation& o, std::size_t) { head.push_back(o); });
    CHECK(of_kind(head, operation_kind::projection)[0].arithmetic == arithmetic_kind::bf16);
    for (const operation& o : of_kind(kernels_of(dense, 4096, pass, formats), operation_kind::projection))
        CHECK(o.arithmetic == arithmetic_kind::fp8);
}

TEST_CASE("equal matrices have products of the same size, each of its own role") {
    const model& m = models::llama_3_1_8b;
    const auto products = [&](const token_pass& pass) {
        return of_kind(kernels_of(m.layers[0], m.hidden, pass, {.joined = true}), operation_kind::projection);
    };
    const std::vector<operation> served = products({.tokens = {2, 1, 100}, .decode = true});
    REQUIRE(served.size() == 7);
    using role = weight_role;
    constexpr std::array order{role::q_proj,    role::k_proj,  role::v_proj,   role::o_proj,
                               role::gate_proj, role::up_proj, role::down_proj};
    for (std::size_t i = 0; i < order.size(); ++i) {
        CHECK(served[i].role == order[i]);
        CHECK(served[i].joined == (order[i] == role::k_proj || order[i] == role::v_proj || order[i] == role::up_proj));
    }
    for (const std::size_t second : {std::size_t{2}, std::size_t{5}}) {
        CHECK(served[second].flops == served[second - 1].flops);
        CHECK(served[second].read == served[second - 1].read);
        CHECK(served[second].written == served[second - 1].written);
    }
}
