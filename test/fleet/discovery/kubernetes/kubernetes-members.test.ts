import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { membersOfPods, readPod } from '../../../../src/fleet/discovery/kubernetes/kubernetes-pods.js';
import {
  type ListedSlice,
  membersOfSlices,
  readSlice,
} from '../../../../src/fleet/discovery/kubernetes/kubernetes-service.js';
import type { Endpoint } from '../../../../src/fleet/discovery/source.js';

const nameOf = (pod: string): string => pod;

function endpoint(pod: string | undefined, address: string, conditions: object = { ready: true }): object {
  return {
    addresses: [address],
    conditions,
    ...(pod === undefined ? {} : { targetRef: { kind: 'Pod', name: pod, namespace: 'kv' } }),
  };
}

function slice(name: string, endpoints: readonly object[], more: object = {}): object {
  return {
    metadata: { name, namespace: 'kv' },
    addressType: 'IPv4',
    ports: [{ name: 'grpc', port: 50061 }],
    endpoints,
    ...more,
  };
}

function membersIn(
  slices: readonly object[],
  port: number | string = 'grpc',
): { endpoints: readonly Endpoint[]; problems: readonly string[] } {
  const read = slices.map(readSlice).filter((one): one is ListedSlice => one !== undefined);
  return membersOfSlices(read, { port, nameOf, service: 'workers', namespace: 'kv' });
}

