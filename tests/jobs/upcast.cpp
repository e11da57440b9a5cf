// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/jobs/upcast.hpp>

#include <llmres/inventory/context.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/all.hpp>

using namespace llmres;

namespace {

constexpr layout sharded{.data = 4, .zero = 3};

constexpr job trained() {
    return {.model = models::llama_3_1_8b, .task = task::finetuning, .runtime = runtimes::huggingface};
}

}  // namespace

TEST_CASE("accelerate trains 16-bit weights in fp32 once FSDP shards them, and gathers them in 16 bits") {
    const job j = trained();
    for (const std::int32_t zero : {0, 1}) CHECK_FALSE(upcasts(j, {.data = 4, .zero = zero}));
    for (const std::int32_t zero : {2, 3}) CHECK(upcasts(j, {.data = 4, .zero = zero}));
    const job wide = upcast(j);
    CHECK(weights_of(wide) == fp32);
    CHECK(gradients_of(wide) == fp32);
    CHECK(optimizer_states_of(wide) == fp32);
    CHECK_FALSE(master_weights_of(wide));
    CHECK_FALSE(autocasts(wide));
    CHECK_FALSE(upcasts(wide, sharded));
    job casts = j;
    casts.autocast = true;  // as the job says
    CHECK(autocasts(upcast(casts)));
}

TEST_CASE("weights that the job names are trained as it names them, and frozen ones as they are loaded") {
    job j = trained();
    j.weights = bf16;
    CHECK_FALSE(upcasts(j, sharded));
    j = trained();
    j.master_weights = bf16;
    CHECK_FALSE(upcasts(j, sharded));
    j = trained();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK_FALSE(upcasts(j, sharded));
    j = trained();
    j.compute = fp32;  // no mixed precision
    CHECK_FALSE(upcasts(j, sharded));
    j = trained();
    j.task = task::serving;
    CHECK_FALSE(upcasts(j, sharded));
}

TEST_CASE("no other trainer upcasts, and transformers before 4.43 does not") {
    for (const runtime* r : runtimes::all) {
        CAPTURE(r->identity.name.view());
        job j = trained();
        j.runtime = *r;
        const bool of_accelerate = r->identity.name == "huggingface" || r->identity.name == "unsloth";
        CHECK(upcasts(j, sharded) == (of_accelerate && r != &runtimes::huggingface_4_42));
    }
}

TEST_CASE(
    "what is asked of a job as it is trained is asked of the upcast one where the runtime upcasts, else of itself") {
    const auto format = [](const job& asked) { return weights_of(asked).name; };
    CHECK(as_trained(trained(), sharded, format) == fp32.name);
    CHECK(as_trained(trained(), {.data = 4}, format) == bf16.name);
}
