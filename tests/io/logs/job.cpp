// SPDX-License-Identifier: MIT
// The job that a log describes, and what is observed of it: lines as the engines print them, with made-up figures.
#include <llmres/io/logs/job.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <llmres/io/job_json.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/plan.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace llmres;
using nlohmann::json;

namespace {

constexpr std::int64_t mebibyte = 1 << 20;

json document_of(const std::string& text) { return logs::job_document(logs::read_log(text).value()); }

/// A start of llama.cpp with lines of buffers.
std::string llama_log(const std::string& buffers, const std::string& file_type = "Q4_K - Medium") {
    return "build: 5000 (abcdef12) with cc for x86_64-linux-gnu\n"
           "llama_model_loader: loaded meta data with 29 key-value pairs\n"
           "print_info: file type   = " +
           file_type +
           "\n"
           "print_info: general.name     = Llama 3.1 8B Instruct\n" +
           buffers;
}

const std::string on_two_gpus =
    "load_tensors: offloaded 33/33 layers to GPU\n"
    "load_tensors:        CUDA0 model buffer size =  2000.00 MiB\n"
    "load_tensors:        CUDA1 model buffer size =  2300.00 MiB\n"
    "load_tensors:   CPU_Mapped model buffer size =   281.81 MiB\n"
    "llama_context: n_seq_max     = 4\n"
    "llama_context: n_ctx         = 8192\n"
    "llama_context: n_ubatch      = 512\n"
    "llama_context: flash_attn    = enabled\n"
    "llama_kv_cache:      CUDA0 KV buffer size =   500.00 MiB\n"
    "llama_kv_cache:      CUDA1 KV buffer size =   524.00 MiB\n"
    "llama_context:      CUDA0 compute buffer size =   560.00 MiB\n"
    "llama_context:      CUDA1 compute buffer size =   258.00 MiB\n"
    "llama_context:  CUDA_Host compute buffer size =   900.00 MiB\n";

/// A start of vLLM on two GPUs in each of two stages.
std::string vllm_log(const std::string& engine = "V1", const std::string& cache = "auto") {
    return "INFO vLLM API server version 0.9.2\n"
           "INFO Initializing a " +
           engine +
           " LLM engine (v0.9.2) with config: model='meta-llama/Llama-3.1-8B-Instruct', max_seq_len=8192, "
           "tensor_parallel_size=2, pipeline_parallel_size=2, quantization=None, enforce_eager=False, "
           "kv_cache_dtype=" +
           cache +
           "\n"
           "INFO non-default args: {'max_num_seqs': 64, 'max_num_batched_tokens': 4096, "
           "'gpu_memory_utilization': 0.85}\n";
}

/// Figures of a log as they are observed of a runtime: the figure's name and MiB.
std::vector<std::pair<observed_figure, std::int64_t>> observed(const std::string& text, const runtime& r) {
    std::vector<std::pair<observed_figure, std::int64_t>> all;
    for (const logs::line_observation& o : logs::observations_of(logs::read_log(text).value(), r))
        all.emplace_back(o.seen.what, o.seen.size.in(bytes) / mebibyte);
    return all;
}

/// What is observed of a figure in a log under a runtime.
logs::line_observation observation_of(const std::string& text, const runtime& r, observed_figure what) {
    for (const logs::line_observation& o : logs::observations_of(logs::read_log(text).value(), r))
        if (o.seen.what == what) return o;
    FAIL("nothing is observed of it");
    return {};
}

/// Who refuses a log of an engine under a runtime, or "".
std::string refusal_of(const std::string& engine, const runtime& r) {
    const status s = logs::is_log_of(logs::engine_log{.engine = engine, .figures = {}, .names = {}, .lines = 1}, r);
    return s ? "" : std::string{s.error().value.view()} + ", not " + std::string{s.error().expected.view()};
}

}  // namespace

