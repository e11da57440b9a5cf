// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <llmres/cluster.hpp>
#include <llmres/error.hpp>
#include <llmres/gpus.hpp>
#include <llmres/io/config_fields.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/job.hpp>
#include <llmres/layout.hpp>
#include <llmres/links.hpp>
#include <llmres/maybe.hpp>
#include <llmres/nearest.hpp>
#include <llmres/runtimes.hpp>
#include <llmres/standard_cluster.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Jobs as JSON: {"model", "task", ...job fields, "layout": {...}, "cluster": {...}, "runtime": NAME or {"name", ...}}.
/// A key is the name of the C++ field, and of the command-line flag. What nobody knows is refused by name.
namespace llmres {

/// What a job document asks for. Without a layout the planner chooses one.
struct plan_request {
    llmres::job job{};
    maybe<llmres::layout> layout{};
    llmres::cluster cluster{};
};

/// Reads a document; `here` is the folder that relative paths of models start from.
inline result<plan_request> read_job(const nlohmann::json& document, const std::filesystem::path& here = {});
inline result<plan_request> read_job(std::string_view document, const std::filesystem::path& here = {});

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Refuses the keys of an object that no job_field names.
inline status known_keys(const nlohmann::json& object, std::string_view where, std::initializer_list<std::string_view> others) {
    std::vector<std::string_view> known{others};
    for (const job_field& f : job_fields)
        if (f.object == where) known.push_back(f.name);
    for (const auto& [key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        text<63> field{where == "host" ? "cluster.host" : where};
        if (!field.empty()) field.append(".");
        field.append(key);
        return refused(error_code::unknown, field, value.dump(), such_as("a field", nearest(key, known)));
    }
    return done{};
}

/// Reads the fields of one object of a job document into C++ fields of the same name.
class job_reader {
public:
    job_reader(const nlohmann::json& object, std::string_view where) : fields_{object, where} {}

    template <class Integer>
    void integer(const char* name, Integer& into) {
        into = static_cast<Integer>(fields_.number_or(name, into, std::numeric_limits<std::int32_t>::min(),
                                                      std::is_same_v<Integer, std::int64_t> ? most : std::int64_t{1} << 30));
    }
    void count(const char* name, token_count& into) { into = tokens(fields_.number_or(name, into.in(tokens), 0, most)); }
    void size(const char* name, byte_count& into) { into = bytes(fields_.number_or(name, into.in(bytes), 0, most)); }
    void flag(const char* name, bool& into) { into = fields_.flag_or(name, into); }
    void format(const char* name, precision& into) {
        if (!fields_.has(name)) return;
        const result<precision> found = find_precision(fields_.label(name), fields_.text_or(name, ""));
        if (!fields_.ok()) return;
        if (found) into = *found;
        else fields_.fail(found.error());
    }
    void format(const char* name, maybe<precision>& into) {
        precision read = into.value;
        if (!fields_.has(name)) return;
        format(name, read);
        into = read;
    }
    /// One of the names of an enumeration.
    template <class Enum, std::size_t N>
    void choice(const char* name, const std::array<std::string_view, N>& names, Enum& into) {
        if (!fields_.has(name)) return;
        const std::string_view typed = fields_.text_or(name, "");
        for (std::size_t i = 0; i < N; ++i)
            if (names[i] == typed) {
                into = static_cast<Enum>(i);
                return;
            }
        text<191> expected{"one of"};
        for (const std::string_view n : names) {
            expected.append(" ");
            expected.append(n);
        }
        fields_.fail(error_code::unknown, name, expected);
    }
    /// What a table knows by name.
    template <class T, class Find>
    void named(const char* name, T& into, Find&& find) {
        if (!fields_.has(name)) return;
        const std::string_view typed = fields_.text_or(name, "");
        if (!fields_.ok()) return;
        const result<T> found = find(typed);
        if (found) into = *found;
        else fields_.fail(found.error());
    }
    double real(const char* name, double fallback) { return fields_.real_or(name, fallback, 0, 1e30); }
    config_fields& fields() { return fields_; }
    status checked() const {
        if (fields_.ok()) return done{};
        return fields_.error();
    }

private:
    static constexpr std::int64_t most = std::int64_t{1} << 62;
    config_fields fields_;
};

inline result<layout> read_layout(const nlohmann::json& object) {
    if (const status s = known_keys(object, "layout", {}); !s) return s.error();
    layout l;
    job_reader read{object, "layout"};
    read.integer("tensor", l.tensor);
    read.flag("sequence_parallel", l.sequence_parallel);
    read.integer("pipeline", l.pipeline);
    read.integer("virtual_pipeline", l.virtual_pipeline);
    read.integer("data", l.data);
    read.integer("context_parallel", l.context_parallel);
    read.integer("expert", l.expert);
    read.integer("expert_tensor", l.expert_tensor);
    read.integer("zero", l.zero);
    read.integer("replicas", l.replicas);
    if (const status s = read.checked(); !s) return s.error();
    return l;
}

inline result<cluster> read_cluster(const nlohmann::json& object) {
    if (const status s = known_keys(object, "cluster", {"host"}); !s) return s.error();
    job_reader read{object, "cluster"};
    if (!read.fields().has("gpu")) return refused(error_code::missing, "cluster.gpu", "absent", "a GPU of `llmres gpus`");
    gpu card;
    std::int32_t gpus = 1;
    read.named("gpu", card, [](std::string_view id) { return find_gpu(id, "cluster.gpu"); });
    read.integer("gpus", gpus);
    if (const status s = read.checked(); !s) return s.error();
    const result<cluster> standard = standard_cluster(card, gpus);
    if (!standard) return standard.error();
    cluster c = *standard;
    read.integer("gpus_per_node", c.gpus_per_node);
    read.named("scale_up", c.scale_up, [](std::string_view id) { return find_link(id, "cluster.scale_up"); });
    read.named("scale_out", c.scale_out, [](std::string_view id) { return find_link(id, "cluster.scale_out"); });
    read.size("in_use", c.in_use);
    if (const nlohmann::json* host = read.fields().object("host"); host != nullptr) {
        if (const status s = known_keys(*host, "host", {}); !s) return s.error();
        job_reader of_host{*host, "cluster.host"};
        of_host.size("memory", c.host.memory);
        c.host.bandwidth = bytes_per_s(of_host.real("bandwidth", 0));
        of_host.integer("cores", c.host.cores);
        if (const status s = of_host.checked(); !s) return s.error();
    }
    if (const status s = read.checked(); !s) return s.error();
    return c;
}

/// A runtime by its name, or an object with the name and knobs of its own.
inline result<runtime> read_runtime(const nlohmann::json& value) {
    if (value.is_string()) return find_runtime(value.get_ref<const std::string&>());
    if (!value.is_object()) return refused(error_code::malformed, "runtime", value.dump(), "a name, or an object with a name");
    if (const status s = known_keys(value, "runtime", {"name"}); !s) return s.error();
    job_reader read{value, "runtime"};
    runtime r;
    if (!read.fields().has("name")) return refused(error_code::missing, "runtime.name", "absent", "the name of a runtime");
    read.named("name", r, [](std::string_view name) { return find_runtime(name, "runtime.name"); });
    if (read.fields().has("gpu_memory_utilization"))
        r.gpu_memory_utilization = read.real("gpu_memory_utilization", 0);
    if (const status s = read.checked(); !s) return s.error();
    return r;
}

}  // namespace detail

inline result<plan_request> read_job(const nlohmann::json& document, const std::filesystem::path& here) {
    if (!document.is_object()) return refused(error_code::malformed, "job", document.type_name(), "a JSON object");
    if (const status s = detail::known_keys(document, "", {"model", "layout", "cluster", "runtime"}); !s) return s.error();

    plan_request request;
    job& j = request.job;
    const auto model_field = document.find("model");
    if (model_field == document.end())
        return refused(error_code::missing, "model", "absent", "a model of `llmres models`, or a config.json");
    const result<model> described = read_model_source(*model_field, here);
    if (!described) return described.error();
    j.model = *described;

    detail::job_reader read{document, ""};
    read.choice("task", task_names, j.task);
    read.format("weights", j.weights);
    read.format("kv_cache", j.kv_cache);
    read.format("compute", j.compute);
    read.format("gradients", j.gradients);
    read.format("master_weights", j.master_weights);
    read.format("optimizer_states", j.optimizer_states);
    read.integer("batch", j.batch);
    read.count("prompt", j.prompt);
    read.count("output", j.output);
    read.count("context", j.context);
    read.count("max_batched_tokens", j.max_batched_tokens);
    read.count("sequence", j.sequence);
    read.integer("micro_batch", j.micro_batch);
    read.integer("global_batch", j.global_batch);
    read.named("optimizer", j.optimizer, [](std::string_view name) { return find_optimizer(name); });
    read.choice("attention", attention_kernel_names, j.attention);
    read.choice("recompute", recompute_names, j.recompute);
    const nlohmann::json* layout_object = read.fields().object("layout");
    const nlohmann::json* cluster_object = read.fields().object("cluster");
    if (const status s = read.checked(); !s) return s.error();

    if (const auto named = document.find("runtime"); named != document.end()) {
        const result<runtime> r = detail::read_runtime(*named);
        if (!r) return r.error();
        j.runtime = *r;
    }
    if (layout_object != nullptr) {
        const result<layout> l = detail::read_layout(*layout_object);
        if (!l) return l.error();
        request.layout = *l;
    }
    if (cluster_object == nullptr)
        return refused(error_code::missing, "cluster", "absent", "an object with a gpu and the number of gpus");
    const result<cluster> c = detail::read_cluster(*cluster_object);
    if (!c) return c.error();
    request.cluster = *c;
    return request;
}

inline result<plan_request> read_job(std::string_view document, const std::filesystem::path& here) {
    const result<json_document> parsed = parse_json_object(document);
    if (!parsed) return parsed.error();
    return read_job(parsed->root, here);
}

}  // namespace llmres
