import type { JSX } from 'preact';
import { duration, fullNumber, percent, shortNumber } from '../model/format.js';
import type { RoutingSums } from '../model/routing-sums.js';

/** The sums of the last minutes, each with what it is a part of. */
export function RoutingTiles({ sums }: { readonly sums: RoutingSums }): JSX.Element {
  const lost = sums.bestTokens - sums.chosenTokens;
  const failures = Object.entries(sums.failures);
  const failureCount = failures.reduce((sum, [, count]) => sum + count, 0);
  const minutes = Math.max(1, Math.round(sums.seconds / 60));
  return (
    <div class="tiles">
      <Tile
        name="Decisions"
        value={fullNumber(sums.decisions)}
        note={`${shortNumber(sums.decisions / Math.max(1, sums.seconds))} per second over ${minutes} min`}
      />
      <Tile
        name="Hit ratio"
        value={percent(sums.engineTokens, sums.promptTokens)}
        note={`of prompt tokens were cached, as engines reported; best possible ${percent(sums.bestTokens, sums.promptTokens)}`}
      />
      <Tile
        name="Of the best possible"
        value={percent(sums.chosenTokens, sums.bestTokens)}
        note={
          lost > 0
            ? `${shortNumber(lost)} tokens were held by another worker`
            : 'nothing was lost to the choice'
        }
      />
      <Tile
        name="First token, first turns"
        value={duration(sums.firstTurn?.p50Ms)}
        note={`median; p90 ${duration(sums.firstTurn?.p90Ms)}`}
      />
      <Tile
        name="First token, follow-ups"
        value={duration(sums.followUp?.p50Ms)}
        note={`median; p90 ${duration(sums.followUp?.p90Ms)}`}
      />
      <Tile
        name="Refused and failed"
        value={fullNumber(sums.refused + failureCount)}
        isBad={sums.refused + failureCount > 0}
        note={
          [
            ...(sums.refused > 0 ? [`${fullNumber(sums.refused)} found no worker`] : []),
            ...failures.map(([kind, count]) => `${fullNumber(count)} ${kind.replaceAll('_', ' ')}`),
          ].join(', ') || 'none'
        }
      />
    </div>
  );
}

function Tile({
  name,
  value,
  note,
  isBad = false,
}: {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  readonly isBad?: boolean;
}): JSX.Element {
  return (
    <div class={`tile ${isBad ? 'warn' : ''}`}>
      <span class="name">{name}</span>
      <b>{value}</b>
      <span class="dim">{note}</span>
    </div>
  );
}
