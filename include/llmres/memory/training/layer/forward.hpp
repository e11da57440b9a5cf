// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/attention.hpp>
#include <llmres/inventory/layers/delta_net.hpp>
#include <llmres/inventory/layers/feed_forward.hpp>
#include <llmres/inventory/layers/mamba2.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/modeling.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <llmres/values/visitor.hpp>

/// The forward pass of one layer, operation by operation: what is alive at its fullest moment.
namespace llmres::inline v0::detail {

/// What autograd has saved of a layer so far. All of it is zero in a layer that is recomputed or offloaded.
struct saved_so_far {
    byte_count before{};  ///< by the operations before this one
    byte_count all{};     ///< by this one, too
    byte_count late{};    ///< of `all`, what attention makes after its softmax
    bool input = false;   ///< the norm's output, as it is, by the products that read it
    bool parts = false;   ///< of earlier layers parts alone, without the scores of attention
};

/// What becomes of what the layers of a job save.
enum class saved_tensors : std::uint8_t {
    stay,          ///< on the GPU until the backward pass
    recomputed,    ///< but for the layer's input
    moved,         ///< to main memory, the layer's input too
    inputs_moved,  ///< recomputed from the layer's input, which lies in main memory
};

/// Whether products keep what they read as it is: each may make a copy.
constexpr bool products_keep(norm_kind kind, const training_context& context) {
    return !context.casts(kind) && !(context.frozen && context.copies_adapter_inputs);
}

/// Whether autograd keeps the residual stream itself: what a norm in one kernel reads, or one without a cast.
constexpr bool keeps_stream(norm_kind kind, const training_context& context) {
    if (context.code.norms.after_sum) return products_keep(kind, context);
    const norm_form form = context.code.norms.form;
    if (context.casts_norm_inputs() && context.formats.fp32_stream) return false;
    if (context.formats.fp32_stream || form == norm_form::narrow_scale) return true;
    const bool copies = form == norm_form::wide_kernel || form == norm_form::wide_mean || kind == norm_kind::rms ||
                        context.widens(kind);
    return context.runtime.kernels.fuses_norms() || !copies;
}

/// Whether the products of a half of the layer read the residual stream itself: no norm stands before them.
constexpr bool reads_stream(const layer& l, layer_half half) {
    if (half == layer_half::attention) return !l.norm_before_attention && l.attention.kind != attention_kind::none;
    return !l.norm_before_attention && !l.norm_before_feed_forward;
}

/// Whether autograd keeps a layer's input as it is.
constexpr bool keeps_input(const layer& l, const training_context& context) {
    return reads_stream(l, layer_half::attention) ? products_keep(l.norm, context) : keeps_stream(l.norm, context);
}

/// What torchao makes of a 16-bit weight for one product: scaled and clamped in fp32, and in 8 bits.
constexpr byte_count scaled_weight(const operand& read, const operand& target, const training_context& context,
                                   const layer_split& l) {
    const auto whole = [&](const precision& format) {
        return local_bytes(
            {activation_role::weight, product(read.width, target.width), format, activation_split::tensor}, l);
    };
    return context.quantised.scaled ? whole(fp32) * 2 + whole(int8) : byte_count{};
}

/// The fullest moments of a layer's forward pass, without what is made of its weights.
struct layer_forward {
    byte_count mixer{};                   ///< before the feed-forward's products
    byte_count feed_forward{};            ///< from these on, before its last product
    byte_count last_product{};            ///< from that on
    byte_count beside_magnitudes{};       ///< while DoRA takes the norm of a weight but the feed-forward's last
    byte_count beside_last_magnitudes{};  ///< of that
};

/// Sees, at each operation, the tensors that are alive beside what autograd has saved: sizes, of which some are 0.
struct live_tensor_visitor {
    constexpr virtual void operator()(byte_count size) const = 0;
    constexpr virtual void end() const = 0;  ///< of the operation's

protected:
    constexpr ~live_tensor_visitor() = default;
};

/// Follows the operations of a layer in the order of the forward pass. At each of them there is what autograd saved so
/// far; what the model's code still refers to, be it saved or not: the layer's input, the residual sum, the norm's
/// output; and what the operation makes for itself. transformers 5.17, models/*/modeling_*.py, and the packages that
/// stand beside the products, run under a tracker of allocations (tests/validation/pytorch).
class forward_sweep {
public:
    constexpr forward_sweep(const layer& swept, std::int64_t hidden_width, const training_context& trained,
                            const layer_split& split, saved_tensors becomes,
                            const live_tensor_visitor* seen_by = nullptr)
        : kind_{swept},
          hidden_{hidden_width},
          context_{trained},
          split_{split},
          visit_{seen_by},
          records_{becomes == saved_tensors::stay},
          stream_kept_{becomes == saved_tensors::recomputed || (records_ && keeps_input(swept, trained))},
          stream_{size(hidden_width, trained.residual(swept.norm), activation_split::sequence)},
          normed_{size(hidden_width, trained.normed(swept.norm), activation_split::sequence)},
          output_{size(hidden_width, trained.formats.outputs, activation_split::sequence)},
          asked_with_{asked_with()} {}

