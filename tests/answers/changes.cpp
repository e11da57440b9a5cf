// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <algorithm>
#include <cstddef>
#include <llmres/answers/changes.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/mlx.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <set>
#include <string>
#include <vector>

using namespace llmres;

namespace {

const cluster one_3090 = standard_cluster(gpus::rtx_3090, 1).value();

std::set<change::kind> kinds_of(const placed_job& p) {
    std::set<change::kind> kinds;
    for_each_change(p, [&](const change& made) {
        kinds.insert(made.what);
        return false;
    });
    return kinds;
}

}  // namespace

TEST_CASE("each change takes memory from the term it is about, or leaves it as it is") {
    for (const job& j :
         {job{.model = models::llama_3_1_8b, .batch = 64, .context = tokens(8192), .runtime = runtimes::vllm},
          job{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(4096), .micro_batch = 4},
          job{.model = models::qwen3_30b_a3b, .context = tokens(32768), .runtime = runtimes::llama_cpp}}) {
        const placed_job asked{j, {}, one_3090};
        const byte_count before = memory_of(j, {}, one_3090).total().expected;
        int changes = 0;
        for_each_change(asked, [&](const change& made) {
            CAPTURE(static_cast<int>(made.what));
            const placed_job then = with_change(asked, made);
            CHECK(memory_of(then.job, then.layout, then.cluster).total().expected <= before);
            ++changes;
            return false;
        });
        CHECK(changes >= 2);
    }
}

TEST_CASE("changes are those that the task and the runtime know") {
    using kind = change::kind;
    const job serves{.model = models::llama_3_1_8b, .batch = 64, .context = tokens(8192), .runtime = runtimes::vllm};
    const auto of_vllm = kinds_of({serves, {}, one_3090});
    CHECK(of_vllm.contains(kind::narrower_cache));
    CHECK_FALSE(of_vllm.contains(kind::fewer_gpu_layers));
    CHECK_FALSE(of_vllm.contains(kind::full_recompute));

    job trains{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};
    const auto of_training = kinds_of({trains, {}, one_3090});
    CHECK(of_training.contains(kind::full_recompute));
    CHECK_FALSE(of_training.contains(kind::adapter));  // pretraining has none
    trains.recompute = recompute::full;
    CHECK_FALSE(kinds_of({trains, {}, one_3090}).contains(kind::full_recompute));
}

TEST_CASE("main memory is named where nobody said how much there is") {
    const job j{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(4096)};
    cluster known = one_3090;
    known.host.memory = gib(256);
    for (const cluster& c : {one_3090, known})
        for_each_change({j, {}, c}, [&](const change& made) {
            if (made.what == change::kind::offloaded_optimizer)
                CHECK((made.host_memory > byte_count{}) == (c.host.memory == byte_count{}));
            return false;
        });
}

TEST_CASE("changes stop with the one that is taken") {
    job quantised{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(4096)};
    quantised.adapter = {.kind = adapter_kind::lora, .rank = 16};
    job old_card{.model = models::llama_3_1_8b, .batch = 64, .context = tokens(8192), .runtime = runtimes::vllm};
    old_card.attention = attention_kernel::flash;
    int longest = 0;
    for (const placed_job& p :
         {placed_job{
              job{.model = models::llama_3_1_8b, .batch = 64, .context = tokens(8192), .runtime = runtimes::vllm},
              {},
              one_3090},
          placed_job{
              job{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(4096), .micro_batch = 4},
              {},
              one_3090},
          placed_job{quantised, {}, one_3090},
          placed_job{old_card, {}, standard_cluster(gpus::v100_sxm2_32gb, 1).value()},
          placed_job{job{.model = models::qwen3_30b_a3b, .context = tokens(32768), .runtime = runtimes::llama_cpp},
                     {},
                     one_3090}}) {
        std::vector<change::kind> all;
        for_each_change(p, [&](const change& made) {
            all.push_back(made.what);
            return false;
        });
        for (std::size_t taken = 1; taken <= all.size(); ++taken) {
            std::vector<change::kind> seen;
            for_each_change(p, [&](const change& made) {
                seen.push_back(made.what);
                return seen.size() == taken;
            });
            CHECK(seen == std::vector<change::kind>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(taken)));
        }
        longest = std::max(longest, static_cast<int>(all.size()));
    }
    CHECK(longest >= 6);
}

TEST_CASE("a frozen model beside an adapter is quantised only by runtimes that can") {
    job j{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(4096)};
    j.adapter = {.kind = adapter_kind::lora, .rank = 16};
    CHECK(kinds_of({j, {}, one_3090}).contains(change::kind::narrower_weights));
    j.runtime.loading.formats = {};
    CHECK_FALSE(kinds_of({j, {}, one_3090}).contains(change::kind::narrower_weights));
}

TEST_CASE("a model that is published in four bits is offered its own format, and no other that is narrow") {
    const auto offered = [](const job& j) {
        std::vector<std::string> names;
        for_each_change({j, {}, one_3090}, [&](const change& made) {
            if (made.what == change::kind::narrower_weights)
                names.emplace_back(made.mix ? "a mix" : made.format.name.view());
            return false;
        });
        return names;
    };
    using names = std::vector<std::string>;
    job j{.model = models::gpt_oss_20b, .context = tokens(8192), .runtime = runtimes::vllm};
    CHECK(offered(j) == names{});
    j.weights = bf16;
    CHECK(offered(j) == names{"mxfp4"});
    j.runtime = runtimes::llama_cpp;
    CHECK(offered(j) == names{});
    j.model = models::llama_3_1_8b;
    CHECK(offered(j).size() == 6);
    j.runtime = runtimes::vllm;
    CHECK(offered(j) == names{"fp8_e4m3", "awq_int4_g128"});
    j.runtime = runtimes::mlx;
    CHECK(offered(j) == names{"mlx_int8_g64", "mlx_int6_g64", "mlx_int4_g64"});
    j.weights = mlx(6, 64);
    CHECK(offered(j) == names{"mlx_int4_g64"});
}

TEST_CASE("a card without flash attention may take another kernel") {
    job j{.model = models::llama_3_1_8b, .batch = 64, .context = tokens(8192), .runtime = runtimes::vllm};
    j.attention = attention_kernel::flash;
    const cluster v100 = standard_cluster(gpus::v100_sxm2_32gb, 1).value();
    CHECK(kinds_of({j, {}, v100}).contains(change::kind::sdpa_attention));
    CHECK_FALSE(kinds_of({j, {}, one_3090}).contains(change::kind::sdpa_attention));
    j.attention = attention_kernel::sdpa;
    CHECK_FALSE(kinds_of({j, {}, v100}).contains(change::kind::sdpa_attention));
}
