// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/tensor_events.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/runtimes/all.hpp>
#include <map>
#include <string>
#include <vector>

#include "../training_jobs.hpp"

using namespace training_jobs;

namespace {

/// What is alive after some steps, and was at most.
struct followed {
    std::map<std::int64_t, byte_count> groups;
    byte_count alive{}, peak{};
    std::vector<byte_count> peaks;  ///< by the end of each step

    void operator()(const tensor_event& e) {
        if (e.size > byte_count{})
            groups[e.group] += e.size, alive += e.size;
        else
            alive -= groups[e.group], groups[e.group] = {};
        peak = std::max(peak, alive);
    }
};

followed follow(const job& j, const layout& l, std::int32_t steps = 2) {
    followed f;
    for_each_tensor_event(j, l, gpus::h100_sxm5_80gb, 0, steps, f);
    return f;
}

/// Compile time sees the same events.
constexpr byte_count allocated_at_first() {
    byte_count sum;
    for_each_tensor_event(full(), layout{}, gpus::h100_sxm5_80gb, 0, 0, [&](const tensor_event& e) { sum += e.size; });
    return sum;
}

}  // namespace

TEST_CASE("before the first step there are the weights and the libraries' workspace") {
    const job j = full();
    const training_state state = training_state_of(j, {});
    CHECK(follow(j, {}, 0).alive == state.weights + j.runtime.process.workspace.expected);
    CHECK(allocated_at_first() == follow(j, {}, 0).alive);
}

TEST_CASE("what is alive after a step are weights and optimizer states: all else is freed") {
    for (const recompute what : {recompute::none, recompute::selective, recompute::full}) {
        job j = full();
        j.recompute = what;
        const training_state state = training_state_of(j, {});
        const byte_count lasting = state.weights + state.optimizer.states + j.runtime.process.workspace.expected;
        CHECK(follow(j, {}, 1).alive == lasting);
        CHECK(follow(j, {}, 3).alive == lasting);
    }
}

TEST_CASE("logits that the training loop keeps are alive until the step ends, as the plan has it") {
    job j = full();
    j.runtime = runtimes::huggingface_4_42;
    j.recompute = recompute::full;
    j.sequence = tokens(32768);
    j.weights = nf4;
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    const byte_count freed = follow(j, {}).peak;
    j.runtime.kernels.loss.holds_outputs = true;
    const byte_count logits = bytes(4) * (std::int64_t{32768} * j.model.vocabulary);
    // The fullest moment is of shifted copies, which lack a position.
    CHECK(follow(j, {}).peak == freed + logits - bytes(4) * j.model.vocabulary);
    CHECK(follow(j, {}).peak.in(gib) ==
          doctest::Approx(training_memory(j, {}).allocated.expected.in(gib)).epsilon(0.02));
}

TEST_CASE("a teacher computes before its logits and the student's meet in the loss, as the plan has it") {
    job j = full();
    j.runtime = runtimes::huggingface;
    j.weights = fp32;
    j.autocast = true;
    j.recompute = recompute::full;
    j.preference = preference_method::gkd;
    for (const double beta : {0.0, 0.5, 1.0})
        for (const precision& format : {bf16, fp32}) {
            j.beta = beta;
            j.teacher = teacher_of(j.model, format);
            CAPTURE(beta);
            const memory_breakdown planned = training_memory(j, {});
            CHECK(follow(j, {}).peak.in(gib) == doctest::Approx(planned.allocated.expected.in(gib)).epsilon(0.02));
            job alone = j;
            alone.preference = preference_method::none;
            CHECK(follow(j, {}, 3).alive == follow(alone, {}, 3).alive + j.teacher.held);
        }
}

TEST_CASE("where logits are shifted, their copies lack a position, and their gradient is put into zeros for all") {
    job j = full();
    j.runtime = runtimes::huggingface_4_42;
    const byte_count all = bytes(4) * (sequence_of(j).in(tokens)*j.model.vocabulary);
    const byte_count shifted = all - bytes(4) * j.model.vocabulary;
    const auto count = [&](byte_count size) {
        int found = 0;
        for_each_tensor_event(j, {}, gpus::h100_sxm5_80gb, 0, 1,
                              [&](const tensor_event& e) { found += e.size == size ? 1 : 0; });
        return found;
    };
    CHECK(count(all) == 2);      // the fp32 logits, and the gradient of all
    CHECK(count(shifted) == 4);  // the copy, its log-softmax, and the gradients of both
    j.runtime.kernels.loss.code = loss_code::triton;
    CHECK(count(all) == 2);
    CHECK(count(shifted) == 2);         // the copy, and its gradient
    j.runtime = runtimes::huggingface;  // shifts labels
    CHECK(count(shifted) == 0);
}

TEST_CASE("logits that are scaled are there twice in 16 bits, as the head multiplies them and divided") {
    job j = full();
    j.runtime = runtimes::huggingface_4_45;
    const byte_count narrow = bytes(2) * (sequence_of(j).in(tokens)*j.model.vocabulary);
    const auto count = [&] {
        int found = 0;
        for_each_tensor_event(j, {}, gpus::h100_sxm5_80gb, 0, 1,
                              [&](const tensor_event& e) { found += e.size == narrow ? 1 : 0; });
        return found;
    };
    const int plain = count();
    j.model.architecture = "granite";
    CHECK(count() == plain + 1);
}

