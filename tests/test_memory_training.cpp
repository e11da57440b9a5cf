// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/gpus/nvidia.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes.hpp>
#include <llmres/standard_cluster.hpp>

using namespace llmres;

namespace {

constexpr job full() {
    return {.model = models::llama_3_1_8b, .task = task::finetuning, .weights = bf16, .sequence = tokens(4096)};
}
byte_count peak(const job& j, const layout& l = {}) { return training_memory(j, l).ideal; }

/// The field that a plan of the job refuses; empty if it is planned.
std::string refused_field(const job& j, const layout& l, const gpu& card, std::int32_t gpus) {
    const auto made = plan(j, l, *standard_cluster(card, gpus));
    return made ? std::string{} : std::string{made.error().field.view()};
}

}  // namespace

static_assert(training_memory(full(), layout{}).ideal > gib(100));  // at compile time too

TEST_CASE("terms add up to the whole, ideal to allocated to reserved") {
    job j = full();
    j.runtime = runtimes::megatron;
    const memory_breakdown m = training_memory(j, {});
    CHECK(m.ideal <= m.allocated.expected);
    CHECK(m.allocated.expected <= m.reserved.expected);
    CHECK(m.reserved.expected <= m.total().expected);
}
TEST_CASE("more tokens never take less, and recomputing never more") {
    job j = full();
    byte_count before;
    for (const std::int64_t n : {512, 1024, 4096, 16384}) {
        j.sequence = tokens(n);
        CHECK(peak(j) >= before);
        before = peak(j);
        job again = j;
        again.recompute = recompute::full;
        CHECK(peak(again) <= peak(j));
    }
}
TEST_CASE("each ZeRO stage takes less than the one before") {
    for (std::int32_t stage = 1; stage <= 3; ++stage)
        CHECK(training_state(full(), {.data = 8, .zero = stage}).weights + training_state(full(), {.data = 8, .zero = stage}).gradients +
                  training_state(full(), {.data = 8, .zero = stage}).optimizer <
              training_state(full(), {.data = 8, .zero = stage - 1}).weights + training_state(full(), {.data = 8, .zero = stage - 1}).gradients +
                  training_state(full(), {.data = 8, .zero = stage - 1}).optimizer);
}
TEST_CASE("an adapter's states are of the adapter alone") {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(training_state(j, {}).optimizer < gib(1));
    CHECK(peak(j) < peak(full()));
}
TEST_CASE("a frozen model saves nothing before its first adapters") {
    job j = full();
    j.model.layers = {1, models::llama_3_1_8b.layers[0]};
    const auto saved = [&](const adapter& a) {
        j.adapter = a;
        return saved_activations(j, {});
    };
    const byte_count attention = saved({.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::v_proj}});
    const byte_count feed_forward = saved({.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::up_proj}});
    CHECK(feed_forward < attention);  // no queries, keys or values
}
TEST_CASE("IA3 keeps what its scales multiply: keys, values, the feed-forward's inner features in fp32") {
    job j = full();
    j.adapter = {.kind = adapter_kind::prompt, .rank = 8};
    j.sequence = tokens(4096 - 8);
    const byte_count prompt = saved_activations(j, {});
    j.adapter = {.kind = adapter_kind::ia3};
    j.sequence = tokens(4096);
    const std::int64_t n = 4096;
    const byte_count first_norm = size_of(fp32, n, 4096) + size_of(fp32, 1, n);  // gradients do not reach it
    CHECK(saved_activations(j, {}) + first_norm == prompt + (size_of(bf16, n, 2 * 1024) + size_of(fp32, n, 14336)) * 32);
}
TEST_CASE("a trained prompt has gradients and states of its own, and lengthens each sequence") {
    job j = full();
    j.adapter = {.kind = adapter_kind::prompt, .rank = 20};
    const byte_count added = size_of(fp32, 20, 4096);
    CHECK(training_state(j, {}).adapter == added);
    CHECK(training_state(j, {}).gradients == added);
    CHECK(training_state(j, {}).optimizer == added * 2);
    const training_step step{j, {}};
    CHECK(step.tokens.all() == 4096 + 20);
}
TEST_CASE("full recomputation of every n-th layer: the n-th, 2n-th, ... keep their input, the others all") {
    job j = full();
    const byte_count none = saved_by_layers(j, {});
    j.recompute = recompute::full;
    const byte_count all = saved_by_layers(j, {});
    j.recompute_every = 3;  // 10 of 32
    CHECK(saved_by_layers(j, {}) == div_up(all, 32) * 10 + div_up(none, 32) * 22);
    j.recompute_every = 33;
    CHECK(saved_by_layers(j, {}) == none);
}
TEST_CASE("fp8 products save what they read in 16 bits") {
    job j = full();
    const byte_count in_bf16 = peak(j);
    j.compute = fp8_e4m3;
    CHECK(peak(j) == in_bf16);
    CHECK(saved_activations(j, {}) == saved_activations(full(), {}));
}
TEST_CASE("an optimizer that steps in the backward pass keeps no gradients, and LOMO widens the tensor it steps") {
    job j = full();
    j.optimizer = lomo;
    j.sequence = tokens(128);
    CHECK(training_state(j, {}).gradients == byte_count{});
    const byte_count head = size_of(fp32, 128256, 4096);
    CHECK(training_state(j, {}).stepped == head * 2);
    CHECK(training_state(j, {}).optimizer == byte_count{});  // no master weights either
    CHECK(peak(j) > training_state(j, {}).weights + head * 2);
    j.global_batch = 2;
    CHECK(refused_field(j, {}, gpus::h100_sxm5_80gb, 1) == "global_batch");
}
TEST_CASE("what is offloaded as it is saved leaves less on the GPU than what passes by layers") {
    job j = full();
    j.optimizer = sgd;
    j.master_weights = bf16;
    j.sequence = tokens(16384);
    const byte_count none = peak(j);
    j.offload.activations = offload_place::host;
    const byte_count by_layers = peak(j);
    j.runtime.training.offloads_at_once = true;
    CHECK(by_layers < none);
    CHECK(peak(j) < by_layers);
    CHECK(host_memory(j, {}) == saved_by_layers(j, {}));
}
TEST_CASE("a layout that nobody named is refused as one that somebody did") {
    job j = full();
    j.compute = fp8_e4m3;
    const auto field_on = [&](const gpu& card, std::int32_t gpus) {
        const auto made = plan(j, *standard_cluster(card, gpus));
        return made ? std::string{} : std::string{made.error().field.view()};
    };
    CHECK(field_on(gpus::a100_sxm4_80gb, 8) == "compute");
    CHECK(field_on(gpus::h100_sxm5_80gb, 8).empty());
    j.compute = nvfp4;
    CHECK(field_on(gpus::h100_sxm5_80gb, 8) == "compute");
    j.compute = int8;
    CHECK(field_on(gpus::h100_sxm5_80gb, 8) == "compute");
    j = full();
    j.weights = fp8_e4m3;
    CHECK(field_on(gpus::h100_sxm5_80gb, 8) == "optimizer");
}
TEST_CASE("Mamba 2 is trained, and its scan takes whole chunks") {
    job j = full();
    j.model.layers = {2, {.attention = no_attention,
                          .recurrent = {.kind = recurrent_kind::mamba2, .heads = 64, .head_dim = 64, .key_heads = 1, .state = 128, .kernel = 4},
                          .feed_forward = no_feed_forward,
                          .norm_before_feed_forward = false}};
    j.sequence = tokens(1);
    const byte_count one = saved_activations(j, {});
    j.sequence = tokens(256);
    CHECK(saved_activations(j, {}) > one);
    CHECK(saved_activations(j, {}) < one * 4);  // most of it is the chunk's, pair by pair
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb, 1).empty());
}
TEST_CASE("layers that predict further tokens are on the last stage, with an embedding of their own there") {
    job j = full();
    j.runtime = runtimes::megatron;
    job ahead = j;
    ahead.mtp_layers = 1;
    const layout l{.pipeline = 2};
    CHECK(training_state(ahead, l, 0).weights == training_state(j, l, 0).weights);
    // A layer, the projection of two widths to one, three norms; the embedding.
    const std::int64_t h = j.model.hidden;
    parameter_count layer;
    for_each_weight(j.model.layers[0], h, [&](const weight& w) { layer += w.count(); });
    const byte_count more = training_state(ahead, l, 1).weights - training_state(j, l, 1).weights;
    CHECK(more == bytes(2) * (layer.in(parameters) + 2 * h * h + 3 * h + j.model.vocabulary * h));
    // On one GPU the embedding is there already.
    CHECK(training_state(ahead, {}).weights - training_state(j, {}).weights == bytes(2) * (layer.in(parameters) + 2 * h * h + 3 * h));
    // Its scores stay while the model's own are computed: fp32, once a depth.
    const byte_count scores = bytes(4) * 4096 * j.model.vocabulary;
    CHECK(training_memory(ahead, l, 1)[memory_term::logits].expected == training_memory(j, l, 1)[memory_term::logits].expected + scores);
    job twice = ahead;
    twice.mtp_layers = 2;
    CHECK(peak(twice, l) > peak(ahead, l));
    CHECK(training_state(ahead, {.pipeline = 4, .stages = read_stages("8|8|8m|8").value()}, 2).weights >
          training_state(ahead, {.pipeline = 4, .stages = read_stages("8|8|8m|8").value()}, 1).weights);
    j.mtp_layers = 1000;
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb, 1) == "mtp_layers");
}
TEST_CASE("in the first step the optimizer's states come after the backward pass") {
    job j = full();
    j.runtime = runtimes::megatron;
    job first = j;
    first.steps = 1;
    // 2 of weights, 4 of gradients, 4 of master weights; 8 of states where they are needed.
    const byte_count states = bytes(8) * count_parameters(j.model).in(parameters);
    const byte_count activations = training_memory(j, {})[memory_term::activations].expected + training_memory(j, {})[memory_term::logits].expected;
    REQUIRE(activations < states);
    const memory_breakdown m = training_memory(first, {});
    CHECK(m.phase == phase::optimizer);
    CHECK(m[memory_term::optimizer].expected == training_state(j, {}).optimizer);
    CHECK(m.ideal < training_memory(j, {}).ideal);
    first.sequence = tokens(32768);  // activations beside no states
    CHECK(training_memory(first, {})[memory_term::optimizer].expected == training_state(j, {}).optimizer - states);
}
TEST_CASE("states of whole tensors: the fullest rank has the largest of what does not go round") {
    job j = full();
    j.runtime = runtimes::megatron;
    j.optimizer = muon;
    const auto states = [&](std::int32_t ranks) { return training_state(j, {.data = ranks, .zero = 1}).optimizer; };
    const byte_count whole = training_state(j, {}).optimizer;
    CHECK(states(1) == whole);
    CHECK(states(2) <= div_up(whole, 2) + mib(64));  // norms by the byte
    // 32 layers of matrices: more ranks than tensors leave one tensor each.
    const byte_count largest = bytes(8) * j.model.hidden * j.model.layers.kinds[0].feed_forward.width;
    CHECK(states(1024) > largest);
    CHECK(states(1024) < largest * 2);
    job by_bytes = j;
    by_bytes.optimizer = adamw;
    CHECK(training_state(by_bytes, {.data = 1024, .zero = 1}).optimizer < largest);
    // The first layouts dealt embedding and head whole too: twelve bytes each weight of theirs on one rank.
    j.runtime.training.layer_wise_param_layout = false;
    CHECK(states(1024) >= bytes(12) * j.model.vocabulary * j.model.hidden);
}
TEST_CASE("a head whose gradient is put off keeps its input and the gradient of the logits") {
    job j = full();
    j.runtime = runtimes::megatron;
    j.global_batch = 8;
    job later = j;
    later.runtime.training.defer_embedding_wgrad_compute = true;
    const layout l{.pipeline = 2};
    const byte_count input = bytes(2) * 4096 * j.model.hidden;
    const byte_count scores = bytes(2) * 4096 * j.model.vocabulary;
    CHECK(peak(later, l) > peak(j, l));
    const auto kept = [&](const job& of) { return training_memory(of, l, 1)[memory_term::activations].expected; };
    CHECK(kept(later) - kept(j) == (input + scores) * 7);
    later.runtime.training.wgrad_deferral_limit = 2;
    CHECK(kept(later) - kept(j) == input * 7 + scores * 2);
    CHECK(refused_field(later, {}, gpus::a100_sxm4_80gb, 1) == "runtime.defer_embedding_wgrad_compute");
}
TEST_CASE("named parts of a layer are computed again, or their inputs are in main memory") {
    using enum layer_module;
    job j{.model = models::deepseek_v3, .task = task::pretraining, .sequence = tokens(2048), .attention = attention_kernel::flash, .runtime = runtimes::megatron};
    const layout l{.data = 8, .expert = 8};
    const training_step step{j, l};
    const layer& routed = j.model.layers[j.model.layers.size - 1];
    const layer& dense = j.model.layers[0];
    const std::int64_t n = 2048;
    const auto parts = [&](const layer& of, layer_module_set again, layer_module_set away) {
        job with = j;
        with.recompute = again.empty() ? recompute::none : recompute::selective;
        with.recompute_modules = again;
        with.offload.modules = away;
        return detail::named_parts_of(of, with, l, step);
    };
    const attention& a = routed.attention;
    const experts& e = routed.feed_forward.experts;
    // Outputs of two norms.
    CHECK(parts(dense, layernorm, {}).again == bytes(2) * 2 * n * j.model.hidden);
    CHECK(parts(routed, layernorm, {}).again == bytes(2) * 2 * n * j.model.hidden);
    // What the activation puts out, of eight tokens for one.
    CHECK(parts(routed, moe_act, {}).again == bytes(2) * 8 * n * e.width);
    CHECK(parts(dense, moe_act, {}).again == byte_count{});
    // Queries, keys and values of 128 heads, their compressed inputs normed, and the norms'.
    const byte_count heads = bytes(2) * n * a.heads * (2 * a.query_width() + a.value_width());
    const byte_count compressed = bytes(2) * 2 * n * (a.q_rank + a.kv_rank) + bytes(4) * 2 * n;
    CHECK(parts(routed, mla_up_proj, {}).again == heads + compressed);
    // The whole of a dense feed-forward but its input; of routed experts with the shared.
    CHECK(parts(dense, mlp, {}).again == bytes(2) * 3 * n * dense.feed_forward.width);
    const byte_count shared = parts(routed, shared_experts, {}).again;
    CHECK(shared == bytes(2) * 3 * n * e.shared_width);
    CHECK(parts(routed, moe, {}).again > bytes(2) * 8 * n * (3 * e.width + j.model.hidden) + shared);
    // Away: inputs.
    CHECK(parts(routed, {}, expert_fc1).away == bytes(2) * 8 * n * j.model.hidden);
    CHECK(parts(routed, {}, moe_act).away == bytes(2) * 2 * 8 * n * e.width);
    CHECK(parts(routed, {}, attn_norm).away == bytes(2) * n * j.model.hidden + bytes(4) * n);
    CHECK(parts(dense, {}, qkv_linear).away == bytes(2) * n * j.model.hidden);
    // What is computed again does not go away besides.
    CHECK(parts(routed, mla_up_proj, core_attn).away == bytes(4) * n * a.heads);

    const auto reserved = [&](layer_module_set again, layer_module_set away) {
        job with = j;
        with.recompute = again.empty() ? recompute::none : recompute::selective;
        with.recompute_modules = again;
        with.offload.modules = away;
        return std::pair{training_memory(with, l).ideal, host_memory(with, l)};
    };
    const auto [all, none_away] = reserved({}, {});
    const auto [recomputed, still_none] = reserved({layernorm, mla_up_proj, moe_act, mlp}, {});
    const auto [offloaded, on_host] = reserved({}, {core_attn, expert_fc1, moe_act});
    CHECK(recomputed < all);
    CHECK(offloaded < all);
    CHECK(none_away == byte_count{});
    CHECK(still_none == byte_count{});
    CHECK(on_host > all - offloaded);
}
TEST_CASE("experts may be busier than the mean, which the upper bound counts unless the load is given") {
    job j{.model = models::deepseek_v3, .task = task::pretraining, .sequence = tokens(2048), .attention = attention_kernel::flash, .runtime = runtimes::megatron};
    const layout l{.data = 8, .expert = 8};
    const memory_breakdown balanced = training_memory(j, l);
    j.expert_load = 1.0001;  // as it is measured
    const memory_breakdown given = training_memory(j, l);
    CHECK(balanced.allocated.high > given.allocated.high + gib(10));
    CHECK(balanced.ideal <= given.ideal);
    j.expert_load = 1.72;
    CHECK(training_memory(j, l)[memory_term::activations].expected < balanced[memory_term::activations].high);
}
TEST_CASE("linear layers in 8 bits keep 8-bit inputs, and 8-bit copies of their weights") {
    job j = full();
    j.runtime = runtimes::megatron;
    job narrow = j;
    narrow.runtime.training.fp8_recipe = fp8_recipe::tensorwise;
    parameter_count matrices;
    for_each_weight(j.model.layers[0], j.model.hidden, [&](const weight& w) { matrices += w.rows > 1 && w.columns > 1 ? w.count() : parameter_count{}; });
    const byte_count copies = bytes(2) * 32 * matrices.in(parameters);  // as they are, and transposed
    CHECK(training_state(narrow, {}).weights == training_state(j, {}).weights + copies);
    // Inputs of four products, of which attention keeps what the second reads as well.
    const std::int64_t n = 4096;
    const std::int64_t h = j.model.hidden;
    const std::int64_t inner = j.model.layers[0].feed_forward.width;
    job flash = j;
    flash.attention = narrow.attention = attention_kernel::flash;
    const byte_count fewer = saved_activations(flash, {}) - saved_activations(narrow, {});
    CHECK(fewer == bytes(32) * n * (h + h + inner - h));
    narrow.runtime.training.fp8_param_gather = true;
    CHECK(training_state(narrow, {}).weights == training_state(j, {}).weights);
    // A scale of four bytes a block of 128, or of one a block of 32.
    for (const fp8_recipe r : {fp8_recipe::blockwise, fp8_recipe::microscaled}) {
        narrow.runtime.training = {.norm = j.runtime.training.norm, .fp8_recipe = r};
        narrow.runtime.training.casts_weights = false;
        CHECK(training_state(narrow, {}).weights == training_state(j, {}).weights + copies + div_up(copies, 32));
    }
    CHECK(refused_field(narrow, {}, gpus::a100_sxm4_80gb, 1) == "runtime.fp8_recipe");
    CHECK(refused_field(narrow, {}, gpus::h100_sxm5_80gb, 1).empty());
}
TEST_CASE("context-parallel ranks exchange keys and values through buffers") {
    job j = full();
    j.attention = attention_kernel::flash;
    j.runtime = runtimes::megatron;
    const attention& a = j.model.layers[0].attention;
    const auto exchanged = [&](std::int32_t ranks, cp_communication how) {
        const training_step step{j, {.context_parallel = ranks, .cp_comm_type = how}};
        byte_count size;
        const byte_count alone = [&] {
            training_step one = training_step{j, {.context_parallel = ranks}};
            one.context_ranks = 1;
            byte_count sum;
            for_each_gradient_activation(j.model.layers[0], j.model.hidden, one, [&](const activation& g) { sum += local_bytes(g, {}); });
            return sum;
        }();
        for_each_gradient_activation(j.model.layers[0], j.model.hidden, step, [&](const activation& g) { size += local_bytes(g, {}); });
        return size - alone;
    };
    CHECK(exchanged(1, cp_communication::p2p) == byte_count{});
    const std::int64_t n = 4096 / 2;
    const std::int64_t keys = 2 * a.kv_heads * a.head_dim;
    const std::int64_t queries = a.heads * a.head_dim;
    CHECK(exchanged(2, cp_communication::p2p) == bytes(2) * n * (4 * keys + queries));
    CHECK(exchanged(2, cp_communication::all_gather) == bytes(2) * n * 2 * 2 * keys);
    CHECK(exchanged(2, cp_communication::a2a) == bytes(2) * n * (2 * queries + keys));
    // A long ring holds more in its forward pass.
    CHECK(exchanged(16, cp_communication::p2p) == bytes(2) * (n / 8) * (16 * (keys + queries) - 4 * queries));
}
TEST_CASE("what cannot run is refused by name") {
    job j = full();
    j.weights = nf4;
    for (const optimizer& o : optimizers) {
        j.optimizer = o;
        CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb, 1) == "optimizer");
    }
    const error packed = validate(j).error();
    CHECK(packed.value == j.optimizer.name.view());
    CHECK(packed.expected == "an adapter to train beside weights of nf4, or plain weights");
    j = full();
    j.global_batch = 7;
    CHECK(refused_field(j, {.data = 2}, gpus::a100_sxm4_80gb, 2) == "global_batch");
    j = full();
    j.runtime = runtimes::deepspeed;
    CHECK(refused_field(j, {.pipeline = 2, .data = 2, .zero = 3}, gpus::a100_sxm4_80gb, 4) == "layout.zero");
    j = full();
    j.compute = fp8_e4m3;
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb, 1) == "compute");
    j = full();
    j.weights = j.compute = fp16;
    j.attention = attention_kernel::flash;
    const job_plan old = *plan(j, {.data = 8, .zero = 3}, *standard_cluster(gpus::v100_sxm2_32gb, 8));
    CHECK(old.verdict == verdict::does_not_fit);
    CHECK(name_of(old.reasons[static_cast<std::size_t>(old.reason_count - 1)].code) == "flash_attention_unsupported");
    j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::in_proj}};
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb, 1) == "adapter.targets");
}
TEST_CASE("a Trainer's GPUs take turns at layers that accelerate deals by bytes, and the first is handed the logits") {
    // Qwen-14B: 1.45 GiB of embedding, and of head, around 40 layers of 0.587 GiB. Half of all and 1.25 layers, less 1.45 GiB for the
    // largest module: the embedding and 18 layers.
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
    CHECK(training_state(j, two, 0).weights == embedding + each * 18);
    CHECK(training_state(j, two, 0).weights + training_state(j, two, 1).weights == training_state(j, {}).weights);
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
    const training_engine now = find_runtime("huggingface")->training;
    CHECK(now.loss == loss_code::eager);
    CHECK_FALSE(now.reentrant_checkpoints);
    const training_engine shifted = find_runtime("huggingface@4.48.1")->training;
    CHECK(shifted.loss == loss_code::eager_shifted);
    CHECK(shifted.returns_logits);
    CHECK_FALSE(find_runtime("huggingface@4.45.2")->training.returns_logits);
    CHECK_FALSE(find_runtime("huggingface@4.45.2")->training.four_bit_keeps_inputs);
    CHECK(find_runtime("huggingface@4.36")->training.four_bit_keeps_inputs);
    CHECK(find_runtime("huggingface@4.57")->training.reentrant_checkpoints);
    CHECK_FALSE(find_runtime("huggingface@4.20"));
}

