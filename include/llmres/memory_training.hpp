// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/activations.hpp>
#include <llmres/gpu.hpp>
#include <llmres/job.hpp>
#include <llmres/layout.hpp>
#include <llmres/memory_breakdown.hpp>
#include <llmres/parameters.hpp>
#include <llmres/training/by_module.hpp>
#include <llmres/training/frozen.hpp>
#include <llmres/training/in_flight.hpp>
#include <llmres/training/loss.hpp>
#include <llmres/training/outer.hpp>
#include <llmres/training/prediction.hpp>
#include <llmres/training/saved.hpp>
#include <llmres/training/state.hpp>
#include <llmres/training/step.hpp>
#include <llmres/training/varied.hpp>
#include <llmres/training/whole_tensors.hpp>
#include <utility>

/// Memory of a training step: weights, gradients, optimizer states and activations, at the fullest of its phases.
namespace llmres {

/// Micro-batches a data rank computes for one optimizer step.
constexpr std::int64_t micro_batches(const job& j, const layout& l) {
    const std::int64_t at_once = j.micro_batch * l.data * l.replicas;
    return j.global_batch > 0 ? detail::ceil_quotient(j.global_batch, at_once) : 1;
}

namespace detail {

/// Whether a GPU has the units to train in a format.
constexpr status validate_arithmetic(const precision& format, const gpu& card) {
    switch (format.arithmetic) {
        case arithmetic_kind::fp8:
            if (has_fp8(card)) return done{};
            return refused(error_code::unsupported, "compute", format.name.view(), "a GPU with fp8 units to train in fp8");
        case arithmetic_kind::fp4:
            if (card.rates.fp4.value_or({}) > flop_rate{}) return done{};
            return refused(error_code::unsupported, "compute", format.name.view(), "a GPU with fp4 units to train in fp4");
        case arithmetic_kind::int8:
        case arithmetic_kind::int4:
            return refused(error_code::unsupported, "compute", format.name.view(), "a floating-point format to train in");
        default: return done{};
    }
}

}  // namespace detail

/// What a training job cannot do in this layout on this GPU: batches that do not go round, ZeRO 3 across pipeline stages
/// (DeepSpeed's PipelineEngine asserts stage 1 at most; FSDP gathers at every micro-batch), fp8 and fp4 without the units,
/// gradients accumulated by an optimizer that keeps none,
/// layers whose backward pass no inventory describes.
constexpr status validate_training(const job& j, const layout& l, const gpu& card) {
    if (!trains(j)) {
        if (l.deals_evenly() && l.schedule == pipeline_schedule::one_forward_one_backward) return done{};
        return refused(error_code::unsupported, "layout.stages", name_of(j.task), "a training job: serving deals layers evenly");
    }
    const std::int64_t at_once = j.micro_batch * l.data * l.replicas;
    if (j.global_batch > 0 && j.global_batch % at_once != 0) {
        text<191> expected{"a multiple of micro_batch x data x replicas, "};
        expected.append(detail::digits(at_once));
        return refused(error_code::inconsistent, "global_batch", j.global_batch, expected);
    }
    if (j.runtime.training.defer_embedding_wgrad_compute && l.pipeline == 1)
        return refused(error_code::inconsistent, "runtime.defer_embedding_wgrad_compute", "true", "pipeline stages: it is put off until these drain");
    if (l.zero >= 2 && l.pipeline > 1 && j.runtime.training.sharding == sharding_code::deepspeed)
        return refused(error_code::unsupported, "layout.zero", l.zero, "at most 1 with pipeline stages under DeepSpeed");
    if (const status s = detail::validate_arithmetic(j.compute, card); !s) return s;
    if (j.optimizer.in_backward && micro_batches(j, l) > 1) {
        text<191> expected{"one micro-batch a step, "};
        expected.append(detail::digits(at_once));
        expected.append(": the optimizer steps in the backward pass");
        return refused(error_code::unsupported, "global_batch", j.global_batch, expected);
    }
    if (j.runtime.training.fp8_recipe != fp8_recipe::none && !has_fp8(card))
        return refused(error_code::unsupported, "runtime.fp8_recipe", name_of(j.runtime.training.fp8_recipe), "a GPU with fp8 units to train in fp8");
    for (std::int32_t k = 0; k < j.model.layers.kind_count; ++k) {
        const layer& kind = j.model.layers.kinds[static_cast<std::size_t>(k)];
        const bool scanned = kind.recurrent.kind == recurrent_kind::none || kind.recurrent.kind == recurrent_kind::mamba2;
        if (!scanned || kind.attention.cross == cross_attention::instead)
            return refused(error_code::unsupported, "layers", kind_name(kind).view(), "layers of attention or Mamba 2, and feed-forward, to train");
    }
    return done{};
}

/// The fullest moment of the busiest pipeline stage. Preconditions: validate() holds for job and layout.
constexpr memory_breakdown training_memory(const job& j, const layout& l);
/// ... with the attention kernel that PyTorch chooses on this GPU.
constexpr memory_breakdown training_memory(const job& j, const layout& l, const gpu& card);
/// ... of one pipeline stage.
constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t stage);

/// Weights, gradients and optimizer states on a GPU of one stage.
constexpr weight_state training_state(const job& j, const layout& l, std::int32_t stage = 0);

/// Main memory that offloading takes for one GPU: weights, states, gradients and saved activations, without the engine's buffers.
constexpr byte_count host_memory(const job& j, const layout& l, std::int32_t stage = 0);

/// ... for a node with so many GPUs of the busiest stage. High: what is pinned may be twice as large.
constexpr interval<byte_count> host_memory_of_node(const job& j, const layout& l, std::int32_t gpus);

/// What one micro-batch keeps from its forward pass to its backward pass on a GPU of one stage.
/// `cudnn`: where PyTorch prefers that attention.
constexpr byte_count saved_activations(const job& j, const layout& l, std::int32_t stage = 0, bool cudnn = false);
/// ... and of that, its layers: what offloading takes to the host.
constexpr byte_count saved_by_layers(const job& j, const layout& l, std::int32_t stage = 0, bool cudnn = false);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The layers of one kind on one GPU: folded once, then counted per stage.
struct training_layer {
    weight_state state{};
    byte_count saved{};       ///< of one micro-batch until the backward pass, nothing recomputed
    byte_count checkpoint{};  ///< the layer's input
    byte_count kept{};        ///< what of the two the job keeps
    byte_count away{};        ///< ... and of what it saves, what is in main memory
    byte_count peak{};        ///< of the layer's backward pass, with all it saved
    byte_count fresh_peak{};  ///< ... and the gradients of its weights as they come
    byte_count forward{};     ///< what adapters make in its forward pass, beyond all that it saves
};

