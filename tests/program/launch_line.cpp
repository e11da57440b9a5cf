// SPDX-License-Identifier: MIT
// Command lines that people paste, asked as they stand.
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <tuple>

using namespace program_checks;
using nlohmann::json;

namespace {

const arguments llama{"vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "32k"};

/// What `llmres plan --gpu GPU` says of a line on standard input, in a folder without other files.
outcome asked(const std::string& line, const std::string& gpu) {
    const run_program::scratch folder;
    const std::string in = folder.file("line.sh", line), out = folder.file("out", ""), err = folder.file("err", "");
    const std::string command = "cd '" + folder.path().string() + "' && '" + LLMRES_PROGRAM + "' plan --json --gpu " +
                                gpu + " -- - <line.sh >out 2>err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, run_program::content_of(out), run_program::content_of(err)};
}

}  // namespace

TEST_CASE("a pasted line is planned, and what would help is asked for with it") {
    const outcome answer = run(arguments{"plan", "--gpu", "rtx-3060", "--json", "--"} + llama);
    CHECK(answer.exit == does_not_fit);
    const json job = answer.json();
    CHECK(job["job"]["context"] == 32000);
    CHECK(job["runtime"]["name"] == "vllm");
    CHECK(job["layout"]["tensor"] == 1);
    const outcome page = run(arguments{"plan", "--gpu", "rtx-3060", "--"} + llama);
    CHECK(page.out.find("--gpu rtx-3060 -- vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 32k\n") !=
          std::string::npos);
}

TEST_CASE("options before the line go over it, and other commands take one, too") {
    CHECK(run(arguments{"plan", "--gpu", "h100", "--context", "4k", "--json", "--"} + llama).json()["job"]["context"] ==
          4096);
    CHECK(run(arguments{"search", "--gpu", "h100", "--json", "--"} + llama).exit == fits);
    CHECK(run(arguments{"compare", "--gpu", "h100,a100", "--json", "--"} + llama).exit == fits);
    CHECK(run(arguments{"place", "--free", "h100:2", "--json", "--"} + llama).exit == fits);
    CHECK(run(arguments{"replicas", "--gpu", "h100", "--rps", "1", "--prompt", "1000", "--output", "100", "--json",
                        "--"} +
              llama)
              .exit == fits);
    refused(arguments{"model", "--"} + llama, {"command", "model", "plan"});
    CHECK(run(arguments{"explain", "kv_cache", "--gpu", "h100", "--"} + llama).exit == fits);
}

TEST_CASE("a line may be one word or standard input, and says on stderr what it does not plan") {
    const std::string line =
        "docker run --gpus all vllm/vllm-openai \\\n  --model qwen3-8b --cpu-offload-gb 8 --port 80";
    for (const outcome& answer : {run({"plan", "--gpu", "h100", "--", line}), asked(line, "h100")}) {
        CHECK(answer.exit == fits);
        CHECK(answer.err.find("--cpu-offload-gb 8 changes memory or speed, and is not modelled") != std::string::npos);
        CHECK(answer.err.find("--port") == std::string::npos);
    }
}

TEST_CASE("what would help a line on standard input is asked for with standard input") {
    const run_program::scratch folder;
    const std::string in = folder.file("line.sh", "vllm serve Qwen/Qwen3-32B \\\n  --max-model-len 32k\n");
    const std::string out = folder.file("out", "");
    const std::string command =
        std::string{"'"} + LLMRES_PROGRAM + "' plan --gpu rtx-3060 -- - <'" + in + "' >'" + out + "' 2>&1";
    CHECK(WEXITSTATUS(std::system(command.c_str())) == does_not_fit);
    CHECK(run_program::content_of(out).find(" -- -\n") != std::string::npos);
}

TEST_CASE("a file that is not here is planned by its name") {
    const outcome answer = run({"plan", "--gpu", "rtx-4090", "--json", "--", "llama-server", "-m",
                                "/nowhere/Qwen3-8B-Q4_K_M.gguf", "-c", "8192"});
    CHECK(answer.exit == fits);
    CHECK(answer.json()["job"]["weights"] == "q4_k_m");
    CHECK(answer.err.find("is not here") != std::string::npos);
}

TEST_CASE("what is wrong with a line is said in one line on stderr") {
    refused({"plan", "--gpu", "h100", "--"}, {"line", "absent", "vllm serve MODEL"});
    refused({"plan", "--gpu", "h100", "--", "ls", "-l"}, {"line", "ls", "vllm serve"});
    refused({"plan", "--gpu", "h100", "--", "vllm serve $MODEL"}, {"model", "$MODEL", "not expanded"});
    refused({"plan", "qwen3-8b", "--gpu", "h100", "--", "vllm", "serve", "qwen3-8b"}, {"job", "qwen3-8b", "not both"});
    refused({"plan", "--gpu", "h100", "--", "vllm", "serve", "qwen3-8b", "--max-modellen", "1"},
            {"--max-modellen", "--max-model-len"});
}

TEST_CASE("published lines are answered, or refused for the model alone") {
    std::ifstream lines{LLMRES_SOURCE_DIR "/tests/data/launch_lines.jsonl"};
    int all = 0;
    for (std::string row; std::getline(lines, row); ++all) {
        if (all % 6 != 0) continue;
        const json pasted = json::parse(row);
        const outcome answer = asked(pasted["line"], "h200");
        CAPTURE(pasted["line"]);
        CAPTURE(answer.err);
        if (answer.exit == bad_input) {
            const bool of_model =
                answer.err.find("model is ") != std::string::npos || answer.err.find("gguf is ") != std::string::npos;
            CHECK(of_model);
        }
    }
    CHECK(all > 40);
}

TEST_CASE("a line of 10 MB is refused within half a second") {
    const double before = run_program::seconds_of_cpu();
    const outcome answer = asked("vllm serve " + std::string(10'000'000, 'x'), "h100");
    CHECK(answer.exit == bad_input);
    CHECK(answer.err.find("1 MiB") != std::string::npos);
    CHECK(run_program::seconds_of_cpu() - before < (sanitized || counts_lines ? 5 : 0.5));
}

TEST_CASE("a trainer's line is the job that it trains, on as many GPUs as it starts processes") {
    const std::string trl =
        "python trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara --packing "
        "--per_device_train_batch_size 2 --gradient_accumulation_steps 8 --gradient_checkpointing --eos_token "
        "'<|im_end|>' "
        "--eval_strategy steps --use_peft --lora_r 32 --lora_alpha 16 --output_dir Qwen2-0.5B-SFT --push_to_hub";
    const json job = run({"plan", "--gpu", "rtx-4090", "--json", "--", trl}).json()["job"];
    CHECK(job["task"] == "finetuning");
    CHECK(job["micro_batch"] == 2);
    CHECK(job["global_batch"] == 16);
    CHECK(job["sequence"] == 1024);
    CHECK(job["recompute"] == "full");
    const std::string many =
        "CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node=4 --master_port 1 train.py --model_name_or_path "
        "llama-3.1-8b "
        "--bf16 True --per_device_train_batch_size 1 --fsdp 'full_shard auto_wrap' --max_length 2048 --report_to wandb";
    const json trained = run({"plan", "--gpu", "h100", "--json", "--", many}).json();
    CHECK(trained["layout"]["data"] == 4);
    CHECK(trained["layout"]["zero"] == 3);
    // A reward model has one score, and learns from pairs.
    const json reward = run({"plan", "--gpu", "h100-sxm5-80gb", "--json", "--", "trl", "reward", "--model_name_or_path",
                             "qwen3-8b", "--per_device_train_batch_size", "4"})
                            .json();
    CHECK(reward["job"]["head"] == "classification");
    CHECK(reward["job"]["labels"] == 1);
    CHECK(reward["job"]["micro_batch"] == 4);
    CHECK(reward["job"]["preference"] == "reward");
    CHECK(reward["memory"]["terms"]["logits"] == 0);
    const json preferred = run({"plan", "--gpu", "h100-sxm5-80gb", "--json", "--", "trl", "dpo", "--model_name_or_path",
                                "qwen3-8b", "--use_peft", "--precompute_ref_log_probs", "true"})
                               .json();
    CHECK(preferred["job"]["preference"] == "dpo");
    CHECK(preferred["job"]["reference"] == "precomputed");
    CHECK(preferred["runtime"]["loss"] == "fused_log_probabilities");
    // However its script is started, it is TRL's job.
    const json plain = run({"plan", "--gpu", "h100-sxm5-80gb", "--json", "--", "trl", "dpo", "--model_name_or_path",
                            "qwen3-0.6b", "--beta", "0.1", "--loss_type", "ipo"})
                           .json();
    for (const char* const line : {"python -m trl dpo --model_name_or_path qwen3-0.6b",
                                   "python examples/scripts/dpo.py --model_name_or_path "
                                   "qwen3-0.6b --no_remove_unused_columns",
                                   "accelerate launch -m trl.scripts.dpo --model_name_or_path qwen3-0.6b"}) {
        CAPTURE(std::string{line});
        const json started = run({"plan", "--gpu", "h100-sxm5-80gb", "--json", "--", line}).json();
        CHECK(started["job"] == plain["job"]);
        CHECK(started["memory"]["expected"] == plain["memory"]["expected"]);
    }
    refused({"plan", "--gpu", "h100", "--", "trl", "ppo", "--model_name_or_path", "qwen3-8b"}, {"task", "ppo"});
    refused({"plan", "--gpu", "h100", "--", "llamafactory-cli", "train", "/nowhere/a.yaml"},
            {"config", "a.yaml", "read"});
    refused({"plan", "--gpu", "h100", "--", "trl", "sft", "--model_name_or_path", "qwen3-8b", "--max_lenght", "2"},
            {"--max_lenght"});
}

TEST_CASE("a script that is named after GRPO is TRL's, wherever it lies: its lengths are read") {
    const auto planned = [](const std::string& script) {
        return run({"plan", "--gpu", "h100-sxm5-80gb", "--json", "--",
                    "accelerate launch --num_processes 8 " + script +
                        " --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --use_vllm true --num_generations 16 "
                        "--per_device_train_batch_size 16 --max_completion_length 8192"})
            .json();
    };
    const json own = planned("src/open_r1/grpo.py");
    CHECK(own["reinforcement"] == planned("trl/scripts/grpo.py")["reinforcement"]);
    CHECK(own["job"]["sequence"] == 512 + 8192);
    CHECK(own["assumed"]["defaults_of"] == "trl 1.16.0");
}

TEST_CASE("what shards a line of TRL decides what is trained in fp32, and on how many GPUs") {
    // FSDP trains in fp32 what was loaded in 16 bits, but for frozen weights beside an adapter (accelerate 1.15).
    const auto weights = [](const std::string& line) {
        return run({"plan", "--gpu", "h100-sxm5-80gb", "--gpus", "2", "--json", "--", line}).json()["job"]["weights"];
    };
    const std::string sft = "trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct --dtype bfloat16";
    CHECK(weights("torchrun --nproc_per_node=2 " + sft) == "bf16");
    CHECK(weights("torchrun --nproc_per_node=2 " + sft + " --fsdp full_shard") == "fp32");
    CHECK(weights("accelerate launch --num_processes 2 --use_fsdp " + sft) == "fp32");
    CHECK(weights("accelerate launch --num_processes 2 --use_deepspeed --zero_stage 3 " + sft) == "bf16");
    CHECK(weights("torchrun --nproc_per_node=2 " + sft + " --fsdp full_shard --use_peft") == "bf16");
    // Configurations that come with TRL, by their names.
    const auto shipped = [](const std::string& name) {
        return run({"plan", "--gpu", "h100-sxm5-80gb", "--json", "--", "trl", "sft", "--accelerate_config", name,
                    "--model_name_or_path", "Qwen/Qwen2.5-7B"});
    };
    for (const auto& [name, ranks, zero] : std::array<std::tuple<const char*, int, int>, 5>{
             {{"single_gpu", 1, 0}, {"multi_gpu", 8, 0}, {"zero2", 8, 2}, {"zero3", 8, 3}, {"fsdp2", 8, 3}}}) {
        CAPTURE(name);
        const json layout = shipped(name).json()["layout"];
        CHECK(layout["data"] == ranks);
        CHECK(layout["zero"] == zero);
    }
    CHECK(shipped("zero9").exit == 2);
    CHECK(shipped("zero9").err.find("accelerate_config is zero9; expected a file, or single_gpu") != std::string::npos);
}

TEST_CASE("a trainer's line is planned as its runtime by name, and says the same of what neither says") {
    const auto answer = [](arguments before, const arguments& line) {
        before.insert(before.begin(), {"plan", "--gpu", "h200-sxm5-141gb", "--json"});
        const outcome o = run(before + line);
        CAPTURE(o.err);
        REQUIRE((o.exit == fits || o.exit == does_not_fit));
        return o.json();
    };
    struct same {
        arguments plain;
        arguments line;
    };
    const std::string model = "Qwen/Qwen3-8B";
    const std::vector<same> said_both_ways{
        {{"--runtime", "trl"}, {"trl", "sft"}},
        {{"--runtime", "trl", "--adapter_kind", "lora"}, {"trl", "sft", "--use_peft"}},
        {{"--runtime", "trl", "--task", "dpo"}, {"trl", "dpo"}},
        {{"--runtime", "trl", "--task", "orpo"}, {"python", "orpo.py"}},
        {{"--runtime", "trl+deepspeed", "--zero", "3"}, {"trl", "sft", "--deepspeed", "zero3"}},
        {{"--runtime", "trainer", "--compute", "bf16"}, {"python", "train.py", "--bf16"}}};
    for (const same& job : said_both_ways) {
        const json plain = answer(arguments{"--model", model} + job.plain, {});
        const json line = answer({}, arguments{"--"} + job.line + arguments{"--model_name_or_path", model});
        CAPTURE(job.line.back());
        CHECK(line["memory"] == plain["memory"]);
        CHECK(line["job"]["optimizer"] == "adamw_fused");
        for (const auto& [key, value] : plain["assumed"].items())
            if (key != "task" && key != "gpus" && key != "adapter_rank")
                CHECK_MESSAGE(line["assumed"].value(key, json{}) == value, key);
    }
    const auto formats = [&](const arguments& options) {
        const json job =
            answer({}, arguments{"--", "trl", "sft", "--model_name_or_path", model, "--use_peft"} + options)["job"];
        return arguments{job["weights"].get<std::string>(), job["compute"].get<std::string>()};
    };
    CHECK(formats({}) == arguments{"fp32", "bf16"});
    CHECK(formats({"--dtype", "float32"}) == arguments{"fp32", "bf16"});  // trl 1.16, trainer/base_config.py: bf16
    CHECK(formats({"--dtype", "bfloat16"}) == arguments{"bf16", "bf16"});
    CHECK(formats({"--dtype", "auto"}) == arguments{"bf16", "bf16"});
    CHECK(formats({"--bf16", "false"}) == arguments{"fp32", "fp32"});
    CHECK(formats({"--fp16", "true"}) == arguments{"fp32", "fp16"});
}

TEST_CASE("a script of TRL's GKDTrainer names its teacher, which is loaded in the format of its student") {
    const auto job = [](const arguments& options) {
        const outcome o =
            run(arguments{"plan", "--gpu", "h200-sxm5-141gb", "--json", "--", "python", "gkd.py",
                          "--model_name_or_path", "Qwen/Qwen2.5-0.5B-Instruct", "--teacher_model_name_or_path",
                          "Qwen/Qwen2.5-1.5B-Instruct", "--lmbda", "0", "--max_new_tokens", "256"} +
                options);
        CAPTURE(o.err);
        REQUIRE((o.exit == fits || o.exit == does_not_fit));
        return o.json()["job"];
    };
    CHECK(job({})["preference"] == "gkd");
    CHECK(job({})["teacher"] == "qwen2.5-1.5b-instruct");
    CHECK(job({})["teacher_weights"] == "fp32");  // trl 1.16, trainer/model_config.py
    CHECK(job({"--dtype", "bfloat16", "--beta", "0.9"})["teacher_weights"] == "bf16");
    CHECK(job({"--beta", "0.9"})["beta"] == 0.9);
    refused({"plan", "--gpu", "h200-sxm5-141gb", "--", "trl", "distillation", "--model_name_or_path", "Qwen/Qwen3-8B"},
            {"trl is distillation", "--task gkd"});
}

TEST_CASE("what is typed before a trainer's line goes over it in whichever words, and contradicts itself nowhere") {
    const auto job = [](arguments before, const char* method) {
        before.insert(before.begin(), {"plan", "--gpu", "h200-sxm5-141gb", "--json"});
        const outcome o = run(before + arguments{"--", "trl", method, "--model_name_or_path", "Qwen/Qwen3-8B",
                                                 "--per_device_train_batch_size", "2"});
        CAPTURE(o.err);
        REQUIRE((o.exit == fits || o.exit == does_not_fit));
        return o.json()["job"];
    };
    CHECK(job({"--task", "kto"}, "dpo")["preference"] == "kto");
    CHECK(job({"--preference", "kto"}, "dpo")["preference"] == "kto");
    CHECK(job({"--task", "reward"}, "dpo")["head"] == "classification");
    CHECK_FALSE(job({"--task", "dpo"}, "reward").contains("head"));
    CHECK_FALSE(job({"--preference", "dpo"}, "reward").contains("head"));
    CHECK(job({"--task", "lora"}, "dpo")["preference"] == "dpo");  // says how it is tuned, and not by what
    CHECK(job({}, "sft")["weights"] == "fp32");
    CHECK(job({"--task", "qlora"}, "sft")["weights"] == "nf4_double");
    CHECK(job({"--adapter_kind", "lora", "--load_in_4bit"}, "sft")["weights"] == "nf4");
    // What bitsandbytes leaves is in --dtype, which is fp32 unless it is said: twice the embedding's bytes.
    const auto packed = [&](const arguments& more) {
        const outcome o = run(arguments{"plan", "--gpu", "b300", "--json", "--", "trl", "sft", "--model_name_or_path",
                                        "Qwen/Qwen2.5-7B", "--use_peft"} +
                              more);
        return o.json()["memory"]["terms"]["weights"].get<std::int64_t>();
    };
    const std::int64_t ends = 2LL * 152064 * 3584 * 2;
    for (const char* bits : {"--load_in_4bit", "--load_in_8bit"}) {
        const std::int64_t narrow = packed({bits, "--dtype", "bfloat16"});
        CHECK(packed({bits}) > narrow + ends);
        CHECK(packed({bits}) < narrow + ends + (1 << 20));  // norms and biases
        CHECK(packed({bits, "--dtype", "float32"}) == packed({bits}));
    }
    CHECK(job({"--gradient_checkpointing", "false"}, "sft")["recompute"] == "none");
    CHECK(job({"--fp16"}, "sft")["compute"] == "fp16");
    CHECK(job({"--gradient_accumulation_steps", "4"}, "sft")["global_batch"] == 8);
    CHECK(run({"plan", "--gpu", "b300", "--gradient_accumulation_steps", "4", "--json", "--", "trl", "sft",
               "--model_name_or_path", "qwen3-8b"})
              .json()["job"]["global_batch"] == 32);
    refused({"plan", "qwen3-8b", "--gpu", "h200", "--task", "dpo", "--preference", "kto"},
            {"preference is kto", "dpo, as --task says"});
    CHECK(run({"plan", "qwen3-8b", "--gpu", "b300", "--task", "ipo", "--preference", "dpo"}).exit != bad_input);
    refused({"plan", "qwen3-8b", "--gpu", "h200", "--task", "dpo", "--task", "kto"}, {"task is kto", "dpo"});
}

TEST_CASE("a trainer's line says how much is trained, and what stands before it goes over it") {
    const auto planned = [](arguments before, const arguments& options) {
        before.insert(before.begin(), {"plan", "--gpu", "a100-sxm4-80gb", "--json"});
        const arguments line{"--",
                             "accelerate",
                             "launch",
                             "--num_processes",
                             "4",
                             "trl/scripts/sft.py",
                             "--model_name_or_path",
                             "Qwen/Qwen2.5-7B-Instruct",
                             "--per_device_train_batch_size",
                             "2",
                             "--gradient_accumulation_steps",
                             "8",
                             "--max_length",
                             "2048"};
        const outcome o = run(before + line + options);
        CAPTURE(o.err);
        REQUIRE((o.exit == 0 || o.exit == 1));
        return o.json();
    };
    // Whole steps of 64 sequences.
    const auto in_steps = [](std::int64_t sequences) { return (sequences + 63) / 64 * 64 * 2048; };
    const auto tokens = [&](const arguments& before, const arguments& options) {
        return planned(before, options)["run"]["tokens"].get<std::int64_t>();
    };
    CHECK(tokens({"--samples", "25000"}, {"--num_train_epochs", "3"}) == in_steps(75'000));
    CHECK(tokens({"--samples", "25000"}, {}) == in_steps(75'000));  // training_args.py
    CHECK(tokens({"--samples", "25000", "--epochs", "1"}, {"--num_train_epochs", "3"}) == in_steps(25'000));
    CHECK(tokens({}, {"--max_steps", "500"}) == in_steps(500 * 64));
    CHECK(tokens({"--tokens", "1B"}, {"--max_steps", "500"}) == in_steps(1'000'000'000 / 2048));
    CHECK_FALSE(planned({}, {"--num_train_epochs", "3"}).contains("run"));
    const json over = planned({"--gpus", "2", "--micro_batch", "4"}, {});
    CHECK(over["layout"]["data"] == 2);
    CHECK(over["job"]["micro_batch"] == 4);
    CHECK(planned({}, {"--use_peft", "False", "--lora_r", "8"})["job"]["adapter"]["kind"] == "none");
    CHECK(planned({}, {"--use_peft", "--lora_r", "8"})["job"]["adapter"]["rank"] == 8);
    const auto launched = [](const arguments& before, const char* count, const char* script) {
        return run(
            arguments{"plan", "--gpu", "h100-sxm5-80gb", "--json"} + before +
            arguments{"--", "torchrun", "--nproc_per_node", count, script, "--model_name_or_path", "qwen3-0.6b"});
    };
    for (const char* wrong : {"gpu", "abc", "-4", "8x", "1048577"}) {
        CAPTURE(wrong);
        const outcome o = launched({}, wrong, "train.py");
        CHECK(o.exit == 2);
        CHECK(o.err.find("nproc_per_node is ") != std::string::npos);
    }
    CHECK(launched({"--gpus", "2"}, "gpu", "train.py").json()["layout"]["data"] == 2);
    CHECK(launched({}, "2", "train_support.py").exit != 2);
    CHECK(launched({}, "2", "ppo/train.py").err.find("task is ppo") == std::string::npos);
    CHECK(launched({}, "2", "train_ppo.py").err.find("task is ppo") != std::string::npos);
}

TEST_CASE("a plan says how the job is started, where that is known and it fits") {
    const arguments job{"plan", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "-c", "8192"};
    const std::string command = "vllm serve MODEL --max-model-len 8192 --gpu-memory-utilization 0.85";
    const arguments served = job + arguments{"--runtime", "vllm", "--gpu_memory_utilization", "0.85"};
    CHECK(run(served).out.find("\nlaunch   " + command + "\n") != std::string::npos);
    CHECK(planned(served)["launch"] == command);
    CHECK(planned(job)["launch"].is_null());
    CHECK(run(job).out.find("\nlaunch ") == std::string::npos);
    const json too_large =
        planned({"plan", "llama-3.1-405b", "--gpu", "h100-sxm5-80gb", "--runtime", "vllm"}, does_not_fit);
    CHECK(too_large["launch"].is_null());
    // Whoever pasted a command has it.
    const outcome pasted =
        run({"plan", "--gpu", "h100-sxm5-80gb", "--", "vllm", "serve", "Qwen/Qwen3-8B", "--max-model-len", "8192"});
    CHECK(pasted.exit == 0);
    CHECK(pasted.out.find("\nlaunch ") == std::string::npos);
}

TEST_CASE("a command that starts another job than the planned one says of what it is silent") {
    const arguments chat{"plan", "llama-3.1-70b", "--gpu", "h100-sxm5-80gb", "--gpus", "4", "--context", "8k"};
    const outcome page = run(chat + arguments{"--runtime", "tensorrt-llm", "--kv_cache", "fp8_e4m3"});
    CHECK(page.out.find("which does not say kv_cache: no option for that is known") != std::string::npos);
    const outcome answer = run(chat + arguments{"--runtime", "tensorrt-llm", "--kv_cache", "fp8_e4m3", "--json"});
    CHECK(answer.json()["launch_unsaid"] == nlohmann::json{"kv_cache"});
    const outcome said = run(chat + arguments{"--runtime", "vllm", "--kv_cache", "fp8_e4m3", "--json"});
    CHECK_FALSE(said.json().contains("launch_unsaid"));
}
