// SPDX-License-Identifier: MIT
#include <llmres/answers/buffers.hpp>

#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../random_documents.hpp"
#include "../sanitized.hpp"

using namespace llmres;

namespace {

struct sums {
    std::array<byte_count, names_of<memory_term>.size()> by_term{};
    std::int64_t buffers = 0;
    std::int64_t empty = 0;       ///< of no tensors, or of no bytes
    std::int64_t remainders = 0;  ///< of weights, caches, gradients and optimizer: what no tensor accounts for
};

/// Terms whose tensors are told apart: a buffer of the term's own name would stand for what nobody can name.
constexpr bool told_apart(memory_term term) {
    return term == memory_term::weights || term == memory_term::adapter || term == memory_term::kv_cache ||
           term == memory_term::recurrent_state || term == memory_term::gradients || term == memory_term::optimizer;
}

constexpr sums add_up(const job& j, const cluster& c, const job_plan& p) {
    sums s;
    for_each_buffer(j, c, p, [&](const buffer& b) {
        s.by_term[static_cast<std::size_t>(b.term)] += b.size * b.count;
        ++s.buffers;
        s.empty += b.count <= 0 || b.size <= byte_count{};
        if (told_apart(b.term) && b.name == name_of(b.term)) ++s.remainders;
    });
    return s;
}

const cluster h100s{.gpu = gpus::h100_sxm5_80gb,
                    .gpus = 64,
                    .gpus_per_node = 8,
                    .scale_up = links::nvlink4_h100_sxm5,
                    .scale_out = links::ib_ndr_400};

/// What was planned of the cases of a test: a case that is refused holds nothing.
struct cases {
    int planned = 0;
    int refused = 0;
    std::set<std::string> names;  ///< of the models and runtimes of those that were planned
    /// Checks that so many are planned, and some of each of these.
    void arise(int least, std::initializer_list<const char*> expected) const {
        INFO(planned << " planned, " << refused << " refused");
        CHECK(planned >= (sanitized ? least / 4 : least));
        for (const char* name : expected) {
            CAPTURE(name);
            CHECK(names.contains(name));
        }
    }
};

/// Whether the buffers of a plan add up to it. A layout that the model or the runtime cannot take is counted as
/// refused.
void check_sums(cases& all, const job& j, const layout& l, const cluster& c) {
    const result<job_plan> p = plan(j, l, c);
    ++(p ? all.planned : all.refused);
    if (!p) return;
    all.names.emplace(j.model.name.view());
    all.names.emplace(j.runtime.identity.name.view());
    CAPTURE(std::string{j.model.name.view()});
    CAPTURE(std::string{j.runtime.identity.name.view()});
    CAPTURE(std::string{j.runtime.identity.versions.view()});
    CAPTURE(std::string{name_of(p->memory.phase)});
    CAPTURE(std::string{j.optimizer.name.view()});
    CAPTURE(static_cast<int>(j.adapter.kind));
    CAPTURE(l.tensor);
    CAPTURE(l.pipeline);
    CAPTURE(l.zero);
    const sums s = add_up(j, c, *p);
    for (std::size_t i = 0; i < names_of<memory_term>.size(); ++i) {
        const auto term = static_cast<memory_term>(i);
        const bool tensors = term != memory_term::runtime && term != memory_term::fragmentation;
        CAPTURE(std::string{name_of(term)});
        CHECK(s.by_term[i] == (tensors ? p->memory[term].expected : byte_count{}));
    }
    CHECK(s.remainders == 0);
    CHECK(s.empty == 0);
}

/// Whether runs without sanitizers try this one alone: three of four, as those with them take several times as long.
bool left_to_other_runs() {
    static int tried = 0;
    return sanitized && ++tried % 4 != 0;
}

}  // namespace