TEST_CASE("torch.compile keeps no product that nothing reads, and what cuDNN puts out only where it is on the list") {
    job j{.model = models::llama_3_1_8b, .task = task::pretraining, .weights = fp32, .sequence = tokens(8192), .recompute = recompute::selective};
    j.runtime = runtimes::torchtitan;
    const layout l{.data = 8, .zero = 3};
    const std::int64_t stream = std::int64_t{8192} * 4096;
    j.runtime.training.compiled_loss = true;
    const byte_count eager = saved_activations(j, l);
    j.runtime.training.compiled = true;
    CHECK(eager - saved_activations(j, l) == bytes(2) * 32 * stream);
    const byte_count compiled = saved_activations(j, l);
    j.attention = attention_kernel::cudnn;
    CHECK(saved_activations(j, l) == compiled);
    j.runtime = runtimes::torchtitan_0_2;
    j.runtime.training.compiled = true;
    CHECK(compiled - saved_activations(j, l) == bytes(32) * (2 * stream + 4 * std::int64_t{8192} * 32));
}

TEST_CASE("FSDP2's streams keep blocks of their own, and expandable segments join the others") {
    job j{.model = models::llama_3_1_8b, .task = task::pretraining, .weights = fp32, .sequence = tokens(8192), .recompute = recompute::selective};
    j.optimizer = adamw_fused;
    j.runtime = runtimes::torchtitan_0_0;
    const layout l{.data = 8, .zero = 3};
    const memory_breakdown m = training_memory(j, l);
    CHECK(m.phase == phase::loss);
    // At the loss no gradient is there, and nothing is gathered but the root and the last layer; the root and a layer were.
    const byte_count parts = training_state(j, l).gradients + bytes(2) * (2 * std::int64_t{128256} * 4096);
    CHECK(m.reserved.low - m.allocated.low >= parts);
    j.runtime.expandable_segments = false;
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
    const byte_count shard = training_state(j, four).weights;
    CHECK(training_state(j, four).optimizer == shard * 2);
    j.runtime = runtimes::deepspeed;
    CHECK(training_state(j, four).optimizer == shard * 3);
    CHECK(training_state(j, {}).optimizer == training_state(j, {}).weights * 2);
}
TEST_CASE("DeepSpeed's ZeRO 3 keeps a bucket of gradients, and widens those of a sub-group when it steps") {
    job j = full();
    j.runtime = runtimes::deepspeed;
    j.recompute = recompute::full;
    j.sequence = tokens(256);
    const layout four{.data = 4, .zero = 3};
    const memory_breakdown stepped = training_memory(j, four);
    REQUIRE(stepped.phase == phase::optimizer);  // 1e9 of the rank's 2.008e9 values: in 16 bits, and in 32
    CHECK(stepped[memory_term::communication].expected - j.runtime.communicator.expected == bytes(1'000'000'000) + bytes(6'000'000'000));
    j.runtime.training.sub_group_size = 900'000'000;
    CHECK(stepped.ideal - peak(j, four) == bytes(600'000'000));
    j.runtime.training.reduce_bucket_size = 50'000'000;
    CHECK(stepped.ideal - peak(j, four) == bytes(1'500'000'000));

    // Stepped on the host: what is joined of a bucket is on its way while layers pass back.
    j.runtime = runtimes::deepspeed;
    j.runtime.training.loss = loss_code::fused_linear;
    j.sequence = tokens(65536);
    j.offload.optimizer = offload_place::host;
    const memory_breakdown wide = training_memory(j, four);
    j.runtime.training.reduce_bucket_size = 50'000'000;
    const memory_breakdown narrow = training_memory(j, four);
    REQUIRE(wide.phase == phase::backward);
    CHECK(wide.ideal - narrow.ideal == bytes(2) * (2 * 450'000'000));
    CHECK(wide.reserved.low == narrow.reserved.low);  // a launcher may ask for less
}
TEST_CASE("DeepSpeed's ZeRO 1 behind a pipeline: outputs wait for their backward pass, and the step's blocks serve nothing else") {
    job j = full();
    j.runtime = runtimes::deepspeed;
    j.sequence = tokens(16384);
    j.global_batch = 64;
    const layout l{.pipeline = 4, .data = 4, .zero = 1};
    const memory_breakdown whole = training_memory(j, l, 0);
    REQUIRE(whole.phase == phase::backward);
    job less = j;
    less.runtime.training.keeps_stage_outputs = false;
    CHECK(whole.ideal - training_memory(less, l, 0).ideal == bytes(2) * (4 * 16384 * 4096));
    less = j;
    less.runtime.training.reduce_bucket_size = 0;
    const memory_breakdown none = training_memory(less, l, 0);
    CHECK(whole.ideal == none.ideal);
    CHECK(whole.reserved.expected - none.reserved.expected == bytes(1'000'000'000));
    CHECK(whole.releasable.expected - none.releasable.expected == bytes(1'000'000'000));
    less = j;
    less.runtime.training.pipeline_groups = 0;
    CHECK(whole[memory_term::communication].expected - training_memory(less, l, 0)[memory_term::communication].expected ==
          j.runtime.communicator.expected * 3);
}
TEST_CASE("Liger's head makes each part's gradient twice more, in 16 bits and in 32, since 0.6.2") {
    job j = full();
    j.runtime.training.loss = loss_code::fused_linear;
    job before = j;
    j.runtime.training.widens_head_gradient = true;
    const training_step now{j, {}};
    const training_step then{before, {}};
    byte_count more;
    for_each_loss_activation(j.model, now, [&](const activation& a, loss_point at) { more += at == loss_point::forward ? local_bytes(a, {}) : byte_count{}; });
    for_each_loss_activation(j.model, then, [&](const activation& a, loss_point at) { more -= at == loss_point::forward ? local_bytes(a, {}) : byte_count{}; });
    CHECK(more == bytes(6) * (std::int64_t{128256} * 4096));
}
TEST_CASE("bitsandbytes before 0.43.2 keeps what 4-bit products read, even where layers are computed again without reentrance") {
    job j = full();
    j.weights = nf4;
    j.recompute = recompute::full;
    j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linears};
    j.runtime = *find_runtime("huggingface@4.42");
    j.runtime.training.fp32_stream = false;
    const byte_count reentrant = saved_activations(j, {});
    j.runtime.training.reentrant_checkpoints = false;
    // Three of the hidden width, and the feed-forward's own.
    CHECK(saved_activations(j, {}) - reentrant == bytes(2) * (std::int64_t{4096} * (3 * 4096 + 14336) * 32));
    j.runtime.training.four_bit_keeps_inputs = false;
    CHECK(saved_activations(j, {}) == reentrant);
}
TEST_CASE("FSDP1 holds what wrapping the model left: a short step takes no less than the root and a layer, three times") {
    job j = full();
    j.runtime = *find_runtime("huggingface@4.42");
    j.weights = nf4_double;
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.recompute = recompute::full;
    j.sequence = tokens(64);
    const layout two{.data = 2, .zero = 3};
    const memory_breakdown m = training_memory(j, two);
    const byte_count ends = bytes(2) * (std::int64_t{2} * 128256 * 4096);
    CHECK(m.reserved.expected > training_state(j, two).weights + ends * 3);
    CHECK(m.reserved.expected > m.allocated.expected + ends * 2);
    CHECK(m.releasable.high >= ends * 3);
    // Not a part of what one GPU holds, and less beside a step that is far larger.
    CHECK(training_memory(j, {}).reserved.expected < m.reserved.expected);
    j.sequence = tokens(32768);
    j.runtime.training.loss = loss_code::fused_linear;
    const memory_breakdown longer = training_memory(j, two);
    CHECK(longer[memory_term::fragmentation].expected > ends);
    CHECK(longer.releasable.expected < ends);
}
TEST_CASE("scales of 4-bit weights are no parameters: sharded data ranks have them all, and so has a GPU whose weights are offloaded") {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.weights = nf4;
    const auto weights = [&](const layout& l) { return training_state(j, l).weights; };
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
    CHECK(training_state(j, {}).temporaries == byte_count{});
    j.optimizer = adamw_8bit_torchao;
    const weight_state ao = training_state(j, {});
    CHECK(ao.stepped == bytes(13) * (std::int64_t{128256} * 4096));
    CHECK(training_memory(j, {}).ideal >= in_place);
    j.optimizer.in_backward = true;  // and its gradient is there until it is done
    CHECK(training_state(j, {}).stepped == bytes(13 + 2) * (std::int64_t{128256} * 4096));
}
TEST_CASE("transformers to 4.42 keeps tables of positions with every layer") {
    job j = full();
    j.runtime = *find_runtime("huggingface@4.45");
    const byte_count computed = training_memory(j, {})[memory_term::weights].expected;
    j.runtime = *find_runtime("huggingface@4.42");
    CHECK(training_memory(j, {})[memory_term::weights].expected - computed == bytes(2 * 2) * (32 * 128 * j.model.max_context.in(tokens)));
}
TEST_CASE("main memory is a resource that may not suffice either") {
    job j = full();
    j.runtime = runtimes::deepspeed;
    j.recompute = recompute::full;
    j.offload = {.optimizer = offload_place::host, .parameters = offload_place::host};
    const layout l{.data = 2, .zero = 3};
    cluster c = *standard_cluster(gpus::h100_sxm5_80gb, 2);
    const byte_count all = bytes(16) * count_parameters(j.model).in(parameters);
    const auto verdict_with = [&](byte_count memory) {
        c.host.memory = memory;
        return plan(j, l, c)->verdict;
    };
    CHECK(verdict_with(byte_count{}) == verdict::fits);  // not known
    CHECK(verdict_with(all + mib(1)) == verdict::fits);
    CHECK(verdict_with(all - mib(1)) == verdict::does_not_fit);
    const job_plan p = *plan(j, l, c);
    CHECK(p.reasons[0].code == reason_code::host_memory_exceeded);
    CHECK(p.reasons[0].available == c.host.memory);
    j.offload.pinned = true;
    CHECK(verdict_with(all + mib(1)) == verdict::tight);
    CHECK(verdict_with(all * 2 + mib(1)) == verdict::fits);
    // What goes to disks is not in main memory; saved activations are.
    j.offload = {.optimizer = offload_place::nvme, .parameters = offload_place::nvme};
    CHECK(host_memory(j, l) == byte_count{});
    j.offload.activations = offload_place::host;
    CHECK(host_memory(j, l) == saved_by_layers(j, l));
    CHECK(saved_by_layers(j, l) < saved_activations(j, l));
}
