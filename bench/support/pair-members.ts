import { NO_POSITION } from '../../src/core/contract/topology/worker-position.js';
import { PairBook } from '../../src/core/pairs/pair-book.js';
import type { PairMember } from '../../src/core/pairs/pair-member.js';
import type { TransferProfile } from '../../src/core/pairs/transfer-profile.js';
import { EngineKind } from '../../src/gen/kvaccord/v1/capabilities.js';

/** Workers of each role on one host, and hosts in one rack. */
const PER_HOST = 4;
const HOSTS_PER_RACK = 16;
/** One of so many has weights of another dtype, and pairs with those alone. */
const EACH_OTHER_DTYPE = 10;

/** What a vLLM with NIXL says of itself. */
export function profileOf(dtype: string): TransferProfile {
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

/** Address of a worker. */
export function targetOf(role: PairMember['role'], at: number): string {
  return `${role}-${at}:50061`;
}

/** A worker among those of its role: four of each role on a host, 16 hosts in a rack, racks in three zones. */
export function memberOf(role: PairMember['role'], at: number, instance: number): PairMember {
  const target = targetOf(role, at);
  const host = Math.floor(at / PER_HOST);
  const rack = Math.floor(host / HOSTS_PER_RACK);
  const [node, zone] = [`node-${host}`, `zone-${rack % 3}`];
  const position = { ...NO_POSITION, node, rack: `rack-${rack}`, zone, region: 'eu', key: `${node} ${at}` };
  return {
    target,
    workerId: `${role}-${at}`,
    instanceId: `${target}-${instance}`,
    role,
    profile: profileOf(at % EACH_OTHER_DTYPE === 0 ? 'float16' : 'bfloat16'),
    sideChannels: [
      { dataParallelRank: 0, address: `10.0.0.${at % 250}:5600`, state: 'answered', reason: '' },
    ],
    origins: {},
    position,
  };
}

/** A member comes, and the side channels that are asked for because of it can be reached. */
export function join(book: PairBook, member: PairMember): void {
  book.setMember(member);
  for (const { prefillTarget, prefillInstanceId, class: pairClass } of book.openQuestions(member.target))
    book.setChannel(prefillTarget, prefillInstanceId, pairClass, { state: 'reachable' });
}

/** The book of so many prefill and so many decode workers. */
export function bookOf(count: number): PairBook {
  const book = new PairBook({ policy: 'warn' });
  for (let at = 0; at < count; at += 1) {
    join(book, memberOf('prefill', at, 0));
    join(book, memberOf('decode', at, 0));
  }
  return book;
}
