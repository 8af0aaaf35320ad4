import type { KnownFault } from './known-fault.js';

/** Files that a program is given by a flag, and that are not there or are of another kind. */
export const GIVEN_FILES: readonly KnownFault[] = [
  {
    id: 'given_file_missing',
    cause: 'settings_refused',
    needles: ["Error: [Errno 2] No such file or directory: '"],
    pattern:
      /FileNotFoundError: \[Errno 2\] No such file or directory: '((?!\/(?:proc|sys|tmp|dev|usr\/(?:local\/)?lib)\/)[^']{0,200}?(?!site-packages)[\w.-]{1,100}\.(?:ya?ml|toml|pbtxt|conf|env))'/,
    isSign: true,
    says: 'a program does not start: the file $1 that it is given is not in its container',
    why: 'A flag names a path of the container. A ConfigMap that is not mounted, mounted elsewhere, or a path of the host is not there.',
    cure: 'Mount the file so that $1 exists in the container (a ConfigMap volume; with Docker -v HOST_FILE:$1), or correct the path in the arguments of the program',
    commands: ['kubectl exec POD -- ls -l $1'],
  },
  {
    id: 'model_folder_without_type',
    cause: 'program_ended',
    needles: ['Should have a `model_type` key in its config.json'],
    pattern: /Unrecognized model in (\S{1,200}?)\. Should have a `model_type` key/,
    says: 'an engine does not start: $1 is no folder of a model of Hugging Face (its config.json has no model_type)',
    why: 'A folder that was converted for TensorRT-LLM or quantized by a tool has a config.json of another form, and one whose download was cut short has none of its own.',
    cure: 'Give the engine the folder of the original model, or of its quantized form as the hub has it (config.json with model_type, tokenizer and safetensors); an engine of trtllm-build is served with trtllm-serve FOLDER --backend tensorrt --tokenizer MODEL',
    commands: ['kubectl exec POD -- sh -c "ls -l $1; grep model_type $1/config.json"'],
  },
];
