import type { PairChanges } from './pair-changes.js';
import { classOfEntries } from './pair-judge.js';
import type { PairMembers } from './pair-members.js';
import { pairName } from './pair-names.js';
import type { Entry } from './pair-role.js';
import { PairService } from './pair-service.js';
import { type FinishedTransfer, slowPairMessage, type TransferCost } from './transfer-cost.js';

/** What is to be written to the log, once. */
export interface PairRemark {
  readonly level: 'info' | 'warn';
  readonly code: 'pair_set_aside' | 'pair_back' | 'pair_slow';
  /** The prefill worker's target. */
  readonly worker: string;
  readonly message: string;
}

/** What transfers of one pair came to. */
export interface PairTransfers {
  readonly cost: TransferCost | undefined;
  readonly transfers: number;
  readonly failedTransfers: number;
  /** When a pair that is set aside is tried again, in monotonic milliseconds; undefined while it is not. */
  readonly asideUntilMs: number | undefined;
}

/** Two entries of the book, by their roles. */
export interface EntryPair {
  readonly prefill: Entry;
  readonly decode: Entry;
}

/** Pairs whose service is remembered, the longest unused forgotten first. */
const MAX_REMEMBERED_PAIRS = 65_536;

const NO_TRANSFERS: PairTransfers = {
  cost: undefined,
  transfers: 0,
  failedTransfers: 0,
  asideUntilMs: undefined,
};

/** P6: pairs that were used or failed, and those that are set aside for it. Each is remembered by its prefill entry. */
export class PairsInService {
  readonly #members: PairMembers;
  readonly #changes: PairChanges;
  /** Pairs that are set aside, in no order: they are few. */
  readonly #aside = new Map<PairService, EntryPair>();
  #remembered = 0;

  constructor(members: PairMembers, changes: PairChanges) {
    this.#members = members;
    this.#changes = changes;
  }

  /** Pairs that are set aside. */
  get aside(): Iterable<EntryPair> {
    return this.#aside.values();
  }

  /** When the next pair that is set aside is to be tried again; undefined while none is. */
  get dueAtMs(): number | undefined {
    let due: number | undefined;
    for (const { asideUntilMs } of this.#aside.keys()) {
      if (asideUntilMs !== undefined && (due === undefined || asideUntilMs < due)) due = asideUntilMs;
    }
    return due;
  }

  /** Measured ms per MiB; NaN before the first transfer that was measured. */
  millisecondsPerMebibyte(prefillTarget: string, decodeTarget: string): number {
    return this.#service(prefillTarget, decodeTarget)?.meter.millisecondsPerMebibyte ?? Number.NaN;
  }

  transfersOf(prefillTarget: string, decodeTarget: string): PairTransfers {
    const service = this.#service(prefillTarget, decodeTarget);
    if (service === undefined) return NO_TRANSFERS;
    const { meter, transfers, failed, asideUntilMs } = service;
    return { cost: meter.cost, transfers, failedTransfers: failed, asideUntilMs };
  }

  /** See `PairBook.transferDone`. */
  transferDone(
    prefillTarget: string,
    decodeTarget: string,
    transfer: FinishedTransfer | undefined,
  ): PairRemark | undefined {
    const found = this.#serviceFor(prefillTarget, decodeTarget);
    if (found === undefined) return undefined;
    const { service, prefill, decode } = found;
    service.succeed();
    this.#changes.notePair(service);
    if (transfer === undefined) return undefined;
    service.meter.add(transfer);
    if (service.isSlowLogged) return undefined;
    const slow = slowPairMessage(classOfEntries(prefill, decode), service.meter.cost);
    if (slow === undefined) return undefined;
    service.isSlowLogged = true;
    return remark('warn', 'pair_slow', prefill, `Pair ${pairName(prefill, decode)} ${slow}`);
  }

