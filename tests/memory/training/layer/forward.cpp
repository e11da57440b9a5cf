// SPDX-License-Identifier: MIT
// The fullest moments of a forward pass that autograd does not record, as the modules' code has them:
// transformers 5.17, models/llama/modeling_llama.py (LlamaMLP, eager_attention_forward, LlamaDecoderLayer) and its kin;
// PEFT, tuners/lora/layer.py. A layer's input is kept by checkpointing and counted there.
#include <llmres/memory/training/layer/forward.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/runtimes/huggingface.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t n = 8, hidden = 64, heads = 6, kv_heads = 2, head_dim = 24, inner = 160, rank = 3;
constexpr std::int64_t q = heads * head_dim, k = kv_heads * head_dim;
constexpr layer llama{.attention = {.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim},
                      .feed_forward = {.width = inner}};

/// So many features of every token, in 1, 2 or 4 bytes each.
constexpr byte_count b1(std::int64_t width) { return bytes(n * width); }
constexpr byte_count b2(std::int64_t width) { return bytes(2 * n * width); }
constexpr byte_count b4(std::int64_t width) { return bytes(4 * n * width); }
constexpr std::int64_t scores = heads * n;  ///< of every head and key: "features" of a token

job recomputed_job(const layer& kind = llama) {
    job j{.model = {.vocabulary = 100, .hidden = hidden, .layers = {1, kind}},
          .task = task::finetuning,
          .weights = bf16,
          .sequence = tokens(n)};
    j.attention = attention_kernel::flash;
    j.recompute = recompute::full;
    j.runtime = runtimes::huggingface;
    j.runtime.kernels.casts_weights = false;
    j.runtime.kernels.fp32_adapters = false;
    return j;
}

layer_forward forward_of_layer(const job& j, const layout& l = {}) {
    const training_context context{j, l};
    const layer& kind = j.model.layers.kinds[0];
    forward_sweep sweep{kind, hidden, context, l, saved_tensors::recomputed};
    for_each_layer_operation(kind, hidden, context.code, [&](const layer_operation& o) { sweep(o, {}); });
    return sweep.most();
}
job written_as(job j, std::string_view architecture) {
    j.model.architecture = architecture;
    return j;
}

}  // namespace

TEST_CASE("attention's output is projected beside queries, keys and values, and the norm's output that made them") {
    CHECK(forward_of_layer(recomputed_job()).mixer == b2(hidden) + b2(q + 2 * k) + b2(q) + b2(hidden));
}

TEST_CASE("eager attention repeats keys and values, and has scores in 16 bits, their fp32 copy and its softmax") {
    job j = recomputed_job();
    j.attention = attention_kernel::eager;
    const byte_count repeated = b2(hidden) + b2(q + 2 * k + 2 * q);
    const layer_forward alive = forward_of_layer(j);
    CHECK(alive.mixer == repeated + b2(scores) + b4(scores) + b4(scores));
    // The layer's code holds the probabilities that attention returned until it ends.
    j.attention = attention_kernel::flash;
    CHECK(alive.feed_forward == forward_of_layer(j).feed_forward + b2(scores));
    // As many key heads as query heads are not repeated.
    j.attention = attention_kernel::eager;
    j.model.layers.kinds[0].attention.kv_heads = heads;
    // Of so short a sequence the projection holds more.
    CHECK(forward_of_layer(j).mixer == b2(hidden) + b2(4 * q) + b2(scores) + b2(hidden));
    // A longer one has more pairs of each token; two sequences have pairs of their own.
    j.sequence = tokens(2 * n);
    const byte_count of_pairs = (b2(hidden) + b2(3 * q)) * 2 + (b2(scores) + b4(scores) * 2) * 4;
    CHECK(forward_of_layer(j).mixer == of_pairs);
    j.micro_batch = 2;
    CHECK(forward_of_layer(j).mixer == of_pairs * 2);
}

TEST_CASE("under autocast scores and an fp32 mask have an fp32 sum, and keys rotated by fp32 tables are repeated") {
    job j = recomputed_job();
    j.attention = attention_kernel::eager;
    j.weights = fp32, j.compute = bf16, j.autocast = true;
    CHECK(forward_of_layer(j).mixer == b4(hidden) + b4(q + k + q) + b2(k + q) + b4(scores) * 2);
}

