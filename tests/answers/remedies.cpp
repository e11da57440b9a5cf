// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <array>
#include <cstddef>
#include <llmres/answers/remedies.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <set>
#include <vector>

using namespace llmres;

namespace {

const cluster one_4090 = standard_cluster(gpus::rtx_4090, 1).value();
const job chat{.model = models::llama_3_1_8b, .batch = 8, .context = tokens(8192), .max_batched_tokens = tokens(2048)};

/// How many remedies there are for what does not fit; each must do, and be as fast as it says.
int each_remedy_helps(const job& j, const layout& given, const cluster& on) {
    REQUIRE(plan(j, given, on)->verdict != verdict::fits);
    const remedies found = what_would_help(j, given, on);
    for (const remedy& r : found) {
        placed_job p{j, given, on};
        for (const change& made : r) {
            CAPTURE(static_cast<int>(made.what));
            CAPTURE(made.amount);
            p = with_change(p, made);
        }
        const result<job_plan> helped = plan(p.job, p.layout, p.cluster);
        REQUIRE(helped);
        CHECK(helped->verdict == verdict::fits);
        CHECK(helped->speed.tokens_per_second == r.tokens_per_second);
    }
    return found.count;
}

bool offers(const remedies& found, change::kind what) {
    for (const remedy& r : found)
        for (const change& made : r)
            if (made.what == what) return true;
    return false;
}

}  // namespace

TEST_CASE("each remedy, taken alone, makes the job fit") {
    job j = chat;
    j.batch = 16;
    CHECK(each_remedy_helps(j, {}, one_4090) >= 3);
    CHECK(each_remedy_helps(
              job{.model = models::llama_3_1_8b, .context = tokens(1024), .attention = attention_kernel::flash}, {},
              standard_cluster(gpus::v100_sxm2_32gb, 1).value()) == 1);
}

TEST_CASE("each remedy of training does, a micro-batch that divides the global one among them") {
    const job j{.model = models::llama_3_1_8b,
                .task = task::pretraining,
                .sequence = tokens(1024),
                .micro_batch = 32,
                .global_batch = 256};
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    CHECK(each_remedy_helps(j, {.data = 8, .zero = 3}, eight) >= 3);
}

TEST_CASE("gradients that data ranks keep whole, and buckets beside them, are remedied by the trainer's own switches") {
    job j{.model = models::llama_3_1_70b,
          .task = task::finetuning,
          .sequence = tokens(2048),
          .global_batch = 512,
          .recompute = recompute::full,
          .runtime = runtimes::huggingface};
    const cluster sixty_four = standard_cluster(gpus::h100_sxm5_80gb, 64).value();
    const layout sharded{.data = 64, .zero = 3};
    CHECK(each_remedy_helps(j, sharded, sixty_four) > 0);
    CHECK(offers(what_would_help(j, sharded, sixty_four), change::kind::shared_each_batch));
    j.global_batch = 64;  // one micro-batch a step
    CHECK_FALSE(offers(what_would_help(j, sharded, sixty_four), change::kind::shared_each_batch));

    job copied{.model = models::llama_2_7b,
               .task = task::finetuning,
               .sequence = tokens(512),
               .global_batch = 2,
               .recompute = recompute::full,
               .runtime = runtimes::huggingface};
    copied.weights = bf16;
    copied.optimizer = lion;
    const cluster two = standard_cluster(gpus::l40s_48gb, 2).value();
    CHECK(each_remedy_helps(copied, {.data = 2}, two) > 0);
    CHECK(offers(what_would_help(copied, {.data = 2}, two), change::kind::bucket_views));
}

TEST_CASE("a layout that does not fit is told apart from too few GPUs") {
    const job j{.model = models::llama_3_1_8b,
                .task = task::pretraining,
                .sequence = tokens(4096),
                .recompute = recompute::full};
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const layout plain{.data = 8};
    REQUIRE(plan(j, plain, eight)->verdict == verdict::does_not_fit);  // 16 bytes a parameter on each GPU
    const remedies found = what_would_help(j, plain, eight);
    REQUIRE(found.count >= 1);
    CHECK(offers(found, change::kind::other_layout));
    each_remedy_helps(j, plain, eight);
}

