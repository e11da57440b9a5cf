# SPDX-License-Identifier: MIT
"""Stand-ins for the packages of GPU kernels that SGLang imports: no rule about memory calls them."""

import importlib.abc
import importlib.machinery
import sys
import types

import torch

PACKAGES = {"sgl_kernel", "flashinfer", "deep_gemm", "deep_ep", "tilelang", "cutlass", "cuda", "quack", "flash_mla",
            "humming", "nvshmem", "torch_memory_saver", "outlines", "outlines_core", "sgl_flash_mla"}


class _Anything(types.ModuleType):
    """A module, class or function: whatever is asked of it is one more of the kind."""

    __version__ = "999.0.0"

    def __init__(self, name):
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Anything(f"{self.__name__}.{name}")

    def __call__(self, *arguments, **_):
        return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else self

    def __mro_entries__(self, _):
        return (object,)

    def __or__(self, other):
        return object

    __ror__ = __or__

    def __getitem__(self, _):
        return self

    def __iter__(self):
        return iter(())

    def __bool__(self):
        return False


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, _path=None, _target=None):
        if name.partition(".")[0] not in PACKAGES:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return _Anything(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.append(_Finder())  # last: a package that is installed comes first

_register_fake = torch.library.register_fake


def _register_known(operator, *arguments, **named):
    """Operators of a stand-in have no schema to register anything for."""
    if isinstance(operator, str) and operator.partition("::")[0] in PACKAGES:
        return lambda function: function
    return _register_fake(operator, *arguments, **named)


torch.library.register_fake = _register_known
