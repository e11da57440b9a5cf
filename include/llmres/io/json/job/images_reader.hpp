// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <llmres/io/json/job_reader.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/models/images.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/units.hpp>
#include <string>
#include <string_view>
#include <system_error>

/// Reads the images of a serving job's prompts: `"image": "1280x720"`, and how many in `runtime.images`.
namespace llmres::inline v0::detail {

/// The sides of an image, as `1280x720`.
inline result<std::array<std::int64_t, 2>> read_image_size(std::string_view field, std::string_view typed) {
    std::array<std::int64_t, 2> sides{};
    const std::size_t between = typed.find_first_of("xX");
    const std::array parts{typed.substr(0, between),
                           between == std::string_view::npos ? std::string_view{} : typed.substr(between + 1)};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string_view part = parts[i];
        const std::from_chars_result read = std::from_chars(part.data(), part.data() + part.size(), sides[i]);
        if (read.ec != std::errc{} || read.ptr != part.data() + part.size() || sides[i] < 1 ||
            sides[i] > longest_image_side)
            return refused(error_code::malformed, field, typed,
                           "WIDTHxHEIGHT in pixels, such as 1280x720, each at most 1048576");
    }
    return sides;
}

/// The images of a prompt: their patches, and the tokens of those whose size is given, which are added to those of the
/// prompt.
inline status read_images(job_reader& read, job& j) {
    const bool is_sized = read.fields().has("image");
    const std::string_view typed = is_sized ? read.fields().text_or("image", "") : std::string_view{};
    j.images.count = read.fields().number_or("images", is_sized ? 1 : 0, 0, most::sequences);
    j.images.patches = tokens(read.fields().number_or("image_patches", 0, 0, most::tokens));
    if (const status s = read.checked(); !s) return s;
    if (!is_sized) return done{};
    const auto sides = read_image_size(read.fields().label("image"), typed);
    if (!sides) return sides.error();
    const image_parts parts = parts_of_image(j.model, (*sides)[0], (*sides)[1]);
    if (parts.tokens == token_count{})
        return refused(error_code::unsupported, "image", typed,
                       "a model with a vision tower whose images are described, or images and image_patches with "
                       "their tokens in prompt");
    if (j.images.patches == token_count{}) j.images.patches = parts.patches;
    const token_count of_all = parts.tokens * j.images.count;
    if (read.fields().has("prompt")) j.prompt += of_all;
    if (j.prompt == token_count{} && j.context > token_count{} && of_all + j.output > j.context)
        return refused(error_code::inconsistent, "context", j.context.in(tokens),
                       "at least the tokens of all images of a prompt: " + std::to_string(of_all.in(tokens)));
    return done{};
}

}  // namespace llmres::inline v0::detail
