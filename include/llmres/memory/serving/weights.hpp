// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/serving/allocator.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/gguf/rules.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The weights that one GPU of a serving layout holds, in the formats of a checkpoint or of a GGUF file.
namespace llmres::inline v0::detail {

/// Weights of all routed experts of a layer: of the gate or of its product, which are alike, and of the way down.
struct expert_stacks {
    byte_count gate{};
    byte_count down{};

    /// Takes the larger of its own and this one.
    constexpr void reach(weight_role role, byte_count size) {
        byte_count& own = role == weight_role::down_proj ? down : gate;
        if (size > own) own = size;
    }
    constexpr void reach(const expert_stacks& other) {
        reach(weight_role::gate_proj, other.gate);
        reach(weight_role::down_proj, other.down);
    }
};

/// What layers of a GGUF file take.
struct file_sums {
    byte_count size{};     ///< without routed experts that stay on the host
    byte_count experts{};  ///< all routed experts
    byte_count tails{};  ///< what each tensor rank's part is rounded up by; blocks stay as they are, so each weight is
                         ///< one tensor
    expert_stacks largest_experts{};  ///< over the layers

    constexpr file_sums& operator+=(const file_sums& more) {
        size += more.size;
        experts += more.experts;
        tails += more.tails;
        largest_experts.reach(more.largest_experts);
        return *this;
    }
};

/// The layers of a GGUF file, summed once a plan: which type a tensor gets depends on where its layer stands.
class file_layers {
public:
    /// Precondition: the job has a mix.
    constexpr file_layers(const job& j, const runtime& r, std::int32_t tensor = 1)
        : file_layers{j, r, tensor, detail::gguf::traits_of(j.model, *j.gguf)} {}

    constexpr file_sums of(stage_range range) const {
        file_sums total;
        for (std::int32_t i = range.first; i < range.last; ++i) total += sums_[groups_.of_layer(i)];
        return total;
    }

private:
    detail::gguf::layer_groups groups_;
    std::array<file_sums, detail::gguf::layer_groups::max_groups> sums_{};

    constexpr file_layers(const job& j, const runtime& r, std::int32_t tensor, const detail::gguf::traits& of)
        : groups_{j.model, *j.gguf, of} {
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            fused_tensors fused;
            groups_.for_each_tensor(j.model, *j.gguf, of, g, [&](const gguf_tensor& t) {
                const byte_count size = t.size();
                const bool expert = t.stacked && detail::is_feed_forward(t.role);
                if (expert) sums_[g].largest_experts.reach(t.role, size);
                if (expert) sums_[g].experts += size;
                if (!(expert && r.options.experts_on_host)) sums_[g].size += size;
                if (!r.loading.fuses_projections) return;
                const weight w{.role = t.role, .rows = t.rows, .columns = t.columns, .routed = t.stacked};
                if (fused_tensors::takes(w))
                    fused.add(w, div_up(t.unpadded(), tensor));
                else
                    sums_[g].tails += tail_of(div_up(t.unpadded(), tensor));
            });
            sums_[g].tails += fused.tails();
        }
    }
};

/// A fold over the weights of one job; made once a plan, as it holds the formats resolved.
struct serving_weights {
    const job& of;
    const layout& over;
    const llmres::runtime& runtime;
    const file_layers* file;  ///< the job's GGUF file, if its weights are one's
    weight_formats formats;

    constexpr serving_weights(const job& j, const layout& l, const llmres::runtime& r, const file_layers* f)
        : of{j}, over{l}, runtime{r}, file{f}, formats{formats_of(j, j.compute)} {}
    serving_weights(const job&, const layout&&, const llmres::runtime&,
                    const file_layers*) = delete;  // it refers to all of them

