import { describe, expect, it } from 'vitest';
import { type Resolver, systemResolver } from '../../../src/edge/platform/net/resolver.js';
import { DnsSource } from '../../../src/fleet/discovery/dns.js';
import { FakeClock } from '../../support/fake-clock.js';
import { runSource } from './source-recorder.js';

/** Answers by a script: a list of addresses, an error code, or `hang`. The last answer is repeated. */
class ScriptedResolver implements Resolver {
  answers: (readonly string[] | string)[];
  questions = 0;
  #release: (() => void)[] = [];

  constructor(...answers: (readonly string[] | string)[]) {
    this.answers = answers;
  }

  async lookupAll(): Promise<readonly string[]> {
    this.questions += 1;
    const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
    if (answer === 'hang') {
      await new Promise<void>((resolve) => this.#release.push(resolve));
      return [];
    }
    if (typeof answer === 'string') throw Object.assign(new Error(`getaddrinfo ${answer}`), { code: answer });
    return answer ?? [];
  }

  /** Lets all hanging questions end, with no addresses. */
  release(): void {
    for (const go of this.#release.splice(0)) go();
  }
}

function start(resolver: Resolver, fraction = 0.5): { clock: FakeClock; run: ReturnType<typeof runSource> } {
  const clock = new FakeClock();
  const random = { fraction: () => fraction, uniqueId: () => '' };
  const source = new DnsSource(
    { host: 'workers.ns', port: 50061, text: 'dns:///workers.ns:50061' },
    { clock, random, resolver },
  );
  return { clock, run: runSource(source) };
}

describe('DNS discovery', () => {
  it('lists every address, IPv6 in brackets, each once, in an order of its own', async () => {
    const { clock, run } = start(new ScriptedResolver(['10.0.0.2', 'fd00::1', '10.0.0.1', '10.0.0.2']));
    await clock.advanceMs(0);
    expect(run.lists).toEqual([['10.0.0.1:50061', '10.0.0.2:50061', '[fd00::1]:50061']]);
  });

  it('asks every five seconds and reports only what changed, not what a name server turned round', async () => {
    const resolver = new ScriptedResolver(['10.0.0.1', '10.0.0.2'], ['10.0.0.2', '10.0.0.1'], ['10.0.0.3']);
    const { clock, run } = start(resolver);
    await clock.advanceMs(5_000);
    expect(resolver.questions).toBe(2);
    expect(run.lists).toHaveLength(1);
    await clock.advanceMs(5_000);
    expect(run.lists.at(-1)).toEqual(['10.0.0.3:50061']);
  });

  it('is jittered by a fifth either way', async () => {
    const early = new ScriptedResolver(['10.0.0.1']);
    const late = new ScriptedResolver(['10.0.0.1']);
    const [a, b] = [start(early, 0), start(late, 0.999_999)];
    await a.clock.advanceMs(4_000);
    await b.clock.advanceMs(5_999);
    expect([early.questions, late.questions]).toEqual([2, 1]);
  });

  it('keeps the last list while the name has no addresses, and empties it after the grace', async () => {
    const resolver = new ScriptedResolver(['10.0.0.1'], 'ENOTFOUND');
    const { clock, run } = start(resolver);
    await clock.advanceMs(5_000);
    expect(run.errors).toEqual([
      'dns:///workers.ns:50061: the name workers.ns has no addresses; if it should have, check its spelling, the namespace, and that the Service is headless and has pods',
    ]);
    await clock.advanceMs(25_000);
    expect(run.lists).toHaveLength(1);
    await clock.advanceMs(5_000);
    expect(run.lists.at(-1)).toEqual([]);
    resolver.answers = [['10.0.0.9']];
    await clock.advanceMs(5_000);
    expect(run.lists.at(-1)).toEqual(['10.0.0.9:50061']);
  });

  it('gives the same list again once a failure is over, so that everybody learns of its end', async () => {
    const resolver = new ScriptedResolver(['10.0.0.1'], 'EAI_AGAIN', ['10.0.0.1']);
    const { clock, run } = start(resolver);
    await clock.advanceMs(5_000);
    expect(run.lists).toHaveLength(1);
    await clock.advanceMs(60_000);
    expect(run.lists).toEqual([['10.0.0.1:50061'], ['10.0.0.1:50061']]);
  });

  it('takes an empty answer for a name without addresses', async () => {
    const { clock, run } = start(new ScriptedResolver(['10.0.0.1'], []));
    await clock.advanceMs(34_999);
    expect(run.lists).toHaveLength(1);
    await clock.advanceMs(1);
    expect(run.lists.at(-1)).toEqual([]);
  });

  it('never empties the list because a name server is down, and counts the grace again after that', async () => {
    const resolver = new ScriptedResolver(['10.0.0.1'], 'EAI_AGAIN');
    const { clock, run } = start(resolver);
    await clock.advanceMs(3_600_000);
    expect(run.lists).toHaveLength(1);
    expect(run.errors[0]).toBe(
      'dns:///workers.ns:50061: the name server did not answer or failed (EAI_AGAIN)',
    );
    resolver.answers = ['ENOTFOUND'];
    await clock.advanceMs(25_000);
    resolver.answers = ['EAI_AGAIN', 'ENOTFOUND'];
    await clock.advanceMs(30_000);
    expect(run.lists).toHaveLength(1);
    await clock.advanceMs(10_000);
    expect(run.lists.at(-1)).toEqual([]);
  });

  it('says when a name server takes too long, and never asks it twice at the same time', async () => {
    const resolver = new ScriptedResolver('hang', ['10.0.0.1']);
    const { clock, run } = start(resolver);
    await clock.advanceMs(60_000);
    expect(run.errors).toEqual(['dns:///workers.ns:50061: no answer within 10000 ms']);
    expect(resolver.questions).toBe(1);
    resolver.release();
    await clock.advanceMs(5_000);
    expect(run.lists).toEqual([['10.0.0.1:50061']]);
  });

  it('refuses a name with more addresses than a fleet may have', async () => {
    const addresses = Array.from({ length: 10_001 }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
    const { clock, run } = start(new ScriptedResolver(['10.0.0.1'], addresses));
    await clock.advanceMs(5_000);
    expect(run.lists).toHaveLength(1);
    expect(run.errors).toEqual(['dns:///workers.ns:50061: has 10001 addresses, at most 10000 are allowed']);
  });

  it('ends immediately while it waits or asks, and leaves no timer', async () => {
    const { clock, run } = start(new ScriptedResolver(['10.0.0.1']));
    await clock.advanceMs(1);
    await run.stop();
    expect(clock.pendingTimers).toBe(0);
    const hanging = start(new ScriptedResolver('hang'));
    await hanging.run.stop();
    expect(hanging.clock.pendingTimers).toBe(0);
    expect(hanging.run.lists).toEqual([]);
  });
});

describe('the system resolver', () => {
  it('finds localhost', async () => {
    const addresses = await systemResolver.lookupAll('localhost');
    expect(addresses.some((address) => address === '127.0.0.1' || address === '::1')).toBe(true);
  });
});
