// SPDX-License-Identifier: MIT
// Files of settings that trainers read, and the command lines that name them.
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <cstddef>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

using namespace program_checks;
using nlohmann::json;

namespace {

using named_files = std::vector<std::pair<std::string, std::string>>;

/// What the program says in a folder that has some files.
outcome asked(const named_files& files, const arguments& words) {
    const run_program::scratch folder;
    for (const auto& [name, content] : files) folder.file(name, content);
    return run(words, folder.path().string());
}

/// What `llmres plan` says of a command line in such a folder.
outcome of_line(const named_files& files, const std::string& line, const arguments& before = {}) {
    return asked(files, arguments{"plan", "--gpu", "h200-sxm5-141gb", "--json"} + before + arguments{"--", line});
}

/// Whether the program was built with what reads YAML and TOML; else there is nothing to test but what it says.
bool reads_files() {
    const outcome yaml = asked({{"a.yaml", "a: 1\n"}}, {"plan", "a.yaml"});
    const outcome toml = asked({{"a.toml", "a = 1\n"}}, {"plan", "a.toml"});
    const bool lacks = yaml.err.find("libyaml-cpp-dev") != std::string::npos ||
                       toml.err.find("libtomlplusplus-dev") != std::string::npos;
    if (lacks) CHECK(yaml.exit == bad_input);
    return !lacks;
}

const std::string small = "base_model: Qwen/Qwen3-0.6B\nmicro_batch_size: 2\nsequence_len: 1024\n";

/// Exit code 2 and a message with these words.
void refused_with(const named_files& files, const arguments& words, const std::vector<std::string>& parts) {
    const outcome o = asked(files, words);
    CAPTURE(o.err);
    CHECK(o.exit == bad_input);
    for (const std::string& part : parts) {
        CAPTURE(part);
        CHECK(o.err.find(part) != std::string::npos);
    }
}

}  // namespace

TEST_CASE("lines of ms-swift are read with its own defaults") {
    const auto answer = [](const std::string& line, const arguments& before = {}) {
        arguments typed{"plan", "--gpu", "h200-sxm5-141gb", "--json"};
        typed.insert(typed.end(), before.begin(), before.end());
        typed.insert(typed.end(), {"--", line});
        const outcome o = run(typed);
        CAPTURE(o.err);
        REQUIRE((o.exit == fits || o.exit == does_not_fit));
        return o.json();
    };
    // ms-swift 4.6.0: arguments/rlhf_args.py, arguments/tuner_args.py, trainers/arguments.py.
    const json dpo = answer("swift rlhf --rlhf_type dpo --model Qwen/Qwen3-8B --max_length 1024 --dataset a b");
    CHECK(dpo["job"]["preference"] == "dpo");
    CHECK(dpo["job"]["reference"] == "adapters_off");
    CHECK(dpo["job"]["adapter"]["rank"] == 8);
    CHECK(dpo["job"]["micro_batch"] == 1);
    CHECK(dpo["job"]["global_batch"] == 16);
    CHECK(dpo["job"]["recompute"] == "full");
    CHECK(dpo["job"]["optimizer"] == "adamw_fused");
    CHECK(answer("swift rlhf --model Qwen/Qwen3-8B")["job"]["preference"] == "dpo");
    CHECK(answer("swift rlhf --rlhf_type kto --tuner_type full --model Qwen/Qwen3-8B")["job"]["reference"] == "loaded");
    CHECK(answer("swift rlhf --rlhf_type rm --model Qwen/Qwen3-8B")["job"]["head"] == "classification");
    CHECK(answer("swift rlhf --rlhf_type simpo --model Qwen/Qwen3-8B")["job"]["preference"] == "simpo");
    const json taught = answer(
        "swift rlhf --rlhf_type gkd --model Qwen/Qwen2.5-0.5B --teacher_model Qwen/Qwen2.5-1.5B "
        "--lmbda 0 --beta 1 --dataset a");
    CHECK(taught["job"]["preference"] == "gkd");
    CHECK(taught["job"]["teacher"] == "qwen2.5-1.5b");
    CHECK(taught["job"]["beta"] == 1);
    CHECK(taught["job"]["adapter"]["kind"] == "lora");
    const json sharded = answer(
        "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --tuner_type full --deepspeed "
        "zero3_offload --per_device_train_batch_size 4 --torch_dtype bfloat16",
        {"--host_memory", "1TiB"});
    CHECK(sharded["layout"]["data"] == 8);
    CHECK(sharded["layout"]["zero"] == 3);
    CHECK(sharded["job"]["global_batch"] == 32);
    CHECK(sharded["runtime"]["name"] == "deepspeed");
    CHECK_FALSE(sharded["job"].contains("preference"));
    CHECK(answer("CUDA_VISIBLE_DEVICES=0,1 swift sft --model Qwen/Qwen3-8B")["layout"]["pipeline"] == 2);  // device_map
    CHECK(answer("swift sft --model Qwen/Qwen3-8B --quant_bits 4 --quant_method bnb")["job"]["weights"] ==
          "nf4_double");
    CHECK(answer("swift sft --model Qwen/Qwen3-8B --torch_dtype float32 --lora_rank 16")["job"]["compute"] == "fp32");
    refused({"plan", "--gpu", "h200", "--", "swift rlhf --rlhf_type gdk --model Qwen/Qwen3-8B"}, {"rlhf_type", "dpo"});
    refused({"plan", "--gpu", "h200", "--", "swift rlhf --rlhf_type gkd --model Qwen/Qwen3-8B"}, {"teacher", "absent"});
    refused({"plan", "--gpu", "h200", "--", "swift sft --model Qwen/Qwen3-8B --lora_rnk 8"}, {"lora_rnk", "lora_rank"});
}

