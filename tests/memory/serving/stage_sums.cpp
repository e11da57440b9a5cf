// SPDX-License-Identifier: MIT
// What memory/serving.hpp makes of one stage whose sizes are set by hand, beside tests/memory/serving.cpp, which plans
// whole jobs.
#include <llmres/memory/serving.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/llama.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr interval<byte_count> between(std::int64_t low, std::int64_t expected, std::int64_t high) {
    return {mib(low), mib(expected), mib(high)};
}

/// A stage of two sequences of 400 tokens of prompt and 100 of output, each of its sizes another number of mebibytes.
struct made_case {
    job asked{.model = {.vocabulary = 1 << 18, .hidden = 64}, .batch = 2};
    layout how{};
    serving_stage stage{.weights = mib(100),
                        .adapters = mib(3),
                        .cache = {mib(38), mib(40)},
                        .state = mib(5),
                        .last = true,
                        .index = 0,
                        .more_weights = mib(7),
                        .maybe_weights = mib(11),
                        .peak = {.activations = between(20, 24, 30), .logits = between(1, 2, 4)}};

    made_case() {
        asked.model.layers = {
            2, {.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16}, .feed_forward = {.width = 128}}};
        asked.prompt = tokens(400);
        asked.output = tokens(100);
        asked.runtime = {};
        asked.runtime.cache.pool = cache_pool::grows;
        asked.runtime.step.logits.bytes = {2.0, 4.0, 6.0};  // of two rows of 2^18: 1, 2 and 3 MiB
    }
    runtime& r() { return asked.runtime; }
    memory_breakdown held() {
        const detail::serving_step step{asked, asked.runtime, how};
        return with_engine(stage, step, asked.runtime, how);
    }
    serving_phases phases() {
        const detail::serving_step step{asked, asked.runtime, how};
        return phases_of(stage, step, asked.runtime);
    }
};

}  // namespace

TEST_CASE("a stage's tensors: weights with what joins them, adapters, cache, state, and the step's two terms") {
    made_case c;
    const memory_breakdown m = c.held();
    CHECK(m[memory_term::weights] == between(100, 107, 118));
    CHECK(m[memory_term::adapter] == mib(3));
    CHECK(m[memory_term::kv_cache] == mib(40));
    CHECK(m[memory_term::recurrent_state] == mib(5));
    CHECK(m[memory_term::activations] == between(20, 24, 30));
    CHECK(m[memory_term::logits] == between(1, 2, 4));
    CHECK(m.allocated == between(100 + 48 + 21, 107 + 48 + 26, 118 + 48 + 34));
    CHECK(m.ideal == m.allocated.expected - mib(2));  // what the cache is rounded up by
    CHECK(m.phase == phase::prefill);
    CHECK(m.reserved == m.allocated);
    CHECK(m.total() == m.allocated);
    CHECK(c.stage.held() == mib(100 + 7 + 3 + 40 + 5));
    const serving_phases phases = c.phases();
    CHECK(phases.load == mib(100 + 3 + 7));
    CHECK(phases.prefill == mib(100 + 3 + 5 + 7 + 40 + 26));
    CHECK(phases.decode == mib(100 + 3 + 5 + 7 + 40 + 2));
    c.stage.last = false;  // another stage has the logits
    CHECK(c.phases().decode == mib(100 + 3 + 5 + 7 + 40));
}

TEST_CASE("of prompts of unknown lengths, which may be short, a step may hold nothing") {
    made_case c;
    c.asked.prompt = c.asked.output = {};
    c.asked.context = tokens(500);
    CHECK(c.held()[memory_term::activations] == between(0, 24, 30));
    CHECK(c.held()[memory_term::logits] == between(0, 2, 4));
    c.asked.max_batched_tokens = tokens(64);
    CHECK(c.held()[memory_term::activations] == between(20, 24, 30));
}

