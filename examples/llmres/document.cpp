// SPDX-License-Identifier: MIT
// The job document that a command line asks for.
#include "commands.hpp"
#include "spelling.hpp"

#include <fmt/format.h>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/json/launch/file_name.hpp>
#include <llmres/io/json/launch/line.hpp>
#include <llmres/io/plan_json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace program {
namespace {

/// The text of a flag as a JSON value of its field's type. Text that is no number stays text, which the reader refuses.
nlohmann::json value_of(const std::string& text, const llmres::job_field& f) {
    if (f.type == llmres::field_type::flag && (text == "true" || text == "false")) return text == "true";
    if (f.type == llmres::field_type::integer || f.type == llmres::field_type::real)
        return value_in_own_unit(llmres::flag_of(f), text);
    return text;
}

/// What standard input holds, of so many MiB at most.
std::string read_input(std::size_t most_mib) {
    const std::size_t most = most_mib << 20;
    std::string content(most + 1, '\0');
    content.resize(std::fread(content.data(), 1, content.size(), stdin));
    if (content.size() > most)
        throw refusal{llmres::refused(llmres::error_code::out_of_range, "job", "standard input",
                                      fmt::format("at most {} MiB", most_mib))};
    return content;
}

/// Reads the job document on standard input.
nlohmann::json read_document() {
    nlohmann::json document =
        llmres::document_in(accept(llmres::parse_json_object(read_input(16), llmres::no_numbers::refused)).root);
    if (!document.contains("model"))
        throw refusal{llmres::refused(llmres::error_code::missing, "model", "absent", "a model of `llmres models`")};
    return document;
}

/// What a command line that starts a job was read as.
struct asked_line {
    std::vector<std::string> words;
    nlohmann::json document;
    bool on_input = false;  ///< it is that of standard input
};
/// Replaces a GGUF file that is not here by what its name says.
void name_absent_file(nlohmann::json& object, const std::string& key, std::vector<std::string>& notes) {
    const auto path = object.find(key);
    if (path == object.end() || !path->is_string()) return;
    const auto file = path->get<std::string>();
    const llmres::named_file named = llmres::by_file_name(file);
    std::error_code none;
    if (named.model.empty() || std::filesystem::exists(file, none)) return;
    notes.push_back(
        fmt::format("{} is not here: it is taken for {} in {}, by its name", file, named.model, named.weights));
    *path = named.model;
    if (key == "model") object["weights"] = named.weights;
}

asked_line& asked() {
    static asked_line line;
    return line;
}

/// The job document on standard input, which is read once however many plans are made of it; or that of a command line.
const nlohmann::json& document_on_input() {
    if (!asked().words.empty()) return asked().document;
    static const nlohmann::json document = read_document();
    return document;
}

/// The job document in a file or, for "-", on standard input; or a document that has the source as its model.
nlohmann::json document_of(const std::string& source) {
    if (source.empty()) return nlohmann::json::object();
    if (source == "-") return document_on_input();
    if (source.ends_with(".json")) {
        const std::string content = accept(llmres::read_job_text(source));
        // What is no document is a config.json, in which Python may have written Infinity.
        const llmres::json_document read = accept(llmres::parse_json_object(content));
        if (read.root.contains("model") || read.root.contains("cluster"))
            return llmres::document_in(accept(llmres::parse_json_object(content, llmres::no_numbers::refused)).root);
        if (read.root.contains("jobs"))
            throw refusal{llmres::refused(llmres::error_code::inconsistent, "jobs", "a queue of jobs",
                                          "one job, or `llmres place` with its free GPUs")};
    }
    return {{"model", source}};
}

/// The object of that name, added if absent; nullptr where the document has another type there, which its reader
/// refuses.
nlohmann::json* object_in(nlohmann::json& outer, const std::string& name) {
    nlohmann::json& inner = outer[name];
    if (inner.is_null()) inner = nlohmann::json::object();
    return inner.is_object() ? &inner : nullptr;
}

/// Sets a field of the document's cost: a price with its currency, and a table of prices from its file.
void set_cost(nlohmann::json& cost, const llmres::job_field& f, const std::string& typed) {
    const std::string name{f.name};
    if (name == "prices") {
        cost[name] = read_prices(typed);
        return;
    }
    const bool is_price = name == "gpu_hour" || name == "gpu_price" || name == "electricity";
    const priced_text text = is_price ? without_currency(name, typed) : priced_text{typed, ""};
    cost[name] = value_of(text.price, f);
    if (text.currency.empty()) return;
    const nlohmann::json said = cost.value("currency", nlohmann::json{});
    if (!said.is_null() && said != text.currency)
        throw refusal{llmres::refused(llmres::error_code::inconsistent, name, typed,
                                      "one currency in all prices, as of --currency " + said.dump())};
    cost["currency"] = text.currency;
}

/// Adds what is set under the runtime's own names, each as `name=value`; the reader refuses those that it does not
/// have.
void add_knobs(nlohmann::json& document, const std::vector<std::string>& knobs) {
    for (const std::string& knob : knobs) {
        const std::size_t equals = knob.find('=');
        const std::string name = knob.substr(0, equals);
        const std::string value = knob.substr(equals + 1);
        nlohmann::json& engine = document["runtime"];
        if (engine.is_null())
            throw refusal{llmres::refused(llmres::error_code::missing, "runtime", "absent",
                                          "--runtime, whose own option " + name + " is")};
        if (engine.is_string()) engine = {{"name", engine}};
        if (engine.is_object())
            engine[name] = value == "true"    ? nlohmann::json(true)
                           : value == "false" ? nlohmann::json(false)
                                              : value_in_own_unit("gpu_memory_utilization", value);
    }
}

}  // namespace

