// SPDX-License-Identifier: MIT
// Which GPUs are in this machine, or in one whose nvidia-smi somebody pasted?
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <string>

using namespace program_checks;

namespace {

const std::string machines = LLMRES_SOURCE_DIR "/tests/data/machines/";

/// The program where NVML is the tests' own, with more of the environment.
[[maybe_unused]] outcome run_beside_driver(const arguments& words, const std::string& environment) {
#ifdef LLMRES_FAKE_NVML_DIR
    const std::string driver = LLMRES_FAKE_NVML_DIR;
#else
    const std::string driver = "/";
#endif
    return run_program::run(words, LLMRES_SOURCE_DIR,
                            "export LD_LIBRARY_PATH=" + driver + " CUDA_VISIBLE_DEVICES=0,1 " + environment);
}

}  // namespace

TEST_CASE("a plan is on the GPUs that a file lists, with what is in use and the limit that is set") {
    const outcome asked = run({"plan", "qwen3-8b", "-c", "8192", "--gpu", machines + "nvidia_smi_3090.txt", "--json"});
    REQUIRE(asked.exit == 0);
    CHECK(asked.json() == run({"plan", "qwen3-8b", "-c", "8192", "--gpu", "rtx-3090", "--gpus", "2", "--in_use",
                               "417MiB", "--power_limit", "280", "--json"})
                              .json());
    CHECK(asked.err == "llmres: nvidia-smi: --gpu rtx-3090 --gpus 2 --in_use 417MiB --power_limit 280\n");
    // What is said beside it stays.
    const outcome one = run({"plan", "qwen3-8b", "-c", "8192", "--gpu", machines + "nvidia_smi_3090.txt", "--gpus", "1",
                             "--in_use", "0", "--json"});
    CHECK(one.json()["cluster"]["gpus"] == 1);
    CHECK(!one.json()["cluster"].contains("in_use"));
    // Cards that differ are planned as such, and other commands take them as well.
    CHECK(run({"plan", "qwen3-8b", "-q", "q4_k_m", "-c", "8192", "--runtime", "llama.cpp", "--gpu",
               machines + "nvidia_smi_list.txt"})
              .out.find("gtx-1080-ti") != std::string::npos);
    CHECK(run({"fit", "--gpu", machines + "nvidia_smi_4060_ti.xml", "--top", "1"}).exit == 0);
    CHECK(run({"search", "qwen3-8b", "-c", "8192", "--gpu", machines + "nvidia_smi_a100.txt"}).exit == 0);
}

TEST_CASE("the commands of an answer name the GPUs, not the file") {
    const outcome o = run({"plan", "qwen3-32b", "-c", "8192", "--gpu", machines + "nvidia_smi_4060_ti.xml"});
    CHECK(o.exit == 1);
    CHECK(o.out.find("--gpu rtx-4060-ti-16gb") != std::string::npos);
    CHECK(o.out.find(".xml") == std::string::npos);
}

TEST_CASE("machine lists the GPUs of a file, as text and as JSON") {
    const outcome o = run({"machine", machines + "nvidia_smi_h200.csv"});
    CHECK(o.exit == 0);
    CHECK(o.out.find("NVIDIA H200") != std::string::npos);
    CHECK(o.out.find("plan     llmres plan MODEL --gpu h200-sxm5-141gb --gpus 2 --in_use 4MiB --power_limit 650\n") !=
          std::string::npos);
    const auto answer = run({"machine", machines + "rocm_smi.json", "--json"}).json();
    CHECK(answer["schema"] == "llmres/machine/1");
    CHECK(answer["source"] == "rocm-smi");
    CHECK(answer["gpus"].size() == 1);
    CHECK(answer["gpus"][0]["in_use"] == 297'795'584);
    CHECK(answer["gpus"][0]["power_limit"].is_null());
    CHECK(answer["flags"] == "--gpu mi300x-192gb --gpus 1 --in_use 284MiB");
}

TEST_CASE("what is no listing of GPUs is refused by name") {
    refused({"machine", machines + "nvidia_smi_mig.txt"}, {"gpu is NVIDIA A100-SXM4-80GB", "MIG"});
    refused({"machine", LLMRES_SOURCE_DIR "/tests/data/prices.json"},
            {"gpu is ", "prices.json (a text without a GPU)", "nvidia-smi"});
    refused({"machine", "/no/such/file"}, {"gpu is /no/such/file", "a file that can be read"});
    refused({"machine", machines}, {"gpu is " + machines, "a file that can be read"});
    refused({"plan", "-", "--gpu", "-"}, {"gpu is -", "standard input"});
    refused({"plan", "qwen3-8b", "--gpu", machines + "nvidia_smi_mig.txt"}, {"gpu is NVIDIA A100-SXM4-80GB"});
}

#ifdef LLMRES_FAKE_NVML_DIR
TEST_CASE("--gpu auto is the GPUs that the driver of this machine lists, less what is in use") {
    // Two cards of 24 GiB, of which the driver keeps 500 MiB and others hold 200.
    const std::string named = "'LLMRES_FAKE_NVML_NAME=NVIDIA GeForce RTX 3090'";
    const outcome o = run_beside_driver({"plan", "qwen3-8b", "-c", "8192", "--gpu", "auto", "--json"}, named);
    REQUIRE(o.exit == 0);
    const auto cluster = o.json()["cluster"];
    CHECK(cluster["gpu"] == "rtx-3090");
    CHECK(cluster["gpus"] == 2);
    CHECK(cluster["in_use"] == 200 << 20);
    CHECK(o.err.find("NVML: --gpu rtx-3090 --gpus 2 --in_use 200MiB") != std::string::npos);
    const outcome listed = run_beside_driver({"machine"}, named);
    CHECK(listed.out.find("GPU, by NVML") != std::string::npos);
    CHECK(run_beside_driver({"fit", "--gpu", "auto", "--top", "1"}, named).exit == 0);
    CHECK(run_beside_driver({"machine"}, named + " CUDA_VISIBLE_DEVICES=1").out.find("--gpus 1") != std::string::npos);
    CHECK(run_beside_driver({"machine"}, named + " CUDA_VISIBLE_DEVICES=GPU-51515151-0000-4000-8000-000000000000")
              .out.find("--gpus 1") != std::string::npos);
    const auto refusal = [&](const std::string& environment) {
        return run_beside_driver({"machine"}, environment).err;
    };
    CHECK(refusal(named + " CUDA_VISIBLE_DEVICES=").find("CUDA_VISIBLE_DEVICES") != std::string::npos);
    CHECK(refusal(named + " CUDA_VISIBLE_DEVICES=2").find("MIG") != std::string::npos);
    CHECK(refusal("LLMRES_FAKE_NVML=good").find("gpu is Simulated device") != std::string::npos);
    for (const char* mood : {"errors", "unsupported", "no_permission", "nonsense", "init_fails", "lost"}) {
        CAPTURE(mood);
        const outcome failed = run_beside_driver({"machine"}, "LLMRES_FAKE_NVML=" + std::string{mood});
        CHECK(failed.exit == 2);
        CHECK(failed.err.find("gpu is ") != std::string::npos);
    }
}
#endif
