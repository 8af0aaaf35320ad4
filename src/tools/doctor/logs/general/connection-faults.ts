import type { Fault } from './fault-classes.js';

/** Whose port it is by default, and what does not work without it. */
const PORTS: ReadonlyMap<number, Fault> = new Map<number, Fault>([
  [4222, { signal: 'control_plane_unreachable', value: 'NATS' }],
  [2379, { signal: 'control_plane_unreachable', value: 'etcd' }],
  [2380, { signal: 'control_plane_unreachable', value: 'etcd' }],
  [5600, { signal: 'transfer_unreachable', value: 'no answer' }],
  [8998, { signal: 'transfer_unreachable', value: 'no answer' }],
  [5556, { signal: 'events_unreachable', value: 'connection refused' }],
  [5557, { signal: 'events_unreachable', value: 'connection refused' }],
  [50051, { signal: 'offload_failed', value: 'Mooncake is not reached' }],
]);

/** What a refused or timed-out connection means, by its port; undefined for a port that is not known. */
export function connectionFaultOf(text: string): Fault | undefined {
  const [, port] = /(?:[\w\])]:|', |port[ =:'"]{1,3})(\d{4,5})\b(?!\.\d)/.exec(text) ?? [];
  return port === undefined ? undefined : PORTS.get(Number(port));
}
