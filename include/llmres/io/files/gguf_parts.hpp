// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <llmres/io/files/open.hpp>
#include <llmres/io/gguf.hpp>
#include <llmres/values/error.hpp>
#include <string>
#include <string_view>
#include <utility>

/// GGUF files by their path: one alone, and the parts of a split model put together (llama.cpp's gguf-split).
namespace llmres::inline v0::detail::gguf {

inline result<gguf_file> load_one(const std::filesystem::path& path) {
    result<byte_source> source = open_bytes("gguf", path);
    if (!source) return source.error();
    return reader{std::move(*std::move(source))}.read();
}

/// The path of part `number` of the split model that `path` is a part of; empty if its name is not that of a part.
inline std::filesystem::path part_path(const std::filesystem::path& path, std::uint64_t number, std::uint64_t parts) {
    const auto padded = [](std::uint64_t n) {
        std::string digits = std::to_string(n);
        return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
    };
    const std::string name = path.filename().string();
    const std::string tail = "-of-" + padded(parts) + ".gguf";
    if (!name.ends_with(tail)) return {};
    const std::string_view stem = std::string_view{name}.substr(0, name.size() - tail.size());
    const std::size_t dash = stem.find_last_not_of("0123456789");
    if (dash == std::string_view::npos || stem[dash] != '-' || stem.size() - dash != 6) return {};
    return path.parent_path() / (std::string{stem.substr(0, dash + 1)} + padded(number) + tail);
}

/// Adds the part that follows those in `whole`; the first part's metadata is the model's.
inline void append_part(gguf_file& whole, gguf_file part, std::uint64_t number) {
    for (gguf_tensor_info& tensor : part.tensors) {
        tensor.file = static_cast<std::uint32_t>(number - 1);
        whole.tensors.push_back(std::move(tensor));
    }
    if (number == 1) {
        whole.version = part.version;
        whole.alignment = part.alignment;
        whole.metadata = std::move(part.metadata);
    }
    whole.header += part.header;
    whole.size += part.size;
    whole.files = static_cast<std::uint32_t>(number);
}

/// All `parts` of the model that `path` is one part of.
inline result<gguf_file> load_parts(const std::filesystem::path& path, std::uint64_t parts) {
    gguf_file whole;
    for (std::uint64_t number = 1; number <= parts; ++number) {
        const std::filesystem::path place = part_path(path, number, parts);
        if (place.empty())
            return refused(error_code::malformed, "split.count", path.filename().string(),
                           "a file name that ends in -NNNNN-of-NNNNN.gguf");
        result<gguf_file> part = load_one(place);
        if (!part) return part;
        if (part->integer_or("split.count", 1) != static_cast<std::int64_t>(parts) ||
            part->integer_or("split.no", -1) != static_cast<std::int64_t>(number - 1))
            return refused(error_code::inconsistent, "split.no", place.filename().string(),
                           "the number of the part that its name says");
        append_part(whole, *std::move(part), number);
    }
    const auto found = static_cast<std::int64_t>(whole.tensors.size());
    if (const std::int64_t listed = whole.integer_or("split.tensors.count", found); listed != found)
        return refused(error_code::inconsistent, "split.tensors.count", listed, "as many tensors as the parts hold");
    return whole;
}

}  // namespace llmres::inline v0::detail::gguf
