import type { Fleet } from '../facts/fleet.js';
import { type PairFacts, readPairFacts } from '../facts/pair-facts.js';
import { listenerOf, type SideChannelListener } from '../facts/side-channel-listener.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { type Launch, nameOf } from '../launches/launch.js';
import { variableOf } from '../launches/settings.js';
import { pairsIn } from './pair-settings.js';

const portRule: Rule = {
  id: 'side-channel-port',
  severity: 'error',
  summary: 'Two engines on one host have the same port for what comes before a transfer of KV blocks.',
  explanation:
    'Decode engines ask a prefill engine at its side channel (NIXL, 5600 by default) or bootstrap server (SGLang, 8998) how its blocks are fetched. The second engine cannot listen there, and ends; or who asks for its blocks meets the other engine, and each request that is divided fails.',
};

/** Engines of one pod, or of one script that gives each of them its own GPUs; and pods that share the network of their host. */
export const sideChannelPort: LintRule = {
  rule: portRule,
  check: (fleet) => {
    const listeners = fleet.workers.flatMap((worker) => listenerOf(readPairFacts(worker)) ?? []);
    return listeners.flatMap((one, index): readonly Finding[] => {
      const others = listeners.slice(0, index).filter((other) => overlap(one, other));
      const first = others.find((other) => isOneHost(one.facts, other.facts));
      if (first === undefined) return onHostNetwork(one, others);
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

/** Pods that may be put on one host, whose network they share, because nothing keeps the scheduler from it. */
function onHostNetwork(one: SideChannelListener, others: readonly SideChannelListener[]): readonly Finding[] {
  const site = one.facts.worker.launch.site;
  if (site === undefined || !mayShareHost(one)) return [];
  const hasReplicas = site.kind !== 'DaemonSet' && (site.replicas ?? 1) > 1;
  const first = others.find((other) => other.facts.worker.launch.site !== site && mayShareHost(other));
  if (first === undefined && !hasReplicas) return [];
  const whom = first === undefined ? 'another pod of it' : nameOf(first.facts.worker.launch);
  return [
    findingAt(portRule, one.span, {
      severity: 'warning',
      message: `${nameOf(one.facts.worker.launch)} has hostNetwork and its ${one.what} at port ${one.port}${one.isDefault ? ', the default' : ''}, and so has ${whom}: nothing keeps both from one host`,
      advice: `List the port as a containerPort, which keeps the scheduler from putting both on one host, or give each a port of its own: ${one.setting}.`,
      ...(first === undefined ? {} : { related: [{ span: first.span, says: `port ${first.port}` }] }),
    }),
  ];
}

function mayShareHost({ facts, port }: SideChannelListener): boolean {
  const { site, container } = facts.worker.launch;
  if (site === undefined || container === undefined) return false;
  if (!isOnHostNetwork(facts.worker.launch)) return false;
  // What keeps pods apart is not weighed.
  return !site.hasPlacement && !container.ports.includes(String(port));
}

function overlap(a: SideChannelListener, b: SideChannelListener): boolean {
  return a.what === b.what && a.port < b.port + b.count && b.port < a.port + a.count;
}

/** Containers of one pod; or commands of one script, of which each has GPUs of its own, so that both run at a time. */
function isOneHost(a: PairFacts, b: PairFacts): boolean {
  const [one, other] = [a.worker.launch, b.worker.launch];
  if (one.site !== undefined || other.site !== undefined)
    return one.site === other.site && one.container !== other.container;
  if (one.source !== other.source || one.container !== undefined || one.network !== other.network)
    return false;
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
    for (const [prefill, decode] of pairsIn(fleet, true)) {
      const { launch } = prefill.worker;
      // Dynamo's wrapper sets it to the pod's own address.
      if (!prefill.usesNixl || launch.isDynamo || !areInTwoPods(launch, decode.worker.launch)) continue;
      const host = launch.env.get('VLLM_NIXL_SIDE_CHANNEL_HOST');
      const isLocal = host === undefined ? !launch.hasUnseenEnv : isLoopback(host.value);
      if (!isLocal || isSentOnByAibrix(launch.site?.labels, host?.value)) continue;
      // On one host, whose network both share, they meet all the same.
      const mayMeet = [launch, decode.worker.launch].every(isOnHostNetwork);
      found.set(
        prefill.worker,
        findingAt(hostRule, host?.span ?? launch.at, {
          ...(mayMeet ? { severity: 'warning' as const } : {}),
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

/** By the pods themselves, or by the sections of a chart's values, of which each is a workload. */
function areInTwoPods(one: Launch, other: Launch): boolean {
  if (one.site !== undefined) return one.site !== other.site;
  return one.section !== undefined && other.section !== undefined && one.section !== other.section;
}

function isOnHostNetwork({ site }: Launch): boolean {
  return site?.isOnHostNetwork === true;
}

/**
 * AIBrix's gateway, from 0.4.1 on, gives the decode engine the address of the prefill pod instead of what that hands out
 * (`pd_disaggregation.go`), with its default connector type alone: a side channel that is bound on all addresses is then reached.
 */
function isSentOnByAibrix(
  labels: ReadonlyMap<string, string> | undefined,
  host: string | undefined,
): boolean {
  const isBoundEverywhere = host === '0.0.0.0' || host === '::';
  const type = labels?.get('model.aibrix.ai/kv-connector-type') ?? 'shfs';
  return isBoundEverywhere && labels?.has('model.aibrix.ai/name') === true && type === 'shfs';
}

function isLoopback(value: string | undefined): boolean {
  // An address of all interfaces is no place either: who connects to it reaches itself.
  return ['localhost', '::1', '0.0.0.0', '::'].includes(value ?? '') || value?.startsWith('127.') === true;
}
