import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  CACHE_FAULT_KINDS,
  cacheFaultKind,
} from '../../../../../src/tools/doctor/logs/general/cache-fault-kinds.js';

const SOURCE = new URL('../../../../../src/', import.meta.url);

/** Where the values of `offload_failed` are made. */
const MADE_IN = [
  'engines/diagnosis/sign-values.ts',
  'engines/vllm/offload-rules.ts',
  ...['cache-rules', 'lmcache-rules', 'store-faults', 'remote-store', 'name-rules', 'failing-caches'].map(
    (name) => `tools/doctor/logs/general/${name}.ts`,
  ),
];

/** What rules fill in by a name, as far as kinds go by it. */
const FILLED: readonly (readonly [written: RegExp, text: string])[] = [
  [/\$\{store\}/g, "LMCache's remote store"],
  [/\$\{transferBufferOf\([^}]*\}/g, "LMCache's transfer buffer (pd_buffer_size)"],
  [/\$\{text\.includes\('recreating'\)[^}]*\}/, 'in time '],
  [/\$\{[^}]*\}/g, '0'],
];

/** The texts of a file of rules. */
function textsIn(path: string): readonly string[] {
  const source = FILLED.reduce(
    (text, [written, by]) => text.replace(written, by),
    readFileSync(new URL(path, SOURCE), 'utf8'),
  );
  return [...source.matchAll(/'([^'\n]+)'|"([^"\n]+)"|`([^`\n]+)`/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
}

describe('the kinds of faults of a cache', () => {
  const texts = MADE_IN.flatMap(textsIn);

  it.each(CACHE_FAULT_KINDS.filter((kind) => kind !== 'lookup_unanswered'))(
    'have a rule that says what %s means',
    (kind) => {
      expect(texts.filter((text) => cacheFaultKind(text) === kind)).not.toEqual([]);
    },
  );

  it('are kept apart', () => {
    const answer = "LMCache's lookup gets no answer";
    expect(cacheFaultKind(`${answer} from rank 0`)).toBe('lookup_unanswered');
    expect(cacheFaultKind(`${answer} in time from rank 0`)).toBe('lookup_late');
    expect(cacheFaultKind('Mooncake is not reached')).toBe('unreached');
    expect(cacheFaultKind('LMCache has no room')).toBe('full');
    expect(cacheFaultKind('something else')).toBeUndefined();
  });
});
