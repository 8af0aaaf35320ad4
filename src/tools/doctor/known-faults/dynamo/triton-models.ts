import type { KnownFault } from '../known-fault.js';

const ERROR_OF_MODEL =
  'curl -s TRITON:8000/v2/repository/index -X POST    # each model with the reason why it is not loaded';

/** Why Triton does not load a model: `src/core` of tritonserver, and the tensorrtllm backend. */
export const TRITON_MODELS: readonly KnownFault[] = [
  {
    id: 'triton_backend_missing',
    cause: 'library_missing',
    needles: ['unable to find backend library for backend ', "unable to find 'tensorrtllm/model.py'"],
    pattern: /unable to find (?:backend library for backend )?\\?'(\w{2,40})(?:\\?'|\/model\.py)/,
    says: 'Triton loads no model of the backend $1: its image does not have it',
    why: 'Each image of Triton has its own backends: tensorrtllm is in the one with -trtllm-python-py3 behind the month, vllm in the one with -vllm-python-py3; -py3 has neither.',
    cure: 'Run the image of the month with that backend (nvcr.io/nvidia/tritonserver:YY.MM-trtllm-python-py3 for tensorrtllm, YY.MM-vllm-python-py3 for vllm), or correct backend in config.pbtxt',
    commands: ['ls /opt/tritonserver/backends    # in the container'],
  },
  {
    id: 'triton_engine_config_missing',
    cause: 'settings_refused',
    needles: ['json.exception.parse_error.101'],
    pattern:
      /creating modelInstanceState.{1,60}json\.exception\.parse_error\.101\] parse error at line 1, column 1.{0,120}unexpected end of input/s,
    says: "Triton's TensorRT-LLM backend finds no config.json of an engine in the folder that config.pbtxt names",
    why: 'gpt_model_path of tensorrt_llm/config.pbtxt has to name the folder that trtllm-build wrote (config.json and rank0.engine). A placeholder that was not filled in, or a folder of another place, reads as an empty file.',
    cure: 'Fill in the template with the folder of the engine (tools/fill_template.py -i tensorrt_llm/config.pbtxt engine_dir:ENGINE_DIR; gpt_model_path in its parameters), and see that config.json and the engines lie there in the container',
    commands: ['ls -l ENGINE_DIR    # in the container: config.json, rank0.engine', ERROR_OF_MODEL],
  },
  // "[libprotobuf ERROR …/text_format.cc:335] Error parsing text-format inference.ModelConfig: 29:17: Expected integer or identifier, got: $".
  {
    id: 'triton_template_not_filled',
    cause: 'settings_refused',
    needles: ['parsing text-format inference.ModelConfig'],
    pattern: /inference\.ModelConfig: (\d{1,5}):\d{1,4}: .{1,80}got: "?\$/,
    says: 'Triton does not load a model: line $1 of its config.pbtxt is a placeholder that nobody filled in',
    why: 'The models of tensorrtllm_backend are templates with a placeholder for each value, and Triton reads them as they are.',
    cure: 'Fill in all placeholders: tools/fill_template.py -i MODEL/config.pbtxt KEY:VALUE,KEY:VALUE for each of preprocessing, tensorrt_llm, postprocessing, ensemble and tensorrt_llm_bls',
    commands: ["grep -rn '\\${' MODEL_REPOSITORY --include=config.pbtxt    # what is left"],
  },
  {
    id: 'triton_config_unreadable',
    cause: 'settings_refused',
    needles: ['parsing text-format inference.ModelConfig'],
    pattern: /inference\.ModelConfig: (\d{1,5}):\d{1,4}: ([^$\n]{5,100})/,
    says: 'Triton does not load a model: it cannot read line $1 of its config.pbtxt ($2)',
    why: 'The file is text of protobuf: names as in ModelConfig, texts within quotes, one value for each name.',
    cure: 'Correct line $1 of the config.pbtxt that the next line names ($2)',
  },
];
