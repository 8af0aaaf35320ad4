import { describe, expect, it } from 'vitest';
import { closeAll } from '../../src/app/closing.js';

describe('what was opened', () => {
  it('is closed from the last to the first, each when the one before it is done', async () => {
    const order: string[] = [];
    const closing = ['first', 'second', 'third'].map((name) => async () => {
      order.push(`${name} begins`);
      await Promise.resolve();
      order.push(`${name} is closed`);
    });
    await closeAll(closing);
    expect(order).toEqual(
      ['third', 'second', 'first'].flatMap((name) => [`${name} begins`, `${name} is closed`]),
    );
  });

  it('is closed whole when one of it cannot be, and the first problem is thrown', async () => {
    const closed: string[] = [];
    const closing = [
      () => closed.push('first'),
      () => Promise.reject(new Error('the second cannot be closed')),
      () => closed.push('third'),
      () => {
        throw new Error('the fourth cannot be closed');
      },
    ];
    await expect(closeAll(closing)).rejects.toThrow('the fourth cannot be closed');
    expect(closed).toEqual(['third', 'first']);
  });

  it('is closed once', async () => {
    let closed = 0;
    const closing = [() => (closed += 1)];
    await closeAll(closing);
    await closeAll(closing);
    expect(closed).toBe(1);
  });
});