TEST_CASE("published files of trainers become the jobs that they train") {
    if (!reads_files()) return;
    std::ifstream lines{LLMRES_SOURCE_DIR "/tests/data/trainer_lines.jsonl"};
    int all = 0;
    for (std::string row; std::getline(lines, row); ++all) {
        const json expected = json::parse(row);
        CAPTURE(expected["source"]);
        CAPTURE(expected["line"]);
        named_files files;
        for (const auto& [name, content] : expected["files"].items()) files.emplace_back(name, content);
        arguments before;
        if (expected.contains("gpus")) before = {"--gpus", std::to_string(expected["gpus"].get<int>())};
        const outcome answer = of_line(files, expected["line"], before);
        CAPTURE(answer.err);
        REQUIRE(answer.exit != bad_input);
        json job = expected["job"];
        job["cluster"]["gpu"] = "h200-sxm5-141gb";
        CHECK(answer.json()["document"] == job);
        std::string notes;
        for (const json& note : expected["notes"]) notes += "llmres: " + note.get<std::string>() + "\n";
        const std::size_t tight = answer.err.find("llmres: tight"), end = answer.err.find('\n', tight);
        CHECK((tight == std::string::npos ? answer.err : answer.err.substr(end + 1)) == notes);
    }
    CHECK(all >= 54);
}

TEST_CASE("a file that says which trainer it is of is planned by its name") {
    if (!reads_files()) return;
    const arguments plan{"plan", "a.yaml", "--gpu", "h100-sxm5-80gb", "--gpus", "4", "--json"};
    const outcome axolotl = asked({{"a.yaml", small}}, plan);
    CHECK(axolotl.json()["document"]["runtime"] == "axolotl");
    CHECK(axolotl.json()["document"]["global_batch"] == 8);
    // What the file does not say is the trainer's own.
    CHECK(axolotl.json()["assumed"]["optimizer"] == "adamw_fused");
    CHECK(axolotl.json()["assumed"]["defaults_of"].get<std::string>().starts_with("axolotl"));
    CHECK(asked({{"a.yaml", small}}, {"explain", "weights", "a.yaml", "--gpu", "h100-sxm5-80gb"}).exit == fits);
    CHECK(asked({{"a.yaml", small}}, {"compare", "--gpu", "h100-sxm5-80gb,l4", "a.yaml"}).exit == fits);
    CHECK(asked({{"a.yaml", small}}, {"a.yaml", "h100-sxm5-80gb"}).exit == fits);
    const outcome behind = asked({{"a.yaml", small}}, {"plan", "a.yaml", "h100-sxm5-80gb", "--json"});
    CHECK(behind.json()["document"]["cluster"]["gpus"] == 1);
    const outcome tune = asked({{"a.yaml",
                                 "model:\n  _component_: torchtune.models.qwen3.lora_qwen3_0_6b_instruct\n"
                                 "batch_size: 1\n"}},
                               plan);
    CHECK(tune.json()["document"]["layout"] == json{{"data", 4}, {"zero", 3}});
    CHECK(tune.json()["document"]["adapter"]["kind"] == "lora");
    const outcome titan = asked({{"a.toml", "[model]\nname = \"qwen3\"\nflavor = \"0.6B\"\n"}},
                                {"plan", "a.toml", "--gpu", "h100-sxm5-80gb", "--json"});
    // torchtitan's own defaults.
    CHECK(titan.json()["document"]["recompute_every"] == 2);
    CHECK(titan.json()["document"]["micro_batch"] == 8);
    CHECK(titan.json()["document"]["sequence"] == 2048);
    refused_with({{"a.yaml", "distributed_type: FSDP\n"}}, plan, {"config", "a.yaml", "accelerate launch"});
    refused_with({{"a.yaml", "a: 1\n"}}, plan, {"config", "a.yaml", "axolotl, LLaMA-Factory"});
    refused_with({}, plan, {"config", "a.yaml", "can be read"});
}

