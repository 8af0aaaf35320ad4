/** What a played fleet does, and what is wrong with it. */
export interface PlayedFleetOptions {
  /** Block size of the frontend's router, in tokens, default 32. */
  readonly routerTokens?: number;
  /** Block size of the engines, in tokens, default 32. */
  readonly engineTokens?: number;
  /** Those that a worker's publisher wants; blocks of another size leave it empty. Default the engine's. */
  readonly publisherTokens?: number;
  readonly conversations?: number;
  readonly turns?: number;
  /** How often as many new conversations begin when all have ended, default 1. */
  readonly generations?: number;
  /** By which each turn is longer than the one before. */
  readonly tokensPerTurn?: number;
  /** Blocks that an engine keeps, default more than all prompts need. */
  readonly blocks?: number;
  /** Whether turns begin with all that was before; default true. */
  readonly hasCommonPrefixes?: boolean;
  /** Whether events arrive at the router; default true. */
  readonly isReachable?: boolean;
  /** Whether engines publish anything; default true. */
  readonly publishes?: boolean;
  /** Of so many events one is lost. */
  readonly losesEvery?: number;
  /** Whether the router gets lost events from the worker's own index; default false. */
  readonly recovers?: boolean;
  /** The turn, of all generations, before which no events reached the router; default 0. */
  readonly routerBeginsAtTurn?: number;
  /** Whether events name blocks as requests do; false with an adapter that has two names. */
  readonly hasOneNamespace?: boolean;
  /** Whether the frontend goes by hits at all; default true. */
  readonly routesByHits?: boolean;
}

/** What an operator has of such a fleet. */
export interface PlayedFleet {
  readonly frontendLog: string;
  readonly frontendPage: string;
  readonly workerLogs: readonly string[];
  readonly workerPages: readonly string[];
  /** Shares that the play itself knows, to hold answers against. */
  readonly truth: {
    readonly routerHitRate: number;
    readonly engineHitRate: number;
    readonly evicted: number;
  };
}

interface StoreEvent {
  readonly parent: string | undefined;
  readonly keys: readonly string[];
}

const WORKER_IDS = ['4628188529032323627', '4229680119714820348'];
const START_MS = Date.UTC(2026, 10, 21, 1, 39, 20);
const REQUEST_MS = 1_000;

/**
 * Plays a frontend of Dynamo and two workers without time or sockets: engines that keep the blocks of prompts and drop
 * the oldest, publishers that convert what engines publish, a router that indexes what arrives and goes by it. What it
 * writes has the form of what Dynamo 1.6.1 writes, as recorded.
 */
export function playDynamo(options: PlayedFleetOptions = {}): PlayedFleet {
  return new Play(options).run();
}

class Play {
  readonly #options: Required<PlayedFleetOptions>;
  readonly #workers: readonly PlayedWorker[];
  readonly #log: string[] = [];
  readonly #counts = { stored: 0, parentMissing: 0, removed: 0, removeMissing: 0 };
  readonly #hits = { believed: 0, cached: 0, prompts: 0, requests: 0 };
  #nowMs = START_MS;
  #events = 0;
  #isListening = true;

