// SPDX-License-Identifier: MIT
// Pictures of small plans, computed by hand: where each drawing's own rows, columns and scale put its shapes and texts.
#include <llmres/io/svg/plan.hpp>
#include <llmres/io/svg/tradeoff.hpp>

#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "parts.hpp"

using namespace llmres;
using namespace picture;

namespace {

std::string number(double value) {
    return value == std::floor(value) ? std::to_string(static_cast<int>(value)) : detail::filled("{:.1f}", value);
}

/// The places of all parts of a tag, in the order in which they are drawn: "20,158 13x13", or "20,30 words".
std::vector<std::string> places_of(const std::vector<part>& all, std::string_view tag) {
    std::vector<std::string> places;
    for (const part& one : those(all, tag)) {
        if (tag == "rect" && one.text("class") == "ground") continue;
        std::string place = number(one.of(tag == "circle" ? "cx"
                                          : tag == "line" ? "x1"
                                                          : "x")) +
                            "," +
                            number(one.of(tag == "circle" ? "cy"
                                          : tag == "line" ? "y1"
                                                          : "y"));
        if (tag == "rect") place += " " + number(one.of("width")) + "x" + number(one.of("height"));
        if (tag == "line") place += " " + number(one.of("x2")) + "," + number(one.of("y2"));
        if (tag == "circle") place += " " + number(one.of("r"));
        if (tag == "text") place += " " + one.words;
        places.push_back(place);
    }
    return places;
}

using places = std::vector<std::string>;

/// DeepSeek-V3 of so many dense layers, and of one layer for each number of experts that follows.
job routed_job(std::int32_t dense, const std::vector<std::int64_t>& experts) {
    job j{.model = models::deepseek_v3, .context = tokens(4096), .runtime = runtimes::sglang};
    j.model.layers = {};
    if (dense > 0) j.model.layers.append(dense, models::deepseek_v3.layers[0]);
    for (const std::int64_t count : experts) {
        layer with = models::deepseek_v3.layers[60];
        with.feed_forward.experts.count = count;
        j.model.layers.append(1, with);
    }
    return j;
}

}  // namespace

// ---- layers

TEST_CASE("one stage of two layers, of which one has four experts on two ranks") {
    const auto all = parts_of(layers_to_svg(routed_job(1, {4}), {.tensor = 2, .expert = 2, .expert_tensor = 1}, "m"));
    CHECK(places_of(all, "text") == places{"20,30 m", "20,50 Layers over 2 GPUs, tensor 2, expert 2",
                                           // A row of 34 from 68 on, the words 19 below its top: 8 behind the boxes.
                                           "20,87 stage 0: GPUs 0 to 1", "296,87 2 layers",
                                           // The legend, 6 below the row; columns of 115, 90 and 175.
                                           "40,120 embedding", "155,120 a layer", "245,120 a layer with experts",
                                           "420,120 norm and head",
                                           // 32 below the row, and 8 more.
                                           "20,156 Routed experts, 4 in each of 1 layers: 2 on each of 2 ranks of a "
                                           "stage",
                                           "20,190 0-1", "20,206 GPU 0", "95,190 2-3", "95,206 GPU 1"});
    // Embedding and head are 8 wide, layers 16, each with a pixel of ground behind it.
    CHECK(places_of(all, "rect") == places{"240,68 7x26", "248,68 15x26", "264,68 15x26", "280,68 7x26", "20,108 13x13",
                                           "135,108 13x13", "225,108 13x13", "400,108 13x13", "20,168 71x6",
                                           "95,168 71x6"});
    CHECK(picture::height_of(all) == 142 + 30 + 50);
}

TEST_CASE("of seventeen stages and ranks one is left out, in a row of its own") {
    const job j = routed_job(16, {17});
    const auto stages = places_of(parts_of(layers_to_svg(j, {.pipeline = 17}, "m")), "text");
    // Fifteen rows of 34 from 68 on, one that says what is left out, and the last.
    CHECK(stages.at(2 + 28) == "20,563 stage 14: GPU 14");
    CHECK(stages.at(2 + 30) == "20,597 1 more stages");
    CHECK(stages.at(2 + 31) == "20,631 stage 16: GPU 16");
    CHECK(stages.at(2 + 33) == "40,664 embedding");

    const auto all = parts_of(layers_to_svg(j, {.tensor = 17, .expert = 17, .expert_tensor = 1}, "m"));
    const auto ranks = places_of(all, "text");
    // Two rows of 50 below 142, and a line of 20 for what is left out.
    CHECK(ranks.at(8) == "20,156 Routed experts, 17 in each of 1 layers: 1 on each of 17 ranks of a stage");
    CHECK(ranks.at(9) == "20,190 0");
    CHECK(ranks.at(9 + 16) == "20,240 8");
    CHECK(ranks.at(9 + 30) == "20,284 1 more ranks before the last");
    CHECK(ranks.at(9 + 31) == "545,240 16");
    CHECK(picture::height_of(all) == 142 + 30 + 2 * 50 + 20);
}

