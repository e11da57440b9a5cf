// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdlib>
#include <llmres/runtimes/all.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "h100_runs.hpp"
#include "llama_cpp_jobs.hpp"
#include "llama_cpp_runs.hpp"
#include "serving/figures.hpp"
#include "serving/rows.hpp"
#include "torch_jobs.hpp"
#include "training/scores.hpp"

/// What each profile's figures are off by on the published measurements: what llmres/runtimes/errors.inc says, worked
/// out anew.
namespace profile_errors {

struct entry {
    const llmres::runtime* profile = nullptr;
    std::string figure;
    int rows = 0, inside = 0;
    double absolute = 0, signed_sum = 0, worst = 0;
    std::set<std::string> gpus{};

    void add(double error, bool within, const llmres::gpu& card) {
        gpus.emplace(card.id.view());
        ++rows, inside += within;
        absolute += std::fabs(error), signed_sum += error;
        if (std::fabs(error) > std::fabs(worst)) worst = error;
    }
    double mean() const { return absolute / rows; }
    double bias() const { return signed_sum / rows; }
    /// The ids of the GPUs in one text.
    std::string gpu_list() const {
        std::string list;
        for (const std::string& id : gpus) list.append(list.empty() ? "" : ", ").append(id);
        return list;
    }
};

/// In the order of runtimes::all.
inline std::vector<entry> all() {
    std::map<std::string, std::map<std::string, entry>> found;
    for (const serving::row& r : serving::rows_to_score())
        for (const serving::figure& f : serving::figures_of(r))
            if (f.measured > 0)
                found[f.label][f.what].add(f.error(), f.covered(serving::rounding_of(f)), r.cluster().gpu);
    for (const llama_cpp_runs::run& r : llama_cpp_runs::runs()) {
        auto& of_profile = found[serving::label_of(r.asked.job.runtime)];
        const auto add = [&](const char* figure, const llmres::interval<llmres::byte_count>& said, const char* name) {
            const double measured = r.mib_printed(name);
            const auto mib = [](llmres::byte_count b) {
                return static_cast<double>(b.in(llmres::bytes)) / llama_cpp_runs::one_mib;
            };
            if (measured <= 0) return;
            const bool inside = mib(said.low) <= measured + llama_cpp_runs::half_a_digit &&
                                mib(said.high) >= measured - llama_cpp_runs::half_a_digit;
            of_profile[figure].add(mib(said.expected) / measured - 1, inside, r.asked.cluster.gpu);
        };
        add("weights", r.planned[llmres::memory_term::weights], "weights");
        add("kv", r.planned[llmres::memory_term::kv_cache], "kv_cache");
        add("compute", r.peak(), "compute");
    }
    const auto add_counter = [&](const llmres::job& what, const char* figure, const llmres::gpu& card,
                                 const llmres::interval<llmres::byte_count>& said, double measured) {
        training_runs::errors one;
        one.add(said, measured);
        if (one.rows > 0) found[serving::label_of(what.runtime)][figure].add(one.bias, one.inside > 0, card);
    };
    // As a user's job is planned: with a workspace for autograd's thread, which runs under a tracker lacked.
    for (const h100_runs::run& r : h100_runs::all()) {
        const llmres::job& job = r.asked.job;
        const llmres::cluster& cluster = r.asked.cluster;
        if (!llmres::plan(job, *r.asked.layout, cluster)) continue;
        const auto planned = llmres::memory_of(job, *r.asked.layout, cluster);
        add_counter(job, "allocated", cluster.gpu, planned.allocated, r.allocated.in(llmres::gib));
        add_counter(job, "reserved", cluster.gpu, planned.reserved, r.reserved.in(llmres::gib));
    }
    for (const llama_cpp_jobs::run& r : llama_cpp_jobs::all()) {
        const llmres::memory_breakdown& planned = r.planned.memory;
        const llmres::gpu& card = r.asked.cluster.gpu;
        add_counter(r.asked.job, "weights", card, planned[llmres::memory_term::weights],
                    r.printed_mib("weights") / 1024);
        add_counter(r.asked.job, "kv", card, planned[llmres::memory_term::kv_cache], r.printed_mib("kv_cache") / 1024);
        add_counter(r.asked.job, "process", card, r.planned_process(), r.process_gib());
    }
    for (const torch_jobs::run& r : torch_jobs::all()) {
        const llmres::memory_breakdown& planned = r.planned.memory;
        const llmres::gpu& card = r.asked.cluster.gpu;
        add_counter(r.asked.job, "allocated", card, planned.allocated, r.gib_of("allocated_bytes"));
        add_counter(r.asked.job, "reserved", card, planned.reserved, r.gib_of("reserved_bytes"));
        add_counter(r.asked.job, "nvidia-smi", card, planned.total(), r.gib_of("device_bytes"));
    }
    training_runs::for_each_run([&](const training_runs::run& r) {
        const auto predicted =
            r.out_of_memory || r.unstated > 0 ? llmres::maybe<llmres::memory_breakdown>{} : training_runs::predicted(r);
        if (!predicted) return;
        add_counter(r.what, "allocated", r.on.gpu, predicted->allocated, r.allocated);
        add_counter(r.what, "reserved", r.on.gpu, predicted->reserved, r.reserved);
        add_counter(r.what, "nvidia-smi", r.on.gpu, predicted->total(), r.smi);
    });
    std::vector<entry> ordered;
    for (const llmres::runtime* profile : llmres::runtimes::all)
        for (auto& [figure, e] : found[serving::label_of(*profile)]) {
            e.profile = profile, e.figure = figure;
            ordered.push_back(e);
        }
    return ordered;
}

}  // namespace profile_errors
