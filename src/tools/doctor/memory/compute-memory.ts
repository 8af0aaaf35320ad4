import { engineOfWord } from '../../../engines/catalogue/engines.js';
import type { Evidence, ModelShape } from '../evidence.js';
import { bytesPerToken, type TokenBytes } from './bytes-per-token.js';
import { cacheFormatOf } from './cache-format.js';
import { divisionOf, type WorkerDivision } from './division.js';
import { draftLayersOf } from './draft-layers.js';
import { keptStates, tokensInFlight } from './kept-beside.js';
import { leftOfGpu } from './left-of-gpu.js';
import type { MemoryArithmetic } from './memory-arithmetic.js';
import { StepList } from './step-list.js';
import { type Traffic, trafficOf } from './traffic.js';
import { type KnownInput, WorkerInputs, workersOf } from './worker-inputs.js';

/** Kinds of workers that are reported; more would repeat them. */
const MAX_KINDS = 8;

/** What memory allows, for each kind of worker of each model whose shape is known. Workers of the same numbers stand together. */
export function computeMemory(evidence: Evidence): readonly MemoryArithmetic[] {
  const traffic = trafficOf(evidence);
  const kinds = new Map<string, MemoryArithmetic>();
  for (const model of evidence.models) {
    for (const who of workersOf(evidence)) {
      const one = new Arithmetic(model, new WorkerInputs(evidence, who), traffic).compute(who);
      const key = JSON.stringify(one.steps.map(({ expression, value }) => [expression, value]));
      const known = kinds.get(key);
      if (known === undefined && kinds.size >= MAX_KINDS) continue;
      kinds.set(key, known === undefined ? one : { ...known, who: joined(known.who, who) });
    }
  }
  return [...kinds.values()];
}

function joined(known: string, who: string): string {
  return known.split(', ').includes(who) ? known : `${known}, ${who}`.slice(0, MAX_WHO_CHARS);
}

const MAX_WHO_CHARS = 300;

class Arithmetic {
  readonly #list = new StepList();
  readonly #model: ModelShape;
  readonly #worker: WorkerInputs;
  readonly #traffic: Traffic;
  /** Why there is no capacity. */
  #unknown: string | undefined;

  constructor(model: ModelShape, worker: WorkerInputs, traffic: Traffic) {
    this.#model = model;
    this.#worker = worker;
    this.#traffic = traffic;
  }

  compute(who: string): MemoryArithmetic {
    const worker = this.#worker;
    const division = divisionOf(worker, this.#model);
    const format = cacheFormatOf(
      {
        given: worker.cacheDtype()?.value,
        modelDtype: worker.text('dtype')?.value,
        engine: worker.text('backend')?.value,
      },
      this.#model,
    );
    const draft = draftLayersOf(worker.text('speculation')?.value, this.#model);
    const token =
      typeof format === 'string' ? undefined : bytesPerToken(this.#model, division, format, draft.group);
    this.#list.add(...(token?.steps ?? []));
    const states = keptStates(this.#model, worker);
    const perToken = token === undefined ? undefined : token.everywhere * states + token.windowed;
    if (perToken !== undefined && states !== 1)
      this.#list.step(
        'With the states of other layers, which are kept of every block, on each GPU',
        `${token?.everywhere} bytes x ${states}`,
        perToken,
        'bytes',
      );
    const block = worker.tokensPerBlock();
    const bytesPerBlock = block === undefined || perToken === undefined ? undefined : perToken * block.value;
    if (block !== undefined && bytesPerBlock !== undefined)
      this.#list.step(
        'One block takes',
        `${block.value} tokens x ${perToken} bytes`,
        bytesPerBlock,
        'bytes',
        block,
      );

    const budgetBytes = this.#budget(bytesPerBlock, perToken, division);
    const sequence = this.#sequenceTokens();
    const capacityTokens = this.#capacity(
      budgetBytes,
      token,
      block,
      sequence,
      division.context,
      draft.isUnknown,
    );
    const demandTokens = this.#demand(sequence);
    const retentionSeconds = this.#retention(capacityTokens);
    const largestBatch = this.#largestBatch(capacityTokens, sequence);
    const used = worker.usedBytes();
    if (used !== undefined)
      this.#list.step(
        'In use on the fullest GPU, by all that runs there',
        `${used.value} of ${used.totalBytes} bytes`,
        used.value,
        'bytes',
        used,
      );
    return {
      who,
      bytesPerToken: perToken,
      bytesUnknown: typeof format === 'string' ? format : undefined,
      bytesPerBlock,
      budgetBytes,
      capacityTokens,
      demandTokens,
      retentionSeconds,
      largestBatch,
      isOverAllGpus: !division.isKnown,
      capacityUnknown: capacityTokens === undefined ? this.#unknown : undefined,
      steps: this.#list.steps,
    };
  }