TEST_CASE("each tensor of a feed-forward that is recomputed is made alone") {
    job j = full();
    j.runtime = runtimes::huggingface_4_45;
    j.recompute = recompute::full;
    j.attention = attention_kernel::flash;
    j.sequence = tokens(2048);
    const layer& l = j.model.layers.kinds[0];
    const byte_count inner = bytes(2) * (sequence_of(j).in(tokens)*l.feed_forward.width);
    std::map<std::int64_t, int> alive;
    int now = 0, most = 0;
    bool sums = false;
    for_each_tensor_event(j, {}, gpus::h100_sxm5_80gb, 0, 1, [&](const tensor_event& e) {
        if (e.size == byte_count{}) now -= alive[e.group], alive[e.group] = 0;
        if (e.size == inner) ++alive[e.group], most = std::max(most, ++now);
        sums = sums || e.size == inner * 3;
    });
    CHECK(most == 3 + 3);  // the gate, the same activated and `up`, and three gradients
    CHECK_FALSE(sums);
}

// The plan counts an end of a pipeline's communication, and FSDP's units, that the events have as single tensors.
TEST_CASE(
    "the fullest moment of the events is within 5 % of what the plan counts, recomputing or not, sharded or not") {
    for (const recompute what : {recompute::none, recompute::full})
        for (const layout& l : {layout{}, layout{.tensor = 2}, layout{.pipeline = 4}, layout{.data = 4, .zero = 1},
                                layout{.data = 8, .zero = 3}})
            for (const runtime* r : {&runtimes::megatron, &runtimes::pytorch, &runtimes::huggingface}) {
                job j = full();
                j.recompute = what;
                j.runtime = *r;
                CAPTURE(std::string{r->identity.name});
                CAPTURE(l.tensor);
                CAPTURE(l.pipeline);
                CAPTURE(l.zero);
                const double planned = training_memory(j, l, 0).allocated.expected.in(gib);
                CHECK(follow(j, l).peak.in(gib) == doctest::Approx(planned).epsilon(0.05));
            }
}

TEST_CASE(
    "Transformer Engine's dummies are made where the first layer is differentiated, once, as many as the plan has") {
    job j = full();
    j.runtime = runtimes::megatron;
    job bare = j;
    bare.runtime.kernels.linear = linear_code::accumulates;
    const byte_count dummies = training_state_of(j, {}).dummies;
    REQUIRE(dummies > byte_count{});
    CHECK(follow(j, {}, 0).alive == follow(bare, {}, 0).alive);
    CHECK(follow(j, {}, 1).alive == follow(bare, {}, 1).alive + dummies);
    CHECK(follow(j, {}, 3).alive == follow(bare, {}, 3).alive + dummies);
}

TEST_CASE("a second step allocates no more than the first with its states, and later ones no more than the second") {
    const byte_count two = follow(full(), {}, 2).peak;
    CHECK(follow(full(), {}, 1).peak <= two);
    CHECK(follow(full(), {}, 4).peak == two);
}

TEST_CASE("each event is of a group, frees nothing twice, and gathered weights are another stream's") {
    job j = full();
    j.runtime = runtimes::huggingface;
    bool gathered = false, valid = true;
    for_each_tensor_event(j, {.data = 8, .zero = 3}, gpus::h100_sxm5_80gb, 0, 1, [&](const tensor_event& e) {
        valid = valid && e.group >= 0 && e.size >= byte_count{};
        gathered = gathered || e.stream == tensor_stream::gathering;
    });
    CHECK(gathered);
    CHECK(valid);
}

TEST_CASE("layers whose tensors are not told one by one are held as the plan has them: eager attention, and experts") {
    for (const bool experts : {false, true})
        for (const recompute what : {recompute::none, recompute::full})
            for (const bool autocast : {false, true}) {
                job j = full();
                j.runtime = runtimes::huggingface;
                j.recompute = what;
                j.sequence = tokens(2048);
                j.attention = experts ? attention_kernel::flash : attention_kernel::eager;
                if (experts) {
                    feed_forward& routed = j.model.layers.kinds[0].feed_forward;
                    routed = {.experts = {.count = 4, .per_token = 2, .width = 3584}};
                }
                if (autocast) j.weights = fp32, j.autocast = true;
                CAPTURE(experts);
                CAPTURE(static_cast<int>(what));
                CAPTURE(autocast);
                const double planned = training_memory(j, {}).allocated.expected.in(gib);
                CHECK(follow(j, {}).peak.in(gib) == doctest::Approx(planned).epsilon(0.05));
                // What is recorded holds what all layers save: and while the first of 32 is recomputed, that of one.
                const byte_count all = saved_by_layers(j, {});
                CHECK(follow(j, {}, 1).peak >= training_state_of(j, {}).weights + all);
            }
}
