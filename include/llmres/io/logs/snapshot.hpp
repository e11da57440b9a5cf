// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Memory snapshots of PyTorch's allocator, as torch.cuda.memory._dump_snapshot() writes them: pickles, read without
/// running anything of them.
namespace llmres::inline v0::logs {

/// What a snapshot says of a device, in bytes.
struct snapshot_device {
    std::int64_t allocated = 0;       ///< when the snapshot was taken: its segments' allocated_size
    std::int64_t reserved = 0;        ///< when the snapshot was taken: its segments' total_size
    std::int64_t most_allocated = 0;  ///< in the history that was recorded; tensors as rounded to 512 bytes
    std::int64_t most_reserved = 0;   ///< in the history that was recorded
};

/// Reads a snapshot in pieces of any size, in memory that does not grow with the sizes of its lists. The peak of its
/// history is the state at the end, back by what the entries of `device_traces` allocated and freed. Of Python's
/// pickles (protocols 2 to 5; pickletools has the operations) those are read that make dictionaries, lists, tuples,
/// texts, numbers, booleans and None. What would import or call anything is refused by its name.
class snapshot_reader {
public:
    /// Takes the next piece.
    void feed(std::string_view piece);
    /// What was read, by device. Refused: other pickles, and a snapshot that is cut off.
    result<std::vector<snapshot_device>> finish() const;

private:
    static constexpr std::size_t most_devices = 64;
    static constexpr std::size_t most_values = std::size_t{1} << 16;  ///< that wait for their container
    static constexpr std::size_t most_memory = std::size_t{1} << 25;  ///< values that may be named again
    static constexpr std::size_t longest_word = 24;

    /// A running sum of what was allocated and freed, and its largest value.
    struct history {
        std::int64_t now = 0;
        std::int64_t most = 0;
        void add(std::int64_t size) { most = (std::max)(most, now += size); }
    };
    /// What is kept of a container: as an entry of a list, and as a list of such entries.
    struct record {
        std::int64_t device = 0, total_size = 0, allocated_size = 0, size = 0;
        std::int8_t action = 0;   ///< its index in `actions`, from 1; 0: none
        bool is_segment = false;  ///< it has a total_size
        bool is_snapshot = false;
        history allocated{}, reserved{};                    ///< of a list: over these entries
        std::vector<snapshot_device> devices{};             ///< of a list: what its segments sum up to
        std::vector<std::pair<history, history>> traces{};  ///< of a list: its lists' histories
    };
    enum class kind : std::uint8_t { other, number, word, list, dictionary, mark };
    struct value {
        kind is = kind::other;
        std::int64_t number = 0;     ///< of a number; of a word its index in `words`
        std::vector<record> kept{};  ///< none or one: of a list or dictionary
    };

    static constexpr std::array<std::string_view, 14> words{
        "segments",      "device_traces", "device",      "total_size",     "allocated_size",
        "size",          "action",        "alloc",       "free_requested", "free_completed",
        "segment_alloc", "segment_free",  "segment_map", "segment_unmap"};
    static constexpr std::int64_t first_action = 7;

    void refuse(std::string_view found, std::string_view expected) {
        error_ = llmres::error{error_code::malformed, "log", found, expected};
    }
    std::size_t take(std::string_view bytes);
    std::size_t take_text(std::string_view bytes, std::size_t digits);
    void build(unsigned char operation);
    void name_again(std::uint64_t index);
    void remember(std::uint64_t index);
    void push(value v);
    value container(kind is) const;
    maybe<std::size_t> last_mark();
    void put_items(value& dictionary, std::size_t first);
    void append_items(value& list, std::size_t first);
    static void put(record& into, const value& key, value& entry);
    static void append(record& into, value& entry);

