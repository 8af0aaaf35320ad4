import { countOf, nameSome } from '../../core/text/lists.js';
import { defaultSizeText } from '../../engines/descriptor/default-size.js';
import { comparable, findsBlocks, MIN_DECISIONS, percent } from './measurements/cache-hits.js';
import type { Measurements } from './measurements/measurements.js';
import { guessedHitsOf, indexedBlocksOf } from './measurements/router-lookups.js';
import { basisRank } from './measurements/sizes.js';
import type { Remarks } from './remarks/remarks.js';

/** Something that was not seen. */
export interface Unknown {
  /** What, and which source shows it. */
  readonly says: string;
  /** What to add to the command, as an instruction. */
  readonly ask: string;
}

const ADD_FRONTEND =
  'Add the metrics of the frontend to this command: --metrics http://FRONTEND:8000/metrics';
const ADD_ENGINE = 'Add the metrics of an engine to this command: --metrics http://ENGINE:PORT/metrics';
const ADD_ROUTER =
  'Add the router to this command: its log (--logs ROUTER.log) or its metrics (--metrics http://ROUTER:PORT/metrics)';

/** A router that finds less than half of what engines have misses something, whatever it is. */
export function findsTooLittle(measurements: Measurements): boolean {
  const found = findsBlocks(measurements);
  const { engineHits } = measurements;
  return found !== undefined && engineHits !== undefined && comparable(found) < engineHits.share / 2;
}

function foundPart(measurements: Measurements): number {
  const found = findsBlocks(measurements);
  return found === undefined ? 0 : comparable(found);
}

/** What the engines that were seen take when nothing is set: no proof, but where to look first. */
function defaultsOf({ seen }: Measurements): string {
  return seen.engines
    .filter(({ defaultSizes, runsOtherEngines }) => defaultSizes.length > 0 && runsOtherEngines !== true)
    .map(
      ({ displayName, defaultSizes }) =>
        ` Where nothing sets it, ${displayName} takes ${defaultSizeText(defaultSizes)}.`,
    )
    .join('');
}

/** Whether lines were given, and none of an engine or a router. */
export function isNobodyServing({ seen, evidence }: Measurements): boolean {
  const { logs, metrics, settings, sizes, fleets, findings } = evidence;
  const isOthers = [metrics, settings, sizes, fleets, findings].some((given) => given.length > 0);
  return (
    logs.length > 0 &&
    !isOthers &&
    seen.engines.length === 0 &&
    !seen.router &&
    !seen.dynamo &&
    !seen.kvAccord
  );
}

/** Those that were seen instead, as a sentence names them. */
export function namesOf(programs: Measurements['seen']['others']): string {
  return nameSome(programs.map(({ name }) => name));
}

/** How one learns of the router that was seen, in the names of its own programs; of others nothing is said. */
function routerWords(measurements: Measurements): {
  /** Where decisions were looked for, with a space in front; empty without a router. */
  readonly place: string;
  readonly hits: string;
  readonly size: string | undefined;
  readonly events: string | undefined;
  readonly ask: string;
} {
  const { seen, evidence } = measurements;
  const isGiven = (word: string): boolean => evidence.metrics.some(({ program }) => program === word);
  const again = `Run this command again after ${MIN_DECISIONS} and more requests with common prefixes`;
  if (seen.dynamo && isGiven('dynamo-frontend'))
    return {
      place: '',
      hits: 'the page of the frontend counts none yet (dynamo_component_router_kv_hit_rate)',
      size: 'the gauge dynamo_frontend_model_kv_cache_block_size of the frontend shows it',
      events: 'dynamo_component_kv_cache_events_applied on /metrics of the frontend shows it',
      ask: again,
    };
  if (seen.dynamo)
    return {
      place: '',
      hits: '/metrics of the frontend (dynamo_component_router_kv_hit_rate) shows it, or its log at level info',
      size: 'the gauge dynamo_frontend_model_kv_cache_block_size of the frontend shows it',
      events: 'dynamo_component_kv_cache_events_applied on /metrics of the frontend shows it',
      ask: seen.router ? ADD_FRONTEND : ADD_ROUTER,
    };
  const router = seen.others.find(({ role }) => role === 'router');
  if (router !== undefined)
    return {
      place: ` in what was given of ${router.name}`,
      hits: router.hits ?? 'its log shows it',
      size: undefined,
      events: router.events,
      ask: isGiven(router.word) ? (router.askBesidePage ?? again) : (router.ask ?? ADD_ROUTER),
    };
  const alone = seen.others.find(({ role }) => role !== 'router');
  const isAlone = isNobodyServing(measurements);
  const isNothing = seen.engines.length === 0 && alone === undefined && evidence.logs.length === 0;
  const inDynamo = (metric: string): string => (isNothing ? ` (Dynamo: ${metric})` : '');
  return {
    place: '',
    hits: `the log of the router at level info, or its /metrics${inDynamo('dynamo_component_router_kv_hit_rate')}, shows it`,
    size: `the log of the router as it starts, or its /metrics${inDynamo('dynamo_frontend_model_kv_cache_block_size')}, shows it`,
    events: `/metrics of the router${inDynamo('dynamo_component_kv_cache_events_applied')}, or its log, shows it`,
    ask: isAlone
      ? `Add the logs of an engine and of the router, each from its start, to this command (--logs ENGINE.log --logs ROUTER.log): ${alone === undefined ? 'no line of either was recognised' : `these lines are of ${namesOf(seen.others)}, and say nothing of how requests are routed`}`
      : ADD_ROUTER,
  };
}