TEST_CASE("the buffers of every term add up to what the plan expects of it, and each is named, for every engine") {
    cases all;
    for (const char* name : {"llama-3.1-8b", "qwen2.5-vl-7b", "gemma-3-4b", "mixtral-8x7b", "deepseek-v3",
                             "gpt-oss-20b", "mamba2-2.7b", "qwen3-next-80b-a3b", "qwen3-0.6b"})
        for (const layout& l :
             {layout{}, layout{.tensor = 2}, layout{.tensor = 4, .pipeline = 2}, layout{.pipeline = 3}})
            for (const runtime* r : runtimes::all)
                for (const std::int64_t output : {0, 512, 3500}) {
                    if (r->identity.work == runtime_work::training || left_to_other_runs()) continue;
                    job j{.model = find_model(name).value(),
                          .batch = 7,
                          .output = tokens(output),
                          .context = tokens(4096),
                          .runtime = *r};
                    check_sums(all, j, l, h100s);
                    j.weights = fp8_e4m3;
                    check_sums(all, j, l, {.gpu = gpus::rtx_4090, .gpus = 16});
                }
    all.arise(4500, {"llama-3.1-8b", "qwen2.5-vl-7b", "gemma-3-4b", "mixtral-8x7b", "deepseek-v3", "gpt-oss-20b",
                     "mamba2-2.7b", "qwen3-next-80b-a3b", "qwen3-0.6b", "vllm", "sglang", "tensorrt-llm", "llama.cpp",
                     "ollama", "transformers"});
}

TEST_CASE("the same for GGUF files, with layers, experts or the embedding on the host") {
    cases all;
    for (const char* name : {"llama-3.1-8b", "gemma-3-4b", "mixtral-8x7b", "deepseek-v3"})
        for (const layout& l : {layout{}, layout{.tensor = 3}, layout{.tensor = 2, .pipeline = 2}})
            for (const runtime* r : {&runtimes::llama_cpp, &runtimes::ollama, &runtimes::vllm, &no_runtime})
                for (const std::int32_t gpu_layers : {0, 20, 1000})
                    for (const std::int32_t host_expert_layers : {0, 5}) {
                        job j{.model = find_model(name).value(), .context = tokens(4096), .runtime = *r};
                        j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
                        j.options.gpu_layers = gpu_layers;
                        j.options.experts_on_host = host_expert_layers > 0;
                        j.options.host_expert_layers = host_expert_layers;
                        check_sums(all, j, l, h100s);
                    }
    all.arise(150,
              {"llama-3.1-8b", "gemma-3-4b", "mixtral-8x7b", "deepseek-v3", "llama.cpp", "ollama", "vllm", "none"});
}

TEST_CASE(
    "the same for what a job asks beside the model: adapters, prediction layers, a draft model, two formats of cache") {
    cases all;
    for (const char* name : {"llama-3.1-8b", "deepseek-v3", "glm-4.5-air"})
        for (const layout& l : {layout{}, layout{.tensor = 2, .pipeline = 2}})
            for (const runtime* r : {&runtimes::vllm, &runtimes::sglang, &runtimes::transformers, &runtimes::autoawq}) {
                job j{.model = find_model(name).value(),
                      .batch = 5,
                      .prompt = tokens(1000),
                      .output = tokens(77),
                      .runtime = *r};
                j.options.max_loras = 3;
                j.options.speculates_ahead = true;
                j.options.draft_weights = mib(1001);
                j.options.draft_kv = bytes_per_token::from_base(1023);
                j.kv_cache = caches_in(r->loading, fp8_e4m3) ? fp8_e4m3 : fp16;
                j.kv_cache_values = fp32;
                check_sums(all, j, l, h100s);
            }
    all.arise(20, {"llama-3.1-8b", "deepseek-v3", "glm-4.5-air", "vllm", "sglang", "transformers", "autoawq"});
}

TEST_CASE("the buffers of a decode side, whose prompts other GPUs compute, are those of its own plan") {
    for (const runtime* r : {&runtimes::vllm, &runtimes::autoawq_0_1, &runtimes::transformers, &runtimes::llama_cpp})
        for (const char* name : {"llama-3.1-8b", "gemma-3-4b"}) {
            const job j{.model = find_model(name).value(),
                        .batch = 16,
                        .prompt = tokens(3000),
                        .output = tokens(500),
                        .runtime = *r};
            cluster pool = h100s;
            pool.gpus = 1;
            const auto split = plan_disaggregated(j, {layout{}, pool}, {layout{}, pool});
            REQUIRE(split);
            CAPTURE(std::string{name});
            CAPTURE(std::string{r->identity.name.view()});
            const sums s = add_up(j, pool, split->decode);
            for (const memory_term term : {memory_term::weights, memory_term::kv_cache})
                CHECK(s.by_term[static_cast<std::size_t>(term)] == split->decode.memory[term].expected);
        }
}

