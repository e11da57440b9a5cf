// SPDX-License-Identifier: MIT
// What must hold of every model that comes with the library, in every layout it can be cut into.
#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <string>

using namespace llmres;

namespace {

job serving(const model& m) { return {.model = m, .batch = 1, .context = tokens(128)}; }

byte_count weights_on_busiest(const job& j, const layout& l) { return memory_of(j, l)[memory_term::weights].expected; }

}  // namespace

TEST_CASE("on one GPU the weights are those of the model, to the byte") {
    for (const model* m : models::all) {
        CAPTURE(m->name.view());
        CHECK(weights_on_busiest(serving(*m), {}) == weight_bytes(*m, formats_for(m->weights)));
    }
}

TEST_CASE("sharding loses no byte: the ranks of a layout hold at least the model, and little more") {
    for (const model* m : models::all) {
        CAPTURE(m->name.view());
        const job j = serving(*m);
        const byte_count whole = weights_on_busiest(j, {});
        for (const std::int32_t ranks : {2, 4, 8}) {
            const layout tensor{.tensor = ranks};
            if (validate(tensor, *m)) {
                CHECK(weights_on_busiest(j, tensor) * ranks >= whole);
                CHECK(weights_on_busiest(j, tensor) < whole);
            }
            const layout pipeline{.pipeline = ranks};
            if (validate(pipeline, *m)) {
                CHECK(weights_on_busiest(j, pipeline) * ranks >= whole);
                CHECK(weights_on_busiest(j, pipeline) <= whole);
            }
        }
    }
}

TEST_CASE("the cache of a batch is that of its sequences, and tensor ranks never hold less than their share") {
    for (const model* m : models::all) {
        CAPTURE(m->name.view());
        job j = serving(*m);
        const byte_count one = memory_of(j, {})[memory_term::kv_cache].expected;
        j.batch = 3;
        CHECK(memory_of(j, {})[memory_term::kv_cache].expected == one * 3);
        const layout four{.tensor = 4};
        if (validate(four, *m)) CHECK(memory_of(j, four)[memory_term::kv_cache].expected * 4 >= one * 3);
    }
}

TEST_CASE("gradients and optimizer states follow the weights, and ZeRO divides them among the data ranks") {
    const model& m = models::llama_3_1_8b;
    const job j{.model = m, .task = task::pretraining, .sequence = tokens(1), .global_batch = 16};
    const std::int64_t n = count_parameters(m).in(parameters);
    const memory_breakdown alone = memory_of(j, {});
    CHECK(alone[memory_term::weights].expected == bytes(2 * n));
    CHECK(alone[memory_term::gradients].expected == bytes(2 * n));
    CHECK(alone[memory_term::optimizer].expected == bytes(12 * n));
    for (std::int32_t stage = 0; stage <= 3; ++stage) {
        const memory_breakdown shared = memory_of(j, {.data = 8, .zero = stage});
        const auto share = [&](memory_term t) { return ratio(alone[t].expected, shared[t].expected); };
        CHECK(share(memory_term::optimizer) == doctest::Approx(stage >= 1 ? 8 : 1).epsilon(1e-4));
        CHECK(share(memory_term::gradients) == doctest::Approx(stage >= 2 ? 8 : 1).epsilon(1e-4));
        CHECK(share(memory_term::weights) == doctest::Approx(stage >= 3 ? 8 : 1).epsilon(1e-4));
    }
}

TEST_CASE("one GPU exchanges nothing: what optimizers, losses and libraries make has other names than communication") {
    int jobs = 0;
    for (const runtime* r : runtimes::all)
        for (const optimizer& o : optimizers)
            for (const loss_code loss : {r->kernels.loss.code, loss_code::chunked, loss_code::fused_linear})
                for (const std::int64_t rounds : {1, 2}) {
                    job j{.model = models::llama_3_2_1b, .task = task::pretraining, .sequence = tokens(512)};
                    j.optimizer = o;
                    j.global_batch = rounds;
                    j.runtime = *r;
                    j.runtime.kernels.loss.code = loss;
                    if (loss == loss_code::chunked && j.runtime.kernels.loss.chunk_tokens == 0)
                        j.runtime.kernels.loss.chunks = 8;
                    if (!validate(j) || !validate_training(j, {}, gpus::h100_sxm5_80gb)) continue;
                    CAPTURE(std::string{r->identity.name.view()});
                    CAPTURE(std::string{o.name.view()});
                    CAPTURE(std::string{name_of(loss)});
                    CHECK(memory_of(j, {})[memory_term::communication].high == byte_count{});
                    ++jobs;
                }
    CHECK(jobs > 500);
}

TEST_CASE(
    "whatever is trained beside a model and however it is cut, no term is negative, and bounds enclose what is "
    "expected") {
    for (const model* m : models::all)
        for (const runtime* r : {&runtimes::pytorch, &runtimes::huggingface, &runtimes::megatron})
            for (const adapter_kind kind : {adapter_kind::none, adapter_kind::dora, adapter_kind::ia3,
                                            adapter_kind::prompt, adapter_kind::llama_adapter_v2})
                for (const layout& l : {layout{.pipeline = 2}, layout{.tensor = 4, .pipeline = 4}}) {
                    job j{.model = *m, .task = task::finetuning, .sequence = tokens(256), .runtime = *r};
                    if (kind != adapter_kind::none) j.adapter = {.kind = kind, .rank = 8};
                    if (!validate(j) || !validate(l, *m)) continue;
                    for (std::int32_t stage = 0; stage < l.pipeline; ++stage)
                        for (const interval<byte_count>& term : training_memory(j, l, stage).terms) {
                            CAPTURE(m->name.view());
                            REQUIRE(term.low >= byte_count{});
                            REQUIRE(term.low <= term.expected);
                            REQUIRE(term.expected <= term.high);
                        }
                }
}
