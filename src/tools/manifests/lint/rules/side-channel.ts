import type { Fleet } from '../facts/fleet.js';
import { type PairFacts, readPairFacts } from '../facts/pair-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { nameOf } from '../launches/launch.js';
import { flagOf, numberOf, variableOf } from '../launches/settings.js';
import type { Span } from '../text/span.js';
import { pairsIn } from './pair-settings.js';

const portRule: Rule = {
  id: 'side-channel-port',
  severity: 'error',
  summary: 'Two engines on one host have the same port for what comes before a transfer of KV blocks.',
  explanation:
    'Decode engines ask a prefill engine at its side channel (NIXL, 5600 by default) or bootstrap server (SGLang, 8998) how its blocks are fetched. The second engine cannot listen there, and ends; or who asks for its blocks meets the other engine, and each request that is divided fails.',
};

const NIXL_PORT = 5600;
const BOOTSTRAP_PORT = 8998;

/** Engines of one pod, or of one script that gives each of them its own GPUs. */
export const sideChannelPort: LintRule = {
  rule: portRule,
  check: (fleet) => {
    const listeners = fleet.workers.flatMap((worker) => listenerOf(readPairFacts(worker)) ?? []);
    return listeners.flatMap((one, index): readonly Finding[] => {
      const first = listeners
        .slice(0, index)
        .find((other) => isOneHost(one.facts, other.facts) && overlap(one, other));
      if (first === undefined) return [];
      const ours = `${one.port}${one.isDefault ? ', the default' : ''}`;
      return [
        findingAt(portRule, one.span, {
          message: `${nameOf(one.facts.worker.launch)} has its ${one.what} at port ${ours}, and so has ${nameOf(first.facts.worker.launch)} on the same host`,
          advice: `Give each engine of a host a port of its own: ${one.setting}.`,
          related: [{ span: first.span, says: `port ${first.port}` }],
        }),
      ];
    });
  },
};

interface Listener {
  readonly facts: PairFacts;
  readonly what: 'side channel' | 'bootstrap server';
  readonly setting: string;
  readonly port: number;
  /** One more for each data-parallel rank. */
  readonly count: number;
  readonly isDefault: boolean;
  readonly span: Span;
}

function listenerOf(facts: PairFacts | undefined): Listener | undefined {
  if (facts === undefined) return undefined;
  const { launch } = facts.worker;
  const isSglang = launch.backend === 'sglang';
  if (isSglang ? facts.role !== 'prefill' : !facts.usesNixl) return undefined;
  const name = isSglang ? '--disaggregation-bootstrap-port' : 'VLLM_NIXL_SIDE_CHANNEL_PORT';
  const given = isSglang ? flagOf(launch, name) : variableOf(launch, name);
  const mayBeUnseen = isSglang ? launch.hasUnseenArgs : launch.hasUnseenEnv;
  // Dynamo's wrapper takes a port that is free.
  if (given === undefined && (mayBeUnseen || launch.isDynamo)) return undefined;
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

function overlap(a: Listener, b: Listener): boolean {
  return a.what === b.what && a.port < b.port + b.count && b.port < a.port + a.count;
}

/** Containers of one pod; or commands of one script, of which each has GPUs of its own, so that both run at a time. */
function isOneHost(a: PairFacts, b: PairFacts): boolean {
  const [one, other] = [a.worker.launch, b.worker.launch];
  if (one.site !== undefined || other.site !== undefined)
    return one.site === other.site && one.container !== other.container;
  if (one.source !== other.source || one.container !== undefined) return false;
  const gpus = [one, other].map((launch) => variableOf(launch, 'CUDA_VISIBLE_DEVICES')?.value);
  return gpus[0] !== undefined && gpus[1] !== undefined && gpus[0] !== gpus[1];
}

const hostRule: Rule = {
  id: 'side-channel-host',
  severity: 'error',
  summary: 'A prefill worker sends decode workers of other pods to localhost for its KV blocks.',
  explanation:
    "vLLM hands out VLLM_NIXL_SIDE_CHANNEL_HOST as the address of its side channel, localhost where it is not set. A decode worker in another pod then asks its own pod, finds nobody or another engine's name, and each request that is divided fails or is computed again.",
};

/** The address that a prefill vLLM hands out. */
export const sideChannelHost: LintRule = {
  rule: hostRule,
  check: (fleet: Fleet) => {
    const found = new Map<PairFacts['worker'], Finding>();
    for (const [prefill, decode] of pairsIn(fleet)) {
      const { launch } = prefill.worker;
      // Dynamo's wrapper sets it to the pod's own address.
      if (!prefill.usesNixl || launch.isDynamo || launch.site === undefined) continue;
      if (launch.site === decode.worker.launch.site) continue;
      const host = launch.env.get('VLLM_NIXL_SIDE_CHANNEL_HOST');
      const isLocal = host === undefined ? !launch.hasUnseenEnv : isLoopback(host.value);
      if (!isLocal) continue;
      found.set(
        prefill.worker,
        findingAt(hostRule, host?.span ?? launch.at, {
          message: `${nameOf(launch)} hands out ${host?.value ?? 'localhost'} as the host of its side channel, and ${nameOf(decode.worker.launch)} is another pod`,
          advice:
            "Set VLLM_NIXL_SIDE_CHANNEL_HOST to the pod's address: valueFrom: {fieldRef: {fieldPath: status.podIP}}.",
          related: [{ span: decode.worker.launch.at, says: 'the decode worker' }],
        }),
      );
    }
    return [...found.values()];
  },
};

function isLoopback(value: string | undefined): boolean {
  return value === 'localhost' || value === '::1' || value?.startsWith('127.') === true;
}
