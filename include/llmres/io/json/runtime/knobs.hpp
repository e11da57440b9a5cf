// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/runtime.hpp>

/// The knobs of a runtime that are true or false in a job document, and one of several values in its profile. The
/// others have a row in io/job_fields.hpp alone.
namespace llmres::inline v0::detail {

/// A knob that stands for two of the values that a constant may have.
struct two_way_knob {
    const char* name;
    bool (*is_on)(const runtime&);
    void (*turn)(runtime&, bool on);
};
inline constexpr std::array two_way_knobs{
    two_way_knob{"fused_norms", [](const runtime& r) { return r.kernels.norm != norm_code::eager; },
                 [](runtime& r, bool on) { r.kernels.norm = on ? norm_code::fused : norm_code::eager; }},
    two_way_knob{"fused_gates", [](const runtime& r) { return r.kernels.gate != gate_code::eager; },
                 [](runtime& r, bool on) {
                     gate_code& gate = r.kernels.gate;  // beside a runtime without such a kernel it is Liger's
                     if (!on) gate = gate_code::eager;
                     if (on && gate == gate_code::eager) gate = gate_code::in_place;
                 }},
    two_way_knob{"fully_shard", [](const runtime& r) { return r.sharding.code == sharding_code::fsdp2; },
                 [](runtime& r, bool on) {
                     r.sharding.code = on ? sharding_code::fsdp2 : sharding_code::fsdp1;
                     // accelerate, utils/fsdp_utils.py, fsdp2_prepare_model
                     r.sharding.separate_streams = r.sharding.separate_ends = on;
                 }},
    two_way_knob{
        "gradient_accumulation_fusion", [](const runtime& r) { return r.kernels.linear != linear_code::plain; },
        [](runtime& r, bool on) { r.kernels.linear = on ? linear_code::accumulates_beside : linear_code::plain; }},
    two_way_knob{"fused_adapters", [](const runtime& r) { return r.kernels.adapters != adapter_code::modules; },
                 [](runtime& r, bool on) { r.kernels.adapters = on ? adapter_code::fused : adapter_code::modules; }}};

}  // namespace llmres::inline v0::detail