TEST_CASE("no remedy asks for more GPUs than a layout that fits has") {
    // The planner's own layouts have no sequence parallelism, and would need more.
    const job j{.model = models::llama_3_1_70b,
                .task = task::pretraining,
                .sequence = tokens(8192),
                .global_batch = 64,
                .recompute = recompute::selective,
                .runtime = runtimes::megatron};
    const layout l{.tensor = 8, .sequence_parallel = true, .pipeline = 4, .data = 2, .zero = 1};
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 64).value();
    REQUIRE(plan(j, l, c)->verdict == verdict::fits);
    REQUIRE(limits_of(j, l, c).min_gpus);
    CHECK(*limits_of(j, l, c).min_gpus <= 64);
}

TEST_CASE("training that does not fit is helped by recomputation") {
    const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(8192), .micro_batch = 2};
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const layout l{.data = 8, .zero = 3};
    REQUIRE(plan(j, l, eight)->verdict == verdict::does_not_fit);
    CHECK(offers(what_would_help(j, l, eight), change::kind::full_recompute));
}

TEST_CASE("what fits but for main memory that nobody named needs that memory, and nothing else changed") {
    job j{.model = models::llama_3_1_70b,
          .task = task::pretraining,
          .sequence = tokens(4096),
          .recompute = recompute::full,
          .offload = {.optimizer = offload_place::host, .parameters = offload_place::host},
          .runtime = *find_runtime("deepspeed")};
    cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const layout l{.data = 8, .zero = 3};
    const remedies found = what_would_help(j, l, eight);
    REQUIRE(found.count == 1);
    CHECK(found.list[0].count == 1);
    CHECK(found.list[0].changes[0].what == change::kind::known_host);
    CHECK(found.list[0].changes[0].host_memory == tib(2));  // 1.03 TiB are held
    each_remedy_helps(j, l, eight);
    eight.host.memory = tib(2);
    CHECK(what_would_help(j, l, eight).count == 0);
    // Where more must change, that change names the memory.
    eight.host.memory = {};
    j.micro_batch = 16;
    const remedies pairs = what_would_help(j, l, eight);
    REQUIRE(pairs.count >= 1);
    CHECK_FALSE(offers(pairs, change::kind::known_host));
    each_remedy_helps(j, l, eight);
}

TEST_CASE("layers go to main memory under llama.cpp, as many as must") {
    const job j{.model = models::llama_3_1_70b,
                .weights = q4_k,
                .gguf = *find_gguf_mix("weights", "q4_k_m"),
                .context = tokens(4096),
                .runtime = *find_runtime("llama.cpp")};
    const cluster one_3090 = standard_cluster(gpus::rtx_3090, 1).value();
    const remedies found = what_would_help(j, {}, one_3090);
    REQUIRE(offers(found, change::kind::fewer_gpu_layers));
    CHECK_FALSE(offers(found, change::kind::narrower_weights));  // q2_k is too large as well
    const change layers = found.list[0].changes[0];
    CHECK(layers.host_memory > byte_count{});  // nobody said how much there is
    placed_job more = with_change({j, {}, one_3090}, layers);
    ++more.job.options.gpu_layers.value;
    CHECK_FALSE(fits(more.job, more.layout, more.cluster));
    each_remedy_helps(j, {}, one_3090);
}

TEST_CASE("a format that a runtime does not load is no remedy") {
    const job j{.model = models::llama_3_1_8b, .context = tokens(65536), .runtime = *find_runtime("llama.cpp")};
    for (const remedy& r : what_would_help(j, {}, standard_cluster(gpus::rtx_3060_12gb, 1).value()))
        for (const change& made : r) CHECK((made.what != change::kind::narrower_weights || made.mix));
}

