// SPDX-License-Identifier: MIT
// In which order a step's passes allocate and free: micro-batches as pipelines run them (arXiv 2104.04473, figure 4),
// layers as they are recomputed and gathered, and the optimizer's states at the end of the first step.
#include <llmres/memory/events/step.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <llmres/memory/training/stage.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../../training_jobs.hpp"

using namespace llmres;
using namespace llmres::detail;
using training_jobs::small;

namespace {

constexpr layout alone{};  // a folded job refers to its layout

/// Writes passes down: `F01` where layer 1 of micro-batch 0 begins to save, `C01` where it keeps its input alone, `B01`
/// where all that it saved is freed; `even` and `odd` where weights of a layer are gathered, `-even` where they are
/// freed.
struct passes final : event_visitor {
    std::int32_t layers, slots;
    mutable std::string text;
    mutable std::vector<bool> saving = std::vector<bool>(100);
    mutable std::map<std::int64_t, byte_count> alive;

    passes(std::int32_t of_layers, std::int32_t of_slots) : layers{of_layers}, slots{of_slots} {}
    void say(const std::string& what) const { text += (text.empty() ? "" : " ") + what; }
    /// Micro-batch and layer of a group of saved tensors, and its point; false: it is none.
    bool find(std::int64_t group, std::string& which, std::int64_t& layer, std::int64_t& point) const {
        const std::int64_t number = group - static_cast<std::int64_t>(tensor_group::saved);
        if (number < 0) return false;
        layer = number / 7, point = number % 7;
        which = std::to_string(layer / layers) + std::to_string(layer % layers);
        return layer < std::int64_t{layers} * slots;
    }
    void allocate(std::int64_t group, byte_count size, tensor_stream) const override {
        alive[group] += size;
        std::string which;
        std::int64_t layer = 0, point = 0;
        if (group == static_cast<std::int64_t>(tensor_group::even_unit)) say("even");
        if (group == static_cast<std::int64_t>(tensor_group::odd_unit)) say("odd");
        if (!find(group, which, layer, point)) return;
        if (point == 6) return say("C" + which);
        if (!saving[static_cast<std::size_t>(layer)]) say("F" + which);
        saving[static_cast<std::size_t>(layer)] = true;
    }
    void release(std::int64_t group) const override {
        const bool any = alive[group] > byte_count{};
        alive[group] = {};
        std::string which;
        std::int64_t layer = 0, point = 0;
        if (any && group == static_cast<std::int64_t>(tensor_group::even_unit)) say("-even");
        if (any && group == static_cast<std::int64_t>(tensor_group::odd_unit)) say("-odd");
        if (!find(group, which, layer, point) || point != 5) return;
        say("B" + which);
        saving[static_cast<std::size_t>(layer)] = false;
    }
};

/// The passes of the first step on a stage, which holds so many layers and numbers micro-batches modulo `slots`.
std::string passes_of(const job& j, const layout& l, std::int32_t stage, std::int32_t layers, std::int32_t slots) {
    const layer_stack by_stage = l.deals_evenly() ? j.model.layers : ordered_by_stage(j.model.layers, l);
    const folded_job folded{j, l, by_stage};
    const training_stage here = training_stage_of(folded, placement_of(j, l, stage));
    const passes seen{layers, slots};
    const event_writer writer{folded, here, seen};
    step_events{writer}.write(true);
    return seen.text;
}

/// Sizes that the optimizer's step allocates for good.
std::string states_of(const job& j, const layout& l, bool first = true) {
    struct lasting final : event_visitor {
        mutable std::string text;
        void allocate(std::int64_t group, byte_count size, tensor_stream) const override {
            if (group == 0) text += (text.empty() ? "" : " ") + std::to_string(size.in(bytes));
        }
        void release(std::int64_t) const override {}
    };
    const folded_job folded{j, l};
    const training_stage here = training_stage_of(folded, placement_of(j, l, 0));
    const lasting seen;
    const event_writer writer{folded, here, seen};
    step_events{writer}.write(first);
    return seen.text;
}

}  // namespace

TEST_CASE("one stage runs a micro-batch forward and back, and two more of them") {
    job j = small(runtimes::huggingface);
    CHECK(passes_of(j, {}, 0, 2, 3) == "F00 F01 B01 B00");
    j.global_batch = 8;
    CHECK(passes_of(j, {}, 0, 2, 3) == "F00 F01 B01 B00 F10 F11 B11 B10 F20 F21 B21 B20");
}

