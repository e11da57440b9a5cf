// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/device.hpp>
#include <llmres/io/json/cluster/device_file.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

/// Reads devices from JSON. Apart from io/device_json.hpp, which writes them too, since reading needs no writer.
namespace llmres::inline v0 {

namespace detail {

// Every field once, with its key: reading and writing both go through these lists.
template <class Section, class Want>
concept section_of = std::same_as<std::remove_const_t<Section>, Want>;

template <section_of<device_identity> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("uuid", s.uuid), f("name", s.name), f("pci_bus_id", s.pci_bus_id), f("index_cuda", s.index_cuda);
    f("index_nvml", s.index_nvml), f("board_part_number", s.board_part_number);
    f("mig_enabled", s.mig_enabled), f("mig_profile", s.mig_profile), f("mig_parent_uuid", s.mig_parent_uuid);
}
template <section_of<device_software> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("driver_version", s.driver_version), f("cuda_driver_version", s.cuda_driver_version);
    f("cuda_runtime_version", s.cuda_runtime_version), f("nvml_version", s.nvml_version);
    f("vbios_version", s.vbios_version), f("persistence_mode", s.persistence_mode), f("compute_mode", s.compute_mode);
}
template <section_of<device_memory> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("cuda_total_bytes", s.cuda_total), f("cuda_free_bytes", s.cuda_free), f("nvml_total_bytes", s.nvml_total);
    f("nvml_reserved_bytes", s.nvml_reserved), f("nvml_used_bytes", s.nvml_used), f("nvml_free_bytes", s.nvml_free);
    f("l2_cache_bytes", s.l2_cache), f("bus_width_bits", s.bus_width_bits);
    f("granularity_minimum_bytes", s.allocation.granularity_minimum), f("ecc_enabled", s.ecc_enabled);
    f("ecc_pending", s.ecc_pending), f("remapped_rows_correctable", s.remapped_rows_correctable);
    f("remapped_rows_uncorrectable", s.remapped_rows_uncorrectable), f("remapping_pending", s.remapping_pending);
    f("remapping_failed", s.remapping_failed), f("virtual_memory_supported", s.allocation.virtual_memory_supported);
    f("memory_pools_supported", s.allocation.memory_pools_supported), f("managed_memory", s.allocation.managed_memory);
    f("pageable_memory_access", s.allocation.pageable_memory_access), f("integrated", s.allocation.integrated);
}
template <section_of<device_compute> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("capability_major", s.capability_major), f("capability_minor", s.capability_minor), f("sm_count", s.sm_count);
    f("sm_clock_now_hz", s.sm_clock_now), f("sm_clock_max_hz", s.sm_clock_max);
    f("memory_clock_now_hz", s.memory_clock_now), f("memory_clock_max_hz", s.memory_clock_max);
}
template <section_of<device_power> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("draw_watts", s.draw), f("limit_watts", s.limit), f("limit_default_watts", s.limit_default);
    f("temperature_celsius", s.temperature_celsius), f("slowdown_celsius", s.slowdown_celsius);
    f("throttle_reasons", s.throttle_reasons);
}
template <section_of<device_pcie> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("generation_now", s.generation_now), f("generation_max", s.generation_max), f("width_now", s.width_now);
    f("width_max", s.width_max), f("numa_node", s.numa_node);
}
template <section_of<device_conditions> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("sm_clock_hz", s.sm_clock), f("draw_watts", s.draw), f("throttle_reasons", s.throttle_reasons);
}
template <section_of<device_peer> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("uuid", s.uuid), f("topology", s.topology), f("bandwidth", s.bandwidth);
}
template <section_of<device_process> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("pid", s.pid), f("used_bytes", s.used);
}
template <section_of<device_product> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("precision", s.precision), f("rows", s.rows), f("columns", s.columns), f("inner", s.inner), f("rate", s.rate);
    f("sustained", s.sustained), f("verified", s.verified);
}
template <section_of<device_all_reduce> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("devices", s.devices), f("message_bytes", s.message), f("bandwidth", s.bandwidth), f("verified", s.verified);
}
template <section_of<device_measurements> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("read_bandwidth", s.read_bandwidth), f("host_to_device_pinned", s.host_to_device_pinned);
    f("device_to_host_pinned", s.device_to_host_pinned), f("context_bytes", s.context);
    f("library_workspace_bytes", s.library_workspace), f("products", s.products), f("all_reduces", s.all_reduces);
}
template <section_of<device> S, class F>
constexpr void each_field(S& s, F&& f) {
    f("identity", s.identity), f("software", s.software), f("memory", s.memory), f("compute", s.compute);
    f("power", s.power), f("pcie", s.pcie), f("nvlinks_active", s.nvlinks_active), f("peers", s.peers);
    f("process_count", s.process_count), f("processes", s.processes), f("measured", s.measured);
}