TEST_CASE("of two kinds of routed layers the experts of the first are told, and of none nothing") {
    const layout two{.tensor = 2, .expert = 2, .expert_tensor = 1};
    const auto all = parts_of(layers_to_svg(routed_job(0, {4, 8}), two, "m"));
    CHECK(saying(all, "Routed experts").words ==
          "Routed experts, 4 in each of 2 layers: 2 on each of 2 ranks of a stage");
    for (const part& text : those(parts_of(layers_to_svg(routed_job(2, {}), two, "m")), "text"))
        CHECK_FALSE(text.words.starts_with("Routed"));
}

// ---- memory

namespace {

/// Weights of 6 GiB, caches of 1 to 4, 2 of them expected: 7 to 10 GiB, a pixel for each 60th.
job_plan ten_gib(byte_count usable) {
    job_plan p;
    p.usable = usable;
    p.verdict = verdict::tight;
    p.memory[memory_term::weights] = {gib(6), gib(6), gib(6)};
    p.memory[memory_term::kv_cache] = {gib(1), gib(2), gib(4)};
    return p;
}

}  // namespace

TEST_CASE("weights and caches of up to 10 GiB beside 8 that are usable") {
    const auto all = parts_of(to_svg(ten_gib(gib(8)), "m"));
    CHECK(places_of(all, "rect") ==
          places{"20,66 600x42", "20,66 360x42", "20,158 13x13", "380,66 120x42", "20,180 13x13"});
    CHECK(places_of(all, "line") == places{"440,116 620,116", "440,110 440,116", "620,110 620,116", "500,60 500,124"});
    CHECK(places_of(all, "text") == places{"20,30 m: tight",
                                           "20,50 Memory of the busiest GPU: 8 GiB (7 GiB to 10 GiB) of 8 GiB usable",
                                           "42,170 weights", "250,170 6 GiB", "260,170 ", "42,192 kv_cache",
                                           "250,192 2 GiB", "260,192  (1 GiB to 4 GiB)", "500,140 usable 8 GiB"});
    CHECK(picture::height_of(all) == 158 + 2 * 22 + 10);
}

TEST_CASE("the words at the mark of what is usable go to its left from a fifth of the picture on") {
    const auto anchor_of = [](byte_count usable) {
        return saying(parts_of(to_svg(ten_gib(usable), "m")), "usable " + to_string(usable)).text("text-anchor");
    };
    CHECK(anchor_of(gib(2)) == "start");
    CHECK(anchor_of(gib(2) + mib(1)) == "end");
    job_plan least;
    least.usable = bytes(1);
    CHECK(saying(parts_of(to_svg(least, "m")), "usable 1 B").of("x") == 620);  // all of the scale
}

