// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/io/logs/llama_cpp.hpp>
#include <llmres/io/logs/lmdeploy.hpp>
#include <llmres/io/logs/numbers.hpp>
#include <llmres/io/logs/nvidia_smi.hpp>
#include <llmres/io/logs/ollama.hpp>
#include <llmres/io/logs/pytorch.hpp>
#include <llmres/io/logs/rows.hpp>
#include <llmres/io/logs/sglang.hpp>
#include <llmres/io/logs/snapshot.hpp>
#include <llmres/io/logs/tensorrt_llm.hpp>
#include <llmres/io/logs/tgi.hpp>
#include <llmres/io/logs/training.hpp>
#include <llmres/io/logs/vllm.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Reads the log of an engine, piece by piece, and says what it printed and in which line. Only figures and names of
/// models, versions, formats and devices are kept: never a line itself, so that no prompt is repeated.
namespace llmres::inline v0::logs {

/// A figure of a log.
struct figure {
    quantity what{};                ///< what it is
    double value = 0;               ///< in bytes, seconds or as a number
    double printed_to = 0;          ///< half of the last digit that was printed
    std::int64_t line = 0;          ///< the line that says so, from 1
    std::int64_t rank = -1;         ///< of the rank or process; -1: none is named
    std::string device{};           ///< as ggml names it: "CUDA0"
    std::int64_t contradicted = 0;  ///< a line of the same start that says another value; 0: none does
    bool in_summary = false;        ///< said by a summary alone
};

/// A name in a log.
struct name {
    quantity what{};        ///< what it is
    std::string text{};     ///< the name
    std::int64_t line = 0;  ///< the line that says so, from 1
};

/// What an engine's last start printed.
struct engine_log {
    std::string engine{};           ///< its name; "nvidia-smi" and "pytorch" for logs of no engine
    std::vector<figure> figures{};  ///< in the order of their lines
    std::vector<name> names{};      ///< in the order of their lines
    std::int64_t lines = 0;         ///< lines of the whole log

