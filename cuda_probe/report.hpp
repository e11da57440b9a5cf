// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/device_json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "alloc.hpp"

/// What an allocation test found, as JSON and for people.
namespace llmres::probe {

struct alloc_report {
    device live{};
    tested_plan plan;
    std::string plan_source;  ///< the file, or the preset's name
    std::string allocator;
    std::string allocator_source;  ///< "plan" or "flag"
    byte_count guard{};
    std::string guard_reason;
    baselines around{};
    std::vector<alloc_run> runs;
    std::string search_axis;
    std::optional<search_result> search;
    judgement judged;
    device_file stamp{};  ///< version and time
};

/// One line of how prediction and device agree.
struct agreement_line {
    std::string what;
    nlohmann::ordered_json predicted;
    nlohmann::ordered_json measured;  ///< null where nothing was
    bool agrees = true;               ///< of what was not measured, true
    std::string why;                  ///< which side is wrong, or why nothing was measured
    byte_count stood_in{};            ///< held for what the plan says of it, which is no measurement
};

/// Verdict, usable, context, each term, total, reserved and the largest batch or context, predicted against the device.
/// Usable: within 64 MiB or 1 %; context: at most 64 MiB above its bounds; terms: 4 MiB or 1 %; total, reserved: 2 %;
/// the largest: held at what the planner says, and not beyond what its lower bound allows. What alone fills the
/// allocator's granules (cuMemGetAllocationGranularity) does not count as a difference; `why` says how much that is.
std::vector<agreement_line> agreement_of(const alloc_report& report);

nlohmann::ordered_json to_json(const alloc_report& report);
/// The same in a few lines.
std::string to_text(const alloc_report& report);

}  // namespace llmres::probe
