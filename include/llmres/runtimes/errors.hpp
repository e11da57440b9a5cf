// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// How far the profiles are from what was measured. Written by `table_profile_errors` from tests/validation/data;
/// docs/accuracy.md says what the figures are.
namespace llmres {

/// Errors are expected over measured, less one.
struct profile_error {
    std::string_view engine;
    std::string_view versions;
    std::string_view figure;
    std::int32_t rows;    ///< measurements
    double mean;          ///< of the errors' sizes
    double bias;          ///< of the errors
    double worst;
    std::int32_t inside;  ///< measurements between low and high
};

namespace runtimes {

// clang-format off
inline constexpr std::array errors{
    profile_error{"vllm", "0.28 and later", "kv token", 1, 0.0003, -0.0003, -0.0003, 1},
    profile_error{"vllm", "0.28 and later", "pool", 1, 0.7476, -0.7476, -0.7476, 0},
    profile_error{"vllm", "0.28 and later", "weights", 1, 0.0000, 0.0000, 0.0000, 1},
    profile_error{"vllm", "0.8 to 0.20 (V1)", "activation", 5, 0.2624, 0.2609, 1.3010, 4},
    profile_error{"vllm", "0.8 to 0.20 (V1)", "kv token", 3, 0.0038, -0.0038, -0.0114, 3},
    profile_error{"vllm", "0.8 to 0.20 (V1)", "pool", 7, 0.0417, 0.0039, 0.1587, 6},
    profile_error{"vllm", "0.8 to 0.20 (V1)", "weights", 7, 0.0023, 0.0020, 0.0149, 6},
    profile_error{"vllm", "0.7 to 0.10 (V0)", "activation", 5, 0.0718, -0.0680, -0.1483, 3},
    profile_error{"vllm", "0.7 to 0.10 (V0)", "kv token", 4, 0.0060, -0.0048, -0.0216, 4},
    profile_error{"vllm", "0.7 to 0.10 (V0)", "pool", 5, 4.3443, 4.3442, 21.6865, 5},
    profile_error{"vllm", "0.7 to 0.10 (V0)", "weights", 5, 0.0106, -0.0106, -0.0173, 1},
    profile_error{"vllm", "0.6.5 and 0.6.6 (V0)", "activation", 2, 0.0185, -0.0185, -0.0185, 2},
    profile_error{"vllm", "0.6.5 and 0.6.6 (V0)", "pool", 2, 0.0005, 0.0005, 0.0005, 2},
    profile_error{"vllm", "0.6.5 and 0.6.6 (V0)", "weights", 2, 0.0001, 0.0000, 0.0001, 2},
    profile_error{"vllm", "up to 0.6.4 (V0)", "activation", 3, 0.0333, 0.0333, 0.0666, 3},
    profile_error{"vllm", "up to 0.6.4 (V0)", "kv token", 3, 0.0006, -0.0002, -0.0011, 3},
    profile_error{"vllm", "up to 0.6.4 (V0)", "pool", 3, 0.1607, 0.1607, 0.4732, 2},
    profile_error{"vllm", "up to 0.6.4 (V0)", "total", 3, 0.0050, 0.0015, 0.0065, 3},
    profile_error{"vllm", "up to 0.6.4 (V0)", "weights", 3, 0.0000, -0.0000, -0.0000, 3},
    profile_error{"sglang", "0.4 and 0.5", "kv token", 1, 0.0005, 0.0005, 0.0005, 1},
    profile_error{"sglang", "0.4 and 0.5", "pool", 1, 0.0171, 0.0171, 0.0171, 1},
    profile_error{"tensorrt-llm", "1.0 and later", "kv token", 2, 0.0001, 0.0001, 0.0002, 2},
    profile_error{"tensorrt-llm", "1.0 and later", "pool", 2, 0.0896, 0.0856, 0.1752, 2},
    profile_error{"tensorrt-llm", "1.0 and later", "weights", 1, 0.0002, 0.0002, 0.0002, 1},
    profile_error{"tensorrt-llm", "0.9 to 0.21", "total", 9, 0.0055, 0.0000, -0.0129, 9},
    profile_error{"llama.cpp", "b5427 to b6324", "compute", 4, 0.0472, -0.0472, -0.1275, 4},
    profile_error{"llama.cpp", "b5427 to b6324", "kv", 4, 0.0001, -0.0001, -0.0003, 4},
    profile_error{"llama.cpp", "b5427 to b6324", "total", 9, 0.0437, -0.0437, -0.0856, 9},
    profile_error{"llama.cpp", "b5427 to b6324", "weights", 1, 0.0002, -0.0002, -0.0002, 1},
    profile_error{"llama.cpp", "b2400 to b5426", "compute", 27, 0.0000, -0.0000, -0.0000, 27},
    profile_error{"llama.cpp", "b2400 to b5426", "kv", 26, 0.0000, 0.0000, 0.0000, 26},
    profile_error{"llama.cpp", "b2400 to b5426", "total", 3, 0.0915, -0.0915, -0.1198, 3},
    profile_error{"llama.cpp", "b2400 to b5426", "weights", 26, 0.0001, 0.0001, 0.0001, 26},
    profile_error{"llama.cpp", "b1600 to b2399", "compute", 127, 0.0000, -0.0000, -0.0001, 127},
    profile_error{"llama.cpp", "b1600 to b2399", "kv", 137, 0.0001, 0.0001, 0.0003, 137},
    profile_error{"llama.cpp", "b1600 to b2399", "total", 112, 0.0032, -0.0032, -0.2598, 110},
    profile_error{"llama.cpp", "b1600 to b2399", "weights", 131, 0.0000, -0.0000, -0.0001, 131},
    profile_error{"ik_llama.cpp", "b3500 to b3744", "compute", 42, 0.0182, -0.0169, -0.2846, 42},
    profile_error{"ik_llama.cpp", "b3500 to b3744", "kv", 42, 0.0000, 0.0000, 0.0001, 42},
    profile_error{"ik_llama.cpp", "b3500 to b3744", "weights", 2, 0.0001, -0.0001, -0.0002, 2},
    profile_error{"transformers", "4.50 to 4.57", "total", 83, 0.0346, -0.0281, -0.3495, 78},
    profile_error{"transformers", "4.45 to 4.49", "total", 70, 0.0210, -0.0197, -0.2901, 70},
    profile_error{"transformers", "4.36 to 4.41", "total", 44, 0.0094, -0.0035, -0.0595, 42},
    profile_error{"transformers", "up to 4.35", "total", 37, 0.0521, -0.0329, -0.3688, 32},
    profile_error{"autoawq", "0.2", "total", 2, 0.1293, -0.1293, -0.1642, 2},
    profile_error{"autoawq", "0.1", "total", 20, 0.0371, -0.0367, -0.0754, 20},
    profile_error{"exllama", "v1 (2023)", "total", 9, 0.0336, 0.0002, 0.1276, 7},
    profile_error{"exllamav2", "0.0.6 to 0.0.21", "total", 8, 0.0683, -0.0683, -0.3934, 7},
    profile_error{"huggingface", "transformers 4.30 to 5.x", "allocated", 131, 0.0108, -0.0072, -0.1617, 126},
    profile_error{"huggingface", "transformers 4.30 to 5.x", "nvidia-smi", 125, 0.0839, -0.0222, 0.2951, 115},
    profile_error{"huggingface", "transformers 4.30 to 5.x", "reserved", 62, 0.0986, 0.0271, 0.6168, 57},
    profile_error{"litgpt", "lit-gpt 2023-10", "allocated", 23, 0.0426, -0.0288, -0.4765, 22},
    profile_error{"torchtune", "torchtune 0.4", "allocated", 6, 0.0261, -0.0173, -0.1058, 4},
    profile_error{"torchtitan", "torchtitan 2024-12 to 2026-06", "reserved", 32, 0.0427, -0.0085, -0.1989, 31},
    profile_error{"deepspeed", "DeepSpeed 0.12 to 0.19", "allocated", 1, 0.2244, -0.2244, -0.2244, 0},
    profile_error{"deepspeed", "DeepSpeed 0.12 to 0.19", "nvidia-smi", 64, 0.0417, -0.0135, -0.3147, 63},
    profile_error{"deepspeed", "DeepSpeed 0.12 to 0.19", "reserved", 8, 0.1463, 0.0231, -0.2462, 6},
    profile_error{"megatron", "Megatron-Core 0.11 to 0.16", "allocated", 202, 0.0257, -0.0078, 0.3013, 191},
    profile_error{"megatron", "Megatron-Core 0.11 to 0.16", "reserved", 24, 0.0160, -0.0120, -0.0568, 24},
};
// clang-format on

}  // namespace runtimes

}  // namespace llmres
