// SPDX-License-Identifier: MIT
// Rooflines, measured: points and lines lie where the picture's own axes say that their figures are.
#include <llmres/io/svg/roofline.hpp>

#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "parts.hpp"

using namespace llmres;
using namespace picture;

namespace {

const cluster one{.gpu = gpus::h100_sxm5_80gb};
const job chat{.model = models::llama_3_1_8b,
               .batch = 8,
               .prompt = tokens(2000),
               .output = tokens(100),
               .runtime = runtimes::vllm};
const job step{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};
const job routed{.model = models::deepseek_v3,
                 .batch = 8,
                 .prompt = tokens(2000),
                 .output = tokens(100),
                 .runtime = runtimes::sglang};

/// An axis as a reader reads it: from the places of two labels that name powers of ten.
struct read_axis {
    double first = 0, place = 0, pixels = 0;  ///< the power at a place, and the pixels of a power
    double operator()(double value) const { return place + pixels * (std::log10(value) - first); }
};

/// The axis of FLOPs a byte: labels below it, in whole powers.
read_axis across(const std::vector<part>& all) {
    std::vector<part> labels;
    const double row = saying(all, "FLOP for each byte moved").of("y");
    for (const part& text : those(all, "text", "soft"))
        if (text.of("y") > row - 25 && text.of("y") < row) labels.push_back(text);
    REQUIRE(labels.size() > 2);
    const double low = std::strtod(labels[0].words.c_str(), nullptr);
    const double high = std::strtod(labels[1].words.c_str(), nullptr);
    CHECK(std::abs(high / low - 10) < 1e-9);
    return {std::log10(low), labels[0].of("x"), labels[1].of("x") - labels[0].of("x")};
}

/// The axis of FLOPs a second: labels to the left of it, each beside a thin line.
read_axis upwards(const std::vector<part>& all) {
    for (int power = 0; power < 18; ++power) {
        const std::string low = to_string(flops_per_s(std::pow(10.0, power)));
        for (const part& text : those(all, "text", "soft")) {
            if (text.words != low || text.text("text-anchor") != "end" || text.of("x") > 104) continue;
            const part above = saying(all, to_string(flops_per_s(std::pow(10.0, power + 1))));
            return {static_cast<double>(power), text.of("y") - 5, above.of("y") - text.of("y")};
        }
    }
    FAIL("no axis");
    return {};
}

kernel_times kernels_of(const job& j, const layout& l = {}) { return kernel_times_of(j, l, one); }

std::vector<part> drawn(const kernel_times& kernels) { return parts_of(roofline_to_svg(kernels, one.gpu, "r")); }

}  // namespace

TEST_CASE("each kind of kernel is a point where the axes have its intensity and rate") {
    for (const kernel_times& kernels : {kernels_of(chat), kernels_of(step), kernels_of(routed, {.tensor = 8})}) {
        const auto all = drawn(kernels);
        picture::check_readable(all);
        const read_axis x = across(all), y = upwards(all);
        CHECK(x.pixels > 0);
        CHECK(y.pixels < 0);
        const auto points = those(all, "circle");
        std::size_t next = 0;
        std::array<duration, 4> of_pass{};
        for (const kernel_time& k : kernels.all()) of_pass[static_cast<std::size_t>(k.pass)] += k.time;
        for (const kernel_time& k : kernels.all()) {
            if (k.flops <= flop_count{}) continue;
            REQUIRE(next < points.size());
            const part& point = points[next++];
            CHECK(std::abs(point.of("cx") - x(k.intensity())) < 0.5);
            CHECK(std::abs(point.of("cy") - y(k.rate().in(flops_per_s))) < 0.5);
            // Above the axis, to the right of it, and never under the page's edge.
            CHECK(point.of("cy") <= 344);
            CHECK(point.of("cy") >= 84);
            CHECK(point.of("cx") >= 104);
            CHECK(point.of("cx") <= 620);
            // The area beyond a radius of 4 grows as its share of the pass: all of it has 12.
            const double share = k.time / of_pass[static_cast<std::size_t>(k.pass)];
            CHECK(same(point.of("r"), 4 + 8 * std::sqrt(share)));
            const bool ring = k.pass == step_pass::backward || k.pass == step_pass::prefill;
            CHECK((point.text("fill") == "none") == ring);
        }
    }
}

