// SPDX-License-Identifier: MIT
#pragma once

#include "commands.hpp"
#include "deepspeed_config.hpp"
#include "trainers.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <llmres/values/text.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace program {

/// Writes the options of a job.
class job_options {
public:
    job_options(told_settings told, const launched_processes& by) : told_{std::move(told)}, by_{by} {
        job_.options = std::move(told_.options);
        job_.notes = std::move(told_.notes);
    }

    const told_settings& told() const { return told_; }
    void note(std::string sentence) { job_.notes.push_back(std::move(sentence)); }
    void set(std::string_view option, std::string_view value) {
        job_.options.push_back(fmt::format("--{}={}", option, value));
    }
    void set(std::string_view option, std::int64_t value) { set(option, std::to_string(value)); }
    void set_kept(std::string_view option, std::string_view kept) {
        if (const std::string value = told_.text(kept); !value.empty()) set(option, value);
    }
    /// The model by its name, which must be given under the setting of that name.
    void name_model(std::string_view setting) {
        const std::string model = told_.text("model");
        if (model.empty())
            throw refusal{llmres::refused(llmres::error_code::missing, setting, "absent", "the name of a model")};
        name(model);
    }
    void name(const std::string& model) { job_.options.push_back(model); }
    /// The degrees of the layout, of which a setting may be unsaid, or -1: all ranks that others leave. `visible`: GPUs
    /// where nobody says how many there are. Returns the data-parallel ranks.
    std::int64_t lay_out(std::int64_t visible) {
        const std::int64_t tensor = degree("tensor"), pipeline = degree("pipeline"), context = degree("context");
        const std::int64_t shard = of_both("shard", -1) > 0 ? degree("shard") : -1, replicate = degree("replicate");
        const std::int64_t within = product({tensor, pipeline, context});
        const std::int64_t named = product({within, std::max<std::int64_t>(shard, 1), replicate});
        std::int64_t gpus = by_.known();
        if (gpus == 0) gpus = shard > 0 ? named : std::max(visible, named);
        in_range(gpus, "gpus");
        if (gpus % within != 0)
            throw refusal{llmres::refused(
                llmres::error_code::inconsistent, "gpus", std::to_string(gpus),
                fmt::format("a multiple of the tensor, pipeline and context-parallel ranks: {}", within))};
        const std::int64_t data = gpus / within;
        if (shard > 0 ? shard * replicate != data : data % replicate != 0)
            throw refusal{llmres::refused(llmres::error_code::inconsistent, "gpus", std::to_string(gpus),
                                          fmt::format("{}, as all degrees of parallelism multiply to", named))};
        set("gpus", gpus);
        set("data", data);
        for (const auto& [option, ranks] :
             {std::pair{"tensor", tensor}, std::pair{"pipeline", pipeline}, std::pair{"context_parallel", context},
              std::pair{"expert", degree("expert")}})
            if (ranks > 1) set(option, ranks);
        if (replicate > 1 && shard != 1) set("shard_replicas", replicate);
        return data;
    }
    /// What a step computes. `micro_batch` and `accumulation`: the trainer's own, where none is said.
    std::int64_t batch(std::int64_t micro_batch, std::int64_t data, std::int64_t accumulation = 1) {
        set_kept("micro_batch", "micro_batch");
        batch_ = {in_range(told_.number("micro_batch", micro_batch), "micro_batch"),
                  in_range(told_.number("accumulation", accumulation), "accumulation"), by_.known() > 1 ? data : 0};
        const std::int64_t sequences = batch_.per_device * batch_.accumulation * data;
        set("global_batch", sequences);
        job_.sequences = sequences;
        return sequences;
    }
    /// What is trained in all: so many steps, else passes over samples of which the caller knows the number.
    void trained(std::int64_t sequences, std::string_view epochs) {
        const std::int64_t steps = told_.number("steps", 0);
        if (steps > 0) {
            set("samples", all_of(steps, sequences));
            set("epochs", "1");
        } else {
            const std::string said = told_.text("epochs");
            set("epochs", said.empty() ? epochs : said);
        }
    }
    /// A low-rank adapter, unless it is "none". `unsaid`: the trainer's own, where nothing but its settings are said.
    void adapter(std::string_view unsaid = "") {
        std::string kind = told_.text("adapter");
        for (const char* part : {"rank", "dropout", "targets", "dora", "rslora"})
            if (kind.empty() && told_.kept.contains(part)) kind = unsaid;
        if (kind.empty()) return;
        set("adapter_kind", told_.is("dora") ? "dora" : told_.is("rslora") ? "rslora" : kind);
        if (kind == "none") return;
        set_kept("adapter_rank", "rank");
        set_kept("adapter_dropout", "dropout");
        const std::string targets = names_in(told_.text("targets"));
        if (targets == "all" || targets == "all-linear")
            set("adapter_targets", "all-linear");
        else if (!targets.empty())
            set("adapter_targets", targets);
    }
    /// The modules that a regular expression ends with: model.layers.[\\d]+.(mlp|self_attn).(up|down)_proj. Any other
    /// text as it is.
    static std::string names_in(const std::string& expression) {
        const std::size_t open = expression.rfind('('), close = expression.rfind(')');
        if (open == std::string::npos || close == std::string::npos || close < open) return expression;
        std::string_view parts = std::string_view{expression}.substr(open + 1, close - open - 1);
        std::string names;
        while (!parts.empty())
            names += fmt::format("{}{}{}", names.empty() ? "" : ",", llmres::detail::taken_before(parts, "|"),
                                 std::string_view{expression}.substr(close + 1));
        return names;
    }
    /// FSDP, of the trainer's own settings or of accelerate's. `strategy`: one of FULL_SHARD, SHARD_GRAD_OP, ... or the
    /// number that accelerate knows it by; empty: FULL_SHARD.
    void shard(std::string strategy, const told_settings& from) {
        for (char& c : strategy) c = llmres::detail::lower_case(c);
        const std::string reshard = from.text("fsdp_reshard");
        const bool of_gradients = strategy.find("shard_grad_op") != std::string::npos || strategy == "2" ||
                                  reshard == "false" || reshard == "False" || reshard == "SHARD_GRAD_OP";
        const bool is_off = strategy.find("no_shard") != std::string::npos || strategy == "3";
        set("zero", is_off ? "0" : of_gradients ? "2" : "3");
        if (strategy.find("hybrid") != std::string::npos)
            note("HYBRID_SHARD repeats the shards on each node: --shard_replicas N says how many there are");
        if (from.is("fsdp_offload") || strategy.find("offload") != std::string::npos) {
            set("offload_parameters", "host");
            set("offload_optimizer", "host");
        }
        if (from.is("fsdp_recompute")) set("recompute", "full");
        if (const std::string files = from.text("state_dict"); !files.empty() && !is_off)
            set("checkpoint_files", files);
        set("fully_shard", from.number("fsdp_version", 1) == 2 ? "true" : "false");
    }
    /// DeepSpeed's own configuration. One that is not here is taken for what its name says.
    void shard_by_deepspeed(const std::string& file) {
        std::error_code none;
        const bool is_here = std::filesystem::exists(file, none), is_file = file.ends_with(".json");
        if (is_here && is_file) check_deepspeed_batch(file, batch_);
        if (is_here || !is_file) return set("deepspeed", file);
        const std::string name = file.substr(file.find_last_of("/\\") + 1);
        const std::size_t stage = name.find_first_of("123");
        if (stage == std::string::npos || stage == 0 || (name[stage - 1] != 'z' && !name.starts_with("zero")))
            return set("deepspeed", file);  // whatever reads it says why not
        const std::string word = fmt::format("zero{}", name[stage]);
        set("deepspeed", word);
        const bool offloads = name.find("offload") != std::string::npos;
        if (offloads && name[stage] == '3') set("offload_parameters", "host");
        if (offloads && name.find("params") == std::string::npos) set("offload_optimizer", "host");
        note(fmt::format("{} is not here: it is taken for {}, by its name", file, word));
    }
    /// What accelerate's file says of sharding.
    void shard_by_accelerate() {
        const told_settings& from = by_.told;
        job_.options.insert(job_.options.end(), from.options.begin(), from.options.end());
        job_.notes.insert(job_.notes.end(), from.notes.begin(), from.notes.end());
        if (from.text("type") == "fsdp") shard(from.text("fsdp_strategy"), from);
        if (from.text("type") != "deepspeed") return;
        if (const std::string file = from.text("deepspeed"); !file.empty()) return shard_by_deepspeed(file);
        set("deepspeed", fmt::format("zero{}", from.number("zero", 2)));
        if (from.is("save_16bit") && from.number("zero", 2) == 3) set("checkpoint_files", "gathered");
    }
    /// The arithmetic that accelerate's file names, where nothing else does.
    void compute_by_accelerate() {
        const std::string compute = by_.told.text("compute");
        if (!compute.empty() && !says("compute")) set("compute", compute);
    }
    /// Whether an option is set.
    bool says(std::string_view option) const {
        const std::string start = fmt::format("--{}=", option);
        return std::ranges::any_of(job_.options, [&](const std::string& set) { return set.starts_with(start); });
    }
    trained_job finished() { return std::move(job_); }

