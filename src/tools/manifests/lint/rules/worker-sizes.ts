import type { WorkerFacts } from '../facts/worker-facts.js';
import { MAX_RELATED } from '../findings/lint-rule.js';
import { nameOf } from '../launches/launch.js';
import type { Span } from '../text/span.js';

/** The places where workers have their block sizes, for findings about other programs. */
export function sizesOf(
  workers: readonly WorkerFacts[],
): readonly { readonly span: Span; readonly says: string }[] {
  return workers.slice(0, MAX_RELATED).map(({ launch, size }) => ({
    span: size?.setting?.span ?? launch.at,
    says: `${nameOf(launch)}: ${size?.setting?.name ?? 'the default'} is ${size?.tokens}`,
  }));
}