TEST_CASE("what stands before the line goes over it, and epochs are of as many samples as are said") {
    if (!reads_files()) return;
    const named_files files{{"a.yaml", small + "num_epochs: 4\ngradient_accumulation_steps: 2\n"}};
    const json plan =
        of_line(files, "axolotl train a.yaml", {"--gpus", "2", "--samples", "1000", "--sequence", "512"}).json();
    CHECK(plan["document"]["sequence"] == 512);
    CHECK(plan["document"]["global_batch"] == 8);
    CHECK(plan["run"]["tokens"] == 4 * 1000 * 512);
    CHECK_FALSE(of_line(files, "axolotl train a.yaml").json().contains("run"));
    const json four = of_line(files, "axolotl train a.yaml --launcher torchrun -- --nproc_per_node 4").json();
    CHECK(four["document"]["layout"]["data"] == 4);
    const json trl = of_line({{"sft.yaml",
                               "model_name_or_path: Qwen/Qwen3-0.6B\nper_device_train_batch_size: 4\n"
                               "dataset_name: x\n"}},
                             "trl sft --config sft.yaml --max_length 512")
                         .json();
    CHECK(trl["document"]["micro_batch"] == 4);
    CHECK(trl["document"]["sequence"] == 512);
}

TEST_CASE("a setting is used, passed over or named, and a wrong value names the setting") {
    if (!reads_files()) return;
    const auto planned = [](const std::string& more) {
        const outcome o = of_line({{"a.yaml", small + more}}, "axolotl train a.yaml");
        CAPTURE(o.err);
        CHECK(o.exit == fits);
        return o.err;
    };
    CHECK(planned("lora_alpha: 16\nwandb_project: x\ndatasets:\n  - path: a\n").empty());
    CHECK(planned("tiled_mlp: true\n") == "llmres: tiled_mlp: true changes memory or speed, and is not modelled\n");
    CHECK(planned("tiled_mlp: false\n").empty());
    CHECK(planned("sequence_length: 5\n").find("sequence_length: 5 is no setting of axolotl's") != std::string::npos);
    CHECK(planned("sequence_length: 5\n").find("is it sequence_len?") != std::string::npos);
    const auto wrong = [](const std::string& file, const std::string& line, const std::vector<std::string>& parts) {
        refused_with({{"a.yaml", file}}, {"plan", "--gpu", "h100", "--", line}, parts);
    };
    wrong("base_model: qwen3-8b\nsequence_len: 4k8\n", "axolotl train a.yaml", {"sequence_len", "4k8", "whole number"});
    wrong("base_model: qwen3-8b\ngradient_checkpointing: ture\n", "axolotl train a.yaml",
          {"gradient_checkpointing", "ture", "offload"});
    wrong("base_model: qwen3-8b\nsample_packing: maybe\n", "axolotl train a.yaml",
          {"sample_packing", "maybe", "true or false"});
    wrong("base_model: qwen3-8b\nadapter: loraa\n", "axolotl train a.yaml", {"adapter", "loraa", "lora, qlora"});
    const char* const accelerated = "accelerate launch --config_file a.yaml train.py --model_name_or_path qwen3-8b";
    wrong("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: FULLSHARD}\n", accelerated,
          {"fsdp_sharding_strategy", "FULLSHARD", "full_shard"});
    wrong("mixed_precision: bf61\n", accelerated, {"mixed_precision", "bf61", "bf16"});
    wrong("base_model: qwen3-8b\nrl: grpo\n", "axolotl train a.yaml", {"rl", "grpo", "dpo, ipo, kto"});
    wrong("sequence_len: 1\n", "axolotl train a.yaml", {"base_model", "absent"});
    wrong(small, "axolotl train a.yaml --micro-bach-size 2", {"--micro-bach-size", "micro_batch_size"});
    wrong("model_name_or_path: qwen3-8b\nfinetuning_type: lara\n", "llamafactory-cli train a.yaml",
          {"finetuning_type", "lara", "lora"});
    wrong("model_name_or_path: qwen3-8b\nstage: ppo\n", "llamafactory-cli train a.yaml", {"task", "ppo"});
    wrong("model_name_or_path: qwen3-8b\nstage: rm\n", "llamafactory-cli train a.yaml", {"stage", "rm", "value head"});
    wrong("model_name_or_path: qwen3-8b\nstage: dpo\npref_loss: bogus\n", "llamafactory-cli train a.yaml",
          {"pref_loss", "bogus", "orpo"});
    wrong("a: [1\n", "axolotl train a.yaml", {"config", "a.yaml", "line", "YAML"});
    refused_with({{"a.toml", "[model]\nname = \"llama3\"\nflavor = \"9B\"\n"}}, {"plan", "a.toml", "--gpu", "h100"},
                 {"model.flavor", "llama3 9B", "llama3 8B"});
    refused_with(
        {{"a.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[activation_checkpoint]\nmode = \"some\"\n"}},
        {"plan", "a.toml", "--gpu", "h100"}, {"activation_checkpoint.mode", "some", "selective"});
    refused_with({{"a.toml", "[model\n"}}, {"plan", "a.toml", "--gpu", "h100"}, {"a.toml, line 1", "TOML"});
    refused_with({{"a.yaml", "model: {_component_: torchtune.models.qwen3.qwen3_9b}\n"}},
                 {"plan", "a.yaml", "--gpu", "h100"}, {"model._component_", "qwen3_9b", "qwen3_8b"});
    refused_with({{"a.yaml", small + "tensor_parallel_size: 3\n"}}, {"plan", "a.yaml", "--gpu", "h100", "--gpus", "4"},
                 {"gpus", "4", "multiple", "3"});
    wrong(small + "tensor_parallel_size: 9000000000000\n", "axolotl train a.yaml", {"tensor", "9000000000000"});
    // Of torchtune's own names of files none is here.
    wrong("a: 1\n", "tune run full_finetune_single_device --config llama3_1/8B_full", {"config", "llama3_1/8B_full"});
}