TEST_CASE("fine-tuning of all weights is helped by an adapter, and by a pair where no change does alone") {
    const job j{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(4096)};
    const remedies found = what_would_help(j, {}, one_4090);
    REQUIRE(found.count >= 1);
    const remedy& last = found.list[static_cast<std::size_t>(found.count - 1)];
    CHECK(last.count == 2);
    bool adapted = false;
    for (const change& made : last) {
        adapted = adapted || made.what == change::kind::adapter;
        CHECK(made.what != change::kind::shorter_context);  // a pair that keeps the sequence comes first
    }
    CHECK(adapted);
    each_remedy_helps(j, {}, one_4090);
}

TEST_CASE("a pair that keeps the sequence is offered beside a single change that shortens it") {
    // 8 billion parameters in 4 bits and an adapter, on 12 GB: alone, only sequences of some 300 tokens would do.
    const job j{.model = models::llama_3_1_8b,
                .task = task::finetuning,
                .weights = nf4_double,
                .sequence = tokens(2048),
                .micro_batch = 2,
                .adapter = {.kind = adapter_kind::lora, .rank = 8}};
    const remedies found = what_would_help(j, {}, standard_cluster(gpus::rtx_3060_12gb, 1).value());
    CHECK(offers(found, change::kind::shorter_context));
    REQUIRE(found.count > 0);
    const remedy& last = found.list[static_cast<std::size_t>(found.count - 1)];
    CHECK(last.count == 2);
    CHECK(last.changes[1].what == change::kind::smaller_micro_batch);
}

TEST_CASE("where nobody named weights or a context, the widest format with room for a usual one is a remedy") {
    // 16-bit weights and the model's own context of 40,960 tokens: 24 GiB.
    const job plain{.model = models::qwen3_8b};
    const cluster small = standard_cluster(gpus::rtx_3060_12gb, 1).value();
    const auto widest = [](const remedies& found) {
        for (const remedy& r : found)
            if (r.count == 2 && r.changes[1].what == change::kind::shorter_context) return r;
        return remedy{};
    };
    const remedy r = widest(what_would_help(plain, {}, small));
    REQUIRE(r.count == 2);
    REQUIRE(r.changes[0].what == change::kind::narrower_weights);
    CHECK(r.changes[0].mix->quantisation == gguf_quantisation::Q8_0);
    CHECK(r.changes[1].amount >= 8192);
    each_remedy_helps(plain, {}, small);
    CHECK(widest(what_would_help(plain, {}, small, layout_choice::searched)).count == 2);
    job named = plain;
    named.weights = bf16;
    CHECK(widest(what_would_help(named, {}, small)).count == 0);
    named = plain;
    named.context = tokens(40960);
    CHECK(widest(what_would_help(named, {}, small)).count == 0);  // in q2_k it is whole, with a cache in fp8

    // No pair leaves a few tokens of a context that nobody named (50 of 40,960 in q2_k, here).
    CHECK(widest(what_would_help({.model = models::qwen3_32b}, {}, small)).count == 0);
    // A format that is wider than the one that fits with the whole context, too.
    const remedies both = what_would_help({.model = models::qwen3_14b}, {}, one_4090);
    CHECK(widest(both).count == 2);
    CHECK(both.list[0].count == 1);
}

TEST_CASE("limits and remedies are there at compile time") {
    static constexpr cluster machine = standard_cluster(gpus::rtx_4090, 1).value();
    static constexpr job work{
        .model = models::llama_3_1_8b, .context = tokens(4096), .max_batched_tokens = tokens(2048)};
    static constexpr result<std::int64_t> most = max_batch(work, {}, machine);
    static_assert(*most > 1);
    CHECK(*max_batch(work, {}, machine) == *most);
}

