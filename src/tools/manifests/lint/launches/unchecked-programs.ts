import type { Word } from '../shell/words.js';

/** Commands of inference servers and routers that no rule knows, by the name of their file. */
const COMMANDS: Readonly<Record<string, string>> = {
  'text-generation-launcher': 'text-generation-inference',
  'text-generation-server': 'text-generation-inference',
  tritonserver: 'Triton',
  'llama-server': 'llama.cpp',
  ollama: 'Ollama',
  lmdeploy: 'LMDeploy',
  mlc_llm: 'MLC LLM',
  'mistralrs-server': 'mistral.rs',
  aphrodite: 'Aphrodite',
  mindieservice_daemon: 'MindIE',
  xinference: 'Xinference',
  'xinference-local': 'Xinference',
  litellm: 'LiteLLM',
  mooncake_master: 'Mooncake master',
  lmcache_server: 'LMCache server',
  lmcache_controller: 'LMCache controller',
  'vllm-router': 'vllm-router',
  'vllm-rs': 'vllm-rs',
  tt_media_server_cpp: 'Tenstorrent media server',
  // Dynamo's workers beside an engine of their pod (from 1.3 on).
  'dynamo-openengine-sidecar': 'dynamo-openengine-sidecar',
  'dynamo-vllm-sidecar': 'dynamo-vllm-sidecar',
  'dynamo-sglang-sidecar': 'dynamo-sglang-sidecar',
  'dynamo-trtllm-sidecar': 'dynamo-trtllm-sidecar',
};

/** The same for `python3 -m`. */
const MODULES: Readonly<Record<string, string>> = {
  huggingfaceserver: 'KServe huggingfaceserver',
  mlc_llm: 'MLC LLM',
  lmdeploy: 'LMDeploy',
  'lightllm.server.api_server': 'LightLLM',
  'fastchat.serve.vllm_worker': 'FastChat',
  'rtp_llm.start_server': 'RTP-LLM',
  'lmcache.v1.api_server': 'LMCache controller',
  'dynamo.global_router': 'dynamo.global_router',
  'atom.entrypoints.openai_server': 'ATOM',
  'vllm_router.app': 'production-stack router',
};

/** SGLang's own router between prefill and decode (`mini_lb`, `launch_lb` up to 0.5), also in its port to JAX: it takes any of each. */
const MINI_LB = /^sg(?:lang|l_jax)\.srt\.disaggregation\.(?:mini_lb|launch_lb)$/;

/** Commands by which Dynamo was started up to 0.3. */
const OLD_DYNAMO = /^dynamo (?:run|serve)$/;

/** Images of such programs, by their path without registry and tag. */
const IMAGES: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\/)text-generation-inference$/, 'text-generation-inference'],
  [/(?:^|\/)tritonserver$/, 'Triton'],
  [/(?:^|\/)llama\.cpp$/, 'llama.cpp'],
  [/(?:^|\/)ollama$/, 'Ollama'],
  [/(?:^|\/)lmdeploy$/, 'LMDeploy'],
  [/(?:^|\/)huggingfaceserver$/, 'KServe huggingfaceserver'],
  [/(?:^|\/)nim\//, 'NIM'],
  [/(?:^|\/)lightllm$/, 'LightLLM'],
  [/(?:^|\/)rocm\/atom$/, 'ATOM'],
  [/(?:^|\/)rtp[-_]llm(?:[-_]\w+)?$/, 'RTP-LLM'],
  [/(?:^|\/)mindie$/, 'MindIE'],
  [/(?:^|\/)litellm(?:-database)?$/, 'LiteLLM'],
  [/(?:^|\/)llm-d-inference-sim$/, 'llm-d inference simulator'],
  [/(?:^|\/)ray-llm$/, 'Ray Serve LLM'],
  [/(?:^|\/)aibrix\/gateway-plugins$/, 'AIBrix gateway'],
  [/(?:^|\/)(?:lmstack-router|production-stack\/router|vllm-router)$/, 'production-stack router'],
  [/(?:^|\/)llm-d-(?:inference-scheduler|router-endpoint-picker)$/, 'llm-d endpoint picker'],
  [/(?:^|\/)gateway-api-inference-extension\/epp$/, 'endpoint picker'],
  [/(?:^|\/)(?:sgl-router|sglang-router|sgl-model-gateway|smg)$/, 'SGLang gateway'],
];

