import { onOneLine } from '../../../core/text/printable.js';
import type { ViewDecision, ViewDocument } from '../../../core/view/view-document.js';
import { shortDuration, timeOfDay } from './format-number.js';
import { type Line, wrapped } from './top-line.js';

const INDENT = '    ';

/** Characters of the arrow before what to do. */
const ARROW_CHARS = 3;

/** Candidates of a decision that have a line. */
const MAX_CANDIDATES = 3;

/** The last decisions, the newest first, each with its cheapest candidates. */
export function decisionLines(document: ViewDocument, group: string | undefined, filter: string): Line[] {
  return document.decisions
    .filter((decision) => group === undefined || decision.group === group)
    .filter((decision) => filter === '' || decision.worker.toLowerCase().includes(filter))
    .toReversed()
    .flatMap(linesOfDecision);
}

function linesOfDecision(decision: ViewDecision): Line[] {
  const { worker, promptBlocks, cachedBlocks, bestBlocks, why, turn, failure, candidates } = decision;
  const outcome =
    failure !== undefined
      ? `FAILED: ${failure}`
      : decision.firstTokenMs === undefined
        ? decision.isOver
          ? 'no token came'
          : 'under way'
        : `first token after ${shortDuration(decision.firstTokenMs)}`;
  const engine =
    decision.engineTokens === undefined ? '' : `, engine found ${decision.engineTokens} tokens cached`;
  const best = bestBlocks > cachedBlocks ? `, best ${bestBlocks}` : '';
  const lost = decision.lostReason === undefined ? '' : ` (lost: ${decision.lostReason})`;
  return [
    {
      text: `${timeOfDay(decision.atMs)}  ${worker}  ${cachedBlocks}/${promptBlocks} blocks${best}${lost}  ${turn === 'first' ? 'first turn' : 'follow-up'}  ${outcome}${engine}`,
      tone: failure === undefined ? 'plain' : 'bad',
    },
    { text: `${INDENT}${why}; ${decision.candidateCount} candidates:`, tone: 'plain' },
    ...candidates.slice(0, MAX_CANDIDATES).map(
      (candidate): Line => ({
        text: `${INDENT}${candidate.isChosen ? '* ' : '  '}cost ${candidate.cost}  cached ${candidate.cachedBlocks}  to compute ${candidate.prefillBlocks}  active ${candidate.activeBlocks}  ${candidate.worker}`,
        tone: 'plain',
      }),
    ),
  ];
}

/** What happened, the newest first, and below it what to do; wrapped to a width. */
export function timelineLines(
  document: ViewDocument,
  group: string | undefined,
  filter: string,
  columns: number,
): Line[] {
  return document.timeline
    .filter((entry) => group === undefined || entry.group === group || entry.group === '')
    .filter(({ text, kind }) => filter === '' || `${kind} ${text}`.toLowerCase().includes(filter))
    .toReversed()
    .flatMap(({ atMs, kind, text, todo, tone }): Line[] => [
      ...text
        .split('\n')
        .flatMap((part, at) =>
          at === 0
            ? wrapped(
                { text: `${timeOfDay(atMs)}  ${kind.replaceAll('_', ' ')}  ${onOneLine(part)}`, tone },
                columns,
                INDENT.length,
              )
            : wrapped({ text: `${INDENT}${onOneLine(part)}`, tone }, columns),
        ),
      ...(todo === ''
        ? []
        : wrapped({ text: `${INDENT}-> ${onOneLine(todo)}`, tone: 'plain' }, columns, ARROW_CHARS)),
    ]);
}
