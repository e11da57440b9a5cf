// SPDX-License-Identifier: MIT
// The tensors of a Llama layer's forward pass in the order that the modules' code makes and frees them, written down
// line by line: transformers 4.45, models/llama/modeling_llama.py; PEFT 0.13, tuners/lora/layer.py and bnb.py.
#include <llmres/memory/events/layer.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/inventory/activations.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <map>
#include <string>

using namespace llmres;
using namespace llmres::detail;

namespace {

// No two tensors of this layer have one size, but for keys and values.
constexpr std::int64_t n = 8, hidden = 64, q = 144, k = 48, inner = 160, rank = 3;
constexpr layer llama{.attention = {.heads = 6, .kv_heads = 2, .head_dim = 24}, .feed_forward = {.width = inner}};

job llama_job() {
    job j{.model = {.vocabulary = 100, .hidden = hidden, .layers = {1, llama}},
          .task = task::finetuning,
          .weights = bf16,
          .sequence = tokens(n)};
    j.attention = attention_kernel::flash;
    j.recompute = recompute::full;
    j.runtime = runtimes::huggingface_4_45;
    return j;
}

/// Writes events down: `h2` for a tensor of the hidden width in two bytes a feature, `-h2` where it is freed; `q1` is
/// half of `q2`, `Wq` q_proj's or o_proj's matrix in 16 bits; `out:` and `saved:` stand before what goes there.
struct notes final : event_visitor {
    mutable std::string text;
    mutable std::map<std::int64_t, std::int64_t> groups;

    static std::string name(std::int64_t size) {
        const struct {
            const char* name;
            std::int64_t width;
        } widths[] = {{"h", hidden}, {"q", q}, {"k", k}, {"f", inner}, {"r", rank}};
        for (const auto& w : widths)
            for (const std::int64_t bytes_each : {2, 4, 1})
                if (size == bytes_each * n * w.width) return w.name + std::to_string(bytes_each);
        const struct {
            const char* name;
            std::int64_t outputs, inputs;
        } matrices[] = {{"Wq", q, hidden}, {"Wk", k, hidden}, {"Wf", inner, hidden}};
        for (const auto& w : matrices)
            if (size == 2 * w.outputs * w.inputs) return w.name;
        return std::to_string(size);
    }
    void allocate(std::int64_t group, byte_count size, tensor_stream) const override {
        const auto saved = static_cast<std::int64_t>(tensor_group::saved);
        text += group >= saved ? " saved:" : group == 0 ? " out:" : " ";
        text += name(size.in(bytes));
        groups[group] += size.in(bytes);
    }
    void release(std::int64_t group) const override {
        text += " -" + name(groups[group]);
        groups[group] = 0;
    }
};

/// What a pass over the layer that autograd does not record makes and frees.
std::string unrecorded_pass(const job& j) {
    const layout one{};
    const folded_job folded{j, one};
    const training_stage stage = training_stage_of(folded, placement_of(j, one, 0));
    const notes seen;
    const event_writer writer{folded, stage, seen};
    const layer& passed = j.model.layers.kinds[0];
    REQUIRE(forward_layer_events::describes(passed, folded.context));
    forward_layer_events pass{writer, passed, -1};
    for_each_layer_operation(passed, hidden, folded.context.code, pass);
    pass.end(0, bytes(2 * n * hidden));
    return seen.text;
}

/// What a pass that autograd records makes and frees.
notes recorded_pass(const job& j) {
    const layout one{};
    const folded_job folded{j, one};
    const training_stage stage = training_stage_of(folded, placement_of(j, one, 0));
    notes seen;
    const event_writer writer{folded, stage, seen};
    const layer& passed = j.model.layers.kinds[0];
    forward_layer_events pass{writer, passed, static_cast<std::int64_t>(tensor_group::saved)};
    for_each_training_activation(
        passed, hidden, folded.context, [&](const activation& a) { pass.save(a); }, [](const activation&) {},
        [&](const layer_operation& o, bool) { pass(o); });
    pass.end(0, bytes(2 * n * hidden));
    return seen;
}

const std::string norm =  // to(fp32), pow(2), times its rsqrt, back to 16 bits, times the weight
    " h4 h4 -h4 h4 -h4 h2 h2 -h2 -h4";
// q * cos, -q[half:], cat, * sin, the sum
const std::string rotate_query = " q2 q1 q2 -q1 q2 -q2 q2 -q2 -q2";
const std::string rotate_key = " k2 k1 k2 -k1 k2 -k2 k2 -k2 -k2";

}  // namespace