/// Gradients of a layer's weights that are there at each point of its backward pass: from the last product back.
constexpr std::array<byte_count, backward_points> gradients_so_far(const weight_state& s) {
    return {s.down_gradients, s.down_gradients, s.feed_forward_gradients, s.feed_forward_gradients, s.gradients};
}

/// Whether a role's product adds a bias.
constexpr bool adds_bias(const layer& l, weight_role role) {
    if (role == weight_role::o_proj) return l.attention.output_bias;
    return is_feed_forward(role) ? l.feed_forward.bias : l.attention.qkv_bias;
}

/// What selective recomputation by operation keeps of a layer: its input, attention's output, products or every second one, and
/// what experts exchange.
constexpr byte_count products_kept(const layer& kind, std::int64_t hidden, const layout& l, const training_step& step) {
    const std::int64_t n = step.tokens.all();
    byte_count kept;
    const auto keep = [&](activation_role role, std::int64_t elements, const precision& format, activation_split split) {
        kept += local_bytes({role, elements, format, split}, l);
    };
    keep(activation_role::residual, n * hidden, step.stream, activation_split::sequence);
    if (kind.attention.kind != attention_kind::none && !(step.engine.recomputes_cudnn && step.kernel == attention_kernel::cudnn)) {
        keep(activation_role::attention_output, n * kind.attention.heads * kind.attention.value_width(), step.compute, activation_split::tensor);
        keep(activation_role::softmax_statistics, n * kind.attention.heads, fp32, activation_split::tensor);
    }
    std::int32_t products = 0;
    const bool every = step.engine.selective == selective_code::all_but_products;
    for_each_weight(kind, hidden, [&](const weight& w) {
        if (w.rows == 1 || w.columns == 1 || w.routed || w.role == weight_role::router) return;
        if (adds_bias(kind, w.role) || (++products % 2 == 0 && !every)) return;  // with a bias it is another operator, aten::addmm, which is not kept
        if ((step.engine.compiled || every) && w.role == weight_role::down_proj) return;  // no gradient needs it
        keep(activation_role::product, n * w.rows, step.compute,
             w.split == weight_split::rows ? activation_split::tensor : activation_split::sequence);
    });
    // What all-to-all brings to the experts, and back (torchtitan/distributed/activation_checkpoint.py, _op_sac_save_list).
    if (kind.feed_forward.routed() && l.expert > 1)
        keep(activation_role::expert_output, 2 * n * kind.feed_forward.experts.per_token * hidden, step.compute, activation_split::sequence);
    return kept;
}

/// What the products of a layer read: its two norms' outputs, attention's, and the feed-forward's last product's.
constexpr byte_count product_inputs(const layer& kind, std::int64_t hidden, const layout& l, const training_step& step) {
    const std::int64_t n = step.tokens.all();
    const auto size = [&](std::int64_t width, activation_split split) {
        return local_bytes({activation_role::linear_input, n * width, step.compute, split}, l);
    };
    byte_count all;
    if (kind.attention.kind != attention_kind::none)
        all += size(hidden, activation_split::sequence) + size(kind.attention.heads * kind.attention.value_width(), activation_split::tensor);
    if (kind.feed_forward.kind != feed_forward_kind::none && !kind.feed_forward.routed())
        all += size(hidden, activation_split::sequence) + size(kind.feed_forward.width, activation_split::tensor);
    return all;
}

/// What adapters make on the way in a layer's forward pass: at the feed-forward's last product, and before it.
struct adapter_scratch {
    byte_count before{};
    byte_count last{};
};

constexpr adapter_scratch adapter_scratch_of(const layer& kind, std::int64_t hidden, const training_step& step, const weight_state& state,
                                             const layout& l) {
    if (step.adapter.kind == adapter_kind::dora) return {state.magnitude, state.down_magnitude};
    adapter_scratch made;
    const feed_forward& f = kind.feed_forward;
    if (f.kind == feed_forward_kind::none || f.routed() || step.four_bit) return made;
    const std::int64_t n = step.tokens.all();
    const auto size = [&](std::int64_t width, const precision& format, activation_split split) {
        return local_bytes({activation_role::adapter, n * width, format, split}, l);
    };
    constexpr auto split = activation_split::tensor;
    constexpr auto whole = activation_split::sequence;
    // What the norm put out, which its caller still holds, and what the weight itself puts out; what B does, and that scaled.
    const byte_count read = size(hidden, step.normed(kind.norm), whole);
    const precision& scaled = step.autocast ? step.compute : step.adapted;
    if (step.adapter.adapts(weight_role::up_proj)) made.before = read + size(f.width, step.inner, split) + size(f.width, scaled, split) * 2;
    if (!step.adapter.adapts(weight_role::down_proj)) return made;
    made.last = read + size(f.width, step.inner, split) + size(hidden, step.inner, whole);
    // Its input widened and dropped out, before autocast narrows it again; without autocast, the sum.
    if (step.autocast)
        made.last += size(f.width, step.adapted, split) * (step.adapter.dropout > 0 ? 2 : 1);
    else
        made.last += size(hidden, scaled, whole) * 2;
    return made;
}

constexpr training_layer training_layer_of(const layer& kind, const job& j, const layout& l, const training_step& step,
                                           const weight_state& state) {
    training_layer t{.state = state};
    std::array<byte_count, backward_points> held{};
    byte_count core;  // what selective recomputation drops: attention's own scores
    for_each_saved_activation(kind, j.model.hidden, step, [&](const activation& a) {
        const byte_count size = local_bytes(a, l);
        t.saved += size;
        if (a.role == activation_role::probabilities) core += size;
        for (std::size_t p = 0; p <= static_cast<std::size_t>(a.until); ++p) held[p] += size;
    });
    if (step.adapter.low_rank()) {  // the feed-forward saves its own later, but for what its last product reads
        const byte_count later = t.saved - held[static_cast<std::size_t>(backward_point::norm)];
        const adapter_scratch made = adapter_scratch_of(kind, j.model.hidden, step, state, l);
        t.forward = made.before > later ? made.before - later : byte_count{};
        if (made.last > t.forward) t.forward = made.last;
    }
    for_each_gradient_activation(kind, j.model.hidden, step,
                                 [&](const activation& a) { held[static_cast<std::size_t>(a.until)] += local_bytes(a, l); });
    // A quantised weight is expanded for each product; the activation between them is not one.
    if (step.frozen && step.expands)
        held[static_cast<std::size_t>(backward_point::output)] += state.largest;
    std::array<byte_count, backward_points> fresh = gradients_so_far(state);
    // Each expert's slice of the stacked weights passes its gradient on as a whole, to be added to the others'.
    if (kind.feed_forward.routed() && step.engine.experts == expert_code::loop)
        fresh[2] += state.feed_forward_gradients - state.down_gradients;
    for (std::size_t p = 0; step.autocast && p < backward_points; ++p)  // copies of weights go with their products
        held[p] += p > static_cast<std::size_t>(backward_point::inner) ? state.casts - state.feed_forward_casts : state.casts;
    for (std::size_t p = 0; p < backward_points; ++p) {
        if (held[p] > t.peak) t.peak = held[p];
        if (held[p] + fresh[p] > t.fresh_peak) t.fresh_peak = held[p] + fresh[p];
    }
    t.saved += state.casts;
    t.checkpoint = local_bytes({activation_role::residual, step.tokens.all() * j.model.hidden, step.code.fp32_residual ? fp32 : step.stream, activation_split::sequence}, l);
    if (names_parts(j) && !step.recomputes) {
        const named_parts parts = named_parts_of(kind, j, l, step);
        t.kept = t.saved - parts.again - parts.away;
        t.away = parts.away;
        return t;
    }
    switch (j.recompute) {
        case recompute::none: t.kept = t.saved; break;
        case recompute::selective:
            t.kept = step.engine.selective == selective_code::attention_core ? t.saved - core : products_kept(kind, j.model.hidden, l, step);
            break;
        case recompute::full:
            t.kept = t.checkpoint;
            // bitsandbytes' MatMul4Bit holds its input itself, where hooks on saved tensors do not see it (autograd/_functions.py, ctx.tensors).
            if (step.keeps_inputs && !step.engine.reentrant_checkpoints) t.kept += product_inputs(kind, j.model.hidden, l, step);
            break;
    }
    return t;
}

