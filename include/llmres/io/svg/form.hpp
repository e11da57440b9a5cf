// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

/// Text with numbers in it, for pictures. Pictures need what {fmt} does in five places of a form, and no library for
/// it.
namespace llmres::inline v0::detail {

/// What stands in a place of a form.
class form_value {
public:
    template <std::convertible_to<std::string_view> Text>
    explicit form_value(const Text& text) : text_{text} {}
    template <std::integral Whole>
    explicit form_value(Whole number) : whole_{static_cast<std::int64_t>(number)}, kind_{kind::whole} {}
    explicit form_value(double number) : real_{number}, kind_{kind::real} {}

    /// Appends the value as printf would, whatever the locale: "" and ".1f" and ".3g" and "g".
    void append_to(std::string& written, std::string_view how) const {
        if (kind_ == kind::text) {
            written.append(text_);
            return;
        }
        std::array<char, 400> digits{};  // the largest double has 309 before its point
        char* const begin = digits.data();
        char* const end = begin + digits.size();
        const bool general = how.ends_with('g');
        int precision = 6;
        if (how.starts_with('.')) std::from_chars(how.data() + 1, how.data() + how.size(), precision);
        const std::to_chars_result to =
            kind_ == kind::whole ? std::to_chars(begin, end, whole_)
            : how.empty()        ? std::to_chars(begin, end, real_)
                                 : std::to_chars(begin, end, real_,
                                          general ? std::chars_format::general : std::chars_format::fixed, precision);
        written.append(begin, to.ptr);
    }

private:
    enum class kind : std::uint8_t { text, whole, real };
    std::string_view text_{};
    std::int64_t whole_ = 0;
    double real_ = 0;
    kind kind_ = kind::text;
};

/// The form with values in the places of {}, {:.1f} or {1:.1f}; {{ and }} are braces.
inline std::string filled_with(std::string_view form, std::initializer_list<form_value> values) {
    std::string written;
    written.reserve(form.size() + 16 * values.size());
    std::size_t next = 0;
    while (!form.empty()) {
        const std::size_t brace = form.find_first_of("{}");
        written.append(form.substr(0, brace));
        if (brace == form.npos) break;
        form.remove_prefix(brace);
        if (form.substr(1, 1) == form.substr(0, 1)) {
            written += form.front();
            form.remove_prefix(2);
            continue;
        }
        std::string_view place = form.substr(1, form.find('}') - 1);
        form.remove_prefix(place.size() + 2);
        std::size_t index = next;
        const std::string_view said = place.substr(0, place.find(':'));
        if (said.empty())
            ++next;
        else
            std::from_chars(said.data(), said.data() + said.size(), index);
        place.remove_prefix(said.size() < place.size() ? said.size() + 1 : said.size());
        if (index < values.size()) (values.begin() + index)->append_to(written, place);
    }
    return written;
}

template <class... Values>
std::string filled(std::string_view form, const Values&... values) {
    return filled_with(form, {form_value{values}...});
}

}  // namespace llmres::inline v0::detail
