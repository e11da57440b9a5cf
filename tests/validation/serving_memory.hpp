// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <llmres/budget.hpp>
#include <llmres/capacity.hpp>
#include <llmres/gguf_mix.hpp>
#include <llmres/gpus.hpp>
#include <llmres/links.hpp>
#include <llmres/models.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../csv.hpp"

/// Rows of measured serving memory (data/serve/memory.csv), as jobs, layouts and clusters; and what the library says of them.
/// One small mapping an engine; no row is treated for itself.
namespace serving {

using namespace llmres;

// ---- words of the table -------------------------------------------------------------------------------------------------

inline std::string lower(std::string s) {
    std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return s;
}
inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
/// The number a cell begins with; none for words and empty cells.
inline std::optional<double> number(const std::string& cell) {
    char* end = nullptr;
    const double value = std::strtod(cell.c_str(), &end);
    if (end == cell.c_str()) return {};
    return value;
}
inline std::optional<std::int64_t> whole(const std::string& cell) {
    const auto n = number(cell);
    if (!n) return {};
    return static_cast<std::int64_t>(std::llround(*n));
}
/// The number behind a word: "n_ubatch 512".
inline std::optional<std::int64_t> after(const std::string& text, const std::string& word) {
    const auto at = text.find(word);
    if (at == std::string::npos) return {};
    return whole(text.substr(at + word.size()));
}

// ---- models ---------------------------------------------------------------------------------------------------------------

struct shape {
    std::int32_t layers;
    std::int64_t hidden, heads, kv_heads, head_dim, width, vocabulary;
    bool tied = false, bias = false, plain = false;
};
inline model of_shape(const char* name, const shape& s) {
    model m;
    m.name = name;
    m.vocabulary = s.vocabulary;
    m.hidden = s.hidden;
    m.tied_head = s.tied;
    layer l;
    l.attention = {.heads = s.heads, .kv_heads = s.kv_heads, .head_dim = s.head_dim, .qkv_bias = s.bias};
    l.feed_forward = {.kind = s.plain ? feed_forward_kind::plain : feed_forward_kind::gated, .width = s.width};
    m.layers = layer_stack(s.layers, l);
    return m;
}

/// Shapes of models that are no preset, from their config.json.
inline std::optional<model> shaped(const std::string& n) {
    const auto is = [&](const char* part) { return has(n, part); };
    if (is("granite") && is("8b")) return of_shape("granite-3.3-8b", {40, 4096, 32, 8, 128, 12800, 49159, true});
    if (is("qwen-1.8b")) return of_shape("qwen-1.8b", {24, 2048, 16, 16, 128, 5504, 151936, false, true});
    if (is("qwen-7b")) return of_shape("qwen-7b", {32, 4096, 32, 32, 128, 11008, 151936, false, true});
    if (is("qwen-14b")) return of_shape("qwen-14b", {40, 5120, 40, 40, 128, 13696, 152064, false, true});
    if (is("qwen-72b")) return of_shape("qwen-72b", {80, 8192, 64, 64, 128, 24576, 152064, false, true});
    if (is("qwen1.5-72b")) return of_shape("qwen1.5-72b", {80, 8192, 64, 64, 128, 24576, 152064, false, true});
    if (is("mpt-7b")) return of_shape("mpt-7b", {32, 4096, 32, 32, 128, 16384, 50432, true, false, true});
    if (is("mpt-30b")) return of_shape("mpt-30b", {48, 7168, 64, 64, 112, 28672, 50432, true, false, true});
    if (is("falcon-7b")) return of_shape("falcon-7b", {32, 4544, 71, 1, 64, 18176, 65024, true, false, true});
    if (is("falcon-40b")) return of_shape("falcon-40b", {60, 8192, 128, 8, 64, 32768, 65024, true, false, true});
    if (is("deepseek-coder-33b")) return of_shape("deepseek-coder-33b", {62, 7168, 56, 8, 128, 19200, 32256});
    if (is("chatglm2-6b") || is("chatglm3-6b")) return of_shape("chatglm2-6b", {28, 4096, 32, 2, 128, 13696, 65024, false, true});
    if (is("glm-4-9b-chat-1m")) return of_shape("glm-4-9b-1m", {40, 4096, 32, 4, 128, 13696, 151552, false, true});
    if (is("glm-4-9b")) return of_shape("glm-4-9b", {40, 4096, 32, 2, 128, 13696, 151552, false, true});
    if (is("glm-4-32b") || is("glm z1 32b")) return of_shape("glm-4-32b", {61, 6144, 48, 2, 128, 23040, 151552});
    if (is("glm-4v-9b")) {
        model m = of_shape("glm-4v-9b", {40, 4096, 32, 2, 128, 13696, 151552, false, true});
        encoder eva{.hidden = 1792, .layers = 63};  // EVA2-CLIP-E: 4.4 billion parameters
        eva.block.attention = {.heads = 16, .kv_heads = 16, .head_dim = 112, .qkv_bias = true};
        eva.block.feed_forward = {.kind = feed_forward_kind::plain, .width = 15360, .bias = true};
        m.encoders[0] = eva;
        return m;
    }
    if (is("baichuan2-7b")) return of_shape("baichuan2-7b", {32, 4096, 32, 32, 128, 11008, 125696});
    if (is("baichuan2-13b")) return of_shape("baichuan2-13b", {40, 5120, 40, 40, 128, 13696, 125696});
    if (is("openllama-3b")) return of_shape("openllama-3b", {26, 3200, 32, 32, 100, 8640, 32000});
    if (is("qwen2-57b")) {
        model m = of_shape("qwen2-57b-a14b", {28, 3584, 28, 4, 128, 0, 151936, false, true});
        layer l = m.layers[0];
        l.feed_forward.experts = {.count = 64, .per_token = 8, .width = 2560, .shared_width = 20480, .shared_gate = true};
        m.layers = layer_stack(28, l);
        return m;
    }
    if (is("gemma 3 27b") || is("gemma-3-27b")) {
        model m = of_shape("gemma-3-27b", {62, 5376, 32, 16, 128, 21504, 262144, true});
        layer l = m.layers[0];
        l.attention.window = tokens(1024);
        l.attention.qk_norm = query_key_norm::shared;
        l.norm_after_attention = l.norm_after_feed_forward = true;
        m.layers = alternating(62, 6, l);
        return m;
    }
    if (is("gpt-oss-20b")) {
        model m = of_shape("gpt-oss-20b", {24, 2880, 64, 8, 64, 0, 201088, false, true});
        layer l = m.layers[0];
        l.attention.output_bias = l.attention.sinks = true;
        l.attention.window = tokens(128);
        l.feed_forward.bias = true;
        l.feed_forward.experts = {.count = 32, .per_token = 4, .width = 2880, .router_bias = true};
        m.layers = alternating(24, 2, l);
        return m;
    }
    if (is("kimi-k2")) {
        const auto v3 = find_model("deepseek-v3");
        if (!v3) return {};
        model m = *v3;
        layer_stack stack;
        for (int i = 0; i < m.layers.size; ++i) {
            layer l = m.layers[i];
            l.attention.heads = 64;
            if (i > 0 && !l.feed_forward.routed()) l = stack.size > 1 ? stack[1] : l;
            if (l.feed_forward.routed()) l.feed_forward.experts.count = 384;
            stack.append(1, l);
        }
        m.layers = stack;
        m.vocabulary = 163840;
        m.name = "kimi-k2";
        return m;
    }
    return {};
}

inline std::optional<model> model_of(const std::string& written) {
    std::string n = lower(written);
    if (const auto open = n.find(" ("); open != std::string::npos) n.resize(open);
    if (const auto open = n.find('('); open != std::string::npos) n.resize(open);
    if (auto m = shaped(n)) return m;
    std::replace(n.begin(), n.end(), ' ', '-');
    std::replace(n.begin(), n.end(), '_', '-');
    for (const char* head : {"meta-", "ibm-granite-", "unsloth-"})
        if (n.starts_with(head)) n.erase(0, std::string{head}.size());
    const std::pair<const char*, const char*> other_names[] = {
        {"deepseek-r1-distill", "r1-distill"}, {"deepseek-r1", "deepseek-r1"},         {"deepseek-v3", "deepseek-v3"},
        {"deepseek-llm-7b", "deepseek-llm-7b"}, {"llama-33b", "llama-30b"},            {"qwen3-235b-a22b", "qwen3-235b-a22b"},
        {"mistral-small-3.", "mistral-small-3.1-24b"}, {"mistral-small-3", "mistral-small-24b"}, {"mistral-7b-instruct-v0.1", "mistral-7b-v0.1"},
        {"mistral-7b-instruct", "mistral-7b-v0.3"}, {"mistral-7b", "mistral-7b-v0.1"}, 
        {"qwen3-reranker-0.6b", "qwen3-0.6b"}, {"qwen2-0.5b", "qwen2.5-0.5b"},         {"qwen2-1.5b", "qwen2.5-1.5b"},
        {"qwen2-72b", "qwen2.5-72b"},          {"mixtral-8x7b", "mixtral-8x7b"},       {"llama-3.1-8b", "llama-3.1-8b"}};
    std::string best;
    for (const auto& [from, to] : other_names)
        if (n.starts_with(from)) {
            best = to;
            if (std::string{from} == "deepseek-r1-distill") best = "r1-distill" + n.substr(std::string{from}.size());
            break;
        }
    if (best.empty()) best = n;
    while (!best.empty()) {  // drop "-instruct", "-chat", "-0528" from the end until a preset is met
        if (const auto m = find_model(best)) return *m;
        const auto dash = best.rfind('-');
        if (dash == std::string::npos) break;
        best.resize(dash);
    }
    return {};
}

// ---- formats --------------------------------------------------------------------------------------------------------------

struct weights_format {
    std::optional<precision> plain;
    std::optional<gguf_mix> mix;
};

/// "Q4_K - Medium" and "Q4_K_M.gguf" are "Q4_K_M".
inline std::optional<gguf_mix> mix_of(std::string n) {
    if (n.starts_with("GGUF ")) n.erase(0, 5);
    for (const auto& [word, letter] : {std::pair{" - Medium", "_M"}, std::pair{" - Small", "_S"}, std::pair{" - Large", "_L"}})
        if (const auto at = n.find(word); at != std::string::npos) n = n.substr(0, at) + letter;
    n = n.substr(0, n.find(' '));
    n = n.substr(0, n.find('.'));
    const auto found = find_gguf_mix("quant", n);
    if (!found) return {};
    return *found;
}

inline weights_format format_of(const std::string& quant, const std::string& engine, bool groups_swapped = false) {
    const std::string q = lower(quant);
    const auto is = [&](const char* part) { return has(q, part); };
    if ((has(engine, "llama") || has(engine, "ctransformers")) && !has(engine, "GPTQ") && !has(engine, "exllama")) {
        if (q == "int8") return {{}, mix_of("Q8_0")};
        if (q == "int4") return {{}, mix_of("Q4_K_M")};
        if (const auto mix = mix_of(quant)) return {{}, mix};
        // "GGUF IQ4_K_R4 - 4.5 bpw": recipes of people, whose matrices are mostly of that type.
        const auto named = find_precision("quant", q.substr(q.find(' ') + 1, q.find(" -") - q.find(' ') - 1));
        return {named ? std::optional<precision>{*named} : std::nullopt, {}};
    }
    const bool small_groups = (is("g32") || is("32g")) != groups_swapped;
    const std::int32_t group = is("no-group") ? whole_row : small_groups ? 32 : 128;
    if (is("gguf")) return {{}, mix_of(quant)};
    if (is("bf16") || is("fp16")) return {is("fp16") ? fp16 : bf16, {}};
    if (is("fp32")) return {fp32, {}};
    if (is("gptq") && is("int8")) return {gptq(8, 128), {}};
    if (is("gptq 3-bit")) return {gptq(3, group), {}};
    if (is("gptq")) return {gptq(is("8-bit") ? 8 : 4, group), {}};
    if (is("awq")) return {awq(4, 128), {}};
    if (is("exl2")) return {exl2(static_cast<std::int32_t>(1000 * number(q.substr(5)).value_or(4))), {}};
    if (is("mlx q")) {  // values, and a 16-bit scale and bias a group (mlx.core.quantize)
        const std::int32_t bits_each = static_cast<std::int32_t>(whole(q.substr(5)).value_or(4));
        const std::int32_t each = is("g32") ? 32 : 64;
        precision p{"mlx", arithmetic_kind::fp16, {{{1, each, each * bits_each / 8 + 4}}}};
        return {p, {}};
    }
    if (is("double_quant")) return {nf4_double, {}};
    if (is("nf4") || is("bnb 4") || (is("int4") && is("bnb"))) return {nf4, {}};
    if (is("fp4") && !is("mxfp4")) return {fp4, {}};
    if (is("mxfp4")) return {mxfp4, {}};
    if (is("fp8 block")) return {fp8_block, {}};
    if (is("fp8-dynamic")) return {fp8_channel, {}};
    if (is("fp8")) return {has(engine, "HF") ? fp8_block : fp8_tensor, {}};
    if (is("w8a8") || (is("int8") && !has(engine, "exllama"))) return {int8_channel, {}};
    if (is("int4") || is("int8")) {
        if (has(engine, "exllama")) return {exl2(is("int4") ? 4250 : 8000), {}};
    }
    if (is("int4")) return {awq(4, 128), {}};
    return {};
}

inline precision cache_format(const std::string& written, const precision& compute) {
    const std::string first = written.substr(0, written.find('/'));
    if (has(written, "fp8")  && !has(written, "fp16")) return fp8_e4m3;
    if (first == "q8_0") return q8_0;
    if (first == "q4_0") return q4_0;
    if (first == "iq4_nl") return iq4_nl;
    if (first.starts_with("int8 ")) return int8_row;
    if (first == "f16" || first == "fp16") return fp16;
    return compute;
}

// ---- engines --------------------------------------------------------------------------------------------------------------

/// The first "1.2.3" of a text; a "+" behind it means the development after it.
inline std::string version_in(const std::string& text) {
    for (std::size_t i = 0; i + 2 < text.size(); ++i) {
        if (!std::isdigit(static_cast<unsigned char>(text[i])) || (i > 0 && text[i - 1] == '.')) continue;
        std::size_t end = i;
        while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.')) ++end;
        if (text.find('.', i) < end) return text.substr(i, end - i);
        i = end;
    }
    return {};
}

/// What an engine's log or table counts.
enum class counted {
    allocated,  ///< torch's max_memory_allocated, or the engine's own sum of buffers
    reserved,   ///< what its allocator holds
    device,     ///< nvidia-smi
    resident,   ///< what stays between steps: weights and cache (the Qwen3 tables, to 0.5 % at 30 000 tokens)
};

struct engine {
    runtime profile = no_runtime;
    counted total = counted::device;
    bool known = true;
};

inline engine engine_of(const csv::row& row) {
    const std::string name = lower(row.at("engine"));
    const std::string version = row.at("engine_version");
    const auto is = [&](const char* part) { return has(name, part); };
    const auto named = [](const char* of, const std::string& v) {
        const auto found = find_runtime(of, v, "engine_version");
        const auto newest = find_runtime(of);
        return found ? *found : *newest;
    };
    if (is("vllm") && !is("fork")) {
        const std::string v = version_in(version);
        if (v.empty()) return {has(version, "2024") || version.empty() ? runtimes::vllm_v0_3 : runtimes::vllm};
        if (has(version, "post1+")) return {runtimes::vllm_v0_6};  // what became 0.6.5
        return {named("vllm", has(version, "V0") ? v + " V0" : v)};
    }
    if (is("sglang")) return {has(version, "2025") ? runtimes::sglang_0_5_2 : runtimes::sglang};
    if (is("tensorrt") || is("optimum nvidia"))
        return {has(version, "2025") || has(version, "2026") ? runtimes::tensorrt_llm : runtimes::tensorrt_llm_0};
    if (is("ctranslate")) return {runtimes::ctranslate2};
    if (is("lmdeploy")) return {runtimes::lmdeploy};
    if (is("exllamav2")) return {runtimes::exllamav2_2023};  // 0.0.6 and 0.0.19
    if (is("exllama")) return {runtimes::exllama_v1, has(row.at("source"), "README") ? counted::allocated : counted::device};  // test_benchmark_inference.py
    if ((is("llama") || is("ctransformers")) && !is("gptq")) {
        runtime r = runtimes::llama_cpp_2025;
        if (has(version, "build ")) r = named("llama.cpp", version.substr(version.find("build ") + 6));
        if (has(version, "2023") || is("ctransformers")) r = runtimes::llama_cpp_2023;
        if (has(version, "2024") && !is("ctransformers")) r = runtimes::llama_cpp_2024;
        if (is("ik_llama")) r = runtimes::ik_llama_cpp_3744;  // logs of spring and summer 2025, without build numbers
        if (has(row.at("notes"), "on CPU")) r.experts_on_host = true;
        if (has(row.at("notes"), "flash_attn=1")) r.flash_attention = true;
        if (has(row.at("notes"), "flash_attn=0")) r.flash_attention = false;
        return {r, has(row.at("source"), "premAI") || has(row.at("source"), "oobabooga") ? counted::device : counted::allocated};
    }
    const bool hugging = is("hf") || is("transformers") || is("awq") || is("gptq") || is("litgpt") || is("mlx") || is("lightning") ||
                         is("tinychat") || is("gpt-fast");
    if (hugging) {
        // A version that is not given is the one current when the table was made: its other entries tell.
        const bool early = has(version, "torch2.0") || has(row.at("source"), "DeepSeek-LLM") || has(row.at("source"), "Baichuan") ||
                           has(row.at("source"), "premAI") || has(row.at("source"), "AutoAWQ") || has(row.at("source"), "Qwen (v1)");
        const bool at_once = version.empty() ? !early : has(version, "4.4") ? to_version(version_in(version)) >= engine_version{4, 45} : has(version, "4.5");
        const bool last_only = at_once || is("litgpt") || is("mlx") || is("gpt-fast") || is("gptq");
        const std::string source = row.at("source");
        const bool peak = has(source, "speed benchmark") || has(source, "AutoAWQ README") || is("litgpt") || is("mlx") ||
                          has(source, "Qwen (v1)") || has(source, "GPTQ-for");
        const runtime newest = has(version, "4.46") ? runtimes::transformers_4_49 : runtimes::transformers;
        runtime r = last_only ? newest : early ? runtimes::transformers_4_35 : runtimes::transformers_4_41;
        if (is("autoawq") || is("tinychat")) r = named("autoawq", version_in(version));
        counted what = peak ? counted::allocated : counted::device;
        if (has(source, "Qwen3 docs")) what = counted::resident;
        if (has(source, "Qwen (v1)") || has(source, "DeepSeek-LLM")) what = counted::reserved;
        return {r, what};
    }
    return {no_runtime, counted::device, false};
}

// ---- a row ------------------------------------------------------------------------------------------------------------------

struct one_case {
    std::string id, label;
    job task{};
    llmres::layout spread{};
    llmres::cluster machines{};
    counted total = counted::device;
    bool with_gpu = true;       ///< the row says on which GPU
    bool whole_model = true;    ///< all weights are on GPUs, or as many layers as the job says
    bool weights_known = true;  ///< the format is one the library knows
    std::optional<job> before{};  ///< what the same process ran before, and torch's allocator still holds
    csv::row row{};
};

inline std::optional<gpu> gpu_of(const csv::row& row) {
    std::string n = row.at("gpu");
    for (const char* cut : {" + ", "/", " (", "?"})
        if (const auto at = n.find(cut); at != std::string::npos) n.resize(at);
    const auto try_name = [](const std::string& name) -> std::optional<gpu> {
        const auto found = find_gpu(name);
        if (!found) return {};
        return *found;
    };
    auto card = try_name(n);
    if (!card && lower(n).starts_with("a100 sxm")) card = try_name("a100-sxm4-80gb");
    if (!card && has(lower(n), "a100") && has(n, "40GB")) card = try_name("a100-pcie-40gb");
    if (!card)
        if (const auto space = n.rfind(' '); space != std::string::npos) card = try_name(n.substr(0, space));
    if (!card && n.starts_with("Jetson AGX Orin")) card = try_name("jetson-agx-orin-64gb");
    if (!card && n.starts_with("GB10")) card = try_name("gb10-dgx-spark");
    if (!card && has(n, "V100 32")) card = try_name("v100-sxm2-32gb");
    if (!card && (n.starts_with("M") || n.starts_with("Apple"))) {
        gpu apple{.id = "apple"};
        apple.vendor = gpu_vendor::apple;
        card = apple;
    }
    if (!card && n.starts_with("unstated")) return {};
    const auto total = number(row.at("gpu_total_gib"));
    if (!card && !total) return {};
    if (!card) card = gpu{.id = "other"};
    if (card->vendor == gpu_vendor::apple && total) card->memory.fitted = gib(static_cast<std::int64_t>(*total));
    // A log's own total, as CUDA sees it; round numbers are those on the box.
    if (total && *total != std::floor(*total)) card->memory.cuda_visible = scaled_down(gib(1), *total);
    if (card->id == "other" && total && *total == std::floor(*total)) card->memory.fitted = gib(static_cast<std::int64_t>(*total));
    return card;
}

/// A log names a file by the type that most of it is in, its own recipe's or not: one whose size, which the log gives as well, is
/// another's was made by another.
inline bool other_recipe(const csv::row& row, const model& m, const gguf_mix& mix) {
    const std::string& notes = row.at("notes");
    const auto at = notes.find("model file ");
    if (at == std::string::npos) return false;
    const double given = number(notes.substr(at + 11)).value_or(0) * 1073741824.0;
    return std::fabs(static_cast<double>(gguf_tensor_bytes(m, mix).in(bytes)) / given - 1.0) > 0.005;
}

inline std::optional<one_case> case_of(const csv::row& row) {
    const auto m = model_of(row.at("model"));
    const engine e = engine_of(row);
    if (!m || !e.known) return {};
    one_case c;
    c.id = row.at("id");
    c.row = row;
    c.total = e.total;
    c.label = std::string{e.profile.name.view()} + " " + std::string{e.profile.versions.view()};
    // premAI's vLLM loads the model as published, and names a precision only afterwards (bench_vllm/bench.py).
    const bool as_published = has(row.at("source"), "premAI") && row.at("engine") == "vllm" && row.at("quant") == "FP32";
    // ExLlama's README has 70B in groups of 32 smaller than in groups of 128, which cannot be.
    const bool swapped = has(row.at("notes"), "swapped upstream");
    const weights_format format = format_of(as_published ? "BF16" : row.at("quant"), row.at("engine"), swapped);
    const bool recipe = format.plain && has(row.at("engine"), "llama") && is_packed(*format.plain) && !format.mix && has(row.at("quant"), "GGUF");
    c.weights_known = (format.plain && !recipe) || format.mix;
    job& j = c.task;
    j.model = *m;
    j.runtime = e.profile;
    j.compute = format.plain && *format.plain == fp32 ? fp32 : format.plain && *format.plain == fp16 ? fp16 : bf16;
    j.weights = fp16;  // where the format is one that nobody knows, and weights are not compared
    if (format.plain) j.weights = *format.plain;
    if (format.mix) {
        gguf_mix mix = *format.mix;
        // Files in IQ types are made with an importance matrix: without one llama.cpp refuses the smaller of them.
        if (has(row.at("quant"), "IQ")) mix.importance_matrix = true;
        j.gguf = mix;
        if (other_recipe(row, *m, mix)) c.weights_known = false;
    }
    if (has(row.at("engine"), "litgpt")) j.model.tied_head = false;  // it loads the head beside the embedding
    if (has(lower(row.at("model")), "qwen2") && !has(lower(row.at("model")), "-vl") && has(row.at("model"), "Instruct")) j.model.max_context = tokens(32768);
    j.kv_cache = cache_format(row.at("kv_dtype"), j.compute);
    if (const auto slash = row.at("kv_dtype").find('/'); slash != std::string::npos && e.profile.fp32_activations)
        j.kv_cache_values = cache_format(row.at("kv_dtype").substr(slash + 1), j.compute);
    const std::string& notes = row.at("notes");
    const std::string& source = row.at("source");

    const std::int64_t context = whole(row.at("max_model_len")).value_or(whole(row.at("ctx_measured")).value_or(512));
    j.context = tokens(context);
    if (j.model.max_context > token_count{} && j.model.max_context < j.context) j.model.max_context = j.context;  // stretched
    const auto batch = whole(row.at("batch_or_max_num_seqs"));
    const auto batched = row.at("max_num_batched_tokens");
    runtime& r = j.runtime;
    const bool pooled = r.pool == cache_pool::share_of_total;
    if (pooled) {
        if (batch && *batch > 1) r.max_num_seqs = *batch;
        if (const auto block = after(notes, "block_size ")) r.kv_block = tokens(*block);
        if (const auto n = whole(batched); n && !(r.chunked_beyond > token_count{} && context <= 32768))
            set_batched_tokens(r, tokens(*n));
    } else {
        j.batch = batch.value_or(1);
    }
    if (pooled && has(notes, "video unbounded")) {  // a video of two frames beside the image
        j.max_batched_tokens = j.model.encoders[0].image_tokens * 2;
        r.encoder_tokens = j.model.encoders[0].image_patches * 2;
    }
    if (const auto share = number(row.at("gpu_mem_util"))) r.gpu_memory_utilization = *share;
    if (const auto n = after(batched, "n_ubatch ")) r.max_batched_tokens = tokens(*n);
    if (const auto n = after(notes, "amb="); n && *n > 0) r.latent_expanded = mib(*n);
    if (const auto n = after(notes, "mla_attn="); n && *n < 2) r.latent_expanded = {};
    if (const auto n = after(notes, "gpu_layers ")) r.gpu_layers = static_cast<std::int32_t>(*n);
    if (r.name == "transformers") {
        if (has(source, "speed benchmark")) {  // one prompt, 2048 tokens more
            j.output = tokens(2048);
            j.prompt = tokens(context > 2048 ? context - 2048 : 1);
            j.attention = attention_kernel::flash;
        } else if (has(notes, "enerat")) {
            j.prompt = tokens(1), j.output = tokens(context > 1 ? context - 1 : 0);
        }
        if (has(source, "DeepSeek-LLM")) j.attention = attention_kernel::eager;
    }
    if (r.name == "autoawq") {
        j.prompt = tokens(context / 2), j.output = tokens(context / 2);
        if (has(lower(row.at("model")), "mpt")) {  // its projections are joined as published, and it has no rotary positions
            r.joins_projections = false;
            r.rope = rope_tables::computed;
        }
    }
    // premAI names no length to engines that allot their caches at load (bench_exllamav2, bench_vllm, bench_autoawq).
    if (has(source, "premAI") && (r.name == "exllamav2" || r.name == "vllm")) j.context = j.model.max_context;
    if (has(source, "premAI") && r.name == "autoawq") {
        j.context = tokens(2048);  // from_quantized's max_seq_len
        j.prompt = tokens(context - 512), j.output = tokens(512);
    }
    // premAI makes each precision's model while the one before is still named (common/utils.py: make_report), and what torch
    // frees it keeps: ExLlamaV2 in 8 bits after 4, Lightning in fp32 after fp16. (Lightning's int8 rows show no trace of it.)
    const bool eight_after_four = r.name == "exllamav2" && row.at("quant") == "INT8";
    const bool double_after_half = row.at("engine") == "PyTorch Lightning" && row.at("quant") == "FP32";
    if (has(source, "premAI") && (eight_after_four || double_after_half)) {
        c.before = j;
        c.before->weights = eight_after_four ? exl2(4250) : fp16;
        c.before->compute = fp16;
        c.before->kv_cache = fp16;
    }
    c.spread.tensor = static_cast<std::int32_t>(whole(row.at("tp")).value_or(1));
    std::int64_t gpus = whole(row.at("n_gpus")).value_or(1);
    // A log that names GPUs by their buffers used no others.
    if (const auto at = notes.find("GPU weights MiB:"); at != std::string::npos) {
        gpus = 0;
        for (auto next = notes.find("CUDA", at); next < notes.find(';', at); next = notes.find("CUDA", next + 1)) ++gpus;
    }
    // n_batch beyond n_ctx is llama-perplexity's, with n_batch / n_ctx sequences at once; others cut it.
    if (const auto n_batch = after(batched, "n_batch "); r.fp32_activations && n_batch && *n_batch > context) j.batch = *n_batch / context;
    if (c.spread.tensor == 1 && gpus > 1) c.spread.pipeline = static_cast<std::int32_t>(gpus);
    c.whole_model = !has(notes, "on CPU");
    const auto card = gpu_of(row);
    c.with_gpu = card.has_value();
    if (card) c.machines.gpu = *card;
    if (!card) c.machines.gpu = gpus::h200_sxm5_141gb;
    // Only memory is asked after: links and rates are stand-ins where the row's GPU has none on record.
    c.machines.scale_up = c.machines.scale_out = links::pcie_gen4_x16;
    gpu& device = c.machines.gpu;
    if (device.memory.bandwidth <= byte_rate{}) device.memory.bandwidth = gb_per_s(400);
    if (matrix_rate(device, arithmetic_kind::bf16) <= flop_rate{}) device.rates.fp16 = device.rates.bf16 = tflops(50);
    c.machines.gpus = static_cast<std::int32_t>(std::max<std::int64_t>(gpus, c.spread.gpus()));
    return c;
}

// ---- what is said of it -------------------------------------------------------------------------------------------------------

struct figure {
    std::string id, label, what;
    double measured = 0, low = 0, expected = 0, high = 0;  // bytes