TEST_CASE("a remedy says the layout that it was planned in, and a layout is searched anew where nobody gave one") {
    CHECK(layout_choice_of(layout{.tensor = 2}) == layout_choice::given);
    CHECK(layout_choice_of({}) == layout_choice::searched);
    job j = chat;
    j.model = models::llama_3_1_70b;
    j.weights = fp8_tensor;
    j.batch = 64;
    const cluster two = standard_cluster(gpus::h100_sxm5_80gb, 2).value();
    REQUIRE(plan(j, {.tensor = 2}, two)->verdict != verdict::fits);
    const remedies searched = what_would_help(j, {.tensor = 2}, two, layout_choice::searched);
    REQUIRE(searched.count > 0);
    CHECK_FALSE(offers(searched, change::kind::other_layout));  // the planner has tried them all
    for (const remedy& r : searched) {
        if (r.count > 1 || r.changes[0].what == change::kind::more_gpus) continue;
        CHECK(r.changes[0].layout == r.layout);
        const placed_job p = with_change({j, {}, two}, r.changes[0]);
        CHECK(search(p.job, p.cluster)->plan.speed.tokens_per_second == r.tokens_per_second);
    }
    for (const remedy& r : what_would_help(j, {.tensor = 2}, two))
        if (r.count == 1 && r.changes[0].what != change::kind::more_gpus) CHECK(r.layout.gpus() == 2);
}

TEST_CASE("one remedy too many is left out") {
    remedies full;
    for (int i = 0; i < 20; ++i) full.add({{change{.amount = i}}, 1, {}, {}});
    CHECK(full.count == 16);
    CHECK(full.list[15].changes[0].amount == 15);
}

TEST_CASE("where nobody gave a layout each remedy fits in the one that a search then finds, and is as fast") {
    const cluster two = standard_cluster(gpus::rtx_4090, 2).value();
    job large = chat;
    large.batch = 64;
    const job trained{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(2048)};
    for (const job& j : {large, trained})
        for (const cluster& c : {one_4090, two}) {
            const job_plan asked = plan(j, c).value();
            REQUIRE(asked.verdict != verdict::fits);
            const remedies found = what_would_help(j, asked.layout, c, layout_choice::searched);
            CHECK(found.count >= 1);
            for (const remedy& r : found) {
                placed_job p{j, asked.layout, c};
                for (const change& made : r) p = with_change(p, made);
                const result<job_plan> helped = plan(p.job, p.cluster);
                REQUIRE(helped);
                CHECK(helped->verdict == verdict::fits);
                CHECK(plan(p.job, r.layout, p.cluster)->verdict == verdict::fits);
                CHECK(r.tokens_per_second > token_rate{});
            }
        }
}

TEST_CASE("no change leaves a job without sequences, tokens, percent or ranks") {
    job states{.model = models::qwen3_5_27b, .context = tokens(4096), .runtime = runtimes::vllm};
    states.weights = fp8_block;
    job much = chat;
    much.model = models::llama_3_1_70b;
    job taken = chat;
    taken.runtime = runtimes::vllm;
    cluster full = one_4090;
    full.in_use = gib(22);
    const job trained{.model = models::llama_3_1_70b, .task = task::pretraining, .sequence = tokens(8192)};
    int changes = 0;
    for (const placed_job& p : {placed_job{states, {}, one_4090}, placed_job{much, {}, one_4090},
                                placed_job{taken, {}, full}, placed_job{trained, {}, one_4090}})
        for_each_change(p, [&](const change& made) {
            using kind = change::kind;
            const bool counts = made.what == kind::adapter || made.what == kind::fewer_step_sequences ||
                                made.what == kind::smaller_batch || made.what == kind::smaller_micro_batch ||
                                made.what == kind::shorter_context || made.what == kind::smaller_fraction;
            CAPTURE(static_cast<int>(made.what));
            if (counts) CHECK(made.amount > 0);
            ++changes;
            return false;
        });
    CHECK(changes >= 6);
}

