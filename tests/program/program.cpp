// SPDX-License-Identifier: MIT
// The program as a user or a script meets it: arguments in; stdout, stderr and an exit code out.
#include <doctest/doctest.h>

#include "../model_files.hpp"
#include "../program_checks.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

using namespace model_files;
using namespace program_checks;
using nlohmann::json;
using run_program::scratch;

TEST_CASE("a plan's answer is planned once more, with other flags where they are given") {
    const run_program::scratch files;
    const auto first = run_program::run(
        {"plan", "llama-3.1-8b", "--adapter", "lora", "--gpu", "h100-sxm5-80gb", "--runtime", "huggingface", "--json"},
        files.path());
    std::ofstream{files.path() / "plan.json"} << first.out;
    CHECK(run_program::run({"plan", "plan.json", "--json"}, files.path()).json() == first.json());
    CHECK(run_program::run({"plan", "--job", "plan.json", "--json"}, files.path()).json() == first.json());
    const auto longer = run_program::run({"plan", "plan.json", "--seq-len", "1024", "--json"}, files.path()).json();
    CHECK(longer["job"]["sequence"] == 1024);
    CHECK(longer["runtime"] == first.json()["runtime"]);
}

TEST_CASE("a folder beside a document that is called as its runtime is no profile") {
    const run_program::scratch files;
    std::filesystem::create_directory(files.path() / "vllm");
    files.file("job.json", R"({"model": "llama-3.1-8b", "runtime": "vllm", "cluster": {"gpu": "rtx-4090"}})");
    const auto first = run_program::run({"plan", "job.json", "--json"}, files.path());
    std::ofstream{files.path() / "plan.json"} << first.out;
    CHECK(run_program::run({"plan", "plan.json", "--json"}, files.path()).json() == first.json());
}

TEST_CASE("words that name no GPU alone list those whose names hold them") {
    const outcome o = run({"gpus", "apple", "--json"});
    CHECK(o.exit == fits);
    const json cards = o.json()["gpus"];
    CHECK(cards.size() > 10);
    for (const json& card : cards) CHECK(card["id"].get<std::string>().starts_with("apple-"));
    CHECK(run({"gpus", "rtx-4090", "--json"}).json()["id"] == "rtx-4090");
}

TEST_CASE("every command answers people in text and programs in one JSON document") {
    const std::vector<arguments> commands{{"model", "llama-3.1-8b"}, small_job,    {"gpus"},
                                          {"gpus", "rtx-4090"},      {"models"},   {"models", "llama-3.1-8b"},
                                          {"models", "Qwen 7b"},     {"runtimes"}, {"runtimes", "vllm"}};
    for (const arguments& command : commands) {
        CAPTURE(command.front());
        const outcome text = run(command);
        CHECK(text.exit == fits);
        CHECK(text.err.empty());
        CHECK(text.out.size() > 20);
        CHECK(text.out.ends_with("\n"));
        CHECK(text.json().is_discarded());
        const outcome document = run(command + arguments{"--json"});
        CHECK(document.exit == fits);
        CHECK(document.err.empty());
        CHECK(document.json().is_structured());
    }
    CHECK(run({"--help"}).exit == fits);
    CHECK(run({"plan", "--help"}).out.find("--gpu_memory_utilization") != std::string::npos);
    CHECK(run({"--version"}).out.find('.') != std::string::npos);
}

TEST_CASE("an engine's profiles say how far they were from what was measured") {
    const json profiles = run({"runtimes", "llama.cpp@b2824", "--json"}).json()["runtimes"];
    REQUIRE(profiles.size() == 1);
    CHECK(profiles[0]["versions"] == "b2400 to b4000");
    bool weights = false;
    for (const json& e : profiles[0]["checked"]) {
        CHECK(e["inside"].get<int>() <= e["rows"].get<int>());
        CHECK(std::abs(e["bias"].get<double>()) <= e["mean_error"].get<double>() + 1e-4);
        weights = weights || (e["figure"] == "weights" && e["mean_error"].get<double>() < 0.005);
    }
    CHECK(weights);
    CHECK(run({"runtimes", "lmdeploy"}).out.find("unmeasured") != std::string::npos);
    // Fewer than five published rows say nothing of how far a profile is off.
    const std::string table = run({"runtimes"}).out;
    const auto line_of = [&](std::string_view versions) {
        const std::string from = table.substr(table.find(versions));
        return from.substr(0, from.find('\n'));
    };
    CHECK(line_of("b8672 to b9479").ends_with(" 0  unmeasured"));
    CHECK(line_of("0.33 and later").ends_with(" 1  hardly measured"));
    CHECK(line_of("b1600 to b1841").find(" measured") != std::string::npos);
    CHECK(line_of("b1600 to b1841").find("hardly") == std::string::npos);
}

