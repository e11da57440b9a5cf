// SPDX-License-Identifier: MIT
// What the head and the loss make and free, in the order in which PyTorch's operators do: torch 2.4,
// torch/nn/functional.py (cross_entropy: log_softmax, then nll_loss), derivatives.yaml, and transformers 4.45 and 4.57,
// models/llama/modeling_llama.py and loss/loss_utils.py.
#include <llmres/memory/events/loss.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/memory/training/stage.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <map>
#include <string>
#include <utility>

#include "../../training_jobs.hpp"

using namespace llmres;
using namespace llmres::detail;
using training_jobs::small;

namespace {

constexpr layout one_gpu{};  // a folded job refers to its layout

constexpr std::int64_t n = 7, vocabulary = 1000;

/// Writes events down: `L4` for all logits in four bytes each, `S4` for those of shifted logits, which lack a position,
/// `-L4` where they are freed; sizes of other tensors are not written. `t:` stands before what is temporary, `g:`
/// before what is freed with the gradient of weights, `s:` before what the loss saves.
struct notes final : event_visitor {
    mutable std::string text;
    mutable std::map<std::int64_t, std::string> groups;

    static std::string name(std::int64_t size) {
        for (const std::int64_t bytes_each : {2, 4}) {
            if (size == bytes_each * n * vocabulary) return "L" + std::to_string(bytes_each);
            if (size == bytes_each * (n - 1) * vocabulary) return "S" + std::to_string(bytes_each);
        }
        return {};
    }
    void allocate(std::int64_t group, byte_count size, tensor_stream) const override {
        const std::string what = name(size.in(bytes));
        if (what.empty()) return;
        const auto is = [&](tensor_group of) { return group == static_cast<std::int64_t>(of); };
        text += std::string(text.empty() ? "" : " ") +
                (is(tensor_group::temporaries)      ? "t:"
                 : is(tensor_group::whole_gradient) ? "g:"
                 : is(tensor_group::loss)           ? "s:"
                                                    : "") +
                what;
        groups[group] += " -" + what;
    }
    void release(std::int64_t group) const override {
        text += groups[group];
        groups[group] = {};
    }
};

job training(const runtime& r) {
    job j = small(r, 1);
    j.sequence = tokens(n);
    return j;
}
job training(loss_code code) {
    job j = training(runtimes::huggingface);
    j.runtime.kernels.loss.code = code;
    return j;
}

/// What a loss makes and frees forward, then back to the head's product, then to its end, then to that of the step.
std::string passes_of(const job& j, const layout& l = {}) {
    const folded_job folded{j, l};
    const training_stage here = training_stage_of(folded, placement_of(j, l, l.pipeline - 1));
    const notes seen;
    const event_writer writer{folded, here, seen};
    loss_events loss{writer};
    loss.forward();
    seen.text += " |";
    loss.backward();
    seen.text += " |";
    loss.end();
    seen.text += " |";
    loss.finish();
    return seen.text;
}

/// Bytes that are alive after each pass of a loss, and what was at most.
struct followed final : event_visitor {
    mutable std::map<std::int64_t, byte_count> groups;
    mutable byte_count alive{}, peak{};
    void allocate(std::int64_t group, byte_count size, tensor_stream) const override {
        groups[group] += size, alive += size;
        if (alive > peak) peak = alive;
    }
    void release(std::int64_t group) const override { alive -= groups[group], groups[group] = {}; }
};

/// What the inventory lists of a point.
byte_count listed(const job& j, const training_context& context, loss_point point) {
    byte_count all;
    for_each_loss_activation(j.model, context, [&](const activation& a, loss_point at) {
        if (at == point) all += local_bytes(a, {});
    });
    return all;
}

}  // namespace

TEST_CASE(
    "a loss by PyTorch's operators: 16-bit logits, their fp32 copy, its log-softmax; two gradients; one for the head") {
    // Saved: the log-softmax, which its derivative asks for. Back: the gradient of the log-softmax and of the copy,
    // which is cast for the head's product, from the last tensor that is freed.
    CHECK(passes_of(training(runtimes::huggingface)) == "L4 L2 L4 | -L2 -L4 L4 L4 -L4 -L4 L2 -L4 | -L2 |");
}

TEST_CASE("logits that are shifted are copied, and the gradient of the copy is put into zeros for all positions") {
    // Of 4.45 the caller has the fp32 logits alone: the head's product is freed when they are made.
    const std::string back = " | -L4 -S4 t:S4 g:S4 -S4 -S4 L4 -S4 L2 -L4 | -L2 |";
    CHECK(passes_of(training(runtimes::huggingface_4_45)) == "t:L2 L4 -L2 S4 S4" + back);
    // With a factor over the logits these are there twice in 16 bits, until the quotient is made.
    job scaled = training(runtimes::huggingface_4_45);
    scaled.model.architecture = "granite";
    CHECK(passes_of(scaled).starts_with("g:L2 t:L2 -L2 L4 -L2 S4 S4 | "));
    // Where the logits stay, they are freed with the copies.
    CHECK(passes_of(training(loss_code::eager_shifted)) ==
          "S4 L2 L4 S4 | -L2 -L4 -S4 t:S4 g:S4 -S4 -S4 L4 -S4 L2 -L4 | -L2 |");
    // One kernel writes the gradient over the copy that it read.
    CHECK(passes_of(training(loss_code::triton)) == "L2 L4 S4 | -L2 -L4 g:S4 -S4 L4 -S4 L2 -L4 | -L2 |");
}

