import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WorkerPosition } from '../../../src/core/contract/topology/worker-position.js';
import { PairBook } from '../../../src/core/pairs/pair-book.js';
import { linkCodeOf, NO_LINK } from '../../../src/core/pairs/pair-links.js';
import { PAIR_CLASSES, type PairPolicy } from '../../../src/core/pairs/pair-words.js';
import { type PairSketch, pairMember } from './pair-fleet.js';

const NUMBERS = 4;
const MIB = 1_048_576;

const text = (...known: readonly string[]): fc.Arbitrary<string> => fc.constantFrom('', ...known);

const position: fc.Arbitrary<Partial<WorkerPosition>> = fc.record({
  node: text('node-0', 'node-1'),
  rack: text('rack-0', 'rack-1'),
  zone: text('zone-0', 'zone-1'),
  region: text('region-0'),
  fabrics: fc.constantFrom([], ['fabric-0'], ['fabric-1']),
  gpus: fc
    .subarray(['gpu-0', 'gpu-1'])
    .map((ids) => ids.map((id) => ({ id, wholeId: id, numaNode: undefined, pcieRoot: undefined }))),
});

const sketch: fc.Arbitrary<PairSketch> = fc.record({
  position,
  transfer: fc.constantFrom(
    {},
    { compatibility_hash: 'b'.repeat(64), dtype: 'float16' },
    { compatibility_hash: undefined, dtype: undefined },
    'none' as const,
  ),
  instance: fc.constantFrom('i-0', 'i-1'),
});

const role = fc.constantFrom('prefill' as const, 'decode' as const);
const number = fc.integer({ min: 0, max: NUMBERS - 1 });

type Step = (book: PairBook) => void;

const steps: fc.Arbitrary<Step> = fc
  .oneof(
    { weight: 4, arbitrary: fc.record({ role, number, sketch }) },
    { weight: 1, arbitrary: fc.record({ role, gone: number }) },
    {
      weight: 2,
      arbitrary: fc.record({
        prefill: number,
        answer: fc.constantFrom('reachable', 'pending', 'unreachable'),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ prefill: number, decode: number, failures: fc.integer({ min: 0, max: 3 }) }),
    },
    { weight: 1, arbitrary: fc.record({ nowMs: fc.integer({ min: 0, max: 100_000 }) }) },
  )
  .map(
    (step): Step =>
      (book) => {
        if ('sketch' in step) {
          book.setMember(pairMember(`${step.role}-${step.number}`, step.role, step.sketch));
        } else if ('gone' in step) {
          book.deleteMember(`${step.role}-${step.gone}`);
        } else if ('answer' in step) {
          const target = `prefill-${step.prefill}`;
          for (const pairClass of PAIR_CLASSES)
            book.setChannel(target, book.member(target)?.instanceId ?? '', pairClass, {
              state: step.answer as 'pending',
              reason: 'it refuses',
            } as never);
        } else if ('failures' in step) {
          const [prefill, decode] = [`prefill-${step.prefill}`, `decode-${step.decode}`];
          if (step.failures === 0) book.transferDone(prefill, decode, { sizeBytes: MIB, durationMs: 3 });
          for (let nth = 0; nth < step.failures; nth += 1)
            book.transferFailed(prefill, decode, 'it timed out', 0);
        } else {
          book.advance(step.nowMs);
        }
      },
  );

/** What is said of each pair, one by one. */
function plainly(book: PairBook): unknown {
  return [...book.prefillTargets].flatMap((prefill) =>
    [...book.decodeTargets].map((decode) => [
      ...[prefill, decode, book.mayUse(prefill, decode)],
      book.mayUse(prefill, decode) ? book.classOf(prefill, decode) : '',
      book.millisecondsPerMebibyte(prefill, decode),
    ]),
  );
}

/** The same, of all pairs of a prefill worker together. */
function byLinks(book: PairBook): unknown {
  return [...book.prefillTargets].flatMap((prefill) => {
    const links = book.linksOf(prefill);
    return [...book.decodeTargets].map((decode) => {
      const at = book.decodeNumberOf(decode) ?? -1;
      const code = links?.classes[at] as number;
      const pairClass = PAIR_CLASSES.find((name) => linkCodeOf(name) === code) ?? '';
      return [prefill, decode, code !== NO_LINK, pairClass, links?.millisecondsPerMebibyte[at]];
    });
  });
}

describe('the links of a prefill worker', () => {
  it.each<PairPolicy>(['require', 'warn', 'report'])(
    'say of each pair what the book says of it, whatever came before, with %s',
    (policy) => {
      fc.assert(
        fc.property(fc.array(steps, { minLength: 4, maxLength: 40 }), (all) => {
          const book = new PairBook({ policy });
          for (const step of all) {
            step(book);
            expect(byLinks(book)).toEqual(plainly(book));
          }
        }),
      );
    },
  );

  it('are the same numbers wherever their version is, in whatever order workers come, leave and start again', () => {
    const step = fc.record({ at: fc.nat(4), instance: fc.nat(1), leaves: fc.nat(3) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const book = new PairBook({ policy: 'warn' });
        const seen = new Map<number, unknown>();
        for (const { at, instance, leaves } of steps) {
          if (leaves === 0) book.deleteMember(`decode-${at}`);
          else book.setMember(pairMember(`decode-${at}`, 'decode', { instance: `i-${instance}` }));
          const { decodeNumbersVersion: version } = book;
          const numbers = [0, 1, 2, 3, 4].map((other) => book.decodeNumberOf(`decode-${other}`));
          expect(numbers).toEqual(seen.get(version) ?? numbers);
          seen.set(version, numbers);
        }
      }),
    );
  });

  it('keep their version when a worker starts again, so that nobody looks for them again', () => {
    const book = new PairBook({ policy: 'warn' });
    for (const at of [0, 1]) book.setMember(pairMember(`decode-${at}`, 'decode'));
    const { decodeNumbersVersion: before } = book;
    book.setMember(pairMember('decode-0', 'decode', { instance: 'another' }));
    expect(book.decodeNumbersVersion).toBe(before);
  });

  it('are those of members alone', () => {
    const book = new PairBook({ policy: 'warn' });
    book.setMember(pairMember('decode-0', 'decode'));
    expect(book.linksOf('prefill-0')).toBeUndefined();
    expect(book.linksOf('decode-0')).toBeUndefined();
    expect(book.decodeNumberOf('prefill-0')).toBeUndefined();
  });

  it('give the number of one that left to the next that comes', () => {
    const book = new PairBook({ policy: 'warn' });
    for (let nth = 0; nth < 100; nth += 1) {
      const { decodeNumbersVersion: before } = book;
      book.setMember(pairMember(`decode-${nth}`, 'decode'));
      expect(book.decodeNumbersVersion).not.toBe(before);
      expect(book.decodeNumberOf(`decode-${nth}`)).toBe(0);
      book.deleteMember(`decode-${nth}`);
    }
  });
});
