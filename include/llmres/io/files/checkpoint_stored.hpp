// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <llmres/io/files/stored_layers.hpp>
#include <llmres/io/hf/common.hpp>
#include <llmres/io/hf/families.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/io/safetensors.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/units.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The model of a checkpoint whose `model_type` no formula describes: weights as its files store them, parts of layers
/// by the names of their tensors, heads and states by the usual fields of the config.json.
namespace llmres::inline v0::detail::safetensors {

/// A tensor's name: `prefix` up to the first number, which is the layer's, and what follows.
struct layer_name {
    std::string_view prefix{};
    std::int64_t layer = -1;
    std::string_view rest{};
};
inline layer_name split_name(std::string_view name) {
    for (std::size_t from = 0; from < name.size();) {
        const std::size_t dot = (std::min)(name.find('.', from), name.size());
        const std::string_view part = name.substr(from, dot - from);
        if (!part.empty() && part.size() < 6 && part.find_first_not_of("0123456789") == std::string_view::npos) {
            std::int64_t number = 0;
            for (const char c : part) number = number * 10 + (c - '0');
            return {name.substr(0, from), number, dot < name.size() ? name.substr(dot + 1) : std::string_view{}};
        }
        from = dot + 1;
    }
    return {.prefix = name};
}

/// Which feed-forward of a layer a tensor belongs to.
enum class feed_forward_part : std::uint8_t { none, dense, shared, routed };

/// Sums over the matrices of one feed-forward of a layer.
struct feed_forward_tensors {
    std::int64_t elements = 0;  ///< of an index alone: 0
    bool there = false;
    bool gated = false;
};

/// What the tensors of one layer, or those around the layers, are.
struct tensor_group {
    byte_count size{};
    bool attends = false;  ///< keys are projected in a module without a state
    bool latent = false;
    bool recurs = false;  ///< a state's decay, or a convolution over tokens
    std::int64_t experts = 0;
    std::map<feed_forward_part, feed_forward_tensors> parts{};
    std::map<weight_role, std::vector<std::uint64_t>> shapes{};  ///< of the largest tensor of each role
};

/// Adds up the tensors of a layer.
class layer_sum {
public:
    void add(std::string_view rest, const safetensors_tensor& tensor) {
        group_.size += tensor.size();
        const maybe<weight_role> role = safetensors_role(rest);
        const std::string_view module = rest.substr(0, rest.find('.'));
        if (is_state(rest, role)) states_.insert(module);
        if (role && (*role == weight_role::k_proj || *role == weight_role::kv_a_proj || is_fused(rest, *role)))
            keys_.insert(module);
        if (!role) return;
        if (*role == weight_role::kv_a_proj) group_.latent = true;
        std::vector<std::uint64_t>& largest = group_.shapes[*role];
        if (largest.size() < tensor.shape.size()) largest = tensor.shape;
        add_feed_forward(rest, *role, tensor);
    }
    tensor_group sum() const {
        tensor_group all = group_;
        all.recurs = !states_.empty();
        for (const std::string_view module : keys_) all.attends = all.attends || states_.count(module) == 0;
        all.experts = (std::max)(all.experts, static_cast<std::int64_t>(numbered_.size()));
        return all;
    }

private:
    static bool is_fused(std::string_view rest, weight_role role) {
        return role == weight_role::q_proj && rest.find("q_proj") == std::string_view::npos;
    }
    static bool is_state(std::string_view rest, const maybe<weight_role>& role) {
        if (role && (*role == weight_role::state || *role == weight_role::conv)) return true;
        for (const std::string_view part : {"time_decay", "time_mix", "time_faaaa", "decay", "ssm", "conv"})
            if (rest.find(part) != std::string_view::npos) return true;
        return false;
    }
    void add_feed_forward(std::string_view rest, weight_role role, const safetensors_tensor& tensor) {
        if (role != weight_role::gate_proj && role != weight_role::up_proj && role != weight_role::down_proj) return;
        const std::size_t experts = rest.find("experts.");
        const bool shared = rest.find("shared") != std::string_view::npos;
        const bool routed = !shared && (experts != std::string_view::npos || tensor.shape.size() > 2);
        feed_forward_tensors& sums = group_.parts[shared   ? feed_forward_part::shared
                                                  : routed ? feed_forward_part::routed
                                                           : feed_forward_part::dense];
        if (tensor.shape.size() > 1) sums.elements += tensor.elements().in(parameters);
        sums.there = true;
        sums.gated = sums.gated || role == weight_role::gate_proj;
        if (!routed) return;
        const layer_name expert = split_name(rest);
        if (expert.layer >= 0) numbered_.insert(expert.layer);
        if (expert.layer < 0 && tensor.shape.size() > 2)
            group_.experts = (std::max)(group_.experts, static_cast<std::int64_t>(tensor.shape[0]));
    }

