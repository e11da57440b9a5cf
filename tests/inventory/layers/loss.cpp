// SPDX-License-Identifier: MIT
#include <llmres/inventory/layers/loss.hpp>

#include <doctest/doctest.h>

#include <llmres/models/gpt.hpp>
#include <llmres/runtimes/huggingface.hpp>

#include <array>
#include <cstddef>
#include <string>

#include "../../validation/pytorch_runs.hpp"

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t n = 8192, vocabulary = 128256, hidden = 4096;

job training(loss_code loss) {
    job j{.model = {.vocabulary = vocabulary, .hidden = hidden, .layers = {1, layer{}}},
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(n)};
    j.runtime.kernels.loss.code = loss;
    return j;
}

byte_count made_at(const job& j, loss_point wanted, const layout& l = {}) {
    byte_count all;
    for_each_loss_activation(j.model, training_context{j, l}, [&](const activation& a, loss_point at) {
        if (at == wanted) all += local_bytes(a, l);
    });
    return all;
}

/// The most that the loss holds from its forward to its backward pass.
byte_count most_of(const job& j) {
    const byte_count forward = made_at(j, loss_point::forward), gradient = made_at(j, loss_point::gradient);
    return made_at(j, loss_point::kept) + (forward > gradient ? forward : gradient);
}

constexpr byte_count scores = bytes(1) * (n * vocabulary);
constexpr byte_count stream = bytes(2) * (n * hidden);

}  // namespace

TEST_CASE("cross entropy in PyTorch's operators: 10 bytes a score forward, 12 backward, 2 for the head") {
    // Logits and their fp32 copy; the log-softmax, which its derivative asks for (derivatives.yaml, _log_softmax);
    // gradients of it and of the copy, which is cast for the head.
    const job j = training(loss_code::eager);
    CHECK(made_at(j, loss_point::forward) == scores * (2 + 4));
    CHECK(made_at(j, loss_point::kept) == scores * 4);
    CHECK(made_at(j, loss_point::gradient) == scores * (4 + 4));
    CHECK(made_at(j, loss_point::head) == scores * 2 + stream);
    // Before 4.50 the copy was copied again, shifted.
    CHECK(made_at(training(loss_code::eager_shifted), loss_point::forward) == scores * (2 + 4 + 4));
    // Beside it: the final norm's fp32 input, its statistic and its result, what the head reads, labels in 64 bits.
    CHECK(made_at(j, loss_point::saved) == stream * (2 + 1 + 1) + bytes(4 + 8) * n);
}

TEST_CASE("the loss alone holds what it was tracked to hold while PyTorch computes it, to 32 bytes") {
    int rows = 0;
    for (const csv::row& cells : pytorch_runs::rows()) {
        const pytorch_runs::row r{cells};
        const std::string family = r.text("family");
        const bool of_tokens = family != "vit" && family != "mamba2";  // (mamba2 lets its 16-bit logits go)
        const bool plain = r.text("method") == "full" && r.text("recompute") == "none" && r.text("offload").empty() &&
                           r.text("kernels") != "liger" && !r.text("loss").starts_with("trl") &&
                           r.text("loss") != "llamafactory_dpo";
        if (!of_tokens || !plain || !r.text("autocast_dtype").empty() || r.number("batch") != 1 ||
            r.number("accumulate") > 1)
            continue;
        INFO(r.text("run_id"));
        const std::int64_t others =
            r.number("static_bytes") + r.number("input_bytes") + r.number("saved_activation_bytes");
        const std::int64_t gone =
            r.number("loss_peak_1_bytes") - others - made_at(pytorch_runs::job_of(r), loss_point::forward).in(bytes);
        CHECK(gone >= 0);
        CHECK(gone <= 32);
        ++rows;
    }
    CHECK(rows >= 100);
}

