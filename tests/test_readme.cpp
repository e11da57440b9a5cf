// SPDX-License-Identifier: MIT
// The code and the output that README.md and docs/ show are real. A marker above a fenced block says where from:
//
//   <!-- from: examples/fits.cpp [tag] -->   the lines between two `// [tag]` lines; without a tag, the whole file
//   <!-- output of: llmres plan ... -->      what the program prints; the block may begin with the command after "$ "
//
// and one above a table says in which document's tables each of its rows stands, but for the first cell:
//
//   <!-- rows of: docs/accuracy.md -->
#include <sys/wait.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/models/all.hpp>
#include <llmres/time/breakdown.hpp>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;

namespace {

/// Where the texts come from; nothing if there is no such file, or no such program.
struct sources {
    std::function<std::optional<std::string>(const std::string& path)> file;
    std::function<std::optional<std::string>(const std::string& command)> output;
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

/// The lines without the indentation that they share: a region comes from inside a function.
std::string dedented(const std::vector<std::string>& lines) {
    std::size_t shared = std::string::npos;
    for (const std::string& line : lines) shared = std::min(shared, line.find_first_not_of(' '));
    std::string text;
    for (const std::string& line : lines) text += (line.size() > shared ? line.substr(shared) : "") + '\n';
    return text;
}

/// The lines between the first two `// [tag]`; nothing if there are no such two.
std::optional<std::string> region_of(const std::string& content, const std::string& tag) {
    std::vector<std::string> region;
    bool inside = false;
    for (const std::string& line : lines_of(content)) {
        if (line.ends_with("// " + tag)) {
            if (inside) return dedented(region);
            inside = true;
        } else if (inside) {
            region.push_back(line);
        }
    }
    return std::nullopt;
}

/// Everything in which the document's marked blocks differ from their sources, in words; empty if nothing.
std::vector<std::string> disagreements(const std::string& document, const sources& from) {
    static const std::regex code{R"(<!-- from: (\S+)(?: (\[\S+\]))? -->)"};
    static const std::regex output{R"(<!-- output of: (.+) -->)"};
    static const std::regex meant_as_marker{R"(<!--\s*(from|output of)\b)"};

    std::vector<std::string> found;
    const std::vector<std::string> lines = lines_of(document);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::smatch marker;
        if (!std::regex_search(lines[i], meant_as_marker)) continue;
        const bool is_code = std::regex_match(lines[i], marker, code);
        if (!is_code && !std::regex_match(lines[i], marker, output)) {
            found.push_back(lines[i] + ": not a marker this test reads");
            continue;
        }
        const std::string& where = lines[i];
        if (i + 1 == lines.size() || !lines[i + 1].starts_with("```")) {
            found.push_back(where + ": no fenced block below");
            continue;
        }
        std::string shown;
        std::size_t line = i + 2;
        if (!is_code && line < lines.size() && lines[line] == "$ " + marker[1].str()) ++line;
        for (; line < lines.size() && !lines[line].starts_with("```"); ++line) shown += lines[line] + '\n';

        std::optional<std::string> real = is_code ? from.file(marker[1]) : from.output(marker[1]);
        if (real && is_code && marker[2].matched) real = region_of(*real, marker[2]);
        if (!real)
            found.push_back(where + ": there is no such thing");
        else if (*real != shown)
            found.push_back(where + ": shown\n" + shown + "but really\n" + *real);
    }
    return found;
}

/// The cells of a table's line, without the spaces around them; none of another line.
std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    if (!line.starts_with("| ")) return cells;
    std::istringstream in{line.substr(2)};
    for (std::string cell; std::getline(in, cell, '|');) {
        const std::size_t first = cell.find_first_not_of(' ');
        cells.push_back(first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
    }
    return cells;
}

/// The rows of a document's marked tables that stand in no table of the document that is named; and markers without
/// one.
std::vector<std::string> rows_that_are_nowhere(const std::string& document, const sources& from) {
    static const std::regex rows{R"(<!-- rows of: (\S+) -->)"};
    std::vector<std::string> found;
    const std::vector<std::string> lines = lines_of(document);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::smatch marker;
        if (!std::regex_match(lines[i], marker, rows)) continue;
        const std::optional<std::string> source = from.file(marker[1]);
        if (!source || i + 3 >= lines.size() || cells_of(lines[i + 3]).empty()) found.push_back(lines[i]);
        for (std::size_t row = i + 3; source && row < lines.size() && !cells_of(lines[row]).empty(); ++row) {
            const std::vector<std::string> sought = cells_of(lines[row]);
            const std::vector<std::string> all = lines_of(*source);
            const bool there = std::any_of(all.begin(), all.end(), [&](const std::string& line) {
                const std::vector<std::string> cells = cells_of(line);
                return std::all_of(sought.begin() + 1, sought.end(), [&](const std::string& cell) {
                    return std::find(cells.begin(), cells.end(), cell) != cells.end();
                });
            });
            if (!there) found.push_back(lines[row]);
        }
    }
    return found;
}

std::optional<std::string> content_of(const fs::path& file) {
    std::ifstream in{file};
    if (!in) return std::nullopt;
    return std::string{std::istreambuf_iterator<char>{in}, {}};
}

