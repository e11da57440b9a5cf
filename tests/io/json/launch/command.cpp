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
