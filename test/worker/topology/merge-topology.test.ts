import { describe, expect, it } from 'vitest';
import {
  Gpu,
  GpuLink,
  LinkKind,
  Nic,
  NumaNode,
  Topology,
} from '../../../src/gen/kvaccord/v1/capabilities.js';
import { mergeTopology, type NamedPart } from '../../../src/worker/topology/merge-topology.js';

const part = (
  reader: string,
  topology: Parameters<typeof Topology.create>[0],
  wholeHost = false,
): NamedPart => ({
  reader,
  part: { topology: Topology.create(topology), wholeHost },
});

describe('merging', () => {
  it('joins by uuid and by PCI address, though each tool counts differently', () => {
    const { gpus } = mergeTopology([
      part('nvidia-smi-query', {
        gpus: [
          Gpu.create({ uuid: 'GPU-a', index: 0, productName: 'H100', pciBusId: '0000:62:00.0' }),
          Gpu.create({ uuid: 'GPU-b', index: 1, productName: 'H100', pciBusId: '0000:63:00.0' }),
        ],
      }),
      part('another', { gpus: [Gpu.create({ uuid: 'GPU-b', index: 0, architecture: 'Hopper' })] }),
      part(
        'sysfs-pci',
        { gpus: [Gpu.create({ pciBusId: '0000:63:00.0', numaNode: 1, cpuAffinity: '8-15' })] },
        true,
      ),
    ]);
    expect(gpus).toEqual([
      expect.objectContaining({ uuid: 'GPU-a', architecture: undefined, numaNode: undefined }),
      expect.objectContaining({
        uuid: 'GPU-b',
        index: 1,
        architecture: 'Hopper',
        numaNode: 1,
        cpuAffinity: '8-15',
      }),
    ]);
  });

  it('takes no GPU of the whole host beside those of the container', () => {
    const host = part(
      'proc-nvidia',
      { gpus: [Gpu.create({ uuid: 'GPU-x' }), Gpu.create({ uuid: 'GPU-a' })] },
      true,
    );
    const container = part('nvidia-smi-query', { gpus: [Gpu.create({ uuid: 'GPU-a' })] });
    expect(mergeTopology([container, host]).gpus.map((gpu) => gpu.uuid)).toEqual(['GPU-a']);
    expect(mergeTopology([host]).gpus.map((gpu) => gpu.uuid)).toEqual(['GPU-x', 'GPU-a']);
  });

  it('makes no GPU of an address alone', () => {
    const bus = part('sysfs-pci', { gpus: [Gpu.create({ pciBusId: '0000:01:00.0', numaNode: 0 })] }, true);
    expect(mergeTopology([bus]).gpus).toEqual([]);
  });

  it('does not take two GPUs with different uuids at one address for one', () => {
    const { gpus } = mergeTopology([
      part('a', { gpus: [Gpu.create({ uuid: 'GPU-a', pciBusId: '0000:01:00.0' })] }),
      part('b', { gpus: [Gpu.create({ uuid: 'GPU-b', pciBusId: '0000:01:00.0' })] }),
    ]);
    expect(gpus).toHaveLength(2);
  });

  it('does not take a slice for the whole GPU at its address', () => {
    const { gpus } = mergeTopology([
      part('a', { gpus: [Gpu.create({ uuid: 'MIG-1', parentUuid: 'GPU-a', pciBusId: '0000:01:00.0' })] }),
      part('b', { gpus: [Gpu.create({ memoryBytes: 80n, pciBusId: '0000:01:00.0' })] }),
    ]);
    expect(gpus[0]).toMatchObject({ uuid: 'MIG-1', memoryBytes: undefined });
  });

  it("keeps the kernel's word for the NUMA node, and says that another source differs", () => {
    const { gpus, notes } = mergeTopology([
      part('nvidia-smi-topo', {
        gpus: [Gpu.create({ uuid: 'GPU-a', pciBusId: '0000:01:00.0', numaNode: 3 })],
      }),
      part('sysfs-pci', { gpus: [Gpu.create({ pciBusId: '0000:01:00.0', numaNode: 0 })] }, true),
    ]);
    expect(gpus[0]?.numaNode).toBe(0);
    expect(notes).toEqual(['GPU-a: sysfs-pci says NUMA node 0, another source 3; 0 is kept']);
  });

  it("puts a node that holds CPUs in the place of the GPU's own memory node", () => {
    const { gpus, notes } = mergeTopology([
      part('amd-smi', { gpus: [Gpu.create({ uuid: 'GPU-a', numaNode: 6, cpuAffinity: '8-15' })] }),
      part('sysfs-numa', {
        numaNodes: [
          NumaNode.create({ index: 6, cpus: '' }),
          NumaNode.create({ index: 1, cpus: '8-15' }),
          NumaNode.create({ index: 0, cpus: '0-7' }),
        ],
      }),
    ]);
    expect(gpus[0]?.numaNode).toBe(1);
    expect(notes).toEqual(['GPU-a: NUMA node 6 has no CPUs; 1, which holds its CPU 8, is kept']);
  });

  it('knows a GPU that is cut up by its slices, which take its place in the machine from it', () => {
    const { gpus, links } = mergeTopology([
      part('nvidia-smi-query', {
        gpus: [
          Gpu.create({
            uuid: 'GPU-a',
            index: 0,
            productName: 'A100',
            pciBusId: '0000:01:00.0',
            memoryBytes: 80n,
          }),
          Gpu.create({ uuid: 'MIG-1', parentUuid: 'GPU-a', memoryBytes: 20n, pciBusId: '0000:01:00.0' }),
        ],
        links: [GpuLink.create({ a: 'GPU-a', b: 'mlx5_0', kind: LinkKind.PIX })],
        nics: [Nic.create({ name: 'mlx5_0' })],
      }),
      part('sysfs-pci', { gpus: [Gpu.create({ pciBusId: '0000:01:00.0', numaNode: 1 })] }, true),
    ]);
    expect(gpus).toEqual([
      expect.objectContaining({
        uuid: 'MIG-1',
        index: undefined,
        productName: 'A100',
        memoryBytes: 20n,
        numaNode: 1,
        parentUuid: 'GPU-a',
      }),
    ]);
    expect(links).toHaveLength(1);
  });

  it('names links by uuid where a source knew only the address, once for each pair', () => {
    const { links } = mergeTopology([
      part('amd-smi', {
        gpus: [Gpu.create({ productName: 'MI210', pciBusId: '0000:01:00.0' }), Gpu.create({ uuid: 'GPU-b' })],
        links: [GpuLink.create({ a: '0000:01:00.0', b: 'GPU-b', kind: LinkKind.XGMI })],
      }),
      part('other', {
        gpus: [Gpu.create({ uuid: 'GPU-a', pciBusId: '0000:01:00.0' })],
        links: [
          GpuLink.create({ a: 'GPU-b', b: 'GPU-a', kind: LinkKind.SYS }),
          GpuLink.create({ a: 'GPU-a', b: 'nothing', kind: LinkKind.SYS }),
        ],
      }),
    ]);
    expect(links).toEqual([expect.objectContaining({ a: 'GPU-a', b: 'GPU-b', kind: LinkKind.XGMI })]);
  });

  it('adds addresses to NICs by their name', () => {
    const { nics } = mergeTopology([
      part('nvidia-smi-topo', { nics: [Nic.create({ name: 'mlx5_0' })] }),
      part(
        'sysfs-pci',
        { nics: [Nic.create({ name: 'mlx5_0', pciBusId: '0000:18:00.0', numaNode: 0 })] },
        true,
      ),
    ]);
    expect(nics).toEqual([{ name: 'mlx5_0', pciBusId: '0000:18:00.0', numaNode: 0 }]);
  });

  it('drops what is past the limits, and says so', () => {
    const nics = Array.from({ length: 300 }, (_none, at) => Nic.create({ name: `n${at}` }));
    const merged = mergeTopology([part('x', { nics })]);
    expect(merged.nics).toHaveLength(256);
    expect(merged.notes).toEqual(['300 NICs were found; the first 256 are kept']);
  });

  it('leaves the parts as they were', () => {
    const given = part('a', { gpus: [Gpu.create({ uuid: 'GPU-a' })] });
    mergeTopology([given, part('b', { gpus: [Gpu.create({ uuid: 'GPU-a', productName: 'H100' })] })]);
    expect(given.part.topology.gpus[0]?.productName).toBe('');
  });
});
