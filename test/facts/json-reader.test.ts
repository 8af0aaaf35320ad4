import { describe, expect, it } from 'vitest';
import { readRegisteredWorker } from '../../src/dynamo/registered-worker.js';
import { parseJsonObject } from '../../src/facts/json-object.js';

const DEPTH = 100_000;
const deep = '['.repeat(DEPTH) + ']'.repeat(DEPTH);

describe('a field of foreign JSON', () => {
  it.each(['kv_cache_block_size', 'source_path', 'runtime_config', 'display_name'])(
    'that is nested without measure is left out with a word: %s',
    (field) => {
      const card = parseJsonObject(`{"card_json": {"context_length": 8, "${field}": ${deep}}}`, 'a card');
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
    const card = parseJsonObject(`{"card_json": ${deep}}`, 'a card');
    const read = (): unknown =>
      readRegisteredWorker(card, { origin: 'a card', observedAtMs: 0, instanceId: '1', adapters: [] });
    expect(read).toThrow('has no card_json');
  });
});
