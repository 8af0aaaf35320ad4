import { ROUTER_DEFAULT_TOKENS } from '../../../../engines/dynamo/default-sizes.js';
import { type Fleet, namesOf } from '../facts/fleet.js';
import { eventsOff } from '../facts/router-facts.js';
import type { WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { addArguments, addVariable, replaceNumber } from '../fixes/fixes.js';
import { isAtLeast } from '../launches/dynamo-version.js';
import { type Launch, nameOf } from '../launches/launch.js';
import { flagOf, mayBeUnseen, numberOf, variableOf } from '../launches/settings.js';
import { sizesOf } from './worker-sizes.js';

const routerRule: Rule = {
  id: 'router-block-size-default',
  severity: 'error',
  summary: 'dynamo.router runs with its default block size of 128, which its workers do not use.',
  explanation:
    "The standalone router never compares its number with the workers' cards. Asked for a prompt that a worker holds, it finds no block of it, and says nothing in its log.",
};

/** The standalone router without a number. */
export const routerBlockSizeDefault: LintRule = {
  rule: routerRule,
  check: (fleet) => fleet.routers.flatMap((router) => checkRouter(router, fleet)),
};

function checkRouter(router: Launch, { dynamoWorkers }: Fleet): readonly Finding[] {
  const setting =
    flagOf(router, '--router-block-size', '--block-size') ?? variableOf(router, 'DYN_ROUTER_BLOCK_SIZE');
  const sized = dynamoWorkers.filter(({ size }) => size !== undefined);
  if (setting !== undefined || router.isGated || mayBeUnseen(router) || eventsOff(router) !== undefined) {
    return [];
  }
  if (sized.length === 0) {
    return [unknownSize(router, dynamoWorkers)];
  }
  if (sized.every(({ size }) => size?.tokens === ROUTER_DEFAULT_TOKENS)) {
    return [];
  }
  const tokens = oneSize(dynamoWorkers);
  return [
    findingAt(routerRule, router.at, {
      message: `${nameOf(router)} has no block size and takes ${ROUTER_DEFAULT_TOKENS}; the blocks of ${namesOf(sized)} have ${tokens ?? 'other numbers of'} tokens`,
      advice: adviceOf(router, tokens),
      fix: tokens === undefined ? undefined : setRouter(router, tokens),
      related: sizesOf(sized),
    }),
  ];
}

function unknownSize(router: Launch, workers: readonly WorkerFacts[]): Finding {
  const worker = workers.find(({ unseen }) => unseen !== undefined);
  const where = worker?.unseen === undefined ? '' : `; ${nameOf(worker.launch)} ${worker.unseen.says}`;
  return findingAt(routerRule, router.at, {
    severity: 'warning',
    message: `${nameOf(router)} has no block size and takes ${ROUTER_DEFAULT_TOKENS}, which hardly any engine uses${where}`,
    advice: adviceOf(router, undefined),
    unseenFile: worker?.unseen?.path,
  });
}

function isOld({ version }: Launch): boolean {
  return version !== undefined && !isAtLeast(version, 1, 0);
}

function adviceOf(router: Launch, tokens: number | undefined): string {
  const number = tokens ?? "the workers' block size";
  return isOld(router)
    ? `Start it with --block-size ${number}.`
    : `Set DYN_ROUTER_BLOCK_SIZE to ${number} (--router-block-size), or start it by kv-accord exec, which sets it.`;
}

function setRouter(router: Launch, tokens: number): ReturnType<typeof addVariable> {
  if (isOld(router)) {
    return addArguments(
      router,
      ['--block-size', String(tokens)],
      `Start the router with --block-size ${tokens}`,
    );
  }
  return router.site === undefined
    ? addArguments(
        router,
        ['--router-block-size', String(tokens)],
        `Start the router with --router-block-size ${tokens}`,
      )
    : addVariable(router, 'DYN_ROUTER_BLOCK_SIZE', String(tokens), {
        says: `Set DYN_ROUTER_BLOCK_SIZE=${tokens} on the router`,
        comment: "Must match the workers' block size (default: 128)",
      });
}

const indexerRule: Rule = {
  id: 'indexer-block-size',
  severity: 'error',
  summary: 'dynamo.indexer has no block size, or another one than its workers.',
  explanation:
    'The indexer drops every block of another size after three warnings. Queries are answered with nothing and status 200; its health is fine.',
};

/** The standalone indexer, which has no variable for its number. */
export const indexerBlockSize: LintRule = {
  rule: indexerRule,
  check: (fleet) => fleet.indexers.flatMap((indexer) => checkIndexer(indexer, fleet)),
};

function checkIndexer(indexer: Launch, { workers }: Fleet): readonly Finding[] {
  const setting = flagOf(indexer, '--block-size');
  const sized = workers.filter(({ size }) => size !== undefined);
  const tokens = oneSize(workers);
  if (setting === undefined) {
    // Without --workers, the program that registers one says its size.
    if (flagOf(indexer, '--workers') === undefined || indexer.hasUnseenArgs) {
      return [];
    }
    return [
      findingAt(indexerRule, indexer.at, {
        message: `${nameOf(indexer)} is given workers and no --block-size`,
        advice: `Start it with --block-size ${tokens ?? "and the workers' number"}, or by kv-accord exec with --block-size {tokens_per_block}.`,
        fix:
          tokens === undefined
            ? undefined
            : addArguments(
                indexer,
                ['--block-size', String(tokens)],
                `Start the indexer with --block-size ${tokens}`,
              ),
      }),
    ];
  }
  const own = numberOf(setting);
  const others = sized.filter(({ size }) => size?.tokens !== own);
  if (own === undefined || others.length === 0) {
    return [];
  }
  return [
    findingAt(indexerRule, setting.span, {
      message: `${nameOf(indexer)} uses a block size of ${own} tokens, and ${namesOf(others)} ${tokens ?? 'others'}`,
      advice: `Set --block-size to the workers' number${tokens === undefined ? '' : ` (${tokens})`}.`,
      fix:
        tokens === undefined
          ? undefined
          : replaceNumber(setting, tokens, `Set --block-size to ${tokens}, as the workers have it`),
      related: sizesOf(others),
    }),
  ];
}

/** The size of all workers; undefined where one differs, or where the place of one's size is not seen. */
function oneSize(workers: readonly WorkerFacts[]): number | undefined {
  const known = workers.filter(({ size, unseen }) => size !== undefined || unseen !== undefined);
  const sizes = new Set(known.map(({ size }) => size?.tokens));
  return sizes.size === 1 ? [...sizes][0] : undefined;
}
