// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <llmres/io/files/byte_source.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/values/error.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

/// Opens files: as bytes that are read piece by piece, or as a whole text.
namespace llmres::inline v0::detail {

/// The bytes of a regular file; reads none of them yet. `field` names the file in the error.
inline result<byte_source> open_bytes(std::string_view field, const std::filesystem::path& path) {
    std::error_code failed;
    const auto refuse = [&] {
        return refused(error_code::io, field, path.generic_string(), "a file that can be read");
    };
    // Before it is opened: opening a pipe waits until someone writes.
    if (!std::filesystem::is_regular_file(path, failed)) return refuse();
    const std::uintmax_t size = std::filesystem::file_size(path, failed);
    const auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
    if (failed || !*file) return refuse();
    return byte_source{size, [file](std::uint64_t position, std::span<std::byte> to) {
                           file->clear();
                           file->seekg(static_cast<std::streamoff>(position));
                           file->read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
                           return static_cast<std::size_t>(file->gcount());
                       }};
}

/// The text of a regular file of at most `largest` bytes: a pipe or a device may never end. An error names `field` and
/// says that `expected` was.
inline result<std::string> read_text(std::string_view field, const std::filesystem::path& path, std::uintmax_t largest,
                                     std::string_view expected) {
    const auto refuse = [&] { return refused(error_code::io, field, path.generic_string(), expected); };
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) return refuse();
    const std::uintmax_t size = std::filesystem::file_size(path, failed);
    if (failed || size > largest) return refuse();
    std::ifstream stream{path, std::ios::binary};
    std::string content(static_cast<std::size_t>(size), '\0');
    if (!stream.read(content.data(), static_cast<std::streamsize>(size))) return refuse();
    return content;
}

/// The object that a JSON file holds: read_text(), parsed.
inline result<json_document> read_object(std::string_view field, const std::filesystem::path& path,
                                         std::uintmax_t largest, std::string_view expected) {
    const result<std::string> content = read_text(field, path, largest, expected);
    if (!content) return content.error();
    return parse_json_object(*content);
}

/// The text of a config.json of at most 16 MiB (the largest seen is 3 MB).
inline result<std::string> read_config_text(const std::filesystem::path& path) {
    return read_text("config", path, 16u << 20, "a config.json of at most 16 MiB that can be read");
}

/// The path of a config.json: the file itself, or the one in a folder.
inline std::filesystem::path config_file(const std::filesystem::path& path) {
    std::error_code failed;
    return std::filesystem::is_directory(path, failed) ? path / "config.json" : path;
}

/// The name of a model by the place of its config.json: the folder, or the file if that is not called config.json.
inline std::string config_name(const std::filesystem::path& file) {
    std::error_code failed;
    const std::filesystem::path whole = std::filesystem::absolute(file, failed);
    return file.filename() == "config.json" ? whole.parent_path().filename().string() : file.stem().string();
}

}  // namespace llmres::inline v0::detail
