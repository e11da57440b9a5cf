// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <llmres/io/logs/rows.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <string>
#include <string_view>
#include <system_error>

/// Numbers, units, names and ranks as lines of logs have them.
namespace llmres::inline v0::logs::detail {

/// A number of a line, with half of its last digit and what stands behind it.
struct written_number {
    double value = 0;
    double printed_to = 0;
    std::string_view rest{};
};

using llmres::detail::is_digit;

/// The number at the beginning of a text, behind blanks, dots, commas and marks; thousands may have commas. Empty where
/// another word comes first.
inline maybe<written_number> read_number(std::string_view text) {
    std::size_t at = 0;
    bool negative = false;
    while (at < text.size() && !is_digit(text[at])) {
        constexpr std::string_view skipped = " =:|~'\"[(.,";
        negative = text[at] == '-' && at + 1 < text.size() && is_digit(text[at + 1]);
        if (at > 96 || (!negative && skipped.find(text[at]) == std::string_view::npos)) return {};
        ++at;
    }
    std::string digits;
    double last_place = 1;
    bool fraction = false;
    for (; at < text.size() && digits.size() < 24; ++at) {
        const char c = text[at];
        const bool digit_follows = at + 1 < text.size() && is_digit(text[at + 1]);
        if (is_digit(c)) {
            digits += c;
            if (fraction) last_place /= 10;
        } else if (c == '.' && !fraction && digit_follows) {
            digits += c;
            fraction = true;
        } else if (c != ',' || fraction || !digit_follows || text.size() - at < 4 || !is_digit(text[at + 2]) ||
                   !is_digit(text[at + 3])) {
            break;
        }
    }
    if (digits.empty()) return {};
    written_number n;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), n.value).ec != std::errc{}) return {};
    if (negative) n.value = -n.value;
    n.printed_to = fraction ? last_place / 2 : 0;
    n.rest = text.substr(at);
    return n;
}

/// A switch that is printed in words: one or zero. Empty where it is neither (llama.cpp's "auto").
inline maybe<written_number> read_switch(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '=')) text.remove_prefix(1);
    written_number n;
    n.rest = text;
    n.value = text.starts_with("enabled") ? 1 : 0;
    return n.value == 1 || text.starts_with("disabled") ? maybe<written_number>{n} : maybe<written_number>{};
}

/// Bytes of a unit as engines write it. KB and KiB are the same to them. Zero for any other word.
inline double bytes_of_unit(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    if (text.starts_with("TiB") || text.starts_with("TB")) return 1099511627776.0;
    if (text.starts_with("GiB") || text.starts_with("GB")) return 1073741824.0;
    if (text.starts_with("MiB") || text.starts_with("MB")) return 1048576.0;
    if (text.starts_with("KiB") || text.starts_with("KB") || text.starts_with("kB")) return 1024.0;
    return text.starts_with("B") || text.starts_with("bytes") ? 1.0 : 0.0;
}

/// What a number of a row is worth in bytes, seconds or as it is; zero where its unit is missing.
inline double worth(unit u, std::string_view rest) {
    switch (u) {
        case unit::gib: return 1073741824.0;
        case unit::mib:
        case unit::whole_mib: return 1048576.0;
        case unit::as_written: return bytes_of_unit(rest);
        case unit::ms: return 1e-3;
        case unit::one:
        case unit::byte:
        case unit::second:
        case unit::none: break;
    }
    return 1.0;
}

/// How many words a name may have.
enum class name_words : bool { several, one };

/// A name at the beginning of a text: up to the quote that `before` opens or that it begins with; else up to a comma, a
/// bracket or the end, and of one word, a blank. Empty where it is longer than a name is, or holds anything but
/// letters, digits and the marks of names: what people type does not pass.
inline std::string read_name(std::string_view text, char opened = 0, name_words words = name_words::several) {
    while (opened == 0 && !text.empty() && (text.front() == ' ' || text.front() == '=')) text.remove_prefix(1);
    if (opened == 0 && !text.empty() && (text.front() == '\'' || text.front() == '"')) {
        opened = text.front();
        text.remove_prefix(1);
    }
    std::size_t end =
        opened != 0 ? text.find(opened) : text.find_first_of(words == name_words::one ? " ,)]}'\"" : ",)]}'\"");
    if (opened == 0 && end == std::string_view::npos) end = text.size();
    if (end == std::string_view::npos || end == 0 || end > 160) return {};
    text = text.substr(0, end);
    if (const std::size_t with = text.find(" with "); with != std::string_view::npos) text = text.substr(0, with);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    for (const char c : text) {
        const bool named = llmres::detail::is_lower_or_digit(llmres::detail::lower_case(c));
        if (!named && std::string_view{" -_./:+(@~"}.find(c) == std::string_view::npos) return {};
    }
    return text == "n/a" || text == "None" ? std::string{} : std::string{text};
}

/// The rank that a line is printed by, or the number of its process where it names no rank; -1 where it names neither:
/// "[TP1]", "(Worker_TP0 pid=7)", "(VllmWorker rank=1 pid=7)", "[rank0]:", "[Rank 3]", "[1,3]<stdout>:", "gpu_id=1".
inline std::int64_t rank_of(std::string_view line) {
    const std::string_view head = line.substr(0, 160);
    for (const std::string_view mark : {" TP", "_TP", "[TP", "rank=", "[rank", "[Rank ", "gpu_id=", "[1,", "pid="}) {
        const std::size_t found = head.find(mark);
        if (found == std::string_view::npos) continue;
        std::int64_t rank = 0;
        const char* first = head.data() + found + mark.size();
        const auto read = std::from_chars(first, head.data() + head.size(), rank);
        if (read.ec == std::errc{} && rank >= 0) return rank;
    }
    return -1;
}

/// The word before a position: a device of ggml, "CUDA0" or "device=CUDA0". In a row of llama.cpp's table of memory the
/// word that begins it: "|   - CUDA0 (RTX 4090)".
inline std::string_view device_before(std::string_view line, std::size_t at) {
    constexpr std::string_view row_begins = "|   - ";
    if (const std::size_t row = line.find(row_begins); row != std::string_view::npos) {
        const std::string_view named = line.substr(row + row_begins.size(), 32);
        return named.substr(0, named.find(' '));
    }
    while (at > 0 && line[at - 1] == ' ') --at;
    std::size_t begin = at;
    while (begin > 0 && line[begin - 1] != ' ' && at - begin < 32) --begin;
    const std::string_view word = line.substr(begin, at - begin);
    return word.starts_with("device=") ? word.substr(7) : word;
}

/// Takes escape sequences of terminals out of a line, and other control characters.
inline void strip_colours(std::string& line) {
    bool controls = false;
    for (const char c : line) controls |= static_cast<unsigned char>(c) < ' ';
    if (!controls) return;
    std::size_t out = 0;
    for (std::size_t in = 0; in < line.size(); ++in) {
        const char c = line[in];
        if (c == '\x1b') {
            if (in + 1 < line.size() && line[in + 1] == '[') {
                in += 2;
                while (in < line.size() && !(line[in] >= '@' && line[in] <= '~')) ++in;
            }
            continue;
        }
        if (static_cast<unsigned char>(c) >= ' ' || c == '\t') line[out++] = c == '\t' ? ' ' : c;
    }
    line.resize(out);
}

}  // namespace llmres::inline v0::logs::detail
