import { setTimeout as sleep } from 'node:timers/promises';
import { decode } from '@msgpack/msgpack';
import { createXXHash3, type IHasher } from 'hash-wasm';
import { Dealer, Subscriber } from 'zeromq';
import { until } from './until.js';

/** What a block depends on besides the tokens up to its end; empty when it does not. */
interface Namespace {
  readonly adapter: string;
  readonly salt: string;
}

/** A block that an engine holds, by its own account. */
export interface HeldBlock {
  /** The engine's own hash of the block before; undefined for the first of a prompt. */
  readonly parent: string | undefined;
  readonly tokens: readonly number[];
  readonly namespace: Namespace;
  /** What everybody else calls the block; see `kv_events.proto`. */
  readonly sequenceHash: bigint;
}

/** What an engine holds, by its own account. */
export interface Truth {
  /** By the engine's own hash. */
  readonly blocks: ReadonlyMap<string, HeldBlock>;
  /** The same blocks, sorted. */
  readonly sequenceHashes: readonly bigint[];
  /** Widths that stores have shown. */
  readonly widths: readonly number[];
  /** Blocks that were removed one by one, over all. */
  readonly removed: number;
  /** Times that everything was cleared. */
  readonly cleared: number;
  /** The engine's number of its last batch; undefined before the first. */
  readonly lastSequence: bigint | undefined;
}

/** The fields of vLLM's and SGLang's events that matter here; both write them as maps. */
interface EngineEvent {
  readonly type: string;
  readonly block_hashes?: readonly EngineHash[];
  readonly parent_block_hash?: EngineHash | null;
  readonly token_ids?: readonly (number | bigint)[];
  readonly block_size?: number | bigint;
  /** Of all blocks of a store; SGLang says so. */
  readonly cache_salt?: string | null;
  readonly lora_name?: string | null;
  /** Of each block: vLLM puts the adapter in each, and then the salt in that of a prompt's first. */
  readonly extra_keys?: readonly (readonly string[] | null)[] | null;
}

/** vLLM's are unsigned integers, SGLang's signed ones. */
type EngineHash = number | bigint;

/** Where an engine publishes, and where it replays: by default on the next port. Both on the loopback. */
interface EventPorts {
  readonly zmq: number;
  readonly replay?: number;
}

/** One batch as it was published: its number, and the msgpack of its events. */
interface Batch {
  readonly sequence: bigint;
  readonly payload: Uint8Array;
}

const SEED = 1337n;
const ADAPTER_SEED = 0;
const SALT_SEED = 1;
const MASK_64 = (1n << 64n) - 1n;
const END_OF_REPLAY = MASK_64;
const SILENCE_MS = 5_000;
const QUIET_MS = 300;
const SUBSCRIBE_MS = 200;

/**
 * An observer of one engine that has nothing in common with the product: it
 * asks the engine's replay socket for all that was ever published, and plays it
 * on a plain map. So what an index holds can be compared, block by block, with
 * what the engine itself said.
 */
export class EngineTruth {
  readonly #zmqPort: number;
  readonly #replayPort: number;
  readonly #plain: IHasher;
  readonly #ofNamespaces = new Map<string, IHasher>();

  private constructor(ports: Required<EventPorts>, plain: IHasher) {
    this.#zmqPort = ports.zmq;
    this.#replayPort = ports.replay;
    this.#plain = plain;
  }

  static async of({ zmq, replay = zmq + 1 }: EventPorts): Promise<EngineTruth> {
    return new EngineTruth({ zmq, replay }, await hasherWith(SEED));
  }

  /** What it holds now, once it has been quiet for a moment. */
  async settled(): Promise<Truth> {
    let before: bigint | undefined;
    let batches: readonly Batch[] = [];
    await until(
      `the engine at ${this.#zmqPort} to be quiet`,
      async () => {
        batches = await this.#replay();
        const last = batches.at(-1)?.sequence ?? -1n;
        const isQuiet = last === before;
        before = last;
        return isQuiet;
      },
      { pollMs: QUIET_MS },
    );
    return this.#play(batches);
  }

  /** Subscribes, and returns the time of `performance.now()` at which the next batch is here. */
  async nextBatch(): Promise<{ readonly arrival: Promise<number> }> {
    const socket = new Subscriber({ linger: 0, receiveTimeout: 60_000 });
    const connected = new Promise<void>((resolve) => socket.events.on('handshake', () => resolve()));
    socket.subscribe();
    socket.connect(`tcp://127.0.0.1:${this.#zmqPort}`);
    await connected;
    // What is subscribed travels after the handshake, and nothing shows that it has arrived.
    await sleep(SUBSCRIBE_MS);
    const arrival = socket
      .receive()
      .then(() => performance.now())
      .finally(() => socket.close());
    return { arrival };
  }

