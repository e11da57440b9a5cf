// SPDX-License-Identifier: MIT
#include <llmres/io/svg.hpp>

#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/all.hpp>

#include <cctype>
#include <string>
#include <vector>

using namespace llmres;

namespace {

/// Whether tags close what they open, attributes are quoted, and no bare & or < stands in the text: what this picture
/// uses of XML.
bool well_formed(const std::string& text) {
    std::vector<std::string> open;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '&') {
            const std::string entity = text.substr(i, 5);
            if (!entity.starts_with("&amp;") && !entity.starts_with("&lt;") && !entity.starts_with("&gt;"))
                return false;
        }
        if (text[i] != '<') continue;
        const std::size_t end = text.find('>', i);
        if (end == std::string::npos) return false;
        const std::string tag = text.substr(i + 1, end - i - 1);
        std::size_t quotes = 0;
        for (const char c : tag) quotes += c == '"' ? 1 : 0;
        if (quotes % 2 != 0 || tag.find('<') != std::string::npos) return false;
        if (tag.starts_with('/')) {
            if (open.empty() || open.back() != tag.substr(1)) return false;
            open.pop_back();
        } else if (!tag.ends_with('/')) {
            open.push_back(tag.substr(0, tag.find(' ')));
        }
        i = end;
    }
    return open.empty();
}

const cluster one{.gpu = gpus::h100_sxm5_80gb};

std::string picture_of(const job& j, const char* title = "llama", const cluster& c = one) {
    const result<job_plan> p = plan(j, layout{}, c);
    REQUIRE(p);
    return to_svg(*p, title);
}

}  // namespace

TEST_CASE("the checker knows bad XML") {
    CHECK(well_formed("<a b=\"c\"><d/>&amp;</a>"));
    for (const char* bad : {"<a>", "</a>", "<a></b>", "<a b=\"c></a>", "<a>&</a>", "<a><b</a>"}) {
        CAPTURE(bad);
        CHECK_FALSE(well_formed(bad));
    }
}

TEST_CASE("the picture is well-formed and names every term that has bytes") {
    const job j{.model = models::llama_3_1_8b, .batch = 4, .context = tokens(4096), .runtime = runtimes::vllm};
    const std::string picture = picture_of(j);
    CHECK(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    CHECK(well_formed(picture));
    for (const char* word : {"weights", "kv_cache", "runtime", "usable", "fits"})
        CHECK(picture.find(word) != std::string::npos);
    CHECK(picture.find("optimizer") == std::string::npos);
}

TEST_CASE("a title that is no XML becomes text") {
    CHECK(well_formed(picture_of({.model = models::llama_3_1_8b, .context = tokens(64)}, "<a & \"b\">")));
}

TEST_CASE("what does not fit, and a GPU with nothing left, are drawn too") {
    CHECK(well_formed(picture_of({.model = models::llama_3_1_70b, .context = tokens(4096)})));
    cluster full = one;
    full.in_use = usable_memory(full.gpu) + gib(1);
    const std::string picture = picture_of({.model = models::llama_3_1_8b, .context = tokens(64)}, "full", full);
    CHECK(well_formed(picture));
    CHECK(picture.find("=\"-") == std::string::npos);  // nothing left of the picture's edge
    CHECK(picture.find("nan") == std::string::npos);
}
