// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Which GPUs does a machine have, and how much of them is in use? Reads what the machine's own tools print: nvidia-smi
/// (its table, -L, --query-gpu with --format=csv, -q and -q -x), rocm-smi --showproductname --showmeminfo vram with
/// --json or --csv, and system_profiler SPHardwareDataType.
///
///     const result<machine> here = read_machine(text_of_nvidia_smi);
///     const result<machine_cards> cards = cards_of(*here);  // 2 x rtx-3090, 1.2 GiB in use
namespace llmres::inline v0 {

/// A GPU as a tool lists it.
struct machine_gpu {
    std::string name{};            ///< as its driver calls it: "NVIDIA GeForce RTX 3090"
    maybe<byte_count> memory{};    ///< all of it; of an Apple GPU what it shares with its host
    maybe<byte_count> in_use{};    ///< of it, by processes; of a tool that lists what is free alone, the rest
    maybe<power> power_limit{};    ///< that is enforced
    bool is_split_by_mig = false;  ///< whether jobs get instances of it, not the card
    std::string address{};         ///< its UUID, address on the bus or index, where one is listed
};

/// The GPUs of a machine.
struct machine {
    std::string source{};             ///< who lists them: "nvidia-smi"
    std::vector<machine_gpu> gpus{};  ///< in the order in which they are listed
    maybe<byte_count> host_memory{};  ///< main memory that is available
};

/// The GPUs of the tables that a machine has, as a cluster of a job document says them.
struct machine_cards {
    std::vector<std::pair<gpu, std::int64_t>> kinds{};  ///< each kind of card and how many there are
    maybe<byte_count> gpu_memory{};                     ///< of each, where it is not that of the table
    byte_count in_use{};                                ///< of the GPU of which most is in use
    maybe<power> power_limit{};                         ///< of equal cards, the lowest that is below the board's own
};

/// The machine of a text that one of the tools printed, once or again and again. Errors: more than 1 MiB; a text that
/// lists no GPU, or more than 1,024.
inline result<machine> read_machine(std::string_view text);

/// The cards of a machine. A name that stands for cards with different memories means the one whose memory is listed.
/// Errors: a card that no table has, or that MIG splits; no GPU at all.
inline result<machine_cards> cards_of(const machine& m);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

inline std::string_view trimmed_text(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// The parts of a text between marks, without the blanks around them.
inline std::vector<std::string_view> parts_of(std::string_view text, char mark) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = (std::min)(text.find(mark, begin), text.size());
        parts.push_back(trimmed_text(text.substr(begin, end - begin)));
        begin = end + 1;
    }
    return parts;
}

/// The number that a text begins with, as in "24576 MiB" and "350.00 W".
inline maybe<double> leading_number(std::string_view text) {
    double number = 0;
    const std::from_chars_result read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc{} || !(number >= 0) || !(number < 1e15)) return {};
    return number;
}
inline maybe<byte_count> size_in(std::string_view text, byte_count unit) {
    const maybe<double> number = leading_number(text);
    return number && *number * static_cast<double>(unit.in(bytes)) < 1e15 ? maybe<byte_count>{scaled_up(unit, *number)}
                                                                          : maybe<byte_count>{};
}
inline maybe<byte_count> mib_of(std::string_view text) { return size_in(text, mib(1)); }
inline maybe<power> watts_in(std::string_view text) {
    const maybe<double> number = leading_number(text);
    return number && *number > 0 ? maybe<power>{watts(*number)} : maybe<power>{};
}

/// The text behind a mark up to another, or up to the end of the text; empty where the mark is missing.
inline std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
    const std::size_t at = text.find(before);
    if (at == text.npos) return {};
    const std::string_view rest = text.substr(at + before.size());
    return trimmed_text(rest.substr(0, rest.find(after)));
}

/// `nvidia-smi -q -x`: an element for each GPU.
inline void read_nvidia_xml(std::string_view text, machine& m) {
    for (std::size_t at = text.find("<gpu id="), end = at; at != text.npos; at = text.find("<gpu id=", end)) {
        end = (std::min)(text.find("</gpu>", at), text.size());
        const std::string_view one = text.substr(at, end - at);
        const std::string_view memory = between(one, "<fb_memory_usage>", "</fb_memory_usage>");
        std::string_view limit = between(one, "<current_power_limit>", "</");
        if (limit.empty()) limit = between(one, "<enforced_power_limit>", "</");
        m.gpus.push_back({.name = std::string{between(one, "<product_name>", "</")},
                          .memory = mib_of(between(memory, "<total>", "</")),
                          .in_use = mib_of(between(memory, "<used>", "</")),
                          .power_limit = watts_in(limit),
                          .is_split_by_mig = between(one, "<current_mig>", "</") == "Enabled",
                          .address = std::string{between(one, "<gpu id=\"", "\"")}});
    }
}

