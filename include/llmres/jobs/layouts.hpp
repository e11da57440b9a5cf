// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/models/format_families.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/layout_rules.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// Which layouts are there for a job on a cluster? Those that its runtime runs (runtimes/layout_rules.hpp), with every
/// matrix, stage and batch split evenly.
namespace llmres::inline v0 {

/// The layouts among which a search chooses: every degree that is not fixed.
struct layout_space {
    /// The values of fixed degrees, and of what is never searched (schedule, stages, shard_replicas, replicas, ...).
    llmres::layout given{};
    bool tensor = true;             ///< the tensor degree is free
    bool pipeline = true;           ///< the number of stages is free, and how layers are split over them
    bool virtual_pipeline = true;   ///< the chunks of a stage are free
    bool data = true;               ///< the data ranks are free
    bool context_parallel = true;   ///< the context-parallel ranks are free
    bool expert = true;             ///< the ranks that share experts are free
    bool zero = true;               ///< the ZeRO stage is free
    bool sequence_parallel = true;  ///< sequence parallelism is free
    std::int32_t least_gpus = 1;    ///< GPUs of a layout at least
    std::int32_t most_gpus = 0;     ///< GPUs of a layout at most; 0: those of the cluster
};

/// The layouts in which only the data ranks are free: those of a layout that was given in part.
constexpr layout_space free_data_ranks(const layout& given);

/// The layout with the data ranks for which a cluster has room: when training the most that divide the global batch,
/// when serving the fewest that hold as few sequences each. Unchanged where a degree or a batch is out of its bounds,
/// or the GPUs of other ranks are too many already.
constexpr layout with_data_ranks(layout l, const job& j, const cluster& c);

/// Calls try_layout(layout) -> bool for each layout of the space, simpler ones first; stops where it returns true, and
/// returns whether it did. Where try_layout has a member takes() -> bool, it is asked before the layouts of each pair
/// of tensor ranks and stages, and those are passed over where it returns false.
///
/// Which degrees there are: tensor ranks divide the heads of attention, and key-value heads or are divided by them;
/// groups of them fill nodes. Stages have equally many layers when training: the model's own, or with the embedding
/// and the loss counted as layers; or two, four, eight, ... stages have fewer in the last. Context-parallel ranks
/// divide the sequence into pairs of chunks. Data ranks divide the global batch; where there is none, they fill the
/// GPUs or a node; when serving each number of sequences a rank is tried once. Expert ranks divide the experts. Norms
/// and residuals are split over tensor ranks wherever the runtime can, since that holds less and exchanges as many
/// bytes (arXiv 2205.05198, 4.2.2). Preconditions: validate() holds for job and cluster.
template <class Try>
constexpr bool for_each_layout(const job& j, const layout_space& space, const cluster& c, Try&& try_layout);

/// A degree of a layout that its runtime does not have, or may run though no run is known; without a name where it runs
/// them all.
struct unrun_degree {
    std::string_view name{};  ///< as layout's: "tensor"
    std::int32_t degree = 1;  ///< how many
    bool untried = false;     ///< it may run
};

/// The first degree of a layout that the job's runtime does not have; if it has all, the first of which no run is
/// known.
constexpr unrun_degree unrun_degree_of(const job& j, const layout& l);

/// A part of a model whose blocks or groups of scales a layout's tensor ranks cut; without a name where they cut none.
struct cut_blocks {
    std::string_view what{};  ///< "features of an expert"
    std::int64_t size = 0;    ///< how many there are
    std::int64_t block = 0;   ///< how many share a scale
    /// The checkpoint is not at hand, and publishers pad such a width until groups are whole (Qwen2.5-72B's AWQ and
    /// GPTQ files have 29,696 features in place of 29,568).
    bool may_be_padded = false;
};

/// The first part of a served model whose blocks of fp8, or groups of GPTQ, AWQ or packed integers, are cut under a
/// runtime that refuses it, by the runtime's own check: what a rank holds of a matrix that is split by outputs or by
/// inputs is a multiple of the block (vLLM: fp8_utils.py, validate_fp8_block_shape(); awq.py and gptq.py,
/// create_weights()). Groups of routed experts are halved down to 32 where that makes them whole (moe_wna16.py,
/// group_size_div_factor). Projections to heads whose blocks are not whole to begin with run (linear.py,
/// _maybe_allow_fp8_block_shape_mismatch()), and a matrix that is no whole number of groups is in no such format.
constexpr cut_blocks cut_blocks_of(const job& j, const layout& l);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// A part of a model that a tensor degree does not split evenly; without a name where it splits all.
struct uneven_part {
    std::string_view what{};  ///< "key-value heads"
    std::int64_t size = 0;    ///< how many there are
};

/// The first part that a tensor degree does not split evenly under the runtime's rules.
constexpr uneven_part uneven_under(const model& m, const layout_rules& rules, std::int32_t tensor) {
    if (tensor == 1) return {};
    for (const layer& kind : m.layers.distinct()) {
        const attention& a = kind.attention;
        if (a.kind != attention_kind::none) {
            if (a.heads % tensor != 0) return {"attention heads", a.heads};
            const bool copied = rules.split.copies_kv_heads && a.kv_heads > 0 && tensor % a.kv_heads == 0;
            if (a.kv_heads > 0 && a.kv_heads % tensor != 0 && !copied) return {"key-value heads", a.kv_heads};
        }
        const feed_forward& f = kind.feed_forward;
        if (!rules.split.pads_width && !f.routed() && f.width % tensor != 0) return {"feed-forward features", f.width};
        if (!rules.split.pads_width && f.experts.shared_width % tensor != 0)
            return {"shared experts' features", f.experts.shared_width};
    }
    if (rules.split.vocabulary_multiple > 0) {
        const std::int64_t padded = ceil_quotient(m.vocabulary, std::int64_t{rules.split.vocabulary_multiple}) *
                                    std::int64_t{rules.split.vocabulary_multiple};
        if (padded % tensor != 0) return {"rows of the padded vocabulary", padded};
    }
    return {};
}

/// Whether a tensor degree splits each layer's heads and widths evenly under the runtime's rules.
constexpr bool splits_evenly(const model& m, const layout_rules& rules, std::int32_t tensor) {
    if (tensor == 1) return true;
    if (!rules.tensor || (rules.split.power_of_two && (tensor & (tensor - 1)) != 0)) return false;
    return uneven_under(m, rules, tensor).what.empty();
}

/// Whether every routed expert can be split over so many ranks, and the experts be given to so many others.
constexpr bool splits_experts(const model& m, std::int32_t expert, std::int32_t expert_tensor) {
    bool routes = false;
    for (const layer& kind : m.layers.distinct()) {
        const experts& e = kind.feed_forward.experts;
        if (e.count == 0) continue;
        routes = true;
        if (e.count % expert != 0 || e.width % expert_tensor != 0) return false;
    }
    return routes || expert == 1;
}

/// Whether a weight projects to heads, or from them.
constexpr bool is_of_attention(weight_role role) {
    return role >= weight_role::q_proj && role <= weight_role::kv_b_proj;
}

/// How many rows, or columns, of a weight that tensor ranks split that way share a scale; 1: each has its own, or all
/// have one. `halved`: groups are halved down to 32 where it helps.
constexpr std::int64_t shared_scale(const precision& format, const weight& w, bool halved) {
    const tile& scale = format.parts[1];
    const std::int32_t size = w.split == weight_split::rows ? scale.rows : scale.columns;
    if (scale.bytes == 0 || size <= 1 || size == tile::whole) return 1;
    return halved && size > 32 ? 32 : size;
}

/// The name of a part of a model, as people say it.
constexpr std::string_view name_of_part(const weight& w) {
    return w.routed ? "features of an expert" : is_feed_forward(w.role) ? "feed-forward features" : name_of(w.role);
}

/// The most routed experts of a layer.
constexpr std::int64_t most_experts(const model& m) {
    std::int64_t most = 0;
    for (const layer& kind : m.layers.distinct()) most = (std::max)(most, kind.feed_forward.experts.count);
    return most;
}

/// Whether the stages of a training job wait for each other in one process (device_map).
constexpr bool is_naive(const job& j, const layout& l) { return l.pipeline > 1 && j.runtime.pipeline.naive; }

/// Splits the layers of a training job over the stages of a layout, and returns whether that is possible: evenly, with
/// the embedding and the loss as layers (Megatron-Core's account-for-embedding-in-pipeline-split), or over two, four,
/// eight, ... stages with fewer layers in the last (num-layers-in-last-pipeline-stage). Stages that a caller describes
/// stay as they are.
constexpr bool split_stages(const job& j, layout& l) {
    const std::int32_t layers = j.model.layers.size;
    if (l.pipeline == 1) return l.virtual_pipeline == 1;
    if (!l.deals_evenly() || j.runtime.pipeline.naive) return true;
    if (layers % l.chunks() == 0) return true;
    if (!j.runtime.layouts.uneven_stages) return false;
    if ((layers + 2) % l.chunks() == 0 && layers + 2 > l.chunks()) {
        l.embedding_as_layer = l.loss_as_layer = true;
        return true;
    }
    const auto most = static_cast<std::int32_t>(ceil_quotient(layers, l.pipeline));
    l.last_stage_layers = layers - most * (l.pipeline - 1);
    const bool power_of_two = (l.pipeline & (l.pipeline - 1)) == 0;
    return l.virtual_pipeline == 1 && power_of_two && l.last_stage_layers > 0;
}

/// A function that a walk over layouts calls for each layout.
class layout_trial {
public:
    /// Tries a layout; returns whether to stop.
    constexpr bool operator()(const layout& l) const { return try_(*this, l); }
    /// Whether the layouts of the next pair of tensor ranks and stages are tried.
    constexpr bool takes() const { return takes_(*this); }

protected:
    constexpr layout_trial(bool (*try_layout)(const layout_trial&, const layout&), bool (*ask)(const layout_trial&))
        : try_{try_layout}, takes_{ask} {}
    constexpr layout_trial(const layout_trial&) = default;
    constexpr layout_trial& operator=(const layout_trial&) = default;
    constexpr ~layout_trial() = default;

private:
    bool (*try_)(const layout_trial&, const layout&);
    bool (*takes_)(const layout_trial&);
};

/// A function that tries layouts, to which it refers.
template <class Try>
class function_trial final : public layout_trial {
public:
    constexpr explicit function_trial(Try& function) : layout_trial{run, ask}, function_{function} {}

private:
    static constexpr bool run(const layout_trial& self, const layout& l) {
        return static_cast<const function_trial&>(self).function_(l);
    }
    static constexpr bool ask([[maybe_unused]] const layout_trial& self) {
        if constexpr (requires(Try& asked) { asked.takes(); })
            return static_cast<const function_trial&>(self).function_.takes();
        return true;
    }

