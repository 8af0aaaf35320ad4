import type { SettingSighting } from '../evidence.js';
import { argumentsOf } from '../fixes/lines.js';
import { statusCommand } from '../fixes/status-command.js';
import { resultsComeTrue } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';

/** What the reason of a failed canary says of the event source, and not of counts or tokens. */
const SOURCE_REASON = /another engine's events|not this engine's|event sources of the ranks are swapped/;

/** A sidecar asked its engine the same prompt twice, and events or counts were not as predicted. */
export const canaryFailed: Cause = {
  id: 'canary_failed',
  concerns: ({ kvAccord }) => kvAccord,
  contradictedBy: ({ evidence, settings }) => {
    const failed = settings('canary').filter(({ value }) => value === 'failed');
    return resultsComeTrue(
      evidence.metrics,
      failed.map(({ who }) => who),
    );
  },
  suspect(measurements: Measurements): Suspicion | undefined {
    const failed = measurements.settings('canary').filter(({ value }) => value === 'failed');
    const [first] = failed;
    if (first === undefined) return undefined;
    const ofSource = failed.filter(({ origin }) => SOURCE_REASON.test(origin.text));
    const names = failed.map(({ who }) => who).join(', ');
    const isSource = ofSource.length > 0;
    const status = sidecarStatus(measurements, (isSource ? ofSource[0] : undefined) ?? first);
    return {
      headline: isSource
        ? `The KV events that are read beside ${ofSource.map(({ who }) => who).join(', ')} are those of another engine`
        : `${names}: a prompt that was asked twice was not cached as predicted`,
      explanation: isSource
        ? 'A sidecar sent its own engine a new prompt, and its blocks did not arrive by the event source that it reads. A router that uses such events finds blocks where they are not.'
        : 'A sidecar sent its engine a new prompt twice, and tokens, blocks or cached tokens were not those that kv-accord computed. What is predicted for this worker is then not true.',
      cluesFor: failed.map(({ who, origin }) =>
        clueFor('proof', `${who}: ${origin.text}.`, origin, 'router_blind'),
      ),
      cluesAgainst: [],
      explains: isSource ? ['router_blind', 'parents_missing', 'empty_tree', 'no_stores'] : ['router_blind'],
      fixes: isSource
        ? [
            {
              says: `Start the sidecar of ${ofSource.map(({ who }) => who).join(', ')} with --kv-event-sources auto`,
              why: 'What the engine reports is right more often than a list: leave --kv-event-sources at auto, where the engine says where it publishes. Engines on one host need an event port of their own each (5557 and 5558 for the first, 5567 and 5568 for the second). Only the sidecar restarts.',
              disturbs: 'nothing',
              files: [],
              commands: [argumentsOf('kv-accord sidecar', '--kv-event-sources auto')],
              verify: [`${status}    # canary: passed`],
            },
          ]
        : [
            {
              says: `Run ${status}, and report the numbers of the canary with the versions of engine and kv-accord`,
              why: 'The worker goes on serving, and what is predicted for it is called approximate, not exact.',
              disturbs: 'nothing',
              files: [],
              commands: [status],
              verify: [`${status}    # canary: passed`],
            },
          ],
    };
  },
};

/** Asks the sidecar of a worker; of one that was seen through an aggregator the address is not known. */
function sidecarStatus({ evidence }: Measurements, { who }: SettingSighting): string {
  const asked = evidence.fleets.find(
    ({ routingMode, members }) => routingMode === undefined && members.some(({ worker }) => worker === who),
  );
  return statusCommand({ statusAddress: asked?.origin.place ?? 'SIDECAR' });
}
