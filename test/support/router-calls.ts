import { parseAddress } from '../../src/edge/platform/address.js';
import { RouterClient } from '../../src/gen/kvaccord/v1/router.js';
import type { AggregatorHarness } from './aggregator-harness.js';
import type { OpenThings } from './open-things.js';

/** A client of `kvaccord.v1.Router` of an aggregator. */
export function routerOf(open: OpenThings, harness: AggregatorHarness): RouterClient {
  const address = parseAddress(harness.grpc);
  if (address === undefined) throw new Error('it does not serve');
  const channel = harness.dialer.dial(address);
  open.add(() => channel.close());
  return channel.createClient(RouterClient);
}
