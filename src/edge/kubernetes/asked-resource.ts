/** What a path of the API server stands for, as people and RBAC name it. */
export interface AskedResource {
  /** `get`, `list` or `watch`. */
  readonly verb: string;
  /** Empty for the core group. */
  readonly group: string;
  /** With its part where one was asked for: `pods/log`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** Reads `/api/v1/…` and `/apis/GROUP/VERSION/…`; undefined for other paths, such as `/version`. */
export function readResourcePath(path: string, isWatch: boolean): AskedResource | undefined {
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodePart);
  const isCore = parts[0] === 'api';
  if (!isCore && parts[0] !== 'apis') return undefined;
  const group = isCore ? '' : (parts[1] ?? '');
  let rest = parts.slice(isCore ? 2 : 3);
  let namespace: string | undefined;
  if (rest[0] === 'namespaces' && rest.length > 2) {
    namespace = rest[1];
    rest = rest.slice(2);
  }
  const [whole, name, part] = rest;
  if (whole === undefined) return undefined;
  const resource = part === undefined ? whole : `${whole}/${part}`;
  const verb = isWatch ? 'watch' : name === undefined ? 'list' : 'get';
  return { verb, group, resource, namespace, name };
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // It is for messages alone, and shown as it was asked for.
    return part;
  }
}

/** `endpointslices (discovery.k8s.io) in the namespace inference`. */
export function describeResource({ group, resource, namespace, name }: AskedResource): string {
  const what =
    name === undefined ? resource : resource.includes('/') ? `${resource} of ${name}` : `${resource}/${name}`;
  const where = namespace === undefined ? 'in all namespaces' : `in the namespace ${namespace}`;
  return `${what}${group === '' ? '' : ` (${group})`} ${where}`;
}

/** The rule that would allow it, as a line of YAML: what is listed is watched too. */
export function ruleFor({ verb, group, resource }: AskedResource): string {
  const verbs = verb === 'get' ? '["get"]' : '["list", "watch"]';
  return `- {apiGroups: ["${group}"], resources: ["${resource}"], verbs: ${verbs}}`;
}
