import { addTo } from '../../../../core/data/group-by.js';
import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import { FRONTEND_DEFAULT_TOKENS } from '../../../../engines/dynamo/default-sizes.js';
import { TRTLLM_DEFAULT_TOKENS } from '../../../../engines/trtllm/default-sizes.js';
import { TRTLLM } from '../../../../engines/trtllm/descriptor.js';
import { type Fleet, namesOf } from '../facts/fleet.js';
import type { FrontendFacts } from '../facts/router-facts.js';
import type { WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Fix, Rule } from '../findings/finding.js';
import { findingAt, type LintRule, MAX_RELATED } from '../findings/lint-rule.js';
import { addArguments, addVariable } from '../fixes/fixes.js';
import { nameOf } from '../launches/launch.js';
import { mayBeUnseen } from '../launches/settings.js';
import { sizesOf } from './worker-sizes.js';

const rule: Rule = {
  id: 'block-size-unset',
  severity: 'warning',
  summary:
    'The frontend routes by KV cache and has no block size, while its workers do not use its default of 16.',
  explanation:
    'Frontend and workers split prompts into blocks independently of each other. With different sizes no block hash is ever the same: the router finds nothing, requests go by load alone, and there is no error; they all complete.',
};

/** Files of workers that one message names. */
const MAX_GROUPS = 3;

/** A KV router without a number, before workers with another default. */
export const blockSizeUnset: LintRule = {
  rule,
  check: (fleet) => fleet.frontends.flatMap((frontend) => checkFrontend(frontend, fleet)),
};

/**
 * Frontends before workers of TensorRT-LLM whose number is written nowhere, with a Dynamo in which the worker's card decides: the two are
 * the same by default alone. That is no fault of the files; where routing is known not to work, it is the first thing to look at.
 */
export function findRestingOnDefaults(fleet: Fleet): readonly Finding[] {
  return fleet.frontends.flatMap((frontend) => {
    if (frontend.decides !== 'card') return [];
    const workers = unnumberedWorkers(frontend, fleet)?.filter(({ size }) => size !== undefined) ?? [];
    // Those without a cache have a fault of their own.
    const hasCache = workers.some(({ noPrefixCaching }) => noPrefixCaching === undefined);
    return hasCache && restsOnDefaults(workers) ? unsetSize(frontend, workers, false) : [];
  });
}

function checkFrontend(frontend: FrontendFacts, fleet: Fleet): readonly Finding[] {
  const { decides, hasPythonProcessor } = frontend;
  const workers = unnumberedWorkers(frontend, fleet);
  if (workers === undefined) return [];
  const sized = workers.filter(({ size }) => size !== undefined);
  const unseen = workers.filter(isUnseen);
  if (sized.length === 0) return unseenSizes(frontend, unseen);
  // Without a Python chat processor the card decides in all versions that are known.
  if (decides === 'card' || (decides === 'unknown' && !hasPythonProcessor && !restsOnDefaults(sized)))
    return [];
  // An unseen worker may have another number.
  return unsetSize(frontend, sized, unseen.length === 0);
}

/** The workers of Dynamo before a KV router that says no number; undefined before another frontend. */
function unnumberedWorkers(
  { launch, kvMode, noEvents, flag, variable }: FrontendFacts,
  { dynamoWorkers }: Fleet,
): readonly WorkerFacts[] | undefined {
  const isSet = flag !== undefined || variable !== undefined || launch.isGated || mayBeUnseen(launch);
  return kvMode === undefined || noEvents !== undefined || isSet ? undefined : dynamoWorkers;
}

