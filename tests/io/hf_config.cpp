// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <fstream>
#include <llmres/io/hf_config.hpp>
#include <llmres/models/parameters.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

using namespace llmres;
using namespace llmres::detail;

namespace {

const std::string fixtures = LLMRES_SOURCE_DIR "/tests/data/configs/";

/// A sound llama config with one field replaced, or added (`"name": value`).
std::string with(const std::string& name, const std::string& value) {
    std::string fields;
    const char* sound[][2] = {{"model_type", "\"llama\""}, {"vocab_size", "1000"},       {"hidden_size", "64"},
                              {"num_hidden_layers", "3"},  {"num_attention_heads", "4"}, {"num_key_value_heads", "2"},
                              {"intermediate_size", "160"}};
    bool replaced = false;
    for (const auto& [key, given] : sound) {
        const bool this_one = name == key;
        replaced = replaced || this_one;
        fields += (fields.empty() ? "{\"" : ", \"") + std::string{key} + "\": " + (this_one ? value : given);
    }
    if (!replaced && !name.empty()) fields += ", \"" + name + "\": " + value;
    return fields + "}";
}

/// The error of a config; its code is `none` where there is no error.
error error_of(const std::string& text) { return read_hf_config(text).error(); }

parameter_count count_of(const std::string& text) {
    const auto read = read_hf_config(text);
    CHECK_MESSAGE(read, read.error().field.view(), " ", read.error().value.view(), " ", read.error().expected.view());
    return count_parameters(*read);
}

bool mentions(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

TEST_CASE("Python's NaN and Infinity are read as absent") {
    CHECK(error_of(with("time_step_limit", "[0.0, Infinity]")).code == error_code::none);
    CHECK(error_of(with("a", "[-Infinity, NaN]")).code == error_code::none);
    CHECK(error_of(with("hidden_size", "NaN")).field == "hidden_size");
}

TEST_CASE("what is no JSON object is refused") {
    for (const char* text :
         {"", "{", "hello", "[1, 2]", "3", "null", "{\"a\": }", "{\"a\": 1} x", "\xff\xfe{}", "{'a': 1}"}) {
        CHECK(error_of(text).code == error_code::malformed);
        CHECK(error_of(text).field == "JSON");
    }
}

TEST_CASE("deep nesting is refused before it is parsed") {
    const std::string deep(100'000, '[');
    CHECK(error_of(deep).code == error_code::malformed);
    CHECK(error_of("{\"a\": " + deep).code == error_code::malformed);
    CHECK(error_of(with("rope_scaling", std::string(40, '[') + std::string(40, ']'))).code == error_code::none);
}

TEST_CASE("the same key twice is refused by its name") {
    const error twice = error_of(R"({"model_type": "llama", "hidden_size": 64, "hidden_size": 65})");
    CHECK(twice.code == error_code::inconsistent);
    CHECK(twice.field == "hidden_size");
}

TEST_CASE("an unknown model_type is refused with the nearest that are known") {
    const error unknown = error_of(with("model_type", "\"lama\""));
    CHECK(unknown.code == error_code::unknown);
    CHECK(unknown.field == "model_type");
    CHECK(unknown.value == "lama");
    CHECK(mentions(unknown.expected, "llama"));
    CHECK(error_of(R"({"hidden_size": 64})").code == error_code::missing);
    CHECK(error_of(with("model_type", "7")).code == error_code::malformed);
}

TEST_CASE("a size that is no sensible integer is refused by field, value and range") {
    for (const char* value :
         {"0", "-1", "\"4096\"", "1e30", "4096.5", "true", "[4096]", "{}", "18446744073709551615", "1e400"}) {
        const error wrong = error_of(with("hidden_size", value));
        CHECK_MESSAGE(wrong.code != error_code::none, value);
        if (wrong.field != "JSON") {  // 1e400 is no JSON number
            CHECK(wrong.field == "hidden_size");
            CHECK(mentions(wrong.expected, "an integer from 1 to"));
        }
    }
    CHECK(error_of(with("hidden_size", "\"4096\"")).value == "\"4096\"");
    CHECK(error_of(with("hidden_size", "null")).code == error_code::missing);
    CHECK(error_of(with("hidden_size", "64.0")).code == error_code::none);
    CHECK(error_of(with("num_hidden_layers", "100000")).field == "num_hidden_layers");
    CHECK(error_of(with("head_dim", "-5")).field == "head_dim");
}

TEST_CASE("a field is named as the file spells it") {
    CHECK(error_of(R"({"model_type": "llama", "vocab_size": 10, "n_embd": -4})").field == "n_embd");
}

TEST_CASE("heads must go round") {
    const error kv = error_of(with("num_key_value_heads", "3"));
    CHECK(kv.code == error_code::inconsistent);
    CHECK(kv.field == "num_key_value_heads");
    CHECK(kv.value == "3");
    CHECK(error_of(with("num_attention_heads", "6")).field == "num_attention_heads");
}

TEST_CASE("more experts a token than there are is refused") {
    std::string text = with("num_local_experts", "4");
    text.replace(text.find("llama"), 5, "mixtral");
    text.insert(text.size() - 1, ", \"num_experts_per_tok\": 5");
    CHECK(error_of(text).field == "num_experts_per_tok");
}

TEST_CASE("a count beyond 63 bits is an overflow that names the largest field") {
    const error over =
        error_of(R"({"model_type": "mixtral", "vocab_size": 10, "hidden_size": 16777216, "num_hidden_layers": 256,
        "num_attention_heads": 4096, "intermediate_size": 16777215, "num_local_experts": 65536,
        "num_experts_per_tok": 1})");
    CHECK(over.code == error_code::overflow);
    CHECK(over.field == "hidden_size");
}

TEST_CASE("absent fields take the class's defaults") {
    const auto read = read_hf_config(
        R"({"model_type": "llama", "vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 160})");
    REQUIRE(read);
    CHECK(read->layers[0].attention.kv_heads == 4);
    CHECK(read->layers[0].attention.head_dim == 16);
    CHECK_FALSE(read->tied_head);
    CHECK(read->weights == bf16);
    CHECK(error_of(R"({"model_type": "llama", "vocab_size": 1000})").code == error_code::missing);
}

TEST_CASE("what a file says nothing about is what its configuration class puts there") {
    const auto as = [](const char* type, const std::string& more) {
        std::string text = with("", "");
        text.replace(text.find("llama"), 5, type);
        text.replace(text.find("\"num_key_value_heads\": 2, "), 26, "");
        text.replace(text.find("\"num_attention_heads\": 4"), 24, "\"num_attention_heads\": 16");
        return read_hf_config(text.insert(text.size() - 1, more));
    };
    CHECK(as("llama", "")->layers[0].attention.kv_heads == 16);
    CHECK(as("mistral", "")->layers[0].attention.kv_heads == 8);
    CHECK(as("mistral", ", \"num_key_value_heads\": null")->layers[0].attention.kv_heads == 16);
    CHECK(as("mistral", "")->layers[0].attention.window == tokens(4096));
    CHECK(as("mistral", ", \"sliding_window\": null")->layers[0].attention.window == token_count{});
    CHECK(as("qwen3", "")->layers[0].attention.head_dim == 128);
    CHECK(as("qwen3_moe", "")->layers[0].attention.head_dim == 4);
    CHECK(as("glm4", "")->layers[0].attention.qkv_bias);
    CHECK(as("gemma2", "")->tied_head);
    CHECK_FALSE(as("granite", "")->tied_head);
    CHECK(as("mixtral", "")->layers[0].feed_forward.experts.count == 8);
    CHECK(as("mixtral", ", \"num_local_experts\": 2")->layers[0].feed_forward.experts.count == 2);
    const auto qwen2 = as("qwen2", ", \"use_sliding_window\": true, \"max_window_layers\": 2");
    CHECK(qwen2->layers[1].attention.window == token_count{});
    CHECK(qwen2->layers[2].attention.window == tokens(4096));
}

TEST_CASE("a config says which rotary factors its GGUF has, and how many rows the embedding") {
    const auto scaled = [](const std::string& scaling) { return read_hf_config(with("rope_scaling", scaling))->rope; };
    CHECK(scaled(R"({"rope_type": "llama3"})").vectors == 1);
    CHECK(scaled(R"({"rope_type": "llama3"})").width == 8);
    CHECK(read_hf_config(with("rope_parameters", R"({"rope_type": "llama3"})"))->rope.width == 8);
    const rope_factors longer = scaled(R"({"type": "longrope", "long_factor": [1, 2, 3], "short_factor": [1, 2, 3]})");
    CHECK(longer.vectors == 2);
    CHECK(longer.width == 3);
    for (const char* none : {"null", R"({"type": "yarn"})", R"({"type": 7})", R"("llama3")", "[]", "{}"})
        CHECK(scaled(none).vectors == 0);
    const auto gemma = [](const std::string& text_config) {
        return read_hf_config(R"({"model_type": "gemma3", "vision_config": {}, "text_config": )" + text_config + "}")
            ->tokenizer;
    };
    CHECK(gemma(R"({"hidden_size": 2560})") == 262144);
    CHECK(gemma(R"({"vocab_size": 262208})") == 0);
}

TEST_CASE("the shape of a model is taken from its class only where it is nested") {
    const char* nested = R"({"model_type": "llava", "text_config": {"model_type": "mistral"},
        "vision_config": {"model_type": "clip_vision_model"}})";
    const auto read = read_hf_config(nested);
    REQUIRE(read);
    CHECK(read->hidden == 4096);
    CHECK(read->layers.size == 32);
    CHECK(read->layers[0].attention.kv_heads == 8);
    CHECK(read->layers[0].feed_forward.width == 14336);
    CHECK(error_of(R"({"model_type": "mistral"})").code == error_code::missing);
}

