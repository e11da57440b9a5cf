// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/hardware/gpu.hpp>
#include <string>

#include "plan_file.hpp"

/// Plans made here, by the library itself, for the device that is to be tested.
namespace llmres::probe {

/// The fields of a job that the probe's own flags can say; empty or 0 leaves a field to the planner.
struct job_request {
    std::string model;  ///< a preset's name
    std::string task;
    std::string runtime;
    std::int64_t batch = 0;    ///< of training the micro-batch
    std::int64_t context = 0;  ///< of training the sequence
};

/// The plan of a preset on one such device.
result<plan_file> plan_job(const job_request& request, const device& live);

/// What that plan's buffers add up to, at a fraction of the cost of the plan as a document.
result<byte_count> buffers_of_job(const job_request& request, const device& live);

/// The plan of a job document (what `llmres plan` reads), on the cluster it names.
result<plan_file> plan_document(const std::string& document);

/// The same on one such device, whatever cluster the document names. `document` is one JSON object.
result<plan_file> plan_document(const std::string& document, const device& live);

/// A plan made again for another batch or context, from the job it carries. Where it carries none, or where planning it
/// again for its own numbers does not give its own buffers, `missing` or `inconsistent`: scaled() then has to do.
result<plan_file> replanned(const plan_file& plan, plan_axis axis, std::int64_t to);

}  // namespace llmres::probe