TEST_CASE("projections are joined before the first step: that moment counts where it is the fuller one") {
    made_case c;
    c.r().loading.projections = projection_tensors::joined;
    CHECK(c.held()[memory_term::weights] == between(100, 100, 111));
    CHECK(c.held().phase == phase::prefill);
    CHECK(c.phases().load == mib(100 + 3 + 7 + 40 + 5));  // modules have their cache already
    CHECK(c.phases().prefill == mib(100 + 3 + 5 + 40 + 26));
    c.stage.more_weights = mib(26);  // as much as the step
    CHECK(c.held().phase == phase::prefill);
    c.stage.more_weights = mib(27);
    const memory_breakdown m = c.held();
    CHECK(m.phase == phase::load);
    CHECK(m[memory_term::weights] == between(100 + 21, 100 + 27, 111 + 34));  // the step's bounds hold, too
    CHECK(m[memory_term::activations] == byte_count{});
    CHECK(m[memory_term::logits] == byte_count{});
    c.stage.more_weights = mib(50);
    CHECK(c.held()[memory_term::weights] == between(100 + 21, 100 + 50, 111 + 50));
}

TEST_CASE("a cache that grows: prompts beside their part of it, or all of it, with copies, at the last token") {
    made_case c;
    c.r().cache.whole_batches = true;
    // 32 of 40 MiB beside 26 of the prompts' step are more than 40 beside 2 of logits.
    const memory_breakdown prompts = c.held();
    CHECK(prompts.phase == phase::prefill);
    CHECK(prompts[memory_term::kv_cache] == between(32, 32, 40));
    CHECK(prompts[memory_term::activations].expected == mib(24));
    CHECK(prompts.allocated.expected - prompts.ideal == scaled_up(mib(2), 0.8));
    CHECK(c.phases().prefill == mib(100 + 3 + 5 + 7 + 32 + 26));
    CHECK(c.phases().decode == mib(100 + 3 + 5 + 7 + 40 + 2));
    c.r().cache.copies = 2;
    const memory_breakdown last = c.held();
    CHECK(last.phase == phase::decode);
    CHECK(last[memory_term::kv_cache] == between(40, 80, 80));
    CHECK(last[memory_term::activations] == byte_count{});
    CHECK(last[memory_term::logits] == between(1, 2, 3));
    CHECK(last.allocated.expected - last.ideal == mib(4));
    CHECK(c.phases().decode == mib(100 + 3 + 5 + 7 + 80 + 2));
    c.stage.peak.activations = between(20, 48, 50);  // 32 and 50: as much as 80 and 2
    CHECK(c.held().phase == phase::prefill);
    c.stage.peak.activations = between(20, 47, 50);
    CHECK(c.held().phase == phase::decode);
    c.asked.output = {};  // no token is made
    c.asked.prompt = tokens(500);
    CHECK(c.held()[memory_term::kv_cache] == mib(40));
    CHECK(c.held().phase == phase::prefill);
}

TEST_CASE(
    "what the allocator adds: parts of all, of all but a pool, and blocks of the moments that are not the fullest") {
    made_case c;
    c.r().allocator.fragmentation = {0.125, 0.25, 0.5};
    memory_breakdown m = c.held();
    CHECK(m[memory_term::fragmentation] == interval<byte_count>{scaled_up(m.allocated.low, 0.125),
                                                                scaled_up(m.allocated.expected, 0.25),
                                                                scaled_up(m.allocated.high, 0.5)});
    CHECK(m.reserved == m.allocated + m[memory_term::fragmentation]);
    c.r().cache.pool = cache_pool::share_of_total;  // cache and state are one tensor a layer
    m = c.held();
    CHECK(m[memory_term::fragmentation] == interval<byte_count>{scaled_up(m.allocated.low - mib(45), 0.125),
                                                                scaled_up(m.allocated.expected - mib(45), 0.25),
                                                                scaled_up(m.allocated.high - mib(45), 0.5)});
    c.r().cache.pool = cache_pool::grows;
    c.r().allocator = {.caches_freed_blocks = true};
    c.stage.live = mib(1);  // less than the logits
    c.asked.attention = attention_kernel::eager;
    const interval<byte_count> eager = c.held()[memory_term::fragmentation];
    CHECK(eager == between(0, 1, 1));             // later steps may reuse them
    c.asked.attention = attention_kernel::flash;  // blocks of one layer may not serve the next
    CHECK(c.held()[memory_term::fragmentation] == between(0, 1, 1 + 30));
    c.stage.last = false;
    CHECK(c.held()[memory_term::fragmentation] == between(0, 0, 30));
}

