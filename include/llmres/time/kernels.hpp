// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/hardware/gpu.hpp>
#include <llmres/runtimes/launches.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/square_root.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What does a kernel take? Its arithmetic and its traffic overlap in part: sqrt(arithmetic^2 + traffic^2), and none is
/// shorter than a floor. docs/decisions/0008 says of each constant whether kernels, whole steps or nothing told it.
namespace llmres::inline v0 {

/// Constants of kernels, the same for every GPU: parts of the peaks that the sheet names. Fitted by least squares of
/// logarithms on kernels timed alone (AIC: products 2,607 points in bf16 on A100, H100, B200, B300 and GB200; attention
/// 11,880; routed experts 12,258), but for `elementwise` and its floor, which are assumed.
struct kernel_constants {
    double narrow_arithmetic = 0.655;      ///< of the peak in fp8 and int8; in 16 bits: efficiency::arithmetic
    double fp4_arithmetic = 0.465;         ///< of the peak in fp4 and fp6
    duration product = microseconds(3.8);  ///< floor of a matrix product
    /// Floor of casting a product's inputs to 8 or 4 bits: products of at most 32 tokens take 9.4 to 9.9 us beside
    /// their traffic, those in 16 bits 4.1 (medians of 1,500 and 990 products).
    duration cast = microseconds(5.6);
    double attention = 0.51;           ///< of the peak: scores and probabilities
    double attention_backward = 0.41;  ///< the same in the backward pass (training_attention: A100 and B200)
    double attention_traffic = 0.857;  ///< of the bandwidth: the cache
    duration attention_floor = microseconds(10.7);  ///< floor of attention
    /// Of the peak, for routed experts with many tokens each: serving kernels 0.30, B200's training kernels 0.25 to
    /// 0.34 (training_grouped_matmul.csv; A100's, 12 points, reach 0.57 to 0.67).
    double experts = 0.31;
    double experts_tokens = 20;                   ///< tokens of an expert at which half of that is reached
    duration experts_floor = microseconds(10.5);  ///< floor of one of an expert layer's three products
    /// The same of TensorRT-LLM's kernels on Blackwell: 21 us a layer beside its traffic (938 layers of at most 8
    /// tokens under vLLM and TensorRT-LLM on B200, B300 and GB200, median; 405 of SGLang's take 42 there, 461 on H100
    /// 38).
    duration blackwell_experts_floor = microseconds(7.0);
    /// Products that make gradients of weights, relative to others: 0.707 of the peak beside 0.741 on A100, 0.476
    /// beside 0.494 on B200 (training_matmul.csv, medians of 556 products of 2,048 and more).
    double weight_gradients = 0.955;
    /// The most that products of training reach of the peak, the fast end of its times: the best of any shape on A100
    /// (0.869, STAS); of 697 that ran for long on A100 and B200 none exceeds 0.80 (training_matmul.csv).
    double training = 0.87;
    double elementwise = 0.70;                     ///< of the bandwidth (SIMUMAX: 0.67 of 8 TB/s on B200)
    duration elementwise_floor = microseconds(2);  ///< floor of an elementwise kernel
};
inline constexpr kernel_constants default_kernels{};  ///< the constants of this header

/// How kernels multiply by weights that are stored as integers.
///
/// Marlin (vLLM's csrc/quantization/gptq_marlin/gptq_marlin.cu, which SGLang calls) has one block of eight warps on
/// each multiprocessor and multiplies 16 rows at least, by mma.sync. For four weights a lane issues two lop3 or prmt,
/// half a shift, two subtractions, two products with scales and one mma, and in AWQ two subtractions of zero points;
/// loads from shared memory and addresses come to three quarters: 8.25 and 10.25 instructions. A multiprocessor issues
/// 128 a clock. With two warps a scheduler, unpacking hides little of the multiplication: their times are added.
struct packed_constants {
    /// Weights that AutoGPTQ's, AutoAWQ's and ExLlama's kernels unpack a clock and multiprocessor, about a dozen
    /// instructions each: 4 to 6, in 4 bits and in 8 (Qwen's tables under transformers on A100, 84 rows).
    double simple = 5.0;
    double marlin = 128 / (9.25 / 4);  ///< the same of Marlin, by its instructions
    /// Blocks that share columns add their sums one after another, each waiting for a lock in the L2 cache. Read from
    /// the integer rows beside those in bf16 of Qwen2.5-0.5B and 1.5B under vLLM on A100 (26 and 14 us a layer with 28
    /// and 22 such steps); 17 us with 20 of them on H20 (Qwen3-0.6B under SGLang).
    duration lock = microseconds(0.8);
};
inline constexpr packed_constants default_packed{};  ///< the constants of this header

/// How fast ggml's kernels multiply by quantised weights, of all formats. In-sample, of jobs on an H100
/// (tests/validation/data/h100/llama_cpp_jobs.jsonl).
struct ggml_rates {
    double vector_weights = 13;  ///< weights that a product of few tokens unpacks a clock and multiprocessor
    double vector_flops = 100;  ///< FLOPs of such a product a clock and multiprocessor, for each token beyond the first
    /// FLOPs of tiles a clock and multiprocessor, where the scales of blocks decide: CUDA cores apply them, in four
    /// instructions for 64 FLOPs (mmq-vec-dot.cuh), 128 of which are issued a clock.
    double scaled_flops = 2000;
};
inline constexpr ggml_rates default_ggml{};  ///< the constants of this header

/// Floors of a generated token's kernels of ggml where no CUDA graph holds them, relative to those above. Low: as with
/// a graph (gpt-oss on Strix Halo). In-sample: a layer takes 48 to 93 us longer on M2 Ultra and M3 Max (26 rows in 4
/// bits), 77 on M1 Ultra, 87 on MI300X and 95 on V100, beside the 53 of these floors: 1.9 to 2.8 times as long.
inline constexpr interval<double> ungraphed_floors{1.0, 2.0, 3.0};

/// The shapes of ggml's kernels, from its code (ggml-cuda: mmvq.cuh, mmq.cu, mmq.cuh, quantize.cu, ggml-cuda.cu).
struct ggml_shape {
    /// Products of so many tokens read each weight once, for all of them (MMVQ_MAX_BATCH_SIZE).
    double vector_tokens = 8;
    double tile = 128;         ///< tokens of a tile, for each of which weights are unpacked anew (mul_mat_q_switch_J)
    double shared_passes = 2;  ///< a tile's weights are written to shared memory and read from there
    double quantised = 5.1;    ///< bytes for each input: fp32 is read, and int8 with scales written
    double converted = 6;      ///< the same of inputs and outputs where a weight has 16 bits
    double dequantised = 4;    ///< bytes for each weight that is written in 16 bits, and read as these
    double dequantised_tokens = 32;  ///< more tokens were multiplied so until June 2024 (MMQ_MAX_BATCH_SIZE)
};
inline constexpr ggml_shape default_ggml_shape{};  ///< the shapes of this header

/// The shape of Marlin's blocks, from its code.
struct marlin_block {
    double rows = 16;   ///< tokens that it multiplies at least
    double again = 64;  ///< tokens for each of which it unpacks a weight again (thread_m_blocks: at most four of 16)
    double tile = 128;  ///< rows and columns of a weight that it takes at once (thread_k, thread_n of small batches)
};
inline constexpr marlin_block default_marlin_block{};  ///< the shape of this header

/// What attention kernels reach beside those that are written for each architecture, whose constants these are relative
/// to. FlashAttention 2 reaches 35 % of the peak of Hopper (arXiv 2407.08608, abstract) and 16 % of B200's, 350 TFLOP/s
/// as there (meta-pytorch/tritonbench pull request 171, heads of 128; Dao-AILab/flash-attention issue 1589, heads of
/// 64), as it multiplies by Ampere's instructions; version 1 reached 30 to 50 % forward and 25 to 35 % back on A100
/// (arXiv 2307.08691 section 1), 0.78 and 0.73 of the constants above.
struct attention_reach {
    double forward = 1;   ///< of the forward pass
    double backward = 1;  ///< of the backward pass
};
/// Whether the GPU is a data centre's Blackwell, whose tensor cores read a memory of their own (tcgen05; compute
/// capability 10). Blackwell's workstation and desktop cards multiply as Ada does.
constexpr bool has_tensor_memory(const gpu& card) { return card.capability.major == 10; }

/// What kernels of Ampere's instructions (mma.sync) reach beside those that are written for the architecture, as
/// FlashAttention 2 shows it.
constexpr double reach_of_ampere(const gpu& card) {
    if (has_tensor_memory(card)) return 0.16 / 0.51;
    return card.architecture == "Hopper" ? 0.35 / 0.51 : 1.0;
}

/// What a version's kernels reach on a GPU.
constexpr attention_reach reach_of(attention_code kernels, const gpu& card) {
    if (kernels == attention_code::tuned) return {};
    attention_reach reach{reach_of_ampere(card), reach_of_ampere(card)};
    if (kernels == attention_code::flash_1) reach = {reach.forward * 0.78, reach.backward * 0.73};
    return reach;
}

/// The energy of one FLOP of a 16-bit matrix product in long runs, by architecture, in picojoules. Blackwell: 1000 W at
/// 0.46 of 2,250 TFLOP/s, the lower end of what minutes of large products reached on B200 (training_matmul.csv), which
/// was chosen after the bias of B200's whole steps was seen. Ampere and Hopper are assumed, without a fit. A product of
/// half as many bits takes half as much (assumed); unknown architectures: as Hopper.
constexpr double picojoules_per_flop(const gpu& card) {
    if (card.architecture.starts_with("Blackwell")) return 0.966;
    if (card.architecture == "Ampere") return 1.25;
    return 1.15;
}

/// The rate that the board's power, or a lower limit that is set for it, allows in long runs; zero where its power is
/// not known.
constexpr flop_rate sustained_rate(const gpu& card, double bytes_per_element = 2.0, const maybe<power>& limit = {}) {
    if (!card.board_power && !limit) return {};
    const power allowed = limit && (!card.board_power || *limit < *card.board_power) ? *limit : *card.board_power;
    return tflops(allowed.in(watts) / (picojoules_per_flop(card) * bytes_per_element / 2.0));
}

/// Clocks of all multiprocessors a second: at the boost clock, or where that is not published, as often as the rate of
/// fp32 needs (two FLOPs a core and clock), with the 128 cores of a multiprocessor of Ampere's desktop cards, Hopper
/// and Blackwell where their number is not published either. Zero where even that rate is not known, and for a CPU.
constexpr double multiprocessor_clocks(const gpu& card) {
    const auto multiprocessors = static_cast<double>(card.sm_count.value_or(0));
    if (multiprocessors > 0 && card.boost_clock) return multiprocessors * card.boost_clock.value.in(mhz) * 1e6;
    if (!card.rates.fp32) return 0;
    constexpr double usual_cores = 128;
    const auto cores = static_cast<double>(card.cuda_cores.value_or(0));
    const bool counted = multiprocessors > 0 && cores > 0;
    if (!counted && card.vendor == gpu_vendor::other) return 0;
    const double each = counted ? cores / multiprocessors : usual_cores;
    return card.rates.fp32.value.in(flops_per_s) / (2.0 * each);
}

/// Whether the kernels of a generated token are one CUDA graph under ggml: on NVIDIA's GPUs from Ampere on
/// (ggml-cuda.cu: cc < GGML_CUDA_CC_AMPERE has none); Metal, HIP and Vulkan launch them one by one.
constexpr bool has_ggml_graphs(const gpu& card) {
    return card.vendor == gpu_vendor::nvidia && card.capability.major >= 8;
}

/// Floors of the kernels of a generated token, relative to those of default_kernels. (A CPU calls its kernels.)
constexpr interval<double> floors_of_token(const runtime_launches& by, const gpu& card) {
    const bool of_ggml = by.packed == packed_code::ggml || by.packed == packed_code::dequantised;
    const bool is_gpu = card.vendor != gpu_vendor::other;
    return of_ggml && is_gpu && !has_ggml_graphs(card) ? ungraphed_floors : interval<double>{1.0, 1.0, 1.0};
}

/// What ggml takes to issue a product whose rows GPUs share, on one thread: it copies the inputs to each other GPU,
/// starts a kernel on each and copies the outputs back (ggml-cuda.cu, ggml_cuda_op_mul_mat). Read from 40 rows of
/// generation on 2 to 6 RTX 3090, 4090, A6000 and 4000 Ada, where a layer of seven products takes 0.33 to 1.1 ms beside
/// its traffic whatever the model and its format.
struct row_split_constants {
    duration part = microseconds(15);  ///< for each GPU, and once more
};
inline constexpr row_split_constants default_row_split{};  ///< the constants of this header

/// Tokens that a matrix product computes at least, as its instructions multiply so many rows: 64 on Hopper (PTX
/// ISA 8.x, wgmma.mma_async: m64nNk16), unless the runtime's kernels use none for few tokens (ggml's, whose bytes a
/// clock are known). A product of fewer tokens takes as long where the memory is fast beside the arithmetic: H20 moves
/// 4 TB/s beside 148 TFLOP/s in 16 bits.
constexpr double smallest_tile(const gpu& card, const runtime_launches& by) {
    return card.architecture == "Hopper" && by.bytes_a_clock <= 0 ? 64.0 : 1.0;
}

namespace detail {

/// The multiprocessors of a GPU whose number is not published (widened_by_unknowns() widens the bounds).
inline constexpr double assumed_multiprocessors = 100;

/// Two times that overlap in part.
constexpr double overlapped(double a, double b) { return square_root(a * a + b * b); }

}  // namespace detail

}  // namespace llmres::inline v0
