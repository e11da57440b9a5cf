// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <llmres/io/files/open.hpp>
#include <llmres/io/files/roles.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/io/safetensors.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/values/error.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

/// A folder that holds an adapter without its model, as peft saves it: adapter_config.json, and the factors beside it.
namespace llmres::inline v0::detail {

/// An adapter, and the model that it was trained on.
struct adapter_folder {
    std::string base{};
    llmres::adapter adapter{};
};

/// Whether a folder holds an adapter alone.
inline bool holds_adapter_alone(const std::filesystem::path& folder) {
    std::error_code failed;
    return std::filesystem::exists(folder / "adapter_config.json", failed) &&
           !std::filesystem::exists(folder / "config.json", failed);
}

/// What `target_modules` names: a list of modules, or "all-linear".
inline status read_target_modules(config_fields& c, llmres::adapter& into) {
    if (!c.has("target_modules")) return done{};
    if (c.holds_text("target_modules")) {
        const std::string_view names = c.text_or("target_modules", "");
        const result<role_set> found = find_roles(names, "target_modules");
        if (!found) return found.error();
        into.targets = *found;
        into.joined_heads = name_joined_heads(names);
        return done{};
    }
    into.targets = {};
    const nlohmann::json* names = c.list("target_modules");
    for (std::size_t i = 0; names != nullptr && i < names->size() && c.ok(); ++i) {
        const std::string_view path = c.text_at("target_modules", i);
        const std::string_view name = path.substr(path.find_last_of('.') + 1);
        if (is_joined_heads(name)) {
            into.joined_heads = true;
            into.targets.insert(joined_head_roles);
        } else if (const maybe<weight_role> role = role_in(safetensors::modules, name)) {
            into.targets.insert(*role);
        } else if (c.ok()) {
            c.fail({error_code::unknown, "target_modules", std::string_view{printable(path)},
                    "names of linear layers, such as q_proj, v_proj or gate_proj"});
        }
    }
    return c.ok() ? status{done{}} : status{c.error()};
}

/// Reads adapter_config.json (peft's PeftConfig and LoraConfig).
inline result<adapter_folder> read_adapter_folder(const std::filesystem::path& folder) {
    const result<json_document> document = read_object("adapter_config", folder / "adapter_config.json", 16u << 20,
                                                       "an adapter_config.json of at most 16 MiB that can be read");
    if (!document) return document.error();
    config_fields c{document->root};
    adapter_folder read;
    read.base = c.text_or("base_model_name_or_path", "");
    const std::string_view kind = c.text_or("peft_type", "LORA");
    if (!c.ok()) return c.error();
    if (kind != "LORA") return refused(error_code::unsupported, "peft_type", kind, "LORA, in a folder of its own");
    read.adapter.kind = c.flag_or("use_dora", false)     ? adapter_kind::dora
                        : c.flag_or("use_rslora", false) ? adapter_kind::rslora
                                                         : adapter_kind::lora;
    read.adapter.rank = c.number("r", 1, 65536);
    if (!c.ok()) return c.error();
    if (const status s = read_target_modules(c, read.adapter); !s) return s.error();
    if (read.base.empty())
        return refused(error_code::missing, "base_model_name_or_path", "absent",
                       "the model of the adapter: write its name or path there, or plan that model with --max_loras 1");
    return read;
}

}  // namespace llmres::inline v0::detail
