// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace kubernetes {

/// The GPUs of nodes by the nodes' names, from a file of lines "NAME GPU", which is read again whenever it has changed.
class nodes_file {
public:
    using names = std::map<std::string, std::string, std::less<>>;

    explicit nodes_file(std::filesystem::path path) : path_{std::move(path)} {}

    /// What the file says now; where it cannot be read, what it said last.
    std::shared_ptr<const names> now();

private:
    std::filesystem::path path_;
    std::mutex reading_{};
    std::filesystem::file_time_type changed_{};
    std::shared_ptr<const names> last_ = std::make_shared<const names>();
};

}  // namespace kubernetes