    Try& function_;
};

/// Walks a space of layouts, one degree a function, from the outermost loop to the innermost.
class layout_walk {
public:
    constexpr layout_walk(const job& asked, const layout_space& among, const cluster& on,
                          const layout_trial& try_layout)
        : job_{asked},
          space_{among},
          rules_{asked.runtime.layouts},
          try_{try_layout},
          most_{among.most_gpus > 0 && among.most_gpus < on.gpus ? among.most_gpus : on.gpus},
          node_{on.node_size()},
          experts_{most_experts(asked.model)},
          l_{among.given} {}

    constexpr bool tensor() {
        if (!space_.tensor) return pipeline();
        for (l_.tensor = 1; l_.tensor <= node_ && l_.tensor <= room(1); ++l_.tensor)
            if (splits_evenly(job_.model, rules_, l_.tensor) && pipeline()) return true;
        return false;
    }

private:
    /// GPUs that are left for the ranks of one more degree, where the others so far take so many.
    constexpr std::int32_t room(std::int64_t taken) const {
        return static_cast<std::int32_t>(most_ / (taken * space_.given.replicas));
    }

    constexpr bool pipeline() {
        const layout before = l_;
        if (space_.sequence_parallel)
            l_.sequence_parallel = l_.tensor > 1 && trains(job_) && rules_.sequence_parallel &&
                                   sequence_of(job_).in(tokens) % l_.tensor == 0;
        const std::int32_t layers = job_.model.layers.size;
        const std::int32_t stages = room(l_.tensor) < layers ? room(l_.tensor) : layers;
        if (!space_.pipeline) return (try_.takes() && virtual_pipeline()) || reset(before);
        for (l_.pipeline = 1; l_.pipeline <= stages && (l_.pipeline == 1 || rules_.pipeline); ++l_.pipeline)
            if (try_.takes() && virtual_pipeline()) return true;
        return reset(before);
    }