    /// The name of a thing, or an empty text.
    std::string text_of(quantity what) const {
        for (const name& n : names)
            if (n.what == what) return n.text;
        return {};
    }
    /// True if memory ran out.
    bool ran_out() const { return find(quantity::lacking) != nullptr; }
    /// The first figure of a quantity; null where nothing says it.
    const figure* find(quantity what) const {
        for (const figure& f : figures)
            if (f.what == what) return &f;
        return nullptr;
    }
    /// The largest over ranks and devices; null where nothing says it.
    const figure* largest(quantity what) const {
        return chosen(what, [](double a, double b) { return a > b; });
    }
    /// The smallest over ranks and devices; null where nothing says it.
    const figure* smallest(quantity what) const {
        return chosen(what, [](double a, double b) { return a < b; });
    }

private:
    template <class Better>
    const figure* chosen(quantity what, Better better) const {
        const figure* best = nullptr;
        for (const figure& f : figures)
            if (f.what == what && (best == nullptr || better(f.value, best->value))) best = &f;
        return best;
    }
};

/// The tables of all engines. Where a log has signs of several, the later one in this list wrote it: Ollama's log holds
/// llama.cpp's.
inline constexpr std::array all_tables{nvidia_smi_log,   huggingface_log, pytorch_log,  deepspeed_log, megatron_log,
                                       torchtitan_log,   llama_cpp_log,   lmdeploy_log, tgi_log,       sglang_log,
                                       tensorrt_llm_log, vllm_log,        ollama_log};

/// Whose jobs an engine's log may be about.
constexpr log_scope scope_of(std::string_view engine) {
    for (const engine_table& t : all_tables)
        if (t.name == engine) return t.scope;
    return {};
}

namespace detail {

/// Meanings of the words of a line.
enum class anchor_kind : std::uint8_t {
    figure,  ///< a row's figure or name follows them
    sign,    ///< the engine printed the line
    begins,  ///< a start begins
    prompt,  ///< the line repeats what people typed
};

/// Words that mean something in a table.
struct anchor {
    std::string_view words{};
    std::size_t table = 0;
    anchor_kind kind = anchor_kind::sign;
    const row* means = nullptr;  ///< of a figure
};

/// Words of lines in which servers repeat what people typed.
inline constexpr std::string_view prompt_words[] = {"Received request", "prompt: '",  "prompt: \"",
                                                    "\"prompt\"",       "prompt=",    "\"messages\"",
                                                    "inputs: \"",       "input_text", "text='"};

constexpr std::size_t letter_groups = 8192;

/// The group of the three characters at a position. Most of a log's characters are in a group of no words.
constexpr std::size_t letters_of(std::string_view words, std::size_t at = 0) {
    std::size_t group = 0;
    for (std::size_t i = at; i < at + 3; ++i) group = group * 29 + static_cast<unsigned char>(words[i]);
    return group % letter_groups;
}

/// Calls a function with the words of each table.
template <class Function>
constexpr void for_each_anchor(Function&& function) {
    for (const std::string_view words : prompt_words) function(anchor{.words = words, .kind = anchor_kind::prompt});
    for (std::size_t t = 0; t < all_tables.size(); ++t) {
        for (const std::string_view words : all_tables[t].begins)
            if (!words.empty()) function(anchor{.words = words, .table = t, .kind = anchor_kind::begins});
        for (const std::string_view words : all_tables[t].signs)
            if (!words.empty()) function(anchor{.words = words, .table = t});
        for (std::size_t i = 0; i < all_tables[t].size; ++i)
            function(anchor{all_tables[t].first[i].before, t, anchor_kind::figure, all_tables[t].first + i});
    }
}

constexpr std::size_t anchor_count() {
    std::size_t count = 0;
    for_each_anchor([&](const anchor&) { ++count; });
    return count;
}

/// The words of all tables, in groups of the same first three characters.
struct anchor_index {
    std::array<anchor, anchor_count()> anchors{};
    std::array<std::uint16_t, letter_groups + 1> first{};  ///< of a group, in `anchors`

    constexpr anchor_index() {
        for_each_anchor([&](const anchor& a) { ++first[letters_of(a.words) + 1]; });
        for (std::size_t i = 0; i < letter_groups; ++i)
            first[i + 1] = static_cast<std::uint16_t>(first[i + 1] + first[i]);
        std::array<std::uint16_t, letter_groups + 1> next = first;
        for_each_anchor([&](const anchor& a) { anchors[next[letters_of(a.words)]++] = a; });
    }
};
inline constexpr anchor_index all_anchors{};

}  // namespace detail

/// Reads a log in pieces of any size. Lines beyond 64 KiB are cut there.
class reader {
public:
    /// Before the first piece.
    reader();
    /// Takes the next piece.
    void feed(std::string_view piece);
    /// What was read. Refused: a log of no engine, and what is no text.
    result<engine_log> finish();

private:
    static constexpr std::size_t longest_line = std::size_t{1} << 16;
    static constexpr std::size_t most_figures = 4096;

    /// What an engine's table found.
    struct found {
        engine_log log{};
        std::int64_t signs = 0;
    };
    void take_line();
    void take_row(const row& r, engine_log& log, std::size_t at);
    void take_columns();
    void put(engine_log& log, const row& r, figure f);
    void begin(found& engine);

