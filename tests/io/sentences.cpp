// SPDX-License-Identifier: MIT
// io/sentences.hpp: answers as sentences. (test_text.cpp is of values/text.hpp.)
#include <doctest/doctest.h>

#include <array>
#include <llmres/hardware/gpus/amd.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/mlx.hpp>
#include <llmres/runtimes/ollama.hpp>
#include <llmres/runtimes/tensorrt_llm.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <string>

using namespace llmres;

namespace {

bool mentions(const std::string& sentence, std::string_view part) { return sentence.find(part) != std::string::npos; }

job_plan on_gpus(std::int32_t tensor) {
    job_plan p;
    p.layout.tensor = tensor;
    return p;
}

std::string sentence_of(const reason& r, const job_plan& p) {
    return to_text(r, p, job{.model = models::llama_3_1_8b}, cluster{.gpu = gpus::h200_sxm5_141gb});
}

}  // namespace

TEST_CASE("an error says field, value and what was expected; one without a value, what is the matter") {
    CHECK(to_text(refused(error_code::out_of_range, "batch", "-3", "an integer from 1 to 65536")) ==
          "batch is -3; expected an integer from 1 to 65536");
    CHECK(to_text(refused(error_code::unknown, "--bach", "", "a flag such as --batch")) ==
          "--bach: " + std::string{name_of(error_code::unknown)} + "; expected a flag such as --batch");
}

TEST_CASE("every reason is a sentence of its own, with what is needed and what there is where it is about bytes") {
    std::array<std::string, names_of<reason_code>.size()> sentences;
    for (std::size_t i = 0; i < sentences.size(); ++i) {
        const reason r{.code = static_cast<reason_code>(i),
                       .gpu = 3,
                       .term = memory_term::kv_cache,
                       .needed = gib(90),
                       .available = gib(80)};
        sentences[i] = sentence_of(r, on_gpus(8));
        CHECK(sentences[i] != names_of<reason_code>[i]);
        for (std::size_t other = 0; other < i; ++other) CHECK(sentences[i] != sentences[other]);
        const bool of_arithmetic =
            r.code == reason_code::flash_attention_unsupported || r.code == reason_code::format_emulated;
        const bool of_assumptions =
            r.code == reason_code::not_described || r.code == reason_code::sequence_assumed ||
            r.code == reason_code::weights_dequantised || r.code == reason_code::experts_left_out ||
            r.code == reason_code::context_extended || r.code == reason_code::power_unknown ||
            r.code == reason_code::multiprocessors_unknown || r.code == reason_code::from_tensors ||
            r.code == reason_code::layout_not_run || r.code == reason_code::layout_unproven ||
            r.code == reason_code::gpu_not_supported || r.code == reason_code::gpu_unmeasured ||
            r.code == reason_code::groups_cut || r.code == reason_code::states_exceeded ||
            r.code == reason_code::attention_unmeasured;
        CHECK(mentions(sentences[i], "90") != (of_arithmetic || of_assumptions));
        // What is unknown has no figure, nor has what is compared in a reason of its own.
        const bool of_need_alone = r.code == reason_code::host_memory_unknown || r.code == reason_code::states_evicted;
        CHECK(mentions(sentences[i], "80") != (of_arithmetic || of_assumptions || of_need_alone));
    }
}

TEST_CASE("a degree that a runtime does not run is said with its name, how many, and what says so") {
    const auto said = [](reason_code code, const runtime& r, const layout& l) {
        job_plan p;
        p.layout = l;
        return to_text({.code = code}, p, job{.model = models::llama_3_1_8b, .runtime = r}, cluster{});
    };
    CHECK(said(reason_code::layout_not_run, runtimes::ollama, {.tensor = 8}) ==
          "ollama does not run tensor 8 (llm/server.go: layers are assigned to GPUs, and no split mode is passed on)");
    CHECK(said(reason_code::layout_unproven, runtimes::mlx, {.pipeline = 2}) ==
          "mlx may run pipeline 2, of which no run is known (mlx_lm/utils.py: sharded_load(), of models that have "
          "shard() or pipeline())");
    job_plan p;
    p.layout.pipeline = 16;
    const job naive{.model = models::llama_3_1_8b, .runtime = runtimes::huggingface};
    CHECK(to_text({.code = reason_code::layout_not_run}, p, naive, cluster{}) ==
          "huggingface does not run pipeline 16 over several nodes: one process computes all stages");
}

