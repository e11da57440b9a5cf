// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <llmres/io/files/gguf_architectures.hpp>
#include <llmres/io/files/roles.hpp>
#include <llmres/io/gguf.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The model that the header of a GGUF file describes, and the roles of its tensors.
namespace llmres::inline v0 {

/// The role of a tensor by its name; nothing for a name that no described family has.
inline maybe<weight_role> gguf_role(std::string_view name);
/// The layer in a tensor's name (`blk.7.`); -1 outside the layers.
inline std::int32_t gguf_layer(std::string_view name);

/// Bytes by role, without padding; tensors whose role is not known are summed under "other".
inline std::map<std::string_view, byte_count> gguf_bytes_by_role(const gguf_file& file);

/// The model that the metadata describes. Architectures that are not described are refused by name. `weights` stays
/// 16-bit: the mix of a GGUF file (gguf_mix_of) is no single format.
inline result<model> describe_gguf(const gguf_file& file);

/// The mix that the file says it is (`general.file_type`; by the type of most values where it does not say), with the
/// variants of converter and quantiser that its tensors show.
inline result<gguf_mix> gguf_mix_of(const gguf_file& file);

/// The types in which the file stores its matrices. Of more than sixteen different layers, those beyond take the
/// pattern that agrees with most of their matrices.
inline gguf_stored_types gguf_stored_types_of(const gguf_file& file);
/// The format that most values in the matrices of the layers are stored in.
inline precision gguf_main_format(const gguf_file& file);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail::gguf {

// clang-format off
/// What follows `blk.N.` and the roles it stands for (gguf-py's constants.py: TENSOR_NAMES).
inline constexpr auto layer_roles = std::to_array<named_role>({
    {weight_role::q_proj, {"attn_q"}},
    {weight_role::k_proj, {"attn_k"}},
    {weight_role::v_proj, {"attn_v", "attn_qkv"}},
    {weight_role::o_proj, {"attn_output", "attn_o"}},
    {weight_role::q_a_proj, {"attn_q_a"}},
    {weight_role::q_b_proj, {"attn_q_b"}},
    {weight_role::kv_a_proj, {"attn_kv_a_mqa"}},
    {weight_role::kv_b_proj, {"attn_kv_b", "attn_k_b", "attn_v_b"}},
    {weight_role::gate_proj, {"ffn_gate", "ffn_gate_exps", "ffn_gate_shexp"}},
    {weight_role::up_proj, {"ffn_up", "ffn_up_exps", "ffn_up_shexp"}},
    {weight_role::down_proj, {"ffn_down", "ffn_down_exps", "ffn_down_shexp"}},
    {weight_role::router, {"ffn_gate_inp"}},
    {weight_role::shared_gate, {"ffn_gate_inp_shexp"}},
    {weight_role::attn_gate, {"attn_gate"}},
    {weight_role::indexer, {"indexer.attn_k", "indexer.attn_q_b", "indexer.proj"}},
    {weight_role::in_proj, {"ssm_in", "shortconv.in_proj"}},
    {weight_role::out_proj, {"ssm_out", "shortconv.out_proj"}},
    {weight_role::values, {"attn_sinks"}},
    {weight_role::bias, {"exp_probs_b"}}});
// clang-format on

}  // namespace detail::gguf

inline std::int32_t gguf_layer(std::string_view name) {
    if (!detail::taken(name, "blk.")) return -1;
    const std::int32_t number = detail::taken_number(name, 6);
    return name.starts_with('.') ? number : -1;
}

inline maybe<weight_role> gguf_role(std::string_view name) {
    if (name == "token_embd.weight") return weight_role::embed_tokens;
    if (name == "output.weight") return weight_role::lm_head;
    if (name == "rope_freqs.weight" || name.starts_with("rope_factors_")) return weight_role::values;
    if (name == "position_embd.weight" || name == "token_types.weight") return weight_role::positions;
    if (name.ends_with("_norm.weight") || name.ends_with("_norm.bias") || name.ends_with("_norm_2.weight"))
        return weight_role::norm;
    if (name.ends_with(".bias")) return weight_role::bias;
    if (gguf_layer(name) < 0 || !name.ends_with(".weight")) return {};
    name.remove_suffix(std::string_view{".weight"}.size());
    const std::size_t end = name.find('.', 4);
    if (end == std::string_view::npos) return {};
    name.remove_prefix(end + 1);
    // Files of 2023 have a tensor for each expert: ffn_up.3
    if (name.starts_with("ffn_")) name = name.substr(0, name.find('.'));
    return detail::role_in(detail::gguf::layer_roles, name);
}

inline std::map<std::string_view, byte_count> gguf_bytes_by_role(const gguf_file& file) {
    return detail::bytes_by_role(file.tensors, gguf_role, &gguf_tensor_info::size);
}

namespace detail::gguf {

/// Reads the metadata of one architecture, whose keys start with its name, into the fields of a config.json.
class describer {
public:
    explicit describer(const gguf_file& file) : file_{file}, architecture_{file.text_or("general.architecture", "")} {
        for (const gguf_tensor_info& tensor : file.tensors) {
            has_output_ = has_output_ || tensor.name == "output.weight";
            if (tensor.name == "token_embd.weight") vocabulary_ = static_cast<std::int64_t>(tensor.shape[1]);
        }
    }