TEST_CASE("a stage of a pipeline runs as many micro-batches ahead as there are stages behind it") {
    job j = small(runtimes::megatron, 3);
    j.global_batch = 8;
    const layout three{.pipeline = 3};
    CHECK(passes_of(j, three, 2, 1, 3) == "F00 B00 F10 B10 F20 B20");
    CHECK(passes_of(j, three, 1, 1, 4) == "F00 F10 B00 F20 B10 F30 B20 B30");
    CHECK(passes_of(j, three, 0, 1, 5) == "F00 F10 F20 B00 F30 B10 F40 B20 B30 B40");
    j.global_batch = 2;  // fewer than are held
    CHECK(passes_of(j, three, 0, 1, 4) == "F00 F10 B00 B10");
}

TEST_CASE("chunks of layers run ahead by a part of a micro-batch") {
    job j = small(runtimes::megatron, 4);
    j.global_batch = 8;
    // Five chunks of two a micro-batch are ahead on the first of two stages: two micro-batches and one of two layers.
    CHECK(passes_of(j, {.pipeline = 2, .virtual_pipeline = 2}, 0, 2, 4) ==
          "F00 F01 F10 F11 F20 B01 B00 F21 F30 B11 B10 F31 B21 B20 B31 B30");
}

TEST_CASE("recomputed layers keep their inputs, and are run once more before each is differentiated") {
    job j = small(runtimes::huggingface, 3);
    j.recompute = recompute::full;
    CHECK(passes_of(j, {}, 0, 3, 3) == "C00 C01 C02 F02 B02 F01 B01 F00 B00");
    j.recompute_every = 2;  // the second layer of three
    const std::string some = passes_of(j, {}, 0, 3, 3);
    CHECK(some.find("F02") < some.find("B02"));
    // A layer with experts, whose pass is not told tensor by tensor, hands no input on: the next one keeps its own.
    j = small(runtimes::huggingface, 2);
    j.recompute = recompute::full;
    layer experts = j.model.layers.kinds[0];
    experts.feed_forward.experts = {.count = 4, .per_token = 2, .width = 40};
    experts.feed_forward.width = 0;
    j.model.layers.then(2, experts).then(1, j.model.layers.kinds[0]);
    CHECK(passes_of(j, {}, 0, 5, 5) == "C00 C01 C02 C03 C04 F04 B04 F03 B03 F02 B02 F01 B01 F00 B00");
}

TEST_CASE("ZeRO 3 gathers each layer while the one before it is computed, and back again") {
    job j = small(runtimes::huggingface, 3);
    j.runtime.sharding.code = sharding_code::fsdp2;
    j.runtime.sharding.reshards_after_forward = true;
    const layout four{.data = 4, .zero = 3};
    const std::string text = passes_of(j, four, 0, 3, 3);
    CHECK(text.starts_with("even F00 odd F01 -even even F02 -even -odd even"));
    CHECK(text.find("B02") < text.find("B01"));
    CHECK(passes_of(j, {.data = 4, .zero = 2}, 0, 3, 3) == "F00 F01 F02 B02 B01 B00");
    j.runtime.sharding.reshards_after_forward = false;
    CHECK(passes_of(j, four, 0, 3, 3).starts_with("even F00 odd F01 even F02 even"));
}

TEST_CASE("states are made at the end of the first step: a master copy, and as many tensors as there are moments") {
    job j = small(runtimes::huggingface, 1);
    j.runtime.optimizer.steps_weights = false;
    const auto times = [](std::int64_t size, int n) {
        std::string all;
        for (int i = 0; i < n; ++i) all += (i > 0 ? " " : "") + std::to_string(size);
        return all;
    };
    const std::int64_t table = 4 * 1000 * 64, f = 4 * 160 * 64;
    CHECK(states_of(j, {}).starts_with(times(table, 3)));
    CHECK(states_of(j, {}).find(times(f, 9)) != std::string::npos);  // of gate, up and down
    CHECK(states_of(j, {}, false).empty());
    j.optimizer = sgd_momentum;
    CHECK(states_of(j, {}).starts_with(times(table, 2) + " " + std::to_string(4 * 64 * 64)));
    j.optimizer = sgd;
    CHECK(states_of(j, {}).find(times(f, 3)) != std::string::npos);
    CHECK(states_of(j, {}).find(times(f, 4)) == std::string::npos);
    // Megatron-Core's distributed optimizer made its master weights before.
    job moved = small(runtimes::megatron, 1);
    moved.runtime.kernels.linear = linear_code::accumulates;
    CHECK(states_of(moved, {}).starts_with(times(table, 3)));
    CHECK(states_of(moved, {.data = 2, .zero = 1}).starts_with(times(table / 2, 2)));
    CHECK_FALSE(states_of(moved, {.data = 2, .zero = 1}).starts_with(times(table / 2, 3)));
}

