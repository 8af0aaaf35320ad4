/** Milliseconds without anything else to say after which a sidecar says on its streams that it lives. */
export const HEARTBEAT_INTERVAL_MS = 5_000;

/** Seconds without a word after which a reader gives a stream of a sidecar up: three of its heartbeats. */
export const HEARTBEAT_DEADLINE_S = 15;
