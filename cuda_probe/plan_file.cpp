// SPDX-License-Identifier: MIT
#include "plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <llmres/io/json/fields.hpp>
#include <llmres/memory/breakdown.hpp>
#include <type_traits>

namespace llmres::probe {

namespace {

using fields = llmres::detail::config_fields;
constexpr std::int64_t largest_number = std::numeric_limits<std::int64_t>::max();

std::string needed_text(fields& f, const char* key) {
    if (!f.has(key)) f.fail(error_code::missing, key, "a string");
    return std::string{f.text_or(key, "")};
}

/// The fields of a plan by their path. The first error is kept; what is asked after it answers with a fallback.
class plan_fields {
public:
    explicit plan_fields(const nlohmann::json& document) : document_{document} {}

    const llmres::error& error() const { return error_; }
    bool ok() const { return error_.code == error_code::none; }
    void fail(const llmres::error& wrong) {
        if (ok()) error_ = wrong;
    }

    bool has(const std::string& path) const {
        const nlohmann::json::json_pointer at{path};
        return document_.contains(at) && !document_.at(at).is_null();
    }
    byte_count size(const std::string& path) { return bytes(number(path, 0)); }
    byte_count size_or(const std::string& path, byte_count otherwise) { return has(path) ? size(path) : otherwise; }
    std::optional<std::int64_t> number_if(const std::string& path, std::int64_t least) {
        return has(path) ? std::optional{number(path, least)} : std::nullopt;
    }
    std::string text_or_none(const std::string& path) {
        return in(path, [](fields& f, const char* key) { return std::string{f.text_or(key, "")}; });
    }
    /// "vllm", or {"name": "vllm", ...knobs}.
    std::string name(const std::string& path) {
        const bool with_knobs = has(path) && document_.at(nlohmann::json::json_pointer{path}).is_object();
        return with_knobs ? in(path + "/name", needed_text) : text_or_none(path);
    }
    /// An object or a list that must be there.
    const nlohmann::json& part(const std::string& path, nlohmann::json::value_t kind, std::string_view expected) {
        const nlohmann::json* found = in(path, [&](fields& f, const char* key) {
            if (!f.has(key)) f.fail(error_code::missing, key, expected);
            return kind == nlohmann::json::value_t::object ? f.object(key) : f.list(key);
        });
        return found != nullptr ? *found : none_;
    }

private:
    std::int64_t number(const std::string& path, std::int64_t least) {
        return in(path, [&](fields& f, const char* key) { return f.number(key, least, largest_number); });
    }
    /// What `read` makes of the last key of a path, in the object that holds it.
    template <class Read>
    std::invoke_result_t<Read, fields&, const char*> in(const std::string& path, Read&& read) {
        const std::size_t slash = path.rfind('/');
        const nlohmann::json::json_pointer holder{path.substr(0, slash)};
        const bool there = document_.contains(holder) && document_.at(holder).is_object();
        std::string label = path.substr(0, slash).substr(slash > 0 ? 1 : 0);
        std::replace(label.begin(), label.end(), '/', '.');
        fields f{there ? document_.at(holder) : none_, label};
        const auto found = read(f, path.c_str() + slash + 1);
        if (!f.ok()) fail(f.error());
        return found;
    }

