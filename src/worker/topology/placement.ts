import type { Host } from '../../edge/platform/processes/host.js';
import { Placement, Topology } from '../../gen/kvaccord/v1/capabilities.js';
import { MAX_TOPOLOGY_DOMAINS, MAX_VALUE_CHARS, plainText } from './limits.js';
import { PLACEMENT_VARIABLES } from './placement-variables.js';
import type { TopologyPart, TopologyReader } from './reader.js';
import { TopologyError } from './reader.js';

/** Where Dynamo's operator mounts one file for each topology domain unless `DYN_TOPOLOGY_MOUNT_PATH` says otherwise. */
const DYNAMO_FOLDER = '/etc/dynamo/topology';
/** Where pods by custom mount their own labels through the downward API. */
const PODINFO_LABELS = '/etc/podinfo/labels';
/** Labels of nodes, and of pods since Kubernetes copies them (KEP-4742), that name a domain. */
const LABEL_DOMAIN = /^topology\.kubernetes\.io\/(.+)$/;
/** NVLink fabric and clique of a node, which GPU feature discovery puts on nodes and a pod may carry. */
const CLIQUE_LABEL = 'nvidia.com/gpu.clique';
const PODINFO_ANNOTATIONS = '/etc/podinfo/annotations';
const REGION = 'region';
const CLIQUE = 'gpu.clique';
const ZONE = 'zone';
const RACK = 'rack';

/**
 * Reads a downward-API file of labels: one `key="value"` a line, the value in
 * double quotes with backslash escapes. Other lines are passed over.
 * @internal
 */
export function parseLabels(text: string): Map<string, string> {
  const labels = new Map<string, string>();
  for (const line of text.split('\n', 1_024)) {
    const match = /^([A-Za-z0-9][\w./-]{0,316})=("(?:[^"\\]|\\.)*")$/.exec(line.trim());
    if (match?.[1] === undefined || match[2] === undefined) continue;
    try {
      labels.set(match[1], String(JSON.parse(match[2])));
    } catch {
      // An escape that Kubernetes does not write; the label is no domain anyway.
    }
  }
  return labels;
}

/**
 * Node, zone, rack and other topology domains. Sources, the first that has a value
 * wins: `KV_ACCORD_ZONE`, `KV_ACCORD_RACK`, `KV_ACCORD_NODE_NAME`; the folder
 * `DYN_TOPOLOGY_MOUNT_PATH` (one file for each domain, its name the domain and
 * its text the value, hidden files left out); pod labels
 * `topology.kubernetes.io/…` and `nvidia.com/gpu.clique` in
 * `/etc/podinfo/labels`, else annotations of these names beside it; and
 * `NODE_NAME`, `TOPOLOGY_ZONE`, `TOPOLOGY_REGION`, `TOPOLOGY_RACK`,
 * `KV_ACCORD_GPU_CLIQUE` as manifests set them from the downward API.
 */
export const placementReader: TopologyReader = {
  name: 'placement',
  async read(host: Host): Promise<TopologyPart> {
    const { environment } = host;
    const value = (...names: readonly string[]): string | undefined =>
      names.map((name) => plainText(environment[name] ?? '')).find((text) => text !== '');

    const domains = new Map<string, string>();
    for (const path of [PODINFO_ANNOTATIONS, PODINFO_LABELS]) {
      for (const [label, text] of parseLabels((await host.readFile(path)) ?? '')) {
        const domain = label === CLIQUE_LABEL ? CLIQUE : LABEL_DOMAIN.exec(label)?.[1];
        if (domain !== undefined && text !== '') domains.set(domain, text);
      }
    }
    // As environment, where no file is mounted: a label that the pod does not have is an empty text.
    for (const [domain, text] of [
      [REGION, value(PLACEMENT_VARIABLES.region, 'TOPOLOGY_REGION')],
      [CLIQUE, value(PLACEMENT_VARIABLES.gpuClique)],
    ] as const) {
      if (text !== undefined) domains.set(domain, text);
    }
    const folder = value('DYN_TOPOLOGY_MOUNT_PATH') ?? DYNAMO_FOLDER;
    for (const [domain, text] of await domainFilesOf(host, folder)) domains.set(domain, text);
    if (domains.size > MAX_TOPOLOGY_DOMAINS)
      throw new TopologyError(
        `${folder} and ${PODINFO_LABELS} name ${domains.size} topology domains; at most ${MAX_TOPOLOGY_DOMAINS} are read`,
      );

    const placement = Placement.create({
      nodeName: value(PLACEMENT_VARIABLES.nodeName, 'NODE_NAME', 'K8S_NODE_NAME') ?? domains.get('hostname'),
      zone: value(PLACEMENT_VARIABLES.zone) ?? domains.get(ZONE) ?? value('TOPOLOGY_ZONE'),
      rack: value(PLACEMENT_VARIABLES.rack) ?? domains.get(RACK) ?? value('TOPOLOGY_RACK'),
      topologyDomains: Object.fromEntries(domains),
    });
    const known = placement.nodeName ?? placement.zone ?? placement.rack ?? [...domains.keys()][0];
    return { topology: Topology.create(known === undefined ? {} : { placement }) };
  },
};

async function domainFilesOf(host: Host, folder: string): Promise<Map<string, string>> {
  const domains = new Map<string, string>();
  // Kubernetes keeps the real files in hidden folders, "..data", and links to them.
  const names = (await host.listFolder(folder)).filter((name) => !name.startsWith('.'));
  for (const name of names.slice(0, MAX_TOPOLOGY_DOMAINS + 1)) {
    const text = (await host.readFile(`${folder}/${name}`))?.trim() ?? '';
    if (text.length > MAX_VALUE_CHARS)
      throw new TopologyError(
        `${folder}/${name} has ${text.length} characters; a topology domain's value has at most ${MAX_VALUE_CHARS}`,
      );
    if (text !== '') domains.set(plainText(name), plainText(text));
  }
  return domains;
}