TEST_CASE("a gated feed-forward multiplies the activated gate by up; its input and the residual sum stand beside") {
    const byte_count beside = b2(hidden) * 2;
    CHECK(forward_of_layer(recomputed_job()).feed_forward == beside + b2(inner) * 3);
    // One product makes both (Phi 3): it is held whole while the activated gate and the product are made.
    CHECK(forward_of_layer(written_as(recomputed_job(), "phi3")).feed_forward == beside + b2(inner) * 4);
}

TEST_CASE("where no norm stands before a half, what its products read is the residual stream itself (OLMo 2)") {
    layer olmo = llama;
    olmo.norm_before_attention = olmo.norm_before_feed_forward = false;
    olmo.norm_after_attention = olmo.norm_after_feed_forward = true;
    const layer_forward alive = forward_of_layer(written_as(recomputed_job(olmo), "olmo2"));
    CHECK(alive.mixer == b2(q + 2 * k) + b2(q) + b2(hidden));
    CHECK(alive.feed_forward == b2(hidden) + b2(inner) * 3);
}

TEST_CASE("a feed-forward without a gate has its input and its output, and more where a power is spelt out") {
    layer plain = llama;
    plain.feed_forward.kind = feed_forward_kind::plain;
    plain.norm = norm_kind::layer;
    const byte_count beside = b2(hidden) * 2;
    CHECK(forward_of_layer(recomputed_job(plain)).feed_forward == beside + b2(inner) * 2);
    // 0.5 * x * (1 + tanh(...)): the input, its half, the tanh's argument and the product; the block's code holds
    // attention's output (modeling_gpt2.py, GPT2Block).
    const layer_forward gpt2 = forward_of_layer(written_as(recomputed_job(plain), "gpt2"));
    CHECK(gpt2.feed_forward == beside + b2(hidden) + b2(inner) * 4);
    // OPTDecoderLayer has no module for it, and gives the norm's output up.
    CHECK(forward_of_layer(written_as(recomputed_job(plain), "opt")).feed_forward == b2(hidden) + b2(inner) * 2);
}

TEST_CASE("tensor ranks share heads and inner features; the hidden width is whole unless sequences are cut") {
    const job j = recomputed_job();
    for (const bool cut : {false, true}) {
        const layout two{.tensor = 2, .sequence_parallel = cut};
        const byte_count whole = cut ? b1(hidden) : b2(hidden);
        const layer_forward alive = forward_of_layer(j, two);
        CHECK(alive.mixer == whole + b1(q + 2 * k) + b1(q) + whole);
        CHECK(alive.feed_forward == whole * 2 + b1(inner) * 3);
    }
}

TEST_CASE("what a layer's own code refers to is alive beside its feed-forward or its scores") {
    layer plain = llama;
    plain.norm = norm_kind::layer;
    // modeling_stablelm.py, StableLmDecoderLayer: hidden_states is the first norm's output, self_attn_output
    // attention's.
    const job named = written_as(recomputed_job(plain), "stablelm"), other = recomputed_job(plain);
    CHECK(forward_of_layer(named).feed_forward == forward_of_layer(other).feed_forward + b2(hidden) * 2);
    // modeling_gpt_oss.py, eager_attention_forward: scores, the same beside the sinks, and those less their maximum.
    job j = recomputed_job();
    j.attention = attention_kernel::eager;
    j.sequence = tokens(16 * n);
    const byte_count three = (b2(hidden) + b2(q + 2 * k + 2 * q)) * 16 + b2(scores) * 3 * 256;
    CHECK(forward_of_layer(written_as(j, "gpt_oss")).mixer == three);
    // modeling_bloom.py, BloomAttention: fused_qkv, the scores and their sum with alibi, to the end of attention.
    layer whole = plain;
    whole.attention.kv_heads = heads;
    job bloom = recomputed_job(whole);
    bloom.attention = attention_kernel::eager;
    const byte_count beside = forward_of_layer(written_as(bloom, "bloom")).mixer;
    CHECK(beside > forward_of_layer(bloom).mixer + b2(3 * q));
}

