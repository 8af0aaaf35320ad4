import type { ContractField, ContractValues } from '../../contract/contract-values.js';
import {
  BLOCK_REHASH,
  CONTRACT_FIELDS,
  firstDifference,
  isBefore,
  mergeContracts,
  withoutLateFields,
} from '../../contract/contract-values.js';
import { canFollow, inCanonicalSize, withSize } from '../../contract/rehash.js';
import { LateMajority, type LateValues } from './late-majority.js';
import { type AgreementOptions, DEFAULT_AGREEMENT_OPTIONS, MAX_DISTINCT_CONTRACTS } from './options.js';

/** One distinct contract and how many deciding members hold it. */
export interface Tally {
  readonly key: string;
  readonly values: ContractValues;
  count: number;
  /** P1: whether decode workers hold it, who agree on a block size of their own. */
  readonly isDecode: boolean;
  /** Whether it is compatible with the running epoch; true while there is none. */
  conforms: boolean;
}

/** What all deciding members' contracts come to together. */
export interface Union {
  readonly values: ContractValues;
  /** The first field in which two of them differ; undefined when all agree. */
  readonly difference: ContractField | undefined;
}

/** One contract that several distinct ones are compatible with, and who holds it. */
export interface CommonContract {
  readonly key: string;
  readonly values: ContractValues;
  readonly count: number;
}

/**
 * Counts the deciding members of a group by contract, so that an event costs
 * the same whatever the fleet's size: what is worked out over all distinct
 * contracts is kept until a contract appears or disappears.
 */
export class Tallies {
  readonly #fields: readonly ContractField[];
  readonly #isRehashing: boolean;
  readonly #byKey = new Map<string, Tally>();
  #union: Union | undefined;
  #deciding = 0;
  #dissenting = 0;
  /** Members that decide and are no decode workers. */
  #leading = 0;
  /** P1: the block size of most decode workers in the running epoch; undefined where none has one. */
  #decodeSize: number | undefined;
  /** P1: whether workers that compute prompts gave the running epoch its block size. */
  #isLedByPrompts = false;
  /** The running epoch's contract; undefined while there is none. */
  #reference: ContractValues | undefined;
  readonly #late = new LateMajority();
  /** The running epoch's contract with what most state in fields that are learned late. */
  #whole: ContractValues = {};

  constructor(
    fields: readonly ContractField[],
    blockSizePolicy: AgreementOptions['blockSizePolicy'] = DEFAULT_AGREEMENT_OPTIONS.blockSizePolicy,
  ) {
    this.#fields = fields;
    this.#isRehashing = blockSizePolicy === 'rehash';
  }

  /** A15: whether block sizes may differ that have a common multiple. */
  get isRehashing(): boolean {
    return this.#isRehashing;
  }

  /** Members that decide. */
  get deciding(): number {
    return this.#deciding;
  }

  /** Those among them that differ from the running epoch. */
  get dissenting(): number {
    return this.#dissenting;
  }

  /** A13, A14: what most deciding members state in fields that are learned late. */
  get late(): LateValues {
    return this.#late.values;
  }

  /** What members are compared with: the running epoch's contract and the late fields of most; empty while there is none. */
  get reference(): ContractValues {
    return this.#whole;
  }

  /**
   * P1: the block size of the decode workers, where it is compared apart from that of the workers that compute prompts.
   * Undefined without an epoch, where only one of the two is there, and where blocks are re-hashed into one size.
   */
  get decodeSize(): number | undefined {
    return this.#separatesRoles ? this.#decodeSize : undefined;
  }

