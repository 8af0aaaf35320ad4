import type { EngineWord } from '../../../core/contract/wire/engine-kinds.js';
import { countOf } from '../../../core/text/lists.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Remark } from './remark.js';

/** The longest sequence in the setting of each engine. */
const SETTINGS: Readonly<Partial<Record<EngineWord, string>>> = {
  vllm: '--max-model-len',
  sglang: '--context-length',
  trtllm: '--max_seq_len (max_num_tokens where a line names it, or enable_chunked_prefill: true)',
};

/** What gives each engine a chat template. */
const TEMPLATES: Readonly<Partial<Record<EngineWord, string>>> = {
  trtllm: '--chat_template',
};

/** What gives the KV cache of each engine more room. */
const ROOM: Readonly<Partial<Record<EngineWord, string>>> = {
  vllm: '--gpu-memory-utilization, --kv-cache-dtype fp8',
  sglang: '--mem-fraction-static, --kv-cache-dtype fp8_e4m3',
  trtllm: 'free_gpu_memory_fraction, dtype: fp8',
};

/** Requests that engines refused for their length, for the model that they ask for, or because they are chats. Undefined where none was refused. They are clients' and no fault of the fleet. */
export function refusedRequestsIn(measurements: Measurements): Remark | undefined {
  return tooLongIn(measurements) ?? otherModelIn(measurements) ?? chatsIn(measurements);
}

function tooLongIn({ signal, seen }: Measurements): Remark | undefined {
  const refused = signal('request_too_long');
  if (refused === undefined) return undefined;
  const why = `an engine refused requests that are longer than it takes (${[...refused.values.keys()].join(', ')} tokens)`;
  const [engine] = seen.engines;
  const word = seen.engines.length === 1 ? engine?.word : undefined;
  const setting =
    (word && SETTINGS[word]) ||
    'the longest sequence of the engine (--max-model-len of vLLM, --context-length of SGLang)';
  const room = (word && ROOM[word]) ?? '--gpu-memory-utilization of vLLM, --mem-fraction-static of SGLang';
  return {
    headline: `Nothing wrong was seen with caches and routing: ${why}`,
    says: `Whether clients can do with what the engine takes: ${why} (${countOf(refused.count, 'line')}, the first at ${refused.first.place}).`,
    ask: `Have clients send shorter prompts or ask for fewer tokens, or raise ${setting} as far as the model allows; where the KV cache holds no more, give it room first (${room}, more GPUs)`,
  };
}

function otherModelIn({ signal }: Measurements): Remark | undefined {
  const refused = signal('model_not_served');
  if (refused === undefined) return undefined;
  const names = [...refused.values.keys()];
  const why = `an engine refused requests for a model that it does not serve (${names.join(', ')})`;
  return {
    headline: `Nothing wrong was seen with caches and routing: ${why}`,
    says: `Whether clients get what they ask for: ${why} (${countOf(refused.count, 'line')}, the first at ${refused.first.place}).`,
    ask: `Have clients ask for a name that the engine serves (curl http://ENGINE:PORT/v1/models shows them), or give it this one too: --served-model-name NAME ${names[0] ?? ''}; behind an endpoint picker an InferenceModelRewrite changes the name`,
  };
}

function chatsIn({ signal, seen }: Measurements): Remark | undefined {
  const refused = signal('chat_template_missing');
  if (refused === undefined) return undefined;
  const why = 'an engine refused chats, as its model has no chat template';
  const [engine] = seen.engines;
  const option = `${(engine && TEMPLATES[engine.word]) ?? '--chat-template'} FILE.jinja`;
  return {
    headline: `Nothing wrong was seen with caches and routing: ${why}`,
    says: `Whether clients get what they ask for: ${why} (${countOf(refused.count, 'line')}, the first at ${refused.first.place}).`,
    ask: `Have clients send /v1/completions, serve the instruct variant of the model, or give the engine a template: ${option} (base models have none; that of the original is in tokenizer_config.json or chat_template.jinja)`,
  };
}
