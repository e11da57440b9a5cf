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
    CHECK(rows(scored_tokens::profiled, 1) == 2);
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
