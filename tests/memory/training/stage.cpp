// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>
#include <utility>
#include <vector>

#include "../../training_jobs.hpp"

using namespace training_jobs;

TEST_CASE("layers that predict further tokens are on the last stage, with an embedding of their own there") {
    job j = full();
    j.runtime = runtimes::megatron;
    job ahead = j;
    ahead.mtp_layers = 1;
    const layout l{.pipeline = 2};
    CHECK(training_state_of(ahead, l, 0).weights == training_state_of(j, l, 0).weights);
    // A layer, the projection of two widths to one, three norms; the embedding.
    const std::int64_t h = j.model.hidden;
    parameter_count layer;
    for_each_weight(j.model.layers[0], h, [&](const weight& w) { layer += w.count(); });
    const byte_count more = training_state_of(ahead, l, 1).weights - training_state_of(j, l, 1).weights;
    CHECK(more == bytes(2) * (layer.in(parameters) + 2 * h * h + 3 * h + j.model.vocabulary * h));
    // On one GPU the embedding is there already.
    CHECK(training_state_of(ahead, {}).weights - training_state_of(j, {}).weights ==
          bytes(2) * (layer.in(parameters) + 2 * h * h + 3 * h));
    // Its scores stay while the model's own are computed: fp32, once a depth.
    const byte_count scores = bytes(4) * 4096 * j.model.vocabulary;
    CHECK(training_memory(ahead, l, 1)[memory_term::logits].expected ==
          training_memory(j, l, 1)[memory_term::logits].expected + scores);
    job twice = ahead;
    twice.mtp_layers = 2;
    CHECK(peak(twice, l) > peak(ahead, l));
    job again = twice;
    again.mtp_use_repeated_layer = true;  // what each keeps, with the weights of one
    CHECK(training_state_of(again, l, 1).weights == training_state_of(ahead, l, 1).weights);
    CHECK(training_state_of(again, l, 1).optimizer.states == training_state_of(ahead, l, 1).optimizer.states);
    CHECK(saved_activations(again, l, 1) == saved_activations(twice, l, 1));
    CHECK(peak(again, l) < peak(twice, l));
    CHECK(training_state_of(ahead, {.pipeline = 4, .stages = read_stages("8|8|8m|8").value()}, 2).weights >
          training_state_of(ahead, {.pipeline = 4, .stages = read_stages("8|8|8m|8").value()}, 1).weights);
    j.mtp_layers = 1000;
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb, 1) == "mtp_layers");
}
TEST_CASE("states of whole tensors: the fullest rank has the largest of what does not go round") {
    job j = full();
    j.runtime = runtimes::megatron;
    j.optimizer = muon;
    const auto states = [&](std::int32_t ranks) {
        return training_state_of(j, {.data = ranks, .zero = 1}).optimizer.states;
    };
    const byte_count whole = training_state_of(j, {}).optimizer.states;
    CHECK(states(1) == whole);
    CHECK(states(2) <= div_up(whole, 2) + mib(64));  // norms by the byte
    // 32 layers of matrices: more ranks than tensors leave one tensor each.
    const byte_count largest = bytes(8) * j.model.hidden * j.model.layers.kinds[0].feed_forward.width;
    CHECK(states(1024) > largest);
    CHECK(states(1024) < largest * 2);
    job by_bytes = j;
    by_bytes.optimizer = adamw;
    CHECK(training_state_of(by_bytes, {.data = 1024, .zero = 1}).optimizer.states < largest);
    // The first layouts dealt embedding and head whole too: twelve bytes each weight of theirs on one rank.
    j.runtime.optimizer.layer_wise_param_layout = false;
    CHECK(states(1024) >= bytes(12) * j.model.vocabulary * j.model.hidden);
}
TEST_CASE("a head whose gradient is put off keeps its input and the gradient of the logits") {
    job j = full();
    j.runtime = runtimes::megatron;
    j.global_batch = 8;
    job later = j;
    later.runtime.pipeline.defer_embedding_wgrad_compute = true;
    const layout l{.pipeline = 2};
    const byte_count input = bytes(2) * 4096 * j.model.hidden;
    const byte_count scores = bytes(2) * 4096 * j.model.vocabulary;
    CHECK(peak(later, l) > peak(j, l));
    const auto kept = [&](const job& of) { return training_memory(of, l, 1)[memory_term::activations].expected; };
    CHECK(kept(later) - kept(j) == (input + scores) * 7);
    later.runtime.pipeline.wgrad_deferral_limit = 2;
    CHECK(kept(later) - kept(j) == input * 7 + scores * 2);
    CHECK(refused_field(later, {}, gpus::a100_sxm4_80gb, 1) == "runtime.defer_embedding_wgrad_compute");
}
TEST_CASE("experts may be busier than the mean, which the upper bound counts unless the load is given") {
    job j{.model = models::deepseek_v3,
          .task = task::pretraining,
          .sequence = tokens(2048),
          .attention = attention_kernel::flash,
          .runtime = runtimes::megatron};
    const layout l{.data = 8, .expert = 8};
    const memory_breakdown balanced = training_memory(j, l);
    j.expert_load = 1.0001;  // as it is measured
    const memory_breakdown given = training_memory(j, l);
    CHECK(balanced.allocated.high > given.allocated.high + gib(10));
    CHECK(balanced.ideal <= given.ideal);
    j.expert_load = 1.72;
    CHECK(training_memory(j, l)[memory_term::activations].expected < balanced[memory_term::activations].high);
}
TEST_CASE("context-parallel ranks exchange keys and values through buffers") {
    job j = full();
    j.attention = attention_kernel::flash;
    j.runtime = runtimes::megatron;
    const attention& a = j.model.layers[0].attention;
    const auto exchanged = [&](std::int32_t ranks, cp_communication how) {
        const training_context context{j, layout{.context_parallel = ranks, .cp_comm_type = how}};
        byte_count size;
        const byte_count alone = [&] {
            training_context one = training_context{j, layout{.context_parallel = ranks}};
            one.attention.context_ranks = 1;
            byte_count sum;
            for_each_gradient_activation(j.model.layers[0], j.model.hidden, one,
                                         [&](const activation& g) { sum += local_bytes(g, {}); });
            return sum;
        }();
        for_each_gradient_activation(j.model.layers[0], j.model.hidden, context,
                                     [&](const activation& g) { size += local_bytes(g, {}); });
        return size - alone;
    };
    CHECK(exchanged(1, cp_communication::p2p) == byte_count{});
    const std::int64_t n = 4096 / 2;
    const std::int64_t keys = 2 * a.kv_heads * a.head_dim;
    const std::int64_t queries = a.heads * a.head_dim;
    CHECK(exchanged(2, cp_communication::p2p) == bytes(2) * n * (4 * keys + queries));
    CHECK(exchanged(2, cp_communication::all_gather) == bytes(2) * n * 2 * 2 * keys);
    CHECK(exchanged(2, cp_communication::a2a) == bytes(2) * n * (2 * queries + keys));
    // A long ring holds more in its forward pass.
    CHECK(exchanged(16, cp_communication::p2p) == bytes(2) * (n / 8) * (16 * (keys + queries) - 4 * queries));
}

