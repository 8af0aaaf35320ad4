import type { CommandDescription } from '../../command.js';
import { answerSettings, checkAnswer } from '../../settings/answer-settings.js';
import { OF_SERVERS } from '../../settings/common-settings.js';

const ownSettings = {
  'frontend-uses': {
    kind: 'enum',
    choices: ['observed', 'declared'],
    default: 'declared',
    group: 'Agreement',
    help: 'Whether CMD goes by what engines do or by what workers declare. Dynamo goes by what they declare.',
  },
  'on-change': {
    kind: 'enum',
    choices: ['restart', 'exit', 'ignore'],
    default: 'restart',
    group: 'Program',
    help: 'When the fleet agrees on another value: restart CMD, end it and exit with code 4, or leave it as it is.',
  },
  'child-grace': {
    kind: 'duration',
    default: '30s',
    max: '1h',
    group: 'Program',
    help: 'How long CMD may take to end after SIGTERM, when it is restarted or ended, before it is killed.',
  },
  env: {
    kind: 'list',
    item: 'env-name',
    default: ['DYN_KV_CACHE_BLOCK_SIZE', 'DYN_ROUTER_BLOCK_SIZE', 'KV_ACCORD_TOKENS_PER_BLOCK'],
    group: 'Program',
    help: 'Variables that carry the agreed value into CMD.',
  },
} as const;

/** The settings of `kv-accord exec`. */
export const execSettings: typeof answerSettings & typeof ownSettings = {
  ...answerSettings,
  ...ownSettings,
};

/** `kv-accord exec`. */
export const execDescription: CommandDescription<typeof execSettings> = {
  name: 'exec',
  summary: 'Wait, put the agreed value in the environment, then run a program',
  description:
    'Waits like "wait", puts the agreed KV block size into the environment, runs CMD, and keeps watching. {tokens_per_block} in the arguments of CMD is replaced by the value. Once CMD runs, its exit status is passed on.',
  operands: {
    syntax: '<CMD...>',
    help: 'the program and its arguments; everything after it is its own',
    passesThrough: true,
  },
  settings: execSettings,
  unread: OF_SERVERS,
  isServer: true,
  examples: [
    {
      says: 'The gate in front of a Dynamo frontend',
      line: 'kv-accord exec --workers dns:///workers:50061 --tls-ca ca.crt -- python3 -m dynamo.frontend --router-mode kv',
    },
    {
      says: 'The same for workers that are known by their model cards, without sidecars',
      line: 'kv-accord exec --workers dynamo-file:///tmp/dynamo_store_kv --min-workers 4 -- python3 -m dynamo.frontend --router-mode kv',
    },
    {
      says: 'A program that takes the value as an argument only',
      line: 'kv-accord exec --aggregator 127.0.0.1:50060 -- indexer --block-size {tokens_per_block}',
    },
  ],
  check: checkAnswer,
};
