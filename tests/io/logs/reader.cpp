// SPDX-License-Identifier: MIT
// Logs of engines: tests/data/logs/rows.log holds one for each of many measured rows, in the engines' formats
// (make_logs.py), and expected.jsonl what a reader must find in them.
#include <llmres/io/logs/reader.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace llmres;
using logs::quantity;

namespace {

constexpr double one_gib = 1073741824.0;
constexpr double one_mib = 1048576.0;

/// The logs of a file of tests/data/logs by their names.
std::map<std::string, std::string> written_logs(const std::string& file = "rows.log") {
    std::ifstream in{LLMRES_SOURCE_DIR "/tests/data/logs/" + file};
    REQUIRE(in);
    std::map<std::string, std::string> all;
    std::string id;
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("==== "))
            id = line.substr(5);
        else
            all[id] += line + "\n";
    return all;
}

/// A figure by its name, "weights", or with the device it is on: "weights@CUDA0".
const logs::figure* figure_of(const logs::engine_log& log, const std::string& key) {
    const std::size_t at = key.find('@');
    for (const logs::figure& f : log.figures)
        if (name_of(f.what) == key.substr(0, at) && (at == key.npos || f.device == key.substr(at + 1))) return &f;
    return nullptr;
}

quantity quantity_of(const std::string& written) {
    for (std::size_t i = 0; i < logs::quantity_names.size(); ++i)
        if (logs::quantity_names[i] == written) return static_cast<quantity>(i);
    FAIL(written);
    return {};
}

std::string refusal_of(std::string_view text) {
    const result<logs::engine_log> read = logs::read_log(text);
    return read ? "read" : std::string{read.error().value.view()};
}

double value_of(const logs::engine_log& log, quantity what) {
    const logs::figure* f = log.find(what);
    return f != nullptr ? f->value : -1;
}

}  // namespace

namespace {

/// Reads the logs of a file, and holds what is read of each against a line of another. Returns how many there are, and
/// of how many engines.
std::pair<int, std::size_t> check_written(const std::string& file, const std::string& expectations) {
    const auto texts = written_logs(file);
    std::ifstream in{LLMRES_SOURCE_DIR "/tests/data/logs/" + expectations};
    REQUIRE(in);
    std::set<std::string> engines;
    int read_logs = 0;
    for (std::string line; std::getline(in, line); ++read_logs) {
        const nlohmann::json expected = nlohmann::json::parse(line);
        CAPTURE(expected.at("id").get<std::string>());
        const logs::engine_log log = logs::read_log(texts.at(expected.at("id"))).value();
        CHECK(log.engine == expected.at("engine").get<std::string>());
        CHECK(log.ran_out() == (expected.value("outcome", "ran") == "out_of_memory"));
        engines.insert(log.engine);
        for (const auto& [key, value] : expected.at("figures").items()) {
            CAPTURE(key);
            const logs::figure* f = figure_of(log, key);
            REQUIRE(f != nullptr);
            CAPTURE(f->value);
            CHECK(std::fabs(f->value - value[0].get<double>()) <= value[1].get<double>());  // one of the last place
            CHECK(f->contradicted == 0);
        }
        for (const auto& [key, text] : expected.at("names").items())
            CHECK(log.text_of(quantity_of(key)) == text.get<std::string>());
    }
    CHECK(static_cast<int>(texts.size()) == read_logs);
    return {read_logs, engines.size()};
}

}  // namespace

TEST_CASE("an allocation that failed is none that a job ended with where llama.cpp goes on without pipelines") {
    const std::string failed =
        "build: 7205 (abc1234) with cc for x86_64-linux-gnu\n"
        "load_tensors:        CUDA0 model buffer size =  4403.49 MiB\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048.00 MiB on device 0: cudaMalloc failed: out of "
        "memory\n"
        "ggml_gallocr_reserve_n_impl: failed to allocate CUDA0 buffer of size 2147483648\n";
    CHECK(logs::read_log(failed)->ran_out());
    const std::string recovered =
        failed + "sched_reserve: compute buffer allocation failed, retrying without pipeline parallelism\n" +
        "sched_reserve:      CUDA0 compute buffer size =   512.00 MiB\n";
    CHECK_FALSE(logs::read_log(recovered)->ran_out());
    CHECK(logs::read_log(recovered)->largest(quantity::weights)->value == doctest::Approx(4403.49 * one_mib));
    CHECK(logs::read_log(recovered + failed)->ran_out());
}

