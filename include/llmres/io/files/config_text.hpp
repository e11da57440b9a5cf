// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <llmres/values/error.hpp>
#include <string>
#include <system_error>

/// config.json files: their text, and what a model is called after their place.
namespace llmres::inline v0::detail {

/// What a config.json of at most 16 MiB holds (the largest seen is below 1 MB).
inline result<std::string> read_config_text(const std::filesystem::path& file) {
    constexpr std::uintmax_t largest = 16u << 20;
    std::error_code failed;
    const std::string shown = file.generic_string();
    const std::uintmax_t size = std::filesystem::file_size(file, failed);
    if (failed) return refused(error_code::io, "config", shown, "a config.json that can be read");
    if (size > largest) return refused(error_code::io, "config", shown, "a config.json of at most 16 MiB");
    std::ifstream stream{file, std::ios::binary};
    std::string content{std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
    if (!stream) return refused(error_code::io, "config", shown, "a config.json that can be read");
    return content;
}

/// What a model is called after the place of its config.json: the folder, or the file if that is called otherwise.
inline std::string config_name(const std::filesystem::path& file) {
    std::error_code failed;
    const std::filesystem::path whole = std::filesystem::absolute(file, failed);
    return file.filename() == "config.json" ? whole.parent_path().filename().string() : file.stem().string();
}

}  // namespace llmres::inline v0::detail
