// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <llmres/io/files/byte_source.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// The headers of safetensors files: which tensors a checkpoint really stores, in which format, in how many bytes. The
/// tensors themselves are never read. (Format: safetensors' README, section Format.)
namespace llmres::inline v0 {

/// What a header may hold at most.
struct safetensors_limits {
    static constexpr std::uint64_t header = 100'000'000;  ///< bytes, as the reference reader has it
    static constexpr std::size_t dimensions = 16;
    static constexpr std::uintmax_t index = 64u << 20;  ///< bytes of an index
    static constexpr std::size_t files = 10'000;        ///< of one checkpoint
};

/// A tensor as the header lists it.
struct safetensors_tensor {
    std::string name{};
    std::string format{};  ///< as the file spells it: BF16, F8_E4M3, U8
    std::vector<std::uint64_t> shape{};
    std::uint64_t begin = 0;  ///< from the start of the file's data
    std::uint64_t end = 0;
    std::uint32_t file = 0;  ///< which file of the checkpoint

    byte_count size() const { return bytes(static_cast<std::int64_t>(end - begin)); }
    parameter_count elements() const {
        parameter_count count = parameters(1);
        for (const std::uint64_t side : shape) count = count * static_cast<std::int64_t>(side);
        return count;
    }
};

/// One file, or all the files that an index names.
struct safetensors_checkpoint {
    std::vector<safetensors_tensor> tensors{};
    byte_count header{};  ///< of all files, with the length in front
    byte_count size{};    ///< of all files
    std::uint32_t files = 1;
    maybe<byte_count> stated{};  ///< `metadata.total_size` of the index; often wrong

