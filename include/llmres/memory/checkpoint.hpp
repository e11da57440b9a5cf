// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/upcast.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>

/// Which checkpoints does a training job write, how large is one, who writes it, and what does that take of main
/// memory?
///
///     const auto saved = checkpoint_of({}, job, plan.layout, cluster);  // saved->total()
namespace llmres::inline v0 {

/// A training job's checkpoints, as far as the caller chooses.
struct checkpoint_request {
    maybe<checkpoint_files> files{};               ///< default: the runtime's
    bool weights_only = false;                     ///< without the optimizer's states: training cannot go on from it
    checkpoint_mode mode = checkpoint_mode::sync;  ///< whether training waits for the storage
    std::int32_t keep = 0;                         ///< the last so many are kept; 0: not asked
};

namespace detail {

/// The numbers of a request with their bounds, for those who check them, read them and describe them.
constexpr std::array<bounded_field, 1> numbers_of(const checkpoint_request& r) {
    return {{{"checkpoint.keep", r.keep, 0, 1'000'000}}};
}

}  // namespace detail

/// Whether several processes have a part each of what a checkpoint holds. A naive pipeline is one process.
constexpr bool shares_weights(const job& j, const layout& l) {
    const bool sharded = l.zero >= (j.runtime.sharding.code == sharding_code::deepspeed ? 1 : 2);
    return sharded || l.tensor > 1 || (l.pipeline > 1 && !j.runtime.pipeline.naive) || l.expert > 1;
}

/// Who writes the tensors that ranks share: as the caller says; asynchronously torchtune and others write shards alone;
/// else as the runtime does. What no ranks share one process writes, unless the runtime divides that, too.
constexpr checkpoint_files files_of(const checkpoint_request& r, const job& j, const layout& l) {
    const runtime_checkpoints& how = j.runtime.checkpoints;
    if (r.files) return *r.files;
    const bool in_deepspeed = j.runtime.sharding.code == sharding_code::deepspeed;
    if (r.weights_only && in_deepspeed && l.zero >= 3) return checkpoint_files::gathered;  // save_16bit_model
    if (!how.shares_replicas && !shares_weights(j, l)) return checkpoint_files::gathered;
    return r.mode != checkpoint_mode::sync && how.both ? checkpoint_files::sharded : how.files;
}

/// Refuses checkpoints that the job's runtime does not write.
constexpr status validate(const checkpoint_request& r, const job& j, const layout& l) {
    const runtime_checkpoints& how = j.runtime.checkpoints;
    const auto name = j.runtime.identity.name;
    if (!trains(j)) return refused(error_code::inconsistent, "checkpoint", "given", "task pretraining or finetuning");
    if (const status s = detail::all_in_range(detail::numbers_of(r)); !s) return s;
    if (r.mode > how.last_mode) {
        text<191> expected{"sync"};
        if (how.last_mode == checkpoint_mode::async) expected.append(" or async");
        expected.append(": ");
        expected.append(name);
        expected.append(how.last_mode == checkpoint_mode::sync ? " waits until a checkpoint is written"
                                                               : " has no page-locked copy");
        return refused(error_code::unsupported, "checkpoint.mode", name_of(r.mode), expected);
    }
    const auto unwritten = [&](const char* expected) {
        text<191> with_name{expected};
        with_name.append(name);
        return refused(error_code::unsupported, "checkpoint.files", name_of(*r.files), with_name);
    };
    if (r.files == checkpoint_files::gathered && !writes(how, *r.files))
        return unwritten("sharded: no process gathers the weights under ");
    if (r.files == checkpoint_files::gathered && r.mode != checkpoint_mode::sync)
        return unwritten("sharded: only shards are written asynchronously by ");
    if (r.files == checkpoint_files::sharded &&
        (!writes(how, *r.files) || (!how.shares_replicas && !shares_weights(j, l))))
        return unwritten(writes(how, *r.files)
                             ? "gathered, or a layout in which ranks share the weights (zero 3) under "
                             : "gathered: one process writes whole tensors under ");
    if (r.weights_only && files_of(r, j, l) == checkpoint_files::sharded && how.weights_twice)
        return refused(error_code::unsupported, "checkpoint.weights_only", "true",
                       "files gathered: shards are written with the optimizer's states");
    return done{};
}

/// A checkpoint that training continues from. Sizes count tensors alone: the names, shapes and offsets beside them take
/// some kilobytes a file, and the data loader's and generators' states are as small.
struct checkpoint_bytes {
    checkpoint_files files = checkpoint_files::gathered;  ///< who writes what ranks share
    checkpoint_mode mode = checkpoint_mode::sync;         ///< whether training waits for the storage
    byte_count weights{};  ///< in the format of the parameters: fp32 where a runtime widens what it trains
    byte_count states{};   ///< the optimizer's, with master weights and averages; zero: weights alone
    byte_count again{};    ///< weights that are written a second time, or a tied head beside the embedding
    byte_count node{};     ///< written by the node that writes most
    byte_count process{};  ///< written by the process that writes most
    byte_count host{};     ///< main memory that the node that needs most takes while it writes, beside what is there
    std::int64_t writers = 1;  ///< processes that write

