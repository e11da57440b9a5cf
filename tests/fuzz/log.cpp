// SPDX-License-Identifier: MIT
// A log that may hold anything, in pieces: read, or refused by name; what is read becomes a job document or is refused.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <llmres/io/logs/job.hpp>
#include <llmres/io/logs/reader.hpp>
#include <string_view>

#include "job_reader/job_reader.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace llmres;
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    logs::reader r;
    r.feed(text.substr(0, size / 3));
    r.feed(text.substr(size / 3));
    const result<logs::engine_log> log = r.finish();
    if (!log) {
        require(!log.error().expected.empty(), "a failure says what was expected");
        return 0;
    }
    for (const logs::figure& f : log->figures) {
        require(std::isfinite(f.value), "a figure is a number");
        require(f.line >= 1 && f.line <= log->lines, "a figure stands in a line");
    }
    const auto job = job_reader::read(logs::job_document(*log));
    if (!job) require(!job.error().expected.empty(), "a refusal says what was expected");
    if (job) logs::observations_of(*log, job->job.runtime);
    return 0;
}
