// SPDX-License-Identifier: MIT
// Many plans at once, the tables of formats and links, and what a term counts.
#include <doctest/doctest.h>

#include "../program_checks.hpp"
#include "shell_words.hpp"

#include <cstdint>
#include <llmres/memory/breakdown.hpp>
#include <llmres/time/breakdown.hpp>
#include <string>

using namespace program_checks;
using nlohmann::json;

namespace {

json rows_of(const arguments& asked, int code = fits) {
    const outcome o = run(arguments{"compare"} + asked + arguments{"--json"});
    CAPTURE(o.err);
    CHECK(o.exit == code);
    REQUIRE(o.json().contains("rows"));
    return o.json()["rows"];
}

}  // namespace

TEST_CASE("tasks, methods, references and adapters are compared as other fields of a job are") {
    const arguments job{"compare", "qwen3-8b", "--gpu", "h200-sxm5-141gb", "--runtime", "trl", "--micro_batch", "2"};
    const json tasks =
        run(job + arguments{"--task", "dpo,sft,reward", "--adapter_kind", "lora", "--sort", "given", "--json"})
            .json()["rows"];
    REQUIRE(tasks.size() == 3);
    CHECK(tasks[0]["task"] == "dpo");
    CHECK(tasks[0]["assumed"]["reference"] == "adapters_off");
    CHECK_FALSE(tasks[1]["assumed"].contains("reference"));
    CHECK(tasks[1]["command"].get<std::string>().find("--task finetuning") != std::string::npos);
    CHECK(tasks[2]["command"].get<std::string>().find("--preference reward") != std::string::npos);
    const json references = run(job + arguments{"--task", "dpo", "--reference", "loaded,precomputed", "--adapter_kind",
                                                "lora,none", "--sort", "given", "--json"})
                                .json()["rows"];
    REQUIRE(references.size() == 4);
    CHECK(references[0]["memory"]["expected"] > references[2]["memory"]["expected"]);
    const std::string one = run(job + arguments{"--task", "dpo", "--sequence", "512,1024"}).out;
    CHECK(one.find("qwen3-8b, finetuning by dpo, ") == 0);
    const std::string several = run(job + arguments{"--task", "dpo,sft"}).out;
    CHECK(several.find("qwen3-8b, training, ") == 0);
    CHECK(run({"place", "qwen3-8b", "--task", "dpo", "--free", "h200-sxm5-141gb:2", "--runtime", "trl"})
              .out.find("qwen3-8b, finetuning by dpo, ") == 0);
}

TEST_CASE("models, GPUs and engines are planned each with each, as plan does") {
    const json rows = rows_of({"llama-3.1-8b,qwen3-8b", "--gpu", "l4, H100 SXM", "--runtime", "vllm,sglang",
                               "--max-model-len", "8k", "--batch", "4"});
    REQUIRE(rows.size() == 8);
    for (std::size_t i = 1; i < rows.size() && rows[i]["verdict"] != "does_not_fit"; ++i)
        CHECK(rows[i - 1]["tokens_per_second"].get<double>() >= rows[i]["tokens_per_second"].get<double>());
    const json& best = rows[0];
    CHECK(best["gpu"] == "h100-sxm5-80gb");
    const std::string command = best["command"].get<std::string>();
    CHECK(command.starts_with("llmres plan "));
    const json p = planned({"plan", best["model"], "--gpu", best["gpu"], "--runtime", best["runtime"], "--context",
                            "8192", "--batch", "4"});
    CHECK(p["time"]["tokens_per_second"] == best["tokens_per_second"]);
    CHECK(p["memory"]["needed"]["expected"] == best["memory"]["expected"]);
}

TEST_CASE("models that generate nothing have no seconds a token in tables") {
    const arguments job{"--task", "embedding", "--gpu", "l4", "--runtime", "vllm", "--context", "512"};
    for (const outcome& o : {run(arguments{"compare", "bge-m3,qwen3-embedding-0.6b"} + job),
                             run(arguments{"search", "bge-m3", "--gpus", "2"} + job)}) {
        CHECK(o.exit == fits);
        CHECK(o.out.find("a token") != std::string::npos);
        CHECK(o.out.find(" 0 s") == std::string::npos);
    }
    CHECK(run({"search", "qwen3-0.6b", "--gpu", "l4", "--runtime", "vllm"}).out.find("  -  ") == std::string::npos);
}

