// SPDX-License-Identifier: MIT
// The command lines of trainers, as options of this program: aliases.hpp has what these mean.
#include "trainer_line.hpp"

#include "commands.hpp"
#include "deepspeed_config.hpp"
#include "script.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <llmres/io/files.hpp>
#include <llmres/io/json/launch/line.hpp>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

namespace program {
namespace {

// clang-format off
/// Options without a bearing on memory or on the time of a step: transformers/training_args.py of 5.24.0; trl/trainer
/// (sft_config.py, base_config.py, model_config.py) and trl/scripts/utils.py of 1.9.2; data, logs, checkpoints and rates
/// of LLaMA-Factory 0.9.5 (hparams/).
constexpr std::string_view silent_options =
    " output_dir learning_rate lr_scheduler_type lr_scheduler_kwargs warmup_steps warmup_ratio"
    " optim_args weight_decay adam_beta1 adam_beta2 adam_epsilon average_tokens_across_devices max_grad_norm"
    " label_smoothing_factor bf16_full_eval fp16_full_eval tf32 use_cache neftune_noise_alpha logging_strategy"
    " logging_steps logging_first_step log_on_each_node logging_nan_inf_filter include_num_input_tokens_seen log_level"
    " log_level_replica logging_dir disable_tqdm report_to run_name project trackio_space_id trackio_bucket_id"
    " trackio_static_space_id eval_strategy evaluation_strategy eval_steps eval_delay per_device_eval_batch_size"
    " prediction_loss_only eval_on_start eval_do_concat_batches eval_use_gather_object eval_accumulation_steps"
    " include_for_metrics batch_eval_metrics save_strategy save_steps save_on_each_node"
    " save_safetensors enable_jit_checkpoint push_to_hub hub_token hub_private_repo hub_model_id hub_strategy"
    " hub_always_push hub_revision load_best_model_at_end metric_for_best_model greater_is_better ignore_data_skip"
    " restore_callback_states_from_checkpoint full_determinism seed data_seed dataloader_drop_last"
    " dataloader_num_workers dataloader_pin_memory dataloader_persistent_workers dataloader_prefetch_factor"
    " dataloader_multiprocessing_context dataloader_in_order remove_unused_columns label_names train_sampling_strategy"
    " group_by_length length_column_name ddp_broadcast_buffers ddp_backend ddp_timeout ddp_find_unused_parameters debug"
    " skip_memory_metrics do_train do_eval do_predict resume_from_checkpoint overwrite_output_dir local_rank"
    " trust_remote_code chat_template_path dataset_text_field dataset_kwargs dataset_num_proc eos_token truncation_mode"
    " shuffle_dataset packing_strategy eval_packing completion_only_loss assistant_only_loss pad_token model_revision"
    " lora_alpha lora_task_type bnb_4bit_quant_type bnb_4bit_compute_dtype bnb_4bit_quant_storage datasets streaming"
    " test_split_size dataset_name dataset_config dataset_train_split dataset_test_split dataset_streaming"
    " ignore_bias_buffers router_aux_loss_coef dataset dataset_dir template preprocessing_num_workers max_samples"
    " overwrite_cache plot_loss val_size eval_dataset media_dir tokenized_path mix_strategy low_cpu_mem_usage"
    " use_fast_tokenizer cache_dir beta loss_type loss_weights label_smoothing f_divergence_type"
    " f_alpha_divergence_coef ld_alpha use_weighting max_prompt_length max_completion_length desirable_weight"
    " undesirable_weight cpo_alpha simpo_gamma rpo_alpha discopop_tau disable_dropout ref_model_mixup_alpha"
    " ref_model_sync_steps precompute_ref_batch_size center_rewards_coefficient no_remove_unused_columns"
    " generate_during_eval"
    // trl/trainer/grpo_config.py, rloo_config.py and scripts/grpo.py of 1.16.0: sampling, and rewards by functions.
    " temperature top_p top_k min_p repetition_penalty generation_kwargs chat_template_kwargs shuffle_dataset"
    " ds3_gather_for_generation epsilon epsilon_high delta scale_rewards reward_funcs reward_weights log_completions"
    " num_completions_to_print mask_truncated_completions importance_sampling_level multi_objective_aggregation"
    " cache_implementation vllm_mode vllm_importance_sampling_cap vllm_importance_sampling_mode advantage_clip_range"
    " normalize_advantages reward_clip_range lmbda seq_kd max_new_tokens vllm_guided_decoding_regex vllm_structured_outputs_regex ";
/// Options that change memory or speed, and that no field of a job has.
constexpr std::string_view unmodelled_options =
    " optim_target_modules liger_kernel_config torch_empty_cache_steps auto_find_batch_size accelerator_config"
    " parallelism_config ddp_bucket_cap_mb ddp_static_graph fsdp_config fsdp_min_num_params use_cpu model_init_kwargs"
    " vllm_max_model_length vllm_model_impl top_entropy_quantile entropy_coef cast_lm_head_to_fp32"
    " use_transformers_paged use_transformers_continuous_batching vllm_server_base_url vllm_server_host vllm_server_port"
    " padding_free sync_ref_model ref_model_init_kwargs ref_adapter_name lora_target_parameters lora_modules_to_save gradient_checkpointing_kwargs"
    " activation_checkpointing_kwargs torch_compile_backend torch_compile_mode torchdynamo tokenizer_name ";
/// Options of `accelerate launch`, to which the command `trl` passes on what its own parser does not know (trl 1.16.0,
/// cli/commands/training.py).
constexpr std::string_view launcher_options =
    " num_processes num_machines machine_rank main_process_ip main_process_port multi_gpu gpu_ids mixed_precision"
    " config_file use_fsdp use_deepspeed zero_stage zero3_init_flag fsdp_state_dict_type ";
/// Methods that scripts are named after: words of --task.
constexpr std::array<std::string_view, 11> other_methods{"reward", "dpo",  "kto",  "orpo", "simpo", "cpo",
                                                         "gkd",    "grpo", "rloo", "ppo",  "rlhf"};
// clang-format on

bool is_in(std::string_view list, std::string_view name) { return list.find(fmt::format(" {} ", name)) != list.npos; }

std::string base_name(const std::string& word) {
    const std::size_t slash = word.find_last_of("/\\");
    return slash == std::string::npos ? word : word.substr(slash + 1);
}

/// An option with its values: `--name=value`, `--name value value`.
struct option {
    std::string name;  ///< without dashes, with underscores
    std::string value;
};

/// What a command line starts.
enum class started_trainer : std::uint8_t {
    script,
    trl,
    axolotl,
    llama_factory,
    ms_swift,
    torchtune,
    torchtitan,
    megatron_lm,
    verl,
    openrlhf
};

/// Modules, and scripts by their paths as modules' names, of trainers that read their settings from a file.
struct trainer_module {
    std::string_view name;
    started_trainer trainer;
};
constexpr std::array trainer_modules{trainer_module{"axolotl.cli.train", started_trainer::axolotl},
                                     trainer_module{"scripts.finetune", started_trainer::axolotl},
                                     trainer_module{"torchtitan.train", started_trainer::torchtitan},
                                     trainer_module{"llamafactory.launcher", started_trainer::llama_factory},
                                     trainer_module{"verl.trainer.main_ppo", started_trainer::verl},
                                     trainer_module{"main_dapo", started_trainer::verl},
                                     trainer_module{"train_ppo_ray", started_trainer::openrlhf}};

/// Reads the options of a line from a word on, up to one that ends them.
class trainer_line {
public:
    trainer_line(const std::vector<std::string>& words, std::int64_t gpus) : words_{words} { by_.gpus = gpus; }

