// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/device_json.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc.hpp"
#include "cuda_api.hpp"
#include "measure.hpp"
#include "nvml.hpp"

/// What the program does, one function a subcommand; main.cpp reads the arguments.
namespace llmres::probe {

struct options {
    // Of every command.
    std::string device;               ///< index or UUID; empty for the first, or for all where a command describes
    std::string simulate;             ///< a device file to work on instead of the machine
    std::optional<std::string> json;  ///< a file, or "-" for stdout
    double timeout_s = 0;
    // describe
    bool no_context = false;  ///< do not open devices to read their free memory
    // calibrate
    measure_options figures;
    std::string out;  ///< the device file; empty for none
    // plan, alloc, replay
    job_request job;         ///< job.model: a job document or a preset's name; of alloc also a plan
    double fill = 0;         ///< plan: the largest batch that takes so many percent of what is usable
    std::string allocator;   ///< over what the plan names; of replay that one alone
    std::int32_t steps = 3;  ///< of a replay
    std::string search;      ///< "", "batch" or "context"
    std::optional<std::int64_t> gpus;
    std::optional<std::int64_t> guard_mib;
    std::int32_t runs = 3;
    bool any_gpu = false;  ///< also a plan for another GPU than the device
};

/// How a command ends: its exit code, and a word on stderr. Thrown where it ends early; a refusal is thrown as
/// llmres::exception, and exits with exit_usage.
struct ending {
    int code = exit_done;
    std::string why;
};

ending run_describe(const options& o);
ending run_calibrate(const options& o);
ending run_plan(const options& o);
ending run_alloc(const options& o);
ending run_replay(const options& o);

// ---- shared by the commands -----------------------------------------------------------------------------------------

/// The machine's devices (or a recorded file's), the one that was asked for, and what reaches it. Where there is none,
/// {"devices":[]} is written and the command ends.
struct workplace {
    explicit workplace(const options& o);
    device& live() { return devices[index]; }
    std::int32_t cuda_index() const { return static_cast<std::int32_t>(index); }

    stop_signal stop;
    nvml driver;  // first of what follows: it reads memory before CUDA is touched
    std::unique_ptr<cuda_api> cuda = make_cuda();
    device_file recorded;         ///< of --simulate
    std::vector<device> devices;  ///< as they are before any context is opened
    std::size_t index = 0;
    nvml::handle handle{};  ///< NVML's, of the one asked for
};

/// Whether it names a file, and not a preset.
inline bool names_file(const job_request& request) { return request.model.ends_with(".json"); }
/// The document in the file that a request names, or that its flags make of a preset.
std::string job_text(const job_request& request);
/// The document to that file; to stdout where it is "" or "-".
void write_json(const nlohmann::ordered_json& document, const std::string& path);
/// A device file of these devices, with version and time.
device_file file_of(std::vector<device> devices);

}  // namespace llmres::probe
