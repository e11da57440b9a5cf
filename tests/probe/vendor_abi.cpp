// SPDX-License-Identifier: MIT
// The probe's own declarations of NVML, cuBLAS, cuBLASLt and NCCL against NVIDIA's headers: it compiles where they
// agree.
#include <cstddef>
#include <type_traits>

#include "cublas.hpp"
#include "nccl.hpp"
#include "nvml.hpp"

// Not every toolkit brings these; PyPI's nvidia-cublas, nvidia-nvml-dev and nvidia-nccl-cu13 do.
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
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
static_assert(called_alike<int (*)(void**), cublasStatus_t (*)(cublasLtHandle_t*)>);
static_assert(!called_alike<int (*)(void**, int), cublasStatus_t (*)(cublasLtHandle_t*)>);
static_assert(!called_alike<int (*)(int), cublasStatus_t (*)(cublasLtHandle_t)>);

// ---- cuBLASLt
static_assert(called_alike<decltype(cublas::functions::create)::pointer, decltype(&cublasLtCreate)>);
static_assert(called_alike<decltype(cublas::functions::destroy)::pointer, decltype(&cublasLtDestroy)>);
static_assert(called_alike<decltype(cublas::functions::desc_create)::pointer, decltype(&cublasLtMatmulDescCreate)>);
static_assert(called_alike<decltype(cublas::functions::desc_set)::pointer, decltype(&cublasLtMatmulDescSetAttribute)>);
static_assert(called_alike<decltype(cublas::functions::desc_destroy)::pointer, decltype(&cublasLtMatmulDescDestroy)>);
static_assert(called_alike<decltype(cublas::functions::layout_create)::pointer, decltype(&cublasLtMatrixLayoutCreate)>);
static_assert(
    called_alike<decltype(cublas::functions::layout_destroy)::pointer, decltype(&cublasLtMatrixLayoutDestroy)>);
static_assert(
    called_alike<decltype(cublas::functions::preference_create)::pointer, decltype(&cublasLtMatmulPreferenceCreate)>);
static_assert(called_alike<decltype(cublas::functions::preference_set)::pointer,
                           decltype(&cublasLtMatmulPreferenceSetAttribute)>);
static_assert(
    called_alike<decltype(cublas::functions::preference_destroy)::pointer, decltype(&cublasLtMatmulPreferenceDestroy)>);
static_assert(called_alike<decltype(cublas::functions::heuristic)::pointer, decltype(&cublasLtMatmulAlgoGetHeuristic)>);
static_assert(called_alike<decltype(cublas::functions::matmul)::pointer, decltype(&cublasLtMatmul)>);
static_assert(cublas::r_32f == CUDA_R_32F && cublas::r_16f == CUDA_R_16F && cublas::r_8i == CUDA_R_8I &&
              cublas::r_32i == CUDA_R_32I && cublas::r_16bf == CUDA_R_16BF && cublas::r_8f_e4m3 == CUDA_R_8F_E4M3);
