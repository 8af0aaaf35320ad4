import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { DrawnHit } from '../../support/random-hits.js';
import { peerPath } from './peers.js';

const SCRIPT = fileURLToPath(new URL('vllm-hits.py', import.meta.url));
const ERROR_TAIL_CHARACTERS = 4_000;

/** Hit lengths in tokens that vLLM's coordinator finds; undefined for tables which it cannot be made with. */
export async function askVllmForHits(cases: readonly DrawnHit[]): Promise<(number | undefined)[]> {
  const { PATH, HOME } = process.env;
  const python = spawn(peerPath('vllm', 'bin', 'python'), [SCRIPT], {
    env: { PATH, HOME, VLLM_NO_USAGE_STATS: '1', OMP_NUM_THREADS: '1' },
  });
  let errors = '';
  python.stderr.on('data', (text: Buffer) => {
    errors = (errors + String(text)).slice(-ERROR_TAIL_CHARACTERS);
  });
  // A script that ends early says why on its standard error.
  python.stdin.on('error', () => undefined);
  python.stdin.end(cases.map((drawn) => `${JSON.stringify(drawn)}\n`).join(''));
  const answers: (number | undefined)[] = [];
  for await (const line of createInterface({ input: python.stdout })) {
    // The engine's libraries print there too.
    if (/^-?\d+$/.test(line)) answers.push(Number(line) < 0 ? undefined : Number(line));
  }
  if (answers.length !== cases.length) throw new Error(`${answers.length} answers: ${errors}`);
  return answers;
}
