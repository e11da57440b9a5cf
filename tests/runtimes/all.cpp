// SPDX-License-Identifier: MIT
// Profiles: found by engine and version, with the defaults that each takes on a device.
#include <llmres/jobs/knobs.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/errors.hpp>

#include <doctest/doctest.h>

#include "../serving_jobs.hpp"

#include <cmath>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

using namespace serving_jobs;

TEST_CASE("profiles are found by engine and version, and a release between two belongs to one") {
    const std::pair<const char*, const char*> expected[] = {{"vllm", "0.33 and later"},
                                                            {"vllm@0.32.0", "0.32"},
                                                            {"vllm@0.30.1", "0.29 to 0.31"},
                                                            {"vllm@0.28.0", "0.28"},
                                                            {"vllm@0.27.1", "0.27"},
                                                            {"vllm@0.21", "0.20 and 0.21"},
                                                            {"vllm@0.22.1", "0.22"},
                                                            {"vllm@0.23", "0.23"},
                                                            {"vllm@0.24.0", "0.24"},
                                                            {"vllm@0.25.1", "0.25"},
                                                            {"vllm@0.26.0", "0.26"},
                                                            {"vllm@0.19.1", "0.18 and 0.19"},
                                                            {"vllm@0.15.1", "0.11.1 to 0.16"},
                                                            {"vllm@0.9.2", "0.9 to 0.11.0 (V1)"},
                                                            {"vllm@0.17.1", "0.17"},
                                                            {"vllm@0.8.5.post1", "0.8.5 (V1)"},
                                                            {"vllm@0.8.4", "0.8.4 (V1)"},
                                                            {"vllm@0.8.3", "0.8.0 to 0.8.3 (V1)"},
                                                            {"vllm@0.8", "0.8.0 to 0.8.3 (V1)"},
                                                            {"vllm@0.2.7", "0.2 (V0)"},
                                                            {"vllm@v0.7.3", "0.7 to 0.10 (V0)"},
                                                            {"vllm@0.5.4", "0.3 to 0.6.3 (V0)"},
                                                            {"vllm@0.6.3.post1", "0.3 to 0.6.3 (V0)"},
                                                            {"sglang@0.4.6", "0.4.6 and 0.4.7"},
                                                            {"sglang@0.4.8", "0.4.8 and 0.4.9"},
                                                            {"sglang@0.5.2", "0.4.10 to 0.5.2"},
                                                            {"SGLang", "0.5.23 and later"},
                                                            {"sglang@0.5.9", "0.5.8 and 0.5.9"},
                                                            {"sglang@0.5.12.post1", "0.5.11 and 0.5.12"},
                                                            {"sglang@nightly", "0.5.23 and later"},
                                                            {"vllm@latest", "0.33 and later"},
                                                            {"llama.cpp@b2824", "b2400 to b4000"},
                                                            {"llama.cpp", "b11064 and later"},
                                                            {"transformers@4.38.2", "4.36 to 4.41"},
                                                            {"vLLM@0.8.5 V0", "0.7 to 0.10 (V0)"},
                                                            {"vllm@0.9.2-v0", "0.7 to 0.10 (V0)"},
                                                            {"vllm@0.6.4 V0", "0.6.4 (V0)"},
                                                            {"llama.cpp@build 2824 (4426e298)", "b2400 to b4000"},
                                                            {"TensorRT-LLM@0.17", "up to 0.21"},
                                                            {"tensorrt-llm@0.8", "up to 0.21"},
                                                            {"sglang@0.3.6", "up to 0.4.5"},
                                                            {"unsloth@2026.10.9", "unsloth 2026.10 and later"},
                                                            {"automodel@0.7.0", "NeMo AutoModel 0.7 and later"},
                                                            {"AutoAWQ@0.1.6", "0.1"}};
    for (const auto& [name, versions] : expected) {
        INFO(name);
        const auto found = find_runtime(name);
        REQUIRE(found);
        CHECK(found->identity.versions == versions);
    }
    CHECK(*find_runtime("exllamav3@0.0.6") == runtimes::exllamav3);
    CHECK(*find_runtime("ctranslate2", "4.1", "runtime") == runtimes::ctranslate2);
    CHECK(*find_runtime("ik_llama.cpp", "4000", "runtime") == runtimes::ik_llama_cpp_4155);
    for (const runtime* r : runtimes::all) CHECK(find_runtime(r->identity.name));
}