/// What those layers of a range keep beyond their input that `recompute_every` passes over.
constexpr byte_count kept_whole(const job& j, const std::array<training_layer, layer_stack::max_kinds>& layers, const stage_range& range) {
    byte_count more;
    for (std::int32_t i = range.first; i < range.last; ++i) {
        const training_layer& of = layers[j.model.layers.order[static_cast<std::size_t>(i)]];
        if ((i + 1) % j.recompute_every != 0) more += of.saved - of.kept;
    }
    return more;
}

/// What the first layers save less than others: a frozen model's, before its first adapters.
constexpr byte_count cut_off(const job& j, const layout& l, const training_step& step, byte_count layer_keeps) {
    byte_count size;
    if (step.recomputes && step.code.fp32_residual && !step.wide_stream)  // the first layer's input is the embedding's output
        return size_of(fp32, step.tokens.all(), j.model.hidden) - size_of(step.stream, step.tokens.all(), j.model.hidden);
    if (step.follows_input || step.adapter.kind == adapter_kind::llama_adapter_v2) return size;  // the first norm is trained
    if (step.adapter.kind == adapter_kind::llama_adapter) {
        const std::int32_t here = stage_layers(j.model.layers.size, l.pipeline, 0).size();
        return layer_keeps * (here < unprompted_layers ? here : unprompted_layers);
    }
    unsaved cut{.goes_on = true};
    for (std::int32_t i = 0; i < j.model.layers.size && cut.goes_on; ++i) {
        cut = unsaved_by(j.model.layers[i], j.model.hidden, step, l);
        size += cut.size;
    }
    return size;
}

/// The masks, where attention needs them as tensors: one for all layers with a window and one for those without. No
/// operation keeps them, but layers that are computed again do. Eager attention adds its mask, sdpa's is of bytes.
constexpr byte_count mask_bytes(const model& m, const training_step& step) {
    if (!step.recomputes || !step.code.causal || step.engine.fuses_norms() || step.kernel == attention_kernel::flash) return {};
    const bool eager = step.kernel == attention_kernel::eager;
    bool made[2]{};  // without a window, with one
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k) {
        const llmres::attention& a = m.layers.kinds[static_cast<std::size_t>(k)].attention;
        if (a.kind != attention_kind::none && (eager || is_masked(a, step))) made[a.window > token_count{}] = true;
    }
    return size_of(eager ? step.stream : int8, step.tokens.sequences, product(step.tokens.length, step.tokens.keys)) * (made[0] + made[1]);
}

/// Weights before the first layer, on the stages that hold them: a tied head on another stage than the embedding is a
/// copy of it.
constexpr weight_state input_state(const model& m, state_fold& fold, bool first, bool last) {
    fold.sum = {};
    if (first || (last && m.tied_head)) for_each_input_weight(m, [&](const weight& w) { fold(w, false); });
    if (first && fold.step.adapter.kind == adapter_kind::prompt) fold.train_prompt(m.hidden);
    if (first && fold.step.code.class_token && fold.step.tokens.sequences == 1 && !fold.step.frozen)
        fold.sum.gradients += size_of(fold.gradients, fold.step.tokens.all() - 1, m.hidden);
    return fold.sum;
}
/// ... and after the last.
constexpr weight_state output_state(const model& m, state_fold& fold, bool last) {
    fold.sum = {};
    if (last) for_each_output_weight(m, [&](const weight& w) { fold(w, false); });
    return fold.sum;
}

/// Whether GPUs wait for each other, micro-batch by micro-batch, with layers dealt by their bytes.
constexpr bool takes_turns(const job& j, const layout& l) { return l.pipeline > 1 && j.runtime.training.takes_turns && l.deals_evenly(); }

/// Layers of one stage as accelerate's device_map="auto" deals them (utils/modeling.py, get_balanced_memory and
/// infer_auto_device_map): each GPU may take an equal part of all weights and a layer and a quarter more; the first leaves room
/// for the largest module that is not split, be it a layer, the embedding or the head; the last takes what is left.
constexpr stage_range layers_by_bytes(const job& j, const layout& l, std::int32_t stage) {
    const model& m = j.model;
    const training_step step{j, l};
    state_fold fold{j, l, step};
    const byte_count input = input_state(m, fold, true, false).weights;
    const byte_count output = m.tied_head ? byte_count{} : output_state(m, fold, true).weights;
    std::array<byte_count, layer_stack::max_kinds> size{};
    byte_count all = input + output;
    byte_count largest;
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        fold.sum = {};
        for_each_weight(m.layers.kinds[k], m.hidden, fold);
        size[k] = fold.sum.weights;
        if (size[k] > largest) largest = size[k];
    }
    for (std::int32_t i = 0; i < m.layers.size; ++i) all += size[static_cast<std::size_t>(m.layers.order[static_cast<std::size_t>(i)])];
    const byte_count room = div_up(all, l.pipeline) + scaled_up(largest, 1.25);
    if (input > largest) largest = input;
    if (output > largest) largest = output;
    stage_range dealt;
    for (std::int32_t s = 0; s <= stage; ++s) {
        dealt.first = dealt.last;
        if (s == l.pipeline - 1) return {dealt.first, m.layers.size};
        byte_count used = s == 0 ? input + largest : byte_count{};
        while (dealt.last < m.layers.size) {
            used += size[static_cast<std::size_t>(m.layers.order[static_cast<std::size_t>(dealt.last)])];
            if (used > room) break;
            ++dealt.last;
        }
    }
    return dealt;
}

