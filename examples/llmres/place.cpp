// SPDX-License-Identifier: MIT
// llmres place: which of the free GPUs hold a job, or each job of a queue.
#include "command_line.hpp"
#include "commands.hpp"
#include "inventory.hpp"
#include "report.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <llmres/answers/launch.hpp>
#include <llmres/answers/queue.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/plan.hpp>
#include <llmres/values/to_string.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace program {
namespace {

constexpr std::int64_t most_jobs = 100'000;
constexpr std::size_t most_listed = 8;  ///< nodes of a job, or jobs of a queue, that are named in one line

/// A job of the queue as it was asked for.
struct asked_job {
    std::string name;
    plan_options source;  ///< of its command line; without a source: an entry of a queue
    nlohmann::json document;
    llmres::plan_request request;
};

llmres::plan_request request_of(nlohmann::json& document, const std::string& source, const inventory& on) {
    nlohmann::json cluster = on.sheets.front();
    if (document.contains("cluster")) {
        for (const auto& [key, value] : document["cluster"].items())
            if (key != "gpus")
                throw refusal{llmres::refused(llmres::error_code::inconsistent, "cluster." + key,
                                              value.dump().substr(0, 40), "absent: nodes say which GPUs there are")};
        cluster.update(document["cluster"]);
    }
    document["cluster"] = cluster;
    llmres::plan_request request = accept(llmres::read_job(document, program::folder_of(document, source)));
    if (request.fitted)
        throw refusal{llmres::refused(llmres::error_code::unsupported, "fit", "true",
                                      "gpu_layers and context that are the same on every kind of GPU")};
    if (const llmres::status s = in_one_phase(request); !s) throw refusal{s.error()};
    return request;
}

/// The entries of a queue; of another source none.
std::vector<nlohmann::json> entries_of(const std::string& source) {
    if (!source.ends_with(".json")) return {};
    const std::string text = accept(llmres::read_job_text(source));
    const nlohmann::json root = accept(llmres::parse_json_object(text, llmres::no_numbers::refused)).root;
    if (!root.contains("jobs")) return {};
    if (!root["jobs"].is_array() || root["jobs"].empty())
        throw refusal{llmres::refused(llmres::error_code::malformed, "jobs", source, "a list of job documents")};
    return root["jobs"];
}

/// Adds the jobs of a queue, each as often as its `count` says.
void add_queue(std::vector<asked_job>& jobs, const std::vector<nlohmann::json>& entries, const std::string& source,
               const plan_options& shared, const inventory& on) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
        nlohmann::json entry = entries[i];
        const std::string where = fmt::format("jobs[{}].", i);
        if (!entry.is_object())
            throw refusal{llmres::refused(llmres::error_code::malformed, where, "no object", "a job document")};
        const std::int64_t count = number_in(where, entry, "count", 1, most_jobs, 1);
        std::string name = fmt::format("job {}", i + 1);
        if (entry.contains("name") && entry["name"].is_string()) name = entry["name"].get<std::string>();
        entry.erase("name");
        entry.erase("count");
        asked_job one{.name = name, .source = {}, .document = merged(entry, shared), .request = {}};
        try {
            one.request = request_of(one.document, source, on);
        } catch (const refusal& r) {
            throw refusal{
                llmres::refused(r.what.code, where + std::string{r.what.field.view()}, r.what.value, r.what.expected),
                r.names};
        }
        if (static_cast<std::int64_t>(jobs.size()) + count > most_jobs)
            throw refusal{llmres::refused(llmres::error_code::out_of_range, "jobs", "more",
                                          fmt::format("at most {} of them", most_jobs))};
        for (std::int64_t n = 0; n < count; ++n) {
            jobs.push_back(one);
            if (count > 1) jobs.back().name = fmt::format("{}[{}]", name, n + 1);
        }
    }
}

std::vector<asked_job> jobs_of(const place_options& o, const inventory& on) {
    std::vector<asked_job> jobs;
    for (const std::string& source : o.jobs) {
        if (const std::vector<nlohmann::json> entries = entries_of(source); !entries.empty()) {
            add_queue(jobs, entries, source, o.job, on);
            continue;
        }
        asked_job one{.name = source, .source = o.job, .document = {}, .request = {}};
        one.source.source = source;
        one.document = merged(one.source);
        one.request = request_of(one.document, source, on);
        jobs.push_back(std::move(one));
    }
    return jobs;
}

/// What a job's place must be like.
llmres::place_request place_request_of(const asked_job& j, const std::string& objective) {
    llmres::place_request r;
    if (!objective.empty() && objective != "least_memory") {
        r.prefer = llmres::place_preference::best_score;
        r.search.objective = named<llmres::objective>("objective", objective);
    }
    r.search.space.layouts = layouts_of(j.document, j.request);
    if (j.document["cluster"].contains("gpus"))
        r.search.space.layouts.least_gpus = r.search.space.layouts.most_gpus = j.request.cluster.gpus;
    return r;
}

