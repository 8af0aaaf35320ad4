import type { Fleet } from '../facts/fleet.js';
import { type HostPort, hostPortsOf } from '../facts/host-ports.js';
import type { PairFacts } from '../facts/pair-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { type Launch, nameOf } from '../launches/launch.js';
import { flagOf, variableOf } from '../launches/settings.js';
import { pairsIn } from './pair-settings.js';

const portRule: Rule = {
  id: 'side-channel-port',
  severity: 'error',
  summary:
    'Two engines on one host have the same port for KV events, or for what comes before a transfer of KV blocks.',
  explanation:
    'Decode engines ask a prefill engine at its side channel (NIXL, 5600 by default) or bootstrap server (SGLang, 8998) how its blocks are fetched. The second engine cannot listen there, and ends; or who asks for its blocks meets the other engine, and each request that is divided fails. Two publishers of KV events cannot have one port either.',
};

/** Engines of one pod, of one compose file, or of one script that gives each of them its own GPUs; and pods that share the network of their host. */
export const sideChannelPort: LintRule = {
  rule: portRule,
  check: (fleet) => {
    const listeners = fleet.workers.flatMap(hostPortsOf);
    return listeners.flatMap((one, index): readonly Finding[] => {
      const others = listeners.slice(0, index).filter((other) => overlap(one, other));
      const first = others.find((other) => isOneHost(one.worker.launch, other.worker.launch));
      if (first === undefined) return onHostNetwork(one, others);
      const ours = `${one.port}${one.isDefault ? ', the default' : ''}`;
      const { launch } = one.worker;
      return [
        findingAt(portRule, one.span, {
          message: `${nameOf(launch)} has its ${one.what} at port ${ours}, and so has ${nameOf(first.worker.launch)} on the same host`,
          advice: `Give each engine of a host a port of its own: ${one.setting}.`,
          related: [{ span: first.span, says: `port ${first.port}` }],
        }),
      ];
    });
  },
};

/** Pods that may be put on one host, whose network they share, because nothing keeps the scheduler from it. */
function onHostNetwork(one: HostPort, others: readonly HostPort[]): readonly Finding[] {
  const { launch } = one.worker;
  const { site } = launch;
  if (site === undefined || !mayShareHost(launch)) return [];
  const hasReplicas = site.kind !== 'DaemonSet' && (site.replicas ?? 1) > 1 && !areKeptApart(launch, launch);
  const first = others.find(
    ({ worker }) =>
      worker.launch.site !== site &&
      mayShareHost(worker.launch) &&
      ![launch, worker.launch].some((pod) => pod.container?.ports.includes(String(one.port))) &&
      !areKeptApart(launch, worker.launch),
  );
  if (first === undefined && !hasReplicas) return [];
  const whom = first === undefined ? 'another pod of it' : nameOf(first.worker.launch);
  return [
    findingAt(portRule, one.span, {
      severity: 'warning',
      message: `${nameOf(launch)} has hostNetwork and its ${one.what} at port ${one.port}${one.isDefault ? ', the default' : ''}, and so has ${whom}: nothing keeps both from one host`,
      advice: `List the port as a containerPort, which keeps the scheduler from putting both on one host, or give each a port of its own: ${one.setting}.`,
      ...(first === undefined ? {} : { related: [{ span: first.span, says: `port ${first.port}` }] }),
    }),
  ];
}

/** What keeps pods apart by a rule of their own is not weighed. */
function mayShareHost(launch: Launch): boolean {
  return isOnHostNetwork(launch) && launch.site?.hasPlacement === false && launch.container !== undefined;
}

/** Whether two pods have a containerPort in common: with the network of the host it is a port of the host, and the scheduler puts no two on one. */
function areKeptApart(one: Launch, other: Launch): boolean {
  const ports = new Set(one.site?.containers.flatMap((container) => container.ports) ?? []);
  return other.site?.containers.some((container) => container.ports.some((port) => ports.has(port))) === true;
}

function overlap(a: HostPort, b: HostPort): boolean {
  return a.worker !== b.worker && a.port < b.port + b.count && b.port < a.port + a.count;
}

/** Variables that say which GPUs a program has; one that says other ones runs at the same time. */
const GPUS = [
  'CUDA_VISIBLE_DEVICES',
  'NVIDIA_VISIBLE_DEVICES',
  'HIP_VISIBLE_DEVICES',
  'ROCR_VISIBLE_DEVICES',
  'ASCEND_RT_VISIBLE_DEVICES',
  'ZE_AFFINITY_MASK',
] as const;

/** Containers of one pod; services of one compose file; or commands of one script, of which each has GPUs of its own, so that both run at a time. */
function isOneHost(one: Launch, other: Launch): boolean {
  if (one.site !== undefined || other.site !== undefined)
    return one.site === other.site && one.container !== other.container;
  if (one.source !== other.source || one.container !== undefined || one.network !== other.network)
    return false;
  const [ours, theirs] = [one, other].map((launch) => variableOf(launch, ...GPUS)?.value);
  if (ours !== undefined && theirs !== undefined) return ours !== theirs;
  if (one.service === undefined || other.service === undefined || one.service === other.service) return false;
  // With one port for their users, too, they are alternatives.
  const [port, second] = [one, other].map((launch) => flagOf(launch, '--port')?.value);
  return port !== undefined && second !== undefined && port !== second;
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
