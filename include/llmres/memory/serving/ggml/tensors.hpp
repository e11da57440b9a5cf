// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/memory/serving/ggml/buffer.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/runtimes/serving_kernels.hpp>
#include <llmres/values/units.hpp>

/// What decides which tensors a graph of ggml has, and those that are alive between its operations.
namespace llmres::inline v0::detail {

/// Where routed experts are computed, seen from one GPU.
enum class expert_place : std::uint8_t {
    here,       ///< where their weights are
    host,       ///< by the CPU
    copied,     ///< here, with weights that come from the host
    first_gpu,  ///< likewise, but not here: the scheduler gives such work to the first GPU
                ///< (ggml_backend_sched_backend_id_from_cur)
};

/// One layer in a graph: what its place in it decides.
struct graph_layer {
    const layer& kind;             ///< with the heads of this GPU
    bool expands = false;          ///< latent attention expands keys and values of the whole context
    bool last = false;             ///< the GPU's last: positions are freed
    bool last_of_mask = false;     ///< no later layer of the model reads the same mask
    bool computes_logits = false;  ///< the model's last: rows are picked for the logits
    expert_place place = expert_place::here;
    byte_count gate_stack{};  ///< of all experts' weights, where they are copied: of the gate, and of the way down
    byte_count down_stack{};
};

/// Tokens of a step, and cells of the caches that they attend to.
struct graph_shape {
    std::int64_t tokens = 0;
    std::int64_t cells = 0;
    std::int64_t window_cells = 0;  ///< of layers with a window, where these have a mask of their own; 0: they have not
    std::int64_t scored = 0;        ///< tokens that logits are computed of
    std::int64_t sequences = 1;     ///< that have a recurrent state
    std::int64_t hidden = 0;
    std::int64_t value_rows = 0;  ///< features of the widest layer's values, whose cells are written one by one
};

/// How a version of llama.cpp writes its graphs.
struct graph_options {
    bool flash = true;
    bool fused = false;  ///< norms with their weights, gates with their products, sums of experts (ik_llama.cpp; -fmoe)
    ggml_graphs writes{};
    std::int32_t inputs_here = 0;   ///< writes.inputs_of_embedding, where the embedding is looked up on this device
    bool joined_heads = false;      ///< files have one matrix for queries, keys and values
    bool joined_gate = false;       ///< files have one matrix for a feed-forward's gate and product
    byte_count part_limit{};        ///< -amb
    bool all_parts = false;         ///< are made before the first of them is read
    bool unpacked = false;          ///< the cache is quantised, and its rotary part is unpacked first
    bool first = true;              ///< of the GPUs: it casts the mask, others get it in 16 bit
    std::int32_t input_copies = 1;  ///< of all inputs, kept where GPUs work on several batches at once
};

/// The tensors of one GPU's part of a graph that are alive, by their names, in the buffer that they are laid out in.
class graph_tensors {
public:
    graph_shape shape;
    graph_options options;
    ggml_buffer buffer{};

    constexpr graph_tensors(const graph_shape& of_step, const graph_options& how)
        : shape{of_step}, options{how}, rows{of_step.tokens} {}

    using tensor = ggml_buffer::tensor;
    constexpr byte_count rows_of(std::int64_t width) const { return column * width; }

    constexpr void begin() {
        const bool wide = options.flash && options.first && !options.writes.narrow_masks;
        const std::int64_t each = options.flash && !wide ? 2 : 4;
        masks[0] = {.cells = shape.cells, .wide = wide};
        masks[1] = {.cells = shape.window_cells, .wide = wide};
        if (options.input_copies > 1) {  // these are never freed
            for (std::int32_t i = 0; i < options.input_copies; ++i) {
                add_rows(shape.hidden), add_rows(1);
                for (const graph_mask& m : masks) buffer.add(bytes(each) * m.cells * rows);
            }
            return;
        }
        const std::int32_t here = options.inputs_here;
        const tensor rows_read = here > 1 ? add_rows(shape.hidden) : tensor{};
        if (here > 0) add_rows(shape.hidden);
        if (here == 0) at(operand_name::stream) = add_rows(shape.hidden);
        positions = add_rows(1);
        for (graph_mask& m : masks) {
            if (m.cells == 0) continue;
            if (options.writes.value_rows && !options.flash)
                m.value_rows = buffer.add(bytes(8) * rows * shape.value_rows);
            m.values = buffer.add(bytes(each) * m.cells * rows);
        }
        if (here > 0) at(operand_name::stream) = add_rows(shape.hidden);
        if (here <= 1) return;
        const tensor looked_up = add_rows(shape.hidden);
        add_rows(shape.hidden);  // read through a view alone, which frees nothing
        buffer.free(rows_read);
        buffer.free(looked_up);
    }

protected:
    /// Of tokens by cells; and the numbers of the cells that values are written to, one by one.
    struct graph_mask {
        tensor values{}, value_rows{};
        std::int64_t cells = 0;
        bool wide = false;  ///< flash attention has yet to make it 16-bit
    };
    static constexpr std::size_t names = static_cast<std::size_t>(operand_name::fed) + 1;

    [[gnu::noinline]] constexpr tensor add_rows(std::int64_t width) { return buffer.add(rows_of(width)); }
    constexpr tensor& at(operand_name name) { return tensors[static_cast<std::size_t>(name)]; }
    constexpr void free(operand_name name) {
        buffer.free(at(name));
        at(name) = {};
    }
    constexpr graph_mask& mask_of(const graph_layer& l) {
        return masks[l.kind.attention.window > token_count{} && shape.window_cells > 0 ? 1 : 0];
    }
    [[gnu::noinline]] constexpr void free_mask(const graph_layer& l) {
        if (!l.last_of_mask) return;
        buffer.free(mask_of(l).values);
        buffer.free(mask_of(l).value_rows);
    }
    [[gnu::noinline]] constexpr void cast_mask(graph_mask& mask) {
        if (!mask.wide) return;
        const tensor wide = mask.values;
        mask.values = buffer.add(bytes(2) * mask.cells * rows);
        buffer.free(wide);
        mask.wide = false;
    }
    /// What the products of a half read is freed with the last that read it: the other half may, too.
    constexpr void free_normed(const layer& l) {
        if (l.norm_before_feed_forward || !l.norm_before_attention) free(operand_name::normed);
    }

    std::array<tensor, names> tensors{};
    std::array<graph_mask, 2> masks{};  ///< of layers without and with a window
    tensor positions{};
    std::int64_t rows;  ///< tokens that pass the layer; in the last one those that logits are computed of
    byte_count column = bytes(4) * rows;  ///< one fp32 feature of all of them
    bool picks_stream = false;            ///< the residual sum is of the rows that logits are computed of
};

}  // namespace llmres::inline v0::detail
