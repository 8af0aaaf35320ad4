import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALL_CAUSES } from '../../../src/tools/doctor/causes/all-causes.js';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import { CAUSES, type CauseId, type ProposedFix } from '../../../src/tools/doctor/diagnosis.js';
import type { Evidence, EvidencePart } from '../../../src/tools/doctor/evidence.js';
import { metricsPart } from '../../../src/tools/doctor/gather/metrics.js';
import { readMeasurements } from '../../../src/tools/doctor/measurements/measurements.js';
import { seenIn } from '../../../src/tools/doctor/measurements/seen.js';
import { propertyRuns } from '../../support/property-runs.js';
import { anyEvidence } from './support/any-evidence.js';
import { CASES, resultsPage } from './support/cases.js';
import {
  decisionsOf,
  frontendPage,
  joined,
  logOf,
  namesOf,
  settingOf,
  sizeOf,
  tallyOf,
} from './support/evidence.js';

/** A router that finds what engines have, over hundreds of decisions. */
const working = frontendPage({ hitRate: 0.8, decisions: 500, cachedTokens: 160_000 });
/** A fleet of kv-accord whose predictions come true. */
const comeTrue = (worker: string): EvidencePart => {
  const { samples } = resultsPage({ doubted: 0, predicted: 64_000, reported: 64_000, over: 0 });
  const text = [...samples.values()]
    .flat()
    .map(({ name, valueText }) => `${name}{worker="${worker}"} ${valueText}`)
    .join('\n');
  return metricsPart(`http://frontend:9463/${worker}`, `${text}\n`);
};

/** A decode engine that gets its prompts from another, and counts no failure. */
const transferred = metricsPart(
  'http://decode:8000/metrics',
  [
    'vllm:nixl_num_failed_transfers_total{engine="0"} 0',
    'vllm:nixl_num_kv_expired_reqs_total{engine="0"} 0',
    'vllm:prompt_tokens_by_source_total{source="external_kv_transfer"} 64000',
    'vllm:prompt_tokens_by_source_total{source="local_compute"} 0',
    'vllm:nixl_bytes_transferred_sum 40000000000',
    'vllm:nixl_bytes_transferred_count 100',
    'vllm:nixl_xfer_time_seconds_sum 0.4',
    '',
  ].join('\n'),
);

/** For each cause an effect that could not be if it did harm; none where the cause is itself the effect that was measured. */
const EFFECTS: Readonly<Record<CauseId, readonly EvidencePart[] | Partial<Evidence> | 'is an effect'>> = {
  block_size_mismatch: [working],
  wrong_model_card: [working],
  workers_rejected: {
    logs: [
      logOf([], {
        name: 'later.log',
        decisions: decisionsOf({ byWorker: new Map([[String(0xc7d4e3ff8175700n), 40]]) }),
      }),
    ],
  },
  hash_mismatch: [working],
  token_mismatch: [comeTrue('a'), comeTrue('b')],
  misread_events: [comeTrue('a'), comeTrue('b')],
  events_off: [working],
  events_unreachable: [working],
  publisher_failed: [working],
  events_unreadable: [working],
  picker_index_incomplete: [working],
  prompts_not_scored: [working],
  pair_incompatible: [transferred],
  side_channel_unreachable: [transferred],
  side_channel_dead: [transferred],
  role_missing: [transferred],
  decode_recomputes: 'is an effect',
  leases_expire: [transferred],
  transfer_slow: [transferred],
  instance_unknown: [working],
  model_not_added: [working],
  offload_failed: [working],
  control_plane_unreachable: [working],
  settings_refused: [working],
  library_missing: [working],
  transfer_path_broken: [transferred],
  cache_memory_missing: [working],
  connector_crashed: [working],
  transfers_fail: [transferred],
  program_ended: [working],
  canary_failed: [comeTrue('w-1')],
  results_contradict: 'is an effect',
  events_lost: [working],
  frontend_late: [working],
  cache_churn: [working],
  other_namespace: [working],
  hybrid_block_size: [working],
  unsynced_frontends: [working],
  not_kv_routing: [working],
  events_ignored: [working],
  no_shared_prefixes: [working],
};

function restarts({ disturbs, files }: ProposedFix): boolean {
  return disturbs !== 'nothing' || files.length > 0;
}

