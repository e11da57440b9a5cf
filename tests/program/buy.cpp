// SPDX-License-Identifier: MIT
// Questions as people type them: what should I buy for this model under this budget?
#include <doctest/doctest.h>

#include "../program_checks.hpp"
#include "shell_words.hpp"

#include <string>
#include <string_view>

using namespace program_checks;
using nlohmann::json;

namespace {

const arguments chat{"buy", "llama-3.1-8b", "--runtime", "vllm", "--batch", "16", "--context", "4096"};

json bought(const arguments& asked, int exit = fits) {
    const outcome answer = run(asked + arguments{"--json"});
    CHECK(answer.exit == exit);
    return answer.json();
}

}  // namespace

TEST_CASE("what to buy for a model under a budget, and the command that plans it gives the speed that was said") {
    const json answer =
        bought(chat + arguments{"--budget", "20000", "--price", "rtx-4090=1800,l4=2500", "--machine", "1500"});
    REQUIRE(answer["best"].size() == 2);
    const json& best = answer["best"][0];
    CHECK(best["cost"] <= 20000);
    CHECK(best["tokens_per_second"] >= answer["best"][1]["tokens_per_second"]);
    CHECK(answer["assumed"].contains("weights"));
    arguments words = shell_words(best["command"]);
    words.erase(words.begin());  // llmres
    const json plan = run(words + arguments{"--json"}).json();
    CHECK(plan["verdict"] == "fits");
    CHECK(plan["time"]["tokens_per_second"].get<double>() ==
          doctest::Approx(best["tokens_per_second"].get<double>()).epsilon(1e-9));
}

TEST_CASE("several machines, a limit of power, and why nothing larger is bought") {
    const arguments three = chat + arguments{"--budget", "90000", "--price", "rtx-4090=1800", "--machines", "3"};
    CHECK(bought(three)["best"][0]["machines"].get<int>() >= 1);
    const json powered = bought(three + arguments{"--power", "1000"})["best"][0];
    CHECK(powered["gpus"].get<int>() * 450 <= 1000);
    CHECK(powered["bound"] == "board_power");
    const outcome page = run(three + arguments{"--power", "1000"});
    CHECK(page.out.find("machines are joined by") != std::string::npos);
    CHECK(page.out.find("the power") != std::string::npos);
}

TEST_CASE("a price table is a file, with room for GPUs by kind") {
    const run_program::scratch folder;
    const auto written = [&](std::string_view content) { return folder.file("prices.json", content); };
    const std::string file = written(R"({"l4": {"price": 2500, "slots": 2}, "rtx-4090": 1800})");
    const json answer = bought(chat + arguments{"--budget", "20000", "--prices", file});
    for (const json& p : answer["best"])
        if (p["gpu"] == "l4-24gb") CHECK(p["gpus"].get<int>() <= 2);
    written(R"({"l4": {"cost": 2500}})");
    refused(chat + arguments{"--budget", "20000", "--prices", file}, {"price.l4.cost", "slots"});
    written("gpu,price\nl4,2500\n");
    refused(chat + arguments{"--budget", "20000", "--prices", file}, {"prices is " + file, "a JSON object"});
}

TEST_CASE("without a budget and prices, the smallest GPUs that hold the job are listed") {
    const outcome answer = run({"buy", "llama-3.1-8b", "--qlora", "--seq", "2048"});
    CHECK(answer.exit == fits);
    CHECK(answer.out.find("verdict") != std::string::npos);
    CHECK(answer.err.find("--budget and --price") != std::string::npos);
    refused({"buy", "llama-3.1-8b", "--budget", "9000"}, {"price is absent"});
}

TEST_CASE("nothing that the budget pays for holds the job") {
    const arguments large{"buy",  "llama-3.1-405b", "--runtime", "vllm",    "--context",
                          "2048", "--budget",       "9000",      "--price", "rtx-4090=1800"};
    const json answer = bought(large, does_not_fit);
    CHECK(answer["best"].empty());
    REQUIRE(answer["most"].size() == 1);
    const json& most = answer["most"][0];
    CHECK(most["gpus"] == 4);
    CHECK(most["cost"] == 7200);
    CHECK(most["bound"] == "room");
    CHECK(most["needs"].get<double>() > most["usable"].get<double>());
    const std::string page = run(large).out;
    CHECK(page.find("Nothing that the budget pays for holds the job.") != std::string::npos);
    CHECK(page.find("4 x rtx-4090  7200") != std::string::npos);
    const json fifth = bought(large + arguments{"--slots", "8"}, does_not_fit)["most"][0];
    CHECK(fifth["gpus"] == 5);
    CHECK(fifth["bound"] == "budget");
}

TEST_CASE("a kind of which no number holds the job is told beside what to buy") {
    const arguments cards{"buy",  "llama-3.1-70b", "--runtime", "vllm",    "--context",
                          "8192", "--budget",      "50000",     "--price", "l40s=8000,rtx-5090=2500"};
    const json answer = bought(cards, fits);
    REQUIRE(answer["best"].size() == 1);
    REQUIRE(answer["most"].size() == 1);
    CHECK(answer["most"][0]["gpu"] == "rtx-5090");
    CHECK(answer["most"][0]["needs"].get<double>() > answer["most"][0]["usable"].get<double>());
    CHECK(run(cards).out.find("The most of each other kind does not hold the job:") != std::string::npos);
    CHECK_FALSE(bought(cards + arguments{"--top", "1"}, fits).contains("most"));  // one was asked for
}

TEST_CASE("prices, budgets and limits that may not be are refused by name") {
    const auto with = [](const arguments& more) { return chat + more; };
    refused(with({"--budget", "100", "--price", "rtx-4090=1800"}), {"budget is 100", "1800"});
    refused(with({"--budget", "5000", "--price", "rtx4900=1"}), {"price is rtx4900", "rtx-4090"});
    refused(with({"--budget", "5000", "--price", "l4=-3"}), {"price.l4.price is -3", "0 or more"});
    refused(with({"--budget", "5000", "--price", "l4"}), {"price is l4", "rtx-4090=1800"});
    refused(with({"--budget", "5000"}), {"price is absent", "--prices FILE"});
    refused(with({"--budget", "5000", "--price", "l4=1", "--gpu", "l4"}), {"gpu is l4", "the prices name"});
    refused(with({"--budget", "5000", "--price", "l4=1", "--power", "20"}), {"power is 20", "watts"});
    refused(with({"--budget", "5000", "--price", "l4=1", "--machines", "0"}), {"machines is 0", "1 to 64"});
    refused(with({"--budget", "5000", "--price", "l4=1", "--slots", "99"}), {"slots is 99", "1 to 64"});
    refused(with({"--budget", "5000", "--price", "l4=1", "--machine", "-5"}), {"machine is -5", "0 or more"});
    refused(with({"--budget", "nan", "--price", "l4=1"}), {"budget is nan", "finite"});
    refused(with({"--budget", "5000", "--prices", "/no/such/file"}), {"prices is /no/such/file", "read"});
    refused(with({"--budget", "5000", "--price", "l4=1", "--objective", "cheap"}), {"objective is cheap", "batch"});
}
