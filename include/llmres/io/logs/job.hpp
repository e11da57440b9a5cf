// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/answers/observe.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/logs/reader.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// From what an engine printed to the job that it ran, and to what was observed of it.
namespace llmres::inline v0::logs {

/// What a log says of its job, as a job document: model, runtime with version and knobs, layout, GPUs. What the log
/// does not say is left out.
inline nlohmann::json job_document(const engine_log& log);

/// A document over another: objects are joined, and what `said` has goes first.
inline nlohmann::json joined_document(nlohmann::json from_log, const nlohmann::json& said);

/// An observation with the line that says it.
struct line_observation {
    observation seen{};             ///< what was printed
    std::int64_t line = 0;          ///< in which line
    std::int64_t contradicted = 0;  ///< a line that says another value; 0: none does
};

/// What a log says of the memory of a job under a runtime: the fullest rank's figures, the smallest pool; of ggml, sums
/// over GPUs (or over the host's memory where no GPU is used), and the largest compute buffer. Of a job that ran out of
/// memory no peak: it has not reached it.
inline std::vector<line_observation> observations_of(const engine_log& log, const runtime& r);

/// Refuses a log of another engine than the job's runtime: by the log's engine. Logs of PyTorch, DeepSpeed and
/// nvidia-smi say what any runtime took, and llama.cpp's are those of its forks and of Ollama as well.
inline status is_log_of(const engine_log& log, const runtime& r);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The name of a GGUF mix by what llama.cpp prints of it (llama_model_ftype_name): "Q4_K - Medium", "mostly Q4_0",
/// "IQ2_XXS - 2.0625 bpw", "all F32".
inline std::string mix_of(std::string printed) {
    for (char& c : printed) c = llmres::detail::lower_case(c);
    for (const std::string_view head : {"mostly ", "all "})
        if (printed.starts_with(head)) printed.erase(0, head.size());
    for (const auto& [words, mix] :
         {std::pair{"q2_k - medium", "q2_k"}, std::pair{"iq3_s mix", "iq3_m"}, std::pair{" - medium", "_m"},
          std::pair{" - small", "_s"}, std::pair{" - large", "_l"}, std::pair{" moe", "_moe"}})
        if (const std::size_t at = printed.find(words); at != std::string::npos)
            printed.replace(at, std::string_view{words}.size(), mix);
    for (const std::string_view note : {" (", " - "})  // "(guessed)", "- 2.0625 bpw"
        printed.resize((std::min)(printed.find(note), printed.size()));
    if (printed == "f16" || printed == "f32") printed.insert(0, 1, 'f').replace(0, 2, "fp");
    return printed;
}

inline bool is_host(std::string_view device) {
    return device.starts_with("CPU") || device.ends_with("Host") || device.starts_with("BLAS");
}

/// The newest profile of the software that printed a log; that of no software for a tool, as nvidia-smi is.
inline const runtime& profile_of(std::string_view engine) {
    for (const runtime* r : runtimes::all)
        if (r->identity.name == engine) return *r;
    return no_runtime;
}

/// Whether an engine prints figures of each device that add up.
inline bool adds_up(std::string_view engine) { return llmres::detail::adds_up_over_gpus(profile_of(engine)); }

/// Devices other than the host that hold weights.
inline std::int64_t gpus_of(const engine_log& log) {
    std::int64_t count = 0;
    for (const figure& f : log.figures) count += f.what == quantity::weights && !f.device.empty() && !is_host(f.device);
    return count;
}

/// What a figure or a text of a log sets.
constexpr knob_setting setting_of(quantity what) {
    switch (what) {
        case quantity::step_tokens: return knob_setting::batched_tokens;
        case quantity::eager: return knob_setting::no_cuda_graphs;
        case quantity::gpu_layers: return knob_setting::gpu_layers;
        case quantity::flash_attention: return knob_setting::flash_attention;
        default: return knob_setting::sequences;
    }
}

/// The knobs that a log names, under the runtime's own names.
inline void take_knobs(const engine_log& log, nlohmann::json& runtime_object) {
    if (const figure* f = log.find(quantity::fraction)) runtime_object["gpu_memory_utilization"] = f->value;
    const log_scope scope = scope_of(log.engine);
    for (std::size_t i = 0; i < scope.size; ++i) {
        const quantity what = scope.settings[i];
        std::string_view name = knob_name(profile_of(log.engine).identity.knobs, setting_of(what));
        if (name.empty()) name = knob_name(common_knobs, setting_of(what));
        nlohmann::json value;
        if (is_text(what) && log.text_of(what) == "True") value = true;
        if (const figure* f = is_text(what) ? nullptr : log.find(what)) {
            if (what == quantity::flash_attention)
                value = f->value != 0;
            else if (f->value >= 0 && f->value < 1e9)
                value = static_cast<std::int64_t>(f->value);
        }
        if (!value.is_null()) runtime_object[std::string{name}] = value;
    }
}

/// The GPUs that a log names, by name or by their memory.
inline nlohmann::json cluster_of(const engine_log& log, std::int64_t gpus) {
    nlohmann::json cluster = nlohmann::json::object();
    const std::string device = log.text_of(quantity::gpu);
    if (adds_up(log.engine) && gpus_of(log) == 0 && log.find(quantity::weights) != nullptr)
        cluster["gpu"] = "cpu";
    else if (!device.empty() && find_gpu(device))
        cluster["gpu"] = device;
    else if (const figure* total = log.find(quantity::device_total); total != nullptr && total->value < 1e15)
        cluster["gpu_memory"] = static_cast<std::int64_t>(total->value);
    if (gpus > 1) cluster["gpus"] = gpus;
    return cluster;
}

/// Whether the engine that a log names may be the runtime of that name, so far as the name is known.
inline bool may_be_of(const nlohmann::json& engine, const nlohmann::json& name) {
    if (!engine.is_object() || !engine.contains("name") || !name.is_string()) return true;
    const std::string logged = engine["name"].get<std::string>();
    const std::string printer = logged.substr(0, logged.find('@'));
    const result<runtime> said = find_runtime(name.get_ref<const std::string&>());
    return !said || said->identity.name.view() == printer ||
           (adds_up(printer) && llmres::detail::adds_up_over_gpus(*said));
}

}  // namespace detail

