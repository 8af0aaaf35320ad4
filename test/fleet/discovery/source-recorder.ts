import { afterEach } from 'vitest';
import type { DiscoverySource, Endpoint } from '../../../src/fleet/discovery/source.js';
import { Changes } from '../../support/changes.js';

/** Runs a source until the test ends, and keeps what it reports. */
export interface RunningSource {
  /** Every list, as `target@address`, `target@address!` when draining, or the address alone where both are the same; `target (discovered)` or `target (pending)` without an address. */
  readonly lists: string[][];
  /** The same, whole. */
  readonly endpoints: (readonly Endpoint[])[];
  /** Every error's message. */
  readonly errors: string[];
  /** Resolves as soon as `holds` does. */
  until(holds: () => boolean): Promise<void>;
  /** Aborts it and waits for its end. */
  stop(): Promise<void>;
}

const running: RunningSource[] = [];

afterEach(async () => {
  for (const source of running.splice(0)) await source.stop();
});

export function runSource(source: DiscoverySource): RunningSource {
  const changes = new Changes();
  const lists: string[][] = [];
  const given: (readonly Endpoint[])[] = [];
  const errors: string[] = [];
  const abort = new AbortController();
  const end = source.run(
    abort.signal,
    (endpoints) => {
      given.push(endpoints);
      lists.push(endpoints.map(describeEndpoint));
      changes.notify();
    },
    (error) => {
      errors.push(error.message);
      changes.notify();
    },
  );
  const made: RunningSource = {
    lists,
    endpoints: given,
    errors,
    until: (holds) => changes.until(holds),
    stop: () => {
      abort.abort();
      return end;
    },
  };
  running.push(made);
  return made;
}

function describeEndpoint({ target, address, pending, draining }: Endpoint): string {
  const name =
    address === undefined
      ? `${target} (${pending === undefined ? 'discovered' : 'pending'})`
      : target === address
        ? address
        : `${target}@${address}`;
  return draining === true ? `${name}!` : name;
}
