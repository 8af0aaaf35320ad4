import {
  commonSize,
  type SizeFacts,
  sizeRule,
  sizeSetting,
} from '../../../core/contract/evidence/size-rule.js';
import { EngineKind } from '../../../core/contract/wire/enums.js';
import { engineOfKind, engineOfWord } from '../../../engines/catalogue/engines.js';
import type { SettingName, Side } from '../../../engines/diagnosis/sighting-words.js';
import { ROUTER_DEFAULT_TOKENS } from '../../../engines/dynamo/default-sizes.js';
import type { ProposedFix } from '../diagnosis.js';
import type { SizeSighting } from '../evidence.js';
import { isOfAnyListener } from '../measurements/any-listener.js';
import type { Measurements } from '../measurements/measurements.js';
import { confirmingTest, findingNumbers, sizeChecks } from './confirm.js';
import { contextParallelFix } from './context-parallel.js';
import { listenerFix } from './event-listener.js';
import { fixesFrom } from './from-findings.js';
import { argumentsOf, engineYaml, environmentOf } from './lines.js';
import { gatewaySizeFix, pickerSizeFix } from './picker.js';
import { eventBlockSizeFix } from './routers.js';
import { statusCommand } from './status-command.js';
import { knownEngines, onlyEngine } from './tuning.js';

/** What should be one number, and whose is to change. */
export interface Alignment {
  /** What the engines use; undefined when no number is known. */
  readonly engines: number | undefined;
  /** Who uses another number. */
  readonly side: Side;
  /** True when the worker itself declares or publishes by another number than its engine's. */
  readonly isWorkersOwn: boolean;
  /** True when the workers have the number already, and the other one changes nothing in the version that the files name. */
  readonly isInert?: boolean;
}

/** Brings a router and its workers to one number: first the change that decides in this version, then the others. */
export function alignFixes(measurements: Measurements, alignment: Alignment): readonly ProposedFix[] {
  const { engines, side, isWorkersOwn, isInert = false } = alignment;
  const { picker, dynamo, others } = measurements.seen;
  if (picker && (engines !== undefined || !dynamo)) return [pickerSizeFix(engines)];
  if (!dynamo && others.some(({ word }) => word === 'aibrix')) return [gatewaySizeFix(engines)];
  if (!dynamo && side === 'router' && others.some(({ word }) => word === 'vllm-router'))
    return [eventBlockSizeFix(engines), confirmingTest(measurements)];
  if (engines === undefined) return [findingNumbers(measurements), confirmingTest(measurements)];
  if (!measurements.seen.dynamo) return [plainFix(measurements, engines, side), confirmingTest(measurements)];
  if (side === 'router') return [...routerFixes(measurements, engines), confirmingTest(measurements)];
  if (side === 'indexer') return indexerFixes(measurements, engines);
  const wider = isWorkersOwn ? contextParallelFix(measurements, engines) : undefined;
  if (wider !== undefined) return [wider, confirmingTest(measurements)];
  if (isWorkersOwn && isOfAnyListener(measurements))
    return [
      listenerFix(measurements, engines),
      gate(engines, measurements.seen),
      confirmingTest(measurements),
    ];
  const worker = workerFixes(measurements, engines);
  const frontend = frontendFixes(measurements, engines, isInert);
  const { decides } = measurements.dynamo;
  // What the card decides is not fixed at the frontend, whatever its variable says.
  const isCard = isWorkersOwn || (decides === 'card' && !isInert);
  const ordered = isCard ? [...worker, ...(isWorkersOwn ? [] : frontend)] : [...frontend, ...worker];
  return [...ordered, gate(engines, measurements.seen), confirmingTest(measurements)];
}

/** Of a router that is not known by name. */
function plainFix(measurements: Measurements, engines: number, side: Side): ProposedFix {
  const who = side === 'worker' ? 'the workers that differ' : `the ${side}`;
  return {
    says: `Set the block size of ${who} to ${engines} tokens, in its own setting`,
    why: `The engines use ${engines}. A router that splits prompts into blocks of another size finds none of theirs.`,
    disturbs: side === 'worker' ? 'one_worker_at_a_time' : 'frontend',
    files: [],
    commands: [],
    verify: sizeChecks(measurements, engines),
  };
}

