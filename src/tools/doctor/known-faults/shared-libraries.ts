import type { KnownFault } from './known-fault.js';

const NEEDLES = ['ImportError: lib', 'OSError: lib', 'cannot load MPI library'] as const;
/** What the loader says of a binary, which has no interpreter. */
const BY_LOADER = 'error while loading shared libraries: lib';

/** Libraries below an engine that its packages expect of the image, by their names. Those of transfers and caches have rows of their own. */
export const SHARED_LIBRARIES: readonly KnownFault[] = [
  {
    id: 'cuda_library_of_other_version',
    cause: 'library_missing',
    needles: [...NEEDLES],
    pattern:
      /(?:ImportError|OSError): (lib(?:cublas|cublasLt|nvrtc|nvJitLink|cupti|cusolver|nvToolsExt)\.so\.(1\d))(?:\.\d{1,3}){0,3}: cannot open shared object/,
    says: 'A package of this image was built for CUDA $2, and the image has another CUDA ($1 is not there)',
    why: 'Wheels of engines are built for one CUDA: those of CUDA 13 ask for libraries with .so.13, those of CUDA 12 for .so.12. pip brings the newest wheel, whatever the image has.',
    cure: 'Run an image with CUDA $2 (whose driver the node has: nvidia-smi shows the highest), or install the package as the wheel for the CUDA of the image (torch and the engine from one index: --index-url https://download.pytorch.org/whl/cu128)',
    commands: [
      "kubectl exec POD -- sh -c \"ldconfig -p | grep -E 'cublas|cudart'; pip list | grep -iE 'cu1[23]|torch'\"",
    ],
  },
  {
    id: 'cuda_driver_library_missing',
    cause: 'library_missing',
    needles: [...NEEDLES, BY_LOADER],
    pattern: /(?:ImportError|OSError|shared libraries): libcuda\.so\.1: cannot open shared object/,
    says: 'A package of this image was built for CUDA, and its container has no driver (libcuda.so.1 is not there)',
    why: 'libcuda.so.1 is of the driver of the node, and the container runtime brings it where the pod asks for a GPU. Hosts without GPUs have none: nodes of a store, of a master, of a build.',
    cure: 'Give the container its GPUs (nvidia.com/gpu: 1; with Docker --gpus all), or on a host without GPUs install the build without CUDA (pip uninstall mooncake-transfer-engine; pip install mooncake-transfer-engine-non-cuda for Mooncake)',
    commands: ['kubectl exec POD -- sh -c "ldconfig -p | grep libcuda.so; nvidia-smi | head -4"'],
  },
  {
    id: 'tensorrt_library_missing',
    cause: 'library_missing',
    needles: [...NEEDLES],
    pattern:
      /(?:ImportError|OSError): (libnvinfer\w{0,40}\.so(?:\.(\d{1,2}))?)[.\d]{0,12}: cannot open shared object/,
    says: 'TensorRT-LLM does not start: the libraries of TensorRT are not found ($1)',
    why: 'tensorrt_llm links against one major version of TensorRT, which the package tensorrt brings into site-packages/tensorrt_libs; a build without it, or another version, lacks the file.',
    cure: 'Run the release image (nvcr.io/nvidia/tensorrt-llm/release), or reinstall both in one environment (pip install --force-reinstall tensorrt_llm, with the tensorrt that it names) and add the folder: LD_LIBRARY_PATH=$(python3 -c "import tensorrt_libs; print(tensorrt_libs.__path__[0])"):$LD_LIBRARY_PATH',
    commands: ['find / -name "libnvinfer.so*" 2>/dev/null; pip list | grep -i tensorrt'],
  },
  {
    id: 'mpi_library_missing',
    cause: 'library_missing',
    needles: [...NEEDLES],
    pattern:
      /(?:(?:ImportError|OSError): (libmpi\w{0,20}\.so[.\d]{0,10}): cannot open shared object|cannot load MPI library)/,
    says: 'TensorRT-LLM does not start: the libraries of MPI are not found',
    why: 'TensorRT-LLM and mpi4py load Open MPI from the system. A wheel from a package index does not bring it, and LD_LIBRARY_PATH of a shell may hide the one of the image.',
    cure: 'Install it (apt-get install -y libopenmpi-dev openmpi-bin), or, where the image has one, add its folder: LD_LIBRARY_PATH=/usr/local/mpi/lib:$LD_LIBRARY_PATH and OPAL_PREFIX=/opt/hpcx/ompi in images of NVIDIA; the release image (nvcr.io/nvidia/tensorrt-llm/release) has all of it',
    commands: ['find / -name "libmpi.so*" 2>/dev/null'],
  },
  {
    id: 'python_library_missing',
    cause: 'library_missing',
    needles: [...NEEDLES],
    pattern: /(?:ImportError|OSError): (libpython(3\.\d{1,2})\.so[.\d]{0,6}): cannot open shared object/,
    says: 'A program does not start: the library of Python $2 is not found ($1)',
    why: 'A compiled module of the engine links against the shared library of Python. An interpreter of uv, conda or a virtual environment keeps it in its own folder, and a slim image has none.',
    cure: 'Install it (apt-get install -y libpython$2), or add the folder of this interpreter: LD_LIBRARY_PATH=$(python3 -c "import sysconfig; print(sysconfig.get_config_var(\'LIBDIR\'))"):$LD_LIBRARY_PATH',
    commands: ['find / -name "libpython$2*.so*" 2>/dev/null'],
  },
  {
    id: 'cuda_driver_mismatch',
    cause: 'program_ended',
    needles: ['system has unsupported display driver / cuda driver combination'],
    says: 'an engine does not start: the CUDA driver library in its container is not the one of the driver of the node (error 803)',
    why: 'The container runtime brings libcuda.so of the node. A copy in the image, as a rule of the compatibility package (/usr/local/cuda/compat), comes first on LD_LIBRARY_PATH or in the cache of the loader and does not fit the kernel module. After an update of the driver the node itself has two of them until it restarts.',
    cure: 'Take /usr/local/cuda/compat out of LD_LIBRARY_PATH of the container (rm /etc/ld.so.conf.d/*cuda-compat*; ldconfig), or update the driver of the node to that of the CUDA of the image; restart the node after an update',
    commands: [
      'kubectl exec POD -- sh -c "ldconfig -p | grep libcuda.so; echo $LD_LIBRARY_PATH; nvidia-smi | head -4"',
    ],
  },
  {
    id: 'cuda_forward_compatibility',
    cause: 'program_ended',
    needles: ['forward compatibility was attempted on non supported HW'],
    says: 'an engine does not start: its image brings a later CUDA driver library, which works on GPUs of data centres alone (error 804)',
    why: 'CUDA runs on an older driver by its compatibility package, on data centre GPUs alone. GeForce and workstation cards need a driver that is as new as the CUDA of the image.',
    cure: 'Update the driver of the node to that of the CUDA of the image, run an image with an older CUDA (nvidia-smi shows the highest that the driver has), or take /usr/local/cuda/compat out of LD_LIBRARY_PATH',
    commands: ['nvidia-smi | head -4'],
  },
];
