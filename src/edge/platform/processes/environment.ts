import { hostname } from 'node:os';

/** Environment variables: name to value. Absent names are undefined. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Set for processes that this program starts of itself (`startSecondaryProcess`): what the first one has logged is not logged again. */
export const SECONDARY_PROCESS_VARIABLE = 'KVACCORD_SECONDARY_PROCESS';

/** A copy of this process's environment, so that later changes do not show. */
export function readEnvironment(): Environment {
  return { ...process.env };
}

/** The machine's (in a pod: the pod's) host name. */
export function readHostName(): string {
  return hostname();
}
