// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <llmres/io/hf_config.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/gguf/types.hpp>
#include <llmres/values/find_precision.hpp>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../csv.hpp"

/// Published GGUF files against the bytes of their tensors as predicted, from the model's preset and, where it is at
/// hand, from its config.json.
///
/// A file is its header and its tensors, and only the tensors are predicted: the header holds the tokenizer. But all
/// quantisations of one repository carry the same tokenizer. So the check is: file - predicted tensors, which should be
/// the header, is the same for every file of a repository. It may differ by the few keys that the quantiser writes into
/// some of them (`quantize.imatrix.*`, `general.quantization_version`): by no more than 512 bytes and, since data is
/// padded, by a multiple of 32; while one matrix in another type, where that changes a size at all, is thousands. What
/// the check cannot see is what every file of a repository shares and the prediction lacks; a constant vector would be
/// that, a matrix would not, since its type changes with the quantisation. A repository with one file has nothing to be
/// held against but headers of the same vocabulary.
namespace gguf_sizes {

enum class verdict {
    equal,         ///< to the byte
    but_for_keys,  ///< the rest is at most 512 bytes of header
    alone,         ///< no other file of its repository to be held against
    near,          ///< within 0.1 % of the file
    off
};

struct comparison {
    std::string preset{};
    std::string repository{};
    std::string quantisation{};
    std::string config{};  ///< the config.json in the collection; empty: it has none
    std::string recipe{};
    std::int64_t vocabulary = 0;
    std::int64_t file = 0;
    std::int64_t tensors = 0;  ///< predicted
    std::int64_t rest = 0;     ///< the header that is left, less the one that most files of the repository leave
    std::string refusal{};
    verdict is = verdict::off;

    std::int64_t header() const { return file - tensors; }
};

/// The type of that name; none where there is none.
inline llmres::maybe<llmres::gguf_type> type_named(const std::string& name) {
    const auto format = llmres::find_precision("embedding", name);
    for (std::uint32_t number = 0; format && number < 64; ++number)
        if (const auto info = llmres::find_gguf_type(number); info && info->format == *format) return info->type;
    return {};
}

/// The mix of a row's quantisation with its recipe: how its publisher ran converter and quantiser, as far as it shows
/// in sizes (gguf_recipes).
inline llmres::gguf_mix as_published(llmres::gguf_mix mix, const std::string& recipe) {
    std::istringstream words{recipe};
    for (std::string word; words >> word;) {
        constexpr std::string_view embedding = "embedding=";
        if (word == "importance_matrix")
            mix.importance_matrix = true;
        else if (word == "tied_head_stored")
            mix.tied_head_stored = true;
        else if (word == "before_2024")
            mix.before_2024 = true;
        else if (word.starts_with(embedding))
            mix.embedding = type_named(word.substr(embedding.size()));
        else
            throw std::runtime_error{"recipe is " + recipe};
    }
    return mix;
}

/// The bytes of a row's tensors by its preset, or by its config.json in that folder.
inline void predict(comparison& c, const std::string& folder) {
    using namespace llmres;
    std::string text;
    if (!folder.empty()) {
        std::ifstream in{folder + c.config, std::ios::binary};
        text.assign(std::istreambuf_iterator<char>{in}, {});
    }
    const auto m = folder.empty() ? find_model(c.preset) : read_hf_config(text);
    // Publishers name a file after its format; the mix that stores it is MXFP4_MOE.
    const auto mix = find_gguf_mix("quantisation", c.quantisation == "MXFP4" ? "MXFP4_MOE" : c.quantisation);
    if (!m || !mix) {
        const error& why = m ? mix.error() : m.error();
        c.refusal = std::string{why.field.view()} + " " + std::string{why.value.view()};
        return;
    }
    c.vocabulary = m->vocabulary;
    c.tensors = gguf_tensor_bytes(*m, as_published(*mix, c.recipe)).in(bytes);
}

/// The header that most files of a repository leave.
inline std::int64_t common_header(const std::vector<const comparison*>& files) {
    std::map<std::int64_t, int> votes;
    for (const comparison* file : files) ++votes[file->header()];
    return std::max_element(votes.begin(), votes.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
}

inline std::map<std::string, std::vector<const comparison*>> by_repository(const std::vector<comparison>& rows) {
    std::map<std::string, std::vector<const comparison*>> grouped;
    for (const comparison& row : rows)
        if (row.refusal.empty()) grouped[row.repository].push_back(&row);
    return grouped;
}

/// All rows from the presets, or those that have a config.json in `folder` from it.
inline std::vector<comparison> compare(const std::string& folder = {}) {
    std::vector<comparison> rows;
    for (const csv::row& row : csv::read(LLMRES_SOURCE_DIR "/tests/validation/data/gguf_sizes.csv")) {
        if (!folder.empty() && row.at("config").empty()) continue;
        comparison c{.preset = row.at("preset"),
                     .repository = row.at("repository"),
                     .quantisation = row.at("quantisation"),
                     .config = row.at("config"),
                     .recipe = row.at("recipe")};
        c.file = std::strtoll(row.at("file_bytes").c_str(), nullptr, 10);
        predict(c, folder);
        rows.push_back(c);
    }
    constexpr std::int64_t keys = 512;
    for (auto& [repository, files] : by_repository(rows)) {
        const std::int64_t common = common_header(files);
        for (const comparison* file : files) {
            comparison& c = rows[static_cast<std::size_t>(file - rows.data())];
            c.rest = c.header() - common;
            c.is = files.size() == 1                              ? verdict::alone
                   : c.rest == 0                                  ? verdict::equal
                   : std::abs(c.rest) <= keys && c.rest % 32 == 0 ? verdict::but_for_keys
                   : std::abs(c.rest) * 1000 <= c.file            ? verdict::near
                                                                  : verdict::off;
        }
    }
    return rows;
}

inline std::int64_t count(const std::vector<comparison>& rows, verdict which) {
    return std::count_if(rows.begin(), rows.end(),
                         [&](const comparison& row) { return row.refusal.empty() && row.is == which; });
}

}  // namespace gguf_sizes
