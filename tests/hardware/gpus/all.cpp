// SPDX-License-Identifier: MIT
#include <llmres/hardware/gpus/all.hpp>

#include <doctest/doctest.h>

#include <ctime>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "../../csv.hpp"

using namespace llmres;

namespace {

/// The cell as the table writes it: an empty one is unknown.
maybe<double> number(const std::string& cell) {
    return cell.empty() ? maybe<double>{} : maybe<double>{std::stod(cell)};
}

template <class Made>
auto made_of(const std::string& cell, Made make) {
    maybe<decltype(make(0.0))> made{};
    if (!cell.empty()) made = make(std::stod(cell));
    return made;
}

std::int32_t whole(double x) { return static_cast<std::int32_t>(x); }
byte_count mebibytes(double x) { return kib(static_cast<std::int64_t>(x * 1024)); }
flop_rate rate(double x) { return tflops(x); }

void check_against(csv::row row) {
    CAPTURE(row["id"]);
    const result<gpu> found = find_gpu(row["id"]);
    REQUIRE(found);
    const gpu& card = *found;
    CHECK(card.id == row["id"]);
    CHECK(card.name == row["marketing_name"]);
    CHECK(name_of(card.vendor) == row["vendor"]);
    CHECK(card.architecture == row["architecture"]);
    const std::string& capability = row["compute_capability"];
    if (card.vendor == gpu_vendor::nvidia)
        CHECK(std::to_string(card.capability.major) + "." + std::to_string(card.capability.minor) == capability);
    else
        CHECK(card.target == capability);
    CHECK(std::to_string(card.launch_year) == row["launch_year"]);

    CHECK(card.sm_count == made_of(row["sm_count"], whole));
    CHECK(card.cuda_cores == made_of(row["cuda_cores"], whole));
    CHECK(card.tensor_cores == made_of(row["tensor_cores"], whole));
    CHECK(card.boost_clock == made_of(row["boost_clock_mhz"], mhz));

    const auto whole_gb = [](double x) { return gb(static_cast<std::int64_t>(x)); };
    const auto whole_gib = [](double x) { return gib(static_cast<std::int64_t>(x)); };
    CHECK(card.memory.marketing == made_of(row["memory_marketing_gb"], whole_gb).value_or({}));
    CHECK(card.memory.fitted == made_of(row["memory_gib_fitted"], whole_gib).value_or({}));
    CHECK(card.memory.reported == made_of(row["memory_total_mib_reported"], mebibytes));
    CHECK(card.memory.cuda_visible == made_of(row["cuda_total_global_mem_mib"], mebibytes));
    CHECK(card.memory.type == row["memory_type"]);
    CHECK(card.memory.bus_bits == made_of(row["memory_bus_bits"], whole));
    CHECK(card.memory.bandwidth == made_of(row["memory_bandwidth_gb_s"], gb_per_s).value_or({}));
    CHECK(card.l2_cache == made_of(row["l2_cache_mib"], mebibytes));

    const gpu_rates& r = card.rates;
    CHECK(r.fp64 == made_of(row["tflops_fp64"], rate));
    CHECK(r.fp64_tensor == made_of(row["tflops_fp64_tensor"], rate));
    CHECK(r.fp32 == made_of(row["tflops_fp32"], rate));
    CHECK(r.fp16_vector == made_of(row["tflops_fp16_vector"], rate));
    CHECK(r.tf32 == made_of(row["tflops_tf32_tensor"], rate));
    CHECK(r.fp16_accumulate16 == made_of(row["tflops_fp16_tensor_fp16acc"], rate));
    CHECK(r.fp16 == made_of(row["tflops_fp16_tensor_fp32acc"], rate));
    CHECK(r.bf16 == made_of(row["tflops_bf16_tensor_fp32acc"], rate));
    CHECK(r.fp8_accumulate16 == made_of(row["tflops_fp8_tensor_fp16acc"], rate));
    CHECK(r.fp8 == made_of(row["tflops_fp8_tensor_fp32acc"], rate));
    CHECK(r.fp6 == made_of(row["tflops_fp6_tensor"], rate));
    CHECK(r.fp4 == made_of(row["tflops_fp4_tensor"], rate));
    CHECK(r.int8 == made_of(row["tops_int8"], rate));
    CHECK(r.int4 == made_of(row["tops_int4"], rate));
    CHECK(r.sparsity == row["sparsity_supported"]);
    CHECK(card.board_power == made_of(row["tdp_watts"], watts));

    CHECK(card.links.pcie_generation == made_of(row["pcie_gen"], whole));
    CHECK(card.links.pcie_lanes == made_of(row["pcie_lanes"], whole));
    CHECK(card.links.scale_up_generation == whole(number(row["nvlink_gen"]).value_or(0)));
    CHECK(card.links.scale_up_links == made_of(row["nvlink_links"], whole));
    CHECK(card.links.scale_up == made_of(row["nvlink_total_bidirectional_gb_s"], gb_per_s));
    CHECK(card.links.scale_up_domain == made_of(row["scale_up_domain"], whole));
    CHECK(card.mig_instances == made_of(row["mig_max_instances"], whole));
    CHECK(card.listing.ecc == row["ecc"]);
    CHECK(card.listing.form_factor == row["form_factor"]);
    CHECK(card.listing.launch_price == made_of(row["launch_msrp_usd"], currency));
    CHECK(card.listing.confidence == row["confidence"]);
    CHECK(card.listing.sources == row["sources"]);
}

}  // namespace

