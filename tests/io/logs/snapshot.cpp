// SPDX-License-Identifier: MIT
// Memory snapshots of PyTorch, as pickles: fixtures of make_snapshots.py, whose sizes are made up.
#include <llmres/io/logs/snapshot.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <llmres/io/logs/reader.hpp>
#include <string>
#include <string_view>

using namespace llmres;

namespace {

std::string file(const std::string& name) {
    std::ifstream in{LLMRES_SOURCE_DIR "/tests/data/snapshots/" + name + ".pickle", std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    REQUIRE(!text.empty());
    return text;
}

result<std::vector<logs::snapshot_device>> read(std::string_view text, std::size_t piece) {
    logs::snapshot_reader reader;
    for (std::size_t at = 0; at < text.size(); at += piece) reader.feed(text.substr(at, piece));
    return reader.finish();
}

std::string refusal_of(std::string_view text) {
    const auto devices = read(text, text.size());
    return devices ? "read" : std::string{devices.error().value.view()};
}

constexpr std::int64_t mebibyte = 1 << 20;

}  // namespace

TEST_CASE("a snapshot says what was allocated and reserved, at its end and at most, in every protocol") {
    for (const char* name : {"protocol_2", "protocol_3", "protocol_4", "protocol_5"})
        for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{1} << 20}) {
            CAPTURE(name);
            CAPTURE(piece);
            const auto devices = read(file(name), piece);
            REQUIRE(devices);
            REQUIRE(devices->size() == 2);
            CHECK((*devices)[0].allocated == 600 * mebibyte);
            CHECK((*devices)[0].most_allocated == 1000 * mebibyte);
            CHECK((*devices)[0].reserved == 700 * mebibyte);
            CHECK((*devices)[0].most_reserved == 2500 * mebibyte);
            CHECK((*devices)[1].allocated == 4 * mebibyte);
            CHECK((*devices)[1].most_reserved == 22 * mebibyte);
        }
    const auto without_history = read(file("no_history"), 100);
    REQUIRE(without_history);
    CHECK((*without_history)[0].most_allocated == 600 * mebibyte);
}

TEST_CASE("a log that is a snapshot gives PyTorch's figures, by device") {
    const auto log = logs::read_log(file("protocol_4"));
    REQUIRE(log);
    CHECK(log->engine == "pytorch");
    CHECK(log->largest(logs::quantity::allocated)->value == doctest::Approx(1000.0 * mebibyte));
    CHECK(log->largest(logs::quantity::reserved)->value == doctest::Approx(2500.0 * mebibyte));
    CHECK(log->largest(logs::quantity::reserved)->rank == 0);
}

TEST_CASE("a pickle that imports, calls, ends early or holds something else is refused by its name") {
    CHECK(refusal_of(file("call")) == "a pickle with GLOBAL");
    CHECK(refusal_of(file("class")) == "a pickle with STACK_GLOBAL");
    CHECK(refusal_of(file("cut")) == "a pickle that is cut off");
    CHECK(refusal_of(file("other")) == "a pickle without segments");
    CHECK(refusal_of("\x80\x07.") == "a pickle of protocol 7");
    using namespace std::string_view_literals;
    CHECK(refusal_of("\x80\x04."sv) == "a pickle that takes what it does not have");
    CHECK(refusal_of("\x80\x04}u."sv) == "a pickle without a mark");
    CHECK(refusal_of("\x80\x04(u."sv) == "a pickle that takes what it does not have");
    CHECK(refusal_of("\x80\x04s."sv) == "a pickle that takes what it does not have");
    CHECK(refusal_of("\x80\x04h\x05."sv) == "a pickle that names what it does not have");
    CHECK(refusal_of("\x80\x04}r\xff\xff\xff\x7f."sv) == "a pickle that numbers its values in no order");
    CHECK(refusal_of("\x80\x04\xff."sv) == "a pickle with an unknown operation");
    CHECK(refusal_of("\x80\x04" + std::string(100000, '(')) == "a deep pickle");
    CHECK(refusal_of("\x80\x04\x8b\xff\xff\xff\xff."sv) == "a pickle that is cut off");
}

TEST_CASE("sizes that no memory has do not wrap around") {
    // {"segments": [{"total_size": 2^63-1, "device": 0}] twice over} with a history of as large entries.
    const std::string largest = std::string{"\x8a\x08"} + std::string(7, '\xff') + '\x7f';
    const auto text = [](std::string_view s) {
        return std::string{"\x8c"} + static_cast<char>(s.size()) + std::string{s};
    };
    const std::string segment = "}(" + text("total_size") + largest + text("allocated_size") + largest + "u";
    const std::string entry = "}(" + text("action") + text("alloc") + text("size") + largest + "u";
    std::string entries;
    for (int i = 0; i < 5000; ++i) entries += entry;
    const auto devices = read("\x80\x04}(" + text("segments") + "](" + segment + segment + "e" + text("device_traces") +
                                  "](](" + entries + "ee" + "u.",
                              4096);
    REQUIRE(devices);
    CHECK((*devices)[0].reserved > 0);
    CHECK((*devices)[0].most_allocated > 0);
}
