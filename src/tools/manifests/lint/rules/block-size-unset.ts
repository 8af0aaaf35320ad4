import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import { type Fleet, namesOf } from '../facts/fleet.js';
import type { FrontendFacts } from '../facts/router-facts.js';
import type { WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Fix, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { addArguments, addVariable } from '../fixes/fixes.js';
import { FRONTEND_DEFAULT_TOKENS } from '../launches/dynamo-version.js';
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

/** A KV router without a number, before workers with another default. */
export const blockSizeUnset: LintRule = {
  rule,
  check(fleet: Fleet): readonly Finding[] {
    return fleet.frontends.flatMap((frontend) => checkFrontend(frontend, fleet));
  },
};

function checkFrontend(frontend: FrontendFacts, { dynamoWorkers }: Fleet): readonly Finding[] {
  const { launch, kvMode, noEvents, flag, variable, decides, hasPythonProcessor } = frontend;
  const isSet = flag !== undefined || variable !== undefined || launch.isGated || mayBeUnseen(launch);
  if (kvMode === undefined || noEvents !== undefined || isSet) {
    return [];
  }
  // What a worker declares counts here, also while its engine's own file is not seen.
  const sized = dynamoWorkers
    .map((worker) => ({ ...worker, size: worker.size ?? worker.card }))
    .filter(({ size }) => size !== undefined);
  const sizes = [...new Set(sized.map(({ size }) => size?.tokens ?? 0))];
  const [tokens] = sizes;
  // Several sizes are a fault of their own: no number would be right.
  if (tokens === undefined || sizes.length > 1 || tokens === FRONTEND_DEFAULT_TOKENS) {
    return [];
  }
  // Without a Python chat processor the card decides in all versions that are known.
  if ((decides === 'card' || (decides === 'unknown' && !hasPythonProcessor)) && !restsOnDefaults(sized)) {
    return [];
  }
  const { backend } = sized[0]?.launch ?? {};
  const isTrtllm = backend === 'trtllm';
  return [
    findingAt(rule, kvMode.span, {
      severity: decides === 'variable' ? 'error' : decides === 'card' ? 'note' : 'warning',
      message: `${nameOf(launch)} routes by KV cache and has no block size; the block size of ${namesOf(sized)} is ${tokens} tokens${isTrtllm && restsOnDefaults(sized) ? ', the default of TensorRT-LLM' : ''}, and a frontend takes ${FRONTEND_DEFAULT_TOKENS} by default`,
      consequence: consequenceOf(frontend, tokens),
      advice: adviceOf(sized, tokens),
      // Where the card decides, the frontend's number would change nothing.
      fix: decides === 'card' ? undefined : fixOf(frontend, sized, tokens),
      related: sizesOf(sized),
    }),
  ];
}

/** Whether TensorRT-LLM's number is written nowhere: two programs that happen to have the same default. */
function restsOnDefaults(workers: readonly WorkerFacts[]): boolean {
  return workers.some(
    ({ launch, card, engine }) =>
      launch.backend === 'trtllm' && card?.setting === undefined && engine?.setting === undefined,
  );
}

function consequenceOf({ launch, decides }: FrontendFacts, tokens: number): string {
  switch (decides) {
    case 'card':
      return `Dynamo ${launch.version?.text} takes the number from the workers' model cards, and the frontend's variable changes nothing there: routing works as long as the card has the block size of the engine. Both are ${tokens} only by default here. With a Dynamo whose frontend's number decides (1.0 to 1.2 with a Python chat processor) nothing would be found.`;
    case 'variable':
      return `This Dynamo (${launch.version?.text}) with its Python chat processor builds the router with the frontend's number: it hashes prompts in blocks of ${FRONTEND_DEFAULT_TOKENS} tokens, the workers in blocks of ${tokens}. ${rule.explanation}`;
    default:
      return `The image does not say its version of Dynamo. Where the frontend's number decides (Python chat processors of 1.0 to 1.2), it hashes prompts in blocks of ${FRONTEND_DEFAULT_TOKENS} tokens and the workers in blocks of ${tokens}: no hash is the same, the tree stays empty, and requests go by load alone without an error. Where the worker's model card decides (0.9, 1.3 to 1.6), the variable changes nothing and the card has to say ${tokens}.`;
  }
}

function adviceOf(workers: readonly WorkerFacts[], tokens: number): string {
  const ownFlag = workers.some(({ launch }) => launch.backend === 'trtllm' && launch.isDynamo);
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
