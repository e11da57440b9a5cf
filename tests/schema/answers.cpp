// SPDX-License-Identifier: MIT
// answers COUNT: what `llmres plan --json` and `llmres search --json` answer to so many random job documents, one a
// line, for tests/schema/validate. LLMRES_RANDOM_SEED=n draws others.
#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <llmres/answers/search.hpp>
#include <llmres/io/job_fields.hpp>
#include <span>
#include <string>

#include "../random_documents.hpp"

namespace {

using namespace random_documents;

/// What people say of a job beside its kind: a layout or none, lengths, GPUs for prompts, formats of files.
void vary(dice& d, document& j) {
    if (d.chance(30)) j.erase("layout");
    if (!j.contains("layout") && d.chance(50)) j["cluster"]["gpus"] = d.power(8);
    if (d.chance(20)) j["cluster"]["host"]["memory"] = std::int64_t{1} << (33 + d.below(8));
    if (d.chance(5)) j["cluster"]["in_use"] = std::int64_t{1} << (28 + d.below(4));
    if (d.chance(5)) j["cluster"]["gpu_memory"] = std::int64_t{1} << (33 + d.below(5));
    if (j["task"] != "serving") return;
    if (d.chance(40)) j["weights"] = d.pick({"q4_k_m", "q8_0", "awq_int4_g128", "fp8_e4m3", "mxfp4", "nf4"});
    if (d.chance(20)) j["output"] = d.pick({1, 64, 128});
    if (d.chance(15)) j["lengths"] = {{"mean", 1 + d.below(1024)}};
    if (d.chance(10)) j["prefill"] = {{"cluster", {{"gpu", d.one_of(gpus::all)->id.view()}, {"gpus", d.power(4)}}}};
    if (d.chance(10)) j["runtime"]["gpu_layers"] = d.below(40);
}

/// A document in which one field has a value that it may not have.
void spoil(dice& d, document& j) {
    const job_field& f = d.one_of(job_fields);
    const document value = d.chance(50) ? document(-1 - d.below(5)) : document("nonsense");
    if (f.object.empty())
        j[std::string{f.name}] = value;
    else if (f.object == "host")
        j["cluster"]["host"][std::string{f.name}] = value;
    else
        j[std::string{f.object}][std::string{f.name}] = value;
}

void print(const json_value& answer) { std::cout << answer.dump() << '\n'; }

/// The answer of `plan --json`, with remedies for some of those that do not fit: to plan each takes longest.
result<json_value> planned(dice& d, const document& j) {
    const result<job_answer> answer = answer_job(j);
    if (!answer) return answer.error();
    const bool with_help = d.chance(4);
    return to_json(*answer, with_help ? remedies_of(j, {}, *answer) : std::vector<document_remedy>{});
}

/// The answer of `search --json`.
result<json_value> searched(const document& j) {
    const result<plan_request> request = read_job(j);
    if (!request) return request.error();
    const search_request asked{.skip_slower = true};
    std::array<found_layout, 3> best;
    std::array<found_layout, 3> front;
    const result<search_counts> counts = search(request->job, request->cluster, asked, best, front,
                                                objective::time_per_token, [](const search_counts&) { return true; });
    if (!counts) return counts.error();
    if (counts->best == 0) return refused(error_code::out_of_range, "layout", "none", "one that fits");
    const auto list = [&](const auto& found, std::size_t count) {
        return to_json(std::span<const found_layout>{found.data(), count}, request->job, request->cluster);
    };
    return json_value{{"schema", "llmres/search/1"},          {"objective", name_of(asked.objective)},
                      {"job", to_json(request->job)},         {"cluster", to_json(request->cluster)},
                      {"runtime", runtime_to_json(*request)}, {"assumed", assumptions_of(j, *request, best[0].plan)},
                      {"searched", to_json(*counts)},         {"best", list(best, counts->best)},
                      {"front", list(front, counts->front)}};
}

}  // namespace

int main(int argc, char** argv) {
    const std::int64_t wanted = argc > 1 ? std::atoll(argv[1]) : 1000;
    std::ios::sync_with_stdio(false);
    dice d;
    for (std::int64_t answered = 0; answered < wanted;) {
        document j = d.chance(50) ? random_training_job(d) : random_serving_job(d);
        vary(d, j);
        if (d.chance(5)) spoil(d, j);
        const result<json_value> answer = d.chance(3) ? searched(j) : planned(d, j);
        answered += answer ? 1 : 0;
        print(answer ? *answer : json_value{{"schema", "refused"}});
    }
    return std::cout.flush() ? EXIT_SUCCESS : EXIT_FAILURE;
}