    std::array<found, all_tables.size()> found_{};
    std::string line_{};
    std::vector<std::pair<const detail::anchor*, std::size_t>> words_{};  ///< of this line, with where they stand
    std::string option_{};     ///< a line whose value follows in the next one
    std::int64_t number_ = 0;  ///< whole lines before this one
    bool open_ = false;        ///< this line has begun, though a carriage return may have emptied it
    bool binary_ = false;
    maybe<snapshot_reader> snapshot_{};   ///< of a log that is a pickle
    std::vector<std::string> columns_{};  ///< of nvidia-smi's CSV
};

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

constexpr name_words words_of(quantity q) {
    return name_words{q == quantity::version || q == quantity::eager || q == quantity::generation ||
                      q == quantity::cache_format};
}

/// A snapshot's peaks, by device. It has no lines: all stands in the first.
inline result<engine_log> log_of_snapshot(const snapshot_reader& snapshot) {
    const result<std::vector<snapshot_device>> devices = snapshot.finish();
    if (!devices) return devices.error();
    engine_log log{.engine = std::string{pytorch_log.name}, .figures = {}, .names = {}, .lines = 1};
    for (std::size_t i = 0; i < devices->size(); ++i) {
        const auto put = [&](quantity what, std::int64_t size) {
            log.figures.push_back({what, static_cast<double>(size), 0, 1, static_cast<std::int64_t>(i), {}, 0});
        };
        if ((*devices)[i].reserved == 0 && (*devices)[i].most_reserved == 0) continue;
        put(quantity::allocated, (*devices)[i].most_allocated);
        put(quantity::reserved, (*devices)[i].most_reserved);
    }
    return log;
}

}  // namespace detail

inline reader::reader() {
    for (std::size_t t = 0; t < all_tables.size(); ++t) found_[t].log.engine = all_tables[t].name;
}

inline void reader::feed(std::string_view piece) {
    if (piece.empty()) return;
    // Pickles begin with the byte 0x80 and their protocol's number; no text has a byte of zero in its first lines.
    if (number_ == 0 && !open_ && !binary_ && !snapshot_ && piece.front() == '\x80') snapshot_ = snapshot_reader{};
    if (snapshot_) return snapshot_.value.feed(piece);
    if (number_ == 0) binary_ = binary_ || piece.substr(0, 4096).find('\0') != std::string_view::npos;
    if (binary_) return;
    std::size_t newline = piece.find('\n');
    for (std::size_t begin = 0; begin < piece.size();) {
        if (newline != std::string_view::npos && newline < begin) newline = piece.find('\n', begin);
        // A progress bar ends its lines with a carriage return.
        const std::size_t rest = (std::min)(newline, piece.size()) - begin;
        const std::size_t size = (std::min)(piece.substr(begin, rest).find('\r'), rest);
        if (line_.size() < longest_line)
            line_.append(piece.substr(begin, (std::min)(size, longest_line - line_.size())));
        begin += size;
        open_ = begin == piece.size() || piece[begin] == '\r';
        if (begin == piece.size()) return;
        take_line();
        if (!open_) ++number_;
        line_.clear();
        ++begin;
    }
}

inline void reader::take_line() {
    detail::strip_colours(line_);
    // Rust prints an option over three lines: its value is the second.
    const bool continues = line_.ends_with(": Some(") && line_.size() < 128;
    if (!option_.empty()) line_.insert(0, std::exchange(option_, {}));
    if (continues) option_ = line_;
    const std::string_view line = line_;
    if (line.empty()) return;
    words_.clear();
    for (std::size_t at = 0; at + 2 < line.size(); ++at) {
        const std::size_t group = detail::letters_of(line, at);
        for (std::size_t i = detail::all_anchors.first[group]; i < detail::all_anchors.first[group + 1]; ++i) {
            const detail::anchor& a = detail::all_anchors.anchors[i];
            if (!line.substr(at).starts_with(a.words)) continue;
            if (a.kind == detail::anchor_kind::prompt) return;
            words_.emplace_back(&a, at + a.words.size());
        }
    }
    for (const auto& [a, end] : words_) {
        if (a->kind == detail::anchor_kind::figure) {
            // That memory ran out is said by the library that asked for it, below the engine.
            const bool of_all = a->means->what == quantity::lacking;
            for (std::size_t t = of_all ? 0 : a->table; t < (of_all ? found_.size() : a->table + 1); ++t)
                take_row(*a->means, found_[t].log, end);
        }
        if (a->kind == detail::anchor_kind::begins) begin(found_[a->table]);
        if (a->kind == detail::anchor_kind::sign) ++found_[a->table].signs;
    }
    // nvidia-smi's table, a header that names its columns, and what stands below one.
    if (!columns_.empty() || !words_.empty() || line.starts_with('|')) take_columns();
}

