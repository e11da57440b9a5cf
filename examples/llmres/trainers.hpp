// SPDX-License-Identifier: MIT
#pragma once

#include "trainer_settings.hpp"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// Trainers that read their settings from a file, and the job that each trains.
namespace program {

/// A job that is trained, in options that own_spelling() reads.
struct trained_job {
    std::vector<std::string> options{};
    std::vector<std::string> notes{};  ///< sentences on what is not planned
    std::int64_t sequences = 0;        ///< in an optimizer step, where the options say it
    nlohmann::json model{};            ///< the shape of a model that has no name; null: the options name it
};

/// The processes that a launcher starts, and what its own settings say.
struct launched_processes {
    std::int64_t gpus = 0;       ///< said beside the command line, which go over the launcher's; 0: none are
    std::int64_t processes = 0;  ///< of all nodes, as the launcher says; 0: it does not
    told_settings told{};        ///< of accelerate's file: sharding and degrees
    std::map<std::string, std::string, std::less<>> environment{};  ///< variables that are set for it

    /// The number of GPUs as far as it is known; 0: it is not.
    std::int64_t known() const { return gpus > 0 ? gpus : processes; }
};

/// The job of axolotl (`axolotl train FILE`), of LLaMA-Factory (`llamafactory-cli train FILE`), of torchtitan
/// (`-m torchtitan.train --job.config_file FILE`) and of torchtune's recipe of that name (`tune run RECIPE --config
/// FILE`; empty: the one that goes with the model and the number of GPUs).
trained_job job_of_axolotl(const given_settings& given, const launched_processes& by);
trained_job job_of_llama_factory(const given_settings& given, const launched_processes& by);
/// The job of ms-swift: `swift sft`, `swift pt` or `swift rlhf` with its options.
trained_job job_of_ms_swift(const std::string& method, const given_settings& given, const launched_processes& by);
trained_job job_of_torchtitan(const given_settings& given, const launched_processes& by);
trained_job job_of_torchtune(const std::string& recipe, const given_settings& given, const launched_processes& by);

/// The jobs of verl (`-m verl.trainer.main_ppo KEY=VALUE...`) and of OpenRLHF (`-m openrlhf.cli.train_ppo_ray`).
trained_job job_of_verl(const given_settings& given, const launched_processes& by);
trained_job job_of_openrlhf(const given_settings& given, const launched_processes& by);

/// The job of Megatron-LM's pretrain_gpt.py or pretrain_hybrid.py, whose options are all that is given.
trained_job job_of_megatron(const given_settings& given, const launched_processes& by);

/// The job of the trainer whose settings a file has, by their names: `llmres plan config.yaml`. Refused where they are
/// of none.
trained_job job_in_file(const std::string& file, const launched_processes& by);

/// What accelerate's file says: `accelerate launch --config_file FILE`. `processes` of it goes into `by`.
void take_accelerate_file(const std::string& file, launched_processes& by);

/// The same of `trl sft --accelerate_config NAME`: a file, or one of the configurations that come with TRL.
void take_trl_accelerate_config(const std::string& name, launched_processes& by);

/// The GPUs, degrees, sharding and sequences of a step of a script whose batches are known.
trained_job job_of_launched(const launched_processes& by, std::int64_t micro_batch, std::int64_t accumulation);

}  // namespace program
