import type { KnownFault } from '../known-fault.js';

const RELEASES = [
  'grep -m1 \'"version"\' ENGINE_DIR/config.json    # the release that built it',
  'python3 -c "import tensorrt_llm; print(tensorrt_llm.__version__)"    # in the container that serves; has to be the same',
];
const BUILD =
  'Build the engine again (trtllm-build) in the image that serves it, or serve it with the release in "version" of its config.json (a tritonserver image of the same month)';

/** Engines that were built beforehand (`trtllm-build`, TensorRT 8 to 10) and that another release or another GPU loads. */
export const TRTLLM_ENGINES: readonly KnownFault[] = [
  {
    id: 'trtllm_engine_of_another_release',
    cause: 'program_ended',
    needles: [
      'Assertion failed: sizeof(T) <= remaining_buffer_size',
      'Assertion failed: d == a + length',
      'The engine plan file is not compatible with this version of TensorRT',
      'Cannot find plugin: ',
    ],
    pattern:
      /remaining_buffer_size|a \+ length|this version of TensorRT|Cannot find plugin: .{1,120}namespace: ?tensorrt_llm/,
    says: 'TensorRT-LLM does not start: the engine was built by another release than the one that loads it',
    why: 'Engines keep the form of the plugins that they were built with, and are good for one release and one kind of GPU.',
    cure: BUILD,
    commands: RELEASES,
  },
  // "Serialization assertion stdVersionRead == kSERIALIZATION_VERSION failed.Version tag does not match. Note: Current Version: 236, Serialized Engine Version: 237".
  {
    id: 'tensorrt_engine_version_tag',
    cause: 'program_ended',
    needles: ['Version tag does not match'],
    pattern:
      /Version tag does not match.{0,12}Current Version: (\d{1,5}), Serialized Engine Version: (\d{1,5})/,
    says: 'an engine of TensorRT is not loaded: it has the format $2, and this TensorRT reads the format $1',
    why: 'Each release of TensorRT has a number for the form of its engines, and reads no other one. Two installations in one image (a wheel and a system package) are two releases as well.',
    cure: BUILD,
    commands: [
      ...RELEASES,
      'python3 -c "import tensorrt; print(tensorrt.__version__)"; ldconfig -p | grep libnvinfer.so    # one release of TensorRT',
    ],
  },
  // trtGptModelFactory.h and trtGptModelInflightBatching.cpp, of 0.5 and later.
  {
    id: 'trtllm_engine_without_paged_cache',
    cause: 'settings_refused',
    needles: ['with packed input and paged KV cache'],
    says: 'TensorRT-LLM does not load an engine: it was built without packed input or without a paged KV cache, which inflight batching needs',
    why: 'Inflight batching puts prompts and steps of several requests together without padding, and keeps their KV cache in blocks. Both are chosen as an engine is built.',
    cure: 'Build the engine again with trtllm-build --gpt_attention_plugin auto --remove_input_padding enable --paged_kv_cache enable (build.py of 0.5 to 0.7: --use_gpt_attention_plugin --remove_input_padding --paged_kv_cache); or set gpt_model_type (batching_strategy of the template) to V1, which reuses no blocks',
    commands: [
      "python3 -c \"import json; print(json.load(open('ENGINE_DIR/config.json'))['build_config']['plugin_config'])\"    # remove_input_padding, paged_kv_cache",
    ],
  },
  {
    id: 'trtllm_adapters_without_inflight_batching',
    cause: 'settings_refused',
    needles: ['_lora_weights_pointers', "' not found; expected shape: "],
    pattern: /Input tensor '(\w{1,40}_lora_(?:weights_pointers|ranks)\w{0,8})' not found/,
    says: 'TensorRT-LLM runs no request: the engine was built for LoRA adapters, and batching of kind V1 gives it none',
    why: 'Only inflight batching hands adapters to the engine. V1 leaves their inputs ($1) out.',
    cure: 'Set gpt_model_type (batching_strategy of the template) to inflight_fused_batching in tensorrt_llm/config.pbtxt and restart Triton; or build the engine again without --lora_plugin where no adapters are used',
    commands: ['grep -n -A2 gpt_model_type MODEL_REPOSITORY/tensorrt_llm/config.pbtxt'],
  },
  // tllmRuntime.cpp, of 0.5 and later, for each batch.
  {
    id: 'trtllm_engine_input_missing',
    cause: 'program_ended',
    needles: [
      "' not found; expected shape: ",
      "Input tensor 'host_kv_cache_",
      "Input tensor 'kv_cache_block_",
    ],
    pattern: /Input tensor '([\w.]{1,80})' not found/,
    says: 'TensorRT-LLM runs no request: the engine wants the input $1, which this release does not give it',
    why: 'Inputs for the KV cache have other names from release to release, and an engine keeps those of the one that built it. It loads, and then fails with the first batch.',
    cure: BUILD,
    commands: RELEASES,
  },
  // "expecting" is the GPU that loads it, "got" the one that built it.
  {
    id: 'tensorrt_engine_of_another_gpu',
    cause: 'program_ended',
    needles: ['is generated on an incompatible device'],
    pattern: /expecting compute (\d{1,2}\.\d) got compute (\d{1,2}\.\d)/,
    says: 'an engine of TensorRT is not loaded: it was built on a GPU of compute capability $2, and this GPU has $1',
    why: 'TensorRT chooses kernels for the GPU that it builds on. An engine is good for GPUs of the same compute capability alone.',
    cure: 'Build the engine again (trtllm-build) on a GPU of compute capability $1, and keep one engine folder for each kind of GPU; or have its pods run on nodes whose GPUs have $2 (nodeSelector: nvidia.com/gpu.product)',
    commands: [
      'nvidia-smi --query-gpu=name,compute_cap --format=csv    # on the node that built it, and on this one',
    ],
  },
  {
    id: 'tensorrt_engine_damaged',
    cause: 'program_ended',
    needles: ['Magic tag does not match', 'magicTagRead == '],
    says: 'an engine of TensorRT is not loaded: the file is no engine, or of a release that had another format',
    why: 'Its first bytes are not those of an engine. A pointer of Git LFS, a copy that broke off, an ONNX file, and an engine of a much older or newer TensorRT look so.',
    cure: 'Compare the size and the checksum of the file with those at the place where it was built (ls -l, sha256sum) and copy it again; where they are the same, build it again (trtllm-build) in the image that serves it',
    commands: [
      'ls -l ENGINE_DIR && head -c 64 ENGINE_DIR/rank0.engine | strings    # "version https://git-lfs" is a pointer',
      ...RELEASES,
    ],
  },
  // What the lines above it have the reason of.
  {
    id: 'trtllm_engine_not_read',
    cause: 'program_ended',
    needles: ['Assertion failed: Failed to deserialize cuda engine', '(Engine deserialization failed.)'],
    follows: [
      'trtllm_engine_of_another_release',
      'tensorrt_engine_version_tag',
      'tensorrt_engine_of_another_gpu',
      'tensorrt_engine_damaged',
    ],
    says: 'TensorRT-LLM does not start: it cannot read the engine that it was given',
    why: 'Engines are good for one release and one kind of GPU. The error of TensorRT above this line ([TRT] [E]) says which of the two differs, or that the file is damaged.',
    cure: 'Build the engine again (trtllm-build) in the image that serves it, on its kind of GPU, or serve it with the release in "version" of its config.json (a tritonserver image of the same month)',
    commands: [...RELEASES, 'kubectl logs POD | grep -m3 -E "TRT.{0,4}\\] ?\\[?E"    # the reason'],
  },
];