    std::string waiting_{};   ///< the beginning of an operation whose rest comes with the next piece
    std::uint64_t skip_ = 0;  ///< bytes of a text that nothing needs
    std::vector<value> values_{};
    std::deque<std::int8_t> remembered_{};  ///< of each named value: a word's index, -1 for anything else
    bool done_ = false;
    llmres::error error_{};
};

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// A little-endian number without sign.
inline std::uint64_t little_endian(std::string_view bytes) {
    std::uint64_t number = 0;
    for (std::size_t i = bytes.size(); i > 0; --i) number = number << 8 | static_cast<unsigned char>(bytes[i - 1]);
    return number;
}

/// A little-endian number of up to 8 bytes in two's complement, as pickles have integers.
inline std::int64_t little_endian_signed(std::string_view bytes) {
    if (bytes.empty()) return 0;
    const bool negative = (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0;
    std::uint64_t number = little_endian(bytes);
    if (negative && bytes.size() < 8) number |= ~std::uint64_t{0} << (8 * bytes.size());
    return static_cast<std::int64_t>(number);
}

/// The name of an operation that is not read, as Python's pickletools has it; empty for an unknown byte.
constexpr std::string_view refused_operation(unsigned char operation) {
    constexpr std::pair<char, std::string_view> known[] = {{'c', "GLOBAL"},         {'\x93', "STACK_GLOBAL"},
                                                           {'R', "REDUCE"},         {'b', "BUILD"},
                                                           {'i', "INST"},           {'o', "OBJ"},
                                                           {'\x81', "NEWOBJ"},      {'\x92', "NEWOBJ_EX"},
                                                           {'P', "PERSID"},         {'Q', "BINPERSID"},
                                                           {'\x82', "EXT1"},        {'\x83', "EXT2"},
                                                           {'\x84', "EXT4"},        {'\x96', "BYTEARRAY8"},
                                                           {'\x97', "NEXT_BUFFER"}, {'\x98', "READONLY_BUFFER"},
                                                           {'\x8f', "EMPTY_SET"},   {'\x90', "ADDITEMS"},
                                                           {'\x91', "FROZENSET"}};
    for (const auto& [code, name] : known)
        if (static_cast<unsigned char>(code) == operation) return name;
    return {};
}

/// Bytes that follow an operation's own, where their number is fixed; -1 for texts and operations that are not read.
constexpr int argument_bytes(unsigned char operation) {
    constexpr std::pair<int, std::string_view> known[] = {
        {0, "()]}taesuN012.\x85\x86\x87\x88\x89\x94"},  // containers, what fills them, tuples, constants, MEMOIZE
        {1, "\x80Kqh"},                                 // PROTO, BININT1, BINPUT, BINGET
        {2, "M"},                                       // BININT2
        {4, "Jrj"},                                     // BININT, LONG_BINPUT, LONG_BINGET
        {8, "\x95G"}};                                  // FRAME, BINFLOAT
    for (const auto& [count, operations] : known)
        if (operations.find(static_cast<char>(operation)) != std::string_view::npos) return count;
    return -1;
}

}  // namespace detail

inline void snapshot_reader::push(value v) {
    if (values_.size() >= most_values) return refuse("a deep pickle", "fewer values that wait for their container");
    values_.push_back(std::move(v));
}

inline snapshot_reader::value snapshot_reader::container(kind is) const {
    value made{is, 0, {}};
    made.kept.resize(1);
    return made;
}

/// Takes the last mark off, and says which values lie above it.
inline maybe<std::size_t> snapshot_reader::last_mark() {
    for (std::size_t i = values_.size(); i > 0; --i)
        if (values_[i - 1].is == kind::mark) return i;
    refuse("a pickle without a mark", "a whole pickle");
    return {};
}

/// An entry of a dictionary that means something is kept as a number of the record.
inline void snapshot_reader::put(record& into, const value& key, value& entry) {
    if (key.is != kind::word) return;
    const std::string_view name = words[static_cast<std::size_t>(key.number)];
    const auto number = [&](std::int64_t& field) {
        if (entry.is == kind::number && entry.number >= 0) field = entry.number;
    };
    if (name == "device") number(into.device);
    if (name == "size") number(into.size);
    if (name == "allocated_size") number(into.allocated_size);
    if (name == "total_size") number(into.total_size), into.is_segment = true;
    if (name == "action" && entry.is == kind::word && entry.number >= first_action)
        into.action = static_cast<std::int8_t>(entry.number);
    if (entry.is != kind::list) return;
    if (name == "segments") into.devices = std::move(entry.kept[0].devices), into.is_snapshot = true;
    if (name == "device_traces") into.traces = std::move(entry.kept[0].traces);
}

/// What a list's new entry adds to its sums.
inline void snapshot_reader::append(record& into, value& entry) {
    if (entry.is == kind::list) {
        // A history for each device; lists of other lists are longer, and mean nothing here.
        if (into.traces.size() < most_devices)
            into.traces.emplace_back(entry.kept[0].allocated, entry.kept[0].reserved);
        return;
    }
    if (entry.is != kind::dictionary) return;
    const record& r = entry.kept[0];
    constexpr std::int64_t largest = std::int64_t{1} << 50;
    if (r.is_segment && r.device < static_cast<std::int64_t>(most_devices)) {
        const auto device = static_cast<std::size_t>(r.device);
        if (into.devices.size() <= device) into.devices.resize(device + 1);
        snapshot_device& d = into.devices[device];
        d.allocated = (std::min)(largest, d.allocated + (std::min)(largest, r.allocated_size));
        d.reserved = (std::min)(largest, d.reserved + (std::min)(largest, r.total_size));
    }
    if (r.action == 0) return;
    const std::string_view action = words[static_cast<unsigned char>(r.action)];
    const std::int64_t size = (std::min)(r.size, largest);
    // A sum that no memory has is of no use; it stays within its bounds.
    const auto add = [](history& h, std::int64_t by) {
        if (h.now + by < (std::int64_t{1} << 60) && h.now + by > -(std::int64_t{1} << 60)) h.add(by);
    };
    const std::int64_t rounded = (size + 511) / 512 * 512;  // CUDACachingAllocator.cpp, kMinBlockSize
    if (action == "alloc") add(into.allocated, rounded);
    if (action == "free_requested") add(into.allocated, -rounded);
    if (action == "segment_alloc" || action == "segment_map") add(into.reserved, size);
    if (action == "segment_free" || action == "segment_unmap") add(into.reserved, -size);
}

inline void snapshot_reader::put_items(value& dictionary, std::size_t first) {
    if (dictionary.is != kind::dictionary) return;
    for (std::size_t i = first; i + 1 < values_.size(); i += 2) put(dictionary.kept[0], values_[i], values_[i + 1]);
}

inline void snapshot_reader::append_items(value& list, std::size_t first) {
    if (list.is != kind::list) return;
    for (std::size_t i = first; i < values_.size(); ++i) append(list.kept[0], values_[i]);
}

/// A value that is named again: a text that means something, or else anything.
inline void snapshot_reader::name_again(std::uint64_t index) {
    if (index >= remembered_.size()) return refuse("a pickle that names what it does not have", "a whole pickle");
    const std::int8_t word = remembered_[static_cast<std::size_t>(index)];
    push(word < 0 ? value{} : value{kind::word, word, {}});
}

inline void snapshot_reader::remember(std::uint64_t index) {
    if (index == most_memory) return refuse("a pickle of more values", "at most 33554432 that are numbered");
    if (values_.empty() || index > remembered_.size())
        return refuse("a pickle that numbers its values in no order", "a snapshot of PyTorch's allocator");
    if (index == remembered_.size()) remembered_.push_back(-1);
    const value& last = values_.back();
    remembered_[static_cast<std::size_t>(index)] =
        last.is == kind::word ? static_cast<std::int8_t>(last.number) : std::int8_t{-1};
}

/// Operations that make containers and fill them from the values before.
inline void snapshot_reader::build(unsigned char operation) {
    const auto drop = [&](std::size_t size) {
        values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(size), values_.end());
    };
    const auto need = [&](std::size_t count) {
        if (values_.size() < count) refuse("a pickle that takes what it does not have", "a whole pickle");
        return values_.size() >= count;
    };
    switch (operation) {
        case '(': return push({kind::mark, 0, {}});
        case ']': return push(container(kind::list));
        case '}': return push(container(kind::dictionary));
        case 't':
        case 'e':
        case 'u':
        case '1': {  // TUPLE, APPENDS, SETITEMS, POP_MARK
            const maybe<std::size_t> first = last_mark();
            if (!first) return;
            if ((operation == 'e' || operation == 'u') && *first < 2) return void(need(values_.size() + 1));
            if (operation == 'e') append_items(values_[*first - 2], *first);
            if (operation == 'u') put_items(values_[*first - 2], *first);
            drop(*first - 1);
            return operation == 't' ? push({}) : void();
        }
        case 'a':  // APPEND
            if (!need(2)) return;
            append_items(values_[values_.size() - 2], values_.size() - 1);
            return drop(values_.size() - 1);
        case 's':  // SETITEM
            if (!need(3)) return;
            put_items(values_[values_.size() - 3], values_.size() - 2);
            return drop(values_.size() - 2);
        case 0x85:
        case 0x86:
        case 0x87: {  // TUPLE1, TUPLE2, TUPLE3
            const std::size_t count = operation - 0x84U;
            if (!need(count)) return;
            drop(values_.size() - count);
            return push({});
        }
        case '0':  // POP
            if (need(1)) drop(values_.size() - 1);
            return;
        case '.': done_ = need(1); return;
        default:  // None, booleans, empty tuples, a value once more
            return push({});
    }
}

