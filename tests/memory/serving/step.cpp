// SPDX-License-Identifier: MIT
#include <llmres/memory/serving/step.hpp>

#include <doctest/doctest.h>

#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

job serving(const runtime& r, std::int64_t prompt = 1000, std::int64_t output = 24, std::int64_t batch = 4) {
    return {.model = models::llama_3_1_8b,
            .batch = batch,
            .prompt = tokens(prompt),
            .output = tokens(output),
            .runtime = r};
}
token_shape shape_of(const job& j, const layout& l = {}) { return detail::step_shape(j, j.runtime, l); }

/// An engine that passes prompts whole, and one that cuts them.
runtime whole_prompts() { return {.identity{.name = "whole"}}; }
runtime chunking(std::int64_t step) {
    runtime r;
    set_batched_tokens(r.step, tokens(step));
    return r;
}

constexpr layout alone{};  // a step refers to its layout
constexpr std::int64_t h = 4096, inner = 14336, vocabulary = 128256;

}  // namespace

TEST_CASE("an encoder's texts pass whole under engines that do not cut them") {
    for (const runtime& engine : {runtimes::vllm, runtimes::llama_cpp}) {
        job j{.model = models::bert_base, .batch = 4, .context = tokens(8192), .runtime = engine};
        j.model.max_context = tokens(8192);
        CHECK(shape_of(j).all() == 8192);
        CHECK(step_tokens_of(j, engine.step.max_batched_tokens) == tokens(8192));
        j.context = tokens(256);  // as far as steps of the usual size go
        CHECK(step_tokens_of(j, engine.step.max_batched_tokens) == engine.step.max_batched_tokens);
        j.model = models::llama_3_1_8b;
        j.context = tokens(8192);
        CHECK(step_tokens_of(j, engine.step.max_batched_tokens) == engine.step.max_batched_tokens);
        // One that is asked for goes before.
        j.model = models::bert_base;
        j.model.max_context = tokens(8192);
        j.max_batched_tokens = tokens(16384);
        CHECK(step_tokens_of(j, engine.step.max_batched_tokens) == tokens(16384));
    }
}

TEST_CASE("prompts pass whole, or as many of their tokens as a step takes, with all that they may see") {
    const token_shape whole = shape_of(serving(whole_prompts()));
    CHECK(whole.sequences == 4);
    CHECK(whole.all() == 4000);
    CHECK(whole.keys == 1000);
    const token_shape chunk = shape_of(serving(chunking(512)));
    CHECK(chunk.all() == 512);
    CHECK(chunk.keys == 1000);                               // the whole prompt
    CHECK(shape_of(serving(chunking(8192))).all() == 4000);  // no more than there are
    // Context-parallel ranks share each sequence.
    CHECK(shape_of(serving(whole_prompts()), {.context_parallel = 4}).all() == 1000);
    CHECK(shape_of(serving(whole_prompts()), {.data = 2}).all() == 2000);
    // What the job says goes before the engine's own.
    job j = serving(chunking(512));
    j.max_batched_tokens = tokens(128);
    CHECK(shape_of(j).all() == 128);
    j.max_batched_tokens = tokens(1);
    CHECK(shape_of(j).all() == 1);
}

TEST_CASE("an engine that profiles with one token, or says nothing of its steps, takes that, or whole prompts") {
    runtime r = chunking(1);
    r.step.profiles = true;
    CHECK(shape_of(serving(r, 10, 10, 1)).all() == 1);
    CHECK(shape_of(serving(r, 10, 10, 1)).keys == 20);
    r = whole_prompts();
    r.step.profiles = true;
    CHECK(shape_of(serving(r, 100, 28, 3)).all() == 300);
    r = chunking(1);
    r.cache.pool = cache_pool::allotted;
    CHECK(shape_of(serving(r, 60, 4, 2)).all() == 1);
    CHECK(shape_of(serving(r, 60, 4, 2)).keys == 128);  // all cells
}

TEST_CASE(
    "an engine that profiles runs its largest step, whatever the job; vLLM's first took contexts of up to 32k whole") {
    runtime r = chunking(2048);
    r.step.profiles = true;
    CHECK(shape_of(serving(r, 10, 10, 1)).all() == 2048);
    r.step.chunked_beyond = tokens(32768);
    job j = serving(r, 16000, 384, 1);
    CHECK(shape_of(j).all() == 16384);
    CHECK(shape_of(serving(r, 100, 28, 1)).all() == 2048);  // max(max_model_len, 2048)
    j.prompt = tokens(40000);
    CHECK(shape_of(j).all() == 2048);
}