/// Convolutions before the layers.
template <class Visit>
constexpr void for_each_stem_weight(const model& m, Visit& visit) {
    for (std::int32_t i = 0; i < m.extra_count; ++i) {
        const extra_weight& e = m.extras[static_cast<std::size_t>(i)];
        if (e.part == model_part::input && e.role == weight_role::conv) visit(weight{.role = e.role, .rows = e.rows, .columns = e.columns});
    }
}

/// The stack that a decoder attends to, on the first stage.
struct encoder_memory {
    byte_count kept{};       ///< by its layers, its stem and its last norm
    byte_count behind{};     ///< of `kept`, by all layers but the first, and by what follows them
    byte_count above{};      ///< what a layer's backward pass holds beyond what the layer keeps
    byte_count output{};     ///< the gradient of what it puts out
    byte_count gradients{};  ///< of its weights
    byte_count first_gradients{};  ///< ... of one layer and the stem
    bool reads_tokens = false;     ///< through the decoder's embedding
};

constexpr token_shape encoder_tokens(const encoder& e, const training_step& step) {
    token_shape s = step.tokens;
    if (e.output > token_count{}) s.length = s.keys = e.output.in(tokens);
    return s;
}

constexpr encoder_memory encoder_memory_of(const job& j, const layout& l, const training_step& decoder, state_fold& fold) {
    encoder_memory found;
    const model& m = j.model;
    for (const encoder& e : m.encoders) {
        if (e.layers == 0) continue;
        training_step step = decoder;
        step.tokens = encoder_tokens(e, decoder);
        fold.sum = {};
        // As input_state() has it: what is no low-rank adapter goes beside the decoder's layers alone.
        const bool trained = !step.frozen || step.adapter.low_rank();
        const auto add = [&](const weight& w) { fold(w, trained); };
        for_each_weight(e.block, e.hidden, add);
        const training_layer layer = training_layer_of(e.block, j, l, step, fold.sum);
        found.kept += layer.kept * e.layers - (!step.follows_input ? unsaved_by(e.block, e.hidden, step, l).size : byte_count{});
        if (layer.fresh_peak - layer.kept > found.above) found.above = layer.fresh_peak - layer.kept;
        found.gradients += fold.sum.gradients * e.layers;
        found.first_gradients = fold.sum.gradients;
        fold.sum = {};
        for_each_stem_weight(m, add);
        found.first_gradients += fold.sum.gradients;
        found.gradients += fold.sum.gradients;
        found.behind += layer.kept * (e.layers - 1);
        const auto count = [&](const activation& a) { found.kept += local_bytes(a, l); };
        const layer_writer<const decltype(count)> save{step, count};
        found.reads_tokens = !has_extra(m, weight_role::conv);
        if (found.reads_tokens) save_embedding(e.hidden, false, save);
        save_score_bias(e.block.attention, save);
        save_final_dropout(e.hidden, save);
        save_extra_norms(m, model_part::input, step.tokens.all(), save);
        save_stem(m, save);
        found.output += size_of(step.stream, step.tokens.all(), e.hidden);
    }
    return found;
}

/// Of a zero-bubble schedule's micro-batches that have passed back, what gradients of weights still need: each product's
/// input and the gradient of its output (arXiv 2401.10241 section 2.3, M_W).
constexpr byte_count needed_by_weights(const layer& kind, std::int64_t hidden, const training_step& step, const layout& l) {
    byte_count needed;
    const std::int64_t n = step.tokens.all();
    const auto count = [&](std::int64_t values, activation_split split) {
        needed += local_bytes({activation_role::linear_input, n * values, step.compute, split}, l);
    };
    for_each_weight(kind, hidden, [&](const weight& w) {
        if (w.rows == 1 || w.columns == 1) return;
        const std::int64_t passed = w.routed ? kind.feed_forward.experts.per_token : 1;
        const bool by_rows = w.split == weight_split::rows;
        count(passed * w.rows, by_rows ? activation_split::tensor : activation_split::sequence);
        const bool shares = w.role == weight_role::k_proj || w.role == weight_role::v_proj || w.role == weight_role::kv_a_proj ||
                            (w.role == weight_role::up_proj && kind.feed_forward.kind == feed_forward_kind::gated) || w.role == weight_role::router;
        if (!shares) count(passed * w.columns, by_rows ? activation_split::sequence : activation_split::tensor);
    });
    return needed;
}

/// What a stage whose chunks differ holds of its micro-batches, as micro-batches of all it keeps.
constexpr double in_flight_unevenly(const layer_stack& by_stage, const layout& l, stage_range range, std::int32_t stage, std::int64_t rounds,
                                    const std::array<training_layer, layer_stack::max_kinds>& layers) {
    std::array<double, stage_list::max_chunks> sizes{};
    std::size_t chunk = 0;
    std::int32_t at = range.first;
    for_each_chunk(l, by_stage.size, stage, [&](stage_range here, std::int32_t) {
        for (std::int32_t i = 0; i < here.size(); ++i, ++at) {
            const auto kept = layers[by_stage.order[static_cast<std::size_t>(at)]].kept;
            sizes[chunk % sizes.size()] += kept.in(gib);
        }
        ++chunk;
    });
    return in_flight_unevenly(l, stage, rounds, sizes);
}

/// What predicting further tokens takes on its stage, all depths together.
struct prediction_memory {
    weight_state state{};
    byte_count kept{};    ///< of one micro-batch until its backward pass
    byte_count scores{};  ///< of the depths' losses, until they are differentiated
};

constexpr prediction_memory prediction_memory_of(const job& j, const layout& l, const training_step& step, state_fold& fold) {
    prediction_memory found;
    fold.sum = {};
    for_each_weight(prediction_block(j.model), j.model.hidden, fold);
    found.kept = training_layer_of(prediction_block(j.model), j, l, step, fold.sum).kept * j.mtp_layers;
    fold.sum = {};
    for_each_depth_weight(j.model, fold);
    found.state.add(fold.sum, j.mtp_layers);
    for_each_depth_activation(j.model, step, [&](const activation& a) { found.kept += local_bytes(a, l) * j.mtp_layers; });
    found.scores = kept_scores(j.model, step, l) * j.mtp_layers;
    return found;
}

/// Calls visit(weight, inner, times) for the weights of one stage.
template <class Visit>
constexpr void for_each_stage_weight(const job& j, const layout& l, const std::array<std::int32_t, layer_stack::max_kinds>& counts,
                                     std::int32_t stage, Visit&& visit) {
    const model& m = j.model;
    const bool predicts = j.mtp_layers > 0 && stage == prediction_stage(l);
    const bool last = stage == l.last_stage();
    if (stage == 0 || predicts || (last && m.tied_head)) for_each_input_weight(m, [&](const weight& w) { visit(w, false, 1); });
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k)
        if (counts[k] > 0) for_each_weight(m.layers.kinds[k], m.hidden, [&](const weight& w) { visit(w, true, counts[k]); });
    if (predicts) for_each_depth_weight(m, [&](const weight& w) { visit(w, true, j.mtp_layers); });
    if (last) for_each_output_weight(m, [&](const weight& w) { visit(w, false, 1); });
}

