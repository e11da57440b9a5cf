// SPDX-License-Identifier: MIT
// Numbers, units, names and ranks in the forms in which engines print them.
#include <llmres/io/logs/numbers.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace llmres::logs::detail;
using llmres::logs::unit;

namespace {

/// The number at the beginning of a text, and what stands behind it: "8192|, x"; "none" where there is none.
std::string read_as(std::string_view text) {
    const auto n = read_number(text);
    if (!n) return "none";
    std::string value = std::to_string(n->value);
    value.erase(value.find_last_not_of('0') + 1);
    if (value.back() == '.') value.pop_back();
    return value + "|" + std::string{n->rest};
}

std::string stripped(std::string line) {
    strip_colours(line);
    return line;
}

}  // namespace

TEST_CASE("a number stands behind blanks and marks, and ends where its digits do") {
    CHECK(read_as(" = ~'12 MiB") == "12| MiB");
    CHECK(read_as(": -0.5, x") == "-0.5|, x");
    CHECK(read_as("- 5") == "none");  // a dash before a blank is no sign
    CHECK(read_as("a5") == "none");
    CHECK(read_as("") == "none");
    CHECK(read_as("-") == "none");
    CHECK(read_as(" ....") == "none");
    CHECK(read_as("7.") == "7|.");
    CHECK(read_as("1.2.3") == "1.2|.3");                     // a version is read up to its second part
    CHECK(read_as(std::string(90, '.') + " 5") == "5|");     // Megatron's dots
    CHECK(read_as(std::string(100, '.') + " 5") == "none");  // no engine prints so many
    CHECK(read_as(std::string(97, '.') + "5") == "5|");
    CHECK(read_as(std::string(98, '.') + "5") == "none");
    CHECK(read_as("-5") == "-5|");
    // More digits than a size has are cut off.
    CHECK(read_as("1234567890123456789012345678").starts_with("123456789012345"));
    CHECK(read_as("1234567890123456789012345678").ends_with("|5678"));
}

TEST_CASE("commas part thousands, and else they end a number") {
    CHECK(read_as("1,234,567 tokens") == "1234567| tokens");  // vLLM: "GPU KV cache size: 1,234,567 tokens"
    CHECK(read_as("12,34") == "12|,34");
    CHECK(read_as("1,234") == "1234|");
    CHECK(read_as("12,3x5") == "12|,3x5");
    CHECK(read_as("12,34x") == "12|,34x");
    CHECK(read_as("1.5,250") == "1.5|,250");
    CHECK(read_as("12, 345") == "12|, 345");
}

TEST_CASE("a number is as exact as its last digit") {
    CHECK(read_number("14.9889")->printed_to == doctest::Approx(0.00005));
    CHECK(read_number("15.0")->printed_to == doctest::Approx(0.05));
    CHECK(read_number("15")->printed_to == 0);
}

TEST_CASE("a switch is printed in words") {
    CHECK(read_switch("  enabled")->value == 1);
    CHECK(read_switch(" enabled")->value == 1);
    CHECK(read_switch(" enabled, x")->rest == "enabled, x");
    CHECK(read_switch("enabled")->printed_to == 0);  // exact
    CHECK(read_switch("disabled, x")->value == 0);
    CHECK_FALSE(read_switch("auto"));
    CHECK_FALSE(read_switch("  "));
}

TEST_CASE("units are powers of 1024, whatever an engine calls them") {
    for (const auto* terabytes : {" TiB", "TB"}) CHECK(bytes_of_unit(terabytes) == 1099511627776.0);
    for (const auto* gigabytes : {" GiB", "GB"}) CHECK(bytes_of_unit(gigabytes) == 1073741824.0);
    for (const auto* megabytes : {" MiB", "MB"}) CHECK(bytes_of_unit(megabytes) == 1048576.0);
    for (const auto* kilobytes : {" KiB", "KB", "kB"}) CHECK(bytes_of_unit(kilobytes) == 1024.0);
    for (const auto* single : {" B", " bytes"}) CHECK(bytes_of_unit(single) == 1.0);
    for (const auto* none : {"", "  ", "tokens", "Ti"}) CHECK(bytes_of_unit(none) == 0.0);
    CHECK(worth(unit::gib, " MB") == 1073741824.0);  // the row says it
    CHECK(worth(unit::mib, "") == 1048576.0);
    CHECK(worth(unit::as_written, " KiB") == 1024.0);
    CHECK(worth(unit::as_written, " seconds") == 0.0);
    CHECK(worth(unit::ms, "") == 1e-3);
    for (const unit u : {unit::one, unit::byte, unit::second}) CHECK(worth(u, " GiB") == 1.0);
}

