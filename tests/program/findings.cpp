// SPDX-License-Identifier: MIT
// What users found wrong of models and serving runtimes, each tried as they typed it. What is held elsewhere:
//
// real configs refused                       tests/io/hf_config.cpp ("MiniMax-M2.5 and M2.7 ...", "Kimi Linear ...")
//                                            and table_counts, every type of transformers
// checkpoints counted in a wrong format      tests/program/files.cpp ("what stands beside a config.json ...")
// plans of a GGUF file that ignore it        tests/program/files.cpp ("a GGUF file is planned as it is stored ...")
// GGUF architectures                         tests/io/files/gguf_stored.cpp ("of llama.cpp's list ...")
// files read without limit                   tests/program/files.cpp, all of it
// llama.cpp by real runs                     tests/validation/llama_cpp.cpp
// pools and memory of vLLM and others        tests/validation/serving_memory.cpp
// Metal's working set                        tests/answers/layout_plan.cpp ("beyond Metal's working set ...")
// names                                      tests/models/all.cpp, tests/models/hub_names.cpp
#include <doctest/doctest.h>

#include "../model_files.hpp"
#include "../program_checks.hpp"
#include "../sanitized.hpp"

#include <cstdint>
#include <set>
#include <string>

using namespace program_checks;
using nlohmann::json;

namespace {

/// The reasons of a plan, by their codes.
std::set<std::string> reasons_of(const json& p) {
    std::set<std::string> codes;
    for (const json& reason : p["reasons"]) codes.insert(reason["code"].get<std::string>());
    return codes;
}

double gib_of(const json& size) { return size.get<double>() / 1073741824.0; }

}  // namespace