namespace {

/// Writes the gradients of weights down: sizes of those that are kept, `(size)` of those that are summed or shared and
/// freed, and `p3` where what a layer saved until point 3 of its backward pass is freed.
std::string made_gradients(const job& j, const layout& l = {}) {
    struct gradients final : event_visitor {
        mutable std::string text;
        void say(const std::string& what) const { text += (text.empty() ? "" : " ") + what; }
        void allocate(std::int64_t group, byte_count size, tensor_stream) const override {
            if (group == static_cast<std::int64_t>(tensor_group::gradients)) say(std::to_string(size.in(bytes)));
            if (group == static_cast<std::int64_t>(tensor_group::whole_gradient))
                say("(" + std::to_string(size.in(bytes)) + ")");
        }
        void release(std::int64_t group) const override {
            const std::int64_t saved = group - static_cast<std::int64_t>(tensor_group::saved);
            if (saved >= 0 && saved % 7 < 6) say("p" + std::to_string(saved % 7));
        }
    };
    const folded_job folded{j, l};
    const training_stage here = training_stage_of(folded, placement_of(j, l, 0));
    const gradients seen;
    const event_writer writer{folded, here, seen};
    step_events{writer}.write(true);
    return seen.text;
}

// In 16 bits: matrices of 64 x 64, 32 x 64 and 160 x 64, a norm of 64, and a table of 1000 x 64.
const std::string q = "8192", k = "4096", f = "20480", norm = "128", table = "128000";

}  // namespace

TEST_CASE("gradients come from the last product back: down, then gate and up, then attention's and the norms'") {
    job j = small(runtimes::huggingface, 1);
    const std::string one = norm + " " + table + " p0 " + f + " p1 p2 " + f + " " + f + " p3 p4";
    const std::string text = made_gradients(j);
    CHECK(text.starts_with(one));
    CHECK(text.ends_with(" p5 " + table));  // the embedding's is the last
    const std::string mixer = text.substr(one.size(), text.size() - one.size() - (" p5 " + table).size());
    CHECK(mixer.find(" " + q + " " + k + " " + k + " " + q) != std::string::npos);
    CHECK(mixer.size() == (" " + q + " " + k + " " + k + " " + q + " " + norm + " " + norm).size());
    // Of a second micro-batch each is added to what is kept, and freed.
    j.global_batch = 2;
    const std::string two = made_gradients(j);
    CHECK(two.starts_with(text));
    CHECK(two.substr(text.size()).find("(" + f + ") p1") != std::string::npos);
    CHECK(two.ends_with("p5 (" + table + ")"));
    // Megatron-Core adds them to a buffer that is there from the start.
    CHECK(made_gradients(small(runtimes::megatron, 1)).find(f + " p1") == std::string::npos);
}

TEST_CASE("ranks that share gradients make each whole first, and keep their part; LOMO keeps none") {
    job j = small(runtimes::huggingface, 1);
    j.runtime.sharding.code = sharding_code::fsdp2;
    const std::string shared = made_gradients(j, {.data = 2, .zero = 2});
    CHECK(shared.find("(" + f + ") 10240 p1") != std::string::npos);
    CHECK(made_gradients(j, {.data = 2, .zero = 1}).find("p0 " + f + " p1") != std::string::npos);
    j.optimizer = lomo;
    CHECK(made_gradients(j).find("p0 (" + f + ") p1") != std::string::npos);
    // FSDP1 has one gradient of a layer, when all are there.
    j = small(runtimes::huggingface, 1);
    j.runtime.sharding.code = sharding_code::fsdp1;
    const std::int64_t of_layer = 2 * 8192 + 2 * 4096 + 3 * 20480 + 2 * 128;
    const std::string flat = made_gradients(j, {.data = 2, .zero = 3});
    CHECK(flat.find("p5 " + std::to_string(of_layer / 2)) != std::string::npos);
    CHECK(flat.find("(" + f + ") p1") != std::string::npos);
}

