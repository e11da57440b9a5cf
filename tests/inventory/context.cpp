// SPDX-License-Identifier: MIT
// What decides how a layer is trained: the job (inventory/context.hpp), the architecture (models/families.hpp),
// the engine (runtimes/kernels.hpp).
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/saved.hpp>

#include <doctest/doctest.h>

#include <llmres/hardware/gpus/amd.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/llama.hpp>
#include <map>
#include <set>
#include <string>

#include "../csv.hpp"
#include "../training_jobs.hpp"

using namespace llmres::detail;

using namespace training_jobs;

namespace {

/// What linear layers save that read one tensor of 100 tokens and 64 features.
template <std::size_t N>
byte_count kept_inputs(const job& j, const std::array<weight_role, N>& roles, bool casts, bool joined = false) {
    const training_context context{j, {}};
    byte_count kept;
    const auto count = [&](const activation& a) { kept += local_bytes(a, {}); };
    detail::layer_operation o{.code = detail::operation_code::products,
                              .reads = {detail::whole_operand(detail::operand_name::normed, 64)}};
    for (std::size_t i = 0; i < N; ++i) {
        o.weights[i] = roles[i];
        o.writes[i] = detail::split_operand(detail::operand_name::query, 64);
    }
    const auto counted = visiting<activation>(count);
    detail::layer_writer{context, counted}.products(o,
                                                    {.elements = 100 * 64, .n = 100, .casts = casts, .joined = joined});
    return kept;
}

}  // namespace

TEST_CASE("a step's tokens: context-parallel ranks have their part of each sequence, and attend to all of it") {
    job j = full();
    j.micro_batch = 3;
    const training_context whole{j, {}};
    CHECK(whole.tokens.all() == 3 * 4096);
    const training_context part{j, layout{.context_parallel = 8}};
    CHECK(part.tokens.all() == 3 * 512);
    CHECK(part.tokens.keys == 4096);
    j.adapter = {.kind = adapter_kind::prompt, .rank = 20};
    CHECK(training_context{j, {}}.tokens.all() == 3 * 4116);
    training_context other = part;
    other.tokens = token_shape{3, 50, 70};
    CHECK(other.tokens.all() == 150);
}

TEST_CASE("autocast is for wider weights, unless the job says so, and computes layer norms in fp32 but no RMS norm") {
    // torch's list of what autocasts to float32 (docs, amp, CUDA ops): layer_norm is on it.
    job j = full();
    CHECK_FALSE(autocasts(j));
    j.weights = fp32;
    CHECK(autocasts(j));
    const training_context context{j, {}};
    CHECK(context.formats.stream == fp32);  // of the embedding, which is not cast
    CHECK(context.formats.compute == bf16);
    j.weights = bf16;
    j.autocast = true;
    const training_context narrow{j, {}};
    CHECK(narrow.formats.stream == bf16);
    CHECK(narrow.normed(norm_kind::layer) == fp32);
    CHECK(narrow.normed(norm_kind::rms) == bf16);
    CHECK(narrow.widens_stream(norm_kind::layer));
    CHECK_FALSE(narrow.widens_stream(norm_kind::rms));
    j.weights = j.compute = fp32;
    j.autocast = {};
    CHECK_FALSE(autocasts(j));
    j.weights = fp32;
    j.compute = bf16;
    j.runtime.kernels.casts_weights = false;
    CHECK_FALSE(autocasts(j));
}

TEST_CASE(
    "quantised weights: bitsandbytes multiplies by four bits, GPTQ's kernels unpack inside, fp8 recipes keep 8-bit "
    "inputs") {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.weights = nf4;
    CHECK(training_context{j, {}}.quantised.four_bit);
    CHECK(training_context{j, {}}.quantised.expanded);
    j.weights = gptq(4, 128);
    CHECK_FALSE(training_context{j, {}}.quantised.four_bit);
    CHECK_FALSE(training_context{j, {}}.quantised.expanded);
    j = full();
    CHECK(training_context{j, {}}.formats.inputs == bf16);
    j.runtime.kernels.fp8.recipe = fp8_recipe::delayed;
    CHECK(training_context{j, {}}.formats.inputs == fp8_e4m3);
    j.runtime.kernels.fp8.recipe = fp8_recipe::microscaled;
    CHECK(training_context{j, {}}.formats.inputs == mxfp8);
}

