// SPDX-License-Identifier: MIT
// The fullest moments of a layer's backward pass, of tensors that are set or counted by hand: torch/csrc/autograd runs
// products from the last one back, and frees what each has saved.
#include <llmres/memory/training/layer/backward.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/runtimes/huggingface.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t n = 8, hidden = 64, inner = 160;
constexpr layer gated{.attention = {.heads = 4, .kv_heads = 4, .head_dim = 16}, .feed_forward = {.width = inner}};
constexpr layout one_gpu{};

/// So many features of every token, in 1, 2 or 4 bytes each.
constexpr byte_count b1(std::int64_t width) { return bytes(n * width); }
constexpr byte_count b2(std::int64_t width) { return bytes(2 * n * width); }
constexpr byte_count b4(std::int64_t width) { return bytes(4 * n * width); }

layer without_gate() {
    layer l = gated;
    l.feed_forward.kind = feed_forward_kind::plain;
    return l;
}
/// Four experts of 40 features, of which each token goes to two.
layer routed(std::int64_t shared_width = 0) {
    layer l = gated;
    l.feed_forward.width = 0;
    l.feed_forward.experts = {.count = 4, .per_token = 2, .width = 40, .shared_width = shared_width};
    return l;
}
job trained(const layer& kind = gated) {
    job j{.model = {.vocabulary = 100, .hidden = hidden, .layers = {1, kind}},
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(n)};
    j.attention = attention_kernel::flash;
    j.runtime = runtimes::huggingface;
    j.runtime.kernels.casts_weights = false;
    j.runtime.kernels.fp32_adapters = false;
    return j;
}
job adapted(const role_set& targets = all_linears) {
    job j = trained();
    j.adapter = {.kind = adapter_kind::lora, .rank = 4, .targets = targets};
    j.runtime.kernels.fp32_adapters = true;
    return j;
}
job autocasting(const layer& kind = gated) {
    job j = trained(kind);
    j.weights = fp32;
    j.autocast = true;
    return j;
}
training_context training_of(const job& j) { return {j, one_gpu}; }  // it refers to the job
const layer& kind_of(const job& j) { return j.model.layers.kinds[0]; }

/// Sizes of the points in their order: fed, output, inner, norm, attention, attention_norm.
constexpr sizes_at_points kib_at(std::array<std::int64_t, backward_points> sizes) {
    sizes_at_points all{};
    for (std::size_t p = 0; p < backward_points; ++p) all[p] = kib(sizes[p]);
    return all;
}
constexpr sizes_at_points saved = kib_at({1, 2, 4, 8, 16, 32});
constexpr byte_count behind = kib(8 + 16 + 32);  ///< what the norm, attention and its norm need

/// Gradients of 10 KiB of the last matrix, 60 of the feed-forward and 100 of all; casts of 1, 6 and 10.
training_state state_by_hand() {
    training_state s;
    s.gradients = {.kept = kib(100), .feed_forward = kib(60), .down = kib(10)};
    s.casts = {.all = kib(10), .feed_forward = kib(6), .down = kib(1)};
    s.largest = kib(500);
    return s;
}

}  // namespace

TEST_CASE(
    "an activation's gradient reads both factors of a gate, else its input; the rest of what is saved is beside") {
    const job j = trained();
    const training_context c = training_of(j);
    CHECK(beside_activation(gated, one_gpu, c, b2(inner * 3)) == b2(inner));
    CHECK(beside_activation(gated, one_gpu, c, b2(inner)) == byte_count{});
    CHECK(beside_activation(without_gate(), one_gpu, c, b2(inner * 3)) == b2(inner * 2));
    CHECK(beside_activation(gated, layout{.tensor = 2}, c, b2(inner * 3)) == b2(inner * 2));
    CHECK(beside_activation(routed(), one_gpu, c, b2(inner * 3)) == byte_count{});
    // A power's output is fp32 under autocast, without a gate.
    job powers = autocasting(without_gate());
    powers.model.architecture = "gpt2";
    CHECK(beside_activation(without_gate(), one_gpu, training_of(powers), b4(inner * 3)) == b4(inner * 2));
    CHECK(beside_activation(gated, one_gpu, training_of(powers), b4(inner * 3)) == b4(inner * 2));
}

