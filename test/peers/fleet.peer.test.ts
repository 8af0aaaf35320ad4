import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { borrowSglang, borrowVllm, type LentProgram } from './support/borrow-engine.js';
import { grpcurl } from './support/grpcurl.js';
import { kubeletProbe } from './support/kubelet.js';
import {
  addressesOf,
  logLines,
  probe,
  type Served,
  startAggregator,
  startKvAccord,
  startSidecar,
} from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import type { RunningProgram } from './support/program.js';
import { completeReport, reportThat } from './support/report.js';
import { type Sglang, startSglang } from './support/sglang.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';
import type { Vllm } from './support/vllm.js';

describe.skipIf(lacks('vllm', 'sglang', 'grpcurl'))('a fleet of a real vLLM and a real SGLang', () => {
  let vllm: Vllm<LentProgram>;
  let sglang: Sglang<RunningProgram>;
  let workers: Served[];
  const served: Served[] = [];

  /** Restarts SGLang on the same ports with another page size, and waits until its sidecar reports it. */
  async function restartSglang(pageSize: number): Promise<void> {
    await sglang.program.end();
    sglang = await startSglang({ model: tinyModel('tiny'), pageSize, ports: sglang.ports });
    await reportThat(
      workers[1] as Served,
      `with ${pageSize}`,
      ({ contract }) => contract?.tokensPerBlock === pageSize,
    );
  }

  beforeAll(async () => {
    [vllm, sglang] = await Promise.all([borrowVllm({ blockSize: 32 }), borrowSglang({ pageSize: 32 })]);
    workers = [
      await startSidecar('vllm-0', '--engine', vllm.url),
      await startSidecar('sglang-0', '--engine', sglang.url),
    ];
    for (const worker of workers) await completeReport(worker);
  });
  afterAll(async () => {
    for (const { program } of [...served, ...(workers ?? [])]) await program.stop();
    await sglang?.program.stop();
    await vllm?.program.stop();
  });

  it('agrees on 32 and opens the gate', async () => {
    const aggregator = await startAggregator('aggregator-agreed', workers);
    served.push(aggregator);
    await until('the gate to open', async () => (await probe(aggregator, '/readyz')).status === 200, {
      needs: [aggregator.program],
    });
    expect(logLines(aggregator.program)).toContainEqual(
      expect.objectContaining({
        level: 'info',
        msg: 'Auto-configured KV block size to 32 (from worker reports)',
      }),
    );
    const agreement = await grpcurl(aggregator.grpcPort, 'kvaccord.v1.Fleet/GetAgreement');
    expect(JSON.parse(agreement.stdout).agreement).toMatchObject({
      group: 'tiny',
      state: 'AGREEMENT_STATE_AGREED',
      gateOpen: true,
      ready: true,
      contract: { tokensPerBlock: 32 },
      memberCount: 2,
    });
    if (!lacks('kubelet-probe')) {
      expect(await kubeletProbe(aggregator.grpcPort, 'kvaccord.v1.Fleet')).toContain('success');
    }
    const wait = startKvAccord('wait-agreed', [
      'wait',
      '--workers',
      addressesOf(workers),
      '--timeout',
      '30s',
    ]);
    expect(await wait.ended).toBe(0);
  });

  it('keeps the gate shut over 32 and 64, says why, and opens it by itself once the odd one is back with 32', async () => {
    await restartSglang(64);
    const aggregator = await startAggregator('aggregator-conflict', workers);
    served.push(aggregator);
    const error = await until(
      'the error',
      () => logLines(aggregator.program).find(({ level }) => level === 'error'),
      { needs: [aggregator.program] },
    );
    for (const part of [
      '32',
      '64',
      ...workers.map(({ grpcPort }) => `127.0.0.1:${grpcPort}`),
      '--page-size 32',
    ]) {
      expect(error.msg).toContain(part);
    }
    const ready = await probe(aggregator, '/readyz?verbose');
    expect(ready.status).toBe(503);
    expect(ready.body).toMatch(/32/);
    expect(ready.body).toMatch(/64/);
    if (!lacks('kubelet-probe')) {
      expect(await kubeletProbe(aggregator.grpcPort, 'kvaccord.v1.Fleet')).toContain('failure');
    }
    const wait = startKvAccord('wait-conflict', [
      'wait',
      '--workers',
      addressesOf(workers),
      '--timeout',
      '30s',
    ]);
    expect(await wait.ended).toBe(4);
    const exec = startKvAccord('exec-conflict', [
      'exec',
      '--workers',
      addressesOf(workers),
      '--',
      'echo',
      'never',
    ]);
    expect(await exec.ended).toBe(4);
    expect(exec.log).not.toContain('never\n');

    await restartSglang(32);
    await until(
      'the gate to open by itself',
      async () => (await probe(aggregator, '/readyz')).status === 200,
      {
        needs: [aggregator.program],
      },
    );
    expect(logLines(aggregator.program).map(({ msg }) => msg)).toContain(
      'Auto-configured KV block size to 32 (from worker reports)',
    );
  });

  it('quarantines an engine that comes back with another size while the fleet serves', async () => {
    const aggregator = served[0] as Served;
    await until(
      'the first aggregator to serve',
      async () => (await probe(aggregator, '/readyz')).status === 200,
    );
    await restartSglang(64);
    const agreement = await until('the odd one to be judged', async () => {
      const { stdout } = await grpcurl(aggregator.grpcPort, 'kvaccord.v1.Fleet/GetAgreement');
      const { agreement } = JSON.parse(stdout);
      const states = agreement.members.map((member: { state: string }) => member.state);
      return states.includes('MEMBER_STATE_DISSENTING') && agreement;
    });
    expect(agreement).toMatchObject({
      state: 'AGREEMENT_STATE_AGREED',
      gateOpen: true,
      contract: { tokensPerBlock: 32 },
    });
    const metrics = await probe(aggregator, '/metrics');
    expect(metrics.body).toMatch(/^kv_router_block_size_mismatch_total\{[^}]*\} [1-9]/m);
    const status = startKvAccord('status', ['status', `127.0.0.1:${aggregator.grpcPort}`]);
    expect(await status.ended).toBe(0);
    expect(status.log).toMatch(/dissenting/i);
  });
});
