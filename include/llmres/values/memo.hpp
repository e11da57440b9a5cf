// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <llmres/values/maybe.hpp>

/// Values of a function by the arguments that it was called with last.
namespace llmres::inline v0::detail {

/// A number in which integers, booleans and enumerators are mixed: another for most others.
template <class... Part>
constexpr std::uint64_t mixed(Part... parts) {
    std::uint64_t sum = 0;
    ((sum = std::rotl(sum, 11) ^ static_cast<std::uint64_t>(parts)), ...);
    return sum;
}

/// The values that a function had for its last `Slots` arguments or fewer. `Key` is what the function depends on, as a
/// struct whose equality is defaulted: no field can be left out of it. Its mix() only says where to look. Each key has
/// six places; where all are taken, a new one takes the place of one of them. Allocates nothing.
template <class Key, class Value, std::size_t Slots = 64>
class memo {
    static_assert(std::has_single_bit(Slots));

public:
    /// The value for a key: what make() returned for it last.
    template <class Make>
    constexpr const Value& get(const Key& key, const Make& make) {
        const std::size_t at = place_of(key);
        if (!entries_[at].has_value) {
            values_[at] = slot<Value>{make()};
            entries_[at].has_value = true;
        }
        return values_[at].value;
    }
    /// The value for a key; null where there is none.
    constexpr const Value* find(const Key& key) {
        const std::size_t at = place_of(key);
        return entries_[at].has_value ? &values_[at].value : nullptr;
    }
    /// Forgets all values.
    constexpr void clear() {
        for (entry& each : entries_) each.has_value = false;
    }

private:
    struct entry {
        bool has_value = false;
        std::uint64_t mix = 0;  ///< of the key, which tells most keys apart
        Key key{};
    };
    static constexpr std::size_t places = 6;  ///< of a key

    /// The place of a key. Where it has no value, the place is free for one.
    constexpr std::size_t place_of(const Key& key) {
        const std::uint64_t mix = key.mix() * 0x9e3779b97f4a7c15U;
        const auto first = static_cast<std::size_t>(mix >> 48);
        for (std::size_t i = 0; i < places; ++i) {
            const entry& at = entries_[(first + i) & (Slots - 1)];
            if (at.mix == mix && at.has_value && at.key == key) return (first + i) & (Slots - 1);
        }
        return free_place(first, mix, key);
    }
    /// A place for a key that has none: the first of its own that is free, or one of them in turn.
    constexpr std::size_t free_place(std::size_t first, std::uint64_t mix, const Key& key) {
        std::size_t i = 0;
        while (i < places && entries_[(first + i) & (Slots - 1)].has_value) ++i;
        const std::size_t free = (first + (i < places ? i : replaced_++ % places)) & (Slots - 1);
        entries_[free] = {false, mix, key};
        return free;
    }

    entry entries_[Slots]{};
    slot<Value> values_[Slots];
    std::size_t replaced_ = 0;
};

}  // namespace llmres::inline v0::detail
