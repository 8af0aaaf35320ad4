import type { Ejections } from '../../../core/health/ejections.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { CandidateList } from './candidate-list.js';

/** Who is not to be chosen for a request, by target. */
export interface Excluded {
  readonly excluded: readonly string[];
  /** Those of them that do not have its adapter. */
  readonly lacking: readonly string[];
  /** Those of them that are ejected, or wait for the try of an ejected one. */
  readonly barred: readonly string[];
}

const NOBODY: readonly string[] = [];

/** Who is not to be chosen for a request: `excluded` by its caller, without its LoRA adapter, or ejected. */
export function excludedFor(
  { loraName, excluded: asked }: { readonly loraName: string; readonly excluded: readonly string[] },
  { list, ejections }: { readonly list: CandidateList; readonly ejections: Ejections },
  clock: Clock,
): Excluded {
  const lacking = list.lackingAdapter(loraName);
  const excluded = lacking.length === 0 ? asked : [...asked, ...lacking];
  if (!ejections.hasAny) return { excluded, lacking, barred: NOBODY };
  const nowMs = clock.monotonicMs();
  const overdue = ejections.overdue(nowMs);
  const barred =
    overdue === undefined || excluded.includes(overdue) ? ejections.barred(nowMs) : othersThan(overdue, list);
  // Never all, while nobody else is excluded.
  if (excluded.length === 0) return { excluded: barred, lacking, barred };
  const out = new Set([...excluded, ...barred]);
  // Where an ejected worker alone can serve it, as one that alone has an adapter, it is asked.
  return list.candidates.every(({ target }) => out.has(target))
    ? { excluded, lacking, barred: NOBODY }
    : { excluded: [...out], lacking, barred };
}

function othersThan(worker: string, { candidates }: CandidateList): readonly string[] {
  const others = new Set(candidates.map(({ target }) => target));
  others.delete(worker);
  return [...others];
}
