import { simulatedTrtllm } from '../engines/simulated-trtllm.js';
import type { Scene } from '../scene.js';
import { isOpenWith, namesIn, planWorker, running } from './fleet.js';

/** One that differs joins a fleet that has agreed. */
export const lateJoinerScene: Scene = {
  name: 'late-joiner',
  title: 'A worker that differs joins later',
  async play(run) {
    const { stage } = run;
    await run.say(
      'Two workers have agreed on 16. Then an operator adds a worker with another engine, TensorRT-LLM, whose usual ' +
        'size is 32. The router would look up its prompts in blocks of another size than it stores.',
    );
    await stage.addWorkers([planWorker('worker-a', 16), planWorker('worker-b', 16)].map(running));
    await run.expectView('the gate is open with 16', (group) => isOpenWith(group, 16));

    await run.act('worker-trt joins: trtllm-serve … with tokens_per_block: 32');
    await stage.addWorkers([running(planWorker('worker-trt', 32, simulatedTrtllm))]);
    await run.expectView(
      'it is quarantined: it gets no requests, and the others go on',
      (group) => isOpenWith(group, 16) && namesIn(group, 'dissenting') === 'worker-trt',
    );
    await run.expectLog(
      'one ERROR says who, what, how it is known, and the cure',
      'error',
      'Worker worker-trt has',
    );
    await run.expectHttp(
      'the metric for alerts counts it: kv_router_block_size_mismatch_total',
      '/metrics',
      ({ body }) => /^kv_router_block_size_mismatch_total\{[^}]*worker="worker-trt"[^}]*\} 1$/m.test(body),
    );
    await run.showStatus();
  },
};
