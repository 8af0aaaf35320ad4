import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/edge/platform/data/json-object.js';
import { readRegisteredWorker } from '../../../src/engines/dynamo/registered-worker.js';
import { parseJsonObject } from '../../../src/engines/facts/parse-json-object.js';

const DEPTH = 100_000;
const deep = '['.repeat(DEPTH) + ']'.repeat(DEPTH);

describe('a field of foreign JSON', () => {
  it.each(['kv_cache_block_size', 'source_path', 'runtime_config', 'display_name'])(
    'that is nested without measure is left out with a word: %s',
    (field) => {
      // What came from a library is not as bounded as a text that is read here.
      const card = JSON.parse(`{"card_json": {"context_length": 8, "${field}": ${deep}}}`) as JsonObject;
      const { facts, warnings } = readRegisteredWorker(card, {
        origin: 'a card',
        observedAtMs: 0,
        instanceId: '1',
        adapters: [],
      });
      expect(warnings).toEqual([
        expect.stringContaining(`a card: card_json.${field} is (nested too deeply to be shown); expected `),
      ]);
      expect(facts.map((fact) => fact.type === 'field' && fact.field)).toContain('model.max_model_len');
    },
  );

  it('may be all that there is', () => {
    const card = JSON.parse(`{"card_json": ${deep}}`) as JsonObject;
    const read = (): unknown =>
      readRegisteredWorker(card, { origin: 'a card', observedAtMs: 0, instanceId: '1', adapters: [] });
    expect(read).toThrow('has no card_json');
  });

  it.each([
    ['nested without measure', deep, 'is nested deeper than 64 levels'],
    ['of a million empty lists', `[${'[],'.repeat(300_000)}0]`, 'has more than 131072 JSON values'],
    ['of megabytes', `"${'x'.repeat(1_100_000)}"`, 'has more than 1048576 bytes'],
  ])('is not read at all when it is %s', (_, value, words) => {
    const read = (): unknown => parseJsonObject(`{"card_json": ${value}}`, 'a card');
    expect(read).toThrow(`a card: ${words}; it was not read`);
  });
});
