// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
#include <llmres/values/maybe.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
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
    alias{"p100", "p100-pcie-16gb"}, alias{"p100-sxm2", "p100-sxm2-16gb"}, alias{"p100-pcie", "p100-pcie-16gb"},
    alias{"v100", "v100-sxm2-16gb"}, alias{"v100-16gb", "v100-sxm2-16gb"}, alias{"v100-32gb", "v100-sxm2-32gb"},
    alias{"v100-sxm2", "v100-sxm2-16gb"}, alias{"v100-pcie", "v100-pcie-16gb"}, alias{"v100s", "v100s-pcie-32gb"},
    alias{"p1000", "quadro-p1000"}, alias{"p2000", "quadro-p2000"}, alias{"p2200", "quadro-p2200"},
    alias{"gv100", "quadro-gv100"}, alias{"rtx-8000", "quadro-rtx-8000"}, alias{"t4", "t4-16gb"},
    alias{"a100", "a100-sxm4-80gb"}, alias{"a100-80gb", "a100-sxm4-80gb"}, alias{"a100-40gb", "a100-sxm4-40gb"},
    alias{"a100-sxm", "a100-sxm4-80gb"}, alias{"a100-sxm4", "a100-sxm4-80gb"}, alias{"a100-sxm-80gb", "a100-sxm4-80gb"},
    alias{"a100-sxm-40gb", "a100-sxm4-40gb"}, alias{"a100-pcie", "a100-pcie-80gb"},
    alias{"a800", "a800-sxm4-80gb"}, alias{"a800-sxm", "a800-sxm4-80gb"}, alias{"a800-pcie", "a800-pcie-80gb"},
    alias{"a800-80gb", "a800-sxm4-80gb"},
    alias{"h100", "h100-sxm5-80gb"}, alias{"h100-80gb", "h100-sxm5-80gb"}, alias{"h100-sxm", "h100-sxm5-80gb"},
    alias{"h100-sxm5", "h100-sxm5-80gb"}, alias{"h100-sxm-80gb", "h100-sxm5-80gb"},
    alias{"h100-80gb-hbm3", "h100-sxm5-80gb"}, alias{"h100-pcie", "h100-pcie-80gb"}, alias{"h100-nvl", "h100-nvl-94gb"},
    alias{"h800", "h800-sxm5-80gb"}, alias{"h800-sxm", "h800-sxm5-80gb"}, alias{"h800-pcie", "h800-pcie-80gb"},
    alias{"h20", "h20-sxm5-96gb"}, alias{"h200", "h200-sxm5-141gb"}, alias{"h200-sxm", "h200-sxm5-141gb"},
    alias{"h200-141gb", "h200-sxm5-141gb"}, alias{"h200-nvl", "h200-nvl-141gb"},
    alias{"gh200", "gh200-96gb"}, alias{"gh200-480gb", "gh200-96gb"}, alias{"gh200-144g-hbm3e", "gh200-144gb"},
    alias{"b100", "b100-sxm-192gb"}, alias{"b200", "b200-sxm-180gb"}, alias{"b300", "b300-sxm-288gb"},
    alias{"b300-sxm6-ac", "b300-sxm-288gb"}, alias{"gb10", "gb10-dgx-spark"}, alias{"dgx-spark", "gb10-dgx-spark"},
    alias{"orin", "jetson-agx-orin-64gb"}, alias{"thor", "jetson-agx-thor-t5000"},
    alias{"jetson-thor", "jetson-agx-thor-t5000"}, alias{"rtx-pro-5000-72gb", "rtx-pro-5000-blackwell-72gb"},
    alias{"vera-rubin-nvl144", "vr200-288gb"},
    alias{"rtx-2080-ti-22gb", "rtx-2080-ti-22gb-mod"},
    alias{"rtx-3060", "rtx-3060-12gb"}, alias{"rtx-3080", "rtx-3080-10gb"},
    alias{"rtx-pro-6000", "rtx-pro-6000-blackwell-server"},
    alias{"rtx-pro-6000-blackwell", "rtx-pro-6000-blackwell-server"},
    alias{"l40s", "l40s-48gb"}, alias{"l40", "l40-48gb"}, alias{"l4", "l4-24gb"},
    alias{"a10", "a10-24gb"}, alias{"a10g", "a10g-24gb"}, alias{"a40", "a40-48gb"},
    alias{"mi300x", "mi300x-192gb"}, alias{"mi325x", "mi325x-256gb"}, alias{"mi355x", "mi355x-288gb"},
    alias{"rtx-4060-8gb", "rtx-4060"}, alias{"7900-xt", "rx-7900-xt-20gb"}, alias{"7900-xtx", "rx-7900-xtx-24gb"},
    alias{"9070-xt", "rx-9070-xt-16gb"}, alias{"6900-xt", "rx-6900-xt-16gb"}, alias{"6800-xt", "rx-6800-xt-16gb"},
    alias{"7800-xt", "rx-7800-xt-16gb"}, alias{"7700-xt", "rx-7700-xt-12gb"}, alias{"arc-b570", "arc-b570-10gb"},
    alias{"strix-halo", "ryzen-ai-max-395"}, alias{"ryzen-ai-max+-395", "ryzen-ai-max-395"},
    alias{"radeon-8060s", "ryzen-ai-max-395"}, alias{"max-395", "ryzen-ai-max-395"}, alias{"mi50", "mi50-16gb"},
    alias{"mi100", "mi100-32gb"}, alias{"mi210", "mi210-64gb"}, alias{"p40", "p40-24gb"},
    alias{"3080-laptop", "rtx-3080-laptop-8gb"},
    alias{"h200-sxm5", "h200-sxm5-141gb"}, alias{"b200-sxm", "b200-sxm-180gb"}, alias{"gb200", "gb200-186gb"},
    alias{"gb300", "gb300-288gb"},
    alias{"gaudi3", "gaudi3-128gb-oam"}, alias{"gaudi2", "gaudi2-96gb"}, alias{"max-1550", "intel-max-1550-128gb"},
    alias{"trillium", "tpu-v6e"}, alias{"ironwood", "tpu-v7"}, alias{"tpu7x", "tpu-v7"},
    alias{"trainium1", "trainium1-32gb"}, alias{"trn1", "trainium1-32gb"}, alias{"trn2", "trainium2-96gb"},
    alias{"trn3", "trainium3-144gb"}, alias{"inf2", "inferentia2-32gb"},
    alias{"rtx-3050", "rtx-3050-8gb"},
    alias{"qualcomm-cloud-ai-100", "cloud-ai-100-pro-32gb"}, alias{"cloud-ai-100", "cloud-ai-100-pro-32gb"},
    alias{"qualcomm-cloud-ai-100-ultra", "cloud-ai-100-ultra-128gb"},
};
// clang-format on

