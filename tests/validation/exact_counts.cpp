// SPDX-License-Identifier: MIT
// Every published total with a config.json, to the parameter.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "../csv.hpp"
#include "counts.hpp"

namespace {

const std::string shared = LLMRES_SHARED_DATA;

}  // namespace

TEST_CASE("the count of every config equals the published total") {
    if (shared.empty()) return;
    const auto rows = counts::of_configs(shared + "/models/");
    CHECK(rows.size() > 90);
    for (const counts::comparison& row : rows)
        CHECK_MESSAGE(row.equal(), row.model, ": published ", row.published, ", counted ", row.counted, " ",
                      row.refusal);
}

TEST_CASE("totals that were derived or remembered agree too, but for the two whose config says otherwise") {
    if (shared.empty()) return;
    for (const csv::row& row : csv::read(shared + "/models/exact_counts.csv")) {
        if (row.at("confidence") == "found" || row.at("config_file").empty()) continue;
        const counts::comparison c = counts::compare(row, shared + "/models/");
        if (c.model == "Qwen/Qwen1.5-1.8B") {
            CHECK(c.published - c.counted ==
                  151936 * 2048);  // this copy of the config ties the head; the original does not
        } else if (c.model == "google/vit-base-patch16-224") {
            CHECK(c.published - c.counted ==
                  1000 * 768 + 1000);  // a classifier of 1000 classes that the config does not name
        } else {
            CHECK_MESSAGE(c.equal(), c.model, ": said to be ", c.published, ", counted ", c.counted, " ", c.refusal);
        }
    }
}

TEST_CASE("the diffusion configs count what was published") {
    if (shared.empty()) return;
    const auto text = [](const char* name) { return counts::content_of(shared + "/models/configs_derived/" + name); };
    const auto sd = llmres::read_hf_unet(text("sd-v1-5-unet.json"));
    const auto sdxl = llmres::read_hf_unet(text("stabilityai__sdxl-base-1.0-unet.json"));
    const auto flux = llmres::read_hf_flow_transformer(text("black-forest-labs__FLUX.1-dev-transformer.json"));
    REQUIRE((sd && sdxl && flux));
    CHECK(llmres::count_parameters(*sd) == *llmres::models::stable_diffusion_1_5.published);
    CHECK(llmres::count_parameters(*sdxl) == *llmres::models::stable_diffusion_xl.published);
    CHECK(llmres::count_parameters(*flux) == *llmres::models::flux_1_dev.published);
}

TEST_CASE("the presets agree with the project's own table of published totals") {
    const auto rows = csv::read(LLMRES_SOURCE_DIR "/tests/data/exact_counts.csv");
    const auto presets = counts::of_presets();
    CHECK(rows.size() == presets.size());
    for (const csv::row& row : rows) {
        bool found = false;
        for (const counts::comparison& preset : presets) {
            if (preset.model != row.at("id")) continue;
            found = true;
            CHECK_MESSAGE(std::to_string(preset.published) == row.at("published"), preset.model);
            CHECK_MESSAGE(preset.equal(), preset.model);
        }
        CHECK_MESSAGE(found, row.at("id"), " is no preset");
    }
}