TEST_CASE("a plan says from which versions, how many measurements and which GPUs its profile comes") {
    const auto asked = [](std::string runtime, std::string more) {
        return run({"plan", "qwen2.5-7b", "--gpu", "h100-sxm5-80gb", "--context", "4096", "--runtime", runtime, more});
    };
    const outcome measured = asked("vllm@0.19", "--batch=1");
    CHECK(measured.out.find("profile  vllm 0.18 and 0.19: 46 measurements on h100-sxm5-80gb, rtx-4090\n") !=
          std::string::npos);
    CHECK(asked("vllm@0.17", "--batch=1")
              .out.find("profile  vllm 0.17: hardly measured, 1 measurement on h100-sxm5-80gb\n") != std::string::npos);
    CHECK(asked("tgi", "--batch=1").out.find("profile  tgi 2 and 3: unmeasured, no published row\n") !=
          std::string::npos);
    CHECK(asked("none", "--batch=1").out.find("profile  ") == std::string::npos);
    CHECK(run({"plan", "qwen2.5-7b", "--gpu", "h100-sxm5-80gb"}).out.find("profile  ") == std::string::npos);
    for (const auto& [runtime, evidence, rows] : {std::tuple{"vllm@0.19", "measured", 46}, {"tgi", "unmeasured", 0}}) {
        const json said = asked(runtime, "--json").json()["runtime"];
        CHECK(said["evidence"] == evidence);
        CHECK(said["origin"]["rows"] == rows);
    }
}

TEST_CASE("search and compare say the same of each profile, once") {
    const arguments shared{"llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--context", "4096"};
    const std::string line = "profile  tgi 2 and 3: unmeasured, no published row\n";
    CHECK(run(arguments{"search"} + shared + arguments{"--runtime", "tgi"}).out.find(line) != std::string::npos);
    const arguments two{
        "compare",      "llama-3.1-8b,qwen2.5-7b", "--gpu", "h100-sxm5-80gb", "--context", "4096", "--runtime",
        "tgi,vllm@0.19"};
    const std::string compared = run(two).out;
    const std::size_t first = compared.find(line);
    REQUIRE(first != std::string::npos);
    CHECK(compared.find(line, first + 1) == std::string::npos);
    CHECK(compared.find("profile  vllm 0.18 and 0.19: 46 measurements") != std::string::npos);
    const json rows = run(two + arguments{"--json"}).json()["rows"];
    for (const json& row : rows)
        CHECK(row["profile"]["evidence"] == (row["runtime"] == "tgi" ? "unmeasured" : "measured"));
    CHECK(run(arguments{"search"} + shared + arguments{"--runtime", "tgi", "--json"}).json()["runtime"]["evidence"] ==
          "unmeasured");
}

