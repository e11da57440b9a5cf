// SPDX-License-Identifier: MIT
// Reads the configuration files that DeepSpeed and transformers' Trainer take behind --deepspeed.
#include "deepspeed_config.hpp"

#include "commands.hpp"

#include <fmt/format.h>
#include <array>
#include <cmath>
#include <cstdint>
#include <llmres/io/files.hpp>
#include <llmres/io/json/document.hpp>
#include <nlohmann/json.hpp>

namespace program {
namespace {

/// What a setting of DeepSpeed's is. A device is `cpu`, `nvme` or `none`.
enum class deepspeed_value : std::uint8_t { count, flag, device, name };

/// A setting of DeepSpeed's (runtime/config.py, runtime/zero/config.py and offload_config.py) and the flag it sets.
struct deepspeed_setting {
    std::string_view path;
    std::string_view flag;
    deepspeed_value value;
};
constexpr std::array deepspeed_settings{
    deepspeed_setting{"/zero_optimization/stage", "zero", deepspeed_value::count},
    deepspeed_setting{"/zero_optimization/offload_optimizer/device", "offload_optimizer", deepspeed_value::device},
    deepspeed_setting{"/zero_optimization/offload_param/device", "offload_parameters", deepspeed_value::device},
    deepspeed_setting{"/zero_optimization/reduce_bucket_size", "reduce_bucket_size", deepspeed_value::count},
    deepspeed_setting{"/zero_optimization/sub_group_size", "sub_group_size", deepspeed_value::count},
    deepspeed_setting{"/zero_optimization/overlap_comm", "overlap_comm", deepspeed_value::flag},
    deepspeed_setting{"/train_micro_batch_size_per_gpu", "micro_batch", deepspeed_value::count},
    deepspeed_setting{"/train_batch_size", "global_batch", deepspeed_value::count},
    deepspeed_setting{"/optimizer/type", "optimizer", deepspeed_value::name},
};

std::string lower_case(std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

/// The value in this program's words; nothing where it sets nothing. A value of another type is refused.
std::string in_own_words(const deepspeed_setting& setting, const nlohmann::json& value) {
    const auto other_than = [&](std::string_view expected) {
        return refusal{llmres::refused(llmres::error_code::malformed, setting.path.substr(1), value.dump(), expected)};
    };
    if (value == "auto") return {};
    switch (setting.value) {
        case deepspeed_value::flag:
            if (!value.is_boolean()) throw other_than("true, false or auto");
            return value.get<bool>() ? "true" : "false";
        case deepspeed_value::count: {
            const double count = value.is_number() ? value.get<double>() : -1;  // 5e8 is how most files write it
            if (!(count >= 0 && count < 9e15) || std::floor(count) != count) throw other_than("a whole number or auto");
            return fmt::format("{:.0f}", count);
        }
        case deepspeed_value::device:
            if (value == "cpu") return "host";
            if (value != "nvme" && value != "none" && !value.is_null()) throw other_than("cpu, nvme or none");
            return value == "nvme" ? "nvme" : "";
        case deepspeed_value::name: break;
    }
    if (!value.is_string()) throw other_than("a name");
    return lower_case(value.get<std::string>());
}

nlohmann::json config_in(std::string_view path) {
    const llmres::result<std::string> text = llmres::read_job_text(path);
    if (!text) throw refusal{llmres::refused(text.error().code, "deepspeed", path, text.error().expected)};
    return accept(llmres::parse_json_object(*text)).root;
}

/// Whether a section of a configuration is enabled.
bool turns_on(const nlohmann::json& config, const char* name) {
    const auto section = config.find(name);
    return section != config.end() && section->is_object() && section->value("enabled", nlohmann::json{}) == true;
}

}  // namespace

std::string flags_of_deepspeed_config(std::string_view path) {
    const nlohmann::json config = config_in(path);
    std::string flags = "runtime=deepspeed";
    for (const deepspeed_setting& setting : deepspeed_settings) {
        const nlohmann::json::json_pointer at{std::string{setting.path}};
        if (!config.contains(at)) continue;
        const std::string value = in_own_words(setting, config.at(at));
        if (!value.empty()) flags += fmt::format(" {}={}", setting.flag, value);
    }
    // runtime/zero/config.py: both names mean the same. Before ZeRO 3 weights are whole on each rank.
    for (const char* name : {"stage3_gather_16bit_weights_on_model_save", "stage3_gather_fp16_weights_on_model_save"}) {
        const auto zero = config.find("zero_optimization");
        if (zero != config.end() && zero->is_object() && zero->value("stage", nlohmann::json{}) == 3 &&
            zero->value(name, nlohmann::json{}) == true)
            flags += " checkpoint_files=gathered";
    }
    for (const char* format : {"bf16", "fp16"})
        if (turns_on(config, format)) flags += fmt::format(" compute={}", format);
    return flags;
}

// transformers, integrations/deepspeed.py: trainer_config_process() takes "auto" for Trainer's own, and
// trainer_config_finalize() raises an error where any other value is not that.
void check_deepspeed_batch(std::string_view path, const trainer_batch& of) {
    const nlohmann::json config = config_in(path);
    const std::int64_t of_rank = of.per_device * of.accumulation;
    const struct {
        const char *name, *of_trainer;
        std::int64_t number;
    } compared[]{{"train_micro_batch_size_per_gpu", "per_device_train_batch_size", of.per_device},
                 {"gradient_accumulation_steps", "gradient_accumulation_steps", of.accumulation},
                 {"train_batch_size", "all of Trainer's micro-batches", of_rank * of.ranks}};
    for (const auto& [name, of_trainer, number] : compared) {
        const auto said = config.find(name);
        if (number == 0 || said == config.end() || said->is_null() || *said == "auto" || *said == number) continue;
        throw refusal{
            llmres::refused(llmres::error_code::inconsistent, name, said->dump(),
                            fmt::format("auto, or {} as {}: Trainer starts with no other", number, of_trainer))};
    }
}

bool mixes_precision(std::string_view path) {
    const nlohmann::json config = config_in(path);
    return turns_on(config, "bf16") || turns_on(config, "fp16");
}

}  // namespace program
