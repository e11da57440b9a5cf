// SPDX-License-Identifier: MIT
#include "llmres.h"

#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/device_json.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/io/svg/plan.hpp>
#include <llmres/io/svg/tradeoff.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using llmres::error_code;
using llmres::json_value;
using llmres::refused;
using llmres::result;
using nlohmann::json;

/// Where only some keys are known, the first other one is refused.
template <std::size_t Count>
llmres::status only_keys(const json& object, const std::array<std::string_view, Count>& known) {
    std::string names;
    for (const std::string_view key : known) names += (names.empty() ? "" : ", ") + std::string{key};
    for (const auto& [key, value] : object.items())
        if (std::find(known.begin(), known.end(), key) == known.end())
            return refused(error_code::unknown, key, value.dump(), Count > 0 ? "one of " + names : "an empty object");
    return llmres::done{};
}

result<json_value> plan(const json& document) {
    const auto answer = llmres::answer_job(document);
    if (!answer) return answer.error();
    return to_json(*answer, llmres::remedies_of(document, {}, *answer));
}

/// The layouts that no other beats both in throughput and in the time of a token, with any batch up to 256.
std::string tradeoff(const llmres::job& j, const llmres::cluster& c) {
    std::vector<llmres::found_layout> best(1);
    std::vector<llmres::found_layout> front(20);
    llmres::search_request asked;
    asked.space.max_batch = 256;
    const auto counts = llmres::search(j, c, asked, best, front, llmres::objective::time_per_token,
                                       [](const llmres::search_counts&) { return true; });
    if (!counts || counts->front < 2) return {};
    front.resize(counts->front);
    return llmres::tradeoff_to_svg(front, j, llmres::objective::time_per_token, j.model.name.view());
}

result<json_value> pictures(const json& document) {
    const auto request = llmres::read_job(document);
    if (!request) return request.error();
    const auto planned = llmres::plan(*request);
    if (!planned) return planned.error();
    const llmres::job& j = request->job;
    json_value drawn = json_value::object();
    for (const llmres::named_picture& picture : planned->phases
                                                    ? llmres::pictures_of(*planned->phases, j, request->cluster)
                                                    : llmres::pictures_of(planned->plan, j, request->cluster))
        drawn[std::string{picture.name}] = picture.svg;
    if (trains(j)) return drawn;
    if (const std::string points = tradeoff(j, request->cluster); !points.empty()) drawn["tradeoff"] = points;
    return drawn;
}

/// One of the names of objectives under a key.
result<llmres::objective> objective_in(const json& document, const char* key) {
    std::string names;
    for (std::size_t i = 0; i < llmres::names_of<llmres::objective>.size(); ++i) {
        if (document.at(key) == llmres::name_of(static_cast<llmres::objective>(i)))
            return static_cast<llmres::objective>(i);
        names += (i == 0 ? "" : ", ") + std::string{llmres::name_of(static_cast<llmres::objective>(i))};
    }
    return refused(error_code::unknown, key, document.at(key).dump(), "one of " + names);
}

result<json_value> search(const json& document) {
    constexpr std::size_t most_shown = 1000;
    if (const auto known = only_keys(document, std::array<std::string_view, 4>{"job", "objective", "against", "top"});
        !known)
        return known.error();
    if (!document.contains("job")) return refused(error_code::missing, "job", "absent", "a job document");
    auto request = llmres::read_job(document.at("job"));
    if (!request) return request.error();
    if (const auto s = in_one_phase(*request); !s) return s.error();
    if (request->layout)
        return refused(error_code::inconsistent, "layout", "given", "a job without a layout, which is searched for");

    llmres::search_request asked;
    auto against = llmres::objective::throughput;
    if (document.contains("objective")) {
        const auto named = objective_in(document, "objective");
        if (!named) return named.error();
        asked.objective = *named;
    }
    if (document.contains("against")) {
        const auto named = objective_in(document, "against");
        if (!named) return named.error();
        against = *named;
    }
    for (const llmres::objective by : {asked.objective, against}) ask_for(*request, by);
    if (request->cost) asked.prices = *request->cost;
    const json top = document.value("top", json(10));
    if (!top.is_number_integer() || top < 1 || top > most_shown)
        return refused(error_code::out_of_range, "top", top.dump(), "1 to 1000");

    std::vector<llmres::found_layout> best(top.get<std::size_t>());
    std::vector<llmres::found_layout> front(document.contains("against") ? best.size() : 0);
    const llmres::job& j = request->job;
    const auto counts = llmres::search(j, request->cluster, asked, best, front, against,
                                       [](const llmres::search_counts&) { return true; });
    if (!counts) return counts.error();
    best.resize(counts->best);
    front.resize(counts->front);
    if (best.empty()) {  // none fits: the single best is the nearest to fitting, or the error
        const auto nearest = llmres::search(j, request->cluster, asked);
        if (!nearest) return nearest.error();
        best.push_back(*nearest);
    }
    const auto found = llmres::to_json(best, *request);
    if (!found) return found.error();
    json_value made{{"schema", "llmres/search/1"},
                    {"objective", name_of(asked.objective)},
                    {"job", llmres::to_json(j)},
                    {"cluster", llmres::to_json(request->cluster)},
                    {"assumed", llmres::assumptions_of(document.at("job"), *request, best.front().plan)},
                    {"searched", llmres::to_json(*counts)},
                    {"best", *found}};
    if (!document.contains("against")) return made;
    const auto unbeaten = llmres::to_json(front, *request);
    if (!unbeaten) return unbeaten.error();
    made["front"] = *unbeaten;
    return made;
}