TEST_CASE("what drives another engine is found under its own name, without a version of the other's") {
    CHECK(*find_runtime("axolotl") == *find_runtime("huggingface"));
    CHECK(*find_runtime("LLaMA-Factory") == *find_runtime("huggingface"));
    CHECK(*find_runtime("megatron-bridge") == runtimes::megatron);
    CHECK(*find_runtime("NeMo AutoModel") == runtimes::automodel);
    CHECK(find_runtime("axolotl@0.8").error().code == error_code::unknown);
    CHECK(find_runtime("megatron-bridge@0.2").error().code == error_code::unknown);  // not Megatron-Core's
    CHECK(*find_runtime("megatron-core@0.12") == runtimes::megatron_0_12);
}

TEST_CASE("a version may be written as package managers and people write it") {
    for (const char* name : {"vllm==0.8.5", "vllm 0.8.5", "vllm-0.8.5", "vllm:v0.8.5", "vLLM v0.8.5"}) {
        INFO(name);
        CHECK(*find_runtime(name) == *find_runtime("vllm@0.8.5"));
    }
    CHECK(*find_runtime("llama.cpp-b2824") == *find_runtime("llama.cpp@b2824"));
    CHECK(*find_runtime("tensorrt-llm-0.16") == *find_runtime("tensorrt-llm@0.16"));
    CHECK(*find_runtime("megatron-core") == runtimes::megatron);
    CHECK(*find_runtime("vllm@") == *find_runtime("vllm"));
    CHECK(find_runtime("vllm-latest").error().field == "runtime");
}

TEST_CASE("software without a profile is refused with the nearest that has one") {
    const auto instead_of = [](const char* name) { return std::string{find_runtime(name).error().expected.view()}; };
    CHECK(instead_of("liger").starts_with("huggingface"));
    CHECK(instead_of("FSDP2").find("torchtitan") != std::string::npos);
    CHECK(instead_of("rayserve").find("vllm") != std::string::npos);
    CHECK(instead_of("LM Studio").starts_with("llama.cpp"));
    CHECK(instead_of("NIM").starts_with("vllm"));
    CHECK(*find_runtime("ms-swift") == *find_runtime("huggingface"));
    CHECK(*find_runtime("NeMo") == runtimes::megatron);
    for (const auto& [name, instead] : runtimes_without_profile)
        CHECK(find_runtime(instead.substr(0, instead.find_first_of(", "))));
}

TEST_CASE("an unknown engine is refused with the nearest names, an unknown version with those there are") {
    CHECK(std::string{find_runtime("vlm").error().expected.view()}.find("vllm") != std::string::npos);
    const error version = find_runtime("tgi@1.0").error();
    CHECK(version.code == error_code::unknown);
    CHECK(version.value == "1.0");
    CHECK(std::string{version.expected.view()}.find("2 and 3") != std::string::npos);
    for (const char* written : {"llama.cpp@mid-2025", "llama.cpp@2024-04", "vllm@newest", "vllm@v"}) {
        INFO(written);
        CHECK(find_runtime(written).error().code == error_code::malformed);
    }
}

TEST_CASE("a runtime whose builds have dates is found by one") {
    CHECK(*find_runtime("torchtitan@2025-03") == runtimes::torchtitan_0_0);
    CHECK(*find_runtime("torchtitan@2025-04-02") == runtimes::torchtitan_0_1);
    CHECK(*find_runtime("torchtitan@2025-09") == runtimes::torchtitan_0_2);
    CHECK(*find_runtime("torchtitan@2026-02-11") == runtimes::torchtitan);
    CHECK(*find_runtime("graph_trainer@2026-02") == runtimes::graph_trainer_2026_02);
    CHECK(*find_runtime("graph_trainer@2026-06") == runtimes::graph_trainer);
    CHECK(*find_runtime("litgpt@2023-08") == runtimes::litgpt_2023_08);
    CHECK(*find_runtime("litgpt@2023-11") == runtimes::litgpt);
    CHECK(*find_runtime("litgpt@0.4") == runtimes::litgpt);
    CHECK(find_runtime("torchtitan@2019-01").error().code == error_code::unknown);
    CHECK(std::string{find_runtime("torchtitan@newest").error().expected.view()}.find("2025-03") != std::string::npos);
}

