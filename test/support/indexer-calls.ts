import { parseAddress } from '../../src/edge/platform/address.js';
import { type Clock, systemClock } from '../../src/edge/platform/clock.js';
import { callUnary } from '../../src/edge/rpc/call-unary.js';
import { IndexerClient, type Prompt } from '../../src/gen/kvaccord/v1/indexer.js';
import type { AggregatorHarness } from './aggregator-harness.js';
import { pack } from './kv-events.js';
import type { OpenThings } from './open-things.js';

/** How tests call. */
export const call: { readonly clock: Clock; readonly timeoutMs: number } = {
  clock: systemClock,
  timeoutMs: 5_000,
};

/** A client of `kvaccord.v1.Indexer` of an aggregator. */
export function indexerOf(open: OpenThings, harness: AggregatorHarness): IndexerClient {
  const address = parseAddress(harness.grpc);
  if (address === undefined) throw new Error('it does not serve');
  const channel = harness.dialer.dial(address);
  open.add(() => channel.close());
  return channel.createClient(IndexerClient);
}

/** A prompt by its sequence hashes. */
export function hashed(hashes: readonly number[]): Prompt {
  return { form: { $case: 'sequenceHashes', value: pack(hashes) }, loraName: '', cacheSalt: '' };
}

/** A prompt by its tokens. */
export function tokens(ids: readonly number[], about: Partial<Prompt> = {}): Prompt {
  return { loraName: '', cacheSalt: '', ...about, form: { $case: 'tokenIds', value: { ids: [...ids] } } };
}

/** `target/rank device,host,disk,external cacheView` for each match. */
export async function matches(indexer: IndexerClient, prompt: Prompt): Promise<string[]> {
  const response = await callUnary(indexer.findMatches.bind(indexer), { group: '', prompt }, call);
  return response.matches.map(
    (m) =>
      `${m.target}/${m.dataParallelRank} ${m.deviceBlocks},${m.hostBlocks},${m.diskBlocks},${m.externalBlocks} ${m.picture}`,
  );
}
