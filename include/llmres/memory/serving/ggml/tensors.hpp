// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/memory/serving/ggml/buffer.hpp>
#include <llmres/memory/serving/ggml/steps.hpp>
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

constexpr step_condition conditions_of(const graph_layer& l) {
    return conditions_of(l.last, l.last_of_mask, l.computes_logits);
}

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
    bool copies_values = false;     ///< of the latent, transposed, where there is no flash attention
    bool all_parts = false;         ///< are made before the first of them is read
    bool unpacked = false;          ///< the cache is quantised, and its rotary part is unpacked first
    bool first = true;              ///< of the GPUs: it casts the mask, others get it in 16 bit
    std::int32_t input_copies = 1;  ///< of all inputs, kept where GPUs work on several batches at once
};

/// The tensors of one GPU's part of a graph that are alive, by their names, in the buffer that they are laid out in. A
/// layer is written as steps first, which any layer of the same kind and place repeats.
class graph_tensors {
public:
    graph_shape shape;
    graph_options options;
    ggml_buffer buffer{};

    constexpr graph_tensors(const graph_shape& of_step, const graph_options& how)
        : shape{of_step}, options{how}, column_{bytes(4) * of_step.tokens} {}

    constexpr byte_count rows_of(std::int64_t width) const { return column_ * width; }

    constexpr void begin() {
        for (std::size_t i = 0; i < first_of_layer; ++i) places_[i] = {};
        const bool casts = options.flash && !options.writes.narrow_masks;
        const bool wide = casts && options.first;
        const std::int64_t each = options.flash && !wide ? 2 : 4;
        if (wide) given_ = step_condition::wide_mask | step_condition::wide_window_mask;
        if (options.input_copies > 1) {  // these are never freed
            for (std::int32_t i = 0; i < options.input_copies; ++i) {
                lay_out_rows(shape.hidden), lay_out_rows(1);
                for (const std::int64_t cells : {shape.cells, shape.window_cells})
                    buffer.add(bytes(each) * cells * shape.tokens);
            }
            return;
        }
        const std::int32_t here = options.inputs_here;
        const ggml_buffer::tensor rows_read = here > 1 ? lay_out_rows(shape.hidden) : ggml_buffer::tensor{};
        if (here > 0) lay_out_rows(shape.hidden);
        if (here == 0) places_[stream] = lay_out_rows(shape.hidden);
        places_[positions] = lay_out_rows(1);
        for (const bool window : {false, true}) {
            const std::int64_t cells = window ? shape.window_cells : shape.cells;
            if (cells == 0) continue;
            if (options.writes.value_rows && !options.flash)
                places_[value_rows + std::size_t{window}] = buffer.add(bytes(8) * shape.tokens * shape.value_rows);
            places_[masks + std::size_t{window}] = buffer.add(bytes(each) * cells * shape.tokens);
        }
        if (here > 0) places_[stream] = lay_out_rows(shape.hidden);
        if (here <= 1) return;
        const ggml_buffer::tensor looked_up = lay_out_rows(shape.hidden);
        lay_out_rows(shape.hidden);  // read through a view alone, which frees nothing
        buffer.free(rows_read);
        buffer.free(looked_up);
    }

    /// Lays out a layer whose steps were written, or those of another of the same kind and in the same place.
    constexpr void lay_out(const layer_steps& written, step_condition conditions) {
        set_conditions(conditions);
        perform(written);
        places_[stream] = places_[written.stream];
    }

protected:
    /// A tensor by its number. 0: none.
    struct tensor {
        std::uint16_t number = 0;
    };
    static constexpr std::uint16_t stream = 1, positions = 2, masks = 3, value_rows = 5, first_of_layer = 7;
    /// Of latent attention that expands keys and values of the whole context.
    static constexpr std::size_t most_parts = 256;
    static constexpr std::size_t names = static_cast<std::size_t>(operand_name::fed) + 1;

    constexpr void begin_layer(layer_steps& to, const graph_layer& l) {
        set_conditions(conditions_of(l));
        written_ = &to;
        to.count = 0;
        to.whole = true;
        to.added = {};
        next_ = first_of_layer;
        for (tensor& t : tensors_) t = {};
        at(operand_name::stream) = {stream};
    }
    constexpr void end_layer() { written_->stream = at(operand_name::stream).number; }

