// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/changes.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/runtimes/exllama.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/mlx.hpp>
#include <llmres/runtimes/pytorch.hpp>
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

/// The change of a kind that a job is offered; none where it is not.
maybe<change> offered(const placed_job& p, change::kind what) {
    maybe<change> found;
    for_each_change(p, [&](const change& made) {
        if (made.what != what) return false;
        found = made;
        return true;
    });
    return found;
}

bool says(const placed_job& p, reason_code code) {
    const job_plan made = plan(p.job, p.layout, p.cluster).value();
    return std::any_of(made.reasons.begin(), made.reasons.begin() + made.reason_count,
                       [&](const reason& r) { return r.code == code; });
}

cluster h100(std::int32_t gpus) { return standard_cluster(gpus::h100_sxm5_80gb, gpus).value(); }

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
    job in_blocks{.model = models::qwen3_5_27b, .context = tokens(4096), .runtime = runtimes::vllm};
    in_blocks.weights = fp8_block;
    cluster taken_by_others = h100(1);
    taken_by_others.in_use = gib(20);
    job in_q8{.model = models::qwen3_30b_a3b, .context = tokens(8192), .runtime = runtimes::llama_cpp};
    in_q8.gguf = find_gguf_mix("weights", "Q8_0").value();
    int longest = 0;
    std::vector<placed_job> asked{
        placed_job{in_blocks, {}, h100(1)},
        placed_job{job{.model = models::llama_3_1_8b, .context = tokens(8192), .runtime = runtimes::vllm},
                   {},
                   taken_by_others},
        placed_job{in_q8, {}, one_3090},
        placed_job{job{.model = models::llama_3_1_8b, .batch = 64, .context = tokens(8192), .runtime = runtimes::vllm},
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
                   one_3090}};
    asked.push_back(
        {{.model = models::llama_3_2_1b, .task = task::finetuning, .sequence = tokens(4096)}, {.data = 2}, h100(2)});
    for (std::size_t i = 0, plain = asked.size(); i < plain; ++i) {  // and with sizes that may be smaller
        asked.push_back(asked[i]);
        asked.back().job.batch = 3000;
        asked.back().job.micro_batch = 300;
    }
    asked.push_back(
        {{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::llama_cpp}, {}, one_3090});
    asked.back().job.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    asked.push_back(asked.back());
    asked.back().job.batch = 100;
    std::set<change::kind> before_sizes;
    for (const placed_job& p : asked) {
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
        const auto is_size = [](change::kind each) {
            return each == change::kind::smaller_batch || each == change::kind::smaller_micro_batch ||
                   each == change::kind::shorter_context;
        };
        before_sizes.insert(all.begin(),
                            std::find_if(all.begin(), all.end(), is_size) == all.end() ? all.begin() : all.end());
    }
    CHECK(longest >= 6);
    for (const auto each :
         {change::kind::fewer_step_sequences, change::kind::narrower_cache, change::kind::offloaded_activations,
          change::kind::full_recompute, change::kind::fewer_gpu_layers})
        CHECK_MESSAGE(before_sizes.contains(each), static_cast<int>(each));
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
    // Nobody said an engine: MLX's formats are for Apple's GPUs alone, and files of other engines come in mixes.
    const names any{"fp8_e4m3", "awq_int4_g128", "a mix", "a mix", "a mix", "a mix", "a mix", "a mix"};
    CHECK(offered({.model = models::llama_3_1_8b, .context = tokens(8192)}) == any);
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

TEST_CASE("a smaller micro-batch is the largest divisor of a rank's share of the batch that is not above what fits") {
    job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(1024)};
    for (const std::int32_t ranks : {1, 4})
        for (std::int64_t share = 1; share <= 24; ++share)
            for (std::int64_t most = 1; most <= 30; ++most) {
                std::int64_t largest = 1;
                for (std::int64_t n = 1; n <= most; ++n)
                    if (share % n == 0) largest = n;
                j.global_batch = share * ranks;
                CHECK(detail::micro_batch_below(j, {.data = ranks}, most) == largest);
            }
    j.global_batch = 0;  // of which nothing is said: one micro-batch a rank, of any size
    CHECK(detail::micro_batch_below(j, {.data = 4}, 7) == 7);
    const job served{.model = models::llama_3_1_8b, .global_batch = 6};
    CHECK(detail::micro_batch_below(served, {}, 5) == 5);
}

