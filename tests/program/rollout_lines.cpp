// SPDX-License-Identifier: MIT
// Command lines that start verl and OpenRLHF, from their own examples (figures and options alone), as they are pasted.
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <string>

using namespace program_checks;
using nlohmann::json;

namespace {

outcome asked(const std::string& line, const arguments& more = {}) {
    return run(arguments{"plan", "--gpu", "h100-sxm5-80gb", "--host_memory", "1TiB", "--json"} + more +
               arguments{"--", line});
}
json planned(const std::string& line, const arguments& more = {}) {
    const outcome o = asked(line, more);
    CAPTURE(o.err);
    REQUIRE((o.exit == fits || o.exit == does_not_fit));
    return o.json();
}
/// The same that the program's own options say, with memory and times.
void is_as(const json& line, const arguments& options) {
    const json plain =
        run(arguments{"plan", "--gpu", "h100-sxm5-80gb", "--host_memory", "1TiB", "--json"} + options).json();
    CHECK(line["memory"] == plain["memory"]);
    CHECK(line["layout"] == plain["layout"]);
    CHECK(line["reinforcement"] == plain["reinforcement"]);
}

/// verl, examples/grpo_trainer/run_qwen2-7b.sh.
const std::string verl =
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_files=$HOME/data/gsm8k/train.parquet "
    "data.train_batch_size=1024 data.max_prompt_length=512 data.max_response_length=1024 data.truncation='error' "
    "actor_rollout_ref.model.path=Qwen/Qwen2-7B-Instruct actor_rollout_ref.actor.optim.lr=1e-6 "
    "actor_rollout_ref.model.use_remove_padding=True actor_rollout_ref.actor.ppo_mini_batch_size=256 "
    "actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.actor.kl_loss_coef=0.001 "
    "actor_rollout_ref.actor.entropy_coeff=0 actor_rollout_ref.model.enable_gradient_checkpointing=True "
    "actor_rollout_ref.rollout.tensor_model_parallel_size=2 actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.rollout.gpu_memory_utilization=0.6 actor_rollout_ref.rollout.n=5 "
    "actor_rollout_ref.ref.fsdp_config.param_offload=True algorithm.use_kl_in_reward=False "
    "trainer.logger='[\"console\",\"wandb\"]' trainer.n_gpus_per_node=8 trainer.nnodes=1 trainer.total_epochs=15 ";
const arguments same_in_options{"qwen2-7b-instruct",
                                "--task",
                                "grpo",
                                "--runtime",
                                "verl",
                                "--gpus",
                                "8",
                                "--data",
                                "8",
                                "--rollout_generations",
                                "5",
                                "--rollout_answers",
                                "5120",
                                "--global_batch",
                                "1280",
                                "--rollout_prompt",
                                "512",
                                "--rollout_output",
                                "1024",
                                "--rollout_tensor",
                                "2",
                                "--rollout_gpu_memory_utilization",
                                "0.6"};

/// OpenRLHF, examples/scripts/train_ppo_llama_ray_hybrid_engine.sh, of a base model that is known by name.
const std::string openrlhf =
    "ray job submit --address=\"http://127.0.0.1:8265\" --runtime-env-json='{\"working_dir\": \"/openrlhf\"}' -- "
    "python3 "
    "-m openrlhf.cli.train_ppo_ray --ref_num_nodes 1 --ref_num_gpus_per_node 8 --reward_num_nodes 1 "
    "--reward_num_gpus_per_node 8 --critic_num_nodes 1 --critic_num_gpus_per_node 8 --actor_num_nodes 1 "
    "--actor_num_gpus_per_node 8 --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --vllm_gpu_memory_utilization 0.5 "
    "--pretrain meta-llama/Meta-Llama-3-8B --reward_pretrain meta-llama/Meta-Llama-3-8B --save_path /x "
    "--micro_train_batch_size 4 --train_batch_size 128 --micro_rollout_batch_size 16 --rollout_batch_size 1024 "
    "--n_samples_per_prompt 1 --max_epochs 1 --prompt_max_len 1024 --max_samples 100000 --generate_max_len 1024 "
    "--zero_stage 3 --bf16 --actor_learning_rate 5e-7 --critic_learning_rate 9e-6 --init_kl_coef 0.01 "
    "--apply_chat_template "
    "--normalize_reward --gradient_checkpointing --packing_samples --vllm_sync_backend nccl ";
const arguments ppo_in_options{"llama-3-8b", "--task",
                               "ppo",        "--runtime",
                               "openrlhf",   "--zero",
                               "3",          "--gpus",
                               "8",          "--data",
                               "8",          "--rollout_generations",
                               "1",          "--rollout_answers",
                               "1024",       "--global_batch",
                               "128",        "--micro_batch",
                               "4",          "--rollout_prompt",
                               "1024",       "--rollout_output",
                               "1024",       "--rollout_tensor",
                               "2",          "--rollout_gpu_memory_utilization",
                               "0.5",        "--recompute",
                               "full",       "--rollout_reward",
                               "llama-3-8b"};

}  // namespace