result<json_value> model(const json& document) {
    if (const auto known = only_keys(document, std::array<std::string_view, 1>{"model"}); !known) return known.error();
    if (!document.contains("model"))
        return refused(error_code::missing, "model", "absent", "a model's name, or what a config.json holds");
    const auto read = llmres::read_model_source(document.at("model"));
    if (!read) return read.error();
    json_value made{{"schema", "llmres/model/1"}};
    made.update(read->gguf ? llmres::to_json(read->model, *read->gguf, llmres::bf16)
                           : llmres::to_json(read->model, llmres::formats_of(read->model), llmres::bf16));
    return made;
}

result<json_value> gpus(const json&) {
    json_value rows = json_value::array();
    for (const llmres::gpu* card : llmres::gpus::all) rows.push_back(llmres::to_json(*card));
    return rows;
}

result<json_value> models(const json&) {
    json_value rows = json_value::array();
    for (const llmres::model* m : llmres::models::all)
        rows.push_back({{"name", m->name.view()},
                        {"architecture", m->architecture.view()},
                        {"parameters", llmres::count_parameters(*m).in(llmres::parameters)}});
    return rows;
}

result<json_value> runtimes(const json&) {
    constexpr std::array<std::string_view, 3> works{"any", "serving", "training"};
    json_value rows = json_value::array();
    for (const llmres::runtime* r : llmres::runtimes::all)
        rows.push_back({{"name", r->identity.name.view()},
                        {"versions", r->identity.versions.view()},
                        {"work", works[static_cast<std::size_t>(r->identity.work)]}});
    return rows;
}

result<json_value> fields(const json&) {
    constexpr std::array<std::string_view, 4> types{"integer", "real", "flag", "text"};
    json_value rows = json_value::array();
    for (const llmres::job_field& f : llmres::job_fields)
        rows.push_back({{"object", f.object},
                        {"name", f.name},
                        {"type", types[static_cast<std::size_t>(f.type)]},
                        {"help", f.help}});
    return rows;
}

struct command {
    std::string_view name;
    result<json_value> (*answer)(const json& document);
    bool takes_document;
};
constexpr std::array<command, 8> commands{{{"plan", plan, true},
                                           {"search", search, true},
                                           {"pictures", pictures, true},
                                           {"model", model, true},
                                           {"gpus", gpus, false},
                                           {"models", models, false},
                                           {"runtimes", runtimes, false},
                                           {"fields", fields, false}}};

/// The answer to a command about a document, or what is wrong with it.
result<json_value> answered(std::string_view command_name, std::string_view document) {
    const auto found =
        std::find_if(commands.begin(), commands.end(), [&](const command& c) { return c.name == command_name; });
    if (found == commands.end()) {
        std::string names;
        for (const command& c : commands) names += (names.empty() ? "" : ", ") + std::string{c.name};
        return refused(error_code::unknown, "command", command_name, "one of " + names);
    }
    const auto read = llmres::parse_json_object(document, llmres::no_numbers::refused);
    if (!read) return read.error();
    if (!found->takes_document)
        if (const auto known = only_keys(read->root, std::array<std::string_view, 0>{}); !known) return known.error();
    return found->answer(read->root);
}

/// A copy of a text that C code may free; nullptr where there is no memory for it.
char* copy_of(std::string_view text) {
    char* const copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) return nullptr;
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    return copy;
}

llmres::json_value to_json(const llmres::error& e) {
    return {{"error",
             {{"code", name_of(e.code)},
              {"field", e.field.view()},
              {"value", e.value.view()},
              {"expected", e.expected.view()},
              {"text", llmres::to_text(e)}}}};
}

/// JSON as text; bytes that are no UTF-8, which a refused document may have, are replaced.
std::string text_of(const llmres::json_value& document) {
    return document.dump(-1, ' ', false, llmres::json_value::error_handler_t::replace);
}

int ask(const char* command, const char* document, char** answer) {
    const char* const missing = command == nullptr ? "command" : document == nullptr ? "document" : nullptr;
    const auto made = missing != nullptr
                          ? llmres::refused(llmres::error_code::missing, missing, "NULL", "text that ends with a zero")
                          : answered(command, document);
    *answer = copy_of(text_of(made ? *made : to_json(made.error())));
    if (*answer == nullptr) return LLMRES_FAILED;
    return made ? LLMRES_ANSWERED : LLMRES_REFUSED;
}

}  // namespace

int llmres_c_api() { return LLMRES_C_API; }

const char* llmres_version() {
    static const std::string text = std::to_string(llmres::version.major) + "." +
                                    std::to_string(llmres::version.minor) + "." + std::to_string(llmres::version.patch);
    return text.c_str();
}

int llmres_ask(const char* command, const char* document, char** answer) {
    if (answer == nullptr) return LLMRES_REFUSED;
    *answer = nullptr;
#if defined(__cpp_exceptions)
    try {
        return ask(command, document, answer);
    } catch (...) {  // memory ran out: everything else is a refusal
        return LLMRES_FAILED;
    }
#else
    return ask(command, document, answer);
#endif
}

void llmres_free(char* answer) { std::free(answer); }