TEST_CASE("every default is of a family, and a field that its reader asks for") {
    std::vector<std::string_view> types;
    for (const auto& row : detail::hf::defaults_of_classes)
        for (std::string_view left = row.model_types; !left.empty();) types.push_back(detail::taken_before(left, " "));
    CHECK(types.size() > 100);
    for (const std::string_view type : types) {
        CAPTURE(type);
        const auto* family = detail::hf::find_type(detail::hf::families, type);
        REQUIRE(family != nullptr);
        const auto nothing = nlohmann::json::object();
        const auto defaults = detail::hf::defaults_of(type, true);
        auto whole = nlohmann::json::parse(with("", ""));
        whole.update({{"num_layers", 4},
                      {"head_dim", 16},
                      {"layer_types", nlohmann::json::array()},
                      {"ff_intermediate_size", 64},
                      {"num_heads", 8},
                      {"use_sliding_window", true},
                      {"num_experts", 4},
                      {"hybrid_override_pattern", "M*-"}});
        for (int i = 0; i < 4; ++i) whole["layer_types"].push_back("full_attention");
        for (const auto& [key, unused] : defaults.items()) whole.erase(key);
        config_fields fields{whole};
        fields.fall_back_on(defaults);
        model read = family->read(fields);
        detail::hf::read_rotated(fields, read);
        for (const auto& [key, unused] : defaults.items()) CHECK_MESSAGE(fields.was_read(key.c_str()), key);
    }
}

