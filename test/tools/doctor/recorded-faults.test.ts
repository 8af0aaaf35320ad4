import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { CauseId, Diagnosis } from '../../../src/tools/doctor/diagnosis.js';
import { recordedLog, summaryOf } from './logs/summaries.js';
import { joined } from './support/evidence.js';

interface RecordedFault {
  readonly name: string;
  readonly first: CauseId;
  /** Of the headline. */
  readonly says: string;
  /** Of what is proposed. */
  readonly cure: string;
}

/** Programs that were run and broken; cures of ports, addresses and missing libraries were tried on them, and the others are what the messages ask for. */
const FAULTS: readonly RecordedFault[] = [
  {
    name: 'mooncake-0.3.13.master-rpc-port-taken',
    first: 'settings_refused',
    says: 'RPC port is taken',
    cure: '--rpc_port',
  },
  {
    name: 'mooncake-0.3.13.master-address-of-another-host',
    first: 'settings_refused',
    says: 'its address is none of this host',
    cure: '--rpc_address',
  },
  {
    name: 'mooncake-0.3.13.service-config-missing',
    first: 'program_ended',
    says: 'a file that its settings name is not there',
    cure: '/nowhere.json',
  },
  {
    name: 'vllm-0.32.0.kv-role-both',
    first: 'settings_refused',
    says: 'kv_role',
    cure: "'kv_producer', 'kv_both' or 'kv_consumer'",
  },
  {
    name: 'vllm-0.32.0.connector-config-no-json',
    first: 'settings_refused',
    says: 'Invalid JSON: trailing comma',
    cure: 'one object of JSON',
  },
  {
    name: 'vllm-0.32.0.offload-bytes-text',
    first: 'settings_refused',
    says: "cpu_bytes_to_use must be a number, and is '1GB'",
    cure: 'cpu_bytes_to_use to a number',
  },
  {
    name: 'vllm-0.32.0.shared-storage-read-only',
    first: 'offload_failed',
    says: 'cannot use its folder on disk (/data/ro/kv)',
    cure: 'shared_storage_path',
  },
  {
    name: 'vllm-0.32.0.shared-storage-disk-full',
    first: 'offload_failed',
    says: 'no room on its disk',
    cure: 'df -h',
  },
  {
    name: 'vllm-0.32.0.cpu-cache-too-large',
    first: 'cache_memory_missing',
    says: '838.19 GiB are asked for by --kv-cache-memory-bytes',
    cure: 'below the 11.89 GiB',
  },
  {
    name: 'vllm-0.32.0.cpu-block-16',
    first: 'settings_refused',
    says: 'No common block size for 16',
    cure: 'a multiple of 32',
  },
  {
    name: 'vllm-0.32.0.events-endpoint-without-transport',
    first: 'publisher_failed',
    says: 'no transport in front: localhost:6698',
    cure: 'tcp://*:PORT',
  },
  {
    name: 'vllm-router-0.1.17.events-of-another-worker',
    first: 'settings_refused',
    says: 'is not in --worker-urls',
    cure: '--kv-event-source',
  },
  {
    name: 'lmcache-0.5.6.no-connector-for-cpu',
    first: 'offload_failed',
    says: 'No supported cpu connector found',
    cure: 'without LMCache',
  },
];

/** Runs in which nothing was wrong, with what programs say at error level all the same. */
const HEALTHY: readonly string[] = [
  'mooncake-0.3.13.client-healthy',
  'mooncake-0.3.13.client-http-metadata',
  'mooncake-0.3.13.master-stopped',
  'vllm-0.32.0.stopped-while-starting',
];

async function diagnosisOf(name: string): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(await recordedLog(`${name}.txt`))] }));
}

describe('recorded runs of programs that were broken', () => {
  it.each(FAULTS)('name the fault of $name and what corrects it', async ({ name, first, says, cure }) => {
    const { assessments, headline } = await diagnosisOf(name);
    const [assessment] = assessments;
    expect(assessment?.cause).toBe(first);
    expect(headline).toContain(says);
    const proposed = assessment?.fixes.flatMap((fix) => [fix.says, ...fix.commands]).join('\n');
    expect(proposed).toContain(cure);
  });

  it.each(HEALTHY)('find nothing wrong in %s', async (name) => {
    const { verdict, assessments } = await diagnosisOf(name);
    expect(verdict).toBe('unknown');
    expect(assessments.filter(({ confidence }) => confidence !== 'possible')).toEqual([]);
  });
});
