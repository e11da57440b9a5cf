// SPDX-License-Identifier: MIT
// A job as JSON from a stranger: read, or refused by name.
#include <cstddef>
#include <cstdint>
#include <string_view>

#if __has_include(<llmres/io/job_json.hpp>)
#include <llmres/io/job_json.hpp>

#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // Models are looked up in a folder that is not there: a job must not lead the fuzzer to files.
    const auto job = llmres::read_job(std::string_view{reinterpret_cast<const char*>(data), size}, "/nowhere");
    if (!job)
        require(job.error().code != llmres::error_code::none && !job.error().expected.empty(),
                "a failure says what was expected");
    return 0;
}
#else
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }
#endif
