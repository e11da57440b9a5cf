// SPDX-License-Identifier: MIT
// How other tools spell the options, words and units of `llmres plan`.
#include "spelling.hpp"

#include "commands.hpp"
#include "deepspeed_config.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/nearest.hpp>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

namespace program {
namespace {

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
constexpr auto option_rows = std::to_array<option_alias>({
    // vLLM, SGLang, TensorRT-LLM, TGI, LMDeploy
    {"model -m model_path hf_repo model_name_or_path job", "*"},
    {"tp -tp tp_size tensor_parallel tensor_parallel_size tensor_model_parallel_size", "tensor"},
    {"pp -pp pp_size pipeline_parallel pipeline_parallel_size pipeline_model_parallel_size", "pipeline"},
    {"dp -dp dp_size data_parallel data_parallel_size", "data"},
    {"ep ep_size expert_parallel expert_parallel_size expert_model_parallel_size", "expert"},
    {"expert_tensor_parallel_size", "expert_tensor"},
    {"cp context_parallel_size", "context_parallel"},
    {"vpp", "virtual_pipeline"},
    {"-c ctx ctx_size ctx_len context_len context_length max_model_len num_ctx n_ctx session_len", "context"},
    {"max_total_tokens", "context", "", "tgi"},
    {"max_length", "context", "sequence"},
    {"input_len isl prompt_len input_tokens max_input_tokens max_input_length", "prompt"},
    {"output_len osl output_tokens max_new_tokens max_tokens", "output"},
    {"concurrency users concurrent_users concurrent_requests", "batch"},
    {"batch_size bs batch", "batch", "micro_batch"},
    {"max_num_batched_tokens", "max_batched_tokens"},
    {"max_running_requests", "max_num_seqs"},
    {"kv_cache_dtype kv_dtype kv_cache_type cache_type_k -ctk", "kv_cache"},
    {"cache_type_v -ctv", "kv_cache_values"},
    {"quantization quantize quant -q", "weights"},
    {"load_format trust_remote_code", ""},
    {"speculative_model draft_model model_draft", "draft"},
    {"num_speculative_tokens", "draft_tokens"},
    {"gpu_memory_fraction", "gpu_memory_utilization"},
    {"vram gpu_mem", "gpu_memory"},
    {"engine backend framework", "runtime"},
    {"dtype torch_dtype precision mixed_precision", "compute"},
    {"bf16", "compute=bf16"},
    {"fp16 half", "compute=fp16"},
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
    {"method finetuning_type", "method"},
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
    {"parallelism.pipeline_parallel_degree", "pipeline"},
    {"parallelism.context_parallel_degree", "context_parallel"},
    {"parallelism.expert_parallel_degree", "expert"},
    {"moe_grouped_gemm", "experts=grouped"},
    {"recipe", "recipe"},
    {"use_liger_kernel", "loss=fused_linear fused_norms=true fused_gates=true"},
    {"torch_compile", "compiled=true"},
    {"use_rslora", "adapter_kind=rslora"},
    {"fsdp_cpu_offload fsdp_offload_params", "offload_parameters=host offload_optimizer=host"},
    {"bnb_4bit_use_double_quant", "weights=nf4_double"},
    {"quantization_bit", "quantization_bit"},
    {"modules_to_save additional_target", "modules_to_save"},
    {"num_train_epochs num_epochs epochs max_steps warmup_ratio warmup_steps weight_decay lr_scheduler_type "
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
constexpr auto word_rows = std::to_array<word_alias>({
    {"task", "serve|inference", "task=serving"},
    {"task", "sft|finetune|fine_tuning|fine_tune|full", "task=finetuning"},
    {"task", "lora", "task=finetuning adapter_kind=lora"},
    {"task", "qlora", "task=finetuning adapter_kind=lora weights=nf4_double"},
    {"task", "pretrain|pre_training", "task=pretraining"},
    {"task", "train|training", "?task pretraining or task finetuning"},
    {"task", "dpo|kto", "?task finetuning (one model; a reference model beside it is not planned)"},
    {"task", "grpo|rloo", "?task finetuning (the policy; generation and a reference are not planned)"},
    {"task", "ppo|rlhf|rl", "?task finetuning (the policy; generation and other models are not planned)"},
    {"method", "full", "task=finetuning"},
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
    {"recompute", "unsloth", "recompute=full offload_activations=host"},
    {"recompute", "true", "recompute=full"},
    {"recompute", "false", "recompute=none"},
    {"offload_optimizer", "cpu", "offload_optimizer=host"},
    {"offload_parameters", "cpu", "offload_parameters=host"},
    {"offload_activations", "cpu", "offload_activations=host"},
    {"gpu_layers", "all", ""},
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
constexpr auto option_aliases = one_by_one<option_rows, ' '>();
constexpr auto word_aliases = one_by_one<word_rows, '|'>();

/// Options that are no fields, and stand for what the words behind them do.
struct word_option {
    std::string_view name;
    std::string_view words;      ///< those that are known
    std::string_view bare = "";  ///< what the option means without a word
};
constexpr std::array word_options{
    word_option{"method", "full, lora or qlora"},
    word_option{"deepspeed", "zero1, zero2, zero3 or a DeepSpeed configuration: FILE.json"},
    word_option{"fsdp", "full_shard (zero 3) or shard_grad_op (zero 2), with auto_wrap and offload behind it",
                "zero=3"},
    word_option{"quantization_bit", "4 or 8"},
    word_option{"modules_to_save", "no modules: layers that are trained whole beside an adapter are not planned"},
    word_option{"recipe", "full_finetune or lora_finetune, each _single_device or _distributed"},
    word_option{"split_mode", "layer, row, tensor or none"},
    word_option{"gradient_accumulation_steps", "global_batch: micro_batch x data ranks x these steps"},
};
constexpr const word_option* find_word_option(std::string_view name) {
    for (const word_option& o : word_options)
        if (o.name == name) return &o;
    return nullptr;
}

/// A name with underscores in place of dashes, in lower case.
std::string normal(std::string_view typed) {
    std::string name{typed};
    for (char& c : name) c = c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return name;
}

bool is_flag(std::string_view name) {
    return name == "json" || name == "svg" || name == "pictures" || name == "help" ||
           std::any_of(llmres::job_fields.begin(), llmres::job_fields.end(),
                       [&](const llmres::job_field& f) { return llmres::flag_of(f) == name; });
}
bool is_switch(std::string_view name) {
    return std::any_of(llmres::job_fields.begin(), llmres::job_fields.end(), [&](const llmres::job_field& f) {
        return f.type == llmres::field_type::flag && llmres::flag_of(f) == name;
    });
}
/// Whether some runtime has a knob of that name.
bool is_knob(std::string_view name) {
    for (const llmres::runtime* r : llmres::runtimes::all)
        if (llmres::find_knob(r->identity.knobs, name) != nullptr || r->cache.fraction_name == name) return true;
    return false;
}

/// The value of an option, by its names, wherever it stands.
std::string_view typed_value(const std::vector<std::string>& typed, std::initializer_list<std::string_view> names) {
    for (std::size_t i = 0; i < typed.size(); ++i)
        for (const std::string_view name : names) {
            if (typed[i] == name && i + 1 < typed.size()) return typed[i + 1];
            if (typed[i].starts_with(name) && typed[i].size() > name.size() && typed[i][name.size()] == '=')
                return std::string_view{typed[i]}.substr(name.size() + 1);
        }
    return {};
}

/// The runtime that is named, wherever it stands.
std::string_view runtime_named(const std::vector<std::string>& typed) {
    return typed_value(typed, {"--runtime", "--engine", "--backend", "--framework"});
}

/// Whether an option sizes the pool of caches of the runtime that is named: SGLang's max_total_tokens, which is the
/// longest request in TGI's words.
bool sizes_pool(const std::vector<std::string>& typed, std::string_view name) {
    const auto r = llmres::find_runtime(runtime_named(typed));
    const llmres::knob* own = r ? llmres::find_knob(r->identity.knobs, name) : nullptr;
    return own != nullptr && own->setting == llmres::knob_setting::cache_tokens;
}

/// Whether a text says yes or no in one of the ways of llama.cpp and of Python.
std::optional<std::string> truth(const std::string& typed) {
    const std::string word = normal(typed);
    if (word == "on" || word == "true" || word == "1" || word == "yes") return "true";
    if (word == "off" || word == "false" || word == "0" || word == "no") return "false";
    return {};
}

/// The task of the job document that the arguments name, if they name one that has a task.
std::optional<std::string> task_of_document(const std::vector<std::string>& typed) {
    for (const std::string& argument : typed) {
        if (!argument.ends_with(".json") || argument.starts_with('-')) continue;
        const auto content = llmres::read_job_text(argument);
        if (!content) continue;  // whatever reads it says why not
        const auto read = llmres::parse_json_object(*content);
        if (!read) continue;
        const nlohmann::json document = llmres::document_in(read->root);
        if (document.contains("task")) return document["task"].dump();
    }
    return std::nullopt;
}

/// Whether an argument is an option that makes an adapter: --lora, --adapter_kind and the like.
bool makes_adapter(const std::string& argument) {
    if (!argument.starts_with("--")) return false;
    const std::string name = normal(argument.substr(2, argument.find('=') - 2));
    return name == "adapter_kind" || std::any_of(option_aliases.begin(), option_aliases.end(), [&](const auto& alias) {
               return alias.typed == name && alias.means.find("adapter_kind") != std::string_view::npos;
           });
}

/// Whether the arguments ask for training, by the task or the adapter they name or that of the job document they name.
bool asks_for_training(const std::vector<std::string>& typed) {
    for (std::size_t i = 0; i < typed.size(); ++i) {
        const bool joined = typed[i].starts_with("--task=");
        if (joined || (typed[i] == "--task" && i + 1 < typed.size())) {
            const std::string task = normal(joined ? typed[i].substr(7) : typed[i + 1]);
            return !task.starts_with("serv") && !task.starts_with("infer");
        }
        if (typed[i] == "--method" || typed[i] == "--finetuning-type" || makes_adapter(typed[i])) return true;
    }
    return task_of_document(typed).value_or("\"serving\"") != "\"serving\"";
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end > 0) words.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

/// Reads arguments one by one and writes them in the program's own words.
class speller {
public:
    speller(const std::vector<std::string>& typed, const std::vector<std::string>& flags,
            std::vector<std::string>& notes)
        : typed_{typed}, flags_{flags}, notes_{notes} {}

    std::vector<std::string> spelled() {
        for (at_ = 0; at_ < typed_.size(); ++at_) {
            const std::string& argument = typed_[at_];
            if (argument.size() > 1 && argument[0] == '-' && !(argument[1] >= '0' && argument[1] <= '9'))
                option(argument);
            else
                own_.push_back(argument);
        }
        // An adapter is trained, unless a task or a document says otherwise.
        const bool implies_adapter =
            std::any_of(implied_.begin(), implied_.end(), [](const auto& set) { return set.first == "adapter_kind"; });
        if ((implies_adapter || said_.contains("adapter_kind")) && !task_of_document(typed_))
            implied_.emplace_back("task", "finetuning");
        if (const auto said = value_of("gpus"); !count_.empty() && said && *said != count_)
            throw refusal{llmres::refused(llmres::error_code::malformed, "gpus", *said,
                                          count_ + ", as --gpu says, or one of both")};
        const std::string runtime = normal(runtime_named(typed_));
        if (of_deepspeed_ && !runtime.empty() && runtime.find("deepspeed") == std::string::npos)
            throw refusal{llmres::refused(llmres::error_code::malformed, "runtime", runtime,
                                          "deepspeed, as --deepspeed says, or one of both")};
        // What an alias only implies gives way to what is said.
        const std::string gpus = value_of("gpus").value_or(count_.empty() ? "1" : count_);
        if (!accumulation_.empty()) accumulate(gpus == "1" && !task_of_document(typed_));
        for (const auto& [flag, value] : implied_)
            if (!said_.contains(flag) && said_.insert(flag).second)
                own_.push_back(fmt::format("--{}={}", flag, value == "gpus" ? gpus : value));
        return own_;
    }

private:
    void option(const std::string& argument) {
        const std::size_t equals = argument.find('=');
        value_ = equals == std::string::npos ? std::nullopt : std::optional{argument.substr(equals + 1)};
        const std::string written = argument.substr(0, equals);
        const std::string name = normal(written.substr(written.starts_with("--") ? 2 : 0));
        const std::string one_dash = written.starts_with("--") ? "" : "-" + normal(written.substr(1));
        if (sizes_pool(typed_, name)) return knob(name);
        for (const option_alias& alias : option_aliases) {
            if (alias.typed != (alias.typed.starts_with('-') ? std::string_view{one_dash} : std::string_view{name}))
                continue;
            if (is_flag(name) && alias.in_training.empty()) break;  // the program's own word
            if (!runtime_named(typed_).starts_with(alias.of_runtime))
                throw refusal{llmres::refused(
                    llmres::error_code::unknown, name, taken_value(written),
                    fmt::format("{}, or --runtime {}, whose word it is", alias.means, alias.of_runtime))};
            return meaning(written,
                           alias.in_training.empty() || !asks_for_training(typed_) ? alias.means : alias.in_training);
        }
        if (is_flag(name)) return flag(name);
        // The command's own, whose value follows as it is.
        if (written.starts_with("--") && std::find(flags_.begin(), flags_.end(), name) != flags_.end())
            return own_.push_back("--" + name + (value_ ? "=" + *value_ : ""));
        if (is_knob(name)) return knob(name);
        own_.push_back(argument);
    }
    /// Writes what an option or a word stands for.
    void meaning(const std::string& written, std::string_view means) {
        if (means.empty()) {
            if (!value_ && next_is_value()) ++at_;
            notes_.push_back(written + " has no bearing on a plan");
            return;
        }
        const std::vector<std::string_view> words = words_of(means);
        const bool takes_value = std::any_of(words.begin(), words.end(), [](const std::string_view word) {
            return word.find('=') == std::string_view::npos;
        });
        for (const std::string_view word : words) {
            const std::size_t equals = word.find('=');
            const std::string name{word.substr(0, equals)};
            if (word == "*")
                own_.push_back(taken_value(written));
            else if (word == "n_batch")
                prompt_batch(written);
            else if (equals == std::string_view::npos)
                is_flag(name) || find_word_option(name) != nullptr ? flag(name, written) : knob(name);
            else
                implied(name, std::string{word.substr(equals + 1)}, takes_value);
        }
    }
    /// What an alias sets, unless a word behind it says otherwise: no, or another word for the same flag. What follows
    /// an alias that takes a value for another flag is that value.
    void implied(const std::string& name, const std::string& value, bool takes_value) {
        if (takes_value) return implied_.emplace_back(name, value), void();
        const std::string said = value_.value_or(next_is_value() ? typed_[at_ + 1] : "");
        const bool is_auto = value == "true" && normal(said) == "auto";
        const std::optional<std::string> known = truth(said);
        const word_alias* word = known ? nullptr : find_word(name, normal(said));
        if (!value_ && (known || is_auto || word != nullptr)) ++at_, value_ = said;
        if (word != nullptr) return take(word->means);
        if (is_auto || (known == "false" && value != "true")) return;
        // Double quantisation is said beside 4 bits, which do without.
        const auto at = value == "nf4_double" ? implied_.begin() : implied_.end();
        implied_.emplace(at, name, value == "true" ? known.value_or(value) : value);
    }
    static const word_alias* find_word(std::string_view flag, std::string_view word) {
        for (const word_alias& alias : word_aliases)
            if (alias.flag == flag && alias.typed == word && !alias.means.starts_with('?')) return &alias;
        return nullptr;
    }
    /// Takes what a word stands for: `flag=value`, with spaces between them.
    void take(std::string_view means) {
        for (const std::string_view meant : words_of(means)) {
            const std::size_t equals = meant.find('=');
            implied_.emplace_back(std::string{meant.substr(0, equals)}, std::string{meant.substr(equals + 1)});
        }
    }
    /// The number that a text is; 0 for any other text.
    static std::int64_t number_in(const std::string& text) {
        std::int64_t number = 0;
        const char* end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, number);
        return read.ec == std::errc{} && read.ptr == end ? number : 0;
    }
    /// On one GPU an optimizer step has the micro-batches that are accumulated; on several the layout has its say.
    void accumulate(bool one_gpu) {
        const std::int64_t micro_batch = number_in(value_of("micro_batch").value_or("1"));
        constexpr std::int64_t most = std::int64_t{1} << 24;
        if (!one_gpu || micro_batch > most || number_in(accumulation_) > most)
            throw refusal{llmres::refused(llmres::error_code::unknown, "gradient_accumulation_steps", accumulation_,
                                          find_word_option("gradient_accumulation_steps")->words)};
        implied_.emplace_back("global_batch", std::to_string(micro_batch * number_in(accumulation_)));
    }
    /// llama.cpp computes a prompt in pieces of the smaller of `--batch-size` and `--ubatch-size` (default 512).
    void prompt_batch(const std::string& written) {
        const std::string size = taken_value(written);
        if (const std::int64_t number = number_in(size); number > 0 && number < 512)
            implied_.emplace_back("max_batched_tokens", size);
        else
            notes_.push_back(written + " " + size +
                             " does not change what a step computes at once (--ubatch-size does)");
    }
    void flag(std::string name, const std::string& written = {}) {
        if (is_switch(name)) {
            if (!value_ && next_is_value() && truth(typed_[at_ + 1])) value_ = typed_[++at_];
            const std::string said = value_ ? truth(*value_).value_or(*value_) : "true";
            said_.insert(name);
            own_.push_back("--" + name + "=" + said);
            return;
        }
        if (name == "json" || name == "help") return own_.push_back("--" + name);
        const word_option* option_of_words = find_word_option(name);
        if (option_of_words != nullptr && !option_of_words->bare.empty() && !value_ && !next_is_value())
            return take(option_of_words->bare);
        std::string value = taken_value(written.empty() ? "--" + name : written);
        // "--gpus 8xH100" names a kind of GPU.
        const std::size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
        if (name == "gpus" && digits > 0 && value.substr(digits).find_first_of("xX") == 0) name = "gpu";
        if (name == "gpu") value = without_count(value);
        const std::string word = normal(value);
        const std::string option = written.starts_with("--") || written.empty()
                                       ? normal(written.substr(std::min<std::size_t>(2, written.size())))
                                       : "-" + normal(written.substr(1));
        if (name == "weights" && (word.starts_with("ud_") || word.ends_with("_xl")))
            throw refusal{llmres::refused(llmres::error_code::unsupported, name, value,
                                          "the .gguf file as MODEL, whose publisher chose each tensor's type; or a mix "
                                          "of llama.cpp's quantiser, such as q4_k_m")};
        if (name == "gradient_accumulation_steps" && number_in(value) > 0) return void(accumulation_ = value);
        of_deepspeed_ = of_deepspeed_ || name == "deepspeed";
        if (name == "deepspeed" && word.ends_with(".json")) return take(flags_of_deepspeed_config(value));
        for (const word_alias& alias : word_aliases) {
            if (alias.flag != name || alias.typed != word) continue;
            if (!alias.option.empty() && alias.option != option) continue;
            if (alias.means.starts_with('?'))
                throw refusal{llmres::refused(llmres::error_code::unknown, name, value, alias.means.substr(1))};
            return take(alias.means);
        }
        if (option_of_words != nullptr)
            throw refusal{llmres::refused(llmres::error_code::unknown, name, value, option_of_words->words)};
        said_.insert(name);
        put(name, name == "optimizer" || name == "adapter_kind" ? word : value);
    }
    /// "8xH100", "8 x H100" and "h100:8" are eight GPUs of a kind; "7900xtx" is a kind itself. Several kinds stay as
    /// they are: run_mixed() and compare read them.
    std::string without_count(const std::string& value) {
        if (llmres::find_gpu(value) || value.find(',') != std::string::npos) return value;
        if (const std::size_t colon = value.find(':'); colon != std::string::npos) {
            // "h100:1g.10gb" is a part of one, as "H100 MIG 1g.10gb" is.
            if (value.find("g.", colon) != std::string::npos)
                return fmt::format("{} MIG {}", value.substr(0, colon), value.substr(colon + 1));
            count_ = value.substr(colon + 1);
            implied_.emplace_back("gpus", count_);
            return value.substr(0, colon);
        }
        const std::size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
        const std::size_t times = std::min(value.find_first_not_of(' ', digits), value.size());
        if (digits == 0 || times + 1 >= value.size() || (value[times] != 'x' && value[times] != 'X')) return value;
        count_ = value.substr(0, digits);
        implied_.emplace_back("gpus", count_);
        return value.substr(std::min(value.find_first_not_of(' ', times + 1), value.size()));
    }
    /// The value of a flag that was said.
    std::optional<std::string> value_of(std::string_view name) const {
        const std::string flag = fmt::format("--{}=", name);
        for (const std::string& argument : own_)
            if (argument.starts_with(flag)) return argument.substr(flag.size());
        return std::nullopt;
    }
    /// A knob under the runtime's own name; one without a value is switched on.
    void knob(const std::string& name) {
        const std::string value = value_ ? *value_ : next_is_value() ? typed_[++at_] : "true";
        own_.push_back("--knob=" + name + "=" + truth(value).value_or(value));
    }
    void put(const std::string& name, const std::string& value) {
        if (!value.empty()) return own_.push_back("--" + name + "=" + value);
        own_.push_back("--" + name);
        own_.emplace_back();
    }
    std::string taken_value(const std::string& written) {
        if (value_) return *value_;
        if (at_ + 1 >= typed_.size())
            throw refusal{llmres::refused(llmres::error_code::missing, written, "absent", "a value behind it")};
        return typed_[++at_];
    }
    bool next_is_value() const { return at_ + 1 < typed_.size() && !typed_[at_ + 1].starts_with('-'); }

    const std::vector<std::string>& typed_;
    const std::vector<std::string>& flags_;
    std::vector<std::string>& notes_;
    std::size_t at_ = 0;
    std::optional<std::string> value_{};  ///< what stands behind the equals sign of the current option
    std::vector<std::string> own_{};
    std::vector<std::pair<std::string, std::string>> implied_{};
    std::set<std::string> said_{};
    std::string count_{};         ///< how many GPUs the kind of GPU is written with
    std::string accumulation_{};  ///< micro-batches in an optimizer step
    bool of_deepspeed_ = false;   ///< --deepspeed is said, which names the runtime
};

/// What a suffix multiplies by; of two readings, both are named.
struct unit {
    std::string_view suffix;
    double factor;
    std::string_view instead = "";  ///< the readings, where the suffix has two
};
constexpr double ki = 1024, mi = ki * ki, gi = mi * ki, ti = gi * ki;
constexpr std::array token_units{unit{"k", ki}, unit{"m", mi}};
constexpr std::array size_units{unit{"b", 1},
                                unit{"kb", 1e3},
                                unit{"mb", 1e6},
                                unit{"gb", 1e9},
                                unit{"tb", 1e12},
                                unit{"kib", ki},
                                unit{"mib", mi},
                                unit{"gib", gi},
                                unit{"tib", ti},
                                unit{"k", 0, "kB (1000) or KiB (1024)"},
                                unit{"m", 0, "MB (10^6) or MiB (2^20)"},
                                unit{"g", 0, "GB (10^9) or GiB (2^30)"},
                                unit{"t", 0, "TB (10^12) or TiB (2^40)"}};
constexpr std::array rate_units{unit{"m", 1e6},       unit{"g", 1e9},       unit{"t", 1e12},      unit{"p", 1e15},
                                unit{"mb/s", 1e6},    unit{"gb/s", 1e9},    unit{"tb/s", 1e12},   unit{"gib/s", gi},
                                unit{"tib/s", ti},    unit{"gflops", 1e9},  unit{"tflops", 1e12}, unit{"pflops", 1e15},
                                unit{"gflop/s", 1e9}, unit{"tflop/s", 1e12}};
constexpr std::array part_units{unit{"%", 0.01}};

template <std::size_t N>
double factor_in(const std::array<unit, N>& units, std::string_view flag, const std::string& typed,
                 std::string_view suffix) {
    for (const unit& u : units) {
        if (u.suffix != suffix) continue;
        if (!u.instead.empty()) throw refusal{llmres::refused(llmres::error_code::malformed, flag, typed, u.instead)};
        return u.factor;
    }
    return 0;
}

bool is_one_of(std::string_view flag, std::initializer_list<std::string_view> flags) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

/// Whether a flag's value is a number of bytes.
bool is_size(std::string_view flag) { return is_one_of(flag, {"in_use", "host_memory", "gpu_memory"}); }

/// What the suffix of a flag's value multiplies by; 0 where the flag knows no such unit.
double factor_of(std::string_view flag, const std::string& typed, std::string_view suffix) {
    if (is_one_of(flag, {"prompt", "output", "context", "max_batched_tokens", "lengths_mean", "lengths_longest",
                         "sequence", "mean_length", "encoder_tokens"}))
        return factor_in(token_units, flag, typed, suffix);
    if (is_size(flag)) return factor_in(size_units, flag, typed, suffix);
    if (is_one_of(flag, {"host_bandwidth", "gpu_bandwidth", "gpu_flops"}))
        return factor_in(rate_units, flag, typed, suffix);
    if (is_one_of(flag, {"gpu_memory_utilization", "adapter_dropout"}))
        return factor_in(part_units, flag, typed, suffix);
    return 0;
}

}  // namespace

std::vector<std::string> own_spelling(const std::vector<std::string>& typed, const std::vector<std::string>& flags,
                                      std::vector<std::string>& notes) {
    return speller{typed, flags, notes}.spelled();
}

nlohmann::json value_in_own_unit(std::string_view flag, const std::string& typed) {
    std::int64_t whole = 0;
    double real = 0;
    const char* end = typed.data() + typed.size();
    if (const auto r = std::from_chars(typed.data(), end, whole); r.ec == std::errc{} && r.ptr == end) {
        // People who leave the unit out mean another than bytes.
        if (is_size(flag) && whole > 0 && whole < std::int64_t{1} << 20)
            throw refusal{llmres::refused(llmres::error_code::malformed, flag, typed,
                                          fmt::format("a size with its unit, such as {}GB", whole))};
        return whole;
    }
    const auto read = std::from_chars(typed.data(), end, real);
    if (read.ec != std::errc{} || !std::isfinite(real)) return typed;
    std::string suffix;
    for (const char* c = read.ptr; c != end; ++c)
        if (*c != ' ') suffix += *c >= 'A' && *c <= 'Z' ? static_cast<char>(*c - 'A' + 'a') : *c;
    if (suffix.empty()) return real;
    const double factor = factor_of(flag, typed, suffix);
    if (factor == 0) return typed;
    const double value = real * factor;
    if (factor >= 1 && value < 9e18 && value == std::floor(value)) return static_cast<std::int64_t>(value);
    return factor < 1 ? nlohmann::json(std::round(value * 1e9) / 1e9) : nlohmann::json(value);
}

std::vector<std::pair<std::string, std::string>> all_option_aliases() {
    std::vector<std::pair<std::string, std::string>> all;
    all.reserve(std::size(option_aliases));
    for (const option_alias& alias : option_aliases)
        all.emplace_back(alias.typed.starts_with('-') ? std::string{alias.typed} : "--" + std::string{alias.typed},
                         std::string{alias.means});
    return all;
}

}  // namespace program
