// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/models/layer.hpp>
#include <llmres/values/units.hpp>

/// The pool of KV blocks that vLLM shares between layers of several kinds: how large a block is, and how many blocks a
/// sequence takes.
///
/// vLLM (v1/core/kv_cache_utils.py) gives every layer pages of one size. Layers of one kind (full attention, sliding
/// window, chunked attention, a recurrence) are split into groups of equal size, so that a block number means the same
/// place in every layer of its group; the last group of a kind is padded. A sequence holds one list of blocks for each
/// group. It is admitted if the blocks that it can ever need are free, counted at its full length and with the tokens
/// that the scheduler may have in flight; once it decodes it holds fewer. Layers that all need the same tokens are one
/// group, whatever each has of a token.
///
///     block_pool pool{.block_tokens = tokens(16)};                              // Gemma 3 1B: one head of 256 values
///     pool.add({.layers = 4, .each = bytes_a_token(1024)});
///     pool.add({.layers = 22, .each = bytes_a_token(1024), .window = tokens(512)});
///     pool.block_size();                                                        // 4 layers x 16 KiB
///     pool.blocks_of_sequence(tokens(32768), tokens(2 * 8192));                 // 2,048 + 6 x 1,057 = 8,390
namespace llmres::inline v0 {

/// Layers that cache in the same way. At most one of `window`, `chunk` and `state` is set; none means full attention.
struct layer_kind {
    std::int64_t layers = 0;  ///< number of such layers in the model
    bytes_per_token each{};   ///< keys and values of one layer on one GPU
    token_count window{};     ///< tokens that a sliding-window layer attends to
    token_count chunk{};      ///< tokens of a chunk, of chunked attention
    byte_count state{};       ///< what a recurrence keeps of a sequence, whatever its length
    std::int64_t states = 1;  ///< such states of a sequence that are kept at once; 0: one of each of its blocks

    /// Whether layers cache in the same way.
    constexpr bool like(const layer_kind& o) const {
        return each == o.each && window == o.window && chunk == o.chunk && state == o.state && states == o.states;
    }
};

/// How the layers of a model share blocks.
struct block_pool {
    std::array<layer_kind, std::size_t{2} * layer_stack::max_kinds + 2>
        kinds{};                 ///< storage; the first `count` are in use
    std::size_t count = 0;       ///< kinds in use
    token_count block_tokens{};  ///< tokens of a block, if not grown

    /// Adds layers to those of their kind. What caches nothing is left out.
    constexpr void add(const layer_kind& more) {
        if (more.layers <= 0 || (more.each <= bytes_per_token{} && more.state <= byte_count{})) return;
        std::size_t k = 0;
        while (k < count && !kinds[k].like(more)) ++k;
        if (k == count) {
            if (count == kinds.size()) return;
            kinds[count++] = {0, more.each, more.window, more.chunk, more.state, more.states};
        }
        kinds[k].layers += more.layers;
    }

    /// True if all layers need the same tokens of a sequence: they are one group, and need no pages of one size
    /// (kv_cache_interface.py: UniformTypeKVCacheSpecs).
    constexpr bool is_uniform() const {
        for (std::size_t k = 1; k < count; ++k)
            if (kinds[k].window != kinds[0].window || kinds[k].chunk != kinds[0].chunk ||
                (kinds[k].state > byte_count{}) != (kinds[0].state > byte_count{}))
                return false;
        return true;
    }
    /// Layers in a group: the fewest layers of any kind, or the most where that is less than half as many again.
    /// Padding a few layers wastes less than splitting every kind into many small groups.
    constexpr std::int64_t group_layers() const {
        std::int64_t fewest = kinds[0].layers, most = fewest;
        for (std::size_t k = 1; k < count; ++k) {
            fewest = kinds[k].layers < fewest ? kinds[k].layers : fewest;
            most = kinds[k].layers > most ? kinds[k].layers : most;
        }
        return 2 * most < 3 * fewest ? most : fewest;
    }
    /// Kinds of which a sequence holds lists of blocks: the first stands for all where they are one group.
    constexpr std::size_t block_lists() const { return is_uniform() && count > 0 ? 1 : count; }
    /// Groups that the layers of a kind are split into.
    constexpr std::int64_t groups_of(const layer_kind& kind) const {
        return count == 0 ? 0 : is_uniform() ? 1 : detail::ceil_quotient(kind.layers, group_layers());
    }