TEST_CASE("trainers compute in fp32 where neither bf16 nor fp16 is on") {
    if (!reads_files()) return;
    const auto compute_of = [](const named_files& files, const std::string& line) {
        const outcome o = of_line(files, line);
        CAPTURE(o.err);
        REQUIRE(o.exit != bad_input);
        const json job = json::parse(o.out).at("job");
        return job.at("weights").get<std::string>() + " " + job.at("compute").get<std::string>();
    };
    const auto of_axolotl = [&](const std::string& more) {
        return compute_of({{"a.yaml", small + more}}, "axolotl train a.yaml");
    };
    CHECK(of_axolotl("") == "bf16 bf16");
    CHECK(of_axolotl("bf16: auto\n") == "bf16 bf16");
    CHECK(of_axolotl("bf16: false\n") == "fp32 fp32");
    CHECK(of_axolotl("bf16: false\nfp16: true\n") == "fp16 fp16");
    CHECK(of_axolotl("bf16: false\nload_in_4bit: true\nadapter: qlora\n") == "nf4_double bf16");
    const auto of_factory = [&](const std::string& more) {
        return compute_of({{"a.yaml", "model_name_or_path: Qwen/Qwen3-0.6B\nstage: sft\ncutoff_len: 512\n" + more}},
                          "llamafactory-cli train a.yaml");
    };
    CHECK(of_factory("finetuning_type: full\n") == "fp32 fp32");
    CHECK(of_factory("finetuning_type: full\nbf16: true\n") == "fp32 bf16");
    CHECK(of_factory("finetuning_type: full\npure_bf16: true\n") == "bf16 bf16");
    CHECK(of_factory("finetuning_type: lora\n") == "bf16 bf16");
    const std::string script = "python run_glue.py --model_name_or_path roberta-base --max_seq_length 128";
    CHECK(compute_of({}, script) == "fp32 fp32");
    CHECK(compute_of({}, script + " --bf16") == "fp32 bf16");
    CHECK(compute_of({}, script + " --fp16 True") == "fp32 fp16");
}

