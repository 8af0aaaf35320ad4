/** What a KV block is and what goes wrong, for a reader who has never heard of either. */
export const INTRODUCTION: readonly string[] = [
  'While a language model reads a prompt it computes something for every token that it needs again for the next ' +
    'answer; an engine keeps that in blocks of a fixed number of tokens, the KV blocks. A router that knows which ' +
    'worker already holds which blocks sends a conversation back to where it was, and the answer starts immediately. But ' +
    'if the router uses a block size of 16 and a worker 32, no block is ever found again: nothing fails, ' +
    'nothing is logged, and every answer is slow.',
  'kv-accord reads the size from the running engines, keeps the gate to the router shut until all agree, and then ' +
    'proves it by the blocks that they really store. The engines here are simulated and answer as real ones do; sidecars, aggregator and frontend are the real ones. Lines with a ' +
    'time in front are their own logs and the state of the gate; ✓ marks what went as expected.',
];
