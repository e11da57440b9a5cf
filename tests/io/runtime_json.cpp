// SPDX-License-Identifier: MIT
// Runtime profiles as data: what is compiled and what is read are the same. LLMRES_RANDOM_JOBS=10000 plans as many
// random jobs under both.
#include <llmres/io/job_json.hpp>
#include <llmres/io/runtime_json.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <string>
#include <vector>

#include "properties.hpp"

using namespace llmres;

namespace {

runtime_profile again(const llmres::runtime& compiled) {
    runtime_profile profile;
    profile.runtime = compiled;
    return read_runtime_profile(to_json(profile).dump()).value();
}

std::string refusal_of(const std::string& document) {
    const result<runtime_profile> read = read_runtime_profile(document);
    if (read) return "read";
    return std::string{read.error().field.view()} + " is " + std::string{read.error().value.view()};
}

/// A random job that some runtime and some GPU may run.
job random_job(properties::generator& random, const llmres::runtime& r) {
    const auto below = [&](std::size_t n) { return random.bits() % n; };
    job j;
    j.model = *models::all[below(models::all.size())];
    const bool serving =
        r.identity.work == runtime_work::serving || (r.identity.work == runtime_work::any && below(2) == 0);
    j.task = serving ? task::serving : below(2) == 0 ? task::pretraining : task::finetuning;
    j.batch = static_cast<std::int64_t>(1 + below(64));
    j.context = tokens(static_cast<std::int64_t>(256 + below(16384)));
    j.sequence = tokens(static_cast<std::int64_t>(128 + below(4096)));
    j.recompute = static_cast<recompute>(below(3));
    j.runtime = r;
    return j;
}

template <class Numbers>
bool same_bits(const Numbers& a, const Numbers& b) {
    return std::bit_cast<std::array<std::byte, sizeof(Numbers)>>(a) ==
           std::bit_cast<std::array<std::byte, sizeof(Numbers)>>(b);
}

}  // namespace

TEST_CASE("every compiled profile is read back as it was written, constant by constant") {
    for (const llmres::runtime* compiled : runtimes::all) {
        CAPTURE(compiled->identity.name.view());
        CAPTURE(compiled->identity.versions.view());
        runtime_profile profile;
        profile.runtime = *compiled;
        const std::string written = to_json(profile).dump();
        CHECK(to_json(again(*compiled)).dump() == written);
        CHECK(again(*compiled).runtime == *compiled);
    }
}

TEST_CASE("a profile names the launcher that writes its command") {
    for (const llmres::runtime* compiled : runtimes::all) {
        CAPTURE(compiled->identity.name.view());
        runtime_profile profile;
        profile.runtime = *compiled;
        const json_value told = to_json(profile)["identity"]["launcher"];
        if (compiled->identity.launcher == nullptr)
            CHECK(told.is_null());
        else
            CHECK(told == std::string{compiled->identity.launcher->name});
    }
}

TEST_CASE("a profile from data plans every job as the compiled one does, bit for bit") {
    const char* asked = std::getenv("LLMRES_RANDOM_JOBS");
    const int jobs = asked != nullptr ? std::atoi(asked) : 200;
    std::vector<runtime_profile> from_data;
    for (const llmres::runtime* compiled : runtimes::all) from_data.push_back(again(*compiled));
    properties::generator random;
    int planned = 0;
    for (int i = 0; i < jobs; ++i) {
        const std::size_t which = random.bits() % runtimes::all.size();
        job j = random_job(random, *runtimes::all[which]);
        const auto& cards = gpus::all;
        const cluster c = cluster{.gpu = *cards[random.bits() % cards.size()]};
        const result<job_plan> compiled = plan(j, layout{}, c);
        j.runtime = from_data[which].runtime;
        const result<job_plan> read = plan(j, layout{}, c);
        CAPTURE(i);
        REQUIRE(bool{compiled} == bool{read});
        if (!compiled) continue;
        ++planned;
        CHECK(compiled->verdict == read->verdict);
        CHECK(same_bits(compiled->memory.terms, read->memory.terms));
        CHECK(same_bits(compiled->memory.allocated, read->memory.allocated));
        CHECK(same_bits(compiled->memory.reserved, read->memory.reserved));
        CHECK(same_bits(compiled->speed.step.terms, read->speed.step.terms));
    }
    CHECK(planned > jobs / 4);
}

