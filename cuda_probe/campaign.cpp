// SPDX-License-Identifier: MIT
// campaign: everything that is to be done on a GPU, in one command, each step in a fresh process, results as files.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <llmres/io/files.hpp>

#include "agreement.hpp"
#include "child.hpp"
#include "commands.hpp"
#include "describe.hpp"
#include "search.hpp"

namespace llmres::probe {

namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct step {
    std::string name;
    std::vector<std::string> arguments;
    std::string needs;  ///< why it cannot be run; empty if it can
};

/// The plan whose buffers come nearest below `room`: the largest batch, of the largest of these models that fits at
/// all.
result<plan_file> plan_below(job_request request, const std::vector<std::string>& models, const device& live,
                             byte_count room) {
    error last{};
    for (const std::string& model : models) {
        request.model = model;
        const auto fits = [&](std::int64_t n) -> std::optional<bool> {
            job_request at = request;
            at.batch = n;
            const auto buffers = buffers_of_job(at, live);
            if (buffers) return *buffers <= room;
            last = buffers.error();
            return {};
        };
        const auto largest = bisect(1, 1 << 14, fits);
        if (!largest) return last;
        if (*largest == 0) continue;
        request.batch = *largest;
        return plan_job(request, live);
    }
    return refused(error_code::out_of_range, "room", room.base(), "room for the smallest of the campaign's models");
}

class campaign {
public:
    campaign(const common_options& common, const campaign_options& options)
        : common_{common}, options_{options}, out_{options.out}, stop_{common.timeout_s} {}

    int run() {
        std::error_code failed;
        fs::create_directories(out_ / "plans", failed);
        if (failed) return refuse(refused(error_code::io, "out", options_.out, "a folder that can be made"));
        keep_earlier_steps();
        const int described = run_step({"describe", {"describe", "--json=" + file("devices.json")}, ""});
        if (described != exit_done) return finish(described);
        const auto devices = read_device_file(file("devices.json"));
        if (!devices || devices->devices.empty()) return finish(exit_internal);
        const auto which = select(devices->devices, common_.device);
        if (!which) return refuse(which.error());
        live_ = devices->devices[*which];

        const std::vector<std::string> effort =
            options_.quick ? std::vector<std::string>{"--quick", "--repeats", "5"} : std::vector<std::string>{};
        std::vector<step> all{with({"measure", {"measure", "--json=" + file("measured.json")}, ""}, effort)};
        for (step& one : alloc_steps()) all.push_back(std::move(one));
        all.push_back(with({"calibrate", {"calibrate", "--out", file("calibrated-device.json")}, ""}, effort));
        bool any = false;
        for (const step& one : all)
            if (wanted(one.name)) any = true, run_step(one);
        if (wanted("torch")) any = true, write_torch_plans();
        if (!any)
            return refuse(refused(error_code::unknown, "only", options_.only,
                                  "beginnings of measure, alloc-..., calibrate or torch"));
        return finish(worst_);
    }

private:
    std::string file(const std::string& name) const { return (out_ / name).string(); }
    /// Whether --only begins the name; describing comes always, for plans are made for what it finds.
    bool wanted(std::string_view name) const {
        if (options_.only.empty()) return true;
        std::string_view rest = options_.only;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find(','), rest.size());
            if (end > 0 && name.starts_with(rest.substr(0, end))) return true;
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        return false;
    }

    /// Steps of an earlier campaign in this folder, which --only adds to.
    void keep_earlier_steps() {
        if (options_.only.empty()) return;
        std::ifstream in{file("campaign.json")};
        const json earlier = json::parse(in, nullptr, false);
        if (earlier.is_object() && earlier.contains("steps") && earlier["steps"].is_array()) steps_ = earlier["steps"];
    }