    trained_job job() {
        if (!find_script()) return {};
        const bool by_others =
            trainer_ == started_trainer::megatron_lm && of_python_;  // srun starts a process for each GPU
        const bool by_ray = trainer_ == started_trainer::verl || trainer_ == started_trainer::openrlhf;
        const bool starts_itself = by_others || by_ray || trainer_ == started_trainer::axolotl ||
                                   trainer_ == started_trainer::llama_factory || trainer_ == started_trainer::ms_swift;
        if (by_.processes == 0 && (!starts_itself || gpus_per_node_ * nodes_ > 1))
            by_.processes = gpus_per_node_ * nodes_;
        switch (trainer_) {
            case started_trainer::axolotl: return job_of_axolotl(with_file("config"), by_);
            case started_trainer::llama_factory: return job_of_llama_factory(with_file("config"), by_);
            case started_trainer::ms_swift: return job_of_ms_swift(script_, with_file("config", words_taken::all), by_);
            case started_trainer::torchtune: return job_of_torchtune(script_, with_file("config"), by_);
            case started_trainer::torchtitan: return job_of_torchtitan(with_file("job.config_file"), by_);
            case started_trainer::megatron_lm: return of_options_alone("Megatron-LM", job_of_megatron);
            case started_trainer::verl: return of_options_alone("verl", job_of_verl);
            case started_trainer::openrlhf: return of_options_alone("OpenRLHF", job_of_openrlhf);
            case started_trainer::script:
            case started_trainer::trl: break;
        }
        std::map<std::string, std::string> said, in_file;
        while (at_ < words_.size()) {
            const option o = next();
            if (o.name.empty() && trainer_ == started_trainer::script) continue;  // of another program
            if (o.name.empty())
                throw refusal{
                    llmres::refused(llmres::error_code::unsupported, "argument", o.value, "options, or --config FILE")};
            if (trainer_ == started_trainer::trl && o.name == "accelerate_config")
                by_.processes = 0, take_trl_accelerate_config(o.value, by_);
            else if (trainer_ == started_trainer::trl && is_in(launcher_options, o.name))
                take(o);
            else if (trainer_ == started_trainer::trl && o.name == "config")
                for (const auto& [name, value] : read_config_file(o.value)) in_file[name] = value;
            else
                said[o.name] = o.value;
        }
        said.merge(in_file);
        if (!said.contains("model_name_or_path") || script_.starts_with("pretrain_")) return {};
        trained_job written;
        written.options = in_own_words(said, written.notes);
        return written;
    }

private:
    /// The job of a trainer whose options are all on the line.
    template <class Read>
    trained_job of_options_alone(std::string_view trainer, Read job_of) {
        given_settings given;
        const auto first = words_.begin() + static_cast<std::ptrdiff_t>(at_);
        std::vector<std::string> words{first, words_.end()};
        std::erase_if(words, [](const std::string& word) { return word == "$@"; });  // a script's own arguments: none
        const std::vector<std::string> others = take_arguments(given, words, words_taken::all);
        if (!others.empty())
            throw refusal{llmres::refused(llmres::error_code::unsupported, "argument", others.front(),
                                          fmt::format("options of {}: variables are not expanded", trainer))};
        return job_of(given, by_);
    }
    /// The settings of the file that the arguments name, under an option of that name or without one, and those of the
    /// arguments, which go over them.
    given_settings with_file(const std::string& name, words_taken taken = words_taken::one) {
        given_settings said;
        const auto first = words_.begin() + static_cast<std::ptrdiff_t>(at_),
                   last = std::find(first, words_.end(), "--");
        const std::vector<std::string> others = take_arguments(said, {first, last}, taken);
        at_ = static_cast<std::size_t>(last - words_.begin());
        for (const std::string& word : std::vector<std::string>(last, words_.end()))
            if (word == "--") ++at_;
        while (at_ < words_.size()) take(next());  // of the launcher: axolotl train FILE -- --nproc_per_node 8
        if (gpus_per_node_ * nodes_ > 1) by_.processes = gpus_per_node_ * nodes_;
        std::string file;
        if (const auto named = said.find(name); named != said.end()) {
            file = named->second.value;
            said.erase(named);
        } else if (!others.empty()) {
            file = others.front();
        } else if (const auto set = by_.environment.find("CONFIG_FILE"); set != by_.environment.end()) {
            file = set->second;
        }
        given_settings given = file.empty() ? given_settings{} : given_by(file);
        for (auto& [path, setting] : said) {
            // --compile.no_enable is compile.enable = false.
            const std::size_t key = path.find('.') + 1;
            const bool denies = path.compare(key, 3, "no_") == 0 && setting.value == "true";
            given[denies ? path.substr(0, key) + path.substr(key + 3) : path] =
                denies ? given_setting{"false", setting.written} : setting;
        }
        return given;
    }
    /// The next option, or a word that is none, as a value without a name.
    option next() {
        const std::string& word = words_[at_++];
        if (!word.starts_with("--")) return {"", word};
        const std::size_t equals = word.find('=');
        option o{word.substr(2, equals == std::string::npos ? equals : equals - 2), ""};
        std::replace(o.name.begin(), o.name.end(), '-', '_');
        if (equals != std::string::npos) return o.value = word.substr(equals + 1), o;
        for (; at_ < words_.size() && !words_[at_].starts_with("--") && !ends_options(words_[at_]); ++at_)
            o.value += (o.value.empty() ? "" : ",") + words_[at_];
        return o;
    }
    bool ends_options(const std::string& word) const {
        return of_launcher_ && (word.ends_with(".py") || word == "-m" || is_recipe(word));
    }
    bool is_recipe(const std::string& word) const {
        return trainer_ == started_trainer::torchtune &&
               (word.ends_with("_distributed") || word.ends_with("_single_device"));
    }

