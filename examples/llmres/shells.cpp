// SPDX-License-Identifier: MIT
// Completions and the manual page, from the options that CLI11 holds.
#include "shells.hpp"

#include "commands.hpp"

#include <fmt/format.h>
#include <string>
#include <vector>

namespace program {
namespace {

/// The options of a command that people see.
std::vector<const CLI::Option*> options_of(const CLI::App& command) {
    std::vector<const CLI::Option*> shown;
    for (const CLI::Option* option : command.get_options())
        if (!option->get_group().empty() && option->nonpositional()) shown.push_back(option);
    return shown;
}

/// A text in which each of some characters has an escape before it.
std::string escaped(const std::string& text, const std::string& characters, const std::string& escape) {
    std::string made;
    for (const char c : text) made += characters.find(c) == std::string::npos ? std::string(1, c) : escape + c;
    return made;
}

std::string names_of(const CLI::App& command) {
    std::string names;
    for (const CLI::Option* option : options_of(command))
        for (const std::string& name : option->get_lnames()) names += " --" + name;
    return names;
}

std::string bash(const CLI::App& app) {
    std::string commands;
    std::string cases;
    for (const CLI::App* command : app.get_subcommands({})) {
        commands += " " + command->get_name();
        cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), names_of(*command));
    }
    return fmt::format(
        "_llmres() {{\n  local words=\"{}{}\"\n  [ \"$COMP_CWORD\" -gt 1 ] && case \"${{COMP_WORDS[1]}}\" in\n{}  "
        "esac\n"
        "  COMPREPLY=($(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\"))\n"
        "  [ \"${{#COMPREPLY[@]}}\" -gt 0 ] || COMPREPLY=($(compgen -f -- \"${{COMP_WORDS[COMP_CWORD]}}\"))\n}}\n"
        "complete -F _llmres llmres\n",
        commands, names_of(app), cases);
}

std::string zsh(const CLI::App& app) {
    const auto described = [](const std::string& name, const std::string& help) {
        return "'" + escaped(name, ":", "\\") + ":" + escaped(escaped(help, ":", "\\"), "'", "'\\'") + "'";
    };
    std::string commands;
    std::string cases;
    for (const CLI::App* command : app.get_subcommands({})) {
        commands += "\n    " + described(command->get_name(), command->get_description());
        std::string options;
        for (const CLI::Option* option : options_of(*command))
            for (const std::string& name : option->get_lnames())
                options += "\n      " + described("--" + name, option->get_description());
        cases += fmt::format("    {}) offers=({}) ;;\n", command->get_name(), options);
    }
    return fmt::format(
        "#compdef llmres\n_llmres() {{\n  local -a offers\n  offers=({})\n  (( CURRENT > 2 )) && case ${{words[2]}} "
        "in\n{}"
        "  esac\n  _describe llmres offers || _files\n}}\ncompdef _llmres llmres\n",
        commands, cases);
}

std::string fish(const CLI::App& app) {
    const auto quoted = [](const std::string& text) { return "'" + escaped(text, "\\'", "\\") + "'"; };
    std::string lines;
    for (const CLI::App* command : app.get_subcommands({})) {
        lines += fmt::format("complete -c llmres -n __fish_use_subcommand -a {} -d {}\n", command->get_name(),
                             quoted(command->get_description()));
        for (const CLI::Option* option : options_of(*command))
            for (const std::string& name : option->get_lnames())
                lines += fmt::format("complete -c llmres -n '__fish_seen_subcommand_from {}' -l {}{} -d {}\n",
                                     command->get_name(), name, option->get_items_expected_max() > 0 ? " -r" : "",
                                     quoted(option->get_description()));
    }
    return lines;
}

/// A text as man(7) takes it: no line begins with a control character.
std::string roff(const std::string& text) {
    const std::string plain_text = escaped(text, "\\-", "\\");
    return !plain_text.empty() && (plain_text[0] == '.' || plain_text[0] == '\'') ? "\\&" + plain_text : plain_text;
}

}  // namespace

std::string completion_for(const CLI::App& app, const std::string& shell) {
    if (shell == "bash") return bash(app);
    if (shell == "zsh") return zsh(app);
    if (shell == "fish") return fish(app);
    throw refusal{llmres::refused(llmres::error_code::unknown, "shell", shell, "bash, zsh or fish")};
}

std::string manual_of(const CLI::App& app) {
    std::string page = ".TH LLMRES 1\n.SH NAME\nllmres \\- " + roff(app.get_description()) +
                       "\n.SH SYNOPSIS\n.B llmres\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH COMMANDS\n";
    for (const CLI::App* command : app.get_subcommands({}))
        page += fmt::format(".TP\n.B {}\n{}\n", roff(command->get_name()), roff(command->get_description()));
    for (const CLI::App* command : app.get_subcommands({})) {
        page += fmt::format(".SH OPTIONS OF {}\n", roff(command->get_name()));
        for (const CLI::Option* option : options_of(*command))
            page += fmt::format(".TP\n\\fB{}\\fR \\fI{}\\fR\n{}\n", roff(option->get_name()),
                                roff(option->get_items_expected_max() > 0 ? option->get_type_name() : ""),
                                roff(option->get_description()));
    }
    return page +
           ".SH EXIT STATUS\n0 it fits, or what was asked is done; 1 it does not fit; 2 bad input; 3 a mistake in "
           "llmres, "
           "or an answer that cannot be written\n";
}

}  // namespace program