/// States on the fullest rank of those that have whole tensors each.
constexpr byte_count dealt_optimizer(const job& j, const layout& l, const training_step& step,
                                     const std::array<std::int32_t, layer_stack::max_kinds>& counts, std::int32_t stage) {
    tensor_dealer dealer{j, l, step};
    for_each_stage_weight(j, l, counts, stage, [&](const weight& w, bool inner, std::int32_t times) { dealer.deal(w, inner, times); });
    return dealer.fullest();
}

/// What of the optimizer's memory is there before its first step: its own copy of the weights.
constexpr byte_count before_first_step(const job& j, const layout& l, const std::array<std::int32_t, layer_stack::max_kinds>& counts, std::int32_t stage) {
    job copies = j;
    copies.optimizer = sgd;
    const training_step step{copies, l};
    if (deals_tensors(j, l)) {
        copies.optimizer.matrix_moments = 0;
        return dealt_optimizer(copies, l, step, counts, stage);
    }
    state_fold fold{copies, l, step};
    byte_count sum;
    for_each_stage_weight(copies, l, counts, stage, [&](const weight& w, bool inner, std::int32_t times) {
        fold.sum = {};
        fold(w, inner);
        sum += fold.sum.optimizer * times;
    });
    return sum;
}

/// What the last stage keeps where the head's gradient is put off: the head's input, and the gradient of the logits.
constexpr byte_count put_off_head(const model& m, const training_step& step, const layout& l, std::int64_t rounds) {
    const std::int64_t others = rounds - 1;  // the last one's are counted with the loss
    const std::int64_t limit = step.engine.wgrad_deferral_limit;
    const std::int64_t gradients = limit > 0 && limit < others ? limit : others;
    const std::int64_t n = step.tokens.all();
    return local_bytes({activation_role::linear_input, n * m.hidden, step.compute, activation_split::sequence}, l) * others +
           local_bytes({activation_role::logits_gradient, product(n, m.vocabulary), step.compute, activation_split::tensor}, l) * gradients;
}

/// What FSDP2 gathers and reduces beside the unit under way (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py).
struct gathering {
    byte_count after_forward{};  ///< gathered when the loss is computed: the head; where both ends are the root's, these and the last layer
    byte_count throughout{};     ///< gathered from the first layer's backward pass on
    byte_count reduced{};        ///< a layer's gradients before they are cast and scattered, and the head's where it is the root's
    byte_count last{};           ///< the embedding's gradient, whole and cast
    byte_count buffers{};        ///< where weights come together: two units, in turn
};

constexpr gathering gathering_of(const training_step& step, const weight_state& input, const weight_state& output, const weight_state& ends,
                                 const weight_state& unit, bool tied) {
    const bool apart = step.engine.ends_apart && !tied;
    gathering e;
    const byte_count end = !apart ? ends.gathered : input.gathered > output.gathered ? input.gathered : output.gathered;
    e.after_forward = apart ? output.gathered : ends.gathered + unit.gathered;
    e.throughout = apart ? byte_count{} : ends.gathered;
    e.buffers = unit.gathered + (end > unit.gathered ? end : unit.gathered);
    if (step.frozen) return e;
    e.reduced = unit.gathered + (apart ? byte_count{} : output.gathered);
    e.last = apart ? input.gathered + input.whole_gradients : input.gathered + ends.whole_gradients;
    return e;
}

