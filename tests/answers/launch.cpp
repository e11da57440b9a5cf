// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <cstdint>
#include <llmres/answers/launch.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/knobs.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/runtimes/all.hpp>
#include <string>

using namespace llmres;

namespace {

const cluster sixteen = standard_cluster(gpus::h100_sxm5_80gb, 16).value();
job chat(const runtime& r, const model& m = models::llama_3_1_70b) {
    return {.model = m, .batch = 32, .context = tokens(8192), .runtime = r};
}

}  // namespace

TEST_CASE("serving runtimes are started with their own names") {
    CHECK(launch_command(chat(runtimes::vllm), {.tensor = 4, .data = 2}, sixteen) ==
          "vllm serve MODEL --tensor-parallel-size 4 --data-parallel-size 2 --max-model-len 8192");
    const layout experts{.tensor = 2, .data = 4, .expert = 8, .expert_tensor = 1};
    CHECK(launch_command(chat(runtimes::sglang, models::deepseek_v3), experts, sixteen) ==
          "python -m sglang.launch_server --model-path MODEL --tp-size 8 --dp-size 4 --enable-dp-attention --ep-size 8 "
          "--context-length 8192");
    CHECK(launch_command(chat(runtimes::llama_cpp), {.pipeline = 2}, sixteen) ==
          "llama-server --model MODEL --n-gpu-layers 81 --split-mode layer --ctx-size 262144 --parallel 32");
    job by_rows = chat(runtimes::llama_cpp);
    by_rows.options.splits_rows = true;
    CHECK(launch_command(by_rows, {.pipeline = 2}, sixteen).find(" --split-mode row ") != std::string::npos);
    const layout uneven{.pipeline = 2, .stages = read_stages("50|30").value()};
    CHECK(launch_command(chat(runtimes::llama_cpp), uneven, sixteen).ends_with("--parallel 32 --tensor-split 50,31"));
    CHECK(
        launch_command(chat(runtimes::vllm), uneven, sixteen).starts_with("VLLM_PP_LAYER_PARTITION=50,30 vllm serve"));
    CHECK(launch_command(chat(runtimes::tensorrt_llm), {.tensor = 8}, sixteen) ==
          "trtllm-serve MODEL --tp_size 8 --max_seq_len 8192");
}

TEST_CASE("an engine is told what the job sets of it, and nothing that is as in its profile") {
    job j = chat(runtimes::vllm);
    j.runtime.cache.fraction = 0.85;
    j.options.max_loras = 4;
    j.kv_cache = fp8_e4m3;
    REQUIRE(set_knob(j.runtime, j.options, "enforce_eager", 1));
    CHECK(launch_command(j, {.tensor = 4}, sixteen)
              .ends_with(" --kv-cache-dtype fp8_e4m3 --gpu-memory-utilization 0.85 --enable-lora --max-loras 4 "
                         "--max-lora-rank 16 "
                         "--enforce-eager"));
    // What a profile has for large GPUs alone is set for all, also where it is what small ones have.
    j = chat(runtimes::vllm);
    REQUIRE(set_knob(j.runtime, j.options, "max_num_batched_tokens",
                     static_cast<double>(runtimes::vllm.step.max_batched_tokens.in(tokens))));
    CHECK(launch_command(j, {}, sixteen).find(" --max-num-batched-tokens ") != std::string::npos);
    job local = chat(runtimes::llama_cpp);
    local.kv_cache = q8_0;
    REQUIRE(set_knob(local.runtime, local.options, "flash_attn", 0));
    CHECK(launch_command(local, {}, sixteen).ends_with(" --cache-type-k q8_0 --cache-type-v q8_0 --flash-attn off"));
    local.kv_cache = fp32;
    CHECK(launch_command(local, {}, sixteen).find(" --cache-type-k f32 ") != std::string::npos);
    local.kv_cache = fp16;
    CHECK(launch_command(local, {}, sixteen).find("--cache-type") == std::string::npos);
}

