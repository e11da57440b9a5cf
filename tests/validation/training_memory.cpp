// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <llmres/io/job_json.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../run_program.hpp"
#include "as_the_program.hpp"
#include "training/scores.hpp"

// Published training measurements; `table_training_memory` prints the table that docs/accuracy.md shows.

namespace {

const std::map<std::string, training_runs::score>& scores() {
    static const auto made = [] {
        std::map<std::string, training_runs::score> by_series;
        training_runs::for_each_run([&](const training_runs::run& r) { by_series[r.series].add(r); });
        return by_series;
    }();
    return made;
}

const training_runs::errors& of(const char* series, const char* counter) {
    return scores().at(series).counters.at(counter);
}

}  // namespace

TEST_CASE("Megatron-Core on B200: allocated memory within 0.4 % on average, 1.3 % at worst") {
    CHECK(of("megatron_b200", "allocated").rows == 24);
    CHECK(of("megatron_b200", "allocated").mean() <= 0.004);
    CHECK(of("megatron_b200", "allocated").worst <= 0.013);
    CHECK(of("megatron_b200", "reserved").mean() <= 0.02);
}

TEST_CASE(
    "Hugging Face with PEFT, bitsandbytes, GPTQ, FSDP and fused kernels: 125 runs within 1.2 % on average, 5 % at "
    "worst") {
    CHECK(of("fms_a100_80gb", "allocated").mean() <= 0.012);
    CHECK(of("fms_a100_80gb_granite", "allocated").mean() <= 0.007);
    CHECK(of("fms_a100_80gb_liger", "allocated").mean() <= 0.009);
    for (const char* series : {"fms_a100_80gb", "fms_a100_80gb_granite", "fms_a100_80gb_liger"}) {
        const training_runs::errors& e = of(series, "allocated");
        CHECK(e.worst <= 0.05);
        CHECK(e.inside >= e.rows * 95 / 100);
        // Four of 125 hold less than a quarter of the blocks that only one phase uses (memory/training/allocator.hpp).
        CHECK(of(series, "nvidia-smi").inside * 100 >= of(series, "nvidia-smi").rows * 95);
    }
}

TEST_CASE("other engines: errors that a change must not raise") {
    CHECK(of("torchtune_flags", "allocated").mean() <= 0.006);
    CHECK(of("torchtune_flags", "allocated").inside == of("torchtune_flags", "allocated").rows);
    CHECK(of("megatron_golden", "allocated").mean() <= 0.03);
    // Outside: the private pools of one run's CUDA graphs; and one test on two A100 clusters, where Transformer Engine
    // chose attention by pairs (its other runs on A100 take 1.4 GiB less, with the same arguments).
    CHECK(of("megatron_golden", "allocated").rows == 216);
    CHECK(of("megatron_golden", "allocated").rows - of("megatron_golden", "allocated").inside <= 3);
    CHECK(of("torchao", "reserved").mean() <= 0.017);
    CHECK(of("torchtitan", "reserved").mean() <= 0.028);
    CHECK(of("fsdp_qlora", "reserved").mean() <= 0.03);
    CHECK(of("fsdp_qlora", "reserved").median_width() <= 0.25);
    CHECK(of("fsdp_qlora", "reserved").inside == of("fsdp_qlora", "reserved").rows);
    // The runs whose batch took the GPU to its limit: their loop keeps the logits (holds_outputs) beside the upper
    // bound.
    CHECK(scores().at("fsdp_qlora").tight <= 5);
    CHECK(of("litgpt", "allocated").mean() <= 0.024);
    CHECK(of("bloom_prequel", "nvidia-smi").mean() <= 0.043);
    CHECK(of("swift", "reserved").mean() <= 0.085);
    CHECK(of("swift", "reserved").inside * 100 >= of("swift", "reserved").rows * 95);
    CHECK(of("swift", "reserved").median_width() <= 0.60);
    CHECK(of("fsdp_qlora_profile", "allocated").mean() <= 0.033);
    CHECK(of("stas_h200_b200", "reserved").mean() <= 0.013);
    CHECK(of("stas_h200_b200", "reserved").median_width() <= 0.25);
    CHECK(of("stas_h200_b200", "reserved").inside == of("stas_h200_b200", "reserved").rows);
    CHECK(of("deepspeed", "allocated").mean() <= 0.03);
    CHECK(of("issues", "allocated").mean() <= 0.03);
}

TEST_CASE("torchtitan: every run lies in its interval, and at most a tenth are tight") {
    for (const char* series : {"torchtitan", "torchao"}) {
        const training_runs::errors& e = of(series, "reserved");
        CHECK(e.inside == e.rows);
        CHECK(scores().at(series).tight * 10 <= e.rows);
    }
}

