// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/models/all.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <string>
#include <vector>

using namespace llmres;

namespace {

constexpr layer dense(std::int64_t heads, std::int64_t kv_heads, std::int64_t width) {
    return {.attention = {.heads = heads, .kv_heads = kv_heads, .head_dim = 128}, .feed_forward = {.width = width}};
}

/// The shape of Llama 3.1 8B.
constexpr model llama_8b{
    .architecture = "llama", .vocabulary = 128256, .hidden = 4096, .layers = {32, dense(32, 8, 14336)}};

constexpr gguf_mix mix_of(std::string_view name) { return *find_gguf_mix("mix", name); }

/// The types of a role's tensors, layer by layer.
std::vector<gguf_type> types_of(const model& m, const gguf_mix& mix, weight_role role) {
    std::vector<gguf_type> found;
    for (std::int32_t i = 0; i < m.layers.size; ++i)
        for_each_gguf_tensor(m, mix, i, [&](const gguf_tensor& tensor) {
            if (tensor.role == role) found.push_back(tensor.type);
        });
    return found;
}

std::string layers_of(const std::vector<gguf_type>& types, gguf_type wanted) {
    std::string found;
    for (std::size_t i = 0; i < types.size(); ++i)
        if (types[i] == wanted) found += (found.empty() ? "" : " ") + std::to_string(i);
    return found;
}

}  // namespace

TEST_CASE("Q5_K_M stores every down projection of the first and last eighth, and each third between, in six bits") {
    // llama.cpp's llama-quant.cpp: use_more_bits() of 16 layers: 0, 1, then 4, 7, 10, 13, then 14, 15.
    const detail::gguf::traits of{.layers = 16, .in_layers = detail::gguf::more_bits{16}};
    const gguf_mix mix{.quantisation = gguf_quantisation::Q5_K_M};
    for (const std::int32_t i : {0, 1, 4, 7, 10, 13, 14, 15})
        CHECK(detail::gguf::down_type(mix, of, gguf_type::Q5_K, i) == gguf_type::Q6_K);
    for (const std::int32_t i : {2, 3, 5, 6, 8, 9, 11, 12})
        CHECK(detail::gguf::down_type(mix, of, gguf_type::Q5_K, i) == gguf_type::Q5_K);
}

TEST_CASE("what a file is known to store a matrix in has the number of its type") {
    gguf_stored_types stored{};
    stored.count = 1;
    const std::size_t place = gguf_stored_types::place(weight_role::down_proj, false);
    stored.patterns[0][place] = static_cast<std::uint8_t>(static_cast<int>(gguf_type::Q6_K) + 1);
    CHECK(stored.type_of(3, weight_role::down_proj, false) == gguf_type::Q6_K);
    CHECK_FALSE(stored.type_of(3, weight_role::down_proj, true));
}

TEST_CASE("a model without layers has no queries to share a key") {
    CHECK(detail::gguf::traits_of(model{}, gguf_mix{}).shared_heads == 0);
}

TEST_CASE("every name gives its mix, in either case") {
    for (const auto& known : detail::gguf::quantisations) {
        std::string lower{known.name};
        for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        CAPTURE(lower);
        REQUIRE(find_gguf_mix("mix", known.name));
        CHECK(find_gguf_mix("mix", lower)->quantisation == known.quantisation);
        CHECK_FALSE(find_gguf_mix("mix", lower)->embedding);
    }
    CHECK(mix_of("q4_k_l").quantisation == gguf_quantisation::Q4_K_M);
    CHECK(mix_of("Q4_K_L").embedding.value == gguf_type::Q8_0);
    CHECK(mix_of("Q3_K_XL").quantisation == gguf_quantisation::Q3_K_L);
    for (const char* wrong : {"", "Q4_K", "q4", "Q9_0", "Q4_K_M ", "IQ4"}) {
        CAPTURE(wrong);
        CHECK(find_gguf_mix("weights", wrong).error().code == error_code::unknown);
        CHECK(find_gguf_mix("weights", wrong).error().field == "weights");
    }
}

TEST_CASE("Q4_K_M gives more bits to values and ffn_down at both ends and in every third layer between") {
    const auto mix = mix_of("Q4_K_M");
    CHECK(layers_of(types_of(llama_8b, mix, weight_role::down_proj), gguf_type::Q6_K) ==
          "0 1 2 3 6 9 12 15 18 21 24 27 28 29 30 31");
    CHECK(types_of(llama_8b, mix, weight_role::v_proj) == types_of(llama_8b, mix, weight_role::down_proj));
    for (const gguf_type type : types_of(llama_8b, mix, weight_role::up_proj)) CHECK(type == gguf_type::Q4_K);
    for (const gguf_type type : types_of(llama_8b, mix, weight_role::norm)) CHECK(type == gguf_type::F32);
}

