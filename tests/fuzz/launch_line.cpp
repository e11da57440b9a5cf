// SPDX-License-Identifier: MIT
// A command line that may hold anything: read, or refused by name; what is read is a job document or refused as one.
#include <cstddef>
#include <cstdint>
#include <llmres/io/json/launch/file_name.hpp>
#include <llmres/io/json/launch/line.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "job_reader/job_reader.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace llmres;
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    by_file_name(text);
    for (const std::int64_t gpus : {0, 2}) {
        const result<launch_line> line = read_launch_line(text, gpus);
        if (!line) {
            require(!line.error().expected.empty(), "a failure says what was expected");
            continue;
        }
        require(line->document.contains("model"), "what is read has a model");
        nlohmann::json document = line->document;
        document["cluster"]["gpu"] = "h100-sxm5-80gb";
        const auto job = job_reader::read(document);
        if (!job) require(!job.error().expected.empty(), "a refusal says what was expected");
    }
    return 0;
}
