// SPDX-License-Identifier: MIT
// What attention and norms save for their backward pass and make in it, tensor by tensor: by the modelling code of
// transformers 5.17, PyTorch's choice of kernels (sdp_utils.cpp), and Transformer Engine's context_parallel.py.
#include <llmres/inventory/layers/attention.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/litgpt.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/torchtune.hpp>
#include <string>
#include <string_view>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t n = 8;

/// Four heads of 16 features; pairs of eight tokens are 32 values a token.
attention heads(std::int32_t of_keys) { return {.heads = 4, .kv_heads = of_keys, .head_dim = 16}; }
/// The same with eight rotated features beside them.
attention latent() {
    return {.kind = attention_kind::latent, .heads = 4, .head_dim = 16, .rope_dim = 8, .value_dim = 16};
}
job trained(std::string_view architecture, attention_kernel kernel, const runtime& r = runtimes::huggingface) {
    job j{.model = {.vocabulary = 100, .hidden = 64, .layers = {1, {.attention = heads(2)}}},
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(n)};
    j.model.architecture = architecture;
    j.runtime = r;
    j.runtime.kernels.casts_weights = false;
    j.attention = kernel;
    return j;
}
job two_sequences(job j) {
    j.sequence = tokens(n / 2), j.micro_batch = 2;
    return j;
}
job autocasting(job j) {
    j.weights = fp32, j.autocast = true;
    return j;
}
job dropping(job j) {
    j.dropout = true;
    return j;
}

/// "gate 160x2 i": values of each token, their bytes, and the point until which they are needed: of what follows the
/// feed-forward, its output, its inside, the norm before it, attention, or the norm before that.
template <class Write>
std::string written(const training_context& context, const Write& write) {
    std::string all;
    const auto add = [&](const activation& a) {
        all += (all.empty() ? "" : ", ") + std::string{name_of(a.role)} + " " + std::to_string(a.elements / n) + "x" +
               std::to_string(size_of(a.format, 1, 1).in(bytes)) + " " + "foinaA"[static_cast<std::size_t>(a.until)];
    };
    const auto visit = visiting<activation>(add);
    write(layer_writer{context, visit});
    return all;
}
std::string saved(const attention& a, const job& j, bool input_requires_grad = true) {
    const training_context context{j, {}};
    const attended_tokens seen{context.tokens.length, context.tokens.keys, attention_to::itself};
    return written(context, [&](const layer_writer& out) {
        save_attention(a, seen, gradient_flow{input_gradient{input_requires_grad}}, out);
    });
}
std::string made(const attention& a, const job& j, const layout& l = {}) {
    return written(training_context{j, l}, [&](const layer_writer& out) { pass_back_attention(a, out); });
}
std::string normed(norm_kind kind, const job& j) {
    return written(training_context{j, {}}, [&](const layer_writer& out) {
        out.norm(n, 64, kind, activation_split::sequence, backward_point::norm, backward_point::inner);
    });
}
/// What a whole layer saves.
std::string kept(const layer& l, const job& j) {
    const training_context context{j, {}};
    return written(context, [&](const layer_writer& out) {
        show_saved(l, 64, context, gradient_flow{input_gradient{!context.frozen}}, out.visit);
    });
}
bool has(const std::string& all, std::string_view part) { return all.find(part) != std::string::npos; }

using enum attention_kernel;

}  // namespace

TEST_CASE("a flash kernel saves queries, keys, values, a statistic of each head, and its output") {
    const std::string all = "query 64x2 a, key 32x2 a, value 32x2 a, softmax_statistics 4x4 a, attention_output 64x2 a";
    CHECK(saved(heads(2), trained("", flash)) == all);
    CHECK(saved(heads(2), trained("", sdpa)) == all);
    // torchtune repeats keys and values for each query head, but for a flash kernel's.
    CHECK(saved(heads(2), trained("", sdpa, runtimes::torchtune)).starts_with("query 64x2 a, key 64x2 a, value 64x2"));
    CHECK(saved(heads(2), trained("", flash, runtimes::torchtune)) == all);
}