    /// Jobs that cuda_probe/compare_torch.py runs in PyTorch, each with its plan: models of Llama's kind, generating
    /// from prompts and training; the large one cut to as many layers as fit.
    void write_torch_plans() {
        struct torch_job {
            const char* name;
            const char* fields;
            const char* model;
        };
        const std::string bf16_training =
            R"("task":"pretraining","weights":"bf16","master_weights":"bf16","optimizer_states":"bf16","micro_batch":1,"sequence":1024)";
        const torch_job jobs[] = {
            {"serving-small", R"("task":"serving","batch":8,"prompt":1024,"output":16)", "llama-3.2-1b"},
            {"serving-large", R"("task":"serving","batch":8,"prompt":1024,"output":16)", "llama-3.1-8b"},
            {"training-small",
             R"("task":"pretraining","weights":"fp32","autocast":true,"micro_batch":4,"sequence":1024)",
             "llama-3.2-1b"},
            {"training-large", bf16_training.c_str(), "llama-3.1-8b"}};
        const byte_count free = live_.memory.cuda_free ? *live_.memory.cuda_free : live_.memory.cuda_total.value_or({});
        for (const torch_job& one : jobs) {
            json line{{"step", std::string{"torch-plan-"} + one.name}};
            line["skipped"] = "no plan fits";
            for (const int layers : {32, 24, 16, 8, 4}) {
                const bool large = std::string_view{one.model} == "llama-3.1-8b";
                json document =
                    json::parse(std::string{"{"} + one.fields + R"(,"runtime":"pytorch","attention":"sdpa"})");
                document["model"] = large ? json{{"from", one.model}, {"layers", layers}} : json(one.model);
                const auto plan = plan_document(document.dump(), live_);
                if (!plan) {
                    line["skipped"] =
                        std::string{plan.error().field.view()} + ": " + std::string{plan.error().expected.view()};
                    break;
                }
                if (plan->expected > scaled_down(free, 0.9)) continue;
                std::ofstream job{file(std::string{"plans/torch-"} + one.name + ".job.json")};
                std::ofstream planned{file(std::string{"plans/torch-"} + one.name + ".json")};
                job << document.dump(1) << "\n";
                planned << json::parse(plan->text).dump(1) << "\n";
                if (job.flush() && planned.flush()) line.erase("skipped"), line["exit_code"] = int{exit_done};
                break;
            }
            record(std::move(line));
        }
    }

    /// Into the summary, in place of what an earlier run of the step said.
    void record(json line) {
        for (json& earlier : steps_) {
            if (!earlier.is_object() || !earlier.contains("step") || earlier["step"] != line["step"]) continue;
            earlier = std::move(line);
            return;
        }
        steps_.push_back(std::move(line));
    }

    static step with(step one, const std::vector<std::string>& more) {
        one.arguments.insert(one.arguments.end(), more.begin(), more.end());
        return one;
    }

    /// A plan as a file and the step that tests it.
    step alloc_step(const std::string& name, const result<plan_file>& plan, const std::vector<std::string>& more) {
        step one{"alloc-" + name,
                 {"alloc", file("plans/" + name + ".json"), "--json=" + file("alloc-" + name + ".json")},
                 ""};
        one = with(one, more);
        if (!plan) {
            one.needs =
                "no plan: " + std::string{plan.error().field.view()} + ": " + std::string{plan.error().expected.view()};
        } else {
            if (!wanted(one.name)) return one;
            std::ofstream written{file("plans/" + name + ".json")};
            written << json::parse(plan->text).dump(1) << "\n";
            if (!written.flush()) one.needs = "the plan could not be written";
        }
        return one;
    }

