import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubernetesApi } from '../../../src/edge/kubernetes/api.js';
import { ListWatch } from '../../../src/edge/kubernetes/list-watch.js';
import { openCluster } from '../../../src/edge/kubernetes/open-cluster.js';
import { textAt } from '../../../src/edge/kubernetes/read-json.js';
import type { Clock } from '../../../src/edge/platform/clock.js';
import { briskClock } from '../../support/brisk-clock.js';
import { Changes } from '../../support/changes.js';
import { answer, FakeApiServer, refuse } from '../../support/fake-api-server.js';
import { FakeClock } from '../../support/fake-clock.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { turns, until } from '../../support/turns.js';

const PODS = '/api/v1/namespaces/kv/pods';
/** Pauses before another attempt are short; changes are gathered as they are, and time-outs are whole. */
const BRISK = briskClock((delayMs) => delayMs > 50 && delayMs <= 1_000);
const open = new OpenThings();
let server: FakeApiServer;

beforeEach(async () => {
  server = await FakeApiServer.start();
  open.add(() => server.close());
});

afterEach(() => open.close());

/** A list-watch that runs until the test ends, and what it reports. */
class Following {
  readonly sets: string[][] = [];
  readonly errors: string[] = [];
  readonly #changes = new Changes();
  readonly #stop = new AbortController();
  #end: Promise<void> = Promise.resolve();

  static async start(clock: Clock = BRISK, maxObjects?: number): Promise<Following> {
    const made = new Following();
    const modules = { clock, logger: new RecordingLogger(), environment: {} };
    const api: KubernetesApi = await openCluster({ kubeconfig: server.kubeconfig() }, modules);
    const listWatch = new ListWatch(
      {
        path: PODS,
        labelSelector: 'app=w',
        keep: (object) =>
          textAt(object, 'phase') === 'Failed' ? undefined : textAt(object, 'metadata', 'name'),
        ...(maxObjects === undefined ? {} : { maxObjects }),
      },
      { api, clock, random: { fraction: () => 0.5, uniqueId: () => '' } },
    );
    made.#end = listWatch.run(made.#stop.signal, {
      onSet: (objects) => {
        made.sets.push([...objects].sort());
        made.#changes.notify();
      },
      onError: (error) => {
        made.errors.push(`${error.code}: ${error.message}`);
        made.#changes.notify();
      },
    });
    open.add(async () => {
      await made.stop();
      await api.close();
    });
    return made;
  }

  get last(): string[] | undefined {
    return this.sets.at(-1);
  }

  until(holds: () => boolean): Promise<void> {
    return this.#changes.until(holds);
  }

  /** Resolves once the last set is this one. */
  untilSet(...names: string[]): Promise<void> {
    return this.until(() => this.last?.join() === names.join());
  }

  stop(): Promise<void> {
    this.#stop.abort();
    return this.#end;
  }
}