TEST_CASE("a pool that is a fraction of what is free leaves the rest of it") {
    made_case c;
    c.r().cache.pool = cache_pool::share_of_free;
    c.r().cache.fraction = 0.8;  // of five parts one is left
    CHECK(c.held()[memory_term::fragmentation].expected == scaled_up(mib(45), 1.0 / 0.8 - 1.0));
    c.r().cache.whole_batches = true;
    c.r().cache.copies = 1;
    CHECK(c.held()[memory_term::fragmentation].low == scaled_up(mib(32 + 5), 1.0 / 0.8 - 1.0));
    CHECK(c.held()[memory_term::fragmentation].high == scaled_up(mib(40 + 5), 1.0 / 0.8 - 1.0));
    CHECK(c.held().never_both == byte_count{});
}

TEST_CASE("weights and cache as a fraction: the step and its workspaces take their room in the rest") {
    made_case c;
    c.r().cache.pool = cache_pool::share_with_weights;
    c.r().cache.fraction = 0.5;
    c.r().process.workspace = between(1, 2, 3);
    c.r().process.cuda_graphs = between(10, 20, 30);
    // The rest is as large as weights, cache and state: 145, 152 and 163. The step takes 32, 48 and 67 of it.
    const memory_breakdown m = c.held();
    CHECK(m[memory_term::fragmentation] == between(145 - 67, 152 - 48, 163 - 32));
    CHECK(m.never_both == mib(67 - 32));
    CHECK(m[memory_term::workspace] == between(1, 2, 3));
    CHECK(m[memory_term::runtime] == between(10, 20, 30));
    // Where the step takes more than the rest, nothing is left.
    c.stage.peak.activations = between(20, 150, 500);
    CHECK(c.held()[memory_term::fragmentation].low == byte_count{});
    CHECK(c.held()[memory_term::fragmentation].expected == byte_count{});
    CHECK(c.held()[memory_term::fragmentation].high == mib(163 - 32));
    CHECK(c.held().never_both == mib(163 - 32));
    c.r().cache.fraction = {};  // none is known
    CHECK(c.held()[memory_term::fragmentation] == byte_count{});
}

TEST_CASE("a pool that the caller sized is held whole, be it in bytes or in tokens") {
    made_case c;
    c.r().cache.pool = cache_pool::share_of_total;
    const auto left = [&] { return c.held()[memory_term::fragmentation].expected; };
    CHECK(left() == byte_count{});
    c.asked.options.cache_bytes = mib(60);
    CHECK(left() == mib(60 - 45));
    CHECK(pool_holds(c.asked, c.how, c.held()));
    c.asked.options.cache_bytes = mib(45);
    CHECK(left() == byte_count{});
    CHECK(pool_holds(c.asked, c.how, c.held()));
    c.asked.options.cache_bytes = mib(44);
    CHECK(left() == byte_count{});
    CHECK_FALSE(pool_holds(c.asked, c.how, c.held()));
    c.r().cache.pool = cache_pool::grows;  // the bytes are of a pool
    CHECK(pool_holds(c.asked, c.how, c.held()));
    c.r().cache.pool = cache_pool::share_of_total;
    c.asked.options.cache_bytes = {};
    // Two sequences of 500 tokens take 45 MiB, twice as many tokens 90.
    c.asked.options.cache_tokens = tokens(2000);
    CHECK(left() == mib(45));
    CHECK(pool_holds(c.asked, c.how, c.held()));
    c.asked.options.cache_tokens = tokens(1000);
    CHECK(left() == byte_count{});
    CHECK(pool_holds(c.asked, c.how, c.held()));
    c.asked.options.cache_tokens = tokens(999);
    CHECK_FALSE(pool_holds(c.asked, c.how, c.held()));
    c.r().cache.pool = cache_pool::grows;
    CHECK(pool_holds(c.asked, c.how, c.held()));
    CHECK_FALSE(pool_as_set(c.asked, c.r(), c.how, mib(45)).known);
}

