// SPDX-License-Identifier: MIT
// What a feed-forward saves for its backward pass and makes in it, tensor by tensor, as modules write it:
// models/llama/modeling_llama.py (LlamaMLP), integrations/moe.py, Megatron-Core's and torchtitan's experts.
#include <llmres/inventory/layers/feed_forward.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/inventory/activations.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <string>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t n = 8, hidden = 64;

/// A feed-forward of 160 inner features behind an RMS norm, without attention.
layer dense(feed_forward_kind kind = feed_forward_kind::gated) {
    layer l{.attention = {.kind = attention_kind::none}, .feed_forward = {.kind = kind, .width = 160}};
    l.norm_before_attention = false;
    return l;
}
/// Eight experts of 40 features, of which each token goes to two.
layer routed(feed_forward_kind kind = feed_forward_kind::gated) {
    layer l = dense(kind);
    l.feed_forward.width = 0;
    l.feed_forward.experts = {.count = 8, .per_token = 2, .width = 40};
    return l;
}
job trained(const layer& kind, std::string_view architecture = {}) {
    job j{.model = {.vocabulary = 100, .hidden = hidden, .layers = {1, kind}},
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(n)};
    j.model.architecture = architecture;
    j.attention = attention_kernel::flash;
    j.runtime = runtimes::huggingface;
    j.runtime.kernels.casts_weights = false;
    j.runtime.kernels.fp32_adapters = false;
    return j;
}
job computing(const layer& kind, expert_code experts, std::string_view architecture = {}) {
    job j = trained(kind, architecture);
    j.runtime.kernels.experts = experts;
    return j;
}
job adapted(job j, const role_set& targets) {
    j.adapter = {.kind = adapter_kind::lora, .rank = 4, .targets = targets};
    return j;
}
job autocasting(job j) {
    j.weights = fp32, j.autocast = true;
    return j;
}

/// "gate 160x2 i": values of each token, their bytes, and the point until which they are needed: of what follows the
/// feed-forward, its output, its inside, or the norm before it.
std::string told(const activation& a) {
    return std::string{name_of(a.role)} + " " + std::to_string(a.elements / n) + "x" +
           std::to_string(size_of(a.format, 1, 1).in(bytes)) + " " + "foinaA"[static_cast<std::size_t>(a.until)];
}
/// What is saved behind the norm, which comes first.
std::string saved(const job& j) {
    std::string all;
    const training_context context{j, {}};
    int entries = 0;
    for_each_saved_activation(j.model.layers.kinds[0], hidden, context, [&](const activation& a) {
        if (++entries > 3 || context.frozen) all += (all.empty() ? "" : ", ") + told(a);
    });
    return all;
}
/// What the backward pass makes behind the norm, beside the gradient of the stream, as the forward pass comes by.
std::string made(const job& j) {
    std::string all;
    const training_context context{j, {}};
    for_each_gradient_activation(j.model.layers.kinds[0], hidden, context, [&](const activation& a) {
        if (a.until < backward_point::norm && a.elements != n * hidden) all += (all.empty() ? "" : ", ") + told(a);
    });
    return all;
}

}  // namespace

TEST_CASE("a gated feed-forward saves its input, the gate, the same activated, up, and their product") {
    job j = trained(dense());
    CHECK(saved(j) == "linear_input 64x2 i, gate 160x2 i, gate_activation 160x2 i, up 160x2 i, linear_input 160x2 o");
    j.runtime.kernels.gate = gate_code::fused;  // one kernel makes the activated gate again
    CHECK(saved(j) == "linear_input 64x2 i, gate 160x2 i, up 160x2 i, linear_input 160x2 o");
}

