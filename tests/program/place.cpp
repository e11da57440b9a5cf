// SPDX-License-Identifier: MIT
// Questions as people type them: which of my free GPUs hold this job, which MIG profile, where does a queue go?
#include <doctest/doctest.h>

#include "../program_checks.hpp"
#include "shell_words.hpp"

#include <map>
#include <string>

using namespace program_checks;
using nlohmann::json;

namespace {

const arguments chat{"place", "llama-3.1-8b", "--runtime", "vllm@0.19", "--context", "8192", "--batch", "16"};
const std::string data = LLMRES_SOURCE_DIR "/tests/data/";

json placed(const arguments& given, int exit = fits) {
    const outcome answer = run(given + arguments{"--json"});
    CAPTURE(answer.err);
    CHECK(answer.exit == exit);
    return answer.json();
}

}  // namespace

TEST_CASE("the smallest free GPUs that hold a job, and the command that plans it there says the same") {
    const json answer = placed(chat + arguments{"--free", "h100-sxm5-80gb:3,rtx-4090:2,l40s-48gb:4,t4-16gb"});
    const json& job = answer["jobs"][0];
    CHECK(job["state"] == "placed");
    CHECK(job["gpu"] == "l40s-48gb");  // 44.4 GiB, of two rtx-4090 44.8
    CHECK(job["nodes"] == json{"node 3"});
    CHECK(answer["kinds"].size() == 4);
    CHECK(answer["kinds"][3]["state"] == "does_not_fit");
    CHECK(answer["kinds"][3]["needed"] > answer["kinds"][3]["usable"]);
    arguments words = shell_words(job["command"]);
    words.erase(words.begin());  // llmres
    const json plan = run(words + arguments{"--json"}).json();
    CHECK(plan["verdict"] == "fits");
    CHECK(plan["layout"] == job["layout"]);
    CHECK(plan["time"]["tokens_per_second"].get<double>() ==
          doctest::Approx(job["tokens_per_second"].get<double>()).epsilon(1e-9));
}

TEST_CASE("which MIG profile: the smallest that holds the job") {
    const outcome page = run({"place", "llama-3.1-8b", "--runtime", "vllm@0.19", "--context", "8192", "--batch", "2",
                              "--free", "a100-sxm4-80gb/any"});
    CHECK(page.exit == fits);
    CHECK(page.out.find("1 x a100-sxm4-80gb/3g.40gb of node 1") != std::string::npos);
    CHECK(page.out.find("a100-sxm4-80gb/1g.10gb     1  does_not_fit") != std::string::npos);
}

TEST_CASE("a queue goes over partly used nodes, and no GPU is given twice") {
    const json answer = placed({"place", data + "queue.json", "--nodes", data + "nodes.json"});
    CHECK(answer["jobs"].size() == 5);
    CHECK_FALSE(answer.contains("kinds"));
    std::map<std::string, int> taken;
    for (const json& job : answer["jobs"]) {
        CHECK(job["state"] == "placed");
        for (const json& node : job["nodes"]) taken[node] += job["gpus_per_node"].get<int>();
    }
    CHECK(taken["a[1]"] == 8);
    CHECK(taken["a[2]"] == 8);
    CHECK(taken["b"] <= 5);
    CHECK(taken["c"] <= 2);
    CHECK(taken["d"] <= 4);
    CHECK(taken["e"] <= 3);
    CHECK(answer["jobs"][0]["assumed"]["weights"] == "bf16");
    CHECK(answer["jobs"][4]["assumed"]["optimizer"] == "adamw");
    const outcome page = run({"place", data + "queue.json", "--nodes", data + "nodes.json"});
    CHECK(page.out.find("assumed  chat[1], chat[2]: task serving, weights bf16") != std::string::npos);
    CHECK(answer["jobs"][2]["layout"]["tensor"] == 4);
    CHECK(answer["jobs"][4]["gpus"] == 16);
}

TEST_CASE("what waits and what never fits is told apart, and one job that is not placed is exit code 1") {
    const arguments three{"place", "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "--context", "8192"};
    const json answer = placed(three + arguments{"--nodes", data + "nodes.json", "--gpus", "8"}, does_not_fit);
    CHECK(answer["jobs"][0]["state"] == "placed");
    CHECK(answer["jobs"][1]["state"] == "placed");
    CHECK(answer["jobs"][2]["state"] == "does_not_fit");
    const outcome page = run({"place", "llama-3.1-405b", "--free", "l4-24gb:4"});
    CHECK(page.exit == does_not_fit);
    CHECK(page.out.find("none of the GPUs hold it") != std::string::npos);
}

TEST_CASE("a job that no kind holds is told what would place it on the kind nearest to holding it") {
    const arguments large{"place",     "llama-3.1-70b", "--context", "8192",
                          "--runtime", "vllm",          "--free",    "rtx-4090:2,l4:4"};
    const json job = placed(large, does_not_fit)["jobs"][0];
    REQUIRE_FALSE(job["would_help"].empty());
    for (const json& remedy : job["would_help"]) CHECK(remedy["patch"]["cluster"] == json{{"gpu", "l4"}, {"gpus", 4}});
    const outcome page = run(large);
    const std::size_t command = page.out.find("llmres plan llama-3.1-70b --weights");
    REQUIRE(command != std::string::npos);
    arguments words = shell_words(page.out.substr(command, page.out.find('\n', command) - command));
    words.erase(words.begin());  // llmres
    CHECK(run(words).exit == fits);
    // Four L4 hold 405B in no format: more GPUs than there are is no help.
    CHECK_FALSE(placed({"place", "llama-3.1-405b", "--free", "l4:4"}, does_not_fit)["jobs"][0].contains("would_help"));
}

TEST_CASE("nodes and jobs that may not be are refused by name") {
    refused(chat, {"free is absent", "--nodes"});
    refused(chat + arguments{"--free", "l4:0"}, {"nodes[0].free is 0", "1 to 1024"});
    refused(chat + arguments{"--free", "l4:x"}, {"nodes[0].free is \"x\"", "1 to 1024"});
    refused(chat + arguments{"--free", "l4,"}, {"nodes[1]", "gpu"});
    refused(chat + arguments{"--free", "l5:2"}, {"nodes[0]", "l5"});
    refused(chat + arguments{"--free", "l4/any"}, {"l4", "multi-instance"});
    refused(chat + arguments{"--free", "h100:2", "--objective", "cost_per_token"}, {"objective", "price"});
    refused(chat + arguments{"--free", "h100:2", "--gpu", "l4"}, {"cluster.gpu", "absent"});
    refused({"place", "llama-3.1-8b", "qwen3-8b", "--free", "h100/any"}, {"gpu is any", "instances"});
    refused(chat + arguments{"--nodes", data + "queue.json"}, {"nodes", "a list of nodes"});
    refused({"place", data + "nodes.json", "--free", "h100"}, {"model"});
}