TEST_CASE("a config with a list of 67,000 modules is read as fast as any other") {
    const run_program::scratch s;
    json config = model_files::llama_config();
    config["modules"] = json::array();
    for (int i = 0; i < 67'000; ++i) config["modules"].push_back("model.layers." + std::to_string(i) + ".mlp.experts");
    const std::string file = s.file("config.json", config.dump());
    const double before = run_program::seconds_of_cpu();
    const outcome o = run({"model", file});
    CHECK(o.exit == fits);
    // 0.2 s in a release build; 18 s where the list was looked through anew.
    CHECK(run_program::seconds_of_cpu() - before < (sanitized ? 20 : 5));
}

TEST_CASE("a config.json in which Python wrote Infinity is planned, and a job document with one is refused") {
    const run_program::scratch s;
    json config = model_files::llama_config();
    config["time_step_limit"] = {0.0, "limit"};
    std::string text = config.dump();
    text.replace(text.find("\"limit\""), 7, "Infinity");
    const arguments on{"--gpu", "h100-sxm5-80gb", "--context", "2048"};
    CHECK(planned(arguments{"plan", s.file("config.json", text)} + on)["verdict"] == "fits");
    const std::string job = s.file("job.json", "{\"model\": \"llama-3.1-8b\", \"context\": Infinity}");
    const outcome o = run(arguments{"plan", job} + on);
    CHECK(o.exit == 2);
    CHECK(o.err.find("Infinity") != std::string::npos);
}

TEST_CASE("main memory that layers on the host exceed is a reason, and a plan that needs it does not fit") {
    const arguments half{"plan",         "llama-3.1-70b", "--weights", "q4_k_m", "--gpu",        "rtx-4090",
                         "--runtime",    "llama.cpp",     "--context", "4096",   "--gpu_layers", "40",
                         "--host_memory"};
    // Pages of a mapped file may be dropped, and be read again in every step: the lower bound.
    const json mapped = planned(half + arguments{"1GB"});
    CHECK(mapped["verdict"] == "tight");
    CHECK(reasons_of(mapped).contains("host_memory_exceeded"));
    CHECK(gib_of(mapped["memory"]["host"]["high"]) > 20);
    CHECK(gib_of(mapped["memory"]["host"]["low"]) < 0.931);  // 1 GB
    CHECK(planned(half + arguments{"1GB", "--no-mmap"}, does_not_fit)["verdict"] == "does_not_fit");
    CHECK(planned(half + arguments{"64GB", "--no-mmap"})["verdict"] == "fits");

    const json none = planned({"plan", "llama-3.1-405b", "--weights", "q4_k_m", "--gpu", "rtx-4090", "--runtime",
                               "llama.cpp", "--context", "4096", "--gpu_layers", "0", "--host_memory", "1MiB"},
                              does_not_fit);
    CHECK(reasons_of(none).contains("host_memory_exceeded"));
    const arguments experts{
        "plan",      "deepseek-v3", "--weights",         "q4_k_m",        "--gpu", "rtx-4090", "--runtime", "llama.cpp",
        "--context", "4096",        "--experts_on_host", "--host_memory", "8GB"};
    CHECK(planned(experts)["verdict"] == "tight");
    CHECK(run(experts).err.find("below their upper bounds") != std::string::npos);
    arguments unknown = experts;
    unknown.resize(unknown.size() - 2);  // without --host_memory
    CHECK(run(unknown).err.find("tight: it fits only if a node has the main memory") != std::string::npos);
    CHECK(planned(experts + arguments{"--no-mmap"}, does_not_fit)["verdict"] == "does_not_fit");
}

TEST_CASE("a consumer's host has two channels of memory unless something else is said") {
    const auto token = [](const char* gpu, const char* bandwidth) {
        const arguments typed{"plan",          "llama-3.1-70b", "--weights", "q4_k_m", "--gpu",        gpu,
                              "--runtime",     "llama.cpp",     "--context", "4096",   "--gpu_layers", "40",
                              "--host_memory", "64GB"};
        return planned(typed + (bandwidth == nullptr
                                    ? arguments{}
                                    : arguments{"--host_bandwidth", bandwidth}))["time"]["time_per_output_token"]
            .get<double>();
    };
    CHECK(token("rtx-4090", nullptr) > 1.5 * token("rtx-4090", "164e9"));
    CHECK(token("rtx-4090", nullptr) < token("rtx-4090", "40e9"));
    CHECK(token("h100-sxm5-80gb", nullptr) < token("rtx-4090", nullptr));
}

TEST_CASE("tensor ranks over which a runtime does not split heads are refused, and never chosen") {
    const auto on = [](const char* model, const char* gpus, const char* tensor) {
        return arguments{"plan", model,  "--gpu",     "h100-sxm5-80gb", "--gpus",    gpus,
                         "--tp", tensor, "--context", "4096",           "--runtime", "vllm"};
    };
    refused(on("qwen2.5-32b", "5", "5"), {"layout.tensor", "5", "vllm", "key-value heads, 8"});
    refused(on("qwen2.5-7b", "7", "7"), {"layout.tensor", "7", "vllm", "key-value heads, 4"});
    refused(on("llama-4-scout", "8", "5"), {"layout.tensor", "5", "vllm"});
    for (const char* runtime : {"vllm", "sglang", "tensorrt-llm", "lmdeploy", "tgi"})
        for (const char* model : {"llama-4-scout", "qwen2.5-32b", "qwen2.5-7b"}) {
            CAPTURE(std::string{runtime});
            const outcome o = run({"plan", model, "--gpu", "h100-sxm5-80gb", "--gpus", "8", "--context", "4096",
                                   "--runtime", runtime, "--json"});
            const auto tensor = o.json()["layout"]["tensor"].get<std::int64_t>();
            CHECK((tensor == 1 || tensor == 2 || tensor == 4 || tensor == 8));
        }
}

TEST_CASE("vLLM up to 0.8.3 admits 1024 sequences, whose scores leave the pool less") {
    const auto pool = [](const char* runtime) {
        const json p = planned({"plan", "qwen2.5-7b", "--gpu", "l40s", "--context", "4096", "--runtime", runtime});
        return gib_of(p["cache_pool"]["expected"]);
    };
    CHECK(pool("vllm@0.8.4") - pool("vllm@0.8.2") == doctest::Approx(4.1).epsilon(0.1));
    const arguments named{"plan", "qwen2.5-7b", "--gpu",      "l40s",           "--context",
                          "4096", "--runtime",  "vllm@0.8.2", "--max_num_seqs", "256"};
    CHECK(gib_of(planned(named)["cache_pool"]["expected"]) == doctest::Approx(pool("vllm@0.8.4")).epsilon(0.01));
}

TEST_CASE("a runtime that fewer than five rows measure says so, in a plan and in the list") {
    for (const char* runtime : {"sglang", "tensorrt-llm", "lmdeploy", "tgi", "exllamav3", "vllm@0.20", "vllm"}) {
        CAPTURE(std::string{runtime});
        const arguments typed{"plan",      "llama-3.1-8b", "--gpu",     "h100-sxm5-80gb",
                              "--context", "4096",         "--runtime", runtime};
        const json p = planned(typed);
        const int rows = p["runtime"]["origin"]["rows"].get<int>();
        const std::string said = rows == 0 ? "unmeasured" : "hardly measured";
        CHECK(rows < 5);
        CHECK(p["runtime"]["evidence"] == said);
        CHECK(run(typed).out.find(said + ", ") != std::string::npos);
    }
    const std::string list = run({"runtimes"}).out;
    for (const char* name : {"lmdeploy", "tgi ", "ollama", "exllamav3"}) {
        const std::size_t at = list.find(std::string{"\n"} + name);
        REQUIRE(at != std::string::npos);
        CHECK(list.substr(at + 1, list.find('\n', at + 1) - at).find("unmeasured") != std::string::npos);
    }
}

TEST_CASE("what a runtime with a pool takes of a GPU is the pool, whatever the job needs") {
    for (const auto& [runtime, part] : {std::pair{"tensorrt-llm", 0.9}, {"vllm@0.19", 0.9}, {"sglang", 0.8}}) {
        CAPTURE(std::string{runtime});
        const json m = planned(
            {"plan", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--context", "4096", "--runtime", runtime})["memory"];
        CHECK(gib_of(m["needed"]["expected"]) < 25);
        CHECK(gib_of(m["expected"]) > part * gib_of(m["available"]));
        CHECK(gib_of(m["reserved"]) < gib_of(m["expected"]));
        CHECK(gib_of(m["reserved"]) > gib_of(m["expected"]) - 4);  // the context, and what libraries hold
    }
}

TEST_CASE("limits and caches are of one computation, where a plan is tight too") {
    for (const char* batch : {"1", "8", "12"}) {
        const outcome o = run({"plan", "llama-3.1-8b", "--gpu", "l4", "--context", "4096", "--batch", batch,
                               "--runtime", "vllm@0.9", "--json"});
        const json p = o.json();
        const json& within = p["cache_pool"]["concurrency_bounds"];
        CAPTURE(p["verdict"].get<std::string>());
        CHECK(p["limits"]["max_batch"].get<int>() == static_cast<int>(within["low"].get<double>()));
        CHECK(within["expected"] == p["cache_pool"]["concurrency"]);
        const double asked = std::stod(batch);
        if (p["verdict"] == "fits") CHECK(asked <= within["low"].get<double>());
        if (p["verdict"] == "tight")
            CHECK((within["low"].get<double>() < asked && asked <= within["high"].get<double>() + 1));
        if (p["verdict"] == "does_not_fit") CHECK(asked > within["high"].get<double>());
    }
}

TEST_CASE("a word of another runtime is refused with the runtime whose it is") {
    const arguments job{"plan", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--context", "4096", "--runtime"};
    refused(job + arguments{"vllm", "--max-total-tokens", "20000"}, {"max_total_tokens", "20000", "context", "tgi"});
    CHECK(planned(job + arguments{"sglang", "--max-total-tokens", "20000"})["cache_pool"]["tokens"] == 20000);
    const arguments longest{"plan", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--runtime", "tgi"};
    CHECK(planned(longest + arguments{"--max-total-tokens", "8192"})["job"]["context"] == 8192);
}

TEST_CASE("options of llama.cpp and its fork under their own short names") {
    const arguments latent{"plan",     "deepseek-v2-lite", "--weights", "q4_k_m",    "--gpu",
                           "rtx-4090", "--context",        "16384",     "--runtime", "ik_llama.cpp"};
    const auto activations = [&](const arguments& options) {
        return planned(latent + options)["memory"]["terms"]["activations"].get<std::int64_t>();
    };
    CHECK(activations({"-amb", "64"}) < activations({"-amb", "1024"}));
    CHECK(activations({"-mla", "1"}) < activations({"-mla", "3"}));
    const auto layers_in_stages = [](const arguments& options) {
        return planned(arguments{"plan", "llama-3.1-70b", "--weights", "q4_k_m", "--gpu", "rtx-3090", "--gpus", "3",
                                 "--runtime", "llama.cpp", "--context", "4096"} +
                       options)["layout"];
    };
    CHECK(layers_in_stages({"-sm", "layer", "-mg", "1"})["pipeline"] == 3);
    const arguments halves{"plan", "llama-3.1-8b", "--gpu", "l4:2", "--runtime", "llama.cpp", "--context", "4096"};
    CHECK(planned(halves + arguments{"--split-mode", "tensor"})["layout"]["tensor"] == 2);
    CHECK(layers_in_stages({"--pipeline", "3", "--stages", "30|30|20"})["stages"] == "30|30|20");
    const json rows = planned(halves + arguments{"--split-mode", "row"});
    CHECK(rows["layout"]["pipeline"] == 2);
    CHECK(rows["time"]["tokens_per_second"] !=
          planned(halves + arguments{"--split-mode", "layer"})["time"]["tokens_per_second"]);
    const arguments experts{"plan",          "qwen3-30b-a3b", "--weights", "q4_k_m",    "--gpu",
                            "rtx-4090",      "--runtime",     "llama.cpp", "--context", "4096",
                            "--host_memory", "64GB",          "-ncmoe",    "10"};
    CHECK(planned(experts)["memory"]["host"]["high"].get<double>() > 3e9);
    CHECK(planned(experts + arguments{"--no-op-offload"})["memory"]["terms"]["activations"].get<std::int64_t>() <=
          planned(experts)["memory"]["terms"]["activations"].get<std::int64_t>());
}