TEST_CASE("a cache allotted at start lays its step out for all cells") {
    runtime r = chunking(512);
    r.cache.pool = cache_pool::allotted;
    const token_shape s = shape_of(serving(r, 1000, 24, 4));
    CHECK(s.all() == 512);
    CHECK(s.keys == 4 * 1024);
    CHECK(shape_of(serving(r, 60, 4, 1)).all() == 64);  // no more than there are cells
}

TEST_CASE("scores are made for sequences, for those that an engine admits, or for every token") {
    const auto rows = [](scored_tokens scored, std::int64_t admitted = 0) {
        runtime r = whole_prompts();
        r.step.logits.rows = scored;
        r.step.max_num_seqs = 256;
        job j = serving(r);
        j.options.max_num_seqs = admitted;
        return detail::logit_rows(j, r, {.data = 2}, shape_of(j, {.data = 2}));
    };
    CHECK(rows(scored_tokens::last) == 2);
    CHECK(rows(scored_tokens::profiled) == 256);
    CHECK(rows(scored_tokens::profiled, 64) == 64);
    CHECK(rows(scored_tokens::profiled, 1) == 1);  // of two sequences one waits
    CHECK(rows(scored_tokens::prompt) == 2000);
}

TEST_CASE("the fuller half of a layer: gate, up and their product beside stream and input, or attention's heads") {
    const job j = serving(whole_prompts(), 1000, 24, 1);
    const detail::serving_step s{j, j.runtime, alone};
    CHECK(s.layer_peak(j.model.layers[0]) == bytes(2) * (1000 * (2 * h + 3 * inner)));
    layer attends = j.model.layers[0];
    attends.feed_forward.width = 100;
    CHECK(s.layer_peak(attends) == bytes(2) * (1000 * (2 * h + 2 * h + 2 * 1024)));
    // Eager scores, of 32 heads in fp32.
    job eager = j;
    eager.attention = attention_kernel::eager;
    CHECK(detail::serving_step{eager, eager.runtime, alone}.layer_peak(attends) ==
          bytes(2) * (1000 * (4 * h + 2 * 1024)) + bytes(4) * (std::int64_t{32} * 1000 * 1000));
    // Tensor ranks share heads and width.
    const layout two{.tensor = 2};
    CHECK(detail::serving_step{j, j.runtime, two}.layer_peak(j.model.layers[0]) ==
          bytes(2) * (1000 * (2 * h + 3 * inner / 2)));
}

TEST_CASE("a step's peak is a layer or the scores, and each bound is that of the fuller") {
    job j = serving(whole_prompts(), 1000, 24, 1);
    j.runtime.step.logits.bytes = {6.0, 6.0, 10.0};
    const detail::serving_step few{j, j.runtime, alone};
    const byte_count layers = few.layer_peak(j.model.layers[0]);
    const step_peak one_row = few.peak(layers, true, 0);
    CHECK(one_row.logits.expected == byte_count{});
    CHECK(one_row.activations.expected == layers);
    j.runtime.step.logits.rows = scored_tokens::prompt;
    const detail::serving_step many{j, j.runtime, alone};
    const step_peak all_rows = many.peak(layers, true, 0);
    CHECK(all_rows.logits.expected == bytes(6) * (1000 * vocabulary));
    CHECK(all_rows.all().high >= bytes(10) * (1000 * vocabulary));
    CHECK(all_rows.activations.expected == bytes(2) * (1000 * h));       // the stream alone
    CHECK(many.peak(layers, false, 0).logits.expected == byte_count{});  // no head here
}

TEST_CASE("where another moment may be the fuller, bounds reach to it, and never past what is expected") {
    step_peak p{.activations = {mib(80), mib(100), mib(120)}, .logits = {mib(5), mib(10), mib(20)}};
    const interval<byte_count> expected = p.all();
    p.reach({mib(95), mib(105), mib(200)});
    CHECK(p.all().high == mib(200));
    CHECK(p.all().low == mib(95));
    CHECK(p.all().expected == expected.expected);
    CHECK(p.activations.low <= p.activations.expected);
    CHECK(p.logits.low <= p.logits.expected);
    const interval<byte_count> before = p.all();
    p.reach({mib(1), mib(2), mib(3)});
    CHECK(p.all().low == before.low);
    CHECK(p.all().high == before.high);
}

