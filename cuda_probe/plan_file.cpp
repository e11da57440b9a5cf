// SPDX-License-Identifier: MIT
#include "plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <llmres/io/json/fields.hpp>

namespace llmres::probe {

namespace {

using fields = llmres::detail::config_fields;
constexpr std::int64_t largest_number = std::numeric_limits<std::int64_t>::max();

/// Has read(fields) read an object; false if something in it was wrong, or before it: the first is kept.
template <class Read>
bool read_object(const nlohmann::json& from, std::string_view path, error& wrong, Read&& read) {
    if (wrong.code != error_code::none) return false;
    if (!from.is_object())
        return wrong = refused(error_code::malformed, path, llmres::detail::shown(from), "an object"), false;
    fields f{from, path};
    read(f);
    if (!f.ok()) wrong = f.error();
    return f.ok();
}
/// The object under that key, where there is one.
const nlohmann::json* object_in(const nlohmann::json& document, const char* key) {
    const auto found = document.find(key);
    return found != document.end() && found->is_object() ? &*found : nullptr;
}
byte_count size_or(fields& f, const char* key, byte_count otherwise, std::int64_t least = 0) {
    return bytes(f.number_or(key, otherwise.in(bytes), least, largest_number));
}
std::optional<std::int64_t> number_in(fields& f, const char* key, std::int64_t least) {
    return f.has(key) ? std::optional{f.number(key, least, largest_number)} : std::nullopt;
}
std::string text_in(fields& f, const char* key) {
    if (!f.has(key)) f.fail(error_code::missing, key, "a string");
    return std::string{f.text_or(key, "")};
}
bool is_term(std::string_view name) {
    return std::find(plan_terms.begin(), plan_terms.end(), name) != plan_terms.end();
}

/// "vllm", or {"name": "vllm", ...knobs}.
std::string name_in(const nlohmann::json& document, const char* key, error& wrong) {
    std::string name;
    const nlohmann::json* with_knobs = object_in(document, key);
    const auto read = [&](fields& f) { name = with_knobs ? text_in(f, "name") : std::string{f.text_or(key, "")}; };
    read_object(with_knobs ? *with_knobs : document, with_knobs ? key : "", wrong, read);
    return name;
}

/// What of a runtime's pool its job leaves unused is in no buffer: such a plan is compared by what the job itself
/// takes.
void leave_out_unused_pool(plan_file& plan, fields& needed) {
    const byte_count before = plan.expected;
    plan.expected = bytes(needed.number("expected", 0, largest_number));
    plan.low = size_or(needed, "low", plan.expected);
    plan.high = size_or(needed, "high", plan.expected);
    for (auto& [name, size] : plan.terms)
        if (name == "fragmentation") {
            const byte_count others = before - size;
            size = plan.expected > others ? plan.expected - others : byte_count{};
        }
}

void read_terms(plan_file& plan, fields& terms, const nlohmann::json& names) {
    byte_count sum{};
    for (const auto& [name, size] : names.items()) {
        if (!is_term(name))
            return terms.fail(
                refused(error_code::unknown, "memory.terms", name, "a memory term, such as weights or kv_cache"));
        plan.terms.emplace_back(name, bytes(terms.number(name.c_str(), 0, largest_number)));
        sum += plan.terms.back().second;
    }
    // The terms of a plan add up to what it expects; one in a thousand is left for rounding.
    const std::int64_t apart = (sum - plan.expected).base();
    if (terms.ok() && std::abs(apart) > plan.expected.base() / 1000)
        terms.fail(
            refused(error_code::inconsistent, "memory.terms", sum.base(), "terms that add up to memory.expected"));
}

void read_memory(plan_file& plan, fields& m, const nlohmann::json& from, error& wrong) {
    plan.usable = bytes(m.number("usable", 0, largest_number));
    plan.expected = bytes(m.number("expected", 0, largest_number));
    plan.available = size_or(m, "available", plan.usable);
    plan.low = size_or(m, "low", plan.expected);
    plan.high = size_or(m, "high", plan.expected);
    if (!m.has("terms")) m.fail(error_code::missing, "terms", "bytes by term");
    const nlohmann::json* terms = m.object("terms");
    if (!m.ok()) return;
    if (const nlohmann::json* line = object_in(from, "context"))
        read_object(*line, "memory.context", wrong, [&](fields& c) {
            const auto end = [&](const char* key) { return bytes(c.number(key, 0, largest_number)); };
            plan.process_context = interval<byte_count>{end("low"), end("expected"), end("high")};
        });
    read_object(*terms, "memory.terms", wrong, [&](fields& t) { read_terms(plan, t, *terms); });
    if (const nlohmann::json* needed = object_in(from, "needed"); needed != nullptr)
        read_object(*needed, "memory.needed", wrong, [&](fields& n) { leave_out_unused_pool(plan, n); });
}

plan_buffer read_buffer(fields& f, bool training) {
    plan_buffer made{text_in(f, "name"), text_in(f, "term")};
    if (f.ok() && !is_term(made.term)) {
        f.fail(refused(error_code::unknown, f.label("term"), made.term, "a memory term, such as weights or kv_cache"));
        return made;
    }
    made.size = bytes(f.number("bytes", 1, largest_number));
    made.count = f.number_or("count", 1, 1, largest_number);
    // Unless the plan says what grows with what: caches do in serving, activations and logits in training.
    made.scales_with_context = made.term == "kv_cache";
    made.scales_with_batch = made.term == "kv_cache" || made.term == "recurrent_state" ||
                             (training && (made.term == "activations" || made.term == "logits"));
    if (const nlohmann::json* scales = f.list("scales_with")) {
        made.scales_with_batch = made.scales_with_context = false;
        for (const nlohmann::json& axis : *scales) {
            made.scales_with_batch = made.scales_with_batch || axis == "batch";
            made.scales_with_context = made.scales_with_context || axis == "context";
            if (axis != "batch" && axis != "context")
                f.fail(refused(error_code::unknown, f.label("scales_with"), llmres::detail::shown(axis),
                               "batch or context"));
        }
    }
    return made;
}

void read_buffers(plan_file& plan, const nlohmann::json& buffers, error& wrong) {
    std::int64_t pieces = 0;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const std::string path = "buffers[" + std::to_string(i) + "]";
        if (!read_object(buffers[i], path, wrong,
                         [&](fields& f) { plan.buffers.push_back(read_buffer(f, plan.trains)); }))
            return;
        pieces = llmres::detail::sum(pieces, plan.buffers.back().count);
        if (pieces > 1'000'000)
            wrong = refused(error_code::out_of_range, path + ".count", pieces, "at most 1000000 buffers in all");
        else if (is_saturated(plan.buffer_total()))
            wrong = refused(error_code::overflow, path + ".bytes", plan.buffers.back().size.base(),
                            "buffers that add up below 2^63");
    }
    if (plan.buffers.empty()) wrong = refused(error_code::missing, "buffers", "", "at least one buffer");
}

std::int64_t gpus_of(const nlohmann::json& document, error& wrong) {
    std::int64_t product = 0;
    for (const char* part : {"", "cluster"})
        if (const nlohmann::json* from = *part == 0 ? &document : object_in(document, part);
            from != nullptr && product == 0)
            read_object(*from, part, wrong, [&](fields& f) { product = number_in(f, "gpus", 1).value_or(0); });
    if (product > 0) return product;
    if (const nlohmann::json* layout = object_in(document, "layout"))
        read_object(*layout, "layout", wrong, [&](fields& f) {
            product = 1;
            for (const char* axis : {"tensor", "pipeline", "data", "context_parallel", "replicas"})
                product = llmres::detail::product(product, f.number_or(axis, 1, 1, largest_number));
        });
    return std::max<std::int64_t>(product, 1);
}

/// What the plan says beside its memory and its buffers.
void read_rest(plan_file& plan, const nlohmann::json& document, error& wrong) {
    plan.runtime = name_in(document, "runtime", wrong);
    plan.allocator = name_in(document, "allocator", wrong);
    read_object(document, "", wrong, [&](fields& f) { plan.verdict = f.text_or("verdict", ""); });
    if (const nlohmann::json* on = object_in(document, "cluster"))
        read_object(*on, "cluster", wrong, [&](fields& f) { plan.gpu = f.text_or("gpu", ""); });
    plan.gpus = gpus_of(document, wrong);
    const nlohmann::json* job = object_in(document, "job");
    read_object(job ? *job : document, job ? "job" : "", wrong, [&](fields& f) {
        plan.batch = number_in(f, f.has("batch") ? "batch" : "micro_batch", 1);
        plan.context = number_in(f, "context", 1);
        plan.trains = plan.predicted("gradients").value_or(byte_count{}) > byte_count{} || f.gives("micro_batch");
    });
    if (const nlohmann::json* limits = object_in(document, "limits"))
        read_object(*limits, "limits", wrong, [&](fields& f) {
            plan.max_batch = number_in(f, "max_batch", 0);
            plan.max_context = number_in(f, "max_context", 0);
        });
}

std::string fnv1a(std::string_view written) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : written) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return fmt::format("{:016x}", hash);
}

}  // namespace

