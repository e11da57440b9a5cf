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

/// Folds of a job are made anew for each layout, or kept for the next ones.
enum class folds_are : std::uint8_t { made_anew, kept };

/// The values that a function had for its last `Slots` arguments or fewer, or none, where folds are made anew. `Key` is
/// what the function depends on, as a struct whose equality is defaulted: no field can be left out of it. Its mix()
/// only says where to look. Each key has six places; where all are taken, a new one takes the place of one of them.
/// Allocates once, with the first value that it keeps.
template <class Key, class Value, std::size_t Slots = 64>
class memo {
    static_assert(std::has_single_bit(Slots));

public:
    constexpr memo() = default;                                                     ///< keeps nothing
    constexpr explicit memo(folds_are folds) : keeps_{folds == folds_are::kept} {}  ///< keeps values, or nothing

    memo(const memo&) = delete;
    memo& operator=(const memo&) = delete;
    constexpr ~memo() { delete[] entries_; }

    /// True if values are kept.
    constexpr bool keeps() const { return keeps_; }
    /// The value for a key: what make() returned for it last, or returns now.
    template <class Make>
    constexpr Value get(const Key& key, const Make& make) {
        if (!keeps_) return make();
        return kept(key, make);
    }
    /// The value for a key without a copy, until the next call. `room`: where the value is if none is kept.
    template <class Make>
    constexpr const Value& get(const Key& key, const Make& make, slot<Value>& room) {
        if (keeps_) return kept(key, make);
        room = slot<Value>{made_by{}, make};
        return room.value;
    }
    /// The value for a key; null where there is none.
    constexpr const Value* find(const Key& key) const {
        const entry* const at = keeps_ ? entry_with(key, mix_of(key)) : nullptr;
        return at != nullptr ? &at->value.value : nullptr;
    }
    /// Forgets all values.
    constexpr void clear() {
        if (entries_ == nullptr) return;
        for (std::size_t i = 0; i < Slots; ++i) entries_[i].has_value = false;
    }

private:
    struct entry {
        bool has_value = false;
        std::uint64_t mix = 0;  ///< of the key, which tells most keys apart
        Key key{};
        slot<Value> value;
    };
    static constexpr std::size_t places = 6;  ///< of a key

    template <class Make>
    constexpr const Value& kept(const Key& key, const Make& make) {
        const std::uint64_t mix = mix_of(key);
        if (const entry* const with = entry_with(key, mix)) return with->value.value;
        entry& at = free_entry(static_cast<std::size_t>(mix >> 48), mix, key);
        at.value = slot<Value>{made_by{}, make};
        at.has_value = true;
        return at.value.value;
    }
    static constexpr std::uint64_t mix_of(const Key& key) { return key.mix() * 0x9e3779b97f4a7c15U; }
    /// The entry with a key's value; null where there is none.
    constexpr const entry* entry_with(const Key& key, std::uint64_t mix) const {
        if (entries_ == nullptr) return nullptr;
        const auto first = static_cast<std::size_t>(mix >> 48);
        for (std::size_t i = 0; i < places; ++i) {
            const entry& at = entries_[(first + i) & (Slots - 1)];
            if (at.mix == mix && at.has_value && at.key == key) return &at;
        }
        return nullptr;
    }
    /// An entry for a key that has none: the first of its own that is free, or one of them in turn.
    constexpr entry& free_entry(std::size_t first, std::uint64_t mix, const Key& key) {
        if (entries_ == nullptr) entries_ = new entry[Slots];
        std::size_t i = 0;
        while (i < places && entries_[(first + i) & (Slots - 1)].has_value) ++i;
        entry& free = entries_[(first + (i < places ? i : replaced_++ % places)) & (Slots - 1)];
        free.has_value = false;
        free.mix = mix;
        free.key = key;
        return free;
    }

    entry* entries_ = nullptr;  ///< null: no value is kept yet
    std::size_t replaced_ = 0;
    bool keeps_ = false;
};

}  // namespace llmres::inline v0::detail