TEST_CASE("masks of tokens by context: fp32, or 16 bits with flash attention") {
    job j = serving(whole_prompts(), 1000, 24, 1);
    j.runtime.serving_kernels.attention_mask = true;
    j.runtime.serving_kernels.flash_attention = false;
    CHECK(detail::serving_step{j, j.runtime, alone}.mask() == bytes(4) * (1000 * 1000));
    j.runtime.serving_kernels.flash_attention = true;
    CHECK(detail::serving_step{j, j.runtime, alone}.mask() == bytes(2) * (1000 * 1000));
}

TEST_CASE("CUDA graphs are captured for the layers of the fullest stage") {
    job j = serving(whole_prompts());
    j.runtime.process.cuda_graphs = {mib(10), mib(10), mib(10)};
    CHECK(graphs_of(j, j.runtime, {.pipeline = 5}).expected == mib(10));
    j.runtime.process.layer_graphs = {mib(1), mib(2), mib(3)};
    CHECK(graphs_of(j, j.runtime, {}).expected == mib(10 + 2 * 32));
    CHECK(graphs_of(j, j.runtime, {.pipeline = 5}).expected == mib(10 + 2 * 7));
}

TEST_CASE("more tokens, longer prompts or more sequences never take less, under every profile") {
    for (const runtime* r : runtimes::all) {
        if (r->identity.work == runtime_work::training) continue;
        CAPTURE(r->identity.name.view());
        const auto fullest = [&](std::int64_t prompt, std::int64_t batch) {
            const job j = serving(*r, prompt, 64, batch);
            const detail::serving_step s{j, j.runtime, alone};
            return s.peak(s.layer_peak(j.model.layers[0]), true, 0).all().expected;
        };
        CHECK(fullest(4000, 4) >= fullest(1000, 4));
        CHECK(fullest(1000, 64) >= fullest(1000, 4));
    }
}

// ---- parts of a step, one by one ------------------------------------------------------------------------------------

namespace {

/// A small model, whose step has 100 tokens: hidden width 64, inner width 160, four heads of 16, a vocabulary of 1,000.
job small_job() {
    job j = serving(chunking(100), 200, 56, 4);
    j.model = {
        .vocabulary = 1000,
        .hidden = 64,
        .layers = {2, {.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16}, .feed_forward = {.width = 160}}}};
    j.runtime.accuracy = {};
    j.runtime.process = {};
    j.runtime.allocator = {};
    return j;
}
layer& kind_of(job& j) { return j.model.layers.kinds[0]; }
using of_job = detail::serving_step;
/// Routed experts of 40 features, two for each token.
feed_forward experts_of_two() { return {.experts = {.count = 8, .per_token = 2, .width = 40}}; }

byte_count fullest(const job& j, const layout& l = alone) {
    return of_job{j, j.runtime, l}.layer_peak(j.model.layers.kinds[0]);
}
step_peak peak_of(const job& j, byte_count layers, bool last, std::int32_t stage = 0, const layout& l = alone) {
    return of_job{j, j.runtime, l}.peak(layers, last, stage);
}

constexpr std::int64_t n = 100;

}  // namespace

TEST_CASE("a model is dense without routed experts and recurrences in any of its layers") {
    CHECK(is_dense(models::llama_3_1_8b));
    CHECK_FALSE(is_dense(models::mixtral_8x7b));
    CHECK_FALSE(is_dense(models::codestral_mamba_7b));
    model m = models::mixtral_8x7b;
    CHECK_FALSE(is_dense(models::deepseek_v3));  // the first layers are
    m.layers.kinds[0].feed_forward = {.width = 100};
    CHECK(is_dense(m));
}

