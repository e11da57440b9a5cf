// SPDX-License-Identifier: MIT
// Every field of a job document is read: into the C++ field of its name, within its bounds, where its task has it.
#include "../../job_documents.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <llmres/jobs/find_names.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>

using namespace job_documents;

namespace {

// ---- how many fields an aggregate has: a field that JSON forgot makes a count below differ --------------------------

struct anything {
    template <class T>
    constexpr operator T() const;  // NOLINT(google-explicit-constructor)
};

template <class Aggregate, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return requires { Aggregate{(static_cast<void>(I), anything{})...}; };
}
template <class Aggregate, std::size_t Count = 64>
constexpr std::size_t field_count() {
    if constexpr (takes<Aggregate>(std::make_index_sequence<Count>{}))
        return Count;
    else
        return field_count<Aggregate, Count - 1>();
}
struct three {
    int a;
    double b;
    maybe<precision> c;
};
static_assert(field_count<three>() == 3);

std::size_t described(std::string_view object) {
    std::size_t count = 0;
    for (const job_field& f : job_fields) count += f.object == object ? 1 : 0;
    return count;
}

}  // namespace

TEST_CASE("every field of a job, a layout, a cluster and a host has its JSON key") {
    // If one of these fails, a field was added to the C++ type: give it a row in job_fields.hpp, or count it here if a
    // document gives it by other means.
    // Objects: model, adapter, offload, and runtime, under which the options stand, too. gguf is a kind of weights.
    // experts_down, head and labels are the model's, and optimizer_in_bwd is of the optimizer.
    // passes_before_step and scored are the rollout's, and teacher_weights is the teacher's. Of images a document gives
    // the size, how many there are and their patches.
    CHECK(field_count<job>() + 5 + 2 == described("") + 5 + 1 + 2);
    CHECK(field_count<adapter>() == described("adapter") + 1);  // joined_heads is among the targets
    CHECK(field_count<offload>() == described("offload"));
    CHECK(field_count<layout>() + 1 == described("layout"));  // tensor_split are stages by ratios
    // host is an object; device is a file that gives the gpu, and three fields describe it
    CHECK(field_count<cluster>() + 1 + 3 == described("cluster") + 1);
    CHECK(field_count<host>() == described("host"));
}

TEST_CASE("every job_field reaches the C++ field of its name") {
    for (const job_field& f : job_fields) {
        const std::string key = std::string{f.object} + "." + std::string{f.name};
        CAPTURE(key);
        const json value = another_value(f);
        const plan_request given = read(with(f, value)), plain = read(without(f));
        const auto found = examples().find(key);
        REQUIRE((f.place.owner != nullptr) == (found == examples().end()));
        // The value differs from the default, or it would prove nothing.
        if (f.place.owner != nullptr) {
            CHECK(held(f, given) == value);
            CHECK(held(f, plain) != value);
        } else {
            CHECK(found->second.seen(given));
            CHECK_FALSE(found->second.seen(plain));
        }
    }
}

TEST_CASE("several names are a list or a string with commas") {
    for (const char* field : {"recompute_modules", "modules", "targets"}) {
        CAPTURE(field);
        const auto f = std::find_if(job_fields.begin(), job_fields.end(),
                                    [&](const job_field& each) { return each.name == field; });
        const json names =
            field == std::string{"targets"} ? json::array({"q_proj", "v_proj"}) : json::array({"core_attn", "moe_act"});
        const result<plan_request> listed = read_job(with(*f, names));
        const result<plan_request> written =
            read_job(with(*f, names[0].get<std::string>() + "," + names[1].get<std::string>()));
        REQUIRE(listed);
        REQUIRE(written);
        CHECK(listed->job.adapter == written->job.adapter);
        CHECK(listed->job.recompute_modules == written->job.recompute_modules);
        CHECK(listed->job.offload.modules == written->job.offload.modules);
        for (const json& wrong :
             {json::array({"q_proj", 3}), json::array({"nonsense"}), json::array({json::array()})}) {
            const result<plan_request> refused = read_job(with(*f, wrong));
            REQUIRE_FALSE(refused);
            CHECK(std::string{refused.error().field.view()}.ends_with(field));
        }
    }
}

TEST_CASE("every number is refused outside its bounds, by its path") {
    for (const job_field& f : job_fields) {
        if (f.type != field_type::integer && f.type != field_type::real) continue;
        CAPTURE(std::string{f.name});
        for (const json& value : {json(-1), json(1e30), json("1"), json(true), json::array(), json(f.high * 2)}) {
            if (value.is_number() && f.object == "host" && f.name == "bandwidth" && value == 2e18) continue;
            CAPTURE(value.dump());
            const result<plan_request> made = read_job(with(f, value));
            REQUIRE_FALSE(made);
            CHECK(std::string{made.error().field.view()}.find(std::string{f.name}) != std::string::npos);
            CHECK_FALSE(made.error().expected.empty());
        }
    }
}