    constexpr bool virtual_pipeline() {
        const layout before = l_;
        const bool chunks = space_.virtual_pipeline && l_.pipeline > 1 && rules_.virtual_pipeline && trains(job_) &&
                            space_.given.deals_evenly();
        const std::int32_t most = chunks ? job_.model.layers.size / l_.pipeline : l_.virtual_pipeline;
        for (; l_.virtual_pipeline <= most; ++l_.virtual_pipeline) {
            const std::int32_t held = l_.virtual_pipeline;
            const bool split = !space_.pipeline || !trains(job_) || split_stages(job_, l_);
            if (split && context()) return true;
            l_ = before;
            l_.virtual_pipeline = held;
        }
        return reset(l_.virtual_pipeline, before.virtual_pipeline);
    }

    constexpr bool context() {
        if (!space_.context_parallel) return data();
        const std::int32_t before = l_.context_parallel;
        const std::int64_t length = sequence_of(job_).in(tokens);
        const std::int32_t most = room(std::int64_t{l_.tensor} * l_.pipeline);
        const bool splits = trains(job_) && rules_.context_parallel;
        for (l_.context_parallel = 1; l_.context_parallel <= (splits ? most : 1); ++l_.context_parallel)
            if (length % (l_.context_parallel == 1 ? 1 : 2 * l_.context_parallel) == 0 && data()) return true;
        return reset(l_.context_parallel, before);
    }