// ---- a stage whose sizes are set by hand ----------------------------------------------------------------------------

namespace {

using namespace llmres::detail;

/// Two layers of one kind and three of another, folded, with sizes of which each kind has its own.
struct made_job {
    job asked{.model = {.vocabulary = 1000, .hidden = 64},
              .task = task::pretraining,
              .weights = bf16,
              .sequence = tokens(128),
              .attention = attention_kernel::flash,
              .runtime = runtimes::pytorch};
    layout cut{};

    made_job() {
        const layer plain{.attention = {.heads = 4, .kv_heads = 4, .head_dim = 16}, .feed_forward = {.width = 128}};
        layer wider = plain;
        wider.feed_forward.width = 256;
        asked.model.layers = layer_stack{}.then(2, plain).then(3, wider);
        asked.model.max_context = tokens(256);
    }
    /// Calls with(folded), where the layers of the second kind are ten times those of the first.
    template <class With>
    auto folded(const training_layer& first, const With& with) const {
        folded_job f{asked, cut};
        training_layer second = first;
        for (byte_count training_layer::* size :
             {&training_layer::saved, &training_layer::kept, &training_layer::routed, &training_layer::away})
            second.*size = first.*size * 10;
        f.layers.set(0, first), f.layers.set(1, second);
        return with(f);
    }
    placement here(std::int32_t stage = 0) const { return placement_of(asked, cut, stage); }
};

}  // namespace

TEST_CASE("places beside the layers have numbers of their own") {
    std::vector<std::int32_t> numbers;
    for (const std::int32_t embeddings : {0, 1, 2})
        for (const bool beside : {false, true})
            for (const std::int32_t predictions : {0, 1})
                for (const bool output : {false, true})
                    numbers.push_back(number_of_place({.embeddings = embeddings,
                                                       .beside_embedding = beside,
                                                       .output = output,
                                                       .predictions = predictions}));
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == static_cast<std::int32_t>(i));
    CHECK(number_of_place({.predictions = 3}) == number_of_place({.predictions = 1}));
}

