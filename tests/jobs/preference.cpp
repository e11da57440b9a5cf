// SPDX-License-Identifier: MIT
#include <llmres/jobs/job.hpp>

#include <doctest/doctest.h>

#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/time/training_run.hpp>

#include <string>

using namespace llmres;

namespace {

/// A full fine-tuning under transformers that learns preferences, with TRL's head or with all logits.
job learning(preference_method m, loss_code loss = loss_code::fused_log_probabilities) {
    job j{.model = models::llama_3_2_1b, .task = task::finetuning, .weights = fp32, .compute = bf16};
    j.sequence = tokens(1024);
    j.recompute = recompute::full;
    j.preference = m;
    j.runtime = runtimes::huggingface;
    j.runtime.kernels.loss.code = loss;
    return j;
}

std::string why(const job& j) {
    const status s = validate_training(j, layout{}, gpus::h100_sxm5_80gb);
    return s ? "" : std::string{s.error().field.view()} + ": " + std::string{s.error().expected.view()};
}

byte_count reference(const job& j, const layout& l = {}) {
    return training_memory(j, l)[memory_term::reference].expected;
}

}  // namespace

TEST_CASE("a sample is a pair but for KTO's, and DPO and KTO alone have a reference") {
    for (std::size_t i = 0; i < names_of<preference_method>.size(); ++i) {
        const auto m = static_cast<preference_method>(i);
        CAPTURE(std::string{name_of(m)});
        const bool single = m == preference_method::none || m == preference_method::kto || learns_from_teacher(m) ||
                            learns_from_rollouts(m);
        CHECK(sequences_of_sample(m) == (single ? 1 : 2));
        CHECK(has_reference(m) == (m == preference_method::dpo || m == preference_method::kto));
    }
}

TEST_CASE("a reference is as large as what is trained, and shards as it does") {
    const job j = learning(preference_method::dpo);
    const training_state trained = training_state_of(j, {});
    CHECK(reference(j) == trained.weights);
    CHECK(reference(j, {.data = 8, .zero = 3}) == training_state_of(j, {.data = 8, .zero = 3}).weights);
    CHECK(reference(j, {.data = 8}) == trained.weights);
    job published = j;
    published.runtime.loading.training.published_reference = true;  // bf16 beside fp32
    CHECK(reference(published) == bytes(trained.weights.in(bytes) / 2));
    CHECK(reference(published, {.data = 8}) == reference(published));
    published.weights = bf16;
    CHECK(reference(published) == training_state_of(published, {}).weights);
    for (const preference_method m : {preference_method::none, preference_method::orpo, preference_method::simpo})
        CHECK(reference(learning(m)) == byte_count{});
    job with = j;
    with.reference = reference_model::precomputed;
    CHECK(reference(with) == byte_count{});
    with.reference = reference_model::by_method;
    with.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(reference_of(with) == reference_model::adapters_off);
    CHECK(reference(with) == byte_count{});
    with.reference = reference_model::loaded;
    CHECK(reference(with) == training_state_of(with, {}).weights);
}

TEST_CASE("a reference is offloaded as what is trained, and main memory has both") {
    job j = learning(preference_method::orpo);
    j.runtime = runtimes::deepspeed;
    j.offload.parameters = offload_place::host;
    const layout l{.data = 4, .zero = 3};
    const byte_count alone = host_memory(j, l);
    j.preference = preference_method::dpo;
    job on_gpu = j;
    on_gpu.offload = {};
    CHECK(host_memory(j, l) - alone == training_state_of(on_gpu, l).weights);
    CHECK(reference(j, l) == byte_count{});
}

