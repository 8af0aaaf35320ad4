import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../src/tools/doctor/diagnosis.js';
import type { Evidence, EvidencePart } from '../../../src/tools/doctor/evidence.js';
import { manifestsPart } from '../../../src/tools/doctor/gather/manifests.js';
import { metricsPart } from '../../../src/tools/doctor/gather/metrics.js';
import { recordedLog, summaryOf } from './logs/summaries.js';
import { joined, namesOf } from './support/evidence.js';

const METRICS = new URL('../../fixtures/doctor-metrics/', import.meta.url);

async function page(name: string): Promise<EvidencePart> {
  const file = `dynamo-1.6.1.${name}.txt`;
  return metricsPart(file, await readFile(new URL(file, METRICS), 'utf8'));
}

async function log(name: string): Promise<{ readonly logs: [Awaited<ReturnType<typeof summaryOf>>] }> {
  return { logs: [await summaryOf(await recordedLog(`${name}.txt`))] };
}

/** What is said of the log and the metrics of one recorded run. */
async function ofRun(name: string): Promise<Diagnosis> {
  return diagnose(joined(await page(`frontend.${name}`), await log(`dynamo-1.6.1.frontend-log.${name}`)));
}

describe('recordings of Dynamo 1.6.1', () => {
  it.each(['agree-32-32', 'frontend-env-16-workers-32'])('calls %s healthy', async (name) => {
    const diagnosis = await ofRun(name);
    expect(namesOf(diagnosis)).toEqual([]);
    expect(diagnosis.verdict).toBe('healthy');
    expect(diagnosis.routing?.routerHitRate).toBeCloseTo(0.82, 2);
    expect(diagnosis.routing?.engineHitRate).toBeCloseTo(0.824, 2);
  });

  it.each(['card-16-engine-32', 'card-32-engine-16'])(
    'names the wrong card of %s, about which no program warns',
    async (name) => {
      const diagnosis = await ofRun(name);
      expect(namesOf(diagnosis)).toEqual(['wrong_model_card likely']);
      expect(diagnosis.verdict).toBe('findings');
    },
  );

  it("is certain of the mismatch where the engine's number was seen too", async () => {
    const engine = metricsPart(
      'http://worker-0:8000/metrics',
      'vllm:cache_config_info{block_size="32",enable_prefix_caching="True",num_gpu_blocks="8192"} 1\n',
    );
    const evidence = joined(await page('frontend.card-16-engine-32'), engine);
    expect(namesOf(diagnose(evidence))[0]).toBe('block_size_mismatch certain');
  });

  it("names the mismatch from the frontend alone, where a worker's publisher drops what its engine stores", async () => {
    const diagnosis = await ofRun('worker-card-16-engine-32');
    expect(namesOf(diagnosis)).toEqual(['block_size_mismatch likely']);
    expect(diagnosis.assessments[0]?.cluesFor.map(({ says }) => says)).toContainEqual(
      expect.stringContaining('33 of 48 stores'),
    );
  });

  it("is certain of it with the worker's log, which has both numbers", async () => {
    const diagnosis = diagnose(
      joined(
        await page('frontend.worker-card-16-engine-32'),
        await page('worker.card-16-engine-32'),
        await log('dynamo-1.6.1.frontend-log.worker-card-16-engine-32'),
        await log('dynamo-1.6.1.worker-log.card-16-engine-32'),
      ),
    );
    expect(namesOf(diagnosis)).toEqual(['block_size_mismatch certain']);
    expect(diagnosis.headline).toMatch(/16.*32/);
    expect(diagnosis.advice).toContain('32');
  });

  it("has a strong sign in a worker's counter of emptied stores alone", async () => {
    const diagnosis = diagnose(joined(await page('worker.card-16-engine-32')));
    expect(namesOf(diagnosis)).toEqual(['block_size_mismatch likely']);
  });

  it('names workers that the frontend rejected', async () => {
    const diagnosis = diagnose(joined(await log('dynamo-1.6.1.frontend-log.workers-32-and-16.rejected')));
    expect(namesOf(diagnosis)).toEqual(['workers_rejected certain']);
    expect(diagnosis.headline).toContain('c7d4e3ff8175700');
  });

  it('names them although the rest of the fleet routes well', async () => {
    expect(namesOf(await ofRun('workers-16-then-32'))).toEqual(['workers_rejected certain']);
  });

  it('takes it for a weak sign after a rolling change, when the worker that was refused got requests', async () => {
    const diagnosis = diagnose(joined(await log('dynamo-1.6.1.frontend-log.rolling-16-to-32')));
    expect(namesOf(diagnosis)[0]).toBe('workers_rejected possible');
    expect(diagnosis.assessments[0]?.cluesAgainst[0]?.says).toContain('look at whether it is over');
  });

  it('names the number of the standalone indexer', async () => {
    const diagnosis = diagnose(
      joined(
        await page('indexer.block-16-engine-32'),
        await log('dynamo-1.6.1.indexer-log.block-16-engine-32'),
      ),
    );
    expect(namesOf(diagnosis)).toEqual(['block_size_mismatch certain']);
    expect(diagnosis.advice).toBe('Start dynamo.indexer with --block-size 32.');
  });

  it('names the worker that kv-accord itself set apart', async () => {
    const diagnosis = diagnose(joined(await log('kv-accord-0.1.0.frontend.two-sizes')));
    expect(namesOf(diagnosis)).toEqual(['block_size_mismatch likely']);
    expect(diagnosis.advice).toBe(
      'Start 127.0.0.1:20499 with a block size of 32 tokens (tokens_per_block 32), as the others have it.',
    );
  });

  it.each(['vllm-0.32.0.prefix-caching-32', 'sglang-0.5.23.cpu'])(
    'finds nothing wrong in the log of an engine alone (%s)',
    async (name) => {
      const diagnosis = diagnose(joined(await log(name)));
      expect(namesOf(diagnosis)).toEqual([]);
      expect(diagnosis.routing?.engineHitRate).toBeGreaterThan(0.2);
    },
  );

  it('finds nothing in the log of an indexer that has the right number', async () => {
    const diagnosis = diagnose(joined(await log('dynamo-1.6.1.indexer-log.block-32-engine-32')));
    expect(namesOf(diagnosis)).toEqual([]);
    expect(diagnosis.verdict).toBe('unknown');
  });

  it('finds nothing in the log of dynamo.router, in which nothing stands', async () => {
    const diagnosis = diagnose(joined(await log('dynamo-1.6.1.router-log.block-16-engine-32')));
    expect(diagnosis.verdict).toBe('unknown');
    expect(diagnosis.unknowns.length).toBeGreaterThan(0);
  });
});

