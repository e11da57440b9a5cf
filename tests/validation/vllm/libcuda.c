// SPDX-License-Identifier: MIT
/* A libcuda.so.1 without a device: what vLLM's extensions and their libraries link against, each call of which fails
 * with CUDA_ERROR_NO_DEVICE. */
enum { no_device = 100 };
#define WITHOUT_A_DEVICE(name) \
    int name(void) { return no_device; }

int cuGetErrorString(int error, const char** text) {
    (void)error;
    if (text) *text = "no device";
    return 0;
}
WITHOUT_A_DEVICE(cuCtxGetCurrent)
WITHOUT_A_DEVICE(cuCtxGetLimit)
WITHOUT_A_DEVICE(cuCtxSetCurrent)
WITHOUT_A_DEVICE(cuCtxSetLimit)
WITHOUT_A_DEVICE(cuDeviceGet)
WITHOUT_A_DEVICE(cuDeviceGetAttribute)
WITHOUT_A_DEVICE(cuDevicePrimaryCtxRetain)
WITHOUT_A_DEVICE(cuFuncGetAttribute)
WITHOUT_A_DEVICE(cuFuncSetAttribute)
WITHOUT_A_DEVICE(cuFuncSetCacheConfig)
WITHOUT_A_DEVICE(cuGetProcAddress_v2)
WITHOUT_A_DEVICE(cuLaunchKernelEx)
WITHOUT_A_DEVICE(cuMemAddressFree)
WITHOUT_A_DEVICE(cuMemAddressReserve)
WITHOUT_A_DEVICE(cuMemCreate)
WITHOUT_A_DEVICE(cuMemGetAllocationGranularity)
WITHOUT_A_DEVICE(cuMemMap)
WITHOUT_A_DEVICE(cuMemRelease)
WITHOUT_A_DEVICE(cuMemSetAccess)
WITHOUT_A_DEVICE(cuMemUnmap)
WITHOUT_A_DEVICE(cuModuleGetFunction)
WITHOUT_A_DEVICE(cuModuleLoadData)
WITHOUT_A_DEVICE(cuOccupancyMaxActiveClusters)
WITHOUT_A_DEVICE(cuPointerGetAttribute)
WITHOUT_A_DEVICE(cuTensorMapEncodeTiled)