TEST_CASE("a window that bites wants a mask of all pairs, which no flash kernel takes, and heads that are repeated") {
    attention a = heads(2);
    a.window = tokens(n);
    CHECK(saved(a, trained("", sdpa)) ==
          "query 64x2 a, key 64x2 a, value 64x2 a, softmax_statistics 4x4 a, mask 8x2 a, attention_output 64x2 a");
    CHECK(saved(a, trained("", flash)).find("mask") == std::string::npos);
    a.window = tokens(n + 1);
    CHECK(saved(a, trained("", sdpa)) == saved(heads(2), trained("", sdpa)));
    // Falcon always gives one.
    CHECK(saved(heads(2), trained("falcon", sdpa)) ==
          "query 64x2 a, key 64x2 a, value 64x2 a, softmax_statistics 4x4 a, mask 8x2 a, attention_output 64x2 a");
}

TEST_CASE("eager attention saves an fp32 softmax and its copy, and what dropout left, for whom they reach") {
    const std::string three = "query 64x2 a, key 64x2 a, value 64x2 n, ";
    CHECK(saved(heads(2), trained("", eager)) == three + "probabilities 32x4 a, probabilities 32x2 n");
    CHECK(saved(heads(2), dropping(trained("", eager))) ==
          three + "probabilities 32x4 a, probabilities 32x1 a, probabilities 32x2 n");
    // A tanh over the scores; a kernel that does all in 16 bits; a softmax that is in the scores' format.
    CHECK(saved(heads(2), trained("gemma2", eager)) ==
          three + "probabilities 32x2 a, probabilities 32x4 a, probabilities 32x2 n");
    CHECK(saved(heads(2), trained("", eager, runtimes::megatron)).ends_with("n, probabilities 32x2 a"));
    CHECK(saved(heads(2), trained("gpt_oss", eager)) == three + "probabilities 32x2 a");
    // GPT-J's queries and keys are fp32.
    CHECK(saved(heads(4), trained("gptj", eager)).starts_with("query 64x4 a, key 64x4 a, value 64x2 n"));
    // Nothing before requires a gradient: nobody asks for that of the scores.
    CHECK(saved(heads(2), trained("", eager), false) == "value 64x2 n");
    CHECK(saved(heads(2), trained("", flash), false) == saved(heads(2), trained("", flash)));
}

TEST_CASE("fp32 has no kernel for shared heads: products of repeated ones") {
    job j = trained("", sdpa);
    j.weights = fp32, j.compute = fp32;
    CHECK(saved(heads(2), j) == "query 64x4 a, key 64x4 a, value 64x4 n, probabilities 32x4 a");
    CHECK(saved(heads(4), j) ==
          "query 64x4 a, key 64x4 a, value 64x4 a, softmax_statistics 4x4 a, attention_output 64x4 a");
}

TEST_CASE("one head of keys is a view for all queries, which a cast makes whole") {
    CHECK(saved(heads(1), trained("", eager)).starts_with("query 64x2 a, key 16x2 a, value 16x2 n"));
    CHECK(saved(heads(1), autocasting(trained("", eager))).starts_with("query 64x2 a, key 64x2 a, value 16x2 n"));
    CHECK(saved(heads(1), autocasting(trained("", flash))).starts_with("query 64x2 a, key 16x2 a, value 16x2 a"));
}

TEST_CASE("one head beside a mask, and biased scores, fall to fp32 products, which copy it for several sequences") {
    CHECK(saved(heads(1), trained("falcon", sdpa)) == "query 64x4 a, key 16x4 a, value 16x4 n, probabilities 32x4 a");
    CHECK(saved(heads(1), two_sequences(trained("falcon", sdpa))) ==
          "query 64x4 a, key 64x4 a, value 64x4 n, probabilities 16x4 a");
    CHECK(saved(heads(1), dropping(trained("falcon", sdpa))) ==
          "query 64x4 a, key 16x4 a, value 16x4 n, probabilities 32x4 a, probabilities 32x1 a, probabilities 32x4 n");
    CHECK(saved(heads(4), trained("t5", sdpa)) == "query 64x4 a, key 64x4 a, value 64x4 n, probabilities 32x4 a");
    // T5's attention to its encoder, of 12 tokens here, has no biases.
    const job j = trained("t5", sdpa);
    const training_context context{j, {}};
    CHECK(written(context, [&](const layer_writer& out) {
              save_attention(heads(4), {12, 12, attention_to::encoder}, gradient_flow{input_gradient::required}, out);
          }) == "query 64x2 a, key 96x2 a, value 96x2 a, softmax_statistics 4x4 a, attention_output 64x2 a");
}

