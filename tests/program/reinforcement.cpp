// SPDX-License-Identifier: MIT
// Questions as people type them: does GRPO or PPO fit, which phase is the fullest, and how long is a step?
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <llmres/values/to_string.hpp>
#include <llmres/values/units.hpp>
#include <set>
#include <string>
#include <string_view>

using namespace program_checks;
using nlohmann::json;

namespace {

json said(const arguments& asked) { return run(asked + arguments{"--json"}).json(); }
json phases(const arguments& asked) { return said(asked)["reinforcement"]; }
json phase(const json& step, std::string_view name) {
    for (const json& one : step["phases"])
        if (one["phase"] == name) return one;
    return {};
}
double expected(const json& bounds) { return bounds["expected"].get<double>(); }

const arguments hobby{"plan", "qwen2.5-1.5b", "--task", "grpo", "--gpu", "rtx-4090", "--runtime", "trl"};
const arguments eight{"plan", "qwen2.5-7b", "--task", "grpo",          "--gpu", "h100-sxm5-80gb", "--gpus",
                      "8",    "--runtime",  "verl",   "--micro_batch", "2",     "--global_batch", "256"};

}  // namespace

TEST_CASE("1. Does GRPO of a 1.5B fit on one RTX 4090, with LoRA and in full?") {
    CHECK(run(hobby).exit == 1);
    const auto adapted = run(hobby + arguments{"--lora", "true"});
    CHECK(adapted.exit == 0);
    CHECK(adapted.out.find("qwen2.5-1.5b, finetuning by grpo on 1 x GeForce RTX 4090, runtime huggingface: fits") == 0);
    CHECK(adapted.out.find("8 answers of at most 512 tokens by transformers, 8 at once") != std::string::npos);
}

TEST_CASE("2. Which moment is the fullest, and does the exit code know it?") {
    const arguments awake = eight + arguments{"--rollout_sleep", "awake", "--rollout_gpu_memory_utilization", "0.9"};
    const json step = phases(awake);
    CHECK(run(awake).exit == 1);
    CHECK(said(awake)["verdict"] == "does_not_fit");
    CHECK(step["worst"] == "training");
    const json fuller = phase(step, "training");
    CHECK(expected(fuller["own"]) + expected(fuller["resident"]) > 85e9);
    CHECK(run(eight).exit == 0);
}

TEST_CASE("3. Which part of the GPU may the engine take?") {
    const auto found = run({"search", "qwen2.5-7b", "--task", "grpo", "--gpu", "h100-sxm5-80gb", "--gpus", "8",
                            "--runtime", "verl", "--micro_batch", "2", "--global_batch", "256", "--top", "3"});
    CHECK(found.exit == 0);
    // The line that it ends with is a command that fits as printed.
    const std::size_t at = found.out.rfind("plan     llmres ");
    REQUIRE(at != std::string::npos);
    std::string line = found.out.substr(at + 16);
    line.pop_back();
    arguments again;
    for (std::size_t from = 0; from < line.size();) {
        const std::size_t end = std::min(line.find(' ', from), line.size());
        again = again + arguments{line.substr(from, end - from)};
        from = end + 1;
    }
    CHECK(run(again).exit == 0);
    const json best = said({"search", "qwen2.5-7b", "--task", "grpo", "--gpu", "h100-sxm5-80gb", "--gpus", "8",
                            "--runtime", "verl", "--micro_batch", "2", "--global_batch", "256", "--top", "3"});
    CHECK(best["schema"] == "llmres/search_phases/1");
    REQUIRE(best["best"].size() == 3);
    CHECK(expected(best["best"][0]["reinforcement"]["step"]) <= expected(best["best"][1]["reinforcement"]["step"]));
}

