// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../times/constants.hpp"
#include "../times/scores.hpp"

// table_time_constants: every constant of times, from the code itself, and how many numbers these are.
// table_time_constants --without: what each part explains: the mean errors of table_times --bars with one part taken
// out. table_time_constants --left-out: errors of a GPU and of a model family by constants fitted again without their
// rows.

namespace {

const char* const folder = LLMRES_SOURCE_DIR "/tests/validation/data/times";
constexpr std::array files{"training.jsonl", "serving.jsonl"};

void show_constants() {
    const times::fitted_constants constants;
    for (const auto& [name, values] : constants.all()) {
        std::printf("%-36s", name.c_str());
        const char* between = "";
        for (const std::vector<double>& one : values) {
            std::printf("%s", between);
            for (std::size_t i = 0; i < one.size(); ++i) std::printf("%s%.4g", i > 0 ? " .. " : " ", one[i]);
            between = ",";
        }
        std::printf("\n");
    }
    std::printf("%d numbers (at most %d); times in seconds, intervals as low .. expected .. high\n",
                constants.numbers(), 126);
}

/// A part of what times are made of, and how a job looks without it.
struct part {
    const char* name;
    std::function<void(llmres::plan_request&)> remove;
};

/// A part of how a runtime launches kernels, put back to what a runtime without it has.
template <class Member>
part launches(const char* name, Member llmres::runtime_launches::* member, Member without) {
    return {name, [=](llmres::plan_request& r) { r.job.runtime.launches.*member = without; }};
}

std::vector<part> parts() {
    using llmres::runtime_launches;
    const llmres::interval<llmres::duration> none{};
    return {
        {"nothing", [](llmres::plan_request&) {}},
        {"power: long runs as fast as bursts",
         [](llmres::plan_request& r) { r.cluster.gpu.board_power = llmres::watts(1e6), r.cluster.power_limit = {}; }},
        {"floors of kernels (training, and decoding in graphs)",
         [](llmres::plan_request& r) { r.job.runtime.launches.floors = 0; }},
        {"the CPU's time of a layer",
         [=](llmres::plan_request& r) {
             runtime_launches& by = r.job.runtime.launches;
             by.layer = by.eager_layer = by.narrow_product = by.looped_expert = none;
         }},
        launches("the scheduler's time of a step", &runtime_launches::step, none),
        launches("the time of a request", &runtime_launches::request, none),
        launches("elementwise kernels of a layer", &runtime_launches::small_kernels, 0.0),
        launches("attention of older kernels", &runtime_launches::attention, llmres::attention_code::tuned),
        launches("runtimes' own all-reduce", &runtime_launches::own_all_reduce, false),
        launches("transformers' copies of its cache", &runtime_launches::copies_cache, false),
        launches("bytes that llama.cpp's kernels read a clock", &runtime_launches::bytes_a_clock, 0.0),
        launches("kernels of integer weights", &runtime_launches::packed, llmres::packed_code::streamed),
        launches("casts joined with other kernels", &runtime_launches::joins_casts, false),
        launches("whose kernels compute routed experts", &runtime_launches::experts, llmres::routed_code::grouped),
        launches("prompts of llama.cpp and others, relative to kernels", &runtime_launches::prompts,
                 llmres::interval<double>{1.0, 1.0, 1.0}),
        launches("stages that compute at the same time", &runtime_launches::stages, llmres::stage_overlap::none),
        {"adapters that GPUs share", [](llmres::plan_request& r) { r.cluster.gpus_per_adapter = 1; }},
    };
}

std::map<std::string, times::score> scores_with(const times::documents& published) {
    std::map<std::string, times::score> scores;
    for (const char* file : files)
        published.for_each_figure(
            file, [&](const times::figure& f, const llmres::job_plan&) { scores[f.series + " | " + f.name].add(f); },
            [](const std::string&, const std::string&, const std::string&) {});
    return scores;
}

/// Of each part: the bars whose mean error is another without it.
void show_without() {
    times::documents published{folder};
    std::map<std::string, times::score> whole;
    for (const part& p : parts()) {
        published.change(p.remove);
        const std::map<std::string, times::score> scores = scores_with(published);
        if (whole.empty()) whole = scores;
        std::printf("| %s |", p.name);
        const char* between = "";
        for (const times::bar& b : times::bars) {
            const double now = times::pooled(scores, b).mean(), before = times::pooled(whole, b).mean();
            if (std::fabs(now - before) < 0.001) continue;
            std::printf("%s %s%s%s %.1f (%.1f)", between, b.series, *b.figure != 0 ? " " : "", b.figure, now * 100,
                        before * 100);
            between = ",";
        }
        std::printf(" |\n");
    }
}

/// A step under load in parts that a constant scales: what the GPU takes, launches, and prompts of others.
struct loaded_step {
    std::string gpu, engine;
    double measured = 0, busy = 0, launch = 0, prompts = 0;
};

/// Relative to what the library has: launches of each runtime, and the share of prompts that tokens wait for.
struct loaded_constants {
    std::map<std::string, double> launch{{"SGLang", 1.0}, {"TensorRT-LLM", 1.0}, {"vLLM", 1.0}};
    double prompts = 1;

