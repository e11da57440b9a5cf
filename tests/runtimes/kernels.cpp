// SPDX-License-Identifier: MIT
#include <llmres/runtimes/kernels.hpp>

#include <doctest/doctest.h>

using namespace llmres;

TEST_CASE("norms and gates are one kernel each where they are written so, or where layers are compiled") {
    constexpr training_kernels eager;
    static_assert(!eager.fuses_norms() && !eager.fuses_gates());
    static_assert(training_kernels{.norm = norm_code::fused}.fuses_norms());
    static_assert(!training_kernels{.norm = norm_code::fused}.fuses_gates());
    static_assert(training_kernels{.gate = gate_code::fused}.fuses_gates());
    constexpr training_kernels compiled{.compilation = {.layers = true}};
    static_assert(compiled.fuses_norms() && compiled.fuses_gates());
}

TEST_CASE("a loss is compiled by itself, or with the layers where the runtime has it so") {
    training_kernels k;
    CHECK_FALSE(k.fuses_loss());
    k.compilation.loss = true;
    CHECK(k.fuses_loss());
    k.compilation = {.layers = true};
    CHECK_FALSE(k.fuses_loss());
    k.compilation.loss_with_layers = loss_compiling::chunked;
    CHECK_FALSE(k.fuses_loss());
    k.loss.code = loss_code::chunked;
    CHECK(k.fuses_loss());
    k.loss.code = loss_code::eager;
    k.compilation.loss_with_layers = loss_compiling::any;
    CHECK(k.fuses_loss());
    k.compilation.layers = false;
    CHECK_FALSE(k.fuses_loss());
}

TEST_CASE("every code of a loss, a scan and an fp8 recipe has a name of its own") {
    CHECK(name_of(loss_code::mean) == "mean");
    CHECK(name_of(loss_code::vocabulary_parallel_fused) == "vocabulary_parallel_fused");
    CHECK(name_of(scan_code::fused_to_gate) == "fused_to_gate");
    CHECK(name_of(fp8_recipe::microscaled) == "mxfp8");
}

TEST_CASE("experts are computed together or one by one, by transformers or by others") {
    using e = expert_code;
    for (const e code : {e::modules, e::loop, e::sequential}) CHECK_FALSE(computes_together(code));
    for (const e code : {e::grouped, e::batched, e::dispatched, e::permuted}) CHECK(computes_together(code));
    for (const e code : {e::modules, e::loop, e::grouped, e::batched}) CHECK(is_of_transformers(code));
    for (const e code : {e::dispatched, e::permuted, e::sequential}) CHECK_FALSE(is_of_transformers(code));
    for (const e code : {e::loop, e::grouped, e::batched}) CHECK(stacks_weights(code));
    for (const e code : {e::modules, e::dispatched, e::permuted, e::sequential}) CHECK_FALSE(stacks_weights(code));
}

TEST_CASE(
    "kernels of which nothing is said are PyTorch's: autocast casts weights at each operation, and heads are shared") {
    const training_kernels k;
    CHECK(k.casts_weights);
    CHECK(k.shared_heads);
    CHECK(k.linear == linear_code::plain);
}
