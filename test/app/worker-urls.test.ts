import { describe, expect, it } from 'vitest';
import { readWorkerUrls } from '../../src/app/worker-urls.js';

describe('--worker-urls', () => {
  it('names a base URL for each worker, without a slash at its end', () => {
    expect(
      readWorkerUrls(['10.0.0.1:50061=http://10.0.0.1:8000/', 'w-2=https://engines.example/two']),
    ).toEqual(
      new Map([
        ['10.0.0.1:50061', 'http://10.0.0.1:8000'],
        ['w-2', 'https://engines.example/two'],
      ]),
    );
  });

  it.each([
    'w-1',
    '=http://a:1',
    'w-1=a:1',
    'w-1=ftp://a',
    'w-1=http://user:pass@a',
    'w-1=http://a/?x=1',
    `${'w'.repeat(254)}=http://a`,
  ])('refuses %s', (item) => {
    expect(readWorkerUrls(['w-0=http://a', item])).toMatchObject({ part: item });
  });

  it.each(['w-1=http://a/v1', 'w-1=http://a/v1/'])(
    'refuses %s, to which /v1 is appended once more',
    (item) => {
      expect(readWorkerUrls([item])).toEqual({
        allowed: 'URLs without /v1 at their end: /v1/… is appended to them',
        part: item,
      });
    },
  );

  it('refuses a worker that is named twice', () => {
    expect(readWorkerUrls(['w-1=http://a', 'w-1=http://b'])).toEqual({
      allowed: 'a list that names each worker once',
      part: 'w-1=http://b',
    });
  });
});