TEST_CASE("vLLM's steps are larger on large devices, but for the A100; on the largest more so since 0.27") {
    struct expected {
        const char* engine;
        const gpu& card;
        std::int64_t step, sequences;
    };
    for (const auto& [engine, card, step, sequences] : {expected{"vllm@0.9", gpus::h100_sxm5_80gb, 8192, 1024},
                                                        expected{"vllm@0.9", gpus::a100_sxm4_80gb, 2048, 256},
                                                        expected{"vllm@0.9", gpus::mi300x_192gb, 8192, 1024},
                                                        expected{"vllm@0.9", gpus::l40s_48gb, 2048, 256},
                                                        expected{"vllm@0.8.5", gpus::a100_sxm4_80gb, 8192, 1024},
                                                        expected{"vllm", gpus::h200_sxm5_141gb, 8192, 1024},
                                                        expected{"vllm@0.8.4", gpus::a100_sxm4_80gb, 2048, 256},
                                                        expected{"vllm@0.8.4", gpus::rtx_3090, 2048, 256},
                                                        expected{"vllm@0.8.3", gpus::rtx_3090, 2048, 1024},
                                                        expected{"vllm@0.8.2", gpus::a100_sxm4_80gb, 2048, 1024},
                                                        expected{"vllm@0.8.2", gpus::h100_sxm5_80gb, 8192, 1024},
                                                        expected{"vllm", gpus::mi300x_192gb, 16384, 1024},
                                                        expected{"vllm@0.6.4", gpus::h100_sxm5_80gb, 512, 256},
                                                        expected{"sglang", gpus::l40s_48gb, 4096, 0},
                                                        expected{"sglang@0.4.9", gpus::l40s_48gb, 8192, 0},
                                                        expected{"sglang@0.4.7", gpus::b200_sxm_180gb, 16384, 0},
                                                        expected{"sglang@0.4.7", gpus::h200_sxm5_141gb, 8192, 0},
                                                        expected{"sglang@0.4.5", gpus::b200_sxm_180gb, 8192, 0},
                                                        expected{"sglang", gpus::a10g_24gb, 4096, 0},
                                                        expected{"sglang@0.5.19", gpus::a10g_24gb, 2048, 0},
                                                        expected{"sglang@0.5.19", gpus::l40s_48gb, 4096, 0},
                                                        expected{"sglang", gpus::mi300x_192gb, 16384, 0}}) {
        INFO(engine << " on " << card.id.view());
        const runtime r = on_device(find_runtime(engine).value(), card, layout{});
        CHECK(r.step.max_batched_tokens == tokens(step));
        CHECK(r.step.max_num_seqs == sequences);
    }
    runtime named = runtimes::vllm_v1;
    serving_options asked;
    REQUIRE(set_knob(named, asked, "max_num_batched_tokens", 4096));
    CHECK(on_device(named, gpus::h100_sxm5_80gb, layout{}).step.max_batched_tokens == tokens(4096));
}

TEST_CASE("vLLM's default fraction is 0.9, and 0.92 since 0.20") {
    CHECK(find_runtime("vllm@0.19")->cache.fraction == maybe<double>{0.9});
    CHECK(find_runtime("vllm@0.20")->cache.fraction == maybe<double>{0.92});
    CHECK_FALSE(find_runtime("vllm@0.19")->cache.graphs_deducted);
    CHECK(find_runtime("vllm@0.20")->cache.graphs_deducted);
}