describe('an effect that was measured', () => {
  it.each(CASES)('outranks the labels of $name', ({ evidence, memory, first }) => {
    const cause = first.split(' ')[0] as CauseId;
    const effect = EFFECTS[cause];
    if (effect === 'is an effect') {
      const contradictions = ALL_CAUSES.find(({ id }) => id === cause)?.contradictedBy;
      expect(contradictions?.(readMeasurements(evidence, []))).toEqual([]);
      return;
    }
    // What the frontend counted is replaced by the effect; all that others say of it stays.
    const others = evidence.metrics.filter(
      ({ program }) => program !== 'dynamo-frontend' && program !== 'kv-accord',
    );
    const parts = Array.isArray(effect) ? effect : [effect];
    const { assessments } = diagnose(joined({ ...evidence, metrics: others }, ...parts), memory);
    const named = assessments.find((assessment) => assessment.cause === cause);
    expect(named?.confidence ?? 'possible').toBe('possible');
    expect(named?.fixes.filter(restarts) ?? []).toEqual([]);
  });

  it('is known for every cause', () => {
    expect(Object.keys(EFFECTS).sort()).toEqual([...CAUSES].sort());
  });

  it('leaves no cause of a blind router likely, whatever else is said', () => {
    const ofRouter = CAUSES.filter((cause) => {
      const effect = EFFECTS[cause];
      return Array.isArray(effect) && effect.includes(working);
    });
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const works = joined(
          {
            ...evidence,
            logs: evidence.logs.map((log) => ({
              ...log,
              decisions: undefined,
              // What kv-accord keeps apart, the others' hits do not speak of.
              signals: new Map([...log.signals].filter(([signal]) => !signal.startsWith('accord_'))),
            })),
            metrics: [],
            fleets: [],
            sizes: evidence.sizes
              .filter(({ side }) => side === 'worker' || side === 'frontend')
              .map((size) => ({ ...size, who: size.side })),
          },
          working,
        );
        for (const { cause, confidence, fixes } of diagnose(works).assessments) {
          if (!ofRouter.includes(cause)) continue;
          expect(`${cause} ${confidence}`).toBe(`${cause} possible`);
          // Those that are still named are weak signs beside what works, or contradicted.
          if (cause === 'block_size_mismatch' || cause === 'wrong_model_card')
            expect(fixes.filter(restarts)).toEqual([]);
        }
      }),
      { numRuns: propertyRuns(120) },
    );
  });

  it('of a part of the workers does not speak for the others', () => {
    const evidence = joined(frontendPage({ size: 32, hitRate: 0.4, decisions: 500, cachedTokens: 155_000 }), {
      sizes: [sizeOf('worker', 32, 'in_use', 'a'), sizeOf('worker', 16, 'in_use', 'b')],
    });
    expect(namesOf(diagnose(evidence))).toEqual(['block_size_mismatch likely']);
  });
});

describe('cases that were called wrong', () => {
  const deepseek = metricsPart(
    'http://worker-0:8000/metrics',
    'vllm:cache_config_info{block_size="4",enable_prefix_caching="True",num_gpu_blocks="90000"} 1.0\n',
  );

  it('a metric of 4 beside a router of 256 that works: healthy, and nothing to change', () => {
    const evidence = joined(
      frontendPage({ size: 256, hitRate: 0.62, decisions: 900, cachedTokens: 126_000, stored: 9_000 }),
      deepseek,
      { settings: [settingOf('worker', 'dynamo_version', '1.6.1')] },
    );
    const { verdict, assessments, advice } = diagnose(evidence);
    expect(verdict).toBe('healthy');
    expect(assessments.flatMap(({ fixes }) => fixes.filter(restarts))).toEqual([]);
    expect(advice).not.toMatch(/register|\b4\b/);
  });

  it('the same metric beside a router of 256 that finds nothing: a mismatch', () => {
    const evidence = joined(
      frontendPage({ size: 256, hitRate: 0, cachedTokens: 126_000, stored: 90 }),
      deepseek,
    );
    expect(namesOf(diagnose(evidence))[0]).toBe('block_size_mismatch certain');
  });

  it('one vLLM by itself that finds 63 % and publishes nothing: no verdict about a router', () => {
    const page = metricsPart(
      'http://vllm:8000/metrics',
      [
        'vllm:cache_config_info{block_size="16",enable_prefix_caching="True"} 1.0',
        'vllm:prefix_cache_queries_total{model_name="m"} 100000',
        'vllm:prefix_cache_hits_total{model_name="m"} 63000',
        '',
      ].join('\n'),
    );
    const evidence = joined(page, {
      settings: [settingOf('worker', 'publishes_kv_events', 'false'), settingOf('worker', 'backend', 'vllm')],
      logs: [logOf([], { name: 'vllm.log', programs: new Map([['vllm', 900]]) })],
    });
    const { verdict, assessments, advice } = diagnose(evidence);
    expect({ verdict, assessments }).toEqual({ verdict: 'unknown', assessments: [] });
    expect(advice).toMatch(/^(?:Add|Run) /);
  });

  it('one vLLM by itself that raised its block size: no verdict', () => {
    const evidence = joined({
      logs: [
        logOf([tallyOf('block_size_changed_by_engine', 1, { values: new Map([['16 -> 528', 1]]) })], {
          programs: new Map([['vllm', 900]]),
        }),
      ],
    });
    expect(diagnose(evidence)).toMatchObject({ verdict: 'unknown', assessments: [] });
  });

  it('a hybrid model of vLLM behind Dynamo: the flags of dynamo.vllm', () => {
    const evidence = joined(frontendPage({ size: 16, hitRate: 0, cachedTokens: 128_000 }), {
      settings: [settingOf('worker', 'backend', 'vllm')],
      logs: [
        logOf([tallyOf('block_size_changed_by_engine', 1, { values: new Map([['16 -> 528', 1]]) })], {
          name: 'worker.log',
        }),
      ],
    });
    const [first] = diagnose(evidence).assessments;
    expect(first?.cause).toBe('hybrid_block_size');
    expect(first?.fixes[0]?.says).toContain('dynamo.vllm worker with --block-size 528');
    expect(JSON.stringify(first?.fixes)).not.toMatch(/trtllm/);
  });
});