TEST_CASE("what sizes a pool is an option under the engine's own name, and of that engine alone") {
    const arguments shared{"plan", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--context", "2048", "--runtime"};
    for (const auto& [runtime, option, tokens] : {std::tuple{"sglang", "--max-total-tokens=20480", 20480},
                                                  {"vllm", "--kv-cache-memory-bytes=2147483648", 16384},
                                                  {"vllm", "--num-gpu-blocks-override=1000", 16000},
                                                  {"tensorrt-llm", "--max-tokens=16384", 16384},
                                                  {"tgi", "--max-batch-total-tokens=16000", 16000}}) {
        CAPTURE(option);
        const json said = run(shared + arguments{runtime, option, "--json"}).json();
        CHECK(said["cache_pool"]["tokens"] == tokens);
    }
    const outcome other = run(shared + arguments{"llama.cpp", "--num-gpu-blocks-override=1000"});
    CHECK(other.exit == bad_input);
    CHECK(other.err.find("runtime.num_gpu_blocks_override") != std::string::npos);
    // TGI's option of that name is its longest request.
    CHECK(run({"plan", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--runtime", "tgi", "--max-total-tokens", "4096",
               "--json"})
              .json()["job"]["context"] == 4096);
    const outcome small = run(shared + arguments{"sglang", "--max-total-tokens", "4096", "--batch", "4"});
    CHECK(small.exit == does_not_fit);
    CHECK(small.out.find("the pool was given") != std::string::npos);
}

TEST_CASE("plans are consistent, whatever the job") {
    for (const arguments& job : std::vector<arguments>{
             small_job,
             {"plan", "deepseek-v3", "--gpu", "h100-sxm5-80gb", "--gpus", "16", "--context", "8192", "--runtime",
              "vllm"},
             {"plan", "qwen2.5-7b", "--gpu", "rtx-4090", "--gpus", "2", "--context", "8192", "--batch", "4",
              "--runtime", "vllm"},
             {"plan", "gemma-3-4b", "--gpu", "rtx-3090", "--context", "32768", "--kv_cache", "fp8_e4m3"},
             {"plan", jobs + "serving.json"},
             {"plan", jobs + "pretraining.json"},
             {"plan", jobs + "pretraining.json", "--recompute", "none", "--zero", "3"},
             {"plan", "llama-3.1-8b", "--task", "finetuning", "--gpu", "h100-sxm5-80gb", "--sequence", "2048",
              "--adapter_kind", "lora", "--adapter_rank", "16", "--runtime", "pytorch"},
             {"plan",
              "llama-3.1-8b",
              "--task",
              "finetuning",
              "--gpu",
              "rtx-4090",
              "--gpus",
              "4",
              "--sequence",
              "1024",
              "--zero",
              "3",
              "--data",
              "4",
              "--offload_optimizer",
              "host",
              "--offload_parameters",
              "host",
              "--recompute",
              "full"},
             {"plan", jobs + "first_layers.json"}}) {
        CAPTURE(job[1]);
        const outcome o = run(job + arguments{"--json"});
        CAPTURE(o.err);
        const json p = o.json();
        REQUIRE(p.is_object());
        consistent(p);
        CHECK(o.exit == (p["verdict"] == "does_not_fit" ? does_not_fit : fits));
        CHECK((p["verdict"] == "tight") == (o.err.find("tight") != std::string::npos));
        CHECK(run(job).exit == o.exit);
    }
}

TEST_CASE("the exit code tells the verdict; tight fits, with a warning") {
    const outcome too_large = run({"plan", "llama-3.1-70b", "--gpu", "rtx-4090", "--context", "4096"});
    CHECK(too_large.exit == does_not_fit);
    CHECK(too_large.err.empty());
    CHECK(too_large.out.find("GPUs") != std::string::npos);
    const json p = planned({"plan", "llama-3.1-70b", "--gpu", "rtx-4090", "--context", "4096"}, does_not_fit);
    CHECK(p["verdict"] == "does_not_fit");
    CHECK_FALSE(p["reasons"].empty());
    CHECK_FALSE(p["would_help"].empty());
    CHECK(p["limits"]["max_batch"].is_null());
    CHECK(p["limits"]["min_gpus"].get<int>() > 1);

    // Somewhere between what surely fits and what surely does not lies what only may.
    bool seen = false;
    for (std::int64_t low = 1, high = 4096; !seen && low < high;) {
        const std::int64_t batch = (low + high) / 2;
        const arguments job{"plan",      "llama-3.1-8b", "--gpu",   "h100-sxm5-80gb",      "--context", "4096",
                            "--runtime", "pytorch",      "--batch", std::to_string(batch), "--json"};
        const outcome o = run(job);
        const json found = o.json();
        REQUIRE(found.is_object());
        if (found["verdict"] == "tight") {
            seen = true;
            CHECK(o.exit == fits);
            CHECK(o.err.find("tight") != std::string::npos);
        }
        (found["verdict"] == "fits" ? low : high) = found["verdict"] == "fits" ? batch + 1 : batch;
    }
    CHECK(seen);
}

TEST_CASE("a slice of a card is a GPU like any other, and a format that the card converts is said to be") {
    const outcome o = run({"plan", "llama-3.1-8b", "--context", "4096", "--runtime", "vllm", "--gpu",
                           "a100-sxm4-80gb/3g.40gb", "--weights", "fp8_channel", "--json"});
    CHECK(o.exit == fits);
    const json p = json::parse(o.out);
    CHECK(p["cluster"]["gpu"] == "a100-sxm4-80gb/3g.40gb");
    std::string why;
    for (const json& reason : p["reasons"])
        if (reason["code"] == "format_emulated") why = reason["text"].get<std::string>();
    CHECK(why ==
          "weights fp8_channel: A100 SXM4 80GB MIG 3g.40gb has no fp8 arithmetic, and converts values before it "
          "multiplies "
          "them; weights bf16, or a GPU with fp8 arithmetic, needs no conversion");
}

TEST_CASE("flags go over what the job document says") {
    const json from_file = planned({"plan", jobs + "serving.json"});
    CHECK(from_file["job"]["batch"] == 16);
    CHECK(from_file["job"]["context"] == 4096);
    CHECK(from_file["job"]["kv_cache"] == "fp8_e4m3");
    CHECK(from_file["runtime"]["name"] == "vllm");
    CHECK(from_file["layout_chosen"] == true);
    const json changed = planned({"plan", jobs + "serving.json", "--batch", "4", "--kv_cache", "bf16", "--gpus", "2",
                                  "--tensor", "2", "--gpu_memory_utilization", "0.5"});
    CHECK(changed["job"]["batch"] == 4);
    CHECK(changed["job"]["kv_cache"] == "bf16");
    CHECK(changed["job"]["output"] == 1024);
    CHECK(changed["layout"]["tensor"] == 2);
    CHECK(changed["layout_chosen"] == false);
    CHECK(changed["memory"]["usable"] < from_file["memory"]["usable"]);
    CHECK(planned({"plan", jobs + "serving.json", "--runtime", "none"})["runtime"]["name"] == "none");
}

TEST_CASE("where nothing says how many GPUs there are, there are as many as the layout has") {
    const json four = planned(small_job + arguments{"--tp", "2", "--pp", "2"});
    CHECK(four["cluster"]["gpus"] == 4);
    CHECK(four["assumed"]["gpus"] == 4);
}

TEST_CASE("how many GPUs may stand before their kind") {
    for (const char* written : {"2xH100 SXM", "2 x h100-sxm5-80gb"}) {
        const json two = planned({"plan", jobs + "serving.json", "--gpu", written});
        CHECK(two["cluster"]["gpus"] == 2);
        CHECK(two["cluster"]["gpu"] == "h100-sxm5-80gb");
    }
}

TEST_CASE("--device plans on the very GPU that the probe looked at") {
    const std::string file = LLMRES_SOURCE_DIR "/tests/data/devices/synthetic-h100-sxm5-80gb.json";
    json device = json::parse(run_program::content_of(file));
    json& measured = device["devices"][0]["measured"];
    measured["read_bandwidth"] = {
        {"median_bytes_per_s", 3.0e12}, {"low_bytes_per_s", 2.9e12}, {"high_bytes_per_s", 3.1e12}, {"repeats", 20}};
    measured["products"] = {{{"precision", "bf16"},
                             {"rows", 8192},
                             {"columns", 8192},
                             {"inner", 8192},
                             {"verified", true},
                             {"rate",
                              {{"median_flops_per_s", 7.0e14},
                               {"low_flops_per_s", 6.9e14},
                               {"high_flops_per_s", 7.1e14},
                               {"repeats", 20}}}}};
    measured["context_bytes"] = 700 << 20;
    device["devices"][0]["memory"]["nvml_free_bytes"] =
        device["devices"][0]["memory"]["nvml_free_bytes"].get<std::int64_t>() - (std::int64_t{10} << 30);
    const scratch s;
    const std::string live = s.file("live.json", device.dump());
    const arguments job{"plan", "llama-3.1-8b", "--context", "4096", "--runtime", "pytorch"};

    const json on_sheet = planned(job + arguments{"--gpu", "h100-sxm5-80gb"});
    const json on_device = planned(job + arguments{"--device", live});
    CHECK(on_device["cluster"]["measured"]["bandwidth"] == 3.0e12);
    CHECK(on_device["cluster"]["measured"]["bf16"] == 7.0e14);
    CHECK(on_device["cluster"]["device"] == live);
    CHECK(on_device["cluster"]["in_use"] == std::int64_t{10} << 30);
    CHECK(on_device["memory"]["usable"] == 84'943'110'144 - (std::int64_t{10} << 30));
    CHECK(on_device["memory"]["terms"]["runtime"] == 700 << 20);
    CHECK(on_device["memory"]["terms"]["weights"] == on_sheet["memory"]["terms"]["weights"]);
    const auto memory_time = [](const json& p) { return p["time"]["terms"]["memory"].get<double>(); };
    // Reads at 3.0 TB/s, where those of the sheet's 3.35 reach 0.92 of it.
    CHECK(memory_time(on_device) == doctest::Approx(memory_time(on_sheet) * 0.92 * 3.35 / 3.0).epsilon(0.01));
    CHECK_FALSE(on_sheet["cluster"].contains("measured"));
    CHECK(run(job + arguments{"--device", live})
              .out.find("measured bandwidth 3 TB/s, bf16 700 TFLOP/s, context 700 MiB") != std::string::npos);

    // Flags go over the file: either names the GPU. A path in a document starts from its folder.
    CHECK(planned({"plan", jobs + "serving.json", "--device", live})["cluster"].contains("measured"));
    const std::string document =
        s.file("job.json", R"({"model": "llama-3.1-8b", "context": 4096, "cluster": {"device": "live.json"}})");
    CHECK(planned({"plan", document})["cluster"]["measured"]["bandwidth"] == 3.0e12);
    CHECK_FALSE(planned({"plan", document, "--gpu", "rtx-4090"})["cluster"].contains("measured"));
    CHECK(planned({"plan", document, "--in_use", "0"})["memory"]["usable"] == 84'943'110'144);

    refused(job + arguments{"--device", live, "--gpu", "h100"}, {"cluster.device", "live.json", "not both"});
    refused(job + arguments{"--device", "/no/such/file"}, {"cluster.device", "/no/such/file", "can be read"});
    refused(job + arguments{"--device", "tests"}, {"cluster.device", "tests"});
    refused(job + arguments{"--device", ""}, {"cluster.device"});
    refused(job + arguments{"--device", s.file("text.json", "hello")}, {"cluster.device", "JSON"});
    refused(job + arguments{"--device", jobs + "serving.json"}, {"cluster.device: devices", "an array of devices"});
    refused(job + arguments{"--device", s.file("none.json", R"({"devices": []})")},
            {"cluster.device: devices", "0", "one device"});
    refused(job + arguments{"--device", LLMRES_SOURCE_DIR "/tests/data/devices/synthetic-two-h100.json"},
            {"cluster.device: devices", "2", "one device"});
    refused(job + arguments{"--device", s.file("v9.json", R"({"schema_version": 9, "devices": [{}]})")},
            {"schema_version", "9", "expected 1"});
    refused(job + arguments{"--device", s.file("empty.json", R"({"schema_version": 1, "devices": [{}]})")},
            {"compute.capability_major", "described"});
    device["devices"][0]["compute"]["capability_major"] = 99;
    refused(job + arguments{"--device", s.file("new.json", device.dump())},
            {"compute.capability", "NVIDIA H100", "tables"});
}

TEST_CASE("a model's path in a job starts from the job's folder") {
    const json p = planned({"plan", jobs + "relative_model.json"});
    CHECK(p["job"]["model"] == "tiny-model");
    CHECK(run({"model", "tests/data/jobs/tiny-model"}).exit == fits);
    CHECK(run({"model", "tests/data/jobs/tiny-model/config.json"}).exit == fits);
    CHECK(run({"plan", "tests/data/jobs/tiny-model/config.json", "--gpu", "rtx-4090"}).exit == fits);
}

TEST_CASE("a model can be cut to its first layers") {
    const json p = planned({"plan", jobs + "first_layers.json"});
    const json whole = planned({"plan", "deepseek-v3", "--gpu", "h100-sxm5-80gb", "--gpus", "64", "--context", "4096"});
    CHECK(p["memory"]["terms"]["weights"].get<std::int64_t>() > 0);
    CHECK(p["layout"]["pipeline"] == 1);
    CHECK(whole["verdict"] == "fits");
    const scratch s;
    for (const char* layers : {"0", "-1", "62", "\"4\"", "1.5"})
        refused({"plan", s.file("job.json", R"({"model": {"from": "deepseek-v3", "layers": )" + std::string{layers} +
                                                R"(}, "cluster": {"gpu": "rtx-4090"}})")},
                {"model.layers", layers, "from 1 to 61"});
}

TEST_CASE("--svg draws the memory of the busiest GPU") {
    const scratch s;
    const std::string file = (s.path() / "memory.svg").string();
    CHECK(run(small_job + arguments{"--svg", file}).exit == fits);
    const std::string picture = run_program::content_of(file);
    CHECK(picture.starts_with("<svg "));
    CHECK(picture.ends_with("</svg>\n"));
    CHECK(picture.find("weights") != std::string::npos);
    refused(small_job + arguments{"--svg", "/nonexistent/x.svg"}, {"svg", "/nonexistent/x.svg", "can be written"});
    refused(small_job + arguments{"--svg", "/"}, {"svg", "can be written"});
}

TEST_CASE("what a serving job adds to the model shows in its terms") {
    const scratch s;
    const auto terms = [&](const std::string& model, const std::string& layout, const std::string& knobs) {
        const std::string text = R"({"model": ")" + model + R"(", "batch": 8, "context": 4096, "layout": )" + layout +
                                 R"(, "cluster": {"gpu": "h200-sxm5-141gb", "gpus": 8}, "runtime": {"name": "vllm")" +
                                 knobs + "}}";
        return run({"plan", s.file("job.json", text), "--json"}).json()["memory"]["terms"];
    };
    const auto grows = [](const json& less, const json& more, const char* term) {
        CAPTURE(term);
        CHECK(less[term].get<std::int64_t>() < more[term].get<std::int64_t>());
    };
    const json one = terms("llama-3.1-8b", R"({"data": 1})", "");
    const json adapted = terms("llama-3.1-8b", R"({"data": 1})", R"(, "max_loras": 4, "max_lora_rank": 64)");
    CHECK(one["adapter"] == 0);
    grows(one, adapted, "adapter");
    const json drafted = terms("llama-3.1-8b", R"({"data": 1})", R"(, "draft": "llama-3.2-1b")");
    grows(one, drafted, "weights");
    grows(one, drafted, "kv_cache");
    const json split = terms("llama-3.1-8b", R"({"tensor": 2, "data": 1})", "");
    CHECK(one["communication"] == 0);
    grows(one, split, "communication");
    const json eight = terms("deepseek-v3", R"({"tensor": 8})", "");
    const json ahead = terms("deepseek-v3", R"({"tensor": 8})", R"(, "speculates_ahead": true)");
    grows(eight, ahead, "weights");
    grows(eight, ahead, "kv_cache");
    // Attention by data ranks holds its own sequences' caches, and its weights whole; experts are shared by all.
    const json ranks = terms("deepseek-v3", R"({"data": 8, "expert": 8})", "");
    grows(eight, ranks, "weights");
    grows(ranks, eight, "kv_cache");
    const json seen = terms("qwen2.5-vl-7b", "{}", R"(, "encoder_tokens": 131072)");
    grows(terms("qwen2.5-vl-7b", "{}", ""), seen, "activations");
}

TEST_CASE("prompts on GPUs of their own are answered beside the output's") {
    const scratch s;
    const std::string side = R"({"cluster": {"gpu": "h100-sxm5-80gb", "gpus": 4}, "layout": {"tensor": 4}})";
    const auto file = [&](const std::string& prefill, const std::string& more = R"("prompt": 4096, "output": 512, )") {
        return s.file("job.json", R"({"model": "llama-3.1-70b", "batch": 64, )" + more +
                                      R"("runtime": "vllm", "layout": {"tensor": 4},
            "cluster": {"gpu": "h100-sxm5-80gb", "gpus": 4}, "prefill": )" +
                                      prefill + "}");
    };
    const outcome o = run({"plan", file(side), "--json"});
    CHECK(o.exit == fits);
    const json p = o.json()["disaggregated"];
    CHECK(p["prefill"]["verdict"] == "fits");
    CHECK(p["prefill"]["layout"]["tensor"] == 4);
    CHECK(p["prefill"]["layout_chosen"] == false);
    CHECK(p["handed_over"] == 4096 * 327'680LL);
    CHECK(p["prefill_per_decode"].get<double>() ==
          doctest::Approx(p["sequences_per_second"].get<double>() / p["prompts_per_second"].get<double>()));
    CHECK(run({"plan", file(side)}).out.find("prompts  on 4 x H100") != std::string::npos);
    // The planner chooses where no layout is named, and the worse side decides.
    CHECK(run({"plan", file(R"({"cluster": {"gpu": "h100-sxm5-80gb", "gpus": 4}})"), "--json"})
              .json()["disaggregated"]["prefill"]["layout_chosen"] == true);
    CHECK(run({"plan", file(R"({"cluster": {"gpu": "rtx-4090"}})")}).exit == does_not_fit);
    refused({"plan", file(side, "")}, {"prompt", "tokens of a prompt"});
    refused({"plan", file(side, R"("prompt": 4096, )")}, {"output", "tokens made"});
    refused({"plan", file(R"({"nodes": 4})")}, {"prefill.nodes", "a field"});
    refused({"plan", file("{}")}, {"prefill.cluster", "absent"});
    refused({"plan", file(R"({"cluster": {"gpu": "h101"}})")}, {"prefill.cluster.gpu", "h101"});
}

TEST_CASE("prompts have GPUs of their own by a flag, as many as the job's or so many of another kind") {
    const arguments chat{"plan", "llama-3.1-70b", "--gpu", "h100-sxm5-80gb", "--gpus", "4",     "--runtime",
                         "vllm", "--prompt",      "4000",  "--output",       "500",    "--json"};
    const json same = run(chat + arguments{"--disaggregate"}).json()["disaggregated"]["prefill"];
    CHECK(same["cluster"]["gpus"] == 4);
    CHECK(same["cluster"]["gpu"] == "h100-sxm5-80gb");
    const json other =
        run(chat + arguments{"--prefill-gpus", "2", "--prefill-gpu", "h200", "--prefill-tp", "2"}).json();
    CHECK(other["disaggregated"]["prefill"]["cluster"]["gpu"] == "h200-sxm5-141gb");
    CHECK(other["disaggregated"]["prefill"]["layout"]["tensor"] == 2);
    refused(chat + arguments{"--prefill_gpus", "3", "--prefill_tensor", "2"}, {"prefill.tensor is 2", "a divisor"});
}

TEST_CASE("a start that vLLM refuses beside other processes says so, and which part of the GPU it would start with") {
    const arguments shared{"plan",      "llama-3.1-8b", "--gpu",   "h100", "--runtime", "vllm",
                           "--context", "8192",         "--batch", "4",    "--in_use",  "20GiB"};
    const outcome refused = run(shared);
    CHECK(refused.exit == does_not_fit);
    CHECK(refused.out.find("does not start: its gpu_memory_utilization of the GPU is ") != std::string::npos);
    CHECK(refused.out.find("the weights alone") == std::string::npos);
    CHECK(refused.out.find("caches ") == std::string::npos);
    CHECK(planned(shared, does_not_fit)["cache_pool"].is_null());
    const std::size_t at = refused.out.find("--gpu_memory_utilization 0.");
    REQUIRE(at != std::string::npos);
    const std::string part = refused.out.substr(at + 25, 4);
    CHECK(run(shared + arguments{"--gpu_memory_utilization", part}).exit == fits);
    const std::string more = std::to_string(std::stod(part) + 0.02);
    CHECK(run(shared + arguments{"--gpu_memory_utilization", more}).exit == does_not_fit);
}