TEST_CASE("a stage saves what its layers keep, and all of those that recomputation passes over") {
    made_job m;
    const training_layer sizes{.saved = kib(7), .kept = kib(1)};
    const auto saved = [&](std::int32_t stage = 0) {
        return m.folded(sizes, [&](const folded_job& f) { return saved_by_layers(f, m.here(stage)).all; });
    };
    CHECK(saved() == kib(2 * 1 + 3 * 10));
    m.asked.recompute = recompute::full;
    m.asked.recompute_every = 2;  // layers 2 and 4 of five
    CHECK(saved() == kib(32 + 6 + 60 + 60));
    m.cut.pipeline = 5;
    CHECK(saved(1) == kib(1));
    CHECK(saved(2) == kib(10 + 60));
    m.asked.runtime.pipeline.naive = true;
    m.cut.pipeline = 1;
    CHECK(saved() == kib(32 + 6 + 60 + 60));
    m.asked.recompute = recompute::none;
    CHECK(saved() == kib(32));
}

TEST_CASE("before the layers stand masks of recomputed ones, and on the first stage embeddings and tables") {
    made_job m;
    const auto saved = [&](std::int32_t stage, std::int32_t layers = 1) {
        return m.folded({}, [&](folded_job& f) {
            f.ends.masks = kib(1), f.ends.before_layers = kib(10), f.ends.rotary_tables = kib(100);
            placement here{.stage = stage};
            here.layers.last = layers;
            return saved_before_layers(f, here, {.kept = kib(1000)});
        });
    };
    CHECK(saved(0) == kib(1110));
    CHECK(saved(1) == kib(1000));
    CHECK(saved(2) == kib(1000));
    m.asked.offload.activations = offload_place::host;  // the tables are offloaded with what reads them
    CHECK(saved(0) == kib(1010));
    m.asked.offload.activations = offload_place::none;
    m.asked.recompute = recompute::full;
    CHECK(saved(0) == kib(1111));
    CHECK(saved(1) == kib(1001));
    CHECK(saved(1, 0) == kib(1000));
}

TEST_CASE("stages that work one at a time hold one micro-batch, others as many as are in flight") {
    made_job m;
    m.cut.pipeline = 5;
    m.asked.global_batch = 20;
    const auto held = [&](std::int32_t stage) {
        return m.folded({.kept = kib(1)},
                        [&](const folded_job& f) { return micro_batches_held(f, m.here(stage)).most; });
    };
    CHECK(held(0) == 5.0);
    CHECK(held(4) == 1.0);
    m.asked.runtime.pipeline.naive = true;
    CHECK(held(0) == 1.0);
}

TEST_CASE("what leaves the GPU as it is made leaves two layers there, or nothing; parts of layers one layer's part") {
    made_job m;
    const training_layer sizes{.saved = kib(7), .kept = kib(3), .away = kib(2)};
    const auto left = [&] {
        return m.folded(sizes, [&](const folded_job& f) { return left_on_gpu(f, m.here()).all; });
    };
    const auto copied = [&](const placement& here) {
        return m.folded(sizes, [&](const folded_job& f) { return copied_parts(f, here); });
    };
    CHECK(left() == kib(2 * 3 + 3 * 30));
    m.asked.offload.activations = offload_place::host;
    m.asked.runtime.kernels.checkpointing.offloads_at_once = false;
    CHECK(left() == kib(2 * 30));  // of the kind that keeps most
    m.asked.runtime.kernels.checkpointing.offloads_at_once = true;
    CHECK(left() == byte_count{});
    CHECK(copied(m.here()) == kib(20));
    placement first_kind = m.here();
    first_kind.counts[1] = 0;
    CHECK(copied(first_kind) == kib(2));
    placement one = m.here();
    one.counts[0] = 0, one.counts[1] = 1;
    CHECK(copied(one) == kib(20));
    const auto moves = [&](std::int32_t layers) {
        placement here;
        here.layers = {0, layers};
        return m.folded(sizes, [&](const folded_job& f) { return moves_layers(f, here); });
    };
    CHECK(moves(1));
    m.asked.runtime.kernels.checkpointing.offloads_at_once = false;
    CHECK_FALSE(moves(2));
    CHECK(moves(3));
    CHECK(counted_beyond({.each = kib(5)}, kib(3)) == kib(2));
    CHECK(counted_beyond({.each = kib(5)}, kib(8)) == byte_count{});
}

