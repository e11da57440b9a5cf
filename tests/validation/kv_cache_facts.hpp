// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <llmres/models/all.hpp>
#include <llmres/models/kv_cache.hpp>
#include <string_view>

/// Cache sizes that engines printed, each with the same size from the model's shape.
namespace kv_facts {

using namespace llmres;

inline constexpr double mebi = 1048576.0;
inline constexpr double gibi = 1024 * mebi;

/// Bytes of a cache of so many cells in so many layers of that attention. Engines allocate cells; windows are theirs.
constexpr double cells(const attention& a, const precision& format, std::int64_t cell_count, std::int64_t layers) {
    attention whole = a;
    whole.window = token_count{};
    return static_cast<double>((kv_cache_bytes(whole, format, tokens(cell_count)) * layers).in(bytes));
}

constexpr double cells(const model& m, const precision& format, std::int64_t cell_count, std::int64_t layers) {
    for (int i = 0; i < m.layers.size; ++i)
        if (m.layers[i].attention.kind != attention_kind::none)
            return cells(m.layers[i].attention, format, cell_count, layers);
    return 0;
}

constexpr double all_cells(const model& m, const precision& format, std::int64_t cell_count) {
    return cells(m, format, cell_count, m.layers.size);
}

/// State of `layers` layers of Qwen3.5's recurrence with that many value heads, for so many sequences.
constexpr recurrent qwen3_5(std::int64_t heads) {
    return {
        .kind = recurrent_kind::delta_net, .heads = heads, .head_dim = 128, .key_heads = 16, .state = 128, .kernel = 4};
}
constexpr double states(std::int64_t heads, std::int64_t layers, std::int64_t sequences) {
    return static_cast<double>(state_shape_of(qwen3_5(heads)).state * 4 * layers * sequences);
}
constexpr double convolutions(std::int64_t heads, std::int64_t layers, std::int64_t sequences) {
    return static_cast<double>(state_shape_of(qwen3_5(heads)).convolution * 4 * layers * sequences);
}

struct fact {
    std::string_view model;  ///< as the table of facts names it
    std::string_view says;   ///< the beginning of what it states
    double published;
    double unit;  ///< bytes of the printed unit
    double ours;  ///< in bytes
};

/// Where the model has no preset, its shape stands here.
inline constexpr attention open_llama_3b{.heads = 32, .kv_heads = 32, .head_dim = 100};
inline constexpr attention bge_small{.heads = 12, .kv_heads = 12, .head_dim = 32};
inline constexpr attention gemma_4_12b_sliding{.heads = 16, .kv_heads = 8, .head_dim = 256};
inline constexpr attention gemma_4_12b_full{.heads = 16, .kv_heads = 1, .head_dim = 512};
inline constexpr attention gemma_4_e4b_full{.heads = 8, .kv_heads = 2, .head_dim = 512};
inline constexpr attention laguna{.heads = 48, .kv_heads = 8, .head_dim = 128};
inline constexpr attention deepseek = models::deepseek_v3.layers[0].attention;
inline constexpr attention sparse{.kind = attention_kind::latent,
                                  .heads = 128,
                                  .head_dim = 128,
                                  .kv_rank = 512,
                                  .indexer = {.heads = 64, .head_dim = 128}};

inline constexpr std::array facts{
    fact{"Llama-2-7B", "KV self size, n_ctx 4096", 2048, mebi, all_cells(models::llama_2_7b, fp16, 4096)},
    fact{"OpenLLaMA-3B", "kv self size, n_ctx 512", 162.5, mebi, cells(open_llama_3b, fp16, 512, 26)},
    fact{"bge-small-en (BERT 12x384)", "KV self size, n_ctx 512", 9, mebi, cells(bge_small, fp16, 512, 12)},
    fact{"Llama-3.1-8B", "KV unified, 16384", 2048, mebi, all_cells(models::llama_3_1_8b, fp16, 16384)},
    fact{"Phi-3-mini", "KV unified, 4096", 1536, mebi, all_cells(models::phi_3_mini_4k, fp16, 4096)},
    fact{"Llama-3.1-405B", "KV unified, 4096", 2016, mebi, all_cells(models::llama_3_1_405b, fp16, 4096)},
    fact{"Qwen3-235B-A22B", "KV unified, 4096", 752, mebi, all_cells(models::qwen3_235b_a22b, fp16, 4096)},
    fact{"Qwen2.5-Coder-32B", "KV self size, 32768", 4352, mebi, all_cells(models::qwen2_5_32b, q8_0, 32768)},
    fact{"DeepSeek-V3/R1", "KV self size, 32768", 1166.62, mebi, cells(deepseek, q8_0, 32768, 61)},
    fact{"DeepSeek-V3/R1", "n_embd_v_gqa", 16384, 1, static_cast<double>(deepseek.heads* deepseek.value_width())},
    fact{"gpt-oss-20b", "non-SWA cache, 131072", 3072, mebi, cells(models::gpt_oss_20b, fp16, 131072, 12)},
    fact{"gpt-oss-20b", "SWA cache, 2304", 54, mebi, cells(models::gpt_oss_20b, fp16, 2304, 12)},
    fact{"gpt-oss-20b", "non-SWA cache, 8192", 102, mebi, cells(models::gpt_oss_20b, q8_0, 8192, 12)},
    fact{"Gemma-2-2B", "non-SWA cache, 8192", 416, mebi, cells(models::gemma_2_2b, fp16, 8192, 13)},
    fact{"Gemma-2-2B", "SWA cache, 8192", 416, mebi, cells(models::gemma_2_2b, fp16, 8192, 13)},
    fact{"Gemma-4-12B", "SWA cache, 4608", 765, mebi, cells(gemma_4_12b_sliding, q8_0, 4608, 40)},
    fact{"Gemma-4-12B", "non-SWA, 8192", 128, mebi, cells(gemma_4_12b_full, fp16, 8192, 8)},
    fact{"Gemma-4-E4B (KV sharing)", "non-SWA, 32768", 512, mebi, cells(gemma_4_e4b_full, fp16, 32768, 4)},
    fact{"Laguna (48 layers: 12 full + 36 SWA)", "non-SWA, 1048576", 13824, mebi, cells(laguna, q4_0, 1048576, 12)},
    fact{"Qwen3.5/3.8-27B", "KV cache, 24576", 1536, mebi,
         static_cast<double>(kv_cache_bytes(models::qwen3_5_27b, fp16, tokens(24576)).in(bytes))},
    fact{"Qwen3.5/3.8-27B", "recurrent S state", 144, mebi, states(48, 48, 1)},
    fact{"Qwen3.5/3.8-27B", "KV cache, 262144", 16384, mebi,
         static_cast<double>(kv_cache_bytes(models::qwen3_5_27b, fp16, tokens(262144)).in(bytes))},
    fact{"Qwen3.5-27B MTP draft", "KV cache, 262144", 1024, mebi,
         cells(models::qwen3_5_27b.prediction.block.attention, fp16, 262144, 1)},
    fact{"Qwen3.5-9B", "recurrent state, 4 cells: S", 192, mebi, states(32, 24, 4)},
    fact{"Qwen3.5-9B", "recurrent state, 4 cells: R", 9, mebi, convolutions(32, 24, 4)},
    fact{"Qwen3.5-35B-A3B class (40 layers)", "recurrent S f32", 240, mebi, states(32, 30, 4)},
    fact{"Qwen3-30B-A3B", "KV bytes per token", 98304, 1, all_cells(models::qwen3_30b_a3b, bf16, 1)},
    fact{"Qwen3-8B", "KV bytes per token", 147456, 1, all_cells(models::qwen3_8b, bf16, 1)},
    fact{"Qwen2.5-7B", "KV bytes at 4096", 224, mebi, all_cells(models::qwen2_5_7b, bf16, 4096)},
    fact{"Llama-2-7B", "KV at 4196", 2.05, gibi, all_cells(models::llama_2_7b, fp16, 4196)},
    fact{"DeepSeek-V2", "MLA bytes per token", 69120, 1,
         static_cast<double>(kv_bytes_per_token(models::deepseek_v2, bf16).in(bytes_a_token))},
    fact{"DeepSeek-V3.2 (DSA)", "+ indexer K cache", 132, 1,
         static_cast<double>(indexer_bytes_per_token(sparse).in(bytes_a_token))},
};

/// What engines print after filling the rest of a GPU, or only repeat: no size of a known shape.
inline constexpr std::array not_sizes{std::string_view{"# GPU blocks"}, std::string_view{"127626 blocks"}};

/// Half a step of the last digit that was printed.
inline double half_a_step(double published) {
    for (int digits = 0; digits < 3; ++digits) {
        const double scale = std::pow(10.0, digits);
        if (std::abs(published * scale - std::round(published * scale)) < 1e-6) return 0.5 / scale;
    }
    return 0.005;
}

/// Whether the size is the one printed, in the digits that were printed.
inline bool agrees(const fact& f) {
    return std::abs(f.ours / f.unit - f.published) <= half_a_step(f.published) * 1.0001;
}
/// ... and to the byte, where whole MiB were printed.
inline bool to_the_byte(const fact& f) { return f.ours == f.published * f.unit; }

}  // namespace kv_facts