    /// All files.
    constexpr byte_count total() const { return weights + states + again; }
};

/// The checkpoint that a job writes. Errors: one that its runtime does not write. Precondition: validate() holds for
/// job, layout and cluster.
constexpr result<checkpoint_bytes> checkpoint_of(const checkpoint_request& r, const job& j, const layout& l,
                                                 const cluster& c);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The layout of the whole model on one rank. DeepSpeed's ranks write what their stages hold, tied tables on the first
/// and on the last among it; elsewhere one of both is left out (Megatron-Core, language_module.py,
/// tie_embeddings_and_output_weights_state_dict; nanotron, serialize/weights.py).
constexpr layout unshared(const job& j, const layout& l) {
    layout whole{};
    whole.zero = l.zero;
    if (j.runtime.sharding.code == sharding_code::deepspeed) whole.pipeline = l.pipeline;
    return whole;
}

/// Weights, and the optimizer's states beside them, of all stages.
struct tensors_saved {
    byte_count weights{};
    byte_count states{};
    byte_count head{};  ///< of a tied head, where it is written beside the embedding
};

constexpr tensors_saved tensors_to_save(job j, const layout& l) {
    const bool frozen = j.adapter.trains();
    j.offload = {};
    j.compute = activations_of(j);  // copies in 8 bits are not written
    if (const maybe<precision> master = master_weights_of(j); master && j.runtime.checkpoints.master_alone && !frozen)
        j.weights = master, j.master_weights = {};
    const layout whole = unshared(j, l);
    tensors_saved all;
    for (std::int32_t stage = 0; stage < whole.pipeline; ++stage) {
        const training_state held = training_state_of(j, whole, stage);
        all.weights += frozen ? held.adapter : held.weights;
        if (frozen && j.runtime.checkpoints.model_with_adapter) all.weights += held.weights;
        all.states += held.optimizer.states;
    }
    if (j.runtime.checkpoints.tied_head_again && shares_embedding(j.model) && !frozen)
        all.head = size_of(weights_of(j), j.model.vocabulary, j.model.hidden);
    return all;
}

/// The largest tensor of a checkpoint, no larger than all of them: of the model, in fp32; an adapter's are small.
constexpr byte_count largest_saved(const job& j, byte_count all) {
    byte_count largest;
    if (j.adapter.trains()) return largest;
    for_each_weight(j.model, [&](const weight& w, std::int64_t) {
        const std::int64_t copies = w.routed && stacks_weights(j.runtime.kernels.experts) ? w.copies : 1;
        if (const byte_count one = size_of(fp32, w.rows, w.columns) * copies; one > largest) largest = one;
    });
    return largest < all ? largest : all;
}

/// A part of a whole number of equal parts, rounded up.
constexpr byte_count part_of(byte_count all, std::int64_t parts, std::int64_t of) {
    return parts >= of ? all : div_up(all, of) * parts;
}

/// Main memory of the node of the process that writes everything.
constexpr byte_count host_of_gathered(const checkpoint_bytes& c, const job& j, bool shared) {
    const runtime_checkpoints& how = j.runtime.checkpoints;
    const byte_count larger = c.weights > c.states ? c.weights : c.states;
    if (shared || how.copies_unshared) return how.gathered_copy == checkpoint_copy::all ? c.weights + c.states : larger;
    const byte_count file = how.largest_file < c.weights ? how.largest_file : c.weights;
    const byte_count tensor = largest_saved(j, larger);
    return file > tensor ? file : tensor;
}

/// Main memory that processes of one node take for their parts, of which that node has `ranks` of `of`.
constexpr byte_count host_of_shards(const checkpoint_bytes& c, const job& j, const layout& l, std::int64_t ranks,
                                    std::int64_t of) {
    const runtime_checkpoints& how = j.runtime.checkpoints;
    if (c.mode != checkpoint_mode::sync || how.sharded_copy == checkpoint_copy::all) return c.node;
    if (how.sharded_copy == checkpoint_copy::part)
        return part_of(c.weights > c.states ? c.weights : c.states, ranks, of);
    if (j.runtime.sharding.code != sharding_code::deepspeed) return part_of(largest_saved(j, c.total()), ranks, of);
    if (c.states == byte_count{}) return largest_saved(j, c.weights);
    // The largest tensor of a rank is its flat partition of fp32 weights, or of one of the moments, as large (zero/
    // stage_1_and_2.py, single_partition_of_fp32_groups), no more than all of its states; ZeRO 3 has one for each
    // sub-group.
    byte_count flat = div_up(bytes(fp32.element_bytes) * count_parameters(j.model).in(parameters), of);
    const byte_count states = div_up(c.states, of);
    if (flat > states) flat = states;
    const byte_count group = bytes(fp32.element_bytes) * j.runtime.sharding.deepspeed.sub_group_size;
    if (l.zero >= 3 && group > byte_count{} && flat > group) flat = group;
    return flat * ranks;
}

}  // namespace detail

