import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawHost } from '../../../src/page/model/host-drawing.js';
import { fabricsOf, type PlacedWorker } from '../../../src/page/model/hosts.js';
import { placedWorkers } from '../../../src/page/model/placed-workers.js';
import { pairsOf } from '../../../src/page/model/role-pairs.js';
import { viewWorker } from '../support/view-workers.js';

const gpu = (index: number, node = 'n1') => ({
  uuid: `GPU-${node}-${index}`,
  index,
  productName: 'NVIDIA H100',
  numaNode: index < 2 ? 0 : 1,
});
const link = (a: number, b: number, kind = 'NVLINK', laneCount = 18) => ({
  a: gpu(a).uuid,
  b: gpu(b).uuid,
  kind: `LINK_KIND_${kind}`,
  ...(kind === 'NVLINK' ? { laneCount } : {}),
});
const worker = (id: number, fields: Partial<PlacedWorker> = {}): PlacedWorker => ({
  id,
  name: `worker-${id}`,
  role: '',
  group: 'llama',
  tone: 'good',
  topology: undefined,
  ...fields,
});
const MESH = [link(0, 1), link(0, 2), link(0, 3), link(1, 2), link(1, 3), link(2, 3)];

describe('hosts', () => {
  it('are put together from the workers on them', () => {
    const placement = { nodeName: 'n1', rack: 'r1' };
    const [fabric] = fabricsOf([
      worker(1, { topology: { gpus: [gpu(0), gpu(1)], links: MESH.slice(0, 5), placement } }),
      worker(2, { topology: { gpus: [gpu(2), gpu(3)], links: MESH.slice(1), placement } }),
    ]);
    expect(fabric?.hosts).toHaveLength(1);
    const host = fabric?.hosts[0];
    expect(host).toMatchObject({ name: 'n1', rack: 'r1', isNamed: true });
    expect(host?.gpus.map((each) => each.workers.map(({ id }) => id))).toEqual([[1], [1], [2], [2]]);
    expect(host?.links).toHaveLength(6);
  });

  it('of which no node is known stand apart, one for each worker', () => {
    const [fabric] = fabricsOf([worker(1), worker(2)]);
    expect(fabric?.hosts.map(({ name, isNamed }) => [name, isNamed])).toEqual([
      ['worker-1', false],
      ['worker-2', false],
    ]);
  });

  it('stand together by NVLink fabric', () => {
    const inFabric = (node: string, cliqueId: string) => ({
      gpus: [{ ...gpu(0, node), fabricClusterUuid: 'abcdef123456', fabricCliqueId: cliqueId }],
      placement: { nodeName: node },
    });
    const fabrics = fabricsOf([
      worker(1, { topology: inFabric('n1', '7') }),
      worker(2),
      worker(3, { topology: inFabric('n2', '7') }),
    ]);
    expect(fabrics.map(({ name, hosts }) => [name, hosts.length])).toEqual([
      ['abcdef12.7', 2],
      ['', 1],
    ]);
  });
});

