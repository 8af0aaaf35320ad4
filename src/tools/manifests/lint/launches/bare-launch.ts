import type { Span } from '../text/span.js';
import type { Launch } from './launch.js';

/** A launch of which nothing is known but what is given: no arguments, no variables. */
export function bareLaunch(
  given: Pick<Launch, 'role' | 'program'> & Partial<Launch>,
  { source, start, end }: Span,
): Launch {
  return {
    backend: undefined,
    isDynamo: false,
    args: [],
    env: new Map(),
    hasUnseenArgs: true,
    hasUnseenEnv: true,
    at: { source, start, end, isExact: false },
    source,
    site: undefined,
    container: undefined,
    version: undefined,
    isGated: false,
    argsAre: 'items',
    fileAt: () => undefined,
    ...given,
  };
}
