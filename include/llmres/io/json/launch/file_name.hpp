// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <llmres/io/model_source.hpp>
#include <llmres/values/find_precision.hpp>
#include <llmres/values/text.hpp>
#include <string>
#include <string_view>

/// What the name of a GGUF file says of it, for who has a command line and not the file.
namespace llmres::inline v0 {

/// A model and the format of its weights, as a file is named after them.
struct named_file {
    std::string model{};    ///< empty: the name says no model that is known
    std::string weights{};  ///< a GGUF mix or a format
};

namespace detail {

/// The name of a GGUF file without its folder, its part ("-00001-of-00002") and its ending; empty for another file.
constexpr std::string_view bare_file_name(std::string_view path) {
    if (!path.ends_with(".gguf")) return {};
    path.remove_suffix(5);
    if (const std::size_t slash = path.find_last_of("/\\"); slash != std::string_view::npos)
        path.remove_prefix(slash + 1);
    return path.substr(0, path.find("-00001-of-"));
}

/// The format of weights that the name of a GGUF file ends with ("Qwen3-8B-Q4_K_M.gguf": Q4_K_M); the whole bare name
/// where it ends with none that is known.
inline std::string_view format_in_file_name(std::string_view path) {
    const std::string_view name = bare_file_name(path);
    for (std::size_t at = name.find_first_of("-."); at != std::string_view::npos;
         at = name.find_first_of("-.", at + 1)) {
        const std::string_view weights = name.substr(at + 1);
        if (find_file_mix(weights) || find_precision("weights", weights)) return weights;
    }
    return name;
}

}  // namespace detail

/// What a file is by its name: "/models/Qwen3-8B-Q4_K_M.gguf", "Llama-3.3-70B-Instruct.Q8_0-00001-of-00002.gguf".
/// Nothing for mixes of a publisher's own (UD-Q2_K_XL), whose types stand in the file alone.
inline named_file by_file_name(std::string_view path) {
    path = detail::bare_file_name(path);
    for (std::size_t at = path.find_first_of("-."); at != std::string_view::npos;
         at = path.find_first_of("-.", at + 1)) {
        const std::string_view model = path.substr(0, at), weights = path.substr(at + 1);
        if (!find_file_mix(weights) && !find_precision("weights", weights)) continue;
        if (find_preset(model)) return {std::string{model}, std::string{weights}};
    }
    return {};
}

}  // namespace llmres::inline v0