TEST_CASE("SGLang chooses its fraction by device and layout, in another way every few releases") {
    gpu card = gpus::h100_sxm5_80gb;  // 81559 MiB in nvidia-smi, which the engine reads
    const auto fraction = [&](const char* engine, const layout& l) {
        return *on_device(find_runtime(engine).value(), card, l).cache.fraction;
    };
    CHECK(fraction("sglang@0.4.3", {}) == 0.88);
    CHECK(fraction("sglang@0.4.3", {.tensor = 8}) == 0.81);
    CHECK(fraction("sglang@0.4.3", {.tensor = 8, .pipeline = 2}) == 0.79);
    CHECK(fraction("sglang@0.4.9", {}) == doctest::Approx(0.874));             // 9.5 GiB, and half a one for the GPU
    CHECK(fraction("sglang@0.4.9", {.tensor = 8}) == doctest::Approx(0.831));  // 13.5 GiB
    CHECK(fraction("sglang@0.5.9", {}) == doctest::Approx(0.835));             // 512 + 8192 x 1.5 + 256 x 2 + 128 MiB
    CHECK(fraction("sglang@0.5.9", {.tensor = 8}) == doctest::Approx(0.818));  // 512 sequences, and 1024 MiB
    card = gpus::a10g_24gb;                                                    // 23028
    CHECK(fraction("sglang@0.4.9", {}) == doctest::Approx(0.871));
    CHECK(fraction("sglang@0.5.9", {}) == doctest::Approx(0.837));
    runtime named = runtimes::sglang;
    serving_options asked;
    REQUIRE(set_knob(named, asked, "mem_fraction_static", 0.7));
    CHECK(on_device(named, card, layout{}).cache.fraction == maybe<double>{0.7});
}

TEST_CASE("sequences that the caller admits beat the default of the device") {
    job j = chat();
    const cluster large{.gpu = gpus::h100_sxm5_80gb};
    const byte_count thousand = memory_of(j, layout{}, large)[memory_term::logits].expected;
    j.options.max_num_seqs = 512;
    const byte_count half = memory_of(j, layout{}, large)[memory_term::logits].expected;
    CHECK(half * 2 - thousand <= bytes(1));  // each is rounded up
}

TEST_CASE("versions of two profiles of one engine never overlap") {
    for (const runtime* a : runtimes::all)
        for (const runtime* b : runtimes::all)
            if (a != b && a->identity.name == b->identity.name)
                CHECK_FALSE((covers(a->identity, b->identity.since) && covers(b->identity, a->identity.since)));
}

TEST_CASE("every published error is that of a profile, found whole by it; a profile nobody measured has none") {
    std::size_t found = 0;
    for (const runtime* r : runtimes::all)
        for (const profile_error& e : errors_of(*r)) {
            INFO(e.runtime << " " << e.versions << " " << e.figure);
            CHECK(e.runtime == r->identity.name.view());
            CHECK(e.inside <= e.rows);
            CHECK(std::fabs(e.bias) <= e.mean);
            CHECK(e.mean <= std::fabs(e.worst));
            ++found;
        }
    CHECK(found == std::size(runtimes::errors));
    CHECK(errors_of(no_runtime).empty());
}

TEST_CASE("Ollama since 0.30 is llama.cpp's server, with flash attention where the device has it") {
    job j = chat("llama-3.1-8b");
    j.context = tokens(32768);
    const auto activations = [&](const char* version) {
        j.runtime = find_runtime("ollama", version, "runtime").value();
        return memory_of(j, layout{})[memory_term::activations].expected;
    };
    CHECK(activations("0.30.1") * 4 < activations("0.13"));
    CHECK(set_knob(j.runtime, j.options, "num_batch", 128));
    CHECK(j.runtime.step.max_batched_tokens == tokens(128));
}

TEST_CASE("communicators grow with each doubling of their group, not with the stages of a pipeline") {
    job j = chat("llama-3-70b");
    const auto held = [&](const layout& l) { return memory_of(j, l)[memory_term::communication]; };
    const interval<byte_count> pair = j.runtime.process.communicator;
    CHECK(held(layout{}).expected == bytes(0));
    CHECK(held({.tensor = 2}) == pair);
    CHECK(held({.tensor = 4}).expected == pair.expected * 2);
    CHECK(held({.tensor = 8}).high == pair.high * 3);
    CHECK(held({.tensor = 8}).low == pair.low);
    CHECK(held({.pipeline = 8}) == pair);
    CHECK(held({.tensor = 8, .pipeline = 2}).expected == pair.expected * 4);
}

