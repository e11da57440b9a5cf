// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>

#include "../../training_jobs.hpp"

using namespace training_jobs;

TEST_CASE("layers that predict further tokens are on the last stage, with an embedding of their own there") {
    job j = full();
    j.runtime = runtimes::megatron;
    job ahead = j;
    ahead.mtp_layers = 1;
    const layout l{.pipeline = 2};
    CHECK(training_state_of(ahead, l, 0).weights == training_state_of(j, l, 0).weights);
    // A layer, the projection of two widths to one, three norms; the embedding.
    const std::int64_t h = j.model.hidden;
    parameter_count layer;
    for_each_weight(j.model.layers[0], h, [&](const weight& w) { layer += w.count(); });
    const byte_count more = training_state_of(ahead, l, 1).weights - training_state_of(j, l, 1).weights;
    CHECK(more == bytes(2) * (layer.in(parameters) + 2 * h * h + 3 * h + j.model.vocabulary * h));
    // On one GPU the embedding is there already.
    CHECK(training_state_of(ahead, {}).weights - training_state_of(j, {}).weights ==
          bytes(2) * (layer.in(parameters) + 2 * h * h + 3 * h));
    // Its scores stay while the model's own are computed: fp32, once a depth.
    const byte_count scores = bytes(4) * 4096 * j.model.vocabulary;
    CHECK(training_memory(ahead, l, 1)[memory_term::logits].expected ==
          training_memory(j, l, 1)[memory_term::logits].expected + scores);
    job twice = ahead;
    twice.mtp_layers = 2;
    CHECK(peak(twice, l) > peak(ahead, l));
    job again = twice;
    again.mtp_use_repeated_layer = true;  // what each keeps, with the weights of one
    CHECK(training_state_of(again, l, 1).weights == training_state_of(ahead, l, 1).weights);
    CHECK(training_state_of(again, l, 1).optimizer.states == training_state_of(ahead, l, 1).optimizer.states);
    CHECK(saved_activations(again, l, 1) == saved_activations(twice, l, 1));
    CHECK(peak(again, l) < peak(twice, l));
    CHECK(training_state_of(ahead, {.pipeline = 4, .stages = read_stages("8|8|8m|8").value()}, 2).weights >
          training_state_of(ahead, {.pipeline = 4, .stages = read_stages("8|8|8m|8").value()}, 1).weights);
    j.mtp_layers = 1000;
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb, 1) == "mtp_layers");
}
TEST_CASE("states of whole tensors: the fullest rank has the largest of what does not go round") {
    job j = full();
    j.runtime = runtimes::megatron;
    j.optimizer = muon;
    const auto states = [&](std::int32_t ranks) {
        return training_state_of(j, {.data = ranks, .zero = 1}).optimizer.states;
    };
    const byte_count whole = training_state_of(j, {}).optimizer.states;
    CHECK(states(1) == whole);
    CHECK(states(2) <= div_up(whole, 2) + mib(64));  // norms by the byte
    // 32 layers of matrices: more ranks than tensors leave one tensor each.
    const byte_count largest = bytes(8) * j.model.hidden * j.model.layers.kinds[0].feed_forward.width;
    CHECK(states(1024) > largest);
    CHECK(states(1024) < largest * 2);
    job by_bytes = j;
    by_bytes.optimizer = adamw;
    CHECK(training_state_of(by_bytes, {.data = 1024, .zero = 1}).optimizer.states < largest);
    // The first layouts dealt embedding and head whole too: twelve bytes each weight of theirs on one rank.
    j.runtime.optimizer.layer_wise_param_layout = false;
    CHECK(states(1024) >= bytes(12) * j.model.vocabulary * j.model.hidden);
}
TEST_CASE("a head whose gradient is put off keeps its input and the gradient of the logits") {
    job j = full();
    j.runtime = runtimes::megatron;
    j.global_batch = 8;
    job later = j;
    later.runtime.pipeline.defer_embedding_wgrad_compute = true;
    const layout l{.pipeline = 2};
    const byte_count input = bytes(2) * 4096 * j.model.hidden;
    const byte_count scores = bytes(2) * 4096 * j.model.vocabulary;
    CHECK(peak(later, l) > peak(j, l));
    const auto kept = [&](const job& of) { return training_memory(of, l, 1)[memory_term::activations].expected; };
    CHECK(kept(later) - kept(j) == (input + scores) * 7);
    later.runtime.pipeline.wgrad_deferral_limit = 2;
    CHECK(kept(later) - kept(j) == input * 7 + scores * 2);
    CHECK(refused_field(later, {}, gpus::a100_sxm4_80gb, 1) == "runtime.defer_embedding_wgrad_compute");
}
TEST_CASE("experts may be busier than the mean, which the upper bound counts unless the load is given") {
    job j{.model = models::deepseek_v3,
          .task = task::pretraining,
          .sequence = tokens(2048),
          .attention = attention_kernel::flash,
          .runtime = runtimes::megatron};
    const layout l{.data = 8, .expert = 8};
    const memory_breakdown balanced = training_memory(j, l);
    j.expert_load = 1.0001;  // as it is measured
    const memory_breakdown given = training_memory(j, l);
    CHECK(balanced.allocated.high > given.allocated.high + gib(10));
    CHECK(balanced.ideal <= given.ideal);
    j.expert_load = 1.72;
    CHECK(training_memory(j, l)[memory_term::activations].expected < balanced[memory_term::activations].high);
}
TEST_CASE("context-parallel ranks exchange keys and values through buffers") {
    job j = full();
    j.attention = attention_kernel::flash;
    j.runtime = runtimes::megatron;
    const attention& a = j.model.layers[0].attention;
    const auto exchanged = [&](std::int32_t ranks, cp_communication how) {
        const training_context context{j, {.context_parallel = ranks, .cp_comm_type = how}};
        byte_count size;
        const byte_count alone = [&] {
            training_context one = training_context{j, {.context_parallel = ranks}};
            one.attention.context_ranks = 1;
            byte_count sum;
            for_each_gradient_activation(j.model.layers[0], j.model.hidden, one,
                                         [&](const activation& g) { sum += local_bytes(g, {}); });
            return sum;
        }();
        for_each_gradient_activation(j.model.layers[0], j.model.hidden, context,
                                     [&](const activation& g) { size += local_bytes(g, {}); });
        return size - alone;
    };
    CHECK(exchanged(1, cp_communication::p2p) == byte_count{});
    const std::int64_t n = 4096 / 2;
    const std::int64_t keys = 2 * a.kv_heads * a.head_dim;
    const std::int64_t queries = a.heads * a.head_dim;
    CHECK(exchanged(2, cp_communication::p2p) == bytes(2) * n * (4 * keys + queries));
    CHECK(exchanged(2, cp_communication::all_gather) == bytes(2) * n * 2 * 2 * keys);
    CHECK(exchanged(2, cp_communication::a2a) == bytes(2) * n * (2 * queries + keys));
    // A long ring holds more in its forward pass.
    CHECK(exchanged(16, cp_communication::p2p) == bytes(2) * (n / 8) * (16 * (keys + queries) - 4 * queries));
}