/// A start begins: figures of an earlier one are of no use. (Several lines may begin one: what they say stays.)
inline void reader::begin(found& engine) {
    const auto measured = [](const figure& f) { return is_size(f.what); };
    if (std::none_of(engine.log.figures.begin(), engine.log.figures.end(), measured)) return;
    engine.log.figures.clear();
    // A process names its version and its devices once, and may load several models.
    std::erase_if(engine.log.names,
                  [](const name& n) { return n.what != quantity::version && n.what != quantity::gpu; });
}

inline void reader::take_row(const row& r, engine_log& log, std::size_t at) {
    const std::string_view line = line_;
    if (!r.needs.empty() && line.find(r.needs) == std::string_view::npos) return;
    if (!r.without.empty() && line.find(r.without) != std::string_view::npos) return;
    if (r.again == repeated::revoked) {
        std::erase_if(log.figures, [&](const figure& f) { return f.what == r.what; });
        return;
    }
    const std::int64_t here = number_ + 1;
    if (is_text(r.what)) {
        const char last = r.before.back();
        std::string text =
            detail::read_name(line.substr(at), last == '\'' || last == '"' ? last : '\0', detail::words_of(r.what));
        if (text.empty()) return;
        // A build's number stands before its commit: 10660-6c84c7d5.
        if (const std::size_t dash = text.find('-'); r.what == quantity::version && dash < text.find('.'))
            text.resize(dash);
        for (name& n : log.names)
            if (n.what == r.what) {
                if (r.again != repeated::same) n = {r.what, text, here};
                return;
            }
        log.names.push_back({r.what, text, here});
        return;
    }
    maybe<detail::written_number> number =
        r.unit == unit::none ? maybe<detail::written_number>{{}} : detail::read_number(line.substr(at));
    for (std::uint8_t skipped = 0; number && skipped < r.nth; ++skipped) {
        std::size_t next = number->rest.find_first_of("0123456789");
        if (next != std::string_view::npos && next > 0 && number->rest[next - 1] == '-') --next;
        number = next == std::string_view::npos ? maybe<detail::written_number>{}
                                                : detail::read_number(number->rest.substr(next));
    }
    if (!number) number = detail::read_switch(line.substr(at));
    if (!number) return;
    // What is set is no rank's own, and a negative number sets nothing: vLLM's max_model_len of -1 is what fits.
    const bool is_setting = r.what >= quantity::context;
    if (is_setting && number->value < 0) return;
    const double times = detail::worth(r.unit, number->rest);
    if (times == 0) return;
    figure f{
        r.what, number->value * times, number->printed_to * times, here, is_setting ? -1 : detail::rank_of(line), {},
        0};
    if (r.unit == unit::whole_mib && f.value > 0) f.printed_to = times / 2, f.value += f.printed_to;
    if (r.after_device) f.device = detail::device_before(line, at - r.before.size());
    put(log, r, std::move(f));
}

inline void reader::put(engine_log& log, const row& r, figure f) {
    f.in_summary = r.again == repeated::summary;
    if (!f.in_summary)
        std::erase_if(log.figures, [&](const figure& known) { return known.what == f.what && known.in_summary; });
    else if (const figure* known = log.find(f.what); known != nullptr && !known->in_summary)
        return;
    for (figure& known : log.figures) {
        if (known.what != f.what || known.rank != f.rank || known.device != f.device) continue;
        if (r.again == repeated::each || (r.again == repeated::sum && known.line == f.line)) {
            known.value += f.value;
            known.printed_to += f.printed_to;
        } else if (r.again == repeated::last || f.in_summary || (r.again == repeated::most && f.value > known.value)) {
            known = std::move(f);
        } else if (r.again == repeated::same) {
            // The same figure to other digits is no contradiction: the finer one stays.
            const double apart = f.value > known.value ? f.value - known.value : known.value - f.value;
            const double rounding = f.printed_to + known.printed_to;
            if (apart > rounding * 1.001 + 1e-9 * known.value)
                known.contradicted = f.line;
            else if (f.printed_to < known.printed_to)
                known = std::move(f);
        }
        return;
    }
    if (log.figures.size() < most_figures) log.figures.push_back(std::move(f));
}