/** What remains open of what was seen, then what was not seen, and which source would show it. */
export function unknownsIn(measurements: Measurements, remarks: Remarks): readonly Unknown[] {
  const { routerHits, engineHits, stores, sizes, dynamo, decisions, evidence, seen } = measurements;
  const knows = (isWorker: boolean): boolean =>
    sizes.rows.some(
      ({ side, basis }) => (side === 'worker') === isWorker && basisRank(basis) >= basisRank('in_use'),
    );
  const [unseenFile] = evidence.findings.flatMap((finding) => finding.unseenFile ?? []);
  const inFile =
    unseenFile === undefined ? '' : `${unseenFile}, which was not given, has it (--engine-config FILE); `;
  const few = routerHits.every(({ count }) => count < MIN_DECISIONS);
  const most = Math.max(0, ...routerHits.map(({ count }) => count));
  const router = routerWords(measurements);
  const guessed = guessedHitsOf(evidence.metrics);
  const indexed = indexedBlocksOf(evidence.metrics);
  const unknowns: (Unknown | false)[] = [
    ...remarks.ofErrors,
    ...remarks.ofLoad,
    findsTooLittle(measurements) && {
      says: `Why the router finds less than half of what engines have (${percent(foundPart(measurements))} against ${percent(engineHits?.share ?? 0)}): logs and metrics of all workers and frontends may show it.`,
      ask: 'Add the logs and metrics of all workers and frontends to this command: --logs FILE and --metrics URL, one for each',
    },
    guessed !== undefined && {
      says: `Whether the router is right: it guesses by what it sent where (${percent(guessed.share)} of ${countOf(guessed.count, 'prompt')}), and what an engine has dropped since it does not see. The hit rates of the engines show it.`,
      ask:
        engineHits === undefined
          ? ADD_ENGINE
          : `Compare: engines had ${percent(engineHits.share)} of prompt tokens, the router guessed ${percent(guessed.share)} of prompts`,
    },
    indexed !== undefined && {
      says: `For which share of prompts the router finds blocks: its index found ${countOf(indexed.blocks, 'block')} in ${countOf(indexed.lookups, 'lookup')}, and does not count the prompts with one.`,
      ask:
        engineHits === undefined
          ? ADD_ENGINE
          : `Leave the router as it is: its index finds blocks, and engines had ${percent(engineHits.share)} of prompt tokens`,
    },
    routerHits.length === 0 &&
      indexed === undefined &&
      guessed === undefined && {
        says: `Whether the router finds blocks: ${decisions === undefined ? `no routing decision was seen${router.place}` : `${countOf(decisions.count, 'decision')} were seen, and their lines do not report cached blocks`}; ${router.hits}.`,
        ask: router.ask,
      },
    routerHits.length > 0 &&
      few && {
        says: `Whether the router finds blocks: only ${countOf(most, 'decision')} were seen, and the first prompts are never found. Look again after ${MIN_DECISIONS} and more with common prefixes.`,
        ask: `Run this command again after ${MIN_DECISIONS} and more requests with common prefixes`,
      },
    !knows(false) &&
      router.size !== undefined && {
        says: `Which block size the router uses: ${router.size}.`,
        ask: router.ask,
      },
    !knows(true) && {
      says: `Which block size the engines use: ${inFile}/metrics of the engine, the worker's log, or a kv-accord sidecar (kv-accord status) shows it.${defaultsOf(measurements)}`,
      ask: unseenFile === undefined ? ADD_ENGINE : `${ADD_ENGINE}, or its own file: --engine-config FILE`,
    },
    stores === undefined &&
      router.events !== undefined && {
        says: `Whether KV events arrive and are applied: ${router.events}.`,
        ask: router.ask,
      },
    engineHits === undefined && {
      says: `What engines really reuse: /metrics of ${seen.dynamo ? 'the frontend (dynamo_frontend_cached_tokens) or of ' : ''}the engines shows it.`,
      ask: ADD_ENGINE,
    },
    dynamo.decides === 'unknown' &&
      sizes.conflicts.length > 0 && {
        says: "Which number decides: the version of Dynamo is not known. The image's tag in the manifests shows it, or pip show ai-dynamo in the pod.",
        ask: 'Run pip show ai-dynamo in the pod of the frontend',
      },
    ...evidence.sources
      .filter(({ status }) => status === 'not_read')
      .map(({ kind, name, detail }) => ({
        says: `What ${kind} ${name} would have shown: ${detail}`,
        ask: `Add ${kind} ${name} again once it can be read`,
      })),
  ];
  return unknowns.filter((unknown) => unknown !== false);
}