TEST_CASE("a document changes some constants of another profile") {
    const runtime_profile p =
        read_runtime_profile(
            R"({"from": "vllm@0.19", "process": {"cuda_graphs": {"low": 1, "expected": 2, "high": 3}},
                "fused_all_reduce": 0, "origin": {"versions": ["0.19.1"], "gpus": ["h100-sxm"], "rows": 4, "measurements": 9}})")
            .value();
    CHECK(p.runtime == runtimes::vllm_v1_18);
    CHECK(p.runtime.process.cuda_graphs == interval<byte_count>{bytes(1), bytes(2), bytes(3)});
    CHECK(p.runtime.process.fused_all_reduce == interval<byte_count>{});
    CHECK(p.runtime.process.workspace == runtimes::vllm_v1_18.process.workspace);
    CHECK(p.origin.rows == 4);
    CHECK(p.origin.measurements == 9);
    CHECK(p.from == "vllm@0.19");
}

TEST_CASE("a job takes a profile's constants beside the knobs of its software") {
    const char* job = R"({"model": "llama-3.1-8b", "task": "serving", "cluster": {"gpu": "h100-sxm"},
        "runtime": {"from": "vllm@0.19", "cuda_graphs": 1024, "gpu_memory_utilization": 0.8, "enforce_eager": false}})";
    const plan_request asked = read_job(job).value();
    CHECK(asked.job.runtime.process.cuda_graphs == interval<byte_count>{bytes(1024)});
    CHECK(asked.job.runtime.cache.fraction == maybe<double>{0.8});
    CHECK(asked.profile.from == "vllm@0.19");
    CHECK(asked.profile.runtime.cache.fraction == maybe<double>{0.9});
    const nlohmann::ordered_json shown = to_json(asked.job.runtime, asked.job.options, &asked.profile.runtime);
    CHECK(shown.dump() == R"({"name":"vllm","versions":"0.18 and 0.19","gpu_memory_utilization":0.8})");
}

TEST_CASE("what is wrong in a profile is refused by its name") {
    CHECK(refusal_of(R"({"from": "vllm@0.19", "process": {"contxt": 1}})") == "runtime.process.contxt is 1");
    CHECK(refusal_of(R"({"from": "vllm@0.19", "proces": {}})") == "runtime.proces is {}");
    CHECK(refusal_of(R"({"from": "vllm@0.19", "cuda_graphs": -1})") == "runtime.process.cuda_graphs is -1");
    CHECK(refusal_of(R"({"from": "vllm@0.19", "cuda_graphs": 1e30})") == "runtime.process.cuda_graphs is 1e+30");
    CHECK(refusal_of(R"({"from": "vllm@0.19", "cuda_graphs": {"low": 2, "expected": 1, "high": 3}})") ==
          R"(runtime.process.cuda_graphs is {"expected":1,"high":3,"low":2})");
    CHECK(refusal_of(R"({"from": "vllm@0.19", "cuda_graphs": {"low": 2}})") ==
          R"(runtime.process.cuda_graphs is {"low":2})");
    CHECK(refusal_of(R"({"from": "vllm@0.19", "cache": {"pool": "share"}})") == R"(runtime.cache.pool is "share")");
    CHECK(refusal_of(R"({"from": "vlm"})") == "runtime is vlm");
    CHECK(refusal_of(R"({"process": {}})") == "runtime.identity.name is absent");
    CHECK(refusal_of(R"({"from": "vllm", "identity": {"name": "a name of more than 23 characters"}})")
              .starts_with("runtime.identity.name is"));
    CHECK(refusal_of(R"({"from": "vllm", "origin": {"gpu": 1}})") == "origin.gpu is 1");
    CHECK(refusal_of(R"({"from": "vllm", "origin": {"rows": -1}})") == "origin.rows is -1");
    CHECK(refusal_of("[]") != "read");
}

