// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <llmres/llmres.hpp>
#include <string>

namespace fs = std::filesystem;

TEST_CASE("llmres.hpp includes every header but files and bridges") {
    const fs::path root = fs::path{LLMRES_SOURCE_DIR} / "include" / "llmres";
    std::ifstream file{root / "llmres.hpp"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    REQUIRE_FALSE(text.empty());
    for (const auto& entry : fs::recursive_directory_iterator{root}) {
        if (entry.path().extension() != ".hpp") continue;
        const std::string name = fs::relative(entry.path(), root).generic_string();
        const bool apart = name.starts_with("io/") || name.starts_with("interop/") || name == "llmres.hpp";
        CHECK_MESSAGE((text.find("#include <llmres/" + name + ">") != std::string::npos) != apart, name);
    }
}

TEST_CASE("a question asked through the one header") {
    using namespace llmres;
    const job work{.model = find_model("llama-3.1-8b").value(), .context = tokens(4096)};
    CHECK(fits(work, {}, standard_cluster(find_gpu("h100").value(), 1).value()));
}