namespace {

const std::array sharded{layout{},
                         layout{.tensor = 2},
                         layout{.tensor = 4, .pipeline = 2},
                         layout{.tensor = 2, .data = 4, .zero = 1},
                         layout{.data = 8, .zero = 2},
                         layout{.data = 8, .zero = 3},
                         layout{.pipeline = 2, .virtual_pipeline = 2},
                         layout{.pipeline = 3, .embedding_as_layer = true, .loss_as_layer = true},
                         layout{.tensor = 2, .pipeline = 2, .data = 2, .zero = 1}};

/// Every engine that trains, and none.
std::vector<const runtime*> trainers() {
    std::vector<const runtime*> found;
    for (const runtime* r : runtimes::all)
        if (r->identity.work != runtime_work::serving) found.push_back(r);
    return found;
}

}  // namespace

TEST_CASE("the buffers of every term of a training step add up to what the plan expects of it, and each is named") {
    cases all;
    for (const char* name : {"llama-3.1-8b", "qwen2.5-7b", "gemma-3-4b", "mixtral-8x7b", "deepseek-v3", "qwen3-0.6b",
                             "t5-base", "whisper-small", "vit-base-patch16-224", "mamba2-2.7b"})
        for (const layout& l : sharded)
            for (const runtime* r : trainers())
                for (const std::int64_t global_batch : {0, 64}) {
                    if (left_to_other_runs()) continue;
                    check_sums(all,
                               {.model = find_model(name).value(),
                                .task = task::pretraining,
                                .sequence = tokens(512),
                                .global_batch = global_batch,
                                .runtime = *r},
                               l, h100s);
                }
    all.arise(3500, {"llama-3.1-8b", "qwen2.5-7b", "gemma-3-4b", "mixtral-8x7b", "deepseek-v3", "qwen3-0.6b", "t5-base",
                     "whisper-small", "vit-base-patch16-224", "mamba2-2.7b", "pytorch", "megatron", "deepspeed",
                     "huggingface"});
}