TEST_CASE("first products read the norm's output, and the weight of a norm of several kernels what it multiplies") {
    job j = trained();
    const auto read = [&](const layer& kind) { return read_by_first_products(kind, hidden, one_gpu, training_of(j)); };
    CHECK(read(gated) == b2(hidden) * 2);
    layer centred = gated;
    centred.norm = norm_kind::layer;
    CHECK(read(centred) == b2(hidden));
    j.runtime.kernels.norm = norm_code::fused;
    CHECK(read(gated) == b2(hidden));
    j = trained();
    j.model.architecture = "gemma2";  // multiplies in fp32
    CHECK(read(gated) == b2(hidden) + b4(hidden));
    j = adapted();
    CHECK(read(gated) == byte_count{});
}

TEST_CASE("torchao's first product has its weight scaled, its gradient narrowed, and with a gate the other input's") {
    job j = trained();
    j.runtime.kernels.fp8.recipe = fp8_recipe::none;
    training_context c = training_of(j);
    c.quantised.scaled = true;
    const byte_count weight = bytes(inner * hidden) * (4 + 4 + 1);
    const byte_count plain = kib(1) + b2(hidden) * 2 + b2(inner) + b1(inner) + weight + behind;
    CHECK(at_scaled_gradient(without_gate(), hidden, one_gpu, c, saved, kib(1)) == plain);
    CHECK(at_scaled_gradient(gated, hidden, one_gpu, c, saved, kib(1)) == plain + b2(hidden));
}

TEST_CASE("stacked experts' first product has gradients of its output and input, and shared ones that came later") {
    const job j = trained(routed());
    const training_context c = training_of(j);
    const sizes_at_points of_routed = kib_at({0, 1, 1, 0, 0, 0});
    const std::int64_t choices = 2;  // of each token
    const auto needed = [&](const layer& kind, const training_context& with) {
        return at_stacked_gradient(kind, hidden, one_gpu, with, saved, of_routed, kib(3));
    };
    const byte_count read = b2(hidden) * 2, products = b2(choices * (2 * 40 + 2 * hidden));
    CHECK(needed(routed(), c) == kib(3) + products + read + behind);
    layer plain = routed();
    plain.feed_forward.kind = feed_forward_kind::plain;
    CHECK(needed(plain, c) == kib(3) + b2(choices * (40 + 2 * hidden)) + read + behind);
    CHECK(needed(routed(32), c) == kib(3) + products + read + kib(3) + behind);
    // Computed first, they are differentiated last: all that they saved is there, and what they read among it.
    job first_shared = j;
    first_shared.model.architecture = "qwen2_moe";
    const training_context first = training_of(first_shared);
    CHECK(needed(routed(32), first) == kib(3) + products + kib(2 + 4 - 1 - 1) + behind);
    CHECK(needed(routed(), first) == kib(3) + products + read + behind);
}

TEST_CASE("gradients of shared experts that come after the routed ones are their part of the feed-forward's width") {
    job j = trained(routed(32));
    training_state s = state_by_hand();
    s.gradients.feed_forward = kib(192);
    CHECK(made_later(routed(32), training_of(j), s) == byte_count{});
    j.model.architecture = "qwen2_moe";
    const training_context c = training_of(j);
    CHECK(made_later(routed(32), c, s) == kib(32));  // of 4 x 40 + 32 features
    CHECK(made_later(routed(1), c, s) > byte_count{});
    CHECK(made_later(routed(), c, s) == byte_count{});
}

TEST_CASE("the next to last expert of a loop has two gradients of the stack and a slice, and tokens of all but two") {
    const job j = trained(routed());
    training_state s;
    s.gradients = {.kept = kib(100), .feed_forward = kib(50), .down = kib(10)};
    const sizes_at_points of_routed = kib_at({0, 8, 16, 0, 0, 0});
    // Counted between linear layers already: the tokens but for what the last product saved, and three gradients of the
    // 16 choices dealt to four experts.
    job looping = j;
    looping.runtime.kernels.experts = expert_code::loop;
    const byte_count counted = kib(16) + bytes(2) * (3 * 4 * 40);
    CHECK(beside_next_to_last_expert(routed(), one_gpu, training_of(looping), s, of_routed) ==
          kib(10 + 40 * 2 + 10) + kib(24) - kib(6) * 2 - counted);
}

