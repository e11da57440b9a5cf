// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <llmres/io/files/byte_source.hpp>
#include <llmres/models/gguf/types.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The header of a GGUF file: its metadata, and where its tensors lie. The tensors themselves are never read. Versions
/// 2 and 3, little-endian; anything else is refused by name. (Format: ggml's docs/gguf.md.) No length in the file is
/// trusted: memory is bounded by the bytes that are there.
namespace llmres::inline v0 {

/// The most that a header may hold; published files stay below a tenth of each.
struct gguf_limits {
    static constexpr std::uint64_t tensors = 1u << 20;    ///< tensors at most
    static constexpr std::uint64_t metadata = 1u << 16;   ///< entries of metadata at most
    static constexpr std::uint64_t name = 1u << 12;       ///< bytes of a key or a tensor's name
    static constexpr std::uint64_t text = 16u << 20;      ///< bytes of a text value, such as a chat template
    static constexpr std::uint64_t array = 4u << 20;      ///< elements of all arrays together, such as vocabularies
    static constexpr std::uint64_t all_text = 32u << 20;  ///< bytes of all keys, names and text values together
    static constexpr int nesting = 4;                     ///< depth of arrays in arrays
    static constexpr std::uint64_t kept_array = 4096;     ///< elements of an array of integers whose values are kept
    static constexpr std::uint64_t files = 1000;          ///< parts of a split model
};

/// A value of the metadata. Of arrays of texts, and of long arrays, only the number of elements is kept.
struct gguf_value {
    /// What it is.
    enum class kind : std::uint8_t { integer, number, flag, text, array };
    kind is = kind::integer;               ///< what it is
    std::int64_t integer = 0;              ///< a flag is 0 or 1; 2^63 and more are 2^63 - 1
    double number = 0;                     ///< a number
    std::string text{};                    ///< a text
    std::uint64_t elements = 0;            ///< elements of an array; of nested arrays, those of the outermost
    std::vector<std::int64_t> integers{};  ///< the values of a short array of integers or flags
};

/// One tensor as the header lists it.
struct gguf_tensor_info {
    std::string name{};                              ///< its name
    gguf_type type = gguf_type::F32;                 ///< its type
    std::array<std::uint64_t, 4> shape{1, 1, 1, 1};  ///< the length of a row first
    std::uint32_t dimensions = 0;                    ///< its dimensions, the row first
    std::uint64_t offset = 0;                        ///< bytes from the start of the data in the file
    std::uint32_t file = 0;                          ///< the part of a split model that holds it
    byte_count size{};                               ///< without padding
};

/// One file, or all parts of a split model.
struct gguf_file {
    std::uint32_t version = 0;                                  ///< version of the format
    std::uint64_t alignment = 32;                               ///< bytes that tensors are aligned to
    std::map<std::string, gguf_value, std::less<>> metadata{};  ///< the metadata
    std::vector<gguf_tensor_info> tensors{};                    ///< the tensors
    byte_count header{};      ///< bytes of the headers of all parts, with the padding before the data
    byte_count size{};        ///< bytes of all parts
    std::uint32_t files = 1;  ///< files that the model is split over

