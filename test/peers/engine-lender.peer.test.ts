import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../support/ports.js';
import { borrowFrom } from './support/borrow-engine.js';
import { EngineLender, type EngineWish } from './support/engine-lender.js';
import { Program } from './support/program.js';
import { until } from './support/until.js';
import { answersOk, type Vllm } from './support/vllm.js';

/** In place of an engine: a server that is healthy. */
const HEALTHY = "require('node:http').createServer((_, response) => response.end()).listen(process.argv[1]);";
const A: EngineWish = { engine: 'vllm', blockSize: 32 };
const B: EngineWish = { engine: 'vllm', blockSize: 64 };

describe('a lender of engines', () => {
  let lender: EngineLender;
  const started: Vllm[] = [];
  const pids = (): (number | undefined)[] => started.map(({ program }) => program.pid);
  const borrow = (wish: EngineWish) => borrowFrom(lender.socketPath, wish);

  beforeEach(async () => {
    started.length = 0;
    lender = await EngineLender.open(async () => {
      const http = await freePort();
      const url = `http://127.0.0.1:${http}`;
      const program = new Program({
        name: 'played-engine',
        command: [process.execPath, '--eval', HEALTHY, String(http)],
      });
      await until('it to serve', () => answersOk(url), { needs: [program], pollMs: 20 });
      const engine = { program, url, ports: { http, grpc: http, zmq: http } };
      started.push(engine);
      return engine;
    });
  });
  afterEach(async () => {
    await lender.stop();
    // However the test has ended, nothing runs on.
    expect(started.filter(({ program }) => program.status === undefined)).toEqual([]);
  });

  it('starts one for equal wishes, one after the other, and another one for another wish', async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      const engine = await borrow(A);
      expect(engine.url).toBe(started[0]?.url);
      expect(engine.program.pid).toBe(started[0]?.program.pid);
      expect(await engine.program.stop()).toBe(0);
    }
    expect((await borrow(B)).url).toBe(started[1]?.url);
    expect(started).toHaveLength(2);
  });

  it('lends no engine twice', async () => {
    const [one, two] = await Promise.all([borrow(A), borrow(A)]);
    expect(one.url).not.toBe(two.url);
    expect(started).toHaveLength(2);
  });

  it('says that an engine has ended, and lends it no more', async () => {
    const engine = await borrow(A);
    expect(await engine.program.end()).toBe(128 + 15);
    expect(engine.program.status).toBe(128 + 15);
    expect(engine.program.pid).toBeUndefined();
    const next = await borrow(A);
    await next.program.stop();
    // This one ends while nobody has it.
    await started[1]?.program.kill();
    expect((await borrow(A)).url).toBe(started[2]?.url);
  });

  it('ends those that too many wishes would keep, the oldest first', async () => {
    for (const blockSize of [1, 2, 3]) await (await borrow({ ...A, blockSize })).program.stop();
    await until('the first to end', () => started[0]?.program.status !== undefined, { pollMs: 20 });
    expect(pids().map((pid) => pid !== undefined)).toEqual([false, true, true]);
  });

  it('refuses what cannot be started, with the reason', async () => {
    const refusing = await EngineLender.open(() => Promise.reject(new Error('no such flag')));
    try {
      await expect(borrowFrom(refusing.socketPath, A)).rejects.toThrow('no such flag');
    } finally {
      await refusing.stop();
    }
  });
});