TEST_CASE("the table agrees with its source, field by field") {
    const std::string shared{LLMRES_SHARED_DATA};
    if (shared.empty()) return;
    const auto rows = csv::read(shared + "/gpus/gpus.csv");
    const auto more = csv::read(LLMRES_SOURCE_DIR "/tests/data/gpus_more.csv");
    CHECK(rows.size() + more.size() == gpus::all.size());
    for (csv::row row : rows) {
        if (row["id"] == "rtx-4090") row["cuda_total_global_mem_mib"] = "24217";  // the source has Windows' figure
        check_against(row);
    }
}

TEST_CASE("the table agrees with a sample of its source that lies in the project") {
    const auto rows = csv::read(LLMRES_SOURCE_DIR "/tests/data/gpus_sample.csv");
    CHECK(rows.size() == 8);
    for (const csv::row& row : rows) check_against(row);
}

TEST_CASE("ids are unique, and a vendor's header holds that vendor's rows") {
    std::set<std::string_view> ids;
    for (const gpu* card : gpus::all) CHECK(ids.insert(card->id.view()).second);
    const auto is_from = [](gpu_vendor vendor) { return [=](const gpu* card) { return card->vendor == vendor; }; };
    CHECK(std::ranges::all_of(gpus::all_nvidia, is_from(gpu_vendor::nvidia)));
    CHECK(std::ranges::all_of(gpus::all_amd, is_from(gpu_vendor::amd)));
    CHECK(std::ranges::all_of(gpus::all_intel, is_from(gpu_vendor::intel)));
    CHECK(std::ranges::all_of(gpus::all_google, is_from(gpu_vendor::google)));
    CHECK(std::ranges::all_of(gpus::all_aws, is_from(gpu_vendor::aws)));
    CHECK(std::ranges::all_of(gpus::all_huawei, is_from(gpu_vendor::huawei)));
}

TEST_CASE("no text of the table was cut") {
    for (const gpu* card : gpus::all) {
        CAPTURE(card->id.view());
        for (const std::string_view text :
             {card->name.view(), card->architecture.view(), card->memory.type.view(), card->rates.sparsity.view(),
              card->listing.form_factor.view(), card->listing.sources.view()})
            CHECK_FALSE(text.ends_with(".."));
    }
}

TEST_CASE("every row makes physical sense") {
    for (const gpu* card : gpus::all) {
        CAPTURE(card->id.view());
        const gpu_memory& memory = card->memory;
        CHECK(memory.reported.value_or({}) <= memory.fitted);
        CHECK(memory.cuda_visible.value_or({}) <= memory.reported.value_or(memory.fitted));
        CHECK(usable_memory(*card) <= memory.fitted);
        if (card->id != "mlu590") CHECK(usable_memory(*card) > gib(7));  // public figures of the MLU590 conflict
        const gpu_rates& r = card->rates;
        if (r.fp16 && r.fp16_accumulate16) CHECK(*r.fp16 <= *r.fp16_accumulate16);
        if (r.fp8 && r.fp8_accumulate16) CHECK(*r.fp8 <= *r.fp8_accumulate16);
        if (r.int8 && r.fp16 && card->vendor == gpu_vendor::nvidia && r.fp16.value > flop_rate{})
            CHECK(*r.int8 <= *r.fp16_accumulate16 * 2.1);
        CHECK(card->launch_year >= 2016);
        if (has_mig(*card)) CHECK(card->capability >= compute_capability{8, 0});
    }
}

TEST_CASE("a GPU is found by its id, its marketed name and what drivers call it") {
    CHECK(find_gpu("h100-sxm5-80gb")->id == "h100-sxm5-80gb");
    CHECK(find_gpu("GeForce RTX 4090")->id == "rtx-4090");
    CHECK(find_gpu("NVIDIA GeForce RTX 4090")->id == "rtx-4090");
    CHECK(find_gpu("NVIDIA A100-SXM4-80GB")->id == "a100-sxm4-80gb");
    CHECK(find_gpu("NVIDIA A100 80GB PCIe")->id == "a100-pcie-80gb");
    CHECK(find_gpu("NVIDIA H100 80GB HBM3")->id == "h100-sxm5-80gb");
    CHECK(find_gpu("Tesla V100-SXM2-32GB")->id == "v100-sxm2-32gb");
    CHECK(find_gpu("AMD Instinct MI300X")->id == "mi300x-192gb");
    for (const gpu* card : gpus::all) {
        CHECK(find_gpu(card->id)->id == card->id);
        CHECK(find_gpu(card->name)->id == card->id);
    }
}

