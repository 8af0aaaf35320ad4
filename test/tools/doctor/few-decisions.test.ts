import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../src/tools/doctor/diagnosis.js';
import { summaryOf } from './logs/summaries.js';
import { joined, namesOf } from './support/evidence.js';

/** Decisions that found nothing, some seconds apart; the size of the router's tree behind each, where it has one. */
const decisions = (
  apartS: number,
  trees: readonly (number | undefined)[],
  logit = 20.5,
): Promise<Diagnosis> =>
  ofLines(
    trees.map(
      (tree, at) =>
        `2026-03-03T10:00:${String(at * apartS).padStart(2, '0')}.000114Z  INFO dynamo_llm::kv_router::scheduler: Selected worker: worker_id=${at % 2} dp_rank=0, logit: ${logit.toFixed(3)}, cached blocks: 0${tree === undefined ? '' : `, tree size: ${tree}`}`,
    ),
  );
const ofLines = async (lines: readonly string[]): Promise<Diagnosis> =>
  diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] }));

describe('a few routing decisions that found no block', () => {
  it('over a while beside an empty tree are of a router that gets no events', async () => {
    expect(namesOf(await decisions(4, [0, 0, 0, 0]))[0]).toBe('events_off possible');
  });

  it('say nothing of events before those of the first prompt can have come', async () => {
    expect((await decisions(1, [0, 0, 0, 0])).verdict).toBe('unknown');
    expect((await decisions(20, [0, 0])).verdict).toBe('unknown');
  });

  it('say nothing of events where the tree grows, or where a prompt has no whole block', async () => {
    expect((await decisions(4, [0, 20, 40, 60])).verdict).toBe('unknown');
    expect((await decisions(4, [0, 0, 0, 0], 0.562)).verdict).toBe('unknown');
  });

  it('are said in the headline, with what is missing to judge them', async () => {
    const few = await decisions(1, [undefined, undefined, undefined]);
    expect(few).toMatchObject({
      verdict: 'unknown',
      headline:
        'No cached block was found in 3 routing decisions: too few to tell, as the first prompts are never found',
    });
    const many = await decisions(1, Array.from({ length: 12 }));
    expect(many).toMatchObject({
      verdict: 'unknown',
      headline:
        'No cached block was found in 12 routing decisions, and nothing shows whether an engine had one',
    });
    expect(many.advice).toContain('Add the metrics of the frontend');
  });
});
