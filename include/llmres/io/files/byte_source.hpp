// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <llmres/values/error.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// Bytes in order, from a file or from memory. Knows how many there are, so that no length read from them is believed.
namespace llmres::inline v0::detail {

/// A name from a stranger as an error may show it: control characters as '?', and never nothing.
inline std::string printable(std::string_view name) {
    std::string shown{name.substr(0, 100)};
    for (char& c : shown)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    return shown.empty() ? "(empty)" : shown;
}

class byte_source {
public:
    byte_source() = default;
    explicit byte_source(std::span<const std::byte> memory) : memory_{memory}, size_{memory.size()} {}

    /// Opens a regular file; reads nothing yet. `field` names it in the error.
    static result<byte_source> open(std::string_view field, const std::filesystem::path& path) {
        const std::string shown = path.generic_string();
        std::error_code failed;
        const bool regular = std::filesystem::is_regular_file(path, failed);
        const std::uintmax_t size = regular ? std::filesystem::file_size(path, failed) : 0;
        byte_source made;
        made.file_ = std::make_unique<std::ifstream>(path, std::ios::binary);
        if (!regular || failed || !*made.file_) return refused(error_code::io, field, shown, "a file that can be read");
        made.size_ = size;
        made.window_.resize(static_cast<std::size_t>(std::min<std::uintmax_t>(size, 64u << 10)));
        return made;
    }

    std::uint64_t size() const { return size_; }
    std::uint64_t position() const { return position_; }
    std::uint64_t remaining() const { return size_ - position_; }

    /// False, and nothing read, if there are fewer bytes than that or the file fails.
    bool read(void* to, std::size_t length) {
        if (length > remaining()) return false;
        char* out = static_cast<char*>(to);
        while (length > 0) {
            const std::span<const std::byte> near = here();
            const std::size_t part = std::min(length, near.size());
            if (part == 0) return false;
            std::memcpy(out, near.data(), part);
            out += part;
            length -= part;
            position_ += part;
        }
        return true;
    }
    bool skip(std::uint64_t length) {
        if (length > remaining()) return false;
        position_ += length;
        return true;
    }
    /// An unsigned integer of `Width` bytes, the lowest first.
    template <std::size_t Width>
    bool read_little_endian(std::uint64_t& number) {
        std::array<unsigned char, Width> raw{};
        if (!read(raw.data(), Width)) return false;
        number = 0;
        for (std::size_t i = Width; i-- > 0;) number = number << 8 | raw[i];
        return true;
    }
    /// A text of that length; allocates no more than there is left to read.
    bool read_text(std::uint64_t length, std::string& to) {
        if (length > remaining()) return false;
        to.resize(static_cast<std::size_t>(length));
        return read(to.data(), to.size());
    }

private:
    /// What lies at the position without another read of the file.
    std::span<const std::byte> here() {
        if (file_ == nullptr) return memory_.subspan(static_cast<std::size_t>(position_));
        if (position_ < window_start_ || position_ >= window_start_ + window_length_) {
            window_start_ = position_;
            file_->clear();
            file_->seekg(static_cast<std::streamoff>(position_));
            file_->read(reinterpret_cast<char*>(window_.data()), static_cast<std::streamsize>(window_.size()));
            window_length_ = static_cast<std::uint64_t>(file_->gcount());
        }
        const auto offset = static_cast<std::size_t>(position_ - window_start_);
        return std::span<const std::byte>{window_}.subspan(offset, static_cast<std::size_t>(window_length_) - offset);
    }

    std::span<const std::byte> memory_{};
    std::unique_ptr<std::ifstream> file_{};
    std::vector<std::byte> window_{};
    std::uint64_t window_start_ = 0;
    std::uint64_t window_length_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t position_ = 0;
};

}  // namespace llmres::inline v0::detail
