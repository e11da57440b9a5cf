// SPDX-License-Identifier: MIT
#include <llmres/io/files/stored_weights.hpp>
#include <llmres/io/model_source.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/io/gguf.hpp>
#include <llmres/io/sentences.hpp>
#include <string>
#include <utility>

#include "../model_files.hpp"

using namespace llmres;
using nlohmann::json;

namespace {

/// One layer of 4 features, its head the embedding.
const model tiny{.vocabulary = 10,
                 .hidden = 4,
                 .layers = {1, {.attention = {.heads = 1, .kv_heads = 1, .head_dim = 4}, .feed_forward = {.width = 8}}},
                 .tied_head = true};

}  // namespace

TEST_CASE("a preset is found by its id and by what people write") {
    for (const char* name : {"llama-3.1-8b", "Llama 3.1 8B", "LLAMA_3.1_8B", "meta-llama/Llama-3.1-8B-Instruct"}) {
        CAPTURE(name);
        const auto found = find_preset(name);
        REQUIRE(found);
        CHECK(found->model.name == "llama-3.1-8b");
        CHECK_FALSE(found->gguf);
    }
    CHECK(find_preset("llama-3.1-9b").error().code == error_code::unknown);
    CHECK(std::string{find_preset("llama-3.1-9b").error().expected.view()}.find("llama-3.1-8b") != std::string::npos);
    CHECK(find_preset("xyzzy").error().field == "model");
    CHECK(find_preset("").error().code == error_code::malformed);
    CHECK(find_preset(std::string_view{"a\0b", 3}).error().code == error_code::malformed);
}

TEST_CASE("a name that means none is answered with presets and with repositories that are known by a config.json") {
    const auto meant = [](std::string_view name) { return std::string{find_preset(name).error().expected.view()}; };
    CHECK(meant("qwen3.5-9c").find(" or Qwen3.5-9B") != std::string::npos);
    CHECK(meant("trinity").find("Trinity-Mini") != std::string::npos);
    CHECK(meant("llama-3.1-9b").find("llama-3.1-8b") != std::string::npos);
    CHECK(meant("zzzz") == "a model of `llmres models`");
}

TEST_CASE("a model that makes images, videos or speech is refused as what it is") {
    for (const auto& [name, makes] : {std::pair{"black-forest-labs/FLUX.2-dev", "images"},
                                      {"Qwen/Qwen-Image-Edit-2511", "images"},
                                      {"stabilityai/stable-diffusion-3.5-large", "images"},
                                      {"stabilityai/stable-video-diffusion-img2vid-xt", "videos"},
                                      {"Tongyi-MAI/Z-Image-Turbo", "images"},
                                      {"tencent/HunyuanImage-3.0", "images"},
                                      {"Wan-AI/Wan2.2-T2V-A14B", "videos"},
                                      {"Lightricks/LTX-2", "videos"},
                                      {"hexgrad/Kokoro-82M", "speech"},
                                      {"Qwen/Qwen3-TTS-12Hz-1.7B-Base", "speech"},
                                      {"Qwen/Qwen3-ASR-1.7B", "transcripts of speech"},
                                      {"nvidia/parakeet-tdt-0.6b-v3", "transcripts of speech"}}) {
        CAPTURE(name);
        const error refused = find_preset(name).error();
        CHECK(refused.code == error_code::unsupported);
        CHECK(std::string{refused.expected.view()} ==
              "a language model: this one makes " + std::string{makes} + ", and is not described");
    }
    CHECK(find_preset("FLUX.1-dev").error().code == error_code::unsupported);
    CHECK(find_preset("FLUX.1-dev").error().expected.view().find("counts the weights") != std::string_view::npos);
}

TEST_CASE("what is spelled as a file is no preset: it is refused, not looked up by a similar name") {
    for (const char* path : {"./llama-3.1-8b", "/models/llama-3.1-8b", "llama-3.1-8b.json", "llama-3.1-8b.gguf",
                             "model.safetensors", "model.safetensors.index.json"}) {
        CAPTURE(path);
        CHECK(find_preset(path).error().code == error_code::unsupported);
        CHECK(find_preset(path).error().value == path);
    }
}

