// SPDX-License-Identifier: MIT
#include <llmres/io/files.hpp>

#include <doctest/doctest.h>

#include <unistd.h>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <llmres/io/device_json.hpp>
#include <span>
#include <string>
#include <vector>

#include "../model_files.hpp"
#include "../scratch.hpp"

using namespace llmres;
using run_program::scratch;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const fs::path data = LLMRES_SOURCE_DIR "/tests/data";
const std::string devices = LLMRES_SOURCE_DIR "/tests/data/devices/";
const std::string h100_file = devices + "synthetic-h100-sxm5-80gb.json";

/// A safetensors file with one tensor of fp32 values.
std::string one_tensor(const std::string& name, std::size_t values) {
    const json header{{name, {{"dtype", "F32"}, {"shape", {values}}, {"data_offsets", {0, 4 * values}}}}};
    return model_files::safetensors(header.dump(), 4 * values);
}

gguf_writer small_gguf() {
    gguf_writer w;
    w.text("general.architecture", "llama");
    w.tensor("token_embd.weight", {256, 10}, gguf_type::Q6_K);
    w.tensor("blk.0.attn_norm.weight", {5});
    return w;
}

bool mentions(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

// ---- models

TEST_CASE("a config is read from its file or its folder, and named after it") {
    const auto folder = load_hf_config(data / "configs/tiny-llama");
    REQUIRE(folder);
    CHECK(folder->name == "tiny-llama");
    CHECK(folder->architecture == "llama");
    CHECK(folder->weights == fp16);
    CHECK(folder->max_context == tokens(2048));
    CHECK(count_parameters(*folder) ==
          parameters(2 * 1000 * 64 + 3 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 160 * 64 + 128) + 64));
    CHECK(load_hf_config(data / "configs/tiny-llama/config.json")->name == "tiny-llama");

    const auto file = load_hf_config(data / "configs/tiny-deepseek.json");
    REQUIRE(file);
    CHECK(file->name == "tiny-deepseek");
    CHECK(file->weights == fp8_block);
    CHECK(file->layers.counts()[0] == 1);
    CHECK(file->layers.counts()[1] == 3);
}

