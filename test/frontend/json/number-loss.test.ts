import { expect, test } from 'vitest';
import { losesNumber } from '../../../src/frontend/json/number-loss.js';

const inText = (text: string): boolean => {
  const bytes = Buffer.from(text);
  return losesNumber(bytes, 0, bytes.length);
};

test.each([
  '1.0',
  '[0.0]',
  '{"a": -2.50e1}',
  '{"a":1e+5}',
  '[1E3]',
  '-0',
  '-0.0',
  '1e400',
  '9007199254740993',
  `{"a": 1.${'0'.repeat(99)}}`,
])('a number that JavaScript does not keep is found: %s', (text) => {
  expect(inText(text)).toBe(true);
});

test.each([
  '1',
  '-7',
  '0.5',
  '[1e-7, 2.5e0]',
  '{"1.0": "2.0 \\" 3.0"}',
  '"1e5"',
  'true',
  '9007199254740991',
  '',
])('nothing is found in %s', (text) => {
  expect(inText(text)).toBe(false);
});
