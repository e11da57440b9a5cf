// SPDX-License-Identifier: MIT
// The jobs of verl and OpenRLHF, which learn from rollouts.
#include "job_options.hpp"
#include "trainers.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace program {
namespace {

// clang-format off
using enum setting_use;
constexpr auto verl_settings = std::to_array<trainer_setting>({
#include "trainers/verl.inc"
});
constexpr auto openrlhf_settings = std::to_array<trainer_setting>({
#include "trainers/openrlhf.inc"
});
// clang-format on
constexpr trainer verl_trainer{"verl", verl_settings};
constexpr trainer openrlhf_trainer{"OpenRLHF", openrlhf_settings};

/// The GPUs that a driver asks Ray for, where nobody says beside the line how many there are.
launched_processes on_gpus_of(const told_settings& told, launched_processes by) {
    if (by.known() > 0) return by;
    const std::int64_t each = job_options::in_range(told.number("gpus", 8), "gpus");
    by.processes = each * job_options::in_range(told.number("nodes", 1), "nnodes");
    return by;
}

/// The largest micro-batch of at most so many answers that divides a data rank's part of an optimizer step.
std::int64_t micro_batch_of(job_options& job, std::int64_t most, std::int64_t step, std::int64_t data) {
    if (step % data != 0) return most;  // it is refused where the job is read
    const std::int64_t of_rank = step / data;
    std::int64_t micro = most < of_rank ? most : of_rank;
    while (micro > 1 && of_rank % micro != 0) --micro;
    if (micro < most && micro < of_rank)
        job.note(fmt::format("a micro-batch of {} is planned: {} are no whole number of {}", micro, of_rank, most));
    return micro;
}

/// A number of answers that a step or a rollout has.
std::int64_t answers(std::int64_t prompts, std::int64_t generations) {
    return job_options::in_range(prompts, "prompts") * job_options::in_range(generations, "n");
}

/// Moves what verl's FSDP engine moves to main memory while others compute (workers/engine/fsdp/transformer_impl.py).
void move_by_verl(job_options& job) {
    const told_settings& told = job.told();
    if (told.is("param_offload"))
        job.set("rollout_trainer", "all");
    else if (told.is("optimizer_offload"))
        job.set("rollout_trainer", "optimizer");
    const bool is_adapter = told.number("rank", 0) > 0;
    if (told.is("kl_in_reward") || told.is("kl_in_loss"))
        job.set("reference", is_adapter ? "adapters_off" : told.is("ref_offload") ? "offloaded" : "loaded");
}

/// Places the reference and the reward model of OpenRLHF, which have GPUs of their own unless all models share them.
void place_by_openrlhf(job_options& job) {
    const told_settings& told = job.told();
    const std::string kl = told.text("kl");
    const bool colocated = told.is("colocate");
    if (!kl.empty() && kl.find_first_not_of("0.") == std::string::npos) {
        job.set("reference", "none");
    } else if (!colocated && !told.is("reference_shares")) {
        job.set("reference", "none");
        job.note("the reference has GPUs of its own, which are not planned");
    } else if (told.is("ref_offload")) {
        job.set("reference", "offloaded");
    }
    if (!told.text("remote").empty() || told.text("reward").empty()) return;
    if (colocated)
        job.set("rollout_reward", told.text("reward"));
    else
        job.note("the reward model has GPUs of its own, which are not planned");
}

}  // namespace