/** The flag of the block size of each engine that was seen. */
function sizeLines({ seen }: Measurements, size: string): readonly string[] {
  return knownEngines(seen).flatMap(({ engine, program }) => {
    const flag = engine.launch?.sizeFlags[0];
    return flag === undefined ? [] : [argumentsOf(program, `${flag} ${size}`, 'the same for all workers')];
  });
}

/**
 * Where a router keeps the number of the first worker and another one asks for
 * a different one: all of them have to register the same, and the router has to forget.
 */
export function registrationFixes(measurements: Measurements): readonly ProposedFix[] {
  const wanted = measurements.sizes.rows.filter(({ side }) => side === 'worker');
  const numbers = [...new Set(wanted.map(({ tokensPerBlock }) => tokensPerBlock))];
  const [size, ...others] = numbers;
  const isOne = size !== undefined && others.length === 0;
  return [
    {
      says: isOne
        ? `Start all workers of the model with a block size of ${size}, then restart the router`
        : 'Start all workers of the model with one block size, then restart the router',
      why: 'A router of Dynamo up to 0.9, and the indexer of all versions, takes the block size of the first worker that registers and keeps it as long as it runs, also after that worker has gone. A restart of it alone is enough where all workers have the same number by now.',
      disturbs: isOne ? 'frontend' : 'one_worker_at_a_time',
      files: [],
      commands: [
        ...sizeLines(measurements, isOne ? String(size) : 'N'),
        'kubectl rollout restart deployment/FRONTEND',
      ],
      verify: [
        'kubectl logs FRONTEND | grep -c "block size mismatch"    # should be 0 after the restart',
        ...(isOne ? sizeChecks(measurements, size) : []),
      ],
    },
    confirmingTest(measurements),
  ];
}

/** Brings the workers of one group of kv-accord to one number that their engines can take. */
export function agreeFixes(
  measurements: Measurements,
  agreed: SizeSighting,
  differing: SizeSighting,
): readonly ProposedFix[] {
  const others = sizeFactsOf(measurements, agreed);
  const own = sizeFactsOf(measurements, differing);
  const rules = [sizeRule(others), sizeRule(own)];
  const target = commonSize(rules, [agreed.tokensPerBlock, differing.tokensPerBlock]);
  const reasons = [...new Set(rules.map((rule) => rule.reason))].join('; ');
  const name = differing.who === '' ? 'the worker that differs' : differing.who;
  if (target === undefined) {
    return [
      {
        says: `Serve ${name} under another model name (--served-model-name NAME): no block size fits all`,
        why: `${reasons}. Workers of one model need one size; requests for the other name are routed among its own workers.`,
        disturbs: 'one_worker_at_a_time',
        files: [],
        commands: [argumentsOf(name, '--served-model-name NAME')],
        verify: [`${statusCommand(measurements.seen)}    # two groups, each agreed`],
      },
    ];
  }
  const restarts = [
    ...(target === differing.tokensPerBlock
      ? []
      : [{ who: name, facts: own, has: differing.tokensPerBlock }]),
    ...(target === agreed.tokensPerBlock
      ? []
      : [{ who: agreed.who === '' ? 'the others' : agreed.who, facts: others, has: agreed.tokensPerBlock }]),
  ];
  return restarts.map(({ who, facts, has }) => ({
    says: `Start ${who} with a block size of ${target} tokens (${sizeSetting(facts.engineKind, target, facts.contextParallel)})${target === agreed.tokensPerBlock ? ', as the others have it' : ', which all engines can take'}`,
    why: `It has ${has}. Until then kv-accord keeps it apart, and requests go to the others. Its cache is lost as it starts again, and was of no use to routing.${target === agreed.tokensPerBlock ? '' : ` ${reasons}.`}`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [argumentsOf(who, sizeSetting(facts.engineKind, target, facts.contextParallel), noteOf(facts))],
    verify: [`${statusCommand(measurements.seen)}    # ${who} is among the agreed workers, with ${target}`],
  }));
}