TEST_CASE("more GPUs stand in one node as long as one takes them, where all stood in one before") {
    const auto more = [](const cluster& c, std::int64_t gpus) {
        const placed_job p{{.model = models::llama_3_1_8b}, {}, c};
        return with_change(p, {.what = change::kind::more_gpus, .amount = gpus, .layout = {.tensor = 4}});
    };
    CHECK(more(h100(1), 4).cluster.gpus == 4);
    CHECK(more(h100(1), 4).cluster.node_size() == 4);
    CHECK(more(h100(1), 4).layout == layout{.tensor = 4});
    CHECK(more(h100(2), 16).cluster.node_size() == 8);
    CHECK(more(h100(2), 16).cluster.gpus == 16);
    cluster pairs = h100(4);
    pairs.gpus_per_node = 2;
    CHECK(more(pairs, 16).cluster.node_size() == 2);
}

TEST_CASE("main memory that is asked for is the least power of two GiB that is enough, and 8 at least") {
    CHECK(detail::usual_host_memory({}) == gib(8));
    CHECK(detail::usual_host_memory(gib(8)) == gib(8));
    CHECK(detail::usual_host_memory(gib(8) + bytes(1)) == gib(16));
    CHECK(detail::usual_host_memory(gib(128)) == gib(128));
    CHECK(detail::usual_host_memory(gib(129)) == gib(256));
    // An optimizer offloaded to a host of which nothing is known is first asked for that memory.
    job j{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(1024)};
    CHECK_FALSE(offered({j, {}, one_3090}, change::kind::known_host));
    CHECK(offered({j, {}, one_3090}, change::kind::full_recompute)->host_memory == byte_count{});
    j.offload.optimizer = offload_place::host;
    const maybe<change> host = offered({j, {}, one_3090}, change::kind::known_host);
    REQUIRE(host);
    const byte_count held = host_memory_of(j, {}, one_3090).high;
    CHECK(host->host_memory >= held);
    CHECK(host->host_memory < held * 2);
    CHECK(with_change({j, {}, one_3090}, *host).cluster.host.memory == host->host_memory);
}

TEST_CASE(
    "a runtime that takes too much of a GPU that others use starts with the percent it is offered, not with one more") {
    const job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    for (const std::int64_t used : {12, 20, 37}) {
        CAPTURE(used);
        placed_job p{j, {}, h100(1)};
        p.cluster.in_use = gib(used);
        REQUIRE(says(p, reason_code::start_refused));
        const maybe<change> smaller = offered(p, change::kind::smaller_fraction);
        REQUIRE(smaller);
        const placed_job then = with_change(p, *smaller);
        CHECK(*then.job.runtime.cache.fraction == doctest::Approx(static_cast<double>(smaller->amount) / 100));
        CHECK_FALSE(says(then, reason_code::start_refused));
        change two_more = *smaller;  // at its upper bound the context may take a percent more than is expected
        two_more.amount += 2;
        CHECK(says(with_change(p, two_more), reason_code::start_refused));
    }
    placed_job full{j, {}, h100(1)};
    full.cluster.in_use = gib(79);
    CHECK_FALSE(offered(full, change::kind::smaller_fraction));
    CHECK_FALSE(offered({j, {}, h100(1)}, change::kind::smaller_fraction));
}