constexpr result<checkpoint_bytes> checkpoint_of(const checkpoint_request& r, const job& asked, const layout& l,
                                                 const cluster& c) {
    if (const status s = validate(r, asked, l); !s) return s.error();
    return as_trained(asked, l, [&](const job& j) {
        const runtime_checkpoints& how = j.runtime.checkpoints;
        const detail::tensors_saved all = detail::tensors_to_save(j, l);
        const bool shared = shares_weights(j, l), in_deepspeed = j.runtime.sharding.code == sharding_code::deepspeed;
        checkpoint_bytes made{.files = files_of(r, j, l), .mode = r.mode, .weights = all.weights};
        if (!r.weights_only) made.states = all.states;
        const std::int64_t ranks = l.gpus_per_replica(), node = c.node_size() < ranks ? c.node_size() : ranks;
        // Under ZeRO 3 DeepSpeed's master weights are the only ones that are written, unless 16-bit weights are asked
        // for (stage3_gather_16bit_weights_on_model_save), which one process writes beside the partitions.
        const bool partitions = in_deepspeed && shared;
        if (partitions && l.zero >= 3 && !r.weights_only && made.files == checkpoint_files::sharded) made.weights = {};
        if (made.files == checkpoint_files::gathered && !partitions) {
            const bool fsdp = shared && !r.weights_only;
            if (how.weights_twice && fsdp && !j.adapter.trains()) made.again = made.weights;
            if (shared && (how.weights_twice ? fsdp : how.tied_head_again)) made.again += all.head;
            made.node = made.process = made.total();
            made.host = detail::host_of_gathered(made, j, shared);
            return made;
        }
        if (made.files == checkpoint_files::sharded) made.again = all.head;
        const std::int64_t stages = l.pipeline, in_stage = ranks / stages;
        const std::int64_t stages_here = node > in_stage ? detail::ceil_quotient(node, in_stage) : 1;
        const std::int64_t first_ranks = stages * l.tensor;  // that write weights, where the first data ranks do
        made.writers = ranks;
        if (made.files == checkpoint_files::gathered) {  // 16-bit weights of DeepSpeed, on the first rank
            made.node = made.weights + detail::part_of(made.states, node, ranks);
            made.process = made.weights + div_up(made.states, ranks);
            if (r.weights_only) made.writers = 1;
        } else if (how.optimizer_in_ranks) {
            const bool states_shared = l.zero >= 1;
            made.node = detail::part_of(made.weights, stages_here, stages) +
                        (states_shared ? detail::part_of(made.states, node, ranks)
                                       : detail::part_of(made.states, stages_here, stages));
            made.process = div_up(made.weights, first_ranks) + div_up(made.states, states_shared ? ranks : first_ranks);
            if (!states_shared) made.writers = first_ranks;
        } else {
            made.node = detail::part_of(made.total(), node, ranks);
            made.process = div_up(made.total(), ranks);
        }
        made.host = detail::host_of_shards(made, j, l, node, ranks);
        if (made.files == checkpoint_files::gathered && l.zero >= 3 && made.weights > made.host)
            made.host = made.weights;
        return made;
    });
}

}  // namespace llmres::inline v0
