import { describe, expect, it } from 'vitest';
import { renderTopology } from '../../../../src/cli/commands/status/topology-table.js';
import { CapabilityReport, LinkKind, type Topology } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { Worker } from '../../../../src/gen/kvaccord/v1/fleet.js';

/** Two GPUs of one NVLink fabric with a NIC each. */
const TOPOLOGY: Topology = CapabilityReport.fromPartial({
  topology: {
    gpus: [0, 1].map((index) => ({
      uuid: `GPU-${index}`,
      index,
      productName: 'NVIDIA H100',
      memoryBytes: 80n * 2n ** 30n,
      pciBusId: `0000:0${index}:00.0`,
      numaNode: index,
      fabricClusterUuid: '7f3a9c1e-0000-0000-0000-000000000000',
      fabricCliqueId: '1',
    })),
    nics: [{ name: 'mlx5_0' }],
    links: [
      { a: 'GPU-0', b: 'GPU-1', kind: LinkKind.NVLINK, laneCount: 18 },
      { a: 'GPU-1', b: 'mlx5_0', kind: LinkKind.PIX },
    ],
    placement: { nodeName: 'node-a', zone: 'eu-1a', rack: '12' },
  },
}).topology as Topology;

function fleet(...workers: readonly { target: string; topology?: Partial<Topology> }[]): string[] {
  return renderTopology({
    type: 'aggregator',
    agreements: [],
    workers: workers.map(({ target, topology }) =>
      Worker.fromPartial({
        member: { target },
        ...(topology === undefined ? {} : { report: { workerId: `id-of-${target}`, topology } }),
      }),
    ),
  }).split('\n');
}

describe('the topology of a fleet', () => {
  it('has a line for each worker: where it is, its GPUs, how they are linked, its fabric', () => {
    const [head, row] = fleet({ target: '10.0.0.1:50061', topology: TOPOLOGY });
    expect(head).toMatch(/^NODE +PLACE +WORKER +GPUS +GPU LINKS +FABRIC +NUMA +NICS +WHY$/);
    expect(row).toMatch(
      /^node-a +zone eu-1a, rack 12 +id-of-10\.0\.0\.1:50061 \(10\.0\.0\.1:50061\) +2 x NVIDIA H100 +NV18 +7f3a9c1e\.1 +0,1 +1$/,
    );
  });

  it('puts neighbours together, and says why a worker has nothing to show', () => {
    const on = (nodeName: string): Partial<Topology> => ({
      ...TOPOLOGY,
      placement: { nodeName, topologyDomains: {} },
    });
    const rows = fleet(
      { target: 'c', topology: on('node-b') },
      { target: 'b', topology: on('node-a') },
      { target: 'd' },
      { target: 'a', topology: on('node-b') },
      { target: 'e', topology: { notes: ['no GPU found: nvidia-smi not on PATH'] } },
    );
    const targets = rows.slice(1, -1).map((row) => /\bid-of-(\w)|^-.*? (d) /.exec(row)?.slice(1).join(''));
    expect(targets.join('')).toMatch(/bac/);
    expect(rows.find((row) => row.includes('no report yet'))).toMatch(/ d /);
    expect(rows.find((row) => row.includes('id-of-e'))).toMatch(/no GPU found: nvidia-smi not on PATH$/);
  });

  it('counts pairs of GPUs where their links differ', () => {
    const gpus = [0, 1, 2].map((index) => ({
      ...(TOPOLOGY.gpus[0] as Topology['gpus'][0]),
      uuid: `GPU-${index}`,
    }));
    const links = [
      { a: 'GPU-0', b: 'GPU-1', kind: LinkKind.NVLINK, laneCount: 4 },
      { a: 'GPU-0', b: 'GPU-2', kind: LinkKind.SYS },
      { a: 'GPU-1', b: 'GPU-2', kind: LinkKind.SYS },
    ];
    expect(fleet({ target: 'a', topology: { ...TOPOLOGY, gpus, links } })[1]).toContain(' NV4 1, SYS 2 ');
  });
});

describe('the topology of one worker', () => {
  const render = (topology: Partial<Topology>): string =>
    renderTopology({ type: 'sidecar', report: CapabilityReport.fromPartial({ workerId: 'w', topology }) });

  it('has every GPU, and every link as nvidia-smi prints them', () => {
    expect(render(TOPOLOGY)).toBe(
      [
        'w: zone eu-1a, rack 12, node node-a',
        '',
        'GPU   PRODUCT      MEMORY  PCI BUS       NUMA  CPUS  FABRIC      MIG',
        'GPU0  NVIDIA H100  80 GiB  0000:00:00.0  0     -     7f3a9c1e.1  -',
        'GPU1  NVIDIA H100  80 GiB  0000:01:00.0  1     -     7f3a9c1e.1  -',
        '',
        '      GPU0  GPU1  mlx5_0',
        'GPU0  X     NV18  -',
        'GPU1  NV18  X     PIX',
        '',
      ].join('\n'),
    );
  });

  it('says what each reader found where there is no GPU', () => {
    expect(render({ notes: ['no GPU found: nvidia-smi not on PATH'] })).toBe(
      'w: no GPU is known\nno GPU found: nvidia-smi not on PATH\n',
    );
  });

  it('shows hostile names as text', () => {
    const gpus = [{ ...(TOPOLOGY.gpus[0] as Topology['gpus'][0]), productName: 'H100\u001b[2J\nGPU9 fake' }];
    const text = render({ ...TOPOLOGY, gpus, links: [] });
    expect(text).not.toContain('\u001b');
    expect(text).not.toMatch(/^GPU9/m);
  });
});
