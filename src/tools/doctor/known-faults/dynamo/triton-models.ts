import type { KnownFault } from '../known-fault.js';

const ERROR_OF_MODEL =
  'curl -s TRITON:8000/v2/repository/index -X POST    # each model with the reason why it is not loaded';

const OTHER_RELEASE =
  'The models of tensorrtllm_backend (ensemble, preprocessing, tensorrt_llm, postprocessing, tensorrt_llm_bls) come with each release, which gives them inputs or types that the one before does not have. Models of two releases, or clients of another one, do not fit.';
const SAME_RELEASE =
  'Copy all models of all_models/inflight_batcher_llm from the release of tensorrtllm_backend that is in the image (triton_backend/all_models of TensorRT-LLM from 0.18 on), fill them in again and restart Triton';
const CONFIG_OF_MODEL =
  'curl -s TRITON:8000/v2/models/MODEL/config    # the inputs of a model, with their types';

/** Why Triton does not load a model, or refuses what models and clients hand to it: `src/core` of tritonserver, and the tensorrtllm backend. */
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
  {
    id: 'triton_models_of_two_releases',
    cause: 'settings_refused',
    needles: ['inconsistent data type: ', 'inconsistent shape: '],
    pattern:
      /ensemble tensor '([\w.-]{1,60})': inconsistent (data type|shape): .{1,80} is inferred from model '([\w.-]{1,60})' while .{1,80} is inferred from model '([\w.-]{1,60})'/,
    says: 'Triton does not load its ensemble: $3 and $4 have another $2 for the tensor $1',
    why: OTHER_RELEASE,
    cure: `${SAME_RELEASE}; or write the same $2 for $1 into both config.pbtxt`,
    commands: ['grep -n -A3 \'"$1"\' MODEL_REPOSITORY/*/config.pbtxt'],
  },
  {
    id: 'triton_input_unknown',
    cause: 'settings_refused',
    needles: ['unexpected inference input '],
    pattern: /unexpected inference input '([\w.-]{1,60})' for model '([\w./-]{1,80})'/,
    says: 'Triton refuses requests: its model $2 has no input $1',
    why: OTHER_RELEASE,
    cure: `${SAME_RELEASE}; where a client sends $1 by itself, leave it out there`,
    commands: [CONFIG_OF_MODEL],
  },
  {
    id: 'triton_input_of_another_type',
    cause: 'settings_refused',
    needles: [' data-type is '],
    pattern:
      /inference input '([\w.-]{1,60})' data-type is '(\w{2,12})', but model '([\w./-]{1,80})' expects '(\w{2,12})'/,
    says: 'Triton refuses requests: they have the input $1 as $2, and its model $3 takes $4',
    why: OTHER_RELEASE,
    cure: `${SAME_RELEASE}; where a client of your own sends $1, send it as $4`,
    commands: [CONFIG_OF_MODEL],
  },
  {
    id: 'triton_inputs_missing',
    cause: 'settings_refused',
    needles: [' inputs but got '],
    pattern:
      /expected (\d{1,3}|between \d{1,3} and \d{1,3}) inputs but got (\d{1,3}) inputs for model '([\w./-]{1,80})'/,
    says: 'Triton refuses requests: the inputs that its model $3 gets are $2, and it takes $1',
    why: OTHER_RELEASE,
    cure: `${SAME_RELEASE}; where a client of your own calls $3, send each input that is not optional in its config.pbtxt`,
    commands: [CONFIG_OF_MODEL],
  },
  // tensorrtllm backend, as the work item of a request is made (issues 45, 163 and 319 of tensorrtllm_backend).
  {
    id: 'triton_request_of_many_prompts',
    cause: 'settings_refused',
    needles: ['Expected batch dimension to be 1 for each request'],
    says: "Triton's TensorRT-LLM backend refuses requests that hold more than one prompt",
    why: 'It puts requests together into batches by itself (inflight batching), and takes one prompt from each of them (releases of 2023 and early 2024; later ones split them).',
    cure: 'Send each prompt as a request of its own, all at the same time; or try a tritonserver image of a later month',
  },
];
