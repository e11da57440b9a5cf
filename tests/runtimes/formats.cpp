// SPDX-License-Identifier: MIT
#include <llmres/jobs/checks.hpp>
#include <llmres/runtimes/formats.hpp>
#include <llmres/runtimes/knobs.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/all.hpp>
#include <string>
#include <utility>

using namespace llmres;

namespace {

runtime engine(const char* name) { return find_runtime(name).value(); }

}  // namespace

TEST_CASE("formats belong to families by their names") {
    using f = format_family;
    for (const auto& [name, family] : {std::pair{"bf16", f::plain},
                                       {"fp8_e4m3", f::eight_bit_float},
                                       {"int8", f::eight_bit},
                                       {"mxfp4", f::microscaling},
                                       {"nvfp4", f::microscaling},
                                       {"nf4", f::bitsandbytes},
                                       {"q4_k", f::gguf},
                                       {"iq3_xxs", f::gguf},
                                       {"tq1_0", f::gguf},
                                       {"mxfp4_gguf", f::gguf}})
        CHECK_MESSAGE(family_of(find_precision("weights", name).value()) == family, name);
    CHECK(family_of(gptq(4, 128)) == f::gptq_words);
}

TEST_CASE("an engine loads what it has kernels for") {
    using f = format_family;
    CHECK(loads(engine("llama.cpp"), f::gguf));
    CHECK_FALSE(loads(engine("llama.cpp"), f::awq_words));
    CHECK_FALSE(loads(engine("llama.cpp"), f::gguf_ik));
    CHECK(loads(engine("ik_llama.cpp"), f::gguf_ik));
    CHECK_FALSE(loads(engine("transformers"), f::gguf));  // unpacked to 32 bits first
    CHECK_FALSE(loads(engine("autoawq"), f::gptq_words));
    CHECK_FALSE(loads(engine("vllm"), f::exllama2));
    for (const runtime* r : runtimes::all) CHECK(loads(*r, f::plain));
    for (const f family : {f::gguf, f::exllama3, f::awq_words}) CHECK(loads(no_runtime, family));
}

TEST_CASE("a format that the engine does not load is refused by the engine's name, a fraction by the engine's own") {
    const status format = validate(engine("llama.cpp"), gptq(4, 128), false);
    CHECK(format.error().field == "weights");
    CHECK(std::string{format.error().expected.view()}.find("llama.cpp") != std::string::npos);
    CHECK(validate(engine("vllm"), bf16, false));
    runtime r = engine("sglang");
    r.cache.fraction = 1.5;
    const status fraction = validate(r, bf16, false);
    CHECK(fraction.error().field == "runtime.mem_fraction_static");
    CHECK(fraction.error().value == "150 %");
    r.cache.fraction = 0.0;
    CHECK_FALSE(validate(r, bf16, false));
}

TEST_CASE("a knob that is turned too far is refused by name, however far") {
    for (const double value : {1e5, 4294967301.0, 1e15, 1e300, -7.0}) {
        runtime r = engine("llama.cpp");
        CHECK(set_knob(r, "n_gpu_layers", value));
        CHECK(validate(r, bf16, false).error().field == "runtime.gpu_layers");
        r = engine("llama.cpp");
        CHECK(set_knob(r, "n_cpu_moe", value));
        CHECK(validate(r, bf16, false).error().field == "runtime.n_cpu_moe");
    }
    runtime r = engine("vllm");
    CHECK(set_knob(r, "max_num_batched_tokens", 1e13));
    CHECK(validate(r, bf16, false).error().field == "runtime.max_batched_tokens");
}

TEST_CASE("knobs go by the engine's own names, and another engine's are refused") {
    for (const auto& [name, knob] : {std::pair{"vllm", "max_num_batched_tokens"},
                                     {"sglang", "chunked_prefill_size"},
                                     {"tensorrt-llm", "max_num_tokens"},
                                     {"llama.cpp", "ubatch_size"},
                                     {"lmdeploy", "max_prefill_token_num"}}) {
        runtime r = engine(name);
        CHECK_MESSAGE(set_knob(r, knob, 640), name);
        CHECK_MESSAGE(r.step.max_batched_tokens == tokens(640), name);
    }
    runtime r = engine("vllm");
    CHECK(set_knob(r, "enforce_eager", 1));
    CHECK(r.process.cuda_graphs == interval<byte_count>{});
    const error wrong = set_knob(r, "mem_fraction_static", 0.5).error();
    CHECK(wrong.field == "runtime.mem_fraction_static");
    CHECK(std::string{wrong.expected.view()}.find("gpu_memory_utilization") != std::string::npos);
    runtime cpp = engine("llama.cpp");
    CHECK(set_knob(cpp, "n_gpu_layers", 12));
    CHECK(cpp.options.gpu_layers == maybe<std::int32_t>{12});
    CHECK(set_knob(cpp, "cpu_moe", 1));
    CHECK(cpp.options.experts_on_host);
}
