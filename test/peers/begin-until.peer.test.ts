import { expect, it } from 'vitest';
import { beginUntilS } from './support/begin-until.js';

const given = (text: string | undefined): number | undefined =>
  beginUntilS({ KV_ACCORD_PEERS_BEGIN_UNTIL_S: text });

it('is a time after which no file is begun, or none where nothing is set', () => {
  expect(given('1774080000')).toBe(1_774_080_000);
  expect(given('')).toBeUndefined();
  expect(given(undefined)).toBeUndefined();
});

it.each(['soon', '12:00', '-1', ' ', '1e9', 'Infinity'])('is refused where it is no number: "%s"', (text) => {
  expect(() => given(text)).toThrow(
    `KV_ACCORD_PEERS_BEGIN_UNTIL_S is "${text}", and must be seconds since 1970`,
  );
});
