// SPDX-License-Identifier: MIT
#include <llmres/hardware/interconnects/all.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include <llmres/hardware/gpus/all.hpp>

#include "../../csv.hpp"

using namespace llmres;

namespace {

/// Whether a number lies within what a cell prints: "2.0-2.5 p2p write", "~1.8", "100", or any of several in "a; b".
bool lies_in(double value, const std::string& cell) {
    const char* at = cell.c_str();
    while (*at != '\0') {
        char* after = nullptr;
        const double low = std::strtod(at, &after);
        if (after == at) {
            ++at;
            continue;
        }
        double high = low;
        if (*after == '-') {
            char* end = nullptr;
            const double second = std::strtod(after + 1, &end);
            if (end != after + 1) high = second, after = end;
        }
        if (low <= value && value <= high) return true;
        at = after;
    }
    return false;
}

std::string scale_up(std::string_view gpu) {
    return std::string{scale_up_link(find_gpu(gpu).value()).value().id.view()};
}

}  // namespace

TEST_CASE("a latency and the bandwidth of an all-reduce lie within what their source prints") {
    const auto rows = csv::read(LLMRES_SOURCE_DIR "/packaging/tables/links.csv");
    CHECK(rows.size() == links::all.size());
    int ranges = 0;
    for (csv::row row : rows) {
        CAPTURE(row["id"]);
        const std::string &latency = row["latency as printed"], &all_reduce = row["all_reduce as printed"];
        const llmres::link of = find_link(row["id"]).value();
        if (of.latency && !latency.empty()) CHECK(lies_in(of.latency.value.in(microseconds), latency));
        if (of.all_reduce) CHECK(lies_in(of.all_reduce.value.in(gb_per_s), all_reduce));
        ranges += latency.find('-') != latency.npos;
    }
    CHECK(ranges > 40);
}

TEST_CASE("link ids are unique, and no text was cut") {
    std::set<std::string_view> ids;
    for (const auto* row : links::all) {
        CHECK(ids.insert(row->id.view()).second);
        CHECK_FALSE(row->sources.view().ends_with(".."));
        CHECK_FALSE(row->scope.view().ends_with(".."));
        CHECK(row->kind != link_kind::none);
        CHECK(row->raw > byte_rate{});
        CHECK(row->achievable.value_or(0.5) <= 1.0);
        if (row->both_directions) CHECK(ratio(*row->both_directions, row->raw) == doctest::Approx(2.0).epsilon(0.001));
    }
}

TEST_CASE("an unknown link is answered with the nearest ids") {
    const auto found = find_link("ib-ndr", "cluster.scale_out");
    REQUIRE_FALSE(found);
    CHECK(found.error().code == error_code::unknown);
    CHECK(found.error().field == "cluster.scale_out");
    CHECK(found.error().expected.view().starts_with("a link such as ib-ndr-400"));
}

TEST_CASE("NVLink joins the GPUs that have it, by generation, bandwidth and domain") {
    static_assert(scale_up_link(gpus::h100_sxm5_80gb)->id == "nvlink4-h100-sxm5");
    CHECK(scale_up("rtx-3090") == "nvlink3-bridge-rtx3090-a6000-a40");
    CHECK(scale_up("rtx-2080-ti-11gb") == "nvlink2-bridge-2080ti-rtx6000");
    CHECK(scale_up("p100-sxm2-16gb") == "nvlink1-p100-sxm2");
    CHECK(scale_up("v100-sxm2-32gb") == "nvlink2-v100-sxm2");
    CHECK(scale_up("a30-24gb") == "nvlink3-bridge-a30");
    CHECK(scale_up("a100-pcie-80gb") == "nvlink3-bridge-a100-pcie");
    CHECK(scale_up("a100-sxm4-40gb") == "nvlink3-a100-sxm4");
    CHECK(scale_up("a800-sxm4-80gb") == "nvlink3-a800");
    CHECK(scale_up("h100-pcie-80gb") == "nvlink4-bridge-h100-pcie-nvl");
    CHECK(scale_up("h800-sxm5-80gb") == "nvlink4-h800");
    CHECK(scale_up("h20-sxm5-96gb") == "nvlink4-h20");
    CHECK(scale_up("h200-sxm5-141gb") == "nvlink4-h200-sxm5");
    CHECK(scale_up("h200-nvl-141gb") == "nvlink4-bridge-h200-nvl");
    CHECK(scale_up("b200-sxm-180gb") == "nvlink5-b200-hgx");
    CHECK(scale_up("gb200-186gb") == "nvlink5-nvl72-gb200");
    CHECK(scale_up("gb300-288gb") == "nvlink5-nvl72-gb300");
}

TEST_CASE("other vendors' fabrics join their GPUs") {
    CHECK(scale_up("mi300x-192gb") == "xgmi-mi300x");
    CHECK(scale_up("mi355x-288gb") == "xgmi-mi350x-mi355x");
    CHECK(scale_up("gaudi3-128gb-oam") == "gaudi3-roce-scaleup");
    CHECK(scale_up("tpu-v5p") == "ici-tpu-v5p");
    CHECK(scale_up("trainium2-96gb") == "neuronlink-v3-trn2");
    CHECK(scale_up("ascend-910b2") == "hccs-ascend-910b");
    CHECK(scale_up_link(gpus::mi300x_192gb)->topology == link_topology::mesh);
}