TEST_CASE("4. What does a reference cost, and one in main memory?") {
    const auto reference = [](const char* kind) {
        return phases(eight + arguments{"--reference", kind, "--host_memory", "1TiB"});
    };
    const json none = reference("none"), loaded = reference("loaded"), offloaded = reference("offloaded");
    const double weights = 4.0 * 7'615'616'512 / 8;  // fp32, sharded over eight
    CHECK(phase(loaded, "training")["memory"]["terms"]["reference"].get<double>() ==
          doctest::Approx(weights).epsilon(0.001));
    // It fills gaps of what else is allocated in part.
    const double more = expected(phase(loaded, "training")["own"]) - expected(phase(none, "training")["own"]);
    CHECK(more > 0.5 * weights);
    CHECK(more < 1.1 * weights);
    CHECK(expected(phase(offloaded, "training")["own"]) ==
          doctest::Approx(expected(phase(none, "training")["own"])).epsilon(1e-9));
    CHECK(expected(loaded["log_probabilities"]) == doctest::Approx(2 * expected(none["log_probabilities"])));
}

TEST_CASE("5. How long is a step, and what is it made of?") {
    const json step = phases(eight);
    const double parts = expected(phase(step, "rollout")["time"]) + expected(phase(step, "training")["time"]) +
                         expected(step["log_probabilities"]) + step["synchronisation"].get<double>();
    CHECK(expected(step["step"]) == doctest::Approx(parts));
    CHECK(step["answers"] == 256);
}

TEST_CASE("6. How much longer is a rollout whose longest answer has four times the mean length?") {
    const auto rollout = [](const char* longest, const char* mean) {
        const json step = phases(eight + arguments{"--rollout_output", longest, "--rollout_mean_output", mean});
        return expected(phase(step, "rollout")["time"]);
    };
    const double even = rollout("512", "512"), tail = rollout("2048", "512");
    CHECK(tail > 2 * even);
    CHECK(tail < 4 * even);
}

TEST_CASE("7. Does PPO of an 8B fit on eight H100?") {
    const auto answer = run({"plan", "llama-3.1-8b", "--task", "ppo", "--gpu", "h100", "--gpus", "8"});
    CHECK(answer.exit == 0);
    CHECK(answer.out.find("critic") != std::string::npos);
}

TEST_CASE("a model that scores answers is a phase of its own") {
    const arguments scored = hobby + arguments{"--lora", "true", "--rollout_reward", "qwen2.5-0.5b"};
    const json step = phases(scored);
    REQUIRE(step["phases"].size() == 3);
    CHECK(step["phases"][1]["phase"] == "reward");
    CHECK(run(scored).out.find(": qwen2.5-0.5b scores every answer") != std::string::npos);
    const json line = phases({"plan", "--gpu", "rtx-4090", "--", "trl", "grpo", "--model_name_or_path",
                              "Qwen/Qwen2.5-1.5B", "--use_peft", "--reward_model_name_or_path", "Qwen/Qwen2.5-0.5B"});
    CHECK(phase(line, "reward")["own"] == phase(step, "reward")["own"]);
    const auto verl = run(eight + arguments{"--rollout_reward", "qwen2.5-0.5b"});
    CHECK(verl.exit == 2);
    CHECK(verl.err.find("rollout.reward is \"qwen2.5-0.5b\"; expected trl or openrlhf") != std::string::npos);
}

TEST_CASE("8. What do GPUs of the engine's own bring, and how long do they wait?") {
    const arguments own = eight + arguments{"--rollout_gpus", "4"};  // verl's engine sleeps on shared GPUs alone
    const json apart = phases(own), at_once = phases(own + arguments{"--rollout_asynchronous", "true"});
    CHECK(expected(phase(apart, "training")["resident"]) == 0);
    CHECK(apart["idle_engine"].get<double>() > 0.5);
    CHECK(expected(at_once["step"]) < expected(apart["step"]));
    CHECK(run(own).out.find("GPUs that train wait for ") != std::string::npos);
}

