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
    bool hidden = false;      ///< also devices that CUDA does not show
    // measure, calibrate
    measure_options figures;
    std::string out;  ///< the device file
    // plan, alloc, replay
    job_request job;                 ///< job.model: a job document or a preset's name; of alloc also a plan
    double fill = 0;                 ///< plan: the largest batch that takes so many percent of what is usable
    std::string allocator;           ///< over what the plan names; of replay that one alone
    std::int32_t steps = 3;          ///< of a replay
    std::string search;              ///< "", "batch" or "context"
    std::optional<std::int64_t> at;  ///< the batch or context that the plan was made for, where it does not say
    std::optional<std::int64_t> gpus;
    std::optional<std::int64_t> guard_mib;
    std::int32_t runs = 3;
    bool no_libraries = false;
    bool any_gpu = false;  ///< also a plan for another GPU than the device
};

int run_list(const options& o);
int run_describe(const options& o);
int run_measure(const options& o);
int run_calibrate(const options& o);
int run_plan(const options& o);
int run_alloc(const options& o);
int run_replay(const options& o);

// ---- shared by the commands -----------------------------------------------------------------------------------------

/// The machine's devices (or a recorded file's), the one that was asked for, and what reaches it. False, with the exit
/// code to end with, where there is none to work on.
struct workplace {
    explicit workplace(const options& o);
    explicit operator bool() const { return !devices.empty(); }
    device& live() { return devices[index]; }
    std::int32_t cuda_index() const { return static_cast<std::int32_t>(index); }
    /// What NVML says of the device.
    template <class Answer>
    reading<Answer> ask(reading<Answer> (nvml::*what)(nvml::handle) const) const {
        return handle ? (driver.*what)(*handle) : reading<Answer>::unavailable(handle.why);
    }

    stop_signal stop;
    nvml driver;  // first of what follows: it reads memory before CUDA is touched
    std::unique_ptr<cuda_api> cuda = make_cuda();
    std::vector<device> devices;
    std::size_t index = 0;
    reading<nvml::handle> handle{};
    int exit = exit_done;
};

/// Opens that device, to read free memory as a process has it.
void read_free(cuda_api& cuda, std::int32_t index, device& live);
/// The devices that CUDA lets this process use, so many as it said, as they are before any context is opened.
std::vector<device> describe_all(cuda_api& cuda, const nvml& driver, std::int32_t count);
/// Devices that NVML sees and CUDA does not, such as those hidden by CUDA_VISIBLE_DEVICES.
std::vector<device> describe_hidden(const nvml& driver, const std::vector<device>& seen);

/// The job document that a request names, or that its flags make of a preset.
result<std::string> job_text(const job_request& request);
/// A refusal on stderr; always exit_usage.
int refuse(const error& wrong);
/// A reason on stderr, and the code.
int end(exit_code code, const std::string& why);
/// No device: {"devices":[]} on stdout, the reason on stderr; exit_internal where that is a fault.
int end_without_device(const device_total& none);
/// The document to where --json says. False, after a word on stderr, if that file cannot be written.
bool write_json(const nlohmann::ordered_json& document, const std::string& path);
/// A device file of these devices, with version and time.
device_file file_of(std::vector<device> devices);

}  // namespace llmres::probe
