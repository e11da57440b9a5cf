// SPDX-License-Identifier: MIT
// What a stage's graph is laid out from. What its tensors take is in graph.cpp; whole buffers against logs of llama.cpp
// are in tests/validation/llama_cpp.cpp.
#include <llmres/memory/serving/ggml/stage.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../ggml_job.hpp"

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t h = 64, words = 4096;
constexpr std::int64_t inner = 2048;  ///< of an expert: stacks of them are larger than attention's scores

layer dense_layer(token_count window = {}) {
    return {.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16, .window = window}, .feed_forward = {.width = 128}};
}
layer routed_layer() {
    return {.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16},
            .feed_forward = {.experts = {.count = 8, .per_token = 2, .width = inner}}};
}

/// llama.cpp as `r` says, with steps of so many tokens against caches of 1024 cells.
struct serving_case {
    job asked;
    layout how{};

    serving_case(const std::vector<layer>& kinds, const std::vector<std::uint8_t>& order, std::int64_t step = 64)
        : asked{ggml_jobs::laid_out(h, words, step)} {
        model& m = asked.model;
        m.layers.kind_count = static_cast<std::int32_t>(kinds.size());
        m.layers.size = static_cast<std::int32_t>(order.size());
        for (std::size_t k = 0; k < kinds.size(); ++k) m.layers.kinds[k] = kinds[k];
        for (std::size_t i = 0; i < order.size(); ++i) m.layers.order[i] = order[i];
        runtime& r = asked.runtime;
        r.loading.embedding_on_host = true;
        r.loading.host_experts.copied = true;
        r.serving_kernels.written_in_place = true;
        r.serving_kernels.attention_mask = true;
        r.serving_kernels.flash_attention = false;
    }

    /// Calls with the graph of a range of layers.
    template <class Read>
    auto with(stage_range range, std::int32_t index, bool end, bool logits, Read&& read) const {
        const llmres::detail::serving_step step{asked, asked.runtime, how};
        const serving_weights weights{asked, how, asked.runtime, nullptr};
        return read(stage_graph{asked, how, asked.runtime, step, weights, range, index, end, logits});
    }
    stage_range all() const { return {0, asked.model.layers.size}; }
    bool possible() const {
        return with(all(), 0, true, true, [](const stage_graph& g) { return g.possible(); });
    }
    stage_graph_key key(stage_range range, std::int32_t index = 0, bool end = true, bool logits = true) const {
        return with(range, index, end, logits, [](const stage_graph& g) { return g.key(); });
    }
    step_peak peak(stage_range range, std::int32_t index = 0, bool end = true, bool logits = true) const {
        return with(range, index, end, logits, [](const stage_graph& g) { return g.peak(g.key()); });
    }
    step_peak peak() const { return peak(all()); }
    void experts_on_host(std::int32_t layers) {
        asked.options.experts_on_host = true;
        asked.options.host_expert_layers = layers;
    }
};

/// The layers that are laid out, in order.
void check_layers(const stage_graph_key& key, const std::vector<laid_layer>& expected) {
    REQUIRE(key.layers.count == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        INFO("layer ", i);
        CHECK(key.layers.layers[i] == expected[i]);
    }
}

/// The same laid out by hand: these layers, then the logits.
byte_count laid_out(const graph_shape& shape, const graph_options& options, const std::vector<graph_layer>& layers,
                    std::int64_t vocabulary) {
    ggml_graph graph{shape, options};
    graph.begin();
    for (const graph_layer& l : layers) graph.add_layer(l);
    if (vocabulary > 0) graph.add_logits(vocabulary);
    return graph.buffer.peak();
}

}  // namespace