TEST_CASE("a pair of consumer cards loses no more for sure than was left beside what PyTorch reserved on it") {
    int pairs = 0;
    training_runs::for_each_run([&](const training_runs::run& r) {
        if (r.on.gpu.memory.fitted > llmres::gib(24) || r.on.gpus != 2 || r.reserved <= 0) return;
        const auto predicted = training_runs::predicted(r);
        REQUIRE(predicted);
        CAPTURE(r.id);
        const llmres::byte_count beside = predicted->total().low - predicted->reserved.low;
        CHECK(beside.in(llmres::gib) + r.reserved <= llmres::available_memory(r.on).in(llmres::gib));
        ++pairs;
    });
    CHECK(pairs >= 10);
}

TEST_CASE("lit-gpt rotates a part of each head in place: LoRA of such a model takes at most 1 % less than planned") {
    int runs = 0;
    training_runs::for_each_run([&](const training_runs::run& r) {
        if (r.series != "litgpt" || r.what.model.architecture != "gpt_neox" || !r.what.adapter.low_rank()) return;
        const auto predicted = training_runs::predicted(r);
        REQUIRE(predicted);
        CAPTURE(r.id);
        CHECK(predicted->allocated.expected.in(llmres::gib) <= r.allocated * 1.01);
        ++runs;
    });
    CHECK(runs >= 4);
}

TEST_CASE("nothing that ran out of memory is called fits, and little that ran is called does_not_fit") {
    for (const auto& [name, s] : scores()) {
        INFO(name);
        CHECK(s.refused == 0);
        CHECK(s.failed_fits == 0);
        CHECK(s.ran_refused * 20 <= s.ran);
    }
}

TEST_CASE("of all rows at most 7 % are tight, and at most 1 % of the runs are called does_not_fit") {
    int rows = 0, ran = 0, tight = 0, ran_refused = 0;
    for (const auto& [name, s] : scores()) {
        rows += s.ran + s.failed;
        ran += s.ran;
        tight += s.tight;
        ran_refused += s.ran_refused;
    }
    CHECK(rows >= 1090);
    CHECK(tight * 100 <= rows * 7);
    CHECK(ran_refused * 100 <= ran);
}

TEST_CASE("exact counters of each series: 3 % on average, 95 % inside bounds whose median width is a fifth") {
    int counters = 0;
    for (const auto& [name, s] : scores()) {
        for (const auto& [counter, e] : s.counters) {
            if (e.rows == 0 || (counter != "allocated" && counter != "reserved")) continue;
            CAPTURE(name);
            CAPTURE(counter);
            ++counters;
            // Samples of many lengths fragment the allocator (swift); what is sharded is gathered in blocks that an
            // allocator may keep (reserved).
            CHECK(e.mean() <= (name == "swift" ? 0.085 : 0.03));
            CHECK(e.inside * 100 >= e.rows * 95);
            CHECK(e.median_width() <= (name == "swift" ? 0.60 : counter == "reserved" ? 0.25 : 0.20));
        }
    }
    CHECK(counters >= 16);
}

TEST_CASE("each series that misses a bar is named in docs/accuracy.md, with a reason") {
    std::ifstream in{LLMRES_SOURCE_DIR "/docs/accuracy.md"};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    const std::size_t begin = text.find("Series further off than 3 %");
    REQUIRE(begin != std::string::npos);
    const std::string reasons = text.substr(begin, text.find("<!-- /training -->") - begin);
    for (const auto& [name, s] : scores()) {
        CAPTURE(name);
        bool missed = s.tight * 10 > s.ran + s.failed;
        for (const auto& [counter, e] : s.counters)
            missed = missed || (e.rows > 0 && (e.mean() > 0.03 || e.inside * 100 < e.rows * 95));
        const bool named = reasons.find("| " + name + " ") != std::string::npos ||
                           reasons.find("| " + name + ",") != std::string::npos ||
                           reasons.find(", " + name + " ") != std::string::npos ||
                           reasons.find(", " + name + ",") != std::string::npos;
        CHECK(named == missed);
    }
}

TEST_CASE("nothing but the documents says what a run was: no C++ sets a field of a job, a layout or a runtime") {
    for (const auto& entry : std::filesystem::directory_iterator{LLMRES_SOURCE_DIR "/tests/validation/training"}) {
        if (entry.path().extension() != ".hpp" && entry.path().extension() != ".cpp") continue;
        CAPTURE(entry.path().string());
        const std::string code = run_program::content_of(entry.path());
        for (const char* setting : {"runtimes::", ".kernels", ".sharding", ".allocator", ".optimizer =", ".weights ="})
            CHECK(code.find(setting) == std::string::npos);
    }
}

TEST_CASE("a random sample of 200 documents has the same figures by `llmres plan`") {
    std::vector<training_runs::run> runs;
    training_runs::for_each_run([&](const training_runs::run& r) { runs.push_back(r); });
    std::mt19937 random{14};
    for (int i = 0; i < as_the_program::sample_size; ++i) {
        const training_runs::run& r = runs[random() % runs.size()];
        const llmres::result<llmres::job_plan> planned = llmres::plan(r.what, r.over, r.on);
        as_the_program::check(r.id, r.text, planned);
        // What the table scores is that plan, but for counters of one stage of a pipeline.
        if (!planned || r.defective || r.first_stage || r.last_stage) continue;
        const llmres::maybe<llmres::memory_breakdown> scored = training_runs::predicted(r);
        REQUIRE(scored);
        CHECK(scored->terms == planned->memory.terms);
        CHECK(scored->allocated == planned->memory.allocated);
        CHECK(scored->reserved == planned->memory.reserved);
    }
}