    constexpr bool data() {
        if (!space_.data) return used() && expert();
        const std::int32_t before = l_.data;
        const std::int64_t group = std::int64_t{l_.tensor} * l_.pipeline * l_.context_parallel;
        const std::int32_t most = room(group);
        const bool waits = trains(job_) && is_naive(job_, l_);
        const bool by_batch = trains(job_) && job_.global_batch > 0;
        const std::int64_t shared = by_batch ? groups_of_micro_batches() : most;
        std::int32_t last = waits && most > 1 ? 1 : most;
        if (shared < last) last = static_cast<std::int32_t>(shared);
        const auto least = static_cast<std::int32_t>(ceil_quotient(space_.least_gpus, group * l_.replicas));
        for (l_.data = least; l_.data <= last; ++l_.data)
            if ((by_batch ? shared % l_.data == 0 : fills(most)) && used() && expert()) return true;
        return reset(l_.data, before);
    }

    /// What the data ranks of a training job share: the micro-batches of its global batch, and with interleaved chunks
    /// groups of as many as there are stages. 0 where the batch is no whole number of them.
    constexpr std::int64_t groups_of_micro_batches() const {
        const std::int64_t together = l_.virtual_pipeline > 1 ? l_.pipeline : 1;
        const std::int64_t sequences = product(job_.micro_batch, l_.replicas * together);
        return job_.global_batch % sequences == 0 ? job_.global_batch / sequences : 0;
    }

