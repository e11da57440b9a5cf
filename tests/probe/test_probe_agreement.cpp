// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "report.hpp"

using namespace llmres;
using namespace llmres::probe;

namespace {

/// A plan of 20 GiB on a device of 24 that held it as it says.
alloc_report report_of() {
    alloc_report made;
    made.plan.verdict = llmres::verdict::fits;
    made.plan.usable = made.plan.available = gib(24);
    made.plan.buffers = {{"w", memory_term::weights, gib(19), 1}};
    made.plan.memory[memory_term::weights].expected = gib(19);
    made.plan.memory[memory_term::runtime].expected = gib(1);
    made.plan.process_context = interval<byte_count>{mib(300), mib(500), mib(800)};
    made.around = {mib(400), mib(100)};
    made.around.cuda_free = gib(24) - mib(500);
    alloc_run run;
    run.outcome = run_outcome::held;
    run.granted = gib(20) - mib(500);
    run.buffers = {{"rest_of_runtime", memory_term::runtime, mib(524), mib(524), mib(524), {}, {}},
                   {"w", memory_term::weights, gib(19), gib(19), gib(19), {}, {}}};
    made.runs = {run};
    made.judged = {probe::verdict::fits, ""};
    return made;
}

/// What differs.
std::string differs(const alloc_report& report) {
    std::string all;
    for (const agreement_line& line : agreement_of(report))
        if (!line.agrees) all += (all.empty() ? "" : ", ") + line.what;
    return all;
}

}  // namespace

TEST_CASE("a plan that the device holds as it says agrees in every line") {
    CHECK(differs(report_of()) == "");
    CHECK(agreement_of(report_of()).size() >= 6);
}

TEST_CASE("a total that is 6 % off does not agree") {
    alloc_report report = report_of();
    report.runs[0].granted += gib(1) + mib(205);
    CHECK(differs(report) == "total");
    report.runs[0].granted -= gib(2) + mib(410);
    CHECK(differs(report) == "total");
}

TEST_CASE("verdict, usable, context and terms are held against the device, each by itself") {
    alloc_report report = report_of();
    report.judged.says = probe::verdict::does_not_fit;
    CHECK(differs(report) == "verdict");
    CHECK(agreement_of(report)[0].why == "the plan promises what the device does not hold");
    report.plan.verdict = llmres::verdict::does_not_fit;
    CHECK(differs(report) == "");
    report.judged.says = probe::verdict::fits;
    CHECK(agreement_of(report)[0].why == "the plan refuses what the device holds");
    report.plan.verdict = llmres::verdict::tight;
    CHECK(differs(report) == "");

    report = report_of();
    report.around.cuda_free = gib(23);
    CHECK(differs(report) == "usable");
    report = report_of();
    report.around = {mib(900), mib(100)};
    report.around.cuda_free = gib(23);
    CHECK(differs(report) == "context, total");
    report = report_of();
    report.runs[0].buffers[1].allocated += mib(250);
    CHECK(differs(report) == "weights");
    report.around.context = reading<byte_count>::unavailable("NVML: no permission");
    CHECK(differs(report) == "weights");  // what nobody knows does not differ
}

TEST_CASE("the largest batch is held against the planner's, and its lower bound") {
    alloc_report report = report_of();
    report.plan.limits.max_batch = 8;
    report.search_axis = "batch";
    report.search = search_result{};
    report.search->says = probe::verdict::fits;
    report.search->largest = 17;
    report.search->possible = 9;
    CHECK(differs(report) == "largest");
    report.search->largest = 9;
    CHECK(differs(report) == "");
    CHECK(agreement_of(report).back().why == "1 beyond the planner's, within its bounds");
    report.search->largest = 7;
    CHECK(differs(report) == "largest");
}

TEST_CASE("in words, sizes are GiB, and a largest context is its tokens however many") {
    alloc_report report = report_of();
    report.plan.limits.max_context = tokens(2'000'000);
    report.search_axis = "context";
    report.search = search_result{};
    report.search->says = probe::verdict::fits;
    report.search->largest = report.search->possible = 1'500'000;
    const std::string text = to_text(report);
    CHECK(text.find("weights          predicted     19.000 GiB  measured     19.000 GiB") != std::string::npos);
    CHECK(
        text.find("largest          predicted        2000000  measured        1500000  differs: the device does not") !=
        std::string::npos);
}
