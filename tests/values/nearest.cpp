// SPDX-License-Identifier: MIT
#include <llmres/values/nearest.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

using namespace llmres;

namespace {

constexpr std::array<std::string_view, 6> names{"llama-3.1-8b", "llama-3-8b", "llama-2-7b",
                                                "qwen2.5-7b",   "gemma-3-4b", "phi-3"};

}  // namespace

TEST_CASE("the same name is at distance nothing, whatever its case and separators") {
    static_assert(spelling_distance("llama-3.1-8b", "llama-3.1-8b") == 0);
    CHECK(spelling_distance("Llama 3.1_8B", "llama-3.1-8b") == 0);
    CHECK(spelling_distance("", "") == 0);
}

TEST_CASE("a name cut short is nearer than another short name") {
    CHECK(spelling_distance("h100-sxm", "h100-sxm5-80gb") == 6);
    CHECK(spelling_distance("h100-sxm", "h100-sxm5-80gb") < spelling_distance("h100-sxm", "h200"));
    CHECK(spelling_distance("lama", "llama") < spelling_distance("lxama", "llama"));
}

TEST_CASE("a separator left out is little, a number that goes on another number") {
    constexpr std::array<std::string_view, 2> models{"llama-30b", "llama-3-8b"};
    CHECK(nearest("llama3", models).names[0] == "llama-3-8b");
    CHECK(nearest("llama30", models).names[0] == "llama-30b");
}

TEST_CASE("the nearest names come first, and at most three") {
    static_assert(nearest("llama-3.1-8", names).names[0] == "llama-3.1-8b");
    const nearest_names found = nearest("lama-3-8b", names);
    CHECK(found.count == 3);
    CHECK(found.names[0] == "llama-3-8b");
    CHECK(found.names[1] == "llama-3.1-8b");
    CHECK(nearest("qwen-7b", names).names[0] == "qwen2.5-7b");
}

TEST_CASE("nothing is suggested where nothing is alike") {
    CHECK(nearest("zzz", names).empty());
    CHECK(nearest("", names).empty());
    CHECK(nearest("phi-3", std::vector<std::string>{}).empty());
}

TEST_CASE("of equally near names the earlier comes first") {
    constexpr std::array<std::string_view, 2> twins{"a1", "a2"};
    CHECK(nearest("a3", twins).names[0] == "a1");
}

TEST_CASE("any range of texts will do") {
    const std::vector<std::string> strings{"alpha", "beta"};
    CHECK(nearest("alpa", strings).names[0] == "alpha");
    int seen = 0;
    for (const std::string_view name : nearest("alpa", strings)) seen += name.empty() ? 0 : 1;
    CHECK(seen == 1);
}

TEST_CASE("very long names are compared by their beginning") {
    const std::string long_name(500, 'x');
    CHECK(spelling_distance(long_name, long_name + "y") == 0);
}

TEST_CASE("suggestions read as a sentence") {
    CHECK(such_as("a GPU", {}) == "a GPU");
    CHECK(such_as("a GPU of ours,", {}) == "a GPU of ours");
    CHECK(such_as("a GPU", {{"a"}, 1}) == "a GPU such as a");
    CHECK(such_as("a GPU", {{"a", "b"}, 2}) == "a GPU such as a or b");
    CHECK(such_as("a GPU", {{"a", "b", "c"}, 3}) == "a GPU such as a, b or c");
}
