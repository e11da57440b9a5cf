// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/parameters.hpp>
#include <llmres/precision.hpp>

/// Which format each weight of a checkpoint is stored in, and the bytes that follow.
namespace llmres {

/// Which format each weight is in: matrices inside the layers in `matrices`, all else in `rest`.
struct weight_formats {
    precision matrices = bf16;
    precision rest = bf16;

    constexpr const precision& of(const weight& w) const { return w.quantised ? matrices : rest; }
};

/// A checkpoint in a plain 16-bit or wider format holds everything in it; a quantised one keeps embedding, head, norms
/// and routers in `wide`.
constexpr weight_formats formats_for(const precision& weights, const precision& wide = bf16) {
    const bool plain = weights.parts[1].bytes == 0 && weights.parts[0].columns == 1 && weights.parts[0].bytes >= 2;
    return {weights, plain ? weights : wide};
}

/// Bytes of all the weight's copies.
constexpr byte_count size_of(const weight& w, const weight_formats& formats) {
    return size_of(formats.of(w), w.rows, w.columns) * w.copies;
}
constexpr byte_count weight_bytes(const model& m, const weight_formats& formats) {
    byte_count total;
    for_each_weight(m, [&](const weight& w, std::int64_t layers) { total += size_of(w, formats) * layers; });
    return total;
}

}  // namespace llmres
