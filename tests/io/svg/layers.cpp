// SPDX-License-Identifier: MIT
// Pictures of layouts, counted: a box for each layer, a row for each stage, a range of experts for each rank.
#include <llmres/io/svg/layers.hpp>

#include <doctest/doctest.h>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/all.hpp>

#include <string>
#include <vector>

#include "parts.hpp"

using namespace llmres;
using namespace picture;

namespace {

const job dense{.model = models::llama_3_1_70b, .task = task::pretraining, .sequence = tokens(4096)};
const job routed{.model = models::deepseek_v3, .context = tokens(4096), .runtime = runtimes::sglang};

std::string colour(memory_term t) { return std::string{detail::colour_of(t)}; }

/// The boxes of a stage's row, from left to right.
std::vector<part> boxes_of(const std::vector<part>& all, int stage) {
    const part name = saying(all, "stage " + std::to_string(stage) + ":");
    std::vector<part> boxes;
    for (const part& box : those(all, "rect"))
        if (box.text("class").empty() && box.of("y") < name.of("y") && box.of("y") + box.of("height") > name.of("y"))
            boxes.push_back(box);
    return boxes;
}

int count(const std::vector<part>& boxes, memory_term t) {
    int found = 0;
    for (const part& box : boxes) found += box.text("fill") == colour(t) ? 1 : 0;
    return found;
}

}  // namespace

TEST_CASE("each stage is a row of as many boxes as it has layers, the ends at the first and the last") {
    const layout l{.tensor = 2, .pipeline = 4, .data = 2};
    const auto all = parts_of(layers_to_svg(dense, l, "m"));
    picture::check_readable(all);
    double above = 50;  // the subtitle
    for (int stage = 0; stage < 4; ++stage) {
        const auto boxes = boxes_of(all, stage);
        CHECK(count(boxes, memory_term::weights) == 20);  // 80 layers on four stages
        CHECK(count(boxes, memory_term::adapter) == 0);
        CHECK(count(boxes, memory_term::kv_cache) == (stage == 0 ? 1 : 0));     // embedding
        CHECK(count(boxes, memory_term::activations) == (stage == 3 ? 1 : 0));  // head
        if (stage == 0) CHECK(boxes.front().text("fill") == colour(memory_term::kv_cache));
        if (stage == 3) CHECK(boxes.back().text("fill") == colour(memory_term::activations));
        const part name = saying(all, "stage " + std::to_string(stage) + ":");
        CHECK(name.words == "stage " + std::to_string(stage) + ": GPUs " + std::to_string(4 * stage) + " to " +
                                std::to_string(4 * stage + 3));
        CHECK(name.of("x") == 20);
        // Side by side behind the name, a pixel apart, in a row of its own.
        CHECK(boxes.front().of("x") >= name.ends());
        for (std::size_t i = 1; i < boxes.size(); ++i)
            CHECK(same(boxes[i].of("x"), boxes[i - 1].of("x") + boxes[i - 1].of("width") + 1));
        for (const part& box : boxes) {
            CHECK(box.of("y") == boxes[0].of("y"));
            CHECK(box.of("y") > above);
        }
        above = boxes[0].of("y") + boxes[0].of("height");
        bool counted = false;
        for (const part& text : those(all, "text", "soft"))
            counted = counted || (text.words == "20 layers" && text.of("y") == name.of("y") &&
                                  text.of("x") > boxes.back().of("x") + boxes.back().of("width") &&
                                  text.of("x") < boxes.back().of("x") + boxes.back().of("width") + 15);
        CHECK(counted);
    }
    const part legend = saying(all, "embedding");
    CHECK(legend.of("y") > above);
    CHECK(picture::height_of(all) > legend.of("y"));
    CHECK(picture::height_of(all) < legend.of("y") + 25);
}

TEST_CASE("all stages have layers of one width, so that the longest has 280 pixels, and none more than 16") {
    const auto width_of = [](const job& j, const layout& l, int stage) {
        const auto boxes = boxes_of(parts_of(layers_to_svg(j, l, "m")), stage);
        return boxes.at(boxes.size() / 2).of("width");
    };
    CHECK(same(width_of(dense, {.pipeline = 4}, 0), 280.0 / 20 - 1));
    CHECK(same(width_of(dense, {.pipeline = 8}, 0), 15));               // 28, but for the bound
    CHECK(same(width_of(routed, {.pipeline = 2}, 1), 280.0 / 31 - 1));  // 31 and 30 layers
}

