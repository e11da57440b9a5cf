// SPDX-License-Identifier: MIT
// Questions as people type them: how large is a checkpoint, how long does training wait for it, and how long does an
// engine load its weights?
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <cstdint>
#include <string>
#include <string_view>

using namespace program_checks;
using nlohmann::json;

namespace {

const arguments tuned{"plan", "llama-3.1-70b", "--task", "finetuning", "--gpu", "h100-sxm5-80gb", "--gpus",
                      "16",   "--sequence",    "4096",   "--zero",     "3",     "--recompute",    "full"};
constexpr std::int64_t of_70b = 70'553'706'496;

/// The answer, whether it fits or not.
json said(const arguments& asked) { return run(asked + arguments{"--json"}).json(); }
arguments by(const char* runtime) { return tuned + arguments{"--runtime", runtime}; }
std::string page_of(const arguments& asked) { return run(asked).out; }
bool has(const std::string& page, std::string_view part) { return page.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("1. How big is a checkpoint of DeepSpeed's ZeRO 3 of a 70B?") {
    const json c = said(by("deepspeed") + arguments{"--checkpoint_keep", "5"})["checkpoint"];
    CHECK(c["bytes"] == 12 * of_70b);
    CHECK(c["writers"] == 16);
    CHECK(c["kept_bytes"] == 5 * 12 * of_70b);
    CHECK_FALSE(c.contains("seconds_at_least"));
    const json gathered = said(by("deepspeed") + arguments{"--checkpoint_files", "gathered"})["checkpoint"];
    CHECK(gathered["bytes"] == 14 * of_70b);
}

TEST_CASE("2. How long does saving stall training at 2 GB/s a node, and what does that make of goodput?") {
    const arguments asked = by("torchtitan") + arguments{"--storage_bandwidth", "2GB/s"};
    const json c = said(asked)["checkpoint"];
    CHECK(c["stall_at_least"].get<double>() == doctest::Approx(6 * of_70b / 2e9));
    const json run = said(asked + arguments{"--tokens", "1G", "--mtbf", "40h"})["run"];
    const json given = said(asked + arguments{"--tokens", "1G", "--mtbf", "40h", "--checkpoint",
                                              std::to_string(6 * of_70b / 2e9) + "s"})["run"];
    CHECK(run["goodput"].get<double>() < 1);
    CHECK(run["goodput"].get<double>() == doctest::Approx(given["goodput"].get<double>()).epsilon(1e-6));
    CHECK(has(page_of(asked), "         training waits 3.53 min or longer for it\n"));
}

TEST_CASE("3. Does a host's memory survive a gathered save?") {
    const arguments asked = by("huggingface") + arguments{"--storage_bandwidth", "2GB/s", "--host_memory"};
    const json small = said(asked + arguments{"512GB"});
    CHECK(small["checkpoint"]["host_memory"] == 8 * of_70b);
    CHECK(small["verdict"] == "does_not_fit");
    CHECK(small["reasons"].back()["code"] == "checkpoint_exceeded");
    CHECK(small["reasons"].back()["text"] ==
          "writing a checkpoint takes 526 GiB of a node's main memory, which has 477 GiB for it");
    const json large = said(asked + arguments{"1TB"});
    CHECK(large["reasons"] == said(by("huggingface") + arguments{"--host_memory", "1TB"})["reasons"]);
    // Unasked, nothing is said of checkpoints.
    const json unasked = said(by("huggingface") + arguments{"--host_memory", "512GB"});
    CHECK_FALSE(unasked.contains("checkpoint"));
    CHECK(unasked["verdict"] == large["verdict"]);
}

TEST_CASE("4. How long until vLLM has loaded a 70B?") {
    const arguments asked{"plan", "llama-3.1-70b", "--gpu", "h100-sxm5-80gb",     "--gpus", "4", "--context",
                          "4096", "--runtime",     "vllm",  "--storage_bandwidth"};
    const json loading = said(asked + arguments{"5GB/s"})["loading"];
    CHECK(loading["bytes"] == 2 * of_70b);
    CHECK(loading["seconds_at_least"].get<double>() == doctest::Approx(2 * of_70b / 5e9));
    CHECK(loading["page_cache_seconds_at_least"] < 2);
    CHECK(has(page_of(asked + arguments{"5GB/s"}),
              "\nloads    141 GB of weights in 28.2 s or longer from the storage, in "));
    CHECK_FALSE(said(asked + arguments{"5GB/s"}).contains("checkpoint"));
}

TEST_CASE("5. What do five checkpoints take?") {
    const std::string page = page_of(by("torchtitan") + arguments{"--checkpoint_keep", "5"});
    CHECK(has(page,
              "\nsaves    a checkpoint of 847 GB, sharded by 16 processes: 282 GB of weights, 564 GB of optimizer "
              "states\n"));
    CHECK(has(page, "         5 of them are 4.23 TB, 5.08 TB while the next is written\n"));
}

TEST_CASE("6. What does asynchronous checkpointing cost and save?") {
    const arguments asked = by("torchtitan") + arguments{"--storage_bandwidth", "2GB/s", "--checkpoint_mode"};
    const json waits = said(asked + arguments{"sync"})["checkpoint"];
    const json beside = said(asked + arguments{"async"})["checkpoint"];
    CHECK(beside["host_memory"] == beside["node_bytes"]);
    CHECK(waits["host_memory"] < beside["host_memory"]);
    CHECK(beside["seconds_at_least"] == waits["seconds_at_least"]);
    CHECK(beside["stall_at_least"].get<double>() < waits["stall_at_least"].get<double>() / 100);
    const json run = said(asked + arguments{"async", "--tokens", "1G", "--mtbf", "1h"})["run"];
    CHECK(run["checkpoint_interval"] >= beside["seconds_at_least"]);
}

TEST_CASE("7. How large is an adapter's checkpoint?") {
    const json c = said(by("huggingface") + arguments{"--adapter_kind", "lora", "--adapter_rank", "16",
                                                      "--checkpoint_keep", "1"})["checkpoint"];
    CHECK(c["bytes"].get<std::int64_t>() < 3'000'000'000);
    CHECK(c["optimizer"] == 2 * c["weights"].get<std::int64_t>());
}

TEST_CASE("8. and 9. What do torchtitan and Megatron-Core write, and what of weights alone?") {
    CHECK(said(by("torchtitan") + arguments{"--checkpoint_weights_only"})["checkpoint"]["bytes"] == 4 * of_70b);
    const json megatron = said(arguments{"plan", "llama-3.1-70b", "--task", "pretraining", "--gpu", "h100-sxm5-80gb",
                                         "--gpus", "16", "--tensor", "8", "--zero", "1", "--runtime", "megatron",
                                         "--checkpoint_keep", "1"})["checkpoint"];
    CHECK(megatron["bytes"] == 14 * of_70b);
    CHECK(megatron["host_memory"] == megatron["node_bytes"]);
}

TEST_CASE("10. When has llama.cpp read a file that it maps?") {
    const json loading = said(arguments{"plan", "llama-3.1-8b", "--weights", "q4_k_m", "--gpu", "rtx-4090", "--context",
                                        "4096", "--runtime", "llama.cpp", "--storage_bandwidth", "500MB/s"})["loading"];
    CHECK(loading["bytes"] > 4'900'000'000);
    CHECK(loading["bytes"] < 4'950'000'000);
    CHECK(loading["seconds_at_least"].get<double>() == doctest::Approx(loading["bytes"].get<double>() / 5e8));
}

TEST_CASE("a search says it of each layout, and leaves checkpoints out that a layout does not write") {
    const json found =
        said(arguments{"search", "llama-3.1-8b", "--task", "finetuning", "--gpu", "h100-sxm5-80gb", "--gpus", "8",
                       "--sequence", "2048", "--runtime", "huggingface", "--top", "3", "--storage_bandwidth", "2GB/s"});
    REQUIRE_FALSE(found["best"].empty());
    for (const json& one : found["best"]) CHECK(one.contains("checkpoint"));
}

TEST_CASE("what cannot be is refused with its flag and what is meant") {
    const arguments titan = by("torchtitan"), trainer = by("huggingface");
    for (const char* wrong : {"0", "-2GB/s", "5000TB/s", "2parsec"}) {
        CAPTURE(wrong);
        refused(titan + arguments{"--storage_bandwidth", wrong}, {"bandwidth"});
    }
    for (const char* bits_or_bytes : {"25Gbps", "25Gb/s", "25G"})
        refused(titan + arguments{"--storage_bandwidth", bits_or_bytes}, {"GB/s (bytes) or Gbit/s (bits)"});
    refused(titan + arguments{"--storage_total_bandwidth", "2GB/s"}, {"storage.bandwidth", "absent", "of one node"});
    for (const char* flag : {"--storage_bandwidth", "--storage_total_bandwidth"})
        for (const char* bare : {"2", "2.5", "900"})
            refused(titan + arguments{flag, bare}, {"bandwidth with its unit, such as " + std::string{bare} + "GB/s"});
    refused(titan + arguments{"--checkpoint_files", "gathered"}, {"no process gathers the weights under torchtitan"});
    refused(titan + arguments{"--storage_bandwidth", "2GB/s", "--checkpoint_weights_only", "--tokens", "1G", "--mtbf",
                              "40h"},
            {"from which training goes on after a failure"});
    refused(trainer + arguments{"--checkpoint_mode", "async"}, {"huggingface waits until a checkpoint is written"});
    refused(arguments{"plan", "llama-3.1-8b", "--gpu", "l4", "--context", "4096", "--checkpoint_keep", "2"},
            {"task pretraining or finetuning"});
    CHECK(said(titan + arguments{"--storage_bandwidth", "25Gbit/s"})["checkpoint"]["seconds_at_least"] ==
          said(titan + arguments{"--storage_bandwidth", "3.125GB/s"})["checkpoint"]["seconds_at_least"]);
}
