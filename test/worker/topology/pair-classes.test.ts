import { describe, expect, it } from 'vitest';
import { positionOf, type WorkerPosition } from '../../../src/core/contract/topology/worker-position.js';
import { classOfPair } from '../../../src/core/pairs/pair-class.js';
import { readTopology } from '../../../src/worker/topology/read-topology.js';
import { topologyReaders } from '../../../src/worker/topology/readers.js';
import { FakeClock } from '../../support/fake-clock.js';
import { makeWireReport } from '../../support/reports.js';
import { never, recordedHost } from './support.js';

type Environment = Record<string, string>;

async function positionOn(recording: string, environment: Environment): Promise<WorkerPosition> {
  const host = recordedHost(recording, { NODE_NAME: 'node-1', ...environment });
  const clock = new FakeClock();
  const topology = await readTopology({ readers: topologyReaders, host, clock, timeoutMs: 1_000 }, never);
  return positionOf({ ...makeWireReport('w'), topology });
}

const cuda = (gpus: string): Environment => ({ CUDA_VISIBLE_DEVICES: gpus });
const mig = (uuid: string): Environment => ({ NVIDIA_VISIBLE_DEVICES: uuid });

/** The table of `docs/topology.md`, row by row. */
describe('the class of a pair on machines that were recorded', () => {
  it.each<[string, string, Environment, Environment, string, RegExp]>([
    ['two GPUs of a DGX H100', 'h100-nvswitch', cuda('0'), cuda('1'), 'nvlink_host', /^NV18 between /],
    [
      'two halves of a DGX H100',
      'h100-nvswitch',
      cuda('0,1,2,3'),
      cuda('4,5,6,7'),
      'nvlink_host',
      /^NV18 between /,
    ],
    [
      'slices of one A100',
      'a100-mig',
      mig('MIG-a45882f0-9215-5733-a0c1-49286ab31cb5'),
      mig('MIG-a45882f0-9215-5733-a0c1-49286ab31cb5'),
      'same_gpu',
      /^slices of GPU /,
    ],
    [
      'two trays of an NVL72, by the label of the node',
      'gb200',
      { ...cuda('0'), KV_ACCORD_GPU_CLIQUE: '4fc1.32766' },
      { ...cuda('0'), NODE_NAME: 'node-2', KV_ACCORD_GPU_CLIQUE: '4fc1.32766' },
      'nvlink_fabric',
      /^NVLink fabric 4fc1\.32766/,
    ],
    ['two GPUs of one GB200 tray', 'gb200', cuda('0'), cuda('1'), 'nvlink_host', /^NV18 between /],
    [
      'two RTX 4090 on one CPU',
      'rtx-4090-nics',
      cuda('0'),
      cuda('1'),
      'same_numa_node',
      /^NUMA node 0 on node-1$/,
    ],
    ['two RTX 4090 on two CPUs', 'rtx-4090-nics', cuda('0'), cuda('7'), 'same_host', /^SYS between /],
    [
      'two MI300X',
      'mi300x-links',
      { HIP_VISIBLE_DEVICES: '0' },
      { HIP_VISIBLE_DEVICES: '1' },
      'nvlink_host',
      /^XGMI/,
    ],
    ['two GPUs on one PCIe switch', 'six-gpus-ansi', cuda('0'), cuda('1'), 'same_pcie_root', /^PIX between /],
    ['engines that share a GPU', 'h100-proc', {}, {}, 'same_gpu', /^GPU GPU-9221d5d1/],
    [
      'two DGX H100 of one zone',
      'h100-nvswitch',
      { ...cuda('0'), TOPOLOGY_ZONE: 'eu-1a' },
      { ...cuda('0'), NODE_NAME: 'node-2', TOPOLOGY_ZONE: 'eu-1a' },
      'same_zone',
      /^zone eu-1a; rail-aligned NICs mlx5_0$/,
    ],
  ])('%s', async (_name, recording, prefill, decode, expected, evidence) => {
    const found = classOfPair(await positionOn(recording, prefill), await positionOn(recording, decode));
    expect(found).toEqual({ class: expected, evidence: expect.stringMatching(evidence) });
  });
});