namespace detail {

/// Words that people leave out: the vendor, Apple's machines and the product line, in the order in which they stand in
/// names.
inline constexpr std::array<std::string_view, 23> product_lines{
    "nvidia",       "amd",        "intel",      "google",  "aws",     "huawei",    "apple", "cambricon",
    "moorethreads", "macbookpro", "macbookair", "macbook", "macmini", "macstudio", "imac",  "geforce",
    "tesla",        "instinct",   "radeon",     "ascend",  "rtx",     "gtx",       "rx"};

/// A name without what people vary: letter case, separators, the vendor, the product line, a remark in brackets.
/// "NVIDIA GeForce RTX 4090", "rtx4090" and "4090" are all "4090".
constexpr text<63> key(std::string_view name) {
    text<63> squeezed{};
    std::size_t length = 0;
    for (const char c : name) {
        if (c == '(' || length == 63) break;
        const char lower = llmres::detail::lower_case(c);
        if (llmres::detail::is_lower_or_digit(lower)) squeezed.characters[length++] = lower;
    }
    std::string_view rest = squeezed.view();
    for (const std::string_view word : product_lines)
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
constexpr result<gpu> find_gpu(std::string_view name, std::string_view field = "gpu");

/// Other GPUs that a short name could mean: for "h100", which find_gpu() takes for "h100-sxm5-80gb", the PCIe and NVL
/// cards; for "apple-m3-max" the smaller sizes of its memory. Empty for a name that means one GPU.
constexpr text<191> other_gpus_of_that_name(std::string_view name);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace gpus::detail {

/// A name with a size of memory at its end, parted: "RTX 4000 Ada 20GB" is "RTX 4000 Ada" with 20.
struct name_and_size {
    std::string_view name;
    std::int64_t gigabytes = 0;  ///< 0: no size stands there
};
constexpr name_and_size without_size(std::string_view name) {
    std::string_view rest = name;
    const auto last = [&] { return rest.empty() ? '\0' : rest.back(); };
    if (last() == 'b' || last() == 'B') rest.remove_suffix(1);
    if (last() != 'g' && last() != 'G') return {name};
    rest.remove_suffix(1);
    while (last() == ' ') rest.remove_suffix(1);
    std::int64_t size = 0;
    for (std::int64_t place = 1; llmres::detail::is_digit(last()) && place < 10000; place *= 10) {
        size += place * (last() - '0');
        rest.remove_suffix(1);
    }
    while (last() == ' ' || last() == '-' || last() == '_') rest.remove_suffix(1);
    return size > 0 && !rest.empty() ? name_and_size{rest, size} : name_and_size{name};
}

/// Whether a card has so many gigabytes of memory.
constexpr bool has_memory(const gpu& card, std::int64_t gigabytes) {
    return card.memory.fitted == gib(gigabytes) || card.memory.marketing == gb(gigabytes);
}

/// Sizes of memory, in GiB, with which a chip that shares its memory with the host is sold (Apple's technical
/// specifications; AMD's product page). The table has each with its largest.
struct unified_sizes {
    std::string_view id;
    std::array<std::int32_t, 6> sizes{};
};
inline constexpr std::array unified{
    unified_sizes{"apple-m1", {8, 16}},
    unified_sizes{"apple-m1-pro", {16, 32}},
    unified_sizes{"apple-m1-max", {32, 64}},
    unified_sizes{"apple-m1-ultra", {64, 128}},
    unified_sizes{"apple-m2", {8, 16, 24}},
    unified_sizes{"apple-m2-pro", {16, 32}},
    unified_sizes{"apple-m2-max", {32, 64, 96}},
    unified_sizes{"apple-m2-ultra", {64, 128, 192}},
    unified_sizes{"apple-m3", {8, 16, 24}},
    unified_sizes{"apple-m3-pro", {18, 36}},
    unified_sizes{"apple-m3-max", {36, 48, 64, 96, 128}},
    unified_sizes{"apple-m3-ultra", {96, 256, 512}},
    unified_sizes{"apple-m4", {16, 24, 32}},
    unified_sizes{"apple-m4-pro", {24, 48, 64}},
    unified_sizes{"apple-m4-max", {36, 48, 64, 128}},
    unified_sizes{"apple-m5", {16, 24, 32}},
    unified_sizes{"apple-m5-pro", {24, 48, 64}},
    unified_sizes{"apple-m5-max", {36, 48, 64, 128}},
    unified_sizes{"ryzen-ai-max-395", {32, 64, 96, 128}},
};

/// The card with so many gigabytes: itself if it has them, or the chip with that much of the host's memory; nothing
/// where it is not sold so.
constexpr maybe<gpu> sized(const gpu& card, std::int64_t gigabytes) {
    if (has_memory(card, gigabytes)) return card;
    for (const unified_sizes& chip : unified) {
        if (card.id != chip.id) continue;
        for (const std::int32_t size : chip.sizes) {
            if (size == 0 || size != gigabytes) continue;
            gpu smaller = with_memory(card, gib(gigabytes));
            smaller.id.append("-");
            smaller.id.append(llmres::detail::digits(gigabytes));
            smaller.id.append("gb");
            return smaller;
        }
    }
    return {};
}

/// Calls visit(word) for each word of a name but the vendor's and the product line's.
template <class Visit>
constexpr void for_each_word(std::string_view name, const Visit& visit) {
    while (!name.empty()) {
        const std::string_view word = llmres::detail::taken_before(name, " -_()/");
        bool counts = !word.empty();
        for (const std::string_view line : product_lines) counts = counts && !llmres::detail::same_letters(word, line);
        if (counts) visit(word);
    }
}

/// Whether two names have the same words, two and more, in any order: "H100 80GB SXM" and "h100-sxm-80gb".
constexpr bool same_words(std::string_view a, std::string_view b) {
    int of_a = 0, of_b = 0, shared = 0;
    for_each_word(b, [&](std::string_view) { ++of_b; });
    for_each_word(a, [&](std::string_view word) {
        ++of_a;
        bool found = false;
        for_each_word(b, [&](std::string_view other) { found = found || llmres::detail::same_letters(word, other); });
        if (found) ++shared;
    });
    return of_a > 1 && of_a == of_b && shared == of_a;
}

/// The card of that id.
constexpr const gpu* of_id(std::string_view id) {
    for (const gpu* card : gpus::all)
        if (card->id == id) return card;
    return nullptr;
}

/// No GPU has a longer name: "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition" has 55 characters.
inline constexpr std::size_t longest_name = 127;

/// The card whose id, marketed name or short name is this one, letter case, separators and the order of words aside.
constexpr const gpu* named(std::string_view name) {
    if (name.size() > longest_name) return nullptr;
    for (const gpu* card : gpus::all)
        if (card->id == name || card->name == name) return card;
    const text<63> wanted = key(name);
    if (wanted.empty()) return nullptr;
    for (const gpus::alias& other : gpus::aliases)
        if (key(other.name) == wanted) return of_id(other.id);
    for (const gpu* card : gpus::all)
        if (key(card->id) == wanted || key(card->name) == wanted) return card;
    for (const gpus::alias& other : gpus::aliases)
        if (same_words(other.name, name)) return of_id(other.id);
    for (const gpu* card : gpus::all)
        if (same_words(card->id, name) || same_words(card->name, name)) return card;
    return nullptr;
}

/// The only card that is called so but for the size of its memory ("arc a770"), a laptop's card by other words for it
/// ("4060 mobile", "4060 notebook"), and one that laptops alone have ("rtx 4050").
constexpr const gpu* nearly_named(std::string_view name) {
    const text<63> wanted = key(name);
    const gpu* found = nullptr;
    for (const gpu* card : gpus::all) {
        if (wanted.empty() || key(without_size(card->id.view()).name) != wanted) continue;
        if (found != nullptr) return nullptr;
        found = card;
    }
    for (const std::string_view other : {"mobile", "notebook", "laptopgpu", "mobilegpu"}) {
        if (found != nullptr || !wanted.view().ends_with(other)) continue;
        text<63> laptop{wanted.view().substr(0, wanted.view().size() - other.size())};
        laptop.append("laptop");
        found = named(laptop.view());
    }
    if (found != nullptr || wanted.empty()) return found;
    text<63> laptop_alone = wanted;
    laptop_alone.append("laptop");
    return named(laptop_alone.view());
}

/// Parts of names of what computes for language models and is no row of the tables, and what to ask instead.
struct not_a_card {
    std::string_view part;  ///< of the name, in small letters and without separators
    std::string_view instead;
};
inline constexpr std::string_view in_host_memory =
    "cpu with the host's memory and bandwidth: it computes there, and no figures of this processor are in the tables";
inline constexpr std::string_view without_figures = "a chip whose figures are in the tables: those of this one are not";
inline constexpr std::string_view not_described =
    "a chip of `llmres gpus`: this one computes out of memory on the chip, which is not described";
inline constexpr std::array not_cards{
    not_a_card{"irisxe", in_host_memory},
    not_a_card{"irisplus", in_host_memory},
    not_a_card{"uhd", in_host_memory},
    not_a_card{"hdgraphics", in_host_memory},
    not_a_card{"arcgraphics", in_host_memory},
    not_a_card{"arc140", in_host_memory},
    not_a_card{"arc130", in_host_memory},
    not_a_card{"660m", in_host_memory},
    not_a_card{"680m", in_host_memory},
    not_a_card{"740m", in_host_memory},
    not_a_card{"760m", in_host_memory},
    not_a_card{"780m", in_host_memory},
    not_a_card{"840m", in_host_memory},
    not_a_card{"860m", in_host_memory},
    not_a_card{"880m", in_host_memory},
    not_a_card{"890m", in_host_memory},
    not_a_card{"radeongraphics", in_host_memory},
    not_a_card{"vega8", in_host_memory},
    not_a_card{"snapdragon", in_host_memory},
    not_a_card{"adreno", in_host_memory},
    not_a_card{"steamdeck", in_host_memory},
    not_a_card{"xeon", in_host_memory},
    not_a_card{"epyc", in_host_memory},
    not_a_card{"ryzen", in_host_memory},
    not_a_card{"threadripper", in_host_memory},
    not_a_card{"corei", in_host_memory},
    not_a_card{"coreultra", in_host_memory},
    not_a_card{"graviton", in_host_memory},
    not_a_card{"raspberry", in_host_memory},
    not_a_card{"cerebras", not_described},
    not_a_card{"wse3", not_described},
    not_a_card{"groq", not_described},
    not_a_card{"rubinultra", without_figures},
    not_a_card{"m5ultra", without_figures},
    not_a_card{"5070super", without_figures},
    not_a_card{"5070tisuper", without_figures},
    not_a_card{"5080super", without_figures},
    not_a_card{"qualcommai200", without_figures},
    not_a_card{"qualcommai250", without_figures},
};

/// Words to ask in place of a name that is known to be no card; empty for others.
constexpr std::string_view instead_of(std::string_view name) {
    text<63> squeezed{};
    for (const char c : name) {
        const char lower = llmres::detail::lower_case(c);
        const std::string_view letter{&lower, 1};
        if (squeezed.view().size() < 63 && llmres::detail::is_lower_or_digit(lower)) squeezed.append(letter);
    }
    for (const not_a_card& other : not_cards)
        if (const std::size_t at = squeezed.view().find(other.part);
            at != std::string_view::npos && (at == 0 || !llmres::detail::is_digit(squeezed.view()[at - 1])))
            return other.instead;
    return {};
}

/// Up to three ids of cards with so much memory, where a size stands for a name: "80GB".
constexpr nearest_names with_size(std::string_view name) {
    text<63> after_a_name{"gpu "};
    after_a_name.append(name);
    const name_and_size parts = without_size(after_a_name);
    nearest_names found;
    if (parts.name != "gpu") return found;
    for (const gpu* card : gpus::all)
        if (has_memory(*card, parts.gigabytes) && found.count < found.names.size())
            found.names[found.count++] = card->id.view();
    return found;
}

/// Up to three ids that go on where a name ends: both sizes for "rtx 4060 ti".
constexpr nearest_names beginning_with(std::string_view name) {
    nearest_names found;
    const text<63> wanted = key(name);
    for (const gpu* card : gpus::all) {
        const text<63> own = key(card->id);
        if (wanted.view().size() < 3 || !own.view().starts_with(wanted.view())) continue;
        if (found.count < found.names.size()) found.names[found.count++] = card->id.view();
    }
    return found;
}

}  // namespace gpus::detail

constexpr text<191> other_gpus_of_that_name(std::string_view name) {
    text<191> others{};
    const gpu* taken = gpus::detail::named(name);
    if (taken == nullptr || taken->id == name || taken->name == name) return others;
    const auto add = [&](std::string_view id) {
        if (!others.empty()) others.append(", ");
        others.append(id);
    };
    for (const gpus::detail::unified_sizes& chip : gpus::detail::unified)
        for (const std::int32_t size : chip.sizes)
            if (taken->id == chip.id && size > 0 && gib(size) != taken->memory.fitted)
                add(gpus::detail::sized(*taken, size)->id.view());
    // The words of the name stand before a size or a form factor in other ids as well.
    const std::string_view id = taken->id.view();
    const std::string_view first = id.substr(0, id.find('-'));
    if (gpus::detail::key(first) != gpus::detail::key(name)) return others;
    for (const gpu* card : gpus::all)
        if (card != taken && card->id.view().size() > first.size() && card->id.view().starts_with(first) &&
            card->id.view()[first.size()] == '-')
            add(card->id.view());
    return others;
}

constexpr result<gpu> find_gpu(std::string_view name, std::string_view field) {
    if (const gpus::detail::card_and_slice parts = gpus::detail::parted(name); !parts.profile.empty()) {
        const result<gpu> card = find_gpu(parts.card, field);
        return card ? mig_slice(*card, parts.profile, field) : card;
    }
    if (const gpu* card = gpus::detail::named(name)) return *card;
    const gpus::detail::name_and_size parts_of_name = gpus::detail::without_size(name);
    if (parts_of_name.gigabytes > 0)
        if (const gpu* card = gpus::detail::named(parts_of_name.name))
            if (const maybe<gpu> found = gpus::detail::sized(*card, parts_of_name.gigabytes)) return *found;
    if (const gpu* card = gpus::detail::nearly_named(name)) return *card;
    if (const std::string_view other = gpus::detail::instead_of(name); !other.empty())
        return refused(error_code::unknown, field, name, other);
    std::array<std::string_view, gpus::all.size()> ids{};
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = gpus::all[i]->id.view();
    const nearest_names longer = gpus::detail::beginning_with(name), of_size = gpus::detail::with_size(name);
    const nearest_names alike = longer.count > 1 ? longer : !of_size.empty() ? of_size : nearest(name, ids);
    return refused(error_code::unknown, field, name,
                   alike.empty() ? text<191>{"a GPU of `llmres gpus`, such as rtx-4090 or h100-sxm5-80gb"}
                                 : such_as("a GPU", alike));
}

}  // namespace llmres::inline v0