TEST_CASE("a pair saves what two sequences save, and takes no less than they take") {
    job pairs = learning(preference_method::orpo), sequences = learning(preference_method::none);
    pairs.micro_batch = 3, sequences.micro_batch = 6;
    CHECK(saved_activations(pairs, {}) == saved_activations(sequences, {}));
    CHECK(training_memory(pairs, {}).ideal == training_memory(sequences, {}).ideal);
    pairs.preference = preference_method::dpo;
    CHECK(training_memory(pairs, {}).ideal > training_memory(sequences, {}).ideal);
    CHECK(tokens_of_step(pairs, {}) == tokens_of_step(sequences, {}));
    CHECK(tokens_of_step(pairs, {.data = 4}) == sequence_of(pairs) * 24);
}

TEST_CASE("a reference computes beside all that was saved: with whole logits that is the fullest moment") {
    // Per score: fp32 logits and log-probabilities of the trained model, and of the reference.
    job whole = learning(preference_method::dpo, loss_code::eager);
    whole.micro_batch = 8;
    const memory_breakdown m = training_memory(whole, {});
    CHECK(m.phase == phase::reference);
    const std::int64_t scores = 8 * 2 * 1024 * whole.model.vocabulary;
    CHECK(m[memory_term::logits].expected == bytes(4 + 4 + 4 + 4) * scores);
    // Log-probabilities that were computed before leave the loss's own gradients.
    job before = whole;
    before.reference = reference_model::precomputed;
    CHECK(training_memory(before, {}).phase != phase::reference);
    CHECK(training_memory(before, {}).ideal < m.ideal);
    // TRL's head holds a tile of logits at any time.
    job tiled = whole;
    tiled.runtime.kernels.loss.code = loss_code::fused_log_probabilities;
    const memory_breakdown fused = training_memory(tiled, {});
    CHECK(fused[memory_term::logits].expected < bytes(1) * scores);
}

TEST_CASE("preferences that contradict the job are refused by name") {
    CHECK(why(learning(preference_method::dpo)).empty());
    job j = learning(preference_method::kto);
    CHECK(why(j).starts_with("micro_batch: 2 or more"));
    j.micro_batch = 2;
    CHECK(why(j).empty());
    j = learning(preference_method::kto, loss_code::eager);  // LLaMA-Factory's takes one
    CHECK(why(j).empty());
    j = learning(preference_method::none);
    j.reference = reference_model::loaded;
    CHECK(why(j).starts_with("reference: a preference"));
    j = learning(preference_method::orpo);
    j.reference = reference_model::precomputed;
    CHECK(why(j) == "reference: absent: only dpo, kto, grpo, rloo, reinforce and ppo have a reference");
    j = learning(preference_method::dpo);
    j.reference = reference_model::adapters_off;
    CHECK(why(j).starts_with("reference: an adapter"));
    j = learning(preference_method::dpo);
    j.task = task::pretraining;
    CHECK(why(j) == "preference: task finetuning, and no other");
    CHECK(why(learning(preference_method::reward)).starts_with("preference: a model with head reranking"));
    j = learning(preference_method::reward);
    j.model = classifier(j.model, 1);
    CHECK(why(j).empty());
    j.preference = preference_method::dpo;
    CHECK(why(j).starts_with("preference: reward"));
    for (const runtime* without :
         {&runtimes::megatron, &runtimes::torchtitan, &runtimes::litgpt, &runtimes::nanotron, &runtimes::automodel}) {
        j = learning(preference_method::dpo);
        j.runtime = *without;
        CHECK(why(j).starts_with("preference: a runtime that learns"));
    }
}

namespace {

/// A student of the teacher's own family, under transformers.
job student() {
    job j = learning(preference_method::gkd, loss_code::eager);
    j.teacher = teacher_of(models::llama_3_1_8b);
    return j;
}

}  // namespace