  async #replay(): Promise<readonly Batch[]> {
    const socket = new Dealer({ linger: 0, receiveTimeout: SILENCE_MS });
    try {
      socket.connect(`tcp://127.0.0.1:${this.#replayPort}`);
      await socket.send([Buffer.alloc(0), Buffer.alloc(8)]);
      const batches: Batch[] = [];
      for (;;) {
        // An empty delimiter, a topic in vLLM's and SGLang's answers, the number, the events.
        const frames = await socket.receive();
        const payload = frames.at(-1) as Buffer;
        const sequence = (frames.at(-2) as Buffer).readBigUInt64BE();
        if (sequence === END_OF_REPLAY) return batches;
        batches.push({ sequence, payload });
      }
    } finally {
      socket.close();
    }
  }

  async #play(batches: readonly Batch[]): Promise<Truth> {
    const held = new Map<string, HeldBlock>();
    // Also of blocks that are gone: an engine may name one as a parent.
    const known = new Map<string, HeldBlock>();
    const widths = new Set<number>();
    let removed = 0;
    let cleared = 0;
    for (const { payload } of batches) {
      const [, events] = decode(payload, { useBigInt64: true }) as [unknown, EngineEvent[]];
      for (const event of events) {
        if (event.type === 'BlockStored') {
          await this.#store(event, known, held);
          widths.add(Number(event.block_size));
        } else if (event.type === 'BlockRemoved') {
          for (const hash of event.block_hashes ?? []) removed += held.delete(keyOf(hash)) ? 1 : 0;
        } else if (event.type === 'AllBlocksCleared') {
          held.clear();
          cleared += 1;
        } else {
          throw new Error(`an engine published ${event.type}`);
        }
      }
    }
    return {
      blocks: held,
      sequenceHashes: [...new Set([...held.values()].map((block) => block.sequenceHash))].sort(ascending),
      widths: [...widths],
      removed,
      cleared,
      lastSequence: batches.at(-1)?.sequence,
    };
  }

  async #store(
    event: EngineEvent,
    known: Map<string, HeldBlock>,
    held: Map<string, HeldBlock>,
  ): Promise<void> {
    const width = Number(event.block_size);
    const tokens = (event.token_ids ?? []).map(Number);
    let parent = event.parent_block_hash == null ? undefined : keyOf(event.parent_block_hash);
    for (const [i, hash] of (event.block_hashes ?? []).entries()) {
      const before = parent === undefined ? undefined : known.get(parent);
      if (parent !== undefined && before === undefined)
        throw new Error(`no store named the parent ${parent}`);
      const namespace = before?.namespace ?? namespaceOf(event, i);
      const own = tokens.slice(i * width, (i + 1) * width);
      const sequenceHash = await this.#chain(before?.sequenceHash, own, namespace);
      const block = { parent, tokens: own, namespace, sequenceHash };
      parent = keyOf(hash);
      known.set(parent, block);
      held.set(parent, block);
    }
  }

  async #chain(before: bigint | undefined, tokens: readonly number[], namespace: Namespace): Promise<bigint> {
    const block = digest(await this.#hasherOf(namespace), Buffer.from(new Uint32Array(tokens).buffer));
    if (before === undefined) return block;
    return digest(this.#plain, Buffer.from(new BigUint64Array([before, block]).buffer));
  }

  async #hasherOf({ adapter, salt }: Namespace): Promise<IHasher> {
    const name = JSON.stringify([adapter, salt]);
    const known = this.#ofNamespaces.get(name);
    if (known !== undefined) return known;
    let seed = SEED;
    if (adapter !== '') seed += digest(await createXXHash3(ADAPTER_SEED, 0), Buffer.from(adapter));
    if (salt !== '') seed += digest(await createXXHash3(SALT_SEED, 0), Buffer.from(salt));
    const made = await hasherWith(seed & MASK_64);
    this.#ofNamespaces.set(name, made);
    return made;
  }
}

function namespaceOf({ lora_name, cache_salt, extra_keys }: EngineEvent, block: number): Namespace {
  const adapter = lora_name ?? '';
  const keys = extra_keys?.[block] ?? [];
  return { adapter, salt: cache_salt ?? keys[adapter === '' ? 0 : 1] ?? '' };
}

function hasherWith(seed: bigint): Promise<IHasher> {
  return createXXHash3(Number(seed & 0xffff_ffffn), Number(seed >> 32n));
}

function digest(hasher: IHasher, bytes: Buffer): bigint {
  return BigInt(`0x${hasher.init().update(bytes).digest('hex')}`);
}

function keyOf(hash: EngineHash): string {
  return String(hash);
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
