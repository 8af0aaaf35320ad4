import { type Api, findApi, KEPT_RESPONSE, OTHER_PATH, RESPONSES } from '../apis/api.js';
import { pathOf } from '../gateway/routes.js';

/** What a request asks, as its method and its path say. */
export interface ShownApi {
  readonly api: Api;
  /** What is asked for by its id; undefined elsewhere. */
  readonly keptId: string | undefined;
}

const KEPT = new RegExp(`^${RESPONSES.path}/([^/]+)(?:/(?:cancel|input_items))?$`);

/** The API that a request asks; of paths and methods that engines have beside them load alone decides. */
export function apiAskedBy(method: string, url: string): ShownApi {
  const path = pathOf(url);
  const api = method === 'POST' ? findApi(path) : undefined;
  if (api !== undefined) return { api, keptId: undefined };
  const id = KEPT.exec(path)?.[1];
  if (id === undefined) return { api: OTHER_PATH, keptId: undefined };
  try {
    return { api: KEPT_RESPONSE, keptId: decodeURIComponent(id) };
  } catch {
    // A percent sign that begins nothing: no engine keeps such an id.
    return { api: OTHER_PATH, keptId: undefined };
  }
}