inline nlohmann::json job_document(const engine_log& log) {
    nlohmann::json document = nlohmann::json::object();
    const auto count = [&](quantity what, std::int64_t otherwise) {
        const figure* f = log.find(what);
        return f != nullptr && f->value >= 1 && f->value < 1e9 ? static_cast<std::int64_t>(f->value) : otherwise;
    };
    if (std::string model = log.text_of(quantity::model); !model.empty()) {
        for (char& c : model) c = c == ' ' ? '-' : c;
        document["model"] = model;
    }
    const runtime_work work = detail::profile_of(log.engine).identity.work;
    if (work == runtime_work::any) return document;  // any engine's job
    const bool trains = work == runtime_work::training;
    if (!trains) document["task"] = "serving";
    std::string named = log.engine;
    if (const std::string version = log.text_of(quantity::version);
        to_version(version) != runtime_version{} && !trains) {
        // Builds that do not know their number print zero.
        named += "@" + version;
        if (log.text_of(quantity::generation) == "V0") named += " V0";
    }
    nlohmann::json& engine = document["runtime"] = {{"name", named}};
    detail::take_knobs(log, engine);
    if (!trains && log.find(quantity::context) != nullptr) document["context"] = count(quantity::context, 0);
    if (trains && log.find(quantity::sequences) != nullptr) document["micro_batch"] = count(quantity::sequences, 1);
    if (const std::string mix = log.text_of(quantity::weight_format); detail::adds_up(log.engine) && !mix.empty())
        document["weights"] = detail::mix_of(mix);
    if (const std::string cache = log.text_of(quantity::cache_format); cache.starts_with("fp8"))
        document["kv_cache"] = cache == "fp8" ? "fp8_e4m3" : cache;
    const std::int64_t tensor = count(quantity::tensor, 1);
    const std::int64_t pipeline =
        detail::adds_up(log.engine) && detail::gpus_of(log) > 1 ? detail::gpus_of(log) : count(quantity::pipeline, 1);
    if (!trains) document["layout"] = {{"tensor", tensor}, {"pipeline", pipeline}};
    if (nlohmann::json cluster = detail::cluster_of(log, tensor * pipeline); !cluster.empty())
        document["cluster"] = std::move(cluster);
    return document;
}