TEST_CASE("a caller's own function may look a MODEL up") {
    const model_finder find = [](std::string_view name) -> result<model_source> {
        if (name != "mine") return find_preset(name);
        const result<model> read = read_hf_config(model_files::llama_config().dump());
        return model_source{.model = *read};
    };
    CHECK(read_model_source("mine", find)->model.vocabulary == 1000);
    CHECK(read_model_source(json{{"from", "mine"}, {"layers", 2}}, find)->model.layers.size == 2);
    CHECK(read_model_source("llama-3.1-8b", find)->model.vocabulary == 128256);
    CHECK(read_model_source("mine").error().code == error_code::unknown);
}

TEST_CASE("the header of a GGUF file is a MODEL, with its mix") {
    const gguf_mix mix = *find_gguf_mix("mix", "Q4_K_M");
    const std::string bytes_of_file = model_files::llama_gguf(mix).bytes();
    const auto file = read_gguf(std::as_bytes(std::span{bytes_of_file}));
    REQUIRE(file);
    const auto source = model_source_of(*file);
    REQUIRE(source);
    CHECK(source->model.hidden == 256);
    REQUIRE(source->gguf);
    CHECK(source->gguf->quantisation == gguf_quantisation::Q4_K_M);
    const stored_weights stored = weights_in(*file, *source);
    CHECK(stored.differences.empty());
    CHECK(stored.files == file->size);
    CHECK(stored.tensors <= file->tensor_bytes());                           // without padding
    CHECK(weights_in(*file, {.model = source->model}).differences.empty());  // no mix is said: nothing to compare
    CHECK(model_source_of(gguf_file{}).error().field == "general.architecture");
}

TEST_CASE("a model may be cut to its first layers") {
    const auto cut = read_model_source(json{{"from", "deepseek-v3"}, {"layers", 4}});
    REQUIRE(cut);
    CHECK(cut->model.layers.size == 4);
    CHECK(read_model_source(json{{"from", "deepseek-v3"}})->model.layers.size == 61);
    CHECK(read_model_source(json{{"from", "deepseek-v3"}, {"layers", 62}}).error().field == "model.layers");
    CHECK(read_model_source(json{{"from", "deepseek-v3"}, {"layer", 2}}).error().field == "model.layer");
    CHECK(read_model_source(json{{"layers", 2}}).error().field == "model.from");
    CHECK(read_model_source(json{{"from", 3}}).error().code == error_code::malformed);
    CHECK(to_text(read_model_source(json{{"from", "xyzzy"}, {"layers", 2}}).error()) ==
          to_text(find_preset("xyzzy").error()));
    CHECK(read_model_source(json::array()).error().code == error_code::malformed);
}

TEST_CASE("a config.json may stand in the document itself") {
    const json config = {{"model_type", "llama"},          {"num_hidden_layers", 26}, {"hidden_size", 3200},
                         {"num_attention_heads", 32},      {"vocab_size", 32000},     {"intermediate_size", 8640},
                         {"max_position_embeddings", 2048}};
    const auto read = read_model_source(config);
    REQUIRE(read);
    CHECK(read->model.layers.size == 26);
    json broken = config;
    broken["hidden_size"] = "wide";
    CHECK(read_model_source(broken).error().field == "model.hidden_size");
}

TEST_CASE("a model may be stretched, and its head loaded beside the embedding") {
    const auto other = read_model_source(
        json{{"from", "gemma-2-2b"}, {"max_position_embeddings", 16384}, {"tie_word_embeddings", false}});
    REQUIRE(other);
    CHECK(other->model.max_context == tokens(16384));
    CHECK_FALSE(other->model.tied_head);
    CHECK(read_model_source(json{{"from", "gemma-2-2b"}, {"max_position_embeddings", 0}}).error().field ==
          "model.max_position_embeddings");
}

TEST_CASE("the mix of a GGUF file is known by either spelling; plain formats are none") {
    CHECK(find_file_mix("Q4_K_M"));
    CHECK(find_file_mix("q4_k_m"));
    CHECK(find_file_mix("q8_0"));
    for (const char* plain : {"bf16", "fp16", "fp32", "fp8_e4m3", "nf4", ""}) CHECK_FALSE(find_file_mix(plain));
}

