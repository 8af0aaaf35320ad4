import { describe, expect, it } from 'vitest';
import { TopScreen, type TopScreenOptions } from '../../../../src/cli/commands/top/top-screen.js';
import { hasUnprintable } from '../../../../src/core/text/printable.js';
import { textWidth } from '../../../../src/core/text/text-width.js';
import type { ViewDocument, ViewWorker } from '../../../../src/core/view/view-document.js';

const OPTIONS: TopScreenOptions = {
  address: '127.0.0.1:50060',
  sort: 'state',
  filter: '',
  group: undefined,
  hasColours: false,
  isPlain: false,
};

const NOW_MS = 1_795_000_000_000;

function workerOf(id: number, changes: Partial<ViewWorker> = {}): ViewWorker {
  return {
    id,
    group: 'm',
    target: `10.0.0.${id}:50061`,
    workerId: `w-${id}`,
    instanceId: `i-${id}`,
    shown: 'verified',
    tone: 'good',
    rank: 26,
    requests: 'yes',
    why: '',
    tokensPerBlock: 16,
    cacheView: 'exact',
    engine: 'vLLM',
    engineVersion: '0.32.0',
    role: id % 2 === 0 ? 'decode' : 'prefill',
    node: `host-${id}`,
    ...changes,
  };
}

function row(id: number, decisions: number, tokens: number, failed = 0): readonly number[] {
  return [id, 3, 40, 500, decisions, decisions, decisions * 50, 0, tokens, failed, 0, 0, 0, 0, 0, 0, 0];
}

function documentOf(changes: Partial<ViewDocument> = {}): ViewDocument {
  return {
    version: 1,
    processId: 'p',
    sequence: 1,
    atMs: NOW_MS,
    process: {
      title: 'kv-accord frontend',
      productVersion: '1.2.3',
      startedAtMs: 0,
      routes: true,
      notes: ['somewhere else'],
    },
    headline: { text: 'm: gate open', tone: 'good' },
    models: [
      {
        group: 'm',
        state: 'agreed',
        epoch: 2,
        isGateOpen: true,
        isReady: true,
        tone: 'warn',
        tokensPerBlock: 16,
        isOverride: false,
        routingMode: 'exact',
        routingReason: '',
        reasons: [],
        partialReason: '',
        counts: { verified: 2, dissenting: 1 },
        memberCount: 3,
        keptOutCount: 1,
      },
    ],
    workers: [
      workerOf(1),
      workerOf(2),
      workerOf(3, {
        shown: 'dissenting',
        tone: 'bad',
        rank: 3,
        requests: 'no',
        why: 'it has 32, the others 16',
      }),
    ],
    workerCount: 3,
    loads: [row(1, 100, 1_000), row(2, 10, 9_000, 4)],
    holdings: [[1, 50, 2, 0, 0, 60, 8]],
    routing: [
      {
        group: 'm',
        bucketMs: 10_000,
        buckets: [
          {
            atMs: NOW_MS - 10_000,
            decisions: 110,
            finished: 100,
            promptTokens: 1_000,
            bestTokens: 900,
            chosenTokens: 800,
            engineTokens: 700,
            outputTokens: 10,
            lost: { load: [3, 100], draining: [1, 7] },
            firstTurn: { count: 3, meanMs: 100, p50Ms: 90, p90Ms: 200, p99Ms: 300 },
            failures: { cut: 2 },
            ejections: 1,
            indexBlocks: 50,
            storedBlocks: 5,
            removedBlocks: 1,
            refused: 0,
          },
        ],
      },
    ],
    decisions: [
      {
        id: 7,
        atMs: NOW_MS - 5_000,
        group: 'm',
        epoch: 2,
        worker: 'w-1 (10.0.0.1:50061)',
        promptTokens: 64,
        promptBlocks: 4,
        cachedBlocks: 2,
        bestBlocks: 3,
        routingMode: 'exact',
        turn: 'follow_up',
        why: 'the best holder is too busy',
        lostReason: 'load',
        candidates: [
          { worker: 'w-1', cachedBlocks: 2, activeBlocks: 4, prefillBlocks: 2, cost: 6, isChosen: true },
        ],
        candidateCount: 3,
        firstTokenMs: 31,
        isOver: true,
      },
    ],
    timeline: [
      {
        id: 1,
        atMs: NOW_MS - 9_000,
        kind: 'ejected',
        tone: 'bad',
        group: 'm',
        worker: 'w-2',
        text: 'Worker w-2 is ejected: 3 failed requests.',
        todo: 'Look at its log.',
      },
    ],
    ...changes,
  };
}

function screenOf(changes: Partial<TopScreenOptions> = {}, document = documentOf()): TopScreen {
  const screen = new TopScreen({ ...OPTIONS, ...changes });
  screen.take(document);
  return screen;
}

const EIGHTY = { columns: 80, rows: 24 };