    /// To be called with each operation in turn.
    constexpr void operator()(const layer_operation& o, const saved_so_far& saved) {
        switch (o.code) {
            case operation_code::norm: return after_sum(o, saved);
            case operation_code::attention: return at_attention(saved, o.crosses);
            case operation_code::scan: return at_scan(saved);
            case operation_code::products: return at_products(o, saved);
            case operation_code::activation: return o.routed ? at_routed_activation(o, saved) : at_activation(o, saved);
            case operation_code::combine: return at_combine(o, saved);
            case operation_code::residual_sum: return at_sum(o, saved);
            default: return;
        }
    }

    /// The most that was alive, but for what stands outside of the layer.
    constexpr const layer_forward& most() const { return most_; }

private:
    constexpr byte_count size(std::int64_t width, const precision& format, activation_split split) const {
        return local_bytes({activation_role::up, context_.tokens.all() * width, format, split}, split_);
    }
    constexpr byte_count size(const operand& t, const precision& format) const {
        return size(t.width, format, t.split);
    }
    static constexpr byte_count larger(byte_count a, byte_count b) { return a > b ? a : b; }
    /// `saved` by autograd, what the layer's code refers to, and these tensors are alive.
    template <class... Sizes>
    constexpr void consider(byte_count saved, Sizes... beside) {
        byte_count& most = most_.*here_;
        most = larger(most, (saved + ... + beside) + frames());
        if (visit_) show({beside...});
    }
    constexpr void show(std::initializer_list<byte_count> beside) const {
        for (const byte_count size : referred()) (*visit_)(size);
        for (const byte_count size : beside) (*visit_)(size);
        visit_->end();
    }
    constexpr bool gated() const { return kind_.feed_forward.kind == feed_forward_kind::gated; }
    constexpr bool joined() const { return gated() && context_.code.feed_forward.joined; }
    constexpr bool one_input() const { return context_.code.norms.one_input; }

    /// What the layer's code refers to, though autograd does not keep it: attention's probabilities and output, the
    /// layer's input, and the residual sum; and the probabilities of the layer before.
    constexpr std::array<byte_count, 6> referred() const {
        const bool holds_attended = context_.code.frames.attention_output || one_input();
        const bool holds_input = context_.code.frames.attention_input && !records_ && attended_ > byte_count{};
        return {holds_input ? normed_ : byte_count{},
                scores_,
                holds_attended ? attended_ : byte_count{},
                stream_kept_ ? byte_count{} : stream_,
                records_ && stream_kept_ ? byte_count{} : residual_,
                earlier_scores_};
    }
    constexpr byte_count frames() const {
        byte_count held = asked_with_;
        for (const byte_count size : referred()) held += size;
        return held;
    }
    /// The norm's output, which a layer's code hands on, unless the products keep it as it is.
    constexpr byte_count normed(bool kept) const {
        const layer_half half = here_ == &layer_forward::mixer ? layer_half::attention : layer_half::feed_forward;
        if (context_.code.norms.after_sum || reads_stream(kind_, half) || (records_ && kept)) return {};
        return normed_;
    }
    constexpr byte_count normed_in_feed_forward(const saved_so_far& saved) const {
        return context_.code.frames.frees_normed ? byte_count{} : normed(saved.input);
    }

