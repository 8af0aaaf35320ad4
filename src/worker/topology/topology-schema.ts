import { isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import { LinkKind, linkKindToJSON, Topology } from '../../gen/kvaccord/v1/capabilities.js';
import { kernelListOf } from './cpu-list.js';
import {
  MAX_GPUS,
  MAX_LINKS,
  MAX_NICS,
  MAX_NOTE_CHARS,
  MAX_NOTES,
  MAX_NUMA_NODES,
  MAX_TOPOLOGY_DOMAINS,
  MAX_VALUE_CHARS,
  plainText,
} from './limits.js';
import { TopologyError } from './reader.js';

const MAX_UINT32 = 4_294_967_295n;
const MAX_UINT64 = 18_446_744_073_709_551_615n;

/** What a member of the JSON may be; gives it back in the form of the generated type. */
type Check = (value: unknown, at: Place) => unknown;
/** Where in which file a value stands. */
interface Place {
  readonly path: string;
  readonly file: string;
}

/** Refuses a value, in the one form of such messages. */
function refuse(value: unknown, at: Place, right: string): never {
  const shown = plainText(
    JSON.stringify(value, (_key, inner) => (typeof inner === 'bigint' ? Number(inner) : inner)) ?? 'nothing',
    80,
  );
  throw new TopologyError(`${at.path} is ${shown} in ${at.file}; give ${right}`);
}

function text(maxChars: number = MAX_VALUE_CHARS): Check {
  return (value, at) =>
    typeof value === 'string' && value.length <= maxChars
      ? value
      : refuse(value, at, `a text of at most ${maxChars} characters`);
}

/** An integer; proto JSON writes 64-bit ones as text, and both forms are read. */
function integer(max: bigint, form: (value: bigint) => unknown): Check {
  return (value, at) => {
    const digits = typeof value === 'bigint' || typeof value === 'string' ? String(value) : '';
    if (!/^\d{1,20}$/.test(digits) || BigInt(digits) > max) refuse(value, at, `an integer from 0 to ${max}`);
    return form(BigInt(digits));
  };
}

const uint32: Check = integer(MAX_UINT32, Number);
const uint64: Check = integer(MAX_UINT64, (value) => value);

const kernelList: Check = (value, at) => {
  // A single CPU, `cpus: 7`, is a number to YAML.
  const list = typeof value === 'bigint' ? String(value) : value;
  if (list === '') return list;
  return (typeof list === 'string' && kernelListOf(list)) || refuse(value, at, 'a list such as 0-55,112-167');
};

const linkKind: Check = (value, at) => {
  const kinds = Object.values(LinkKind).filter((kind) => kind > 0);
  // Proto JSON takes the name of an enum value, or its number.
  const found = kinds.find((kind) => value === linkKindToJSON(kind) || value === BigInt(kind));
  return found ?? refuse(value, at, `one of ${kinds.map(linkKindToJSON).join(', ')}`);
};

function list(max: number, member: Check): Check {
  return (value, at) => {
    if (!Array.isArray(value)) refuse(value, at, 'a list');
    if (value.length > max)
      throw new TopologyError(`${at.path} has ${value.length} entries in ${at.file}; give at most ${max}`);
    return value.map((one, index) => member(one, { ...at, path: `${at.path}[${index}]` }));
  };
}

function textMap(max: number): Check {
  const check = text();
  return (value, at) => {
    const entries = Object.entries(membersOf(value, at));
    if (entries.length > max)
      throw new TopologyError(`${at.path} has ${entries.length} entries in ${at.file}; give at most ${max}`);
    return Object.fromEntries(
      entries.map(([key, one]) => [text()(key, at), check(one, { ...at, path: `${at.path}.${key}` })]),
    );
  };
}

/** A message: `members` by their name in the proto file; the JSON may write them either way. */
function message(members: Readonly<Record<string, Check>>, required: readonly string[] = []): Check {
  return (value, at) => {
    const checked: Record<string, unknown> = {};
    for (const [key, one] of Object.entries(membersOf(value, at))) {
      const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const check = Object.hasOwn(members, name) ? members[name] : undefined;
      const place = { ...at, path: `${at.path}.${name}` };
      if (check === undefined)
        throw new TopologyError(
          `${plainText(place.path)} in ${at.file} is no known member; ${at.path} has ${Object.keys(members).join(', ')}`,
        );
      const jsonName = name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
      // Proto JSON takes null as "not set".
      if (one !== null) checked[jsonName] = check(one, place);
    }
    for (const name of required)
      if (checked[name] === undefined)
        throw new TopologyError(`${at.path} in ${at.file} has no ${name}; every entry needs one`);
    return checked;
  };
}

function membersOf(value: unknown, at: Place): JsonObject {
  if (isJsonObject(value)) return value;
  return refuse(value, at, 'a mapping of names to values');
}

const gpu: Check = message(
  {
    uuid: text(),
    index: uint32,
    product_name: text(),
    architecture: text(),
    cuda_compute_capability: text(),
    memory_bytes: uint64,
    pci_bus_id: text(),
    numa_node: uint32,
    cpu_affinity: kernelList,
    mig_profile: text(),
    parent_uuid: text(),
    fabric_cluster_uuid: text(),
    fabric_clique_id: text(),
    pcie_root: text(),
  },
  ['uuid'],
);
const link: Check = message(
  { a: text(), b: text(), kind: linkKind, lane_count: uint32, nvlink_generation: uint32 },
  ['a', 'b', 'kind'],
);

const topology: Check = message({
  gpus: list(MAX_GPUS, gpu),
  links: list(MAX_LINKS, link),
  nics: list(MAX_NICS, message({ name: text(), pci_bus_id: text(), numa_node: uint32 }, ['name'])),
  numa_nodes: list(MAX_NUMA_NODES, message({ index: uint32, cpus: kernelList })),
  driver_version: text(),
  cuda_version: text(),
  placement: message({
    node_name: text(),
    zone: text(),
    rack: text(),
    topology_domains: textMap(MAX_TOPOLOGY_DOMAINS),
  }),
  notes: list(MAX_NOTES, text(MAX_NOTE_CHARS)),
});

/**
 * Makes a topology of the JSON or YAML of a recorded one. Unknown members and
 * values of the wrong type are refused, unlike in most readers of proto JSON:
 * a member that is misspelt here would silently be missing in every report.
 * Throws a `TopologyError` at the first wrong one.
 */
export function topologyOfJson(json: unknown, file: string): Topology {
  return Topology.fromPartial(topology(json, { path: 'topology', file }) as Partial<Topology>);
}