TEST_CASE("fused tensors are what was predicted apart; what is stored otherwise is named") {
    safetensors_checkpoint stored = model_files::checkpoint_of({{"model.embed_tokens.weight", 80},
                                                                {"model.layers.0.self_attn.qkv_proj.weight", 96},
                                                                {"model.layers.0.self_attn.o_proj.weight", 32},
                                                                {"model.layers.0.mlp.gate_up_proj.weight", 128},
                                                                {"model.layers.0.mlp.down_proj.weight", 64},
                                                                {"model.layers.0.input_layernorm.weight", 8},
                                                                {"model.layers.0.post_attention_layernorm.weight", 8},
                                                                {"model.norm.weight", 8}});
    CHECK(compare_safetensors(stored, tiny, formats_for(bf16)).empty());
    stored.tensors.push_back({.name = "lm_head.weight", .begin = 424, .end = 504});
    const auto differences = compare_safetensors(stored, tiny, formats_for(bf16));
    REQUIRE(differences.size() == 1);
    CHECK(differences[0].what == "lm_head");
    CHECK(differences[0].predicted == bytes(0));
    CHECK(differences[0].stored == bytes(80));
}

namespace {

const json shaped = json::parse(R"({"hidden": 4096, "vocabulary": 32000, "layers": 32, "max_context": 4096,
    "attention": {"heads": 32}, "feed_forward": {"width": 11008}})");

std::string refused_field(const json& changes) {
    json document = shaped;
    document.merge_patch(changes);
    const result<model_source> read = read_model_source(document);
    CAPTURE(document.dump());
    REQUIRE_FALSE(read);
    CHECK_FALSE(read.error().expected.empty());
    return std::string{read.error().field.view()};
}

}  // namespace

TEST_CASE("a model given by its shape is the preset of that shape") {
    const result<model_source> read = read_model_source(shaped);
    REQUIRE(read);
    const model preset = find_model("llama-2-7b").value();
    CHECK(count_parameters(read->model) == count_parameters(preset));
    CHECK(read->model.layers[0] == preset.layers[0]);
    CHECK(read->model.max_context == tokens(4096));
}

TEST_CASE("a shape says latent attention, experts behind dense layers, Mamba 2 and layers by letters") {
    const result<model_source> latent = read_model_source(json::parse(R"({"hidden": 2048, "vocabulary": 102400,
        "layers": 27, "dense_layers": 1,
        "attention": {"heads": 16, "head_dim": 128, "kv_rank": 512, "rope_dim": 64, "value_dim": 128},
        "feed_forward": {"width": 10944, "experts": {"count": 64, "per_token": 6, "width": 1408, "shared_width": 2816}}
        })"));
    REQUIRE(latent);
    CHECK(count_parameters(latent->model) == count_parameters(find_model("deepseek-v2-lite").value()));
    const result<model_source> hybrid = read_model_source(json::parse(R"({"hidden": 1024, "vocabulary": 32000,
        "layers": "M*-ME", "attention": {"heads": 8}, "recurrent": {"heads": 32, "head_dim": 64, "key_heads": 8,
        "state": 128}, "feed_forward": {"kind": "plain", "width": 4096, "experts": {"count": 8, "per_token": 2,
        "width": 512}}, "prediction": {"layers": 2, "block": "*E"}})"));
    REQUIRE(hybrid);
    const layer_stack& layers = hybrid->model.layers;
    CHECK(layers.size == 5);
    CHECK(layers[0].recurrent.kind == recurrent_kind::mamba2);
    CHECK(layers[1].attention.heads == 8);
    CHECK(layers[2].feed_forward.width == 4096);
    CHECK(layers[4].feed_forward.experts.count == 8);
    CHECK(hybrid->model.prediction.layers == 2);
    CHECK(hybrid->model.prediction.block.feed_forward.routed());
}

