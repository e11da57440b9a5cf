// SPDX-License-Identifier: MIT
#include "../job_documents.hpp"

#include <llmres/io/device_json.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <llmres/jobs/knobs.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/plan.hpp>
#include <string>
#include <utility>

using namespace job_documents;

TEST_CASE("a task may be named by the preferences that are learned, and no other ones beside it") {
    json document = {{"model", "qwen3-0.6b"}, {"cluster", {{"gpu", "h100-sxm5-80gb"}}}, {"task", "dpo"}};
    const result<plan_request> named = read_job(document);
    REQUIRE(named);
    CHECK(named->job.task == task::finetuning);
    CHECK(named->job.preference == preference_method::dpo);
    document["preference"] = "dpo";
    CHECK(read_job(document));
    document["preference"] = "kto";
    const result<plan_request> both = read_job(document);
    REQUIRE_FALSE(both);
    CHECK(both.error().field.view() == "preference");
    document.erase("preference");
    document["task"] = "reward";
    const result<plan_request> reward = read_job(document);
    REQUIRE(reward);
    CHECK(classes_of(reward->job.model) == 1);
}

TEST_CASE("a teacher is named as a model is, and its trainer decides how it is computed") {
    json document = {{"model", "qwen2.5-0.5b"},
                     {"cluster", {{"gpu", "h100-sxm5-80gb"}}},
                     {"task", "gkd"},
                     {"teacher", "qwen2.5-1.5b"},
                     {"runtime", "trl"}};
    const result<plan_request> named = read_job(document);
    REQUIRE(named);
    CHECK(named->job.preference == preference_method::gkd);
    CHECK(named->job.teacher.name == "qwen2.5-1.5b");
    CHECK(named->job.teacher.weights == bf16);
    CHECK(named->job.runtime.kernels.loss.code == loss_code::eager);
    CHECK(named->job.autocast == maybe<bool>{true});  // logits of both models are returned in fp32
    document["runtime"] = "trl+deepspeed";
    CHECK_FALSE(read_job(document)->job.autocast.value_or(false));
    document["runtime"] = "trl";
    document["teacher"] = {{"from", "qwen2.5-1.5b"}, {"layers", 4}};
    document["teacher_weights"] = "fp32";
    const result<plan_request> cut = read_job(document);
    REQUIRE(cut);
    CHECK(cut->job.teacher.layers == 4);
    CHECK(cut->job.teacher.weights == fp32);
    const auto refusal = [&](const json& more) {
        json other = document;
        other.merge_patch(more);
        const result<plan_request> read = read_job(other);
        return read ? std::string{} : std::string{read.error().field.view()};
    };
    CHECK(refusal({{"teacher", "qwen9"}}) == "teacher");
    CHECK(refusal({{"teacher", 7}}) == "teacher");
    CHECK(refusal({{"teacher", nullptr}}) == "teacher_weights");
    CHECK(refusal({{"beta", 2}}) == "beta");
    CHECK(refusal({{"runtime", "axolotl"}}) == "task");
}

TEST_CASE("by itself a document opens no file: what it names by a path is refused, and says what may stand there") {
    const auto refusal = [](const json& more) {
        json document = minimal();
        document.merge_patch(more);
        return read_job(document).error();
    };
    CHECK(refusal({{"model", "./config.json"}}).field == "model");
    CHECK(refusal({{"model", "./config.json"}}).code == error_code::unsupported);
    CHECK(refusal({{"runtime", {{"name", "vllm"}, {"draft", "draft.gguf"}}}}).field == "runtime.draft");
    const error device = refusal({{"cluster", {{"gpu", nullptr}, {"device", "here.json"}}}});
    CHECK(device.field == "cluster.device");
    CHECK(device.value == "here.json");
    CHECK(device.code == error_code::unsupported);
}

TEST_CASE("a caller's own functions look up what a document names") {
    const result<device_file> file = parse_device_file(content_of(devices + "synthetic-rtx-4090.json"));
    REQUIRE(file);
    const job_sources sources{
        .model = [](std::string_view name) { return name == "mine" ? find_preset("qwen2.5-7b") : find_preset(name); },
        .device = [&](std::string_view path) { return path == "node-7" ? file : find_no_device(path); }};
    const json document{{"model", "mine"}, {"cluster", {{"device", "node-7"}}}};
    const result<plan_request> made = read_job(document, sources);
    INFO(std::string{made.error().field.view()} << ": " << std::string{made.error().expected.view()});
    REQUIRE(made);
    CHECK(made->job.model.name == "qwen2.5-7b");
    CHECK(made->device == "node-7");
    CHECK(made->cluster.gpu.id == "rtx-4090");
    CHECK(read_job(json{{"model", "mine"}, {"cluster", {{"device", "node-8"}}}}, sources).error().value == "node-8");
}

TEST_CASE("the GPUs of prompts may be read from a device file, too") {
    json document = minimal();
    document["prefill"] = {{"cluster", {{"device", h100_file}, {"gpus", 2}}}};
    const plan_request q = read(document);
    CHECK(q.prefill->cluster.gpu.id == "h100-sxm5-80gb");
    CHECK(q.prefill->cluster.gpus == 2);
    CHECK(q.cluster.gpu.id == "rtx-4090");
    CHECK(q.device.empty());
    document["prefill"]["cluster"]["gpu"] = "rtx-4090";
    CHECK(read_job(document).error().field == "prefill.cluster.device");
    document["prefill"] = {{"cluster", {{"device", "/no/such/file.json"}}}};
    CHECK(read_job(document, std::filesystem::path{}).error().field == "prefill.cluster.device");
}