TEST_CASE("communicators: a pair's buffers and as much again for each doubling, of each group that there is") {
    runtime r{};
    r.process.communicator = between(1, 2, 3);
    const auto of = [&](const layout& l) { return communicators(r, l); };
    CHECK(of({}) == byte_count{});
    CHECK(of({.tensor = 2}) == between(1, 2, 3));
    CHECK(of({.tensor = 4}) == between(1, 4, 6));
    CHECK(of({.tensor = 5}) == between(1, 6, 9));
    CHECK(of({.tensor = 8}) == between(1, 6, 9));
    CHECK(of({.pipeline = 2}) == between(1, 2, 3));
    CHECK(of({.pipeline = 8}) == between(1, 2, 3));  // neighbours
    CHECK(of({.data = 4}) == between(1, 4, 6));
    CHECK(of({.tensor = 2, .pipeline = 2, .data = 2, .expert = 2}) == between(4, 8, 12));
    // A workspace for all of them, and fused kernels of tensor ranks alone.
    r.process.communicator_once = true;
    r.process.fused_all_reduce = between(10, 10, 10);
    CHECK(of({}) == byte_count{});
    CHECK(of({.tensor = 8}) == between(11, 12, 13));
    CHECK(of({.tensor = 8, .pipeline = 2}) == between(1, 2, 3));
    CHECK(of({.tensor = 8, .data = 2}) == between(1, 2, 3));
    CHECK(of({.data = 2}) == between(1, 2, 3));
    CHECK(of({.expert = 2}) == between(1, 2, 3));
    CHECK(of({.pipeline = 2}) == byte_count{});
    made_case c;
    c.r().process.communicator = between(1, 2, 3);
    CHECK(c.held()[memory_term::communication] == byte_count{});
    c.how.tensor = 2;
    CHECK(c.held()[memory_term::communication] == between(1, 2, 3));
}

TEST_CASE("what the process adds: its context, its graphs, and workspaces, those of a pipeline's stages where it has") {
    made_case c;
    c.r().process.context = between(1, 2, 3);
    c.r().process.workspace = between(4, 5, 6);
    c.r().process.stage_workspace = between(7, 8, 9);
    CHECK(c.held()[memory_term::runtime] == between(1, 2, 3));
    CHECK(c.held()[memory_term::workspace] == between(4, 5, 6));
    c.how.pipeline = 2;
    CHECK(c.held()[memory_term::workspace] == between(7, 8, 9));
    c.r().process.stage_workspace = {};
    CHECK(c.held()[memory_term::workspace] == between(4, 5, 6));
}

TEST_CASE(
    "of a model that is known by its tensors alone a step's activations are known no better than its bounds say") {
    made_case c;
    c.asked.model.from_tensors = true;
    CHECK(c.held()[memory_term::activations] == interval<byte_count>{scaled_up(mib(20), undescribed_activations.low),
                                                                     mib(24),
                                                                     scaled_up(mib(30), undescribed_activations.high)});
    CHECK(c.held()[memory_term::logits] == between(1, 2, 4));
}

