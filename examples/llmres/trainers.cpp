// SPDX-License-Identifier: MIT
// The jobs of trainers that read their settings from a file: axolotl, LLaMA-Factory, ms-swift, torchtune and
// torchtitan, and what accelerate's own file says of their processes.
#include "trainers.hpp"

#include "commands.hpp"
#include "job_options.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <llmres/io/json/launch/given.hpp>
#include <llmres/values/text.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace program {
namespace {

// clang-format off
using enum setting_use;
constexpr auto axolotl_settings = std::to_array<trainer_setting>({
#include "trainers/axolotl.inc"
});
constexpr auto llama_factory_settings = std::to_array<trainer_setting>({
#include "trainers/llama_factory.inc"
});
constexpr auto ms_swift_settings = std::to_array<trainer_setting>({
#include "trainers/ms_swift.inc"
});
constexpr auto torchtune_settings = std::to_array<trainer_setting>({
#include "trainers/torchtune.inc"
});
constexpr auto torchtitan_settings = std::to_array<trainer_setting>({
#include "trainers/torchtitan.inc"
});
constexpr auto accelerate_settings = std::to_array<trainer_setting>({
#include "trainers/accelerate.inc"
});
constexpr trainer axolotl_trainer{"axolotl", axolotl_settings};
constexpr trainer llama_factory_trainer{"LLaMA-Factory", llama_factory_settings};
constexpr trainer ms_swift_trainer{"ms-swift", ms_swift_settings};
constexpr trainer torchtune_trainer{"torchtune", torchtune_settings};
constexpr trainer torchtitan_trainer{"torchtitan", torchtitan_settings};
constexpr trainer accelerate_trainer{"accelerate", accelerate_settings};

/// What a trainer calls a model, and the preset that it is.
struct model_alias {
    std::string_view name;
    std::string_view preset;
};
/// Builders of torchtune/models, without the words before and behind that say how the model is trained.
constexpr auto torchtune_models = std::to_array<model_alias>({
    {"llama2_7b", "llama-2-7b"}, {"llama2_13b", "llama-2-13b"}, {"llama2_70b", "llama-2-70b"},
    {"llama3_8b", "llama-3-8b"}, {"llama3_70b", "llama-3-70b"}, {"llama3_1_8b", "llama-3.1-8b"},
    {"llama3_1_70b", "llama-3.1-70b"}, {"llama3_1_405b", "llama-3.1-405b"}, {"llama3_2_1b", "llama-3.2-1b"},
    {"llama3_2_3b", "llama-3.2-3b"}, {"llama3_2_vision_11b", "llama-3.2-11b-vision"},
    {"llama3_2_vision_90b", "llama-3.2-90b-vision"}, {"llama3_3_70b", "llama-3.3-70b"},
    {"llama4_scout_17b_16e", "llama-4-scout"}, {"llama4_maverick_17b_128e", "llama-4-maverick"},
    {"mistral_7b", "mistral-7b-v0.1"}, {"phi3_mini", "phi-3-mini-4k"}, {"phi4_14b", "phi-4"},
    {"gemma_2b", "gemma-2b"}, {"gemma_7b", "gemma-7b"}, {"gemma2_2b", "gemma-2-2b"}, {"gemma2_9b", "gemma-2-9b"},
    {"gemma2_27b", "gemma-2-27b"}, {"qwen2_7b", "qwen2-7b"},
    {"qwen2_5_0_5b", "qwen2.5-0.5b"}, {"qwen2_5_1_5b", "qwen2.5-1.5b"}, {"qwen2_5_3b", "qwen2.5-3b"},
    {"qwen2_5_7b", "qwen2.5-7b"}, {"qwen2_5_14b", "qwen2.5-14b"}, {"qwen2_5_32b", "qwen2.5-32b"},
    {"qwen2_5_72b", "qwen2.5-72b"}, {"qwen3_0_6b", "qwen3-0.6b"}, {"qwen3_1_7b", "qwen3-1.7b"},
    {"qwen3_4b", "qwen3-4b"}, {"qwen3_8b", "qwen3-8b"}, {"qwen3_14b", "qwen3-14b"}, {"qwen3_32b", "qwen3-32b"}});
/// Families and flavors of torchtitan/models.
constexpr auto torchtitan_models = std::to_array<model_alias>({
    {"llama3 8B", "llama-3.1-8b"}, {"llama3 70B", "llama-3.1-70b"}, {"llama3 405B", "llama-3.1-405b"},
    {"llama4 17bx16e", "llama-4-scout"}, {"llama4 17bx128e", "llama-4-maverick"},
    {"deepseek_v3 16B", "deepseek-v2-lite"}, {"deepseek_v3 236B", "deepseek-v2"}, {"deepseek_v3 671B", "deepseek-v3"},
    {"qwen3 0.6B", "qwen3-0.6b"}, {"qwen3 1.7B", "qwen3-1.7b"}, {"qwen3 4B", "qwen3-4b"}, {"qwen3 8B", "qwen3-8b"},
    {"qwen3 14B", "qwen3-14b"}, {"qwen3 32B", "qwen3-32b"}, {"qwen3 30B-A3B", "qwen3-30b-a3b"},
    {"qwen3 235B-A22B", "qwen3-235b-a22b"}, {"gpt_oss 20b", "gpt-oss-20b"}, {"gpt_oss 120b", "gpt-oss-120b"}});
// clang-format on

template <std::size_t Size>
std::string preset_of(const std::array<model_alias, Size>& models, std::string_view key, std::string_view name) {
    std::string known;
    for (const model_alias& m : models) {
        if (m.name == name) return std::string{m.preset};
        known += (known.empty() ? "" : ", ") + std::string{m.name};
    }
    throw refusal{llmres::refused(llmres::error_code::unknown, key, name, "a model that is known here"), ": " + known};
}

/// GPUs that CUDA_VISIBLE_DEVICES names, or that another variable counts; `otherwise` where neither does.
std::int64_t visible_gpus(const launched_processes& by, std::string_view variable, std::int64_t otherwise) {
    if (const auto set = by.environment.find(variable); set != by.environment.end()) {
        std::int64_t number = 0;
        if (llmres::detail::whole_number(set->second, llmres::detail::multipliers::none, number) && number > 0)
            return number;
    }
    const auto seen = by.environment.find("CUDA_VISIBLE_DEVICES");
    if (seen == by.environment.end() || seen->second.empty()) return otherwise;
    return 1 + std::ranges::count(seen->second, ',');
}

/// The name behind the last dot.
std::string last_part(const std::string& path) { return path.substr(path.find_last_of('.') + 1); }

}  // namespace

