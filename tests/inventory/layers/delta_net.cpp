// SPDX-License-Identifier: MIT
#include <llmres/inventory/layers/delta_net.hpp>

#include <doctest/doctest.h>

#include <llmres/answers/layout_plan.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

/// The mixer of tests/validation/data/pytorch_saved.csv: Qwen3-Next's with 32 value heads and 16 key heads of 128.
constexpr recurrent mixer{
    .kind = recurrent_kind::delta_net, .heads = 32, .head_dim = 128, .key_heads = 16, .state = 128, .kernel = 4};
constexpr layer recurring{.attention = no_attention, .recurrent = mixer, .feed_forward = no_feed_forward};

job training(scan_code scan, std::int64_t sequences, std::int64_t length) {
    job j{.model = {.vocabulary = 1000, .hidden = 2048, .layers = {1, recurring}},
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(length),
          .micro_batch = sequences};
    j.compute = bf16;
    j.runtime.kernels = {.scan = scan, .casts_weights = false};
    return j;
}

/// Between the projections.
byte_count saved(const job& j, const layout& l = {}) {
    const training_context context{j, l};
    byte_count all;
    const auto add = [&](const activation& of) { all += local_bytes(of, l); };
    const auto added = visiting<activation>(add);
    save_delta_net(mixer, layer_writer{context, added});
    return all;
}

}  // namespace

TEST_CASE("the mixer in plain PyTorch keeps what autograd saved of transformers' module, to the byte") {
    // The sums of `linear_attn` and `linear_attn.norm` in tests/validation/data/pytorch_saved.csv; under autocast with
    // a copy of the convolution's kernel there, which is counted with the weights.
    CHECK(saved(training(scan_code::plain, 1, 512)) == bytes(181'032'192));
    job autocast = training(scan_code::plain, 1, 512);
    autocast.weights = fp32;
    autocast.autocast = true;
    CHECK(saved(autocast) + bytes(2 * 8192 * 4) == bytes(204'166'400));
}

TEST_CASE("flash-linear-attention's rule keeps queries, keys, values, sums of decays and the inverse of each chunk") {
    // Tracked under transformers 5.17.0 and fla 0.6.0 whose kernels were not launched: 4 sequences of 1024 tokens.
    const std::int64_t n = 4096;
    const byte_count rule = bytes(3 * 33'554'432 + 16'777'216 + 3 * 524'288);
    const byte_count before = bytes(67'108'864 + 262'144 + 2 * 524'288 + 2 * 128);
    const byte_count norm = bytes(3 * 67'108'864 + 524'288 + 2 * 33'554'432);
    CHECK(saved(training(scan_code::fused, 4, 1024)) == rule + before + norm);
    // Of a frozen model neither what the norm's weight multiplied nor a softplus, nor the weights' own exponentials.
    job frozen = training(scan_code::fused, 4, 1024);
    frozen.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(saved(frozen) == rule + before + norm - bytes(2 * n * 4096 + 4 * n * 32 + 2 * 128));
}

TEST_CASE("the plain rule pads sequences to chunks of 64 tokens, the kernels do not") {
    const auto of = [](scan_code scan, std::int64_t length) { return saved(training(scan, 2, length)); };
    CHECK(of(scan_code::fused, 96) * 2 == of(scan_code::fused, 192) + bytes(2 * 4 * 32));  // twice the weights' own
    CHECK(of(scan_code::plain, 65) * 2 > of(scan_code::plain, 64) * 3);
    CHECK(of(scan_code::plain, 128) - of(scan_code::plain, 127) < of(scan_code::plain, 65) - of(scan_code::plain, 64));
}

TEST_CASE("before transformers 5.17 the plain rule kept each row of a chunk's system, and the rows above it") {
    // 63 rows of 1 to 63 values, and as many products of each with the rows above it.
    CHECK(solved_by_rows() == 63 * 64 * 127 / 6 + 63 * 64 / 2);
    const cluster c = standard_cluster(gpus::h200_sxm5_141gb, 1).value();
    const auto above = [&](scan_code scan, recompute recomputed) {
        job j = training(scan, 1, 4096);
        j.runtime.accuracy = {};
        j.model.layers = {3, recurring};
        j.recompute = recomputed;
        const interval<byte_count> kept = memory_of(j, layout{}, c)[memory_term::activations];
        return kept.high - kept.expected;
    };
    const byte_count layer = bytes(4) * (std::int64_t{64} * 32 * 87'360);  // 683 MiB
    CHECK(above(scan_code::plain, recompute::none) - above(scan_code::fused, recompute::none) == layer * 3);
    CHECK(above(scan_code::plain, recompute::full) - above(scan_code::fused, recompute::full) == layer);
}

TEST_CASE("in fp32 the plain rule copies keys twice, queries, and keys times steps, as products read them") {
    job j = training(scan_code::plain, 1, 512);
    const byte_count halves = saved(j);
    j.weights = j.compute = fp32;
    // The convolution's input and output, steps, and two tensors of the norm have two bytes more a value; queries and
    // keys with their decays are of all chunks but one.
    const std::int64_t of_halves = 512 * 8192 + 515 * 8192 + 512 * 32 + 2 * 512 * 4096;
    CHECK(saved(j) - halves == bytes(2 * of_halves + 4 * (512 * 4 * 4096 - 64 * 2 * 4096)));
}

TEST_CASE("flash-linear-attention's rule is fullest with what it saves, states, new values and its output") {
    const auto passed = [](scan_code scan) {
        const job j = training(scan, 1, 512);
        const training_context context{j, {}};
        byte_count all;
        const auto add = [&](const activation& of) { all += local_bytes(of, {}); };
        const auto added = visiting<activation>(add);
        pass_forward_delta_net(mixer, layer_writer{context, added});
        return all;
    };
    // Queries, keys and keys for states, four tensors of values, the inverse of each chunk, and a state a chunk, in
    // halves; the plain rule's six, four and three pairs are in fp32.
    const byte_count fused = bytes(2) * (512 * (3 * 4096 + 4 * 4096 + 32 * 64) + 8 * 32 * 128 * 128);
    const byte_count plain = bytes(4) * (512 * (6 * 4096 + 4 * 4096) + 3 * 512 * 32 * 64);
    CHECK(passed(scan_code::plain) - passed(scan_code::fused) == plain - fused);
}

TEST_CASE("tensor ranks share a mixer by its heads") {
    for (const scan_code scan : {scan_code::plain, scan_code::fused}) {
        const job j = training(scan, 1, 512);
        const byte_count mask = scan == scan_code::plain ? bytes(64 * 64) : byte_count{};
        CHECK(saved(j, {.tensor = 2}) == div_up(saved(j) - mask, 2) + mask);
    }
}

TEST_CASE("gated delta nets with a decay a head are trained; Kimi delta attention is refused by its layers") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    job j{.model = find_model("qwen3-next-80b-a3b").value(), .task = task::finetuning, .sequence = tokens(2048)};
    CHECK(plan(j, layout{}, c));
    j.model = find_model("qwen3.5-27b").value();
    CHECK(plan(j, layout{}, c));
    // Trainers with modules of their own have other code of it, which was not read.
    for (const runtime* own : {&runtimes::torchtitan, &runtimes::megatron, &runtimes::torchtune}) {
        job other = j;
        other.runtime = *own;
        CHECK(plan(other, layout{}, c).error().field == "layers");
    }
    for (layer& kind : j.model.layers.kinds)
        if (is_gated_delta(kind.recurrent)) kind.recurrent.rank = 128;
    CHECK(plan(j, layout{}, c).error().field == "layers");
}