    /// A norm of the residual sum: the feed-forward's inner tensor and its output are still referred to.
    constexpr void after_sum(const layer_operation& o, const saved_so_far& saved) {
        if (!context_.code.norms.after_sum || o.half != layer_half::feed_forward) return;
        consider(saved.all, activated_, stream_, output_);
    }

    constexpr void at_sum(const layer_operation& o, const saved_so_far& saved) {
        if (one_input()) {
            if (o.half == layer_half::attention) return;
            return consider(saved.all, stream_, stream_);  // both halves' outputs, and their sum
        }
        // A norm of the sum stands in the code that adds: its other summand is still referred to.
        if (o.half == layer_half::attention || !context_.code.norms.after_sum)
            residual_ = o.half == layer_half::attention ? stream_ : byte_count{};
    }

    /// Queries, scaled by sdpa; keys and values, and those repeated for every query head. RoPE's tables have the format
    /// of the stream, so that eager attention repeats keys that are rotated in it.
    constexpr byte_count heads(bool repeats = false) const {
        const attention& a = kind_.attention;
        const bool eager = context_.attention.kernel == attention_kernel::eager;
        const bool scales = repeats && !eager;
        const precision& rotated =
            eager && wide_mask() && context_.code.attention.rotary ? fp32 : context_.formats.compute;
        const auto of = [&](std::int64_t count, const precision& format) {
            return size(count * a.query_width(), format, activation_split::tensor);
        };
        return of(a.heads * (1 + scales + repeats) + a.kv_heads, rotated) +
               of(a.heads * repeats + a.kv_heads, context_.formats.compute);
    }
    /// Whether the mask that eager attention adds, and RoPE's tables, are fp32 beside 16-bit products: they have
    /// the format of the stream.
    constexpr bool wide_mask() const { return context_.autocast && context_.formats.fp32_stream; }

    constexpr void at_attention(const saved_so_far& saved, bool crosses) {
        const byte_count held = normed(saved.input);
        const attention_to seen = crosses ? attention_to::encoder : attention_to::itself;
        if (score_code_of(kind_.attention, context_, seen) == score_code::by_pair)
            at_scores(saved, held, crosses);
        else
            consider(saved.all, held, records_ ? byte_count{} : heads());
        attended_ = output_;
    }

    /// What stands beside the scores where sdpa computes by plain products: queries, keys and values as one product
    /// made them; queries as they are rotated, in fp32, and scaled. Values are cast when the softmax is computed.
    constexpr byte_count beside_products() const {
        const attention& a = kind_.attention;
        const std::int64_t queries = a.heads * a.query_width(), shared = 2 * a.kv_heads * a.query_width();
        const byte_count made = size(2 * queries + shared, context_.formats.compute, activation_split::tensor) +
                                size(queries, fp32, activation_split::tensor) * (context_.formats.fp32_compute ? 1 : 2);
        if (!records_) return made;
        const std::int64_t copies = context_.tokens.sequences > 1 ? a.heads : a.kv_heads;
        const byte_count values = size(copies * a.value_width(), fp32, activation_split::tensor);
        return beyond(made, values);
    }

    /// What stands beside the probabilities when the products return them in 16 bits: queries, keys and values as they
    /// were given, queries and keys in fp32, the bias with the mask in it, and the output in both formats.
    constexpr byte_count beside_returned_probabilities() const {
        const attention& a = kind_.attention;
        const precision& format = context_.formats.compute;
        const std::int64_t queries = a.heads * a.query_width(), keys = a.kv_heads * a.query_width();
        const std::int64_t pairs = product(a.heads, product(context_.tokens.length, context_.tokens.keys));
        const byte_count bias =
            context_.code.attention.biased_scores
                ? local_bytes({activation_role::mask, pairs, format, activation_split::tensor}, split_)
                : byte_count{};
        return bias + size(queries + 2 * keys + a.heads * a.value_width(), format, activation_split::tensor) +
               size(queries + keys + a.heads * a.value_width(), fp32, activation_split::tensor);
    }