TEST_CASE("the axes hold the points and the peaks, in whole powers of ten") {
    for (const kernel_times& kernels : {kernels_of(chat), kernels_of(step)}) {
        const auto all = drawn(kernels);
        const read_axis x = across(all), y = upwards(all);
        double least = 1e30, most = 0;
        for (const kernel_time& k : kernels.all()) {
            if (k.flops <= flop_count{}) continue;
            least = (std::min)(least, k.intensity());
            most = (std::max)(most, k.intensity());
        }
        const double ridge = 989e12 / 3.35e12;  // an H100's, from its datasheet
        // The first label is the power at or below the least intensity and at most 1; the last one the power at or
        // above all of them.
        CHECK(std::pow(10.0, x.first) <= (std::min)(least, 1.0));
        CHECK(std::pow(10.0, x.first + 1) > (std::min)(least, 1.0));
        CHECK(same(x.place, 104));
        CHECK(x((std::max)(most, ridge)) <= 620.5);
        CHECK(same(y.place, 344));
        CHECK(y(989e12) > 84);
        CHECK(y(989e12) < 130);  // the peak is near the top
        const part caption = saying(all, "FLOP for each byte moved");
        CHECK(caption.of("x") == (104 + 620) / 2.0);
        CHECK(caption.text("text-anchor") == "middle");
        // Ticks below the axis, lines across at each power of the rate.
        for (const part& tick : those(all, "line", "thin")) {
            if (tick.of("x1") == tick.of("x2")) {
                CHECK(tick.of("y1") == 344);
                CHECK(tick.of("y2") > 344);
            } else {
                CHECK(tick.of("y1") == tick.of("y2"));
                CHECK(tick.of("x1") == 104);
                CHECK(tick.of("x2") == 620);
            }
        }
    }
}

TEST_CASE("what the GPU allows is drawn: traffic up to the ridge, and the peak from there on") {
    for (const job& j : {chat, step}) {
        const auto all = drawn(kernels_of(j));
        const read_axis x = across(all), y = upwards(all);
        const auto lines = those(all, "line", "line");
        REQUIRE(lines.size() == 2);  // memory, and bf16 alone
        const double ridge = 989.4e12 / 3.35e12;
        // Along the slanted line the rate is the intensity times the bandwidth.
        const double begins = std::pow(10.0, x.first + (lines[0].of("x1") - x.place) / x.pixels);
        CHECK(std::abs(y(begins * 3.35e12) - lines[0].of("y1")) < 0.5);
        CHECK(std::abs(lines[0].of("x2") - x(ridge)) < 0.5);
        CHECK(std::abs(lines[0].of("y2") - y(989.4e12)) < 0.5);
        // It begins at one of the axes.
        CHECK((std::abs(lines[0].of("x1") - 104) < 0.5 || std::abs(lines[0].of("y1") - 344) < 0.5));
        CHECK(std::abs(lines[1].of("x1") - x(ridge)) < 0.5);
        CHECK(lines[1].of("x2") == 620);
        CHECK(lines[1].of("y1") == lines[1].of("y2"));
        CHECK(std::abs(lines[1].of("y1") - y(989.4e12)) < 0.5);
        // Their names end to the left of them: memory's at the middle of its line, the peak's at the ridge.
        const part memory = saying(all, "memory 3.35 TB/s"), peak = saying(all, "bf16 989 TFLOP/s");
        for (const part& name : {memory, peak}) CHECK(name.text("text-anchor") == "end");
        CHECK(memory.of("x") < (lines[0].of("x1") + lines[0].of("x2")) / 2);
        CHECK(memory.of("x") > (lines[0].of("x1") + lines[0].of("x2")) / 2 - 20);
        CHECK(same(memory.of("y"), (lines[0].of("y1") + lines[0].of("y2")) / 2));
        CHECK(peak.of("x") < lines[1].of("x1"));
        CHECK(peak.of("x") > lines[1].of("x1") - 16);
        CHECK(std::abs(peak.of("y") - lines[1].of("y1")) < 6);
    }
}