  /** See `PairBook.transferFailed`. */
  transferFailed(
    prefillTarget: string,
    decodeTarget: string,
    reason: string,
    nowMs: number,
  ): PairRemark | undefined {
    const found = this.#serviceFor(prefillTarget, decodeTarget);
    if (found === undefined) return undefined;
    const { service, prefill, decode } = found;
    const isAside = service.fail(reason, nowMs);
    this.#changes.notePair(service);
    if (!isAside) return undefined;
    this.#aside.set(service, { prefill, decode });
    const seconds = Math.round(((service.asideUntilMs ?? nowMs) - nowMs) / 1_000);
    const times = service.failedInARow;
    return remark(
      'warn',
      'pair_set_aside',
      prefill,
      `Pair ${pairName(prefill, decode)} is set aside for ${seconds} s after ${times} failed ${times === 1 ? 'transfer' : 'transfers in a row'}: ${reason}. Others go on.`,
    );
  }

  /** Brings pairs back whose pause is over, and answers what is to be logged. */
  advance(nowMs: number): PairRemark[] {
    const remarks: PairRemark[] = [];
    for (const [service, { prefill, decode }] of this.#aside) {
      if (service.asideUntilMs === undefined || service.asideUntilMs > nowMs) continue;
      service.asideUntilMs = undefined;
      this.#aside.delete(service);
      this.#changes.notePair(service);
      remarks.push(
        remark(
          'info',
          'pair_back',
          prefill,
          `Pair ${pairName(prefill, decode)} is tried again after a pause.`,
        ),
      );
    }
    return remarks;
  }

  /** A member left: what was learned of its pairs goes with it. */
  forgetMember(entry: Entry): void {
    for (const [decode, service] of entry.service) this.#forget(entry, decode, service);
    for (const prefill of this.#members.prefill.entries.values()) {
      const service = prefill.service.get(entry);
      if (service !== undefined) this.#forget(prefill, entry, service);
    }
  }

  /** Puts an entry in the place of another one that stands for the same instance. */
  rename(before: Entry, after: Entry): void {
    for (const { service } of this.#members.prefill.entries.values()) {
      const kept = service.get(before);
      if (kept === undefined) continue;
      service.delete(before);
      service.set(after, kept);
    }
    for (const [service, { prefill, decode }] of this.#aside) {
      if (prefill !== before && decode !== before) continue;
      this.#aside.set(service, {
        prefill: prefill === before ? after : prefill,
        decode: decode === before ? after : decode,
      });
    }
  }

  #service(prefillTarget: string, decodeTarget: string): PairService | undefined {
    const decode = this.#members.decode.entries.get(decodeTarget);
    if (decode === undefined) return undefined;
    return this.#members.prefill.entries.get(prefillTarget)?.service.get(decode);
  }

  #serviceFor(
    prefillTarget: string,
    decodeTarget: string,
  ): (EntryPair & { readonly service: PairService }) | undefined {
    const prefill = this.#members.prefill.entries.get(prefillTarget);
    const decode = this.#members.decode.entries.get(decodeTarget);
    if (prefill === undefined || decode === undefined) return undefined;
    let service = prefill.service.get(decode);
    if (service === undefined) {
      if (this.#remembered >= MAX_REMEMBERED_PAIRS) this.#forgetOldest(prefill);
      service = new PairService();
      prefill.service.set(decode, service);
      this.#remembered += 1;
    }
    return { service, prefill, decode };
  }

  /** Makes room: the first that a prefill worker remembers, this one's if it has any. */
  #forgetOldest(preferred: Entry): void {
    for (const prefill of [preferred, ...this.#members.prefill.entries.values()]) {
      for (const [decode, service] of prefill.service) {
        this.#forget(prefill, decode, service);
        return;
      }
    }
  }

  #forget(prefill: Entry, decode: Entry, service: PairService): void {
    prefill.service.delete(decode);
    this.#aside.delete(service);
    this.#remembered -= 1;
  }
}

function remark(
  level: PairRemark['level'],
  code: PairRemark['code'],
  prefill: Entry,
  message: string,
): PairRemark {
  return { level, code, worker: prefill.member.target, message };
}
