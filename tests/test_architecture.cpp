// SPDX-License-Identifier: MIT
// Holds the includes of every public header against the floors drawn in docs/architecture.md.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

using source_files = std::map<std::string, std::string>;  // path below include/llmres -> content

std::string content_of(const fs::path& file) {
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// A block of the document: entries with the floor on which each stands, 0 at the bottom.
using floors = std::map<std::string, std::size_t>;

/// The entries of "```layers" (the folders) or "```layers FOLDER" (the headers of one), and how often each is named.
floors floors_of(const std::string& document, const std::string& folder, std::vector<std::string>& twice) {
    const std::string opening = "```layers" + (folder.empty() ? "" : " " + folder) + "\n";
    floors found;
    const auto begin = document.find(opening);
    if (begin == std::string::npos) return found;
    const auto first = begin + opening.size();
    std::istringstream lines{document.substr(first, document.find("```", first) - first)};
    std::vector<std::string> from_the_top;
    for (std::string line; std::getline(lines, line);) from_the_top.push_back(line);
    for (std::size_t i = 0; i < from_the_top.size(); ++i) {
        std::istringstream names{from_the_top[i]};
        for (std::string name; names >> name;)
            if (!found.emplace(name, from_the_top.size() - 1 - i).second) twice.push_back(name);
    }
    return found;
}

source_files headers_of(const fs::path& folder) {
    source_files files;
    for (const auto& found : fs::recursive_directory_iterator{folder}) {
        if (found.path().extension() == ".hpp")
            files.emplace(found.path().lexically_relative(folder).generic_string(), content_of(found));
    }
    return files;
}

/// The folder that holds a file, or the file itself where none does.
std::string entry_of(const std::string& file) { return file.substr(0, file.find('/')); }
/// The rest of its path.
std::string inside_of(const std::string& file) {
    const auto slash = file.find('/');
    return slash == std::string::npos ? "" : file.substr(slash + 1);
}

/// GPUs, links, model families and runtime profiles: rows of a type that another header defines.
bool is_table(const std::string& file) {
    static const std::vector<std::string> families{"deepseek", "encoders", "gemma",  "glm", "gpt", "llama",
                                                   "mistral",  "nvidia",   "others", "phi", "qwen"};
    const fs::path path{file};
    const std::string folder = path.parent_path().generic_string();
    const std::string name = path.stem().string();
    if (folder == "hardware/gpus" || folder == "hardware/interconnects") return name != "all";
    return folder == "models" && std::find(families.begin(), families.end(), name) != families.end();
}
/// The header that defines the type of a table's rows.
std::string type_of_table(const std::string& file) {
    if (file.starts_with("hardware/gpus/")) return "hardware/gpu.hpp";
    return file.starts_with("hardware/") ? "hardware/interconnect.hpp" : "models/model.hpp";
}

/// The library's own headers that a file includes, as paths below include/llmres.
std::vector<std::string> includes_of(const std::string& file, const std::string& content) {
    static const std::regex directive{R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])"};
    std::vector<std::string> found;
    std::istringstream lines{content};
    for (std::string line; std::getline(lines, line);) {
        std::smatch include;
        if (line.find("#") == line.npos || !std::regex_search(line, include, directive)) continue;
        const std::string path = include[2];
        if (path.ends_with(".inc")) continue;  // rows of a table, no header
        if (path.starts_with("llmres/"))
            found.push_back(path.substr(7));
        else if (include[1] == "\"")
            found.push_back((fs::path{file}.parent_path() / path).lexically_normal().generic_string());
    }
    return found;
}

/// Everything in which the files disagree with the document, in words; empty if nothing.
std::vector<std::string> violations(const std::string& document, const source_files& files) {
    std::vector<std::string> found, twice;
    const floors folders = floors_of(document, "", twice);
    if (folders.empty()) return {"no ```layers block"};
    std::map<std::string, floors> inside;
    for (const auto& [folder, floor] : folders) inside[folder] = floors_of(document, folder, twice);
    for (const std::string& name : twice) found.push_back(name + " is named twice");
    const auto named = [&](const std::string& file) {
        if (!folders.contains(entry_of(file))) return false;
        return inside_of(file).empty() || inside.at(entry_of(file)).contains(inside_of(file));
    };
    for (const auto& [file, content] : files) {
        if (!named(file)) {
            found.push_back(file + " is not named");
            continue;
        }
        for (const std::string& included : includes_of(file, content)) {
            const std::string own = entry_of(file), other = entry_of(included);
            if (!named(included))
                found.push_back(file + " includes " + included + ", which is not named");
            else if (own != other ? folders.at(other) >= folders.at(own)
                                  : inside.at(own).at(inside_of(included)) >= inside.at(own).at(inside_of(file)))
                found.push_back(file + " includes " + included + ", which does not stand below it");
            else if (is_table(file) && included != type_of_table(file))
                found.push_back(file + " includes " + included + ", which is not the header of its type");
        }
    }
    return found;
}

