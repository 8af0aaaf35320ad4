import type { Scene } from '../scene.js';
import { isOpenWith, namesIn, planWorker, running } from './fleet.js';

/** A fleet moves to another size, one worker after the other. */
export const rollingChangeScene: Scene = {
  name: 'rolling-change',
  title: 'A fleet moves to another size',
  async play(run) {
    const { stage, loadingMs } = run;
    await run.say(
      'Three workers run with 16 and are to run with 32. They are restarted one after the other, as a platform rolls ' +
        'out a change, and requests go on all the time.',
    );
    await stage.addWorkers(['worker-a', 'worker-b', 'worker-c'].map((name) => running(planWorker(name, 16))));
    await run.expectView('the gate is open with 16', (group) => isOpenWith(group, 16));

    await run.act('worker-a is restarted with --block-size 32');
    stage.worker('worker-a').engine.start({ tokensPerBlock: 32 }, loadingMs);
    await run.expectView(
      'one of three does not move the fleet: it waits in quarantine',
      (group) => isOpenWith(group, 16) && namesIn(group, 'dissenting') === 'worker-a',
    );

    await run.act('worker-b follows');
    stage.worker('worker-b').engine.start({ tokensPerBlock: 32 }, loadingMs);
    await run.expectView(
      'most now run with 32: a new epoch begins with 32, and worker-c is the one that waits',
      (group) => isOpenWith(group, 32) && group?.epoch === 2 && namesIn(group, 'dissenting') === 'worker-c',
    );
    await run.expectLog(
      'a WARN has both values and the counts',
      'warn',
      'changed from 16 to 32 (2 of 3 workers)',
    );

    await run.act('worker-c follows');
    stage.worker('worker-c').engine.start({ tokensPerBlock: 32 }, loadingMs);
    await run.expectView(
      "all three are in use again, and no number was typed on the router's side",
      (group) => isOpenWith(group, 32) && namesIn(group, 'conforming') === 'worker-a, worker-b, worker-c',
    );
    await run.showStatus();
  },
};
