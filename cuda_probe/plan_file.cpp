// SPDX-License-Identifier: MIT
#include "plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <llmres/io/json/fields.hpp>
#include <llmres/memory/breakdown.hpp>

namespace llmres::probe {

namespace {

using fields = llmres::detail::config_fields;
constexpr std::int64_t largest_number = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void refuse(error_code code, std::string_view field, std::string_view value, std::string_view expected) {
    throw exception{refused(code, field, value, expected)};
}
/// The first thing that is wrong with an object is thrown.
void check(const fields& f) {
    if (!f.ok()) throw exception{f.error()};
}
void require(fields& f, const char* key, std::string_view expected) {
    if (!f.has(key)) f.fail(error_code::missing, key, expected);
}
std::string needed_text(fields& f, const char* key) {
    require(f, key, "a string");
    return std::string{f.text_or(key, "")};
}
byte_count size(fields& f, const char* key) { return bytes(f.number(key, 0, largest_number)); }
byte_count size_or(fields& f, const char* key, byte_count otherwise) { return f.has(key) ? size(f, key) : otherwise; }
std::optional<std::int64_t> number_if(fields& f, const char* key, std::int64_t least) {
    return f.has(key) ? std::optional{f.number(key, least, largest_number)} : std::nullopt;
}
/// An object of the document; one that is not there has no fields.
fields part(fields& of, const char* key) {
    static const nlohmann::json none = nlohmann::json::object();
    const nlohmann::json* found = of.object(key);
    check(of);
    return fields{found != nullptr ? *found : none, of.label(key)};
}
/// "vllm", or {"name": "vllm", ...knobs}.
std::string name_in(fields& f, const char* key) {
    if (!f.holds_object(key)) return std::string{f.text_or(key, "")};
    fields with_knobs = part(f, key);
    const std::string name = needed_text(with_knobs, "name");
    return check(with_knobs), name;
}

void check_term(std::string_view field, std::string_view name) {
    if (std::find(memory_term_names.begin(), memory_term_names.end(), name) == memory_term_names.end())
        refuse(error_code::unknown, field, name, "a memory term, such as weights or kv_cache");
}

void read_terms(plan_file& plan, fields& memory) {
    require(memory, "terms", "bytes by term");
    fields terms = part(memory, "terms");
    byte_count sum{};
    for (const auto& [name, unread] : memory.object("terms")->items()) {
        check_term("memory.terms", name);
        plan.terms.emplace_back(name, size(terms, name.c_str()));
        sum += plan.terms.back().second;
    }
    check(terms);
    // The terms of a plan add up to what it expects; one in a thousand is left for rounding.
    if (std::abs((sum - plan.expected).base()) > plan.expected.base() / 1000)
        refuse(error_code::inconsistent, "memory.terms", std::to_string(sum.base()),
               "terms that add up to memory.expected");
}

void read_bounds(plan_file& plan, fields& from) {
    plan.expected = size(from, "expected");
    plan.low = size_or(from, "low", plan.expected);
    plan.high = size_or(from, "high", plan.expected);
    check(from);
}

void read_memory(plan_file& plan, fields memory) {
    plan.usable = size(memory, "usable");
    plan.available = size_or(memory, "available", plan.usable);
    read_bounds(plan, memory);
    read_terms(plan, memory);
    if (memory.has("context")) {
        fields context = part(memory, "context");
        plan.process_context =
            interval<byte_count>{size(context, "low"), size(context, "expected"), size(context, "high")};
        check(context);
    }
    if (!memory.has("needed")) return;
    // What of a runtime's pool its job leaves unused is in no buffer: such a plan is compared by what the job itself
    // takes.
    const byte_count with_unused = plan.expected;
    fields needed = part(memory, "needed");
    read_bounds(plan, needed);
    for (auto& [name, size] : plan.terms)
        if (name == "fragmentation") size = std::max(size - (with_unused - plan.expected), byte_count{});
}

plan_buffer read_buffer(fields& f) {
    plan_buffer made{needed_text(f, "name"), needed_text(f, "term")};
    made.size = bytes(f.number("bytes", 1, largest_number));
    made.count = f.number_or("count", 1, 1, largest_number);
    const nlohmann::json* scales = f.list("scales_with");
    check(f);
    check_term(f.label("term"), made.term);
    for (const nlohmann::json& axis : scales != nullptr ? *scales : nlohmann::json::array()) {
        if (axis != "batch" && axis != "context")
            refuse(error_code::unknown, f.label("scales_with"), llmres::detail::shown(axis), "batch or context");
        (axis == "batch" ? made.scales_with_batch : made.scales_with_context) = true;
    }
    return made;
}

void read_buffers(plan_file& plan, const nlohmann::json& list) {
    std::int64_t pieces = 0;
    for (const nlohmann::json& buffer : list) {
        const std::string path = fmt::format("buffers[{}]", plan.buffers.size());
        if (!buffer.is_object()) refuse(error_code::malformed, path, llmres::detail::shown(buffer), "an object");
        fields f{buffer, path};
        plan.buffers.push_back(read_buffer(f));
        pieces = llmres::detail::sum(pieces, plan.buffers.back().count);
        if (pieces > 1'000'000)
            refuse(error_code::out_of_range, path + ".count", std::to_string(pieces), "at most 1000000 buffers in all");
        if (is_saturated(plan.buffer_total()))
            refuse(error_code::overflow, path + ".bytes", std::to_string(plan.buffers.back().size.base()),
                   "buffers that add up below 2^63");
    }
    if (plan.buffers.empty()) refuse(error_code::missing, "buffers", "", "at least one buffer");
}

std::int64_t gpus_of(fields& plan) {
    fields cluster = part(plan, "cluster"), layout = part(plan, "layout");
    std::int64_t product = 1;
    for (const char* axis : {"tensor", "pipeline", "data", "context_parallel", "replicas"})
        product = llmres::detail::product(product, number_if(layout, axis, 1).value_or(1));
    const std::int64_t gpus = number_if(plan, "gpus", 1).value_or(number_if(cluster, "gpus", 1).value_or(product));
    return check(cluster), check(layout), gpus;
}

plan_file read_plan(const nlohmann::json& document) {
    fields f{document};
    require(f, "memory", "the plan's memory; this is not a plan");
    require(f, "buffers", "the plan's buffers in the order of allocation");
    plan_file plan;
    read_memory(plan, part(f, "memory"));
    plan.runtime = name_in(f, "runtime");
    plan.allocator = name_in(f, "allocator");
    plan.verdict = f.text_or("verdict", "");
    plan.gpus = gpus_of(f);
    fields job = part(f, "job"), limits = part(f, "limits"), cluster = part(f, "cluster");
    plan.gpu = cluster.text_or("gpu", "");
    plan.batch = number_if(job, job.has("batch") ? "batch" : "micro_batch", 1);
    plan.context = number_if(job, "context", 1);
    plan.max_batch = number_if(limits, "max_batch", 0);
    plan.max_context = number_if(limits, "max_context", 0);
    const nlohmann::json* buffers = f.list("buffers");
    for (const fields* one : {&f, &job, &limits, &cluster}) check(*one);
    read_buffers(plan, *buffers);
    return plan;
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

result<plan_file> parse_plan(std::string_view written) {
    const nlohmann::json document = nlohmann::json::parse(written, nullptr, false);
    if (!document.is_object())
        return refused(error_code::malformed, "plan", written.substr(0, 40),
                       "the JSON object that `llmres plan --json` writes");
    try {
        plan_file plan = read_plan(document);
        plan.text = written;
        plan.hash = fnv1a(written);
        return plan;
    } catch (const exception& wrong) {
        return wrong.error();
    }
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

result<plan_file> scaled(const plan_file& plan, plan_axis axis, std::int64_t to) {
    const bool batch = axis == plan_axis::batch;
    const auto from = batch ? plan.batch : plan.context;
    if (!from)
        return refused(error_code::missing, batch ? "job.batch" : "job.context", "", "what the plan was made for");
    plan_file made = plan;
    for (plan_buffer& b : made.buffers) {
        if (!(batch ? b.scales_with_batch : b.scales_with_context)) continue;
        const byte_count grown = b.size * to, before = b.size * b.count;
        if (is_saturated(grown)) return refused(error_code::overflow, "buffers", b.name, "sizes below 2^63");
        b.size = div_up(grown, *from);
        const byte_count more = b.size * b.count - before;
        for (auto& [name, size] : made.terms)
            if (name == b.term) size += more;
        made.low += more, made.expected += more, made.high += more;
    }
    return made;
}

}  // namespace llmres::probe
