// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <llmres/io/files.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/field_writer.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

/// A job document for each field that documents have, with a value for it.
namespace job_documents {

using namespace llmres;
using nlohmann::json;

inline const std::string devices = LLMRES_SOURCE_DIR "/tests/data/devices/";
inline const std::string h100_file = devices + "synthetic-h100-sxm5-80gb.json";

inline std::string content_of(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

inline json minimal() { return {{"model", "llama-3.1-8b"}, {"cluster", {{"gpu", "rtx-4090"}}}}; }

/// What must have been answered; otherwise the error is shown.
template <class T>
T answered(const result<T>& given) {
    const error& e = given.error();
    INFO(std::string{e.field.view()} << " is " << std::string{e.value.view()} << ": "
                                     << std::string{e.expected.view()});
    REQUIRE(given);
    return *given;
}

inline plan_request read(const json& document, const std::filesystem::path& folder = {}) {
    CAPTURE(document.dump());
    return answered(read_job(document, folder));
}

/// With the document's layout, or with one that the planner chooses.
inline job_plan planned(const plan_request& asked) {
    return answered(asked.layout ? plan(asked.job, *asked.layout, asked.cluster) : plan(asked.job, asked.cluster));
}

/// A value other than the default for a field that is read by hand, and what it must have set.
struct example {
    json value;
    std::function<bool(const plan_request&)> seen;
};

/// One for each job_field without a C++ field of its own, by object and name.
inline const std::map<std::string, example>& examples() {
    using r = const plan_request&;
    static const std::map<std::string, example> all{
        {".task", {"finetuning", [](r q) { return q.job.task == task::finetuning; }}},
        {".head", {"embedding", [](r q) { return !generates(q.job.model); }}},
        {".labels", {5, [](r q) { return classes_of(q.job.model) == 5; }}},
        {".weights", {"fp8_e4m3", [](r q) { return q.job.weights == maybe<precision>{fp8_e4m3}; }}},
        {"lengths.mean", {7, [](r q) { return q.lengths && q.lengths->mean == tokens(7); }}},
        {"lengths.longest", {7, [](r q) { return q.lengths && q.lengths->longest == tokens(7); }}},
        {".optimizer", {"sgd", [](r q) { return q.job.optimizer == sgd; }}},
        {".optimizer_in_bwd", {true, [](r q) { return q.job.optimizer.in_backward; }}},
        {".gradients", {"fp32", [](r q) { return q.job.gradients == maybe<precision>{fp32}; }}},
        {".master_weights", {"bf16", [](r q) { return q.job.master_weights == maybe<precision>{bf16}; }}},
        {".recompute_modules",
         {"layernorm,moe_act",
          [](r q) { return q.job.recompute_modules == layer_part_set{layer_part::layernorm, layer_part::moe_act}; }}},
        {"adapter.targets",
         {"q_proj,v_proj",
          [](r q) { return q.job.adapter.targets == role_set{weight_role::q_proj, weight_role::v_proj}; }}},
        {"offload.modules",
         {"core_attn,expert_fc1",
          [](r q) { return q.job.offload.modules == layer_part_set{layer_part::core_attn, layer_part::expert_fc1}; }}},
        {"layout.stages",
         {"20|12", [](r q) { return q.layout->stages.chunks == 2 && q.layout->stages.layers[0] == 20; }}},
        {"layout.tensor_split",
         {"3,1", [](r q) { return q.layout->stages.chunks == 2 && q.layout->stages.layers[0] > 20; }}},
        {"cluster.gpu", {"h100-sxm5-80gb", [](r q) { return q.cluster.gpu.id == "h100-sxm5-80gb"; }}},
        {"cluster.device",
         {h100_file, [](r q) { return q.device == h100_file && q.cluster.gpu.name == "NVIDIA H100 80GB HBM3"; }}},
        {"cluster.gpu_memory", {gib(20).in(bytes), [](r q) { return usable_memory(q.cluster.gpu) == gib(20); }}},
        {"cluster.gpu_bandwidth", {9e11, [](r q) { return q.cluster.gpu.memory.bandwidth == gb_per_s(900); }}},
        {"cluster.gpu_flops", {9e13, [](r q) { return q.cluster.gpu.rates.bf16 == tflops(90); }}},
        {".experts_down", {"iq5_ks", [](r q) { return q.job.model.mixed.experts_down == maybe<precision>{iq5_ks}; }}},
        {"cluster.gpus", {5, [](r q) { return q.cluster.gpus == 5; }}},
        {"cluster.scale_up", {"pcie-gen3-x16", [](r q) { return q.cluster.scale_up.id == "pcie-gen3-x16"; }}},
        {"cluster.scale_out", {"ib-hdr-200", [](r q) { return q.cluster.scale_out.id == "ib-hdr-200"; }}},
        {"host.link", {"pcie-gen3-x4", [](r q) { return q.cluster.host.link.id == "pcie-gen3-x4"; }}},
        {"runtime.runtime", {"vllm", [](r q) { return q.job.runtime.identity.name == "vllm"; }}},
        {"runtime.gpu_memory_utilization",
         {0.5, [](r q) { return q.job.runtime.cache.fraction == maybe<double>{0.5}; }}},
        {"runtime.fit", {true, [](r q) { return q.fitted; }}},
        {"runtime.fused_norms", {true, [](r q) { return q.job.runtime.kernels.norm == norm_code::fused; }}},
        {"runtime.fused_gates", {true, [](r q) { return q.job.runtime.kernels.gate == gate_code::in_place; }}},
        {"runtime.fused_adapters", {true, [](r q) { return q.job.runtime.kernels.adapters == adapter_code::fused; }}},
        {"runtime.fully_shard", {true, [](r q) { return q.job.runtime.sharding.code == sharding_code::fsdp2; }}},
        {"runtime.gradient_accumulation_fusion",
         {false, [](r q) { return q.job.runtime.kernels.linear == linear_code::plain; }}},
        {"runtime.cuda", {11, [](r q) { return q.job.runtime.process.context.expected == mib(1823); }}},
        {"runtime.draft", {"llama-3.2-1b", [](r q) { return q.job.options.draft_kv == bytes_a_token(32768); }}},
        {"rollout.engine", {"sglang", [](r q) { return q.rollout->rollout.engine.runtime.identity.name == "sglang"; }}},
        {"rollout.prompt", {7, [](r q) { return q.rollout->rollout.engine.prompt == tokens(7); }}},
        {"rollout.output", {7, [](r q) { return q.rollout->rollout.engine.output == tokens(7); }}},
        {"rollout.weights",
         {"fp8_e4m3", [](r q) { return q.rollout->rollout.engine.weights == maybe<precision>{fp8_e4m3}; }}},
        {"rollout.kv_cache",
         {"fp8_e4m3", [](r q) { return q.rollout->rollout.engine.kv_cache == maybe<precision>{fp8_e4m3}; }}},
        {"rollout.tensor", {2, [](r q) { return q.rollout->rollout.layout.tensor == 2; }}},
        {"rollout.gpu_memory_utilization",
         {0.25, [](r q) { return q.rollout->rollout.engine.runtime.cache.fraction == maybe<double>{0.25}; }}},
        {"rollout.max_num_seqs", {7, [](r q) { return q.rollout->rollout.engine.options.max_num_seqs == 7; }}},
        {"rollout.max_num_batched_tokens",
         {700, [](r q) { return q.rollout->rollout.engine.runtime.step.max_batched_tokens == tokens(700); }}},
        {"rollout.gpus",
         {3, [](r q) { return q.rollout->rollout.own_gpus && q.rollout->rollout.own_gpus->gpus == 3; }}},
        {"rollout.gpu",
         {"l4-24gb",
          [](r q) { return q.rollout->rollout.own_gpus && q.rollout->rollout.own_gpus->gpu.id == "l4-24gb"; }}},
        {"rollout.reward",
         {"qwen3-0.6b", [](r q) { return q.rollout->reward && q.rollout->reward->scores.model.name == "qwen3-0.6b"; }}},
        {".image", {"280x280", [](r q) { return q.job.images.count == 1 && q.job.images.patches == tokens(400); }}},
        {".images", {3, [](r q) { return q.job.images.count == 3; }}},
        {".image_patches", {77, [](r q) { return q.job.images.patches == tokens(77); }}},
        {"prefill.gpus", {3, [](r q) { return q.prefill && q.prefill->cluster.gpus == 3; }}},
        {"prefill.gpu", {"l4-24gb", [](r q) { return q.prefill && q.prefill->cluster.gpu.id == "l4-24gb"; }}},
        {"prefill.tensor", {1, [](r q) { return q.prefill && q.prefill->layout && q.prefill->layout->tensor == 1; }}},
        {".teacher", {"llama-3.1-70b", [](r q) { return q.job.teacher.name == "llama-3.1-70b"; }}},
        {".teacher_weights", {"fp32", [](r q) { return q.job.teacher.weights == fp32; }}},
        {"cost.currency", {"EUR", [](r q) { return q.cost && q.cost->currency == text<3>{"EUR"}; }}},
        {"cost.gpu_life", {4, [](r q) { return q.cost && q.cost->gpu_life == month * 48; }}},
        {"cost.carbon", {400, [](r q) { return q.cost && q.cost->carbon == maybe{kilograms(0.4) / kwh(1)}; }}},
        {"cost.prices",
         {{{"rtx-4090", {{"price", 1800}, {"life", 4}}}},
          [](r q) { return q.cost && q.cost->gpu_price == maybe{currency(1800)}; }}},
    };
    return all;
}

/// A runtime that has the knob.
inline std::string runtime_with(const job_field& f) {
    if (f.name == "fit") return "llama.cpp";
    const std::string_view having = runtimes_with(f.name);
    return having.empty() ? "vllm" : std::string{having.substr(0, having.find(','))};
}

/// A document that gives the field a value, and beside it what the field needs.
inline json with(const job_field& f, const json& value) {
    json document = minimal();
    const std::string name{f.name};
    if (f.group == "Training" || f.group == "Adapter" || f.group == "Offload" || f.group == "Run" ||
        f.object == "checkpoint")
        document["task"] = "pretraining";
    if (name == "teacher" || name == "teacher_weights" || name == "beta") {
        document["task"] = "gkd";
        document["teacher"] = "llama-3.1-70b";
    }
    if (name == "image" || name == "images" || name == "image_patches") {
        document["model"] = "qwen2.5-vl-7b";
        if (name == "images") document["image_patches"] = 400;
    }
    if (f.object == "rollout") document["task"] = "grpo";
    if (f.object == "rollout" && name == "reward") document["runtime"] = "trl";
    if (f.object.empty() || name == "runtime")
        document[name] = value;
    else if (f.object == "host")
        document["cluster"]["host"][name] = value;
    else if (f.object == "runtime")
        document["runtime"] = {{"name", runtime_with(f)}, {name, value}};
    else
        document[std::string{f.object}][name] = value;
    if (name == "device") document["cluster"].erase("gpu");
    if (name == "labels") document["head"] = "classification";
    if (name == "experts_down") document["weights"] = "iq4_ks";
    if (name == "draft_tokens") document["runtime"]["acceptance"] = 0.5;
    if (name == "acceptance") document["runtime"]["draft_tokens"] = 3;
    if (f.object == "lengths" && name == "longest") document["lengths"]["mean"] = 1;
    if (f.object == "adapter")
        document["adapter"].emplace(name == "kind" ? "rank" : "kind", name == "kind" ? json(8) : json("lora"));
    if (f.object == "adapter" && name != "rank" && name != "kind") document["adapter"]["rank"] = 8;
    if (name == "recompute_modules") document["recompute"] = "selective";
    if (name == "epochs" || name == "sample_tokens") document["run"]["samples"] = 1000;
    if (f.object == "run" && f.place.type->kind != detail::constant_kind::tokens &&
        !document["run"].contains("samples"))
        document["run"]["tokens"] = 1'000'000'000;
    if (name == "mtbf" || name == "gpu_mtbf" || name == "checkpoint_interval" || name == "restart")
        document["run"]["checkpoint"] = 1;
    if (f.object == "storage") document["storage"].emplace("bandwidth", 1e9);
    if (name == "checkpoint") document["run"]["checkpoint_interval"] = 1;
    if (name == "restart") document["run"]["mtbf"] = 1000;
    if (name == "gpu_price") document["cost"]["gpu_life"] = 4;
    return document;
}

/// The same document without the field.
inline json without(const job_field& f) {
    json plain = minimal();
    if (f.object == "layout") plain["layout"] = json::object();
    if (f.object == "rollout") plain["task"] = "grpo";
    if (f.object == "runtime" && f.name != "runtime") plain["runtime"] = runtime_with(f);
    return plain;
}

/// What a row's C++ field holds.
inline json held(const job_field& f, plan_request asked) {
    namespace rows = detail::job_field_rows;
    const auto in = [&](auto& owner) {
        return f.place.owner == &rows::id_of<std::remove_reference_t<decltype(owner)>> ? f.place.in(&owner) : nullptr;
    };
    llmres::rollout generated = asked.rollout != nullptr ? asked.rollout->rollout : llmres::rollout{};
    for (void* at :
         {in(generated), in(asked.job), in(asked.layout.value), in(asked.job.adapter), in(asked.job.offload),
          in(asked.cluster), in(asked.cluster.host), in(asked.job.runtime), in(asked.job.options), in(asked.run.value),
          in(asked.cost.value), in(asked.stored.storage.value), in(asked.stored.checkpoint.value)})
        if (at != nullptr) return json::parse(detail::value_to_json(*f.place.type, at).dump());
    return "no such struct";
}

/// A value other than the default.
inline json another_value(const job_field& f) {
    const auto found = examples().find(std::string{f.object} + "." + std::string{f.name});
    if (found != examples().end()) return found->second.value;
    const json now = held(f, read(without(f)));
    const detail::constant_type& type = f.place.type->if_known != nullptr ? *f.place.type->if_known : *f.place.type;
    switch (f.type) {
        case field_type::flag: return now != json(true);
        case field_type::real: return (f.low + f.high) / (now == json((f.low + f.high) / 2) ? 4 : 2);
        case field_type::integer: return static_cast<std::int64_t>(f.low) + (now == json(f.low + 2) ? 1 : 2);
        default: break;
    }
    if (type.kind != detail::constant_kind::choice) return "fp8_e5m2";
    return std::string{type.names[now == json(type.names[0]) ? 1 : 0]};
}

}  // namespace job_documents
