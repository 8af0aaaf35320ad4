import { describe, expect, it } from 'vitest';
import { linkKey } from '../../../src/core/contract/topology/link-key.js';
import type { PositionedGpu, WorkerPosition } from '../../../src/core/contract/topology/worker-position.js';
import { classOfPair } from '../../../src/core/pairs/pair-class.js';
import { bookOfTwo, positionAt } from './pair-fleet.js';

function gpu(id: string, more: Partial<PositionedGpu> = {}): PositionedGpu {
  return { id, wholeId: id, numaNode: undefined, pcieRoot: undefined, ...more };
}

const NODE = { node: 'node-1' };
const nvlink = new Map([[linkKey('gpu-0', 'gpu-1'), { nearness: 'nvlink', label: 'NV18' }]] as const);
const pix = new Map([[linkKey('gpu-0', 'gpu-1'), { nearness: 'pcie_root', label: 'PIX' }]] as const);
const rack = { rack: 'r1', zone: 'a', region: 'eu' };

type Sketch = Partial<WorkerPosition>;

describe('P7: how near the two workers of a pair are', () => {
  it.each<[string, Sketch, Sketch, string]>([
    [
      'same_gpu',
      { gpus: [gpu('mig-0', { wholeId: 'gpu-0' })] },
      { gpus: [gpu('mig-1', { wholeId: 'gpu-0' })] },
      'slices of GPU gpu-0',
    ],
    ['nvlink_fabric', { fabrics: ['4fc1.1'] }, { fabrics: ['4fc1.1'] }, 'NVLink fabric 4fc1.1'],
    [
      'nvlink_host',
      { ...NODE, gpus: [gpu('gpu-0')], links: nvlink },
      { ...NODE, gpus: [gpu('gpu-1')] },
      'NV18 between gpu-0 and gpu-1 on node-1',
    ],
    [
      'same_pcie_root',
      { ...NODE, gpus: [gpu('gpu-0', { pcieRoot: 'pci0000:15' })] },
      { ...NODE, gpus: [gpu('gpu-1', { pcieRoot: 'pci0000:15' })] },
      'PCIe root pci0000:15 on node-1',
    ],
    [
      'same_pcie_root',
      { ...NODE, gpus: [gpu('gpu-0')] },
      { ...NODE, gpus: [gpu('gpu-1')], links: pix },
      'PIX between gpu-0 and gpu-1 on node-1',
    ],
    [
      'same_numa_node',
      { ...NODE, gpus: [gpu('gpu-0', { numaNode: 1 })] },
      { ...NODE, gpus: [gpu('gpu-1', { numaNode: 1 })] },
      'NUMA node 1 on node-1',
    ],
    ['same_host', { ...NODE, gpus: [gpu('gpu-0')] }, { ...NODE, gpus: [gpu('gpu-1')] }, 'node node-1'],
    ['same_host', NODE, NODE, 'node node-1'],
    ['same_rack', { ...rack, node: 'a' }, { ...rack, node: 'b' }, 'rack r1'],
    ['same_zone', { ...rack, rack: 'r2' }, rack, 'zone a'],
    ['same_region', { zone: 'b', rack: 'r1', region: 'eu' }, rack, 'region eu'],
    ['apart', { zone: 'a' }, { zone: 'b' }, 'zones a and b'],
    ['apart', { zone: 'a', region: 'us' }, { zone: 'a', region: 'eu' }, 'regions us and eu'],
    ['unknown', NODE, { node: 'node-2' }, 'they name no rack, zone or region in common and none that differ'],
    ['unknown', {}, NODE, 'not both say where they are'],
  ])('P7: %s', (expected, prefill, decode, evidence) => {
    const [ours, theirs] = [positionAt(prefill), positionAt(decode)];
    expect(classOfPair(ours, theirs)).toEqual({ class: expected, evidence });
    expect(classOfPair(theirs, ours).class).toBe(expected);
    // The book's fast way comes to the same.
    expect(bookOfTwo({ position: prefill }, { position: decode }).classOf('prefill-0', 'decode-0')).toBe(
      expected,
    );
  });

  it('P7: every rank moves its part, so the farthest GPU of the smaller side decides', () => {
    const prefill = positionAt({ ...NODE, gpus: [gpu('gpu-0'), gpu('gpu-2')], links: nvlink });
    const decode = positionAt({ ...NODE, gpus: [gpu('gpu-1'), gpu('gpu-3')] });
    expect(classOfPair(prefill, decode).class).toBe('same_host');
  });

  it('P7: adapters of one name beside the GPUs of both are rails of one network', () => {
    const prefill = positionAt({ zone: 'a', node: 'a', rails: ['mlx5_0', 'mlx5_3'] });
    const decode = positionAt({ zone: 'a', node: 'b', rails: ['mlx5_3', 'mlx5_4'] });
    expect(classOfPair(prefill, decode)).toEqual({
      class: 'same_zone',
      evidence: 'zone a; rail-aligned NICs mlx5_3',
    });
  });

  it('P7: a worker that moves is looked at again', () => {
    const book = bookOfTwo({ position: NODE }, { position: NODE });
    expect(book.classOf('prefill-0', 'decode-0')).toBe('same_host');
    const member = book.member('decode-0');
    if (member !== undefined) book.setMember({ ...member, position: positionAt({ node: 'node-2' }) });
    expect(book.classOf('prefill-0', 'decode-0')).toBe('unknown');
  });
});
