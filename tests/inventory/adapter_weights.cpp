// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/inventory/adapter_weights.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/models/all.hpp>
#include <vector>

#include "../training_jobs.hpp"

using namespace training_jobs;

TEST_CASE("an adapter's states are of the adapter alone") {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(training_state_of(j, {}).optimizer.states < gib(1));
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
    CHECK(saved_activations(j, {}) + first_norm ==
          prompt + (size_of(bf16, n, 2 * 1024) + size_of(fp32, n, 14336)) * 32);
}
TEST_CASE("a trained prompt has gradients and states of its own, and lengthens each sequence") {
    job j = full();
    j.adapter = {.kind = adapter_kind::prompt, .rank = 20};
    const byte_count added = size_of(fp32, 20, 4096);
    CHECK(training_state_of(j, {}).adapter == added);
    CHECK(training_state_of(j, {}).gradients.kept == added);
    CHECK(training_state_of(j, {}).optimizer.states == added * 2);
    const training_context context{j, {}};
    CHECK(context.tokens.all() == 4096 + 20);
}

namespace {

/// The tensors that an adapter puts beside a matrix of 96 x 64 whose rows tensor ranks split.
std::vector<weight> added_to(weight_role role, const adapter& a, const modeling& code,
                             weight_split split = weight_split::rows) {
    std::vector<weight> added;
    for_each_adapter_weight(a, code, {.role = role, .rows = 96, .columns = 64, .split = split, .quantised = true},
                            [&](const weight& w) { added.push_back(w); });
    return added;
}

}  // namespace

TEST_CASE("LoRA adds A, rank x inputs, and B, outputs x rank, each cut as the side that it shares with the weight") {
    const adapter lora{.kind = adapter_kind::lora, .rank = 8};
    for (const weight_split split : {weight_split::rows, weight_split::columns}) {
        const std::vector<weight> two = added_to(weight_role::q_proj, lora, {}, split);
        REQUIRE(two.size() == 2);
        CHECK((two[0].rows == 8 && two[0].columns == 64));
        CHECK((two[1].rows == 96 && two[1].columns == 8));
        CHECK(two[0].split == (split == weight_split::rows ? weight_split::replicated : split));
        CHECK(two[1].split == (split == weight_split::columns ? weight_split::replicated : split));
        CHECK((!two[0].quantised && !two[1].quantised));
    }
    CHECK(added_to(weight_role::q_proj, {.kind = adapter_kind::dora, .rank = 8}, {}).size() == 3);
    CHECK(added_to(weight_role::q_proj, {.kind = adapter_kind::ia3}, {}).empty());
}

TEST_CASE("projections that are one layer share the A of their adapter") {
    const adapter lora{.kind = adapter_kind::lora, .rank = 8};
    modeling joined;
    joined.attention.joined_heads = true;
    CHECK(added_to(weight_role::q_proj, lora, joined).size() == 2);
    for (const weight_role role : {weight_role::k_proj, weight_role::v_proj}) {
        CHECK(added_to(role, lora, {}).size() == 2);
        const std::vector<weight> one = added_to(role, lora, joined);
        REQUIRE(one.size() == 1);
        CHECK((one[0].rows == 96 && one[0].columns == 8));
    }
    // The name of one layer among the targets says so, too, where the code is not known.
    adapter named = lora;
    named.joined_heads = true;
    CHECK(added_to(weight_role::q_proj, named, {}).size() == 2);
    CHECK(added_to(weight_role::v_proj, named, {}).size() == 1);
    joined = {};
    joined.feed_forward.joined = true;
    CHECK(added_to(weight_role::gate_proj, lora, joined).size() == 2);
    CHECK(added_to(weight_role::up_proj, lora, joined).size() == 1);
    CHECK(added_to(weight_role::up_proj, lora, {}).size() == 2);
}