/// What a command of the llmres program prints, run in the project's folder; nothing if it finds its input bad.
std::optional<std::string> output_of(const std::string& command) {
#ifdef LLMRES_PROGRAM
    static constexpr std::string_view name = "llmres ";
    if (!command.starts_with(name)) return std::nullopt;
    const std::string line =
        "cd '" LLMRES_SOURCE_DIR "' && '" LLMRES_PROGRAM "' " + command.substr(name.size()) + " 2>/dev/null";
    std::FILE* pipe = popen(line.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    const int status = pclose(pipe);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) return std::nullopt;  // 0: fits, 1: does not fit
    return text;
#else
    static_cast<void>(command);
    return std::nullopt;
#endif
}

}  // namespace

TEST_CASE("a marked block must equal its source") {
    const sources from{
        .file = [](const std::string& path) -> std::optional<std::string> {
            if (path != "examples/a.cpp") return std::nullopt;
            return "int main() {\n    // [one]\n    f();\n\n    if (x)\n        g();\n    // [one]\n}\n";
        },
        .output = [](const std::string& command) -> std::optional<std::string> {
            if (command != "llmres gpus") return std::nullopt;
            return "a gpu\n";
        },
    };
    const auto count = [&](const std::string& document) { return disagreements(document, from).size(); };

    CHECK(count("no markers\n```\nblock\n```\n") == 0);
    CHECK(count("<!-- from: examples/a.cpp [one] -->\n```cpp\nf();\n\nif (x)\n    g();\n```\n") == 0);
    CHECK(count("<!-- output of: llmres gpus -->\n```\na gpu\n```\n") == 0);
    CHECK(count("<!-- output of: llmres gpus -->\n```console\n$ llmres gpus\na gpu\n```\n") == 0);

    CHECK(count("<!-- from: examples/a.cpp [one] -->\n```cpp\nf();\n```\n") == 1);          // other code
    CHECK(count("<!-- from: examples/a.cpp -->\n```cpp\nf();\n```\n") == 1);                // not the whole file
    CHECK(count("<!-- from: examples/a.cpp [two] -->\n```cpp\nf();\n```\n") == 1);          // no such region
    CHECK(count("<!-- from: examples/b.cpp -->\n```cpp\nf();\n```\n") == 1);                // no such file
    CHECK(count("<!-- from: examples/a.cpp [one] -->\n\ntext\n") == 1);                     // no block
    CHECK(count("<!--from: examples/a.cpp [one] -->\n```cpp\nf();\n```\n") == 1);           // a marker mistyped
    CHECK(count("<!-- output of: llmres gpus -->\n```\nanother gpu\n```\n") == 1);          // other output
    CHECK(count("<!-- output of: llmres gpu -->\n```\na gpu\n```\n") == 1);                 // no such command
    CHECK(count("<!-- output of: llmres gpus -->\n```\n$ llmres gpu\na gpu\n```\n") == 1);  // another command shown
}

TEST_CASE("a marked table's rows must stand in the document that it names") {
    const sources from{.file = [](const std::string& path) -> std::optional<std::string> {
                           if (path != "docs/a.md") return std::nullopt;
                           return "| series | figure | mean error |\n|---|---|--:|\n| one | step | 3 % |\n";
                       },
                       .output = {}};
    const auto count = [&](const std::string& document) { return rows_that_are_nowhere(document, from).size(); };
    const std::string head = "<!-- rows of: docs/a.md -->\n| what | mean error | series |\n|---|---|---|\n";

    CHECK(count("| what | 4 % | two |\n") == 0);                                 // no marker
    CHECK(count(head + "| a step | 3 % | one |\n") == 0);                        // in another order
    CHECK(count(head + "| a step | 4 % | one |\n") == 1);                        // another figure
    CHECK(count(head + "| a step | 3 % | one |\n| more | 3 % | two |\n") == 1);  // another series
    CHECK(count(head) == 1);                                                     // no row
    CHECK(count("<!-- rows of: docs/b.md -->\n| a |\n|---|\n| b |\n") == 1);     // no such document
}

TEST_CASE("what README.md and docs/ show is real") {
    const fs::path root{LLMRES_SOURCE_DIR};
    std::vector<fs::path> documents;
    if (fs::exists(root / "README.md")) documents.push_back(root / "README.md");
    for (const auto& found : fs::recursive_directory_iterator{root / "docs"}) {
        if (found.path().extension() == ".md") documents.push_back(found.path());
    }
    const sources real{.file = [&](const std::string& path) { return content_of(root / path); }, .output = output_of};
    for (const fs::path& document : documents) {
        CAPTURE(document.string());
        for (const std::string& disagreement : disagreements(content_of(document).value(), real)) {
            FAIL_CHECK(disagreement);
        }
        for (const std::string& row : rows_that_are_nowhere(content_of(document).value(), real)) FAIL_CHECK(row);
    }
}