TEST_CASE("without a fabric, PCIe joins GPUs") {
    CHECK(scale_up("rtx-4090") == "pcie-gen4-x16");
    CHECK(scale_up("rtx-4060-ti-16gb") == "pcie-gen4-x8");
    CHECK(scale_up("l4-24gb") == "pcie-gen4-x16");
    CHECK(scale_up("gh200-96gb") == "pcie-gen5-x16");  // its NVLink has nobody to join
}

TEST_CASE("a fabric that no row describes has the datasheet's bandwidth and the nearest row's efficiency") {
    constexpr auto own = scale_up_link(gpus::mi250x_128gb).value();
    static_assert(own.raw == gb_per_s(400));
    CHECK(own.id == "own-fabric");
    CHECK(own.kind == link_kind::xgmi);
    CHECK(own.members == 8);
    CHECK(own.achievable == 0.8);
    CHECK_FALSE(own.all_reduce);
    CHECK(scale_up_link(gpus::h800_pcie_80gb)->members == 2);
    CHECK(scale_up_link(gpus::h800_pcie_80gb)->topology == link_topology::bridge);
    CHECK(scale_up_link(gpus::mtt_s4000_48gb)->kind == link_kind::other);
    CHECK_FALSE(scale_up_link(gpus::mtt_s4000_48gb)->achievable);
}

TEST_CASE("a GPU's share of its fabric is half of what its datasheet prints for both directions") {
    for (const gpu* card : gpus::all) {
        if (card->links.scale_up.value_or({}) <= byte_rate{} || card->links.scale_up_domain == 1) continue;
        CAPTURE(card->id.view());
        const auto joined = scale_up_link(*card);
        REQUIRE(joined);
        CHECK(ratio(*card->links.scale_up, joined->raw) == doctest::Approx(2.0).epsilon(0.01));
        CHECK(joined->members == card->links.scale_up_domain);
    }
}

TEST_CASE("the host is reached by PCIe, and from Grace by C2C") {
    static_assert(host_link(gpus::h100_sxm5_80gb)->id == "pcie-gen5-x16");
    CHECK(host_link(gpus::rtx_4090)->id == "pcie-gen4-x16");
    CHECK(host_link(gpus::a16_4x16gb)->id == "pcie-gen4-x4");
    CHECK(host_link(gpus::gh200_96gb)->id == "nvlink-c2c-grace-hopper");
    CHECK(host_link(gpus::gb200_186gb)->id == "nvlink-c2c-grace-blackwell");
    CHECK(host_link(gpus::gb300_288gb)->kind == link_kind::c2c);
}

TEST_CASE("where the datasheet names no PCIe, the link to the host is missing, not slow") {
    for (const gpu* card : {&gpus::tpu_v5e, &gpus::trainium2_96gb, &gpus::apple_m3_ultra}) {
        const auto found = host_link(*card);
        REQUIRE_FALSE(found);
        CHECK(found.error().code == error_code::missing);
        CHECK(found.error().field == "pcie_generation");
    }
}

TEST_CASE("a PCIe width between two rows takes its share of sixteen lanes") {
    CHECK(pcie_link(4, 16)->id == "pcie-gen4-x16");
    const auto twelve = pcie_link(4, 12);
    REQUIRE(twelve);
    CHECK(ratio(twelve->raw, pcie_link(4, 16)->raw) == doctest::Approx(0.75));
    CHECK(twelve->achievable == pcie_link(4, 16)->achievable);
    CHECK(pcie_link(7, 16).error().code == error_code::out_of_range);
    CHECK(pcie_link(4, 0).error().field == "pcie_lanes");
    CHECK(pcie_link(4, 32).error().code == error_code::out_of_range);
}

TEST_CASE("a link that nobody measured counts as signalled") {
    CHECK(links::nvlink6_rubin.bandwidth() == gb_per_s(1800));
    CHECK(links::ib_ndr_400.bandwidth() == gb_per_s(50) * 0.95);
}

TEST_CASE("every source tag of GPUs and links is explained in docs/sources.md") {
    std::ifstream file{LLMRES_SOURCE_DIR "/docs/sources.md"};
    const std::string document{std::istreambuf_iterator<char>{file}, {}};
    const std::size_t table = document.find("## Tags");
    REQUIRE(table != std::string::npos);
    std::set<std::string> explained;
    std::string word;
    for (const char c : document.substr(table)) {
        if ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-') {
            word += c;
        } else {
            explained.insert(word);
            word.clear();
        }
    }
    const auto check = [&](std::string_view sources) {
        CAPTURE(sources);
        std::string tag;
        int depth = 0;
        for (const char c : std::string{sources} + ";") {
            depth += c == '(' ? 1 : c == ')' ? -1 : 0;
            if (c == ';' && depth == 0) {
                const bool issue = tag.starts_with("NCCL") && tag.size() > 4 && tag.back() >= '0' && tag.back() <= '9';
                CAPTURE(tag);
                CHECK((issue || explained.contains(tag)));
                tag.clear();
            } else if (depth == 0 && c != ')') {
                tag += c;
            }
        }
    };
    for (const gpu* card : gpus::all) check(card->listing.sources);
    for (const auto* row : links::all) check(row->sources);
}

TEST_CASE("kinds have names") {
    CHECK(name_of(link_kind::none) == "none");
    CHECK(name_of(link_kind::infiniband) == "infiniband");
    CHECK(name_of(link_kind::other) == "other");
}
