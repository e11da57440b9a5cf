// SPDX-License-Identifier: MIT
#include <llmres/jobs/runtime_checks.hpp>

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <llmres/jobs/knobs.hpp>
#include <llmres/runtimes/all.hpp>
#include <string>

using namespace llmres;

namespace {

runtime profile(const char* name) { return find_runtime(name).value(); }

}  // namespace

TEST_CASE(
    "a format that the runtime does not load is refused by its name, a fraction by the software's own name of it") {
    const status format = validate(profile("llama.cpp"), {}, stored_format{gptq(4, 128)});
    CHECK(format.error().field == "weights");
    CHECK(std::string{format.error().expected.view()}.find("llama.cpp") != std::string::npos);
    const status apple = validate(profile("mlx"), {}, stored_format{nf4});
    CHECK(apple.error().expected == "a format that mlx loads, such as bf16, mxfp4, mlx_int4_g64");
    CHECK(validate(profile("none"), {}, stored_format{mlx(4, 64)}));
    CHECK_FALSE(validate(profile("vllm"), {}, stored_format{mlx(4, 64)}));
    CHECK(validate(profile("vllm"), {}, stored_format{bf16}));
    CHECK(validate(profile("llama.cpp"), {}, stored_format::gguf_file()));
    CHECK(validate(profile("tensorrt-llm"), {}, stored_format::gguf_file()).error().value == "gguf");
    runtime r = profile("sglang");
    r.cache.fraction = 1.5;
    const status fraction = validate(r, {}, stored_format{bf16});
    CHECK(fraction.error().field == "runtime.mem_fraction_static");
    CHECK(fraction.error().value == "150 %");
    r.cache.fraction = 0.0;
    CHECK_FALSE(validate(r, {}, stored_format{bf16}));
}

TEST_CASE("a knob that is turned too far is refused by name, however far") {
    for (const double value : {1e5, 4294967301.0, 1e15, 1e300, -7.0}) {
        runtime r = profile("llama.cpp");
        serving_options asked;
        CHECK(set_knob(r, asked, "n_gpu_layers", value));
        CHECK(validate(r, asked, stored_format{bf16}).error().field == "runtime.gpu_layers");
        asked = {};
        CHECK(set_knob(r, asked, "n_cpu_moe", value));
        CHECK(validate(r, asked, stored_format{bf16}).error().field == "runtime.n_cpu_moe");
    }
    runtime r = profile("vllm");
    serving_options asked;
    CHECK(set_knob(r, asked, "max_num_batched_tokens", 1e13));
    CHECK(validate(r, asked, stored_format{bf16}).error().field == "runtime.max_batched_tokens");
}

TEST_CASE("what sizes a pool is refused by the software's own name where it is out of bounds") {
    runtime r = profile("sglang");
    serving_options asked;
    REQUIRE(set_knob(r, asked, "max_total_tokens", 1e13));
    const error many = validate(r, asked, stored_format{bf16}).error();
    CHECK(many.field == "runtime.max_total_tokens");
    CHECK(many.expected == "an integer from 0 to 1099511627776");
    asked = {};
    for (const double part : {1.5, 0.0, -0.1}) {
        REQUIRE(set_knob(r, asked, "swa_full_tokens_ratio", part));
        CHECK(validate(r, asked, stored_format{bf16}).error().field == "runtime.swa_full_tokens_ratio");
    }
    for (const double part : {0.01, 1.0}) {
        REQUIRE(set_knob(r, asked, "swa_full_tokens_ratio", part));
        CHECK(validate(r, asked, stored_format{bf16}));
    }
}

TEST_CASE("drafted tokens need the part of them that is accepted, and that part them") {
    const auto refusal = [](std::int64_t drafted, maybe<double> accepted) {
        serving_options asked;
        asked.draft_tokens = drafted;
        asked.acceptance = accepted;
        return validate(profile("vllm"), asked, stored_format{bf16});
    };
    CHECK(refusal(0, {}));
    for (const double part : {0.0, 0.6, 1.0}) CHECK(refusal(1024, part));
    CHECK(refusal(4, {}).error().code == error_code::missing);
    CHECK(refusal(4, {}).error().field == "runtime.acceptance");
    CHECK(refusal(0, 0.6).error().field == "runtime.draft_tokens");
    CHECK(refusal(1025, 0.6).error().field == "runtime.draft_tokens");
    CHECK(refusal(4, -0.1).error().value == "below 0");
    CHECK(refusal(4, 1.1).error().value == "above 1");
}
TEST_CASE("what is no number is neither below nor above its bounds") {
    const auto how = [](double number) {
        return detail::all_in_range(std::array{detail::bounded_real{"runtime.acceptance", number, 0, 1, "0 to 1"}});
    };
    CHECK(how(std::numeric_limits<double>::quiet_NaN()).error().value == "no number");
    CHECK(how(2.0).error().value == "above 1");
    CHECK(how(-2.0).error().value == "below 0");
    CHECK(how(0.0));
    CHECK(how(1.0));
}

TEST_CASE("a fraction of the device is from a thousandth to all of it, both included") {
    runtime r = profile("sglang");
    for (const double right : {0.001, 0.5, 1.0}) {
        r.cache.fraction = right;
        CHECK(validate(r, {}, stored_format{bf16}));
    }
    for (const double wrong : {0.0009, 1.0001, -0.5}) {
        r.cache.fraction = wrong;
        CHECK(validate(r, {}, stored_format{bf16}).error().field == "runtime.mem_fraction_static");
    }
}

TEST_CASE("one drafted token needs its acceptance as any number of them does") {
    serving_options asked;
    asked.draft_tokens = 1;
    CHECK(validate(profile("vllm"), asked, stored_format{bf16}).error().field == "runtime.acceptance");
}

TEST_CASE("a pool's size is at most what its field says, and never below zero") {
    const auto refusal = [](std::int64_t said) {
        serving_options asked;
        asked.cache_tokens = tokens(said);
        const status s = validate(profile("sglang"), asked, stored_format{bf16});
        return s ? std::string{} : std::string{s.error().value.view()};
    };
    constexpr std::int64_t most = std::int64_t{1} << 40;
    CHECK(refusal(most).empty());
    CHECK(refusal(0).empty());
    CHECK(refusal(most + 1) == "1099511627777");
    CHECK(refusal(-1) == "-1");
}