TEST_CASE("each kind of change is a remedy of its own at most once: of several formats the widest that does") {
    job few = chat;
    few.batch = 12;
    for (const remedies& found :
         {what_would_help(few, {}, one_4090), what_would_help(few, {}, one_4090, layout_choice::searched)}) {
        std::set<change::kind> seen;
        for (const remedy& r : found)
            if (r.count == 1) CHECK(seen.insert(r.changes[0].what).second);
        CHECK(seen.contains(change::kind::narrower_weights));
        for (const remedy& r : found)
            if (r.count == 1 && r.changes[0].what == change::kind::narrower_weights)
                CHECK(r.changes[0].format == fp8_e4m3);  // in which vLLM's weights are wider than in AWQ
    }
}

TEST_CASE("a pair excels unless a single change on the same GPUs gives up as little and is as fast") {
    using kind = change::kind;
    const std::array sizes{kind::narrower_cache, kind::smaller_micro_batch, kind::smaller_batch, kind::shorter_context};
    const auto rate = [](int n) { return tokens_per_s(static_cast<double>(n)); };
    for (std::size_t single = 0; single < sizes.size(); ++single)
        for (std::size_t second = 0; second < sizes.size(); ++second)
            for (const int speed : {9, 10, 11})
                for (const bool other_gpus : {false, true}) {
                    placed_job asked{chat, {}, one_4090};
                    remedies found;
                    const kind alone = other_gpus ? kind::more_gpus : sizes[single];
                    found.add({{change{.what = alone}}, 1, {}, rate(speed)});
                    const detail::remedy_finder finder{asked, layout_choice::given, found};
                    const remedy pair{
                        {change{.what = kind::narrower_weights}, change{.what = sizes[second]}}, 2, {}, rate(10)};
                    CHECK(finder.excels(pair) == (other_gpus || single > second || speed < 10));
                }
}

TEST_CASE("a remedy of which nothing is said changes nothing, and a list of which nothing is said has none") {
    CHECK(remedy{}.count == 0);
    CHECK(remedies{}.count == 0);
    CHECK(change{}.amount == 0);
}

TEST_CASE("where nobody gave a layout a remedy is in the best one that a search finds, though it fits in the first") {
    job j{.model = models::llama_3_1_8b, .batch = 700, .context = tokens(4096), .runtime = *find_runtime("sglang")};
    const cluster two = standard_cluster(gpus::h100_sxm5_80gb, 2).value();
    const layout stages{.pipeline = 2};
    REQUIRE(plan(j, stages, two)->verdict != verdict::fits);
    int elsewhere = 0;
    for (const remedy& r : what_would_help(j, stages, two, layout_choice::searched)) {
        placed_job p{j, stages, two};
        for (const change& made : r) p = with_change(p, made);
        const found_layout best = search(p.job, p.cluster).value();
        CHECK(r.tokens_per_second == best.plan.speed.tokens_per_second);
        CHECK(r.layout == best.plan.layout);
        elsewhere += r.layout != stages;
    }
    CHECK(elsewhere > 0);
}

TEST_CASE("as many GPUs as there are in another layout are another layout, and no more GPUs") {
    const job j{.model = models::llama_3_1_8b,
                .task = task::pretraining,
                .sequence = tokens(4096),
                .recompute = recompute::full};
    const std::int64_t fewest = min_gpus(j, standard_cluster(gpus::h100_sxm5_80gb, 8).value()).value;
    REQUIRE(fewest > 1);
    for (const std::int64_t gpus : {fewest - 1, fewest, fewest + 1}) {
        const auto count = static_cast<std::int32_t>(gpus);
        const cluster c = standard_cluster(gpus::h100_sxm5_80gb, count).value();
        const remedies found = what_would_help(j, {.data = count}, c);
        CAPTURE(gpus);
        CHECK(offers(found, change::kind::more_gpus) == (gpus < fewest));
        if (gpus == fewest) CHECK(offers(found, change::kind::other_layout));
    }
}