TEST_CASE("every flag and every text is refused when it is of another type, or no name there is, by its path") {
    for (const job_field& f : job_fields) {
        if (f.type != field_type::flag && f.type != field_type::text) continue;
        CAPTURE(std::string{f.object} + "." + std::string{f.name});
        for (const json& value : {json(1.5), json("no such name"), json::object({{"a", 1}}), json::array({1})}) {
            CAPTURE(value.dump());
            const result<plan_request> made = read_job(with(f, value));
            REQUIRE_FALSE(made);
            CHECK(std::string{made.error().field.view()}.find(std::string{f.name}) != std::string::npos);
            CHECK_FALSE(made.error().expected.empty());
        }
    }
}

TEST_CASE("no two flags have one name, and each has help") {
    std::map<std::string, int> seen;
    for (const job_field& f : job_fields) {
        CAPTURE(std::string{f.name});
        CHECK(++seen[flag_of(f)] == 1);
        CHECK_FALSE(f.help.empty());
        CHECK_FALSE(f.group.empty());
        CHECK(find_job_field(f.object, f.name) == &f);
    }
    CHECK(find_job_field("layout", "batch") == nullptr);
}

TEST_CASE("each document of tests/data/jobs is planned, and listed among the documents") {
    const std::filesystem::path folder = LLMRES_SOURCE_DIR "/tests/data/jobs";
    const std::string documented = content_of(LLMRES_SOURCE_DIR "/docs/program.md");
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        if (entry.path().extension() != ".json") continue;
        const std::string name = entry.path().filename().string();
        CAPTURE(name);
        CHECK(documented.find("`" + name + "`") != std::string::npos);
        planned(read(json::parse(content_of(entry.path())), folder));
    }
}

TEST_CASE("every optimizer, loss and knob of a runtime has its name in the documents") {
    const std::string documented = content_of(LLMRES_SOURCE_DIR "/docs/program.md");
    const auto named = [&](std::string_view name) {
        return documented.find("`" + std::string{name} + "`") != std::string::npos;
    };
    for (const optimizer& each : optimizers) {
        CAPTURE(std::string{each.name.view()});
        CHECK(named(each.name.view()));
    }
    for (const knob& each : common_knobs) CHECK_MESSAGE(named(each.name), std::string{each.name});
    for (const runtime* each : runtimes::all)
        for (const knob& its : each->identity.knobs) CHECK_MESSAGE(named(its.name), std::string{its.name});
    for (const runtime* each : runtimes::all)
        if (takes_fraction(each->cache)) {
            CAPTURE(std::string{each->cache.fraction_name.view()});
            CHECK(named(each->cache.fraction_name.view()));
        }
    for (const std::string_view loss : names_of<loss_code>) {
        CAPTURE(std::string{loss});
        CHECK(named(loss));
    }
}

TEST_CASE("what only the other kind of task has is refused, and what hangs on a field that is not there") {
    const auto refused = [](const json& more, std::string_view field) {
        json document = minimal();
        document.merge_patch(more);
        CAPTURE(document.dump());
        const result<plan_request> made = read_job(document);
        const error e =
            made ? (made->layout ? plan(made->job, *made->layout, made->cluster) : plan(made->job, made->cluster))
                       .error()
                 : made.error();
        CHECK(e.field == field);
        CHECK_FALSE(e.expected.empty());
    };
    for (const job_field& f : job_fields) {
        const bool training = f.group == "Training" || f.group == "Adapter" || f.group == "Offload";
        if (!training && f.group != "Serving") continue;
        json document = with(f, another_value(f));
        document["task"] = training ? "serving" : "finetuning";
        if (f.name != "teacher") document.erase("teacher");
        CAPTURE(document.dump());
        const result<plan_request> made = read_job(document);
        REQUIRE_FALSE(made);
        CHECK(made.error().code == error_code::inconsistent);
        CHECK((made.error().field == f.name || made.error().field == f.object || made.error().field == "recompute"));
    }
    refused({{"task", "finetuning"}, {"adapter", {{"rank", 8}}}}, "adapter.kind");
    refused({{"task", "finetuning"}, {"mean_length", 100}}, "mean_length");
    refused({{"task", "finetuning"}, {"recompute_every", 2}}, "recompute_every");
    refused({{"task", "finetuning"}, {"mtp_use_repeated_layer", true}}, "mtp_use_repeated_layer");
    refused({{"task", "finetuning"}, {"recompute", "full"}, {"recompute_modules", "core_attn"}}, "recompute_modules");
    refused({{"task", "finetuning"}, {"runtime", {{"name", "megatron"}, {"fp8_param_gather", true}}}},
            "runtime.fp8_param_gather");
    refused({{"cluster", {{"gpus", 2}}}, {"layout", {{"data", 2}, {"expert", 2}}}}, "layout.expert");
    json null_fields = minimal();
    null_fields["micro_batch"] = nullptr;  // absent
    CHECK(read_job(null_fields));
}