TEST_CASE("the batch of a device that Trainer prints is the job's micro-batch") {
    const std::string start = "***** Running training *****\n  Num examples = 14,732\n";
    const std::string batch = "  Instantaneous batch size per device = 8\n";
    const std::string end = "{'train_runtime': 143.67, 'train_mem_gpu_alloc_delta': 126487040}\n";
    CHECK(document_of(start + batch + end)["micro_batch"] == 8);
    CHECK_FALSE(document_of(start + end).contains("micro_batch"));
}

TEST_CASE("a start of llama.cpp is a job on as many GPUs as hold weights, in stages") {
    const json document = document_of(llama_log(on_two_gpus));
    CHECK(document["model"] == "Llama-3.1-8B-Instruct");
    CHECK(document["task"] == "serving");
    CHECK(document["runtime"] == json{{"name", "llama.cpp@5000"},
                                      {"ubatch_size", 512},
                                      {"parallel", 4},
                                      {"n_gpu_layers", 33},
                                      {"flash_attn", true}});
    CHECK(document["context"] == 8192);
    CHECK(document["weights"] == "q4_k_m");
    CHECK(document["layout"] == json{{"tensor", 1}, {"pipeline", 2}});
    CHECK(document["cluster"] == json{{"gpus", 2}});
}

TEST_CASE("a start of llama.cpp whose weights are all with the host is a job on the CPU") {
    const json document =
        document_of(llama_log("load_tensors:   CPU_Mapped model buffer size =  4685.30 MiB\n"
                              "llama_context: flash_attn    = disabled\n"));
    CHECK(document["cluster"] == json{{"gpu", "cpu"}});
    CHECK(document["layout"] == json{{"tensor", 1}, {"pipeline", 1}});
    CHECK(document["runtime"]["flash_attn"] == false);
    // Memory that a GPU's driver pins is the host's as well, and so is what BLAS works in.
    for (const char* device : {"CUDA_Host", "BLAS", "CPU"})
        CHECK(document_of(llama_log("load_tensors:   " + std::string{device} +
                                    " model buffer size = 4.00 MiB\n"))["cluster"] == json{{"gpu", "cpu"}});
    // A log without weights says nothing of where they are.
    CHECK_FALSE(document_of(llama_log("llama_context: n_ctx         = 4096\n")).contains("cluster"));
}

TEST_CASE("the file types that llama.cpp prints are formats that a job may have") {
    // llama_model_ftype_name of llama.cpp (src/llama-model-loader.cpp), and what older builds put around its names.
    for (const auto& [printed, format] :
         std::initializer_list<std::pair<const char*, const char*>>{{"all F32", "fp32"},
                                                                    {"F16", "fp16"},
                                                                    {"mostly Q4_0", "q4_0"},
                                                                    {"Q8_0 (guessed)", "q8_0"},
                                                                    {"(guessed) Q8_0", "q8_0"},
                                                                    {"all F32 (guessed)", "fp32"},
                                                                    {"MXFP4 MoE", "mxfp4_moe"},
                                                                    {"Q2_K - Medium", "q2_k"},
                                                                    {"Q2_K - Small", "q2_k_s"},
                                                                    {"Q3_K - Large", "q3_k_l"},
                                                                    {"Q5_K - Medium", "q5_k_m"},
                                                                    {"TQ1_0 - 1.69 bpw ternary", "tq1_0"},
                                                                    {"IQ1_M - 1.75 bpw", "iq1_m"},
                                                                    {"IQ2_XXS - 2.0625 bpw", "iq2_xxs"},
                                                                    {"IQ3_XS - 3.3 bpw", "iq3_xs"},
                                                                    {"IQ3_S - 3.4375 bpw", "iq3_s"},
                                                                    {"IQ3_S mix - 3.66 bpw", "iq3_m"},
                                                                    {"IQ4_NL - 4.5 bpw", "iq4_nl"}}) {
        CAPTURE(printed);
        CHECK(document_of(llama_log("", printed))["weights"] == format);
        CHECK(find_gguf_mix("weights", format));
    }
    CHECK_FALSE(
        document_of("llama_model_loader: loaded meta data\nllama_context: n_ctx         = 4096\n").contains("weights"));
}

