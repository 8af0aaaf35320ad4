import { EngineRole } from '../../../gen/kvaccord/v1/capabilities.js';
import { demoTopology } from '../demo-hosts.js';
import type { EnginePart } from '../engines/engine-surface.js';
import { simulatedVllm } from '../engines/simulated-vllm.js';
import { TransferNetwork } from '../engines/transfer-network.js';
import type { Scene } from '../scene.js';
import type { PlannedWorker } from '../stage.js';
import { isOpenWith, MODEL, namesIn, planWorker, running } from './fleet.js';

/** Small enough that blocks are evicted while the fleet is watched. */
const TOTAL_BLOCKS = 2_048;

const ZONE = 'zone-1';

const ROLES = { prefill: EngineRole.PREFILL, decode: EngineRole.DECODE } as const;

/** A worker in the zone of the scene. */
function placed(
  name: string,
  place: Omit<Parameters<typeof demoTopology>[0], 'zone'>,
  about: { readonly part?: EnginePart; readonly tokensPerBlock?: number } = {},
): PlannedWorker {
  const { part, tokensPerBlock = 16 } = about;
  const setup = { totalBlocks: TOTAL_BLOCKS, ...(part === undefined ? {} : { part }) };
  return {
    ...running(planWorker(name, tokensPerBlock, simulatedVllm, setup)),
    topology: demoTopology({ ...place, zone: ZONE }),
    role: part === undefined ? EngineRole.AGGREGATED : ROLES[part.role],
  };
}

/** A fleet to look at: racks, hosts, GPUs, links, two roles, traffic, and one worker that is kept out. */
export const racksScene: Scene = {
  name: 'racks',
  title: 'Racks, hosts and links, under load',
  isAboutCaches: true,
  async play(run) {
    const { stage } = run;
    const network = new TransferNetwork();
    await run.say(
      'Six workers on three hosts in two racks. In rack r1 the GB200 of both hosts are in one NVLink fabric; two of the ' +
        'workers there have the roles prefill and decode. In rack r2 one host has eight H100, and one of its workers was ' +
        'started with a block size of 32. What the sidecars say of hosts, GPUs and links is simulated here.',
    );
    await stage.addWorkers([
      placed('worker-a', { kind: 'gb200', node: 'gpu-a', rack: 'r1', gpus: [0, 1] }),
      placed(
        'prefill-1',
        { kind: 'gb200', node: 'gpu-a', rack: 'r1', gpus: [2, 3] },
        { part: { role: 'prefill', network } },
      ),
      placed('worker-b', { kind: 'gb200', node: 'gpu-b', rack: 'r1', gpus: [0, 1] }),
      placed(
        'decode-1',
        { kind: 'gb200', node: 'gpu-b', rack: 'r1', gpus: [2, 3] },
        { part: { role: 'decode', network } },
      ),
      placed('worker-c', { kind: 'h100', node: 'gpu-c', rack: 'r2', gpus: [0, 1, 2, 3] }),
    ]);
    await run.expectView('the gate is open with 16', (group) => isOpenWith(group, 16));
    await stage.addWorkers([
      placed(
        'worker-d',
        { kind: 'h100', node: 'gpu-c', rack: 'r2', gpus: [4, 5, 6, 7] },
        { tokensPerBlock: 32 },
      ),
    ]);
    await run.expectView(
      'worker-d is kept out, and the others go on',
      (group) => isOpenWith(group, 16) && namesIn(group, 'dissenting') === 'worker-d',
    );

    await run.act('kv-accord frontend: people begin to talk, three at a time');
    const frontend = await stage.addFrontend();
    await run.expectServing("any client of OpenAI's finds the model there", frontend);
    stage.startTraffic(frontend, MODEL);
    await run.expectView(
      'requests go to all five, long prompts also from prefill-1 to decode-1, and the events of each prove the size',
      (group) => namesIn(group, 'verified') === 'decode-1, prefill-1, worker-a, worker-b, worker-c',
    );
    await run.expect(
      'what prefill-1 computed came over to decode-1',
      network.transfers > 0,
      () => `${network.transfers} transfers`,
    );

    await run.act('worker-b restarts: its engine is gone for a second, and its cache with it');
    stage.worker('worker-b').engine.start({}, run.loadingMs);
    await run.expectLog('the restart is noticed', 'info', 'The engine of worker worker-b was restarted');
    await run.showStatus();
    await run.say('kv-accord top shows all of it live, with what happened and the last decisions.');
  },
};