    /// The value of a key; null where there is none.
    const gguf_value* find(std::string_view key) const {
        const auto found = metadata.find(key);
        return found == metadata.end() ? nullptr : &found->second;
    }
    /// The number of a key, or another where there is none.
    std::int64_t integer_or(std::string_view key, std::int64_t fallback) const {
        const gguf_value* found = find(key);
        return found != nullptr && found->is == gguf_value::kind::integer ? found->integer : fallback;
    }
    /// The text of a key, or another where there is none.
    std::string_view text_or(std::string_view key, std::string_view fallback) const {
        const gguf_value* found = find(key);
        return found != nullptr && found->is == gguf_value::kind::text ? std::string_view{found->text} : fallback;
    }
    /// Bytes of all tensors, each padded to the alignment.
    byte_count tensor_bytes() const {
        byte_count total;
        for (const gguf_tensor_info& tensor : tensors)
            total += aligned_up(tensor.size, bytes(static_cast<std::int64_t>(alignment)));
        return total;
    }
    /// The number of values in all tensors.
    parameter_count elements() const;
};

/// Reads the header of a file that lies in memory; of a split model, one part alone. (io/files.hpp has
/// load_gguf(path).)
inline result<gguf_file> read_gguf(std::span<const std::byte> file);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail::gguf {

/// Value types of the metadata (gguf.md: gguf_metadata_value_type), as wide as what is read to be compared with them.
// NOLINTNEXTLINE(performance-enum-size)
enum value_type : std::uint64_t { u8, i8, u16, i16, u32, i32, f32, boolean, text_value, array, u64, i64, f64 };

class reader {
public:
    explicit reader(byte_source source) : source_{std::move(source)} {}

    result<gguf_file> read() {
        if (!magic() || !pairs() || !tensors() || !places()) return error_;
        return std::move(file_);
    }

private:
    bool fail(error_code code, std::string_view field, std::string_view value, std::string_view expected) {
        error_ = {code, std::string_view{printable(field)}, std::string_view{printable(value)}, expected};
        return false;
    }
    bool fail(error_code code, std::string_view field, std::uint64_t value, std::string_view expected) {
        return fail(code, field, std::to_string(value), expected);
    }
    bool truncated(std::string_view field) {
        return fail(error_code::malformed, field, "the end of the file", "a GGUF header that is all there");
    }
    bool number(std::string_view field, std::uint64_t& to) {
        return source_.read_little_endian<8>(to) || truncated(field);
    }
    bool small_number(std::string_view field, std::uint64_t& to) {
        return source_.read_little_endian<4>(to) || truncated(field);
    }
    bool text(std::string_view field, std::uint64_t most, std::string& to) {
        std::uint64_t length = 0;
        if (!number(field, length)) return false;
        if (length > most) return fail(error_code::out_of_range, field, length, "a text of a plausible length");
        texts_ += length;
        if (texts_ > gguf_limits::all_text)
            return fail(error_code::out_of_range, field, texts_, "keys, names and texts of at most 32 MiB in all");
        return source_.read_text(length, to) || truncated(field);
    }

    bool magic() {
        std::array<char, 4> letters{};
        if (!source_.read(letters.data(), letters.size())) return truncated("gguf.magic");
        const std::string_view found{letters.data(), letters.size()};
        if (found == "FUGG") return fail(error_code::unsupported, "gguf.magic", "FUGG", "a little-endian GGUF file");
        if (found == "lmgg" || found == "tjgg" || found == "fmgg" || found == "algg")
            return fail(error_code::unsupported, "gguf.magic", "a GGML file from before GGUF", "a GGUF file");
        if (found != "GGUF")
            return fail(error_code::malformed, "gguf.magic", "other bytes", "a file that starts with GGUF");
        std::uint64_t version = 0;
        if (!small_number("gguf.version", version)) return false;
        if (version != 0 && (version & 0xffff) == 0)
            return fail(error_code::unsupported, "gguf.version", "a big-endian number", "a little-endian GGUF file");
        if (version != 2 && version != 3)
            return fail(error_code::unsupported, "gguf.version", version, "version 2 or 3");
        file_.version = static_cast<std::uint32_t>(version);
        if (!number("gguf.tensor_count", tensor_count_) || !number("gguf.metadata_count", pair_count_)) return false;
        // A tensor takes 32 bytes and its name, a pair 13 bytes and its key: a number that cannot fit is refused here.
        if (tensor_count_ > gguf_limits::tensors || tensor_count_ > source_.remaining() / 32)
            return fail(error_code::out_of_range, "gguf.tensor_count", tensor_count_,
                        "as many tensors as the file can hold");
        if (pair_count_ > gguf_limits::metadata || pair_count_ > source_.remaining() / 13)
            return fail(error_code::out_of_range, "gguf.metadata_count", pair_count_,
                        "as many keys as the file can hold");
        return true;
    }

    /// Bytes of a value of the type; 0 for texts, arrays and unknown types.
    static std::size_t width_of(std::uint64_t type) {
        constexpr std::array<std::size_t, f64 + 1> widths{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
        return type < widths.size() ? widths[static_cast<std::size_t>(type)] : 0;
    }

    /// Reads a number of the type.
    bool scalar(std::string_view key, std::uint64_t type, gguf_value& to) {
        std::uint64_t raw = 0;
        bool there = false;
        switch (width_of(type)) {
            case 1: there = source_.read_little_endian<1>(raw); break;
            case 2: there = source_.read_little_endian<2>(raw); break;
            case 4: there = source_.read_little_endian<4>(raw); break;
            case 8: there = source_.read_little_endian<8>(raw); break;
            default: return fail(error_code::unknown, key, type, "a value type from 0 to 12");
        }
        if (!there) return truncated(key);
        to.is = type == boolean ? gguf_value::kind::flag : gguf_value::kind::integer;
        switch (type) {
            case i8:
                to.integer = static_cast<std::int8_t>(raw);  // NOLINT(bugprone-signed-char-misuse): it is a number
                break;
            case i16: to.integer = static_cast<std::int16_t>(raw); break;
            case i32: to.integer = static_cast<std::int32_t>(raw); break;
            case i64: to.integer = static_cast<std::int64_t>(raw); break;
            case f32: to.number = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(raw))); break;
            case f64: to.number = std::bit_cast<double>(raw); break;
            case boolean:
                if (raw > 1) return fail(error_code::malformed, key, raw, "a boolean of 0 or 1");
                [[fallthrough]];
            default: to.integer = raw > 0x7fffffffffffffffu ? 0x7fffffffffffffff : static_cast<std::int64_t>(raw);
        }
        if (type == f32 || type == f64) to.is = gguf_value::kind::number;
        return true;
    }

    bool elements(std::string_view key, int depth, gguf_value& to) {
        if (depth > gguf_limits::nesting)
            return fail(error_code::out_of_range, key, "arrays in arrays", "arrays nested at most four deep");
        std::uint64_t type = 0;
        std::uint64_t count = 0;
        if (!small_number(key, type) || !number(key, count)) return false;
        if (depth == 1) to.elements = count;
        const std::size_t width = width_of(type);
        if (count > gguf_limits::array || count > source_.remaining() / (width > 0 ? width : type == array ? 12 : 8))
            return fail(error_code::out_of_range, key, count, "as many elements as the file can hold");
        elements_ += count;
        if (elements_ > gguf_limits::array)
            return fail(error_code::out_of_range, key, elements_, "at most 4194304 elements in all arrays");
        if (width > 0) {
            if (type == f32 || type == f64 || depth > 1 || count > gguf_limits::kept_array)
                return source_.skip(count * width) || truncated(key);
            gguf_value element;
            for (std::uint64_t i = 0; i < count; ++i) {
                if (!scalar(key, type, element)) return false;
                to.integers.push_back(element.integer);
            }
            return true;
        }
        for (std::uint64_t i = 0; i < count; ++i) {
            if (type == array) {
                if (!elements(key, depth + 1, to)) return false;
            } else if (type == text_value) {
                std::uint64_t length = 0;
                if (!number(key, length)) return false;
                if (!source_.skip(length)) return truncated(key);
            } else {
                return fail(error_code::unknown, key, type, "a value type from 0 to 12");
            }
        }
        return true;
    }

    bool pairs() {
        for (std::uint64_t i = 0; i < pair_count_; ++i) {
            std::string key;
            std::uint64_t type = 0;
            if (!text("gguf.key", gguf_limits::name, key) || !small_number(key, type)) return false;
            gguf_value value;
            if (type == text_value) {
                value.is = gguf_value::kind::text;
                if (!text(key, gguf_limits::text, value.text)) return false;
            } else if (type == array) {
                value.is = gguf_value::kind::array;
                if (!elements(key, 1, value)) return false;
            } else if (!scalar(key, type, value)) {
                return false;
            }
            if (!file_.metadata.emplace(key, std::move(value)).second)
                return fail(error_code::inconsistent, "gguf.key", key, "each key once");
        }
        const gguf_value* alignment = file_.find("general.alignment");
        if (alignment == nullptr) return true;
        if (alignment->is != gguf_value::kind::integer || alignment->integer < 1 || alignment->integer > (1 << 20) ||
            !std::has_single_bit(static_cast<std::uint64_t>(alignment->integer)))
            return fail(error_code::out_of_range, "general.alignment", static_cast<std::uint64_t>(alignment->integer),
                        "a power of two up to 2^20");
        file_.alignment = static_cast<std::uint64_t>(alignment->integer);
        return true;
    }

    bool tensors() {
        std::set<std::string, std::less<>> names;
        for (std::uint64_t i = 0; i < tensor_count_; ++i) {
            gguf_tensor_info tensor;
            std::uint64_t dimensions = 0;
            std::uint64_t type = 0;
            if (!text("gguf.tensor", gguf_limits::name, tensor.name) || !small_number(tensor.name, dimensions))
                return false;
            if (dimensions > tensor.shape.size())
                return fail(error_code::out_of_range, tensor.name, dimensions, "at most four dimensions");
            tensor.dimensions = static_cast<std::uint32_t>(dimensions);
            for (std::uint64_t d = 0; d < dimensions; ++d)
                if (!number(tensor.name, tensor.shape[static_cast<std::size_t>(d)])) return false;
            if (!small_number(tensor.name, type) || !number(tensor.name, tensor.offset)) return false;
            const maybe<gguf_type_info> known = find_gguf_type(static_cast<std::uint32_t>(type));
            if (!known) return fail(error_code::unknown, tensor.name, type, "a tensor type that llama.cpp knows");
            tensor.type = known.value.type;
            if (!sized(tensor, known.value)) return false;
            if (!names.insert(tensor.name).second)
                return fail(error_code::inconsistent, "gguf.tensor", tensor.name, "each tensor once");
            file_.tensors.push_back(std::move(tensor));
        }
        return true;
    }

    bool sized(gguf_tensor_info& tensor, const gguf_type_info& type) {
        std::int64_t count = 1;
        for (const std::uint64_t side : tensor.shape)
            if (side > static_cast<std::uint64_t>(INT64_MAX) ||
                __builtin_mul_overflow(count, static_cast<std::int64_t>(side), &count))
                return fail(error_code::overflow, tensor.name, side, "fewer than 2^63 values in a tensor");
        if (tensor.shape[0] % static_cast<std::uint64_t>(type.block()) != 0)
            return fail(error_code::inconsistent, tensor.name, tensor.shape[0],
                        "rows of whole blocks of the tensor's type");
        std::int64_t size = 0;
        if (__builtin_mul_overflow(count / type.block(), type.block_bytes(), &size))
            return fail(error_code::overflow, tensor.name, static_cast<std::uint64_t>(count),
                        "fewer than 2^63 bytes in a tensor");
        tensor.size = bytes(size);
        return true;
    }

    /// Finds where the data starts, and refuses tensors that lie outside of it or overlap.
    bool places() {
        const std::uint64_t padding = (file_.alignment - source_.position() % file_.alignment) % file_.alignment;
        std::uint64_t start = source_.position() + padding;
        if (start > source_.size()) {
            if (!file_.tensors.empty()) return truncated("gguf.data");
            start = source_.size();  // nothing to align
        }
        const std::uint64_t there = source_.size() - start;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
        for (const gguf_tensor_info& tensor : file_.tensors) {
            const auto size = static_cast<std::uint64_t>(tensor.size.in(bytes));
            if (tensor.offset % file_.alignment != 0)
                return fail(error_code::inconsistent, tensor.name, tensor.offset,
                            "an offset at a multiple of the alignment");
            if (tensor.offset > there || size > there - tensor.offset)
                return fail(error_code::out_of_range, tensor.name, tensor.offset,
                            "an offset and a size within the file");
            if (size > 0) spans.emplace_back(tensor.offset, size);
        }
        std::sort(spans.begin(), spans.end());
        for (std::size_t i = 1; i < spans.size(); ++i)
            if (spans[i].first < spans[i - 1].first + spans[i - 1].second)
                return fail(error_code::inconsistent, "gguf.data", spans[i].first, "tensors that do not overlap");
        file_.header = bytes(static_cast<std::int64_t>(start));
        file_.size = bytes(static_cast<std::int64_t>(source_.size()));
        return true;
    }

    byte_source source_;
    gguf_file file_{};
    error error_{};
    std::uint64_t tensor_count_ = 0;
    std::uint64_t pair_count_ = 0;
    std::uint64_t texts_ = 0;     ///< bytes of the texts read so far
    std::uint64_t elements_ = 0;  ///< elements of the arrays met so far
};

}  // namespace detail::gguf

inline parameter_count gguf_file::elements() const {
    parameter_count total;
    for (const gguf_tensor_info& tensor : tensors) {
        parameter_count count = parameters(1);
        for (const std::uint64_t side : tensor.shape) count = count * static_cast<std::int64_t>(side);
        total += count;
    }
    return total;
}

inline result<gguf_file> read_gguf(std::span<const std::byte> file) {
    return detail::gguf::reader{detail::byte_source{file}}.read();
}

}  // namespace llmres::inline v0
