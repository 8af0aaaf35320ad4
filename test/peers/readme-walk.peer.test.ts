import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isListening } from '../support/ports.js';
import { alone } from './support/alone.js';
import { lacks, peerPath } from './support/peers.js';
import { Program } from './support/program.js';
import { scratchFolder } from './support/scratch.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';
import { answersOk } from './support/vllm.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HEADING = '## KV-aware routing over vLLM, from one command';
/** The one thing in the blocks that is replaced: no model can be downloaded here. */
const MODEL = 'Qwen/Qwen3-0.6B';
/** What a vLLM on a CPU with a model of random weights wants beside the flags of the README. */
const CPU_FLAGS =
  '--load-format dummy --enforce-eager --max-model-len 2048 --dtype bfloat16 --kv-cache-memory-bytes 134217728';
/** Every port that the README names or that a command takes by default. */
const PORTS = [8000, 8100, 8200, 5557, 5558, 5567, 5568, 9464, 9465, 50_061, 50_062];

/** The shell blocks of the README's walk, in their order, as a reader copies them. */
function blocksOfWalk(): readonly string[] {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const [walk = ''] = readme.slice(readme.indexOf(HEADING) + HEADING.length).split(/^## /m, 1);
  return [...walk.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
}

const blocks = blocksOfWalk();
const of = (word: string): readonly string[] => blocks.filter((block) => block.includes(word));

/** A folder with `vllm` and `kv-accord` as a reader has them on the path. */
function commandsFolder(): string {
  const folder = join(scratchFolder(), 'readme-commands');
  mkdirSync(folder, { recursive: true });
  const commands = {
    vllm: `exec ${peerPath('vllm', 'bin', 'vllm')} "$@" ${CPU_FLAGS}`,
    'kv-accord': `exec ${process.execPath} ${join(ROOT, 'dist/cli/main.js')} "$@"`,
  };
  for (const [name, line] of Object.entries(commands)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

describe.skipIf(lacks('vllm'))("the README's walk over two engines on one host", () => {
  const programs: Program[] = [];
  let path: string;
  let model: string;

  const start = (name: string, block: string): Program => {
    const program = new Program({
      name,
      cwd: ROOT,
      command: ['bash', '-c', block.replace(MODEL, model)],
      env: {
        PATH: path,
        HF_HUB_OFFLINE: '1',
        TRANSFORMERS_OFFLINE: '1',
        VLLM_NO_USAGE_STATS: '1',
        VLLM_CPU_OMP_THREADS_BIND: 'nobind',
        OMP_NUM_THREADS: '1',
      },
    });
    programs.push(program);
    return program;
  };

  const run = async (block: string): Promise<string> => {
    const { stdout } = await promisify(execFile)('bash', ['-c', block], { cwd: ROOT });
    return stdout;
  };

  let done: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    done = await alone();
    const busy = [];
    for (const port of PORTS) if (await isListening(port)) busy.push(port);
    if (busy.length > 0) throw new Error(`the README's ports are taken here: ${busy.join(', ')}`);
    path = `${commandsFolder()}${delimiter}${process.env['PATH']}`;
    model = tinyModel('demo');
  });
  afterAll(async () => {
    for (const program of programs.reverse()) await program.stop();
    await done?.();
  });

  it('has every command as a block of its own, and no other', () => {
    expect(blocks.map((block) => /(vllm serve|kv-accord \w+|curl|npm ci)/.exec(block)?.[1])).toEqual([
      'npm ci',
      'vllm serve',
      'vllm serve',
      'kv-accord sidecar',
      'kv-accord sidecar',
      'kv-accord frontend',
      'curl',
      'curl',
    ]);
    expect(of(MODEL)).toEqual(of('vllm serve'));
  });

  it("routes the second turn to the worker that has the first, by the engine's own count", async () => {
    for (const [at, block] of of('vllm serve').entries()) {
      const engine = start(`engine-${at}`, block);
      const url = `http://127.0.0.1:${/--port (\d+)/.exec(block)?.[1]}/health`;
      await until(`${url} to answer`, () => answersOk(url), { timeoutMs: 400_000, needs: [engine] });
    }
    const sidecars = of('kv-accord sidecar').map((block, at) => start(`sidecar-${at}`, block));
    const [block = ''] = of('kv-accord frontend');
    const frontend = start('frontend', block);
    await until('the frontend to be ready', () => answersOk('http://127.0.0.1:8000/readyz'), {
      timeoutMs: 120_000,
      needs: [frontend, ...sidecars],
    });

    const [ask = '', askAgain = ''] = of('curl');
    const first = await run(ask);
    expect(first).toContain('HTTP/1.1 200 OK');
    expect(first).toMatch(/^x-kv-accord-cached-blocks: 0\r?$/m);
    const worker = /^x-kv-accord-worker: (.+?)\r?$/m.exec(first)?.[1];

    // The events of the first turn come a moment after its answer.
    const second = await until('the cached blocks of the first turn', async () => {
      const answer = await run(askAgain);
      const cached = Number(/^x-kv-accord-cached-blocks: (\d+)/m.exec(answer)?.[1]);
      return cached >= 6 && answer;
    });
    expect(/^x-kv-accord-worker: (.+?)\r?$/m.exec(second)?.[1]).toBe(worker);
    expect(Number(/"cached_tokens":(\d+)/.exec(second)?.[1])).toBeGreaterThanOrEqual(6 * 32);
  }, 900_000);
});
