// SPDX-License-Identifier: MIT
// Answers the lines of tests/recorded/readings.jsonl anew: `make recorded`.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "recorded/readings.hpp"

int main() {
    for (std::string line; std::getline(std::cin, line);)
        std::cout << recorded::answered_reading(nlohmann::json::parse(line)) << '\n';
}
