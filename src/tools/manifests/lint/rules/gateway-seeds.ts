import { askedWorkers } from '../facts/asked-workers.js';
import type { Fleet } from '../facts/fleet.js';
import { usesEngineKeys } from '../facts/picker-sockets.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt } from '../findings/lint-rule.js';
import { type Launch, nameOf } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { hasHashSeed, variableOf } from '../launches/settings.js';

/** The hash seed of llm-d's scorer, whose keys had to be those of its workers. */
export function gatewaySeeds(rule: Rule, fleet: Fleet): readonly Finding[] {
  const pickers = fleet.gateways.filter(({ gateway }) => gateway?.kind === 'llm-d-scorer');
  const [picker] = pickers;
  const hasEngineKeys = picker?.gateway === undefined ? false : usesEngineKeys(picker.gateway);
  if (picker === undefined || pickers.length > 1 || hasEngineKeys === false) return [];
  const seed = picker.gateway?.hashSeed;
  const seeds = fleet.workers
    .filter(({ launch }) => !launch.isDynamo && hasHashSeed(launch))
    .flatMap(({ launch }) => {
      const found = variableOf(launch, 'PYTHONHASHSEED');
      return found?.value === undefined ? [] : [{ launch, seed: found }];
    });
  const values = new Set(seeds.map((one) => one.seed.value));
  const [first] = seeds;
  if (hasEngineKeys === true && (seed === undefined || first === undefined))
    return leftOut(rule, fleet, picker, first);
  if (seed?.value === undefined || first === undefined || values.size > 1) return [];
  if (first.seed.value === seed.value) return [];
  return [
    findingAt(rule, seed.span, {
      ...(hasEngineKeys === true ? { severity: 'error' as const } : {}),
      message: `${picker.program} has hashSeed ${seed.value}, and ${nameOf(first.launch)} PYTHONHASHSEED=${first.seed.value}`,
      consequence: hasEngineKeys
        ? neverFound(picker)
        : 'Versions with keys of the engine (0.2 to 0.4) find no block of any worker, without an error; later ones compute keys from the tokens of events, and the seed is theirs alone.',
      advice: `Set hashSeed to "${first.seed.value}", as the workers have it.`,
      related: [{ span: first.seed.span, says: `PYTHONHASHSEED is ${first.seed.value}` }],
    }),
  ];
}

function neverFound({ program, gateway }: Launch): string {
  return `The ${program} ${gateway?.release?.text ?? ''} looks for the hashes of its engines, and the seed is a part of each: it finds no block of any worker, without an error.`;
}

/** A seed on one side alone: without `PYTHONHASHSEED` vLLM takes a random one at each start, and a picker without `hashSeed` an empty one. */
function leftOut(
  rule: Rule,
  fleet: Fleet,
  picker: Launch,
  first: { readonly launch: Launch; readonly seed: SettingValue } | undefined,
): readonly Finding[] {
  const seed = picker.gateway?.hashSeed;
  const severity = 'error';
  const consequence = neverFound(picker);
  if (first !== undefined)
    return [
      findingAt(rule, picker.at, {
        severity,
        consequence,
        message: `${picker.program} has no hashSeed, and ${nameOf(first.launch)} PYTHONHASHSEED=${first.seed.value}`,
        advice: `Set tokenProcessorConfig.hashSeed to "${first.seed.value}", as the workers have it.`,
        related: [{ span: first.seed.span, says: `PYTHONHASHSEED is ${first.seed.value}` }],
      }),
    ];
  return askedWorkers(fleet, picker)
    .filter(({ launch, publishes }) => hasHashSeed(launch) && publishes === true)
    .filter(({ launch }) => !launch.hasUnseenEnv && !launch.env.has('PYTHONHASHSEED'))
    .map(({ launch }) =>
      findingAt(rule, launch.at, {
        severity,
        consequence,
        message: `${nameOf(launch)} has no PYTHONHASHSEED, and ${picker.program} ${seed === undefined ? 'no hashSeed' : `hashSeed ${seed.value ?? ''}`}`,
        advice: `Set PYTHONHASHSEED=${seed?.value ?? '42'} on the workers${seed === undefined ? ', and tokenProcessorConfig.hashSeed: "42" of the picker' : ''}.`,
        related: [{ span: seed?.span ?? picker.at, says: `${picker.program}` }],
      }),
    );
}