TEST_CASE("a low bound is shared by activations and logits, activations first, neither above what is expected") {
    step_peak p{.activations = {mib(9), mib(100), mib(120)}, .logits = {mib(9), mib(10), mib(20)}};
    p.set_low(mib(60));
    CHECK(p.activations.low == mib(60));
    CHECK(p.logits.low == byte_count{});
    p.set_low(mib(104));
    CHECK(p.activations.low == mib(100));
    CHECK(p.logits.low == mib(4));
    p.set_low(mib(500));
    CHECK(p.logits.low == mib(10));
    // What the activations have no room for is the logits'.
    p = {.activations = {mib(90), mib(100), mib(120)}, .logits = {mib(5), mib(20), mib(20)}};
    p.reach({mib(112), mib(112), mib(130)});
    CHECK(p.activations.low == mib(100));
    CHECK(p.logits.low == mib(12));
    CHECK(p.activations.high == mib(120));
    p = {.activations = {mib(90), mib(100), mib(120)}, .logits = {mib(5), mib(20), mib(20)}};
    p.reach({mib(99), mib(112), mib(150)});
    CHECK(p.activations.low == mib(94));
    CHECK(p.logits.low == mib(5));
    CHECK(p.activations.high == mib(130));
}

TEST_CASE("contexts up to a length pass whole, in 2,048 tokens at least, unless the caller says otherwise") {
    job j = serving(chunking(512), 900, 100, 4);
    j.runtime.step.profiles = true;
    j.runtime.step.chunked_beyond = tokens(4096);
    CHECK(shape_of(j).all() == 2048);
    j.runtime.step.max_batched_tokens = tokens(3000);
    CHECK(shape_of(j).all() == 3000);
    j.prompt = tokens(3900);
    CHECK(shape_of(j).all() == 4000);
    j.max_batched_tokens = tokens(64);
    CHECK(shape_of(j).all() == 64);
    // A whole image of a profiling run is one step, where the caller names none.
    j = serving(chunking(512), 900, 100, 1);
    j.model.encoders[0].image_tokens = tokens(700);
    CHECK(shape_of(j).all() == 512);
    j.runtime.step.images = profiled_images::whole;
    CHECK(shape_of(j).all() == 700);
    j.model.encoders[0].image_tokens = tokens(300);
    CHECK(shape_of(j).all() == 512);
    j.model.encoders[0].image_tokens = tokens(700);
    j.max_batched_tokens = tokens(512);
    CHECK(shape_of(j).all() == 512);
}

TEST_CASE("ggml writes keys, values and products in place; scores take what their engine says") {
    job j = small_job();
    const byte_count attends = bytes(2) * n * (2 * 64 + 64 + 2 * 32 + 64), feeds = bytes(2) * n * (2 * 64 + 3 * 160);
    CHECK(fullest(j) == feeds);
    j.runtime.serving_kernels.written_in_place = true;
    CHECK(fullest(j) == feeds - bytes(2) * n * 160);
    kind_of(j).feed_forward.width = 10;
    CHECK(fullest(j) == attends - bytes(2) * n * 2 * 32);
    j.runtime.serving_kernels.output_over_query = true;
    CHECK(fullest(j) == attends - bytes(2) * n * (2 * 32 + 64));
    j.runtime.serving_kernels = {};
    CHECK(fullest(j) == attends);
    j.attention = attention_kernel::eager;
    const byte_count scores = bytes(4) * (4 * n * 200);
    CHECK(fullest(j) == attends + scores);
    j.runtime.serving_kernels.score_bytes = 6;
    CHECK(fullest(j) == attends + div_up(scores * 3, 2));
}

TEST_CASE("ExLlama dequantises a matrix of each half from so many rows on, and the head; tensor ranks share them") {
    job j = small_job();
    const byte_count feeds = bytes(2) * n * (2 * 64 + 3 * 160), matrix = bytes(2) * (64 * 160);
    j.runtime.serving_kernels.dequantised_from = 101;
    CHECK(fullest(j) == feeds);
    j.runtime.serving_kernels.dequantised_from = 100;
    CHECK(fullest(j) == feeds + matrix);
    CHECK(fullest(j, {.tensor = 2}) == bytes(2) * n * (2 * 64 + 3 * 80) + div_up(matrix, 2));
    kind_of(j).feed_forward.width = 10;
    CHECK(fullest(j) == bytes(2) * n * (2 * 64 + 64 + 2 * 32 + 64) + bytes(2) * (64 * 4 * 16));
    kind_of(j).feed_forward = experts_of_two();
    CHECK(fullest(j) == bytes(2) * n * (2 * 64 + 2 * 3 * 40 + 2 * 64) + bytes(2) * (64 * 40));
    // The head, where as many rows are scored.
    const byte_count hidden = bytes(2) * n * 64;
    j.runtime.step.logits.rows = scored_tokens::chunk;
    CHECK(peak_of(j, {}, true).activations.expected == hidden + bytes(2) * (64 * 1000));
    j.runtime.step.logits.rows = scored_tokens::last;
    CHECK(peak_of(j, {}, true).activations.expected == hidden);
}