    /// Whether a number of data ranks is one to try where no global batch is given, of at most so many.
    constexpr bool fills(std::int32_t most) const {
        if (!trains(job_)) {  // the fewest ranks that hold so many sequences each; experts are shared by all ranks
            const std::int64_t ranks = l_.all_data_ranks();
            return l_.data == 1 || (l_.data == most && experts_ > 0) ||
                   ceil_quotient(job_.batch, ranks) < ceil_quotient(job_.batch, ranks - l_.replicas);
        }
        if (l_.virtual_pipeline > 1 && l_.pipeline > 1) return false;  // of one micro-batch
        const std::int32_t inside = node_ / (l_.tensor * l_.context_parallel);
        return l_.data == most || l_.data == inside;
    }

    /// Whether the layout takes as many GPUs as the space asks for, and its tensor ranks share nodes.
    constexpr bool used() const {
        const std::int64_t gpus = l_.gpus();
        return gpus >= space_.least_gpus && gpus <= most_ &&
               (!space_.tensor || gpus <= node_ || node_ % l_.tensor == 0);
    }

    constexpr bool expert() {
        if (!space_.expert || experts_ == 0 || !rules_.expert)
            return splits_experts(job_.model, l_.expert, l_.expert_tensor_ranks()) && zero();
        const std::int32_t before = l_.expert, tensor_before = l_.expert_tensor;
        const std::int64_t ranks = l_.dense_data_ranks() * l_.tensor;
        if (splits_experts(job_.model, 1, l_.tensor) && zero()) return true;
        const std::int64_t fewest = trains(job_) || ranks < 2 ? 2 : ranks;  // a served model's are shared by all ranks
        for (std::int64_t e = fewest; e <= ranks && e <= experts_; ++e) {
            if (ranks % e != 0) continue;
            l_.expert = static_cast<std::int32_t>(e);
            for (const bool split : {false, true}) {  // each expert on one rank, or over the tensor ranks
                if (split && (!trains(job_) || l_.tensor == 1)) continue;
                l_.expert_tensor = split ? l_.tensor : 1;
                if (ranks % (e * l_.expert_tensor) != 0) continue;
                if (splits_experts(job_.model, l_.expert, l_.expert_tensor) && zero()) return true;
            }
        }
        return reset(l_.expert, before) || reset(l_.expert_tensor, tensor_before);
    }

    constexpr bool zero() {
        if (!space_.zero || !trains(job_)) return try_(l_);
        const std::int32_t before = l_.zero;
        const bool offloads = job_.offload.parameters != offload_place::none;
        std::int32_t most = l_.pipeline > 1 ? rules_.most_zero_with_pipeline : rules_.most_zero;
        if (l_.dense_data_ranks() == 1) most = offloads ? most : 0;
        for (l_.zero = offloads ? 3 : 0; l_.zero <= most; ++l_.zero)
            if ((l_.zero == 0 || l_.zero >= rules_.least_zero) && try_(l_)) return true;
        return reset(l_.zero, before);
    }

    /// Leaves no trace of a degree that was tried: false.
    static constexpr bool reset(std::int32_t& tried, std::int32_t before) {
        tried = before;
        return false;
    }
    constexpr bool reset(const layout& before) {
        l_ = before;
        return false;
    }

    const job& job_;
    const layout_space& space_;
    const layout_rules& rules_;
    const layout_trial& try_;
    std::int32_t most_;
    std::int32_t node_;
    std::int64_t experts_;
    layout l_;
};

}  // namespace detail