TEST_CASE("a Llama layer: each norm's steps, heads and their rotations, the gate, what it multiplies, and no more") {
    const std::string heads = " q2 k2 k2" + rotate_query + rotate_key + " -q2 -k2";  // those before the rotation
    const std::string attention = " q2 h2 -q2 -k2 -k2 -q2 -h2";                   // then o_proj; the norm's output last
    CHECK(unrecorded_pass(llama_job()) == norm + heads + attention + " h2 -h2" +  // the residual sum
                                              norm +
                                              " f2 f2 -f2 f2"           // gate, activated, up
                                              " f2 -f2 -f2 h2 -f2 -h2"  // their product, down
                                              " out:h2 -h2 -h2");
}

TEST_CASE("kernels that fuse norms and gates make their outputs alone, and rotate in place") {
    job j = llama_job();
    j.runtime.kernels.norm = norm_code::fused;
    j.runtime.kernels.gate = gate_code::fused;
    CHECK(unrecorded_pass(j) ==
          " h2 q2 k2 k2 q2 h2 -q2 -k2 -k2 -q2 -h2 h2 -h2"
          " h2 f2 f2 f2 -f2 -f2 h2 -f2 -h2 out:h2 -h2 -h2");
}

TEST_CASE("a feed-forward without a gate: up, the same activated, down") {
    job j = llama_job();
    j.model.layers.kinds[0].norm = norm_kind::layer;  // one kernel
    j.model.layers.kinds[0].feed_forward.kind = feed_forward_kind::plain;
    const std::string heads = " q2 k2 k2" + rotate_query + rotate_key + " -q2 -k2";
    CHECK(unrecorded_pass(j) ==
          " h2" + heads + " q2 h2 -q2 -k2 -k2 -q2 -h2 h2 -h2 h2 f2 f2 -f2 h2 -f2 -h2 out:h2 -h2 -h2");
}

TEST_CASE("LoRA: result + lora_B(lora_A(dropout(x))) * scaling, in the model's format or in fp32") {
    job j = llama_job();
    j.runtime.kernels.norm = norm_code::fused;
    j.runtime.kernels.gate = gate_code::fused;
    j.runtime.kernels.fp32_adapters = false;
    const auto with_query = [&](const std::string& query) {
        return " h2" + query + " k2 k2 q2 h2 -q2 -k2 -k2 -q2 -h2 h2 -h2 h2 f2 f2 f2 -f2 -f2 h2 -f2 -h2 out:h2 -h2 -h2";
    };
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {weight_role::q_proj}};
    CHECK(unrecorded_pass(j) == with_query(" q2 r2 q2 -r2 q2 -q2 q2 -q2 -q2"));
    j.adapter.dropout = 0.1;
    CHECK(unrecorded_pass(j) == with_query(" q2 h2 h1 -h1 r2 -h2 q2 -r2 q2 -q2 q2 -q2 -q2"));
    // x.to(float32), all in fp32, and the sum back to 16 bits.
    j.runtime.kernels.fp32_adapters = true;
    j.adapter.dropout = 0;
    CHECK(unrecorded_pass(j) == with_query(" q2 h4 r4 q4 -r4 q4 -q4 q4 -q4 -q2 -h4 q2 -q4"));
    j.adapter.dropout = 0.1;
    CHECK(unrecorded_pass(j) == with_query(" q2 h4 h4 h1 -h1 r4 -h4 q4 -r4 q4 -q4 q4 -q4 -q2 -h4 q2 -q4"));
}

