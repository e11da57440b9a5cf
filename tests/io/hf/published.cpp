// SPDX-License-Identifier: MIT
// Models that are known by what their config.json says: found by their names, and counted as their publishers count.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <llmres/io/hf/published.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/models/encoders.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

using namespace llmres;

namespace {

model found(std::string_view name) {
    CAPTURE(std::string{name});
    const result<model_source> source = find_preset(name);
    REQUIRE(source);
    return source->model;
}
std::int64_t count(const parameter_count& n) { return static_cast<std::int64_t>(ratio(n, parameters(1))); }

}  // namespace

TEST_CASE("every config.json of the table is read whole, and each repository stands there once") {
    std::set<std::string> repositories;
    for (const detail::hf::published_config& row : detail::hf::published_configs)
        for (std::string_view rest = row.repositories; !rest.empty();) {
            const std::string name{rest.substr(0, rest.find(' '))};
            rest.remove_prefix(name.size() == rest.size() ? rest.size() : name.size() + 1);
            CAPTURE(name);
            CHECK(repositories.insert(name).second);
            CHECK(name.find('/') != std::string::npos);
            REQUIRE(detail::hf::find_published(name));
            CHECK(validate(found(name)));
            CHECK(found(name).max_context > token_count{});
        }
    CHECK(repositories.size() > 40);
}