TEST_CASE("one head of keys, a mask and sdpa: plain products, of queries in fp32, as made, rotated, cast and scaled") {
    layer falcon = llama;  // aten/src/ATen/native/transformers/attention.cpp, _scaled_dot_product_attention_math
    falcon.attention.kv_heads = 1;
    falcon.norm = norm_kind::layer;
    job j = written_as(recomputed_job(falcon), "falcon");
    j.attention = attention_kernel::sdpa;
    j.sequence = tokens(16 * n);
    const byte_count queries = b2(q + 2 * head_dim) + b2(q) + b4(q) * 2;
    CHECK(forward_of_layer(j).mixer == (b2(hidden) + queries) * 16 + b4(scores) * 2 * 256);
}

TEST_CASE("LoRA beside the last product: its input and its output, B's output, the same scaled, and their sum") {
    job j = recomputed_job();
    const byte_count beside = b2(hidden) * 2 + b2(inner);  // what the product reads stands beside, too
    const byte_count without = forward_of_layer(j).last_product;
    const auto adapted = [&](double dropout) {
        j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {weight_role::down_proj}, .dropout = dropout};
        return forward_of_layer(j).last_product;
    };
    CHECK(without == beside + b2(hidden));
    CHECK(adapted(0) == beside + b2(hidden) * 3);
    // In fp32: a copy of the input, and B's output, the same scaled.
    j.runtime.kernels.fp32_adapters = true;
    CHECK(adapted(0) == beside + b4(inner) + b2(hidden) + b4(hidden) * 2);
    // What dropout leaves of the copy stands beside the product's output alone.
    CHECK(adapted(0.1) == beside + b4(inner) + b2(hidden) + (b4(inner) > b4(hidden) * 2 ? b4(inner) : b4(hidden) * 2));
}

TEST_CASE("LoRA beside attention's projection: queries, keys, values and attention's output are still referred to") {
    job j = recomputed_job();
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {weight_role::o_proj}};
    // The product's output, the adapter's and the same scaled; then the sum in place of the adapter's.
    CHECK(forward_of_layer(j).mixer == b2(hidden) + b2(q + 2 * k) + b2(q) + b2(3 * hidden));
}

TEST_CASE("LoRA beside up: the activated gate stands there already") {
    job j = recomputed_job();
    j.runtime.kernels.fp32_adapters = true;
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {weight_role::up_proj}};
    CHECK(forward_of_layer(j).feed_forward ==
          b2(hidden) * 2 + b2(inner) + (b4(hidden) + b2(inner) + b4(inner) + b4(inner)));
    j.adapter.targets = {weight_role::gate_proj};
    CHECK(forward_of_layer(j).feed_forward == b2(hidden) * 2 + (b4(hidden) + b2(inner) + b4(inner) + b4(inner)));
    j.adapter.targets = {weight_role::q_proj};
    CHECK(forward_of_layer(j).mixer == b2(hidden) + (b4(hidden) + b2(q) + b4(q) * 2));
}

TEST_CASE("IA3 scales the last product's input in fp32 and casts it back: two fp32 tensors and one in 16 bits") {
    job j = recomputed_job();
    j.runtime.kernels.fp32_adapters = true;
    j.adapter = {.kind = adapter_kind::ia3};
    CHECK(forward_of_layer(j).last_product == b2(hidden) * 2 + b2(inner) + b4(inner) * 2 + b2(inner));
}

TEST_CASE("dropout of a softmax in 16 bits makes another tensor, in place of the scores, and a mask of bytes") {
    job j = written_as(recomputed_job(), "gpt2");
    j.attention = attention_kernel::eager;
    const byte_count without = forward_of_layer(j).mixer;
    j.dropout = true;
    CHECK(forward_of_layer(j).mixer == without + b1(scores));
}

TEST_CASE("Bloom's gelu: x * 0.5, 0.79788 * x, 0.044715 * x and that times x, beside x") {
    layer plain = llama;  // modeling_bloom.py, bloom_gelu_forward
    plain.feed_forward.kind = feed_forward_kind::plain;
    plain.norm = norm_kind::layer;
    CHECK(forward_of_layer(written_as(recomputed_job(plain), "bloom")).feed_forward == b2(hidden) * 2 + b2(inner) * 5);
}

