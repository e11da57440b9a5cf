// SPDX-License-Identifier: MIT
#include "job_reader.hpp"

namespace job_reader {

llmres::result<llmres::plan_request> read(std::string_view text) { return llmres::read_job(text); }
llmres::result<llmres::plan_request> read(const nlohmann::json& document) { return llmres::read_job(document); }

}  // namespace job_reader
