// SPDX-License-Identifier: MIT
// Pictures of memory, measured: bars to scale, marks where the figures are, each term in its colour.
#include <llmres/io/svg/memory.hpp>

#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "parts.hpp"

using namespace llmres;
using namespace picture;

namespace {

const cluster one{.gpu = gpus::h100_sxm5_80gb};
const job chat{.model = models::llama_3_1_8b, .batch = 4, .context = tokens(4096), .runtime = runtimes::vllm};
const job too_large{.model = models::llama_3_1_70b, .context = tokens(4096), .runtime = runtimes::vllm};
const job step{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};

job_plan plan_of(const job& j, const cluster& c = one) {
    const result<job_plan> p = plan(j, layout{}, c);
    REQUIRE(p);
    return *p;
}

/// The pixel of a size on an axis of 600 pixels from 20, which ends at `most`.
double pixel(byte_count size, byte_count most) { return 20 + 600 * ratio(size, most); }

byte_count largest(const job_plan& p) { return (std::max)({p.memory.total().high, p.usable, byte_count{bytes(1)}}); }

}  // namespace

TEST_CASE("the bar of a GPU's memory is to scale: each term as long as it is large, one behind the other") {
    for (const job& j : {chat, too_large, step}) {
        const job_plan p = plan_of(j);
        const auto all = parts_of(to_svg(p, "m"));
        picture::check_readable(all);
        const part track = those(all, "rect", "track").at(0);
        CHECK(track.of("x") == 20);
        CHECK(track.of("width") == 600);
        byte_count start;
        for (std::size_t i = 0; i < p.memory.terms.size(); ++i) {
            const byte_count size = p.memory.terms[i].expected;
            const auto coloured = those(all, "rect", detail::term_colours[i]);
            const bool listed = p.memory.terms[i].high > byte_count{};
            REQUIRE(coloured.size() == (size > byte_count{} ? 2 : listed ? 1 : 0));
            if (size > byte_count{}) {
                const part& bar = coloured[0];
                CHECK(same(bar.of("x"), pixel(start, largest(p))));
                CHECK(same(bar.of("width"), (std::max)(0.5, 600 * ratio(size, largest(p)))));
                CHECK(bar.of("y") == track.of("y"));
                CHECK(bar.of("height") == track.of("height"));
            }
            start += size;
        }
    }
}

TEST_CASE("the list under the bar has a square, a name and a size for each term, side by side") {
    const job_plan p = plan_of(chat);
    const auto all = parts_of(to_svg(p, "m"));
    double above = 0;
    for (std::size_t i = 0; i < p.memory.terms.size(); ++i) {
        const interval<byte_count>& size = p.memory.terms[i];
        if (size.high <= byte_count{}) continue;
        const part square = those(all, "rect", detail::term_colours[i]).back();
        const part name = saying(all, name_of(static_cast<memory_term>(i)));
        CHECK(square.of("width") == square.of("height"));
        CHECK(square.of("y") > above);  // below the one before
        above = square.of("y") + square.of("height");
        CHECK(name.of("y") > square.of("y"));  // on a line that begins beside the square
        CHECK(name.of("y") <= above + 1);
        CHECK(name.of("x") > square.of("x") + square.of("width"));
        CHECK(name.of("x") < square.of("x") + 2.5 * square.of("width"));
        for (const part& beside : all)
            if (beside.tag == "text" && beside.of("y") == name.of("y") && beside.words == to_string(size.expected)) {
                CHECK(beside.text("text-anchor") == "end");
                CHECK(beside.of("x") > name.ends());
            }
        if (size.low == size.high) continue;
        const part bounds = saying(all, " (" + to_string(size.low) + " to " + to_string(size.high) + ")");
        CHECK(bounds.text("text-anchor") == "start");
    }
    CHECK(picture::height_of(all) >= above);
    CHECK(picture::height_of(all) < above + 30);  // no empty ground below
}

