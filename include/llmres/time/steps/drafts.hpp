// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/collectives.hpp>
#include <llmres/inventory/operations.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/time/breakdown.hpp>
#include <llmres/time/kernels.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/time/steps/passes.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// How long does it take to draft tokens, which a step of the model then checks all at once (speculative decoding,
/// arXiv 2211.17192)?
namespace llmres::inline v0::detail {

/// Products of a layer whose projections are joined: queries with keys and values, attention's output, gate with up,
/// down.
inline constexpr double joined_products = 4;

/// Through a draft model, of which a job says its size alone (draft_work). Its layers sum twice each over the tensor
/// ranks.
constexpr void price_draft_model(pricer& price, const job& j, const token_pass& pass) {
    const serving_options& asked = j.options;
    const std::int64_t sequences = pass.tokens.sequences, ranks = price.degrees.tensor;
    price({.arithmetic = j.compute.arithmetic,
           .flops = asked.draft.flops * (static_cast<double>(sequences) / static_cast<double>(ranks)),
           .read = div_up(asked.draft.read, ranks)},
          0);
    price({.kind = operation_kind::attention,
           .arithmetic = j.compute.arithmetic,
           .read = div_up(asked.draft_kv * tokens(pass.tokens.keys) * sequences, ranks),
           .blocks = 1e9},
          0);
    priced_pass& sum = price.sum[0];
    const exchange reduced{collective_kind::all_reduce, exchange::group::tensor,
                           size_of(j.compute, sequences, asked.draft.hidden)};
    price(reduced, 0);
    sum.layers = asked.draft.layers;
    sum.tensor = sum.tensor * (2 * sum.layers);
    sum.floors = (default_kernels.product * joined_products + default_kernels.attention_floor +
                  default_kernels.elementwise_floor * price.launches.small_kernels) *
                 sum.layers;
}

/// Through one of the model's own prediction layers, and the head.
constexpr void price_own_prediction(pricer& price, const job& j, const operation_formats& formats,
                                    const token_passes& passes) {
    visit_projection(depth_projection(j.model), formats, passes, price.degrees, projection_place::before_head, price);
    price_layer(price, prediction_block(j.model), j.model.hidden, formats, passes);
    for_each_head_operation(j.model, formats, passes, price.degrees, price);
}

/// The time in which a step's tokens are drafted one after another for the sequences of a pass that checks them.
/// Looking them up in the text takes none.
constexpr time_breakdown drafting_time(const job& j, const layout& l, const pricing& with,
                                       const operation_formats& formats, const token_pass& checking,
                                       const runtime_launches& launches) {
    const bool by_model = j.options.draft_weights > byte_count{};
    if (!by_model && !j.options.speculates_ahead) return {};
    token_pass one = checking;
    one.tokens.length = 1;
    one.scored = one.tokens.sequences;
    token_passes passes;
    passes.push(one);
    pricer price = model_pricer::pricer_of(j, l, with, passes);
    if (by_model)
        price_draft_model(price, j, one);
    else
        price_own_prediction(price, j, formats, passes);
    return price.sum[0].terms(with.reach, launches) * static_cast<double>(j.options.draft_tokens);
}

}  // namespace llmres::inline v0::detail