/// "a[1], a[2]", of many the first.
std::string short_list(const std::vector<std::string>& names) {
    if (names.size() <= most_listed) return fmt::format("{}", fmt::join(names, ", "));
    return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + most_listed, ", "),
                       names.size() - most_listed);
}

std::string nodes_text(const llmres::job_place& p, const inventory& on, std::span<const llmres::node_gpus> before) {
    std::vector<std::string> names;
    for_each_node(p, before, [&](std::size_t node) { names.push_back(on.names[node]); });
    return short_list(names);
}

/// "4 x h100-sxm5-80gb".
std::string gpus_text(const llmres::job_place& p, const inventory& on) {
    return p.gpus() == 0 ? std::string{} : fmt::format("{} x {}", p.gpus(), on.text_of(p.kind));
}
std::string rate_text(const llmres::job_place& p) {
    return p.gpus() == 0 ? std::string{} : fmt::format("{:.0f}", p.tokens_per_second.in(llmres::tokens_per_s));
}

/// A place with the nodes that it takes, and what its plan assumed.
struct found_place {
    llmres::job_place place;
    std::vector<std::size_t> nodes;
    llmres::json_value assumed = llmres::json_value::object();
};

llmres::json_value assumed_of(const asked_job& j, const llmres::job_place& p, const inventory& on) {
    const llmres::job_plan planned = accept(plan(j.request.job, p.layout, on.kind_of(p.kind)));
    llmres::json_value assumed = llmres::assumptions_of(j.document, j.request, planned);
    for (const char* of_nodes : {"gpu", "gpus"}) assumed.erase(of_nodes);
    return assumed;
}

/// Places all jobs in their order; `on` is left as it was.
std::vector<found_place> places_of(const std::vector<asked_job>& jobs, const inventory& on,
                                   const std::string& objective) {
    std::vector<llmres::node_gpus> left = on.nodes;
    std::vector<found_place> found;
    for (const asked_job& j : jobs) {
        found_place one{
            .place = accept(llmres::place_job(j.request.job, on.kinds, left, place_request_of(j, objective))),
            .nodes = {}};
        for_each_node(one.place, left, [&](std::size_t node) { one.nodes.push_back(node); });
        if (one.place.gpus() > 0) one.assumed = assumed_of(j, one.place, on);
        take(one.place, left);
        found.push_back(std::move(one));
    }
    return found;
}

/// One kind of the inventory, for a job: the place on it and, where none fits, the layout nearest to fitting.
struct kind_answer {
    std::int32_t kind = 0;
    std::int64_t free = 0;  ///< GPUs of all its nodes
    llmres::job_place place{};
    llmres::result<llmres::job_plan> plan;
};

kind_answer answer_on(const asked_job& j, const inventory& on, std::int32_t kind, const std::string& objective) {
    std::vector<llmres::node_gpus> nodes;
    std::int64_t free = 0;
    for (const llmres::node_gpus& n : on.nodes)
        if (n.kind == kind) {
            nodes.push_back({0, n.free});
            free += n.free;
        }
    const llmres::place_request r = place_request_of(j, objective);
    const llmres::cluster& c = on.kind_of(kind);
    llmres::job_place place = accept(llmres::place_job(j.request.job, std::span{&c, 1}, nodes, r));
    place.kind = kind;
    const auto nearest = [&]() -> llmres::result<llmres::job_plan> {
        if (place.gpus() > 0) return plan(j.request.job, place.layout, c);
        const llmres::result<llmres::found_layout> found = search(j.request.job, c, r.search);
        if (!found) return found.error();
        return found->plan;
    };
    return {kind, free, place, nearest()};
}

std::vector<kind_answer> answers_on_kinds(const asked_job& j, const inventory& on, const std::string& objective) {
    std::vector<kind_answer> all;
    all.reserve(on.kinds.size());
    for (std::size_t k = 0; k < on.kinds.size(); ++k)
        all.push_back(answer_on(j, on, static_cast<std::int32_t>(k), objective));
    std::sort(all.begin(), all.end(), [](const kind_answer& a, const kind_answer& b) {
        return std::pair{a.place.state, a.kind} < std::pair{b.place.state, b.kind};
    });
    return all;
}

/// What the job needs of each GPU against what it may use there.
std::string memory_text(const kind_answer& a) {
    if (!a.plan) return std::string{a.plan.error().expected.view()};
    return fmt::format("{} of {}", to_string(a.plan->memory.total().high), to_string(a.plan->usable));
}