TEST_CASE("two layers of each kind are laid out, the last, and the last that reads each mask") {
    const serving_case same{{dense_layer()}, {0, 0, 0, 0, 0}};
    check_layers(same.key(same.all()), {{.kind = 0}, {.kind = 0}, {.kind = 0, .last = true, .last_of_mask = true}});
    // Of a stage that is not the end a later stage reads the mask.
    check_layers(same.key(same.all(), 0, false, false), {{.kind = 0}, {.kind = 0}, {.kind = 0, .last = true}});
    check_layers(same.key({1, 2}), {{.kind = 0, .last = true, .last_of_mask = true}});
    check_layers(same.key({1, 3}), {{.kind = 0}, {.kind = 0, .last = true, .last_of_mask = true}});

    // Windows have a mask of their own, which a layer before the last reads last; a recurrence reads none.
    const layer recurrence{
        .attention = no_attention,
        .recurrent =
            {.kind = recurrent_kind::mamba2, .heads = 4, .head_dim = 8, .key_heads = 1, .state = 8, .kernel = 4},
        .feed_forward = {.width = 128}};
    const serving_case mixed{{dense_layer(), dense_layer(tokens(100)), recurrence}, {1, 0, 1, 0, 1, 1, 0, 2, 2, 2}};
    check_layers(mixed.key(mixed.all()), {{.kind = 1},
                                          {.kind = 0},
                                          {.kind = 1},
                                          {.kind = 0},
                                          {.kind = 1, .last_of_mask = true},
                                          {.kind = 0, .last_of_mask = true},
                                          {.kind = 2},
                                          {.kind = 2},
                                          {.kind = 2, .last = true}});

    // Layers with experts on the host are of a kind of their own.
    serving_case host{{routed_layer()}, {0, 0, 0, 0, 0, 0, 0}};
    host.experts_on_host(3);
    check_layers(host.key(host.all()), {{.kind = 0, .on_host = true},
                                        {.kind = 0, .on_host = true},
                                        {.kind = 0},
                                        {.kind = 0},
                                        {.kind = 0, .last = true, .last_of_mask = true}});
}

TEST_CASE("stages with the same key have the same graph: place, end, logits and the largest stacks tell them apart") {
    serving_case c{{routed_layer()}, {0, 0, 0, 0, 0, 0}};
    CHECK(c.key({0, 3}) == c.key({1, 4}));
    CHECK(c.key({0, 3}, 1) == c.key({0, 3}, 2));
    CHECK(c.key({0, 3}, 0) == c.key({0, 3}, 1));
    CHECK(c.key({0, 3}, 1, true) != c.key({0, 3}, 1, false));
    CHECK(c.key({0, 3}, 1, true, true) != c.key({0, 3}, 1, true, false));
    CHECK(c.key({0, 3}) != c.key({0, 2}));
    CHECK(c.key({0, 3}).stacks == expert_stacks{});
    c.experts_on_host(2);
    // Eight matrices of 64 x 2048 in 16 bits, where the stage's first layer has experts on the host.
    const byte_count stack = bytes(2) * (8 * h * inner);
    CHECK(c.key({1, 4}).stacks == expert_stacks{stack, stack});
    CHECK(c.key({2, 5}).stacks == expert_stacks{});
    CHECK(c.key({1, 4}) != c.key({2, 5}));
    CHECK(c.key({1, 4}, 0) != c.key({1, 4}, 1));  // the first GPU computes them
    CHECK(c.key({2, 5}, 0) == c.key({2, 5}, 1));
    // The first GPU casts masks, unless they are inputs in 16 bits.
    c.asked.runtime.serving_kernels.flash_attention = true;
    CHECK(c.key({2, 5}, 0) != c.key({2, 5}, 1));
    c.asked.runtime.serving_kernels.graph.narrow_masks = true;
    CHECK(c.key({2, 5}, 0) == c.key({2, 5}, 1));
}

