// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <llmres/io/hf_config.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/diffusion.hpp>
#include <llmres/models/parameters.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../csv.hpp"

/// Published parameter totals held against our count of the same config.json (or preset). One published integer may
/// mean the model alone or everything in its file, so the row says which of our named counts it equals.
namespace counts {

struct comparison {
    std::string model;
    std::int64_t published = 0;
    std::int64_t counted = 0;  ///< the named count that equals it, or the total
    std::string count;         ///< total, stored, ...; empty: refused
    std::string refusal;       ///< field and value of the error
    std::string remark;
    bool equal() const { return published == counted; }
};

inline std::string content_of(const std::string& path) {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// What must be known about a row beside its config, by model: fields that differ from the file's, and why. Two rows
/// come with the config of another version of the model; one counts the encoder of a model alone.
inline const nlohmann::json& amendments() {
    static const nlohmann::json all =
        nlohmann::json::parse(content_of(LLMRES_SOURCE_DIR "/tests/validation/data/count_amendments.json"));
    return all;
}

/// The corrections of routing scores, which some files keep in fp32 and some publishers leave out.
inline std::int64_t score_corrections(const llmres::model& m) {
    std::int64_t sum = 0;
    const auto of = [](const llmres::layer& l) {
        const llmres::experts& e = l.feed_forward.experts;
        return e.score_bias ? e.count + e.idle : 0;
    };
    for (std::int32_t i = 0; i < m.layers.size; ++i) sum += of(m.layers[i]);
    return sum + m.prediction.layers * of(m.prediction.block);
}

/// Fills in the named count that equals the published one, or the total if none does.
inline void choose(comparison& c, const llmres::model& m) {
    using llmres::parameters;
    const std::int64_t total = llmres::count_parameters(m).in(parameters);
    const std::int64_t stored = llmres::count_stored_parameters(m).in(parameters);
    c.count = "total";
    c.counted = total;
    if (c.published == stored && stored != total) {
        c.count = "stored";
        c.counted = stored;
    } else if (c.published == stored - score_corrections(m) && c.published != total) {
        c.count = "stored, score corrections apart";
        c.counted = c.published;
    }
}

inline comparison compare(const csv::row& row, const std::string& folder) {
    comparison c;
    c.model = row.at("model_id");
    c.published = std::strtoll(row.at("exact_total_params").c_str(), nullptr, 10);
    std::string text = content_of(folder + row.at("config_file"));
    if (const auto found = amendments().find(c.model); found != amendments().end()) {
        auto config = nlohmann::json::parse(text);
        config.merge_patch(found->at("config"));
        text = config.dump();
        c.remark = found->at("remark");
    }
    const auto read = llmres::read_hf_config(text);
    if (!read) {
        c.refusal = std::string{read.error().field.view()} + " " + std::string{read.error().value.view()};
        return c;
    }
    choose(c, *read);
    return c;
}

/// The rows whose integer was published, and that come with a config.
inline std::vector<comparison> of_configs(const std::string& folder) {
    std::vector<comparison> made;
    for (const csv::row& row : csv::read(folder + "exact_counts.csv"))
        if (row.at("confidence") == "found" && !row.at("config_file").empty()) made.push_back(compare(row, folder));
    return made;
}

/// The presets, each with the total its publisher gives.
inline std::vector<comparison> of_presets() {
    std::vector<comparison> made;
    const auto add = [&](const auto& m) {
        if (!m.published) return;
        made.push_back({std::string{m.name.view()},
                        m.published.value.in(llmres::parameters),
                        llmres::count_parameters(m).in(llmres::parameters),
                        "total",
                        {},
                        {}});
    };
    for (const llmres::model* m : llmres::models::all) add(*m);
    add(llmres::models::stable_diffusion_1_5);
    add(llmres::models::stable_diffusion_xl);
    add(llmres::models::flux_1_dev);
    return made;
}

}  // namespace counts
