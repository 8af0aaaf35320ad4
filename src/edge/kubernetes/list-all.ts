import type { KubernetesApi } from './api.js';
import { listAt, textAt } from './read-json.js';

/** Objects of one answer. */
const PAGE_SIZE = 250;
/** Answers of one list, so that 5,000 objects of a kind are read; a server that names one page after another has an end too. */
const MAX_PAGES = 20;

/**
 * The objects of a collection as they are now, at most 5,000; none where the answer has no list. Rejects with the
 * `KubernetesError` of a request that fails, or with the signal's reason.
 */
export async function listAll(
  api: Pick<KubernetesApi, 'get'>,
  path: string,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const objects: unknown[] = [];
  let next: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = { limit: String(PAGE_SIZE), ...(next === undefined ? {} : { continue: next }) };
    const answer = await api.get({ path, query, signal });
    objects.push(...listAt(answer, 'items'));
    next = textAt(answer, 'metadata', 'continue');
    if (next === undefined) break;
  }
  return objects;
}
