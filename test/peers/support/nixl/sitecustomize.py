"""Engines with NIXL on a machine with few cores and no GPU. Python loads this by itself where its folder is in PYTHONPATH.

- NIXL's Python package asks for no pause between two looks of its progress thread (`pthrDelay = 0`), which keeps a core busy
  for each engine, with or without transfers: here it rests.
- SGLang registers its KV cache as memory of a GPU wherever it is, which UCX refuses for memory of the host: here it is that.
- vLLM's worker sleeps until it is woken for a step. Where steps come by the thousand, as while KV blocks wait to be fetched,
  that call may be lost, and the worker looks again after 5 s (`SHM_READER_RECHECK_INTERVAL_MS`): here it looks sooner.
"""

import importlib.abc
import importlib.machinery
import sys

PAUSE_MICROSECONDS = 500
RECHECK_MILLISECONDS = 20


def adapt_nixl(module):
    plain = module.nixlBind.nixlAgentConfig

    class RestingConfig(plain):
        @property
        def pthrDelay(self):
            return plain.pthrDelay.fget(self)

        @pthrDelay.setter
        def pthrDelay(self, microseconds):
            plain.pthrDelay.fset(self, max(microseconds, PAUSE_MICROSECONDS))

    class Bindings:
        nixlAgentConfig = RestingConfig

        def __getattr__(self, name):
            return getattr(bindings, name)

    bindings = module.nixlBind
    module.nixlBind = Bindings()
    begin = module.nixl_agent.__init__

    def init(self, *args, **kwargs):
        begin(self, *args, **kwargs)
        self.nixl_mems["VRAM"] = self.nixl_mems["DRAM"]

    module.nixl_agent.__init__ = init


def adapt_vllm(module):
    module.SHM_READER_RECHECK_INTERVAL_MS = RECHECK_MILLISECONDS


ADAPTED = {
    "nixl_cu12._api": adapt_nixl,
    "nixl_cu13._api": adapt_nixl,
    "vllm.distributed.device_communicators.shm_broadcast": adapt_vllm,
}


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        adapt = ADAPTED.get(name)
        if adapt is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            adapt(module)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder())
