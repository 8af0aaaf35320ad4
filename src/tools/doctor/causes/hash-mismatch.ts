import type { SettingSighting } from '../evidence.js';
import { HIT_CHECKS } from '../fixes/confirm.js';
import { argumentsOf, environmentOf } from '../fixes/lines.js';
import { noneFound, type Picture } from '../picture.js';
import type { ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { workingRouter } from './shared-clues.js';

/** Workers or router hash with another seed or algorithm. */
export const hashMismatch: Cause = {
  id: 'hash_mismatch',
  suspect(picture: Picture): Suspicion | undefined {
    const differing = [
      ...differences(picture.toldSettings('hash_seed'), 'PYTHONHASHSEED'),
      ...differences(picture.toldSettings('hash_algorithm'), 'the hash algorithm'),
    ];
    const isBlind = noneFound(picture) !== undefined;
    const cluesFor: readonly ClueFor[] = [
      ...differing.map(({ says, origin }) => ({
        says,
        origin,
        weight: isBlind ? ('signature' as const) : ('sign' as const),
      })),
      ...picture.evidence.findings
        .filter(({ ruleId }) => ruleId.startsWith('hash-'))
        .map(({ message, file, line, column }) => ({
          says: `${message}.`,
          origin: { place: `${file}:${line}:${column}`, text: '' },
          weight: 'sign' as const,
        })),
    ];
    const [first] = differing;
    if (cluesFor.length === 0) return undefined;
    return {
      headline: first?.headline ?? 'Hash mismatch: workers of one model hash their blocks in different ways',
      explanation:
        "The same tokens have another block hash on each worker. Whoever compares the engines' own hashes (a shared KV store, an index that goes by them) finds that workers have nothing in common. Dynamo's router and kv-accord hash the tokens of events themselves and are not concerned.",
      cluesFor,
      cluesAgainst: [
        ...workingRouter(picture),
        {
          says: "It only matters where something compares the engines' own hashes; no source tells whether anything does.",
          origin: undefined,
          weight: 'noted',
        },
      ],
      explains: ['router_blind'],
      fixes: [
        {
          says: 'Give all workers of one model the same hash seed and algorithm',
          why: 'vLLM without PYTHONHASHSEED takes a random seed at each start. The caches of the workers that start anew are lost.',
          disturbs: 'one_worker_at_a_time',
          files: [],
          commands: [
            environmentOf('every vLLM worker', 'PYTHONHASHSEED=0'),
            argumentsOf('every vLLM worker', '--prefix-caching-hash-algo sha256_cbor'),
          ],
          verify: HIT_CHECKS,
        },
      ],
    };
  },
};

function differences(
  settings: readonly SettingSighting[],
  what: string,
): readonly {
  readonly says: string;
  readonly headline: string;
  readonly origin: SettingSighting['origin'];
}[] {
  const workers = settings.filter(({ side }) => side === 'worker');
  const [first] = workers;
  const other = workers.find(({ value }) => value !== first?.value);
  if (first === undefined || other === undefined) return [];
  const words = `${nameOf(first)} has ${what} ${first.value}, and ${nameOf(other)} ${other.value}`;
  return [{ says: `${words}.`, headline: `Hash mismatch: ${words}`, origin: other.origin }];
}

function nameOf({ who }: SettingSighting): string {
  return who === '' ? 'a worker' : `worker ${who}`;
}
