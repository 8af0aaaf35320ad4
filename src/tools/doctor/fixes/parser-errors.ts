import type { RefusedKey } from '../logs/general/parser-errors.js';

const PLACES: Readonly<Record<RefusedKey['place'], string>> = {
  argument: 'in the arguments of the program (kubectl edit)',
  file: 'in the configuration of the program',
  object: 'in the object',
  values: 'in the values of the chart (helm upgrade -f values.yaml)',
};

/** Classes of settings of vLLM and SGLang, each of whose fields is a flag. */
const OF_FLAGS =
  /^(?:(?:Async)?EngineArgs|ServerArgs|(?:Cache|Model|Parallel|Scheduler|Load|LoRA|MultiModal|Device|Observability)Config)$/;
/** Those that a flag has as JSON. */
const IN_FLAGS: Readonly<Record<string, string>> = {
  KVTransferConfig: '--kv-transfer-config',
  KVEventsConfig: '--kv-events-config',
  SpeculativeConfig: '--speculative-config',
  CompilationConfig: '--compilation-config',
  ECTransferConfig: '--ec-transfer-config',
  AttentionConfig: '--attention-config',
};
/** Fields of vLLM's classes whose flags have another name. */
const FLAG_NAMES: Readonly<Record<string, string>> = {
  cache_dtype: '--kv-cache-dtype',
  data_parallel_master_ip: '--data-parallel-address',
  policy: '--scheduling-policy',
};
/** What TensorRT-LLM reads of its YAML. */
const OF_ENGINE_FILE =
  /^(?:Torch|Trt|Base)?(?:Llm|LLM)Args$|^(?:KvCache|CacheTransceiver|Scheduler|CudaGraph)Config$/;

/** What parsers of Go say of a value, as the kind of value that they take. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/ParseInt|ParseUint|Atoi/, 'a whole number'],
  [/ParseFloat/, 'a number'],
  [/ParseBool/, 'true or false'],
  [/invalid duration|ParseDuration/, 'a time such as 30s'],
];

/** What to do about one setting that is refused, by its name and what the sentence wants of it. */
export function repairRefusedKey(refused: RefusedKey): string {
  const { problem, given, other } = refused;
  const [name, where] = placeOf(refused);
  const wanted = wantedOf(refused);
  const now = given === undefined || given === '' ? '' : ` in place of ${given}`;
  const follow = /(?:^|[-_.])(?:block|page)[-_]size\b|tokens_per_block/.test(name)
    ? '; router and pair must follow'
    : '';
  switch (problem) {
    case 'unknown':
      if (other !== undefined) return `Write ${other} in place of ${name}, ${where}`;
      return refused.place === 'argument'
        ? `Start the program without ${name} (kubectl edit), or write it as --help has it; where it is of another version, run that version`
        : `Take ${name} out of ${where.slice('in '.length)}, or write it as this version has it${wanted === undefined ? '' : ` (${wanted})`}`;
    case 'invalid':
      return wanted === undefined
        ? `Set ${name} to a value that the program takes${now}, ${where}${follow}`
        : `Set ${name} to what it takes (${wanted})${now}, ${where}${follow}`;
    case 'missing':
      return name === ''
        ? `Give the program the arguments that the lines below list, ${where}`
        : `Set ${name} ${where}: it has no default`;
    case 'conflict':
      if (other !== undefined) return `Start the program without ${name}, or without ${other} (kubectl edit)`;
      return `Take ${name} out of ${where.slice('in '.length)}${wanted === undefined ? ', or the setting that it does not go with' : `: ${wanted}`}`;
  }
}

/** A setting as its operator writes it, and where. */
function placeOf({ key, of, place }: RefusedKey): readonly [name: string, where: string] {
  if (place === 'values') return [key.replace(/^\//, '').replaceAll('/', '.'), PLACES.values];
  if (of === undefined || place === 'argument') return [key, PLACES[place]];
  if (place === 'file' && OF_FLAGS.test(of))
    return [FLAG_NAMES[key] ?? `--${key.replaceAll('_', '-')}`, PLACES.argument];
  const flag = IN_FLAGS[of];
  if (flag !== undefined) return [`"${key}"`, `in the JSON of ${flag} (kubectl edit)`];
  return [
    key,
    OF_ENGINE_FILE.test(of) ? 'in the engine file (--extra_llm_api_options, --config)' : `in ${of}`,
  ];
}

function wantedOf({ key, wanted }: RefusedKey): string | undefined {
  if (wanted === undefined || /^parse error$/.test(wanted)) return undefined;
  const kind = KINDS.find(([pattern]) => pattern.test(wanted))?.[1];
  const plain = wanted.startsWith(`${key} `) ? wanted.slice(key.length + 1) : wanted;
  const text = (kind ?? plain).replace(/^in body /, '').replace(/[.\s]+$/, '');
  return text.length <= 120 ? text : `${text.slice(0, 119)}…`;
}
