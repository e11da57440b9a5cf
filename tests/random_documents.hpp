// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/find_names.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/layout_rules.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "properties.hpp"

/// Random job documents. LLMRES_RANDOM_SEED=n makes others.
namespace random_documents {

using namespace llmres;
using document = nlohmann::json;

inline std::int64_t from_environment(const char* name, std::int64_t otherwise) {
    const char* said = std::getenv(name);
    return said != nullptr ? std::atoll(said) : otherwise;
}

/// Random choices.
class dice {
public:
    dice() { random_.state += static_cast<std::uint64_t>(from_environment("LLMRES_RANDOM_SEED", 0)); }

    std::int64_t below(std::int64_t n) {
        return static_cast<std::int64_t>(random_.bits() % static_cast<std::uint64_t>(n));
    }
    bool chance(int percent) { return below(100) < percent; }
    template <class T>
    T pick(std::initializer_list<T> from) {
        return from.begin()[below(static_cast<std::int64_t>(from.size()))];
    }
    template <class List>
    const auto& one_of(const List& list) {
        return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
    }
    /// A power of two up to `most`.
    std::int64_t power(std::int64_t most) {
        std::int64_t n = 1;
        while (n * 2 <= most && chance(55)) n *= 2;
        return n;
    }

private:
    properties::generator random_;
};

inline std::string runtime_name(const runtime& r) { return std::string{r.identity.name.view()}; }

inline document random_adapter(dice& d) {
    document a{{"kind", names_of<adapter_kind>[static_cast<std::size_t>(1 + d.below(7))]}};
    a["rank"] = d.pick({1, 8, 16, 64});
    if (d.chance(60)) a["targets"] = d.pick({"all-linear", "attention", "q_proj,v_proj", "up_proj,down_proj"});
    if (d.chance(30)) a["dropout"] = 0.1;
    return a;
}

/// A layout that the runtime runs. Most trained models are on few tensor ranks.
inline document random_training_layout(dice& d, const runtime& r) {
    const layout_rules& runs = r.layouts;
    document l = document::object();
    if (runs.tensor && (runs.sequence_parallel || d.chance(10))) l["tensor"] = d.power(8);
    if (runs.sequence_parallel && l.value("tensor", 1) > 1 && d.chance(50)) l["sequence_parallel"] = true;
    if (runs.pipeline && d.chance(30)) l["pipeline"] = d.power(8);
    if (runs.virtual_pipeline && l.value("pipeline", 1) > 1 && d.chance(30)) l["virtual_pipeline"] = 2;
    if (d.chance(60)) l["data"] = d.power(16);
    if (runs.context_parallel && d.chance(10)) l["context_parallel"] = 2;
    if (runs.expert && d.chance(25)) l["expert"] = d.power(8);
    const std::int32_t zero = l.value("pipeline", 1) > 1 ? runs.most_zero_with_pipeline : runs.most_zero;
    if (d.chance(60)) l["zero"] = d.below(zero + 1);
    return l;
}

inline document random_training_job(dice& d) {
    document j{{"model", d.one_of(models::all)->name.view()}, {"task", d.chance(60) ? "pretraining" : "finetuning"}};
    const runtime& r = *d.one_of(runtimes::all);
    j["runtime"] = {{"name", runtime_name(r)}};
    j["sequence"] = d.pick({128, 512, 2048, 4096, 8192, 32768});
    j["micro_batch"] = d.power(8);
    if (d.chance(50)) j["optimizer"] = d.one_of(optimizers).name.view();
    if (d.chance(40)) j["attention"] = d.pick({"eager", "sdpa", "flash"});
    if (d.chance(25)) j["weights"] = d.pick({"fp32", "bf16", "fp16"});
    if (d.chance(15)) j["dropout"] = true;
    if (d.chance(40)) j["recompute"] = d.pick({"selective", "full"});
    if (d.chance(15)) j["gradients"] = d.pick({"fp32", "bf16"});
    if (d.chance(45)) {
        j["task"] = "finetuning";
        j["adapter"] = random_adapter(d);
        if (d.chance(40)) j["weights"] = d.pick({"nf4", "bnb_int8", "bf16"});
    }
    if (d.chance(12)) j["offload"]["optimizer"] = d.pick({"host", "nvme"});
    if (d.chance(12)) j["offload"]["activations"] = d.pick({"host", "nvme"});
    if (d.chance(10)) j["varied_lengths"] = true;
    if (d.chance(8)) j["mtp_layers"] = 1 + d.below(2);
    const document l = random_training_layout(d, r);
    std::int64_t gpus = 1;
    for (const char* degree : {"tensor", "pipeline", "data", "context_parallel"})
        gpus *= l.value(degree, std::int64_t{1});
    j["global_batch"] = j["micro_batch"].get<std::int64_t>() * l.value("data", std::int64_t{1}) * d.power(16);
    j["layout"] = l;
    j["cluster"] = {{"gpu", d.one_of(gpus::all)->id.view()}, {"gpus", gpus}};
    if (d.chance(30)) j["cluster"]["host"]["memory"] = std::int64_t{1} << (35 + d.below(7));
    return j;
}

inline document random_serving_job(dice& d) {
    document j{{"model", d.one_of(models::all)->name.view()}, {"task", "serving"}};
    const runtime& r = *d.one_of(runtimes::all);
    j["runtime"] = {{"name", runtime_name(r)}};
    j["context"] = d.pick({256, 1024, 2048, 4096, 8192, 16384});
    j["batch"] = d.power(64);
    if (d.chance(30)) j["attention"] = d.pick({"eager", "sdpa", "flash"});
    const char* const narrow = caches_in(r.loading, fp8_e4m3) ? "fp8_e4m3" : "fp32";
    if (d.chance(20)) j["kv_cache"] = d.pick({"bf16", narrow, "fp16"});
    if (d.chance(15)) j["max_batched_tokens"] = d.pick({512, 2048, 8192});
    j["weights"] = d.pick({"fp32", "bf16", "fp16"});
    document l = document::object();
    if (r.layouts.tensor && d.chance(50)) l["tensor"] = d.power(8);
    if (r.layouts.pipeline && d.chance(20)) l["pipeline"] = d.power(4);
    j["layout"] = l;
    j["cluster"] = {{"gpu", d.one_of(gpus::all)->id.view()},
                    {"gpus", l.value("tensor", std::int64_t{1}) * l.value("pipeline", std::int64_t{1})}};
    return j;
}

}  // namespace random_documents
