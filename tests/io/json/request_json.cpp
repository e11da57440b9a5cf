// SPDX-License-Identifier: MIT
#include <llmres/io/json/request_json.hpp>

#include <doctest/doctest.h>
#include <llmres/models/llama.hpp>

#include <cstdint>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/runtime_json.hpp>
#include <llmres/jobs/layer_parts.hpp>
#include <llmres/runtimes/all.hpp>
#include <string>

using namespace llmres;
using nlohmann::json;

namespace {

/// A served job under a runtime.
result<plan_request> served_by(const json& runtime) {
    const json document{{"model", "llama-3.1-8b"}, {"cluster", {{"gpu", "h100"}, {"gpus", 1}}}, {"runtime", runtime}};
    return read_job(document);
}
/// What is told of a document's runtime; null where the document is refused.
json told_of(const json& runtime) {
    const result<plan_request> read = served_by(runtime);
    if (!read) return nullptr;
    return detail::same_json<json>(to_json(read->job.runtime, read->job.options, &read->profile.runtime));
}
json constants_of(const json& runtime) {
    const result<plan_request> read = served_by(runtime);
    REQUIRE(read);
    return detail::same_json<json>(detail::constants_to_json(read->job.runtime));
}

/// A training job's own part of an answer.
json told_job(const json& more) {
    json document{{"model", "llama-3.2-1b"}, {"cluster", {{"gpu", "h100"}, {"gpus", 1}}}};
    document.merge_patch(more);
    const result<plan_request> read = read_job(document);
    CAPTURE(document.dump());
    REQUIRE(read);
    return detail::same_json<json>(to_json(read->job));
}

}  // namespace

TEST_CASE("each knob that a document turns is told, and what is told turns it again") {
    int turned = 0;
    for (const char* name : {"vllm", "sglang", "llama.cpp", "tensorrt-llm", "mlx"}) {
        const result<runtime> known = find_runtime(name);
        REQUIRE(known);
        const json plain = told_of(name);
        REQUIRE(plain.is_object());
        CHECK(plain == json{{"name", name}, {"versions", known->identity.versions.view()}});
        for (const knob& k : known->identity.knobs)
            for (const json& value : {json(true), json(false), json(1), json(3)}) {
                const json asked{{"name", name}, {std::string{k.name}, value}};
                const json told = told_of(asked);
                if (told.is_null()) continue;
                CAPTURE(asked.dump());
                CAPTURE(told.dump());
                CHECK(told_of(told) == told);
                if (told == plain) continue;
                ++turned;
                CHECK(constants_of(told) == constants_of(asked));
            }
    }
    CHECK(turned > 30);
}

