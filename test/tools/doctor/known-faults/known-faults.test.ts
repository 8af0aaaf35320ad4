import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { knownFaultsOf } from '../../../../src/tools/doctor/measurements/known-faults.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';
import { KNOWN_FAULTS, knownFault } from '../support/known-faults.js';

const FOLDER = new URL('../../../fixtures/doctor-sentences/', import.meta.url);

interface Example {
  readonly file: string;
  readonly fault: string | null;
  readonly text: string;
}

const EXAMPLES: readonly Example[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.jsonl'))
  .flatMap((file) =>
    readFileSync(new URL(file, FOLDER), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => ({ file, ...(JSON.parse(line) as Omit<Example, 'file'>) })),
  );

/** What was typed into a terminal, with its answer, stands in no log of a container. */
const TYPED = /^(?:\$ )?curl /;

const WRAPPERS: readonly (readonly [string, (line: string) => string])[] = [
  ['kubectl logs --prefix', (line) => `[pod/pod-0/main] ${line}`],
  ['a container runtime', (line) => `2026-03-03T10:00:00.123456789Z stdout F ${line}`],
  [
    'the JSON of Docker',
    (line) => JSON.stringify({ log: `${line}\n`, stream: 'stderr', time: '2026-03-03T10:00:00Z' }),
  ],
];

/** With the row that comes first under the cause of the first finding. */
async function diagnosisOf(
  text: string,
  wrap: (line: string) => string,
): Promise<Diagnosis & { readonly firstRow: string | undefined }> {
  const lines = text.split('\n').map((line) => `${wrap(line)}\n`);
  const log = await summaryOf(lines.join(''));
  const diagnosis = diagnose(joined({ logs: [log] }));
  const [first] = knownFaultsOf([log], diagnosis.assessments[0]?.cause);
  return { ...diagnosis, firstRow: first?.fault.id };
}

/** Examples whose first finding is not the fault that they show. */
async function wrongOf(examples: readonly Example[], wrap: (line: string) => string): Promise<string[]> {
  const wrong: string[] = [];
  for (const { file, fault, text } of examples) {
    const { verdict, assessments, headline, advice, firstRow } = await diagnosisOf(text, wrap);
    const row = fault === null ? undefined : knownFault(fault);
    const isRight =
      fault === null
        ? verdict !== 'findings'
        : row !== undefined &&
          firstRow === fault &&
          assessments[0]?.cause === row.cause &&
          headline.slice(1).startsWith(fixedPart(row.says)) &&
          !/\$[1-9]/.test(headline + advice);
    if (!isRight) wrong.push(`${file} ${fault}: ${headline}`);
  }
  return wrong;
}

/** The beginning of a text up to its first place to be filled. */
function fixedPart(text: string): string {
  return (text.split(/\$[1-9]/)[0] ?? '').slice(1);
}

describe('known faults', () => {
  it('have ids of their own, needles that can be searched for, and patterns without an unbounded part', () => {
    expect(new Set(KNOWN_FAULTS.map(({ id }) => id)).size).toBe(KNOWN_FAULTS.length);
    for (const { id, needles, pattern, below = [], healedBy = [] } of KNOWN_FAULTS) {
      expect(id).toMatch(/^[a-z][a-z0-9_]+$/);
      expect(needles.length).toBeGreaterThan(0);
      // A needle within another one finds all that the longer one would.
      for (const needle of needles)
        expect(needles.filter((one) => one !== needle && one.includes(needle))).toEqual([]);
      for (const needle of [...needles, ...below, ...healedBy]) expect(needle).toMatch(/^[\x20-\x7e]{12,}$/);
      // JSON writes it in other characters.
      for (const mark of [...below, ...healedBy]) expect(mark).not.toMatch(/["\\]/);
      expect(`${id} ${pattern?.source ?? ''}`).not.toMatch(/(?<!\\)(?:\.|\\[wSd]|\])[*+]/);
    }
  });

  it('say what is wrong and one thing to do', () => {
    for (const { id, says, why, cure } of KNOWN_FAULTS) {
      expect(`${id}: ${says}`).toMatch(/[^.]$/);
      expect(`${id}: ${cure}`).toMatch(/^\w+: [A-Z].*[^.]$/);
      expect(`${id}: ${why}`).toMatch(/\.$/);
      expect(`${id} ${says.length <= 160}`).toBe(`${id} true`);
    }
  });

  it('each have an example', () => {
    const shown = new Set(EXAMPLES.map(({ fault }) => fault));
    expect(KNOWN_FAULTS.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual([]);
  });

  // Some thousand reports: a machine that does much else takes its time.
  it('name the fault of their examples', { timeout: 300_000 }, async () => {
    expect(await wrongOf(EXAMPLES, (line) => line)).toEqual([]);
  });

  it.each(WRAPPERS.map((wrapper, at) => [...wrapper, at] as const))(
    'name the fault of every third of them behind %s',
    { timeout: 300_000 },
    async (_name, wrap, at) => {
      const logged = EXAMPLES.filter(({ text: lines }) => !TYPED.test(lines));
      const some = logged.filter((_, index) => index % WRAPPERS.length === at);
      expect(await wrongOf(some, wrap)).toEqual([]);
    },
  );

  it('are found wherever they stand in a long line', async () => {
    const sentence = 'ENGINE does not support fp8 kv-cache on this device. ValueError';
    for (const chars of [0, 900, 6_000]) {
      const line = `ERROR 07-08 11:49:03 [engine.py:458] ${'x '.repeat(chars / 2)}${sentence}${' y'.repeat(2_000)}`;
      expect((await diagnosisOf(line, (text) => text)).headline).toContain('has no FP8 KV cache on this GPU');
    }
  });
});
