// SPDX-License-Identifier: MIT
// llmres check, calibrate: what engines printed beside what is planned, and a profile from it.
#include "commands.hpp"

#include <fmt/format.h>
#include <filesystem>
#include <fstream>
#include <llmres/io/files.hpp>
#include <llmres/io/json/breakdown_json.hpp>
#include <llmres/io/logs/check.hpp>
#include <llmres/io/runtime_json.hpp>
#include <llmres/plan.hpp>
#include <llmres/values/to_string.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace program {
namespace {

using llmres::logs::logged_job;

/// The log in a file with the job that it names, over which goes what the caller says. `document`: that job.
logged_job job_of(const std::string& path, const plan_options& said, const std::filesystem::path& folder,
                  nlohmann::json& document) {
    logged_job j;
    j.source = path;
    j.log = accept(llmres::load_engine_log(path));
    document = llmres::logs::joined_document(llmres::logs::job_document(j.log), merged(said));
    if (!document.contains("model"))
        throw refusal{llmres::refused(llmres::error_code::missing, "model", "absent",
                                      "a model of `llmres models`, or a config.json: the log does not name it")};
    if (!document.contains("cluster"))
        throw refusal{llmres::refused(llmres::error_code::missing, "cluster.gpu", "absent",
                                      "--gpu: the log does not name the GPU")};
    j.asked = accept(llmres::read_job(document, folder));
    j.layout = j.asked.layout ? *j.asked.layout : accept(llmres::plan(j.asked.job, j.asked.cluster)).layout;
    return j;
}

std::filesystem::path folder_of(const std::string& job) {
    return job.ends_with(".json") ? std::filesystem::path{job}.parent_path() : std::filesystem::path{};
}

/// 14.99 GiB, or 258.50 MiB below one GiB: the digits that engines print.
std::string size_text(llmres::byte_count size) {
    const double gibibytes = static_cast<double>(size.in(llmres::bytes)) / 1073741824.0;
    return gibibytes < 1 && gibibytes > -1 ? fmt::format("{:.2f} MiB", gibibytes * 1024)
                                           : fmt::format("{:.2f} GiB", gibibytes);
}

nlohmann::ordered_json to_json(const llmres::logs::check_result& answer, const logged_job& j) {
    nlohmann::ordered_json figures = nlohmann::ordered_json::array();
    for (const auto& f : answer.figures)
        figures.push_back({{"figure", name_of(f.printed.seen.what)},
                           {"line", f.printed.line},
                           {"printed", f.printed.seen.size.in(llmres::bytes)},
                           {"predicted", to_json(f.predicted)},
                           {"error", f.error()},
                           {"inside", f.inside},
                           {"contradicted_by_line", f.printed.contradicted}});
    nlohmann::ordered_json written{{"engine", j.log.engine},
                                   {"version", j.log.text_of(llmres::logs::quantity::version)},
                                   {"profile",
                                    {{"name", j.asked.job.runtime.identity.name.view()},
                                     {"versions", j.asked.job.runtime.identity.versions.view()},
                                     {"origin", llmres::to_json(j.asked.profile.origin)}}},
                                   {"inside", answer.inside()},
                                   {"figures", figures}};
    if (answer.ran_out != 0)
        written["out_of_memory"] = {{"line", answer.ran_out}, {"planned", name_of(answer.planned)}};
    return written;
}

void print_check(const llmres::logs::check_result& answer, const logged_job& j) {
    fmt::print("{} {}, held against the profile of {} {}\n\n", j.log.engine,
               plain(j.log.text_of(llmres::logs::quantity::version)), j.asked.job.runtime.identity.name.view(),
               j.asked.job.runtime.identity.versions.view());
    fmt::print("{:<16} {:>6} {:>12} {:>12} {:>27} {:>9}\n", "figure", "line", "printed", "predicted", "bounds", "off");
    const llmres::logs::checked_figure* worst = nullptr;
    for (const auto& f : answer.figures) {
        const std::string bounds = f.predicted.low == f.predicted.high
                                       ? "exact"
                                       : size_text(f.predicted.low) + " to " + size_text(f.predicted.high);
        fmt::print("{:<16} {:>6} {:>12} {:>12} {:>27} {:>+8.1f}%  {}\n", name_of(f.printed.seen.what), f.printed.line,
                   size_text(f.printed.seen.size), size_text(f.predicted.expected), bounds, 100 * f.error(),
                   f.inside ? "inside" : "OUTSIDE");
        if (f.printed.contradicted != 0) fmt::print("{:<16} {:>6} says another size\n", "", f.printed.contradicted);
        const auto size_of_error = [](const auto& checked) {
            return checked.error() < 0 ? -checked.error() : checked.error();
        };
        if (!f.inside && (worst == nullptr || size_of_error(f) > size_of_error(*worst))) worst = &f;
    }
    if (answer.ran_out != 0)
        fmt::print("{:<16} {:>6} ran out of memory; planned: {}  {}\n", "outcome", answer.ran_out,
                   name_of(answer.planned), answer.planned == llmres::verdict::fits ? "OUTSIDE" : "inside");
    if (worst != nullptr)
        fmt::print("\n{} drifts most: {} of {} printed\n", name_of(worst->printed.seen.what),
                   size_text(worst->predicted.expected), size_text(worst->printed.seen.size));
}

nlohmann::ordered_json to_json(const llmres::logs::calibration::halves& h) {
    return {{"figures", h.figures},
            {"before", {{"bytes", h.before_bytes}, {"part", h.before_part}}},
            {"after", {{"bytes", h.after_bytes}, {"part", h.after_part}}}};
}

/// The figures of a log under the names of tests/validation/data, in bytes.
nlohmann::ordered_json measured_in(const logged_job& j) {
    using llmres::observed_figure;
    const bool ggml = llmres::detail::adds_up_over_gpus(j.asked.job.runtime);
    nlohmann::ordered_json measured = nlohmann::ordered_json::object();
    for (const auto& [what, name] : {std::pair{observed_figure::weights, ggml ? "weights_of_all" : "weights"},
                                     {observed_figure::kv_cache, "kv"},
                                     {observed_figure::pool, "pool"},
                                     {observed_figure::activation_peak, "activation"},
                                     {observed_figure::beside_tensors, "beside"},
                                     {observed_figure::compute_buffer, "compute"}})
        for (const auto& o : llmres::logs::observations_of(j.log, j.asked.job.runtime))
            if (o.seen.what == what) measured[name] = o.seen.size.in(llmres::bytes);
    if (const auto* tokens = j.log.smallest(llmres::logs::quantity::pool_tokens))
        measured["pool_tokens"] = static_cast<std::int64_t>(tokens->value);
    return measured;
}

/// A line of tests/validation/data for a log. The path of the log is not part of it.
nlohmann::ordered_json row_of(const logged_job& j, const nlohmann::json& document, std::size_t number) {
    const std::string version = j.log.text_of(llmres::logs::quantity::version);
    const std::string id = fmt::format("{} {} {} {}", j.log.engine, version.empty() ? "unknown" : version,
                                       j.asked.cluster.gpu.id.view(), number);
    return {{"id", id},
            {"series", "contributed"},
            {"document", document},
            {"measured", measured_in(j)},
            {"outcome", j.log.ran_out() ? "out_of_memory" : "ran"}};
}

/// Writes a file, or refuses by the option's name.
void write_file(const char* option, const std::string& path, const std::string& content) {
    std::ofstream file{path};
    file << content;
    if (!file.flush())
        throw refusal{llmres::refused(llmres::error_code::io, option, path, "a file that can be written")};
}

void print_calibration(const llmres::logs::calibration& found, const std::string& output) {
    const llmres::observed_profile& seen = found.observed;
    for (std::size_t i = 0; i < llmres::names_of<llmres::learnt_constant>.size(); ++i) {
        const auto constant = static_cast<llmres::learnt_constant>(i);
        const std::string_view name = llmres::name_of(static_cast<llmres::learnt_constant>(i));
        if (seen[constant].count == 0) {
            fmt::print("{:<24} inherited\n", name);
            continue;
        }
        const auto show = [&](const llmres::runtime& r) {
            const auto v = llmres::detail::constant_of(r, constant);
            if (v.high < 100) return fmt::format("{:.3f} ({:.3f} to {:.3f})", v.expected, v.low, v.high);
            const auto text = [](double size) { return size_text(llmres::bytes(static_cast<std::int64_t>(size))); };
            return fmt::format("{} ({} to {})", text(v.expected), text(v.low), text(v.high));
        };
        fmt::print("{:<24} {}, was {}: {} {}\n", name, show(found.profile.runtime), show(seen.prior),
                   seen[constant].count, seen[constant].count == 1 ? "figure" : "figures");
    }
    if (const auto& h = found.other_half; h.figures > 0)
        fmt::print("each half predicts the other's {} figures to {} ({:.1f} %), the profile before to {} ({:.1f} %)\n",
                   h.figures, size_text(llmres::bytes(static_cast<std::int64_t>(h.after_bytes))), 100 * h.after_part,
                   size_text(llmres::bytes(static_cast<std::int64_t>(h.before_bytes))), 100 * h.before_part);
    if (!output.empty()) fmt::print("written to {}: llmres plan ... --runtime {}\n", plain(output), plain(output));
}

}  // namespace

