// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <llmres/io/files/open.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/io/safetensors.hpp>
#include <llmres/values/error.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

/// Safetensors files by their path: one alone, and the files that an index (`*.safetensors.index.json`) names.
namespace llmres::inline v0::detail::safetensors {

inline result<safetensors_checkpoint> load_one(const std::filesystem::path& path) {
    result<byte_source> source = open_bytes("safetensors", path);
    if (!source) return source.error();
    return read(*std::move(source));
}

/// Whether a name is that of a file in the index's own folder: no index leads out of it.
inline bool is_plain(std::string_view name) {
    return !name.empty() && name.find_first_of(std::string_view{"/\\:\0", 4}) == std::string_view::npos &&
           name != "." && name != "..";
}

/// The tensors that an index says are in each file.
using tensors_by_file = std::map<std::string, std::set<std::string>>;

inline result<tensors_by_file> read_weight_map(config_fields& index) {
    const nlohmann::json* map = index.object("weight_map");
    if (!index.ok()) return index.error();
    if (map == nullptr) return refused(error_code::missing, "weight_map", "absent", "the file of each tensor");
    tensors_by_file files;
    for (const auto& [tensor, file] : map->items()) {
        if (!file.is_string() || !is_plain(file.get_ref<const std::string&>()))
            return refused(error_code::malformed, "weight_map", printable(tensor),
                           "the name of a file beside the index");
        files[file.get_ref<const std::string&>()].insert(tensor);
    }
    if (files.size() > safetensors_limits::files)
        return refused(error_code::out_of_range, "weight_map", static_cast<std::int64_t>(files.size()),
                       "at most 10000 files");
    return files;
}

/// Adds the tensors of one more file, of which the index lists those that must be there.
inline status append_file(safetensors_checkpoint& whole, std::set<std::string>& names, safetensors_checkpoint file,
                          const std::set<std::string>& listed) {
    std::set<std::string> missing = listed;
    for (safetensors_tensor& tensor : file.tensors) {
        if (!names.insert(tensor.name).second)
            return refused(error_code::inconsistent, "safetensors.tensor", printable(tensor.name),
                           "each tensor in one file");
        missing.erase(tensor.name);
        tensor.file = whole.files;
        whole.tensors.push_back(std::move(tensor));
    }
    if (!missing.empty())
        return refused(error_code::missing, "weight_map", printable(*missing.begin()),
                       "a tensor that is in the file it is mapped to");
    whole.header += file.header;
    whole.size += file.size;
    ++whole.files;
    return done{};
}

/// Which files an index is read with: those that it names, or none where it lies alone.
enum class index_files : std::uint8_t { all, none };

/// What an index says, with all files that it names, or alone: then tensors have names, and neither shapes nor formats.
inline result<safetensors_checkpoint> load_index(const std::filesystem::path& path,
                                                 index_files which = index_files::all) {
    const result<json_document> document = read_object("safetensors.index", path, safetensors_limits::index,
                                                       "an index of at most 32 MiB that can be read");
    if (!document) return document.error();
    config_fields index{document->root};
    const result<tensors_by_file> files = read_weight_map(index);
    if (!files) return files.error();
    safetensors_checkpoint whole;
    whole.files = 0;
    std::set<std::string> names;
    for (const auto& [file, listed] : *files) {
        if (which == index_files::none) {
            for (const std::string& name : listed) whole.tensors.push_back({.name = name});
            continue;
        }
        result<safetensors_checkpoint> read = load_one(path.parent_path() / file);
        if (!read) return read;
        if (const status s = append_file(whole, names, *std::move(read), listed); !s) return s.error();
    }
    if (const nlohmann::json* metadata = index.object("metadata"))
        if (const auto total = metadata->find("total_size"); total != metadata->end())
            if (const auto* size = total->get_ptr<const std::uint64_t*>();
                size != nullptr && *size < static_cast<std::uint64_t>(INT64_MAX))
                whole.stated = bytes(static_cast<std::int64_t>(*size));
    return whole;
}

}  // namespace llmres::inline v0::detail::safetensors
