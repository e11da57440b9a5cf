// SPDX-License-Identifier: MIT
// Files from strangers: whatever they hold, the program names what is wrong with them, at once and in little memory.
#include <doctest/doctest.h>

#include "../model_files.hpp"
#include "../program_checks.hpp"
#include "../sanitized.hpp"

#include <sys/stat.h>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/qwen.hpp>
#include <string>

using namespace program_checks;
using nlohmann::json;

namespace {

constexpr int room = sanitized ? 4 : 1;

/// The program refuses a file with these words, within the time and memory that any bad input may take.
void refused_quickly(const arguments& typed, const std::vector<std::string>& words) {
    const double before = run_program::seconds_of_cpu();
    refused(typed, words, LLMRES_SOURCE_DIR, run_program::data_within(200 * 1024));
    CHECK(run_program::seconds_of_cpu() - before < 2.5 * room);  // 0.5 s in a release build
}

std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
}

const arguments on_gpu{"--gpu", "rtx-4090"};

}  // namespace

TEST_CASE("a pipe, a folder or an endless device in place of a job or a device file is refused") {
    const run_program::scratch s;
    const std::string pipe = (s.path() / "job.json").string();
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    refused_quickly(arguments{"plan", pipe} + on_gpu, {"JOB", "can be read"});
    refused_quickly({"plan", "llama-3.1-8b", "--device", pipe}, {"cluster.device", "can be read"});
    // Files that are read in pieces: opening the pipe would wait for someone to write.
    for (const char* ending : {".gguf", ".safetensors"}) {
        const std::string model = (s.path() / ("model" + std::string{ending})).string();
        REQUIRE(mkfifo(model.c_str(), 0600) == 0);
        s.file("config.json", model_files::llama_config().dump());
        refused_quickly({"model", model}, {"can be read"});
        std::filesystem::remove(s.path() / "config.json");
    }
    refused_quickly(arguments{"plan", (s.path() / "model.gguf").string()} + on_gpu, {"can be read"});
    refused_quickly({"calibrate", pipe}, {"log", "can be read"});
    std::filesystem::create_symlink("/dev/zero", s.path() / "zero.json");
    refused_quickly(arguments{"plan", (s.path() / "zero.json").string()} + on_gpu, {"JOB", "can be read"});
    refused_quickly({"plan", "llama-3.1-8b", "--device", (s.path() / "zero.json").string()}, {"cluster.device"});
    std::filesystem::create_directory(s.path() / "folder.json");
    refused_quickly(arguments{"plan", (s.path() / "folder.json").string()} + on_gpu, {"folder.json"});
    refused_quickly({"plan", "llama-3.1-8b", "--device", s.path().string()}, {"cluster.device"});
}

TEST_CASE("JSON that is deep, large or says things twice is refused") {
    const run_program::scratch s;
    const auto job = [&](const std::string& text) { return arguments{"plan", s.file("job.json", text)} + on_gpu; };
    refused_quickly(job(R"({"model": "llama-3.1-8b", "model": "llama-2-7b"})"), {"model", "twice"});
    refused_quickly(job(R"({"model": )" + repeated("[", 100'000) + repeated("]", 100'000) + "}"), {"nested"});
    refused_quickly(job(repeated(R"({"a":)", 20'000) + "1" + repeated("}", 20'000)), {"nested"});
    refused_quickly(job(R"({"model": "llama-3.1-8b", "list": [1)" + repeated(",1", 1'000'000) + "]}"), {"300,000"});
    std::string fields = R"({"model_type": "llama")";
    for (int i = 0; i < 1'000'000; ++i) fields += ",\"k" + std::to_string(i) + "\":1";
    refused_quickly({"model", s.file("config.json", fields + "}")}, {"300,000"});
    const std::string config = s.file("config.json", "{}");
    std::filesystem::resize_file(config, 100u << 20);
    refused_quickly({"model", config}, {"config", "16 MiB"});
    std::filesystem::resize_file(s.path() / "job.json", 100u << 20);
    refused_quickly(arguments{"plan", (s.path() / "job.json").string()} + on_gpu, {"JOB", "16 MiB"});
}

TEST_CASE("limits of a GGUF header hold for the sum of what it says") {
    const run_program::scratch s;
    // Many texts of a plausible length each, in a file that is mostly a hole.
    gguf_writer w;
    w.text("general.architecture", "llama");
    w.with_data = false;
    std::string header = w.bytes();
    const std::string sparse = s.file("sparse.gguf", header);
    gguf_writer texts;
    for (int i = 0; i < 40; ++i) texts.text("key" + std::to_string(i), std::string(1u << 20, 'a'));
    refused_quickly({"model", s.file("texts.gguf", texts.bytes())}, {"32 MiB"});
    // Arrays of 2^20 numbers, which no file needs to hold: eight of them are too many.
    gguf_writer arrays;
    for (int i = 0; i < 8; ++i) {
        std::string raw;
        gguf_writer::put(raw, std::uint32_t{0});
        gguf_writer::put(raw, std::uint64_t{1} << 20);
        arrays.raw("key" + std::to_string(i), 9, raw + std::string(1u << 20, '\0'));
    }
    refused_quickly({"model", s.file("arrays.gguf", arrays.bytes())}, {"4194304"});
}

TEST_CASE("a safetensors header beyond any published one is refused unread") {
    const run_program::scratch s;
    s.file("config.json", model_files::llama_config().dump());
    std::string length;
    gguf_writer::put(length, std::uint64_t{96'000'000});
    const std::string file = s.file("model.safetensors", length);
    std::filesystem::resize_file(file, 96'000'100);
    refused_quickly({"model", file}, {"safetensors.header", "16 MiB"});
}