TEST_CASE("how a trainer's file saves is in an answer that asks for it, and in no other") {
    if (!reads_files()) return;
    const auto saved = [](const named_files& files, const std::string& line, const arguments& before) {
        const outcome o =
            asked(files, arguments{"plan", "--gpu", "h200-sxm5-141gb", "--json"} + before + arguments{"--", line});
        CAPTURE(line);
        CAPTURE(o.err);
        REQUIRE(o.exit != bad_input);
        return json::parse(o.out).at("document").value("checkpoint", json{});
    };
    const arguments stored{"--storage_bandwidth", "2GB/s"};
    const auto of = [&](const std::string& name, const std::string& file, const std::string& line) {
        CHECK(saved({{name, file}}, line, {"--gpus", "8"}).is_null());
        return saved({{name, file}}, line, arguments{"--gpus", "8"} + stored);
    };
    const std::string sharded = "distributed_type: FSDP\nnum_processes: 8\nfsdp_config: {fsdp_state_dict_type: ";
    const std::string script = "accelerate launch --config_file a.yaml train.py --model_name_or_path qwen3-8b --bf16";
    CHECK(of("a.yaml", sharded + "SHARDED_STATE_DICT}\n", script) == json{{"files", "sharded"}});
    CHECK(of("a.yaml", sharded + "FULL_STATE_DICT}\n", script + " --save_total_limit 3") ==
          json{{"files", "gathered"}, {"keep", 3}});
    CHECK(saved({}, "python train.py --model_name_or_path qwen3-8b --save_only_model --save_total_limit None",
                stored) == json{{"weights_only", true}});
    CHECK(of("a.yaml",
             small + "save_total_limit: 2\nfsdp: [full_shard]\nfsdp_config: {state_dict_type: "
                     "SHARDED_STATE_DICT}\n",
             "axolotl train a.yaml") == json{{"files", "sharded"}, {"keep", 2}});
    CHECK(of("a.yaml", "model_name_or_path: Qwen/Qwen3-0.6B\nstage: sft\nbf16: true\nsave_total_limit: 4\n",
             "llamafactory-cli train a.yaml") == json{{"keep", 4}});
    CHECK(of("a.toml",
             "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[checkpoint]\nasync_mode = "
             "\"async_with_pinned_mem\"\nkeep_latest_k = 5\ninterval = 500\n",
             "torchrun -m torchtitan.train --job.config_file a.toml") ==
          json{{"mode", "async_with_pinned_mem"}, {"keep", 5}});
    const std::string zero =
        R"({"zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": true}})";
    CHECK(saved({{"z.json", zero}}, "deepspeed train.py --model_name_or_path qwen3-8b --bf16 --deepspeed z.json",
                stored) == json{{"files", "gathered"}});
    CHECK(saved({},
                "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 "
                "--vocab-size 32000 --bf16 --async-save --save-interval 100",
                stored) == json{{"mode", "async"}});
}

