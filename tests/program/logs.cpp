// SPDX-License-Identifier: MIT
// llmres check and llmres calibrate, as people type them: exit codes, JSON, and logs that are not what they should be.
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

using namespace program_checks;
using nlohmann::json;

namespace {

/// A start of vLLM 0.19, which the profile predicts to have a pool of 54.15 GiB (53.58 to 54.38) on an H100.
std::string vllm_log(const std::string& pool) {
    return "(APIServer pid=7) INFO [api_server.py:1] vLLM API server version 0.19.0\n"
           "(EngineCore pid=9) INFO [core.py:1] Initializing a V1 LLM engine (v0.19.0) with config: "
           "model='meta-llama/Llama-3.1-8B-Instruct', max_seq_len=8192, tensor_parallel_size=1, "
           "pipeline_parallel_size=1, quantization=None, enforce_eager=True, kv_cache_dtype=auto\n"
           "(EngineCore pid=9) INFO [gpu_model_runner.py:1] Model loading took 14.9889 GiB memory and 2.0 seconds\n"
           "(EngineCore pid=9) INFO [gpu_worker.py:1] Available KV cache memory: " +
           pool + " GiB\n";
}

const arguments on_h100{"--gpu", "h100-sxm"};
const std::string typed_by_someone = "my password is hunter2";

}  // namespace

TEST_CASE("check exits 0 where a log is as predicted, 1 where it is not, and names the line") {
    const run_program::scratch s;
    const std::string good = s.file("good.log", vllm_log("54.10")), bad = s.file("bad.log", vllm_log("50.00"));
    const outcome inside = run(arguments{"check", good} + on_h100);
    CHECK(inside.exit == fits);
    CHECK(inside.err.empty());
    CHECK(inside.out.find("OUTSIDE") == std::string::npos);
    const outcome outside = run(arguments{"check", bad} + on_h100);
    CHECK(outside.exit == does_not_fit);
    CHECK(outside.out.find("OUTSIDE") != std::string::npos);
    CHECK(outside.out.find("pool drifts most") != std::string::npos);
    const json answer = planned(arguments{"check", bad} + on_h100, does_not_fit);
    CHECK(answer["engine"] == "vllm");
    CHECK(answer["version"] == "0.19.0");
    CHECK(answer["inside"] == false);
    REQUIRE(answer["figures"].size() == 2);
    CHECK(answer["figures"][0]["figure"] == "weights");
    CHECK(answer["figures"][0]["inside"] == true);
    CHECK(answer["figures"][1]["line"] == 4);
    CHECK(answer["figures"][1]["printed"] == std::int64_t{50} << 30);
    CHECK(answer["figures"][1]["predicted"]["low"] <= answer["figures"][1]["predicted"]["expected"]);
}

TEST_CASE("check of a job that ran out of memory names the line and what is planned") {
    const run_program::scratch s;
    const std::string lacking =
        "(EngineCore pid=9) ERROR [core.py:1] ValueError: No available memory for the cache blocks. Try increasing\n";
    const std::string log = s.file("a.log", vllm_log("54.10") + lacking);
    const json answer = planned(arguments{"check", log} + on_h100, does_not_fit);
    CHECK(answer["out_of_memory"] == json{{"line", 5}, {"planned", "fits"}});
    CHECK(answer["inside"] == false);
    CHECK(run(arguments{"check", log} + on_h100).out.find("ran out of memory; planned: fits  OUTSIDE") !=
          std::string::npos);
    CHECK(planned(arguments{"check", s.file("b.log", vllm_log("54.10"))} + on_h100).contains("out_of_memory") == false);
}

TEST_CASE("calibrate writes a profile with which the log is as predicted") {
    const run_program::scratch s;
    const std::string log = s.file("a.log", vllm_log("50.00")), profile = (s.path() / "p.json").string();
    const json answer = planned(arguments{"calibrate", log, "-o", profile} + on_h100);
    CHECK(answer["profile"]["origin"]["gpus"] == json::array({"h100-sxm5-80gb"}));
    CHECK(answer["profile"]["origin"]["sources"]["process.workspace"] == "1 log");
    CHECK(answer["other_half"]["figures"] == 0);
    CHECK(json::parse(run_program::content_of(profile)) == answer["profile"]);
    CHECK(run(arguments{"check", log, "--runtime", profile} + on_h100).exit == fits);
    const outcome plan = run(arguments{"plan", "llama-3.1-8b", "--runtime", profile} + on_h100);
    CHECK(plan.exit == fits);
    CHECK(plan.out.find("on h100-sxm5-80gb") != std::string::npos);
    const outcome text = run(arguments{"calibrate", log, log} + on_h100);
    CHECK(text.exit == fits);
    CHECK(text.out.find("inherited") != std::string::npos);
    CHECK(text.out.find("each half predicts") != std::string::npos);
    const std::string rows = (s.path() / "rows.jsonl").string();
    CHECK(run(arguments{"calibrate", log, "--rows", rows} + on_h100).exit == fits);
    const json row = json::parse(run_program::content_of(rows));
    CHECK(row["id"] == "vllm 0.19.0 h100-sxm5-80gb 1");
    CHECK(row["measured"]["pool"] == std::int64_t{50} << 30);
    CHECK(row["document"]["runtime"]["name"] == "vllm@0.19.0");
    CHECK(run({"plan", s.file("job.json", row["document"].dump())}).exit == fits);
    refused(arguments{"calibrate", log, "--rows", (s.path() / "no" / "r").string()} + on_h100, {"rows", "written"});
    refused(arguments{"calibrate", log, "-o", (s.path() / "no" / "p.json").string()} + on_h100, {"output", "written"});
}