/// `nvidia-smi -q`: indented lines `key : value` under headings.
inline void read_nvidia_query(const std::vector<std::string_view>& lines, machine& m) {
    std::string_view heading;
    for (const std::string_view line : lines) {
        const std::size_t colon = line.find(" : ");
        if (colon == line.npos) {
            heading = line;
            continue;
        }
        const std::string_view key = trimmed_text(line.substr(0, colon)), value = trimmed_text(line.substr(colon + 3));
        if (key == "Product Name") m.gpus.push_back({.name = std::string{value}});
        if (m.gpus.empty()) continue;
        machine_gpu& one = m.gpus.back();
        if (heading == "FB Memory Usage" && key == "Total") one.memory = mib_of(value);
        if (heading == "FB Memory Usage" && key == "Used") one.in_use = mib_of(value);
        if (heading == "MIG Mode" && key == "Current") one.is_split_by_mig = value == "Enabled";
        const bool limits = key == "Current Power Limit" || key == "Enforced Power Limit" || key == "Power Limit";
        if (limits && !one.power_limit) one.power_limit = watts_in(value);
    }
}

/// The name that rocm-smi gives a card: "Arcturus GL-XL [AMD Instinct MI100]" has the product's in brackets.
inline std::string rocm_name(std::string_view series) {
    const std::string_view product = between(series, "[", "]");
    return std::string{product.empty() ? series : product};
}

/// Takes a value that a tool lists of a card under a key; sizes in MiB, or in bytes where the key says so.
inline void take_value(std::string_view key, std::string_view value, machine_gpu& one) {
    const auto size = [&] { return key.ends_with("(B)") ? size_in(value, bytes(1)) : mib_of(value); };
    if (key == "name" || key == "gpu_name") one.name = value;
    if (key == "Card Series" || key == "Card series") one.name = rocm_name(value);
    if (key.starts_with("memory.total") || key == "VRAM Total Memory (B)") one.memory = size();
    if (key.starts_with("memory.used") || key == "VRAM Total Used Memory (B)") one.in_use = size();
    if (key.starts_with("power.limit") || key.starts_with("enforced.power.limit")) one.power_limit = watts_in(value);
    if (key == "mig.mode.current") one.is_split_by_mig = value == "Enabled";
    if (key == "uuid" || key == "gpu_uuid" || key == "pci.bus_id" || (key == "index" && one.address.empty()))
        one.address = value;
}

/// `nvidia-smi --query-gpu=name,memory.total,... --format=csv` and `rocm-smi --csv`: a row of keys, and one for each
/// GPU.
inline void read_csv(const std::vector<std::string_view>& lines, machine& m) {
    const std::vector<std::string_view> heads = parts_of(lines.front(), ',');
    for (std::size_t row = 1; row < lines.size(); ++row) {
        const std::vector<std::string_view> cells = parts_of(lines[row], ',');
        if (cells.size() != heads.size()) continue;
        machine_gpu one;
        maybe<byte_count> free;
        for (std::size_t i = 0; i < heads.size(); ++i) {
            take_value(heads[i], cells[i], one);
            if (heads[i].starts_with("memory.free")) free = mib_of(cells[i]);
        }
        if (!one.in_use && one.memory && free) one.in_use = beyond(*one.memory, *free);
        if (!one.name.empty()) m.gpus.push_back(one);
    }
}

/// `nvidia-smi -L`: "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-...)", instances of MIG indented below their card.
inline void read_nvidia_list(const std::vector<std::string_view>& lines, machine& m) {
    for (const std::string_view line : lines) {
        if (line.starts_with("MIG ") && !m.gpus.empty()) m.gpus.back().is_split_by_mig = true;
        if (!line.starts_with("GPU ") || line.find("(UUID:") == line.npos) continue;
        m.gpus.push_back({.name = std::string{between(line, ": ", " (UUID:")},
                          .address = std::string{between(line, "(UUID: ", ")")}});
    }
}

/// The name in a row of nvidia-smi's table, "0  NVIDIA GeForce RTX 3090        On": without the index and the mode.
inline std::string_view name_in_cell(std::string_view cell) {
    cell = trimmed_text(cell.substr((std::min)(cell.find_first_not_of("0123456789"), cell.size())));
    const std::size_t mode = cell.find_last_of(" \t");
    return mode == cell.npos ? cell : trimmed_text(cell.substr(0, mode));
}

