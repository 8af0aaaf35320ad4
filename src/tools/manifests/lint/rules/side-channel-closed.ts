import type { PodSite } from '../../pod-site.js';
import type { Fleet } from '../facts/fleet.js';
import { carries, isBeside, isSelected } from '../facts/networks.js';
import { listenerOf, type SideChannelListener } from '../facts/side-channel-listener.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt } from '../findings/lint-rule.js';
import { nameOf } from '../launches/launch.js';
import { variableOf } from '../launches/settings.js';
import type { IngressLine, NetworkSite } from '../readers/network-site.js';
import { pairsIn } from './pair-settings.js';

/** The Service or the network policies before a prefill worker do not let decode workers reach its side channel. */
export const sideChannelClosed: Rule = {
  id: 'side-channel-closed',
  severity: 'error',
  summary:
    'Decode workers cannot reach the side channel of a prefill worker through its Service or network policies.',
  explanation:
    'Both engines answer their health checks. A decode worker that asks for KV blocks waits for an answer that never comes, and each request that is divided fails or is computed again.',
};

type Service = Extract<NetworkSite, { kind: 'Service' }>;
type NetworkPolicy = Extract<NetworkSite, { kind: 'NetworkPolicy' }>;

/** Looks at the Services and network policies beside each pair of pods. */
export function findClosedSideChannels(
  fleets: readonly Fleet[],
  networks: readonly NetworkSite[],
): readonly Finding[] {
  if (networks.length === 0) return [];
  const found = new Map<string, Finding>();
  for (const [prefill, decode] of fleets.flatMap((fleet) => pairsIn(fleet))) {
    const listener = listenerOf(prefill);
    const { site, source } = prefill.worker.launch;
    const decodeSite = decode.worker.launch.site;
    if (listener === undefined || site === undefined || decodeSite === undefined || site === decodeSite)
      continue;
    const beside = networks.filter((one) => isBeside(one, site, source.file));
    const finding = closedService(listener, beside) ?? closedPolicies(listener, site, decodeSite, beside);
    if (finding !== undefined) found.set(`${finding.file} ${finding.line}:${finding.column}`, finding);
  }
  return [...found.values()];
}

/** The Service whose name a prefill vLLM hands out. */
function closedService(
  { facts, what, port, count }: SideChannelListener,
  beside: readonly NetworkSite[],
): Finding | undefined {
  const { launch } = facts.worker;
  if (what !== 'side channel') return undefined;
  const host = variableOf(launch, 'VLLM_NIXL_SIDE_CHANNEL_HOST');
  const [name] = host?.value?.split('.') ?? [];
  const services = beside.filter(
    (one): one is Service => one.kind === 'Service' && one.labels !== undefined && one.name === name,
  );
  const [service] = services;
  if (host === undefined || service === undefined || services.length > 1) return undefined;
  // By the name of a headless one, pods are reached themselves.
  if (service.isHeadless || carries(service.ports, port, count)) return undefined;
  return findingAt(sideChannelClosed, service.at, {
    message: `${nameOf(launch)} hands out the Service ${service.name} as the host of its side channel, and the Service does not have ${portsText(port, count)}`,
    advice: `Add ${portsText(port, count)} to the Service, or hand out the pod's own address: VLLM_NIXL_SIDE_CHANNEL_HOST by a fieldRef to status.podIP.`,
    related: [{ span: host.span, says: `VLLM_NIXL_SIDE_CHANNEL_HOST is ${host.value}` }],
  });
}

/** Policies of which none lets the decode pods in. Each that selects the pod opens more; where one cannot be read, nothing is said. */
function closedPolicies(
  { facts, what, port, count, span }: SideChannelListener,
  site: PodSite,
  decode: PodSite,
  beside: readonly NetworkSite[],
): Finding | undefined {
  const policies = beside.filter((one): one is NetworkPolicy => one.kind === 'NetworkPolicy');
  if (policies.some(({ labels }) => labels === undefined)) return undefined;
  const selecting = policies.filter(({ labels }) => isSelected(labels, site));
  const [policy] = selecting;
  if (policy === undefined) return undefined;
  const lines = selecting.flatMap(({ ingress }) => ingress);
  if (lines.some((line) => opens(line, port, count, decode))) return undefined;
  const names = selecting.map(({ name }) => name).join(', ');
  return findingAt(sideChannelClosed, policy.at, {
    message: `the network ${selecting.length === 1 ? 'policy' : 'policies'} ${names} of ${nameOf(facts.worker.launch)} do${selecting.length === 1 ? 'es' : ''} not let the pods of ${decode.name} reach its ${what} at ${portsText(port, count)}`,
    advice: `Let the decode pods reach ${portsText(port, count)} (TCP), and every port where UCX moves the blocks over TCP.`,
    related: [{ span, says: `the ${what}` }],
  });
}

function opens({ ports, from }: IngressLine, port: number, count: number, decode: PodSite): boolean {
  const isLetIn = from === undefined || from.some((labels) => isSelected(labels, decode));
  return isLetIn && (ports === undefined || carries(ports, port, count));
}

function portsText(port: number, count: number): string {
  return count === 1
    ? `port ${port}`
    : `ports ${port} to ${port + count - 1}, one for each data-parallel rank`;
}
