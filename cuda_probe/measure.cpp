// SPDX-License-Identifier: MIT
#include "measure.hpp"

#include <algorithm>
#include <string>

namespace llmres::probe {

namespace {

struct spread {
    double median, low, high;
};

/// Sorted samples' middle (the mean of the two middle ones of an even number) and ends.
reading<spread> spread_of(const samples& seconds) {
    if (!seconds) return reading<spread>::unavailable(seconds.why);
    std::vector<double> sorted = *seconds;
    if (sorted.empty()) return reading<spread>::unavailable("no samples");
    std::sort(sorted.begin(), sorted.end());
    if (!(sorted.front() > 0)) return reading<spread>::unavailable("a time of zero");
    const std::size_t half = sorted.size() / 2;
    const double median = sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    return spread{median, sorted.front(), sorted.back()};
}

template <class Rate, class Work>
reading<measured<Rate>> rate(const samples& seconds, Work work) {
    const auto times = spread_of(seconds);
    if (!times) return reading<measured<Rate>>::unavailable(times.why);
    const auto over = [&](double s) { return Rate::from_base(static_cast<double>(work.base()) / s); };
    return measured<Rate>{over(times->median), over(times->high), over(times->low),
                          static_cast<std::int32_t>(seconds->size())};
}

/// By how much NVML's used bytes grew; what others did meanwhile is in it.
reading<byte_count> growth(const reading<byte_count>& before, const reading<byte_count>& after) {
    if (!before || !after) return reading<byte_count>::unavailable(before ? after.why : before.why);
    if (*after < *before) return reading<byte_count>::unavailable("memory in use fell meanwhile: others moved");
    return *after - *before;
}

}  // namespace

reading<measured<byte_rate>> rate_of(const samples& seconds, byte_count moved) {
    return rate<byte_rate>(seconds, moved);
}
reading<measured<flop_rate>> rate_of(const samples& seconds, flop_count done) { return rate<flop_rate>(seconds, done); }

reading<measured<duration>> summary_of(const samples& seconds) {
    const auto times = spread_of(seconds);
    if (!times) return reading<measured<duration>>::unavailable(times.why);
    return measured<duration>{llmres::seconds(times->median), llmres::seconds(times->low), llmres::seconds(times->high),
                              static_cast<std::int32_t>(seconds->size())};
}

std::vector<product_shape> product_shapes(std::int32_t major, std::int32_t minor, bool quick) {
    const bool ampere = major >= 8;
    const bool ada = major > 8 || (major == 8 && minor >= 9);
    std::vector<product_shape> all;
    for (const char* precision : {"bf16", "fp16", "tf32", "fp8_e4m3", "int8"}) {
        const std::string_view name{precision};
        if ((name == "bf16" || name == "tf32") && !ampere) continue;
        if (name == "fp8_e4m3" && !ada) continue;
        for (const std::int64_t side : {512, 1024, 2048, 4096, 8192})
            if (!quick || side == 4096) all.push_back({name, side, side, side});
        // Output features x tokens x input features, as a decoder's layers have them: one token, a small and a full
        // batch.
        for (const std::int64_t tokens : {16, 64, 256, 1024})
            if (!quick || tokens == 64) all.push_back({name, 8192, tokens, 8192});
        if (!quick) all.push_back({name, 14336, 4096, 4096});
    }
    return all;
}

measured_fault fault_in(const device& live) {
    const device_measurements& m = live.measured;
    measured_fault first;
    const auto look = [&first](const std::string& what, bool known, std::string_view why) {
        const bool missing = why.find("could not be loaded") != std::string_view::npos;
        // A fault counts before a library that is missing.
        if (!known && (first.what.empty() || (first.missing && !missing))) first = {what, std::string{why}, missing};
    };
    const auto timed = [&](const char* what, const auto& figure) { look(what, figure.known, figure.why.view()); };
    timed("read", m.read_bandwidth), timed("copy", m.copy_bandwidth);
    timed("host to device, pinned", m.host_to_device_pinned), timed("device to host, pinned", m.device_to_host_pinned);
    timed("host to device, pageable", m.host_to_device_pageable);
    timed("device to host, pageable", m.device_to_host_pageable);
    timed("launch and wait", m.launch_latency), timed("launch, back to back", m.launch_interval);
    const auto checked = [&](const std::string& what, const auto& rate, const reading<bool>& verified) {
        look(what, rate.known, rate.why.view());
        if (rate) look(what, verified.value_or(false), verified ? "its result was wrong" : verified.why.view());
    };
    for (const device_product& p : m.products)
        checked(std::string{p.precision.view()} + " " + std::to_string(p.rows) + " x " + std::to_string(p.columns) +
                    " x " + std::to_string(p.inner),
                p.rate, p.verified);
    for (const device_peer& peer : live.peers) timed("copy to a peer", peer.bandwidth);
    for (const device_all_reduce& one : m.all_reduces) checked("all-reduce", one.bandwidth, one.verified);
    return first;
}

void measure(cuda_api& cuda, std::int32_t index, std::int32_t device_count,
             const std::function<reading<byte_count>()>& used, const measure_options& options, const stop_signal& stop,
             device& into) {
    device_measurements& m = into.measured;
    if (const problem wrong = cuda.open_context(index); !wrong.empty()) {
        const auto none = [&wrong](auto& field) {
            field = std::remove_reference_t<decltype(field)>::unavailable(wrong);
        };
        none(m.read_bandwidth), none(m.copy_bandwidth), none(m.context), none(m.library_workspace),
            none(m.launch_latency);
        none(m.launch_interval), none(m.host_to_device_pinned), none(m.device_to_host_pinned);
        none(m.host_to_device_pageable), none(m.device_to_host_pageable);
        return;
    }
    const auto opened = used();
    m.context = growth(options.used_at_start, opened);
    const problem no_libraries = cuda.open_libraries();
    m.library_workspace =
        no_libraries.empty() ? growth(opened, used()) : reading<byte_count>::unavailable(no_libraries);

    const auto now = cuda.memory();
    into.memory.cuda_free = now ? reading<byte_count>{now->free} : reading<byte_count>::unavailable(now.why);
    const byte_count room = now ? div_down(now->free, 4) : byte_count{};
    const byte_count large = std::min(options.quick ? mib(256) : gib(1), room);
    const byte_count host = std::min(options.quick ? mib(64) : mib(256), room);
    const auto timed = [&](auto&& action) -> samples {
        if (const std::string why = stop.why(); !why.empty()) return samples::unavailable(why);
        if (room < mib(16)) return samples::unavailable("too little memory free");
        return action();
    };
    const auto transferred = [&](transfer which, byte_count size, std::int64_t times_moved) {
        return rate_of(timed([&] { return cuda.time_transfer(which, size, options.repeats); }), size * times_moved);
    };
    m.read_bandwidth = transferred(transfer::device_read, large, 1);
    m.copy_bandwidth = transferred(transfer::device_copy, large, 2);
    m.host_to_device_pinned = transferred(transfer::host_to_device_pinned, host, 1);
    m.device_to_host_pinned = transferred(transfer::device_to_host_pinned, host, 1);
    m.host_to_device_pageable = transferred(transfer::host_to_device_pageable, host, 1);
    m.device_to_host_pageable = transferred(transfer::device_to_host_pageable, host, 1);
    m.launch_latency = summary_of(timed([&] { return cuda.time_launch(1, options.repeats * 50); }));
    m.launch_interval = summary_of(timed([&] { return cuda.time_launch(1000, options.repeats); }));

    m.products.count = 0;
    for (const product_shape& shape : product_shapes(into.compute.capability_major.value_or(0),
                                                     into.compute.capability_minor.value_or(0), options.quick)) {
        device_product one;
        one.precision = shape.precision;
        one.rows = shape.rows, one.columns = shape.columns, one.inner = shape.inner;
        checked_samples got;
        got.seconds = timed([&] {
            got = cuda.time_product(shape, options.repeats);
            return got.seconds;
        });
        const double operations = 2.0 * static_cast<double>(shape.rows) * static_cast<double>(shape.columns) *
                                  static_cast<double>(shape.inner);
        one.rate = rate_of(got.seconds, flops(operations));
        one.verified = got.seconds ? got.verified : reading<bool>::unavailable(got.seconds.why);
        m.products.push(one);
    }

    for (device_peer& peer : into.peers) {
        const std::size_t at = static_cast<std::size_t>(&peer - into.peers.begin());
        const auto other = static_cast<std::int32_t>(at) + (static_cast<std::int32_t>(at) >= index ? 1 : 0);
        peer.bandwidth = rate_of(timed([&] { return cuda.time_peer(index, other, host, options.repeats); }), host);
    }
    m.all_reduces.count = 0;
    for (const byte_count message : {kib(256), mib(4), mib(64), mib(256)}) {
        if (device_count < 2) break;
        device_all_reduce one;
        one.devices = device_count;
        one.message = message;
        checked_samples got;
        got.seconds = timed([&] {
            got = cuda.time_all_reduce(device_count, message, options.repeats);
            return got.seconds;
        });
        const double sent = 2.0 * (device_count - 1) / device_count * static_cast<double>(message.in(bytes));
        one.bandwidth = rate_of(got.seconds, bytes(static_cast<std::int64_t>(sent)));
        one.verified = got.seconds ? got.verified : reading<bool>::unavailable(got.seconds.why);
        m.all_reduces.push(one);
    }
}

}  // namespace llmres::probe