TEST_CASE("4-bit weights are expanded whole for a product, HQQ's in three tensors, beside the product's output") {
    constexpr byte_count query = bytes(2) * (hidden * q), gate = bytes(2) * (hidden * inner);
    job j = recomputed_job();
    j.runtime.kernels.fp32_stream = false;
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {weight_role::k_proj}};
    j.weights = nf4;
    const byte_count projected = b2(hidden) + b2(q + 2 * k) + b2(q) + b2(hidden);
    CHECK(forward_of_layer(j).mixer == projected + query);
    // The activated gate is there while up's weight is expanded.
    CHECK(forward_of_layer(j).feed_forward == b2(hidden) * 2 + gate + b2(inner) * 2);
    j.weights = hqq(4, 64);
    CHECK(forward_of_layer(j).mixer == projected + query * 3);
    CHECK(forward_of_layer(j).feed_forward == b2(hidden) * 2 + gate * 3 + b2(inner) * 2);
}

TEST_CASE("DoRA takes norms beside the product's output and the copy of its input, each with what its half holds") {
    job j = recomputed_job();
    j.adapter = {.kind = adapter_kind::dora, .rank = rank};
    CHECK(forward_of_layer(j).beside_last_magnitudes == b2(hidden) * 2 + b2(inner) + b2(hidden));
    CHECK(forward_of_layer(j).beside_magnitudes == b2(hidden) * 2 + b2(inner));  // the gate's is the largest
    j.runtime.kernels.fp32_adapters = true;
    CHECK(forward_of_layer(j).beside_last_magnitudes == b2(hidden) * 2 + b2(inner) + b2(hidden) + b4(inner));
    CHECK(forward_of_layer(j).beside_magnitudes == b2(hidden) * 2 + b2(inner) + b4(hidden));
    j.adapter.targets = {weight_role::q_proj};
    CHECK(forward_of_layer(j).beside_magnitudes == b2(hidden) + b2(q) + b4(hidden));
    CHECK(forward_of_layer(j).beside_last_magnitudes == byte_count{});
    j.adapter.kind = adapter_kind::lora;
    CHECK(forward_of_layer(j).beside_magnitudes == byte_count{});
}

TEST_CASE("stacked experts: of each choice its token, gate and up in one, the activated gate and their product") {
    layer routed = llama;
    routed.feed_forward = {.experts = {.count = 8, .per_token = 2, .width = inner}};
    job j = recomputed_job(routed);
    CHECK(forward_of_layer(j).feed_forward == b2(hidden) * 2 + (b2(hidden) + b2(inner) * 4) * 2);
}

// ---- passes that autograd records -----------------------------------------------------------------------------------

namespace {

/// A pass that autograd records, of which so much is saved before each operation and by it, too.
constexpr byte_count saved_before = kib(100), saved_by = kib(200);
layer_forward recorded(const job& j, bool input = true, const layout& l = {}) {
    const training_context context{j, l};
    const layer& kind = j.model.layers.kinds[0];
    forward_sweep sweep{kind, hidden, context, l, saved_tensors::stay};
    const saved_so_far saved{.before = saved_before, .all = saved_by, .input = input};
    for_each_layer_operation(kind, hidden, context.code, [&](const layer_operation& o) { sweep(o, saved); });
    return sweep.most();
}
job recorded_job(const layer& kind = llama) {
    job j = recomputed_job(kind);
    j.recompute = recompute::none;
    return j;
}
job with_lora(job j, const role_set& targets) {
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = targets};
    return j;
}

}  // namespace