TEST_CASE("a GPU that a runtime does not start on is said with what it lacks, and what says so") {
    const auto said = [](reason_code code, const job& j, const gpu& card) {
        return to_text({.code = code}, {}, j, cluster{.gpu = card});
    };
    job j{.model = models::llama_3_1_8b, .runtime = runtimes::mlx};
    CHECK(said(reason_code::gpu_not_supported, j, gpus::mi300x_192gb) ==
          "mlx does not start on Instinct MI300X (mlx/backend: metal, cuda, cpu)");
    CHECK(said(reason_code::gpu_unmeasured, j, gpus::h200_sxm5_141gb) ==
          "no run of mlx on H200 SXM 141GB was measured here: memory and times are as on the GPUs that were "
          "(mlx/backend: metal, cuda, cpu)");
    j.runtime = runtimes::tensorrt_llm;
    CHECK(mentions(said(reason_code::gpu_not_supported, j, gpus::v100_sxm2_32gb),
                   "tensorrt-llm needs compute capability 8.0 or newer, and Tesla V100 SXM2 32GB has 7.0"));
    j.kv_cache = fp8_e4m3;
    CHECK(mentions(said(reason_code::gpu_not_supported, j, gpus::a100_sxm4_80gb),
                   "tensorrt-llm with a cache in fp8 needs compute capability 8.9 or newer"));
    const job quantised{.model = models::llama_3_1_8b, .weights = fp8_channel, .runtime = runtimes::vllm};
    CHECK(mentions(said(reason_code::gpu_not_supported, quantised, gpus::mi250_128gb),
                   "vllm with weights in fp8 needs a GPU with fp8 arithmetic, and Instinct MI250 (2 GCDs) has none"));
}

TEST_CASE("groups that tensor ranks cut are said with the width that would not be cut") {
    job j{.model = models::llama_2_7b, .runtime = runtimes::vllm};
    j.weights = awq(4, 128);
    job_plan p;
    p.layout.tensor = 4;
    CHECK(to_text({.code = reason_code::groups_cut}, p, j, cluster{}) ==
          "tensor 4 cuts groups of 128 in 11008 feed-forward features: it starts only with a checkpoint whose width is "
          "padded to a multiple of 512, as Qwen2.5-72B's AWQ files are");
}

TEST_CASE("which GPU is meant is said where there are several, and which term is the largest") {
    const reason r{.gpu = 3, .term = memory_term::kv_cache, .needed = gib(90), .available = gib(80)};
    CHECK(mentions(sentence_of(r, on_gpus(8)), "on GPU 3 of 8"));
    CHECK_FALSE(mentions(sentence_of(r, on_gpus(1)), "GPU"));
    CHECK(mentions(sentence_of(r, on_gpus(1)), "kv_cache"));
}

TEST_CASE(
    "a format that a GPU converts is said with the field that asks for it, the GPU, and what needs no conversion") {
    const reason converted{.code = reason_code::format_emulated};
    const auto said = [&](const job& j, const gpu& card) {
        return to_text(converted, on_gpus(1), j, cluster{.gpu = card});
    };
    job served{.model = models::llama_3_1_8b};
    CHECK(said(served, gpus::v100_sxm2_32gb) ==
          "compute bf16: Tesla V100 SXM2 32GB has no bf16 arithmetic, and converts values before it multiplies them; "
          "compute fp16, or a GPU with bf16 arithmetic, needs no conversion");
    served.compute = fp16;
    served.weights = fp8_channel;
    CHECK(mentions(said(served, gpus::v100_sxm2_32gb), "weights fp8_channel: Tesla V100 SXM2 32GB has no fp8"));
    CHECK(mentions(said(served, gpus::v100_sxm2_32gb), "; weights fp16, or a GPU with fp8 arithmetic"));
    CHECK(mentions(said(served, gpus::a100_sxm4_80gb), "; weights fp16, or a GPU with fp8 arithmetic"));
    const job narrow{.model = models::llama_3_1_8b, .task = task::pretraining, .compute = fp8_e4m3};
    CHECK(mentions(said(narrow, gpus::a100_sxm4_80gb), "compute fp8_e4m3: "));
    CHECK(mentions(said(narrow, gpus::a100_sxm4_80gb), "; compute bf16, or a GPU with fp8"));
}