describe('the endpoints of a Service', () => {
  it('are members, ready or not; those that terminate drain', () => {
    const { endpoints, problems } = membersIn([
      slice('s-1', [
        endpoint('b', '192.0.2.2', { ready: false, serving: false, terminating: false }),
        endpoint('a', '192.0.2.1'),
        endpoint('c', '192.0.2.3', { ready: false, serving: true, terminating: true }),
        endpoint('d', '192.0.2.4', {}),
      ]),
    ]);
    expect(endpoints).toEqual([
      { target: 'a', address: '192.0.2.1:50061' },
      { target: 'b', address: '192.0.2.2:50061' },
      { target: 'c', address: '192.0.2.3:50061', draining: true },
      { target: 'd', address: '192.0.2.4:50061' },
    ]);
    expect(problems).toEqual([]);
  });

  it('that are in several slices are one member, by IPv4 where both families have it', () => {
    const v6 = slice('s-0', [endpoint('a', 'fd00::1')], { addressType: 'IPv6' });
    expect(
      membersIn([v6, slice('s-1', [endpoint('a', '192.0.2.1')]), slice('s-2', [endpoint('a', '192.0.2.1')])])
        .endpoints,
    ).toEqual([{ target: 'a', address: '192.0.2.1:50061' }]);
    expect(membersIn([v6]).endpoints).toEqual([{ target: 'a', address: '[fd00::1]:50061' }]);
  });

  it('of a pod that ends beside the one that follows it under its name are the new one', () => {
    const old = slice('s-1', [endpoint('w-0', '192.0.2.1', { terminating: true })]);
    const young = slice('s-2', [endpoint('w-0', '192.0.2.9', { ready: false })]);
    expect(membersIn([old, young]).endpoints).toEqual([{ target: 'w-0', address: '192.0.2.9:50061' }]);
    expect(membersIn([young, old]).endpoints).toEqual([{ target: 'w-0', address: '192.0.2.9:50061' }]);
  });

  it('without a pod are called by their addresses; names stand for themselves', () => {
    const named = slice('s-2', [endpoint(undefined, 'gpu-7.example')], { addressType: 'FQDN' });
    expect(membersIn([slice('s-1', [endpoint(undefined, '192.0.2.1')]), named], 7).endpoints).toEqual([
      { target: '192.0.2.1:7', address: '192.0.2.1:7' },
      { target: 'gpu-7.example:7', address: 'gpu-7.example:7' },
    ]);
  });

  it('have the port by its number, or by the name that each slice gives it', () => {
    const other = slice('s-2', [endpoint('b', '192.0.2.2')], { ports: [{ name: 'grpc', port: 7 }] });
    const slices = [slice('s-1', [endpoint('a', '192.0.2.1')]), other];
    expect(membersIn(slices).endpoints.map(({ address }) => address)).toEqual([
      '192.0.2.1:50061',
      '192.0.2.2:7',
    ]);
    expect(membersIn(slices, 9).endpoints.map(({ address }) => address)).toEqual([
      '192.0.2.1:9',
      '192.0.2.2:9',
    ]);
    expect(membersIn(slices, 'kv').endpoints[0]).toEqual({
      target: 'a',
      pending: 's-1 has no port "kv": its ports are grpc',
    });
    const nameless = slice('s-1', [endpoint('a', '192.0.2.1')], { ports: [{ port: 7 }] });
    expect(membersIn([nameless], 'kv').endpoints[0]?.pending).toContain('none of its ports has a name');
  });

  it('without an address are waited for', () => {
    const odd = slice('s-1', [{ targetRef: { kind: 'Pod', name: 'a' } }, endpoint('b', 'no address')]);
    expect(membersIn([odd]).endpoints).toEqual([
      { target: 'a', pending: 's-1 has no address for it yet' },
      { target: 'b', pending: 's-1 has no address for it yet' },
    ]);
  });

  it('are distinguished from others of their name by the ids of their pods', () => {
    const targetRef = { kind: 'Pod', name: 'w-0', uid: 'one' };
    const [young] = membersIn([slice('s-1', [{ addresses: ['192.0.2.1'], targetRef }])]).endpoints;
    expect(young).toEqual({ target: 'w-0', address: '192.0.2.1:50061', identity: 'one' });
    expect(podsIn(pod('w-0', { podIP: '192.0.2.1' }, { uid: 'one' })).endpoints).toEqual([young]);
  });

  it('that share an address are one that has it, and others that say so', () => {
    const { endpoints } = membersIn([
      slice('s-1', [endpoint('a', '192.0.2.1'), endpoint('b', '192.0.2.1')]),
      slice('s-2', [endpoint('c', '192.0.2.2', { terminating: true }), endpoint('d', '192.0.2.2')]),
    ]);
    expect(endpoints).toEqual([
      { target: 'a', address: '192.0.2.1:50061' },
      {
        target: 'b',
        pending:
          "its address 192.0.2.1:50061 is that of a too: pods on one node's network need ports of their own",
      },
      { target: 'c', draining: true, pending: expect.stringContaining('192.0.2.2:50061 is that of d too') },
      { target: 'd', address: '192.0.2.2:50061' },
    ]);
    // By a named port each has its own.
    const other = slice('s-2', [endpoint('b', '192.0.2.1')], { ports: [{ name: 'grpc', port: 7 }] });
    expect(
      membersIn([slice('s-1', [endpoint('a', '192.0.2.1')]), other]).endpoints.map(({ address }) => address),
    ).toEqual(['192.0.2.1:50061', '192.0.2.1:7']);
  });

  it('have no names and no words that a log could not hold, whatever a server sends', () => {
    const long = 'x'.repeat(100_000);
    const odd = slice(`s\n${long}`, [endpoint(undefined, `a\u001b[2J\n${long}`), endpoint('b', '192.0.2.2')]);
    const ports = Array.from({ length: 1_000 }, (_, index) => ({ name: `${index}\n${long}`, port: 1 }));
    const { endpoints } = membersIn([{ ...odd, ports, addressType: 'FQDN' }], 'kv');
    expect(endpoints).toHaveLength(2);
    for (const { target, pending = '' } of endpoints) {
      expect(target.length).toBeLessThan(300);
      expect(pending.length).toBeLessThan(1_200);
      expect(`${target} ${pending}`).toMatch(/^[ -~…]*$/);
    }
  });

  it('that are none are distinguished from a Service that is not there', () => {
    expect(membersIn([]).problems).toEqual([
      'the Service workers has no EndpointSlices in the namespace kv; check its name and the namespace',
    ]);
    // Go writes an empty list as null.
    expect(membersIn([slice('s', [], { endpoints: null, ports: null })]).problems[0]).toContain(
      'has no endpoints',
    );
  });

  it('may hold anything at all', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, two) => {
        const odd = {
          ...slice('s', []),
          endpoints: [one, { addresses: one, targetRef: two, conditions: one }],
          ports: [two, one],
        };
        const { endpoints } = membersIn([odd, one as object]);
        expect(new Set(endpoints.map(({ target }) => target)).size).toBe(endpoints.length);
      }),
    );
  });
});

