// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/inventory/placement.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/runtimes/all.hpp>

#include "../training_jobs.hpp"

using namespace llmres::detail;

using namespace training_jobs;

TEST_CASE("a Trainer's GPUs take turns at layers that accelerate deals by bytes, and the first is handed the logits") {
    // Qwen-14B: 1.45 GiB of embedding, and of head, around 40 layers of 0.587 GiB. Half of all and 1.25 layers,
    // less 1.45 GiB for the largest module: the embedding and 18 layers.
    layer block = full().model.layers[0];
    block.attention.heads = block.attention.kv_heads = 40;
    block.attention.head_dim = 128;
    block.attention.qkv_bias = true;
    block.feed_forward.width = 13696;
    job j = full();
    j.model = {.name = "qwen-14b", .architecture = "llama", .vocabulary = 152064, .hidden = 5120};
    j.model.layers.append(40, block);
    j.weights = bf16;
    j.runtime = runtimes::huggingface;
    j.global_batch = 16;
    const layout two{.pipeline = 2};
    const byte_count embedding = bytes(2) * (152064 * 5120);
    const byte_count each = bytes(2) * (4 * 5120 * 5120 + 3 * 5120 * 13696 + 3 * 5120 + 2 * 5120);
    CHECK(training_state_of(j, two, 0).weights == embedding + each * 18);
    CHECK(training_state_of(j, two, 0).weights + training_state_of(j, two, 1).weights ==
          training_state_of(j, {}).weights);
    // One micro-batch at a time, however many there are; logits in 16 bits and in 32.
    j.sequence = tokens(65536);
    j.recompute = recompute::full;
    const memory_breakdown first = training_memory(j, two, 0);
    CHECK(first.phase == phase::loss);
    CHECK(first[memory_term::logits].expected == bytes(6) * (std::int64_t{65536} * 152064));
    job more = j;
    more.global_batch = 64;
    CHECK(training_memory(more, two, 0).total() == first.total());
}
TEST_CASE("a version of transformers says how it computes the loss, and what its bitsandbytes keeps") {
    const llmres::runtime now = *find_runtime("huggingface");
    CHECK(now.kernels.loss.code == loss_code::eager);
    CHECK_FALSE(now.kernels.checkpointing.reentrant);
    const llmres::runtime shifted = *find_runtime("huggingface@4.48.1");
    CHECK(shifted.kernels.loss.code == loss_code::eager_shifted);
    CHECK(shifted.kernels.loss.returns_logits);
    CHECK_FALSE(find_runtime("huggingface@4.45.2")->kernels.loss.returns_logits);
    CHECK_FALSE(find_runtime("huggingface@4.45.2")->kernels.four_bit_keeps_inputs);
    CHECK(find_runtime("huggingface@4.36")->kernels.four_bit_keeps_inputs);
    CHECK(find_runtime("huggingface@4.57")->kernels.checkpointing.reentrant);
    CHECK_FALSE(find_runtime("huggingface@4.20"));
}

TEST_CASE("transformers computes routed experts in one grouped product, and shares heads, from 5.0 on") {
    CHECK(runtimes::huggingface.kernels.experts == expert_code::grouped);
    CHECK(runtimes::huggingface.kernels.shared_heads);
    for (const runtime* older : {&runtimes::huggingface_4_57, &runtimes::huggingface_4_42}) {
        CHECK(older->kernels.experts == expert_code::modules);
        CHECK_FALSE(older->kernels.shared_heads);
    }
    // Keys and values as the model has them: 8 heads, not the 32 of the queries.
    job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};
    j.runtime = runtimes::huggingface;
    const byte_count shared = saved_activations(j, {});
    j.runtime = runtimes::huggingface_4_57;
    CHECK(saved_activations(j, {}) > shared);
}

