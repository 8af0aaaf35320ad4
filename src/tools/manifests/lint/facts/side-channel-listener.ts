import { isAtLeast } from '../launches/dynamo-version.js';
import { flagOf, numberOf, variableOf } from '../launches/settings.js';
import type { Span } from '../text/span.js';
import type { PairFacts } from './pair-facts.js';

const NIXL_PORT = 5600;
const BOOTSTRAP_PORT = 8998;

/** Where an engine of a pair is asked before a transfer. */
export interface SideChannelListener {
  readonly facts: PairFacts;
  readonly what: 'side channel' | 'bootstrap server';
  readonly setting: string;
  readonly port: number;
  /** One more for each data-parallel rank. */
  readonly count: number;
  readonly isDefault: boolean;
  readonly span: Span;
}

/** Undefined for one that listens nowhere, and where its port is not in these files. */
export function listenerOf(facts: PairFacts | undefined): SideChannelListener | undefined {
  if (facts === undefined) return undefined;
  const { launch } = facts.worker;
  const isSglang = launch.backend === 'sglang';
  if (isSglang ? facts.role !== 'prefill' : !facts.usesNixl) return undefined;
  // Of an engine on several nodes the first one alone listens.
  const rank = isSglang ? flagOf(launch, '--node-rank') : undefined;
  if (launch.site?.isFollower === true || (rank !== undefined && rank.value !== '0')) return undefined;
  const name = isSglang ? '--disaggregation-bootstrap-port' : 'VLLM_NIXL_SIDE_CHANNEL_PORT';
  const given = isSglang ? flagOf(launch, name) : variableOf(launch, name);
  const mayBeUnseen = isSglang ? launch.hasUnseenArgs : launch.hasUnseenEnv;
  // Dynamo's wrapper takes a port that is free, and its first releases take no other one.
  if (given === undefined && (mayBeUnseen || launch.isDynamo)) return undefined;
  if (launch.isDynamo && !isSglang && launch.version !== undefined && !isAtLeast(launch.version, 0, 8))
    return undefined;
  const port = given === undefined ? (isSglang ? BOOTSTRAP_PORT : NIXL_PORT) : numberOf(given);
  if (port === undefined) return undefined;
  const ranks = numberOf(flagOf(launch, '--data-parallel-size', '-dp')) ?? 1;
  return {
    facts,
    what: isSglang ? 'bootstrap server' : 'side channel',
    setting: name,
    port,
    count: isSglang ? 1 : Math.min(ranks, 64),
    isDefault: given === undefined,
    span: given?.span ?? launch.at,
  };
}
