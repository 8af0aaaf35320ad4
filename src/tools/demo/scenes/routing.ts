import { type FollowUps, followUpsOf } from '../conversations.js';
import type { Scene } from '../scene.js';
import { isOpenWith, MODEL, planWorker, running } from './fleet.js';

/** The block size of the engines, and the one that is forced upon the third frontend. */
const CUT = 32;
const FORCED = 16;

/** Where nothing is known of caches, lots are drawn: the same ones each time, so that the story is. */
const SEED = 2;

/** Follow-ups in kv mode have about six of seven tokens cached; a machine that stands still for a while may cost one. */
const MOST = 0.5;

/** What all of it is for: answers that begin immediately. */
export const routingScene: Scene = {
  name: 'routing',
  title: 'A conversation goes on',
  isAboutCaches: true,
  async play(run) {
    const { stage } = run;
    await run.say(
      "Requests at last: kv-accord frontend serves OpenAI's API beside its aggregator, and its router sends each request " +
        'where most of its prompt is cached. Frontend and router are the real ones. The engines compute nothing and only ' +
        'take their time: 0.4 ms for each prompt token that their simulated cache does not hold. So the times are ' +
        'simulated as well, and only how they compare means something.',
    );
    await stage.addWorkers(
      ['worker-a', 'worker-b', 'worker-c'].map((name) => running(planWorker(name, CUT))),
    );
    await run.expectView(
      'the gate is open with 32, and the KV events of all are read',
      (group) => isOpenWith(group, CUT) && group?.routingMode === 'mixed',
    );

    await run.act('kv-accord frontend --router-mode kv: three people talk about a text each');
    const frontend = await stage.addFrontend();
    await run.expectServing("any client of OpenAI's finds the model there", frontend);
    const kv = followUpsOf(await run.converse(frontend, MODEL, ['Ann', 'Ben', 'Cleo']));
    await run.expect(
      'conversations go back to where they were: most of each follow-up is cached',
      kv.cachedShare > MOST,
      () => `only ${inPercent(kv)} was cached`,
    );

    await run.act('Three others, as talkative, through --router-mode round-robin');
    const inTurn = await stage.addAggregator('frontend-2', { routerMode: 'round-robin', settleMs: 0 });
    const second = await stage.addFrontend(inTurn);
    await run.expectServing('the same engines, and another frontend', second);
    const roundRobin = followUpsOf(await run.converse(second, MODEL, ['Dora', 'Emil', 'Fay']));
    await run.expect(
      'every worker gets its turn, and what it would need is cached somewhere else',
      roundRobin.cachedShare < kv.cachedShare,
      () => `${inPercent(roundRobin)} was cached`,
    );

    await run.act(`Three more, through --router-mode kv with --kv-cache-block-size ${FORCED}`);
    const forced = await stage.addAggregator('frontend-3', {
      overrideTokensPerBlock: FORCED,
      routerSeed: SEED,
      settleMs: 0,
    });
    const third = await stage.addFrontend(forced);
    await run.expectServing('it is obeyed', third);
    await run.expectLog(
      'but an ERROR of three lines for each worker says what that means',
      'error',
      `Frontend KV block size (${FORCED}) does not match worker block size (${CUT}).`,
    );
    const wrongSize = followUpsOf(await run.converse(third, MODEL, ['Gus', 'Hana', 'Ida']));
    await run.expect(
      'a router with a block size of 16 can know nothing of blocks of 32: what is found is luck',
      wrongSize.cachedShare < kv.cachedShare,
      () => `${inPercent(wrongSize)} was cached`,
    );

    run.showTable(
      ['FOLLOW-UPS', 'CACHED', 'TOKENS TO COMPUTE', 'FIRST TOKEN AFTER'],
      [
        ['--router-mode kv', ...cells(kv)],
        ['--router-mode round-robin', ...cells(roundRobin)],
        [`--kv-cache-block-size ${FORCED}`, ...cells(wrongSize)],
      ],
    );
    // Not by the times: a busy machine has its part in them, and no part in what is cached.
    const most = Math.min(roundRobin.computedTokens, wrongSize.computedTokens);
    await run.expect(
      'with sizes agreed and caches known, an engine has to compute less than half as much before an answer begins',
      2 * kv.computedTokens < most,
      () => `${Math.round(kv.computedTokens)} tokens against ${Math.round(most)}`,
    );
  },
};

function cells(followUps: FollowUps): string[] {
  const { computedTokens, firstTokenMs } = followUps;
  return [inPercent(followUps), `${Math.round(computedTokens)}`, `${Math.round(firstTokenMs)} ms`];
}

function inPercent({ cachedShare }: FollowUps): string {
  return `${Math.round(100 * cachedShare)} %`;
}
