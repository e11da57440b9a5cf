// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// How other tools spell what this program takes: their options, their words and their units.
namespace program {

/// What was typed behind a command that takes a job or a model, with the program's own flags and words; `flags` are
/// those of the command, without dashes. An option of another tool stands for
/// one of the program's (`--max-model-len 4k` is `--context 4k`) or for several (`--qlora`). `notes` gets a sentence
/// for each option that has no bearing on a plan. An option that nobody knows stays as it is. The first `of_line` words
/// are those of a trainer's line or file, which give way to what stands behind them.
std::vector<std::string> own_spelling(const std::vector<std::string>& typed, const std::vector<std::string>& flags,
                                      std::vector<std::string>& notes, std::size_t of_line = 0);

/// Whether words name GPUs, with a number of each or without, several kinds between commas: `2x RTX 3090`.
bool names_gpus(const std::string& words);

/// The value of a flag: a number with its unit (`4k` tokens, `10GB`, `90%`) in the flag's own unit, or the text as it
/// is. A unit that could mean two things is refused with both.
nlohmann::json value_in_own_unit(std::string_view flag, const std::string& typed);

/// A price without its currency, and the currency by its name of ISO 4217: $2.50/h, 2.50 EUR. Empty where it has none;
/// one that nobody knows is refused.
struct priced_text {
    std::string price;
    std::string currency;
};
priced_text without_currency(std::string_view flag, const std::string& typed);

/// Every option of other tools with what it stands for, for the documentation: "--tp  --tensor".
std::vector<std::pair<std::string, std::string>> all_option_aliases();

}  // namespace program
