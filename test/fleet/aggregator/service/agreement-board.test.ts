import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_AGREEMENT_OPTIONS } from '../../../../src/core/agreement/state/options.js';
import { FleetRunner } from '../../../../src/fleet/aggregator/fleet-runner.js';
import { AgreementBoard } from '../../../../src/fleet/aggregator/service/agreement-board.js';
import { listWorkers } from '../../../../src/fleet/aggregator/service/fleet-service.js';
import { Agreement, ListWorkersResponse } from '../../../../src/gen/kvaccord/v1/fleet.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { makeWireReport } from '../../../support/reports.js';

let clock = new FakeClock();
let runner: FleetRunner;
let board: AgreementBoard;
let news = 0;

beforeEach(() => {
  clock = new FakeClock();
  runner = new FleetRunner(
    { ...DEFAULT_AGREEMENT_OPTIONS, isStaticDiscovery: true },
    { clock, logger: new RecordingLogger() },
  );
  board = new AgreementBoard({ runner, clock });
  news = 0;
  board.watch(() => {
    news += 1;
  });
});
afterEach(() => {
  board.close();
  runner.close();
});

/** Discovery lists `targets`, and what comes of it is prepared. */
async function list(...targets: string[]): Promise<void> {
  runner.listed(targets.map((target) => ({ target, address: target })));
  await clock.advanceMs(50);
}

async function report(target: string, sketch: Parameters<typeof makeWireReport>[1] = {}): Promise<void> {
  runner.reported(target, makeWireReport(target, sketch));
  await clock.advanceMs(50);
}

function ask(group = ''): Agreement {
  const answer = board.ask(group);
  if (answer.type !== 'agreement') throw new Error(answer.type);
  return answer.agreement;
}

describe('the board', () => {
  it('answers for the only group there is without its name', async () => {
    await list('a');
    await report('a');
    expect(ask()).toMatchObject({ group: 'tiny', gateOpen: true });
    expect(ask('tiny')).toBe(ask());
    expect(board.all()).toEqual([ask()]);
  });

  it('asks for a name when there are several, and says who is served when it is unknown', async () => {
    await list('a', 'b');
    await report('a', { model: 'llama' });
    await report('b', { model: 'qwen' });
    expect(board.ask('')).toEqual({ type: 'several_groups', groups: ['llama', 'qwen'] });
    expect(board.ask('mistral')).toEqual({ type: 'unknown_group', groups: ['llama', 'qwen'] });
    expect(ask('qwen').group).toBe('qwen');
  });

  it('waits for an unknown model while a worker might still serve it', async () => {
    await list('a', 'b');
    await report('a', { model: 'llama' });
    expect(ask('qwen')).toMatchObject({
      group: 'qwen',
      gateOpen: false,
      reasons: [{ code: 'waiting_for_workers', text: 'no worker has reported the model "qwen" yet' }],
    });
    await report('b', { model: 'qwen' });
    expect(ask('qwen').gateOpen).toBe(true);
  });

  it('says why there is nothing yet, and what changes of that', async () => {
    expect(ask().reasons).toEqual([{ code: 'no_workers', text: 'discovery lists no workers' }]);
    await list('a', 'b');
    expect(ask()).toMatchObject({ memberCount: 2, reasons: [{ code: 'waiting_for_workers' }] });
    const before = news;
    runner.broken('a', 'connection refused');
    await clock.advanceMs(50);
    expect(news).toBe(before + 1);
    expect(ask().reasons[0]?.text).toContain('a (connection refused)');
  });
});

describe('no message is repeated', () => {
  it('while nothing changes but the time, before there is any model', async () => {
    await list('a', 'b');
    const answers = [ask(), ask('x')];
    const before = news;
    // Long enough for several of the regular warnings, each of which prepares the answers again.
    await clock.advanceMs(120_000);
    expect(news).toBe(before);
    expect(ask()).toBe(answers[0]);
    expect(ask('x')).toBe(answers[1]);
  });

  it('while reports say the same again', async () => {
    await list('a', 'b');
    await report('a');
    await report('b');
    const [before, answer] = [news, ask()];
    await report('a', { revision: 2n });
    runner.alive('b');
    await clock.advanceMs(120_000);
    expect(news).toBe(before);
    expect(ask()).toBe(answer);
  });

  it('of a group of which nothing changed, when another one did', async () => {
    await list('a', 'b');
    await report('a', { model: 'llama' });
    await report('b', { model: 'qwen' });
    const llama = ask('llama');
    await report('b', { model: 'qwen', size: 64, instance: 'b-2' });
    expect(ask('llama')).toBe(llama);
  });
});

describe('bounds', () => {
  it('an agreement names no more than 1,000 members, first those of which something is to be said', async () => {
    const targets = Array.from({ length: 1_200 }, (_, index) => `w-${String(index).padStart(4, '0')}`);
    await list(...targets);
    expect(ask().members).toHaveLength(1_000);
    expect(ask().memberCount).toBe(1_200);
    for (const target of targets.slice(0, -1)) runner.reported(target, makeWireReport(target));
    await report('w-1199', { declares: 16 });
    expect(ask()).toMatchObject({ gateOpen: true, memberCount: 1_200 });
    expect(ask().members).toHaveLength(1_000);
    expect(ask().members[0]).toMatchObject({ target: 'w-1199', declaredTokensPerBlock: 16 });
  });

  it('pages of workers stay small also when nobody has reported', async () => {
    const targets = Array.from({ length: 12_000 }, (_, index) => `worker-${String(index).padStart(6, '0')}`);
    await list(...targets);
    for (const target of targets) runner.broken(target, 'x'.repeat(500));
    await clock.advanceMs(50);
    const seen: string[] = [];
    let pageToken = '';
    let pages = 0;
    do {
      const page = listWorkers(runner, { group: '', pageToken });
      expect(ListWorkersResponse.encode(page).finish().length).toBeLessThan(1_100_000);
      seen.push(...page.workers.map(({ member }) => member?.target ?? ''));
      pageToken = page.nextPageToken;
      pages += 1;
    } while (pageToken !== '');
    expect(seen).toEqual(targets);
    expect(pages).toBeGreaterThan(1);
  });

  it('the names that were asked for in vain do not pile up', () => {
    for (let index = 0; index < 5_000; index += 1) ask(`model-${index}`);
    // The first are kept, so that who watches them hears nothing twice; the last are made each time.
    expect(ask('model-0')).toBe(ask('model-0'));
    expect(ask('model-4999')).not.toBe(ask('model-4999'));
    expect(ask('model-4999')).toEqual(ask('model-4999'));
  });
});

it('informs nobody who has left', async () => {
  let notified = 0;
  const leave = board.watch(() => {
    notified += 1;
  });
  leave();
  await list('a');
  expect([notified, news]).toEqual([0, 1]);
  expect(Agreement.toJSON(ask())).toMatchObject({ members: [{ target: 'a' }] });
});