TEST_CASE("what is no log of the job is refused by name") {
    const run_program::scratch s;
    const std::string log = s.file("a.log", vllm_log("54.10"));
    for (const char* command : {"check", "calibrate"}) {
        CAPTURE(command);
        refused({command}, {"LOG is required"});
        refused(arguments{command, "none.log"} + on_h100, {"log", "none.log", "can be read"});
        refused(arguments{command, s.path().string()} + on_h100, {"log", "can be read"});
        refused(arguments{command, LLMRES_PROGRAM} + on_h100, {"log is binary data"});
        refused(arguments{command, s.file("empty.log", "")} + on_h100, {"no line of an engine"});
        refused(arguments{command, s.file("prose.log", "it was a dark night\n")} + on_h100, {"no line of an engine"});
        refused({command, log}, {"cluster.gpu", "--gpu"});
        refused(arguments{command, log, "--runtime", "sglang"} + on_h100, {"log", "a log of vllm", "sglang"});
        refused(arguments{command, s.file("cut.log", vllm_log("54.10").substr(0, 290))} + on_h100, {"log", "is no"});
        refused(arguments{command, s.file("snapshot.pickle", std::string{"\x80\x04\x95\x00\x00\x00\x00", 7})} + on_h100,
                {"log", "pickle", "cut off"});
        refused(arguments{command, s.file("call.pickle",
                                          "\x80\x02"
                                          "cos\nsystem\n.")} +
                    on_h100,
                {"log", "pickle", "GLOBAL", "nothing of a pickle is run"});
    }
}

TEST_CASE("a log that says two things is named with both lines, and nothing is learnt from it") {
    const run_program::scratch s;
    const std::string twice = s.file(
        "two.log", vllm_log("54.10") + "(EngineCore pid=9) INFO [gpu_worker.py:1] Available KV cache memory: 9 GiB\n");
    const json answer = planned(arguments{"check", twice} + on_h100);
    CHECK(answer["figures"][1]["line"] == 4);
    CHECK(answer["figures"][1]["contradicted_by_line"] == 5);
    CHECK(run(arguments{"check", twice} + on_h100).out.find("5 says another size") != std::string::npos);
    refused(arguments{"calibrate", twice} + on_h100, {"line 4", "line 5"});
}

TEST_CASE("what people typed into an engine is never repeated") {
    const run_program::scratch s;
    const std::string prompts = "INFO [logger.py:1] Received request c-1: prompt: '" + typed_by_someone +
                                " Available KV cache memory: 1.00 GiB', params\n" + typed_by_someone +
                                "\n{\"messages\": [{\"content\": \"model='" + typed_by_someone + "'\"}]}\n";
    const std::string log = s.file("a.log", prompts + vllm_log("50.00") + prompts);
    const std::string none = s.file("b.log", prompts);
    for (const arguments& typed : {arguments{"check", log},
                                   {"check", log, "--json"},
                                   {"calibrate", log},
                                   {"calibrate", log, "--json"},
                                   {"check", none},
                                   {"check", log, "--runtime", "sglang"}}) {
        const outcome o = run(typed + on_h100);
        CHECK(o.out.find("hunter2") == std::string::npos);
        CHECK(o.err.find("hunter2") == std::string::npos);
    }
}

TEST_CASE("a long log is read in little memory") {
    // LLMRES_LOG_MEGABYTES=1024 tries one of a GiB.
    const char* asked = std::getenv("LLMRES_LOG_MEGABYTES");
    const std::size_t megabytes = asked != nullptr ? std::stoul(asked) : 4;
    const run_program::scratch s;
    const std::string log = s.file("long.log", vllm_log("54.10"));
    {
        std::ofstream file{log, std::ios::app};
        std::string lines;
        while (lines.size() < (std::size_t{1} << 20))
            lines += "(APIServer pid=7) INFO [loggers.py:1] Engine 000: Avg generation throughput: 45.6 tokens/s\n";
        for (std::size_t i = 0; i < megabytes; ++i) file << lines;
        file << std::string(std::size_t{1} << 20, 'x');  // one line that does not end
    }
    const outcome o = run(arguments{"check", log} + on_h100, LLMRES_SOURCE_DIR, run_program::data_within(16 * 1024));
    CHECK(o.exit == fits);
    CHECK(o.err.empty());
}
