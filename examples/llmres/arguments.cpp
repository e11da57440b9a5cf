// SPDX-License-Identifier: MIT
// The words that were typed, as the arguments of the program's own options.
#include "arguments.hpp"

#include "commands.hpp"
#include "machine.hpp"
#include "spelling.hpp"
#include "trainer_line.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace program {
namespace {

/// Writes the GPU that stands without an option behind so many words (`plan qwen3-8b RTX 3060 12GB`) as --gpu. Other
/// words stay where they are, and are refused.
void name_option_of_gpu(std::vector<std::string>& typed, std::ptrdiff_t behind) {
    const auto first = std::find_if(typed.begin(), typed.end(), [](const auto& word) { return word.starts_with('-'); });
    if (first - typed.begin() <= behind) return;
    const std::string words = fmt::format("{}", fmt::join(typed.begin() + behind, first, " "));
    if (!names_gpus(words) && words != "auto") return;
    typed.erase(typed.begin() + behind, first);
    typed.insert(typed.begin() + behind, "--gpu=" + words);
}

/// The number behind --gpus; 0 where none stands there.
std::int64_t gpus_in(const std::vector<std::string>& words) {
    std::int64_t gpus = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const bool joined = words[i].starts_with("--gpus=");
        if (!joined && (words[i] != "--gpus" || i + 1 == words.size())) continue;
        const std::string number = joined ? words[i].substr(7) : words[i + 1];
        std::from_chars(number.data(), number.data() + number.size(), gpus);
    }
    return gpus;
}

/// Drops options of a trainer's line that stand again behind them, where they were said before the line, and the passes
/// over samples of which nobody says how many there are.
void keep_last(std::vector<std::string>& own) {
    const auto name_of = [](const std::string& option) { return option.substr(0, option.find('=') + 1); };
    const auto is_said = [&](const char* name) {
        return std::ranges::any_of(own, [&](const std::string& option) { return option.starts_with(name); });
    };
    const bool of_tokens = is_said("--tokens=");
    if (of_tokens || !is_said("--samples="))
        std::erase_if(own, [](const auto& o) { return o.starts_with("--epochs="); });
    if (of_tokens) std::erase_if(own, [](const auto& o) { return o.starts_with("--samples="); });
    for (std::size_t i = 0; i < own.size(); ++i) {
        const std::string name = name_of(own[i]);
        if (!name.starts_with("--") || name == "--knob=") continue;
        const bool again = std::any_of(own.begin() + static_cast<std::ptrdiff_t>(i) + 1, own.end(),
                                       [&](const std::string& later) { return name_of(later) == name; });
        if (again) own.erase(own.begin() + static_cast<std::ptrdiff_t>(i--));
    }
}

/// Whether an option is of checkpoints.
bool is_of_checkpoints(const std::string& option) { return option.starts_with("--checkpoint_"); }

/// Whether what a person typed asks how checkpoints are written or weights loaded. Else what a trainer's file sets of
/// them is in no answer.
bool asks_of_checkpoints(const std::vector<std::string>& typed) {
    return std::ranges::any_of(typed, [](std::string word) {
        std::ranges::replace(word, '-', '_');
        return std::ranges::any_of(std::array{"__storage", "__checkpoint", "__save_", "__fsdp_state", "__state_dict"},
                                   [&](const char* begins) { return word.starts_with(begins); });
    });
}

/// Reads the command line behind `--` as the job, which is then asked for as that of standard input is.
void add_launch_line(std::vector<std::string> words, std::vector<std::string>& own, std::vector<std::string>& notes) {
    if (own.front() == "model")
        throw refusal{llmres::refused(llmres::error_code::unsupported, "command", "model",
                                      "plan or another command that takes a job, before a command line behind --")};
    // Options of plan are joined with their values: what begins with no dash is a job.
    for (std::size_t i = 1; i < own.size() && own.front() == "plan"; ++i)
        if (!own[i].starts_with('-') && !own[i].empty())
            throw refusal{llmres::refused(llmres::error_code::inconsistent, "job", own[i],
                                          "a job or a command line behind --, not both")};
    const std::int64_t gpus = gpus_in(own);
    const std::vector<std::string> told = take_launch_line(std::move(words), gpus);
    notes.insert(notes.end(), told.begin(), told.end());
    own.emplace_back("-");
}

}  // namespace

bool takes_gpu_behind_model(std::string_view command) {
    return command == "plan" || command == "search" || command == "replicas";
}

std::vector<std::string> arguments_of(const CLI::App& app, std::vector<std::string> typed,
                                      std::vector<std::string>& notes) {
    const bool asks_for_help = !typed.empty() && typed.front() == "help";
    if (asks_for_help) typed.erase(typed.begin());
    const CLI::App* command = nullptr;
    for (const CLI::App* known : app.get_subcommands({}))
        if (!typed.empty() && known->get_name() == typed.front()) command = known;
    if (asks_for_help && (typed.empty() || command != nullptr)) typed.emplace_back("--help");
    if (command == nullptr || command->get_option_no_throw("--weights") == nullptr) return typed;
    std::vector<std::string> flags;
    for (const CLI::Option* option : command->get_options())
        for (const std::string& name : option->get_lnames()) flags.push_back(name);
    const auto line = std::find(typed.begin() + 1, typed.end(), "--");
    std::vector<std::string> before{typed.begin() + 1, line};
    if (takes_gpu_behind_model(typed.front())) name_option_of_gpu(before, line == typed.end() ? 1 : 0);
    if (typed.front() == "fit") name_option_of_gpu(before, 0);
    std::vector<std::string> words;
    if (line != typed.end()) words = launch_words({line + 1, typed.end()});
    trained_job trained = job_of_line(words, gpus_in(before));
    const auto file = std::ranges::find_if(
        before, [](const std::string& word) { return !word.starts_with('-') && is_config_file(word); });
    if (words.empty() && file != before.end()) {
        trained = job_in_file(*file, {.gpus = gpus_in(before)});
        before.erase(file);
    }
    const bool is_trained = !trained.options.empty();
    notes.insert(notes.end(), trained.notes.begin(), trained.notes.end());
    const std::size_t of_line = trained.options.size();
    trained.options.insert(trained.options.end(), before.begin(), before.end());
    std::vector<std::string> own = own_spelling(trained.options, flags, notes, of_line);
    if (!asks_of_checkpoints(before)) std::erase_if(own, is_of_checkpoints);
    if (is_trained) {
        keep_last(own);
        // The job stands behind the term that explain takes first.
        const auto model = std::ranges::find_if(own, [](const auto& o) { return !o.empty() && o.front() != '-'; });
        if (model != own.end()) std::rotate(model, model + 1, own.end());
    }
    if (!trained.model.is_null()) {
        own.emplace_back("-");
        take_launched(words, {{"model", trained.model}});
    }
    own.insert(own.begin(), typed.front());
    if (!words.empty() && !is_trained) add_launch_line(std::move(words), own, notes);
    return own;
}

}  // namespace program
