import { EvidenceSource } from '../../../core/contract/wire/enums.js';
import { simulatedSglang } from '../engines/simulated-sglang.js';
import type { Scene } from '../scene.js';
import { isOpenWith, namesIn, planWorker, running } from './fleet.js';
import { FIRST_CONVERSATION, NEXT_TURN, SECOND_CONVERSATION } from './prompts.js';

/** What the agreement is good for: an exact view of every cache. */
export const kvEventsScene: Scene = {
  name: 'kv-events',
  title: 'Who holds which blocks',
  isAboutCaches: true,
  async play(run) {
    const { stage } = run;
    await run.say(
      'With the size agreed, a router can know the caches. Engines publish each block that they store or drop, as KV ' +
        "events; every sidecar reads those of its engine, and the aggregator's index is made of them.",
    );
    await stage.addWorkers(
      [planWorker('worker-a', 16), planWorker('worker-s', 16, simulatedSglang)].map(running),
    );
    await run.expectView(
      'the gate is open with 16, and no cache is known to hold anything yet',
      (group) => isOpenWith(group, 16) && group?.routingMode === 'mixed',
    );

    await run.act('Two conversations with the same system prompt begin: one on worker-a, one on worker-s');
    stage.worker('worker-a').engine.prompt(FIRST_CONVERSATION);
    stage.worker('worker-s').engine.prompt(SECOND_CONVERSATION);
    await run.expectView(
      'the first events prove the size: both are verified, by observed_event',
      (group) =>
        namesIn(group, 'verified') === 'worker-a, worker-s' &&
        group?.members.every(({ source }) => source === EvidenceSource.OBSERVED_EVENT) === true,
    );
    const nextTurn = { about: 'the next turn on worker-a', tokenIds: NEXT_TURN };
    const holders = { 'worker-a': 16, 'worker-s': 3 };
    await run.expectMatches(
      'a router learns where to send it: the whole conversation is on worker-a, its system prompt on both',
      nextTurn,
      holders,
    );
    await run.showStatus();

    await run.act('A second frontend starts only now. It has seen none of these events');
    const frontend = await stage.addAggregator('frontend-b');
    await run.expectMatches(
      'with its gate it has the same answer: each sidecar gave it a snapshot of what its worker holds',
      { ...nextTurn, of: frontend },
      holders,
    );
  },
};