TEST_CASE("a pasted line of verl is the job that it starts") {
    const std::string per_gpu = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16 ";
    is_as(planned(verl + per_gpu + "$@"),
          same_in_options + arguments{"--micro_batch", "16", "--reference", "offloaded"});
    // Of all GPUs, as it was said in 2024; and by tokens, of which a micro-batch has so many at most.
    is_as(planned(verl + "actor_rollout_ref.actor.ppo_micro_batch_size=128"),
          same_in_options + arguments{"--micro_batch", "16", "--reference", "offloaded"});
    const outcome packed = asked(verl +
                                 "actor_rollout_ref.actor.use_dynamic_bsz=True "
                                 "+actor_rollout_ref.actor.ppo_max_token_len_per_gpu=18000");
    is_as(packed.json(), same_in_options + arguments{"--micro_batch", "10", "--reference", "offloaded"});
    CHECK(packed.err.find("a micro-batch of 10 is planned: 160 are no whole number of 11") != std::string::npos);
    is_as(planned(verl + per_gpu +
                  "actor_rollout_ref.actor.fsdp_config.param_offload=True "
                  "actor_rollout_ref.actor.fsdp_config.optimizer_offload=True "
                  "actor_rollout_ref.model.lora_rank=64 actor_rollout_ref.model.target_modules=all-linear"),
          same_in_options + arguments{"--micro_batch", "16", "--reference", "adapters_off", "--rollout_trainer", "all",
                                      "--adapter_kind", "lora", "--adapter_rank", "64", "--adapter_targets",
                                      "all-linear"});
    // Of SGLang, verl sets the sequences alone.
    const std::string steps =
        "actor_rollout_ref.rollout.max_num_batched_tokens=16384 actor_rollout_ref.rollout.max_num_seqs=128 ";
    const json wide = planned(verl + per_gpu + steps)["document"]["rollout"];
    CHECK(wide["max_num_batched_tokens"] == 16384);
    CHECK(wide["max_num_seqs"] == 128);
    const json sglang =
        planned(verl + per_gpu + steps + "actor_rollout_ref.rollout.name=sglang")["document"]["rollout"];
    CHECK(sglang["engine"] == "sglang");
    CHECK(sglang["max_num_seqs"] == 128);
    CHECK_FALSE(sglang.contains("max_num_batched_tokens"));
    // Flags beside the line go over what it says of GPUs.
    CHECK(planned(verl + per_gpu, {"--gpus", "16"})["layout"]["data"] == 16);
}