TEST_CASE("an index leads to no file outside its folder") {
    const run_program::scratch s;
    s.file("config.json", model_files::llama_config().dump());
    const std::string index = s.file("model.safetensors.index.json", R"({"weight_map": {"a": "../../etc/passwd"}})");
    refused_quickly({"model", index}, {"weight_map", "beside the index"});
}

TEST_CASE("control characters of names and values do not reach the terminal") {
    const run_program::scratch s;
    const std::string escape = "\x1b[31mred";
    const auto clean = [](const std::string& text) { return text.find('\x1b') == std::string::npos; };
    for (const arguments& typed :
         {arguments{"plan", escape} + on_gpu, arguments{"plan", "llama-3.1-8b", "--gpu", escape},
          arguments{"plan", "llama-3.1-8b", "--" + escape}, arguments{"models", escape}, arguments{escape}}) {
        const outcome o = run(typed);
        CHECK(o.exit == bad_input);
        CHECK(clean(o.err));
    }
    const std::string config = s.file(escape + "/config.json", model_files::llama_config().dump());
    const outcome shown = run({"model", config});
    CHECK(shown.exit == fits);
    CHECK(clean(shown.out));
    CHECK(clean(run(arguments{"plan", config} + on_gpu).out));
}

TEST_CASE("a device file with a size beyond any device is refused") {
    const run_program::scratch s;
    json device =
        json::parse(run_program::content_of(LLMRES_SOURCE_DIR "/tests/data/devices/synthetic-h100-sxm5-80gb.json"));
    device["devices"][0]["memory"]["cuda_total_bytes"] = std::int64_t{0x7fffffffffffffff};
    refused_quickly({"plan", "llama-3.1-8b", "--device", s.file("big.json", device.dump())},
                    {"memory.cuda_total_bytes", "9223372036854775807"});
}

TEST_CASE("what stands beside a config.json says how its checkpoint is quantised") {
    const auto weights_beside = [](const std::string& name, const std::string& content) {
        const run_program::scratch s;
        s.file("config.json", model_files::llama_config().dump());
        s.file(name, content);
        const outcome o = run({"model", s.path().string(), "--json"});
        CAPTURE(o.err);
        CHECK(o.exit == fits);
        return o.json()["weights"].get<std::string>();
    };
    CHECK(weights_beside("hf_quant_config.json",
                         R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8",
                             "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})") == "fp8_tensor_static");
    CHECK(weights_beside("hf_quant_config.json",
                         R"({"quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}})")
              .starts_with("nvfp4"));
    CHECK(weights_beside("quantize_config.json", R"({"bits": 4, "group_size": 128, "desc_act": false})") ==
          "gptq_int4_g128");
    CHECK(weights_beside("quant_config.json", R"({"zero_point": true, "q_group_size": 128, "w_bit": 4})") ==
          "awq_int4_g128");
}

TEST_CASE("a checkpoint that is calibrated for an fp8 cache has one, and the plan says so") {
    const run_program::scratch s;
    s.file("config.json", model_files::llama_config().dump());
    s.file("hf_quant_config.json",
           R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})");
    const auto planned = [&](const arguments& more) {
        return run(arguments{"plan", s.path().string(), "--gpu", "h100-sxm5-80gb", "--context", "2048", "--json"} +
                   more)
            .json();
    };
    const json calibrated = planned({"--runtime", "vllm"}), wide = planned({"--runtime", "vllm", "--kv_cache", "bf16"});
    CHECK(calibrated["assumed"]["kv_cache"] == "fp8_e4m3");
    CHECK(calibrated["memory"]["terms"]["kv_cache"].get<std::int64_t>() * 2 ==
          wide["memory"]["terms"]["kv_cache"].get<std::int64_t>());
    CHECK(planned({"--runtime", "vllm@0.16"})["assumed"]["kv_cache"] == "bf16");
}

TEST_CASE("a name that says more than its files gets a warning") {
    const run_program::scratch s;
    const std::string config = s.file("Llama-3.1-8B-FP8/config.json", model_files::llama_config().dump());
    const outcome o = run(arguments{"plan", config} + on_gpu);
    CHECK(o.exit == fits);
    CHECK(o.err.find("the name says fp8") != std::string::npos);
}

TEST_CASE("a GGUF file is planned as it is stored, whatever its type is called") {
    const run_program::scratch s;
    std::vector<std::int64_t> weights;
    std::vector<double> times;
    for (const char* mix : {"Q8_0", "Q4_K_M", "Q2_K"}) {
        // All three say Q4_K_M.
        const std::string header = model_files::qwen3_8b_gguf_header(*llmres::find_gguf_mix("weights", mix), 15);
        const std::string file = s.file("model.gguf", "");
        model_files::write_with_room(file, header);
        const json p =
            run({"plan", file, "--gpu", "rtx-4090", "--runtime", "llama.cpp", "--context", "4096", "--json"}).json();
        REQUIRE(p.is_object());
        weights.push_back(p["memory"]["terms"]["weights"].get<std::int64_t>());
        times.push_back(p["time"]["time_per_output_token"].get<double>());
        const json named = run({"plan", "qwen3-8b", "--weights", mix, "--gpu", "rtx-4090", "--runtime", "llama.cpp",
                                "--context", "4096", "--json"})
                               .json();
        CHECK(weights.back() == named["memory"]["terms"]["weights"].get<std::int64_t>());
        CHECK(times.back() == doctest::Approx(named["time"]["time_per_output_token"].get<double>()).epsilon(0.02));
    }
    CHECK(weights[0] > weights[1]);
    CHECK(weights[1] > weights[2]);
}