TEST_CASE("linear layers that read one tensor keep it once, or once for each that casts it") {
    constexpr std::array heads{weight_role::q_proj, weight_role::k_proj, weight_role::v_proj};
    const byte_count one = bytes(2) * (100 * 64);
    CHECK(kept_inputs(full(), heads, false) == one);
    CHECK(kept_inputs(full(), heads, true) == one * 3);
    CHECK(kept_inputs(full(), heads, true, true) == one);  // one product
    job j = full();
    // Frozen: nothing but what adapters read: an fp32 copy each (peft), and what their first matrix puts out.
    j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::q_proj, weight_role::v_proj}};
    CHECK(kept_inputs(j, heads, false) == (one * 2 + bytes(4) * (100 * 8)) * 2);
    CHECK(kept_inputs(j, std::array{weight_role::up_proj}, false) == byte_count{});
    j.runtime.kernels.fp32_adapters = false;
    CHECK(kept_inputs(j, heads, false) == one + bytes(2) * (100 * 8) * 2);  // both read it as it is
    j.adapter.dropout = 0.1;  // each drops out its own, under a mask of bytes
    CHECK(kept_inputs(j, heads, false) == (one + bytes(100 * 64) + bytes(2) * (100 * 8)) * 2);
}

TEST_CASE("PyTorch puts cuDNN's attention first from compute capability 9.0 on") {
    CHECK(sdpa_backend_of(gpus::h100_sxm5_80gb) == sdpa_backend::cudnn);
    CHECK(sdpa_backend_of(gpus::b200_sxm_180gb) == sdpa_backend::cudnn);
    CHECK(sdpa_backend_of(gpus::a100_sxm4_80gb) == sdpa_backend::flash);
    CHECK(sdpa_backend_of(gpus::rtx_4090) == sdpa_backend::flash);
    CHECK(sdpa_backend_of(gpus::mi300x_192gb) == sdpa_backend::flash);
}

TEST_CASE("modules are written as those of transformers were seen to be, family by family") {
    std::map<std::string, std::set<std::string>> outside, inside;  // what saved a tensor
    for (const csv::row& r : csv::read(LLMRES_SOURCE_DIR "/tests/validation/data/pytorch_saved.csv")) {
        const std::string& run = r.at("run_id");
        if (run.find("-full-") == std::string::npos || run.find("-rc-") != std::string::npos ||
            run.find("liger") != std::string::npos)
            continue;
        std::set<std::string>& seen = (r.at("layer").empty() ? outside : inside)[run.substr(0, run.find('-'))];
        for (const char* column : {"module", "module_class", "operators"}) seen.insert(r.at(column));
    }
    CHECK(inside.size() >= 19);
    for (const auto& [family, seen] : inside) {
        INFO(family);
        model m{};
        m.architecture = family == "gemma3" ? "gemma3_text" : family.c_str();
        if (!is_described(m)) continue;  // planned as Llama's, within wide bounds
        const modeling& code = modeling_of(m);
        const auto has = [&](std::string_view word) {
            for (const std::string& name : seen)
                if (name.find(word) != std::string::npos) return true;
            return false;
        };
        CHECK(code.attention.joined_heads == (has("qkv_proj") || has("c_attn") || has("query_key_value")));
        CHECK(code.feed_forward.joined == has("gate_up_proj"));
        CHECK(code.loss.caps_logits == outside[family].contains("Tanh"));
        CHECK(code.dropout.embedding == outside[family].contains("NativeDropout"));
        CHECK((code.feed_forward.activation == activation_form::composed ||
               code.feed_forward.plain_activation == activation_form::composed) == has("NewGELUActivation"));
    }
}

TEST_CASE("torch.compile fuses norms and gates, and the loss where the engine compiles it") {
    llmres::runtime e;
    CHECK_FALSE((e.kernels.fuses_norms() || e.kernels.fuses_gates() || e.kernels.fuses_loss()));
    e.kernels.compilation.layers = true;
    CHECK((e.kernels.fuses_norms() && e.kernels.fuses_gates()));
    CHECK_FALSE(e.kernels.fuses_loss());
    e.kernels.compilation.loss_with_layers = loss_compiling::chunked;
    CHECK_FALSE(e.kernels.fuses_loss());
    e.kernels.loss.code = loss_code::chunked;
    CHECK(e.kernels.fuses_loss());
    e.kernels.compilation.layers = false;
    CHECK_FALSE(e.kernels.fuses_loss());
    e.kernels.compilation.loss = true;
    CHECK(e.kernels.fuses_loss());
}

