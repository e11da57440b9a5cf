// SPDX-License-Identifier: MIT
#include "alloc.hpp"

#include <fmt/format.h>

#include <map>

namespace llmres::probe {

std::optional<std::int64_t> bisect(std::int64_t low, std::int64_t high,
                                   const std::function<std::optional<bool>(std::int64_t)>& fits) {
    while (low <= high) {
        const std::int64_t middle = low + (high - low) / 2;
        const auto yes = fits(middle);
        if (!yes) return {};
        if (*yes)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return low - 1;
}

namespace {

constexpr std::int64_t most = std::int64_t{1} << 30;

/// A search's tries on the device, each n once.
class trying {
public:
    trying(const alloc_environment& around, const plan_at& plan, const alloc_options& options)
        : around_{around}, plan_{plan}, options_{options} {}

    /// No value where nothing can be said, which ends the search.
    std::optional<bool> fits(std::int64_t n) {
        if (const auto known = known_.find(n); known != known_.end()) return known->second;
        const auto at = plan_(n);
        if (!at) {
            all.push_back({n, false, {}, fmt::format("{}: {}", at.error().field.view(), at.error().expected.view())});
            return known_[n] = false;
        }
        const alloc_run run = run_allocation(around_, *at, options_);
        last = judge(run);
        const bool yes = last.says == verdict::fits;
        const bool no = last.says == verdict::does_not_fit ||
                        (last.says == verdict::skipped && run.outcome == run_outcome::guarded);
        all.push_back({n, yes, run.requested, last.reason});
        if (!yes && !no) return {};
        return known_[n] = yes;
    }

    judgement last{verdict::fits, ""};
    std::vector<search_try> all;

private:
    const alloc_environment& around_;
    const plan_at& plan_;
    const alloc_options& options_;
    std::map<std::int64_t, bool> known_;
};

/// The largest n for which `enough` holds, an upper end found by doubling; `most` if it holds for all.
std::int64_t largest_where(const std::function<bool(std::int64_t)>& enough) {
    std::int64_t beyond = 1;
    while (beyond < most && enough(beyond)) beyond *= 2;
    return bisect(1, beyond, [&](std::int64_t n) { return std::optional{enough(n)}; }).value_or(0);
}

/// How far arithmetic alone lets us go, without touching the device.
std::int64_t largest_by_arithmetic(const plan_at& plan, const alloc_options& options, byte_count room) {
    return largest_where([&](std::int64_t n) {
        const auto at = plan(n);
        if (!at) return false;
        byte_count all = at->buffer_total();
        for (const plan_buffer& b : stand_ins(*at, options.own, options.caching)) all += b.size;
        return all <= room && all + options.own <= at->usable;
    });
}

}  // namespace

search_result search_largest(const alloc_environment& around, const plan_at& plan, const alloc_options& options,
                             std::optional<std::int64_t> planned) {
    search_result found;
    const auto fail = [&found](verdict says, std::string reason) {
        found.says = says;
        found.reason = std::move(reason);
        return found;
    };
    const auto now = around.memory.memory();
    if (!now) return fail(verdict::failed, std::string{now.why.view()});
    if (const auto one = plan(1); !one)
        return fail(verdict::failed, fmt::format("{}: {}", one.error().field.view(), one.error().expected.view()));
    byte_count room = now->free > options.guard ? now->free - options.guard : byte_count{};
    if (options.host_room && *options.host_room < room) room = *options.host_room;

    found.predicted_in_guard = largest_by_arithmetic(plan, options, room);
    found.possible = largest_where([&](std::int64_t n) {
        const auto at = plan(n);
        return at.has_value() && at->low <= at->usable;
    });

    trying device{around, plan, options};
    const auto keep = [&](verdict says, std::string reason) {
        found.tries = device.all;
        return fail(says, std::move(reason));
    };
    if (planned && *planned >= 1)
        for (const std::int64_t n : {*planned, *planned + 1}) {
            if (!device.fits(n)) return keep(device.last.says, device.last.reason);
            (n == *planned ? found.planned : found.beyond) = device.all.back();
        }

    // The device decides. Rounding makes it a little less than arithmetic, so the first tries are near the top.
    std::int64_t held = 0;                                // the largest n known to fit
    std::int64_t refused = found.predicted_in_guard + 1;  // the smallest known not to
    for (std::int64_t step = 1; refused > step; step *= 4) {
        const auto yes = device.fits(refused - step);
        if (!yes) return keep(device.last.says, device.last.reason);
        if (*yes) {
            held = refused - step;
            break;
        }
        refused -= step;
    }
    const auto largest = bisect(held + 1, refused - 1, [&](std::int64_t n) { return device.fits(n); });
    if (!largest) return keep(device.last.says, device.last.reason);
    found.largest = *largest;
    return keep(found.largest >= 1 ? verdict::fits : verdict::does_not_fit,
                found.largest >= 1 ? "" : "not even 1 fits");
}

}  // namespace llmres::probe
