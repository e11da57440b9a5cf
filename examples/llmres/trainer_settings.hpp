// SPDX-License-Identifier: MIT
#pragma once

#include "config_file.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The settings of trainers, a row each, and what they say of a job in options of this program.
namespace program {

/// What a setting is.
enum class setting_use : std::uint8_t {
    silent,      ///< without a bearing on memory or on the time of a step
    unmodelled,  ///< it changes memory or speed, and no field of a job says how
    whole,       ///< a whole number of at least 1
    count,       ///< a whole number, also 0 and -1
    real,        ///< a number
    yes,         ///< true or false
    text,        ///< a word, or several with commas between them
    path,        ///< a text that may be of any kind, also a variable
    word,        ///< one of the words that `says` has
};

/// A setting of a trainer. `names` are its path and other names of it, with blanks between them; it is meant by what
/// stands below it, too, where it is silent or not modelled. `says` is
/// - of a number or a text the option that it sets, `sequence`;
/// - of `yes` what it sets if it is true and, behind a bar, if it is false: `recompute=full|recompute=none`;
/// - of a word what each word sets: `auto>|eager sdpa>attention=eager`; a star stands for any other word, of which a
///   tilde in place of options says that it is not modelled;
/// - of what is not modelled the values that change nothing, with blanks between them.
/// Behind a colon is what the trainer's own code makes something of.
struct trainer_setting {
    std::string_view names;
    setting_use use = setting_use::silent;
    std::string_view says = "";
};

/// A trainer, and all of its settings that are known.
struct trainer {
    std::string_view name;
    std::span<const trainer_setting> settings;
};

/// A setting that is given: in a file, or on the command line, which is then how it is written there.
struct given_setting {
    std::string value;
    std::string written{};  ///< "--micro-batch-size 2"; empty: it stands in a file
};
using given_settings = std::map<std::string, given_setting, std::less<>>;

/// What settings say.
struct told_settings {
    std::vector<std::string> options{};                      ///< that own_spelling() reads: "--sequence=4096"
    std::map<std::string, std::string, std::less<>> kept{};  ///< what stands behind a colon in the rows
    std::vector<std::string> notes{};                        ///< sentences on what is not planned

    /// What is kept under a name; empty where nothing is.
    std::string text(std::string_view name) const;
    /// The whole number that is kept under a name.
    std::int64_t number(std::string_view name, std::int64_t otherwise) const;
    /// Whether "true" is kept under a name.
    bool is(std::string_view name) const { return text(name) == "true"; }
};

/// Reads settings by the rows of their trainer. One that no row has is a note where it stands in a file, and refused
/// on a command line; a value that a row does not have is refused by the setting's name.
told_settings told_by(const trainer& of, const given_settings& given);

/// The settings of a file.
given_settings given_by(const std::string& file);

/// Adds the settings of a command line, from a word on: `--name value`, `--name=value`, `--name` and `name=value`. The
/// name is compared with underscores in place of dashes. An option takes one word, or all up to the next option.
/// Returns the other words; what stands behind `--` is left to `launcher`.
enum class words_taken : std::uint8_t { one, all };
std::vector<std::string> take_arguments(given_settings& given, const std::vector<std::string>& words,
                                        words_taken taken = words_taken::one);

}  // namespace program
