import { describe, expect, it } from 'vitest';
import { LinkKind, Topology } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { readTopology } from '../../../src/worker/topology/read-topology.js';
import { topologyReaders } from '../../../src/worker/topology/readers.js';
import { parseTopologyFile, topologyFileReader } from '../../../src/worker/topology/topology-file.js';
import { FakeClock } from '../../support/fake-clock.js';
import { madeHost, never, recordedHost } from './support.js';

const YAML = `
driver_version: "535.129.03"
gpus:
  - uuid: GPU-a
    product_name: NVIDIA H100 80GB HBM3
    memory_bytes: 85899345920
    pci_bus_id: 00000000:0F:00.0
    numa_node: 0
    cpu_affinity: 0-55,112-167
  - uuid: GPU-b
links:
  - { a: GPU-a, b: GPU-b, kind: LINK_KIND_NVLINK, lane_count: 18 }
numa_nodes:
  - { index: 0, cpus: 7 }
placement:
  zone: a
  topology_domains: { rack: r1 }
`;

describe('a recorded topology', () => {
  it('is read as YAML', () => {
    const topology = parseTopologyFile(YAML, 'topo.yaml');
    expect(topology.gpus[0]).toMatchObject({
      uuid: 'GPU-a',
      memoryBytes: 85_899_345_920n,
      pciBusId: '0000:0f:00.0',
      cpuAffinity: '0-55,112-167',
    });
    expect(topology.links[0]).toMatchObject({ kind: LinkKind.NVLINK, laneCount: 18 });
    expect(topology.numaNodes).toEqual([{ index: 0, cpus: '7' }]);
    expect(topology.placement).toMatchObject({ zone: 'a', topologyDomains: { rack: 'r1' } });
  });

  it('is read as the proto JSON that a report shows, and comes back the same', async () => {
    const options = { readers: topologyReaders, host: recordedHost('h100-nvswitch'), clock: new FakeClock() };
    const topology = await readTopology(options, never);
    const json = JSON.stringify(Topology.toJSON(topology));
    expect(parseTopologyFile(json, 'topo.json')).toEqual(topology);
  });

  it('is a reader that is asked again each time', async () => {
    let uuid = 'GPU-a';
    const readFile = async (): Promise<string> => `{"gpus": [{"uuid": "${uuid}"}]}`;
    const reader = topologyFileReader({ path: 'topo.json' }, { readFile });
    const read = (): Promise<Topology> =>
      readTopology(
        {
          readers: [reader],
          host: madeHost({ environment: { CUDA_VISIBLE_DEVICES: '' } }),
          clock: new FakeClock(),
          onlyVisible: false,
        },
        never,
      );
    expect((await read()).gpus[0]?.uuid).toBe('GPU-a');
    uuid = 'GPU-b';
    expect((await read()).gpus[0]?.uuid).toBe('GPU-b');
  });

  it.each([
    ['gpu: []', 'topology.gpu in t.yaml is no known member; topology has gpus, links, nics,'],
    ['gpus: 7', 'topology.gpus is 7 in t.yaml; give a list'],
    ['gpus: [{}]', 'topology.gpus[0] in t.yaml has no uuid; every entry needs one'],
    [
      'gpus: [{uuid: a, numa_node: -1}]',
      'topology.gpus[0].numa_node is -1 in t.yaml; give an integer from 0 to 4294967295',
    ],
    [
      'gpus: [{uuid: a, memory_bytes: many}]',
      'topology.gpus[0].memory_bytes is "many" in t.yaml; give an integer from 0 to 18446744073709551615',
    ],
    ['gpus: [{uuid: a, index: 1.5}]', 'topology.gpus[0].index is 1.5 in t.yaml'],
    [
      'gpus: [{uuid: a, cpu_affinity: all}]',
      'topology.gpus[0].cpu_affinity is "all" in t.yaml; give a list such as 0-55,112-167',
    ],
    [
      'gpus: [{uuid: a, pci_bus_id: slot 3}]',
      'pci_bus_id is "slot 3" in t.yaml; give an address such as 0000:06:00.0',
    ],
    [
      'links: [{a: x, b: y, kind: NVLINK}]',
      'topology.links[0].kind is "NVLINK" in t.yaml; give one of LINK_KIND_NVLINK, LINK_KIND_PIX,',
    ],
    ['placement: {zone: 3}', 'topology.placement.zone is 3 in t.yaml; give a text of at most 256 characters'],
    ['[]', 'topology is [] in t.yaml; give a mapping of names to values'],
    ['', 'topology is null in t.yaml; give a mapping'],
    ['<html><body>', 't.yaml'],
    ['gpus: [', 't.yaml is neither JSON nor YAML'],
    ['a: &a [x]\nb: *a', 't.yaml has YAML aliases; write the values out'],
    [`nics: [${'{name: a},'.repeat(257)}]`, 'topology.nics has 257 entries in t.yaml; give at most 256'],
    ['__proto__: {gpus: []}', '__proto__ in t.yaml is no known member'],
  ])('is refused with the place and what would be right: %s', (text, message) => {
    expect(() => parseTopologyFile(text, 't.yaml')).toThrow(message);
  });
});
