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
    profile_error{"vllm", "0.27 and later", "kv token", 1, 0.0003, -0.0003, -0.0003, 1},
    profile_error{"vllm", "0.27 and later", "pool", 1, 1.0000, -1.0000, -1.0000, 1},
    profile_error{"vllm", "0.27 and later", "weights", 1, 0.0000, 0.0000, 0.0000, 1},
    profile_error{"vllm", "0.17 to 0.19", "kv token", 1, 0.0001, -0.0001, -0.0001, 1},
    profile_error{"vllm", "0.17 to 0.19", "pool", 1, 0.0343, 0.0343, 0.0343, 1},
    profile_error{"vllm", "0.17 to 0.19", "weights", 1, 0.0001, -0.0001, -0.0001, 1},
    profile_error{"vllm", "0.9 to 0.11 (V1)", "activation", 5, 0.2693, 0.2657, 1.3353, 5},
    profile_error{"vllm", "0.9 to 0.11 (V1)", "kv token", 2, 0.0057, -0.0056, -0.0114, 2},
    profile_error{"vllm", "0.9 to 0.11 (V1)", "pool", 6, 0.0439, 0.0110, 0.1605, 6},
    profile_error{"vllm", "0.9 to 0.11 (V1)", "weights", 6, 0.0012, -0.0012, -0.0072, 6},
    profile_error{"vllm", "0.7 to 0.10 (V0)", "activation", 5, 0.0340, -0.0313, -0.0645, 5},
    profile_error{"vllm", "0.7 to 0.10 (V0)", "kv token", 4, 0.0060, -0.0048, -0.0216, 4},
    profile_error{"vllm", "0.7 to 0.10 (V0)", "pool", 5, 4.1449, 4.1375, 20.6817, 5},
    profile_error{"vllm", "0.7 to 0.10 (V0)", "weights", 5, 0.0017, -0.0017, -0.0031, 5},
    profile_error{"vllm", "0.6.5 and 0.6.6 (V0)", "activation", 2, 0.0209, -0.0209, -0.0209, 2},
    profile_error{"vllm", "0.6.5 and 0.6.6 (V0)", "pool", 2, 0.0005, 0.0005, 0.0005, 2},
    profile_error{"vllm", "0.6.5 and 0.6.6 (V0)", "weights", 2, 0.0002, 0.0002, 0.0004, 2},
    profile_error{"vllm", "0.6.4 (V0)", "activation", 3, 0.0333, 0.0333, 0.0666, 3},
    profile_error{"vllm", "0.6.4 (V0)", "kv token", 2, 0.0009, -0.0002, -0.0011, 2},
    profile_error{"vllm", "0.6.4 (V0)", "pool", 2, 0.0128, -0.0128, -0.0184, 2},
    profile_error{"vllm", "0.6.4 (V0)", "weights", 3, 0.0000, -0.0000, -0.0000, 3},
    profile_error{"vllm", "0.3 to 0.6.3 (V0)", "total", 3, 0.0050, 0.0015, 0.0065, 3},
    profile_error{"vllm", "0.2 (V0)", "kv token", 1, 0.0000, -0.0000, -0.0000, 1},
    profile_error{"vllm", "0.2 (V0)", "pool", 1, 0.0075, 0.0075, 0.0075, 1},
    profile_error{"sglang", "0.4.9 to 0.5.2", "kv token", 1, 0.0005, 0.0005, 0.0005, 1},
    profile_error{"sglang", "0.4.9 to 0.5.2", "pool", 1, 0.0171, 0.0171, 0.0171, 1},
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
    profile_error{"transformers", "4.50 to 4.57", "total", 83, 0.0346, -0.0281, -0.3495, 80},
    profile_error{"transformers", "4.45 to 4.49", "total", 70, 0.0210, -0.0197, -0.2901, 70},
    profile_error{"transformers", "4.36 to 4.41", "total", 44, 0.0094, -0.0035, -0.0595, 42},
    profile_error{"transformers", "up to 4.35", "total", 37, 0.0349, -0.0153, -0.2218, 36},
    profile_error{"autoawq", "0.2", "total", 2, 0.1193, -0.1193, -0.1538, 2},
    profile_error{"autoawq", "0.1", "total", 20, 0.0351, -0.0346, -0.0749, 20},
    profile_error{"exllama", "v1 (2023)", "total", 9, 0.0132, -0.0057, -0.0337, 9},
    profile_error{"exllamav2", "0.0.6 to 0.0.21", "total", 8, 0.0196, -0.0196, -0.0292, 8},
    profile_error{"ctranslate2", "4.0 and later", "total", 5, 0.0422, -0.0422, -0.0580, 5},
    profile_error{"huggingface", "transformers 4.46 to 4.49", "allocated", 44, 0.0097, -0.0058, -0.0444, 42},
    profile_error{"huggingface", "transformers 4.46 to 4.49", "nvidia-smi", 44, 0.0923, -0.0367, -0.2455, 40},
    profile_error{"huggingface", "transformers 4.43 to 4.45", "allocated", 81, 0.0069, -0.0051, -0.0268, 81},
    profile_error{"huggingface", "transformers 4.43 to 4.45", "nvidia-smi", 81, 0.0794, -0.0143, 0.2951, 79},
    profile_error{"huggingface", "transformers 4.30 to 4.42", "allocated", 6, 0.0434, -0.0434, -0.0950, 4},
    profile_error{"huggingface", "transformers 4.30 to 4.42", "reserved", 62, 0.0908, 0.0081, 0.5134, 61},
    profile_error{"litgpt", "lit-gpt 2023-10", "allocated", 23, 0.0235, -0.0097, -0.0533, 23},
    profile_error{"torchtune", "torchtune 0.4", "allocated", 6, 0.0225, -0.0225, -0.1057, 5},
    profile_error{"torchtitan", "torchtitan 0.2.0", "reserved", 7, 0.0276, -0.0029, -0.0609, 7},
    profile_error{"torchtitan", "torchtitan 0.1", "reserved", 1, 0.0241, -0.0241, -0.0241, 1},
    profile_error{"torchtitan", "torchtitan 0.0", "reserved", 17, 0.0147, -0.0081, -0.0814, 17},
    profile_error{"graph_trainer", "torchtitan 2026-02 to 2026-06", "reserved", 7, 0.0494, -0.0494, -0.1448, 7},
    profile_error{"deepspeed", "DeepSpeed 0.12 to 0.19", "allocated", 1, 0.0558, -0.0558, -0.0558, 1},
    profile_error{"deepspeed", "DeepSpeed 0.12 to 0.19", "nvidia-smi", 64, 0.0417, -0.0134, -0.3147, 63},
    profile_error{"deepspeed", "DeepSpeed 0.12 to 0.19", "reserved", 8, 0.1220, -0.0619, -0.2793, 8},
    profile_error{"megatron", "Megatron-Core 0.11 to 0.16", "allocated", 202, 0.0192, -0.0050, 0.1259, 198},
    profile_error{"megatron", "Megatron-Core 0.11 to 0.16", "reserved", 24, 0.0159, -0.0120, -0.0568, 24},
};
// clang-format on

}  // namespace runtimes

}  // namespace llmres
