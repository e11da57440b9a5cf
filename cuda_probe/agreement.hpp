// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

/// How well a plan's prediction and a device agreed, of what `alloc` reported.
namespace llmres::probe {

/// `term` and `term_error_percent`: the buffers' term that was worst predicted. `context_apart_bytes` and
/// `workspace_apart_bytes`: predicted less measured, where the plan leaves them to driver and libraries. Of a search
/// `largest_error_percent`: what arithmetic allows within the guard band, of what was held. `agrees`: terms and largest
/// are within 1 %, context and workspace within 64 MiB. Null where the report tells neither: nothing was held.
nlohmann::ordered_json agreement_of(const nlohmann::ordered_json& report);

}  // namespace llmres::probe
