// SPDX-License-Identifier: MIT
#include "plan_file.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace llmres::probe {

namespace {

std::string shown(const nlohmann::json& found) {
    return found.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// Reads fields of one object and keeps the first thing that is wrong.
struct fields {
    const nlohmann::json& from;
    std::string path;
    error& wrong;

    std::string at(std::string_view key) const {
        return path.empty() ? std::string{key} : path + "." + std::string{key};
    }
    bool ok() const { return wrong.code == error_code::none; }

    const nlohmann::json* find(const char* key, bool needed, std::string_view expected) const {
        const auto here = from.find(key);
        if (here != from.end() && !here->is_null()) return &*here;
        if (needed && ok()) wrong = refused(error_code::missing, at(key), "", expected);
        return nullptr;
    }
    std::optional<std::int64_t> integer(const char* key, bool needed, std::int64_t low) const {
        const nlohmann::json* found = find(key, needed, "an integer");
        if (found == nullptr || !ok()) return {};
        const bool fits = found->is_number_integer() &&
                          !(found->is_number_unsigned() && found->get<std::uint64_t>() > 0x7fffffffffffffffU);
        if (!fits) {
            wrong = refused(error_code::malformed, at(key), shown(*found), "an integer");
            return {};
        }
        const auto number = found->get<std::int64_t>();
        if (number < low) {
            wrong = refused(error_code::out_of_range, at(key), number, low == 0 ? "0 or more" : "1 or more");
            return {};
        }
        return number;
    }
    std::string string(const char* key, bool needed) const {
        const nlohmann::json* found = find(key, needed, "a string");
        if (found == nullptr || !ok()) return {};
        if (!found->is_string()) {
            wrong = refused(error_code::malformed, at(key), shown(*found), "a string");
            return {};
        }
        return found->get<std::string>();
    }
};

std::string name_in(const nlohmann::json& document, const char* key, error& wrong) {
    // "runtime": "vllm-0.9" or {"name": "vllm-0.9", ...knobs}
    const auto here = document.find(key);
    if (here == document.end() || here->is_null()) return {};
    if (here->is_object()) return fields{*here, key, wrong}.string("name", true);
    return fields{document, "", wrong}.string(key, false);
}

/// What of a runtime's pool its job leaves unused is in no buffer: such a plan is compared by what the job itself
/// takes.
void leave_out_unused_pool(plan_file& plan, const nlohmann::json& memory, error& wrong) {
    const auto needed = memory.find("needed");
    if (needed == memory.end() || !needed->is_object()) return;
    const auto job = fields{*needed, "memory.needed", wrong}.integer("expected", true, 0);
    if (!job) return;
    const byte_count before = plan.expected;
    plan.expected = bytes(*job);
    plan.low = bytes(fields{*needed, "memory.needed", wrong}.integer("low", false, 0).value_or(*job));
    plan.high = bytes(fields{*needed, "memory.needed", wrong}.integer("high", false, 0).value_or(*job));
    for (auto& [name, size] : plan.terms)
        if (name == "fragmentation") {
            const byte_count others = before - size;
            size = plan.expected > others ? plan.expected - others : byte_count{};
        }
}

bool is_term(std::string_view name) {
    return std::find(plan_terms.begin(), plan_terms.end(), name) != plan_terms.end();
}

plan_buffer read_buffer(const nlohmann::json& from, const std::string& path, bool training, error& wrong) {
    plan_buffer made;
    if (!from.is_object()) {
        wrong = refused(error_code::malformed, path, shown(from), "an object with name, term, bytes and count");
        return made;
    }
    const fields f{from, path, wrong};
    made.name = f.string("name", true);
    made.term = f.string("term", true);
    if (f.ok() && !is_term(made.term))
        wrong = refused(error_code::unknown, f.at("term"), made.term, "a memory term, such as weights or kv_cache");
    made.size = bytes(f.integer("bytes", true, 1).value_or(0));
    made.count = f.integer("count", false, 1).value_or(1);
    // Unless the plan says what grows with what: caches do in serving, activations and logits in training.
    made.scales_with_context = made.term == "kv_cache";
    made.scales_with_batch = made.term == "kv_cache" || made.term == "recurrent_state" ||
                             (training && (made.term == "activations" || made.term == "logits"));
    if (const nlohmann::json* scales = f.find("scales_with", false, ""); scales != nullptr && f.ok()) {
        made.scales_with_batch = made.scales_with_context = false;
        if (!scales->is_array())
            wrong = refused(error_code::malformed, f.at("scales_with"), shown(*scales), "an array");
        for (const nlohmann::json& axis : scales->is_array() ? *scales : nlohmann::json::array()) {
            if (axis == "batch")
                made.scales_with_batch = true;
            else if (axis == "context")
                made.scales_with_context = true;
            else if (f.ok())
                wrong = refused(error_code::unknown, f.at("scales_with"), shown(axis), "batch or context");
        }
    }
    return made;
}

std::int64_t gpus_of(const nlohmann::json& document, error& wrong) {
    if (const auto said = fields{document, "", wrong}.integer("gpus", false, 1)) return *said;
    const auto cluster = document.find("cluster");
    if (cluster != document.end() && cluster->is_object())
        if (const auto said = fields{*cluster, "cluster", wrong}.integer("gpus", false, 1)) return *said;
    const auto layout = document.find("layout");
    std::int64_t product = 1;
    if (layout != document.end() && layout->is_object())
        for (const char* axis : {"tensor", "pipeline", "data", "context_parallel", "replicas"})
            product =
                llmres::detail::product(product, fields{*layout, "layout", wrong}.integer(axis, false, 1).value_or(1));
    return product;
}

std::string fnv1a(std::string_view written) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : written) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
    return digits.data();
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
    if (document.is_discarded())
        return refused(error_code::malformed, "plan", written.substr(0, 40), "JSON, as `llmres plan --json` writes it");
    if (!document.is_object())
        return refused(error_code::malformed, "plan", document.type_name(),
                       "the object that `llmres plan --json` writes");

