// SPDX-License-Identifier: MIT
// llmres plan --gpu A,B: which layers lie on which of several GPUs that differ.
#include "commands.hpp"
#include "table.hpp"

#include "report.hpp"

#include <fmt/format.h>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <llmres/answers/launch.hpp>
#include <llmres/answers/mixed_gpus.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/values/to_string.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace program {
namespace {

/// What stands between commas: a GPU, and behind a colon how many of it.
struct gpu_words {
    std::string name;
    std::size_t count = 1;
};

gpu_words words_of(const std::string& typed) {
    if (typed.empty())
        throw refusal{llmres::refused(llmres::error_code::malformed, "gpu", "empty",
                                      "GPUs with one comma between two: rtx-3090:2,rtx-4090")};
    const std::size_t colon = typed.find(':');
    if (colon == std::string::npos) return {typed};
    gpu_words words{typed.substr(0, colon), 0};
    const std::string number = typed.substr(colon + 1);
    const auto read = std::from_chars(number.data(), number.data() + number.size(), words.count);
    if (read.ec != std::errc{} || read.ptr != number.data() + number.size() || words.count < 1 ||
        words.count > llmres::most_dealt_gpus)
        throw refusal{llmres::refused(llmres::error_code::malformed, "gpu", typed,
                                      fmt::format("a GPU and 1 to {} of it: rtx-3090:2", llmres::most_dealt_gpus))};
    return words;
}

/// The GPUs that are named, each as often as it is there. `in_use` is held by others on each.
std::vector<llmres::device_share> devices_of(const std::string& typed, llmres::byte_count in_use) {
    std::vector<llmres::device_share> devices;
    for (std::size_t begin = 0; begin <= typed.size();) {
        const std::size_t end = std::min(typed.find(',', begin), typed.size());
        const gpu_words words = words_of(typed.substr(begin, end - begin));
        const llmres::gpu card = accept(llmres::find_gpu(words.name, "gpu"));
        devices.insert(devices.end(), words.count, {card, in_use});
        begin = end + 1;
    }
    return devices;
}

/// Takes the wish that what fits be chosen out of a document, whose GPU is one of several: whether it was there.
bool take_fit(nlohmann::json& document) {
    if (!document.contains("runtime") || !document["runtime"].is_object()) return false;
    nlohmann::json& runtime = document["runtime"];
    const bool layers = runtime.value("gpu_layers", nlohmann::json{}) == "auto";
    const bool fit = runtime.value("fit", nlohmann::json{}) == true;
    if (layers) runtime.erase("gpu_layers");
    if (fit) runtime.erase("fit");
    return layers || fit;
}

/// The layers of a share: "0 to 31".
std::string layers_text(const llmres::dealt_share& s) {
    return s.layers() == 0 ? std::string{"none"} : fmt::format("{} to {}", s.first, s.last - 1);
}

void print_shares(const llmres::dealt_layers& dealt, const std::vector<llmres::device_share>& devices) {
    std::vector<table_row> rows;
    for (std::size_t i = 0; i < dealt.gpus; ++i) {
        const llmres::dealt_share& s = dealt.shares[i];
        rows.push_back({std::string{devices[i].gpu.id.view()}, layers_text(s), fmt::format("{}", s.layers()),
                        to_string(s.needed.expected),
                        fmt::format("{} to {}", to_string(s.needed.low), to_string(s.needed.high)), to_string(s.free)});
    }
    print_table({{"gpu"}, {"layers", true}, {"number", true}, {"memory", true}, {"bounds"}, {"free", true}}, rows);
}

llmres::json_value share_json(const llmres::dealt_share& s, const llmres::gpu& card) {
    return {{"gpu", card.id.view()},
            {"first", s.first},
            {"layers", s.layers()},
            {"needed",
             {{"low", s.needed.low.in(llmres::bytes)},
              {"expected", s.needed.expected.in(llmres::bytes)},
              {"high", s.needed.high.in(llmres::bytes)}}},
            {"free", s.free.in(llmres::bytes)}};
}

}  // namespace

bool names_several_gpus(const plan_options& o) {
    const auto typed = o.fields.find("gpu");
    return typed != o.fields.end() && typed->second.find(',') != std::string::npos;
}

int run_mixed(const plan_options& o) {
    const std::string& typed = o.fields.at("gpu");
    for (const char* flag : {"gpus", "device", "svg", "tensor", "pipeline", "data"})
        if (o.fields.contains(flag) || (std::string_view{flag} == "svg" && !o.svg.empty()))
            throw refusal{llmres::refused(llmres::error_code::inconsistent, flag, "given",
                                          "absent where --gpu names several kinds: layers are dealt to all of them")};
    plan_options one = o;
    one.fields["gpu"] = words_of(typed.substr(0, typed.find(','))).name;
    nlohmann::json document = merged(one);
    const bool fitted = take_fit(document);
    llmres::plan_request asked = accept(llmres::read_job(document, folder_of(document, o.source)));
    if (const llmres::status s = in_one_phase(asked); !s) throw refusal{s.error()};
    const std::vector<llmres::device_share> devices = devices_of(typed, asked.cluster.in_use);
    const bool says_length = document.contains("context") || document.contains("prompt") || document.contains("output");
    if (fitted && !says_length) asked.job.context = accept(llmres::context_for_devices(asked.job, devices));
    llmres::dealt_layers dealt = accept(llmres::deal_layers(asked.job, devices));
    const llmres::verdict verdict = verdict_of(asked.job, dealt, asked.cluster.host.memory);
    asked.fitted = fitted || !dealt.complete;
    asked.job = with_dealt_layers(asked.job, dealt);
    // With layers on the host GPUs do not compute batches in turn, and need less.
    if (!dealt.complete && verdict != llmres::verdict::does_not_fit) dealt = accept(deal_layers(asked.job, devices));
    const int exit = verdict == llmres::verdict::does_not_fit ? does_not_fit : fits;
    const llmres::job_plan planned = accept(plan(asked.job, llmres::layout{}, asked.cluster));
    llmres::json_value assumed = llmres::assumptions_of(document, asked, planned);
    assumed.erase("gpus");
    const std::string launch = launch_command(asked.job, dealt);
    if (o.json) {
        llmres::json_value shares = llmres::json_value::array();
        for (std::size_t i = 0; i < dealt.gpus; ++i) shares.push_back(share_json(dealt.shares[i], devices[i].gpu));
        print_answer("mixed", {{"verdict", name_of(verdict)},
                               {"job", llmres::to_json(asked.job)},
                               {"runtime", llmres::runtime_to_json(asked)},
                               {"assumed", assumed},
                               {"shares", shares},
                               {"on_host", dealt.on_host},
                               {"head_on_host", dealt.head_on_host},
                               {"busiest", dealt.busiest},
                               {"launch", launch.empty() ? llmres::json_value(nullptr) : llmres::json_value(launch)}});
        return exit;
    }
    fmt::print("{}, {}, runtime {} on {} GPUs: {}\n\n", asked.job.model.name.view(), name_of(asked.job.task),
               asked.job.runtime.identity.name.view(), dealt.gpus, name_of(verdict));
    print_shares(dealt, devices);
    if (dealt.on_host > 0)
        fmt::print("\n{} of {} layers{} have no room on the GPUs and stay on the host\n", dealt.on_host,
                   asked.job.model.layers.size, dealt.head_on_host ? " and the head" : "");
    fmt::print("\n");
    print_profile(asked.profile);
    print_assumed(assumed);
    if (!launch.empty()) fmt::print("launch   {}\n", launch);
    return exit;
}

}  // namespace program
