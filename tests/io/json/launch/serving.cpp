// SPDX-License-Identifier: MIT
#include <llmres/io/json/launch/serving.hpp>

#include <doctest/doctest.h>

#include <llmres/io/json/launch/command.hpp>
#include <llmres/io/json/launch/words.hpp>
#include <llmres/runtimes/loading.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <llmres/values/find_precision.hpp>
#include <string>
#include <string_view>

using namespace llmres;
using nlohmann::json;

namespace {

result<detail::served_job> served(std::string_view line, std::int64_t gpus = 0) {
    const auto commands = detail::shell_commands(line);
    REQUIRE(commands);
    const auto command = detail::launched_in(*commands);
    REQUIRE(command);
    return detail::job_served(*command, gpus);
}
json job(std::string_view line, std::int64_t gpus = 0) {
    const auto read = served(line, gpus);
    INFO(line);
    REQUIRE(read);
    return read->document;
}
json layout(std::string_view line, std::int64_t gpus = 0) { return job(line, gpus)["layout"]; }
json knobs(std::string_view line, std::int64_t gpus = 0) { return job(line, gpus)["runtime"]; }
error refusal_of(std::string_view line, std::int64_t gpus = 0) { return served(line, gpus).error(); }
/// Whether a sentence on a line has these words.
bool notes(std::string_view line, std::string_view words) {
    const auto read = served(line);
    REQUIRE(read);
    for (const std::string& note : read->notes)
        if (note.find(words) != std::string::npos) return true;
    return false;
}

}  // namespace

TEST_CASE("vLLM takes one GPU unless it is told otherwise, and experts over all ranks") {
    CHECK(layout("vllm serve qwen3-8b") == json{{"tensor", 1}, {"pipeline", 1}, {"data", 1}});
    CHECK(layout("vllm serve qwen3-30b-a3b -tp 2 -dp 4 -ep") ==
          json{{"tensor", 2}, {"pipeline", 1}, {"data", 4}, {"expert", 8}, {"expert_tensor", 1}});
    CHECK_FALSE(layout("vllm serve qwen3-8b -tp 2 --enable-expert-parallel").contains("expert"));
    CHECK(layout("VLLM_PP_LAYER_PARTITION=20,16 vllm serve qwen3-8b -pp 2")["stages"] == "20|16");
    CHECK(job("vllm serve qwen3-8b -tp 8 -pp 2 --nnodes 2")["cluster"] == json{{"gpus_per_node", 8}});
}

TEST_CASE("precisions: a cast is one, the checkpoint's own format is not") {
    CHECK(job("vllm serve Qwen/Qwen3-8B --quantization fp8")["weights"] == "fp8");
    CHECK_FALSE(job("vllm serve Qwen/Qwen3-8B-FP8 --quantization fp8").contains("weights"));
    CHECK(job("vllm serve /models/x --quantization fp8")["weights"] == "fp8");
    CHECK_FALSE(job("vllm serve /models/x-FP8 --quantization fp8").contains("weights"));
    CHECK_FALSE(job("vllm serve Qwen/Qwen3-8B-AWQ -q awq_marlin").contains("weights"));
    CHECK(job("vllm serve Qwen/Qwen3-8B -q awq_marlin")["weights"] == "awq");
    CHECK(job("vllm serve Qwen/Qwen3-8B -q bitsandbytes")["weights"] == "nf4");
    CHECK(notes("vllm serve Qwen/Qwen3-8B -q modelopt", "the checkpoint's own format"));
    CHECK(job("vllm serve qwen3-8b --dtype half --kv-cache-dtype fp8_e5m2")["kv_cache"] == "fp8_e5m2");
    for (const char* named : {"int8_per_token_head", "int4_per_token_head", "fp8_per_token_head", "nvfp4_4over6",
                              "fp8_inc", "fp8_ds_mla"}) {
        CAPTURE(named);
        const std::string read = job(std::string{"vllm serve qwen3-8b --kv-cache-dtype "} + named)["kv_cache"];
        CHECK(caches_in(runtimes::vllm.loading, find_precision("kv_cache", read).value()));
    }
    CHECK_FALSE(job("vllm serve qwen3-8b --dtype auto --kv-cache-dtype auto").contains("kv_cache"));
}

