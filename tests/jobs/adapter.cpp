// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/inventory/adapter_weights.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <type_traits>

using namespace llmres;

static_assert(std::is_trivially_copyable_v<adapter>);

namespace {
constexpr parameter_count trained(const adapter& a) { return count_parameters(a, models::mistral_7b_v0_1); }
}  // namespace

TEST_CASE("LoRA's parameters grow with the rank, and DoRA adds a magnitude an output") {
    const adapter lora{.kind = adapter_kind::lora, .rank = 8};
    adapter twice = lora;
    twice.rank = 16;
    CHECK(trained(twice) == trained(lora) * 2);
    adapter dora = lora;
    dora.kind = adapter_kind::dora;
    CHECK(trained(dora) - trained(lora) == parameters(32 * (4096 + 1024 + 1024 + 4096 + 14336 + 14336 + 4096)));
}
TEST_CASE("targets are the names of modules, and one that is not is refused") {
    CHECK(*find_roles("q_proj,v_proj") == role_set{weight_role::q_proj, weight_role::v_proj});
    CHECK(*find_roles("all-linear") == all_linears);
    CHECK(!find_roles("q_proj,query"));
}
TEST_CASE("what models' code calls one layer for queries, keys and values is all three, which are joined") {
    const role_set heads{weight_role::q_proj, weight_role::k_proj, weight_role::v_proj};
    for (const std::string_view name : {"query_key_value", "W_pack", "c_attn", "qkv_proj", "Wqkv", "wqkv"}) {
        CHECK(*find_roles(name) == heads);
        CHECK(name_joined_heads(name));
    }
    CHECK(name_joined_heads("o_proj, W_pack"));
    CHECK(find_roles("o_proj, W_pack")->contains(weight_role::o_proj));
    CHECK(!name_joined_heads("q_proj,k_proj,v_proj"));
    CHECK(!name_joined_heads("all-linear"));
}
TEST_CASE("one adapter beside queries, keys and values has one A") {
    adapter a{.kind = adapter_kind::lora,
              .rank = 8,
              .targets = {weight_role::q_proj, weight_role::k_proj, weight_role::v_proj}};
    CHECK(trained(a) == parameters(32 * 8 * (3 * 4096 + 4096 + 2 * 1024)));
    a.joined_heads = true;
    CHECK(trained(a) == parameters(32 * 8 * (4096 + 4096 + 2 * 1024)));
}
TEST_CASE("targets that match no tensor of the model are refused by name") {
    const adapter a{.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::kv_a_proj}};
    const status s = validate(a, models::mistral_7b_v0_1);
    REQUIRE(!s);
    CHECK(s.error().field == "adapter.targets");
    CHECK(!validate(adapter{.kind = adapter_kind::lora}, models::mistral_7b_v0_1));
}
TEST_CASE("LLaMA-Adapter and its second version train what lit-gpt printed for Llama 2 7B") {
    CHECK(count_parameters({.kind = adapter_kind::llama_adapter, .rank = 10}, models::llama_2_7b) ==
          parameters(1'229'760));
    CHECK(count_parameters({.kind = adapter_kind::llama_adapter_v2, .rank = 10}, models::llama_2_7b) ==
          parameters(4'279'744));
}

TEST_CASE("a prompt trains its tokens, IA3 a scale of keys, values and the inner features") {
    CHECK(trained({.kind = adapter_kind::prompt, .rank = 20}) == parameters(20 * 4096));
    CHECK(trained({.kind = adapter_kind::ia3}) == parameters(32 * (1024 + 1024 + 14336)));
}