    tensor_group group_{};
    std::set<std::string_view> states_{};
    std::set<std::string_view> keys_{};
    std::set<std::int64_t> numbered_{};
};

/// The tensors of a checkpoint, by layers of the decoder.
struct sorted_tensors {
    std::vector<tensor_group> layers{};
    tensor_group around{};     ///< embedding, head, towers
    byte_count predictions{};  ///< of layers beyond the model's number, which predict further tokens
};

/// The decoder is the numbered list of at least `count` modules that holds the most bytes.
inline result<sorted_tensors> sort_tensors(const safetensors_checkpoint& checkpoint, std::int64_t count) {
    struct stack {
        std::set<std::int64_t> numbers{};
        std::pair<byte_count, std::int64_t> size{};  ///< bytes, and tensors, of which an index alone has the number
    };
    std::map<std::string_view, stack> stacks;
    for (const safetensors_tensor& tensor : checkpoint.tensors) {
        const layer_name name = split_name(tensor.name);
        if (name.layer < 0) continue;
        stacks[name.prefix].numbers.insert(name.layer);
        stacks[name.prefix].size.first += tensor.size();
        ++stacks[name.prefix].size.second;
    }
    std::string_view decoder;
    std::pair<byte_count, std::int64_t> most;
    for (const auto& [prefix, held] : stacks)
        if (static_cast<std::int64_t>(held.numbers.size()) >= count && *held.numbers.begin() == 0 && held.size > most) {
            decoder = prefix;
            most = held.size;
        }
    if (decoder.empty())
        return refused(error_code::inconsistent, "num_hidden_layers", count,
                       "as many layers as the checkpoint has tensors of, under one name");
    std::vector<layer_sum> layers(static_cast<std::size_t>(count));
    layer_sum around;
    sorted_tensors sorted;
    for (const safetensors_tensor& tensor : checkpoint.tensors) {
        const layer_name name = split_name(tensor.name);
        if (name.layer < 0 || name.prefix != decoder)
            around.add(name.layer < 0 ? std::string_view{tensor.name} : std::string_view{}, tensor);
        else if (name.layer < count)
            layers[static_cast<std::size_t>(name.layer)].add(name.rest, tensor);
        else
            sorted.predictions += tensor.size();
    }
    for (const layer_sum& l : layers) sorted.layers.push_back(l.sum());
    sorted.around = around.sum();
    return sorted;
}

/// Reads such a model.
class stored_reader {
public:
    stored_reader(const nlohmann::json& document, const safetensors_checkpoint& checkpoint)
        : outer_{document}, inner_{*text_model(&document), ""}, checkpoint_{checkpoint} {}

    result<model> read() {
        model m = hf::read_frame(inner_);
        const std::int64_t count = hf::layer_count(inner_);
        if (!inner_.ok()) return inner_.error();
        const result<sorted_tensors> sorted = sort_tensors(checkpoint_, count);
        if (!sorted) return sorted.error();
        m.architecture = outer_.text_or(hf::type_field, inner_.text_or(hf::type_field, "unknown"));
        m.name = m.architecture.view();
        m.from_tensors = true;
        m.weights = hf::read_dtype(outer_, hf::read_dtype(inner_, main_format()));
        m.tied_head = sorted->around.shapes.count(weight_role::lm_head) == 0;
        const auto embedding = sorted->around.shapes.find(weight_role::embed_tokens);
        if (embedding != sorted->around.shapes.end() && stores_values() && embedding->second.size() == 2)
            m.vocabulary = static_cast<std::int64_t>(embedding->second[0]);
        std::vector<stored_layer> layers;
        layers.reserve(sorted->layers.size());
        for (std::size_t i = 0; i < sorted->layers.size(); ++i)
            layers.push_back({layer_of(sorted->layers[i], i, m.hidden), sorted->layers[i].size});
        if (!outer_.ok()) return outer_.error();
        if (!inner_.ok()) return inner_.error();
        for (const stored_layer& l : layers)
            if (const status valid = detail::validate(l.shape); !valid) return valid.error();
        return filled(m, *sorted, std::move(layers));
    }

private:
    /// The object that describes the text model: the document itself, or one inside it.
    static const nlohmann::json* text_model(const nlohmann::json* document) {
        for (std::size_t i = 0; i < hf::nested_field.count; ++i) {
            const auto found = document->find(hf::nested_field.names[i]);
            if (found != document->end() && found->is_object()) return &*found;
        }
        return document;
    }
    /// The format of most bytes.
    precision main_format() const {
        std::map<std::string_view, byte_count> sizes;
        for (const safetensors_tensor& tensor : checkpoint_.tensors) sizes[tensor.format] += tensor.size();
        std::string_view most = "BF16";
        for (const auto& [name, size] : sizes)
            if (size > sizes[most]) most = name;
        return most == "F16" ? fp16 : most == "F32" ? fp32 : most == "F8_E4M3" ? fp8_e4m3 : bf16;
    }
    /// Whether shapes are known, as of more than an index.
    bool knows_shapes() const { return !checkpoint_.tensors.empty() && !checkpoint_.tensors.front().format.empty(); }
    /// Whether the shapes of tensors are those of matrices: nothing is packed.
    bool stores_values() const {
        return knows_shapes() && !outer_.has("quantization_config") && !inner_.has("quantization_config");
    }