TEST_CASE("a stage is the sum of its layers by kind, of what stands beside them, and the fullest of their steps") {
    made_case c;
    layer other = c.asked.model.layers.kinds[0];
    other.feed_forward.width = 256;
    c.asked.model.layers = layer_stack{}.then(2, c.asked.model.layers.kinds[0]).then(3, other);
    c.how.pipeline = 2;
    serving_folds folds;
    serving_stages stages{c.asked, c.how, c.asked.runtime, folds};
    stages.fold_layers();
    stages.kinds.set(0, {.held = {.weights = {mib(1), mib(10)}, .adapters = mib(2)}, .live = mib(5)});
    stages.kinds.set(1, {.held = {.weights = {mib(100), mib(1000)}, .adapters = mib(200)}, .live = mib(4)});
    stages.caches.layers.set(0, {.cache = {mib(3), mib(4)}, .state = mib(6)});
    stages.caches.layers.set(1, {.cache = {mib(300), mib(400)}, .state = mib(600)});
    stages.encoders = mib(7);
    const auto of = [&](std::int32_t stage, const kind_counts& counts, const kind_counts& experts = {}) {
        return stages.stage({.stage = stage, .counts = counts, .expert_counts = experts});
    };
    const serving_stage mixed = of(1, {2, 3}, {1, 2});
    CHECK(mixed.weights == mib(2 + 10 + 300 + 2000));
    CHECK(mixed.adapters == mib(4 + 600));
    CHECK(mixed.cache.allocated == mib(8 + 1200));
    CHECK(mixed.cache.ideal == mib(6 + 900));
    CHECK(mixed.state == mib(12 + 1800));
    CHECK(mixed.live == mib(5));
    CHECK(mixed.index == 1);
    CHECK(mixed.last);
    CHECK(stages.caches.of({.counts = {2, 3}}).allocated() == mib(8 + 1200 + 12 + 1800));
    CHECK(of(1, {0, 1}).live == mib(4));  // of kinds that are there
    CHECK(of(1, {1, 0}).live == mib(5));
    CHECK(of(1, {}).live == byte_count{});
    const serving_stage first = of(0, {1, 1});  // encoders work on the first GPU
    CHECK(first.live == mib(7));
    CHECK_FALSE(first.last);
    CHECK(first.peak.all() == stages.step.peak(mib(7), false, 0).all());
    CHECK(of(1, {0, 1}).peak.all() == stages.step.peak(mib(4), true, 1).all());
}

TEST_CASE("a draft model lies on the last stage, split by the tensor ranks, with the cache of each sequence's tokens") {
    made_case c;
    c.how = {.tensor = 4, .pipeline = 2};
    c.asked.options.draft_kv = bytes_per_token::from_base(2048);
    const auto added = [&](std::int32_t stage) {
        serving_folds folds;
        return serving_stages{c.asked, c.how, c.asked.runtime, folds}.fold_layers().stage({.stage = stage});
    };
    CHECK(added(1).weights == byte_count{});
    CHECK(added(1).cache.allocated == byte_count{});  // of no draft model
    c.asked.options.draft_weights = mib(8);
    CHECK(added(0).weights == byte_count{});
    CHECK(added(0).cache.allocated == byte_count{});
    CHECK(added(1).weights == mib(2));
    CHECK(added(1).cache.allocated == kib(2 * 500 * 2 / 4));
    CHECK(added(1).cache.ideal == kib(2 * 500 * 2 / 4));
}

TEST_CASE("the busiest stage is the one that takes most, whichever it is") {
    made_case c;
    c.how.pipeline = 4;
    c.asked.model.layers = {4, c.asked.model.layers.kinds[0]};
    for (const std::int32_t prompt : {400, 4000}) {
        c.asked.prompt = tokens(prompt);
        const memory_breakdown busiest = serving_memory(c.asked, c.how);
        for (std::int32_t stage = 0; stage < 4; ++stage)
            CHECK(serving_memory_of_stage(c.asked, c.how, c.asked.runtime, stage).expected() <= busiest.expected());
        CHECK(serving_memory_of_stage(c.asked, c.how, c.asked.runtime, busiest.stage).expected() == busiest.expected());
    }
    // Alike stages are asked once; the one with layers of another kind is asked, and found.
    layer wide = c.asked.model.layers.kinds[0];
    wide.feed_forward.width = 1 << 22;
    for (std::int32_t at = 0; at < 4; ++at) {
        made_case d;
        d.how.pipeline = 4;
        const layer narrow = d.asked.model.layers.kinds[0];
        d.asked.model.layers = layer_stack{}.then(at, narrow).then(1, wide).then(3 - at, narrow);
        CHECK(serving_memory(d.asked, d.how).stage == at);
    }
}

TEST_CASE("a part of a cache, or copies of the whole") {
    CHECK(cache_part{}.at(kib(100)) == kib(100));
    CHECK(cache_part{.copies = 3}.at(kib(100)) == kib(300));
    CHECK(cache_part{.part = 0.5}.at(kib(100)) == kib(50));
    CHECK(cache_part{.part = 0.5, .copies = 3}.at(kib(100)) == kib(150));
}