TEST_CASE("README.md is read in five minutes, and its questions are those of docs/questions.md") {
    const fs::path root{LLMRES_SOURCE_DIR};
    const std::string readme = content_of(root / "README.md").value();
    const std::string questions = content_of(root / "docs/questions.md").value();
    std::istringstream words{readme};
    CHECK(std::distance(std::istream_iterator<std::string>{words}, {}) <= 1'200);
    const std::string head = "| question | answer |\n|---|---|\n";
    const std::size_t table = readme.find(head);
    REQUIRE(table != std::string::npos);
    const std::string rows = readme.substr(table + head.size(), readme.find("\n\n", table) - table - head.size());
    for (const std::string& row : lines_of(rows)) {
        CAPTURE(row);
        CHECK(questions.find(row) != std::string::npos);
    }
}

TEST_CASE("docs/formulas.md explains every term of a plan, and docs/tables.md shows every table") {
    const fs::path docs = fs::path{LLMRES_SOURCE_DIR} / "docs";
    const auto shows = [](const std::string& document, const std::string& command) {
        return document.find("<!-- output of: llmres " + command + " -->") != std::string::npos;
    };
    const std::string formulas = content_of(docs / "formulas.md").value();
    for (const std::string_view term : llmres::names_of<llmres::memory_term>)
        CHECK(shows(formulas, "explain " + std::string{term}));
    for (const std::string_view term : llmres::names_of<llmres::time_term>)
        CHECK(shows(formulas, "explain " + std::string{term}));
    const std::string tables = content_of(docs / "tables.md").value();
    for (const char* table : {"gpus", "models", "runtimes", "formats", "links"}) CHECK(shows(tables, table));
}

TEST_CASE("every header that a document names with its folder is there") {
    const fs::path root{LLMRES_SOURCE_DIR};
    static const std::regex header{R"(`((?:include/llmres/)?[a-z_0-9]+/[a-z_/0-9]+\.hpp)`)"};
    int named = 0;
    for (const char* document :
         {"README.md", "docs/headers.md", "docs/formulas.md", "docs/concepts.md", "docs/getting-started.md",
          "docs/architecture.md", "docs/contributing/where-do-i-find.md", "docs/contributing/add-a-gpu.md",
          "docs/contributing/add-an-attention.md", "docs/contributing/add-an-engine.md",
          "docs/contributing/add-a-runtime-version.md", "docs/contributing/engine-version.md"}) {
        const std::string text = content_of(root / document).value();
        for (std::sregex_iterator at{text.begin(), text.end(), header}; at != std::sregex_iterator{}; ++at) {
            const std::string path = (*at)[1].str();
            CAPTURE(document);
            CAPTURE(path);
            CHECK(fs::exists(root / (path.starts_with("include/") ? path : "include/llmres/" + path)));
            ++named;
        }
    }
    CHECK(named > 60);
}

TEST_CASE("forty questions lead to headers that have what their rows name") {
    const fs::path root{LLMRES_SOURCE_DIR};
    static const std::regex header{R"(`([a-z_0-9]+/[a-z_/0-9]+\.hpp)`)"}, function{R"(`([a-z_0-9]+)\(\)`)"};
    int questions = 0, functions = 0;
    for (const std::string& row : lines_of(content_of(root / "docs/contributing/where-do-i-find.md").value())) {
        if (row.find("? | ") == std::string::npos && !row.starts_with("## ")) continue;
        CAPTURE(row);
        ++questions;
        std::string named;
        for (std::sregex_iterator at{row.begin(), row.end(), header}; at != std::sregex_iterator{}; ++at)
            named += content_of(root / "include/llmres" / (*at)[1].str()).value_or("");
        for (std::sregex_iterator at{row.begin(), row.end(), function}; at != std::sregex_iterator{}; ++at, ++functions)
            CHECK(named.find(' ' + (*at)[1].str() + '(') != std::string::npos);
    }
    CHECK(questions >= 40);
    CHECK(functions >= 30);
}

TEST_CASE("the walk to what LoRA keeps of its input ends at the comment that it quotes") {
    const fs::path root{LLMRES_SOURCE_DIR};
    const std::string walk = content_of(root / "docs/contributing/where-do-i-find.md").value();
    static const std::regex quoted{R"x(its comment begins "([^"]+)")x"};
    std::smatch comment;
    REQUIRE(std::regex_search(walk, comment, quoted));
    const std::string saved = content_of(root / "include/llmres/inventory/layers/saved.hpp").value();
    CHECK(saved.find("/// " + comment[1].str()) != std::string::npos);
}

TEST_CASE("what the walks of docs/contributing add is not there yet") {
    const fs::path walks = fs::path{LLMRES_SOURCE_DIR} / "docs/contributing";
    const auto added = [&](const char* walk, const char* pattern) {
        const std::string text = content_of(walks / walk).value();
        const std::regex name{pattern};
        std::smatch found;
        REQUIRE(std::regex_search(text, found, name));
        return found[1].str();
    };
    CHECK_FALSE(llmres::find_gpu(added("add-a-gpu.md", R"(```csv\n *([^,]+),)")));
    CHECK_FALSE(llmres::find_model(added("add-a-model-family.md", R"x(name = "([^"]+)")x")));
}
