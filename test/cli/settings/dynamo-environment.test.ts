import { expect, test } from 'vitest';
import { commands } from '../../../src/cli/commands.js';
import { tableOf } from '../../../src/cli/program.js';
import { readDynamoEnvironment } from '../../../src/cli/settings/dynamo-environment.js';
import { resolve } from '../../../src/cli/settings/resolve.js';

const tables = commands.map(tableOf);
const frontend = tables.find((table) => 'http-port' in table) ?? {};
const readValue = (name: string, environment: Record<string, string>): unknown =>
  resolve(frontend, { flags: new Map(), environment }, () => undefined).entries.find(
    (entry) => entry.name === name,
  )?.value;

test.each([
  ['kv-events', 'DYN_ROUTER_USE_KV_EVENTS', 'false', false],
  ['kv-events', 'DYN_USE_KV_EVENTS', 'false', false],
  ['kv-events', 'DYN_KV_EVENTS', 'false', false],
  ['kv-overlap-score-weight', 'DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT', '2.5', 2.5],
  ['kv-overlap-score-weight', 'DYN_OVERLAP_SCORE_WEIGHT', '2.5', 2.5],
  ['kv-overlap-score-weight', 'DYN_ROUTER_PREFILL_LOAD_SCALE', '2.5', 2.5],
  ['kv-overlap-score-weight', 'DYN_KV_OVERLAP_SCORE_WEIGHT', '2.5', 2.5],
  ['router-ttl-secs', 'DYN_ROUTER_TTL_SECS', '60.0', 60],
])('%s is taken from %s', (name, variable, text, value) => {
  expect(readValue(name, { [variable]: text })).toBe(value);
  expect(readDynamoEnvironment({ [variable]: text }, tables)).toEqual({ warnings: [], notes: [] });
});

test('a name of Dynamo 1.x goes before an older one, and what is not used is named', () => {
  const environment = { DYN_ROUTER_USE_KV_EVENTS: 'true', DYN_KV_EVENTS: 'false' };
  expect(readValue('kv-events', environment)).toBe(true);
  expect(readDynamoEnvironment(environment, tables).warnings).toEqual([
    'DYN_ROUTER_USE_KV_EVENTS is used for --kv-events, and DYN_KV_EVENTS is ignored',
  ]);
  expect(readDynamoEnvironment({ ...environment, KV_ACCORD_KV_EVENTS: 'true' }, tables).warnings).toEqual([]);
});

test('variables that steer routing and are not understood are named in one warning, with the name that was meant', () => {
  const environment = {
    DYN_ROUTER_QUEUE_THRESHOLD: '0.5',
    DYN_ROUTER_MOD: 's3cret',
    DYN_ROUTER_MODE: 'kv',
    DYN_SHARED_CACHE_TYPE: '',
  };
  expect(readDynamoEnvironment(environment, tables)).toEqual({
    warnings: [
      "Dynamo's DYN_ROUTER_MOD (did you mean DYN_ROUTER_MODE?), DYN_ROUTER_QUEUE_THRESHOLD: kv-accord has no such setting and ignores it",
    ],
    notes: [],
  });
});

test('variables of other parts of Dynamo are one note, however many there are', () => {
  const environment = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [`DYN_TRTLLM_X${10 + i}`, '1']),
  );
  const { warnings, notes } = readDynamoEnvironment(
    { ...environment, DYN_SYSTEM_PORT: '1', PATH: '/' },
    tables,
  );
  expect(warnings).toEqual([]);
  expect(notes).toHaveLength(1);
  expect(notes[0]).toMatch(/^ignored, because .*: DYN_TRTLLM_X10, .*, DYN_TRTLLM_X29 and 10 more$/);
});
