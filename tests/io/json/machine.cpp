// SPDX-License-Identifier: MIT
#include <llmres/io/json/cluster/machine.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <llmres/hardware/gpus/all.hpp>
#include <string>
#include <string_view>
#include <vector>

using namespace llmres;

namespace {

std::string printed(const std::string& name) {
    std::ifstream in{LLMRES_SOURCE_DIR "/tests/data/machines/" + name, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

struct listing {
    const char* file;
    const char* source;
    std::vector<std::pair<const char*, std::int64_t>> cards;
    byte_count in_use{};
    double watts_below_board = 0;  ///< 0: no limit is lowered
};

std::string refusal_of(std::string_view text) {
    const result<machine> m = read_machine(text);
    if (!m) return std::string{m.error().value.view()};
    const result<machine_cards> cards = cards_of(*m);
    return cards ? "" : std::string{cards.error().value.view()};
}

}  // namespace

TEST_CASE("what the tools of a machine print is its cards, what is in use of them, and lowered limits of power") {
    const listing listings[] = {
        {"nvidia_smi_3090.txt", "nvidia-smi", {{"rtx-3090", 2}}, mib(417), 280},
        {"nvidia_smi_a100.txt", "nvidia-smi", {{"a100-sxm4-40gb", 2}}, mib(3112)},
        {"nvidia_smi_laptop.txt", "nvidia-smi", {{"rtx-4090-laptop", 1}}, mib(1190), 80},
        {"nvidia_smi_4060_ti.xml", "nvidia-smi", {{"rtx-4060-ti-16gb", 1}}, mib(640)},
        {"nvidia_smi_list.txt", "nvidia-smi", {{"rtx-3060-12gb", 1}, {"gtx-1080-ti", 1}}},
        {"nvidia_smi_h200.csv", "nvidia-smi", {{"h200-sxm5-141gb", 2}}, mib(4), 650},
        {"rocm_smi.json", "rocm-smi", {{"mi300x-192gb", 1}}, bytes(297'795'584)},
        {"rocm_smi.csv", "rocm-smi", {{"mi100-32gb", 1}}, bytes(27'856'896)},
        {"system_profiler.txt", "system_profiler", {{"apple-m4-max-48gb", 1}}},
    };
    for (const listing& expected : listings) {
        CAPTURE(expected.file);
        const result<machine> m = read_machine(printed(expected.file));
        REQUIRE(m);
        CHECK(m->source == expected.source);
        const result<machine_cards> cards = cards_of(*m);
        REQUIRE(cards);
        REQUIRE(cards->kinds.size() == expected.cards.size());
        for (std::size_t i = 0; i < expected.cards.size(); ++i) {
            CHECK(cards->kinds[i].first.id.view() == expected.cards[i].first);
            CHECK(cards->kinds[i].second == expected.cards[i].second);
        }
        CHECK(cards->in_use == expected.in_use);
        CHECK((cards->power_limit ? cards->power_limit->in(watts) : 0) == expected.watts_below_board);
        CHECK(!cards->gpu_memory);
    }
}

TEST_CASE("each card of the tables is found again by the name and the memory that its driver lists") {
    int cards_of_tables = 0;
    for (const gpu* card : gpus::all) {
        if (card->vendor != gpu_vendor::nvidia || card->memory.fitted == byte_count{}) continue;
        CAPTURE(std::string{card->id.view()});
        const std::int64_t listed = card->memory.reported.value_or(card->memory.fitted).in(bytes) >> 20;
        const std::string text = "<nvidia_smi_log><gpu id=\"0\"><product_name>" + std::string{card->name.view()} +
                                 "</product_name><fb_memory_usage><total>" + std::to_string(listed) +
                                 " MiB</total></fb_memory_usage></gpu></nvidia_smi_log>";
        const result<machine> m = read_machine(text);
        REQUIRE(m);
        const result<machine_cards> cards = cards_of(*m);
        REQUIRE(cards);
        CHECK(cards->kinds[0].first.memory.fitted == card->memory.fitted);
        CHECK(cards->kinds[0].first.name == card->name);
        ++cards_of_tables;
    }
    CHECK(cards_of_tables > 100);
}

TEST_CASE("a card with more or less memory than the table's has that, less what its driver keeps") {
    const auto memory_of = [](const std::string& text) {
        return cards_of(read_machine(text).value()).value().gpu_memory;
    };
    const std::string head = "name, memory.total [MiB]\n";
    CHECK(memory_of(head + "NVIDIA GeForce RTX 3090, 49140 MiB\n") == mib(49140 - 500));
    CHECK(!memory_of(head + "NVIDIA GeForce RTX 4090, 49140 MiB\n"));  // a card that is sold so, with a row
    CHECK(memory_of(head + "NVIDIA GeForce RTX 3090, 24576 MiB\nNVIDIA GeForce RTX 3090, 12288 MiB\n") ==
          mib(12288 - 500));
    CHECK(!memory_of(head + "NVIDIA L4, 23034 MiB\n"));
    // Apple's GPU shares all of it; a size that is sold is a row of its own.
    CHECK(memory_of("Chip: Apple M2 Max\nMemory: 56 GB\n") == gib(56));
}

TEST_CASE("integrated graphics beside a card are left out, and are a GPU where nothing else is") {
    const std::string integrated = R"~({"Card Series": "Raphael", "VRAM Total Memory (B)": "67108864"})~";
    const std::string card = R"~({"Card Series": "Radeon RX 7900 XTX", "VRAM Total Memory (B)": "25753026560"})~";
    CHECK(read_machine("{\"card0\": " + card + ", \"card1\": " + integrated + "}")->gpus.size() == 1);
    CHECK(read_machine("{\"card0\": " + integrated + "}")->gpus.size() == 1);
}

TEST_CASE("a text without a GPU, a name that is cut, an unknown card and a card in slices are refused by name") {
    CHECK(refusal_of("") == "a text without a GPU");
    CHECK(refusal_of("no devices were found\n") == "a text without a GPU");
    CHECK(refusal_of(std::string((std::size_t{1} << 20) + 1, '|')) == "1048577 bytes");
    CHECK(refusal_of("{\"card0\"") == "a text without a GPU");
    CHECK(refusal_of("<nvidia_smi_log><gpu id=\"0\">") == "without a name");
    CHECK(refusal_of(printed("nvidia_smi_mig.txt")) == "NVIDIA A100-SXM4-80GB");
    CHECK(refusal_of("GPU 0: NVIDIA A30 (UUID: GPU-1)\n  MIG 1g.6gb Device 0: (UUID: MIG-1)\n") == "NVIDIA A30");
    CHECK(refusal_of("GPU 0: Voodoo 5 6000 (UUID: GPU-1)\n") == "Voodoo 5 6000");
    CHECK(refusal_of("name, memory.total [MiB]\nNVIDIA GeForce RTX 309..., 24576 MiB\n") ==
          "NVIDIA GeForce RTX 309...");
    const result<machine_cards> none = cards_of(machine{});
    REQUIRE(!none);
    CHECK(none.error().code == error_code::missing);
}

TEST_CASE("a GPU that is listed again and again is one") {
    const std::string row = "NVIDIA GeForce RTX 3090, GPU-1, 24576 MiB\n";
    CHECK(read_machine("name, uuid, memory.total [MiB]\n" + row + row + row)->gpus.size() == 1);
    const std::string table = printed("nvidia_smi_3090.txt");
    CHECK(read_machine(table + table)->gpus.size() == 2);
    CHECK(read_machine(printed("nvidia_smi_list.txt") + printed("nvidia_smi_list.txt"))->gpus.size() == 2);
}

TEST_CASE("what is not free is in use, where a tool lists no more") {
    const machine m =
        read_machine("name, memory.total [MiB], memory.free [MiB]\nNVIDIA GeForce RTX 3090, 24576 MiB, 4576 MiB\n")
            .value();
    CHECK(m.gpus[0].in_use == mib(20'000));
}

TEST_CASE("a name that nvidia-smi cuts is that of the only card with such a beginning and memory") {
    const auto card = [](const std::string& name, int memory) {
        const result<machine> m =
            read_machine("name, memory.total [MiB]\n" + name + ", " + std::to_string(memory) + " MiB\n");
        const result<machine_cards> cards = cards_of(*m);
        return cards ? std::string{cards->kinds[0].first.id.view()} : "";
    };
    CHECK(card("NVIDIA GeForce RTX 4090 ...", 16376) == "rtx-4090-laptop");
    CHECK(card("NVIDIA A100-SXM...", 40960) == "a100-sxm4-40gb");
    CHECK(card("Tesla V100-SXM2...", 32768) == "v100-sxm2-32gb");
    CHECK(card("NVIDIA GeForce ...", 24576).empty());
    CHECK(card("AMD Instinct MI300X OAM", 196288) == "mi300x-192gb");
}

TEST_CASE("a text of PowerShell, or with a byte order mark, is read as any other") {
    const std::string list = printed("nvidia_smi_list.txt");
    CHECK(read_machine("\xef\xbb\xbf" + list)->gpus.size() == 2);
    std::string wide = "\xff\xfe";
    for (const char c : list) wide += {c, '\0'};
    CHECK(read_machine(wide)->gpus.size() == 2);
    CHECK(refusal_of("\xff\xfe") == "a text without a GPU");
}

TEST_CASE("long listings are read in time that grows with their length alone") {
    std::string open = "<nvidia_smi_log>", rows = "name, memory.total [MiB]\n";
    for (int i = 0; i < 50'000; ++i) open += "<gpu id=";
    for (int i = 0; i < 1'500; ++i) rows += "NVIDIA L4, " + std::to_string(10'000 + i) + " MiB\n";
    CHECK(refusal_of(open) == "without a name");
    CHECK(refusal_of(rows) == "1500 GPUs");
}

TEST_CASE("numbers that are none leave a size unknown") {
    for (const char* size : {"N/A", "[Not Supported]", "-5 MiB", "nan", "1e300 MiB", ""}) {
        CAPTURE(size);
        const result<machine> m =
            read_machine("name, memory.total [MiB], power.limit [W]\nNVIDIA L4, " + std::string{size} + ", N/A\n");
        REQUIRE(m);
        CHECK(!m->gpus[0].memory);
        CHECK(!m->gpus[0].power_limit);
    }
}

TEST_CASE("parts, numbers and sizes of a listing") {
    using parts = std::vector<std::string_view>;
    CHECK(detail::parts_of("", ',') == parts{""});
    CHECK(detail::parts_of(" a ,\tb\r", ',') == parts{"a", "b"});
    CHECK(detail::parts_of(",a,", ',') == parts{"", "a", ""});
    CHECK(detail::leading_number("0 MiB") == 0.0);
    CHECK(detail::leading_number("0.5W") == 0.5);
    CHECK(detail::leading_number("999999999999999") == 999999999999999.0);
    for (const char* none : {"", "x", "-1", "1000000000000000", "inf"}) CHECK_FALSE(detail::leading_number(none));
    CHECK(detail::mib_of("3 MiB") == mib(3));
    CHECK_FALSE(detail::size_in("1024", tib(1)));
    CHECK(detail::watts_in("0.5")->in(watts) == 0.5);
    CHECK_FALSE(detail::watts_in("0"));
    CHECK(detail::between("a<b> c </b>", "<b>", "</b>") == "c");
    CHECK(detail::between("a<b> c", "<b>", "</b>") == "c");
    CHECK(detail::between("a", "<b>", "</b>").empty());
    CHECK(detail::plain_bytes(std::string_view{"\xff\xfe"
                                               "a\0\1\1b",
                                               7}) == "a?");
    CHECK(detail::plain_bytes("ab") == "ab");
}

TEST_CASE("each field of a GPU, as each tool lists it, and none of its neighbour") {
    const auto two = [](std::string_view text) {
        const result<machine> m = read_machine(text);
        REQUIRE(m);
        REQUIRE(m->gpus.size() == 2);
        return m->gpus;
    };
    const auto xml = two(
        "<nvidia_smi_log>"
        "<gpu id=\"0:1\"><product_name>A</product_name><fb_memory_usage><total>9000 MiB</total></fb_memory_usage></gpu>"
        "<gpu id=\"0:2\"><product_name>B</product_name><fb_memory_usage><total>8000 MiB</total><used>7 MiB</used>"
        "</fb_memory_usage><enforced_power_limit>200.00 W</enforced_power_limit><current_mig>Enabled</current_mig>"
        "</gpu></nvidia_smi_log>");
    CHECK(xml[0].name == "A");
    CHECK(xml[0].memory == mib(9000));
    CHECK_FALSE(xml[0].in_use);
    CHECK_FALSE(xml[0].power_limit);
    CHECK_FALSE(xml[0].is_split_by_mig);
    CHECK(xml[1].address == "0:2");
    CHECK(xml[1].in_use == mib(7));
    CHECK(xml[1].power_limit->in(watts) == 200);
    CHECK(xml[1].is_split_by_mig);
    // A table whose first GPU has a row alone; the index of the second has two digits, and its rows are cut.
    const auto table =
        two("| GPU  Name        | Bus-Id          Disp.A | ECC |\n"
            "|                  | 00:01                  | x   |\n"
            "|   9  A        On | 00000000:4F:00.0 Off   | N/A |\n"
            "|  10  B        On | 00000000:52:00.0 Off   | N/A \n"
            "| 30C  N/A /  N/A  |    5MiB /  24576MiB    | 0% \n"
            "|                  |                        | N/A \n"
            "| 0 N/A 1234 C python 100MiB |\n");
    CHECK(table[0].name == "A");
    CHECK(table[0].address == "00000000:4F:00.0");
    CHECK_FALSE(table[0].memory);
    CHECK_FALSE(table[0].in_use);
    CHECK(table[1].name == "B");
    CHECK(table[1].address == "00000000:52:00.0");
    CHECK(table[1].in_use == mib(5));
    CHECK(table[1].memory == mib(24576));
    CHECK_FALSE(table[1].power_limit);
    CHECK_FALSE(table[1].is_split_by_mig);
    const auto limited =
        two("|   0  A        On | 00:01 Off | N/A |\n| 30C  23W / 280W | 5MiB / 100MiB | 0% |\n"
            "|   1  B        On | 00:02 Off | N/A |\n| 30C  23W / 9W | 5MiB / 100MiB | Enabled |\n");
    CHECK(limited[0].power_limit->in(watts) == 280);
    CHECK(limited[1].power_limit->in(watts) == 9);
    CHECK(limited[1].is_split_by_mig);
    // Rows of another length, without a name, and behind an empty line.
    const auto csv =
        two("\nname, memory.total [MiB], memory.used [MiB], memory.free [MiB]\nA, 9000 MiB, 10 MiB, 1 MiB\nA, 5 MiB\n"
            ", 9000 MiB, 10 MiB, 1 MiB\nB, N/A, N/A, 5 MiB\n");
    CHECK(csv[0].memory == mib(9000));
    CHECK(csv[0].in_use == mib(10));
    CHECK_FALSE(csv[1].memory);
    CHECK_FALSE(csv[1].in_use);
    const auto json = two(
        R"~({"card0": {"Card Series": "A", "VRAM Total Memory (B)": 5, "index": [], "VRAM Total Used Memory (B)": "7"},
            "card1": {"VRAM Total Memory (B)": "9"}, "card2": {"Card series": "x [B]"}, "card3": 3, "system": {}})~");
    CHECK(json[0].name == "A");
    CHECK_FALSE(json[0].memory);
    CHECK(json[0].in_use == bytes(7));
    CHECK(json[1].name == "B");
}

TEST_CASE("bounds: a text of 1 MiB, 1,024 GPUs, and integrated graphics below 1 GiB") {
    CHECK(refusal_of(std::string(std::size_t{1} << 20, '|')) == "a text without a GPU");
    CHECK(refusal_of("Chip: \nMemory: 8 GB\n") == "a text without a GPU");
    std::string rows = "name\n";
    for (int i = 0; i < 1024; ++i) rows += "NVIDIA L4\n";
    CHECK(read_machine(rows)->gpus.size() == 1024);
    CHECK(refusal_of(rows + "NVIDIA L4\n") == "1025 GPUs");
    for (const int size : {1023, 1024, 1500})
        CHECK(read_machine("name, memory.total [MiB]\nNVIDIA L4, 23034 MiB\nX, " + std::to_string(size) + " MiB\n")
                  ->gpus.size() == (size < 1024 ? 1U : 2U));
}

TEST_CASE("of equal cards the lowest limit and the smallest memory count, in any order; of several kinds no limit") {
    const std::string head = "name, memory.total [MiB], memory.used [MiB], power.limit [W]\n";
    const auto cards = [&](const std::string& rows) {
        const auto found = cards_of(read_machine(head + rows).value());
        REQUIRE(found);
        return *found;
    };
    const std::string low = "NVIDIA GeForce RTX 3090, 12288 MiB, 5 MiB, 200 W\n";
    const std::string high = "NVIDIA GeForce RTX 3090, 49140 MiB, 7 MiB, 300 W\n";
    const std::string usual = "NVIDIA GeForce RTX 3090, 24576 MiB, 6 MiB, 350 W\n";
    for (const std::string& rows : {low + high, high + low, low + usual + high, usual + low}) {
        const machine_cards all = cards(rows);
        CHECK(all.power_limit->in(watts) == 200);
        CHECK(all.gpu_memory == mib(12288 - 500));
        CHECK(all.kinds.size() == 1);
        CHECK(all.in_use == (rows.find(high) != std::string::npos ? mib(7) : mib(6)));
    }
    CHECK(cards(high).power_limit->in(watts) == 300);
    CHECK_FALSE(cards(usual).power_limit);
    CHECK_FALSE(cards(usual).gpu_memory);
    const machine_cards mixed = cards(low + "NVIDIA L4, 23034 MiB, 1 MiB, 50 W\n" + high);
    CHECK_FALSE(mixed.power_limit);
    REQUIRE(mixed.kinds.size() == 2);
    CHECK(mixed.kinds[0].second == 2);
    CHECK(mixed.kinds[1].second == 1);
    CHECK(cards_of(read_machine("name, memory.total [MiB]\nNVIDIA GeForce RTX 3090 T..., 24576 MiB\n").value())
              ->kinds[0]
              .first.name == "GeForce RTX 3090 Ti");
}

TEST_CASE("a number of a listing ends where its text does, and a field of a GPU where the GPU does") {
    CHECK(detail::leading_number(std::string_view{"24576"}.substr(0, 3)) == maybe<double>{245.0});
    // The first of two GPUs says nothing of MIG, nor of its limit.
    const std::string two = R"(<?xml version="1.0"?><nvidia_smi_log>
        <gpu id="00000000:01:00.0"><product_name>NVIDIA A100-SXM4-40GB</product_name>
            <fb_memory_usage><total>40960 MiB</total><used>0 MiB</used></fb_memory_usage></gpu>
        <gpu id="00000000:02:00.0"><product_name>NVIDIA A100-SXM4-40GB</product_name>
            <fb_memory_usage><total>40960 MiB</total><used>0 MiB</used></fb_memory_usage>
            <mig_mode><current_mig>Enabled</current_mig></mig_mode>
            <current_power_limit>400.00 W</current_power_limit></gpu></nvidia_smi_log>)";
    machine m;
    detail::read_nvidia_xml(two, m);
    REQUIRE(m.gpus.size() == 2);
    CHECK_FALSE(m.gpus[0].is_split_by_mig);
    CHECK_FALSE(m.gpus[0].power_limit);
    CHECK(m.gpus[1].is_split_by_mig);
    CHECK(m.gpus[1].power_limit);
}

TEST_CASE("a row of nvidia-smi's table is a GPU where it begins with an index, and has a limit where it says one") {
    machine m;
    detail::read_nvidia_table(
        {"|   0  NVIDIA L4                      Off |   00000000:01:00.0 Off |                    0 |",
         "| 0%   45C    P8             N/A /  N/A  |       1MiB /  23034MiB |      0%      Default |",
         "| (none)                                 |   00000000:02:00.0 Off |                  N/A |",
         "| None                                   |   00000000:03:00.0 Off |                  N/A |"},
        m);
    REQUIRE(m.gpus.size() == 1);
    CHECK(m.gpus[0].name == "NVIDIA L4");
    CHECK(m.gpus[0].memory == maybe<byte_count>{mib(23034)});
    CHECK_FALSE(m.gpus[0].power_limit);
    // A card of rocm-smi without a name is none.
    machine cards;
    detail::read_rocm_json(R"x({"card0": {"VRAM Total Memory (B)": "68702699520"},
                                "card1": {"Card Series": "AMD Instinct MI210"}, "system": {"Card Series": "none"}})x",
                           cards);
    REQUIRE(cards.gpus.size() == 1);
    CHECK(cards.gpus[0].name == "AMD Instinct MI210");
}

TEST_CASE("the last letter of a text of PowerShell is read, and what its letters are not is a question mark") {
    const auto of_two_bytes = [](std::string_view text) {
        std::string wide{"\xff\xfe"};
        for (const char c : text) wide += c, wide += '\0';
        return wide;
    };
    CHECK(detail::plain_bytes(of_two_bytes("NVIDIA L4")) == "NVIDIA L4");
    CHECK(detail::plain_bytes(std::string{"\xff\xfe"} + "\x2c\x21") == "?");
}

TEST_CASE("a card is found whose driver keeps nearly a twelfth of its memory") {
    const auto found = [](const char* name, std::int64_t listed) {
        const result<gpu> card = detail::card_of({.name = name, .memory = mib(listed)});
        return card ? std::string{card->id.view()} : std::string{};
    };
    // 40 and 80 GiB, of which the name says nothing: from 11 of 12 parts on.
    CHECK(found("NVIDIA A100-SXM4", 80 * 1024) == "a100-sxm4-80gb");
    CHECK(found("NVIDIA A100-SXM4", 77 * 1024) == "a100-sxm4-80gb");
    CHECK(found("NVIDIA A100-SXM4", 75 * 1024 + 600) == "a100-sxm4-80gb");  // which is nearest to 76
    CHECK(found("NVIDIA A100-SXM4", 37 * 1024) == "a100-sxm4-40gb");
}