/// nvidia-smi in columns: its table ("12345MiB / 81920MiB"), and CSV under a header that names memory.used.
inline void reader::take_columns() {
    const std::string_view line = line_;
    engine_log& log = found_[0].log;
    const auto memory = [&](quantity what, double value, std::int64_t device) {
        put(log, {"", what, unit::mib, 0, repeated::last},
            {what, value * 1048576.0, 524288.0, number_ + 1, device, {}, 0});
    };
    if (const std::size_t slash = line.find("MiB / "); slash != std::string_view::npos && slash > 0 && line[0] == '|') {
        std::size_t begin = slash;
        while (begin > 0 && detail::is_digit(line[begin - 1])) --begin;
        const auto used = detail::read_number(line.substr(begin)), total = detail::read_number(line.substr(slash + 6));
        std::int64_t device = 0;
        for (const figure& f : log.figures) device += f.what == quantity::device_used;
        if (used && total)
            memory(quantity::device_used, used->value, device), memory(quantity::device_total, total->value, device);
        return;
    }
    if (line.find("memory.used") == std::string_view::npos && columns_.empty()) return;
    std::vector<std::string> cells;
    std::size_t begin = 0;
    while (begin <= line.size() && cells.size() < 64) {
        const std::size_t comma = (std::min)(line.find(',', begin), line.size());
        std::string_view cell = line.substr(begin, comma - begin);
        while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
        cells.emplace_back(cell);
        begin = comma + 1;
    }
    if (line.find("memory.used") != std::string_view::npos) {
        columns_ = std::move(cells);
        return;
    }
    if (cells.size() != columns_.size()) return columns_.clear();
    std::int64_t device = 0;
    for (std::size_t i = 0; i < cells.size(); ++i)
        if (columns_[i] == "index")
            if (const auto n = detail::read_number(cells[i])) device = static_cast<std::int64_t>(n->value);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto n = detail::read_number(cells[i]);
        if (columns_[i].starts_with("memory.used") && n) memory(quantity::device_used, n->value, device);
        if (columns_[i].starts_with("memory.total") && n) memory(quantity::device_total, n->value, device);
        if (columns_[i] == "name" && log.text_of(quantity::gpu).empty())
            if (std::string text = detail::read_name(cells[i]); !text.empty())
                log.names.push_back({quantity::gpu, std::move(text), number_ + 1});
    }
}

inline result<engine_log> reader::finish() {
    if (open_ && !binary_) {
        take_line();
        ++number_;
        line_.clear();
        open_ = false;
    }
    if (snapshot_) return detail::log_of_snapshot(*snapshot_);
    if (binary_) return refused(error_code::malformed, "log", "binary data", "what an engine prints, as text");
    found* best = nullptr;
    for (found& engine : found_)
        if (engine.signs > 0 && !(engine.log.figures.empty() && engine.log.names.empty())) best = &engine;
    if (best == nullptr)
        return refused(error_code::unknown, "log", "no line of an engine",
                       "a log of vllm, sglang, tensorrt-llm, llama.cpp, ollama, lmdeploy, tgi, pytorch, "
                       "huggingface, deepspeed, megatron, torchtitan or nvidia-smi, from its start");
    best->log.lines = number_;
    return best->log;
}

/// Reads a log that is at hand as a whole.
inline result<engine_log> read_log(std::string_view text) {
    reader r;
    r.feed(text);
    return r.finish();
}

}  // namespace llmres::inline v0::logs
