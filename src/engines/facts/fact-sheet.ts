import {
  type BlockSizeFact,
  type Fact,
  type FactEvidence,
  type FactField,
  type FactFields,
  fieldFact,
} from '../../core/contract/evidence/facts.js';
import { MAX_RAW_CHARS } from '../../core/contract/evidence/resolve.js';
import type { BlockSize, BlockSizeKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';

/** Warnings of one probe; a thousand wrong fields are one fault. */
const MAX_WARNINGS = 32;
/** Facts of one probe: 1,024 data-parallel engines with a few sizes each. */
const MAX_FACTS = 8_192;

/** What one source reported. */
export interface SourceFacts {
  readonly facts: readonly Fact[];
  /** What a person should know although the facts are usable. */
  readonly warnings: readonly string[];
}

/** Collects what one source reported, so that each fact gets its evidence. */
export class FactSheet {
  readonly #source: EvidenceSource;
  readonly #observedAtMs: number;
  readonly #facts: Fact[] = [];
  readonly #warnings: string[] = [];
  /** What was asked: `GET http://127.0.0.1:8000/metrics`. */
  readonly origin: string;

  constructor(options: {
    readonly source: EvidenceSource;
    readonly origin: string;
    /** Wall-clock milliseconds since 1970. */
    readonly observedAtMs: number;
  }) {
    this.#source = options.source;
    this.#observedAtMs = options.observedAtMs;
    this.origin = options.origin;
  }

  /** States one field; does nothing when `value` is undefined, because absent stays absent. */
  field<F extends FactField>(field: F, value: FactFields[F] | undefined, raw: string): void {
    if (value === undefined || this.#facts.length >= MAX_FACTS) return;
    this.#facts.push(fieldFact(field, value, this.#evidence(raw)));
  }

  /** States one block size; does nothing when `sizeTokens` is undefined. */
  size(
    kind: BlockSizeKind,
    sizeTokens: number | undefined,
    options: {
      readonly forContract: boolean;
      readonly raw: string;
      readonly group?: Pick<BlockSize, 'groupIndex' | 'attentionKind' | 'slidingWindowTokens'>;
    },
  ): void {
    if (sizeTokens === undefined || this.#facts.length >= MAX_FACTS) return;
    const fact: BlockSizeFact = {
      type: 'block_size',
      size: { kind, sizeTokens, ...options.group },
      forContract: options.forContract,
      evidence: this.#evidence(options.raw),
    };
    this.#facts.push(fact);
  }

  /** Warns a person although the facts are usable. */
  warn(message: string): void {
    if (this.#warnings.length < MAX_WARNINGS) this.#warnings.push(`${this.origin}: ${message}`);
  }

  /** How many facts there are so far. */
  get factCount(): number {
    return this.#facts.length;
  }

  answer(): SourceFacts {
    return { facts: this.#facts, warnings: this.#warnings };
  }

  #evidence(raw: string): FactEvidence {
    return {
      source: this.#source,
      origin: this.origin,
      // Copied through a buffer: a bare slice would keep the whole body that it was cut from in memory.
      raw: Buffer.from(raw.slice(0, MAX_RAW_CHARS)).toString(),
      observedAtMs: this.#observedAtMs,
    };
  }
}
