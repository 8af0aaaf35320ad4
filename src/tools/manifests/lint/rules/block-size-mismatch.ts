import {
  commonSize,
  type SizeFacts,
  sizeRule,
  sizeSetting,
} from '../../../../core/contract/evidence/size-rule.js';
import { canonicalSize } from '../../../../core/contract/rehash.js';
import { EngineKind } from '../../../../core/contract/wire/enums.js';
import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import { type Fleet, namesOf } from '../facts/fleet.js';
import { eventsOff, type FrontendFacts } from '../facts/router-facts.js';
import type { WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { replaceNumber } from '../fixes/fixes.js';
import { type Launch, nameOf } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf, mayBeUnseen, numberOf, settingOf, variableOf } from '../launches/settings.js';
import { gatewayMismatches } from './gateway-sizes.js';
import { sameFleet } from './same-model.js';
import { sizesOf } from './worker-sizes.js';

const rule: Rule = {
  id: 'block-size-mismatch',
  severity: 'error',
  summary: 'Two programs that must use the same block size are configured with different ones.',
  explanation:
    'With different sizes no block hash of one is ever a block hash of the other: the router finds nothing, requests go by load alone, and there is no error; they all complete.',
};

/** Sizes that are written down and differ: router against workers, workers against each other, a flag against its own variable. */
export const blockSizeMismatch: LintRule = {
  rule,
  check(fleet: Fleet): readonly Finding[] {
    return [
      ...fleet.frontends.flatMap((frontend) => [
        ...flagAndVariable(frontend),
        ...frontendAndWorkers(frontend, fleet),
      ]),
      ...fleet.routers.flatMap((router) => routerAndWorkers(router, fleet)),
      ...fleet.pickers.flatMap((picker) => pickerAndWorkers(picker, fleet)),
      ...fleet.ownGates.flatMap((own) => overrideAndWorkers(own, fleet)),
      ...workersAmongThemselves(fleet),
      ...gatewayMismatches(rule, fleet),
    ];
  },
};

function flagAndVariable({ launch, kvMode, noEvents, flag, variable }: FrontendFacts): readonly Finding[] {
  const byFlag = numberOf(flag);
  const byVariable = numberOf(variable);
  if (
    kvMode === undefined ||
    noEvents !== undefined ||
    !flag ||
    !variable ||
    !byFlag ||
    !byVariable ||
    byFlag === byVariable
  ) {
    return [];
  }
  return [
    findingAt(rule, variable.span, {
      severity: 'warning',
      message: `${nameOf(launch)} has ${variable.name}=${byVariable}, and ${flag.name} ${byFlag} overrides it`,
      consequence: 'The flag wins. Anyone who reads the variable believes in a number that no program uses.',
      advice: 'Keep one of the two, with the number that the workers have.',
      fix: replaceNumber(variable, byFlag, `Set ${variable.name}=${byFlag}, as the flag says`),
      related: [{ span: flag.span, says: `${flag.name} ${byFlag}` }],
    }),
  ];
}

function frontendAndWorkers(frontend: FrontendFacts, { dynamoWorkers }: Fleet): readonly Finding[] {
  const { launch, kvMode, noEvents, flag, variable, decides, hasPythonProcessor } = frontend;
  // exec sets the variable itself; a flag stays what it is.
  const setting = flag ?? (launch.isGated ? undefined : variable);
  // Without events its blocks are its own: they meet those of no worker.
  if (kvMode === undefined || noEvents !== undefined || setting === undefined) {
    return [];
  }
  const inert = decides === 'card';
  // Without such a processor no release that is known takes the frontend's number.
  const isProbablyInert = decides === 'unknown' && !hasPythonProcessor && !mayBeUnseen(launch);
  return compare(launch, setting, dynamoWorkers, {
    severity: inert || isProbablyInert ? 'note' : 'error',
    consequence: inert
      ? `Dynamo ${launch.version?.text} takes the number from the workers' model cards, and this one changes nothing there; with a Dynamo whose frontend's number decides (1.0 to 1.2 with a Python chat processor) nothing would be found.`
      : isProbablyInert
        ? "Without a Python chat processor (--dyn-chat-processor) all releases that are known take the number from the workers' model cards, and this one changes nothing; with one, in 1.0 to 1.2, nothing would be found."
        : decides === 'unknown'
          ? `${rule.explanation} (Dynamo 0.9 and 1.3 to 1.6 take the number from the worker's model card instead, and this one changes nothing there; the image does not say which it is.)`
          : rule.explanation,
  });
}

function routerAndWorkers(router: Launch, { dynamoWorkers }: Fleet): readonly Finding[] {
  const flag = flagOf(router, '--router-block-size', '--block-size');
  const setting = flag ?? (router.isGated ? undefined : variableOf(router, 'DYN_ROUTER_BLOCK_SIZE'));
  return setting === undefined || eventsOff(router) !== undefined
    ? []
    : compare(router, setting, dynamoWorkers, {});
}

/** The endpoint picker has no number but its variable's. */
function pickerAndWorkers(picker: Launch, { dynamoWorkers }: Fleet): readonly Finding[] {
  const setting = variableOf(picker, 'DYN_KV_CACHE_BLOCK_SIZE');
  return setting === undefined || eventsOff(picker) !== undefined
    ? []
    : compare(picker, setting, dynamoWorkers, {});
}