trained_job job_of_axolotl(const given_settings& given, const launched_processes& by) {
    told_settings read = told_by(axolotl_trainer, given);
    // Experts have ranks of their own beside the shards, which hold all other weights once more
    // (integrations/expert_parallel).
    if (const std::int64_t expert = read.number("expert", 1); expert > 1)
        read.kept["replicate"] =
            std::to_string(job_options::in_range(expert, "expert_parallel_size") *
                           job_options::in_range(read.number("replicate", 1), "dp_replicate_size"));
    job_options job{std::move(read), by};
    const told_settings& told = job.told();
    const std::string method = told.text("rl");
    const bool learns_tokens = method.empty() || method == "false";
    constexpr std::array<std::string_view, 5> preferences{"dpo", "ipo", "kto", "orpo", "simpo"};
    if (!learns_tokens && std::ranges::find(preferences, method) == preferences.end())
        throw refusal{llmres::refused(llmres::error_code::unsupported, "rl", method,
                                      "dpo, ipo, kto, orpo, simpo or no rl: generation is not planned")};
    job.name_model("base_model");
    job.set("task", told.is("reward") ? "reward" : learns_tokens ? "finetuning" : method);
    job.set("runtime", "axolotl");
    const std::int64_t data = job.lay_out(visible_gpus(by, "WORLD_SIZE", 1));
    // utils/config/__init__.py: of a batch of all micro-batches follow the steps of accumulation.
    const std::int64_t all = told.number("batch_size", 0),
                       micro = std::max<std::int64_t>(told.number("micro_batch", 1), 1);
    job.trained(job.batch(1, data, std::max<std::int64_t>(all / micro, 1)), "1");
    job.adapter();
    const bool is_adapter = told.text("adapter") == "lora";
    if (is_adapter && told.is("targets_linear")) job.set("adapter_targets", "all-linear");
    if (told.is("four_bits")) job.set("weights", told.text("double_quant") == "false" ? "nf4" : "nf4_double");
    if (told.is("eight_bits")) job.set("weights", "bnb_int8");
    if (told.text("plugins").find("cut_cross_entropy") != std::string::npos &&
        told.text("cut_cross_entropy") != "false")
        job.set("loss", "fused_linear");
    // loaders/patch_manager.py and utils/schemas/config.py: check_auto_enable_lora_kernels.
    const bool of_fsdp = !told.text("fsdp").empty() ||
                         std::ranges::any_of(given, [](const auto& g) { return g.first.starts_with("fsdp_config."); });
    const bool by_fsdp_1 = of_fsdp && told.number("fsdp_version", 1) != 2;
    const auto names_kernel = [&](const char* kernel) { return !told.text(kernel).empty(); };
    const bool says_kernels = names_kernel("mlp_kernel") || names_kernel("qkv_kernel") || names_kernel("o_kernel") ||
                              names_kernel("embedding_kernel");
    const bool has_none = told.is("remote_code") || told.is("eight_bits") || (by_fsdp_1 && data > 1);
    if (is_adapter && (says_kernels || has_none)) {
        const bool are_all = told.is("mlp_kernel") && told.is("qkv_kernel") && told.is("o_kernel");
        if (!are_all) job.set("fused_adapters", "false");
        if (!told.is("mlp_kernel")) job.set("fused_gates", "false");
    }
    if (const std::string file = told.text("deepspeed"); !file.empty()) job.shard_by_deepspeed(file);
    if (of_fsdp) job.shard(told.text("fsdp") + told.text("fsdp_strategy"), told);
    if (!of_fsdp && told.text("deepspeed").empty()) job.shard_by_accelerate();
    job.compute_by_accelerate();
    // utils/config/__init__.py: torch_dtype is float32 where neither bf16 nor fp16 is on, of whatever is not quantised.
    if (told.text("bf16") == "false" && !job.says("compute") && !job.says("weights")) {
        job.set("compute", "fp32");
        job.set("weights", "fp32");
    }
    return job.finished();
}