TEST_CASE(
    "head and loss together take a part of the tokens at a time: 2^ceil(log2(n / (V / h))), arXiv 2410.10989 section "
    "3.2") {
    job j = training(loss_code::fused_linear);
    // The vocabulary is 31.3 times as wide as the stream: 32 parts of 8192 tokens, 256 each.
    CHECK(logit_positions(j.model, training_context{j, {}}) == 256);
    CHECK(made_at(j, loss_point::forward) == bytes(2 + 4) * (256 * vocabulary) + stream);
    // At once differentiated: by what it read, and by the head. The former is there until the head's backward pass.
    CHECK(made_at(j, loss_point::head) == stream);
    const byte_count head = bytes(2) * (vocabulary * hidden);
    CHECK(made_at(j, loss_point::kept) == stream + head);
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(made_at(j, loss_point::kept) == stream);
    // Few tokens are one part.
    j.sequence = tokens(7);
    CHECK(logit_positions(j.model, training_context{j, {}}) == 1);
    j.model.vocabulary = hidden;
    CHECK(logit_positions(j.model, training_context{j, {}}) == 7);
}

TEST_CASE("TRL's head has a tile of logits, whatever the vocabulary, and gradients in fp32 (chunked_logprob.py)") {
    job j = training(loss_code::fused_log_probabilities);
    constexpr byte_count tile = bytes(2) * (4096 * 32768);
    constexpr byte_count head = bytes(1) * (vocabulary * hidden);
    // The positions that are scored are a copy, which stays with two values of each.
    CHECK(made_at(j, loss_point::kept) == stream + bytes(2 * 4) * n);
    CHECK(made_at(j, loss_point::forward) == stream + tile);
    CHECK(made_at(j, loss_point::gradient) == tile + stream * 2 + stream + head * 4 + head * 2);
    CHECK(made_at(j, loss_point::head) == stream * 2);
    // Weights in fp32 are cast tile by tile, and the second cast is made beside the first; gradients need no copy.
    j.weights = fp32, j.compute = bf16, j.autocast = true;
    constexpr byte_count cast = bytes(2) * (32768 * hidden), input = bytes(2) * (4096 * hidden);
    CHECK(made_at(j, loss_point::forward) == stream * 2 + tile + cast + input);
    CHECK(made_at(j, loss_point::gradient) == tile + cast * 2 + input + stream * 2 + head * 4);
    CHECK_FALSE(casts_head(j.model, training_context{j, {}}));
    // Of few tokens and words the tile is as wide, and the head's cast is not.
    j.sequence = tokens(100);
    j.model.vocabulary = 1000;
    CHECK(made_at(j, loss_point::forward) ==
          bytes(100) * (4 * hidden + 2 * 32768 + 2 * hidden) + bytes(2) * (1000 * hidden));
    j = training(loss_code::fused_log_probabilities);
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(made_at(j, loss_point::gradient) == tile + stream * 2 + stream);
    // A model that makes no scores of tokens has none of it.
    j.model.vocabulary = 0;
    CHECK(made_at(j, loss_point::gradient) == byte_count{});
}

TEST_CASE("flash-attn's cross entropy keeps the logits as they are, and writes their gradient over them") {
    job j = training(loss_code::flash_cross_entropy);
    constexpr byte_count logits = bytes(2) * (n * vocabulary);
    CHECK(made_at(j, loss_point::kept) == logits);
    CHECK(made_at(j, loss_point::forward) == byte_count{});
    CHECK(made_at(j, loss_point::gradient) == byte_count{});
    CHECK(made_at(j, loss_point::head) == logits + stream);
    // A critic's values are few, and have no logits.
    j.model.vocabulary = 0;
    CHECK(made_at(j, loss_point::kept) == byte_count{});
}

TEST_CASE("each way to compute the loss takes less than the one that knows less") {
    const auto of = [](loss_code c) { return most_of(training(c)); };
    CHECK(of(loss_code::eager) < of(loss_code::eager_shifted));
    CHECK(of(loss_code::chunked) < of(loss_code::eager));
    CHECK(of(loss_code::transformer_engine) < of(loss_code::vocabulary_parallel));
    CHECK(of(loss_code::vocabulary_parallel) < of(loss_code::vocabulary_parallel_fused));
    CHECK(of(loss_code::fused_linear) < of(loss_code::transformer_engine));
    CHECK(of(loss_code::flash_cross_entropy) < of(loss_code::transformer_engine));
    CHECK(of(loss_code::fused_linear) < of(loss_code::flash_cross_entropy));
    job compiled = training(loss_code::chunked);
    compiled.runtime.kernels.compilation.loss = true;
    CHECK(most_of(compiled) < of(loss_code::chunked));
}