TEST_CASE("9. Trainers' own words are understood") {
    const json step = phases({"plan",   "qwen2.5-7b",
                              "--task", "grpo",
                              "--gpu",  "a100",
                              "80gb",   "--num-generations",
                              "4",      "--max-completion-length",
                              "256",    "--max_prompt_length",
                              "128",    "--runtime",
                              "trl",    "--use_vllm",
                              "true",   "--vllm_gpu_memory_utilization",
                              "0.4",    "--lora",
                              "true"});
    CHECK(step["engine"] == "vllm");
    CHECK(step["mean_output"] == 256);
    CHECK(step["answers"] == 8);
    const double part = expected(phase(step, "rollout")["own"]) / 85.1e9;
    CHECK(part == doctest::Approx(0.4).epsilon(0.05));
}

TEST_CASE("a pasted line of trl grpo is the job that it starts") {
    const arguments line{"plan",
                         "--gpu",
                         "h100-sxm5-80gb",
                         "--json",
                         "--",
                         "trl",
                         "grpo",
                         "--use_vllm",
                         "--model_name_or_path",
                         "Qwen/Qwen2.5-7B-Instruct",
                         "--num_generations",
                         "4",
                         "--beta",
                         "0.04",
                         "--use_peft",
                         "--max_completion_length",
                         "2048",
                         "--per_device_train_batch_size",
                         "4",
                         "--gradient_accumulation_steps",
                         "4",
                         "--vllm_gpu_memory_utilization",
                         "0.5",
                         "--steps_per_generation",
                         "8",
                         "--reward_funcs",
                         "accuracy_reward",
                         "--vllm_enable_sleep_mode",
                         "--temperature",
                         "0.9"};
    const json document = run(line).json()["document"];
    CHECK(document["reference"] == "adapters_off");
    CHECK(document["rollout"]["engine"] == "vllm");
    CHECK(document["rollout"]["output"] == 2048);
    CHECK(document["rollout"]["generations"] == 4);
    CHECK(document["rollout"]["answers"] == 32);
    CHECK(document["rollout"]["sleep"] == "level_2");
    CHECK(document["rollout"]["gpu_memory_utilization"] == 0.5);
    CHECK(document["global_batch"] == 16);
    const json rloo = run({"plan", "--gpu", "h100-sxm5-80gb", "--json", "--", "trl", "rloo", "--model_name_or_path",
                           "Qwen/Qwen2.5-0.5B", "--beta", "0.0"})
                          .json();
    CHECK(rloo["document"]["reference"] == "none");
    CHECK(rloo["reinforcement"]["answers"] == 8);
    // What TRL's parser does not know is accelerate's.
    const json eight_gpus = run({"plan", "--gpu", "h100-sxm5-80gb", "--json", "--", "trl", "grpo",
                                 "--model_name_or_path", "Qwen/Qwen2.5-0.5B", "--num_processes", "8"})
                                .json();
    CHECK(eight_gpus["layout"]["data"] == 8);
    CHECK(eight_gpus["reinforcement"]["answers"] == 64);
}

TEST_CASE("a run has the time and the cost of all phases") {
    const json answer = said(eight + arguments{"--samples", "25600", "--gpu_hour", "2"});
    const double steps = 25600.0 * 8 / 256;  // 8 answers to each prompt of the data, and 256 in an optimizer step
    CHECK(answer["run"]["steps"] == steps);
    const double step = expected(answer["reinforcement"]["step"]);
    CHECK(answer["run"]["seconds"]["expected"].get<double>() == doctest::Approx(steps * step).epsilon(1e-6));
    const double twice = expected(phases(eight + arguments{"--rollout_num_iterations", "2"})["step"]);
    CHECK(twice > step);
    CHECK(run(eight + arguments{"--samples", "25600", "--rollout_gpus", "4"}).err.find("run") != std::string::npos);
}