TEST_CASE("keys that only some runtimes have are theirs, and each of them is the name of a profile") {
    static_assert(has_key(runtimes::llama_cpp, "gpu_layers") && has_key(runtimes::ollama, "gpu_layers"));
    static_assert(!has_key(runtimes::vllm, "gpu_layers") && has_key(runtimes::vllm, "kv_block"));
    static_assert(has_key(runtimes::litgpt, "four_bit_keeps_inputs") && !has_key(runtimes::litgpt, "use_reentrant"));
    static_assert(runtimes_with("kv_block").empty());
    for (const auto& [key, names] : keys_of_some) {
        CAPTURE(std::string{key});
        std::string_view rest = names;
        while (!rest.empty()) {
            const std::string name{detail::taken_before(rest, ",")};
            CHECK(find_runtime(name).value().identity.name == name);
        }
    }
    for (const auto& [any, trains] : training_names)
        CHECK(find_runtime(trains).value().identity.work == runtime_work::training);
}

TEST_CASE("names are the same where one is not longer than the other, whatever stands between their letters") {
    CHECK(detail::same_name("vLLM", "v-l.l m"));
    CHECK(detail::same_name("vllm--", "vllm"));
    CHECK_FALSE(detail::same_name("vllm", "vllm2"));
    CHECK_FALSE(detail::same_name("vllm2", "vllm"));
    CHECK_FALSE(detail::same_name("", "a"));
    CHECK(detail::same_name("", "--"));
}

TEST_CASE("a misspelt runtime is answered with each name that may be meant once") {
    CHECK(find_runtime("vlllm").error().expected == "a runtime such as vllm, ollama or llama.cpp");
    CHECK(find_runtime("megatronn").error().expected == "a runtime such as megatron or megatron_deepspeed");
    CHECK(find_runtime("nonee").error().expected == "a runtime such as none");
}

TEST_CASE("a build older than all that are known is answered with each of those there are") {
    const error early = find_runtime("torchtitan@2019-01").error();
    CHECK(early.code == error_code::unknown);
    CHECK(early.value == "2019-01");
    std::string expected = "a version: ";
    bool first = true;
    for (const runtime* r : runtimes::all_torchtitan) {
        if (r->identity.name != runtimes::torchtitan.identity.name) continue;
        expected += std::string{first ? "" : "; "} + std::string{r->identity.versions.view()};
        first = false;
    }
    CHECK(early.expected == expected);
}

TEST_CASE("what resembles no runtime is answered with names of runtimes alone, however short it is") {
    for (const char* typed : {"q", "xy", "zzz"}) {
        const std::string expected{find_runtime(typed).error().expected.view()};
        CAPTURE(expected);
        CHECK(expected.find("such as ,") == std::string::npos);
        CHECK(expected.find("such as or") == std::string::npos);
        CHECK(expected.find("such as  ") == std::string::npos);
        CHECK(expected.find(" or  ") == std::string::npos);
        CHECK_FALSE(expected.ends_with(" "));
    }
}

TEST_CASE("keys of a job document that some runtimes have are named with these, and others with none") {
    CHECK(runtimes_with("gradient_accumulation_fusion") == "megatron");
    CHECK(runtimes_with("split_rows") == "llama.cpp,ik_llama.cpp");
    CHECK(runtimes_with("max_num_seqs").empty());
}

TEST_CASE("a version of one number is one, whatever stands before it, and a mark behind a name begins none") {
    for (const char* written : {"tgi@3", "tgi==3", "tgi-3", "tgi 3", "tgi:3", "tgi-v3", "tgi v3.1"}) {
        CAPTURE(std::string{written});
        const result<runtime> found = find_runtime(written);
        REQUIRE(found);
        CHECK(*found == runtimes::tgi);
    }
    for (const char* written : {"tgi-", "tgi ", "tgi:", "tgi-v"}) {
        CAPTURE(std::string{written});
        CHECK((!find_runtime(written) || *find_runtime(written) == runtimes::tgi));
    }
}
