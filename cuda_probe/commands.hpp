// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/device_json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cuda_api.hpp"
#include "exit_codes.hpp"
#include "nvml.hpp"
#include "planner.hpp"
#include "stop.hpp"

/// What the program does, one function a subcommand; main.cpp reads the arguments.
namespace llmres::probe {

/// What every subcommand takes.
struct common_options {
    std::string device;               ///< index or UUID; empty for the first, or for all where a command describes
    std::string simulate;             ///< a device file to work on instead of the machine
    std::optional<std::string> json;  ///< a file, or "-" for stdout
    double timeout_s = 0;
};

struct describe_options {
    bool context = true;  ///< open each device to read its free memory
    bool hidden = false;  ///< also devices that CUDA does not show
};

struct measure_command_options {
    std::int32_t repeats = 20;
    bool quick = false;
};

struct alloc_command_options {
    job_request job;                 ///< job.model: a plan file, a job document or a preset's name
    std::string allocator;           ///< over what the plan names
    std::string search;              ///< "", "batch" or "context"
    std::optional<std::int64_t> at;  ///< the batch or context that the plan was made for, where it does not say
    std::optional<std::int64_t> gpus;
    std::optional<std::int64_t> guard_mib;
    std::int32_t repeats = 3;
    bool libraries = true;
    bool any_gpu = false;  ///< also a plan for another GPU than the device
};

struct plan_command_options {
    job_request job;  ///< job.model: a job document or a preset's name
    double fill = 0;  ///< of what is usable, in percent: the largest batch that takes no more; 0: the job's own
};

struct replay_command_options {
    job_request job;        ///< job.model: a job document or a preset's name
    std::string allocator;  ///< empty: all
    std::int32_t steps = 3;
};

int run_list(const common_options& common);
int run_describe(const common_options& common, const describe_options& options);
int run_measure(const common_options& common, const measure_command_options& options);
int run_alloc(const common_options& common, const alloc_command_options& options);
int run_calibrate(const common_options& common, const measure_command_options& options, const std::string& out);
int run_plan(const common_options& common, const plan_command_options& options);
int run_replay(const common_options& common, const replay_command_options& options);

// ---- shared by the commands -----------------------------------------------------------------------------------------

/// The job document that a request names, or that its flags make of a preset.
result<std::string> job_text(const job_request& request);
/// A refusal on stderr; always exit_usage.
int refuse(const error& wrong);
/// A reason on stderr, and the code.
int end(exit_code code, const std::string& why);
/// No device: {"devices":[]} on stdout, the reason on stderr.
int end_without_device(const std::string& why);
/// The same, or exit_internal where that is a fault.
int end_without_device(const device_total& none);

/// The document to where --json says. False, after a word on stderr, if that file cannot be written.
bool write_json(const nlohmann::ordered_json& document, const std::string& path);

/// Now, UTC, as in 2025-01-31T12:00:00Z.
text<31> timestamp();
/// A device file of these devices, with version and time.
device_file file_of(std::vector<device> devices);

/// The machine's devices, or a recorded file's. Empty, with the exit code to end with, if there is none to work on.
struct found_devices {
    std::vector<device> devices;
    int exit = exit_done;
};
found_devices find_devices(const common_options& common, cuda_api& cuda, const nvml& driver);

}  // namespace llmres::probe