    /// A number of which products of three hold.
    static std::int64_t in_range(std::int64_t number, std::string_view name,
                                 std::int64_t most = std::int64_t{1} << 20) {
        if (number < 1 || number > most)
            throw refusal{llmres::refused(llmres::error_code::out_of_range, name, std::to_string(number),
                                          fmt::format("a whole number from 1 to {}", most))};
        return number;
    }
    /// The sequences of so many steps.
    static std::int64_t all_of(std::int64_t steps, std::int64_t sequences) {
        return in_range(steps, "steps", std::int64_t{1} << 32) *
               in_range(sequences, "global_batch", std::int64_t{1} << 28);
    }

private:
    std::int64_t of_both(std::string_view name, std::int64_t otherwise) const {
        return told_.number(name, by_.told.number(name, otherwise));
    }
    /// A degree; one that is not said, or said to be 0 or -1, is 1.
    std::int64_t degree(std::string_view name) const {
        return in_range(std::max<std::int64_t>(of_both(name, 1), 1), name);
    }
    static std::int64_t product(std::initializer_list<std::int64_t> degrees) {
        std::int64_t all = 1;
        for (const std::int64_t one : degrees) all = in_range(all * one, "gpus");
        return all;
    }

    told_settings told_;
    trainer_batch batch_{};  ///< of what batch() was told
    const launched_processes& by_;
    trained_job job_{};
};

}  // namespace program