TEST_CASE("a start of vLLM gives the knobs under vLLM's names, and its layout") {
    const json document = document_of(vllm_log("V1", "fp8"));
    CHECK(document["runtime"] == json{{"name", "vllm@0.9.2"},
                                      {"gpu_memory_utilization", 0.85},
                                      {"max_num_seqs", 64},
                                      {"max_num_batched_tokens", 4096}});
    CHECK(document["kv_cache"] == "fp8_e4m3");
    CHECK(document_of(vllm_log("V1", "fp8_e5m2"))["kv_cache"] == "fp8_e5m2");
    CHECK_FALSE(document_of(vllm_log()).contains("kv_cache"));
    CHECK(document["layout"] == json{{"tensor", 2}, {"pipeline", 2}});
    CHECK(document["cluster"] == json{{"gpus", 4}});
    // Both engines of one version are different runtimes.
    CHECK(document_of(vllm_log("V0"))["runtime"]["name"] == "vllm@0.9.2 V0");
}

TEST_CASE("a start of SGLang gives the knobs under SGLang's names") {
    const auto args = [](const std::string& graphs) {
        return document_of(
            "server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tp_size=1, pp_size=1, mem_fraction_static=0.88, "
            "quantization=None, kv_cache_dtype='auto', disable_cuda_graph=" +
            graphs +
            ")\n"
            "max_total_num_tokens=100000, chunked_prefill_size=8192, max_running_requests=256, context_len=32768\n");
    };
    CHECK(args("True")["runtime"] == json{{"name", "sglang"},
                                          {"gpu_memory_utilization", 0.88},
                                          {"chunked_prefill_size", 8192},
                                          {"disable_cuda_graph", true}});
    CHECK_FALSE(args("False")["runtime"].contains("disable_cuda_graph"));
    CHECK(args("False")["context"] == 32768);
}

TEST_CASE("a log names its GPU by a name that is known, or by its memory") {
    const auto titan = [](const std::string& gpu) {
        return document_of("[titan] Starting job: llama3 8B\n[titan] " + gpu);
    };
    const std::string known = "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory\n";
    REQUIRE(find_gpu("NVIDIA H100 80GB HBM3"));
    CHECK(titan(known)["cluster"] == json{{"gpu", "NVIDIA H100 80GB HBM3"}});
    CHECK_FALSE(titan("CUDA capacity: Some New Card with 79.10GiB memory\n").contains("cluster"));
    const json document = document_of(vllm_log() +
                                      "INFO Free memory on device (78.58/80.00 GiB) on startup. Desired GPU memory "
                                      "utilization is (0.85, 68.0 GiB).\n");
    CHECK(document["cluster"]["gpu_memory"] == std::int64_t{80} << 30);
    // Of a size that no memory has, nothing is taken.
    CHECK_FALSE(document_of(vllm_log() +
                            "INFO Free memory on device (78.58/80000000.00 GiB) on startup. Desired GPU memory "
                            "utilization is (0.85, 68.0 GiB).\n")["cluster"]
                    .contains("gpu_memory"));
}

TEST_CASE("logs of training say no serving task, and those of PyTorch and nvidia-smi no runtime") {
    for (const auto& [text, runtime] : std::initializer_list<std::pair<const char*, const char*>>{
             {"DeepSpeed info: version=0.15.1, git-hash=unknown\nMax_MA 5.00 GB Max_CA 6 GB\n", "deepspeed"},
             {"using world size: 8\ntensor-model-parallel size: 2\n| max allocated: 100.0\n", "megatron"},
             {"[titan] Starting job: llama3 8B\nmemory usage for model: 3.77GiB(3.97%)\n", "torchtitan"}}) {
        const json document = document_of(text);
        CAPTURE(document.dump());
        CHECK_FALSE(document.contains("task"));
        CHECK_FALSE(document.contains("layout"));
        CHECK(document["runtime"]["name"] == runtime);
    }
    CHECK(document_of("{'allocated_bytes.all.peak': 1000, 'reserved_bytes.all.peak': 2000}\n").empty());
    CHECK(document_of("memory.used [MiB], memory.total [MiB]\n500 MiB, 81559 MiB\n").empty());
}

