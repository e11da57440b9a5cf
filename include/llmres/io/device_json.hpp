// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/hardware/device.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/io/json/cluster/device_file.hpp>
#include <llmres/io/json/cluster/device_reader.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// Devices as JSON, both ways. Keys carry their unit (_bytes, _hz, _watts, _bytes_per_s, _flops_per_s, _s); sizes are
/// integers; a field that could not be read is null, and the object `unavailable` beside it says why under the same
/// key.
///
///     {"schema_version": 1, "devices": [{"identity": {"uuid": "GPU-...", "board_part_number": null, ...,
///       "unavailable": {"board_part_number": "NVML: not supported"}}, "memory": {"cuda_total_bytes": ...}, ...}]}
namespace llmres::inline v0 {

namespace detail {

using json = nlohmann::ordered_json;

// ---- writing

template <class Section>
json section_json(const Section& section);

inline json value_json(bool value) { return value; }
inline json value_json(std::int32_t value) { return value; }
inline json value_json(std::int64_t value) { return value; }
template <std::size_t N>
json value_json(const text<N>& value) {
    return std::string{value.view()};
}
template <class Unit, class Rep>
json value_json(quantity<Unit, Rep> value) {
    return value.base();
}

template <class Quantity>
json value_json(const measured<Quantity>& value) {
    const std::string unit = unit_suffix<Quantity>();
    return {{"median" + unit, value.median.base()},
            {"low" + unit, value.low.base()},
            {"high" + unit, value.high.base()},
            {"repeats", value.repeats},
            {"during", section_json(value.during)}};
}
template <class T, std::size_t N>
json value_json(const short_list<T, N>& list) {
    json all = json::array();
    for (const T& item : list) all.push_back(section_json(item));
    return all;
}
template <class Section>
    requires requires(const Section& s) { each_field(s, [](auto&&...) {}); }
json value_json(const Section& section) {
    return section_json(section);
}

struct field_writer {
    json& into;
    json& unavailable;

    template <class T>
    void operator()(const char* key, const reading<T>& field) {
        if (field) {
            into[key] = value_json(*field);
        } else {
            into[key] = nullptr;
            unavailable[key] = std::string{field.why.view()};
        }
    }
    template <class T>
    void operator()(const char* key, const T& field) {
        into[key] = value_json(field);
    }
};

template <class Section>
json section_json(const Section& section) {
    json into = json::object();
    json unavailable = json::object();
    each_field(section, field_writer{into, unavailable});
    if (!unavailable.empty()) into["unavailable"] = std::move(unavailable);
    return into;
}

}  // namespace detail

/// One device as an object.
inline nlohmann::ordered_json to_json(const device& live) { return detail::section_json(live); }

/// A whole file. Without a device it is exactly {"devices":[]}.
inline nlohmann::ordered_json to_json(const device_file& file) {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    if (!file.devices.empty()) {
        out["schema_version"] = device_file::schema_version;
        out["probe_version"] = std::string{file.probe_version.view()};
        out["captured_at"] = std::string{file.captured_at.view()};
    }
    out["devices"] = nlohmann::ordered_json::array();
    for (const device& live : file.devices) out["devices"].push_back(to_json(live));
    return out;
}

/// The datasheet of a GPU: bytes, bytes a second, operations a second, watts. What is not published is null.
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