TEST_CASE("latent attention that reads its cache has queries in the latent's width, and their copy") {
    job j = small_job();
    kind_of(j).attention = {
        .kind = attention_kind::latent, .heads = 4, .head_dim = 8, .kv_rank = 32, .rope_dim = 4, .value_dim = 8};
    kind_of(j).feed_forward.width = 1;
    const byte_count expanded = fullest(j);
    j.runtime.serving_kernels.latent.absorbed = true;
    const std::int64_t more = 2 * (32 + 4) - (8 + 4) - 8;  // beyond its own query and value
    CHECK(fullest(j) - expanded == bytes(2) * n * (4 * more));
    CHECK(fullest(j, {.tensor = 2}) < fullest(j));
    kind_of(j).attention.kv_rank = 2;
    CHECK(of_job{j, j.runtime, alone}.absorbed(kind_of(j).attention, shape_of(j)) == byte_count{});
    kind_of(j).attention = {.heads = 4, .kv_heads = 2, .head_dim = 16};
    const byte_count grouped = fullest(j);
    j.runtime.serving_kernels.latent.absorbed = false;
    CHECK(fullest(j) == grouped);
}

TEST_CASE("a vision tower is profiled with one image, or with as many as make the tokens of a step") {
    job j = small_job();
    encoder& e = j.model.encoders[0];
    e = {.hidden = 32, .layers = 2, .block = kind_of(j), .image_patches = tokens(90), .image_tokens = tokens(30)};
    e.block.feed_forward = {.kind = feed_forward_kind::plain, .width = 200};
    j.model.extras[0] = {.role = weight_role::norm, .columns = 7};
    j.model.extras[1] = {.role = weight_role::conv, .rows = 32, .columns = 12};
    j.model.extras[2] = {.role = weight_role::conv, .rows = 32, .columns = 99};
    j.model.extra_count = 3;
    const auto tower = [&] { return of_job{j, j.runtime, alone}.encoder_peak(); };
    const auto held = [&] { return of_job{j, j.runtime, alone}.images_held(); };
    const auto of_patches = [](std::int64_t patches) { return bytes(2) * patches * (2 * 32 + 2 * 200); };
    const auto beside = [](std::int64_t patches, std::int64_t images) {
        return bytes(2) * patches * 12 + bytes(2) * (images * 30 * 64);  // pixels, and what the decoder reads
    };
    CHECK(tower() == byte_count{});
    CHECK(held() == byte_count{});
    j.runtime.step.images = profiled_images::whole;
    CHECK(tower() == of_patches(90));
    CHECK(held() == beside(90, 1));
    j.runtime.step.images = profiled_images::tower;
    CHECK(tower() == of_patches(3 * 90));
    CHECK(held() == beside(3 * 90, 3));
    e.image_tokens = tokens(60);  // one fits in a step of 100
    CHECK(tower() == of_patches(90));
    e.image_tokens = tokens(300);  // none does
    CHECK(tower() == of_patches(90));
    e.image_tokens = tokens(30);
    j.options.encoder_tokens = tokens(50);  // as the caller says
    CHECK(tower() == of_patches(50));
    CHECK(held() == beside(50, 3));
    j.runtime.step.images = profiled_images::none;
    CHECK(tower() == of_patches(50));
    CHECK(held() == byte_count{});
    e.layers = 0;
    CHECK(tower() == byte_count{});
    // What a profiled stage got from the one before: hidden states and residuals.
    j = small_job();
    const auto throughout = [&](std::int32_t stage) { return of_job{j, j.runtime, alone}.held_throughout(stage); };
    CHECK(throughout(1) == byte_count{});
    j.runtime.step.profiles = true;
    CHECK(throughout(0) == byte_count{});
    const byte_count hidden = bytes(2) * n * 64;
    CHECK(throughout(1) == hidden * 2);
    CHECK(peak_of(j, kib(100), false, 1).activations.expected == kib(100) + hidden * 2);
    j.runtime.step.logits.bytes = {100.0, 100.0, 100.0};  // the fuller moment
    CHECK(peak_of(j, {}, true, 1).activations.expected == hidden * 3);
}

