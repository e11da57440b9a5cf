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
    std::string id;  ///< "0.26.0 gemma-3-1b {"block_size":32} h100-sxm5-80gb"
    plan_request asked;
    layout placed;
    nlohmann::json says;  ///< what vLLM says

    bool refused() const { return says.contains("refuses"); }
    /// vLLM refuses because one sequence of the full context has no room.
    bool has_no_room() const {
        return refused() && says["refuses"].get<std::string>().find("KV cache is needed") != std::string::npos;
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
    const pool_size pool = r.pool();
    if (r.refused()) {
        if (!r.has_no_room()) return "vLLM refuses it: " + r.says["refuses"].get<std::string>().substr(0, 80);
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

/// Versions whose wheels were asked.
inline constexpr std::array versions{"0.20.2", "0.23.0", "0.24.0", "0.26.0", "0.28.0", "0.29.0", "0.33.0"};

/// Rows that are planned differently, with the reason of each.
inline std::set<std::string> known_unequal(std::string_view version) {
    // The cache of cross-attention is not planned; that no kernel of sparse attention has blocks of 32 is not refused.
    std::set<std::string> known{
        std::string{version} + " whisper-large-v3 {} h100-sxm5-80gb",
        std::string{version} + R"( deepseek-v3.2 {"block_size":32} h100-sxm5-80gb)",
    };
    // transformers 5.8 takes `head_dim`, 192 in GLM-5.2's file, for the part that is rotated: 704 features in all.
    if (version == "0.20.2") known.insert("0.20.2 glm-5.2 {} h100-sxm5-80gb");
    // Layers that share another's index have a cache of keys for it until 0.24 (deepseek_v2.py: is_v32, _skip_topk).
    if (version == "0.23.0") known.insert(R"(0.23.0 glm-5.2 {"max_model_len":8192} h100-sxm5-80gb)");
    return known;
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
                        asked, asked.layout.value_or(layout{}), one["says"]});
    }
    return rows;
}

}  // namespace vllm_rows
