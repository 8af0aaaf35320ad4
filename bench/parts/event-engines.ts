/**
 * Many engines in one process, each with a publisher of its own on real
 * ZeroMQ sockets: batches in vLLM's form, of one chain of blocks that grows and
 * is evicted from its end once the cache is full.
 */
import { encode } from '@msgpack/msgpack';
import { KvPublisher } from '../../src/tools/demo/engines/kv-publisher.js';
import { servePart } from '../support/part.js';
import { atRate } from '../support/steady-rate.js';

interface Engine {
  readonly publisher: KvPublisher;
  readonly number: number;
  /** Engine hashes of what it holds, oldest first. */
  readonly held: number[];
  batches: number;
  blocks: number;
}

export interface EngineLoad {
  readonly count: number;
  readonly blocksPerBatch: number;
  readonly tokensPerBlock: number;
  /** Blocks that fit; the oldest go when there are more. */
  readonly capacityBlocks: number;
}

const engines: Engine[] = [];
let load: EngineLoad;
let stop = (): void => {};

/** One batch: the oldest go when the cache is full, then a prompt of its own is stored. */
function nextBatch(engine: Engine): Uint8Array {
  const { blocksPerBatch, tokensPerBlock, capacityBlocks } = load;
  const gone = engine.held.splice(0, Math.max(0, engine.held.length + blocksPerBatch - capacityBlocks));
  const hashes = Array.from({ length: blocksPerBatch }, () => {
    engine.blocks += 1;
    return engine.blocks;
  });
  engine.held.push(...hashes);
  const events: unknown[] = gone.map((hash) => ({
    type: 'BlockRemoved',
    block_hashes: [hash],
    medium: 'GPU',
    group_idx: 0,
  }));
  // No two prompts begin alike: which engine, which prompt of it, then anything.
  const begin = [engine.number, engine.blocks];
  events.push({
    type: 'BlockStored',
    block_hashes: hashes,
    parent_block_hash: null,
    token_ids: Array.from({ length: blocksPerBatch * tokensPerBlock }, (_, at) => begin[at] ?? at),
    block_size: tokensPerBlock,
    lora_id: null,
    medium: 'GPU',
    lora_name: null,
    extra_keys: null,
    group_idx: 0,
    kv_cache_spec_kind: 'full_attention',
  });
  return encode([Date.now() / 1_000, events, 0]);
}

function publish(engine: Engine, payload: Uint8Array = nextBatch(engine)): void {
  engine.batches += 1;
  engine.publisher.publish(payload);
}

servePart({
  /** Opens the publishers; their endpoints. */
  async open(wanted: EngineLoad) {
    load = wanted;
    for (let number = 0; number < wanted.count; number += 1) {
      // Nobody asks for a replay, and ten minutes of batches would fill the memory.
      const publisher = await KvPublisher.open({ bufferSteps: 1 });
      engines.push({ publisher, number, held: [], batches: 0, blocks: 0 });
    }
    return engines.map(({ publisher }) => `tcp://127.0.0.1:${publisher.ports.live}`);
  },
  /** Each engine publishes `perSecond` batches, spread evenly over time, until `stop`. */
  run({ perSecond }: { perSecond: number }) {
    stop = atRate(perSecond * engines.length, (turn) => publish(engines[turn % engines.length] as Engine));
  },
  stop: () => stop(),
  /** One engine loses its whole cache. */
  clear({ number }: { number: number }) {
    const engine = engines[number] as Engine;
    engine.held.length = 0;
    publish(engine, encode([Date.now() / 1_000, [{ type: 'AllBlocksCleared' }], 0]));
  },
  /** What each holds, in blocks; and how many batches it has published. */
  state: () => engines.map(({ held, batches }) => ({ blocks: held.length, batches })),
});