TEST_CASE("plans of policies are compared with all of their phases") {
    const json table = run({"compare", "qwen2.5-7b", "--task", "grpo", "--runtime", "verl", "--gpus", "8", "--gpu",
                            "h100-sxm5-80gb", "--micro_batch", "2,16", "--rollout_output", "4096", "--json"})
                           .json();
    REQUIRE(table["rows"].size() == 2);
    const auto asked = [](const char* micro) {
        return said({"plan", "qwen2.5-7b", "--task", "grpo", "--runtime", "verl", "--gpus", "8", "--gpu",
                     "h100-sxm5-80gb", "--micro_batch", micro, "--rollout_output", "4096"});
    };
    for (const json& row : table["rows"])
        CHECK(row["reinforcement"] ==
              asked(row["command"].get<std::string>().find("micro_batch 2 ") != std::string::npos
                        ? "2"
                        : "16")["reinforcement"]);
    // The table has the worst phase with what the others keep of the GPU, and the step and tokens of all of them.
    const outcome text = run({"compare", "qwen2.5-7b", "--task", "grpo", "--runtime", "verl", "--gpus", "8", "--gpu",
                              "h100-sxm5-80gb", "--micro_batch", "2", "--rollout_output", "4096"});
    const json step = asked("2")["reinforcement"];
    const json worst = phase(step, step["worst"].get<std::string>().c_str());
    const auto memory =
        llmres::bytes(worst["own"]["expected"].get<std::int64_t>() + worst["resident"]["expected"].get<std::int64_t>());
    CHECK(text.out.find(" " + llmres::to_string(memory) + " ") != std::string::npos);
    CHECK(text.out.find(llmres::to_string(llmres::seconds(expected(step["step"])))) != std::string::npos);
}

TEST_CASE("plans of policies are ordered by what tokens of all phases take") {
    const arguments job{"qwen2.5-7b", "--task", "grpo", "--runtime", "verl", "--gpus", "8", "--micro_batch", "2"};
    const json table = run(arguments{"compare"} + job +
                           arguments{"--gpu", "h100-sxm5-80gb,l40s-48gb", "--sort", "energy_per_token", "--json"})
                           .json();
    REQUIRE(table["rows"].size() == 2);
    double before = 0;
    for (const json& row : table["rows"]) {
        const json asked =
            said(arguments{"plan"} + job + arguments{"--gpu", row["gpu"].get<std::string>(), "--pue", "1"});
        CHECK(row["cost"]["million_tokens"] == asked["cost"]["million_tokens"]);
        const double joules = row["cost"]["million_tokens"]["trained"]["kwh"]["expected"];
        CHECK(joules > before);
        before = joules;
    }
    const auto apart = run(arguments{"compare"} + job +
                           arguments{"--gpu", "h100-sxm5-80gb", "--rollout_gpus", "4", "--sort", "energy_per_token"});
    CHECK(apart.exit == 2);
    CHECK(apart.err.find("those of its own are not priced") != std::string::npos);
}

TEST_CASE("trainers are planned with the methods that they have") {
    const auto refused = run({"plan", "qwen2.5-7b", "--task", "dpo", "--runtime", "verl", "--gpu", "h100"});
    CHECK(refused.exit == 2);
    CHECK(refused.err.find("task is dpo; expected a trainer that is planned with it: trainer, ") != std::string::npos);
    CHECK(run({"plan", "qwen2.5-7b", "--task", "ppo", "--runtime", "trl", "--gpu", "h100"}).exit == 2);
    CHECK(run({"plan", "qwen2.5-1.5b", "--task", "reinforce", "--runtime", "verl", "--gpu", "h200-sxm5-141gb"}).exit !=
          2);
}

