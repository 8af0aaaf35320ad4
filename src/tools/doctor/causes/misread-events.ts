import { countOf } from '../../../core/text/lists.js';
import type { EventSourceSighting } from '../evidence.js';
import { argumentsOf } from '../fixes/lines.js';
import { statusCommand } from '../fixes/status-command.js';
import { resultsComeTrue } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, when } from './clues.js';

/** The KV events of a worker are read where another engine publishes its own. */
export const misreadEvents: Cause = {
  id: 'misread_events',
  concerns: ({ kvAccord }) => kvAccord,
  contradictedBy: ({ evidence, settings }) => {
    const workers = evidence.eventSources.map(({ who }) => who);
    const passed = settings('canary').filter(({ who, value }) => workers.includes(who) && value === 'passed');
    const isProven = workers.length > 0 && workers.every((who) => passed.some((one) => one.who === who));
    return isProven
      ? passed.map(({ who, origin }) => ({
          says: `The canary of ${who} passed: the blocks of its own engine arrive where its events are read.`,
          origin,
        }))
      : resultsComeTrue(evidence.metrics, workers);
  },
  suspect(measurements: Measurements): Suspicion | undefined {
    const sightings = measurements.evidence.eventSources;
    const logged = measurements.signal('accord_misread');
    const [first] = sightings;
    if (first === undefined && logged === undefined) return undefined;
    const owner = first === undefined ? undefined : ownerOf(first, sightings);
    return {
      headline:
        first === undefined
          ? 'KV events are read elsewhere than the engine publishes them'
          : owner === undefined
            ? `KV events of worker ${first.who} are read at ${first.readAt}, but its engine publishes them at ${first.saidAt}`
            : `KV events of other workers: those of worker ${first.who} are read at ${first.readAt}, where worker ${owner} publishes`,
      explanation:
        'What the index holds of a worker is what another engine stored. Requests go where their prefix is not, predictions are too high for one worker and too low for the other, and every counter of events looks normal.',
      cluesFor: [
        ...sightings.map((sighting) => {
          const { who, readAt, saidAt, origin } = sighting;
          const whose = ownerOf(sighting, sightings);
          return clueFor(
            whose === undefined ? 'signature' : 'proof',
            `Events of worker ${who} are read at ${readAt}; its engine says that it publishes at ${saidAt}${whose === undefined ? '' : `, and worker ${whose} publishes at ${readAt}`}.`,
            origin,
          );
        }),
        ...when(logged, ({ count, first: origin }) =>
          clueFor(
            'signature',
            `kv-accord compared where events are read with what engines say, and found a difference (${countOf(count, 'line')}).`,
            origin,
          ),
        ),
      ],
      cluesAgainst: [],
      explains: ['router_blind', 'own_number'],
      fixes: [
        {
          says: `Start the sidecar of ${first?.who ?? 'the worker'} with --kv-event-sources auto`,
          why: 'Left out, the sidecar takes the place from the engine itself. A port that is mapped between sidecar and engine looks the same and is no fault.',
          disturbs: 'nothing',
          files: [],
          commands: [argumentsOf(`the sidecar of ${first?.who ?? 'the worker'}`, '--kv-event-sources auto')],
          verify: [
            `${statusCommand(measurements.seen)}    # no reason about KV events that are read elsewhere`,
          ],
        },
      ],
    };
  },
};

/** Who publishes where the events are read; also where each worker's sidecar was asked alone. */
function ownerOf(
  { who, readAt, owner }: EventSourceSighting,
  sightings: readonly EventSourceSighting[],
): string | undefined {
  return owner ?? sightings.find((other) => other.who !== who && other.publishes.includes(readAt))?.who;
}