constexpr memory_breakdown memory_of_stages(const job& j, const layout& l, std::int32_t first_stage, std::int32_t end_stage, bool cudnn) {
    const model& m = j.model;
    const training_step step{j, l, cudnn};
    const training_engine& engine = step.engine;

    state_fold fold{j, l, step};
    std::array<training_layer, layer_stack::max_kinds> layers{};
    weight_state unit;  // the widest that ZeRO 3 gathers
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        fold.sum = {};
        for_each_weight(m.layers.kinds[k], m.hidden, fold);
        layers[k] = training_layer_of(m.layers.kinds[k], j, l, step, fold.sum);
        if (fold.sum.gathered > unit.gathered) unit = fold.sum;
    }

    tensor_memory fullest;
    byte_count most;
    byte_count held;    // by an allocator that keeps the blocks of one phase while the next asks for others
    byte_count beside;  // gradients, at any moment but the optimizer's
    byte_count passing;  // of that, what comes and goes
    byte_count scores;   // ... as logits
    byte_count most_active;  // activations at any moment
    byte_count coming;   // in `communication`, what another stream gathers
    const auto consider = [&](const tensor_memory& moment) {
        const byte_count all = moment.all();
        if (all > most) fullest = moment, most = all;
        if (all - moment.gradients - coming > beside) beside = all - moment.gradients - coming;
        if (moment.logits > scores) scores = moment.logits;
        if (moment.activations > most_active) most_active = moment.activations;
    };
    const std::int64_t rounds = micro_batches(j, l);
    const bool evenly = l.deals_evenly();
    const bool turns = takes_turns(j, l);
    for (std::int32_t stage = first_stage; stage < end_stage; ++stage) {
        const bool first = stage == 0;
        const bool last = stage == l.last_stage();
        const stage_range range = turns ? layers_by_bytes(j, l, stage)
                                  : evenly ? stage_layers(m.layers.size, l.pipeline, stage) : layers_of_stage(l, m.layers.size, stage);
        if (evenly && !turns && stage > first_stage && stage > 1 && !last) {  // no fuller than an equal stage before it, which has more in flight
            const stage_range before_it = stage_layers(m.layers.size, l.pipeline, stage - 1);
            if (before_it.size() == range.size() && m.layers.alike(before_it.first, range.first, range.size())) continue;
        }
        const auto counts = m.layers.counts(range.first, range.last);

        prediction_memory ahead;
        const bool predicts = j.mtp_layers > 0 && stage == prediction_stage(l);
        if (predicts) ahead = prediction_memory_of(j, l, step, fold);
        const weight_state input = input_state(m, fold, first || predicts, last);
        weight_state output = output_state(m, fold, last);
        if (predicts) output.add(ahead.state, 1);
        weight_state ends = input;
        ends.add(output, 1);
        weight_state state = ends;
        byte_count saved;
        byte_count two_layers;
        byte_count passes_by;  // of what goes to main memory by the part: one layer's, as it leaves or comes
        for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
            if (counts[k] == 0) continue;
            state.add(layers[k].state, counts[k]);
            saved += layers[k].kept * counts[k];
            if (layers[k].kept * 2 > two_layers) two_layers = layers[k].kept * 2;
            if (layers[k].away > passes_by) passes_by = layers[k].away;
        }
        if (j.recompute == recompute::full && j.recompute_every > 1) saved += kept_whole(j, layers, range);
        byte_count before;  // kept by what stands before the layers, until the end
        if (first) for_each_input_activation(m, step, [&](const activation& a) { before += local_bytes(a, l); });
        encoder_memory read;
        if (first && m.encoders[0].layers > 0) read = encoder_memory_of(j, l, step, fold);
        before += read.kept + mask_bytes(m, step);
        if (last && engine.loss == loss_code::mean) before += size_of(fp32, step.tokens.all(), m.vocabulary);
        // What is offloaded passes through two layers' worth of memory: one leaves or comes while the next is computed.
        byte_count cut = first ? cut_off(j, l, step, layers[0].kept) : byte_count{};
        if (cut > saved) cut = saved;  // a first GPU that holds none of those layers
        const bool leaves = j.offload.activations != offload_place::none;
        if (leaves && engine.offloads_at_once)
            saved = cut = {};
        else if (leaves && range.size() > 2)
            saved = two_layers;
        const double batches = turns ? 1.0 : evenly ? in_flight(l, stage, rounds) : in_flight_unevenly(m.layers, l, range, stage, rounds, layers);
        byte_count all_saved = scaled_up(saved - cut, batches) + before;
        if (puts_off_weights(l.schedule))
            for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k)
                all_saved += scaled_up(needed_by_weights(m.layers.kinds[k], m.hidden, step, l) * counts[k], put_off(l, stage, rounds));

        all_saved += passes_by;
        if (predicts) all_saved += ahead.kept * predictions_in_flight(l, rounds);
        if (engine.defer_embedding_wgrad_compute && last && l.pipeline > 1) before += put_off_head(m, step, l, rounds), all_saved += put_off_head(m, step, l, rounds);
        if (engine.layer_wise_optimizer && deals_tensors(j, l) && j.offload.optimizer == offload_place::none)
            state.optimizer = dealt_optimizer(j, l, step, counts, stage);

        byte_count uneven;  // tokens of busier experts than the mean, in all that is in flight
        if (l.expert > 1 && j.expert_load == 1.0) {
            for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
                if (counts[k] == 0) continue;
                const byte_count routed = routed_bytes(m.layers.kinds[k], m.hidden, l, step);
                const bool kept = layers[k].kept + routed >= layers[k].saved && j.offload.activations == offload_place::none;
                uneven += kept ? scaled_up(routed * counts[k], worst_imbalance * batches) : scaled_up(routed, worst_imbalance);
            }
        }

        // DeepSpeed hands gradients to the host by the bucket: two of 5e8 values (reduce_bucket_size, contiguous_gradients).
        const byte_count buckets = gb(2);
        if (j.offload.optimizer != offload_place::none && engine.sharding == sharding_code::deepspeed && state.gradients > buckets)
            state.gradients = buckets;
        tensor_memory t{.weights = state.weights,
                        .adapter = state.adapter,
                        .optimizer = state.optimizer,
                        .maybe_more = uneven,
                        .reduced = state.whole_gradients,
                        .gathered = step.frozen && l.zero < 3 ? state.whole_gradients : state.gathered,
                        .stage = stage};
        const bool fetches = j.offload.parameters != offload_place::none;
        const bool sharded = l.zero >= 3 && (l.dense_shard_ranks() > 1 || fetches);
        const byte_count resident = engine.linear == linear_code::accumulates_beside ? state.dummies : byte_count{};
        const bool accumulated = engine.keeps_gradients || rounds > 1;

        const bool updates = j.optimizer.in_backward && j.optimizer.widens && !step.frozen;
        t.phase = phase::optimizer;
        t.gradients = state.gradients;
        byte_count stepping = state.temporaries + state.stepped;
        if (j.optimizer.rank > 0 && !step.frozen) {  // matrices come last: the first one's projection stands beside what the head left
            const byte_count first_matrix = fold.last_stepped + layers[0].state.first_projection;
            if (first_matrix > stepping) stepping = first_matrix;
        }
        t.communication = resident + stepping;
        if (t.all() > most) fullest = t, most = t.all();
        beside = {};
        if (j.steps == 1 && j.offload.optimizer == offload_place::none) t.optimizer = before_first_step(j, l, counts, stage);

        // A unit under way and the one fetched ahead of it; the root's weights, gathered from first to last.
        byte_count fetched = resident;
        byte_count root = resident;  // while the loss is computed: layers were let go after their forward pass
        if (sharded && !engine.reshards_after_forward)
            root = fetched += state.gathered;
        else if (sharded && engine.keeps_frozen_gathered && step.frozen)
            root += ends.gathered, fetched += state.gathered + unit.gathered * 2;
        else if (sharded)
            root += ends.gathered, fetched += unit.gathered * 2 + ends.gathered;
        if (engine.sharding == sharding_code::deepspeed) root = fetched;
        const bool by_parameter = sharded && engine.sharding == sharding_code::fsdp2;
        gathering gathers;
        if (by_parameter) {
            gathers = gathering_of(step, input, output, ends, unit, m.tied_head);
            if (engine.reshards_after_forward) {
                root = resident + gathers.after_forward;
                fetched = resident + unit.gathered * 2 + gathers.throughout;
            }
        }

        // Each layer's input gradient but the last layer's, whose backward pass started it all, and the one being made.
        const bool held_back = sharded && step.frozen && engine.sharding == sharding_code::fsdp1 && engine.reentrant_checkpoints &&
                               j.recompute == recompute::full && range.size() > 2;
        const byte_count gradients_of_inputs = held_back ? layers[0].checkpoint * (range.size() - 2) : byte_count{};

        // Backward, as far as each kind of layer's last, then its first: gradients of what follows are there, and what
        // it and the layers before it keep.
        t.phase = phase::backward;
        t.communication = fetched + (sharded ? unit.whole_gradients : byte_count{}) + gathers.reduced;
        coming = by_parameter && engine.streams_apart && engine.reshards_after_forward ? unit.gathered : byte_count{};
        const byte_count first_gradients = m.tied_head && last ? ends.gradients - read.gradients : output.gradients;
        for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
            if (counts[k] == 0) continue;
            const training_layer& of = layers[k];
            const byte_count above = (accumulated ? of.peak : of.fresh_peak) - of.kept;
            std::array<byte_count, 2> gradients{first_gradients, first_gradients + of.state.gradients * (counts[k] - 1)};
            std::array<byte_count, 2> kept{all_saved, of.kept + before - (cut < of.kept ? cut : of.kept)};
            if (m.layers.kind_count > 1) {
                const stage_range span = span_of(m.layers, static_cast<std::int32_t>(k), range);
                const auto later = m.layers.counts(span.last, range.last);
                const auto earlier = m.layers.counts(range.first, span.first);
                gradients[1] = state.gradients - ends.gradients + first_gradients - of.state.gradients;
                kept[1] = of.kept + before;
                for (std::size_t o = 0; o < static_cast<std::size_t>(m.layers.kind_count); ++o) {
                    gradients[0] += layers[o].state.gradients * later[o];
                    kept[0] -= layers[o].kept * later[o];
                    gradients[1] -= layers[o].state.gradients * earlier[o];
                    kept[1] += layers[o].kept * earlier[o];
                }
            }
            if (held_back) kept[1] = all_saved + gradients_of_inputs;
            for (std::size_t i = 0; i < 2; ++i) {
                t.gradients = accumulated ? state.gradients : gradients[i];
                t.activations = kept[i] + above;
                if (updates) t.communication = fetched + of.state.stepped;
                consider(t);
            }
        }
        // The last gradient: the embedding's, beside that of what it put out. One that is read twice is summed apart:
        // a product's gradient is a transposed view, which torch/csrc/autograd/input_buffer.cpp does not add to; that of a cast is not.
        const byte_count stream = size_of(step.stream, step.tokens.all(), m.hidden);
        byte_count summed;
        if (!step.frozen && engine.linear == linear_code::plain && l.pipeline == 1 && m.tied_head)
            summed = size_of(gradients_of(j), m.vocabulary, m.embedding_width > 0 ? m.embedding_width : m.hidden) *
                     (casts_head(step) || engine.loss == loss_code::chunked ? 1 : 2);  // the parts' sum is added to
        if (read.kept > byte_count{}) {
            // The decoder's embedding, before any of the encoder; then the encoder's last layer, and its first. What the
            // encoder put out is let go with the decoder.
            const byte_count left = before - (keeps_encoder_output(step) ? read.output : byte_count{});
            t.gradients = state.gradients - read.gradients + summed;
            t.activations = left + stream + read.output;
            consider(t);
            t.gradients = state.gradients - read.gradients;
            t.activations = left + read.above;
            consider(t);
            t.gradients = state.gradients - read.first_gradients;
            t.activations = left - read.behind + read.above;
            consider(t);
            if (!read.reads_tokens) summed = {};
        }
        t.gradients = state.gradients + summed;
        t.activations = stream;
        t.communication += gathers.last;
        consider(t);
        t.communication -= gathers.last;

        if (step.adapter.low_rank()) {
            t.phase = step.recomputes ? phase::backward : phase::forward;
            for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
                if (counts[k] == 0) continue;
                t.gradients = accumulated ? state.gradients : step.recomputes ? state.gradients - layers[k].state.gradients : byte_count{};
                t.activations = all_saved + (layers[k].saved - layers[k].kept) + layers[k].forward;
                consider(t);
            }
        }

        if (last) {
            std::array<byte_count, 5> loss{};
            for_each_loss_activation(m, step, [&](const activation& a, loss_point at) { loss[static_cast<std::size_t>(at)] += local_bytes(a, l); });
            t.phase = phase::loss;
            t.communication = root;
            coming = {};
            byte_count after;
            for_each_output_activation(m, step, [&](const activation& a) { after += local_bytes(a, l); });
            t.gradients = accumulated ? state.gradients : byte_count{};
            t.activations = all_saved + after + loss[0];
            const byte_count computed = loss[1] + loss[2];
            const byte_count differentiated = loss[1] + loss[3];
            t.logits = (computed > differentiated ? computed : differentiated) + ahead.scores;
            const byte_count both = t.all() + (computed > differentiated ? differentiated : computed);
            if (j.runtime.hoards && both > held) held = both;
            consider(t);
            t.logits = loss[4] + ahead.scores;
            if (j.optimizer.in_backward && !step.frozen) t.communication += m.tied_head ? input.whole_gradients : output.whole_gradients;
            if (engine.loss == loss_code::chunked && !step.frozen) t.communication += ends.largest;  // each part's, to be added
            if (by_parameter && !step.frozen) t.communication += output.gathered;  // its gradient, before it is scattered
            if (engine.linear == linear_code::plain)
                t.gradients = accumulated ? state.gradients : m.tied_head ? first_gradients : output.gradients;
            else if (!step.frozen)
                t.communication += ends.largest;
            if (casts_head(step) && !step.frozen && !accumulated && engine.linear == linear_code::plain && l.zero < 2) {
                // Its gradient is narrow beside that of the logits, and widened when they are gone: with one the cast goes.
                const byte_count narrow = size_of(step.compute, detail::ceil_quotient(m.vocabulary, l.tensor), m.embedding_width > 0 ? m.embedding_width : m.hidden);
                if (loss[4] < narrow)
                    t.logits = {};
                else
                    t.gradients -= narrow;
            }
            consider(t);
            if (updates && !m.tied_head) {  // the head, when the final norm's gradient comes: the logits are gone
                t.phase = phase::backward;
                t.logits = {};
                t.communication = root + output.stepped + size_of(step.stream, step.tokens.all(), m.hidden);
                consider(t);
            }
        }
        if (first && !last && turns) {
            // The last GPU's logits are handed back to the first, and widened there (accelerate: AlignDevicesHook, convert_to_fp32).
            t.phase = phase::loss;
            t.communication = root;
            t.gradients = accumulated ? state.gradients : byte_count{};
            t.activations = all_saved;
            t.logits = size_of(step.compute, step.tokens.all(), m.vocabulary);
            if (!step.wide) t.logits += size_of(fp32, step.tokens.all(), m.vocabulary);
            consider(t);
        }
        // Blocks of gradients that another stream made, or of what the optimizer makes while it steps.
        const byte_count apart = j.runtime.hoards ? state.gradients + stepping
                                 : engine.streams_apart && l.zero >= 2 ? state.gradients + gathers.buffers : byte_count{};
        if (beside + apart > held) held = beside + apart;
        const byte_count standing = state.weights + state.adapter + state.optimizer;
        if (beside - standing > passing) passing = beside - standing;
    }
    const byte_count unused = held > most ? held - most : byte_count{};
    interval<byte_count> hoarded{byte_count{}, unused, unused};
    interval<byte_count> apart{};
    if (!j.runtime.hoards) std::swap(hoarded, apart), apart.low = apart.expected;
    if (j.runtime.hoards && most_active > fullest.activations)  // gaps between activations that are gone at the fullest moment
        hoarded.high += scaled_up(most_active - fullest.activations, j.runtime.churn.high);
    // FSDP1 gathers units on a stream of its own (torch/distributed/fsdp/_runtime_utils.py, _unshard_stream), two at a time.
    if (j.runtime.hoards && engine.sharding == sharding_code::fsdp1 && l.zero >= 3 && fullest.phase != phase::backward)
        hoarded.high += unit.gathered * 2;
    if (j.varied_lengths) {
        const varied_blocks more = blocks_of_varied_lengths(passing, scores);
        if (more.idle.expected > hoarded.expected) hoarded.expected = more.idle.expected;  // one phase's serve the other, too
        if (more.idle.high > hoarded.high) hoarded.high = more.idle.high;
        apart += more.stuck;
    }
    memory_breakdown sized = with_runtime(fullest, j, l, hoarded, apart);
    if (engine.sharding == sharding_code::deepspeed && l.zero >= 3 && l.dense_shard_ranks() > 1) {
        // Between ranks, DeepSpeed's defaults let 1e9 values of gathered weights live, and fill two buckets of 5e8 values of gradients
        // (stage3_max_live_parameters; reduce_bucket_size under overlap_comm). Transformers' "auto" asks for less.
        const auto at_most = [](byte_count all) { return all < gb(2) ? all : gb(2); };
        const byte_count more = at_most(fullest.gathered) + at_most(fullest.reduced);
        sized[memory_term::communication].high += more;
        sized.allocated.high += more;
        sized.reserved.high += more;
    }
    return sized;
}

constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t first_stage, std::int32_t end_stage, bool cudnn = false) {
    if (l.deals_evenly()) return memory_of_stages(j, l, first_stage, end_stage, cudnn);
    job by_stage = j;
    by_stage.model.layers = ordered_by_stage(j.model.layers, l);
    return memory_of_stages(by_stage, l, first_stage, end_stage, cudnn);
}

/// Layers of each kind on one stage.
constexpr std::array<std::int32_t, layer_stack::max_kinds> stage_counts(const layer_stack& layers, const layout& l, std::int32_t stage) {
    std::array<std::int32_t, layer_stack::max_kinds> sum{};
    for_each_chunk(l, layers.size, stage, [&](stage_range range, std::int32_t) {
        const auto counts = layers.counts(range.first, range.last);
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += counts[k];
    });
    return sum;
}

constexpr std::array<std::int32_t, layer_stack::max_kinds> training_counts(const job& j, const layout& l, std::int32_t stage) {
    if (!takes_turns(j, l)) return stage_counts(j.model.layers, l, stage);
    const stage_range dealt = layers_by_bytes(j, l, stage);
    return j.model.layers.counts(dealt.first, dealt.last);
}

}  // namespace detail

constexpr memory_breakdown training_memory(const job& j, const layout& l) {
    return detail::training_memory(j, l, 0, l.pipeline);
}
constexpr memory_breakdown training_memory(const job& j, const layout& l, const gpu& card) {
    return detail::training_memory(j, l, 0, l.pipeline, prefers_cudnn_attention(card));
}
constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t stage) {
    return detail::training_memory(j, l, stage, stage + 1);
}