TEST_CASE("heads of one product keep all of it, rotated ones beside themselves") {
    // 4 + 2 + 2 heads of 16 features.
    CHECK(saved(heads(2), trained("gpt2", flash)).starts_with("value 128x2 a, softmax"));
    CHECK(saved(heads(2), trained("phi3", flash)).starts_with("query 64x2 a, key 32x2 a, value 128x2 a"));
    CHECK(saved(heads(2), trained("falcon", flash)).starts_with("query 64x2 a, key 32x2 a, value 32x2 a"));
    // A batched product reads copies of several sequences' heads.
    CHECK(saved(heads(4), two_sequences(trained("gpt2", eager))).starts_with("query 64x2 a, key 64x2 a, value 64x2 n"));
}

TEST_CASE("latent attention's values are a view that keeps the expanded keys, or a copy") {
    job j = trained("", flash);
    CHECK(saved(latent(), j).starts_with("query 96x2 a, key 96x2 a, value 128x2 a"));
    j.runtime.kernels.latent_values = latent_value_code::copy;
    CHECK(saved(latent(), j).starts_with("query 96x2 a, key 96x2 a, value 64x2 a"));
}

TEST_CASE("the output projection reads a copy of what lies head by head") {
    const auto copies = [](const attention& a, const job& j, sdpa_backend backend = sdpa_backend::flash) {
        return copies_output(a, training_context{j, {}, backend}, attention_to::itself);
    };
    CHECK(copies(heads(2), trained("", eager)));
    CHECK_FALSE(copies(heads(2), trained("", sdpa)));
    CHECK(copies(heads(2), trained("phi3", sdpa)));
    CHECK_FALSE(copies(heads(2), trained("", sdpa), sdpa_backend::cudnn));
    CHECK(copies(latent(), trained("", sdpa), sdpa_backend::cudnn));
    CHECK_FALSE(copies(latent(), trained("", sdpa)));
    CHECK_FALSE(copies(latent(), trained("", flash), sdpa_backend::cudnn));
}

TEST_CASE("beside attention stand casts of one bias, masked ones in a decoder, and each layer's prompts") {
    const auto beside = [](const attention& a, const job& j) {
        return written(training_context{j, {}}, [&](const layer_writer& out) { save_beside_attention(a, 64, out); });
    };
    attention decoder = heads(4);
    decoder.cross = cross_attention::beside;
    CHECK(beside(decoder, trained("t5", cudnn)) == "mask 32x2 a, mask 8x1 a");
    CHECK(beside(heads(4), trained("t5", cudnn)).empty());
    CHECK(beside(heads(4), autocasting(trained("t5", cudnn))) == "mask 32x2 a");
    CHECK(beside(decoder, trained("t5", sdpa)).empty());
    job j = trained("", flash);
    j.adapter.kind = adapter_kind::llama_adapter;
    CHECK(beside(heads(4), j) == "adapter 64x2 n");
    j.adapter.kind = adapter_kind::llama_adapter_v2;
    CHECK(beside(heads(4), j) == "adapter 64x2 n, adapter 64x2 n");
}

TEST_CASE("attention's backward pass makes three tensors as large as scores, or the heads' gradients twice") {
    CHECK(made(heads(2), trained("", flash)) == "gradient 256x2 a");  // 2 x 4 x (16 + 16)
    CHECK(made(latent(), trained("", flash)) == "gradient 320x2 a");
    CHECK(made(heads(2), trained("", eager)) == "gradient 96x4 a, gradient 64x2 a");
    CHECK(made(heads(2), trained("", eager, runtimes::megatron)) == "gradient 64x2 a, gradient 64x2 a");
    CHECK(made(heads(1), trained("falcon", sdpa)) == "gradient 96x4 a, gradient 64x2 a");
    CHECK(made(heads(1), two_sequences(trained("falcon", sdpa))) ==
          "gradient 48x4 a, gradient 64x2 a, gradient 64x4 a");
    CHECK(made(heads(4), two_sequences(trained("t5", sdpa))) == "gradient 48x4 a, gradient 64x2 a");
    CHECK(made(heads(1), two_sequences(trained("", eager))) == "gradient 48x4 a, gradient 64x2 a");
}

