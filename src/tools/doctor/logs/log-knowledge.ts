import { loadEngineDiagnoses, type NamedDiagnosis } from '../../../engines/catalogue/engines.js';
import { FRAME_PART_RULES } from '../../../engines/diagnosis/frame-parts.js';
import type { LogRule } from '../../../engines/diagnosis/log-rule.js';
import { AIBRIX_RULES } from './aibrix-rules.js';
import type { CleanLine } from './clean-line.js';
import { CACHE_RULES } from './general/cache-rules.js';
import { GENERAL_RULES } from './general/general-rules.js';
import { LMCACHE_RULES } from './general/lmcache-rules.js';
import { NAME_RULES } from './general/name-rules.js';
import { PROGRAM_END_RULES } from './general/program-ends.js';
import { PUBLISHER_RULES } from './general/publisher-rules.js';
import { REFUSED_REQUEST_RULES } from './general/refused-request-rules.js';
import { ROOM_RULES } from './general/room-rules.js';
import { TRANSFER_LIBRARY_RULES } from './general/transfer-library-rules.js';
import { KNOWN_FAULT_RULES } from './known-fault-rules.js';
import { knownProgramOf } from './known-programs.js';
import { isOwnRecord, KV_ACCORD_RULES } from './kv-accord-rules.js';
import type { LogProgram } from './log-summary.js';
import { NeedleSearch } from './needle-search.js';
import { PICKER_RULES } from './picker-rules.js';
import { PRODUCTION_STACK_RULES } from './production-stack-rules.js';
import { ROUTER_START_RULES } from './router-start-rules.js';
import { SMG_RULES } from './smg-rules.js';
import { SPLIT_ROUTER_RULES } from './split-router-rules.js';
import { VLLM_ROUTER_RULES } from './vllm-router-rules.js';
import { WORKER_HEALTH_RULES } from './worker-health-rules.js';

/** What is known of the logs of all engines, of this product's own, of llm-d's picker, of AIBrix's gateway, of routers that divide requests, of the router of vLLM's production stack, and of errors in whatever words. */
export class LogKnowledge {
  /** All kinds of lines that are known. A line can be of several. */
  readonly rules: readonly LogRule[];
  /** Finds the needles of `rules`, by their indexes. */
  readonly needles: NeedleSearch;
  readonly #engines: readonly NamedDiagnosis[];

  constructor(engines: readonly NamedDiagnosis[]) {
    this.#engines = engines;
    this.rules = [
      ...engines.flatMap(({ logs }) => logs.rules),
      ...KV_ACCORD_RULES,
      ...PICKER_RULES,
      ...AIBRIX_RULES,
      ...SMG_RULES,
      ...VLLM_ROUTER_RULES,
      ...SPLIT_ROUTER_RULES,
      ...WORKER_HEALTH_RULES,
      ...PRODUCTION_STACK_RULES,
      ...LMCACHE_RULES,
      ...CACHE_RULES,
      ...NAME_RULES,
      ...ROUTER_START_RULES,
      ...PUBLISHER_RULES,
      ...ROOM_RULES,
      ...REFUSED_REQUEST_RULES,
      ...GENERAL_RULES,
      ...TRANSFER_LIBRARY_RULES,
      ...PROGRAM_END_RULES,
      ...FRAME_PART_RULES,
      ...KNOWN_FAULT_RULES,
    ];
    this.needles = this.needlesFor(undefined);
  }

  /** The same, which takes the same time for any number of needles in a log that `sample` is of. */
  needlesFor(sample: Uint8Array | undefined): NeedleSearch {
    return new NeedleSearch(
      this.rules.map(({ needle }) => needle),
      sample,
    );
  }

  /** The program that writes lines of such a form. */
  programOf(line: CleanLine): LogProgram {
    const { fields } = line;
    const text = line.text.trimStart();
    if (fields !== undefined && isOwnRecord(fields)) return 'kv-accord';
    // First those that no engine runs in: their lines can begin as those of an engine do.
    const other = knownProgramOf(text, fields);
    if (other !== undefined) return other;
    const engine = this.#engines.find(({ logs }) =>
      fields === undefined ? logs.lineStart.test(text) : logs.isOwnRecord?.(fields),
    );
    return engine?.word ?? 'unknown';
  }
}

let loading: Promise<LogKnowledge> | undefined;

/** Loads it once for all logs. */
export function loadLogKnowledge(): Promise<LogKnowledge> {
  loading ??= loadEngineDiagnoses().then((engines) => new LogKnowledge(engines));
  return loading;
}