TEST_CASE("numbers that no job has are not taken over") {
    const json document = document_of(
        "INFO vLLM API server version 0.0.0\n"
        "INFO Initializing a V1 LLM engine (v0.0.0) with config: model='m', max_seq_len=0, tensor_parallel_size=0, "
        "pipeline_parallel_size=4000000000, quantization=None\n"
        "INFO args: {'max_num_seqs': -1, 'max_num_batched_tokens': 4000000000}\n");
    CHECK(document["runtime"] == json{{"name", "vllm"}});
    CHECK(document["layout"] == json{{"tensor", 1}, {"pipeline", 1}});
    CHECK(document["context"] == 0);  // for the reader of jobs to refuse by its name
    for (const auto& [printed, context] : std::initializer_list<std::pair<const char*, std::int64_t>>{
             {"1", 1}, {"2", 2}, {"999999999", 999999999}, {"1000000000", 0}})
        CHECK(document_of("LLM engine (v0.9.2) with config: model='m', max_seq_len=" + std::string{printed} +
                          "\n")["context"] == context);
}

TEST_CASE("what is said of a job goes before what its log says, and keeps the rest") {
    const json from_log = document_of(vllm_log());
    const json same = logs::joined_document(from_log, {{"runtime", "vllm"}, {"context", 1024}});
    CHECK(same["runtime"]["name"] == "vllm");
    CHECK(same["runtime"]["max_num_seqs"] == 64);
    CHECK(same["context"] == 1024);
    CHECK(same["layout"] == from_log["layout"]);
    // Another engine's knobs mean nothing to the runtime that is said.
    CHECK(logs::joined_document(from_log, {{"runtime", {{"name", "sglang"}}}})["runtime"] == json{{"name", "sglang"}});
    // A runtime that the library does not know keeps them: it may be the engine that printed the log.
    CHECK(logs::joined_document(from_log, {{"runtime", "a fork"}})["runtime"]["max_num_seqs"] == 64);
    // A profile of the user's own says its name by itself.
    const json own = logs::joined_document(from_log, {{"runtime", {{"from", {{"name", "mine"}}}}}});
    CHECK_FALSE(own["runtime"].contains("name"));
    CHECK(own["runtime"]["max_num_seqs"] == 64);
    CHECK(logs::joined_document(from_log, {{"runtime", {{"max_num_seqs", 8}}}})["runtime"]["name"] == "vllm@0.9.2");
    // Ollama is one of llama.cpp's relatives: what llama.cpp printed holds for it.
    CHECK(logs::joined_document(document_of(llama_log(on_two_gpus)), {{"runtime", "ollama"}})["runtime"]["parallel"] ==
          4);
    CHECK_FALSE(logs::joined_document(document_of(llama_log(on_two_gpus)), {{"runtime", "vllm"}})["runtime"].contains(
        "parallel"));
}