namespace {

/// What is alive, and was at most, in each group, over the first step.
struct followed_groups final : event_visitor {
    mutable std::map<std::int64_t, byte_count> groups;
    mutable std::vector<std::pair<std::int64_t, byte_count>> made;
    mutable byte_count alive{}, peak{};
    mutable bool valid = true;  ///< no group is below the first
    void allocate(std::int64_t group, byte_count size, tensor_stream) const override {
        valid = valid && group >= 0;
        groups[group] += size, alive += size;
        made.emplace_back(group, size);
        peak = std::max(peak, alive);
    }
    void release(std::int64_t group) const override {
        valid = valid && group >= 0;
        alive -= groups[group], groups[group] = {};
    }
    std::int64_t count(tensor_group group, byte_count size) const {
        return std::count(made.begin(), made.end(), std::pair{static_cast<std::int64_t>(group), size});
    }
};

struct stepped {
    job asked;
    layout cut;
    folded_job folded;
    training_stage here;
    followed_groups seen{};
    event_writer writer;

    stepped(const job& j, const layout& l, bool first = true)
        : asked{j},
          cut{l},
          folded{asked, cut},
          here{training_stage_of(folded, placement_of(asked, cut, 0))},
          writer{folded, here, seen} {
        step_events{writer}.write(first);
        CHECK(seen.valid);
    }
    stepped(const stepped&) = delete;
};

}  // namespace

TEST_CASE("between two layers' backward passes one gradient of a layer's output is alive") {
    struct gradients final : event_visitor {
        mutable std::map<std::int64_t, byte_count> alive;
        mutable int layers = 0;
        byte_count of(tensor_group group) const { return alive[static_cast<std::int64_t>(group)]; }
        void allocate(std::int64_t group, byte_count size, tensor_stream) const override { alive[group] += size; }
        void release(std::int64_t group) const override {
            alive[group] = {};
            const std::int64_t saved = group - static_cast<std::int64_t>(tensor_group::saved);
            if (saved < 0 || saved % 7 != 0) return;  // the first point of a layer
            ++layers;
            const byte_count both = of(tensor_group::even_gradient) + of(tensor_group::odd_gradient);
            CHECK(both == bytes(2) * (8 * 64));  // in 16 bits, as wide as the stream
        }
    };
    const job j = small(runtimes::huggingface, 6);
    const folded_job folded{j, alone};
    const training_stage here = training_stage_of(folded, placement_of(j, {}, 0));
    const gradients seen;
    const event_writer writer{folded, here, seen};
    step_events{writer}.write(true);
    CHECK(seen.layers == 6);
    CHECK(seen.of(tensor_group::even_gradient) + seen.of(tensor_group::odd_gradient) == byte_count{});
}

TEST_CASE("a teacher's layers are passed one after the other beside the student's logits, and nothing of them stays") {
    job j = small(runtimes::huggingface, 2);
    j.preference = preference_method::gkd;
    j.beta = 0.5;
    for (const std::int32_t layers : {1, 2, 5}) {
        model taught = j.model;
        taught.layers = {layers, j.model.layers.kinds[0]};
        taught.layers.kinds[0].feed_forward.width = 333;  // no other tensor is as large
        j.teacher = teacher_of(taught, bf16);
        const stepped s{j, {}};
        const teacher_pass pass = teacher_pass_of(s.folded);
        CHECK(s.seen.count(tensor_group::temporaries, pass.layer) == layers);
    }
}

TEST_CASE("a reference is passed layer by layer, then its logits are made; its step holds no less than without it") {
    job j = small(runtimes::huggingface, 3);
    j.preference = preference_method::dpo;
    const stepped with{j, {}};
    REQUIRE(computes_reference(with.folded.job));
    const byte_count layer = with.folded.layers[0].unrecorded;
    CHECK(with.seen.count(tensor_group::temporaries, layer) == 3);
    const loss_memory& loss = with.folded.ends.loss;
    const byte_count whole = whole_logits(with.writer.at);
    CHECK(with.seen.count(tensor_group::temporaries, loss.kept + (whole > byte_count{} ? whole : loss.forward)) == 1);
}

