import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../src/tools/doctor/diagnosis.js';
import { joinEvidence } from '../../../src/tools/doctor/evidence.js';
import { metricsPart } from '../../../src/tools/doctor/gather/metrics.js';
import { type PlayedFleet, type PlayedFleetOptions, playDynamo } from '../../support/played-dynamo.js';
import { propertyRuns } from '../../support/property-runs.js';
import { summaryOf } from './logs/summaries.js';
import { joined, namesOf } from './support/evidence.js';

/** What is said of all that a fleet wrote, of its frontend's page alone, and of its frontend's log alone. */
async function answersOf(fleet: PlayedFleet): Promise<Record<'all' | 'page' | 'log', Diagnosis>> {
  const page = metricsPart('frontend', fleet.frontendPage);
  const log = { logs: [await summaryOf(fleet.frontendLog)] };
  const logs = await Promise.all(fleet.workerLogs.map((text) => summaryOf(text)));
  const sizes = logs.flatMap((summary) => summary.sizes);
  const pages = fleet.workerPages.map((text, at) => metricsPart(`worker-${at}`, text));
  const workers = joined({ logs, sizes });
  const evidence = joined(page, log, ...pages);
  return {
    all: diagnose({
      ...evidence,
      logs: [...evidence.logs, ...workers.logs],
      sizes: [...evidence.sizes, ...sizes],
    }),
    page: diagnose(joinEvidence([page])),
    log: diagnose(joined(log)),
  };
}

const size = fc.constantFrom(16, 32, 64, 128);
const load = fc.record({
  conversations: fc.integer({ min: 1, max: 40 }),
  turns: fc.integer({ min: 1, max: 8 }),
  generations: fc.integer({ min: 1, max: 3 }),
  tokensPerTurn: fc.integer({ min: 128, max: 1_500 }),
});

describe('played fleets of any size and load', () => {
  it('get no finding where sizes agree and engines keep enough', async () => {
    await fc.assert(
      fc.asyncProperty(
        load,
        size,
        fc.double({ min: 0.2, max: 2, noNaN: true }),
        async (one, tokens, room) => {
          const { conversations, turns, tokensPerTurn } = one;
          const needed = Math.ceil((conversations * turns * tokensPerTurn) / tokens / 2);
          const options: PlayedFleetOptions = {
            ...one,
            routerTokens: tokens,
            engineTokens: tokens,
            blocks: Math.max(Math.ceil(needed * room), Math.ceil((turns * tokensPerTurn) / tokens)),
          };
          const fleet = playDynamo(options);
          // An engine that finds little is a finding of its own.
          fc.pre(fleet.truth.engineHitRate >= 0.2 || fleet.truth.evicted === 0);
          for (const [what, diagnosis] of Object.entries(await answersOf(fleet)))
            expect(diagnosis.verdict, `${what}: ${namesOf(diagnosis).join()}`).not.toBe('findings');
        },
      ),
      { numRuns: propertyRuns(25) },
    );
  });

  it('are never healthy where the router uses another size than engines, and never called anything but that', async () => {
    await fc.assert(
      fc.asyncProperty(load, size, size, fc.boolean(), async (one, router, engine, isLoud) => {
        // Of first turns alone there is nothing to find.
        fc.pre(router !== engine && one.turns > 1);
        const options = { ...one, routerTokens: router, engineTokens: engine };
        const fleet = playDynamo({ ...options, ...(isLoud ? { publisherTokens: router } : {}) });
        const { all, page, log } = await answersOf(fleet);
        for (const { verdict } of [all, page, log]) expect(verdict).not.toBe('healthy');
        const size = ['block_size_mismatch', 'wrong_model_card'];
        for (const diagnosis of [all, page, log])
          for (const { cause, confidence } of diagnosis.assessments)
            if (confidence !== 'possible') expect(size, namesOf(diagnosis).join()).toContain(cause);
        // A publisher that drops everything says so with both numbers.
        if (isLoud) expect(namesOf(all)[0]).toBe('block_size_mismatch certain');
        const isSeen = one.conversations * one.turns * one.generations >= 10;
        if (!isLoud && isSeen && fleet.truth.engineHitRate >= 0.01)
          expect(namesOf(page)).toEqual(['wrong_model_card likely']);
      }),
      { numRuns: propertyRuns(25) },
    );
  });
});