int run_check(const check_options& o) {
    nlohmann::json document;
    const logged_job j = job_of(o.log, o.job, folder_of(o.job.source), document);
    const llmres::logs::check_result answer =
        accept(llmres::logs::check(j.log, j.asked.job, j.layout, j.asked.cluster));
    if (o.job.json)
        print_answer("check", to_json(answer, j));
    else
        print_check(answer, j);
    return answer.inside() ? fits : does_not_fit;
}

int run_calibrate(const calibrate_options& o) {
    std::vector<logged_job> jobs;
    std::string rows;
    for (const std::string& path : o.logs) {
        // What one log does not name may stand beside it.
        plan_options said = o.job;
        std::error_code ignored;
        if (std::filesystem::exists(path + ".json", ignored)) said.source = path + ".json";
        nlohmann::json asked;
        jobs.push_back(job_of(path, said, folder_of(said.source), asked));
        rows += row_of(jobs.back(), asked, jobs.size()).dump() + '\n';
    }
    const llmres::logs::calibration found = accept(llmres::logs::calibrate(jobs));
    const nlohmann::ordered_json document = llmres::to_json(found.profile);
    if (!o.output.empty()) write_file("output", o.output, document.dump(2) + '\n');
    if (!o.rows.empty()) write_file("rows", o.rows, rows);
    if (o.job.json)
        print_answer("calibration", {{"profile", document}, {"other_half", to_json(found.other_half)}});
    else
        print_calibration(found, o.output);
    return fits;
}

}  // namespace program
