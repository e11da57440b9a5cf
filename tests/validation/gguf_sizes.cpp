// SPDX-License-Identifier: MIT
// The tensors of published GGUF files, to the byte: how that is known is said in gguf_sizes.hpp.
#include "gguf_sizes.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <string_view>

using gguf_sizes::comparison;
using gguf_sizes::verdict;

namespace {

void as_predicted(const std::vector<comparison>& rows) {
    for (const comparison& row : rows) {
        CHECK_MESSAGE(row.refusal.empty(), row.repository, " ", row.quantisation, ": ", row.refusal);
        const bool within = row.is != verdict::near && row.is != verdict::off;
        CHECK_MESSAGE(within, row.repository, " ", row.quantisation, " is off by ", row.rest);
    }
    const auto all = static_cast<std::int64_t>(rows.size());
    CHECK(count(rows, verdict::equal) * 100 >= all * 88);
    CHECK(count(rows, verdict::alone) <= 5);
    for (const auto& [repository, files] : by_repository(rows)) {
        // A vocabulary's entry takes 15 to 90 bytes, whatever else the header says.
        CAPTURE(repository);
        CHECK(common_header(files) > 15 * files[0]->vocabulary);
        CHECK(common_header(files) < 90 * files[0]->vocabulary);
    }
    // A file alone: its header against those of the same vocabulary, whose metadata (a chat template) differ by
    // kilobytes.
    for (const auto& [repository, files] : by_repository(rows)) {
        if (files.size() > 1) continue;
        for (const auto& [other, others] : by_repository(rows)) {
            if (others.size() == 1 || std::abs(others[0]->vocabulary - files[0]->vocabulary) > 256) continue;
            CAPTURE(repository);
            CAPTURE(other);
            CHECK(std::abs(common_header(others) - files[0]->header()) < 64 * 1024);
        }
    }
}

}  // namespace

TEST_CASE("the tensors of a published GGUF file are predicted to the byte from its model's preset") {
    const auto rows = gguf_sizes::compare();
    CHECK(rows.size() == 250);
    as_predicted(rows);
}

TEST_CASE("... and from its model's config.json alone") {
    const std::string shared = LLMRES_SHARED_DATA;
    if (shared.empty()) return;
    const auto rows = gguf_sizes::compare(shared + "/models/");
    CHECK(rows.size() > 230);
    as_predicted(rows);
    for (const comparison& by_preset : gguf_sizes::compare())
        for (const comparison& row : rows)
            if (row.repository == by_preset.repository && row.quantisation == by_preset.quantisation)
                CHECK_MESSAGE(row.tensors == by_preset.tensors, row.repository, " ", row.quantisation);
}

TEST_CASE("every collected file is in the project's table") {
    const std::string shared = LLMRES_SHARED_DATA;
    if (shared.empty()) return;
    const auto rows = gguf_sizes::compare();
    for (csv::row& collected : csv::read(shared + "/models/gguf_sizes.csv")) {
        bool found = false;
        for (const comparison& row : rows)
            found = found || (row.repository == collected["hf_repo"] && row.quantisation == collected["quant"] &&
                              std::to_string(row.file) == collected["file_bytes"]);
        CHECK_MESSAGE(found, collected["hf_repo"], " ", collected["quant"]);
    }
}