    error wrong{};
    plan_file plan;
    plan.text = written;
    plan.hash = fnv1a(written);
    const fields top{document, "", wrong};
    const nlohmann::json* memory = top.find("memory", true, "the plan's memory; this is not a plan");
    const nlohmann::json* buffers = top.find("buffers", true, "the plan's buffers in the order of allocation");
    if (!top.ok()) return wrong;
    if (!memory->is_object()) return refused(error_code::malformed, "memory", shown(*memory), "an object");
    if (!buffers->is_array()) return refused(error_code::malformed, "buffers", shown(*buffers), "an array");

    const fields m{*memory, "memory", wrong};
    plan.usable = bytes(m.integer("usable", true, 0).value_or(0));
    plan.expected = bytes(m.integer("expected", true, 0).value_or(0));
    plan.available = bytes(m.integer("available", false, 0).value_or(plan.usable.in(bytes)));
    plan.low = bytes(m.integer("low", false, 0).value_or(plan.expected.in(bytes)));
    plan.high = bytes(m.integer("high", false, 0).value_or(plan.expected.in(bytes)));
    if (const nlohmann::json* line = m.find("context", false, ""); line != nullptr && line->is_object()) {
        const fields c{*line, "memory.context", wrong};
        const auto end = [&](const char* key) { return bytes(c.integer(key, true, 0).value_or(0)); };
        plan.process_context = interval<byte_count>{end("low"), end("expected"), end("high")};
    }
    const nlohmann::json* terms = m.find("terms", true, "bytes by term");
    if (!m.ok()) return wrong;
    if (!terms->is_object()) return refused(error_code::malformed, "memory.terms", shown(*terms), "an object");
    byte_count sum{};
    for (const auto& [name, size] : terms->items()) {
        if (!is_term(name))
            return refused(error_code::unknown, "memory.terms", name, "a memory term, such as weights or kv_cache");
        const auto number = fields{*terms, "memory.terms", wrong}.integer(name.c_str(), true, 0);
        if (!m.ok()) return wrong;
        plan.terms.emplace_back(name, bytes(*number));
        sum += bytes(*number);
    }
    // The terms of a plan add up to what it expects; one in a thousand is left for rounding.
    const std::int64_t apart = (sum - plan.expected).base();
    if (apart > plan.expected.base() / 1000 || apart < -(plan.expected.base() / 1000))
        return refused(error_code::inconsistent, "memory.terms", sum.base(), "terms that add up to memory.expected");

    leave_out_unused_pool(plan, *memory, wrong);
    plan.runtime = name_in(document, "runtime", wrong);
    plan.allocator = name_in(document, "allocator", wrong);
    if (const nlohmann::json* by = top.find("allocator", false, ""); by != nullptr && by->is_object())
        plan.expandable_segments = by->value("expandable_segments", nlohmann::json(false)) == true;
    plan.verdict = top.string("verdict", false);
    if (const nlohmann::json* on = top.find("cluster", false, "");
        on != nullptr && on->is_object() && on->contains("gpu"))
        plan.gpu = fields{*on, "cluster", wrong}.string("gpu", false);
    plan.gpus = gpus_of(document, wrong);
    if (!m.ok()) return wrong;
    if (gpus_asked && *gpus_asked != plan.gpus)
        return refused(error_code::inconsistent, "gpus", plan.gpus,
                       "a plan for " + std::to_string(*gpus_asked) + " GPUs, as asked");

    const nlohmann::json* job = top.find("job", false, "");
    const nlohmann::json& asked = job != nullptr && job->is_object() ? *job : document;
    const fields a{asked, job != nullptr ? "job" : "", wrong};
    plan.batch = a.integer("batch", false, 1);
    if (!plan.batch) plan.batch = a.integer("micro_batch", false, 1);
    plan.context = a.integer("context", false, 1);
    if (const nlohmann::json* limits = top.find("limits", false, ""); limits != nullptr && limits->is_object()) {
        const fields l{*limits, "limits", wrong};
        plan.max_batch = l.integer("max_batch", false, 0);
        plan.max_context = l.integer("max_context", false, 0);
    }
    plan.trains = plan.predicted("gradients").value_or(byte_count{}) > byte_count{} || a.from.contains("micro_batch");

    std::int64_t pieces = 0;
    for (std::size_t i = 0; i < buffers->size(); ++i) {
        const std::string path = "buffers[" + std::to_string(i) + "]";
        plan.buffers.push_back(read_buffer((*buffers)[i], path, plan.trains, wrong));
        if (!top.ok()) return wrong;
        pieces = llmres::detail::sum(pieces, plan.buffers.back().count);
        if (pieces > 1'000'000)
            return refused(error_code::out_of_range, path + ".count", pieces, "at most 1000000 buffers in all");
        if (is_saturated(plan.buffer_total()))
            return refused(error_code::overflow, path + ".bytes", plan.buffers.back().size.base(),
                           "buffers that add up below 2^63");
    }
    if (plan.buffers.empty()) return refused(error_code::missing, "buffers", "", "at least one buffer");
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

result<plan_file> read_plan(const std::string& path, std::optional<std::int64_t> gpus_asked) {
    std::error_code none;
    std::ifstream in{path, std::ios::binary};
    if (!in || std::filesystem::is_directory(path, none))
        return refused(error_code::io, "plan", path, "a plan file that can be read");
    const std::string written{std::istreambuf_iterator<char>{in}, {}};
    return parse_plan(written, gpus_asked);
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