TEST_CASE("linear layers save 8-bit inputs under an FP8 recipe: in blocks with scales, or one scale for all") {
    job j = full();
    const auto inputs = [&](fp8_recipe recipe) {
        j.runtime.kernels.fp8.recipe = recipe;
        return training_context{j, {}}.formats.inputs;
    };
    CHECK(inputs(fp8_recipe::none) == bf16);
    CHECK(inputs(fp8_recipe::delayed) == fp8_e4m3);
    CHECK(inputs(fp8_recipe::tensorwise) == fp8_e4m3);
    CHECK(inputs(fp8_recipe::blockwise) == mxfp8);
    CHECK(inputs(fp8_recipe::microscaled) == mxfp8);
    CHECK(training_context{j, {}}.narrows());
    j.compute = fp8_e4m3;  // the recipe, and not torchao's scaled weights
    CHECK_FALSE(training_context{j, {}}.quantised.scaled);
    j.runtime.kernels.fp8.recipe = fp8_recipe::none;
    j.runtime.kernels.compilation.layers = false;
    CHECK(training_context{j, {}}.quantised.scaled);
}

TEST_CASE("an adapter leaves experts out that are stacked in bare parameters, where its targets have them") {
    job j = full();
    j.model.layers.kinds[0].feed_forward = {.experts = {.count = 4, .per_token = 2, .width = 64}};
    j.runtime.kernels.experts = expert_code::grouped;
    CHECK_FALSE(leaves_out_experts(j));  // there is no adapter
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(leaves_out_experts(j));
    CHECK_FALSE(*adapter_of(j).experts);
    for (const weight_role one : {weight_role::gate_proj, weight_role::up_proj, weight_role::down_proj}) {
        j.adapter.targets = {one};
        CHECK(leaves_out_experts(j));
    }
    j.adapter.targets = {weight_role::q_proj};
    CHECK_FALSE(leaves_out_experts(j));
    j.adapter.targets = all_linears;
    j.adapter.experts = true;
    CHECK_FALSE(leaves_out_experts(j));
    CHECK(*adapter_of(j).experts);
    j.adapter.experts = {};
    j.runtime.kernels.experts = expert_code::modules;
    CHECK_FALSE(leaves_out_experts(j));
    j.runtime.kernels.experts = expert_code::grouped;
    j.model = models::llama_3_1_8b;
    CHECK_FALSE(leaves_out_experts(j));
}

TEST_CASE("a layer norm behind the embedding makes the stream fp32 under autocast, unless an encoder stands between") {
    job j = full();
    j.autocast = true;
    const auto wide = [&] { return training_context{j, {}}.formats.fp32_stream; };
    CHECK_FALSE(wide());
    j.model.extras[0] = {.role = weight_role::positions, .columns = 4096, .copies = 2};
    j.model.extras[1] = {.role = weight_role::norm, .columns = 4096, .copies = 2};  // a weight and a bias
    j.model.extra_count = 1;
    CHECK_FALSE(wide());
    j.model.extra_count = 2;
    CHECK(wide());
    j.model.extras[1].copies = 1;  // an RMS norm
    CHECK_FALSE(wide());
    j.model.extras[1].copies = 2;
    j.model.extras[1].part = model_part::output;
    CHECK_FALSE(wide());
    j.model.extras[1].part = model_part::input;
    j.model.encoders[0].layers = 1;
    CHECK_FALSE(wide());
    j.model.encoders[0].layers = 0;
    j.model.architecture = "bert";  // its norms stand behind sums
    CHECK_FALSE(wide());
    j.model.architecture = {};
    j.autocast = false;
    CHECK_FALSE(wide());
}

TEST_CASE("PEFT widens embedding, norms and head beside frozen weights of bitsandbytes, of 4 bits and of 8") {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.runtime.kernels.fp32_stream = true;
    for (const precision& packed : {nf4, nf4_double, bnb_int8}) {
        j.weights = packed;
        CHECK(training_context{j, {}}.formats.fp32_stream);
        j.runtime.kernels.fp32_stream = false;
        CHECK_FALSE(training_context{j, {}}.formats.fp32_stream);
        j.runtime.kernels.fp32_stream = true;
    }
    j.weights = bf16;
    CHECK_FALSE(training_context{j, {}}.formats.fp32_stream);
}

TEST_CASE("what layers hand on is the stream, a norm's output where it stands behind the sum, or fp32") {
    job j = full();
    const auto handed = [&](norm_kind kind) { return training_context{j, {}}.residual(kind); };
    CHECK(handed(norm_kind::layer) == bf16);
    j.autocast = true;
    CHECK(handed(norm_kind::layer) == bf16);
    j.model.architecture = "bert";
    CHECK(handed(norm_kind::layer) == fp32);  // autocast computes it so
    j.autocast = false;
    CHECK(handed(norm_kind::layer) == bf16);
    j.model.architecture = "mamba2";
    CHECK(handed(norm_kind::rms) == fp32);
    // Ranks of a vocabulary share its scores.
    CHECK(training_context{j, layout{.tensor = 2}}.splits_vocabulary);
    CHECK_FALSE(training_context{j, {}}.splits_vocabulary);
}