TEST_CASE("the log of every row gives the row's figures, whatever engine printed it") {
    const auto [read_logs, engines] = check_written("rows.log", "expected.jsonl");
    CHECK(read_logs >= 60);
    CHECK(engines >= 8);
}

// The lines of pasted.log are in the formats of the engines' sources, as the comments of their tables name them, and of
// logs that people published (llama.cpp's tables, LM Studio); what was not published is made up, and consistent.
TEST_CASE("logs as people paste them give pools, weights, buffers, and whether memory ran out") {
    const auto [read_logs, engines] = check_written("pasted.log", "pasted.jsonl");
    CHECK(read_logs >= 50);
    CHECK(engines >= 13);
}

TEST_CASE("a log is the same whatever the pieces in which it arrives") {
    const std::string text = written_logs().begin()->second;
    const logs::engine_log whole = logs::read_log(text).value();
    for (const std::size_t piece : {1u, 7u, 100u}) {
        logs::reader r;
        for (std::size_t at = 0; at < text.size(); at += piece) r.feed(std::string_view{text}.substr(at, piece));
        const logs::engine_log read = r.finish().value();
        REQUIRE(read.figures.size() == whole.figures.size());
        CHECK(read.lines == whole.lines);
        for (std::size_t i = 0; i < read.figures.size(); ++i) {
            CHECK(read.figures[i].value == whole.figures[i].value);
            CHECK(read.figures[i].line == whole.figures[i].line);
        }
    }
}

TEST_CASE("a figure says in which line it stands") {
    const logs::engine_log log =
        logs::read_log("noise\n\nINFO [gpu_worker.py:227] Available KV cache memory: 54.61 GiB\r\n").value();
    CHECK(log.find(quantity::pool)->line == 3);
    CHECK(log.find(quantity::pool)->printed_to == doctest::Approx(0.005 * one_gib));
}

TEST_CASE("what people type is no figure") {
    const std::string words = "Available KV cache memory: 9999.00 GiB";
    const logs::engine_log log = logs::read_log(
                                     "INFO Available KV cache memory: 5.00 GiB\n"
                                     "INFO Received request a: prompt: '" +
                                     words +
                                     "', params\n"
                                     "{\"messages\": [{\"content\": \"" +
                                     words + "\"}]}\n")
                                     .value();
    CHECK(value_of(log, quantity::pool) == 5 * one_gib);
    CHECK(log.find(quantity::pool)->contradicted == 0);
    // A name is letters, digits and a few marks: a sentence is none.
    CHECK(logs::read_log("INFO LLM engine (v0.9.2) with config: model='tell me; a secret?', x\n"
                         "Available KV cache memory: 5.00 GiB\n")
              .value()
              .text_of(quantity::model)
              .empty());
}

TEST_CASE("ranks that print at once are told apart, and a second value of one rank is named") {
    const logs::engine_log log = logs::read_log(
                                     "(Worker_TP0 pid=1) INFO Available KV cache memory: 5.00 GiB\n"
                                     "(Worker_TP1 pid=2) INFO Available KV cache memory: 4.00 GiB\n"
                                     "(Worker_TP1 pid=2) INFO Available KV cache memory: 6.00 GiB\n")
                                     .value();
    CHECK(log.smallest(quantity::pool)->value == 4 * one_gib);
    CHECK(log.largest(quantity::pool)->value == 5 * one_gib);
    CHECK(log.largest(quantity::pool)->contradicted == 0);
    CHECK(log.smallest(quantity::pool)->contradicted == 3);
}