  /** What the engine says of its own cache, else what is left of a GPU after the weights. */
  #budget(
    bytesPerBlock: number | undefined,
    perToken: number | undefined,
    division: WorkerDivision,
  ): number | undefined {
    const worker = this.#worker;
    const { gpus } = division;
    const given = worker.count('kv_cache_bytes');
    if (given !== undefined)
      return this.#list.step(
        'The engine has for its KV cache',
        `${given.value} bytes, as it says`,
        given.value,
        'bytes',
        given,
      );
    const blocks = worker.count('total_kv_blocks');
    const isAlike = gpus !== undefined && !this.#sharesBlocks();
    // With context parallelism a number of tokens a block may be that of one GPU or of all that share it.
    if (blocks !== undefined && bytesPerBlock !== undefined && isAlike && division.context === 1) {
      const value = blocks.value * bytesPerBlock;
      const expression = `${blocks.value} blocks x ${bytesPerBlock} bytes`;
      return this.#list.step(
        "The engine's own number of blocks takes, on each GPU",
        expression,
        value,
        'bytes',
        blocks,
      );
    }
    const tokens = worker.count('kv_cache_tokens');
    if (tokens !== undefined && perToken !== undefined && isAlike) {
      const value = tokens.value * perToken;
      const expression = `${tokens.value} tokens x ${perToken} bytes`;
      return this.#list.step(
        "The engine's own number of tokens takes, on each GPU",
        expression,
        value,
        'bytes',
        tokens,
      );
    }
    // What the engine reports is enough; nothing is counted where it says otherwise.
    return blocks !== undefined || tokens !== undefined ? undefined : this.#leftOfGpu(division);
  }

  /**
   * Whether layers of several kinds draw on the same blocks, as in vLLM: then
   * the number of blocks is shared by groups of layers, and is no number of tokens.
   */
  #sharesBlocks(): boolean {
    const { groups, stateLayers } = this.#model;
    const backend = this.#worker.text('backend')?.value ?? '';
    return (groups.length > 1 || stateLayers > 0) && !/sglang|trtllm|tensorrt/i.test(backend);
  }

  #leftOfGpu(division: WorkerDivision): number | undefined {
    const left = leftOfGpu(this.#worker, this.#model, division, this.#list);
    if (typeof left !== 'string') return left;
    this.#unknown = left;
    return undefined;
  }

  #capacity(
    budget: number | undefined,
    token: TokenBytes | undefined,
    block: KnownInput | undefined,
    sequence: KnownInput | undefined,
    context: number,
    hasOtherDraft: boolean,
  ): number | undefined {
    const tokens = this.#worker.count('kv_cache_tokens');
    if (tokens !== undefined)
      return this.#list.step(
        'The cache holds',
        `${tokens.value} tokens, as the engine says`,
        tokens.value,
        'tokens',
        tokens,
      );
    const blocks = this.#worker.count('total_kv_blocks');
    if (blocks !== undefined && this.#sharesBlocks()) {
      this.#unknown =
        'layers of several kinds share the blocks of this model, so that their number is no number of tokens: the line "GPU KV cache size" of the engine\'s log has it';
      return undefined;
    }
    if (blocks !== undefined && block !== undefined && context > 1) {
      this.#unknown =
        'GPUs share the tokens of a block by decode context parallelism, and of how many a block is counted is not known: the line "GPU KV cache size" of the engine\'s log has the tokens';
      return undefined;
    }
    if (blocks !== undefined && block !== undefined) {
      const expression = `${blocks.value} blocks x ${block.value} tokens`;
      return this.#list.step(
        'The cache holds',
        expression,
        blocks.value * block.value,
        'tokens',
        blocks,
        block,
      );
    }
    if (budget === undefined || token === undefined) return undefined;
    const apart = this.#poolsApart();
    if (apart !== undefined) {
      this.#unknown = apart;
      return undefined;
    }
    const { windowed, windowTokens } = token;
    const everywhere = token.everywhere * keptStates(this.#model, this.#worker);
    // Of a long sequence, layers with a window keep only its end; of chunks vLLM keeps all.
    const kept = windowTokens === undefined ? undefined : windowTokens + tokensInFlight(this.#worker);
    const share =
      kept === undefined || sequence === undefined || this.#model.hasChunks
        ? 1
        : Math.min(1, kept / sequence.value);
    const mean = Math.max(1, Math.round(everywhere + windowed * share));
    const value = Math.floor(budget / mean);
    const window = share < 1 ? ` (${everywhere} + ${windowed} x ${kept} / ${sequence?.value})` : '';
    const less = [
      ...(this.#model.stateLayers > 0 && everywhere === token.everywhere
        ? ['what the states of sequences take']
        : []),
      ...(hasOtherDraft ? ['what the model that drafts tokens takes'] : []),
    ];
    const says = less.length === 0 ? 'The cache holds' : `The cache holds, less ${less.join(' and ')}`;
    return this.#list.step(says, `${budget} bytes / ${mean} bytes${window}`, value, 'tokens');
  }

  /** Why bytes are no number of tokens where the engine divides them between kinds of layers by settings of its own. */
  #poolsApart(): string | undefined {
    const { groups, stateLayers } = this.#model;
    const apart = engineOfWord(this.#worker.text('backend')?.value)?.launch?.poolsApart;
    if (stateLayers > 0) return apart?.states;
    return groups.some(({ windowTokens }) => windowTokens !== undefined) ? apart?.windows : undefined;
  }

  /** At their longest, else as they were on the average. */
  #sequenceTokens(): KnownInput | undefined {
    const limit = this.#worker.count('max_model_len');
    if (limit !== undefined) return limit;
    const mean = this.#traffic.sequenceTokens;
    return mean === undefined ? undefined : { value: Math.ceil(mean.value), origin: mean.origin };
  }

  #demand(sequence: KnownInput | undefined): number | undefined {
    const batch = this.#worker.count('max_num_seqs') ?? this.#worker.count('max_batch_size');
    if (batch === undefined || sequence === undefined) return undefined;
    const expression = `${batch.value} sequences x ${sequence.value} tokens`;
    return this.#list.step(
      'Sequences that may run at a time need, at their longest',
      expression,
      batch.value * sequence.value,
      'tokens',
      batch,
      sequence,
    );
  }

  /** How long until as many new tokens have come as the cache holds. Least recently used blocks go first. */
  #retention(capacity: number | undefined): number | undefined {
    const { newTokensPerSecond: rate, workers = 1 } = this.#traffic;
    if (rate === undefined || capacity === undefined) return undefined;
    const perWorker = rate.value / workers;
    const value = Math.round(capacity / perWorker);
    const divided = workers === 1 ? rate.expression : `${rate.expression} / ${workers} workers`;
    const says = 'A prefix that nobody uses stays, at most';
    return this.#list.step(says, `${capacity} tokens / (${divided})`, value, 'seconds', rate);
  }

  #largestBatch(capacity: number | undefined, sequence: KnownInput | undefined): number | undefined {
    if (capacity === undefined || sequence === undefined) return undefined;
    const value = Math.floor(capacity / 2 / sequence.value);
    const expression = `${capacity} tokens / 2 / ${sequence.value} tokens`;
    return this.#list.step(
      'Most sequences at a time that leave half of the cache for prefixes',
      expression,
      value,
      'sequences',
      sequence,
    );
  }
}