    byte_count tensor_bytes() const {
        byte_count total;
        for (const safetensors_tensor& tensor : tensors) total += tensor.size();
        return total;
    }
    parameter_count elements() const {
        parameter_count total;
        for (const safetensors_tensor& tensor : tensors) total += tensor.elements();
        return total;
    }
};

/// Reads the header in memory.
inline result<safetensors_checkpoint> read_safetensors(std::span<const std::byte> file);

/// Reads a file, or all that an index (`*.safetensors.index.json`) names, or the checkpoint in a folder.
inline result<safetensors_checkpoint> load_safetensors(const std::filesystem::path& path);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail::safetensors {

struct element {
    std::string_view name;
    std::uint32_t bits;
};
inline constexpr std::array elements{
    element{"BOOL", 8},    element{"U8", 8},   element{"I8", 8},      element{"F8_E5M2", 8}, element{"F8_E4M3", 8},
    element{"F8_E8M0", 8}, element{"F4", 4},   element{"F6_E2M3", 6}, element{"F6_E3M2", 6}, element{"I16", 16},
    element{"U16", 16},    element{"F16", 16}, element{"BF16", 16},   element{"I32", 32},    element{"U32", 32},
    element{"F32", 32},    element{"I64", 64}, element{"U64", 64},    element{"F64", 64},    element{"C64", 64}};

/// Takes the header's JSON as it is parsed: two levels of objects, lists of integers in the second. Nothing else is
/// built.
class header_reader : public nlohmann::json_sax<nlohmann::json> {
public:
    const error& failure() const { return failure_; }
    std::vector<safetensors_tensor>& tensors() { return tensors_; }

    bool null() override { return unexpected("null"); }
    bool boolean(bool value) override { return unexpected(value ? "true" : "false"); }
    bool number_float(double, const std::string& written) override { return unexpected(written); }
    bool number_integer(std::int64_t value) override { return unexpected(std::to_string(value)); }
    bool number_unsigned(std::uint64_t value) override {
        if (!in_list_) return unexpected(std::to_string(value));
        if (list_.size() == safetensors_limits::dimensions)
            return fail(error_code::out_of_range, tensor_.name, "a long list", "at most 16 dimensions");
        list_.push_back(value);
        return true;
    }
    bool string(std::string& value) override {
        if (depth_ == 2 && in_metadata_) return true;
        if (depth_ != 2 || in_list_ || field_ != "dtype") return unexpected(value);
        tensor_.format = value;
        return true;
    }
    bool binary(nlohmann::json::binary_t&) override { return unexpected("binary"); }
    bool start_object(std::size_t) override {
        if (depth_ == 2 || in_list_ || (depth_ == 1 && name_.empty() && !named_)) return unexpected("an object");
        ++depth_;
        if (depth_ == 2) {
            fields_.clear();
            tensor_ = {};
            tensor_.name = name_;
            in_metadata_ = name_ == "__metadata__";
        }
        return true;
    }
    bool key(std::string& name) override {
        auto& seen = depth_ == 1 ? names_ : fields_;
        if (!seen.insert(name).second)
            return fail(error_code::inconsistent, depth_ == 1 ? "safetensors.tensor" : name_, name, "each name once");
        if (depth_ == 1) {
            name_ = name;
            named_ = true;
        } else {
            field_ = name;
            if (!in_metadata_ && name != "dtype" && name != "shape" && name != "data_offsets")
                return fail(error_code::unknown, tensor_.name, name, "dtype, shape and data_offsets");
        }
        return true;
    }
    bool end_object() override {
        --depth_;
        if (depth_ != 1) return true;
        if (std::exchange(in_metadata_, false)) return true;
        if (fields_.size() != 3)
            return fail(error_code::missing, tensor_.name, "a field is absent", "dtype, shape and data_offsets");
        tensors_.push_back(std::move(tensor_));
        return true;
    }
    bool start_array(std::size_t) override {
        if (depth_ != 2 || in_metadata_ || in_list_ || (field_ != "shape" && field_ != "data_offsets"))
            return unexpected("a list");
        in_list_ = true;
        list_.clear();
        return true;
    }
    bool end_array() override {
        in_list_ = false;
        if (field_ == "shape") {
            tensor_.shape = list_;
            return true;
        }
        if (list_.size() != 2) return fail(error_code::malformed, tensor_.name, "other than two", "two data_offsets");
        tensor_.begin = list_[0];
        tensor_.end = list_[1];
        return true;
    }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
        return fail(error_code::malformed, "safetensors.header", "byte " + std::to_string(position), "a JSON object");
    }

private:
    bool fail(error_code code, std::string_view field, std::string_view value, std::string_view expected) {
        if (failure_.code == error_code::none)
            failure_ = {code, std::string_view{printable(field)}, std::string_view{printable(value)}, expected};
        return false;
    }
    bool unexpected(std::string_view what) {
        return fail(error_code::malformed,
                    depth_ < 2 ? std::string_view{"safetensors.header"} : std::string_view{name_}, what,
                    "an object of tensors, each with dtype, shape and data_offsets");
    }

    std::vector<safetensors_tensor> tensors_{};
    std::set<std::string> names_{};
    std::set<std::string> fields_{};
    safetensors_tensor tensor_{};
    std::string name_{};
    std::string field_{};
    std::vector<std::uint64_t> list_{};
    int depth_ = 0;
    bool named_ = false;
    bool in_metadata_ = false;
    bool in_list_ = false;
    error failure_{};
};

/// Whether the tensor's shape, format and place agree.
inline status check(const safetensors_tensor& tensor, std::uint64_t data) {
    const auto refuse = [&](error_code code, std::uint64_t value, std::string_view expected) {
        return refused(code, std::string_view{printable(tensor.name)}, std::to_string(value), expected);
    };
    std::uint64_t bits = 0;
    for (const element& e : elements)
        if (e.name == tensor.format) bits = e.bits;
    if (bits == 0)
        return refused(error_code::unknown, std::string_view{printable(tensor.name)},
                       std::string_view{printable(tensor.format)}, "a dtype such as BF16, F32 or F8_E4M3");
    for (const std::uint64_t side : tensor.shape)
        if (__builtin_mul_overflow(bits, side, &bits))
            return refuse(error_code::overflow, side, "fewer than 2^64 bits in a tensor");
    if (tensor.end > data || tensor.begin > tensor.end)
        return refuse(error_code::out_of_range, tensor.end, "data_offsets within the file");
    if (bits % 8 != 0 || bits / 8 != tensor.end - tensor.begin)
        return refuse(error_code::inconsistent, tensor.end - tensor.begin, "as many bytes as shape and dtype make");
    return done{};
}

inline result<safetensors_checkpoint> read(byte_source source) {
    std::uint64_t length = 0;
    if (!source.read_little_endian<8>(length))
        return refused(error_code::malformed, "safetensors.header", "the end of the file",
                       "the header's length in eight bytes");
    if (length > safetensors_limits::header || length > source.remaining())
        return refused(error_code::out_of_range, "safetensors.header", std::to_string(length),
                       "a header of at most 100 MB that is all there");
    std::string json;
    if (!source.read_text(length, json))
        return refused(error_code::io, "safetensors.header", "unreadable", "a file that can be read");
    header_reader reader;
    if (!nlohmann::json::sax_parse(json, &reader)) return reader.failure();
    safetensors_checkpoint made;
    made.tensors = std::move(reader.tensors());
    const std::uint64_t data = source.remaining();
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const safetensors_tensor& tensor : made.tensors) {
        if (const status s = check(tensor, data); !s) return s.error();
        places.emplace_back(tensor.begin, tensor.end);
    }
    std::sort(places.begin(), places.end());
    std::uint64_t at = 0;
    for (const auto& [begin, end] : places) {
        if (begin != at)
            return refused(error_code::inconsistent, "safetensors.data", std::to_string(begin),
                           "tensors without gaps or overlaps");
        at = end;
    }
    if (at != data)
        return refused(error_code::inconsistent, "safetensors.data", std::to_string(data),
                       "a file that ends where its tensors do");
    made.header = bytes(static_cast<std::int64_t>(length + 8));
    made.size = bytes(static_cast<std::int64_t>(source.size()));
    return made;
}