TEST_CASE("the last start of a log counts, and a log that ends early gives what it has") {
    const logs::engine_log log = logs::read_log(
                                     "vLLM API server version 0.9.1\n"
                                     "Model loading took 14.9889 GiB and 2.0 seconds\n"
                                     "Available KV cache memory: 5.00 GiB\n"
                                     "vLLM API server version 0.9.1\n"
                                     "Model loading took 7.5000 GiB and 2.0 sec")
                                     .value();
    CHECK(value_of(log, quantity::weights) == 7.5 * one_gib);
    CHECK(log.find(quantity::pool) == nullptr);
}

TEST_CASE("Ollama's log holds llama.cpp's, and is Ollama's") {
    // The figures of this log are made up; its lines are those of llm/server.go and ml/device.go.
    const logs::engine_log log =
        logs::read_log(
            "time=2025-10-01T10:00:00Z level=INFO source=routes.go:1534 msg=\"Listening on 127.0.0.1:11434 "
            "(version 0.12.3)\"\n"
            "time=2025-10-01T10:00:01Z level=INFO source=device.go:212 msg=\"model weights\" device=CUDA0 "
            "size=\"4.5 GiB\"\n"
            "time=2025-10-01T10:00:01Z level=INFO source=device.go:223 msg=\"kv cache\" device=CUDA0 "
            "size=\"512.0 MiB\"\n"
            "time=2025-10-01T10:00:01Z level=INFO source=device.go:234 msg=\"compute graph\" device=CUDA0 "
            "size=\"256.5 MiB\"\n"
            "time=2025-10-01T10:00:01Z level=INFO source=device.go:218 msg=\"model weights\" device=CPU "
            "size=\"300.0 MiB\"\n"
            "llama_context:      CUDA0 compute buffer size =   258.50 MiB\n")
            .value();
    CHECK(log.engine == "ollama");
    CHECK(log.text_of(quantity::version) == "0.12.3");
    CHECK(figure_of(log, "weights@CUDA0")->value == 4.5 * one_gib);
    CHECK(figure_of(log, "weights@CPU")->value == 300 * one_mib);
    CHECK(value_of(log, quantity::kv_cache) == 512 * one_mib);
    CHECK(figure_of(log, "compute_buffer@CUDA0")->value == 258.5 * one_mib);
}

TEST_CASE("llama.cpp prints a cache for windowed layers apart from the others") {
    const logs::engine_log log = logs::read_log(
                                     "llama_model_loader: loaded meta data with 18 key-value pairs\n"
                                     "llama_context: flash_attn    = disabled\n"
                                     "llama_kv_cache:        CPU KV buffer size =     2.00 MiB\n"
                                     "llama_kv_cache:        CPU KV buffer size =    12.00 MiB\n")
                                     .value();
    CHECK(figure_of(log, "kv_cache@CPU")->value == 14 * one_mib);
    CHECK(figure_of(log, "kv_cache@CPU")->contradicted == 0);
    CHECK(value_of(log, quantity::flash_attention) == 0);
}

TEST_CASE("text-generation-inference and LMDeploy print blocks") {
    // Made-up figures in the lines of launcher/src/main.rs, flash_causal_lm.py and BlockManager.cc.
    const logs::engine_log tgi =
        logs::read_log(
            "2025-01-01T10:00:00.000000Z  INFO text_generation_launcher: Args {\n"
            "    model_id: \"mistralai/Mistral-7B-v0.1\",\n    num_shard: Some(\n        2,\n    ),\n"
            "2025-01-01T10:00:09.000000Z  INFO text_generation_launcher: KV-cache blocks: 26535, size: 1\n")
            .value();
    CHECK(tgi.engine == "tgi");
    CHECK(tgi.text_of(quantity::model) == "mistralai/Mistral-7B-v0.1");
    CHECK(value_of(tgi, quantity::pool_blocks) == 26535);
    CHECK(value_of(tgi, quantity::block) == 1);
    CHECK(value_of(tgi, quantity::tensor) == 2);
    CHECK(tgi.find(quantity::tensor)->line == 4);
    const logs::engine_log lmdeploy =
        logs::read_log(
            "2025-01-01 10:00:00,000 - lmdeploy - INFO - TurbomindEngineConfig(dtype='auto', tp=1, "
            "session_len=8192, max_batch_size=128, cache_max_entry_count=0.8, cache_block_seq_len=64)\n"
            "[TM][INFO] [BlockManager] block_size = 8.000 MB\n[TM][INFO] [BlockManager] max_block_count = 4207\n")
            .value();
    CHECK(lmdeploy.engine == "lmdeploy");
    CHECK(value_of(lmdeploy, quantity::pool_blocks) == 4207);
    CHECK(value_of(lmdeploy, quantity::fraction) == 0.8);
    CHECK(value_of(lmdeploy, quantity::context) == 8192);
    // turbomind.cc of 2026 names the pool in place of blocks.
    const logs::engine_log pool = logs::read_log(
                                      "[TM][INFO] Object cache budget: 51200.00 MB from free 64000.00 MB and ratio "
                                      "0.800\n")
                                      .value();
    CHECK(value_of(pool, quantity::pool) == 50 * one_gib);
    CHECK(value_of(pool, quantity::device_free) == 62.5 * one_gib);
}

