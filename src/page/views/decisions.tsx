import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ViewCandidate, ViewDecision } from '../../core/view/view-document.js';
import { clockTime, duration, fullNumber } from '../model/format.js';
import { Bar, Empty, Name, Tone } from './parts.js';

/** The last decisions, each with the candidates that it was chosen from. */
export function Decisions({
  decisions,
  hasModels,
}: {
  readonly decisions: readonly ViewDecision[];
  readonly hasModels: boolean;
  readonly nowMs: number;
}): JSX.Element {
  const [open, setOpen] = useState<number | undefined>(undefined);
  if (decisions.length === 0) return <Empty>No request was routed yet.</Empty>;
  return (
    <ol class="decisions">
      {[...decisions].reverse().map((decision) => (
        <Decision
          key={decision.id}
          decision={decision}
          hasModels={hasModels}
          isOpen={open === decision.id}
          onToggle={() => setOpen(open === decision.id ? undefined : decision.id)}
        />
      ))}
    </ol>
  );
}

function Decision({
  decision,
  hasModels,
  isOpen,
  onToggle,
}: {
  readonly decision: ViewDecision;
  readonly hasModels: boolean;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}): JSX.Element {
  const { atMs, group, promptBlocks, promptTokens, cachedBlocks, bestBlocks, lostReason, turn } = decision;
  return (
    <li>
      <button type="button" class="decision" aria-expanded={isOpen} onClick={onToggle}>
        <time>{clockTime(atMs)}</time>
        <span class="worker">
          <Name text={rankName(decision.worker, decision.dataParallelRank)} />
          {hasModels ? <bdi class="dim"> {group}</bdi> : null}
        </span>
        <span class="hits">
          <Bar
            whole={Math.max(1, promptBlocks)}
            parts={[
              { kind: 'cached', value: cachedBlocks },
              { kind: 'lost', value: Math.max(0, bestBlocks - cachedBlocks) },
            ]}
          />
          {cachedBlocks} of {promptBlocks} blocks
        </span>
        <span class="outcome">
          <Outcome decision={decision} />
        </span>
        <span class="dim turn">
          {turn === 'first' ? 'first turn' : 'follow-up'}
          {promptTokens === undefined ? '' : `, ${fullNumber(promptTokens)} tokens`}
        </span>
        <span class="lost">
          {lostReason === undefined ? (
            ''
          ) : (
            <Tone tone="warn" text={`lost to ${lostReason.replaceAll('_', ' ')}`} />
          )}
        </span>
      </button>
      {isOpen ? <Candidates decision={decision} /> : null}
    </li>
  );
}

function rankName(worker: string, rank: number | undefined): string {
  return rank === undefined ? worker : `${worker} rank ${rank}`;
}

function Outcome({ decision }: { readonly decision: ViewDecision }): JSX.Element {
  const { failure, isOver, firstTokenMs } = decision;
  if (failure !== undefined) return <Tone tone="bad" text={failure.replaceAll('_', ' ')} />;
  const first = firstTokenMs === undefined ? '' : `, first token ${duration(firstTokenMs)}`;
  return <Tone tone={isOver ? 'good' : 'plain'} text={`${isOver ? 'done' : 'running'}${first}`} />;
}

function Candidates({ decision }: { readonly decision: ViewDecision }): JSX.Element {
  const { candidates, candidateCount, why, routingMode, epoch, engineTokens, outputTokens } = decision;
  const most = Math.max(...candidates.map(({ cost }) => cost), 1e-9);
  return (
    <div class="candidates">
      <p>
        {why}{' '}
        <span class="dim">
          Routing {routingMode.replace('_', ' ')}, epoch {epoch}.
        </span>
        {engineTokens === undefined
          ? null
          : ` The engine reported ${fullNumber(engineTokens)} cached tokens.`}
        {outputTokens === undefined ? null : ` ${fullNumber(outputTokens)} output tokens.`}
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">Candidate</th>
            <th scope="col" class="number">
              Cached blocks
            </th>
            <th scope="col" class="number">
              To prefill
            </th>
            <th scope="col" class="number">
              Active blocks
            </th>
            <th scope="col" class="number">
              Cost
            </th>
            <th scope="col" aria-label="Cost as a bar" />
          </tr>
        </thead>
        <tbody>
          {candidates.map((candidate) => (
            <CandidateRow
              key={rankName(candidate.worker, candidate.dataParallelRank)}
              candidate={candidate}
              most={most}
            />
          ))}
        </tbody>
      </table>
      {candidateCount > candidates.length ? (
        <p class="dim">{fullNumber(candidateCount - candidates.length)} more cost more.</p>
      ) : null}
    </div>
  );
}

function CandidateRow({
  candidate: { worker, dataParallelRank, cachedBlocks, prefillBlocks, activeBlocks, cost, isChosen },
  most,
}: {
  readonly candidate: ViewCandidate;
  readonly most: number;
}): JSX.Element {
  return (
    <tr class={isChosen ? 'chosen' : ''}>
      <td>
        <Name text={rankName(worker, dataParallelRank)} />
        {isChosen ? <b> chosen</b> : null}
      </td>
      <td class="number">{cachedBlocks}</td>
      <td class="number">{prefillBlocks.toFixed(1)}</td>
      <td class="number">{activeBlocks.toFixed(1)}</td>
      <td class="number">{cost.toFixed(1)}</td>
      <td>
        <Bar whole={most} parts={[{ kind: isChosen ? 'cached' : 'cost', value: cost }]} />
      </td>
    </tr>
  );
}
