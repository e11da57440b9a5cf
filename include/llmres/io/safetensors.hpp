// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/io/files/byte_source.hpp>
#include <llmres/io/files/roles.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The headers of safetensors files: which tensors a checkpoint stores, in which format and in how many bytes. The
/// tensors themselves are never read. (Format: safetensors' README, section Format.)
namespace llmres::inline v0 {

/// The most that a header, and an index of files, may hold.
struct safetensors_limits {
    static constexpr std::uint64_t header = 16u << 20;  ///< bytes of a header; the largest published have 12 MB
    static constexpr std::size_t dimensions = 16;       ///< dimensions at most
    static constexpr std::uintmax_t index = 32u << 20;  ///< bytes of an index
    static constexpr std::size_t files = 10'000;        ///< files of one checkpoint
};

/// A tensor as the header lists it.
struct safetensors_tensor {
    std::string name{};                  ///< its name
    std::string format{};                ///< as the file names it: BF16, F8_E4M3, U8
    std::vector<std::uint64_t> shape{};  ///< its dimensions
    std::uint64_t begin = 0;             ///< bytes from the start of the data in the file
    std::uint64_t end = 0;               ///< offset behind its last byte
    std::uint32_t file = 0;              ///< the file of the checkpoint that holds it

    /// Its bytes.
    byte_count size() const { return bytes(static_cast<std::int64_t>(end - begin)); }
    /// Its elements.
    parameter_count elements() const {
        parameter_count count = parameters(1);
        for (const std::uint64_t side : shape) count = count * static_cast<std::int64_t>(side);
        return count;
    }
};

/// One file, or all the files that an index names.
struct safetensors_checkpoint {
    std::vector<safetensors_tensor> tensors{};  ///< the tensors
    byte_count header{};                        ///< bytes of the headers of all files, with the length before each
    byte_count size{};                          ///< bytes of all files
    std::uint32_t files = 1;                    ///< how many files there are
    maybe<byte_count> stated{};                 ///< `metadata.total_size` of the index, which is often wrong

    /// Bytes of all tensors.
    byte_count tensor_bytes() const {
        byte_count total;
        for (const safetensors_tensor& tensor : tensors) total += tensor.size();
        return total;
    }
    /// Elements of all tensors.
    parameter_count elements() const {
        parameter_count total;
        for (const safetensors_tensor& tensor : tensors) total += tensor.elements();
        return total;
    }
};

/// Reads the header of one file that lies in memory. (io/files.hpp has load_safetensors(path), which follows an index.)
inline result<safetensors_checkpoint> read_safetensors(std::span<const std::byte> file);

/// The role of a tensor by the name that Hugging Face's modules give it; nothing for a name of no described family.
inline maybe<weight_role> safetensors_role(std::string_view name);

/// Bytes by role, with scales and packed parts under the weight that they belong to; tensors whose role is not known
/// are summed under "other".
inline std::map<std::string_view, byte_count> safetensors_bytes_by_role(const safetensors_checkpoint& checkpoint);

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

/// Reads the header while its JSON is parsed: two levels of objects, with lists of integers in the second. Nothing else
/// is accepted or kept.
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
        if (depth_ == 2 || in_list_) return unexpected("an object");
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
        return refuse(error_code::inconsistent, tensor.end - tensor.begin, "as many bytes as shape and dtype give");
    return done{};
}