TEST_CASE("a stage on one GPU names it, one of several ranks all of them") {
    const auto named = [](const layout& l, const char* stage) {
        return saying(parts_of(layers_to_svg(dense, l, "m")), stage).words;
    };
    CHECK(named({.pipeline = 2}, "stage 1:") == "stage 1: GPU 1");
    CHECK(named({.tensor = 2, .pipeline = 2}, "stage 1:") == "stage 1: GPUs 2 to 3");
    CHECK(named({.pipeline = 2, .data = 3}, "stage 1:") == "stage 1: GPUs 3 to 5");
    CHECK(named({.pipeline = 2, .context_parallel = 4}, "stage 1:") == "stage 1: GPUs 4 to 7");
    CHECK(named({.tensor = 2, .pipeline = 2, .data = 3, .context_parallel = 2}, "stage 1:") ==
          "stage 1: GPUs 12 to 23");
}

TEST_CASE(
    "sixteen stages are all drawn; of more the first fifteen and the last, and a line says how many are left out") {
    const auto rows = [](int stages) {
        const auto all = parts_of(layers_to_svg(dense, {.pipeline = stages}, "m"));
        picture::check_readable(all);
        std::vector<std::string> shown;
        for (const part& text : those(all, "text"))
            if (text.words.starts_with("stage ")) shown.push_back(text.words.substr(6, text.words.find(':') - 6));
        return shown;
    };
    CHECK(rows(16).size() == 16);
    CHECK(rows(16).back() == "15");
    const auto of_20 = rows(20);
    REQUIRE(of_20.size() == 16);
    CHECK(of_20[14] == "14");
    CHECK(of_20[15] == "19");
    const auto all = parts_of(layers_to_svg(dense, {.pipeline = 20}, "m"));
    const part left_out = saying(all, "4 more stages");
    CHECK(left_out.of("x") == 20);
    CHECK(left_out.of("y") > saying(all, "stage 14:").of("y") + 20);
    CHECK(left_out.of("y") < saying(all, "stage 19:").of("y") - 20);
    CHECK(rows(17).size() == 16);
    CHECK(saying(parts_of(layers_to_svg(dense, {.pipeline = 17}, "m")), "1 more stages").of("y") > 0);
}

TEST_CASE("layers with routed experts have a colour of their own, and the legend names what is there") {
    const auto all = parts_of(layers_to_svg(routed, {.pipeline = 2}, "m"));
    picture::check_readable(all);
    // 61 layers, the first three dense: 31 and 30.
    CHECK(count(boxes_of(all, 0), memory_term::weights) == 3);
    CHECK(count(boxes_of(all, 0), memory_term::adapter) == 28);
    CHECK(count(boxes_of(all, 1), memory_term::weights) == 0);
    CHECK(count(boxes_of(all, 1), memory_term::adapter) == 30);
    // The dense ones come first.
    const auto first = boxes_of(all, 0);
    for (std::size_t i = 1; i < first.size(); ++i)
        CHECK(first[i].text("fill") == colour(i <= 3 ? memory_term::weights : memory_term::adapter));
    const auto legend_of = [](const job& j) {
        const auto parts = parts_of(layers_to_svg(j, {.pipeline = 2}, "m"));
        const double row = saying(parts, "embedding").of("y");
        std::string names;
        double ends = 0;
        for (const part& text : those(parts, "text")) {
            if (text.of("y") != row) continue;
            names += (names.empty() ? "" : ", ") + text.words;
            // Each behind a square, and behind the one before.
            const part* square = nullptr;
            for (const part& box : those(parts, "rect"))
                if (box.of("width") == box.of("height") && box.of("x") < text.of("x") &&
                    box.of("x") + box.of("width") > text.of("x") - 10 && box.of("y") < row &&
                    box.of("y") + box.of("height") > row - 5)
                    square = &box;
            CHECK(square != nullptr);
            CHECK(text.of("x") > ends + 13);
            ends = text.ends();
        }
        return names;
    };
    CHECK(legend_of(dense) == "embedding, a layer, norm and head");
    CHECK(legend_of(routed) == "embedding, a layer, a layer with experts, norm and head");
    job all_routed = routed;
    all_routed.model = models::deepseek_v3;
    all_routed.model.layers = {};
    for (int i = 0; i < 8; ++i) all_routed.model.layers.append(1, models::deepseek_v3.layers[60]);
    CHECK(legend_of(all_routed) == "embedding, a layer with experts, norm and head");
}

