// SPDX-License-Identifier: MIT
#include <llmres/jobs/knobs.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/runtimes/llama_cpp.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace llmres;

namespace {

/// DeepSeek with the knobs of ik_llama.cpp, and without flash attention.
memory_breakdown without_flash(const model& m, const runtime& r, double mla, double amb, std::int64_t context = 65536) {
    job j{.model = m, .context = tokens(context), .runtime = r};
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    j.options.experts_on_host = true;
    for (const auto& [name, value] :
         {std::pair{"flash_attn", 0.0}, std::pair{"mla_use", mla}, std::pair{"attn_max_batch", amb}})
        REQUIRE(set_knob(j.runtime, j.options, name, value));
    return serving_memory(j, {});
}
byte_count compute(const memory_breakdown& m) { return m[memory_term::activations].expected; }

}  // namespace

TEST_CASE("attn_max_batch bounds the scores of latent attention without flash attention") {
    for (const runtime* r : {&runtimes::ik_llama_cpp, &runtimes::ik_llama_cpp_3682})
        for (const model* m : {&models::deepseek_v3, &models::deepseek_v2_lite})
            for (const double mla : {1.0, 2.0, 3.0}) {
                INFO(std::string{m->name.view()} << ", mla " << mla);
                // Of all heads: 512 tokens and 65,536 cells in fp32 are 128 MiB a head.
                const std::int64_t heads = m->layers[1].attention.heads;
                const byte_count whole = compute(without_flash(*m, *r, mla, 1e6));
                CHECK(whole > mib(128) * heads);
                byte_count before = whole;
                for (const double amb : {4096.0, 1024.0, 512.0, 256.0}) {
                    const byte_count in_parts = compute(without_flash(*m, *r, mla, amb));
                    CHECK(in_parts <= before);
                    if (amb < 128.0 * static_cast<double>(heads)) CHECK(in_parts < whole);
                    // What is beside them: a part's scores are no more than that.
                    CHECK(in_parts < mib(static_cast<std::int64_t>(amb)) + mib(32) * heads + gib(2));
                    before = in_parts;
                }
            }
}

TEST_CASE("mla_use 1 keeps transposed values in the cache, 2 and 3 copy them in each layer") {
    const runtime& r = runtimes::ik_llama_cpp;
    for (const model* m : {&models::deepseek_v3, &models::deepseek_v2_lite}) {
        const memory_breakdown kept = without_flash(*m, r, 1, 512), copied = without_flash(*m, r, 2, 512);
        const byte_count a_layer = bytes(2) * 65536 * m->layers[1].attention.kv_rank;
        CHECK(kept[memory_term::kv_cache].expected - copied[memory_term::kv_cache].expected ==
              a_layer * m->layers.size);
        CHECK(compute(copied) > compute(kept));
        CHECK(compute(copied) - compute(kept) <= scaled_up(a_layer, 1.01));
        CHECK(without_flash(*m, r, 3, 512).total().expected == copied.total().expected);
    }
}
