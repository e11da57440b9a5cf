// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The bytes of a GGUF or safetensors file in order, wherever they lie: in memory, or read piece by piece. The number
/// of bytes is known, so that no length read from them is believed. Opens nothing (files/open.hpp does).
namespace llmres::inline v0::detail {

/// A name from a stranger as an error may show it: control characters as '?', and never empty.
inline std::string printable(std::string_view name) {
    std::string shown{name.substr(0, 100)};
    for (char& c : shown)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    return shown.empty() ? "(empty)" : shown;
}

class byte_source {
public:
    /// Fills `to` from a position on, and returns how many bytes there were.
    using piece_reader = std::function<std::size_t(std::uint64_t position, std::span<std::byte> to)>;

    byte_source() = default;
    explicit byte_source(std::span<const std::byte> memory) : memory_{memory}, size_{memory.size()} {}
    /// `size` bytes, read in pieces of at most 64 KiB as they are asked for.
    byte_source(std::uint64_t size, piece_reader read) : read_piece_{std::move(read)}, size_{size} {
        window_.resize(static_cast<std::size_t>((std::min<std::uint64_t>)(size, 64u << 10)));
    }

    std::uint64_t size() const { return size_; }
    std::uint64_t position() const { return position_; }
    std::uint64_t remaining() const { return size_ - position_; }

    /// False, and nothing read, if there are fewer bytes than that or a piece cannot be read.
    bool read(void* to, std::size_t length) {
        if (length > remaining()) return false;
        char* out = static_cast<char*>(to);
        while (length > 0) {
            const std::span<const std::byte> ahead = here();
            const std::size_t part = (std::min)(length, ahead.size());
            if (part == 0) return false;
            std::memcpy(out, ahead.data(), part);
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
    /// The bytes from the position on that are in memory, after reading the next piece if there are none.
    std::span<const std::byte> here() {
        if (!read_piece_) return memory_.subspan(static_cast<std::size_t>(position_));
        if (position_ < window_start_ || position_ >= window_start_ + window_length_) {
            window_start_ = position_;
            window_length_ = read_piece_(position_, window_);
        }
        const auto offset = static_cast<std::size_t>(position_ - window_start_);
        return std::span<const std::byte>{window_}.subspan(offset, static_cast<std::size_t>(window_length_) - offset);
    }

    std::span<const std::byte> memory_{};
    piece_reader read_piece_{};
    std::vector<std::byte> window_{};
    std::uint64_t window_start_ = 0;
    std::uint64_t window_length_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t position_ = 0;
};

}  // namespace llmres::inline v0::detail
