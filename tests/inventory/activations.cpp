// SPDX-License-Identifier: MIT
#include <llmres/inventory/activations.hpp>

#include <doctest/doctest.h>

#include <llmres/models/mistral.hpp>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../validation/pytorch_runs.hpp"

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t s = 512, b = 2, h = 1024, a = 16;

/// A layer of a GPT: LayerNorms, a gelu between h and 4 h, dropout, 16 bits.
constexpr layer gpt{.attention = {.heads = a, .kv_heads = a, .head_dim = h / a},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 4 * h},
                    .norm = norm_kind::layer};

/// The layer with eight experts of 256 inner features, two a token, in place of its feed-forward.
layer with_experts(feed_forward_kind kind) {
    layer routed = gpt;
    routed.feed_forward = {.kind = kind, .experts = {.count = 8, .per_token = 2, .width = 256}};
    return routed;
}

job gpt_job(attention_kernel kernel) {
    job j{.model = {.vocabulary = 1000, .hidden = h, .layers = {1, gpt}},
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(s),
          .micro_batch = b};
    j.attention = kernel;
    j.dropout = true;
    j.runtime.kernels = {
        .norm = norm_code::fused, .gate = gate_code::fused, .experts = expert_code::permuted, .casts_weights = false};
    return j;
}

byte_count saved_by_layer(const job& j, const layout& l = {}) {
    byte_count all;
    for_each_saved_activation(j.model.layers[0], j.model.hidden, training_context{j, l},
                              [&](const activation& of) { all += local_bytes(of, l); });
    return all;
}

/// The paper leaves out a LayerNorm's mean and deviation, fp32: two norms.
constexpr byte_count statistics = bytes(2 * 2 * 4) * (s * b);

}  // namespace

TEST_CASE("a GPT layer keeps s b h (34 + 5 a s / h) bytes: arXiv 2205.05198, equation 1") {
    const byte_count scores = bytes(5) * (a * s * s * b);
    CHECK(saved_by_layer(gpt_job(attention_kernel::eager)) == bytes(34) * (s * b * h) + scores + statistics);
    // Without dropout: two masks of a byte less, and the scores' mask and what it leaves of them.
    job j = gpt_job(attention_kernel::eager);
    j.dropout = false;
    CHECK(saved_by_layer(j) == bytes(32) * (s * b * h) + bytes(2) * (a * s * s * b) + statistics);
}

TEST_CASE("tensor ranks share 24 of the 34 bytes, and all with sequence parallelism: equations 2 and 4") {
    const job j = gpt_job(attention_kernel::eager);
    const byte_count scores = bytes(5) * (a * s * s * b);
    for (const std::int32_t t : {2, 4, 8}) {
        CHECK(saved_by_layer(j, {.tensor = t}) ==
              bytes(10) * (s * b * h) + div_up(bytes(24) * (s * b * h) + scores, t) + statistics);
        CHECK(saved_by_layer(j, {.tensor = t, .sequence_parallel = true}) ==
              div_up(bytes(34) * (s * b * h) + scores + statistics, t));
    }
}

TEST_CASE(
    "flash attention keeps 34 bytes and a softmax statistic a head, whatever the length: table 2, selective "
    "recomputation") {
    job j = gpt_job(attention_kernel::flash);
    CHECK(saved_by_layer(j) == bytes(34) * (s * b * h) + bytes(4) * (s * b * a) + statistics);
    const byte_count once = saved_by_layer(j);
    j.micro_batch = 3 * b;
    CHECK(saved_by_layer(j) == once * 3);
    j.micro_batch = b;
    j.sequence = tokens(4 * s);
    CHECK(saved_by_layer(j) == once * 4);
}

