// SPDX-License-Identifier: MIT
// llmres: does this LLM job fit on these GPUs, in which layout, how fast, and what limits it?
#include "commands.hpp"

#include <CLI/CLI.hpp>
#include <exception>
#include <fmt/format.h>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/text.hpp>
#include <llmres/version.hpp>
#include <string>

namespace {

using namespace program;

void add_model(CLI::App& app, int& exit) {
    static model_options o;
    auto* command = app.add_subcommand("model", "The architecture, exact parameters by role, weight and KV bytes");
    command->add_option("MODEL", o.source, "a preset of `llmres models`, a config.json or its folder")->required();
    command->add_option("--weights", o.weights, "precision of the weights instead of the published one");
    command->add_option("--kv_cache", o.kv_cache, "precision of the KV cache; default bf16");
    command->add_flag("--json", o.json, "one JSON document on stdout");
    command->callback([&exit] { exit = run_model(o); });
}

void add_plan(CLI::App& app, int& exit) {
    static plan_options o;
    auto* command = app.add_subcommand("plan", "Verdict, layout, memory and time of a job, and what would help");
    command->add_option("JOB", o.source, "a job (JSON), or a MODEL: a preset, a config.json or its folder")->required();
    for (const llmres::job_field& f : llmres::job_fields) {
        const std::string flag = llmres::flag_of(f);
        const std::string group{f.object.empty() ? "job" : f.object};
        if (f.type == llmres::field_type::flag)
            command->add_flag("--" + flag + "{true}", o.fields[flag], std::string{f.help})->group(group);
        else
            command->add_option("--" + flag, o.fields[flag], std::string{f.help})->group(group);
    }
    command->add_flag("--json", o.json, "one JSON document on stdout");
    command->add_option("--svg", o.svg, "write the memory of the busiest GPU as a picture");
    command->callback([&exit] { exit = run_plan(o); });
}

void add_table(CLI::App& app, int& exit, const std::string& name, const std::string& help, int (*run)(const table_options&)) {
    static table_options o;  // one command runs at a time
    auto* command = app.add_subcommand(name, help);
    command->add_option("ID", o.id, "one of them");
    command->add_flag("--json", o.json, "one JSON document on stdout");
    command->callback([run, &exit] { exit = run(o); });
}

}  // namespace

int main(int argc, char** argv) {
    int exit = fits;
    try {
        CLI::App app{"Does this LLM job fit on these GPUs, in which layout, how fast, and what limits it?", "llmres"};
        app.require_subcommand(1);
        const auto [major, minor, patch] = llmres::version;
        app.set_version_flag("--version", fmt::format("{}.{}.{}", major, minor, patch));
        add_model(app, exit);
        add_plan(app, exit);
        add_table(app, exit, "gpus", "The GPUs, with memory, bandwidth and dense bf16 rate", run_gpus);
        add_table(app, exit, "models", "The models that come with the library", run_models);
        add_table(app, exit, "runtimes", "The engines, and the versions their constants were taken from", run_runtimes);
        try {
            app.parse(argc, argv);
        } catch (const CLI::ParseError& e) {
            return app.exit(e) == 0 ? fits : bad_input;
        }
        return exit;
    } catch (const refusal& r) {
        fmt::print(stderr, "llmres: {}\n", llmres::to_text(r.what));
        return bad_input;
    } catch (const std::exception& e) {
        fmt::print(stderr, "llmres: internal error: {}\n", e.what());
        return internal_error;
    }
}
