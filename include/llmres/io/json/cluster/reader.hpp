// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/cpu.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/hardware/live_cluster.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/io/json/cluster/device_file.hpp>
#include <llmres/io/json/job_reader.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// Reads the `cluster` of a job document: GPUs from a table, from a device file, or as the document describes them.
namespace llmres::inline v0::detail {

/// A cluster of so many GPUs like the one that a file of the probe describes.
inline result<cluster> read_device(const std::string& path, const device_finder& find, std::int32_t gpus) {
    const auto within = [&](const error& e) {
        const bool whole = e.field == "device file";
        return refused(e.code, whole ? "cluster.device" : "cluster.device: " + std::string{e.field.view()}, e.value,
                       e.expected);
    };
    const result<device_file> file = find(path);
    if (!file) return within(file.error());
    if (file->devices.size() != 1)
        return refused(error_code::inconsistent, "cluster.device: devices",
                       static_cast<std::int64_t>(file->devices.size()),
                       "one device, as `llmres-probe calibrate` writes; for several alike, gpus says how many");
    const result<gpu> sheet = sheet_for(file->devices.front());
    if (!sheet) return within(sheet.error());
    return cluster_of(file->devices.front(), gpus);
}

/// The device file that the cluster's GPU is in, as the document names it; empty where the GPU is in a table.
inline result<std::string> device_path(const nlohmann::json& cluster_object) {
    job_reader read{cluster_object, "cluster"};
    if (!read.fields().has("device")) return std::string{};
    const std::string named{read.fields().text_or("device", "")};
    if (const status s = read.checked(); !s) return s.error();
    if (named.empty()) return refused(error_code::malformed, "cluster.device", "", "a device file");
    return named;
}

inline status read_host(const nlohmann::json& object, host& h) {
    if (const status s = known_keys(object, "host", {}); !s) return s.error();
    job_reader read{object, "host"};
    read.members(h);
    read.named("link", h.link, [](std::string_view id) { return find_link(id, "cluster.host.link"); });
    return read.checked();
}

/// What a document says of a card, in place of the table's figures.
inline void read_card(job_reader& read, gpu& card) {
    if (read.fields().has("gpu_memory")) {
        byte_count size;
        read.value("gpu_memory", size);
        if (card.vendor == gpu_vendor::apple) {
            card = with_memory(card, size);
        } else {
            // A size up to the reported total may repeat that total: usable_memory() judges it.
            if (card.memory.reported && size > *card.memory.reported) card.memory.reported = {};
            card.memory.cuda_visible = size;
        }
    }
    read.value("gpu_bandwidth", card.memory.bandwidth);
    maybe<double> rate;
    read.value("gpu_flops", rate);
    if (rate) card.rates.fp16 = card.rates.bf16 = flops_per_s(*rate);
}

/// The GPUs of a cluster, from a table, from a device file, or as the document describes them; where it does not say
/// how many, as many as the layout that it gives has.
inline result<cluster> read_gpus(job_reader& read, const std::string& device, const device_finder& find,
                                 const host& machine, const layout& given) {
    const bool named = read.fields().has("gpu");
    if (named && !device.empty())
        return refused(error_code::inconsistent, "cluster.device", device, "either a device or a gpu, not both");
    const bool described = read.fields().has("gpu_memory");
    if (!named && device.empty() && !described)
        return refused(error_code::missing, "cluster.gpu", "absent",
                       "a GPU of `llmres gpus`, a device file as cluster.device, or gpu_memory, gpu_bandwidth and "
                       "gpu_flops of another GPU");
    gpu card{.id = "other", .name = "GPU described in the job"};
    constexpr std::int64_t most = std::int64_t{1} << 20;  // as validate(cluster) has it, which refuses more
    auto gpus = static_cast<std::int32_t>((std::min)(given.gpus(), most));
    read.named("gpu", card,
               [&](std::string_view id) { return id == "cpu" ? cpu_of(machine) : find_gpu(id, "cluster.gpu"); });
    read.value("gpus", gpus);
    read_card(read, card);
    if (const status s = read.checked(); !s) return s.error();
    return named || device.empty() ? standard_cluster(card, gpus) : read_device(device, find, gpus);
}

inline result<cluster> read_cluster(const nlohmann::json& object, const device_finder& find, const layout& given) {
    if (const status s = known_keys(object, "cluster", {"host"}); !s) return s.error();
    const result<std::string> device = device_path(object);
    if (!device) return device.error();
    job_reader read{object, "cluster"};
    host machine{};
    const nlohmann::json* given_host = read.fields().object("host");
    if (given_host != nullptr)
        if (const status s = read_host(*given_host, machine); !s) return s.error();
    const result<cluster> standard = read_gpus(read, *device, find, machine, given);
    if (!standard) return standard.error();
    cluster c = *standard;
    read.members(c);
    // Of a standard cluster's nodes the last may be filled in part; nodes of another size are all alike.
    if (c.gpus_per_node != standard->gpus_per_node && c.gpus > c.node_size() && c.gpus % c.node_size() != 0)
        return refused(error_code::out_of_range, "cluster.gpus_per_node", c.gpus_per_node,
                       "nodes that the cluster's GPUs fill: a divisor of cluster.gpus");
    read.named("scale_up", c.scale_up, [](std::string_view id) { return find_link(id, "cluster.scale_up"); });
    read.named("scale_out", c.scale_out, [](std::string_view id) { return find_link(id, "cluster.scale_out"); });
    if (given_host != nullptr)
        if (const status s = read_host(*given_host, c.host); !s) return s.error();
    if (const status s = read.checked(); !s) return s.error();
    if (c.in_use > usable_memory(c.gpu))
        return refused(error_code::out_of_range, "cluster.in_use", c.in_use.in(bytes), "at most the GPU's memory, ",
                       usable_memory(c.gpu).in(bytes));
    return c;
}

}  // namespace llmres::inline v0::detail