TEST_CASE("the same where a step is at its fullest at points that few jobs have their peak at") {
    using point = detail::peak_point;
    const auto point_of = [](const job& asked, const layout& l, const cluster& c) {
        const job j = upcasts(asked, l) ? upcast(asked) : asked;
        const layer_stack by_stage = l.deals_evenly() ? j.model.layers : ordered_by_stage(j.model.layers, l);
        const detail::folded_job folded{j, l, by_stage, sdpa_backend_of(c.gpu)};
        const std::int32_t stage = plan(asked, l, c)->memory.stage;
        return detail::peak_of(folded, detail::training_stage_of(folded, placement_of(j, l, stage))).point;
    };
    const std::pair<point, const char*> documents[] = {
        {point::decoder_embedding_gradient,
         R"({"model": "whisper-small", "task": "pretraining", "runtime": "torchtune", "optimizer": "nadam", "sequence": 128,
             "micro_batch": 2, "global_batch": 8, "recompute": "full", "offload": {"optimizer": "host"},
             "layout": {"zero": 3}, "cluster": {"gpu": "v100-sxm2-32gb", "gpus": 1}})"},
        {point::encoder_last_layer_backward,
         R"({"model": "flan-t5-xxl", "task": "finetuning", "runtime": "transformers", "optimizer": "galore",
             "attention": "sdpa", "sequence": 8192, "micro_batch": 1, "global_batch": 2,
             "layout": {"data": 2, "pipeline": 8}, "cluster": {"gpu": "tpu-v7", "gpus": 16}})"},
        {point::encoder_first_layer_backward,
         R"({"model": "qwen2.5-vl-7b", "task": "finetuning", "runtime": "torchtitan", "sequence": 512, "micro_batch": 1,
             "global_batch": 1, "layout": {"pipeline": 8, "zero": 2}, "cluster": {"gpu": "rtx-3050-8gb", "gpus": 8}})"},
        {point::embedding_gradient,
         R"({"model": "qwen2.5-3b", "task": "finetuning", "runtime": "graph_trainer", "sequence": 128, "micro_batch": 1,
             "global_batch": 1, "layout": {"tensor": 2, "zero": 3}, "cluster": {"gpu": "tpu-v5p", "gpus": 2}})"},
        {point::final_norm_backward,
         R"({"model": "mistral-7b-v0.3", "task": "pretraining", "runtime": "graph_trainer", "optimizer": "sgd_momentum",
             "attention": "sdpa", "weights": "fp16", "sequence": 4096, "micro_batch": 1, "global_batch": 8,
             "layout": {"context_parallel": 2, "tensor": 8}, "cluster": {"gpu": "mi455x-432gb", "gpus": 16}})"},
        {point::head_step,
         R"({"model": "vicuna-7b-v1.5", "task": "pretraining", "runtime": "deepspeed", "optimizer": "lomo", "sequence": 512,
             "micro_batch": 1, "global_batch": 2, "layout": {"data": 2, "pipeline": 8, "zero": 1},
             "cluster": {"gpu": "l4-24gb", "gpus": 16}})"},
        {point::logits_returned,
         R"({"model": "qwen3-vl-8b", "task": "finetuning", "runtime": "transformers", "weights": "nf4", "sequence": 32768,
             "micro_batch": 4, "global_batch": 32, "varied_lengths": true, "adapter": {"kind": "llama_adapter", "rank": 1},
             "layout": {"data": 8, "pipeline": 8, "zero": 1}, "cluster": {"gpu": "tpu-v5p", "gpus": 64}})"},
        // Gradients of one micro-batch or of several, of an encoder that reads tokens and of one that does not:
        {point::final_norm_backward,
         R"({"model": "mistral-small-24b", "task": "pretraining", "runtime": "graph_trainer", "sequence": 2048,
             "micro_batch": 1, "global_batch": 1, "layout": {"pipeline": 8, "tensor": 8, "zero": 1},
             "cluster": {"gpu": "p40-24gb", "gpus": 64}})"},
        {point::encoder_last_layer_backward,
         R"({"model": "t5-11b", "task": "finetuning", "runtime": "huggingface", "sequence": 4096,
             "micro_batch": 1, "global_batch": 1, "offload": {"activations": "nvme"}, "layout": {"pipeline": 8,
             "zero": 1}, "cluster": {"gpu": "rtx-a5500", "gpus": 8}})"},
        {point::encoder_last_layer_backward,
         R"({"model": "whisper-small", "task": "finetuning", "runtime": "huggingface", "optimizer": "sgd",
             "attention": "sdpa", "weights": "fp16", "sequence": 128, "micro_batch": 2, "global_batch": 64,
             "recompute": "selective", "mtp_layers": 2, "adapter": {"kind": "dora", "rank": 8},
             "offload": {"optimizer": "host"}, "layout": {"data": 4, "pipeline": 8, "zero": 1},
             "cluster": {"gpu": "rtx-5070-ti-laptop", "gpus": 32}})"},
        {point::encoder_last_layer_backward,
         R"({"model": "t5-11b", "task": "finetuning", "runtime": "torchtitan", "optimizer": "sgd",
             "sequence": 128, "micro_batch": 1, "global_batch": 16, "recompute": "full", "mtp_layers": 1,
             "layout": {"tensor": 1, "zero": 0}, "cluster": {"gpu": "quadro-rtx-8000", "gpus": 1}})"},
        {point::encoder_first_layer_backward,
         R"({"model": "t5-11b", "task": "finetuning", "runtime": "graph_trainer", "optimizer": "sgd_momentum",
             "attention": "sdpa", "weights": "bf16", "sequence": 128, "micro_batch": 8, "global_batch": 8,
             "recompute": "full", "offload": {"optimizer": "host"}, "layout": {"tensor": 4, "zero": 1},
             "cluster": {"gpu": "rx-7900-xtx-24gb", "gpus": 4}})"},
        {point::encoder_first_layer_backward,
         R"({"model": "whisper-large-v2", "task": "finetuning", "runtime": "transformers",
             "optimizer": "adamw_fused", "sequence": 2048, "micro_batch": 1, "global_batch": 1,
             "recompute": "full", "layout": {"zero": 2}, "cluster": {"gpu": "mlu370-x8", "gpus": 1}})"},
        {point::decoder_embedding_gradient,
         R"({"model": "t5-large", "task": "finetuning", "runtime": "graph_trainer", "sequence": 512,
             "micro_batch": 1, "global_batch": 4, "recompute": "full", "layout": {"data": 2,
             "sequence_parallel": true, "tensor": 2, "zero": 1}, "cluster": {"gpu": "mlu370-x8", "gpus": 4}})"},
        {point::head_backward,
         R"({"model": "starcoder2-7b", "task": "pretraining", "runtime": "graph_trainer", "optimizer": "lomo",
             "sequence": 512, "micro_batch": 8, "global_batch": 8, "recompute": "full", "layout": {"data": 1,
             "expert": 1, "tensor": 1}, "cluster": {"gpu": "rx-6900-xt-16gb", "gpus": 1}})"}};
    cases all;
    for (const auto& [expected, document] : documents) {
        CAPTURE(document);
        const result<plan_request> read = read_job(nlohmann::json::parse(document));
        REQUIRE_MESSAGE(read, read.error().field.view());
        CHECK(point_of(read->job, *read->layout, read->cluster) == expected);
        check_sums(all, read->job, *read->layout, read->cluster);
    }
    CHECK(all.planned == 15);
}