trained_job job_of_llama_factory(const given_settings& given, const launched_processes& by) {
    job_options job{told_by(llama_factory_trainer, given), by};
    const told_settings& told = job.told();
    job.name_model("model_name_or_path");
    // hparams/finetuning_args.py: stage dpo with pref_loss orpo or simpo has no reference (use_ref_model).
    const std::string stage = told.text("task"), loss = told.text("pref_loss");
    const bool unreferenced = stage == "dpo" && (loss == "orpo" || loss == "simpo");
    if (stage == "reward")
        throw refusal{llmres::refused(llmres::error_code::unsupported, "stage", "rm",
                                      "sft, pt, dpo or kto: a value head beside all logits is not planned")};
    job.set("task", stage.empty() ? "finetuning" : unreferenced ? loss : stage);
    if (!told.text("ref_model").empty() && !unreferenced) job.set("reference", "loaded");
    job.set("runtime", "llama-factory");
    const std::int64_t data = job.lay_out(visible_gpus(by, "NPROC_PER_NODE", 1));
    job.trained(job.batch(8, data), "3");
    job.adapter("lora");
    if (const std::int64_t bits = told.number("bits", 0); bits == 4 && told.text("double_quant") == "false")
        job.set("weights", "nf4");
    else if (bits != 0)
        job.set("quantization_bit", bits);
    const std::string fsdp = told.text("fsdp"), deepspeed = told.text("deepspeed");
    if (!deepspeed.empty()) job.shard_by_deepspeed(deepspeed);
    if (!fsdp.empty() && fsdp != "false") job.shard(fsdp, told);
    if (deepspeed.empty() && fsdp.empty()) job.shard_by_accelerate();
    job.compute_by_accelerate();
    // model/adapter.py, init_adapter: weights that are trained are fp32, and without bf16 or fp16 no operation casts
    // them; DeepSpeed and FSDP have casts of their own.
    const bool is_sharded = !deepspeed.empty() || !fsdp.empty() || job.says("deepspeed") || job.says("zero");
    if (told.text("adapter") == "none" && !is_sharded && !job.says("compute") && !job.says("weights"))
        job.set("compute", "fp32");
    return job.finished();
}