TEST_CASE("a GPU that is said takes the place of the one that a log names") {
    const std::string measured =
        "INFO Free memory on device (78.58/80.00 GiB) on startup. Desired GPU memory utilization is (0.85, 68.0 "
        "GiB).\n";
    const json from_log = document_of(vllm_log() + measured);
    REQUIRE(from_log["cluster"].contains("gpu_memory"));
    const json by_name = logs::joined_document(from_log, {{"cluster", {{"gpu", "h100-sxm"}}}});
    CHECK(by_name["cluster"]["gpu_memory"] == std::int64_t{80} << 30);  // what this one has
    CHECK(by_name["cluster"]["gpu"] == "h100-sxm");
    const json described = logs::joined_document(from_log, {{"cluster", {{"device", {{"memory", "96 GiB"}}}}}});
    CHECK_FALSE(described["cluster"].contains("gpu_memory"));
    CHECK(described["cluster"]["gpus"] == 4);
    CHECK(logs::joined_document(from_log, {{"cluster", {{"gpus", 8}}}})["cluster"]["gpu_memory"] == std::int64_t{80}
                                                                                                        << 30);
    // A log of no engine and no GPU takes what is said as it is.
    const json none = document_of("memory.used [MiB], memory.total [MiB]\n500 MiB, 81559 MiB\n");
    const json said = {{"model", "m"}, {"cluster", {{"gpu", "a100"}}}};
    CHECK(logs::joined_document(none, said) == said);
    CHECK(logs::joined_document(none, {{"runtime", {{"name", "vllm"}}}})["runtime"] == json{{"name", "vllm"}});
    CHECK(logs::joined_document(none, {{"runtime", {{"from", "mine"}}}})["runtime"] == json{{"from", "mine"}});
}

TEST_CASE("documents of other types are left for the reader of jobs to refuse") {
    const json from_log = document_of(vllm_log());
    CHECK(logs::joined_document(from_log, {{"runtime", 7}})["runtime"] == 7);
    CHECK(logs::joined_document(from_log, {{"runtime", {{"name", 7}}}})["runtime"]["name"] == 7);
    CHECK(logs::joined_document(from_log, {{"cluster", 7}})["cluster"] == 7);
}

TEST_CASE("of GPUs in stages the sum is observed of weights and caches, and the largest compute buffer") {
    using enum observed_figure;
    const std::string text = llama_log(on_two_gpus);
    CHECK(observed(text, runtimes::llama_cpp) == std::vector<std::pair<observed_figure, std::int64_t>>{
                                                     {weights, 4300}, {kv_cache, 1024}, {compute_buffer, 560}});
    const std::string on_host =
        "load_tensors:   CPU_Mapped model buffer size =  4685.00 MiB\n"
        "llama_kv_cache:        CPU KV buffer size =  1024.00 MiB\n"
        "llama_context:        CPU compute buffer size =   560.00 MiB\n";
    CHECK(observed(llama_log(on_host), runtimes::llama_cpp) ==
          std::vector<std::pair<observed_figure, std::int64_t>>{
              {weights, 4685}, {kv_cache, 1024}, {compute_buffer, 560}});
    // Old builds name no device beside the cache.
    CHECK(observed("llama_model_loader: loaded meta data\nllama_new_context_with_model: kv self size  = 1024.00 MiB\n",
                   runtimes::llama_cpp) == std::vector<std::pair<observed_figure, std::int64_t>>{{kv_cache, 1024}});
}

TEST_CASE("of ranks the largest weights and the smallest pool are observed") {
    using enum observed_figure;
    const auto ranks = [](const std::string& first, const std::string& second) {
        std::string text = vllm_log();
        for (const auto& [rank, sizes] : {std::pair{"0", first}, std::pair{"1", second}})
            text += std::string{"(Worker_TP"} + rank + " pid=7" + rank + ") INFO Model loading took " + sizes +
                    " GiB and 2.0 seconds\n(Worker_TP" + rank + " pid=7" + rank +
                    ") INFO Available KV cache memory: " + sizes + " GiB\n";
        return observed(text, runtimes::vllm);
    };
    const std::vector<std::pair<observed_figure, std::int64_t>> both{{weights, 5 * 1024}, {pool, 4 * 1024}};
    CHECK(ranks("5.00", "4.00") == both);
    CHECK(ranks("4.00", "5.00") == both);
    // Sizes that no memory has are none.
    CHECK(ranks("4.00", "9999999.00") ==
          std::vector<std::pair<observed_figure, std::int64_t>>{{weights, 4 * 1024}, {pool, 4 * 1024}});
    CHECK(ranks("-1.00", "4.00") ==
          std::vector<std::pair<observed_figure, std::int64_t>>{{weights, 4 * 1024}, {pool, 4 * 1024}});
}