TEST_CASE("what is no log is refused by name") {
    CHECK(refusal_of("") == "no line of an engine");
    CHECK(refusal_of("hello\nworld\n") == "no line of an engine");
    CHECK(refusal_of(std::string_view{"GGUF\3\0\0\0", 8}) == "binary data");
    CHECK(refusal_of(std::string(1 << 20, 'x')) == "no line of an engine");
}

TEST_CASE("a log that ends with a carriage return has its last line") {
    const logs::engine_log log =
        logs::read_log("noise\nINFO [gpu_worker.py:227] Available KV cache memory: 54.61 GiB\r").value();
    CHECK(log.lines == 2);
    REQUIRE(log.figures.size() == 1);
    CHECK(log.figures.front().line == 2);
}

TEST_CASE("vLLM's summary of its memory is read, in both of its forms") {
    const std::string begins =
        "INFO 05-01 10:00:00 [core.py:109] Initializing a V1 LLM engine (v0.22.0) with config: "
        "model='llama-3.1-8b', max_seq_len=8192, tensor_parallel_size=1\n"
        "INFO [gpu_model_runner.py:5132] Model loading took 15.00 GiB memory and 4.6 seconds\n"
        "INFO [gpu_model_runner.py:6365] Estimated CUDA graph memory: 0.40 GiB total\n"
        "INFO [gpu_worker.py:466] Available KV cache memory: 54.29 GiB\n"
        "INFO [gpu_model_runner.py:6456] Graph capturing finished in 4 secs, took 0.31 GiB\n"
        "INFO [gpu_worker.py:391] Free memory on device (78.58/79.19 GiB) on startup. Desired GPU "
        "memory utilization is (0.9, 71.27 GiB). ";
    const auto parts = logs::read_log(
        begins +
        "Actual usage is 15.0 GiB for weight, 1.16 GiB for peak activation, 0.42 GiB for non-torch memory, and "
        "0.31 GiB for CUDAGraph memory. Current kv cache memory in use is 58293485404 bytes.\n");
    REQUIRE(parts);
    CHECK(value_of(*parts, quantity::weights) == doctest::Approx(15 * one_gib));
    CHECK(value_of(*parts, quantity::activation_peak) == doctest::Approx(1.16 * one_gib));
    CHECK(value_of(*parts, quantity::beside_tensors) == doctest::Approx(0.42 * one_gib));
    CHECK(value_of(*parts, quantity::pool) == doctest::Approx(58293485404.0));
    CHECK(value_of(*parts, quantity::device_total) == doctest::Approx(79.19 * one_gib));
    CHECK(value_of(*parts, quantity::requested) == doctest::Approx(71.27 * one_gib));
    CHECK(value_of(*parts, quantity::fraction) == doctest::Approx(0.9));
    CHECK(value_of(*parts, quantity::cuda_graphs) == doctest::Approx(0.31 * one_gib));
    CHECK(value_of(*parts, quantity::graphs_estimated) == doctest::Approx(0.40 * one_gib));
    for (const logs::figure& f : parts->figures) CHECK(f.contradicted == 0);

    const auto together = logs::read_log(
        begins +
        "Actual usage is 15.42 GiB for consumed memory (weights + non-torch), 1.16 GiB for peak activation, and "
        "0.31 GiB for CUDAGraph memory. Current kv cache memory in use is 54.29 GiB.\n");
    REQUIRE(together);
    CHECK(value_of(*together, quantity::weights) == doctest::Approx(15 * one_gib));
    CHECK(value_of(*together, quantity::consumed) == doctest::Approx(15.42 * one_gib));
    CHECK(value_of(*together, quantity::peak_and_graphs) == doctest::Approx(1.16 * one_gib));
    CHECK(value_of(*together, quantity::activation_peak) == -1);
    CHECK(value_of(*together, quantity::beside_tensors) == -1);
    CHECK(value_of(*together, quantity::pool) == doctest::Approx(54.29 * one_gib));
}