TEST_CASE("routed experts keep what a feed-forward does for each choice of a token, and more where they are busier") {
    job j = gpt_job(attention_kernel::flash);
    j.dropout = false;
    const layer routed = with_experts(feed_forward_kind::gated);
    layer none = gpt;
    none.feed_forward = no_feed_forward;
    j.model.layers = {1, none};
    const byte_count without = saved_by_layer(j);
    j.model.layers = {1, routed};
    // The router's scores and softmax in fp32, its input; of two choices the input, gate, up and their product.
    const std::int64_t n = s * b;
    const byte_count router = bytes(4) * (2 * n * 8) + bytes(2) * (n * h);
    const byte_count experts = bytes(2) * (2 * n * (h + 3 * 256));
    CHECK(saved_by_layer(j) - without == router + experts);
    j.expert_load = 1.5;
    CHECK(saved_by_layer(j) - without == router + div_up(experts * 3, 2));
}

TEST_CASE("fused norms save less of norms, and as much of routed experts as others do") {
    for (const expert_code code : {expert_code::modules, expert_code::loop, expert_code::grouped}) {
        job j{.model = models::mixtral_8x7b, .task = task::pretraining, .weights = bf16, .sequence = tokens(4096)};
        j.runtime.kernels.experts = code;
        const auto of_experts = [&](norm_code norms) {
            j.runtime.kernels.norm = norms;
            byte_count size;
            for_each_saved_activation(
                j.model.layers[0], j.model.hidden, training_context{j, {}}, [&](const activation& of) {
                    using enum activation_role;
                    if (of.role != norm_input && of.role != norm_statistics && of.role != normalised)
                        size += local_bytes(of, {});
                });
            return size;
        };
        CHECK(of_experts(norm_code::fused) == of_experts(norm_code::eager));
        j.runtime.kernels.norm = norm_code::eager;
        const byte_count eager = saved_by_layer(j);
        j.runtime.kernels.norm = norm_code::fused;
        // Two norms of fp32 inputs and of what their weights multiply, or of 16-bit inputs alone.
        CHECK(eager - saved_by_layer(j) == bytes(2 * (4 + 2 - 2)) * (std::int64_t{4096} * 4096));
    }
}

TEST_CASE("experts of latent features keep these for each choice of a token, and what is projected back once") {
    job j = gpt_job(attention_kernel::flash);
    layer routed = with_experts(feed_forward_kind::gated);
    j.model.layers = {1, routed};
    const byte_count wide = saved_by_layer(j);
    routed.feed_forward.experts.latent = h / 4;
    j.model.layers = {1, routed};
    CHECK(wide - saved_by_layer(j) == bytes(2) * (2 * s * b * (h - h / 4)) - bytes(2) * (s * b * h / 4));
}

TEST_CASE("plain experts keep what they activated beside what the score weighs, unless one kernel does both") {
    job j = gpt_job(attention_kernel::flash);
    j.model.layers = {1, with_experts(feed_forward_kind::plain)};
    const byte_count apart = saved_by_layer(j);
    j.runtime.kernels.use_fused_weighted_squared_relu = true;
    CHECK(apart - saved_by_layer(j) == bytes(2) * (2 * s * b * 256));
}

TEST_CASE("a layer of feed-forward alone keeps what its one norm put out, whichever of its two the norm is") {
    job j = gpt_job(attention_kernel::flash);
    j.dropout = false;
    layer alone = gpt;
    alone.attention = no_attention;
    alone.norm_before_attention = false;
    j.model.layers = {1, alone};
    // The stream and two statistics; the norm's output, what is activated, and what that makes.
    const byte_count kept = bytes(2) * (s * b * (h + h + 8 * h)) + bytes(2 * 4) * (s * b);
    CHECK(saved_by_layer(j) == kept);
    alone.norm_before_attention = true;
    alone.norm_before_feed_forward = false;
    j.model.layers = {1, alone};
    CHECK(saved_by_layer(j) == kept);
}

