import { digitsBehind, numberOf } from '../../../../engines/diagnosis/log-fields.js';
import type { RoomFacts } from '../../../../engines/diagnosis/log-findings.js';
import { type LogRule, rule } from '../../../../engines/diagnosis/log-rule.js';
import { SIGN_VALUES } from '../../../../engines/diagnosis/sign-values.js';
import type { Fault } from './fault-classes.js';
import { askedAndFree, heldByOthers } from './gpu-memory.js';
import { ROOM } from './room-faults.js';

/** Lines that belong to a lack of room: its numbers, and what an engine did before it. */
export const ROOM_RULES: readonly LogRule[] = [
  // SGLang, behind "Prefill out of memory. Try to lower your batch size.": "Try to allocate 4096 tokens.".
  rule('Try to allocate ', (line, found) => {
    const needed = numberOf(/Try to allocate (\d{1,12}) tokens/.exec(line.text)?.[1]);
    if (needed !== undefined) found.addRoomFacts(line, { needed });
  }),
  rule('Decode out of memory', (line, found) => found.addRoomFacts(line, { isDecode: true })),
  // "Available full tokens: 320512 (full_available_size=192 + full_evictable_size_=320320)", "Available tokens: 3 (available_size=3 + evictable_size=0)";
  // "Available swa: 330496 (available_size=4864 + component_evictable_size_=325632)", "Available swa tokens: …". Before 0.4.6: "Avaliable tokens: 12".
  rule('available_size=', (line, found) => {
    const [, ofWindow, free, evictable] =
      /Available (swa)?[\w ]{0,20}: \d{1,12} \(\w{0,20}available_size=(\d{1,12}) \+ \w{0,30}evictable_size_?=(\d{1,12})\)/.exec(
        line.text,
      ) ?? [];
    if (free === undefined) return;
    found.addRoomFacts(
      line,
      ofWindow === undefined
        ? { free: Number(free), evictable: Number(evictable) }
        : { windowFree: Number(free), windowEvictable: Number(evictable) },
    );
  }),
  rule('Avaliable tokens: ', (line, found) =>
    found.addRoomFacts(line, { free: numberOf(digitsBehind(line.text, 'Avaliable tokens: ')) }),
  ),
  // TensorRT-LLM, behind "Executor creation failed due to insufficient GPU memory.".
  rule('component could not be created: ', (line, found) => {
    const component = /component could not be created: ([^\n]{1,80})/.exec(line.text)?.[1]?.trim();
    found.addRoomFacts(line, { component });
  }),
  rule('Total GPU memory (GiB): ', (line, found) =>
    found.addRoomFacts(line, { totalGib: /Total GPU memory \(GiB\): ([\d.]{1,12})/.exec(line.text)?.[1] }),
  ),
  rule('component creation attempt (GiB): ', (line, found) =>
    found.addRoomFacts(line, { freeGib: /attempt \(GiB\): ([\d.]{1,12})/.exec(line.text)?.[1] }),
  ),
  // vLLM, before it ends for want of room; with a positive number they are lines of each start.
  nothingLeft('Available KV cache memory: -', /Available KV cache memory: (-[\d.]{1,12})/),
  // Its V0: "… the rest of the memory reserved for KV Cache is -1.05GiB.", "# cuda blocks: 0, # CPU blocks: 4681".
  nothingLeft('reserved for KV Cache is -', /reserved for KV Cache is (-[\d.]{1,12})/),
  nothingLeft(' blocks: 0, # CPU blocks: ', /# \w{1,10} blocks: 0, # CPU blocks: /),
  // What a terminal has put into a line of its own: "… the available KV cache memory (4.25 GiB). …", "the estimated maximum model length is 99520."
  rule('estimated maximum model length is ', (line, found) =>
    found.addRoomFacts(line, {
      fittingTokens: digitsBehind(line.text, 'estimated maximum model length is '),
    }),
  ),
  // vLLM 0.21 and later, with graphs: the estimate is taken off the cache.
  rule('Estimated CUDA graph memory: ', (line, found) =>
    found.addRoomFacts(line, {
      graphsGib: /CUDA graph memory: ([\d.]{1,12}) GiB total/.exec(line.text)?.[1],
    }),
  ),
  // vLLM: "… because `--kv-transfer-config` is set", "… because connector LMCacheConnectorV1 does not subclass `SupportsHMA`"; harmless where the cache has room.
  rule('Turning off hybrid kv cache manager because', (line, found) => {
    const connector = /because connector (\w{1,80}) does not/.exec(line.text)?.[1];
    const hybridOffBy = line.text.includes('kv-events-config')
      ? SIGN_VALUES.kvEvents
      : line.text.includes('kv-transfer-config') || connector !== undefined
        ? `the KV connector${connector === undefined ? '' : ` ${connector}`}`
        : undefined;
    found.addRoomFacts(line, { hybridOffBy });
  }),
  ...['device_config=cpu', 'VLLM_CPU_KVCACHE_SPACE'].map((needle) =>
    rule(needle, (line, found) => found.addRoomFacts(line, { isOnCpu: true })),
  ),
  // V0, where a terminal has cut the number off: "3984). Try increasing `gpu_memory_utilization` or …".
  rule('). Try increasing `gpu_memory_utilization`', (line, found) =>
    found.addRoomFacts(line, {
      fittingTokens: /(?:^|\D)(\d{1,9})\)\. Try increasing/.exec(line.text)?.[1],
    }),
  ),
  // Places of a traceback of vLLM and what builds on it.
  taking(', in load_model', 'weights'),
  taking(', in capture_model', 'graphs'),
  taking(', in _allocate_kv_cache', 'cache'),
  taking(', in initialize_kv_cache', 'cache'),
];

/** What is less than nothing of the cache, in GiB, where the line has it. */
function nothingLeft(needle: string, pattern: RegExp): LogRule {
  return rule(needle, (line, found) => {
    const match = pattern.exec(line.text);
    if (match === null) return;
    const about = needle.trim().replace(/:? ?-?$/, '');
    found.addSignal('cache_memory_missing', line, { value: ROOM.nothing, about });
    found.addRoomFacts(line, { missingGib: match[1] });
  });
}

function taking(needle: string, what: RoomFacts['taking']): LogRule {
  return rule(needle, (line, found) => {
    if (line.text.includes('.py", line ')) found.addRoomFacts(line, { taking: what });
  });
}

const TAKEN = { graphs: ROOM.graphs, cache: ROOM.cacheItself, weights: ROOM.weights };

/** What an error of memory is of a cache's size, by what the engine took the memory for; undefined where it is not. */
export function roomTakenIn(sentence: string, taken: RoomFacts['taking']): Fault | undefined {
  if (taken === undefined) return undefined;
  // Weights that others leave no room are no larger than the GPU.
  if (taken === 'weights' && heldByOthers(sentence) !== undefined) return undefined;
  const fault = TAKEN[taken];
  const numbers = askedAndFree(sentence);
  return {
    signal: 'cache_memory_missing',
    value: numbers === undefined ? fault : `${fault} (${numbers})`,
  };
}