describe('manifests', () => {
  it('of several deployments in one folder are not compared with each other', () => {
    const files = ['a', 'b'].map((name) => ({
      file: `deploy/${name}.yaml`,
      text: GRAPH('0.9.0')
        .replace('gtc-demo', name)
        .replace('DYN_ROUTER_MODE', name === 'a' ? 'DYN_ROUTER_MODE' : 'OTHER'),
    }));
    files[1] = {
      file: 'deploy/b.yaml',
      text: `${files[1]?.text}            - --kv-block-size\n            - "64"\n`,
    };
    const conflicts = diagnose(joined(manifestsPart('deploy/', files)));
    expect(conflicts.assessments.flatMap(({ headline }) => headline).join()).not.toContain(
      'frontend 16 by default, worker 64',
    );
  });
});

const GRAPH = (version: string): string => `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: gtc-demo
spec:
  services:
    Frontend:
      componentType: frontend
      replicas: 1
      extraPodSpec:
        mainContainer:
          image: my-registry/tensorrtllm-runtime:${version}
      envs:
        - name: DYN_ROUTER_MODE
          value: kv
    TRTLLMWorker:
      componentType: worker
      replicas: 2
      resources:
        limits:
          gpu: "4"
      extraPodSpec:
        mainContainer:
          image: my-registry/tensorrtllm-runtime:${version}
          command: ["python3", "-m", "dynamo.trtllm"]
          args:
            - --model-path
            - meta-llama/Llama-3.3-70B-Instruct
            - --tensor-parallel-size
            - "4"
            - --publish-events-and-metrics
`;

const WARNINGS = `2026-02-16T14:38:53.950961Z  INFO dynamo_llm::kv_router::scheduler: Selected worker: worker_id=7702713015953616 dp_rank=0, logit: 138.656, cached blocks: 0, tree size: 0
2026-02-16T14:38:54.100000Z  WARN dynamo_llm::kv_router::indexer: Failed to find parent block; skipping store operation worker_id=7702713015953616
2026-02-16T14:38:54.200000Z  WARN dynamo_llm::kv_router::indexer: Failed to find block to remove; skipping remove operation worker_id=7702713015953616
`;

describe('the log of a frontend of 1.6.1 by itself', () => {
  it('shows by stores without parents and without blocks that publishers drop what engines store', async () => {
    const frontend = await log('dynamo-1.6.1.frontend-log.worker-card-16-engine-32');
    expect(namesOf(diagnose(joined(frontend)))).toEqual(['block_size_mismatch likely']);
  });
});