    /// What one layer has of a block: that of the widest kind. Where a recurrence keeps more, blocks grow until the
    /// widest attention's page holds it (platforms/interface.py: update_block_size_for_backend).
    constexpr byte_count page() const {
        bytes_per_token widest;
        byte_count state;
        for (std::size_t k = 0; k < count; ++k) {
            widest = kinds[k].each > widest ? kinds[k].each : widest;
            state = kinds[k].state > state ? kinds[k].state : state;
        }
        if (widest <= bytes_per_token{}) return state;
        const byte_count usual = widest * block_tokens;
        if (state <= usual) return usual;
        return usual * detail::ceil_quotient(state.in(bytes), usual.in(bytes));
    }
    /// Bytes that a layer of a kind has of a block.
    constexpr byte_count page_of(const layer_kind& kind) const {
        if (!is_uniform()) return page();
        return kind.state > byte_count{} ? kind.state : kind.each * block_tokens;
    }
    /// Tokens of a kind's block: as many as its page holds, where it holds whole blocks; else it is padded. States of
    /// each block are those of attention's.
    constexpr token_count tokens_of_block(const layer_kind& kind) const {
        if (kind.state > byte_count{}) return kind.states > 0 ? block_tokens : widest_block();
        const byte_count own = kind.each * block_tokens, whole = page_of(kind);
        if (own <= byte_count{} || whole.in(bytes) % own.in(bytes) != 0) return block_tokens;
        return block_tokens * (whole.in(bytes) / own.in(bytes));
    }
    /// The most tokens that a block has of any kind of attention.
    constexpr token_count widest_block() const {
        token_count most;
        for (std::size_t k = 0; k < count; ++k)
            if (kinds[k].each > bytes_per_token{} && tokens_of_block(kinds[k]) > most) most = tokens_of_block(kinds[k]);
        return most;
    }
    /// Bytes of a block, on a GPU that has all layers.
    constexpr byte_count block_size() const {
        if (!is_uniform()) return page() * group_layers();
        byte_count all;
        for (std::size_t k = 0; k < count; ++k) all += page_of(kinds[k]) * kinds[k].layers;
        return all;
    }

    /// Blocks that one group of a kind holds for a sequence of `length` tokens while `in_flight` tokens are scheduled
    /// (kv_cache_interface.py: max_admission_blocks_per_request). A window slides token by token, so it can begin in
    /// the middle of a block: one block more than its tokens fill.
    constexpr std::int64_t blocks_of_group(const layer_kind& kind, token_count length, token_count in_flight) const {
        if (kind.state > byte_count{} && kind.states > 0) return kind.states;
        const token_count block = tokens_of_block(kind);
        const auto blocks = [&](token_count held) {
            return detail::ceil_quotient((held < length ? held : length).in(tokens), block.in(tokens));
        };
        if (kind.window > token_count{}) return blocks(kind.window - tokens(1) + in_flight) + 1;
        if (kind.chunk > token_count{}) return blocks(kind.chunk + in_flight);
        return blocks(length);
    }
    /// Blocks that a sequence needs to be admitted. `in_flight`: max_num_batched_tokens, and since 0.26 as many times
    /// as steps may run at once. The pool's blocks over these are what vLLM prints as "Maximum concurrency".
    constexpr std::int64_t blocks_of_sequence(token_count length, token_count in_flight) const {
        std::int64_t needed = 0;
        for (std::size_t k = 0; k < block_lists(); ++k)
            needed += groups_of(kinds[k]) * blocks_of_group(kinds[k], length, in_flight);
        return needed;
    }
    /// Blocks of one group of a kind that a sequence of `length` tokens holds while it decodes, with `decoded` of its
    /// tokens in flight.
    constexpr std::int64_t decoding_blocks_of_group(const layer_kind& kind, token_count length,
                                                    token_count decoded) const {
        const std::int64_t filled = detail::ceil_quotient(length.in(tokens), tokens_of_block(kind).in(tokens));
        const std::int64_t kept = blocks_of_group(kind, length, decoded);
        return kind.window > token_count{} && filled < kept ? filled : kept;
    }
    /// Blocks that a sequence of `length` tokens holds while it decodes.
    constexpr std::int64_t blocks_while_decoding(token_count length, token_count decoded) const {
        std::int64_t held = 0;
        for (std::size_t k = 0; k < block_lists(); ++k)
            held += groups_of(kinds[k]) * decoding_blocks_of_group(kinds[k], length, decoded);
        return held;
    }
};

}  // namespace llmres::inline v0