TEST_CASE("ranks that share a sequence hold what they exchange for one attention") {
    const auto exchanged = [](const attention& a, std::int32_t ranks, cp_communication by) {
        job j = trained("", flash);
        j.sequence = tokens(n * ranks);
        return made(a, j, {.context_parallel = ranks, .cp_comm_type = by});
    };
    using enum cp_communication;
    // A token has 64 keys and values, 64 queries and 64 outputs: 2 x 128 parts are what attention makes on one rank,
    // so that the backward pass's four and one are more; 8 x 128 - 256 are more than those.
    CHECK(exchanged(heads(2), 2, p2p) == "gradient 256x2 a, gradient 320x2 a");
    CHECK(exchanged(heads(2), 4, p2p) == "gradient 256x2 a, gradient 320x2 a");  // 4 x 128 - 256 are fewer
    CHECK(exchanged(heads(2), 8, p2p) == "gradient 256x2 a, gradient 768x2 a");
    CHECK(exchanged(heads(2), 2, all_gather) == "gradient 256x2 a, gradient 256x2 a");
    CHECK(exchanged(heads(2), 2, a2a) == "gradient 256x2 a, gradient 192x2 a");
    // Latent: 160 keys and values, 96 queries, 64 outputs.
    CHECK(exchanged(latent(), 2, a2a) == "gradient 320x2 a, gradient 320x2 a");
}

TEST_CASE("norms save their input, statistics, and what their weight multiplies, by how they are written") {
    using enum norm_kind;
    CHECK(normed(rms, trained("", flash)) == "norm_input 64x4 n, norm_statistics 1x4 n, normalised 64x2 i");
    CHECK(normed(rms, trained("", flash, runtimes::megatron)) == "norm_input 64x2 n, norm_statistics 1x4 n");
    CHECK(normed(layer, trained("", flash)) == "norm_input 64x2 n, norm_statistics 2x4 n");
    CHECK(normed(none, trained("", flash)).empty());
    CHECK(normed(none, trained("olmo", flash)) == "norm_input 64x4 n, norm_statistics 2x4 n");
    CHECK(normed(rms, trained("gemma", flash)) ==
          "norm_input 64x4 n, norm_statistics 1x4 n, weight 8x4 n, normalised 64x4 i");
    CHECK(normed(rms, trained("olmo2", flash)) == "norm_input 64x4 n, norm_statistics 1x4 n, normalised 64x4 i");
    CHECK(normed(rms, trained("t5", flash)) ==
          "norm_input 64x4 n, norm_statistics 1x4 n, norm_input 64x2 n, normalised 64x2 i");
    // Cohere takes a mean off first.
    CHECK(normed(layer, trained("cohere", flash)) ==
          "norm_input 128x4 n, norm_statistics 2x4 n, weight 8x4 n, normalised 64x4 i");
    job frozen = trained("gemma", flash);
    frozen.adapter = {.kind = adapter_kind::lora, .rank = 4};
    CHECK(normed(rms, frozen) == "norm_input 64x4 n, norm_statistics 1x4 n, weight 8x4 n");
}

TEST_CASE("what a norm's weight multiplies is kept until the products behind it are differentiated") {
    layer l{.attention = heads(2), .feed_forward = {.width = 160}};
    const std::string of_input = "norm_input 64x4 A, norm_statistics 1x4 A, normalised 64x2 a";
    const std::string before_inner = "norm_input 64x4 n, norm_statistics 1x4 n, normalised 64x2 i";
    const std::string of_attention = "norm_input 64x4 n, norm_statistics 1x4 n, normalised 64x2 n";
    const std::string of_output = "norm_input 64x4 f, norm_statistics 1x4 f, normalised 64x2 f";
    CHECK(kept(l, trained("", flash)).starts_with(of_input));
    CHECK(has(kept(l, trained("", flash)), before_inner));
    CHECK_FALSE(has(kept(l, trained("", flash)), of_attention));
    l.norm_after_attention = l.norm_after_feed_forward = true;
    CHECK(has(kept(l, trained("", flash)), of_attention));
    CHECK(kept(l, trained("", flash)).ends_with(of_output));
    // Autocast's stream is fp32, but not the outputs of products.
    CHECK(kept(l, autocasting(trained("", flash)))
              .starts_with("norm_input 64x4 A, norm_statistics 1x4 A, normalised 64x4 a"));
    CHECK(kept(l, autocasting(trained("", flash))).ends_with(of_output));
}

