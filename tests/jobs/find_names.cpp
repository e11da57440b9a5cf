// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/jobs/find_names.hpp>
#include <string>
#include <string_view>

using namespace llmres;
using enum layer_part;

TEST_CASE("an unknown optimizer is refused with the nearest names") {
    const auto found = find_optimizer("adamm");
    REQUIRE(!found);
    CHECK(found.error().code == error_code::unknown);
    CHECK(found.error().field == "optimizer");
    for (const optimizer& o : optimizers) CHECK(find_optimizer(o.name.view()));
}

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

TEST_CASE("every optimizer is found by its name") {
    for (const optimizer& o : optimizers) CHECK(find_optimizer(o.name.view())->name == o.name);
}

TEST_CASE("a misspelt name is answered with the optimizers that may be meant, the first of the list included") {
    const auto meant = [](std::string_view misspelt) {
        return std::string{find_optimizer(misspelt).error().expected.view()};
    };
    CHECK(meant("sgdd") == "an optimizer such as sgd or sgd_momentum");
    CHECK(meant("adafactr") == "an optimizer such as adafactor, adafactor_hf or adagrad");
    CHECK(meant("schedule_fre") == "an optimizer such as schedule_free");
}
