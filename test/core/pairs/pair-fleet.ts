import { NO_POSITION, type WorkerPosition } from '../../../src/core/contract/topology/worker-position.js';
import type { TransferContract, TransferValues } from '../../../src/core/contract/transfer/transfer.js';
import type { WorkerReport } from '../../../src/core/contract/worker-report.js';
import { PairBook } from '../../../src/core/pairs/pair-book.js';
import { type PairMember, pairMemberOf } from '../../../src/core/pairs/pair-member.js';
import type { PairPolicy } from '../../../src/core/pairs/pair-words.js';
import { makeReport, type ReportSketch } from '../../support/fleet.js';

/** What vLLM with NIXL says of itself, as its side channel and `/server_info` do. */
const NIXL: TransferValues = {
  connector: 'nixl',
  mode: 'pull',
  compatibility_hash: 'a'.repeat(64),
  tokens_per_block: 32,
  block_layout: 'HND',
  dtype: 'bfloat16',
  kv_cache_dtype: 'auto',
  attention_backend: 'FLASH_ATTN',
  layer_count: 4,
  kv_head_count: 8,
  head_size: 64,
};

/** What a test says of a worker; the rest is as of two that fit. */
export interface PairSketch extends Omit<ReportSketch, 'transfer' | 'position'> {
  readonly transfer?:
    | { readonly [Field in keyof TransferValues]?: TransferValues[Field] | undefined }
    | 'none';
  readonly sideChannels?: TransferContract['sideChannels'];
  readonly position?: Partial<WorkerPosition>;
}

function contractOf(target: string, sketch: PairSketch): TransferContract | undefined {
  if (sketch.transfer === 'none') return undefined;
  const all = Object.entries({ ...NIXL, ...sketch.transfer }).filter(([, value]) => value !== undefined);
  const origin = `GET http://${target}:8000/server_info`;
  return {
    values: Object.fromEntries(all),
    sideChannels: sketch.sideChannels ?? [
      { dataParallelRank: 0, address: `${target}:5600`, state: 'answered', reason: '' },
    ],
    origins: Object.fromEntries(all.map(([field]) => [field, origin])),
  };
}

/** A position with a key of its own. */
export function positionAt(position: Partial<WorkerPosition>): WorkerPosition {
  const whole = { ...NO_POSITION, ...position };
  return { ...whole, key: JSON.stringify([whole, [...whole.links]]) };
}

/** The report of a worker of one role. */
export function pairReport(
  target: string,
  role: 'prefill' | 'decode' | 'aggregated',
  sketch: PairSketch = {},
): WorkerReport {
  const { transfer: _transfer, position, sideChannels: _channels, ...rest } = sketch;
  const transfer = role === 'aggregated' ? undefined : contractOf(target, sketch);
  return makeReport(target, {
    ...rest,
    serving: { ...rest.serving, role },
    ...(transfer === undefined ? {} : { transfer }),
    position: positionAt(position ?? {}),
  });
}

/** A worker of one role, as a book takes it. */
export function pairMember(target: string, role: 'prefill' | 'decode', sketch: PairSketch = {}): PairMember {
  const member = pairMemberOf(target, pairReport(target, role, sketch));
  if (member === undefined) throw new Error(`${role} is a role`);
  return member;
}

/** A book of `prefill-0` and `decode-0`, whose side channel answers unless `isAsked` is false. */
export function bookOfTwo(
  prefill: PairSketch,
  decode: PairSketch,
  { policy = 'warn', isAsked = true }: { readonly policy?: PairPolicy; readonly isAsked?: boolean } = {},
): PairBook {
  const book = new PairBook({ policy });
  book.setMember(pairMember('prefill-0', 'prefill', prefill));
  book.setMember(pairMember('decode-0', 'decode', decode));
  if (isAsked) answerFor(book, 'prefill-0', 'decode-0');
  return book;
}

/** The decode side reaches the side channel. */
export function answerFor(book: PairBook, prefill: string, decode: string): void {
  const instance = book.member(prefill)?.instanceId ?? '';
  book.setChannel(prefill, instance, book.classOf(prefill, decode), { state: 'reachable' });
}
