// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/serving/allocator.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/memory/serving/mxfp4.hpp>
#include <llmres/models/families.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/gguf/rules.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <llmres/values/visitor.hpp>
#include <string_view>

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
    friend constexpr bool operator==(const expert_stacks&, const expert_stacks&) = default;
};

/// Weights of layers, routed experts apart: these may lie elsewhere.
struct layer_bytes {
    byte_count rest{};
    byte_count experts{};

    constexpr layer_bytes& operator+=(const layer_bytes& more) {
        rest += more.rest;
        experts += more.experts;
        return *this;
    }
};

/// Architectures whose code in vLLM 0.18 to 0.33 names embedding and head for adapters (models/*.py:
/// embedding_modules).
inline constexpr std::array<std::string_view, 22> adapted_at_ends{
    "apertus", "exaone", "exaone4",  "exaone_moe", "falcon_h1", "granite",         "granitemoe", "granitemoehybrid",
    "jamba",   "lfm2",   "lfm2_moe", "llama",      "minicpm",   "mixtral",         "nemotron",   "nemotron_h",
    "phi3",    "phimoe", "qwen3",    "qwen3_moe",  "solar",     "granitemoeshared"};

/// Architectures whose code in vLLM 0.18 to 0.33 makes the embedding on every stage of a pipeline, and those that make
/// the head there, too (models/*.py: VocabParallelEmbedding and ParallelLMHead without get_pp_group().is_first_rank and
/// is_last_rank). Those that pipelines are refused of are left out.
inline constexpr std::string_view embedding_on_every_stage =
    "bloom chatglm cohere cohere2 dbrx falcon gemma gemma2 gemma3 gemma3_text gemma4 gpt2 gpt_oss gptj "
    "granitemoe granitemoehybrid granitemoeshared internlm2 jamba lfm2 lfm2_moe mamba minicpm mixtral nemotron_h "
    "olmo_hybrid olmoe opt orion phimoe qwen2_moe qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen3_moe "
    "qwen3_next qwen3_vl_moe qwen3_vl_moe_text stablelm";
inline constexpr std::string_view head_on_every_stage =
    "bloom dbrx falcon gpt_oss gptj granitemoe granitemoehybrid granitemoeshared jamba mamba minicpm mixtral "
    "nemotron_h olmo_hybrid olmoe opt orion phimoe qwen2_moe qwen3_moe qwen3_next qwen3_vl_moe qwen3_vl_moe_text "
    "stablelm";

/// The layers of a GGUF file, summed once a plan: which type a tensor gets depends on where its layer stands.
class file_layers {
public:
    /// Precondition: the job's weights are such a file's.
    constexpr file_layers(const llmres::job& job, const llmres::runtime& runtime, std::int32_t tensor = 1);
    constexpr file_layers() {}  ///< of no file

    /// The tensor ranks that share each tensor.
    constexpr std::int32_t tensor_ranks() const { return tensor_; }

    /// One GPU's part of these layers.
    constexpr layer_bytes sum(stage_range layers) const {
        layer_bytes total;
        for (std::int32_t i = layers.first; i < layers.last; ++i)
            total += groups_of_tensors_[groups_.of_layer(i)].value.sum;
        return total;
    }
    constexpr expert_stacks largest_experts(stage_range layers) const {
        expert_stacks most;
        for (std::int32_t i = layers.first; i < layers.last; ++i)
            most.reach(groups_of_tensors_[groups_.of_layer(i)].value.largest);
        return most;
    }
    /// Calls visit(name, size, routed) for one GPU's part of each tensor of a layer, as the engine allocates it.
    template <class Visit>
    constexpr void for_each_tensor(const llmres::job& job, std::int32_t layer, Visit&& visit) const {
        fused_tensors fused;
        groups_.for_each_tensor(job.model, *job.gguf, traits_, groups_.of_layer(layer),
                                [&](const gguf_tensor& t, auto) { split(t, fused, visit); });
        fused.for_each(visit);
    }

private:
    static constexpr bool is_expert(const gguf_tensor& t) { return t.stacked && detail::is_feed_forward(t.role); }

