import { describe, expect, it } from 'vitest';
import { LinkKind, Topology } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { topologyTables } from '../../../src/worker/sidecar/http/topology-tables.js';

const topology = Topology.fromPartial({
  gpus: [
    {
      uuid: 'GPU-a',
      index: 0,
      productName: 'NVIDIA GB200',
      memoryBytes: 192n * 2n ** 30n,
      pciBusId: '0008:01:00.0',
      numaNode: 0,
      fabricClusterUuid: 'c0ffee12-3456',
      fabricCliqueId: '7',
    },
    { uuid: 'GPU-b', index: 1, productName: 'NVIDIA GB200', numaNode: 1 },
  ],
  links: [
    { a: 'GPU-a', b: 'GPU-b', kind: LinkKind.NVLINK, laneCount: 18 },
    { a: 'GPU-b', b: 'mlx5_0', kind: LinkKind.PIX },
  ],
  nics: [{ name: 'mlx5_0', numaNode: 1 }],
  numaNodes: [{ index: 0, cpus: '0-71' }],
  placement: { nodeName: 'node-1', rack: 'r7', topologyDomains: { 'gpu.clique': 'c0ffee12.7' } },
});

describe("the tables of a sidecar's GPUs", () => {
  const [gpus, links, machine] = topologyTables(topology);

  it('have each GPU with its NVLink fabric', () => {
    expect(gpus?.rows[0]).toEqual([
      'GPU0',
      'NVIDIA GB200',
      '192 GiB',
      '0008:01:00.0',
      '0',
      '',
      'c0ffee12.7',
      '',
      'GPU-a',
    ]);
    expect(gpus?.rows[1]?.[6]).toBe('');
  });

  it('have each link from both of its ends', () => {
    expect(links?.columns).toEqual(['', 'GPU0', 'GPU1', 'mlx5_0']);
    expect(links?.rows).toEqual([
      ['GPU0', '·', 'NV18', ''],
      ['GPU1', 'NV18', '·', 'PIX'],
    ]);
  });

  it('say where the machine stands', () => {
    expect(machine?.rows).toEqual([
      ['node', 'node-1'],
      ['rack', 'r7'],
      ['gpu.clique', 'c0ffee12.7'],
      ['NUMA node 0', 'CPUs 0-71'],
      ['NIC mlx5_0', 'NUMA node 1'],
    ]);
  });

  it('are empty where nothing is known', () => {
    expect(topologyTables(undefined)).toEqual([]);
    expect(topologyTables(Topology.fromPartial({})).flatMap(({ rows }) => rows)).toEqual([]);
  });
});