    double printed_to = 0;  ///< half the last digit that was printed, where it is coarser than one would think

    double error() const { return expected / measured - 1.0; }
    bool covered(double usual) const {
        const double rounding = printed_to > usual ? printed_to : usual;
         return low <= measured + rounding && high >= measured - rounding; }
};

constexpr double one_gib = 1073741824.0;
constexpr double one_mib = 1048576.0;

/// Until its buffers had back ends of their own (January 2024), llama.cpp's "compute buffer total size" counted the graph's
/// descriptions too: 8192 tensors of 32 + 352 bytes, a graph of 2048 nodes and leafs, and 4099 hashed pointers. On NVIDIA
/// GPUs the table has the "VRAM scratch buffer" of the same logs, which does not.
inline constexpr byte_count graph_structs = bytes(8192 * (32 + 352) + (2 * 2048 + 4099) * 8);

inline std::vector<figure> figures_of(const one_case& c) {
    std::vector<figure> all;
    const auto cell = [&](const char* column, double unit) -> std::optional<double> {
        const auto n = number(c.row.at(column));
        if (!n || *n <= 0) return {};
        return *n * unit;
    };
    const auto add = [&](const char* what, double measured, const interval<byte_count>& said) {
        all.push_back({c.id, c.label, what, measured, static_cast<double>(said.low.in(bytes)),
                       static_cast<double>(said.expected.in(bytes)), static_cast<double>(said.high.in(bytes))});
    };
    if (const status s = validate(c.task); !s) return all;
    if (const status s = validate(c.spread, c.task.model); !s) return all;
    const memory_breakdown m = memory_of(c.task, c.spread, c.machines);
    layout single = c.spread;
    single.pipeline = 1;
    const memory_breakdown sum = memory_of(c.task, single, c.machines);
    const bool pooled = c.task.runtime.pool == cache_pool::share_of_total || c.task.runtime.pool == cache_pool::share_of_free ||
                        c.task.runtime.pool == cache_pool::share_with_weights;

    // A sum over GPUs is what one GPU without a pipeline holds.
    const bool ggml = c.task.runtime.fp32_activations;
    const bool mmap_size = has(c.row.at("notes"), "weights = GGUF file") || has(c.row.at("notes"), "1619") ||
                           (ggml && !has(c.row.at("notes"), "offloaded") && !has(c.row.at("notes"), "GPU weights"));
    if (c.weights_known && c.whole_model && !mmap_size) {
        if (const auto per_gpu = cell("weights_gib_per_gpu", one_gib))
            add("weights", *per_gpu, m[memory_term::weights]);
        else if (const auto total = cell("weights_gib_total", one_gib))
            add("weights", *total, sum[memory_term::weights]);
    }
    if (const auto kv = cell("kv_cache_gib_per_gpu", one_gib)) {
        if (!pooled)
            add("kv", *kv, sum[memory_term::kv_cache]);
        else if (pooled && c.with_gpu && c.weights_known) {
            if (const auto pool = cache_pool_of(c.task, c.spread, c.machines)) add("pool", *kv, pool->memory);
            if (const auto tokens_logged = number(c.row.at("kv_tokens"))) {  // bytes a token, from the log's two figures
                job j = c.task;
                j.context = tokens(65536);
                j.model.max_context = {};
                const memory_breakdown longer = memory_of(j, c.spread, c.machines);
                add("kv token", *kv / *tokens_logged, div_up(longer[memory_term::kv_cache].expected, 65536));
            }
        }
    }
    if (const auto peak = cell("activation_gib", one_gib)) add("activation", *peak, m[memory_term::activations] + m[memory_term::logits]);
    if (const auto buffer = cell("compute_buffer_mib", one_mib); buffer && ggml)
    {
        // The log's largest over the GPUs; without copies, that of a GPU that has all.
        const auto buffer_of = [](const memory_breakdown& one) { return one[memory_term::activations] + one[memory_term::logits]; };
        interval<byte_count> fullest = buffer_of(sum);
        if (c.task.runtime.step_copies > 1) fullest = {};
        for (std::int32_t i = 0; i < c.spread.pipeline && c.task.runtime.step_copies > 1; ++i) {
            const auto one = buffer_of(serving_memory_of_stage(c.task, c.spread, c.task.runtime, i));
            if (one.expected > fullest.expected) fullest = one;
        }
        const byte_count logged = c.machines.gpu.vendor == gpu_vendor::apple && has(c.label, "b1600") ? graph_structs : byte_count{};
        add("compute", *buffer, fullest + logged);
    }
    // premAI's "MB" are nvidia-smi's MiB times 1.048576 (common/memory_tracker.py).
    const double used_unit = has(c.row.at("notes"), "MB, NVML") ? 1e6 : one_mib;
    if (const auto used = cell("total_used_mib", used_unit); used && c.weights_known && c.whole_model) {
        // Each GPU of a pipeline has a peak of its own. Torch's workspaces come from its allocator.
        interval<byte_count> said = sum.allocated;
        if (!ggml) said += c.task.runtime.workspace;
        const auto over_gpus = [&](auto&& of) {
            interval<byte_count> all_of_them;
            for (std::int32_t i = 0; i < c.spread.pipeline; ++i)
                all_of_them += of(serving_memory_of_stage(c.task, c.spread, on_device(c.task.runtime, c.machines.gpu, c.spread), i));
            return all_of_them;
        };
        if (c.spread.pipeline > 1 && !ggml && !pooled)
            said = over_gpus([&](const memory_breakdown& one) { return one.allocated + c.task.runtime.workspace; });
        if (c.total == counted::reserved) said = over_gpus([](const memory_breakdown& one) { return one.reserved; });
        if (c.total == counted::device) said = over_gpus([](const memory_breakdown& one) { return one.total(); });
        if (c.total == counted::resident) {
            job rest = c.task;
            rest.prompt = rest.output = {};
            const memory_breakdown between = memory_of(rest, single, c.machines);
            said = between[memory_term::weights] + between[memory_term::kv_cache] + c.task.runtime.workspace;
            // Between which steps is not said: the prompt's part of the cache is there from the first on.
            const byte_count cache = between[memory_term::kv_cache].low;
            said.low = said.low - cache + scaled_down(cache, ratio(c.task.prompt, c.task.context));
        }
        if (c.before) said += serving_memory(*c.before, c.spread).reserved;
        if (has(c.row.at("notes"), "single GPU")) said = m.total();
        if (pooled) {
            const auto pool = cache_pool_of(c.task, single, c.machines);
            interval<byte_count> kv = sum[memory_term::kv_cache] + sum[memory_term::fragmentation];
            // vLLM gives back what its profiling run took, and short prompts take little.
            if (c.task.runtime.pool == cache_pool::share_of_total) kv += sum[memory_term::activations] + sum[memory_term::logits];
            if (pool)
                said = {said.low - kv.low + pool->memory.low, said.expected - kv.expected + pool->memory.expected,
                        said.high - kv.high + pool->memory.high};
            if (said.high < said.expected) std::swap(said.high, said.low);
        }
        add("total", *used, said);
        // Tables in GB give two places, or one, or none.
        if (has(c.row.at("notes"), "GB") || has(c.row.at("source"), "speed benchmark"))
            for (const double place : {1.0, 0.1, 0.01})
                if (const double n = *used / one_gib / place; std::fabs(n - std::round(n)) < 1e-4 / place) {
                    all.back().printed_to = 0.5 * place * one_gib;
                    break;
                }
    }
    return all;
}

/// Half the last digit that logs print: two places of GiB, one of MiB.
inline double rounding_of(const figure& f) {
    return f.what == "compute" || f.what == "total" ? 0.1 * one_mib : 0.0061 * one_gib;
}

/// The complete rows of tests/validation/data, or of another file: one named by LLMRES_SERVING_ROWS, or here.
inline std::vector<csv::row> rows_to_score(std::string file = "") {
    if (const char* named = std::getenv("LLMRES_SERVING_ROWS"); file.empty() && named != nullptr) file = named;
    if (file.empty()) file = LLMRES_SOURCE_DIR "/tests/validation/data/serving_memory.csv";
    std::vector<csv::row> complete;
    for (csv::row& row : csv::read(file))
        if (!row.contains("complete") || row.at("complete") == "yes") complete.push_back(std::move(row));
    return complete;
}

struct judged {
    std::string id, label;
    bool ran = true;
    llmres::verdict verdict = verdict::fits;
    double need_low = 0, need_high = 0, usable = 0;
};

inline std::optional<judged> judge(const one_case& c) {
    if (!c.with_gpu || !c.weights_known || !c.whole_model) return {};
    const auto made = plan(c.task, c.spread, c.machines);
    judged said{c.id, c.label, c.row.at("oom") != "yes"};
    if (!made) return {};
    said.verdict = made->verdict;
    said.need_low = static_cast<double>(made->memory.total().low.in(bytes));
    said.need_high = static_cast<double>(made->memory.total().high.in(bytes));
    said.usable = static_cast<double>(made->usable.in(bytes));
    return said;
}

}  // namespace serving