TEST_CASE("routed experts' products have a row for each choice, in buffers that vLLM keeps beside the logits") {
    job j = small_job();
    kind_of(j).feed_forward = experts_of_two();
    const auto scratch = [&](const layout& l = alone) { return of_job{j, j.runtime, l}.expert_scratch(); };
    CHECK(scratch() == byte_count{});
    j.runtime.serving_kernels.keeps_expert_scratch = true;
    CHECK(scratch() == bytes(2) * (2 * n) * (64 + 80));  // gate and up are wider than the hidden state
    CHECK(scratch({.tensor = 2}) == bytes(2) * (2 * n) * (64 + 64));
    kind_of(j).feed_forward.experts.width = 70;
    CHECK(scratch() == bytes(2) * (2 * n) * (70 + 140));
    j.weights = mxfp4;
    CHECK(scratch() == byte_count{});
    j.weights = {};
    j.runtime.step.logits.hidden_vectors = 3;
    const byte_count beside = bytes(2) * (3 * 4 * 64) + bytes(2) * (2 * n) * (70 + 140);
    CHECK(of_job{j, j.runtime, alone}.beside_logits() == beside);
    CHECK(peak_of(j, {}, true).activations.expected == bytes(2) * n * 64 + beside);
    j.runtime.step.logits.hidden_vectors = 0;
    CHECK(of_job{j, j.runtime, alone}.beside_logits() == byte_count{});
    kind_of(j).feed_forward = {.width = 160};
    CHECK(scratch() == byte_count{});
}

TEST_CASE("a kernel filters logits of eight rows and more, as many at once as there are multiprocessors") {
    job j = small_job();
    const auto filtered = [&](std::int64_t batch) {
        j.batch = batch;
        return of_job{j, j.runtime, alone}.filter_buffer();
    };
    CHECK(filtered(8) == byte_count{});
    j.runtime.step.logits.filter_rows = 20;
    CHECK(filtered(7) == byte_count{});
    CHECK(filtered(8) == bytes(4 * 8 * 1000));
    CHECK(filtered(9) == bytes(4 * 16 * 1000));
    CHECK(filtered(17) == bytes(4 * 20 * 1000));
    j.runtime.step.logits.hidden_vectors = 1;
    CHECK(of_job{j, j.runtime, alone}.beside_logits() == bytes(2 * 17 * 64) + bytes(4 * 20 * 1000));
    // Where rows do not begin at multiples of 16 bytes its threads have a stack: 2,048 of each multiprocessor.
    j.runtime.step.logits.filter_stack = {bytes(1), bytes(2), bytes(3)};
    const auto stacks = [&] { return of_job{j, j.runtime, alone}.filter_stacks(); };
    CHECK(stacks() == interval<byte_count>{});
    j.model.vocabulary = 1001;
    CHECK(stacks() == interval<byte_count>{kib(40), kib(80), kib(120)});
    j.model.vocabulary = 1004;  // a multiple of four
    CHECK(stacks() == interval<byte_count>{});
    j.model.vocabulary = 1001;
    j.batch = 8;
    CHECK(stacks().low == kib(40));
    j.batch = 7;
    CHECK(stacks() == interval<byte_count>{});
    j.batch = 8, j.runtime.step.logits.filter_rows = 0;
    CHECK(stacks() == interval<byte_count>{});
}