TEST_CASE("biases are counted where the file asks for them") {
    const parameter_count base = count_of(with("", ""));
    CHECK(count_of(with("attention_bias", "true")) == base + parameters(3 * (64 + 32 + 32 + 64)));
    CHECK(count_of(with("mlp_bias", "true")) == base + parameters(3 * (160 + 160 + 64)));
    CHECK(count_of(with("tie_word_embeddings", "true")) == base - parameters(64'000));
    CHECK(error_of(with("attention_bias", "1")).field == "attention_bias");
}

TEST_CASE("a window covers the layers that the family gives one") {
    const auto windows = [](const std::string& type, const std::string& more) {
        std::string text = with("num_hidden_layers", "6");
        text.replace(text.find("llama"), 5, type);
        text.insert(text.size() - 1, more);
        const auto read = read_hf_config(text);
        REQUIRE(read);
        std::string shown;
        for (int i = 0; i < read->layers.size; ++i)
            shown += read->layers[i].attention.window > token_count{} ? 'w' : '-';
        return shown;
    };
    CHECK(windows("llama", "") == "------");
    CHECK(windows("mistral", "") == "wwwwww");
    CHECK(windows("mistral", R"(, "sliding_window": 32)") == "wwwwww");
    CHECK(windows("mistral", R"(, "sliding_window": null)") == "------");
    CHECK(windows("qwen2", R"(, "sliding_window": 32)") == "------");
    CHECK(windows("qwen2", R"(, "sliding_window": 32, "use_sliding_window": true, "max_window_layers": 4)") ==
          "----ww");
    CHECK(windows("gemma2", R"(, "sliding_window": 32)") == "w-w-w-");
    CHECK(windows("gemma3_text", R"(, "sliding_window": 32)") == "wwwww-");
    CHECK(windows("gemma3_text", R"(, "sliding_window": 32, "sliding_window_pattern": 2)") == "w-w-w-");
    CHECK(windows("qwen3", R"(, "sliding_window": 32, "use_sliding_window": true, "layer_types": ["full_attention",
        "sliding_attention", "full_attention", "full_attention", "full_attention", "sliding_attention"])") == "-w---w");
}

TEST_CASE("a list with too few layers is refused") {
    std::string text = with("layer_types", R"(["full_attention"])");
    text.replace(text.find("llama"), 5, "mistral");
    CHECK(error_of(text).field == "layer_types");
}

TEST_CASE("an unknown number format or quantisation is refused") {
    CHECK(error_of(with("torch_dtype", "\"float12\"")).field == "torch_dtype");
    const error method = error_of(with("quantization_config", R"({"quant_method": "magic"})"));
    CHECK(method.code == error_code::unknown);
    CHECK(method.field == "quantization_config.quant_method");
    CHECK(method.value == "\"magic\"");
    CHECK(method.expected == "a quantisation method");
}

TEST_CASE("no shortened or damaged config crashes the reader") {
    const std::string whole = with("rope_scaling", R"({"factor": 8.0, "type": "yarn"})");
    for (std::size_t length = 0; length < whole.size(); ++length) CHECK_FALSE(read_hf_config(whole.substr(0, length)));
    for (std::size_t i = 0; i < whole.size(); ++i) {
        for (const char replacement : {'\0', '"', '{', '9', '-', '\xff'}) {
            std::string damaged = whole;
            damaged[i] = replacement;
            const auto read = read_hf_config(damaged);
            CHECK((read || !read.error().field.empty()));
        }
    }
}

TEST_CASE("a model of each family counts what is known of it, from the fields that say its shape") {
    std::ifstream file{fixtures + "families.json"};
    const auto table = nlohmann::json::parse(file, nullptr, false);
    REQUIRE(table.is_array());
    CHECK(table.size() > 40);
    for (const auto& row : table) {
        const auto read = read_hf_config(row["config"].dump());
        const std::string name = row["name"];
        CHECK_MESSAGE(read, name, ": ", read.error().field.view(), " ", read.error().value.view());
        const parameter_count counted =
            row["count"] == "stored" ? count_stored_parameters(*read) : count_parameters(*read);
        CHECK_MESSAGE(counted.in(parameters) == row["parameters"].get<std::int64_t>(), name);
    }
}

TEST_CASE("no field of any family's config can be missing, of another type or absurd without a named error") {
    std::ifstream file{fixtures + "families.json"};
    const auto table = nlohmann::json::parse(file, nullptr, false);
    const nlohmann::json wrong[] = {
        nullptr, -1, 0, 7, 1e30, "x", true, nlohmann::json::array(), nlohmann::json::object(), 16777216};
    for (const auto& row : table) {
        for (const auto& [field, value] : row["config"].items()) {
            for (const nlohmann::json& other : wrong) {
                nlohmann::json config = row["config"];
                config[field] = other;
                const auto read = read_hf_config(config.dump());
                CHECK((read || !read.error().field.empty()));
                if (read) CHECK(validate(*read));
            }
        }
    }
}

TEST_CASE("a structure that the family is described without is refused by its field") {
    CHECK(error_of(with("kv_lora_rank", "512")).field == "kv_lora_rank");
    CHECK(error_of(with("num_local_experts", "8")).field == "num_local_experts");
    CHECK(error_of(with("hybrid_override_pattern", "\"M-M*\"")).field == "hybrid_override_pattern");
    CHECK(error_of(with("layer_types", R"(["full_attention", "linear_attention", "full_attention"])")).field ==
          "layer_types");
    CHECK(error_of(with("num_local_experts", "0")).code == error_code::none);
    CHECK(error_of(with("layer_types", R"(["full_attention", "full_attention", "full_attention"])")).code ==
          error_code::none);
    CHECK(error_of(with("vision_config", R"({"hidden_size": 8})")).field == "vision_config");
}

TEST_CASE("a nested text model is read, and refused where a copy outside contradicts it") {
    const std::string text = with("", "");
    const auto nested = [&](const std::string& more) {
        return R"({"model_type": "llava", "vision_config": {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
            "num_attention_heads": 2, "image_size": 28, "patch_size": 14}, "text_config": )" +
               text + more + "}";
    };
    const auto read = read_hf_config(nested(""));
    REQUIRE(read);
    CHECK(read->architecture == "llava");
    CHECK(read->encoders[0].layers == 2);
    CHECK(count_parameters(*read) > count_of(text));
    CHECK(error_of(nested(R"(, "hidden_size": 64)")).code == error_code::none);
    const error other = error_of(nested(R"(, "hidden_size": 128)"));
    CHECK(other.code == error_code::inconsistent);
    CHECK(other.field == "hidden_size");
    CHECK(mentions(other.expected, "text_config.hidden_size, 64"));
    CHECK(error_of(R"({"model_type": "llava", "head_dim": 8, "text_config": {"head_dim": 16}})").field == "head_dim");
    std::string unknown = nested("");
    unknown.replace(unknown.find("llava"), 5, "avall");
    CHECK(error_of(unknown).field == "model_type");
    std::string inside = nested("");
    inside.replace(inside.find("\"hidden_size\": 64"), 17, "\"hidden_size\": -4");
    CHECK(error_of(inside).field == "text_config.hidden_size");
}

