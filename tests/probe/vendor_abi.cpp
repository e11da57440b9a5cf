// SPDX-License-Identifier: MIT
// The probe's own declarations of NVML, cuBLAS, cuBLASLt and NCCL against NVIDIA's headers: it compiles where they
// agree.
#include <cstddef>
#include <type_traits>

#include "cublas_abi.hpp"
#include "nccl.hpp"
#include "nvml_abi.hpp"

// Not every toolkit brings these; PyPI's nvidia-cublas, nvidia-nvml-dev and nvidia-nccl-cu13 do.
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cublas_v2.h>
#endif
#if __has_include(<nvml.h>)
#include <nvml.h>
#endif
#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace {

namespace cublas = llmres::probe::cublas_abi;
namespace nvml = llmres::probe::nvml_abi;

/// Whether two types are passed alike: pointers as pointers, numbers and enumerations of one size.
template <class Ours, class Theirs>
constexpr bool passed_alike = std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs) &&
                              std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;

template <class Ours, class Theirs>
constexpr bool called_alike = false;
template <class R, class... A, class S, class... B>
    requires(sizeof...(A) == sizeof...(B))
constexpr bool called_alike<R (*)(A...), S (*)(B...)> = passed_alike<R, S> && (passed_alike<A, B> && ...);

#if __has_include(<cublasLt.h>)
static_assert(called_alike<int (*)(void**), cublasStatus_t (*)(cublasHandle_t*)>);
static_assert(!called_alike<int (*)(void**, int), cublasStatus_t (*)(cublasHandle_t*)>);
static_assert(!called_alike<int (*)(int), cublasStatus_t (*)(cublasHandle_t)>);

// ---- cuBLAS
static_assert(called_alike<decltype(cublas::functions::create)::pointer, decltype(&cublasCreate_v2)>);
static_assert(called_alike<decltype(cublas::functions::destroy)::pointer, decltype(&cublasDestroy_v2)>);
using gemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                                cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
[[maybe_unused]] constexpr gemm named_alike = &cublasGemmEx;  // C++ has overloads of it
static_assert(called_alike<decltype(cublas::functions::gemm)::pointer, gemm>);
static_assert(called_alike<decltype(cublas::lt_functions::create)::pointer, decltype(&cublasLtCreate)>);
static_assert(called_alike<decltype(cublas::lt_functions::destroy)::pointer, decltype(&cublasLtDestroy)>);
static_assert(called_alike<decltype(cublas::lt_functions::desc_create)::pointer, decltype(&cublasLtMatmulDescCreate)>);
static_assert(
    called_alike<decltype(cublas::lt_functions::desc_set)::pointer, decltype(&cublasLtMatmulDescSetAttribute)>);
static_assert(
    called_alike<decltype(cublas::lt_functions::desc_destroy)::pointer, decltype(&cublasLtMatmulDescDestroy)>);
static_assert(
    called_alike<decltype(cublas::lt_functions::layout_create)::pointer, decltype(&cublasLtMatrixLayoutCreate)>);
static_assert(
    called_alike<decltype(cublas::lt_functions::layout_destroy)::pointer, decltype(&cublasLtMatrixLayoutDestroy)>);
static_assert(called_alike<decltype(cublas::lt_functions::preference_create)::pointer,
                           decltype(&cublasLtMatmulPreferenceCreate)>);
static_assert(called_alike<decltype(cublas::lt_functions::preference_set)::pointer,
                           decltype(&cublasLtMatmulPreferenceSetAttribute)>);
static_assert(called_alike<decltype(cublas::lt_functions::preference_destroy)::pointer,
                           decltype(&cublasLtMatmulPreferenceDestroy)>);
static_assert(
    called_alike<decltype(cublas::lt_functions::heuristic)::pointer, decltype(&cublasLtMatmulAlgoGetHeuristic)>);
static_assert(called_alike<decltype(cublas::lt_functions::matmul)::pointer, decltype(&cublasLtMatmul)>);
static_assert(cublas::r_32f == CUDA_R_32F && cublas::r_16f == CUDA_R_16F && cublas::r_8i == CUDA_R_8I &&
              cublas::r_32i == CUDA_R_32I && cublas::r_16bf == CUDA_R_16BF && cublas::r_8f_e4m3 == CUDA_R_8F_E4M3);