TEST_CASE("what fits comes first, and the nearest to fitting after it") {
    const arguments asked{"qwen3-32b", "--gpu", "rtx-4090", "--gpus", "1,2,4", "--context", "4096"};
    const json rows = rows_of(asked + arguments{"--sort", "memory"});
    REQUIRE(rows.size() == 3);
    CHECK(rows[0]["gpus"] == 4);
    CHECK(rows[2]["verdict"] == "does_not_fit");
    CHECK(rows_of(asked + arguments{"--fits"}).size() < 3);
    CHECK(rows_of(asked + arguments{"--top", "1"}).size() == 1);
    CHECK(rows_of(asked + arguments{"--sort", "given"})[0]["gpus"] == 1);
    CHECK(rows_of({"llama-3.1-405b", "--gpu", "l4,t4", "--context", "1024"}, does_not_fit).size() == 2);
}

TEST_CASE("a plan that is refused stands beside the others with its reason") {
    const outcome o = run({"compare", "llama-3.1-8b", "--gpu", "l4", "--weights", "q4_k_m,awq", "--runtime",
                           "llama.cpp,vllm", "--context", "2048", "--json"});
    CHECK(o.exit == fits);
    CHECK(o.json()["plans"] == 4);
    REQUIRE(!o.json()["refused"].empty());
    CHECK(o.json()["refused"][0]["error"].get<std::string>().find("weights") != std::string::npos);
    const outcome table = run({"compare", "llama-3.1-8b", "--gpu", "l4", "--weights", "q4_k_m,awq", "--runtime",
                               "llama.cpp", "--context", "2048"});
    CHECK(table.out.find("refused:\n  awq: ") != std::string::npos);
    CHECK(table.out.find("\nassumed ") != std::string::npos);
}