TEST_CASE("Qwen3.5's queries share a layer with their gate, and its delta nets have four layers in front") {
    // transformers 5.17, models/qwen3_5: q_proj has queries and gate; in_proj_qkv, in_proj_z, in_proj_b, in_proj_a.
    const model qwen = find_model("qwen3.5-27b").value();
    job j{.model = qwen, .task = task::finetuning, .sequence = tokens(1024)};
    j.adapter = {.kind = adapter_kind::lora, .rank = 16};
    const auto trained = [&](role_set targets) {
        j.adapter.targets = targets;
        std::int64_t values = 0;
        for (const layer& kind : qwen.layers.distinct())
            for_each_weight(kind, qwen.hidden, [&](const weight& w) {
                for_each_adapter_weight(adapter_of(j), modeling_of(qwen), w,
                                        [&](const weight& a) { values += a.rows * a.columns * a.copies; });
            });
        return values;
    };
    const layer& full = qwen.layers[3];
    CHECK(trained({weight_role::q_proj}) == 16 * (qwen.hidden + 2 * full.attention.heads * full.attention.head_dim));
    const recurrent& r = qwen.layers[0].recurrent;
    CHECK(trained({weight_role::in_proj}) == 16 * (4 * qwen.hidden + r.conv_channels() + r.inner() + 2 * r.heads));
}

TEST_CASE("what each kind of adapter trains beside a matrix of 96 x 64, and that vectors get nothing of a matrix's") {
    const auto sizes = [](weight_role role, const adapter& a, std::int64_t rows = 96, std::int64_t columns = 64) {
        std::vector<std::vector<std::int64_t>> found;  // rows, columns, copies
        for_each_adapter_weight(a, {}, {.role = role, .rows = rows, .columns = columns, .quantised = true},
                                [&](const weight& w) {
                                    CHECK_FALSE(w.quantised);
                                    found.push_back({w.rows, w.columns, w.copies});
                                });
        return found;
    };
    using expected = std::vector<std::vector<std::int64_t>>;
    using enum weight_role;
    const adapter lora{.kind = adapter_kind::lora, .rank = 8}, dora{.kind = adapter_kind::dora, .rank = 8};
    const adapter ia3{.kind = adapter_kind::ia3}, prompts{.kind = adapter_kind::llama_adapter, .rank = 8};
    const adapter scales{.kind = adapter_kind::llama_adapter_v2, .rank = 8};

    CHECK(sizes(o_proj, lora) == expected{{8, 64, 1}, {96, 8, 1}});
    CHECK(sizes(o_proj, dora) == expected{{8, 64, 1}, {96, 8, 1}, {96, 1, 1}});
    CHECK(sizes(o_proj, lora, 2, 2) == expected{{8, 2, 1}, {2, 8, 1}});  // the smallest matrix
    for (const adapter& a : {lora, dora, ia3, prompts}) {
        CHECK(sizes(k_proj, a, 1, 64).empty());
        CHECK(sizes(k_proj, a, 96, 1).empty());
        CHECK(sizes(norm, a, 64, 1).empty());
    }

    // Outputs of keys and values are scaled, and inputs of the feed-forward's last product: arXiv 2205.05638.
    CHECK(sizes(k_proj, ia3) == expected{{96, 1, 1}});
    CHECK(sizes(v_proj, ia3, 2, 2) == expected{{2, 1, 1}});
    CHECK(sizes(down_proj, ia3) == expected{{1, 64, 1}});
    CHECK(sizes(q_proj, ia3).empty());
    CHECK(sizes(up_proj, ia3).empty());

    // Tokens of the hidden width, once a layer, which stand beside its queries: arXiv 2303.16199.
    CHECK(sizes(q_proj, prompts) == expected{{8, 64, 1}});
    CHECK(sizes(q_proj, prompts, 2, 2) == expected{{8, 2, 1}});
    CHECK(sizes(q_proj, prompts, 96, 1).empty());
    CHECK(sizes(k_proj, prompts).empty());
    // A scale and a bias of each output, and the norms: arXiv 2304.15010.
    CHECK(sizes(q_proj, scales) == expected{{8, 64, 1}, {96, 1, 2}});
    CHECK(sizes(down_proj, scales) == expected{{96, 1, 2}});
    CHECK(sizes(norm, scales, 64, 1) == expected{{64, 1, 1}});
    CHECK(sizes(bias, scales, 64, 1).empty());
}

TEST_CASE("LLaMA-Adapter has tokens in all layers but the first two, and a gate for each of their heads") {
    // arXiv 2303.16199: of 32 layers 30 have 10 tokens of 4,096 features and 32 gates, 1.2 million parameters in all.
    const model m = find_model("llama-2-7b").value();
    CHECK(count_parameters(adapter{.kind = adapter_kind::llama_adapter, .rank = 10}, m) ==
          parameters(30 * (10 * 4096 + 32)));
}