TEST_CASE("verl without words for it learns by ppo, one answer to a prompt") {
    const json plain = planned(
        "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-0.5B "
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 trainer.n_gpus_per_node=2");
    CHECK(plain["job"]["preference"] == "ppo");
    CHECK(plain["job"]["global_batch"] == 256);
    CHECK(plain["reinforcement"]["answers"] == 1024);
    CHECK(plain["reinforcement"]["phases"].size() == 3);
}

TEST_CASE("a pasted line of OpenRLHF is the job that it starts, on shared GPUs or on the engine's own") {
    is_as(planned(openrlhf + "--colocate_all_models --vllm_enable_sleep --deepspeed_enable_sleep"),
          ppo_in_options + arguments{"--rollout_sleep", "level_1", "--rollout_trainer", "optimizer"});
    // Without words for it the reference and the reward model have GPUs of their own, and the engines, too.
    const outcome apart = asked(openrlhf + "--advantage_estimator rloo --n_samples_per_prompt 2");
    CHECK(apart.json()["reinforcement"]["phases"].size() == 2);
    CHECK(apart.json()["memory"]["terms"].value("reference", 0) == 0);
    CHECK(apart.err.find("the reference has GPUs of its own, which are not planned") != std::string::npos);
    CHECK(apart.err.find("the reward model has GPUs of its own, which are not planned") != std::string::npos);
    const json beside = planned(openrlhf + "--advantage_estimator rloo --n_samples_per_prompt 2 --colocate_actor_ref");
    CHECK(beside["memory"]["terms"]["reference"] > 0);
    CHECK(beside["reinforcement"]["phases"][0]["layout"]["data"] == 4);
    // REINFORCE needs no group, and has neither a critic nor, by OpenRLHF, fewer models than grpo.
    const json alone = planned(openrlhf + "--advantage_estimator reinforce --colocate_all_models");
    CHECK(alone["job"]["preference"] == "reinforce");
    CHECK(alone["memory"]["terms"]["reference"] > 0);
    const json paired =
        planned(openrlhf + "--advantage_estimator reinforce --colocate_all_models --n_samples_per_prompt 2");
    const json group =
        planned(openrlhf + "--advantage_estimator group_norm --colocate_all_models --n_samples_per_prompt 2");
    CHECK(paired["reinforcement"]["phases"] == group["reinforcement"]["phases"]);
    is_as(planned(openrlhf + "--colocate_all_models --async_train --adam_offload"),
          ppo_in_options +
              arguments{"--rollout_gpus", "8", "--rollout_asynchronous", "true", "--offload_optimizer", "host"});
}

TEST_CASE("OpenRLHF's names of 0.11 are read") {
    const std::string line =
        "python3 -m openrlhf.cli.train_ppo_ray --actor.num_nodes 1 --actor.num_gpus_per_node 4 --ref.num_nodes 1 "
        "--ref.num_gpus_per_node 4 --vllm.num_engines 2 --vllm.tensor_parallel_size 2 --train.colocate_all "
        "--vllm.gpu_memory_utilization 0.7 --actor.model_name_or_path Qwen/Qwen3-4B --reward.remote_url "
        "examples/python/math_reward_func.py --train.micro_batch_size 1 --train.batch_size 1024 --rollout.batch_size "
        "128 "
        "--rollout.n_samples_per_prompt 8 --data.max_len 4096 --rollout.max_new_tokens 3072 --ds.zero_stage 3 "
        "--ds.param_dtype bf16 --algo.advantage.estimator reinforce_baseline --algo.kl.init_coef 0 "
        "--actor.gradient_checkpointing_enable --ds.packing_samples --vllm.enable_sleep --vllm.sync_backend nccl";
    is_as(planned(line), {"qwen3-4b", "--task",
                          "grpo",     "--runtime",
                          "openrlhf", "--zero",
                          "3",        "--gpus",
                          "4",        "--data",
                          "4",        "--rollout_generations",
                          "8",        "--rollout_answers",
                          "1024",     "--global_batch",
                          "1024",     "--micro_batch",
                          "1",        "--rollout_prompt",
                          "1024",     "--rollout_output",
                          "3072",     "--rollout_tensor",
                          "2",        "--rollout_gpu_memory_utilization",
                          "0.7",      "--recompute",
                          "full",     "--rollout_sleep",
                          "level_1",  "--reference",
                          "none"});
}

TEST_CASE("what is not read of these lines is named, or refused by name") {
    const auto says = [](const outcome& o, const char* words) {
        CAPTURE(o.err);
        CHECK(o.exit == 2);
        CHECK(o.err.find(words) != std::string::npos);
    };
    says(asked(verl + "actor_rollout_ref.actor.strategy=megatron"), "megatron");
    says(asked(verl + "--config-name=ppo_megatron_trainer"), "ppo_megatron_trainer");
    says(asked(verl + "algorithm.adv_estimator=remax"), "remax");
    says(asked(verl + "no.such.key=3"), "no.such.key");
    says(asked(verl + "reward_model.enable=True reward_model.model.path=Qwen/Qwen2-7B"), "rollout.reward");
    says(asked("python3 -m verl.trainer.main_ppo trainer.nnodes=1"), "actor_rollout_ref.model.path is absent");
    says(asked(openrlhf + "--colocate_everything"), "colocate_everything");
    says(asked(openrlhf + "--n_samples_per_prompt 0"), "n_samples_per_prompt");
    says(asked(openrlhf), "train.colocate_all is absent; expected given: a critic on GPUs of its own");
    const outcome eager = asked(openrlhf + "--colocate_all_models --enforce_eager");
    CHECK(eager.err.find("--enforce_eager changes memory or speed, and is not modelled") != std::string::npos);
}