TEST_CASE("an adapter needs a rank, but for IA3, which has none; a prompt trains tokens in any model") {
    const model& m = models::llama_3_1_8b;
    for (const adapter_kind kind : {adapter_kind::lora, adapter_kind::dora, adapter_kind::prompt}) {
        const status s = validate(adapter{.kind = kind}, m);
        REQUIRE_FALSE(s);
        CHECK(s.error().code == error_code::missing);
        CHECK(s.error().field == "adapter.rank");
        CHECK(validate(adapter{.kind = kind, .rank = 65536}, m));
        CHECK(validate(adapter{.kind = kind, .rank = 65537}, m).error().code == error_code::out_of_range);
    }
    CHECK(validate(adapter{.kind = adapter_kind::lora}, m).error().expected.view().starts_with("an integer from 1"));
    CHECK(
        validate(adapter{.kind = adapter_kind::prompt}, m).error().expected.view().starts_with("a number of trained"));
    CHECK(validate(adapter{.kind = adapter_kind::ia3}, m));
    adapter no_targets{.kind = adapter_kind::prompt, .rank = 8};
    no_targets.targets = {};
    CHECK(validate(no_targets, m));
}

TEST_CASE("an adapter's dropout is a part of what it drops from, and not all of it") {
    const auto with = [](double dropout) {
        return validate(adapter{.kind = adapter_kind::lora, .rank = 8, .dropout = dropout}, models::llama_3_1_8b);
    };
    for (const double right : {0.0, 0.5, 0.999}) CHECK(with(right));
    for (const double wrong : {1.0, 1.5, -0.1}) CHECK(with(wrong).error().field == "adapter.dropout");
}

TEST_CASE("a set of roles has those that were put into it, and none at first") {
    role_set roles;
    CHECK(roles.empty());
    for (std::size_t i = 0; i < names_of<weight_role>.size(); ++i) {
        const auto role = static_cast<weight_role>(i);
        CHECK_FALSE(roles.contains(role));
        roles.insert(role);
        CHECK(roles.contains(role));
        CHECK(*find_roles(names_of<weight_role>[i]) == role_set{role});
        CHECK_FALSE(role_set{role}.empty());
    }
}

TEST_CASE("low-rank factors are beside the targets, IA3's scales beside keys, values and the inner features") {
    adapter lora{.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::q_proj, weight_role::up_proj}};
    adapter ia3{.kind = adapter_kind::ia3};
    for (std::size_t i = 0; i < names_of<weight_role>.size(); ++i) {
        const auto role = static_cast<weight_role>(i);
        CAPTURE(name_of(role));
        const bool target = role == weight_role::q_proj || role == weight_role::up_proj;
        const bool scaled =
            role == weight_role::k_proj || role == weight_role::v_proj || role == weight_role::down_proj;
        for (const maybe<bool>& experts : {maybe<bool>{}, maybe<bool>{true}, maybe<bool>{false}}) {
            lora.experts = ia3.experts = experts;
            const bool of_experts = experts.value_or(true);  // each is a module of its own where nothing is said
            CHECK(lora.adapts(role) == target);
            CHECK(lora.touches(role) == target);
            CHECK(lora.adapts(role, true) == (target && of_experts));
            CHECK(lora.touches(role, true) == (target && of_experts));
            CHECK_FALSE(ia3.adapts(role));
            CHECK(ia3.touches(role) == scaled);
            CHECK(ia3.touches(role, true) == (scaled && of_experts));
        }
    }
}

TEST_CASE("a matrix of two rows or of two columns gets an adapter, a vector gets none") {
    model m = models::llama_3_1_8b;
    const adapter gate{.kind = adapter_kind::lora, .rank = 1, .targets = {weight_role::gate_proj}};
    for (layer& kind : m.layers.kinds) kind.feed_forward.width = 2;
    CHECK(validate(gate, m));
    for (layer& kind : m.layers.kinds) kind.feed_forward.width = 1;
    CHECK(validate(gate, m).error().field == "adapter.targets");
    m = models::llama_3_1_8b;
    m.hidden = 2;
    CHECK(detail::adds_weights(gate, m));
    m.hidden = 1;
    CHECK_FALSE(detail::adds_weights(gate, m));
}
