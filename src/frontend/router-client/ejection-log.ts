import { workerName } from '../../core/text/worker-name.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Catalogue } from '../../fleet/catalogue/catalogue.js';

/** Logs in a process whose router is elsewhere which workers that one ejects, and which get requests again. */
export function ejectionLogger(logger: Logger): (catalogue: Catalogue) => void {
  /** Reasons by group and target; bounded by the catalogue. */
  let logged = new Map<string, string>();
  return ({ groups }) => {
    const current = new Map<string, string>();
    for (const { group, workers } of groups) {
      for (const worker of workers) {
        const { ejectedReason = '' } = worker;
        const key = JSON.stringify([group, worker.target]);
        const before = logged.get(key) ?? '';
        if (ejectedReason !== '') current.set(key, ejectedReason);
        if (ejectedReason === before) continue;
        const fields = { group, worker_id: worker.workerId, worker: worker.target };
        const name = workerName(worker);
        if (ejectedReason === '') logger.info(fields, `Worker ${name} gets requests of the router again.`);
        else logger.warn(fields, `Worker ${name} is ejected by the router: ${ejectedReason}.`);
      }
    }
    logged = current;
  };
}