constexpr unrun_degree unrun_degree_of(const job& j, const layout& l) {
    const layout_rules& r = j.runtime.layouts;
    const untried_degrees& may = r.untried;
    const std::int32_t zero = trains(j) ? l.zero : 0;
    struct rule {
        std::string_view name;
        std::int32_t degree;
        bool asked, runs, may_run;
    };
    const rule rules[] = {
        {"tensor", l.tensor, l.tensor > 1, r.tensor, may.tensor},
        {"sequence_parallel", 1, l.sequence_parallel && trains(j), r.sequence_parallel, may.sequence_parallel},
        {"pipeline", l.pipeline, l.pipeline > 1, r.pipeline, may.pipeline},
        {"virtual_pipeline", l.virtual_pipeline, l.virtual_pipeline > 1, r.virtual_pipeline, false},
        {"context_parallel", l.context_parallel, l.context_parallel > 1, r.context_parallel, may.context_parallel},
        {"expert", l.expert, l.expert > 1, r.expert, may.expert},
        {"zero", zero, zero > 0, zero >= r.least_zero && zero <= r.most_zero, false},
    };
    unrun_degree first{};
    for (const rule& of : rules) {
        if (!of.asked || of.runs) continue;
        if (!of.may_run) return {.name = of.name, .degree = of.degree};
        if (first.name.empty()) first = {.name = of.name, .degree = of.degree, .untried = true};
    }
    return first;
}

constexpr cut_blocks cut_blocks_of(const job& j, const layout& l) {
    if (!j.runtime.layouts.split.refuses_cut_blocks || l.tensor == 1 || trains(j)) return {};
    const format_family family = family_of(weights_of(j));
    const bool groups =
        family == format_family::gptq_words || family == format_family::awq_words || family == format_family::packed;
    if (!groups && family != format_family::eight_bit_float) return {};
    const weight_format_view formats = formats_of(j, activations_of(j));
    const layer_split split{l};
    cut_blocks first{};
    for (const layer& kind : j.model.layers.distinct())
        for_each_weight(kind, j.model.hidden, [&](const weight& w) {
            const bool feeds = detail::is_feed_forward(w.role);
            const bool asked = w.quantised && w.split != weight_split::replicated;
            if (!first.what.empty() || !asked || !(feeds || detail::is_of_attention(w.role))) return;
            const std::int64_t block = detail::shared_scale(formats.of(w), w, groups && w.routed);
            const weight_shape held = local_shape(w, split);
            const bool by_rows = w.split == weight_split::rows;
            const std::int64_t size = by_rows ? w.rows : w.columns, part = by_rows ? held.rows : held.columns;
            if (part == size || part % block == 0) return;
            if (size % block != 0 && (groups || (by_rows && !feeds))) return;
            const bool at_hand = weights_of(j) == j.model.weights;  // the model is described by its checkpoint
            first = {detail::name_of_part(w), size, block, groups && feeds && !w.routed && !at_hand};
        });
    return first;
}

constexpr layout_space free_data_ranks(const layout& given) {
    return {.given = given,
            .tensor = false,
            .pipeline = false,
            .virtual_pipeline = false,
            .context_parallel = false,
            .expert = false,
            .zero = false,
            .sequence_parallel = false};
}

constexpr layout with_data_ranks(layout l, const job& j, const cluster& c) {
    const bool positive = l.tensor > 0 && l.pipeline > 0 && l.context_parallel > 0 && l.replicas > 0;
    if (!positive || j.micro_batch < 1 || j.batch < 1) return l;
    l.data = 1;
    const std::int64_t room = c.gpus / l.gpus();
    if (room < 1 || (trains(j) && detail::is_naive(j, l))) return l;
    if (!trains(j)) {
        const std::int64_t each = detail::ceil_quotient(j.batch, room * l.replicas);
        l.data = static_cast<std::int32_t>(detail::ceil_quotient(j.batch, each * l.replicas));
        return l;
    }
    l.data = static_cast<std::int32_t>(room);
    while (l.data > 1 && j.global_batch > 0 && j.global_batch % sequences_at_once(j, l) != 0) --l.data;
    return l;
}

template <class Try>
constexpr bool for_each_layout(const job& j, const layout_space& space, const cluster& c, Try&& try_layout) {
    const detail::function_trial trial{try_layout};
    return detail::layout_walk{j, space, c, trial}.tensor();
}

}  // namespace llmres::inline v0