function unsetSize(
  frontend: FrontendFacts,
  sized: readonly WorkerFacts[],
  isFixable: boolean,
): readonly Finding[] {
  const { launch, kvMode, decides } = frontend;
  const sizes = [...new Set(sized.map(({ size }) => size?.tokens ?? 0))];
  const [tokens] = sizes;
  // Several sizes are a fault of their own: no number would be right.
  if (kvMode === undefined || tokens === undefined || sizes.length > 1 || tokens === FRONTEND_DEFAULT_TOKENS)
    return [];
  const isTrtllm = sized[0]?.launch.backend === TRTLLM.word;
  return [
    findingAt(rule, kvMode.span, {
      severity: decides === 'variable' ? 'error' : decides === 'card' ? 'note' : 'warning',
      message: `${nameOf(launch)} routes by KV cache and has no block size; the block size of ${namesOf(sized)} is ${tokens} tokens${isTrtllm && restsOnDefaults(sized) ? ', the default of TensorRT-LLM' : ''}, and a frontend takes ${FRONTEND_DEFAULT_TOKENS} by default`,
      consequence: consequenceOf(frontend, tokens),
      advice: adviceOf(sized, tokens),
      fix: isFixable ? fixOf(frontend, sized, tokens) : undefined,
      related: sizesOf(sized),
    }),
  ];
}

type UnseenWorker = WorkerFacts & { readonly unseen: NonNullable<WorkerFacts['unseen']> };

function isUnseen(worker: WorkerFacts): worker is UnseenWorker {
  return worker.unseen !== undefined;
}

/** Workers whose size no file shows: no number is claimed. Where the router learns it by itself, there is nothing to say. */
function unseenSizes(frontend: FrontendFacts, workers: readonly UnseenWorker[]): readonly Finding[] {
  const { launch, kvMode, decides, hasPythonProcessor } = frontend;
  const ownNumber = decides === 'variable' || (decides === 'unknown' && hasPythonProcessor);
  // The others declare what their engine uses.
  const concerned = ownNumber ? workers : workers.filter(({ card }) => card !== undefined);
  const [first] = concerned;
  if (kvMode === undefined || first === undefined) return [];
  const isTrtllm = concerned.some(({ launch: { backend } }) => backend === TRTLLM.word);
  return [
    findingAt(rule, kvMode.span, {
      severity: ownNumber && (isTrtllm || decides === 'variable') ? 'warning' : 'note',
      message: `${nameOf(launch)} routes by KV cache and has no block size; ${unseenWords(concerned)}`,
      consequence: unseenConsequence(frontend, first),
      advice: unseenAdvice(first, decides),
      unseenFile: first.unseen.path,
      related: concerned.slice(0, MAX_RELATED).map(({ launch: worker, unseen }) => ({
        span: unseen.span,
        says: `${nameOf(worker)} ${unseen.says}`,
      })),
    }),
  ];
}

/** Workers with where each takes its size from: those of one file together. */
function unseenWords(workers: readonly UnseenWorker[]): string {
  const groups = new Map<string, UnseenWorker[]>();
  for (const worker of workers) addTo(groups, worker.unseen.says, worker);
  return [...groups]
    .slice(0, MAX_GROUPS)
    .map(([says, of]) => {
      const names = namesOf(of);
      return `${names} ${names.includes(', ') ? says.replace(/^takes its /, 'take their ') : says}`;
    })
    .join('; ');
}

function unseenConsequence({ launch, decides }: FrontendFacts, { card }: UnseenWorker): string {
  const nothing = 'the router finds nothing, requests go by load alone, and there is no error';
  const byCard = `the worker's card says --kv-block-size (${card?.tokens ?? TRTLLM_DEFAULT_TOKENS} without it), whatever the engine uses: where the two differ, the worker drops all of its own KV events, ${nothing}.`;
  switch (decides) {
    case 'card':
      return `Dynamo ${launch.version?.text} takes the number from the workers' model cards, and the frontend's variable changes nothing there. What counts is the card: ${byCard}`;
    case 'variable':
      return `This Dynamo (${launch.version?.text}) with its Python chat processor builds the router with the frontend's number, ${FRONTEND_DEFAULT_TOKENS} when it has none: with another number in the engine ${nothing}.`;
    default:
      return `The image does not say its version of Dynamo. Python chat processors of 1.0 to 1.2 build the router with the frontend's number, ${FRONTEND_DEFAULT_TOKENS} when it has none: with another one in the engine ${nothing}.${card === undefined ? '' : ` Otherwise the worker's card decides, and from 1.4 on the worker asks its engine for it. Up to 1.3: ${byCard}`}`;
  }
}