    constexpr tensor add_rows(std::int64_t width) { return added(rows_of(width), sized_by::rows); }
    constexpr tensor add(byte_count size) { return added(size, sized_by::itself); }
    constexpr void free(tensor t, step_condition when = step_condition::always) {
        if (t.number > 0) write({.does = step_action::free, .when = when, .number = t.number});
    }
    constexpr tensor& at(operand_name name) { return tensors_[static_cast<std::size_t>(name)]; }
    constexpr void free(operand_name name) {
        free(at(name));
        at(name) = {};
    }
    /// The GPU's last layer is the last that reads them.
    constexpr void free_positions() { free(tensor{positions}, step_condition::last); }
    constexpr bool reads_window_mask(const graph_layer& l) const {
        return l.kind.attention.window > token_count{} && shape.window_cells > 0;
    }
    constexpr std::int64_t cells_of(const graph_layer& l) const {
        return reads_window_mask(l) ? shape.window_cells : shape.cells;
    }
    constexpr void free_mask(const graph_layer& l) {
        const bool window = reads_window_mask(l);
        free(of_mask(masks, window), step_condition::last_of_mask);
        free(of_mask(value_rows, window), step_condition::last_of_mask);
    }
    /// Flash attention makes a mask 16-bit where it is not yet.
    constexpr void cast_mask(bool window) {
        if (options.writes.narrow_masks) return;
        write({.does = step_action::replace,
               .when = window ? step_condition::wide_window_mask : step_condition::wide_mask,
               .number = of_mask(masks, window).number,
               .size = (bytes(2) * (window ? shape.window_cells : shape.cells) * shape.tokens).in(bytes)});
    }
    /// Where logits are computed, the rows that they are computed of are picked from a tensor of the hidden width, and
    /// take its place.
    constexpr void pick_rows(tensor t) {
        write({.does = step_action::replace,
               .when = step_condition::computes_logits,
               .of_rows = true,
               .number = t.number,
               .size = rows_of(shape.hidden).in(bytes)});
    }
    /// What the products of a half read is freed with the last that read it: the other half may, too.
    constexpr void free_normed(const layer& l) {
        if (l.norm_before_feed_forward || !l.norm_before_attention) free(operand_name::normed);
    }
    /// One that no step makes, as the graph's ends have.
    constexpr ggml_buffer::tensor lay_out_rows(std::int64_t width) { return buffer.add(rows_of(width)); }
    constexpr ggml_buffer::tensor& stream_place() { return places_[stream]; }

private:
    static constexpr tensor of_mask(std::uint16_t of_first, bool window) {
        return {static_cast<std::uint16_t>(of_first + window)};
    }
    /// What the size of a tensor follows from: the rows that pass a layer, or nothing else.
    enum class sized_by : bool { itself, rows };

    constexpr tensor added(byte_count size, sized_by what) {
        if (size == byte_count{}) return {};
        write({.does = step_action::add, .of_rows = what == sized_by::rows, .number = next_, .size = size.in(bytes)});
        return {next_++};
    }
    constexpr void write(const graph_step& s) {
        if (s.does != step_action::free) written_->added += bytes(s.size) + ggml_buffer::most_padding;
        if (written_->count == layer_steps::most) {
            perform(*written_);
            written_->count = 0;
            written_->whole = false;
        }
        written_->steps[written_->count++] = slot<graph_step>{s};
    }
    constexpr std::int64_t size_of_step(const graph_step& s) const {
        return s.of_rows && fewer_rows_ ? s.size / shape.tokens * shape.scored : s.size;
    }
    constexpr void set_conditions(step_condition of_layer) {
        given_ = (given_ & (step_condition::wide_mask | step_condition::wide_window_mask)) | of_layer;
    }
    constexpr void perform(const layer_steps& written) {
        const std::size_t count = written.count;
        for (std::size_t i = 0; i < count; ++i) {
            const graph_step& s = written.steps[i].value;
            if (s.when != step_condition::always && (given_ & s.when) != s.when) continue;
            ggml_buffer::tensor& place = places_[s.number];
            if (s.does == step_action::add)
                place = buffer.add(size_of_step(s));
            else if (s.does == step_action::free)
                buffer.free(place);
            else
                replace(s, place);
        }
    }
    /// Picks rows, after which tensors have as many, or casts a mask, which is done once.
    constexpr void replace(const graph_step& s, ggml_buffer::tensor& place) {
        if (s.when == step_condition::computes_logits) {
            column_ = bytes(4) * shape.scored;
            fewer_rows_ = shape.scored < shape.tokens;
        } else {
            given_ = given_ & ~s.when;
        }
        const ggml_buffer::tensor before = place;
        place = buffer.add(bytes(size_of_step(s)));
        buffer.free(before);
    }

    tensor tensors_[names]{};                     ///< by name
    ggml_buffer::tensor places_[8 * most_parts];  ///< of those that were added, by number
    std::uint16_t next_ = first_of_layer;         ///< the number of the tensor that is added next
    bool fewer_rows_ = false;                     ///< rows were picked, and not all
    step_condition given_ = step_condition::always;
    byte_count column_;  ///< one fp32 feature of all tokens that pass: in the last layer of those that are scored
    layer_steps* written_ = nullptr;
};

}  // namespace llmres::inline v0::detail