describe('a collection', () => {
  it('is listed in pages, then followed', async () => {
    server.pageSize = 2;
    for (const name of ['a', 'b', 'c', 'd', 'e']) server.put(PODS, name);
    const following = await Following.start();
    await following.untilSet('a', 'b', 'c', 'd', 'e');
    expect(following.sets).toHaveLength(1);
    expect(server.asked.lists).toBe(3);
    expect(server.requests[0]?.query).toEqual({ labelSelector: 'app=w', limit: '500' });
    await server.changes.until(() => server.openWatches === 1);
    expect(server.requests.at(-1)?.query).toEqual({
      labelSelector: 'app=w',
      resourceVersion: '105',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '270',
      watch: 'true',
    });
    server.put(PODS, 'f');
    server.delete(PODS, 'a');
    await following.untilSet('b', 'c', 'd', 'e', 'f');
    expect(following.sets).toHaveLength(2);
    server.put(PODS, 'b', { phase: 'Failed' });
    await following.untilSet('c', 'd', 'e', 'f');
  });

  it('that is empty is an empty set, as Go writes it too', async () => {
    server.intercept = ({ query }, response) => {
      if (query['watch'] === 'true') return false;
      answer(response, { metadata: { resourceVersion: '1' }, items: null });
      return true;
    };
    const following = await Following.start();
    await following.untilSet();
    expect(following.sets).toEqual([[]]);
  });

  it('is resumed where it stood when the server ends the watch, and when the connection breaks', async () => {
    server.put(PODS, 'a');
    const following = await Following.start();
    await server.changes.until(() => server.openWatches === 1);
    server.put(PODS, 'b');
    server.endWatches();
    server.put(PODS, 'c');
    await following.untilSet('a', 'b', 'c');
    await server.changes.until(() => server.openWatches === 1);
    server.breakConnections();
    server.put(PODS, 'd');
    await following.untilSet('a', 'b', 'c', 'd');
    expect(server.asked.lists).toBe(1);
    expect(following.errors).toEqual([]);
  });

  it('of a server that is gone keeps its last set, and follows the server that comes in its place', async () => {
    server.put(PODS, 'a');
    const following = await Following.start();
    await server.changes.until(() => server.openWatches === 1);
    await server.stop();
    await following.until(() => following.errors.length === 1);
    expect(following.errors[0]).toMatch(/^unreachable: http:.* cannot be reached: connect ECONNREFUSED/);
    expect(following.last).toEqual(['a']);
    server.put(PODS, 'b');
    await server.restart();
    await following.untilSet('a', 'b');
    expect(following.errors).toHaveLength(1);
  });

  it('goes on from a bookmark, whatever the server has forgotten before it', async () => {
    server.put(PODS, 'a');
    const following = await Following.start();
    await server.changes.until(() => server.openWatches === 1);
    server.put('/api/v1/namespaces/other/pods', 'x');
    server.bookmark();
    server.endWatches();
    server.compact();
    server.put(PODS, 'b');
    await following.untilSet('a', 'b');
    expect(server.asked.lists).toBe(1);
    expect(following.errors).toEqual([]);
  });

  it.each([
    ['in an event', false],
    ['as a status', true],
  ])('is listed again, without a word, when its place is forgotten (410 %s)', async (_how, asStatus) => {
    server.put(PODS, 'a');
    const following = await Following.start();
    await server.changes.until(() => server.openWatches === 1);
    server.intercept = ({ query }, response) => {
      if (!asStatus || query['watch'] !== 'true' || server.asked.lists > 1) return false;
      refuse(response, 410, 'too old resource version');
      return true;
    };
    server.breakConnections();
    server.delete(PODS, 'a');
    server.put(PODS, 'b');
    server.compact();
    await following.untilSet('b');
    expect(server.asked.lists).toBe(2);
    expect(following.errors).toEqual([]);
  });

  it('is listed from its beginning when the server forgets between two pages', async () => {
    server.pageSize = 1;
    for (const name of ['a', 'b']) server.put(PODS, name);
    let isForgotten = false;
    server.intercept = ({ query }, response) => {
      if (query['continue'] === undefined || isForgotten) return false;
      isForgotten = true;
      refuse(response, 410, 'The provided continue parameter is too old');
      return true;
    };
    const following = await Following.start();
    await following.untilSet('a', 'b');
    expect(following.sets).toHaveLength(1);
    expect(following.errors).toEqual([]);
  });

  it('keeps its last set while something is wrong, and says when that is over', async () => {
    server.put(PODS, 'a');
    const following = await Following.start();
    await server.changes.until(() => server.openWatches === 1);
    server.intercept = (_request, response) => {
      refuse(response, 500, 'etcdserver: request timed out');
      return true;
    };
    server.endWatches();
    await following.until(() => following.errors.length === 1);
    expect(following.errors[0]).toMatch(/^refused: .* status 500: etcdserver: request timed out$/);
    await server.changes.until(() => server.asked.watches >= 4);
    expect(following.errors).toHaveLength(1);
    server.intercept = () => false;
    await following.until(() => following.sets.length === 2);
    expect(following.last).toEqual(['a']);
  });

  it.each([
    { refusals: 'one refusal', statuses: [503, 403], reported: ['refused'] },
    { refusals: 'two refusals', statuses: [503, 403, 403], reported: ['refused', 'forbidden'] },
  ])(
    'reports $reported after $refusals by a server that has just come back',
    async ({ statuses, reported }) => {
      server.put(PODS, 'a');
      const following = await Following.start();
      await server.changes.until(() => server.openWatches === 1);
      const left = [...statuses];
      server.intercept = (_request, response) => {
        const status = left.shift();
        if (status === undefined) return false;
        refuse(response, status, status === 403 ? 'RBAC: role not found' : 'starting');
        return true;
      };
      server.endWatches();
      await following.until(() => following.sets.length === 2);
      expect(following.errors.map((error) => error.split(':', 1)[0])).toEqual(reported);
    },
  );

  it.each([
    ['no JSON', 'nonsense\n', 'bad_answer', 'no JSON'],
    ['no event', '{"kind":"Pod"}\n', 'bad_answer', 'sends no event'],
    ['a nameless object', '{"type":"ADDED","object":{"metadata":{}}}\n', 'bad_answer', 'without a name'],
    [
      'an error',
      '{"type":"ERROR","object":{"code":500,"message":"the storage is broken"}}\n',
      'refused',
      'the storage is broken',
    ],
    ['an object without an end', `${'x'.repeat(9 * 1024 * 1024)}`, 'bad_answer', 'more than 8388608 bytes'],
  ])('whose watch sends %s is watched again', async (_what, text, code, words) => {
    server.put(PODS, 'a');
    const following = await Following.start();
    await server.changes.until(() => server.openWatches === 1);
    server.write(text);
    await following.until(() => following.errors.length === 1);
    expect(following.errors[0]).toContain(`${code}: `);
    expect(following.errors[0]).toContain(words);
    server.put(PODS, 'b');
    await following.untilSet('a', 'b');
  });

  it.each([
    [{ items: 'none' }, 'something that is no list'],
    [{ items: [] }, 'has no resourceVersion'],
    [{ metadata: { resourceVersion: '1' }, items: [{}] }, 'has an object without a name'],
    [{ metadata: { resourceVersion: '1', continue: 'p' }, items: [] }, 'the same page again and again'],
  ])('whose list is %j is refused, and asked for again', async (list, words) => {
    server.intercept = (_request, response) => {
      answer(response, list);
      return true;
    };
    const following = await Following.start();
    await following.until(() => following.errors.length === 1);
    expect(following.errors[0]).toContain(words);
    server.intercept = () => false;
    await following.untilSet();
  });

  it('whose pages are too large is asked for in smaller ones', async () => {
    for (const name of ['a', 'b', 'c']) server.put(PODS, name);
    const refused: string[] = [];
    server.intercept = ({ query }, response) => {
      const limit = query['limit'] ?? '';
      if (Number(limit) <= 125 || query['watch'] === 'true') return false;
      refused.push(limit);
      response.end(Buffer.alloc(65 * 1024 * 1024, ' '));
      return true;
    };
    const following = await Following.start();
    await following.untilSet('a', 'b', 'c');
    expect(refused).toEqual(['500', '250']);
    expect(following.errors).toEqual([]);
  });

  it('whose pages never end is refused', async () => {
    let pages = 0;
    server.intercept = (_request, response) => {
      pages += 1;
      answer(response, { metadata: { resourceVersion: '1', continue: `p${pages % 2}` }, items: [] });
      return true;
    };
    const following = await Following.start();
    await following.until(() => following.errors.length === 1);
    expect(following.errors[0]).toContain('gives more than 1000 pages');
  });

  it('whose watches end immediately is not asked in a storm, although each says something', async () => {
    server.put(PODS, 'a');
    const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '101' } } };
    server.intercept = ({ query }, response) => {
      if (query['watch'] !== 'true') return false;
      response.end(`${JSON.stringify(bookmark)}\n`);
      return true;
    };
    const clock = new FakeClock();
    const following = await Following.start(clock);
    await following.untilSet('a');
    for (const watches of [1, 2, 3]) {
      await server.changes.until(() => server.asked.watches === watches);
      // Only the pause is left to wait for.
      await until(() => clock.pendingTimers === 1);
      expect(server.asked.watches).toBe(watches);
      await clock.advanceMs(200);
    }
    expect(following.errors).toEqual([]);
  });

  it('with too many objects is refused, in the list and in the watch, and the last set stays', async () => {
    for (const name of ['a', 'b']) server.put(PODS, name);
    const following = await Following.start(BRISK, 2);
    await server.changes.until(() => server.openWatches === 1);
    server.put(PODS, 'c');
    await following.until(() => following.errors.length === 1);
    expect(following.errors[0]).toContain('has more than 2 objects');
    expect(following.last).toEqual(['a', 'b']);
    server.delete(PODS, 'a');
    await following.untilSet('b', 'c');
  });
});

