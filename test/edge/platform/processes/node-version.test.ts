import { expect, it } from 'vitest';
import { canTakeResets } from '../../../../src/edge/platform/processes/node-version.js';

it.each([
  ['20.20.2', false],
  ['22.9.0', false],
  ['22.10.0', true],
  ['24.0.0', true],
])('Node %s can be asked to take resets: %s', (version, can) => {
  expect(canTakeResets(version)).toBe(can);
});