TEST_CASE("vLLM is offered as many sequences in a step as its pool surely has blocks of states for") {
    job j{.model = models::qwen3_5_27b, .context = tokens(4096), .runtime = runtimes::vllm};
    j.weights = fp8_block;
    const placed_job many{j, {}, h100(1)};
    REQUIRE(says(many, reason_code::states_exceeded));
    CHECK(plan(j, {}, h100(1))->verdict == verdict::does_not_fit);
    const maybe<change> fewer = offered(many, change::kind::fewer_step_sequences);
    REQUIRE(fewer);
    const placed_job then = with_change(many, *fewer);
    CHECK(then.job.options.max_num_seqs == fewer->amount);
    CHECK_FALSE(says(then, reason_code::states_exceeded));
    CHECK_FALSE(offered(then, change::kind::fewer_step_sequences));
    change more = *fewer;
    more.amount *= 2;
    CHECK(says(with_change(many, more), reason_code::states_exceeded));
}

TEST_CASE("llama.cpp is offered the most layers on GPUs, and the experts of the fewest layers on the host, that fit") {
    for (const model& m : {models::qwen3_30b_a3b, models::qwen3_32b}) {
        CAPTURE(std::string{m.name.view()});
        placed_job p{{.model = m, .context = tokens(8192), .runtime = runtimes::llama_cpp}, {}, one_3090};
        p.job.gguf = find_gguf_mix("weights", "Q8_0").value();
        const bool routed = has_experts(m);
        REQUIRE_FALSE(fits(p.job, p.layout, p.cluster));
        for (const auto kind : {change::kind::fewer_gpu_layers, change::kind::experts_on_host}) {
            const maybe<change> found = offered(p, kind);
            if (kind == change::kind::experts_on_host && !routed) {
                CHECK_FALSE(found);
                continue;
            }
            REQUIRE(found);
            placed_job roomy = p;
            roomy.cluster.host.memory = tib(1);
            const auto fits_with = [&](std::int64_t amount) {
                change tried = *found;
                tried.amount = amount;
                tried.host_memory = {};
                const placed_job then = with_change(roomy, tried);
                return fits(then.job, then.layout, then.cluster);
            };
            const std::int64_t nearer = kind == change::kind::fewer_gpu_layers ? found->amount + 1 : found->amount - 1;
            CHECK(fits_with(found->amount));
            CHECK_FALSE(fits_with(nearer));
            const placed_job then = with_change(p, *found);
            if (kind == change::kind::fewer_gpu_layers) CHECK(then.job.options.gpu_layers == found->amount);
            if (kind == change::kind::experts_on_host) {
                CHECK(then.job.options.experts_on_host);
                CHECK(then.job.options.host_expert_layers == found->amount);
            }
        }
    }
}

TEST_CASE("weights of a GGUF mix have its format, and caches are narrowed to what the runtime has") {
    const placed_job p{
        {.model = models::llama_3_1_8b, .context = tokens(8192), .runtime = runtimes::llama_cpp}, {}, one_3090};
    change made{.what = change::kind::narrower_weights};
    made.mix = find_gguf_mix("weights", "Q4_K_M").value();
    const job four = with_change(p, made).job;
    REQUIRE(four.gguf);
    CHECK(bits_per_element(weights_of(four)) == doctest::Approx(4.5));  // Q4_K: 144 bytes for 256 weights
    CHECK(offered(p, change::kind::narrower_cache)->format == q8_0);
    job j{.model = models::llama_3_1_8b, .context = tokens(8192), .runtime = runtimes::vllm};
    CHECK(offered({j, {}, one_3090}, change::kind::narrower_cache)->format == fp8_e4m3);
    j.kv_cache = fp8_e4m3;
    CHECK_FALSE(offered({j, {}, one_3090}, change::kind::narrower_cache));
    j.kv_cache = {};
    j.runtime = runtimes::exllama;
    CHECK(offered({j, {}, one_3090}, change::kind::narrower_cache)->format == q8_0);
    j.runtime = runtimes::exllama_v1;  // has none
    CHECK_FALSE(offered({j, {}, one_3090}, change::kind::narrower_cache));
    j.runtime = runtimes::llama_cpp_2024;  // quantises no values without flash attention
    CHECK_FALSE(offered({j, {}, one_3090}, change::kind::narrower_cache));
}