TEST_CASE("4-bit weights are expanded for each product, and an fp32 stream is cast for them and back") {
    job j = llama_job();
    j.weights = nf4;
    j.runtime.kernels.fp32_stream = true;
    j.autocast = true;
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {weight_role::q_proj}};
    const std::string norm_fp32 = " h4 -h4 h4 h4 -h4";
    const std::string query = " h2 q2 Wq -Wq q4 -q2 -h2";
    const std::string adapted = " q4 -q4 h2 r2 -h2 q2 -r2 q2 -q2 q4 -q2 -q4";  // result.clone(), x cast by autocast
    const std::string key = " h2 k2 Wk -Wk k4 -k2 -h2";
    const std::string rotations = " q4 q2 q4 -q2 q4 -q4 q4 -q4 -q4 k4 k2 k4 -k2 k4 -k4 k4 -k4 -k4 -q4 -k4";
    const std::string narrow = " q2 -q4 k2 -k4 k2 -k4 q2";  // what the kernel reads, and its output
    const std::string out = " h2 Wq -Wq h4 -h2 -q2 -k2 -k2 -q2 -h4 h4 -h4";
    const std::string gate = " h2 f2 Wf -Wf f4 -f2 -h2";
    const std::string down = " f2 h2 Wf -Wf h4 -h2 -f2 -f4 -h4";
    CHECK(unrecorded_pass(j) == norm_fp32 + query + adapted + key + key + rotations + narrow + out + norm_fp32 + gate +
                                    " f4 -f4" + gate + " f4 -f4 -f4" + down + " out:h2 -h4 -h4");
}

TEST_CASE("a recorded pass saves what the inventory lists, frees all else, and leaves the layer's output") {
    for (const bool fused : {false, true})
        for (const bool adapted : {false, true}) {
            CAPTURE(fused);
            CAPTURE(adapted);
            job j = llama_job();
            j.recompute = recompute::none;
            if (fused) j.runtime.kernels.norm = norm_code::fused, j.runtime.kernels.gate = gate_code::fused;
            if (adapted) j.adapter = {.kind = adapter_kind::lora, .rank = rank, .dropout = 0.1};
            std::map<std::int64_t, std::int64_t> listed;
            const training_context context{j, {}};
            for_each_saved_activation(llama, hidden, context, [&](const activation& a) {
                listed[static_cast<std::int64_t>(tensor_group::saved) + static_cast<std::int64_t>(a.until)] +=
                    local_bytes(a, {}).in(bytes);
            });
            for (const auto& [group, size] : recorded_pass(j).groups)
                CHECK(size == (group == 0 ? 2 * n * hidden : listed[group]));
        }
}

TEST_CASE("of a recorded Llama layer's tensors those are saved that a gradient reads, each as it is made") {
    job j = llama_job();
    j.recompute = recompute::none;
    // The fp32 copy, what the weight multiplies, and one fp32 a token.
    const std::string first = " saved:h4 h4 -h4 h4 h2 saved:h2 -h2 -h4 saved:32";
    // Queries, keys and values share their input; rotated heads, and one fp32 a token and head.
    const std::string heads =
        " q2 k2 k2 saved:h2 q2 q1 q2 -q1 q2 -q2 saved:q2 -q2 -q2 k2 k1 k2 -k1 k2 -k2 saved:k2 -k2 -k2";
    const std::string attended = " -q2 -k2 saved:q2 -k2 saved:k2 saved:192";
    // The attended heads are o_proj's input; the second norm, whose input the residual sum is.
    const std::string between = " h2 h2 -h2 -h2 saved:h2 saved:h4 h4 -h4 h4 h2 h2 -h2 -h4 saved:32 -h2 saved:h2";
    // The gate, the same activated, up, and their product, which down_proj reads.
    const std::string after = " f2 f2 -f2 f2 -f2 saved:f2 -f2 saved:f2 saved:f2 h2 saved:f2 out:h2 -h2";
    CHECK(recorded_pass(j).text == first + heads + attended + between + after);
}

