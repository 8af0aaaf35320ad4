import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
// @ts-expect-error It has no types.
import { knownFaultSigns } from '../../scripts/parts/known-fault-signs.mjs';
import { KNOWN_FAULT_SIGNS } from '../../src/tools/doctor/known-faults/known-fault-signs.js';

const MODULE = new URL('../../src/tools/doctor/known-faults/known-fault-signs.ts', import.meta.url);

test('the build writes needles and patterns of all known faults, and of no other module', async () => {
  const { load } = knownFaultSigns() as { load(id: string): Promise<{ readonly code: string } | null> };
  const { code } = (await load(fileURLToPath(MODULE))) ?? { code: '' };
  const written: unknown = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  expect(written).toMatchObject({ KNOWN_FAULT_SIGNS });
  expect(await load(fileURLToPath(import.meta.url))).toBeNull();
});