    /// An error of the config.json with the GGUF key that its field was copied from last.
    error in_keys(error of_config) const {
        const auto from = std::find_if(keys_.rbegin(), keys_.rend(),
                                       [&](const auto& copied) { return of_config.field == copied.first; });
        if (from == keys_.rend()) return of_config;
        of_config.field = std::string_view{printable(from->second)};
        if (of_config.code == error_code::missing) of_config.expected = "an integer";
        return of_config;
    }

    /// The fields of the config.json.
    result<json_document> config() {
        if (architecture_.empty())
            return refused(error_code::missing, "general.architecture", "absent", "the name of an architecture");
        if (vocabulary_ == 0) return refused(error_code::missing, "token_embd.weight", "absent", "a token embedding");
        const auto found = std::find_if(known::architectures.begin(), known::architectures.end(), [&](const auto& row) {
            return row.name == architecture_ && (row.needs.empty() || number_of(row.needs) > 0 || has(row.needs));
        });
        if (found == known::architectures.end())
            return refused(error_code::unsupported, "general.architecture", printable(architecture_),
                           "an architecture that is described, such as llama, qwen3, gemma2 or deepseek2");
        config_["model_type"] = found->model_type;
        for (const known::described_field& f : found->fields)
            if (f.source == known::field_source::kinds)
                varied_.push_back(f.key);
            else if (f.source == known::field_source::least)
                unequal_.push_back(f.key);
        common();
        for (const known::described_field& f : found->fields) read(f);
        if (config_["intermediate_size"].is_null() && config_.contains("moe_intermediate_size"))
            config_["intermediate_size"] = config_["moe_intermediate_size"];
        if (failed_.code != error_code::none) return failed_;
        return json_document{config_};
    }

private:
    std::string key(std::string_view name) const { return std::string{architecture_} + "." + std::string{name}; }
    /// Whether a tensor of the layers, or the whole name of another, ends so.
    bool has(std::string_view end) const {
        return std::any_of(file_.tensors.begin(), file_.tensors.end(),
                           [&](const gguf_tensor_info& tensor) { return tensor.name.ends_with(end); });
    }
    /// The number of the layers, without those that predict further tokens and that llama.cpp does not run.
    std::int64_t layers() const { return number_of("block_count") - number_of("nextn_predict_layers"); }

