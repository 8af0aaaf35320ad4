import { nameSome } from '../../core/text/lists.js';
import type { Environment } from '../../edge/platform/processes/environment.js';
import { environmentName, type SettingsTable } from './setting.js';
import { nearest, quote } from './wrong-value.js';

/** What all variables of Dynamo's own settings begin with. */
const DYNAMO_PREFIX = 'DYN_';

/**
 * Variables that steer how Dynamo's frontend and router choose and index. A
 * person who sets one of them beside a router expects that it does something.
 * Names of ai-dynamo 1.6.1 (`kv_router_args.py`, `frontend_args.py`, `_core`).
 */
const ROUTING =
  /^DYN_(?:ROUTER_|KV_CACHE_|KV_EVENTS|KV_OVERLAP_|OVERLAP_|SHARED_CACHE_|ADMISSION_CONTROL|ACTIVE_(?:DECODE|PREFILL)_|USE_(?:KV_EVENTS|REMOTE_INDEXER)|SERVE_INDEXER|ENABLE_SESSION_PREFIX_INDEX|ENFORCE_DISAGG|HTTP_(?:HOST|PORT)|TLS_)/;

/** Read by other code than the settings: where an engine is looked for, and its place in the cluster. */
const READ_ELSEWHERE: ReadonlySet<string> = new Set(['DYN_SYSTEM_PORT', 'DYN_TOPOLOGY_MOUNT_PATH']);

/** Names in one line; a wrong template would otherwise fill it. */
const MAX_NAMES = 20;
/** Longest name that is shown whole, as long as the longest of Dynamo's own twice over. */
const MAX_NAME_CHARS = 120;

/** What there is to say of Dynamo's variables; each entry is one line of the log. */
export interface DynamoEnvironmentNotes {
  /** The user expects an effect that does not exist. */
  readonly warnings: readonly string[];
  /** At most one line, for the variables that belong to other parts of Dynamo. */
  readonly notes: readonly string[];
}

/**
 * Names every `DYN_…` variable that is set and has no effect here: those that
 * steer routing in a warning, all others (a worker's pod has dozens) in one
 * note. Where two names of one setting differ, says which one is used. An empty
 * variable counts as not set. Values are not shown.
 */
export function readDynamoEnvironment(
  environment: Environment,
  tables: Iterable<SettingsTable>,
): DynamoEnvironmentNotes {
  const settings = new Map([...tables].flatMap((table) => Object.entries(table)));
  const known = [...settings.values()].flatMap(({ dynamo = [] }) => dynamo);
  const isSet = (variable: string): boolean => (environment[variable] ?? '') !== '';
  const unknown = Object.keys(environment)
    .filter((variable) => variable.startsWith(DYNAMO_PREFIX) && isSet(variable))
    .filter((variable) => !known.includes(variable) && !READ_ELSEWHERE.has(variable))
    .sort();
  const routing = unknown.filter(
    (variable) => ROUTING.test(variable) || meant(variable, known) !== undefined,
  );
  const others = unknown.filter((variable) => !routing.includes(variable));
  const warnings = [...settings].flatMap(([name, { dynamo = [] }]) => {
    if (isSet(environmentName(name))) return [];
    const [used, ...rest] = dynamo.filter(isSet);
    const unused = rest.filter((variable) => environment[variable] !== environment[used as string]);
    return unused.length === 0 ? [] : [`${used} is used for --${name}, and ${unused.join(', ')} is ignored`];
  });
  if (routing.length > 0)
    warnings.push(
      `Dynamo's ${listed(routing, (variable) => hint(meant(variable, known)))}: kv-accord has no such setting and ignores it`,
    );
  const notes =
    others.length === 0
      ? []
      : [`ignored, because they belong to other parts of Dynamo: ${listed(others, () => '')}`];
  return { warnings, notes };
}

/** The known name that differs by a letter or two. */
function meant(variable: string, known: readonly string[]): string | undefined {
  const near = nearest(variable, known);
  const isTypo = near !== undefined && Math.abs(near.length - variable.length) <= 2;
  return isTypo && sharedEnds(near, variable) >= variable.length - 3 ? near : undefined;
}

/** Characters that two texts have in common at their beginning and their end. */
function sharedEnds(a: string, b: string): number {
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  return start + end;
}

function hint(word: string | undefined): string {
  return word === undefined ? '' : ` (did you mean ${word}?)`;
}

function listed(variables: readonly string[], noteOf: (variable: string) => string): string {
  const names = variables.map(
    (variable) =>
      (/^\w+$/.test(variable) && variable.length <= MAX_NAME_CHARS ? variable : quote(variable)) +
      noteOf(variable),
  );
  return nameSome(names, MAX_NAMES);
}
