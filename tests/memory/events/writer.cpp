// SPDX-License-Identifier: MIT
// How a step's events are written, and what is there before the first one: torch/distributed/fsdp/_init_utils.py wraps
// units, Megatron-Core's param_and_grad_buffer.py and distrib_optimizer.py move weights to buffers.
#include <llmres/memory/events/writer.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/memory/events/start.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <map>
#include <string>

#include "../../training_jobs.hpp"

using namespace llmres;
using namespace llmres::detail;
using training_jobs::small;
using training_jobs::small_inner;

namespace {

/// Writes events down: sizes in bytes, with their number where they come one after the other, and the names of groups
/// that are freed.
struct notes final : event_visitor {
    mutable std::string text;
    mutable std::map<std::int64_t, byte_count> alive;
    mutable std::string last;
    mutable int times = 0;

    static std::string name(std::int64_t group) {
        switch (static_cast<tensor_group>(group)) {
            case tensor_group::lasting: return "lasting";
            case tensor_group::gradients: return "gradients";
            case tensor_group::whole_gradient: return "whole";
            case tensor_group::temporaries: return "temporary";
            case tensor_group::frames: return "frames";
            case tensor_group::even_unit: return "even";
            case tensor_group::odd_unit: return "odd";
            default: return std::to_string(group);
        }
    }
    void say(const std::string& what) const {
        if (what == last) {
            ++times;
            return;
        }
        if (times > 1) text += " x" + std::to_string(times);
        text += (text.empty() ? "" : "; ") + what;
        last = what, times = 1;
    }
    void allocate(std::int64_t group, byte_count size, tensor_stream) const override {
        say(name(group) + " " + std::to_string(size.in(bytes)));
        alive[group] += size;
    }
    void release(std::int64_t group) const override {
        if (alive[group] > byte_count{}) say("-" + name(group));
        alive[group] = {};
    }
    std::string all() const {
        say("end");
        return text.substr(0, text.rfind("; end"));
    }
};

struct written {
    job asked;
    layout cut;
    folded_job folded;
    training_stage stage;
    notes seen{};
    event_writer writer;

    written(const job& j, const layout& l)
        : asked{j},
          cut{l},
          folded{asked, cut},
          stage{training_stage_of(folded, placement_of(asked, cut, 0))},
          writer{folded, stage, seen} {}
    written(const written&) = delete;
};
std::string started(const job& j, const layout& l) {
    const written w{j, l};
    start_events{w.writer}.write();
    return w.seen.all();
}
/// Sizes and copies of the tensors that the optimizer steps.
std::string stepped(const job& j, const layout& l) {
    const written w{j, l};
    std::string all;
    w.writer.for_each_stepped([&](const training_state& kept, std::int64_t copies) {
        all += (all.empty() ? "" : ", ") + std::to_string(copies) + " x " + std::to_string(kept.weights.in(bytes));
    });
    return all;
}
layer& kind_of(job& j) { return j.model.layers.kinds[0]; }

// In 16 bits: queries and keys of 64 x 64 and 32 x 64, the feed-forward's 160 x 64, norms of 64, the embedding.
constexpr std::int64_t q = 2 * 64 * 64, k = 2 * 32 * 64, f = 2 * 160 * 64, norm = 2 * 64, table = 2 * 1000 * 64;

}  // namespace

TEST_CASE("what several copies take is as many tensors, or one where they do not divide it") {
    const written w{small(runtimes::huggingface), {}};
    w.writer.allocate_copies(tensor_group::lasting, bytes(12), 3);
    w.writer.allocate_copies(tensor_group::lasting, bytes(13), 3);
    w.writer.allocate_copies(tensor_group::lasting, bytes(0), 3);
    w.writer.release(tensor_group::frames);
    CHECK(w.seen.all() == "lasting 4 x3; lasting 13");
}

TEST_CASE("gradients that the inventory sums up are tensors of the stream's or the inner width") {
    const written w{small(runtimes::huggingface), {}};
    const auto allocate = [&](activation_role role, std::int64_t values, std::int64_t width) {
        w.writer.allocate_activation(0, {role, values, bf16, activation_split::whole}, width);
    };
    allocate(activation_role::gradient, 8 * 64 * 3, 0);
    allocate(activation_role::gradient, 8 * 150 * 2, 150);
    allocate(activation_role::gradient, 8 * 100, small_inner);
    allocate(activation_role::residual, 8 * 64 * 2, small_inner);
    CHECK(w.seen.all() == "lasting 1024 x3; lasting 2400 x2; lasting 1600; lasting 2048");
}