    std::vector<step> alloc_steps() {
        const byte_count free = live_.memory.cuda_free ? *live_.memory.cuda_free : live_.memory.cuda_total.value_or({});
        const auto part = [&](double share) { return scaled_down(free, share); };
        const std::vector<std::string> models{"llama-3.1-8b", "llama-3.2-1b"};
        const job_request serving{"", "serving", options_.runtime, 0, 2048};
        const job_request training{"", "pretraining", options_.runtime, 0, 1024};
        const auto at = [&](double share) { return plan_below(serving, models, live_, part(share)); };
        const auto half = at(0.5), most = at(0.9);
        std::vector<step> all;
        all.push_back(alloc_step("serving-50", half, {}));
        all.push_back(alloc_step("serving-90", most, {}));
        all.push_back(alloc_step("serving-99", at(0.99), {}));
        all.push_back(alloc_step("training", plan_below(training, models, live_, part(0.9)), {}));
        all.push_back(alloc_step("training-caching", plan_below(training, models, live_, part(0.8)),
                                 {"--allocator", "pytorch_caching"}));
        all.push_back(alloc_step("too-large", at(1.2), {}));
        all.push_back(alloc_step("serving-90-stream-ordered", most, {"--allocator", "stream_ordered"}));
        all.push_back(alloc_step("serving-90-virtual-memory", most, {"--allocator", "virtual_memory"}));
        all.push_back(alloc_step("search-batch", half, {"--search", "batch"}));
        all.push_back(alloc_step("search-context", half, {"--search", "context"}));
        return all;
    }

    /// Runs it in a fresh process; its word goes into the summary.
    int run_step(const step& one) {
        json line{{"step", one.name}, {"arguments", one.arguments}};
        int code = exit_skipped;
        if (!one.needs.empty()) {
            line["skipped"] = one.needs;
        } else if (const std::string why = stop_.why(); !why.empty()) {
            line["skipped"] = why;
        } else {
            std::vector<std::string> command{own_program()};
            command.insert(command.end(), one.arguments.begin(), one.arguments.end());
            const bool plain_device = one.arguments.front() != "describe";
            if (plain_device && !common_.device.empty()) command.insert(command.end(), {"--device", common_.device});
            if (!common_.simulate.empty()) command.insert(command.end(), {"--simulate", common_.simulate});
            if (common_.timeout_s > 0) command.insert(command.end(), {"--timeout", std::to_string(common_.timeout_s)});
            std::cerr << "llmres-probe: " << one.name << " ..." << std::flush;
            const auto ended = run_child(command, file(one.name + ".stdout"), file(one.name + ".stderr"), stop_);
            code = ended.exit_code >= 0           ? ended.exit_code
                   : ended.problem == stop_.why() ? int{exit_skipped}
                                                  : int{exit_internal};
            line["exit_code"] = code;
            if (!ended.problem.empty()) line["problem"] = ended.problem;
            if (one.arguments.front() == "alloc") {
                std::ifstream in{file(one.name + ".json")};
                const json report = json::parse(in, nullptr, false);
                if (const json agreement = report.is_object() ? agreement_of(report) : json(); !agreement.is_null())
                    line["agreement"] = agreement;
            }
            std::cerr << " exit " << code << "\n";
        }
        // A plan that does not fit is an answer. What counts against the campaign is a fault, then doubt, then silence.
        const auto weight = [](int c) {
            return c == exit_internal || c == exit_usage ? 3 : c == exit_inconclusive ? 2 : c == exit_skipped ? 1 : 0;
        };
        if (weight(code) > weight(worst_)) worst_ = code == exit_usage ? int{exit_internal} : code;
        record(std::move(line));
        return code;
    }

    int finish(int code) {
        const device_file stamp = file_of({});
        json summary{{"schema_version", 1},
                     {"probe_version", std::string{stamp.probe_version.view()}},
                     {"captured_at", std::string{stamp.captured_at.view()}},
                     {"simulated", !common_.simulate.empty()},
                     {"exit_code", code},
                     {"steps", steps_}};
        if (!write_json(summary, file("campaign.json"))) return exit_usage;
        if (code == exit_no_device) return end_without_device("see " + file("describe.stderr"));
        return end(static_cast<exit_code>(code), "results are in " + out_.string());
    }

    common_options common_;
    campaign_options options_;
    fs::path out_;
    stop_signal stop_;
    device live_{};
    json steps_ = json::array();
    int worst_ = exit_done;
};

}  // namespace

int run_campaign(const common_options& common, const campaign_options& options) {
    return campaign{common, options}.run();
}

}  // namespace llmres::probe
