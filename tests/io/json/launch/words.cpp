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
