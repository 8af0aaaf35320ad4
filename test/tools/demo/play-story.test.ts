import { afterEach, describe, expect, it, vi } from 'vitest';
import { demoSettings } from '../../../src/cli/commands/demo/settings.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { createHttpGet } from '../../../src/edge/platform/net/http-get.js';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { followUpsOf } from '../../../src/tools/demo/conversations.js';
import { inviteTo } from '../../../src/tools/demo/kept-fleet.js';
import { SILENT_NARRATOR, TextNarrator } from '../../../src/tools/demo/narrator.js';
import {
  playStory,
  type Story,
  type StoryModules,
  type StoryOptions,
} from '../../../src/tools/demo/play-story.js';
import type { ProcessLine } from '../../../src/tools/demo/process-log.js';
import type { Scene } from '../../../src/tools/demo/scene.js';
import { planWorker, running } from '../../../src/tools/demo/scenes/fleet.js';
import { SCENES } from '../../../src/tools/demo/scenes/index.js';
import { routingScene } from '../../../src/tools/demo/scenes/routing.js';
import { TextRecorder } from '../../support/text-recorder.js';

/** The demo's own pace is for people. */
const QUICK = {
  version: '0.0.0',
  probeIntervalMs: 150,
  settleMs: 100,
  loadingMs: 150,
  pauseMs: 0,
  keep: false,
};

const kept: Story[] = [];
afterEach(async () => {
  for (const story of kept.splice(0)) await story.kept?.close();
});

async function play(
  options: Partial<StoryOptions> & Pick<StoryOptions, 'scenes'>,
  modules: Partial<StoryModules> = {},
): Promise<Story> {
  const story = await playStory(
    { ...QUICK, ...options },
    {
      clock: systemClock,
      random: systemRandom,
      narrator: SILENT_NARRATOR,
      renderStatus: async (address) => `the fleet at ${address}\n`,
      renderTable: (head, rows) => [head, ...rows].map((cells) => cells.join(' | ')).join('\n'),
      signal: new AbortController().signal,
      onLine: () => {},
      ...modules,
    },
  );
  kept.push(story);
  return story;
}

const alone = (play: Scene['play']): Scene[] => [{ name: 'test', title: 'A test', play }];