TEST_CASE("a server is told what drafts, which adapters have room, and how far the context is extended") {
    const auto line = [](const runtime& r, const auto& set) {
        job j = chat(r);
        set(j.options);
        return launch_command(j, {.tensor = r.layouts.tensor ? 4 : 1}, sixteen);
    };
    const auto drafts = [](serving_options& o) { o.draft_weights = gib(2), o.draft_tokens = 4; };
    const auto drafts_unsaid = [](serving_options& o) { o.draft_weights = gib(2); };
    const auto predicts = [](serving_options& o) { o.speculates_ahead = true, o.draft_tokens = 2; };
    const auto looks_up = [](serving_options& o) { o.draft_tokens = 5; };
    // The objects of vLLM's documentation of speculative decoding.
    CHECK(line(runtimes::vllm, drafts)
              .ends_with(R"( --speculative-config '{"model": "DRAFT", "num_speculative_tokens": 4}')"));
    CHECK(line(runtimes::vllm, drafts_unsaid).ends_with(R"("model": "DRAFT", "num_speculative_tokens": 1}')"));
    CHECK(line(runtimes::vllm, predicts).ends_with(R"('{"method": "mtp", "num_speculative_tokens": 2}')"));
    CHECK(line(runtimes::vllm, looks_up).ends_with(R"('{"method": "ngram", "num_speculative_tokens": 5}')"));
    CHECK(line(runtimes::vllm, [](serving_options&) {}).find("speculative") == std::string::npos);
    CHECK(line(runtimes::llama_cpp, drafts).ends_with(" --model-draft DRAFT --draft-max 4"));
    CHECK(line(runtimes::llama_cpp, looks_up).find("draft") == std::string::npos);
    CHECK(line(runtimes::llama_cpp, [](serving_options& o) {
              o.rope_scaling = 4;
          }).ends_with(" --rope-scaling yarn --rope-scale 4.0"));
    CHECK(line(runtimes::sglang, drafts)
              .ends_with(" --speculative-algorithm STANDALONE --speculative-draft-model-path DRAFT "
                         "--speculative-eagle-topk 1 --speculative-num-steps 4 --speculative-num-draft-tokens 5"));
    CHECK(line(runtimes::sglang, drafts_unsaid).ends_with(" --speculative-draft-model-path DRAFT"));
    CHECK(line(runtimes::sglang, predicts)
              .ends_with(" --speculative-algorithm NEXTN --speculative-eagle-topk 1 --speculative-num-steps 2 "
                         "--speculative-num-draft-tokens 3"));
    CHECK(
        line(runtimes::sglang, looks_up).ends_with(" --speculative-algorithm NGRAM --speculative-num-draft-tokens 6"));
    CHECK(line(runtimes::sglang, [](serving_options& o) {
              o.max_loras = 3, o.max_lora_rank = 32;
          }).ends_with(" --enable-lora --max-loras-per-batch 3 --max-lora-rank 32"));
}

TEST_CASE("what a command has no words for is named, and nothing that it says or that nobody set") {
    using names = std::vector<std::string_view>;
    for (const runtime* r : {&runtimes::vllm, &runtimes::sglang, &runtimes::llama_cpp, &runtimes::tensorrt_llm}) {
        CAPTURE(std::string{r->identity.name.view()});
        CHECK(unsaid_by_launch(chat(*r), {}, sixteen).empty());
    }
    CHECK(unsaid_by_launch(chat(runtimes::vllm), {.tensor = 4, .pipeline = 2, .data = 2}, sixteen).empty());
    CHECK(unsaid_by_launch(chat(runtimes::vllm), {.tensor = 4, .context_parallel = 2}, sixteen) ==
          names{"layout.context_parallel"});
    CHECK(unsaid_by_launch(chat(runtimes::tensorrt_llm), {.tensor = 4, .data = 2}, sixteen) == names{"layout.data"});
    job j = chat(runtimes::tensorrt_llm);
    j.kv_cache = fp8_e4m3;
    j.options.max_loras = 2;
    CHECK(unsaid_by_launch(j, {.tensor = 4}, sixteen) == names{"kv_cache", "runtime.max_loras"});
    j = chat(runtimes::vllm);
    j.kv_cache = fp8_e4m3;
    j.options.max_loras = 2, j.options.draft_tokens = 3, j.options.rope_scaling = 2;
    CHECK(unsaid_by_launch(j, {.tensor = 4}, sixteen) == names{"runtime.rope_scaling"});
    j = chat(runtimes::tensorrt_llm);
    j.options.speculates_ahead = true, j.options.draft_tokens = 3;
    CHECK(unsaid_by_launch(j, {}, sixteen) == names{"runtime.speculates_ahead"});
    j.options.speculates_ahead = false;
    CHECK(unsaid_by_launch(j, {}, sixteen) == names{"runtime.draft_tokens"});
    j.options.draft_weights = gib(1);
    CHECK(unsaid_by_launch(j, {}, sixteen) == names{"runtime.draft"});
    // Scripts of training count their processes, and are told of no server's settings.
    const job trained{.model = models::llama_3_1_8b, .task = task::pretraining, .runtime = runtimes::megatron};
    CHECK(unsaid_by_launch(trained, {.tensor = 2, .data = 4, .context_parallel = 2}, sixteen).empty());
    CHECK(unsaid_by_launch({.model = models::llama_3_1_8b, .runtime = no_runtime}, {.tensor = 2}, sixteen).empty());
}

