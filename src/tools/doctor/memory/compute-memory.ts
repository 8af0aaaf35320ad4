import type { Evidence, ModelShape, Origin } from '../evidence.js';
import { bytesPerToken, type TokenBytes } from './bytes-per-token.js';
import { cacheFormatOf, isFloat32 } from './cache-format.js';
import { divisionOf, type WorkerDivision } from './division.js';
import type { MemoryArithmetic, Step } from './memory-arithmetic.js';
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

/** Lines with which engines say what they loaded. */
const LOADED_LINES = 'the line "Model loading took" (vLLM) or "Load weight end" (SGLang)';

class Arithmetic {
  readonly #steps: Step[] = [];
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
    const token = typeof format === 'string' ? undefined : bytesPerToken(this.#model, division, format);
    this.#steps.push(...(token?.steps ?? []));
    const perToken = token === undefined ? undefined : token.everywhere + token.windowed;
    const block = worker.tokensPerBlock();
    const bytesPerBlock = block === undefined || perToken === undefined ? undefined : perToken * block.value;
    if (block !== undefined && bytesPerBlock !== undefined)
      this.#step(
        'One block takes',
        `${block.value} tokens x ${perToken} bytes`,
        bytesPerBlock,
        'bytes',
        block,
      );

    const budgetBytes = this.#budget(bytesPerBlock, perToken, division);
    const sequence = this.#sequenceTokens();
    const capacityTokens = this.#capacity(budgetBytes, token, block, sequence, division.context);
    const demandTokens = this.#demand(sequence);
    const retentionSeconds = this.#retention(capacityTokens);
    const largestBatch = this.#largestBatch(capacityTokens, sequence);
    const used = worker.usedBytes();
    if (used !== undefined)
      this.#step(
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
      steps: this.#steps,
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
      return this.#step(
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
      return this.#step(
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
      return this.#step(
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
    const gpu = this.#worker.gpuBytes();
    if (gpu === undefined) return undefined;
    const weights = this.#weights(division);
    if (weights === undefined) return undefined;
    const { gpus = 1 } = division;
    const free = this.#worker.fraction('free_gpu_memory_fraction');
    const all = this.#worker.fraction('gpu_memory_utilization');
    const says = 'For KV blocks is left on each GPU, before activations and graphs';
    if (free !== undefined) {
      const value = Math.floor((gpu.value - weights) * free.value);
      if (value <= 0) return this.#tooLarge(gpus);
      const expression = `(${gpu.value} - ${weights} bytes) x ${free.value}`;
      return this.#step(says, expression, value, 'bytes', gpu, free);
    }
    if (all === undefined) {
      this.#unknown =
        "which share of the GPU the engine takes was not seen (gpu_memory_utilization, free_gpu_memory_fraction), and defaults differ by release and GPU (vLLM takes 0.92 from 0.20 on, 0.9 before): give the engine's log, its manifests or its configuration (--engine-config)";
      return undefined;
    }
    const value = Math.floor(gpu.value * all.value) - weights;
    if (value <= 0) return this.#tooLarge(gpus);
    return this.#step(says, `${gpu.value} bytes x ${all.value} - ${weights} bytes`, value, 'bytes', gpu, all);
  }

  /** Bytes of the weights on each GPU: what the engine says that it loaded, else its share of what was published. */
  #weights(division: WorkerDivision): number | undefined {
    const says = 'Weights take, on each GPU';
    const loaded = this.#worker.count('weight_bytes');
    if (loaded !== undefined)
      return this.#step(says, `${loaded.value} bytes, as the engine says`, loaded.value, 'bytes', loaded);
    const { weightOrigin, origin, isQuantised, isInFloat32 } = this.#model;
    const halves = isInFloat32 && isFloat32(this.#worker.text('dtype')?.value) ? 2 : 1;
    const weightBytes = this.#model.weightBytes === undefined ? undefined : this.#model.weightBytes * halves;
    const { gpus } = division;
    const quantisation = this.#worker.text('quantization');
    this.#unknown =
      gpus === undefined
        ? "over how many GPUs the model is divided was not seen (tensor_parallel_size): give the engine's log, its address (--engine) or its configuration (--engine-config)"
        : weightBytes === undefined
          ? `the size of the weights is not known: give the folder of the model with model.safetensors.index.json, or the engine's log from its start, which has ${LOADED_LINES}`
          : division.isUneven
            ? `attention or experts are divided over data parallel ranks, so that the weights of a GPU are no even share: give the engine's log from its start, which has ${LOADED_LINES}`
            : quantisation !== undefined && !isQuantised
              ? `the engine quantises the weights as it loads them (quantization ${quantisation.value.slice(0, 40)}), and what is left of their size is not known here: give its log from its start, which has ${LOADED_LINES}`
              : undefined;
    if (this.#unknown !== undefined || gpus === undefined || weightBytes === undefined) return undefined;
    const share = Math.ceil(weightBytes / gpus);
    const from = { origin: weightOrigin ?? origin };
    return this.#step(says, `${weightBytes} bytes / ${gpus} GPUs`, share, 'bytes', from);
  }

  /** A worker that runs has room: one of the numbers belongs to another model or worker. */
  #tooLarge(gpus: number): undefined {
    this.#unknown = `these weights do not fit on ${gpus === 1 ? 'this GPU' : `${gpus} of these GPUs`}: the number of GPUs, their memory or the model is not that of this worker`;
    return undefined;
  }

  #capacity(
    budget: number | undefined,
    token: TokenBytes | undefined,
    block: KnownInput | undefined,
    sequence: KnownInput | undefined,
    context: number,
  ): number | undefined {
    const tokens = this.#worker.count('kv_cache_tokens');
    if (tokens !== undefined)
      return this.#step(
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
      return this.#step('The cache holds', expression, blocks.value * block.value, 'tokens', blocks, block);
    }
    if (budget === undefined || token === undefined) return undefined;
    const { everywhere, windowed, windowTokens } = token;
    // Of a long sequence, layers with a window keep only its end.
    const share =
      windowTokens === undefined || sequence === undefined ? 1 : Math.min(1, windowTokens / sequence.value);
    const mean = Math.max(1, Math.round(everywhere + windowed * share));
    const value = Math.floor(budget / mean);
    const window = share < 1 ? ` (${everywhere} + ${windowed} x ${windowTokens} / ${sequence?.value})` : '';
    const says =
      this.#model.stateLayers > 0
        ? 'The cache holds, less what the states of sequences take'
        : 'The cache holds';
    return this.#step(says, `${budget} bytes / ${mean} bytes${window}`, value, 'tokens');
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
    return this.#step(
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
    return this.#step(says, `${capacity} tokens / (${divided})`, value, 'seconds', rate);
  }

  #largestBatch(capacity: number | undefined, sequence: KnownInput | undefined): number | undefined {
    if (capacity === undefined || sequence === undefined) return undefined;
    const value = Math.floor(capacity / 2 / sequence.value);
    const expression = `${capacity} tokens / 2 / ${sequence.value} tokens`;
    return this.#step(
      'Most sequences at a time that leave half of the cache for prefixes',
      expression,
      value,
      'sequences',
      sequence,
    );
  }

  #step(
    says: string,
    expression: string,
    value: number,
    unit: Step['unit'],
    ...from: readonly { readonly origin: Origin }[]
  ): number {
    this.#steps.push({ says, expression, value, unit, origins: from.map(({ origin }) => origin) });
    return value;
  }
}
