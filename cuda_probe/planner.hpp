// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/answers/job_plan.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/io/job_json.hpp>
#include <string>
#include <utility>

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

/// The job document of that request.
std::string document_of(const job_request& request);

/// The job of a document, on the cluster that it names, or on one such device where it names none.
result<plan_request> request_of(const std::string& document, const device& live);

/// Its plan, in its layout or in the best.
result<job_plan> made_for(const plan_request& request);

/// The plan of a preset on one such device.
result<plan_file> plan_job(const job_request& request, const device& live);

/// The plan of a job document (what `llmres plan` reads), on the cluster it names.
result<plan_file> plan_document(const std::string& document);

/// The same on one such device, whatever cluster the document names. `document` is one JSON object.
result<plan_file> plan_document(const std::string& document, const device& live);

/// The same for the largest batch of which the plan expects no more than so many percent of what is usable.
result<plan_file> plan_filling(const std::string& document, const device& live, double percent);

/// Makes a plan again for another batch or context, from the job that it carries.
class replanner {
public:
    /// Where a plan carries no job, or where planning that again does not give the plan's own buffers, `missing` or
    /// `inconsistent`: scaled() then has to do.
    static result<replanner> from(const plan_file& plan);
    /// Its memory and buffers, without text and limits.
    result<plan_file> at(plan_axis axis, std::int64_t to) const;

private:
    explicit replanner(std::string document) : document_{std::move(document)} {}
    std::string document_;
};

}  // namespace llmres::probe
