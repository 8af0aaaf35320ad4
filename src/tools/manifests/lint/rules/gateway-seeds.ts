import type { Fleet } from '../facts/fleet.js';
import { usesEngineKeys } from '../facts/picker-sockets.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt } from '../findings/lint-rule.js';
import { nameOf } from '../launches/launch.js';
import { hasHashSeed, variableOf } from '../launches/settings.js';

/** The hash seed of llm-d's scorer, whose keys had to be those of its workers. */
export function gatewaySeeds(rule: Rule, fleet: Fleet): readonly Finding[] {
  const pickers = fleet.gateways.filter(({ gateway }) => gateway?.kind === 'llm-d-scorer');
  const [picker] = pickers;
  const seed = picker?.gateway?.hashSeed;
  const hasEngineKeys = picker?.gateway === undefined ? false : usesEngineKeys(picker.gateway);
  if (picker === undefined || pickers.length > 1 || seed?.value === undefined || hasEngineKeys === false)
    return [];
  const seeds = fleet.workers
    .filter(({ launch }) => !launch.isDynamo && hasHashSeed(launch))
    .flatMap(({ launch }) => {
      const found = variableOf(launch, 'PYTHONHASHSEED');
      return found?.value === undefined ? [] : [{ launch, seed: found }];
    });
  const values = new Set(seeds.map((one) => one.seed.value));
  const [first] = seeds;
  if (first === undefined || values.size > 1 || first.seed.value === seed.value) return [];
  return [
    findingAt(rule, seed.span, {
      ...(hasEngineKeys === true ? { severity: 'error' as const } : {}),
      message: `${picker.program} has hashSeed ${seed.value}, and ${nameOf(first.launch)} PYTHONHASHSEED=${first.seed.value}`,
      consequence: hasEngineKeys
        ? `The ${picker.program} ${picker.gateway?.release?.text ?? ''} looks for the hashes of its engines, and the seed is a part of each: it finds no block of any worker, without an error.`
        : 'Versions with keys of the engine (0.2 to 0.4) find no block of any worker, without an error; later ones compute keys from the tokens of events, and the seed is theirs alone.',
      advice: `Set hashSeed to "${first.seed.value}", as the workers have it.`,
      related: [{ span: first.seed.span, says: `PYTHONHASHSEED is ${first.seed.value}` }],
    }),
  ];
}