    /// Calls visit(name, size, routed) for one GPU's part of a tensor, unless a runtime joins it with others into one:
    /// then it goes to `fused`. Such runtimes hold tensors in PyTorch's allocator, which rounds whole segments.
    template <class Visit>
    constexpr void split(const gguf_tensor& t, fused_tensors& fused, Visit&& visit) const {
        const byte_count size = div_up(t.size(), tensor_);
        if (!fuses_) return visit(name_of(t.role), size, is_expert(t));
        const byte_count allocated = div_up(t.unpadded(), tensor_);
        const weight w{.role = t.role, .rows = t.rows, .columns = t.columns, .routed = t.stacked};
        if (fused_tensors::takes(w))
            fused.add(w, allocated, size - allocated);
        else
            visit(name_of(t.role), size + tail_of(allocated), is_expert(t));
    }

    /// Of one layer in a group.
    struct tensors {
        layer_bytes sum{};
        expert_stacks largest{};

        constexpr void add(const gguf_tensor& t, byte_count size) {
            (is_expert(t) ? sum.experts : sum.rest) += size;
            if (is_expert(t)) largest.reach(t.role, size);
        }
    };
    /// A layer of a kind, from which others differ in the types of matrices alone.
    struct kind_of_layer {
        struct matrix {
            gguf_tensor tensor{};
            byte_count size{};  ///< one GPU's part
        };
        static constexpr std::size_t most = 32;
        std::array<slot<matrix>, most> matrices;  ///< the first `count` are set
        std::size_t count = 0;
        bool known = false;   ///< with all its matrices
        byte_count beside{};  ///< other tensors

        constexpr kind_of_layer() {}  // matrices beyond the count stay as they are
        constexpr void add(const gguf_tensor& t, byte_count size, detail::gguf::typed_by typed) {
            if (typed == detail::gguf::typed_by::role)
                beside += size;
            else if (known = known && count < most; known)
                matrices[count++] = slot<matrix>{{t, size}};
        }
    };
    constexpr tensors of_group(const llmres::job& job, std::size_t group, kind_of_layer& kind) const;
    constexpr tensors in_other_types(const llmres::job& job, std::size_t group, const kind_of_layer& kind) const;

    bool fuses_ = false;
    std::int32_t tensor_ = 1;
    detail::gguf::traits traits_{};
    detail::gguf::layer_groups groups_{};
    slot<tensors> groups_of_tensors_[detail::gguf::layer_groups::max_groups];  ///< set as groups_.size()
};

constexpr file_layers::file_layers(const llmres::job& job, const llmres::runtime& runtime, std::int32_t tensor)
    : fuses_{runtime.loading.projections == projection_tensors::fused},
      tensor_{tensor},
      traits_{detail::gguf::traits_of(job.model, *job.gguf)},
      groups_{job.model, *job.gguf, traits_} {
    kind_of_layer like;
    for (std::size_t k = 0; k < job.model.layers.distinct().size(); ++k) {
        like.known = false;
        for (std::size_t g = 0; g < groups_.size(); ++g)
            if (job.model.layers.order[static_cast<std::size_t>(groups_.first_of(g).index)] == k)
                groups_of_tensors_[g] =
                    slot<tensors>{like.known ? in_other_types(job, g, like) : of_group(job, g, like)};
    }
}

constexpr file_layers::tensors file_layers::of_group(const llmres::job& job, std::size_t group,
                                                     kind_of_layer& kind) const {
    tensors one;
    fused_tensors fused;
    const auto add = [&](std::string_view, byte_count size, bool routed) {
        (routed ? one.sum.experts : one.sum.rest) += size;
    };
    kind.count = 0;
    kind.known = !fuses_;
    kind.beside = {};
    groups_.for_each_tensor(job.model, *job.gguf, traits_, group,
                            [&](const gguf_tensor& t, detail::gguf::typed_by typed) {
                                const byte_count size = div_up(t.size(), tensor_);
                                if (fuses_) {
                                    split(t, fused, add);
                                    if (is_expert(t)) one.largest.reach(t.role, size);
                                } else {
                                    one.add(t, size);
                                    kind.add(t, size, typed);
                                }
                            });
    fused.for_each(add);
    return one;
}

