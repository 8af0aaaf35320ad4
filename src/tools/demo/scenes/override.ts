import type { Scene } from '../scene.js';
import { isOpenWith, planWorker, running } from './fleet.js';

/** An operator insists. */
export const overrideScene: Scene = {
  name: 'override',
  title: 'An operator insists',
  overrideTokensPerBlock: 16,
  async play(run) {
    const { stage } = run;
    await run.say(
      'The aggregator was started with --kv-cache-block-size 16: a person decided. It is obeyed, loudly, although ' +
        'one of the workers has a block size of 32; that one gets requests, but its cache counts as unknown.',
    );
    await stage.addWorkers([planWorker('worker-a', 16), planWorker('worker-b', 32)].map(running));
    await run.expectView(
      "the gate is open with the operator's 16, marked as an override",
      (group) => isOpenWith(group, 16) && group?.isOverride === true,
    );
    await run.expectLog('a WARN has both numbers', 'warn', 'Worker worker-b reports 32 tokens per block');
    await run.expectView(
      'worker-b is in use, without cache knowledge',
      (group) => group?.members.find(({ target }) => target === 'worker-b')?.offer === 'load_only',
    );
    await run.showStatus();
  },
};
