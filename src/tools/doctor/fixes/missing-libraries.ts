import type { ProposedFix } from '../diagnosis.js';

/** A shared library that the loader does not find, as an exception or the loader itself says it. */
const MISSING = /\b(lib[\w+.-]{1,60}?\.so(?:\.[\d.]{1,12})?): cannot open shared object file/;

/** What brings a library, by its file: packages of Ubuntu and Debian, wheels, scripts of a vendor. The first that fits counts. */
const BRINGS: readonly (readonly [pattern: RegExp, says: string])[] = [
  [
    /^lib(?:ibverbs|rdmacm|mlx[45]|efa|bnxt_re|hns|irdma)\b/,
    'Add the libraries of RDMA to the image: apt-get install -y libibverbs1 librdmacm1 ibverbs-providers',
  ],
  [
    /^libuc[pstm]\b/,
    'Install NIXL as its wheel, which brings UCX with it (pip install nixl-cu12 or nixl-cu13, by the CUDA of the image), or add the folder of the UCX that is there to LD_LIBRARY_PATH',
  ],
  [
    /^libcufile/,
    'Add the library of GPUDirect Storage: pip install nvidia-cufile-cu12 (nvidia-cufile for CUDA 13), with its folder in LD_LIBRARY_PATH, or libcufile of the CUDA repository',
  ],
  [
    /^lib(?:ascend\w*|hccl\w*|runtime|acl_\w*|ge_\w*|msprofiler|opapi|nnopbase)\b/,
    'Read the settings of CANN before the engine starts (source /usr/local/Ascend/ascend-toolkit/set_env.sh, and nnal/atb/set_env.sh), in an image with the CANN that its release names',
  ],
  [
    /^lib(?:etcd_wrapper|jsoncpp|glog|gflags|asio|transfer_engine|mooncake\w*|yalantinglibs)/,
    'Add the folder of Mooncake to LD_LIBRARY_PATH ($(python3 -c "import mooncake, os; print(os.path.dirname(mooncake.__file__))")), or install a later wheel, which does without: pip install -U mooncake-transfer-engine',
  ],
  [/^libmpi\b/, 'Add it to the image: apt-get install libopenmpi-dev'],
  [/^libGL\b/, 'Add it to the image: apt-get install libgl1'],
  [/^libglib-/, 'Add it to the image: apt-get install libglib2.0-0'],
  [/^libnuma\b/, 'Add it to the image: apt-get install libnuma1'],
  [/^libpython3/, 'Add it to the image: apt-get install libpython3-dev, of the Python that runs'],
  [/^libgomp\b/, 'Add it to the image: apt-get install libgomp1'],
  [/^libfabric/, 'Add it to the image: apt-get install libfabric1, or the installer of EFA on AWS'],
  [/^libtbb/, 'Add it to the image: apt-get install libtbb12'],
  [/^libtcmalloc/, 'Add it to the image: apt-get install google-perftools'],
  [/^libnvinfer/, 'Add it to the image: pip install the tensorrt that this TensorRT-LLM requires'],
  [/^libnccl\b/, 'Add it to the image: pip install nvidia-nccl-cu12, or cu13 with a PyTorch for CUDA 13'],
  [/^libcudnn/, 'Add it to the image: pip install nvidia-cudnn-cu12, or cu13 with a PyTorch for CUDA 13'],
  [
    /^libcupti/,
    'Add it to the image: pip install nvidia-cuda-cupti-cu12, or nvidia-cuda-cupti with a PyTorch for CUDA 13',
  ],
  [
    /^libnvrtc/,
    'Add it to the image: pip install nvidia-cuda-nvrtc-cu12, or nvidia-cuda-nvrtc with a PyTorch for CUDA 13',
  ],
  [
    /^libcublas/,
    'Add it to the image: pip install nvidia-cublas-cu12, or nvidia-cublas with a PyTorch for CUDA 13',
  ],
  [
    /^libcusparseLt/,
    'Add it to the image: pip install nvidia-cusparselt-cu12, or cu13 with a PyTorch for CUDA 13',
  ],
];

/** Adds a shared library to the image; undefined where the sentence names none, or one that is of no package that is known. */
export function addSharedLibrary(sentence: string): ProposedFix | undefined {
  const library = MISSING.exec(sentence)?.[1];
  const says = BRINGS.find(([pattern]) => library !== undefined && pattern.test(library))?.[1];
  if (library === undefined || says === undefined) return undefined;
  return {
    says: `${says} (it lacks ${library})`,
    why: 'The loader looks for the library in LD_LIBRARY_PATH and in the folders of the system, and a wheel cannot ask for packages of the system. The package that needs it is there, and cannot be imported.',
    disturbs: 'all_workers',
    files: [],
    commands: [
      `kubectl exec POD -- sh -c "find / -name '${library}*' 2>/dev/null; ldconfig -p | grep ${library}"    # whether it is there at all`,
    ],
    verify: [`kubectl exec POD -- sh -c "ldconfig -p | grep ${library}"    # found`],
  };
}