    /// One GPU's part of a weight.
    constexpr byte_count local_size(const weight& w) const {
        const weight_shape held = local_shape(w, over);
        const byte_count one = size_of(formats.of(w), held.rows, held.columns);
        return (runtime.allocator.rounds_to_segments ? one + tail(one, formats.of(w)) : one) * held.copies;
    }
    /// Packed formats are several tensors a weight, and not rounded here.
    static constexpr byte_count tail(byte_count one, const precision& format) {
        return is_packed(format) ? byte_count{} : tail_of(one);
    }
    /// The tables of rotary positions that layers share: as wide as the widest layer's rotated part, and four times as
    /// long where positions of images have three parts (vLLM's MRotaryEmbedding: the Qwen that see), or as linear
    /// scaling stretches them (Gemma 3's by 8, beside its windows').
    constexpr byte_count rope_table() const {
        if (runtime.loading.rope != rope_tables::shared) return {};
        std::int64_t width = 0;
        for (std::int32_t k = 0; k < of.model.layers.kind_count; ++k) {
            const std::int64_t rotated = of.model.layers.kinds[static_cast<std::size_t>(k)].attention.rotated_width();
            if (rotated > width) width = rotated;
        }
        const bool three_parts = of.model.encoders[0].layers > 0 && of.model.architecture.view().starts_with("qwen");
        return bytes(three_parts ? 8 : 2) * of.model.rope.contexts *
               detail::product(width, of.model.max_context.in(tokens));
    }