TEST_CASE("a bar for each phase of serving, in rows of 48") {
    const job chat{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    const cluster one{.gpu = gpus::h100_sxm5_80gb};
    const auto all = parts_of(phases_to_svg(plan(chat, layout{}, one).value(), chat, one, "m"));
    const auto texts = those(all, "text");
    const auto tracks = those(all, "rect", "track");
    const auto marks = those(all, "line");
    REQUIRE(texts.size() == 2 + 3 * 2 + 1);
    REQUIRE(tracks.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        const double top = 70 + 48 * static_cast<double>(i);
        CHECK(texts[2 + 2 * i].of("y") == top + 13);
        CHECK(tracks[i].of("y") == top + 20);
        CHECK(tracks[i].of("height") == 16);
        CHECK(marks[i].of("y1") == top + 17);
        CHECK(marks[i].of("y2") == top + 39);
    }
    CHECK(texts.back().of("y") == 70 + 3 * 48 + 10);
    CHECK(picture::height_of(all) == 70 + 3 * 48 + 26);
}

// ---- workloads

namespace {

/// A phase that takes `own` beside what others keep; alone it has weights of 6 GiB, activations and a process.
phase_plan phase_of(workload_phase kind, std::int64_t resident, std::int64_t own, std::int64_t activations,
                    std::int64_t process) {
    const auto exactly = [](std::int64_t size) { return interval<byte_count>{gib(size), gib(size), gib(size)}; };
    phase_plan one{.phase = kind, .own = exactly(own), .resident = exactly(resident)};
    one.plan.verdict = verdict::fits;
    one.plan.memory[memory_term::weights] = exactly(6);
    one.plan.memory[memory_term::activations] = exactly(activations);
    one.plan.memory[memory_term::runtime] = exactly(process);
    return one;
}

}  // namespace

TEST_CASE("three phases of a workload on 20 GiB, whose weights are shared where they take less than alone") {
    cluster c{.gpu = gpus::h100_sxm5_80gb};
    c.in_use = available_memory(c) - gib(20);
    reinforcement_plan p;
    p.phases = {phase_of(workload_phase::rollout, 4, 12, 0, 1),   // 7 GiB, and a pool of 5
                phase_of(workload_phase::critic, 0, 3, 4, 1),     // less than its activations
                phase_of(workload_phase::training, 0, 9, 4, 0)};  // a GiB of its weights is another's
    p.phase_count = 3;
    p.phases[0].time = {seconds(1), seconds(1), seconds(1)};
    p.phases[2].time = {seconds(3), seconds(3), seconds(3)};
    p.step = {seconds(4), seconds(4), seconds(4)};
    const auto all = parts_of(to_svg(p, c, "m"));
    // Rows of 56 from 70 on: words, a ground of 20 below them, and 30 pixels for each GiB.
    CHECK(places_of(all, "text") ==
          places{"20,30 m: fits", "20,50 Memory of the busiest GPU in each phase, of 20 GiB usable; fullest: rollout",
                 "20,83 rollout, 25 % of a step", "620,83 16 GiB: fits", "20,139 critic, 0 % of a step",
                 "620,139 3 GiB: fits", "20,195 training, 75 % of a step", "620,195 9 GiB: fits",
                 "42,250 kept by other phases", "42,272 weights", "42,294 activations", "42,316 kv_cache",
                 "42,338 runtime"});
    CHECK(places_of(all, "rect") ==
          places{"20,90 600x20", "20,90 120x20", "140,90 180x20", "320,90 30x20", "350,90 150x20",  // rollout
                 "20,146 600x20", "20,146 90x20",                                                   // critic
                 "20,202 600x20", "20,202 150x20", "170,202 120x20",                                // training
                 "20,238 13x13", "20,260 13x13", "20,282 13x13", "20,304 13x13", "20,326 13x13"});
    CHECK(places_of(all, "line") == places{"620,87 620,113", "620,143 620,169", "620,199 620,225"});
    CHECK(picture::height_of(all) == 348 + 10);
    p.step = {};
    CHECK(saying(parts_of(to_svg(p, c, "m")), "rollout, ").words == "rollout, 0 % of a step");
    // What takes most is all of the scale, be it the first phase or not.
    p.phases[0].resident = {gib(28), gib(28), gib(28)};
    CHECK(places_of(parts_of(to_svg(p, c, "m")), "line") ==
          places{"320,87 320,113", "320,143 320,169", "320,199 320,225"});
    p.phase_count = 2;
    CHECK(pictures_of(p, job{.model = models::llama_3_1_8b}, c).size() == 1);  // none of the policy's training
}

// ---- pictures above one another

TEST_CASE("each picture begins where the one before ends, and one without a height is left out") {
    CHECK(stacked_svg({{"first", "<svg width=\"640\" height=\"100\">a</svg>\n"},
                       {"none", "<svg width=\"640\">b</svg>\n"},
                       {"empty", ""},
                       {"second", "<svg width=\"640\" height=\"40\">c</svg>\n"}}) ==
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"140\" viewBox=\"0 0 640 140\">\n"
          "<svg y=\"0\" width=\"640\" height=\"100\">a</svg>\n"
          "<svg y=\"100\" width=\"640\" height=\"40\">c</svg>\n</svg>\n");
}

TEST_CASE("the pictures of a plan have the first names of picture_names, in their order") {
    const job chat{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    const cluster two = standard_cluster(gpus::h100_sxm5_80gb, 2).value();
    std::vector<std::string_view> names;
    for (const named_picture& p : pictures_of(plan(chat, {.tensor = 2}, two).value(), chat, two))
        names.push_back(p.name);
    CHECK(names == std::vector<std::string_view>{picture_names.begin(), picture_names.begin() + 4});
}

// ---- roofline

namespace {

/// A kernel of so many FLOPs, bytes and milliseconds.
kernel_time kernel(step_pass pass, double computed, std::int64_t moved, double ms,
                   arithmetic_kind arithmetic = arithmetic_kind::bf16) {
    return {.pass = pass,
            .arithmetic = arithmetic,
            .flops = flops(computed),
            .moved = bytes(moved),
            .time = seconds(ms * 1e-3)};
}

kernel_times kernels_of(const std::vector<kernel_time>& all) {
    kernel_times made;
    for (const kernel_time& k : all) made.storage[made.count++] = k;
    return made;
}

gpu card_of(double rate, double bandwidth) {
    gpu card = gpus::h100_sxm5_80gb;
    card.rates = {};
    card.rates.bf16 = flops_per_s(rate);
    card.memory.bandwidth = bytes_per_s(bandwidth);
    return card;
}

std::size_t peaks_in(const std::vector<part>& all) {
    std::size_t named = 0;
    for (const part& text : those(all, "text", "note")) named += text.words.find("FLOP/s") != std::string::npos ? 1 : 0;
    return named;
}

}  // namespace

TEST_CASE(
    "axes reach half a power of ten beyond the ridge and a fifth beyond the peak, and down to the slowest kernel") {
    // 2 x 10^14 FLOPs and 10^10 bytes a second: the ridge is at 10^4.3.
    const detail::roofline_axes empty{kernel_times{}, 2e14, 1e10};
    CHECK(empty.least_intensity == 0);
    CHECK(empty.most_intensity == 5);
    CHECK(empty.least_rate == 10);
    CHECK(empty.most_rate == doctest::Approx(14.30103 + 0.2));
    // 0.05 FLOPs a byte at 2 x 10^7 FLOPs a second; one without products bounds nothing.
    const kernel_times slow =
        kernels_of({kernel(step_pass::decode, 2e5, 4'000'000, 10), kernel(step_pass::decode, 0, 4'000'000, 1e9)});
    const detail::roofline_axes axes{slow, 2e14, 1e10};
    CHECK(axes.least_intensity == -2);
    CHECK(axes.least_rate == 7);
    const detail::roofline_axes fast{kernels_of({kernel(step_pass::decode, 2e9, 40'000'000'000, 1000)}), 2e14, 1e10};
    CHECK(fast.least_rate == 8);  // what the bandwidth allows at the least intensity, 10^10 x 10^-2
}

TEST_CASE("labels stand at each power of ten, the highest of the intensities at the end of its axis") {
    detail::roofline_axes axes{kernel_times{}, 2e14, 1e10};
    axes.least_rate = 12;
    axes.most_rate = 14;  // at the edge, where no line is
    detail::drawing into{"m", ""};
    axes.draw(into);
    const auto labels = places_of(parts_of(into.finished(400)), "text");
    CHECK(labels == places{"20,30 m", "20,50 ", "96,349 1 TFLOP/s", "96,219 10 TFLOP/s", "104,364 1", "207.2,364 10",
                           "310.4,364 100", "413.6,364 1000", "516.8,364 10000", "620,364 100000",
                           "362,382 FLOP for each byte moved"});
}

TEST_CASE("a picture of one kernel, which takes all of its pass, and its row in the list") {
    const auto all = parts_of(
        roofline_to_svg(kernels_of({kernel(step_pass::forward, 1e12, 1'000'000'000, 10)}), card_of(1e15, 1e12), "r"));
    // 10^3 FLOPs a byte of 10^0 to 10^4, and 10^14 of 10^12 to 10^15.2 a second.
    CHECK(places_of(all, "circle") == places{"491,181.5 12", "27,431 6.5"});
    const auto texts = places_of(all, "text");
    CHECK(texts.at(1) == "20,50 Roofline: kernels of a micro-batch's passes, beside the GPU's peaks");
    const places list{
        "315,414 FLOP/byte", "415,414 bytes moved", "525,414 rate", "620,414 time", "42,436 forward, matrix products",
        "315,436 1000"};
    REQUIRE(texts.size() > list.size() + 3);
    CHECK(places(texts.end() - 9, texts.end() - 3) == list);
    CHECK(picture::height_of(all) == 414 + 22 + 16);
    const auto serving = [](const std::vector<kernel_time>& kernels) {
        return saying(parts_of(roofline_to_svg(kernels_of(kernels), card_of(1e15, 1e12), "r")), "Roofline").words;
    };
    const kernel_time decode = kernel(step_pass::decode, 1e12, 1'000'000'000, 10);
    CHECK(serving({decode}) == "Roofline: kernels of a decoding step and of a prompt, beside the GPU's peaks");
    CHECK(serving({}) == "Roofline: kernels of a decoding step and of a prompt, beside the GPU's peaks");
}

TEST_CASE("rings of the list are as large as usual") {
    const auto all = parts_of(
        roofline_to_svg(kernels_of({kernel(step_pass::prefill, 1e12, 1'000'000'000, 10)}), card_of(1e15, 1e12), "r"));
    CHECK(places_of(all, "circle") == places{"491,181.5 12", "27,431 5"});
}

TEST_CASE("a peak is drawn of an arithmetic that computes, and that the GPU has") {
    gpu card = card_of(1e15, 1e12);
    const auto drawn = [&](const std::vector<kernel_time>& kernels) {
        const std::string picture = roofline_to_svg(kernels_of(kernels), card, "r");
        CHECK(picture.find("inf") == std::string::npos);
        CHECK(picture.find("nan") == std::string::npos);
        return parts_of(picture);
    };
    const kernel_time adds = kernel(step_pass::decode, 0, 1'000'000, 1);
    const kernel_time multiplies = kernel(step_pass::decode, 1e9, 1'000'000, 1);
    CHECK(peaks_in(drawn({adds})) == 0);
    CHECK(peaks_in(drawn({adds, multiplies})) == 1);
    CHECK(peaks_in(drawn({multiplies, kernel(step_pass::decode, 1e9, 1'000'000, 1, arithmetic_kind::fp64)})) == 1);
}

// ---- throughput against latency

namespace {

found_layout at(double step_seconds, double rate) {
    found_layout f;
    const duration taken = seconds(step_seconds);
    f.plan.speed.step[time_term::compute] = {taken, taken, taken};
    f.plan.speed.tokens_per_second = tokens_per_s(rate);
    return f;
}

std::vector<part> against_latency(const std::vector<found_layout>& found) {
    const job chat{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    const std::string picture = tradeoff_to_svg(found, chat, objective::throughput, "m");
    CHECK(picture.find("nan") == std::string::npos);
    return parts_of(picture);
}

}  // namespace

TEST_CASE("points of 5 with words 10 to their right and 5 below, no nearer to each other than 16") {
    // 248 pixels for 248 tokens a second: the second point is 16 below the first, the third 15.5 below that.
    const auto all = against_latency({at(0.04, 248), at(0.03, 232), at(0.02, 216.5)});
    CHECK(places_of(all, "circle") == places{"470,92 5", "380,108 5", "290,123.5 5"});
    places notes;
    for (const part& text : those(all, "text", "note"))
        notes.push_back(number(text.of("x")) + "," + number(text.of("y")));
    CHECK(notes == places{"480,97", "390,113"});
}

TEST_CASE("the last step of an axis is drawn up to a thousandth beyond what is fastest and slowest") {
    const auto labels = [](double slowest, double fastest) {
        places found;
        for (const part& text : those(against_latency({at(slowest, fastest)}), "text", "soft"))
            if (text.words.find_first_not_of("0123456789.") == std::string::npos) found.push_back(text.words);
        return found;
    };
    CHECK(labels(0.03997, 3997) == places{"0", "1000", "2000", "3000", "4000", "0", "10", "20", "30", "40"});
    CHECK(labels(0.03995, 3995) == places{"0", "1000", "2000", "3000", "0", "10", "20", "30"});
    CHECK(labels(0.04, 1000 / 1.001).at(5) == "1000");
}

TEST_CASE("less than a token a second is at the top as well, and nothing at all at the origin") {
    CHECK(places_of(against_latency({at(10, 0.5)}), "circle") == places{"470,92 5"});
    CHECK(places_of(against_latency({at(0, 0)}), "circle") == places{"110,340 5"});
}