TEST_CASE("norms, attention and feed-forward keep what autograd does of their modules, each by itself") {
    using pytorch_runs::row;
    enum part { norms, mixing, inner };
    const std::set<std::string> families{"llama", "mistral", "qwen2",    "qwen3",   "gemma2", "gemma3",
                                         "phi3",  "gpt2",    "gpt_neox", "mixtral", "mamba2", "bamba"};
    std::map<std::string, csv::row> runs;
    for (const csv::row& cells : pytorch_runs::rows()) {
        const row r{cells};
        const bool plain = r.text("recompute") == "none" && r.text("method") == "full" && r.text("offload").empty() &&
                           r.text("kernels").empty();
        if (plain && families.contains(r.text("family")) && r.text("autocast_dtype").empty() &&
            r.text("mode") == "fake-cuda" && r.text("experts_implementation").empty())
            runs[r.text("run_id")] = cells;
    }
    std::map<std::string, std::map<part, std::int64_t>> saved;
    for (const csv::row& cells : csv::read(LLMRES_SOURCE_DIR "/tests/validation/data/pytorch_saved.csv")) {
        const row r{cells};
        const std::string run = r.text("run_id"), module = r.text("module");
        if (!runs.contains(run) || r.text("layer").empty() || r.number("bytes") <= 16)
            continue;  // states of random generators
        const bool scans = module.starts_with("mixer") || module.starts_with("mamba");
        const bool norm = !scans && (module.find("norm") != std::string::npos || module.starts_with("ln_"));
        const bool attends = module.starts_with("self_attn") || module.starts_with("att");
        saved[run][norm               ? norms
                   : attends || scans ? mixing
                                      : inner] += r.number("bytes") * r.number("count") * r.number("layers");
    }
    CHECK(saved.size() >= 50);
    for (auto& [run, parts] : saved) {
        INFO(run);
        const row r{runs[run]};
        const job j = pytorch_runs::job_of(r);
        const training_context context{j, {}, r.text("gpu") == "sm80" ? sdpa_backend::flash : sdpa_backend::cudnn};
        std::map<part, std::int64_t> ours;
        for_each_input_activation(j.model, context, [&](const activation& of) {
            if (of.role == activation_role::query)
                ours[mixing] += local_bytes(of, {}).in(bytes);  // rotary tables: the first layer is seen to save them
        });
        for (std::int32_t i = 0; i < j.model.layers.size; ++i)
            for_each_saved_activation(j.model.layers[i], j.model.hidden, context, [&](const activation& of) {
                using enum activation_role;
                const bool of_norm =
                    of.role == norm_input || of.role == norm_statistics || of.role == normalised || of.role == weight;
                ours[of_norm                            ? norms
                     : of.until >= backward_point::norm ? mixing
                                                        : inner] += local_bytes(of, {}).in(bytes);
            });
        for (const part p : {norms, mixing, inner}) {
            CAPTURE(int{p});
            // Positions of routed tokens, in 32 bits, are not counted.
            CHECK(static_cast<double>(ours[p]) == doctest::Approx(static_cast<double>(parts[p])).epsilon(2e-4));
        }
    }
}

TEST_CASE("the gradient of a layer's output is there at each point of its backward pass, once") {
    const job j{.model = models::mixtral_8x7b, .task = task::pretraining, .sequence = tokens(64)};
    const training_context context{j, {}};
    std::vector<activation> gradients;
    std::size_t others = 0;
    for_each_gradient_activation(j.model.layers[0], j.model.hidden, context,
                                 [&](const activation& made) { gradients.push_back(made); });
    for_each_training_activation(
        j.model.layers[0], j.model.hidden, context, [](const activation&) {}, [&](const activation&) { ++others; },
        [](const detail::layer_operation&, bool) {});
    REQUIRE(gradients.size() == backward_points + others);
    for (std::size_t i = 0; i < backward_points; ++i) {
        CHECK(gradients[i].until == static_cast<backward_point>(i));
        CHECK(gradients[i].elements == 64 * j.model.hidden);
    }
}

TEST_CASE("every copy of the residual stream is alive in both halves of a layer") {
    layer l{.attention = {.heads = 4, .kv_heads = 2, .head_dim = 8}, .feed_forward = {.width = 100}};
    const auto residuals = [&] {
        std::int64_t all = 0;
        for_each_live_activation(l, 32, token_shape{.sequences = 1, .length = 10, .keys = 10}, attention_kernel::flash,
                                 bf16, [&](const activation& alive, layer_half) {
                                     if (alive.role == activation_role::residual) all += alive.elements;
                                 });
        return all;
    };
    CHECK(residuals() == 2 * 10 * 32);
    l.streams = 4;
    CHECK(residuals() == 4 * 2 * 10 * 32);
}