TEST_CASE("servers of embeddings, rerankers and classifiers say what their model makes") {
    CHECK(job("vllm serve Qwen/Qwen3-Embedding-0.6B --runner pooling")["head"] == "embedding");
    CHECK(job("vllm serve qwen3-8b --task embed")["head"] == "embedding");
    CHECK(job("vllm serve qwen3-8b --runner pooling --convert classify")["head"] == "classification");
    CHECK(job("vllm serve BAAI/bge-reranker-v2-m3 --task score")["head"] == "reranking");
    CHECK(job("vllm serve qwen3-8b --task reward")["head"] == "reranking");
    CHECK_FALSE(job("vllm serve qwen3-8b --runner auto --task generate").contains("head"));
    for (const char* wrong : {"--runner poling", "--convert clasify", "--task chat"}) {
        const std::string line = std::string{"vllm serve qwen3-8b "} + wrong;
        CHECK(std::string_view{wrong}.starts_with(refusal_of(line).field.view()));
    }
    CHECK(job("python -m sglang.launch_server --model-path qwen3-8b --is-embedding")["head"] == "embedding");
    CHECK(job("llama-server -m bge-m3-Q8_0.gguf --embedding")["head"] == "embedding");
    CHECK(job("llama-server -m bge-reranker-v2-m3-Q8_0.gguf --reranking")["head"] == "reranking");
}

TEST_CASE("adapters, longer contexts and fewer layers") {
    CHECK(knobs("vllm serve qwen3-8b --enable-lora")["max_lora_rank"] == 16);
    CHECK(knobs("vllm serve qwen3-8b --enable-lora --max-loras 4 --max-lora-rank 64")["max_loras"] == 4);
    CHECK_FALSE(knobs("vllm serve qwen3-8b --max-loras 4").contains("max_loras"));
    CHECK(knobs("sglang serve --model qwen3-8b --lora-paths a=b")["max_loras"] == 8);
    const std::string yarn = R"('{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768}')";
    CHECK(knobs("vllm serve qwen3-8b --rope-scaling " + yarn)["rope_scaling"] == 4.0);
    CHECK(knobs(R"(vllm serve qwen3-8b --hf-overrides '{"text_config": {"rope_parameters": {"factor": 2.0}}}')")
              ["rope_scaling"] == 2.0);
    CHECK(job(R"(vllm serve qwen3-8b --hf-overrides '{"num_hidden_layers": 4}')")["model"] ==
          json{{"from", "qwen3-8b"}, {"layers", 4}});
    CHECK(notes(R"(vllm serve qwen3-8b --hf-overrides '{"architectures": ["A"]}')", "architectures"));
    CHECK_FALSE(job("vllm serve qwen3-8b --max-model-len auto").contains("context"));
}

TEST_CASE("speculative decoding: the model's own layers, a draft model, a draft head, a look-up") {
    CHECK(knobs(R"(vllm serve m --speculative-config '{"method":"deepseek_mtp","num_speculative_tokens":1}')")
              ["speculates_ahead"] == true);
    CHECK(knobs(R"(vllm serve m --speculative-config '{"model":"qwen3-0.6b","num_speculative_tokens":5}')")["draft"] ==
          "qwen3-0.6b");
    CHECK(notes(R"(vllm serve m -sc '{"model":"a/b-EAGLE3","num_speculative_tokens":5}')", "draft head"));
    CHECK(notes(R"(vllm serve m -sc '{"method":"ngram","num_speculative_tokens":5}')", "--draft_tokens 5"));
    CHECK(knobs("sglang serve --model m --speculative-algorithm NEXTN")["speculates_ahead"] == true);
    CHECK(knobs("sglang serve --model m --speculative-algo STANDALONE --speculative-draft-model-path d")["draft"] ==
          "d");
    CHECK(knobs("llama-server -m a.gguf -md b.gguf")["draft"] == "b.gguf");
    CHECK(knobs("llama-server -m a.gguf --spec-type draft-mtp")["speculates_ahead"] == true);
}

