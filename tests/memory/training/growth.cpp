// SPDX-License-Identifier: MIT
// Jobs that tests/test_invariants.cpp found: more tokens took less.
#include <llmres/io/job_json.hpp>
#include <llmres/plan.hpp>

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

using namespace llmres;

namespace {

using document = nlohmann::json;

memory_breakdown memory_of(const document& d) {
    const result<plan_request> read = read_job(d.dump());
    REQUIRE(read);
    const result<job_plan> made = plan(read->job, *read->layout, read->cluster);
    REQUIRE(made);
    return made->memory;
}

document of_twice_the_tokens(document d) {
    d["sequence"] = d["sequence"].get<int>() * 2;
    return d;
}

}  // namespace

TEST_CASE("of several kinds of layers that leave the GPU, none is taken off that is not there") {
    const document d = document::parse(R"({"model": "nemotron-3-nano-30b-a3b", "runtime": {"name": "torchtitan"},
        "task": "pretraining", "attention": "eager", "dropout": true, "global_batch": 8, "micro_batch": 8,
        "sequence": 128, "layout": {"zero": 2}, "cluster": {"gpu": "rtx-3080-12gb"},
        "offload": {"activations": "host"}})");
    CHECK(memory_of(d).total().expected < memory_of(of_twice_the_tokens(d)).total().expected);
    // Two layers are on the GPU, and not those before them: 35.3 GB is what the widest one takes.
    CHECK(memory_of(d)[memory_term::activations].expected < mb(35'400));
}