/// The headers that `file` reaches and that include `costly`.
std::vector<std::string> reached_with(const std::string& costly, const std::string& file, const source_files& files) {
    std::vector<std::string> reached{file}, found;
    for (std::size_t i = 0; i < reached.size(); ++i) {
        const std::string here = reached[i];
        const std::string& content = files.at(here);
        if (content.find("#include " + costly) != std::string::npos) found.push_back(here);
        for (const std::string& included : includes_of(here, content))
            if (std::find(reached.begin(), reached.end(), included) == reached.end()) reached.push_back(included);
    }
    return found;
}

constexpr const char* small_house =
    "text\n```layers\nplan.hpp\nhardware\nvalues\n```\n"
    "```layers hardware\ngpus/nvidia.hpp cluster.hpp\ngpu.hpp\n```\n```layers values\nunits.hpp text.hpp\n```\n";

/// Whether a header holds runtime profiles.
bool is_profile(const std::string& file, const std::string& content) {
    return entry_of(file) == "runtimes" && content.find("namespace llmres::inline v0::runtimes") != std::string::npos;
}

/// The doc comment above a header's first namespace: what the header answers. Empty if there is none.
std::string purpose_of(const std::string& content) {
    std::istringstream lines{content};
    std::string comment;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("namespace llmres")) return comment;
        if (line.starts_with("///"))
            comment += line.substr(3);
        else if (!line.empty())
            comment.clear();
    }
    return "";
}

/// The lines whose comment begins with an ellipsis: each comment must mean something alone.
std::vector<std::string> ellipses_in(const std::string& content) {
    static const std::regex continued{R"(//[/!]?<?\s*(\.\.\.|\xE2\x80\xA6))"};
    std::vector<std::string> found;
    std::istringstream lines{content};
    for (std::string line; std::getline(lines, line);)
        if (std::regex_search(line, continued)) found.push_back(line);
    return found;
}

}  // namespace

TEST_CASE("a header that includes only what stands below it is accepted") {
    CHECK(
        violations(small_house, {{"values/units.hpp", "#include <array>\n"},
                                 {"hardware/gpu.hpp", "#include <llmres/values/units.hpp>\n"},
                                 {"hardware/gpus/nvidia.hpp", "#include \"../gpu.hpp\"\n"},
                                 {"plan.hpp", "#  include <llmres/hardware/gpu.hpp>\n// #include <llmres/plan.hpp>\n"}})
            .empty());
}

TEST_CASE("an include that points up, or to a neighbour, is refused: between folders and inside them") {
    CHECK(violations(small_house, {{"values/units.hpp", "#include <llmres/plan.hpp>\n"}}).size() == 1);
    CHECK(violations(small_house, {{"values/units.hpp", "#include <llmres/hardware/gpu.hpp>\n"}}).size() == 1);
    CHECK(violations(small_house, {{"values/units.hpp", "#include \"text.hpp\"\n"}}).size() == 1);
    CHECK(violations(small_house, {{"hardware/gpu.hpp", "#include <llmres/hardware/cluster.hpp>\n"}}).size() == 1);
    CHECK(violations(small_house, {{"values/units.hpp", "#include <llmres/values/units.hpp>\n"}}).size() == 1);
}

TEST_CASE("a header that the document does not name is refused, and so is a document without floors") {
    CHECK(violations(small_house, {{"new.hpp", ""}}).size() == 1);
    CHECK(violations(small_house, {{"hardware/new.hpp", ""}}).size() == 1);
    CHECK(violations(small_house, {{"plan.hpp", "#include <llmres/values/new.hpp>\n"}}).size() == 1);
    CHECK(violations("```layers\nx.hpp\nx.hpp\n```", {}).size() == 1);
    CHECK(violations("no block", {}).size() == 1);
}

TEST_CASE("a table includes the header of its type and nothing else") {
    CHECK(violations(small_house, {{"hardware/gpus/nvidia.hpp", "#include <llmres/values/units.hpp>\n"}}).size() == 1);
}

