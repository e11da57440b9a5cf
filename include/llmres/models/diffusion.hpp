// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/visitor.hpp>

/// What is a diffusion model? The denoising networks of Stable Diffusion 1.5 and XL (a UNet) and of FLUX.1 (a
/// transformer), counted by the same inventory of weights as language models. Not counted: text encoders and the
/// decoder of images, which are models of their own.
namespace llmres::inline v0 {

/// A denoising UNet with cross-attention to text (Rombach et al., arXiv 2112.10752; SDXL, arXiv 2307.01952).
struct unet {
    static constexpr std::size_t max_levels = 6;  ///< levels at most

    text<63> name{};                                  ///< its id
    std::int64_t in_channels = 4;                     ///< channels of the latent image
    std::int64_t out_channels = 4;                    ///< channels of the predicted noise
    std::int32_t levels = 0;                          ///< resolutions, each half the one before
    std::array<std::int64_t, max_levels> channels{};  ///< channels of each level
    /// Transformer blocks after each residual block; 0: no attention.
    std::array<std::int32_t, max_levels> depth{};
    std::int32_t blocks = 2;             ///< residual blocks of a level on the way down; one more on the way up
    std::int32_t middle_depth = 1;       ///< transformer blocks at the lowest resolution
    std::int64_t context_width = 0;      ///< features of the text that cross-attention reads
    std::int64_t added_embedding = 0;    ///< features of size and pooled text, added to the embedded time (SDXL)
    precision weights = fp16;            ///< format of the published weights
    maybe<parameter_count> published{};  ///< the publisher's total
};

/// What the weights of a denoising UNet multiply.
enum class unet_input : std::uint8_t {
    image,  ///< the positions of the latent image, at one of its resolutions
    text,   ///< the tokens of the prompt
    time,   ///< one vector for each image: the step's time, and what is added to it
};
/// Where a weight of a denoising UNet is used.
struct unet_place {
    unet_input input = unet_input::image;  ///< what it multiplies
    std::int32_t level = 0;                ///< the resolution of its output: the level's, each half the one before
};

/// A rectified-flow transformer (FLUX.1): first blocks with separate weights for image and text and joint attention,
/// then blocks with the same weights for both.
struct flow_transformer {
    text<63> name{};                     ///< its id
    std::int64_t in_channels = 0;        ///< features of a patch of the latent image
    std::int64_t heads = 0;              ///< attention heads
    std::int64_t head_dim = 0;           ///< features of a head
    std::int32_t double_blocks = 0;      ///< blocks with weights for image and text each
    std::int32_t single_blocks = 0;      ///< blocks with the same weights for both
    std::int64_t context_width = 0;      ///< features of the text encoder's tokens
    std::int64_t pooled_width = 0;       ///< features of the pooled text
    bool guidance = false;               ///< the guidance scale is embedded (FLUX.1-dev)
    precision weights = bf16;            ///< format of the published weights
    maybe<parameter_count> published{};  ///< the publisher's total

