// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/values/text.hpp>
#include <string_view>

/// The options of the programs that start a job, a row each: how an option takes its value, and what it says of the
/// job. `make validate-launch` holds the rows against what the programs' own sources declare.
namespace llmres::inline v0::detail {

/// How an option takes its value.
enum class option_value : std::uint8_t {
    value,  ///< the word behind it, or behind an equals sign
    flag,   ///< none; `--no-NAME` denies it
    bare,   ///< none
    maybe,  ///< the word behind it, where that is no option
    many,   ///< the words behind it, up to the next option
    two,    ///< the two words behind it
};

/// What an option says of the job.
enum class option_use : std::uint8_t {
    silent,      ///< nothing: no memory, and no time of a step
    unmodelled,  ///< it changes memory or speed, and no field of a job says how
    whole,       ///< a whole number
    human,       ///< a whole number, with vLLM's multipliers: 1k is 1000, 1K is 1024
    real,        ///< a number
    yes,         ///< true, or false where it is denied
    text,        ///< a word
    json_text,   ///< an object
};

/// An option. `names` have blanks between them. `says` is the key that it sets ("layout.tensor", "runtime.block_size";
/// behind a colon what only together with others says something of the job), or, where it is not modelled, the value
/// that changes nothing.
struct launch_option {
    std::string_view names{};
    option_value takes{};
    option_use use = option_use::silent;
    std::string_view says{};

    /// Whether it has a name; dashes may be underscores.
    constexpr bool is(std::string_view name) const {
        const auto same = [](char a, char b) { return a == b || (a == '_' && b == '-') || (a == '-' && b == '_'); };
        for (std::string_view rest = names; !rest.empty();)
            if (std::ranges::equal(taken_before(rest, " "), name, same)) return true;
        return false;
    }
    /// The name that people know it by: its first.
    constexpr std::string_view name() const { return names.substr(0, names.find(' ')); }
};

/// The options of a program.
struct option_list {
    const launch_option* first = nullptr;
    std::size_t size = 0;

    constexpr option_list() = default;
    template <std::size_t Size>
    constexpr explicit(false) option_list(const std::array<launch_option, Size>& rows)
        : first{rows.data()}, size{Size} {}
    constexpr const launch_option* begin() const { return first; }
    constexpr const launch_option* end() const { return first + size; }
    /// The option of that name; null where there is none.
    constexpr const launch_option* find(std::string_view name) const {
        const launch_option* found = std::find_if(begin(), end(), [&](const launch_option& o) { return o.is(name); });
        return found == end() ? nullptr : found;
    }
};

namespace option_rows {

using enum option_value;
using enum option_use;

inline constexpr auto vllm = std::to_array<launch_option>({
#include "vllm.inc"
});
inline constexpr auto sglang = std::to_array<launch_option>({
#include "sglang.inc"
});
inline constexpr auto llama_cpp = std::to_array<launch_option>({
#include "llama_cpp.inc"
});
inline constexpr auto tensorrt_llm = std::to_array<launch_option>({
#include "tensorrt_llm.inc"
});
inline constexpr auto ollama = std::to_array<launch_option>({
#include "ollama.inc"
});

}  // namespace option_rows

}  // namespace llmres::inline v0::detail
