// SPDX-License-Identifier: MIT
// Answers the lines of tests/recorded/plans.jsonl anew: `make recorded`.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "recorded/answers.hpp"

int main() {
    for (std::string line; std::getline(std::cin, line);)
        std::cout << recorded::answered(nlohmann::json::parse(line)) << '\n';
}
