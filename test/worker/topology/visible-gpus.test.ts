import { describe, expect, it } from 'vitest';
import {
  Gpu,
  GpuLink,
  LinkKind,
  Nic,
  NumaNode,
  Topology,
} from '../../../src/gen/kvaccord/v1/capabilities.js';
import { visibleGpus } from '../../../src/worker/topology/visible-gpus.js';

const gpu = (at: number, more: Partial<Gpu> = {}): Gpu =>
  Gpu.create({
    uuid: `GPU-${String(at).repeat(8)}-0000`,
    index: at,
    productName: 'NVIDIA H100 80GB HBM3',
    pciBusId: `0000:0${at}:00.0`,
    numaNode: at < 2 ? 0 : 1,
    ...more,
  });
const host = Topology.create({
  gpus: [gpu(0), gpu(1), gpu(2), gpu(3)],
  links: [
    GpuLink.create({ a: gpu(0).uuid, b: gpu(1).uuid, kind: LinkKind.NVLINK, laneCount: 18 }),
    GpuLink.create({ a: gpu(0).uuid, b: gpu(2).uuid, kind: LinkKind.NVLINK, laneCount: 18 }),
    GpuLink.create({ a: gpu(0).uuid, b: 'mlx5_0', kind: LinkKind.PIX }),
    GpuLink.create({ a: gpu(3).uuid, b: 'mlx5_1', kind: LinkKind.PIX }),
  ],
  nics: [Nic.create({ name: 'mlx5_0' }), Nic.create({ name: 'mlx5_1' }), Nic.create({ name: 'eth9' })],
  numaNodes: [
    NumaNode.create({ index: 0, cpus: '0-7' }),
    NumaNode.create({ index: 1, cpus: '8-15' }),
    NumaNode.create({ index: 2, cpus: '' }),
  ],
});
const seen = (environment: Record<string, string | undefined>, topology: Topology = host): number[] =>
  visibleGpus(topology, environment).gpus.map((one) => one.index ?? -1);

describe('CUDA_VISIBLE_DEVICES', () => {
  it.each([
    ['unset', undefined, [0, 1, 2, 3]],
    ['empty', '', []],
    ['blank', '  ', []],
    ['indices', '1,2', [1, 2]],
    ['indices with blanks', ' 3 , 0', [0, 3]],
    ['-1', '-1', []],
    ['an invalid entry that hides what follows', '1,9,2', [1]],
    ['an invalid first entry', 'NoDevFiles', []],
    ['a stray comma', '1,,2', [1]],
    ['whole UUIDs', `${gpu(2).uuid},${gpu(0).uuid}`, [0, 2]],
    ['a cut UUID', 'GPU-11', [1]],
    ['a cut UUID in capitals', 'gpu-2222', [2]],
    ['no more than the prefix', 'GPU-', []],
    ['an unknown UUID before a known one', `GPU-99,${gpu(0).uuid}`, []],
    ['the same one twice', '1,1', [1]],
    ['a number too large to count', '99999999999999999999', []],
  ])('%s', (_what, value, kept) => {
    expect(seen({ CUDA_VISIBLE_DEVICES: value })).toEqual(kept);
  });

  it('says what an invalid entry hides', () => {
    expect(visibleGpus(host, { CUDA_VISIBLE_DEVICES: '1,9,2' }).notes).toEqual([
      'CUDA_VISIBLE_DEVICES=1,9,2: "9" names no GPU here, which hides it and all after it',
    ]);
    expect(visibleGpus(host, { CUDA_VISIBLE_DEVICES: '' }).notes).toEqual([
      'no GPU here is visible to this worker, of 4',
    ]);
  });

  it('refuses a cut UUID that could be two GPUs', () => {
    const twins = Topology.create({ gpus: [gpu(0, { uuid: 'GPU-aaaa1' }), gpu(1, { uuid: 'GPU-aaaa2' })] });
    expect(seen({ CUDA_VISIBLE_DEVICES: 'GPU-aaaa' }, twins)).toEqual([]);
    expect(seen({ CUDA_VISIBLE_DEVICES: 'GPU-aaaa2' }, twins)).toEqual([1]);
  });

  it('counts in the order of PCI addresses, not as the list stands', () => {
    const turned = Topology.create({ gpus: [gpu(3), gpu(1)] });
    expect(seen({ CUDA_VISIBLE_DEVICES: '0' }, turned)).toEqual([1]);
  });
});

describe('NVIDIA_VISIBLE_DEVICES', () => {
  it.each([
    ['unset', undefined, [0, 1, 2, 3]],
    ['empty', '', [0, 1, 2, 3]],
    ['void, which the runtime itself sets under CDI', 'void', [0, 1, 2, 3]],
    ['all', 'all', [0, 1, 2, 3]],
    ['none', 'none', []],
    ['indices', '0,3', [0, 3]],
    ['UUIDs', gpu(1).uuid, [1]],
    ['CDI names', 'nvidia.com/gpu=2', [2]],
    ['all by CDI', 'nvidia.com/gpu=all', [0, 1, 2, 3]],
    ['the path of the volume-mount strategy', '/var/run/nvidia-container-devices', [0, 1, 2, 3]],
    ['as many other indices as there are GPUs: the runtime has counted again', '4,5,6,7', [0, 1, 2, 3]],
    ['an index that is not here, beside one that is', '0,7', [0]],
  ])('%s', (_what, value, kept) => {
    expect(seen({ NVIDIA_VISIBLE_DEVICES: value })).toEqual(kept);
  });

  it('comes first: CUDA counts within what the container got', () => {
    expect(seen({ NVIDIA_VISIBLE_DEVICES: '2,3', CUDA_VISIBLE_DEVICES: '1' })).toEqual([3]);
    expect(seen({ NVIDIA_VISIBLE_DEVICES: 'void', CUDA_VISIBLE_DEVICES: '1' })).toEqual([1]);
  });

  it('says which entry names nothing', () => {
    expect(visibleGpus(host, { NVIDIA_VISIBLE_DEVICES: '0,7' }).notes).toEqual([
      'NVIDIA_VISIBLE_DEVICES names 7, which is not among the 4 GPUs here',
    ]);
  });
});