constexpr weight_state training_state(const job& j, const layout& l, std::int32_t stage) {
    const training_step step{j, l};
    state_fold fold{j, l, step};
    const bool predicts = j.mtp_layers > 0 && stage == detail::prediction_stage(l);
    weight_state state = detail::input_state(j.model, fold, stage == 0 || predicts, stage == l.last_stage());
    state.add(detail::output_state(j.model, fold, stage == l.last_stage()), 1);
    if (predicts) state.add(detail::prediction_memory_of(j, l, step, fold).state, 1);
    const auto counts = detail::training_counts(j, l, stage);
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
        fold.sum = {};
        for_each_weight(j.model.layers.kinds[k], j.model.hidden, fold);
        state.add(fold.sum, counts[k]);
    }
    if (detail::deals_tensors(j, l) && j.offload.optimizer == offload_place::none) state.optimizer = detail::dealt_optimizer(j, l, step, counts, stage);
    return state;
}

constexpr byte_count host_memory(const job& j, const layout& l, std::int32_t stage) {
    byte_count held = training_state(j, l, stage).host;
    if (!j.offload.modules.empty()) {
        const training_step step{j, l};
        const auto counts = detail::stage_counts(j.model.layers, l, stage);
        for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k)
            held += scaled_up(detail::named_parts_of(j.model.layers.kinds[k], j, l, step).away * counts[k], detail::in_flight(l, stage, micro_batches(j, l)));
    }
    if (j.offload.activations == offload_place::host)
        held += detail::takes_turns(j, l) ? saved_by_layers(j, l, stage)
                                          : scaled_up(saved_by_layers(j, l, stage), detail::in_flight(l, stage, micro_batches(j, l)));
    return held;
}

constexpr interval<byte_count> host_memory_of_node(const job& j, const layout& l, std::int32_t gpus) {
    byte_count most;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
        const byte_count held = host_memory(j, l, stage) * (gpus < l.gpus() ? gpus : l.gpus());
        if (held > most) most = held;
    }
    return {most, most, j.offload.pinned ? most * 2 : most};
}

constexpr byte_count saved_by_layers(const job& j, const layout& l, std::int32_t stage, bool cudnn) {
    const training_step step{j, l, cudnn};
    const auto counts = detail::training_counts(j, l, stage);
    state_fold fold{j, l, step};
    std::array<detail::training_layer, layer_stack::max_kinds> layers{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
        fold.sum = {};
        for_each_weight(j.model.layers.kinds[k], j.model.hidden, fold);
        layers[k] = detail::training_layer_of(j.model.layers.kinds[k], j, l, step, fold.sum);
    }
    byte_count all;
    for (std::size_t k = 0; k < layers.size(); ++k) all += layers[k].kept * counts[k];
    if (j.recompute == recompute::full && j.recompute_every > 1)
        for_each_chunk(l, j.model.layers.size, stage, [&](stage_range here, std::int32_t) { all += detail::kept_whole(j, layers, here); });
    return stage == 0 ? all - detail::cut_off(j, l, step, layers[0].kept) : all;
}

constexpr byte_count saved_activations(const job& j, const layout& l, std::int32_t stage, bool cudnn) {
    const training_step step{j, l, cudnn};
    state_fold fold{j, l, step};
    byte_count total = saved_by_layers(j, l, stage, cudnn);
    const auto count = [&](const activation& a) { total += local_bytes(a, l); };
    if (stage == 0) {
        for_each_input_activation(j.model, step, count);
        if (j.model.encoders[0].layers > 0) total += detail::encoder_memory_of(j, l, step, fold).kept;
    }
    total += detail::mask_bytes(j.model, step);
    if (j.mtp_layers > 0 && stage == detail::prediction_stage(l)) {
        const detail::prediction_memory ahead = detail::prediction_memory_of(j, l, step, fold);
        total += ahead.kept + ahead.scores;
    }
    if (stage == l.last_stage()) {
        for_each_output_activation(j.model, step, count);
        for_each_loss_activation(j.model, step, [&](const activation& a, loss_point at) {
            if (at == loss_point::saved || at == loss_point::kept) total += local_bytes(a, l);
        });
    }
    return total;
}

}  // namespace llmres
