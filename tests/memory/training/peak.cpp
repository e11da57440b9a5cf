// SPDX-License-Identifier: MIT
#include <llmres/memory/training/peak.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/encoders.hpp>
#include <llmres/models/gemma.hpp>
#include <llmres/models/nvidia.hpp>
#include <llmres/models/others.hpp>
#include <llmres/models/phi.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/torchtitan.hpp>
#include <string>
#include <vector>

#include "../../training_jobs.hpp"
#include "../../validation/pytorch_runs.hpp"

using namespace llmres::detail;

using namespace training_jobs;

namespace {

/// Llama 3.1 8B cut to a few layers, so that the logits stand out.
job cut_to(std::int32_t layers, std::int64_t sequence) {
    job j = full();
    j.model.layers = j.model.layers.first(layers);
    j.sequence = tokens(sequence);
    j.optimizer = adamw_fused;
    return j;
}

constexpr std::int64_t vocabulary = 128256;

}  // namespace

TEST_CASE("the largest candidate is the peak, whatever the order; where two take as much, the earlier point is named") {
    const auto candidate = [](peak_point point, byte_count logits) {
        return peak_candidate{.point = point, .tensors = {.weights = gib(3), .logits = logits}};
    };
    std::vector<peak_candidate> all{candidate(peak_point::optimizer_step, gib(1)),
                                    candidate(peak_point::loss_forward, gib(2)),
                                    candidate(peak_point::embedding_gradient, gib(2))};
    do {
        stage_peak peak;
        for (const peak_candidate& c : all) consider(peak, c, c.tensors.all());
        CHECK(peak.point == peak_point::embedding_gradient);
        CHECK(peak.size == gib(5));
        CHECK(peak.tensors.logits == gib(2));
        CHECK(peak.logits == gib(2));
    } while (std::next_permutation(all.begin(), all.end(),
                                   [](const peak_candidate& a, const peak_candidate& b) { return a.point < b.point; }));
}

TEST_CASE("of two stages the busier is named, the first where they are alike, with the most that either reserves") {
    const stage_peak first{.stage = 0, .size = gib(5), .reserved = gib(6), .logits = gib(1)};
    const stage_peak second{.stage = 1, .size = gib(4), .reserved = gib(7)};
    CHECK(busier(first, second).stage == 0);
    CHECK(busier(second, first).stage == 0);
    CHECK(busier(first, second).reserved == gib(7));
    CHECK(busier(second, first).logits == gib(1));
    stage_peak alike = first;
    alike.stage = 2;
    CHECK(busier(first, alike).stage == 0);
}

TEST_CASE("the candidates of a stage do not depend on their order, and the plan's phase is the largest one's") {
    int jobs = 0;
    const auto check = [&](const job& j, const layout& l) {
        CAPTURE(j.model.name.view());
        ++jobs;
        folded_job folded{j, l};
        stage_peak busiest;
        for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
            const training_stage s = training_stage_of(folded, placement_of(j, l, stage));
            const stage_step in = stage_step_of(folded, s);
            std::vector<peak_candidate> all;
            for_each_peak_candidate(in, [&](const peak_candidate& c) { all.push_back(c); });
            REQUIRE(all.size() >= 4);
            const stage_peak found = peak_of(folded, s);
            for (std::size_t turn = 0; turn < all.size(); ++turn) {
                std::rotate(all.begin(), all.begin() + 1, all.end());
                for (const bool backwards : {false, true}) {
                    stage_peak peak;
                    if (backwards)
                        for (auto c = all.rbegin(); c != all.rend(); ++c) consider(peak, *c, (*c).tensors.all());
                    else
                        for (const peak_candidate& c : all) consider(peak, c, c.tensors.all());
                    CHECK(peak.size == found.size);
                    CHECK(peak.point == found.point);
                    CHECK(peak.kind == found.kind);
                    CHECK(peak.tensors.all() == found.tensors.all());
                    CHECK(peak.logits == found.logits);
                    CHECK(peak.activations == found.activations);
                }
            }
            for (const peak_candidate& c : all) CHECK(c.tensors.all() <= found.size);
            busiest = busier(busiest, found);
        }
        const memory_breakdown m = training_memory(j, l);
        CHECK(m.ideal == busiest.size);
        CHECK(m.phase == phase_of(busiest.point));
        CHECK(m.stage == busiest.stage);
    };
    job j = full();
    j.global_batch = 16;
    check(j, {});
    check(j, {.pipeline = 4});
    check(j, {.data = 8, .zero = 3});
    j.runtime = runtimes::huggingface;
    check(j, {.pipeline = 4});  // a naive pipeline
    j.runtime = runtimes::torchtitan;
    check(j, {.data = 8, .zero = 3});
    j.runtime = runtimes::deepspeed;
    j.model = models::deepseek_v3;
    check(j, {.data = 8, .zero = 3});
    j = full();
    j.model = models::bart_base;
    check(j, {});
    j.optimizer = lomo;
    check(j, {});
    j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    for (const recompute r : {recompute::none, recompute::full}) {
        j.recompute = r;
        check(j, {});
    }
    CHECK(jobs == 10);
}

