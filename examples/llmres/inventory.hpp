// SPDX-License-Identifier: MIT
#pragma once

#include "commands.hpp"

#include <fmt/format.h>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/queue.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/values/to_string.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// The nodes that `llmres place` may use.
namespace program {

/// The nodes with their names, and what a job may have of each kind.
struct inventory {
    std::vector<nlohmann::json> sheets;  ///< each kind as a job document's cluster
    std::vector<llmres::cluster> kinds;
    std::vector<llmres::node_gpus> nodes;
    std::vector<std::string> names;
    bool any_profile = false;  ///< there are kinds of which only one can be had: the MIG profiles of "h100/any"

    const llmres::cluster& kind_of(std::int32_t kind) const { return kinds[static_cast<std::size_t>(kind)]; }
    /// A kind as people read it, with what others hold.
    std::string text_of(std::int32_t kind) const {
        const llmres::cluster& c = kind_of(kind);
        return c.in_use > llmres::byte_count{} ? fmt::format("{} ({} in use)", c.gpu.id.view(), to_string(c.in_use))
                                               : std::string{c.gpu.id.view()};
    }
};

/// An integer of an object in a file; the usual one where it is absent. `where` stands before the key in a refusal.
std::int64_t number_in(const std::string& where, const nlohmann::json& row, const char* key, std::int64_t least,
                       std::int64_t most, std::int64_t usual);

/// The nodes that a command line names.
inventory inventory_of(const place_options& o);

}  // namespace program