TEST_CASE("each arithmetic that a step uses has its peak, once") {
    job mixed = chat;
    mixed.model.weights = fp8_block;
    const kernel_times kernels = kernels_of(mixed);
    const auto all = drawn(kernels);
    std::size_t named = 0;
    for (const part& text : those(all, "text", "note")) named += text.words.find("FLOP/s") != std::string::npos ? 1 : 0;
    CHECK(named == 2);
    CHECK(those(all, "line", "line").size() == 3);
    const read_axis x = across(all);
    CHECK(x(1979e12 / 3.35e12) <= 620);  // the higher peak's ridge
    CHECK(saying(all, "fp8 1.98 PFLOP/s").of("y") < saying(all, "bf16 989 TFLOP/s").of("y"));
}

TEST_CASE("the list has each kind of kernel in its colour, with its figures under their heads") {
    for (const kernel_times& kernels : {kernels_of(chat), kernels_of(step), kernels_of(routed, {.tensor = 8})}) {
        const auto all = drawn(kernels);
        const auto texts = those(all, "text");
        const auto points = those(all, "circle");
        const std::size_t listed = kernels.count;
        REQUIRE(points.size() > listed);
        const auto under = [&](const char* head, double row) {
            const part column = saying(all, head);
            for (const part& text : texts)
                if (text.of("y") == row && text.of("x") == column.of("x") && text.text("text-anchor") == "end")
                    return text.words;
            return std::string{};
        };
        double above = saying(all, "bytes moved").of("y");
        for (std::size_t i = 0; i < listed; ++i) {
            const kernel_time& k = kernels.storage[i];
            const char* kinds[] = {"matrix products", "experts' products", "attention", "elementwise"};
            const std::string kind = k.head ? "head" : kinds[static_cast<std::size_t>(k.kind)];
            const part name = saying(all, std::string{name_of(k.pass)} + ", " + kind);
            const double row = name.of("y");
            CHECK(row > above + 12);
            CHECK(row < above + 30);
            above = row;
            // The dot beside it has the colour of the point in the diagram.
            const part& dot = points[points.size() - listed + i];
            CHECK(dot.of("cy") < row);
            CHECK(dot.of("cy") + dot.of("r") > row - 1);
            CHECK(dot.of("cx") + dot.of("r") < name.of("x"));
            CHECK(dot.of("cx") - dot.of("r") >= 20);
            const bool computes = k.flops > flop_count{};
            CHECK(under("bytes moved", row) == to_string(k.moved));
            CHECK(under("time", row) == to_string(k.time));
            CHECK(under("rate", row) == (computes ? to_string(k.rate()) : to_string(approx(k.moved) / k.time)));
            const std::string intensity = under("FLOP/byte", row);
            CHECK(intensity.empty() == !computes);
            if (computes) CHECK(std::abs(std::strtod(intensity.c_str(), nullptr) / k.intensity() - 1) < 0.006);
        }
        CHECK(picture::height_of(all) > above);
        CHECK(picture::height_of(all) < above + 30);
    }
}

TEST_CASE("kinds of kernels differ in colour, and the head from both") {
    const kernel_times kernels = kernels_of(routed, {.tensor = 8});
    std::vector<std::string> colours;
    for (const kernel_time& k : kernels.all()) {
        const std::string colour{detail::kind_colour(k)};
        for (std::size_t i = 0; i < colours.size(); ++i) {
            const kernel_time& other = kernels.storage[i];
            const bool alike = k.head == other.head && (k.head || k.kind == other.kind);
            CHECK((colours[i] == colour) == alike);
        }
        colours.push_back(colour);
    }
    CHECK(detail::per_byte_text(99.6) == "99.6");
    CHECK(detail::per_byte_text(1234.4) == "1234");  // not 1.23e+03
}

TEST_CASE("a GPU whose peaks or bandwidth are not known has no roofline, and the title says which passes there are") {
    gpu unknown = one.gpu;
    unknown.rates = {};
    CHECK(saying(parts_of(roofline_to_svg(kernels_of(chat), unknown, "r")), "not known").of("y") > 50);
    unknown = one.gpu;
    unknown.memory.bandwidth = {};
    const auto all = parts_of(roofline_to_svg(kernels_of(chat), unknown, "r"));
    picture::check_readable(all);
    CHECK(saying(all, "not known").of("y") < picture::height_of(all));
    CHECK(those(all, "circle").empty());
    CHECK(saying(drawn(kernels_of(chat)), "Roofline").words.find("of a decoding step and of a prompt") !=
          std::string::npos);
    CHECK(saying(drawn(kernels_of(step)), "Roofline").words.find("of a micro-batch's passes") != std::string::npos);
}
