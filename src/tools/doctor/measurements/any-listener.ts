import type { Measurements } from './measurements.js';

/**
 * Whether a block of another size was dropped by a program that is not known:
 * publishers of workers, standalone indexers and Dynamo's own endpoint picker
 * write the same line from 1.2 on, and no engine was seen beside it.
 */
export function isOfAnyListener({ signal, seen }: Pick<Measurements, 'signal' | 'seen'>): boolean {
  const isShared = signal('block_not_published')?.first.text.includes('zmq_wire') === true;
  return isShared && seen.engines.length === 0;
}
