// SPDX-License-Identifier: MIT
// What llama.cpp takes to fit (answers/capacity.hpp, fit_to_memory()).
#include <llmres/answers/capacity.hpp>

#include <doctest/doctest.h>

#include "../random_documents.hpp"
#include "../sanitized.hpp"
#include "../serving_jobs.hpp"

#include <cstdint>
#include <llmres/io/job_json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

using namespace serving_jobs;

namespace {

/// What llama.cpp allocates on the fullest GPU, as its fitting counts it.
byte_count fitted_bytes(const job& j, const layout& l, const cluster& c) {
    const memory_breakdown m = memory_of(j, l, c);
    byte_count all;
    for (const memory_term t :
         {memory_term::weights, memory_term::kv_cache, memory_term::activations, memory_term::logits})
        all += m[t].expected;
    return all;
}
/// fit_to_memory() with room for so much beside the CUDA context.
fitted_job fitted_into(byte_count room, const job& j, const layout& l, const cluster& c) {
    return fit_to_memory(j, l, c, true, available_memory(c) - j.runtime.process.context.expected - room).value();
}

}  // namespace

TEST_CASE("llama.cpp leaves 1 GiB free with the most layers, and shortens what nobody asked for first") {
    job j{.model = models::llama_3_1_70b, .context = tokens(8192), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    const cluster card = one(gpus::rtx_4090);
    // What it allocates, as its fitting counts it: not the CUDA context, nor what cuBLAS takes.
    const auto left_free = [&](const job& with, std::int32_t gpu_layers) {
        job tried = with;
        tried.options.gpu_layers = gpu_layers;
        const memory_breakdown m = memory_of(tried, {}, card);
        return usable_memory(card.gpu) - m.total().expected + m[memory_term::workspace].expected;
    };
    const fitted_job told = fit_to_memory(j, {}, card, false).value();
    REQUIRE(told.options.gpu_layers);
    CHECK(told.context == tokens(8192));
    CHECK(left_free(j, *told.options.gpu_layers) >= gib(1));
    CHECK(left_free(j, *told.options.gpu_layers + 1) < gib(1));
    const fitted_job shorter = fit_to_memory(j, {}, card, true).value();
    CHECK(shorter.context == tokens(4096));
    CHECK(*shorter.options.gpu_layers > *told.options.gpu_layers);
    CHECK_FALSE(fit_to_memory(j, {}, one(gpus::h100_sxm5_80gb), true).value().options.gpu_layers);

    j.model = models::llama_3_1_8b;
    j.context = tokens(131072);
    const fitted_job whole = fit_to_memory(j, {}, one(gpus::rtx_3060_12gb), true).value();
    CHECK_FALSE(whole.options.gpu_layers);
    CHECK(whole.context < tokens(131072));
    CHECK(whole.context.in(tokens) % 256 == 0);
    CHECK_FALSE(fit_to_memory({}, {}, card, true).has_value());
}

TEST_CASE("of a mixture of experts llama.cpp moves experts to the host before layers") {
    job j{.model = models::qwen3_30b_a3b, .context = tokens(16384), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", "Q8_0").value();
    const fitted_job some = fit_to_memory(j, {}, one(gpus::rtx_4090), false).value();
    CHECK(*some.options.gpu_layers == j.model.layers.size + 1);
    CHECK(some.options.experts_on_host);
    CHECK(some.options.host_expert_layers > 0);
    CHECK(some.options.host_expert_layers < j.model.layers.size);
    j.options.gpu_layers = 10;  // what is given stays
    CHECK(*fit_to_memory(j, {}, one(gpus::rtx_4090), false).value().options.gpu_layers == 10);
}

TEST_CASE("llama.cpp changes nothing where all fits to the byte, and shortens no context of 4,096 tokens") {
    job j{.model = models::llama_3_1_8b, .context = tokens(65536), .runtime = runtimes::llama_cpp};
    const cluster c = one(gpus::rtx_4090);
    const byte_count all = fitted_bytes(j, {}, c);
    CHECK(fitted_into(all, j, {}, c).context == tokens(65536));
    CHECK(fitted_into(all - bytes(1), j, {}, c).context < tokens(65536));
    CHECK_FALSE(fitted_into(all - bytes(1), j, {}, c).options.gpu_layers);
    for (const std::int64_t context : {2048, 4096}) {
        j.context = tokens(context);
        const fitted_job fewer = fitted_into(fitted_bytes(j, {}, c) - bytes(1), j, {}, c);
        CHECK(fewer.context == j.context);
        CHECK(fewer.options.gpu_layers == 32);
    }
}

TEST_CASE("llama.cpp shortens a context on the line between two sizes, and less of it where stages have whole layers") {
    const cluster c = standard_cluster(gpus::rtx_4090, 2).value();
    for (const auto& [m, parts] : {std::pair{models::llama_3_1_8b, 2}, std::pair{models::qwen3_30b_a3b, 6}})
        for (const std::int32_t stages : {1, 2}) {
            CAPTURE(m.name.view());
            CAPTURE(stages);
            job j{.model = m, .context = tokens(4096), .runtime = runtimes::llama_cpp};
            j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
            const layout l{.pipeline = stages};
            const byte_count least = fitted_bytes(j, l, c), weights = memory_of(j, l, c)[memory_term::weights].expected;
            j.context = tokens(40960);
            // Whole layers leave (stages + 1) / (2 stages) of one over; a third of that where experts move alone.
            const byte_count of_layers =
                stages == 1 ? byte_count{} : div_down(weights * 2 * (stages + 1), m.layers.size * parts * stages);
            // A quarter of the way from 4,096 to 40,960 tokens, and half a step of 256.
            const double part = 0.25 + 128.0 / (40960 - 4096);
            const byte_count room = least + scaled_down(fitted_bytes(j, l, c) - least, part) + of_layers;
            CHECK(fitted_into(room, j, l, c).context == tokens(4096 + 9216));
            CHECK(fitted_into(least, j, l, c).context == tokens(4096));
            CHECK(fitted_into(least - bytes(1), j, l, c).options.gpu_layers);
        }
}

TEST_CASE("llama.cpp moves experts back to the GPU only where all layers are there, as many as fit to the byte") {
    job j{.model = models::qwen3_30b_a3b, .context = tokens(4096), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", "Q8_0").value();
    const cluster c = one(gpus::rtx_4090);
    const std::int32_t layers = j.model.layers.size;
    const auto held = [&](std::int32_t gpu_layers, std::int32_t host_expert_layers) {
        job tried = j;
        tried.options.gpu_layers = gpu_layers;
        tried.options.experts_on_host = true;
        tried.options.host_expert_layers = host_expert_layers;
        return fitted_bytes(tried, {}, c);
    };
    const serving_options but_one = fitted_into(held(layers + 1, 1), j, {}, c).options;
    CHECK(but_one.gpu_layers == layers + 1);
    CHECK(but_one.host_expert_layers == 1);
    const std::int32_t all = serving_options{}.host_expert_layers;
    const serving_options none = fitted_into(held(layers + 1, all), j, {}, c).options;
    CHECK(none.gpu_layers == layers + 1);
    CHECK(none.host_expert_layers == layers);
    const serving_options fewer = fitted_into(held(layers + 1, all) - bytes(1), j, {}, c).options;
    CHECK(fewer.gpu_layers == layers);
    CHECK(fewer.host_expert_layers == all);
}