TEST_CASE("each size that an engine prints is observed as what it is") {
    using enum observed_figure;
    using figures = std::vector<std::pair<observed_figure, std::int64_t>>;  // MiB
    CHECK(observed(vllm_log() +
                       "Model loading took 15.00 GiB memory and 4.6 seconds\n"
                       "Graph capturing finished in 4 secs, took 0.25 GiB\n"
                       "Actual usage is 15.0 GiB for weight, 1.25 GiB for peak activation, 0.50 GiB for non-torch "
                       "memory, and 0.25 GiB for CUDAGraph memory. Current kv cache memory in use is 54.25 GiB.\n",
                   runtimes::vllm) ==
          figures{{weights, 15360}, {pool, 55552}, {activation_peak, 1280}, {beside_tensors, 512}, {cuda_graphs, 256}});
    CHECK(observed("{'allocated_bytes.all.peak': 1073741824, 'reserved_bytes.all.peak': 2147483648}\n",
                   runtimes::pytorch) == figures{{allocated, 1024}, {reserved, 2048}});
    CHECK(observed("MA 4.0 GB Max_MA 5.00 GB CA 6.0 GB Max_CA 6 GB\n", runtimes::deepspeed) ==
          figures{{allocated, 5120}, {reserved, 6144}});
    CHECK(observed("[Rank 0] (after 1 iterations) memory (MB) | allocated: 90.0 | max allocated: 100.5 | reserved: "
                   "150.0 | max reserved: 200.0\n",
                   runtimes::megatron) == figures{{allocated, 100}, {reserved, 200}});
    CHECK(observed("[titan] memory usage for model: 3.75GiB(3.97%)\n"
                   "[titan] step:  1  loss:  8.1  memory:  9.50GiB(10.00%)  tps: 7,000\n",
                   runtimes::torchtitan) == figures{{weights, 3840}, {reserved, 9728}});
    CHECK(observed("memory.used [MiB], memory.total [MiB]\n500 MiB, 81559 MiB\n", runtimes::vllm) ==
          figures{{device_used, 500}});
    CHECK(observed("[TensorRT-LLM][INFO] Loaded engine size: 15317 MiB\n"
                   "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 760.00 MiB for execution context memory.\n"
                   "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 50.00 GiB for max tokens in paged KV cache "
                   "(409600).\n",
                   runtimes::tensorrt_llm) == figures{{weights, 15317}, {pool, 51200}, {activation_peak, 760}});
}

TEST_CASE("what is observed is known to half of the last digit, and of a sum to as much of each part") {
    using enum observed_figure;
    // 14.9889 GiB, and half of 0.0001 GiB.
    const auto weights_of = observation_of("Model loading took 14.9889 GiB\nAvailable KV cache memory: 5.00 GiB\n",
                                           runtimes::vllm, weights);
    CHECK(weights_of.seen.size == bytes(16094208826));
    CHECK(weights_of.seen.printed_to == bytes(53687));
    CHECK(weights_of.line == 1);
    CHECK(weights_of.contradicted == 0);
    // 2000.00 and 2300.00 MiB, and twice half of 0.01 MiB.
    const auto sum = observation_of(llama_log(on_two_gpus), runtimes::llama_cpp, weights);
    CHECK(sum.seen.size == bytes(4300 * mebibyte));
    CHECK(sum.seen.printed_to == bytes(10486));
    // 1 byte is one byte.
    CHECK(observation_of("{'allocated_bytes.all.peak': 1}\n", runtimes::pytorch, allocated).seen.size == bytes(1));
    CHECK(observation_of("{'allocated_bytes.all.peak': 1}\n", runtimes::pytorch, allocated).seen.printed_to ==
          bytes(0));
}

