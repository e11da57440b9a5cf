// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/jobs/layer_parts.hpp>

using namespace llmres;
using enum layer_part;

TEST_CASE("parts of a layer are read by name, from those that the field allows") {
    CHECK(find_layer_parts("core_attn", recomputed_parts, "recompute_modules").value() == layer_part_set{core_attn});
    CHECK(find_layer_parts("layernorm,moe_act", recomputed_parts, "recompute_modules").value() ==
          layer_part_set{moe_act, layernorm});
    CHECK(find_layer_parts("", offloaded_parts, "offload.modules").value().empty());

    const error unknown = find_layer_parts("layernorm,moe_actt", recomputed_parts, "recompute_modules").error();
    CHECK(unknown.field == "recompute_modules");
    CHECK(unknown.value == "moe_actt");
    CHECK(unknown.expected.view().find("moe_act") != std::string_view::npos);
    // A norm's output can be made again; what goes to main memory is its input.
    CHECK(find_layer_parts("layernorm", offloaded_parts, "offload.modules").error().value == "layernorm");
    CHECK(find_layer_parts("attn_norm", recomputed_parts, "recompute_modules").error().value == "attn_norm");
    CHECK(find_layer_parts("core_attn,,moe", recomputed_parts, "recompute_modules").error().value == "");
}

TEST_CASE("a set has what it was made of") {
    constexpr layer_part_set set{mlp, expert_fc1};
    static_assert(set.has(mlp) && set.has(expert_fc1) && !set.has(moe) && !set.empty());
    static_assert(layer_part_set{}.empty());
    for (std::size_t i = 0; i < layer_part_names.size(); ++i) {
        const auto m = static_cast<layer_part>(i);
        CHECK(name_of(m) == layer_part_names[i]);
        CHECK((recomputed_parts.has(m) || offloaded_parts.has(m)));  // no name that nothing takes
    }
}
