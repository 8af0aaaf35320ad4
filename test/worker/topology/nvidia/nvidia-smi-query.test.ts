import { describe, expect, it } from 'vitest';
import { parseNvidiaSmiList } from '../../../../src/worker/topology/nvidia/nvidia-smi-list.js';
import { parseNvidiaSmiQuery } from '../../../../src/worker/topology/nvidia/nvidia-smi-query.js';
import { nvidiaSmiQueryReader } from '../../../../src/worker/topology/nvidia/nvidia-smi-query-reader.js';
import { madeHost, never, recordedHost, recording } from '../support.js';

const GPU = (inside: string): string =>
  `<nvidia_smi_log><gpu id="00000000:0F:00.0"><uuid>GPU-1</uuid>${inside}</gpu></nvidia_smi_log>`;

describe('nvidia-smi -q -x', () => {
  it('reads product, architecture, memory, address and versions of a v13 document, and passes over "N/A"', async () => {
    const { topology } = await nvidiaSmiQueryReader.read(recordedHost('a5000-v13'), never);
    expect(topology.driverVersion).toBe('590.44.01');
    expect(topology.cudaVersion).toBe('13.1');
    expect(topology.gpus).toEqual([
      expect.objectContaining({
        uuid: 'GPU-12345678-aaaa-bbbb-cccc-0123456789ab',
        index: 0,
        productName: 'NVIDIA RTX A5000',
        architecture: 'Ampere',
        memoryBytes: 24_564n * 1_048_576n,
        pciBusId: '0000:81:00.0',
        numaNode: undefined,
        fabricClusterUuid: undefined,
        fabricCliqueId: undefined,
      }),
    ]);
  });

  it('reads a card of a server with NVSwitch that was passed to a virtual machine alone: it is in no fabric', async () => {
    const { topology } = await nvidiaSmiQueryReader.read(recordedHost('h100-sxm-vm'), never);
    expect(topology.gpus).toEqual([
      expect.objectContaining({
        productName: 'NVIDIA H100 80GB HBM3',
        architecture: 'Hopper',
        memoryBytes: 81_559n * 1_048_576n,
        pciBusId: '0000:00:06.0',
        fabricClusterUuid: undefined,
        fabricCliqueId: undefined,
      }),
    ]);
  });

  it('reads a v10 document, where the address stands only in the id of the element', () => {
    const topology = parseNvidiaSmiQuery(recording('gtx-1070-v10/commands/nvidia-smi -q -x.txt'));
    expect(topology.gpus[0]).toMatchObject({
      uuid: 'GPU-f9ba66fc-a7f5-94c5-da19-019ef2f9c665',
      pciBusId: '0000:01:00.0',
      memoryBytes: 4_096n * 1_048_576n,
      architecture: undefined,
    });
    expect(topology.driverVersion).toBeUndefined();
  });

  it('gives MIG slices their UUID and profile from nvidia-smi -L, and their own memory', async () => {
    const { topology } = await nvidiaSmiQueryReader.read(recordedHost('a100-mig'), never);
    expect(topology.gpus).toHaveLength(5);
    expect(topology.gpus[1]).toMatchObject({
      uuid: 'MIG-ce861fb0-a248-58ce-a9a8-f9adbc22a66a',
      productName: 'NVIDIA A100-SXM4-80GB',
      migProfile: '1g.20gb',
      parentUuid: 'GPU-513536b6-7d19-9063-b049-1e69664bb298',
      memoryBytes: 19_968n * 1_048_576n,
      pciBusId: '0000:01:00.0',
    });
    expect(topology.gpus[4]?.uuid).toBe('MIG-930574a9-d43a-5d2b-95da-3e68384c8d6b');
  });

  it('names MIG slices in the older form when nvidia-smi -L does not tell', () => {
    const xml = recording('a100-mig/commands/nvidia-smi -q -x.txt');
    const uuids = parseNvidiaSmiQuery(xml, []).gpus.map((gpu) => gpu.uuid);
    expect(uuids[1]).toBe('MIG-GPU-513536b6-7d19-9063-b049-1e69664bb298/3/0');
    expect(uuids[4]).toBe('MIG-GPU-513536b6-7d19-9063-b049-1e69664bb298/6/0');
  });

  it('reads the fabric that a GPU has joined, and takes a cluster of zeros for none', () => {
    const fabric = (cluster: string): string =>
      GPU(
        `<fabric><state>Completed</state><status>Success</status><cliqueId>32766</cliqueId><clusterUuid>${cluster}</clusterUuid></fabric>`,
      );
    expect(parseNvidiaSmiQuery(fabric('c8f1a1a4-7b8e-4e5b-9d1e-2a2f3e1f0a11')).gpus[0]).toMatchObject({
      fabricClusterUuid: 'c8f1a1a4-7b8e-4e5b-9d1e-2a2f3e1f0a11',
      fabricCliqueId: '32766',
    });
    const none = parseNvidiaSmiQuery(fabric('00000000-0000-0000-0000-000000000000')).gpus[0];
    expect(none?.fabricClusterUuid).toBeUndefined();
    expect(none?.fabricCliqueId).toBeUndefined();
  });

  it.each(['N/A', '[N/A]', '[Not Supported]', 'Requested functionality has been deprecated', 'ERR!', ''])(
    'takes %j for no value',
    (none) => {
      const [gpu] = parseNvidiaSmiQuery(
        GPU(
          `<product_architecture>${none}</product_architecture><fb_memory_usage><total>${none}</total></fb_memory_usage>`,
        ),
      ).gpus;
      expect(gpu?.architecture).toBeUndefined();
      expect(gpu?.memoryBytes).toBeUndefined();
    },
  );

  it('says that nvidia-smi is not on PATH', async () => {
    const part = await nvidiaSmiQueryReader.read(madeHost({}), never);
    expect(part.absent).toBe('nvidia-smi not on PATH');
    expect(part.topology.gpus).toEqual([]);
  });

  it('passes on what nvidia-smi says when it fails', async () => {
    const stdout =
      "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n";
    const host = madeHost({ commands: { 'nvidia-smi -q -x': { stdout, stderr: '', exitCode: 9 } } });
    expect((await nvidiaSmiQueryReader.read(host, never)).absent).toBe(
      "nvidia-smi -q -x ended with exit code 9: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
    );
  });

  describe('refuses, naming the command and what came', () => {
    it.each([
      ['half a document', recording('a5000-v13/commands/nvidia-smi -q -x.txt').slice(0, 900), /broken XML/],
      [
        'a web page',
        '<!doctype html><html><head><title>404</title></head><body>no<br></body></html>',
        /broken XML .*404/,
      ],
      ['well-formed XML of something else', '<html><body>login</body></html>', /no <nvidia_smi_log>.*login/],
      ['nothing', '', /broken XML/],
      ['plain text', 'Segmentation fault', /broken XML|no <nvidia_smi_log>/],
      [
        'tags nested 1,000 deep',
        `${'<a>'.repeat(1_000)}x${'</a>'.repeat(1_000)}`,
        /cannot be read|no <nvidia_smi_log>/,
      ],
      [
        'entities that multiply',
        `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">${[...'bcdefghi'].map((name, at) => `<!ENTITY ${name} "${`&${'abcdefgh'[at]};`.repeat(10)}">`).join('')}]><nvidia_smi_log><driver_version>&i;</driver_version></nvidia_smi_log>`,
        /declares XML entities/,
      ],
    ])('%s', (_what, xml, message) => {
      expect(() => parseNvidiaSmiQuery(xml)).toThrow(message);
    });

    it('more devices than a report may have', () => {
      const many = `<nvidia_smi_log>${'<gpu id="0"><uuid>GPU-1</uuid></gpu>'.repeat(257)}</nvidia_smi_log>`;
      expect(() => parseNvidiaSmiQuery(many)).toThrow('more than 256 devices');
    });
  });

  it('expands no entities at all', () => {
    const xml = '<nvidia_smi_log><driver_version>&lol;&#65;&lt;</driver_version></nvidia_smi_log>';
    expect(parseNvidiaSmiQuery(xml).driverVersion).toBe('&lol;&#65;&lt;');
  });

  it('refuses names that mean something to every object', () => {
    const xml = '<nvidia_smi_log><gpu id="0"><constructor>x</constructor></gpu></nvidia_smi_log>';
    expect(() => parseNvidiaSmiQuery(xml)).toThrow('cannot be read');
  });
});