namespace {

struct rank_box {
    std::string experts, gpus;
    double x, y;
};

/// What each drawn rank holds, in the order of reading.
std::vector<rank_box> ranks_of(const std::vector<part>& all) {
    std::vector<rank_box> found;
    const double below = saying(all, "Routed experts").of("y");
    for (const part& bar : those(all, "rect", colour(memory_term::adapter))) {
        if (bar.of("y") < below) continue;
        rank_box one{"", "", bar.of("x"), bar.of("y")};
        for (const part& text : those(all, "text")) {
            if (text.of("x") != bar.of("x") || text.of("y") < bar.of("y") || text.of("y") > bar.of("y") + 44) continue;
            (text.words.starts_with("GPU") ? one.gpus : one.experts) = text.words;
            CHECK(text.ends() < bar.of("x") + bar.of("width") + 8);
        }
        found.push_back(one);
    }
    return found;
}

}  // namespace

TEST_CASE("the routed experts of a layer are shared out in order, eight ranks in a row") {
    const auto all = parts_of(layers_to_svg(routed, {.tensor = 16, .expert = 16, .expert_tensor = 1}, "m"));
    picture::check_readable(all);
    const auto ranks = ranks_of(all);
    REQUIRE(ranks.size() == 16);
    for (std::size_t r = 0; r < 16; ++r) {
        CHECK(ranks[r].experts == std::to_string(16 * r) + "-" + std::to_string(16 * r + 15));
        CHECK(ranks[r].gpus == "GPU " + std::to_string(r));
        CHECK(same(ranks[r].x, 20 + 75 * static_cast<double>(r % 8)));  // an eighth of 600 pixels each
        CHECK(ranks[r].y == ranks[8 * (r / 8)].y);
    }
    CHECK(ranks[8].y > ranks[0].y + 40);  // two lines of text stand between the rows
    CHECK(ranks[0].y > saying(all, "Routed experts").of("y"));
    CHECK(picture::height_of(all) > ranks[8].y + 40);
    CHECK(picture::height_of(all) < ranks[8].y + 70);
    CHECK(saying(all, "Routed experts").words ==
          "Routed experts, 256 in each of 58 layers: 16 on each of 16 ranks of a stage");
}

TEST_CASE("ranks that share experts unevenly, one expert each, or over several GPUs") {
    const auto of = [](const layout& l, std::int64_t experts) {
        job j = routed;
        for (layer& kind : j.model.layers.kinds)
            if (kind.feed_forward.routed()) kind.feed_forward.experts.count = experts;
        return ranks_of(parts_of(layers_to_svg(j, l, "m")));
    };
    const auto uneven = of({.tensor = 8, .expert = 8, .expert_tensor = 1}, 60);  // eight each, but four on the last
    REQUIRE(uneven.size() == 8);
    CHECK(uneven[6].experts == "48-55");
    CHECK(uneven[7].experts == "56-59");
    CHECK(of({.tensor = 8, .expert = 8, .expert_tensor = 1}, 8)[3].experts == "3");
    const auto split = of({.tensor = 16, .expert = 8, .expert_tensor = 2}, 256);
    CHECK(split[0].gpus == "GPU 0-1");
    CHECK(split[7].gpus == "GPU 14-15");
    // One rank shares with nobody, and a model without routed experts has none.
    for (const auto& [j, l] : {std::pair{routed, layout{.tensor = 8}}, {dense, layout{.tensor = 8}}})
        for (const part& text : those(parts_of(layers_to_svg(j, l, "m")), "text"))
            CHECK(text.words.find("Routed") == std::string::npos);
}

TEST_CASE(
    "of more than sixteen ranks the first fifteen and the last are drawn, and a line below says how many are not") {
    const auto all = parts_of(layers_to_svg(routed, {.tensor = 64, .expert = 64, .expert_tensor = 1}, "m"));
    picture::check_readable(all);
    const auto ranks = ranks_of(all);
    REQUIRE(ranks.size() == 16);
    CHECK(ranks[14].experts == "56-59");
    CHECK(ranks[15].experts == "252-255");
    CHECK(ranks[15].gpus == "GPU 63");
    const part left_out = saying(all, "48 more ranks before the last");
    CHECK(left_out.of("y") > ranks[15].y + 44);
    CHECK(picture::height_of(all) > left_out.of("y"));
    CHECK(picture::height_of(all) < left_out.of("y") + 40);
}
