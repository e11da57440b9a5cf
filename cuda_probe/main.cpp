// SPDX-License-Identifier: MIT
// llmres-probe: what a GPU is, what it does, and whether a plan's buffers really fit on it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "commands.hpp"

namespace {

using namespace llmres::probe;

/// An option that takes a number within bounds.
template <class Number, class Bound>
CLI::Option* add_number(CLI::App* command, const char* name, Number& into, Bound low, Bound high, const char* what) {
    return command->add_option(name, into, what)->check(CLI::Range(low, high));
}

void add_measure_options(CLI::App* command, measure_options& o) {
    add_number(command, "--repeats", o.repeats, 1, 100'000, "samples of each measurement")->capture_default_str();
    command->add_flag("--quick", o.quick, "fewer shapes, smaller transfers, a tenth of the long runs");
    add_number(command, "--warm", o.warm_s, 0.0, 60.0, "seconds of work before the samples")->capture_default_str();
    add_number(command, "--long", o.long_s, 0.0, 600.0, "seconds of a product before its rate is one of long runs")
        ->capture_default_str();
}

void add_job_options(CLI::App* command, const char* what, job_request& job) {
    const bool plan = command->get_name() == "alloc";
    command->add_option(plan ? "PLAN" : "JOB", job.model, what)->required()->type_name("");
    command->add_option("--task", job.task, "of a preset: serving, pretraining or finetuning");
    command->add_option("--runtime", job.runtime, "of a preset: an engine of `llmres runtimes`");
    add_number(command, "--batch", job.batch, 1, 1 << 24, "of a preset: sequences, or the micro-batch");
    add_number(command, "--context", job.context, 1, 1 << 30, "of a preset: tokens of a sequence");
}

/// Allocators whose segments grow, which only a replay has them do.
enum class growing_allocators : bool { left_out, offered };

void add_allocator(CLI::App* command, options& o, growing_allocators growing, const char* what) {
    std::vector<std::string> names;
    for (const tensor_allocator& one : allocators)
        if (growing == growing_allocators::offered || !one.expands) names.emplace_back(one.name);
    command->add_option("--allocator", o.allocator, what)->check(CLI::IsMember(names));
}

void add_alloc_options(CLI::App* alloc, options& o) {
    add_allocator(alloc, o, growing_allocators::left_out, "default: the plan's");
    alloc->add_option("--search", o.search, "find the largest batch or context that the device holds, by bisection")
        ->check(CLI::IsMember({"batch", "context"}));
    add_number(alloc, "--gpus", o.gpus, 1, 1 << 20,
               "refuse a plan for another number of GPUs; default: for more than are here");
    add_number(alloc, "--guard-mib", o.guard_mib, 0, 1 << 24,
               "always leave so much free; default: max(256 MiB, 1 %) where others use the device");
    add_number(alloc, "--repeats", o.runs, 1, 1000, "runs; the last of several is in another order")
        ->capture_default_str();
    alloc->add_flag("--any-gpu", o.any_gpu, "also a plan that was made for another GPU than this");
}

void add_commands(CLI::App& app, options& o, ending& end) {
    // What holds memory gives it back when it stops between its steps; only 20 seconds after the timeout is it ended
    // from outside.
    enum class holds : bool { nothing, memory };
    const auto add = [&](const char* name, holds held, ending (*work)(const options&), const char* what) {
        CLI::App* command = app.add_subcommand(name, what);
        command->add_option("--device", o.device, "CUDA index or UUID; default: the first");
        command->add_option("--simulate", o.simulate, "work on a recorded device file, as far as that goes")
            ->type_name("FILE");
        add_number(command, "--timeout", o.timeout_s, 0.0, 1e9, "give up after so many seconds; 0: never");
        command->add_option("--json", o.json, "the result as JSON, to stdout or to --json=FILE")->type_name("[=FILE]");
        command->callback([&o, &end, held, work] {
            stop_signal::end_after(o.timeout_s > 0 && held == holds::memory ? o.timeout_s + 20 : o.timeout_s,
                                   exit_internal);
            end = work(o);
        });
        return command;
    };

    CLI::App* describe =
        add("describe", holds::nothing, run_describe, "everything the devices tell of themselves, as JSON");
    describe->add_flag("--no-context", o.no_context, "open no device: free memory as CUDA sees it stays unknown");

    CLI::App* alloc =
        add("alloc", holds::memory, run_alloc, "allocates a plan's buffers and compares with its prediction");
    add_job_options(alloc, "a plan (`llmres plan --json`), a job document, or a preset's name", o.job);
    add_alloc_options(alloc, o);

    CLI::App* calibrate = add("calibrate", holds::memory, run_calibrate,
                              "bandwidths, matrix products, context and workspace, as JSON or a file for the planner");
    add_measure_options(calibrate, o.figures);
    calibrate->add_option("--out", o.out, "the device file, which is written unless something failed")
        ->type_name("FILE");

    CLI::App* plan =
        add("plan", holds::memory, run_plan, "plans a job for this device, as `llmres plan --json` writes it");
    add_job_options(plan, "a job document, or a preset's name", o.job);
    add_number(plan, "--fill", o.fill, 0.0, 1000.0, "the largest batch that takes so many percent of what is usable");

    CLI::App* replay =
        add("replay", holds::memory, run_replay, "a training step, tensor by tensor, through each allocator");
    add_job_options(replay, "a job document, or a preset's name", o.job);
    add_allocator(replay, o, growing_allocators::offered, "one of them alone");
    add_number(replay, "--steps", o.steps, 1, 100, "training steps")->capture_default_str();
}

int run(int count, char** arguments) {
    CLI::App app{"What a GPU is, what it does, and whether a plan's buffers really fit on it.", "llmres-probe"};
    app.require_subcommand(1);
    app.set_version_flag("--version", std::string{file_of({}).probe_version.view()});
    app.footer(
        "Exit codes: 0 done or fits, 1 internal, 2 usage, 3 does not fit, 4 no device, 5 skipped, 6 inconclusive.");
    options o;
    ending end;
    add_commands(app, o, end);

    // --json takes a file only behind "=", so that it never swallows the argument after it.
    std::vector<std::string> given(arguments + 1, arguments + count);
    for (std::string& one : given)
        if (one == "--json") one = "--json=-";
    std::reverse(given.begin(), given.end());  // as CLI11 wants them
    try {
        app.parse(given);
    } catch (const CLI::ParseError& wrong) {
        return app.exit(wrong) == 0 ? int{exit_done} : int{exit_usage};
    } catch (const ending& early) {
        end = early;
    } catch (const llmres::exception& refused) {
        const llmres::error& wrong = refused.error();
        const std::string value = wrong.value.empty() ? "" : fmt::format(" ({})", wrong.value.view());
        end = {exit_usage, fmt::format("{}: {}{}; expected {}", wrong.field.view(), name_of(wrong.code), value,
                                       wrong.expected.view())};
    }
    if (!end.why.empty()) std::cerr << "llmres-probe: " << end.why << "\n";
    return end.code;
}

}  // namespace

int main(int count, char** arguments) {
    stop_signal::listen();
    try {
        return run(count, arguments);
    } catch (const std::exception& wrong) {
        std::cerr << "llmres-probe: internal: " << wrong.what() << "\n";
        return exit_internal;
    }
}
