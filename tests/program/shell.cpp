// SPDX-License-Identifier: MIT
// The program as part of a shell: standard input and output, completions, the manual page, help in other words.
#include <doctest/doctest.h>

#include "../../examples/llmres/terminal.hpp"
#include "../program_checks.hpp"
#include "shell_words.hpp"

#include <cstdlib>
#include <sstream>
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
    const std::string rows = run_program::content_of(LLMRES_SOURCE_DIR "/tests/data/logs/rows.log");
    const std::string log = files.file("run.log", rows.substr(0, rows.find("==== ", 1)).substr(rows.find('\n') + 1));
    const std::string job = " llama-3.1-8b --gpu l4 --context 1024";
    for (const std::string& command : {std::string{"gpus"},
                                       std::string{"gpus --json"},
                                       std::string{"models"},
                                       std::string{"model qwen3-8b"},
                                       std::string{"runtimes vllm"},
                                       std::string{"formats"},
                                       std::string{"links"},
                                       std::string{"explain"},
                                       "explain weights" + job,
                                       "plan" + job,
                                       "plan" + job + " --json",
                                       "search" + job,
                                       "compare" + job,
                                       std::string{"buy llama-3.1-8b --context 1024 --budget 9000 --price l4=2500"},
                                       "replicas" + job + " --prompt 9 --output 9 --requests_per_second 1",
                                       "check '" + log + "' --gpu a100-sxm4-80gb",
                                       "calibrate '" + log + "' --gpu a100-sxm4-80gb",
                                       std::string{"completion bash"},
                                       std::string{"man"},
                                       std::string{"schema"},
                                       std::string{"help"},
                                       std::string{"help serving"},
                                       std::string{"--help"},
                                       std::string{"--version"}}) {
        CAPTURE(command);
        CHECK(shell("\"$P\" " + command + " >/dev/full 2>'" + err + "'") == 3);
        CHECK(run_program::content_of(err).find("cannot be written") != std::string::npos);
    }
}

TEST_CASE("closed and full standard streams end no command but with its exit code") {
    struct ending {
        const char* command;
        int said;    // where the answer can be written
        int unsaid;  // where it cannot
    };
    for (const auto& [command, said, unsaid] :
         {ending{"plan llama-3.1-8b --gpu h100 --context 1024", 0, 3}, ending{"gpus --json", 0, 3},
          ending{"plan llama-3.1-8b --gpu nix", 2, 2}, ending{"--help", 0, 3}, ending{"", 2, 2},
          ending{"search llama-3.1-8b --gpu h100 --gpus 8", 0, 3}}) {
        CAPTURE(command);
        const std::string line = std::string{"\"$P\" "} + command;
        CHECK(shell(line + " <&- >&- 2>&-") == unsaid);
        CHECK(shell(line + " >/dev/full 2>/dev/full") == unsaid);
        CHECK(shell(line + " >&- 2>/dev/null") == unsaid);
        CHECK(shell(line + " >/dev/null 2>&-") == said);
        CHECK(shell(line + " >/dev/null 2>/dev/full") == said);
        CHECK(shell(line + " <&- >/dev/null 2>&1") == said);
    }
    CHECK(shell("\"$P\" plan - <&- >&- 2>&-") == bad_input);
}

TEST_CASE("every command runs in 512 KB of stack") {
    const std::string job = " llama-3.1-70b --gpu h100 --runtime vllm";
    const std::string training = " llama-3.1-70b --task pretraining --runtime megatron --gpu h100 --gpus 8";
    for (const std::string& command :
         {"plan" + job,
          "plan" + training,
          std::string{"plan llama-3.1-70b --gpu rtx-4090 --runtime llama.cpp --weights q4_k_m"},
          std::string{"plan qwen2.5-32b --gpu 3060,1080ti --ram 32GB -q q4_k_m --runtime llama.cpp"},
          std::string{"plan llama-3.1-8b --task finetuning --runtime huggingface --gpu rtx-4090 --gpus 2"},
          "search" + job + " --gpus 8",
          "search" + training,
          "compare" + job,
          "explain weights" + job,
          std::string{"buy llama-3.1-8b --context 1024 --budget 9000 --price l4=2500"},
          "replicas" + job + " --gpus 8 --prompt 9 --output 9 --requests_per_second 1",
          std::string{"model deepseek-v3"},
          std::string{"gpus"},
          std::string{"models"},
          std::string{"runtimes"},
          std::string{"formats"},
          std::string{"links"},
          std::string{"completion zsh"},
          std::string{"man"},
          std::string{"schema"},
          std::string{"--help"}}) {
        CAPTURE(command);
        const int ended = shell("ulimit -s 512; \"$P\" " + command + " >/dev/null 2>&1 </dev/null");
        CHECK((ended == fits || ended == does_not_fit));
    }
}

