import type { ContractField, ContractValues } from '../contract/contract-values.js';
import {
  BLOCK_REHASH,
  CONTRACT_FIELDS,
  firstDifference,
  isBefore,
  mergeContracts,
  withoutLateFields,
} from '../contract/contract-values.js';
import { canFollow, inCanonicalSize, withSize } from '../contract/rehash.js';
import { LateMajority, type LateValues } from './late-majority.js';
import { type AgreementOptions, DEFAULT_AGREEMENT_OPTIONS, MAX_DISTINCT_CONTRACTS } from './options.js';

/** One distinct contract and how many deciding members hold it. */
export interface Tally {
  readonly key: string;
  readonly values: ContractValues;
  count: number;
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

  /** Distinct contracts, in the order of their keys. */
  distinct(): Tally[] {
    return [...this.#byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Counts one more member that holds a contract. */
  add(key: string, values: ContractValues): Tally {
    let tally = this.#byKey.get(key);
    if (tally === undefined) {
      tally = { key, values, count: 0, conforms: this.#conforms(values) };
      this.#byKey.set(key, tally);
      this.#union = undefined;
    }
    tally.count += 1;
    this.#late.add(values);
    this.#deciding += 1;
    if (!tally.conforms) this.#dissenting += 1;
    return tally;
  }

  /** Counts one member fewer. */
  remove(tally: Tally): void {
    tally.count -= 1;
    this.#late.remove(tally.values);
    this.#deciding -= 1;
    if (!tally.conforms) this.#dissenting -= 1;
    if (tally.count === 0) {
      this.#byKey.delete(tally.key);
      this.#union = undefined;
    }
  }

  /** Judges all contracts against a new epoch, or against none. */
  setReference(reference: ContractValues | undefined): void {
    this.#reference = reference;
    this.#late.begin();
    this.#judgeAll();
  }

  /** A13, A14: follows what most members state in late fields; true when that is something else than before. */
  followLateFields(): boolean {
    if (!this.#late.update()) return false;
    this.#judgeAll();
    return true;
  }

  #judgeAll(): void {
    this.#whole = this.#reference === undefined ? {} : { ...this.#late.values, ...this.#reference };
    this.#dissenting = 0;
    for (const tally of this.#byKey.values()) {
      tally.conforms = this.#conforms(tally.values);
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
    for (const own of this.#inOneSize(this.distinct().map((tally) => tally.values))) {
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
    if (this.#dissenting * 2 <= this.#deciding) return undefined;
    // Most widely held first; ties by key, so that the order of arrival never decides.
    const dissenters = this.distinct()
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
    if (count * 2 <= this.#deciding) return undefined;
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

  #conforms(values: ContractValues): boolean {
    if (this.#reference === undefined) return true;
    return firstDifference(this.compared(values), this.#whole, this.#fields) === undefined;
  }
}

/** What an epoch fixes of contracts: nothing that is learned late, nor what a sidecar can do. */
function shared(values: ContractValues): ContractValues {
  const { [BLOCK_REHASH]: _ability, ...contract } = values;
  return withoutLateFields(contract);
}
