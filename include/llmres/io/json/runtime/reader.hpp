// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <llmres/io/files/byte_source.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/json/job_reader.hpp>
#include <llmres/io/json/runtime/profile_reader.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/jobs/draft.hpp>
#include <llmres/jobs/knobs.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/error.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// Reads the `runtime` of a job document: a profile by its name, and the knobs that the document turns.
namespace llmres::inline v0::detail {

/// The runtime of a job document, and what the document asks of it.
struct runtime_request {
    runtime_profile profile{};
    llmres::runtime runtime{};  ///< the profile's, with the knobs that the document turns
    serving_options options{};
    bool fits = false;  ///< what is not given is chosen so that it fits (fit_to_memory())
};

/// Keys by which a plan's answer tells which profile it took, and where that comes from. `name` and `versions` choose
/// it again; the others change nothing.
inline constexpr std::array<std::string_view, 4> told_runtime_keys{"name", "versions", "evidence", "origin"};

/// Reads knobs under the runtime's own names: mem_fraction_static, n_gpu_layers.
inline status read_own_knobs(const nlohmann::json& object, runtime_request& r) {
    for (const auto& [key, knob] : object.items()) {
        if (std::find(told_runtime_keys.begin(), told_runtime_keys.end(), key) != told_runtime_keys.end() ||
            find_job_field("runtime", key) != nullptr)
            continue;
        const double number = knob.is_boolean()  ? (knob.get<bool>() ? 1.0 : 0.0)
                              : knob.is_number() ? knob.get<double>()
                                                 : -1.0;
        runtime_request with_knob = r;
        if (!set_knob(with_knob.runtime, with_knob.options, key, number))
            return known_keys(object, "runtime", {"name", "versions"}).error();
        if (!(number >= 0 && number < 1e15))
            return refused(error_code::malformed, "runtime." + key, shown(knob), "true, false or a number from 0");
        r = with_knob;
    }
    return done{};
}

inline void read_serving_knobs(job_reader& read, runtime_request& r) {
    read.count("kv_block", r.runtime.cache.block);
    read.integer("max_num_seqs", r.options.max_num_seqs);
    read.flag("flash_attention", r.runtime.serving_kernels.flash_attention);
    read.integer("gpu_layers", r.options.gpu_layers);
    read.flag("fit", r.fits);
    read.flag("embedding_on_host", r.runtime.loading.embedding_on_host);
    read.flag("experts_on_host", r.options.experts_on_host);
    read.flag("split_rows", r.options.splits_rows);
    read.integer("max_loras", r.options.max_loras);
    read.integer("max_lora_rank", r.options.max_lora_rank);
    read.count("encoder_tokens", r.options.encoder_tokens);
    read.flag("speculates_ahead", r.options.speculates_ahead);
    read.integer("draft_tokens", r.options.draft_tokens);
    if (read.fields().has("acceptance")) r.options.acceptance = read.real("acceptance", 0.0);
    r.options.rope_scaling = read.real("rope_scaling", r.options.rope_scaling);
}

/// Whether layers and context are to be chosen so that they fit: `fit`, or "auto" for the layers on GPUs under either
/// name, which is taken out of the knobs.
inline result<bool> take_fit(nlohmann::json& knobs, const llmres::runtime& r) {
    std::string automatic;
    for (const std::string& name :
         {std::string{"gpu_layers"}, std::string{knob_name(r.identity.knobs, knob_setting::gpu_layers)}}) {
        if (!knobs.contains(name) || !says(knobs[name], "auto")) continue;
        knobs.erase(name);
        automatic = name;
    }
    const bool says = knobs.contains("fit") && knobs["fit"].is_boolean();
    const bool fits = says ? knobs["fit"].get<bool>() : !automatic.empty();
    if (fits && !r.loading.fits_memory)
        return refused(error_code::unsupported, automatic.empty() ? "runtime.fit" : "runtime." + automatic,
                       automatic.empty() ? "true" : "auto",
                       "a runtime that chooses them itself: llama.cpp from b6930 on");
    if (!fits && !automatic.empty())
        return refused(error_code::inconsistent, "runtime.fit", "false", "true, where " + automatic + " is auto");
    return fits;
}

/// The draft model of speculative decoding; a model without layers where none is named.
inline model_source read_draft(job_reader& read, const model_finder& find) {
    model_source draft;
    read.named("draft", draft, [&](std::string_view source) -> result<model_source> {
        const result<model_source> found = find(source);
        if (found) return found;
        const error& e = found.error();
        return refused(e.code, e.field == "model" ? "runtime.draft" : "runtime.draft: " + std::string{e.field.view()},
                       e.value.view(), e.expected);
    });
    return draft;
}

/// Refuses a knob of other runtimes.
inline status has_knobs(const nlohmann::json& object, const llmres::runtime& r) {
    for (const job_field& f : job_fields) {
        if (f.object != "runtime" || !object.contains(f.name) || object[f.name].is_null()) continue;
        if (has_key(r, f.name)) continue;
        return refused(error_code::unsupported, "runtime." + std::string{f.name}, shown(object[f.name]),
                       "a runtime that has it: " + std::string{runtimes_with(f.name)});
    }
    return done{};
}

/// A flag for one of two values of an enumeration.
template <class Enum>
void read_either(job_reader& read, const char* name, Enum& into, Enum if_true, Enum if_false) {
    if (!read.fields().has(name)) return;
    into = read.fields().flag_or(name, false) ? if_true : if_false;
}

/// Knobs of what transformers, PEFT and bitsandbytes compute.
inline void read_huggingface_knobs(job_reader& read, training_kernels& kernels) {
    read.flag("narrow_loss", kernels.loss.narrow);
    read.flag("holds_outputs", kernels.loss.holds_outputs);
    read.flag("fp32_stream", kernels.fp32_stream);
    read.flag("fp32_adapters", kernels.fp32_adapters);
    read_either(read, "fused_adapters", kernels.adapters, adapter_code::fused, adapter_code::modules);
    read.flag("four_bit_keeps_inputs", kernels.four_bit_keeps_inputs);
    read.flag("use_reentrant", kernels.checkpointing.reentrant);
    read.flag("checkpoints_inside_units", kernels.checkpointing.inside_units);
}

inline void read_training_knobs(job_reader& read, llmres::runtime& e) {
    read.choice("loss", e.kernels.loss.code);
    read.choice("scan", e.kernels.scan);
    read.flag("use_fused_weighted_squared_relu", e.kernels.use_fused_weighted_squared_relu);
    read.choice("attention_kernels", e.launches.attention);
    read.flag("compiled", e.kernels.compilation.layers);
    read.flag("compiled_loss", e.kernels.compilation.loss);
    read_either(read, "fused_norms", e.kernels.norm, norm_code::fused, norm_code::eager);
    // Beside a runtime without such a kernel of its own it is Liger's.
    read_either(read, "fused_gates", e.kernels.gate,
                e.kernels.gate == gate_code::eager ? gate_code::in_place : e.kernels.gate, gate_code::eager);
    read.choice("experts", e.kernels.experts);
    read.choice("selective", e.kernels.checkpointing.selective);
    read.flag("save_on_cpu", e.kernels.checkpointing.offloads_at_once);
    read_huggingface_knobs(read, e.kernels);
    read_either(read, "gradient_accumulation_fusion", e.kernels.linear, linear_code::accumulates_beside,
                linear_code::plain);
    std::int32_t cuda = 12;
    read.integer("cuda", cuda);
    if (cuda < 12) e.process.context = context_of_cuda_11;
    read.flag("reshard_after_forward", e.sharding.reshards_after_forward);
    read.choice("fp8_recipe", e.kernels.fp8.recipe);
    read.flag("fp8_param_gather", e.kernels.fp8.param_gather);
    read.flag("layer_wise_param_layout", e.optimizer.layer_wise_param_layout);
    read.flag("defer_embedding_wgrad_compute", e.pipeline.defer_embedding_wgrad_compute);
    read.integer("wgrad_deferral_limit", e.pipeline.wgrad_deferral_limit);
    read.integer("reduce_bucket_size", e.sharding.reduce_bucket_size);
    if (read.fields().has("reduce_bucket_size")) e.sharding.bucket_size_known = true;
    read.flag("overlap_comm", e.sharding.overlap_comm);
    if (e.sharding.overlap_comm) e.launches.overlaps_gradients = true;
    read.integer("sub_group_size", e.sharding.sub_group_size);
}

/// Whether a key beside `from` is a constant of the profile; else it is a knob.
inline bool is_constant(const std::string& key) {
    if (key == "from" || key == "origin") return true;
    if (find_job_field("runtime", key) != nullptr || find_knob({}, key) != nullptr) return false;
    constexpr auto parts = profile_field_names<runtime>();
    return std::find(parts.begin(), parts.end(), std::string_view{key}) != parts.end() || !part_with(key).empty();
}

/// The profile that an object names, or changes some constants of: {"from": NAME, "process": {...}}. Beside a name,
/// `versions` tells which of its profiles, as a plan's answer does. `knobs` gets what else the object says.
inline result<runtime_profile> read_profile_of(const nlohmann::json& object, const runtime_finder& find,
                                               nlohmann::json& knobs) {
    if (!object.contains("from")) {
        if (!object.contains("name")) {
            text<191> expected{"the name of a runtime"};
            if (!object.empty()) {
                expected.append(" that has ");
                expected.append(printable(object.begin().key()).substr(0, 64));
            }
            expected.append(" (--runtime NAME)");
            return refused(error_code::missing, "runtime.name", "absent", expected);
        }
        if (!object["name"].is_string())
            return refused(error_code::malformed, "runtime.name", shown(object["name"]), "a string");
        std::string name = object["name"].get<std::string>();
        if (object.contains("versions")) {
            if (!object["versions"].is_string())
                return refused(error_code::malformed, "runtime.versions", shown(object["versions"]), "a string");
            if (!object["versions"].get_ref<const std::string&>().empty())
                name += "@" + object["versions"].get<std::string>();
        }
        result<runtime_profile> named = find(name);
        if (named || named.error().field != "runtime") return named;
        error e = named.error();
        e.field = "runtime.name";
        return e;
    }
    if (object.contains("name"))
        return refused(error_code::inconsistent, "runtime.name", shown(object["name"]), "either a name or from");
    nlohmann::json constants = nlohmann::json::object();
    knobs = nlohmann::json::object();
    for (const auto& [key, value] : object.items()) (is_constant(key) ? constants : knobs)[key] = value;
    return read_runtime_profile(constants, find);
}

/// A runtime by its name; an object with the name and knobs of its own; or {"from": NAME}, with constants that are
/// other than in that profile.
inline result<runtime_request> read_runtime(const nlohmann::json& asked, const precision& kv_cache,
                                            const model_finder& find, const runtime_finder& find_profile) {
    if (asked.is_string()) {
        const result<runtime_profile> named = find_profile(asked.get_ref<const std::string&>());
        if (!named) return named.error();
        return runtime_request{*named, named->runtime, {}};
    }
    if (!asked.is_object())
        return refused(error_code::malformed, "runtime", shown(asked), "a name, or an object with a name");
    nlohmann::json value = asked;
    const result<runtime_profile> profile = read_profile_of(asked, find_profile, value);
    if (!profile) return profile.error();
    const result<bool> fits = take_fit(value, profile->runtime);
    if (!fits) return fits.error();
    job_reader read{value, "runtime"};
    runtime_request r{*profile, profile->runtime, {}, *fits};
    if (const status s = has_knobs(value, r.runtime); !s) return s.error();
    if (const status s = read_own_knobs(value, r); !s) return s.error();
    if (read.fields().has("gpu_memory_utilization")) {
        if (!takes_fraction(r.runtime.cache))
            return refused(error_code::unsupported, "runtime.gpu_memory_utilization",
                           shown(value["gpu_memory_utilization"]),
                           "a runtime that takes a part of the GPU at start, such as vllm");
        r.runtime.cache.fraction = read.real("gpu_memory_utilization", 0);
    }
    read_serving_knobs(read, r);
    const model_source draft = read_draft(read, find);
    if (draft.model.hidden > 0) r.options = with_draft(r.options, draft.model, kv_cache, draft.gguf);
    read.flag("expandable_segments", r.runtime.allocator.expandable_segments);
    read_training_knobs(read, r.runtime);
    if (const status s = read.checked(); !s) return s.error();
    return r;
}

}  // namespace llmres::inline v0::detail