TEST_CASE("where autograd saves what is read, the layer's code refers to its input and the residual sum beside") {
    job j = recorded_job();
    layer_forward alive = recorded(j);
    CHECK(alive.mixer == saved_by + b2(hidden));
    // The gate and the same activated stand there while up is computed.
    CHECK(alive.feed_forward == saved_by + b2(hidden) * 2 + b2(inner) * 2);
    CHECK(alive.last_product == saved_by + b2(hidden) * 2 + b2(hidden));
    alive = recorded(j, false);  // the norm's output is not saved as it is
    CHECK(alive.mixer == saved_by + b2(hidden) * 2);
    CHECK(alive.feed_forward == saved_by + b2(hidden) * 3 + b2(inner) * 2);
    CHECK(alive.last_product == saved_by + b2(hidden) * 3 + b2(hidden));
    // A norm in one kernel saves the stream itself; a gate in one kernel makes no activated gate.
    j.runtime.kernels.norm = norm_code::fused;
    CHECK(recorded(j).mixer == saved_by);
    CHECK(recorded(j).feed_forward == saved_by + b2(inner) * 2);
    j.runtime.kernels.gate = gate_code::fused;
    CHECK(recorded(j).feed_forward == saved_by + b2(inner));
    CHECK(recorded(j).last_product == saved_by + b2(hidden));
}

TEST_CASE("a frozen product saves no input: what it reads stands beside it, unless an adapter reads it as it is") {
    const byte_count beside = saved_by + b2(hidden) * 2;
    CHECK(recorded(with_lora(recorded_job(), {weight_role::q_proj})).last_product == beside + b2(inner) + b2(hidden));
    CHECK(recorded(with_lora(recorded_job(), {weight_role::down_proj})).last_product == beside + b2(hidden) * 3);
    job wide = with_lora(recorded_job(), {weight_role::down_proj});
    wide.runtime.kernels.fp32_adapters = true;  // it reads a copy, which autograd saves
    CHECK(recorded(wide).last_product == beside + b2(inner) + b2(hidden) + b4(hidden) * 2);
}

TEST_CASE("a recomputed layer's last adapter asks for it with its output's gradient, scaled in its own format, too") {
    job j = with_lora(recomputed_job(), {weight_role::down_proj});
    j.runtime.kernels.checkpointing.reentrant = false;
    const byte_count stream = keeps_input(llama, training_context{j, {}}) ? byte_count{} : b2(hidden);
    CHECK(recorded(j).mixer == saved_by + b2(hidden) + stream);
    j.runtime.kernels.checkpointing.reentrant = true;
    CHECK(recorded(j).mixer == saved_by + stream);
    j.runtime.kernels.checkpointing.reentrant = false;
    j.runtime.kernels.fp32_adapters = true;
    CHECK(recorded(j).mixer == saved_by + b2(hidden) + b4(hidden) + stream);
    // The adapter's output is never made: all that was saved is there when its input is.
    CHECK(recorded(j).last_product == saved_by + b2(hidden) + b4(hidden) + stream * 2 + b2(inner) + b2(hidden));
    j.dropout = true;  // something follows the adapter
    CHECK(recorded(j).mixer == saved_by + stream);
    j.dropout = false;
    j.adapter.targets = {weight_role::up_proj};
    CHECK(recorded(j).mixer >= saved_by + stream);
    CHECK(recorded(j).last_product == saved_by + stream * 2 + b2(inner) + b2(hidden));
}

TEST_CASE("a norm behind the feed-forward that multiplies in fp32 asks for its layer with a cast gradient (Gemma 2)") {
    layer behind = llama;
    behind.norm_after_attention = behind.norm_after_feed_forward = true;
    job j = written_as(recomputed_job(behind), "gemma2");
    j.runtime.kernels.checkpointing.reentrant = false;
    const byte_count asked = recorded(j).mixer;
    j.runtime.kernels.checkpointing.reentrant = true;
    CHECK(asked == recorded(j).mixer + b4(hidden));
    j.model.architecture = {};  // multiplies in 16 bits
    j.runtime.kernels.checkpointing.reentrant = false;
    const byte_count narrow = recorded(j).mixer;
    j.runtime.kernels.checkpointing.reentrant = true;
    CHECK(narrow == recorded(j).mixer);
}

