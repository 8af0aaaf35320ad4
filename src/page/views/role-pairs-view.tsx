import type { JSX } from 'preact';
import { countOf } from '../../core/text/lists.js';
import { lineOf, type RolePairs } from '../model/role-pairs.js';
import { Section } from './parts.js';

const ROW = 26;
const BOX = 220;
const GAP = 180;
/** Lines that can still be followed. */
const MAX_LINES = 24;

/** Prefill workers on the left, decode workers on the right, and how near each pair is. */
export function RolePairsView({
  pairs: { group, prefill, decode, pairs, counts },
}: {
  readonly pairs: RolePairs;
}): JSX.Element {
  const left = [...new Set(pairs.map((pair) => pair.prefill))];
  const right = [...new Set(pairs.map((pair) => pair.decode))];
  // A web of lines says nothing: then the nearest pairs alone are drawn, and the rest is counted.
  const nearest = counts[0]?.nearness;
  const drawn = pairs.length <= MAX_LINES ? pairs : pairs.filter((pair) => pair.nearness === nearest);
  const height = Math.max(left.length, right.length) * ROW + 24;
  const y = (at: number, of: number): number => 24 + (at + 0.5) * ((height - 24) / of);
  return (
    <Section
      title={`Prefill and decode of ${group}`}
      note={`${prefill.length} prefill, ${decode.length} decode${prefill.length > left.length || decode.length > right.length ? `; the first ${left.length} and ${right.length} are shown` : ''}; KV blocks travel from left to right`}
    >
      <div class="drawing">
        <svg
          width={2 * BOX + GAP}
          height={height}
          viewBox={`0 0 ${2 * BOX + GAP} ${height}`}
          role="img"
          aria-label={counts
            .map(({ nearness, count }) => `${countOf(count, 'pair')}: ${nearness}`)
            .join(', ')}
        >
          <text class="numa-title" x={0} y={13}>
            Prefill
          </text>
          <text class="numa-title" x={BOX + GAP} y={13}>
            Decode
          </text>
          {drawn.map((pair) => (
            <line
              key={`${pair.prefill.id} ${pair.decode.id}`}
              class={`wire near-${lineOf(pair.nearness)}`}
              x1={BOX}
              x2={BOX + GAP}
              y1={y(left.indexOf(pair.prefill), left.length)}
              y2={y(right.indexOf(pair.decode), right.length)}
            />
          ))}
          {[[left, 0] as const, [right, BOX + GAP] as const].map(([side, x]) =>
            side.map((worker, at) => (
              <g key={worker.id} class={`gpu ${worker.tone}`}>
                <title>{worker.name}</title>
                <rect x={x + 0.5} y={y(at, side.length) - 10} width={BOX - 1} height={20} rx={3} />
                <text x={x + 8} y={y(at, side.length) + 4}>
                  {worker.name.length > 32 ? `${worker.name.slice(0, 31)}…` : worker.name}
                </text>
              </g>
            )),
          )}
        </svg>
      </div>
      <ul class="legend">
        {counts.map(({ nearness, count }) => (
          <li key={nearness}>
            <svg class="key" viewBox="0 0 24 10" aria-hidden="true">
              <line class={`wire near-${lineOf(nearness)}`} x1="0" x2="24" y1="5" y2="5" />
            </svg>
            {nearness}: {countOf(count, 'pair')}
            {drawn.length < pairs.length && nearness !== nearest ? ', not drawn' : ''}
          </li>
        ))}
      </ul>
    </Section>
  );
}