TEST_CASE("a server is held to as many sequences as the job limits, whatever its batch") {
    job j = chat(runtimes::vllm);
    CHECK(launch_command(j, {}, sixteen) == "vllm serve MODEL --max-model-len 8192");
    j.options.max_num_seqs = 64;
    CHECK(launch_command(j, {.data = 2}, sixteen).ends_with(" --max-model-len 8192 --max-num-seqs 64"));
    j = chat(runtimes::sglang);
    j.options.max_num_seqs = 48;
    CHECK(launch_command(j, {}, sixteen).ends_with(" --max-running-requests 48"));
}

TEST_CASE("llama.cpp is told to take one GPU where there are several, and the types of keys and of values") {
    job j = chat(runtimes::llama_cpp);
    const auto says = [&](const cluster& c, const char* words) {
        return launch_command(j, {}, c).find(words) != std::string::npos;
    };
    CHECK(says(sixteen, " --split-mode none "));
    CHECK(!says(standard_cluster(gpus::rtx_4090, 1).value(), "--split-mode"));
    j.kv_cache = q8_0, j.kv_cache_values = q4_0;
    CHECK(says(sixteen, " --cache-type-k q8_0 --cache-type-v q4_0"));
    j.max_batched_tokens = tokens(1024);
    CHECK(says(sixteen, " --ubatch-size 1024"));
}

TEST_CASE("llama.cpp is told which experts stay on the host") {
    job j = chat(runtimes::llama_cpp, models::deepseek_v3);
    j.options.experts_on_host = true;
    CHECK(launch_command(j, {}, sixteen) ==
          "llama-server --model MODEL --n-gpu-layers 62 --cpu-moe --split-mode none --ctx-size 262144 --parallel 32");
    j.options.host_expert_layers = 17;
    CHECK(launch_command(j, {}, sixteen) ==
          "llama-server --model MODEL --n-gpu-layers 62 --n-cpu-moe 17 --split-mode none --ctx-size 262144 --parallel "
          "32");
}

TEST_CASE("training runtimes are started over nodes") {
    const job j{.model = models::llama_3_1_405b,
                .task = task::pretraining,
                .sequence = tokens(8192),
                .global_batch = 64,
                .recompute = recompute::full,
                .runtime = runtimes::megatron};
    const layout l{.tensor = 8,
                   .sequence_parallel = true,
                   .pipeline = 2,
                   .zero = 1,
                   .embedding_as_layer = true,
                   .loss_as_layer = true};
    CHECK(launch_command(j, l, sixteen) ==
          "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --sequence-parallel "
          "--pipeline-model-parallel-size 2 --account-for-embedding-in-pipeline-split "
          "--account-for-loss-in-pipeline-split --use-distributed-optimizer --bf16 --micro-batch-size 1 "
          "--global-batch-size "
          "64 --seq-length 8192 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
}

TEST_CASE("torchtitan's data ranks shard weights or replicate them") {
    const job j{.model = models::llama_3_1_8b,
                .task = task::pretraining,
                .sequence = tokens(8192),
                .micro_batch = 2,
                .runtime = runtimes::torchtitan};
    const std::string begin =
        "torchrun --nproc-per-node 8 -m torchtitan.train --parallelism.tensor_parallel_degree 2 "
        "--parallelism.pipeline_parallel_degree 1 --parallelism.context_parallel_degree 1 "
        "--parallelism.expert_parallel_degree 1 ";
    const std::string end =
        " --training.local_batch_size 2 --training.global_batch_size 8 --training.seq_len 8192 "
        "--activation_checkpoint.mode none";
    const std::string shards = begin + "--parallelism.data_parallel_shard_degree 4";
    CHECK(launch_command(j, {.tensor = 2, .data = 4, .zero = 3}, sixteen) ==
          shards + " --parallelism.fsdp_reshard_after_forward always" + end);
    CHECK(launch_command(j, {.tensor = 2, .data = 4, .zero = 2}, sixteen) ==
          shards + " --parallelism.fsdp_reshard_after_forward never" + end);
    CHECK(launch_command(j, {.tensor = 2, .data = 4}, sixteen) ==
          begin + "--parallelism.data_parallel_replicate_degree 4" + end);
    CHECK(launch_command(j, {.tensor = 2, .data = 4, .zero = 3, .shard_replicas = 2}, sixteen)
              .find(" --parallelism.data_parallel_shard_degree 2 --parallelism.data_parallel_replicate_degree 2 ") !=
          std::string::npos);
}

TEST_CASE("torchtitan is told what is recomputed, which it does unasked, and whether layers are compiled") {
    job j{.model = models::llama_3_1_8b,
          .task = task::pretraining,
          .sequence = tokens(8192),
          .runtime = runtimes::torchtitan};
    const auto ends = [&](const char* words) { return launch_command(j, {}, sixteen).ends_with(words); };
    j.recompute = recompute::selective;
    CHECK(ends(" --activation_checkpoint.mode selective --activation_checkpoint.selective_ac_option op"));
    j.recompute = recompute::full;
    CHECK(ends(" --activation_checkpoint.mode full"));
    j.runtime.kernels.compilation.layers = true;
    CHECK(ends(" --compile.enable"));
}

TEST_CASE("Megatron-LM shards gradients and weights by its FSDP") {
    const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .runtime = runtimes::megatron};
    const auto says = [&](std::int32_t zero, const char* words) {
        return launch_command(j, {.data = 8, .zero = zero}, sixteen).find(words) != std::string::npos;
    };
    CHECK(!says(1, "fsdp"));
    CHECK(says(2, " --use-distributed-optimizer --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads "));
    CHECK(says(3, " --data-parallel-sharding-strategy optim_grads_params "));
}

