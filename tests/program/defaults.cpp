// SPDX-License-Identifier: MIT
// What a user gets who types a training job and no more: what is assumed is what the runtime does, and is said.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../run_program.hpp"

using nlohmann::json;

namespace {

using arguments = std::vector<std::string>;

constexpr double gib = 1073741824.0;

run_program::outcome typed(arguments more, const char* model = "llama-2-7b") {
    arguments all{"plan", model, "--task", "finetuning", "--gpu", "b200-sxm"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program::run(all);
}

json answer(arguments more, const char* model = "llama-2-7b") {
    more.emplace_back("--json");
    const run_program::outcome o = typed(more, model);
    INFO(o.err);
    REQUIRE((o.exit == 0 || o.exit == 1));
    return o.json();
}

double term(const json& said, const char* name) { return said["memory"]["terms"][name].get<double>() / gib; }

}  // namespace

TEST_CASE("how recurrences are trained is said where a model has them: in plain PyTorch, or by kernels for them") {
    const auto planned = [](const char* model, arguments more) {
        more.insert(more.begin(), {"--runtime", "huggingface", "--gpus", "8"});
        return answer(more, model);
    };
    const json plain = planned("qwen3.5-27b", {});
    CHECK(plain["assumed"]["scan"] == "plain");
    const json fused = planned("qwen3.5-27b", {"--scan", "fused"});
    CHECK_FALSE(fused["assumed"].contains("scan"));
    CHECK(fused["memory"] != plain["memory"]);
    CHECK_FALSE(planned("llama-3.1-8b", {})["assumed"].contains("scan"));
}

TEST_CASE("an adapter of factors has rank 8 however it is named, and a plan says so") {
    const auto planned = [](arguments named) {
        named.insert(named.begin(), {"plan", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--json"});
        return run_program::run(named).json();
    };
    const json flag = planned({"--adapter_kind", "lora"});
    CHECK(flag["assumed"]["adapter_rank"] == 8);
    CHECK(flag["assumed"]["adapter_targets"] == "all-linear");
    CHECK(flag["memory"] == planned({"--adapter", "lora"})["memory"]);
    CHECK(flag["memory"] == planned({"--adapter_kind", "lora", "--adapter_rank", "8"})["memory"]);
    CHECK(flag["memory"] != planned({"--adapter_kind", "lora", "--adapter_rank", "16"})["memory"]);
}
TEST_CASE("accelerate's FSDP trains in fp32 unless the weights are named, and a plan says so") {
    // Layers computed anew are fullest in the step, where all gradients are there.
    const arguments eight{"--runtime", "huggingface", "--data", "8", "--gpus", "8", "--recompute", "full"};
    const auto planned = [&](arguments more) {
        more.insert(more.begin(), eight.begin(), eight.end());
        return answer(more);
    };
    const json sharded = planned({"--zero", "3"});
    CHECK(sharded["assumed"]["weights"] == "fp32");
    CHECK(sharded["job"]["weights"] == "fp32");
    CHECK(sharded["job"]["gradients"] == "fp32");
    CHECK(term(sharded, "weights") + term(sharded, "gradients") + term(sharded, "optimizer") ==
          doctest::Approx(4 * 2 * 12.55 / 8).epsilon(0.001));
    const json named = planned({"--zero", "3", "--weights", "bf16"});
    CHECK_FALSE(named["assumed"].contains("weights"));
    CHECK(term(named, "optimizer") * 2 == doctest::Approx(term(sharded, "optimizer")));
    CHECK(planned({"--zero", "0"})["assumed"]["weights"] == "bf16");  // published in fp16, and computed in bf16
}
TEST_CASE("gradients are whole between micro-batches unless each is synchronised, and DDP's buckets lie beside them") {
    const double whole = 12.55;  // GiB in 16 bits
    const arguments eight{"--runtime", "huggingface", "--data",     "8",   "--gpus",      "8",
                          "--weights", "bf16",        "--sequence", "512", "--recompute", "full"};
    const auto gradients = [&](arguments more) {
        more.insert(more.begin(), eight.begin(), eight.end());
        return term(answer(more), "gradients");
    };
    CHECK(gradients({"--zero", "3", "--global_batch", "16"}) == doctest::Approx(whole).epsilon(0.001));
    CHECK(gradients({"--zero", "2", "--global_batch", "16"}) == doctest::Approx(whole).epsilon(0.001));
    CHECK(gradients({"--zero", "3", "--global_batch", "8"}) <= whole / 8 * 1.001);
    CHECK(gradients({"--zero", "3", "--global_batch", "16", "--sync_each_batch"}) <= whole / 8 * 1.001);
    CHECK(gradients({"--zero", "0"}) == doctest::Approx(2 * whole).epsilon(0.001));
    CHECK(gradients({"--zero", "0", "--gradient_as_bucket_view"}) == doctest::Approx(whole).epsilon(0.001));
}
TEST_CASE("what trains under transformers is huggingface, by either name") {
    CHECK(answer({"--runtime", "transformers"})["runtime"] == answer({"--runtime", "huggingface"})["runtime"]);
    CHECK(answer({"--runtime", "transformers@4.46"})["runtime"] ==
          answer({"--runtime", "huggingface@4.46"})["runtime"]);
}
TEST_CASE(
    "no fp32 master copy unless asked: four 16-bit copies of Llama-2-7B under torchtune, huggingface and litgpt") {
    for (const char* runtime : {"torchtune", "huggingface", "litgpt"}) {
        CAPTURE(runtime);
        const json said = answer({"--runtime", runtime, "--sequence", "512"});
        CHECK(term(said, "weights") + term(said, "gradients") + term(said, "optimizer") ==
              doctest::Approx(4 * 12.55).epsilon(0.001));
        const json asked = answer({"--runtime", runtime, "--sequence", "512", "--master_weights", "fp32"});
        CHECK(term(asked, "optimizer") > 2 * 12.55 + 20);
        const json none = answer({"--runtime", runtime, "--sequence", "512", "--master_weights", "none"});
        CHECK(none["memory"] == said["memory"]);
        CHECK(typed({"--runtime", runtime, "--sequence", "512"}).out.find("master_weights none") != std::string::npos);
    }
    CHECK(typed({"--runtime", "deepspeed", "--master_weights", "none"}).err.find("master_weights is none") !=
          std::string::npos);
}

TEST_CASE("LoRA on all linear layers leaves out experts that transformers stores as bare parameters") {
    const arguments lora{"--runtime", "huggingface", "--adapter_kind", "lora", "--adapter_rank", "16"};
    const double all = term(answer(lora, "qwen3-30b-a3b"), "adapter");
    arguments attention = lora;
    attention.insert(attention.end(), {"--adapter_targets", "attention"});
    CHECK(all < 0.1);  // 128 experts of 48 layers would take 6 GiB
    CHECK(term(answer(attention, "qwen3-30b-a3b"), "adapter") <= all);
}

TEST_CASE("formats that cannot be trained are widened with a reason, or refused by name") {
    const run_program::outcome widened =
        typed({"--runtime", "huggingface", "--adapter_kind", "lora", "--adapter_rank", "8"}, "gpt-oss-20b");
    CHECK(widened.exit == 0);
    CHECK(widened.out.find("published in a format that is not trained, and are widened") != std::string::npos);
    for (const char* format : {"mxfp4", "fp8_block128"}) {
        CAPTURE(format);
        const run_program::outcome refused = typed({"--runtime", "huggingface", "--weights", format}, "qwen3-8b");
        CHECK(refused.exit == 2);
        CHECK(refused.err.find(format) != std::string::npos);
    }
}

TEST_CASE("fine-tuning without a sequence takes 2,048 tokens and says so") {
    const run_program::outcome said = typed({"--runtime", "huggingface"}, "qwen3-8b");
    CHECK(said.out.find("no sequence is given: at most 2048 tokens are assumed") != std::string::npos);
    CHECK(said.out.find("sequence 2048") != std::string::npos);
    CHECK(answer({"--runtime", "huggingface"}, "qwen3-8b")["memory"] ==
          answer({"--runtime", "huggingface", "--sequence", "2048"}, "qwen3-8b")["memory"]);
}

TEST_CASE("what is offloaded shows the main memory that it takes, whether the host's is known or not") {
    const arguments offloads{"--runtime", "deepspeed",           "--gpus", "8",          "--zero",
                             "3",         "--offload_optimizer", "host",   "--sequence", "512"};
    const run_program::outcome unknown = typed(offloads);
    CHECK(unknown.out.find("\nhost     ") != std::string::npos);
    CHECK(unknown.out.find("say how much it has") != std::string::npos);
    arguments with_host = offloads;
    with_host.insert(with_host.end(), {"--host_memory", "2TiB"});
    CHECK(typed(with_host).out.find("of a node's main memory, which has 2") != std::string::npos);
    CHECK(answer(with_host)["memory"]["host"]["expected"].get<double>() / gib > 70);
    CHECK(typed({"--runtime", "deepspeed", "--gpus", "8"}).out.find("\nhost     ") == std::string::npos);
}

TEST_CASE("of a short name that several cards have, every command says which one it took") {
    const std::string said =
        "llmres: h100 is taken for h100-sxm5-80gb; say so for one of h100-pcie-80gb, h100-nvl-94gb";
    const auto on = [](const char* command, const char* gpu, arguments more = {}) {
        arguments all{command, "llama-3.1-8b", "--runtime", "vllm", "--gpu", gpu};
        all.insert(all.end(), more.begin(), more.end());
        return run_program::run(all);
    };
    for (const char* command : {"plan", "search", "compare"}) {
        CAPTURE(command);
        CHECK(on(command, "h100").err.find(said) != std::string::npos);
        CHECK(on(command, "h100-pcie-80gb").err.find("is taken for") == std::string::npos);
    }
    CHECK(on("plan", "h100", {"--json"}).json()["assumed"]["gpu"] == "h100-sxm5-80gb");
    CHECK_FALSE(on("plan", "h100-pcie-80gb", {"--json"}).json()["assumed"].contains("gpu"));
    const std::string placed = run_program::run({"place", "llama-3.1-8b", "--free", "h100:2,h100"}).err;
    CHECK(placed.find(said) != std::string::npos);
    CHECK(placed.find(said) == placed.rfind(said));  // once, for nodes of two sizes
}

TEST_CASE("a format under another name than its own is shown as what it was taken for") {
    const auto assumed = [](const char* weights) {
        return run_program::run(
                   {"plan", "llama-3.1-8b", "--gpu", "l4", "--context", "2048", "--weights", weights, "--json"})
            .json()["assumed"];
    };
    CHECK(assumed("4bit")["weights"] == "nf4");
    CHECK(assumed("8-bit")["weights"] == "bnb_int8");
    for (const char* own : {"nf4", "NF4", "gptq-int4-g128", "q4_k_m", "Q4_K_M"}) {
        CAPTURE(own);
        CHECK_FALSE(assumed(own).contains("weights"));
    }
}

TEST_CASE("a plan of more sequences than the runtime runs at once says how many wait") {
    const auto printed = [](arguments more) {
        arguments all{"plan",     "qwen3-8b", "--runtime", "vllm",      "--gpu",
                      "rtx-4090", "--batch",  "16",        "--context", "2048"};
        all.insert(all.end(), more.begin(), more.end());
        return run_program::run(all).out;
    };
    CHECK(printed({"--max_num_seqs", "4"}).find("waiting  12 of 16 sequences: 4 run at once (max_num_seqs)\n") !=
          std::string::npos);
    CHECK(printed({"--max_num_seqs", "16"}).find("waiting") == std::string::npos);
    CHECK(printed({}).find("waiting") == std::string::npos);
}