TEST_CASE("training is offered what it does not do already, and what its layout has") {
    using kind = change::kind;
    job j{.model = models::llama_3_2_1b,
          .task = task::finetuning,
          .sequence = tokens(2048),
          .global_batch = 64,
          .runtime = runtimes::huggingface};
    const auto kinds = [&](const layout& l) { return kinds_of({j, l, h100(8)}); };
    for (const kind each : {kind::eight_bit_optimizer, kind::adapter, kind::offloaded_optimizer,
                            kind::offloaded_activations, kind::full_recompute})
        CHECK(kinds({.data = 8}).contains(each));
    CHECK(kinds({.data = 8}).contains(kind::bucket_views));
    CHECK(kinds({.data = 8, .zero = 1}).contains(kind::bucket_views));
    CHECK_FALSE(kinds({.data = 8, .zero = 2}).contains(kind::bucket_views));
    CHECK_FALSE(kinds({}).contains(kind::bucket_views));
    CHECK_FALSE(kinds({.data = 8}).contains(kind::shared_each_batch));
    CHECK(kinds({.data = 8, .zero = 3}).contains(kind::shared_each_batch));
    j.optimizer = lion;
    CHECK_FALSE(kinds({.data = 8}).contains(kind::eight_bit_optimizer));
    j.optimizer = adamw;
    j.offload.optimizer = offload_place::host;
    CHECK_FALSE(kinds({.data = 8}).contains(kind::offloaded_optimizer));
    CHECK(kinds({.data = 8}).contains(kind::offloaded_activations));
    j.offload = {};
    j.adapter = {.kind = adapter_kind::lora, .rank = 16};
    CHECK_FALSE(kinds({.data = 8}).contains(kind::eight_bit_optimizer));
    CHECK_FALSE(kinds({.data = 8}).contains(kind::adapter));
}

TEST_CASE("sizes are made smaller where the job asks for more than fits: the batch, the micro-batch, the sequence") {
    using kind = change::kind;
    job served{.model = models::llama_3_1_8b, .batch = 200, .context = tokens(8192), .runtime = runtimes::vllm};
    const placed_job serving{served, {}, one_3090};
    CHECK(offered(serving, kind::smaller_batch)->amount == max_batch(served, {}, one_3090).value());
    CHECK_FALSE(offered(serving, kind::smaller_micro_batch));
    served.batch = 1;
    CHECK_FALSE(offered({served, {}, one_3090}, kind::smaller_batch));
    CHECK_FALSE(offered({served, {}, one_3090}, kind::shorter_context));
    const job trained{
        .model = models::llama_3_2_1b, .task = task::pretraining, .sequence = tokens(65536), .micro_batch = 16};
    const placed_job training{trained, {}, h100(1)};
    CHECK_FALSE(offered(training, kind::smaller_batch));
    const maybe<change> shorter = offered(training, kind::shorter_context);
    REQUIRE(shorter);
    CHECK(tokens(shorter->amount) == max_context(trained, {}, h100(1)).value());
    CHECK(with_change(training, *shorter).job.sequence == tokens(shorter->amount));
    CHECK(with_change(serving, {.what = kind::shorter_context, .amount = 99}).job.context == tokens(99));
}

TEST_CASE("layers and experts go to main memory as far as it is known to hold them") {
    for (const model& m : {models::qwen3_32b, models::qwen3_30b_a3b}) {
        job j{.model = m, .context = tokens(8192), .runtime = runtimes::llama_cpp};
        j.gguf = find_gguf_mix("weights", "Q8_0").value();
        for (const std::int64_t known : {2, 4, 64, 256}) {
            CAPTURE(known);
            cluster c = one_3090;
            c.host.memory = gib(known);
            const maybe<change> moved = offered({j, {}, c}, change::kind::fewer_gpu_layers);
            CHECK(bool{moved} == (known >= 64));  // some 33 GiB, of which the GPU holds 23
            if (!moved) continue;
            const placed_job then = with_change({j, {}, c}, *moved);
            CHECK(then.cluster.host.memory == gib(known));
            CHECK(fits(then.job, then.layout, then.cluster));
        }
    }
}

