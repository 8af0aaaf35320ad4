import { describe, expect, it } from 'vitest';
import { LinkKind } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { amdSmiReader } from '../../../src/worker/topology/amd/amd-smi.js';
import { parseAmdSmi } from '../../../src/worker/topology/amd/amd-smi-json.js';
import { firstOfKernelList, kernelListHas, kernelListOf } from '../../../src/worker/topology/cpu-list.js';
import { parseNvidiaInformation, procNvidiaReader } from '../../../src/worker/topology/nvidia/proc-nvidia.js';
import { pciBusIdOf } from '../../../src/worker/topology/pci-bus-id.js';
import { parseLabels, placementReader } from '../../../src/worker/topology/placement.js';
import { sysfsNumaReader } from '../../../src/worker/topology/sysfs/sysfs-numa.js';
import { sysfsPciReader } from '../../../src/worker/topology/sysfs/sysfs-pci.js';
import { madeHost, never, recordedHost, recording } from './support.js';

describe('PCI addresses and kernel lists', () => {
  it.each([
    ['00000000:06:00.0', '0000:06:00.0'],
    ['0000:C4:00.0', '0000:c4:00.0'],
    ['06:00.0', '0000:06:00.0'],
    ['00010000:01:00.0', '10000:01:00.0'],
    ['0000:06:00', undefined],
    ['0000:06:00.9', undefined],
    ['N/A', undefined],
    ['', undefined],
  ])('brings %j to %j', (written, normal) => {
    expect(pciBusIdOf(written)).toBe(normal);
  });

  it('knows kernel lists', () => {
    expect(kernelListOf(' 0-55,112-167\n')).toBe('0-55,112-167');
    for (const none of ['', 'N/A', '-1', '0-', '1,,2', 'a', `${'1,'.repeat(5_000)}1`]) {
      expect(kernelListOf(none), none.slice(0, 20)).toBeUndefined();
    }
    expect(firstOfKernelList('9,3-5')).toBe(3);
    expect(kernelListHas('0-55,112-167', 113)).toBe(true);
    expect(kernelListHas('0-55,112-167', 56)).toBe(false);
    expect(kernelListHas('', 0)).toBe(false);
  });
});

describe('/proc/driver/nvidia', () => {
  it('reads GPUs and the driver version, and takes a UUID of question marks for none', async () => {
    const { topology, wholeHost } = await procNvidiaReader.read(recordedHost('h100-proc'), never);
    expect(topology.gpus.map(({ uuid, productName, pciBusId }) => ({ uuid, productName, pciBusId }))).toEqual(
      [
        {
          uuid: 'GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b',
          productName: 'NVIDIA H100 80GB HBM3',
          pciBusId: '0000:62:00.0',
        },
        { uuid: '', productName: 'NVIDIA H100 80GB HBM3', pciBusId: '0000:63:00.0' },
      ],
    );
    expect(topology.driverVersion).toBe('535.129.03');
    expect(wholeHost).toBe(true);
  });

  it('reads the version of the open kernel module', async () => {
    const version = 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build\n';
    const { topology } = await procNvidiaReader.read(
      madeHost({ files: { '/proc/driver/nvidia/version': version } }),
      never,
    );
    expect(topology.driverVersion).toBe('575.57.08');
  });

  it('is empty where there is no driver, and passes over files of another form', async () => {
    expect((await procNvidiaReader.read(madeHost({}), never)).topology.gpus).toEqual([]);
    expect(parseNvidiaInformation('<html>')).toBeUndefined();
  });
});

describe('sysfs', () => {
  it('reads node and CPUs of GPUs alone, -1 as unknown, and the addresses of RDMA adapters', async () => {
    const { topology } = await sysfsPciReader.read(recordedHost('h100-proc'), never);
    expect(
      topology.gpus.map(({ pciBusId, numaNode, cpuAffinity }) => [pciBusId, numaNode, cpuAffinity]),
    ).toEqual([
      ['0000:62:00.0', 0, '0-55,112-167'],
      ['0000:63:00.0', undefined, undefined],
    ]);
    expect(topology.nics).toEqual([
      expect.objectContaining({ name: 'mlx5_0', pciBusId: '0000:64:00.0', numaNode: 1 }),
    ]);
  });

  it('reads NUMA nodes in their order, also those without CPUs', async () => {
    const files = Object.fromEntries(
      [0, 10, 2].map((node) => [
        `/sys/devices/system/node/node${node}/cpulist`,
        node === 10 ? '\n' : `${node}\n`,
      ]),
    );
    const host = madeHost({ files: { ...files, '/sys/devices/system/node/online': '0,2,10\n' } });
    const { topology } = await sysfsNumaReader.read(host, never);
    expect(topology.numaNodes).toEqual([
      { index: 0, cpus: '0' },
      { index: 2, cpus: '2' },
      { index: 10, cpus: '' },
    ]);
  });

  it('is empty on a machine that has neither', async () => {
    expect((await sysfsPciReader.read(madeHost({}), never)).topology.gpus).toEqual([]);
    expect((await sysfsNumaReader.read(madeHost({}), never)).topology.numaNodes).toEqual([]);
  });
});