TEST_CASE("the methods of quantisation are read in their own words") {
    const auto format = [](const std::string& object) {
        const auto read = read_hf_config(with("quantization_config", object));
        CHECK_MESSAGE(read, read.error().field.view(), " ", read.error().value.view());
        return read->weights;
    };
    CHECK(format(R"({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": true})") == gptq(4, 128));
    CHECK(format(R"({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm"})") == awq(4, 128));
    CHECK(format(R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4"})") == nf4);
    CHECK(format(R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_use_double_quant": true})") == nf4_double);
    CHECK(format(R"({"quant_method": "bitsandbytes", "load_in_8bit": true})") == bnb_int8);
    CHECK(format(R"({"quant_method": "fp8", "activation_scheme": "dynamic"})") == fp8_tensor);
    CHECK(format(R"({"quant_method": "mxfp4"})") == mxfp4);
    CHECK(format(R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})") == nvfp4_static);
    CHECK(
        format(
            R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int",
        "group_size": 128, "symmetric": true, "strategy": "group"}}}})") == packed_int(4, 128));
    CHECK(error_of(with("quantization_config", R"({"quant_method": "gptq"})")).field == "quantization_config.bits");
}

TEST_CASE("modules that a quantised file leaves as they are stay as they are") {
    const auto part = [](const std::string& names) {
        const auto read = read_hf_config(
            with("quantization_config", R"({"quant_method": "fp8", "modules_to_not_convert": [)" + names + "]}"));
        REQUIRE(read);
        return read->layers[0].quantised;
    };
    CHECK(part(R"("lm_head")") == quantised_part::matrices);
    CHECK(part(R"("model.layers.0.self_attn.q_a_layernorm")") == quantised_part::matrices);
    CHECK(part(R"("model.layers.*.self_attn")") == quantised_part::dense);
    CHECK(part(R"("vision_model.layers.0.self_attn.q_proj")") == quantised_part::matrices);
    CHECK(part(R"("re:.*self_attn.*", "re:.*mlp\\.(gate|up|down)_proj")") == quantised_part::none);
}