TEST_CASE("training in full precision is offered no format of weights that it cannot train") {
    for (const runtime* r : {&runtimes::huggingface, &runtimes::pytorch}) {
        job j{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(4096), .runtime = *r};
        CHECK_FALSE(offered({j, {}, one_3090}, change::kind::narrower_weights));
        j.adapter = {.kind = adapter_kind::lora, .rank = 16};
        const maybe<change> beside = offered({j, {}, one_3090}, change::kind::narrower_weights);
        if (beside) CHECK(beside->format == nf4_double);
    }
}

TEST_CASE("a shorter context is shorter than what the job asks, of prompts and of samples") {
    job trains{.model = models::llama_3_2_1b, .task = task::finetuning, .runtime = runtimes::pytorch};
    trains.adapter = {.kind = adapter_kind::lora, .rank = 16};
    job serves{.model = models::llama_3_1_8b, .batch = 1, .runtime = runtimes::vllm};
    std::set<task> shorter, as_long;
    for (const std::int64_t length : {64, 512, 4096, 32768, 131072})
        for (job j : {trains, serves}) {
            (j.task == task::serving ? j.context : j.sequence) = tokens(length);
            const placed_job p{j, {}, one_3090};
            const maybe<token_count> most = max_context(j, {}, one_3090).value();
            const maybe<change> made = offered(p, change::kind::shorter_context);
            const bool needed = *most > token_count{} && *most < tokens(length);
            CHECK(bool{made} == needed);
            (needed ? shorter : as_long).insert(j.task);
            if (made) CHECK(made->amount == most->in(tokens));
        }
    CHECK(shorter.size() == 2);
    CHECK(as_long.size() == 2);
}

TEST_CASE("a change of format takes the place of the weights' own, of a file's mix and of the cache's") {
    job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", "Q8_0").value();
    const auto with = [&](const change& made) { return with_change({j, {}, one_3090}, made).job; };
    const job plain = with({.what = change::kind::narrower_weights, .format = fp8_e4m3});
    CHECK(*plain.weights == fp8_e4m3);
    CHECK_FALSE(plain.gguf);
    const job mixed = with({.what = change::kind::narrower_weights, .mix = find_gguf_mix("weights", "Q4_K_M").value()});
    CHECK(*mixed.weights == q4_k);
    CHECK(mixed.gguf->quantisation == gguf_quantisation::Q4_K_M);
    CHECK(*with({.what = change::kind::narrower_cache, .format = fp8_e4m3}).kv_cache == fp8_e4m3);
    CHECK(with({.what = change::kind::eight_bit_optimizer}).optimizer == adamw_8bit);
    CHECK(with({.what = change::kind::smaller_batch, .amount = 3}).batch == 3);
    CHECK(with({.what = change::kind::fewer_gpu_layers, .amount = 7}).options.gpu_layers == 7);
}

TEST_CASE("of what fits whole all layers but one may stay on GPUs, and the experts of one layer go to the host") {
    const auto amount = [](const model& m, change::kind what) -> std::int64_t {
        job j{.model = m, .context = tokens(4096), .runtime = runtimes::llama_cpp};
        j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
        REQUIRE(fits(j, {}, h100(1)));
        const maybe<change> found = offered({j, {}, h100(1)}, what);
        return found ? found->amount : -1;
    };
    // One layer more than the model has counts the head, which is what stays on the host first.
    CHECK(amount(models::llama_3_2_1b, change::kind::fewer_gpu_layers) == 16);
    CHECK(amount(models::llama_3_2_1b, change::kind::experts_on_host) == -1);
    CHECK(amount(models::qwen3_30b_a3b, change::kind::fewer_gpu_layers) == 48);
    CHECK(amount(models::qwen3_30b_a3b, change::kind::experts_on_host) == 1);
}