  constructor(options: PlayedFleetOptions) {
    const { engineTokens = 32 } = options;
    this.#options = {
      routerTokens: 32,
      engineTokens,
      publisherTokens: engineTokens,
      conversations: 12,
      turns: 5,
      generations: 1,
      tokensPerTurn: 640,
      blocks: 1_000_000,
      hasCommonPrefixes: true,
      isReachable: true,
      publishes: true,
      losesEvery: Number.POSITIVE_INFINITY,
      recovers: false,
      routerBeginsAtTurn: 0,
      hasOneNamespace: true,
      routesByHits: true,
      ...options,
    };
    this.#workers = WORKER_IDS.map((id) => new PlayedWorker(id));
  }

  run(): PlayedFleet {
    const { turns, generations, conversations, routerBeginsAtTurn, routesByHits } = this.#options;
    for (let turn = 0; turn < turns * generations; turn += 1) {
      if (turn === 0 || turn === routerBeginsAtTurn) this.#begin(turn);
      const first = Math.floor(turn / turns) * conversations;
      for (let conversation = first; conversation < first + conversations; conversation += 1) {
        this.#nowMs += REQUEST_MS;
        this.#request(conversation, turn % turns);
      }
    }
    const { believed, cached, prompts, requests } = this.#hits;
    return {
      frontendLog: `${this.#log.join('\n')}\n`,
      frontendPage: this.#frontendPage(routesByHits),
      workerLogs: this.#workers.map(({ log }) => `${log.join('\n')}\n`),
      workerPages: this.#workers.map((worker) => worker.page()),
      truth: {
        routerHitRate: believed / requests,
        engineHitRate: cached / prompts,
        evicted: this.#workers.reduce((sum, { evicted }) => sum + evicted, 0),
      },
    };
  }

  /** A frontend that is restarted knows nothing, and its log begins with it. */
  #begin(turn: number): void {
    this.#isListening = turn === this.#options.routerBeginsAtTurn;
    if (!this.#isListening) return;
    this.#log.length = 0;
    Object.assign(this.#hits, { believed: 0, cached: 0, prompts: 0, requests: 0 });
    this.#say('INFO', 'dynamo_runtime::worker: dynamo runtime configuration: num_worker_threads=2');
    for (const { id, log } of this.#workers) {
      this.#say(
        'WARN',
        `dynamo_kv_router::sequences::multi_worker: Adding worker WorkerWithDpRank { worker_id: ${id}, dp_rank: 0 }`,
      );
      log.push(
        this.#line(
          'INFO',
          `dynamo_llm::kv_router::publisher: Initializing KvEventPublisher for worker ${id} on serving endpoint dynamo/backend/generate`,
        ),
      );
    }
  }

  #request(conversation: number, turn: number): void {
    const { routerTokens, tokensPerTurn, hasCommonPrefixes, hasOneNamespace, routesByHits } = this.#options;
    const length = (turn + 1) * tokensPerTurn;
    const text = hasCommonPrefixes ? `c${conversation}` : `c${conversation}.${turn}`;
    const wanted = blocksOf(hasOneNamespace ? text : `${text} as asked`, routerTokens, length);
    const found = this.#workers.map(({ known }) => prefixIn(wanted, known));
    const least = [...this.#workers].sort((a, b) => a.requests - b.requests)[0] ?? this.#worker(0);
    const best = found.indexOf(Math.max(...found));
    const overlap = routesByHits && this.#isListening ? (found[best] ?? 0) : 0;
    const worker = overlap > 0 ? this.#worker(best) : least;
    worker.requests += 1;
    const cached = this.#prefill(worker, text, length);
    if (!this.#isListening) return;
    this.#hits.requests += 1;
    this.#hits.believed += overlap / wanted.length;
    this.#hits.cached += cached;
    this.#hits.prompts += length;
    if (routesByHits) this.#say('INFO', routedLine(worker.id, overlap, this.#hits.requests));
  }

  #worker(at: number): PlayedWorker {
    const worker = this.#workers[at];
    if (worker === undefined) throw new Error(`no worker ${at}`);
    return worker;
  }

  /** Computes what is not cached, publishes it, and makes room. */
  #prefill(worker: PlayedWorker, text: string, length: number): number {
    const { engineTokens, blocks } = this.#options;
    const keys = blocksOf(text, engineTokens, length);
    const hit = prefixIn(keys, worker.cache);
    // What was used last is dropped last, and of one prompt its end before its begin.
    for (const key of keys) worker.cache.delete(key);
    const dropped: string[] = [];
    for (const key of worker.cache) {
      if (worker.cache.size + keys.length <= blocks) break;
      worker.cache.delete(key);
      dropped.push(key);
    }
    for (const key of keys.toReversed()) worker.cache.add(key);
    worker.evicted += dropped.length;
    if (dropped.length > 0) this.#publishRemoved(worker, dropped);
    if (hit < keys.length) this.#publishStored(worker, { parent: keys[hit - 1], keys: keys.slice(hit) });
    return hit * engineTokens;
  }

  #publishStored(worker: PlayedWorker, event: StoreEvent): void {
    const { engineTokens, publisherTokens, publishes, isReachable } = this.#options;
    if (!publishes) return;
    worker.received += 1;
    const isEmptied = engineTokens !== publisherTokens;
    if (isEmptied) {
      worker.emptied += 1;
      if (worker.emptied <= 3) {
        const words = `Block size must be ${publisherTokens} tokens to be published. Block size is: ${engineTokens}`;
        worker.log.push(
          this.#line('WARN', `dynamo_kv_router::zmq_wire::convert: Block not published. ${words}`),
        );
      }
    }
    if (!isReachable || !this.#isListening || this.#isLost(worker)) return;
    const { parent } = event;
    if (parent !== undefined && !worker.known.has(parent)) {
      this.#counts.parentMissing += 1;
      this.#say(
        'WARN',
        `dynamo_kv_router::indexer::concurrent_radix_tree_compressed::store: Failed to find parent block; skipping store operation worker_id="${worker.id}" dp_rank=0 id=${worker.received} num_blocks=${isEmptied ? 0 : event.keys.length}`,
      );
      return;
    }
    this.#counts.stored += 1;
    if (!isEmptied) for (const key of event.keys) worker.known.add(key);
  }

  #publishRemoved(worker: PlayedWorker, keys: readonly string[]): void {
    const { publishes, isReachable } = this.#options;
    if (!publishes || !isReachable || !this.#isListening || this.#isLost(worker)) return;
    for (const key of keys) {
      if (worker.known.delete(key)) this.#counts.removed += 1;
      else {
        this.#counts.removeMissing += 1;
        this.#say(
          'WARN',
          `dynamo_kv_router::indexer::radix_tree: Failed to find block to remove; skipping remove operation worker_id="${worker.id}" dp_rank=0`,
        );
      }
    }
  }

  #isLost(worker: PlayedWorker): boolean {
    this.#events += 1;
    if (this.#events % this.#options.losesEvery !== 0) return false;
    const id = worker.received;
    this.#say(
      'WARN',
      `dynamo_llm::kv_router::worker_query: Event ID gap detected for worker ${worker.id} dp_rank 0, recovering events [${id}, ${id}], gap_size: 1`,
    );
    return !this.#options.recovers;
  }

  #say(level: string, words: string): void {
    this.#log.push(this.#line(level, words));
  }

  #line(level: string, words: string): string {
    return `${new Date(this.#nowMs).toISOString().replace('Z', '000Z')} ${level.padStart(5)} ${words}`;
  }

  #frontendPage(routesByHits: boolean): string {
    const { believed, cached, prompts, requests } = this.#hits;
    const { stored, parentMissing, removed, removeMissing } = this.#counts;
    const applied = (type: string, status: string, count: number): string =>
      `dynamo_component_kv_cache_events_applied{event_type="${type}",status="${status}"} ${count}`;
    return page([
      `dynamo_frontend_model_kv_cache_block_size{model="tiny"} ${this.#options.routerTokens}`,
      `dynamo_frontend_requests_total{endpoint="chat_completions",model="tiny",status="success"} ${requests}`,
      `dynamo_frontend_cached_tokens_sum{model="tiny"} ${cached}`,
      `dynamo_frontend_cached_tokens_count{model="tiny"} ${requests}`,
      `dynamo_frontend_input_sequence_tokens_sum{model="tiny"} ${prompts}`,
      `dynamo_frontend_input_sequence_tokens_count{model="tiny"} ${requests}`,
      ...(routesByHits
        ? [
            `dynamo_component_router_kv_hit_rate_sum{router_id="1"} ${believed}`,
            `dynamo_component_router_kv_hit_rate_count{router_id="1"} ${requests}`,
            applied('stored', 'ok', stored),
            applied('stored', 'parent_block_not_found', parentMissing),
            applied('removed', 'ok', removed),
            applied('removed', 'block_not_found', removeMissing),
          ]
        : []),
    ]);
  }
}

