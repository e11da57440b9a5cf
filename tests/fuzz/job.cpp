// SPDX-License-Identifier: MIT
// A job as JSON that may hold anything: read, or refused by name. By itself read_job() opens no file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "job_reader/job_reader.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto job = job_reader::read(std::string_view{reinterpret_cast<const char*>(data), size});
    if (!job)
        require(job.error().code != llmres::error_code::none && !job.error().expected.empty(),
                "a failure says what was expected");
    return 0;
}
