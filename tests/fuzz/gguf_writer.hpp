// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/model.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Writes GGUF files for tests and seeds: headers that are right, and any single thing wrong with them.
class gguf_writer {
public:
    std::string magic = "GGUF";
    std::uint32_t version = 3;
    std::uint64_t alignment = 32;
    bool with_data = true;

    void integer(std::string_view key, std::uint32_t number) {
        start(key, 4);
        put(pairs_, number);
    }
    void text(std::string_view key, std::string_view value) {
        start(key, 8);
        string(pairs_, value);
    }
    void flag(std::string_view key, std::uint8_t value) {
        start(key, 7);
        put(pairs_, value);
    }
    void real(std::string_view key, float value) {
        start(key, 6);
        put(pairs_, value);
    }
    void integers(std::string_view key, const std::vector<std::int32_t>& values) {
        start(key, 9);
        put(pairs_, std::uint32_t{5});
        put(pairs_, std::uint64_t{values.size()});
        for (const std::int32_t value : values) put(pairs_, value);
    }
    void texts(std::string_view key, const std::vector<std::string>& values) {
        start(key, 9);
        put(pairs_, std::uint32_t{8});
        put(pairs_, std::uint64_t{values.size()});
        for (const std::string& value : values) string(pairs_, value);
    }
    /// A key followed by bytes of the caller's making.
    void raw(std::string_view key, std::uint32_t type, std::string_view after) {
        start(key, type);
        pairs_ += after;
    }

    /// A tensor at the next free place.
    void tensor(std::string_view name, const std::vector<std::uint64_t>& shape,
                llmres::gguf_type type = llmres::gguf_type::F32) {
        std::int64_t rows = 1;
        for (std::size_t i = 1; i < shape.size(); ++i) rows *= static_cast<std::int64_t>(shape[i]);
        const llmres::precision format = llmres::find_gguf_type(static_cast<std::uint32_t>(type)).value.format;
        tensor_at(name, shape, static_cast<std::uint32_t>(type), data_);
        const auto size = static_cast<std::uint64_t>(
            llmres::size_of(format, rows, static_cast<std::int64_t>(shape.empty() ? 1 : shape[0])).in(llmres::bytes));
        data_ = (data_ + size + alignment - 1) / alignment * alignment;
    }
    void tensor_at(std::string_view name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                   std::uint64_t offset) {
        ++tensor_count;
        string(tensors_, name);
        put(tensors_, static_cast<std::uint32_t>(shape.size()));
        for (const std::uint64_t side : shape) put(tensors_, side);
        put(tensors_, type);
        put(tensors_, offset);
    }

    /// All tensors of a model under a mix, with the names that llama.cpp gives them.
    void tensors_of(const llmres::model& m, const llmres::gguf_mix& mix);

    std::uint64_t pair_count = 0;  ///< what the header says; counted by the functions above
    std::uint64_t tensor_count = 0;

    std::string bytes() const {
        std::string file = magic;
        put(file, version);
        put(file, tensor_count);
        put(file, pair_count);
        file += pairs_ + tensors_;
        if (!with_data) return file;
        file.resize((file.size() + alignment - 1) / alignment * alignment + data_);
        return file;
    }

    template <class Number>
    static void put(std::string& to, Number number) {
        char raw[sizeof number];
        std::memcpy(raw, &number, sizeof number);
        to.append(raw, sizeof number);
    }
    static void string(std::string& to, std::string_view value) {
        put(to, std::uint64_t{value.size()});
        to += value;
    }

private:
    void start(std::string_view key, std::uint32_t type) {
        ++pair_count;
        string(pairs_, key);
        put(pairs_, type);
    }

    std::string pairs_{};
    std::string tensors_{};
    std::uint64_t data_ = 0;
};

inline void gguf_writer::tensors_of(const llmres::model& m, const llmres::gguf_mix& mix) {
    using llmres::weight_role;
    int unnamed = 0;
    const auto add = [&](const std::string& prefix, const llmres::gguf_tensor& t, std::uint64_t experts) {
        std::string name;
        switch (t.role) {
            case weight_role::embed_tokens: name = "token_embd.weight"; break;
            case weight_role::lm_head: name = "output.weight"; break;
            case weight_role::q_proj: name = "attn_q.weight"; break;
            case weight_role::k_proj: name = "attn_k.weight"; break;
            case weight_role::v_proj: name = t.fused_qkv ? "attn_qkv.weight" : "attn_v.weight"; break;
            case weight_role::o_proj: name = "attn_output.weight"; break;
            case weight_role::gate_proj: name = t.stacked ? "ffn_gate_exps.weight" : "ffn_gate.weight"; break;
            case weight_role::up_proj: name = t.stacked ? "ffn_up_exps.weight" : "ffn_up.weight"; break;
            case weight_role::down_proj: name = t.stacked ? "ffn_down_exps.weight" : "ffn_down.weight"; break;
            case weight_role::router: name = "ffn_gate_inp.weight"; break;
            case weight_role::norm: name = "n" + std::to_string(unnamed++) + "_norm.weight"; break;
            case weight_role::bias: name = "b" + std::to_string(unnamed++) + ".bias"; break;
            case weight_role::values: name = "rope_freqs.weight"; break;
            default: name = "t" + std::to_string(unnamed++) + ".weight"; break;
        }
        std::vector<std::uint64_t> shape{static_cast<std::uint64_t>(t.columns)};
        const auto rows = static_cast<std::uint64_t>(t.rows);
        if (t.stacked)
            shape.insert(shape.end(), {rows / experts, experts});
        else if (rows > 1)
            shape.push_back(rows);
        tensor(prefix + name, shape, t.type);
    };
    llmres::for_each_gguf_input_tensor(m, mix, [&](const llmres::gguf_tensor& t) { add("", t, 1); });
    for (std::int32_t i = 0; i < m.layers.size; ++i) {
        const auto experts = static_cast<std::uint64_t>(m.layers[i].feed_forward.experts.count);
        llmres::for_each_gguf_tensor(
            m, mix, i, [&](const llmres::gguf_tensor& t) { add("blk." + std::to_string(i) + ".", t, experts); });
    }
    llmres::for_each_gguf_output_tensor(m, mix, [&](const llmres::gguf_tensor& t) { add("", t, 1); });
}
