// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/operations.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/diffusion.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The inventory of operations of a diffusion model: what one pass through its denoising UNet computes and moves.
/// Convolutions follow from the weights as matrix products do.
namespace llmres::inline v0 {

/// The images that are asked for.
struct image_request {
    std::int64_t width = 1024;   ///< pixels
    std::int64_t height = 1024;  ///< pixels
    std::int64_t images = 1;     ///< that are made together
    std::int64_t steps = 50;     ///< of denoising
    /// Each step computes the noise with the prompt and without (classifier-free guidance, arXiv 2207.12598).
    bool guided = true;
    std::int64_t text = 77;                               ///< tokens of the prompt (CLIP's)
    attention_kernel attention = attention_kernel::sdpa;  ///< how attention is computed
    precision compute = fp16;                             ///< format of weights and activations
};

/// Refuses sizes, images and steps that are not positive or beyond any image.
constexpr status validate(const image_request& r) {
    using detail::bounded_field;
    return detail::all_in_range(bounded_field{"width", r.width, 8, 65536}, bounded_field{"height", r.height, 8, 65536},
                                bounded_field{"images", r.images, 1, 65536}, bounded_field{"steps", r.steps, 1, 65536},
                                bounded_field{"text", r.text, 1, 65536});
}

/// Calls visit(operation, 0) for everything that one pass through a denoising UNet computes for all images of a
/// request, with prompt and, where it is guided, without. Preconditions: validate() holds for both.
template <class Visit>
constexpr void for_each_operation(const unet& network, const image_request& asked, Visit&& visit);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Pixels of a side for each position of the latent image (Stable Diffusion's autoencoders; arXiv 2112.10752, f = 8).
inline constexpr std::int64_t latent_pixels = 8;
/// Features of an attention head: 64 in SDXL. In Stable Diffusion 1.5 it is an eighth of the width, which neither
/// FLOPs nor the traffic of fused attention depend on.
inline constexpr std::int64_t unet_head_dim = 64;

/// What one pass through the network is asked for.
struct image_pass {
    const image_request& asked;

    /// Images, each as often as a step computes its noise.
    constexpr std::int64_t copies() const { return asked.images * (asked.guided ? 2 : 1); }
    /// Positions of one image at a level.
    constexpr std::int64_t positions(std::int32_t level) const {
        std::int64_t high = ceil_quotient(asked.height, latent_pixels);
        std::int64_t wide = ceil_quotient(asked.width, latent_pixels);
        for (std::int32_t l = 0; l < level; ++l) high = ceil_quotient(high, 2), wide = ceil_quotient(wide, 2);
        return high * wide;
    }
    /// Rows of what a weight multiplies, over all copies.
    constexpr std::int64_t rows(const unet_place& at) const {
        return copies() * (at.input == unet_input::image  ? positions(at.level)
                           : at.input == unet_input::text ? asked.text
                                                          : 1);
    }
    constexpr byte_count size(std::int64_t n, std::int64_t features) const {
        return size_of(asked.compute, n, features);
    }
};

/// So many tensors read and written by so many kernels, which are elementwise.
constexpr operation image_elementwise(const image_pass& pass, std::int64_t rows, std::int64_t read,
                                      std::int64_t written) {
    return {.kind = operation_kind::elementwise,
            .arithmetic = pass.asked.compute.arithmetic,
            .read = pass.size(rows, read),
            .written = pass.size(rows, written)};
}

/// A matrix product, or a convolution as one (implicit GEMM, cuDNN): its input is read once.
constexpr operation image_product(const image_pass& pass, const weight& w, const unet_place& at) {
    const std::int64_t n = pass.rows(at);
    const std::int64_t features = w.role == weight_role::conv ? w.columns / 9 : w.columns;
    return {.role = w.role,
            .arithmetic = pass.asked.compute.arithmetic,
            .flops = flops(2.0 * static_cast<double>(w.rows) * static_cast<double>(w.columns) * static_cast<double>(n)),
            .read = pass.size(w.rows, w.columns) + pass.size(n, features),
            .written = pass.size(n, w.rows),
            .tokens = n,
            .rows = w.rows,
            .columns = w.columns};
}

/// The self-attention and the cross-attention of one transformer block.
template <class Visit>
constexpr void visit_image_attention(const image_pass& pass, std::int64_t width, const unet_place& at, Visit& visit) {
    const std::int64_t head = width < unet_head_dim ? width : unet_head_dim;
    const attention heads{.heads = width / head, .kv_heads = width / head, .head_dim = head};
    const operation_formats formats{.compute = pass.asked.compute, .kv_cache = pass.asked.compute};
    const std::int64_t n = pass.positions(at.level);
    for (const std::int64_t keys : {n, pass.asked.text}) {
        token_pass each{.tokens = {pass.copies(), n, keys}};
        each.cached = keys;  // every position attends to all keys
        if (pass.asked.attention == attention_kernel::eager) each.scores = pair_scores::fused_softmax;
        visit_attention_core(heads, formats, each, 0, layer_split{}, visit);
    }
}

/// What a weight stands for: its product, or the norm with what follows it. Between a residual block's norms and its
/// convolutions stands an activation; both halves of it, and all three of a transformer block, end in a sum.
template <class Visit>
constexpr void visit_image_weight(const image_pass& pass, const weight& w, const unet_place& at, Visit& visit) {
    const std::int64_t n = pass.rows(at);
    if (w.role == weight_role::bias) return;  // products add it to what they write
    if (w.role == weight_role::norm) {
        for (std::int64_t i = 0; i < w.copies / 2; ++i) {  // a norm has two vectors
            visit(image_elementwise(pass, n, w.columns, w.columns), 0);
            visit(image_elementwise(pass, n, 2 * w.columns, w.columns), 0);
        }
        return;
    }
    for (std::int64_t i = 0; i < w.copies; ++i) visit(image_product(pass, w, at), 0);
    if (w.role == weight_role::down_proj)  // the gate's activation and its product with what goes up
        for (std::int64_t i = 0; i < w.copies; ++i) {
            visit(image_elementwise(pass, n, 2 * w.columns, w.columns), 0);
            visit_image_attention(pass, w.rows, at, visit);
        }
}

}  // namespace detail

template <class Visit>
constexpr void for_each_operation(const unet& network, const image_request& asked, Visit&& visit) {
    const detail::image_pass pass{asked};
    for_each_placed_weight(
        network, [&](const weight& w, const unet_place& at) { detail::visit_image_weight(pass, w, at, visit); });
}

}  // namespace llmres::inline v0