TEST_CASE(
    "dummies of weights that stand beside each other are one tensor, made when the first layer is differentiated") {
    job j = small(runtimes::megatron, 3);
    j.runtime.kernels.linear = linear_code::accumulates_beside;
    struct lasting final : event_visitor {
        mutable std::string text;
        void allocate(std::int64_t group, byte_count size, tensor_stream) const override {
            if (group == 0) text += std::to_string(size.in(bytes)) + " ";
        }
        void release(std::int64_t) const override {}
    };
    const folded_job folded{j, alone};
    const training_stage here = training_stage_of(folded, placement_of(j, {}, 0));
    const lasting seen;
    const event_writer writer{folded, here, seen};
    step_events{writer}.write(false);
    // 16-bit matrices: down of 160 x 64; gate and up; queries, keys and values of 64 + 32 + 32 rows; o_proj of 64 x 64.
    CHECK(seen.text == "20480 40960 16384 8192 ");
}

TEST_CASE("a pipeline's first stage frees no micro-batch that it has not run, and has all of its own in flight") {
    for (const std::int32_t stages : {2, 3, 4})
        for (const std::int32_t chunks : {1, 2})
            for (const std::int32_t batches : {1, 2, 4, 8}) {
                job j = small(runtimes::megatron, stages * chunks);
                j.global_batch = batches;
                const stepped s{j, {.pipeline = stages, .virtual_pipeline = chunks}};
                byte_count lasting;
                for (const auto& [group, size] : s.seen.made)
                    if (group == 0) lasting += size;
                CHECK(s.seen.alive == lasting);
                const std::int64_t in_flight = stages < batches ? stages : batches;
                // Each micro-batch that is followed is differentiated once: a gradient of each layer's output, and one
                // of what stands before the first.
                const std::int64_t ran = s.seen.count(tensor_group::even_gradient, s.writer.at.residual) +
                                         s.seen.count(tensor_group::odd_gradient, s.writer.at.residual);
                if (chunks == 1) CHECK(ran == 2 * std::min<std::int64_t>(batches, stages + 2));
                CHECK(s.seen.peak >= s.folded.layers[0].kept * in_flight * chunks);
            }
}

TEST_CASE("what is alive behind a step is what lasts, whatever the layers are and however they are kept") {
    for (const runtime* r : {&runtimes::huggingface, &runtimes::huggingface_4_45, &runtimes::megatron})
        for (const recompute what : {recompute::none, recompute::selective, recompute::full})
            for (const bool experts : {false, true})
                for (const attention_kernel kernel : {attention_kernel::flash, attention_kernel::eager}) {
                    job j = small(*r, 3);
                    j.recompute = what;
                    j.attention = kernel;
                    j.global_batch = 3;
                    if (experts) {
                        feed_forward& routed = j.model.layers.kinds[0].feed_forward;
                        routed.experts = {.count = 4, .per_token = 2, .width = 40};
                        routed.width = 0;
                    }
                    CAPTURE(experts);
                    CAPTURE(static_cast<int>(what));
                    const stepped s{j, {}};
                    byte_count lasting;
                    for (const auto& [group, size] : s.seen.made)
                        if (group == 0) lasting += size;
                    CHECK(s.seen.alive == lasting);
                    // All of the fullest layer's forward pass is alive at once, beside what other layers keep.
                    const byte_count kept = s.folded.layers[0].kept * 2 + s.folded.layers[0].saved;
                    CHECK(s.seen.peak >= kept);
                }
}

TEST_CASE("each micro-batch that is followed is passed forward once: the code's frames are there as often") {
    job j = small(runtimes::huggingface, 2);
    for (const std::int32_t batches : {1, 2, 3, 8}) {
        j.global_batch = batches;
        const stepped s{j, {}};
        const byte_count frames = model_frames(s.writer.at);
        REQUIRE(frames > byte_count{});
        CHECK(s.seen.count(tensor_group::frames, frames) == std::min(batches, 3));
    }
}