TEST_CASE("of ranks that print the same the first one's line is named, and a contradiction in any part of a sum") {
    using enum observed_figure;
    const std::string ranks =
        "(Worker_TP0 pid=1) INFO Model loading took 5.00 GiB\n"
        "(Worker_TP1 pid=2) INFO Model loading took 5.00 GiB\n"
        "(Worker_TP0 pid=1) INFO Available KV cache memory: 4.00 GiB\n"
        "(Worker_TP1 pid=2) INFO Available KV cache memory: 4.00 GiB\n";
    CHECK(observation_of(ranks, runtimes::vllm, weights).line == 1);
    CHECK(observation_of(ranks, runtimes::vllm, pool).line == 3);
    // Builds of llama.cpp before October 2024 print each device's weights once.
    const auto old_build = [](const std::string& again) {
        return observation_of(
            "llama_model_loader: loaded meta data\n"
            "llm_load_tensors:      CUDA0 buffer size =  2000.00 MiB\n" +
                again + "llm_load_tensors:      CUDA1 buffer size =  2300.00 MiB\n",
            runtimes::llama_cpp, weights);
    };
    CHECK(old_build("").contradicted == 0);
    CHECK(old_build("llm_load_tensors:      CUDA0 buffer size =  2100.00 MiB\n").contradicted == 3);
}

TEST_CASE("a log is one of the runtime that printed it, of its relatives, or of any") {
    for (const char* any : {"pytorch", "deepspeed", "nvidia-smi"}) CHECK(refusal_of(any, runtimes::vllm).empty());
    CHECK(refusal_of("vllm", runtimes::vllm).empty());
    CHECK(refusal_of("llama.cpp", runtimes::ollama).empty());
    CHECK(refusal_of("ollama", runtimes::llama_cpp).empty());
    CHECK(refusal_of("megatron", runtimes::megatron_deepspeed).empty());
    CHECK(refusal_of("llama.cpp", runtimes::vllm) == "a log of llama.cpp, not one of vllm, which the job's runtime is");
    CHECK(refusal_of("vllm", runtimes::llama_cpp) == "a log of vllm, not one of llama.cpp, which the job's runtime is");
    CHECK(refusal_of("an unknown tool", runtimes::vllm) ==
          "a log of an unknown tool, not one of vllm, which the job's runtime is");
    CHECK(logs::scope_of("an unknown tool").size == 0);
    CHECK(refusal_of("megatron", runtimes::vllm) == "a log of megatron, not one of vllm, which the job's runtime is");
}

TEST_CASE("an activation peak that has the expected graphs in it is observed without them, where they are known") {
    const auto peak_of = [](const std::string& more) {
        const logs::engine_log log =
            logs::read_log("Initializing a V1 LLM engine (v0.33.0) with config: model='m'\n" + more +
                           "Desired GPU memory utilization is (0.9, 71.27 GiB). Actual usage is 15.51 GiB for consumed "
                           "memory (weights + non-torch), 1.50 GiB for peak activation, and " +
                           (more.empty() ? "0.0" : "0.33") + " GiB for CUDAGraph memory.\n")
                .value();
        for (const logs::line_observation& o : logs::observations_of(log, runtimes::vllm))
            if (o.seen.what == observed_figure::activation_peak) return o.seen.size;
        return byte_count{};
    };
    CHECK(peak_of("Estimated CUDA graph memory: 0.50 GiB total\n") == gib(1));
    CHECK(peak_of("CUDA graph pool memory: 0.33 GiB (actual), 0.50 GiB (estimated)\n") == gib(1));
    CHECK(peak_of("Graph capturing finished in 4 secs, took 0.33 GiB\n") == byte_count{});
    CHECK(peak_of("") == mib(1536));  // without graphs there is nothing to deduct
}
