// SPDX-License-Identifier: MIT
// Pictures of workloads, measured: a bar for each phase to one scale, what others keep before what the phase takes.
#include <llmres/io/svg/workload.hpp>

#include <doctest/doctest.h>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/io/svg/plan.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "parts.hpp"

using namespace llmres;
using namespace picture;
using nlohmann::json;

namespace {

struct drawn_workload {
    plan_request asked;
    reinforcement_plan plan;
    std::vector<part> parts;
};

drawn_workload workload(const json& more) {
    json document{{"model", "qwen2.5-7b"},
                  {"task", "ppo"},
                  {"runtime", "openrlhf"},
                  {"micro_batch", 2},
                  {"global_batch", 64},
                  {"layout", {{"data", 8}, {"zero", 3}}},
                  {"rollout", {{"gpu_memory_utilization", 0.4}, {"sleep", "level_2"}, {"reward", "qwen2.5-7b"}}},
                  {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 8}}}};
    document.merge_patch(more);
    const auto asked = read_job(document);
    REQUIRE_MESSAGE(asked, asked.error().field.view());
    const auto made = plan(*asked);
    REQUIRE_MESSAGE(made, made.error().field.view());
    REQUIRE(made->phases);
    return {*asked, *made->phases, parts_of(to_svg(*made->phases, asked->cluster, "m"))};
}

/// The boxes of a bar, from left to right, without its ground.
std::vector<part> bar(const std::vector<part>& all, std::size_t phase) {
    std::vector<part> boxes;
    for (const part& box : those(all, "rect"))
        if (box.text("class").empty() && box.of("y") == 90 + 56 * static_cast<double>(phase)) boxes.push_back(box);
    return boxes;
}
double end_of(const part& box) { return box.of("x") + box.of("width"); }

/// Where so many bytes end, of bars whose width is `most`.
double x_of(byte_count size, byte_count most) { return 20 + 600 * ratio(size, most); }

}  // namespace

TEST_CASE("each phase is a bar of what others keep and what it takes, to the scale of the GPU") {
    const drawn_workload drawn = workload(json::object());
    check_readable(drawn.parts);
    REQUIRE(drawn.plan.phase_count == 4);
    const byte_count most = available_memory(drawn.asked.cluster);
    const char* const names[] = {"rollout", "reward", "critic", "training"};
    for (std::size_t i = 0; i < 4; ++i) {
        CAPTURE(names[i]);
        const phase_plan& one = drawn.plan.phases[i];
        const std::vector<part> boxes = bar(drawn.parts, i);
        REQUIRE(boxes.size() > 2);
        CHECK(boxes.front().of("x") == doctest::Approx(20));
        CHECK(boxes.front().text("fill") == "#7a4a2a");
        CHECK(end_of(boxes.front()) == doctest::Approx(x_of(one.resident.expected, most)).epsilon(0.001));
        CHECK(end_of(boxes.back()) ==
              doctest::Approx(x_of(one.resident.expected + one.own.expected, most)).epsilon(0.001));
        for (std::size_t box = 1; box < boxes.size(); ++box)
            CHECK(boxes[box].of("x") == doctest::Approx(end_of(boxes[box - 1])).epsilon(0.002));
        CHECK(saying(drawn.parts, std::string{names[i]} + ", ").of("y") == 83 + 56 * static_cast<double>(i));
    }
    // The pool of the engine fills its fraction of the GPU.
    CHECK(bar(drawn.parts, 0).back().text("fill") == detail::colour_of(memory_term::kv_cache));
    CHECK(bar(drawn.parts, 3).back().text("fill") != detail::colour_of(memory_term::kv_cache));
    const std::string fullest = "fullest: " + std::string{name_of(drawn.plan.worst().phase)};
    CHECK(std::string{saying(drawn.parts, "Memory of the busiest GPU").words}.find(fullest) != std::string::npos);
}

TEST_CASE("a workload that does not fit goes beyond the line of the GPU, and says which phase does") {
    const drawn_workload drawn = workload({{"rollout", {{"gpu_memory_utilization", 0.9}, {"sleep", "awake"}}}});
    check_readable(drawn.parts);
    REQUIRE(drawn.plan.verdict() == verdict::does_not_fit);
    const phase_plan& worst = drawn.plan.worst();
    const byte_count most = worst.own.expected + worst.resident.expected;
    const std::vector<part> lines = those(drawn.parts, "line");
    REQUIRE(lines.size() == 4);
    const double end = x_of(available_memory(drawn.asked.cluster), most);
    for (const part& line : lines) CHECK(line.of("x1") == doctest::Approx(end).epsilon(0.001));
    CHECK(end < 615);
    CHECK(saying(drawn.parts, "m: does not fit").of("y") == 30);
}

TEST_CASE("weights that are the trainer's own are not drawn where its model generates, but their casts are") {
    const auto weights_drawn = [](const char* format) {
        const json no_engine{{"reward", nullptr}, {"gpu_memory_utilization", nullptr}, {"sleep", nullptr}};
        const drawn_workload drawn =
            workload({{"task", "grpo"}, {"runtime", "trl"}, {"weights", format}, {"rollout", no_engine}});
        check_readable(drawn.parts);
        for (const part& box : bar(drawn.parts, 0))
            if (box.text("fill") == detail::colour_of(memory_term::weights)) return box.of("width");
        return 0.0;
    };
    CHECK(weights_drawn("bf16") == 0);
    CHECK(weights_drawn("fp32") > 90);  // autocast keeps 13 GB of casts
}

TEST_CASE("the pictures of a workload are its phases, and those of its training beside the engine") {
    const drawn_workload drawn = workload(json::object());
    const auto pictures = pictures_of(drawn.plan, drawn.asked.job, drawn.asked.cluster);
    REQUIRE(pictures.size() == 5);
    CHECK(pictures[0].name == "workload");
    CHECK(pictures[0].svg == to_svg(drawn.plan, drawn.asked.cluster, "qwen2.5-7b"));
    const phase_plan& training = *drawn.plan.find(workload_phase::training);
    const auto alone = pictures_of(training.plan, drawn.asked.job, beside_engine(drawn.plan, drawn.asked.cluster));
    for (std::size_t i = 0; i < alone.size(); ++i) {
        CHECK(pictures[i + 1].name == alone[i].name);
        CHECK(pictures[i + 1].svg == alone[i].svg);
    }
}
