// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <optional>
#include <string>

#include "../../csv.hpp"
#include "../words.hpp"
#include "engines.hpp"
#include "formats.hpp"
#include "gpus.hpp"
#include "models.hpp"

/// Rows of measured serving memory as jobs, layouts and clusters. One small mapping an engine or a source; no row is
/// treated for itself.
namespace serving {

using namespace llmres;
using namespace words;

struct one_case {
    std::string id, label;
    job task{};
    llmres::layout spread{};
    llmres::cluster machines{};
    counted total = counted::device;
    bool with_gpu = true;         ///< the row says on which GPU
    bool whole_model = true;      ///< all weights are on GPUs, or as many layers as the job says
    bool weights_known = true;    ///< the format is one the library knows
    std::optional<job> before{};  ///< what the same process ran before, and torch's allocator still holds
    csv::row row{};
};

/// None where the engine has no profile, or the model no shape.
inline std::optional<one_case> case_of(const csv::row& row);

/// Whether all is said that an engine's pool hangs on: the length and the fraction it was started with, nothing beside
/// the engine in its process (a connector of caches), and a GPU whose memory no host shares, of which others take and
/// give back.
inline bool gives_its_flags(const one_case& c);

// ---- the model and its formats --------------------------------------------------------------------------------------

/// A log names a file by the type that most of it is in, its own recipe's or not: one whose size, which the log gives
/// as well, is another's was made by another.
inline bool other_recipe(const csv::row& row, const model& m, const gguf_mix& mix) {
    const std::string& notes = row.at("notes");
    const auto at = notes.find("model file ");
    if (at == std::string::npos) return false;
    const double given = number(notes.substr(at + 11)).value_or(0) * 1073741824.0;
    return std::fabs(static_cast<double>(gguf_tensor_bytes(m, mix).in(bytes)) / given - 1.0) > 0.005;
}

/// Recipes named by the type of the experts' gates keep the way down in another, which the file's size tells: what it
/// leaves where all that is no expert is in q8_0.
inline std::optional<precision> experts_down_of(const csv::row& row, const model& m, const precision& gates) {
    const auto at = row.at("notes").find("model file ");
    if (at == std::string::npos) return {};
    double left = number(row.at("notes").substr(at + 11)).value_or(0) * 1073741824.0, down = 0;
    for_each_weight(m, [&](const weight& w, std::int64_t layers) {
        const double count = static_cast<double>(w.copies * layers);
        if (w.routed && w.role == weight_role::down_proj)
            down += count * static_cast<double>(w.rows * w.columns);
        else
            left -= count * static_cast<double>(size_of(w.routed ? gates : q8_0, w.rows, w.columns).in(bytes));
    });
    std::optional<precision> nearest;
    double best = 0.1;  // of the size that is left; beyond it the recipe is another
    for (const precision& p : {q2_k, q3_k, q4_k, q5_k, q6_k, q8_0, iq2_ks, iq2_k, iq3_ks, iq3_k, iq4_ks, iq4_k, iq5_ks,
                               iq5_k, iq6_k, iq1_m_r4})
        if (const double off = std::fabs(down * static_cast<double>(size_of(p, 1, 4096).in(bytes)) / 4096 / left - 1);
            off < best)
            best = off, nearest = p;
    return nearest;
}

inline void set_formats(one_case& c) {
    const csv::row& row = c.row;
    const std::string& quant = row.at("quant");
    const std::string& cache = row.at("kv_dtype");
    // premAI's vLLM loads the model as published, and names a precision only afterwards (bench_vllm/bench.py).
    const bool as_published = has(row.at("source"), "premAI") && row.at("engine") == "vllm" && quant == "FP32";
    // ExLlama's README has 70B in groups of 32 smaller than in groups of 128, which cannot be.
    const bool swapped = has(row.at("notes"), "swapped upstream");
    const auto [plain, mix] = format_of(as_published ? "BF16" : quant, row.at("engine"), swapped);
    // People's own recipes are mostly, not wholly, of the type that names them.
    const bool recipe = plain && has(row.at("engine"), "llama") && is_packed(*plain) && has(quant, "GGUF");
    c.weights_known = (plain && !recipe) || mix;

    job& j = c.task;
    j.compute = plain && (*plain == fp32 || *plain == fp16) ? *plain : bf16;
    j.weights = plain.value_or(fp16);  // where the format is one that nobody knows, weights are not compared
    if (recipe)
        if (const auto down = experts_down_of(row, j.model, *plain); down && !(*down == *plain)) {
            j.model.weights = *plain;
            j.model.mixed.experts_down = *down;
            j.weights = {};
        }
    if (mix) {
        gguf_mix file = *mix;
        // Files in IQ types are made with an importance matrix: without one llama.cpp refuses the smaller of them.
        if (has(quant, "IQ")) file.importance_matrix = true;
        if (other_recipe(row, j.model, file)) c.weights_known = false;
        j.gguf = file;
    }
    j.kv_cache = cache_format(cache, j.compute);
    if (const auto slash = cache.find('/'); slash != std::string::npos && j.runtime.serving_kernels.fp32_activations)
        j.kv_cache_values = cache_format(cache.substr(slash + 1), j.compute);
}

/// What an engine loads, or a table ran, is not all that was published.
inline void set_model(one_case& c, const model& published) {
    model& m = c.task.model;
    m = published;
    const std::string& name = c.row.at("model");
    if (has(c.row.at("engine"), "litgpt")) m.tied_head = false;  // it loads the head beside the embedding
    if (has(lower(name), "qwen2") && !has(lower(name), "-vl") && has(name, "Instruct")) m.max_context = tokens(32768);
}

// ---- lengths and knobs ----------------------------------------------------------------------------------------------

inline std::int64_t context_of(const csv::row& row) {
    return whole(row.at("max_model_len")).value_or(whole(row.at("ctx_measured")).value_or(512));
}

/// Whether the CPU computed experts, as files repacked for it make it do (-rtr): then the log's buffer of the host
/// holds more than what the graph reads, which are masks and embeddings.
inline std::optional<bool> computed_on_host(const job& j, const std::string& notes) {
    const auto at = notes.find("CUDA_Host=");
    if (!j.options.experts_on_host || at == std::string::npos) return {};
    const double read = 4.0 * static_cast<double>(j.runtime.step.max_batched_tokens.in(tokens)) *
                        static_cast<double>(j.context.in(tokens)*j.batch + j.model.hidden);
    return number(notes.substr(at + 10)).value_or(0) * 1048576.0 > read * 1.05;
}

inline void set_knobs(one_case& c) {
    const csv::row& row = c.row;
    const std::string& notes = row.at("notes");
    const std::string& batched = row.at("max_num_batched_tokens");
    const auto batch = whole(row.at("batch_or_max_num_seqs"));
    const std::int64_t context = context_of(row);
    job& j = c.task;
    runtime& r = j.runtime;
    j.context = tokens(context);
    if (j.model.max_context > token_count{} && j.model.max_context < j.context)
        j.model.max_context = j.context;  // stretched
    if (r.cache.pool == cache_pool::share_of_total) {
        if (batch && *batch > 1) j.options.max_num_seqs = *batch;
        if (const auto block = after(notes, "block_size ")) r.cache.block = tokens(*block);
        if (const auto n = whole(batched); n && !(r.step.chunked_beyond > token_count{} && context <= 32768))
            set_batched_tokens(r.step, tokens(*n));
        if (has(notes, "video unbounded")) {  // a video of two frames beside the image
            j.max_batched_tokens = j.model.encoders[0].image_tokens * 2;
            j.options.encoder_tokens = j.model.encoders[0].image_patches * 2;
        }
    } else {
        j.batch = batch.value_or(1);
        // n_batch beyond n_ctx is llama-perplexity's, with n_batch / n_ctx sequences at once; others cut it.
        if (const auto n = after(batched, "n_batch "); n && r.serving_kernels.fp32_activations && *n > context)
            j.batch = *n / context;
    }
    if (const auto share = number(row.at("gpu_mem_util"))) r.cache.fraction = *share;
    if (const auto n = after(batched, "n_ubatch ")) r.step.max_batched_tokens = tokens(*n);
    if (const auto n = after(notes, "amb="); n && *n > 0) r.serving_kernels.latent.expanded = mib(*n);
    if (const auto n = after(notes, "mla_attn="); n && *n < 2) r.serving_kernels.latent.expanded = {};
    if (const auto n = after(notes, "gpu_layers ")) j.options.gpu_layers = static_cast<std::int32_t>(*n);
    if (const auto computed = computed_on_host(j, notes)) r.loading.host_experts.copied = !*computed;
}

/// What was read and written, where the row's length is both.
inline void set_prompt(one_case& c) {
    const std::string& source = c.row.at("source");
    const std::int64_t context = context_of(c.row);
    job& j = c.task;
    runtime& r = j.runtime;
    if (r.identity.name == "transformers") {
        if (has(source, "speed benchmark")) {  // one prompt, 2048 tokens more
            j.output = tokens(2048);
            j.prompt = tokens(context > 2048 ? context - 2048 : 1);
            j.attention = attention_kernel::flash;
        } else if (has(c.row.at("notes"), "enerat")) {
            j.prompt = tokens(1), j.output = tokens(context > 1 ? context - 1 : 0);
        }
        if (has(source, "DeepSeek-LLM")) j.attention = attention_kernel::eager;
    }
    if (r.identity.name == "autoawq") {
        j.prompt = tokens(context / 2), j.output = tokens(context / 2);
        if (has(lower(c.row.at("model")), "mpt")) {  // projections are joined as published; it has no rotary positions
            r.loading.projections = projection_tensors::separate;
            r.loading.rope = rope_tables::computed;
        }
    }
}

/// premAI's benchmarks, as their programs run.
inline void set_premai(one_case& c) {
    job& j = c.task;
    const std::int64_t context = context_of(c.row);
    // They name no length to engines that allot their caches at load (bench_exllamav2, bench_vllm, bench_autoawq).
    if (j.runtime.identity.name == "exllamav2" || j.runtime.identity.name == "vllm") j.context = j.model.max_context;
    if (j.runtime.identity.name == "autoawq") {
        j.context = tokens(2048);  // from_quantized's max_seq_len
        j.prompt = tokens(context - 512), j.output = tokens(512);
    }
    // They make each precision's model while the one before is still named (common/utils.py: make_report), and what
    // torch frees it keeps: ExLlamaV2 in 8 bits after 4, Lightning in fp32 after fp16. (Lightning's int8 rows show no
    // trace of it.)
    const bool eight_after_four = j.runtime.identity.name == "exllamav2" && c.row.at("quant") == "INT8";
    const bool double_after_half = c.row.at("engine") == "PyTorch Lightning" && c.row.at("quant") == "FP32";
    if (eight_after_four || double_after_half) {
        c.before = j;
        c.before->weights = eight_after_four ? exl2(4250) : fp16;
        c.before->compute = fp16;
        c.before->kv_cache = fp16;
    }
}

// ---- GPUs -----------------------------------------------------------------------------------------------------------

inline void set_machines(one_case& c) {
    const std::string& notes = c.row.at("notes");
    std::int64_t count = whole(c.row.at("n_gpus")).value_or(1);
    // A log that names GPUs by their buffers used no others.
    if (const auto at = notes.find("GPU weights MiB:"); at != std::string::npos) {
        count = 0;
        for (auto next = notes.find("CUDA", at); next < notes.find(';', at); next = notes.find("CUDA", next + 1))
            ++count;
    }
    c.spread.tensor = static_cast<std::int32_t>(whole(c.row.at("tp")).value_or(1));
    if (c.spread.tensor == 1 && count > 1) c.spread.pipeline = static_cast<std::int32_t>(count);
    c.whole_model = !has(notes, "on CPU");

    const auto card = gpu_of(c.row);
    c.with_gpu = card.has_value();
    gpu& device = c.machines.gpu;
    device = card.value_or(gpus::h200_sxm5_141gb);
    // Only memory is asked after: rates and links are stand-ins where the row's GPU has none on record.
    if (device.memory.bandwidth <= byte_rate{}) device.memory.bandwidth = gb_per_s(400);
    if (matrix_rate(device, arithmetic_kind::bf16) <= flop_rate{}) device.rates.fp16 = device.rates.bf16 = tflops(50);
    c.machines.scale_up = c.machines.scale_out = links::pcie_gen4_x16;
    c.machines.gpus = static_cast<std::int32_t>(std::max<std::int64_t>(count, c.spread.gpus()));
}

inline std::optional<one_case> case_of(const csv::row& row) {
    const auto published = model_of(row.at("model"));
    const engine e = engine_of(row);
    if (!published || !e.known) return {};
    one_case c;
    c.id = row.at("id");
    c.label = label_of(e.profile);
    c.row = row;
    c.total = e.total;
    c.task.runtime = e.profile;
    c.task.options = e.options;
    set_model(c, *published);
    set_formats(c);
    set_knobs(c);
    set_prompt(c);
    if (has(row.at("source"), "premAI")) set_premai(c);
    set_machines(c);
    return c;
}

inline bool gives_its_flags(const one_case& c) {
    return c.with_gpu && !c.row.at("max_model_len").empty() && number(c.row.at("gpu_mem_util")) &&
           !has(c.row.at("notes"), "connector") && !shares_host_memory(c.machines.gpu);
}

}  // namespace serving
