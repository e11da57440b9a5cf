// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/error.hpp>
#include <llmres/precision.hpp>
#include <llmres/text.hpp>

/// What an optimizer keeps for each parameter it trains.
namespace llmres {

struct optimizer {
    text<23> name{};
    std::int32_t moments = 0;  ///< running averages as large as the parameter

    friend constexpr bool operator==(const optimizer& a, const optimizer& b) { return a.name == b.name; }
};

inline constexpr optimizer sgd{"sgd", 0};
inline constexpr optimizer sgd_momentum{"sgd_momentum", 1};
inline constexpr optimizer adam{"adam", 2};    ///< arXiv 1412.6980: first and second moment
inline constexpr optimizer adamw{"adamw", 2};  ///< arXiv 1711.05101: the same states

inline constexpr std::array optimizers{sgd, sgd_momentum, adam, adamw};

constexpr result<optimizer> find_optimizer(std::string_view name) {
    for (const optimizer& o : optimizers)
        if (o.name == name) return o;
    return refused(error_code::unknown, "optimizer", name, "one of sgd, sgd_momentum, adam, adamw");
}

/// States of a rows x columns tensor.
constexpr byte_count state_bytes(const optimizer& o, const precision& states, std::int64_t rows, std::int64_t columns) {
    return size_of(states, rows, columns) * o.moments;
}

}  // namespace llmres