TEST_CASE("a job document comes from standard input") {
    const scratch files;
    const std::string job =
        files.file("job", R"({"model": "llama-3.1-8b", "context": 4096, "cluster": {"gpu": "h100-sxm5-80gb"}})");
    const std::string out = (files.path() / "out").string();
    CHECK(shell("\"$P\" plan - --batch 2 --json <'" + job + "' >'" + out + "'") == fits);
    CHECK(nlohmann::json::parse(run_program::content_of(out))["job"]["batch"] == 2);
    CHECK(shell("\"$P\" compare - --batch 1,2 --json <'" + job + "' >'" + out + "'") == fits);
    CHECK(nlohmann::json::parse(run_program::content_of(out))["rows"].size() == 2);
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

TEST_CASE("help by topic has three examples each, which run as they stand") {
    const std::string help = run({"help"}).out;
    std::istringstream names{help.substr(help.rfind(":\n") + 2)};
    int topics = 0;
    for (std::string name; names >> name; ++topics) {
        name.resize(name.find_first_of(",."));
        CAPTURE(name);
        const outcome told = run({"help", name});
        CHECK(told.exit == fits);
        std::istringstream lines{told.out};
        int examples = 0;
        for (std::string line; std::getline(lines, line);) {
            if (!line.starts_with("  llmres ")) continue;
            CAPTURE(line);
            arguments words = shell_words(line.substr(2));
            words.erase(words.begin());
            const outcome o = run(words);
            CAPTURE(o.err);
            CHECK((o.exit == fits || o.exit == does_not_fit));
            ++examples;
        }
        CHECK(examples == 3);
    }
    CHECK(topics >= 8);
    CHECK(run({"help", "spelling"}).out.find("--tensor_parallel_size") != std::string::npos);
    refused({"help", "cooking"}, {"cooking"});
}

TEST_CASE("a verdict has a colour on a terminal alone, and never where NO_COLOR asks for none") {
    const scratch files;
    const bool has_terminals = shell("script -qec true /dev/null >/dev/null 2>&1 </dev/null") == 0;
    if (!has_terminals)
        MESSAGE("no pseudo-terminal can be made here: what a terminal would show is asked of the function");
    const auto shown = [&](const std::string& variable, const std::string& value, bool on_terminal) {
        if (on_terminal && !has_terminals) {
            setenv("TERM", "xterm", 1);
            if (!variable.empty()) setenv(variable.c_str(), value.c_str(), 1);
            std::string text = program::shown(llmres::verdict::fits, program::has_colour(true));
            if (!variable.empty()) unsetenv(variable.c_str());
            return text;
        }
        const std::string out = (files.path() / "out").string();
        const std::string command = (variable.empty() ? "" : variable + "=" + value + " ") +
                                    "'" LLMRES_PROGRAM "' plan llama-3.1-8b --gpu l4 --context 1024";
        const std::string line = on_terminal ? "TERM=xterm script -qec \"" + command + "\" /dev/null" : command;
        CHECK(shell(line + " >'" + out + "' </dev/null") == fits);
        return run_program::content_of(out);
    };
    CHECK(shown("", "", true).find("\x1b[1;32mfits\x1b[0m") != std::string::npos);
    for (const std::string& none : {shown("NO_COLOR", "1", true), shown("TERM", "dumb", true), shown("", "", false)}) {
        CHECK(none.find("fits") != std::string::npos);
        CHECK(none.find('\x1b') == std::string::npos);
    }
}

TEST_CASE("the bar is as wide as a line has room") {
    const scratch files;
    const auto bar = [&](const std::string& columns) {
        const std::string out = (files.path() / "out").string();
        CHECK(shell("COLUMNS=" + columns + " \"$P\" plan llama-3.1-8b --gpu l4 --context 1024 >'" + out + "'") == fits);
        const std::string text = run_program::content_of(out);
        const std::size_t from = text.find('[') + 1;
        return text.find(']') - from;
    };
    CHECK(bar("40") + 11 == 40);
    CHECK(bar("120") + 11 == 120);
    CHECK(bar("9999") + 11 == 160);
    CHECK(bar("nonsense") + 11 == 76);
}

TEST_CASE("tables have heads, and numbers as people read them") {
    const std::string gpus = run({"gpus"}).out;
    CHECK(gpus.starts_with("gpu "));
    CHECK(gpus.find("989 TFLOP/s") != std::string::npos);
    CHECK(run({"gpus", "h100-sxm5-80gb"}).out.find("memory_bandwidth     3.35 TB/s") != std::string::npos);
    const std::string models = run({"models", "qwen3"}).out;
    CHECK(models.starts_with("model "));
    CHECK(models.find("8.19 B") != std::string::npos);
    CHECK(run({"model", "qwen3-8b"}).out.find("8.19 B") != std::string::npos);
}

TEST_CASE("how far a profile was off stands beside the rows that say so, and why where it means little") {
    const std::string vllm = run({"runtimes", "vllm"}).out;
    std::istringstream lines{vllm};
    for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        if (line.find("unmeasured") != std::string::npos) CHECK(line.find("no row") != std::string::npos);
        if (line.find("100.00 %") != std::string::npos) CHECK(line.find("a pool is what all else leaves") != line.npos);
        if (line.find(" 1 of 1") != std::string::npos) CHECK(line.size() > line.find(" 1 of 1") + 12);
    }
    CHECK(vllm.find("figure ") != std::string::npos);
    CHECK(vllm.find("100.00 %") != std::string::npos);
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
    refused({"search", "llama-3.1-8b", "--gpu", "l4", "--in_use", "2G"}, {"in_use", "GB", "GiB"});
    CHECK(run({"plan", "llama-3.1-8b", "--gpu", "l4", "--context", "8k", "--host-memory", "64G", "--json"})
              .json()["cluster"]["host"]["memory"] == 64'000'000'000);
    refused({"search", "llama-3.1-8b", "--gpu", "l4", "--objectiv", "throughput"}, {"--objective"});
    CHECK(run({"model", "qwen3-8b", "--kv-cache-dtype", "fp8", "--json"}).json()["kv_cache"] == "fp8_e4m3");
    refused({"model", "qwen3-8b", "--quantization", "q8"}, {"q8_0"});
}