describe('the drawing of a host', () => {
  const draw = (topology: PlacedWorker['topology']) => {
    const host = fabricsOf([worker(1, { topology })])[0]?.hosts[0];
    if (host === undefined) throw new Error('no host');
    return drawHost(host);
  };
  const gpus = [gpu(0), gpu(1), gpu(2), gpu(3)];

  it('has one bar where each GPU is linked with each other', () => {
    const { buses, wires, numa } = draw({ gpus, links: MESH });
    expect(buses.map(({ label, stubs }) => [label, stubs.length])).toEqual([['NV18', 4]]);
    expect(wires).toEqual([]);
    expect(numa.map(({ title }) => title)).toEqual(['NUMA 0', 'NUMA 1']);
  });

  it('has a line for each link of pairs, and counts those through the processor', () => {
    const links = [link(0, 1, 'NVLINK', 4), link(2, 3, 'NVLINK', 4), link(0, 2, 'SYS'), link(1, 3, 'SYS')];
    const { buses, wires, counted } = draw({ gpus, links });
    expect(buses).toEqual([]);
    expect(wires.map(({ label }) => label)).toEqual(['NV4', 'NV4']);
    expect(counted).toEqual(['SYS between GPUs: 1 pair', 'SYS between GPUs: 1 pair']);
  });

  it('has the NICs below, with lines to the GPUs that share a bridge with them', () => {
    const links = [
      { a: gpu(0).uuid, b: 'mlx5_0', kind: 'LINK_KIND_PIX' },
      { a: 'mlx5_0', b: gpu(3).uuid, kind: 'LINK_KIND_SYS' },
    ];
    const { nics, wires, counted } = draw({ gpus, links, nics: [{ name: 'mlx5_0', numaNode: 0 }] });
    expect(nics.map(({ name }) => name)).toEqual(['mlx5_0']);
    expect(wires.map(({ kind }) => kind)).toEqual(['PIX']);
    expect(counted).toEqual(['SYS between GPU and NIC: 1 pair']);
  });

  it('keeps every box inside, whatever is reported', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', '', '__proto__', '<x>');
    const node = fc.option(fc.nat(4), { nil: undefined });
    const topology = fc.record({
      gpus: fc.array(
        fc.record({ uuid: name, numaNode: node }).map(({ uuid, numaNode }) => ({
          uuid,
          ...(numaNode === undefined ? {} : { numaNode }),
        })),
      ),
      links: fc.array(
        fc.record({
          a: name,
          b: name,
          kind: fc.constantFrom('LINK_KIND_NVLINK', 'LINK_KIND_SYS', 'odd', ''),
        }),
      ),
      nics: fc.array(fc.record({ name })),
    });
    fc.assert(
      fc.property(topology, (made) => {
        const { width, height, gpus: drawn, nics, buses } = draw(made);
        for (const box of [...drawn, ...nics]) {
          expect(box.x).toBeGreaterThanOrEqual(0);
          expect(box.x + box.width).toBeLessThanOrEqual(width);
          expect(box.y + box.height).toBeLessThanOrEqual(height);
        }
        for (const { x1, x2 } of buses) expect(Number.isFinite(x1 + x2)).toBe(true);
      }),
    );
  });
});

it('answers about topology get model and state from the view', () => {
  const [placed] = placedWorkers(
    [
      {
        hosts: [{ node: 'n1', rack: 'r1', workers: [{ id: 3, name: 'w', role: 'decode', gpus: [gpu(0)] }] }],
      },
    ],
    [viewWorker(3, { group: 'mistral', tone: 'bad' })],
  );
  expect(placed).toMatchObject({ id: 3, role: 'decode', group: 'mistral', tone: 'bad' });
  expect(placed?.topology).toMatchObject({ placement: { nodeName: 'n1', rack: 'r1' } });
});

describe('pairs of prefill and decode', () => {
  const at = (id: number, role: string, nodeName: string, rack: string) =>
    worker(id, { role, topology: { placement: { nodeName, rack, zone: 'z' } } });

  it('say how near both are', () => {
    const [pairs] = pairsOf([
      at(1, 'prefill', 'n1', 'r1'),
      at(2, 'decode', 'n1', 'r1'),
      at(3, 'decode', 'n2', 'r1'),
      at(4, 'decode', 'n3', 'r2'),
    ]);
    expect(pairs?.pairs.map(({ nearness }) => nearness)).toEqual(['same host', 'same rack', 'same zone']);
    expect(pairs?.counts[0]).toEqual({ nearness: 'same host', count: 1 });
  });

  it('are none where a role is missing', () => {
    expect(pairsOf([at(1, 'prefill', 'n1', 'r1'), at(2, 'aggregated', 'n1', 'r1')])).toEqual([]);
  });
});