describe('the screen of kv-accord top', () => {
  it.each([40, 80, 120, 200])('keeps to %i columns, and shows the worst worker first with why', (columns) => {
    const lines = screenOf().draw({ columns, rows: 24 }, NOW_MS).split('\n');
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns);
    const head = lines.findIndex((line) => line.startsWith('WORKER'));
    expect(lines[head + 1]).toContain('w-3 (10.0.0.3');
    expect(lines[head + 1]).toContain('dissenting');
    expect(lines[head + 2]).toBe('    it has 32, the others 16');
    expect(lines[head + 3]).toContain('w-1');
  });

  it('has rates, errors and bars at 80 columns, and node, role and engine where there is room', () => {
    const screen = screenOf();
    screen.take(
      documentOf({ atMs: NOW_MS + 2_000, loads: [row(1, 120, 1_400), row(2, 10, 9_000, 4)], sequence: 2 }),
    );
    const eighty = screen.draw(EIGHTY, NOW_MS + 2_000);
    expect(eighty).toMatch(/WORKER +STATE .*REQ\/S .*TOK\/S .*TTFT .*ERRORS .*LOAD/);
    expect(eighty).toMatch(/w-1 .* 10 .* 200 +50ms/);
    const wide = screen.draw({ columns: 160, rows: 24 }, NOW_MS + 2_000);
    expect(wide).toMatch(/CACHE VIEW +ROLE +NODE +ENGINE/);
    expect(wide).toMatch(/exact +prefill +host-1 +vLLM 0\.32\.0/);
  });

  it('says what the models do, what caches gave and what was lost, and when the first tokens came', () => {
    const text = screenOf().draw({ columns: 120, rows: 40 }, NOW_MS);
    expect(text).toContain(
      'm: gate open, epoch 2, 16 tokens/block, exact; 2 verified, 1 dissenting, 1 KEPT OUT',
    );
    expect(text).toContain('cached of prompt: best 90%, chosen 80%, engines 70%; lost: load 100, draining 7');
    expect(text).toContain('first token: p50 90ms p90 200ms first turns; p50 - p90 - follow-ups');
  });

  it('sorts, turns around, filters by what is typed, and takes the filter back', () => {
    const screen = screenOf();
    const first = (): string => {
      const lines = screen.draw({ columns: 100, rows: 40 }, NOW_MS).split('\n');
      return lines[lines.findIndex((line) => line.startsWith('WORKER')) + 1] ?? '';
    };
    for (let at = 0; at < 6; at += 1) screen.press('s', EIGHTY);
    expect(screen.draw(EIGHTY, NOW_MS)).toContain('sort: errors');
    expect(first()).toContain('w-2');
    screen.press('r', EIGHTY);
    expect(first()).not.toContain('w-2');
    for (const key of ['/', 'w', '-', '2', 'return']) screen.press(key, EIGHTY);
    expect(first()).toContain('w-2');
    expect(screen.draw(EIGHTY, NOW_MS)).not.toContain('w-1 ');
    // While nothing is typed a letter is a key again.
    expect(screen.press('q', EIGHTY)).toBe('quit');
    for (const key of ['/', 'x', 'backspace', 'shift+z', 'return']) screen.press(key, EIGHTY);
    expect(screen.draw(EIGHTY, NOW_MS)).toContain('No worker with "w-2z".');
    screen.press('escape', EIGHTY);
    expect(screen.draw(EIGHTY, NOW_MS)).toContain('w-1 ');
  });

  it('shows decisions with their candidates, and the timeline with what to do', () => {
    const screen = screenOf();
    screen.press('2', EIGHTY);
    const decisions = screen.draw({ columns: 140, rows: 40 }, NOW_MS);
    expect(decisions).toContain('2/4 blocks, best 3 (lost: load)  follow-up  first token after 31ms');
    expect(decisions).toContain('    the best holder is too busy; 3 candidates:');
    expect(decisions).toMatch(/\* cost 6 +cached 2 +to compute 2 +active 4 +w-1/);
    screen.press('tab', EIGHTY);
    const timeline = screen.draw({ columns: 140, rows: 40 }, NOW_MS);
    expect(timeline).toContain('ejected  Worker w-2 is ejected: 3 failed requests.');
    expect(timeline).toContain('    -> Look at its log.');
  });

  it('scrolls a thousand workers within the rows of the terminal', () => {
    const workers = Array.from({ length: 1_000 }, (_, at) => workerOf(at));
    const screen = screenOf({}, documentOf({ workers, workerCount: 1_000 }));
    const top = screen.draw(EIGHTY, NOW_MS).split('\n');
    expect(top.length).toBeLessThanOrEqual(24);
    expect(top.at(-1)).toMatch(/^lines 1-\d+ of 1000/);
    screen.press('end', EIGHTY);
    expect(screen.draw(EIGHTY, NOW_MS)).toMatch(/lines \d+-1000 of 1000/);
  });

  it.each([1, 5, 8])('keeps to %i rows', (rows) => {
    const text = screenOf().draw({ columns: 80, rows }, NOW_MS);
    expect(text.split('\n').length).toBeLessThanOrEqual(rows);
  });

  it('shows hostile names as text', () => {
    const hostile = '\u001b[2Jw\u202e\n<b>\u0007';
    const screen = screenOf(
      {},
      documentOf({
        workers: [
          workerOf(1, { workerId: hostile, node: hostile, why: hostile, requests: 'no', tone: 'bad' }),
        ],
        models: documentOf().models.map((model) => ({ ...model, group: hostile })),
        timeline: documentOf().timeline.map((entry) => ({ ...entry, text: hostile, todo: hostile })),
        decisions: documentOf().decisions.map((decision) => ({ ...decision, worker: hostile, why: hostile })),
      }),
    );
    for (const key of ['1', '2', '3']) {
      screen.press(key, EIGHTY);
      expect(hasUnprintable(screen.draw({ columns: 200, rows: 50 }, NOW_MS).replaceAll('\n', ''))).toBe(
        false,
      );
    }
  });

  it('says since when nothing comes, and keeps what is known', () => {
    const screen = screenOf();
    screen.fail('connection refused');
    const text = screen.draw({ columns: 120, rows: 24 }, NOW_MS + 60_000);
    expect(text).toContain('connection refused; what follows is of');
    expect(text).toContain('w-1');
  });

  it('says where decisions are where none are made here', () => {
    const { process } = documentOf();
    const screen = screenOf({}, documentOf({ decisions: [], process: { ...process, routes: false } }));
    screen.press('2', EIGHTY);
    expect(screen.draw(EIGHTY, NOW_MS)).toContain('somewhere else');
  });
});