TEST_CASE("beside the fullest layer are hidden states, an 8-bit copy of the last product's input, and the mask") {
    job j = small_job();
    const byte_count hidden = bytes(2) * n * 64;
    CHECK(peak_of(j, kib(100), false).activations.expected == kib(100));
    j.runtime.serving_kernels.more_hidden = 3;
    CHECK(peak_of(j, kib(100), false).activations.expected == kib(100) + hidden * 3);
    j.runtime.serving_kernels.copies_int8 = true;
    CHECK(peak_of(j, kib(100), false).activations.expected == kib(100) + hidden * 3);
    j.weights = int8_channel;
    CHECK(peak_of(j, kib(100), false).activations.expected == kib(100) + hidden * 3 + bytes(n * 160));
    j.runtime.serving_kernels.copies_int8 = false;
    j.runtime.serving_kernels.attention_mask = true;
    j.runtime.serving_kernels.flash_attention = false;
    const byte_count mask = bytes(4) * (n * 200);
    CHECK(peak_of(j, kib(100), false).activations.expected == kib(100) + hidden * 3 + mask);
    // Flash attention reads a cast of it, which the first layer makes beside three hidden states.
    j.runtime.serving_kernels.flash_attention = true;
    CHECK(peak_of(j, {}, false).activations.expected == hidden * 3 + bytes(2) * (n * 200) * 3);
    CHECK(peak_of(j, kib(100), false).activations.expected == kib(100) + hidden * 3 + bytes(2) * (n * 200));
    // GLM-4's feed-forward may lie under the logits.
    j = small_job();
    j.runtime.serving_kernels.flash_attention = true;
    j.runtime.serving_kernels.feed_forward_under_logits = true;
    CHECK(peak_of(j, {}, true).activations.high == hidden + bytes(4) * n * 160);
    j.runtime.serving_kernels.flash_attention = false;
    CHECK(peak_of(j, {}, true).activations.high == hidden);
    // A workspace of products may be there.
    j.runtime.process.product_workspace = kib(7);
    CHECK(peak_of(j, kib(100), false).activations == interval<byte_count>{kib(100), kib(107), kib(107)});
}

TEST_CASE("GPUs that take turns have copies of inputs and masks; the first may get the logits back") {
    job j = small_job();
    const byte_count hidden = bytes(2) * n * 64, mask = bytes(4) * (n * 200);
    j.runtime.serving_kernels.attention_mask = true;
    j.runtime.serving_kernels.flash_attention = false;
    const layout two{.pipeline = 2};
    const auto more = [&](const layout& l) {
        j.runtime.step.copies = 1;
        const interval<byte_count> without = peak_of(j, kib(100), false, 0, l).activations;
        j.runtime.step.copies = 4;
        const interval<byte_count> with = peak_of(j, kib(100), false, 0, l).activations;
        return interval<byte_count>{with.low - without.low, with.expected - without.expected, with.high - without.high};
    };
    CHECK(more(two) == interval<byte_count>{(hidden + mask) * 4 - mask});
    CHECK(more(alone) == interval<byte_count>{byte_count{}, byte_count{}, hidden});
    j.runtime.serving_kernels.flash_attention = true;
    CHECK(more(two) == interval<byte_count>{(hidden + bytes(2) * (n * 200)) * 4});
    j.options.gpu_layers = 1;  // one of two layers is on the host
    CHECK(more(two) == interval<byte_count>{byte_count{}, hidden, hidden});
    j.options.gpu_layers = {};
    j.options.experts_on_host = true;  // or of one its experts
    j.options.host_expert_layers = 1;
    CHECK(more(two) == interval<byte_count>{byte_count{}, hidden, hidden});

    j = small_job();
    j.runtime.step.logits.on_first_gpu = true;
    const byte_count scores = bytes(4) * (4 * 1000);
    CHECK(peak_of(j, kib(10), false, 0, two).logits ==
          interval<byte_count>{byte_count{}, scores - kib(10), scores * 2 - kib(10)});
    CHECK(peak_of(j, scores, false, 0, two).logits == interval<byte_count>{});
    CHECK(peak_of(j, kib(10), false, 1, two).logits == interval<byte_count>{});
}

TEST_CASE("a logit takes what its engine says: in chunks, of a dense model, or else") {
    job j = small_job();
    j.runtime.step.logits.bytes = {1.0, 1.0, 1.0};
    j.runtime.step.logits.chunked_bytes = {2.0, 2.0, 2.0};
    const auto each = [&] { return of_job{j, j.runtime, alone}.bytes_each_logit().expected; };
    CHECK(each() == 1.0);
    j.runtime.step.chunked_beyond = tokens(255);  // of a context of 256
    CHECK(each() == 2.0);
    j.runtime.step.chunked_beyond = tokens(256);
    CHECK(each() == 1.0);
    j.runtime.step.logits.dense_bytes = {0.5, 0.5, 0.5};
    CHECK(each() == 0.5);
    kind_of(j).feed_forward = experts_of_two();
    CHECK(each() == 1.0);
}
