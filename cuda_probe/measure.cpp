// SPDX-License-Identifier: MIT
#include "measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace llmres::probe {

namespace {

constexpr std::string_view one_a_precision = "measured of one shape in each precision";

/// The rate at the median time of sorted samples (the mean of the two middle ones of an even number), and at their
/// ends.
template <class Rate, class Work>
reading<measured<Rate>> rate(const samples& seconds, Work work, const device_conditions& during) {
    using made = reading<measured<Rate>>;
    if (!seconds) return made::unavailable(seconds.why);
    std::vector<double> sorted = *seconds;
    if (sorted.empty()) return made::unavailable("no samples");
    std::sort(sorted.begin(), sorted.end());
    if (!(sorted.front() > 0)) return made::unavailable("a time of zero");
    const std::size_t size = sorted.size();
    const auto in = [&](double s) { return Rate::from_base(static_cast<double>(work.base()) / s); };
    return measured<Rate>{in((sorted[(size - 1) / 2] + sorted[size / 2]) / 2), in(sorted.back()), in(sorted.front()),
                          static_cast<std::int32_t>(size), during};
}

/// Looks at the device every 10 ms, on a thread of its own, from when it is warm until a figure is taken.
class observer {
public:
    observer(const std::function<nvml::state()>& now, double warm_s)
        : thread_{[this, &now, warm_s](const std::stop_token& stop) {
              std::mutex alone;
              std::unique_lock lock{alone};
              std::condition_variable_any asked;
              const auto wait = [&](double s) {
                  asked.wait_for(lock, stop, std::chrono::duration<double>{s}, [] { return false; });
              };
              wait(warm_s);
              do {
                  note(now());
                  wait(0.01);
              } while (!stop.stop_requested());
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
public:
    measuring(cuda_api& cuda, const device_watch& watch, const measure_options& options, const stop_signal& stop)
        : cuda_{cuda}, watch_{watch}, options_{options}, stop_{stop}, burst_{options.repeats, options.warm_s} {}

    /// Memory that may be taken for buffers.
    void set_room(byte_count room) { room_ = room; }
    byte_count part_of_room(byte_count quick, byte_count whole) const {
        return std::min(options_.quick ? quick : whole, room_);
    }

    reading<measured<byte_rate>> transfer_rate(transfer which, byte_count size) {
        return rate_of(timed([&](const timing& how) { return cuda_.time_transfer(which, size, how); }), size, during_);
    }
    reading<measured<byte_rate>> peer_rate(std::int32_t from, std::int32_t to, byte_count size) {
        return rate_of(timed([&](const timing& how) { return cuda_.time_peer(from, to, size, how); }), size, during_);
    }
    device_product product(const product_shape& shape) {
        device_product one{
            .precision = shape.precision, .rows = shape.rows, .columns = shape.columns, .inner = shape.inner};
        const flop_count done = flops(2.0 * static_cast<double>(shape.rows) * static_cast<double>(shape.columns) *
                                      static_cast<double>(shape.inner));
        const auto take = [&](const timing& how) {
            return rate_of(checked([&](const timing& t) { return cuda_.time_product(shape, t); }, how, one.verified),
                           done, during_);
        };
        one.rate = take(burst_);
        one.sustained = reading<measured<flop_rate>>::unavailable(one.rate ? one_a_precision : one.rate.why.view());
        if (!one.rate || !one.verified.value_or(false) || !shape.runs_long) return one;
        one.sustained = take({options_.repeats, options_.quick ? options_.long_s / 10 : options_.long_s});
        return one;
    }
    device_all_reduce all_reduce(std::int32_t devices, byte_count message) {
        device_all_reduce one{.devices = devices, .message = message};
        const double sent = 2.0 * (devices - 1) / devices * static_cast<double>(message.in(bytes));
        const auto times =
            checked([&](const timing& t) { return cuda_.time_all_reduce(devices, message, t); }, burst_, one.verified);
        one.bandwidth = rate_of(times, bytes(static_cast<std::int64_t>(sent)), during_);
        return one;
    }

private:
    template <class Action>
    samples timed(Action&& action, const timing& how) {
        if (const std::string why = stop_.why(); !why.empty()) return samples::unavailable(why);
        if (room_ < mib(16)) return samples::unavailable("too little memory free");
        observer watching{watch_.now, how.warm_s};
        samples taken = action(how);
        during_ = watching.end();
        return taken;
    }
    template <class Action>
    samples timed(Action&& action) {
        return timed(action, burst_);
    }
    template <class Action>
    samples checked(Action&& action, const timing& how, reading<bool>& verified) {
        samples seconds = timed(
            [&](const timing& t) {
                checked_samples got = action(t);
                verified = got.verified;
                return got.seconds;
            },
            how);
        if (!seconds) verified = reading<bool>::unavailable(seconds.why);
        return seconds;
    }

    cuda_api& cuda_;
    const device_watch& watch_;
    const measure_options& options_;
    const stop_signal& stop_;
    timing burst_;
    byte_count room_{};
    device_conditions during_;
};

}  // namespace

reading<byte_count> growth(const reading<byte_count>& before, const reading<byte_count>& after) {
    if (!before || !after) return reading<byte_count>::unavailable(before ? after.why : before.why);
    if (*after < *before) return reading<byte_count>::unavailable("memory in use fell meanwhile: others moved");
    return *after - *before;
}

reading<measured<byte_rate>> rate_of(const samples& seconds, byte_count moved, const device_conditions& during) {
    return rate<byte_rate>(seconds, moved, during);
}
reading<measured<flop_rate>> rate_of(const samples& seconds, flop_count done, const device_conditions& during) {
    return rate<flop_rate>(seconds, done, during);
}

std::vector<product_shape> product_shapes(std::int32_t major, std::int32_t minor, bool quick) {
    const bool ampere = major >= 8;
    const bool ada = major > 8 || (major == 8 && minor >= 9);
    std::vector<product_shape> all;
    for (const std::string_view precision : {"bf16", "fp16", "tf32", "fp8_e4m3", "int8"}) {
        if ((precision == "bf16" || precision == "tf32") && !ampere) continue;
        if (precision == "fp8_e4m3" && !ada) continue;
        all.push_back({precision, 4096, 4096, 4096, true});
        if (quick) continue;
        all.push_back({precision, 8192, 8192, 8192});
        all.push_back({precision, 8192, 1024, 8192});  // output features x tokens x input features
        all.push_back({precision, 14336, 4096, 4096});
    }
    return all;
}

measured_fault fault_in(const device& live, const problem& opening) {
    const device_measurements& m = live.measured;
    measured_fault first;
    const auto look = [&first](const std::string& what, bool known, std::string_view why) {
        const bool missing = library_missing(why);
        // A fault counts before a library that is missing.
        if (!known && (first.what.empty() || (first.missing && !missing))) first = {what, std::string{why}, missing};
    };
    const auto timed = [&](const std::string& what, const auto& figure) { look(what, figure.known, figure.why); };
    const auto checked = [&](const std::string& what, const auto& figure, const reading<bool>& verified) {
        timed(what, figure);
        if (figure) look(what, verified.value_or(false), verified ? "its result was wrong" : verified.why.view());
    };
    look("opening context and libraries", opening.empty(), opening);
    timed("read", m.read_bandwidth);
    timed("host to device", m.host_to_device_pinned), timed("device to host", m.device_to_host_pinned);
    for (const device_product& p : m.products) {
        const std::string what = fmt::format("{} {} x {} x {}", p.precision.view(), p.rows, p.columns, p.inner);
        checked(what, p.rate, p.verified);
        if (p.sustained.why != one_a_precision) timed(what + ", long", p.sustained);
    }
    for (const device_peer& peer : live.peers) timed("copy to a peer", peer.bandwidth);
    for (const device_all_reduce& one : m.all_reduces) checked("all-reduce", one.bandwidth, one.verified);
    return first;
}

problem measure(cuda_api& cuda, std::int32_t index, std::int32_t device_count, const device_watch& watch,
                const measure_options& options, const stop_signal& stop, device& into) {
    device_measurements& m = into.measured;
    if (const problem wrong = cuda.open_context(index); !wrong.empty()) {
        const auto none = [&wrong](auto&... field) { ((field.why = wrong), ...); };
        none(m.read_bandwidth, m.host_to_device_pinned, m.device_to_host_pinned, m.context, m.library_workspace);
        return wrong;
    }
    const auto opened = watch.used();
    m.context = growth(watch.used_at_start, opened);
    const problem no_libraries = cuda.open_libraries();
    m.library_workspace =
        no_libraries.empty() ? growth(opened, watch.used()) : reading<byte_count>::unavailable(no_libraries);
    const auto now = cuda.memory();
    into.memory.cuda_free = then(now, [](const memory_state& state) { return state.free; });

    measuring take{cuda, watch, options, stop};
    take.set_room(now ? div_down(now->free, 4) : byte_count{});
    const byte_count host = take.part_of_room(mib(64), mib(256));
    m.read_bandwidth = take.transfer_rate(transfer::device_read, take.part_of_room(mib(256), gib(1)));
    m.host_to_device_pinned = take.transfer_rate(transfer::host_to_device, host);
    m.device_to_host_pinned = take.transfer_rate(transfer::device_to_host, host);
    m.products.count = 0;
    for (const product_shape& shape : product_shapes(into.compute.capability_major.value_or(0),
                                                     into.compute.capability_minor.value_or(0), options.quick))
        m.products.push(take.product(shape));
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(into.peers.size()); ++i)
        into.peers[static_cast<std::size_t>(i)].bandwidth = take.peer_rate(index, i < index ? i : i + 1, host);
    m.all_reduces.count = 0;
    if (device_count > 1) m.all_reduces.push(take.all_reduce(device_count, host));
    return no_libraries;
}

}  // namespace llmres::probe
