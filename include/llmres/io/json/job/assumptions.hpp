// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/model_head.hpp>
#include <llmres/io/json/writer.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/units.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

/// What a job document leaves unsaid, and its plan had to assume.
namespace llmres::inline v0::detail {

/// Adds the keys that a document leaves unsaid, with the values that were taken.
class assumption_list {
public:
    explicit assumption_list(const nlohmann::json& document) : document_{document} {}

    /// Adds a value under a key, unless the document has the key.
    void add(const char* key, const json_entry& value) {
        if (!says(key)) assumed_[key] = value.take();
    }
    /// Adds a format, unless the document has it under its own name, letter case and separators aside: "4bit" is nf4.
    void add_format(const char* key, const std::string& name) {
        if (!says(key) ||
            (document_[key].is_string() && !same_name(document_[key].get_ref<const std::string&>(), name)))
            assumed_[key] = name;
    }
    bool says(const char* key) const { return document_.contains(key) && !document_[key].is_null(); }
    bool says(const char* object, const char* key) const {
        return says(object) && document_[object].is_object() && document_[object].contains(key);
    }
    json_value& list() { return assumed_; }

private:
    const nlohmann::json& document_;
    json_value assumed_ = json_value::object();
};

/// What a document names under a key, as a string or in an object's field; empty where it names nothing.
inline std::string name_in(const nlohmann::json& document, const char* key, const char* field) {
    const auto outer = document.find(key);
    if (outer == document.end()) return {};
    const auto inner = outer->is_object() ? outer->find(field) : outer;
    if (outer->is_object() && inner == outer->end()) return {};
    const auto* name = inner->get_ptr<const nlohmann::json::string_t*>();
    return name != nullptr ? *name : std::string{};
}

inline void assume_serving(assumption_list& a, const job& j) {
    if (!a.says("prompt") && !a.says("output")) a.add("context", context_of(j).in(tokens));
    a.add("prompt", prompt_of(j).in(tokens));
    a.add("batch", j.batch);
    a.add_format("kv_cache", std::string{kv_cache_of(j).name.view()});
}

/// Lists kind, rank and targets of a low-rank adapter that the document makes, or that software makes which it names.
inline void assume_adapter(assumption_list& a, const job& j, bool by_stack) {
    if (!j.adapter.low_rank() || !(a.says("adapter", "kind") || by_stack)) return;
    if (!a.says("adapter", "kind")) a.list()["adapter_kind"] = name_of(j.adapter.kind);
    if (!a.says("adapter", "rank")) a.list()["adapter_rank"] = j.adapter.rank;
    if (!a.says("adapter", "dropout") && j.adapter.dropout > 0) a.list()["adapter_dropout"] = j.adapter.dropout;
    if (!a.says("adapter", "targets")) a.list()["adapter_targets"] = "all-linear";
}

/// Lists what a document leaves unsaid of rollouts: the engine with what it is asked, and the lengths of answers.
inline void assume_rollout(assumption_list& a, const nlohmann::json& whole, const rollout_request& asked) {
    const rollout& r = asked.rollout;
    const auto add = [&](const char* key, const json_entry& value) {
        if (!a.says("rollout", key)) a.list()[std::string{"rollout_"} + key] = value.take();
    };
    const nlohmann::json engine = engine_of(whole.value("rollout", nlohmann::json::object()));
    add("engine", r.engine.runtime.identity.name.view());
    for (const auto& [key, value] : engine.items())
        if (key != "name" && key != "gpu_memory_utilization" && !a.says("rollout", "engine") &&
            !a.says("rollout", key.c_str()))
            a.list()["rollout_" + key] = same_json<json_value>(value);
    if (r.engine.runtime.cache.fraction) add("gpu_memory_utilization", *r.engine.runtime.cache.fraction);
    add("generations", r.generations);
    add("prompt", r.engine.prompt.in(tokens));
    add("output", r.engine.output.in(tokens));
    add("mean_output", (r.mean_output > token_count{} ? r.mean_output : r.engine.output).in(tokens));
    if (!r.uses_trained_weights) add("tensor", r.layout.tensor);
    add("sleep", name_of(r.sleep));
    add("scores_again", r.scores_again);
}

/// Lists what software sets of its runtime, its layout and what is offloaded, where the document leaves it unsaid; and
/// the version that these defaults are of.
inline void assume_defaults_of(assumption_list& a, const nlohmann::json& document, const training_stack& stack) {
    const nlohmann::json whole = with_defaults_of_stack(document).value_or(document);
    for (const char* object : {"runtime", "layout", "offload"})
        if (const auto set = whole.find(object); set != whole.end() && set->is_object())
            for (const auto& [key, value] : set->items())
                if (key != "name" && !a.says(object, key.c_str()))
                    a.list()[std::string_view{object} == "offload" ? "offload_" + key : key] =
                        same_json<json_value>(value);
    a.list()["defaults_of"] = stack.read_in.substr(0, stack.read_in.find(','));
}

inline void assume_training(assumption_list& a, const nlohmann::json& document, const job& j) {
    const training_stack* const stack = stack_of(document);
    a.add("sequence", sequence_of(j).in(tokens));
    if (const std::string_view head = head_name(j.model); !head.empty()) a.add("head", head);
    a.add("micro_batch", j.micro_batch);
    if (learns_from_teacher(j.preference)) {
        a.add("teacher_weights", j.teacher.weights.name.view());
        a.add("beta", j.beta);
        if (stack != nullptr) a.list()["answers"] = "given";  // none is generated in training (lmbda 0)
    }
    if (has_reference(j.preference) || learns_from_rollouts(j.preference)) a.add("reference", name_of(reference_of(j)));
    a.add("optimizer", j.optimizer.name.view());
    const maybe<precision> master = j.adapter.trains() ? maybe<precision>{} : master_weights_of(j);
    a.add("master_weights", master ? std::string{(*master).name.view()} : std::string{"none"});
    const precision& states = j.adapter.trains() ? adapter_states_of(j) : optimizer_states_of(j);
    if (j.optimizer.block == 0)  // else the optimizer has 8-bit states
        a.add("optimizer_states", (j.optimizer.widens ? fp32 : states).name.view());
    a.add("recompute", name_of(j.recompute));
    if (has_recurrence(j.model) && !a.says("runtime", "scan")) a.list()["scan"] = name_of(j.runtime.kernels.scan);
    assume_adapter(a, j, stack != nullptr);
    if (stack != nullptr) assume_defaults_of(a, document, *stack);
}

/// What a document leaves unsaid of all that changes its plan: the task, formats, lengths, batches, the optimizer with
/// its copy of the weights, the runtime's version, the number of GPUs, and a host's main memory where something lies
/// there (null: unknown).
inline json_value assumptions_of(const nlohmann::json& document, const plan_request& request, bool uses_host) {
    const job& j = request.job;
    assumption_list a{document};
    a.add("task", name_of(j.task));
    a.add_format("weights", j.gguf ? mix_name(*j.gguf) : std::string{weights_of(j).name.view()});
    a.add_format("compute", std::string{j.compute.name.view()});
    trains(j) ? assume_training(a, document, j) : assume_serving(a, j);
    if (request.rollout) assume_rollout(a, with_defaults_of_stack(document).value_or(document), *request.rollout);
    if (request.fitted) {
        a.list()["gpu_layers"] = j.options.gpu_layers.value_or(j.model.layers.size + 1);
        if (j.options.experts_on_host)
            a.list()["n_cpu_moe"] =
                j.options.host_expert_layers > 0 ? j.options.host_expert_layers : j.model.layers.size;
    }
    const std::string runtime = name_in(document, "runtime", "name");
    if (runtime.empty())
        a.list()["runtime"] = j.runtime.identity.name.view();
    else if (runtime.find('@') == std::string::npos)
        a.list()["runtime_versions"] = j.runtime.identity.versions.view();
    if (a.says("cluster") && document["cluster"].is_object())
        if (const std::string typed = name_in(document, "cluster", "gpu");
            !typed.empty() && !other_gpus_of_that_name(typed).empty())
            a.list()["gpu"] = request.cluster.gpu.id.view();
    if (!a.says("cluster", "gpus") && !a.says("cluster", "device")) a.list()["gpus"] = request.cluster.gpus;
    if (uses_host && request.cluster.host.memory == byte_count{}) a.list()["host_memory"] = nullptr;
    return std::move(a.list());
}

}  // namespace llmres::inline v0::detail