void print_kinds(const std::vector<kind_answer>& all, const inventory& on) {
    std::vector<table_row> rows;
    rows.reserve(all.size());
    for (const kind_answer& a : all)
        rows.push_back({on.text_of(a.kind), fmt::format("{}", a.free),
                        a.place.state == llmres::place_state::placed ? "fits" : std::string{name_of(a.place.state)},
                        a.place.gpus() == 0 ? std::string{} : fmt::format("{}", a.place.gpus()), memory_text(a),
                        rate_text(a.place), a.place.gpus() == 0 ? std::string{} : to_text(a.place.layout)});
    print_table({{"kind"},
                 {"free", true},
                 {"the job"},
                 {"GPUs", true},
                 {"memory of each, at most"},
                 {"tokens/s", true},
                 {"layout"}},
                rows);
}

/// The change of a job document that plans a job in its place.
nlohmann::json place_patch(const llmres::job_place& p, const inventory& on) {
    nlohmann::json patch = layout_patch(p.layout);
    patch["cluster"] = on.sheets[static_cast<std::size_t>(p.kind)];
    patch["cluster"]["gpus"] = p.gpus();
    if (p.nodes > 1) patch["cluster"]["gpus_per_node"] = p.each;
    return patch;
}

llmres::json_value place_json(const asked_job& j, const found_place& f, const inventory& on) {
    const llmres::job_place& p = f.place;
    llmres::json_value out{{"name", j.name}, {"state", name_of(p.state)}};
    if (p.gpus() == 0) return out;
    out["gpu"] = on.kind_of(p.kind).gpu.id.view();
    out["in_use"] = on.kind_of(p.kind).in_use.in(llmres::bytes);
    out["gpus"] = p.gpus();
    out["gpus_per_node"] = p.each;
    out["nodes"] = llmres::json_value::array();
    for (const std::size_t node : f.nodes) out["nodes"].push_back(on.names[node]);
    out["layout"] = llmres::to_json(p.layout);
    out["tokens_per_second"] = p.tokens_per_second.in(llmres::tokens_per_s);
    out["assumed"] = f.assumed;
    if (!j.source.source.empty()) out["command"] = command_of(j.source, place_patch(p, on));
    return out;
}

llmres::json_value kind_json(const kind_answer& a, const inventory& on) {
    llmres::json_value out{{"gpu", on.kind_of(a.kind).gpu.id.view()},
                           {"in_use", on.kind_of(a.kind).in_use.in(llmres::bytes)},
                           {"free", a.free},
                           {"state", name_of(a.place.state)}};
    if (a.place.gpus() > 0) {
        out["gpus"] = a.place.gpus();
        out["layout"] = llmres::to_json(a.place.layout);
        out["tokens_per_second"] = a.place.tokens_per_second.in(llmres::tokens_per_s);
    }
    if (!a.plan) return out;
    out["needed"] = a.plan->memory.total().high.in(llmres::bytes);
    out["usable"] = a.plan->usable.in(llmres::bytes);
    return out;
}

/// How much of a kind's memory a job needs; of a plan that is refused, more than any.
double fullness_of(const kind_answer& a) {
    if (!a.plan) return std::numeric_limits<double>::infinity();
    return static_cast<double>(a.plan->memory.total().high.in(llmres::bytes)) /
           static_cast<double>(a.plan->usable.in(llmres::bytes));
}

/// What would place a job that no kind holds: changes with which it fits on the kind nearest to holding it that has
/// any, on as many GPUs as one node has free.
std::vector<llmres::document_remedy> help_for(const asked_job& j, std::vector<kind_answer> kinds, const inventory& on) {
    const llmres::job_sources sources =
        llmres::remembered(llmres::sources_in(program::folder_of(j.document, j.source.source)));
    std::sort(kinds.begin(), kinds.end(), [](const kind_answer& a, const kind_answer& b) {
        return std::pair{fullness_of(a), a.kind} < std::pair{fullness_of(b), b.kind};
    });
    for (const kind_answer& a : kinds) {
        std::int64_t gpus = 0;
        for (const llmres::node_gpus& n : on.nodes)
            if (n.kind == a.kind) gpus = std::max<std::int64_t>(gpus, n.free);
        if (gpus == 0) continue;
        nlohmann::json document = j.document;
        document["cluster"] = on.sheets[static_cast<std::size_t>(a.kind)];
        document["cluster"]["gpus"] = j.document["cluster"].value("gpus", gpus);
        const llmres::result<llmres::job_answer> answer = answer_job(document, sources);
        if (!answer) continue;
        std::vector<llmres::document_remedy> help = remedies_of(document, sources, *answer);
        std::erase_if(help, [](const llmres::document_remedy& r) { return r.patch.contains("cluster"); });
        for (llmres::document_remedy& r : help) r.patch["cluster"] = document["cluster"];
        if (!help.empty()) return help;
    }
    return {};
}