TEST_CASE("a GELU that transformers composes of products is one kernel where the modules are the runtime's own") {
    // Of each layer: half of the input, its tanh, one plus it, in the inner width.
    for (const char* name : {"phi-1.5", "gpt2-xl", "gpt-j-6b"})
        for (const runtime* r : runtimes::all) {
            if (r->identity.work == runtime_work::serving) continue;
            CAPTURE(name);
            CAPTURE(r->identity.name.view());
            job j{.model = find_model(name).value(), .task = task::pretraining, .sequence = tokens(1024)};
            j.runtime = *r;
            j.runtime.kernels.modules = module_code::own;
            const byte_count one_kernel = saved_activations(j, {});
            j.runtime.kernels.modules = module_code::transformers;
            const std::int64_t values = 1024 * j.model.layers.kinds[0].feed_forward.width * j.model.layers.size;
            CHECK(saved_activations(j, {}) - one_kernel >= bytes(2) * (3 * values));
            j.runtime = *r;
            const std::string_view runtime = r->identity.name.view();
            const bool own = runtime == "litgpt" || runtime == "torchtune" || runtime == "torchtitan" ||
                             runtime == "graph_trainer" || runtime == "nanotron" || runtime == "megatron" ||
                             runtime == "megatron_deepspeed";
            CHECK((saved_activations(j, {}) == one_kernel) == own);
        }
}

TEST_CASE("fused norms save what norms save, and leave routed experts as transformers computes them") {
    const auto fused_norms_save = [](model m, const runtime& r) {
        m.layers.size = 2;
        job j{.model = m, .task = task::pretraining, .sequence = tokens(4096)};
        j.runtime = r;
        const byte_count eager = saved_activations(j, {});
        j.runtime.kernels.norm = norm_code::fused;
        return eager - saved_activations(j, {});
    };
    model dense = models::mixtral_8x7b;
    dense.layers.kinds[0].feed_forward.experts = {};
    for (const runtime* r : {&runtimes::huggingface, &runtimes::huggingface_4_57})
        CHECK(fused_norms_save(models::mixtral_8x7b, *r) == fused_norms_save(dense, *r));
}

TEST_CASE("torch.compile keeps no product that nothing reads, and what cuDNN puts out only where it is on the list") {
    job j{.model = models::llama_3_1_8b,
          .task = task::pretraining,
          .weights = fp32,
          .sequence = tokens(8192),
          .recompute = recompute::selective};
    j.runtime = runtimes::torchtitan;
    const layout l{.data = 8, .zero = 3};
    const std::int64_t stream = std::int64_t{8192} * 4096;
    j.runtime.kernels.compilation.loss = true;
    const byte_count eager = saved_activations(j, l);
    j.runtime.kernels.compilation.layers = true;
    CHECK(eager - saved_activations(j, l) == bytes(2) * 32 * stream);
    const byte_count compiled = saved_activations(j, l);
    j.attention = attention_kernel::cudnn;
    CHECK(saved_activations(j, l) == compiled);
    j.runtime = runtimes::torchtitan_0_2;
    j.runtime.kernels.compilation.layers = true;
    CHECK(compiled - saved_activations(j, l) == bytes(32) * (2 * stream + 4 * std::int64_t{8192} * 32));
}

TEST_CASE("FSDP2's streams keep blocks of their own, and expandable segments join the others") {
    job j{.model = models::llama_3_1_8b,
          .task = task::pretraining,
          .weights = fp32,
          .sequence = tokens(8192),
          .recompute = recompute::selective};
    j.optimizer = adamw_fused;
    j.runtime = runtimes::torchtitan_0_0;
    const layout l{.data = 8, .zero = 3};
    const memory_breakdown m = training_memory(j, l);
    CHECK(m.phase == phase::loss);
    // At the loss no gradient is there, and nothing is gathered but the root and the last layer; the root and a layer
    // were.
    const byte_count parts = training_state_of(j, l).gradients.kept + bytes(2) * (2 * std::int64_t{128256} * 4096);
    CHECK(m.reserved.low - m.allocated.low >= parts);
    j.runtime.allocator.expandable_segments = false;
    const memory_breakdown plain = training_memory(j, l);
    CHECK(plain.allocated.expected == m.allocated.expected);
    CHECK(plain.reserved.expected > m.reserved.expected);
    // Embedding and head as units of their own: one of them is gathered at a time.
    j.runtime = runtimes::torchtitan_0_2;
    CHECK(training_memory(j, l).allocated.expected + gib(1) < m.allocated.expected);
}

