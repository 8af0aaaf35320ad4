import { describe, expect, it } from 'vitest';
import { LinkKind } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { readTopology } from '../../../../src/worker/topology/read-topology.js';
import { topologyReaders } from '../../../../src/worker/topology/readers.js';
import { type PciPlace, pciLinkKind, pciPathOf } from '../../../../src/worker/topology/sysfs/pci-tree.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { madeHost, never } from '../support.js';

const place = (path: string, numaNode?: number): PciPlace => ({
  path: pciPathOf(`../../../devices/${path}`) ?? [],
  numaNode,
});

describe('the PCI tree', () => {
  it.each([
    [
      'behind one switch',
      '15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0',
      '15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0',
      'PIX',
    ],
    [
      'behind switches in a row',
      '15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0/0000:19:00.0/0000:1a:00.0',
      '15:01.0/0000:16:00.0/0000:17:01.0/0000:1b:00.0',
      'PXB',
    ],
    ['two functions of one card', '15:01.0/0000:16:00.0', '15:01.0/0000:16:00.1', 'PIX'],
    ['two ports of one host bridge', '15:01.0/0000:16:00.0', '15:03.0/0000:1a:00.0', 'PHB'],
  ])('%s', (_what, a, b, kind) => {
    const link = pciLinkKind(place(`pci0000:15/0000:${a}`), place(`pci0000:15/0000:${b}`));
    expect(link).toBe(LinkKind[kind as keyof typeof LinkKind]);
  });

  it('lets NUMA nodes decide between host bridges, and says nothing where they are unknown', () => {
    const at = (bridge: string, numaNode?: number): PciPlace =>
      place(`pci0000:${bridge}/0000:${bridge}:01.0/0000:${bridge}:02.0`, numaNode);
    expect(pciLinkKind(at('15', 0), at('26', 0))).toBe(LinkKind.NODE);
    expect(pciLinkKind(at('15', 0), at('97', 1))).toBe(LinkKind.SYS);
    expect(pciLinkKind(at('15'), at('97', 1))).toBeUndefined();
  });

  it('finds host bridges behind other folders, and takes other links for no place', () => {
    expect(pciPathOf('../../../devices/platform/14a0.pcie/pci0008:00/0008:00:00.0/0008:01:00.0')).toEqual([
      'pci0008:00',
      '0008:00:00.0',
      '0008:01:00.0',
    ]);
    for (const none of ['', '../../../devices/virtual/net/lo', 'pci0000:15', 'pci0000:15/../../etc'])
      expect(pciPathOf(none)).toBeUndefined();
  });

  it('links AMD GPUs to the adapters beside them, below what amd-smi reports of GPUs', async () => {
    const gpu = (at: number): object => ({
      gpu: at,
      asic: {
        market_name: 'AMD Instinct MI300X',
        asic_serial: `0x${at + 1}`,
        target_graphics_version: 'gfx942',
      },
      bus: { bdf: `0000:1${at}:00.0` },
    });
    const device = '/sys/bus/pci/devices';
    const files = Object.fromEntries(
      ['10', '11', '12'].flatMap((bus) => [
        [`${device}/0000:${bus}:00.0/vendor`, bus === '12' ? '0x15b3' : '0x1002'],
        [`${device}/0000:${bus}:00.0/class`, bus === '12' ? '0x020700' : '0x120000'],
        [`${device}/0000:${bus}:00.0/numa_node`, '0'],
      ]),
    );
    const host = madeHost({
      files: { ...files, '/sys/class/infiniband/mlx5_0/node_type': '1' },
      links: {
        '/sys/class/infiniband/mlx5_0/device': '../../../0000:12:00.0',
        [`${device}/0000:10:00.0`]: '../../../devices/pci0000:0f/0000:0f:01.0/0000:10:00.0',
        [`${device}/0000:11:00.0`]: '../../../devices/pci0000:20/0000:20:01.0/0000:11:00.0',
        [`${device}/0000:12:00.0`]: '../../../devices/pci0000:0f/0000:0f:02.0/0000:12:00.0',
      },
      commands: {
        'amd-smi static --json': JSON.stringify([gpu(0), gpu(1)]),
        'amd-smi topology --json': JSON.stringify([{ gpu: 0, links: [{ gpu: 1, link_type: 'XGMI' }] }]),
        'amd-smi list --json': '[]',
      },
    });
    const topology = await readTopology({ readers: topologyReaders, host, clock: new FakeClock() }, never);
    expect(topology.links.map(({ a, b, kind }) => [a, b, kind])).toEqual([
      ['GPU-0000000000000001', 'GPU-0000000000000002', LinkKind.XGMI],
      ['GPU-0000000000000001', 'mlx5_0', LinkKind.PHB],
      ['GPU-0000000000000002', 'mlx5_0', LinkKind.NODE],
    ]);
    expect(topology.nics).toEqual([{ name: 'mlx5_0', pciBusId: '0000:12:00.0', numaNode: 0 }]);
  });
});
