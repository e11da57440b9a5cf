// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/jobs/layer_parts.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// What job documents say by name: optimizers, and the parts of a layer. Apart from both, since a plan looks up no
/// names.
namespace llmres::inline v0 {

/// Every optimizer that a job can name.
inline constexpr std::array optimizers{
    sgd,       sgd_momentum, adam,  adamw, adamw_fused, paged_adamw, adamw_8bit, paged_adamw_8bit, adamw_8bit_torchao,
    adafactor, adafactor_hf, nadam, radam, adagrad,     lion,        lion_8bit,  paged_lion,       paged_lion_8bit,
    rmsprop,   adamw_loop,   lamb,  muon,  shampoo,     soap,        adam_mini,  galore,           apollo,
    lomo,      schedule_free};

/// The optimizer of that name. Another name is an `unknown` error on `field`, which lists the nearest.
constexpr result<optimizer> find_optimizer(std::string_view name, std::string_view field = "optimizer") {
    for (const optimizer& o : optimizers)
        if (o.name == name) return o;
    std::array<std::string_view, optimizers.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = optimizers[i].name.view();
    return refused(error_code::unknown, field, name, such_as("an optimizer", nearest(name, names)));
}

/// The parts of `among` with these names, separated by commas. Another name is an `unknown` error on `field`, which
/// lists the nearest.
constexpr result<layer_part_set> find_layer_parts(std::string_view names, layer_part_set among,
                                                  std::string_view field) {
    layer_part_set found;
    while (!names.empty()) {
        const std::string_view name = detail::taken_before(names, ",");
        bool known = false;
        for (std::size_t i = 0; i < names_of<layer_part>.size() && !known; ++i) {
            const auto m = static_cast<layer_part>(i);
            known = name_of(static_cast<layer_part>(i)) == name && among.has(m);
            if (known) found.bits = static_cast<std::uint16_t>(found.bits | layer_part_set{m}.bits);
        }
        if (!known)
            return refused(error_code::unknown, field, name, such_as("modules", nearest(name, names_of<layer_part>)));
    }
    return found;
}

}  // namespace llmres::inline v0
