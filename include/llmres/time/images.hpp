// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/images.hpp>
#include <llmres/inventory/operations.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/diffusion.hpp>
#include <llmres/runtimes/launches.hpp>
#include <llmres/time/breakdown.hpp>
#include <llmres/time/kernels.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/time/steps/passes.hpp>
#include <llmres/time/throughput.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/units.hpp>

/// How long does it take to make images with a diffusion model?
namespace llmres::inline v0 {

/// The time in which one GPU of a cluster denoises the images of a request, all steps together, by the constants of all
/// other kernels. `by`: how the software launches kernels; a layer is here a block of the network. The text encoder and
/// the decoder of images are not counted. Errors: what validate() refuses of the network, the request and the cluster,
/// and a format for which the GPU has no arithmetic units.
constexpr result<time_breakdown> image_time(const unet& network, const image_request& asked, const cluster& c,
                                            const runtime_launches& by = {}, const efficiency& e = default_efficiency);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Residual blocks and transformer blocks of a network.
constexpr double unet_blocks(const unet& u) {
    std::int64_t blocks = 2 + u.middle_depth;
    for (std::size_t level = 0; level < static_cast<std::size_t>(u.levels); ++level)
        blocks += (std::int64_t{2} * u.blocks + 1) * (1 + u.depth[level]);
    return static_cast<double>(blocks);
}

constexpr time_breakdown image_time(const unet& network, const image_request& asked, const pricing& with,
                                    const runtime_launches& by) {
    const layout one{};
    pricer price{one, with.on, with.sheet, with.reach, by, {true}};
    for_each_operation(network, asked, [&](const operation& o, std::size_t pass) {
        price(o, pass);
        if (o.kind == operation_kind::elementwise) price.sum[pass].floors += default_kernels.elementwise_floor;
    });
    price.sum[0].layers = unet_blocks(network);
    return price.sum[0].terms(with.reach, by) * static_cast<double>(asked.steps);
}

}  // namespace detail

constexpr result<time_breakdown> image_time(const unet& network, const image_request& asked, const cluster& c,
                                            const runtime_launches& by, const efficiency& e) {
    if (const status s = validate(network); !s) return s.error();
    if (const status s = validate(asked); !s) return s.error();
    if (const status s = validate(c); !s) return s.error();
    if (const status s = detail::validate_arithmetic(asked.compute, c.gpu, task::serving); !s) return s.error();
    const bool known = c.gpu.measured.any_rate() || (knows_power(c) && c.gpu.sm_count);
    const job priced_as{.weights = asked.compute, .compute = asked.compute};
    return detail::with_pricing(
        priced_as, c, known ? e : detail::widened_by_unknowns(c, e),
        [&](const detail::pricing& with) { return detail::image_time(network, asked, with, by); });
}

}  // namespace llmres::inline v0