constexpr file_layers::tensors file_layers::in_other_types(const llmres::job& job, std::size_t group,
                                                           const kind_of_layer& kind) const {
    tensors one{.sum = {.rest = kind.beside}};
    detail::gguf::layer_place place = groups_.first_of(group);
    for (std::size_t i = 0; i < kind.count; ++i) {
        const kind_of_layer::matrix& known = kind.matrices[i].value;
        gguf_tensor tensor = known.tensor;
        tensor.type = place.type_of(*job.gguf, traits_, tensor);
        one.add(tensor, tensor.type == known.tensor.type ? known.size : div_up(tensor.size(), tensor_));
    }
    return one;
}

/// What a layer's mixers leave to the sum of its tensors.
struct mixer_bytes {
    const layer* of = nullptr;  ///< the layer; null: of none
    layer_bytes total{};
    fused_tensors fused{};
};

/// The weights of one job as one GPU holds them; made once a plan, as it holds the formats resolved.
struct serving_weights {
    const llmres::job& job;
    const llmres::layout& layout;
    layer_split split;  ///< of `layout`
    const llmres::runtime& runtime;
    /// The layers of the job's GGUF file, if its weights are one's and layers are asked for.
    const file_layers* file = nullptr;
    weight_format_view formats{};

    constexpr serving_weights(const llmres::job& j, const llmres::layout& l, const llmres::runtime& r,
                              const file_layers* f)
        : serving_weights{j, l, r} {
        resolve(f);
    }
    /// Without formats, until these are resolved.
    constexpr serving_weights(const llmres::job& j, const llmres::layout& l, const llmres::runtime& r)
        : job{j}, layout{l}, split{l}, runtime{r} {}
    serving_weights(const llmres::job&, const llmres::layout&&, const llmres::runtime&,
                    const file_layers* = nullptr) = delete;  // it refers to all of them
    constexpr void resolve(const file_layers* f) {
        file = f;
        formats = formats_of(job, job.compute);
    }

    /// One of the tensors of a weight, as the engine allocates one GPU's part of it. Packed formats are several tensors
    /// a weight, and not rounded here.
    constexpr byte_count tensor_size(const weight& w, const weight_shape& part) const {
        const byte_count one = size_of(formats.of(w), part.rows, part.columns);
        return runtime.allocator.rounds_to_segments && !is_packed(formats.of(w)) ? one + tail_of(one) : one;
    }
    /// One GPU's part of a weight, all its tensors.
    constexpr byte_count local_size(const weight& w) const {
        const weight_shape part = local_shape(w, split);
        return tensor_size(w, part) * part.copies;
    }

    /// Calls visit(name, size, copies, routed) for one GPU's part of a weight, unless it is fused with others.
    template <class Visit>
    constexpr void show(const weight& w, fused_tensors& fused, Visit& visit) const {
        const weight_shape part = local_shape(w, split);
        const bool fuses = runtime.loading.projections == projection_tensors::fused && fused_tensors::takes(w) &&
                           !is_packed(formats.of(w));
        if (fuses)
            fused.add(w, size_of(formats.of(w), part.rows, part.columns) * part.copies);
        else
            visit(name_of(w.role), tensor_size(w, part), part.copies, w.routed);
    }
    /// Calls visit(name, size, copies, routed) for what is fused, and what a layer has beside its weights.
    template <class Visit>
    constexpr void show_last(const layer& kind, const fused_tensors& fused, Visit& visit) const {
        fused.for_each([&](std::string_view name, byte_count size, bool routed) { visit(name, size, 1, routed); });
        constexpr bool routed = false;
        if (const byte_count table = rope_table_of(kind); table > byte_count{}) visit("rope", table, 1, routed);
    }

