// SPDX-License-Identifier: MIT
// `llmres model` as a user or a script meets it: names, configs and files of weights in; counts and bytes out.
#include <doctest/doctest.h>

#include "../model_files.hpp"
#include "../program_checks.hpp"

#include <cstdint>
#include <string>

using namespace model_files;
using namespace program_checks;
using nlohmann::json;
using run_program::scratch;

TEST_CASE("a model is described with its published count, to the parameter") {
    const json m = planned({"model", "llama-3.1-8b"});
    CHECK(m["parameters"]["total"] == 8'030'261'248);
    CHECK(m["kv_bytes_per_token"] == 131'072);
    CHECK(m["weights_bytes"] == 16'060'522'496);
    std::int64_t by_role = 0;
    for (const auto& [role, count] : m["parameters"]["by_role"].items()) by_role += count.get<std::int64_t>();
    CHECK(by_role == m["parameters"]["total"]);
    int layers = 0;
    for (const json& kind : m["layers"]) layers += kind["count"].get<int>();
    CHECK(layers == 32);

    CHECK(planned({"model", "llama-2-70b"})["kv_bytes_per_token"] == 327'680);
    CHECK(planned({"model", "deepseek-v3"})["parameters"]["total"] == 671'026'419'200);
    CHECK(planned({"model", "deepseek-v3"})["parameters"]["stored"] == 684'489'845'504);  // with its MTP layer
    CHECK(planned({"model", "deepseek-v3"})["kv_bytes_per_token"] == 70'272);
    CHECK(planned({"model", "llama-3.1-8b", "--kv_cache", "fp8_e4m3"})["kv_bytes_per_token"] == 65'536);
    CHECK(planned({"model", "llama-3.1-8b", "--weights", "fp8_e4m3"})["weights_bytes"] < 16'060'522'496 * 6 / 10);
}

TEST_CASE("names of presets are found however they are spelled") {
    CHECK(planned({"model", "Llama 3.1 8B"})["name"] == "llama-3.1-8b");
    CHECK(planned({"model", "LLAMA_3.1_8B"})["name"] == "llama-3.1-8b");
    CHECK(run({"models", "70b llama 3.1", "--json"}).json()["models"][0]["name"] == "llama-3.1-70b");
}

TEST_CASE("a GGUF mix is a format of the weights") {
    const json m = planned({"model", "llama-3.1-8b", "--weights", "Q4_K_M"});
    CHECK(m["weights"] == "q4_k_m");
    // bartowski's file has 4,920,739,232 bytes, of which 7,840,928 are its header (tokenizer).
    CHECK(m["weights_bytes"] == 4'912'898'304);
    const json with_matrix = planned({"model", "llama-3.1-8b", "--weights", "Q4_0", "--importance_matrix"});
    CHECK(with_matrix["weights_bytes"] > planned({"model", "llama-3.1-8b", "--weights", "Q4_0"})["weights_bytes"]);
    const json repeated = planned({"model", "qwen2.5-3b", "--weights", "Q8_0", "--tied_head_stored"});
    CHECK(repeated["weights_bytes"].get<std::int64_t>() -
              planned({"model", "qwen2.5-3b", "--weights", "Q8_0"})["weights_bytes"].get<std::int64_t>() ==
          std::int64_t{151936} * 2048 / 32 * 34);
    refused({"model", "llama-3.1-8b", "--importance_matrix"}, {"importance_matrix", "--weights"});
    refused({"model", "llama-3.1-8b", "--weights", "bf16", "--tied_head_stored"}, {"tied_head_stored", "--weights"});
    const json p = planned(small_job + arguments{"--weights", "q4_k_m", "--runtime", "llama.cpp"});
    consistent(p);
    CHECK(p["job"]["weights"] == "q4_k_m");
    CHECK(p["memory"]["terms"]["weights"].get<std::int64_t>() < 4'950'000'000);
}

TEST_CASE("a GGUF file is counted by what it stores, and held against what its metadata predict") {
    const scratch s;
    const llmres::gguf_mix mix = *llmres::find_gguf_mix("mix", "Q4_K_M");
    const std::string file = s.file("small.gguf", llama_gguf(mix).bytes());
    const json m = planned({"model", file});
    CHECK(m["weights"] == "q4_k_m");
    CHECK(m["parameters"]["total"] ==
          2 * 1000 * 256 + 4 * (2 * 256 * 256 + 2 * 64 * 256 + 3 * 512 * 256 + 2 * 256) + 256);
    CHECK(m["stored"]["differences"].empty());
    CHECK(m["stored"]["by_role"]["embed_tokens"] == 1000 * 144);  // q4_k: 144 bytes for 256
    CHECK(m["stored"]["by_role"]["lm_head"] == 1000 * 210);       // q6_k
    std::int64_t sum = 0;
    for (const auto& [role, size] : m["stored"]["by_role"].items()) sum += size.get<std::int64_t>();
    CHECK(sum == m["stored"]["tensors"]);
    CHECK(sum <= m["weights_bytes"].get<std::int64_t>());  // with padding: of one tensor here
    CHECK(m["weights_bytes"].get<std::int64_t>() < sum + 32);
    CHECK(m["stored"]["files"].get<std::int64_t>() > sum);

    llmres::gguf_mix other = mix;
    other.embedding = llmres::gguf_type::Q8_0;
    const json changed = planned({"model", s.file("changed.gguf", llama_gguf(other).bytes())});
    REQUIRE(changed["stored"]["differences"].size() == 1);
    CHECK(changed["stored"]["differences"][0] ==
          json{{"what", "embed_tokens"}, {"layer", nullptr}, {"predicted", 144'000}, {"stored", 272'000}});
    CHECK(run({"model", s.file("changed.gguf", llama_gguf(other).bytes())}).out.find("embed_tokens: ") !=
          std::string::npos);
    CHECK(planned({"plan", file, "--gpu", "rtx-4090", "--runtime", "llama.cpp"})["job"]["weights"] == "q4_k_m");
}

TEST_CASE("a safetensors file is counted by what it stores, and held against its config.json") {
    const scratch s;
    s.file("model/config.json", llama_config().dump());
    const json m = planned({"model", s.file("model/model.safetensors", llama_safetensors())});
    CHECK(m["stored"]["differences"].empty());
    CHECK(m["stored"]["tensors"] == m["weights_bytes"]);
    CHECK(m["stored"]["by_role"]["down_proj"] == 4 * 2 * 512 * 256);
    CHECK(run({"model", (s.path() / "model/model.safetensors").string()}).out.find("to the byte") != std::string::npos);

    const json other = planned({"model", s.file("model/model.safetensors", llama_safetensors([](json& tensors) {
                                                    tensors.erase("model.layers.3.self_attn.o_proj.weight");
                                                    tensors["model.norm.weight"]["dtype"] = "F32";
                                                    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {
                                                        {"dtype", "F32"}, {"shape", {16}}};
                                                }))});
    const json& differences = other["stored"]["differences"];
    REQUIRE(differences.size() == 3);
    CHECK(differences[0] == json{{"what", "norm"}, {"layer", nullptr}, {"predicted", 9 * 512}, {"stored", 10 * 512}});
    CHECK(differences[1] == json{{"what", "o_proj"}, {"layer", nullptr}, {"predicted", 524'288}, {"stored", 393'216}});
    CHECK(differences[2] == json{{"what", "other"}, {"layer", nullptr}, {"predicted", 0}, {"stored", 64}});
}

TEST_CASE("a checkpoint of several formats is planned as it is stored") {
    const scratch s;
    json config = llama_config();
    json by_module = json::object();
    by_module["lm_head"] = {{"quant_algo", "NVFP4"}};
    for (int i = 0; i < 4; ++i) {
        by_module["model.layers." + std::to_string(i) + ".self_attn"] = {{"quant_algo", "FP8"}};
        if (i > 0) by_module["model.layers." + std::to_string(i) + ".mlp"] = {{"quant_algo", "NVFP4"}};
    }
    config["quantization_config"] = {
        {"quant_method", "modelopt"}, {"quant_algo", "MIXED_PRECISION"}, {"quantized_layers", by_module}};
    const std::string file = s.file("mixed/config.json", config.dump());
    const auto nvfp4 = [](std::int64_t rows, std::int64_t columns) {
        return rows * columns / 2 + rows * columns / 16 + 8;
    };  // and two scales
    const std::int64_t attention = 2 * 256 * 256 + 2 * 64 * 256 + 4 * 8;
    const std::int64_t feed_forward = 3 * (2 * 512 * 256) + 3 * 3 * nvfp4(512, 256);
    const std::int64_t norms = (4 * 2 + 1) * 256 * 2;
    const std::int64_t expected = 2 * 1000 * 256 + nvfp4(1000, 256) + 4 * attention + feed_forward + norms;
    CHECK(planned({"model", file})["weights_bytes"] == expected);
    const json p = planned({"plan", file, "--gpu", "b200"});
    CHECK(p["memory"]["terms"]["weights"] == expected);
    CHECK(p["job"]["weights"] == "nvfp4_static");
    CHECK(planned({"plan", file, "--gpu", "b200", "--weights", "bf16"})["memory"]["terms"]["weights"] == 2 * 2'742'528);
}

TEST_CASE("a diffusion model's denoiser is counted from its name and from its config") {
    const scratch s;
    CHECK(planned({"model", "SDXL"})["parameters"]["total"] == 2'567'463'684);
    const std::string file =
        s.file("flux/config.json", R"({"_class_name": "FluxTransformer2DModel", "guidance_embeds": true})");
    CHECK(planned({"model", file})["parameters"]["total"] == 11'901'408'320);
    CHECK(planned({"model", file})["name"] == "flux");
    CHECK(run({"model", file}).exit == fits);
    refused({"model", s.file("other/config.json", R"({"_class_name": "SD3Transformer2DModel"})")},
            {"_class_name", "SD3Transformer2DModel"});
}