/// nvidia-smi's table: a row with index, name and bus of a GPU, behind it one with power and memory, and one with the
/// mode of MIG.
inline void read_nvidia_table(const std::vector<std::string_view>& lines, machine& m) {
    for (const std::string_view line : lines) {
        const std::vector<std::string_view> cells = parts_of(line, '|');
        if (cells.size() < 4) continue;
        const bool is_first = !cells[1].empty() && cells[1].front() >= '0' && cells[1].front() <= '9' &&
                              cells[2].find(':') != line.npos && cells[2].find("MiB") == line.npos;
        if (is_first)
            m.gpus.push_back({.name = std::string{name_in_cell(cells[1])},
                              .address = std::string{cells[2].substr(0, cells[2].find(' '))}});
        if (m.gpus.empty()) continue;
        machine_gpu& one = m.gpus.back();
        if (cells[3] == "Enabled") one.is_split_by_mig = true;
        const std::size_t of = cells[2].find("MiB /");
        if (of == line.npos || one.memory) continue;
        one.in_use = mib_of(cells[2]);
        one.memory = mib_of(trimmed_text(cells[2].substr(of + 5)));
        const std::size_t limit = cells[1].find("W /");
        if (limit != line.npos) one.power_limit = watts_in(trimmed_text(cells[1].substr(limit + 3)));
    }
}

/// `rocm-smi --json`: an object for each card, whose values are texts.
inline void read_rocm_json(std::string_view text, machine& m) {
    const result<json_document> all = parse_json_object(text.substr((std::min)(text.find('{'), text.size())));
    if (!all) return;
    for (const auto& [key, card] : all->root.items()) {
        if (!key.starts_with("card") || !card.is_object()) continue;
        machine_gpu one;
        for (const auto& [what, value] : card.items())
            if (value.is_string()) take_value(what, value.get_ref<const std::string&>(), one);
        if (!one.name.empty()) m.gpus.push_back(one);
    }
}

/// `system_profiler SPHardwareDataType`: the chip, and the memory that its GPU shares.
inline void read_system_profiler(const std::vector<std::string_view>& lines, machine& m) {
    machine_gpu chip;
    for (const std::string_view line : lines) {
        if (line.starts_with("Chip: ")) chip.name = trimmed_text(line.substr(6));
        if (line.starts_with("Memory: ")) chip.memory = size_in(trimmed_text(line.substr(8)), gib(1));
    }
    if (!chip.name.empty()) m.gpus.push_back(chip);
}

/// Keeps each GPU once: tools that print again and again list it as often.
inline void keep_each_once(machine& m) {
    std::set<std::string> seen;
    std::erase_if(m.gpus,
                  [&](const machine_gpu& one) { return !one.address.empty() && !seen.insert(one.address).second; });
}

/// A text as bytes of ASCII: without a byte order mark, and of UTF-16, as PowerShell redirects it, every other byte.
inline std::string plain_bytes(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    if (!text.starts_with("\xff\xfe")) return std::string{text};
    std::string plain;
    for (std::size_t i = 2; i + 1 < text.size(); i += 2) plain += text[i + 1] == '\0' ? text[i] : '?';
    return plain;
}

/// Leaves out integrated graphics beside a card: what is set apart for them is below 1 GiB.
inline void leave_out_integrated(machine& m) {
    const auto is_integrated = [](const machine_gpu& one) { return one.memory && *one.memory < gib(1); };
    if (!std::all_of(m.gpus.begin(), m.gpus.end(), is_integrated)) std::erase_if(m.gpus, is_integrated);
}

/// Whether a card of the tables has a memory that a tool lists: drivers report up to a twelfth less than is fitted.
inline bool has_listed_memory(const gpu& card, byte_count listed) {
    const double fitted = static_cast<double>(card.memory.fitted.in(bytes)),
                 seen = static_cast<double>(listed.in(bytes));
    return seen > fitted * 11 / 12 && seen < fitted * 13 / 12;
}

/// The only card of the tables whose name begins so and that has the listed memory: nvidia-smi cuts long names.
inline maybe<gpu> card_of_cut_name(const machine_gpu& one) {
    const text<63> begin = gpus::detail::key(std::string_view{one.name}.substr(0, one.name.size() - 3));
    maybe<gpu> found;
    for (const gpu* card : gpus::all) {
        const bool may_be = one.memory && has_listed_memory(*card, *one.memory);
        if (!may_be || !gpus::detail::key(card->name).view().starts_with(begin.view())) continue;
        if (found) return {};
        found = *card;
    }
    return found;
}

