import type { SettingName } from '../../../engines/diagnosis/sighting-words.js';
import type { Evidence, Origin, SettingSighting, SizeSighting } from '../evidence.js';

/** A number with where it was read. */
export interface KnownInput {
  readonly value: number;
  readonly origin: Origin;
}

/** From the weakest to the strongest. */
const BASES: readonly SizeSighting['basis'][] = ['default', 'configured', 'declared', 'in_use', 'observed'];

/** Settings that make a worker worth an arithmetic of its own. */
const OWN: ReadonlySet<SettingName> = new Set<SettingName>([
  'tensor_parallel_size',
  'pipeline_parallel_size',
  'gpu_memory_utilization',
  'free_gpu_memory_fraction',
  'max_num_seqs',
  'max_batch_size',
  'max_model_len',
  'kv_cache_dtype',
  'kv_cache_format',
  'total_kv_blocks',
  'kv_cache_tokens',
  'kv_cache_bytes',
  'attention_data_parallel',
  'attention_data_parallel_size',
  'context_parallel_size',
  'quantization',
  'weight_bytes',
]);

/** Less of a GPU is no share that an operator meant. */
const MIN_FRACTION = 0.001;

/** The workers of which something is known that decides about memory; one without a name when nobody is named. */
export function workersOf({ settings }: Evidence): readonly string[] {
  const named = settings.filter(({ side, who, name }) => side === 'worker' && who !== '' && OWN.has(name));
  const workers = [...new Set(named.map(({ who }) => who))];
  // A router names the same workers by their ids.
  const known = workers.filter((who) => !isRoutersId(who));
  if (known.length > 0) return known;
  return workers.length === 0 ? [''] : workers;
}

/** `5120938477162536`, as routers call workers; of them only what the router knows is known. */
function isRoutersId(who: string): boolean {
  return /^\d{1,20}$/.test(who);
}

/** What is known of one worker. */
export class WorkerInputs {
  readonly #evidence: Evidence;
  readonly #who: string;

  constructor(evidence: Evidence, who: string) {
    this.#evidence = evidence;
    this.#who = who;
  }

  /** The setting as it was made for this worker, or for all; what applies by default comes last. */
  text(name: SettingName): SettingSighting | undefined {
    const inOrder = this.#inOrder(name);
    return inOrder.find(({ isDefault }) => !isDefault) ?? inOrder[0];
  }

  /** The dtype of its cache: what the engine made of it before what it was given; undefined for none and `auto`. */
  cacheDtype(): SettingSighting | undefined {
    return [...this.#inOrder('kv_cache_format'), ...this.#inOrder('kv_cache_dtype')].find(
      ({ value }) => value !== 'auto' && value !== '',
    );
  }

  /** Its own, then those of all workers, then what a frontend reports, which has it of their cards. */
  #inOrder(name: SettingName): readonly SettingSighting[] {
    const all = this.#evidence.settings.filter((one) => one.name === name);
    const mine = all.filter(({ side, who }) => side === 'worker' && who === this.#who);
    const everybodys = all.filter(({ side, who }) => side === 'worker' && who === '' && this.#who !== '');
    const fronts = all.filter(({ side }) => side === 'frontend');
    return [...mine, ...everybodys, ...this.#asRoutersHaveIt(all), ...fronts];
  }

  /** What routers know of workers by their ids, where there is one kind of them, and no other that it could be of. */
  #asRoutersHaveIt(all: readonly SettingSighting[]): readonly SettingSighting[] {
    const [known, ...others] = workersOf(this.#evidence);
    if (known !== this.#who || isRoutersId(known) || others.length > 0) return [];
    const byId = all.filter(({ side, who }) => side === 'worker' && isRoutersId(who));
    return new Set(byId.map(({ value }) => value)).size === 1 ? byId : [];
  }

  /** The same as a whole number above zero: GPUs, sequences, tokens, blocks, bytes. */
  count(name: SettingName): KnownInput | undefined {
    return this.#number(name, (value) => Number.isSafeInteger(value) && value >= 1);
  }

  /** The same as a share of something. */
  fraction(name: SettingName): KnownInput | undefined {
    return this.#number(name, (value) => value >= MIN_FRACTION && value <= 1);
  }

  #number(name: SettingName, isRight: (value: number) => boolean): KnownInput | undefined {
    const setting = this.text(name);
    if (setting === undefined || setting.value.trim() === '') return undefined;
    const value = numberOf(setting.value.trim());
    return isRight(value) ? { value, origin: setting.origin } : undefined;
  }

  /** The block size of its engine, by the best source. */
  tokensPerBlock(): KnownInput | undefined {
    const sizes = this.#evidence.sizes.filter(({ side }) => side === 'worker');
    const mine = sizes.filter(({ who }) => who === this.#who);
    const [best] = [...(mine.length === 0 ? sizes : mine)].sort(
      (a, b) => BASES.indexOf(b.basis) - BASES.indexOf(a.basis),
    );
    return best === undefined ? undefined : { value: best.tokensPerBlock, origin: best.origin };
  }

  /** The memory of the smallest of its GPUs: every rank has to have room. */
  gpuBytes(): KnownInput | undefined {
    const [least] = [...this.#gpus()].sort((a, b) => a.totalBytes - b.totalBytes);
    return least === undefined ? undefined : { value: least.totalBytes, origin: least.origin };
  }

  /** What is in use on the fullest of its GPUs, with all that the GPU has. */
  usedBytes(): (KnownInput & { readonly totalBytes: number }) | undefined {
    const reported = this.#gpus().flatMap(({ usedBytes: value, totalBytes, origin }) =>
      value === undefined ? [] : [{ value, totalBytes, origin }],
    );
    return reported.sort((a, b) => b.value - a.value)[0];
  }

  /** Its own, else all that were seen. */
  #gpus(): Evidence['gpus'] {
    const { gpus } = this.#evidence;
    const mine = gpus.filter(({ who }) => who !== '' && who === this.#who);
    return mine.length === 0 ? gpus : mine;
  }
}

/** vLLM's arguments may have units: `32k` is 32,000, `32K` is 32,768 (`human_readable_int`). */
const UNITS: Readonly<Record<string, number>> = {
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  K: 2 ** 10,
  M: 2 ** 20,
  G: 2 ** 30,
  T: 2 ** 40,
};

function numberOf(text: string): number {
  const [, count, unit = ''] = /^(\d{1,15}(?:\.\d{1,6})?)([kmgtKMGT])$/.exec(text) ?? [];
  return count === undefined ? Number(text) : Math.floor(Number(count) * (UNITS[unit] ?? 1));
}
