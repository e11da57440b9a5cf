// SPDX-License-Identifier: MIT
// plan: what `llmres plan --json` says of a job on this very device.
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
    const auto document = job_text(options.job);
    if (!document) return refuse(document.error());
    const auto plan = options.fill > 0 ? plan_filling(*document, live, options.fill) : plan_document(*document, live);
    if (!plan) return refuse(plan.error());
    return write_json(nlohmann::ordered_json::parse(plan->text), common.json.value_or("")) ? exit_done : exit_usage;
}

}  // namespace llmres::probe
