// SPDX-License-Identifier: MIT
// What the constants of runtime profiles mean, and where their values come from.
#include <llmres/io/json/runtime/constants.hpp>

#include <doctest/doctest.h>
#include <cstdint>
#include <llmres/io/json/runtime/profile_reader.hpp>
#include <map>
#include <vector>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <llmres/io/runtime_json.hpp>
#include <set>
#include <string>
#include <string_view>

using namespace llmres;

namespace {

std::string header(std::string_view name) {
    std::ifstream in{LLMRES_SOURCE_DIR "/include/llmres/runtimes/" + std::string{name}};
    return {std::istreambuf_iterator<char>{in}, {}};
}

std::string last_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }

/// The member that a header of runtimes/ declares: of a compute capability, which hardware/gpu.hpp describes, the
/// whole.
std::string declared(const std::string& path) {
    const bool part = path.ends_with(".major") || path.ends_with(".minor");
    return last_of(part ? path.substr(0, path.rfind('.')) : path);
}

std::string source_in(const runtime_profile& profile, std::string_view path) {
    const auto constants = detail::profile_constants();
    const auto* found = detail::find_constant(constants, path);
    REQUIRE(found != nullptr);
    return detail::constant_sources{profile}.source_of(*found);
}

}  // namespace

TEST_CASE("every constant of a profile has a meaning, a unit, and a header that declares it") {
    const auto constants = detail::profile_constants();
    CHECK(constants.size() > 150);
    std::set<std::string> paths;
    for (const auto& c : constants) {
        CAPTURE(c.path);
        CHECK(c.means.size() > 10);
        CHECK(!c.unit.empty());
        const std::string text = header(c.header), name = declared(c.path);
        CHECK((text.find(" " + name) != std::string::npos || text.find("(*" + name + ")") != std::string::npos));
        CHECK(paths.insert(c.path).second);
        CHECK(detail::find_constant(constants, c.path) == &c);
    }
}

TEST_CASE("what is an interval says so, and every value is found under its path") {
    const auto constants = detail::profile_constants();
    for (const runtime* compiled : runtimes::all) {
        const auto values = detail::constants_to_json(*compiled);
        for (const auto& c : constants) {
            const auto value = detail::value_at(values, c.path);
            if (value.is_object() && value.contains("low")) CHECK(c.has_bounds);
        }
    }
    CHECK(detail::find_constant(constants, "process.cuda_graphs")->has_bounds);
    CHECK(detail::find_constant(constants, "cuda_graphs")->unit == "bytes");
    CHECK(detail::find_constant(constants, "launches.layer")->unit == "seconds");
    CHECK(!detail::find_constant(constants, "cache.block")->has_bounds);
    CHECK(detail::find_constant(constants, "copies") == nullptr);  // of caches and of steps
}

TEST_CASE("every compiled profile's header holds it") {
    for (const runtime* compiled : runtimes::all) {
        CAPTURE(compiled->identity.name.view());
        CHECK(header(detail::header_of(*compiled))
                  .find("name = \"" + std::string{compiled->identity.name.view()} + "\"") != std::string::npos);
    }
}

TEST_CASE("every constant of every compiled profile has a value and a source") {
    const auto constants = detail::profile_constants();
    for (const runtime* compiled : runtimes::all) {
        const runtime_profile profile{*compiled, {}, {}};
        const detail::constant_sources sources{profile};
        const auto values = detail::constants_to_json(*compiled);
        for (const auto& c : constants) {
            CAPTURE(c.path);
            CHECK(!detail::value_at(values, c.path).dump().empty());
            CHECK(sources.source_of(c).find("llmres/runtimes/") != std::string::npos);
        }
    }
}

TEST_CASE("a constant's value names its source") {
    const runtime_profile compiled = find_compiled_profile("vllm@0.19").value();
    CHECK(source_in(compiled, "cuda_graphs") == "llmres/runtimes/vllm.hpp (vllm 0.18 and 0.19)");
    CHECK(source_in(compiled, "layer_graphs") == "default of llmres/runtimes/process.hpp");
    const runtime_profile changed =
        read_runtime_profile(
            R"({"from": "vllm@0.19", "cuda_graphs": 1024, "identity": {"versions": "0.19, from 12 logs"},
                "workspace": 4096, "origin": {"sources": {"process.workspace": "12 logs"}}})")
            .value();
    CHECK(source_in(changed, "cuda_graphs") == "this profile");
    CHECK(source_in(changed, "process.workspace") == "12 logs");
    CHECK(source_in(changed, "process.context") == "llmres/runtimes/vllm.hpp (vllm 0.18 and 0.19)");
}