function pod(name: string, status: object = {}, metadata: object = {}): object {
  return { metadata: { name, namespace: 'kv', ...metadata }, status: { phase: 'Running', ...status } };
}

function podsIn(...pods: readonly object[]): ReturnType<typeof membersOfPods> {
  const read = pods.map(readPod).filter((one) => one !== undefined);
  return membersOfPods(read, { port: 50061, nameOf, asked: 'app=w in the namespace kv' });
}

describe('pods', () => {
  it('are members, those that are deleted drain, and those that have ended are none', () => {
    const { endpoints } = podsIn(
      pod('b', { podIP: '192.0.2.2' }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      pod('a', { podIP: '192.0.2.1' }),
      pod('v6', { podIP: 'fd00::1' }),
      pod('list', { podIPs: [{ ip: '192.0.2.5' }] }),
      pod('done', { podIP: '192.0.2.3', phase: 'Succeeded' }),
      pod('failed', { podIP: '192.0.2.4', phase: 'Failed' }),
    );
    expect(endpoints).toEqual([
      { target: 'a', address: '192.0.2.1:50061' },
      { target: 'b', address: '192.0.2.2:50061', draining: true },
      { target: 'list', address: '192.0.2.5:50061' },
      { target: 'v6', address: '[fd00::1]:50061' },
    ]);
  });

  it('without an address are waited for, with what the scheduler says', () => {
    const conditions = [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/4 nodes have a GPU' },
    ];
    expect(
      podsIn(pod('a', { phase: 'Pending', conditions }), pod('b', { phase: 'Pending' })).endpoints,
    ).toEqual([
      {
        target: 'a',
        pending: 'its pod has no address yet (Pending, Unschedulable: 0/4 nodes have a GPU)',
        unscheduled: true,
      },
      { target: 'b', pending: 'its pod has no address yet (Pending)', unscheduled: true },
    ]);
  });

  it('that have a node may come with a block size, whatever they wait for there', () => {
    const pulling = { ...pod('a', { phase: 'Pending' }), spec: { nodeName: 'node-1' } };
    expect(podsIn(pulling).endpoints).toEqual([
      { target: 'a', pending: 'its pod has no address yet (Pending)' },
    ]);
  });

  it("on one node's network share its address: the second says so, one that ends makes way", () => {
    const host = { podIP: '192.0.2.1', hostIP: '192.0.2.1' };
    expect(podsIn(pod('a', host), pod('b', host)).endpoints[1]).toEqual({
      target: 'b',
      pending:
        "its address 192.0.2.1:50061 is that of a too: pods on one node's network need ports of their own",
    });
    const { endpoints } = podsIn(pod('a', host, { deletionTimestamp: 'x' }), pod('b', host));
    expect(endpoints).toMatchObject([
      { target: 'a', draining: true, pending: expect.any(String) },
      { target: 'b', address: '192.0.2.1:50061' },
    ]);
  });

  it('that are none are reported with what was asked for', () => {
    expect(podsIn().problems).toEqual([
      'no pods have the labels app=w in the namespace kv; check the selector and the namespace',
    ]);
  });

  it('may hold anything at all', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, two) => {
        podsIn(
          { metadata: { name: 'a', labels: one, ownerReferences: [two, one] }, status: two } as object,
          one as object,
        );
      }),
    );
  });
});
