// SPDX-License-Identifier: MIT
// Questions as people type them: how long does a training take, what does it cost, and what do a million tokens?
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace program_checks;
using nlohmann::json;

namespace {

const arguments pretraining{"plan", "llama-3.1-8b", "--task", "pretraining", "--gpu",    "h100-sxm5-80gb", "--gpus",
                            "64",   "--sequence",   "8192",   "--runtime",   "megatron", "--global_batch", "512"};
const arguments tuning{"plan", "llama-3.1-8b", "--task", "finetuning", "--gpu",      "h100-sxm5-80gb", "--gpus",
                       "8",    "--sequence",   "2048",   "--runtime",  "huggingface"};
const arguments chat{"plan", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--prompt", "2000", "--output",
                     "500",  "--batch",      "32",    "--runtime",      "vllm"};
const std::string prices = LLMRES_SOURCE_DIR "/tests/data/prices.json";

double expected(const json& bounds) { return bounds["expected"].get<double>(); }

/// The line of a page that begins with these words.
std::string line_of(const std::string& page, std::string_view begin) {
    const std::size_t at = page.find("\n" + std::string{begin});
    return at == std::string::npos ? "" : page.substr(at + 1, page.find('\n', at + 1) - at - 1);
}

}  // namespace

TEST_CASE("1. How many days and GPU hours are 15 trillion tokens on 64 H100?") {
    const json run = planned(pretraining + arguments{"--tokens", "15T"})["run"];
    const double step = planned(pretraining)["time"]["step"];
    CHECK(run["steps"] == 3'576'279);  // 15e12 / (512 x 8,192), rounded up
    CHECK(run["tokens"] == std::int64_t{3'576'279} * 512 * 8192);
    CHECK(run["rounded_up"] == std::int64_t{3'576'279} * 512 * 8192 - 15'000'000'000'000);
    CHECK(expected(run["days"]) == doctest::Approx(step * 3'576'279 / 86'400));
    CHECK(expected(run["gpu_hours"]) == doctest::Approx(expected(run["days"]) * 24 * 64));
    CHECK(run["days"]["low"] < run["days"]["expected"]);
    CHECK(run["days"]["expected"] < run["days"]["high"]);
    const std::string page = line_of(run_program::run(pretraining + arguments{"--tokens", "15T"}).out, "run ");
    CHECK(page.find("3576279 steps (rounded up by 1314816 tokens)") != std::string::npos);
    CHECK(page.find(" days (") != std::string::npos);
    CHECK(page.find(" GPU hours (") != std::string::npos);
}

TEST_CASE("2. How long is fine-tuning on 25,000 samples for three epochs, packed or not?") {
    const json each = planned(tuning + arguments{"--epochs", "3", "--samples", "25000"})["run"];
    CHECK(each["steps"] == 3 * 25'000 / 8);
    const json packed =
        planned(tuning + arguments{"--epochs", "3", "--samples", "25k", "--sample_tokens", "400"})["run"];
    CHECK(packed["steps"] == 1832);  // 3 x 25,000 x 400 / (8 x 2,048) = 1,831.05
}

TEST_CASE("3. How often should I write checkpoints, and how much time is lost?") {
    const arguments asked =
        pretraining + arguments{"--tokens", "15T", "--mtbf", "3h", "--checkpoint", "30s", "--restart", "5min"};
    const json run = planned(asked)["run"];
    // Daly: sqrt(2 x 30 x 10,800) (1 + sqrt(30 / 21,600) / 3 + (30 / 21,600) / 9) - 30.
    const double part = 30.0 / 21'600;
    CHECK(run["checkpoint_interval"].get<double>() ==
          doctest::Approx(std::sqrt(2 * 30.0 * 10'800) * (1 + std::sqrt(part) / 3 + part / 9) - 30));
    const double interval = run["checkpoint_interval"];
    const double goodput = interval / (10'800 * std::exp(300 / 10'800.0) * std::expm1((interval + 30) / 10'800));
    CHECK(run["goodput"].get<double>() == doctest::Approx(goodput));
    CHECK(expected(run["seconds"]) == doctest::Approx(expected(run["computing_seconds"]) / goodput));
    CHECK(run_program::run(asked).out.find("(chosen: least time lost)") != std::string::npos);
    const json by_gpu = planned(
        pretraining + arguments{"--tokens", "15T", "--gpu_mtbf", "192h", "--checkpoint", "30", "--restart", "300"});
    CHECK(by_gpu["run"] == run);  // 192 h of one are 3 h of 64
}

TEST_CASE("4. What does the run cost at 2.50 dollars an hour, how much energy is it and how much carbon dioxide?") {
    const json answer = planned(
        pretraining + arguments{"--tokens", "1T", "--gpu_hour", "$2.50/h", "--pue", "1.2", "--carbon", "400g/kWh"});
    const json& cost = answer["cost"];
    const double gpu_hours = expected(answer["run"]["gpu_hours"]);
    CHECK(cost["currency"] == "USD");
    CHECK(expected(cost["run"]["rent"]) == doctest::Approx(gpu_hours * 2.5));
    CHECK(expected(cost["run"]["kwh"]) == doctest::Approx(gpu_hours * 0.7 * 1.2));
    CHECK(expected(cost["run"]["carbon_kg"]) == doctest::Approx(gpu_hours * 0.7 * 1.2 * 0.4));
    CHECK(expected(cost["million_tokens"]["trained"]["rent"]) == doctest::Approx(gpu_hours * 2.5 / 1e6).epsilon(1e-4));
    CHECK(cost["run"]["rent"]["low"] < cost["run"]["rent"]["high"]);
}

TEST_CASE("a million trained tokens cost their part of the run, checkpoints and failures included") {
    const json answer = planned(pretraining + arguments{"--tokens", "1T", "--gpu_hour", "2.5", "--mtbf", "3h",
                                                        "--checkpoint", "5min", "--restart", "10min"});
    CHECK(answer["run"]["goodput"].get<double>() < 0.8);
    CHECK(expected(answer["cost"]["million_tokens"]["trained"]["rent"]) ==
          doctest::Approx(expected(answer["cost"]["run"]["rent"]) / 1e6).epsilon(1e-4));
}

TEST_CASE("a layout that trains for less than the interval of checkpoints has no run beside those that have one") {
    const arguments asked = arguments{"search"} + arguments(pretraining.begin() + 1, pretraining.end()) +
                            arguments{"--tokens", "1B", "--gpu_hour", "2.5", "--top", "1000"};
    const auto seconds_of = [](const json& found) { return expected(found["run"]["seconds"]); };
    const json whole = run(asked + arguments{"--json"}).json()["best"];
    const double shortest = seconds_of(whole.front()), longest = seconds_of(whole.back());
    REQUIRE(shortest < longest);
    const arguments between =
        asked + arguments{"--checkpoint", "1s", "--checkpoint_interval", std::to_string((shortest + longest) / 2)};
    const json best = run(between + arguments{"--json"}).json()["best"];
    REQUIRE(best.size() == whole.size());
    CHECK(!best.front().contains("run"));
    CHECK(!best.front()["cost"].contains("run"));
    CHECK(best.front()["cost"]["million_tokens"] == whole.front()["cost"]["million_tokens"]);
    CHECK(seconds_of(best.back()) > longest);
    CHECK(run(between).out.find("  -  ") != std::string::npos);
    refused(asked + arguments{"--checkpoint", "1s", "--checkpoint_interval", "99d"}, {"run.checkpoint_interval is"});
}

TEST_CASE("5. What do a million tokens cost: input, cached input and output?") {
    const json answer = planned(chat + arguments{"--gpu_hour", "2.5", "--pue", "1"});
    const json& million = answer["cost"]["million_tokens"];
    const double second = 2.5 / 3600;
    CHECK(expected(million["output"]["rent"]) ==
          doctest::Approx(answer["time"]["time_per_output_token"].get<double>() / 32 * second * 1e6));
    CHECK(expected(million["input"]["rent"]) ==
          doctest::Approx(answer["time"]["time_to_first_token"].get<double>() / 2000 * second * 1e6));
    CHECK(expected(million["generated_with_prompt"]["rent"]) ==
          doctest::Approx(second * 1e6 / answer["time"]["tokens_per_second"].get<double>()));
    CHECK(expected(million["cached_input"]["rent"]) < expected(million["input"]["rent"]));
    CHECK(answer["cost"]["currency"].is_null());
    // Joules a token: 700 W at so many tokens a second.
    CHECK(expected(million["generated_with_prompt"]["kwh"]) * 3.6 ==
          doctest::Approx(700 / answer["time"]["tokens_per_second"].get<double>()));
    const std::string page = run(chat + arguments{"--gpu_hour", "2.5", "--pue", "1"}).out;
    for (const char* line : {"input ", "cached input ", "output ", "output with its prompt "})
        CHECK(page.find("\n           " + std::string{line}) != std::string::npos);
    CHECK(page.find(" J a token") != std::string::npos);
}

TEST_CASE("what do a million tokens cost on a card that I have?") {
    const arguments asked{"plan",      "llama-3.1-8b", "--gpu", "rtx-4090", "-q",  "q4_k_m",        "--runtime",
                          "llama.cpp", "--prompt",     "1000",  "--output", "300", "--electricity", "0.3"};
    const json answer = planned(asked);
    const double second = 0.45 * 0.3 / 3600;  // 450 W
    CHECK(expected(answer["cost"]["million_tokens"]["generated_with_prompt"]["ownership"]) ==
          doctest::Approx(second * 1e6 / answer["time"]["tokens_per_second"].get<double>()));
    CHECK(run(asked).out.find(" of electricity, ") != std::string::npos);
}

TEST_CASE("6. Rent or buy: in which month do they meet?") {
    const json cost = planned(chat + arguments{"--gpu_hour", "2.5", "--gpu_price", "30k", "--gpu_life", "4y"})["cost"];
    CHECK(cost["months_until_bought_is_cheaper"].get<double>() == doctest::Approx(30'000 / (2.5 * 730.5)));
    // 30,000 over four years of 8,766 h.
    CHECK(expected(cost["hour"]["ownership"]) == doctest::Approx(30'000 / (4 * 8766.0)));
    CHECK(run(chat + arguments{"--gpu_hour", "2.5", "--gpu_price", "30k"}).out.find("after 16.4 months") !=
          std::string::npos);
    CHECK(run(chat + arguments{"--gpu_hour", "0.1", "--gpu_price", "30k", "--electricity", "0.2"})
              .out.find("never cheaper") != std::string::npos);
}

TEST_CASE("7. Which layout serves a token for the least money or energy, and how much is it?") {
    const arguments asked =
        arguments{"search"} + arguments(chat.begin() + 1, chat.end()) + arguments{"--gpus", "4", "--top", "3"};
    const auto by = [&](const arguments& more, const char* key, const char* column) {
        const json best = run(asked + more + arguments{"--json"}).json()["best"];
        double last = 0;
        for (const json& found : best) {
            const double now = expected(found["cost"]["million_tokens"]["generated_with_prompt"][key]);
            CHECK(now >= last * 0.9999);
            last = now;
        }
        CHECK(last > 0);
        CHECK(run(asked + more).out.find(column) != std::string::npos);
    };
    by({"--objective", "cost_per_token", "--gpu_hour", "2.5"}, "rent", "cost a million");
    by({"--objective", "energy_per_token"}, "kwh", "J a token");
}

TEST_CASE("8. Which GPU is cheapest for a token, with what each of them costs?") {
    const arguments asked{"compare",   "llama-3.1-8b", "--gpu",     "h100-sxm5-80gb,l4",
                          "--context", "4096",         "--runtime", "vllm"};
    const json rows =
        run(asked + arguments{"--gpu_hour", "2EUR/h", "--sort", "cost_per_token", "--json"}).json()["rows"];
    REQUIRE(rows.size() == 2);
    const auto cost = [&](std::size_t row) {
        return expected(rows[row]["cost"]["million_tokens"]["generated_with_prompt"]["rent"]);
    };
    CHECK(cost(0) <= cost(1));
    CHECK(run(asked + arguments{"--sort", "energy_per_token"}).out.find("J a token") != std::string::npos);
    refused(asked + arguments{"--sort", "cost_per_token"}, {"gpu_hour"});
}

TEST_CASE("9. What does it cost to serve 20 requests a second?") {
    const json answer = run({"replicas", "llama-3.1-70b", "--gpu", "h100-sxm5-80gb", "--prompt", "2000", "--output",
                             "500", "--requests_per_second", "20", "--runtime", "vllm", "--gpu_hour", "2", "--json"})
                            .json();
    const json& best = answer["best"][0];
    CHECK(expected(best["expense"]["hour"]["rent"]) == 2 * best["gpus"].get<double>());
    // 20 x 500 tokens a second are 36 million an hour.
    CHECK(expected(best["expense"]["million_tokens"]["rent"]) == doctest::Approx(2 * best["gpus"].get<double>() / 36));
    CHECK(best["expense"]["hour"]["rent"]["low"].get<double>() == 2 * best["gpus"].get<double>() /
                                                                      best["replicas"].get<double>() *
                                                                      best["replicas_bounds"]["low"].get<double>());
}

TEST_CASE("10. What does a table of prices say: bought over a life, and a cloud's instances?") {
    // One GPU: the instance of one at 3 an hour; of the eight at 20 all are paid.
    const json one = planned(chat + arguments{"--prices", prices})["cost"];
    CHECK(one["currency"] == "EUR");
    CHECK(expected(one["hour"]["rent"]) == 3);
    CHECK(expected(one["hour"]["kwh"]) == doctest::Approx(1.275 * 1.3));
    CHECK(expected(one["hour"]["carbon_kg"]) == doctest::Approx(1.275 * 1.3 * 0.4));
    CHECK(expected(one["hour"]["ownership"]) == doctest::Approx(30'000 / (4 * 8766.0) + 1.275 * 1.3 * 0.2));
    CHECK(one["months_until_bought_is_cheaper"].get<double>() ==
          doctest::Approx(30'000 / ((3 - 1.275 * 1.3 * 0.2) * 730.5)));
    const json eight = planned(chat + arguments{"--prices", prices, "--gpus", "8", "--data", "8"})["cost"];
    CHECK(expected(eight["hour"]["rent"]) == doctest::Approx(20));
    // What is said goes over the table.
    CHECK(expected(planned(chat + arguments{"--prices", prices, "--gpu_hour", "4"})["cost"]["hour"]["rent"]) == 4);
    const json bought = run({"buy", "llama-3.1-8b", "--context", "8192", "--runtime", "vllm", "--budget", "35000",
                             "--prices", prices, "--json"})
                            .json()["best"];
    for (const json& b : bought) {
        const bool rented = b["gpu"] == "h100-sxm5-80gb";
        CHECK(b.contains("expense") == rented);  // no instance has the other card, and its life is not said
        if (rented) CHECK(expected(b["expense"]["month"]["rent"]) == doctest::Approx(3 * 730.5));
    }
}

TEST_CASE("a plan that is not asked for days or money has neither") {
    for (const arguments& asked : {pretraining, chat}) {
        const json answer = planned(asked);
        CHECK_FALSE(answer.contains("run"));
        CHECK_FALSE(answer.contains("cost"));
        const std::string page = run(asked).out;
        CHECK(line_of(page, "run ").empty());
        CHECK(line_of(page, "cost ").empty());
    }
    const json timed = planned(pretraining + arguments{"--tokens", "1T"});
    CHECK_FALSE(timed.contains("cost"));
}

TEST_CASE("what is wrong with a run, a price or a table is named") {
    refused(pretraining + arguments{"--tokens", "15X"}, {"run.tokens is", "15X"});
    refused(pretraining + arguments{"--tokens", "-5"}, {"run.tokens is -5"});
    refused(pretraining + arguments{"--tokens", "1B", "--samples", "3"}, {"run.samples is 3"});
    refused(pretraining + arguments{"--epochs", "3"}, {"run.samples"});
    refused(pretraining + arguments{"--tokens", "1B", "--mtbf", "3h"}, {"run.checkpoint is absent"});
    refused(pretraining + arguments{"--tokens", "1B", "--mtbf", "3m"}, {"mtbf is 3m", "min"});
    refused(pretraining + arguments{"--tokens", "1B", "--checkpoint", "30s", "--checkpoint_interval", "99d"},
            {"run.checkpoint_interval is 8553600", "seconds of the run"});
    refused(chat + arguments{"--tokens", "15T"}, {"run is", "pretraining"});
    refused(chat + arguments{"--gpu_hour", "-1"}, {"cost.gpu_hour is -1"});
    refused(chat + arguments{"--gpu_hour", "2XYZ/h"}, {"gpu_hour is 2XYZ/h", "ISO 4217"});
    refused(chat + arguments{"--gpu_hour", "\u00a52"}, {"JPY or CNY"});
    refused(chat + arguments{"--gpu_hour", "$2", "--electricity", "\u20ac0.1"}, {"electricity is", "one currency"});
    refused(chat + arguments{"--currency", "DOLLARS"}, {"cost.currency"});
    refused(chat + arguments{"--carbon", "-3"}, {"cost.carbon is -3"});
    refused(chat + arguments{"--pue", "0.5"}, {"cost.pue is 0.5"});
    refused(chat + arguments{"--gpu_price", "30000"}, {"cost.gpu_life is absent"});
    refused(chat + arguments{"--prices", "/no/such/file"}, {"prices is /no/such/file", "read"});
}

TEST_CASE("a table of prices is read key by key") {
    const run_program::scratch folder;
    const auto refuses = [&](std::string_view content, const std::vector<std::string>& words) {
        refused(chat + arguments{"--prices", folder.file("prices.json", std::string{content})}, words);
    };
    refuses(R"({"h1000": 5})", {"cost.prices is h1000", "h100"});
    refuses(R"({"l4": 5})", {"cost.prices is h100-sxm5-80gb", "has a price"});
    refuses(R"({"gpus": {"h100": {"price": -5}}})", {"cost.prices.gpus.h100.price is -5"});
    refuses(R"({"gpus": {"h100": {"cost": 5}}})", {"cost.prices.gpus.h100.cost"});
    refuses(R"({"instances": {"a": {"gpu": "h100", "hour": -5}}})", {"cost.prices.instances.a.hour is -5"});
    refuses(R"({"instances": {"a": {"gpu": "h100"}}})", {"cost.prices.instances.a.hour"});
    refuses(R"({"instances": {"a": {"gpu": "h100", "hour": 5}}, "cards": 5})", {"cost.prices.cards"});
    refuses(R"({"instances": {"a": {"gpu": "h100", "hour": 5}}, "currency": "XYZ"})", {"cost.currency is XYZ"});
    refuses(R"({"instances": {"a": {"gpu": "h100", "hour": 5}}, "pue": 0.2})", {"cost.prices.pue is 0.2"});
    refuses("gpu,price\n", {"prices is", "JSON"});
    const std::string euros =
        folder.file("prices.json", R"({"currency": "EUR", "instances": {"a": {"gpu": "h100", "hour": 5}}})");
    refused(chat + arguments{"--prices", euros, "--gpu_hour", "$2"}, {"cost.currency is USD", "EUR"});
}

TEST_CASE("a plan's command asks the same again, with what was asked of days and money") {
    const std::string page =
        run(arguments{"plan", "llama-3.1-70b", "--gpu", "rtx-4090", "--context", "4096", "--gpu_hour", "$0.4/h"}).out;
    CHECK(page.find("--gpu_hour '$0.4/h'") != std::string::npos);
}