TEST_CASE("SGLang's ranks of attention count among its tensor ranks") {
    CHECK(layout("sglang serve --model deepseek-v3 --tp 8") == json{{"tensor", 8}, {"pipeline", 1}, {"data", 1}});
    CHECK(layout("sglang serve --model deepseek-v3 --tp 8 --dp 8 --enable-dp-attention") ==
          json{{"tensor", 1}, {"pipeline", 1}, {"data", 8}, {"expert", 1}, {"expert_tensor", 8}});
    CHECK(layout("sglang serve --model deepseek-v3 --tp 8 --dp 4 --enable-dp-attention --ep 8")["tensor"] == 2);
    CHECK(layout("sglang serve --model qwen3-8b --tp 2 --dp 4") == json{{"tensor", 2}, {"pipeline", 1}, {"data", 4}});
    CHECK(layout("sglang serve --model qwen3-30b-a3b --tp 4 --ep 4")["expert_tensor"] == 1);
    CHECK(refusal_of("sglang serve --model m --tp 4 --ep 3").field == "--ep-size");
    CHECK(refusal_of("sglang serve --model m --tp 4 --dp 3 --enable-dp-attention").field == "--dp-size");
}

TEST_CASE("TensorRT-LLM's ranks, and experts among them") {
    CHECK(layout("trtllm-serve deepseek-v3 --tp_size 8 --ep_size 4") ==
          json{{"tensor", 8}, {"pipeline", 1}, {"expert", 4}, {"expert_tensor", 2}});
    CHECK(knobs("trtllm-serve qwen3-8b --kv_cache_free_gpu_memory_fraction 0.8")["free_gpu_memory_fraction"] == 0.8);
}

TEST_CASE("llama.cpp divides its context among its slots, unless these share it") {
    CHECK(job("llama-server -m a.gguf -c 32768 -np 4")["context"] == 8192);
    CHECK(job("llama-server -m a.gguf -c 32768 -np 4")["batch"] == 4);
    CHECK(job("llama-server -m a.gguf -c 32768 -np 4 -kvu")["context"] == 32768);
    CHECK_FALSE(job("llama-server -m a.gguf -c 0").contains("context"));
    CHECK(job("LLAMA_ARG_CTX_SIZE=4096 LLAMA_ARG_N_PARALLEL=2 llama-server -m a.gguf")["context"] == 2048);
}

TEST_CASE("llama.cpp's layers, experts and pieces of a prompt") {
    CHECK(knobs("llama-server -m a.gguf -ngl 30")["gpu_layers"] == 30);
    CHECK_FALSE(knobs("llama-server -m a.gguf -ngl all").contains("gpu_layers"));
    CHECK(knobs("llama-server -m a.gguf")["fit"] == true);
    CHECK_FALSE(knobs("llama-server -m a.gguf -fit off").contains("fit"));
    for (const char* pattern :
         {"'.ffn_.*_exps.=CPU'", "exps=CPU", "'\\.ffn_(up|down|gate)_exps\\.=CPU'", "'.ffn_(gate|up|down)_exps.=CPU'"})
        CHECK_MESSAGE(knobs("llama-server -m a.gguf -ot " + std::string{pattern}).contains("cpu_moe"), pattern);
    CHECK(notes("llama-server -m a.gguf -ot 'blk.[0-9].ffn_.*_exps.=CPU'", "--override-tensor blk"));
    CHECK(knobs("llama-server -m a.gguf --n-cpu-moe 12")["n_cpu_moe"] == 12);
    CHECK(knobs("llama-server -m a.gguf -b 256")["ubatch_size"] == 256);
    CHECK(knobs("llama-server -m a.gguf -b 2048 -ub 1024")["ubatch_size"] == 1024);
    CHECK(job("llama-server -m a.gguf -ctk q8_0")["kv_cache_values"] == "f16");
    CHECK(job("llama-server -m a.gguf -ctk q8_0 -ctv q4_0")["kv_cache_values"] == "q4_0");
    CHECK(knobs("llama-server -m a.gguf -fa")["flash_attn"] == true);
    CHECK(knobs("llama-server -m a.gguf -fa off")["flash_attn"] == false);
    CHECK_FALSE(knobs("llama-server -m a.gguf -fa auto").contains("flash_attn"));
    CHECK(knobs("llama-server -m a.gguf --rope-scaling yarn --rope-scale 4")["rope_scaling"] == 4.0);
    CHECK(job("llama-server -hf a/b-GGUF:Q8_0 -hff b-Q4_K_M.gguf")["model"] == "a/b-GGUF:Q4_K_M");
    CHECK(knobs("./llama-server -m a.gguf -mla 3 -amb 512 -fmoe -rtr") ==
          json{{"name", "ik_llama.cpp"}, {"mla_use", 3}, {"attn_max_batch", 512}, {"run_time_repack", true}});
    CHECK(refusal_of("llama-server -m a.gguf -ngl many").field == "--n-gpu-layers");
}

