import { HIT_CHECKS } from '../fixes/confirm.js';
import { argumentsOf } from '../fixes/lines.js';
import { engineReuses, findsBlocks, type Picture } from '../picture.js';
import { isFalse, isTrue } from '../setting-words.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { percent } from './shared-clues.js';

/** The router is told not to use the events that workers publish. */
export const eventsIgnored: Cause = {
  id: 'events_ignored',
  suspect(picture: Picture): Suspicion | undefined {
    const [off] = picture.toldSettings('router_uses_events').filter(({ value }) => isFalse(value));
    const [publisher] = picture.toldSettings('publishes_kv_events').filter(({ value }) => isTrue(value));
    const findings = picture.evidence.findings.filter(({ ruleId }) => ruleId === 'events-ignored');
    const found = findsBlocks(picture);
    const reused = engineReuses(picture);
    const isWorse =
      reused !== undefined && (found?.share ?? 0) < reused.share / 2 && picture.routerHits.length > 0;
    const cluesFor: readonly ClueFor[] = [
      ...(off === undefined || publisher === undefined
        ? []
        : [
            {
              says: 'The router is told not to read KV events.',
              origin: off.origin,
              weight: isWorse ? ('proof' as const) : ('signature' as const),
            },
            { says: 'Workers publish them.', origin: publisher.origin, weight: 'sign' as const },
          ]),
      ...findings.map(({ message, file, line, column }) => ({
        says: `${message}.`,
        origin: { place: `${file}:${line}:${column}`, text: '' },
        weight: isWorse ? ('signature' as const) : ('sign' as const),
      })),
      ...(isWorse && (off !== undefined || findings.length > 0)
        ? [
            {
              says: `The router expects ${percent(found?.share ?? 0)} to be cached, and engines have ${percent(reused.share)}.`,
              origin: reused.origin,
              weight: 'sign' as const,
              symptom: 'router_blind' as const,
            },
          ]
        : []),
    ];
    if (cluesFor.length === 0) return undefined;
    return {
      headline: 'KV events are ignored: workers publish them, and the router is told to guess',
      explanation:
        'The router takes what it sent to a worker for what the worker holds, for a fixed time. It never learns what was evicted, nor what others sent.',
      cluesFor,
      cluesAgainst: guessesWell(picture),
      explains: ['router_blind', 'no_stores', 'empty_tree'],
      fixes: [
        {
          says: 'Let the router read the events: take --no-router-kv-events out',
          why: 'What workers publish already is exact. Only the frontend starts anew.',
          disturbs: 'frontend',
          files: [],
          commands: [
            argumentsOf(
              'dynamo.frontend',
              '--router-kv-events',
              'or DYN_ROUTER_USE_KV_EVENTS=true; DYN_KV_EVENTS=true before 1.0',
            ),
          ],
          verify: HIT_CHECKS,
        },
      ],
    };
  },
};

function guessesWell(picture: Picture): readonly ClueAgainst[] {
  const found = findsBlocks(picture);
  const { engineHits } = picture;
  const isClose = found !== undefined && (engineHits === undefined || found.share >= engineHits.share * 0.7);
  return !isClose || found === undefined
    ? []
    : [
        {
          says: `It guesses well: ${percent(found.share)}${engineHits === undefined ? '' : ` against ${percent(engineHits.share)} that engines had`}.`,
          origin: found.origin,
          weight: 'refutes',
        },
      ];
}