TEST_CASE("DeepSpeed's ZeRO keeps a master copy in whatever format") {
    job j = full();
    j.master_weights = j.optimizer_states = bf16;
    const layout four{.data = 4, .zero = 3};
    j.runtime = runtimes::pytorch;
    const byte_count shard = training_state_of(j, four).weights;
    CHECK(training_state_of(j, four).optimizer.states == shard * 2);
    j.runtime = runtimes::deepspeed;
    CHECK(training_state_of(j, four).optimizer.states == shard * 3);
    CHECK(training_state_of(j, {}).optimizer.states == training_state_of(j, {}).weights * 2);
}
TEST_CASE("DeepSpeed's ZeRO 3 keeps a bucket of gradients, and widens those of a sub-group when it steps") {
    job j = full();
    j.runtime = runtimes::deepspeed;
    j.recompute = recompute::full;
    j.sequence = tokens(256);
    const layout four{.data = 4, .zero = 3};
    const memory_breakdown stepped = training_memory(j, four);
    REQUIRE(stepped.phase == phase::optimizer);  // 1e9 of the rank's 2.008e9 values: in 16 bits, and in 32
    CHECK(stepped[memory_term::communication].expected - j.runtime.process.communicator.expected ==
          bytes(1'000'000'000));
    CHECK(stepped[memory_term::optimizer_scratch].expected == bytes(6'000'000'000));
    j.runtime.sharding.deepspeed.sub_group_size = 900'000'000;
    CHECK(stepped.ideal - peak(j, four) == bytes(600'000'000));
    j.runtime.sharding.deepspeed.reduce_bucket_size = 50'000'000;
    CHECK(stepped.ideal - peak(j, four) == bytes(1'500'000'000));

    // Stepped on the host: what is joined of a bucket is on its way while layers pass back.
    j.runtime = runtimes::deepspeed;
    j.runtime.kernels.loss.code = loss_code::fused_linear;
    j.sequence = tokens(65536);
    j.offload.optimizer = offload_place::host;
    const memory_breakdown wide = training_memory(j, four);
    j.runtime.sharding.deepspeed.reduce_bucket_size =
        75'000'000;  // two of which hold the head's gradient, of which a rank has 131 million values
    const memory_breakdown narrow = training_memory(j, four);
    REQUIRE(wide.phase == phase::backward);
    CHECK(wide.ideal - narrow.ideal == bytes(2) * (2 * 425'000'000));
    CHECK(wide.reserved.low <= narrow.reserved.low);        // a launcher may ask for less
    j.runtime.sharding.deepspeed.bucket_size_known = true;  // the caller says what it asks for
    const memory_breakdown said = training_memory(j, four);
    CHECK(said.reserved.low > narrow.reserved.low);
    CHECK(said.reserved.expected == narrow.reserved.expected);
    CHECK(said.reserved.high == narrow.reserved.high);
}
TEST_CASE(
    "gradients that DeepSpeed hands to the host never fill more than two buckets, in one micro-batch or several") {
    job j = full();
    j.runtime = runtimes::deepspeed;
    j.recompute = recompute::full;
    j.sequence = tokens(256);  // the first layer's backward pass is the fullest: gradients of all others are there
    const layout four{.data = 4, .zero = 3};
    j.offload.optimizer = offload_place::host;
    for (const std::int64_t bucket : {500'000'000, 50'000'000})
        for (const std::int64_t samples : {4, 32}) {
            j.runtime.sharding.deepspeed.reduce_bucket_size = bucket;
            j.global_batch = samples;
            CHECK(training_memory(j, four)[memory_term::gradients].expected <= bytes(2) * (2 * bucket));
        }
    j.offload.optimizer = offload_place::none;
    j.global_batch = 4;
    CHECK(training_memory(j, four)[memory_term::gradients].expected > gb(3));  // a quarter of 8.03e9, in 16 bits
}
TEST_CASE(
    "DeepSpeed's ZeRO 1 behind a pipeline: outputs wait for their backward pass, and the step's blocks serve nothing "
    "else") {
    job j = full();
    j.runtime = runtimes::deepspeed;
    j.sequence = tokens(16384);
    j.global_batch = 64;
    const layout l{.pipeline = 4, .data = 4, .zero = 1};
    const memory_breakdown whole = training_memory(j, l, 0);
    REQUIRE(whole.phase == phase::backward);
    job less = j;
    less.runtime.pipeline.keeps_stage_outputs = false;
    CHECK(whole.ideal - training_memory(less, l, 0).ideal == bytes(2) * (4 * 16384 * 4096));
    less = j;
    less.runtime.sharding.deepspeed.reduce_bucket_size = 0;
    const memory_breakdown none = training_memory(less, l, 0);
    CHECK(whole.ideal == none.ideal);
    CHECK(whole.reserved.expected - none.reserved.expected == bytes(1'000'000'000));
    CHECK(whole.releasable.expected - none.releasable.expected == bytes(1'000'000'000));
    less = j;
    less.runtime.process.pipeline_groups = 0;
    CHECK(whole[memory_term::communication].expected -
              training_memory(less, l, 0)[memory_term::communication].expected ==
          j.runtime.process.communicator.expected * 3);
}
TEST_CASE("Liger's head makes each part's gradient twice more, in 16 bits and in 32, since 0.6.2") {
    job j = full();
    j.runtime.kernels.loss.code = loss_code::fused_linear;
    job before = j;
    j.runtime.kernels.loss.widens_head_gradient = true;
    const training_context now{j, {}};
    const training_context then{before, {}};
    byte_count more;
    for_each_loss_activation(j.model, now, [&](const activation& a, loss_point at) {
        more += at == loss_point::forward ? local_bytes(a, {}) : byte_count{};
    });
    for_each_loss_activation(j.model, then, [&](const activation& a, loss_point at) {
        more -= at == loss_point::forward ? local_bytes(a, {}) : byte_count{};
    });
    CHECK(more == bytes(6) * (std::int64_t{128256} * 4096));
}
TEST_CASE(
    "bitsandbytes before 0.43.2 keeps what 4-bit products read, even where layers are computed again without "
    "reentrance") {
    job j = full();
    j.weights = nf4;
    j.recompute = recompute::full;
    j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linears};
    j.runtime = *find_runtime("huggingface@4.42");
    j.runtime.kernels.fp32_stream = false;
    const byte_count reentrant = saved_activations(j, {});
    j.runtime.kernels.checkpointing.reentrant = false;
    // Three of the hidden width, and the feed-forward's own.
    CHECK(saved_activations(j, {}) - reentrant == bytes(2) * (std::int64_t{4096} * (3 * 4096 + 14336) * 32));
    j.runtime.kernels.four_bit_keeps_inputs = false;
    CHECK(saved_activations(j, {}) == reentrant);
}
TEST_CASE(
    "FSDP1 holds what wrapping the model left: a short step takes no less than the root and a layer, three times") {
    job j = full();
    j.runtime = *find_runtime("huggingface@4.42");
    j.weights = nf4_double;
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.recompute = recompute::full;
    j.sequence = tokens(64);
    const layout two{.data = 2, .zero = 3};
    const memory_breakdown m = training_memory(j, two);
    const byte_count ends = bytes(2) * (std::int64_t{2} * 128256 * 4096);
    CHECK(m.reserved.expected > training_state_of(j, two).weights + ends * 3);
    CHECK(m.reserved.expected > m.allocated.expected + ends * 2);
    CHECK(m.releasable.high >= ends * 3);
    // Not a part of what one GPU holds, and less beside a step that is far larger.
    CHECK(training_memory(j, {}).reserved.expected < m.reserved.expected);
    j.sequence = tokens(32768);
    j.runtime.kernels.loss.code = loss_code::fused_linear;
    const memory_breakdown longer = training_memory(j, two);
    CHECK(longer[memory_term::fragmentation].expected > ends);
    CHECK(longer.releasable.expected < ends);
}
TEST_CASE(
    "scales of 4-bit weights are no parameters: sharded data ranks have them all, and so has a GPU whose weights are "
    "offloaded") {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.weights = nf4;
    const auto weights = [&](const layout& l) { return training_state_of(j, l).weights; };
    const byte_count scales = bytes(4) * (std::int64_t{32} * (4096 * (2 * 4096 + 2 * 1024) + 3 * 4096 * 14336) / 64);
    CHECK(weights({.data = 8, .zero = 3}) > div_up(weights({}) - scales, 8) + scales);
    CHECK(weights({.data = 8, .zero = 3}) < div_up(weights({}) - scales, 8) + scales + mib(1));
    j.offload.parameters = offload_place::host;
    CHECK(weights({.data = 8, .zero = 3}) >= scales);
    CHECK(weights({.data = 8, .zero = 3}) < scales + mib(1));
}
TEST_CASE("torchao's 8-bit AdamW quantises a tensor's states anew beside it") {
    job j = full();
    j.optimizer = adamw_8bit;
    const byte_count in_place = training_memory(j, {}).ideal;
    CHECK(training_state_of(j, {}).optimizer.temporaries == byte_count{});
    j.optimizer = adamw_8bit_torchao;
    const training_state ao = training_state_of(j, {});
    CHECK(ao.optimizer.largest_step == bytes(13) * (std::int64_t{128256} * 4096));
    CHECK(training_memory(j, {}).ideal >= in_place);
    j.optimizer.in_backward = true;  // and its gradient is there until it is done
    CHECK(training_state_of(j, {}).optimizer.largest_step == bytes(13 + 2) * (std::int64_t{128256} * 4096));
}
TEST_CASE("transformers to 4.42 keeps tables of positions with every layer") {
    job j = full();
    j.runtime = *find_runtime("huggingface@4.45");
    const byte_count computed = training_memory(j, {})[memory_term::weights].expected;
    j.runtime = *find_runtime("huggingface@4.42");
    CHECK(training_memory(j, {})[memory_term::weights].expected - computed ==
          bytes(2 * 2) * (32 * 128 * j.model.max_context.in(tokens)));
}
TEST_CASE("lit-gpt copied keys and values out of one product until August 2023, and saved no view of it") {
    job j = full();
    j.model = models::llama_2_7b;
    j.runtime = *find_runtime("litgpt");
    const byte_count viewed = saved_activations(j, {});
    j.runtime = *find_runtime("litgpt@2023-08");
    CHECK(j.runtime == runtimes::litgpt_2023_08);
    // The values alone, where a view keeps queries and keys as well.
    CHECK(viewed - saved_activations(j, {}) == bytes(2 * 2) * (32 * j.model.hidden * sequence_of(j).in(tokens)));
    j.model = models::falcon_7b;  // of one head's keys and values no copy is made
    const byte_count one = saved_activations(j, {});
    j.runtime = *find_runtime("litgpt@2023-10");
    CHECK(saved_activations(j, {}) == one);
    // Several groups are copied for each query head by both: repeat_interleave then, expand and reshape now.
    j.model = models::llama_3_1_8b;
    const byte_count grouped = saved_activations(j, {});
    j.runtime = *find_runtime("litgpt@2023-08");
    CHECK(saved_activations(j, {}) == grouped);
}

TEST_CASE("Transformer Engine before 2.3 keeps no dummies of gradients: half a GiB of DeepSeek-V2's many shapes") {
    job j{.model = models::deepseek_v2, .task = task::pretraining, .sequence = tokens(4096), .global_batch = 8};
    j.model.layers = j.model.layers.first(4);  // the first one dense
    const auto workspace = [&](const char* version) {
        j.runtime = *find_runtime(version);
        return training_memory(j, {.data = 8, .expert = 8, .zero = 1})[memory_term::workspace].expected;
    };
    // Both matrices of queries, both of keys and values, the output's, and the dense feed-forward's two.
    const std::int64_t h = 5120, latent = 1536 * h + 576 * h, heads = 128;
    const std::int64_t attention = latent + 1536 * heads * 192 + 512 * heads * 256 + heads * 128 * h;
    const std::int64_t shapes = attention + 3 * 12288 * h;
    CHECK(workspace("megatron@0.13") - workspace("megatron@0.12") == bytes(2) * shapes);
    CHECK(workspace("megatron") == workspace("megatron@0.16"));
    CHECK(workspace("megatron@0.11") == workspace("megatron@0.12"));
    // Of a stage of routed experts alone: attention's, and those of the shared expert.
    j.model.layers = models::deepseek_v2.layers.first(4);
    j.model.layers.order[0] = j.model.layers.order[1];
    CHECK(workspace("megatron@0.13") - workspace("megatron@0.12") == bytes(2) * (attention + 3 * 3072 * h));
}
