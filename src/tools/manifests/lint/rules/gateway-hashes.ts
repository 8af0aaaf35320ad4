import { askedWorkers } from '../facts/asked-workers.js';
import type { Fleet } from '../facts/fleet.js';
import { usesEngineKeys } from '../facts/picker-sockets.js';
import type { WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt } from '../findings/lint-rule.js';
import { isLlmdPicker, type Launch, nameOf } from '../launches/launch.js';
import { flagOf } from '../launches/settings.js';

/**
 * The flag of vLLM, and how its values begin whose hashes llm-d's picker makes, too (`token_processor.go` of llm-d-kv-cache-manager 0.2 to
 * 0.4, which the picker of the same number has). Up to 0.3.1 it chains 64 bits, as vLLM did before 0.11; from 0.3.2 on all 256.
 */
const FLAG = '--prefix-caching-hash-algo';
const SAME = /^sha256_cbor/;
const OF_64_BITS = /^v?0\.(?:2\.|3\.[01](?!\d))/;

/** Workers whose hashes are not those that a picker of 0.2 to 0.4 looks for. */
export function gatewayHashes(rule: Rule, fleet: Fleet): readonly Finding[] {
  const [picker, ...others] = fleet.gateways.filter(({ gateway }) => isLlmdPicker(gateway));
  if (picker?.gateway === undefined || others.length > 0 || usesEngineKeys(picker.gateway) !== true)
    return [];
  return askedWorkers(fleet, picker)
    .filter(({ launch }) => launch.backend === 'vllm')
    .flatMap((worker) => checkWorker(rule, worker, picker));
}

function checkWorker(rule: Rule, { launch, publishes }: WorkerFacts, picker: Launch): readonly Finding[] {
  const setting = flagOf(launch, FLAG);
  if (setting === undefined ? publishes !== true || mayBeSet(launch) : isRight(setting.value)) return [];
  const release = picker.gateway?.release?.text ?? '';
  return [
    findingAt(rule, setting?.span ?? launch.at, {
      severity: 'error',
      message: `${nameOf(launch)} hashes its blocks by ${setting === undefined ? "vLLM's default" : setting.value}, and the ${picker.program} ${release} looks for SHA-256 of CBOR`,
      consequence:
        'This picker makes the hashes of its engines itself, to find their blocks: with another algorithm it finds no block of this worker, without an error. From 0.5 on its keys are its own.',
      advice: OF_64_BITS.test(release)
        ? `Start it with ${FLAG} sha256_cbor_64bit, which vLLM has before 0.11; for later ones take a picker of 0.5 or later.`
        : `Start it with ${FLAG} sha256_cbor, or take a picker of 0.5 or later.`,
      related: [{ span: picker.at, says: `${picker.program} ${release}` }],
    }),
  ];
}

function isRight(value: string | undefined): boolean {
  return value === undefined || SAME.test(value);
}

/** Whether the flag may come from a file, or from arguments that are not seen. */
function mayBeSet(launch: Launch): boolean {
  const file = flagOf(launch, '--config');
  return launch.hasUnseenArgs || (file !== undefined && launch.fileAt(file) === undefined);
}
