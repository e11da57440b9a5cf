// SPDX-License-Identifier: MIT
// What keeps every header of the library readable: structs that can be kept in mind, calls that say what they mean, and
// comments that mean something alone. (How long a function may be is clang-tidy's readability-function-size.)
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <llmres/runtimes/all.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;

namespace {

/// C++ without comments, preprocessor lines and the contents of string literals.
std::string bare(const std::string& code) {
    std::string kept;
    std::istringstream lines{code};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#")) continue;
        bool quoted = false;
        for (std::size_t i = 0; i < line.size(); ++i) {
            if (!quoted && line.compare(i, 2, "//") == 0) break;
            if (line[i] == '"') quoted = !quoted;
            if (quoted && line[i] == '\\') ++i;
            if (!quoted || line[i] == '"') kept += line[i];
        }
        kept += '\n';
    }
    return kept;
}

std::string trimmed(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    const auto first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

bool begins_with_any(std::string_view text, const std::vector<std::string_view>& words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return text.starts_with(word); });
}

struct size_of_struct {
    std::string name;
    int fields = 0;
    int booleans = 0;
};

/// A statement of a struct's body, up to its semicolon, that declares data members.
bool declares_data(std::string statement) {
    for (const std::string_view access : {"public:", "private:", "protected:"})
        if (statement.starts_with(access)) statement = trimmed(statement.substr(access.size()));
    if (statement.empty() || begins_with_any(statement, {"using ", "friend ", "static ", "template", "constexpr ",
                                                         "explicit ", "enum ", "operator", "~", "virtual "}))
        return false;
    const std::string declared = statement.substr(0, statement.find_first_of("={"));
    return declared.find('(') == std::string::npos;
}

/// The data members of every struct and class in a header.
std::vector<size_of_struct> structs_of(const std::string& code) {
    std::vector<size_of_struct> found, open;
    std::vector<bool> is_struct;
    std::string statement;
    for (const char c : bare(code)) {
        if (c == '{') {
            const std::string head = trimmed(statement);
            const auto keyword =
                head.rfind("struct ") != std::string::npos ? head.rfind("struct ") : head.rfind("class ");
            const bool opens = keyword != std::string::npos && head.find_first_of("(=", keyword) == std::string::npos &&
                               head.find("enum ") == std::string::npos;
            is_struct.push_back(opens);
            if (opens) open.push_back({.name = head.substr(keyword)});
            statement = opens ? "" : statement + "{";
        } else if (c == '}') {
            if (!is_struct.empty() && is_struct.back()) {
                found.push_back(open.back());
                open.pop_back();
            }
            if (!is_struct.empty()) is_struct.pop_back();
            if (trimmed(statement).ends_with(")") || statement.find(';') != std::string::npos) statement.clear();
        } else if (c == ';') {
            const std::string whole = trimmed(statement);
            if (!is_struct.empty() && is_struct.back() && declares_data(whole)) {
                open.back().fields += 1;
                open.back().booleans += begins_with_any(whole, {"bool ", "const bool "});
            }
            statement.clear();
        } else if (is_struct.empty() || is_struct.back() || c != '\n') {
            statement += c;
        }
    }
    return found;
}

