// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/job_json.hpp>
#include <nlohmann/json.hpp>
#include <string_view>

/// read_job(), compiled once for the targets whose input becomes a job: it is most of what each of them would compile.
namespace job_reader {

llmres::result<llmres::plan_request> read(std::string_view text);
llmres::result<llmres::plan_request> read(const nlohmann::json& document);

}  // namespace job_reader
