// SPDX-License-Identifier: MIT
// A command line as it is typed.
#include "command_line.hpp"

#include <cstdint>
#include <llmres/io/job_fields.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace program {
namespace {

/// A word as a shell takes it.
std::string shell_word(const std::string& word) {
    constexpr std::string_view safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%";
    if (!word.empty() && word.find_first_not_of(safe) == std::string::npos) return word;
    std::string shell = "'";
    for (const char c : word) shell += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
    return shell + "'";
}

/// A value of a patch as it is typed; sizes of whole GiB with their unit.
std::string typed(const std::string& flag, const nlohmann::json& value) {
    constexpr std::int64_t gib = std::int64_t{1} << 30;
    if (flag == "host_memory" && value.get<std::int64_t>() % gib == 0)
        return std::to_string(value.get<std::int64_t>() / gib) + "GiB";
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/// What is said: values by flag, and those under the runtime's own names.
struct said {
    std::map<std::string, std::string> fields;
    std::map<std::string, std::string> knobs;
};

/// Takes the values of an object of a patch.
void take(said& all, const nlohmann::json& patch, const std::string& object) {
    for (const auto& [key, value] : patch.items()) {
        if (value.is_object()) {
            take(all, value, key);
        } else if (const llmres::job_field* f = llmres::find_job_field(object, key)) {
            const std::string flag = llmres::flag_of(*f);
            all.fields[flag] = typed(flag, value);
        } else if (object == "runtime" && key != "name") {
            all.knobs[key] = typed(key, value);
        }
    }
}

}  // namespace

std::string command_of(const plan_options& asked, const nlohmann::json& patch) {
    said all{asked.fields, {}};
    for (const std::string& knob : asked.knobs) {
        const std::size_t equals = knob.find('=');
        all.knobs[knob.substr(0, equals)] = knob.substr(equals + 1);
    }
    take(all, patch, "");
    const std::vector<std::string>& started = launch_line_words();
    std::string line = "llmres plan" + (started.empty() ? " " + shell_word(asked.source) : "");
    for (const llmres::job_field& f : llmres::job_fields) {
        const std::string flag = llmres::flag_of(f);
        const auto given = all.fields.find(flag);
        if (given == all.fields.end()) continue;
        const bool bare = f.type == llmres::field_type::flag && given->second == "true";
        const bool joined =
            f.type == llmres::field_type::flag || given->second.starts_with('-') || given->second.empty();
        line += " --" + flag + (bare ? "" : (joined ? "=" : " ") + shell_word(given->second));
    }
    for (const auto& [name, value] : all.knobs) line += " --" + name + (value == "true" ? "" : "=" + shell_word(value));
    if (!started.empty()) line += " --";
    for (const std::string& word : started) line += " " + shell_word(word);
    return line;
}

}  // namespace program
