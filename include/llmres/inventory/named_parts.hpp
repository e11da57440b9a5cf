// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/inventory/activation.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layer_parts.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/units.hpp>

/// Recomputation and offloading of named parts of a layer, as every saved tensor says which parts read and make it.
namespace llmres::inline v0::detail {

/// Of what one layer saves: what is recomputed, and what is offloaded to main memory.
struct named_parts {
    byte_count recomputed{};
    byte_count offloaded{};

    constexpr void add(const activation& a, byte_count size, const job& j) {
        if (is_recomputed(a, j))
            recomputed += size;
        else if (a.input_of.meets(j.offload.modules))
            offloaded += size;
    }
    /// Whether neither takes it away.
    static constexpr bool keeps(const activation& a, const job& j) {
        return !is_recomputed(a, j) && !a.input_of.meets(j.offload.modules);
    }

private:
    static constexpr bool is_recomputed(const activation& a, const job& j) {
        return j.recompute == recompute::selective && a.made_by.meets(j.recompute_modules);
    }
};

/// Whether a job recomputes or offloads parts of layers.
constexpr bool recomputes_or_offloads_parts(const job& j) {
    return j.recompute == recompute::selective || !j.offload.modules.empty();
}

/// Whether a job names parts of layers, other than attention's core alone.
constexpr bool names_parts(const job& j) {
    return !j.offload.modules.empty() ||
           (j.recompute == recompute::selective && !(j.recompute_modules == layer_part_set{layer_part::core_attn}));
}

/// Whether selective recomputation is by operation: it keeps some products, whatever part of the layer they are of.
constexpr bool keeps_by_product(const job& j) {
    return j.recompute == recompute::selective && !names_parts(j) &&
           j.runtime.kernels.checkpointing.selective != selective_code::attention_core;
}

}  // namespace llmres::inline v0::detail