TEST_CASE("layouts are ordered by the answers that they make in a second") {
    const json found = said({"search", "qwen2.5-7b", "--task", "grpo", "--runtime", "trl", "--gpu", "h100-sxm5-80gb",
                             "--gpus", "8", "--top", "4"});
    double before = 1e9;
    for (const json& one : found["best"]) {
        const double rate = one["reinforcement"]["answers_per_second"].get<double>();
        CHECK(rate <= before);
        before = rate;
    }
    const json chosen =
        phases({"plan", "qwen2.5-7b", "--task", "grpo", "--runtime", "trl", "--gpu", "h100-sxm5-80gb", "--gpus", "8"});
    const json sharded = phases({"plan", "qwen2.5-7b", "--task", "grpo", "--runtime", "trl", "--gpu", "h100-sxm5-80gb",
                                 "--gpus", "8", "--zero", "2"});
    CHECK(chosen["answers_per_second"].get<double>() >= sharded["answers_per_second"].get<double>() * 0.999);
}

TEST_CASE("GPUs are split between those that train and those that generate, where that is asked for") {
    const arguments asked{"search",         "qwen2.5-7b", "--task",    "grpo", "--gpu",         "h100-sxm5-80gb",
                          "--gpus",         "16",         "--runtime", "verl", "--micro_batch", "2",
                          "--global_batch", "512",        "--json"};
    const auto engines = [](const json& answer) {
        std::set<int> own;
        for (const json& one : answer["best"])
            own.insert(one["engine_gpus"].is_null() ? 0 : one["engine_gpus"].get<int>());
        return own;
    };
    CHECK(engines(run(asked + arguments{"--top", "100"}).json()) == std::set<int>{0});
    // Four engines' GPUs of sixteen keep up with the eight that train: a batch of 512 is not dealt to twelve.
    CHECK(engines(run(asked + arguments{"--pools", "--top", "1000"}).json()) == std::set<int>{0, 1, 2, 4, 8});
    const json at_once = run(asked + arguments{"--pools", "--rollout_asynchronous", "true"}).json();
    CHECK_FALSE(engines(at_once).contains(0));
    CHECK(at_once["best"][0]["layout"]["data"] == 8);
    CHECK(at_once["best"][0]["engine_gpus"] == 4);
    const arguments table(asked.begin(), asked.end() - 1);
    const auto shown = run(table + arguments{"--pools", "--rollout_asynchronous", "true"});
    CHECK(shown.out.find("engine GPUs") != std::string::npos);
    CHECK(shown.out.find(" --gpus 12 ") != std::string::npos);
    CHECK(shown.out.find(" --rollout_gpus 4") != std::string::npos);
    const auto refused = run({"search", "llama-3.1-8b", "--gpu", "l4", "--context", "4096", "--pools"});
    CHECK(refused.exit == 2);
    CHECK(refused.err.find("pools is given; expected task grpo, rloo, reinforce or ppo") != std::string::npos);
    CHECK(run(asked + arguments{"--pools", "--rollout_gpus", "4"}).exit == 2);
}

TEST_CASE("10. Bad input is refused by name, and commands of one phase say so") {
    CHECK(run({"plan", "qwen2.5-7b", "--gpu", "l4", "--rollout_output", "9"}).exit == 2);
    CHECK(run(eight + arguments{"--rollout_generations", "3", "--rollout_answers", "256"}).exit == 2);
    CHECK(run(eight + arguments{"--rollout_sleep", "deep"}).err.find("rollout.sleep") != std::string::npos);
    CHECK(run({"plan", "qwen2.5-7b", "--task", "rlhf", "--gpu", "l4"}).err.find("grpo") != std::string::npos);
    CHECK(run(eight + arguments{"--rollout_generations", "1"}).err.find("rollout.generations") != std::string::npos);
    CHECK(run(eight + arguments{"--rollout_gpus", "4", "--rollout_trainer", "all"}).err.find("rollout.trainer") !=
          std::string::npos);
    CHECK(run({"plan", "--gpu", "l4", "--", "trl", "gspo", "--model_name_or_path", "qwen3-8b"}).exit == 2);
    CHECK(run({"place", "qwen2.5-7b", "--task", "grpo", "--free", "h100-sxm5-80gb:8"}).exit == 2);
}
