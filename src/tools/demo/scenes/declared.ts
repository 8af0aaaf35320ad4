import { simulatedDynamo } from '../engines/simulated-dynamo.js';
import type { Scene } from '../scene.js';
import { isOpenWith, namesIn, planWorker, running } from './fleet.js';
import { FIRST_CONVERSATION } from './prompts.js';

/** What the engines run with, and what their model cards say. */
const CUT = 32;
const DECLARED = 16;

/** All workers agree, and all are wrong. */
export const declaredScene: Scene = {
  name: 'declared',
  title: 'All agree, and all are wrong',
  isAboutCaches: true,
  async play(run) {
    const { stage } = run;
    await run.say(
      'The fault as it happens in the field: three Dynamo workers register with a model card that says 16, and the ' +
        'engines inside use 32. No report contradicts another, so nothing shows.',
    );
    await stage.addWorkers(
      ['worker-a', 'worker-b', 'worker-c'].map((name) =>
        running(planWorker(name, CUT, simulatedDynamo, { configuredTokensPerBlock: DECLARED })),
      ),
    );
    await run.expectView(
      'the gate is open with 16, and the KV events of all are read: all looks well',
      (group) => isOpenWith(group, 16) && group?.routingMode === 'mixed',
    );

    await run.act('worker-a computes its first prompt, of 256 tokens');
    const worker = stage.worker('worker-a');
    worker.engine.prompt(FIRST_CONVERSATION);
    await run.expectLog(
      'its first KV event is the proof: one ERROR names both numbers, and where to fix them',
      'error',
      'Frontend KV block size (16) does not match worker block size (32).\n' +
        'Worker worker-a declares 16 but its engine uses 32: set --kv-block-size=32 on the worker.\n' +
        'KV-aware routing will not function until block sizes match.',
    );
    const question = { worker, tokenIds: FIRST_CONVERSATION };
    await run.expectFound(
      'a router that goes by the model card finds none of it, and nothing else would show it',
      { ...question, tokensPerBlock: DECLARED },
      0,
    );
    await run.expectView(
      'worker-a gets no requests before it is fixed, or the others turn out the same',
      (group) => isOpenWith(group, 16) && namesIn(group, 'dissenting') === 'worker-a',
    );

    await run.act('worker-b computes a prompt as well: most are now proven to use 32');
    stage.worker('worker-b').engine.prompt(FIRST_CONVERSATION);
    await run.expectView(
      'a new epoch begins with what the engines do; worker-c, which only declares, has to wait',
      (group) =>
        isOpenWith(group, 32) &&
        namesIn(group, 'verified') === 'worker-a, worker-b' &&
        namesIn(group, 'dissenting') === 'worker-c',
    );
    await run.expectMatches(
      'the same prompt again: now all of it is found',
      { about: 'the same prompt', tokenIds: FIRST_CONVERSATION },
      { 'worker-a': 8, 'worker-b': 8 },
    );

    await run.act('worker-c is fixed where the ERROR said: restarted with --kv-block-size=32');
    stage.worker('worker-c').engine.start({ configuredTokensPerBlock: CUT }, run.loadingMs);
    await run.expectView(
      'all three are in use, and the cache view of each that has cached something is exact',
      (group) =>
        isOpenWith(group, 32) &&
        namesIn(group, 'conforming') === 'worker-c' &&
        group?.members.every(({ target, cacheView }) => target === 'worker-c' || cacheView === 'exact') ===
          true,
    );
    await run.showStatus();
  },
};