inline result<safetensors_checkpoint> read(byte_source source) {
    std::uint64_t length = 0;
    if (!source.read_little_endian<8>(length))
        return refused(error_code::malformed, "safetensors.header", "the end of the file",
                       "the header's length in eight bytes");
    if (length > safetensors_limits::header || length > source.remaining())
        return refused(error_code::out_of_range, "safetensors.header", std::to_string(length),
                       "a header of at most 16 MiB that is all there");
    std::string json;
    if (!source.read_text(length, json))
        return refused(error_code::io, "safetensors.header", "unreadable", "a file that can be read");
    header_reader reader;
    if (!parse_json(json, reader)) return reader.failure();
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

// clang-format off
/// Roles by the last part of a module's name (transformers' model classes).
inline constexpr auto modules = std::to_array<named_role>({
    {weight_role::embed_tokens, {"embed_tokens", "wte", "word_embeddings", "embed_in", "tok_embeddings"}},
    {weight_role::lm_head, {"lm_head", "embed_out", "output_layer", "head"}},
    {weight_role::q_proj, {"q_proj", "qkv_proj", "query_key_value", "c_attn", "Wqkv", "W_pack"}},
    {weight_role::k_proj, {"k_proj"}},
    {weight_role::v_proj, {"v_proj"}},
    {weight_role::o_proj, {"o_proj", "out_proj"}},
    {weight_role::q_a_proj, {"q_a_proj"}},
    {weight_role::q_b_proj, {"q_b_proj"}},
    {weight_role::kv_a_proj, {"kv_a_proj_with_mqa"}},
    {weight_role::kv_b_proj, {"kv_b_proj"}},
    {weight_role::gate_proj, {"gate_proj", "gate_up_proj", "w1"}},
    {weight_role::up_proj, {"up_proj", "fc1", "dense_h_to_4h", "c_fc", "w3"}},
    {weight_role::down_proj, {"down_proj", "fc2", "dense_4h_to_h", "w2"}},
    {weight_role::router, {"gate", "router"}},
    {weight_role::shared_gate, {"shared_expert_gate"}},
    {weight_role::values, {"sinks"}},
    {weight_role::in_proj, {"in_proj", "in_proj_qkvz", "in_proj_ba", "in_proj_qkv", "in_proj_z", "in_proj_a",
        "in_proj_b", "x_proj", "dt_proj"}},
    {weight_role::conv, {"conv1d", "patch_embedding"}},
    {weight_role::state, {"A_log", "D", "dt_bias"}},
    {weight_role::positions, {"wpe", "embed_positions", "position_embedding", "position_embeddings",
        "token_type_embeddings"}},
    {weight_role::projector, {"eh_proj", "fc"}}});  // of multi-token prediction, whose head is "head"
// clang-format on

}  // namespace detail::safetensors

inline result<safetensors_checkpoint> read_safetensors(std::span<const std::byte> file) {
    return detail::safetensors::read(detail::byte_source{file});
}

inline maybe<weight_role> safetensors_role(std::string_view name) {
    // From the end of the name: the parameter, perhaps its part (`weight.absmax`), then the module.
    bool first = true;
    while (!name.empty()) {
        const std::size_t dot = name.rfind('.');
        const std::string_view part = dot == std::string_view::npos ? name : name.substr(dot + 1);
        if (first && part == "bias") {
            const std::string_view owner = dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
            return owner.find("norm") != std::string_view::npos || owner.find("ln_") != std::string_view::npos
                       ? weight_role::norm
                       : weight_role::bias;
        }
        if (first && part == "e_score_correction_bias") return weight_role::bias;
        if (part.ends_with("norm") || part.find("layernorm") != std::string_view::npos || part.starts_with("ln_"))
            return weight_role::norm;
        if (const maybe<weight_role> role = detail::role_in(detail::safetensors::modules, part)) return role;
        if (first && part.ends_with("_proj_bias")) return weight_role::bias;
        // gpt-oss names the parts of its quantised experts gate_up_proj_blocks and down_proj_scales.
        for (const std::string_view tail : {"_blocks", "_scales"})
            if (first && part.ends_with(tail))
                if (const maybe<weight_role> role =
                        detail::role_in(detail::safetensors::modules, part.substr(0, part.size() - tail.size())))
                    return role;
        if (dot == std::string_view::npos) break;
        // The module of a weight is at most three names before its end.
        name = name.substr(0, dot);
        first = false;
        if (part.find_first_not_of("0123456789") == std::string_view::npos) break;
    }
    return {};
}

inline std::map<std::string_view, byte_count> safetensors_bytes_by_role(const safetensors_checkpoint& checkpoint) {
    return detail::bytes_by_role(checkpoint.tensors, safetensors_role, &safetensors_tensor::size);
}

}  // namespace llmres::inline v0