    /// Attention by pairs: scores as they are scaled, masked and widened, the softmax, and dropout of what it puts out.
    constexpr void at_scores(const saved_so_far& saved, byte_count held, bool crosses) {
        const attention& a = kind_.attention;
        const precision& format = context_.formats.compute;
        const bool eager = context_.attention.kernel == attention_kernel::eager;
        const bool joined = context_.code.frames.joined_heads;
        held += joined ? size((a.heads + 2 * a.kv_heads) * a.query_width(), format, activation_split::tensor)
                       : byte_count{};
        const bool repeats = a.kind != attention_kind::latent && a.kv_heads != a.heads && (a.kv_heads > 1 || !eager);
        const std::int64_t keys = crosses ? context_.encoder_tokens : context_.tokens.keys;
        const std::int64_t pairs = product(context_.tokens.all(), product(a.heads, keys));
        const auto scores = [&](const precision& f) {
            return local_bytes({activation_role::probabilities, pairs, f, activation_split::tensor}, split_);
        };
        const bool products = falls_to_products(a, context_, crosses ? attention_to::encoder : attention_to::itself);
        const bool widens = products || (widens_scores(context_) && !context_.formats.fp32_compute);
        const bool drops = context_.dropout && context_.code.dropout.probabilities;
        // Before the softmax, and widened for it; where it is not saved, its output, too.
        const bool both = eager && context_.code.frames.plain_scores;
        if (eager && context_.code.frames.earlier_probabilities && (!records_ || saved.parts))
            earlier_scores_ = scores(format);
        // A sum with an fp32 mask is what the softmax reads, and the scores are freed.
        const bool sums_wide = eager && context_.attention.adds_mask && !crosses && !both && widens && wide_mask();
        const byte_count made = (products || sums_wide ? byte_count{} : scores(format) * (both ? 2 : 1)) +
                                (widens ? scores(fp32) : byte_count{});
        const byte_count softmax = scores(widens ? fp32 : format);
        if (records_) {  // what autograd keeps are the repeated keys and values
            const byte_count own = size(2 * a.kv_heads * a.query_width(), format, activation_split::tensor);
            consider(saved.all - saved.late, made, held, products ? beside_products() : repeats ? own : byte_count{});
            if (products && !context_.formats.fp32_compute)
                consider(saved.all, scores(format), held, beside_returned_probabilities());
        } else {
            // Without autograd the noise that is multiplied has the format of what is dropped out (Dropout.cpp).
            const byte_count noise = products ? softmax : scores(int8);
            const byte_count dropped = drops ? softmax * 2 + noise : byte_count{};
            consider(saved.all, larger(made + softmax, dropped), held, products ? beside_products() : heads(repeats));
        }
        if (!eager) return;
        // Eager attention returns what the softmax or the dropout put out, before a cast for the values.
        const bool casts =
            context_.code.attention.softmax == softmax_format::wide || context_.code.frames.casts_probabilities;
        const precision& output = context_.autocast && !casts ? fp32 : format;
        const byte_count earlier = scores_;  // of self-attention, beside those of attention to an encoder
        if (!records_ || (drops && !(output == format))) scores_ = scores(output);
        if (!records_ && joined) inner_ = made + held - normed(saved.input);
        consider(saved.all, held, earlier);
    }

    constexpr void at_scan(const saved_so_far& saved) {
        byte_count scan;
        const auto add = [&](const activation& a) { scan += local_bytes(a, split_); };
        const auto added = visiting<activation>(add);
        const layer_writer hold{context_, added};
        if (kind_.recurrent.kind == recurrent_kind::mamba2) pass_forward_scan(kind_.recurrent, hold);
        if (is_gated_delta(kind_.recurrent)) pass_forward_delta_net(kind_.recurrent, hold);
        consider(saved.before, normed(saved.input), scan);
    }