TEST_CASE("the same for every optimizer, in its first step and later ones") {
    cases all;
    for (const char* name : {"llama-3.2-1b", "mixtral-8x7b"})
        for (const layout& l : {layout{}, layout{.tensor = 2, .data = 4, .zero = 1}, layout{.data = 8, .zero = 3}})
            for (const runtime* r : {&no_runtime, &runtimes::pytorch, &runtimes::huggingface, &runtimes::megatron})
                for (const optimizer* o :
                     {&adamw, &adamw_8bit, &sgd, &adafactor, &lomo, &muon, &galore, &soap, &shampoo})
                    for (const std::int64_t steps : {0, 1}) {
                        job j{.model = find_model(name).value(),
                              .task = task::pretraining,
                              .sequence = tokens(1024),
                              .optimizer = *o,
                              .ema = steps == 0,
                              .steps = steps,
                              .runtime = *r};
                        check_sums(all, j, l, h100s);
                        j.weights = fp32;
                        check_sums(all, j, l, h100s);
                    }
    all.arise(800, {"llama-3.2-1b", "mixtral-8x7b", "none", "pytorch", "huggingface", "megatron"});
}

TEST_CASE("the same where the driver evicts a part of a paged optimizer's states, and the rest has no names") {
    cases all;
    int evicted = 0;
    for (const char* name : {"llama-3.1-8b", "mixtral-8x7b"})
        for (const gpu& card : {gpus::rtx_4090, gpus::a100_sxm4_80gb})
            for (const layout& l :
                 {layout{}, layout{.data = 2}, layout{.data = 2, .zero = 2}, layout{.data = 8, .zero = 3}})
                for (const runtime* r : {&runtimes::huggingface, &runtimes::deepspeed, &runtimes::pytorch})
                    for (const optimizer* o : {&paged_adamw, &paged_adamw_8bit})
                        for (const std::int64_t steps : {0, 1}) {
                            const job j{.model = find_model(name).value(),
                                        .task = task::pretraining,
                                        .sequence = tokens(1024),
                                        .optimizer = *o,
                                        .steps = steps,
                                        .runtime = *r};
                            cluster c = h100s;
                            c.gpu = card;
                            check_sums(all, j, l, c);
                            const auto p = plan(j, l, c);
                            if (p && p->memory.evicted.expected > byte_count{}) ++evicted;
                        }
    all.arise(60, {"llama-3.1-8b", "mixtral-8x7b", "huggingface", "deepspeed", "pytorch"});
    CHECK(evicted > 20);
}

TEST_CASE("the same where roles share a tensor that an optimizer treats as one matrix") {
    cases all;
    for (const optimizer* o : {&soap, &galore, &shampoo, &adafactor})
        for (const layout& l : {layout{}, layout{.data = 4, .zero = 3}}) {
            job j{.model = find_model("phi-3-mini-4k").value(),
                  .task = task::pretraining,
                  .sequence = tokens(2048),
                  .optimizer = *o,
                  .runtime = runtimes::huggingface};
            check_sums(all, j, l, h100s);
            j.task = task::finetuning;
            j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = find_roles("up_proj,down_proj").value()};
            check_sums(all, j, l, h100s);
        }
    all.arise(16, {"phi-3-mini-4k"});
}