TEST_CASE("the fullest moment says which part of the cache it has, and whether projections were joined there") {
    made_case c;
    const auto peak = [&] {
        memory_breakdown m;
        const detail::serving_step step{c.asked, c.asked.runtime, c.how};
        return add_peak(m, c.stage, step, c.asked.runtime);
    };
    CHECK(peak().cache.part == 1.0);
    CHECK(peak().cache.copies == 1);
    CHECK_FALSE(peak().joined);
    c.r().cache.whole_batches = true;  // 400 of 500 tokens
    CHECK(peak().cache.part == doctest::Approx(0.8));
    CHECK(peak().cache.copies == 1);
    c.r().cache.copies = 2;
    CHECK(peak().cache.part == 1.0);
    CHECK(peak().cache.copies == 2);
    c.r().cache = {};
    c.r().loading.projections = projection_tensors::joined;
    CHECK_FALSE(peak().joined);
    c.stage.more_weights = mib(27);
    CHECK(peak().joined);
}

TEST_CASE("a pool in blocks: so many of those that a stage's layers have, be it one") {
    made_case c;
    c.r().cache.pool = cache_pool::share_of_total;
    c.r().cache.windows = window_cells::grouped;
    c.r().cache.block = tokens(16);
    // Two layers of two heads of 16 values, keys and values, in 16 bits.
    const byte_count block = bytes(16 * 2 * 2 * 2 * 16 * 2);
    const auto set = [&](std::int32_t stage = 0) {
        return pool_as_set(c.asked, c.r(), c.how, mib(45), stage).value_or(byte_count{});
    };
    CHECK(set() == byte_count{});
    for (const std::int64_t blocks : {1, 2, 100}) {
        c.asked.options.cache_blocks = blocks;
        CHECK(set() == block * blocks);
    }
    CHECK(pool_as_set(c.asked, c.r(), c.how, mib(45)).value_or(byte_count{}) == block * 100);
    // Stages have blocks of their own layers: three of the five are the first's.
    c.asked.model.layers.size = 5;
    c.how.pipeline = 2;
    CHECK(set(0) == div_up(block * 3, 2) * 100);
    CHECK(set(1) == block * 100);
    CHECK(pool_as_set(c.asked, c.r(), c.how, mib(45)).value_or(byte_count{}) == set(0));
}

TEST_CASE("tokens that the caller sets are shared by one sequence or several; of none there is no pool") {
    made_case c;
    c.r().cache.pool = cache_pool::share_of_total;
    c.asked.options.cache_tokens = tokens(2000);
    for (const std::int64_t batch : {1, 2, 4}) {
        c.asked.batch = batch;
        CHECK(pool_as_set(c.asked, c.r(), c.how, mib(45)).value_or(byte_count{}) ==
              scaled_down(mib(45), 2000.0 / static_cast<double>(500 * batch)));
    }
    // An encoder that embeds keeps no keys: a pool of its tokens holds none.
    c.asked.model.head.kind = head_kind::pooled;
    c.r().cache.pool = cache_pool::grows;
    CHECK_FALSE(pool_as_set(c.asked, c.r(), c.how, mib(45)).known);
}

TEST_CASE("a pool that shares its part with weights is not the caller's rest") {
    made_case c;
    c.r().cache.pool = cache_pool::share_with_weights;
    c.r().cache.fraction = 0.5;
    const memory_breakdown before = c.held();
    c.asked.options.cache_bytes = mib(1000);
    CHECK(c.held()[memory_term::fragmentation] == before[memory_term::fragmentation]);
}

TEST_CASE("two tensor ranks have fused kernels and communicators, in one workspace") {
    runtime r{};
    r.process.communicator = between(1, 2, 3);
    r.process.communicator_once = true;
    r.process.fused_all_reduce = between(10, 10, 10);
    CHECK(communicators(r, {.tensor = 2}) == between(11, 12, 13));
    CHECK(communicators(r, {.tensor = 2, .expert = 2}) == between(11, 12, 13));
}