/// A text, or what is as good as one: its length has so many digits. Returns the bytes that were taken.
inline std::size_t snapshot_reader::take_text(std::string_view bytes, std::size_t digits) {
    if (bytes.size() < 1 + digits) return 0;
    const std::uint64_t length = detail::little_endian(bytes.substr(1, digits));
    const unsigned char operation = static_cast<unsigned char>(bytes[0]);
    const bool is_number = operation == 0x8a || operation == 0x8b;
    if (length > longest_word) {
        skip_ = length;
        push({});
        return 1 + digits;
    }
    const auto size = static_cast<std::size_t>(length);
    if (bytes.size() < 1 + digits + size) return 0;
    const std::string_view text = bytes.substr(1 + digits, size);
    value made{};
    if (is_number && size <= 8) {
        made = {kind::number, detail::little_endian_signed(text), {}};
    } else if (!is_number) {
        const auto* const word = std::find(words.begin(), words.end(), text);
        if (word != words.end()) made = {kind::word, word - words.begin(), {}};
    }
    push(std::move(made));
    return 1 + digits + size;
}

/// Takes one operation; 0 where its bytes are not all there yet.
inline std::size_t snapshot_reader::take(std::string_view bytes) {
    const auto operation = static_cast<unsigned char>(bytes[0]);
    switch (operation) {
        case 0x8c:
        case 'U':
        case 'C':
        case 0x8a:  // SHORT_BINUNICODE, SHORT_BINSTRING, SHORT_BINBYTES, LONG1
            return take_text(bytes, 1);
        case 'X':
        case 'T':
        case 'B':
        case 0x8b:  // BINUNICODE, BINSTRING, BINBYTES, LONG4
            return take_text(bytes, 4);
        case 0x8d:
        case 0x8e:  // BINUNICODE8, BINBYTES8
            return take_text(bytes, 8);
        default: break;
    }
    const int arguments = detail::argument_bytes(operation);
    if (arguments < 0) {
        const std::string_view name = detail::refused_operation(operation);
        refuse(name.empty() ? "a pickle with an unknown operation" : "a pickle with " + std::string{name},
               "one of dictionaries, lists, texts and numbers alone, as torch.cuda.memory._dump_snapshot() writes: "
               "nothing of a pickle is run");
        return 1;
    }
    const auto size = static_cast<std::size_t>(arguments);
    if (bytes.size() < 1 + size) return 0;
    const std::string_view argument = bytes.substr(1, size);
    const std::uint64_t number = detail::little_endian(argument);
    switch (operation) {
        case 0x80:
            if (number < 2 || number > 5) refuse("a pickle of protocol " + std::to_string(number), "protocol 2 to 5");
            break;
        case 0x95: break;
        case 'q':
        case 'r': remember(number); break;
        case 0x94: remember(remembered_.size()); break;
        case 'h':
        case 'j': name_again(number); break;
        case 'K':
        case 'M': push({kind::number, static_cast<std::int64_t>(number), {}}); break;
        case 'J': push({kind::number, detail::little_endian_signed(argument), {}}); break;
        default: build(operation);
    }
    return 1 + size;
}