static_assert(cublas::compute_32f == CUBLAS_COMPUTE_32F && cublas::compute_32i == CUBLAS_COMPUTE_32I &&
              cublas::compute_32f_fast_tf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(cublas::transposed == CUBLAS_OP_T && cublas::as_is == CUBLAS_OP_N &&
              cublas::default_algorithm == CUBLAS_GEMM_DEFAULT);
static_assert(cublas::desc_transpose_a == CUBLASLT_MATMUL_DESC_TRANSA &&
              cublas::desc_fast_accumulation == CUBLASLT_MATMUL_DESC_FAST_ACCUM &&
              cublas::preference_workspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
using heuristic = cublasLtMatmulHeuristicResult_t;
static_assert(sizeof(cublas::lt_heuristic) == sizeof(heuristic));
static_assert(offsetof(cublas::lt_heuristic, algorithm) == offsetof(heuristic, algo));
static_assert(offsetof(cublas::lt_heuristic, workspace) == offsetof(heuristic, workspaceSize));
static_assert(offsetof(cublas::lt_heuristic, state) == offsetof(heuristic, state));
#endif

#if __has_include(<nvml.h>)
// ---- NVML
static_assert(nvml::success == NVML_SUCCESS && nvml::not_supported == NVML_ERROR_NOT_SUPPORTED &&
              nvml::no_permission == NVML_ERROR_NO_PERMISSION && nvml::not_found == NVML_ERROR_NOT_FOUND &&
              nvml::insufficient_size == NVML_ERROR_INSUFFICIENT_SIZE);
static_assert(nvml::clock_sm == NVML_CLOCK_SM && nvml::clock_memory == NVML_CLOCK_MEM &&
              nvml::temperature_gpu == NVML_TEMPERATURE_GPU &&
              nvml::threshold_slowdown == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
static_assert(sizeof(nvml::memory_v2) == sizeof(nvmlMemory_v2_t));
static_assert(nvml::memory_v2{}.version == nvmlMemory_v2);
static_assert(offsetof(nvml::memory_v2, reserved) == offsetof(nvmlMemory_v2_t, reserved));
static_assert(offsetof(nvml::memory_v2, used) == offsetof(nvmlMemory_v2_t, used));
static_assert(sizeof(nvml::bar1_memory) == sizeof(nvmlBAR1Memory_t));
static_assert(sizeof(nvml::pci_info) == sizeof(nvmlPciInfo_t));
static_assert(offsetof(nvml::pci_info, bus_id) == offsetof(nvmlPciInfo_t, busId));
static_assert(sizeof(nvml::process_info) == sizeof(nvmlProcessInfo_t));
static_assert(offsetof(nvml::process_info, used) == offsetof(nvmlProcessInfo_t, usedGpuMemory));
static_assert(called_alike<nvml::memory_of_device*, decltype(&nvmlDeviceGetMemoryInfo_v2)>);
static_assert(called_alike<nvml::pci_of_device*, decltype(&nvmlDeviceGetPciInfo_v3)>);
static_assert(called_alike<nvml::processes_of_device*, decltype(&nvmlDeviceGetComputeRunningProcesses_v3)>);
static_assert(called_alike<nvml::remapped_of_device*, decltype(&nvmlDeviceGetRemappedRows)>);
static_assert(called_alike<nvml::bar1_of_device*, decltype(&nvmlDeviceGetBAR1MemoryInfo)>);
#endif

#if __has_include(<nccl.h>)
// ---- NCCL
namespace nccl = llmres::probe::nccl_abi;
static_assert(called_alike<decltype(nccl::functions::init_all)::pointer, decltype(&ncclCommInitAll)>);
static_assert(called_alike<decltype(nccl::functions::destroy)::pointer, decltype(&ncclCommDestroy)>);
static_assert(called_alike<decltype(nccl::functions::all_reduce)::pointer, decltype(&ncclAllReduce)>);
static_assert(called_alike<decltype(nccl::functions::group_start)::pointer, decltype(&ncclGroupStart)>);
static_assert(called_alike<decltype(nccl::functions::group_end)::pointer, decltype(&ncclGroupEnd)>);
static_assert(nccl::float32 == ncclFloat32 && nccl::sum == ncclSum);
#endif

}  // namespace
