// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

/// What other tools call the options of `llmres plan` and their values, row by row; spelling.cpp reads them.
namespace program {

/// An option of another tool, or several, with spaces between them, that mean the same. Names are compared with
/// underscores in place of dashes; a name with a leading dash is only known with one dash. `means` and `in_training`
/// (where training differs) hold flags of this program, with spaces between them: a flag alone takes the value that
/// follows, `flag=value` needs none. A star stands for MODEL. Without any flag the option has no bearing on a plan.
struct option_alias {
    std::string_view typed;
    std::string_view means;
    std::string_view in_training = "";
    std::string_view of_runtime = "";  ///< the runtime whose word it is; with others it is refused
};

// clang-format off
inline constexpr auto option_rows = std::to_array<option_alias>({
    // vLLM, SGLang, TensorRT-LLM, TGI, LMDeploy
    {"model -m model_path hf_repo model_name_or_path job", "*"},
    {"tp -tp tp_size tensor_parallel tensor_parallel_size tensor_model_parallel_size", "tensor"},
    {"pp -pp pp_size pipeline_parallel pipeline_parallel_size pipeline_model_parallel_size", "pipeline"},
    {"dp -dp dp_size data_parallel data_parallel_size", "data"},
    {"ep ep_size expert_parallel expert_parallel_size expert_model_parallel_size", "expert"},
    {"expert_tensor_parallel_size", "expert_tensor"},
    {"enable_expert_parallel enable_ep_moe", "expert=ranks expert_tensor=1"},
    {"cp context_parallel_size", "context_parallel"},
    {"vpp", "virtual_pipeline"},
    {"-c ctx ctx_size ctx_len context_len context_length max_model_len num_ctx n_ctx session_len", "context"},
    {"max_total_tokens", "context", "", "tgi"},
    {"max_length", "context", "sequence"},
    {"image image_size image_resolution", "image"},
    {"input_len isl prompt_len input_tokens max_input_tokens max_input_length", "prompt"},
    {"output_len osl output_tokens max_new_tokens max_tokens", "output"},
    {"disaggregate disaggregated pd_disaggregation", "prefill_gpus=0"},
    {"prefill_tp prefill_tensor_parallel_size", "prefill_tensor"},
    {"ttft max_ttft ttft_slo", "max_time_to_first_token"},
    {"tpot itl max_tpot max_itl tpot_slo", "max_time_per_token"},
    {"concurrency users concurrent_users concurrent_requests", "batch"},
    {"batch_size bs batch", "batch", "micro_batch"},
    {"max_num_batched_tokens", "max_batched_tokens"},
    {"max_running_requests", "max_num_seqs"},
    {"kv_cache_dtype kv_dtype kv_cache_type cache_type_k -ctk", "kv_cache"},
    {"cache_type_v -ctv", "kv_cache_values"},
    {"quantization quantize quant -q", "weights"},
    {"save_total_limit", "checkpoint_keep"},
    {"save_only_model", "checkpoint_weights_only=true"},
    {"fsdp_state_dict_type state_dict_type", "checkpoint_files"},
    {"load_format trust_remote_code", ""},
    {"speculative_model draft_model model_draft", "draft"},
    {"num_speculative_tokens", "draft_tokens"},
    {"gpu_memory_fraction", "gpu_memory_utilization"},
    {"vram gpu_mem", "gpu_memory"},
    {"engine backend framework", "runtime"},
    {"dtype torch_dtype precision mixed_precision", "compute"},
    {"bf16", "compute=bf16"},
    {"fp16 half", "compute=fp16"},
    {"fp8", "weights=fp8_e4m3", "fp8_recipe=tensorwise"},
    {"attn attn_implementation attn_impl", "attention"},
    // llama.cpp and Ollama
    {"ngl -ngl n_gpu_layers num_gpu_layers num_gpu", "gpu_layers"},
    {"-fit", "fit=true"},
    {"-fa flash_attn", "flash_attention=true"},
    {"-ub ubatch_size", "max_batched_tokens"},
    {"-np parallel num_parallel", "max_num_seqs"},
    {"cpu_moe -cmoe", "experts_on_host=true"},
    {"-ncmoe", "n_cpu_moe"},
    {"-b n_batch", "n_batch"},
    {"-sm split_mode", "split_mode"},
    {"-mg main_gpu -t threads mlock", ""},
    {"-mla", "mla_use"},
    {"-amb", "attn_max_batch"},
    {"-rtr", "run_time_repack"},
    // GPUs and hosts
    {"world_size num_gpus n_gpus gpu_count ngpus", "gpus"},
    {"device_name gpu_type accelerator", "gpu"},
    {"nproc_per_node num_gpus_per_node", "gpus_per_node"},
    {"ram host_ram cpu_memory", "host_memory"},
    // Training: transformers, TRL, axolotl, LLaMA-Factory, DeepSpeed, torchtitan, Megatron-LM
    {"method finetuning_type train_type tuner_type", "method"},
    {"stage", "task"},
    {"num_labels", "labels"},
    {"pure_bf16", "weights=bf16"},
    {"seq seq_len seq_length sequence_length sequence_len max_seq_length max_seq_len model_max_length cutoff_len "
     "tokenizer.max_seq_len training.seq_len", "context", "sequence"},
    {"block_size", "kv_block", "sequence"},
    {"mbs micro_batch_size local_batch_size per_device_train_batch_size per_device_batch_size", "micro_batch"},
    {"gbs global_batch_size train_batch_size training.global_batch_size", "global_batch"},
    {"gradient_accumulation_steps", "gradient_accumulation_steps"},
    {"optim", "optimizer"},
    {"gradient_checkpointing use_gradient_checkpointing activation_checkpointing enable_activation_checkpointing",
     "recompute=full"},
    {"enable_activation_offloading activation_offloading", "offload_activations=host"},
    {"activation_checkpoint.mode recompute_granularity", "recompute"},
    {"packing sample_packing dataset.packed", "varied_lengths=false"},
    {"training.local_batch_size", "batch", "micro_batch"},
    {"parallelism.tensor_parallel_degree", "tensor"},
    {"parallelism.data_parallel_shard_degree", "data zero=3"},
    {"parallelism.pipeline_parallel_degree", "pipeline"},
    {"parallelism.context_parallel_degree", "context_parallel"},
    {"parallelism.expert_parallel_degree", "expert"},
    {"train_tokens training_tokens total_tokens", "tokens"},
    {"cost_per_hour price_per_hour cost_per_gpu_hour", "gpu_hour"},
    {"moe_grouped_gemm", "experts=grouped"},
    {"recipe", "recipe"},
    {"use_liger_kernel", "loss=fused_linear fused_norms=true fused_gates=true"},
    {"torch_compile", "compiled=true"},
    {"use_rslora", "adapter_kind=rslora"},
    {"fsdp_cpu_offload fsdp_offload_params", "offload_parameters=host offload_optimizer=host"},
    {"bnb_4bit_use_double_quant", "weights=nf4_double"},
    {"quantization_bit", "quantization_bit"},
    {"modules_to_save additional_target", "modules_to_save"},
    {"num_train_epochs num_epochs max_steps warmup_ratio warmup_steps weight_decay lr_scheduler_type "
     "logging_steps save_steps output_dir seed lora_alpha learning_rate", ""},
    {"recompute_activations", "recompute=selective"},
    {"lora use_peft", "adapter_kind=lora"},
    {"use_dora", "adapter_kind=dora"},
    {"qlora", "adapter_kind=lora weights=nf4_double"},
    {"adapter peft_type", "adapter_kind"},
    {"rank", "adapter_rank"},
    {"lora_rank lora_r r", "adapter_rank adapter_kind=lora"},
    {"lora_dropout", "adapter_dropout adapter_kind=lora"},
    {"lora_target_modules lora_target", "adapter_targets adapter_kind=lora"},
    {"target_modules", "adapter_targets"},
    {"load_in_4bit", "weights=nf4"},
    {"load_in_8bit", "weights=bnb_int8"},
    {"precompute_ref_log_probs", "reference=precomputed"},
    {"generations num_generations n_samples_per_prompt group_size", "rollout_generations"},
    {"max_prompt_length prompt_max_len", "rollout_prompt"},
    {"max_completion_length max_response_length completion_length response_length", "rollout_output"},
    {"generation_batch_size rollout_batch_size", "rollout_answers"},
    {"use_vllm", "rollout_engine=vllm"},
    {"vllm_gpu_memory_utilization", "rollout_gpu_memory_utilization"},
    {"reward_model_name_or_path", "rollout_reward"},
    {"vllm_tensor_parallel_size", "rollout_tensor"},
    {"vllm_enable_sleep_mode vllm_enable_sleep", "rollout_sleep=level_2"},
    {"zero_stage", "zero"},
    {"fsdp", "fsdp"},
    {"fsdp2", "zero=3"},
    {"ddp", "zero=0"},
    {"use_distributed_optimizer", "zero=1"},
    {"deepspeed", "deepspeed"},
    {"offload_param", "offload_parameters"},
});

/// A word for a value of a flag, or several, with bars between them. `means` holds `flag=value` as above, or, after a
/// question mark, the flags that it could mean.
struct word_alias {
    std::string_view flag;
    std::string_view typed;
    std::string_view means;
    std::string_view option = "";  ///< the other tool's option behind which it is that word; else behind each
};
inline constexpr auto word_rows = std::to_array<word_alias>({
    {"task", "serve|inference", "task=serving"},
    {"task", "embedding|embed|embeddings", "task=serving head=embedding"},
    {"task", "reranking|rerank|score", "task=serving head=reranking"},
    {"task", "classification|classify", "task=serving head=classification"},
    {"head", "embed|pooling", "head=embedding"},
    {"head", "rerank|reranker|reward", "head=reranking"},
    {"head", "classify|classifier", "head=classification"},
    {"task", "sft|finetune|fine_tuning|fine_tune", "task=finetuning"},
    {"task", "full", "task=finetuning adapter_kind=none"},
    {"task", "lora", "task=finetuning adapter_kind=lora"},
    {"task", "qlora", "task=finetuning adapter_kind=lora weights=nf4_double"},
    {"task", "pretrain|pre_training|pt", "task=pretraining"},
    {"task", "train|training", "?task pretraining or task finetuning"},
    {"task", "reward|rm", "task=finetuning head=reranking preference=reward"},
    {"task", "dpo|ipo", "task=finetuning preference=dpo"},
    {"task", "kto", "task=finetuning preference=kto"},
    {"task", "orpo", "task=finetuning preference=orpo"},
    {"task", "simpo", "task=finetuning preference=simpo"},
    {"task", "cpo", "task=finetuning preference=cpo"},
    {"preference", "ipo", "preference=dpo"},
    {"task", "gkd", "task=finetuning preference=gkd"},
    {"task", "distillation|distil|distill|knowledge_distillation|kd", "task=finetuning preference=gkd"},
    {"reference", "precompute|precomputed_log_probs", "reference=precomputed"},
    {"task", "grpo|dapo|gspo|dr_grpo", "task=finetuning preference=grpo"},
    {"task", "rloo", "task=finetuning preference=rloo"},
    {"task", "reinforce|reinforce++|reinforce_plus_plus", "task=finetuning preference=reinforce"},
    {"task", "ppo", "task=finetuning preference=ppo"},
    {"task", "rlhf|rl", "?task grpo, task rloo or task ppo"},
    {"method", "full", "task=finetuning adapter_kind=none"},
    {"method", "lora", "task=finetuning adapter_kind=lora"},
    {"method", "qlora", "task=finetuning adapter_kind=lora weights=nf4_double"},
    {"adapter_kind", "qlora", "adapter_kind=lora weights=nf4_double"},
    {"quantization_bit", "4", "weights=nf4_double"},
    {"quantization_bit", "8", "weights=bnb_int8"},
    {"recipe", "full_finetune_single_device", "task=finetuning runtime=torchtune"},
    {"recipe", "full_finetune_distributed", "task=finetuning runtime=torchtune zero=3"},
    {"recipe", "lora_finetune_single_device", "task=finetuning adapter_kind=lora runtime=torchtune"},
    {"recipe", "lora_finetune_distributed", "task=finetuning adapter_kind=lora runtime=torchtune zero=3"},
    {"fsdp", "full_shard|full_shard auto_wrap|full_shard,auto_wrap|true", "zero=3"},
    {"fsdp", "shard_grad_op|shard_grad_op auto_wrap", "zero=2"},
    {"fsdp", "full_shard offload|full_shard auto_wrap offload",
     "zero=3 offload_parameters=host offload_optimizer=host"},
    {"deepspeed", "zero1", "zero=1 runtime=deepspeed"},
    {"deepspeed", "zero2", "zero=2 runtime=deepspeed"},
    {"deepspeed", "zero3", "zero=3 runtime=deepspeed"},
    // The Trainer's own (transformers, trainer_optimizer.py, _get_adafactor()), which --optim names.
    {"optimizer", "adafactor", "optimizer=adafactor_hf", "optim"},
    {"optimizer", "torch.optim.adafactor", "optimizer=adafactor"},
    {"optimizer", "adamw_torch|adamw_hf|torch.optim.adamw", "optimizer=adamw"},
    {"optimizer", "adamw_torch_fused|adamw_apex_fused", "optimizer=adamw_fused"},
    {"optimizer", "adamw_bnb_8bit|adamw8bit|bitsandbytes.optim.adamw8bit", "optimizer=adamw_8bit"},
    {"optimizer", "paged_adamw_32bit|bitsandbytes.optim.pagedadamw|pagedadamw", "optimizer=paged_adamw"},
    {"optimizer", "adamw_torch_8bit|torchao.optim.adamw8bit", "optimizer=adamw_8bit_torchao"},
    {"optimizer", "torch.optim.sgd", "optimizer=sgd"},
    {"optimizer", "bitsandbytes.optim.pagedadamw8bit|pagedadamw8bit", "optimizer=paged_adamw_8bit"},
    {"optimizer", "galore_adamw", "optimizer=galore"},
    {"optimizer", "apollo_adamw", "optimizer=apollo"},
    {"optimizer", "schedule_free_adamw", "optimizer=schedule_free"},
    {"optimizer", "lion_32bit", "optimizer=lion"},
    {"optimizer", "paged_lion_32bit", "optimizer=paged_lion"},
    {"attention", "flash_attention_2|flash_attention_3|flash_attn|fa2", "attention=flash"},
    // llama.cpp's zero: the model's own.
    {"context", "0", "", "-c"},
    {"context", "0", "", "ctx_size"},
    {"compute", "auto", ""},
    {"compute", "no", "compute=fp32"},
    {"compute", "float32|float", "compute=fp32 weights=fp32"},
    {"compute", "fp32", "compute=fp32 weights=fp32", "dtype"},
    {"compute", "fp32", "compute=fp32 weights=fp32", "torch_dtype"},
    {"kv_cache", "auto", ""},
    {"checkpoint_files", "full_state_dict", "checkpoint_files=gathered"},
    {"checkpoint_files", "sharded_state_dict", "checkpoint_files=sharded"},
    {"recompute", "unsloth", "recompute=full offload_activations=host"},
    {"recompute", "true", "recompute=full"},
    {"recompute", "false", "recompute=none"},
    {"offload_optimizer", "cpu", "offload_optimizer=host"},
    {"offload_parameters", "cpu", "offload_parameters=host"},
    {"offload_activations", "cpu", "offload_activations=host"},
    {"gpu_layers", "all", ""},
    {"data", "_1", "", "parallelism.data_parallel_shard_degree"},  // all ranks
    {"gpu_layers", "_1", "?gpu_layers auto or gpu_layers all"},
    {"adapter_targets", "all", "adapter_targets=all-linear"},
    {"weights", "bitsandbytes", "?weights nf4 or weights bnb_int8"},
    {"split_mode", "none", "gpus=1"},
    {"split_mode", "layer", "pipeline=gpus"},
    {"split_mode", "tensor", "tensor=gpus"},
    {"split_mode", "row", "pipeline=gpus split_rows=true"},
});
// clang-format on

/// The rows of a table, one for each of the names that a row of it has.
template <const auto& Rows, char Between>
constexpr auto one_by_one() {
    constexpr std::size_t count = [] {
        std::size_t names = 0;
        for (const auto& row : Rows)
            for (const char c : row.typed) names += c == Between;
        return names + Rows.size();
    }();
    std::array<typename std::remove_cvref_t<decltype(Rows)>::value_type, count> all{};
    auto next = all.begin();
    for (auto row : Rows)
        for (std::string_view names = row.typed; !names.empty();) {
            const std::size_t end = std::min(names.find(Between), names.size());
            row.typed = names.substr(0, end);
            *next++ = row;
            names.remove_prefix(std::min(end + 1, names.size()));
        }
    return all;
}
inline constexpr auto option_aliases = one_by_one<option_rows, ' '>();
inline constexpr auto word_aliases = one_by_one<word_rows, '|'>();

}  // namespace program