TEST_CASE("published sizes: Llama 3.1 8B, with its 64 rotary factors, less the header of its file") {
    constexpr auto published = [](std::string_view name) {
        model scaled = llama_8b;
        scaled.rope = {.vectors = 1, .width = 64};
        return gguf_tensor_bytes(scaled, mix_of(name));
    };
    static_assert(published("Q4_K_M") == bytes(4920739232 - 7840928));
    static_assert(published("Q2_K_L") == bytes(3692160416 - 7840928));
    static_assert(published("IQ2_M") == bytes(2948285856 - 7840928));
}

TEST_CASE("the parts add up to the whole") {
    for (const auto& known : detail::gguf::quantisations) {
        const gguf_mix mix{.quantisation = known.quantisation};
        model scaled = llama_8b;
        scaled.rope = {.vectors = 2, .width = 48};
        byte_count sum = gguf_input_bytes(scaled, mix) + gguf_output_bytes(scaled, mix);
        for (std::int32_t i = 0; i < scaled.layers.size; ++i) sum += gguf_layer_bytes(scaled, mix, i);
        CHECK(sum == gguf_tensor_bytes(scaled, mix));
    }
}

TEST_CASE("a plain format holds every matrix in it and every vector in fp32") {
    const byte_count half = gguf_tensor_bytes(llama_8b, mix_of("F16"));
    const std::int64_t vectors = (2 * 32 + 1) * 4096;
    CHECK(half == bytes(2 * (count_parameters(llama_8b).in(parameters)-vectors) + 4 * vectors));
    CHECK(gguf_tensor_bytes(llama_8b, mix_of("BF16")) == half);
    CHECK(gguf_tensor_bytes(llama_8b, mix_of("F32")) == bytes(4 * count_parameters(llama_8b).in(parameters)));
}

TEST_CASE("more bits in the name, more bytes in the file") {
    byte_count before;
    for (const char* name :
         {"IQ1_S",  "IQ1_M",  "IQ2_XXS", "IQ2_XS", "IQ2_S",  "IQ2_M",  "Q2_K", "IQ3_XS", "IQ3_S", "IQ3_M", "Q3_K_M",
          "Q3_K_L", "IQ4_XS", "Q4_K_S",  "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K", "Q8_0",   "F16",   "F32"}) {
        CAPTURE(name);
        const byte_count size = gguf_tensor_bytes(llama_8b, mix_of(name));
        CHECK(size > before);
        before = size;
    }
}

TEST_CASE("a tied embedding is stored once, in the output's type") {
    model tied = llama_8b;
    tied.tied_head = true;
    gguf_mix mix = mix_of("Q4_K_M");
    const byte_count once = gguf_tensor_bytes(tied, mix);
    CHECK(gguf_input_bytes(tied, mix) == size_of(q6_k, 128256, 4096));
    CHECK(gguf_output_bytes(tied, mix) == bytes(4 * 4096));
    mix.tied_head_stored = true;
    CHECK(gguf_tensor_bytes(tied, mix) == once + size_of(q4_k, 128256, 4096));
}

TEST_CASE("a row that is no whole number of blocks falls back as llama.cpp's quantiser does") {
    model odd = llama_8b;  // 960 = 3.75 blocks of 256 = 30 of 32
    odd.hidden = 960;
    odd.layers = {32, dense(32, 8, 2560)};
    const std::vector<gguf_type> fallen{types_of(odd, mix_of("Q4_K_S"), weight_role::q_proj)[0],
                                        types_of(odd, mix_of("Q5_K_S"), weight_role::q_proj)[0],
                                        types_of(odd, mix_of("Q6_K"), weight_role::q_proj)[0],
                                        types_of(odd, mix_of("Q3_K_S"), weight_role::q_proj)[0],
                                        types_of(odd, mix_of("IQ4_XS"), weight_role::q_proj)[0]};
    CHECK(fallen == std::vector{gguf_type::Q5_0, gguf_type::Q5_1, gguf_type::Q8_0, gguf_type::Q4_0, gguf_type::IQ4_NL});
    CHECK(types_of(odd, mix_of("Q4_K_S"), weight_role::down_proj)[20] == gguf_type::Q4_K);  // 2560 wide
    CHECK(gguf_input_bytes(odd, mix_of("Q4_K_S")) == size_of(q5_0, 128256, 960));
    odd.hidden = 1000;  // not even a multiple of 32
    CHECK(types_of(odd, mix_of("Q4_K_S"), weight_role::q_proj)[0] == gguf_type::F16);
    CHECK(types_of(odd, mix_of("Q8_0"), weight_role::q_proj)[0] == gguf_type::F16);
}

