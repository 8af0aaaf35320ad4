import type { TransferProtocol } from '../../../core/contract/transfer/connector-rules.js';
import { linkCodeOf, NO_LINK, type PairLinks } from '../../../core/pairs/pair-links.js';
import type { WorkerSelector } from '../choice/worker-selector.js';
import { expectedTransferMs, millisecondsPerMebibyte } from './expected-transfer.js';
import type { PairKnowledge } from './pair-knowledge.js';

/** Of a candidate that is no decode worker of the pairs. */
const NO_NUMBER = -1;

const UNKNOWN = linkCodeOf('unknown');

/** How parts of requests are sent, as bits; 0 for a candidate that takes whole ones. */
const PROTOCOLS: Readonly<Record<TransferProtocol, number>> = { nixl: 1, bootstrap: 2 };

/** The bits of several. */
export function protocolBits(protocols: readonly TransferProtocol[]): number {
  return protocols.reduce((bits, protocol) => bits | PROTOCOLS[protocol], 0);
}

/**
 * The pairs of one prefill worker with the candidates of a selector, by place. What of a candidate does not change from one
 * decision to the next is found out once, until the candidates or the decode workers are others: a decision asks no map and no
 * object for each candidate.
 */
export class DecodeLinks {
  #selector: WorkerSelector | undefined;
  #places = 0;
  /** Bits of `PROTOCOLS`, by place. */
  #protocols = new Uint8Array(0);
  /** NaN where the report does not say. */
  #bytesPerToken = new Float64Array(0);
  /** Number of the decode worker, by place. */
  #numbers = new Int32Array(0);
  #numbersOf: { readonly pairs: PairKnowledge; readonly decodes: number } | undefined;
  /** Before anything is known of pairs every one may be used. */
  #isAnyKnown = false;
  #links: PairLinks | undefined;

  /** Follows the candidates of a selector; to be called before anything is asked of a decision. */
  follow(selector: WorkerSelector): void {
    if (this.#selector === selector && this.#places === selector.placesVersion) return;
    this.#selector = selector;
    this.#places = selector.placesVersion;
    const count = selector.placeCount;
    this.#protocols = new Uint8Array(count);
    this.#bytesPerToken = new Float64Array(count).fill(Number.NaN);
    this.#numbersOf = undefined;
    for (let place = 0; place < count; place += 1) {
      const { split } = selector.candidateAt(place);
      if (split === undefined) continue;
      this.#protocols[place] = PROTOCOLS[split.protocol];
      this.#bytesPerToken[place] = split.bytesPerToken ?? Number.NaN;
    }
  }

  /** Looks at the pairs of a prefill worker, for what is asked next. */
  look(pairs: PairKnowledge | undefined, prefillTarget: string): void {
    this.#isAnyKnown = pairs !== undefined;
    this.#links = pairs?.linksOf(prefillTarget);
    if (pairs !== undefined) this.#findNumbers(pairs);
  }

  /** Whether a candidate takes whole requests alone, or parts in one of these ways. */
  isWholeOrSpeaks(place: number, protocols: number): boolean {
    const own = this.#protocols[place] as number;
    return own === 0 || (own & protocols) !== 0;
  }

  /** Whether requests may be sent in this way to the decode worker at a place, from the prefill worker that was looked at. */
  mayUse(place: number, protocols: number): boolean {
    return ((this.#protocols[place] as number) & protocols) !== 0 && this.#codeAt(place) !== NO_LINK;
  }

  /** What it takes to move the blocks of so many tokens there: measured, else by the class. Infinite where no request may be sent. */
  transferMs(place: number, tokens: number): number {
    const number = this.#isAnyKnown ? (this.#numbers[place] as number) : NO_NUMBER;
    const measured =
      number === NO_NUMBER ? Number.NaN : (this.#links?.millisecondsPerMebibyte[number] ?? Number.NaN);
    const perMebibyte = millisecondsPerMebibyte(measured, this.#codeAt(place));
    return expectedTransferMs(perMebibyte, tokens, this.#bytesPerToken[place] as number);
  }

  #codeAt(place: number): number {
    if (!this.#isAnyKnown) return UNKNOWN;
    const number = this.#numbers[place] as number;
    return number === NO_NUMBER ? NO_LINK : (this.#links?.classes[number] ?? NO_LINK);
  }

  #findNumbers(pairs: PairKnowledge): void {
    const { decodeNumbersVersion: decodes } = pairs;
    if (this.#numbersOf?.pairs === pairs && this.#numbersOf.decodes === decodes) return;
    const count = this.#protocols.length;
    if (this.#numbers.length !== count) this.#numbers = new Int32Array(count);
    for (let place = 0; place < count; place += 1) {
      const target = this.#selector?.candidateAt(place).target ?? '';
      this.#numbers[place] = pairs.decodeNumberOf(target) ?? NO_NUMBER;
    }
    this.#numbersOf = { pairs, decodes };
  }
}
