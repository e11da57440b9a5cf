// SPDX-License-Identifier: MIT
// Questions as people type them: which layers lie on which of my GPUs, which differ?
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <string>

using namespace program_checks;
using nlohmann::json;

namespace {

const arguments local{"plan", "llama-3.1-70b", "--weights", "q4_k_m", "--runtime", "llama.cpp", "--context", "4096"};

json dealt(const std::string& gpus, int exit) {
    const outcome answer = run(local + arguments{"--gpu", gpus, "--json"});
    CHECK(answer.exit == exit);
    return answer.json();
}

}  // namespace

TEST_CASE("layers of a model on two kinds of GPU, and how llama.cpp is told so") {
    const json answer = dealt("rtx-3090:2,rtx-4090", fits);
    CHECK(answer["verdict"] == "fits");
    REQUIRE(answer["shares"].size() == 3);
    int next = 0;
    std::string split = "--tensor-split ";
    for (const json& share : answer["shares"]) {
        CHECK(share["first"] == next);
        CHECK(share["needed"]["high"] <= share["free"]);
        if (next > 0) split += ",";
        next += share["layers"].get<int>();
        split += std::to_string(share["layers"].get<int>() + (next == 80 ? 1 : 0));  // the head is one more
    }
    CHECK(next == 80);
    CHECK(answer["launch"].get<std::string>().ends_with(split));
    const outcome page = run(local + arguments{"--gpu", "rtx-3090:2,rtx-4090"});
    CHECK(page.out.find("on 3 GPUs: fits") != std::string::npos);
    CHECK(page.out.find("assumed") != std::string::npos);
}

TEST_CASE("layers that have no room on any of them stay on the host, and are told") {
    const json answer = dealt("rtx-3090,rtx-3060-12gb", fits);
    CHECK(answer["verdict"] == "tight");  // nobody said how much main memory there is
    CHECK(answer["on_host"].get<int>() > 0);
    CHECK(answer["head_on_host"] == false);  // it is loaded first
    CHECK(answer["launch"].get<std::string>().find(
              "--n-gpu-layers " + std::to_string(81 - answer["on_host"].get<int>()) + " ") != std::string::npos);
    CHECK(run(local + arguments{"--gpu", "rtx-3090,rtx-3060-12gb"}).out.find("have no room") != std::string::npos);
}

TEST_CASE("what unlike GPUs leave on the host is the same with and without --fit, and as if it had been asked for") {
    const arguments asked{"plan",      "qwen2.5-32b", "--gpu", "3060,1080ti", "-q",    "q4_k_m",
                          "--runtime", "llama.cpp",   "-c",    "8k",          "--json"};
    const json plain = run(asked + arguments{"--ram", "32GB"}).json();
    CHECK(plain["verdict"] == "fits");
    CHECK(plain["on_host"] == 5);
    CHECK(plain["assumed"]["gpu_layers"] == 60);
    const json fitted = run(asked + arguments{"--ram", "32GB", "--fit"}).json();
    const json layers_auto = run(asked + arguments{"--ram", "32GB", "--gpu_layers", "auto"}).json();
    const json named = run(asked + arguments{"--ram", "32GB", "--gpu_layers", "60"}).json();
    for (const json* other : {&fitted, &layers_auto, &named}) {
        CHECK((*other)["verdict"] == "fits");
        CHECK((*other)["shares"] == plain["shares"]);
        CHECK((*other)["launch"] == plain["launch"]);
    }
    CHECK(run(asked).json()["verdict"] == "tight");
    CHECK(run(asked + arguments{"--ram", "2GB"}).json()["verdict"] == "tight");  // pages of a file may be dropped
    CHECK(run(asked + arguments{"--ram", "32GB", "--gpu_layers", "64"}).json()["verdict"] == "does_not_fit");
}

TEST_CASE("--fit shortens a context that nobody named before unlike GPUs leave layers on the host") {
    const arguments asked{"plan",  "qwen2.5-32b", "--gpu",     "rtx-3060-12gb:2,rtx-3070",
                          "-q",    "q4_k_m",      "--runtime", "llama.cpp",
                          "--ram", "32GB",        "--fit",     "--json"};
    const json answer = run(asked).json();
    CHECK(answer["verdict"] == "fits");
    CHECK(answer["on_host"] == 0);
    const int context = answer["assumed"]["context"].get<int>();
    CHECK(context > 4096);
    CHECK(context < 32768);
    CHECK(run(asked + arguments{"--context", std::to_string(context)}).json()["on_host"] == 0);
    CHECK(run(asked + arguments{"--context", std::to_string(context + 256)}).json()["on_host"] != 0);
}

TEST_CASE("a number of one kind is the number of GPUs") {
    const arguments two{"plan", "llama-3.1-8b", "--context", "4096", "--json", "--gpu"};
    CHECK(run(two + arguments{"l4:2"}).json()["cluster"]["gpus"] == 2);
}

TEST_CASE("GPUs that cannot be meant are refused by name") {
    refused(local + arguments{"--gpu", "rtx-3090:0,l4"}, {"gpu is rtx-3090:0", "1 to 16"});
    refused(local + arguments{"--gpu", "rtx-3090:16,l4"}, {"gpus is 17", "1 to 16"});
    refused(local + arguments{"--gpu", "rtx-3090,nix"}, {"gpu is nix", "a GPU"});
    refused(local + arguments{"--gpu", "l4,,l4"}, {"gpu is empty", "one comma"});
    refused(local + arguments{"--gpu", "l4,rtx-4090", "--gpus", "2"}, {"gpus is given", "several kinds"});
    refused({"plan", "llama-3.1-8b", "--runtime", "vllm", "--gpu", "l4,rtx-4090"}, {"runtime is vllm", "llama.cpp"});
}