TEST_CASE("experts' outputs are weighed and put in order, of all choices or of one expert's") {
    layer routed = llama;
    routed.feed_forward = {.experts = {.count = 8, .per_token = 2, .width = 4}};  // less than the hidden width
    job j = recomputed_job(routed);
    j.runtime.kernels.experts = expert_code::grouped;
    const byte_count beside = b2(hidden) * 2, choices = b2(hidden) * 2;
    CHECK(forward_of_layer(j).feed_forward == beside + choices * 4);
    j.runtime.kernels.experts = expert_code::modules;
    CHECK(forward_of_layer(j).feed_forward < beside + choices * 4);
    job saves = recorded_job(routed);
    saves.runtime.kernels.experts = expert_code::grouped;
    CHECK(recorded(saves).feed_forward == saved_by + beside + choices * 2);
    saves.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {weight_role::q_proj}};
    CHECK(recorded(saves).feed_forward == saved_by + beside + choices * 3);  // frozen experts save no output
    saves.runtime.kernels.experts = expert_code::dispatched;  // not transformers': none of it is followed
    CHECK(recorded(saves).feed_forward == byte_count{});
    // A router's product and experts' own are not followed.
    saves.adapter = {};
    layer wide = routed;
    wide.feed_forward.experts.width = inner;
    saves.model.layers.kinds[0] = wide;
    saves.runtime.kernels.experts = expert_code::grouped;
    CHECK(recorded(saves).feed_forward == saved_by + beside + b2(inner) * 2);
}

TEST_CASE("torchao scales a weight in fp32 and clamps it, or its input, and narrows it, beside the product") {
    job j = recomputed_job();
    j.compute = fp8_e4m3;
    const training_context context{j, {}};
    REQUIRE(context.quantised.scaled);
    const operand read = whole_operand(operand_name::normed, hidden), made = split_operand(operand_name::up, inner);
    CHECK(scaled_weight(read, made, context, {}) == bytes(hidden * inner) * (4 + 4 + 1));
    CHECK(scaled_weight(read, made, context, layout{.tensor = 2}) == div_up(bytes(hidden * inner) * (4 + 4 + 1), 2));
    const job other = recomputed_job();
    CHECK(scaled_weight(read, made, training_context{other, {}}, {}) == byte_count{});
    // Of many tokens the input is larger than the weight: two fp32 tensors of it, and it in 8 bits, before there is an
    // output. Attention's output projection reads the widest of its half.
    const auto beside_products = [&](std::int64_t of) {
        job narrow = j, wide = other;
        narrow.sequence = wide.sequence = tokens(n * of);
        return forward_of_layer(narrow).mixer - forward_of_layer(wide).mixer;
    };
    CHECK(beside_products(200) == beside_products(100) * 2);
    CHECK(beside_products(100) == (b1(q) * 9 - b2(hidden)) * 100);
}

TEST_CASE("a relu that is squared makes the relu's output, and under autocast its fp32 copy") {
    layer plain = llama;
    plain.feed_forward.kind = feed_forward_kind::plain;
    plain.norm = norm_kind::layer;
    const job j = written_as(recomputed_job(plain), "nemotron");
    CHECK(forward_of_layer(j).feed_forward == b2(hidden) * 2 + b2(inner) * 3);
}

TEST_CASE("what one product makes of gate and up is there while the last product is computed (Phi 3)") {
    const job j = written_as(recomputed_job(), "phi3");
    CHECK(forward_of_layer(j).last_product == b2(hidden) * 2 + b2(inner * 2) + b2(inner) + b2(hidden));
}

TEST_CASE("autograd keeps the residual stream where a norm reads it in one kernel, or it is fp32") {
    job j = recorded_job();
    const auto keeps = [&](norm_kind kind) { return keeps_stream(kind, training_context{j, {}}); };
    CHECK_FALSE(keeps(norm_kind::rms));  // it saves an fp32 copy
    CHECK(keeps(norm_kind::layer));
    j.runtime.kernels.norm = norm_code::fused;
    CHECK(keeps(norm_kind::rms));
    j = recorded_job();
    j.weights = fp32;
    j.compute = fp32;
    CHECK(keeps(norm_kind::rms));
    j = written_as(recorded_job(), "t5");
    CHECK(keeps(norm_kind::rms));
    j = written_as(recorded_job(), "nemotron");  // its norms read a 16-bit copy under autocast
    j.weights = fp32;
    j.compute = bf16;
    j.autocast = true;
    CHECK_FALSE(keeps(norm_kind::layer));
    j = written_as(recorded_job(), "bert");  // products read what a norm put out
    CHECK(keeps(norm_kind::layer));
    j = with_lora(j, {weight_role::q_proj});
    j.runtime.kernels.fp32_adapters = true;  // adapters read copies of it
    CHECK_FALSE(keeps(norm_kind::layer));
}