TEST_CASE("llama.cpp splits layers over the GPUs that it sees, or rows, or tensors") {
    CHECK(layout("llama-server -m a.gguf", 2) == json{{"pipeline", 2}});
    CHECK(layout("CUDA_VISIBLE_DEVICES=0,1,2 llama-server -m a.gguf") == json{{"pipeline", 3}});
    CHECK(layout("llama-server -m a.gguf -ts 3,1") == json{{"pipeline", 2}, {"tensor_split", "3,1"}});
    CHECK(layout("llama-server -m a.gguf -dev CUDA0,CUDA1 -sm tensor") == json{{"tensor", 2}});
    CHECK(knobs("llama-server -m a.gguf -sm row", 2)["split_rows"] == true);
    CHECK(layout("llama-server -m a.gguf -sm none", 2).is_null());
    CHECK(layout("llama-server -m a.gguf").is_null());
    CHECK(notes("llama-server -m a.gguf -sm row", "nothing says how many GPUs"));
    CHECK(job("llama-server -m a.gguf -dev none")["cluster"]["gpu"] == "cpu");
    CHECK(refusal_of("llama-server -m a.gguf -sm columns").field == "--split-mode");
}

TEST_CASE("Ollama's model, and what its server is told") {
    CHECK(job("ollama run llama3.1:8b 'why is the sky blue?'")["model"] == "llama3.1:8b");
    CHECK(job("ollama run hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q8_0 --verbose")["model"] ==
          "bartowski/Llama-3.2-3B-Instruct-GGUF:Q8_0");
    const json served =
        job("OLLAMA_CONTEXT_LENGTH=64000 OLLAMA_NUM_PARALLEL=2 OLLAMA_KV_CACHE_TYPE=q8_0 "
            "OLLAMA_FLASH_ATTENTION=1 OLLAMA_HOST=0.0.0.0 ollama run qwen3:8b");
    CHECK(served == json{{"model", "qwen3:8b"},
                         {"context", 64000},
                         {"batch", 2},
                         {"kv_cache", "q8_0"},
                         {"runtime", {{"name", "ollama"}, {"flash_attn", true}}}});
}

TEST_CASE("what a line lacks, or says twice, is refused") {
    CHECK(refusal_of("vllm serve --port 1").field == "model");
    CHECK(refusal_of("vllm serve $MODEL").value == "$MODEL");
    CHECK(refusal_of("vllm serve a b").value == "b");
    CHECK(refusal_of("sglang serve a --model b").field == "argument");
    CHECK(refusal_of("CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 4").field == "GPUs that are visible");
    CHECK(refusal_of("vllm serve m -tp 0").code == error_code::out_of_range);
    CHECK(refusal_of("vllm serve m -tp 99999999999").code == error_code::out_of_range);
}

