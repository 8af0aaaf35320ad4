import { nameOf } from '../launch.js';
import { MAX_RELATED } from '../lint-rule.js';
import type { Span } from '../span.js';
import type { WorkerFacts } from '../worker-facts.js';

/** The places where workers have their block sizes, for findings about other programs. */
export function sizesOf(
  workers: readonly WorkerFacts[],
): readonly { readonly span: Span; readonly says: string }[] {
  return workers.slice(0, MAX_RELATED).map(({ launch, size }) => ({
    span: size?.setting?.span ?? launch.at,
    says: `${nameOf(launch)}: ${size?.setting?.name ?? 'the default'} is ${size?.tokens}`,
  }));
}