byte_count plan_file::buffer_total() const {
    byte_count total{};
    for (const plan_buffer& b : buffers) total += b.size * b.count;
    return total;
}

byte_count plan_file::buffer_total(std::string_view term) const {
    byte_count total{};
    for (const plan_buffer& b : buffers)
        if (b.term == term) total += b.size * b.count;
    return total;
}

std::optional<byte_count> plan_file::predicted(std::string_view term) const {
    for (const auto& [name, size] : terms)
        if (name == term) return size;
    return {};
}

result<plan_file> parse_plan(std::string_view written, std::optional<std::int64_t> gpus_asked) {
    const nlohmann::json document = nlohmann::json::parse(written, nullptr, false);
    if (!document.is_object())
        return refused(error_code::malformed, "plan", written.substr(0, 40),
                       "the JSON object that `llmres plan --json` writes");
    error wrong{};
    plan_file plan;
    plan.text = written;
    plan.hash = fnv1a(written);
    fields top{document};
    if (!top.has("memory")) top.fail(error_code::missing, "memory", "the plan's memory; this is not a plan");
    if (!top.has("buffers")) top.fail(error_code::missing, "buffers", "the plan's buffers in the order of allocation");
    const nlohmann::json* memory = top.object("memory");
    const nlohmann::json* buffers = top.list("buffers");
    if (!top.ok()) return top.error();
    if (!read_object(*memory, "memory", wrong, [&](fields& m) { read_memory(plan, m, *memory, wrong); })) return wrong;
    read_rest(plan, document, wrong);
    if (wrong.code == error_code::none && gpus_asked && *gpus_asked != plan.gpus)
        wrong = refused(error_code::inconsistent, "gpus", plan.gpus,
                        "a plan for " + std::to_string(*gpus_asked) + " GPUs, as asked");
    if (wrong.code == error_code::none) read_buffers(plan, *buffers, wrong);
    if (wrong.code != error_code::none) return wrong;
    plan.reserved = plan.buffer_total() + plan.predicted("fragmentation").value_or(byte_count{});
    return plan;
}