/** Names of programs in a text, and whether their program was seen. */
const PROGRAMS: readonly (readonly [RegExp, (seen: ReturnType<typeof seenIn>) => boolean])[] = [
  [/dynamo|DYN_|nvext/i, ({ dynamo }) => dynamo],
  [/vllm/i, ({ engines }) => engines.some(({ word }) => word === 'vllm')],
  [/sglang/i, ({ engines }) => engines.some(({ word }) => word === 'sglang')],
  [/trt-?llm|tensorrt/i, ({ engines }) => engines.some(({ word }) => word === 'trtllm')],
  [/kv-accord status/, ({ kvAccord }) => kvAccord],
];

describe('cures', () => {
  const unseenIn = (evidence: Evidence): string[] => {
    const seen = seenIn(evidence);
    const texts = diagnose(evidence).assessments.flatMap(({ fixes }) =>
      // What lint proposes stands in the manifests that it read.
      fixes.flatMap(({ says, why, commands, verify }) => [
        ...[says, why, ...commands],
        // Behind kv-accord exec there is a fleet of kv-accord to look at.
        ...(says.includes('kv-accord exec') ? [] : verify),
      ]),
    );
    return texts.filter((text) => PROGRAMS.some(([name, isSeen]) => name.test(text) && !isSeen(seen)));
  };

  it.each(CASES)('of $name name no program that was not seen', ({ evidence }) => {
    expect(unseenIn(evidence)).toEqual([]);
  });

  it('of any evidence name no program that was not seen', () => {
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        // A model may be called anything.
        const settings = evidence.settings.filter(({ name }) => name !== 'model');
        expect(unseenIn({ ...evidence, settings })).toEqual([]);
      }),
      { numRuns: propertyRuns(150) },
    );
  });

  it.each(CASES)('of $name begin with what to do, and where', ({ evidence, memory }) => {
    for (const { fixes } of diagnose(evidence, memory).assessments) {
      const says = fixes[0]?.says ?? '';
      expect(says).toMatch(
        /^(?:Add|Compare|Give|Have|Move|Open|Restart|Run|Send|Serve|Set|Start|Wait|Write) /,
      );
      // A flag, a variable, a key, a command or an address.
      expect(says).toMatch(/--\w|[A-Z]=|\w: \w|=\d|kubectl|kv-accord|http:\/\/|NetworkPolicy|\w+ worker/);
    }
  });
});

describe('without a router', () => {
  const ABOUT_ROUTERS = ALL_CAUSES.filter(
    ({ concerns }) =>
      !concerns({
        router: false,
        dynamo: false,
        picker: false,
        others: [],
        eventReader: false,
        kvAccord: false,
        statusAddress: undefined,
        engines: [],
      }),
  ).map(({ id }) => id);

  it('no cause that is said of one is named', () => {
    expect(ABOUT_ROUTERS).toContain('block_size_mismatch');
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const alone = joined({
          sizes: evidence.sizes.filter(({ side }) => side === 'worker'),
          settings: evidence.settings.filter(
            ({ side, name }) =>
              side === 'worker' && !/router|dynamo|chat_processor|frontend|canary|program/.test(name),
          ),
          logs: [logOf([tallyOf('preemption', 4)], { programs: new Map([['vllm', 9]]) })],
        });
        expect(seenIn(alone)).toMatchObject({ router: false, dynamo: false });
        const { assessments, headline } = diagnose(alone);
        expect(assessments.filter(({ cause }) => ABOUT_ROUTERS.includes(cause))).toEqual([]);
        expect(headline).not.toMatch(/\brouter\b/);
      }),
    );
  });
});
