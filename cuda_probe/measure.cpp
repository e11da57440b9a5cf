// SPDX-License-Identifier: MIT
#include "measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace llmres::probe {

namespace {

/// Looks at the device every 10 ms, on a thread of its own, from when it is warm until a figure is taken.
class observer {
public:
    observer(const std::function<nvml::state()>& now, double warm_s)
        : thread_{[this, &now, warm_s](const std::stop_token& stop) {
              const auto warm = std::chrono::steady_clock::now() + std::chrono::duration<double>{warm_s};
              bool noted = false;
              while (!stop.stop_requested()) {
                  if (std::chrono::steady_clock::now() >= warm) note(now()), noted = true;
                  std::this_thread::sleep_for(std::chrono::milliseconds{10});
              }
              if (!noted) note(now());
          }} {}
    device_conditions end() {
        thread_.request_stop();
        thread_.join();
        seen_.throttle_reasons = then(throttled_, throttle_reason_names);
        return seen_;
    }

private:
    void note(const nvml::state& now) {
        if (!seen_.sm_clock || (now.sm_clock && *now.sm_clock < *seen_.sm_clock)) seen_.sm_clock = now.sm_clock;
        if (!seen_.draw || (now.draw && *now.draw > *seen_.draw)) seen_.draw = now.draw;
        if (throttled_ && now.throttled)
            throttled_.value |= *now.throttled;
        else if (!throttled_)
            throttled_ = now.throttled;
    }
    device_conditions seen_;
    reading<unsigned long long> throttled_;
    std::jthread thread_;  // the last member: it uses the others
};

/// One device's measurements, one after the other.
class measuring {
    /// The rate of so much work in the times that `take` takes, while NVML is watched.
    template <class Work, class Take>
    auto rate_in(const std::string& what, const timing& how, Work work, Take&& take) {
        const auto rate = reading_of([&] {
            if (const std::string why = stop_.why(); !why.empty()) throw call_failed{why};
            if (room_ < mib(16)) throw call_failed{"too little memory free"};
            observer watching{watch_.now, how.warm_s};
            samples taken = take();
            return rate_of(std::move(taken), work, watching.end());
        });
        if (!rate) fault.note(what, rate.why);
        return rate;
    }
    template <class Work, class Take>
    auto checked_rate_in(const std::string& what, const timing& how, Work work, reading<bool>& verified, Take&& take) {
        const auto rate = rate_in(what, how, work, [&] {
            checked_samples got = take();
            verified = got.verified;
            return got.seconds;
        });
        if (!rate) verified = reading<bool>::unavailable(rate.why);
        if (rate && !*verified) fault.note(what, "its result was wrong");
        return rate;
    }

public:
    measured_fault fault;

    /// `room`: memory that may be taken for buffers.
    measuring(cuda_api& cuda, const device_watch& watch, const measure_options& options, const stop_signal& stop,
              byte_count room)
        : cuda_{cuda}, watch_{watch}, options_{options}, stop_{stop}, room_{room} {}