describe("an operator's report: tree size 0, two warnings, TensorRT-LLM without a block size", () => {
  it.each([
    ['my-tag', 'frontend 16 by default, worker 32'],
    // The number that changes something: in these the frontend's own does not.
    ['0.9.0', "in Dynamo 0.9.0 the workers' cards decide, and have to say 32"],
    ['1.1.0', "in Dynamo 1.1.0 the workers' cards decide, and have to say 32"],
  ])('is a mismatch (image %s), with the number that decides and the patch', async (version, headline) => {
    const diagnosis = diagnose(
      joined(
        { logs: [await summaryOf(WARNINGS)] },
        manifestsPart('deploy/', [{ file: 'deploy/graph.yaml', text: GRAPH(version) }]),
      ),
    );
    expect(namesOf(diagnosis)[0]).toBe('block_size_mismatch likely');
    expect(diagnosis.headline).toContain(`Block-size mismatch: ${headline}`);
    const patched = diagnosis.assessments[0]?.fixes.flatMap(({ files }) => files) ?? [];
    // Where the cards decide, no file of the frontend changes anything.
    if (version === 'my-tag')
      expect(patched.some(({ after }) => after.includes('DYN_KV_CACHE_BLOCK_SIZE'))).toBe(true);
    else expect(diagnosis.advice).toContain('dynamo.trtllm worker with --kv-block-size 32');
  });

  it('names the same from the ten lines of the log and the manifest, without any warning', async () => {
    const diagnosis = diagnose(
      joined(
        await log('dynamo-0.9.frontend-log.tree-size-0'),
        manifestsPart('deploy/', [{ file: 'deploy/graph.yaml', text: GRAPH('my-tag') }]),
      ),
    );
    expect(namesOf(diagnosis)[0]).toBe('block_size_mismatch likely');
  });

  it('advises first what decides in the version at hand', async () => {
    const adviceFor = async (version: string): Promise<string> =>
      diagnose(
        joined(
          { logs: [await summaryOf(WARNINGS)] },
          manifestsPart('deploy/', [{ file: 'deploy/graph.yaml', text: GRAPH(version) }]),
        ),
      ).advice;
    expect(await adviceFor('my-tag')).toContain('DYN_KV_CACHE_BLOCK_SIZE=32');
    expect(await adviceFor('0.9.0')).toContain('--kv-block-size 32');
  });
});

/** What is said of logs and pages of real engines that exchange blocks, by their names. */
async function ofPair(logs: readonly string[], pages: readonly string[] = []): Promise<Diagnosis> {
  const read = logs.map(async (name): Promise<Partial<Evidence>> => {
    const file = `vllm-0.32.0.pd-${name}.txt`;
    const summary = await summaryOf(await recordedLog(file), { who: name });
    return { logs: [summary], settings: summary.settings };
  });
  const metrics = pages.map(async (name) => {
    const file = `vllm-0.32.0.pd-${name}.txt`;
    return metricsPart(file, await readFile(new URL(file, METRICS), 'utf8'));
  });
  return diagnose(joined(...(await Promise.all(read)), ...(await Promise.all(metrics))));
}

describe('recordings of pairs of vLLM 0.32.0 over NIXL', () => {
  it('has nothing to say of a pair that works', async () => {
    const diagnosis = await ofPair(['prefill', 'decode'], ['decode']);
    expect(namesOf(diagnosis)).toEqual([]);
    expect(diagnosis.verdict).toBe('unknown');
  });

  it('names the dtype in which a pair differs, and the flag', async () => {
    const diagnosis = await ofPair(['prefill', 'decode-float16'], ['decode-float16']);
    expect(namesOf(diagnosis)).toEqual(['pair_incompatible certain']);
    expect(diagnosis.headline).toMatch(/dtype: (b?float16) \(.+\) and (?!\1 )b?float16 \(.+\)$/);
    expect(diagnosis.advice).toContain('--dtype');
  });

  it('names the hash alone where the other engine was not seen', async () => {
    const diagnosis = await ofPair(['decode-float16']);
    expect(namesOf(diagnosis)).toEqual(['pair_incompatible certain']);
    expect(diagnosis.headline).toContain('compatibility hash');
  });

  it('takes a decode engine that gets no answer for a side channel that is not reached', async () => {
    expect(namesOf(await ofPair(['decode-no-answer']))).toEqual(['side_channel_unreachable likely']);
  });

  it('names the listener that ended, and then nothing else', async () => {
    const diagnosis = await ofPair(['prefill-listener-dead', 'decode-no-answer']);
    expect(namesOf(diagnosis)).toEqual(['side_channel_dead certain']);
    expect(diagnosis.advice).toContain('Restart the prefill engine');
  });

  it('names leases that end unread, by log and by counters', async () => {
    const diagnosis = await ofPair(['prefill-expired'], ['prefill']);
    expect(namesOf(diagnosis)).toEqual(['leases_expire likely']);
    expect(diagnosis.headline).toContain('after prefill engines gave them to others');
    expect(namesOf(await ofPair([], ['prefill']))).toEqual(['leases_expire likely']);
  });
});
