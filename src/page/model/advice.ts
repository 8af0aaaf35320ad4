/** What each state of a worker means, and what to do about it, for the reader who sees the word for the first time. */
export const STATE_ADVICE: Readonly<Record<string, { readonly means: string; readonly todo: string }>> = {
  ejected: {
    means: 'Its last requests failed, so that others get them for a while. It is tried again by itself.',
    todo: 'Read the log of its engine; the reason says what its last requests met.',
  },
  dissenting: {
    means: 'It reports another value than its model agreed on, and gets no requests.',
    todo: 'Restart its engine with the setting that the reason names, or restart the others with its value.',
  },
  incomplete: {
    means: 'Its sidecar cannot read what the agreement needs from its engine.',
    todo: 'Open the worker: "Sources asked" lists what did not answer. Check that the engine is up.',
  },
  lost: {
    means: 'Its sidecar does not answer any more; its last report counts for a while.',
    todo: 'Check that its pod runs, and that the address can be reached from here.',
  },
  discovered: {
    means: 'Discovery lists it, and no report has come from it.',
    todo: 'Check that a sidecar runs beside its engine and serves gRPC at the address.',
  },
  draining: { means: 'It is leaving in order and gets no new requests.', todo: '' },
  reported: {
    means: 'It has reported; its model has not agreed yet.',
    todo: 'See why the gate of its model is shut.',
  },
  conforming: { means: 'It reports what its model agreed on.', todo: '' },
  verified: {
    means: 'It reports what its model agreed on, and its KV events prove the block size.',
    todo: '',
  },
};

/** Why cached tokens were not used, and what to do where there is something to do. */
export const LOST_ADVICE: Readonly<Record<string, string>> = {
  load: 'The best holder was busier than the rest. If this is most of what is lost, add workers or raise --kv-overlap-score-weight.',
  temperature: '--router-temperature spreads requests over other workers as well; 0 takes the cheapest.',
  draining: 'The best holder is leaving and gets nothing new; it passes.',
  lora: 'The best holder does not have the LoRA adapter that was asked for; load it there.',
  ejected: 'The best holder is ejected because its requests failed; see the timeline and its log.',
  retried: 'The best holder had failed with this request before, or the caller excluded it.',
  doubted: 'Results contradict the cache view of the best holder; open that worker.',
  evicted:
    'The blocks were evicted before the engine admitted the request: its cache is too small for the load.',
  lower_tier: 'The blocks lay in host, disk or external memory, and the engine did not read them from there.',
  contradicted: 'The engine did not have the blocks, for no known reason; see the results of that worker.',
  unknown_tokens:
    'The tokens of the prompt were not known, so that no holder was looked for; check the tokenizer.',
};
