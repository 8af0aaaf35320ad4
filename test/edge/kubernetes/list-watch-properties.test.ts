import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ApiRequest, KubernetesApi } from '../../../src/edge/kubernetes/api.js';
import { KubernetesError, type KubernetesErrorCode } from '../../../src/edge/kubernetes/kubernetes-error.js';
import { ListWatch } from '../../../src/edge/kubernetes/list-watch.js';
import { textAt } from '../../../src/edge/kubernetes/read-json.js';
import { FakeClock } from '../../support/fake-clock.js';

const NAMES = ['a', 'b', 'c', 'd'];

type Step =
  | { readonly type: 'put' | 'delete'; readonly name: string; readonly label: string }
  | { readonly type: 'end' | 'break' | 'garbage' | 'expire' | 'bookmark' | 'compact' }
  | { readonly type: 'fail'; readonly times: number; readonly code: KubernetesErrorCode }
  | { readonly type: 'wait'; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.record({
      type: fc.constantFrom('put' as const, 'delete' as const),
      name: fc.constantFrom(...NAMES),
      label: fc.constantFrom('1', '2', 'left out'),
    }),
    weight: 5,
  },
  fc.record({ type: fc.constantFrom('end', 'break', 'garbage', 'expire', 'bookmark', 'compact') }),
  fc.record({
    type: fc.constant('fail' as const),
    times: fc.integer({ min: 1, max: 3 }),
    code: fc.constantFrom<KubernetesErrorCode[]>('unreachable', 'forbidden', 'expired', 'bad_answer'),
  }),
  fc.record({ type: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 120_000 }) }),
) as fc.Arbitrary<Step>;

interface Watcher {
  readonly push: (item: unknown) => void;
  readonly end: (error?: Error) => void;
}

/** A server without a network: what it holds, what it remembers, and what fails next. */
class ScriptedApi implements KubernetesApi {
  readonly name = 'https://scripted';
  readonly namespace = 'kv';
  readonly objects = new Map<string, string>();
  failures: { times: number; code: KubernetesErrorCode } = { times: 0, code: 'unreachable' };
  readonly #watchers = new Set<Watcher>();
  #history: { readonly version: number; readonly event: unknown }[] = [];
  #version = 1;
  #forgottenUpTo = 0;

  change(name: string, label: string | undefined): void {
    const known = this.objects.get(name);
    if (label === undefined && known === undefined) return;
    this.#version += 1;
    const type = label === undefined ? 'DELETED' : known === undefined ? 'ADDED' : 'MODIFIED';
    if (label === undefined) this.objects.delete(name);
    else this.objects.set(name, label);
    const event = { type, object: this.#objectOf(name, label ?? known ?? '', this.#version) };
    this.#history.push({ version: this.#version, event });
    for (const { push } of this.#watchers) push(event);
  }

  act(type: 'end' | 'break' | 'garbage' | 'expire' | 'bookmark' | 'compact'): void {
    const watchers = [...this.#watchers];
    if (type === 'compact') {
      this.#forgottenUpTo = this.#version;
      this.#history = [];
    }
    for (const { push, end } of watchers) {
      if (type === 'end') end();
      if (type === 'break') end(new KubernetesError('unreachable', 'broken'));
      if (type === 'garbage') push({ type: 'ADDED', object: 7 });
      if (type === 'expire') push(EXPIRED);
      if (type === 'bookmark')
        push({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(this.#version) } } });
    }
  }

  async get({ query, signal }: ApiRequest): Promise<unknown> {
    await Promise.resolve();
    signal.throwIfAborted();
    this.#mayFail();
    const names = [...this.objects.keys()].sort();
    const from = Number(query?.['continue'] ?? 0);
    return {
      metadata: {
        resourceVersion: String(this.#version),
        ...(names.length > from + 2 ? { continue: String(from + 2) } : {}),
      },
      items: names.slice(from, from + 2).map((name) => this.#objectOf(name, this.objects.get(name) ?? '', 0)),
    };
  }

  async *watch({ query, signal }: ApiRequest): AsyncGenerator<unknown, void, undefined> {
    await Promise.resolve();
    signal.throwIfAborted();
    this.#mayFail();
    const from = Number(query?.['resourceVersion']);
    const items: unknown[] = from < this.#forgottenUpTo ? [EXPIRED] : [];
    for (const { version, event } of this.#history) if (version > from) items.push(event);
    let over: { readonly error: unknown } | undefined;
    let wake: (() => void) | undefined;
    const end = (error?: unknown): void => {
      over ??= { error };
      wake?.();
    };
    const watcher: Watcher = {
      push: (item) => {
        items.push(item);
        wake?.();
      },
      end,
    };
    const onAbort = (): void => end(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#watchers.add(watcher);
    try {
      for (;;) {
        if (items.length > 0) yield items.shift();
        else if (over !== undefined) {
          if (over.error !== undefined) throw over.error;
          return;
        } else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      this.#watchers.delete(watcher);
      signal.removeEventListener('abort', onAbort);
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #mayFail(): void {
    if (this.failures.times === 0) return;
    this.failures.times -= 1;
    throw new KubernetesError(this.failures.code, 'as the script says');
  }

  #objectOf(name: string, label: string, version: number): unknown {
    return { metadata: { name, namespace: 'kv', resourceVersion: String(version) }, label };
  }
}

const EXPIRED = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } };

it('whatever happens to the watch, the set becomes what the server holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const clock = new FakeClock();
      const api = new ScriptedApi();
      const stop = new AbortController();
      const listWatch = new ListWatch(
        {
          path: '/api/v1/namespaces/kv/pods',
          keep: (object) => {
            const label = textAt(object, 'label');
            return label === 'left out' ? undefined : `${textAt(object, 'metadata', 'name')}=${label}`;
          },
        },
        { api, clock, random: { fraction: () => 0.5, uniqueId: () => '' } },
      );
      let set: readonly string[] | undefined;
      const onSet = (objects: readonly string[]): void => {
        set = objects;
      };
      const end = listWatch.run(stop.signal, { onSet, onError: () => undefined });
      for (const made of steps) {
        if (made.type === 'put') api.change(made.name, made.label);
        else if (made.type === 'delete') api.change(made.name, undefined);
        else if (made.type === 'wait') await clock.advanceMs(made.ms);
        else if (made.type === 'fail') api.failures = { times: made.times, code: made.code };
        else api.act(made.type);
      }
      await clock.advanceMs(300_000);
      const held = [...api.objects].filter(([, label]) => label !== 'left out');
      expect([...(set ?? [])].sort()).toEqual(held.map(([name, label]) => `${name}=${label}`).sort());
      stop.abort();
      await end;
      expect(clock.pendingTimers).toBe(0);
    }),
    { numRuns: 300 },
  );
});
