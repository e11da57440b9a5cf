// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <llmres/answers/capacity.hpp>
#include <map>

#include "alloc.hpp"

namespace llmres::probe {

namespace {

using llmres::detail::largest_that_holds;

constexpr std::int64_t most = std::int64_t{1} << 30;

std::string refusal_of(const error& wrong) { return fmt::format("{}: {}", wrong.field.view(), wrong.expected.view()); }

/// A search's tries on the device, each n once.
class tries_on_device {
public:
    tries_on_device(const alloc_environment& around, const plan_at& plan, const alloc_options& options)
        : around_{around}, plan_{plan}, options_{options} {}

    /// Throws the judgement where nothing can be said.
    const search_try& at(std::int64_t n) {
        if (const auto known = all.find(n); known != all.end()) return known->second;
        const auto plan = plan_(n);
        if (!plan) return all[n] = {n, false, {}, refusal_of(plan.error())};
        const alloc_run run = run_allocation(around_, *plan, options_);
        const judgement found = judge(run);
        const bool fits = found.says == verdict::fits;
        const bool no_room = found.says == verdict::does_not_fit ||
                             (found.says == verdict::skipped && run.outcome == run_outcome::guarded);
        const search_try& made = all[n] = {n, fits, run.requested, found.reason};
        if (!fits && !no_room) throw found;
        return made;
    }
    bool fits(std::int64_t n) { return at(n).fits; }

    std::map<std::int64_t, search_try> all;

private:
    const alloc_environment& around_;
    const plan_at& plan_;
    const alloc_options& options_;
};

/// What a plan takes of the device, with what this process has already.
byte_count needed_by(const tested_plan& plan, const alloc_options& options) {
    byte_count all = plan.buffer_total();
    for (const buffer& b : stand_ins(plan, options.own)) all += b.size;
    return all;
}

/// The device decides. Rounding makes it a little less than arithmetic says, so the first tries are near the top.
std::int64_t largest_held(tries_on_device& device, std::int64_t by_arithmetic) {
    std::int64_t held = 0;                     // the largest n known to fit
    std::int64_t refused = by_arithmetic + 1;  // the smallest known not to
    for (std::int64_t step = 1; held == 0 && refused > step; step *= 4)
        (device.fits(refused - step) ? held : refused) = refused - step;
    return held + largest_that_holds(refused - held - 1, [&](std::int64_t n) { return device.fits(held + n); });
}

}  // namespace

search_result search_largest(const alloc_environment& around, const plan_at& plan, const alloc_options& options,
                             std::optional<std::int64_t> planned) {
    search_result found;
    const auto end = [&found](verdict says, std::string reason) {
        found.says = says;
        found.reason = std::move(reason);
        return found;
    };
    const auto now = reading_of([&] { return around.memory.memory().free; });
    if (!now) return end(verdict::failed, std::string{now.why.view()});
    if (const auto one = plan(1); !one) return end(verdict::failed, refusal_of(one.error()));
    const byte_count left = *now > options.guard ? *now - options.guard : byte_count{};
    const byte_count room = std::min(left, options.host_room.value_or(left));

    found.predicted_in_guard = largest_that_holds(most, [&](std::int64_t n) {
        const auto at = plan(n);
        const byte_count needed = at ? needed_by(*at, options) : byte_count{};
        return at && needed <= room && needed + options.own <= at->usable;
    });
    found.possible = largest_that_holds(most, [&](std::int64_t n) {
        const auto at = plan(n);
        return at && at->memory.total().low <= at->usable;
    });

    tries_on_device device{around, plan, options};
    judgement judged{verdict::fits, ""};
    try {
        if (planned && *planned >= 1) {
            found.planned = device.at(*planned);
            found.beyond = device.at(*planned + 1);
        }
        found.largest = largest_held(device, found.predicted_in_guard);
        if (found.largest < 1) judged = {verdict::does_not_fit, "not even 1 fits"};
    } catch (const judgement& ended) {
        judged = ended;
    }
    for (const auto& [n, tried] : device.all) found.tries.push_back(tried);
    return end(judged.says, std::move(judged.reason));
}

}  // namespace llmres::probe