/** `--kv-cache-block-size` of kv-accord's own commands says what is right, whatever workers report. */
function overrideAndWorkers(own: Launch, { workers }: Fleet): readonly Finding[] {
  const setting = overrideOf(own);
  if (setting === undefined) {
    return [];
  }
  return compare(own, setting, workers, {
    severity: 'warning',
    consequence:
      'The number overrides what workers report: those with another one get no requests, or none by their cache.',
  });
}

function overrideOf(own: Launch): SettingValue | undefined {
  return settingOf(
    own,
    ['--kv-cache-block-size'],
    ['KV_ACCORD_KV_CACHE_BLOCK_SIZE', 'DYN_KV_CACHE_BLOCK_SIZE'],
  );
}

/** Whether kv-accord's own settings say what becomes of sizes that differ: an override, or re-hashing that they allow. */
function isDecided(own: readonly Launch[], workers: readonly WorkerFacts[]): boolean {
  const isRehashed =
    canonicalSize(workers.flatMap(({ size }) => (size === undefined ? [] : [size.tokens]))) !== undefined;
  return own.some(
    (launch) =>
      overrideOf(launch) !== undefined ||
      (isRehashed &&
        settingOf(launch, ['--block-size-policy'], ['KV_ACCORD_BLOCK_SIZE_POLICY'])?.value === 'rehash'),
  );
}

function compare(
  launch: Launch,
  setting: SettingValue,
  workers: readonly WorkerFacts[],
  said: { readonly severity?: Finding['severity']; readonly consequence?: string },
): readonly Finding[] {
  const tokens = numberOf(setting);
  const others = workers.filter(({ size }) => size !== undefined && size.tokens !== tokens);
  const [first] = others;
  if (tokens === undefined || first?.size === undefined) {
    return [];
  }
  const wanted = first.size.tokens;
  const isOneSize = workers.every(({ size }) => size?.tokens === wanted);
  return [
    findingAt(rule, setting.span, {
      ...said,
      message: `${nameOf(launch)} uses a block size of ${tokens} tokens (${setting.name}), and ${namesOf(others)} ${wanted}${first.size.setting === undefined ? ' by default' : ` (${first.size.setting.name})`}`,
      advice: isOneSize ? `Set ${setting.name} to ${wanted}, as the workers have it.` : oneNumber(others),
      fix: isOneSize
        ? replaceNumber(setting, wanted, `Set ${setting.name} to ${wanted}, as the workers have it`)
        : undefined,
      related: sizesOf(others),
    }),
  ];
}

function workersAmongThemselves({ workers, ownGates }: Fleet): readonly Finding[] {
  const meet = workers.filter(
    ({ launch, size }) => size?.setting !== undefined && (launch.isDynamo || ownGates.length > 0),
  );
  return sameFleet(meet).flatMap(({ members, isKnown }) => {
    const [first, ...others] = members;
    const other = others.find(({ size }) => size?.tokens !== first?.size?.tokens);
    const setting = other?.size?.setting;
    if (first?.size?.setting === undefined || other?.size === undefined || setting === undefined) {
      return [];
    }
    const isDynamo = members.some(({ launch }) => launch.isDynamo);
    if (!isDynamo && isDecided(ownGates, members)) {
      return [];
    }
    return [
      findingAt(rule, setting.span, {
        severity: isKnown ? 'error' : 'warning',
        message: `${nameOf(other.launch)} has a block size of ${other.size.tokens} tokens (${setting.name}), and ${nameOf(first.launch)}, which serves the same model, ${first.size.tokens}`,
        consequence: isDynamo
          ? 'A frontend keeps one size and rejects the other workers, with an error that does not name the block size; which size wins is chance. Requests are served by a part of the fleet.'
          : 'The gate of kv-accord stays shut, with an error that names the workers and both sizes: nothing is served. With --block-size-policy rehash it agrees on a common multiple.',
        advice: oneNumber([first, other]),
        related: [
          {
            span: first.size.setting.span,
            says: `${nameOf(first.launch)}: ${first.size.setting.name} is ${first.size.tokens}`,
          },
        ],
      }),
    ];
  });
}

/** The number that all engines can take, where there is one. */
function oneNumber(workers: readonly WorkerFacts[]): string {
  const facts = workers.map(sizeFactsOf);
  const rules = facts.map(sizeRule);
  const target = commonSize(
    rules,
    workers.flatMap(({ size }) => (size === undefined ? [] : [size.tokens])),
  );
  const reasons = [...new Set(rules.map((rule) => rule.reason))].join('; ');
  if (target === undefined) {
    return `Give them different served model names: no block size fits all of them (${reasons}).`;
  }
  const settings = facts.map(({ engineKind }) => sizeSetting(engineKind, target));
  return `Give all workers of one model the same number: ${[...new Set(settings)].join(', ')}.`;
}

/** Whether a worker has a GPU is not known: an image for CPUs and one for GPUs take the same flags. */
function sizeFactsOf({ launch, size }: WorkerFacts): SizeFacts {
  return {
    engineKind: engineOfWord(launch.backend)?.kind ?? EngineKind.UNSPECIFIED,
    runsTokens: size?.tokens,
  };
}
