// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/attention.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// Masks of attention, which all layers of a kind read.
namespace llmres::inline v0::detail {

/// The mask that a layer's attention needs as a tensor, if it does. Eager attention adds its mask, sdpa's is of bytes.
constexpr byte_count mask_of(const layer& kind, const training_context& context) {
    const bool eager = context.attention.kernel == attention_kernel::eager;
    const attention& a = kind.attention;
    if (!context.code.attention.causal || context.runtime.kernels.fuses_norms() || a.kind == attention_kind::none ||
        context.attention.kernel == attention_kernel::flash ||
        (!eager && !is_masked(a, context) && !context.code.attention.given.mask))
        return {};
    return size_of(eager ? context.formats.embedding : int8, context.tokens.sequences,
                   product(context.tokens.length, context.tokens.keys));
}

/// Masks by the layers that read one: those without a window, and those with one.
using masks_by_window = std::array<byte_count, 2>;

/// The masks of those layers of a model whose kinds are `here`.
template <class Here>
constexpr masks_by_window masks_of(const model& m, const training_context& context, Here&& here) {
    masks_by_window masks{};
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k) {
        const layer& kind = m.layers.kinds[static_cast<std::size_t>(k)];
        if (const byte_count mask = mask_of(kind, context); mask > byte_count{} && here(k))
            masks[kind.attention.window > token_count{} ? 1U : 0U] = mask;
    }
    return masks;
}

/// All masks of a model.
constexpr byte_count masks_made(const model& m, const training_context& context) {
    const masks_by_window masks = masks_of(m, context, [](std::int32_t) { return true; });
    return masks[0] + masks[1];
}

}  // namespace llmres::inline v0::detail
