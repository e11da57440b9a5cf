// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/answers/job_plan.hpp>
#include <llmres/hardware/device.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The prediction to test: what `llmres plan --json` wrote, or what the library itself plans here for the device.
namespace llmres::probe {

struct plan_buffer {
    std::string name;
    std::string term;
    byte_count size{};       ///< of one
    std::int64_t count = 1;  ///< so many of them, each allocated on its own
    bool scales_with_batch = false;
    bool scales_with_context = false;
};

struct plan_file {
    std::string text;       ///< as read
    std::string hash;       ///< FNV-1a of the text, so that a report says which plan it tested
    std::string runtime;    ///< engine name; empty if not said
    std::string allocator;  ///< empty if not said
    std::string gpu;        ///< the row of the tables that it was made for; empty if not said
    std::string verdict;    ///< fits, tight or does_not_fit; empty if not said
    std::int64_t gpus = 1;
    byte_count usable{};     ///< by the runtime
    byte_count available{};  ///< on the device; as much as `usable` if not said
    byte_count low{};
    byte_count expected{};
    byte_count high{};
    reading<interval<byte_count>>
        process_context{};  ///< the line of the profile; of `runtime`, the rest is held as blocks
    std::vector<std::pair<std::string, byte_count>> terms;
    std::vector<plan_buffer> buffers;   ///< in the order of allocation
    std::optional<std::int64_t> batch;  ///< sequences in flight, or the micro-batch of training
    std::optional<std::int64_t> context;
    std::optional<std::int64_t> max_batch;  ///< what the planner says is the largest that fits
    std::optional<std::int64_t> max_context;

    byte_count buffer_total() const;
    byte_count buffer_total(std::string_view term) const;
    std::optional<byte_count> predicted(std::string_view term) const;
    /// Tensors, and what the allocator holds beside them.
    byte_count reserved() const { return buffer_total() + predicted("fragmentation").value_or(byte_count{}); }
};

/// What the plan counts beside its buffers, as a block for each term that stands in for it: of `runtime` what the
/// process that tests has not taken itself (`own`: its context and libraries); no `fragmentation` where an allocator
/// makes that as it goes. With them, a plan that is held is held whole.
std::vector<plan_buffer> stand_ins(const plan_file& plan, byte_count own, bool fragments);

/// Refuses by name what is missing, malformed, unknown or contradictory.
result<plan_file> parse_plan(std::string_view written);

/// The plan for another batch or context: buffers that scale grow in proportion, rounded up; the others stay.
enum class plan_axis : std::uint8_t { batch, context };
result<plan_file> scaled(const plan_file& plan, plan_axis axis, std::int64_t to);

// ---- plans made here

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
/// The job of a document on one such device, whatever cluster it names.
result<plan_request> request_for(const std::string& document, const device& live);

/// The plan of a job, in its layout or in the best.
result<plan_file> planned(const result<plan_request>& request);

/// The plan of a preset on one such device.
result<plan_file> plan_job(const job_request& request, const device& live);

/// The plan of a job document (what `llmres plan` reads), on the cluster it names.
result<plan_file> plan_document(const std::string& document);

/// The plan for the largest batch of which it expects no more than so many percent of what is usable, on one such
/// device.
result<plan_file> plan_filling(const std::string& document, const device& live, double percent);

/// Makes a plan again for another batch or context, from the job that it carries.
class replanner {
public:
    /// Where a plan carries no job, or where planning that again does not give the plan's own buffers (a model that was
    /// described has no name to plan it by), `missing`, `unknown` or `inconsistent`: scaled() then has to do.
    static result<replanner> from(const plan_file& plan);
    /// Its memory and buffers, without text and limits.
    result<plan_file> at(plan_axis axis, std::int64_t to) const;

private:
    explicit replanner(nlohmann::json document) : document_(std::move(document)) {}
    nlohmann::json document_;
};

}  // namespace llmres::probe