TEST_CASE("recurrent states that old builds of llama.cpp call a KV cache are read as states") {
    const auto log = logs::read_log(
        "llama_model_loader: loaded meta data\n"
        "llama_kv_cache_recurrent:      CUDA0 KV buffer size =     0.30 MiB\n"
        "llama_kv_cache_unified:      CUDA0 KV buffer size =    12.00 MiB\n");
    REQUIRE(log);
    CHECK(value_of(*log, quantity::recurrent_state) == doctest::Approx(0.30 * one_mib));
    CHECK(value_of(*log, quantity::kv_cache) == doctest::Approx(12 * one_mib));
}

TEST_CASE("a process names its version and GPU once, and each model that it loads") {
    const logs::engine_log log =
        logs::read_log(
            "build: 5000 (abc)\n  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes\n"
            "llama_model_loader: loaded meta data with 29 key-value pairs\n"
            "print_info: general.name     = First\n"
            "load_tensors:        CUDA0 model buffer size =  4000.00 MiB\n"
            "llama_model_loader: loaded meta data with 20 key-value pairs\n"
            "load_tensors:        CUDA0 model buffer size =   500.00 MiB\n")
            .value();
    CHECK(log.text_of(quantity::version) == "5000");
    CHECK(log.text_of(quantity::gpu) == "NVIDIA GeForce RTX 4090");
    CHECK(log.text_of(quantity::model).empty());
    CHECK(value_of(log, quantity::weights) == 500 * one_mib);
}

TEST_CASE("a name that may change is the last one") {
    const logs::engine_log log = logs::read_log(
                                     "==============NVSMI LOG==============\n"
                                     "    Product Name                          : NVIDIA A100\n"
                                     "    Product Name                          : NVIDIA H100\n")
                                     .value();
    CHECK(log.text_of(quantity::gpu) == "NVIDIA H100");
    // vLLM's does not: the first stands.
    CHECK(logs::read_log("vLLM API server version 0.9.1\nLLM engine (v0.9.2) with config: model='m', x\n")
              .value()
              .text_of(quantity::version) == "0.9.1");
}

TEST_CASE("a line that lacks the number, its unit or its value gives no figure") {
    const logs::engine_log log = logs::read_log(
                                     "vLLM API server version 0.9.1\n"
                                     "Graph capturing finished in 4 secs\n"
                                     "Current kv cache memory in use is 5 potatoes.\n"
                                     "GPU KV cache size: unknown\n")
                                     .value();
    CHECK(log.figures.empty());
    CHECK(refusal_of("Available KV cache memory: unknown\n") == "no line of an engine");
}

TEST_CASE("a second number of a line keeps its sign") {
    const logs::engine_log log = logs::read_log(
                                     "vLLM API server version 0.22.0\n"
                                     "Actual usage is 15.0 GiB for weight, -0.25 GiB for peak activation\n")
                                     .value();
    CHECK(value_of(log, quantity::activation_peak) == -0.25 * one_gib);
}

