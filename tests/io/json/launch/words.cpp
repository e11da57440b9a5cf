// SPDX-License-Identifier: MIT
#include <llmres/io/json/launch/words.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace llmres;

namespace {

using commands = std::vector<std::vector<std::string>>;

commands split(std::string_view text) {
    commands all;
    const auto read = detail::shell_commands(text);
    REQUIRE(read);
    for (const auto& words : *read) {
        all.emplace_back();
        for (const detail::shell_word& word : words) all.back().push_back(word.text);
    }
    return all;
}

error refusal_of(std::string_view text) { return detail::shell_commands(text).error(); }

/// What the first word with a variable names.
std::string variable_of(std::string_view text) {
    const auto read = detail::shell_commands(text);
    REQUIRE(read);
    for (const auto& words : *read)
        for (const detail::shell_word& word : words)
            if (!word.variable.empty()) return word.variable;
    return "";
}

}  // namespace

TEST_CASE("words are split as a shell splits them") {
    CHECK(split("a  b\tc") == commands{{"a", "b", "c"}});
    CHECK(split("a 'b c' \"d e\"f") == commands{{"a", "b c", "d ef"}});
    CHECK(split(R"(a \"b\" c\ d)") == commands{{"a", "\"b\"", "c d"}});
    CHECK(split(R"(--x '{"a": "b"}' "{\"a\": 1}")") == commands{{"--x", R"({"a": "b"})", R"({"a": 1})"}});
    CHECK(split("a '' b") == commands{{"a", "", "b"}});
    CHECK(split("").empty());
}

TEST_CASE("a line goes on behind a backslash, also where blanks follow it, and where the next begins with an option") {
    CHECK(split("a \\\n  b") == commands{{"a", "b"}});
    CHECK(split("a \\  \n  --b \\") == commands{{"a", "--b"}});
    CHECK(split("a ^\r\n b") == commands{{"a", "b"}});
    CHECK(split("a\n  -b 1\n  --c 2\nd") == commands{{"a", "-b", "1", "--c", "2"}, {"d"}});
}

TEST_CASE("commands are told apart, comments and redirections left out") {
    CHECK(split("cd x && a -b; c | d &") == commands{{"cd", "x"}, {"a", "-b"}, {"c"}, {"d"}});
    CHECK(split("a 1 > log 2>&1 b") == commands{{"a", "1", "b"}});
    CHECK(split("a --n 5 # five\nb") == commands{{"a", "--n", "5"}, {"b"}});
    CHECK(split("a#b") == commands{{"a#b"}});
    CHECK(split("> a > log") == commands{{"a"}});
    CHECK(split("```sh\na \\\n  b \\\n```") == commands{{"a", "b"}});
    CHECK(split("serve <MODEL> --n <number>") == commands{{"serve", "<MODEL>", "--n", "<number>"}});
}

TEST_CASE("a path of Windows keeps its backslashes") {
    CHECK(split(R"(llama-server.exe -m models\7B\model.gguf)") ==
          commands{{"llama-server.exe", "-m", R"(models\7B\model.gguf)"}});
}

TEST_CASE("variables and commands are named, and stay as they are written") {
    CHECK(split("a $MODEL ${B:-c d} $(pwd; ls) `x y` \"$C\"") ==
          commands{{"a", "$MODEL", "${B:-c d}", "$(pwd; ls)", "`x y`", "$C"}});
    CHECK(variable_of("a $MODEL") == "$MODEL");
    CHECK(variable_of("a \"x/${B}/y\"") == "${B}");
    CHECK(variable_of("a '$MODEL'").empty());
    CHECK(variable_of(R"(a \$MODEL)").empty());
    CHECK(variable_of("a $(pwd)") == "$(pwd)");
}

TEST_CASE("what is no line is refused by name") {
    CHECK(refusal_of("a 'b").expected == "a quote that is closed");
    CHECK(refusal_of("a ${b").expected == "a bracket that is closed");
    CHECK(refusal_of(std::string_view{"a\0b", 3}).value == "a control character");
    CHECK(refusal_of("a '\x01'").value == "a control character");
    CHECK(refusal_of("a \\\x01").value == "a control character");
    CHECK(refusal_of("a \"\x7f\"").value == "a control character");
    CHECK(refusal_of(std::string(10'000'000, 'a')).code == error_code::out_of_range);
    std::string many;
    for (int i = 0; i < 30'000; ++i) many += "a ";
    CHECK(refusal_of(many).value == "too many words");
}

TEST_CASE("each character of a shell, where it means something and where it is one of a word") {
    struct row {
        std::string_view text;
        commands expected;
    };
    const row rows[] = {
        {"\r\n\t ", {}},
        {"a\r\nb\r\n", {{"a"}, {"b"}}},
        {"a\n\n \t\nb", {{"a"}, {"b"}}},
        {"a\n--b\nc\n-d", {{"a", "--b"}, {"c", "-d"}}},
        {"a\n", {{"a"}}},
        // What goes on in the next line.
        {"a\\\nb", {{"a", "b"}}},
        {"a \\", {{"a"}}},
        {"a\\", {{"a"}}},
        {"a \\\t \r\nb", {{"a", "b"}}},
        {"a \\\n\nb", {{"a"}, {"b"}}},
        {"a ^\nb", {{"a", "b"}}},
        {"a `\nb", {{"a", "b"}}},
        {"a ^ b", {{"a", "^", "b"}}},
        {"a^\nb", {{"a^"}, {"b"}}},
        // Backslashes.
        {R"(a\b)", {{R"(a\b)"}}},
        {R"(a \; b\|c d\&)", {{"a", ";", "b|c", "d&"}}},
        {R"(\#a \\b \*)", {{"#a", R"(\b)", "*"}}},
        {"a\\\tb", {{"a\tb"}}},
        // Quotes.
        {R"("a\b\"c\\d\$e\`f")", {{R"(a\b"c\d$e`f)"}}},
        {"\"a\\\nb\"", {{"ab"}}},
        {"'a\\' b", {{"a\\", "b"}}},
        {"'a\nb' c", {{"a\nb", "c"}}},
        {R"('a"b' "c'd")", {{"a\"b", "c'd"}}},
        {"a''b\"\"", {{"ab"}}},
        {"\"\"", {{""}}},
        {"$'a b' $\"c d\"", {{"a b", "$c d"}}},
        // Comments and the fences of Markdown.
        {"# a\nb", {{"b"}}},
        {"a # b\n-c", {{"a", "-c"}}},
        {"a #", {{"a"}}},
        {"a b#c", {{"a", "b#c"}}},
        {"```bash\na", {{"a"}}},
        {"> a\n> b", {{"a"}, {"b"}}},
        {">>a", {{"a"}}},
        {">a b", {{"a", "b"}}},
        {"\\", {}},
        {"a ``b $()c", {{"a", "``b", "$()c"}}},
        // What separates commands.
        {"a;b|c&d", {{"a"}, {"b"}, {"c"}, {"d"}}},
        {"a && b || c", {{"a"}, {"b"}, {"c"}}},
        {"; a", {{"a"}}},
        // What is written elsewhere.
        {"a >b c", {{"a", "c"}}},
        {"a >> b c", {{"a", "c"}}},
        {"a < b c", {{"a", "c"}}},
        {"a 2> b c", {{"a", "c"}}},
        {"a 1> b c", {{"a", "c"}}},
        {"a 3> b c", {{"a", "3", "c"}}},
        {"a 12> b c", {{"a", "12", "c"}}},
        {"a &> b c", {{"a", "c"}}},
        {"a &>> b c", {{"a", "c"}}},
        {"a 2>&1 | b", {{"a"}, {"b"}}},
        {"a >\nb", {{"a"}, {"b"}}},
        {"a > 'b c' d", {{"a", "d"}}},
        {"a >", {{"a"}}},
        {"a > b", {{"a"}}},
        // What people leave to be filled in.
        {"a <B> <c>d", {{"a", "<B>", "<c>d"}}},
        {"a <b c> d e", {{"a", "c", "e"}}},
        {"a <> b c", {{"a", "c"}}},
        {"a --x=<B>", {{"a", "--x=<B>"}}},
        // Variables and commands.
        {"a $ b", {{"a", "$", "b"}}},
        {"a $", {{"a", "$"}}},
        {"a$B-c", {{"a$B-c"}}},
        {"a ${B c}d", {{"a", "${B c}d"}}},
        {"a $(b 'c; d')e", {{"a", "$(b 'c; d')e"}}},
        {"a x`b c`d", {{"a", "x`b c`d"}}},
    };
    for (const row& r : rows) {
        CAPTURE(r.text);
        CHECK(split(r.text) == r.expected);
    }
}

TEST_CASE("a variable is named as it is written, whatever stands around it") {
    struct row {
        std::string_view text, variable;
    };
    const row rows[] = {{"a", ""},
                        {"$A", "$A"},
                        {"$A_b1-c", "$A_b1"},
                        {"x$A/y", "$A"},
                        {"$", ""},
                        {"$-", ""},
                        {"\"$\"", ""},
                        {"\"a$B c\"", "$B"},
                        {"\"$A$B\"", "$A"},
                        {"$A$B", "$A"},
                        {"'$A'$B", "$B"},
                        {"${A:-b c}d", "${A:-b c}"},
                        {"$(a b)c", "$(a b)"},
                        {"`a b`c", "`a b`"},
                        {"\"`a b`c\"", "`a b`"},
                        {R"("\$A")", ""},
                        {R"("\\$A")", "$A"},
                        {"$'A'", ""}};
    for (const row& r : rows) {
        CAPTURE(r.text);
        CHECK(variable_of(r.text) == r.variable);
    }
    const std::string longer = "$(" + std::string(100, 'a') + ")";
    CHECK(variable_of(longer) == longer.substr(0, 64));
    CHECK(variable_of("\"" + longer + "\"") == longer.substr(0, 64));
}

TEST_CASE("lines are bounded, and what is refused of them is shown from where it begins") {
    CHECK(split(std::string(std::size_t{1} << 20, ' ')).empty());
    CHECK(refusal_of(std::string((std::size_t{1} << 20) + 1, ' ')).value == "1048577 bytes");
    CHECK(refusal_of(std::string((std::size_t{1} << 20) + 1, ' ')).expected == "at most 1 MiB");
    const auto words = [](int count) {
        std::string line;
        for (int i = 0; i < count; ++i) line += "a ";
        return line;
    };
    CHECK(split(words(5'000)).front().size() == 5'000);
    CHECK(refusal_of(words(5'001)).value == "too many words");
    CHECK(refusal_of(words(5'001)).expected == "at most 5,000");
    for (int c = 1; c < 128; ++c) {
        CAPTURE(c);
        const bool is_text = c >= ' ' && c < 127;
        const bool is_blank = c == '\t' || c == '\r' || c == '\n';
        const auto read = detail::shell_commands(std::string{"ab"} + static_cast<char>(c) + "''");
        if (is_text || is_blank) {
            CHECK((read || read.error().value != "a control character"));
        } else {
            REQUIRE_FALSE(read);
            CHECK(read.error().value == "a control character");
            CHECK(read.error().code == error_code::malformed);
        }
    }
    const std::string tail(60, 'x');
    for (const char* quote : {"'", "\""}) {
        CHECK(refusal_of("a " + (quote + tail)).value == quote + tail.substr(0, 40));
        CHECK(refusal_of("a " + (quote + tail)).expected == "a quote that is closed");
    }
    for (const char* open : {"${", "$(", "`"}) {
        CHECK(refusal_of("a " + (open + tail)).value == (open + tail).substr(0, 40));
        CHECK(refusal_of("a " + (open + tail)).expected == "a bracket that is closed");
    }
    CHECK(refusal_of("'").field == "line");
    CHECK(refusal_of("$'").value == "'");
    CHECK(refusal_of("a $(").value == "$(");
    CHECK(refusal_of("a \"b\\").value == "\"b\\");
}
