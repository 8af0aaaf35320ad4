/**
 * What 1,000 prefill and 1,000 decode workers cost the book of pairs: a change of one of them, a look-up, the decode workers of
 * one prefill worker, and memory. The floor of a change is judging one pair; that of a look-up is two look-ups in a `Map`.
 */
import { NO_POSITION } from '../src/core/contract/worker-position.js';
import { judgeProfiles } from '../src/core/pairs/judge-profiles.js';
import { PairBook } from '../src/core/pairs/pair-book.js';
import type { PairMember } from '../src/core/pairs/pair-member.js';
import type { TransferProfile } from '../src/core/pairs/transfer-profile.js';
import { EngineKind } from '../src/gen/kvaccord/v1/capabilities.js';
import { figure, IS_QUICK, median, title } from './support/figures.js';

const WORKERS = 1_000;
const PER_HOST = 8;
const ROUNDS = IS_QUICK ? 3 : 9;
const CALLS = IS_QUICK ? 200 : 2_000;

function profileOf(dtype: string): TransferProfile {
  const profile = {
    engineKind: EngineKind.VLLM,
    engineVersion: '0.32.0',
    connector: 'nixl',
    connectorVersion: '6',
    role: undefined,
    compatibilityHash: dtype,
    mode: 'pull' as const,
    tokensPerBlock: 32,
    blockLayout: 'HND',
    dtype,
    kvCacheDtype: dtype,
    attentionBackend: 'FLASH_ATTN',
    layerCount: 32,
    kvHeadCount: 8,
    headSize: 128,
    tensorParallelSize: 1,
    decodeContextParallelSize: 1,
    modelRevision: undefined,
  };
  return { ...profile, key: JSON.stringify(Object.values(profile)) };
}

function memberOf(role: PairMember['role'], at: number, instance: number): PairMember {
  const target = `${role}-${at}:50061`;
  const node = `node-${role}-${Math.floor(at / PER_HOST)}`;
  const position = { ...NO_POSITION, node, zone: `zone-${at % 3}`, region: 'eu', key: `${node} ${at}` };
  return {
    target,
    workerId: `${role}-${at}`,
    instanceId: `${target}-${instance}`,
    role,
    profile: profileOf(at % 10 === 0 ? 'float16' : 'bfloat16'),
    sideChannels: [
      { dataParallelRank: 0, address: `10.0.0.${at % 250}:5600`, state: 'answered', reason: '' },
    ],
    origins: {},
    position,
  };
}

function bookOf(count: number): PairBook {
  const book = new PairBook({ policy: 'warn' });
  for (let at = 0; at < count; at += 1) {
    book.setMember(memberOf('prefill', at, 0));
    book.setMember(memberOf('decode', at, 0));
  }
  return book;
}

/** Microseconds of one call, as the median of the rounds. */
function measured(call: (at: number) => unknown, calls = CALLS): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const startNs = process.hrtime.bigint();
    for (let at = 0; at < calls; at += 1) call(at);
    return Number(process.hrtime.bigint() - startNs) / calls / 1_000;
  });
  return median(rounds);
}

title(`pairs of ${WORKERS.toLocaleString('en')} prefill and ${WORKERS.toLocaleString('en')} decode workers`);
globalThis.gc?.();
const beforeBytes = process.memoryUsage().heapUsed;
const book = bookOf(WORKERS);
globalThis.gc?.();
figure('memory of a worker', (process.memoryUsage().heapUsed - beforeBytes) / (2 * WORKERS), 'bytes');

let instance = 0;
const changed = Array.from({ length: CALLS }, (_, at) => memberOf('decode', at % WORKERS, 1));
const one = profileOf('bfloat16');
const other = profileOf('float16');
figure(
  'floor of a change: one pair is judged',
  measured(() => judgeProfiles(one, other)),
  'us',
);
figure(
  'a worker starts again',
  measured((at) => {
    instance += 1;
    const member = changed[at % changed.length] as PairMember;
    book.setMember({ ...member, instanceId: `${instance}` });
    return book.hasNoPartner(member.target);
  }),
  'us',
);
const targets = Array.from(
  { length: WORKERS },
  (_, at) => [`prefill-${at}:50061`, `decode-${at}:50061`] as const,
);
const plain = new Map<string, string>(targets.map(([prefill, decode]) => [prefill, decode]));
figure(
  'floor of a look-up: two in a Map',
  measured((at) => {
    const [prefill, decode] = targets[at % WORKERS] as readonly [string, string];
    return plain.get(prefill) === plain.get(decode);
  }, 100_000),
  'us',
);
figure(
  'a look-up: state and class of a pair',
  measured((at) => {
    const [prefill] = targets[at % WORKERS] as readonly [string, string];
    const [, decode] = targets[(at * 7) % WORKERS] as readonly [string, string];
    return book.mayUse(prefill, decode) && book.classOf(prefill, decode);
  }, 100_000),
  'us',
);
figure(
  'all decode workers of one prefill worker, with their classes',
  measured((at) => {
    let seen = 0;
    book.forEachDecode((targets[at % WORKERS] as readonly [string, string])[0], () => {
      seen += 1;
    });
    return seen;
  }, 200),
  'us',
);
figure(
  'how many pairs are in each state, after a change',
  measured((at) => {
    instance += 1;
    book.setMember({ ...(changed[at % changed.length] as PairMember), instanceId: `${instance}` });
    return book.counts;
  }, 10),
  'us',
);