std::vector<std::string> launch_words(std::vector<std::string> words) {
    if (words.empty())
        throw refusal{llmres::refused(llmres::error_code::missing, "line", "absent",
                                      "a command line such as vllm serve MODEL behind --")};
    asked().on_input = words.size() == 1 && words[0] == "-";
    if (asked().on_input) words[0] = read_input(1);
    return words;
}

std::vector<std::string> take_launch_line(std::vector<std::string> words, std::int64_t gpus) {
    llmres::launch_line read =
        accept(words.size() == 1 ? llmres::read_launch_line(words[0], gpus) : llmres::read_launch_line(words, gpus));
    name_absent_file(read.document, "model", read.notes);
    name_absent_file(read.document, "teacher", read.notes);
    name_absent_file(read.document["runtime"], "draft", read.notes);
    take_launched(std::move(words), std::move(read.document));
    return std::move(read.notes);
}

void take_launched(std::vector<std::string> words, nlohmann::json document) {
    // A whole script is not printed once more.
    asked().words = asked().on_input ? std::vector<std::string>{"-"} : std::move(words);
    asked().document = std::move(document);
}

const std::vector<std::string>& launch_line_words() { return asked().words; }

nlohmann::json read_prices(const std::string& file) {
    const llmres::result<std::string> text = llmres::read_job_text(file);
    if (!text) throw refusal{llmres::refused(text.error().code, "prices", file, text.error().expected)};
    const auto table = llmres::parse_json_object(*text, llmres::no_numbers::refused);
    if (!table && table.error().field == "JSON")
        throw refusal{llmres::refused(table.error().code, "prices",
                                      fmt::format("{}: {}", file, table.error().value.view()), table.error().expected)};
    return accept(table).root;
}

nlohmann::json merged(const plan_options& o) { return merged(document_of(o.source), o); }

nlohmann::json merged(nlohmann::json document, const plan_options& o) {
    for (const llmres::job_field& f : llmres::job_fields) {
        const auto given = o.fields.find(llmres::flag_of(f));
        if (given == o.fields.end()) continue;
        const nlohmann::json value = value_of(given->second, f);
        const std::string name{f.name};
        nlohmann::json* into = &document;
        if (f.object == "host") {
            into = object_in(document, "cluster");
            if (into != nullptr) into = object_in(*into, "host");
        } else if (f.object == "runtime" && name != "runtime") {
            nlohmann::json& engine = document["runtime"];
            if (engine.is_string()) engine = {{"name", engine}};
            into = object_in(document, "runtime");
        } else if (!f.object.empty() && name != "runtime") {
            into = object_in(document, std::string{f.object});
        }
        if (into == nullptr) continue;
        if (f.object == "cost") {
            set_cost(*into, f, given->second);
            continue;
        }
        (*into)[name] = value;
        // device and gpu exclude each other: the one that a flag gives replaces the other in the file.
        if (name == "device" && !o.fields.contains("gpu")) into->erase("gpu");
        if (name == "gpu" && !o.fields.contains("device")) into->erase("device");
        // A path that a flag gives starts from here, one in the file from the file's folder.
        if ((name == "device" && !given->second.empty()) || (name == "runtime" && given->second.ends_with(".json")))
            (*into)[name] = std::filesystem::absolute(given->second).string();
    }
    add_knobs(document, o.knobs);
    return document;
}

void say_which_gpu(const std::string& typed) {
    const auto others = llmres::other_gpus_of_that_name(typed);
    if (others.empty()) return;
    if (const llmres::result<llmres::gpu> taken = llmres::find_gpu(typed, "gpu"))
        tell(fmt::format("{} is taken for {}; say so for one of {}", plain(typed), taken->id.view(), others.view()));
}

void say_which_gpu(const nlohmann::json& document) {
    const auto cluster = document.find("cluster");
    if (cluster == document.end() || !cluster->is_object()) return;
    const auto typed = cluster->find("gpu");
    if (typed != cluster->end() && typed->is_string()) say_which_gpu(typed->get_ref<const std::string&>());
}

std::filesystem::path folder_of(const nlohmann::json& document, const std::string& source) {
    return is_job(document, source) && source.ends_with(".json") ? std::filesystem::path{source}.parent_path() : "";
}

}  // namespace program