TEST_CASE("a constant of another type than its own is refused with what was found") {
    const auto of = [](const std::string& part, const std::string& constant) {
        return refusal_of(R"({"from": "sglang", ")" + part + "\": " + constant + "}");
    };
    CHECK(of("process", "7") == "runtime.process is 7");
    CHECK(of("launches", R"({"joined": 1})") == "runtime.launches.joined is 1");
    CHECK(of("launches", R"({"layer": "fast"})") == R"(runtime.launches.layer is "fast")");
    CHECK(of("launches", R"({"layer": -0.5})") == "runtime.launches.layer is -0.5");
    CHECK(of("launches", R"({"layer": 1e16})") == "runtime.launches.layer is 1e+16");
    CHECK(of("launches", R"({"packed": 7})") == "runtime.launches.packed is 7");
    CHECK(of("identity", R"({"name": 7})") == "runtime.identity.name is 7");
    CHECK(of("identity", R"({"since": 7})") == "runtime.identity.since is 7");
    CHECK(of("identity", R"({"since": "new"})") == R"(runtime.identity.since is "new")");
    CHECK(of("identity", R"({"knobs": {"page_size": "cache_block"}})").starts_with("runtime.identity.knobs is"));
    CHECK(of("identity", R"({"launcher": "serve"})") == R"(runtime.identity.launcher is "serve")");
    CHECK(of("loading", R"({"formats": "gguf"})") == R"(runtime.loading.formats is "gguf")");
    CHECK(of("loading", R"({"formats": ["gguf", 7]})") == "runtime.loading.formats is 7");
    CHECK(of("cache", R"({"default_fraction": 7})") == "runtime.cache.default_fraction is 7");
    CHECK(of("cache", R"({"default_fraction": "all"})") == R"(runtime.cache.default_fraction is "all")");
    CHECK(of("process", R"({"cuda_graphs": {"mean": 2}})") == "runtime.process.cuda_graphs.mean is 2");
    CHECK(of("identity", R"({"knobs": {"page_size": "pages"}})").starts_with("runtime.identity.knobs is"));
    CHECK(of("step", R"({"larger_devices": {}})") == "runtime.step.larger_devices is {}");
    CHECK(of("step", R"({"larger_devices": [{}, {}, {}, {}]})") == "runtime.step.larger_devices is [{},{},{},{}]");
    CHECK(of("step", R"({"larger_devices": [7]})") == "runtime.step.larger_devices[0] is 7");
    CHECK(of("optimizer", R"({"gradients": "fp7"})") == "runtime.optimizer.gradients is fp7");
    CHECK(of("optimizer", R"({"gradients": 7})") == "runtime.optimizer.gradients is 7");
    CHECK(refusal_of(R"({"from": 7})") == "runtime.from is 7");
    CHECK(read_runtime_profile(nlohmann::json(7)).error().value == "7");
}

TEST_CASE("versions, formats, fractions and classes of devices are taken as they are written") {
    const auto of = [](const std::string& constants) {
        return read_runtime_profile(R"({"from": "sglang", )" + constants + "}").value().runtime;
    };
    CHECK(of(R"("since": null)").identity.since == runtime_version{});
    CHECK(of(R"("since": "0.6.1")").identity.since == *read_version("0.6.1"));
    CHECK(of(R"("gradients": "fp32")").optimizer.gradients == maybe<precision>{fp32});
    CHECK_FALSE(bool{of(R"("default_fraction": null)").cache.default_fraction != nullptr});
    const auto by_ranks = of(R"("default_fraction": "sglang_by_ranks")").cache.default_fraction;
    CHECK(
        bool{by_ranks != nullptr && by_ranks != of(R"("default_fraction": "sglang_by_size")").cache.default_fraction});
    CHECK(of(R"("loading": {"formats": []})").loading.formats == format_set{});
    CHECK(of(R"("larger_devices": [{"from": 1024, "max_batched_tokens": 7}])")
              .step.larger_devices[0]
              .max_batched_tokens == tokens(7));
}

