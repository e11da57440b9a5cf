// SPDX-License-Identifier: MIT
#include <llmres/io/files/adapter_folder.hpp>

#include <doctest/doctest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <llmres/io/files.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "../../model_files.hpp"
#include "../../scratch.hpp"

using namespace llmres;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// An adapter's folder, gone with the test.
struct saved_adapter : run_program::scratch {
    explicit saved_adapter(const json& config) { file("adapter_config.json", config.dump()); }
    result<model_source> read() const { return find_model_source(path().string()); }
    result<plan_request> job(const json& more) const {
        json document = {{"model", path().string()}, {"cluster", {{"gpu", "a100-sxm4-80gb"}, {"gpus", 1}}}};
        document.update(more);
        return read_job(document, fs::path{});
    }
};

json config_of(const std::string& base) {
    return {
        {"peft_type", "LORA"}, {"base_model_name_or_path", base}, {"r", 32}, {"target_modules", {"q_proj", "v_proj"}}};
}

}  // namespace

TEST_CASE("an adapter's folder is its base, with the adapter resident in serving and trained further in finetuning") {
    const saved_adapter folder{config_of("Qwen/Qwen3-8B")};
    const auto read = folder.read();
    REQUIRE(read);
    CHECK(read->model.name == "qwen3-8b");
    REQUIRE(read->adapter);
    CHECK(read->adapter->rank == 32);
    CHECK(read->adapter->targets == role_set{weight_role::q_proj, weight_role::v_proj});
    const auto serving = folder.job({{"runtime", "vllm"}});
    REQUIRE(serving);
    CHECK(serving->job.options.max_loras == 1);
    CHECK(serving->job.options.max_lora_rank == 32);
    const auto training = folder.job({{"task", "finetuning"}, {"sequence", 1024}});
    REQUIRE(training);
    CHECK(training->job.adapter.kind == adapter_kind::lora);
    CHECK(training->job.adapter.rank == 32);
    const json own{{"task", "finetuning"}, {"sequence", 1024}, {"adapter", {{"kind", "lora"}, {"rank", 8}}}};
    CHECK(folder.job(own)->job.adapter.rank == 8);
}

TEST_CASE("one layer that makes queries, keys and values is all three of an adapter's targets") {
    nlohmann::json config = config_of("Qwen/Qwen-7B");
    CHECK_FALSE(saved_adapter{config}.read()->adapter->joined_heads);
    for (const nlohmann::json& modules : {nlohmann::json{"transformer.h.0.attn.c_attn"}, nlohmann::json("c_attn")}) {
        config["target_modules"] = modules;
        const auto read = saved_adapter{config}.read();
        REQUIRE(read);
        CHECK(read->adapter->targets == joined_head_roles);
        CHECK(read->adapter->joined_heads);
    }
}

TEST_CASE("the base may lie beside the adapter; one that nobody knows is refused by the field, with the remedy") {
    const saved_adapter folder{config_of("base")};
    const error unknown = folder.read().error();
    CHECK(unknown.field == "base_model_name_or_path");
    CHECK(unknown.value == "base");
    CHECK(unknown.expected.view().find("--max_loras") != std::string_view::npos);
    fs::create_directory(folder.path() / "base");
    std::ofstream{folder.path() / "base" / "config.json"} << model_files::llama_config().dump();
    CHECK(folder.read()->model.hidden == 256);
}

TEST_CASE("what an adapter_config.json lacks or says wrongly is refused by its field") {
    const auto field_of = [](const char* key, const json& value) {
        json config = config_of("llama-3.1-8b");
        config[key] = value;
        return std::string{saved_adapter{config}.read().error().field.view()};
    };
    CHECK(field_of("base_model_name_or_path", nullptr) == "base_model_name_or_path");
    CHECK(field_of("peft_type", "VERA") == "peft_type");
    CHECK(field_of("r", 0) == "r");
    CHECK(field_of("target_modules", {"warp_drive"}) == "target_modules");
    CHECK(field_of("base_model_name_or_path", "../..") == "base_model_name_or_path");
}

TEST_CASE("of several fields that are wrong the first is named, and an absent base as absent") {
    const auto error_of = [](const json& changes) {
        json config = config_of("llama-3.1-8b");
        config.update(changes);
        return saved_adapter{config}.read().error();
    };
    CHECK(error_of({{"base_model_name_or_path", 7}, {"peft_type", "VERA"}}).field == "base_model_name_or_path");
    CHECK(error_of({{"r", 0}, {"target_modules", "warp_drive"}}).field == "r");
    CHECK(error_of({{"base_model_name_or_path", nullptr}}).code == error_code::missing);
    CHECK(error_of({{"base_model_name_or_path", ""}}).value == "absent");
}

TEST_CASE("DoRA and rank-stabilised LoRA are kinds of their own") {
    for (const auto& [field, kind] :
         {std::pair{"use_dora", adapter_kind::dora}, {"use_rslora", adapter_kind::rslora}}) {
        json config = config_of("Qwen/Qwen3-8B");
        config[field] = true;
        CHECK(saved_adapter{config}.read()->adapter->kind == kind);
        config[field] = false;
        CHECK(saved_adapter{config}.read()->adapter->kind == adapter_kind::lora);
        config[field] = "yes";
        CHECK(saved_adapter{config}.read().error().field == field);
    }
}

TEST_CASE("without targets an adapter has the usual ones, and targets that are no list of names are refused") {
    json config = config_of("Qwen/Qwen3-8B");
    config.erase("target_modules");
    CHECK(saved_adapter{config}.read()->adapter->targets == adapter{}.targets);
    for (const json& wrong :
         {json("all-the-rest"), json(7), json::array({"q_proj", 7, "k_proj"}), json::array({"tower"})}) {
        CAPTURE(wrong.dump());
        config["target_modules"] = wrong;
        CHECK(saved_adapter{config}.read().error().field == "target_modules");
    }
}

TEST_CASE("a folder with a config.json beside the adapter is that of a model") {
    const saved_adapter folder{config_of("Qwen/Qwen3-8B")};
    folder.file("config.json", model_files::llama_config().dump());
    const auto read = folder.read();
    REQUIRE(read);
    CHECK(read->model.hidden == 256);
    CHECK_FALSE(read->adapter.known);
    const saved_adapter broken{json::object()};
    broken.file("adapter_config.json", "{");
    CHECK_FALSE(broken.read());
}