TEST_CASE("what a shape lacks, or does not have, is refused by its path") {
    CHECK(refused_field({{"heads", 32}}) == "model.heads");
    CHECK(refused_field({{"attention", {{"head", 32}}}}) == "model.attention.head");
    CHECK(refused_field({{"attention", {{"heads", nullptr}}}}) == "model.attention.heads");
    CHECK(refused_field({{"attention", nullptr}}) == "model.attention");
    CHECK(refused_field({{"attention", {{"qk_norm", "all"}}}}) == "model.attention.qk_norm");
    CHECK(refused_field({{"vocabulary", "32k"}}) == "model.vocabulary");
    CHECK(refused_field({{"layers", 0}}) == "model.layers");
    CHECK(refused_field({{"layers", "*M"}}) == "model.layers");
    CHECK(refused_field({{"layers", ""}}) == "model.layers");
    CHECK(refused_field({{"feed_forward", {{"experts", {{"count", 8}}}}}}) == "model.feed_forward.experts.per_token");
    CHECK(refused_field({{"norm", "batch"}}) == "model.norm");
    CHECK(refused_field({{"attention", {{"kv_heads", 5}}}}) == "model.attention.kv_heads");
    CHECK(refused_field({{"prediction", {{"layers", 1}}}}) == "model.prediction");
}

TEST_CASE("a tag of Ollama's library ends in its mix, and a repository of GGUF files names it behind the colon") {
    const auto mix_of = [](std::string_view name) {
        const auto found = detail::find_gguf_repository(name);
        REQUIRE(found);
        REQUIRE(*found);
        REQUIRE((*found)->gguf);
        return std::pair{std::string{(*found)->model.name.view()}, mix_name(*(*found)->gguf)};
    };
    CHECK(mix_of("qwen3:8b-q8_0") == std::pair<std::string, std::string>{"qwen3-8b", "q8_0"});
    CHECK(mix_of("llama3.1:8b-q5_K_M") == std::pair<std::string, std::string>{"llama-3.1-8b", "q5_k_m"});
    CHECK(mix_of("Qwen/Qwen3-8B-GGUF:Q6_K") == std::pair<std::string, std::string>{"qwen3-8b", "q6_k"});
    CHECK_FALSE(detail::find_gguf_repository("Qwen/Qwen3-8B:Q6_K"));
    CHECK_FALSE(detail::find_gguf_repository("qwen3-8b"));
    CHECK_FALSE(*detail::find_gguf_repository("Qwen/Qwen3-8B-GGUF:Q9_9"));
}

TEST_CASE("a repository of GGUF files, or Ollama's library, that names no mix has the usual one of the model") {
    const auto found = [](std::string_view name) {
        const auto read = find_preset(name);
        REQUIRE(read);
        return *read;
    };
    const auto mix = [&](std::string_view name) {
        const model_source source = found(name);
        return source.gguf ? mix_name(*source.gguf) : std::string{"none"};
    };
    CHECK(mix("Qwen/Qwen3-8B-GGUF") == "q4_k_m");
    CHECK(mix("llama3.1:8b") == "q4_k_m");
    CHECK(mix("deepseek-ai/DeepSeek-V3-GGUF") == "q4_k_m");  // published in fp8
    CHECK(found("ggml-org/gpt-oss-20b-GGUF").gguf->quantisation == gguf_quantisation::MXFP4_MOE);
    CHECK_FALSE(found("ggml-org/gpt-oss-20b-GGUF").gguf->published_rest);
    CHECK(found("gpt-oss:20b").gguf->quantisation == gguf_quantisation::MXFP4_MOE);
    CHECK(found("gpt-oss:20b").gguf->published_rest);
    CHECK(found("Qwen/Qwen3-8B-GGUF").library.empty());
    CHECK(found("qwen3:8b").library == "ollama");
    CHECK(found("deepseek-r1:8b").model.name == "qwen3-8b");
    CHECK(found("deepseek-r1:671b").model.name == "deepseek-r1");
    CHECK(found("phi3:mini").model.name == "phi-3-mini-4k");
}

TEST_CASE("files are made from weights that are in 16 bit or in 8-bit floats, and from no others") {
    model m;
    for (const precision& format : {fp32, fp16, bf16, fp8_e4m3, fp8_block}) {
        m.weights = format;
        CHECK(detail::usual_mix(m, false)->quantisation == gguf_quantisation::Q4_K_M);
    }
    for (const precision& format : {gptq(4, 128), nvfp4, int8}) {
        m.weights = format;
        CHECK_FALSE(detail::usual_mix(m, true));
    }
}