TEST_CASE("each linear layer that is adapted makes its own adapter's tensors, and none of the others'") {
    job j = llama_job();
    j.runtime.kernels.norm = norm_code::fused;
    j.runtime.kernels.gate = gate_code::fused;
    j.runtime.kernels.fp32_adapters = false;
    // lora_A's output of `rank` features, lora_B's as wide as the layer's, the same scaled, and the sum of both.
    const auto adapted = [](const std::string& out) {
        return " " + out + " r2 " + out + " -r2 " + out + " -" + out + " " + out + " -" + out + " -" + out;
    };
    using enum weight_role;
    for (const weight_role role : {q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj}) {
        CAPTURE(static_cast<int>(role));
        j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {role}};
        const auto out = [&](weight_role of, const std::string& width) {
            return of == role ? adapted(width) : " " + width;
        };
        CHECK(unrecorded_pass(j) == " h2" + out(q_proj, "q2") + out(k_proj, "k2") + out(v_proj, "k2") + " q2" +
                                        out(o_proj, "h2") + " -q2 -k2 -k2 -q2 -h2 h2 -h2 h2" + out(gate_proj, "f2") +
                                        out(up_proj, "f2") + " f2 -f2 -f2" + out(down_proj, "h2") +
                                        " -f2 -h2 out:h2 -h2 -h2");
    }
    // Without a gate, too.
    j.model.layers.kinds[0].feed_forward.kind = feed_forward_kind::plain;
    for (const weight_role role : {up_proj, down_proj}) {
        j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {role}};
        const auto out = [&](weight_role of, const std::string& width) {
            return of == role ? adapted(width) : " " + width;
        };
        CHECK(unrecorded_pass(j) == " h2 q2 k2 k2 q2 h2 -q2 -k2 -k2 -q2 -h2 h2 -h2 h2" + out(up_proj, "f2") +
                                        " f2 -f2" + out(down_proj, "h2") + " -f2 -h2 out:h2 -h2 -h2");
    }
}

TEST_CASE("under autocast an adapter's input is cast to its own format, and then to that of products") {
    job j = llama_job();
    j.runtime.kernels.norm = norm_code::fused;
    j.runtime.kernels.gate = gate_code::fused;
    j.autocast = true;
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {weight_role::q_proj}};
    // x.to(lora_A.weight.dtype); F.linear casts it; lora_B's output, the same scaled, and the sum, all in 16 bits.
    CHECK(unrecorded_pass(j) ==
          " h2 q2 h4 h2 r2 -h2 q2 -r2 q2 -q2 q2 -q2 -q2 -h4 k2 k2 q2 h2 -q2 -k2 -k2 -q2 -h2 h2 -h2"
          " h2 f2 f2 f2 -f2 -f2 h2 -f2 -h2 out:h2 -h2 -h2");
}

TEST_CASE("of a recorded layer that is frozen but for v_proj's LoRA no other product saves its input") {
    job j = llama_job();
    j.recompute = recompute::none;
    j.runtime.kernels.fp32_adapters = false;
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {weight_role::v_proj}};
    // The norm's weight is not trained: what it multiplies is freed. lora_A reads what the norm puts out.
    const std::string first = " saved:h4 h4 -h4 h4 h2 h2 -h2 -h4 saved:32 -h2 saved:h2";
    const std::string value = " k2 saved:r2 k2 k2 -k2 k2 -k2 -k2";
    const std::string rotated =
        " q2 q1 q2 -q1 q2 -q2 saved:q2 -q2 -q2 k2 k1 k2 -k1 k2 -k2 saved:k2 -k2 -k2 -q2 -k2 saved:q2 -k2 saved:k2";
    const std::string between = " saved:192 h2 h2 -h2 saved:h4 h4 -h4 h4 h2 h2 -h2 -h4 saved:32";
    const std::string after = " f2 f2 -f2 f2 -f2 saved:f2 -f2 saved:f2 saved:f2 h2 -h2 out:h2 -h2 -h2";
    CHECK(recorded_pass(j).text == first + " q2 k2" + value + rotated + between + after);
}

TEST_CASE("a plain feed-forward's 4-bit matrices are expanded as wide as the stream and the inner width") {
    job j = llama_job();
    j.runtime.kernels.norm = norm_code::fused;
    j.model.layers.kinds[0].feed_forward.kind = feed_forward_kind::plain;
    j.weights = nf4;
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {weight_role::k_proj}};
    const std::string up = " h2 f2 Wf -Wf f4 -f2 -h2", down = " f2 h2 Wf -Wf h4 -h2 -f2";
    CHECK(unrecorded_pass(j).ends_with(up + " f4 -f4" + down + " -f4 -h4 out:h2 -h4 -h4"));
}
