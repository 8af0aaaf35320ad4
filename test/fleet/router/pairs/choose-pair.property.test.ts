import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PairBook } from '../../../../src/core/pairs/pair-book.js';
import { PAIR_CLASSES } from '../../../../src/core/pairs/pair-words.js';
import { seededRandom } from '../../../../src/edge/platform/random.js';
import { type Candidate, PARTS } from '../../../../src/fleet/router/choice/candidates.js';
import { DEFAULT_COST_WEIGHTS } from '../../../../src/fleet/router/choice/cost.js';
import { type RoutedPrompt, WorkerSelector } from '../../../../src/fleet/router/choice/worker-selector.js';
import { choosePair } from '../../../../src/fleet/router/pairs/choose-pair.js';
import { DecodeLinks } from '../../../../src/fleet/router/pairs/decode-links.js';
import { pairMember } from '../../../core/pairs/pair-fleet.js';
import { FilledIndex } from '../../../support/filled-index.js';
import { chainOf } from '../support/chained.js';

const TOKENS_PER_BLOCK = 16;
const MIB = 1_048_576;
const BYTES_PER_TOKEN = MIB / TOKENS_PER_BLOCK;
const BLOCKS = 20;

/** Milliseconds of a mebibyte by class, as `docs/router.md` lists them. */
const BY_CLASS: Readonly<Record<string, number>> = {
  ...{ same_gpu: 0.01, nvlink_fabric: 0.01, nvlink_host: 0.02, same_pcie_root: 0.05, same_numa_node: 0.06 },
  ...{ same_host: 0.08, same_rack: 0.1, same_zone: 0.2, same_region: 0.5, apart: 1, unknown: 1 },
};

interface Worker {
  readonly role: 'prefill' | 'decode';
  readonly host: number;
  readonly rack: number;
  readonly isOther: boolean;
  readonly ranks: number;
  /** Requests, of so many blocks, that it works on. */
  readonly work: readonly number[];
}

const worker: fc.Arbitrary<Worker> = fc.record({
  role: fc.constantFrom('prefill' as const, 'decode' as const),
  host: fc.integer({ min: 0, max: 3 }),
  rack: fc.integer({ min: 0, max: 1 }),
  isOther: fc.boolean(),
  ranks: fc.integer({ min: 1, max: 2 }),
  work: fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 3 }),
});

const used = fc.record({
  prefill: fc.nat(),
  decode: fc.nat(),
  milliseconds: fc.integer({ min: 0, max: 20 }),
});

function candidatesOf(workers: readonly Worker[]): Candidate[] {
  return workers.flatMap(({ role, ranks }, nth) =>
    Array.from({ length: ranks }, (_, rank) => ({
      ...{ target: `w-${nth}`, workerId: `w-${nth}`, instanceId: 'i', rank, rankCount: ranks },
      offer: 'full' as const,
      parts: role === 'prefill' ? PARTS.prefill : PARTS.decode | PARTS.whole,
      split: { protocol: 'nixl' as const, bootstrapAddresses: new Map(), bytesPerToken: BYTES_PER_TOKEN },
    })),
  );
}

function bookOf(workers: readonly Worker[]): PairBook {
  const book = new PairBook({ policy: 'warn' });
  for (const [nth, { role, host, rack, isOther }] of workers.entries()) {
    const position = { node: `node-${host}`, rack: `rack-${rack}`, zone: 'zone' };
    const transfer = isOther ? { compatibility_hash: 'b'.repeat(64), dtype: 'float16' } : {};
    book.setMember(pairMember(`w-${nth}`, role, { position, transfer }));
  }
  for (const prefill of book.prefillTargets)
    for (const pairClass of PAIR_CLASSES)
      book.setChannel(prefill, book.member(prefill)?.instanceId ?? '', pairClass, { state: 'reachable' });
  return book;
}

function promptOf(first: number, blocks: number): RoutedPrompt {
  const numbers = Array.from({ length: blocks }, (_, at) => first * 1_000 + at);
  return { sequenceHashes: chainOf(numbers), tokenCount: TOKENS_PER_BLOCK * blocks };
}

it('the decode worker is one for which the plain formula has the least, of those that the book lets be used', () => {
  fc.assert(
    fc.property(
      fc.array(worker, { minLength: 2, maxLength: 12 }),
      fc.array(used, { maxLength: 12 }),
      fc.constantFrom(0, 0.1, 1, 10),
      (workers, uses, transferWeight) => {
        const selector = new WorkerSelector(
          { mode: 'kv', weights: DEFAULT_COST_WEIGHTS, temperature: 0 },
          { random: seededRandom(1) },
        );
        selector.begin(new FilledIndex(TOKENS_PER_BLOCK), TOKENS_PER_BLOCK);
        const candidates = candidatesOf(workers);
        let busyWith = 100;
        for (const [nth, { work }] of workers.entries()) {
          // One candidate alone, so that the work is its own.
          for (const blocks of work) {
            selector.setCandidates(candidates);
            busyWith += 1;
            const others = candidates
              .filter(({ target }) => target !== `w-${nth}`)
              .map(({ target }) => target);
            const prompt = promptOf(busyWith, blocks);
            selector.look(prompt);
            const choice = selector.chooseIn({ parts: PARTS.prefill | PARTS.decode }, prompt, others);
            if (choice === undefined) throw new Error('nobody');
            selector.count(choice, prompt);
          }
        }
        selector.setCandidates(candidates);
        const pairs = bookOf(workers);
        const [prefills, decodes] = [[...pairs.prefillTargets], [...pairs.decodeTargets]];
        for (const { prefill, decode, milliseconds } of prefills.length * decodes.length === 0 ? [] : uses) {
          const names = [
            prefills[prefill % prefills.length] as string,
            decodes[decode % decodes.length] as string,
          ] as const;
          if (milliseconds > 0) pairs.transferDone(...names, { sizeBytes: MIB, durationMs: milliseconds });
          else for (let nth = 0; nth < 3; nth += 1) pairs.transferFailed(...names, 'it timed out', 0);
        }
        const loads = new Map(
          selector.loads().map(({ candidate, activeBlocks }) => [candidate, activeBlocks]),
        );
        const choice = choosePair(
          {
            ...{ prompt: promptOf(1, BLOCKS), tokenCount: undefined, excluded: [], about: {} },
            pairing: { protocols: ['nixl'] },
          },
          { selector, pairs, links: new DecodeLinks(), options: { transferWeight, minPrefillTokens: 0 } },
        );
        if (choice?.type !== 'pair') return;
        const { target: prefill } = choice.prefill.decided.candidate;
        const transferMs = (decode: string): number => {
          const measured = pairs.millisecondsPerMebibyte(prefill, decode);
          const cost = Number.isNaN(measured)
            ? (BY_CLASS[pairs.classOf(prefill, decode)] as number)
            : measured;
          return (cost * BLOCKS * TOKENS_PER_BLOCK * BYTES_PER_TOKEN) / MIB;
        };
        const costOf = (candidate: Candidate): number =>
          (loads.get(candidate) ?? 0) + BLOCKS + transferWeight * transferMs(candidate.target);
        const allowed = candidates.filter(
          ({ target, parts = 0 }) => (parts & PARTS.decode) !== 0 && pairs.mayUse(prefill, target),
        );
        const chosen = choice.decode.decided.candidate;
        expect(allowed).toContain(chosen);
        expect(costOf(chosen)).toBe(Math.min(...allowed.map(costOf)));
        expect(choice.expectedTransferMs).toBe(transferMs(chosen.target));
      },
    ),
  );
});
