// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/answers/capacity.hpp>
#include <llmres/answers/phases/workload.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/io/json/cluster/device_file.hpp>
#include <llmres/io/json/runtime/profile_reader.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/time/storage_times.hpp>
#include <llmres/time/tariff.hpp>
#include <llmres/time/training_run.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <memory>
#include <string>
#include <string_view>

/// The values that a job document stands for, and the sources in which its names are looked up.
namespace llmres::inline v0 {

/// The GPUs that compute prompts, where others generate the output. Without a layout the planner chooses one.
struct pool_request {
    maybe<llmres::layout> layout{};  ///< its layout, if the document gives one
    llmres::cluster cluster{};       ///< its GPUs
};

/// How answers are generated that the job's policy learns from, with a critic where the method has one.
struct rollout_request {
    llmres::rollout rollout{};                       ///< its layout has one data rank; with_engines() gives it more
    maybe<llmres::job> critic{};                     ///< a model of the policy's size with one score
    maybe<reward_model> reward{};                    ///< what scores the answers, where a model does
    runtime_profile profile{.runtime = no_runtime};  ///< the engine's profile
};

/// A job document, read. Without a layout the planner chooses one.
struct plan_request {
    llmres::job job{};                     ///< what is asked
    maybe<llmres::layout> layout{};        ///< the layout, if the document gives one
    llmres::cluster cluster{};             ///< on which GPUs
    maybe<length_distribution> lengths{};  ///< lengths of sequences: the answer says how many such run at once
    /// The GPUs that compute prompts; then layout and cluster above are of those that generate the output
    /// (answers/phases/disaggregated.hpp).
    maybe<pool_request> prefill{};
    /// Rollouts of a job that learns from them; null of every other (answers/phases/reinforcement.hpp).
    std::shared_ptr<const rollout_request> rollout{};
    maybe<training_run> run{};  ///< a whole run: the answer says its days and GPU hours
    /// The checkpoints that it writes, and the storage that these and weights lie in: the answer says bytes and
    /// seconds.
    storage_request stored{};
    maybe<tariff> cost{};      ///< what GPUs cost and take: the answer says it of tokens and of the run
    std::string warning{};     ///< what a person should know of how the model was read; empty: nothing
    std::string model_name{};  ///< the model's name as the document has it; empty: it gives no name
    std::string device{};      ///< the device file that the cluster's GPU was read from; empty if it is from a table
    /// The runtime's profile, without the knobs that the job turns, and where its constants come from.
    runtime_profile profile{.runtime = no_runtime};
    /// The document gives a layout without its data ranks: they are with_data_ranks()'s.
    bool data_ranks_chosen = false;
    /// Layers on GPUs, experts on the host and context that the document does not give are fit_to_memory()'s.
    bool fitted = false;
};

/// The device_finder that opens no file: it refuses every path.
inline result<device_file> find_no_device(std::string_view path) {
    return refused(error_code::unsupported, "device file", path, "a gpu of `llmres gpus`: no file is opened here");
}

/// Turns what a job document names into values. By itself it opens no file and knows presets alone; sources_in() of
/// io/files.hpp opens what is named by a path, and a caller's own functions may look names up wherever they like.
struct job_sources {
    model_finder model = find_preset;                ///< reads "model", "teacher", {"from": ...} and "draft"
    device_finder device = find_no_device;           ///< reads "cluster": {"device": ...}
    runtime_finder runtime = find_compiled_profile;  ///< reads "runtime"
};

}  // namespace llmres::inline v0
