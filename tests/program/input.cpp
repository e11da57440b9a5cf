// SPDX-License-Identifier: MIT
// What the program says to input that cannot be.
#include <doctest/doctest.h>

#include "../model_files.hpp"
#include "../program_checks.hpp"

#include <cstdint>
#include <string>
#include <vector>

using namespace model_files;
using namespace program_checks;
using nlohmann::json;
using run_program::scratch;

TEST_CASE("a command line that means nothing is refused with what comes near") {
    refused({}, {"command", "absent", "model, plan"});
    refused({"plant"}, {"command", "plant", "model, plan"});
    refused({"plan"}, {"JOB", "see llmres plan --help"});
    refused({"model"}, {"MODEL", "see llmres model --help"});
    refused({"finetune", "llama-3.1-8b"}, {"command", "finetune", "plan MODEL --task finetuning"});
    refused({"plan", "finetune", "llama-3.1-8b"}, {"command", "finetune", "plan MODEL --task finetuning"});
    refused({"serve", "llama-3.1-8b"}, {"command", "serve", "plan MODEL --gpu NAME"});
    refused(small_job + arguments{"--bach", "3"}, {"--bach", "--batch"});
    refused({"model", "llama-3.1-8b", "--jsn"}, {"--jsn", "--json"});
    refused(small_job + arguments{"more"}, {"more", "nothing"});
    refused(small_job + arguments{"--batch"}, {"--batch"});
    refused(small_job + arguments{"--batch", "1", "--batch", "2"}, {"--batch"});
    refused({"gpus", "rtx-4900"}, {"gpu", "rtx-4900", "rtx-4090"});
    refused({"models", "llama-9.1-8b"}, {"llama-9.1-8b", "llama-3.1-8b"});
    refused({"runtimes", "vlm"}, {"runtime", "vlm", "vllm"});
    refused({"plan", "llama-3.1-8b", "--gpu", "RTX 4090 x8", "--gpus", "4"}, {"gpus", "4", "8"});
    refused({"plan", "llama-3.1-8b", "--gpu", "4090x8", "--gpus", "4"}, {"gpus", "4", "8"});
    refused({"plan", "llama-3.1-8b", "--gpu", "8xRTX 4090", "--gpus", "4"}, {"gpus", "4", "8"});
}