inline void snapshot_reader::feed(std::string_view piece) {
    while (!piece.empty() && !done_ && error_.code == error_code::none) {
        if (skip_ > 0) {
            const auto skipped = static_cast<std::size_t>((std::min)(skip_, std::uint64_t{piece.size()}));
            skip_ -= skipped;
            piece.remove_prefix(skipped);
            continue;
        }
        if (waiting_.empty()) {
            const std::size_t taken = take(piece);
            if (taken == 0) return void(waiting_ = piece);
            piece.remove_prefix(taken);
            continue;
        }
        // The longest operation that is not skipped has less than 64 bytes.
        const std::size_t before = waiting_.size();
        waiting_.append(piece.substr(0, 64));
        const std::size_t taken = take(waiting_);
        if (taken == 0) return;
        piece.remove_prefix(taken - before);  // what waited was no whole operation
        waiting_.clear();
    }
}

inline result<std::vector<snapshot_device>> snapshot_reader::finish() const {
    if (error_.code != error_code::none) return error_;
    if (!done_) return refused(error_code::malformed, "log", "a pickle that is cut off", "a whole snapshot");
    const value& whole = values_.back();
    if (whole.is != kind::dictionary || !whole.kept[0].is_snapshot)
        return refused(error_code::malformed, "log", "a pickle without segments",
                       "a snapshot as torch.cuda.memory._dump_snapshot() writes it");
    std::vector<snapshot_device> devices = whole.kept[0].devices;
    const auto& traces = whole.kept[0].traces;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        snapshot_device& d = devices[i];
        d.most_allocated = d.allocated, d.most_reserved = d.reserved;
        if (i >= traces.size()) continue;
        const auto& [allocated, reserved] = traces[i];
        d.most_allocated += (std::max)(std::int64_t{0}, allocated.most - allocated.now);
        d.most_reserved += (std::max)(std::int64_t{0}, reserved.most - reserved.now);
    }
    return devices;
}

}  // namespace llmres::inline v0::logs