std::vector<plan_buffer> stand_ins(const plan_file& plan, byte_count own, bool fragments) {
    std::vector<plan_buffer> all;
    for (const auto& [term, predicted] : plan.terms) {
        if (fragments && term == "fragmentation") continue;
        const byte_count without_buffer =
            predicted - plan.buffer_total(term) - (term == "runtime" ? own : byte_count{});
        if (without_buffer > byte_count{}) all.push_back({"rest_of_" + term, term, without_buffer});
    }
    return all;
}

result<std::string> read_text(const std::string& path, std::string_view field, std::string_view expected) {
    std::error_code none;
    std::ifstream in{path, std::ios::binary};
    if (!in || std::filesystem::is_directory(path, none)) return refused(error_code::io, field, path, expected);
    return std::string{std::istreambuf_iterator<char>{in}, {}};
}

result<plan_file> read_plan(const std::string& path, std::optional<std::int64_t> gpus_asked) {
    const auto written = read_text(path, "plan", "a plan file that can be read");
    return written ? parse_plan(*written, gpus_asked) : result<plan_file>{written.error()};
}

result<plan_file> scaled(const plan_file& plan, plan_axis axis, std::int64_t to) {
    const bool batch = axis == plan_axis::batch;
    const auto from = batch ? plan.batch : plan.context;
    if (!from)
        return refused(error_code::missing, batch ? "job.batch" : "job.context", "",
                       "what the plan was made for, or --at");
    plan_file made = plan;
    (batch ? made.batch : made.context) = to;
    for (plan_buffer& b : made.buffers) {
        if (!(batch ? b.scales_with_batch : b.scales_with_context)) continue;
        const byte_count grown = b.size * to;
        if (is_saturated(grown)) return refused(error_code::overflow, "buffers", b.name, "sizes below 2^63");
        const byte_count before = b.size * b.count;
        b.size = div_up(grown, *from);
        const byte_count more = b.size * b.count - before;
        for (auto& [name, size] : made.terms)
            if (name == b.term) size += more;
        made.low += more;
        made.expected += more;
        made.high += more;
    }
    return made;
}

}  // namespace llmres::probe