    /// Calls visit(name, size, copies, routed) for the tensors of one layer of a kind, one GPU's part of each, whatever
    /// of them lies there. None where the weights are a GGUF file's: these depend on where the layer stands.
    template <class Visit>
    constexpr void for_each_tensor(const layer& kind, Visit&& visit) const {
        if (file) return;
        fused_tensors fused;
        const auto each = [&](const weight& w) { show(w, fused, visit); };
        for_each_weight(kind, job.model.hidden, each);
        show_last(kind, fused, visit);
    }
    /// The sum of a layer's tensors. `last`: what the mixers of another kind came to, which are taken where these are
    /// the same, and replaced.
    constexpr layer_bytes of_kind(const layer& kind, mixer_bytes& last) const {
        if (file) return {};
        layer_bytes total;
        fused_tensors fused;
        const auto add = [&](std::string_view, byte_count size, std::int64_t copies, bool routed) {
            (routed ? total.experts : total.rest) += size * copies;
        };
        const auto each = [&](const weight& w) { show(w, fused, add); };
        const auto visitor = visiting<weight>(each);
        if (last.of && same_mixer_weights(*last.of, kind)) {
            total = last.total;
            fused = last.fused;
        } else {
            list_mixers(kind, job.model.hidden, visitor);
            last = {&kind, total, fused};
        }
        list_behind_mixers(kind, job.model.hidden, visitor);
        show_last(kind, fused, add);
        return total;
    }
    constexpr layer_bytes of_kind(const layer& kind) const {
        mixer_bytes none;
        return of_kind(kind, none);
    }

    /// The format of a tower's weight in its file (llama.cpp, convert_hf_to_gguf.py --mmproj): vectors and embeddings
    /// of patches and positions have 32 bits.
    static constexpr const precision& format_in_tower_file(const weight& w) {
        const bool embeds = w.role == weight_role::conv || w.role == weight_role::positions;
        return w.rows > 1 && !embeds ? fp16 : fp32;
    }

    /// Calls visit(name, size, copies) for what of the model lies there outside its layers, those that predict further
    /// tokens included.
    template <class Visit>
    constexpr void for_each_end_tensor(const placement& here, Visit&& visit) const {
        const auto allocate = [&](const weight& w) {
            const weight_shape part = local_shape(w, split);
            visit(name_of(w.role), tensor_size(w, part), part.copies);
        };
        if (job.gguf) {
            for_each_gguf_end_tensor(
                job, here, [&](const gguf_tensor& t) { visit(name_of(t.role), div_up(t.size(), layout.tensor), 1); });
            if (here.tower_file)
                for_each_tower_weight(job.model, [&](const weight& w) {
                    visit(name_of(w.role), size_of(format_in_tower_file(w), w.rows, w.columns), w.copies);
                });
        } else {
            for_each_placed_input_weight(job.model, here, allocate);
            if (here.output) for_each_output_weight(job.model, allocate);
        }
        for (std::int32_t i = 0; i < here.predictions; ++i)
            for_each_prediction_weight(job.model, [&](const weight& w) {
                if (!is_models_own(job, here, w)) allocate(w);
            });
    }
    /// The sum of them.
    constexpr byte_count of_ends(const placement& here) const {
        byte_count total;
        for_each_end_tensor(here,
                            [&](std::string_view, byte_count size, std::int64_t copies) { total += size * copies; });
        return total;
    }
    /// What lies on a GPU of a stage, with the embedding and the head that the engine has on every stage.
    constexpr placement with_own_ends(placement here) const {
        const auto is_one_of = [&](std::string_view names) {
            while (!names.empty())
                if (job.model.architecture == taken_before(names, " "))
                    return runtime.loading.ends.by_every_stage && !file;
            return false;
        };
        if (here.embeddings == 0 && is_one_of(embedding_on_every_stage)) here.embeddings = 1;
        here.output = here.output || is_one_of(head_on_every_stage);
        return here;
    }
    /// Layers of a GGUF file, if the weights are one's.
    constexpr byte_count of_file(stage_range layers) const {
        const layer_bytes all = file ? file->sum(layers) : layer_bytes{};
        return all.rest + all.experts;
    }
    /// The layers of a GGUF file that lie there.
    constexpr byte_count of_file(const placement& here) const {
        return file->sum(here.layers).rest + file->sum(here.expert_layers).experts;
    }