TEST_CASE(
    "Megatron-Core's logits become their own gradient, flash-attn's as well; a mean's are the caller's to the end") {
    CHECK(passes_of(training(loss_code::vocabulary_parallel)) == "L2 L4 | -L2 L2 L2 -L4 | -L2 -L2 |");
    CHECK(passes_of(training(loss_code::vocabulary_parallel_fused)) == "L2 L4 L4 | -L2 -L4 L2 L2 -L4 | -L2 -L2 |");
    CHECK(passes_of(training(loss_code::transformer_engine)) == "L2 L2 | | -L2 -L2 |");
    CHECK(passes_of(training(loss_code::flash_cross_entropy)) == "L2 | L2 -L2 | -L2 |");
    CHECK(passes_of(training(loss_code::mean)) == "L2 L4 | -L2 L4 L2 -L4 | -L2 | -L4");
}

TEST_CASE("at each point of the loss what the inventory lists is alive, and nothing else") {
    for (int code = 0; code <= static_cast<int>(loss_code::mean); ++code)
        for (const bool autocast : {false, true})
            for (const bool adapted : {false, true})
                for (const bool holds : {false, true}) {
                    CAPTURE(code);
                    CAPTURE(autocast);
                    CAPTURE(adapted);
                    CAPTURE(holds);
                    job j = training(static_cast<loss_code>(code));
                    j.autocast = autocast;
                    if (autocast) j.weights = fp32;
                    if (adapted) j.adapter = {.kind = adapter_kind::lora, .rank = 4};
                    j.runtime.kernels.loss.holds_outputs = holds;
                    const folded_job folded{j, one_gpu};
                    const training_stage here = training_stage_of(folded, placement_of(j, {}, 0));
                    const auto at = [&](loss_point point) { return listed(j, folded.context, point); };
                    byte_count before;
                    for_each_output_activation(j.model, folded.context,
                                               [&](const activation& a) { before += local_bytes(a, {}); });
                    const followed seen;
                    const event_writer writer{folded, here, seen};
                    loss_events loss{writer};
                    loss.forward();
                    const bool shifts = code == static_cast<int>(loss_code::eager_shifted) ||
                                        code == static_cast<int>(loss_code::triton);
                    const byte_count position = bytes(4) * vocabulary;
                    const std::int64_t copies = !shifts ? 0 : code == static_cast<int>(loss_code::triton) ? 1 : 2;
                    const byte_count saved = before + at(loss_point::saved);
                    CHECK(seen.alive == saved + at(loss_point::kept) + at(loss_point::forward) - position * copies);
                    loss.backward();
                    CHECK(seen.alive == saved + at(loss_point::head) + at(loss_point::held));
                    if (!shifts)
                        CHECK(seen.peak >=
                              saved + at(loss_point::kept) + at(loss_point::gradient) + at(loss_point::held));
                    loss.end();
                    CHECK(seen.alive == at(loss_point::held));
                    loss.finish();
                    CHECK(seen.alive == byte_count{});
                    loss.forward();
                    loss.forward();  // a loss that is computed anew leaves nothing of the one before
                    CHECK(seen.alive == saved * 2 - at(loss_point::saved) + at(loss_point::kept) +
                                            at(loss_point::forward) - position * copies);
                }
}

TEST_CASE("what predicts further tokens keeps its logits beside the model's until both are differentiated") {
    job j = training(runtimes::megatron);
    const auto most = [&] {
        const folded_job folded{j, one_gpu};
        const training_stage here = training_stage_of(folded, placement_of(j, {}, 0));
        const followed seen;
        const event_writer writer{folded, here, seen};
        loss_events loss{writer};
        loss.forward();
        const byte_count kept = here.weights.prediction.logits + here.weights.prediction.kept;
        const byte_count forward = seen.alive;
        loss.backward(), loss.end(), loss.finish();
        CHECK(seen.alive == byte_count{});
        return std::pair{forward, kept};
    };
    const auto [alone, nothing] = most();
    CHECK(nothing == byte_count{});
    j.model.prediction = {.layers = 1, .block = j.model.layers.kinds[0]};
    j.mtp_layers = 1;
    const auto [both, kept] = most();
    CHECK(kept > byte_count{});
    CHECK(both == alone + kept);
}