describe('amd-smi', () => {
  it('reads product, memory, node and CPUs, with the UUID and address of amd-smi list', async () => {
    const { topology } = await amdSmiReader.read(recordedHost('mi210'), never);
    expect(topology.gpus).toEqual([
      expect.objectContaining({
        uuid: '67ff740f-0000-1000-80e6-b5bb3c3ce0db',
        productName: 'AMD Instinct MI210',
        architecture: 'gfx90a',
        memoryBytes: 65_520n * 1_048_576n,
        pciBusId: '0000:23:00.0',
        numaNode: 1,
        cpuAffinity: '1-63,65-111',
      }),
    ]);
  });

  it('names a GPU as the runtime does, by its serial number, and reads each link once', async () => {
    const { topology } = await amdSmiReader.read(recordedHost('mi300x-links'), never);
    expect(topology.gpus.map((gpu) => gpu.uuid)).toEqual(['GPU-6f1f0a2b3c4d5e6f', 'GPU-dc91284879207f2b']);
    expect(topology.links).toEqual([
      expect.objectContaining({
        a: 'GPU-6f1f0a2b3c4d5e6f',
        b: 'GPU-dc91284879207f2b',
        kind: LinkKind.XGMI,
      }),
    ]);
    expect(topology.driverVersion).toBe('6.19.14');
  });

  it('does not take partitions that share a serial number for one GPU', () => {
    const partition = (gpu: number): object => ({
      gpu,
      asic: { market_name: 'AMD Instinct MI300X', asic_serial: '0xDC91284879207F2B' },
      bus: { bdf: `0000:01:00.${gpu}` },
    });
    const { gpus } = parseAmdSmi([partition(0), partition(1)], undefined, undefined);
    expect(gpus.map((gpu) => [gpu.uuid, gpu.pciBusId])).toEqual([
      ['', '0000:01:00.0'],
      ['', '0000:01:00.1'],
    ]);
  });

  it('reads links as maps, as before ROCm 6.3, and notes unknown ones', () => {
    const devices = [
      { gpu: 0, bus: { bdf: '0000:01:00.0' } },
      { gpu: 1, bus: { bdf: '0000:02:00.0' } },
    ];
    const old: unknown = JSON.parse(recording('topo/amd-smi-before-6.3.json'));
    expect(parseAmdSmi(devices, old, undefined).links).toEqual([
      expect.objectContaining({ a: '0000:01:00.0', b: '0000:02:00.0', kind: LinkKind.PCIE }),
    ]);
    const strange = [{ gpu: 0, links: [{ gpu: 1, link_type: 'TELEPATHY' }] }];
    expect(parseAmdSmi(devices, strange, undefined)).toMatchObject({
      links: [],
      notes: ['amd-smi topology: unknown link TELEPATHY is left out'],
    });
  });

  it('asks rocm-smi where amd-smi is not installed', async () => {
    const { topology } = await amdSmiReader.read(recordedHost('rocm-smi'), never);
    expect(topology.gpus).toEqual([
      expect.objectContaining({
        uuid: 'GPU-dc91284879207f2b',
        index: 0,
        productName: 'Radeon RX 7900 XT',
        architecture: 'gfx1100',
        memoryBytes: 21_458_059_264n,
        pciBusId: '0000:c4:00.0',
        numaNode: 0,
      }),
      expect.objectContaining({ uuid: '', productName: 'Raphael', pciBusId: '0000:c5:00.0', numaNode: 0 }),
    ]);
    expect(topology.links).toEqual([
      expect.objectContaining({
        a: 'GPU-dc91284879207f2b',
        b: '0000:c5:00.0',
        kind: LinkKind.PCIE,
      }),
    ]);
    expect(topology.driverVersion).toBe('6.10.5');
  });

  it('says what is not there, and what a program says instead of JSON', async () => {
    expect((await amdSmiReader.read(madeHost({}), never)).absent).toBe('amd-smi and rocm-smi not on PATH');
    const mute = madeHost({ commands: { 'amd-smi static --json': 'WARNING: No JSON data to report\n' } });
    expect((await amdSmiReader.read(mute, never)).absent).toBe(
      'amd-smi static --json printed no JSON: WARNING: No JSON data to report',
    );
  });

  it.each(['[{"gpu": 0', '{]', '[1,2,3] trailing'])('refuses broken JSON: %s', async (stdout) => {
    const host = madeHost({ commands: { 'amd-smi static --json': stdout } });
    await expect(amdSmiReader.read(host, never)).rejects.toThrow(
      'amd-smi static --json printed JSON that cannot be read',
    );
  });

  it.each([
    'null',
    '[]',
    '[null,1,"x",[]]',
    '{"gpu_data": 7}',
    '{"gpu":{}}',
    '[{"gpu":0,"asic":[],"vram":{"size":-1}}]',
  ])('survives JSON of other types: %s', (json) => {
    const parsed: unknown = JSON.parse(json);
    for (const gpu of parseAmdSmi(parsed, parsed, parsed).gpus)
      expect(gpu).toMatchObject({ uuid: '', productName: '', memoryBytes: undefined });
  });
});