TEST_CASE("an origin of another form is refused by its field") {
    const auto of = [](const std::string& origin) {
        return refusal_of(R"({"from": "vllm", "origin": )" + origin + "}");
    };
    CHECK(of("7") == "origin is 7");
    CHECK(of(R"({"versions": "0.19"})") == R"(origin.versions is "0.19")");
    CHECK(of(R"({"gpus": [7]})") == "origin.gpus is [7]");
    CHECK(of(R"({"rows": 2000000000000})") == "origin.rows is 2000000000000");
    CHECK(of(R"({"measurements": "many"})") == R"(origin.measurements is "many")");
    CHECK(of(R"({"sources": []})") == "origin.sources is []");
    CHECK(of(R"({"sources": {"process.workspace": 3}})") == "origin.sources.process.workspace is 3");
    CHECK(of(R"({"sources": {"process.workspace": "3 logs"}})") == "read");
}

TEST_CASE("a compiled profile says on which GPUs it was measured") {
    const profile_origin origin = find_compiled_profile("vllm@0.19").value().origin;
    CHECK(origin.gpus == std::vector<std::string>{"h100-sxm5-80gb", "rtx-4090"});
    CHECK(origin.measurements > 100);
    CHECK(origin.rows == rows_behind(errors_of(runtimes::vllm_v1_18)));
    for (const runtime* r : runtimes::all) {
        const std::string name = std::string{r->identity.name.view()} + "@" + std::string{r->identity.versions.view()};
        if (const auto found = find_compiled_profile(name))
            CHECK(found->origin.gpus.empty() == (found->origin.measurements == 0));
    }
}

TEST_CASE("bounds that are equal are written as one number, others as three, and what is not known as null") {
    runtime_profile p;
    p.runtime = no_runtime;
    p.runtime.process.context = mib(500);
    p.runtime.process.workspace = {mib(1), mib(2), mib(3)};
    json_value written = to_json(p);
    CHECK(written["process"]["context"] == 500 * 1048576);
    CHECK(written["process"]["workspace"] ==
          json_value{{"low", 1048576}, {"expected", 2 * 1048576}, {"high", 3 * 1048576}});
    p.runtime.process.workspace = {mib(2), mib(2), mib(3)};
    CHECK(to_json(p)["process"]["workspace"].is_object());
    p.runtime.process.workspace = {mib(1), mib(2), mib(2)};
    CHECK(to_json(p)["process"]["workspace"].is_object());
    CHECK(written["identity"]["since"].is_null());
    p.runtime.identity.since = {0, 9, 2};
    CHECK(to_json(p)["identity"]["since"] == "0.9.2");
    // Text that is read gives the constant back, and null takes one away that was known.
    CHECK(read_runtime_profile(to_json(p).dump())->runtime.identity.since == runtime_version{0, 9, 2});
}

TEST_CASE("of several mistakes in a profile the first is named, and a profile from another has its evidence") {
    // By their names in the alphabet.
    CHECK(refusal_of(R"({"from": "vllm", "process": {"context": "much"}, "cache": {"block": -1}})") ==
          "runtime.cache.block is -1");
    CHECK(refusal_of(R"({"from": "vllm", "process": {"context": "much"}, "cache": {"block": 16}})") ==
          "runtime.process.context is \"much\"");
    CHECK(read_runtime_profile(R"({"from": "vllm"})")->origin.rows == find_compiled_profile("vllm")->origin.rows);
    CHECK(runtime_profile{}.origin.rows == 0);
}