TEST_CASE("Megatron-LM is told what a first and a last stage have, and where experts lie") {
    job j{.model = models::deepseek_v3,
          .task = task::pretraining,
          .sequence = tokens(4096),
          .recompute = recompute::selective,
          .runtime = runtimes::megatron};
    const layout l{.tensor = 2,
                   .pipeline = 2,
                   .data = 4,
                   .context_parallel = 2,
                   .expert = 4,
                   .expert_tensor = 1,
                   .first_stage_layers = 30,
                   .last_stage_layers = 31};
    CHECK(launch_command(j, l, sixteen) ==
          "torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 "
          "--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 30 --decoder-last-pipeline-num-layers "
          "31 --context-parallel-size 2 --expert-model-parallel-size 4 --expert-tensor-parallel-size 1 "
          "--bf16 --micro-batch-size 1 --global-batch-size 4 --seq-length 4096 --recompute-granularity selective");
    CHECK(launch_command(j, {.pipeline = 2, .virtual_pipeline = 4}, sixteen)
              .find(" --num-virtual-stages-per-pipeline-rank 4 ") != std::string::npos);
}

TEST_CASE("vLLM is told of experts on ranks, of weights that it casts and of an fp8 cache") {
    job j = chat(runtimes::vllm, models::qwen3_30b_a3b);
    j.weights = fp8_e4m3;
    j.kv_cache = fp8_e4m3;
    CHECK(launch_command(j, {.tensor = 2, .pipeline = 2, .expert = 2}, sixteen) ==
          "vllm serve MODEL --tensor-parallel-size 2 --pipeline-parallel-size 2 --enable-expert-parallel "
          "--max-model-len 8192 --quantization fp8 --kv-cache-dtype fp8_e4m3");
    // A checkpoint that is fp8 says so itself.
    CHECK(launch_command(chat(runtimes::vllm, models::deepseek_v3), {}, sixteen).find("quantization") ==
          std::string::npos);
}

TEST_CASE("layers that are dealt to GPUs that differ are said GPU by GPU, the head on the last as one more") {
    dealt_layers dealt{.gpus = 2};
    dealt.shares[0] = {.first = 20, .last = 30};
    dealt.shares[1] = {.first = 30, .last = 80};
    dealt.on_host = 20;
    CHECK(launch_command(chat(runtimes::llama_cpp), dealt) ==
          "llama-server --model MODEL --n-gpu-layers 61 --split-mode layer --ctx-size 262144 --parallel 32 "
          "--tensor-split 10,51");
    dealt.head_on_host = true;
    CHECK(launch_command(chat(runtimes::llama_cpp), dealt).find(" --n-gpu-layers 60 ") != std::string::npos);
    CHECK(launch_command(chat(runtimes::vllm), dealt).empty());
    CHECK(launch_command(chat(runtimes::ollama), dealt).empty());
}