trained_job job_of_ms_swift(const std::string& method, const given_settings& given, const launched_processes& by) {
    told_settings read = told_by(ms_swift_trainer, given);
    // cli/main.py: NPROC_PER_NODE starts so many processes; without it one has all GPUs that it sees (device_map).
    const std::int64_t ranks = by.environment.contains("NPROC_PER_NODE") ? visible_gpus(by, "NPROC_PER_NODE", 1) : 1;
    const std::int64_t seen = ranks > 1 || by.known() > 0 ? ranks : visible_gpus(by, "NPROC_PER_NODE", 1);
    if (seen > ranks) read.kept["pipeline"] = std::to_string(seen);
    job_options job{std::move(read), by};
    const told_settings& told = job.told();
    job.name_model("model");
    const std::string learned = told.text("task");
    job.set("task", method != "rlhf" ? "finetuning" : learned.empty() ? "dpo" : learned);
    job.set("runtime", "ms-swift");
    if (learned == "gkd") job.set_kept("teacher", "teacher"), job.set_kept("beta", "beta");
    const std::int64_t data = job.lay_out(seen);
    // trainers/arguments.py: 16 sequences a step where nobody says how many micro-batches are accumulated.
    const std::int64_t all = std::max<std::int64_t>(told.number("micro_batch", 1), 1) * data;
    job.trained(job.batch(1, data, (16 + all - 1) / all), "3");
    job.adapter("lora");
    job.set_kept("labels", "labels");
    if (const std::int64_t bits = told.number("bits", 0); bits == 4 && told.text("double_quant") == "false")
        job.set("weights", "nf4");
    else if (bits != 0)
        job.set("quantization_bit", bits);
    if (!job.says("compute")) job.set_kept("compute", "compute");
    // config/zero2_offload.json, zero3_offload.json and fsdp2.json of the package, by their names.
    const std::string deepspeed = told.text("deepspeed"), fsdp = told.text("fsdp");
    if (deepspeed.starts_with("zero") && !deepspeed.ends_with(".json")) {
        job.set("deepspeed", deepspeed.substr(0, 5));
        if (deepspeed.ends_with("_offload")) job.set("offload_optimizer", "host");
        if (deepspeed == "zero3_offload") job.set("offload_parameters", "host");
    } else if (!deepspeed.empty()) {
        job.shard_by_deepspeed(deepspeed);
    }
    if (fsdp == "fsdp2") {
        job.set("zero", "3");
        job.set("fully_shard", "true");
    } else if (!fsdp.empty()) {
        job.shard(fsdp, told);
    }
    if (deepspeed.empty() && fsdp.empty()) job.shard_by_accelerate();
    job.compute_by_accelerate();
    return job.finished();
}

