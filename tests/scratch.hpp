// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace run_program {

namespace fs = std::filesystem;

/// A folder of one test, gone with it.
class scratch {
public:
    scratch() {
        std::string pattern = (fs::temp_directory_path() / "llmres-test-XXXXXX").string();
        if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
    }
    ~scratch() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;

    fs::path path() const { return path_; }
    /// Writes a file and gives its path.
    std::string file(const std::string& name, std::string_view content) const {
        const fs::path file = path_ / name;
        fs::create_directories(file.parent_path());
        std::ofstream{file, std::ios::binary} << content;
        return file.string();
    }

private:
    fs::path path_;
};

}  // namespace run_program