TEST_CASE("values of another type than an option has are refused or say nothing, and never end the program") {
    CHECK(refusal_of("sglang serve --model qwen3-8b --speculative-algorithm.x 3").code == error_code::unknown);
    CHECK(refusal_of("llama-server -m a.gguf --spec-type.x 3").code == error_code::unknown);
    CHECK(
        job("vllm serve qwen3-8b --speculative-config '{\"method\": 3, \"model\": [], \"num_speculative_tokens\": {}}'")
            .contains("model"));
    CHECK(refusal_of("CUDA_VISIBLE_DEVICES=0,1 vllm serve qwen3-8b -tp 4 --nnodes 9223372036854775807").code ==
          error_code::out_of_range);
    CHECK_FALSE(knobs("LLAMA_ARG_NO_MMAP=0 llama-server -m a.gguf").contains("no_mmap"));
}

TEST_CASE("a repository's file has the quantisation that its name ends with") {
    const auto model = [](const char* file) {
        return job(std::string{"llama-server --hf-repo a/b-GGUF --hf-file "} + file)["model"];
    };
    CHECK(model("Qwen3-8B-Q4_K_M.gguf") == "a/b-GGUF:Q4_K_M");
    CHECK(model("Qwen3-8B.Q4_K_M.gguf") == "a/b-GGUF:Q4_K_M");
    CHECK(model("Q8_0/Qwen3-8B-Q8_0-00001-of-00002.gguf") == "a/b-GGUF:Q8_0");
    CHECK(model("Qwen3-8B-UD-Q4_K_XL.gguf") == "a/b-GGUF:Qwen3-8B-UD-Q4_K_XL");  // which names no mix, and is refused
}

