// SPDX-License-Identifier: MIT
#include <llmres/io/model_source.hpp>

#include <doctest/doctest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <string>

using namespace llmres;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const fs::path data = LLMRES_SOURCE_DIR "/tests/data";

/// A folder with a small checkpoint, gone with the test.
struct folder {
    fs::path path;
    folder() {
        std::string pattern = (fs::temp_directory_path() / "llmres-source-XXXXXX").string();
        if (mkdtemp(pattern.data()) != nullptr) path = pattern;
    }
    ~folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    fs::path write(const char* name, const std::string& content) const {
        std::ofstream{path / name, std::ios::binary} << content;
        return path / name;
    }
};

/// A safetensors file: eight bytes of length, the header, and as many zeros as it lists.
std::string safetensors(const json& header, std::size_t data_bytes) {
    const std::string text = header.dump();
    std::string file;
    for (int i = 0; i < 8; ++i) file += static_cast<char>((text.size() >> (8 * i)) & 0xff);
    return file + text + std::string(data_bytes, '\0');
}

}  // namespace

TEST_CASE("a preset is found by its id and by what people write") {
    for (const char* name : {"llama-3.1-8b", "Llama 3.1 8B", "LLAMA_3.1_8B", "meta-llama/Llama-3.1-8B-Instruct"}) {
        CAPTURE(name);
        const auto found = find_model_source(name);
        REQUIRE(found);
        CHECK(found->model.name == "llama-3.1-8b");
        CHECK_FALSE(found->gguf);
    }
    CHECK(find_model_source("llama-3.1-9b").error().code == error_code::unknown);
    CHECK(std::string{find_model_source("llama-3.1-9b").error().expected.view()}.find("llama-3.1-8b") !=
          std::string::npos);
    CHECK(find_model_source("xyzzy").error().field == "model");
    CHECK(find_model_source("").error().code == error_code::malformed);
    CHECK(find_model_source(std::string_view{"a\0b", 3}).error().code == error_code::malformed);
}

TEST_CASE("a config.json is read by its path, by its folder's, and from the folder that a path starts in") {
    const auto by_file = find_model_source((data / "configs/tiny-llama/config.json").string());
    REQUIRE(by_file);
    CHECK(by_file->model.name == "tiny-llama");
    CHECK(find_model_source("configs/tiny-llama", data)->model.name == "tiny-llama");
    CHECK(find_model_source("configs/tiny-llama/config.json", data)->model.name == "tiny-llama");
    CHECK(find_model_source("nosuch/config.json", data).error().code == error_code::io);
    CHECK(find_model_source("./nosuch", data).error().code == error_code::io);
    CHECK(find_model_source(data.string()).error().code == error_code::io);
}

TEST_CASE("a model may be cut to its first layers") {
    const auto cut = read_model_source(json{{"from", "deepseek-v3"}, {"layers", 4}});
    REQUIRE(cut);
    CHECK(cut->model.layers.size == 4);
    CHECK(read_model_source(json{{"from", "deepseek-v3"}})->model.layers.size == 61);
    CHECK(read_model_source(json{{"from", "deepseek-v3"}, {"layers", 62}}).error().field == "model.layers");
    CHECK(read_model_source(json{{"from", "deepseek-v3"}, {"layer", 2}}).error().field == "model.layer");
    CHECK(read_model_source(json{{"layers", 2}}).error().field == "model.from");
    CHECK(read_model_source(json::array()).error().code == error_code::malformed);
}

TEST_CASE("a quantised checkpoint's weights follow its quantization_config") {
    const folder here;
    json config = json::parse(std::ifstream{data / "configs/tiny-llama/config.json"});
    config["quantization_config"] = {
        {"quant_method", "fp8"}, {"fmt", "e4m3"}, {"activation_scheme", "dynamic"}, {"weight_block_size", {128, 128}}};
    here.write("config.json", config.dump());
    const auto found = find_model_source(here.path.string());
    REQUIRE(found);
    CHECK(found->model.weights == fp8_block);
    CHECK(weight_bytes(found->model, formats_of(found->model)) < weight_bytes(found->model, formats_for(fp16)));
    CHECK(find_model_source("configs/tiny-llama", data)->model.weights == fp16);
}

TEST_CASE("the mix of a GGUF file is known by either spelling; plain formats are none") {
    CHECK(find_file_mix("Q4_K_M"));
    CHECK(find_file_mix("q4_k_m"));
    CHECK(find_file_mix("q8_0"));
    for (const char* plain : {"bf16", "fp16", "fp32", "fp8_e4m3", "nf4", ""}) CHECK_FALSE(find_file_mix(plain));
}

TEST_CASE("a safetensors file is held against the config.json beside it") {
    const folder here;
    const json config = json::parse(std::ifstream{data / "configs/tiny-llama/config.json"});
    here.write("config.json", config.dump());
    const std::size_t size = 1000 * 64 * 2;
    const fs::path file = here.write(
        "model.safetensors", safetensors({{"model.embed_tokens.weight",
                                           {{"dtype", "F16"}, {"shape", {1000, 64}}, {"data_offsets", {0, size}}}}},
                                         size));
    CHECK(holds_weights(file));
    const auto said = find_model_source(file.string());
    REQUIRE(said);
    const auto stored = read_stored_weights(file, *said);
    REQUIRE(stored);
    CHECK(stored->tensors == bytes(128'000));
    CHECK(stored->by_role.at("embed_tokens") == bytes(128'000));
    CHECK_FALSE(stored->differences.empty());  // all other weights are missing
    for (const stored_difference& d : stored->differences) CHECK(d.what != "embed_tokens");
}

TEST_CASE("a file that is none is refused") {
    const folder here;
    CHECK_FALSE(find_model_source(here.write("bad.gguf", "GGUF").string()));
    CHECK_FALSE(find_model_source((here.path / "nosuch.gguf").string()));
    CHECK_FALSE(find_model_source(here.write("alone.safetensors", "").string()));
    CHECK(find_model_source((here.path / "absent.safetensors").string()).error().field == "model");  // not config
    CHECK_FALSE(read_stored_weights(here.write("bad.safetensors", "12345678"), {}));
    CHECK_FALSE(holds_weights("config.json"));
    CHECK(holds_weights("model.safetensors.index.json"));
}