describe('nvidia-smi -L', () => {
  it('reads GPUs and their MIG slices', () => {
    const gpus = parseNvidiaSmiList(recording('a100-mig/commands/nvidia-smi -L.txt'));
    expect(gpus.map((gpu) => [gpu.index, gpu.migDevices.length])).toEqual([
      [0, 4],
      [1, 0],
      [2, 0],
      [3, 0],
    ]);
    expect(gpus[0]?.migDevices[2]).toEqual({
      index: 2,
      uuid: 'MIG-f00d722c-f4e1-52c9-aa31-750441ae1bfe',
      profile: '1g.20gb',
    });
  });

  it('reads slices named in the older form', () => {
    const text =
      'GPU 0: A100-SXM4-40GB (UUID: GPU-e86cb44c)\n  MIG 2c.3g.20gb  Device  1: (UUID: MIG-GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0/2/0)\n';
    expect(parseNvidiaSmiList(text)[0]?.migDevices[0]).toEqual({
      index: 1,
      uuid: 'MIG-GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0/2/0',
      profile: '2c.3g.20gb',
    });
  });

  it('passes over other lines, and a slice without a GPU', () => {
    expect(
      parseNvidiaSmiList('Warning: persistence mode is off\n  MIG 1g.5gb Device 0: (UUID: MIG-aaaaaaaa)\n'),
    ).toEqual([]);
  });
});
