// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/plan.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What vLLM's own planner of caches says of a configuration on a card that is not there (tests/validation/vllm), and
/// the pool of the job document beside it.
namespace vllm_rows {

using namespace llmres;

/// One configuration.
struct row {
    std::string id;     ///< "0.26.0 gemma-3-1b {"block_size":32} h100-sxm5-80gb"
    std::string model;  ///< "gemma-3-1b"
    plan_request asked;
    layout placed;
    nlohmann::json says;  ///< what vLLM says

    bool refused() const { return says.contains("refuses"); }
    /// vLLM refuses because one sequence of the full context has no room.
    bool has_no_room() const {
        return refused() && says["refuses"].get<std::string>().find("KV cache is needed") != std::string::npos;
    }
    /// The library refuses it, too: a plan, or a start on that GPU.
    bool is_refused() const {
        return device_start_of(asked.job, asked.cluster.gpu).support == device_support::absent ||
               !plan(asked.job, placed, asked.cluster);
    }
    pool_size pool() const { return cache_pool_of(asked.job, placed, asked.cluster).value(); }
};

/// What differs between a row and its plan, in words; empty: nothing.
inline std::string differences(const row& r) {
    std::string found;
    const auto differs = [&](const char* name, double said, double planned) {
        if (said != planned)
            found += std::string{found.empty() ? "" : ", "} + name + ' ' + std::to_string(planned) + " for " +
                     std::to_string(said);
    };
    const runtime on_card = on_device(r.asked.job, r.asked.cluster.gpu, r.placed);
    if (r.says.contains("max_num_seqs") && r.asked.job.options.max_num_seqs == 0)
        differs("max_num_seqs", r.says["max_num_seqs"], static_cast<double>(on_card.step.max_num_seqs));
    if (r.says.contains("max_num_batched_tokens") && r.asked.job.max_batched_tokens == token_count{})
        differs("max_num_batched_tokens", r.says["max_num_batched_tokens"],
                static_cast<double>(on_card.step.max_batched_tokens.in(tokens)));
    if (r.says.contains("graph_sizes")) {
        const captured_sizes graphs = choices_at_start(r.asked.job, r.asked.cluster.gpu, r.placed)->decode;
        std::int64_t largest = 0;
        graphs.for_each([&](std::int64_t size) { largest = size; });
        differs("captured sizes", r.says["graph_sizes"], static_cast<double>(graphs.count()));
        differs("the largest of them", r.says["largest_graph"], static_cast<double>(largest));
    }
    if (r.says.contains("second_runner") && generates(r.asked.job.model))
        differs("second runner", r.says["second_runner"].get<bool>(), detail::is_scored_plainly(r.asked.job, on_card));
    if (r.refused() && !r.has_no_room()) {
        if (r.is_refused()) return found;
        return "vLLM refuses it: " + r.says["refuses"].get<std::string>().substr(0, 80);
    }
    const pool_size pool = r.pool();
    if (r.refused()) {
        if (pool.admitted >= 1) differs("sequences", 0, pool.admitted);
        return found;
    }
    if (!r.says.contains("tokens")) return found;  // an encoder has no cache
    differs("blocks", r.says["blocks"], static_cast<double>(pool.blocks));
    differs("tokens", r.says["tokens"], static_cast<double>(pool.token_room.in(tokens)));
    std::int64_t block = 0;
    for (const auto& group : r.says["groups"])
        if (group[0].get<std::string>().find("Mamba") == std::string::npos)
            block = std::max<std::int64_t>(block, group[2]);
    differs("tokens of a block", static_cast<double>(block), static_cast<double>(pool.block.in(tokens)));
    if (std::fabs(r.says["concurrency"].get<double>() / pool.admitted - 1) > 1e-12)
        differs("sequences", r.says["concurrency"], pool.admitted);
    return found;
}

/// Bytes of weights as they are loaded on a GPU of a stage: before kernels repack them, without tables and the
/// allocator's rounding.
inline memory_breakdown as_loaded(const row& r, const job& j, std::int32_t stage) {
    runtime on_card = on_device(j, r.asked.cluster.gpu, r.placed);
    on_card.allocator.rounds_to_segments = false;
    on_card.loading.rope = rope_tables::computed;
    on_card.loading.projections = projection_tensors::separate;
    on_card.loading.repacked = 0;
    return serving_memory_of_stage(j, r.placed, on_card, stage);
}
/// How far the bytes of parameters, of a drafter's and of adapters' slots are from the plan's, at most: parts of them.
struct weight_errors {
    double parameters = 0, slots = 0, drafter = 0;
};
inline weight_errors errors_of_weights(const row& r) {
    weight_errors found;
    const auto reach = [](double& most, double said, byte_count planned) {
        most = std::max(most, std::fabs(static_cast<double>(planned.in(bytes)) / said - 1));
    };
    if (!r.says.contains("parameter_bytes")) return found;
    job alone = r.asked.job;
    alone.options.speculates_ahead = false;
    alone.options.draft_weights = {};
    const auto& said = r.says["parameter_bytes"];
    for (std::int32_t stage = 0; stage < r.placed.pipeline; ++stage) {
        const memory_breakdown m = as_loaded(r, alone, stage);
        reach(found.parameters, said.is_array() ? said[static_cast<std::size_t>(stage)] : said,
              m[memory_term::weights].low);
        if (r.says.contains("slot_bytes")) reach(found.slots, r.says["slot_bytes"], m[memory_term::adapter].low);
        if (r.says.contains("draft_bytes"))
            reach(found.drafter, r.says["draft_bytes"],
                  as_loaded(r, r.asked.job, stage)[memory_term::weights].low - m[memory_term::weights].low);
    }
    return found;
}

/// Versions whose wheels were asked.
inline constexpr std::array versions{"0.20.2", "0.23.0", "0.24.0", "0.26.0", "0.28.0", "0.29.0", "0.33.0"};

/// Rows that are planned differently, with the reason of each.
inline std::set<std::string> known_unequal(std::string_view version) {
    // The cache of cross-attention is not planned.
    std::set<std::string> known{std::string{version} + " whisper-large-v3 {} h100-sxm5-80gb"};
    // transformers 5.8 takes `head_dim`, 192 in GLM-5.2's file, for the part that is rotated: 704 features in all.
    if (version == "0.20.2") known.insert("0.20.2 glm-5.2 {} h100-sxm5-80gb");
    // Layers that share another's index have a cache of keys for it until 0.24 (deepseek_v2.py: is_v32, _skip_topk).
    if (version == "0.23.0") known.insert(R"(0.23.0 glm-5.2 {"max_model_len":8192} h100-sxm5-80gb)");
    if (version == "0.26.0") {
        known.insert("0.26.0 opt-1.3b {} h100-sxm5-80gb");  // not a model of the second runner, though it is dense
        // The second runner looks no tokens up, and the first does without asynchronous scheduling.
        for (const char* model : {"llama-3.1-8b", "gemma-3-1b"})
            known.insert(
                std::string{"0.26.0 "} + model +
                R"( {"speculative_config":{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":4}})"
                " h100-sxm5-80gb");
        known.insert(R"(0.26.0 mimo-v2-flash {"kv_cache_dtype":"fp8"} h100-sxm5-80gb)");  // its cache stays in 16 bits
    }
    if (version != "0.33.0") return known;
    // 0.33 adds sizes of whole drafts to those of its steps (config/vllm.py: uniform_decode_sizes), of which its runner
    // rounds all up (config/compilation.py: adjust_cudagraph_sizes_for_spec_decode).
    for (const char* model : {"llama-3.1-8b", "gemma-3-1b"})
        known.insert(std::string{"0.33.0 "} + model +
                     R"( {"speculative_config":{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":4}})"
                     " h100-sxm5-80gb");
    // So it captures max_num_seqs, from 0.31 on.
    for (const char* card : {"h100-sxm5-80gb", "h200-sxm5-141gb", "a100-sxm4-80gb", "a100-sxm4-40gb", "rtx-4090",
                             "l4-24gb", "b200-sxm-180gb", "rtx-5090"})
        known.insert(std::string{R"(0.33.0 qwen3-0.6b {"max_num_batched_tokens":100,"max_num_seqs":60} )"} + card);
    // FlashAttention 2 misreads heads of 64 features in NVFP4 (flashinfer.py: supports_combination): not refused here.
    for (const char* card : {"h100-sxm5-80gb", "rtx-5090"})
        known.insert(std::string{R"(0.33.0 gpt-oss-20b {"kv_cache_dtype":"nvfp4"} )"} + card);
    // A kernel for heads of 512 features on Hopper has blocks of 64 tokens where the cache is fp8 (flash_attn.py:
    // _get_sm90_fa4_fp8_kv_block_size): a thousandth of the sequences.
    known.insert(R"(0.33.0 gemma-4-26b-a4b {"kv_cache_dtype":"fp8"} h100-sxm5-80gb)");
    return known;
}

