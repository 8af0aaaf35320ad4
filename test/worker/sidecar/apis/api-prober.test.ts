import { describe, expect, it } from 'vitest';
import { EngineKind } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { ApiProber } from '../../../../src/worker/sidecar/apis/api-prober.js';
import { FakeClock } from '../../../support/fake-clock.js';

const ENGINE = {
  instanceId: 'i-1',
  kind: EngineKind.VLLM,
  model: 'tiny',
  httpBaseUrl: 'http://e:8000',
  known: {},
};

class Bench {
  readonly clock = new FakeClock();
  readonly asked: string[] = [];
  statusOf: (path: string) => number | Error = () => 405;
  readonly prober = new ApiProber({
    clock: this.clock,
    httpGet: async (url) => {
      const { pathname } = new URL(url);
      this.asked.push(pathname);
      const status = this.statusOf(pathname);
      if (status instanceof Error) throw status;
      return { status, contentType: 'application/json', body: '{}' };
    },
  });

  async paths(engine = ENGINE): Promise<unknown> {
    const { facts } = await this.prober.learn(engine, new AbortController().signal);
    return facts.map((fact) => (fact.type === 'field' ? [fact.field, fact.value] : fact));
  }
}

describe('the API paths of an engine', () => {
  it('are those that are not missing, asked once for each of its starts', async () => {
    const bench = new Bench();
    bench.statusOf = (path) => (path.startsWith('/v1/me') || path === '/v1/chat/completions' ? 405 : 404);
    const found = [['engine.apis', ['/v1/chat/completions', '/v1/messages', '/v1/messages/count_tokens']]];
    expect(await bench.paths()).toEqual(found);
    const asked = bench.asked.length;
    expect(await bench.paths()).toEqual(found);
    expect(bench.asked).toHaveLength(asked);
    await bench.paths({ ...ENGINE, instanceId: 'i-2' });
    expect(bench.asked).toHaveLength(2 * asked);
  });

  it('are taken to be there where the engine refuses to say so', async () => {
    const bench = new Bench();
    bench.statusOf = (path) => (path === '/score' ? 401 : 405);
    expect(JSON.stringify(await bench.paths())).toContain('"/score"');
  });

  it('are not known of a server that has none of the usual ones', async () => {
    const bench = new Bench();
    bench.statusOf = () => 404;
    expect(await bench.paths()).toEqual([]);
  });

  it('are asked for again, some times, where the engine does not answer', async () => {
    const bench = new Bench();
    bench.statusOf = () => new Error('reset');
    for (let round = 0; round < 20; round += 1) {
      expect(await bench.paths()).toEqual([]);
      await bench.clock.advanceMs(31_000);
    }
    expect(bench.asked).toHaveLength(5);
  });
});
