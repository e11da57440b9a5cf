// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/feed_forward.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/memory/events/writer.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The tensors of a layer's forward pass, each from where it is made to where it is freed.
namespace llmres::inline v0::detail {

/// The forward pass over one layer, tensor by tensor. Which there are, and in which order, was read off transformers
/// 4.45 and 4.48 (models/llama/modeling_llama.py), PEFT 0.13 (tuners/lora/layer.py and bnb.py) and bitsandbytes
/// (nn/modules.py), run under a tracker of allocations (tests/validation/pytorch). What autograd saves is told by the
/// inventory; of an operation's tensors those are saved that have such a size.
class forward_layer_events {
public:
    /// `saved`: the group of what is saved until the first point of the backward pass; -1 where nothing is recorded.
    constexpr forward_layer_events(const event_writer& writer, const layer& passed, std::int64_t saved)
        : to_{writer}, kind_{passed}, context_{writer.folded.context}, saved_{saved} {}

    /// Whether it knows the tensors of such a layer: attention by one kernel, and a feed-forward without experts, both
    /// behind norms of their own.
    static constexpr bool describes(const layer& l, const training_context& context) {
        const attention& a = l.attention;
        const bool attends = a.kind == attention_kind::grouped && a.qk_norm == query_key_norm::none &&
                             a.cross == cross_attention::none && a.gate == output_gate::none &&
                             l.recurrent.kind == recurrent_kind::none && !context.attention.joined_heads &&
                             context.attention.kernel == attention_kernel::flash &&
                             context.runtime.kernels.linear == linear_code::plain;
        const bool norms = l.norm_before_attention && l.norm_before_feed_forward && !l.norm_after_attention &&
                           !l.norm_after_feed_forward && !context.code.norms.after_sum && !context.code.norms.one_input;
        return attends && norms && l.feed_forward.kind != feed_forward_kind::none && !l.feed_forward.routed() &&
               !context.code.feed_forward.joined;
    }

    /// Tells what autograd saves of the next operation.
    constexpr void save(const activation& a) {
        if (count_ == pending_.size()) return save(pending{local_bytes(a, to_.folded.split), a.until});
        pending_[count_++] = {local_bytes(a, to_.folded.split), a.until};
    }
    constexpr void operator()(const layer_operation& o) {
        const bool remakes_its_inputs = o.code == operation_code::attention;
        if (!remakes_its_inputs) save_inputs();
        write(o);
        if (remakes_its_inputs) save_inputs();
        for (std::size_t i = 0; i < count_; ++i) save(pending_[i]);
        count_ = 0;
    }
    /// The layer's output comes into that group, and all that is not saved is freed.
    constexpr void end(std::int64_t output_group, byte_count output) {
        to_.allocate(output_group, output);
        for (std::size_t i = 0; i < live_tensors; ++i)
            if (sizes_[i] > byte_count{}) to_.release(group_of(i));
        sizes_ = {};
    }

private:
    static constexpr std::size_t live_tensors = 32;
    using tensor = std::int64_t;  ///< its group; 0: there is none, or it is saved
    struct pending {
        byte_count size{};
        backward_point until{};
    };