trained_job job_of_verl(const given_settings& given, const launched_processes& by) {
    given_settings plain;  // Hydra's + and ++ add a key that its configuration has not
    for (const auto& [path, setting] : given)
        plain[path.substr(std::min(path.find_first_not_of('+'), path.size()))] = setting;
    told_settings read = told_by(verl_trainer, plain);
    if (read.number("rank", 0) > 0) read.kept["adapter"] = "lora";
    const launched_processes on = on_gpus_of(read, by);
    job_options job{std::move(read), on};
    const told_settings& told = job.told();
    job.name_model("actor_rollout_ref.model.path");
    const std::string learned = told.text("task");
    job.set("task", learned.empty() ? "ppo" : learned);  // trainer/config/algorithm.py: adv_estimator is gae
    job.set("runtime", "verl");
    const std::int64_t data = job.lay_out(on.known());
    const std::int64_t generations = told.number("generations", 1);
    const std::int64_t prompt = told.number("prompt", 512), output = told.number("output", 512);
    const std::int64_t step = answers(told.number("mini_batch", 256), generations);
    std::int64_t most = told.number("micro_batch", told.number("micro_batch_of_all", data) / data);
    if (told.is("dynamic")) {  // sequences are packed up to so many tokens (utils/seqlen_balancing.py)
        const std::int64_t context = std::max<std::int64_t>(told.number("context", 1), 1);
        most = told.number("max_tokens", 16384) * context / job_options::in_range(prompt + output, "tokens");
    }
    job.set("rollout_prompt", prompt);
    job.set("rollout_output", output);
    job.set("rollout_generations", generations);
    job.set("rollout_answers", answers(told.number("prompts", 1024), generations));
    job.set("global_batch", step);
    job.set("micro_batch", micro_batch_of(job, std::max<std::int64_t>(most, 1), step, data));
    // SGLang takes max_num_seqs alone (workers/rollout/sglang_rollout/async_sglang_server.py).
    if (const std::int64_t batched = told.number("batched", 0); batched > 0 && told.text("engine") != "sglang")
        job.set("rollout_max_num_batched_tokens", batched);
    job.adapter();
    move_by_verl(job);
    if (told.is("scored")) job.set("rollout_reward", told.text("reward"));
    return job.finished();
}

trained_job job_of_openrlhf(const given_settings& given, const launched_processes& by) {
    told_settings read = told_by(openrlhf_trainer, given);
    if (read.number("rank", 0) > 0) read.kept["adapter"] = "lora";
    const launched_processes on = on_gpus_of(read, by);
    job_options job{std::move(read), on};
    const told_settings& told = job.told();
    job.name_model("actor.model_name_or_path");
    const std::string learned = told.text("task");
    const std::string task = learned.empty() ? "ppo" : learned;
    if (task == "ppo" && !told.is("colocate"))
        throw refusal{llmres::refused(llmres::error_code::unsupported, "train.colocate_all", "absent",
                                      "given: a critic on GPUs of its own is not planned beside the policy's")};
    job.set("task", task);
    job.set("runtime", "openrlhf");
    const std::int64_t data = job.lay_out(on.known());
    const std::int64_t generations = told.number("generations", 1), output = told.number("output", 1024);
    const std::int64_t whole = told.number("max_len", 2048);
    job.set("rollout_prompt", told.number("prompt", whole > output ? whole - output : 1024));
    job.set("rollout_output", output);
    job.set("rollout_generations", generations);
    job.set("rollout_answers", answers(told.number("prompts", 1024), generations));
    const std::int64_t step = job_options::in_range(told.number("batch", 128), "train_batch_size");
    job.set("global_batch", step);
    job.set("micro_batch", micro_batch_of(job, told.number("micro_batch", 1), step, data));
    job.adapter();
    const std::int64_t tensor = told.number("engine_tensor", 1);
    if (tensor > 1) job.set("rollout_tensor", tensor);
    if (!told.is("colocate") || told.is("async"))  // engines have GPUs of their own
        job.set("rollout_gpus", job_options::in_range(told.number("engines", 1), "vllm_num_engines") * tensor);
    else if (told.is("sleep"))
        job.set("rollout_sleep", "level_1");  // trainer/ray/vllm_engine.py: sleep(level=1)
    if (told.is("async")) job.set("rollout_asynchronous", "true");
    if (told.is("colocate") && told.is("states_sleep")) job.set("rollout_trainer", "optimizer");
    place_by_openrlhf(job);
    return job.finished();
}

}  // namespace program
