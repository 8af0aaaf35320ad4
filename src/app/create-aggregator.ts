import { RpcDialer } from '../edge/rpc/channel.js';
import {
  Aggregator,
  type AggregatorModules,
  type AggregatorOptions,
} from '../fleet/aggregator/aggregator.js';
import {
  createFleetParts,
  type FleetParts,
  type FleetPartsModules,
  type FleetPartsOptions,
} from './fleet-parts.js';

/** Everything that an aggregator, its index and its router are made with. */
export interface CreateAggregatorOptions extends AggregatorOptions, FleetPartsOptions {}

export interface CreateAggregatorModules
  extends Omit<AggregatorModules, 'dialer' | 'parts'>,
    Pick<FleetPartsModules, 'createEngineReader' | 'isReachable'> {}

/** An aggregator that is not started yet, with what lives on its fleet. */
export interface CreatedAggregator extends Omit<FleetParts, 'parts'> {
  readonly aggregator: Aggregator;
}

/** Puts an aggregator together, for the commands, the demo, the benches and the tests alike. */
export function createAggregator(
  options: CreateAggregatorOptions,
  modules: CreateAggregatorModules,
): CreatedAggregator {
  const { clock, random, logger, registry, security, isReachable, createEngineReader } = modules;
  const { parts, ...made } = createFleetParts(options, {
    clock,
    random,
    logger,
    registry,
    createEngineReader,
    ...(isReachable === undefined ? {} : { isReachable }),
  });
  const dialer = new RpcDialer({}, { clock, security });
  return { aggregator: new Aggregator(options, { ...modules, dialer, parts }), ...made };
}
