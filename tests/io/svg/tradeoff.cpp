// SPDX-License-Identifier: MIT
// Throughput against latency, measured: points lie where the picture's own axes have their figures.
#include <llmres/io/svg/tradeoff.hpp>

#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>

#include <string>
#include <vector>

#include "parts.hpp"

using namespace llmres;
using namespace picture;

namespace {

const job chat{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
const job step{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};

/// A layout with a speed of our choice.
found_layout at(double step_seconds, double rate, const layout& l = {}, double prefill_seconds = 1) {
    found_layout f;
    f.plan.layout = l;
    const duration taken = seconds(step_seconds);
    f.plan.speed.step[time_term::compute] = {taken, taken, taken};
    const duration prompt = seconds(prefill_seconds);
    f.plan.speed.prefill[time_term::compute] = {prompt, prompt, prompt};
    f.plan.speed.tokens_per_second = tokens_per_s(rate);
    return f;
}

/// An axis as a reader reads it, from its labels: pixels for each unit, and where zero is.
struct read_axis {
    double zero = 0, pixels = 0, last = 0, step = 0;
};

read_axis axis_of(const std::vector<part>& all, bool upwards) {
    read_axis axis;
    int labels = 0;
    for (const part& text : those(all, "text", "soft")) {
        char* end = nullptr;
        const double value = std::strtod(text.words.c_str(), &end);
        if (end == text.words.c_str() || *end != '\0') continue;
        if ((text.text("text-anchor") == "end") != upwards) continue;
        const double place = upwards ? text.of("y") - 5 : text.of("x");
        if (labels++ == 0) {
            CHECK(value == 0);
            axis.zero = place;
        } else {
            CHECK(value > axis.last);
            axis.pixels = (place - axis.zero) / value;
            if (labels == 2) axis.step = value;
        }
        axis.last = value;
    }
    CHECK(labels >= 3);
    CHECK(labels <= 12);
    return axis;
}

}  // namespace

TEST_CASE("each layout is a point where the axes have its time and throughput, joined to the next") {
    for (const bool by_prompt : {false, true}) {
        const std::vector<found_layout> found{at(0.040, 4321, {.tensor = 2}, 0.9), at(0.021, 2000, {.tensor = 4}, 0.5),
                                              at(0.0125, 350, {.tensor = 8}, 0.3)};
        const auto all = parts_of(
            tradeoff_to_svg(found, chat, by_prompt ? objective::time_to_first_token : objective::time_per_token, "m"));
        picture::check_readable(all);
        const read_axis x = axis_of(all, false), y = axis_of(all, true);
        const auto points = those(all, "circle");
        std::vector<part> joints;
        for (const part& line : those(all, "line", "thin"))
            if (line.of("x1") != line.of("x2") && line.of("y1") != line.of("y2")) joints.push_back(line);
        REQUIRE(points.size() == found.size());
        REQUIRE(joints.size() == found.size() - 1);
        for (std::size_t i = 0; i < found.size(); ++i) {
            const double ms =
                1e3 * (by_prompt ? found[i].plan.speed.prefill : found[i].plan.speed.step).total().expected.in(seconds);
            const double rate = found[i].plan.speed.tokens_per_second.in(tokens_per_s);
            CHECK(std::abs(points[i].of("cx") - (x.zero + x.pixels * ms)) < 0.5);
            CHECK(std::abs(points[i].of("cy") - (y.zero + y.pixels * rate)) < 0.5);
            if (i == 0) continue;
            CHECK(joints[i - 1].of("x1") == points[i - 1].of("cx"));
            CHECK(joints[i - 1].of("y1") == points[i - 1].of("cy"));
            CHECK(joints[i - 1].of("x2") == points[i].of("cx"));
            CHECK(joints[i - 1].of("y2") == points[i].of("cy"));
        }
        // The slowest is at the right, with room for its words; the fastest at the top.
        CHECK(same(points[0].of("cx"), 620 - 150));
        CHECK(same(points[0].of("cy"), 92));
        CHECK(same(x.zero, 110));
        CHECK(same(y.zero, 340));
    }
}

TEST_CASE("axes begin at zero, in round steps, up to the last one below what is drawn") {
    const std::vector<found_layout> found{at(0.040, 4000), at(0.021, 2000)};
    const auto all = parts_of(tradeoff_to_svg(found, chat, objective::time_per_token, "m"));
    const read_axis x = axis_of(all, false), y = axis_of(all, true);
    CHECK(x.step == 10);  // 40 ms in four steps
    CHECK(x.last == 40);
    CHECK(y.step == 1000);
    CHECK(y.last == 4000);
    for (const part& line : those(all, "line", "thin")) {
        if (line.of("y1") == line.of("y2")) {  // across the picture
            CHECK(line.of("x1") == 110);
            CHECK(line.of("x2") == 620);
        } else if (line.of("x1") == line.of("x2")) {  // below the axis
            CHECK(line.of("y1") == 340);
            CHECK(line.of("y2") > 340);
            CHECK(line.of("y2") < 350);
        }
    }
    // Labels stand to the left of a line and below a tick; units at the ends of both axes.
    for (const part& text : those(all, "text", "soft")) {
        if (text.text("text-anchor") == "middle") CHECK(text.of("y") > 350);
        if (text.text("text-anchor") == "end" && text.words != "ms a token") CHECK(text.of("x") < 110);
    }
    CHECK(saying(all, "tokens/s").of("y") < 92);
    CHECK(saying(all, "tokens/s").of("y") > 60);
    CHECK(saying(all, "ms a token").of("x") == 620);
    CHECK(saying(all, "ms a token").of("y") > 350);
    CHECK(picture::height_of(all) > saying(all, "ms a token").of("y"));
    CHECK(picture::height_of(all) < saying(all, "ms a token").of("y") + 25);
}

TEST_CASE("a step of an axis is 1, 2 or 5 times a power of ten, and at most five go into it") {
    CHECK(detail::round_step(40) == doctest::Approx(10));
    CHECK(detail::round_step(25) == doctest::Approx(5));
    CHECK(detail::round_step(10) == doctest::Approx(2));
    CHECK(detail::round_step(4.9) == doctest::Approx(1));
    CHECK(detail::round_step(0.00031) == doctest::Approx(0.0001));
    for (double most = 1e-8; most < 1e9; most *= 1.37) {
        CAPTURE(most);
        const double apart = detail::round_step(most);
        CHECK(most / apart <= 5.0001);
        CHECK(most / apart > 1.99);
        const double mantissa = apart / std::pow(10.0, std::floor(std::log10(apart) + 1e-9));
        CHECK((std::abs(mantissa - 1) < 1e-6 || std::abs(mantissa - 2) < 1e-6 || std::abs(mantissa - 5) < 1e-6));
    }
}

TEST_CASE("words stand beside points, with the batch where a model serves, and are left out where they would overlap") {
    std::vector<found_layout> found{at(0.040, 4000, {.tensor = 2}), at(0.030, 3950, {.tensor = 4}),
                                    at(0.020, 2000, {.tensor = 8}), at(0.010, 1000)};
    for (found_layout& f : found) f.choice = choice_of(chat);
    found[2].choice.batch = 16;
    const auto all = parts_of(tradeoff_to_svg(found, chat, objective::time_per_token, "m"));
    picture::check_readable(all);
    const auto points = those(all, "circle");
    const auto words = those(all, "text", "note");
    REQUIRE(words.size() == 3);  // the second point is three pixels below the first
    const std::size_t of_point[] = {0, 2, 3};
    for (std::size_t i = 0; i < words.size(); ++i) {
        const part& point = points[of_point[i]];
        CHECK(words[i].of("x") > point.of("cx") + point.of("r"));
        CHECK(words[i].of("x") < point.of("cx") + 20);
        CHECK(std::abs(words[i].of("y") - point.of("cy")) < 8);
    }
    CHECK(words[0].words == degrees_of(found[0].plan.layout) + ", batch 1");
    CHECK(words[1].words == degrees_of(found[2].plan.layout) + ", batch 16");
    CHECK(words[2].words == "1 GPU, batch 1");
    const auto trained = those(parts_of(tradeoff_to_svg(found, step, objective::throughput, "m")), "text", "note");
    CHECK(trained.back().words == "1 GPU");
    // Twenty pixels are enough for two lines.
    const std::vector<found_layout> apart{at(0.04, 4000), at(0.03, 3600)};
    CHECK(those(parts_of(tradeoff_to_svg(apart, chat, objective::time_per_token, "m")), "text", "note").size() == 2);
}

TEST_CASE("the subtitle and the unit say what throughput is drawn against") {
    const std::vector<found_layout> found{at(0.040, 4000), at(0.021, 2000)};
    const auto said = [&](const job& j, objective o) {
        const auto all = parts_of(tradeoff_to_svg(found, j, o, "m"));
        std::string unit;
        for (const part& text : those(all, "text", "soft"))
            if (text.words.starts_with("ms ")) unit = text.words;
        return saying(all, "okens per second").words + " / " + unit;
    };
    CHECK(said(chat, objective::time_to_first_token) ==
          "Tokens per second in all, against the time to the first token / ms to the first token");
    CHECK(said(chat, objective::throughput) ==
          "Tokens per second in all, against the time of a token of each sequence / ms a token");
    CHECK(said(step, objective::throughput) == "Tokens per second, against the time of a step / ms a step");
    CHECK(said(step, objective::time_to_first_token) == "Tokens per second, against the time of a step / ms a step");
    const auto none = parts_of(tradeoff_to_svg({}, chat, objective::throughput, "m"));
    picture::check_readable(none);
    CHECK(saying(none, "No layout fits.").of("y") > 60);
    CHECK(those(none, "circle").empty());
}
