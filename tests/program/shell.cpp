// SPDX-License-Identifier: MIT
// The program as part of a shell: standard input and output, completions, the manual page, help in other words.
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <cstdlib>
#include <string>

using namespace program_checks;
using run_program::scratch;

namespace {

/// The exit code of a line of sh in which $P is the program.
int shell(const std::string& line) {
    const int status = std::system(("P='" LLMRES_PROGRAM "'; " + line).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("an answer that cannot be written exits 3") {
    const scratch files;
    const std::string err = (files.path() / "err").string();
    for (const char* command : {"gpus", "gpus --json", "plan llama-3.1-8b --gpu l4 --context 1024", "--help", "man"}) {
        CAPTURE(command);
        CHECK(shell("\"$P\" " + std::string{command} + " >/dev/full 2>'" + err + "'") == 3);
        CHECK(run_program::content_of(err).find("cannot be written") != std::string::npos);
    }
}

TEST_CASE("a job document comes from standard input") {
    const scratch files;
    const std::string job =
        files.file("job", R"({"model": "llama-3.1-8b", "context": 4096, "cluster": {"gpu": "h100-sxm5-80gb"}})");
    const std::string out = (files.path() / "out").string();
    CHECK(shell("\"$P\" plan - --batch 2 --json <'" + job + "' >'" + out + "'") == fits);
    CHECK(nlohmann::json::parse(run_program::content_of(out))["job"]["batch"] == 2);
    CHECK(shell("echo '{\"model\": 1' | \"$P\" plan - 2>/dev/null") == bad_input);
    CHECK(shell("echo '{}' | \"$P\" plan - 2>/dev/null") == bad_input);
    CHECK(shell("\"$P\" plan - </dev/null 2>/dev/null") == bad_input);
    CHECK(shell("\"$P\" plan - </dev/zero 2>/dev/null") == bad_input);
}

TEST_CASE("help and the version go by their usual names") {
    CHECK(run({"help"}).out == run({"--help"}).out);
    CHECK(run({"help", "plan"}).out == run({"plan", "--help"}).out);
    CHECK(run({"-V"}).out == run({"--version"}).out);
    refused({"help", "paln"}, {"paln"});
}

TEST_CASE("completions and the manual page hold every option of every command") {
    const std::string manual = run({"man"}).out;
    CHECK(manual.starts_with(".TH LLMRES 1\n"));
    for (const char* name : {"bash", "zsh", "fish"}) {
        CAPTURE(name);
        const outcome script = run({"completion", name});
        CHECK(script.exit == fits);
        for (const std::string option : {"gpu_memory_utilization", "objective", "importance_matrix"})
            CHECK(script.out.find(option) != std::string::npos);
        CHECK(script.out.find("knob") == std::string::npos);  // what own_spelling() writes is not typed
    }
    CHECK(manual.find("gpu_memory_utilization") != std::string::npos);
    CHECK(shell("\"$P\" completion bash | bash -n") == 0);
    refused({"completion", "csh"}, {"csh", "bash, zsh or fish"});
}

TEST_CASE("every command that takes a job or a model knows the options of other tools") {
    const outcome found = run({"search", "llama-3.1-8b", "--gpu-type", "h100-sxm", "--num-gpus", "8", "--max-model-len",
                               "8k", "--objective", "time_per_token", "--max-batch", "8", "--json"});
    CHECK(found.exit == fits);
    CHECK(found.json()["job"]["context"] == 8192);
    CHECK(found.json()["cluster"]["gpus"] == 8);
    CHECK(found.json()["best"][0]["batch"].get<int>() <= 8);
    refused({"search", "llama-3.1-8b", "--gpu", "l4", "--host-memory", "64G"}, {"host_memory", "GB", "GiB"});
    refused({"search", "llama-3.1-8b", "--gpu", "l4", "--objectiv", "throughput"}, {"--objective"});
    CHECK(run({"model", "qwen3-8b", "--kv-cache-dtype", "fp8", "--json"}).json()["kv_cache"] == "fp8_e4m3");
    refused({"model", "qwen3-8b", "--quantization", "q8"}, {"q8_0"});
}