TEST_CASE("busier experts have more tokens in all layers that keep theirs, else in the one that is computed") {
    made_job m;
    m.cut.data = m.cut.expert = 2;
    training_layer sizes{.saved = kib(100), .routed = kib(10), .kept = kib(90)};
    const auto uneven = [&] {
        return m.folded(sizes, [&](const folded_job& f) { return uneven_tokens(f, m.here(), 3.0); });
    };
    const byte_count of_each =
        scaled_up(kib(2 * 10), worst_imbalance * 3) + scaled_up(kib(3 * 100), worst_imbalance * 3);
    CHECK(uneven() == of_each);
    sizes.kept = kib(89);
    CHECK(uneven() == scaled_up(kib(10), worst_imbalance) + scaled_up(kib(100), worst_imbalance));
    sizes.kept = kib(100);
    m.asked.offload.activations = offload_place::host;
    CHECK(uneven() == scaled_up(kib(10), worst_imbalance) + scaled_up(kib(100), worst_imbalance));
    m.asked.offload.activations = offload_place::none;
    m.asked.expert_load = 1.5;
    CHECK(uneven() == byte_count{});
    m.asked.expert_load = 1.0;
    m.cut.expert = 1;
    CHECK(uneven() == byte_count{});
}

TEST_CASE("stages of a pipeline that keep their outputs have one of each micro-batch in flight, but for the last") {
    made_job m;
    const auto kept = [&](std::int32_t stage) {
        return m.folded({}, [&](const folded_job& f) { return kept_by_schedule(f, m.here(stage), 3.0); });
    };
    const byte_count output = bytes(2) * (128 * 64);
    m.cut.pipeline = 5;
    CHECK(kept(1) == byte_count{});
    m.asked.runtime.pipeline.keeps_stage_outputs = true;
    CHECK(kept(0) == output * 3);
    CHECK(kept(3) == output * 3);
    CHECK(kept(4) == byte_count{});
    m.cut.pipeline = 2;
    CHECK(kept(0) == output * 3);
    m.cut.pipeline = 1;
    CHECK(kept(0) == byte_count{});
    m.cut = {.pipeline = 2, .schedule = pipeline_schedule::zb_h1};
    m.asked.runtime.pipeline.keeps_stage_outputs = false;
    m.asked.global_batch = 8;
    CHECK(kept(0) + kept(1) > byte_count{});
}

TEST_CASE(
    "a later stage of as many equal layers holds no more than the one before it, where its micro-batches do not") {
    made_job m;
    m.asked.model.layers = {8, m.asked.model.layers.kinds[0]};
    m.cut.pipeline = 4;
    const auto repeats = [&](std::int32_t stage) {
        const folded_job f{m.asked, m.cut};
        return repeats_stage_before(f, stage);
    };
    CHECK_FALSE(repeats(0));
    CHECK(repeats(1));
    CHECK(repeats(2));
    CHECK_FALSE(repeats(3));  // has the head
    const auto first_holds_more = [&](const auto& change) {
        const made_job before = m;
        change();
        const bool more = repeats(1);
        CHECK(repeats(2));
        m = before;
        return more;
    };
    CHECK(first_holds_more([] {}));
    CHECK(first_holds_more([&] { m.asked.steps = 2; }));
    CHECK(first_holds_more([&] { m.cut.data = 4, m.cut.zero = 2; }));
    CHECK_FALSE(first_holds_more([&] { m.asked.steps = 1; }));
    CHECK_FALSE(first_holds_more([&] { m.cut.data = 4, m.cut.zero = 3; }));
    CHECK_FALSE(first_holds_more([&] { m.asked.mtp_layers = 1; }));
    CHECK_FALSE(first_holds_more([&] { m.asked.model.encoders[0].layers = 1; }));
    CHECK_FALSE(first_holds_more([&] { m.asked.adapter = {.kind = adapter_kind::lora, .rank = 8}; }));
    CHECK_FALSE(first_holds_more([&] { m.asked.model.architecture = "mamba2"; }));  // its stream is fp32
    m.asked.runtime.pipeline.naive = true;
    CHECK_FALSE(repeats(2));
    m.asked.runtime.pipeline.naive = false;
    // Every second of two layers is recomputed on each stage; every second of three, or of one, not.
    m.asked.recompute = recompute::full, m.asked.recompute_every = 2;
    CHECK(repeats(2));
    m.asked.model.layers.size = 12;
    CHECK_FALSE(repeats(2));
    m.asked.model.layers.size = 9;  // the first stage has three
    CHECK(repeats(2));
    CHECK_FALSE(repeats(1));
    m.asked.recompute = recompute::none;
    m.asked.model.layers.size = 12;
    CHECK(repeats(2));
}

