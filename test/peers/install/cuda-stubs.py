#!/usr/bin/env python3
"""Lets a CUDA build of torch load on a machine without CUDA.

The published torch for Linux is the CUDA build. Everything that it needs on a CPU is in it, but the
loader insists on the CUDA libraries that it was linked with: some 2.5 GB that nothing would ever call.
So this reads from torch's own libraries which CUDA libraries they name and which functions they expect
in them, and compiles a small library for each, in which every function answers that there is no device.
They go where torch's libraries look last, so that real ones win where they are installed.

usage: cuda-stubs.py          (with the Python of the environment that torch is in)
needs: gcc, readelf
"""

import collections
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

# The libraries of the CUDA toolkit. The driver's own, libcuda, is looked for at run time only.
CUDA_LIBRARY = re.compile(
    r"lib(cudart|cublas|cublasLt|cudnn|cufft|cufile|cupti|curand|cusolver|cusparse|cusparseLt|"
    r"nccl|nvrtc|nvJitLink|nvshmem_host|nvToolsExt)\.so"
)
# Functions of the toolkit that are linked without telling which library they belong to.
CUDA_FUNCTION = re.compile(
    r"(__cuda|cuda|cu[A-Z]|cublas|cudnn|cufft|cuFile|cupti|curand|cusolver|cusparse|nccl|nvrtc|"
    r"nvJitLink|nvshmem|nvtx)"
)
# A function whose answer the caller prints.
TELLS_TEXT = re.compile(r"(Error|Status|Result)_?(String|Name)$|^nccl(GetErrorString|GetLastError)$")
# "What was the last error?" There was none.
LAST_ERROR = ("cudaGetLastError", "cudaPeekAtLastError")
# cudaErrorNoDevice. The other libraries have other lists, where anything but 0 is an error.
NO_DEVICE = 100
# Distinguishes our libraries from real ones on a second run.
MARK = b"kv_accord_stands_in_for_cuda"


def readelf(option, library):
    command = ["readelf", "--wide", option, str(library)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def needed_libraries(library):
    """The sonames of the CUDA libraries that a library is linked with."""
    named = (re.search(r"\(NEEDED\).*\[(.+)\]", line) for line in readelf("--dynamic", library))
    return {match[1] for match in named if match and CUDA_LIBRARY.match(match[1])}


def library_of_version(library):
    """Which library each symbol version is expected in: {"libcublas.so.13": "libcublas.so.13"}."""
    owners, owner = {}, None
    for line in readelf("--version-info", library):
        if match := re.search(r"File: (\S+)", line):
            owner = match[1]
        elif owner and (match := re.search(r"Name: (\S+)", line)):
            owners[match[1]] = owner
    return owners


def undefined_symbols(library):
    """(name, version or "") of every symbol that must come from elsewhere."""
    for line in readelf("--dyn-syms", library):
        columns = line.split()
        if len(columns) >= 8 and columns[6] == "UND":
            name, _, version = columns[7].partition("@")
            yield name, version.lstrip("@")


def function(name):
    """The C source of one stand-in."""
    if name == "__cudaRegisterFatBinary":  # its answer is kept and handed back later
        return f"void **{name}(void) {{ static void *handle; return &handle; }}"
    if name.startswith("__cuda") or name in LAST_ERROR:
        return f"int {name}(void) {{ return 0; }}"
    if TELLS_TEXT.search(name):
        return f'const char *{name}(void) {{ return "there is no CUDA here"; }}'
    return f"int {name}(void) {{ return {NO_DEVICE}; }}"


def compile_library(target, symbols):
    """Makes one shared library; `symbols` is {name: version or ""}."""
    by_version = collections.defaultdict(list)
    for name, version in sorted(symbols.items()):
        by_version[version].append(name)
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, "stub.c")
        lines = [f'const char {MARK.decode()}[] = "{MARK.decode()}";']
        source.write_text("\n".join(lines + [function(name) for name in sorted(symbols)]) + "\n")
        command = ["gcc", "-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{target.name}"]
        nodes = [
            "%s { global: %s };" % (version, " ".join(name + ";" for name in names))
            for version, names in by_version.items()
            if version
        ]
        if nodes:
            script = pathlib.Path(scratch, "versions.map")
            script.write_text("\n".join(nodes) + "\n")
            command.append(f"-Wl,--version-script={script}")
        subprocess.run([*command, "-o", str(target), str(source)], check=True)


def main():
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        sys.exit("cuda-stubs: this Python has no torch")
    folder = pathlib.Path(torch.origin).parent / "lib"
    libraries = [
        path
        for path in sorted(folder.glob("*.so*"))
        if path.is_file() and not (CUDA_LIBRARY.match(path.name) and MARK in path.read_bytes())
    ]
    wanted = {soname: {} for library in libraries for soname in needed_libraries(library)}
    unowned = set()
    for library in libraries:
        owners = library_of_version(library)
        for name, version in undefined_symbols(library):
            owner = owners.get(version)
            if owner in wanted:
                wanted[owner][name] = version
            elif not version and CUDA_FUNCTION.match(name):
                unowned.add(name)
    for soname, symbols in sorted(wanted.items()):
        if soname.startswith("libcudart"):
            # One library must have them, and every CUDA program loads this one.
            symbols.update({name: "" for name in unowned if name not in symbols})
        compile_library(folder / soname, symbols)
    print(f"cuda-stubs: {len(wanted)} libraries with {sum(map(len, wanted.values()))} functions")


if __name__ == "__main__":
    main()