TEST_CASE("graphs are known of gated feed-forwards behind attention, latent attention that is absorbed, and Mamba") {
    serving_case c{{dense_layer()}, {0, 0}};
    layer& kind = c.asked.model.layers.kinds[0];
    const auto possible_with = [&](auto change) {
        const layer before = kind;
        change(kind);
        const bool possible = c.possible();
        kind = before;
        return possible;
    };
    CHECK(c.possible());
    CHECK_FALSE(c.with({1, 1}, 0, true, true, [](const stage_graph& g) { return g.possible(); }));
    CHECK(possible_with([](layer& l) { l.feed_forward = {.experts = {.count = 4, .per_token = 1, .width = 8}}; }));
    CHECK_FALSE(possible_with([](layer& l) { l.feed_forward.kind = feed_forward_kind::plain; }));
    CHECK_FALSE(possible_with([](layer& l) { l.attention.gate = output_gate::features; }));
    CHECK_FALSE(possible_with([](layer& l) { l.attention.cross = cross_attention::beside; }));
    CHECK_FALSE(possible_with([](layer& l) { l.attention.indexer.heads = 4; }));
    for (const recurrent_kind recurrence :
         {recurrent_kind::none, recurrent_kind::mamba, recurrent_kind::mamba2, recurrent_kind::delta_net}) {
        const bool known = recurrence == recurrent_kind::mamba || recurrence == recurrent_kind::mamba2;
        CHECK(known == possible_with([&](layer& l) { l.attention = no_attention, l.recurrent.kind = recurrence; }));
    }
    CHECK_FALSE(possible_with([](layer& l) { l.recurrent.kind = recurrent_kind::mamba2; }));  // beside attention
    const auto latent = [](layer& l) { l.attention.kind = attention_kind::latent, l.attention.kv_rank = 8; };
    CHECK_FALSE(possible_with(latent));
    c.asked.runtime.serving_kernels.latent.absorbed = true;
    CHECK(possible_with(latent));
    c.asked.runtime.serving_kernels.latent.absorbed = false;
    c.asked.runtime.serving_kernels.flash_attention = true;
    c.asked.runtime.serving_kernels.latent.expanded = mib(1);
    CHECK_FALSE(possible_with(latent));  // 64 tokens are fewer than the 128 that expand
    set_batched_tokens(c.asked.runtime.step, tokens(128));
    CHECK(possible_with(latent));
    // One kind that is not known is enough.
    serving_case two{{dense_layer(), dense_layer()}, {0, 1}};
    CHECK(two.possible());
    two.asked.model.layers.kinds[1].attention.gate = output_gate::features;
    CHECK_FALSE(two.possible());
}

