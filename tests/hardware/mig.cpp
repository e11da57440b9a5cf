// SPDX-License-Identifier: MIT
#include <llmres/hardware/mig.hpp>

#include <doctest/doctest.h>

#include <llmres/hardware/gpus/all.hpp>
#include <string>

using namespace llmres;

TEST_CASE("an A100 with 80 GB is split as NVIDIA's guide lists it") {
    struct expected {
        const char* name;
        int instances;
        double gib_seen;
    };
    const expected guide[] = {{"1g.10gb", 7, 9.5},   {"1g.20gb", 4, 19.5},  {"2g.20gb", 3, 19.5},
                              {"3g.40gb", 2, 39.25}, {"4g.40gb", 1, 39.25}, {"7g.80gb", 1, 78.75}};
    const auto profiles = mig_profiles(gpus::a100_sxm4_80gb);
    REQUIRE(profiles.count == 6);
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(profiles.list[i].name == guide[i].name);
        CHECK(profiles.list[i].instances == guide[i].instances);
        CHECK(profiles.list[i].memory.in(gib) == doctest::Approx(guide[i].gib_seen).epsilon(0.006));
    }
}

TEST_CASE("the smallest profile of every card with MIG has the name that people type") {
    const std::pair<const char*, const char*> names[] = {
        {"a30-24gb", "1g.6gb"},        {"a100-sxm4-40gb", "1g.5gb"},
        {"a100-sxm4-80gb", "1g.10gb"}, {"h100-sxm5-80gb", "1g.10gb"},
        {"h100-nvl-94gb", "1g.12gb"},  {"h200-sxm5-141gb", "1g.18gb"},
        {"b200-sxm-180gb", "1g.23gb"}, {"gh200-96gb", "1g.12gb"},
        {"b300-sxm-288gb", "1g.34gb"}, {"rtx-pro-6000-blackwell-server", "1g.24gb"}};
    for (const auto& [id, name] : names) {
        const auto card = find_gpu(id);
        REQUIRE_MESSAGE(card, id);
        const auto slice = mig_slice(*card, name);
        CHECK_MESSAGE(slice, id, " ", name, ": ", std::string{slice.error().expected.view()});
    }
}

TEST_CASE("the slices of a card hold no more than the card") {
    for (const gpu* card : gpus::all)
        for (const mig_profile& p : mig_profiles(*card)) {
            INFO(std::string{card->id.view()} << " " << std::string{p.name.view()});
            const auto slice = mig_slice(*card, p.name);
            REQUIRE(slice);
            CHECK(p.memory * p.instances <= usable_memory(*card));
            CHECK(usable_memory(*slice) == p.memory);
            CHECK(slice->memory.bandwidth * p.instances <= card->memory.bandwidth * 1.0001);
            CHECK(matrix_rate(*slice, arithmetic_kind::bf16) * p.instances <=
                  matrix_rate(*card, arithmetic_kind::bf16) * 1.0001);
            CHECK(!has_mig(*slice));
        }
}

TEST_CASE("a profile that a card does not have is refused with those it has") {
    const error no_profile = mig_slice(gpus::a100_sxm4_80gb, "1g.5gb").error();
    CHECK(no_profile.code == error_code::unknown);
    CHECK(no_profile.field == "mig");
    CHECK(no_profile.value == "1g.5gb");
    CHECK(std::string{no_profile.expected.view()}.find("1g.10gb, 1g.20gb, 2g.20gb") != std::string::npos);
    CHECK(mig_slice(gpus::a100_sxm4_80gb, "").error().code == error_code::unknown);
    CHECK(mig_slice(gpus::a100_sxm4_80gb, "999999999999g.1gb").error().code == error_code::unknown);
    CHECK(mig_slice(gpus::a100_sxm4_80gb, "1g.10gb extra").error().code == error_code::unknown);
    CHECK(mig_slice(gpus::rtx_4090, "1g.6gb").error().code == error_code::unsupported);
}

TEST_CASE("slices are values of compile time too") {
    constexpr auto slice = mig_slice(gpus::h100_sxm5_80gb, "3g.40gb");
    static_assert(slice && slice->memory.cuda_visible);
    static_assert(slice->sm_count.value_or(0) == 60);
    CHECK(slice->memory.bandwidth == gpus::h100_sxm5_80gb.memory.bandwidth * 0.5);
}

TEST_CASE("an instance has its part of the card's second-level cache: four eighths") {
    const gpu& card = gpus::h100_sxm5_80gb;
    CHECK(*mig_slice(card, "3g.40gb")->l2_cache * 2 == *card.l2_cache);
}