    /// What PEFT makes beside one product (tuners/lora/layer.py, bnb.py): the product's output, the adapter's, the same
    /// scaled, and their sum; and its input in its own format, and dropped out. `input`: the format of what the product
    /// reads. `last`: recomputation ends before the adapter's output is made, when all that was saved is there
    /// (torch/utils/checkpoint.py, _StopRecomputationError).
    constexpr byte_count beside_product(const operand& read, const operand& target, const precision& input,
                                        bool last = false) const {
        const precision& adapter = context_.formats.adapters;
        const bool temporary = !records_ || context_.autocast;  // what autograd keeps is a copy in 16 bits
        const bool copies = context_.copies_adapter_inputs && !(context_.quantised.four_bit && context_.autocast) &&
                            !(input == adapter);
        const byte_count copied = copies && temporary ? size(read, adapter) : byte_count{};
        const byte_count dropped = context_.adapter.dropout > 0 && temporary ? size(read, adapter) : byte_count{};
        const byte_count output = size(target, context_.formats.outputs);
        // Autocast casts once more what an adapter reads in its own format.
        const bool casts = !records_ && context_.autocast && !(adapter == context_.formats.compute);
        const byte_count cast =
            casts && (copies || dropped > byte_count{}) ? size(read, context_.formats.compute) : byte_count{};
        const byte_count scaled = size(target, context_.autocast ? context_.formats.compute : adapter);
        if (last) return copied + output + dropped;
        return copied + larger(output + dropped + cast, output + scaled + larger(output, scaled));
    }

    /// What a product makes of its weight: bitsandbytes expands it (backends/cuda/ops.py, gemm_4bit); torchao scales it
    /// in fp32, clamps it, and casts it to 8 bits beside its input (float8/float8_scaling_utils.py).
    constexpr byte_count for_weight(const operand& read, const operand& target) const {
        const bool changes = context_.quantised.expanded || context_.quantised.scaled || context_.code.multiplies_views;
        return changes ? changed_weight(read, target) : byte_count{};
    }
    constexpr byte_count changed_weight(const operand& read, const operand& target) const {
        const auto whole = [&](const precision& format) {
            return local_bytes(
                {activation_role::weight, product(read.width, target.width), format, activation_split::tensor}, split_);
        };
        // HQQ's is unpacked, moved by its zero points and scaled, each into a tensor (Quantizer.dequantize).
        const int copies = context_.quantised.saves_weights ? 3 : 1;
        if (context_.frozen && context_.quantised.expanded)
            return whole(context_.formats.compute) * copies + size(target, context_.formats.compute) +
                   (records_ || !context_.formats.fp32_outputs ? byte_count{} : size(read, context_.formats.compute));
        if (context_.code.multiplies_views && context_.autocast && !context_.frozen && !records_)
            return whole(context_.formats.compute);
        if (!context_.quantised.scaled) return {};
        return larger(scaled_weight(read, target, context_, split_) + size(read, int8),
                      size(read, fp32) * 2 + size(read, int8));
    }

    /// Whether this is the recomputation of a layer whose last tensor saved is what the feed-forward's last adapter
    /// reads: no norm and no dropout follows.
    constexpr bool ends_with_adapter() const {
        return records_ && context_.recomputes && !context_.runtime.kernels.checkpointing.reentrant &&
               adapts(weight_role::down_proj) && !kind_.feed_forward.routed() && !kind_.norm_after_feed_forward &&
               !context_.code.norms.after_sum && !context_.dropout;
    }
    /// Whether it is one whose last operation casts the output of the feed-forward's norm, which its weight multiplied
    /// in fp32: the gradient is cast before that product asks for what it saved.
    constexpr bool ends_with_cast() const {
        return records_ && context_.recomputes && !context_.runtime.kernels.checkpointing.reentrant &&
               kind_.norm_after_feed_forward && kind_.norm == norm_kind::rms && !context_.formats.fp32_compute &&
               !context_.runtime.kernels.fuses_norms() && multiplies_in_fp32(context_.code.norms.form);
    }
    /// What that adapter's backward pass has made when it asks for the recomputation: its output's gradient, scaled,
    /// and without autocast that of the product's output in its own format.
    constexpr byte_count asked_with() const {
        if (ends_with_cast()) return size(hidden_, fp32, activation_split::sequence);
        if (!ends_with_adapter()) return {};
        const precision& adapter = context_.formats.adapters;
        if (context_.autocast || adapter == context_.formats.outputs) return output_;
        return output_ + size(hidden_, adapter, activation_split::sequence);
    }

    constexpr bool adapts(weight_role role) const { return context_.adapter.adapts(role); }

    /// DoRA takes the norm of the adapted weight before it saves anything of the product (tuners/lora/dora.py).
    /// `input`: the format of what the product reads, of which the adapter has a copy in its own.
    constexpr void at_magnitudes(const operand& read, const operand& target, const precision& input, byte_count held,
                                 byte_count& most) {
        if (context_.adapter.kind != adapter_kind::dora) return;
        const precision& adapter = context_.formats.adapters;
        const bool copies = context_.copies_adapter_inputs && !(input == adapter);
        most =
            larger(most, held + size(target, context_.formats.outputs) + (copies ? size(read, adapter) : byte_count{}));
    }

