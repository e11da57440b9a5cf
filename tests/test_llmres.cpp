// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <llmres/llmres.hpp>
#include <string>

namespace fs = std::filesystem;

TEST_CASE("llmres.hpp includes every public header but those of io/ and the bridge to Boost's quantities") {
    const fs::path root = fs::path{LLMRES_SOURCE_DIR} / "include" / "llmres";
    std::ifstream file{root / "llmres.hpp"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    REQUIRE_FALSE(text.empty());
    for (const auto& entry : fs::recursive_directory_iterator{root}) {
        if (entry.path().extension() != ".hpp") continue;
        const std::string name = fs::relative(entry.path(), root).generic_string();
        const bool public_folder = name.starts_with("hardware/gpus/") || name.starts_with("hardware/interconnects/") ||
                                   name.starts_with("models/gguf/") || name.starts_with("answers/phases/");
        const bool internal = std::count(name.begin(), name.end(), '/') > 1 && !public_folder;
        const bool apart =
            internal || name.starts_with("io/") || name == "values/boost_units.hpp" || name == "llmres.hpp";
        CHECK_MESSAGE((text.find("#include <llmres/" + name + ">") != std::string::npos) != apart, name);
    }
}

TEST_CASE("a question asked through the one header") {
    using namespace llmres;
    const job work{.model = find_model("llama-3.1-8b").value(), .context = tokens(4096)};
    CHECK(fits(work, {}, standard_cluster(find_gpu("h100").value(), 1).value()));
}
