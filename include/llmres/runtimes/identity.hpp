// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <llmres/runtimes/command_line.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// Which software a runtime profile describes: its name, what it is for, and the versions its constants hold for.
namespace llmres::inline v0 {

/// The numbers of a release or of a build: "0.8.5.post1" is {0, 8, 5}, "b2824" is {2824}.
struct runtime_version {
    std::int32_t major = 0;  ///< the first number
    std::int32_t minor = 0;  ///< the second number
    std::int32_t patch = 0;  ///< the third number
    friend constexpr auto operator<=>(const runtime_version&, const runtime_version&) = default;
    friend constexpr bool operator==(const runtime_version&, const runtime_version&) = default;
};

/// What a runtime is for.
enum class runtime_work : std::uint8_t {
    any,       ///< both, or no software at all
    serving,   ///< inference
    training,  ///< pretraining and finetuning
};

/// The name of a runtime, what it is for, and the versions that its profile holds for.
struct runtime_identity {
    text<23> name{};                        ///< The runtime's name.
    runtime_work work = runtime_work::any;  ///< What the runtime is for.
    text<31> versions{};                    ///< The versions that the constants were taken from, in words.
    runtime_version since{};                ///< The first version that the profile is meant for; null: any.
    runtime_version before{};  ///< The first version that the profile no longer holds for; null: none is known.
    /// year.month.day of the first build that the profile holds for, where builds have no number; null: none.
    runtime_version built{};
    knob_list knobs{};  ///< The software's own names of what a caller may set, and what each sets.
    /// Which of the library's launchers writes the command that starts the runtime; null: none does.
    const llmres::launcher* launcher = nullptr;
    friend constexpr bool operator==(const runtime_identity& a, const runtime_identity& b) {
        return a.name == b.name && a.versions == b.versions;
    }
};

/// True if the profile is meant for that version.
constexpr bool covers(const runtime_identity& r, runtime_version asked) {
    return r.since <= asked && (r.before == runtime_version{} || asked < r.before);
}

/// The version that a text begins with: "0.8.5.post1", "v0.8", "b2824", "build 2824 (4426e298)". Empty where the text
/// begins with no number, and for a date ("2024-04"), which numbers no release.
constexpr maybe<runtime_version> read_version(std::string_view written) {
    for (const std::string_view head : {"build ", "v", "b"})
        if (written.starts_with(head)) {
            written.remove_prefix(head.size());
            break;
        }
    const std::size_t digits = written.find_first_not_of("0123456789");
    const std::string_view rest = digits == std::string_view::npos ? std::string_view{} : written.substr(digits);
    if (written.empty() || digits == 0 || (rest.starts_with('-') && rest.size() > 1 && detail::is_digit(rest[1])))
        return {};
    runtime_version found;
    std::int32_t* const parts[] = {&found.major, &found.minor, &found.patch};
    std::size_t at = 0;
    for (std::int32_t* part : parts) {
        while (at < written.size() && detail::is_digit(written[at]) && *part < 100'000'000)
            *part = *part * 10 + (written[at++] - '0');
        if (at >= written.size() || written[at] != '.') break;
        ++at;
    }
    return found;
}
/// The date that a text is, as the build of software without releases is named: "2025-03", "2025-03-24" (a month
/// without its day stands before all its days). Empty for anything else.
constexpr maybe<runtime_version> read_date(std::string_view written) {
    if (written.size() != 7 && written.size() != 10) return {};
    runtime_version found;
    for (std::size_t i = 0; i < written.size(); ++i) {
        if (i == 4 || i == 7) {
            if (written[i] != '-') return {};
            continue;
        }
        if (!detail::is_digit(written[i])) return {};
        std::int32_t& part = i < 4 ? found.major : i < 7 ? found.minor : found.patch;
        part = part * 10 + (written[i] - '0');
    }
    return found.minor >= 1 && found.minor <= 12 && found.patch <= 31 ? maybe<runtime_version>{found}
                                                                      : maybe<runtime_version>{};
}
/// As read_version(); zero where the text begins with no version.
constexpr runtime_version to_version(std::string_view written) { return read_version(written).value_or({}); }

}  // namespace llmres::inline v0
