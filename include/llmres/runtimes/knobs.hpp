// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// The names that software has for what a caller may set of it. Each profile's table stands beside the profile
/// (runtimes/NAME.hpp); jobs/knobs.hpp sets them.
namespace llmres::inline v0 {

/// What a knob sets.
enum class knob_setting : std::uint8_t {
    batched_tokens,      ///< prompt tokens in one step, whatever the device
    sequences,           ///< sequences in one step
    cache_block,         ///< tokens that a cache block holds
    cache_bytes,         ///< bytes of a GPU that the pool of caches takes, whatever the fraction
    cache_tokens,        ///< tokens that the pool of caches holds at most
    cache_blocks,        ///< blocks of the pool of caches
    window_part,         ///< tokens of windowed layers, over those of the others, that the pool holds
    max_loras,           ///< adapters that are resident at once
    max_lora_rank,       ///< the largest rank of an adapter
    no_cuda_graphs,      ///< other than zero: no CUDA graphs are captured
    graph_context,       ///< tokens of the longest sequence that CUDA graphs decode
    gpu_layers,          ///< the last layers, and the head as one more, that are on GPUs
    flash_attention,     ///< other than zero: attention by flash attention
    whole_windows,       ///< other than zero: windowed layers keep the whole context
    experts_on_host,     ///< other than zero: routed experts of all layers are computed by the CPU
    host_expert_layers,  ///< routed experts of that many first layers are computed by the CPU
    latent_part,         ///< MiB of latent attention's keys and values that are expanded at once
    latent_use,          ///< below 2: keys and values of latent attention are not expanded (ik_llama.cpp: -mla)
    no_mapped_weights,   ///< other than zero: what stays on the host is copied into memory of the process
    repacks_on_host,     ///< other than zero: what stays on the host is repacked for the CPU, which computes it
    host_computes,       ///< other than zero: experts on the host are computed there, whatever the step's tokens
};

/// A knob under the software's own name, as its command line spells it without the dashes.
struct knob {
    std::string_view name{};  ///< the software's own name
    knob_setting setting{};   ///< what it sets
};

/// A table of knobs that has static storage: `inline constexpr std::array some_knobs{knob{...}, ...}`.
struct knob_list {
    const knob* first = nullptr;  ///< the first knob
    std::size_t size = 0;         ///< how many there are

    constexpr knob_list() = default;  ///< no knobs
    /// The knobs of a table.
    template <std::size_t Size>
    // NOLINTNEXTLINE(google-explicit-constructor): a table is a list
    constexpr knob_list(const std::array<knob, Size>& table) : first{table.data()}, size{Size} {}

    /// The first knob.
    constexpr const knob* begin() const { return first; }
    /// Behind the last knob.
    constexpr const knob* end() const { return first + size; }
};

/// A table with further knobs.
template <std::size_t Size, class... More>
constexpr std::array<knob, Size + sizeof...(More)> with_knobs(const std::array<knob, Size>& table, More... more) {
    std::array<knob, Size + sizeof...(More)> all{};
    std::size_t next = 0;
    for (const knob& k : table) all[next++] = k;
    ((all[next++] = more), ...);
    return all;
}

/// The knobs that every runtime has, under this library's names.
inline constexpr std::array common_knobs{
    knob{"max_batched_tokens", knob_setting::batched_tokens},
    knob{"max_num_seqs", knob_setting::sequences},
};

/// The knob of that name, among those of the table and those that every runtime has; null where there is none.
constexpr const knob* find_knob(const knob_list& table, std::string_view name) {
    for (const knob_list& list : {table, knob_list{common_knobs}})
        for (const knob& k : list)
            if (k.name == name) return &k;
    return nullptr;
}

/// The software's own name of a setting; empty where it has none.
constexpr std::string_view knob_name(const knob_list& table, knob_setting setting) {
    for (const knob& k : table)
        if (k.setting == setting) return k.name;
    return {};
}

}  // namespace llmres::inline v0
