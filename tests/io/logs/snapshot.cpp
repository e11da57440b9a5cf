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
#include <vector>

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

/// A text as pickles of protocol 4 have it.
std::string word(std::string_view s) { return std::string{"\x8c"} + static_cast<char>(s.size()) + std::string{s}; }

/// A number of four bytes, which may be negative.
std::string number(std::int32_t n) {
    std::string bytes = "J";
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(static_cast<std::uint32_t>(n) >> shift);
    return bytes;
}

/// A dictionary of one segment: its device, and what it has.
std::string segment_of(const std::string& device, const std::string& total, const std::string& allocated) {
    return "}(" + word("device") + device + word("total_size") + total + word("allocated_size") + allocated + "u";
}

/// An entry of a history.
std::string entry_of(std::string_view action, const std::string& size) {
    return "}(" + word("action") + word(action) + word("size") + size + "u";
}

/// A snapshot with that list of segments and those histories, with more entries before its end.
std::string snapshot_of(const std::string& segments, const std::string& traces = "]", const std::string& more = "") {
    return "\x80\x04}(" + word("segments") + segments + word("device_traces") + traces + more + "u.";
}

/// The only device of a snapshot.
logs::snapshot_device device_of(const std::string& text) {
    for (const std::size_t piece : {std::size_t{1}, text.size()}) {
        const auto devices = read(text, piece);
        REQUIRE(devices);
        REQUIRE(devices->size() == 1);
        if (piece > 1) return devices->front();
    }
    return {};
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

TEST_CASE("each of Python's ways to write a value leaves a snapshot as it is") {
    using namespace std::string_view_literals;
    const std::string segment = segment_of(number(0), number(100), number(60));
    const auto same = [&](std::string_view value) {
        CAPTURE(value);
        const auto device = device_of(snapshot_of("](" + segment + "e", "]", word("other") + std::string{value}));
        CHECK(device.reserved == 100);
        CHECK(device.allocated == 60);
        // Before the segments, too: what stays of a value would be taken for a key.
        const std::string before = "\x80\x04}(" + word("other") + std::string{value} + word("segments") + "](" +
                                   segment + "e" + word("device_traces") + "]u.";
        CHECK(device_of(before).reserved == 100);
        CHECK(device_of(before).allocated == 60);
    };
    for (const std::string_view value : {"(NNt"sv,
                                         "N\x85"sv,
                                         "NN\x86"sv,
                                         "NNN\x87"sv,
                                         ")"sv,
                                         "\x88"sv,
                                         "\x89"sv,
                                         "N"sv,
                                         "NN0"sv,
                                         "N(NN1"sv,
                                         "N"sv,
                                         "N2\x86"sv,
                                         "G\0\0\0\0\0\0\0\0"sv,
                                         "K\x07"sv,
                                         "M\x07\x08"sv,
                                         "U\x03"
                                         "abc"sv,
                                         "C\x03"
                                         "abc"sv,
                                         "T\x03\0\0\0"
                                         "abc"sv,
                                         "B\x03\0\0\0"
                                         "abc"sv,
                                         "X\x03\0\0\0"
                                         "abc"sv,
                                         "\x8d\x03\0\0\0\0\0\0\0"
                                         "abc"sv,
                                         "\x8e\x03\0\0\0\0\0\0\0"
                                         "abc"sv,
                                         "\x8a\0"sv,
                                         "\x8a\x09"
                                         "123456789"sv,
                                         "\x8b\x01\0\0\0\x05"sv,
                                         "\x95\0\0\0\0\0\0\0\0N"sv,
                                         "Nq\0q\0"sv,
                                         "N\x94h\0\x86"sv,
                                         "Nr\0\0\0\0j\0\0\0\0\x86"sv,
                                         "}N(NNu0"sv,
                                         "}(Nu"sv,
                                         "X\x40\0\0\0"
                                         "a text of sixty-four characters, which no key of a snapshot has."sv,
                                         "N(Ne"sv,
                                         "](}e"sv,
                                         "}(N)u"sv})
        same(value);
    // What lies behind the end is not read.
    CHECK(device_of(snapshot_of("](" + segment + "e") + "cos\nsystem\n").reserved == 100);
}

TEST_CASE("a snapshot may stand behind values that were taken off, and name its keys by number") {
    using namespace std::string_view_literals;
    const std::string segment = segment_of(number(0), number(100), number(60));
    const std::string whole = snapshot_of("](" + segment + "e").substr(2);
    CHECK(device_of("\x80\x04" + std::string{"N0"} + whole).reserved == 100);
    CHECK(device_of("\x80\x04" + std::string{"(N1"} + whole).reserved == 100);
    // The first word that a snapshot numbers is most often "segments".
    const std::string named = "\x80\x04}(" + word("other") + word("segments") + "\x94" + std::string{"h\0"sv} + "](" +
                              segment + "e" + word("device_traces") + "]u.";
    CHECK(device_of(named).reserved == 100);
    // A history of a device is appended to the others without a mark.
    const std::string history = "](" + entry_of("alloc", number(4096)) + entry_of("free_requested", number(4096)) + "e";
    CHECK(device_of(snapshot_of("](" + segment + "e", "]" + history + "a")).most_allocated == 60 + 4096);
}

TEST_CASE("what a segment or an entry does not say is nothing") {
    using namespace std::string_view_literals;
    const std::string segment = segment_of(number(0), number(100), number(60));
    const auto bare = device_of(snapshot_of("]}(" + word("total_size") + number(100) + "ua"));
    CHECK(bare.reserved == 100);
    CHECK(bare.allocated == 0);
    // A dictionary without a size is no segment of a device of its own.
    const auto other = device_of(snapshot_of("](" + segment + "}(" + word("device") + number(3) + "ue"));
    CHECK(other.reserved == 100);
    // What was freed before an entry was there before it: of 2,048 bytes as many as the entry does not allocate again.
    const auto after = [&](const std::string& entry) {
        return device_of(
                   snapshot_of("](" + segment + "e", "](](" + entry_of("free_requested", number(2048)) + entry + "ee"))
            .most_allocated;
    };
    CHECK(after("}(" + word("action") + word("alloc") + "u") == 60 + 2048);
    CHECK(after(entry_of("alloc", std::string{"\x8a\0"sv})) == 60 + 2048);  // a number of no bytes is zero
    CHECK(after(entry_of("alloc", number(512))) == 60 + 2048 - 512);
    CHECK(after(entry_of("alloc", number(1))) == 60 + 2048 - 512);
    // 2^64 + 512 is no size that fits, and none of 512 bytes.
    CHECK(after(entry_of("alloc", std::string{"\x8a\x09\0\2\0\0\0\0\0\0\1"sv})) == 60 + 2048);
}

TEST_CASE("a list of one segment, and a dictionary of one entry, are written without a mark") {
    const std::string segment = segment_of(number(0), number(100), number(60));
    CHECK(device_of(snapshot_of("]" + segment + "a")).reserved == 100);
    const std::string only = "\x80\x04}" + word("segments") + "]" + segment + "as.";
    CHECK(device_of(only).allocated == 60);
    for (const char* cut : {"\x80\x04"
                            "a.",
                            "\x80\x04Na.", "\x80\x04N\x86.",
                            "\x80\x04"
                            "0.",
                            "\x80\x04}Ns."}) {
        const std::string refusal = refusal_of(cut);
        CHECK((refusal == "a pickle that takes what it does not have" || refusal == "a pickle without segments"));
    }
    CHECK(refusal_of("\x80\x04Na.") == "a pickle that takes what it does not have");
    CHECK(refusal_of("\x80\x04]Na.") == "a pickle without segments");
    CHECK(refusal_of("\x80\x04N\x87.") == "a pickle that takes what it does not have");
    using namespace std::string_view_literals;
    CHECK(refusal_of("\x80\x04"
                     "0."sv) == "a pickle that takes what it does not have");
    CHECK(refusal_of("\x80\x04q\0."sv) == "a pickle that numbers its values in no order");
    CHECK(refusal_of("\x80\x01}."sv) == "a pickle of protocol 1");
    CHECK(refusal_of("\x80\x04t."sv) == "a pickle without a mark");
    CHECK(refusal_of("\x80\x04N."sv) == "a pickle without segments");
    CHECK(refusal_of("\x80\x04]."sv) == "a pickle without segments");
}

TEST_CASE("texts of frames are passed over, however long they are and in whatever pieces they come") {
    const auto text_of = [](std::size_t length) {
        std::string text = "X";
        for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(length >> shift);
        return text + std::string(length, 'f');
    };
    for (const std::size_t length : {24u, 25u, 300u, 5000u}) {
        const std::string text = snapshot_of("](" + segment_of(number(0), number(100), number(60)) + "e", "]",
                                             word("frames") + text_of(length));
        for (const std::size_t piece : {1u, 7u, 100u, 1000u, 100000u}) {
            const auto devices = read(text, piece);
            REQUIRE(devices);
            REQUIRE(devices->size() == 1);
            CHECK(devices->front().reserved == 100);
        }
    }
}

TEST_CASE("expandable segments are mapped and unmapped") {
    const std::string history = "](](" + entry_of("segment_alloc", number(100)) + entry_of("segment_map", number(700)) +
                                entry_of("segment_unmap", number(500)) + entry_of("segment_map", number(50)) +
                                entry_of("segment_free", number(100)) + "ee";
    const auto device = device_of(snapshot_of("](" + segment_of(number(0), number(250), number(0)) + "e", history));
    CHECK(device.reserved == 250);
    CHECK(device.most_reserved == 800);  // 100 and 700, 250 at the end
}

TEST_CASE("what is no size, no device or no action counts nothing") {
    const std::string segment = segment_of(number(0), number(100), number(60));
    const auto of = [&](const std::string& other) { return device_of(snapshot_of("](" + segment + other + "e")); };
    CHECK(of(segment_of(word("cuda"), number(-5), word("size"))).reserved == 100);
    CHECK(of(segment_of(number(64), number(100), number(60))).reserved == 100);  // beyond any machine
    CHECK(of("N" + word("alloc") + "}").allocated == 60);
    const auto after = [&](const std::string& entries) {
        const std::string freed = entry_of("free_requested", number(8192));  // of which entries allocate some again
        return device_of(snapshot_of("](" + segment + "e", "](](" + freed + entries + "ee")).most_allocated;
    };
    CHECK(after(entry_of("alloc", number(4096))) == 60 + 4096);
    CHECK(after(entry_of("size", number(4096))) == 60 + 8192);
    CHECK(after(entry_of("alloc", number(-4096))) == 60 + 8192);
    CHECK(after(entry_of("alloc", word("alloc"))) == 60 + 8192);
    CHECK(after("}(" + word("action") + number(3) + word("size") + number(4096) + "u") == 60 + 8192);
    CHECK(after(entry_of("alloc", number(512)) + entry_of("free_requested", number(512))) == 60 + 8192);
    CHECK(refusal_of(snapshot_of(number(5))) == "a pickle without segments");
    // Histories of more devices than a machine has are not kept.
    std::string histories = "](";
    for (int i = 0; i < 70; ++i) histories += "]";
    CHECK(device_of(snapshot_of("](" + segment + "e", histories + "e")).most_reserved == 100);
}

TEST_CASE("what was freed without being allocated does not wrap around") {
    const std::string largest = std::string{"\x8a\x08"} + std::string(7, '\xff') + '\x7f';
    std::string entries;
    for (int i = 0; i < 2000; ++i) entries += entry_of("free_requested", largest);
    const auto device =
        device_of(snapshot_of("](" + segment_of(number(0), number(100), number(60)) + "e", "](](" + entries + "ee"));
    // 2^50 bytes each time, and never beyond 2^60.
    CHECK(device.most_allocated > std::int64_t{1000} << 50);
    CHECK(device.most_allocated <= std::int64_t{1} << 60);
    CHECK(device.most_reserved == 100);
}

TEST_CASE("a device without memory is none of a log's") {
    const auto log = logs::read_log(snapshot_of(
        "](" + segment_of(number(2), number(100), number(60)) + segment_of(number(1), number(0), number(0)) + "e",
        "](](" + entry_of("segment_alloc", number(70)) + entry_of("segment_free", number(70)) + "e" + "]" + "]" + "e"));
    REQUIRE(log);
    std::vector<std::int64_t> devices;
    for (const logs::figure& f : log->figures)
        if (f.what == logs::quantity::reserved) devices.push_back(f.rank);
    CHECK(devices == std::vector<std::int64_t>{0, 2});  // the first had memory, which was returned
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
