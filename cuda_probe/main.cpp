// SPDX-License-Identifier: MIT
// llmres-probe: what a GPU is, what it does, and whether a plan's buffers really fit on it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <llmres/values/version.hpp>
#include <string>
#include <vector>

#include "commands.hpp"

namespace {

using namespace llmres::probe;

/// Options that every subcommand takes, and where it ends.
CLI::App* add_command(CLI::App& app, const char* name, const char* what, common_options& common) {
    CLI::App* command = app.add_subcommand(name, what);
    command->add_option("--device", common.device, "CUDA index or UUID; default: the first");
    command
        ->add_option("--simulate", common.simulate,
                     "work on a recorded device file, up to what needs the device itself")
        ->type_name("FILE");
    command->add_option("--timeout", common.timeout_s, "give up after so many seconds; 0: never")
        ->check(CLI::Range(0.0, 1e9));
    command->add_option("--json", common.json, "the result as JSON, to stdout or to --json=FILE")->type_name("[=FILE]");
    return command;
}

void add_measure_options(CLI::App* command, measure_command_options& options) {
    command->add_option("--repeats", options.repeats, "samples of each measurement")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    command->add_flag("--quick", options.quick, "fewer shapes, smaller transfers");
}

void add_job_options(CLI::App* command, job_request& job) {
    command->add_option("--task", job.task, "of a preset: serving, pretraining or finetuning");
    command->add_option("--runtime", job.runtime, "of a preset: an engine of `llmres runtimes`");
    command->add_option("--batch", job.batch, "of a preset: sequences, or the micro-batch")
        ->check(CLI::Range(1, 1 << 24));
    command->add_option("--context", job.context, "of a preset: tokens of a sequence")->check(CLI::Range(1, 1 << 30));
}

/// When a command that heeds its timeout between steps has had time enough to let go of what it held.
double latest(const common_options& common) { return common.timeout_s > 0 ? common.timeout_s + 20 : 0; }

int run(int count, char** arguments) {
    CLI::App app{"What a GPU is, what it does, and whether a plan's buffers really fit on it.", "llmres-probe"};
    app.require_subcommand(1);
    app.set_version_flag("--version", std::to_string(llmres::version.major) + "." +
                                          std::to_string(llmres::version.minor) + "." +
                                          std::to_string(llmres::version.patch));
    app.footer(
        "Exit codes: 0 done or fits, 1 internal, 2 usage, 3 does not fit, 4 no device, 5 skipped, 6 inconclusive.");
    common_options common;
    int exit = exit_done;

    CLI::App* list = add_command(app, "list", "devices, one a line, those that CUDA hides included", common);
    list->callback([&] {
        stop_signal::end_after(common.timeout_s, exit_internal);
        exit = run_list(common);
    });

    describe_options describe;
    CLI::App* describing = add_command(app, "describe", "everything the devices tell of themselves, as JSON", common);
    bool no_context = false;
    describing->add_flag("--no-context", no_context, "open no device: free memory as CUDA sees it stays unknown");
    describing->add_flag("--all", describe.hidden, "devices that CUDA does not show, too");
    describing->callback([&] {
        describe.context = !no_context;
        stop_signal::end_after(common.timeout_s, exit_internal);
        exit = run_describe(common, describe);
    });

    measure_command_options measuring;
    CLI::App* measure =
        add_command(app, "measure", "bandwidths, matrix products, latencies, context and workspace", common);
    add_measure_options(measure, measuring);
    measure->callback([&] {
        stop_signal::end_after(latest(common), exit_internal);
        exit = run_measure(common, measuring);
    });

    alloc_command_options allocating;
    CLI::App* alloc = add_command(app, "alloc", "allocates a plan's buffers and compares with its prediction", common);
    alloc->add_option("PLAN", allocating.job.model, "a plan (`llmres plan --json`), a job document, or a preset's name")
        ->required()
        ->type_name("");
    add_job_options(alloc, allocating.job);
    alloc->add_option("--allocator", allocating.allocator,
                      "cuda_malloc, stream_ordered, virtual_memory or pytorch_caching; default: the plan's");
    alloc
        ->add_option("--search", allocating.search,
                     "find the largest batch or context that the device holds, by bisection")
        ->check(CLI::IsMember({"batch", "context"}));
    alloc->add_option("--at", allocating.at, "the batch or context the plan was made for, where it does not say")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
    alloc
        ->add_option("--gpus", allocating.gpus,
                     "refuse a plan for another number of GPUs; default: for more than are here")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
    alloc
        ->add_option("--guard-mib", allocating.guard_mib,
                     "always leave so much free; default: max(256 MiB, 1 %) where others use the device")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 24));
    alloc->add_option("--repeats", allocating.repeats, "runs; the last of several is in another order")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    alloc->add_flag("--any-gpu", allocating.any_gpu, "also a plan that was made for another GPU than this");
    bool no_libraries = false;
    alloc->add_flag("--no-libraries", no_libraries, "do not open cuBLAS before allocating");
    alloc->callback([&] {
        allocating.libraries = !no_libraries;
        stop_signal::end_after(latest(common), exit_internal);
        exit = run_alloc(common, allocating);
    });

    measure_command_options calibrating;
    std::string out;
    CLI::App* calibrate = add_command(app, "calibrate", "measures and writes a device file for the planner", common);
    add_measure_options(calibrate, calibrating);
    calibrate->add_option("--out", out, "the device file")->required()->type_name("FILE");
    calibrate->callback([&] {
        stop_signal::end_after(latest(common), exit_internal);
        exit = run_calibrate(common, calibrating, out);
    });

    plan_command_options planning;
    CLI::App* plan = add_command(app, "plan", "plans a job for this device, as `llmres plan --json` writes it", common);
    plan->add_option("JOB", planning.job.model, "a job document, or a preset's name")->required()->type_name("");
    add_job_options(plan, planning.job);
    plan->add_option("--fill", planning.fill, "the largest batch that takes so many percent of what is usable")
        ->check(CLI::Range(0.0, 1000.0));
    plan->callback([&] {
        stop_signal::end_after(latest(common), exit_internal);
        exit = run_plan(common, planning);
    });

    replay_command_options replaying;
    CLI::App* replay = add_command(app, "replay", "a training step, tensor by tensor, through each allocator", common);
    replay->add_option("JOB", replaying.job.model, "a job document, or a preset's name")->required()->type_name("");
    add_job_options(replay, replaying.job);
    replay->add_option("--allocator", replaying.allocator, "one of them alone")
        ->check(CLI::IsMember(
            {"cuda_malloc", "stream_ordered", "virtual_memory", "pytorch_caching", "pytorch_expandable"}));
    replay->add_option("--steps", replaying.steps, "training steps")->check(CLI::Range(1, 100))->capture_default_str();
    replay->callback([&] {
        stop_signal::end_after(latest(common), exit_internal);
        exit = run_replay(common, replaying);
    });

    // --json takes a file only behind "=", so that it never swallows the argument after it.
    std::vector<std::string> given(arguments + 1, arguments + count);
    for (std::string& one : given)
        if (one == "--json") one = "--json=-";
    std::reverse(given.begin(), given.end());  // as CLI11 wants them
    try {
        app.parse(given);
    } catch (const CLI::ParseError& wrong) {
        return app.exit(wrong) == 0 ? int{exit_done} : int{exit_usage};
    }
    return exit;
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
