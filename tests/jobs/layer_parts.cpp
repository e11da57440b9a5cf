// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/jobs/layer_parts.hpp>

using namespace llmres;
using enum layer_module;

TEST_CASE("modules are read by name, of those that the field takes") {
    CHECK(find_modules("core_attn", recomputed_modules, "recompute_modules").value() == layer_module_set{core_attn});
    CHECK(find_modules("layernorm,moe_act", recomputed_modules, "recompute_modules").value() ==
          layer_module_set{moe_act, layernorm});
    CHECK(find_modules("", offloaded_modules, "offload.modules").value().empty());

    const error unknown = find_modules("layernorm,moe_actt", recomputed_modules, "recompute_modules").error();
    CHECK(unknown.field == "recompute_modules");
    CHECK(unknown.value == "moe_actt");
    CHECK(unknown.expected.view().find("moe_act") != std::string_view::npos);
    // A norm's output can be made again; what goes to main memory is its input.
    CHECK(find_modules("layernorm", offloaded_modules, "offload.modules").error().value == "layernorm");
    CHECK(find_modules("attn_norm", recomputed_modules, "recompute_modules").error().value == "attn_norm");
    CHECK(find_modules("core_attn,,moe", recomputed_modules, "recompute_modules").error().value == "");
}

TEST_CASE("a set has what it was made of") {
    constexpr layer_module_set set{mlp, expert_fc1};
    static_assert(set.has(mlp) && set.has(expert_fc1) && !set.has(moe) && !set.empty());
    static_assert(layer_module_set{}.empty());
    for (std::size_t i = 0; i < layer_module_names.size(); ++i) {
        const auto m = static_cast<layer_module>(i);
        CHECK(name_of(m) == layer_module_names[i]);
        CHECK((recomputed_modules.has(m) || offloaded_modules.has(m)));  // no name that nothing takes
    }
}
