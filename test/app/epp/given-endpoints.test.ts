import { expect, it } from 'vitest';
import { GivenEndpoints } from '../../../src/app/epp/given-endpoints.js';

it('what discovery says of ports becomes base URLs, those of the settings win, and what has left goes', () => {
  const given = new GivenEndpoints(new Map([['b', 'http://proxy:80']]));
  const serves = (n: number) => [0, 1].map((rank) => ({ rank, address: `10.0.0.${n}:800${rank}` }));
  const { urls } = given;
  given.setList([
    { target: 'a', address: '10.0.0.1:50061', serves: serves(1) },
    { target: 'b', serves: serves(2) },
  ]);
  expect([...urls]).toEqual([
    ['b', 'http://proxy:80'],
    ['a', 'http://10.0.0.1:8000'],
  ]);
  expect(given.served.get('a')?.get(1)).toBe('10.0.0.1:8001');
  given.setList([{ target: 'b', address: '10.0.0.2:50061' }]);
  expect([...urls]).toEqual([['b', 'http://proxy:80']]);
  expect(given.served.size).toBe(0);
});