describe('a watch that says nothing', () => {
  /** Follows until the watch stands: then one timer is left, that of the silence. */
  async function followStill(clock: FakeClock): Promise<Following> {
    const following = await Following.start(clock);
    await server.changes.until(() => server.openWatches === 1);
    await until(() => clock.pendingTimers === 1);
    return following;
  }

  it('is dead when the server does not answer a question, and goes on when it does again', async () => {
    const clock = new FakeClock();
    server.put(PODS, 'a');
    const following = await followStill(clock);
    server.isMute = true;
    server.put(PODS, 'b');
    await clock.advanceMs(30_000);
    await server.changes.until(() => server.requests.at(-1)?.query['limit'] === '1');
    expect(following.errors).toEqual([]);
    await clock.advanceMs(10_000);
    await following.until(() => following.errors.length === 1);
    expect(following.errors[0]).toContain(
      'has not answered for 10 s, and its watch is silent; the last list stays',
    );
    expect(following.last).toEqual(['a']);
    server.unmute();
    await until(() => clock.pendingTimers === 1);
    while (following.last?.join() !== 'a,b') {
      await clock.advanceMs(1);
      await turns();
    }
    expect(server.asked.lists).toBe(1);
  });

  it('is resumed over another connection when the server answers but the watch stays silent', async () => {
    const clock = new FakeClock();
    const following = await followStill(clock);
    const [first] = server.requests.filter(({ query }) => query['watch'] === 'true');
    for (const questions of [1, 2]) {
      await clock.advanceMs(30_000);
      await until(() => server.requests.length === 2 + questions && clock.pendingTimers === 1);
    }
    await clock.advanceMs(30_000);
    await server.changes.until(() => server.asked.watches === 2);
    expect(server.requests.at(-1)?.query['resourceVersion']).toBe(first?.query['resourceVersion']);
    expect(following.errors).toEqual([]);
    expect(following.sets).toHaveLength(1);
  });
});

describe('an end', () => {
  it('leaves no timer and no watch behind', async () => {
    const clock = new FakeClock();
    const following = await Following.start(clock);
    await server.changes.until(() => server.openWatches === 1);
    await following.stop();
    await server.changes.until(() => server.openWatches === 0);
    expect(clock.pendingTimers).toBe(0);
  });
});
