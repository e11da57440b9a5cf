// SPDX-License-Identifier: MIT
#include <llmres/io/json/job/cost_json.hpp>

#include <doctest/doctest.h>

#include <llmres/io/json/remedy_patch.hpp>
#include <llmres/io/plan_json.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

using namespace llmres;
using nlohmann::json;

namespace {

json trained(const json& more = json::object()) {
    json document{{"model", "llama-3.2-1b"},
                  {"task", "pretraining"},
                  {"sequence", 1024},
                  {"cluster", {{"gpu", "h100"}, {"gpus", 8}}}};
    document.merge_patch(more);
    return document;
}
result<json> answered(const json& document) {
    const auto answer = answer_job(document);
    if (!answer) return answer.error();
    return detail::same_json<json>(to_json(*answer, {}));
}
json answer_of(const json& document) {
    const result<json> answer = answered(document);
    CAPTURE(document.dump());
    const error& e = answer.error();
    CAPTURE(std::string{e.field.view()});
    REQUIRE(answer);
    return *answer;
}

}  // namespace

TEST_CASE("a run's checkpoints take what the storage takes, unless the run says what they take itself") {
    const json storage{{"storage", {{"bandwidth", 1e9}}}};
    const auto run_with = [&](json run, const json& more) {
        run["tokens"] = 1e12;
        json document = trained(more);
        document["run"] = run;
        return answer_of(document);
    };
    for (const char* failing : {"mtbf", "gpu_mtbf"}) {
        const json stored = run_with({{failing, 1e6}}, storage);
        REQUIRE(stored["checkpoint"]["stall_at_least"] > 1.0);
        const double stall = stored["checkpoint"]["stall_at_least"];
        CHECK(stored["run"] == run_with({{failing, 1e6}, {"checkpoint", stall}}, json::object())["run"]);
        CHECK(stored["run"] != run_with({{failing, 1e6}, {"checkpoint", stall / 2}}, storage)["run"]);
        CHECK(run_with({{failing, 1e6}, {"checkpoint", 9}}, storage)["run"] ==
              run_with({{failing, 1e6}, {"checkpoint", 9}}, json::object())["run"]);
    }
    const json each_hour = run_with({{"checkpoint_interval", 3600}}, storage);
    CHECK(each_hour["run"]["checkpoint_interval"] == 3600);
    CHECK(each_hour["run"]["goodput"] < 1);
    CHECK(run_with(json::object(), storage)["run"]["goodput"] == 1);
    CHECK(run_with(json::object(), storage)["run"]["checkpoint_interval"].is_null());
    CHECK(run_with(json::object(), storage)["run"]["mtbf"].is_null());
    CHECK(run_with({{"mtbf", 1e6}}, storage)["run"]["mtbf"] == 1e6);
    // One that is written beside training is there before the next begins.
    const json often{{"tokens", 1e12}, {"checkpoint_interval", 2}};
    for (const char* mode : {"sync", "async"}) {
        json document = trained(storage);
        document["checkpoint"]["mode"] = mode;
        document["run"] = often;
        const bool is_beside = std::string_view{mode} == "async";
        CHECK(answered(document).has_value() != is_beside);
        if (is_beside) CHECK(answered(document).error().field == "run.checkpoint_interval");
        document["run"]["checkpoint"] = 1;
        CHECK(answered(document));
    }
}

TEST_CASE("training cannot go on from checkpoints of weights alone, and one of which failures are not told may be so") {
    json document = trained({{"storage", {{"bandwidth", 1e9}}},
                             {"checkpoint", {{"weights_only", true}}},
                             {"run", {{"tokens", 1e12}, {"mtbf", 1e6}}}});
    for (const char* failing : {"mtbf", "gpu_mtbf"}) {
        document["run"] = {{"tokens", 1e12}, {failing, 1e6}};
        CHECK(answered(document).error().field == "checkpoint.weights_only");
        CHECK(answered(document).error().code == error_code::inconsistent);
    }
    document["run"] = {{"tokens", 1e12}, {"checkpoint_interval", 3600}};
    CHECK(answered(document));
    document["run"] = {{"tokens", 1e12}, {"mtbf", 1e6}};
    document["checkpoint"] = {{"weights_only", false}};
    CHECK(answered(document));
}

TEST_CASE("a checkpoint is told with its seconds where a storage is known, and with what is kept where a number is") {
    const json timed = answer_of(trained({{"storage", {{"bandwidth", 1e9}}}}))["checkpoint"];
    CHECK(timed["seconds_at_least"] > 0.0);
    CHECK_FALSE(timed.contains("keep"));
    for (const int keep : {1, 2, 3}) {
        const json kept = answer_of(trained({{"checkpoint", {{"keep", keep}}}}))["checkpoint"];
        CHECK_FALSE(kept.contains("seconds_at_least"));
        CHECK_FALSE(kept.contains("stall_at_least"));
        CHECK(kept["keep"] == keep);
        CHECK(kept["kept_bytes"] == kept["bytes"].get<std::int64_t>() * keep);
        CHECK(kept["bytes"] == kept["weights"].get<std::int64_t>() + kept["optimizer"].get<std::int64_t>() +
                                   kept["again"].get<std::int64_t>());
    }
    const json plain = answer_of(trained());
    for (const char* key : {"checkpoint", "loading", "run", "cost"}) CHECK_FALSE(plain.contains(key));
}