TEST_CASE("a name ends at its quote, or at a comma or a bracket") {
    CHECK(read_name("meta-llama/Llama-3.1-8B', x", '\'') == "meta-llama/Llama-3.1-8B");
    CHECK(read_name("= \"my model\" rest") == "my model");
    CHECK(read_name("'m'") == "m");
    CHECK(read_name("NVIDIA H100 80GB HBM3  ") == "NVIDIA H100 80GB HBM3");
    CHECK(read_name("H100 ") == "H100");
    CHECK(read_name("auto, x") == "auto");
    CHECK(read_name("0.9.2 (abc)", '\0', name_words::one) == "0.9.2");
    CHECK(read_name("H100 with 79.1GiB memory") == "H100");
}

TEST_CASE("what is no name is not kept") {
    CHECK(read_name("never closed", '\'').empty());
    CHECK(read_name("'never closed").empty());
    CHECK(read_name("''").empty());
    CHECK(read_name("").empty());
    CHECK(read_name("  ").empty());
    CHECK(read_name(std::string(161, 'a')).empty());
    CHECK(read_name(std::string(160, 'a')).size() == 160);
    CHECK(read_name("a; b").empty());
    CHECK(read_name("n/a").empty());
    CHECK(read_name("None").empty());
    CHECK(read_name(" with nothing before", '\'').empty());
}

TEST_CASE("ranks are named in each engine's way, and else processes") {
    CHECK(rank_of("[2025-01-01 TP1] Load weight end") == 1);
    CHECK(rank_of("[TP3] Load weight end") == 3);
    CHECK(rank_of("(Worker_TP2 pid=7) INFO") == 2);
    CHECK(rank_of("(VllmWorker rank=4 pid=7) INFO") == 4);
    CHECK(rank_of("[rank5]:[titan]") == 5);
    CHECK(rank_of("[Rank 6] memory") == 6);
    CHECK(rank_of("[1,7]<stdout>: x") == 7);
    CHECK(rank_of("detokenizer gpu_id=8") == 8);
    CHECK(rank_of("(EngineCore pid=4711) INFO") == 4711);
    CHECK(rank_of("INFO") == -1);
    CHECK(rank_of("(Worker_TPx pid=9) INFO") == 9);          // no number follows: the process it is
    CHECK(rank_of("rank=-1 x") == -1);                       // torch's number for none
    CHECK(rank_of(std::string(160, ' ') + "rank=1") == -1);  // not in a line's head
    CHECK(rank_of(std::string(155, ' ') + "rank=1") == -1);  // nor is its number
    CHECK(rank_of(std::string(154, ' ') + "rank=12") == 1);  // the head ends within it
}

TEST_CASE("a device of ggml is the word before") {
    const std::string_view line = "load_tensors:        CUDA0 model buffer size";
    CHECK(device_before(line, line.find(" model")) == "CUDA0");
    const std::string_view spaced = "CUDA0   x";
    CHECK(device_before(spaced, 8) == "CUDA0");
    CHECK(device_before("msg=\"kv cache\" device=CUDA1 size=", 28) == "CUDA1");
    CHECK(device_before("   x", 3).empty());
    CHECK(device_before(std::string(40, 'a') + " x", 40) == std::string(32, 'a'));
}

TEST_CASE("colours of terminals and control characters are taken out of a line") {
    CHECK(stripped("\x1b[1;32mINFO\x1b[0m 5\tGiB\x07") == "INFO 5 GiB");
    CHECK(stripped("a\x1b"
                   "b") == "ab");
    CHECK(stripped("a\x1b") == "a");
    CHECK(stripped("a\x1b[31") == "a");
    CHECK(stripped("a\x1b[") == "a");
    CHECK(stripped("\x1b[mX") == "X");
    CHECK(stripped("\x1b[3~x") == "x");  // a sequence ends in any character from @ to ~
    CHECK(stripped("\x1b[5@x") == "x");
    CHECK(stripped("\x1b[1\x7f"
                   "2m5") == "5");
    CHECK(stripped("gr\xc3\xbc\xc3\x9f") == "gr\xc3\xbc\xc3\x9f");  // letters beyond ASCII stay
}