/// The card of the tables that a machine's GPU is.
inline result<gpu> card_of(const machine_gpu& one) {
    constexpr const char* field = "gpu";
    if (one.name.empty()) return refused(error_code::missing, field, "without a name", "the name of the machine's GPU");
    if (one.name.ends_with("...")) {
        const maybe<gpu> card = card_of_cut_name(one);
        if (card) return *card;
        return refused(error_code::malformed, field, one.name,
                       "a name in full: nvidia-smi --query-gpu=name,memory.total,memory.used,power.limit --format=csv");
    }
    const result<gpu> named = find_gpu(one.name, field);
    if (!one.memory) return named;
    const auto of_that_memory = [&](std::string_view name) -> maybe<gpu> {
        const result<gpu> card = find_gpu(name, field);
        return card && has_listed_memory(*card, *one.memory) ? maybe<gpu>{*card} : maybe<gpu>{};
    };
    if (const maybe<gpu> card = of_that_memory(one.name)) return *card;
    // Drivers keep a part of the memory: 45 of 48 GiB are listed, and 140 of 141.
    const std::int64_t listed = (*one.memory + mib(512)).in(bytes) / gib(1).in(bytes);
    for (std::int64_t size = listed; size <= listed + 4; ++size)
        if (const maybe<gpu> card = of_that_memory(one.name + " " + std::to_string(size) + "GB")) return *card;
    // "AMD Instinct MI300X OAM" and "... VF": what stands behind the product is its form.
    if (const std::size_t last = one.name.rfind(' '); !named && last != one.name.npos)
        if (const maybe<gpu> card = of_that_memory(std::string_view{one.name}.substr(0, last))) return *card;
    return named;
}

}  // namespace detail

inline result<machine> read_machine(std::string_view text) {
    constexpr std::size_t longest = std::size_t{1} << 20;
    if (text.size() > longest)
        return refused(error_code::out_of_range, "machine", std::to_string(text.size()) + " bytes", "at most 1 MiB");
    const std::string bytes_of_text = detail::plain_bytes(text);
    text = bytes_of_text;
    std::vector<std::string_view> lines;
    for (const std::string_view line : detail::parts_of(text, '\n'))
        if (!line.empty()) lines.push_back(line);
    const auto has = [&](std::string_view mark) { return text.find(mark) != text.npos; };
    machine m{.source = "nvidia-smi"};
    if (has("<nvidia_smi_log"))
        detail::read_nvidia_xml(text, m);
    else if (has("NVSMI LOG") || has("Product Name   "))
        detail::read_nvidia_query(lines, m);
    else if (has("(UUID: GPU-"))
        detail::read_nvidia_list(lines, m);
    else if (has("\"card")) {
        m.source = "rocm-smi";
        detail::read_rocm_json(text, m);
    } else if (has("Chip: ")) {
        m.source = "system_profiler";
        detail::read_system_profiler(lines, m);
    } else if (has("|")) {
        detail::read_nvidia_table(lines, m);
    } else if (!lines.empty()) {
        if (has("VRAM Total")) m.source = "rocm-smi";
        detail::read_csv(lines, m);
    }
    detail::keep_each_once(m);
    detail::leave_out_integrated(m);
    constexpr std::size_t most = 1024;
    if (m.gpus.size() > most)
        return refused(error_code::out_of_range, "machine", std::to_string(m.gpus.size()) + " GPUs", "at most 1,024");
    if (m.gpus.empty())
        return refused(error_code::unknown, "machine", "a text without a GPU",
                       "what nvidia-smi, rocm-smi --json or system_profiler SPHardwareDataType prints");
    return m;
}

inline result<machine_cards> cards_of(const machine& m) {
    if (m.gpus.empty()) return refused(error_code::missing, "gpu", "none", "a machine with a GPU");
    machine_cards all;
    std::map<std::pair<std::string, std::int64_t>, result<gpu>> found;  // machines have many of a kind
    for (const machine_gpu& one : m.gpus) {
        if (one.is_split_by_mig)
            return refused(error_code::unsupported, "gpu", one.name,
                           "a card that MIG does not split, or the name of an instance: h100/1g.10gb");
        const std::pair<std::string, std::int64_t> listed{one.name, one.memory ? one.memory->in(bytes) : 0};
        if (!found.contains(listed)) found.emplace(listed, detail::card_of(one));
        const result<gpu>& card = found.at(listed);
        if (!card) return card.error();
        const auto known = std::find_if(all.kinds.begin(), all.kinds.end(),
                                        [&](const auto& kind) { return kind.first.id == card->id; });
        if (known == all.kinds.end())
            all.kinds.emplace_back(*card, 1);
        else
            ++known->second;
        if (one.in_use && *one.in_use > all.in_use) all.in_use = *one.in_use;
        const bool is_lowered = one.power_limit && card->board_power && *one.power_limit < *card->board_power;
        if (is_lowered && (!all.power_limit || *one.power_limit < *all.power_limit)) all.power_limit = one.power_limit;
        if (!one.memory || detail::has_listed_memory(*card, *one.memory)) continue;
        // What an Apple GPU shares is as listed; of any other the driver keeps 500 MiB, as usable_memory() has it.
        const byte_count size = shares_host_memory(*card) ? *one.memory : beyond(*one.memory, mib(500));
        if (!all.gpu_memory || size < *all.gpu_memory) all.gpu_memory = size;
    }
    if (all.kinds.size() > 1) all.power_limit = {};  // a limit is that of one kind of card
    return all;
}

}  // namespace llmres::inline v0