/// Why vLLM loads other bytes of a model than the plan has.
struct unequal_weights {
    const char* model;
    double most;  ///< of the parameters, under any version and layout
    const char* reason;
};
/// Models of which vLLM loads other bytes.
inline constexpr std::array known_unequal_weights{
    unequal_weights{"arctic-embed-m", 0.005, "the pooler is planned and not loaded; tables are padded to 64 rows"},
    unequal_weights{"minilm-l6", 0.006, "likewise"},
    unequal_weights{"bert-base", 0.18, "the head over masked words is loaded, from 0.26 on"},
    unequal_weights{"gpt2-medium", 0.0002, "the vocabulary is padded to 64 rows on one rank, too"},
    unequal_weights{"opt-1.3b", 0.0001, "likewise"},
    unequal_weights{"granite-3-8b", 0.0001, "likewise"},
    unequal_weights{"granite-3.1-1b-a400m", 0.0001, "likewise"},
    unequal_weights{"minicpm-v-2.6", 0.0001, "likewise"},
    unequal_weights{"whisper-large-v3", 0.0001, "likewise"},
    unequal_weights{"stablelm-2-12b", 0.0001, "norms behind attention are loaded, which the checkpoint has none of"},
    unequal_weights{"olmo-3-7b", 0.0001, "tables of norms differ to 0.28"},
    unequal_weights{"llava-1.5-7b", 0.002, "layers of the tower behind the one that is read are not loaded"},
    unequal_weights{"qwen3-32b-fp8-static", 0.48, "the file names no quant_method, and vLLM takes it for bf16"},
    unequal_weights{"deepseek-v3", 0.09,
                    "corrections of the router are fp32; a 61st layer goes to the last stage but one"},
    unequal_weights{"deepseek-v3.2", 0.0007, "the indexer's keys are bf16, its norms fp32"},
    unequal_weights{"glm-4.5", 0.0003, "routers are fp32"},
    unequal_weights{"glm-5", 0.0001, "corrections of the router and the indexer's norms are fp32"},
    unequal_weights{"glm-5.2", 0.0008, "likewise; to 0.23 each layer has an indexer of its own"},
    unequal_weights{"mimo-v2-flash", 0.0007, "routers are fp32"},
    unequal_weights{"minimax-text-01", 0.003, "not looked into (0.20 and 0.23)"},
    unequal_weights{"bamba-9b", 0.0001, "decays and time steps of recurrences are fp32"},
    unequal_weights{"codestral-mamba", 0.0001, "likewise"},
    unequal_weights{"falcon-h1-7b", 0.0001, "likewise"},
    unequal_weights{"jamba-1.5-mini", 0.0001, "likewise"},
    unequal_weights{"mamba2-2.7b", 0.0001, "likewise"},
    unequal_weights{"nemotron-3-super", 0.0001, "likewise"},
    unequal_weights{"qwen3-next-80b", 0.0001, "likewise"},
    unequal_weights{"qwen3.5-27b", 0.0001, "likewise"},
    unequal_weights{"qwen3.5-122b-a10b", 0.0001, "likewise"},
    unequal_weights{"granite-4.0-h-small", 0.009, "likewise; ranks copy the one group of Mamba-2's keys"},
    unequal_weights{"nemotron-h-8b", 0.0001, "likewise"},
    unequal_weights{"gpt-oss-20b", 0.046, "ranks pad experts to 128 features"},
    unequal_weights{"gemma-3-1b", 0.058, "layers left over go to the middle stages"},
    unequal_weights{"gemma-4-26b-a4b", 0.045,
                    "keys are loaded again as values; the tower is not split, and stands on "
                    "the first stage alone"},
};
/// How far vLLM's bytes of a model may be from the plan's.
inline double most_unequal_of(std::string_view model) {
    for (const unequal_weights& known : known_unequal_weights)
        if (model == known.model) return known.most;
    return 0;
}

/// The rows of a file below tests/validation/data/vllm. Throws where a document is refused.
inline std::vector<row> read(const char* version) {
    const std::string folder = LLMRES_SOURCE_DIR "/tests/validation/data/vllm/";
    std::map<std::string, nlohmann::json> models;
    std::ifstream configurations{folder + "models.jsonl"};
    for (std::string line; std::getline(configurations, line);) {
        const nlohmann::json model = nlohmann::json::parse(line);
        models[model["model"]] = model["config"];
    }
    std::vector<row> rows;
    std::ifstream lines{folder + version + ".jsonl"};
    for (std::string line; std::getline(lines, line);) {
        const nlohmann::json one = nlohmann::json::parse(line);
        nlohmann::json document = one["document"];
        const std::string name = document["model"];
        document["model"] = models.at(name);
        const plan_request asked = read_job(document).value();
        rows.push_back({one["engine"].get<std::string>() + ' ' + name + ' ' + one["options"].dump() + ' ' +
                            document["cluster"]["gpu"].get<std::string>(),
                        name, asked, asked.layout.value_or(layout{}), one["says"]});
    }
    return rows;
}

}  // namespace vllm_rows