TEST_CASE("a runtime without a known launcher has no command") {
    CHECK(launch_command(chat(no_runtime), {}, sixteen).empty());
}

TEST_CASE("torchrun has as many processes a node as the layout takes of one, and says nodes where it takes several") {
    const auto of = [](const layout& l, std::int32_t gpus) {
        job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};
        j.runtime = runtimes::megatron;
        return launch_command(j, l, standard_cluster(gpus::h100_sxm5_80gb, gpus).value());
    };
    CHECK(of({.tensor = 4}, 8).starts_with("torchrun --nproc-per-node 4 "));
    CHECK(of({.tensor = 8}, 8).starts_with("torchrun --nproc-per-node 8 "));
    CHECK(of({.tensor = 8, .data = 2}, 16).starts_with("torchrun --nnodes 2 --nproc-per-node 8 "));
}

TEST_CASE("batches and experts on the host are said from the first sequence and layer on") {
    job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096), .global_batch = 1};
    j.runtime = runtimes::megatron;
    const auto words = [&](const layout& l) { return launch_command(j, l, sixteen); };
    CHECK(words({}).find("--global-batch-size 1") != std::string::npos);
    j.global_batch = 0;  // one micro-batch of each data rank
    CHECK(words({.data = 8}).find("--global-batch-size 8") != std::string::npos);
    job experts = chat(runtimes::llama_cpp, models::qwen3_30b_a3b);
    experts.options.experts_on_host = true;
    CHECK(launch_command(experts, {}, sixteen).find(" --cpu-moe") != std::string::npos);
    experts.options.host_expert_layers = 1;
    const std::string one = launch_command(experts, {}, sixteen);
    CHECK(one.find(" --cpu-moe") == std::string::npos);
    CHECK(one.find(" --n-cpu-moe 1") != std::string::npos);
}

TEST_CASE("the command of dealt layers says how many are on GPUs where one and more stay on the host") {
    job j = chat(runtimes::llama_cpp, models::llama_3_1_8b);
    const auto words = [&](std::int32_t on_host, bool head) {
        dealt_layers dealt{.gpus = 1, .on_host = on_host, .head_on_host = head, .complete = on_host == 0};
        dealt.shares[0] = {.first = on_host, .last = 32};
        return launch_command(j, dealt);
    };
    CHECK(words(1, false).find("--n-gpu-layers 32 ") != std::string::npos);
    CHECK(words(1, true).find("--n-gpu-layers 31 ") != std::string::npos);
    CHECK(words(5, false).find("--n-gpu-layers 28 ") != std::string::npos);
}

TEST_CASE("SGLang's ranks of attention are its data ranks where these share experts, from two on") {
    const auto words = [&](std::int32_t data) {
        return launch_command(chat(runtimes::sglang, models::deepseek_v3),
                              {.tensor = 4, .data = data, .expert = 4 * data}, sixteen);
    };
    CHECK(words(1).find("--enable-dp-attention") == std::string::npos);
    CHECK(words(2).find("--tp-size 8 --dp-size 2 --enable-dp-attention --ep-size 8") != std::string::npos);
    CHECK(words(4).find("--tp-size 16 --dp-size 4 --enable-dp-attention --ep-size 16") != std::string::npos);
}

TEST_CASE("the command of a decoder that embeds says so, where the engine would have it generate") {
    const auto words = [](const runtime& r, const model& m) { return launch_command(chat(r, m), {}, sixteen); };
    const model embeds = pooled(models::llama_3_1_8b);
    CHECK(words(runtimes::vllm, embeds).find(" --runner pooling") != std::string::npos);
    CHECK(words(runtimes::sglang, embeds).find(" --is-embedding") != std::string::npos);
    CHECK(words(runtimes::llama_cpp, embeds).find(" --embedding") != std::string::npos);
    CHECK(words(runtimes::vllm, models::llama_3_1_8b).find("pooling") == std::string::npos);
    CHECK(words(runtimes::vllm, embeds).find("--convert") == std::string::npos);
    const model scores = classifier(models::llama_3_1_8b, 1), bert = *find_model("bert-base");
    CHECK(words(runtimes::vllm, scores).find(" --runner pooling --convert classify") != std::string::npos);
    CHECK(words(runtimes::llama_cpp, scores).find(" --embedding --reranking") != std::string::npos);
    CHECK(words(runtimes::llama_cpp, classifier(bert, 3)).find("--reranking") == std::string::npos);
    CHECK(words(runtimes::llama_cpp, bert).find(" --embedding") != std::string::npos);
    // An encoder's text passes whole: llama.cpp has to be told, vLLM takes a step of max_model_len by itself.
    job reads{.model = bert, .context = tokens(2560), .runtime = runtimes::llama_cpp};
    reads.model.max_context = tokens(8192);
    CHECK(launch_command(reads, {}, sixteen).find(" --batch-size 2560 --ubatch-size 2560 ") != std::string::npos);
    reads.context = tokens(512);
    CHECK(launch_command(reads, {}, sixteen).find("batch-size") == std::string::npos);
    reads.context = tokens(8192);
    reads.runtime = runtimes::vllm;
    CHECK(launch_command(reads, {}, sixteen).find("batched-tokens") == std::string::npos);
}