TEST_CASE("PEFT casts the sum of a product and a wider adapter back, but beside experts, 4-bit weights and autocast") {
    const auto widens = [](const job& j) { return widens_adapted_products(kind_of(j), training_of(j)); };
    CHECK(widens(adapted()));
    CHECK(widens(adapted({weight_role::gate_proj})));
    CHECK_FALSE(widens(adapted({weight_role::up_proj})));
    job j = adapted({weight_role::up_proj});
    j.model.layers.kinds[0] = without_gate();
    CHECK(widens(j));
    j.adapter.targets = {weight_role::gate_proj};
    CHECK_FALSE(widens(j));
    j = adapted();
    j.adapter.kind = adapter_kind::dora;
    CHECK_FALSE(widens(j));
    j.adapter.kind = adapter_kind::ia3;
    CHECK_FALSE(widens(j));
    j = adapted();
    j.runtime.kernels.fp32_adapters = false;
    CHECK_FALSE(widens(j));
    j = adapted();
    j.autocast = true;
    CHECK_FALSE(widens(j));
    j = adapted();
    j.weights = nf4;
    CHECK_FALSE(widens(j));
    j = adapted();
    j.model.layers.kinds[0] = routed();
    CHECK_FALSE(widens(j));
    j.model.layers.kinds[0].feed_forward = {.width = 0};
    CHECK_FALSE(widens(j));
    CHECK_FALSE(widens(trained()));
}

TEST_CASE(
    "where that sum's gradient reaches its adapter it is there in fp32, scaled, and cast; the activation is freed") {
    job j = adapted();
    const auto needed = [&] { return at_adapter_gradient(kind_of(j), one_gpu, training_of(j), saved, kib(1)); };
    // The gate, its activation and up are freed; beside the gate's gradient is up's.
    const byte_count held = kib(1 + 4) + behind;
    CHECK(needed() == held + b4(inner) * 2 + b2(inner) - b2(inner) * 3 + b2(inner));
    j.model.architecture = "phi3";  // both factors in one product
    CHECK(needed() == held + b4(inner * 2) * 2 + b2(inner * 2) - b2(inner) * 3);
    j = adapted();
    j.model.layers.kinds[0] = without_gate();
    CHECK(needed() == held + b4(inner) * 2 + b2(inner) - b2(inner));
}

TEST_CASE("autocast casts the gradients of one first product, or of two that make a gate's factors") {
    CHECK(casts_gradients(gated, training_of(autocasting())) == 2);
    CHECK(casts_gradients(without_gate(), training_of(autocasting(without_gate()))) == 1);
    job joined = autocasting();
    joined.model.architecture = "phi3";
    CHECK(casts_gradients(gated, training_of(joined)) == 1);
    CHECK(casts_gradients(gated, training_of(trained())) == 0);
    job frozen = adapted();
    frozen.autocast = true;
    CHECK(casts_gradients(gated, training_of(frozen)) == 0);
    CHECK(casts_gradients(routed(), training_of(autocasting(routed()))) == 0);
}

TEST_CASE("at the cast of the first product's gradient the inputs' gradients are there, and what earlier points need") {
    // Trained in fp32, the residual stream and the norm's output are fp32, and products multiply in 16 bits.
    const auto needed = [&](const job& j) {
        return at_first_cast(kind_of(j), hidden, one_gpu, training_of(j), saved, kib(1));
    };
    const byte_count read = b2(hidden) + b4(hidden), one = kib(1) + read + behind;
    CHECK(needed(autocasting()) == one + b4(hidden));
    CHECK(needed(autocasting(without_gate())) == one);
    job joined = autocasting();
    joined.model.architecture = "phi3";
    CHECK(needed(joined) == one);
}

TEST_CASE("a relu's output is read by the last product and by itself") {
    job j = trained(without_gate());
    CHECK(own_output(kind_of(j), one_gpu, training_of(j)) == byte_count{});
    j.model.architecture = "opt";
    CHECK(own_output(kind_of(j), one_gpu, training_of(j)) == b2(inner));
    CHECK(own_output(kind_of(j), layout{.tensor = 2}, training_of(j)) == b2(inner / 2));
    CHECK(own_output(gated, one_gpu, training_of(j)) == byte_count{});
}

TEST_CASE("a cast gradient is beside those that were made before it, and beside itself in the narrow format") {
    backward_peaks peaks;
    set_cast_peaks(peaks, state_by_hand(), kib(1000), kib(900), 2);
    // Of the last product 10 KiB; of the two first ones 25 each, and of their casts 2.5.
    CHECK(peaks.all == byte_count{});
    CHECK(peaks.fresh == kib(1000 + 10));
    CHECK(peaks.added == kib(1000 + 10));
    set_cast_peaks(peaks, state_by_hand(), kib(1000), kib(990), 2);
    CHECK(peaks.fresh == kib(990 + 60) + bytes(2560));
    CHECK(peaks.added == kib(990 + 25) + bytes(2560));
    set_cast_peaks(peaks, state_by_hand(), kib(1), kib(1), 2);  // no peak
    CHECK(peaks.fresh == kib(990 + 60) + bytes(2560));
    CHECK(peaks.added == kib(990 + 25) + bytes(2560));
}