TEST_CASE("grouped queries buy better values in the small quantisations") {
    model alone = llama_8b;
    alone.layers = {32, dense(32, 32, 14336)};
    CHECK(types_of(llama_8b, mix_of("Q2_K"), weight_role::v_proj)[0] == gguf_type::Q4_K);
    CHECK(types_of(alone, mix_of("Q2_K"), weight_role::v_proj)[0] == gguf_type::Q3_K);
    CHECK(types_of(llama_8b, mix_of("IQ4_XS"), weight_role::v_proj)[0] == gguf_type::Q5_K);
    CHECK(types_of(alone, mix_of("IQ4_XS"), weight_role::v_proj)[0] == gguf_type::IQ4_XS);
    CHECK(types_of(alone, mix_of("IQ2_M"), weight_role::v_proj)[0] == gguf_type::IQ3_S);
}

TEST_CASE("eighty layers of a known family get q5_k where values would have had less") {
    model large = llama_8b;
    large.layers = {80, dense(64, 8, 28672)};
    CHECK(types_of(large, mix_of("Q4_K_S"), weight_role::v_proj)[40] == gguf_type::Q5_K);
    large.architecture = "mistral";
    CHECK(types_of(large, mix_of("Q4_K_S"), weight_role::v_proj)[40] == gguf_type::Q4_K);
}

TEST_CASE("eight experts: queries' partners in q8_0, one tensor for all experts, the router never quantised") {
    model m{.architecture = "mixtral", .vocabulary = 32000, .hidden = 4096, .layers = {}};
    layer l = dense(32, 8, 0);
    l.feed_forward.experts = {.count = 8, .per_token = 2, .width = 14336};
    m.layers = {32, l};
    const auto mix = mix_of("Q4_K_M");
    CHECK(types_of(m, mix, weight_role::k_proj)[5] == gguf_type::Q8_0);
    CHECK(types_of(m, mix, weight_role::v_proj)[5] == gguf_type::Q8_0);
    CHECK(types_of(m, mix, weight_role::o_proj)[5] == gguf_type::Q5_K);
    CHECK(types_of(m, mix, weight_role::router)[5] == gguf_type::F32);
    CHECK(types_of(m, mix, weight_role::up_proj).size() == 32);
    gguf_mix old = mix;
    old.router_in_16_bits = true;
    CHECK(types_of(m, old, weight_role::router)[5] == gguf_type::F16);
    CHECK(types_of(m, mix_of("MXFP4_MOE"), weight_role::up_proj)[5] == gguf_type::MXFP4);
    CHECK(types_of(m, mix_of("MXFP4_MOE"), weight_role::q_proj)[5] == gguf_type::Q8_0);
    CHECK(types_of(m, mix_of("MXFP4_MOE_BF16"), weight_role::up_proj)[5] == gguf_type::MXFP4);
    CHECK(types_of(m, mix_of("MXFP4_MOE_BF16"), weight_role::q_proj)[5] == gguf_type::BF16);
}

TEST_CASE("one tensor of queries, keys and values where the family keeps them together") {
    model fused = llama_8b;
    fused.architecture = "phi3";
    const auto mix = mix_of("Q4_K_M");
    CHECK(types_of(fused, mix, weight_role::q_proj).empty());
    CHECK(types_of(fused, mix, weight_role::v_proj) == std::vector(32, gguf_type::Q5_K));
    gguf_mix newer = mix;
    newer.fused_as_values = true;
    CHECK(layers_of(types_of(fused, newer, weight_role::v_proj), gguf_type::Q6_K) ==
          layers_of(types_of(llama_8b, mix, weight_role::v_proj), gguf_type::Q6_K));
    CHECK(gguf_tensor_bytes(fused, mix_of("Q8_0")) == gguf_tensor_bytes(llama_8b, mix_of("Q8_0")));
}

