import type { Environment } from '../../edge/platform/processes/environment.js';
import { PLACEMENT_VARIABLES } from '../../worker/topology/placement-variables.js';
import { ENVIRONMENT_PREFIX, environmentName } from './setting.js';
import { nearest, quote } from './wrong-value.js';

/**
 * What Kubernetes sets by itself in every pod beside a Service whose name
 * begins with `kv-accord`: `KV_ACCORD_PORT`, `KV_ACCORD_SERVICE_HOST`,
 * `KV_ACCORD_PORT_50060_TCP_ADDR`, …
 * https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
const SERVICE_LINK =
  /_(?:SERVICE_(?:HOST|PORT(?:_\w+)?)|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)$/;

/** Most warnings; a wrong template would otherwise fill the log. */
const MAX_WARNINGS = 20;

/**
 * One sentence for every `KV_ACCORD_…` variable that no command knows: most
 * likely a typing error, and yet no reason to stop a process, since
 * environments are shared. Values are never shown.
 */
export function warnOfUnknownEnvironment(environment: Environment, knownNames: Iterable<string>): string[] {
  const known = [...[...new Set(knownNames)].map(environmentName), ...Object.values(PLACEMENT_VARIABLES)];
  return Object.keys(environment)
    .filter((variable) => variable.startsWith(ENVIRONMENT_PREFIX))
    .filter((variable) => !known.includes(variable) && !SERVICE_LINK.test(variable))
    .slice(0, MAX_WARNINGS)
    .map((variable) => {
      const word = nearest(variable, known);
      const hint = word === undefined ? '' : `; did you mean ${word}?`;
      return `environment variable ${quote(variable)} is no setting and is ignored${hint}`;
    });
}
