// SPDX-License-Identifier: MIT
#include <llmres/io/json/job/images_reader.hpp>

#include <doctest/doctest.h>

#include <llmres/io/plan_json.hpp>
#include <nlohmann/json.hpp>

#include <string>

using namespace llmres;
using nlohmann::json;

namespace {

json seeing(const json& more) {
    json document{{"model", "qwen2.5-vl-7b"},
                  {"task", "serving"},
                  {"runtime", {{"name", "vllm"}}},
                  {"cluster", {{"gpu", "l40s-48gb"}}}};
    document.merge_patch(more);
    return document;
}
job read(const json& more) {
    const auto found = read_job(seeing(more));
    REQUIRE_MESSAGE(found, found.error().field.view());
    return found->job;
}
std::string wrong(const json& more) {
    const auto found = read_job(seeing(more));
    return found ? "" : std::string{found.error().field.view()};
}

}  // namespace

TEST_CASE("the tokens of images are added to those of the prompt, and their patches are the tower's") {
    // 1280 x 720 are 46 x 26 tokens of four patches (models/images.hpp).
    const job one = read({{"prompt", 500}, {"image", "1280x720"}});
    CHECK(one.images.count == 1);
    CHECK(one.images.patches == tokens(4 * 46 * 26));
    CHECK(one.prompt == tokens(500 + 46 * 26));
    const job three = read({{"prompt", 500}, {"image", "1280X720"}, {"images", 3}});
    CHECK(three.images.count == 3);
    CHECK(three.prompt == tokens(500 + 3 * 46 * 26));
    // A prompt that nobody gave is as long as the context, whatever is in it.
    const job whole = read({{"context", 8192}, {"image", "1280x720"}});
    CHECK(whole.prompt == token_count{});
    CHECK(prompt_of(whole) == tokens(8192));
    const job without = read({{"prompt", 500}});
    CHECK(without.images.count == 0);
    CHECK(without.prompt == tokens(500));
    // Patches that the document gives go before the rule's.
    CHECK(read({{"image", "1280x720"}, {"image_patches", 1000}}).images.patches == tokens(1000));
}

TEST_CASE("sizes that are none, and models that see no images, are refused by name") {
    for (const char* typed : {"", "x", "1280", "1280x", "x720", "0x720", "1280x0", "-1x5", "1280x720x3", "1280 x 720",
                              "1048577x1", "1e3x1e3", "99999999999999999999x1"}) {
        CAPTURE(std::string{typed});
        CHECK(wrong({{"image", typed}}) == "image");
    }
    CHECK(wrong({{"image", 1280}}) == "image");
    CHECK(wrong({{"model", "llama-3.1-8b"}, {"image", "1280x720"}}) == "image");
    CHECK(wrong({{"image", "1280x720"}, {"context", 1000}}) == "context");
    CHECK(wrong({{"image", "1280x720"}, {"images", -1}}) == "images");
    CHECK(wrong({{"task", "pretraining"}, {"image", "1280x720"}}) == "image");
    CHECK(wrong({{"image", "1048576x1048576"}}).empty());  // which is scaled down to the largest
}

TEST_CASE("images make the first token later, by what the tower computes of them, and no token behind it") {
    const auto time = [](const json& more) {
        const auto found = answer_job(seeing(more));
        REQUIRE_MESSAGE(found, found.error().field.view());
        return found->planned.plan.speed;
    };
    json asked{{"prompt", 3000}, {"output", 100}, {"runtime", {{"name", "vllm"}}}};
    const job_speed text = time(asked);
    asked["images"] = 1, asked["image_patches"] = 4784;
    const job_speed one = time(asked);
    asked["images"] = 2;
    const job_speed two = time(asked);
    CHECK(one.step.expected() == text.step.expected());
    const double added = (one.prefill.expected() - text.prefill.expected()).in(seconds);
    const double twice = (two.prefill.expected() - text.prefill.expected()).in(seconds);
    CHECK(twice > 1.6 * added);
    CHECK(twice <= 2.01 * added);
    // Each patch passes 32 layers of four matrices of 1280 x 1280 and three of 1280 x 3420, which an L40S multiplies at
    // 362 TFLOP/s at most; beside them are attention, in four layers over the whole image, and what small products
    // lose.
    const double products = 2.0 * 4784 * 32 * (4 * 1280.0 * 1280 + 3 * 1280.0 * 3420);
    CHECK(added > products / 362e12);
    CHECK(added < 6 * products / 362e12);
}

TEST_CASE("an engine that profiles no images has room for those of its prompts; one that does takes its largest") {
    const auto activations = [](const char* engine, std::int64_t images) {
        json asked{{"prompt", 512}, {"runtime", {{"name", engine}}}};
        if (images > 0) asked.update({{"images", images}, {"image_patches", 20000}});
        const auto found = answer_job(seeing(asked));
        REQUIRE_MESSAGE(found, found.error().field.view());
        return found->planned.plan.memory[memory_term::activations].expected;
    };
    CHECK(activations("transformers", 4) > activations("transformers", 1));
    CHECK(activations("transformers", 1) > activations("transformers", 0));
    CHECK(activations("vllm", 1) == activations("vllm", 0));
}
