// SPDX-License-Identifier: MIT
// llmres schema: the JSON Schema of job documents and of runtime profiles, from the tables of their fields.
#include "commands.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/json/runtime/constants.hpp>
#include <llmres/runtimes/all.hpp>
#include <string>
#include <string_view>

namespace program {
namespace {

using json = nlohmann::ordered_json;

/// What a field takes; null is as good as absent.
json schema_of(const llmres::job_field& f) {
    constexpr auto type_names =
        std::to_array<const char*>({"integer", "number", "boolean", "string"});  // by field_type
    json schema{{"description", f.help}, {"type", {type_names[static_cast<std::size_t>(f.type)], "null"}}};
    if (f.type == llmres::field_type::integer) {
        schema["minimum"] = static_cast<std::int64_t>(f.low);
        schema["maximum"] = static_cast<std::int64_t>(f.high);
    } else if (f.type == llmres::field_type::real) {
        schema["minimum"] = f.low;
        schema["maximum"] = f.high;
    }
    // Several names are a text with commas, or a list.
    if (f.name == "targets" || f.name == "modules" || f.name == "recompute_modules") {
        schema["type"].push_back("array");
        schema["items"] = {{"type", "string"}};
    }
    if (f.name == "gpu_layers")
        schema = {{"description", f.help}, {"anyOf", json::array({schema, {{"const", "auto"}}})}};
    return schema;
}

/// The fields of one object of the document.
json fields_of(std::string_view object) {
    json fields = json::object();
    for (const llmres::job_field& f : llmres::job_fields)
        if (f.object == object && f.name != "runtime") fields[std::string{f.name}] = schema_of(f);
    return fields;
}

json object_of(const json& fields) {
    return {{"type", {"object", "null"}}, {"properties", fields}, {"additionalProperties", false}};
}

/// A runtime: its name; an object with its name and knobs, also under its own names for them; or a profile with other
/// constants, which a schema does not hold.
json runtime_schema() {
    json fields{
        {"name", {{"type", "string"}}},
        {"versions", {{"description", "which of its profiles, as a plan's answer tells it"}, {"type", "string"}}},
        {"evidence", {{"description", "as a plan's answer tells it; changes nothing"}, {"type", "string"}}},
        {"evidence_of_times", {{"description", "as a plan's answer tells it; changes nothing"}, {"type", "string"}}},
        {"origin", {{"description", "as a plan's answer tells it; changes nothing"}, {"type", "object"}}}};
    fields.update(fields_of("runtime"));
    const auto knob = [&](std::string_view name) {
        if (!name.empty() && !fields.contains(name))
            fields[std::string{name}] = {{"type", {"boolean", "number"}}, {"minimum", 0}};
    };
    for (const llmres::knob& each : llmres::common_knobs) knob(each.name);
    for (const llmres::runtime* r : llmres::runtimes::all) {
        knob(r->cache.fraction_name.view());
        for (const llmres::knob& each : r->identity.knobs) knob(each.name);
    }
    const json named{{"type", "object"},
                     {"required", json::array({"name"})},
                     {"properties", fields},
                     {"additionalProperties", false}};
    const json changed{{"type", "object"},
                       {"required", json::array({"from"})},
                       {"properties", {{"from", {{"type", "string"}}}, {"name", false}}}};
    return {{"description", llmres::find_job_field("runtime", "runtime")->help},
            {"anyOf", json::array({json{{"type", {"string", "null"}}}, named, changed})}};
}

/// What an answer has under a key. What it tells only where somebody set it is never the usual value.
json told_of(const llmres::job_field& f, void* usual) {
    const llmres::detail::constant_type& type = *f.place.type;
    json told = schema_of(f);
    told.erase("description");
    if (type.kind == llmres::detail::constant_kind::choice) return {{"enum", type.names}};
    if (type.kind != llmres::detail::constant_kind::maybe || !f.place.always_told) told["type"] = told["type"][0];
    if (f.place.always_told) return told;
    if (type.kind == llmres::detail::constant_kind::flag) return {{"const", type.whole(f.place.in(usual)) == 0}};
    if (f.type == llmres::field_type::integer && told["minimum"] == type.whole(f.place.in(usual)))
        told["minimum"] = type.whole(f.place.in(usual)) + 1;
    return told;
}

/// What answers tell of a struct's fields that have a row with their C++ field, but those of one group.
template <class Owner>
json told_of(std::string_view but = {}) {
    Owner usual{};
    json told{{"required", json::array()}, {"properties", json::object()}};
    for (const llmres::job_field& f : llmres::job_fields) {
        if (f.place.owner != &llmres::detail::job_field_rows::id_of<Owner> || f.group == but) continue;
        if (f.place.always_told) told["required"].push_back(f.name);
        told["properties"][std::string{f.name}] = told_of(f, &usual);
    }
    return told;
}

}  // namespace

void print_told_schema() {
    print_json({{"serving_job", told_of<llmres::job>("Training")},
                {"training_job", told_of<llmres::job>("Serving")},
                {"training_job.adapter", told_of<llmres::adapter>()},
                {"training_job.offload", told_of<llmres::offload>()},
                {"layout", told_of<llmres::layout>()},
                {"cluster", told_of<llmres::cluster>()},
                {"cluster.host", told_of<llmres::host>()}});
}

void print_job_schema() {
    json cluster = fields_of("cluster");
    cluster["host"] = object_of(fields_of("host"));
    const json layout = object_of(fields_of("layout"));
    json fields{{"model",
                 {{"description", "a model of `llmres models`, a config.json or a file of weights; or a shape"},
                  {"type", {"string", "object"}}}}};
    fields.update(fields_of(""));
    for (const char* object : {"lengths", "adapter", "offload", "rollout", "storage", "checkpoint", "run", "cost"})
        fields[object] = object_of(fields_of(object));
    fields["teacher"]["type"] = {"string", "object", "null"};
    fields["cost"]["properties"]["prices"]["type"] = {"object", "null"};
    fields["rollout"]["properties"]["engine"]["type"] = {"string", "object", "null"};
    fields["layout"] = layout;
    fields["cluster"] = object_of(cluster);
    fields["cluster"]["type"] = "object";
    nlohmann::ordered_json pool = fields_of("prefill");
    pool["layout"] = layout, pool["cluster"] = fields["cluster"];
    fields["prefill"] = object_of(pool);
    fields["prefill"]["description"] = "GPUs that compute the prompts, where others generate the output";
    fields["runtime"] = runtime_schema();
    print_json({{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                {"$comment", "Printed by `llmres schema`, from the table of fields (io/job_fields.hpp)."},
                {"title", "A job document of llmres"},
                {"type", "object"},
                {"required", {"model", "cluster"}},
                {"properties", fields},
                {"additionalProperties", false}});
}

void print_profile_schema() { print_json(llmres::detail::profile_schema()); }

}  // namespace program