TEST_CASE("what is told of knobs, under the software's own names") {
    const auto differs = [](json runtime) {  // from the profile
        json told = told_of(runtime);
        REQUIRE(told.is_object());
        told.erase("name"), told.erase("versions");
        return told;
    };
    CHECK(differs({{"name", "vllm"}, {"gpu_memory_utilization", 0.5}}) == json{{"gpu_memory_utilization", 0.5}});
    CHECK(differs({{"name", "vllm"}, {"max_num_batched_tokens", 1234}}) == json{{"max_batched_tokens", 1234}});
    CHECK(differs({{"name", "vllm"}, {"kv_cache_memory_bytes", 5}}) == json{{"kv_cache_memory_bytes", 5}});
    CHECK(differs({{"name", "vllm"}, {"num_gpu_blocks_override", 1}}) == json{{"num_gpu_blocks_override", 1}});
    CHECK(differs({{"name", "vllm"}, {"enforce_eager", true}}) == json{{"enforce_eager", true}});
    CHECK(differs({{"name", "vllm"}, {"enforce_eager", false}}) == json::object());
    CHECK(differs({{"name", "vllm"}, {"enable_prefix_caching", false}}) == json{{"enable_prefix_caching", false}});
    CHECK(differs({{"name", "sglang"}, {"disable_cuda_graph", true}}) == json{{"disable_cuda_graph", true}});
    CHECK(differs({{"name", "sglang"}, {"max_total_tokens", 1}}) == json{{"max_total_tokens", 1}});
    CHECK(differs({{"name", "llama.cpp"}, {"n_cpu_moe", 1}}).value("n_cpu_moe", 0) == 1);
    CHECK(differs({{"name", "llama.cpp"}, {"swa_full", true}}) == json{{"swa_full", true}});
    CHECK(differs({{"name", "vllm"}, {"cuda", 11}}) == json{{"cuda", 11}});
    CHECK(differs({{"name", "vllm"}, {"cuda", 12}}) == json::object());
    const json draft = differs({{"name", "vllm"}, {"draft", "llama-3.2-1b"}});
    REQUIRE(draft.contains("draft"));
    CHECK(draft["draft"]["weights_bytes"] > 2'000'000'000);
    CHECK(draft["draft"]["kv_bytes_per_token"] == 32'768);
    // Without the profile it is sought among those that are compiled; of another one the name alone is told.
    CHECK(to_json(runtimes::vllm, {}).size() == 2);
    runtime other = runtimes::vllm;
    other.cache.fraction = 0.125;
    CHECK(to_json(other, {}).value("gpu_memory_utilization", 0.0) == 0.125);
    other.identity.versions = "nobody's";
    CHECK(to_json(other, {}).size() == 2);
    CHECK(to_json(other, {}, &runtimes::vllm)["gpu_memory_utilization"] == 0.125);
}

TEST_CASE("modules and targets are written as they are read") {
    CHECK(to_text(layer_part_set{}).empty());
    for (std::size_t i = 0; i < names_of<layer_part>.size(); ++i) {
        const auto part = static_cast<layer_part>(i);
        CHECK(to_text(layer_part_set{part}) == name_of(part));
    }
    CHECK(to_text(layer_part_set{layer_part::layernorm, layer_part::core_attn}).find(',') != std::string::npos);
    const json training{{"task", "finetuning"}, {"sequence", 512}};
    const auto with = [&](json more) {
        json document = training;
        document.merge_patch(more);
        return told_job(document);
    };
    CHECK_FALSE(with(json::object()).contains("recompute_modules"));
    CHECK_FALSE(with({{"recompute", "selective"}, {"recompute_modules", "core_attn"}}).contains("recompute_modules"));
    CHECK(with({{"recompute", "selective"}, {"recompute_modules", "layernorm"}})["recompute_modules"] == "layernorm");
    CHECK(with({{"adapter", {{"kind", "lora"}, {"rank", 8}, {"targets", "v_proj,q_proj"}}}})["adapter"]["targets"] ==
          "q_proj,v_proj");
    CHECK_FALSE(with(json::object())["adapter"].contains("targets"));
    CHECK_FALSE(with(json::object())["offload"].contains("modules"));
    CHECK_FALSE(with(json::object()).contains("optimizer_in_bwd"));
    CHECK_FALSE(with(json::object()).contains("preference"));
    CHECK_FALSE(with(json::object()).contains("reference"));
    const json taught = with({{"preference", "gkd"}, {"teacher", "llama-3.1-8b"}, {"beta", 0.25}});
    CHECK(taught["teacher"] == "llama-3.1-8b");
    CHECK(taught["teacher_weights"] == "bf16");
    CHECK(taught["beta"] == 0.25);
    CHECK_FALSE(taught.contains("reference"));
}

TEST_CASE("prompts are told where a document gives them or an output, and nothing is said of them otherwise") {
    CHECK(told_job({{"context", 4096}})["prompt"].is_null());
    CHECK(told_job({{"prompt", 1000}, {"output", 24}})["prompt"] == 1000);
    CHECK(told_job({{"prompt", 1000}, {"output", 24}})["context"] == 1024);
    CHECK(told_job({{"context", 4096}, {"prompt", 1000}})["prompt"] == 1000);
    CHECK(told_job({{"context", 4096}, {"output", 96}})["prompt"] == 4000);
    CHECK_FALSE(told_job(json::object()).contains("labels"));
    CHECK_FALSE(told_job(json::object()).contains("sequence"));
}

TEST_CASE("a cluster is told by its names and figures, and what was measured of its GPU beside them") {
    cluster c{.gpu = gpus::h100_sxm5_80gb, .gpus = 3};
    const json plain = detail::same_json<json>(to_json(c));
    CHECK(plain["gpu"] == "h100-sxm5-80gb");
    CHECK(plain["gpus"] == 3);
    CHECK(plain["gpus_per_node"] == c.node_size());
    CHECK(plain["scale_up"].is_null());
    CHECK_FALSE(plain.contains("host"));
    CHECK_FALSE(plain.contains("measured"));
    const result<plan_request> read =
        read_job(json{{"model", "llama-3.2-1b"},
                      {"cluster",
                       {{"gpu", "h100"},
                        {"gpus", 16},
                        {"gpus_per_node", 4},
                        {"scale_out", "ib-ndr-400"},
                        {"in_use", 1'000'000},
                        {"host", {{"memory", 64'000'000'000}, {"cores", 32}, {"link", "pcie-gen4-x16"}}}}}});
    const error& e = read.error();
    CAPTURE(std::string{e.field.view()});
    REQUIRE(read);
    const json told = detail::same_json<json>(to_json(read->cluster));
    CHECK(told["gpus_per_node"] == 4);
    CHECK(told["scale_out"] == "ib-ndr-400");
    CHECK(told["in_use"] == 1'000'000);
    CHECK(told["host"]["memory"] == 64'000'000'000);
    CHECK(told["host"]["cores"] == 32);
    CHECK(told["host"]["link"] == "pcie-gen4-x16");
    c.gpu.measured.fp16 = flops_per_s(5e14);
    c.gpu.measured.bandwidth = bytes_per_s(3e12);
    c.gpu.measured.context = mib(500);
    const json measured = detail::same_json<json>(to_json(c))["measured"];
    CHECK(measured["fp16"] == 5e14);
    CHECK(measured["bandwidth"] == 3e12);
    CHECK(measured["context"] == 500 * 1'048'576);
    for (const char* rate : {"tf32", "bf16", "fp8", "int8"}) CHECK_FALSE(measured.contains(rate));
}

TEST_CASE("a value is the same in either type of JSON, whatever its kind") {
    for (const json& value : {json(nullptr), json(true), json(-3), json(std::uint64_t{1} << 63), json(2.5), json("a"),
                              json::array(), json({1, {2, "b"}}), json::object(), json{{"a", {{"b", {1, nullptr}}}}}}) {
        CHECK(detail::same_json<json_value>(value).dump() == value.dump());
        CHECK(detail::same_json<json>(detail::same_json<json_value>(value)) == value);
    }
}

TEST_CASE("the stages of a layout and the roles of an adapter are told from the first to the last") {
    stage_list stages;
    stages.chunks = 4;
    stages.layers[0] = 20, stages.layers[1] = stages.layers[2] = 22, stages.layers[3] = 16;
    CHECK(to_text(stages) == "20|22|22|16");
    stages.prediction = 4;
    CHECK(to_text(stages) == "20|22|22|16m");
    adapter a;
    for (std::size_t i = 0; i < names_of<weight_role>.size(); ++i) {
        a.targets = {};
        a.targets.insert(static_cast<weight_role>(i));
        CHECK(target_names(a) == name_of(static_cast<weight_role>(i)));
    }
}

TEST_CASE("each knob that differs from the profile is told alone, one by one") {
    const auto told = [](const runtime& r, const runtime& p, std::string_view key) {
        const json all = detail::same_json<json>(to_json(r, {}, &p));
        return all.contains(std::string{key}) ? all.at(std::string{key}) : json{};
    };
    int overlapping = 0, sharing = 0, capturing = 0, windowed = 0;
    for (const runtime* known : runtimes::all) {
        const runtime& p = *known;
        const auto name = [&](knob_setting setting) { return knob_name(p.identity.knobs, setting); };
        runtime r = p;
        if (const auto key = name(knob_setting::overlaps_steps); !key.empty()) {
            CHECK(told(r, p, key).is_null());
            r.cache.in_flight =
                p.cache.in_flight == steps_in_flight::stages_ahead ? steps_in_flight{} : steps_in_flight::stages_ahead;
            CHECK(told(r, p, key) == json(r.cache.in_flight == steps_in_flight::stages_ahead));
            ++overlapping;
        }
        r = p;
        if (const auto key = name(knob_setting::shares_prefixes); !key.empty()) {
            r.cache.shares_prefixes = !p.cache.shares_prefixes;
            CHECK(told(r, p, key) == json(r.cache.shares_prefixes));
            ++sharing;
        }
        r = p;
        if (const auto key = name(knob_setting::graph_context); !key.empty()) {
            CHECK(told(r, p, key).is_null());
            r.launches.graph_context = tokens(2);  // one and none say that nothing is captured
            CHECK(told(r, p, key) == json(2));
            r.launches.graph_context = tokens(1);
            CHECK(told(r, p, key).is_null());
            ++capturing;
        }
        r = p;
        if (const auto key = name(knob_setting::window_part); !key.empty() && p.cache.window_part) {
            r.cache.window_part = {};
            CHECK(told(r, p, key).is_null());
            ++windowed;
        }
        r = p;
        r.cache.fraction = 1.0;
        if (!p.cache.fraction) CHECK(told(r, p, "gpu_memory_utilization") == json(1.0));
    }
    CHECK(overlapping > 0);
    CHECK(sharing > 0);
    CHECK(capturing > 0);
    CHECK(windowed > 0);
}

TEST_CASE("a prompt alone is told, and so is an output alone") {
    job j{.model = models::llama_3_1_8b, .prompt = tokens(300)};
    CHECK(detail::same_json<json>(to_json(j)).at("prompt") == json(300));
    j.prompt = {};
    CHECK(detail::same_json<json>(to_json(j)).at("prompt").is_null());
}

TEST_CASE("lists are the same in either type of JSON") {
    const json list = {1, "two", {3, nullptr}, {{"four", {4.5}}}};
    CHECK(detail::same_json<json>(detail::same_json<nlohmann::ordered_json>(list)) == list);
}