    byte_count part_of_room(byte_count quick, byte_count whole) const {
        return std::min(options_.quick ? quick : whole, room_);
    }
    reading<measured<byte_rate>> transfer_rate(const char* what, transfer which, byte_count size) {
        return rate_in(what, burst_, size, [&] { return cuda_.time_transfer(which, size, burst_); });
    }
    reading<measured<byte_rate>> peer_rate(std::int32_t from, std::int32_t to, byte_count size) {
        return rate_in("copy to a peer", burst_, size, [&] { return cuda_.time_peer(from, to, size, burst_); });
    }
    device_product product(const product_shape& shape) {
        device_product one{
            .precision = name_of(shape.kind), .rows = shape.rows, .columns = shape.columns, .inner = shape.inner};
        const std::string what = fmt::format("{} {} x {} x {}", one.precision.view(), one.rows, one.columns, one.inner);
        const auto take = [&](const std::string& called, const timing& how) {
            return checked_rate_in(called, how, flops(shape.operations()), one.verified,
                                   [&] { return cuda_.time_product(shape, how); });
        };
        one.rate = take(what, burst_);
        one.sustained = reading<measured<flop_rate>>::unavailable(one.rate ? "measured of one shape in each precision"
                                                                           : one.rate.why.view());
        if (!one.rate || !one.verified.value_or(false) || !shape.runs_long) return one;
        one.sustained =
            take(what + ", long", {options_.repeats, options_.quick ? options_.long_s / 10 : options_.long_s});
        return one;
    }
    device_all_reduce all_reduce(std::int32_t devices, byte_count message) {
        device_all_reduce one{.devices = devices, .message = message};
        const double sent = 2.0 * (devices - 1) / devices * static_cast<double>(message.in(bytes));
        one.bandwidth = checked_rate_in("all-reduce", burst_, bytes(static_cast<std::int64_t>(sent)), one.verified,
                                        [&] { return cuda_.time_all_reduce(devices, message, burst_); });
        return one;
    }

private:
    cuda_api& cuda_;
    const device_watch& watch_;
    const measure_options& options_;
    const stop_signal& stop_;
    byte_count room_;
    timing burst_{options_.repeats, options_.warm_s};
};

}  // namespace

std::vector<product_shape> product_shapes(std::int32_t major, std::int32_t minor, bool quick) {
    const std::int32_t capability = major * 10 + minor;
    std::vector<product_shape> all;
    for (const auto& [kind, from] : {std::pair{element::bf16, 80},
                                     {element::fp16, 0},
                                     {element::tf32, 80},
                                     {element::fp8_e4m3, 89},
                                     {element::int8, 0}}) {
        if (capability < from) continue;
        all.push_back({kind, 4096, 4096, 4096, true});
        if (quick) continue;
        all.push_back({kind, 8192, 8192, 8192});
        all.push_back({kind, 8192, 1024, 8192});  // output features x tokens x input features
        all.push_back({kind, 14336, 4096, 4096});
    }
    return all;
}

void measured_fault::note(const std::string& of, std::string_view reason) {
    const bool for_library = library_missing(reason);
    if (what.empty() || (missing && !for_library)) *this = {of, std::string{reason}, for_library};
}

measured_fault measure(cuda_api& cuda, std::int32_t index, std::int32_t device_count, const device_watch& watch,
                       const measure_options& options, const stop_signal& stop, device& into) {
    device_measurements& m = into.measured;
    baselines opened{.used_before = watch.used_at_start};
    if (const problem wrong = problem_of([&] { open_watched(cuda, index, watch.used, opened); }); !wrong.empty()) {
        const auto none = [&wrong](auto&... field) { ((field.why = wrong), ...); };
        none(m.read_bandwidth, m.host_to_device_pinned, m.device_to_host_pinned, m.context, m.library_workspace);
        return {"opening context", std::string{wrong.view()}};
    }
    m.context = opened.context;
    m.library_workspace = opened.libraries;
    into.memory.cuda_free = opened.cuda_free;

    measuring take{cuda, watch, options, stop, div_down(into.memory.cuda_free.value_or({}), 4)};
    if (!opened.no_libraries.empty()) take.fault.note("opening libraries", opened.no_libraries);
    const byte_count host = take.part_of_room(mib(64), mib(256));
    m.read_bandwidth = take.transfer_rate("read", transfer::device_read, take.part_of_room(mib(256), gib(1)));
    m.host_to_device_pinned = take.transfer_rate("host to device", transfer::host_to_device, host);
    m.device_to_host_pinned = take.transfer_rate("device to host", transfer::device_to_host, host);
    m.products.count = 0;
    for (const product_shape& shape : product_shapes(into.compute.capability_major.value_or(0),
                                                     into.compute.capability_minor.value_or(0), options.quick))
        m.products.push(take.product(shape));
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(into.peers.size()); ++i)
        into.peers[static_cast<std::size_t>(i)].bandwidth = take.peer_rate(index, i < index ? i : i + 1, host);
    m.all_reduces.count = 0;
    if (device_count > 1) m.all_reduces.push(take.all_reduce(device_count, host));
    return take.fault;
}

}  // namespace llmres::probe