TEST_CASE("a stage has what is beside its layers' weights for each of them, and more where other kernels are there") {
    made_case c;
    c.asked.model.layers = layer_stack{}.then(2, c.asked.model.layers.kinds[0]).then(3, [&] {
        layer other = c.asked.model.layers.kinds[0];
        other.feed_forward.width = 256;
        return other;
    }());
    serving_folds folds;
    serving_stages stages{c.asked, c.how, c.asked.runtime, folds};
    stages.fold_layers();
    stages.kinds.set(0, {.held = {.more = mib(3), .padded = mib(5)}});
    stages.kinds.set(1, {.held = {.more = mib(30), .padded = mib(50)}});
    const serving_stage s = stages.stage({.counts = {2, 3}});
    CHECK(s.more_weights == mib(6 + 90));
    CHECK(s.padded_weights == mib(10 + 150));
    CHECK(s.maybe_weights == mib(10 + 150));
    CHECK(stages.stage({.counts = {1, 0}}).more_weights == mib(3));
    // Folding again changes nothing.
    stages.fold_layers();
    CHECK(stages.stage({.counts = {2, 3}}).more_weights == mib(96));
}

TEST_CASE("joined copies of queries, keys and values are beside a layer's weights where an engine joins them") {
    made_case c;
    const auto beside = [&] {
        serving_folds folds;
        return serving_stages{c.asked, c.how, c.asked.runtime, folds}.fold_layers().beside_weights(
            c.asked.model.layers.kinds[0]);
    };
    CHECK(beside() == byte_count{});
    c.r().loading.projections = projection_tensors::joined;
    // 64 rows of queries, 32 of keys and 32 of values, of 64 columns, in 16 bits.
    CHECK(beside() == bytes(2) * (128 * 64));
    c.r().loading.projections = projection_tensors::fused;
    CHECK(beside() == byte_count{});
    c.r().loading.mxfp4.padded = true;  // of no experts in MXFP4
    CHECK(beside() == byte_count{});
}

TEST_CASE("layers that predict further tokens have caches as wide as their block's, on the stage where they are") {
    made_case c;
    layer wide = c.asked.model.layers.kinds[0];
    wide.attention.kv_heads = 4;
    c.asked.model.prediction = {.layers = 3, .block = wide};
    const auto cache = [&](std::int32_t predictions) {
        serving_folds folds;
        serving_stages stages{c.asked, c.how, c.asked.runtime, folds};
        return stages.caches.of_stage(0, {2}, predictions).cache;
    };
    // Two sequences of 500 tokens: keys and values of four heads of 16, in 16 bits.
    const byte_count one = bytes(2 * 500) * (2 * 4 * 16 * 2);
    for (const std::int32_t predictions : {1, 2, 3}) {
        CHECK(cache(predictions).ideal - cache(0).ideal == one * predictions);
        CHECK(cache(predictions).allocated - cache(0).allocated == one * predictions);
    }
    CHECK(cache(0).ideal == one);  // two layers of half as many heads
}

TEST_CASE("layers that share blocks have what their groups have of them, and padding makes up for the rest") {
    made_case c;
    c.r().cache.pool = cache_pool::share_of_total;
    c.r().cache.windows = window_cells::grouped;
    c.r().cache.block = tokens(16);
    c.r().step.max_batched_tokens = tokens(64);
    const layer full = c.asked.model.layers.kinds[0];
    layer sliding = full;
    sliding.attention.window = tokens(32);
    // Two of full attention and five with windows: in groups of two, of which the last is padded by one.
    c.asked.model.layers = layer_stack{}.then(2, full).then(5, sliding);
    serving_folds folds;
    serving_stages stages{c.asked, c.how, c.asked.runtime, folds};
    REQUIRE(stages.caches.grouped);
    const byte_count page = bytes(16) * (2 * 2 * 16 * 2);
    CHECK(stages.caches.layers[0].cache.allocated == page * (2 * 32));  // 500 tokens are 32 blocks, of each sequence
    // A window of 32 less one and the tokens in flight, and a block.
    const std::int64_t in_flight = tokens_in_flight(c.asked, c.r(), c.how).in(tokens);
    const std::int64_t blocks = (31 + in_flight + 15) / 16 + 1;
    CHECK(stages.caches.layers[1].cache.allocated == page * (2 * blocks));
    const allotment all = stages.caches.of_stage(0, {2, 5}, 0).cache;
    CHECK(all.allocated == page * 2 * (2 * 32 + 3 * 2 * blocks));
    CHECK(stages.caches.padding_of(0, {2, 5}, 0) == page * (2 * blocks));
    // A draft model's are its own kind of the pool.
    c.r().cache.windows = window_cells::window;
    serving_folds others;
    serving_stages apart{c.asked, c.how, c.asked.runtime, others};
    CHECK(apart.caches.padding_of(0, {2, 5}, 0) == byte_count{});
}