TEST_CASE("linear scaling of positions stretches the tables that engines keep") {
    const auto contexts = [](const std::string& scaling) {
        return read_hf_config(with("rope_scaling", scaling))->rope.contexts;
    };
    CHECK(contexts(R"({"rope_type": "linear", "factor": 4.0})") == 4);
    CHECK(contexts(R"({"type": "linear", "factor": 2})") == 2);
    CHECK(contexts(R"({"rope_type": "dynamic", "factor": 4.0})") == 1);
    // Gemma 3's windowed layers have a table of their own.
    CHECK(read_hf_config(R"({"model_type": "gemma3", "vision_config": {}, "text_config": {"hidden_size": 2560,
        "sliding_window": 1024, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}})")
              ->rope.contexts == 9);
}

TEST_CASE("a field that repeats what its model_type means is no unknown structure") {
    nlohmann::json config{{"model_type", "qwen3_moe"},      {"hidden_size", 256},          {"num_hidden_layers", 4},
                          {"num_attention_heads", 8},       {"num_key_value_heads", 2},    {"head_dim", 32},
                          {"intermediate_size", 512},       {"moe_intermediate_size", 64}, {"num_experts", 8},
                          {"num_experts_per_tok", 2},       {"vocab_size", 1000},          {"norm_topk_prob", true},
                          {"max_position_embeddings", 2048}};
    const auto plain = read_hf_config(config.dump());
    REQUIRE(plain);
    config["use_qk_norm"] = true;  // Qwen3-Coder-480B
    const auto said = read_hf_config(config.dump());
    REQUIRE(said);
    CHECK(count_parameters(*said) == count_parameters(*plain));
    config["model_type"] = "qwen2_moe";
    config["shared_expert_intermediate_size"] = 128;
    CHECK(read_hf_config(config.dump()).error().field == "use_qk_norm");
}

