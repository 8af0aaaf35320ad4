import { afterEach, describe, expect, it } from 'vitest';
import type { CommandOutput, Host } from '../../../src/edge/platform/processes/host.js';
import { LinkKind, Topology } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { readTopology } from '../../../src/worker/topology/read-topology.js';
import type { TopologyReader } from '../../../src/worker/topology/reader.js';
import { topologyReaders } from '../../../src/worker/topology/readers.js';
import { FakeClock } from '../../support/fake-clock.js';
import { madeHost, never, recordedHost } from './support.js';

const clock = new FakeClock();
afterEach(() => expect(clock.pendingTimers).toBe(0));

const read = (host: Host, readers: readonly TopologyReader[] = topologyReaders): Promise<Topology> =>
  readTopology({ readers, host, clock, timeoutMs: 1_000 }, never);

describe('reading the topology', () => {
  it('states that there is no GPU, as a fact', async () => {
    expect(await read(madeHost({}))).toEqual(
      Topology.create({
        notes: ['no GPU found: nvidia-smi not on PATH', 'no GPU found: amd-smi and rocm-smi not on PATH'],
      }),
    );
  });

  it('says that the host has GPUs which this process cannot use', async () => {
    const device = '/sys/bus/pci/devices/0000:62:00.0';
    const host = madeHost({
      files: { [`${device}/vendor`]: '0x10de\n', [`${device}/class`]: '0x030200\n' },
    });
    const topology = await read(host);
    expect(topology.gpus).toEqual([]);
    expect(topology.notes).toContain(
      'the PCI bus of this host shows GPUs (1), but none that this process can use',
    );
  });

  it('puts a whole server together', async () => {
    const topology = await read(recordedHost('h100-nvswitch', { CUDA_VISIBLE_DEVICES: '0,1' }));
    expect(topology.gpus.map((gpu) => [gpu.uuid, gpu.productName, gpu.numaNode])).toEqual([
      ['GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b', 'NVIDIA H100 80GB HBM3', 0],
      ['GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3c', 'NVIDIA H100 80GB HBM3', 0],
    ]);
    expect(topology.links.filter((link) => link.kind === LinkKind.NVLINK)).toHaveLength(1 + 2 * 6);
    expect(topology.links).toHaveLength(1 + 2 * 6 + 2 * 6);
    expect(topology.nics).toHaveLength(6);
  });

  it('reports MIG slices with their profile, and narrows them', async () => {
    const topology = await read(
      recordedHost('a100-mig', { NVIDIA_VISIBLE_DEVICES: 'MIG-a45882f0-9215-5733-a0c1-49286ab31cb5' }),
    );
    expect(topology.gpus).toEqual([
      expect.objectContaining({
        uuid: 'MIG-a45882f0-9215-5733-a0c1-49286ab31cb5',
        migProfile: '1g.20gb',
        parentUuid: 'GPU-513536b6-7d19-9063-b049-1e69664bb298',
        memoryBytes: 19_968n * 1_048_576n,
        architecture: 'Ampere',
        pciBusId: '0000:01:00.0',
      }),
    ]);
    expect(topology.driverVersion).toBe('535.54.03');
  });

  it('takes GPUs from the driver where nvidia-smi is missing, and says what that may mean', async () => {
    const topology = await read(recordedHost('h100-proc'));
    expect(topology.gpus).toEqual([
      expect.objectContaining({
        uuid: 'GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b',
        productName: 'NVIDIA H100 80GB HBM3',
        pciBusId: '0000:62:00.0',
        numaNode: 0,
        cpuAffinity: '0-55,112-167',
      }),
    ]);
    expect(topology.numaNodes).toEqual([{ index: 0, cpus: '0-55,112-167' }]);
    expect(topology.notes).toEqual([
      'only the driver shows GPUs, and it may show those of other containers too',
    ]);
  });

  it('reads AMD with its links', async () => {
    const topology = await read(recordedHost('mi300x-links', { HIP_VISIBLE_DEVICES: '0,1' }));
    expect(topology.gpus).toHaveLength(2);
    expect(topology.links).toHaveLength(1);
    expect(topology.notes).toEqual([]);
  });

  it('makes a note of a reader that fails, and goes on with the others', async () => {
    const host = madeHost({
      commands: {
        'nvidia-smi -q -x': '<html>proxy</html>',
        'nvidia-smi -L': 'GPU 0: H100 (UUID: GPU-9221d5d1)\n',
      },
    });
    const topology = await read(host);
    expect(topology.gpus.map((gpu) => gpu.uuid)).toEqual(['GPU-9221d5d1']);
    expect(topology.notes).toEqual([
      'nvidia-smi-query: nvidia-smi -q -x printed no <nvidia_smi_log>, but "<html>proxy</html>"',
    ]);
  });

  it('does not wait for a command that hangs, nor for a reader that pays no heed to its signal', async () => {
    const hang = new Promise<CommandOutput>(() => undefined);
    const host = madeHost({
      commands: { 'nvidia-smi -q -x': hang, 'nvidia-smi -L': 'GPU 0: H100 (UUID: GPU-9221d5d1)\n' },
    });
    const reading = read(host);
    await clock.advanceMs(1_000);
    const topology = await reading;
    expect(topology.gpus).toHaveLength(1);
    expect(topology.notes).toEqual(['nvidia-smi-query: did not end within 1000 ms']);
  });

  it('ends immediately when it is stopped, and informs its readers', async () => {
    const stop = new AbortController();
    let informed = false;
    const reader: TopologyReader = {
      name: 'slow',
      read: (_host, signal) =>
        new Promise(() =>
          signal.addEventListener('abort', () => {
            informed = true;
          }),
        ),
    };
    const reading = readTopology({ readers: [reader], host: madeHost({}), clock }, stop.signal);
    stop.abort();
    expect((await reading).notes).toEqual(['slow: was stopped']);
    expect(informed).toBe(true);
    const late = await readTopology({ readers: [reader], host: madeHost({}), clock }, stop.signal);
    expect(late.notes).toEqual(['slow: was stopped']);
  });

  it('runs each command once, though three readers ask for nvidia-smi -L', async () => {
    const ran: string[] = [];
    await read(
      madeHost({
        ran,
        commands: {
          'nvidia-smi -q -x':
            '<nvidia_smi_log><gpu id="0"><uuid>GPU-11111111</uuid><mig_devices><mig_device><index>0</index></mig_device></mig_devices></gpu></nvidia_smi_log>',
          'nvidia-smi -L': 'GPU 0: H100 (UUID: GPU-11111111)\n',
          'nvidia-smi topo -m': '\tGPU0\nGPU0\t X \n',
        },
      }),
    );
    expect(ran.filter((command) => command === 'nvidia-smi -L')).toHaveLength(1);
  });

  it('bounds its notes in number and length, and keeps each on one line', async () => {
    const readers = Array.from({ length: 100 }, (_none, at) => ({
      name: `r${at}`,
      read: () => Promise.reject(new Error(`broken\nlines\u001b[31m ${'x'.repeat(2_000)}`)),
    }));
    const { notes } = await read(madeHost({}), readers);
    expect(notes).toHaveLength(64);
    for (const note of notes) {
      expect(note.length).toBeLessThanOrEqual(512);
      expect(note).not.toMatch(/\p{Cc}/u);
    }
  });
});
