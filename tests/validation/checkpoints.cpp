// SPDX-License-Identifier: MIT
// Checkpoints that frameworks wrote, and published sizes of others, against the bytes that are counted.
#include <llmres/memory/checkpoint.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <llmres/jobs/find_names.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>
#include <map>
#include <string>

#include "../csv.hpp"

using namespace llmres;

namespace {

/// Llama's modules as tests/validation/pytorch/save_reference.py has them.
model small_llama(bool tied) {
    return {.name = "small",
            .architecture = "llama",
            .vocabulary = 4096,
            .hidden = 256,
            .layers = {4, {.attention = {.heads = 8, .kv_heads = 4, .head_dim = 32}, .feed_forward = {.width = 688}}},
            .max_context = tokens(256),
            .tied_head = tied,
            .weights = bf16};
}

checkpoint_bytes saved(const job& j, const layout& l, const checkpoint_request& r = {}) {
    return checkpoint_of(r, j, l, cluster{.gpus = static_cast<std::int32_t>(l.gpus()), .gpus_per_node = 8}).value();
}

/// The checkpoint of a row of the table.
checkpoint_bytes planned(const csv::row& row) {
    const std::string& framework = row.at("framework");
    job j{.model = small_llama(row.at("tied") == "1"),
          .task = task::finetuning,
          .runtime = framework == "dcp"         ? runtimes::pytorch
                     : framework == "deepspeed" ? runtimes::deepspeed
                                                : runtimes::huggingface};
    j.weights = row.at("dtype") == "fp32" ? fp32 : bf16;
    j.optimizer = find_optimizer(row.at("optimizer")).value();
    if (row.at("lora_rank") != "0")
        j.adapter = {.kind = adapter_kind::lora,
                     .rank = std::stoi(row.at("lora_rank")),
                     .targets = {weight_role::q_proj, weight_role::v_proj}};
    layout l{.data = std::stoi(row.at("ranks"))};
    l.zero = framework == "dcp" || row.at("fsdp") != "0" ? 3 : std::stoi(row.at("zero"));
    checkpoint_request r{.weights_only = row.at("weights_only") == "1"};
    if (!row.at("asked").empty())
        r.files = row.at("asked") == "gathered" ? checkpoint_files::gathered : checkpoint_files::sharded;
    return saved(j, l, r);
}

double in_gib(byte_count b) { return static_cast<double>(b.in(bytes)) / static_cast<double>(gib(1).in(bytes)); }

}  // namespace

TEST_CASE("files that frameworks wrote hold the counted bytes, and less than a megabyte of names and shapes") {
    const auto rows = csv::read(LLMRES_SOURCE_DIR "/tests/validation/data/checkpoints.csv");
    CHECK(rows.size() == 45);
    std::map<std::string, std::int64_t> written;
    std::map<std::string, csv::row> cases;
    for (const csv::row& row : rows) {
        std::string of;
        for (const char* column :
             {"framework", "ranks", "dtype", "tied", "optimizer", "lora_rank", "fsdp", "zero", "asked", "weights_only"})
            of += row.at(column) + " ";
        written[of] += std::stoll(row.at("bytes"));
        cases[of] = row;
    }
    CHECK(cases.size() == 21);
    for (const auto& [of, row] : cases) {
        const checkpoint_bytes c = planned(row);
        byte_count counted = c.total();
        // save_reference.py calls what the Trainer does beside its model.safetensors.
        if (row.at("framework") == "accelerate" && row.at("asked") == "gathered") counted -= c.weights;
        const std::int64_t beside = written[of] - counted.in(bytes);
        CHECK_MESSAGE(beside >= 0, of, written[of], " written, ", counted.in(bytes), " counted");
        CHECK_MESSAGE(beside < 1'000'000, of, written[of], " written, ", counted.in(bytes), " counted");
    }
}

TEST_CASE("BLOOM: 329 GB of bf16 weights, 2.3 TB with the optimizer's states") {
    // bigscience.notion.site, "BigScience 176B Model": powers of two, as du prints them. The training checkpoint has
    // the embedding's states on the first and on the last of 12 stages.
    const job j{
        .model = find_model("bloom").value(), .task = task::pretraining, .runtime = runtimes::megatron_deepspeed};
    const layout l{.tensor = 4, .pipeline = 12, .data = 8, .zero = 1};
    CHECK(std::ceil(in_gib(weight_bytes(j.model, formats_for(bf16)))) == 329);
    CHECK(std::round(in_gib(saved(j, l).total()) / 1024 * 10) == 23);
}

TEST_CASE("Llama 3.1 8B under ZeRO 2 on one GPU: 90 GB of states, 15 GB of weights") {
    // DeepSpeed issue 6598: bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt 90G, mp_rank_00_model_states.pt 15G
    const job j{.model = models::llama_3_1_8b, .task = task::finetuning, .runtime = runtimes::deepspeed};
    const checkpoint_bytes c = saved(j, {.zero = 2});
    CHECK(std::round(in_gib(c.states)) == 90);
    CHECK(std::round(in_gib(c.weights)) == 15);
}

TEST_CASE("LoRA of rank 16 on q and v of Qwen2.5 72B: 131,118,496 bytes, and 262,476,043 of states") {
    // github.com/MakazhanAlpamys/Soup issue 352: adapter_model.safetensors and optimizer.bin on 8 GPUs with FSDP2
    job j{.model = find_model("qwen2.5-72b").value(), .task = task::finetuning, .runtime = runtimes::huggingface};
    j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = {weight_role::q_proj, weight_role::v_proj}};
    const checkpoint_bytes c = saved(j, {.data = 8, .zero = 3});
    CHECK(c.weights == bytes(131'072'000));
    CHECK(131'118'496 - c.weights.in(bytes) < 50'000);  // names of 320 tensors
    CHECK(262'476'043 - c.states.in(bytes) < 400'000);
}

TEST_CASE("MPT 7B in one file of fp32 weights and moments: 75 GB") {
    // llm-foundry issue 163: ep2-ba160-rank0.pt, 75G. Its model multiplies by the embedding, and has no head to write.
    const job j{.model = find_model("mpt-7b").value(), .task = task::finetuning, .runtime = runtimes::torchtitan};
    const checkpoint_bytes c = saved(j, {.data = 8, .zero = 3});
    CHECK(std::ceil(in_gib(c.weights + c.states)) == 75);
}

TEST_CASE("Llama 2 7B in shards of four ranks: 3.14 GB of bf16 weights each") {
    // llama-cookbook issue 476: four __n_0.distcp of 3.14GB each without the optimizer
    const job j{.model = models::llama_2_7b, .task = task::finetuning, .weights = bf16, .runtime = runtimes::pytorch};
    const checkpoint_bytes c = saved(j, {.data = 4, .zero = 3}, {.weights_only = true});
    CHECK(std::round(in_gib(c.process) * 100) == 314);
}

TEST_CASE("GPT-NeoX 20B: 41,112,854,242 bytes of weights") {
    // mystic.the-eye.eu/public/AI/models/GPT-NeoX-20B: the folder of slim weights
    const std::int64_t counted = weight_bytes(find_model("gpt-neox-20b").value(), formats_for(fp16)).in(bytes);
    CHECK(counted <= 41'112'854'242);
    CHECK(41'112'854'242 - counted < 4'000'000);  // two tensor ranks, each with its norms and biases
}
