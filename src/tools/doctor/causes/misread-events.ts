import { counted } from '../counted.js';
import type { EventSourceSighting } from '../evidence.js';
import { argumentsOf } from '../fixes/lines.js';
import type { Picture } from '../picture.js';
import type { Cause, Suspicion } from './cause.js';

/** The KV events of a worker are read where another engine publishes its own. */
export const misreadEvents: Cause = {
  id: 'misread_events',
  suspect(picture: Picture): Suspicion | undefined {
    const sightings = picture.evidence.eventSources;
    const logged = picture.signal('accord_misread');
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
        'What the index holds of a worker is what another engine stored. Requests go where their prefix is not, predictions are too high for one worker and too low for the other, and every counter of events looks well.',
      cluesFor: [
        ...sightings.map((sighting) => {
          const whose = ownerOf(sighting, sightings);
          return {
            says:
              `Events of worker ${sighting.who} are read at ${sighting.readAt}; its engine says that it publishes at ${sighting.saidAt}` +
              `${whose === undefined ? '' : `, and worker ${whose} publishes at ${sighting.readAt}`}.`,
            origin: sighting.origin,
            weight: whose === undefined ? ('signature' as const) : ('proof' as const),
          };
        }),
        ...(logged === undefined
          ? []
          : [
              {
                says: `kv-accord compared where events are read with what engines say, and found a difference (${counted(logged.count, 'line')}).`,
                origin: logged.first,
                weight: 'signature' as const,
              },
            ]),
      ],
      cluesAgainst: [],
      explains: ['router_blind', 'own_number'],
      fixes: [
        {
          says: 'Read the events of each worker where its own engine publishes them',
          why: 'Left out, the sidecar takes the place from the engine itself. A port that is mapped between sidecar and engine looks the same and is no fault.',
          disturbs: 'nothing',
          files: [],
          commands: [argumentsOf(`the sidecar of ${first?.who ?? 'the worker'}`, '--kv-event-sources auto')],
          verify: ['kv-accord status    # no reason about KV events that are read elsewhere'],
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
