import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { borrowVllm, type LentProgram } from './support/borrow-engine.js';
import { type ExactFleet, startExactFleet } from './support/exact-fleet.js';
import { probe } from './support/kv-accord.js';
import { lacks, peerPath } from './support/peers.js';
import { TOOL_FLAGS } from './support/tokenizer-model.js';
import { until } from './support/until.js';
import type { Vllm } from './support/vllm.js';

const MODEL = 'tiny-chatml';
/** `KV_ACCORD_CLIENT_TURNS`: turns of each conversation, by each client on each of its APIs. */
const TURNS = Number(process.env['KV_ACCORD_CLIENT_TURNS'] ?? 2);
const LIMIT_MS = 150_000 + 60_000 * TURNS;

const support = (file: string): string => fileURLToPath(new URL(`support/${file}`, import.meta.url));

describe.skipIf(lacks('vllm', 'agent-clients'))('the clients of agents over a real vLLM', () => {
  let engine: Vllm<LentProgram>;
  let fleet: ExactFleet;

  beforeAll(async () => {
    engine = await borrowVllm({ tokenizer: 'chatml', blockSize: 32, flags: TOOL_FLAGS });
    fleet = await startExactFleet([engine]);
    await until('the frontend to be ready', async () => {
      return (await probe(fleet.frontend, '/readyz')).status === 200;
    });
  });
  afterAll(async () => {
    await fleet?.stopOwn();
    await engine?.program.stop();
  });

  const clients: readonly (readonly [name: string, number: number, command: () => readonly string[]])[] = [
    [
      "OpenAI's, Anthropic's, LangChain's and LiteLLM's for Python",
      14,
      () => [
        peerPath('agent-clients', 'bin', 'python'),
        support('agent-libraries.py'),
        fleet.frontend.url,
        MODEL,
        String(TURNS),
      ],
    ],
    [
      "OpenAI's and Anthropic's for Node",
      6,
      () => [
        process.execPath,
        support('agent-libraries.mjs'),
        fleet.frontend.url,
        MODEL,
        String(TURNS),
        peerPath('agent-clients', 'node'),
      ],
    ],
  ];

  it.each(clients)(
    '%s are served on each API: whole, as streams, with tools, and with errors that they know',
    async (...one) => {
      const [, number, command] = one;
      const [program = '', ...args] = command();
      const { stdout } = await promisify(execFile)(program, args, { timeout: LIMIT_MS });
      const { wrong, cases } = JSON.parse(stdout) as { wrong: object; cases: readonly string[] };
      expect(wrong).toEqual({});
      expect(cases).toHaveLength(number);
    },
    LIMIT_MS,
  );
});
