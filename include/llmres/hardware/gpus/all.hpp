// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/hardware/gpu.hpp>
#include <llmres/hardware/gpus/amd.hpp>
#include <llmres/hardware/gpus/aws.hpp>
#include <llmres/hardware/gpus/google.hpp>
#include <llmres/hardware/gpus/huawei.hpp>
#include <llmres/hardware/gpus/intel.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/gpus/other.hpp>
#include <llmres/hardware/mig.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/joined.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// Which GPU is meant by a name? All rows of all vendors, found by the names that people type. A caller who needs one
/// vendor includes that vendor's header alone.
namespace llmres::inline v0 {

namespace gpus {

/// Every row of every vendor.
inline constexpr auto all = joined(all_nvidia, all_amd, all_intel, all_google, all_aws, all_huawei, all_other);

/// A short or alternative name, and the id it stands for.
struct alias {
    std::string_view name;  ///< what people type
    std::string_view id;    ///< the id of the GPU that is meant
};

/// Names that people type beside ids and marketed names. A short name that several parts share stands for the one most
/// common in data centres: "a100" is the SXM4 part with 80 GB, "v100" the SXM2 part with 16 GB, "p100" the PCIe part.
/// "rtx 6000" (Quadro or Ada?) and "rtx 4060 ti" (8 or 16 GB?) stand for nothing: a guess would be wrong too often.
// clang-format off
inline constexpr std::array aliases{
    alias{"p100", "p100-pcie-16gb"},            alias{"p100-sxm2", "p100-sxm2-16gb"},     alias{"p100-pcie", "p100-pcie-16gb"},
    alias{"v100", "v100-sxm2-16gb"},            alias{"v100-16gb", "v100-sxm2-16gb"},     alias{"v100-32gb", "v100-sxm2-32gb"},
    alias{"v100-sxm2", "v100-sxm2-16gb"},       alias{"v100-pcie", "v100-pcie-16gb"},     alias{"v100s", "v100s-pcie-32gb"},
    alias{"gv100", "quadro-gv100"},             alias{"rtx-8000", "quadro-rtx-8000"},     alias{"t4", "t4-16gb"},
    alias{"a100", "a100-sxm4-80gb"},            alias{"a100-80gb", "a100-sxm4-80gb"},     alias{"a100-40gb", "a100-sxm4-40gb"},
    alias{"a100-sxm", "a100-sxm4-80gb"},        alias{"a100-sxm4", "a100-sxm4-80gb"},     alias{"a100-sxm-80gb", "a100-sxm4-80gb"},
    alias{"a100-sxm-40gb", "a100-sxm4-40gb"},   alias{"a100-pcie", "a100-pcie-80gb"},     alias{"a100-80gb-pcie", "a100-pcie-80gb"},
    alias{"a100-40gb-pcie", "a100-pcie-40gb"},
    alias{"a800", "a800-sxm4-80gb"},            alias{"a800-sxm", "a800-sxm4-80gb"},      alias{"a800-pcie", "a800-pcie-80gb"},
    alias{"a800-80gb-pcie", "a800-pcie-80gb"},  alias{"a800-80gb", "a800-sxm4-80gb"},
    alias{"h100", "h100-sxm5-80gb"},            alias{"h100-80gb", "h100-sxm5-80gb"},     alias{"h100-sxm", "h100-sxm5-80gb"},
    alias{"h100-sxm5", "h100-sxm5-80gb"},       alias{"h100-sxm-80gb", "h100-sxm5-80gb"}, alias{"h100-80gb-hbm3", "h100-sxm5-80gb"},
    alias{"h100-pcie", "h100-pcie-80gb"},       alias{"h100-nvl", "h100-nvl-94gb"},
    alias{"h800", "h800-sxm5-80gb"},            alias{"h800-sxm", "h800-sxm5-80gb"},      alias{"h800-pcie", "h800-pcie-80gb"},
    alias{"h20", "h20-sxm5-96gb"},              alias{"h200", "h200-sxm5-141gb"},         alias{"h200-sxm", "h200-sxm5-141gb"},
    alias{"h200-141gb", "h200-sxm5-141gb"},     alias{"h200-nvl", "h200-nvl-141gb"},
    alias{"gh200", "gh200-96gb"},               alias{"gh200-480gb", "gh200-96gb"},       alias{"gh200-144g-hbm3e", "gh200-144gb"},
    alias{"b100", "b100-sxm-192gb"},            alias{"b200", "b200-sxm-180gb"},          alias{"b300", "b300-sxm-288gb"},
    alias{"b300-sxm6-ac", "b300-sxm-288gb"},    alias{"gb10", "gb10-dgx-spark"},          alias{"dgx-spark", "gb10-dgx-spark"},
    alias{"orin", "jetson-agx-orin-64gb"},      alias{"thor", "jetson-agx-thor-t5000"},
    alias{"rtx-2080-ti-22gb", "rtx-2080-ti-22gb-mod"},
    alias{"rtx-3060", "rtx-3060-12gb"},         alias{"rtx-3080", "rtx-3080-10gb"},
    alias{"rtx-pro-6000", "rtx-pro-6000-blackwell-server"},
    alias{"rtx-pro-6000-blackwell", "rtx-pro-6000-blackwell-server"},
    alias{"l40s", "l40s-48gb"},                 alias{"l40", "l40-48gb"},                 alias{"l4", "l4-24gb"},
    alias{"a10", "a10-24gb"},                   alias{"a10g", "a10g-24gb"},               alias{"a40", "a40-48gb"},
    alias{"mi300x", "mi300x-192gb"},            alias{"mi325x", "mi325x-256gb"},          alias{"mi355x", "mi355x-288gb"},
    alias{"gaudi3", "gaudi3-128gb-oam"},        alias{"gaudi2", "gaudi2-96gb"},           alias{"max-1550", "intel-max-1550-128gb"},
    alias{"trillium", "tpu-v6e"},               alias{"ironwood", "tpu-v7"},              alias{"tpu7x", "tpu-v7"},
    alias{"trainium1", "trainium1-32gb"},       alias{"trn1", "trainium1-32gb"},          alias{"trn2", "trainium2-96gb"},
    alias{"trn3", "trainium3-144gb"},           alias{"inf2", "inferentia2-32gb"},
};
// clang-format on

namespace detail {

/// A name without what people vary: letter case, separators, the vendor, the product line, a remark in brackets.
/// "NVIDIA GeForce RTX 4090", "rtx4090" and "4090" are all "4090".
constexpr text<63> key(std::string_view name) {
    text<63> squeezed{};
    std::size_t length = 0;
    for (const char c : name) {
        if (c == '(' || length == 63) break;
        if (c >= 'A' && c <= 'Z')
            squeezed.characters[length++] = static_cast<char>(c - 'A' + 'a');
        else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            squeezed.characters[length++] = c;
    }
    constexpr std::array<std::string_view, 16> dropped{
        "nvidia",       "amd",     "intel", "google",   "aws",    "huawei", "apple", "cambricon",
        "moorethreads", "geforce", "tesla", "instinct", "radeon", "ascend", "rtx",   "rx"};
    std::string_view rest = squeezed.view();
    for (const std::string_view word : dropped)  // in the order in which they stand in names
        if (rest.size() > word.size() && rest.substr(0, word.size()) == word) rest.remove_prefix(word.size());
    return rest;
}

}  // namespace detail

}  // namespace gpus

namespace gpus::detail {

/// The name of a MIG slice, parted into the card and the profile: at the "/" of "a100-sxm4-80gb/3g.40gb", or the " MIG
/// " of "NVIDIA A100-SXM4-80GB MIG 3g.40gb". Other names have no profile.
struct card_and_slice {
    std::string_view card;
    std::string_view profile;
};
constexpr card_and_slice parted(std::string_view name) {
    for (const std::string_view mark : {"/", " MIG ", " mig ", "-mig-"}) {
        const std::size_t at = name.find(mark);
        if (at == name.npos) continue;
        const std::string_view rest = name.substr(at + mark.size());
        if (mark.size() > 1 || rest.substr(0, 3).find("g.") != rest.npos) return {name.substr(0, at), rest};
    }
    return {name, {}};
}

}  // namespace gpus::detail

/// The GPU of that id ("h100-sxm5-80gb"), marketed name ("NVIDIA GeForce RTX 4090", as drivers report it too) or short
/// name ("h100", "4090"; see gpus::aliases for what the ambiguous ones stand for). Letter case and separators do not
/// matter. With a MIG profile behind it, "h100/1g.10gb" or as drivers report it, a name means that slice. A name that
/// is not in the tables is an `unknown` error on `field`, which lists the ids nearest to it, or the profiles of the
/// card.
constexpr result<gpu> find_gpu(std::string_view name, std::string_view field = "gpu") {
    if (const gpus::detail::card_and_slice parts = gpus::detail::parted(name); !parts.profile.empty()) {
        const result<gpu> card = find_gpu(parts.card, field);
        return card ? mig_slice(*card, parts.profile, field) : card;
    }
    for (const gpu* card : gpus::all)
        if (card->id == name || card->name == name) return *card;
    const text<63> wanted = gpus::detail::key(name);
    if (!wanted.empty()) {
        for (const gpus::alias& other : gpus::aliases)
            if (gpus::detail::key(other.name) == wanted) return find_gpu(other.id, field);
        for (const gpu* card : gpus::all)
            if (gpus::detail::key(card->id) == wanted || gpus::detail::key(card->name) == wanted) return *card;
    }
    std::array<std::string_view, gpus::all.size()> ids{};
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = gpus::all[i]->id.view();
    return refused(error_code::unknown, field, name, such_as("a GPU", nearest(name, ids)));
}

}  // namespace llmres::inline v0