TEST_CASE("keys and values of one line add up, and a later line changes nothing") {
    const std::string start = "server_args=ServerArgs(model_path='m', tp_size=1)\n";
    const auto cache = [](const std::string& size) {
        return "KV Cache is allocated. #tokens: 1000, K size: " + size + " GB, V size: " + size + " GB\n";
    };
    CHECK(value_of(logs::read_log(start + cache("2.00")).value(), quantity::pool) == 4 * one_gib);
    CHECK(value_of(logs::read_log(start + cache("2.00") + cache("1.00")).value(), quantity::pool) == 4 * one_gib);
}

TEST_CASE("of a peak that is printed at every step the largest counts") {
    const auto step = [](const std::string& size) { return "[Rank 0] | max allocated: " + size + "\n"; };
    CHECK(value_of(logs::read_log(step("100.5") + step("99.0") + step("101.0") + step("7.0")).value(),
                   quantity::allocated) == 101 * one_mib);
}

TEST_CASE("the same figure to fewer digits is no contradiction") {
    const auto weights = [](const std::string& first, const std::string& second) {
        return *logs::read_log("Model loading took " + first + " GiB\nAvailable KV cache memory: 5.00 GiB\n" +
                               "Model loading took " + second + " GiB\n")
                    .value()
                    .find(quantity::weights);
    };
    CHECK(weights("14.99", "14.9889").value == 14.9889 * one_gib);
    CHECK(weights("14.9889", "14.99").value == 14.9889 * one_gib);
    CHECK(weights("14.9889", "14.99").contradicted == 0);
    CHECK(weights("14.9889", "14.90").contradicted == 3);
}

TEST_CASE("a log of thousands of processes is read up to a bound") {
    std::string text;
    for (int pid = 0; pid < 5000; ++pid)
        text += "(Worker pid=" + std::to_string(pid) + ") INFO Available KV cache memory: 5.00 GiB\n";
    CHECK(logs::read_log(text).value().figures.size() == 4096);
}

TEST_CASE("an option's value is not joined to a long line") {
    const std::string long_line = std::string(200, ' ') + "num_shard: Some(\n  2,\n";
    const std::string begins = "INFO text_generation_launcher: Args {\n    model_id: \"m\",\n";
    CHECK(value_of(logs::read_log(begins + "num_shard: Some(\n  2,\n").value(), quantity::tensor) == 2);
    CHECK(value_of(logs::read_log(begins + "num_shard: Some(\n2,\n").value(), quantity::tensor) == 2);
    CHECK(value_of(logs::read_log(begins + long_line).value(), quantity::tensor) == -1);
}

TEST_CASE("bytes of zero later in the first line make a file binary") {
    logs::reader r;
    r.feed("");
    r.feed("Available KV cache memory: 5.00 GiB");
    r.feed(std::string_view{"\0\0", 2});
    r.feed("\nmore\n");
    const auto read = r.finish();
    REQUIRE_FALSE(bool{read});
    CHECK(read.error().value == "binary data");
}

TEST_CASE("a log is read as far as it goes, and once more where it goes on") {
    const std::string pool = "INFO Available KV cache memory: ";
    logs::reader r;
    r.feed("noise\nnoise\n" + pool + "5.00 GiB");
    CHECK(r.finish().value().lines == 3);
    CHECK(r.finish().value().lines == 3);
    r.feed("(Worker_TP1 pid=2) " + pool + "4.00 GiB\n");
    const logs::engine_log log = r.finish().value();
    CHECK(log.lines == 4);
    REQUIRE(log.figures.size() == 2);
    CHECK(log.smallest(quantity::pool)->value == 4 * one_gib);
    CHECK(log.smallest(quantity::pool)->line == 4);
    CHECK(logs::read_log("noise\n" + pool + "5.00 GiB\n").value().lines == 2);
}

TEST_CASE("colours of a terminal are no part of a line") {
    const logs::engine_log log = logs::read_log(
                                     "\x1b[1;36m(EngineCore pid=9)\x1b[0;0m INFO \x1b[32mAvailable KV\x1b[0m cache "
                                     "memory: \x1b[1m5.00\x1b[0m GiB\n")
                                     .value();
    CHECK(value_of(log, quantity::pool) == 5 * one_gib);
}