    /// The tables of rotary positions that layers share: as wide as the widest layer's rotated part, and four times as
    /// long where positions of images have several axes (vLLM's MRotaryEmbedding), or as linear scaling stretches them
    /// (Gemma 3's by 8, beside its windows').
    constexpr byte_count rope_table() const {
        if (runtime.loading.rope != rope_tables::shared) return {};
        std::int64_t width = 0;
        for (const layer& kind : job.model.layers.distinct()) {
            const std::int64_t rotated = kind.attention.rotated_width();
            if (rotated > width) width = rotated;
        }
        const std::int64_t axes = job.model.encoders[0].position_axes > 1 ? 4 : 1;
        return size_of(job.compute, axes, detail::product(width, scaled_context(job).in(tokens))) *
               job.model.rope.contexts;
    }
    /// Cosines and sines of rotary positions, where each layer has its own.
    constexpr byte_count rope_table_of(const layer& kind) const {
        const std::int64_t width = kind.attention.rotated_width();
        if (runtime.loading.rope == rope_tables::own)
            return bytes(4) * detail::product(width, scaled_context(job).in(tokens));
        if (runtime.loading.rope == rope_tables::cached)
            return bytes(8) *
                   detail::product(width, allotted_tokens(kind.attention, job, runtime, layout, 1).in(tokens));
        return {};
    }

    /// Queries, keys and values of a layer, where an engine joins them and keeps what it joined.
    constexpr byte_count joined_of(const layer& kind) const {
        byte_count total;
        if (runtime.loading.projections == projection_tensors::joined && !family_of(job.model).stores_joined_heads)
            for_each_weight(kind, job.model.hidden, [&](const weight& w) {
                if (fused_tensors::is_attention_input(w.role)) total += local_size(w);
            });
        return total;
    }
    /// LoRA adapters that stay resident on one layer of a kind: for every matrix that tokens all pass, the two factors
    /// of the largest rank in 16 bit (vLLM: max_loras, max_lora_rank).
    constexpr byte_count adapters_of(const layer& kind) const {
        byte_count total;
        if (job.options.max_loras > 0)
            for_each_weight(kind, job.model.hidden, [&](const weight& w) {
                const weight_shape part = local_shape(w, split);
                if (w.quantised && !w.routed)
                    total +=
                        bytes(2) * ((part.rows + part.columns) * job.options.max_lora_rank) * job.options.max_loras;
            });
        return total;
    }
    /// The same at embedding and head, where both factors are whole on each rank (lora/layers: of
    /// vocab_parallel_embedding.py and logits_processor.py).
    constexpr byte_count adapters_of_ends(const placement& here) const {
        if (job.options.max_loras == 0 || !runtime.loading.ends.by_adapters) return {};
        bool adapted = false;
        for (const std::string_view name : adapted_at_ends) adapted = adapted || job.model.architecture == name;
        const std::int64_t ends = !adapted ? 0 : (here.embeddings > 0) + (here.output && job.model.vocabulary > 0);
        return bytes(2) * ((job.model.vocabulary + job.model.hidden) * job.options.max_lora_rank) *
               (job.options.max_loras * ends);
    }
    /// What a GPU that holds `weights` of a quantised checkpoint may hold beside them: a tied model's head, and a part
    /// repacked for its kernels. `scores`: it is on the last stage.
    constexpr byte_count perhaps(byte_count weights, bool scores) const {
        if (file)
            return runtime.allocator.rounds_to_segments ? scaled_up(weights, runtime.loading.repacked) : byte_count{};
        if (*formats.matrices == *formats.rest) return {};
        byte_count more = runtime.loading.repacked > 0.0 ? scaled_up(weights, runtime.loading.repacked) : byte_count{};
        if (runtime.loading.head_again && scores && job.model.tied_head && !stores_tied_head(job))
            for_each_embedding_weight(job.model, [&](const weight& w) { more += local_size(w); });
        return more;
    }
    /// The largest stacks of routed experts of some layers; of all layers, where the weights are not a file's.
    constexpr expert_stacks largest_experts(stage_range layers) const {
        if (file) return file->largest_experts(layers);
        expert_stacks most;
        for (const layer& kind : job.model.layers.distinct())
            for_each_weight(kind, job.model.hidden, [&](const weight& w) {
                if (w.routed) most.reach(w.role, local_size(w));
            });
        return most;
    }
    /// Routed experts in MXFP4, as kernels want them.
    constexpr expert_kernels mxfp4_of(const layer& kind) const {
        if (!kind.feed_forward.routed() || *formats.matrices != mxfp4) return {};
        return expert_kernels_of(kind, job.model.hidden, split, runtime.loading.mxfp4);
    }
};

}  // namespace llmres::inline v0::detail
