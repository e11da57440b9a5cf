// SPDX-License-Identifier: MIT
// Holds the includes of every public header against the floors drawn in docs/architecture.md.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
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

/// The headers and folders of the ```layers block, lowest first: a header may include what precedes it.
std::vector<std::string> order_of(const std::string& document) {
    std::smatch block;
    if (!std::regex_search(document, block, std::regex{"```layers\n([^`]*)```"})) return {};
    std::vector<std::string> order;
    std::istringstream floors{block[1]};
    for (std::string floor; std::getline(floors, floor);) {
        std::istringstream words{floor};
        std::string name;
        words >> name;  // the floor's own
        order.insert(order.begin(), std::istream_iterator<std::string>{words}, {});
    }
    return order;
}

source_files headers_of(const fs::path& folder) {
    source_files files;
    for (const auto& found : fs::recursive_directory_iterator{folder}) {
        if (found.is_regular_file())
            files.emplace(found.path().lexically_relative(folder).generic_string(), content_of(found));
    }
    return files;
}

/// What the block calls a file: the file itself, or the folder that holds it ("gpus/").
std::string entry_of(const std::string& file) {
    const auto slash = file.find('/');
    return slash == std::string::npos ? file : file.substr(0, slash + 1);
}

/// The library's own headers that a file includes, as paths below include/llmres.
std::vector<std::string> includes_of(const std::string& file, const std::string& content) {
    static const std::regex directive{R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])"};
    std::vector<std::string> found;
    std::istringstream lines{content};
    for (std::string line; std::getline(lines, line);) {
        std::smatch include;
        if (!std::regex_search(line, include, directive)) continue;
        const std::string path = include[2];
        if (path.starts_with("llmres/"))
            found.push_back(path.substr(7));
        else if (include[1] == "\"")
            found.push_back((fs::path{file}.parent_path() / path).lexically_normal().generic_string());
    }
    return found;
}

/// Everything in which the files disagree with the block, in words; empty if nothing.
std::vector<std::string> violations(const std::string& document, const source_files& files) {
    std::vector<std::string> found;
    const std::vector<std::string> order = order_of(document);
    const auto rank = [&](const std::string& entry) {
        return static_cast<std::size_t>(std::find(order.begin(), order.end(), entry) - order.begin());
    };
    if (order.empty()) found.emplace_back("no ```layers block");
    for (const std::string& entry : order) {
        if (std::count(order.begin(), order.end(), entry) > 1) found.push_back(entry + " is named twice");
    }
    for (const auto& [file, content] : files) {
        const std::string entry = entry_of(file);
        if (rank(entry) == order.size()) {
            found.push_back(file + " is not named");
            continue;
        }
        const bool table = entry == "models/" || entry == "gpus/" || entry == "interconnects/" || entry == "runtimes/";
        for (const std::string& included : includes_of(file, content)) {
            const std::string below = entry_of(included);
            if (rank(below) == order.size())
                found.push_back(file + " includes " + included + ", which is not named");
            else if (rank(below) > rank(entry) || (below == entry && file == included))
                found.push_back(file + " includes " + included + ", which stands above it");
            else if (table && below != entry && below != entry.substr(0, entry.size() - 2) + ".hpp")
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
    "text\n```layers\nroof  plan.hpp io/\ntables gpus/\nground units.hpp gpu.hpp\n```\n";

}  // namespace

TEST_CASE("a header that includes only what stands below or to its left is accepted") {
    CHECK(violations(small_house, {{"units.hpp", "#include <array>\n"},
                                   {"gpu.hpp", "#include <llmres/units.hpp>\n"},
                                   {"gpus/nvidia.hpp", "#include \"../gpu.hpp\"\n"},
                                   {"plan.hpp", "#  include <llmres/gpu.hpp>\n// #include <llmres/io/json.hpp>\n"},
                                   {"io/json.hpp", "#include <llmres/plan.hpp>\n#include \"text.hpp\"\n"},
                                   {"io/text.hpp", ""}})
              .empty());
}

TEST_CASE("an include that points up or to the right is refused") {
    CHECK(violations(small_house, {{"units.hpp", "#include <llmres/plan.hpp>\n"}}).size() == 1);
    CHECK(violations(small_house, {{"units.hpp", "#include \"gpu.hpp\"\n"}}).size() == 1);
    CHECK(violations(small_house, {{"plan.hpp", "#include <llmres/io/json.hpp>\n"}}).size() == 1);
    CHECK(violations(small_house, {{"units.hpp", "#include <llmres/units.hpp>\n"}}).size() == 1);
}

TEST_CASE("a header that the document does not name is refused, and so is a document without floors") {
    CHECK(violations(small_house, {{"new.hpp", ""}}).size() == 1);
    CHECK(violations(small_house, {{"plan.hpp", "#include <llmres/new.hpp>\n"}}).size() == 1);
    CHECK(violations("```layers\na x.hpp\nb x.hpp\n```", {}).size() == 2);
    CHECK(violations("no block", {}).size() == 1);
}

TEST_CASE("a table includes the header of its type and nothing else") {
    CHECK(violations(small_house, {{"gpus/amd.hpp", "#include <llmres/units.hpp>\n"}}).size() == 1);
}

TEST_CASE("a costly header is found wherever it is reached") {
    const source_files files{{"units.hpp", "#include <map>\n"}, {"gpu.hpp", "#include <llmres/units.hpp>\n"}};
    CHECK(reached_with("<map>", "gpu.hpp", files) == std::vector<std::string>{"units.hpp"});
    CHECK(reached_with("<set>", "gpu.hpp", files).empty());
}

TEST_CASE("the headers keep to docs/architecture.md") {
    const source_files files = headers_of(fs::path{LLMRES_SOURCE_DIR} / "include" / "llmres");
    REQUIRE_FALSE(files.empty());
    for (const std::string& violation : violations(content_of(fs::path{LLMRES_SOURCE_DIR} / "docs" / "architecture.md"), files)) {
        FAIL_CHECK(violation);
    }
}

TEST_CASE("plan.hpp reaches no standard header that alone costs a tenth of what it may cost (bench/compile_cost)") {
    const source_files files = headers_of(fs::path{LLMRES_SOURCE_DIR} / "include" / "llmres");
    for (const char* costly : {"<algorithm>", "<functional>", "<iostream>", "<map>", "<memory>", "<numeric>", "<ranges>",
                               "<regex>", "<sstream>", "<vector>"}) {
        for (const std::string& header : reached_with(costly, "plan.hpp", files)) FAIL_CHECK(header << " includes " << costly);
    }
}