/** Images of engines whose command decides what runs. */
const ENGINE_IMAGES: readonly (readonly [RegExp, string])[] = [
  [
    /(?:^|\/)(?:vllm-openai|vllm-cpu[\w-]*|vllm-[\w-]*rocm|vllm-tpu|vllm|vllm-ascend|llm-d(?:-\w+)?)$/,
    'vLLM',
  ],
  [/(?:^|\/)(?:sglang|sglang-\w+)$/, 'SGLang'],
  [/(?:^|\/)tensorrt-llm\/release$/, 'TensorRT-LLM'],
  [/(?:^|\/)(?:vllm|sglang|tensorrtllm|trtllm)-runtime$/, 'Dynamo'],
];

/** Programs that only look, wait, load or measure: their image serves nothing there. */
const HELPERS = /^(?:sleep|tail|python3?|curl|wget|hf|huggingface-cli|git|cp|echo|true|cat|tini|pip3?|nc)$/;

/** A program that serves, and why nothing is compared with it. */
export interface UncheckedProgram {
  readonly program: string;
  readonly reason: string;
  /** Whether it is a router that looks at no blocks: the workers beside it have their router. */
  readonly isGuessing?: boolean;
}

/** Said of a program whose command is not known. */
export const NOT_HERE = 'its command is not in these files';

/** Said of a program that serves, and that no rule knows. */
export const NO_RULE = 'no rule knows it';

/** What a command line starts that no rule knows; undefined for every other command. */
export function uncheckedCommand(words: readonly Word[]): UncheckedProgram | undefined {
  // Of a program in a folder that is known only at run time its name is known.
  const values = words.map(
    ({ value, known }) => value ?? (known?.suffix.includes('/') === true ? known.suffix : ''),
  );
  const [first = '', second = ''] = values.filter(
    (value) => !/^(?:exec|env|sudo|nohup|setsid|\w+=.*|)$/.test(value),
  );
  const name = first.split('/').at(-1) ?? '';
  const module =
    /^python(?:3(?:\.\d+)?)?$/.test(name) && second === '-m' ? values[values.indexOf('-m') + 1] : undefined;
  if (module !== undefined && MINI_LB.test(module))
    return { program: 'SGLang mini_lb', reason: 'it looks at no blocks', isGuessing: true };
  const program = OLD_DYNAMO.test(`${name} ${second}`)
    ? `${name} ${second}`
    : module !== undefined && Object.hasOwn(MODULES, module)
      ? MODULES[module]
      : Object.hasOwn(COMMANDS, name)
        ? COMMANDS[name]
        : undefined;
  return program === undefined ? undefined : { program, reason: NO_RULE };
}

/**
 * What a container serves by its image, where its command shows no program that is
 * known. `words` is that command; undefined when a script of the manifest was read instead.
 */
export function uncheckedImage(
  image: string | undefined,
  words: readonly Word[] | undefined,
): UncheckedProgram | undefined {
  const path = image?.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
  if (path === undefined) return undefined;
  const other = IMAGES.find(([pattern]) => pattern.test(path))?.[1];
  if (other !== undefined) return { program: other, reason: NO_RULE };
  const engine = ENGINE_IMAGES.find(([pattern]) => pattern.test(path))?.[1];
  const [first] = words ?? [];
  const name = first?.value?.split('/').at(-1) ?? '';
  const isHelper = words === undefined || HELPERS.test(name) || words.some(({ value }) => value === 'bench');
  return engine === undefined || isHelper ? undefined : { program: `${engine} image`, reason: NOT_HERE };
}