    /// The number under a key, or that of most of its layers where each has its own; 0 where there is none.
    std::int64_t number_of(std::string_view name) const {
        const gguf_value* found = file_.find(key(name));
        if (found == nullptr) return 0;
        if (found->is == gguf_value::kind::integer) return found->integer;
        return found->integers.empty() ? 0 : *std::max_element(found->integers.begin(), found->integers.end());
    }
    static bool among(const std::vector<std::string_view>& names, std::string_view name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    }
    /// The smallest of the numbers under a key; that of a file that has one for all layers.
    std::int64_t least_of(std::string_view name) const {
        const gguf_value* found = file_.find(key(name));
        if (found == nullptr || found->is != gguf_value::kind::array || found->integers.empty()) return number_of(name);
        return *std::min_element(found->integers.begin(), found->integers.end());
    }
    std::int64_t rows_of(std::string_view end) const {
        for (const gguf_tensor_info& tensor : file_.tensors)
            if (tensor.name.ends_with(end) && tensor.dimensions > 1) return static_cast<std::int64_t>(tensor.shape[1]);
        return 0;
    }
    std::int64_t columns_of(std::string_view end) const {
        for (const gguf_tensor_info& tensor : file_.tensors)
            if (tensor.name.ends_with(end)) return static_cast<std::int64_t>(tensor.shape[0]);
        return 0;
    }
    /// Layers that have no tensor whose name ends so.
    std::int64_t layers_without(std::string_view end) const {
        std::set<std::int32_t> with;
        for (const gguf_tensor_info& tensor : file_.tensors)
            if (gguf_layer(tensor.name) >= 0 && tensor.name.ends_with(end)) with.insert(gguf_layer(tensor.name));
        return layers() - static_cast<std::int64_t>(with.size());
    }
    /// Whether a layer has the one tensor, and not the other.
    bool lacks(std::string_view one, std::string_view other) const {
        std::map<std::int32_t, std::pair<bool, bool>> layers;
        for (const gguf_tensor_info& tensor : file_.tensors) {
            if (gguf_layer(tensor.name) < 0) continue;
            auto& [has_one, has_other] = layers[gguf_layer(tensor.name)];
            has_one = has_one || tensor.name.ends_with(one);
            has_other = has_other || tensor.name.ends_with(other);
        }
        return std::any_of(layers.begin(), layers.end(),
                           [](const auto& l) { return l.second.first && !l.second.second; });
    }
    /// Copies an integer, null where the file has none. An array must hold the same integer for all layers, but for
    /// those that have none of it, where the architecture's kinds of layers are told apart by that; of one whose least
    /// is a field of its own, the largest is copied.
    void copy(std::string_view name, std::string_view field) {
        const gguf_value* found = file_.find(key(name));
        keys_.emplace_back(field, key(name));
        nlohmann::json& to = config_[pointer(field)];
        to = nullptr;
        if (found == nullptr) return;
        if (found->is == gguf_value::kind::integer) {
            to = found->integer;
            return;
        }
        const std::int64_t most = number_of(name);
        const bool varies = among(varied_, name);
        const auto& all = found->integers;
        if (found->is == gguf_value::kind::array && !all.empty() &&
            std::all_of(all.begin(), all.end(),
                        [&](std::int64_t i) { return i == most || (varies && i == 0) || among(unequal_, name); }))
            to = most;
        else if (failed_.code == error_code::none)
            failed_ =
                refused(error_code::unsupported, printable(key(name)), "not one integer", "the same in all layers");
    }
    static nlohmann::json::json_pointer pointer(std::string_view field) {
        std::string path{"/"};
        for (const char c : field) path += c == '.' ? '/' : c;
        return nlohmann::json::json_pointer{path};
    }

    void read(const known::described_field& f) {
        switch (f.source) {
            case known::field_source::none: return;
            case known::field_source::number:
                return copy(f.other.empty() || file_.find(key(f.key)) != nullptr ? f.key : f.other, f.field);
            case known::field_source::least:
                if (file_.find(key(f.key)) != nullptr) config_[pointer(f.field)] = least_of(f.key);
                return;
            case known::field_source::varies: config_[pointer(f.field)] = least_of(f.key) < number_of(f.key); return;
            case known::field_source::rows:
                if (const std::int64_t found = rows_of(f.key); found > 0) config_[pointer(f.field)] = found;
                return;
            case known::field_source::without: config_[pointer(f.field)] = layers_without(f.key); return;
            case known::field_source::columns:
                if (number_of(f.other) > 0) config_[pointer(f.field)] = columns_of(f.key) / number_of(f.other);
                return;
            case known::field_source::lacks: config_[pointer(f.field)] = lacks(f.key, f.other); return;
            case known::field_source::quotient:
                if (number_of(f.other) > 0) config_[pointer(f.field)] = number_of(f.key) / number_of(f.other);
                return;
            case known::field_source::difference:
                config_[pointer(f.field)] =
                    number_of(file_.find(key(f.key)) != nullptr ? f.key : f.or_else) - number_of(f.other);
                return;
            case known::field_source::present:
                config_[pointer(f.field)] = has(f.key) || (!f.other.empty() && has(f.other));
                return;
            case known::field_source::absent: config_[pointer(f.field)] = !has(f.key); return;
            case known::field_source::kinds: return read_kinds(f);
            case known::field_source::zero: config_[pointer(f.field)] = 0; return;
            case known::field_source::off: config_[pointer(f.field)] = false; return;
        }
    }
    void read_kinds(const known::described_field& f) {
        const gguf_value* found = file_.find(key(f.key));
        if (found == nullptr || found->is != gguf_value::kind::array) return;
        keys_.emplace_back(f.field, key(f.key));
        nlohmann::json& words = config_[std::string{f.field}];
        const auto count = static_cast<std::size_t>((std::max)(std::int64_t{0}, layers()));
        for (std::size_t i = 0; i < found->integers.size() && i < count; ++i) {
            const std::string_view word = found->integers[i] == 0 ? f.other : f.or_else;
            if (!word.empty()) words[i] = word;
        }
    }