TEST_CASE("the same for adapters, offloading, recomputation and multi-token prediction") {
    cases all;
    for (const char* name : {"llama-3.1-8b", "gemma-3-4b", "deepseek-v3"})
        for (const layout& l : sharded)
            for (const runtime* r : {&runtimes::pytorch, &runtimes::huggingface, &runtimes::deepspeed}) {
                const job plain{.model = find_model(name).value(),
                                .task = task::finetuning,
                                .sequence = tokens(2048),
                                .runtime = *r};
                for (const adapter_kind kind : {adapter_kind::lora, adapter_kind::dora, adapter_kind::ia3,
                                                adapter_kind::prompt, adapter_kind::llama_adapter}) {
                    job j = plain;
                    j.adapter = {.kind = kind, .rank = 16};
                    check_sums(all, j, l, h100s);
                    j.weights = nf4;
                    j.recompute = recompute::full;
                    check_sums(all, j, l, h100s);
                }
                job j = plain;
                j.offload.optimizer = offload_place::host;
                check_sums(all, j, l, h100s);
                j.offload.parameters = offload_place::nvme;
                check_sums(all, j, l, h100s);
                j = plain;
                j.mtp_layers = 2;
                check_sums(all, j, l, h100s);
            }
    all.arise(900, {"llama-3.1-8b", "gemma-3-4b", "deepseek-v3", "pytorch", "huggingface", "deepspeed"});
}

