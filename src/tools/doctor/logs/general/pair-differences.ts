import type { Fault } from './fault-classes.js';

const HERE = /\b(?:local|here|decode|consumer|decoder)\b|\bD=/i;
const THERE = /\b(?:remote|peer|prefill|producer|prefiller)\b|\bP=/i;
/** Both in one word: "needs a KV head layout on both sides", "P/D LIC8 config mismatch". */
const BOTH =
  /\bon both sides\b|\bP\/D (?:\w{1,20} ){0,2}(?:geometry|config|layout|mismatch)|\bNIXL cache-group layouts\b|\bpeer runs an older\b/;
/** Sentences that rules of their own read. */
const READ_ELSEWHERE =
  /compatibility hash|(?:prefill|decode) server has|\b(?:KV|block) group count mismatch: local|divisible by (?:remote|local) (?:tensor|block)|two sides must run|mismatch (?:for layer|from) |layouts? (?:mismatch(?! for \S{1,120} P=)|differ)|peers disagree|page count mismatch|attention TP|attn TP/;
const DIFFERENCE =
  /\b(?:mismatch(?:ed)?|must match|do(?:es)? not match|not divisible by|must be a multiple|(?:to be )?a multiple of the other|differs?|different|disagree|cannot be (?:smaller|larger) than|must (?:run|use|have) the same|(?:requires?|needs) (?:equal|identical|the same|matching)|older vLLM)\b|\bhere and \S{1,60} on the peer\b|\brequires local TP >= remote TP\b|\bneeds a KV head layout on both sides\b/i;
/** What a pair of engines must share, by the words of an error, the particular before the general. */
const FIELDS: readonly (readonly [field: string, pattern: RegExp])[] = [
  ['version', /\bolder vLLM\b/],
  ['block size', /\bblock[_ ](?:size|len(?:gth)?)\b|\btokens per block\b/i],
  ['page size', /\bpage[_ ](?:size|count)\b/i],
  ['KV cache dtype', /\b(?:kv[_ ]?)?cache[_ ]dtype\b/i],
  ['dtype', /\bdtypes?\b/i],
  ['tensor parallel size', /\b(?:tensor[_ ]parallel(?:ism)?|tp[_ ]?size|attn[_ ]tp|attention TP|TP)\b/i],
  [
    'KV cache layout',
    /\b(?:layouts?|regions?|layers?|groups?|kv heads?|num_blocks|geometry|(?:mamba|conv) (?:states?|slots?)|slot counts?|indexer|LIC8|block counts?)\b/i,
  ],
];

/** The field in which an error says that a prefill and a decode engine differ. */
export function pairFaultOf(sentence: string): Fault | undefined {
  const isPair =
    (HERE.test(sentence) && THERE.test(sentence)) ||
    BOTH.test(sentence) ||
    sentence.startsWith('MoRIIO KV cache ');
  if (!isPair || !DIFFERENCE.test(sentence) || READ_ELSEWHERE.test(sentence)) return undefined;
  const field = FIELDS.find(([, pattern]) => pattern.test(sentence))?.[0];
  return field === undefined ? undefined : { signal: 'transfer_refused', value: field };
}