    void common() {
        config_["vocab_size"] = vocabulary_;
        config_["tie_word_embeddings"] = !has_output_;
        copy("embedding_length", "hidden_size");
        copy("block_count", "num_hidden_layers");
        if (config_["num_hidden_layers"].is_number_integer()) config_["num_hidden_layers"] = layers();
        copy("feed_forward_length", "intermediate_size");
        copy("context_length", "max_position_embeddings");
        copy("attention.head_count", "num_attention_heads");
        copy("attention.head_count_kv", "num_key_value_heads");
        copy("attention.key_length", "head_dim");
    }

    const gguf_file& file_;
    std::string_view architecture_;
    nlohmann::json config_ = nlohmann::json::object();
    /// The fields of the config.json, each with the GGUF key that it is copied from.
    std::vector<std::pair<std::string_view, std::string>> keys_{};
    std::vector<std::string_view> varied_{};   ///< the keys that tell the kinds of layers apart
    std::vector<std::string_view> unequal_{};  ///< the keys whose largest and least are different fields
    error failed_{};
    std::int64_t vocabulary_ = 0;
    bool has_output_ = false;
};

/// The quantisation by its number (llama.h: llama_ftype); nothing for numbers that llama.cpp no longer reads.
inline maybe<gguf_quantisation> quantisation_of(std::int64_t file_type) {
    constexpr std::array<std::pair<std::int32_t, q>, 36> numbers{
        {{0, q::F32},       {1, q::F16},       {2, q::Q4_0},      {3, q::Q4_1},    {7, q::Q8_0},
         {8, q::Q5_0},      {9, q::Q5_1},      {10, q::Q2_K},     {11, q::Q3_K_S}, {12, q::Q3_K_M},
         {13, q::Q3_K_L},   {14, q::Q4_K_S},   {15, q::Q4_K_M},   {16, q::Q5_K_S}, {17, q::Q5_K_M},
         {18, q::Q6_K},     {19, q::IQ2_XXS},  {20, q::IQ2_XS},   {21, q::Q2_K_S}, {22, q::IQ3_XS},
         {23, q::IQ3_XXS},  {24, q::IQ1_S},    {25, q::IQ4_NL},   {26, q::IQ3_S},  {27, q::IQ3_M},
         {28, q::IQ2_S},    {29, q::IQ2_M},    {30, q::IQ4_XS},   {31, q::IQ1_M},  {32, q::BF16},
         {33, q::Q4_0_4_4}, {34, q::Q4_0_4_8}, {35, q::Q4_0_8_8}, {36, q::TQ1_0},  {37, q::TQ2_0},
         {38, q::MXFP4_MOE}}};
    for (const auto& [number, quantisation] : numbers)
        if (number == file_type) return quantisation;
    return {};
}

/// True if a tensor is a matrix of a layer that a quantiser may store in any type. One whose role is not known is.
inline bool is_layer_matrix(const gguf_tensor_info& tensor, const maybe<weight_role>& role) {
    return gguf_layer(tensor.name) >= 0 && gguf_layer(tensor.name) < layer_stack::max_layers && tensor.dimensions > 1 &&
           !(role == weight_role::norm || role == weight_role::bias || role == weight_role::router);
}

/// The type that most values in the matrices of the layers are stored in.
inline maybe<gguf_type> main_type(const gguf_file& file) {
    std::map<gguf_type, double> values;
    for (const gguf_tensor_info& tensor : file.tensors) {
        if (!is_layer_matrix(tensor, gguf_role(tensor.name))) continue;
        double count = 1;
        for (const std::uint64_t side : tensor.shape) count *= static_cast<double>(side);
        values[tensor.type] += count;
    }
    const auto most = std::max_element(values.begin(), values.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == values.end() ? maybe<gguf_type>{} : maybe<gguf_type>{most->first};
}

/// The quantisation of a file that does not say it (converters of a few families leave the number out): by the type of
/// most values, in its medium mix, as llama.cpp guesses (llama-model-loader.cpp).
inline maybe<gguf_quantisation> guessed_quantisation(const gguf_file& file) {
    const maybe<gguf_type> most = main_type(file);
    maybe<gguf_quantisation> found;
    for (const auto& known : quantisations)
        if (most && known.base == *most && (!found || known.name.ends_with("_M"))) found = known.quantisation;
    return found;
}

}  // namespace detail::gguf

inline result<model> describe_gguf(const gguf_file& file) {
    detail::gguf::describer describer{file};
    const result<json_document> config = describer.config();
    if (!config) return config.error();
    const result<model> read = detail::hf::read_config(config->root);
    if (!read) return describer.in_keys(read.error());
    model named = *read;
    for (const gguf_tensor_info& tensor : file.tensors) {
        if (tensor.name != "rope_freqs.weight" && !tensor.name.starts_with("rope_factors_")) continue;
        ++named.rope.vectors;
        named.rope.width = static_cast<std::int32_t>(std::min<std::uint64_t>(tensor.shape[0], detail::widest));
    }
    const std::string_view name = file.text_or("general.name", "");
    if (!name.empty()) named.name = std::string_view{detail::printable(name)};
    return named;
}

inline result<gguf_mix> gguf_mix_of(const gguf_file& file) {
    constexpr std::int64_t guessed = 1024;  // LLAMA_FTYPE_GUESSED, which is added to the number where it is not sure
    const std::int64_t type = file.integer_or("general.file_type", -1);
    const maybe<gguf_quantisation> known = type < 0
                                               ? detail::gguf::guessed_quantisation(file)
                                               : detail::gguf::quantisation_of(type >= guessed ? type - guessed : type);
    if (!known) return refused(error_code::unknown, "general.file_type", type, "a file type that llama.cpp knows");
    gguf_mix mix{.quantisation = *known};
    mix.importance_matrix =
        file.find("quantize.imatrix.file") != nullptr || file.find("quantize.imatrix.entries_count") != nullptr;
    for (const gguf_tensor_info& tensor : file.tensors) {
        const maybe<weight_role> role = gguf_role(tensor.name);
        if (!role) continue;
        if (*role == weight_role::router && tensor.type != gguf_type::F32) mix.router_in_16_bits = true;
        if (tensor.name.ends_with("attn_kv_b.weight")) mix.latent_expansion_whole = true;
    }
    return mix;
}

namespace detail::gguf {

/// The pattern of those there are that agrees with most matrices of a layer.
inline std::size_t nearest_pattern(const gguf_stored_types& stored, const gguf_stored_types::pattern& wanted) {
    std::size_t best = 0;
    std::ptrdiff_t most = -1;
    for (std::size_t i = 0; i < stored.count; ++i) {
        std::ptrdiff_t same = 0;
        for (std::size_t k = 0; k < wanted.size(); ++k) same += stored.patterns[i][k] == wanted[k] ? 1 : 0;
        if (same > most) {
            best = i;
            most = same;
        }
    }
    return best;
}

}  // namespace detail::gguf

inline gguf_stored_types gguf_stored_types_of(const gguf_file& file) {
    gguf_stored_types stored;
    std::map<std::int32_t, gguf_stored_types::pattern> layers;
    for (const gguf_tensor_info& tensor : file.tensors) {
        const maybe<weight_role> role = gguf_role(tensor.name);
        if (!role) continue;
        if (*role == weight_role::embed_tokens) stored.embedding = tensor.type;
        if (*role == weight_role::lm_head) stored.output = tensor.type;
        if (!detail::gguf::is_layer_matrix(tensor, role)) continue;
        const bool stacked = tensor.dimensions > 2;
        layers[gguf_layer(tensor.name)][gguf_stored_types::place(*role, stacked)] =
            static_cast<std::uint8_t>(static_cast<unsigned>(tensor.type) + 1);
    }
    for (const auto& [layer, pattern] : layers) {
        const auto known = std::find(stored.patterns.begin(), stored.patterns.begin() + stored.count, pattern);
        std::size_t number = static_cast<std::size_t>(known - stored.patterns.begin());
        if (number == stored.count) {
            if (stored.count < gguf_stored_types::most_patterns)
                stored.patterns[stored.count++] = pattern;
            else
                number = detail::gguf::nearest_pattern(stored, pattern);
        }
        stored.of_layer[static_cast<std::size_t>(layer)] = static_cast<std::uint8_t>(number);
    }
    return stored;
}

inline precision gguf_main_format(const gguf_file& file) {
    const maybe<gguf_type> most = detail::gguf::main_type(file);
    return most ? find_gguf_type(static_cast<std::uint32_t>(*most)).value.format : bf16;
}

}  // namespace llmres::inline v0