void print_one(const asked_job& j, const found_place& f, const std::vector<kind_answer>& kinds,
               const std::vector<llmres::document_remedy>& help, const inventory& on) {
    const llmres::job_place& p = f.place;
    fmt::print("{}, {}, runtime {}: ", j.request.job.model.name.view(), task_text(j.request.job),
               j.request.job.runtime.identity.name.view());
    if (p.state == llmres::place_state::placed)
        fmt::print("{} of {}\n\n", gpus_text(p, on), nodes_text(p, on, on.nodes));
    else if (p.state == llmres::place_state::waits)
        fmt::print("waits for {}\n\n", gpus_text(p, on));
    else
        fmt::print("none of the GPUs hold it\n\n");
    print_kinds(kinds, on);
    fmt::print("\n");
    print_profile(j.request.profile);
    print_help(j.source, help);
    if (p.gpus() == 0) return;
    print_assumed(f.assumed);
    if (!j.source.source.empty()) fmt::print("plan     {}\n", command_of(j.source, place_patch(p, on)));
    const std::string launch = launch_command(j.request.job, p.layout, on.kind_of(p.kind));
    if (!launch.empty()) fmt::print("launch   {}\n", launch);
}

/// Prints what the plans of a queue assumed, once for all jobs of which it is the same.
void print_assumed_by_job(const std::vector<asked_job>& jobs, const std::vector<found_place>& places) {
    std::vector<std::pair<llmres::json_value, std::vector<std::string>>> groups;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (places[i].assumed.empty()) continue;
        const auto same = std::find_if(groups.begin(), groups.end(),
                                       [&](const auto& group) { return group.first == places[i].assumed; });
        if (same == groups.end())
            groups.push_back({places[i].assumed, {jobs[i].name}});
        else
            same->second.push_back(jobs[i].name);
    }
    if (!groups.empty()) fmt::print("\n");
    for (const auto& [assumed, names] : groups) {
        print_assumed(assumed, short_list(names));
    }
}

void print_all(const std::vector<asked_job>& jobs, const std::vector<found_place>& places, const inventory& on) {
    std::vector<table_row> rows;
    std::vector<llmres::node_gpus> left = on.nodes;
    std::size_t placed = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const llmres::job_place& p = places[i].place;
        rows.push_back({jobs[i].name, std::string{name_of(p.state)}, gpus_text(p, on), nodes_text(p, on, left),
                        rate_text(p), p.gpus() == 0 ? std::string{} : to_text(p.layout)});
        take(p, left);
        if (p.state == llmres::place_state::placed) ++placed;
    }
    std::int64_t free = 0;
    for (const llmres::node_gpus& n : left) free += n.free;
    fmt::print("{} of {} jobs are placed; {} GPUs stay free\n\n", placed, jobs.size(), free);
    print_table({{"job"}, {"state"}, {"GPUs"}, {"nodes"}, {"tokens/s", true}, {"layout"}}, rows);
    print_assumed_by_job(jobs, places);
}

}  // namespace

int run_place(const place_options& o) {
    const inventory on = inventory_of(o);
    const std::vector<asked_job> jobs = jobs_of(o, on);
    if (jobs.size() > 1 && on.any_profile)
        throw refusal{llmres::refused(llmres::error_code::inconsistent, "gpu", "any",
                                      "the MIG instances that are there, for several jobs")};
    const std::vector<found_place> places = places_of(jobs, on, o.objective);
    const bool all_placed = std::all_of(places.begin(), places.end(), [](const found_place& f) {
        return f.place.state == llmres::place_state::placed;
    });
    std::vector<kind_answer> kinds;
    std::vector<llmres::document_remedy> help;
    if (jobs.size() == 1) kinds = answers_on_kinds(jobs[0], on, o.objective);
    if (jobs.size() == 1 && places[0].place.gpus() == 0) help = help_for(jobs[0], kinds, on);
    if (o.job.json) {
        llmres::json_value answer{{"objective", o.objective.empty() ? "least_memory" : o.objective},
                                  {"jobs", llmres::json_value::array()}};
        for (std::size_t i = 0; i < jobs.size(); ++i) answer["jobs"].push_back(place_json(jobs[i], places[i], on));
        if (!help.empty()) answer["jobs"][0]["would_help"] = to_json(help);
        if (!kinds.empty()) answer["kinds"] = llmres::json_value::array();
        for (const kind_answer& a : kinds) answer["kinds"].push_back(kind_json(a, on));
        print_answer("place", answer);
    } else if (jobs.size() == 1) {
        print_one(jobs[0], places[0], kinds, help, on);
    } else {
        print_all(jobs, places, on);
    }
    return all_placed ? fits : does_not_fit;
}

}  // namespace program