TEST_CASE("a configuration of DeepSpeed has Trainer's batch, or leaves it to Trainer") {
    const auto says = [](const std::string& settings) {
        return R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}, )" + settings + "}";
    };
    const std::string line = "deepspeed --num_gpus 4 train.py --model_name_or_path Qwen/Qwen3-0.6B --deepspeed z.json ";
    const auto planned = [&](const std::string& settings, const std::string& more) {
        const outcome o = of_line({{"z.json", says(settings)}}, line + more);
        CAPTURE(o.err);
        CHECK(o.exit == fits);
        return json::parse(o.out).at("job");
    };
    const std::string of_two = "--per_device_train_batch_size 2 --gradient_accumulation_steps 3 --bf16";
    const json job = planned(R"("train_micro_batch_size_per_gpu": "auto", "train_batch_size": "auto")", of_two);
    CHECK(job.at("micro_batch") == 2);
    CHECK(job.at("global_batch") == 24);
    CHECK(planned(R"("train_micro_batch_size_per_gpu": 2, "train_batch_size": 24)", of_two) == job);
    const auto refused = [&](const std::string& settings, const std::vector<std::string>& parts) {
        refused_with({{"z.json", says(settings)}}, {"plan", "--gpu", "h100", "--", line + of_two}, parts);
    };
    refused(R"("train_micro_batch_size_per_gpu": 1)", {"train_micro_batch_size_per_gpu", "1", "auto, or 2"});
    refused(R"("gradient_accumulation_steps": 4)", {"gradient_accumulation_steps", "4", "auto, or 3"});
    refused(R"("train_batch_size": 64)", {"train_batch_size", "64", "auto, or 24"});
    CHECK(planned(R"("train_micro_batch_size_per_gpu": 1)", of_two + " --auto_find_batch_size").at("micro_batch") == 2);
    // Neither bf16 nor fp16: DeepSpeed's engine takes fp32 weights alone.
    CHECK(job.at("compute") == "bf16");
    const json unmixed = planned(R"("steps_per_print": 9)", "--per_device_train_batch_size 2");
    CHECK(unmixed.at("compute") == "fp32");
    CHECK(unmixed.at("weights") == "fp32");
}

