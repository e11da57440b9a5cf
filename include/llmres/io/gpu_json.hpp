// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/hardware/gpu.hpp>
#include <nlohmann/json.hpp>

/// A GPU's datasheet as JSON: bytes, bytes a second, operations a second, watts. What is not published is null.
namespace llmres::inline v0 {

inline nlohmann::ordered_json to_json(const gpu& card) {
    using json = nlohmann::ordered_json;
    const auto known = [](const auto& m, const auto& read) { return m ? json(read(*m)) : json(nullptr); };
    const auto plain = [](std::int32_t n) { return n; };
    const auto size = [](byte_count q) { return q.in(bytes); };
    const auto rate = [](flop_rate r) { return r.in(flops_per_s); };
    const gpu_rates& r = card.rates;
    return {{"id", card.id.view()},
            {"name", card.name.view()},
            {"architecture", card.architecture.view()},
            {"launch_year", card.launch_year},
            {"sm_count", known(card.sm_count, plain)},
            {"cuda_cores", known(card.cuda_cores, plain)},
            {"tensor_cores", known(card.tensor_cores, plain)},
            {"memory_marketing", card.memory.marketing.in(bytes)},
            {"memory_fitted", card.memory.fitted.in(bytes)},
            {"memory_reported", known(card.memory.reported, size)},
            {"memory_usable", usable_memory(card).in(bytes)},
            {"memory_type", card.memory.type.view()},
            {"memory_bandwidth", card.memory.bandwidth.in(bytes_per_s)},
            {"fp32", known(r.fp32, rate)},
            {"tf32", known(r.tf32, rate)},
            {"fp16", known(r.fp16, rate)},
            {"bf16", known(r.bf16, rate)},
            {"fp8", known(r.fp8, rate)},
            {"fp4", known(r.fp4, rate)},
            {"int8", known(r.int8, rate)},
            {"board_power", known(card.board_power, [](power p) { return p.in(watts); })},
            {"mig_instances", known(card.mig_instances, plain)},
            {"sources", card.listing.sources.view()}};
}

}  // namespace llmres::inline v0