function unseenAdvice({ launch, unseen: { path } }: UnseenWorker, decides: FrontendFacts['decides']): string {
  const isTrtllm = launch.backend === TRTLLM.word;
  const setting = isTrtllm
    ? `kv_cache_config.tokens_per_block (${TRTLLM_DEFAULT_TOKENS} where it is absent)`
    : 'the block size';
  // Where the card decides, the frontend's variable changes nothing.
  const places = [
    ...(decides === 'card' ? [] : ['DYN_KV_CACHE_BLOCK_SIZE of the frontend']),
    ...(isTrtllm ? ['--kv-block-size of dynamo.trtllm'] : []),
  ].join(', and ');
  const look =
    path === undefined
      ? `Find out the worker's block size`
      : `Look at ${setting} in ${path}, or have lint read it (--with FILE)`;
  return `${look}; ${places} must be that number. kv-accord doctor shows the sizes of a running deployment, and kv-accord exec starts the frontend with the number that sidecars read from the engines.`;
}

/** Whether TensorRT-LLM's number is written nowhere: two programs that happen to have the same default. */
function restsOnDefaults(workers: readonly WorkerFacts[]): boolean {
  return workers.some(
    ({ launch, card, engine }) =>
      launch.backend === TRTLLM.word && card?.setting === undefined && engine?.setting === undefined,
  );
}

function consequenceOf({ launch, decides }: FrontendFacts, tokens: number): string {
  switch (decides) {
    case 'card':
      return `Dynamo ${launch.version?.text} takes the number from the workers' model cards, and the frontend's variable changes nothing there: routing works as long as the card has the block size of the engine. Both are ${tokens} only by default here.`;
    case 'variable':
      return `This Dynamo (${launch.version?.text}) with its Python chat processor builds the router with the frontend's number: it hashes prompts in blocks of ${FRONTEND_DEFAULT_TOKENS} tokens, the workers in blocks of ${tokens}. ${rule.explanation}`;
    default:
      return `The image does not say its version of Dynamo. Where the frontend's number decides (Python chat processors of 1.0 to 1.2), it hashes prompts in blocks of ${FRONTEND_DEFAULT_TOKENS} tokens and the workers in blocks of ${tokens}: no hash is the same, the tree stays empty, and requests go by load alone without an error. Where the worker's model card decides (up to 0.9, 1.3 to 1.6), the variable changes nothing and the card has to say ${tokens}.`;
  }
}

function adviceOf(workers: readonly WorkerFacts[], tokens: number): string {
  const ownFlag = workers.some(({ launch }) => launch.backend === TRTLLM.word && launch.isDynamo);
  const card = ownFlag
    ? ` Where the card decides, --kv-block-size of dynamo.trtllm must be the engine's tokens_per_block (${tokens}).`
    : '';
  return `Set DYN_KV_CACHE_BLOCK_SIZE to "${tokens}" on the frontend, or start it by kv-accord exec, which takes the number from the workers.${card}`;
}

function fixOf(
  { launch, kvMode }: FrontendFacts,
  workers: readonly WorkerFacts[],
  tokens: number,
): Fix | undefined {
  if (launch.site === undefined) {
    return addArguments(
      launch,
      ['--kv-cache-block-size', String(tokens)],
      `Start the frontend with --kv-cache-block-size ${tokens}`,
    );
  }
  return addVariable(launch, 'DYN_KV_CACHE_BLOCK_SIZE', String(tokens), {
    says: `Set DYN_KV_CACHE_BLOCK_SIZE=${tokens} on the frontend`,
    comment: commentOf(workers),
    ...(kvMode?.how === 'variable' ? { neighbour: kvMode.name } : {}),
  });
}

function commentOf(workers: readonly WorkerFacts[]): string {
  const name = engineOfWord(workers[0]?.launch.backend)?.launch?.sizeSettingName;
  return `Must match ${name ?? "the workers' --block-size"}`;
}