TEST_CASE("the schema of profiles is that of the docs, and describes every field") {
    std::ifstream file{LLMRES_SOURCE_DIR "/docs/schema/profile.json"};
    REQUIRE(file);
    CHECK(nlohmann::ordered_json::parse(file) == detail::profile_schema());
    const auto described = [](const auto& self, const nlohmann::ordered_json& schema) -> void {
        if (!schema.contains("properties")) return;
        for (const auto& [name, field] : schema["properties"].items()) {
            if (name == "low" || name == "expected" || name == "high") continue;
            CAPTURE(name);
            CHECK(field.contains("description"));
            self(self, field.contains("items") ? field["items"] : field);
        }
    };
    nlohmann::ordered_json constants = detail::profile_schema();
    constants["properties"].erase("origin");
    described(described, constants);
}

TEST_CASE("every value of a written profile is a constant that is described, however deep it stands") {
    std::set<std::string> described;
    for (const auto& c : detail::profile_constants()) described.insert(c.path);
    std::size_t deepest = 0;
    const auto visit = [&](const auto& self, const json_value& values, const std::string& above) -> void {
        for (const auto& [name, value] : values.items()) {
            const std::string path = above + name;
            if (described.contains(path)) {
                deepest = std::max(deepest, static_cast<std::size_t>(std::count(path.begin(), path.end(), '.')));
                continue;
            }
            CAPTURE(path);
            REQUIRE(value.is_structured());
            if (value.is_object())
                self(self, value, path + ".");
            else
                for (const json_value& one : value) self(self, one, path + "[].");
        }
    };
    for (const runtime* compiled : runtimes::all) visit(visit, detail::constants_to_json(*compiled), "");
    CHECK(deepest >= 2);
}

TEST_CASE("the type of a constant says its kind, and the largest number that it may be") {
    using kind = detail::constant_kind;
    const auto says = [](const detail::constant_type& type, kind expected, std::int64_t most) {
        CHECK(type.kind == expected);
        CHECK(type.most == most);
    };
    says(detail::make_constant_type<bool>(), kind::flag, 1);
    says(detail::make_constant_type<std::int32_t>(), kind::whole, 2'147'483'647);
    says(detail::make_constant_type<byte_count>(), kind::bytes, std::int64_t{1} << 50);
    says(detail::make_constant_type<token_count>(), kind::tokens, std::int64_t{1} << 40);
    says(detail::make_constant_type<double>(), kind::real, 0);
    says(detail::make_constant_type<duration>(), kind::seconds, 0);
    says(detail::make_constant_type<text<15>>(), kind::words, 15);
    says(detail::make_constant_type<interval<double>>(), kind::interval, 0);
    says(detail::make_constant_type<maybe<double>>(), kind::maybe, 0);
    says(detail::make_constant_type<runtime_cache>(), kind::part, 0);
    const detail::constant_type choice = detail::make_constant_type<cache_pool>();
    says(choice, kind::choice, 0);
    CHECK(choice.names.size() == names_of<cache_pool>.size());
    const auto names = detail::profile_field_names<runtime_cache>();
    for (std::size_t i = 0; i < names.size(); ++i) CHECK(names[i] == detail::fields_of<runtime_cache>[i].name);
}

TEST_CASE("what is known stays as it is when it is said to be, and what becomes unknown is forgotten") {
    const detail::constant_type type = detail::make_constant_type<maybe<double>>();
    maybe<double> value{2.5};
    type.set_whole(&value, 1);
    CHECK(value == maybe<double>{2.5});
    type.set_whole(&value, 0);
    CHECK_FALSE(value);
    CHECK(value.value == 0);
    type.set_whole(&value, 1);
    CHECK(value == maybe<double>{0.0});
}

TEST_CASE("a field that several parts have stands in none, and one that a single part has in that") {
    runtime any;
    std::map<std::string_view, std::vector<std::string_view>> parts_of;
    for (const detail::constant_ref& part : detail::constants_in(any))
        for (const detail::constant_ref& c : part.inside()) parts_of[c.field->name].push_back(part.field->name);
    int several = 0;
    for (const auto& [field, parts] : parts_of) {
        CAPTURE(field);
        CHECK(detail::part_with(field) == (parts.size() == 1 ? parts[0] : std::string_view{}));
        several += parts.size() > 1;
    }
    CHECK(several > 0);
    CHECK(detail::part_with("no such field") == "");
}

TEST_CASE("how often something was observed is a number from 0") {
    const auto read = [](const nlohmann::json& rows) {
        std::int64_t into = -1;
        const status s = detail::read_count({{"rows", rows}}, "rows", into);
        return s ? into : -2;
    };
    CHECK(read(0) == 0);  // a signed zero, as C++ writes it
    CHECK(read(1) == 1);
    CHECK(read(std::uint64_t{7}) == 7);
    CHECK(read(-1) == -2);
    CHECK(read(1.5) == -2);
    CHECK(read(std::int64_t{1} << 40) == std::int64_t{1} << 40);
    CHECK(read((std::int64_t{1} << 40) + 1) == -2);
}
