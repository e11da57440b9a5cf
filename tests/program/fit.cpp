// SPDX-License-Identifier: MIT
// Layers on GPUs that the engine chooses itself, as people ask for them.
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <string>

using namespace program_checks;
using nlohmann::json;

namespace {

const arguments on_a_4090{"plan",  "llama-3.1-70b", "--weights", "q4_k_m",
                          "--gpu", "rtx-4090",      "--runtime", "llama.cpp"};

json options_of(const json& p) { return p["runtime"]; }

}  // namespace

TEST_CASE("-ngl auto and --fit choose layers, and the plan says which") {
    const json p = planned(on_a_4090 + arguments{"-ngl", "auto", "-c", "8k", "--ram", "64GiB"});
    const int layers = p["assumed"]["gpu_layers"].get<int>();
    CHECK(layers > 30);
    CHECK(layers < 60);
    CHECK(options_of(p)["gpu_layers"] == layers);
    CHECK(p["job"]["context"] == 8192);
    CHECK(p["verdict"] == "fits");
    const json same = planned(on_a_4090 + arguments{"--fit", "on", "-c", "8k", "--ram", "64GiB"});
    CHECK(same["memory"] == p["memory"]);
    const json shorter = planned(on_a_4090 + arguments{"--fit", "--ram", "64GiB"});
    CHECK(shorter["job"]["context"] == 4096);
    CHECK(shorter["assumed"]["context"] == 4096);
    const json again =
        planned(on_a_4090 + arguments{"--gpu_layers", std::to_string(layers), "-c", "8k", "--ram", "64GiB"});
    CHECK(again["memory"] == p["memory"]);
    CHECK(run(on_a_4090 + arguments{"-ngl", "all", "-c", "8k"}).exit == does_not_fit);
}

TEST_CASE("experts stay on the host, and two GPUs share what they hold") {
    const json p = planned({"plan", "qwen3-30b-a3b", "--weights", "q8_0", "--gpu", "rtx-4090", "--runtime", "llama.cpp",
                            "--fit", "-c", "16k", "--ram", "64GiB"});
    CHECK(p["assumed"]["gpu_layers"] == 49);
    const int on_host = p["assumed"]["n_cpu_moe"].get<int>();
    CHECK(on_host > 0);
    CHECK(on_host < 48);
    CHECK(options_of(p)["n_cpu_moe"] == on_host);
    const json two = planned(on_a_4090 + arguments{"--gpus", "2", "--fit", "-c", "8k", "--ram", "64GiB"});
    CHECK(two["layout"]["pipeline"] == 2);
    CHECK(two["assumed"]["gpu_layers"] == 81);
    CHECK(run({"search", "llama-3.1-70b", "--weights", "q4_k_m", "--gpu", "rtx-4090", "--gpus", "2", "--runtime",
               "llama.cpp", "--fit", "-c", "8k"})
              .exit == fits);
}

TEST_CASE("an engine that does not choose layers is refused by name") {
    const arguments job{"plan", "llama-3.1-8b", "--gpu", "rtx-4090", "-c", "4k", "--runtime"};
    refused(job + arguments{"vllm", "-ngl", "auto"}, {"runtime.gpu_layers", "auto", "llama.cpp"});
    refused(job + arguments{"vllm", "--fit"}, {"runtime.fit", "llama.cpp"});
    refused(job + arguments{"ollama", "--fit"}, {"runtime.fit"});
    refused(job + arguments{"llama.cpp@b5000", "--fit"}, {"runtime.fit", "b6930"});
    refused(job + arguments{"llama.cpp", "-ngl", "auto", "--fit", "off"}, {"runtime.fit", "gpu_layers is auto"});
    refused(job + arguments{"llama.cpp", "-ngl", "most"}, {"runtime.gpu_layers", "most"});
    refused(job + arguments{"llama.cpp", "-ngl", "-1"}, {"gpu_layers auto", "gpu_layers all"});
    refused({"plan", "llama-3.1-8b", "--gpu", "cpu", "-c", "4k", "--ram", "32GiB", "--runtime", "llama.cpp", "--fit"},
            {"runtime.fit"});
}