    layer layer_of(const tensor_group& t, std::size_t i, std::int64_t hidden) {
        layer l;
        l.attention = t.attends ? attention_of(t, i, hidden) : no_attention;
        if (t.recurs && !t.attends) l.recurrent = recurrence_of(hidden);
        if (t.recurs && t.attends && has_state()) l.recurrent = recurrence_of(hidden);
        l.feed_forward = feed_forward_of(t, hidden);
        l.norm_before_attention = l.norm_before_feed_forward = false;  // among the values
        return l;
    }

    attention attention_of(const tensor_group& t, std::size_t i, std::int64_t hidden) {
        attention a = hf::read_heads(inner_, hidden);
        if (t.latent) {
            a.kind = attention_kind::latent;
            a.kv_rank = inner_.number("kv_lora_rank", 1, hf::most_features);
            a.q_rank = inner_.number_or("q_lora_rank", 0, 0, hf::most_features);
            a.rope_dim = inner_.number_or("qk_rope_head_dim", 0, 0, hf::most_heads);
            a.head_dim = inner_.number_or("qk_nope_head_dim", a.head_dim, 1, hf::most_heads);
            a.value_dim = inner_.number_or("v_head_dim", 0, 0, hf::most_heads);
            a.kv_heads = a.heads;
        } else if (const auto keys = t.shapes.find(weight_role::k_proj);
                   stores_values() && keys != t.shapes.end() && keys->second.size() == 2 && keys->second[0] > 0) {
            // Layers with other heads than the config's field says (global layers of Gemma 4).
            const auto rows = static_cast<std::int64_t>(keys->second[0]);
            if (a.head_dim > 0 && rows % a.head_dim == 0 && rows / a.head_dim <= a.heads &&
                a.heads % (rows / a.head_dim) == 0)
                a.kv_heads = rows / a.head_dim;
            else if (rows % a.kv_heads == 0)
                a.head_dim = rows / a.kv_heads;
        }
        const bool windowed = inner_.holds_list("layer_types") && i < inner_.list("layer_types")->size() &&
                              inner_.text_at("layer_types", i) == "sliding_attention";
        if (windowed) a.window = hf::read_window(inner_);
        return a;
    }

    static constexpr field_names state_field{"ssm_state_size", "mamba_d_state", "state_size", "linear_key_head_dim",
                                             "d_state"};
    bool has_state() const { return inner_.has(state_field); }
    /// The state's size by the fields that hybrids give it with: key features of each value feature.
    recurrent recurrence_of(std::int64_t hidden) {
        recurrent r{.kind = recurrent_kind::undescribed, .head_dim = 1};
        r.state = inner_.number(state_field, 1, hf::most_heads);
        const std::int64_t heads = inner_.number_or(
            {"linear_num_value_heads", "mamba_num_heads", "mamba_n_heads", "ssm_num_heads", "num_v_heads"}, 0, 0,
            hf::most_heads);
        const std::int64_t width =
            inner_.number_or({"linear_value_head_dim", "mamba_head_dim", "mamba_d_head", "ssm_head_dim", "head_v_dim"},
                             0, 0, hf::most_heads);
        const std::int64_t expansion = inner_.number_or({"mamba_expand", "expand", "ssm_expand"}, 2, 1, 64);
        r.heads = heads > 0 && width > 0 ? heads * width
                                         : inner_.number_or({"mamba_d_ssm", "d_inner", "intermediate_size"},
                                                            expansion * hidden, 1, hf::most_features);
        r.key_heads = inner_.number_or({"linear_num_key_heads", "n_groups", "mamba_n_groups"}, 1, 1, hf::most_heads);
        r.kernel =
            inner_.number_or({"linear_conv_kernel_dim", "conv_kernel", "mamba_d_conv", "conv_kernel_size", "d_conv"}, 4,
                             1, hf::most_heads);
        return r;
    }