trained_job job_of_torchtune(const std::string& recipe, const given_settings& given, const launched_processes& by) {
    job_options job{told_by(torchtune_trainer, given), by};
    const told_settings& told = job.told();
    for (const std::string_view other : {"ref_checkpointer", "teacher_model", "policy_model", "value_checkpointer"})
        if (const auto first = given.lower_bound(other); first != given.end() && first->first.starts_with(other))
            throw refusal{llmres::refused(llmres::error_code::unsupported, first->first, first->second.value,
                                          "one model: a reference, a teacher and generation are not planned")};
    std::string builder = last_part(told.text("model"));
    if (builder.empty())
        throw refusal{llmres::refused(llmres::error_code::missing, "model._component_", "absent",
                                      "a model of torchtune, such as torchtune.models.llama3_1.llama3_1_8b")};
    const bool is_packed = builder.starts_with("qlora_") || told.is("four_bits");
    const bool is_adapter = builder.starts_with("qlora_") || builder.starts_with("lora_");
    if (is_adapter) builder.erase(0, builder.find('_') + 1);
    for (const std::string_view end : {"_instruct", "_base"})
        if (builder.ends_with(end)) builder.resize(builder.size() - end.size());
    job.name(preset_of(torchtune_models, "model._component_", builder));
    const std::int64_t data = job.lay_out(1);
    const bool several = data > 1 || told.number("tensor", 1) > 1;
    job.set("recipe", !recipe.empty() ? recipe
                                      : fmt::format("{}_finetune_{}", is_adapter ? "lora" : "full",
                                                    several ? "distributed" : "single_device"));
    const std::int64_t sequences = job.batch(1, data);
    if (const std::int64_t steps = told.number("epoch_steps", 0); steps > 0)
        job.set("samples", job_options::all_of(steps, sequences));
    job.set("epochs", told.text("epochs").empty() ? "1" : told.text("epochs"));
    if (is_adapter) {
        job.set("adapter_kind", told.is("dora") ? "dora" : "lora");
        job.set_kept("adapter_rank", "rank");
        job.set_kept("adapter_dropout", "dropout");
        std::string targets = told.text("attention_targets");
        if (const std::size_t output = targets.find("output_proj"); output != std::string::npos)
            targets.replace(output, std::string_view{"output_proj"}.size(), "o_proj");
        if (told.is("mlp_targets")) targets += ",gate_proj,up_proj,down_proj";
        if (told.is("output_target")) job.note("an adapter of the output head (apply_lora_to_output) is not planned");
        if (!targets.empty()) job.set("adapter_targets", targets.substr(targets.starts_with(',') ? 1 : 0));
    }
    if (is_packed) job.set("weights", "nf4_double");  // modules/low_precision: torchao's NF4 packs its scales, too
    const bool fuses = told.is("fused_optimizer");
    if (const std::string optimizer = told.text("optimizer"); fuses && last_part(optimizer) == "AdamW")
        job.set("optimizer", "adamw_fused");
    else if (!optimizer.empty())
        job.set("optim", optimizer);
    if (told.text("fsdp_reshard") == "false" && several) job.set("zero", "2");
    return job.finished();
}