inline nlohmann::json joined_document(nlohmann::json from_log, const nlohmann::json& said) {
    nlohmann::json& engine = from_log["runtime"];
    // A runtime that is said by its name keeps the knobs that the log names.
    nlohmann::json over = said;
    if (const auto named = over.find("runtime"); named != over.end() && named->is_string()) *named = {{"name", *named}};
    if (over.contains("runtime") && over["runtime"].is_object() && over["runtime"].contains("name") &&
        !detail::may_be_of(engine, over["runtime"]["name"]))
        engine = nlohmann::json::object();  // another engine's knobs
    const bool has_base = over.contains("runtime") && over["runtime"].is_object() && over["runtime"].contains("from");
    if (has_base && engine.is_object()) engine.erase("name");
    const bool names_gpu = over.contains("cluster") && over["cluster"].is_object() &&
                           (over["cluster"].contains("gpu") || over["cluster"].contains("device"));
    if (names_gpu && from_log.contains("cluster")) {
        from_log["cluster"].erase("gpu");
        if (over["cluster"].contains("device")) from_log["cluster"].erase("gpu_memory");
    }
    from_log.merge_patch(over);
    if (from_log["runtime"].is_null()) from_log.erase("runtime");
    return from_log;
}

namespace detail {

/// Which of the figures that ranks and devices print is that of a job.
enum class over_ranks : std::uint8_t { largest, smallest, sum };

}  // namespace detail

inline std::vector<line_observation> observations_of(const engine_log& log, const runtime& r) {
    const bool ggml = llmres::detail::adds_up_over_gpus(r);
    const bool on_host = ggml && detail::gpus_of(log) == 0;
    std::vector<line_observation> all;
    using detail::over_ranks;
    const auto take = [&](quantity what, observed_figure as, over_ranks counted = over_ranks::largest) {
        const bool sum = counted == over_ranks::sum;
        line_observation o{{as, {}, {}}, 0, 0};
        double size = 0, printed_to = 0;
        for (const figure& f : log.figures) {
            if (f.what != what || f.value < 0 || f.value > 1e15) continue;
            if (ggml && !f.device.empty() && detail::is_host(f.device) != on_host) continue;
            const bool taken =
                o.line == 0 || sum || (counted == over_ranks::smallest ? f.value < size : f.value > size);
            if (!taken) continue;
            size = sum ? size + f.value : f.value;
            printed_to = sum ? printed_to + f.printed_to : f.printed_to;
            o.line = f.line;
            if (f.contradicted != 0) o.contradicted = f.contradicted;
        }
        if (o.line == 0) return;
        o.seen.size = bytes(static_cast<std::int64_t>(size + 0.5));
        o.seen.printed_to = bytes(static_cast<std::int64_t>(printed_to + 0.5));
        all.push_back(o);
    };
    const over_ranks over_gpus = ggml ? over_ranks::sum : over_ranks::largest;
    take(quantity::weights, observed_figure::weights, over_gpus);
    take(quantity::kv_cache, observed_figure::kv_cache, over_gpus);
    take(quantity::pool, observed_figure::pool, over_ranks::smallest);
    take(quantity::activation_peak, observed_figure::activation_peak);
    // A summary that has activations and the expected graphs in one says the first where the second is known.
    const figure* graphs = log.find(quantity::graphs_estimated);
    if (graphs == nullptr) graphs = log.find(quantity::cuda_graphs);
    const bool known = graphs != nullptr && (graphs->what == quantity::graphs_estimated || graphs->value == 0);
    if (log.find(quantity::activation_peak) == nullptr && known) {
        const std::size_t before = all.size();
        take(quantity::peak_and_graphs, observed_figure::activation_peak);
        for (std::size_t i = before; i < all.size(); ++i) {
            all[i].seen.size -= bytes(static_cast<std::int64_t>(graphs->value));
            all[i].seen.printed_to += bytes(static_cast<std::int64_t>(graphs->printed_to));
        }
    }
    take(quantity::beside_tensors, observed_figure::beside_tensors);
    take(quantity::cuda_graphs, observed_figure::cuda_graphs);
    take(quantity::compute_buffer, observed_figure::compute_buffer);
    if (log.ran_out()) return all;
    take(quantity::allocated, observed_figure::allocated);
    take(quantity::reserved, observed_figure::reserved);
    take(quantity::device_used, observed_figure::device_used);
    return all;
}

inline status is_log_of(const engine_log& log, const runtime& r) {
    const std::string_view name = r.identity.name.view();
    const log_scope scope = scope_of(log.engine);
    const bool of_ggml = detail::adds_up(log.engine) && llmres::detail::adds_up_over_gpus(r);
    if (scope.any_runtime || of_ggml || name == log.engine || name == scope.also) return done{};
    return refused(error_code::inconsistent, "log", "a log of " + log.engine,
                   "one of " + std::string{name} + ", which the job's runtime is");
}

}  // namespace llmres::inline v0::logs
