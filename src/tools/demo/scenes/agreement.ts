import type { Scene } from '../scene.js';
import { isOpenWith, namesIn, planWorker } from './fleet.js';

/** The gate is shut while reports come in, and opens when all agree. */
export const agreementScene: Scene = {
  name: 'agreement',
  title: 'Workers come up one after the other',
  async play(run) {
    const { stage } = run;
    await run.say(
      'Three workers with the engine vLLM are listed, and none of their engines is up yet. Beside each runs a ' +
        'sidecar, which asks its engine what it really does; the aggregator beside the router collects what they say.',
    );
    await stage.addWorkers([
      planWorker('worker-a', 16),
      planWorker('worker-b', 16),
      planWorker('worker-c', 16),
    ]);
    await run.expectView(
      'the gate is shut and names all three that are missing',
      (_group, view) => view.reasons[0]?.text.startsWith('waiting for 3 of 3 workers') === true,
    );

    await run.act('worker-a is up: vllm serve … --block-size 16');
    stage.worker('worker-a').engine.start();
    await run.expectView(
      'one report opens nothing: who came first does not decide for the others',
      (group) => group?.gateOpen === false && namesIn(group, 'reported') === 'worker-a',
    );

    await run.act('worker-b is up as well');
    stage.worker('worker-b').engine.start();
    await run.expectView(
      'the gate is still shut, for worker-c',
      (group) => group?.gateOpen === false && namesIn(group, 'reported') === 'worker-a, worker-b',
    );

    await run.act('worker-c loads its model, answers 503 meanwhile, and is up');
    stage.worker('worker-c').engine.start({}, run.loadingMs);
    await run.expectView('all three have reported the same size: the gate opens with 16', (group) =>
      isOpenWith(group, 16),
    );
    await run.expectLog(
      'nobody typed that number anywhere; it came from the engines',
      'info',
      'Auto-configured KV block size to 16 (from worker reports)',
    );
    await run.showStatus();
  },
};