TEST_CASE("the tensors that are stepped are each weight's, joined where Megatron-Core has one of several") {
    const auto times = [](std::int64_t copies, std::int64_t size) {
        return std::to_string(copies) + " x " + std::to_string(size);
    };
    const std::string attention = times(1, q) + ", " + times(1, k) + ", " + times(1, k) + ", " + times(1, q);
    const std::string one = attention + ", " + times(1, f) + ", " + times(1, f) + ", " + times(1, f);
    const std::string norms = times(1, norm) + ", " + times(1, norm);
    const std::string plain = stepped(small(runtimes::huggingface), {});
    CHECK(plain.find(one) != std::string::npos);
    CHECK(plain.find(norms) != std::string::npos);
    const std::string joined = stepped(small(runtimes::megatron), {});
    CHECK(joined.find(times(1, q + 2 * k) + ", " + times(1, q) + ", " + times(1, 2 * f) + ", " + times(1, f)) !=
          std::string::npos);
    // FSDP1's optimizer sees a flat tensor of each layer, and one of the rest.
    job flat = small(runtimes::huggingface);
    flat.runtime.sharding.code = sharding_code::fsdp1;
    const std::int64_t of_layer = 2 * q + 2 * k + 3 * f + 2 * norm;
    CHECK(stepped(flat, {.data = 2, .zero = 3}) ==
          times(1, of_layer / 2) + ", " + times(1, of_layer / 2) + ", " + times(1, (2 * table + norm) / 2));
}

TEST_CASE("queries, keys and values stand beside each other, and gate and up; nothing else does") {
    using enum weight_role;
    CHECK(event_writer::stands_beside(q_proj, k_proj));
    CHECK(event_writer::stands_beside(k_proj, v_proj));
    CHECK(event_writer::stands_beside(gate_proj, up_proj));
    CHECK_FALSE(event_writer::stands_beside(q_proj, v_proj));
    CHECK_FALSE(event_writer::stands_beside(v_proj, k_proj));
    CHECK_FALSE(event_writer::stands_beside(k_proj, o_proj));
    CHECK_FALSE(event_writer::stands_beside(o_proj, v_proj));
    CHECK_FALSE(event_writer::stands_beside(gate_proj, down_proj));
    CHECK_FALSE(event_writer::stands_beside(norm, up_proj));
}

TEST_CASE("of the states the master weights are a part as large as each moment, and gradients are shared from ZeRO 2") {
    const job j = small(runtimes::megatron);
    const written w{j, {}};
    training_state kept;
    kept.optimizer.states = bytes(1200);
    CHECK(w.writer.master_of(kept) == bytes(400));
    job wide = j;
    wide.weights = fp32;
    CHECK(written{wide, {}}.writer.master_of(kept) == byte_count{});
    const auto shares = [&](const layout& l) { return written{j, l}.writer.shares_gradients(); };
    CHECK_FALSE(shares({.data = 2, .zero = 1}));
    CHECK(shares({.data = 2, .zero = 2}));
    CHECK(shares({.data = 2, .zero = 3}));
    CHECK_FALSE(shares({.data = 1, .zero = 3}));
}

TEST_CASE("before a step there are weights, tables, workspaces, and kept gradients") {
    job j = small(runtimes::huggingface);
    const auto lasting = [](std::int64_t size) { return "lasting " + std::to_string(size); };
    const std::string weights = started(j, {});
    CHECK(weights.starts_with(lasting(table)));
    CHECK(weights.find(lasting(f) + " x3") != std::string::npos);
    CHECK(weights.find("temporary") == std::string::npos);
    j.runtime.loading.rope = rope_tables::own;
    j.model.max_context = tokens(32);
    CHECK(started(j, {}) == weights + "; " + lasting(2 * 2 * 32 * 16) + " x2");
    j.runtime.loading.rope = {};
    j.runtime.process.workspace = bytes(777);
    CHECK(started(j, {}) == weights + "; " + lasting(777));
    j.runtime.process = {};
    j.runtime.process.expert_workspace = bytes(555);
    j.runtime.kernels.experts = expert_code::grouped;
    CHECK(started(j, {}) == weights);  // there are no experts
    kind_of(j).feed_forward = {.experts = {.count = 4, .per_token = 2, .width = 40}};
    CHECK(started(j, {}).ends_with("; " + lasting(555)));
    // Megatron-Core keeps gradients in fp32 from the start.
    const std::int64_t all = 2 * table + norm + 2 * (2 * q + 2 * k + 3 * f + 2 * norm);
    CHECK(started(small(runtimes::megatron), {}).ends_with("; " + lasting(2 * all)));
}