    /// A whole number of at least 1, at most one that products of three of hold. `named` is the option.
    static std::int64_t number(const std::string& named, const std::string& text) {
        constexpr std::int64_t most = std::int64_t{1} << 20;
        std::int64_t n = 0;
        const char* const end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, n);
        if (read.ec != std::errc{} || read.ptr != end || n < 1 || n > most)
            throw refusal{llmres::refused(llmres::error_code::malformed, named, text,
                                          "a whole number from 1 to 1048576, in digits")};
        return n;
    }
    static bool is_true(const std::map<std::string, std::string>& said, const char* name) {
        const auto found = said.find(name);
        if (found == said.end()) return false;
        const llmres::maybe<bool> truth = llmres::detail::truth_of(found->second.empty() ? "true" : found->second);
        return !truth || *truth;
    }
    /// Takes what a launcher says of processes and sharding.
    void take(const option& o) {
        // torchrun's words for all GPUs of the machine.
        if (o.name == "nproc_per_node" && (o.value == "gpu" || o.value == "auto") && by_.gpus > 0) return;
        if (o.name == "nproc_per_node" || o.name == "num_gpus") gpus_per_node_ = number("--" + o.name, o.value);
        if (o.name == "nnodes" || o.name == "num_nodes") nodes_ = number("--" + o.name, o.value);
        if (o.name == "num_processes") by_.processes = number("--" + o.name, o.value);
        if (o.name == "zero_stage") own_.push_back("--zero=" + o.value);
        if (o.name == "use_deepspeed" || o.name == "zero_stage") of_deepspeed_ = true;
        if (o.name == "use_fsdp") own_.emplace_back("--zero=3");
        if (o.name == "fsdp_state_dict_type" && o.value != "LOCAL_STATE_DICT")
            own_.push_back("--" + o.name + "=" + o.value);
        if (o.name == "mixed_precision") own_.push_back("--mixed_precision=" + o.value);
        if (o.name == "config_file") take_accelerate_file(o.value, by_);
    }
    /// Finds the script that a launcher starts, and the first of its options.
    bool find_script() {
        for (; at_ < words_.size(); ++at_) {
            const std::string name = base_name(words_[at_]);
            const std::string next = at_ + 1 < words_.size() ? words_[at_ + 1] : "";
            const std::string& word = words_[at_];
            if (const std::size_t equals = word.find('='); equals != std::string::npos && !word.starts_with('-'))
                by_.environment[word.substr(0, equals)] = word.substr(equals + 1);
            if (name == "trl" && !next.empty()) return starts(started_trainer::trl, next);
            if (name == "axolotl" && next == "train") return starts(started_trainer::axolotl, next);
            if (name == "llamafactory-cli" && next == "train") return starts(started_trainer::llama_factory, next);
            if (name == "swift" && (next == "sft" || next == "pt" || next == "rlhf"))
                return starts(started_trainer::ms_swift, next);
            if (name == "run_train.sh") {
                gpus_per_node_ = 8;
                if (const auto set = by_.environment.find("NGPU"); set != by_.environment.end())
                    gpus_per_node_ = number("NGPU", set->second);
                return starts(started_trainer::torchtitan, name, 1);
            }
            if (name == "tune" && next == "run") {
                trainer_ = started_trainer::torchtune;
                ++at_;
                return behind_launcher();
            }
            const bool is_python = name.starts_with("python");
            of_python_ = is_python;
            if (!is_python && name != "torchrun" && name != "accelerate" && name != "deepspeed") continue;
            return behind_launcher();
        }
        return false;
    }
    /// A trainer whose options begin behind so many words.
    bool starts(started_trainer which, const std::string& script, std::size_t words = 2) {
        trainer_ = which;
        script_ = script;
        at_ += words;
        if (which == started_trainer::trl) check_trl_command();
        return true;
    }
    bool behind_launcher() {
        of_launcher_ = true;
        for (++at_; at_ < words_.size();) {
            const std::string& word = words_[at_];
            if ((word == "-m" || word == "--module") && at_ + 1 < words_.size()) {
                if (words_[at_ + 1].starts_with("torch.distributed") || words_[at_ + 1].starts_with("accelerate")) {
                    of_python_ = false;
                    at_ += 2;
                    continue;
                }
                script_ = words_[at_ + 1];
                at_ += 2;
                if (script_ == "trl" && at_ < words_.size()) script_ = "trl/" + words_[at_++];
                break;
            }
            if (word.ends_with(".py") || is_recipe(word)) {
                script_ = word;
                ++at_;
                break;
            }
            if (word.starts_with("--"))
                take(next());
            else
                ++at_;
        }
        of_launcher_ = false;
        if (trainer_ != started_trainer::torchtune) name_trainer();
        return !script_.empty();
    }
    /// Which trainer the script is of.
    void name_trainer() {
        std::string module = script_.ends_with(".py") ? script_.substr(0, script_.size() - 3) : script_;
        std::ranges::replace(module, '/', '.');
        for (const trainer_module& known : trainer_modules)
            if (module.ends_with(known.name)) trainer_ = known.trainer;
        const std::string name = base_name(script_);
        if (name == "pretrain_gpt.py" || name == "pretrain_hybrid.py" || name == "pretrain_mamba.py")
            trainer_ = started_trainer::megatron_lm;
        const bool reads_file = at_ < words_.size() && is_config_file(words_[at_]);
        if (trainer_ == started_trainer::script && reads_file)
            trainer_ = started_trainer::llama_factory;  // src/train.py
        // TRL's own scripts, and others that are named after a method that is learned by its trainers alone.
        constexpr std::array<std::string_view, 8> of_trl{"dpo", "kto", "orpo", "simpo", "cpo", "gkd", "grpo", "rloo"};
        of_trl_ = script_.find("trl/") != std::string::npos || module.starts_with("trl.") ||
                  std::ranges::any_of(of_trl, [&](std::string_view method) { return has_part(name, method); });
        script_ = name;
    }
    /// Refuses what the command `trl` does not train with (trl 1.16.0, cli/commands).
    void check_trl_command() const {
        constexpr std::array<std::string_view, 6> commands{"sft", "dpo", "grpo", "kto", "reward", "rloo"};
        constexpr std::array<std::string_view, 5> by_scripts{"orpo", "simpo", "cpo", "ppo", "gkd"};
        if (script_ == "distillation")
            throw refusal{llmres::refused(llmres::error_code::unsupported, "trl", script_,
                                          "--task gkd --teacher MODEL, TRL's GKDTrainer: a divergence in tiles over "
                                          "answers that the student generates is not planned")};
        if (std::ranges::find(commands, script_) == commands.end() &&
            std::ranges::find(by_scripts, script_) == by_scripts.end())
            throw refusal{llmres::refused(llmres::error_code::unknown, "trl", script_,
                                          fmt::format("{}", fmt::join(commands, ", ")))};
    }