TEST_CASE("without a gate it saves what the activation reads, or what its form is made of, or its output alone") {
    const layer plain = dense(feed_forward_kind::plain);
    CHECK(saved(trained(plain)) == "linear_input 64x2 i, up 160x2 i, linear_input 160x2 o");
    // 0.5 * x * (1 + tanh(...)): half of the input, the tanh, and one plus it (activations.py, NewGELUActivation).
    CHECK(saved(trained(plain, "gpt2")) == "linear_input 64x2 i, up 160x2 i, up 480x2 i, linear_input 160x2 o");
    CHECK(saved(trained(plain, "opt")) == "linear_input 64x2 i, linear_input 160x2 o");  // relu: its result
    // A relu that is squared saves the relu's output, under autocast an fp32 copy of it, too.
    CHECK(saved(trained(plain, "nemotron")) == "linear_input 64x2 i, up 160x2 i, linear_input 160x2 o");
    CHECK(saved(autocasting(trained(plain, "nemotron"))).find("up 160x2 i, up 160x4 i") != std::string::npos);
}

TEST_CASE("dropout inside leaves a mask of bytes, and IA3 scales in its own format") {
    job j = trained(dense(), "t5");
    j.dropout = true;
    CHECK(saved(j).find("mask 160x1 o") != std::string::npos);
    CHECK(saved(trained(dense(), "t5")).find("mask") == std::string::npos);
    j = trained(dense());
    j.adapter = {.kind = adapter_kind::ia3};
    j.runtime.kernels.fp32_adapters = true;
    CHECK(saved(j).find("adapter 160x4 o") != std::string::npos);
}

TEST_CASE("experts that are stacked save their tokens, gate and up in one, the activated gate and the product") {
    const std::string route = "linear_input 64x2 i, router 8x4 i, router 4x4 i, router 64x1 i, ";
    const std::string inside = "gate 160x2 i, gate_activation 80x2 i, product 80x2 o, ";
    CHECK(saved(computing(routed(), expert_code::grouped)) ==
          route + "linear_input 128x2 i, " + inside + "expert_output 128x2 f");
    // One by one: each expert's output, and what is added of it, with its products.
    CHECK(saved(computing(routed(), expert_code::loop)) ==
          route + "linear_input 128x2 i, " + inside + "expert_output 256x2 o");
    CHECK(saved(computing(routed(), expert_code::modules)) ==
          route + "linear_input 128x2 i, " + inside + "expert_output 128x2 o");
    // Batched, each token has the weights of its experts copied: 16 choices of 40 x 64 values, twice for gate and up.
    CHECK(saved(computing(routed(), expert_code::batched)) ==
          route + "linear_input 128x2 i, weight 5120x2 o, weight 10240x2 i, " + inside + "expert_output 128x2 f");
    CHECK(saved(computing(routed(feed_forward_kind::plain), expert_code::batched)) ==
          route +
              "linear_input 128x2 i, weight 5120x2 o, weight 5120x2 i, up 80x2 i, product 80x2 o, "
              "expert_output 128x2 f");
    // gpt-oss: the clamped gate, its sigmoid, their product, and up plus one.
    CHECK(saved(computing(routed(), expert_code::grouped, "gpt_oss")).find("gate_activation 320x2 i") !=
          std::string::npos);
    // A router in fp32 reads copies of the tokens and of its weight.
    CHECK(saved(computing(routed(), expert_code::grouped, "kimi_k2"))
              .starts_with("weight 64x4 i, linear_input 64x4 i, router 8x4 i"));
}

TEST_CASE("experts that ranks exchange save what came, sorted once more, and what comes back in fp32") {
    const std::string route = "linear_input 64x2 i, router 16x4 i, ";
    const std::string inside = "gate 80x2 i, gate_activation 80x2 i, up 80x2 i, linear_input 80x2 o";
    CHECK(saved(computing(routed(), expert_code::permuted)) == route + "linear_input 128x2 i, " + inside);
    CHECK(saved(computing(routed(), expert_code::dispatched)) ==
          route + "linear_input 128x2 i, linear_input 128x2 i, " + inside + ", expert_output 128x4 o");
}

