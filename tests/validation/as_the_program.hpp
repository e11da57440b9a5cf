// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>

#include <llmres/answers/job_plan.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/units.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "../run_program.hpp"
#include "../sanitized.hpp"

/// A published measurement's job document, planned by the program as a user would have it planned.
namespace as_the_program {

/// Documents of a random sample; under the sanitizer, whose programs take a second each, the first of the same ones.
inline constexpr int sample_size = sanitized ? 40 : 200;

/// Holds that `llmres plan DOCUMENT --json` says what the library says of the document, to the byte: the same verdict
/// and memory, in all and term by term, or the same refusal.
inline void check(const std::string& id, const std::string& document, const llmres::result<llmres::job_plan>& planned) {
    CAPTURE(id);
    static const run_program::scratch folder;
    const run_program::outcome said = run_program::run({"plan", folder.file("job.json", document), "--json"});
    INFO(said.err);
    if (!planned) {
        CHECK(said.exit == 2);
        CHECK(said.err.find(planned.error().field.view()) != std::string::npos);
        return;
    }
    REQUIRE((said.exit == 0 || said.exit == 1));
    const nlohmann::json answer = said.json();
    REQUIRE(answer.is_object());
    const llmres::memory_breakdown& m = planned->memory;
    const nlohmann::json& memory = answer.at("memory");
    CHECK(answer["verdict"] == name_of(planned->verdict));
    CHECK(memory["usable"] == planned->usable.in(llmres::bytes));
    CHECK(memory["allocated"] == m.allocated.expected.in(llmres::bytes));
    // An engine that reserves a pool holds all of it: beside it stands what the job needs, and the rest is counted as
    // fragmentation.
    const bool pooled = memory.contains("needed");
    const nlohmann::json& total = pooled ? memory.at("needed") : memory;
    CHECK(total["low"] == m.total().low.in(llmres::bytes));
    CHECK(total["expected"] == m.total().expected.in(llmres::bytes));
    CHECK(total["high"] == m.total().high.in(llmres::bytes));
    if (!pooled) CHECK(memory["reserved"] == m.reserved.expected.in(llmres::bytes));
    for (std::size_t i = 0; i < m.terms.size(); ++i) {
        const auto term = static_cast<llmres::memory_term>(i);
        if (pooled && term == llmres::memory_term::fragmentation) continue;
        CAPTURE(name_of(term));
        CHECK(memory["terms"].value(std::string{name_of(term)}, std::int64_t{0}) == m[term].expected.in(llmres::bytes));
    }
}

}  // namespace as_the_program