TEST_CASE("every number of a profile at its bounds, and one beyond") {
    using nlohmann::json;
    llmres::runtime any = *find_runtime("vllm");
    int wholes = 0, reals = 0;
    for (const detail::constant_ref& part : detail::constants_in(any)) {
        if (part.type->kind != detail::constant_kind::part) continue;
        for (const detail::constant_ref& c : part.inside()) {
            const std::string where{part.field->name}, name{c.field->name};
            CAPTURE(where + "." + name);
            const auto read = [&](const json& value) {
                return read_runtime_profile(json{{"from", "vllm"}, {where, {{name, value}}}});
            };
            using kind = detail::constant_kind;
            if (c.type->kind == kind::bytes || c.type->kind == kind::tokens || c.type->kind == kind::whole) {
                ++wholes;
                CHECK(read(json(0)));
                CHECK(read(json(c.type->most)));
                CHECK(read(json(static_cast<std::uint64_t>(c.type->most))));
                if (c.type->most < INT64_MAX)
                    CHECK(read(json(c.type->most + 1)).error().code == error_code::out_of_range);
                CHECK(read(json(-1)).error().code == error_code::out_of_range);
                CHECK(read(json(static_cast<std::uint64_t>(c.type->most) + 1)).error().code ==
                      error_code::out_of_range);
                CHECK(read(json(0.5)).error().expected == "a whole number from 0 up to the field's bound");
            } else if (c.type->kind == kind::real || c.type->kind == kind::seconds) {
                ++reals;
                CHECK(read(json(0)));
                CHECK(read(json(1e15)));
                CHECK(read(json(1.1e15)).error().code == error_code::out_of_range);
                CHECK(read(json(-0.5)).error().expected == "a number from 0 to 1e15");
            } else if (c.type->kind == kind::choice) {
                CHECK(read(json("no such name")).error().code == error_code::unknown);
                CHECK(read(json(3)).error().code == error_code::malformed);
            } else if (c.type->kind == kind::words) {
                const auto most = static_cast<std::size_t>(c.type->most);
                CHECK(read(json(std::string(most, 'a'))));
                CHECK_FALSE(read(json(std::string(most + 1, 'a'))));
            }
        }
    }
    CHECK(wholes > 3);
    CHECK(reals > 1);
}

TEST_CASE("an origin is what a document says of it, whole, and a compiled profile's is what the tables say") {
    using nlohmann::json;
    CHECK(profile_origin{}.times == 0);
    const json origin{
        {"versions", {"1", "2"}}, {"gpus", {"l4"}}, {"rows", std::int64_t{1} << 40}, {"measurements", 0}, {"times", 4}};
    const result<runtime_profile> read = read_runtime_profile(json{{"from", "vllm"}, {"origin", origin}});
    REQUIRE(read);
    CHECK(read->origin.versions == std::vector<std::string>{"1", "2"});
    CHECK(read->origin.gpus == std::vector<std::string>{"l4"});
    CHECK(read->origin.rows == std::int64_t{1} << 40);
    CHECK(read->origin.times == 4);
    CHECK(read->origin.measurements == 0);
    const json more{{"from", "vllm"}, {"origin", {{"rows", (std::int64_t{1} << 40) + 1}}}};
    CHECK(read_runtime_profile(more).error().field == "origin.rows");
    const json two{{"from", "vllm"}, {"process", {{"context", "x"}, {"cuda_graphs", "y"}}}};
    CHECK(read_runtime_profile(two).error().field == "runtime.process.context");
    const runtime_profile compiled = find_compiled_profile("vllm").value();
    CHECK(compiled.origin.versions == std::vector<std::string>{std::string{compiled.runtime.identity.versions.view()}});
    CHECK(compiled.origin.times == timed_rows_of(compiled.runtime));
    CHECK(compiled.origin.times > 0);
    CHECK(read_runtime_profile(json::array({1})).error().expected == "an object: a profile");
}