TEST_CASE("tensor ranks share scores in every way of computing them; more tokens or words never take less") {
    for (std::size_t c = 0; c < names_of<loss_code>.size(); ++c) {
        const job j = training(static_cast<loss_code>(c));
        job longer = j, wider = j;
        longer.sequence = tokens(2 * n);
        wider.model.vocabulary = 2 * vocabulary;
        CAPTURE(names_of<loss_code>[c]);
        for (const loss_point at :
             {loss_point::saved, loss_point::kept, loss_point::forward, loss_point::gradient, loss_point::head}) {
            CHECK(made_at(longer, at) >= made_at(j, at));
            CHECK(made_at(wider, at) >= made_at(j, at));
        }
        byte_count whole, shared;
        for_each_loss_activation(j.model, training_context{j, {}}, [&](const activation& a, loss_point) {
            if (a.split != activation_split::tensor) return;
            whole += local_bytes(a, {});
            shared += local_bytes(a, layout{.tensor = 8});
        });
        CHECK(whole > byte_count{});
        CHECK(shared * 8 == whole);
    }
}

TEST_CASE("a loop that keeps the model's outputs holds the logits as the model returned them, to the end of the step") {
    job j = training(loss_code::eager_shifted);
    CHECK(made_at(j, loss_point::held) == byte_count{});
    j.runtime.kernels.loss.holds_outputs = true;
    CHECK(made_at(j, loss_point::held) == scores * 2);  // transformers 4.46 to 4.49 cast what the loss reads
    j.runtime.kernels.loss.returns_logits = false;      // before, logits = logits.float()
    CHECK(made_at(j, loss_point::held) == scores * 4);  // beside the log-softmax and two gradients: 16 bytes a score
    CHECK(made_at(j, loss_point::kept) + made_at(j, loss_point::gradient) == scores * (4 + 8));
    CHECK(made_at(j, loss_point::forward) == scores * 8);  // where they are one of the two fp32 tensors
    j.runtime.kernels.loss.code = loss_code::fused_linear;
    CHECK(made_at(j, loss_point::held) == byte_count{});  // returns none
}

TEST_CASE("the table of the loss names every way to compute it, in order, and each ends in the head's backward pass") {
    constexpr auto variants = static_cast<std::size_t>(loss_variant::mean) + 1;
    std::array<int, variants> tensors{}, at_head{};
    loss_variant before{};
    for (const loss_tensor& t : loss_table::tensors) {
        CHECK(t.variant >= before);
        CHECK(t.copies > 0);
        before = t.variant;
        ++tensors[static_cast<std::size_t>(t.variant)];
        at_head[static_cast<std::size_t>(t.variant)] += t.at == loss_point::head;
    }
    for (std::size_t v = 0; v < variants; ++v) {
        CAPTURE(v);
        CHECK(tensors[v] >= 3);
        CHECK((at_head[v] > 0) == (v != static_cast<std::size_t>(loss_variant::fused_linear)));
    }
}

TEST_CASE("the points of the loss add up to what is visited") {
    for (std::size_t c = 0; c < names_of<loss_code>.size(); ++c) {
        const job j = training(static_cast<loss_code>(c));
        const layout l{.tensor = 3};
        const loss_memory sum = loss_memory_of(j.model, training_context{j, l}, l);
        CHECK(sum.saved == made_at(j, loss_point::saved, l));
        CHECK(sum.kept == made_at(j, loss_point::kept, l));
        CHECK(sum.forward == made_at(j, loss_point::forward, l));
        CHECK(sum.gradient == made_at(j, loss_point::gradient, l));
        CHECK(sum.head == made_at(j, loss_point::head, l));
        CHECK(sum.held == made_at(j, loss_point::held, l));
    }
}

TEST_CASE("the head is as wide as the embedding, to which a model may project its stream first") {
    const job j{.model = models::opt_350m,
                .task = task::pretraining,
                .weights = fp32,  // cast for its product
                .sequence = tokens(64),
                .runtime = runtimes::huggingface};
    std::int64_t head = 0, inputs = 0;
    for_each_loss_activation(j.model, training_context{j, {}}, [&](const activation& a, loss_point) {
        if (a.role == activation_role::weight && a.format == bf16) head += a.elements;
        if (a.role == activation_role::linear_input) inputs += a.elements;
    });
    CHECK(head == 512 * j.model.vocabulary);
    CHECK(inputs == 64 * (512 + 1024));  // the head's, and the projection's before it
}