/// The unit of a measured quantity, as the suffix of its keys.
template <class Quantity>
constexpr const char* unit_suffix() {
    if constexpr (std::same_as<Quantity, byte_rate>)
        return "_bytes_per_s";
    else {
        static_assert(std::same_as<Quantity, flop_rate>);
        return "_flops_per_s";
    }
}
// ---- reading

/// Reads the fields of a section and keeps the first error.
struct field_reader {
    using json = nlohmann::json;

    const json& from;
    std::string path;
    error& wrong;

    bool ok() const { return wrong.code == error_code::none; }
    void refuse(const std::string& field, const json& found, std::string_view expected,
                error_code code = error_code::malformed) {
        if (ok()) wrong = refused(code, field, found.dump(-1, ' ', true, json::error_handler_t::replace), expected);
    }
    std::string at(std::string_view key) const {
        return path.empty() ? std::string{key} : path + "." + std::string{key};
    }

    /// No size of a device is larger, and sums of sizes up to it do not overflow.
    static constexpr std::int64_t largest_size = std::int64_t{1} << 53;

    void read(const std::string& field, const json& found, bool& into) {
        if (!found.is_boolean()) return refuse(field, found, "true or false");
        into = found.get<bool>();
    }
    void read(const std::string& field, const json& found, std::int64_t& into) {
        if (!found.is_number_integer()) return refuse(field, found, "an integer");
        if (found.is_number_unsigned() && found.get<std::uint64_t>() > 0x7fffffffffffffffU)
            return refuse(field, found, "an integer below 2^63", error_code::out_of_range);
        into = found.get<std::int64_t>();
    }
    void read(const std::string& field, const json& found, std::int32_t& into) {
        std::int64_t wide = 0;
        read(field, found, wide);
        if (ok() && (wide > 0x7fffffff || wide < -0x7fffffff))
            return refuse(field, found, "an integer of 32 bits", error_code::out_of_range);
        into = static_cast<std::int32_t>(wide);
    }
    template <std::size_t N>
    void read(const std::string& field, const json& found, text<N>& into) {
        if (!found.is_string()) return refuse(field, found, "a string");
        into = std::string_view{found.get_ref<const std::string&>()};
    }
    template <class Unit>
    void read(const std::string& field, const json& found, quantity<Unit, std::int64_t>& into) {
        std::int64_t number = 0;
        read(field, found, number);
        if (ok() && number < 0) return refuse(field, found, "no negative size", error_code::out_of_range);
        if (ok() && number > largest_size)
            return refuse(field, found, "a size of at most 2^53", error_code::out_of_range);
        into = quantity<Unit, std::int64_t>::from_base(number);
    }
    template <class Unit>
    void read(const std::string& field, const json& found, quantity<Unit, double>& into) {
        if (!found.is_number()) return refuse(field, found, "a number");
        const double number = found.get<double>();
        if (!std::isfinite(number) || number < 0)
            return refuse(field, found, "a finite number, not negative", error_code::out_of_range);
        into = quantity<Unit, double>::from_base(number);
    }
    template <class Quantity>
    void read(const std::string& field, const json& found, measured<Quantity>& into) {
        if (!found.is_object()) return refuse(field, found, "an object with median, low, high and repeats");
        const std::string unit = unit_suffix<Quantity>();
        field_reader inner{found, field, wrong};
        const auto part = [&](const std::string& key, auto& value) {
            const auto here = found.find(key);
            if (here == found.end()) return refuse(field + "." + key, nullptr, "a number", error_code::missing);
            inner.read(field + "." + key, *here, value);
        };
        part("median" + unit, into.median);
        part("low" + unit, into.low);
        part("high" + unit, into.high);
        part("repeats", into.repeats);
        inner("during", into.during);  // older files have none
        if (ok() && !(into.low <= into.median && into.median <= into.high))
            refuse(field, found, "low <= median <= high", error_code::inconsistent);
    }
    template <class T, std::size_t N>
    void read(const std::string& field, const json& found, short_list<T, N>& into) {
        if (!found.is_array()) return refuse(field, found, "an array");
        for (std::size_t i = 0; i < found.size() && ok(); ++i) {
            T item{};
            read_section(field + "[" + std::to_string(i) + "]", found[i], item);
            if (!into.push(item))
                return refuse(field, found.size(), "at most " + std::to_string(N) + " entries",
                              error_code::out_of_range);
        }
    }
    template <class Section>
    void read_section(const std::string& field, const json& found, Section& into) {
        if (!found.is_object()) return refuse(field, found, "an object");
        each_field(into, field_reader{found, field, wrong});
    }
    template <class Section>
        requires requires(Section& s) { each_field(s, [](auto&&...) {}); }
    void read(const std::string& field, const json& found, Section& into) {
        read_section(field, found, into);
    }