namespace {

/// What a change gives up of a job's sizes, as remedies are ordered.
int given_up(change::kind what) {
    return what == change::kind::shorter_context       ? 3
           : what == change::kind::smaller_batch       ? 2
           : what == change::kind::smaller_micro_batch ? 1
                                                       : 0;
}

std::vector<change> changes_of(const placed_job& p) {
    std::vector<change> all;
    for_each_change(p, [&](const change& made) { return all.push_back(made), false; });
    return all;
}

/// The best pair of a plain loop over all pairs; the first of them where several are as good.
maybe<remedy> pair_of_plain_loop(const placed_job& asked, const detail::remedy_finder& finder) {
    maybe<remedy> best;
    for (const change& first : changes_of(asked)) {
        if (given_up(first.what) > 0 || finder.has(first.what)) continue;
        const placed_job changed = with_change(asked, first);
        for (const change& second : changes_of(changed)) {
            const placed_job both = with_change(changed, second);
            if (second.what == first.what || finder.has(second.what)) continue;
            if (!fits(both.job, both.layout, both.cluster)) continue;
            const token_rate rate = plan(both.job, both.layout, both.cluster)->speed.tokens_per_second;
            const remedy pair{{first, second}, 2, both.layout, rate};
            const int less = given_up(second.what) - (best ? given_up((*best).changes[1].what) : 9);
            if (less < 0 || (less == 0 && rate > (*best).tokens_per_second)) best = pair;
        }
    }
    return best;
}

}  // namespace

TEST_CASE("the best pair is that of a plain loop over all pairs, whichever single changes do") {
    job many = chat;
    many.batch = 64;
    job local{.model = models::qwen3_30b_a3b, .context = tokens(32768), .runtime = *find_runtime("llama.cpp")};
    const job trained{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(4096)};
    job adapted{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(4096), .micro_batch = 4};
    adapted.adapter = {.kind = adapter_kind::lora, .rank = 8};
    int found_pairs = 0;
    const auto check = [&](const placed_job& asked, const detail::remedy_finder& finder) {
        const maybe<remedy> best = pair_of_plain_loop(asked, finder);
        const maybe<remedy> pair = finder.best_pair();
        REQUIRE(pair.known == best.known);
        if (!best) return;
        ++found_pairs;
        for (const std::size_t k : {0U, 1U}) CHECK((*pair).changes[k].what == (*best).changes[k].what);
        CHECK((*pair).tokens_per_second == (*best).tokens_per_second);
    };
    for (const job& j : {many, local, trained, adapted}) {
        const placed_job asked{j, {}, one_4090};
        remedies alone;
        detail::remedy_finder finder{asked, layout_choice::given, alone};
        check(asked, finder);  // though nothing is known to do alone
        for (const change& made : changes_of(asked))
            if (!finder.has(made.what)) finder.try_alone(made);
        check(asked, finder);
        remedies first;  // and where the first of all is
        first.add({{changes_of(asked)[0]}, 1, {}, {}});
        check(asked, detail::remedy_finder{asked, layout_choice::given, first});
    }
    CHECK(found_pairs >= 6);
}

TEST_CASE("a layout that was given stays where the job fits in it, and one that is searched is the best of all") {
    const job small{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = *find_runtime("sglang")};
    const placed_job stages{small, {.pipeline = 2}, standard_cluster(gpus::h100_sxm5_80gb, 2).value()};
    remedies none;
    const maybe<job_plan> given = detail::remedy_finder{stages, layout_choice::given, none}.fitting(stages);
    REQUIRE(given);
    CHECK(given->layout == stages.layout);
    const maybe<job_plan> searched = detail::remedy_finder{stages, layout_choice::searched, none}.fitting(stages);
    REQUIRE(searched);
    CHECK(searched->layout == search(small, stages.cluster)->plan.layout);
    CHECK(searched->layout != stages.layout);
    placed_job wrong = stages;  // a search that is refused finds nothing that fits
    wrong.job.batch = 0;
    CHECK_FALSE(detail::remedy_finder{stages, layout_choice::searched, none}.fitting(wrong));
}