describe('placement', () => {
  it("reads the files of Dynamo's operator, hidden ones left out", async () => {
    const host = madeHost({
      files: {
        '/topo/zone': ' us-east-1a\n',
        '/topo/rack': 'r17\n',
        '/topo/block': 'b2',
        '/topo/empty': '\n',
        '/topo/..data': 'x',
      },
      environment: { DYN_TOPOLOGY_MOUNT_PATH: '/topo', NODE_NAME: 'gpu-node-3' },
    });
    expect((await placementReader.read(host, never)).topology.placement).toEqual({
      nodeName: 'gpu-node-3',
      zone: 'us-east-1a',
      rack: 'r17',
      topologyDomains: { zone: 'us-east-1a', rack: 'r17', block: 'b2' },
    });
  });

  it('knows the NVLink clique by label or annotation, and region and clique by variables', async () => {
    const files = {
      '/etc/podinfo/annotations': 'nvidia.com/gpu.clique="old.1"\ntopology.kubernetes.io/rack="r1"\n',
      '/etc/podinfo/labels': 'nvidia.com/gpu.clique="7a3c.32766"\n',
    };
    expect((await placementReader.read(madeHost({ files }), never)).topology.placement).toMatchObject({
      rack: 'r1',
      topologyDomains: { 'gpu.clique': '7a3c.32766', rack: 'r1' },
    });
    const environment = { TOPOLOGY_REGION: 'eu-west', TOPOLOGY_ZONE: '', KV_ACCORD_GPU_CLIQUE: '7a3c.1' };
    expect((await placementReader.read(madeHost({ environment }), never)).topology.placement).toMatchObject({
      zone: undefined,
      topologyDomains: { region: 'eu-west', 'gpu.clique': '7a3c.1' },
    });
  });

  it("reads the pod's own labels", async () => {
    const labels =
      'app="vllm"\ntopology.kubernetes.io/region="eu-west"\ntopology.kubernetes.io/zone="eu-west-1b"\nnot a label\n';
    const host = madeHost({ files: { '/etc/podinfo/labels': labels } });
    expect((await placementReader.read(host, never)).topology.placement).toEqual({
      nodeName: undefined,
      zone: 'eu-west-1b',
      rack: undefined,
      topologyDomains: { region: 'eu-west', zone: 'eu-west-1b' },
    });
    expect(parseLabels('a="x\\"y"\nb="open\nc=bare\n')).toEqual(new Map([['a', 'x"y']]));
  });

  it('believes what the operator says over all others', async () => {
    const host = madeHost({
      files: { '/etc/dynamo/topology/zone': 'a' },
      environment: { KV_ACCORD_ZONE: 'b', TOPOLOGY_ZONE: 'c', TOPOLOGY_RACK: 'r' },
    });
    expect((await placementReader.read(host, never)).topology.placement).toMatchObject({
      zone: 'b',
      rack: 'r',
    });
  });

  it('says nothing where nothing is known', async () => {
    expect((await placementReader.read(madeHost({}), never)).topology.placement).toBeUndefined();
  });

  it('refuses a value that is no topology domain', async () => {
    const host = madeHost({ files: { '/etc/dynamo/topology/zone': 'z'.repeat(300) } });
    await expect(placementReader.read(host, never)).rejects.toThrow(
      "/etc/dynamo/topology/zone has 300 characters; a topology domain's value has at most 256",
    );
  });
});
