// SPDX-License-Identifier: MIT
// What SGLang itself makes of its server arguments on cards that are not there: tests/validation/sglang/README.md.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <llmres/answers/capacity.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/plan.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace llmres;

namespace {

const std::string folder = LLMRES_SOURCE_DIR "/tests/validation/data";

/// What a document asks for; models are read once.
plan_request request_of(const nlohmann::json& document) {
    static std::map<std::string, result<model_source>, std::less<>> models;
    static const job_sources sources{.model = [](std::string_view name) -> result<model_source> {
        auto found = models.find(name);
        if (found == models.end()) found = models.emplace(name, find_model_source(name, folder)).first;
        return found->second;
    }};
    return read_job(document, sources).value();
}

/// Lines of a file of rows.
template <class Each>
void for_each_row(const char* file, const Each& each) {
    std::ifstream lines{folder + "/" + file};
    for (std::string line; std::getline(lines, line);) each(nlohmann::json::parse(line));
}

std::vector<std::int64_t> listed(const captured_sizes& sizes) {
    std::vector<std::int64_t> list;
    sizes.for_each([&](std::int64_t size) { list.push_back(size); });
    CHECK(sizes.count() == static_cast<std::int64_t>(list.size()));
    return list;
}

}  // namespace

TEST_CASE("static fraction, tokens of a step and graphs' sizes are those that SGLang resolves") {
    std::map<std::pair<std::string, std::int64_t>, std::vector<std::int64_t>> lists;
    int rows = 0;
    for_each_row("sglang_arguments.jsonl", [&](const nlohmann::json& row) {
        const std::string version = row.at("version");
        if (row.contains("sizes")) {
            lists[{version, row["list"]}] = row["sizes"].get<std::vector<std::int64_t>>();
            return;
        }
        CAPTURE(version);
        CAPTURE(row["model"].get<std::string>());
        CAPTURE(row["gpu"].get<std::string>());
        CAPTURE(row["arguments"].dump());
        const plan_request asked = request_of(row["document"]);
        const layout l = asked.layout.value_or(layout{});
        const start_choices chosen = choices_at_start(asked.job, asked.cluster.gpu, l).value;
        CHECK(*chosen.fraction == doctest::Approx(row["fraction"].get<double>()).epsilon(1e-12));
        const token_count step = on_device(asked.job, asked.cluster.gpu, l).step.max_batched_tokens;
        CHECK(step.in(tokens) / (row["arguments"].value("enable_dp_attention", false) ? l.data : 1) == row["chunk"]);
        CHECK(listed(chosen.decode) == lists.at({version, row["decode"]}));
        CHECK(listed(chosen.prefill) == lists.at({version, row["prefill"]}));
        ++rows;
    });
    CHECK(rows >= 2000);
}

TEST_CASE("a token takes of SGLang's pools what its configurators count") {
    int rows = 0;
    for_each_row("sglang_pools.jsonl", [&](const nlohmann::json& row) {
        CAPTURE(row["model"].get<std::string>());
        CAPTURE(row["gpu"].get<std::string>());
        CAPTURE(row["arguments"].dump());
        const plan_request asked = request_of(row["document"]);
        const layout l = asked.layout.value_or(layout{});
        const double each = row["bytes_per_token"].get<double>();
        const byte_count cached = memory_of(asked.job, l, asked.cluster)[memory_term::kv_cache].expected;
        CHECK(static_cast<double>(cached.in(bytes)) ==
              doctest::Approx(each * static_cast<double>(asked.job.context.in(tokens))).epsilon(1e-4));
        const pool_size pool = cache_pool_of(asked.job, l, asked.cluster).value();
        CHECK(pool.memory.expected > gib(10));
        const double room = static_cast<double>(pool.memory.expected.in(bytes)) / each;
        const auto planned = static_cast<double>(pool.token_room.in(tokens));
        // States of recurrent layers have a pool of their own there, which the plan counts into this one.
        if (has_recurrence(asked.job.model))
            CHECK(planned < room);
        else
            CHECK(planned == doctest::Approx(room).epsilon(1e-4));
        ++rows;
    });
    CHECK(rows >= 40);
}
