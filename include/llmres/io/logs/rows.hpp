// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// What engines print, as tables: the words that stand before a figure, what the figure is, and its unit.
namespace llmres::inline v0::logs {

/// What a line of a log says.
enum class quantity : std::uint8_t {
    weights,            ///< bytes of weights on a GPU
    kv_cache,           ///< bytes of a KV cache that is allotted for the job
    pool,               ///< bytes of the pool of cache blocks
    pool_tokens,        ///< tokens that the pool has room for
    pool_blocks,        ///< blocks of the pool
    recurrent_state,    ///< bytes of recurrent layers' states
    activation_peak,    ///< bytes that the largest step takes beyond weights and cache
    beside_tensors,     ///< bytes that the process takes beside tensors, context excluded
    cuda_graphs,        ///< bytes of captured CUDA graphs
    graphs_estimated,   ///< bytes that CUDA graphs were expected to take, before they were captured
    compute_buffer,     ///< bytes of ggml's compute buffer
    allocated,          ///< bytes that PyTorch's allocator handed out, at most
    reserved,           ///< bytes that PyTorch's allocator reserved, at most
    device_used,        ///< bytes that the device has lost
    device_total,       ///< bytes that the device has
    device_free,        ///< bytes that were free
    requested,          ///< bytes that the engine lets itself use
    consumed,           ///< bytes of weights and of what the process takes beside tensors
    peak_and_graphs,    ///< activation_peak and graphs_estimated in one
    lacking,            ///< memory ran out: bytes that were asked for, 0 where they are not said
    step_time,          ///< seconds of a step
    tokens_per_second,  ///< tokens a second
    concurrency,        ///< sequences of the longest length that the pool has room for
    context,            ///< tokens that a sequence may reach
    tensor,             ///< tensor-parallel ranks
    pipeline,           ///< pipeline stages
    sequences,          ///< sequences in one step
    step_tokens,        ///< tokens in one step
    fraction,           ///< of the device that the engine may take
    block,              ///< tokens of a cache block
    gpu_layers,         ///< layers on GPUs, the head as one more
    flash_attention,    ///< other than zero: attention by flash attention
    version,            ///< text: of the engine
    model,              ///< text: its name or path
    weight_format,      ///< text: quantisation, or file type
    cache_format,       ///< text: precision of the KV cache
    generation,         ///< text: V0 or V1, where vLLM has two engines
    eager,              ///< text: True where no CUDA graphs are captured
    gpu,                ///< text: the device's name
};
// clang-format off
/// The names of the quantities, in their order: keys of JSON.
inline constexpr std::array<std::string_view, 39> quantity_names{
    "weights", "kv_cache", "pool", "pool_tokens", "pool_blocks", "recurrent_state", "activation_peak",
    "beside_tensors", "cuda_graphs", "graphs_estimated", "compute_buffer", "allocated", "reserved", "device_used",
    "device_total", "device_free", "requested", "consumed", "peak_and_graphs", "lacking", "step_time",
    "tokens_per_second", "concurrency", "context", "tensor", "pipeline", "sequences", "step_tokens", "fraction",
    "block", "gpu_layers", "flash_attention", "version", "model", "weight_format", "cache_format",
    "generation", "eager", "gpu"};
// clang-format on
/// The name of a quantity: "pool_tokens".
constexpr std::string_view name_of(quantity q) { return quantity_names[static_cast<std::size_t>(q)]; }
/// Whether a quantity is a text.
constexpr bool is_text(quantity q) { return q >= quantity::version; }
/// Whether a quantity is in bytes.
constexpr bool is_size(quantity q) {
    return q <= quantity::lacking && q != quantity::pool_tokens && q != quantity::pool_blocks;
}

/// The unit of a figure.
enum class unit : std::uint8_t {
    one,         ///< a number
    gib,         ///< 2^30 bytes, whatever the engine calls them
    mib,         ///< 2^20 bytes, whatever the engine calls them
    whole_mib,   ///< 2^20 bytes, of which the last is cut off
    byte,        ///< bytes
    as_written,  ///< the unit behind the number: KiB and KB are 1024 bytes, as ggml, PyTorch and Go's formats print
                 ///< them
    second,      ///< seconds
    ms,          ///< milliseconds
    none,        ///< no number: the words alone say it
};

/// What a figure means that is printed more than once for one rank.
enum class repeated : std::uint8_t {
    same,     ///< the same thing again: another value contradicts it
    last,     ///< the newest holds
    most,     ///< the largest holds
    sum,      ///< those of one line add up
    each,     ///< those of all lines of a start add up: caches of windowed layers apart from the others
    summary,  ///< counts where no other row says the thing; the newest of its device
    revoked,  ///< what was said before does not hold
};

/// A figure that an engine prints.
struct row {
    std::string_view before;              ///< the words before it
    quantity what;                        ///< what it is
    llmres::logs::unit unit = unit::one;  ///< its unit
    std::uint8_t nth = 0;                 ///< how many numbers stand between the words and it
    repeated again = repeated::same;      ///< what a second one means
    std::string_view needs{};             ///< other words that the line must have
    bool after_device = false;            ///< the word before `before` names the device: CUDA0
    std::string_view without{};           ///< other words that the line must not have
};

/// Whose jobs a log may be about, and what it says of them.
struct log_scope {
    bool any_runtime = false;            ///< a library or a tool printed it, which says what any runtime took
    std::string_view also{};             ///< another runtime that prints such a log
    std::array<quantity, 4> settings{};  ///< figures and texts that were set: knobs of the job
    std::size_t size = 0;                ///< how many of these there are
};

/// How an engine's log is read.
struct engine_table {
    std::string_view name;                    ///< as runtimes::all names it; "nvidia-smi" and "pytorch" beside them
    const row* first;                         ///< its rows
    std::size_t size;                         ///< how many they are
    std::array<std::string_view, 9> signs{};  ///< words that this engine alone prints
    std::array<std::string_view, 3>
        begins{};       ///< words with which a start begins: what was read before them is of another start
    log_scope scope{};  ///< whose jobs it may be about
};

/// An engine's table.
template <std::size_t Size, std::size_t Signs, std::size_t Begins>
constexpr engine_table table_of(std::string_view name, const row (&rows)[Size], const std::string_view (&signs)[Signs],
                                const std::string_view (&begins)[Begins], const log_scope& scope = {}) {
    engine_table t{name, rows, Size};
    t.scope = scope;
    for (std::size_t i = 0; i < t.signs.size(); ++i) t.signs[i] = i < Signs ? signs[i] : std::string_view{};
    for (std::size_t i = 0; i < t.begins.size(); ++i) t.begins[i] = i < Begins ? begins[i] : std::string_view{};
    return t;
}

/// The scope of an engine's log that says what was set.
template <class... Quantity>
constexpr log_scope says_settings(Quantity... settings) {
    return {.settings = {settings...}, .size = sizeof...(settings)};
}

}  // namespace llmres::inline v0::logs