TEST_CASE("every remedy names what to change, and to what") {
    CHECK(to_text(change{.what = change::kind::more_gpus, .amount = 4, .layout = {.tensor = 4}}) == "4 GPUs, tensor 4");
    CHECK(to_text(change{.what = change::kind::more_gpus, .amount = 24, .layout = {.pipeline = 20}}) ==
          "24 GPUs, 20 of them in use, pipeline 20");
    CHECK(to_text(change{.what = change::kind::other_layout, .amount = 8, .layout = {.data = 8, .zero = 3}}) ==
          "another layout: 8 GPUs, data 8, zero 3");
    CHECK(to_text(change{.what = change::kind::smaller_micro_batch, .amount = 2}) == "a micro-batch of 2");
    CHECK(to_text(change{.what = change::kind::known_host, .host_memory = tib(2)}) ==
          "main memory of 2 TiB or more in a node");
    CHECK(to_text(change{.what = change::kind::sdpa_attention}) == "attention sdpa");
    CHECK(to_text(change{.what = change::kind::narrower_weights, .format = int8}) == "weights in int8");
    CHECK(to_text(change{.what = change::kind::narrower_weights, .mix = find_gguf_mix("weights", "q4_k_m").value()}) ==
          "weights in q4_k_m");
    CHECK(to_text(change{.what = change::kind::smaller_batch, .amount = 2}) == "a batch of 2");
    CHECK(to_text(change{.what = change::kind::shorter_context, .amount = 4096}) == "4096 tokens a sequence");
    CHECK(to_text(change{.what = change::kind::full_recompute}) == "full recomputation of activations");
    CHECK(to_text(change{.what = change::kind::shared_each_batch}) ==
          "gradients shared between data ranks in each micro-batch (sync_each_batch)");
    CHECK(to_text(change{.what = change::kind::bucket_views}) ==
          "gradients as views of DDP's buckets (gradient_as_bucket_view)");
    CHECK(to_text(change{.what = change::kind::smaller_fraction, .amount = 73}) ==
          "73 % of the GPU (gpu_memory_utilization)");
    CHECK(to_text(change{.what = change::kind::fewer_step_sequences, .amount = 853}) ==
          "at most 853 sequences in a step (max_num_seqs)");
}

TEST_CASE("a layout is said by its GPUs and by the degrees of more than one") {
    CHECK(to_text(layout{}) == "1 GPU");
    CHECK(degrees_of(layout{}).empty());
    CHECK(to_text(layout{.tensor = 4, .sequence_parallel = true, .data = 2}) ==
          "8 GPUs, tensor 4 with sequence, data 2");
    CHECK(to_text(layout{.pipeline = 2, .virtual_pipeline = 3}) == "2 GPUs, pipeline 2, virtual_pipeline 3");
    CHECK(to_text(layout{.data = 4, .expert = 4}) == "4 GPUs, data 4, expert 4");
    CHECK(to_text(layout{.context_parallel = 2}) == "2 GPUs, context_parallel 2");
    CHECK(to_text(layout{.replicas = 3}) == "3 GPUs, replicas 3");
    CHECK(to_text(layout{.zero = 1}) == "1 GPU, zero 1");
    CHECK(to_text(layout{.tensor = 4}, 4) == "4 GPUs, tensor 4");
    CHECK(to_text(layout{.tensor = 4}, 5) == "5 GPUs, 4 of them in use, tensor 4");
}

