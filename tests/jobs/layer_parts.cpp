// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/jobs/layer_parts.hpp>

using namespace llmres;
using enum layer_part;

TEST_CASE("a set has what it was made of") {
    constexpr layer_part_set set{mlp, expert_fc1};
    static_assert(set.has(mlp) && set.has(expert_fc1) && !set.has(moe) && !set.empty());
    static_assert(layer_part_set{}.empty());
    for (std::size_t i = 0; i < names_of<layer_part>.size(); ++i) {
        const auto m = static_cast<layer_part>(i);
        CHECK(name_of(m) == names_of<layer_part>[i]);
        CHECK((recomputed_parts.has(m) || offloaded_parts.has(m)));  // no name that nothing takes
    }
}

TEST_CASE("two sets meet where a part is in both, whichever it is") {
    const layer_part_set attention{core_attn, layernorm}, forward{mlp, expert_fc1};
    CHECK_FALSE(attention.meets(forward));
    CHECK_FALSE(attention.meets({}));
    for (const layer_part m : {core_attn, layernorm}) {
        CHECK(attention.meets(m));
        CHECK(layer_part_set{m}.meets(attention));
        CHECK_FALSE(forward.meets(m));
    }
}
