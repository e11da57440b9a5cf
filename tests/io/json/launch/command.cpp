// SPDX-License-Identifier: MIT
#include <llmres/io/json/launch/command.hpp>

#include <doctest/doctest.h>

#include <llmres/io/json/launch/words.hpp>
#include <string>

using namespace llmres;
using detail::launched_program;

namespace {

detail::launched_command started(std::string_view line) {
    const auto commands = detail::shell_commands(line);
    REQUIRE(commands);
    const auto found = detail::launched_in(*commands);
    INFO(line);
    REQUIRE(found);
    return *found;
}

std::string arguments_of(std::string_view line) {
    std::string all;
    for (const detail::shell_word& word : started(line).arguments) all += (all.empty() ? "" : " ") + word.text;
    return all;
}

error refusal_of(std::string_view line) {
    const auto commands = detail::shell_commands(line);
    REQUIRE(commands);
    return detail::launched_in(*commands).error();
}

}  // namespace

TEST_CASE("the programs and the ways in which they are started") {
    CHECK(started("vllm serve m").program == launched_program::vllm);
    CHECK(started("python -m vllm.entrypoints.openai.api_server --model m").program == launched_program::vllm);
    CHECK(started("python3 -u -m sglang.launch_server --model m").program == launched_program::sglang);
    CHECK(started("python /opt/sglang/launch_server.py --model m").program == launched_program::sglang);
    CHECK(started("sglang serve m").program == launched_program::sglang);
    CHECK(started("trtllm-serve serve m").program == launched_program::tensorrt_llm);
    CHECK(arguments_of("trtllm-serve serve m") == "m");
    CHECK(started("./build/bin/llama-server -m x").program == launched_program::llama_cpp);
    CHECK(started("C:\\llama\\llama-cli.exe -m x").program == launched_program::llama_cpp);
    CHECK(started("llama serve -hf a/b").program == launched_program::llama_cpp);
    CHECK(started("ollama run llama3.1:8b").program == launched_program::ollama);
}

TEST_CASE("wrappers are passed over with their options") {
    CHECK(arguments_of("sudo -E env A=b nohup vllm serve m --port 1") == "m --port 1");
    CHECK(arguments_of("numactl --cpunodebind=0 --membind 0 llama-server -m x") == "-m x");
    CHECK(arguments_of("$ uv run --with vllm==0.33.0 vllm serve m") == "m");
    CHECK(arguments_of("srun -N 2 --gpus 8 vllm serve m") == "m");
    CHECK(arguments_of("source venv/bin/activate && export A=1; vllm serve m") == "m");
    CHECK(arguments_of("bash -lc 'cd /x && vllm serve m -tp 2'") == "m -tp 2");
}

TEST_CASE("a container's arguments are those of its server") {
    CHECK(
        arguments_of("docker run --rm -it --gpus all -p 80:8000 -v ~/a:/b -e X=y vllm/vllm-openai:v0.33.0 --model m") ==
        "--model m");
    CHECK(arguments_of("podman run -dp 80:80 ghcr.io/ggml-org/llama.cpp:server-cuda -m x") == "-m x");
    CHECK(arguments_of("docker run ghcr.io/ggml-org/llama.cpp:full --server -m x") == "-m x");
    CHECK(arguments_of("docker run --shm-size=32g lmsysorg/sglang:latest python3 -m sglang.launch_server --model m") ==
          "--model m");
    CHECK(arguments_of("docker run --entrypoint vllm rocm/vllm serve m") == "m");
    CHECK(arguments_of("docker run rocm/vllm:latest bash -c \"vllm serve m\"") == "m");
    const auto seen = started("docker run --gpus '\"device=0,1\"' -e VLLM_USE_V1=1 vllm/vllm-openai m");
    CHECK(seen.visible == 2);
    CHECK(seen.environment.at("VLLM_USE_V1").text == "1");
    CHECK(started("docker run --gpus 4 vllm/vllm-openai m").visible == 4);
}

TEST_CASE("variables of the environment say which GPUs are seen") {
    CHECK(started("CUDA_VISIBLE_DEVICES=0,1 vllm serve m").visible == 2);
    CHECK(started("HIP_VISIBLE_DEVICES=\"4,5,6\" vllm serve m").visible == 3);
    CHECK(started("CUDA_VISIBLE_DEVICES=\"0,\" llama-server -m x").visible == 1);
    CHECK(started("vllm serve m").visible == 0);
    CHECK(refusal_of("CUDA_VISIBLE_DEVICES=$GPUS vllm serve m").value == "$GPUS");
}