TEST_CASE("a size that is the largest that fits is not offered once more") {
    using kind = change::kind;
    const job served{.model = models::llama_3_1_8b, .batch = 9000, .context = tokens(65536), .runtime = runtimes::vllm};
    const job trained{
        .model = models::llama_3_2_1b, .task = task::pretraining, .sequence = tokens(65536), .micro_batch = 9000};
    for (const job& j : {served, trained}) {
        const bool trains_it = trains(j);
        job batched = j;
        (trains_it ? batched.sequence : batched.context) = tokens(2048);
        const kind batch = trains_it ? kind::smaller_micro_batch : kind::smaller_batch;
        const maybe<change> fewer = offered({batched, {}, h100(1)}, batch);
        REQUIRE(fewer);
        job most = with_change({batched, {}, h100(1)}, *fewer).job;
        CHECK_FALSE(offered({most, {}, h100(1)}, batch));
        ++(trains_it ? most.micro_batch : most.batch);
        CHECK(offered({most, {}, h100(1)}, batch)->amount == fewer->amount);
        job one = j;
        one.batch = one.micro_batch = 2;
        const cluster small = one_3090;
        const maybe<change> shorter = offered({one, {}, small}, kind::shorter_context);
        REQUIRE(shorter);
        job longest = with_change({one, {}, small}, *shorter).job;
        CHECK_FALSE(offered({longest, {}, small}, kind::shorter_context));
        (trains_it ? longest.sequence : longest.context) += tokens(1);
        CHECK(offered({longest, {}, small}, kind::shorter_context)->amount == shorter->amount);
    }
}

TEST_CASE("a change names main memory where the job then offloads to a host of which nobody said how much there is") {
    const job trained{.model = models::llama_3_2_1b, .task = task::finetuning, .sequence = tokens(4096)};
    job mixed{.model = models::qwen3_30b_a3b, .context = tokens(8192), .runtime = runtimes::llama_cpp};
    mixed.gguf = find_gguf_mix("weights", "Q8_0").value();
    job fits_whole{.model = models::llama_3_2_1b, .context = tokens(4096), .runtime = runtimes::llama_cpp};
    const job served{.model = models::llama_3_1_8b, .batch = 64, .context = tokens(8192), .runtime = runtimes::vllm};
    std::set<bool> named;
    for (const job& j : {trained, mixed, fits_whole, served})
        for (const byte_count known : {byte_count{}, gib(512)}) {
            cluster c = one_3090;
            c.host.memory = known;
            for_each_change({j, {}, c}, [&](const change& made) {
                CAPTURE(static_cast<int>(made.what));
                const placed_job then = with_change({j, {}, c}, made);
                const bool held = host_memory_of(then.job, then.layout, then.cluster).high > byte_count{};
                const bool names = made.host_memory > byte_count{};
                CHECK(names == (known == byte_count{} && held && detail::offloads(then.job)));
                named.insert(names);
                return false;
            });
        }
    CHECK(named.size() == 2);
}

TEST_CASE("as many layers or experts are moved as a plain loop over all numbers moves, however little is free") {
    std::set<bool> moved;
    for (const model& m : {models::llama_3_2_1b, models::qwen3_30b_a3b})
        for (const std::int64_t free : {300, 700, 900, 1100, 1500, 2500, 6000, 20000}) {
            job j{.model = m, .context = tokens(4096), .runtime = runtimes::llama_cpp};
            j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
            cluster c = one_3090;
            c.in_use = available_memory(c) - mib(free);
            c.host.memory = gib(256);
            CAPTURE(free);
            CAPTURE(std::string{m.name.view()});
            const std::int64_t layers = m.layers.size;
            const auto fits_with = [&](change::kind what, std::int64_t amount) {
                const placed_job then = with_change({j, {}, c}, {.what = what, .amount = amount});
                return fits(then.job, then.layout, then.cluster);
            };
            std::int64_t most = -1, fewest = -1;  // layers on the GPU, all but one of the model's and its head; experts
            for (std::int64_t n = 0; n <= layers; ++n)
                if (fits_with(change::kind::fewer_gpu_layers, n)) most = n;
            for (std::int64_t n = layers; n >= 1 && has_experts(m); --n)
                if (fits_with(change::kind::experts_on_host, n)) fewest = n;
            const maybe<change> of_layers = offered({j, {}, c}, change::kind::fewer_gpu_layers);
            const maybe<change> of_experts = offered({j, {}, c}, change::kind::experts_on_host);
            CHECK((of_layers ? of_layers->amount : -1) == most);
            CHECK((of_experts ? of_experts->amount : -1) == fewest);
            moved.insert(bool{of_layers});
        }
    CHECK(moved.size() == 2);
}

