/** Names in the index of Python packages, where they are not those of the module. */
const PACKAGES: Readonly<Record<string, string>> = {
  aibrix: 'aibrix-kvcache',
  cuda: 'cuda-python',
  cutlass: 'nvidia-cutlass-dsl',
  cv2: 'opencv-python-headless',
  dynamo: 'ai-dynamo',
  flash_attn: 'flash-attn',
  flash_attn_2_cuda: 'flash-attn',
  flashinfer: 'flashinfer-python',
  google: 'protobuf',
  mooncake: 'mooncake-transfer-engine',
  pegakv: 'pegaflow-llm',
  PIL: 'pillow',
  pkg_resources: 'setuptools',
  pynvml: 'nvidia-ml-py',
  sgl_kernel: 'sgl-kernel',
  sklearn: 'scikit-learn',
  tensorrt_llm: 'tensorrt-llm',
  ucm: 'uc-manager',
  yaml: 'pyyaml',
  zmq: 'pyzmq',
};

/** What `pip install` calls the package of a module. */
export function packageOf(module: string): string {
  return PACKAGES[module] ?? module;
}

/** The image of Dynamo's runtime with an engine, by the folder of its workers: `vllm`, `sglang`, `trtllm`. */
export function runtimeImageOf(folder: string): string {
  return `${folder === 'trtllm' ? 'tensorrtllm' : folder}-runtime`;
}