TEST_CASE("a half reads the residual stream itself where no norm stands before it") {
    layer l = llama;
    CHECK_FALSE(reads_stream(l, layer_half::attention));
    CHECK_FALSE(reads_stream(l, layer_half::feed_forward));
    l.norm_before_attention = false;
    CHECK(reads_stream(l, layer_half::attention));
    CHECK_FALSE(reads_stream(l, layer_half::feed_forward));
    l.norm_before_feed_forward = false;
    CHECK(reads_stream(l, layer_half::feed_forward));
    l.attention.kind = attention_kind::none;
    CHECK_FALSE(reads_stream(l, layer_half::attention));
    l = llama;
    l.norm_before_feed_forward = false;  // it reads the norm before attention (parallel halves)
    CHECK_FALSE(reads_stream(l, layer_half::feed_forward));
}

TEST_CASE("recorded plain products of one head of keys: fp32 scores beside what made them, or 16-bit ones beside all") {
    layer falcon = llama;
    falcon.attention.kv_heads = 1;
    falcon.norm = norm_kind::layer;
    job j = written_as(recorded_job(falcon), "falcon");
    j.attention = attention_kernel::sdpa;
    // While the softmax is computed: queries, keys and values as one product made them; queries as they are rotated, in
    // fp32, and scaled. Values are not cast yet. Then, in 16 bits, the probabilities: heads as they were given, queries
    // and keys in fp32, and the output in both formats.
    const byte_count in_softmax = b2(q + 2 * head_dim) + b2(q) + b4(q) * 2 - b4(head_dim);
    const byte_count returned = b2(q + 2 * head_dim + q) + b4(q + head_dim + q);
    const auto most = [&](std::int64_t times) {
        j.sequence = tokens(n * times);
        return recorded(j).mixer - saved_by;
    };
    const auto expected = [&](std::int64_t times) {
        const byte_count wide = in_softmax * times + b4(scores) * (times * times);
        const byte_count narrow = returned * times + b2(scores) * (times * times);
        return wide > narrow ? wide : narrow;
    };
    CHECK(returned + b2(scores) > in_softmax + b4(scores));
    for (const std::int64_t times : {1, 2, 4, 16, 64}) CHECK(most(times) == expected(times));
    // Of several sequences each query head has values of its own.
    j.micro_batch = 2;
    const byte_count copies = b4(q) > in_softmax + b4(head_dim) ? byte_count{} : in_softmax + b4(head_dim) - b4(q);
    const byte_count two = copies * 2 * 64 + b4(scores) * (2 * 64 * 64);
    CHECK(most(64) == two);
}

TEST_CASE("eager attention's own code: keys and values that are repeated, scores, and what it returns") {
    job j = recorded_job();
    j.attention = attention_kernel::eager;
    j.sequence = tokens(n * 16);
    // Scores in 16 bits and in fp32, and keys and values as they were, which autograd keeps repeated.
    CHECK(recorded(j).mixer - saved_by >= (b2(scores) + b4(scores)) * 256 + b2(2 * k) * 16);
    layer alike = llama;
    alike.attention.kv_heads = heads;
    job whole = recorded_job(alike);
    whole.attention = attention_kernel::eager;
    whole.sequence = tokens(n * 16);
    CHECK(recorded(j).mixer - recorded(whole).mixer == b2(2 * k) * 16);
    layer single = llama;
    single.attention.kv_heads = 1;  // broadcast, not repeated
    job one = recorded_job(single);
    one.attention = attention_kernel::eager;
    one.sequence = tokens(n * 16);
    CHECK(recorded(one).mixer == recorded(whole).mixer);
}
