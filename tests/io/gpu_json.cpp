// SPDX-License-Identifier: MIT
#include <llmres/io/gpu_json.hpp>

#include <doctest/doctest.h>
#include <llmres/hardware/gpus/all.hpp>

#include <set>
#include <string>

using namespace llmres;

TEST_CASE("a GPU's sheet is in bytes, operations a second and watts") {
    const auto sheet = to_json(gpus::h100_sxm5_80gb);
    CHECK(sheet["id"] == "h100-sxm5-80gb");
    CHECK(sheet["memory_marketing"] == 80'000'000'000);
    CHECK(sheet["memory_fitted"].is_number_integer());
    CHECK(sheet["memory_bandwidth"].get<double>() > 3e12);
    CHECK(sheet["bf16"].get<double>() > 9e14);
    CHECK(sheet["bf16"].get<double>() < 1e15);
    CHECK(sheet["board_power"] == 700.0);
}

TEST_CASE("what is not published is null, not zero") {
    CHECK(to_json(gpu{})["fp8"].is_null());
    CHECK(to_json(gpu{})["sm_count"].is_null());
}

TEST_CASE("every GPU has the same keys, and its own id") {
    const auto keys = [](const gpu& card) {
        std::set<std::string> found;
        const auto sheet = to_json(card);
        for (const auto& [key, value] : sheet.items()) found.insert(key);
        return found;
    };
    std::set<std::string> ids;
    for (const gpu* card : gpus::all) {
        CAPTURE(std::string{card->id.view()});
        CHECK(keys(*card) == keys(gpu{}));
        CHECK(ids.insert(std::string{card->id.view()}).second);
    }
}