TEST_CASE("a decoder beside a modules.json that pools embeds texts") {
    const scratch here;
    json config = json::parse(std::ifstream{data / "configs/tiny-llama/config.json"});
    config["architectures"] = {"LlamaForCausalLM"};
    here.file("config.json", config.dump());
    CHECK(generates(*load_hf_config(here.path())));
    here.file("modules.json", R"([{"idx": 0, "type": "sentence_transformers.models.Transformer"}])");
    CHECK(generates(*load_hf_config(here.path())));
    here.file("modules.json", R"([{"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
    CHECK(load_hf_config(here.path())->head.kind == head_kind::pooled);
    here.file("modules.json", "[]");
    config["architectures"] = {"LlamaForSequenceClassification"};
    here.file("config.json", config.dump());
    CHECK(load_hf_config(here.path())->head.kind == head_kind::pooled);
}

TEST_CASE("a file that is not there is refused with its path") {
    const auto read = load_hf_config(data / "configs/nowhere/config.json");
    REQUIRE_FALSE(read);
    CHECK(read.error().code == error_code::io);
    CHECK(mentions(read.error().value, "nowhere"));
}

TEST_CASE("a MODEL that names no file is a preset") {
    CHECK(find_model_source("Llama 3.1 8B")->model.name == "llama-3.1-8b");
    CHECK(find_model_source("llama-3.1-9b").error().code == error_code::unknown);
    CHECK(mentions(find_model_source("llama-3.1-9b").error().expected, "llama-3.1-8b"));
    CHECK(mentions(find_model_source("xyzzy").error().expected, "config.json"));
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

TEST_CASE("a quantised checkpoint's weights follow its quantization_config") {
    const scratch here;
    json config = json::parse(std::ifstream{data / "configs/tiny-llama/config.json"});
    config["quantization_config"] = {
        {"quant_method", "fp8"}, {"fmt", "e4m3"}, {"activation_scheme", "dynamic"}, {"weight_block_size", {128, 128}}};
    here.file("config.json", config.dump());
    const auto found = find_model_source(here.path().string());
    REQUIRE(found);
    CHECK(found->model.weights == fp8_block);
    CHECK(weight_bytes(found->model, formats_of(found->model)) < weight_bytes(found->model, formats_for(fp16)));
    CHECK(find_model_source("configs/tiny-llama", data)->model.weights == fp16);
}

TEST_CASE("a file that is none is refused") {
    const scratch here;
    CHECK_FALSE(find_model_source(here.file("bad.gguf", "GGUF")));
    CHECK_FALSE(find_model_source((here.path() / "nosuch.gguf").string()));
    CHECK_FALSE(find_model_source(here.file("alone.safetensors", "")));
    CHECK(find_model_source((here.path() / "absent.safetensors").string()).error().field == "model");  // not config
    CHECK_FALSE(read_stored_weights(here.file("bad.safetensors", "12345678"), {}));
    CHECK_FALSE(holds_weights("config.json"));
    CHECK(holds_weights("model.safetensors.index.json"));
}

TEST_CASE("a config.json at the root of a file system names no model, and one that cannot be read is refused as such") {
    model m;
    m.name = "its own";
    CHECK(llmres::detail::named_after(m, "/config.json").name == "its own");
    CHECK(llmres::detail::named_after(m, "/models/tiny/config.json").name == "tiny");
    const scratch here;
    here.file("config.json", "{");
    CHECK(load_hf_config(here.path()).error().field == "JSON");
    CHECK(find_model_source(here.path().string()).error().code == error_code::malformed);
}

TEST_CASE("the tensors beside a config.json describe a model whose structure no formula does, and no other") {
    const scratch here;
    const auto source_of = [&](const char* field, const json& value) {
        json config = model_files::llama_config();
        config[field] = value;
        here.file("config.json", config.dump());
        return find_model_source(here.path().string());
    };
    here.file("model.safetensors", model_files::llama_safetensors());
    const auto read = source_of("model_type", "nobodys");
    REQUIRE(read);
    CHECK(read->model.from_tensors);
    CHECK(read->model.name == here.path().filename().string());
    CHECK(count_parameters(read->model) == count_parameters(*read_hf_config(model_files::llama_config().dump())));
    const error refusal = source_of("intermediate_size", "wide").error();
    CHECK(refusal.code == error_code::malformed);
    CHECK(refusal.field == "intermediate_size");
    // An index stands for files that are not there. One that is there and cannot be read is refused.
    here.file("model.safetensors.index.json", R"({"weight_map": {"x": "model.safetensors"}})");
    here.file("model.safetensors", "12345678");
    CHECK(source_of("model_type", "nobodys").error().field == "safetensors.header");
}

TEST_CASE("a GGUF file is a MODEL by its path, and its tensors are held against that model") {
    const scratch here;
    const fs::path file = here.file("tiny.gguf", model_files::llama_gguf(*find_gguf_mix("mix", "Q4_K_M")).bytes());
    const auto said = find_model_source(file.string());
    REQUIRE(said);
    CHECK(said->model.hidden == 256);
    REQUIRE(said->gguf);
    CHECK(said->gguf->quantisation == gguf_quantisation::Q4_K_M);
    const auto stored = read_stored_weights(file, *said);
    REQUIRE(stored);
    CHECK(stored->differences.empty());
    CHECK(stored->files == bytes(static_cast<std::int64_t>(fs::file_size(file))));
    CHECK(read_stored_weights(here.file("bad.gguf", "GGUF"), *said).error().field == "gguf.version");
}

TEST_CASE("a GGUF file that is refused by one of its keys is so by its path, too") {
    const scratch here;
    gguf_writer w;
    const std::string key(60, 'k');
    w.raw(key, 77, "");
    CHECK(load_gguf(here.file("unknown.gguf", w.bytes())).error().field == key);
}

TEST_CASE("a denoising network is found by its name, its config.json or that file's folder") {
    const scratch here;
    const auto found = [&](const char* content) {
        here.file("config.json", content);
        return find_denoiser((here.path() / "config.json").string());
    };
    const auto preset = find_denoiser("SDXL");
    REQUIRE(preset);
    REQUIRE(*preset);
    CHECK(std::get<unet>(preset->value).name == models::stable_diffusion_xl.name);

    const auto flow = found(R"({"_class_name": "FluxTransformer2DModel", "guidance_embeds": true})");
    REQUIRE(flow);
    REQUIRE(*flow);
    CHECK(std::get<flow_transformer>(flow->value).name == here.path().filename().string());
    CHECK(count_parameters(std::get<flow_transformer>(flow->value)) == count_parameters(models::flux_1_dev));
    CHECK(*find_denoiser(here.path().string()));
    const std::string with_zero = here.path().string() + std::string{"\0tail", 5};
    CHECK(*find_denoiser(with_zero));  // as far as the name of a file goes
    here.file("net.json", R"({"_class_name": "FluxTransformer2DModel"})");
    CHECK(std::get<flow_transformer>(find_denoiser((here.path() / "net.json").string())->value).name == "net");

    CHECK_FALSE(*found(model_files::llama_config().dump().c_str()));
    CHECK_FALSE(*found(R"({"_class_name": "FluxTransformer2DModel")"));
    CHECK_FALSE(*found(R"({"model_type": "_class_name"})"));
    CHECK(found(R"({"_class_name": "PixArtTransformer2DModel"})").error().code == error_code::unsupported);
    CHECK_FALSE(*find_denoiser((here.path() / "absent.json").string()));
    CHECK_FALSE(*find_denoiser("llama-3.1-8b"));
    std::ofstream{here.path() / "large.json"} << "{}";
    fs::resize_file(here.path() / "large.json", std::uintmax_t{1} << 30);
    CHECK(find_denoiser((here.path() / "large.json").string()).error().code == error_code::io);
}

// ---- checkpoints

TEST_CASE("from a path the same is read, and no more than the header") {
    const scratch here;
    const std::string whole = small_gguf().bytes();
    const auto file = load_gguf(here.file("model.gguf", whole));
    REQUIRE(file);
    CHECK(file->tensors.size() == 2);
    CHECK(file->tensor_bytes() == read_gguf(std::as_bytes(std::span{whole}))->tensor_bytes());
    CHECK(load_gguf(here.path() / "absent.gguf").error().code == error_code::io);
    CHECK(load_gguf(here.path()).error().code == error_code::io);
    CHECK(load_gguf(here.file("empty.gguf", "")).error().field == "gguf.magic");
    // Longer than the window that is read at once.
    gguf_writer large = small_gguf();
    std::vector<std::string> words;
    for (int i = 0; i < 30000; ++i) words.push_back("token " + std::to_string(i));
    large.texts("tokenizer.ggml.merges", words);
    large.text("tokenizer.chat_template", std::string(200000, 'x'));
    const auto read_large = load_gguf(here.file("large.gguf", large.bytes()));
    REQUIRE(read_large);
    CHECK(read_large->find("tokenizer.ggml.merges")->elements == 30000);
    CHECK(read_large->text_or("tokenizer.chat_template", "").size() == 200000);
    CHECK(read_large->tensors.size() == 2);
}

TEST_CASE("a split model is put together from all its parts") {
    const scratch here;
    const auto part = [&](std::uint32_t number, std::uint32_t count, const std::string& name, std::string_view tensor) {
        gguf_writer w;
        w.integer("split.no", number);
        w.integer("split.count", count);
        w.integer("split.tensors.count", 2);
        w.tensor(tensor, {8});
        return here.file(name, w.bytes());
    };
    part(0, 2, "m-00001-of-00002.gguf", "a");
    const auto second = part(1, 2, "m-00002-of-00002.gguf", "b");
    const auto file = load_gguf(second);
    REQUIRE(file);
    CHECK(file->files == 2);
    REQUIRE(file->tensors.size() == 2);
    CHECK(file->tensors[1].file == 1);
    CHECK(file->header + file->tensor_bytes() == file->size);
    part(1, 2, "m-00001-of-00002.gguf", "a");
    CHECK(load_gguf(second).error().field == "split.no");
    part(0, 2, "m-00001-of-00002.gguf", "a");
    std::filesystem::remove(here.path() / "m-00001-of-00002.gguf");
    CHECK(load_gguf(second).error().code == error_code::io);
    CHECK(load_gguf(part(1, 2, "other.gguf", "b")).error().field == "split.count");
    CHECK(load_gguf(part(1, 100000, "m-00002-of-100000.gguf", "b")).error().code == error_code::out_of_range);
}

TEST_CASE("the first part of a split model holds its metadata, and says how its tensors lie") {
    const scratch here;
    const auto part = [&](std::uint32_t number, const std::string& name) {
        gguf_writer w;
        w.version = 3 - number;
        w.alignment = 64;
        w.integer("general.alignment", 64);
        w.integer("split.no", number);
        w.integer("split.count", 2);
        w.text(number == 0 ? "general.architecture" : "general.license", "llama");
        w.tensor("t" + std::to_string(number), {1});
        return here.file(name, w.bytes());
    };
    part(0, "-00001-of-00002.gguf");  // llama.cpp's "%s-%05d-of-%05d.gguf" of an empty name
    const auto file = load_gguf(part(1, "-00002-of-00002.gguf"));
    REQUIRE(file);
    CHECK(file->text_or("general.architecture", "") == "llama");
    CHECK(file->find("general.license") == nullptr);
    CHECK(file->version == 3);
    CHECK(file->alignment == 64);
    CHECK(file->tensor_bytes() == bytes(128));
}

TEST_CASE("only a name that ends in its number and that of all parts is a part's") {
    const auto second = [](const char* name, std::uint64_t parts = 2) {
        return llmres::detail::gguf::part_path(fs::path{"there"} / name, 2, parts).generic_string();
    };
    CHECK(second("m-00001-of-00002.gguf") == "there/m-00002-of-00002.gguf");
    CHECK(second("m-1-00001-of-00002.gguf") == "there/m-1-00002-of-00002.gguf");
    CHECK(second("m-99999-of-12345.gguf", 12345) == "there/m-00002-of-12345.gguf");
    CHECK(second("m-00001-of-123456.gguf", 123456) == "there/m-00002-of-123456.gguf");
    for (const char* other : {"m-copy-of-00002.gguf", "m00001-of-00002.gguf", "m-0001-of-00002.gguf",
                              "m-000001-of-00002.gguf", "00001-of-00002.gguf", "-of-00002.gguf", "1-of-00002.gguf",
                              "m-00001-of-00003.gguf", "a-long-name-of-another-file.gguf", "m.gguf", ""}) {
        CAPTURE(other);
        CHECK(second(other).empty());
    }
}

TEST_CASE("a file that names itself a part, and is none by its name, is refused although parts lie beside it") {
    const scratch here;
    gguf_writer w;
    w.integer("split.no", 0);
    w.integer("split.count", 1000);
    w.tensor("t", {1});
    here.file("m-00001-of-01000.gguf", w.bytes());
    const auto read = load_gguf(here.file("m-other-of-01000.gguf", w.bytes()));
    CHECK(read.error().field == "split.count");
    CHECK(read.error().value == "m-other-of-01000.gguf");
}

TEST_CASE("an index puts the files of a checkpoint together") {
    const scratch here;
    here.file("a.safetensors", one_tensor("x.q_proj.weight", 3));
    here.file("b.safetensors", one_tensor("x.k_proj.weight", 5));
    const auto index = [&](const std::string& content) {
        return load_safetensors(here.file("model.safetensors.index.json", content));
    };
    const auto whole = index(
        R"({"metadata":{"total_size":32},"weight_map":{"x.q_proj.weight":"a.safetensors","x.k_proj.weight":"b.safetensors"}})");
    REQUIRE(whole);
    CHECK(whole->files == 2);
    REQUIRE(whole->tensors.size() == 2);
    for (const safetensors_tensor& t : whole->tensors) CHECK(t.file == (t.name == "x.q_proj.weight" ? 0 : 1));
    CHECK(whole->tensor_bytes() == bytes(32));
    CHECK(*whole->stated == bytes(32));
    CHECK(whole->header + whole->tensor_bytes() == whole->size);
    CHECK(load_safetensors(here.path())->tensors.size() == 2);
    CHECK(load_safetensors(here.path() / "b.safetensors")->tensors.size() == 1);

    CHECK(index(R"({"weight_map":{"absent":"a.safetensors"}})").error().value == "absent");
    CHECK(index(R"({"weight_map":{"x":"c.safetensors"}})").error().code == error_code::io);
    for (const char* path : {"../a.safetensors", "/etc/passwd", "", ".."})
        CHECK(index(std::string{R"({"weight_map":{"x":")"} + path + "\"}}").error().field == "weight_map");
    CHECK(index(R"({"weight_map":{"x":7}})").error().code == error_code::malformed);
    CHECK(index(R"({"weight_map":[]})").error().field == "weight_map");
    CHECK(index(R"({"weight_map":[]})").error().code == error_code::malformed);
    CHECK(index("{}").error().code == error_code::missing);
    CHECK(index("[").error().code == error_code::malformed);
    CHECK(index(std::string(100000, '[')).error().code == error_code::malformed);
    here.file("c.safetensors", one_tensor("x.q_proj.weight", 3));
    CHECK(index(R"({"weight_map":{"x.q_proj.weight":"a.safetensors","y":"c.safetensors"}})").error().code ==
          error_code::inconsistent);
    CHECK(load_safetensors(here.path() / "absent.safetensors").error().code == error_code::io);
    std::filesystem::remove(here.path() / "model.safetensors.index.json");
    CHECK(load_safetensors(here.path()).error().code == error_code::io);
}

TEST_CASE("an index names at most 10000 files") {
    const scratch here;
    const auto read = [&](int files) {
        json map = json::object();
        for (int i = 0; i < files; ++i) map["t" + std::to_string(i)] = std::to_string(i) + ".safetensors";
        return llmres::detail::safetensors::load_index(here.file("i.json", json{{"weight_map", map}}.dump()),
                                                       llmres::detail::safetensors::index_files::none);
    };
    CHECK(read(10000)->tensors.size() == 10000);
    CHECK(read(10001).error().code == error_code::out_of_range);
    CHECK(read(10001).error().value == "10001");
}

TEST_CASE("files beside a config.json say how its weights are quantised, and one that cannot be read is refused") {
    const scratch here;
    const json config = json::parse(std::ifstream{data / "configs/tiny-llama/config.json"});
    here.file("config.json", config.dump());
    const auto read = [&](const char* name, const std::string& content) {
        here.file(name, content);
        const auto found = find_model_source(here.path().string());
        fs::remove(here.path() / name);
        return found;
    };
    const json words{{"bits", 4}, {"group_size", 32}};
    CHECK(read("quantize_config.json", words.dump())->model.weights == gptq(4, 32));
    const json modelopt{{"producer", {{"name", "modelopt"}}}, {"quantization", {{"quant_algo", "FP8"}}}};
    CHECK(read("hf_quant_config.json", modelopt.dump())->model.weights == fp8_tensor_static);
    CHECK(read("hf_quant_config.json", R"({"quant_algo": "FP8"})")->model.weights == fp8_tensor_static);
    CHECK(read("hf_quant_config.json", R"({"quant_algo": "FP8", "quantization": "yes"})")->model.weights ==
          fp8_tensor_static);
    CHECK(read("hf_quant_config.json", "{").error().code == error_code::malformed);
    CHECK(find_model_source(here.path().string())->model.weights == fp16);
}

TEST_CASE("a safetensors file is held against the config.json beside it") {
    const scratch here;
    const json config = json::parse(std::ifstream{data / "configs/tiny-llama/config.json"});
    here.file("config.json", config.dump());
    const std::size_t size = 1000 * 64 * 2;
    const fs::path file = here.file(
        "model.safetensors",
        model_files::safetensors(
            json{{"model.embed_tokens.weight", {{"dtype", "F16"}, {"shape", {1000, 64}}, {"data_offsets", {0, size}}}}}
                .dump(),
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

// ---- devices and jobs

TEST_CASE("a log is read from its file in pieces, and what is no file that can be read is refused with its path") {
    const scratch here;
    // The first piece of 64 KiB ends before the last letter, which is the file's last byte.
    const std::string first = "vLLM API server version 0.22.0\n";
    const std::string last = "GPU KV cache size: 1,234,567 tokens";
    const std::string between(65536 - first.size() - last.size(), '.');
    const auto log = load_engine_log(here.file("long.log", first + between + "\n" + last));
    REQUIRE(log);
    CHECK(log->engine == "vllm");
    CHECK(log->lines == 3);
    REQUIRE(log->find(logs::quantity::pool_tokens) != nullptr);
    CHECK(log->find(logs::quantity::pool_tokens)->value == 1234567);
    CHECK(load_engine_log(here.file("none.log", "")).error().code != error_code::io);
    // A folder, a file that is not there, one that nobody may read, one in which nothing can be read, and a device.
    for (const fs::path& path : {here.path(), here.path() / "absent.log", fs::path{"/proc/sys/vm/drop_caches"},
                                 fs::path{"/proc/self/mem"}, fs::path{"/dev/null"}}) {
        CAPTURE(path.string());
        const auto read = load_engine_log(path);
        REQUIRE_FALSE(read);
        CHECK(read.error().code == error_code::io);
        CHECK(read.error().field == "log");
        CHECK(read.error().value == path.generic_string());
    }
}

TEST_CASE("a runtime profile is read from its file, whose base is compiled") {
    const scratch here;
    here.file("mine.json", R"({"from": "vllm", "name": "mine"})");
    here.file("broken.json", R"({"from": "vllm", "nowhere": 1})");
    here.file("chain.json", R"({"from": "mine.json"})");
    const auto mine = find_profile("mine.json", here.path());
    REQUIRE(mine);
    CHECK(mine->runtime.identity.name == "mine");
    CHECK(mine->runtime.identity.work == runtime_work::serving);
    CHECK(find_profile((here.path() / "mine.json").string())->runtime.identity.name == "mine");
    CHECK(find_profile("vllm", here.path())->runtime.identity.name == "vllm");
    CHECK(find_profile("absent.json", here.path()).error().code == error_code::io);
    CHECK(find_profile("absent.json", here.path()).error().field == "runtime");
    CHECK(find_profile("broken.json", here.path()).error().code == error_code::unknown);
    CHECK(find_profile("chain.json", here.path()).error().code == error_code::unknown);
}

TEST_CASE("every recorded device reads, and writes back the same") {
    int seen = 0;
    for (const auto& entry : std::filesystem::directory_iterator{devices}) {
        if (entry.path().extension() != ".json") continue;
        CAPTURE(entry.path().string());
        const auto file = read_device_file(entry.path());
        REQUIRE(file.has_value());
        const auto again = device_file_from_json(to_json(*file));
        REQUIRE(again.has_value());
        CHECK(again->devices == file->devices);
        ++seen;
    }
    CHECK(seen > 0);
}

TEST_CASE("a device file that cannot be read is refused with its path") {
    CHECK(read_device_file("/no/such/file").error().code == error_code::io);
    CHECK(read_device_file("/no/such/file").error().value == "/no/such/file");
    CHECK(read_device_file(data).error().code == error_code::io);
}

TEST_CASE("a device file gives the GPU, its memory and what was measured on it") {
    const auto on = [](const json& cluster) {
        json document{{"model", "llama-3.1-8b"}};
        document["cluster"] = cluster;
        return document;
    };
    const auto read = [&](const json& cluster) {
        const result<plan_request> made = read_job(on(cluster), fs::path{});
        REQUIRE(made);
        return *made;
    };
    const plan_request q = read({{"device", h100_file}, {"gpus", 2}});
    CHECK(q.device == h100_file);
    CHECK(q.cluster.gpus == 2);
    CHECK(q.cluster.gpu.id == "h100-sxm5-80gb");
    CHECK(usable_memory(q.cluster.gpu) == bytes(84'943'110'144));
    CHECK(q.cluster.scale_up.kind == link_kind::nvlink);
    CHECK(read({{"device", h100_file}, {"in_use", 1000}}).cluster.in_use == bytes(1000));
    const result<plan_request> relative = read_job(on({{"device", "synthetic-rtx-4090.json"}}), fs::path{devices});
    REQUIRE(relative);
    CHECK(relative->cluster.gpu.id == "rtx-4090");
    CHECK(relative->device == devices + "synthetic-rtx-4090.json");

    const auto refusal = [&](const json& cluster) {
        const result<plan_request> made = read_job(on(cluster), fs::path{});
        REQUIRE_FALSE(made);
        return made.error();
    };
    CHECK(refusal({{"device", h100_file}, {"gpu", "rtx-4090"}}).code == error_code::inconsistent);
    CHECK(refusal({{"device", h100_file}, {"gpu", "rtx-4090"}}).field == "cluster.device");
    CHECK(refusal({{"device", 4090}}).code == error_code::malformed);
    CHECK(refusal({{"device", ""}}).field == "cluster.device");
    CHECK(refusal({{"device", "/no/such/file.json"}}).code == error_code::io);
    CHECK(refusal({{"device", "/no/such/file.json"}}).value == "/no/such/file.json");
    CHECK(refusal({{"device", devices + "README.md"}}).field == "cluster.device");
    CHECK(refusal({{"device", devices + "README.md"}}).value == devices + "README.md");
    CHECK(refusal({{"device", devices + "synthetic-two-h100.json"}}).field == "cluster.device: devices");
    CHECK(refusal({{"device", devices + "synthetic-two-h100.json"}}).value == "2");
    CHECK(refusal({{"device", h100_file}, {"gpus", 0}}).field == "cluster.gpus");
}

TEST_CASE("models and drafts of a job are read from the folder of its document") {
    const json document{{"model", "configs/tiny-llama"},
                        {"cluster", {{"gpu", "rtx-4090"}}},
                        {"runtime", {{"name", "vllm"}, {"draft", "configs/tiny-llama/config.json"}}}};
    const auto made = read_job(document, data);
    REQUIRE(made);
    CHECK(made->job.model.name == "tiny-llama");
    CHECK(made->device.empty());
    CHECK(read_job(document.dump(), data)->job.model.name == made->job.model.name);
    CHECK(read_job(document, data / "nowhere").error().code == error_code::unknown);
    CHECK(read_job(document).error().field == "model");  // by itself a document opens no file
}

TEST_CASE("a name that promises quantised weights which no file describes is a warning by its word") {
    const auto warned = [](std::string_view name, const precision& weights = bf16) {
        model m;
        m.name = name;
        m.weights = weights;
        return llmres::detail::warning_of_name(m);
    };
    CHECK(warned("Qwen3-8B").empty());
    CHECK(warned("Qwen3-8B-AWQ") ==
          "the name says awq, but no file says how the weights are quantised: bf16 is planned");
    CHECK(warned("Qwen3-8B-FP8").starts_with("the name says fp8,"));
    CHECK(warned("Llama-3.1-8B-w4a16", fp16).ends_with("fp16 is planned"));
    CHECK(warned("Qwen3-8B-FP8", fp8_e4m3).empty());  // a file has said it
}
