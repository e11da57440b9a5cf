// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/error.hpp>
#include <llmres/model.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/gemma.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/models/phi.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/nearest.hpp>
#include <string_view>

/// All models that come with the library, and how to find one by the name people type. Who needs one family includes
/// that family's header alone.
namespace llmres {

namespace models {

namespace detail {

template <std::size_t... Sizes>
constexpr auto joined(const std::array<const model*, Sizes>&... tables) {
    std::array<const model*, (Sizes + ...)> all{};
    std::size_t next = 0;
    const auto add = [&](const auto& table) {
        for (const model* m : table) all[next++] = m;
    };
    (add(tables), ...);
    return all;
}

}  // namespace detail

/// Every model of every family.
inline constexpr auto all =
    detail::joined(all_llama, all_qwen, all_deepseek, all_mistral, all_gemma, all_phi);

}  // namespace models

/// The model of that id ("llama-3.1-8b"). A name that nobody knows is an `unknown` error on `field`, which names the ids
/// nearest to it.
constexpr result<model> find_model(std::string_view id, std::string_view field = "model") {
    for (const model* m : models::all)
        if (m->name == id) return *m;
    std::array<std::string_view, models::all.size()> ids{};
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = models::all[i]->name.view();
    return refused(error_code::unknown, field, id, such_as("a model", nearest(id, ids)));
}

}  // namespace llmres
