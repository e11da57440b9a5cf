// SPDX-License-Identifier: MIT
// plan: what `llmres plan --json` says of a job on this very device.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "commands.hpp"
#include "describe.hpp"

namespace llmres::probe {

int run_plan(const common_options& common, const plan_command_options& options) {
    const nvml driver;
    const auto cuda = make_cuda();
    auto [devices, exit] = find_devices(common, *cuda, driver);
    if (devices.empty()) return exit;
    const auto which = select(devices, common.device);
    if (!which) return refuse(which.error());
    const device& live = devices[*which];
    std::string document = document_of(options.job);
    if (options.job.model.ends_with(".json")) {
        std::ifstream in{options.job.model, std::ios::binary};
        if (!in || std::filesystem::is_directory(options.job.model))
            return refuse(refused(error_code::io, "JOB", options.job.model, "a job document that can be read"));
        document.assign(std::istreambuf_iterator<char>{in}, {});
    }
    const auto plan = options.fill > 0 ? plan_filling(document, live, options.fill) : plan_document(document, live);
    if (!plan) return refuse(plan.error());
    return write_json(nlohmann::ordered_json::parse(plan->text), common.json.value_or("")) ? exit_done : exit_usage;
}

}  // namespace llmres::probe
