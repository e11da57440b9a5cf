// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <llmres/models/all.hpp>
#include <llmres/models/parameters.hpp>
#include <string_view>

using namespace llmres;

namespace {

struct known {
    std::string_view id;
    std::int64_t parameters;
};

/// Case C1. Totals without a published integer are our count of the published shape.
constexpr std::array c1{
    known{"llama-3.3-70b", 70'553'706'496},
    known{"llama-3.2-1b", 1'235'814'400},
    known{"llama-3.2-3b", 3'212'749'824},
    known{"llama-3.2-11b-vision", 10'670'220'835},
    known{"llama-3.2-90b-vision", 88'593'355'323},
    known{"llama-3.1-8b", 8'030'261'248},
    known{"llama-3.1-70b", 70'553'706'496},
    known{"llama-3.1-405b", 405'853'388'800},
    known{"llama-3-8b", 8'030'261'248},
    known{"llama-3-70b", 70'553'706'496},
    known{"qwen2.5-0.5b", 494'032'768},
    known{"qwen2.5-1.5b", 1'543'714'304},
    known{"qwen2.5-3b", 3'085'938'688},
    known{"qwen2.5-7b", 7'615'616'512},
    known{"qwen2.5-14b", 14'770'033'664},
    known{"qwen2.5-32b", 32'763'876'352},
    known{"qwen2.5-72b", 72'706'203'648},
    known{"qwq-32b", 32'763'876'352},
    known{"deepseek-llm-7b", 6'910'365'696},
    known{"deepseek-llm-67b", 67'425'001'472},
    known{"deepseek-v3", 671'026'419'200},
    known{"deepseek-r1", 671'026'419'200},
    known{"deepseek-r1-distill-qwen-1.5b", 1'777'088'000},
    known{"deepseek-r1-distill-qwen-7b", 7'615'616'512},
    known{"deepseek-r1-distill-llama-8b", 8'030'261'248},
    known{"deepseek-r1-distill-qwen-14b", 14'770'033'664},
    known{"deepseek-r1-distill-qwen-32b", 32'763'876'352},
    known{"deepseek-r1-distill-llama-70b", 70'553'706'496},
    known{"gemma-3-1b", 999'885'952},
    known{"gemma-3-4b", 4'300'079'472},
    known{"gemma-3-12b", 12'187'325'040},
    known{"gemma-3-27b", 27'432'406'640},
};

}  // namespace

TEST_CASE("C1: every model of the note is a preset with its exact count") {
    for (const known& k : c1) {
        const auto found = find_model(k.id);
        REQUIRE_MESSAGE(found, k.id);
        CHECK_MESSAGE(count_parameters(*found) == parameters(k.parameters), k.id);
    }
}
