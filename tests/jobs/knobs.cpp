// SPDX-License-Identifier: MIT
#include <llmres/jobs/knobs.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/all.hpp>
#include <string>
#include <utility>

using namespace llmres;

namespace {

runtime profile(const char* name) { return find_runtime(name).value(); }

}  // namespace

TEST_CASE(
    "a format that the runtime does not load is refused by its name, a fraction by the software's own name of it") {
    const status format = validate(profile("llama.cpp"), {}, gptq(4, 128), false);
    CHECK(format.error().field == "weights");
    CHECK(std::string{format.error().expected.view()}.find("llama.cpp") != std::string::npos);
    CHECK(validate(profile("vllm"), {}, bf16, false));
    runtime r = profile("sglang");
    r.cache.fraction = 1.5;
    const status fraction = validate(r, {}, bf16, false);
    CHECK(fraction.error().field == "runtime.mem_fraction_static");
    CHECK(fraction.error().value == "150 %");
    r.cache.fraction = 0.0;
    CHECK_FALSE(validate(r, {}, bf16, false));
}

TEST_CASE("a knob that is turned too far is refused by name, however far") {
    for (const double value : {1e5, 4294967301.0, 1e15, 1e300, -7.0}) {
        runtime r = profile("llama.cpp");
        serving_options asked;
        CHECK(set_knob(r, asked, "n_gpu_layers", value));
        CHECK(validate(r, asked, bf16, false).error().field == "runtime.gpu_layers");
        asked = {};
        CHECK(set_knob(r, asked, "n_cpu_moe", value));
        CHECK(validate(r, asked, bf16, false).error().field == "runtime.n_cpu_moe");
    }
    runtime r = profile("vllm");
    serving_options asked;
    CHECK(set_knob(r, asked, "max_num_batched_tokens", 1e13));
    CHECK(validate(r, asked, bf16, false).error().field == "runtime.max_batched_tokens");
}

TEST_CASE("knobs go by the software's own names, and those of other software are refused") {
    for (const auto& [name, knob] : {std::pair{"vllm", "max_num_batched_tokens"},
                                     {"sglang", "chunked_prefill_size"},
                                     {"tensorrt-llm", "max_num_tokens"},
                                     {"llama.cpp", "ubatch_size"},
                                     {"lmdeploy", "max_prefill_token_num"}}) {
        runtime r = profile(name);
        serving_options asked;
        CHECK_MESSAGE(set_knob(r, asked, knob, 640), name);
        CHECK_MESSAGE(r.step.max_batched_tokens == tokens(640), name);
    }
    runtime r = profile("vllm");
    serving_options asked;
    CHECK(set_knob(r, asked, "enforce_eager", 1));
    CHECK(r.process.cuda_graphs == interval<byte_count>{});
    const error wrong = set_knob(r, asked, "mem_fraction_static", 0.5).error();
    CHECK(wrong.field == "runtime.mem_fraction_static");
    CHECK(std::string{wrong.expected.view()}.find("gpu_memory_utilization") != std::string::npos);
    runtime cpp = profile("llama.cpp");
    CHECK(set_knob(cpp, asked, "n_gpu_layers", 12));
    CHECK(asked.gpu_layers == maybe<std::int32_t>{12});
    CHECK(set_knob(cpp, asked, "cpu_moe", 1));
    CHECK(asked.experts_on_host);
}
