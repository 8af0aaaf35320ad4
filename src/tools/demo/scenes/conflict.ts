import { simulatedSglang } from '../engines/simulated-sglang.js';
import type { Scene } from '../scene.js';
import { isOpenWith, namesIn, planWorker, running } from './fleet.js';

/** A fleet that never agreed, and what fixes it. */
export const conflictScene: Scene = {
  name: 'conflict',
  title: 'A fleet that does not agree',
  async play(run) {
    const { stage } = run;
    await run.say(
      'This fleet is new, and nothing was agreed before: two workers with vLLM use a block size of 16, one with ' +
        'SGLang 32. Whichever the router took, the cache of some worker would be useless, so it takes none and says so.',
    );
    await stage.addWorkers([
      running(planWorker('worker-a', 16)),
      running(planWorker('worker-b', 16)),
      planWorker('worker-s', 32, simulatedSglang),
    ]);
    await run.expectView(
      'two have reported, the third is awaited',
      (group) => group?.gateOpen === false && namesIn(group, 'reported') === 'worker-a, worker-b',
    );

    await run.act('worker-s is up: sglang serve … --page-size 32');
    stage.worker('worker-s').engine.start();
    await run.expectView('the gate stays shut', (group) => group?.state === 'conflict' && !group.gateOpen);
    await run.expectLog(
      'one ERROR lists each value with its workers, and what to change',
      'error',
      'disagree',
    );
    await run.expectHttp(
      'a load balancer gets the same answer: GET /readyz answers 503',
      '/readyz',
      ({ status }) => status === 503,
    );

    await run.act('An operator follows the advice: worker-s is restarted with --page-size 16');
    stage.worker('worker-s').engine.start({ tokensPerBlock: 16 }, run.loadingMs);
    await run.expectView(
      'the gate opens by itself: nothing else had to be restarted',
      (group) => isOpenWith(group, 16) && namesIn(group, 'conforming') === 'worker-a, worker-b, worker-s',
    );
    await run.expectHttp('GET /readyz answers 200', '/readyz', ({ status }) => status === 200);
    await run.showStatus();
  },
};
