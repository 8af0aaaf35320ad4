import { describe, expect, it } from 'vitest';
import { inspect } from '../support.js';

const EVENTS = `--kv-events-config '{"publisher":"zmq","endpoint":"tcp://*:5557"}'`;

/** What is said of a worker behind a KV router, in a script. */
function advice(worker: string): string | undefined {
  const { findings } = inspect({ 'x.sh': `python3 -m dynamo.frontend --router-mode kv &\n${worker}\n` });
  const [one] = findings.filter(({ ruleId }) => ruleId === 'kv-events-off');
  expect(one?.fix === undefined || one.advice.startsWith('Start it')).toBe(true);
  return one?.advice;
}

describe('arguments that a command has lost', () => {
  it.each([
    [`python3 -m dynamo.sglang --model m \\\n  --page-size 16\n  ${EVENTS}`, 4],
    [`python3 -m dynamo.sglang --model m \\\n  # --tp 2 \\\n  ${EVENTS}`, 4],
    [`python3 -m dynamo.sglang --model m\n  ${EVENTS} \\\n  --tp 2`, 3],
  ])('are named with their line: %s', (worker, line) => {
    expect(advice(worker)).toMatch(new RegExp(`^Join line ${line} \\(--kv-events-config\\)`));
  });

  it.each([
    [`python3 -m dynamo.sglang --model m \\\n  --page-size 16 &\nwait`],
    [`python3 -m dynamo.sglang --model m \\\n  --page-size 16 &\n  --verbose`],
    [`python3 -m dynamo.sglang --model m \\\n  --page-size 16 &\n\n${EVENTS}`],
  ])('are none where nothing of it follows: %s', (worker) => {
    expect(advice(worker)).toMatch(/^Start it/);
  });

  it('have nothing to do with a command that got them', () => {
    expect(
      advice(
        `python3 -m dynamo.sglang --model m \\\n  ${EVENTS.replace('{', '{"enable_kv_cache_events":true,')}`,
      ),
    ).toBeUndefined();
  });
});