TEST_CASE("anchors, aliases and merged keys of YAML are read, and a bomb is refused soon") {
    if (!reads_files()) return;
    const json merged = asked({{"a.yaml",
                                "x: &x {base_model: Qwen/Qwen3-0.6B, micro_batch_size: 4}\n<<: *x\n"
                                "sequence_len: &n 2048\neval_sequence_len: *n\n"}},
                              {"plan", "a.yaml", "--gpu", "h100-sxm5-80gb", "--json"})
                            .json();
    CHECK(merged["document"]["micro_batch"] == 4);
    std::string aliases = "a: &a [1,1,1,1,1,1,1,1,1]\n";
    for (char c = 'b'; c < 'j'; ++c) {
        const std::string before = std::string{"*"} + static_cast<char>(c - 1);
        aliases += std::string{c} + ": &" + c + " [" + before;
        for (int i = 0; i < 8; ++i) aliases += "," + before;
        aliases += "]\n";
    }
    std::string dots = "a";
    for (int i = 0; i < 200'000; ++i) dots += ".a";
    std::string numbers = "1";
    for (int i = 0; i < 400'000; ++i) numbers += ",1";
    const std::vector<std::pair<std::string, std::string>> bombs{
        {"a.yaml", aliases},
        {"a.yaml", "a: " + std::string(500'000, '[')},
        {"a.yaml", "a: [" + numbers + "]\n"},
        {"a.yaml", std::string(2'000'000, 'x')},
        {"a.yaml", std::string(300'000, '?')},
        {"a.toml", "a = " + std::string(400'000, '[')},
        {"a.toml", "a = [" + numbers + "]\n"},
        {"a.toml", dots + " = 1\n"},
    };
    for (const auto& [name, content] : bombs) {
        const double before = run_program::seconds_of_cpu();
        refused_with({{name, content}}, {"plan", name, "--gpu", "h100"}, {"config", name});
        // 0.25 s by itself; up to three times that in an unoptimised build on a busy machine.
        CHECK(run_program::seconds_of_cpu() - before < (sanitized || counts_lines ? 5 : 1.5));
    }
}

TEST_CASE("a line of Megatron-LM describes its model, and what it lacks or misspells is named") {
    const std::string shape =
        "--num-layers 2 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --bf16 "
        "--micro-batch-size 1 --vocab-size 32000 ";
    const auto planned = [&](const std::string& options) {
        const outcome o = of_line({}, "torchrun --nproc_per_node 8 pretrain_gpt.py " + options);
        CAPTURE(o.err);
        REQUIRE(o.exit == fits);
        return o.json()["document"];
    };
    CHECK(planned(shape)["dropout"] == true);  // 0.1 unasked
    CHECK(planned(shape)["model"]["feed_forward"]["width"] == 2048);
    CHECK(planned(shape + "--swiglu")["model"]["feed_forward"]["width"] == 1344);
    CHECK(planned(shape + "--group-query-attention")["model"]["attention"]["kv_heads"] == 1);
    CHECK(planned(shape + "--tensor-model-parallel-size 8")["model"]["vocabulary"] == 32768);
    CHECK(planned(shape)["global_batch"] == 8);
    // Virtual stages have so many layers, and sequence parallelism needs tensor ranks.
    CHECK_FALSE(planned(shape + "--sequence-parallel")["layout"].contains("sequence_parallel"));
    const auto wrong = [](const std::string& options, const std::vector<std::string>& parts) {
        refused_with({}, {"plan", "--gpu", "h100", "--", "torchrun --nproc_per_node 8 pretrain_gpt.py " + options},
                     parts);
    };
    wrong("--num-layers 2 --hidden-size 512 --num-attention-heads 8", {"--vocab-size", "absent"});
    wrong("--num-layers 2 --vocab-size 3", {"--hidden-size", "absent"});
    wrong(shape + "--recompute-granularty full", {"--recompute-granularty", "recompute_granularity"});
    wrong(shape + "--recompute-granularity all", {"--recompute-granularity", "all", "full, selective"});
    wrong(shape + "--tensor-model-parallel-size 3", {"gpus", "8", "multiple", "3"});
    wrong(shape + "--num-experts 4 --moe-layer-freq 2", {"--moe-layer-freq", "2"});
    wrong("--num-layers $LAYERS --hidden-size 512", {"--num-layers", "$LAYERS", "not expanded"});
    wrong("${ARGS[@]} --hidden-size 512", {"argument", "${ARGS[@]}", "not expanded"});
    // What would help is asked for with the line.
    const outcome large =
        run({"plan", "--gpu", "rtx-3060", "--", "torchrun", "--nproc_per_node", "1", "pretrain_gpt.py", "--num-layers",
             "32", "--hidden-size", "4096", "--num-attention-heads", "32", "--vocab-size", "32000", "--bf16",
             "--seq-length", "512"});
    CHECK(large.exit == does_not_fit);
    CHECK(large.out.find(" -- torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 32") != std::string::npos);
}

TEST_CASE("variables and arrays that a pasted script sets are in their places, and those under a condition are named") {
    const std::string script =
        "#!/bin/bash\n#SBATCH --nodes=2\nGPUS=8\nTP_SIZE=${TP:-2}\n\nMODEL_ARGS=(\n    --num-layers 4  # few\n"
        "    --hidden-size 512\n    --num-attention-heads 8\n    \"--vocab-size 32000\"\n)\n"
        "TRAINING_ARGS=( --micro-batch-size 1 --bf16 --seq-length 1024 )\n"
        "DDP_ARGS=( --use-distributed-optimizer )\nTRAINING_ARGS+=(\"${DDP_ARGS[@]}\")\n"
        "options=\" \\\n  --tensor-model-parallel-size ${TP_SIZE} \\\n  --train-iters 10\"\n"
        "if [ -n \"${X}\" ]; then\n  TRAINING_ARGS+=( --num-experts 4 )\nfi\n"
        "torchrun --nproc_per_node $GPUS pretrain_gpt.py \\\n  ${MODEL_ARGS[@]} \\\n  ${TRAINING_ARGS[@]} ${options}\n";
    const outcome o = of_line({}, script);
    CAPTURE(o.err);
    REQUIRE(o.exit == fits);
    const json job = o.json()["document"];
    CHECK(job["model"]["layers"] == 4);
    CHECK(job["model"]["vocabulary"] == 32000);
    CHECK(job["layout"] == json{{"data", 4}, {"tensor", 2}, {"zero", 1}});
    CHECK(job["run"]["samples"] == 40);
    CHECK(o.err == "llmres: TRAINING_ARGS is set under a condition, and what it gets there is not read\n");
    const outcome unset = of_line({}, "if true; then LAYERS=4; fi\ntorchrun pretrain_gpt.py --num-layers $LAYERS");
    CHECK(unset.exit == bad_input);
    CHECK(unset.err.find("$LAYERS") != std::string::npos);
    std::string doubling = "A=aaaaaaaaaaaaaaaa\n";
    for (int i = 0; i < 60; ++i) doubling += "A=$A$A\n";
    CHECK(of_line({}, doubling + "torchrun pretrain_gpt.py --num-layers $A").exit == bad_input);
}

TEST_CASE("a file stands for the options that a person would write") {
    if (!reads_files()) return;
    const auto memory = [](const outcome& o) {
        CAPTURE(o.err);
        REQUIRE(o.exit != bad_input);
        return o.json()["memory"];
    };
    const arguments gpu{"--gpu", "h100-sxm5-80gb", "--json"};
    const auto typed = [&](const arguments& words) { return memory(run(arguments{"plan"} + words + gpu)); };
    const auto from = [&](const std::string& name, const std::string& content, const arguments& words) {
        return memory(asked({{name, content}}, arguments{"plan", name} + words + gpu));
    };
    CHECK(from("a.yaml",
               "base_model: Qwen/Qwen3-8B\nadapter: qlora\nload_in_4bit: true\nlora_r: 16\nlora_target_linear: true\n"
               "sequence_len: 2048\nmicro_batch_size: 2\ngradient_checkpointing: true\noptimizer: paged_adamw_8bit\n",
               {}) == typed({"qwen3-8b",    "--runtime",  "axolotl",     "--qlora",          "--lora_r",
                             "16",          "--sequence", "2048",        "--micro_batch",    "2",
                             "--recompute", "full",       "--optimizer", "paged_adamw_8bit", "--gpus",
                             "1",           "--data",     "1",           "--global_batch",   "2"}));
    CHECK(from("a.yaml",
               "base_model: Qwen/Qwen3-8B\nsequence_len: 4096\nmicro_batch_size: 1\nbf16: true\nfsdp_version: 2\n"
               "fsdp_config: {reshard_after_forward: true, offload_params: true}\n",
               {"--gpus", "8"}) == typed({"qwen3-8b", "--runtime", "axolotl", "--zero", "3", "--data", "8", "--gpus",
                                          "8", "--sequence", "4096", "--offload_parameters", "host",
                                          "--offload_optimizer", "host", "--fully_shard", "--global_batch", "8"}));
    CHECK(from("a.yaml",
               "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\n"
               "cutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n",
               {}) == typed({"qwen3-8b", "--runtime", "llama-factory", "--micro_batch", "1", "--sequence", "2048",
                             "--gpus", "1", "--global_batch", "1", "--data", "1"}));
    CHECK(from("a.yaml",
               "model: {_component_: torchtune.models.llama3_1.llama3_1_8b}\nbatch_size: 2\ndtype: bf16\n"
               "tokenizer: {max_seq_len: 4096}\nenable_activation_checkpointing: True\n"
               "optimizer: {_component_: torch.optim.AdamW, fused: True}\n"
               "loss: {_component_: torchtune.modules.loss.LinearCrossEntropyLoss}\n",
               {"--gpus", "2"}) == typed({"llama-3.1-8b",
                                          "--task",
                                          "finetuning",
                                          "--runtime",
                                          "torchtune",
                                          "--zero",
                                          "3",
                                          "--data",
                                          "2",
                                          "--gpus",
                                          "2",
                                          "--micro_batch",
                                          "2",
                                          "--global_batch",
                                          "4",
                                          "--sequence",
                                          "4096",
                                          "--recompute",
                                          "full",
                                          "--optimizer",
                                          "adamw_fused",
                                          "--loss",
                                          "chunked"}));
    CHECK(
        from("a.toml",
             "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n"
             "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n[compile]\nenable = true\n",
             {"--gpus", "8"}) == typed({"llama-3.1-8b",
                                        "--task",
                                        "pretraining",
                                        "--runtime",
                                        "torchtitan",
                                        "--zero",
                                        "3",
                                        "--data",
                                        "8",
                                        "--gpus",
                                        "8",
                                        "--micro_batch",
                                        "1",
                                        "--global_batch",
                                        "8",
                                        "--sequence",
                                        "8192",
                                        "--recompute",
                                        "selective",
                                        "--weights",
                                        "fp32",
                                        "--compute",
                                        "bf16",
                                        "--optimizer",
                                        "adamw_fused",
                                        "--compiled"}));
}