TEST_CASE("figures of a command at the numbers where they begin to be said") {
    using figure = launch_figure;
    const cluster two = standard_cluster(gpus::h100_sxm5_80gb, 2).value();
    job j = chat(runtimes::sglang);
    const auto says = [&](figure f, const layout& l, const cluster& c = sixteen) {
        return detail::launched{j, l, c}.figure(f);
    };
    CHECK(says(figure::tensor_ranks_and_shared, {.tensor = 4, .data = 2}) == 4);
    CHECK(says(figure::tensor_ranks_and_shared, {.tensor = 4, .data = 2, .expert = 8, .expert_tensor = 1}) == 8);
    for (const std::int32_t zero : {0, 1, 2, 3}) {
        const layout l{.data = 8, .zero = static_cast<std::int8_t>(zero), .shard_replicas = 2};
        CHECK(says(figure::data_ranks_sharded, l) == (zero > 0 ? 4 : 0));
        CHECK(says(figure::data_ranks_replicated, l) == (zero > 0 ? 2 : 8));
        CHECK(says(figure::optimizer_copies, l) == (zero > 0 ? 2 : 1));
    }
    for (const int loras : {0, 1, 2}) {
        j.options.max_loras = loras, j.options.max_lora_rank = 16;
        CHECK(says(figure::resident_adapters, {}) == loras);
        CHECK(says(figure::adapter_rank, {}) == (loras > 0 ? 16 : 0));
    }
    CHECK(says(figure::one_gpu_of_several, {}, two) == 1);
    CHECK(says(figure::one_gpu_of_several, {.tensor = 2}, two) == 0);
    CHECK(says(figure::one_gpu_of_several, {}, standard_cluster(gpus::h100_sxm5_80gb, 1).value()) == 0);
    j = chat(runtimes::llama_cpp);
    for (const int size : {2047, 2048, 2049}) {
        j.max_batched_tokens = tokens(size);
        CHECK(says(figure::batched_tokens, {}) == size);
        CHECK(says(figure::batch_of_steps, {}) == (size > 2048 ? size : 0));
    }
    j = chat(runtimes::vllm);
    CHECK(says(figure::batched_tokens, {}) == 0);
    j.max_batched_tokens = tokens(1234);
    CHECK(says(figure::batched_tokens, {}) == 1234);
    j.kv_cache = fp16;
    CHECK(launch_command(j, {}, sixteen).find(" --kv-cache-dtype float16") != std::string::npos);
}

TEST_CASE("parts of a whole and formats of caches, as they are written") {
    CHECK(detail::millionths(850'000) == "0.85");
    CHECK(detail::millionths(500'000) == "0.5");
    CHECK(detail::millionths(123'456) == "0.123456");
    CHECK(detail::millionths(1) == "0.000001");
    CHECK(detail::millionths(1'000'000) == "1.0");
    CHECK(detail::cache_dtype(bf16) == "bfloat16");
    CHECK(detail::cache_dtype(fp32) == "float32");
    CHECK(detail::cache_dtype(int8_row) == "int8_per_token_head");
    CHECK(detail::cache_dtype(int4_row) == "int4_per_token_head");
    CHECK(detail::cache_dtype(fp8_row) == "fp8_per_token_head");
    CHECK(detail::cache_dtype(fp8_e5m2) == "fp8_e5m2");
    CHECK(detail::format_name(fp32) == "f32");
    CHECK(detail::format_name(q8_0) == "q8_0");
}