    double error(const loaded_step& s) const {
        return std::fabs((s.busy + s.launch * launch.at(s.engine) + s.prompts * prompts) / s.measured - 1);
    }
    double mean(const std::vector<loaded_step>& steps, const std::string& gpu, bool of_it) const {
        double sum = 0, rows = 0;
        for (const loaded_step& s : steps)
            if ((s.gpu == gpu) == of_it) sum += error(s), rows += 1;
        return rows > 0 ? sum / rows : 0;
    }
};

std::vector<loaded_step> loaded_steps() {
    times::documents published{folder};
    std::string gpu;
    published.change([&](llmres::plan_request& r) { gpu = std::string{r.cluster.gpu.id.view()}; });
    std::vector<loaded_step> steps;
    published.for_each_figure(
        files[1],
        [&](const times::figure& f, const llmres::job_plan& p) {
            if (!f.series.starts_with("under load, ") || !f.name.ends_with("output_token")) return;
            const double step = p.speed.step.total().expected.in(llmres::seconds);
            const double launch = p.speed.step[llmres::time_term::launch].expected.in(llmres::seconds);
            steps.push_back({gpu, f.series.substr(12), f.measured, step - launch, launch, f.planned.expected - step});
        },
        [](const std::string&, const std::string&, const std::string&) {});
    return steps;
}

/// Fitted on the rows of other GPUs, coordinate by coordinate.
loaded_constants fitted_without(const std::vector<loaded_step>& steps, const std::string& gpu) {
    loaded_constants best;
    double least = best.mean(steps, gpu, false);
    const auto better = [&](double& constant, double factor) {
        const double before = constant;
        constant *= factor;
        const double now = best.mean(steps, gpu, false);
        if (now < least)
            least = now;
        else
            constant = before;
    };
    for (const double factor : {1.3, 1.1, 1.03, 1.01})
        for (int round = 0; round < 4; ++round)
            for (const double f : {factor, 1 / factor}) {
                better(best.prompts, f);
                for (auto& [engine, launch] : best.launch) better(launch, f);
            }
    return best;
}

void show_gpus_left_out() {
    const std::vector<loaded_step> steps = loaded_steps();
    std::set<std::string> gpus;
    for (const loaded_step& s : steps) gpus.insert(s.gpu);
    for (const std::string& gpu : gpus) {
        const loaded_constants out = fitted_without(steps, gpu);
        std::printf("| time per output token under load, %s | %.1f %% | %.1f %% |", gpu.c_str(),
                    loaded_constants{}.mean(steps, gpu, true) * 100, out.mean(steps, gpu, true) * 100);
        std::printf(" prompts x %.2f, launches of SGLang x %.2f, TensorRT-LLM x %.2f, vLLM x %.2f |\n", out.prompts,
                    out.launch.at("SGLang"), out.launch.at("TensorRT-LLM"), out.launch.at("vLLM"));
    }
}

/// The rows of megatron_b200 by model: the energy of a FLOP, the constant that they told, fitted on other models.
void show_families_left_out() {
    times::documents published{folder};
    std::map<double, std::map<std::string, times::score>> by_power;
    for (double energy = 0.7; energy < 1.45; energy += 0.025) {
        std::string name;
        published.change([&](llmres::plan_request& r) {
            name = std::string{r.job.model.name.view()};
            if (r.cluster.gpu.board_power) r.cluster.gpu.board_power = *r.cluster.gpu.board_power / energy;
        });
        published.for_each_figure(
            files[0],
            [&](const times::figure& f, const llmres::job_plan&) {
                if (f.series == "megatron_b200") by_power[energy][name].add(f);
            },
            [](const std::string&, const std::string&, const std::string&) {});
    }
    for (const auto& [family, unused] : by_power.begin()->second) {
        double best = 1, least = 1e9;
        for (const auto& [energy, scores] : by_power) {
            times::score others;
            for (const auto& [name, s] : scores)
                if (name != family) others.add(s);
            if (others.mean() < least) least = others.mean(), best = energy;
        }
        const double shipped = by_power.lower_bound(0.999)->second.at(family).mean();
        std::printf("| step of megatron_b200, %s | %.1f %% | %.1f %% | energy of a FLOP x %.3f |\n", family.c_str(),
                    shipped * 100, by_power.at(best).at(family).mean() * 100, best);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const char* asked = argc > 1 ? argv[1] : "";
    if (std::strcmp(asked, "--without") == 0) {
        std::printf("| without | mean errors that change, in percent (with it) |\n|---|---|\n");
        return show_without(), 0;
    }
    if (std::strcmp(asked, "--left-out") == 0) {
        std::printf("| left out | as shipped | fitted without it | what was fitted |\n|---|---|---|---|\n");
        return show_gpus_left_out(), show_families_left_out(), 0;
    }
    return show_constants(), 0;
}
