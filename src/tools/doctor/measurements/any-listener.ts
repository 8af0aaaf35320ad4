import { ENGINES } from '../../../engines/catalogue/engines.js';
import type { LogSummary } from '../logs/log-summary.js';
import type { Measurements } from './measurements.js';

/** What only lines of workers say of themselves. */
const OF_WORKERS = ['backend', 'publishes_kv_events', 'total_kv_blocks'];

/**
 * Whether a block of another size was dropped by a program that is not known:
 * publishers of workers, standalone indexers and Dynamo's own endpoint picker
 * write the same line from 1.2 on. It is none of a worker where no log of such a
 * line has an engine in it, and no worker of Dynamo was seen elsewhere.
 */
export function isOfAnyListener({ signal, evidence }: Pick<Measurements, 'signal' | 'evidence'>): boolean {
  const dropped = signal('block_not_published');
  if (dropped?.first.text.includes('zmq_wire') !== true) return false;
  const isOfWorker = dropped.logs.some(
    ({ log }) => hasEngine(log) || log.settings.some(({ name }) => OF_WORKERS.includes(name)),
  );
  return !isOfWorker && !hasWrapper(evidence);
}

const STARTED = ENGINES.filter(({ launch }) => launch !== undefined);
const WRAPPERS = ENGINES.filter(({ runsOtherEngines }) => runsOtherEngines === true);

function hasEngine({ programs }: LogSummary): boolean {
  return STARTED.some(({ word }) => programs.has(word));
}

/** A wrapper around an engine, by its module in files, by its page, or by a log with lines of both. */
function hasWrapper({ settings, metrics, logs }: Measurements['evidence']): boolean {
  const modules = new Set(STARTED.flatMap(({ launch }) => launch?.dynamo?.module ?? []));
  return (
    settings.some(({ name, value }) => name === 'program' && modules.has(value)) ||
    metrics.some(({ program }) => program === 'dynamo-worker') ||
    logs.some((log) => hasEngine(log) && WRAPPERS.some(({ word }) => log.programs.has(word)))
  );
}