TEST_CASE("a cost is told of an hour, of a million tokens by their kind, and of a run where there is one") {
    json served{{"model", "llama-3.1-8b"},
                {"context", 2048},
                {"cluster", {{"gpu", "h100"}}},
                {"cost", {{"gpu_hour", 2}, {"currency", "EUR"}}}};
    const json serving = answer_of(served)["cost"];
    CHECK(serving["currency"] == "EUR");
    CHECK(serving["hour"]["rent"]["expected"] == 2.0);
    for (const char* kind : {"generated_with_prompt", "input", "cached_input", "output"})
        CHECK(serving["million_tokens"].contains(kind));
    CHECK_FALSE(serving["million_tokens"].contains("trained"));
    CHECK_FALSE(serving.contains("run"));
    CHECK_FALSE(serving.contains("months_until_bought_is_cheaper"));
    CHECK_FALSE(serving["hour"].contains("kwh"));
    served["cost"] = {{"gpu_hour", 2}, {"gpu_price", 20'000}, {"gpu_life", 4}, {"electricity", 0.2}, {"carbon", 400}};
    const json bought = answer_of(served)["cost"];
    CHECK(bought["currency"].is_null());
    CHECK(bought["months_until_bought_is_cheaper"] > 1.0);
    for (const char* kind : {"rent", "ownership", "kwh", "carbon_kg"}) {
        const json& hour = bought["hour"][kind];
        CHECK(hour["low"] <= hour["expected"]);
        CHECK(hour["expected"] <= hour["high"]);
        CHECK(hour["high"] > 0.0);
    }
    const json training = answer_of(trained({{"cost", {{"gpu_hour", 2}}}, {"run", {{"tokens", 1e9}}}}))["cost"];
    CHECK(training["hour"]["rent"]["expected"] == 16.0);
    CHECK(training["million_tokens"].contains("trained"));
    for (const char* kind : {"generated_with_prompt", "input", "cached_input", "output"})
        CHECK_FALSE(training["million_tokens"].contains(kind));
    CHECK(training["run"]["rent"]["expected"] > 0.0);
}

TEST_CASE("the loading of served weights is told where a storage is known") {
    const json served{{"model", "llama-3.1-8b"},
                      {"context", 2048},
                      {"cluster", {{"gpu", "h100"}}},
                      {"storage", {{"bandwidth", 1e9}}}};
    const json answer = answer_of(served);
    CHECK(answer["loading"]["bytes"] == 16'060'522'496);
    CHECK(answer["loading"]["seconds_at_least"] == doctest::Approx(16.06).epsilon(0.01));
    CHECK_FALSE(answer.contains("checkpoint"));
}

TEST_CASE("a layout's patch has the degrees that differ, and those that the reader chose") {
    const auto patch = [](json document, const layout& wanted) {
        document.update({{"model", "qwen3-30b-a3b"}, {"cluster", {{"gpu", "h100"}, {"gpus", 16}}}});
        const result<plan_request> read = read_job(document);
        REQUIRE(read);
        return detail::layout_patch(wanted, document, *read);
    };
    const layout wanted{.tensor = 4, .data = 2};
    CHECK(patch(json::object(), layout{}) == json{{"data", 1}});
    CHECK(patch(json::object(), wanted) == json{{"tensor", 4}, {"data", 2}});
    CHECK(patch({{"layout", {{"tensor", 4}, {"data", 4}}}}, wanted) == json{{"data", 2}});
    CHECK(patch({{"layout", {{"tensor", 4}, {"data", 2}}}}, wanted) == json::object());
    CHECK(patch({{"layout", {{"tensor", 4}}}}, wanted) == json{{"data", 2}});
    CHECK(patch({{"layout", {{"tensor", 4}, {"data", 2}, {"expert", 2}}}}, wanted) == json{{"expert", 1}});
    const layout dealt{.tensor = 4, .data = 2, .expert = 8, .expert_tensor = 1};
    CHECK(patch({{"layout", {{"tensor", 4}, {"data", 2}}}}, dealt) == json{{"expert", 8}, {"expert_tensor", 1}});
    CHECK(patch({{"layout", {{"tensor", 4}, {"data", 2}, {"expert", 8}, {"expert_tensor", 1}}}}, dealt) ==
          json::object());
    CHECK(patch({{"layout", {{"tensor", 4}, {"data", 2}, {"expert", 8}, {"expert_tensor", 1}}}}, wanted) ==
          json{{"expert", 1}, {"expert_tensor", 4}});
}

TEST_CASE("checkpoints that take no time leave a run as it is, and those that take some are the run's") {
    const training_run failing{.mtbf = hours(24.0)};
    const auto with_stall = [&](duration stall) {
        storage_answer stored;
        stored.checkpoint.known = true;
        stored.saving.known = true;
        stored.saving.value.stall = stall;
        return detail::with_checkpoint_time(failing, stored).checkpoint;
    };
    CHECK_FALSE(with_stall(duration{}));
    CHECK(with_stall(seconds(5)) == maybe<duration>{seconds(5)});
    CHECK_FALSE(detail::with_checkpoint_time(failing, {}).checkpoint);
}
