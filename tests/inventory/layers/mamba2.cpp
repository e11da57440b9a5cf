// SPDX-License-Identifier: MIT
#include <llmres/inventory/layers/mamba2.hpp>

#include <doctest/doctest.h>

#include <llmres/inventory/activations.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/runtimes/all.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t sequences = 2, length = 512, n = sequences * length, hidden = 64;
/// 8 heads of 16 in 2 groups, states of 32, chunks of 128: 128 inner features, 256 channels, 392 features projected.
constexpr recurrent mixer{.kind = recurrent_kind::mamba2,
                          .heads = 8,
                          .head_dim = 16,
                          .key_heads = 2,
                          .state = 32,
                          .kernel = 4,
                          .chunk = 128,
                          .conv_bias = true};
constexpr std::int64_t inner = 128, channels = 256, in_features = 392, groups = 2;
constexpr layer mamba{
    .attention = no_attention, .recurrent = mixer, .feed_forward = no_feed_forward, .norm_before_feed_forward = false};

job training(scan_code scan) {
    job j{.model = {.vocabulary = 1000, .hidden = hidden, .layers = {1, mamba}},
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(length),
          .micro_batch = sequences};
    j.compute = bf16;
    j.runtime.kernels = {.norm = norm_code::fused, .scan = scan, .casts_weights = false};
    return j;
}

byte_count saved(const job& j, const layout& l = {}) {
    byte_count all;
    for_each_saved_activation(j.model.layers[0], j.model.hidden, training_context{j, l},
                              [&](const activation& of) { all += local_bytes(of, l); });
    return all;
}

/// Of what the scan's backward pass makes alone.
byte_count passed_back(const job& j, const layout& l = {}) {
    byte_count all;
    const training_context context{j, l};
    const auto add = [&](const activation& of) { all += local_bytes(of, l); };
    const auto added = visiting<activation>(add);
    detail::pass_back_scan(j.model.layers[0].recurrent, detail::layer_writer{context, added});
    return all;
}

// The stream and its statistic, which the norm before the mixer keeps; what the projection in reads, and puts out; the
// scan's output; a statistic a group of the gated norm.
constexpr byte_count stream = bytes(2 * n * hidden + 4 * n);
constexpr byte_count through = bytes(2 * n * (hidden + in_features + inner) + 4 * n * groups);

}  // namespace

TEST_CASE(
    "the fused scan keeps what was projected and what it put out: MambaSplitConv1dScanCombinedFn, save_for_backward") {
    CHECK(saved(training(scan_code::fused)) == stream + through);
}

TEST_CASE("to the gate, the norm keeps the gated output and the projection out what that norm put out") {
    CHECK(saved(training(scan_code::fused_to_gate)) == stream + through + bytes(2 * 2 * n * inner));
}

TEST_CASE("tensor ranks share the fused scan by heads and groups; the stream, only in sequence parallelism") {
    const job j = training(scan_code::fused_to_gate);
    const byte_count replicated = stream + bytes(2 * n * hidden);
    CHECK(saved(j, {.tensor = 2}) == replicated + div_up(saved(j) - replicated, 2));
    CHECK(saved(j, {.tensor = 2, .sequence_parallel = true}) == div_up(saved(j), 2));
}

TEST_CASE(
    "the fused scan's backward pass is fullest with states and their gradients in two formats, or with those of C "
    "times B") {
    // 4 chunks a sequence of 8 x 16 x 32 states, in fp32 and 16 bits, with gradients: 12 bytes each. C B of a group:
    // 128 a token.
    constexpr std::int64_t states = sequences * 4 * 8 * 16 * 32, pairs = n * 128 * groups;
    constexpr std::int64_t held = 2 * n * (2 * channels + in_features + 8) + 4 * (2 * n * 8 + pairs);
    job j = training(scan_code::fused_to_gate);
    const std::int64_t scanning = 4 * (2 * pairs + 2 * n * groups * 32 + 3 * n * 8);
    REQUIRE(8 * states < scanning);
    CHECK(passed_back(j) == bytes(held + 2 * n * 2 * inner + 4 * states + scanning));
    // Inside the operation, the norm and the projection out add one more tensor of the output's size.
    CHECK(passed_back(training(scan_code::fused)) - passed_back(j) == bytes(2 * n * inner));
    // One group, heads four times as wide, states eight times as deep: C B and its gradient are small beside these.
    layer deep = mamba;
    deep.recurrent.head_dim = 64;
    deep.recurrent.key_heads = 1;
    deep.recurrent.state = 256;
    j.model.layers = {1, deep};
    constexpr std::int64_t more = 4 * 8 * states, outputs = 4 * inner, convolved = outputs + 2 * 256;
    constexpr std::int64_t features = 2 * outputs + 2 * convolved + (outputs + convolved + 8) + 8;
    constexpr byte_count rest = bytes(4 * (2 * n * 8 + n * 128) + 12 * more);
    CHECK(passed_back(j) == bytes(2 * n * features) + rest);
    j.weights = fp32, j.compute = fp32;  // nothing is copied to a narrower format
    CHECK(passed_back(j) == bytes(4 * n * features) + rest);
}

TEST_CASE("the last chunk of a sequence is scanned whole, though what is kept is not padded") {
    job j = training(scan_code::fused);
    j.sequence = tokens(length - 1);
    CHECK(saved(j) == div_up(saved(training(scan_code::fused)) * (length - 1), length));
    constexpr std::int64_t fewer = sequences;  // tokens; B's and C's gradients are of tokens, and not padded
    const byte_count of_tokens =
        bytes(fewer * (2 * (3 * inner + 2 * channels + in_features + 8) + 4 * 2 * groups * 32));
    CHECK(passed_back(j) == passed_back(training(scan_code::fused)) - of_tokens);
}

TEST_CASE("a fused scan takes less than one that is spelt out, and Megatron-Core's profile has it") {
    job j = training(scan_code::plain);
    const byte_count plain = training_memory(j, {}).total().expected;
    j.runtime.kernels.scan = scan_code::fused;
    const byte_count fused = training_memory(j, {}).total().expected;
    j.runtime.kernels.scan = scan_code::fused_to_gate;
    const byte_count to_gate = training_memory(j, {}).total().expected;
    CHECK(fused < to_gate);
    CHECK(to_gate < plain);
    CHECK(runtimes::megatron.kernels.scan == scan_code::fused_to_gate);
    CHECK(runtimes::huggingface.kernels.scan == scan_code::plain);
}

TEST_CASE("layers that are computed again keep their input alone, and pass back as much at once") {
    job j = training(scan_code::fused_to_gate);
    j.model.layers = {8, mamba};
    const byte_count kept = saved_activations(j, {});
    j.recompute = recompute::full;
    CHECK(kept - saved_activations(j, {}) == (saved(training(scan_code::fused_to_gate)) - bytes(2 * n * hidden)) * 8);
    CHECK(training_memory(j, {}).total().expected < training_memory(training(scan_code::plain), {}).total().expected);
}
