/** A test's longest time: an engine that starts beside five others on a busy machine takes minutes. */
export const TEST_LIMIT_MS = 600_000;

/** An engine's start ends a minute before its test would, so that the test fails with the engine's log. */
export const START_LIMIT_MS: number = TEST_LIMIT_MS - 60_000;