trained_job job_of_torchtitan(const given_settings& given, const launched_processes& by) {
    job_options job{told_by(torchtitan_trainer, given), by};
    const told_settings& told = job.told();
    const auto said = [&](const char* name, const char* otherwise) {
        const std::string text = told.text(name);
        return text.empty() ? std::string{otherwise} : text;
    };
    job.name(
        preset_of(torchtitan_models, "model.flavor", said("family", "llama3") + " " + said("flavor", "debugmodel")));
    job.set("task", "pretraining");
    job.set("runtime", "torchtitan");
    job.set("sequence", told.number("sequence", 2048));
    const std::int64_t data = job.lay_out(1);
    const std::int64_t stages = told.number("pipeline", 1), local = told.number("local_batch", 8);
    const std::int64_t micro_batch = stages > 1 ? told.number("pipeline_micro_batch", 1) : local;
    job.set("micro_batch", micro_batch);
    const std::int64_t whole = told.number("global_batch", -1);
    const std::int64_t sequences = whole > 0 ? whole : job_options::in_range(local, "training.local_batch_size") * data;
    job.set("global_batch", sequences);
    job.set("samples", job_options::all_of(told.number("steps", 10'000), sequences));
    job.set("epochs", "1");
    // Beside stages weights stay gathered, unless it is said otherwise (distributed/parallel_dims.py).
    const std::string reshard = told.text("reshard");
    const bool is_sharded = told.number("shard", -1) != 1 || told.number("replicate", 1) <= 1;
    const bool keeps_weights = reshard == "never" || (reshard.empty() && stages > 1);
    job.set("zero", !is_sharded ? "0" : keeps_weights ? "2" : "3");
    if (told.number("tensor", 1) > 1) job.set("sequence_parallel", "true");
    if (told.number("expert", 1) > 1)
        job.set("expert_tensor", std::max<std::int64_t>(told.number("expert_tensor", 1), 1));
    if (told.number("context", 1) > 1) job.set("cp_comm_type", said("cp_comm_type", "all_gather"));
    if (stages > 1) {
        const std::string schedule = said("schedule", "1f1b");
        const bool interleaves = schedule == "interleaved" || schedule == "zb_v";
        if (interleaves) job.set("virtual_pipeline", "2");
        if (schedule != "interleaved") job.set("schedule", schedule);
    }
    job.set("weights", said("dtype", "fp32"));
    const std::string converters = told.text("converters");
    const bool in_fp8 = converters.find("float8") != std::string::npos;
    if (!converters.empty() && !in_fp8)
        job.note(fmt::format("model.converters: {} changes memory or speed, and is not modelled", converters));
    job.set("compute", in_fp8 ? "fp8_e4m3" : said("compute", "bf16"));
    job.set("optimizer",
            said("optimizer", "adamw") + (told.kept.contains("fused") ? told.text("fused") : std::string{"_fused"}));
    const std::string recompute = said("recompute", "selective"), part = said("selective", "2");
    job.set("recompute", recompute == "selective" && part != "op" ? "full" : recompute);
    if (recompute == "selective" && part != "op")
        job.set("recompute_every",
                job_options::in_range(told.number("selective", 2), "activation_checkpoint.selective_ac_option"));
    // components/checkpoint.py: 0 keeps all
    if (const std::int64_t kept = told.number("keep", 0); kept > 0) job.set("checkpoint_keep", kept);
    if (told.is("compiled")) {
        const std::string parts = said("components", "model,loss");
        const bool layers = parts.find("model") != std::string::npos;
        job.set(layers ? "compiled" : "compiled_loss", "true");
    }
    return job.finished();
}

trained_job job_in_file(const std::string& file, const launched_processes& by) {
    const given_settings given = given_by(file);
    const auto has = [&](std::string_view name) { return given.contains(name); };
    if (has("base_model")) return job_of_axolotl(given, by);
    if (has("model._component_")) return job_of_torchtune("", given, by);
    if (has("model.name") && has("model.flavor")) return job_of_torchtitan(given, by);
    if (has("model_name_or_path") && (has("stage") || has("finetuning_type") || has("cutoff_len")))
        return job_of_llama_factory(given, by);
    const bool of_launcher = has("distributed_type") || has("compute_environment");
    throw refusal{llmres::refused(llmres::error_code::unknown, "config", file,
                                  of_launcher
                                      ? "a trainer's file: accelerate's own is said behind -- accelerate launch "
                                        "--config_file, with the script"
                                      : "the settings of axolotl, LLaMA-Factory, torchtune or torchtitan; of "
                                        "others the command line behind --")};
}

void take_accelerate_file(const std::string& file, launched_processes& by) {
    by.told = told_by(accelerate_trainer, given_by(file));
    if (const std::int64_t processes = by.told.number("processes", 0); processes > 0 && by.processes == 0)
        by.processes = processes;
}

void take_trl_accelerate_config(const std::string& name, launched_processes& by) {
    struct shipped {
        std::string_view name, distributed_type, zero_stage;
    };
    // trl 1.16.0, accelerate_configs/*.yaml: all compute in bf16, by 8 processes.
    constexpr std::array<shipped, 7> all{{{"single_gpu", "NO", ""},
                                          {"multi_gpu", "MULTI_GPU", ""},
                                          {"zero1", "DEEPSPEED", "1"},
                                          {"zero2", "DEEPSPEED", "2"},
                                          {"zero3", "DEEPSPEED", "3"},
                                          {"fsdp1", "FSDP", ""},
                                          {"fsdp2", "FSDP", ""}}};
    const auto found = std::ranges::find(all, name, &shipped::name);
    if (found == all.end()) {
        std::error_code none;
        if (std::filesystem::exists(name, none)) return take_accelerate_file(name, by);
        throw refusal{llmres::refused(llmres::error_code::unknown, "accelerate_config", name,
                                      "a file, or single_gpu, multi_gpu, zero1, zero2, zero3, fsdp1 or fsdp2")};
    }
    given_settings given{{"distributed_type", {std::string{found->distributed_type}}}, {"mixed_precision", {"bf16"}}};
    if (!found->zero_stage.empty()) given["deepspeed_config.zero_stage"] = {std::string{found->zero_stage}};
    if (found->distributed_type == "FSDP") given["fsdp_config.fsdp_version"] = {name.substr(4)};
    by.told = told_by(accelerate_trainer, given);
    if (by.processes == 0) by.processes = name == "single_gpu" ? 1 : 8;
}

trained_job job_of_launched(const launched_processes& by, std::int64_t micro_batch, std::int64_t accumulation) {
    told_settings told;
    told.kept["micro_batch"] = std::to_string(micro_batch);
    told.kept["accumulation"] = std::to_string(accumulation);
    job_options job{std::move(told), by};
    const std::int64_t data = job.lay_out(1);
    job.batch(micro_batch, data);
    job.shard_by_accelerate();
    return job.finished();
}

}  // namespace program