TEST_CASE(
    "Megatron-Core's distributed optimizer loads weights beside the buffers of all of them, and widens its part") {
    const job j = small(runtimes::megatron);
    const std::int64_t all = 2 * table + norm + 2 * (2 * q + 2 * k + 3 * f + 2 * norm);
    const std::string text = started(j, {.data = 2, .zero = 1});
    const std::string buffers =
        "; lasting " + std::to_string(all) + "; lasting " + std::to_string(2 * all) + "; -temporary; temporary ";
    CHECK(text.starts_with("temporary " + std::to_string(table)));
    CHECK(text.find(buffers) != std::string::npos);
    // Of a rank's half of a matrix a copy in 16 bits, and one in 32.
    const std::string widened =
        "temporary " + std::to_string(f / 2) + "; lasting " + std::to_string(f) + "; -temporary";
    CHECK(text.find(widened) != std::string::npos);
    job wide = j;
    wide.weights = fp32;
    CHECK(started(wide, {.data = 2, .zero = 1}).ends_with("; -temporary"));
}

TEST_CASE("FSDP1 broadcasts a unit in buckets of 250 MiB, two at a time, joins it, and copies the rank's part") {
    job j = small(runtimes::huggingface);
    j.runtime.sharding.code = sharding_code::fsdp1;
    const layout two{.data = 2, .zero = 3};
    const std::int64_t of_layer = 2 * q + 2 * k + 3 * f + 2 * norm;
    const auto unit = [](std::int64_t size) {
        const std::string whole = std::to_string(size);
        return "even " + whole + "; -even; frames " + whole + "; -temporary; lasting " + std::to_string(size / 2) +
               "; -frames";
    };
    const std::string text = started(j, two);
    CHECK(text.find(unit(of_layer) + "; temporary") != std::string::npos);
    CHECK(text.ends_with(unit(2 * table + norm)));
    // Seven matrices of 127 MiB: two of them fill a bucket, and the last one is sent with the norms. Two buckets are
    // there at once.
    j.model.hidden = 1024;
    kind_of(j).attention = {.heads = 500, .kv_heads = 500, .head_dim = 130};
    kind_of(j).feed_forward.width = 65'000;
    const std::int64_t matrix = 2 * 1024 * std::int64_t{65'000}, norms = 2 * 2 * 1024;
    REQUIRE(matrix < 250 << 20);
    REQUIRE(2 * matrix > 250 << 20);
    const std::string full = std::to_string(2 * matrix);
    CHECK(started(j, two).find("even " + full + "; odd " + full + "; -even; even " + full + "; -odd; odd " +
                               std::to_string(matrix + norms) + "; -even; -odd; frames " +
                               std::to_string(7 * matrix + norms)) != std::string::npos);
}

TEST_CASE("biases are tensors of their own, also between matrices that Megatron-Core has in one") {
    job j = small(runtimes::megatron, 1);
    kind_of(j).attention.qkv_bias = true;
    const std::string text = stepped(j, {});
    const auto one = [](std::int64_t size) { return "1 x " + std::to_string(size); };
    CHECK(text.find(one(q + 2 * k)) != std::string::npos);
    CHECK(text.find(one(2 * 64)) != std::string::npos);        // of queries
    CHECK(text.find(one(2 * 32)) != text.rfind(one(2 * 32)));  // of keys, and of values
}

TEST_CASE("a bucket that is exactly 250 MiB is full, and what follows is sent alone") {
    job j = small(runtimes::huggingface, 1);
    j.runtime.sharding.code = sharding_code::fsdp1;
    j.model.hidden = 1024;
    // Matrices of 125 MiB: 1,024 x 64,000 in 16 bits.
    kind_of(j).attention = {.heads = 500, .kv_heads = 500, .head_dim = 128};
    kind_of(j).feed_forward.width = 64'000;
    const std::int64_t full = 250 << 20, matrix = full / 2, norms = 2 * 2 * 1024;
    REQUIRE(2 * 1024 * std::int64_t{64'000} == matrix);
    const std::string two = std::to_string(full);
    CHECK(started(j, {.data = 2, .zero = 3})
              .find("even " + two + "; odd " + two + "; -even; even " + two + "; -odd; odd " +
                    std::to_string(matrix + norms) + "; -even; -odd") != std::string::npos);
}