TEST_CASE("each point of a pass is beside the gradients that were made before it") {
    const auto peaks_of = [](std::array<std::int64_t, backward_points> held) {
        backward_peaks peaks;
        set_peaks(peaks, state_by_hand(), kib_at(held), kib(7));
        return peaks;
    };
    backward_peaks peaks = peaks_of({500, 0, 0, 0, 0, 0});
    CHECK(peaks.all == kib(500));
    CHECK(peaks.fresh == kib(500));
    CHECK(peaks.added == kib(7));
    peaks = peaks_of({0, 500, 0, 0, 0, 0});
    CHECK(peaks.fresh == kib(507));
    CHECK(peaks.added == kib(507));
    CHECK(peaks_of({0, 0, 500, 0, 0, 0}).fresh == kib(510));
    CHECK(peaks_of({0, 0, 0, 500, 0, 0}).fresh == kib(560));
    CHECK(peaks_of({0, 0, 0, 0, 500, 0}).fresh == kib(560));
    CHECK(peaks_of({0, 0, 0, 0, 0, 500}).fresh == kib(600));
    CHECK(peaks_of({0, 0, 0, 0, 0, 500}).all == kib(500));
}

TEST_CASE("autocast's copies of weights go with their products, and an expanded 4-bit weight is at the last one") {
    const auto held = [](const job& j) {
        sizes_at_points all = kib_at({100, 200, 300, 400, 500, 600});
        add_weights(all, training_of(j), state_by_hand());
        return all;
    };
    CHECK(held(trained()) == kib_at({100, 200, 300, 400, 500, 600}));
    CHECK(held(autocasting()) == kib_at({110, 210, 309, 404, 504, 600}));
    job four_bit = adapted();
    four_bit.weights = nf4;
    CHECK(held(four_bit) == kib_at({100, 700, 300, 400, 500, 600}));
    CHECK(held(adapted()) == kib_at({100, 200, 300, 400, 500, 600}));
    training_context saves = training_of(four_bit);
    saves.quantised.saves_weights = true;
    sizes_at_points all{};
    add_weights(all, saves, state_by_hand());
    CHECK(all == sizes_at_points{});
}

namespace {

/// The peaks of a layer that saves `saved`, makes 1 KiB at its last point, and has a gradient of 3 KiB of its output.
backward_peaks peaks_of(const job& j, const layer_activations& a, const training_state& s = state_by_hand()) {
    return backward_peaks_of(kind_of(j), j, one_gpu, training_of(j), a, s);
}
layer_activations activations_by_hand() {
    layer_activations a;
    a.sums.saved = kib_at({1, 2, 400, 8, 16, 32});
    a.sums.made = kib_at({0, 0, 5, 0, 0, 1});
    a.output_gradient = kib(3);
    a.checkpoint = kib(64);
    return a;
}
constexpr byte_count all_but_first_two = kib(400 + 8 + 16 + 32);

}  // namespace

TEST_CASE("a layer's backward pass is fullest where the most is saved, made and beside it") {
    const layer_activations a = activations_by_hand();
    backward_peaks peaks = peaks_of(trained(), a);
    CHECK(peaks.all == kib(3 + 5) + all_but_first_two);         // between the linear layers
    CHECK(peaks.fresh == kib(3 + 5 + 10) + all_but_first_two);  // beside the last matrix's gradient
    CHECK(peaks.added == kib(3 + 10 + 2) + all_but_first_two);  // where that is made
    // Recomputed, its input is there unless its norm saves it; a reentrant checkpoint refers to its output, too.
    job recomputed = trained();
    recomputed.recompute = recompute::full;
    recomputed.runtime.kernels.checkpointing.reentrant = false;
    const byte_count input = keeps_input(gated, training_of(recomputed)) ? byte_count{} : kib(64);
    CHECK(peaks_of(recomputed, a).all == peaks.all + input);
    recomputed.runtime.kernels.checkpointing.reentrant = true;
    CHECK(peaks_of(recomputed, a).all == peaks.all + input + kib(64));
    // What comes back from main memory tensor by tensor is there for its point alone, and of the activation what its
    // gradient reads: two factors of 160 features.
    layer_activations back = a;
    back.sums.made[2] = kib(50);
    job offloaded = trained();
    offloaded.offload.activations = offload_place::host;
    offloaded.runtime.kernels.checkpointing.offloads_at_once = true;
    CHECK(peaks_of(offloaded, back).all == kib(3 + 50) + b2(inner * 2));
    CHECK(peaks_of(offloaded, a).all == kib(3 + 1 + 32));
    offloaded.runtime.kernels.checkpointing.offloads_at_once = false;
    CHECK(peaks_of(offloaded, a).all == peaks.all);
}