TEST_CASE("a stage is its layers and its logits, laid out by hand") {
    serving_case c{{dense_layer()}, {0, 0, 0, 0, 0}};
    const layer kind = dense_layer();
    const graph_shape shape{.tokens = 64, .cells = 1024, .scored = 64, .hidden = h, .value_rows = 2 * 16};
    const std::vector<graph_layer> three{
        {.kind = kind}, {.kind = kind}, {.kind = kind, .last = true, .last_of_mask = true, .computes_logits = true}};
    const std::vector<graph_layer> within{{.kind = kind}, {.kind = kind}, {.kind = kind, .last = true}};
    graph_options options;
    // The first layer's input may be there twice: not expected.
    const byte_count input = bytes(4) * (64 * h);
    for (const bool flash : {false, true}) {
        INFO("flash ", flash);
        c.asked.runtime.serving_kernels.flash_attention = flash;
        options.flash = flash;
        const step_peak peak = c.peak();
        CHECK(peak.all().expected == laid_out(shape, options, three, words));
        CHECK(peak.activations.expected == laid_out(shape, options, three, 0));
        CHECK(peak.all().low == peak.all().expected);
        CHECK(peak.all().high == peak.all().expected + input);
        const step_peak without = c.peak(c.all(), 0, true, false);
        CHECK(without.all().expected == laid_out(shape, options, three, 0));
        CHECK(without.logits.high == byte_count{});
        const step_peak first = c.peak(c.all(), 0, false, false);
        CHECK(first.all().expected == laid_out(shape, options, within, 0));
        graph_options behind = options;
        behind.first = false;
        CHECK(c.peak(c.all(), 1, false, false).all().expected == laid_out(shape, behind, within, 0));
    }
    // The embedding on this device: its rows stay.
    c.asked.runtime.serving_kernels.graph.inputs_of_embedding = 1;
    CHECK(c.peak().all().expected == laid_out(shape, options, three, words));
    c.asked.runtime.loading.embedding_on_host = false;
    options.inputs_here = 1;
    CHECK(c.peak().all().expected == laid_out(shape, options, three, words));
    CHECK(c.peak().all().high == c.peak().all().expected);
    options.inputs_here = 0;
    c.asked.runtime.loading.embedding_on_host = true;
    // Four copies of inputs, where GPUs take turns and nothing is on the host.
    c.how.pipeline = 2;
    c.asked.runtime.step.copies = 4;
    options.input_copies = 4;
    CHECK(c.peak().all().expected == laid_out(shape, options, three, words));
    CHECK(c.peak().all().high == c.peak().all().expected);
    c.asked.options.gpu_layers = 5;  // and the head is on the host
    options.input_copies = 1;
    CHECK(c.peak().all().expected == laid_out(shape, options, three, words));
    c.asked.options.gpu_layers = {};
    c.how.pipeline = 1;
    CHECK(c.peak().all().expected == laid_out(shape, options, three, words));
    // What an engine's accuracy says, of layers alone.
    c.asked.runtime.accuracy.activations = {0.5, 1.0, 2.0};
    const byte_count layers = laid_out(shape, options, three, 0),
                     logits = laid_out(shape, options, three, words) - layers;
    CHECK(c.peak().activations.low * 2 == layers);
    CHECK(c.peak().activations.high == layers * 2 + input);
    CHECK(c.peak().logits.expected == logits);
}

TEST_CASE("cells are those of the cache in whole blocks; windows have fewer, and values are as wide as the widest") {
    serving_case c{{dense_layer(), dense_layer(tokens(100))}, {0, 1, 0, 1}};
    c.asked.model.layers.kinds[0].attention.value_dim = 24;
    runtime& r = c.asked.runtime;
    r.cache.windows = window_cells::window_batch;
    r.serving_kernels.graph.value_rows = true;
    const auto expect = [&](std::int64_t cells, std::int64_t window_cells, std::int64_t value_rows) {
        const layer &whole = c.asked.model.layers.kinds[0], &window = c.asked.model.layers.kinds[1];
        graph_options options{.flash = false, .writes = r.serving_kernels.graph};
        CHECK(c.peak().all().expected ==
              laid_out({.tokens = 64,
                        .cells = cells,
                        .window_cells = window_cells,
                        .scored = 64,
                        .hidden = h,
                        .value_rows = value_rows},
                       options,
                       {{.kind = whole},
                        {.kind = window},
                        {.kind = whole, .last_of_mask = true},
                        {.kind = window, .last = true, .last_of_mask = true, .computes_logits = true}},
                       words));
    };
    expect(1024, 256, 2 * 24);  // 100 and 64 tokens of a step in blocks of 256
    r.cache.block = tokens(32);
    expect(1024, 192, 2 * 24);
    c.asked.output = tokens(25);
    expect(1056, 192, 2 * 24);
    r.cache.block = {};  // as blocks of 256
    expect(1280, 256, 2 * 24);
}