static_assert(cublas::compute_32f == CUBLAS_COMPUTE_32F && cublas::compute_32i == CUBLAS_COMPUTE_32I &&
              cublas::compute_32f_fast_tf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(cublas::transposed == CUBLAS_OP_T);
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
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // older drivers know these alone
static_assert(nvml::success == NVML_SUCCESS);
static_assert(nvml::clock_sm == NVML_CLOCK_SM && nvml::clock_memory == NVML_CLOCK_MEM &&
              nvml::temperature_gpu == NVML_TEMPERATURE_GPU &&
              nvml::threshold_slowdown == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
static_assert(sizeof(nvml::memory_v2) == sizeof(nvmlMemory_v2_t));
static_assert(nvml::memory_v2{}.version == nvmlMemory_v2);
static_assert(offsetof(nvml::memory_v2, reserved) == offsetof(nvmlMemory_v2_t, reserved));
static_assert(offsetof(nvml::memory_v2, used) == offsetof(nvmlMemory_v2_t, used));
static_assert(sizeof(nvml::pci_info) == sizeof(nvmlPciInfo_t));
static_assert(offsetof(nvml::pci_info, bus_id) == offsetof(nvmlPciInfo_t, busId));
static_assert(sizeof(nvml::process_info) == sizeof(nvmlProcessInfo_t));
static_assert(offsetof(nvml::process_info, used) == offsetof(nvmlProcessInfo_t, usedGpuMemory));
// How the probe calls its functions: with arguments of these types (`call()` of nvml.cpp).
using words_of_code = const char*(nvml::code);
using no_argument = nvml::code();
using text_of_system = nvml::code(char*, unsigned);
using number_of_system = nvml::code(unsigned*);
using device_by_index = nvml::code(unsigned, nvml::device_handle*);
using device_by_text = nvml::code(const char*, nvml::device_handle*);
using device_of_device = nvml::code(nvml::device_handle, nvml::device_handle*);
using text_of_device = nvml::code(nvml::device_handle, char*, unsigned);
using number_of_device = nvml::code(nvml::device_handle, unsigned*);
using two_numbers_of_device = nvml::code(nvml::device_handle, unsigned*, unsigned*);
using number_by_kind = nvml::code(nvml::device_handle, unsigned, unsigned*);
using wide_of_device = nvml::code(nvml::device_handle, unsigned long long*);
using memory_of_device = nvml::code(nvml::device_handle, nvml::memory_v2*);
using pci_of_device = nvml::code(nvml::device_handle, nvml::pci_info*);
using remapped_of_device = nvml::code(nvml::device_handle, unsigned*, unsigned*, unsigned*, unsigned*);
using processes_of_device = nvml::code(nvml::device_handle, unsigned*, nvml::process_info*);
using level_between = nvml::code(nvml::device_handle, nvml::device_handle, int*);
template <class Ours, class... Theirs>
constexpr bool all_called_alike = (called_alike<Ours*, Theirs> && ...);
static_assert(all_called_alike<words_of_code, decltype(&nvmlErrorString)>);
static_assert(all_called_alike<no_argument, decltype(&nvmlInit_v2), decltype(&nvmlShutdown)>);
static_assert(
    all_called_alike<text_of_system, decltype(&nvmlSystemGetDriverVersion), decltype(&nvmlSystemGetNVMLVersion)>);
static_assert(all_called_alike<number_of_system, decltype(&nvmlDeviceGetCount_v2)>);
static_assert(all_called_alike<device_by_index, decltype(&nvmlDeviceGetHandleByIndex_v2)>);
static_assert(all_called_alike<device_by_text, decltype(&nvmlDeviceGetHandleByUUID),
                               decltype(&nvmlDeviceGetHandleByPciBusId_v2)>);
static_assert(all_called_alike<device_of_device, decltype(&nvmlDeviceGetDeviceHandleFromMigDeviceHandle)>);
static_assert(all_called_alike<number_of_device, decltype(&nvmlDeviceIsMigDeviceHandle), decltype(&nvmlDeviceGetIndex),
                               decltype(&nvmlDeviceGetPersistenceMode), decltype(&nvmlDeviceGetComputeMode),
                               decltype(&nvmlDeviceGetPowerUsage), decltype(&nvmlDeviceGetEnforcedPowerLimit),
                               decltype(&nvmlDeviceGetPowerManagementDefaultLimit),
                               decltype(&nvmlDeviceGetCurrPcieLinkGeneration),
                               decltype(&nvmlDeviceGetMaxPcieLinkGeneration), decltype(&nvmlDeviceGetCurrPcieLinkWidth),
                               decltype(&nvmlDeviceGetMaxPcieLinkWidth), decltype(&nvmlDeviceGetNumaNodeId)>);
static_assert(
    all_called_alike<two_numbers_of_device, decltype(&nvmlDeviceGetMigMode), decltype(&nvmlDeviceGetEccMode)>);
static_assert(all_called_alike<text_of_device, decltype(&nvmlDeviceGetUUID), decltype(&nvmlDeviceGetName),
                               decltype(&nvmlDeviceGetBoardPartNumber), decltype(&nvmlDeviceGetVbiosVersion)>);
static_assert(all_called_alike<pci_of_device, decltype(&nvmlDeviceGetPciInfo_v3)>);
static_assert(all_called_alike<memory_of_device, decltype(&nvmlDeviceGetMemoryInfo_v2)>);
static_assert(all_called_alike<remapped_of_device, decltype(&nvmlDeviceGetRemappedRows)>);
static_assert(all_called_alike<number_by_kind, decltype(&nvmlDeviceGetClockInfo), decltype(&nvmlDeviceGetMaxClockInfo),
                               decltype(&nvmlDeviceGetTemperature), decltype(&nvmlDeviceGetTemperatureThreshold),
                               decltype(&nvmlDeviceGetNvLinkState)>);
static_assert(all_called_alike<wide_of_device, decltype(&nvmlDeviceGetCurrentClocksEventReasons),
                               decltype(&nvmlDeviceGetCurrentClocksThrottleReasons)>);
static_assert(all_called_alike<processes_of_device, decltype(&nvmlDeviceGetComputeRunningProcesses_v3),
                               decltype(&nvmlDeviceGetGraphicsRunningProcesses_v3),
                               decltype(&nvmlDeviceGetMPSComputeRunningProcesses_v3)>);
static_assert(all_called_alike<level_between, decltype(&nvmlDeviceGetTopologyCommonAncestor)>);
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