    /// Features of its residual stream.
    constexpr std::int64_t hidden() const { return heads * head_dim; }
};

namespace detail {

/// A matrix, `copies` times, with or without a bias on its output.
constexpr void list_matrix(weight_role role, std::int64_t rows, std::int64_t columns, const weight_visitor& visit,
                           std::int64_t copies, bias_term bias) {
    weight_list{visit}.linear(
        weight{.role = role, .rows = rows, .columns = columns, .copies = copies, .active = copies, .quantised = true},
        bias == bias_term::added);
}
constexpr void list_biased(weight_role role, std::int64_t rows, std::int64_t columns, const weight_visitor& visit,
                           std::int64_t copies = 1) {
    list_matrix(role, rows, columns, visit, copies, bias_term::added);
}
constexpr void list_unbiased(weight_role role, std::int64_t rows, std::int64_t columns, const weight_visitor& visit,
                             std::int64_t copies = 1) {
    list_matrix(role, rows, columns, visit, copies, bias_term::none);
}

/// A convolution over 3 x 3 pixels.
constexpr void list_conv3(std::int64_t out, std::int64_t in, const weight_visitor& visit) {
    list_biased(weight_role::conv, out, 9 * in, visit);
}

/// Receives the weights of a UNet, each with its place.
using unet_visitor = visitor<weight, unet_place>;

/// A residual block: two convolutions with norms, the projected time added between them, and a shortcut where the width
/// changes.
constexpr void list_residual(std::int64_t in, std::int64_t out, std::int64_t time, std::int32_t level,
                             const unet_visitor& place) {
    const auto on_image = [&](const weight& w) { place(w, {unet_input::image, level}); };
    const auto on_time = [&](const weight& w) { place(w, {unet_input::time, level}); };
    const auto visit = visiting<weight>(on_image);
    weight_list{visit}.norms(norm_kind::layer, in, 1);
    list_conv3(out, in, visit);
    list_biased(weight_role::projector, out, time, visiting<weight>(on_time));
    weight_list{visit}.norms(norm_kind::layer, out, 1);
    list_conv3(out, out, visit);
    if (in != out) list_biased(weight_role::projector, out, in, visit);
}

/// Self-attention, cross-attention to the text and a gated feed-forward, between projections in and out. Queries, keys
/// and values have no biases.
constexpr void list_spatial_transformer(std::int64_t width, std::int64_t depth, std::int64_t context,
                                        std::int32_t level, const unet_visitor& place) {
    if (depth == 0) return;
    const auto on_image = [&](const weight& w) { place(w, {unet_input::image, level}); };
    const auto on_text = [&](const weight& w) { place(w, {unet_input::text, level}); };
    const auto visit = visiting<weight>(on_image);
    const auto of_text = visiting<weight>(on_text);
    weight_list{visit}.norms(norm_kind::layer, width, 1);
    list_biased(weight_role::in_proj, width, width, visit);
    weight_list{visit}.norms(norm_kind::layer, width, 3 * depth);
    list_unbiased(weight_role::q_proj, width, width, visit, 2 * depth);
    list_unbiased(weight_role::k_proj, width, width, visit, depth);
    list_unbiased(weight_role::v_proj, width, width, visit, depth);
    list_unbiased(weight_role::k_proj, width, context, of_text, depth);
    list_unbiased(weight_role::v_proj, width, context, of_text, depth);
    list_biased(weight_role::o_proj, width, width, visit, 2 * depth);
    list_biased(weight_role::gate_proj, 4 * width, width, visit, depth);
    list_biased(weight_role::up_proj, 4 * width, width, visit, depth);
    list_biased(weight_role::down_proj, width, 4 * width, visit, depth);
    list_biased(weight_role::out_proj, width, width, visit);
}

/// Two linears that embed a scalar or a vector into the width of the model.
constexpr void list_embedder(std::int64_t hidden, std::int64_t from, const weight_visitor& visit) {
    list_biased(weight_role::projector, hidden, from, visit);
    list_biased(weight_role::projector, hidden, hidden, visit);
}

/// The widths that the way down of a UNet keeps: the way up concatenates them in reverse order.
struct kept_widths {
    std::array<std::int64_t, 128> storage{};
    std::size_t count = 0;