    static constexpr std::int64_t group_of(std::size_t i) {
        return static_cast<std::int64_t>(tensor_group::live) + static_cast<std::int64_t>(i);
    }
    constexpr void save(const pending& p) const {
        if (saved_ >= 0) to_.allocate(saved_ + static_cast<std::int64_t>(p.until), p.size);
    }
    /// Whether the operation saves a tensor of that size, of which it is then counted.
    constexpr bool saves(byte_count size) {
        for (std::size_t i = 0; i < count_; ++i) {
            if (pending_[i].size != size) continue;
            save(pending_[i]);
            for (--count_; i < count_; ++i) pending_[i] = pending_[i + 1];
            return true;
        }
        return false;
    }
    /// Of the tensors that are alive, those that the operation saves go over into the group of what is saved. The block
    /// that is freed is the one that is taken.
    constexpr void save_inputs() {
        for (std::size_t i = 0; i < live_tensors; ++i) {
            if (sizes_[i] == byte_count{} || count_ == 0) continue;
            const byte_count size = sizes_[i];
            bool found = false;
            for (std::size_t p = 0; p < count_; ++p) found = found || pending_[p].size == size;
            if (!found) continue;
            to_.release(group_of(i));
            sizes_[i] = {};
            saves(size);
        }
    }
    constexpr tensor make(byte_count size) {
        for (std::size_t i = 0; i < live_tensors && size > byte_count{}; ++i) {
            if (sizes_[i] > byte_count{}) continue;
            sizes_[i] = size;
            to_.allocate(group_of(i), size);
            return group_of(i);
        }
        return 0;
    }
    /// A tensor that may be one of those that are saved.
    constexpr tensor keep(byte_count size) { return size > byte_count{} && saves(size) ? 0 : make(size); }
    constexpr void free(tensor& t) {
        if (t == 0) return;
        byte_count& size = sizes_[static_cast<std::size_t>(t - group_of(0))];
        if (size > byte_count{}) to_.release(t);
        size = {};
        t = 0;
    }
    constexpr byte_count size(const operand& t, const precision& format) const {
        return size(t.width, format, t.split);
    }
    constexpr byte_count size(std::int64_t width, const precision& format, activation_split split) const {
        return local_bytes({activation_role::up, product(context_.tokens.all(), width), format, split},
                           to_.folded.split);
    }

    constexpr void write(const layer_operation& o) {
        switch (o.code) {
            case operation_code::norm: return write_norm(o);
            case operation_code::products: return write_products(o);
            case operation_code::attention: return write_attention(o);
            case operation_code::activation: return write_activation(o);
            case operation_code::residual_sum:
                if (o.half == layer_half::feed_forward) return;
                residual_ = keep(size(o.writes[0], context_.residual(kind_.norm)));
                return free(mixed_);
            default: return;
        }
    }
    /// An RMS norm step by step: an fp32 copy, its squares, what is scaled by their mean, and that in the stream's
    /// format, which the weight multiplies.
    constexpr void write_norm(const layer_operation& o) {
        const precision& stream = context_.formats.stream;
        const bool steps = kind_.norm == norm_kind::rms && !context_.runtime.kernels.fuses_norms();
        const byte_count wide = steps ? size(o.reads[0], fp32) : byte_count{};
        const bool casts = steps && !(stream == fp32);
        tensor copy = casts ? keep(wide) : 0;
        tensor squares = make(wide);
        free(squares);
        tensor scaled = keep(wide);
        free(copy);
        tensor narrow = casts ? make(size(o.reads[0], stream)) : 0;
        normed_ = keep(size(o.reads[0], context_.normed(kind_.norm)));
        free(narrow), free(scaled);
    }
    constexpr void write_products(const layer_operation& o) {
        const precision& normed = context_.normed(kind_.norm);
        switch (o.weights[0]) {
            case weight_role::o_proj:
                mixed_ = write_product(o.reads[0], o.writes[0], context_.formats.compute, o.weights[0]);
                return free(query_), free(key_), free(value_), free(attended_), free(normed_);
            case weight_role::gate_proj: return write_gate(o);
            case weight_role::up_proj: up_ = write_product(o.reads[0], o.writes[0], normed, o.weights[0]); return;
            case weight_role::down_proj:
                fed_ = write_product(o.reads[0], o.writes[0], activated_format(kind_.feed_forward.kind, context_),
                                     o.weights[0]);
                return free(activated_), free(normed_);
            default:
                for (std::size_t i = 0; i < o.products(); ++i)
                    (i == 0   ? query_
                     : i == 1 ? key_
                              : value_) = write_product(o.reads[0], o.writes[i], normed, o.weights[i]);
        }
    }
    /// The gate is activated before `up` is computed, unless one kernel does that and multiplies both.
    constexpr void write_gate(const layer_operation& o) {
        const precision& normed = context_.normed(kind_.norm);
        gate_ = write_product(o.reads[0], o.writes[0], normed, o.weights[0]);
        if (!context_.runtime.kernels.fuses_gates()) {
            tensor activated = keep(size(o.writes[0], activated_format(feed_forward_kind::gated, context_)));
            free(gate_);
            gate_ = activated;
        }
        up_ = write_product(o.reads[0], o.writes[1], normed, o.weights[1]);
    }
    constexpr void write_activation(const layer_operation& o) {
        activated_ = keep(size(o.writes[0], activated_format(kind_.feed_forward.kind, context_)));
        free(gate_), free(up_);
    }