  /** Distinct contracts, in the order of their keys. */
  distinct(): Tally[] {
    return [...this.#byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Counts one more member that holds a contract. */
  add(contractKey: string, values: ContractValues, isDecode = false): Tally {
    const key = isDecode ? `${contractKey} decode` : contractKey;
    let tally = this.#byKey.get(key);
    if (tally === undefined) {
      tally = { key, values, count: 0, isDecode, conforms: this.#conforms(values, isDecode) };
      this.#byKey.set(key, tally);
      this.#union = undefined;
    }
    tally.count += 1;
    this.#late.add(values);
    this.#deciding += 1;
    if (!isDecode) this.#leading += 1;
    if (!tally.conforms) this.#dissenting += 1;
    return tally;
  }

  /** Counts one member fewer. */
  remove(tally: Tally): void {
    tally.count -= 1;
    this.#late.remove(tally.values);
    this.#deciding -= 1;
    if (!tally.isDecode) this.#leading -= 1;
    if (!tally.conforms) this.#dissenting -= 1;
    if (tally.count === 0) {
      this.#byKey.delete(tally.key);
      this.#union = undefined;
    }
  }

  /** Judges all contracts against a new epoch, or against none. */
  setReference(reference: ContractValues | undefined): void {
    this.#reference = reference;
    this.#isLedByPrompts = this.#leading > 0;
    this.#late.begin();
    this.#decodeSize = undefined;
    this.#followDecodeSize();
    this.#judgeAll();
  }

  /** A13, A14, P1: follows what most members state in late fields, and most decode workers of their size; true when that is something else than before. */
  followLateFields(): boolean {
    const isOtherSize = this.#followDecodeSize();
    if (!this.#late.update() && !isOtherSize) return false;
    this.#judgeAll();
    return true;
  }

  #judgeAll(): void {
    this.#whole = this.#reference === undefined ? {} : { ...this.#late.values, ...this.#reference };
    this.#dissenting = 0;
    for (const tally of this.#byKey.values()) {
      tally.conforms = this.#conforms(tally.values, tally.isDecode);
      if (!tally.conforms) this.#dissenting += tally.count;
    }
  }

  /** A4, A5: what all come to; the same whatever the order in which they came (A11). */
  union(): Union {
    this.#union ??= this.#computeUnion();
    return this.#union;
  }

  #computeUnion(): Union {
    let values: ContractValues = {};
    let difference: ContractField | undefined;
    const contracts = this.distinct();
    if (this.#separatesRoles && sizesOf(contracts.filter(({ isDecode }) => isDecode)).size > 1)
      difference = 'tokens_per_block';
    for (const own of this.#inOneSize(contracts.map((tally) => this.#ofAllRoles(tally)))) {
      const differs = firstDifference(values, own, this.#fields);
      if (differs !== undefined) {
        // The earliest field in the canonical order names the conflict, whichever pair shows it first.
        if (difference === undefined || isBefore(differs, difference, this.#fields)) difference = differs;
      }
      values = mergeContracts(values, own);
    }
    return { values: shared(this.#withoutDisputed(values, this.#byKey.values())), difference };
  }

  /** A part of the contract that is not compared here and in which holders differ is no part of what they share. */
  #withoutDisputed(values: ContractValues, holders: Iterable<Tally>): ContractValues {
    const uncompared = CONTRACT_FIELDS.filter((field) => !this.#fields.includes(field));
    const disputed = new Set<string>();
    for (const holder of holders) {
      for (const field of uncompared) {
        if (firstDifference(values, holder.values, [field]) !== undefined) disputed.add(field);
      }
    }
    if (disputed.size === 0) return values;
    return Object.fromEntries(Object.entries(values).filter(([field]) => !disputed.has(field)));
  }

  /** A9: the contract that a strict majority holds although it is not the running epoch's. */
  majorityAgainst(): CommonContract | undefined {
    // P1: an epoch's block size is that of the workers that compute prompts, where there are any.
    const leaders = this.#separatesRoles ? this.distinct().filter(({ isDecode }) => !isDecode) : undefined;
    const voters = leaders === undefined ? this.#deciding : this.#leading;
    const against =
      leaders === undefined
        ? this.#dissenting
        : leaders.reduce((sum, { conforms, count }) => sum + (conforms ? 0 : count), 0);
    if (against * 2 <= voters) return undefined;
    // Most widely held first; ties by key, so that the order of arrival never decides.
    const dissenters = (leaders ?? this.distinct())
      .filter((tally) => !tally.conforms)
      .sort((a, b) => b.count - a.count)
      .slice(0, MAX_DISTINCT_CONTRACTS);
    const [first, ...rest] = dissenters;
    if (first === undefined) return undefined;
    let { values, count } = first;
    const holders = [first];
    for (const tally of rest) {
      const size = this.#sizeWith(holders, values, tally.values);
      const before = size === undefined ? values : withSize(values, size);
      const own = size === undefined ? tally.values : withSize(tally.values, size);
      if (firstDifference(before, own, this.#fields) !== undefined) continue;
      values = mergeContracts(before, own);
      count += tally.count;
      holders.push(tally);
    }
    if (count * 2 <= voters) return undefined;
    return this.#common(shared(this.#withoutDisputed(values, holders)), count);
  }

  /** A15: the contract to which all deciding members can follow, where some differ from the running epoch now. */
  allAgainst(): CommonContract | undefined {
    if (!this.#isRehashing || this.#dissenting === 0) return undefined;
    const { values, difference } = this.union();
    const isSame = values.tokens_per_block === this.#reference?.tokens_per_block;
    return difference !== undefined || isSame ? undefined : this.#common(values, this.#deciding);
  }

  /** A15: a contract as it is compared with the running epoch's: with its size where blocks are re-hashed into such. */
  compared(values: ContractValues): ContractValues {
    const agreed = this.#reference?.tokens_per_block;
    if (!this.#isRehashing || typeof agreed !== 'number' || !canFollow(values, agreed)) return values;
    return withSize(values, agreed);
  }

  #common(values: ContractValues, count: number): CommonContract {
    return { key: JSON.stringify(this.#fields.map((field) => values[field] ?? null)), values, count };
  }

  #inOneSize(contracts: readonly ContractValues[]): readonly ContractValues[] {
    return (this.#isRehashing ? inCanonicalSize(contracts) : undefined) ?? contracts;
  }

  /** The size that one more contract and those who hold `values` have in common; undefined where it need not be sought. */
  #sizeWith(holders: readonly Tally[], values: ContractValues, next: ContractValues): number | undefined {
    if (!this.#isRehashing || next.tokens_per_block === values.tokens_per_block) return undefined;
    const [common] = inCanonicalSize([...holders.map((holder) => holder.values), next]) ?? [];
    const size = common?.tokens_per_block;
    return typeof size === 'number' ? size : undefined;
  }

  /** P1: a contract as it is compared with the running epoch's: decode workers are not measured by the others' block size. */
  judged(values: ContractValues, isDecode: boolean): ContractValues {
    const agreed = this.#reference?.tokens_per_block;
    const isApart = isDecode && this.#separatesRoles && typeof agreed === 'number';
    return isApart ? withSize(values, agreed) : this.compared(values);
  }

  #conforms(values: ContractValues, isDecode: boolean): boolean {
    if (this.#reference === undefined) return true;
    if (isDecode && this.hasOtherDecodeSize(values)) return false;
    return firstDifference(this.judged(values, isDecode), this.#whole, this.#fields) === undefined;
  }

  /** P1: whether a decode worker has another block size than most of its role. */
  hasOtherDecodeSize({ tokens_per_block: own }: ContractValues): boolean {
    return this.decodeSize !== undefined && own !== undefined && own !== this.decodeSize;
  }

  /** P1: whether a decode worker's blocks are of another size than the index. */
  hasOtherSizeThanIndex({ tokens_per_block: own }: ContractValues): boolean {
    return this.#separatesRoles && own !== undefined && own !== this.#reference?.tokens_per_block;
  }

  /** P1: with workers that compute prompts beside them, decode workers agree on a size of their own; settled for a whole epoch. */
  get #separatesRoles(): boolean {
    if (this.#isRehashing) return false;
    return this.#reference === undefined
      ? this.#leading > 0 && this.#leading < this.#deciding
      : this.#isLedByPrompts;
  }

  /** What a contract says of all roles together. */
  #ofAllRoles({ values, isDecode }: Tally): ContractValues {
    if (!isDecode || !this.#separatesRoles) return values;
    const { tokens_per_block: _ofItsRole, ...rest } = values;
    return rest;
  }

  /** Takes the size that most decode workers have; a tie keeps what it was, else takes the smallest. True when it is another one. */
  #followDecodeSize(): boolean {
    const before = this.#decodeSize;
    const counts = new Map<number, number>();
    for (const { isDecode, values, count } of this.#byKey.values()) {
      const size = values.tokens_per_block;
      if (isDecode && typeof size === 'number') counts.set(size, (counts.get(size) ?? 0) + count);
    }
    const most = Math.max(0, ...counts.values());
    const largest = [...counts].filter(([, count]) => count === most).map(([size]) => size);
    const isKept = before !== undefined && largest.includes(before);
    this.#decodeSize = isKept ? before : largest.length === 0 ? undefined : Math.min(...largest);
    return this.#decodeSize !== before;
  }
}

function sizesOf(tallies: readonly Tally[]): ReadonlySet<string | number> {
  return new Set(
    tallies.flatMap(({ values: { tokens_per_block: size } }) => (size === undefined ? [] : [size])),
  );
}

/** What an epoch fixes of contracts: nothing that is learned late, nor what a sidecar can do. */
function shared(values: ContractValues): ContractValues {
  const { [BLOCK_REHASH]: _ability, ...contract } = values;
  return withoutLateFields(contract);
}