TEST_CASE("a teacher lies beside its student as it was published, and ZeRO 3 alone shards it") {
    job j = student();
    CHECK(reference_of(j) == reference_model::loaded);
    CHECK(reference(j) == j.teacher.held);
    CHECK(reference(j, {.data = 8, .zero = 3}) == j.teacher.held);  // FSDP has each rank hold all of it
    j.runtime = runtimes::deepspeed;
    CHECK(reference(j, {.data = 8, .zero = 2}) == j.teacher.held);
    CHECK(reference(j, {.data = 8, .zero = 3}) == bytes(j.teacher.held.in(bytes) / 8));
    j.adapter.kind = adapter_kind::lora;  // of the student alone
    CHECK(reference(j) == j.teacher.held);
    j.offload.parameters = offload_place::host;
    CHECK(reference(j, {.data = 8, .zero = 3}) == byte_count{});
    CHECK(host_memory(j, {.data = 8, .zero = 3}) >= bytes(j.teacher.held.in(bytes) / 8));
}

TEST_CASE("a divergence from a teacher has seventeen tensors of the logits' size, fewer without a mixture") {
    job j = student();
    j.micro_batch = 8;
    const std::int64_t scores = 8 * 1024 * j.model.vocabulary;
    CHECK(training_memory(j, {}).phase == phase::loss);
    CHECK(training_memory(j, {})[memory_term::logits].expected == bytes(4 * 17) * scores);
    j.beta = 0;
    CHECK(training_memory(j, {})[memory_term::logits].expected == bytes(4 * 9) * scores);
    j.beta = 1;
    CHECK(training_memory(j, {})[memory_term::logits].expected == bytes(4 * 10) * scores);
    // Autocast keeps casts of a teacher's fp32 weights until it has returned its logits.
    job wide = student();
    wide.micro_batch = 1, wide.sequence = tokens(16);
    const byte_count narrow = training_passes_of(wide, {}).reference;
    wide.teacher = teacher_of(models::llama_3_1_8b, fp32);
    const byte_count casts = training_passes_of(wide, {}).reference - narrow - bytes(2) * 8'030'261'248;
    CHECK(ratio(casts, bytes(2) * 8'030'261'248) > 0.85);  // embedding and norms are not cast
}

TEST_CASE("a teacher is beside a student whose model is not split, by two ranks or stages or more") {
    const auto field = [](const layout& l) {
        const status s = validate_training(student(), l, gpus::h100_sxm5_80gb);
        return s ? text<63>{} : s.error().field;
    };
    CHECK(field({.data = 2}) == text<63>{});
    for (const std::int32_t ranks : {2, 3}) {
        CHECK(field({.tensor = ranks}) == text<63>{"layout.tensor"});
        CHECK(field({.pipeline = ranks}) == text<63>{"layout.pipeline"});
        CHECK(field({.context_parallel = ranks}) == text<63>{"layout.context_parallel"});
    }
}

TEST_CASE("teachers that contradict the job are refused by name") {
    CHECK(why(student()).empty());
    job j = student();
    j.teacher = {};
    CHECK(why(j).starts_with("teacher: the model that gkd learns from"));
    j.teacher = teacher_of(models::llama_2_7b);
    CHECK(why(j) == "teacher.vocabulary: as many words as the student's, 128256");
    j = student();
    j.preference = preference_method::dpo;
    CHECK(why(j) == "teacher: absent: only gkd learns from a teacher");
    j.preference = preference_method::none;
    CHECK(why(j) == "teacher: absent: only gkd learns from a teacher");
    j.teacher = {}, j.beta = 0.1;
    CHECK(why(j) == "beta: absent: it weighs the teacher of gkd; others have a reference or none");
    j = student();
    j.reference = reference_model::precomputed;
    CHECK(why(j) == "reference: absent: gkd loads its teacher");
    j = student();
    j.runtime = runtimes::torchtune;
    CHECK(why(j).starts_with("preference: a runtime whose trainer has a teacher"));
    j = student();
    j.runtime.kernels.loss.code = loss_code::fused_linear;
    CHECK(why(j).starts_with("runtime.loss: eager"));
    j = student();
    j.beta = 1.5;
    CHECK_FALSE(validate(j));
    const status split = validate_training(student(), layout{.tensor = 2}, gpus::h100_sxm5_80gb);
    REQUIRE_FALSE(split);
    CHECK(split.error().field.view() == "layout.tensor");
}