TEST_CASE("a mark stands where the usable memory ends, and below the bar one from the lower to the upper bound") {
    for (const job& j : {chat, too_large}) {
        const job_plan p = plan_of(j);
        const auto all = parts_of(to_svg(p, "m"));
        const part track = those(all, "rect", "track").at(0);
        const double foot = track.of("y") + track.of("height");
        const interval<byte_count> total = p.memory.total();
        const auto lines = those(all, "line");
        REQUIRE(lines.size() == 4);
        // From bound to bound, with a tick at each.
        CHECK(same(lines[0].of("x1"), pixel(total.low, largest(p))));
        CHECK(same(lines[0].of("x2"), pixel(total.high, largest(p))));
        CHECK(lines[0].of("y1") == lines[0].of("y2"));
        CHECK(lines[0].of("y1") > foot);
        for (const std::size_t tick : {std::size_t{1}, std::size_t{2}}) {
            CHECK(lines[tick].of("x1") == lines[tick].of("x2"));
            CHECK(lines[tick].of("x1") == lines[0].of(tick == 1 ? "x1" : "x2"));
            CHECK(lines[tick].of("y1") > foot);
            CHECK(lines[tick].of("y2") == lines[0].of("y1"));
        }
        // Across the bar.
        CHECK(lines[3].of("x1") == lines[3].of("x2"));
        CHECK(same(lines[3].of("x1"), pixel(p.usable, largest(p))));
        CHECK(lines[3].of("y1") < track.of("y"));
        CHECK(lines[3].of("y2") > lines[0].of("y1"));
        const part words = saying(all, "usable " + to_string(p.usable));
        CHECK(same(words.of("x"), lines[3].of("x1")));
        CHECK(words.of("y") > lines[3].of("y2"));
        CHECK(words.text("text-anchor") == "end");
    }
    // Little is usable: what names the mark goes to the right of it, where there is room.
    cluster busy = one;
    busy.in_use = usable_memory(busy.gpu) - gib(4);
    const job_plan little = plan_of(chat, busy);
    const auto all = parts_of(to_svg(little, "m"));
    CHECK(saying(all, "usable " + to_string(little.usable)).text("text-anchor") == "start");
    picture::check_readable(all);
}

TEST_CASE("the title says whether the plan fits, and the line below it the sum, its bounds and what is usable") {
    const job_plan fits = plan_of(chat), larger = plan_of(too_large);
    CHECK(saying(parts_of(to_svg(fits, "m")), "m: ").words == "m: fits");
    CHECK(saying(parts_of(to_svg(larger, "m")), "m: ").words == "m: does not fit");
    job_plan near = fits;
    near.verdict = verdict::tight;
    CHECK(saying(parts_of(to_svg(near, "m")), "m: ").words == "m: tight");
    const interval<byte_count> total = fits.memory.total();
    CHECK(saying(parts_of(to_svg(fits, "m")), "Memory of the busiest GPU").words ==
          "Memory of the busiest GPU: " + to_string(total.expected) + " (" + to_string(total.low) + " to " +
              to_string(total.high) + ") of " + to_string(fits.usable) + " usable");
    job_plan exact = fits;
    for (interval<byte_count>& term : exact.memory.terms) term = {term.expected, term.expected, term.expected};
    CHECK(saying(parts_of(to_svg(exact, "m")), "Memory of the busiest GPU").words ==
          "Memory of the busiest GPU: " + to_string(exact.memory.total().expected) + " of " + to_string(fits.usable) +
              " usable");
}