TEST_CASE("a job that names no engine is offered the formats of all of them, and files of every mix") {
    const placed_job p{{.model = models::llama_3_1_8b, .context = tokens(4096)}, {}, one_3090};
    std::vector<double> widths;  // of each format, in the order in which they are offered
    int mixes = 0;
    for_each_change(p, [&](const change& made) {
        if (made.what != change::kind::narrower_weights) return false;
        mixes += bool{made.mix};
        if (!made.mix) widths.push_back(bits_per_element(made.format));
        return false;
    });
    CHECK(mixes == 6);  // from Q8_0 to Q2_K
    REQUIRE(widths.size() == 2);
    CHECK(widths[0] == 8);  // fp8, then AWQ's four bits with a scale and a zero for 128 of them
    CHECK(widths[1] < 4.5);
}

TEST_CASE("nothing is offered behind the change that is taken, whichever it is") {
    const job training{.model = models::llama_3_2_1b,
                       .task = task::finetuning,
                       .sequence = tokens(2048),
                       .micro_batch = 300,
                       .global_batch = 4800,
                       .runtime = runtimes::huggingface};
    job experts{.model = models::qwen3_30b_a3b, .context = tokens(8192), .runtime = runtimes::llama_cpp};
    experts.gguf = find_gguf_mix("weights", "Q8_0").value();
    cluster with_host = one_3090;
    with_host.host.memory = gib(256);
    std::set<change::kind> taken;
    for (const placed_job& p :
         {placed_job{training, {.data = 8, .zero = 3}, h100(8)}, placed_job{training, {.data = 8}, h100(8)},
          placed_job{experts, {}, with_host},
          placed_job{{.model = models::llama_3_1_8b, .batch = 3000, .context = tokens(4096)}, {}, one_3090}}) {
        std::size_t all = 0;
        for_each_change(p, [&](const change&) { return ++all, false; });
        for (std::size_t last = 1; last <= all; ++last) {
            std::size_t seen = 0;
            for_each_change(p, [&](const change& made) {
                if (++seen == last) taken.insert(made.what);
                return seen == last;
            });
            CHECK(seen == last);
        }
    }
    for (const change::kind what : {change::kind::shared_each_batch, change::kind::bucket_views,
                                    change::kind::experts_on_host, change::kind::narrower_weights}) {
        CAPTURE(static_cast<int>(what));
        CHECK(taken.contains(what));
    }
}

TEST_CASE("a runtime that has only a percent of a GPU is offered that percent") {
    const job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    placed_job p{j, {}, h100(1)};
    const auto percent_with = [&](byte_count free) {
        p.cluster.in_use = usable_memory(p.cluster.gpu) - context_on(j.runtime, p.cluster.gpu).high - free;
        return offered(p, change::kind::smaller_fraction);
    };
    const byte_count hundredth = div_up(usable_memory(p.cluster.gpu), 100);
    REQUIRE(percent_with(hundredth));
    CHECK(percent_with(hundredth)->amount == 1);
    CHECK_FALSE(percent_with(hundredth - mib(1)));
    CHECK_FALSE(percent_with(byte_count{}));
}