TEST_CASE("experts on the host are copied from 32 tokens on, or from 32 an expert") {
    for (const std::int64_t step : {31, 32, 127, 128}) {
        serving_case c{{routed_layer()}, {0, 0, 0, 0}, step};
        c.experts_on_host(4);
        host_experts& host = c.asked.runtime.loading.host_experts;
        const layer kind = routed_layer();
        const byte_count stack = bytes(2) * (8 * h * inner), hidden = bytes(4) * (step * h);
        const graph_shape shape{.tokens = step, .cells = 1024, .scored = step, .hidden = h, .value_rows = 32};
        const auto placed = [&](expert_place place) {
            const byte_count held = place == expert_place::copied ? stack : byte_count{};
            const graph_layer one{.kind = kind, .place = place, .gate_stack = held, .down_stack = held};
            const graph_layer last{.kind = kind,
                                   .last = true,
                                   .last_of_mask = true,
                                   .computes_logits = true,
                                   .place = place,
                                   .gate_stack = held,
                                   .down_stack = held};
            return laid_out(shape, {.flash = false}, {one, one, last}, 0);
        };
        for (const bool by_expert : {false, true}) {
            INFO(step, " tokens, by expert: ", by_expert);
            host.copied_by_expert = by_expert;
            const bool copied = step >= (by_expert ? 128 : 32);  // 32 x 8 experts / 2 of a token
            const byte_count expected = placed(copied ? expert_place::copied : expert_place::host);
            const step_peak peak = c.peak(c.all(), 0, true, false);
            CHECK(peak.all().expected == expected);
            CHECK(peak.all().low == expected - hidden);
            CHECK(peak.all().high >= expected + hidden);
        }
        // Where stacks are never copied they may be, to one hidden-sized tensor more.
        host.copied_by_expert = false;
        host.copied = false;
        const step_peak never = c.peak(c.all(), 0, true, false);
        CHECK(never.all().expected == placed(expert_place::host));
        CHECK(never.activations.high >= never.activations.expected + hidden);
        // Behind the first GPU the first one computes them.
        host.copied = true;
        if (step >= 32) {
            const graph_layer one{.kind = kind, .place = expert_place::first_gpu};
            const graph_layer last{.kind = kind, .last = true, .place = expert_place::first_gpu};
            CHECK(c.peak(c.all(), 1, false, false).all().expected ==
                  laid_out(shape, {.flash = false, .first = false}, {one, one, last}, 0));
        }
    }
}

TEST_CASE(
    "logits of a flash-attention step may lie above a hole: a feed-forward's tensor, or the mask before its cast") {
    serving_case c{{dense_layer()}, {0, 0, 0, 0}};
    c.asked.runtime.serving_kernels.flash_attention = true;
    const step_peak without = c.peak();
    c.asked.runtime.serving_kernels.feed_forward_under_logits = true;
    const byte_count logits = bytes(4) * (64 * words), hidden = bytes(4) * (64 * h);
    CHECK(c.peak().all().high == logits + hidden + bytes(4) * (std::int64_t{64} * 1024));
    CHECK(c.peak().all().expected == without.all().expected);
    c.asked.runtime.serving_kernels.graph.narrow_masks = true;
    c.asked.model.layers.kinds[0].feed_forward.width = 2000;
    CHECK(c.peak().all().high == logits + hidden + bytes(4) * (64 * 2000));
    // Not where layers are the fullest moment, and not without logits of all tokens.
    c.asked.model.layers.kinds[0].feed_forward.width = 20000;
    const step_peak layers = c.peak();
    CHECK(layers.all().high == layers.all().expected + hidden);
    c.asked.model.layers.kinds[0].feed_forward.width = 2000;
    CHECK(c.peak(c.all(), 0, true, false).logits.high == byte_count{});
    CHECK(c.peak(c.all(), 0, true, false).all().high == c.peak(c.all(), 0, true, false).all().expected + hidden);
    c.asked.runtime.step.logits.rows = scored_tokens::last;
    CHECK(c.peak().all().high == c.peak().all().expected + hidden);
    c.asked.runtime.step.logits.rows = scored_tokens::chunk;
    c.asked.runtime.serving_kernels.flash_attention = false;
    c.asked.model.layers.kinds[0].feed_forward.width = 128;
    CHECK(c.peak().all().high == c.peak().all().expected + hidden);
}