describe('the story', () => {
  it.each(SCENES.map((scene) => [scene.name, scene] as const))(
    '%s goes as expected, with real sidecars and a real aggregator',
    async (name, scene) => {
      const { results } = await play({ scenes: [scene] });
      expect(results).toMatchObject([{ scene: name, ok: true }]);
      expect(results[0]?.checks.length).toBeGreaterThan(2);
      expect(results[0]?.checks.filter(({ ok }) => !ok)).toEqual([]);
      expect(results[0]?.log.map(({ message }) => message).join('\n')).toContain('KV block size');
    },
  );

  it('can be played scene by scene, by the names of --scenario', () => {
    expect(['all', ...SCENES.map(({ name }) => name)]).toEqual(demoSettings.scenario.choices);
  });

  it('is shown in plain lines that never move the cursor, with the words of the processes', async () => {
    const output = new TextRecorder();
    const lines: ProcessLine[] = [];
    const narrator = new TextNarrator({ hasColours: false }, { output });
    await play({ scenes: SCENES.slice(0, 1) }, { narrator, onLine: (line) => lines.push(line) });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is the point.
    expect(output.text).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
    const agreed = 'Auto-configured KV block size to 16 (from worker reports)';
    expect(lines).toContainEqual({ from: 'aggregator', level: 'info', code: 'agreed', message: agreed });
    expect(output.text).toMatch(
      /s {2}aggregator {2}INFO {3}Auto-configured KV block size to 16 \(from worker reports\)\n/,
    );
    expect(output.text).toMatch(/gate {8}SHUT {3}waiting for 1 of 3 workers: worker-c/);
    expect(output.text).toMatch(
      /gate {8}OPEN {3}16 tokens per block, epoch 1; in use: worker-a, worker-b, worker-c\n/,
    );
    expect(output.text).toMatch(/\$ kv-accord status 127\.0\.0\.1:\d+\n {2}the fleet at 127/);
    expect(Math.max(...output.text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(110);
  });
});

describe('people who talk through a frontend', () => {
  const PEOPLE = ['Ann', 'Ben', 'Cleo'];

  it('are shown turn by turn, and the results in a table', async () => {
    const output = new TextRecorder();
    const narrator = new TextNarrator({ hasColours: false }, { output });
    const scenes = alone(async (run) => {
      await run.stage.addWorkers([running(planWorker('worker-a', 32))]);
      const frontend = await run.stage.addFrontend();
      await run.expectServing('it serves', frontend);
      const turns = await run.converse(frontend, 'demo-model', PEOPLE);
      run.showTable(['TURNS'], [[`${turns.length}`]]);
    });
    const { results } = await play({ scenes }, { narrator });
    expect(results).toMatchObject([{ ok: true }]);
    expect(output.text).toMatch(
      /\n {2}\? GET http:\/\/127\.0\.0\.1:\d+\/v1\/models\n {4}demo-model\n {2}✓ it serves\n/,
    );
    expect(output.text).toMatch(
      / s {2}Cleo {8}#3 {5}worker-a: 352 of 425 prompt tokens cached, first token after \d+ ms\n/,
    );
    expect(output.text).toContain('\n\n  TURNS\n  9\n\n');
  });

  it('find little of what they said where no cache is looked at, and a scene that expects otherwise fails', async () => {
    const scenes = alone(async (run) => {
      await run.stage.addWorkers(
        ['worker-a', 'worker-b', 'worker-c'].map((name) => running(planWorker(name, 32))),
      );
      const inTurn = await run.stage.addAggregator('frontend-2', { routerMode: 'round-robin' });
      const frontend = await run.stage.addFrontend(inTurn);
      await run.expectServing('it serves', frontend);
      const { cachedShare } = followUpsOf(await run.converse(frontend, 'demo-model', PEOPLE));
      await run.expect('most is cached', cachedShare > 0.8, () => 'not so');
    });
    const { results } = await play({ scenes });
    expect(results[0]?.checks).toEqual([
      { expected: 'it serves', ok: true },
      { expected: 'most is cached', ok: false, seen: 'not so' },
    ]);
  });

  it('do not go as expected with a router that looks at no cache, nor with one that always does', async () => {
    const noKv: Scene = {
      ...routingScene,
      play: async (run) => {
        const { stage } = run;
        const inTurn = await stage.addAggregator('frontend-0', { routerMode: 'round-robin' });
        const frontend = await stage.addFrontend(inTurn);
        vi.spyOn(stage, 'addFrontend').mockResolvedValue(frontend);
        await routingScene.play(run);
      },
    };
    const onlyKv: Scene = {
      ...routingScene,
      play: async (run) => {
        const { stage } = run;
        const addAggregator = stage.addAggregator.bind(stage);
        vi.spyOn(stage, 'addAggregator').mockImplementation((name) => addAggregator(name));
        await routingScene.play(run);
      },
    };
    const { results } = await play({ scenes: [noKv, onlyKv] });
    const failed = results.map(({ checks }) => checks.find(({ ok }) => !ok)?.expected);
    expect(failed).toEqual([
      'conversations go back to where they were: most of each follow-up is cached',
      'every worker gets its turn, and what it would need is cached somewhere else',
    ]);
  });

  it('get a reason when nothing is served, and when an answer does not come', async () => {
    const { results } = await play({
      timeoutMs: 50,
      scenes: [
        ...alone(async (run) => run.expectServing('it serves', await run.stage.addFrontend())),
        ...alone(async (run) => {
          await run.converse(await run.stage.addFrontend(), 'demo-model', PEOPLE);
        }),
      ],
    });
    expect(results[0]?.checks[0]).toMatchObject({ ok: false, seen: 'no model, 200' });
    expect(results[1]).toMatchObject({ ok: false, error: expect.stringContaining(' answered 503: ') });
  });
});

describe('a scene that does not go as expected', () => {
  it('says what was expected and what was seen, and the next one is played all the same', async () => {
    const output = new TextRecorder();
    const narrator = new TextNarrator({ hasColours: false }, { output });
    const scenes = alone(async (run) => {
      await run.stage.addWorkers([planWorker('worker-a', 64)]);
      run.stage.worker('worker-a').engine.start();
      await run.expectView('it is open', (group) => group?.gateOpen === true);
      await run.expectView('it is open with 16', (group) => group?.values?.tokens_per_block === 16);
    });
    const { results } = await play({ scenes: [...scenes, ...scenes], timeoutMs: 1_000 }, { narrator });
    expect(results.map(({ ok }) => ok)).toEqual([false, false]);
    expect(results[0]?.checks).toEqual([
      { expected: 'it is open', ok: true },
      {
        expected: 'it is open with 16',
        ok: false,
        seen: 'the gate open: 64 tokens per block, epoch 1; in use: worker-a',
      },
    ]);
    expect(output.text).toContain('  ✗ expected: it is open with 16\n    seen: the gate open: 64 tokens');
  });

  it('names the last lines when a line of the log is missing, and the answer when HTTP says another thing', async () => {
    const { results } = await play({
      timeoutMs: 50,
      scenes: [
        ...alone((run) => run.expectLog('an ERROR', 'error', 'disagree')),
        ...alone((run) => run.expectHttp('it is ready', '/readyz', ({ status }) => status === 200)),
      ],
    });
    expect(results[0]?.checks[0]?.seen).toBe('no error with "disagree"; the last lines were: none');
    expect(results[1]?.checks[0]?.seen).toMatch(/^GET \/readyz answers 503: /);
  });

  it('names the answer when a question has another answer', async () => {
    const output = new TextRecorder();
    const narrator = new TextNarrator({ hasColours: false }, { output });
    const tokenIds = Array.from({ length: 70 }, (_, index) => index);
    const { results } = await play(
      {
        timeoutMs: 2_000,
        scenes: alone(async (run) => {
          await run.stage.addWorkers([running(planWorker('worker-a', 16))]);
          const worker = run.stage.worker('worker-a');
          worker.engine.prompt(tokenIds);
          const question = { about: 'it', tokenIds };
          await run.expectMatches('four of four', question, { 'worker-a': 4 });
          await run.expectFound('none of two', { worker, tokenIds, tokensPerBlock: 32 }, 0);
          await run.expectMatches('five of four', question, { 'worker-a': 5 });
        }),
      },
      { narrator },
    );
    expect(results[0]?.error).toBeUndefined();
    expect(results[0]?.checks).toEqual([
      { expected: 'four of four', ok: true },
      { expected: 'none of two', ok: true },
      { expected: 'five of four', ok: false, seen: 'worker-a holds the first 4' },
    ]);
    expect(output.text).toContain(
      '\n  ? Indexer.FindMatches: it, 70 tokens are 4 blocks of 16\n    worker-a holds the first 4\n  ✓ four',
    );
    expect(output.text).toContain(
      '\n  ? KvEvents.Subscribe: worker-a holds 4 blocks\n    with a block size of 32, the prompt is 2 blocks: 0 found\n  ✓ none',
    );
  });

  it('says why when nobody could be asked', async () => {
    const { results } = await play({
      timeoutMs: 50,
      scenes: alone((run) => run.expectMatches('one', { about: 'it', tokenIds: [1] }, {})),
    });
    expect(results[0]?.checks[0]?.seen).toContain('discovery lists no workers');
  });

  it('is not mistaken for one that broke', async () => {
    const { results } = await play({
      scenes: alone(async (run) => {
        run.stage.worker('nobody');
      }),
    });
    expect(results[0]).toMatchObject({
      ok: false,
      checks: [],
      error: 'there is no worker nobody on the stage',
    });
  });
});

describe('the end', () => {
  it('comes immediately when it is asked for in the middle, and nothing stays open', async () => {
    const controller = new AbortController();
    const urls: string[] = [];
    const story = play(
      {
        scenes: alone(async (run) => {
          await run.stage.addWorkers([planWorker('worker-a', 16)]);
          urls.push(
            `http://${run.stage.addresses?.http.text}/livez`,
            run.stage.worker('worker-a').engine.url,
            ...Object.values(run.stage.worker('worker-a').engine.kvEventPorts ?? {}).map(
              (port) => `http://127.0.0.1:${port}`,
            ),
          );
          queueMicrotask(() => controller.abort(new Error('asked to end')));
          await run.expectView('never', () => false);
        }),
      },
      { signal: controller.signal },
    );
    await expect(story).rejects.toThrow('asked to end');
    // ZeroMQ lets its ports go in a thread of its own, a moment later.
    for (const url of urls) {
      await vi.waitFor(() => expect(reach(url)).rejects.toThrow(/ECONNREFUSED/), { timeout: 10_000 });
    }
    expect(urls).toHaveLength(4);
  });

  it('leaves the last fleet running when it is to be kept, with lines to try', async () => {
    const [first, second] = [planWorker('first', 16), planWorker('second', 32)].map((worker) =>
      alone(async (run) => {
        await run.stage.addWorkers([worker]);
      }),
    );
    const story = await play({ scenes: [...(first ?? []), ...(second ?? [])], keep: true });
    expect(story.kept?.workers.map(({ name }) => name)).toEqual(['second']);
    const lines = inviteTo(story.kept as NonNullable<Story['kept']>).map(({ line }) => line);
    expect(lines.filter((line) => line.startsWith('grpcurl -plaintext 127.0.0.1:'))).toHaveLength(2);
    expect(lines.some((line) => /^kv-accord status --index 127\.0\.0\.1:\d+$/.test(line))).toBe(true);
    const [page = ''] = lines;
    expect((await reach(page)).status).toBe(200);
    await story.kept?.close();
    await expect(reach(page)).rejects.toThrow(/ECONNREFUSED/);
  });
});

it('invites to ask the frontend, where there is one', async () => {
  const scenes = alone(async (run) => {
    await run.stage.addWorkers([running(planWorker('worker-a', 32))]);
    await run.expectServing('it serves', await run.stage.addFrontend());
  });
  const { kept } = await play({ scenes, keep: true });
  const { line = '' } = inviteTo(kept as NonNullable<Story['kept']>)[0] ?? {};
  const [, url = '', body = ''] = /^curl -i (\S+) --json '(.*)'$/.exec(line) ?? [];
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body });
  expect(answer.headers.get('x-kv-accord-worker')).toBe('worker-a');
  expect(await answer.json()).toMatchObject({ object: 'text_completion', usage: { prompt_tokens: 1 } });
});

function reach(url: string): Promise<{ readonly status: number }> {
  return createHttpGet()(url, { signal: new AbortController().signal });
}
