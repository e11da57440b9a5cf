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
    const json answer = dealt("rtx-3090,rtx-3060-12gb", does_not_fit);
    CHECK(answer["on_host"].get<int>() > 0);
    CHECK(answer["head_on_host"] == false);  // it is loaded first
    CHECK(answer["launch"].get<std::string>().find(
              "--n-gpu-layers " + std::to_string(81 - answer["on_host"].get<int>()) + " ") != std::string::npos);
    CHECK(run(local + arguments{"--gpu", "rtx-3090,rtx-3060-12gb"}).out.find("have no room") != std::string::npos);
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
