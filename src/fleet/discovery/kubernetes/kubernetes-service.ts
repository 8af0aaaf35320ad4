import { isIP } from 'node:net';
import { nameSome } from '../../../core/text/lists.js';
import { onOneLine } from '../../../core/text/printable.js';
import { integerAt, listAt, textAt, valueAt } from '../../../edge/kubernetes/read-json.js';
import { formatTcp } from '../../../edge/platform/address.js';
import { MAX_ENDPOINTS } from '../limits.js';
import type { Endpoint } from '../source.js';
import { POD_NAME } from './kubernetes-pods.js';
import type { ClusterMembers } from './kubernetes-source.js';
import { onePerAddress } from './one-per-address.js';
import type { PodClue } from './pod-controllers.js';

/** What addresses and names of hosts are made of, and how long the longest is: what else comes reaches no name and no log. */
const ADDRESS = /^[!-~]{1,253}$/;

/** Longest name of an object. */
const MAX_NAME_CHARS = 253;

const MAX_PORT_NAME_CHARS = 63;

/** Ports of one slice: the API server takes no more. */
const MAX_PORTS = 100;

/** What is kept of an EndpointSlice. */
export interface ListedSlice {
  readonly name: string;
  readonly addressType: string;
  /** Port numbers by their names. */
  readonly ports: ReadonlyMap<string, number>;
  readonly places: readonly ListedPlace[];
}

/** One endpoint of a slice. */
interface ListedPlace {
  /** All addresses of an endpoint are the same backend: the first is enough. */
  readonly address: string | undefined;
  readonly terminating: boolean;
  /** The pod behind it; undefined where the slice names none. */
  readonly pod: string | undefined;
  readonly uid: string | undefined;
}

/** Reads an EndpointSlice. Endpoints that are not ready are kept: they are the ones to wait for. */
export function readSlice(object: unknown): ListedSlice | undefined {
  const name = textAt(object, 'metadata', 'name');
  if (name === undefined) return undefined;
  const ports = new Map<string, number>();
  for (const port of listAt(object, 'ports')) {
    const number = integerAt(port, 'port');
    // A Service with one port need not name it.
    if (number !== undefined && ports.size < MAX_PORTS)
      ports.set(onOneLine(textAt(port, 'name') ?? '', MAX_PORT_NAME_CHARS), number);
  }
  return {
    name: onOneLine(name, MAX_NAME_CHARS),
    addressType: textAt(object, 'addressType') ?? '',
    ports,
    places: listAt(object, 'endpoints').slice(0, MAX_ENDPOINTS).map(readPlace),
  };
}

function readPlace(endpoint: unknown): ListedPlace {
  const address = listAt(endpoint, 'addresses')[0];
  const isPod = textAt(endpoint, 'targetRef', 'kind') === 'Pod';
  const pod = isPod ? textAt(endpoint, 'targetRef', 'name') : undefined;
  return {
    address: typeof address === 'string' && ADDRESS.test(address) ? address : undefined,
    terminating: valueAt(endpoint, 'conditions', 'terminating') === true,
    pod: pod !== undefined && POD_NAME.test(pod) ? pod : undefined,
    uid: isPod ? textAt(endpoint, 'targetRef', 'uid') : undefined,
  };
}

/** A Service of two families has a slice for each: IPv4 first, because older sidecars listen on it alone. */
const FAMILIES = ['IPv4', 'IPv6', 'FQDN'];

export interface SliceMembersOptions {
  /** A number, or the name of a port of the slices. */
  readonly port: number | string;
  /** What a member is called. */
  readonly nameOf: (pod: string) => string;
  readonly service: string;
  readonly namespace: string;
}

/** The members among the endpoints of a Service; a pod that is in several slices is one. */
export function membersOfSlices(
  slices: readonly ListedSlice[],
  { port, nameOf, service, namespace }: SliceMembersOptions,
): ClusterMembers {
  const sorted = [...slices].sort((a, b) => familyOf(a) - familyOf(b) || (a.name < b.name ? -1 : 1));
  const members = new Map<string, { readonly endpoint: Endpoint; readonly pod: PodClue }>();
  for (const slice of sorted) {
    for (const place of slice.places) {
      const endpoint = endpointOf(place, slice, port, nameOf);
      const known = members.get(endpoint.target)?.endpoint;
      if (known !== undefined && !isBetter(endpoint, known)) continue;
      members.set(endpoint.target, {
        endpoint,
        pod: { name: place.pod, draining: place.terminating, isKnown: false },
      });
    }
  }
  const found = [...members.values()].sort((a, b) => (a.endpoint.target < b.endpoint.target ? -1 : 1));
  return {
    endpoints: onePerAddress(found.map(({ endpoint }) => endpoint)),
    problems: found.length > 0 ? [] : [noneMessage(slices.length, service, namespace)],
    pods: found.map(({ pod }) => pod),
  };
}

function familyOf({ addressType }: ListedSlice): number {
  const index = FAMILIES.indexOf(addressType);
  return index === -1 ? FAMILIES.length : index;
}

/** Of two entries of one name: a pod that ends may still be listed beside the one that follows it. */
function isBetter(candidate: Endpoint, known: Endpoint): boolean {
  if (known.draining === true && candidate.draining !== true) return true;
  return (
    known.address === undefined && candidate.address !== undefined && candidate.draining === known.draining
  );
}

function endpointOf(
  { address, terminating, pod, uid }: ListedPlace,
  slice: ListedSlice,
  port: number | string,
  nameOf: (pod: string) => string,
): Endpoint {
  const number = typeof port === 'number' ? port : slice.ports.get(port);
  const isUsable = address !== undefined && (slice.addressType === 'FQDN' || isIP(address) !== 0);
  const place =
    isUsable && number !== undefined
      ? { address: formatTcp(address, number) }
      : {
          pending: number === undefined ? portText(slice, port) : `${slice.name} has no address for it yet`,
        };
  const draining = terminating ? { draining: true } : {};
  const target = pod === undefined ? (place.address ?? address ?? slice.name) : nameOf(pod);
  return { target, ...place, ...draining, ...(uid === undefined ? {} : { identity: uid }) };
}

function portText({ name, ports }: ListedSlice, port: number | string): string {
  const names = [...ports.keys()].filter((known) => known !== '');
  const has = names.length === 0 ? 'none of its ports has a name' : `its ports are ${nameSome(names)}`;
  return `${name} has no port "${port}": ${has}`;
}

function noneMessage(sliceCount: number, service: string, namespace: string): string {
  return sliceCount === 0
    ? `the Service ${service} has no EndpointSlices in the namespace ${namespace}; check its name and the namespace`
    : `the Service ${service} has no endpoints in the namespace ${namespace}; check that its selector has the labels of the pods`;
}
