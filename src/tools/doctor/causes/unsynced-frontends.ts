import { HIT_CHECKS } from '../fixes/confirm.js';
import { argumentsOf } from '../fixes/lines.js';
import { findsBlocks, type Picture } from '../picture.js';
import { isFalse, isTrue } from '../setting-words.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { percent } from './shared-clues.js';

/** Several frontends or routers, none of which knows what the others sent where. */
export const unsyncedFrontends: Cause = {
  id: 'unsynced_frontends',
  suspect(picture: Picture): Suspicion | undefined {
    const [replicas] = picture.settings('frontend_replicas').filter(({ value }) => Number(value) > 1);
    const pages = picture.evidence.metrics.filter(({ program }) => program === 'dynamo-frontend');
    const count = Math.max(pages.length, Number(replicas?.value ?? 0));
    const sync = picture.settings('router_replica_sync');
    if (count < 2 || sync.some(({ value }) => isTrue(value))) return undefined;
    const [off] = sync.filter(({ value }) => isFalse(value));
    const [guess] = picture.settings('router_uses_events').filter(({ value }) => isFalse(value));
    const where = replicas?.origin ?? { place: pages[1]?.name ?? '', text: '' };
    const cluesFor: readonly ClueFor[] = [
      {
        says: `${count} frontends, and ${off === undefined ? 'nothing that tells them of each other (--router-replica-sync is off by default)' : '--router-replica-sync is off'}.`,
        origin: off?.origin ?? where,
        weight: guess !== undefined ? 'signature' : 'sign',
      },
      ...(guess === undefined
        ? []
        : [
            {
              says: 'Each of them guesses from its own decisions what workers hold, as they do not read KV events.',
              origin: guess.origin,
              weight: 'sign' as const,
            },
          ]),
    ];
    return {
      headline: `${count} frontends do not know of each other's requests`,
      explanation:
        'Each router counts the load and, without KV events, the blocks of the requests that it sent itself. A conversation that meets another frontend than before is new to it, and workers are loaded unevenly.',
      cluesFor,
      cluesAgainst: working(picture),
      explains: ['uneven_decisions'],
      fixes: [
        {
          says: 'Let the routers tell each other: --router-replica-sync on each frontend',
          why: 'They exchange what is running where. Only frontends start anew, one after the other.',
          disturbs: 'frontend',
          files: [],
          commands: [
            argumentsOf('each dynamo.frontend', '--router-replica-sync', 'or DYN_ROUTER_REPLICA_SYNC=true'),
          ],
          verify: HIT_CHECKS,
        },
        {
          says: 'Or send each conversation to the same frontend',
          why: 'A Service with sessionAffinity does so by the address of the client, where clients do not come through one proxy.',
          disturbs: 'nothing',
          files: [],
          commands: ['kubectl patch service FRONTEND -p \'{"spec":{"sessionAffinity":"ClientIP"}}\''],
          verify: HIT_CHECKS,
        },
      ],
    };
  },
};

function working(picture: Picture): readonly ClueAgainst[] {
  const found = findsBlocks(picture);
  const { engineHits } = picture;
  const isLow = found !== undefined && engineHits !== undefined && found.share < engineHits.share / 2;
  return found === undefined || isLow
    ? []
    : [
        {
          says: `The routers find blocks all the same (${percent(found.share)}).`,
          origin: found.origin,
          weight: 'weakens',
        },
      ];
}
