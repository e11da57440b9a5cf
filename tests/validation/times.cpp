// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "times/constants.hpp"
#include "times/scores.hpp"

// Published times as job documents; `table_times` prints the table that docs/accuracy.md shows.

namespace {

struct all_scores {
    std::map<std::string, times::score> series{};
    int refused = 0;
    int impossible = 0;  ///< figures that are no positive number, or bounds that do not enclose what is expected
};

const all_scores& scores() {
    static const all_scores made = [] {
        all_scores all;
        const times::documents published{LLMRES_SOURCE_DIR "/tests/validation/data/times"};
        for (const char* file : {"training.jsonl", "serving.jsonl"})
            published.for_each_figure(
                file,
                [&](const times::figure& f, const llmres::job_plan&) {
                    all.series[f.series + " | " + f.name].add(f);
                    all.impossible += !(f.planned.low > 0 && f.planned.low <= f.planned.expected &&
                                        f.planned.expected <= f.planned.high && f.planned.high < 1e6);
                },
                [&](const std::string&, const std::string&, const std::string&) { ++all.refused; });
        return all;
    }();
    return made;
}

}  // namespace

TEST_CASE("every published time is a job document that the library takes, but for contexts beyond the model's own") {
    CHECK(scores().series.size() >= 25);
    CHECK(scores().refused <= 25);
}

TEST_CASE("series that were met stay within what is asked of them") {
    for (const times::bar& b : times::bars) {
        if (!b.met) continue;
        INFO(std::string{b.series});
        CHECK(times::pooled(scores().series, b).rows() >= 10);
        CHECK(times::pooled(scores().series, b).keeps(b));
    }
}

TEST_CASE("of ten and more times of a series, four fifths lie within bounds a factor of 2.2 apart") {
    for (const auto& [name, s] : scores().series) {
        if (s.rows() < 10) continue;
        INFO(name);
        const bool waits = name.find("first_token") != std::string::npos;  // for others, or for stages: any width
        CHECK(s.share_inside() >= (waits ? 0.75 : 0.80));
        if (!waits) CHECK(times::score::median(s.widths) <= 2.2);
    }
}

TEST_CASE("a planned time is a positive number between its bounds") { CHECK(scores().impossible == 0); }

TEST_CASE("times are made of at most 126 numbers that are no datasheet's") {
    const times::fitted_constants constants;
    CHECK(constants.numbers() <= 126);
    CHECK(constants.numbers() > 60);
    CHECK(constants.all().contains("kernels.product"));
    CHECK(constants.all().contains("launches.step"));
}