TEST_CASE(
    "latent attention's expansion is split in two since April 2025, and the keys' part is too narrow for k-quants") {
    model m{.architecture = "deepseek_v3", .vocabulary = 129280, .hidden = 7168, .layers = {}};
    m.layers = {61,
                {.attention = {.kind = attention_kind::latent,
                               .heads = 128,
                               .head_dim = 128,
                               .q_rank = 1536,
                               .kv_rank = 512,
                               .rope_dim = 64},
                 .feed_forward = {.width = 18432}}};
    const auto split = types_of(m, mix_of("Q4_K_M"), weight_role::kv_b_proj);
    REQUIRE(split.size() == 2 * 61);
    CHECK(split[0] == gguf_type::Q5_0);  // rows of 128
    CHECK(split[1] == gguf_type::Q4_K);  // rows of 512
    gguf_mix whole = mix_of("F16");
    whole.latent_expansion_whole = true;
    CHECK(types_of(m, whole, weight_role::kv_b_proj).size() == 61);
    CHECK(gguf_tensor_bytes(m, whole) == gguf_tensor_bytes(m, mix_of("F16")));
}

TEST_CASE("an importance matrix changes the first eighth of ffn_down") {
    gguf_mix mix = mix_of("Q4_0");
    mix.importance_matrix = true;
    CHECK(layers_of(types_of(llama_8b, mix, weight_role::down_proj), gguf_type::Q4_1) == "0 1 2 3");
    CHECK(layers_of(types_of(llama_8b, mix_of("Q4_0"), weight_role::down_proj), gguf_type::Q4_1).empty());
    CHECK(layers_of(types_of(llama_8b, mix_of("IQ4_XS"), weight_role::down_proj), gguf_type::Q5_K) == "0 1 2 3");
}

TEST_CASE("below 2.6 bits the first eighth of down projections has more, counted in the order of the file") {
    // llama.cpp's llama-quant.cpp counts each ffn_down that it quantises (i_ffn_down) against n_layer / 8: three of 24,
    // which are both of the first layer, routed and shared, and the second layer's first.
    model m = llama_8b;
    layer sparse = dense(32, 8, 14336);
    sparse.feed_forward.experts = {.count = 16, .per_token = 2, .width = 1024, .shared_width = 2048};
    m.layers = {24, sparse};
    CHECK(layers_of(types_of(m, mix_of("IQ2_XXS"), weight_role::down_proj), gguf_type::Q2_K) == "0 1 2");
}

TEST_CASE("names without their marks are told apart while a program is compiled, too") {
    static_assert(mix_of("Q5KM").quantisation == gguf_quantisation::Q5_K_M);
    static_assert(mix_of("q8-0").quantisation == gguf_quantisation::Q8_0);
}

TEST_CASE("Q2_K was larger before January 2024") {
    gguf_mix old = mix_of("Q2_K");
    old.before_2024 = true;
    CHECK(gguf_tensor_bytes(llama_8b, old) - gguf_tensor_bytes(llama_8b, mix_of("Q2_K")) ==
          bytes(std::int64_t{32} * 2 * 14336 * 4096 / 256 * (110 - 84)));
}

TEST_CASE("tensors are padded to 32 bytes") {
    CHECK(gguf_tensor{.columns = 48}.size() == bytes(192));
    CHECK(gguf_tensor{.columns = 3}.size() == bytes(32));
    CHECK(gguf_tensor{.rows = 0, .columns = 3}.size() == bytes(0));
}

TEST_CASE("layers counted by groups add up to layers counted one by one, in every quantisation and family") {
    for (const char* id : {"llama-3.1-8b", "llama-2-70b", "mixtral-8x7b", "qwen3-235b-a22b", "deepseek-v3",
                           "gemma-3-27b", "phi-4", "qwen3-next-80b-a3b", "gpt-oss-20b", "falcon-7b"}) {
        const auto found = find_model(id);
        if (!found) continue;
        for (const auto& known : detail::gguf::quantisations)
            for (const bool matrix : {false, true}) {
                CAPTURE(id);
                CAPTURE(std::string{known.name});
                gguf_mix mix{.quantisation = known.quantisation, .importance_matrix = matrix};
                byte_count one_by_one = gguf_input_bytes(*found, mix) + gguf_output_bytes(*found, mix);
                for (std::int32_t i = 0; i < found->layers.size; ++i) one_by_one += gguf_layer_bytes(*found, mix, i);
                CHECK(gguf_tensor_bytes(*found, mix) == one_by_one);
            }
    }
}