TEST_CASE("what compare cannot take is refused by name") {
    refused({"compare", "llama-3.1-8b", "--gpu", "l4,,a10"}, {"gpu", "comma"});
    refused({"compare", "llama-3.1-8b", "--gpu", "l4", "--gpus", "1,x"}, {"gpus", "x"});
    refused({"compare", "llama-3.1-8b", "--gpu", "l4,h1000"}, {"gpu", "h1000"});
    refused({"compare", "llama-3.1-8b", "--gpu", "l4", "--sort", "speed"}, {"sort", "speed", "throughput"});
    refused({"compare", "llama-3.1-8b", "--gpu", "l4", "--top", "-1"}, {"top", "-1"});
    refused({"compare", "llama-3.1-8b"}, {"gpu"});
    refused({"compare", jobs + "megatron-405b.json", "qwen3-8b"}, {"model", "one job document"});
    refused({"compare", "llama-3.1-8b", "--gpu", "any", "--batch", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19"},
            {"plans", "2,000"});
}

TEST_CASE("ten questions as people type them are answered") {
    const run_program::scratch files;
    for (const char* line :
         {"compare llama-3.1-8b,qwen3-8b --gpu 4090,l4,'H100 SXM' --engine vllm --max-model-len 8k",
          "compare llama-3.1-70b --gpu any --weights fp8 -c 8k --fits --top 10",
          "compare llama-3.1-8b --gpu a100-80gb,h100-sxm --backend vllm,sglang,trtllm --batch 64 --isl 1k --osl 256",
          "compare qwen3-8b mistral-7b-v0.3 --task finetuning --qlora --seq 2k --gpu 3090,4090,a6000 --sort memory",
          "compare qwen3-32b --gpu 4090 --num-gpus 1,2,4,8 --ctx-size 4096 --sort room", "formats gguf mix q4",
          "links infiniband", "explain kv_cache llama-3.1-8b --gpu h100-sxm --ctx 8k",
          "explain activations llama-3.1-8b --task finetuning --gpu h100-sxm --gpus 8 --zero 3 --seq 4k",
          "plan llama-3.1-70b --weights Q4_K_M --gpu 4090 --runtime llama.cpp -ngl auto --ctx-size 8192"}) {
        CAPTURE(line);
        const outcome o = run(shell_words(line), files.path());
        CAPTURE(o.err);
        CHECK(o.exit == fits);
        CHECK(!o.out.empty());
    }
}

TEST_CASE("formats have their bits, other names and engines") {
    const json all = run({"formats", "--json"}).json()["formats"];
    const auto row = [&](const std::string& name) {
        for (const json& r : all)
            if (r["name"] == name) return r;
        return json{};
    };
    CHECK(row("q4_0")["bits_per_weight"] == 4.5);
    CHECK(row("bf16")["bits_per_weight"] == 16);
    CHECK(row("awq_int4_g128")["also"].dump().find("awq") != std::string::npos);
    const auto takes = [&](const std::string& format, const std::string& engine) {
        return row(format)["engines"].dump().find('"' + engine + '"') != std::string::npos;
    };
    CHECK(takes("q4_k_m", "llama.cpp"));
    CHECK(!takes("awq_int4_g128", "llama.cpp"));
    CHECK(takes("awq_int4_g128", "vllm"));
    const json mixes = run({"formats", "gguf mix", "--model", "qwen3-8b", "--json"}).json()["formats"];
    CHECK(mixes.size() == 36);
    CHECK(run({"formats", "qlora"}).out.find("nf4_double") != std::string::npos);
    refused({"formats", "q9_z"}, {"format", "q9_z"});
    refused({"formats", "--model", "lama-8"}, {"model", "lama-8"});
}

TEST_CASE("links have bandwidth, latency and source") {
    const json all = run({"links", "--json"}).json()["links"];
    CHECK(all.size() > 90);
    const json nvlink = run({"links", "NVLink h100", "--json"}).json()["links"];
    CHECK(nvlink.size() < all.size());
    for (const json& l : nvlink) {
        CHECK(l["bandwidth"].get<double>() <= l["raw"].get<double>());
        CHECK(!l["sources"].get<std::string>().empty());
    }
    CHECK(run({"links", "ib-ndr"}).out.find("ib-ndr-400") != std::string::npos);
    refused({"links", "nvlink44"}, {"link", "nvlink44"});
}

TEST_CASE("a memory term is explained by parts that add up to it") {
    for (const arguments& job :
         {arguments{"llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--context", "8192", "--runtime", "vllm"},
          arguments{"llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--task", "finetuning", "--sequence", "2048",
                    "--runtime", "huggingface", "--zero", "3", "--gpus", "8"}}) {
        const json p = planned(arguments{"plan"} + job);
        for (const char* term : {"weights", "optimizer", "kv_cache", "logits"}) {
            CAPTURE(term);
            const json e = planned(arguments{"explain", term} + job);
            CHECK(e["value"]["expected"] == p["memory"]["terms"][term]);
            std::int64_t sum = 0;
            for (const json& part : e["parts"]) sum += part["bytes"].get<std::int64_t>();
            CHECK(sum == e["value"]["expected"].get<std::int64_t>());
        }
    }
}

TEST_CASE("a constant of a profile is explained, with its value and source in a job's runtime") {
    const json e =
        planned(arguments{"explain", "cuda_graphs", "llama-3.1-8b", "--gpu", "l4", "--runtime", "vllm@0.19"});
    CHECK(e["constant"] == "process.cuda_graphs");
    CHECK(e["unit"] == "bytes");
    CHECK(e["value"]["low"] <= e["value"]["high"]);
    CHECK(e["source"].get<std::string>().find("vllm.hpp") != std::string::npos);
    const json constants = run({"runtimes", "vllm@0.19", "--constants", "--json"}).json()["constants"];
    CHECK(constants.size() > 150);
    for (const json& c : constants) CHECK(!c["means"].get<std::string>().empty());
    CHECK(run({"runtimes", "vllm@0.19", "--constants"}).out.find("process.cuda_graphs") != std::string::npos);
    CHECK(run({"explain", "process.workspace"}).out.find("means") != std::string::npos);
}

TEST_CASE("a time term is explained, and every term without a job") {
    const arguments job{"llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--context", "8192"};
    const json p = planned(arguments{"plan"} + job);
    const json e = planned(arguments{"explain", "memory"} + job);
    CHECK(e["of"] == "time");
    CHECK(e["parts"].size() == 2);
    CHECK(e["parts"][1]["value"]["expected"] == p["time"]["terms"]["memory"]);
    const json all = run({"explain", "--json"}).json()["terms"];
    CHECK(all.size() == llmres::names_of<llmres::memory_term>.size() + llmres::names_of<llmres::time_term>.size());
    CHECK(run({"explain", "kv-cache"}).out.find("formula") != std::string::npos);
    refused({"explain", "kv"}, {"term", "kv", "kv_cache", "fragmentation", "launch"});
    refused({"explain", "kv_cache", "llama-3.1-8b", "--gpu", "h1000"}, {"gpu"});
}