/** What is known of the engine whose size was seen: by its own settings, else by those of the fleet. */
function sizeFactsOf(measurements: Measurements, { who, tokensPerBlock }: SizeSighting): SizeFacts {
  const setting = (name: SettingName): string | undefined =>
    measurements.settings(name).find((sighting) => who !== '' && sighting.who === who)?.value;
  const backend = setting('backend') ?? onlyEngine(measurements.seen)?.engine.word ?? '';
  const contextParallel = Number(setting('context_parallel_size') ?? 1);
  return {
    engineKind: engineOfWord(backend)?.kind ?? EngineKind.UNSPECIFIED,
    runsTokens: tokensPerBlock,
    hasStates: /mamba|linear|ssm/i.test(setting('attention_kinds') ?? ''),
    contextParallel: Number.isSafeInteger(contextParallel) ? contextParallel : 1,
  };
}

function noteOf({ engineKind }: SizeFacts): string {
  const engine = engineOfKind(engineKind);
  return engine?.launch === undefined ? 'in the setting of its engine' : engine.displayName;
}

function frontendFixes(
  measurements: Measurements,
  engines: number,
  isInert: boolean,
): readonly ProposedFix[] {
  const { decides, version } = measurements.dynamo;
  const why =
    decides === 'variable'
      ? `In Dynamo ${version?.text} with its Python chat processor the frontend's own number decides, 16 when it has none. Only the frontend restarts; caches stay.`
      : isInert
        ? `By its image's tag this is Dynamo ${version?.text}, where the worker's model card decides, and the cards follow the engines. The router behaves as if it used its own number all the same: what runs may be another version, or another image under this tag. This is right in every version and leaves the caches; the gauge below shows what the router uses then.`
        : decides === 'card'
          ? `In Dynamo ${version?.text} the worker's model card decides and this variable changes nothing: it only keeps the number right for versions where it decides (1.0 to 1.2 with a Python chat processor).`
          : "Where the frontend decides (Dynamo 1.0 to 1.2 with a Python chat processor) this alone is the fix, and caches stay. Where the worker's model card decides (up to 0.9, 1.3 to 1.6) it changes nothing and does no harm: the gauge below shows which it is.";
  const said = { why, disturbs: 'frontend', verify: sizeChecks(measurements, engines) } as const;
  const fromFiles = fixesFrom(measurements, ['block-size-unset', 'block-size-mismatch'], said);
  return fromFiles.length > 0
    ? fromFiles
    : [
        {
          ...said,
          says: `Set DYN_KV_CACHE_BLOCK_SIZE=${engines} on the frontend`,
          files: [],
          commands: [
            environmentOf(
              'dynamo.frontend',
              `DYN_KV_CACHE_BLOCK_SIZE=${engines}`,
              `or --kv-cache-block-size ${engines}`,
            ),
          ],
        },
      ];
}

function workerFixes(measurements: Measurements, engines: number): readonly ProposedFix[] {
  const said = {
    why: "The router inside Dynamo's frontend takes the number from the card that each worker registers (up to 0.9, 1.3 to 1.6, and the Rust path of 1.0 to 1.2). Workers whose cards differ are rejected, so all of them have to change; those that restart lose their caches.",
    disturbs: 'one_worker_at_a_time',
    verify: sizeChecks(measurements, engines),
  } as const;
  const fromFiles = fixesFrom(measurements, ['worker-card-differs'], said);
  if (fromFiles.length > 0) return fromFiles;
  const [says, commands] = registration(measurements, engines);
  return [{ ...said, says, files: [], commands }];
}

