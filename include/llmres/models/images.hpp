// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/models/model.hpp>
#include <llmres/values/square_root.hpp>
#include <llmres/values/units.hpp>

/// Into how many patches does a model's processor cut an image, and how many tokens does the decoder read of them?
namespace llmres::inline v0 {

/// The patches of an image and the tokens that they become.
struct image_parts {
    token_count patches{};  ///< that pass the vision tower
    token_count tokens{};   ///< that the decoder reads
    friend constexpr bool operator==(const image_parts&, const image_parts&) = default;
};

/// The parts of an image of so many pixels, as the processor of the model's tower resizes it (encoder::resize); none
/// where there is no tower of which the largest image is known. Precondition: sides are 1 to 2^20 pixels.
constexpr image_parts parts_of_image(const model& m, std::int64_t width, std::int64_t height);

/// The longest side of an image that is cut into patches, in pixels.
inline constexpr std::int64_t longest_image_side = 1 << 20;

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The largest whole number whose square is not above `n`.
constexpr std::int64_t whole_root(std::int64_t n) {
    auto root = static_cast<std::int64_t>(square_root(static_cast<double>(n)));
    while (root * root > n) --root;
    while ((root + 1) * (root + 1) <= n) ++root;
    return root;
}

/// Pixels of a side of a patch: the patch embedding has three colours of each pixel, of one frame or of two.
constexpr std::int64_t patch_side(const model& m) {
    for (const extra_weight& w : m.extra_weights()) {
        if (w.role != weight_role::conv) continue;
        for (const std::int64_t values : {3, 6})
            if (const std::int64_t side = whole_root(w.columns / values); side * side * values == w.columns)
                return side;
    }
    return 0;
}

/// Sides of a resized image, in squares of patches that become a token.
struct size_in_units {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};

/// Qwen's rule (transformers, image_processing_qwen2_vl.py: smart_resize): both sides become multiples of a token's,
/// and where that has too many pixels, or too few, they are scaled alike first. `unit`: pixels of a token's side.
/// `least`, `most`: tokens of the smallest and of the largest image.
constexpr size_in_units resized_to_area(std::int64_t width, std::int64_t height, std::int64_t unit, std::int64_t least,
                                        std::int64_t most) {
    // Python rounds a half to the even number.
    const auto rounded = [&](std::int64_t pixels) {
        const std::int64_t whole = pixels / unit, twice = 2 * (pixels % unit);
        const bool up = twice > unit || (twice == unit && whole % 2 == 1);
        return whole + (up ? 1 : 0);
    };
    const size_in_units nearest{rounded(height), rounded(width)};
    const double pixels = static_cast<double>(width) * static_cast<double>(height), of_unit = static_cast<double>(unit);
    const auto scaled = [&](std::int64_t side, double by) { return static_cast<double>(side) * by / of_unit; };
    const auto at_least_one = [](double n) { return n < 1 ? std::int64_t{1} : static_cast<std::int64_t>(n); };
    if (nearest.rows * nearest.columns > most) {
        const double by = square_root(static_cast<double>(most) * of_unit * of_unit / pixels);
        return {at_least_one(scaled(height, by)), at_least_one(scaled(width, by))};
    }
    if (nearest.rows * nearest.columns < least) {
        const double by = square_root(static_cast<double>(least) * of_unit * of_unit / pixels);
        const auto up = [](double n) {
            const auto whole = static_cast<std::int64_t>(n);
            return static_cast<double>(whole) < n ? whole + 1 : whole;
        };
        return {up(scaled(height, by)), up(scaled(width, by))};
    }
    return nearest;
}

/// Pixtral's rule (transformers, image_processing_pixtral.py: get_resize_output_image_size): an image whose longer side
/// is beyond the largest is scaled down, and both sides are rounded up to a token's.
constexpr size_in_units resized_to_edge(std::int64_t width, std::int64_t height, std::int64_t unit, std::int64_t edge) {
    const std::int64_t longer = width > height ? width : height;
    const auto units = [&](std::int64_t side) {
        const std::int64_t pixels = longer > edge ? side * edge / longer : side;
        return pixels < 1 ? std::int64_t{1} : (pixels - 1) / unit + 1;
    };
    return {units(height), units(width)};
}

}  // namespace detail

constexpr image_parts parts_of_image(const model& m, std::int64_t width, std::int64_t height) {
    const encoder& tower = m.encoders[0];
    const image_parts largest{tower.image_patches, tower.image_tokens};
    const std::int64_t patch = detail::patch_side(m), patches = largest.patches.in(tokens);
    if (tower.resize == image_resize::to_largest || patch == 0 || patches == 0) return largest;
    if (tower.resize == image_resize::to_area) {
        const std::int64_t merged = patches / largest.tokens.in(tokens), unit = patch * detail::whole_root(merged);
        const detail::size_in_units cut = detail::resized_to_area(
            width, height, unit, tower.least_image_tokens.in(tokens), largest.tokens.in(tokens));
        return {tokens(cut.rows * cut.columns * merged), tokens(cut.rows * cut.columns)};
    }
    // One token of each square and one at the end of each row: n (n + 1) of the largest image.
    const std::int64_t side = detail::whole_root(patches), squares = detail::whole_root(largest.tokens.in(tokens));
    const std::int64_t unit = patch * side / squares;
    const detail::size_in_units cut = detail::resized_to_edge(width, height, unit, patch * side);
    const std::int64_t each = (unit / patch) * (unit / patch);
    return {tokens(cut.rows * cut.columns * each), tokens(cut.rows * (cut.columns + 1))};
}

}  // namespace llmres::inline v0