TEST_CASE("a line that starts nothing known is refused with what is") {
    CHECK(refusal_of("ls -l").value == "ls");
    CHECK(refusal_of("").value == "empty");
    CHECK(refusal_of("vllm bench throughput").value == "bench");
    CHECK(refusal_of("ollama serve").expected == "run, the command that loads a model");
    CHECK(refusal_of("docker run nginx").code == error_code::unknown);
    CHECK(refusal_of("bash -c 'bash -c \"bash -c \\\"bash -c x\\\"\"'").code == error_code::unknown);
}

TEST_CASE("what installs or enters something before the program is passed over") {
    for (const char* before : {"conda activate vllm && ", "uv pip install vllm\n", "sudo docker pull x; cd ~/vllm; ",
                               "bash -c 'uv pip install vllm'\n"}) {
        CAPTURE(before);
        CHECK(arguments_of(std::string{before} + "vllm serve m") == "m");
    }
    CHECK(refusal_of("uv pip install vllm").value == "absent");
    CHECK(arguments_of("docker exec -it ollama ollama run m") == "m");
    for (const char* hidden : {"CUDA_VISIBLE_DEVICES=-1", "NVIDIA_VISIBLE_DEVICES=none"}) {
        CAPTURE(hidden);
        CHECK(refusal_of(std::string{hidden} + " vllm serve m").code == error_code::out_of_range);
    }
    CHECK(started("CUDA_VISIBLE_DEVICES=0,-1,2 vllm serve m").visible == 1);
    std::string nested;
    for (int i = 0; i < 1'200; ++i) nested += "docker run x ";
    CHECK(refusal_of(nested + "vllm serve m").code == error_code::unknown);
    nested.clear();
    for (int i = 0; i < 6; ++i) nested += "docker run rocm/vllm sudo ";
    CHECK(refusal_of(nested + "vllm serve m").value == "commands in commands");
}

TEST_CASE("where a program and its arguments begin, by the way in which it is started") {
    struct row {
        std::string_view line;
        launched_program program;
        std::string_view arguments;
    };
    using enum launched_program;
    const row rows[] = {
        {"vllm serve", vllm, ""},
        {"/usr/bin/vllm serve m", vllm, "m"},
        {"C:\\a\\vllm.exe serve m", vllm, "m"},
        {"llama server -m a", llama_cpp, "-m a"},
        {"llama cli -m a", llama_cpp, "-m a"},
        {"llama run a", llama_cpp, "a"},
        {"llama-mtmd-cli -m a", llama_cpp, "-m a"},
        {"llama-server", llama_cpp, ""},
        {"llama-server serve", llama_cpp, "serve"},
        {"trtllm-serve m serve", tensorrt_llm, "m serve"},
        {"trtllm-serve serve", tensorrt_llm, ""},
        {"trtllm-serve", tensorrt_llm, ""},
        // Python: a module, a script that has its name, or a program.
        {"python3.12 -m vllm.entrypoints.cli.main serve m", vllm, "m"},
        {"python -X dev -W ignore -u -m sglang.cli.main serve m", sglang, "m"},
        {"python -m tensorrt_llm.commands.serve serve m", tensorrt_llm, "m"},
        {"python -m tensorrt_llm.commands.serve m", tensorrt_llm, "m"},
        {"python vllm/entrypoints/openai/api_server.py --model m", vllm, "--model m"},
        {"python -O /opt/sglang/launch_server.py", sglang, ""},
        {"python /usr/bin/vllm serve m", vllm, "m"},
        // Shells.
        {"sh -c 'vllm serve m' x", vllm, "m"},
        {"zsh -e -lc 'cd x; vllm serve m'", vllm, "m"},
        {"bash -c 'bash -c \"vllm serve m\"'", vllm, "m"},
        // Wrappers.
        {"time nice -n 5 vllm serve m", vllm, "m"},
        {"$ vllm serve m", vllm, "m"},
        {"% vllm serve m", vllm, "m"},
        {"A=1 B_2=x sudo C=3 vllm serve m", vllm, "m"},
        {"ls; vllm serve m", vllm, "m"},
        {"vllm serve m; sglang serve n", vllm, "m"},
        {"vllm bench; sglang serve n", sglang, "n"},
        // Containers.
        {"docker --debug run --rm vllm/vllm-openai m", vllm, "m"},
        {"nerdctl run vllm-openai", vllm, ""},
        {"docker run a.b:5000/vllm-openai:v1 --model m", vllm, "--model m"},
        {"docker run vllm/vllm-openai@sha256:0 m", vllm, "m"},
        {"docker run --name=x --gpus=all vllm-openai m", vllm, "m"},
        {"docker run -p8000:80 -e A=b --network host vllm-openai m", vllm, "m"},
        {"docker run -it -d vllm-openai m", vllm, "m"},
        {"docker run -itv a:b vllm-openai m", vllm, "m"},
        {"docker run -v a:b --ipc host --init vllm-openai m", vllm, "m"},
        {"docker run llama.cpp:full --run -m a", llama_cpp, "-m a"},
        {"docker run llama.cpp:full -s -m a", llama_cpp, "-m a"},
        {"docker run llama.cpp:full -r -m a", llama_cpp, "-m a"},
        {"docker run llama.cpp:server -m a --server", llama_cpp, "-m a --server"},
        {"docker run llama.cpp:server", llama_cpp, ""},
        {"docker run vllm-openai --server m", vllm, "--server m"},
        {"docker run x vllm serve m", vllm, "m"},
        {"docker run x python3 -m sglang.launch_server m", sglang, "m"},
        {"docker run x bash -c 'vllm serve m'", vllm, "m"},
        {"docker run x numactl -N 0 vllm serve m", vllm, "m"},
        {"docker run x A=b vllm serve m", vllm, "m"},
        {"docker run --entrypoint=/usr/bin/vllm x serve m", vllm, "m"},
        {"docker run --entrypoint /bin/bash x -c 'vllm serve m'", vllm, "m"},
        {"docker exec -it x vllm serve m", vllm, "m"},
        {"docker compose exec x vllm serve m", vllm, "m"},
    };
    for (const row& r : rows) {
        CAPTURE(r.line);
        CHECK(started(r.line).program == r.program);
        CHECK(arguments_of(r.line) == r.arguments);
    }
}

TEST_CASE("a line that starts none of the programs is refused with its first word, or with what is wrong") {
    struct row {
        std::string_view line, value;
    };
    const row rows[] = {{"vllm", "absent"},
                        {"ollama ps", "ps"},
                        {"llama bench", "bench"},
                        {"sglang", "absent"},
                        {"vllm-serve m", "vllm-serve"},
                        {"cat vllm serve m", "cat"},
                        {"ls; cat", "ls"},
                        {"sudo ls", "sudo"},
                        {"python", "python"},
                        {"python -m", "python"},
                        {"python -m a.b serve", "python"},
                        {"python -X vllm serve m", "python"},
                        {"python -c 'import vllm' vllm serve m", "python"},
                        {"python a.py vllm serve m", "python"},
                        {"python2x -m vllm.entrypoints.openai.api_server", "python2x"},
                        {"bash", "bash"},
                        {"bash a.sh", "bash"},
                        {"bash -c", "bash"},
                        {"bash -x 'vllm serve m'", "bash"},
                        {"bash -c 'ls'", "bash"},
                        {"bash -c \"a 'b\"", "'b"},
                        {"docker", "docker"},
                        {"docker run", "docker"},
                        {"docker run --rm", "docker"},
                        {"docker run -p", "docker"},
                        {"docker build vllm-openai m", "docker"},
                        {"docker run myvllm-openai m", "docker"},
                        {"docker run --entrypoint ls vllm-openai m", "docker"},
                        {"docker run x vllm bench", "bench"},
                        {"1A=b vllm serve m", "1A=b"},
                        {"=b vllm serve m", "=b"},
                        {"=b=c vllm serve m", "=b=c"},
                        {"vllm bench; ls", "bench"},
                        {"vllm bench; ollama ps", "bench"},
                        {"sudo ls; cat vllm serve m", "sudo"},
                        {"docker run -p vllm-openai", "docker"},
                        {"docker exec vllm-openai ls", "docker"},
                        {"A vllm serve m", "A"},
                        {"# vllm serve m", "empty"}};
    for (const row& r : rows) {
        CAPTURE(r.line);
        CHECK(refusal_of(r.line).value == r.value);
        CHECK_FALSE(refusal_of(r.line).expected.empty());
    }
    CHECK(refusal_of("ls").code == error_code::unknown);
    CHECK(refusal_of("vllm bench").code == error_code::unsupported);
    CHECK(refusal_of("vllm bench").field == "vllm");
    CHECK(refusal_of("vllm bench").expected == "serve, the command that loads a model");
}

TEST_CASE("commands in commands are read four deep, and no deeper") {
    for (const int deep : {1, 2, 3, 4, 5}) {
        std::string line;
        for (int i = 0; i < deep; ++i) line += "docker run x sudo ";
        line += "vllm serve m";
        CAPTURE(line);
        if (deep <= 4)
            CHECK(arguments_of(line) == "m");
        else
            CHECK(refusal_of(line).value == "commands in commands");
    }
    CHECK(arguments_of("docker run x bash -c 'docker run y bash -c \"vllm serve m\"'") == "m");
}

TEST_CASE("the GPUs that a program sees are those of its variables, or of its container") {
    struct row {
        std::string_view line;
        std::int64_t visible;
    };
    const row rows[] = {{"CUDA_VISIBLE_DEVICES=3 vllm serve m", 1},
                        {"CUDA_VISIBLE_DEVICES='0, 1' vllm serve m", 2},
                        {"CUDA_VISIBLE_DEVICES=GPU-1,GPU-2,GPU-3 vllm serve m", 3},
                        {"CUDA_VISIBLE_DEVICES=0,1,-1,2 vllm serve m", 2},
                        {"CUDA_VISIBLE_DEVICES=0,void vllm serve m", 1},
                        {"CUDA_VISIBLE_DEVICES=0,none,1 vllm serve m", 1},
                        {"CUDA_VISIBLE_DEVICES= vllm serve m", 0},
                        {"CUDA_VISIBLE_DEVICES=all vllm serve m", 0},
                        {"ROCR_VISIBLE_DEVICES=0,1 vllm serve m", 2},
                        {"NVIDIA_VISIBLE_DEVICES=0,1 vllm serve m", 2},
                        {"NVIDIA_VISIBLE_DEVICES=all CUDA_VISIBLE_DEVICES=1 vllm serve m", 1},
                        {"VISIBLE_DEVICES=0,1 vllm serve m", 0},
                        {"export CUDA_VISIBLE_DEVICES=0,1; vllm serve m", 2},
                        {"docker run --gpus all vllm-openai m", 0},
                        {"docker run --gpus=2 vllm-openai m", 2},
                        {"docker run --gpus 0 vllm-openai m", 0},
                        {"docker run --gpus 2x vllm-openai m", 0},
                        {"docker run --gpus device=3 vllm-openai m", 1},
                        {"docker run --gpus '\"device=1,2\"' vllm-openai m", 2},
                        {"docker run -e CUDA_VISIBLE_DEVICES=0,1 vllm-openai m", 2},
                        {"docker run --env=CUDA_VISIBLE_DEVICES=0,1 vllm-openai m", 2},
                        {"docker run -eCUDA_VISIBLE_DEVICES=0,1 vllm-openai m", 2},
                        {"docker run --env-file CUDA_VISIBLE_DEVICES=0 vllm-openai m", 0},
                        {"docker run -e CUDA_VISIBLE_DEVICES vllm-openai m", 0}};
    for (const row& r : rows) {
        CAPTURE(r.line);
        CHECK(started(r.line).visible == r.visible);
    }
    CHECK(refusal_of("docker run -e CUDA_VISIBLE_DEVICES=$A vllm-openai m").field == "CUDA_VISIBLE_DEVICES");
    CHECK(refusal_of("CUDA_VISIBLE_DEVICES=, vllm serve m").expected == "a GPU that the program sees");
    CHECK(refusal_of("HIP_VISIBLE_DEVICES=void vllm serve m").value == "void");
    CHECK(started("docker run -e A -e B=c vllm-openai m").environment.size() == 1);
    CHECK(started("docker run -e B=c vllm-openai m").environment.at("B").text == "c");
    const auto set = started("A=b=c export D=$E vllm serve m").environment;
    CHECK(set.size() == 2);
    CHECK(set.at("A").text == "b=c");
    CHECK(set.at("A").variable.empty());
    CHECK(set.at("D").variable == "$E");
}
