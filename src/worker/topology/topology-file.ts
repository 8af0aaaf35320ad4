import { parseDocument } from 'yaml';
import { findYamlExcess, YAML_EXCESS } from '../../edge/platform/data/yaml-bounds.js';
import { firstLineOf } from '../../edge/platform/data/yaml-error.js';
import type { Topology } from '../../gen/kvaccord/v1/capabilities.js';
import { pciBusIdOf } from './pci-bus-id.js';
import type { TopologyPart, TopologyReader } from './reader.js';
import { TopologyError } from './reader.js';
import { topologyOfJson } from './topology-schema.js';

/** Longest topology file: the JSON of 256 GPUs with all their links stays below. */
const MAX_TOPOLOGY_FILE_BYTES = 16_777_216;

/** 256 GPUs have 65,000 links of some fifty pieces. */
const YAML_BOUNDS = { maxLexemes: 4_000_000, maxDepth: 16 };

/** Reads a text file, at most `maxBytes` of it; rejects when it is not there. */
export type ReadText = (path: string, maxBytes: number) => Promise<string>;

/**
 * Reads a recorded topology: `kvaccord.v1.Topology` as proto JSON, or the same
 * as YAML; members in either spelling, `numa_nodes` or `numaNodes`. Throws a
 * `TopologyError` that names the member, its value, the file and what would be
 * right.
 * @internal
 */
export function parseTopologyFile(text: string, path: string): Topology {
  const excess = findYamlExcess(text, YAML_BOUNDS);
  if (excess !== undefined) throw new TopologyError(`${path} ${YAML_EXCESS[excess]}`);
  // JSON is YAML. Aliases are refused: a few lines of them can stand for gigabytes.
  const document = parseDocument(text, { schema: 'core', uniqueKeys: true, intAsBigInt: true });
  const problem = document.errors[0];
  if (problem !== undefined)
    throw new TopologyError(`${path} is neither JSON nor YAML: ${firstLineOf(problem)}`);
  let json: unknown;
  try {
    json = document.toJS({ maxAliasCount: 0 });
  } catch {
    // The document was parsed without a problem: with no alias allowed, it fails for these alone.
    throw new TopologyError(`${path} has YAML aliases; write the values out`);
  }
  const topology = topologyOfJson(json, path);
  for (const device of [...topology.gpus, ...topology.nics]) {
    const { pciBusId } = device;
    if (pciBusId === undefined || pciBusId === '') continue;
    const normal = pciBusIdOf(pciBusId);
    if (normal === undefined)
      throw new TopologyError(
        `pci_bus_id is ${JSON.stringify(pciBusId)} in ${path}; give an address such as 0000:06:00.0`,
      );
    device.pciBusId = normal;
  }
  return topology;
}

/** The reader of `--topology FILE`. The file is read again each time, so that it can be changed. */
export function topologyFileReader(
  options: { readonly path: string },
  modules: { readonly readFile: ReadText },
): TopologyReader {
  return {
    name: 'topology-file',
    async read(): Promise<TopologyPart> {
      const text = await modules.readFile(options.path, MAX_TOPOLOGY_FILE_BYTES);
      return {
        topology: parseTopologyFile(text, options.path),
        absent: `${options.path} lists none`,
      };
    },
  };
}