TEST_CASE(
    "a GGUF file's tied head is there where the embedding is read on the host, and no head where it is not on a GPU") {
    job j{.model = find_model("gemma-3-1b").value(), .context = tokens(4096), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    REQUIRE(j.runtime.loading.embedding_on_host);
    const auto named = [&](std::string_view name) {
        const cluster one{.gpu = gpus::h100_sxm5_80gb};
        byte_count size;
        for_each_buffer(j, one, plan(j, layout{}, one).value(), [&](const buffer& b) {
            if (b.term == memory_term::weights && b.name == name) size += b.size * b.count;
        });
        return size;
    };
    CHECK(named("embed_tokens") == gguf_input_bytes(j.model, *j.gguf));  // nothing else stands before its layers
    CHECK(named("weights") == byte_count{});                             // nor is anything left unnamed
    j.options.gpu_layers = 10;
    CHECK(named("embed_tokens") == gguf_input_bytes(j.model, *j.gguf));  // the head is loaded first
    j.runtime = runtimes::llama_cpp_8671;
    CHECK(named("embed_tokens") == byte_count{});
    CHECK(named("norm") == byte_count{});
    CHECK(named("weights") == byte_count{});
}

TEST_CASE("weights, gradients and optimizer states are told apart to the byte") {
    for (const char* name : {"llama-3.1-8b", "gemma-3-4b", "mixtral-8x7b", "deepseek-v3"})
        for (const layout& l : {layout{}, layout{.tensor = 2}, layout{.pipeline = 2}, layout{.data = 8, .zero = 3}}) {
            const job j{.model = find_model(name).value(), .task = task::pretraining, .sequence = tokens(2048)};
            const result<job_plan> p = plan(j, l, h100s);
            REQUIRE(p);
            CAPTURE(std::string{name});
            CAPTURE(l.tensor);
            CAPTURE(l.pipeline);
            CAPTURE(l.zero);
            CHECK(add_up(j, h100s, *p).remainders == 0);
            CHECK(add_up(j, h100s, *p).buffers > j.model.layers.size);
        }
}

TEST_CASE("the first buffer is the embedding; each layer has its projections, a K and a V") {
    const job j{.model = models::llama_3_1_8b, .context = tokens(4096)};
    const result<job_plan> p = plan(j, layout{}, h100s);
    REQUIRE(p);
    std::vector<std::string> names;
    for_each_buffer(j, h100s, *p, [&](const buffer& b) { names.emplace_back(b.name.view()); });
    CHECK(names.front() == "embed_tokens");
    for (const char* name :
         {"layers.0.q_proj", "layers.31.down_proj", "lm_head", "layers.0.k", "layers.31.v", "activations"}) {
        CAPTURE(std::string{name});
        CHECK(std::count(names.begin(), names.end(), name) == 1);
    }
}

TEST_CASE("caches are keys and values where these are as wide, latents of both, and one where they are not two alike") {
    const auto names = [](std::string_view model) {
        std::set<std::string> found;
        const job j{.model = find_model(model).value(), .context = tokens(1024)};
        for_each_buffer(j, h100s, plan(j, layout{.tensor = 8}, h100s).value(), [&](const buffer& b) {
            if (b.term == memory_term::kv_cache)
                found.insert(std::string{b.name.view().substr(b.name.view().rfind('.') + 1)});
        });
        return found;
    };
    using set = std::set<std::string>;
    CHECK(names("llama-3.1-8b") == set{"k", "v"});
    CHECK(names("deepseek-v3") == set{"latent"});
    for (const model* m : models::all) {  // values of another width, or keys of an index beside them
        const attention& a = m->layers[0].attention;
        if (a.kind != attention_kind::grouped || !plan({.model = *m, .context = tokens(1024)}, {.tensor = 8}, h100s))
            continue;
        CAPTURE(std::string{m->name.view()});
        if (a.value_width() != a.head_dim || a.indexer.heads > 0) CHECK(names(m->name.view()).contains("kv"));
    }
}

TEST_CASE("gradients are a buffer of each weight where all are there, and buckets where the host has them") {
    const auto names = [](const job& j) {
        std::set<std::string> found;
        for_each_buffer(j, h100s, plan(j, layout{}, h100s).value(), [&](const buffer& b) {
            if (b.term == memory_term::gradients) found.emplace(b.name.view());
        });
        return found;
    };
    job j{.model = models::llama_3_2_1b,
          .task = task::pretraining,
          .sequence = tokens(128),
          .runtime = runtimes::pytorch};
    CHECK(names(j).contains("layers.0.q_proj"));
    CHECK_FALSE(names(j).contains("buckets"));
    j.runtime = runtimes::deepspeed;
    j.offload.optimizer = offload_place::host;
    CHECK(names(j) == std::set<std::string>{"buckets"});
}

TEST_CASE("a plan's buffers can be counted at compile time") {
    static constexpr job j{.model = models::llama_3_2_1b, .context = tokens(2048)};
    static constexpr cluster one{.gpu = gpus::rtx_4090};
    static constexpr job_plan p = plan(j, layout{}, one).value();
    static_assert(add_up(j, one, p).by_term[0] == p.memory[memory_term::weights].expected);
}

TEST_CASE("experts are as many buffers as the layer has, whichever term keeps something of them") {
    for (const runtime* r : {&no_runtime, &runtimes::huggingface, &runtimes::megatron}) {
        const job j{.model = find_model("mixtral-8x7b").value(),
                    .task = task::pretraining,
                    .sequence = tokens(512),
                    .runtime = *r};
        const result<job_plan> p = plan(j, layout{}, h100s);
        REQUIRE(p);
        CAPTURE(std::string{r->identity.name.view()});
        const auto copies = [&](memory_term term, std::string_view name) {
            std::vector<std::int64_t> found;
            for_each_buffer(j, h100s, *p, [&](const buffer& b) {
                if (b.term == term && b.name == name) found.push_back(b.count);
            });
            return found;
        };
        for (const memory_term term : {memory_term::weights, memory_term::optimizer}) {
            CHECK(copies(term, "layers.0.gate_proj") == std::vector<std::int64_t>{8});
            CHECK(copies(term, "layers.31.down_proj") == std::vector<std::int64_t>{8});
            CHECK(copies(term, "layers.0.norm") == std::vector<std::int64_t>{2});
            CHECK(copies(term, "layers.0.q_proj") == std::vector<std::int64_t>{1});
            CHECK(copies(term, "embed_tokens") == std::vector<std::int64_t>{1});
        }
    }
}

TEST_CASE("the same of random training jobs, of every model, runtime, optimizer and adapter") {
    random_documents::dice d;
    cases all;
    for (int i = 0; i < (sanitized ? 1000 : 2000); ++i) {
        nlohmann::json document = random_documents::random_training_job(d);
        if (i % 3 == 0) document["global_batch"] = document["micro_batch"].get<std::int64_t>();  // one micro-batch
        const result<plan_request> read = read_job(document);
        if (!read || !read->layout) continue;
        CAPTURE(document.dump());
        check_sums(all, read->job, *read->layout, read->cluster);
    }
    all.arise(150, {"pytorch", "megatron", "deepspeed", "huggingface"});
}

TEST_CASE("copies are as many buffers where they are equal, and one of all where a shard of them is what there is") {
    for (std::int64_t all = 0; all <= 24; ++all)
        for (std::int64_t copies = 1; copies <= 5; ++copies) {
            std::int64_t sum = 0, buffers = 0, most = 0;
            const auto visit = [&](const buffer& b) {
                sum += (b.size * b.count).in(bytes);
                most = std::max(most, b.count);
                ++buffers;
            };
            detail::buffer_writer<decltype(visit)> to{visit};
            to.add_copies("experts", bytes(all), copies);
            CHECK(sum == all);
            CHECK(buffers == (all > 0 ? 1 : 0));
            CHECK(most == (all == 0 ? 0 : all % copies == 0 ? copies : 1));
        }
}