TEST_CASE("each point of a step belongs to one phase of a plan") {
    CHECK(phase_of(peak_point::optimizer_step) == phase::optimizer);
    CHECK(phase_of(peak_point::last_adapter_recomputation) == phase::backward);
    CHECK(phase_of(peak_point::first_adapter_recomputation) == phase::backward);
    for (const peak_point point :
         {peak_point::loss_forward, peak_point::loss_gradient, peak_point::head_backward, peak_point::logits_returned})
        CHECK(phase_of(point) == phase::loss);
    for (const peak_point point :
         {peak_point::last_layer_backward, peak_point::first_layer_backward, peak_point::embedding_gradient,
          peak_point::decoder_embedding_gradient, peak_point::encoder_last_layer_backward,
          peak_point::encoder_first_layer_backward, peak_point::final_norm_backward, peak_point::head_step})
        CHECK(phase_of(point) == phase::backward);
}

TEST_CASE(
    "few tokens: the optimizer's step is the fullest, 16 bytes a parameter of mixed-precision Adam, 20 in one call for "
    "all tensors") {
    job j = cut_to(2, 1);
    const byte_count parameters_held = bytes(1) * count_parameters(j.model).in(parameters);
    CHECK(peak(j) >= parameters_held * 16);
    CHECK(peak(j) < parameters_held * 16 + mib(1));
    j.optimizer = adamw;  // torch.optim: foreach takes as much again as it steps, fp32 here
    CHECK(training_memory(j, {}).phase == phase::optimizer);
    CHECK(peak(j) == parameters_held * 20);
}

namespace {

/// The backward pass of a Llama of three layers and few words, in bf16 under transformers 5.17.
byte_count tracked_backward(std::string_view how) {
    const std::string document =
        R"({"model": {"vocabulary": 256, "hidden": 4096, "layers": 3, "attention": {"heads": 32, "kv_heads": 8},
                      "feed_forward": {"width": 14336}},
            "task": "finetuning", "weights": "bf16", "compute": "bf16", "master_weights": "bf16",
            "optimizer_states": "bf16", "sequence": 2048, "micro_batch": 2, "attention": "sdpa", "layout": {},
            "cluster": {"gpu": "a100-sxm4-80gb"}, "runtime": {"name": "huggingface@5.17.0"}, )" +
        std::string{how} + "}";
    const result<plan_request> asked = read_job(nlohmann::json::parse(document), job_sources{});
    REQUIRE(asked);
    return training_passes_of(asked->job, *asked->layout, sdpa_backend_of(asked->cluster.gpu)).backward;
}

/// Two sequences of 2,048 words and their labels, 8 bytes each, which are no part of a prediction.
constexpr byte_count words = bytes(2 * 2048 * 2 * 8);

}  // namespace

