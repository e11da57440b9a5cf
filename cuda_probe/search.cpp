// SPDX-License-Identifier: MIT
#include "search.hpp"

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

search_result search_largest(const alloc_environment& around, const plan_at& plan, const alloc_options& options) {
    search_result found;
    const auto fail = [&found](verdict says, std::string reason) {
        found.says = says;
        found.reason = std::move(reason);
        return found;
    };
    if (options.guard <= byte_count{}) return fail(verdict::failed, "a search needs a guard band");
    const auto now = around.memory.memory();
    if (!now) return fail(verdict::failed, std::string{now.why.view()});
    const byte_count room = now->free > options.guard ? now->free - options.guard : byte_count{};

    // How far arithmetic alone lets us go: an upper end by doubling, then bisected without touching the device.
    const auto adds_up = [&](std::int64_t n) -> std::optional<bool> {
        const auto at = plan(n);
        return at.has_value() && at->buffer_total() <= room;
    };
    if (const auto one = plan(1); !one.has_value()) {
        const error& wrong = one.error();
        return fail(verdict::failed, std::string{wrong.field.view()} + ": " + std::string{wrong.expected.view()});
    } else if (const auto two = plan(2); two.has_value() && two->buffer_total() == one->buffer_total()) {
        return fail(verdict::failed, "no buffer of the plan grows with what is searched");
    }
    std::int64_t beyond = 1;
    while (*adds_up(beyond) && beyond < (std::int64_t{1} << 40)) beyond *= 2;
    found.predicted_in_guard = bisect(1, beyond, adds_up).value_or(0);

    // The device decides below that. Rounding makes it a little less, so the first tries are near the top.
    judgement last{verdict::fits, ""};
    const auto fits = [&](std::int64_t n) -> std::optional<bool> {
        const auto at = plan(n);
        const alloc_run run = run_allocation(around, *at, options);
        last = judge(run);
        const bool yes = last.says == verdict::fits;
        const bool no = last.says == verdict::does_not_fit ||
                        (last.says == verdict::skipped && run.outcome == run_outcome::guarded);
        found.tries.push_back({n, yes, true, at->buffer_total(), last.reason});
        if (!yes && !no) return {};
        return yes;
    };
    std::int64_t held = 0;                                // the largest n known to fit
    std::int64_t refused = found.predicted_in_guard + 1;  // the smallest known not to
    for (std::int64_t step = 1; refused > step; step *= 4) {
        const auto yes = fits(refused - step);
        if (!yes) return fail(last.says, last.reason);
        if (*yes) {
            held = refused - step;
            break;
        }
        refused -= step;
    }
    const auto largest = bisect(held + 1, refused - 1, fits);
    if (!largest) return fail(last.says, last.reason);
    found.largest = *largest;
    found.says = found.largest >= 1 ? verdict::fits : verdict::does_not_fit;
    found.reason = found.largest >= 1 ? "" : "not even 1 fits";
    return found;
}

}  // namespace llmres::probe