describe('MIG slices', () => {
  const parent = 'GPU-513536b6-7d19';
  const slice = (at: number): Gpu =>
    gpu(0, { uuid: `MIG-${at}e861fb0`, index: at, parentUuid: parent, migProfile: '1g.20gb' });
  const cutUp = Topology.create({
    gpus: [slice(0), slice(1), gpu(2)],
    links: [GpuLink.create({ a: parent, b: 'mlx5_0', kind: LinkKind.PIX })],
    nics: [Nic.create({ name: 'mlx5_0' })],
  });

  it.each([
    ['NVIDIA_VISIBLE_DEVICES', '0:1', [1]],
    ['NVIDIA_VISIBLE_DEVICES', 'MIG-0e861fb0', [0]],
    ['NVIDIA_VISIBLE_DEVICES', '1', [2]],
    ['NVIDIA_VISIBLE_DEVICES', parent, [0, 1]],
    ['CUDA_VISIBLE_DEVICES', 'MIG-1e', [1]],
  ])('%s=%s', (name, value, kept) => {
    expect(seen({ [name]: value }, cutUp)).toEqual(kept);
  });

  it('cannot tell slices by the older form, and says so', () => {
    const environment = { CUDA_VISIBLE_DEVICES: `MIG-${parent}/3/0` };
    expect(seen(environment, cutUp)).toEqual([0, 1]);
    expect(visibleGpus(cutUp, environment).notes).toEqual([
      `CUDA_VISIBLE_DEVICES: MIG-${parent}/3/0 is one of the 2 slices of its GPU; which one is not known, so all are kept`,
    ]);
    const one = Topology.create({ gpus: [slice(1)] });
    expect(visibleGpus(one, environment)).toMatchObject({ gpus: [{ index: 1 }], notes: [] });
  });

  it('keeps the links of the GPU that a slice belongs to', () => {
    expect(visibleGpus(cutUp, { NVIDIA_VISIBLE_DEVICES: '0:1' }).links).toHaveLength(1);
    expect(visibleGpus(cutUp, { NVIDIA_VISIBLE_DEVICES: '1' })).toMatchObject({ links: [], nics: [] });
  });
});

describe('AMD GPUs', () => {
  const amd = Topology.create({
    gpus: [0, 1, 2].map((at) => gpu(at, { uuid: `GPU-dc9128487920${at}000`, architecture: 'gfx942' })),
  });

  it.each([
    [{ HIP_VISIBLE_DEVICES: '1' }, [1]],
    [{ ROCR_VISIBLE_DEVICES: '1,2', HIP_VISIBLE_DEVICES: '1' }, [2]],
    [{ ROCR_VISIBLE_DEVICES: 'GPU-dc91284879202000' }, [2]],
    [{ CUDA_VISIBLE_DEVICES: '0' }, [0]],
    [{ HIP_VISIBLE_DEVICES: '2', CUDA_VISIBLE_DEVICES: '0' }, [2]],
    [{ NVIDIA_VISIBLE_DEVICES: 'none' }, [0, 1, 2]],
    [{ HIP_VISIBLE_DEVICES: '' }, []],
  ])('%j', (environment, kept) => {
    expect(seen(environment, amd)).toEqual(kept);
  });
});

describe('the rest of the host', () => {
  it('goes: links, NICs and NUMA nodes that touch no GPU that is left; links to GPUs of other workers stay', () => {
    const { links, nics, numaNodes } = visibleGpus(host, { CUDA_VISIBLE_DEVICES: '0,1' });
    expect(links.map((link) => link.b)).toEqual([gpu(1).uuid, gpu(2).uuid, 'mlx5_0']);
    expect(nics.map((nic) => nic.name)).toEqual(['mlx5_0']);
    expect(numaNodes.map((node) => node.index)).toEqual([0]);
  });

  it('goes wholly with the last GPU', () => {
    expect(visibleGpus(host, { CUDA_VISIBLE_DEVICES: '' })).toMatchObject({
      links: [],
      nics: [],
      numaNodes: [],
    });
  });

  it("stays where there is no GPU at all: the nodes are the worker's own", () => {
    const cpuOnly = Topology.create({ numaNodes: host.numaNodes });
    expect(visibleGpus(cpuOnly, {}).numaNodes).toHaveLength(3);
  });

  it('stays where no GPU reports its node', () => {
    const vm = Topology.create({ ...host, gpus: [gpu(0, { numaNode: undefined })] });
    expect(visibleGpus(vm, {}).numaNodes).toHaveLength(3);
  });

  it('leaves what it was given as it was', () => {
    const before = Topology.toJSON(host);
    visibleGpus(host, { CUDA_VISIBLE_DEVICES: '0' });
    expect(Topology.toJSON(host)).toEqual(before);
  });
});
