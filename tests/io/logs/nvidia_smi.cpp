// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/io/logs/reader.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace llmres;
using logs::quantity;

namespace {

constexpr double one_mib = 1048576.0;

}  // namespace

TEST_CASE("nvidia-smi's table gives what each GPU has lost and has") {
    const logs::engine_log log =
        logs::read_log(
            "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"
            "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |\n"
            "| N/A   35C    P0            120W /  700W |   73210MiB /  81559MiB |      0%      Default |\n"
            "| N/A   34C    P0             70W /  700W |       4MiB /  81559MiB |      0%      Default |\n"
            "| ERR!  ERR!  ERR!           N/A  /  N/A  |      ERRMiB / 81559MiB |      0%      Default |\n"
            "MiB / \n   5MiB / 6MiB\n"
            "|                 MiB / lost\n")
            .value();
    CHECK(log.engine == "nvidia-smi");
    CHECK(log.text_of(quantity::version) == "550.54.15");
    std::vector<std::int64_t> used;
    for (const logs::figure& f : log.figures) {
        if (f.what == quantity::device_total) CHECK(f.value == 81559 * one_mib);
        if (f.what != quantity::device_used) continue;
        used.push_back(static_cast<std::int64_t>(f.value / one_mib));
        CHECK(f.rank == static_cast<std::int64_t>(used.size()) - 1);
    }
    CHECK(used == std::vector<std::int64_t>{73210, 4});
}

TEST_CASE("nvidia-smi's CSV is read by its header, until a line has other columns") {
    const std::string header = "index, name, memory.used [MiB], memory.total [MiB], power.draw [W]\n";
    const logs::engine_log log = logs::read_log(header +
                                                "0, [N/A], [N/A], 81559 MiB, 70 W\n"
                                                "1, NVIDIA H100 80GB HBM3, 500 MiB, 81559 MiB, 70 W\n"
                                                "3, NVIDIA H200, 9000 MiB, [N/A], \n"
                                                "[N/A], x, 700 MiB, 81559 MiB, 70 W\n"
                                                "1, NVIDIA H100 80GB HBM3, 600 MiB, 81559 MiB, 70 W\n"
                                                "the end\n"
                                                "1, NVIDIA H100 80GB HBM3, 5 MiB, 6 MiB, 70 W\n")
                                     .value();
    CHECK(log.text_of(quantity::gpu) == "NVIDIA H100 80GB HBM3");
    std::map<std::pair<quantity, std::int64_t>, double> read;
    for (const logs::figure& f : log.figures) read[{f.what, f.rank}] = f.value / one_mib;
    CHECK(read == std::map<std::pair<quantity, std::int64_t>, double>{{{quantity::device_total, 0}, 81559},
                                                                      {{quantity::device_used, 1}, 600},
                                                                      {{quantity::device_total, 1}, 81559},
                                                                      {{quantity::device_used, 3}, 9000},
                                                                      {{quantity::device_used, 0}, 700}});
    // A line of more columns than nvidia-smi has ends it too.
    std::string wide = "1";
    for (int i = 0; i < 100; ++i) wide += ", 1";
    CHECK(logs::read_log(header + "1, H100, 500 MiB, 81559 MiB, 70 W\n" + wide + "\n1, H100, 9 MiB, 9 MiB, 70 W\n")
              .value()
              .largest(quantity::device_used)
              ->value == 500 * one_mib);
}

TEST_CASE("nvidia-smi's CSV is read as each of its options writes it") {
    const auto used = [](const std::string& text) {
        std::map<std::int64_t, std::int64_t> of_device;
        const logs::engine_log log = logs::read_log(text).value();
        for (const logs::figure& f : log.figures)
            if (f.what == quantity::device_used) of_device[f.rank] = static_cast<std::int64_t>(f.value / one_mib);
        return of_device;
    };
    using devices = std::map<std::int64_t, std::int64_t>;
    CHECK(used("memory.used [MiB], memory.total [MiB]\n500 MiB, 81559 MiB\n") == devices{{0, 500}});
    CHECK(used("memory.used [MiB]\n4\n") == devices{{0, 4}});  // nounits, of an idle GPU
    CHECK(used("memory.used [MiB]\n12\n") == devices{{0, 12}});
    CHECK(used("index, memory.used [MiB]\r\n0, 500 MiB\r\n1, 600 MiB\r\n") == devices{{0, 500}, {1, 600}});
    // As other programs write it anew: without blanks, and with an empty cell at the end.
    CHECK(used("index,memory.used [MiB],name\n0,500 MiB,\n1,600 MiB,H100\n") == devices{{0, 500}, {1, 600}});
    const logs::engine_log log = logs::read_log("\nmemory.used [MiB], name\n500 MiB, NVIDIA H100 80GB HBM3\n").value();
    CHECK(log.find(quantity::device_used)->line == 3);
    REQUIRE(log.names.size() == 1);
    CHECK(log.names.front().line == 3);
    CHECK(log.find(quantity::device_used)->printed_to == 0.5 * one_mib);
}

TEST_CASE("nvidia-smi's table has GPUs of six digits of MiB") {
    const logs::engine_log log =
        logs::read_log(
            "| NVIDIA-SMI 580.65.06              Driver Version: 580.65.06     |\n"
            "| N/A   34C    P0    200W / 1100W |  120034MiB / 275040MiB |      0%  Default |\n")
            .value();
    REQUIRE(log.find(quantity::device_used) != nullptr);
    REQUIRE(log.find(quantity::device_total) != nullptr);
    CHECK(log.find(quantity::device_used)->value == 120034 * one_mib);
    CHECK(log.find(quantity::device_total)->value == 275040 * one_mib);
}
