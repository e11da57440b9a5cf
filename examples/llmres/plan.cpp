// SPDX-License-Identifier: MIT
// llmres plan: verdict, layout, memory of the busiest GPU, time, what limits it, what would help.
#include "command_line.hpp"
#include "commands.hpp"
#include "cost.hpp"
#include "report.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <llmres/io/files.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/io/svg/plan.hpp>
#include <string>
#include <vector>

namespace program {
namespace {

/// Tells what a person should know beside the answer: of the model's name, and where a GPU's name has several parts.
void print_warnings(const nlohmann::json& document, const llmres::plan_request& request) {
    if (!request.warning.empty()) tell(plain(request.warning));
    say_which_gpu(document);
}

/// What a plan that is tight depends on.
const char* condition_of(const llmres::job_plan& p) {
    for (std::int32_t i = 0; i < p.reason_count; ++i)
        if (p.reasons[static_cast<std::size_t>(i)].code == llmres::reason_code::host_memory_unknown)
            return "a node has the main memory that it takes (--host_memory says how much there is)";
    if (p.memory.total().expected > p.usable) return "the estimates turn out below what is expected";
    return "the estimates turn out below their upper bounds";
}

/// The pictures that are asked for, as one. Layers of one GPU are no picture.
std::string picture_of(const plan_options& o, const llmres::job_answer& answer) {
    for (const std::string& name : o.pictures)
        if (std::find(llmres::picture_names.begin(), llmres::picture_names.end(), name) == llmres::picture_names.end())
            throw refusal{llmres::refused(llmres::error_code::unknown, "pictures", name,
                                          fmt::format("of {}", fmt::join(llmres::picture_names, ", ")))};
    const llmres::plan_request& asked = answer.request;
    auto pictures = answer.planned.phases ? llmres::pictures_of(*answer.planned.phases, asked.job, asked.cluster)
                                          : llmres::pictures_of(answer.planned.plan, asked.job, asked.cluster);
    std::erase_if(pictures, [&](const llmres::named_picture& p) {
        return !o.pictures.empty() && std::find(o.pictures.begin(), o.pictures.end(), p.name) == o.pictures.end();
    });
    if (pictures.empty())
        throw refusal{llmres::refused(
            llmres::error_code::inconsistent, "pictures", o.pictures[0],
            "memory, phases or roofline; layers where several GPUs share them, workload of several phases")};
    return llmres::stacked_svg(pictures);
}

/// Whether a plan is asked for on whichever GPU holds the job: none is named, or `any`. Who reads JSON has to say so,
/// since a list is no plan.
bool asks_which_gpu(const nlohmann::json& document, const plan_options& o) {
    if (!o.svg.empty()) return false;
    const auto cluster = document.find("cluster");
    if (cluster == document.end()) return !o.json;
    if (!cluster->is_object()) return false;
    for (const char* described : {"device", "gpu_memory", "gpu_bandwidth", "gpu_flops"})
        if (cluster->contains(described)) return false;
    return cluster->contains("gpu") ? (*cluster)["gpu"] == "any" : !o.json;
}

}  // namespace

int list_gpus(const plan_options& o) {
    constexpr std::int64_t listed = 12;
    compare_options all{.job = o, .models = {o.source}, .sort = "usable", .top = listed, .fits = true};
    all.job.fields["gpu"] = "any";
    return run_compare(all);
}

llmres::job_answer answered(const plan_options& o) {
    const nlohmann::json document = merged(o);
    const llmres::job_answer answer =
        accept(llmres::answer_job(document, llmres::sources_in(folder_of(document, o.source))));
    print_warnings(document, answer.request);
    return answer;
}

/// A document as another folder may read it: the files that it names, by their whole paths.
void name_files_from_anywhere(nlohmann::json& document, const std::filesystem::path& here) {
    constexpr std::string_view profile = "runtime";
    const auto whole = [&](nlohmann::json& object, std::string_view key) {
        const auto named = object.find(key);
        if (named == object.end() || !named->is_string()) return;
        const auto& name = named->get_ref<const std::string&>();
        if (key == profile && !name.ends_with(".json")) return;  // a name, whatever lies beside the document
        const std::filesystem::path file = here / name;
        if (std::error_code none; std::filesystem::exists(file, none))
            *named = std::filesystem::absolute(file).string();
    };
    whole(document, "model");
    whole(document, profile);
    if (const auto cluster = document.find("cluster"); cluster != document.end() && cluster->is_object())
        whole(*cluster, "device");
}

int run_plan(const plan_options& o) {
    if (names_several_gpus(o)) return run_mixed(o);
    const nlohmann::json document = merged(o);
    if (asks_which_gpu(document, o)) return list_gpus(o);
    const std::filesystem::path here = folder_of(document, o.source);
    const llmres::job_sources sources = llmres::remembered(llmres::sources_in(here));
    llmres::job_answer answer = accept(llmres::answer_job(document, sources));
    llmres::plan_request& request = answer.request;
    if (!request.device.empty()) request.device = std::filesystem::absolute(here / request.device).string();
    name_files_from_anywhere(answer.document, here);
    print_warnings(document, request);
    if (!o.pictures.empty() && o.svg.empty())
        throw refusal{
            llmres::refused(llmres::error_code::missing, "svg", "absent", "a file, which --pictures asks for")};
    if (!o.svg.empty()) write_picture(o.svg, picture_of(o, answer));

    const std::vector<llmres::document_remedy> help = llmres::remedies_of(document, sources, answer);
    if (o.json) {
        print_json(llmres::to_json(answer, help));
    } else {
        const llmres::requested_plan& planned = answer.planned;
        llmres::job_plan whole = planned.plan;
        whole.verdict = planned.verdict();
        llmres::plan_request alone = request;  // on what an engine leaves of the GPUs
        alone.cluster = llmres::detail::cluster_of(planned, request);
        print_plan(whole, alone);
        print_run_and_cost(answer.priced, request);
        print_profile(request.profile);
        print_assumed(answer.assumed);
        print_help(o, help);
        print_limits(planned.plan, alone);
        if (planned.split) print_prefill(*planned.split, request.prefill->cluster);
        if (planned.phases) print_phases(*planned.phases, request);
        const std::string launch = launch_command(answer);
        if (!launch.empty() && launch_line_words().empty()) fmt::print("launch   {}\n", launch);
        const std::vector<std::string_view> unsaid = unsaid_by_launch(answer);
        if (!unsaid.empty() && launch_line_words().empty())
            fmt::print("         which does not say {}: no option for that is known\n", fmt::join(unsaid, ", "));
    }
    const llmres::verdict verdict = answer.planned.verdict();
    if (const auto& phases = answer.planned.phases; verdict == llmres::verdict::tight)
        tell(fmt::format("tight: it fits only if {}",
                         condition_of(phases ? phases->worst().plan : answer.planned.plan)));
    return verdict == llmres::verdict::does_not_fit ? does_not_fit : fits;
}

}  // namespace program