TEST_CASE("frozen experts save neither what products read nor their product") {
    const std::string all = saved(adapted(computing(routed(), expert_code::grouped), {weight_role::q_proj}));
    CHECK(all.find("linear_input") == std::string::npos);
    CHECK(all.find("product") == std::string::npos);
}

TEST_CASE("experts' outputs are weighed in fp32 where their code widens the scores, but for experts one by one") {
    const auto weighed = [](const job& j) { return weighed_format(training_context{j, {}}); };
    CHECK(weighed(computing(routed(), expert_code::grouped)) == bf16);
    CHECK(weighed(computing(routed(), expert_code::grouped, "mixtral")) == fp32);
    CHECK(weighed(computing(routed(), expert_code::loop, "mixtral")) == bf16);
    CHECK(weighed(computing(routed(), expert_code::grouped, "kimi_k2")) == fp32);
    job j = computing(routed(), expert_code::grouped, "kimi_k2");  // autocast computes those in 16 bits
    j.autocast = true;
    CHECK(weighed(j) == bf16);
}

TEST_CASE("the gradients inside a feed-forward: of the product and both factors, or one in place, or of a power's") {
    CHECK(made(trained(dense())) == "gradient 480x2 i, gradient 160x2 o");
    job j = trained(dense());
    j.runtime.kernels.gate = gate_code::in_place;
    CHECK(made(j) == "gradient 160x2 i, gradient 160x2 o");
    const layer plain = dense(feed_forward_kind::plain);
    CHECK(made(trained(plain)) == "gradient 320x2 i, gradient 160x2 o");
    CHECK(made(trained(plain, "gpt2")) == "gradient 480x2 i, gradient 160x2 o");
    CHECK(made(autocasting(trained(plain, "gpt2"))) == "gradient 480x4 i, gradient 160x2 o");
    CHECK(made(trained(plain, "opt")) == "gradient 480x2 i, gradient 160x2 o");  // beside the output, which is read
}

TEST_CASE("the gradients of routed experts are those of all choices, or of one expert's") {
    // Those inside, that of what the last product reads and that of its output, in the order of the experts; the
    // weighing copies the sum's gradient for each choice, sorts it, and has both factors' gradients.
    const std::string products = "gradient 240x2 i, gradient 80x2 o, gradient 128x2 o, ";
    CHECK(made(computing(routed(), expert_code::grouped)) == products + "gradient 384x2 f");
    // Mixtral's scores are fp32, and the gradient is cast back.
    CHECK(made(computing(routed(), expert_code::grouped, "mixtral")) ==
          products + "gradient 384x4 f, gradient 128x2 f");
    // Of 16 choices an expert has two: the gradient of its tokens, those inside, and that of its product.
    CHECK(made(computing(routed(), expert_code::modules)) == "gradient 16x2 i, gradient 30x2 i, gradient 10x2 o");
}

TEST_CASE("behind dropout an adapter's input has two gradients, less what its product read and its weights' copies") {
    job j = trained(dense());
    j.adapter = {.kind = adapter_kind::lora, .rank = 4, .dropout = 0.1};
    j.autocast = true;
    j.runtime.kernels.fp32_adapters = true;
    const training_context context{j, {}};
    REQUIRE(context.formats.adapters == fp32);
    REQUIRE(context.formats.compute == bf16);
    // In fp32: 2 x 100 x 20 elements, less 100 x 20 + 4 (20 + 30) in 16 bits.
    CHECK(dropped_gradients(100, 20, 30, context) == 2 * 2000 - (2000 + 200) / 2);
    CHECK(dropped_gradients(10, 20, 300, context) == 200);  // no less than one of them
    j.runtime.kernels.fp32_adapters = false;
    const training_context narrow{j, {}};
    REQUIRE(narrow.formats.adapters == bf16);
    CHECK(dropped_gradients(100, 20, 30, narrow) == 2000);
}
