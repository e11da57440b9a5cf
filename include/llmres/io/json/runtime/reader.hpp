// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <llmres/io/files/byte_source.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/json/job_reader.hpp>
#include <llmres/io/json/runtime/knobs.hpp>
#include <llmres/io/json/runtime/profile_reader.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/jobs/draft.hpp>
#include <llmres/jobs/knobs.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>
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
inline constexpr std::array<std::string_view, 5> told_runtime_keys{"name", "versions", "evidence", "evidence_of_times",
                                                                   "origin"};

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
        const llmres::knob* const named = find_knob(r.runtime.identity.knobs, key);
        if (named != nullptr && is_whole(named->setting) && (knob.is_boolean() || number != std::floor(number)))
            return refused(error_code::malformed, "runtime." + key, shown(knob), "a whole number from 0");
        r = with_knob;
    }
    return done{};
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

/// Turns the knobs that a document names, and what else follows from them.
inline void read_knobs(job_reader& read, runtime_request& r) {
    read.members(r.runtime);
    read.members(r.options);
    for (const two_way_knob& knob : two_way_knobs) {
        maybe<bool> on;
        read.value(knob.name, on);
        if (on) knob.turn(r.runtime, *on);
    }
    read.value("fit", r.fits);
    std::int32_t cuda = 12;
    read.value("cuda", cuda);
    if (cuda < 12) r.runtime.process.context = context_of_cuda_11;
    if (read.fields().has("reduce_bucket_size")) r.runtime.sharding.deepspeed.bucket_size_known = true;
    if (r.runtime.sharding.deepspeed.overlap_comm) r.runtime.launches.overlaps_gradients = true;
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
        read.value("gpu_memory_utilization", r.runtime.cache.fraction);
    }
    read_knobs(read, r);
    const model_source draft = read_draft(read, find);
    if (draft.model.hidden > 0) r.options = with_draft(r.options, draft.model, kv_cache, draft.gguf);
    if (const status s = read.checked(); !s) return s.error();
    return r;
}

}  // namespace llmres::inline v0::detail
