# SPDX-License-Identifier: MIT
"""A CUDA platform on a card that is not there: what vLLM asks NVML, torch.cuda and Triton is answered from a table.

Import this before anything else imports torch or vLLM. Tensors that vLLM would allocate on the card have no memory.
"""

import functools
import importlib.machinery
import importlib.util
import os
import sys
import types

os.environ.update(
    CUDA_VISIBLE_DEVICES="0",
    HF_HUB_OFFLINE="1",
    VLLM_DISABLE_SHARED_EXPERTS_STREAM="1",
    VLLM_ENABLE_V1_MULTIPROCESSING="0",
    VLLM_NO_USAGE_STATS="1",
)
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

# Name, compute capability, bytes as NVML says them, multiprocessors; by the names that llmres has.
CARDS = {
    "h100-sxm5-80gb": ("NVIDIA H100 80GB HBM3", (9, 0), 85520809984, 132),
    "h200-sxm5-141gb": ("NVIDIA H200", (9, 0), 150754820096, 132),
    "a100-sxm4-80gb": ("NVIDIA A100-SXM4-80GB", (8, 0), 85899345920, 108),
    "a100-sxm4-40gb": ("NVIDIA A100-SXM4-40GB", (8, 0), 42949672960, 108),
    "rtx-4090": ("NVIDIA GeForce RTX 4090", (8, 9), 25757220864, 128),
    "l4-24gb": ("NVIDIA L4", (8, 9), 24152899584, 58),
    "b200-sxm-180gb": ("NVIDIA B200", (10, 0), 191514673152, 148),
    "rtx-5090": ("NVIDIA GeForce RTX 5090", (12, 0), 34190458880, 170),
}
DEVICES = 8
shown = "h100-sxm5-80gb"


def card():
    return CARDS[shown]


import torch
import torch.utils._device


class _nothing:
    """A stream or an event: every call of it returns itself."""

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        return lambda *args, **kwargs: self

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass


def _properties(*args, **kwargs):
    name, (major, minor), size, multiprocessors = card()
    return types.SimpleNamespace(
        name=name, major=major, minor=minor, total_memory=size, multi_processor_count=multiprocessors,
        is_integrated=False, shared_memory_per_block_optin=232448, warp_size=32, max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536, L2_cache_size=52428800)


def _replace_torch_cuda():
    answers = dict(
        is_available=lambda: True, device_count=lambda: DEVICES, current_device=lambda: 0,
        get_device_capability=lambda *a: card()[1], get_device_name=lambda *a: card()[0],
        get_device_properties=_properties, set_device=lambda *a: None, synchronize=lambda *a: None,
        empty_cache=lambda *a: None, mem_get_info=lambda *a: (card()[2] - 500000000, card()[2]),
        _device_count_nvml=lambda: DEVICES, is_initialized=lambda: False, current_stream=lambda *a: _nothing(), Stream=_nothing, Event=_nothing)
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)

    torch.utils._device._device_constructors()  # remembers the functions that are replaced below

    def without_memory(make):
        @functools.wraps(make)
        def made(*args, **kwargs):
            if kwargs.get("device") is not None and str(kwargs["device"]) not in ("cpu", "meta"):
                kwargs["device"] = "meta"
            return make(*args, **kwargs)

        return made

    for name in ("empty", "zeros", "ones", "full", "arange", "tensor", "empty_strided", "rand", "randn"):
        setattr(torch, name, without_memory(getattr(torch, name)))


class _kernels(types.ModuleType):
    """A package of kernels, of which nothing runs: whatever is imported from it is a class, and called it gives 1."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__new__": lambda *args, **kwargs: 1})


def stand_in_for_flashinfer():
    """Its back end alone has caches in NVFP4, and vLLM asks its import whether it is there."""
    os.environ["VLLM_HAS_FLASHINFER_CUBIN"] = "1"
    for name in ("flashinfer", "flashinfer.decode", "flashinfer.prefill", "flashinfer.utils"):
        sys.modules[name] = _kernels(name)
        sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)


class _triton_driver:
    """Triton's driver, which some kernels ask when they are imported."""

    class utils:
        @staticmethod
        def get_device_properties(device):
            return dict(max_shared_mem=232448, multiprocessor_count=card()[3], max_num_regs=65536, warpSize=32,
                        sm_clock_rate=1980000, mem_clock_rate=2619000, mem_bus_width=5120)

    @classmethod
    def is_active(cls):
        return True

    def get_current_device(self):
        return 0

    def get_device_capability(self, device=0):
        return card()[1]

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", card()[1][0] * 10 + card()[1][1], 32)

    def get_active_torch_device(self):
        return torch.device("cuda", 0)

    def get_benchmarker(self):
        return lambda *args, **kwargs: [0.0]

    def get_current_stream(self, device=0):
        return 0

    def get_device_interface(self):
        return torch.cuda


def _replace_nvml():
    # pynvml.py by its path: importing vllm.third_party first would settle on a platform without it.
    folder = os.path.dirname(importlib.util.find_spec("vllm").origin)
    spec = importlib.util.spec_from_file_location(
        "vllm.third_party.pynvml", os.path.join(folder, "third_party/pynvml.py"))
    nvml = importlib.util.module_from_spec(spec)
    sys.modules["vllm.third_party.pynvml"] = nvml
    spec.loader.exec_module(nvml)
    answers = dict(
        nvmlInit=lambda *a: None, nvmlShutdown=lambda: None, nvmlDeviceGetCount=lambda: DEVICES,
        nvmlDeviceGetHandleByIndex=lambda i: i, nvmlDeviceGetCudaComputeCapability=lambda h: card()[1],
        nvmlDeviceGetName=lambda h: card()[0],
        nvmlDeviceGetMemoryInfo=lambda h: types.SimpleNamespace(total=card()[2], free=card()[2], used=0),
        nvmlDeviceGetP2PStatus=lambda *a: 0, nvmlDeviceGetUUID=lambda h: "GPU-0")
    for name, answer in answers.items():
        setattr(nvml, name, answer)
    import vllm.third_party

    vllm.third_party.pynvml = nvml


def _choose_platform():
    import vllm
    import vllm.platforms

    vllm.platforms.__dict__["_current_platform"] = None
    chosen = vllm.platforms.current_platform
    for name, module in list(sys.modules.items()):
        if name.startswith("vllm") and "current_platform" in getattr(module, "__dict__", {}):
            if module is not vllm.platforms:
                module.__dict__["current_platform"] = chosen
    import vllm.model_executor.models.registry as registry

    registry._run_in_subprocess = lambda function: function()
    return chosen


_replace_torch_cuda()
from triton.runtime import driver as _driver

_driver.set_active(_triton_driver())
_replace_nvml()
platform = _choose_platform()


def show(name):
    """Makes a card of the table the one that is there. Call it before vLLM asks for anything of it."""
    global shown
    shown = name
    from vllm.platforms import cuda

    for asked in vars(cuda.NvmlCudaPlatform).values():
        function = getattr(asked, "__func__", asked)
        if hasattr(function, "cache_clear"):
            function.cache_clear()