    std::vector<std::string> in_own_words(std::map<std::string, std::string>& said, std::vector<std::string>& notes) {
        std::string task = "finetuning";
        for (const std::string_view method : other_methods)
            if (has_part(script_, method)) task = method;
        if (task == "ppo" || task == "rlhf")
            throw refusal{llmres::refused(llmres::error_code::unsupported, "task", task,
                                          "grpo or rloo by TRL; --task ppo --runtime verl plans PPO without a line")};
        const bool by_trl = of_trl_ || trainer_ == started_trainer::trl;
        const bool says_16_bits = said.contains("bf16") || said.contains("fp16");
        if (by_trl) {
            take_as_trl(said, by_);
            if (is_true(said, "use_liger_kernel"))  // its kernels of layers alone (trainer/sft_trainer.py)
                said.emplace("fused_norms", "true"), said.emplace("fused_gates", "true");
            said.erase("use_liger_kernel");
        }
        const auto taken = [&](const char* name, const char* otherwise) {
            const auto found = said.find(name);
            const std::string value = found == said.end() ? otherwise : found->second;
            if (found != said.end()) said.erase(found);
            return number(fmt::format("--{}", name), value);
        };
        const bool says_micro_batch = said.contains("per_device_train_batch_size");
        const std::int64_t per_device = taken("per_device_train_batch_size", "8");
        const std::int64_t steps = taken("gradient_accumulation_steps", "1");
        own_.push_back("--task=" + task);
        const bool by_deepspeed = by_.told.text("type") == "deepspeed";
        // What neither says is the stack's default: a micro-batch of 8, the optimizer, recomputation.
        const bool is_sharded = (of_deepspeed_ || by_deepspeed) && !said.contains("deepspeed");
        own_.push_back(fmt::format("--runtime={}{}", by_trl ? "trl" : "trainer", is_sharded ? "+deepspeed" : ""));
        trained_job launched = job_of_launched(by_, per_device, steps);
        if (!says_micro_batch)
            std::erase_if(launched.options, [](const auto& o) { return o.starts_with("--micro_batch="); });
        own_.insert(own_.end(), launched.options.begin(), launched.options.end());
        notes.insert(notes.end(), launched.notes.begin(), launched.notes.end());
        take_deepspeed(said, {.per_device = per_device,
                              .accumulation = steps,
                              .ranks = by_.known() > 1 ? launched.sequences / (per_device * steps) : 0});
        if (task == "gkd") take_teacher(said);
        if (by_trl && (task == "grpo" || task == "rloo")) take_rollout(said, launched.sequences / steps, steps);
        trained(said, launched.sequences);
        if (by_trl && !says_16_bits) said.erase("bf16");
        for (const auto& [name, value] : said) {
            const bool keeps_all = name == "save_total_limit" && (value == "None" || value == "0" || value == "-1");
            if (is_in(silent_options, name) || keeps_all) continue;
            std::string written = "--" + name + (value.empty() ? "" : "=" + value);
            if (is_in(unmodelled_options, name))
                notes.push_back(written + " changes memory or speed, and is not modelled");
            else
                own_.push_back(name == "use_bnb_nested_quant"
                                   ? written.replace(2, name.size(), "bnb_4bit_use_double_quant")
                                   : written);
        }
        const std::string compute = by_.told.text("compute");
        if (!compute.empty() && !is_true(said, "bf16") && !is_true(said, "fp16"))
            own_.push_back("--compute=" + compute);
        return own_;
    }
    /// What DeepSpeed's own configuration, where it is here, makes of the batch and of the arithmetic: without bf16 and
    /// fp16 its engine takes fp32 weights alone (runtime/engine.py: _configure_distributed_model).
    void take_deepspeed(const std::map<std::string, std::string>& said, const trainer_batch& batch) {
        const auto named = said.find("deepspeed");
        std::string file = named == said.end() ? by_.told.text("deepspeed") : named->second;
        std::error_code none;
        if (!file.ends_with(".json") || !std::filesystem::exists(file, none)) return;
        if (!is_true(said, "auto_find_batch_size")) check_deepspeed_batch(file, batch);
        const bool is_packed = is_true(said, "load_in_4bit") || is_true(said, "load_in_8bit");
        if (is_true(said, "bf16") || is_true(said, "fp16") || is_packed || mixes_precision(file)) return;
        if (!by_.told.text("compute").empty()) return;
        own_.emplace_back("--compute=fp32");
        own_.emplace_back("--weights=fp32");
    }
    /// What is trained in all: --max_steps of so many sequences, else --num_train_epochs of what the caller knows.
    void trained(std::map<std::string, std::string>& said, std::int64_t sequences) {
        const auto taken = [&](const char* name) {
            const auto found = said.find(name);
            const std::string value = found == said.end() ? "" : found->second;
            if (found != said.end()) said.erase(found);
            return value;
        };
        const std::string steps = taken("max_steps"), epochs = taken("num_train_epochs");
        own_.push_back("--epochs=" + (epochs.empty() ? "3" : epochs));  // training_args.py
        if (steps.empty() || steps == "-1") return;
        own_.back() = "--epochs=1";
        own_.push_back(fmt::format("--samples={}", number("--max_steps", steps) * sequences));
    }
    /// Whether a path has a word between its marks: "examples/scripts/ppo.py" has ppo, "support.py" has not.
    static bool has_part(std::string_view path, std::string_view word) {
        while (!path.empty()) {
            const std::size_t end = std::min(path.find_first_of("/\\._-"), path.size());
            if (path.substr(0, end) == word) return true;
            path.remove_prefix(std::min(end + 1, path.size()));
        }
        return false;
    }
    /// What a script of GKDTrainer says of the teacher. It is taken to be loaded in the format of the student's
    /// weights, as TRL's own script of distillation loads it (trl 1.16.0, scripts/distillation.py:
    /// dtype=model_args.dtype); TRL's package has no script of GKDTrainer, and the one of its examples was not read.
    void take_teacher(std::map<std::string, std::string>& said) {
        for (const auto& [name, flag] : {std::pair{"teacher_model_name_or_path", "teacher"}, std::pair{"beta", "beta"}})
            if (const auto found = said.find(name); found != said.end()) {
                own_.push_back(fmt::format("--{}={}", flag, found->second));
                said.erase(found);
            }
        const auto weights = said.find("weights");
        own_.push_back("--teacher_weights=" + (weights == said.end() ? std::string{"fp32"} : weights->second));
    }
    /// What GRPO and RLOO say of their answers (trl 1.16.0, trainer/grpo_config.py): `beta` weighs a reference, which
    /// is the model without its adapter where it has one; a rollout has steps_per_generation times what all GPUs
    /// compute at once.
    void take_rollout(std::map<std::string, std::string>& said, std::int64_t at_once, std::int64_t accumulation) {
        const auto move = [&](const char* name, const auto& use) {
            const auto found = said.find(name);
            if (found == said.end()) return;
            use(found->second);
            said.erase(found);
        };
        move("beta", [&](const std::string& beta) {
            const bool none = beta.find_first_not_of("0.") == std::string::npos;
            const bool adapted = is_true(said, "use_peft") || said.contains("lora_r");
            own_.push_back(fmt::format("--reference={}", none ? "none" : adapted ? "adapters_off" : "loaded"));
        });
        const auto repeated = said.find("num_iterations");
        const std::int64_t iterations = repeated == said.end() ? 1 : number("--num_iterations", repeated->second);
        for (const auto& [name, flag] :
             {std::pair{"max_completion_length", "rollout_output"}, std::pair{"max_prompt_length", "rollout_prompt"},
              std::pair{"num_iterations", "rollout_num_iterations"}})
            move(name, [&](const std::string& value) { own_.push_back(fmt::format("--{}={}", flag, value)); });
        std::int64_t steps = accumulation;
        move("steps_per_generation", [&](const std::string& value) {
            steps = number("--steps_per_generation", value);
            own_.push_back(fmt::format("--rollout_answers={}", steps * at_once));
        });
        if (const auto all = said.find("generation_batch_size"); all != said.end())
            steps = number("--generation_batch_size", all->second) / std::max<std::int64_t>(at_once, 1);
        // trainer/grpo_trainer.py: answers that outlive an optimizer step are scored before it.
        if (const std::int64_t used = std::max<std::int64_t>(steps * iterations, 1); accumulation % used != 0)
            own_.emplace_back("--rollout_scores_again=true");
        if (const auto mode = said.find("vllm_mode"); mode != said.end() && mode->second == "server")
            throw refusal{llmres::refused(llmres::error_code::unsupported, "vllm_mode", "server",
                                          "colocate; a server's GPUs are --rollout_gpus of a job without this line")};
    }
    /// What TRL's scripts make of options beside their defaults, which are a stack's (sft_config.py, base_config.py and
    /// model_config.py of 1.9.2): --dtype is that of the weights, which operations cast to bf16 or fp16.
    void take_as_trl(std::map<std::string, std::string>& said, const launched_processes& by) const {
        if (!is_true(said, "fp16")) said.emplace("bf16", "true");
        std::string dtype;
        for (const char* name : {"torch_dtype", "dtype"})
            if (const auto found = said.find(name); found != said.end()) dtype = found->second, said.erase(found);
        if (dtype == "auto") {
            const auto published = llmres::find_model_source(said.at("model_name_or_path"));
            dtype = published && is_wide(published->model.weights) ? published->model.weights.name.view() : "";
        }
        const bool is_packed = is_true(said, "load_in_4bit") || is_true(said, "load_in_8bit");
        if (!dtype.empty() && !is_packed) said.emplace("weights", dtype);
        // What bitsandbytes leaves is loaded in --dtype, as is the residual stream behind it (transformers 5.24,
        // quantizers/base.py: update_dtype).
        if (is_packed && (dtype.empty() || dtype == "float32")) said.emplace("fp32_stream", "true");
        const bool mixes = is_true(said, "bf16") || is_true(said, "fp16") || !by.told.text("compute").empty();
        // accelerate 1.15, accelerator.py and utils/fsdp_utils.py: what FSDP shards in mixed precision is trained in
        // fp32, however it was loaded.
        if (shards_by_fsdp(said, by) && mixes && !is_true(said, "use_peft") && !said.contains("lora_r"))
            said.erase("weights");
        if (!mixes && !is_packed) said.emplace("compute", dtype.empty() ? "fp32" : dtype);
        if (is_true(said, "use_peft")) said.emplace("lora_r", "16");
        if (said.contains("use_peft") && !is_true(said, "use_peft"))
            for (const char* of_adapter : {"use_peft", "lora_r", "lora_dropout", "lora_target_modules", "use_dora"})
                said.erase(of_adapter);
    }

