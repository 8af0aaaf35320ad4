import { sizeRule } from '../../../../core/contract/evidence/size-rule.js';
import { EngineKind } from '../../../../core/contract/wire/enums.js';
import type { Fleet } from '../facts/fleet.js';
import type { WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { addArguments, replaceNumber } from '../fixes/fixes.js';
import { nameOf } from '../launches/launch.js';
import { mayBeUnseen } from '../launches/settings.js';

const rule: Rule = {
  id: 'worker-card-differs',
  severity: 'error',
  summary: 'A worker declares another block size than its engine uses.',
  explanation:
    'Dynamo takes the number from the card that the worker registers. The worker drops every block of another size before it is published, so the router stays empty; the only sign are warnings of missing parent blocks, which do not name the block size. Requests complete, by load alone.',
};

/** TensorRT-LLM: `--kv-block-size` goes into the card, `tokens_per_block` into the engine. */
export const workerCardDiffers: LintRule = {
  rule,
  check: (fleet) =>
    fleet.workers
      .filter(({ publishes }) => publishes !== false || mayBeRead(fleet))
      .flatMap((worker) => checkWorker(worker)),
};

/** Whether a router may read the events of a fleet: not where its one kind of router is a frontend that goes by load. */
function mayBeRead({ frontends, routers, indexers, pickers, ownGates }: Fleet): boolean {
  const others = routers.length + indexers.length + pickers.length + ownGates.length;
  return (
    frontends.length === 0 ||
    others > 0 ||
    frontends.some(({ launch, kvMode }) => kvMode !== undefined || mayBeUnseen(launch))
  );
}

function checkWorker({ launch, card, engine }: WorkerFacts): readonly Finding[] {
  if (card === undefined || engine === undefined || card.tokens === engine.tokens) {
    return [];
  }
  const { tokens } = engine;
  const says = `Declare ${tokens}, as the engine uses it`;
  const at = card.setting?.span ?? engine.setting?.span ?? launch.at;
  return [
    findingAt(rule, at, {
      severity: launch.version === undefined ? 'warning' : 'error',
      message: `${nameOf(launch)} declares a block size of ${card.tokens} tokens (${card.setting?.name ?? '--kv-block-size, by default'}), and its engine uses ${tokens} (${engine.setting?.name ?? 'tokens_per_block, by default'})`,
      consequence:
        launch.version === undefined
          ? `${rule.explanation} Dynamo 1.4 and later ask the engine and are not concerned; the image does not say which it is.`
          : rule.explanation,
      advice: `Start the worker with --kv-block-size ${tokens}${canTake(card.tokens) ? `, or set tokens_per_block to ${card.tokens}` : ''}.`,
      fix:
        card.setting === undefined
          ? addArguments(launch, ['--kv-block-size', String(tokens)], says)
          : replaceNumber(card.setting, tokens, says),
      related:
        engine.setting === undefined
          ? []
          : [{ span: engine.setting.span, says: `${engine.setting.name} is ${tokens}` }],
    }),
  ];
}

/** Whether TensorRT-LLM, the one engine that declares a number of its own, can run it. */
function canTake(tokensPerBlock: number): boolean {
  return sizeRule({ engineKind: EngineKind.TENSORRT_LLM }).takes(tokensPerBlock) !== 'no';
}