TEST_CASE("whole documents of lines: nothing more is in them, and nothing less") {
    struct row {
        std::string_view line;
        const char* document;
        std::int64_t gpus = 0;
    };
    const row rows[] = {
        {"vllm serve m -tp 2 -pp 3 -dp 4",
         R"({"model": "m", "layout": {"tensor": 2, "pipeline": 3, "data": 4}, "runtime": {"name": "vllm"}})"},
        {"TENSOR_PARALLEL_SIZE=4 vllm serve m",
         R"({"model": "m", "layout": {"tensor": 1, "pipeline": 1, "data": 1}, "runtime": {"name": "vllm"}})"},
        {"vllm serve m -dp 2 -ep", R"({"model": "m", "layout": {"tensor": 1, "pipeline": 1, "data": 2, "expert": 2,
         "expert_tensor": 1}, "runtime": {"name": "vllm"}})"},
        {"vllm serve m -ep",
         R"({"model": "m", "layout": {"tensor": 1, "pipeline": 1, "data": 1}, "runtime": {"name": "vllm"}})"},
        {"vllm serve m -tp 3 --nnodes 2",
         R"({"model": "m", "layout": {"tensor": 3, "pipeline": 1, "data": 1}, "runtime": {"name": "vllm"}})"},
        {"vllm serve m -tp 2 -pp 3 -dp 4 --nnodes 4 --dtype half --kv-cache-dtype FP8_E4M3 --enable-lora",
         R"({"model": "m", "layout": {"tensor": 2, "pipeline": 3, "data": 4}, "cluster": {"gpus_per_node": 6},
         "compute": "half", "kv_cache": "fp8_e4m3",
         "runtime": {"name": "vllm", "max_loras": 1, "max_lora_rank": 16}})"},
        {"CUDA_VISIBLE_DEVICES=0 vllm serve m --nnodes 2 -tp 2",
         R"({"model": "m", "layout": {"tensor": 2, "pipeline": 1, "data": 1}, "cluster": {"gpus_per_node": 1},
         "runtime": {"name": "vllm"}})"},
        {"sglang serve --model m",
         R"({"model": "m", "layout": {"tensor": 1, "pipeline": 1, "data": 1}, "runtime": {"name": "sglang"}})"},
        {"sglang serve --model m --tp 2 --ep 2 --enable-lora --json-model-override-args '{\"num_hidden_layers\": 2}'",
         R"({"model": {"from": "m", "layers": 2}, "layout": {"tensor": 2, "pipeline": 1, "data": 1, "expert": 2,
         "expert_tensor": 1}, "runtime": {"name": "sglang", "max_loras": 8, "max_lora_rank": 16}})"},
        {"sglang serve --model m --tp 4 --dp 2 --enable-dp-attention --pp-size 3 --nnodes 3",
         R"({"model": "m", "layout": {"tensor": 2, "pipeline": 3, "data": 2, "expert": 1, "expert_tensor": 4},
         "cluster": {"gpus_per_node": 4}, "runtime": {"name": "sglang"}})"},
        {"sglang serve --model m --tp 4 --attn-dp-size 2",
         R"({"model": "m", "layout": {"tensor": 2, "pipeline": 1, "data": 2, "expert": 1, "expert_tensor": 4},
         "runtime": {"name": "sglang"}})"},
        {"sglang serve --model m --tp 4 --attn-dp-size 1",
         R"({"model": "m", "layout": {"tensor": 4, "pipeline": 1, "data": 1}, "runtime": {"name": "sglang"}})"},
        {"sglang serve --model m --tp 2 --dp 1 --enable-dp-attention",
         R"({"model": "m", "layout": {"tensor": 2, "pipeline": 1, "data": 1}, "runtime": {"name": "sglang"}})"},
        {"sglang serve --model m --tp 2 --dp 3 --pp-size 2 --nnodes 4",
         R"({"model": "m", "layout": {"tensor": 2, "pipeline": 2, "data": 3}, "cluster": {"gpus_per_node": 3},
         "runtime": {"name": "sglang"}})"},
        {"sglang serve --model qwen3-8b --tp 4 --dp 2 --enable-dp-attention",
         R"({"model": "qwen3-8b", "layout": {"tensor": 4, "pipeline": 1, "data": 1}, "runtime": {"name": "sglang"}})"},
        {"trtllm-serve m",
         R"({"model": "m", "layout": {"tensor": 1, "pipeline": 1}, "runtime": {"name": "tensorrt-llm"}})"},
        {"trtllm-serve m --tp_size 2 --pp_size 3 --ep_size 2",
         R"({"model": "m", "layout": {"tensor": 2, "pipeline": 3, "expert": 2, "expert_tensor": 1},
         "runtime": {"name": "tensorrt-llm"}})"},
        {"trtllm-serve --log_level -1 m --tp_size 2 --ep_size 1",
         R"({"model": "m", "layout": {"tensor": 2, "pipeline": 1}, "runtime": {"name": "tensorrt-llm"}})"},
        {"llama-server -m a.gguf -ngl 0 -fit off", R"({"model": "a.gguf", "runtime": {"name": "llama.cpp",
         "gpu_layers": 0}})"},
        {"llama-server -m a.gguf -ngl 1 --no-op-offload -fit off --no-mmap",
         R"({"model": "a.gguf", "runtime": {"name": "llama.cpp", "gpu_layers": 1, "no_op_offload": true,
         "no_mmap": true}})"},
        {"llama-server -m a.gguf -np 1 -c 4096 -fit off",
         R"({"model": "a.gguf", "context": 4096, "runtime": {"name": "llama.cpp"}})"},
        {"llama-server -m a.gguf -np 2 -c 4096 -fit off",
         R"({"model": "a.gguf", "batch": 2, "context": 2048, "runtime": {"name": "llama.cpp"}})"},
        {"llama-server -m a.gguf -fit off",
         R"({"model": "a.gguf", "cluster": {"gpus": 2}, "layout": {"pipeline": 2}, "runtime": {"name": "llama.cpp"}})",
         2},
        {"llama-server -m a.gguf -fit off", R"({"model": "a.gguf", "runtime": {"name": "llama.cpp"}})", 1},
        {"CUDA_VISIBLE_DEVICES=0 llama-server -m a.gguf -fit off",
         R"({"model": "a.gguf", "runtime": {"name": "llama.cpp"}})", 2},
        {"LLAMA_ARG_MLOCK=1 LLAMA_ARG_NO_SUCH=1 LLAMA_ARG_N_GPU_LAYERS=7 X_ARG_CTX_SIZE=9 llama-server -m a.gguf -fit "
         "off",
         R"({"model": "a.gguf", "runtime": {"name": "llama.cpp", "gpu_layers": 7}})"},
        {"CTX_SIZE=5 N_GPU_LAYERS=3 ARG_CTX_SIZE=4 llama-server -m a.gguf -fit off",
         R"({"model": "a.gguf", "runtime": {"name": "llama.cpp"}})"},
        {"ollama run m --draft d --think", R"({"model": "m", "runtime": {"name": "ollama", "draft": "d"}})"},
        {"OLLAMA_NUM_PARALLEL=1 OLLAMA_CONTEXT_LENGTH=9 ollama run m",
         R"({"model": "m", "context": 9, "runtime": {"name": "ollama"}})"},
    };
    for (const row& r : rows) {
        CAPTURE(r.line);
        CHECK(job(r.line, r.gpus) == json::parse(r.document));
    }
}

