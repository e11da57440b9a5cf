// SPDX-License-Identifier: MIT
#include <llmres/answers/buffers.hpp>

#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

using namespace llmres;

namespace {

struct sums {
    std::array<byte_count, memory_term_names.size()> by_term{};
    std::int64_t buffers = 0;
    std::int64_t remainders = 0;  ///< of weights, caches, gradients and optimizer: what no tensor accounts for
};

constexpr sums add_up(const job& j, const layout& l, const job_plan& p) {
    sums s;
    for_each_buffer(j, l, p, [&](const buffer& b) {
        s.by_term[static_cast<std::size_t>(b.term)] += b.size * b.count;
        ++s.buffers;
        const bool told_apart = b.term == memory_term::weights || b.term == memory_term::kv_cache ||
                                b.term == memory_term::gradients || b.term == memory_term::optimizer;
        if (told_apart && b.name == name_of(b.term)) ++s.remainders;
    });
    return s;
}

const cluster h100s{.gpu = gpus::h100_sxm5_80gb,
                    .gpus = 64,
                    .gpus_per_node = 8,
                    .scale_up = links::nvlink4_h100_sxm5,
                    .scale_out = links::ib_ndr_400};

}  // namespace

TEST_CASE("the buffers of every term add up to what the plan expects of it") {
    const std::vector<layout> layouts{{},
                                      {.tensor = 2},
                                      {.tensor = 4, .pipeline = 2},
                                      {.tensor = 2, .data = 4, .zero = 1},
                                      {.data = 8, .zero = 2},
                                      {.data = 8, .zero = 3},
                                      {.tensor = 2, .pipeline = 2, .data = 2, .zero = 1}};
    for (const char* name : {"llama-3.1-8b", "qwen2.5-7b", "gemma-3-4b", "mixtral-8x7b", "deepseek-v3"})
        for (const task t : {task::serving, task::pretraining})
            for (const layout& l : layouts)
                for (const runtime* r : runtimes::all) {
                    job j{.model = find_model(name).value(),
                          .task = t,
                          .batch = 8,
                          .context = tokens(4096),
                          .sequence = tokens(2048),
                          .runtime = *r};
                    if (t == task::serving && l.zero > 0) continue;
                    if (t != task::serving && r != &no_runtime && r != &runtimes::pytorch) continue;
                    const result<job_plan> p = plan(j, l, h100s);
                    if (!p) continue;  // a layout that this model cannot take
                    CAPTURE(std::string{name});
                    CAPTURE(std::string{r->identity.name.view()});
                    CAPTURE(l.tensor);
                    CAPTURE(l.pipeline);
                    CAPTURE(l.zero);
                    const sums s = add_up(j, l, *p);
                    for (std::size_t i = 0; i < memory_term_names.size(); ++i) {
                        const auto term = static_cast<memory_term>(i);
                        if (term == memory_term::runtime || term == memory_term::fragmentation) continue;
                        CAPTURE(std::string{name_of(term)});
                        CHECK(s.by_term[i] == p->memory[term].expected);
                    }
                    CHECK(s.by_term[static_cast<std::size_t>(memory_term::runtime)] == byte_count{});
                }
}

TEST_CASE(
    "a GGUF file's tied head is there where the embedding is read on the host, and no head where it is not on a GPU") {
    job j{.model = find_model("gemma-3-1b").value(), .context = tokens(4096), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    REQUIRE(j.runtime.loading.embedding_on_host);
    const auto named = [&](std::string_view name) {
        byte_count size;
        for_each_buffer(j, {}, plan(j, layout{}, {.gpu = gpus::h100_sxm5_80gb}).value(), [&](const buffer& b) {
            if (b.term == memory_term::weights && b.name == name) size += b.size * b.count;
        });
        return size;
    };
    CHECK(named("embed_tokens") == gguf_input_bytes(j.model, *j.gguf));  // nothing else stands before its layers
    CHECK(named("weights") == byte_count{});                             // nor is anything left unnamed
    j.runtime.options.gpu_layers = 10;
    CHECK(named("embed_tokens") == byte_count{});
    CHECK(named("norm") == byte_count{});
    CHECK(named("weights") == byte_count{});
}

TEST_CASE("weights, caches, gradients and optimizer states are told apart to the byte") {
    for (const char* name : {"llama-3.1-8b", "gemma-3-4b", "mixtral-8x7b", "deepseek-v3"})
        for (const task t : {task::serving, task::pretraining})
            for (const layout& l :
                 {layout{}, layout{.tensor = 2}, layout{.pipeline = 2}, layout{.data = 8, .zero = 3}}) {
                if (t == task::serving && l.zero > 0) continue;
                const job j{.model = find_model(name).value(),
                            .task = t,
                            .batch = 8,
                            .context = tokens(4096),
                            .sequence = tokens(2048)};
                const result<job_plan> p = plan(j, l, h100s);
                REQUIRE(p);
                CAPTURE(std::string{name});
                CAPTURE(l.tensor);
                CAPTURE(l.pipeline);
                CAPTURE(l.zero);
                CHECK(add_up(j, l, *p).remainders == 0);
                CHECK(add_up(j, l, *p).buffers > j.model.layers.size);
            }
}

TEST_CASE("the first buffer is the embedding; each layer has its projections, a K and a V") {
    const job j{.model = models::llama_3_1_8b, .context = tokens(4096)};
    const result<job_plan> p = plan(j, layout{}, h100s);
    REQUIRE(p);
    std::vector<std::string> names;
    for_each_buffer(j, layout{}, *p, [&](const buffer& b) { names.emplace_back(b.name.view()); });
    CHECK(names.front() == "embed_tokens");
    for (const char* name :
         {"layers.0.q_proj", "layers.31.down_proj", "lm_head", "layers.0.k", "layers.31.v", "activations"}) {
        CAPTURE(std::string{name});
        CHECK(std::count(names.begin(), names.end(), name) == 1);
    }
}

TEST_CASE("a plan's buffers can be counted at compile time") {
    static constexpr job j{.model = models::llama_3_2_1b, .context = tokens(2048)};
    static constexpr cluster one{.gpu = gpus::rtx_4090};
    static constexpr job_plan p = plan(j, layout{}, one).value();
    static_assert(add_up(j, layout{}, p).by_term[0] == p.memory[memory_term::weights].expected);
}