    template <class T>
    void operator()(const char* key, reading<T>& field) {
        if (!ok()) return;
        const auto here = from.find(key);
        if (here == from.end()) {
            field = reading<T>::unavailable("not in the file");
        } else if (here->is_null()) {
            const auto reasons = from.find("unavailable");
            const bool said =
                reasons != from.end() && reasons->is_object() && reasons->contains(key) && (*reasons)[key].is_string();
            field = reading<T>::unavailable(said ? (*reasons)[key].template get_ref<const std::string&>()
                                                 : "no reason given");
        } else {
            field = reading<T>{T{}};
            read(at(key), *here, field.value);
        }
    }
    template <class T>
    void operator()(const char* key, T& field) {
        if (!ok()) return;
        const auto here = from.find(key);
        if (here == from.end()) return;  // an empty section or list: its fields stay unread
        read(at(key), *here, field);
    }
};

}  // namespace detail

/// The devices in a document. Refuses by name: another schema_version, a wrong type, a negative size, too long a list.
/// Unknown keys are ignored, so that the file of a newer probe with the same schema can be read.
inline result<device_file> device_file_from_json(const nlohmann::json& document) {
    if (!document.is_object())
        return refused(error_code::malformed, "device file", document.type_name(), "a JSON object");
    const auto devices = document.find("devices");
    if (devices == document.end()) return refused(error_code::missing, "devices", "", "an array of devices");
    if (!devices->is_array())
        return refused(error_code::malformed, "devices", devices->type_name(), "an array of devices");
    device_file file;
    if (devices->empty()) return file;

    error wrong{};
    detail::field_reader reader{document, "", wrong};
    std::int64_t stated = 0;
    const auto schema = document.find("schema_version");
    if (schema == document.end()) return refused(error_code::missing, "schema_version", "", "1");
    reader.read("schema_version", *schema, stated);
    if (reader.ok() && stated != device_file::schema_version)
        return refused(error_code::unsupported, "schema_version", stated, "1");
    reader("probe_version", file.probe_version);
    reader("captured_at", file.captured_at);
    for (std::size_t i = 0; i < devices->size() && reader.ok(); ++i)
        reader.read_section("devices[" + std::to_string(i) + "]", (*devices)[i], file.devices.emplace_back());
    if (!reader.ok()) return wrong;
    return file;
}

/// The devices in the text of a document; text that is no JSON is `malformed`. (io/files.hpp has
/// read_device_file(path).)
inline result<device_file> parse_device_file(std::string_view written) {
    detail::document_builder builder;
    if (detail::parse_json(written, builder)) return device_file_from_json(builder.built().root);
    if (builder.refusal().code != error_code::none) return builder.refusal();
    return refused(error_code::malformed, "device file", written.substr(0, 40), "JSON");
}

}  // namespace llmres::inline v0