/** One worker: its engine, its publisher, and what the router knows of it. */
class PlayedWorker {
  readonly cache: Set<string> = new Set();
  readonly known: Set<string> = new Set();
  readonly log: string[] = [];
  requests = 0;
  received = 0;
  emptied = 0;
  evicted = 0;

  readonly id: string;

  constructor(id: string) {
    this.id = id;
  }

  page(): string {
    const name = 'dynamo_component_kv_publisher';
    return page([
      `${name}_engines_dropped_events_total{worker_id="${this.id}"} 0`,
      `${name}_zmq_events_total{event_type="stored",stage="received",worker_id="${this.id}"} ${this.received}`,
      `${name}_zmq_suspicious_events_total{event_type="stored",reason="empty_store_blocks",worker_id="${this.id}"} ${this.emptied}`,
      `dynamo_component_uptime_seconds{worker_id="${this.id}"} 600`,
    ]);
  }
}

function page(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

/** The whole blocks of a text, each named by all that comes before its end, as a chained hash is. */
function blocksOf(text: string, tokensPerBlock: number, length: number): readonly string[] {
  return Array.from(
    { length: Math.floor(length / tokensPerBlock) },
    (_, at) => `${tokensPerBlock}/${text}/${at}`,
  );
}

function prefixIn(keys: readonly string[], known: ReadonlySet<string>): number {
  const missing = keys.findIndex((key) => !known.has(key));
  return missing === -1 ? keys.length : missing;
}

function routedLine(worker: string, overlap: number, request: number): string {
  const id = `00000000-0000-4000-8000-${String(request).padStart(12, '0')}`;
  return `http-request:kv_router.route_request: request_span: route request completed request.outcome="success" method=POST uri=/v1/chat/completions version=HTTP/1.1 request_id=${id} model="tiny" otel.kind="client" request_id=${id} dp_rank=0 overlap_blocks=${overlap} phase=Aggregated worker_id=${worker} request.attempt=0`;
}