    constexpr void at_products(const layer_operation& o, const saved_so_far& saved) {
        if (here_ == &layer_forward::mixer && is_feed_forward(o.weights[0])) here_ = &layer_forward::feed_forward;
        if (o.routed || o.weights[0] == weight_role::router) return;
        if (o.weights[0] == weight_role::down_proj) return at_last_product(o, saved);
        const bool gate = o.weights[0] == weight_role::gate_proj;
        const bool one = is_joined(o, context_);
        byte_count made, earlier;
        for (std::size_t i = 0; i < (one ? 1 : o.products()); ++i) {
            operand target = o.writes[i];
            for (std::size_t with = 1; one && with < o.products(); ++with) target.width += o.writes[with].width;
            byte_count here = for_weight(o.reads[0], target);
            if (adapts(o.weights[i]))
                here = larger(here, beside_product(o.reads[0], target, context_.normed(kind_.norm)));
            if (gate && i == 1) here += gate_before_up(target);
            made = larger(made, here + earlier);
            if (!gate && !records_) earlier += size(target, context_.formats.outputs);  // queries, beside keys
        }
        if (adapts(o.weights[0]))
            at_magnitudes(o.reads[0], o.writes[0], context_.normed(kind_.norm),
                          saved.before + frames() + normed(saved.input), most_.beside_magnitudes);
        const bool projects = o.weights[0] == weight_role::o_proj && !records_;
        if (projects) made = larger(made, size(o.writes[0], context_.formats.outputs));
        consider(saved.all, normed(saved.input), made, projects ? attended() : byte_count{});
    }

    /// What attention's code still refers to when its output is projected: queries, keys, values, and that output.
    constexpr byte_count attended() const {
        const attention& a = kind_.attention;
        return inner_ + heads() + size(a.heads * a.value_width(), context_.formats.compute, activation_split::tensor);
    }

    /// The gate is activated before `up` is computed; autograd, or a kernel of both, keeps the gate.
    constexpr byte_count gate_before_up(const operand& target) const {
        const bool fused = context_.runtime.kernels.fuses_gates();
        return (records_ || fused ? size(target, context_.formats.outputs) : byte_count{}) +
               (fused ? byte_count{} : size(target, activated_format(feed_forward_kind::gated, context_)));
    }

    constexpr void at_activation(const layer_operation& o, const saved_so_far& saved) {
        const byte_count plain = size(o.writes[0], context_.formats.outputs);
        const byte_count output = size(o.writes[0], activated_format(kind_.feed_forward.kind, context_));
        const bool from_output =
            !gated() && context_.code.feed_forward.plain_activation == activation_form::from_output;
        activated_ = records_ && from_output && context_.frozen ? byte_count{} : output;
        const activation_form form = activation_form_of(kind_.feed_forward.kind, context_);
        const bool squares = form == activation_form::squared;
        byte_count made = activated_ + (records_ && !from_output && !squares ? byte_count{} : plain);
        if (form == activation_form::function) made += plain * 3;  // its products
        if (!records_ && joined())                                 // gate and up, and the activated gate
            made += plain + output;
        else if (!records_ && (gated() || form == activation_form::composed))
            made += output + (gated() ? byte_count{} : plain);  // the activated gate; half of the input, and its cube
        else if (!records_ && squares)
            made += plain + (output > plain ? output : byte_count{});  // the relu's output, and its fp32 copy
        held_inner_ = !records_ && joined() ? plain * 2 : byte_count{};
        consider(saved.all, normed_in_feed_forward(saved), made);
    }

    /// Tensors of the tokens of experts that are computed at once: of all, or of one that is a module of its own, whose
    /// output is weighed and added before the next is computed (transformers 4, MixtralSparseMoeBlock).
    constexpr byte_count of_experts_at_once(std::int64_t width, const precision& format) const {
        const experts& e = kind_.feed_forward.experts;
        const byte_count all = size(width * e.per_token, format, activation_split::tensor);
        return context_.runtime.kernels.experts == expert_code::modules ? div_up(all, e.count) : all;
    }

