import type { ClueFor } from '../confidence.js';
import type { SettingSighting } from '../evidence.js';
import { HIT_CHECKS } from '../fixes/confirm.js';
import { argumentsOf, environmentOf } from '../fixes/lines.js';
import { noneFound } from '../measurements/cache-hits.js';
import type { Measurements } from '../measurements/measurements.js';
import { ownerOf } from '../sizes.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, findingClue } from './clues.js';
import { workingRouter } from './routing-clues.js';

/** Workers or router hash with another seed or algorithm. */
export const hashMismatch: Cause = {
  id: 'hash_mismatch',
  suspect(measurements: Measurements): Suspicion | undefined {
    const differences = [
      ...differencesIn(measurements.runtimeSettings('hash_seed'), 'PYTHONHASHSEED'),
      ...differencesIn(measurements.runtimeSettings('hash_algorithm'), 'the hash algorithm'),
    ];
    const weight = noneFound(measurements) !== undefined ? 'signature' : 'sign';
    const cluesFor: readonly ClueFor[] = [
      ...differences.map(({ text, origin }) => clueFor(weight, `${text}.`, origin)),
      ...measurements.evidence.findings
        .filter(({ ruleId }) => ruleId.startsWith('hash-'))
        .map((finding) => findingClue(finding, 'sign')),
    ];
    const [first] = differences;
    if (cluesFor.length === 0) return undefined;
    return {
      headline: `Hash mismatch: ${first?.text ?? 'workers of one model hash their blocks in different ways'}`,
      explanation:
        "The same tokens have another block hash on each worker. Anyone who compares the engines' own hashes (a shared KV store, an index that uses them) finds that workers have nothing in common. Dynamo's router and kv-accord hash the tokens of events themselves and are not concerned.",
      cluesFor,
      cluesAgainst: [
        ...workingRouter(measurements),
        clueAgainst(
          'noted',
          "It only matters where something compares the engines' own hashes; no source says whether anything does.",
          undefined,
        ),
      ],
      explains: ['router_blind'],
      fixes: [
        {
          says: 'Give all workers of one model the same hash seed and algorithm',
          why: 'vLLM without PYTHONHASHSEED takes a random seed at each start. The workers that restart lose their caches.',
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

function differencesIn(
  settings: readonly SettingSighting[],
  what: string,
): readonly { readonly text: string; readonly origin: SettingSighting['origin'] }[] {
  const [first, ...others] = settings.filter(({ side }) => side === 'worker');
  const other = others.find(({ value }) => value !== first?.value);
  if (first === undefined || other === undefined) return [];
  const text = `${ownerOf(first)} has ${what} ${first.value}, and ${ownerOf(other)} ${other.value}`;
  return [{ text, origin: other.origin }];
}
