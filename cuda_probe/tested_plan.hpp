// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/answers/buffers.hpp>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/job_plan.hpp>
#include <llmres/hardware/device.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/field_writer.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The prediction to test: what the library plans of a job, which a document, a plan's file or flags name.
namespace llmres::probe {

struct tested_plan {
    plan_request request{};  ///< in the layout that was given, or that the planner chose
    llmres::verdict verdict = llmres::verdict::does_not_fit;
    byte_count usable{};     ///< by the runtime
    byte_count available{};  ///< on the device
    memory_breakdown memory{};
    std::vector<buffer> buffers{};  ///< in the order of allocation
    job_limits limits{};
    /// The line of the profile; of `runtime`, the rest is held as blocks.
    reading<interval<byte_count>> process_context{};

    byte_count buffer_total(std::optional<memory_term> of = {}) const;
    /// Tensors, and what the allocator holds beside them.
    byte_count reserved() const { return buffer_total() + memory[memory_term::fragmentation].expected; }
    /// What the planner says is the largest "batch" or "context" that fits.
    std::optional<std::int64_t> largest(std::string_view axis) const;
};

/// What the plan counts beside its buffers, as a block for each term that stands in for it: of `runtime` what the
/// process that tests has not taken itself (`own`: its context and libraries). With them, a plan that is held is held
/// whole.
std::vector<buffer> stand_ins(const tested_plan& plan, byte_count own);

/// The plan of a job, in its layout or in the best.
result<tested_plan> plan_of(const plan_request& request);
/// What the program's `plan` writes and request_of() reads back, of the job of a document: with what the engine takes
/// of a live device by default, which follows more of the device than a document says.
result<json_value> document_of_plan(const std::string& document, plan_request request);
/// Its memory and buffers alone: a search asks for no verdict and no limits.
result<tested_plan> memory_of_plan(const result<plan_request>& request);

/// The job for another "batch" (of training micro-batch) or "context" (of training sequence).
plan_request changed(plan_request request, std::string_view axis, std::int64_t to);
/// The job at the largest batch of which it is expected to take no more than so many percent of what is usable.
result<plan_request> filled_to(const plan_request& request, double percent);

// ---- where jobs come from

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

/// Whether the document, a job's or a plan's, names its cluster: it then needs no device. Refuses what is neither.
result<bool> names_cluster(const std::string& document);
/// The job of a document, on the cluster that it names, or on one such device where it names none. Of a plan's file, as
/// `llmres plan --json` writes it, its document is planned again: `inconsistent` where that gives other memory or
/// buffers, as of a plan of another version.
result<plan_request> request_of(const std::string& document, const device& live);
/// The job of a document on one such device, whatever cluster it names.
result<plan_request> request_for(const std::string& document, const device& live);

}  // namespace llmres::probe
