// SPDX-License-Identifier: MIT
#include <llmres/io/svg/plan.hpp>
#include <llmres/io/svg/tradeoff.hpp>

#include <doctest/doctest.h>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
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

TEST_CASE("a training step is drawn by its passes") {
    const job training{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};
    const result<job_plan> p = plan(training, layout{}, one);
    REQUIRE(p);
    const std::string picture = phases_to_svg(*p, training, one, "a & b");
    CHECK(well_formed(picture));
    const training_passes passes = training_passes_of(training, p->layout, sdpa_backend_of(one.gpu));
    for (const std::string& word : {std::string{"forward"}, std::string{"loss"}, std::string{"backward"},
                                    std::string{"optimizer step"}, to_string(passes.backward)})
        CHECK(picture.find(word) != std::string::npos);
}

TEST_CASE("serving is drawn by its phases") {
    const job chat{.model = models::llama_3_1_8b, .batch = 8, .context = tokens(4096), .runtime = runtimes::vllm};
    const result<job_plan> p = plan(chat, layout{}, one);
    REQUIRE(p);
    const std::string picture = phases_to_svg(*p, chat, one, "llama");
    CHECK(well_formed(picture));
    for (const std::string& word : {std::string{"weights loaded"}, std::string{"prompts computed"},
                                    std::string{"last token"}, to_string(p->memory.allocated.expected)})
        CHECK(picture.find(word) != std::string::npos);
}

TEST_CASE("stages are drawn with their layers and GPUs, the middle of long pipelines in words") {
    const job j{.model = models::llama_3_1_70b, .task = task::pretraining, .sequence = tokens(4096)};
    const std::string picture = layers_to_svg(j, {.tensor = 2, .pipeline = 4, .data = 2}, "llama");
    CHECK(well_formed(picture));
    for (const char* word : {"16 GPUs", "stage 0: GPUs 0 to 3", "stage 3: GPUs 12 to 15", "20 layers"})
        CHECK(picture.find(word) != std::string::npos);
    const std::string long_one = layers_to_svg(j, {.pipeline = 40}, "llama");
    CHECK(long_one.find("24 more stages") != std::string::npos);
    CHECK(long_one.find("stage 39: GPU 39") != std::string::npos);
    CHECK(long_one.find("stage 20:") == std::string::npos);
}

TEST_CASE("routed experts are drawn on the ranks that share them") {
    const job j{.model = models::deepseek_v3, .context = tokens(4096), .runtime = runtimes::sglang};
    const std::string picture = layers_to_svg(j, {.tensor = 16, .expert = 8}, "deepseek");
    CHECK(well_formed(picture));
    for (const char* word :
         {"256 in each of 58 layers: 32 on each of 8 ranks", "0-31", "224-255", "a layer with experts"})
        CHECK(picture.find(word) != std::string::npos);
    CHECK(layers_to_svg(j, {.tensor = 8}, "deepseek").find("Routed experts") == std::string::npos);
    CHECK(well_formed(layers_to_svg(j, {.tensor = 64, .expert = 64}, "deepseek")));
}

TEST_CASE("the roofline names the peaks, and what each kind of kernel reaches") {
    const job chat{.model = models::llama_3_1_8b,
                   .batch = 8,
                   .prompt = tokens(2000),
                   .output = tokens(100),
                   .runtime = runtimes::vllm};
    const kernel_times kernels = kernel_times_of(chat, layout{}, one);
    const std::string picture = roofline_to_svg(kernels, one.gpu, "a < b");
    CHECK(well_formed(picture));
    for (const std::string& word :
         {std::string{"bf16 989 TFLOP/s"}, std::string{"memory 3.35 TB/s"}, std::string{"decode, matrix products"},
          std::string{"prefill, attention"}, to_string(kernels.storage[0].time)})
        CHECK(picture.find(word) != std::string::npos);
    CHECK(picture.find("=\"-") == std::string::npos);
    CHECK(picture.find("nan") == std::string::npos);
    gpu unknown = one.gpu;
    unknown.rates = {};
    CHECK(roofline_to_svg(kernels, unknown, "x").find("not known") != std::string::npos);
    CHECK(well_formed(roofline_to_svg({}, one.gpu, "x")));
}

TEST_CASE("throughput against latency shows each layout, and says where none fits") {
    const job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    std::vector<found_layout> best(1);
    std::vector<found_layout> front(10);
    search_request asked;
    asked.space.max_batch = 16;
    const auto counts =
        search(j, one, asked, best, front, objective::time_per_token, [](const search_counts&) { return true; });
    REQUIRE(counts);
    REQUIRE(counts->front > 1);
    front.resize(counts->front);
    const std::string picture = tradeoff_to_svg(front, j, objective::time_per_token, "llama");
    CHECK(well_formed(picture));
    CHECK(picture.find("batch 16") != std::string::npos);
    CHECK(picture.find("ms a token") != std::string::npos);
    CHECK(tradeoff_to_svg(front, j, objective::time_to_first_token, "llama").find("ms to the first token") !=
          std::string::npos);
    CHECK(tradeoff_to_svg({}, j, objective::throughput, "llama").find("No layout fits") != std::string::npos);
}

TEST_CASE("pictures stand above one another, and bytes that are no text are question marks") {
    const job j{.model = models::llama_3_1_70b, .task = task::pretraining, .sequence = tokens(4096)};
    const cluster four = standard_cluster(gpus::h100_sxm5_80gb, 4).value();
    const result<job_plan> p = plan(j, layout{.pipeline = 4}, four);
    REQUIRE(p);
    const std::string all = to_svg(*p, j, four);
    CHECK(well_formed(all));
    for (const char* word : {"Memory of the busiest GPU", "Tensors alive", "Layers over 4 GPUs", "Roofline"})
        CHECK(all.find(word) != std::string::npos);
    CHECK(to_svg(*p, "\x1b[2J\xff").find("?[2J?") != std::string::npos);
}

TEST_CASE("texts of a picture keep printable ASCII, and no byte that XML or UTF-8 could stumble on") {
    using llmres::detail::xml_text;
    CHECK(xml_text("a <b> & \"c\" ~") == "a &lt;b&gt; &amp; \"c\" ~");
    CHECK(xml_text("a\x01 b\x1f \x7f \xc3\xa9") == "a? b? ? ??");
}

TEST_CASE("layers are drawn where GPUs share them, and not where each replica is one GPU") {
    const job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const auto names = [&](const layout& l) {
        std::vector<std::string> all;
        for (const named_picture& p : pictures_of(plan(j, l, eight).value(), j, eight)) all.emplace_back(p.name);
        return all;
    };
    const std::vector<std::string> alone = names({});
    CHECK(alone.size() == 3);
    CHECK(names({.replicas = 2}) == alone);
    const std::vector<std::string> shared = names({.tensor = 2});
    REQUIRE(shared.size() == 4);
    CHECK(shared[2] == "layers");
    CHECK(names({.tensor = 2, .replicas = 2}) == shared);
}
