// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/storage.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/checkpoint.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>

/// How long does a checkpoint take to be written, how long does training wait for it, and how long does an engine load
/// its weights? Each is bytes over the slowest bandwidth on their way, and so a lower bound: nothing is known of what a
/// file system or a pickle takes beside it.
namespace llmres::inline v0 {

/// The time of a checkpoint.
struct checkpoint_time {
    duration written{};  ///< from its begin until all of it is in the storage, at least
    /// For which training waits, at least: all of that, or until the busiest process has copied its part to main
    /// memory. Page-locked, that is copied beside the next step, and training waits no longer than so.
    duration stall{};
};

/// The loading of weights before an engine answers. Profiling, compiling and capturing graphs come on top.
struct load_time {
    byte_count files{};     ///< of the weights, as they are stored
    byte_count node{};      ///< that a node reads from the storage at least; further ranks read the page cache
    byte_count gpu{};       ///< that the fullest GPU receives
    duration storage{};     ///< until a node has read its bytes, at least
    duration page_cache{};  ///< until the fullest GPU has received its bytes, at least, where main memory has the files
};

/// The checkpoints and the storage of a document.
struct storage_request {
    maybe<checkpoint_request> checkpoint{};  ///< of training
    maybe<llmres::storage> storage{};        ///< of the cluster
};

/// The answer, as far as it is asked.
struct storage_answer {
    maybe<checkpoint_bytes> checkpoint{};  ///< of training, where a checkpoint or a storage is given
    maybe<checkpoint_time> saving{};       ///< of it, where a storage is given
    maybe<load_time> loading{};            ///< of serving, where a storage is given
};

/// How long a checkpoint takes. Precondition: validate() holds for the storage.
constexpr checkpoint_time time_of(const checkpoint_bytes& saved, const storage& s, const cluster& c);

/// How long a serving engine loads its weights, whose memory is `m`. Each rank opens all files; what it maps and does
/// not use is not read (vLLM, model_loader/weight_utils.py, safetensors_weights_iterator; llama.cpp, mmap), and what
/// another rank of the node has read is in the page cache. A draft model's weights are not counted.
constexpr load_time load_time_of(const job& j, const layout& l, const cluster& c, const storage& s,
                                 const memory_breakdown& m);

/// The bytes and times of a plan's checkpoint, or of the loading of its weights. Errors: those of validate() and
/// checkpoint_of().
constexpr result<storage_answer> storage_answer_of(const storage_request& r, const job& j, const layout& l,
                                                   const cluster& c, const memory_breakdown& m);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Bytes over a bandwidth; no time over none.
constexpr duration over(byte_count size, byte_rate rate) { return rate > byte_rate{} ? size / rate : duration{}; }

constexpr duration longer(duration a, duration b) { return a > b ? a : b; }

/// Bytes of the files that a job's weights are in: those of the published checkpoint unless it names a format.
constexpr byte_count stored_weights_of(const job& j) {
    if (j.gguf) return gguf_tensor_bytes(j.model, *j.gguf);
    if (!j.weights) return weight_bytes(j.model, formats_of(j.model));
    byte_count total;
    const weight_format_view formats = formats_of(j, activations_of(j));
    for_each_weight(j.model, [&](const weight& w, std::int64_t layers) { total += size_of(w, formats) * layers; });
    return total;
}

}  // namespace detail

constexpr checkpoint_time time_of(const checkpoint_bytes& saved, const storage& s, const cluster& c) {
    checkpoint_time t{.written =
                          detail::longer(saved.node / s.bandwidth, detail::over(saved.total(), s.total_bandwidth))};
    t.stall = saved.mode == checkpoint_mode::sync ? t.written : detail::over(saved.process, c.host.link.bandwidth());
    return t;
}

constexpr load_time load_time_of(const job& j, const layout& l, const cluster& c, const storage& s,
                                 const memory_breakdown& m) {
    load_time t{.files = detail::stored_weights_of(j), .gpu = m[memory_term::weights].low};
    const std::int64_t replica = l.gpus_per_replica(), in_node = c.node_size();
    t.node = t.files;
    if (const byte_count held = t.gpu * in_node; replica > in_node && held < t.node) t.node = held;
    const std::int64_t nodes = detail::ceil_quotient(l.gpus(), in_node);
    t.page_cache = detail::over(t.gpu, c.host.link.bandwidth());
    t.storage = detail::longer(t.page_cache,
                               detail::longer(t.node / s.bandwidth, detail::over(t.node * nodes, s.total_bandwidth)));
    return t;
}

constexpr result<storage_answer> storage_answer_of(const storage_request& r, const job& j, const layout& l,
                                                   const cluster& c, const memory_breakdown& m) {
    storage_answer made;
    if (r.storage)
        if (const status s = validate(*r.storage); !s) return s.error();
    if (!trains(j)) {
        if (r.checkpoint)
            return refused(error_code::inconsistent, "checkpoint", "given", "task pretraining or finetuning");
        if (r.storage) made.loading = load_time_of(j, l, c, *r.storage, m);
        return made;
    }
    if (!r.checkpoint && !r.storage) return made;
    const result<checkpoint_bytes> saved = checkpoint_of(r.checkpoint.value_or({}), j, l, c);
    if (!saved) return saved.error();
    made.checkpoint = *saved;
    if (r.storage) made.saving = time_of(*saved, *r.storage, c);
    return made;
}

}  // namespace llmres::inline v0