TEST_CASE("a pair with the widest format stands before any that gives up as much, be that faster") {
    using kind = change::kind;
    const auto rate = [](int n) { return tokens_per_s(static_cast<double>(n)); };
    const placed_job asked{chat, {}, one_4090};
    remedies found;
    found.add({{change{.what = kind::narrower_weights}, change{.what = kind::shorter_context}}, 2, {}, rate(1)});
    const detail::remedy_finder finder{asked, layout_choice::given, found};
    const auto with = [&](kind second) {
        return remedy{{change{.what = kind::narrower_cache}, change{.what = second}}, 2, {}, rate(10)};
    };
    CHECK_FALSE(finder.excels(with(kind::shorter_context)));
    CHECK(finder.excels(with(kind::smaller_batch)));
}

TEST_CASE("the widest format is for a job that serves, names no context, and finds no format alone that is as wide") {
    const cluster small = standard_cluster(gpus::rtx_3060_12gb, 1).value();
    const auto widest = [&](const job& j, const cluster& c, const remedies& alone = {}) {
        remedies found = alone;
        const placed_job asked{j, {}, c};
        return detail::remedy_finder{asked, layout_choice::given, found}.widest_format();
    };
    const job plain{.model = models::qwen3_8b};
    const maybe<remedy> usual = widest(plain, small);
    REQUIRE(usual);
    REQUIRE(usual->changes[0].mix->quantisation == gguf_quantisation::Q8_0);
    // Prompt and output of 40,000 tokens name a context, whichever of them is longer.
    job named = plain;
    named.prompt = tokens(10'000);
    named.output = tokens(30'000);
    CHECK_FALSE(widest(named, small));
    named.prompt = tokens(30'000);
    named.output = tokens(10'000);
    CHECK_FALSE(widest(named, small));
    // A remedy that is as wide alone leaves nothing to be found; a narrower one does, and so does a wide one in a pair.
    const auto mix = [](const char* name) {
        return change{.what = change::kind::narrower_weights, .mix = find_gguf_mix("weights", name).value()};
    };
    const auto beside = [&](const remedy& one) {
        remedies alone;
        alone.add(one);
        return bool{widest(plain, small, alone)};
    };
    CHECK_FALSE(beside({{mix("Q8_0")}, 1, {}, {}}));
    CHECK(beside({{mix("Q6_K")}, 1, {}, {}}));
    CHECK(beside({{mix("Q8_0"), change{.what = change::kind::smaller_batch}}, 2, {}, {}}));
    CHECK(beside({{change{.what = change::kind::narrower_cache}}, 1, {}, {}}));
    // A context of exactly the usual length is as long as that; a token takes more than 200,000 bytes.
    cluster tight = small;
    maybe<remedy> least = usual;
    while (least && least->changes[1].amount > 8192) {
        tight.in_use += bytes(200'000) * (least->changes[1].amount - 8192);
        least = widest(plain, tight);
    }
    REQUIRE(least);
    CHECK(least->changes[1].amount == 8192);
    CHECK(least->changes[0].mix->quantisation == gguf_quantisation::Q8_0);
    // Training is of the sequences that it names.
    job trained{.model = models::qwen3_8b, .task = task::finetuning, .sequence = tokens(65536)};
    trained.adapter = {.kind = adapter_kind::lora, .rank = 8};
    trained.recompute = recompute::full;
    const placed_job quantised =
        with_change({trained, {}, one_4090}, {.what = change::kind::narrower_weights, .format = nf4_double});
    REQUIRE(*max_context(quantised.job, {}, one_4090) > tokens(8192));
    CHECK_FALSE(widest(trained, one_4090));
}
