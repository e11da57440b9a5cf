// SPDX-License-Identifier: MIT
#include <llmres/memory/serving/weights.hpp>

#include <doctest/doctest.h>

#include <llmres/memory/serving/stages.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>
#include <string>
#include <string_view>

using namespace llmres;
using namespace llmres::detail;

namespace {

job serving(const model& m, const runtime& r = no_runtime) {
    return {.model = m, .context = tokens(4096), .runtime = r};
}

constexpr byte_count whole(const layer_bytes& layer) { return layer.rest + layer.experts; }

/// All of a model on one GPU, layer by layer.
byte_count all_of(const job& j, const layout& l = {}) {
    const serving_weights weights{j, l, j.runtime, nullptr};
    byte_count sum = weights.of_ends(placement_of(j, l, 0));
    for (std::int32_t i = 0; i < j.model.layers.size; ++i) sum += whole(weights.of_kind(j.model.layers[i]));
    return sum;
}

constexpr const model& llama = models::llama_3_1_8b;
constexpr layout alone{};  // folds refer to their layout

}  // namespace

TEST_CASE("ends and layers are the model, and tensor ranks share all but norms") {
    CHECK(all_of(serving(llama)) == bytes(2) * 8'030'261'248);
    const byte_count quarter = all_of(serving(llama), {.tensor = 4});
    const byte_count norms = bytes(2) * (65 * 4096);
    CHECK(quarter == div_up(bytes(2) * 8'030'261'248 - norms, 4) + norms);
}

TEST_CASE("a middle stage has embedding and head too, of models whose code in vLLM does not ask where it stands") {
    const auto middle = [](const model& m, const runtime& r = runtimes::vllm) {
        const job j = serving(m, r);
        const layout l{.pipeline = 3};
        const serving_weights w{j, alone, j.runtime, nullptr};
        return w.of_ends(w.with_own_ends(placement_of(j, l, 1)));
    };
    const auto table = [](const model& m) { return bytes(2) * (m.vocabulary * m.hidden); };
    const model &both = models::gpt_oss_20b, &tied = models::gemma_3_1b;
    const byte_count norm = bytes(2) * both.hidden;
    CHECK(middle(both) == table(both) * 2 + norm);
    CHECK(middle(tied) == table(tied));  // which is the head, too
    CHECK(middle(llama) == byte_count{});
    CHECK(middle(both, runtimes::sglang) == byte_count{});
}

TEST_CASE("ends: the first stage embeds, the last scores; a tied head away from the embedding is a copy of it alone") {
    const auto ends = [](const model& m, bool first, bool last, const runtime& r = no_runtime) {
        const job j = serving(m, r);
        const layout l{.pipeline = first && last ? 1 : 3};
        return serving_weights{j, alone, j.runtime, nullptr}.of_ends(placement_of(j, l, first ? 0 : last ? 2 : 1));
    };
    const byte_count table = bytes(2) * (128256 * 4096);
    CHECK(ends(llama, true, false) == table);
    CHECK(ends(llama, false, true) == table + bytes(2) * 4096);
    CHECK(ends(llama, false, false) == byte_count{});
    const model& tied = models::gemma_3_4b;  // with a tower before its layers
    const byte_count embedding = bytes(2) * tied.vocabulary * tied.hidden;
    CHECK(ends(tied, true, true) == ends(tied, true, false) + bytes(2) * tied.hidden);
    CHECK(ends(tied, false, true) == embedding + bytes(2) * tied.hidden);
    CHECK(ends(tied, true, false) > embedding + mib(500));
    // On the host the table is read there, but the head needs it here.
    runtime reads_there;
    reads_there.loading.embedding_on_host = true;
    CHECK(ends(tied, true, true, reads_there) == embedding + bytes(2) * tied.hidden);
}

TEST_CASE(
    "tables of rotary positions: cosines and sines of half a head each, shared in 16 bits or whole in every layer") {
    job j = serving(llama, runtimes::vllm_v1_9);
    // 131072 positions of 128 values (RotaryEmbedding.cos_sin_cache).
    CHECK(serving_weights{j, alone, j.runtime, nullptr}.rope_table() == mib(32));
    j.runtime = no_runtime;
    CHECK(serving_weights{j, alone, j.runtime, nullptr}.rope_table() == byte_count{});
    const byte_count plain = serving_weights{j, alone, j.runtime, nullptr}.of_kind(llama.layers[0]).rest;
    j.runtime.loading.rope = rope_tables::own;
    CHECK(serving_weights{j, alone, j.runtime, nullptr}.of_kind(llama.layers[0]).rest - plain == mib(64));
}

TEST_CASE("LoRA of rank 16 on every linear layer of Llama 3 8B: 41 943 040 values, for each adapter that stays") {
    // What PEFT prints as trainable parameters of r = 16 on q, k, v, o, gate, up, down.
    job j = serving(llama);
    j.options.max_loras = 3;
    j.options.max_lora_rank = 16;
    const serving_weights weights{j, alone, j.runtime, nullptr};
    CHECK(weights.adapters_of(llama.layers[0]) * 32 == bytes(2) * 41'943'040 * 3);
    j.options.max_loras = 0;
    CHECK(weights.adapters_of(llama.layers[0]) == byte_count{});
}

TEST_CASE("an engine has slots at embedding and head of models that name these, whole on each rank") {
    job j = serving(llama, runtimes::vllm);
    j.options.max_loras = 4;
    j.options.max_lora_rank = 32;
    const std::int64_t values = (j.model.vocabulary + j.model.hidden) * 32;
    for (const std::int32_t tensor : {1, 2}) {
        const layout l{.tensor = tensor};
        CHECK(serving_weights{j, l, j.runtime, nullptr}.adapters_of_ends(placement_of(j, l, 0)) ==
              bytes(2) * (values * 4 * 2));
    }
    const layout staged{.pipeline = 3};  // the embedding on the first stage, the head on the last
    const serving_weights weights{j, staged, j.runtime, nullptr};
    CHECK(weights.adapters_of_ends(placement_of(j, staged, 0)) == bytes(2) * (values * 4));
    CHECK(weights.adapters_of_ends(placement_of(j, staged, 1)) == byte_count{});
    CHECK(weights.adapters_of_ends(placement_of(j, staged, 2)) == bytes(2) * (values * 4));
    j.model = models::gemma_3_1b;  // its code names none
    CHECK(serving_weights{j, alone, j.runtime, nullptr}.adapters_of_ends(placement_of(j, alone, 0)) == byte_count{});
    j = serving(llama, runtimes::vllm);
    CHECK(serving_weights{j, alone, j.runtime, nullptr}.adapters_of_ends(placement_of(j, alone, 0)) == byte_count{});
}

TEST_CASE("layers that predict further tokens read the model's own embedding and head, where these lie there") {
    job j = serving(models::deepseek_v3, runtimes::vllm);
    j.options.speculates_ahead = true;
    j.runtime.allocator.rounds_to_segments = false;
    const auto ends = [&](const layout& l) {
        return serving_weights{j, l, j.runtime, nullptr}.of_ends(placement_of(j, l, l.pipeline - 1));
    };
    const layout staged{.pipeline = 2};
    const byte_count shared = ends(alone), shared_there = ends(staged);
    j.runtime.loading.ends.by_predictions = false;
    const byte_count table = bytes(2) * (j.model.vocabulary * j.model.hidden);
    CHECK(ends(alone) - shared == table * 2);
    CHECK(ends(staged) - shared_there == table);  // the embedding is on the first stage
}

TEST_CASE("routed experts of a layer are told apart from the rest, and the largest stack is of one layer's") {
    const job j = serving(models::mixtral_8x7b);
    const serving_weights weights{j, alone, j.runtime, nullptr};
    const byte_count stack = bytes(2) * (8 * std::int64_t{4096} * 14336);
    CHECK(weights.of_kind(j.model.layers[0]).experts == stack * 3);
    CHECK(weights.of_kind(j.model.layers[0]).rest < stack);
    CHECK(weights.largest_experts({0, 32}).gate == stack);
    CHECK(weights.largest_experts({0, 32}).down == stack);
    const layout spread{.expert = 4};
    CHECK(serving_weights{j, spread, j.runtime, nullptr}.of_kind(j.model.layers[0]).experts == div_up(stack * 3, 4));
}

TEST_CASE("an engine that joins projections allocates one tensor of queries, keys and values, and one of gate and up") {
    job j = serving(llama);
    j.runtime.loading.projections = projection_tensors::fused;
    const serving_weights weights{j, alone, j.runtime, nullptr};
    byte_count joined, sum;
    weights.for_each_tensor(llama.layers[0], [&](std::string_view name, byte_count size, std::int64_t copies, bool) {
        CHECK(copies == 1 + (name == "norm"));
        sum += size * copies;
        if (name == "qkv_proj") joined += size;
        CHECK(name != "q_proj");
    });
    CHECK(joined == bytes(2) * (4096 * (4096 + 1024 + 1024)));  // 48 MiB: whole segments, no tail
    CHECK(sum == whole(weights.of_kind(llama.layers[0])));
}

TEST_CASE("MXFP4's kernels pad inner features to 128 and outer ones to 256: gpt-oss's 2880 become 2944 and 3072") {
    job j = serving(models::gpt_oss_20b);
    j.runtime.loading.mxfp4.padded = true;
    const serving_weights weights{j, alone, j.runtime, nullptr};
    // 32 experts of three matrices, 17 bytes for 32 values.
    const std::int64_t more = std::int64_t{2944} * 3072 - std::int64_t{2880} * 2880;
    CHECK(weights.mxfp4_of(j.model.layers[0]).expected == bytes(17) * (32 * 3 * more / 32));
    CHECK(weights.mxfp4_of(j.model.layers[0]).perhaps == byte_count{});
    CHECK(weights.mxfp4_of(llama.layers[0]).expected == byte_count{});
}

TEST_CASE("Triton's kernels for Hopper keep MXFP4's scales twice, and read values padded to whole tiles") {
    job j = serving(models::gpt_oss_20b);
    j.runtime.loading.mxfp4 = {.scales_again = true, .padded = true};
    const auto held = [&](const layout& l) {
        return serving_weights{j, l, j.runtime, nullptr}.mxfp4_of(j.model.layers[0]);
    };
    // Each of 32 experts: 5760 x 2880 and 2880 x 2880; a scale for 32 inputs, again for 256 outputs and 2 blocks each.
    const std::int64_t scales = 5888 * 90 + 3072 * 90, values = std::int64_t{5760 + 2880} * (2944 - 2880) / 2;
    CHECK(held(alone).expected == bytes(32 * scales));
    CHECK(held(alone).expected + held(alone).perhaps ==
          bytes(17) * (32 * 3 * (std::int64_t{2944} * 3072 - std::int64_t{2880} * 2880) / 32));
    j.runtime.loading.mxfp4.pads_values = true;  // 1440 bytes of a row in tiles of 64
    CHECK(held(alone).expected == bytes(32 * (scales + values)));
    // Half of the width is 1440, and 1472 where kernels want it in 64s: of 2944 x 2880 and 2880 x 1472.
    const layout pair{.tensor = 2};
    const std::int64_t padded = 2944 * 1472 + 2880 * 768 - 3 * std::int64_t{1440} * 1440;
    const std::int64_t both = 2944 * 90 + 3072 * 90 + 2880 * 46 + 3072 * 46 - 3 * 1440 * 90;
    CHECK(held(pair).expected == bytes(32 * (padded + both)));
}

TEST_CASE("what a quantised checkpoint may hold again is at most a tied head's share and what kernels repack") {
    job j = serving(models::qwen2_5_3b);
    j.weights = awq(4, 128);
    j.runtime.loading.head_again = true;
    const byte_count table = bytes(2) * j.model.vocabulary * j.model.hidden;
    const auto perhaps = [&](const layout& l, bool head) {
        return serving_weights{j, l, j.runtime, nullptr}.perhaps(gib(1), head);
    };
    CHECK(perhaps({}, true) == table);
    CHECK(perhaps({.tensor = 4}, true) == div_up(table, 4));
    CHECK(perhaps({}, false) == byte_count{});
    j.runtime.loading.repacked = 0.25;
    CHECK(perhaps({}, false) == mib(256));
    j.weights = bf16;
    CHECK(perhaps({}, true) == byte_count{});
    // A GGUF file has its head, and is repacked where PyTorch holds it.
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    const file_layers file{j, j.runtime};
    const auto of_file = [&] { return serving_weights{j, alone, j.runtime, &file}.perhaps(gib(1), true); };
    j.runtime.allocator.rounds_to_segments = true;
    CHECK(of_file() == mib(256));
    j.weights = awq(4, 128);
    CHECK(of_file() == mib(256));
    j.runtime.allocator.rounds_to_segments = false;
    CHECK(of_file() == byte_count{});
}

TEST_CASE("the layers of a GGUF file add up, range by range and tensor by tensor") {
    for (const model* m : {&llama, &models::mixtral_8x7b, &models::deepseek_v3}) {
        CAPTURE(m->name.view());
        job j = serving(*m);
        j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
        const file_layers file{j, j.runtime};
        const std::int32_t n = m->layers.size;
        layer_bytes one_by_one;
        for (std::int32_t i = 0; i < n; ++i) {
            const layer_bytes layer = file.sum({i, i + 1});
            CHECK(whole(layer) == gguf_layer_bytes(*m, *j.gguf, i));
            layer_bytes tensors;
            file.for_each_tensor(j, i, [&](std::string_view, byte_count size, bool routed) {
                (routed ? tensors.experts : tensors.rest) += size;
            });
            CHECK(tensors.rest == layer.rest);
            CHECK(tensors.experts == layer.experts);
            one_by_one += layer;
        }
        CHECK(file.sum({0, n}).rest == one_by_one.rest);
        CHECK(file.sum({0, n}).experts == one_by_one.experts);
        CHECK(whole(file.sum({0, n / 3})) + whole(file.sum({n / 3, n})) == whole(one_by_one));
        const byte_count largest = file.largest_experts({0, n}).gate;
        CHECK((largest > byte_count{}) == has_experts(*m));
    }
}

TEST_CASE("experts left on the host are missing from a GGUF file's layers on the GPU, layer by layer") {
    job j = serving(models::mixtral_8x7b);
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    const file_layers file{j, j.runtime};
    const auto here = [&] { return serving_weights{j, alone, j.runtime, &file}.of_file(placement_of(j, alone, 0)); };
    const byte_count all = here();
    CHECK(all == whole(file.sum({0, 32})));
    j.options.experts_on_host = true;
    CHECK(all - here() == file.sum({0, 32}).experts);
    j.options.host_expert_layers = 10;
    CHECK(all - here() == file.sum({0, 10}).experts);
}

TEST_CASE("the larger of gate or up and the way down are kept apart") {
    expert_stacks most;
    most.reach(weight_role::up_proj, mib(3));
    most.reach(weight_role::down_proj, mib(2));
    most.reach(weight_role::gate_proj, mib(1));
    CHECK(most == expert_stacks{mib(3), mib(2)});
    most.reach({mib(1), mib(9)});
    CHECK(most == expert_stacks{mib(3), mib(9)});
    const job j = serving(models::mixtral_8x7b);
    const expert_stacks stacks = serving_weights{j, alone, j.runtime, nullptr}.largest_experts({0, 32});
    CHECK(stacks == expert_stacks{bytes(2 * 8) * (4096 * 14336), bytes(2 * 8) * (4096 * 14336)});
    const layout two{.tensor = 2};
    CHECK(serving_weights{j, two, j.runtime, nullptr}.largest_experts({0, 32}).gate == bytes(8) * (4096 * 14336));
}

TEST_CASE("a shared table of positions is four times as long for images of several axes, and as scaling stretches it") {
    job j = serving(llama, runtimes::vllm_v1_9);
    const auto table = [&] { return serving_weights{j, alone, j.runtime, nullptr}.rope_table(); };
    j.model.encoders[0].position_axes = 1;
    CHECK(table() == mib(32));
    j.model.encoders[0].position_axes = 3;
    CHECK(table() == mib(32 * 4));
    j.model.encoders[0].position_axes = 1;
    j.model.rope.contexts = 9;
    CHECK(table() == mib(32 * 9));
    j.model.rope.contexts = 1;
    j.options.rope_scaling = 2;
    CHECK(table() == mib(64));
}

TEST_CASE("tables that are kept for a cache have cosines and sines of its tokens in fp32") {
    job j = serving(llama);
    j.runtime.loading.rope = rope_tables::cached;
    CHECK(serving_weights{j, alone, j.runtime, nullptr}.rope_table_of(llama.layers[0]) == bytes(8) * (128 * 4096));
}

TEST_CASE("an engine that joins queries, keys and values keeps what it joined, but not where they are stored so") {
    job j = serving(llama);
    const auto joined = [&] { return serving_weights{j, alone, j.runtime, nullptr}.joined_of(llama.layers[0]); };
    CHECK(joined() == byte_count{});
    j.runtime.loading.projections = projection_tensors::joined;
    CHECK(joined() == bytes(2) * (4096 * (4096 + 2 * 1024)));
    for (const std::string_view stored_so : {"mpt", "falcon", "RefinedWeb", "RefinedWebModel"}) {
        j.model.architecture = stored_so;
        CHECK(joined() == byte_count{});
    }
}

TEST_CASE("what stands outside the layers of a GGUF file is there once, a rank's part of it") {
    job j = serving(llama);
    j.gguf = find_gguf_mix("weights", "Q8_0").value();
    const auto ends = [&](const layout& l) {
        return serving_weights{j, l, j.runtime, nullptr}.of_ends(placement_of(j, alone, 0));
    };
    // Embedding and head of 32 values in 34 bytes, and the last norm in fp32.
    const byte_count table = bytes(34) * (128256 * 4096 / 32);
    CHECK(ends(alone) >= table * 2 + bytes(4 * 4096));
    CHECK(ends(alone) < table * 2 + bytes(4 * 4096) + kib(4));  // and frequencies of the rotation
    CHECK(ends({.tensor = 2}) < table + kib(16));
    CHECK(serving_weights{j, alone, j.runtime, nullptr}.of_file(stage_range{0, 32}) == byte_count{});  // none is asked
}

namespace {

/// Every tensor of a file's layers, summed by whether it is of routed experts; and the largest of these.
struct summed {
    byte_count rest{}, experts{};
    int tensors = 0;
};
summed tensors_of(const file_layers& file, const job& j, std::int32_t i) {
    summed all;
    file.for_each_tensor(j, i, [&](std::string_view, byte_count size, bool routed) {
        (routed ? all.experts : all.rest) += size;
        ++all.tensors;
    });
    return all;
}

}  // namespace

TEST_CASE("the layers of a file are the sums of their tensors, joined or not, whole or cut by tensor ranks") {
    for (const model* m : {&models::llama_3_1_8b, &models::mixtral_8x7b, &models::gpt_oss_20b})
        for (const bool fuses : {false, true})
            for (const std::int32_t ranks : {1, 2}) {
                CAPTURE(std::string{m->name.view()});
                CAPTURE(fuses);
                CAPTURE(ranks);
                job j = serving(*m);
                j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
                j.runtime.loading.projections = fuses ? projection_tensors::fused : projection_tensors::separate;
                const file_layers file{j, j.runtime, ranks};
                runtime separate = j.runtime;
                separate.loading.projections = projection_tensors::separate;
                const file_layers plain{j, separate, ranks};
                CHECK(file.tensor_ranks() == ranks);
                layer_bytes all;
                for (std::int32_t i = 0; i < m->layers.size; ++i) {
                    const summed own = tensors_of(file, j, i);
                    const layer_bytes of_layer = file.sum({i, i + 1});
                    CHECK(of_layer.rest == own.rest);
                    CHECK(of_layer.experts == own.experts);
                    CHECK((own.experts > byte_count{}) == m->layers[i].feed_forward.routed());
                    all += of_layer;
                    // One tensor for queries, keys and values, and one for gate and up; a tail of at most 1 MiB each.
                    const summed apart = tensors_of(plain, j, i);
                    if (fuses) CHECK(own.tensors < apart.tensors);
                    if (!fuses) CHECK(own.tensors == apart.tensors);
                    CHECK(own.rest + own.experts >= scaled_down(apart.rest + apart.experts, 0.99));
                    CHECK(own.rest + own.experts <= apart.rest + apart.experts + mib(12));
                    // The experts' largest matrix is none of the others'.
                    const expert_stacks largest = file.largest_experts({i, i + 1});
                    CHECK(largest == plain.largest_experts({i, i + 1}));
                    CHECK((largest.gate > byte_count{}) == m->layers[i].feed_forward.routed());
                    CHECK(largest.gate + largest.down <= apart.experts);
                }
                const layer_bytes range = file.sum({0, m->layers.size});
                CHECK(range.rest == all.rest);
                CHECK(range.experts == all.experts);
                CHECK(whole(file.sum({2, 2})) == byte_count{});
                const serving_weights weights{j, alone, j.runtime, &file};
                CHECK(weights.of_file(stage_range{0, m->layers.size}) == whole(all));
                CHECK(weights.of_file(stage_range{3, 5}) == whole(file.sum({3, 4})) + whole(file.sum({4, 5})));
                CHECK(whole(weights.of_kind(m->layers.kinds[0])) == byte_count{});  // which hangs on where it stands
                CHECK(weights.largest_experts({0, 1}) == file.largest_experts({0, 1}));
                int shown = 0;
                weights.for_each_tensor(m->layers.kinds[0],
                                        [&](std::string_view, byte_count, std::int64_t, bool) { ++shown; });
                CHECK(shown == 0);
            }
    const job bare = serving(llama);
    CHECK(serving_weights{bare, alone, bare.runtime, nullptr}.of_file(stage_range{0, 5}) == byte_count{});
}

TEST_CASE(
    "shared tables of rotary positions are as wide as the widest layer's, and longer for images of several axes") {
    job j = serving(llama, runtimes::vllm_v1_9);
    j.model.layers = layer_stack{}.then(1, llama.layers.kinds[0]).then(1, llama.layers.kinds[0]);
    layer narrow = llama.layers.kinds[0];
    narrow.attention.head_dim = 64;
    const auto table = [&] { return serving_weights{j, alone, j.runtime, nullptr}.rope_table(); };
    const byte_count wide = table();
    CHECK(wide == bytes(2) * (128 * scaled_context(j).in(tokens)));
    for (const bool first : {false, true}) {
        j.model.layers = layer_stack{}
                             .then(1, first ? narrow : llama.layers.kinds[0])
                             .then(1, first ? llama.layers.kinds[0] : narrow);
        CHECK(table() == wide);
    }
    for (const std::int32_t axes : {1, 2, 3}) {
        j.model.encoders[0].position_axes = axes;
        CHECK(table() == wide * (axes > 1 ? 4 : 1));
    }
}

TEST_CASE("adapters at the ends: of the models that name them, for each adapter, where the ends are") {
    job j = serving(llama, runtimes::vllm_v1_9);
    j.runtime.loading.ends.by_adapters = true;
    const auto ends = [&](const placement& here) {
        return serving_weights{j, alone, j.runtime, nullptr}.adapters_of_ends(here);
    };
    const placement both = placement_of(j, {}, 0);
    CHECK(ends(both) == byte_count{});
    j.options.max_lora_rank = 16;
    for (const std::int32_t loras : {1, 2, 3}) {
        j.options.max_loras = loras;
        const byte_count one = bytes(2) * ((128256 + 4096) * 16) * loras;
        CHECK(ends(both) == one * 2);
        CHECK(ends({.embeddings = 1}) == one);
        CHECK(ends({.output = true}) == one);
        CHECK(ends({}) == byte_count{});
        serving_folds folds;
        serving_stages stages{j, alone, j.runtime, folds};
        const serving_weights weights{j, alone, j.runtime, nullptr};
        CHECK(stages.fold_layers().stage(both).adapters == one * 2 + weights.adapters_of(llama.layers.kinds[0]) * 32);
    }
    j.model.architecture = "gemma";
    CHECK(ends(both) == byte_count{});
    j.model.architecture = "llama";
    j.runtime.loading.ends.by_adapters = false;
    CHECK(ends(both) == byte_count{});
}

TEST_CASE("the largest stacks of experts are those of routed experts, whatever else is larger") {
    job j = serving(llama);
    layer routed = llama.layers.kinds[0];
    routed.feed_forward = {.experts = {.count = 8, .per_token = 2, .width = 96}};
    j.model.layers = layer_stack{}.then(1, llama.layers.kinds[0]).then(1, routed);
    const serving_weights weights{j, alone, j.runtime, nullptr};
    CHECK(weights.largest_experts({0, 2}).gate == bytes(2) * (8 * 96 * 4096));
    CHECK(weights.largest_experts({0, 2}).down == bytes(2) * (8 * 96 * 4096));
}

TEST_CASE("llama.cpp loads a vision tower where prompts have images, from a file of its own on the first GPU") {
    job j = serving(models::qwen2_5_vl_7b, runtimes::llama_cpp);
    j.gguf = find_gguf_mix("weights", "q4_k_m").value();
    const auto ends = [&](std::int32_t stage) {
        const layout two{.pipeline = 2};
        return serving_weights{j, two, j.runtime, nullptr}.of_ends(placement_of(j, two, stage));
    };
    const byte_count without = ends(0), last = ends(1);
    j.images = {.count = 2, .patches = tokens(4784)};
    // 32 layers of four matrices of 1280 x 1280 and three of 1280 x 3420, a merger of 5120 x 5120 and 3584 x 5120 in 16
    // bits; in 32 their biases, two norms a layer and one behind them, and patches of 1176 values.
    const std::int64_t matrices = 32LL * (4 * 1280 * 1280 + 3 * 1280 * 3420) + 5120 * 5120 + 3584 * 5120;
    const std::int64_t values = 32LL * (4 * 1280 + 2 * 3420 + 1280 + 2 * 1280) + 1280 + 5120 + 3584 + 1280 * 1176;
    CHECK(ends(0) - without == bytes(2) * matrices + bytes(4) * values);
    CHECK(ends(1) == last);
    CHECK(placement_of(j, {.pipeline = 2}, 0).tower_file);
    CHECK_FALSE(placement_of(j, {.pipeline = 2}, 1).tower_file);
    j.images = {};
    CHECK_FALSE(placement_of(j, {}, 0).tower_file);
    j.runtime = runtimes::ollama;  // whose files have it
    CHECK(placement_of(j, {}, 0).tower_file);
    j.model = llama;
    CHECK_FALSE(placement_of(j, {}, 0).tower_file);
    j.model = models::qwen2_5_vl_7b;
    j.gguf = {};
    CHECK_FALSE(placement_of(j, {}, 0).tower_file);  // a checkpoint has its tower among its weights
}