    /// The inner width of a feed-forward with so many experts: that of its matrices, or of a field where they are
    /// packed.
    std::int64_t width_of(const feed_forward_tensors& sums, std::int64_t hidden, std::int64_t experts,
                          const field_names& field) {
        if (!stores_values()) return inner_.number(field, 1, hf::most_features);
        return std::max<std::int64_t>(1, sums.elements / ((sums.gated ? 3 : 2) * hidden * experts));
    }
    feed_forward feed_forward_of(const tensor_group& t, std::int64_t hidden) {
        auto parts = t.parts;
        const feed_forward_tensors routed = parts[feed_forward_part::routed];
        const feed_forward_tensors shared = parts[feed_forward_part::shared];
        const feed_forward_tensors dense = parts[feed_forward_part::dense];
        feed_forward f;
        const auto dense_width = [&](const feed_forward_tensors& sums) {
            return sums.there ? width_of(sums, hidden, 1, hf::width_field) : 0;
        };
        f.kind = routed.gated || dense.gated ? feed_forward_kind::gated : feed_forward_kind::plain;
        const std::int64_t experts =
            routed.there && t.experts == 0
                ? inner_.number({"num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"}, 1, 65536)
                : t.experts;
        if (experts == 0) {
            f.width = dense_width(dense) + (stores_values() ? dense_width(shared) : 0);
            if (f.width == 0) f.kind = feed_forward_kind::none;
            return f;
        }
        f.experts.count = experts;
        f.experts.per_token = inner_.number({"num_experts_per_tok", "num_experts_per_token", "moe_top_k",
                                             "experts_per_token", "num_selected_experts", "moe_k", "top_k"},
                                            1, experts);
        f.experts.width = width_of(routed, hidden, experts,
                                   {"moe_intermediate_size", "expert_intermediate_size", "intermediate_size"});
        if (stores_values())
            f.experts.shared_width = dense_width(dense) + dense_width(shared);
        else if (shared.there)
            f.experts.shared_width = inner_.number_or(
                {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"}, 0, 0, hf::most_features);
        return f;
    }

    /// Of an index alone the total is known, which the layers share alike beyond what they are predicted to take.
    template <class Size>
    void share_total(std::vector<stored_layer>& layers, byte_count ends, const Size& size) const {
        const byte_count rest = beyond(checkpoint_.stated.value_or(byte_count{}), ends);
        byte_count predicted;
        for (stored_layer& l : layers) predicted += l.stored = size(l.shape, 0);
        if (rest <= predicted || layers.empty()) return;
        for (stored_layer& l : layers) l.stored += div_up(rest - predicted, static_cast<std::int64_t>(layers.size()));
    }

    /// The model with the bytes that the files store.
    result<model> filled(model m, const sorted_tensors& sorted, std::vector<stored_layer> layers) {
        for (const stored_layer& l : layers)
            if (!m.layers.append(1, l.shape)) break;  // for the lists of quantised layers
        if (const status read = hf::read_quantization(outer_, inner_, m); !read) return read.error();
        m.layers = {};
        const weight_formats formats = formats_of(m);
        const std::int64_t value = size_of(formats.rest, 1, 1).in(bytes);
        const auto size = [&](const layer& shape, std::int32_t) {
            byte_count total;
            for_each_weight(shape, m.hidden, [&](const weight& w) { total += size_of(w, formats); });
            return total;
        };
        byte_count ends;
        for_each_weight(m, [&](const weight& w, std::int64_t) { ends += size_of(w, formats); });
        if (!knows_shapes()) share_total(layers, ends, size);
        const result<layer_stack> stack = fitted_layers(std::move(layers), value, size);
        if (!stack) return stack.error();
        m.layers = *stack;
        add_values(m, weight_role::values, model_part::input, values_in(beyond(sorted.around.size, ends), value));
        add_values(m, weight_role::values, model_part::apart, values_in(sorted.predictions, value));
        if (const status valid = llmres::validate(m); !valid) return valid.error();
        return m;
    }

    config_fields outer_;
    config_fields inner_;
    const safetensors_checkpoint& checkpoint_;
};

}  // namespace llmres::inline v0::detail::safetensors
