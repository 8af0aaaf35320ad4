import { isMap, type YAMLMap } from 'yaml';
import type { YamlAccess } from '../../yaml-access.js';
import type { Span, TextSource } from '../text/span.js';

/** A port or a range of them, as one line of a policy or a Service has it. */
export interface PortLine {
  /** Undefined for a name. */
  readonly first: number | undefined;
  /** The same as `first` for a single one. */
  readonly last: number | undefined;
}

/** A way in that a NetworkPolicy opens. */
export interface IngressLine {
  /** Undefined: every port. */
  readonly ports: readonly PortLine[] | undefined;
  /** Labels of pods of the same namespace; undefined for everybody, or for peers that labels of pods alone do not describe. */
  readonly from: readonly ReadonlyMap<string, string>[] | undefined;
}

/** A Service or a NetworkPolicy, with what decides who reaches pods. */
export type NetworkSite = {
  readonly name: string;
  /** Undefined where the manifest leaves it to the person who applies it. */
  readonly namespace: string | undefined;
  /** Labels that pods must have; undefined where they are chosen by more than labels. */
  readonly labels: ReadonlyMap<string, string> | undefined;
  readonly source: TextSource;
  readonly at: Span;
} & (
  | { readonly kind: 'Service'; readonly isHeadless: boolean; readonly ports: readonly PortLine[] }
  | { readonly kind: 'NetworkPolicy'; readonly ingress: readonly IngressLine[] }
);

/** Of one set of files. */
export const MAX_NETWORK_SITES = 2_000;

/** Reads a Service, or a NetworkPolicy that says who may come in; undefined for every other object. */
export function readNetworkSite(
  source: TextSource,
  access: YamlAccess,
  object: YAMLMap,
): NetworkSite | undefined {
  const kind = access.text(object, 'kind')?.value;
  if (kind !== 'Service' && kind !== 'NetworkPolicy') return undefined;
  const metadata = access.map(object, 'metadata');
  const name = access.text(metadata, 'name');
  const spec = access.map(object, 'spec');
  if (name === undefined || spec === undefined || /[${}<>]/.test(name.value)) return undefined;
  const common = {
    name: name.value,
    namespace: access.text(metadata, 'namespace')?.value,
    source,
    at: { source, start: name.start, end: name.end, isExact: false },
  };
  if (kind === 'Service') {
    const isHeadless = access.text(spec, 'clusterIP')?.value === 'None';
    const ports = access.maps(spec, 'ports').map((port) => portLine(access, port));
    return { ...common, kind, labels: textsOf(access, access.map(spec, 'selector')), isHeadless, ports };
  }
  const types = access.texts(spec, 'policyTypes').map(({ value }) => value);
  if (types.length > 0 && !types.includes('Ingress')) return undefined;
  const ingress = access.maps(spec, 'ingress').map((line) => ingressLine(access, line));
  return { ...common, kind, labels: labelsOf(access, access.map(spec, 'podSelector')), ingress };
}

function ingressLine(access: YamlAccess, line: YAMLMap): IngressLine {
  const ports = access.maps(line, 'ports').filter((port) => {
    const protocol = access.text(port, 'protocol')?.value ?? 'TCP';
    return protocol === 'TCP';
  });
  const peers = access.maps(line, 'from').map((peer) => {
    const isPods =
      access.get(peer, 'namespaceSelector') === undefined && access.get(peer, 'ipBlock') === undefined;
    return isPods ? labelsOf(access, access.map(peer, 'podSelector')) : undefined;
  });
  const isAnybody = peers.length === 0 || peers.some((labels) => labels === undefined);
  return {
    ports:
      access.items(line, 'ports').length === 0
        ? undefined
        : ports.flatMap((port) => (hasPort(access, port) ? [portLine(access, port)] : [EVERY_PORT])),
    from: isAnybody ? undefined : peers.flatMap((labels) => labels ?? []),
  };
}

const EVERY_PORT: PortLine = { first: 0, last: 65_535 };

function hasPort(access: YamlAccess, port: YAMLMap): boolean {
  return access.get(port, 'port') !== undefined;
}

function portLine(access: YamlAccess, port: YAMLMap): PortLine {
  const first = access.number(port, 'port');
  return { first, last: access.number(port, 'endPort') ?? first };
}

/** Of a selector that has labels alone; an empty one is every pod. */
function labelsOf(
  access: YamlAccess,
  selector: YAMLMap | undefined,
): ReadonlyMap<string, string> | undefined {
  if (!isMap(selector) || access.items(selector, 'matchExpressions').length > 0) return undefined;
  return textsOf(access, access.map(selector, 'matchLabels'));
}

/** Undefined where a value is filled in later. */
function textsOf(access: YamlAccess, map: YAMLMap | undefined): ReadonlyMap<string, string> | undefined {
  const entries = access.textEntries(map).map(({ key, value }) => [key.value, value.value] as const);
  return entries.some(([, value]) => /[${}<>]/.test(value)) ? undefined : new Map(entries);
}