TEST_CASE("a remedy that takes main memory says how much where nobody has said what there is, and two are joined") {
    using kind = change::kind;
    CHECK(to_text(change{.what = kind::narrower_cache, .format = fp8_e4m3}) == "a KV cache in fp8_e4m3");
    CHECK(to_text(change{.what = kind::eight_bit_optimizer}) == "AdamW with 8-bit states");
    CHECK(to_text(change{.what = kind::adapter, .amount = 16}) == "LoRA of rank 16 in place of full fine-tuning");
    CHECK(to_text(change{.what = kind::offloaded_optimizer}) == "optimizer states in main memory");
    CHECK(to_text(change{.what = kind::offloaded_optimizer, .host_memory = gib(64)}) ==
          "optimizer states in main memory (of 64 GiB or more)");
    CHECK(to_text(change{.what = kind::offloaded_activations, .host_memory = gib(32)}) ==
          "saved activations in main memory (of 32 GiB or more)");
    CHECK(to_text(change{.what = kind::fewer_gpu_layers, .amount = 20, .host_memory = gib(16)}) ==
          "20 layers on GPUs, the others in main memory (of 16 GiB or more)");
    CHECK(to_text(change{.what = kind::experts_on_host, .amount = 7}) ==
          "routed experts of the first 7 layers in main memory");
    const change batch{.what = kind::smaller_batch, .amount = 2};
    const change cache{.what = kind::narrower_cache, .format = fp8_e4m3};
    CHECK(to_text(remedy{.changes = {batch}, .count = 1}) == "a batch of 2");
    CHECK(to_text(remedy{.changes = {cache, batch}, .count = 2}) == "a KV cache in fp8_e4m3, and a batch of 2");
}

TEST_CASE("what offloading takes of a node's main memory is said beside what it has, where that is known") {
    reason r{.code = reason_code::host_memory_exceeded, .needed = gib(90), .available = gib(64)};
    CHECK(sentence_of(r, on_gpus(1)) == "offloading takes up to 90 GiB of a node's main memory, which has 64 GiB");
    r.code = reason_code::host_memory_unknown;
    CHECK(sentence_of(r, on_gpus(1)) ==
          "offloading takes up to 90 GiB of a node's main memory; say how much it has (host memory)");
}

TEST_CASE("what may not fit is said with its least certain part, and by how much that may be more") {
    job_plan p = on_gpus(1);
    p.memory[memory_term::workspace] = {mib(10), mib(200), mib(650)};
    const reason r{
        .code = reason_code::memory_tight, .term = memory_term::workspace, .needed = gib(81), .available = gib(80)};
    CHECK(sentence_of(r, p) ==
          "may need up to 81 GiB, has 80 GiB; the least certain part is workspace, with up to 450 MiB more than "
          "expected");
}

TEST_CASE("what a start may take where CPU and GPU share their memory is said as such, and no other need") {
    const job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    const cluster shared{.gpu = gpus::gb10_dgx_spark};
    job_plan p = on_gpus(1);
    p.memory[memory_term::weights] = {gib(15), gib(15), gib(16)};
    const byte_count start = most_at_start(j, p.memory, shared.gpu);
    CHECK(start == gib(32));  // the weights, and the pages of their files
    const auto said = [&](phase of, byte_count needed) {
        p.memory.phase = of;
        return to_text({.code = reason_code::memory_tight, .needed = needed, .available = gib(30)}, p, j, shared);
    };
    CHECK(said(phase::start, start).starts_with("may need up to 32 GiB while it starts, has 30 GiB: "));
    CHECK(said(phase::start, gib(31)).starts_with("may need up to 31 GiB, has 30 GiB; the least certain part"));
    CHECK(said(phase::decode, start).starts_with("may need up to 32 GiB, has 30 GiB; the least certain part"));
}

TEST_CASE("why a runtime does not start says whether others hold what it wants, or its own steps leave no room") {
    const reason r{.code = reason_code::start_refused, .needed = gib(72), .available = gib(60)};
    job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    cluster c{.gpu = gpus::h200_sxm5_141gb};
    CHECK(to_text(r, on_gpus(1), j, c) ==
          "does not start: it sets 72 GiB aside for its steps on a GPU of 60 GiB, which leaves no room for caches");
    c.in_use = gib(80);
    CHECK(to_text(r, on_gpus(1), j, c) ==
          "does not start: its gpu_memory_utilization of the GPU is 72 GiB, of which 60 GiB are free");
}