TEST_CASE("a gate on attention's output keeps its factors feature by feature, and a shared expert's what it scales") {
    layer l{.attention = heads(2), .feed_forward = no_feed_forward};
    CHECK_FALSE(has(kept(l, trained("", flash)), "gate"));
    l.attention.gate = output_gate::features;  // the sigmoid, and the output
    CHECK(has(kept(l, trained("", flash)), "gate 128x2"));
    l.attention.gate = output_gate::heads;
    CHECK_FALSE(has(kept(l, trained("", flash)), "gate"));
    l = {.attention = no_attention, .feed_forward = {.experts = {8, 2, 40, 48}}};
    CHECK_FALSE(has(kept(l, trained("", flash)), "gate 65x2"));
    l.feed_forward.experts.shared_gate = true;
    CHECK(has(kept(l, trained("", flash)), "gate 65x2"));
}

TEST_CASE("one adapter beside joined heads is as wide as those it adapts") {
    const layer l{.attention = heads(2), .feed_forward = no_feed_forward};
    const auto with = [&](const runtime& r, const role_set& targets) {
        job j = trained("", flash, r);
        j.adapter = {.kind = adapter_kind::lora, .rank = 4, .targets = targets};
        return kept(l, j);
    };
    using enum weight_role;
    CHECK(has(with(runtimes::litgpt, {q_proj, v_proj}), "adapter 96x2 a"));
    CHECK(has(with(runtimes::litgpt, {q_proj, k_proj, v_proj}), "adapter 128x2 a"));
    CHECK_FALSE(has(with(runtimes::huggingface, {q_proj, v_proj}), "adapter 96x2 a"));
}

TEST_CASE("a norm's backward pass makes five fp32 tensors, four into an fp32 stream, or two in one kernel") {
    const auto passed = [](norm_kind kind, const job& j, backward_point at) {
        layer_operation o;
        o.at = at;
        o.reads[0] = whole_operand(operand_name::stream, 64);
        return written(training_context{j, {}}, [&](const layer_writer& out) { pass_back_norm(o, kind, out); });
    };
    using enum backward_point;
    const norm_kind rms = norm_kind::rms;
    CHECK(passed(rms, trained("", flash), norm) == "gradient 320x4 n");
    CHECK(passed(rms, autocasting(trained("", flash)), norm) == "gradient 256x4 n");
    CHECK(passed(rms, trained("", flash, runtimes::megatron), norm) == "gradient 128x2 n");
    CHECK(passed(norm_kind::layer, trained("", flash), norm) == "gradient 128x2 n");
    // Of the feed-forward's output, what the weight multiplied is free by then, and that gradient is cast.
    CHECK(passed(rms, trained("", flash), fed) == "gradient 256x4 f, gradient 64x2 f");
    CHECK(passed(rms, trained("gemma2", flash), fed) == "gradient 256x4 f");
    job frozen = trained("", flash);
    frozen.adapter = {.kind = adapter_kind::lora, .rank = 4};
    CHECK(passed(rms, frozen, fed) == "gradient 320x4 f");
    // Whose stream passes back no gradient of its own, which an fp32 one could be added to.
    frozen.weights = fp32, frozen.autocast = true;
    CHECK(passed(rms, frozen, fed) == "gradient 320x4 f");
}

TEST_CASE("alive in a layer's halves are the stream, what a norm put out, and what attention or activation has") {
    const auto alive = [](const layer& l, attention_kernel kernel) {
        std::string halves[2];
        for_each_live_activation(l, 64, {1, n, n}, kernel, bf16, [&](const activation& each, layer_half half) {
            std::string& all = halves[half == layer_half::feed_forward];
            all += (all.empty() ? "" : ", ") + std::string{name_of(each.role)} + " " +
                   std::to_string(each.elements / n) + (each.format == fp32 ? " fp32" : "");
        });
        return halves[0] + "; " + halves[1];
    };
    layer l{.attention = heads(2), .feed_forward = {.width = 160}};
    const std::string held = "residual 64, linear_input 64";
    const std::string attends = held + ", query 64, key 32, value 32, attention_output 64";
    CHECK(alive(l, flash) == attends + "; " + held + ", gate 160, up 160, product 160");
    CHECK(alive(l, eager).starts_with(attends + ", probabilities 32 fp32; "));
    l.feed_forward.kind = feed_forward_kind::plain;
    CHECK(alive(l, flash) == attends + "; " + held + ", up 160, product 160");
    l.feed_forward = {.experts = {.count = 8, .per_token = 2, .width = 40}};
    CHECK(alive(l, flash) == attends + "; " + held + ", gate 80, up 80, product 80, expert_output 128");
    l = {.attention = no_attention, .feed_forward = no_feed_forward};
    CHECK(alive(l, eager) == held + "; " + held);
}