    /// One layer of a kind; none where the weights are a GGUF file's, which depend on where the layer stands.
    constexpr byte_count of_kind(const layer& kind) const {
        byte_count total;
        if (file) return total;
        fused_tensors fused;
        for_each_weight(kind, of.model.hidden, [&](const weight& w) {
            if (w.routed && runtime.options.experts_on_host) return;
            if (!runtime.loading.fuses_projections || !fused_tensors::takes(w)) {
                total += local_size(w);
                return;
            }
            const weight_shape held = local_shape(w, over);
            const byte_count size = size_of(formats.of(w), held.rows, held.columns) * held.copies;
            if (!is_packed(formats.of(w))) fused.add(w, size);
            total += size;
        });
        total += fused.tails();
        if (runtime.loading.rope == rope_tables::own)  // cosines and sines
            total += bytes(4) * detail::product(kind.attention.rotated_width(), of.model.max_context.in(tokens));
        if (runtime.loading.rope == rope_tables::cached)
            total += bytes(8) * detail::product(kind.attention.rotated_width(),
                                                allotted_tokens(kind.attention, of, runtime, over, 1).in(tokens));
        return total;
    }
    /// Queries, keys and values of a layer, where an engine joins them and keeps what it joined.
    constexpr byte_count joined_of(const layer& kind) const {
        byte_count total;
        if (runtime.loading.joins_projections)
            for_each_weight(kind, of.model.hidden, [&](const weight& w) {
                if (fused_tensors::is_attention_input(w.role)) total += local_size(w);
            });
        return total;
    }
    /// LoRA adapters that stay resident on one layer of a kind: for every matrix that tokens all pass, the two factors
    /// of the largest rank in 16 bit (vLLM: max_loras, max_lora_rank).
    constexpr byte_count adapters_of(const layer& kind) const {
        byte_count total;
        if (runtime.options.max_loras > 0)
            for_each_weight(kind, of.model.hidden, [&](const weight& w) {
                const weight_shape held = local_shape(w, over);
                if (w.quantised && !w.routed)
                    total += bytes(2) * ((held.rows + held.columns) * runtime.options.max_lora_rank) *
                             runtime.options.max_loras;
            });
        return total;
    }
    /// What a GPU that holds `weights` of a quantised checkpoint may hold beside them: a tied model's head, and a part
    /// repacked for its kernels.
    constexpr byte_count perhaps(byte_count weights, bool head) const {
        if (file)
            return runtime.allocator.rounds_to_segments ? scaled_up(weights, runtime.loading.repacked) : byte_count{};
        if (formats.matrices == formats.rest) return {};
        byte_count more = runtime.loading.repacked > 0.0 ? scaled_up(weights, runtime.loading.repacked) : byte_count{};
        if (runtime.loading.head_again && head && of.model.tied_head && !head_stored())
            for_each_embedding_weight(of.model, [&](const weight& w) { more += local_size(w); });
        return more;
    }
    /// What stands before the layers on the first stage, and after them on the last. A tied head on another GPU than
    /// the embedding is a copy of it.
    constexpr byte_count of_ends(bool first, bool last) const {
        const bool embedded = first && !runtime.loading.embedding_on_host;
        if (file) return ends_of_file(embedded, last);
        byte_count total;
        const auto add = [&](const weight& w) { total += local_size(w); };
        if (embedded) for_each_input_weight(of.model, add);
        if (last) for_each_output_weight(of.model, add);
        if (last && of.model.tied_head && (!embedded || (runtime.loading.head_again && head_stored())))
            for_each_embedding_weight(of.model, add);
        return total;
    }
    /// Towers on another stage than the first, where an engine has them on each. (GGUF files have none.)
    constexpr byte_count of_towers() const {
        byte_count total;
        if (!runtime.loading.towers_everywhere || file || of.model.encoders[0].layers == 0) return total;
        for_each_input_weight(of.model, [&](const weight& w) { total += local_size(w); });
        for_each_embedding_weight(of.model, [&](const weight& w) { total -= local_size(w); });
        return total;
    }
    /// FP8 checkpoints of tied models hold a head of their own (Qwen3-0.6B-FP8, -4B-FP8: lm_head.weight), and it stays.
    constexpr bool head_stored() const {
        return formats.matrices.arithmetic == arithmetic_kind::fp8 && formats.rest != formats.matrices;
    }
    /// The layers of a GGUF file.
    constexpr byte_count of_file(stage_range range) const {
        const file_sums all = file->of(range);
        return div_up(all.size, over.tensor) + all.tails;
    }
    /// All routed experts of the layers in a range.
    constexpr byte_count experts_of(stage_range range) const {
        if (file) return div_up(file->of(range).experts, over.tensor);
        byte_count total;
        for (std::int32_t i = range.first; i < range.last; ++i)
            for_each_weight(of.model.layers[i], of.model.hidden, [&](const weight& w) {
                if (w.routed) total += local_size(w);
            });
        return total;
    }
    /// The largest stacks of routed experts of the layers in a range; of all layers, where the weights are not a
    /// file's.
    constexpr expert_stacks largest_experts(stage_range range) const {
        if (file) {
            const expert_stacks whole = file->of(range).largest_experts;
            return {div_up(whole.gate, over.tensor), div_up(whole.down, over.tensor)};
        }
        expert_stacks most;
        for (std::int32_t k = 0; k < of.model.layers.kind_count; ++k)
            for_each_weight(of.model.layers.kinds[static_cast<std::size_t>(k)], of.model.hidden, [&](const weight& w) {
                if (w.routed) most.reach(w.role, local_size(w));
            });
        return most;
    }
    /// What kernels for MXFP4 pad a layer's experts with: inner features to 128, outer ones to 256 (vLLM's mxfp4.py on
    /// Marlin; Triton's kernels, which it takes on some devices, pad less).
    constexpr byte_count padding_of(const layer& kind) const {
        byte_count total;
        if (runtime.loading.mxfp4.padded && formats.matrices == mxfp4 && kind.feed_forward.routed())
            for_each_weight(kind, of.model.hidden, [&](const weight& whole) {
                if (!whole.routed || !detail::is_feed_forward(whole.role)) return;
                const weight w = local_part(whole, over);
                weight padded = w;
                const bool down = w.role == weight_role::down_proj;
                padded.rows = detail::ceil_quotient(w.rows, down ? 256 : 128) * (down ? 256 : 128);
                padded.columns = detail::ceil_quotient(w.columns, down ? 128 : 256) * (down ? 128 : 256);
                total += size_of(padded, formats) - size_of(w, formats);
            });
        return total;
    }
    /// Scales of a layer's experts in MXFP4, one byte in 17, that stay where kernels for Hopper get them in another
    /// order (vLLM's mxfp4.py on Triton: w13_weight_scale).
    constexpr byte_count scales_of(const layer& kind) const {
        byte_count total;
        if (runtime.loading.mxfp4.scales_again && formats.matrices == mxfp4 && kind.feed_forward.routed())
            for_each_weight(kind, of.model.hidden, [&](const weight& w) {
                if (w.routed && detail::is_feed_forward(w.role)) total += div_up(local_size(w), 17);
            });
        return total;
    }
    constexpr byte_count of_prediction() const {
        byte_count total;
        for_each_prediction_weight(of.model, [&](const weight& w) { total += local_size(w); });
        return total * of.model.prediction.layers;
    }

private:
    constexpr byte_count ends_of_file(bool embedded, bool last) const {
        byte_count total;
        if (embedded) total += gguf_input_bytes(of.model, *of.gguf);
        if (last) total += gguf_output_bytes(of.model, *of.gguf);
        if (last && !embedded && of.model.tied_head) total += detail::gguf::embedding(of.model, *of.gguf).size();
        return div_up(total, over.tensor);
    }
};

}  // namespace llmres::inline v0::detail