    /// Of stacked experts: their tokens, gate and up in one, the activated gate, and the product.
    constexpr void at_routed_activation(const layer_operation& o, const saved_so_far& saved) {
        if (!transformers_experts(context_)) return;
        const byte_count inner = of_experts_at_once(o.writes[0].width, routed_format(context_));
        const byte_count tokens = of_experts_at_once(hidden_, routed_format(context_));
        if (records_) return consider(saved.all, normed(saved.input), inner);
        consider(saved.all, normed(saved.input), tokens, inner, inner, gated() ? inner * 2 : byte_count{});
    }

    /// The last product reads the activation's output, or a cast of it.
    constexpr void at_last_product(const layer_operation& o, const saved_so_far& saved) {
        here_ = &layer_forward::last_product;
        const operand& read = o.reads[0];
        const precision& compute = context_.formats.compute;
        const bool widens = widens_activation(kind_.feed_forward.kind, context_);
        const bool casts = context_.autocast && (context_.formats.fp32_outputs || widens);
        const bool adapted = adapts(weight_role::down_proj);
        const bool reads_it = !context_.frozen || context_.quantised.keeps_inputs;
        const bool kept = records_ && !casts && (reads_it || (adapted && !context_.copies_adapter_inputs));
        byte_count made = size(o.writes[0], context_.formats.outputs);
        if (casts && !(records_ && reads_it)) made += size(read, compute);
        if (context_.quantised.saves_weights)  // neither its weight nor what its adapter reads is saved by then
            consider(saved.before, normed_in_feed_forward(saved), held_inner_, activated_,
                     for_weight(read, o.writes[0]));
        else
            made = larger(made, for_weight(read, o.writes[0]));
        if (adapted) {
            const precision& input = activated_format(kind_.feed_forward.kind, context_);
            made = larger(made, beside_product(read, o.writes[0], input, ends_with_adapter()));
            at_magnitudes(read, o.writes[0], input,
                          saved.before + frames() + normed_in_feed_forward(saved) + activated_,
                          most_.beside_last_magnitudes);
        }
        if (context_.adapter.kind == adapter_kind::ia3)  // scaled in fp32, and cast back (tuners/ia3/layer.py)
            made = larger(made, size(read, context_.formats.adapters) * (records_ ? 1 : 2) + size(read, compute));
        if (kept) activated_ = {};
        consider(saved.all, normed_in_feed_forward(saved), held_inner_, activated_, made);
    }

    /// The experts' outputs are weighed, and put in the order of the tokens.
    constexpr void at_combine(const layer_operation& o, const saved_so_far& saved) {
        if (!transformers_experts(context_)) return;
        const auto tokens = [&](const precision& format) { return of_experts_at_once(o.reads[0].width, format); };
        const byte_count plain = tokens(routed_format(context_));
        const byte_count inputs = records_ ? (context_.frozen ? plain : byte_count{}) : plain * 2;
        const byte_count weighed = tokens(weighed_format(context_));
        consider(saved.all, normed(saved.input), inputs, weighed, weighed);
    }

    const layer& kind_;
    std::int64_t hidden_;
    const training_context& context_;
    layer_split split_;
    const live_tensor_visitor* visit_;
    bool records_;                 ///< what autograd saves stays
    bool stream_kept_;             ///< the layer's input is kept
    byte_count stream_;            ///< the residual stream
    byte_count normed_;            ///< a norm's output
    byte_count output_;            ///< a linear layer's output of the hidden width
    byte_count asked_with_;        ///< by the backward pass, where this is a recomputation
    byte_count residual_{};        ///< the residual sum after the first half
    byte_count scores_{};          ///< attention's probabilities
    byte_count earlier_scores_{};  ///< of the layer before
    byte_count attended_{};        ///< attention's output
    byte_count inner_{};           ///< scores and joined heads, of attention that is written in its module
    byte_count activated_{};       ///< what the feed-forward's last product reads
    byte_count held_inner_{};      ///< one product's output that gate and up are views of
    byte_count layer_forward::* here_ = &layer_forward::mixer;  ///< the moment that has come
    layer_forward most_{};
};

}  // namespace llmres::inline v0::detail