TEST_CASE("few logits: a recomputed layer's backward pass, with its input beside the fp32 copy that its norm saves") {
    // Tracked: llama-h4096l3-lora16att-sdpa-bf16-rc-adamw-b2s2048. It was 32 MiB too little, a 16-bit stream.
    const byte_count most =
        tracked_backward(R"("recompute": "full", "adapter": {"kind": "lora", "rank": 16, "targets": "q_proj,v_proj"})");
    CHECK(std::abs((most + words - bytes(2513936928)).in(bytes)) < 200'000);  // tables of the rotary embedding
}

TEST_CASE("few logits and all activations kept: the final norm, differentiated step by step") {
    // Tracked: llama-h4096l3-full-sdpa-bf16-sgd-b2s2048. It was 16 MiB too little.
    const byte_count most = tracked_backward(R"("optimizer": "sgd")");
    CHECK(std::abs((most + words - bytes(4186669648)).in(bytes)) < 200'000);  // tables of the rotary embedding
}

TEST_CASE("a mask of attention is freed with the last layer that reads it: one of those with a window, one of others") {
    job j = full();
    j.model = models::gemma_2_2b;
    j.attention = attention_kernel::eager;
    j.recompute = recompute::full;
    const layout one{};
    const folded_job f{j, one};
    CHECK(f.ends.masks == bytes(2 * 2) * (4096 * 4096));
    CHECK(masks_freed(f, f.by_stage.counts(0, 0), 0) == bytes(2) * (4096 * 4096));
    CHECK(masks_freed(f, f.by_stage.counts(0, 1), 1) == byte_count{});
}

TEST_CASE("many tokens: the loss, with all that the forward pass saved and 12 bytes a score") {
    const std::int64_t n = 32768;
    const job j = cut_to(2, n);
    const memory_breakdown m = training_memory(j, {});
    CHECK(m.phase == phase::loss);
    const byte_count scores = bytes(12) * (n * vocabulary);
    CHECK(m[memory_term::logits].expected == scores);
    // Without its log-softmax, which logits count: as saved_activations() has it.
    const byte_count saved = saved_activations(j, {}) - bytes(4) * (n * vocabulary);
    CHECK(m.ideal == bytes(14) * count_parameters(j.model).in(parameters) + saved + scores);
    // Gradients of the micro-batches before are there already.
    job again = j;
    again.global_batch = 2;
    CHECK(peak(again) == m.ideal + training_state_of(j, {}).gradients.kept);
}

TEST_CASE("without logits: the first backward pass, of the last layer, with all that the others keep") {
    job j = cut_to(8, 32768);
    j.runtime.kernels.loss.code = loss_code::fused_linear;
    const memory_breakdown m = training_memory(j, {});
    CHECK(m.phase == phase::backward);
    CHECK(m[memory_term::activations].expected > saved_by_layers(j, {}));
    job longer = j;
    longer.model.layers = full().model.layers.first(12);
    const byte_count four_layers = div_up(saved_by_layers(j, {}), 8) * 4;
    CHECK(training_memory(longer, {})[memory_term::activations].expected - m[memory_term::activations].expected ==
          four_layers);
    // Recomputed, one layer at a time is whole: where inputs are larger than gradients of weights, the last.
    j.recompute = longer.recompute = recompute::full;
    j.sequence = longer.sequence = tokens(131072);
    CHECK(training_memory(longer, {})[memory_term::activations].expected -
              training_memory(j, {})[memory_term::activations].expected ==
          bytes(2) * (std::int64_t{4} * 131072 * 4096));
}

TEST_CASE("logits that the training loop keeps stand beside every point after the loss: the optimizer's step too") {
    for (const std::int64_t length : {256, 32768}) {  // the fullest moment is the optimizer's step, and the loss
        job j = cut_to(8, length);
        j.runtime = runtimes::huggingface_4_42;
        j.runtime.kernels.loss.holds_outputs = true;
        job freed = j;
        freed.runtime.kernels.loss.holds_outputs = false;
        const byte_count logits = bytes(4) * (length * j.model.vocabulary);
        CHECK(peak(j) == peak(freed) + logits);
        CHECK(training_passes_of(j, {}).step == training_passes_of(freed, {}).step + logits);
        CHECK(training_passes_of(j, {}).forward == training_passes_of(freed, {}).forward);
        // What the allocator holds for both passes of the loss is the same: a tensor more is in use, none more is made.
        CHECK(training_memory(j, {}).phase == training_memory(freed, {}).phase);
    }
}

TEST_CASE("no stage of a pipeline is fuller than the busiest, and that one is named") {
    job j = full();
    j.global_batch = 16;
    const layout l{.pipeline = 4};
    const memory_breakdown busiest = training_memory(j, l);
    for (std::int32_t stage = 0; stage < 4; ++stage) CHECK(training_memory(j, l, stage).ideal <= busiest.ideal);
    CHECK(training_memory(j, l, busiest.stage).ideal == busiest.ideal);
}

TEST_CASE("the fullest moment is the one that PyTorch's runs were tracked to have: the optimizer's step, or another") {
    int rows = 0, agreed = 0;
    for (const csv::row& cells : pytorch_runs::rows()) {
        const pytorch_runs::row r{cells};
        const std::string seen = r.text("peak_phase");
        detail::training_folds folds;
        const phase ours =
            detail::training_memory(
                pytorch_runs::job_of(r), {}, 0, 1,
                r.text("gpu") == "sm90" || r.text("gpu") == "sm100" ? sdpa_backend::cudnn : sdpa_backend::flash, folds)
                .phase;
        // What is called loss here is computed in the loss, and differentiated in the backward pass.
        agreed += seen.starts_with("step")      ? ours == phase::optimizer
                  : seen.starts_with("forward") ? ours == phase::forward
                                                : ours != phase::optimizer;
        ++rows;
    }
    CHECK(rows >= 700);
    CHECK(agreed >= rows * 99 / 100);
}

TEST_CASE("nothing is taken off twice: no term of the fullest moment is below zero") {
    const auto terms_of = [](const job& j, const layout& l) {
        const memory_breakdown held = training_memory(j, l);
        for (const auto& term : held.terms) CHECK(term.low >= byte_count{});
        return held;
    };
    // Gradients that go to the host gather no further than DeepSpeed's two buckets.
    job host = full();
    host.model = models::deepseek_v3;
    host.runtime = runtimes::deepspeed;
    host.offload = {.optimizer = offload_place::host, .activations = offload_place::host};
    host.attention = attention_kernel::eager;
    host.micro_batch = 4;
    const byte_count buckets = size_of(gradients_of(host), host.runtime.sharding.deepspeed.reduce_bucket_size, 2);
    CHECK(terms_of(host,
                   {.tensor = 2, .sequence_parallel = true, .context_parallel = 2, .zero = 1})[memory_term::gradients]
              .high <= buckets);

    // An encoder's first layer saves nothing for a frozen model, whatever it would have recomputed of it.
    job frozen = full();
    frozen.model = models::bart_base;
    frozen.runtime = runtimes::torchtitan;
    frozen.adapter = {.kind = adapter_kind::llama_adapter, .rank = 33};
    frozen.recompute = recompute::selective;
    frozen.attention = attention_kernel::eager;
    frozen.micro_batch = 4;
    terms_of(frozen, {});

    // An optimizer that steps in the backward pass keeps no gradient of the head.
    job in_backward = full();
    in_backward.model = models::whisper_large_v2;
    in_backward.runtime = runtimes::huggingface;
    in_backward.weights = fp32;
    in_backward.autocast = true;
    in_backward.optimizer = lomo;
    in_backward.recompute = recompute::selective;
    in_backward.attention = attention_kernel::cudnn;
    in_backward.micro_batch = 4;
    in_backward.sequence = tokens(1468);
    terms_of(in_backward, {.tensor = 4, .sequence_parallel = true, .data = 2, .zero = 1});
}

TEST_CASE("autocast's casts of trained weights exist while the loss is computed, though every layer is recomputed") {
    job j{.model = models::phi_3_mini_4k,
          .task = task::finetuning,
          .weights = fp32,
          .sequence = tokens(512),
          .global_batch = 8,
          .optimizer = adafactor,
          .recompute = recompute::full,
          .runtime = runtimes::huggingface};
    const training_state s = training_state_of(j, {});
    CHECK(s.casts.cached == bytes(2) * 3'623'878'656);  // of each value of the layers' products
    CHECK(peak(j) > s.weights + s.gradients.kept + s.casts.cached);
    // 35.8 GiB of tensors were tracked.
    CHECK(plan(j, {}, *standard_cluster(gpus::rtx_5090, 1))->verdict == verdict::does_not_fit);
    // With every second layer recomputed the others save theirs.
    const byte_count all = peak(j);
    j.recompute_every = 2;
    CHECK(peak(j) > all);
    // Frozen weights are cast again whenever they are read; adapters' are kept.
    j.recompute_every = 1;
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    const training_state adapted = training_state_of(j, {});
    CHECK(adapted.casts.cached < mib(64));
    CHECK(adapted.casts.cached > byte_count{});
}

TEST_CASE("where saved activations are offloaded the forward pass may be the fullest: recomputation takes no more") {
    job j{.model = models::olmo_2_7b,
          .task = task::pretraining,
          .weights = fp32,
          .sequence = tokens(8192),
          .global_batch = 16,
          .optimizer = paged_lion_8bit,
          .attention = attention_kernel::eager,
          .recompute = recompute::selective,
          .offload = {.activations = offload_place::nvme},
          .dropout = true,
          .runtime = runtimes::huggingface};
    const byte_count selective = peak(j);
    j.recompute = recompute::full;
    CHECK(peak(j) <= selective);
}

TEST_CASE(
    "of layers of several kinds that are offloaded, one of the two on the GPU is the one that is differentiated") {
    job j{.model = models::nemotron_3_nano_30b_a3b,
          .task = task::pretraining,
          .sequence = tokens(8192),
          .micro_batch = 4,
          .global_batch = 128,
          .attention = attention_kernel::eager,
          .offload = {.optimizer = offload_place::host, .activations = offload_place::host},
          .runtime = runtimes::megatron};
    const layout l{.tensor = 8, .data = 4, .context_parallel = 2};
    const byte_count whole = peak(j, l);
    j.recompute = recompute::selective;  // an attention layer keeps less, which is not one more of the widest kind
    CHECK(peak(j, l) <= whole);
}

TEST_CASE("the second gradient of a tied embedding is of a tensor rank's part") {
    const job j{.model = models::gemma_2_9b, .task = task::pretraining, .sequence = tokens(4096)};
    const auto second = [&](const layout& l) {
        const folded_job folded{j, l};
        const training_stage stage = training_stage_of(folded, placement_of(j, l, 0));
        return second_gradient(stage_step_of(folded, stage));
    };
    CHECK(second({}) == bytes(2) * (256'000 * 3584));
    CHECK(second({.tensor = 8}) * 8 == second({}));
}

TEST_CASE("a gradient is made beside an earlier one's only where it is added to it") {
    job j = full();
    j.compute = bf16;
    j.global_batch = 4;
    const auto adds = [&] {
        const layout one;
        const folded_job f{j, one};
        const training_stage s = training_stage_of(f, placement_of(j, one, 0));
        return stage_step_of(f, s).adds_gradients;
    };
    j.runtime = runtimes::deepspeed;
    CHECK(adds());
    // BF16_Optimizer clears the bf16 gradients before each backward pass; fp16 ones are of another optimizer.
    j.runtime = runtimes::megatron_deepspeed;
    CHECK_FALSE(adds());
    j.weights = j.compute = fp16;
    CHECK(adds());
    j.global_batch = 1;
    CHECK_FALSE(adds());
}

TEST_CASE(
    "selective recomputation has the scores of the layer before, too, where the loop over layers refers to them") {
    job j{.model = models::bloom_560m,  // modeling_bloom.py, BloomModel.forward: outputs of the block before
          .task = task::pretraining,
          .weights = fp32,
          .sequence = tokens(32'768),
          .micro_batch = 2,
          .global_batch = 2,
          .attention = attention_kernel::eager,
          .recompute = recompute::full,
          .runtime = runtimes::huggingface};
    const byte_count whole = peak(j);
    j.recompute = recompute::selective;
    CHECK(whole <= peak(j));
}