TEST_CASE("with gates fused, whole stacks of experts more may be copied, and the low end is without any") {
    serving_case c{{routed_layer()}, {0, 0, 0, 0}};
    c.experts_on_host(4);
    c.asked.runtime.loading.host_experts.fused_gates = true;
    const byte_count stack = bytes(2) * (8 * h * inner), hidden = bytes(4) * (64 * h);
    const step_peak copied = c.peak(c.all(), 0, true, false);
    CHECK(copied.activations.high == copied.activations.expected + stack * 2);  // a gate's and one of the way down
    c.asked.runtime.loading.host_experts.copied = false;
    const step_peak stays = c.peak(c.all(), 0, true, false);
    CHECK(copied.all().low == stays.all().expected - hidden);
    CHECK(stays.all().low == stays.all().expected - hidden);
    CHECK(stays.activations.high == copied.activations.high);
}

TEST_CASE(
    "a layer that has no experts is where it is, and one whose experts are too many for the step is on the host") {
    // Experts of 2 a token: 64 tokens are 32 for each of 4 experts, but not of 64.
    layer four = routed_layer(), many = routed_layer();
    four.feed_forward.experts.count = 4;
    many.feed_forward.experts.count = 64;
    const layer none = dense_layer();
    serving_case c{{none, four, many}, {0, 1, 2}};
    c.asked.runtime.loading.host_experts.copied_by_expert = true;
    c.experts_on_host(3);
    const byte_count stack = bytes(2) * (64 * h * inner);  // the largest of the stage
    const std::vector<graph_layer> by_hand{
        {.kind = none},
        {.kind = four, .place = expert_place::copied, .gate_stack = stack, .down_stack = stack},
        {.kind = many, .last = true, .last_of_mask = true, .computes_logits = true, .place = expert_place::host}};
    const graph_shape shape{.tokens = 64, .cells = 1024, .scored = 64, .hidden = h, .value_rows = 32};
    CHECK(c.peak(c.all(), 0, true, false).all().expected == laid_out(shape, {.flash = false}, by_hand, 0));
}

TEST_CASE("a graph of layers that were written of another stage is the graph whose layers are written anew") {
    serving_case c{{routed_layer(), dense_layer(), dense_layer(tokens(100))}, {1, 0, 2, 0, 0, 0, 2, 0, 0, 2, 0, 1}};
    for (const std::int32_t on_host : {0, 3})
        for (const bool flash : {false, true}) {
            c.asked.runtime.serving_kernels.flash_attention = flash;
            if (on_host > 0) c.experts_on_host(on_host);
            written_layer written;
            for (std::int32_t index = 0; index < 4; ++index)
                for (const bool logits : {false, true}) {
                    const stage_range range{index * 3, index * 3 + 3};
                    c.with(range, index, index == 3, logits, [&](const stage_graph& g) {
                        const step_peak repeated = g.peak(g.key(), written), alone = g.peak(g.key());
                        CHECK(repeated.all().low == alone.all().low);
                        CHECK(repeated.all().expected == alone.all().expected);
                        CHECK(repeated.all().high == alone.all().high);
                        CHECK(repeated.logits.expected == alone.logits.expected);
                        CHECK(repeated.in_holes == alone.in_holes);
                        return 0;
                    });
                }
        }
}

