import type { JSX } from 'preact';
import { countOf } from '../../core/text/lists.js';
import { PAIR_TONES, type ViewPair, type ViewPairGroup } from '../../core/view/view-pairs.js';
import {
  pairCostText,
  pairCounts,
  pairMatrix,
  pairNearnessText,
  pairPromiseText,
  pairStateText,
  pairsToExplain,
} from '../model/pair-states.js';
import { Empty, Name, Section, Table, Tone } from './parts.js';

/** Which prefill workers hand KV blocks to which decode workers, at what cost, and why not. */
export function PairStates({ pairs }: { readonly pairs: ViewPairGroup }): JSX.Element {
  const { group, prefillCount, decodeCount, isWhole } = pairs;
  const explained = pairsToExplain(pairs);
  return (
    <Section
      title={`Pairs of ${group}`}
      note={`${prefillCount} prefill, ${decodeCount} decode${isWhole ? '' : `; ${countOf(explained.length, 'pair')} that somebody may have to act on`}`}
    >
      <ul class="legend">
        {pairCounts(pairs).map(({ state, text }) => (
          <li key={state}>
            <Tone tone={PAIR_TONES[state]} text={text} />
          </li>
        ))}
      </ul>
      {isWhole ? <Matrix pairs={pairs} /> : null}
      {explained.length === 0 ? null : <Explained pairs={explained} />}
      {!isWhole && explained.length === 0 ? <Empty>Nothing is wrong with the pairs.</Empty> : null}
    </Section>
  );
}

function Matrix({ pairs }: { readonly pairs: ViewPairGroup }): JSX.Element {
  const { decodes, rows } = pairMatrix(pairs);
  return (
    <div class="scroll">
      <table class="pairs">
        <thead>
          <tr>
            <th scope="col">Prefill \ decode</th>
            {decodes.map(({ target, name }) => (
              <th scope="col" key={target} title={target}>
                <Name text={name} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ prefill, cells }) => (
            <tr key={prefill.target}>
              <th scope="row" title={prefill.target}>
                <Name text={prefill.name} />
              </th>
              {cells.map((pair, at) => (
                <td key={decodes[at]?.target}>{pair === undefined ? '–' : <Cell pair={pair} />}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ pair }: { readonly pair: ViewPair }): JSX.Element {
  const cost = pairCostText(pair);
  return (
    <>
      <Tone tone={pair.tone} text={pairStateText(pair)} />
      <div class="dim" title={pair.classEvidence}>
        {pairNearnessText(pair)}
        {cost === '–' ? '' : `, ${cost}`}
      </div>
    </>
  );
}

const COLUMNS = [
  ...['Prefill', 'Decode', 'State', 'Nearness', 'Cost', 'Its class moves', 'Transfers', 'Failed', 'Why'],
];
const NUMERIC = [4, 5, 6, 7];

function Explained({ pairs }: { readonly pairs: readonly ViewPair[] }): JSX.Element {
  return (
    <Table
      columns={COLUMNS}
      numeric={NUMERIC}
      rows={pairs.map((pair) => [
        <Name key="prefill" text={pair.prefill} />,
        <Name key="decode" text={pair.decode} />,
        <Tone key="state" tone={pair.tone} text={pairStateText(pair)} />,
        <span key="nearness" title={pair.classEvidence}>
          {pairNearnessText(pair)}
        </span>,
        pairCostText(pair),
        pairPromiseText(pair),
        String(pair.transfers),
        String(pair.failedTransfers),
        <bdi key="why">{whyOf(pair)}</bdi>,
      ])}
    />
  );
}

function whyOf({ why, isSlow, isOffered, gbPerS = 0, promisedGbPerS = 0 }: ViewPair): string {
  const reasons = [
    why,
    isSlow === true
      ? `it moves ${gbPerS.toPrecision(1)} GB/s, and such links ${promisedGbPerS} GB/s at least: is UCX using TCP?`
      : '',
    why === '' && !isOffered ? 'one of the two gets no requests' : '',
  ];
  return reasons.filter((reason) => reason !== '').join('; ');
}