TEST_CASE("the house is small: at most 16 things at its top and in each folder, tables apart") {
    std::map<std::string, std::set<std::string>> things;
    for (const auto& [file, content] : headers_of(fs::path{LLMRES_SOURCE_DIR} / "include" / "llmres")) {
        if (is_table(file) || is_profile(file, content)) continue;
        things[""].insert(entry_of(file));
        for (fs::path path{file}; path.has_parent_path(); path = path.parent_path())
            things[path.parent_path().generic_string()].insert(path.filename().string());
    }
    for (const auto& [folder, inside] : things) {
        CAPTURE(folder);
        CHECK(inside.size() <= 16);
    }
}

TEST_CASE("a costly header is found wherever it is reached") {
    const source_files files{{"units.hpp", "#include <map>\n"}, {"gpu.hpp", "#include <llmres/units.hpp>\n"}};
    CHECK(reached_with("<map>", "gpu.hpp", files) == std::vector<std::string>{"units.hpp"});
    CHECK(reached_with("<set>", "gpu.hpp", files).empty());
}

TEST_CASE("the headers keep to docs/architecture.md") {
    const source_files files = headers_of(fs::path{LLMRES_SOURCE_DIR} / "include" / "llmres");
    REQUIRE_FALSE(files.empty());
    for (const std::string& violation :
         violations(content_of(fs::path{LLMRES_SOURCE_DIR} / "docs" / "architecture.md"), files)) {
        FAIL_CHECK(violation);
    }
}

TEST_CASE("plan.hpp reaches no standard header that alone costs a tenth of what it may cost (bench/compile_cost)") {
    const source_files files = headers_of(fs::path{LLMRES_SOURCE_DIR} / "include" / "llmres");
    for (const char* costly : {"<algorithm>", "<functional>", "<iostream>", "<map>", "<memory>", "<numeric>",
                               "<ranges>", "<regex>", "<sstream>", "<vector>"}) {
        for (const std::string& header : reached_with(costly, "plan.hpp", files))
            FAIL_CHECK(header << " includes " << costly);
    }
}

TEST_CASE(
    "what parses and what opens files are apart: of io/'s public headers, files.hpp alone reaches a file system") {
    const source_files files = headers_of(fs::path{LLMRES_SOURCE_DIR} / "include" / "llmres");
    for (const char* standard : {"<filesystem>", "<fstream>"}) {
        CAPTURE(standard);
        CHECK_FALSE(reached_with(standard, "io/files.hpp", files).empty());
        for (const auto& [file, content] : files)
            if (entry_of(file) == "io" && inside_of(file) != "files.hpp" && file.find('/', 3) == std::string::npos)
                for (const std::string& header : reached_with(standard, file, files))
                    FAIL_CHECK(file << " reaches " << header << ", which includes " << standard);
    }
}

TEST_CASE("a header's purpose is the comment above its namespace") {
    CHECK(purpose_of("#pragma once\n\n/// What is\n/// a GPU?\nnamespace llmres::inline v0 {\n") == " What is a GPU?");
    CHECK(purpose_of("/// Of a type.\nstruct gpu;\n\nnamespace llmres::inline v0 {\n").empty());
}

TEST_CASE("every header says in a comment above its namespace what it answers") {
    for (const auto& [file, content] : headers_of(fs::path{LLMRES_SOURCE_DIR} / "include" / "llmres"))
        if (file.ends_with(".hpp") && file != "llmres.hpp" && purpose_of(content).empty()) FAIL_CHECK(file);
}

TEST_CASE("every public header has a test file of its name; tables and profiles are tested together") {
    const fs::path root{LLMRES_SOURCE_DIR};
    for (const auto& [file, content] : headers_of(root / "include" / "llmres")) {
        const bool is_public = std::count(file.begin(), file.end(), '/') == 1;
        if (!is_public || !file.ends_with(".hpp") || is_table(file) || is_profile(file, content)) continue;
        const fs::path test = (root / "tests" / file).replace_extension(".cpp");
        if (!fs::exists(test)) FAIL_CHECK(file << " has no tests/" << file.substr(0, file.size() - 4) << ".cpp");
    }
}

TEST_CASE("no comment begins with an ellipsis: it would mean nothing without the line above") {
    CHECK(ellipses_in("int a;  ///< ... and more\n").size() == 1);
    CHECK(ellipses_in("// plan(job, ...) is called\n").empty());
    for (const auto& [file, content] : headers_of(fs::path{LLMRES_SOURCE_DIR} / "include" / "llmres"))
        for (const std::string& line : ellipses_in(content)) FAIL_CHECK(file << ": " << line);
}