TEST_CASE("a line of more than 64 KiB is cut there, whatever the pieces in which it arrives") {
    const std::string begins = "vLLM API server version 0.9.1\n";
    const std::string figure = "Available KV cache memory: 5.00 GiB\n";
    const auto pool_behind = [&](std::size_t blanks, std::size_t piece) {
        const std::string text = begins + std::string(blanks, ' ') + figure;
        logs::reader r;
        for (std::size_t at = 0; at < text.size(); at += piece) r.feed(std::string_view{text}.substr(at, piece));
        return value_of(r.finish().value(), quantity::pool);
    };
    for (const std::size_t piece : {1000u, 50000u, 1000000u}) {
        CHECK(pool_behind(65000, piece) == 5 * one_gib);
        CHECK(pool_behind(65536, piece) == -1);
        CHECK(pool_behind(90000, piece) == -1);
    }
}

TEST_CASE("bytes of zero make a file binary where they begin it, and a later line of a log no worse") {
    CHECK(refusal_of(std::string_view{"\0vLLM API server version 0.9.1\n", 31}) == "binary data");
    using namespace std::string_view_literals;
    logs::reader r;
    r.feed("Available KV cache memory: 5.00 GiB\n");
    r.feed("a prompt of \0 bytes\nModel loading took 14.50 GiB\n"sv);
    CHECK(value_of(r.finish().value(), quantity::weights) == 14.5 * one_gib);
}

TEST_CASE("a pickle that is no snapshot is refused") {
    CHECK(refusal_of("\x80\x04") != "read");
    CHECK(refusal_of("\x80\x04N.") != "read");
}

TEST_CASE("a name that is none leaves room for the next, and a sign without anything is no log") {
    CHECK(logs::read_log("INFO LLM engine (v0.9.2) with config: model='tell me; a secret?', x\n"
                         "INFO LLM engine (v0.9.2) with config: model='org/name', x\n")
              .value()
              .text_of(quantity::model) == "org/name");
    CHECK(refusal_of("INFO vLLM API server version \n") == "no line of an engine");
}

TEST_CASE("of a figure that is printed again the first line is named, and of parts how far all are known") {
    const auto of = [](const std::string& text, quantity what) { return *logs::read_log(text).value().find(what); };
    const std::string pool = "Available KV cache memory: 5.00 GiB\n";
    CHECK(of(pool + pool, quantity::pool).line == 1);
    const std::string step = "[Rank 0] | max allocated: 100.5\n";
    CHECK(of(step + step, quantity::allocated).line == 1);
    CHECK(of(step + "[Rank 0] | max allocated: 7.0\n", quantity::allocated).contradicted == 0);
    // Keys and values to 0.01 GiB, each of them rounded by half of that.
    const std::string cache = "KV Cache is allocated. #tokens: 1000, K size: 2.00 GB, V size: 2.00 GB\n";
    const std::string start = "server_args=ServerArgs(model_path='m', tp_size=1)\n";
    CHECK(of(start + cache, quantity::pool).printed_to == doctest::Approx(0.01 * one_gib));
    CHECK(of(start + cache + cache, quantity::pool).contradicted == 0);
    // Ranks that print the same.
    const logs::engine_log ranks = logs::read_log("[TP0] " + pool + "[TP1] " + pool).value();
    CHECK(ranks.largest(quantity::pool)->line == 1);
    CHECK(ranks.smallest(quantity::pool)->line == 1);
}

TEST_CASE("a start that printed its budget alone is none of the next one's") {
    const logs::engine_log log = logs::read_log(
                                     "vLLM API server version 0.9.1\nrequested GPU memory: 71.00 GiB\n"
                                     "vLLM API server version 0.9.1\nrequested GPU memory: 40.00 GiB\n")
                                     .value();
    CHECK(value_of(log, quantity::requested) == 40 * one_gib);
    CHECK(log.find(quantity::requested)->contradicted == 0);
}
