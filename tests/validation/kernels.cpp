// SPDX-License-Identifier: MIT
#include "kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "../run_program.hpp"

// 105 published measurements of losses, norms and gated MLPs, each alone: the entries that a training step's memory is
// a sum of.

TEST_CASE("losses, norms and gated MLPs alone take what the inventory says, within 2 %") {
    const auto runs = kernels::all();
    REQUIRE(runs.size() == 105);
    double sum = 0;
    for (const kernels::run& r : runs) {
        INFO(r.id << ": " << r.kernel << " of " << r.of);
        const double error =
            std::fabs(static_cast<double>(kernels::predicted(r)) / static_cast<double>(r.measured) - 1);
        CHECK(error <= 0.02);
        sum += error;
    }
    CHECK(sum / static_cast<double>(runs.size()) <= 0.003);
}

TEST_CASE("a moment is the sum of its parts, and the largest moment counts") {
    const nlohmann::json document = kernels::all().front().document;
    const kernels::answers answers{document};
    const auto moments = [](const char* text) { return nlohmann::json::parse(text); };
    CHECK(answers.largest(moments(R"([[{"cublas": 5}], [{"cublas": 3}, {"cublas": 4}]])")) == 7);
    CHECK(answers.largest(moments(R"([[{"beside": "two", "copies": 2, "format": "bf16", "shape": [3, 5]}]])")) == 60);
    CHECK(answers.largest(moments(R"([[{"saved": "all"}]])")) > answers.largest(moments(R"([[{"saved": ["gate"]}]])")));
    CHECK_THROWS(answers.largest(moments(R"([[{"term": "no term"}]])")));
}

TEST_CASE("nothing but the documents says what a kernel is: no C++ sets a field of a job or a runtime, or names one") {
    const std::string code = run_program::content_of(LLMRES_SOURCE_DIR "/tests/validation/kernels.hpp");
    for (const char* setting : {"runtimes::", "_code::", ".kernels", ".runtime", "liger", "megatron", "huggingface"})
        CHECK(code.find(setting) == std::string::npos);
}