inline result<safetensors_checkpoint> load_file(const std::filesystem::path& path) {
    result<byte_source> source = byte_source::open("safetensors", path);
    if (!source) return source.error();
    return read(*std::move(source));
}

/// A file's name with nothing before it: no index leads out of its folder.
inline bool is_plain(std::string_view name) {
    return !name.empty() && name.find_first_of(std::string_view{"/\\:\0", 4}) == std::string_view::npos &&
           name != "." && name != "..";
}

inline result<safetensors_checkpoint> load_index(const std::filesystem::path& path) {
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(path, failed);
    if (failed || size > safetensors_limits::index)
        return refused(error_code::io, "safetensors.index", path.generic_string(),
                       "an index of at most 64 MiB that can be read");
    std::ifstream stream{path, std::ios::binary};
    const std::string content{std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
    const result<json_document> document = parse_json_object(content);
    if (!document) return document.error();
    config_fields fields{document->root};
    const nlohmann::json* map = fields.object("weight_map");
    if (!fields.ok()) return fields.error();
    if (map == nullptr) return refused(error_code::missing, "weight_map", "absent", "the file of each tensor");
    std::map<std::string, std::set<std::string>> files;
    for (const auto& [tensor, file] : map->items()) {
        if (!file.is_string() || !is_plain(file.get_ref<const std::string&>()))
            return refused(error_code::malformed, "weight_map", printable(tensor),
                           "the name of a file beside the index");
        files[file.get<std::string>()].insert(tensor);
    }
    if (files.size() > safetensors_limits::files)
        return refused(error_code::out_of_range, "weight_map", static_cast<std::int64_t>(files.size()),
                       "at most 10000 files");
    safetensors_checkpoint whole;
    whole.files = 0;
    std::set<std::string> names;
    for (const auto& [file, listed] : files) {
        result<safetensors_checkpoint> part = load_file(path.parent_path() / file);
        if (!part) return part;
        safetensors_checkpoint next = *std::move(part);
        std::size_t present = 0;
        for (safetensors_tensor& tensor : next.tensors) {
            if (!names.insert(tensor.name).second)
                return refused(error_code::inconsistent, "safetensors.tensor", printable(tensor.name),
                               "each tensor in one file");
            present += listed.count(tensor.name);
            tensor.file = whole.files;
            whole.tensors.push_back(std::move(tensor));
        }
        if (present != listed.size())
            for (const std::string& tensor : listed)
                if (names.count(tensor) == 0)
                    return refused(error_code::missing, "weight_map", tensor,
                                   "a tensor that is in the file it is mapped to");
        whole.header += next.header;
        whole.size += next.size;
        ++whole.files;
    }
    if (const nlohmann::json* metadata = fields.object("metadata"))
        if (const auto total = metadata->find("total_size"); total != metadata->end() && total->is_number_unsigned())
            if (const auto stated = total->get<std::uint64_t>(); stated < static_cast<std::uint64_t>(INT64_MAX))
                whole.stated = bytes(static_cast<std::int64_t>(stated));
    return whole;
}

}  // namespace detail::safetensors

inline result<safetensors_checkpoint> read_safetensors(std::span<const std::byte> file) {
    return detail::safetensors::read(detail::byte_source{file});
}

inline result<safetensors_checkpoint> load_safetensors(const std::filesystem::path& path) {
    std::error_code failed;
    if (std::filesystem::is_directory(path, failed)) {
        for (const char* name : {"model.safetensors.index.json", "model.safetensors"})
            if (std::filesystem::exists(path / name, failed)) return load_safetensors(path / name);
        return refused(error_code::io, "safetensors", path.generic_string(),
                       "a folder with model.safetensors or its index");
    }
    return path.extension() == ".json" ? detail::safetensors::load_index(path) : detail::safetensors::load_file(path);
}

}  // namespace llmres::inline v0