TEST_CASE("a MIG profile behind a name is that slice") {
    const gpu slice = find_gpu("a100-sxm4-80gb/3g.40gb").value();
    CHECK(slice.memory.cuda_visible.value < usable_memory(gpus::a100_sxm4_80gb));
    CHECK(find_gpu(slice.id.view()).value().id == slice.id);
    for (const char* written : {"NVIDIA A100-SXM4-80GB MIG 3g.40gb", "a100 mig 3g.40gb", "a100-mig-3g.40gb"}) {
        INFO(written);
        CHECK(find_gpu(written).value().id == slice.id);
    }
    CHECK(find_gpu("a100/5g.50gb", "cluster.gpu").error().field == "cluster.gpu");
    CHECK(find_gpu("x100/1g.10gb").error().code == error_code::unknown);
    CHECK(find_gpu("A10G/L4").error().code == error_code::unknown);  // two cards, no slice
}

TEST_CASE("short names stand for the part most often met in data centres") {
    static_assert(find_gpu("h100")->id == "h100-sxm5-80gb");
    CHECK(find_gpu("a100")->id == "a100-sxm4-80gb");
    CHECK(find_gpu("v100")->id == "v100-sxm2-16gb");
    CHECK(find_gpu("p100")->id == "p100-pcie-16gb");
    CHECK(find_gpu("4090")->id == "rtx-4090");
    CHECK(find_gpu("rtx4090")->id == "rtx-4090");
    CHECK(find_gpu("RTX_4070_Ti")->id == "rtx-4070-ti");
    CHECK(find_gpu("A6000")->id == "rtx-a6000");
    CHECK(find_gpu("b200")->id == "b200-sxm-180gb");
    CHECK(find_gpu("m3 ultra")->id == "apple-m3-ultra");
    for (const gpus::alias& other : gpus::aliases) {
        CAPTURE(other.name);
        REQUIRE(find_gpu(other.name));
        CHECK(find_gpu(other.name)->id == other.id);
    }
}

TEST_CASE("the words of a name may stand in any order") {
    CHECK(find_gpu("H100-80GB-SXM")->id == "h100-sxm5-80gb");
    CHECK(find_gpu("A100 40GB PCIe")->id == "a100-pcie-40gb");
    CHECK(find_gpu("PCIe A800 80GB")->id == "a800-pcie-80gb");
    CHECK(find_gpu("Ti 4070 RTX")->id == "rtx-4070-ti");
    CHECK_FALSE(find_gpu("H100-80GB-SXM-SXM"));
    CHECK_FALSE(find_gpu("H100-80GB-PCIe-SXM"));
}

TEST_CASE("a name that could be two different parts is refused, not guessed") {
    for (const std::string_view name : {"rtx 6000", "rtx-4060-ti", "rtx", "nvidia"}) {
        CAPTURE(name);
        const auto found = find_gpu(name);
        REQUIRE_FALSE(found);
        CHECK(found.error().code == error_code::unknown);
    }
}

TEST_CASE("an unknown name is answered with the nearest ids") {
    const auto found = find_gpu("h1000", "cluster.gpu");
    REQUIRE_FALSE(found);
    CHECK(found.error().field == "cluster.gpu");
    CHECK(found.error().value == "h1000");
    CHECK(found.error().expected == "a GPU such as h100-nvl-94gb, h100-sxm5-80gb or h100-pcie-80gb");
    CHECK(find_gpu("l40ss").error().expected == "a GPU such as l40s-48gb or l40-48gb");
    CHECK(find_gpu("").error().expected == "a GPU of `llmres gpus`, such as rtx-4090 or h100-sxm5-80gb");
}

TEST_CASE("a name that is longer than any GPU's is refused at once, whatever its words") {
    for (const std::string_view word : {"h100-", "x", "a b ", "/1g.", " MIG "}) {
        CAPTURE(word);
        std::string name;
        while (name.size() < 1'000'000) name += word;
        const std::clock_t begun = std::clock();
        const auto found = find_gpu(name, "cluster.gpu");
        REQUIRE_FALSE(found);
        CHECK(found.error().field == "cluster.gpu");
        CHECK(other_gpus_of_that_name(name).empty());
        CHECK(std::clock() - begun < CLOCKS_PER_SEC);
    }
    for (const gpu* card : gpus::all) CHECK(card->name.view().size() < gpus::detail::longest_name / 2);
}

TEST_CASE("a size of memory alone is answered with cards that have it") {
    for (const char* typed : {"24GB", "24 gb", "24g"}) {
        CAPTURE(typed);
        const text<191> expected = find_gpu(typed).error().expected;
        const std::string_view names = expected.view().substr(std::string_view{"a GPU such as "}.size());
        CHECK(find_gpu(names.substr(0, names.find_first_of(", "))).value().memory.marketing == gb(24));
    }
}
