import { ChannelCredentials, type ServiceError } from '@grpc/grpc-js';
import {
  type Agreement,
  FleetClient,
  type GetAgreementResponse,
  MemberState,
} from '../../../src/gen/kvaccord/v1/fleet.js';
import {
  type DumpResponse,
  type FindMatchesResponse,
  IndexerClient,
  type Prompt,
} from '../../../src/gen/kvaccord/v1/indexer.js';
import { Tier } from '../../../src/gen/kvaccord/v1/kv_events.js';
import type { Truth } from './engine-truth.js';
import type { Served } from './kv-accord.js';
import { until } from './until.js';

/** A prompt by its tokens. */
interface AskedPrompt {
  readonly tokens: readonly number[];
  readonly adapter?: string;
  readonly salt?: string;
}

/** The agreement of the one model that an aggregator serves. */
export async function agreementOf(aggregator: Served): Promise<Agreement> {
  const client = new FleetClient(addressOf(aggregator), ChannelCredentials.createInsecure());
  try {
    const { agreement } = await unary<GetAgreementResponse>((done) =>
      client.getAgreement({ group: '' }, done),
    );
    if (agreement === undefined) throw new Error('an answer without an agreement');
    return agreement;
  } finally {
    client.close();
  }
}

/** Who holds how much of a prompt. */
export async function findMatches(
  aggregator: Served,
  { tokens, adapter = '', salt = '' }: AskedPrompt,
): Promise<FindMatchesResponse> {
  const client = new IndexerClient(addressOf(aggregator), ChannelCredentials.createInsecure());
  const form: Prompt['form'] = { $case: 'tokenIds', value: { ids: [...tokens] } };
  try {
    return await unary((done) =>
      client.findMatches({ group: '', prompt: { form, loraName: adapter, cacheSalt: salt } }, done),
    );
  } finally {
    client.close();
  }
}

/** Sequence hashes that an index credits the device of one rank of a worker with, sorted. */
async function heldBy(aggregator: Served, target: string, rank: number): Promise<bigint[]> {
  const client = new IndexerClient(addressOf(aggregator), ChannelCredentials.createInsecure());
  try {
    const held: bigint[] = [];
    let holder: number | undefined;
    const answers: AsyncIterable<DumpResponse> = client.dump({ group: '' });
    for await (const { payload } of answers) {
      if (payload?.$case === 'start') {
        holder = payload.value.holders.find(
          (candidate) => candidate.target === target && candidate.dataParallelRank === rank,
        )?.holder;
      } else if (payload?.$case === 'part' && payload.value.tier === Tier.DEVICE && holder !== undefined) {
        for (const entry of payload.value.entries) {
          if (entry.holders.includes(holder)) held.push(entry.sequenceHash);
        }
      }
    }
    return held.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  } finally {
    client.close();
  }
}

/** `127.0.0.1:1234`. */
export function addressOf({ grpcPort }: Served): string {
  return `127.0.0.1:${grpcPort}`;
}

function unary<Answer>(
  call: (done: (error: ServiceError | null, answer: Answer) => void) => void,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    call((error, answer) => (error === null ? resolve(answer) : reject(error)));
  });
}

/** Waits until all workers are verified, and the index is exact for all. */
export function untilVerified(aggregator: Served): Promise<boolean> {
  return until(
    `${aggregator.program.name} to route by exact pictures`,
    async () => {
      const { members, routingMode } = await agreementOf(aggregator);
      return routingMode === 'exact' && members.every(({ state }) => state === MemberState.VERIFIED);
    },
    { needs: [aggregator.program] },
  );
}

/**
 * Waits until an index credits one rank of a worker with every block that its engine holds
 * and with no other; resolves with the milliseconds from `sinceMs` of
 * `performance.now()` to then.
 */
export async function untilExact(
  aggregator: Served,
  target: string,
  { sequenceHashes }: Truth,
  sinceMs: number = performance.now(),
  rank = 0,
): Promise<number> {
  let held: readonly bigint[] = [];
  try {
    await until(
      `${aggregator.program.name} to know exactly what ${target} holds`,
      async () => {
        held = await heldBy(aggregator, target, rank);
        return held.length === sequenceHashes.length && held.every((hash, i) => hash === sequenceHashes[i]);
      },
      { pollMs: 20, needs: [aggregator.program] },
    );
  } catch (cause) {
    const missing = sequenceHashes.filter((hash) => !held.includes(hash)).length;
    const wrong = held.filter((hash) => !sequenceHashes.includes(hash)).length;
    const counts = `${sequenceHashes.length} blocks held, ${missing} of them unknown, ${wrong} wrongly credited`;
    throw new Error(counts, { cause });
  }
  return Math.round(performance.now() - sinceMs);
}