TEST_CASE("graphs of layers are as many as the fullest stage has layers, whatever the bound") {
    made_case c;
    c.r().process.cuda_graphs = between(1, 2, 3);
    c.asked.model.layers.size = 5;
    CHECK(graphs_of(c.asked, c.r(), {}) == between(1, 2, 3));
    c.r().process.layer_graphs = between(10, 20, 30);
    CHECK(graphs_of(c.asked, c.r(), {}) == between(1 + 50, 2 + 100, 3 + 150));
    CHECK(graphs_of(c.asked, c.r(), {.pipeline = 2}) == between(1 + 30, 2 + 60, 3 + 90));
}

TEST_CASE("a stage is asked again where it has other layers or a larger part of a file, and the ends always") {
    made_case c;
    c.asked.model.layers.size = 12;
    c.how.pipeline = 6;
    const auto next = [&](std::int32_t index) {
        serving_folds folds;
        return serving_stages{c.asked, c.how, c.asked.runtime, folds}.fold_layers().next_stage(index);
    };
    CHECK(next(0) == 1);
    CHECK(next(1) == 5);  // between them all are alike
    CHECK(next(2) == 5);
    CHECK(next(4) == 5);
    CHECK(next(5) == 6);
    c.how.pipeline = 5;  // three, three, two, two and two layers
    CHECK(next(1) == 2);
    CHECK(next(2) == 4);
}

TEST_CASE("stages are ranked by what they allocate where all else is alike, or grows with it") {
    made_case c;
    const auto ranked = [&] {
        serving_folds folds;
        return ranks_by_allocated(serving_stages{c.asked, c.how, c.asked.runtime, folds});
    };
    CHECK(ranked());
    for (const std::int32_t rows : {1, 2}) {
        c.r().step.logits.filter_rows = rows;
        CHECK_FALSE(ranked());
    }
    c.r().step.logits.filter_rows = 0;
    c.r().loading.projections = projection_tensors::joined;
    CHECK_FALSE(ranked());
    c.r().loading.projections = projection_tensors::fused;
    CHECK(ranked());
    c.r().allocator.caches_freed_blocks = true;
    CHECK_FALSE(ranked());
    c.r().allocator.caches_freed_blocks = false;
    c.r().cache.whole_batches = true;
    CHECK_FALSE(ranked());
    c.r().cache.whole_batches = false;
    c.r().cache.pool = cache_pool::share_of_total;
    CHECK_FALSE(ranked());
}

TEST_CASE("the busiest stage of a file whose types differ between layers is the one that has the largest") {
    made_case c;
    c.asked.model = models::llama_3_1_8b;
    c.asked.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    for (const std::int32_t stages : {1, 2, 3, 4, 8}) {
        c.how.pipeline = stages;
        const memory_breakdown busiest = serving_memory(c.asked, c.how);
        for (std::int32_t stage = 0; stage < stages; ++stage)
            CHECK(serving_memory_of_stage(c.asked, c.how, c.asked.runtime, stage).expected() <= busiest.expected());
        CHECK(serving_memory_of_stage(c.asked, c.how, c.asked.runtime, busiest.stage).expected() == busiest.expected());
    }
}