TEST_CASE(
    "heads and states are this GPU's; joined matrices, and caches that are unpacked, are the file's and the job's") {
    serving_case c{{dense_layer()}, {0, 0, 0}};
    const auto by_hand = [&](const layer& kind, const graph_options& options, std::int64_t sequences = 1,
                             std::int64_t value_rows = 32) {
        return laid_out({.tokens = 64,
                         .cells = kind.attention.kind == attention_kind::none ? 0 : std::int64_t{1024},
                         .scored = 64,
                         .sequences = sequences,
                         .hidden = h,
                         .value_rows = value_rows},
                        options,
                        {{.kind = kind},
                         {.kind = kind},
                         {.kind = kind, .last = true, .last_of_mask = true, .computes_logits = true}},
                        0);
    };
    const auto expected = [&] { return c.peak(c.all(), 0, true, false).all().expected; };
    graph_options options{.flash = false};
    c.asked.model.architecture = "phi3";
    options.joined_heads = options.joined_gate = true;
    CHECK(expected() == by_hand(dense_layer(), options));
    c.asked.model.architecture = "falcon";
    options.joined_gate = false;
    CHECK(expected() == by_hand(dense_layer(), options));
    c.asked.model.architecture = "llama";
    options.joined_heads = false;
    CHECK(expected() == by_hand(dense_layer(), options));

    c.how.tensor = 2;
    layer half = dense_layer();
    half.attention.heads = 2;
    half.attention.kv_heads = 1;
    CHECK(expected() == by_hand(half, options));
    c.asked.runtime.serving_kernels.graph.value_rows = options.writes.value_rows = true;
    CHECK(expected() == by_hand(half, options, 1, 16));
    c.how.tensor = 1;

    // Recurrent states: of one sequence, or of all slots.
    layer recurrence{
        .attention = no_attention,
        .recurrent =
            {.kind = recurrent_kind::mamba2, .heads = 4, .head_dim = 8, .key_heads = 1, .state = 512, .kernel = 4},
        .feed_forward = {.width = 128}};
    c.asked.model.layers.kinds[0] = recurrence;
    c.asked.batch = 3;
    CHECK(expected() == by_hand(recurrence, options, 1, 0));
    c.asked.runtime.serving_kernels.graph.all_states = options.writes.all_states = true;
    CHECK(expected() == by_hand(recurrence, options, 3, 0));
    c.asked.options.max_num_seqs = 8;
    CHECK(expected() == by_hand(recurrence, options, 8, 0));
}

TEST_CASE("a graph takes no more than is said without laying it out, which holes lie in it or not") {
    serving_case c{{routed_layer(), dense_layer(), dense_layer(tokens(100))},
                   {1, 0, 2, 0, 0, 0, 2, 0, 0, 2, 0, 1, 0, 0, 0}};
    for (const double factor : {0.5, 1.0, 1.5})
        for (const bool flash : {false, true}) {
            c.asked.runtime.accuracy.activations.expected = factor;
            c.asked.runtime.serving_kernels.flash_attention = flash;
            remembered_graph before;
            for (std::int32_t index = 0; index < 5; ++index)
                for (const bool logits : {false, true}) {
                    const stage_range range{index * 3, index * 3 + 3};
                    c.with(range, index, logits, logits, [&](const stage_graph& g) {
                        const byte_count most = g.at_most(g.key(), before);
                        before.peak = g.peak(g.key(), before.written);
                        before.key = g.key();
                        before.known = true;
                        CHECK(before.peak.all().expected <= most);
                        CHECK(most < before.peak.all().expected * 10);
                        return 0;
                    });
                }
        }
}

TEST_CASE("stages lay out the same layers where their number and each of them is the same, or but for the last") {
    laid_layers two;
    two.count = 2;
    two.layers[1].kind = 1;
    laid_layers other = two;
    CHECK(two == other);
    other.layers[1].last = true;
    CHECK_FALSE(two == other);
    CHECK(two.same_but_last(other));
    other.layers[0].kind = 2;
    CHECK_FALSE(two.same_but_last(other));
    other = two;
    other.count = 1;
    CHECK_FALSE(two == other);
    CHECK_FALSE(two.same_but_last(other));
}

TEST_CASE("a layer is repeated where its kind, the place of its experts and the stacks that are copied are the same") {
    written_layer written;
    const expert_stacks stacks{mib(3), mib(2)}, larger{mib(3), mib(4)};
    CHECK_FALSE(written.is(0, expert_place::here, {}));  // none is written
    written.steps.whole = true;
    CHECK(written.is(0, expert_place::here, {}));
    CHECK_FALSE(written.is(1, expert_place::here, {}));
    CHECK_FALSE(written.is(0, expert_place::host, {}));
    CHECK_FALSE(written.is(0, expert_place::here, stacks));
    written.stacks = stacks;
    CHECK(written.is(0, expert_place::here, stacks));
    CHECK_FALSE(written.is(0, expert_place::here, larger));
}