TEST_CASE("an optimizer makes what all tensors need at once, and what the fullest of its loop does") {
    made_job m;
    m.asked.model.layers = {5, m.asked.model.layers.kinds[0]};
    const auto stepping = [&](const optimizer& o, const auto& set) {
        m.asked.optimizer = o;
        folded_job f{m.asked, m.cut};
        training_layer of = f.layers[0];
        training_stage s{f, m.here()};
        s.weights.all.optimizer = {.temporaries = kib(100), .largest_step = kib(10)};
        s.weights.input.optimizer.last_step = s.weights.output.optimizer.last_step = {};
        s.zero.stepping = kib(1000);
        of.state.optimizer.first_step = of.state.optimizer.first_projection = {};
        set(s, of);
        f.layers.set(0, of);
        return stepping_of(f, s);
    };
    CHECK(stepping(adamw, [](auto&, auto&) {}) == kib(1110));
    // The embedding's temporaries are there while the first layer's first tensor is stepped; an encoder is between.
    const auto after_embedding = [](training_stage& s, training_layer& of) {
        s.weights.input.optimizer.last_step = kib(20), of.state.optimizer.first_step = kib(30);
    };
    CHECK(stepping(lion, after_embedding) == kib(1100 + 50));
    CHECK(stepping(lion, [&](training_stage& s, training_layer& of) {
              after_embedding(s, of);
              s.encoder.layers = 1;
          }) == kib(1110));
    // GaLore's first projection is beside the last tensor that is not projected.
    const auto projects = [](training_stage& s, training_layer& of) {
        s.weights.output.optimizer.last_step = kib(500), of.state.optimizer.first_projection = kib(2000);
    };
    CHECK(stepping(galore, projects) == kib(2500));
    CHECK(stepping(adamw, projects) == kib(1110));
    CHECK(stepping(galore, [](training_stage&, training_layer& of) {
              of.state.optimizer.first_projection = kib(20);
          }) == kib(1110));
    CHECK(stepping(galore, [&](training_stage& s, training_layer& of) {
              projects(s, of);
              s.encoder.layers = 1, s.encoder.last_step = kib(7);
          }) == kib(2007));
    m.asked.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(stepping(galore, projects) == kib(1110));
}

TEST_CASE("a step reads gradients and states and writes weights and states, or what its operations do one by one") {
    job j = full();
    training_state kept{.weights = kib(2), .adapter = kib(1)};
    kept.gradients.whole = kib(10), kept.optimizer.states = kib(60);
    const auto updated = [&](const layout& l, const maybe<precision>& master = {}) {
        return updated_by_step(j, l, kept, master);
    };
    j.optimizer = adamw_fused;
    CHECK(updated({}) == kib(60 * 2 + 10 + 2));
    CHECK(updated({.data = 5, .zero = 1}) == kib(60 * 2 + 2 + 2));
    CHECK(updated({.data = 5}) == kib(60 * 2 + 10 + 2));
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(updated({}) == kib(60 * 2 + 10 + 1));
    j.optimizer = adamw;
    j.runtime.optimizer.foreach_tensors = false;
    CHECK(updated({}) == kib(60 * 2 + 10 + 1));
    j.runtime.optimizer.foreach_tensors = true;
    CHECK(updated({}) == kib(30) * adamw.passes);
    CHECK(updated({}, fp32) == kib(20) * adamw.passes);
    j.optimizer.passes = 1;
    CHECK(updated({}, fp32) == kib(20));
    j.optimizer.passes = 0;
    CHECK(updated({}, fp32) == kib(60 * 2 + 10 + 1));
}

TEST_CASE("tables of masks and of positions are beside the weights, one or one a layer") {
    made_job m;
    const auto held = [&] {
        const folded_job f{m.asked, m.cut};
        return std::pair{mask_table(f, m.here()), rotary_table(f, m.asked.model.layers.kinds[0])};
    };
    const byte_count table = bytes(256 * 256);
    CHECK(held().first == byte_count{});
    m.asked.model.architecture = "gpt_bigcode";
    CHECK(held().first == table);
    m.asked.model.architecture = "gpt_neo";
    CHECK(held().first == table * 5);
    m.asked.model.architecture = {};
    CHECK(held().second == byte_count{});
    m.asked.runtime.loading.rope = rope_tables::own;
    CHECK(held().second == bytes(2) * (2 * 256 * 16));  // cosines and sines of each position
    const folded_job f{m.asked, m.cut};
    const training_stage s = training_stage_of(f, m.here());
    CHECK(s.weights.all.weights - training_stage{f, m.here()}.weights.all.weights == bytes(2) * (2 * 256 * 16) * 5);
}