TEST_CASE("GPUs for prompts are as those of the job, but for their number, their kind and their tensor ranks") {
    json document{
        {"model", "llama-3.1-8b"},
        {"prompt", 900},
        {"output", 100},
        {"cluster", {{"gpu", "rtx-4090"}, {"gpus", 4}, {"gpu_memory", 20'000'000'000}, {"gpus_per_node", 2}}}};
    const auto pool = [&](const json& prefill) {
        document["prefill"] = prefill;
        const auto found = read_job(document);
        REQUIRE_MESSAGE(found, found.error().field.view());
        REQUIRE(found->prefill);
        return *found->prefill;
    };
    const auto wrong = [&](const json& prefill) {
        document["prefill"] = prefill;
        const auto found = read_job(document);
        return found ? std::string{} : std::string{found.error().field.view()};
    };
    const pool_request same = pool({{"gpus", 0}});
    CHECK(same.cluster.gpus == 4);
    CHECK(same.cluster.gpus_per_node == 2);
    CHECK(same.cluster.gpu.id == "rtx-4090");
    CHECK(usable_memory(same.cluster.gpu) == bytes(20'000'000'000));
    CHECK_FALSE(same.layout);
    CHECK(pool({{"gpus", 8}}).cluster.gpus == 8);
    const pool_request other = pool({{"gpus", 2}, {"gpu", "l4-24gb"}});
    CHECK(other.cluster.gpu.id == "l4-24gb");
    CHECK(usable_memory(other.cluster.gpu) != bytes(20'000'000'000));  // which was said of another card
    const pool_request split = pool({{"gpus", 4}, {"tensor", 2}});
    CHECK(split.layout->tensor == 2);
    CHECK(split.layout->data == 2);
    CHECK(wrong({{"gpus", 3}, {"tensor", 2}}) == "prefill.tensor");
    CHECK(wrong({{"gpus", -1}}) == "prefill.gpus");
    CHECK(wrong({{"tensor", 0}}) == "prefill.tensor");
    CHECK(wrong({{"gpu", 7}}).starts_with("prefill"));
    CHECK(wrong({{"gpus", 2}, {"cluster", {{"gpu", "l4"}}}}) == "prefill");
    CHECK(wrong({{"gpus", 2}, {"layout", {{"tensor", 2}}}}) == "prefill");
    CHECK(wrong({{"gpus", 2}, {"nodes", 2}}) == "prefill.nodes");
    document["cluster"] = {{"gpu", "rtx-4090"}};
    CHECK(pool({{"gpus", 0}}).cluster.gpus == 1);
    document["cluster"]["gpus"] = nullptr;
    CHECK(pool({{"gpus", 0}}).cluster.gpus == 1);
    CHECK(pool({{"gpus", 2}, {"gpu", nullptr}, {"tensor", nullptr}}).cluster.gpus == 2);
    document["cluster"]["gpus"] = "two";
    CHECK(wrong({{"gpus", 0}}) == "cluster.gpus");
    document["cluster"] = {{"gpu", "rtx-4090"}};
    CHECK(wrong({{"gpus", json::array({1})}}) == "prefill.gpus");
}

TEST_CASE("text that is no JSON, and numbers that JSON has not, are refused with their line") {
    const auto wrong = [](std::string_view text) {
        const result<plan_request> made = read_job(text);
        REQUIRE_FALSE(made);
        CHECK(made.error().field == "JSON");
        return std::string{made.error().value.view()};
    };
    CHECK(wrong("{\"model\": \"llama-3.1-8b\",\n \"batch\": }") == "line 2: }");
    CHECK(wrong("{\"model\": \"llama-3.1-8b\"") == "line 1: the end");
    CHECK(wrong("{\n\n\"expert_load\": NaN}") == "line 3: NaN}");
    CHECK(wrong("{\"expert_load\": -Infinity}") == "line 1: -Infinity}");
}

TEST_CASE("the load of the busiest experts is asked for in training and in serving, and shown") {
    json document = minimal();
    CHECK_FALSE(to_json(read(document).job).contains("expert_load"));
    document["expert_load"] = 1.5;
    CHECK(read(document).job.expert_load == 1.5);
    CHECK(to_json(read(document).job)["expert_load"] == 1.5);
    document["expert_load"] = 0.5;
    CHECK(read_job(document).error().field == "expert_load");
}

TEST_CASE("where nobody names an arithmetic, it is fp16 on a GPU that has no bf16; vLLM does not start in bf16 there") {
    const auto compute = [](const char* card, const char* runtime, const char* asked) {
        json document = minimal();
        document["cluster"] = {{"gpu", card}, {"gpus", 1}};
        document["runtime"] = runtime;
        if (*asked != 0) document["compute"] = asked;
        const result<plan_request> made = read_job(document);
        return made ? std::string{made->job.compute.name.view()} : std::string{made.error().field.view()} + " refused";
    };
    for (const char* card : {"v100-sxm2-32gb", "t4-16gb", "p100-pcie-16gb"}) {
        for (const char* runtime : {"vllm", "sglang", "llama.cpp", "transformers", "none"}) {
            CHECK(compute(card, runtime, "") == "fp16");
            CHECK(compute(card, runtime, "fp32") == "fp32");
        }
        CHECK(compute(card, "vllm", "bf16") == "compute refused");
        CHECK(compute(card, "sglang", "bf16") == "bf16");
        CHECK(compute(card, "transformers", "bf16") == "bf16");
    }
    CHECK(compute("a100-sxm4-80gb", "vllm", "") == "bf16");
    CHECK(compute("rtx-4090", "vllm", "bf16") == "bf16");
}

TEST_CASE("transformers before 5 fine-tunes a checkpoint in fp32 unless a format is named") {
    const auto formats = [](const json& more) {
        json document{{"model", "qwen3-0.6b"},
                      {"task", "finetuning"},
                      {"runtime", "huggingface@4.57"},
                      {"cluster", {{"gpu", "h100-sxm5-80gb"}}}};
        document.merge_patch(more);
        const job j = read(document).job;
        return std::string{weights_of(j).name.view()} + " in " + std::string{j.compute.name.view()};
    };
    // modeling_utils.py of 4.57.3, _get_dtype: "set fp32 as the default dtype for BC"; of 5.24, from_pretrained:
    // "auto".
    CHECK(formats(json::object()) == "fp32 in fp32");
    CHECK(formats({{"runtime", "trainer@4.46"}}) == "fp32 in fp32");
    CHECK(formats({{"compute", "bf16"}}) == "fp32 in bf16");
    CHECK(formats({{"adapter", {{"kind", "lora"}, {"rank", 8}}}}) == "fp32 in fp32");
    CHECK(formats({{"weights", "bf16"}}) == "bf16 in bf16");
    CHECK(formats({{"weights", "nf4"}, {"adapter", {{"kind", "lora"}, {"rank", 8}}}}) == "nf4 in bf16");
    CHECK(formats({{"runtime", "huggingface"}}) == "bf16 in bf16");
    CHECK(formats({{"runtime", "huggingface@5.1"}}) == "bf16 in bf16");
    CHECK(formats({{"task", "pretraining"}}) == "bf16 in bf16");  // from_config() takes the configuration's
    for (const char* software : {"trl@4.57", "axolotl@4.57", "ms-swift@4.57"})
        CHECK(formats({{"runtime", software}, {"sequence", 128}}).ends_with("in bf16"));
}

TEST_CASE("transformers' Trainer computes in the format of fp32 weights unless mixed precision is asked for") {
    const auto computes_in = [](const json& more) {
        json document{{"model", "roberta-base"},
                      {"task", "finetuning"},
                      {"runtime", "huggingface"},
                      {"cluster", {{"gpu", "h100-sxm5-80gb"}}}};
        document.merge_patch(more);
        return std::string{read(document).job.compute.name.view()};
    };
    CHECK(computes_in(json::object()) == "fp32");
    CHECK(computes_in({{"runtime", "trainer"}}) == "fp32");
    CHECK(computes_in({{"runtime", "huggingface@4.49"}}) == "fp32");
    CHECK(computes_in({{"model", "qwen3-0.6b"}, {"weights", "fp32"}}) == "fp32");
    CHECK(computes_in({{"cluster", {{"gpu", "v100-sxm2-32gb"}}}}) == "fp32");
    // It is asked for, the weights have 16 bits, or the software turns it on by itself.
    CHECK(computes_in({{"compute", "bf16"}}) == "bf16");
    CHECK(computes_in({{"autocast", true}}) == "bf16");
    CHECK(computes_in({{"model", "qwen3-0.6b"}}) == "bf16");
    CHECK(computes_in({{"weights", "bf16"}}) == "bf16");
    for (const char* software : {"trl", "axolotl", "llama-factory", "ms-swift", "unsloth", "automodel", "torchtitan"})
        CHECK(computes_in({{"runtime", software}, {"sequence", 128}}) == "bf16");
    CHECK(computes_in({{"task", "embedding"}, {"runtime", "vllm"}}) == "bf16");
    // What it computes in is said, and needs more than in 16 bits.
    json document{{"model", "roberta-base"}, {"task", "finetuning"}, {"runtime", "huggingface"},
                  {"micro_batch", 256},      {"sequence", 512},      {"cluster", {{"gpu", "h100-sxm5-80gb"}}}};
    const plan_request asked = read(document);
    document["compute"] = "bf16";
    const plan_request mixed = read(document);
    const auto needed = [](const plan_request& q) {
        return plan(q.job, layout{}, q.cluster).value().memory.expected();
    };
    CHECK(needed(asked) > needed(mixed));
}

TEST_CASE("a task is named by the head that serves it as on the command line") {
    const auto head_of = [](const char* task) {
        json document = minimal();
        document["task"] = task;
        const job j = read(document).job;
        CHECK(j.task == task::serving);
        return std::pair{std::string{head_name(j.model)}, classes_of(j.model)};
    };
    for (const char* embeds : {"embedding", "embeddings", "embed"}) CHECK(head_of(embeds).first == "embedding");
    for (const char* reranks : {"reranking", "rerank", "score"}) CHECK(head_of(reranks).second == 1);
    for (const char* classifies : {"classification", "classify"}) CHECK(head_of(classifies).second == 2);
    json document = minimal();
    document["task"] = "embedded";
    CHECK(read_job(document).error().field == "task");
}

TEST_CASE("a step in which an encoder's longest text has no room is refused where texts pass whole") {
    const auto read_of = [](const char* model, const char* engine, int step) {
        return read_job(json{{"model", model},
                             {"task", "embedding"},
                             {"context", 4096},
                             {"max_batched_tokens", step},
                             {"runtime", engine},
                             {"cluster", {{"gpu", "l4"}}}});
    };
    for (const char* engine : {"vllm", "llama.cpp"}) {
        const error refused = read_of("bge-m3", engine, 2048).error();
        CHECK(refused.field == "max_batched_tokens");
        CHECK(refused.expected.view().find("4096") != std::string_view::npos);
        CHECK(read_of("bge-m3", engine, 4096));
        CHECK(read_of("qwen3-embedding-0.6b", engine, 2048));  // a decoder, whose texts pass in chunks
    }
    CHECK(read_of("bge-m3", "sglang", 2048));
}

TEST_CASE("a document without a layout leaves it to the planner") {
    CHECK_FALSE(read(minimal()).layout);
    json document = minimal();
    document["layout"] = json::object();
    CHECK(read(document).layout == maybe<layout>{layout{}});
}

TEST_CASE("an adapter's target may be one layer that makes queries, keys and values") {
    const auto read = [](const char* targets) {
        const auto found = read_job(nlohmann::json{{"model", "qwen-7b"},
                                                   {"task", "finetuning"},
                                                   {"sequence", 1024},
                                                   {"adapter", {{"kind", "lora"}, {"targets", targets}}},
                                                   {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 1}}}});
        REQUIRE(found);
        return found->job.adapter;
    };
    CHECK(read("c_attn").targets == joined_head_roles);
    CHECK(read("c_attn").joined_heads);
    CHECK_FALSE(read("q_proj,k_proj,v_proj").joined_heads);
}

TEST_CASE("a draft model is a MODEL, in serving") {
    json document = minimal();
    document["runtime"] = {{"name", "vllm"}, {"draft", "llama-3.2-1b"}};
    CHECK(read(document).job.options.draft_weights == bytes(2'471'628'800));  // 1,235,814,400 in bf16
    document["runtime"]["draft"] = "llama-3.2-1bb";
    CHECK(read_job(document).error().field == "runtime.draft");
    CHECK(read_job(document).error().expected.view().find("llama-3.2-1b") != std::string_view::npos);
    document["runtime"]["draft"] = "llama-3.2-1b";
    document["task"] = "pretraining";
    CHECK(read_job(document).error().field == "runtime.draft");
}

TEST_CASE("lengths are of serving, and have a mean") {
    json document = minimal();
    document["lengths"] = {{"longest", 4096}};
    CHECK(read_job(document).error().field == "lengths.mean");
    document["lengths"] = {{"mean", 512}};
    document["task"] = "pretraining";
    CHECK(read_job(document).error().field == "lengths");
}

TEST_CASE("weights may be a GGUF mix, in serving") {
    json document = minimal();
    for (const char* name : {"q4_k_m", "Q4_K_M"}) {
        document["weights"] = name;
        const plan_request q = read(document);
        REQUIRE(q.job.gguf);
        CHECK(q.job.gguf->quantisation == gguf_quantisation::Q4_K_M);
        CHECK(weights_of(q.job) == q4_k);
    }
    document["weights"] = "q8_0";  // a format and a file type
    CHECK(read(document).job.gguf);
    document["weights"] = "bf16";
    CHECK_FALSE(read(document).job.gguf);
    document["weights"] = "q4_k_m";
    document["task"] = "pretraining";
    CHECK(read_job(document).error().field == "weights");
}

TEST_CASE("mxfp4 is a precision of the experts; the GGUF mix of that type is mxfp4_moe") {
    json document = minimal();
    document["model"] = "gpt-oss-20b";
    document["weights"] = "mxfp4";
    const plan_request precise = read(document);
    CHECK_FALSE(precise.job.gguf);
    CHECK(weights_of(precise.job) == mxfp4);
    document["weights"] = "mxfp4_moe";
    CHECK(read(document).job.gguf);
}

TEST_CASE("files of IQ types were made with an importance matrix") {
    json document = minimal();
    document["weights"] = "iq3_m";
    CHECK(read(document).job.gguf->importance_matrix);
    document["weights"] = "q4_k_m";
    CHECK_FALSE(read(document).job.gguf->importance_matrix);
}

TEST_CASE("experts_down names a format beside that of weights") {
    json document = minimal();
    document["model"] = "qwen3-235b-a22b";
    document["weights"] = "iq4_ks";
    document["experts_down"] = "iq5_ks";
    const plan_request q = read(document);
    CHECK(weights_of(q.job) == iq4_ks);
    const precision* const down = formats_of(q.job, bf16).experts_down;
    REQUIRE(down != nullptr);
    CHECK(*down == iq5_ks);
    document.erase("weights");
    CHECK(read_job(document).error().field == "experts_down");
}

TEST_CASE("a document describes a GPU that no table has, or corrects the table") {
    json document = minimal();
    document["cluster"] = {{"gpu_memory", gib(48).in(bytes)}, {"gpu_bandwidth", 1e12}, {"gpu_flops", 2e14}};
    const plan_request own = read(document);
    CHECK(usable_memory(own.cluster.gpu) == gib(48));
    CHECK(plan(own.job, own.cluster));
    document["cluster"].erase("gpu_bandwidth");
    CHECK(read_job(document).error().field == "cluster.gpu.memory.bandwidth");
    document["cluster"] = {{"gpu", "rtx-4090"}, {"gpu_memory", gib(48).in(bytes)}};  // rebuilt with twice the chips
    CHECK(usable_memory(read(document).cluster.gpu) == gib(48));
    document["cluster"] = {{"gpu", "apple-m1-max"}, {"gpu_memory", gib(32).in(bytes)}};  // Metal's working set
    CHECK(usable_memory(read(document).cluster.gpu) == div_down(gib(32) * 2, 3));
    document["cluster"] = {{"gpu", "rtx-4090"}, {"gpu_memory", 0}};
    CHECK(read_job(document).error().field == "cluster.gpu_memory");
}

TEST_CASE("what of the experts the CPU computes is told by the runtime's own options") {
    json document = minimal();
    document["runtime"] = {{"name", "llama.cpp"}, {"cpu_moe", true}, {"no_op_offload", true}};
    CHECK_FALSE(read(document).job.runtime.loading.host_experts.copied);
    document["runtime"] = {{"name", "ik_llama.cpp"}, {"run_time_repack", false}, {"mla_use", 1}};
    CHECK(read(document).job.runtime.loading.host_experts.copied);
    CHECK(read(document).job.runtime.serving_kernels.latent.expanded == byte_count{});
}

TEST_CASE("an engine's knobs go by the engine's names for them, too") {
    json document = minimal();
    document["runtime"] = {{"name", "sglang"}, {"mem_fraction_static", 0.7}};
    CHECK(read(document).job.runtime.cache.fraction == maybe<double>{0.7});
    document["runtime"] = {{"name", "vllm"}, {"mem_fraction_static", 0.7}};
    CHECK(read_job(document).error().field == "runtime.mem_fraction_static");
    document["runtime"] = {{"name", "llama.cpp"}, {"n_gpu_layers", 20}};
    CHECK(read(document).job.options.gpu_layers == maybe<std::int32_t>{20});
    for (const json& value : {json(-1), json(1e30), json("20"), json::array()}) {
        document["runtime"]["n_gpu_layers"] = value;
        CHECK(read_job(document).error().field == "runtime.n_gpu_layers");
    }
}

TEST_CASE("an engine's knob is turned once: what it limits stays as far as it may") {
    json document = minimal();
    document["runtime"] = {{"name", "vllm@0.7"}, {"max_num_batched_tokens", 4096}};
    runtime turned = find_runtime("vllm@0.7").value();
    serving_options asked;
    REQUIRE(set_knob(turned, asked, "max_num_batched_tokens", 4096));
    CHECK(turned.step.chunked_beyond == tokens(4096));
    CHECK(read(document).job.runtime.step.chunked_beyond == turned.step.chunked_beyond);
}

TEST_CASE("null is as good as absent") {
    json document = minimal();
    document["batch"] = nullptr;
    document["layout"] = {{"tensor", nullptr}};
    CHECK(read(document).job.batch == 1);
}

TEST_CASE("a text that is no job is refused, never thrown at") {
    for (const char* text :
         {"", "{", "[]", "1", "{\"model\": 1}", "{\"model\": \"llama-3.1-8b\"}", "{\"cluster\": {}}"}) {
        CAPTURE(text);
        const result<plan_request> made = read_job(std::string_view{text});
        CHECK_FALSE(made);
        CHECK_FALSE(made.error().expected.empty());
    }
}

TEST_CASE("a layout without data ranks is completed from the GPUs, and says so") {
    const auto given = [](std::string_view layout) {
        return read_job(std::string{R"({"model": "llama-3.1-8b", "task": "pretraining", "sequence": 4096, )"} +
                        R"("cluster": {"gpu": "h100-sxm5-80gb", "gpus": 8}, "layout": )" + std::string{layout} + "}")
            .value();
    };
    const plan_request completed = given(R"({"zero": 3})");
    CHECK(completed.layout->data == 8);
    CHECK(completed.data_ranks_chosen);
    CHECK(given(R"({"zero": 3, "data": 1})").layout->data == 1);
    CHECK_FALSE(given(R"({"zero": 3, "data": 1})").data_ranks_chosen);
    CHECK_FALSE(given(R"({"tensor": 8})").data_ranks_chosen);
}

TEST_CASE("a processor alone is a device with the host's memory") {
    json document = minimal();
    document["cluster"] = {{"gpu", "cpu"}};
    CHECK(read_job(document).error().field == "cluster.host.memory");
    document["cluster"]["host"] = {{"memory", std::int64_t{32} << 30}};
    const gpu cpu = read(document).cluster.gpu;
    CHECK(cpu.id == "cpu");
    CHECK(usable_memory(cpu) == gib(32));
    CHECK(cpu.memory.bandwidth == gb_per_s(60));
}

TEST_CASE("engines whose dtype is auto load an fp32 checkpoint in 16 bits unless its format is named") {
    // vLLM: _resolve_auto_dtype(); SGLang: _get_and_verify_dtype(): "For float32 models, use float16 or bfloat16"
    json document = minimal();
    document["model"] = json::parse(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
                                        "n_positions": 1024, "vocab_size": 50257, "torch_dtype": "float32"})");
    document["context"] = 1024;
    const auto weights = [&](const char* runtime) {
        document["runtime"] = runtime;
        const plan_request asked = read(document);
        return plan(asked.job, {}, asked.cluster)->memory[memory_term::weights].expected;
    };
    const auto loads_in = [&](const precision& format) {
        const job j = read(document).job;
        return weights_of(j) == format;
    };
    const byte_count stored = weights("transformers");
    CHECK(loads_in(fp32));
    for (const char* runtime : {"vllm", "vllm@0.20.0", "sglang", "sglang@0.4.5", "lmdeploy", "tgi"}) {
        CAPTURE(runtime);
        CHECK(double(weights(runtime).in(bytes)) == doctest::Approx(double(stored.in(bytes)) / 2).epsilon(0.03));
        CHECK(loads_in(bf16));
    }
    document["cluster"]["gpu"] = "t4-16gb";
    weights("vllm");
    CHECK(loads_in(fp16));
    document["compute"] = "fp32";  // --dtype float32
    CHECK(weights("vllm") * 10 > stored * 9);
    document.erase("compute");
    document["weights"] = "fp32";
    CHECK(weights("vllm") * 10 > stored * 9);
    CHECK(weights("transformers") == stored);
}

TEST_CASE("weights whose format nobody names are a file of llama.cpp's usual mix under runtimes that fetch one") {
    json document = minimal();
    document["model"] = "llama-3.1-8b";
    for (const char* runtime : {"llama.cpp", "ollama", "ik_llama.cpp"}) {
        document["runtime"] = runtime;
        REQUIRE(read(document).job.gguf);
        CHECK(read(document).job.gguf->quantisation == gguf_quantisation::Q4_K_M);
    }
    json tag = document;
    tag["model"] = "llama3.1:8b";
    CHECK(plan(read(tag).job, {}, read(tag).cluster)->memory.total() ==
          plan(read(document).job, {}, read(document).cluster)->memory.total());
    document["model"] = "deepseek-v3";  // fp8 is widened before it is quantised
    CHECK(read(document).job.gguf->quantisation == gguf_quantisation::Q4_K_M);
    document["model"] = "Qwen/Qwen2.5-7B-Instruct-AWQ";
    CHECK_FALSE(read(document).job.gguf);
    document["model"] = "llama-3.1-8b";
    document["weights"] = "bf16";
    CHECK_FALSE(read(document).job.gguf);
    document.erase("weights");
    document["runtime"] = "vllm";
    CHECK_FALSE(read(document).job.gguf);
}

TEST_CASE("gpt-oss of Ollama's library has bf16 beside its experts, of other repositories q8_0") {
    json document = minimal();
    document["model"] = "gpt-oss-120b";
    document["cluster"] = {{"gpu", "ryzen-ai-max-395"}};
    const auto loaded = [&](const char* runtime) {
        document["runtime"] = runtime;
        const plan_request r = read(document);
        return memory_of(r.job, {}, r.cluster)[memory_term::weights].expected.in(mib);
    };
    CHECK(loaded("ollama@0.30") == doctest::Approx(61223).epsilon(2e-5));  // a log of 0.30.2, in whole MiB
    CHECK(loaded("llama.cpp") < 60000);
    document["model"] = "gpt-oss:120b";
    CHECK(loaded("llama.cpp") == doctest::Approx(61223).epsilon(2e-5));
}

TEST_CASE("a name of Ollama's library means the model of its tag latest under Ollama, and with a tag its job") {
    json document = minimal();
    document.erase("runtime");
    for (const auto& [name, tag] : detail::ollama_latest) {
        INFO(std::string{name});
        json tagged = document;
        tagged["model"] = std::string{name} + ":" + std::string{tag};
        const plan_request by_tag = read(tagged);
        CHECK(by_tag.job.runtime.identity.name == "ollama");
        CHECK(by_tag.job.gguf);
        CHECK(by_tag.model_name == tagged["model"].get<std::string>());
        json plain = document;
        plain["model"] = std::string{name};
        plain["runtime"] = "ollama@0.12";
        CHECK(read(plain).job.model.name == by_tag.job.model.name);
        plain["runtime"] = {{"name", "ollama"}, {"num_parallel", 2}};
        CHECK(read(plain).job.model.name == by_tag.job.model.name);
        plain["model"] = {{"from", std::string{name}}, {"layers", 2}};
        CHECK(read(plain).job.model.name == by_tag.job.model.name);
        tagged["runtime"] = "llama.cpp";
        CHECK(read(tagged).job.runtime.identity.name == "llama.cpp");
        tagged.erase("runtime");
        tagged["task"] = "finetuning";
        CHECK(read(tagged).job.runtime.identity.name == "none");
    }
    // A family's name that means nothing else is Ollama's, whose job it is.
    for (const char* family : {"qwen3", "llama3.1", "gemma3", "gpt-oss", "granite3.3"}) {
        INFO(std::string{family});
        json bare = document;
        bare["model"] = family;
        const plan_request r = read(bare);
        CHECK(r.job.runtime.identity.name == "ollama");
        CHECK(r.model_name == family);
        bare["model"] = detail::with_latest_tag(family);
        CHECK(r.job.model.name == read(bare).job.model.name);
    }
    document["model"] = "deepseek-r1";
    CHECK(read(document).job.model.name == "deepseek-r1");  // 671 B
    CHECK(read(document).job.runtime.identity.name == "none");
    document["runtime"] = "ollama";
    CHECK(read(document).job.model.name == "qwen3-8b");
    document["model"] = "deepseek-r1:671b";
    CHECK(read(document).job.model.name == "deepseek-r1");
    document["model"] = "llama-3.1-70b";  // no name of that library
    CHECK(read(document).job.model.name == "llama-3.1-70b");
}

TEST_CASE("Ollama takes a context by the memory of all GPUs where nobody says how long sequences are") {
    json document = minimal();
    document["model"] = "llama-3.1-8b";
    document["runtime"] = "ollama";
    const auto context_with = [&](const char* gpu, int gpus) {
        document["cluster"] = {{"gpu", gpu}, {"gpus", gpus}};
        return context_of(read(document).job);
    };
    CHECK(context_with("rtx-4060", 1) == tokens(4096));
    CHECK(context_with("rtx-4060", 3) == tokens(32768));
    CHECK(context_with("rtx-4090", 1) == tokens(32768));
    CHECK(context_with("rtx-4090", 2) == tokens(131072));  // of 262144 the model's own
    document["context"] = 1000;
    CHECK(context_with("rtx-4090", 1) == tokens(1000));
    document.erase("context");
    document["prompt"] = 50000;
    CHECK(context_with("rtx-4090", 1) == tokens(50000));
    document.erase("prompt");
    document["runtime"] = "llama.cpp";
    CHECK(context_with("rtx-4060", 1) == tokens(131072));
}

TEST_CASE("a key that stands in the wrong object is refused with its place, and a cluster with what it is") {
    const auto refusal = [](const json& more) {
        json document = minimal();
        document.merge_patch(more);
        return read_job(document).error();
    };
    CHECK(refusal({{"gpus", 2}}).expected == "cluster.gpus");
    CHECK(refusal({{"cores", 2}}).expected == "cluster.host.cores");
    CHECK(refusal({{"cluster", {{"count", 2}}}}).expected == "a field of `llmres schema`");
    CHECK(refusal({{"batchs", 2}}).expected.view().starts_with("a field such as batch"));
    const error word = refusal({{"cluster", "rtx-4090"}});
    CHECK(word.code == error_code::malformed);
    CHECK(word.expected.view().find("a gpu and the number of gpus") != std::string_view::npos);
    CHECK(refusal({{"cluster", nullptr}}).code == error_code::missing);
}

TEST_CASE("unknown fields of an object are refused by their path") {
    for (const char* object : {"adapter", "lengths", "offload"}) {
        json document = minimal();
        if (std::string{object} != "lengths") document["task"] = "finetuning";
        document[object] = {{"kinds", 1}};
        CHECK(read_job(document).error().field == std::string{object} + ".kinds");
    }
    CHECK(read_job(json::array()).error().value == "array");
}

TEST_CASE("an empty adapter is none, and one without a kind is refused") {
    json document = minimal();
    document["task"] = "finetuning";
    document["adapter"] = json::object();
    CHECK_FALSE(read(document).job.adapter.trains());
    document["adapter"] = {{"rank", 8}};
    CHECK(read_job(document).error().field == "adapter.kind");
}

TEST_CASE("layers are split by ratios or by the layers of each stage, in as many stages as there are") {
    json document = minimal();
    document["cluster"]["gpus"] = 2;
    document["layout"] = {{"tensor_split", "3,1"}};
    CHECK(read(document).layout->pipeline == 2);
    document["layout"]["pipeline"] = 2;
    CHECK(read(document).layout->pipeline == 2);
    document["layout"]["pipeline"] = 4;
    CHECK(read_job(document).error().field == "layout.tensor_split");
    const std::string half(16, 't');
    document["layout"] = {{"tensor_split", "3,1"}, {"stages", "E" + half + "|" + half + "L"}};
    CHECK(read_job(document).error().field == "layout.tensor_split");
    // Two stages for each of two GPUs are virtual ones; three are not shared evenly, which the plan refuses.
    const std::string quarter(8, 't');
    document["layout"] = {{"pipeline", 2},
                          {"stages", "E" + quarter + "|" + quarter + "|" + quarter + "|" + quarter + "L"}};
    CHECK(read(document).layout->virtual_pipeline == 2);
    document["layout"]["pipeline"] = 3;
    CHECK(read(document).layout->virtual_pipeline == layout{}.virtual_pipeline);
}

TEST_CASE("gradients may be of two precisions, and some optimizers always step in the backward pass") {
    json document = minimal();
    document["task"] = "pretraining";
    document["gradients"] = bf16_and_fp32.name.view();
    CHECK(read(document).job.gradients == maybe<precision>{bf16_and_fp32});
    document["gradients"] = "fp32";
    document["optimizer"] = "lomo";
    CHECK(read(document).job.optimizer.in_backward);
    document["optimizer_in_bwd"] = true;
    CHECK(read(document).job.optimizer.temporaries == 0);
    document["optimizer_in_bwd"] = false;
    CHECK(read_job(document).error().field == "optimizer_in_bwd");
}

TEST_CASE("a runtime without a name, or with one that is none, is refused in training as in serving") {
    for (const char* task : {"pretraining", "serving"}) {
        json document = minimal();
        document["task"] = task;
        document["runtime"] = {{"enforce_eager", true}};
        CHECK(read_job(document).error().field == "runtime.name");
        document["runtime"] = {{"name", 7}};
        CHECK(read_job(document).error().field == "runtime.name");
        document["runtime"] = 7;
        CHECK(read_job(document).error().field == "runtime");
    }
    json document = minimal();
    document["task"] = "finetuning";
    document["runtime"] = "transformers";
    CHECK(read(document).job.runtime.identity.name == "huggingface");
    document["runtime"] = {{"name", "transformers"}};
    CHECK(read(document).job.runtime.identity.name == "huggingface");
}

TEST_CASE("a checkpoint in MXFP4 is stored as it is in files for llama.cpp, and is no GGUF elsewhere") {
    json document = minimal();
    document["model"] = "gpt-oss-20b";
    document["runtime"] = "llama.cpp";
    CHECK(read(document).job.gguf->quantisation == gguf_quantisation::MXFP4_MOE);
    for (const char* runtime : {"vllm", "transformers", "exllamav2"}) {
        document["runtime"] = runtime;
        CHECK_FALSE(read(document).job.gguf.known);
    }
}

TEST_CASE("what fits is chosen over all GPUs, at the length that is said") {
    json document = minimal();
    document["runtime"] = {{"name", "llama.cpp"}, {"fit", true}};
    document["cluster"]["gpus"] = 2;
    CHECK(read(document).layout->pipeline == 2);
    document["cluster"]["gpus"] = 64;
    CHECK(read(document).layout->pipeline == 32);  // no more than there are layers
    document["cluster"]["gpus"] = 1;
    const token_count unsaid = read(document).job.context;
    CHECK(unsaid > token_count{});
    for (const char* length : {"prompt", "output"}) {
        json said = document;
        said[length] = 100;
        CHECK(read(said).job.context == read(minimal()).job.context);
        CHECK(read(said).job.context != unsaid);
    }
    json longer = document;
    longer["context"] = 4096;
    CHECK(read(longer).job.context == tokens(4096));
    longer["context"] = 4096;
    longer["batch"] = -1;
    CHECK_FALSE(read_job(longer));
    document["cluster"] = {{"gpu", "cpu"}, {"host", {{"memory", gib(64).in(bytes)}}}};
    CHECK(read_job(document).error().field == "runtime.fit");
    json trains = minimal();
    trains["task"] = "finetuning";
    trains["runtime"] = {{"name", "llama.cpp"}, {"fit", true}};
    CHECK_FALSE(read_job(trains));
}

TEST_CASE("the layout and cluster of prompts are refused under their own names") {
    json document = minimal();
    document["prefill"] = {{"cluster", {{"gpu", "rtx-4090"}}}, {"layout", {{"tensors", 2}}}};
    CHECK(read_job(document).error().field == "prefill.layout.tensors");
    document["prefill"]["layout"] = {{"tensor", "two"}};
    CHECK(read_job(document).error().field == "prefill.layout.tensor");
    document["prefill"]["layout"] = 7;
    CHECK(read_job(document).error().field == "prefill.layout");
}

TEST_CASE("what a caller turns is written under the software's own name, and what nobody turned is not") {
    struct turned {
        const char *software, *knob;
        double value;
    };
    for (const turned& t : {turned{"vllm", "kv_cache_memory_bytes", 1 << 30},
                            {"vllm", "num_gpu_blocks_override", 1000},
                            {"sglang", "max_total_tokens", 4096},
                            {"sglang", "swa_full_tokens_ratio", 0.5},
                            {"llama.cpp", "n_cpu_moe", 3}}) {
        CAPTURE(t.software);
        CAPTURE(t.knob);
        runtime r = find_runtime(t.software).value();
        serving_options asked;
        CHECK_FALSE(to_json(r, asked).contains(t.knob));
        REQUIRE(set_knob(r, asked, t.knob, t.value));
        const auto written = to_json(r, asked);
        REQUIRE(written.contains(t.knob));
        CHECK(written[t.knob].get<double>() == t.value);
    }
}

TEST_CASE(
    "what a document says of its GPUs and machine is refused with its place, its value and what may stand there") {
    const auto file = [](const char* name) {
        return [name](std::string_view) { return parse_device_file(content_of(devices + name)); };
    };
    const auto refusal = [](const json& cluster, const device_finder& find = find_no_device) {
        const result<plan_request> made =
            read_job(json{{"model", "llama-3.2-1b"}, {"cluster", cluster}}, {.device = find});
        CAPTURE(cluster.dump());
        REQUIRE_FALSE(made);
        return made.error();
    };
    const error two = refusal({{"device", "a"}}, file("synthetic-two-h100.json"));
    CHECK(two.field == "cluster.device: devices");
    CHECK(two.value == "2");
    const error nothing = refusal({{"device", "a"}}, [](std::string_view) { return device_file{"", "", {device{}}}; });
    CHECK(nothing.field.view().starts_with("cluster.device: "));
    CHECK(refusal({{"device", ""}}).field == "cluster.device");
    CHECK(refusal({{"device", ""}}).expected == "a device file");
    CHECK(refusal({{"device", 3}}).field == "cluster.device");
    CHECK(refusal({{"device", "a"}, {"gpu", "h100"}}).expected == "either a device or a gpu, not both");
    CHECK(refusal({{"gpus", 2}}).code == error_code::missing);
    CHECK(refusal({{"gpus", 2}}).field == "cluster.gpu");
    CHECK(refusal({{"gpu", "h100"}, {"gpus", 8}, {"gpus_per_node", 3}}).field == "cluster.gpus_per_node");
    CHECK(refusal({{"gpu", "h100"}, {"host", {{"memory", "x"}}}}).field == "cluster.host.memory");
    const auto read = [](const json& cluster) {
        const result<plan_request> made = read_job(json{{"model", "llama-3.2-1b"}, {"cluster", cluster}});
        CAPTURE(cluster.dump());
        REQUIRE(made);
        return made->cluster;
    };
    const std::int64_t whole = usable_memory(read({{"gpu", "h100"}}).gpu).in(bytes);
    CHECK(read({{"gpu", "h100"}, {"in_use", whole}}).in_use == bytes(whole));
    const error full = refusal({{"gpu", "h100"}, {"in_use", whole + 1}});
    CHECK(full.field == "cluster.in_use");
    CHECK(full.expected == "at most the GPU's memory, " + std::to_string(whole));
    // The memory that a document names may be all that the driver reports, and more is not what it reports.
    const gpu reported = read({{"gpu", "l4"}}).gpu;
    REQUIRE(reported.memory.reported);
    const std::int64_t size = (*reported.memory.reported).in(bytes);
    for (const std::int64_t more : {-1, 0, 1}) {
        const gpu card = read({{"gpu", "l4"}, {"gpu_memory", size + more}}).gpu;
        CHECK(card.memory.reported.known == (more <= 0));
        CHECK(card.memory.cuda_visible == bytes(size + more));
    }
    CHECK_FALSE(
        read({{"gpu_memory", 8'000'000'000}, {"gpu_bandwidth", 1e12}, {"gpu_flops", 1e14}}).gpu.memory.reported);
}

TEST_CASE("a runtime's own choice of layers is asked for by fit, or by auto under either name of them") {
    const auto asked = [](const json& runtime) {
        return read_job(json{{"model", "llama-3.1-8b"},
                             {"weights", "q8_0"},
                             {"context", 4096},
                             {"cluster", {{"gpu", "rtx-3060-12gb"}}},
                             {"runtime", runtime}});
    };
    const auto fitted = [&](json runtime) {
        runtime["name"] = "llama.cpp";
        CAPTURE(runtime.dump());
        const result<plan_request> read = asked(runtime);
        REQUIRE(read);
        return read->fitted;
    };
    CHECK(fitted({{"fit", true}}));
    CHECK_FALSE(fitted({{"fit", false}}));
    CHECK_FALSE(fitted(json::object()));
    CHECK(fitted({{"gpu_layers", "auto"}}));
    CHECK(fitted({{"n_gpu_layers", "auto"}}));
    CHECK(fitted({{"gpu_layers", "auto"}, {"fit", true}}));
    const error both = asked({{"name", "llama.cpp"}, {"gpu_layers", "auto"}, {"fit", false}}).error();
    CHECK(both.field == "runtime.fit");
    CHECK(both.value == "false");
    CHECK(both.expected == "true, where gpu_layers is auto");
    CHECK(asked({{"name", "vllm"}, {"fit", true}}).error().field == "runtime.fit");
    CHECK(asked({{"name", "vllm"}, {"fit", true}}).error().value == "true");
    CHECK(asked({{"name", "vllm"}, {"gpu_layers", "auto"}}).error().field == "runtime.gpu_layers");
    CHECK(asked({{"name", "vllm"}, {"gpu_layers", "auto"}}).error().value == "auto");
    CHECK(asked(json::object()).error().expected == "the name of a runtime (--runtime NAME)");
    CHECK(asked({{"max_num_seqs", 3}}).error().expected ==
          "the name of a runtime that has max_num_seqs (--runtime NAME)");
    CHECK(asked({{"name", "llama.cpp"}, {"gpu_memory_utilization", 0.5}}).error().field ==
          "runtime.gpu_memory_utilization");
    CHECK(asked({{"name", "vllm"}, {"kv_cache_memory_bytes", 1e15}}).error().code == error_code::malformed);
    CHECK(asked({{"name", "vllm"}, {"kv_cache_memory_bytes", "x"}}).error().field == "runtime.kv_cache_memory_bytes");
    for (const json& part : {json(true), json(2048.5)})
        CHECK(asked({{"name", "vllm"}, {"max_num_batched_tokens", part}}).error().expected == "a whole number from 0");
    CHECK(asked({{"name", "sglang"}, {"swa_full_tokens_ratio", 0.5}}));
    CHECK(asked({{"name", "vllm"}, {"enforce_eager", true}}));
}

TEST_CASE("a number beyond its bounds is refused with both, and with what it is where it is left out") {
    const auto expected = [](const json& more) {
        json document = minimal();
        document.merge_patch(more);
        const result<plan_request> made = read_job(document);
        REQUIRE_FALSE(made);
        return std::string{made.error().expected.view()};
    };
    CHECK(expected({{"batch", 0}}).ends_with("; default: 1"));
    CHECK(expected({{"cost", {{"gpu_hour", 2e12}}}}) == "a number from 0 to 1000000000000");
    int reals = 0;
    for (const job_field& f : job_fields) {
        if (f.type != field_type::real || f.object == "runtime" || f.object == "host") continue;
        const result<plan_request> made = read_job(with(f, json(f.high * 2)));
        if (made || made.error().field.view().find(f.name) == std::string_view::npos) continue;
        const std::string said{made.error().expected.view()};
        if (!said.starts_with("a number from ")) continue;
        CAPTURE(said);
        ++reals;
        const double low = std::stod(said.substr(14)), high = std::stod(said.substr(said.find(" to ") + 4));
        CHECK(low == f.low);
        CHECK(high == f.high);
        const result<plan_request> highest = read_job(with(f, json(f.high)));
        CHECK((highest || highest.error().expected.view() != said));
        CHECK((said.find('e', 14) == std::string::npos) == (f.high < 9e18));
    }
    CHECK(reals > 3);
}

TEST_CASE("an adapter has PEFT's rank where it has one and the document names none, or is that of the model's folder") {
    const auto adapted = [](const json& more, const model_source& of_folder = {}) {
        json document{{"model", "mine"}, {"task", "finetuning"}, {"cluster", {{"gpu", "h100"}}}};
        document.merge_patch(more);
        model_source found = of_folder;
        found.model = find_model("llama-3.2-1b").value();
        return answered(read_job(document, {.model = [&](std::string_view) { return found; }}));
    };
    for (const std::string_view kind : names_of<adapter_kind>) {
        CAPTURE(kind);
        const result<plan_request> read = read_job(json{{"model", "llama-3.2-1b"},
                                                        {"task", "finetuning"},
                                                        {"adapter", {{"kind", kind}}},
                                                        {"cluster", {{"gpu", "h100"}}}});
        if (!read) continue;
        CHECK(read->job.adapter.rank == (read->job.adapter.low_rank() ? 8 : adapter{}.rank));
    }
    model_source folder;
    folder.adapter = adapter{.kind = adapter_kind::lora, .rank = 4, .targets = joined_head_roles};
    CHECK(adapted(json::object(), folder).job.adapter == *folder.adapter);
    CHECK(adapted({{"adapter", {{"kind", "lora"}, {"rank", 2}}}}, folder).job.adapter.rank == 2);
    CHECK_FALSE(adapted(json::object()).job.adapter.trains());
    const auto options = [&](const json& runtime) {
        return adapted({{"task", "serving"}, {"runtime", runtime}}, folder).job.options;
    };
    CHECK(options("vllm").max_loras == 1);
    CHECK(options("vllm").max_lora_rank == std::max<std::int64_t>(4, serving_options{}.max_lora_rank));
    CHECK(options({{"name", "vllm"}, {"max_loras", 3}}).max_loras == 3);
    CHECK(options({{"name", "vllm"}, {"max_loras", 3}, {"max_lora_rank", 64}}).max_lora_rank == 64);
    CHECK(options({{"name", "vllm"}, {"max_loras", 3}, {"max_lora_rank", 1}}).max_lora_rank == 4);
    model_source warned;
    warned.warning = "a warning";
    CHECK(adapted(json::object(), warned).warning == "a warning");
    CHECK(adapted(json::object()).warning.empty());
}

TEST_CASE("one stage by ratios is one stage, and a layout has ratios or layers") {
    const auto layout_of = [](const json& more) {
        json document = minimal();
        document["layout"] = more;
        return read_job(document);
    };
    CHECK(answered(layout_of({{"tensor_split", "1"}})).layout->pipeline == 1);
    CHECK(answered(layout_of({{"tensor_split", "1,1"}})).layout->pipeline == 2);
    CHECK(layout_of({{"tensor_split", "1"}, {"pipeline", 2}}).error().field == "layout.tensor_split");
    CHECK(layout_of({{"tensor_split", "1,1"}, {"stages", "16|16"}}).error().field == "layout.tensor_split");
    CHECK(layout_of({{"tensor_split", "1"}, {"stages", "32"}}).error().field == "layout.tensor_split");
}

TEST_CASE("what only training has is refused in serving, and formats that are none by their field") {
    const auto refusal = [](const json& more) {
        json document = minimal();
        document.merge_patch(more);
        const result<plan_request> made = read_job(document);
        CAPTURE(document.dump());
        REQUIRE_FALSE(made);
        return made.error();
    };
    for (const char* object : {"run", "checkpoint", "adapter", "offload"})
        CHECK(refusal({{object, json::object()}}).field == object);
    for (const char* object : {"lengths", "prefill"})
        CHECK(refusal({{"task", "finetuning"}, {object, json::object()}}).field == object);
    CHECK(refusal({{"task", "finetuning"}, {"gradients", "x"}}).field == "gradients");
    CHECK(refusal({{"cost", {{"gpu_hour", 1}}}, {"prefill", {{"cluster", {{"gpu", "h100"}}}}}}).field == "cost");
    const json old{{"gpu", "v100-sxm2-32gb"}};
    const error half = refusal({{"cluster", old}, {"compute", "bf16"}, {"runtime", "vllm"}});
    CHECK(half.field == "compute");
    CHECK(half.expected == "fp16: vllm does not start in bf16 on a GPU without bf16 arithmetic");
    json trained{{"model", "llama-3.2-1b"}, {"task", "finetuning"}, {"compute", "bf16"}, {"cluster", old}};
    CHECK(read_job(trained));
    trained["master_weights"] = "none";
    CHECK(answered(read_job(trained)).job.master_weights == maybe<precision>{bf16});
    json mixed = minimal();
    mixed["weights"] = "q4_k_m";
    mixed["runtime"] = "llama.cpp";
    CHECK(answered(read_job(mixed)).job.weights == maybe<precision>{q4_k});
    json stepping{{"model", "llama-3.2-1b"}, {"task", "finetuning"}, {"cluster", {{"gpu", "h100"}}}};
    const std::int64_t apart = answered(read_job(stepping)).job.optimizer.temporaries;
    CHECK(apart == adamw.temporaries);
    stepping["optimizer_in_bwd"] = true;
    stepping["runtime"] = "torchtune";
    CHECK(answered(read_job(stepping)).job.optimizer.temporaries == 0);
}

TEST_CASE("an encoder is pretrained with a head that it is not tuned with") {
    const auto model_of = [](const char* task) {
        return answered(read_job(json{{"model", "bert-base"}, {"task", task}, {"cluster", {{"gpu", "h100"}}}}))
            .job.model;
    };
    const model plain = find_model("bert-base").value();
    CHECK(count_parameters(model_of("pretraining")) == count_parameters(with_pretraining_head(plain)));
    CHECK(count_parameters(model_of("finetuning")) == count_parameters(plain));
}

TEST_CASE("what fits is chosen in the layout that is given, over all GPUs where none is, and on one without a layout") {
    const auto fitted = [](const json& more) {
        json document{{"model", "llama-3.1-8b"},
                      {"weights", "q8_0"},
                      {"runtime", {{"name", "llama.cpp"}, {"fit", true}}},
                      {"cluster", {{"gpu", "rtx-3060-12gb"}, {"gpus", 2}}}};
        document.merge_patch(more);
        return answered(read_job(document));
    };
    CHECK(fitted(json::object()).layout->pipeline == 2);
    CHECK(fitted({{"layout", {{"pipeline", 1}}}}).layout->pipeline == 1);
    CHECK_FALSE(fitted({{"cluster", {{"gpus", 1}}}}).layout);
    CHECK(fitted({{"cluster", {{"gpus", 40}}}}).layout->pipeline == 32);
    CHECK(fitted({{"context", 5000}}).job.context == tokens(5000));
}