    /// Rotated queries and keys beside those before, then what the kernel reads and its output. Packages that fuse
    /// norms rotate in place (Liger, fms-acceleration).
    constexpr void write_attention(const layer_operation& o) {
        if (context_.code.attention.rotary && !context_.runtime.kernels.fuses_norms()) {
            tensor query = write_rotation(o.reads[0]), key = write_rotation(o.reads[1]);
            free(query_), free(key_);
            query_ = query, key_ = key;
        }
        if (context_.formats.fp32_outputs) {
            tensor* const heads[] = {&query_, &key_, &value_};
            for (std::size_t i = 0; i < 3; ++i) {
                tensor narrow = keep(size(o.reads[i], context_.formats.compute));
                free(*heads[i]);
                *heads[i] = narrow;
            }
        }
        attended_ = keep(size(o.writes[0], context_.formats.compute));
    }
    /// The heads times the cosines, and their halves, swapped and one of them negated, times the sines.
    constexpr tensor write_rotation(const operand& heads) {
        const byte_count whole = size(heads, context_.formats.outputs);
        tensor straight = make(whole), half = make(div_up(whole, 2)), swapped = make(whole);
        free(half);
        tensor turned = make(whole);
        free(swapped);
        const tensor sum = keep(whole);
        free(straight), free(turned);
        return sum;
    }

    /// A product's output, with its adapter's. `input`: the format of what it reads.
    constexpr tensor write_product(const operand& read, const operand& target, const precision& input,
                                   weight_role role) {
        const precision& compute = context_.formats.compute;
        const bool expands = context_.frozen && context_.quantised.expanded;
        tensor cast = input == compute ? 0 : keep(size(read, compute));
        tensor output = make(size(target, compute));
        tensor whole = expands ? make(local_bytes({activation_role::weight, product(read.width, target.width), compute,
                                                   activation_split::tensor},
                                                  to_.folded.split))
                               : 0;
        free(whole);
        if (context_.formats.fp32_outputs) {
            tensor wide = make(size(target, context_.formats.outputs));
            free(output);
            output = wide;
        }
        free(cast);
        return context_.adapter.adapts(role) ? write_adapter(read, target, input, output) : output;
    }
    /// result + lora_B(lora_A(dropout(x))) * scaling.
    constexpr tensor write_adapter(const operand& read, const operand& target, const precision& input, tensor output) {
        const auto& formats = context_.formats;
        const bool casts_itself = context_.quantised.four_bit && context_.autocast;
        if (context_.quantised.four_bit) {  // result.clone()
            tensor clone = make(size(target, formats.outputs));
            free(output);
            output = clone;
        }
        const bool copies = context_.copies_adapter_inputs && !casts_itself && !(input == formats.adapters);
        const precision& reads = copies ? formats.adapters : input;
        const precision& makes = context_.autocast ? formats.compute : formats.adapters;
        const bool drops = context_.adapter.dropout > 0;
        tensor copy = copies ? keep(size(read, reads)) : 0;
        tensor dropped = drops ? keep(size(read, reads)) : 0, mask = drops ? keep(size(read, int8)) : 0;
        free(mask);
        tensor narrow = reads == makes ? 0 : keep(size(read, makes));
        tensor low = keep(size(context_.adapter.rank, makes, activation_split::whole));
        free(narrow), free(dropped);
        tensor high = make(size(target, makes));
        free(low);
        tensor scaled = make(size(target, makes));
        free(high);
        tensor sum = make(size(target, makes == fp32 ? fp32 : formats.outputs));
        free(scaled), free(output), free(copy);
        if (!(makes == fp32) || formats.outputs == fp32) return sum;
        tensor result = make(size(target, formats.outputs));
        free(sum);
        return result;
    }

    const event_writer& to_;
    const layer& kind_;
    const training_context& context_;
    std::int64_t saved_;
    std::array<pending, 24> pending_{};
    std::size_t count_ = 0;
    std::array<byte_count, live_tensors> sizes_{};
    tensor normed_ = 0, query_ = 0, key_ = 0, value_ = 0, attended_ = 0, mixed_ = 0;
    tensor residual_ = 0, gate_ = 0, up_ = 0, activated_ = 0, fed_ = 0;
};

}  // namespace llmres::inline v0::detail