/// The name that a text ends with, but for its template arguments.
std::string last_name(std::string text) {
    text = trimmed(text);
    if (text.ends_with(">")) text.resize((std::min)(text.find('<'), text.size()));
    const auto other =
        std::find_if(text.rbegin(), text.rend(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
    return text.substr(static_cast<std::size_t>(text.rend() - other));
}

/// The calls that are told true or false by the word alone, by the name of what is called. A value that is initialised
/// with nothing else, as in `bool known{true}`, is none.
std::vector<std::string> calls_told_true_or_false(const std::string& code) {
    struct bracket {
        std::string name;
        bool round = false;
        int arguments = 0;
    };
    std::vector<std::string> found;
    std::vector<bracket> open;
    std::string argument;
    for (const char c : bare(code)) {
        const bool ends = c == ')' || c == '}';
        if ((ends || c == ',') && !open.empty()) {
            bracket& in = open.back();
            const std::string word = trimmed(argument);
            ++in.arguments;
            const bool alone = !in.round && in.arguments == 1 && ends;
            if ((word == "true" || word == "false") && !alone && !in.name.empty()) found.push_back(in.name);
            if (ends) open.pop_back();
        }
        if (c == '(' || c == '{') open.push_back({.name = last_name(argument), .round = c == '('});
        if (ends || c == ',' || c == '(' || c == '{' || c == ';')
            argument.clear();
        else
            argument += c;
    }
    return found;
}

/// Whether code compares a text with a name, or looks for it in a text.
bool compared_with(const std::string& code, const std::string& name) {
    if (code.find("\"" + name) == std::string::npos) return false;  // most headers name no engine: no line is read
    const std::string literal = "\"" + std::regex_replace(name, std::regex{"[.]"}, "[.]") + "[^\"a-z0-9]*\"";
    const std::regex compares{"[=!]= *" + literal + "|" + literal +
                              " *[=!]=|[.](starts_with|ends_with|find|contains)\\(" + literal};
    std::istringstream lines{code};
    for (std::string line; std::getline(lines, line);)
        if (line.find(name) != std::string::npos && std::regex_search(line.substr(0, line.find("//")), compares))
            return true;
    return false;
}

/// Calls visit(path, content) for every header of the library.
template <class Visit>
void for_each_header(Visit visit) {
    for (const auto& entry : fs::recursive_directory_iterator{fs::path{LLMRES_SOURCE_DIR} / "include" / "llmres"}) {
        if (entry.path().extension() != ".hpp") continue;
        std::ifstream file{entry.path()};
        visit(entry.path().generic_string(), std::string{std::istreambuf_iterator<char>{file}, {}});
    }
}

}  // namespace

TEST_CASE("data members are told from functions, types and constants") {
    const auto found = structs_of(
        "struct a {\n    int x = 0;  // a comment;\n    bool yes = false;\n    static constexpr int most = 3;\n"
        "    constexpr int f() const { return x; }\n    list<int> values{};\n    using t = int;\n};\n"
        "enum class e { one, two };\nclass b final : a {\npublic:\n    b() = default;\nprivate:\n    int "
        "(*call)(int);\n"
        "    std::array<int, 3> of{1, 2, 3};\n    struct c {\n        bool z{};\n    };\n};\n");
    REQUIRE(found.size() == 3);
    CHECK(found[0].fields == 3);
    CHECK(found[0].booleans == 1);
    CHECK(found[1].fields == 1);
    CHECK(found[1].booleans == 1);
    CHECK(found[2].fields == 1);
}

TEST_CASE("a call that is told true or false is told from values, defaults and loops") {
    const auto found = calls_told_true_or_false(
        "f(bool nested = false);\nbool known{true};\nif (x) { y = f(z(1), true); }\nvisit<int>(false, 1);\n"
        "const kind k{a, false};\n// g(true)\nstd::string s = \"h(true)\";\nx(a == true, f(b ? true : false));\n"
        "table t[] = {{1, true}};\ng(\n    1,\n    true);\n");
    CHECK(found == std::vector<std::string>{"f", "visit", "k", "g"});
}

TEST_CASE("no call is told true or false: what is meant has a name") {
    // Loops without an end; what stands for a field or a value that is absent; calls of other libraries.
    const std::vector<std::string> plain{"while", "flag_or", "value_or", "exchange", "dump", "explicit"};
    for_each_header([&](const std::string& path, const std::string& content) {
        for (const std::string& name : calls_told_true_or_false(content))
            if (std::find(plain.begin(), plain.end(), name) == plain.end()) FAIL_CHECK(path << ": " << name);
    });
}

TEST_CASE("formulas are read without a compiler's limits: no suppressed warning, no word about compilers") {
    const std::regex said{"NOLINT|\\b(gcc|g\\+\\+|clang(?!-format)|evaluator|constant expressions?)\\b",
                          std::regex::icase};
    int headers = 0;
    for_each_header([&](const std::string& path, const std::string& content) {
        for (const char* folder : {"inventory", "jobs", "memory", "models", "runtimes", "time"}) {
            if (path.find("/llmres/" + std::string{folder} + "/") == std::string::npos) continue;
            ++headers;
            std::smatch found;
            if (std::regex_search(content, found, said)) FAIL_CHECK(path << ": " << found.str());
        }
    });
    CHECK(headers > 100);
}

TEST_CASE("no line of a header is longer than 120 columns, be it of a table") {
    int lines = 0;
    for_each_header([&](const std::string& path, const std::string& content) {
        std::istringstream all{content};
        for (std::string line; std::getline(all, line); ++lines)
            if (line.size() > 120) FAIL_CHECK(path << ": " << line);
    });
    CHECK(lines > 50000);
}

TEST_CASE("attributes for the optimiser stand in values/ alone, each for what docs/compilers.md says it buys") {
    int attributes = 0;
    for_each_header([&](const std::string& path, const std::string& content) {
        for (std::size_t at = content.find("[[gnu::"); at != std::string::npos; at = content.find("[[gnu::", at + 1)) {
            ++attributes;
            CHECK_MESSAGE(path.find("/llmres/values/") != std::string::npos, path);
        }
    });
    CHECK(attributes > 0);
    CHECK(attributes <= 25);
}

TEST_CASE("no struct but job has more than 20 fields or 8 booleans") {
    int structs = 0;
    for_each_header([&](const std::string& path, const std::string& content) {
        for (const size_of_struct& s : structs_of(content)) {
            ++structs;
            if (s.name == "struct job") continue;
            CAPTURE(path);
            CAPTURE(s.name);
            CHECK(s.fields <= 20);
            CHECK(s.booleans <= 8);
        }
    });
    CHECK(structs > 100);
}

TEST_CASE("no comment begins with dots: each means something alone") {
    for_each_header([&](const std::string& path, const std::string& content) {
        std::istringstream lines{content};
        for (std::string line; std::getline(lines, line);)
            for (const std::string_view begins : {"/// ...", "///< ...", "// ...", "/// \u2026", "///< \u2026"})
                if (line.find(begins) != std::string::npos) FAIL_CHECK(path << ": " << line);
    });
}

TEST_CASE("no code outside runtimes/ compares the name of an engine: what it does is a value of its profile") {
    CHECK(compared_with("if (name == \"vllm\") return;", "vllm"));
    CHECK(compared_with("if (\"vllm\" != name)", "vllm"));
    CHECK(compared_with("if (name.starts_with(\"vllm\"))", "vllm"));
    CHECK(compared_with("at = all.find(\"vllm@\")", "vllm"));
    CHECK_FALSE(compared_with("find_runtime(\"vllm\")", "vllm"));
    CHECK_FALSE(compared_with("table_of(\"vllm\", rows)", "vllm"));
    CHECK_FALSE(compared_with("// if (name == \"vllm\")", "vllm"));
    std::vector<std::string> names;
    for (const llmres::runtime* r : llmres::runtimes::all) names.emplace_back(r->identity.name.view());
    for_each_header([&](const std::string& path, const std::string& content) {
        if (path.find("/llmres/runtimes/") != std::string::npos) return;
        for (const std::string& name : names) {
            // No engine, and a family of formats as well.
            if (name == "none" || name == "mlx") continue;
            if (compared_with(content, name)) FAIL_CHECK(path << ": " << name);
        }
    });
}