TEST_CASE("under autocast the casts of gradients are moments beside the points") {
    layer_activations a = activations_by_hand();
    const backward_peaks peaks = peaks_of(autocasting(), a);
    // Casts of the weights are beside: 10 KiB at the last product, 9 between the linear layers.
    CHECK(peaks.all == kib(3 + 5 + 9) + all_but_first_two);
    // At the cast of the last gradient its product has freed its input.
    CHECK(peaks.added == kib(3 + 10 + 10) + all_but_first_two);
    CHECK(peaks.fresh == kib(3 + 5 + 9 + 10) + all_but_first_two);
    // Where earlier points need the most, the first products' casts are fullest.
    a.sums.saved = kib_at({0, 0, 0, 8, 400, 16});
    a.sums.made = {};
    const byte_count first = kib(3 + 8 + 16 + 400) + b2(hidden) + b4(hidden) * 2 + kib(4);
    CHECK(peaks_of(autocasting(), a).fresh == first + kib(60) + bytes(2560));
    CHECK(peaks_of(autocasting(), a).added == first + kib(25) + bytes(2560));
}

TEST_CASE("adapters' and scaled weights' moments count where they are the fullest") {
    layer_activations a = activations_by_hand();
    a.sums.saved = kib_at({0, 0, 400, 0, 0, 0});
    a.sums.made = {};
    const byte_count at_adapter = kib(3 + 400) + b4(inner) * 2 + b2(inner) - b2(inner) * 3 + b2(inner);
    CHECK(peaks_of(adapted(), a).all == at_adapter);
    CHECK(peaks_of(adapted(), a).fresh == at_adapter + kib(10));
    CHECK(peaks_of(adapted({weight_role::o_proj}), a).all == kib(403));
}

TEST_CASE("stacked experts' first product counts where it is the fullest, beside the gradients of all but itself") {
    job j = trained(routed());
    j.runtime.kernels.experts = expert_code::grouped;
    layer_activations a = activations_by_hand();
    a.sums.saved = kib_at({0, 0, 0, 8, 32, 16});
    a.sums.made = {};
    const byte_count stacked = kib(3) + b2(2 * (2 * 40 + 2 * hidden)) + b2(hidden) * 2 + behind;
    CHECK(peaks_of(j, a).all == stacked + kib(60 - 10));
    CHECK(peaks_of(j, a).fresh == stacked + kib(60));
    job casting = autocasting(routed());
    casting.runtime.kernels.experts = expert_code::grouped;
    const byte_count wide = kib(3) + b4(2 * (2 * 40 + 2 * hidden)) + b2(hidden) + b4(hidden) + behind;
    CHECK(peaks_of(casting, a).all == wide + kib(4) + kib(60 - 10));  // and casts of attention's weights
    j.runtime.kernels.experts = expert_code::modules;
    CHECK(peaks_of(j, a).all == kib(3) + behind);
    j.runtime.kernels.experts = expert_code::loop;
    CHECK(peaks_of(j, a).all > kib(3) + behind);
}

TEST_CASE("torchao's first product counts where it is the fullest, beside the gradients of all but itself") {
    layer_activations a = activations_by_hand();
    a.sums.saved = kib_at({0, 0, 0, 8, 16, 16});
    a.sums.made = {};
    const auto peaks = [&](const job& j) {
        training_context c = training_of(j);
        c.quantised.scaled = true;
        return backward_peaks_of(kind_of(j), j, one_gpu, c, a, state_by_hand());
    };
    const byte_count scaled = kib(3 + 8 + 16 + 16) + b2(hidden) * 2 + b2(inner) + b1(inner) + bytes(inner * hidden) * 9;
    CHECK(peaks(trained(without_gate())).all == scaled);
    CHECK(peaks(trained(without_gate())).fresh == scaled + kib(10));           // the one after it alone
    CHECK(peaks(trained()).fresh == scaled + b2(hidden) + kib(10 + 50 / 2));   // and the one beside it
    CHECK(peaks(adapted({weight_role::o_proj})).all == kib(3 + 8 + 16 + 16));  // frozen weights are not scaled so
    job modules = trained(routed());
    modules.runtime.kernels.experts = expert_code::modules;
    CHECK(peaks(modules).all == kib(3 + 8 + 16 + 16));
}