namespace {

struct bar {
    const char* name;
    byte_count size;
    memory_term colour;
};

void check_bars(const std::vector<part>& all, const std::vector<bar>& bars, byte_count usable) {
    picture::check_readable(all);
    byte_count most = (std::max)(usable, byte_count{bytes(1)});
    for (const bar& one_bar : bars) most = (std::max)(most, one_bar.size);
    const auto tracks = those(all, "rect", "track");
    const auto marks = those(all, "line");
    REQUIRE(tracks.size() == bars.size());
    REQUIRE(marks.size() == bars.size());
    for (std::size_t i = 0; i < bars.size(); ++i) {
        CAPTURE(bars[i].name);
        const part filled = those(all, "rect", detail::colour_of(bars[i].colour)).at(0);
        CHECK(filled.of("x") == 20);
        CHECK(same(filled.of("width"), 600 * ratio(bars[i].size, most)));
        CHECK(filled.of("y") == tracks[i].of("y"));
        CHECK(filled.of("height") == tracks[i].of("height"));
        if (i > 0) CHECK(tracks[i].of("y") > tracks[i - 1].of("y") + tracks[i - 1].of("height"));
        // Its name and its size above it, the size at the right.
        const part name = saying(all, bars[i].name);
        CHECK(name.of("x") == 20);
        CHECK(name.of("y") < tracks[i].of("y"));
        CHECK(name.of("y") > tracks[i].of("y") - 14);
        bool sized = false;
        for (const part& text : those(all, "text"))
            sized = sized || (text.of("y") == name.of("y") && text.of("x") == 620 &&
                              text.text("text-anchor") == "end" && text.words == to_string(bars[i].size));
        CHECK(sized);
        // Across the bar a mark where the usable memory ends.
        CHECK(marks[i].of("x1") == marks[i].of("x2"));
        CHECK(same(marks[i].of("x1"), pixel(usable, most)));
        CHECK(marks[i].of("y1") < tracks[i].of("y"));
        CHECK(marks[i].of("y2") > tracks[i].of("y") + tracks[i].of("height"));
    }
    const part words = saying(all, "usable " + to_string(usable));
    CHECK(same(words.of("x"), pixel(usable, most)));
    CHECK(words.of("y") > marks.back().of("y2"));
    CHECK(words.text("text-anchor") == (2 * usable > most ? "end" : "start"));
    CHECK(picture::height_of(all) > words.of("y"));
    CHECK(picture::height_of(all) < words.of("y") + 30);
}

}  // namespace

TEST_CASE("the passes of a training step are bars to scale, beside what is usable") {
    const job_plan p = plan_of(step);
    const training_passes passes = training_passes_of(step, p.layout, sdpa_backend_of(one.gpu));
    check_bars(parts_of(phases_to_svg(p, step, one, "m")),
               {{"forward", passes.forward, memory_term::weights},
                {"loss", passes.loss, memory_term::kv_cache},
                {"backward", passes.backward, memory_term::activations},
                {"optimizer step", passes.step, memory_term::gradients}},
               p.usable);
}

TEST_CASE("the phases of serving are bars to scale, beside what is usable") {
    for (const job& j : {chat, too_large}) {
        const job_plan p = plan_of(j);
        const serving_phases phases = serving_phases_of_stage(j, p.layout, on_device(j, one.gpu, p.layout), 0);
        check_bars(parts_of(phases_to_svg(p, j, one, "m")),
                   {{"weights loaded", phases.load, memory_term::weights},
                    {"prompts computed, beside the cache", phases.prefill, memory_term::activations},
                    {"last token of every sequence", phases.decode, memory_term::kv_cache}},
                   p.usable);
    }
    // Where most of the memory is used by others, the words at the mark go to its right.
    cluster busy = one;
    busy.in_use = usable_memory(busy.gpu) - gib(4);
    const job_plan p = plan_of(chat, busy);
    const auto all = parts_of(phases_to_svg(p, chat, busy, "m"));
    CHECK(saying(all, "usable " + to_string(p.usable)).text("text-anchor") == "start");
    picture::check_readable(all);
    busy.in_use = usable_memory(busy.gpu) + gib(1);
    CHECK(saying(parts_of(phases_to_svg(plan_of(chat, busy), chat, busy, "m")), "usable").words == "usable 0 B");
}
