"""Stands in for SGLang's compiled kernels, whose published build holds CUDA code only.

SGLang imports `sgl_kernel` when it starts, on a CPU too. A Llama that runs on the `torch_native`
attention backend calls none of it, so any name may be imported from here and passed around; one
that is called after all says which kernel is missing.
"""

import importlib.abc
import importlib.machinery
import sys
import types

# Newer than every version that SGLang asks for.
__version__ = "99.0"


class MissingKernel:
    """Something that was imported from `sgl_kernel`, or an attribute of it."""

    def __init__(self, path):
        self._path = path

    def __getattr__(self, name):
        # Dunder names are how Python asks what an object can do: it can do nothing.
        if name.startswith("__"):
            raise AttributeError(name)
        return MissingKernel(f"{self._path}.{name}")

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"{self._path} needs a GPU")


class AnySubmodule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes `import sgl_kernel.whatever` work."""

    def find_spec(self, name, path=None, target=None):
        if name.startswith(f"{__name__}."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = _attribute_of(spec.name)
        return module

    def exec_module(self, module):
        """There is nothing to run."""


def _attribute_of(path):
    def attribute(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return MissingKernel(f"{path}.{name}")

    return attribute


__getattr__ = _attribute_of(__name__)
sys.meta_path.append(AnySubmodule())