TEST_CASE("Kimi Linear names its longest context as tokenizers do") {
    const auto read = read_hf_config(R"({"model_type": "kimi_linear", "hidden_size": 256, "num_hidden_layers": 4,
        "num_attention_heads": 8, "vocab_size": 100, "intermediate_size": 300, "model_max_length": 1048576})");
    REQUIRE(read);
    CHECK(read->max_context == tokens(1048576));
    CHECK(read->layers[0].recurrent.kind == recurrent_kind::delta_net);
}

TEST_CASE("what mlx-lm writes of its quantisation is read, under one name or both") {
    const std::string shape =
        R"("model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "vocab_size": 100)";
    const std::string four = R"({"group_size": 64, "bits": 4})";
    for (const std::string& written :
         {", \"quantization\": " + four, ", \"quantization\": " + four + ", \"quantization_config\": " + four}) {
        const auto read = read_hf_config("{" + shape + written + "}");
        REQUIRE(read);
        CHECK(read->weights == mlx(4, 64));
    }
}

TEST_CASE("MiniMax-M2.5 and M2.7 say of every layer what M2 means") {
    nlohmann::json config{{"model_type", "minimax_m2"},
                          {"hidden_size", 256},
                          {"num_hidden_layers", 3},
                          {"num_attention_heads", 8},
                          {"num_key_value_heads", 2},
                          {"head_dim", 32},
                          {"intermediate_size", 64},
                          {"num_local_experts", 8},
                          {"num_experts_per_tok", 2},
                          {"vocab_size", 1000},
                          {"use_qk_norm", true},
                          {"attn_type_list", {1, 1, 1}},
                          {"quantization_config",
                           {{"quant_method", "fp8"},
                            {"weight_block_size", {128, 128}},
                            {"modules_to_not_convert", {"gate", "e_score_correction_bias", "lm_head"}}}}};
    const auto read = read_hf_config(config.dump());
    CAPTURE(read.error().field.view());
    REQUIRE(read);
    CHECK(read->weights == fp8_block);
    config["attn_type_list"] = {1, 0, 1};
    CHECK(read_hf_config(config.dump()).error().field == "attn_type_list");
}

TEST_CASE("a field that must be there is asked for under all its names") {
    const error hidden = error_of(R"({"model_type": "llama", "vocab_size": 1000})");
    CHECK(hidden.field == "hidden_size");
    CHECK(mentions(hidden.expected, "an integer, under the name hidden_size or n_embd"));
}