TEST_CASE("DeepSpeed hands gradients to main memory by two buckets, where they are more") {
    made_job m;
    m.asked.runtime = runtimes::deepspeed;
    m.cut.data = 2, m.cut.zero = 2;
    const auto kept = [&](std::int64_t bucket) {
        m.asked.runtime.sharding.deepspeed.reduce_bucket_size = bucket;
        const folded_job f{m.asked, m.cut};
        return training_stage_of(f, m.here());
    };
    const folded_job f{m.asked, m.cut};
    const training_stage all = kept(1'000'000'000);
    CHECK(all.weights.all.gradients.kept == gradients_of_stage(f, all));
    CHECK_FALSE(in_buckets(f, all));
    CHECK(kept(1000).weights.all.gradients.kept == all.weights.all.gradients.kept);  // nothing is offloaded
    m.asked.offload.optimizer = offload_place::host;
    const training_stage few = kept(1000);
    CHECK(few.weights.all.gradients.kept == bytes(2) * (2 * 1000));
    CHECK(in_buckets(f, few));
    CHECK(kept(1'000'000'000).weights.all.gradients.kept == all.weights.all.gradients.kept);
}

TEST_CASE("a stage saves of each micro-batch in flight what its layers keep, and once what stands before them") {
    made_job m;
    m.cut.pipeline = 5;
    m.asked.global_batch = 20;
    const training_layer sizes{.saved = kib(7), .kept = kib(3), .away = kib(2)};
    const auto saved = [&](std::int32_t stage, const prediction_memory& prediction = {}) {
        return m.folded(sizes, [&](folded_job& f) {
            f.ends.before_layers = kib(100), f.ends.rotary_tables = {}, f.ends.masks = {};
            return saved_memory_of(f, m.here(stage), {}, prediction);
        });
    };
    saved_memory first = saved(0);  // a layer of the first kind, and a part of one that is offloaded
    CHECK(first.all == kib(5 * 3 + 100 + 2));
    CHECK(first.before == kib(100));
    CHECK(first.maybe_more == kib(2));
    CHECK(first.not_at_loss == byte_count{});
    CHECK_FALSE(first.moves);
    CHECK(saved(4).all == kib(30 + 20));
    CHECK(saved(4, {.kept = kib(1000)}).all == kib(30 + 20 + 1000));
    // Layers that leave the GPU: two of the widest are there, each counted with a half.
    m.asked.offload.activations = offload_place::host;
    m.asked.runtime.kernels.checkpointing.offloads_at_once = false;
    m.cut.pipeline = 1;
    first = saved(0);
    CHECK(first.moves);
    CHECK(first.each == kib(30));
    CHECK(first.all == kib(60 + 100 + 20));
}

TEST_CASE("a stage that holds fewer layers than are cut off has none of what those would save less") {
    made_job m;
    m.asked.adapter = {.kind = adapter_kind::llama_adapter, .rank = 8};
    const auto cut = [&](const placement& here) {
        return m.folded({.kept = kib(3)}, [&](const folded_job& f) { return saved_by_layers(f, here); });
    };
    CHECK(cut(m.here()).cut == kib(6));  // two layers of the first kind
    CHECK(cut(m.here()).all == kib(2 * 3 + 3 * 30));
    placement one = m.here();
    one.counts[0] = 1, one.counts[1] = 0;
    CHECK(cut(one).cut == kib(3));
    one.stage = 1;
    CHECK(cut(one).cut == byte_count{});
}

TEST_CASE(
    "the final norm's own tensors are those of an RMS norm in several kernels, or two gradients of a layer norm's") {
    made_job m;
    const auto held = [&] { return final_norm_backward(m.asked.model, training_context{m.asked, m.cut}, m.cut); };
    // Beside what its weight multiplied and the roots of each position: nothing else passes a gradient back to what it
    // reads, to which an fp32 stream could add the first of the five.
    const std::int64_t values = 128 * 64;
    m.asked.weights = fp32, m.asked.autocast = true;
    CHECK(held() == bytes(5 * 4 + 4) * values + bytes(4) * 128);
    m.asked.runtime.kernels.norm = norm_code::fused;
    CHECK(held() == byte_count{});
    m.asked.runtime.kernels.norm = runtimes::pytorch.kernels.norm;
    m.asked.model.final_norm = norm_kind::layer;  // of its output and of its input, both in fp32
    CHECK(held() == bytes(4 + 4) * values);
    m.asked.model.final_norm = norm_kind::none;
    CHECK(held() == byte_count{});
}

TEST_CASE("tables of rotary positions are apart from what else stands before the layers") {
    made_job m;
    const end_activations ends = end_activations_of(m.asked.model, training_context{m.asked, m.cut}, m.cut);
    CHECK(ends.rotary_tables == bytes(2) * (2 * 128 * 16));  // cosines and sines of each position and half a head
    CHECK(ends.before_layers == byte_count{});
    m.asked.dropout = true;
    m.asked.model.architecture = "bert";
    const end_activations masked = end_activations_of(m.asked.model, training_context{m.asked, m.cut}, m.cut);
    CHECK(masked.rotary_tables == byte_count{});
    CHECK(masked.before_layers >= bytes(128 * 64));
}

TEST_CASE(
    "what older code of gated delta nets keeps more: rows of a chunk's system, in each layer that keeps its own") {
    made_job m;
    layer& second = m.asked.model.layers.kinds[1];
    second.attention.kind = attention_kind::none;
    second.recurrent = {.kind = recurrent_kind::delta_net, .heads = 6, .head_dim = 16, .key_heads = 2, .state = 8};
    m.asked.runtime.kernels.scan = scan_code::plain;
    const auto kept = [&](const placement& here) {
        return m.folded({}, [&](const folded_job& f) { return kept_by_rows(f, here, 2.5); });
    };
    // Rows and those above them, of 64 tokens: 1 x 2 + 2 x 3 + ... + 63 x 64 = 63 x 64 x 65 / 3, in two chunks of six
    // heads, in fp32.
    const byte_count layer = bytes(4) * (63 * 64 * 65 / 3 * 2 * 6);
    CHECK(kept(m.here()) == scaled_up(layer * 3, 2.5));
    placement one = m.here();
    one.counts[0] = 0, one.counts[1] = 1;
    CHECK(kept(one) == scaled_up(layer, 2.5));
    one.counts[0] = 2, one.counts[1] = 0;
    CHECK(kept(one) == byte_count{});
    m.asked.recompute = recompute::full;  // one at a time
    CHECK(kept(m.here()) == layer);
    m.asked.recompute = recompute::none;
    m.cut.tensor = 2;
    CHECK(kept(m.here()) == scaled_up(div_up(layer, 2) * 3, 2.5));
    m.cut.tensor = 1;
    m.asked.runtime.kernels.scan = scan_code::fused;
    CHECK(kept(m.here()) == byte_count{});
}

TEST_CASE("tokens of busier experts are those of the kinds that a stage has") {
    made_job m;
    m.cut.data = m.cut.expert = 2;
    const training_layer sizes{.saved = kib(100), .routed = kib(10), .kept = kib(50)};
    const auto uneven = [&](std::int32_t first, std::int32_t second) {
        placement here = m.here();
        here.counts[0] = first, here.counts[1] = second;
        return m.folded(sizes, [&](const folded_job& f) { return uneven_tokens(f, here, 3.0); });
    };
    CHECK(uneven(1, 0) == scaled_up(kib(10), worst_imbalance));
    CHECK(uneven(0, 1) == scaled_up(kib(100), worst_imbalance));
    CHECK(uneven(1, 1) == scaled_up(kib(10), worst_imbalance) + scaled_up(kib(100), worst_imbalance));
}

TEST_CASE("of layers that leave the GPU two of the widest are there, of the kinds that a stage has") {
    made_job m;
    m.asked.offload.activations = offload_place::host;
    m.asked.runtime.kernels.checkpointing.offloads_at_once = false;
    const auto left = [&](byte_count first, byte_count second, std::int32_t of_second) {
        folded_job f{m.asked, m.cut};
        f.layers.set(0, training_layer{.kept = first}), f.layers.set(1, training_layer{.kept = second});
        placement here = m.here();
        here.counts[1] = of_second;
        return left_on_gpu(f, here).all;
    };
    CHECK(left(kib(20), kib(30), 3) == kib(60));
    CHECK(left(kib(20), kib(30), 1) == kib(60));
    CHECK(left(kib(20), kib(30), 0) == kib(40));
    CHECK(left(kib(40), kib(30), 3) == kib(80));
    CHECK(left(kib(40), kib(39), 3) == kib(80));
}

TEST_CASE("a stage is shown where it begins a range, and where it may hold more than the one before it") {
    made_job m;
    m.asked.model.layers = {8, m.asked.model.layers.kinds[0]};
    m.cut.pipeline = 4;
    const auto shown = [&](std::int32_t first, std::int32_t end) {
        std::vector<std::int32_t> stages;
        const folded_job f{m.asked, m.cut};
        for_each_stage(f, first, end, [&](const placement& here) { stages.push_back(here.stage); });
        return stages;
    };
    // Stages behind the first have as many layers and fewer micro-batches; the last has the head.
    CHECK(shown(0, 4) == std::vector{0, 3});
    CHECK(shown(1, 4) == std::vector{1, 3});
    CHECK(shown(2, 4) == std::vector{2, 3});
    CHECK(shown(2, 3) == std::vector{2});
    CHECK(shown(3, 3).empty());
}

TEST_CASE("layers that recomputation passes over are as many on the next stage where they divide those of this one") {
    made_job m;
    m.asked.recompute = recompute::full;
    m.asked.recompute_every = 3;
    m.asked.model.layers = {7, m.asked.model.layers.kinds[0]};  // 3, 2 and 2 layers
    m.cut.pipeline = 3;
    const auto alike = [&](std::int32_t stage) { return recomputes_alike(folded_job{m.asked, m.cut}, stage); };
    CHECK(alike(1));
    CHECK_FALSE(alike(2));
    m.asked.recompute_every = 2;
    CHECK_FALSE(alike(1));
    CHECK(alike(2));
    m.asked.recompute = recompute::none;
    CHECK(alike(1));
}

TEST_CASE("deferred gradients of weights keep what each layer's need, of both kinds, for each micro-batch that waits") {
    made_job m;
    m.cut = {.pipeline = 2, .schedule = pipeline_schedule::zb_h1};
    m.asked.global_batch = 8;
    for (const std::int32_t stage : {0, 1}) {
        const folded_job f{m.asked, m.cut};
        const placement here = m.here(stage);
        const double waiting = deferred_micro_batches(m.cut, stage, f.micro_batches);
        byte_count all;
        for (std::size_t k = 0; k < 2; ++k) {
            const byte_count one = needed_by_weights(m.asked.model.layers.kinds[k], 64, f.context, f.split);
            CHECK(one > byte_count{});
            all += scaled_up(one * here.counts[k], waiting);
        }
        CHECK(kept_by_schedule(f, here, 3.0) == all);
    }
}

TEST_CASE("a stage's weights have a table of masks where the model's code has, and DeepSpeed's buffers beside") {
    made_job m;
    m.asked.model.max_context = tokens(50);
    const auto weights = [&](const char* architecture) {
        m.asked.model.architecture = architecture;
        const folded_job f{m.asked, m.cut};
        return training_stage_of(f, m.here()).weights.all.weights;
    };
    CHECK(weights("gpt_bigcode") == weights("llama") + bytes(50 * 50));
    CHECK(weights("gpt_neo") == weights("llama") + bytes(50 * 50) * 5);
    m.asked.model.architecture = "llama";
    m.asked.runtime.sharding.code = sharding_code::deepspeed;
    m.asked.runtime.sharding.deepspeed.reduce_bucket_size = 1000;
    m.cut = {.data = 2, .zero = 3};
    const folded_job f{m.asked, m.cut};
    const training_stage s = training_stage_of(f, m.here());
    const zero_buffers made = zero_buffers_of(m.asked, m.cut, f.context, s.weights.all);
    CHECK(s.zero.throughout > byte_count{});
    CHECK(s.zero.throughout == made.throughout);
    CHECK(s.zero.stepping == made.stepping);
}

TEST_CASE("an encoder stands on the first stage alone, be it of one layer") {
    made_job m;
    m.cut.pipeline = 2;
    const auto kept = [&](std::int32_t stage) {
        const folded_job f{m.asked, m.cut};
        return training_stage_of(f, m.here(stage)).encoder.kept;
    };
    CHECK(kept(0) == byte_count{});
    m.asked.model.encoders[0].layers = 1;
    m.asked.model.encoders[0].hidden = 64;
    m.asked.model.encoders[0].output = tokens(16);
    m.asked.model.encoders[0].block = m.asked.model.layers.kinds[0];
    CHECK(kept(0) > byte_count{});
    CHECK(kept(1) == byte_count{});
}

TEST_CASE("the widest of the layers is the kind that ZeRO gathers most of, wherever it stands; the last steps last") {
    made_job m;
    m.asked.optimizer = adamw_loop;
    const layer narrow = m.asked.model.layers.kinds[0], wide = m.asked.model.layers.kinds[1];
    for (const bool first : {false, true}) {
        m.asked.model.layers = layer_stack{}.then(1, first ? wide : narrow).then(1, first ? narrow : wide);
        const folded_job f{m.asked, m.cut};
        CHECK(f.widest.gathered == f.layers[first ? 0 : 1].state.gathered);
        CHECK(f.widest.gathered > f.layers[first ? 1 : 0].state.gathered);
        CHECK(f.last_step == f.layers[1].state.optimizer.last_step);
    }
}

TEST_CASE("a head that is put off is among what stays to the end of the backward pass") {
    made_job m;
    m.cut.pipeline = 2;
    m.asked.global_batch = 8;
    const auto saved = [&] {
        const folded_job f{m.asked, m.cut};
        return saved_memory_of(f, m.here(1), {}, {});
    };
    const saved_memory before = saved();
    m.asked.runtime.pipeline.defer_embedding_wgrad_compute = true;
    const saved_memory later = saved();
    CHECK(later.before > before.before);
    CHECK(later.before - before.before == later.all - before.all);
    m.cut.pipeline = 1;
    const folded_job f{m.asked, m.cut};
    m.asked.runtime.pipeline.defer_embedding_wgrad_compute = false;
    const byte_count alone = saved_memory_of(folded_job{m.asked, m.cut}, m.here(), {}, {}).all;
    m.asked.runtime.pipeline.defer_embedding_wgrad_compute = true;
    CHECK(saved_memory_of(folded_job{m.asked, m.cut}, m.here(), {}, {}).all == alone);
}