    const nlohmann::json& document_;
    const nlohmann::json none_ = nlohmann::json::object();
    llmres::error error_{};
};

bool is_term(std::string_view name) {
    return std::find(memory_term_names.begin(), memory_term_names.end(), name) != memory_term_names.end();
}

void read_terms(plan_file& plan, plan_fields& from) {
    const nlohmann::json& named = from.part("/memory/terms", nlohmann::json::value_t::object, "bytes by term");
    fields terms{named, "memory.terms"};
    byte_count sum{};
    for (const auto& [name, size] : named.items()) {
        if (!is_term(name))
            return from.fail(
                refused(error_code::unknown, "memory.terms", name, "a memory term, such as weights or kv_cache"));
        plan.terms.emplace_back(name, bytes(terms.number(name.c_str(), 0, largest_number)));
        sum += plan.terms.back().second;
    }
    if (!terms.ok()) return from.fail(terms.error());
    // The terms of a plan add up to what it expects; one in a thousand is left for rounding.
    if (std::abs((sum - plan.expected).base()) > plan.expected.base() / 1000)
        from.fail(
            refused(error_code::inconsistent, "memory.terms", sum.base(), "terms that add up to memory.expected"));
}

void read_bounds(plan_file& plan, plan_fields& from, const std::string& of) {
    plan.expected = from.size(of + "/expected");
    plan.low = from.size_or(of + "/low", plan.expected);
    plan.high = from.size_or(of + "/high", plan.expected);
}

void read_memory(plan_file& plan, plan_fields& from) {
    plan.usable = from.size("/memory/usable");
    plan.available = from.size_or("/memory/available", plan.usable);
    read_bounds(plan, from, "/memory");
    read_terms(plan, from);
    if (from.has("/memory/context"))
        plan.process_context = interval<byte_count>{
            from.size("/memory/context/low"), from.size("/memory/context/expected"), from.size("/memory/context/high")};
    if (!from.has("/memory/needed")) return;
    // What of a runtime's pool its job leaves unused is in no buffer: such a plan is compared by what the job itself
    // takes.
    const byte_count unused = plan.expected;
    read_bounds(plan, from, "/memory/needed");
    for (auto& [name, size] : plan.terms)
        if (name == "fragmentation") size = std::max(size - (unused - plan.expected), byte_count{});
}

plan_buffer read_buffer(fields& f) {
    plan_buffer made{needed_text(f, "name"), needed_text(f, "term")};
    if (f.ok() && !is_term(made.term))
        f.fail(refused(error_code::unknown, f.label("term"), made.term, "a memory term, such as weights or kv_cache"));
    made.size = bytes(f.number("bytes", 1, largest_number));
    made.count = f.number_or("count", 1, 1, largest_number);
    if (const nlohmann::json* scales = f.list("scales_with"))
        for (const nlohmann::json& axis : *scales) {
            made.scales_with_batch = made.scales_with_batch || axis == "batch";
            made.scales_with_context = made.scales_with_context || axis == "context";
            if (axis != "batch" && axis != "context")
                f.fail(refused(error_code::unknown, f.label("scales_with"), llmres::detail::shown(axis),
                               "batch or context"));
        }
    return made;
}

void read_buffers(plan_file& plan, plan_fields& from) {
    std::int64_t pieces = 0;
    for (const nlohmann::json& buffer :
         from.part("/buffers", nlohmann::json::value_t::array, "the plan's buffers in the order of allocation")) {
        const std::string path = "buffers[" + std::to_string(plan.buffers.size()) + "]";
        if (!buffer.is_object())
            return from.fail(refused(error_code::malformed, path, llmres::detail::shown(buffer), "an object"));
        fields f{buffer, path};
        plan.buffers.push_back(read_buffer(f));
        if (!f.ok()) return from.fail(f.error());
        pieces = llmres::detail::sum(pieces, plan.buffers.back().count);
        if (pieces > 1'000'000)
            from.fail(refused(error_code::out_of_range, path + ".count", pieces, "at most 1000000 buffers in all"));
        if (is_saturated(plan.buffer_total()))
            from.fail(refused(error_code::overflow, path + ".bytes", plan.buffers.back().size.base(),
                              "buffers that add up below 2^63"));
    }
    if (plan.buffers.empty()) from.fail(refused(error_code::missing, "buffers", "", "at least one buffer"));
}

std::int64_t gpus_of(plan_fields& from) {
    for (const char* path : {"/gpus", "/cluster/gpus"})
        if (const auto said = from.number_if(path, 1)) return *said;
    std::int64_t product = 1;
    for (const char* axis :
         {"/layout/tensor", "/layout/pipeline", "/layout/data", "/layout/context_parallel", "/layout/replicas"})
        product = llmres::detail::product(product, from.number_if(axis, 1).value_or(1));
    return product;
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
    plan_fields from{document};
    plan_file plan;
    plan.text = written;
    plan.hash = fnv1a(written);
    from.part("/memory", nlohmann::json::value_t::object, "the plan's memory; this is not a plan");
    from.part("/buffers", nlohmann::json::value_t::array, "the plan's buffers in the order of allocation");
    if (!from.ok()) return from.error();
    read_memory(plan, from);
    plan.runtime = from.name("/runtime");
    plan.allocator = from.name("/allocator");
    plan.verdict = from.text_or_none("/verdict");
    plan.gpu = from.text_or_none("/cluster/gpu");
    plan.gpus = gpus_of(from);
    plan.batch = from.number_if(from.has("/job/batch") ? "/job/batch" : "/job/micro_batch", 1);
    plan.context = from.number_if("/job/context", 1);
    plan.max_batch = from.number_if("/limits/max_batch", 0);
    plan.max_context = from.number_if("/limits/max_context", 0);
    if (from.ok()) read_buffers(plan, from);
    return from.ok() ? result<plan_file>{plan} : result<plan_file>{from.error()};
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
        return refused(error_code::missing, batch ? "job.batch" : "job.context", "",
                       "what the plan was made for, or --at");
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