TEST_CASE("what a line says beside its document, word by word") {
    struct row {
        std::string_view line;
        std::vector<std::string> sentences;
    };
    const std::string drafted =
        "3 tokens at most are drafted for each step: --draft_tokens 3 --acceptance X counts them in the times";
    const row rows[] = {
        {"vllm serve m", {}},
        {"vllm serve m --speculative-config '{}'", {}},
        {"vllm serve m -sc '{\"num_speculative_tokens\": 3}'", {}},
        {"vllm serve m -sc '{\"method\": \"mtp\"}'", {}},
        {"vllm serve m -sc '{\"method\": \"mtp\", \"num_speculative_tokens\": 3}'", {drafted}},
        {"vllm serve m -sc '{\"method\": \"suffix\", \"num_speculative_tokens\": 3}'", {drafted}},
        {"vllm serve m -sc '{\"model\": \"[ngram]\", \"num_speculative_tokens\": 3}'", {drafted}},
        {"vllm serve m -sc '{\"model\": \"ngram\", \"num_speculative_tokens\": 3}'", {drafted}},
        {"vllm serve m -sc '{\"method\": \"medusa\", \"num_speculative_tokens\": 3}'",
         {"a draft head (medusa) takes memory that is not planned", drafted}},
        {"vllm serve m -sc '{\"model\": \"x-Eagle\"}'",
         {"a draft head (eagle, x-Eagle) takes memory that is not planned"}},
        {"vllm serve m --rope-scaling '{\"factor\": \"x\"}'", {}},
        {"vllm serve m --hf-overrides '{\"a\": 1, \"rope_parameters\": 3}'",
         {"the override of a is not planned", "the override of rope_parameters is not planned"}},
        {"sglang serve --model m --speculative-algorithm NEXTN --speculative-num-steps 3", {drafted}},
        {"sglang serve --model m --speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 "
         "--speculative-num-draft-tokens 4",
         {drafted}},
        {"sglang serve --model m --speculative-algorithm NGRAM --speculative-num-draft-tokens 4", {drafted}},
        {"sglang serve --model qwen3-8b --tp 4 --dp 2 --enable-dp-attention",
         {"attention on data ranks beside a dense feed-forward on tensor ranks is not planned"}},
        {"sglang serve --model qwen3-8b --tp 4 --enable-dp-attention", {}},
        {"sglang serve --model qwen3-8b --tp 4 --dp 2", {}},
        {"sglang serve --model qwen3-30b-a3b --tp 4 --dp 2 --enable-dp-attention", {}},
        {"llama-server -m a.gguf -ot 'blk.1.ffn_exps=CPU,ffn=CPU,exps=CUDA0'",
         {"--override-tensor blk.1.ffn_exps=CPU is not planned", "--override-tensor ffn=CPU is not planned",
          "--override-tensor exps=CUDA0 is not planned"}},
        {"llama-server -m a.gguf -sm tensor -dev CUDA0,CUDA1 -ts 3,1",
         {"parts of tensors that differ (--tensor-split) are not planned"}},
    };
    for (const row& r : rows) {
        CAPTURE(r.line);
        const auto read = served(r.line);
        REQUIRE(read);
        CHECK(json(read->notes) == json(r.sentences));
    }
}