    constexpr void push(std::int64_t width) { storage[count++] = width; }
    constexpr std::int64_t pop() { return storage[--count]; }
};

/// The embeddings of the step's time, and of what is added to it.
constexpr void list_time(const unet& u, const unet_visitor& place) {
    const auto on_time = [&](const weight& w) { place(w, {unet_input::time, 0}); };
    const auto visit = visiting<weight>(on_time);
    const std::int64_t first = u.channels[0];
    list_embedder(4 * first, first, visit);
    if (u.added_embedding > 0) list_embedder(4 * first, u.added_embedding, visit);
}

constexpr void list_network(const unet& u, const unet_visitor& place) {
    if (u.levels < 1) return;
    const auto channels = [&](std::int32_t level) { return u.channels[static_cast<std::size_t>(level)]; };
    const auto depth = [&](std::int32_t level) { return std::int64_t{u.depth[static_cast<std::size_t>(level)]}; };
    const auto conv = [&](std::int64_t out, std::int64_t in, std::int32_t level) {
        const auto on_image = [&](const weight& w) { place(w, {unet_input::image, level}); };
        list_conv3(out, in, visiting<weight>(on_image));
    };
    const std::int64_t first = channels(0), time = 4 * first;
    const std::int32_t lowest = u.levels - 1;
    const auto block = [&](std::int64_t in, std::int32_t level, std::int64_t transformers) {
        list_residual(in, channels(level), time, level, place);
        list_spatial_transformer(channels(level), transformers, u.context_width, level, place);
    };
    conv(first, u.in_channels, 0);
    list_time(u, place);
    kept_widths kept;
    kept.push(first);
    std::int64_t width = first;
    for (std::int32_t level = 0; level < u.levels; ++level) {
        for (std::int32_t i = 0; i < u.blocks; ++i) {
            block(width, level, depth(level));
            width = channels(level);
            kept.push(width);
        }
        if (level == lowest) break;
        conv(width, width, level + 1);
        kept.push(width);
    }
    block(width, lowest, u.middle_depth);
    block(width, lowest, 0);
    for (std::int32_t level = lowest; level >= 0; --level) {
        for (std::int32_t i = 0; i <= u.blocks; ++i) {
            block(width + kept.pop(), level, depth(level));
            width = channels(level);
        }
        if (level > 0) conv(width, width, level - 1);
    }
    const auto on_image = [&](const weight& w) { place(w, {unet_input::image, 0}); };
    weight_list{visiting<weight>(on_image)}.norms(norm_kind::layer, first, 1);
    conv(u.out_channels, first, 0);
}

constexpr void list_network(const flow_transformer& f, const weight_visitor& visit) {
    const std::int64_t h = f.hidden();
    constexpr std::int64_t frequencies = 256;  // sinusoids that a scalar is embedded by
    list_biased(weight_role::in_proj, h, f.in_channels, visit);
    list_biased(weight_role::in_proj, h, f.context_width, visit);
    list_embedder(h, frequencies, visit);
    list_embedder(h, f.pooled_width, visit);
    if (f.guidance) list_embedder(h, frequencies, visit);
    const std::int64_t streams = std::int64_t{2} * f.double_blocks;
    list_biased(weight_role::projector, 6 * h, h, visit, streams);  // shift, scale and gate of both halves
    for (const weight_role role : {weight_role::q_proj, weight_role::k_proj, weight_role::v_proj})
        list_biased(role, h, h, visit, streams);
    weight_list{visit}.norms(norm_kind::rms, f.head_dim, 2 * streams);
    list_biased(weight_role::o_proj, h, h, visit, streams);
    list_biased(weight_role::up_proj, 4 * h, h, visit, streams);
    list_biased(weight_role::down_proj, h, 4 * h, visit, streams);
    list_biased(weight_role::projector, 3 * h, h, visit, f.single_blocks);
    list_biased(weight_role::in_proj, 7 * h, h, visit,
                f.single_blocks);  // queries, keys, values and feed-forward in one
    weight_list{visit}.norms(norm_kind::rms, f.head_dim, std::int64_t{2} * f.single_blocks);
    list_biased(weight_role::out_proj, h, 5 * h, visit, f.single_blocks);
    list_biased(weight_role::projector, 2 * h, h, visit);
    list_biased(weight_role::out_proj, f.in_channels, h, visit);
}

}  // namespace detail

/// Calls visit(weight) for every tensor shape of the network.
template <class Visit>
constexpr void for_each_weight(const unet& u, Visit&& visit) {
    const auto alone = [&](const weight& w, const unet_place&) { visit(w); };
    detail::list_network(u, visiting<weight, unet_place>(alone));
}

/// Calls visit(weight, place) for every tensor shape of a UNet, with what it multiplies.
template <class Visit>
constexpr void for_each_placed_weight(const unet& u, Visit&& visit) {
    detail::list_network(u, visiting<weight, unet_place>(visit));
}

/// Calls visit(weight) for every tensor shape of the network.
template <class Visit>
constexpr void for_each_weight(const flow_transformer& f, Visit&& visit) {
    detail::list_network(f, visiting<weight>(visit));
}

/// Unique parameters of a denoising network.
template <class Network>
    requires requires(const Network& n) {
        n.published;
        for_each_weight(n, [](const weight&) {});
    }
constexpr parameter_count count_parameters(const Network& network) {
    parameter_count total;
    for_each_weight(network, [&](const weight& w) { total += w.count(); });
    return total;
}

/// Bytes of a denoising network's weights.
template <class Network>
    requires requires(const Network& n) {
        n.published;
        for_each_weight(n, [](const weight&) {});
    }
constexpr byte_count weight_bytes(const Network& network, const weight_formats& formats) {
    byte_count total;
    for_each_weight(network, [&](const weight& w) { total += size_of(w, formats); });
    return total;
}

/// Refuses a network without levels, and widths that are zero or beyond any model.
constexpr status validate(const unet& u) {
    using detail::bounded_field;
    if (const status s = detail::all_in_range(bounded_field{"in_channels", u.in_channels, 1, 65536},
                                              bounded_field{"out_channels", u.out_channels, 1, 65536},
                                              bounded_field{"levels", u.levels, 1, std::int64_t{unet::max_levels}},
                                              bounded_field{"blocks", u.blocks, 1, 16},
                                              bounded_field{"middle_depth", u.middle_depth, 0, 1024},
                                              bounded_field{"context_width", u.context_width, 0, 1 << 20},
                                              bounded_field{"added_embedding", u.added_embedding, 0, 1 << 20});
        !s)
        return s;
    for (std::size_t level = 0; level < static_cast<std::size_t>(u.levels); ++level) {
        if (const status s = detail::all_in_range(bounded_field{"channels", u.channels[level], 1, 1 << 20},
                                                  bounded_field{"depth", u.depth[level], 0, 1024});
            !s)
            return s;
    }
    return done{};
}

/// Refuses widths that are zero or beyond any model.
constexpr status validate(const flow_transformer& f) {
    using detail::bounded_field;
    return detail::all_in_range(
        bounded_field{"in_channels", f.in_channels, 1, 65536}, bounded_field{"heads", f.heads, 1, 65536},
        bounded_field{"head_dim", f.head_dim, 1, 4096}, bounded_field{"double_blocks", f.double_blocks, 0, 1024},
        bounded_field{"single_blocks", f.single_blocks, 0, 1024},
        bounded_field{"context_width", f.context_width, 1, 1 << 20},
        bounded_field{"pooled_width", f.pooled_width, 1, 1 << 20});
}

// clang-format off
namespace models {

inline constexpr unet stable_diffusion_1_5{
    .name = "stable-diffusion-1.5", .levels = 4, .channels = {320, 640, 1280, 1280}, .depth = {1, 1, 1, 0},
    .context_width = 768,
    .published = parameters(859'520'964)};

inline constexpr unet stable_diffusion_xl{
    .name = "stable-diffusion-xl", .levels = 3, .channels = {320, 640, 1280}, .depth = {0, 2, 10},
    .middle_depth = 10, .context_width = 2048, .added_embedding = 2816,
    .published = parameters(2'567'463'684)};

inline constexpr flow_transformer flux_1_dev{
    .name = "flux.1-dev", .in_channels = 64, .heads = 24, .head_dim = 128, .double_blocks = 19, .single_blocks = 38,
    .context_width = 4096, .pooled_width = 768, .guidance = true,
    .published = parameters(11'901'408'320)};

/// FLUX.1-schnell: as FLUX.1-dev, distilled to need no guidance. Its total is not published.
inline constexpr flow_transformer flux_1_schnell{
    .name = "flux.1-schnell", .in_channels = 64, .heads = 24, .head_dim = 128, .double_blocks = 19, .single_blocks = 38,
    .context_width = 4096, .pooled_width = 768};

}  // namespace models
// clang-format on

}  // namespace llmres::inline v0
