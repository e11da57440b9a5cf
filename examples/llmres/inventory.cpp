// SPDX-License-Identifier: MIT
// The nodes that `llmres place` may use, typed or from a file.
#include "inventory.hpp"

#include "commands.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/mig.hpp>
#include <llmres/io/files.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace program {
namespace {

constexpr std::int64_t most_nodes = 100'000;

/// A row of a file of nodes, or what stands between two commas.
struct node_row {
    std::string name;
    std::int64_t count = 1;  ///< nodes that are alike
    std::int64_t gpus = 1;   ///< of each, free or not
    std::int64_t free = 1;   ///< of these, free
    nlohmann::json cluster;  ///< all else
};

}  // namespace

std::int64_t number_in(const std::string& where, const nlohmann::json& row, const char* key, std::int64_t least,
                       std::int64_t most, std::int64_t usual) {
    if (!row.contains(key)) return usual;
    const nlohmann::json& given = row[key];
    if (!given.is_number_integer() || given < least || given > most)
        throw refusal{llmres::refused(llmres::error_code::out_of_range, where + key, given.dump().substr(0, 40),
                                      fmt::format("{} to {}", least, most))};
    return given.get<std::int64_t>();
}

namespace {

node_row row_of(std::size_t index, const nlohmann::json& given) {
    const std::string where = fmt::format("nodes[{}].", index);
    if (!given.is_object() || !given.contains("gpu"))
        throw refusal{llmres::refused(llmres::error_code::missing, where + "gpu", "absent", "a GPU of `llmres gpus`")};
    node_row row{.name = fmt::format("node {}", index + 1), .cluster = given};
    if (given.contains("name") && given["name"].is_string()) row.name = given["name"].get<std::string>();
    row.count = number_in(where, given, "count", 1, most_nodes, 1);
    row.gpus = number_in(where, given, "gpus", 1, 1024, number_in(where, given, "free", 1, 1024, 1));
    row.free = number_in(where, given, "free", 0, row.gpus, row.gpus);
    for (const char* own : {"name", "count", "gpus", "free"}) row.cluster.erase(own);
    return row;
}

std::vector<node_row> typed_rows(const std::string& typed) {
    std::vector<node_row> rows;
    for (std::size_t begin = 0; begin <= typed.size();) {
        const std::size_t end = std::min(typed.find(',', begin), typed.size());
        const std::string word = typed.substr(begin, end - begin);
        const std::size_t colon = std::min(word.find(':'), word.size());
        nlohmann::json row{{"gpu", word.substr(0, colon)}};
        if (colon < word.size()) {
            const std::string free = word.substr(colon + 1);
            const nlohmann::json number = nlohmann::json::parse(free, nullptr, false);
            row["free"] = number.is_discarded() ? nlohmann::json(free) : number;
        }
        rows.push_back(row_of(rows.size(), row));
        begin = end + 1;
    }
    return rows;
}

std::vector<node_row> rows_of(const place_options& o) {
    if (o.free.empty() == o.nodes.empty())
        throw refusal{llmres::refused(llmres::error_code::missing, "free", o.free.empty() ? "absent" : "beside --nodes",
                                      "the free GPUs, as --free rtx-4090:2,l4 or as --nodes FILE")};
    if (!o.free.empty()) return typed_rows(o.free);
    const llmres::result<std::string> text = llmres::read_job_text(o.nodes);
    if (!text) throw refusal{llmres::refused(text.error().code, "nodes", o.nodes, text.error().expected)};
    const nlohmann::json root = accept(llmres::parse_json_object(*text, llmres::no_numbers::refused)).root;
    if (!root.contains("nodes") || !root["nodes"].is_array() || root["nodes"].empty())
        throw refusal{llmres::refused(llmres::error_code::missing, "nodes", o.nodes, "a list of nodes")};
    std::vector<node_row> rows;
    for (const nlohmann::json& given : root["nodes"]) rows.push_back(row_of(rows.size(), given));
    return rows;
}

/// The rows with one for each MIG profile in place of "a100/any".
std::vector<node_row> with_profiles(const std::vector<node_row>& rows) {
    std::vector<node_row> all;
    for (const node_row& row : rows) {
        const nlohmann::json& named = row.cluster["gpu"];
        const std::string gpu = named.is_string() ? named.get<std::string>() : "";
        if (!gpu.ends_with("/any")) {
            all.push_back(row);
            continue;
        }
        const llmres::gpu card = accept(llmres::find_gpu(gpu.substr(0, gpu.size() - 4), "gpu"));
        const llmres::mig_profile_list profiles = mig_profiles(card);
        if (profiles.empty()) accept(mig_slice(card, "any", "gpu"));
        for (const llmres::mig_profile& p : profiles) {
            node_row one = row;
            one.cluster["gpu"] = fmt::format("{}/{}", card.id.view(), p.name.view());
            all.push_back(one);
        }
    }
    return all;
}

/// What a job may have of a kind: all nodes of it where a link joins their GPUs, one GPU of MIG instances.
llmres::cluster kind_of(std::size_t index, const nlohmann::json& sheet, std::int64_t each, std::int64_t nodes) {
    const auto read = [&](std::int64_t gpus, std::int64_t of_node) {
        nlohmann::json cluster = sheet;
        cluster["gpus"] = gpus;
        cluster["gpus_per_node"] = of_node;
        const nlohmann::json document{{"model", "llama-3.2-1b"}, {"cluster", cluster}};
        return llmres::read_job(document, std::filesystem::path{});
    };
    llmres::result<llmres::plan_request> found = read(1, 1);
    const bool instance = found && found->cluster.gpu.id.view().find('/') != std::string_view::npos;
    if (found && !instance) found = read(each * nodes, each);
    if (found) return found->cluster;
    throw refusal{llmres::refused(found.error().code, fmt::format("nodes[{}]: {}", index, found.error().field.view()),
                                  found.error().value, found.error().expected)};
}

}  // namespace

inventory inventory_of(const place_options& o) {
    const std::vector<node_row> typed = rows_of(o);
    const std::vector<node_row> rows = with_profiles(typed);
    inventory made;
    made.any_profile = rows.size() > typed.size();
    std::map<std::string, std::int32_t> known;
    std::vector<std::pair<std::size_t, std::int64_t>> of_kind;  ///< the first row of a kind, and its nodes
    std::int64_t all = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const node_row& row = rows[i];
        all += row.count;
        if (all > most_nodes)
            throw refusal{llmres::refused(llmres::error_code::out_of_range, "nodes", "more",
                                          fmt::format("at most {} of them", most_nodes))};
        const std::string key = fmt::format("{} {}", row.gpus, row.cluster.dump());
        const auto [at, is_new] = known.emplace(key, static_cast<std::int32_t>(of_kind.size()));
        if (is_new) of_kind.emplace_back(i, 0);
        of_kind[static_cast<std::size_t>(at->second)].second += row.count;
        for (std::int64_t n = 0; n < row.count; ++n) {
            made.nodes.push_back({at->second, static_cast<std::int32_t>(row.free)});
            made.names.push_back(row.count == 1 ? row.name : fmt::format("{}[{}]", row.name, n + 1));
        }
    }
    std::set<nlohmann::json> said;
    for (const auto& [first, nodes] : of_kind) {
        if (said.insert(rows[first].cluster.value("gpu", nlohmann::json{})).second)
            say_which_gpu(nlohmann::json{{"cluster", rows[first].cluster}});
        made.sheets.push_back(rows[first].cluster);
        made.kinds.push_back(kind_of(first, rows[first].cluster, rows[first].gpus, nodes));
    }
    return made;
}

}  // namespace program