TEST_CASE("the converter makes these documents of the published tables, and refuses publishers that it does not know") {
    const std::string converter = LLMRES_SOURCE_DIR "/tests/validation/training/make_documents.py";
    const run_program::scratch folder;
    const auto converted = [&](const std::string& tables) {
        const std::string made = (folder.path() / "made.jsonl").string();
        const std::string line =
            "python3 -B '" + converter + "' --program '" LLMRES_PROGRAM "' " + tables + " >'" + made + "' 2>/dev/null";
        return std::system(line.c_str()) == 0 ? run_program::content_of(made) : std::string{};
    };
    const std::string unknown = "id,series,framework,complete,measured_peak_allocated_gib,hidden,heads,gpu,oom\n";
    CHECK(converted(folder.file("one.csv", unknown + "1,litgpt,,Y,1,64,4,H100,no\n")).find("litgpt") !=
          std::string::npos);
    CHECK(converted(folder.file("one.csv", unknown + "1,elsewhere,some software,Y,1,64,4,H100,no\n")).empty());
    CHECK(converted(folder.file("one.csv", unknown + "1,litgpt,,Y,1,64,4,a card,no\n")).empty());
    CHECK(converted(folder.file("one.csv", "a,b\n1,2\n")).empty());
    const std::string dated = converted(folder.file(
        "one.csv",
        "id,series,framework,complete,measured_peak_allocated_gib,hidden,layers,heads,ffn,vocab,seq_len,gpu,oom\n"
        "1,mbridge,Megatron-Bridge with MCore 0.12.1,Y,1,64,2,4,256,1000,128,H100,no\n"));
    REQUIRE_FALSE(dated.empty());
    const auto read = llmres::read_job(nlohmann::json::parse(dated).at("document"));
    REQUIRE(read);
    CHECK(read->job.runtime.identity.versions == llmres::runtimes::megatron_0_12.identity.versions);
    CHECK(llmres::plan(read->job, *read->layout, read->cluster));
    const auto of = [&](const std::string& method, const std::string& precision, const std::string& attention) {
        const std::string made = converted(folder.file(
            "one.csv",
            "id,series,framework,complete,measured_peak_allocated_gib,hidden,layers,heads,ffn,vocab,seq_len,gpu,oom,"
            "method,precision,attention\n"
            "1,litgpt,,Y,1,64,2,4,256,1000,128,H100,no," +
                method + ',' + precision + ',' + attention + '\n'));
        return made.empty() ? nlohmann::json{} : nlohmann::json::parse(made).at("document");
    };
    // Mixed precision keeps fp32 weights of what is trained; what is quantised is frozen.
    CHECK(of("full", "bf16-mixed", "SDPA")["weights"] == "fp32");
    CHECK(of("qlora bnb.nf4 lora r8", "bf16-mixed", "SDPA")["weights"] == "nf4");
    CHECK(of("lora r8", "bf16-mixed (nf4 base)", "SDPA")["weights"] == "nf4");
    CHECK(of("qlora int4 GPTQ r64", "fp16 compute", "SDPA")["weights"] == "gptq_int4_g128");
    for (const char* eager : {"eager", "unfused", "no flash", "without flash attention", "flash attention off"})
        CHECK(of("full", "bf16-true", eager)["attention"] == "eager");
    CHECK(of("full", "bf16-true", "SDPA (no flash)")["attention"] == "sdpa");
    for (const char* flash : {"SDPA flash", "FlashAttention-2", "flash"})
        CHECK(of("full", "bf16-true", flash)["attention"] == "flash");
    for (const auto& [method, kind] : {std::pair{"DoRA r16", "dora"}, std::pair{"QDoRA r16 nf4", "dora"},
                                       std::pair{"LoRA r16", "lora"}, std::pair{"rsLoRA r16", "rslora"}}) {
        CHECK(of(method, "bf16-true", "SDPA")["adapter"]["kind"] == kind);
        CHECK(of(method, "bf16-true", "SDPA")["adapter"]["rank"] == 16);
    }
    for (const char* other : {"IA3", "houlsby adapter (33.7M)", "BAdam"})
        CHECK(of(other, "bf16-true", "SDPA").is_null());

    const std::string shared = LLMRES_SHARED_DATA;
    if (shared.empty()) return;
    const std::string train = "'" + shared + "/train/";
    CHECK(converted(train + "memory.csv' " + train + "megatron_golden.csv' " + train + "megatron_b200.csv' " + train +
                    "ultrascale.csv'") ==
          run_program::content_of(LLMRES_SOURCE_DIR "/tests/validation/data/training.jsonl"));
}