    /// Whether FSDP shards what a line trains: by accelerate's configuration or options, or the script's.
    bool shards_by_fsdp(const std::map<std::string, std::string>& said, const launched_processes& by) const {
        const auto named = said.find("fsdp");
        return by.told.text("type") == "fsdp" || (named != said.end() && !named->second.empty()) ||
               std::ranges::find(own_, "--zero=3") != own_.end();
    }

    const std::vector<std::string>& words_;
    std::size_t at_ = 0;
    bool of_launcher_ = false;
    bool of_python_ = false;  ///< nothing but python starts the script
    bool of_trl_ = false;
    bool of_deepspeed_ = false;
    started_trainer trainer_ = started_trainer::script;
    std::string script_{};
    std::int64_t gpus_per_node_ = 1, nodes_ = 1;
    launched_processes by_{};
    std::vector<std::string> own_{};
};

}  // namespace

trained_job job_of_line(const std::vector<std::string>& line, std::int64_t gpus) {
    if (line.size() != 1) return trainer_line{line, gpus}.job();
    const auto commands = llmres::split_launch_line(line[0]);
    if (!commands) return {};  // whatever reads it as a server's says why not
    std::vector<std::string> notes;
    for (const std::vector<std::string>& words : with_own_variables(*commands, notes)) {
        try {
            trained_job job = trainer_line{words, gpus}.job();
            if (job.options.empty()) continue;
            job.notes.insert(job.notes.begin(), notes.begin(), notes.end());
            return job;
        } catch (refusal& refused) {
            // What is absent may be there.
            for (const std::string& note : notes) refused.names += "; " + note;
            throw;
        }
    }
    return {};
}

}  // namespace program