TEST_CASE("degrees that do not fit together are refused with both, and words that no program has by their option") {
    struct row {
        std::string_view line, field, value, expected;
    };
    const row rows[] = {
        {"sglang serve --model m --tp 4 --ep 3", "--ep-size", "3", "a divisor of --tp-size, 4"},
        {"sglang serve --model m --tp 4 --dp 3 --enable-dp-attention", "--dp-size", "3", "a divisor of --tp-size, 4"},
        {"trtllm-serve m --tp_size 4 --ep_size 3", "--ep_size", "3", "a divisor of --tp_size, 4"},
        {"CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 3", "GPUs that are visible", "2",
         "as many as the options ask for, 3"},
        {"CUDA_VISIBLE_DEVICES=0 vllm serve m -tp 2", "GPUs that are visible", "1",
         "as many as the options ask for, 2"},
        {"CUDA_VISIBLE_DEVICES=0,1 vllm serve m -dp 3", "GPUs that are visible", "2",
         "as many as the options ask for, 3"},
        {"CUDA_VISIBLE_DEVICES=0,1,2 vllm serve m -tp 2 -pp 2 -dp 2 --nnodes 2", "GPUs that are visible", "3",
         "as many as the options ask for, 8"},
        {"CUDA_VISIBLE_DEVICES=0,1 sglang serve --model m --tp 2 --dp 2 --pp-size 2", "GPUs that are visible", "2",
         "as many as the options ask for, 8"},
        {"CUDA_VISIBLE_DEVICES=0,1 sglang serve --model m --tp 4 --dp 2 --enable-dp-attention", "GPUs that are visible",
         "2", "as many as the options ask for, 4"},
        {"CUDA_VISIBLE_DEVICES=0,1 trtllm-serve m --pp_size 3", "GPUs that are visible", "2",
         "as many as the options ask for, 3"},
        {"CUDA_VISIBLE_DEVICES=0,1,2,3 trtllm-serve m --tp_size 3 --pp_size 2", "GPUs that are visible", "4",
         "as many as the options ask for, 6"},
        {"vllm serve m --runner x", "--runner", "x", "one of auto generate pooling draft"},
        {"vllm serve m --task x", "--task", "x",
         "one of auto generate embed embedding classify score reward transcription draft"},
        {"vllm serve m --nnodes 0", ":nodes", "0", ""},
    };
    for (const row& r : rows) {
        CAPTURE(r.line);
        const error e = refusal_of(r.line);
        CHECK(e.field == r.field);
        CHECK(e.value == r.value);
        if (!r.expected.empty()) CHECK(e.expected == r.expected);
    }
    CHECK(refusal_of("llama-server -m a --ctx-siz 3").value == "--ctx-siz");
    CHECK(refusal_of("vllm serve m --dtype -tp 2").field == "--dtype");
    for (const char* taken : {"trtllm-serve m --log_level -x", "llama-server -m -x", "ollama run m --format -x"})
        CHECK(served(taken));
    for (const char* fits : {"CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 2", "CUDA_VISIBLE_DEVICES=0,1 vllm serve m",
                             "CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve m -tp 4 -pp 2 --nnodes 2",
                             "CUDA_VISIBLE_DEVICES=0,1,2,3 sglang serve --model m --tp 4 --dp 4 --enable-dp-attention"})
        CHECK(served(fits));
}