TEST_CASE("counts are those that their publishers give to the last digit") {
    // Totals of the files on the Hub, with the layers that predict ahead.
    const struct {
        const char* repository;
        std::int64_t stored;
    } counted[] = {{"deepseek-ai/DeepSeek-V4-Flash", 290'944'616'402},
                   {"deepseek-ai/DeepSeek-V4-Pro", 1'598'839'674'782},
                   {"moonshotai/Kimi-K3", 2'779'931'837'184},
                   {"Qwen/Qwen3.5-9B", 9'653'104'368},
                   {"arcee-ai/Trinity-Large-Preview", 398'635'286'016},
                   {"ibm-granite/granite-4.1-8b", 8'791'592'960},
                   {"ibm-granite/granite-4.1-3b", 3'402'836'480},
                   {"BAAI/bge-m3", 567'754'752},
                   {"BAAI/bge-reranker-v2-m3", 567'755'777},
                   {"intfloat/multilingual-e5-large-instruct", 559'890'432},
                   {"Qwen/Qwen3.5-0.8B", 873'438'784},
                   {"Qwen/Qwen3.5-2B", 2'274'069'824},
                   {"Qwen/Qwen3.5-4B", 4'659'865'088},
                   {"Qwen/Qwen3-Embedding-4B", 4'021'774'336},
                   {"Qwen/Qwen3-Embedding-8B", 7'567'295'488},
                   {"Qwen/Qwen3-Reranker-0.6B", 595'776'512},
                   {"mistralai/Ministral-3-3B-Instruct-2512", 3'849'090'048},
                   {"MiniMaxAI/MiniMax-M2.7", 228'689'764'864},
                   {"zai-org/GLM-4.1V-9B-Thinking", 10'292'777'472},
                   {"zai-org/GLM-4.6V", 107'710'933'120},
                   {"zai-org/GLM-4.6V-Flash", 10'292'777'472},
                   {"google/gemma-4-E2B-it", 5'123'178'051},
                   {"google/gemma-4-E4B-it", 7'996'156'490},
                   {"Qwen/Qwen2.5-VL-3B-Instruct", 3'754'622'976},
                   {"google/gemma-3n-E2B-it", 5'439'438'272},
                   {"google/gemma-3n-E4B-it", 7'849'978'192},
                   {"nomic-ai/nomic-embed-text-v1.5", 136'731'648},
                   {"nomic-ai/nomic-embed-text-v2-moe", 475'292'928},
                   {"google/embeddinggemma-300m", 302'863'104}};
    for (const auto& c : counted) CHECK(count(count_stored_parameters(found(c.repository))) == c.stored);
}

TEST_CASE("encoders' files count the number of each position, too") {
    const struct {
        const char* repository;
        std::int64_t stored, positions, context;
    } counted[] = {{"sentence-transformers/all-MiniLM-L6-v2", 22'713'728, 512, 512},
                   {"sentence-transformers/all-MiniLM-L12-v2", 33'360'512, 512, 512},
                   {"BAAI/bge-small-en-v1.5", 33'360'512, 512, 512},
                   {"BAAI/bge-base-en-v1.5", 109'482'752, 512, 512},
                   {"intfloat/multilingual-e5-small", 117'654'272, 512, 512},
                   {"intfloat/multilingual-e5-base", 278'044'162, 514, 512}};
    for (const auto& c : counted) {
        const model m = found(c.repository);
        CHECK(count(count_stored_parameters(m)) + c.positions == c.stored);
        CHECK(m.head.kind == head_kind::encoder);
        CHECK(m.max_context == tokens(c.context));
    }
    for (const char* embeds : {"Qwen/Qwen3-Embedding-4B", "Qwen/Qwen3-Embedding-8B"})
        CHECK(found(embeds).head.kind == head_kind::pooled);
}

TEST_CASE("positions of RoBERTa's kin begin behind the padding token's, so that two are of no token") {
    const auto context_of = [](const char* name) { return found(name).max_context; };
    for (const char* of_512 :
         {"FacebookAI/roberta-large", "FacebookAI/xlm-roberta-base", "intfloat/multilingual-e5-large"})
        CHECK(context_of(of_512) == tokens(512));
    CHECK(context_of("BAAI/bge-m3") == tokens(8192));
    CHECK(models::roberta_base.max_context == tokens(512));
    const auto read = [](const char* type, const nlohmann::json& more) {
        nlohmann::json config{{"model_type", type},
                              {"vocab_size", 100},
                              {"hidden_size", 64},
                              {"num_hidden_layers", 2},
                              {"num_attention_heads", 2},
                              {"intermediate_size", 128},
                              {"max_position_embeddings", 514}};
        config.merge_patch(more);
        return read_hf_config(config.dump()).value().max_context;
    };
    for (const char* type : {"roberta", "camembert", "xlm-roberta", "xlm-roberta-xl", "data2vec-text", "xmod"}) {
        CAPTURE(type);
        CHECK(read(type, nlohmann::json::object()) == tokens(512));
        CHECK(read(type, {{"pad_token_id", 0}}) == tokens(513));
    }
    CHECK(read("bert", nlohmann::json::object()) == tokens(514));
}

TEST_CASE(
    "classes that BERT's kin are pretrained by tell from two scores whether a sentence follows; RoBERTa's do not") {
    // transformers' BertForPreTraining and MegatronBertForPreTraining: seq_relationship = nn.Linear(hidden_size, 2).
    const auto tells = [](const char* type, const char* architecture) {
        const nlohmann::json config{{"model_type", type},       {"architectures", {architecture}},
                                    {"vocab_size", 100},        {"hidden_size", 64},
                                    {"num_hidden_layers", 2},   {"num_attention_heads", 2},
                                    {"intermediate_size", 128}, {"max_position_embeddings", 512}};
        const model m = read_hf_config(config.dump()).value();
        const auto all = m.extra_weights();
        return std::any_of(all.begin(), all.end(), [](const extra_weight& w) {
            return w.part == model_part::apart && w.bias && w.rows == 2 && w.columns == 64;
        });
    };
    CHECK(tells("bert", "BertForPreTraining"));
    CHECK(tells("megatron-bert", "MegatronBertForPreTraining"));
    CHECK_FALSE(tells("megatron-bert", "MegatronBertModel"));
    CHECK_FALSE(tells("roberta", "RobertaForMaskedLM"));
}

TEST_CASE("encoders count as transformers' own classes do, with their poolers") {
    const struct {
        const char* repository;
        std::int64_t parameters;
    } counted[] = {{"FacebookAI/roberta-large", 355'359'744},
                   {"FacebookAI/xlm-roberta-base", 278'043'648},
                   {"FacebookAI/xlm-roberta-large", 559'890'432},
                   {"BAAI/bge-large-en-v1.5", 335'141'888},
                   {"mixedbread-ai/mxbai-embed-large-v1", 335'141'888}};
    for (const auto& c : counted) {
        CHECK(count(count_parameters(found(c.repository))) == c.parameters);
        CHECK(found(c.repository).head.kind == head_kind::encoder);
    }
    // A classifier's dense layer is as large as the pooler, and one score has a bias.
    CHECK(count(count_parameters(found("BAAI/bge-reranker-large"))) == 559'890'432 + 1024 + 1);
    // Mistral 7B without its head.
    CHECK(count(count_parameters(found("intfloat/e5-mistral-7b-instruct"))) == 7'241'732'096 - 32'000 * 4096);
    CHECK(found("intfloat/e5-mistral-7b-instruct").head.kind == head_kind::pooled);
}

TEST_CASE("counts are those that their publishers give in three digits, of all parameters and of active ones") {
    const struct {
        const char* repository;
        double billions, active = 0;
    } counted[] = {{"zai-org/GLM-4.7-Flash", 29.9, 3.9},
                   {"moonshotai/Kimi-Linear-48B-A3B-Instruct", 49.1, 3.5},
                   {"upstage/Solar-Open-100B", 102.7, 12.1},
                   {"mistralai/Mistral-Small-4-119B-2603", 119, 6.6},
                   {"LGAI-EXAONE/EXAONE-4.0-32B", 32.0},
                   {"LGAI-EXAONE/K-EXAONE-236B-A23B", 236, 23.3},
                   {"ByteDance-Seed/Seed-OSS-36B-Instruct", 36.2},
                   {"arcee-ai/Trinity-Mini", 26.1},
                   {"LiquidAI/LFM2-8B-A1B", 8.34, 1.6},
                   {"allenai/Olmo-3-7B-Instruct", 7.30},
                   {"allenai/Olmo-3-32B-Think", 32.2},
                   {"baidu/ERNIE-4.5-300B-A47B-PT", 299, 47.9},
                   {"ai21labs/AI21-Jamba-Large-1.7", 399, 94.1},
                   {"XiaomiMiMo/MiMo-7B-RL", 7.62},
                   {"openbmb/MiniCPM4.1-8B", 8.19},
                   {"inclusionAI/Ling-mini-2.0", 16.3, 1.4},
                   {"swiss-ai/Apertus-70B-Instruct-2509", 70.6},
                   {"tiiuae/Falcon-H1-34B-Instruct", 33.6},
                   {"CohereLabs/command-a-03-2025", 111},
                   {"mistralai/Ministral-3-8B-Instruct-2512", 8.92},
                   {"mistralai/Ministral-3-14B-Instruct-2512", 13.9},
                   {"mistralai/Devstral-Small-2-24B-Instruct-2512", 24.0},
                   {"mistralai/Mistral-Large-3-675B-Instruct-2512", 675},
                   {"moonshotai/Kimi-K2.5", 1027, 32.9}};
    for (const auto& c : counted) {
        const model m = found(c.repository);
        CAPTURE(c.repository);
        CHECK(static_cast<double>(count(count_parameters(m))) / 1e9 == doctest::Approx(c.billions).epsilon(0.004));
        if (c.active > 0)
            CHECK(static_cast<double>(count(count_active_parameters(m))) / 1e9 ==
                  doctest::Approx(c.active).epsilon(0.03));
    }
}

TEST_CASE("Gemma 3n's files hold keys and values of layers that read those of earlier ones, which no model has") {
    const model m = found("gemma-3n-E4B");
    // A layer of 2,048 features has two matrices to 512 features, and a norm of 256; 15 of 35 layers have none.
    CHECK(count(count_stored_parameters(m)) - count(count_parameters(m)) == 15 * (2 * 2048 * 512 + 256));
    std::int64_t reading = 0;
    for (std::int32_t i = 0; i < m.layers.size; ++i) reading += m.layers[i].attention.kv == kv_source::shared ? 1 : 0;
    CHECK(reading == 15);
    // 12 layers of audio with 24 x 1,536 x 1,536 values in matrices, 9 norms, a scale for 192 and a kernel of 5
    const std::int64_t layer = 24 * 1536 * 1536 + 9 * 1536 + 192 + 5 * 1536;
    CHECK(m.encoders[1].layers == 12);
    std::int64_t audio = 0;
    for_each_weight(m.encoders[1].block, 1536, [&](const weight& w) { audio += count(w.count()); });
    CHECK(audio == layer);
    CHECK(read_hf_config(R"({"model_type": "gemma3n", "text_config": {"intermediate_size": 8192}, "vision_config":
        {"architecture": "resnet50"}, "audio_config": {}})")
              .error()
              .field == "vision_config.architecture");
}

TEST_CASE(
    "Gemma 4's files hold a scalar of each layer, and keys and values of layers that read those of earlier ones") {
    const model e2b = found("gemma-4-E2B"), e4b = found("gemma-4-E4B");
    const auto apart = [](const model& m) { return count(count_stored_parameters(m)) - count(count_parameters(m)); };
    // 20 layers of 35, four of them global with 512 features and not 256; 18 of 42, three of them global.
    CHECK(apart(e2b) == 16 * (2 * 1536 * 256 + 256) + 4 * (2 * 1536 * 512 + 512) + 35);
    CHECK(apart(e4b) == 15 * (2 * 2560 * 512 + 256) + 3 * (2 * 2560 * 1024 + 512) + 42);
    CHECK(e2b.encoders[1].hidden == 1024);
    const auto refused = [](const char* audio) {
        return read_hf_config(R"({"model_type": "gemma4", "text_config": {}, "audio_config": )" + std::string{audio} +
                              "}")
            .error()
            .field;
    };
    for (const char* heads : {R"({"num_attention_heads": 0})", R"({"num_attention_heads": 7})"})
        CHECK(refused(heads) == "audio_config.num_attention_heads");
}

TEST_CASE("a name is found without its organisation, in any letter case, and spelled as Ollama does") {
    for (const char* name : {"Qwen/Qwen3.5-9B", "qwen3.5-9b", "QWEN3.5-9B", "qwen3.5:9b", "Qwen3.5 9B"})
        CHECK(found(name).name == "qwen3.5-9b");
    CHECK(found("unsloth/GLM-4.7-Flash-GGUF:Q4_K_M").name == "glm-4.7-flash");
    CHECK(find_preset("unsloth/GLM-4.7-Flash-GGUF:Q4_K_M")->gguf->quantisation == gguf_quantisation::Q4_K_M);
    CHECK_FALSE(find_preset("qwen3.5-9.5b"));
    CHECK_FALSE(find_preset("Qwen/"));
    CHECK_FALSE(find_preset(" "));
}

TEST_CASE("models that see part of the context in most layers are described so") {
    const auto windows = [](const model& m) {
        std::int64_t with = 0;
        for (std::int32_t i = 0; i < m.layers.size; ++i) with += m.layers[i].attention.window > token_count{} ? 1 : 0;
        return with;
    };
    CHECK(windows(found("LGAI-EXAONE/EXAONE-4.0-32B")) == 48);
    CHECK(windows(found("LGAI-EXAONE/K-EXAONE-236B-A23B")) == 36);
    CHECK(windows(found("allenai/Olmo-3-7B-Instruct")) == 24);
    CHECK(windows(found("CohereLabs/command-a-03-2025")) == 48);
    CHECK(windows(found("arcee-ai/Trinity-Large-Preview")) == 45);
}

TEST_CASE("Kimi K2.5's experts have four bits in groups of 32, all else 16") {
    const model m = found("moonshotai/Kimi-K2.5");
    CHECK(m.weights == packed_int(4, 32));
    // 60 layers of 384 experts with 3 x 7,168 x 2,048 values: half a byte, and two for 32 of them
    const double experts = 60.0 * 384 * 3 * 7168 * 2048;
    const double held = static_cast<double>(weight_bytes(m, formats_of(m)).in(bytes));
    const double rest = static_cast<double>(count(count_parameters(m))) - experts;
    CHECK(held == doctest::Approx(experts * (0.5 + 2.0 / 32) + rest * 2).epsilon(0.001));
}

TEST_CASE(
    "Mistral's models of December 2025 are published in 8 bits with a scale for each tensor, their towers in 16") {
    const model m = found("mistralai/Ministral-3-8B-Instruct-2512");
    CHECK(m.weights == fp8_tensor_static);
    // 34 layers of 4,096 x (2 x 4,096 + 2 x 1,024 + 3 x 14,336) values; two tables of 131,072 x 4,096 and a tower
    const double layers = 34.0 * 4096 * (2 * 4096 + 2 * 1024 + 3 * 14336);
    const double held = static_cast<double>(weight_bytes(m, formats_of(m)).in(bytes));
    const double rest = static_cast<double>(count(count_parameters(m))) - layers;
    CHECK(held == doctest::Approx(layers + rest * 2).epsilon(0.001));
}

TEST_CASE("Mistral Large 3 has 673 billion parameters of text, 39 active for a token, and files of 634.70 GiB") {
    const model m = found("mistralai/Mistral-Large-3-675B-Instruct-2512");
    model text = m;
    text.encoders[0] = {};
    text.extra_count = 0;
    CHECK(static_cast<double>(count(count_parameters(text))) / 1e9 == doctest::Approx(673).epsilon(0.001));
    CHECK(static_cast<double>(count(count_active_parameters(text)) - text.vocabulary * text.hidden) / 1e9 ==
          doctest::Approx(39).epsilon(0.01));
    CHECK(m.weights == fp8_block);
    // The Hub's files, as KAITO's preset for them says.
    CHECK(static_cast<double>(weight_bytes(m, formats_of(m)).in(bytes)) / 1073741824.0 ==
          doctest::Approx(634.70).epsilon(0.0005));
    // Latent attention: 512 features and 64 rotated ones in each of 61 layers.
    CHECK(kv_bytes_per_token(m, bf16) == bytes_a_token(61 * (512 + 64) * 2));
}

TEST_CASE("Phi-4-multimodal's file has two adapters beside the model, for images and for speech") {
    const model m = found("microsoft/Phi-4-multimodal-instruct");
    // Of ranks 256 and 320, on the four projections of 32 layers: inputs and outputs of each.
    const std::int64_t ends = (3072 + 5120) + (3072 + 3072) + (3072 + 16384) + (8192 + 3072);
    const std::int64_t adapters = (256 + 320) * ends * 32;
    constexpr std::int64_t spectrum = 2 * 80;  // mean and deviation of each channel of sound
    CHECK(count(count_parameters(m)) + adapters + spectrum == 5'574'460'384);
}

TEST_CASE("jina-embeddings-v4 is Qwen2.5-VL 3B with a projector in the place of the head") {
    const model m = found("jinaai/jina-embeddings-v4");
    CHECK(count(count_parameters(m)) == 3'754'622'976 + 128 * 2048 + 128);
    CHECK(m.head.kind == head_kind::pooled);
}

TEST_CASE("quantised copies of these models are found by their endings") {
    CHECK(found("mlx-community/GLM-4.7-Flash-4bit").weights == mlx(4, 64));
    CHECK(found("QuantTrio/Seed-OSS-36B-Instruct-AWQ").weights == awq(4, 128));
    CHECK(found("turboderp/Qwen3.5-9B-exl3:5.0bpw").weights == exl3(5000));
    CHECK(found("nvidia/Kimi-K2.5-NVFP4").weights == nvfp4_static);
}

TEST_CASE("a pattern of windows is a number or letters, the last of which is global") {
    const auto windows = [](const char* pattern) {
        std::string config =
            R"({"model_type": "exaone4", "vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 12,
            "num_attention_heads": 4, "intermediate_size": 128, "sliding_window": 16, "sliding_window_pattern": )";
        const result<model> m = read_hf_config(config + pattern + "}");
        if (!m) return std::int64_t{-1};
        std::int64_t with = 0;
        for (std::int32_t i = 0; i < m->layers.size; ++i) with += m->layers[i].attention.window > token_count{} ? 1 : 0;
        return with;
    };
    CHECK(windows("4") == 9);
    CHECK(windows("\"LLLG\"") == 9);
    CHECK(windows("\"LG\"") == 6);
    CHECK(windows("\"LLLLLG\"") == 10);
    for (const char* wrong : {"\"\"", "\"LGL\"", "\"GLL\"", "\"LLLL\"", "\"lllg\"", "0", "\"LLGG\""})
        CHECK(windows(wrong) == -1);
}

TEST_CASE("DeepSeek-V4's parameters, active ones and caches are those published") {
    const model flash = found("deepseek-ai/DeepSeek-V4-Flash"), pro = found("deepseek-ai/DeepSeek-V4-Pro");
    CHECK(count(count_parameters(flash)) == 284'334'567'511);
    CHECK(count(count_parameters(pro)) == 1'572'999'528'803);
    // 13 and 49 billion, which count no embedding
    CHECK(count(count_active_parameters(flash)) - flash.vocabulary * flash.hidden == 13'272'428'631);
    CHECK(static_cast<double>(count(count_active_parameters(pro)) - pro.vocabulary * pro.hidden) / 1e9 ==
          doctest::Approx(48.85).epsilon(0.0002));
    // 9.62 GiB of 1,048,576 tokens with the indexer's keys in 16 bits; they are kept in 8 bits and four bytes of scale
    const auto gib_of = [](model m, bool quantised) {
        for (layer& kind : m.layers.kinds) kind.attention.indexer.quantised = quantised;
        return static_cast<double>(kv_cache_bytes(m, bf16, tokens(1048576)).in(bytes)) / 1073741824.0;
    };
    CHECK(gib_of(pro, false) == doctest::Approx(9.62).epsilon(0.002));
    CHECK(gib_of(pro, true) == doctest::Approx(9.62 - 30 * (64 - 33) * 1048576 / 1073741824.0).epsilon(0.002));
}

TEST_CASE("DeepSeek-V4's experts are MXFP4 beside matrices in blocks of 8 bits; NVIDIA's copy has NVFP4 there") {
    const model flash = found("deepseek-ai/DeepSeek-V4-Flash");
    CHECK(flash.weights == mxfp4);
    CHECK(flash.mixed.attention == maybe<precision>{fp8_block});
    CHECK(flash.mixed.feed_forward == maybe<precision>{fp8_block});
    // 43 layers of 256 experts with 3 x 4,096 x 2,048 values: half a byte, and one for 32 of them
    const double experts = 43.0 * 256 * 3 * 4096 * 2048;
    const double all = static_cast<double>(weight_bytes(flash, formats_of(flash)).in(bytes));
    const double rest = static_cast<double>(count(count_parameters(flash))) - experts;
    CHECK(all > experts * (0.5 + 1.0 / 32) + rest);      // 8 bits
    CHECK(all < experts * (0.5 + 1.0 / 32) + rest * 2);  // embedding, head and compressors have 16
    CHECK(found("sgl-project/DeepSeek-V4-Flash-FP8").weights == fp8_block);
    const model copy = read_hf_config(R"({"model_type": "deepseek_v4", "vocab_size": 1000, "hidden_size": 256,
        "num_hidden_layers": 2, "num_attention_heads": 8, "head_dim": 64, "qk_rope_head_dim": 16, "q_lora_rank": 128,
        "o_groups": 2, "o_lora_rank": 64, "sliding_window": 128, "compress_ratios": [0, 4, 0], "index_n_heads": 4,
        "index_head_dim": 32, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128,
        "expert_dtype": "fp4", "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128],
        "fmt": "e4m3", "moe_quant_algo": "NVFP4", "quant_algo": "MIXED_PRECISION", "ignore": ["*.attn.*"]}})")
                           .value();
    CHECK(copy.weights == nvfp4_static);
    CHECK(copy.mixed.attention == maybe<precision>{fp8_block});
}

TEST_CASE("Kimi-K3 keeps its experts in MXFP4, all else in 16 bits, and caches 24 of 93 layers") {
    const model m = found("moonshotai/Kimi-K3");
    // As the Hub counts its files: 2,722,740,830,208 numbers in MXFP4, 57,179,884,544 in bf16 and 11,122,432 in fp32
    const double in_files = 2'722'740'830'208.0 * (0.5 + 1.0 / 32) + 57'179'884'544.0 * 2 + 11'122'432.0 * 4;
    CHECK(static_cast<double>(weight_bytes(m, formats_of(m)).in(bytes)) == doctest::Approx(in_files).epsilon(2e-5));
    CHECK(kv_bytes_per_token(m, bf16) == bytes_a_token(24 * (512 + 64) * 2));
    // 96 heads of 128 x 128 in fp32, and three inputs of each channel in bf16, in 69 layers
    CHECK(recurrent_state_bytes(m, {fp32, bf16}) == bytes(69 * (96 * 128 * 128 * 4 + 3 * 3 * 96 * 128 * 2)));
    CHECK(count(count_active_parameters(m)) - m.vocabulary * m.hidden ==
          doctest::Approx(104.2e9).epsilon(0.006));  // the published figure leaves the tower out
}

TEST_CASE("DeepSeek-V4's layers are read by ratios, as its files have them, or by kinds, as transformers writes them") {
    nlohmann::json config = nlohmann::json::parse(R"({"model_type": "deepseek_v4", "vocab_size": 1000,
        "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "head_dim": 64, "qk_rope_head_dim": 16,
        "q_lora_rank": 128, "o_groups": 2, "o_lora_rank": 64, "sliding_window": 128, "index_n_heads": 4,
        "index_head_dim": 32, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128,
        "hc_mult": 4})");
    const auto read = [](const nlohmann::json& of) { return read_hf_config(of.dump()); };
    nlohmann::json by_ratios = config, by_kinds = config;
    by_ratios["compress_ratios"] = {0, 128, 4, 128};
    by_ratios["num_hash_layers"] = 2;
    by_kinds["layer_types"] = {"sliding_attention", "heavily_compressed_attention", "compressed_sparse_attention",
                               "heavily_compressed_attention"};
    by_kinds["mlp_layer_types"] = {"hash_moe", "hash_moe", "moe", "moe"};
    REQUIRE(read(by_ratios));
    REQUIRE(read(by_kinds));
    for (std::int32_t i = 0; i < 4; ++i) CHECK(read(by_ratios)->layers[i] == read(by_kinds)->layers[i]);
    by_kinds["compress_rates"] = {{"heavily_compressed_attention", 64}};
    CHECK(read(by_kinds)->layers[1].attention.compressed.ratio == 64);
    CHECK(read(by_kinds)->layers[2].attention.compressed.ratio == 4);
    by_kinds["compress_rates"] = {{"compressed_sparse_attention", 8}};  // an indexer chooses among entries of 8, too
    CHECK(read(by_kinds)->layers[2].attention.compressed.ratio == 8);
    CHECK(read(by_kinds)->layers[2].attention.compressed.windows == 2);
    CHECK(read(by_kinds)->layers[2].attention.indexer.heads == 4);

    const auto refused = [&](nlohmann::json of, const char* field, const nlohmann::json& value) {
        of[field] = value;
        const auto m = read(of);
        return m ? std::string{} : std::string{m.error().field.view()};
    };
    CHECK(refused(by_ratios, "o_groups", 3) == "o_groups");
    CHECK(refused(by_ratios, "num_key_value_heads", 2) == "num_key_value_heads");
    CHECK(refused(by_ratios, "compress_ratios", {0, 128}) == "compress_ratios");
    CHECK(refused(by_ratios, "hc_mult", 0) == "hc_mult");
    CHECK(refused(by_kinds, "layer_types",
                  {"linear_attention", "linear_attention", "linear_attention", "linear_attention"}) == "layer_types");
    CHECK(refused(by_ratios, "qk_rope_head_dim", 65) == "qk_rope_head_dim");
    CHECK(refused(by_ratios, "expert_dtype", "fp8").empty());
    CHECK(refused(by_ratios, "expert_dtype", "int3") == "expert_dtype");
    CHECK(refused(by_ratios, "expert_dtype", 4) == "expert_dtype");
}

TEST_CASE("a name that nearly means a published model is answered with that model's, without its organisation") {
    const auto answered = [](const char* asked, std::string_view meant) {
        const nearest_names found = detail::hf::search_models_and_published(asked);
        for (std::size_t i = 0; i < found.count; ++i)
            if (found.names[i] == meant) return true;
        return false;
    };
    CHECK(answered("trinity-large-previw", "Trinity-Large-Preview"));
    CHECK(answered("GLM-4.7-Flsh", "GLM-4.7-Flash"));
    CHECK(answered("Seed-OSS-36B-Instrct", "Seed-OSS-36B-Instruct"));
    for (const char* word : {"", " ", "-"}) CHECK_FALSE(detail::hf::find_published_by_words(word));
    CHECK(detail::hf::find_published_by_words("qwen3.5:9b"));
}
