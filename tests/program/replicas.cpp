// SPDX-License-Identifier: MIT
// Questions as people type them: how many GPUs do so many requests a second need?
#include <doctest/doctest.h>

#include "../program_checks.hpp"
#include "shell_words.hpp"

#include <string>

using namespace program_checks;
using nlohmann::json;

namespace {

const arguments chat{"replicas",  "llama-3.1-8b", "--gpu", "l4",       "--runtime",
                     "vllm@0.19", "--prompt",     "1000",  "--output", "200"};

arguments asked(const arguments& more) { return chat + more; }

json sized(const arguments& more, int exit = fits) {
    const outcome answer = run(asked(more) + arguments{"--json"});
    CHECK(answer.exit == exit);
    return answer.json();
}

}  // namespace

TEST_CASE("how many replicas a rate of requests needs, and the command that plans one gives the times that were said") {
    const json answer = sized({"--requests_per_second", "9", "--max_time_per_token", "0.15"});
    CHECK(answer["arrivals"] == "random");
    CHECK_FALSE(answer["assumed"].contains("batch"));
    for (const json& r : answer["best"]) {
        CHECK(r["replicas"].get<double>() * r["requests_per_second"].get<double>() >= 9);
        CHECK(r["time_per_output_token"].get<double>() <= 0.15);
        CHECK(r["gpus"].get<int>() >= answer["best"][0]["gpus"].get<int>());
    }
    const json& best = answer["best"][0];
    arguments words = shell_words(best["command"]);
    words.erase(words.begin());  // llmres
    const json plan = run(words + arguments{"--json"}).json();
    CHECK(plan["verdict"] == "fits");
    CHECK(plan["time"]["steady"]["in_flight"] == best["in_flight"]);
    CHECK(plan["time"]["steady"]["time_per_output_token"].get<double>() ==
          doctest::Approx(best["time_per_output_token"].get<double>()).epsilon(1e-9));
}

TEST_CASE("a page shows replicas with bounds and the command that starts one; what Layout gives is fixed") {
    const outcome page = run(asked({"--requests_per_second", "9", "--tensor", "2", "--pipeline", "1"}));
    CHECK(page.exit == fits);
    CHECK(page.out.find("GPUs, tensor 2") != std::string::npos);
    CHECK(page.out.find("1 GPU\n") == std::string::npos);
    CHECK(page.out.find("launch   vllm serve") != std::string::npos);
}

TEST_CASE("users ask in place of a rate, each with one request at a time, and think between two") {
    const json busy = sized({"--users", "500", "--tpot", "200ms"});
    CHECK(busy["users"] == 500);
    CHECK_FALSE(busy.contains("requests_per_second"));
    for (const json& r : busy["best"]) {
        CHECK(r["replicas"].get<double>() * r["users"].get<double>() >= 499.999);
        CHECK(r["users"].get<double>() <= r["in_flight"].get<double>() * 1.00001);
        CHECK(r["users_bounds"]["low"] <= r["users"]);
        CHECK(r["users"] <= r["users_bounds"]["high"]);
    }
    const json patient = sized({"--concurrent-users", "500", "--think-time", "1min", "--tpot", "200ms"});
    CHECK(patient["think_time"] == 60);
    CHECK(patient["best"][0]["gpus"].get<int>() < busy["best"][0]["gpus"].get<int>());
    const outcome page = run(asked({"--users", "500", "--think_time", "1min"}));
    CHECK(page.out.find("500 users who think for 1 min, one request each at a time, of 1000 + 200 tokens") !=
          std::string::npos);
    CHECK(page.out.find("users of each") != std::string::npos);
    refused(asked({"--users", "-1"}), {"users is -1", "1 to"});
    refused(asked({"--users", "5", "--rps", "3"}), {"users is 5", "not both"});
    refused(asked({"--rps", "3", "--think_time", "5"}), {"think_time", "users"});
    refused(asked({"--users", "3", "--think_time", "-5"}), {"think_time is -5"});
    refused(asked({}), {"--requests_per_second", "--users"});
}

TEST_CASE("where no layout holds the job, there is none") {
    const arguments large{"replicas", "llama-3.1-405b",        "--gpu", "l4", "--prompt", "1000", "--output",
                          "200",      "--requests_per_second", "1"};
    const outcome answer = run(large);
    CHECK(answer.exit == does_not_fit);
    CHECK(answer.out.find("no layout") != std::string::npos);
}

TEST_CASE("rates, limits and lengths that may not be are refused by name") {
    refused(asked({"--requests_per_second", "0"}), {"requests_per_second is 0", "above 0"});
    refused(asked({"--requests_per_second", "nan"}), {"requests_per_second is nan", "above 0"});
    refused(asked({"--requests_per_second", "1e300"}), {"requests_per_second", "a billion"});
    refused(asked({"--requests_per_second", "1", "--max_time_per_token", "-1"}), {"max_time_per_token is -1", "0 or"});
    refused(asked({"--requests_per_second", "1", "--max_time_to_first_token", "0.001"}),
            {"max_time_to_first_token is 1000", "at least"});
    refused(asked({"--requests_per_second", "1", "--arrivals", "bursty"}), {"arrivals is bursty", "random, even"});
    refused(asked({"--requests_per_second", "1", "--batch", "8"}), {"batch is 8", "sequences in flight are searched"});
    refused(asked({"--requests_per_second", "1", "--top", "0"}), {"top is 0", "1 to 1000"});
    refused({"replicas", "llama-3.1-8b", "--gpu", "l4", "--requests_per_second", "1"}, {"prompt is 0", "request's"});
    refused({"replicas", "llama-3.1-8b", "--gpu", "l4", "--task", "pretraining", "--sequence", "512",
             "--requests_per_second", "1"},
            {"task is pretraining", "serving"});
}