TEST_CASE("a file that is no job and no model is refused") {
    const scratch s;
    refused({"plan", "nosuch.json", "--gpu", "rtx-4090"}, {"nosuch.json", "can be read"});
    refused({"model", "nosuch/config.json"}, {"nosuch/config.json", "can be read"});
    refused({"model", "nosuch.gguf"}, {"nosuch.gguf"});
    refused({"model", s.path().string()}, {"config.json", "can be read"});
    refused({"plan", s.path().string(), "--gpu", "rtx-4090"}, {"config.json"});
    refused({"model", "llama-3.1-9b"}, {"model", "llama-3.1-9b", "llama-3.1-8b"});
    const std::string unknown = s.file("own.json", R"({"model_type": "zebra9", "hidden_size": 64})");
    refused({"model", unknown}, {"model_type", "zebra9", "such as llama", ".safetensors files"});
    refused({"model", "xyzzy"}, {"model", "xyzzy", "llmres models"});
    refused({"model", ""}, {"model"});
    for (const std::string content :
         {"", "not JSON", "[1, 2]", "null", "{\"model\": ", "\xff\xfe", "{\"a\": 1} {\"b\": 2}"}) {
        const std::string file = s.file("bad.json", content);
        refused({"plan", file}, {"JSON"});
        refused({"model", file}, {"JSON"});
    }
    refused({"model", s.file("empty.gguf", "")}, {});
    refused({"model", s.file("short.gguf", "GGUF")}, {});
    refused({"plan",
             s.file("huge.gguf",
                    std::string{"GGUF\3\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x7f", 24}),
             "--gpu", "rtx-4090"},
            {});
    refused({"plan", s.file("twice.json",
                            R"({"model": "llama-3.1-8b", "batch": 1, "batch": 2, "cluster": {"gpu": "rtx-4090"}})")},
            {"batch", "twice"});
    refused({"plan", s.file("deep.json", std::string(100'000, '[') + std::string(100'000, ']'))}, {"JSON", "deep"});
    refused({"plan", s.file("deep.json",
                            [] {
                                std::string text;
                                for (int i = 0; i < 100'000; ++i) text += "{\"model\":";
                                return text;
                            }())},
            {"JSON", "deep"});
    refused({"plan", s.file("digits.json", R"({"model": "llama-3.1-8b", "batch": )" + std::string(30'000'000, '9') +
                                               R"(, "cluster": {"gpu": "rtx-4090"}})")},
            {});
    refused({"model", s.file("digits/config.json",
                             R"({"model_type": "llama", "hidden_size": )" + std::string(3'000'000, '9') + "}")},
            {});
}

TEST_CASE("a queue of jobs is no job, and what reads one is named") {
    refused({"plan", LLMRES_SOURCE_DIR "/tests/data/queue.json", "--gpu", "rtx-4090"}, {"jobs", "llmres place"});
}

TEST_CASE("a file of weights that cannot be is refused by name, whatever length it claims") {
    const scratch s;
    const auto gguf = [&](const std::string& content, std::vector<std::string> words) {
        refused({"model", s.file("bad.gguf", content)}, words);
    };
    const std::string good = llama_gguf(*llmres::find_gguf_mix("mix", "Q4_K_M")).bytes();
    gguf(good.substr(0, 1800), {"end of the file", "all there"});
    gguf(good.substr(0, good.size() - 100), {"an offset and a size within the file"});
    gguf_writer beyond;
    beyond.text("general.architecture", "llama");
    beyond.tensor_at("token_embd.weight", {256, 1000}, 0, std::uint64_t{1} << 62);
    gguf(beyond.bytes(), {"token_embd.weight", "within the file"});
    gguf_writer many;
    many.tensor_count = std::uint64_t{1} << 63;
    gguf(many.bytes(), {"gguf.tensor_count", "9223372036854775808"});
    gguf_writer pairs;
    pairs.pair_count = std::uint64_t{1} << 63;
    gguf(pairs.bytes(), {"gguf.metadata_count", "9223372036854775808"});
    std::string deep;
    for (int i = 0; i < 100'000; ++i) {
        gguf_writer::put(deep, std::uint32_t{9});
        gguf_writer::put(deep, std::uint64_t{1});
    }
    gguf_writer nested;
    nested.raw("tokens", 9, deep);
    gguf(nested.bytes(), {"tokens", "arrays nested at most four deep"});
    gguf_writer twice;
    twice.text("general.architecture", "llama");
    twice.text("general.architecture", "llama");
    gguf(twice.bytes(), {"general.architecture", "each key once"});
    gguf_writer big;
    big.version = 0x03000000;
    gguf(big.bytes(), {"big-endian", "little-endian"});
    gguf_writer named;
    named.text("general.architecture", "llama");
    named.tensor("token_embd.weight", {256, 1000});
    gguf(named.bytes(), {"llama.embedding_length", "absent"});
    gguf_writer split;
    split.text("general.architecture", "llama");
    split.integer("split.count", 3);
    split.integer("split.no", 0);
    refused({"model", s.file("x-00001-of-00003.gguf", split.bytes())}, {"x-00002-of-00003.gguf", "can be read"});

    s.file("model/config.json", llama_config().dump());
    const auto tensors = [&](const std::string& content, std::vector<std::string> words) {
        refused({"model", s.file("model/model.safetensors", content)}, words);
    };
    const std::string whole = llama_safetensors();
    tensors("", {"safetensors.header", "eight bytes"});
    tensors(whole.substr(0, 100), {"safetensors.header", "all there"});
    tensors(whole.substr(0, whole.size() - 1), {"within the file"});
    tensors(safetensors("{}", 0, std::uint64_t{1} << 63), {"safetensors.header", "9223372036854775808"});
    tensors(
        safetensors(
            R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4611686018427387904, 4611686018427387908]}})", 4),
        {"a", "within the file"});
    tensors(
        safetensors(
            R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})",
            4),
        {"a", "once"});
    tensors(safetensors(std::string(100'000, '['), 0), {"safetensors.header"});
    refused({"model", s.file("model/model.safetensors.index.json",
                             R"({"weight_map": {"a": "model-00001-of-00002.safetensors"}})")},
            {"model-00001-of-00002.safetensors", "can be read"});
}

TEST_CASE("a config.json that cannot be is refused by field, value and expectation") {
    const scratch s;
    const auto spoiled = [&](const char* field, const json& value, std::vector<std::string> words) {
        json config = llama_config();
        config[field] = value;
        const std::string file = s.file("model/config.json", config.dump());
        refused({"model", file}, words);
        refused({"plan", file, "--gpu", "rtx-4090"}, words);
    };
    REQUIRE(run({"model", s.file("model/config.json", llama_config().dump())}).exit == fits);
    spoiled("model_type", "lama", {"model_type", "lama", "llama"});
    spoiled("model_type", 3, {"model_type", "3"});
    spoiled("hidden_size", 0, {"hidden_size", "0", "from 1"});
    spoiled("hidden_size", -4096, {"hidden_size", "-4096", "integer"});
    spoiled("hidden_size", "big", {"hidden_size", "\"big\"", "integer"});
    spoiled("hidden_size", 1e30, {"hidden_size", "1e+30", "integer"});
    spoiled("hidden_size", nullptr, {"hidden_size", "absent"});
    spoiled("hidden_size", json::array({256}), {"hidden_size", "list"});
    spoiled("num_key_value_heads", 3, {"num_key_value_heads", "3"});
    spoiled("num_attention_heads", 0, {"num_attention_heads", "0"});
    spoiled("num_hidden_layers", 0, {"num_hidden_layers", "0"});
    spoiled("num_hidden_layers", 1'000'000, {"num_hidden_layers", "1000000"});
    spoiled("vocab_size", -1, {"vocab_size", "-1"});
    spoiled("quantization_config", json{{"quant_method", "wizardry"}},
            {"quantization_config.quant_method", "wizardry"});
    spoiled("quantization_config", json{{"quant_method", "gtpq"}},
            {"quantization_config.quant_method", "gtpq", "gptq"});
    refused(
        {"model", s.file("model/config.json", R"({"model_type": "llama", "hidden_size": 256, "hidden_size": 512})")},
        {"hidden_size", "twice"});
    refused({"model", s.file("model/config.json", std::string(100'000, '['))}, {"JSON", "deep"});
    refused({"model", s.file("model/config.json", json{{"model_type", "gemma3"},
                                                       {"num_hidden_layers", 4},
                                                       {"text_config", {{"num_hidden_layers", 6}}}}
                                                      .dump())},
            {"num_hidden_layers", "4", "text_config.num_hidden_layers, 6"});
    // Each number within its bounds, their product beyond 2^63.
    json config = llama_config();
    for (const char* field : {"hidden_size", "intermediate_size", "vocab_size"}) config[field] = 1 << 24;
    config["model_type"] = "mixtral";
    config["num_attention_heads"] = config["num_key_value_heads"] = 256;
    config["num_local_experts"] = 65536;
    config["num_experts_per_tok"] = 2;
    config["num_hidden_layers"] = 256;
    refused({"model", s.file("model/config.json", config.dump())}, {"fewer than 2^63"});
}

TEST_CASE("a job that cannot be is refused by field, value and expectation") {
    for (const char* batch : {"0", "-1", "abc", "1.5", "nan", "inf", "0x10", " 3", "+3", ""})
        refused(small_job + arguments{"--batch", batch}, {"batch", batch, "an integer from 1 to"});
    refused(small_job + arguments{"--batch", "99999999999999999999"}, {"batch", "1e+20", "an integer from 1 to"});
    refused(small_job + arguments{"--batch", "1e30"}, {"batch", "1e+30", "an integer from 1 to"});
    refused({"plan", "llama-3.1-8b", "--gpu", "rtx-4090", "--context", "131073"}, {"context", "131073", "131072"});
    refused({"plan", "llama-3.1-8b", "--gpu", "rtx-4090", "--context", "0"}, {"context is 0", "the model's longest"});
    refused({"buy", "qwen3-8b", "--budget", "$9k", "--price", "l4=2500"}, {"--budget is $9k", "digits"});
    refused(small_job + arguments{"--prompt", "5000"}, {"context", "4096", "prompt + output"});
    refused(small_job + arguments{"--weights", "fp9"}, {"weights", "fp9", "bf16"});
    refused(small_job + arguments{"--kv_cache", "fp9"}, {"kv_cache", "fp9", "bf16"});
    refused(small_job + arguments{"--task", "train"}, {"task", "train", "pretraining"});
    refused(small_job + arguments{"--attention", "flush"}, {"attention", "flush", "flash"});
    refused(small_job + arguments{"--weights", "\xff\xfe"}, {"weights"});
    const arguments tuning{"plan",  "llama-3.1-8b",   "--task",     "finetuning",
                           "--gpu", "h100-sxm5-80gb", "--sequence", "1024"};
    refused(tuning + arguments{"--optimizer", "adamx"}, {"optimizer", "adamx", "adamw"});
    refused(tuning + arguments{"--recompute", "all"}, {"recompute", "all", "full"});
    refused(tuning + arguments{"--adapter_kind", "lore"}, {"adapter.kind", "lore", "lora"});
    refused(tuning + arguments{"--adapter_kind", "prompt"}, {"adapter.rank is 0 or absent", "from 1"});
    refused(tuning + arguments{"--adapter_kind", "lora", "--adapter_rank", "8", "--adapter_targets", "x_proj"},
            {"adapter.targets", "x_proj", "q_proj"});
    refused(tuning + arguments{"--offload_optimizer", "cloud"}, {"offload.optimizer", "cloud", "host"});
}

TEST_CASE("a layout, a cluster or a runtime that cannot be is refused by field, value and expectation") {
    refused(small_job + arguments{"--gpus", "8", "--tensor", "3"}, {"layout.tensor", "3", "32"});
    refused(small_job + arguments{"--gpus", "64", "--pipeline", "33"}, {"layout.pipeline", "33", "32"});
    for (const char* option : {"--gpu_layers=5", "--experts_on_host=true", "--embedding_on_host=true"})
        refused(small_job + arguments{"--runtime", "vllm", option}, {"runtime.", "a runtime that has it: llama.cpp"});
    refused(small_job + arguments{"--gpus", "1", "--tensor", "2"}, {"layout", "2", "at most the cluster's GPUs, 1"});
    refused(small_job + arguments{"--tensor", "0"}, {"layout.tensor", "0", "from 1"});
    refused(small_job + arguments{"--tensor", "2147483648"}, {"layout.tensor", "2147483648", "from 1"});
    refused(small_job + arguments{"--gpus", "4", "--zero", "4"}, {"layout.zero", "4", "from 0 to 3"});
    refused(small_job + arguments{"--sequence_parallel"}, {"layout.sequence_parallel", "true"});
    refused(small_job + arguments{"--sequence_parallel=maybe"}, {"sequence_parallel", "maybe"});
    refused(small_job + arguments{"--gpus", "0"}, {"cluster.gpus", "0", "from 1"});
    refused(small_job + arguments{"--gpus", "1e30"}, {"cluster.gpus", "1e+30", "from 1"});
    refused(small_job + arguments{"--scale_up", "nvlink9"}, {"cluster.scale_up", "nvlink9", "nvlink"});
    refused(small_job + arguments{"--scale_out", "carrier-pigeon"}, {"cluster.scale_out", "carrier-pigeon", "a link"});
    refused(small_job + arguments{"--in_use", "99999999999999"}, {"cluster.in_use", "99999999999999", "GPU's memory"});
    refused(small_job + arguments{"--host_memory", "-3"}, {"cluster.host.memory", "-3"});
    refused(small_job + arguments{"--host_bandwidth", "-1"}, {"cluster.host.bandwidth", "-1", "from 0"});
    refused({"plan", "llama-3.1-8b", "--json"}, {"cluster", "absent", "--gpu"});
    refused({"plan", "llama-3.1-8b", "--gpus", "2", "--json"}, {"cluster.gpu", "absent"});
    refused({"plan", "llama-3.1-8b", "--gpu", "rtx-4900"}, {"cluster.gpu", "rtx-4900", "rtx-4090"});
    refused({"plan", "llama-3.1-8b", "--gpu", "80GB"}, {"cluster.gpu", "80GB", "a100-sxm4-80gb"});
    refused({"plan", "llama-3.1-8b", "--gpu", "none"}, {"cluster.gpu", "none", "`llmres gpus`"});
    refused({"plan", "llama-3.1-8b", "--gpu_memory", "80GB"}, {"bandwidth", "--gpu NAME", "--gpu_bandwidth"});
    refused({"plan", "llama-3.1-8b", "--gpu", "cpu"}, {"cluster.host.memory", "absent", "--host_memory 64GB"});
    for (const char* option : {"--gpu_memory", "--vram", "--host_memory", "--in_use"})
        refused(small_job + arguments{option, "24"}, {"24", "a size with its unit, such as 24GB"});
    CHECK(run(small_job + arguments{"--in_use", "0"}).exit == fits);
    refused({"plan", "qwen3-8b", "--gpu", "l4", "--context", "131072"}, {"40960", "runtime.rope_scaling 4"});
    refused(small_job + arguments{"--runtime", "vlm"}, {"runtime", "vlm", "vllm"});
    refused(small_job + arguments{"--runtime", "vllm", "--gpu_memory_utilization", "2"},
            {"runtime.gpu_memory_utilization", "2", "from 0 to 1"});
    refused(small_job + arguments{"--runtime", "none", "--gpu_memory_utilization", "0.5"},
            {"runtime.gpu_memory_utilization", "0.5"});
    refused(small_job + arguments{"--gpu_memory_utilization", "0.5"},
            {"runtime.name", "absent", "gpu_memory_utilization", "--runtime"});
    refused(small_job + arguments{"--runtime", "vllm@newest"}, {"runtime", "newest", "a version in numbers"});
    refused(small_job + arguments{"--gpus", "64", "--tensor", "64"}, {"layout.tensor", "64", "heads, 32"});
    refused(small_job + arguments{"--runtime", "llama.cpp", "--weights", "awq_int4_g128"},
            {"weights", "awq_int4_g128", "llama.cpp loads"});
    const arguments sliced{"plan", "llama-3.1-8b", "--context", "4096", "--gpu"};
    refused(sliced + arguments{"a100-sxm4-80gb/9g.90gb"}, {"cluster.gpu", "9g.90gb", "1g.10gb", "7g.80gb"});
    refused(sliced + arguments{"NVIDIA H100 80GB HBM3 MIG 9g.80gb"}, {"cluster.gpu", "9g.80gb", "3g.40gb"});
    refused(sliced + arguments{"l40s/1g.10gb"}, {"cluster.gpu", "l40s", "multi-instance"});

    const scratch s;
    const auto document = [&](const char* field, const json& value, const std::vector<std::string>& words) {
        json job{{"model", "llama-3.1-8b"}, {"context", 4096}, {"cluster", {{"gpu", "rtx-4090"}}}};
        job[field] = value;
        refused({"plan", s.file("job.json", job.dump())}, words);
    };
    document("bach", 3, {"bach", "3", "batch"});
    document("model", 3, {"model", "3"});
    document("model", {{"from", "llama-3.1-8b"}, {"layer", 2}}, {"model.layer", "from, layers, head"});
    document("model", {{"layers", 2}}, {"model.from", "absent"});
    document("layout", 3, {"layout", "3", "object"});
    document("layout", {{"tensr", 2}}, {"layout.tensr", "tensor"});
    document("layout", {{"tensor", "two"}}, {"layout.tensor", "\"two\""});
    document("cluster", "h100", {"cluster", "h100", "object"});
    document("cluster", {{"gpu", 4090}}, {"cluster.gpu", "4090", "string"});
    document("cluster", {{"gpu", "rtx-4090"}, {"hosts", 1}}, {"cluster.hosts", "host"});
    document("cluster", {{"gpu", "rtx-4090"}, {"host", {{"core", 1}}}}, {"cluster.host.core", "cores"});
    document("runtime", 5, {"runtime", "5", "name"});
    document("runtime", {{"name", "vllm"}, {"gpu_memory_utilisation", 0.5}},
             {"gpu_memory_utilisation", "gpu_memory_utilization"});
    document("runtime", json::object(), {"runtime.name", "absent"});
    document("batch", true, {"batch", "true", "integer"});
    document("batch", json::object(), {"batch", "object", "integer"});
    document("task", 1, {"task", "1", "string"});
    // Flags over a document whose objects are something else.
    refused({"plan", s.file("job.json", R"({"model": "llama-3.1-8b", "layout": 3, "cluster": 7, "runtime": 5})"),
             "--tensor", "2", "--gpus", "2", "--host_cores", "3", "--gpu_memory_utilization", "0.5"},
            {"layout"});
}

TEST_CASE(
    "under --json a refusal is a document on standard output as well, with the field, its value and what is right") {
    const outcome o = run({"plan", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--context", "-3", "--json"});
    CHECK(o.exit == bad_input);
    const auto error = o.json();
    CHECK(error["schema"] == "llmres/error/1");
    CHECK(error["code"] == "out_of_range");
    CHECK(error["field"] == "context");
    CHECK(error["value"] == "-3");
    CHECK(error["expected"].get<std::string>().starts_with("an integer from 1"));
    refused({"plan", "no-such-model", "--json"}, {"model is no-such-model"});
    refused({"plan", "--json"}, {"JOB is required", "--help"});
    refused({"buy", "llama-3.1-8b", "--budget", "9k", "--json"}, {"budget is 9k"});
    refused({"check", "/no/such/log", "--json"}, {"/no/such/log"});
    // Behind -- it is an option of another command.
    CHECK(run({"plan", "--gpu", "h100", "--", "vllm", "serve", "x", "--json"}).out.empty());
}