/** How workers come to register a number: by the engines that were seen, and for workers of one's own by the call. */
function registration({ seen }: Measurements, engines: number): readonly [string, readonly string[]] {
  const known = knownEngines(seen);
  const commands = known.flatMap(({ engine, program }) => {
    const card = engine.launch?.dynamo?.card;
    if (card !== undefined)
      return [
        argumentsOf(
          program,
          `${card.flag} ${engines}`,
          `what goes into the card before ${card.until.major}.${card.until.minor}; ${card.defaultTokens} by default, not read from the engine`,
        ),
        engineYaml(`kv_cache_config: { tokens_per_block: ${engines} }`),
      ];
    const [flag] = engine.launch?.sizeFlags ?? [];
    const note = isChosen(engines) ? undefined : engine.launch?.computedSizeNote;
    return flag === undefined ? [] : [argumentsOf(program, `${flag} ${engines}`, note)];
  });
  const own = argumentsOf(
    'register_model',
    `kv_cache_block_size=${engines}`,
    'in a worker of your own, and kv_block_size of its KvEventPublisher',
  );
  const only = onlyEngine(seen);
  const [flag] = only?.engine.launch?.sizeFlags ?? [];
  const card = only?.engine.launch?.dynamo?.card;
  if (only !== undefined && card !== undefined)
    return [
      `Start each ${only.program} worker with ${card.flag} ${engines}, and write tokens_per_block: ${engines} into its engine file`,
      commands,
    ];
  if (only !== undefined && flag !== undefined)
    return [
      `Start each ${only.program} worker with ${flag} ${engines}, so that it registers what its engine uses`,
      commands,
    ];
  return [
    `Have each worker register ${engines}, as its engine uses it (kv_cache_block_size=${engines} of register_model)`,
    [...commands, own],
  ];
}

/** A power of two that operators choose from. */
function isChosen(size: number): boolean {
  return size <= 256 && Number.isInteger(Math.log2(size));
}

function routerFixes(measurements: Measurements, engines: number): readonly ProposedFix[] {
  const said = {
    why: `dynamo.router uses its own number in all versions (${ROUTER_DEFAULT_TOKENS} when it has none) and never compares it with the workers' cards. Only the router restarts.`,
    disturbs: 'frontend',
    verify: [
      'kubectl logs ROUTER | grep -i block_size    # the number it started with',
      'An answer of get_overlap_scores for a prompt that was sent before: device_blocks above 0.',
    ],
  } as const;
  const fromFiles = fixesFrom(measurements, ['router-block-size-default', 'block-size-mismatch'], said);
  return fromFiles.length > 0
    ? fromFiles
    : [
        {
          ...said,
          says: `Set DYN_ROUTER_BLOCK_SIZE=${engines} on dynamo.router`,
          files: [],
          commands: [
            environmentOf(
              'dynamo.router',
              `DYN_ROUTER_BLOCK_SIZE=${engines}`,
              `or --router-block-size ${engines}; --block-size in 0.9`,
            ),
          ],
        },
      ];
}

function indexerFixes(measurements: Measurements, engines: number): readonly ProposedFix[] {
  const said = {
    why: 'dynamo.indexer uses --block-size in all versions; there is no variable. It drops every block of another size after three warnings. Only the indexer restarts.',
    disturbs: 'frontend',
    verify: [
      'curl -s http://INDEXER:8090/metrics | grep kv_cache_events_applied    # status="ok" should grow, parent_block_not_found stand still',
    ],
  } as const;
  const fromFiles = fixesFrom(measurements, ['indexer-block-size'], said);
  return fromFiles.length > 0
    ? fromFiles
    : [
        {
          ...said,
          says: `Start dynamo.indexer with --block-size ${engines}`,
          files: [],
          commands: [argumentsOf('dynamo.indexer', `--block-size ${engines}`, 'there is no variable')],
        },
      ];
}

function gate(engines: number, seen: Measurements['seen']): ProposedFix {
  return {
    says: 'Start the frontend behind kv-accord exec, so that the fault cannot come back',
    why: "It waits until all workers agree, checks their number against their live KV events, and sets the variables of frontend and router from it. It refuses a number that is wrong in a worker's card, and does not fix it.",
    disturbs: 'frontend',
    files: [],
    commands: ['kv-accord exec -- python -m dynamo.frontend --router-mode kv'],
    verify: [`${statusCommand(seen)}    # agreed on ${engines}, the gate open`],
  };
}
