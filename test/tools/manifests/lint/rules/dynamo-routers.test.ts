import { describe, expect, it } from 'vitest';
import { found, inspect } from '../support.js';

interface Part {
  readonly type: string;
  readonly image?: string;
  readonly command?: string;
  readonly more?: string;
  readonly env?: string;
}

/** A graph of Dynamo, v1beta1. */
function graph(...parts: readonly Part[]): string {
  const components = parts.map(
    ({ type, image = 'r/vllm-runtime:1.2.1', command, more = '', env = '' }, index) => `  - name: C${index}
    type: ${type}
${more}    podTemplate:
      spec:
        containers:
        - name: main
          image: "${image}"
${command === undefined ? '' : `          command: [${command}]\n`}${env === '' ? '' : `          env: [${env}]\n`}`,
  );
  return `apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  components:
${components.join('')}---
`;
}

const front = (more = ''): Part => ({
  type: 'frontend',
  command: `python3, -m, dynamo.frontend, --router-mode, kv${more}`,
});
const EVENTS = `, --kv-events-config, '{"enable_kv_cache_events":true}'`;
const worker = (type: string, more = ''): Part => ({
  type,
  command: `python3, -m, dynamo.vllm, --model, m, --block-size, "16"${more}`,
});

describe('a component of the type decode', () => {
  it('computes whole requests where no worker is for prefill', () => {
    expect(found({ 'a.yaml': graph(front(), worker('decode', ', --no-enable-prefix-caching')) })).toEqual([
      'prefix-caching-off a.yaml:21 error',
    ]);
    expect(found({ 'a.yaml': graph(front(), worker('decode')) })).toEqual(['kv-events-off a.yaml:21 error']);
    expect(found({ 'a.yaml': graph(front(), worker('decode', EVENTS)) })).toEqual([]);
  });

  it.each([
    ['its command says so', [worker('decode', ', --is-decode-worker')]],
    ['a worker is for prefill', [worker('decode'), worker('prefill', EVENTS)]],
    ['its command says so by a mode', [worker('worker', ', --disaggregation-mode, decode')]],
  ])('publishes to nobody where %s', (_name, workers) => {
    expect(found({ 'a.yaml': graph(front(), ...workers) })).toEqual([]);
  });

  it('may leave events out from Dynamo 1.4 on, and is not meant to with a flag that switches nothing on', () => {
    const of = (more: string): readonly string[] => {
      const image = 'r/vllm-runtime:1.4.0';
      return found({ 'a.yaml': graph({ ...front(), image }, { ...worker('worker', more), image }) });
    };
    expect(of('')).toEqual(['kv-events-off a.yaml:21 warning']);
    expect(of(`, --kv-events-config, '{"publisher":"zmq"}'`)).toEqual(['kv-events-off a.yaml:21 error']);
  });

  it('is the one that a router knows before Dynamo 0.8 beside a SGLang for prefill, which does not register', () => {
    const pair = (release: string): string => {
      const image = `r/sglang-runtime:${release}`;
      const sglang = (mode: string): Part => ({
        type: mode,
        image,
        command: `python3, -m, dynamo.sglang, --model-path, m, --page-size, "16", --disaggregation-mode, ${mode}`,
      });
      return graph({ ...front(), image }, sglang('prefill'), sglang('decode'));
    };
    expect(found({ 'a.yaml': pair('0.7.1') })).toEqual([]);
    expect(found({ 'a.yaml': pair('0.8.0') })).toEqual(['kv-events-off a.yaml:21 error']);
  });

  it('is none whose events are ignored', () => {
    const old = (more: string): string =>
      graph(front(', --no-kv-events'), worker('worker', more)).replaceAll('1.2.1', '1.0.2');
    expect(found({ 'a.yaml': old(', --is-decode-worker') })).toEqual([]);
    expect(found({ 'a.yaml': old('') })).toEqual(['events-ignored a.yaml:13 note']);
  });
});

describe('the endpoint picker of a graph', () => {
  const epp = (plugin: string, env = ''): Part => ({
    type: 'epp',
    image: 'r/dynamo-frontend:1.2.1',
    more: `    eppConfig: {config: {plugins: [{name: s, type: ${plugin}}]}}\n`,
    env: `{name: DYN_KV_CACHE_BLOCK_SIZE, value: "16"}${env}`,
  });

  it.each(['dyn-decode-scorer', 'dyn-prefill-scorer', 'kv-aware-scorer'])(
    'needs events of its workers with %s',
    (plugin) => {
      expect(found({ 'a.yaml': graph(epp(plugin), worker('worker')) })).toEqual([
        'kv-events-off a.yaml:22 error',
      ]);
      expect(
        found({ 'a.yaml': graph(epp(plugin), worker('decode', ', --no-enable-prefix-caching')) }),
      ).toEqual(['prefix-caching-off a.yaml:22 error']);
      expect(found({ 'a.yaml': graph(epp(plugin), worker('worker', EVENTS)) })).toEqual([]);
    },
  );

  it.each([
    ['reads none', epp('dyn-decode-scorer', ', {name: DYN_USE_KV_EVENTS, value: "false"}')],
    [
      'gives them no weight',
      epp('dyn-decode-scorer', ', {name: DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT, value: "0"}'),
    ],
    ['goes by load', epp('queue-scorer')],
  ])('needs none where it %s', (_name, picker) => {
    expect(found({ 'a.yaml': graph(picker, worker('worker')) })).toEqual([]);
  });

  it('is none of llm-d where it is configured in a ConfigMap', () => {
    const config =
      'kind: EndpointPickerConfig\nplugins: [{name: s, type: dyn-decode-scorer}]\nschedulingProfiles: []\n';
    const { notChecked } = inspect({ 'a.yaml': config });
    expect(notChecked).toMatchObject([
      { program: 'Dynamo endpoint picker', reason: 'its KV router is set by variables of its container' },
    ]);
  });
});

describe('a router that gives no weight to what workers hold', () => {
  const silent = 'python3 -m dynamo.vllm --model m --block-size 64\n';
  it.each([
    'python3 -m dynamo.router --endpoint e --router-block-size 16 --router-kv-overlap-score-credit 0 &',
    'python3 -m dynamo.router --endpoint e --router-kv-overlap-score-weight 0.0 &',
    'DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT=0 python3 -m dynamo.router --endpoint e --router-block-size 16 &',
    'python3 -m dynamo.frontend --router-mode kv --dyn-chat-processor vllm --kv-overlap-score-weight 0 &',
    'python3 -m dynamo.frontend --router-mode kv --no-kv-events --router-kv-overlap-score-weight 0 &',
  ])('is compared with nothing: %s', (router) => {
    expect(found({ 'a.sh': `${router}\n${silent}` })).toEqual([]);
  });

  it.each(['0.5', '1', '$WEIGHT'])('is compared with a weight of %s', (weight) => {
    const router = `python3 -m dynamo.router --endpoint e --router-block-size 16 --router-kv-overlap-score-credit ${weight} &`;
    expect(found({ 'a.sh': `${router}\n${silent}` })).toEqual(['block-size-mismatch a.sh:1 error']);
  });
});

describe('workers whose image is filled in later', () => {
  const chart = { 'charts/platform/Chart.yaml': 'name: dynamo-platform\nversion: 1.3.0\n' };
  const files = (image: string): Readonly<Record<string, string>> => ({
    'a.yaml': graph(front(), { ...worker('worker'), image }),
  });
  it.each([`\${VLLM_IMAGE}`, `r/vllm-runtime:\${TAG}`, '$IMAGE', '<image>'])(
    'have the version of the repository: %s',
    (image) => {
      expect(found(files(image))).toEqual([]);
      expect(found({ ...files(image), ...chart })).toEqual(['kv-events-off a.yaml:21 error']);
      expect(
        found({
          ...files(image),
          ...chart,
          ...{ 'charts/platform/Chart.yaml': 'name: dynamo-platform\nversion: 1.0.2\n' },
        }),
      ).toEqual([]);
    },
  );

  it.each(['r/vllm-runtime:my-tag', 'own/image:1'])('have none where it is written: %s', (image) => {
    expect(found({ ...files(image), ...chart })).toEqual([]);
  });
});

describe('further routers of Dynamo', () => {
  it('are compared as dynamo.router is, where they have its options', () => {
    const script = (more: string): string =>
      `python -m dynamo.thunderagent_router --endpoint e --model-name m${more} &\npython -m dynamo.vllm --model m --block-size 64${EVENTS.replace(/, --/, ' --').replace(', ', ' ')} &\n`;
    expect(found({ 'a.sh': script(' --router-block-size 16') })).toEqual([
      'block-size-mismatch a.sh:1 error',
    ]);
    expect(found({ 'a.sh': script('') })).toEqual(['router-block-size-default a.sh:1 error']);
    expect(found({ 'a.sh': script(' --router-block-size 64') })).toEqual([]);
  });

  it.each([
    ['python3 -m dynamo.global_router --config c.json', 'dynamo.global_router'],
    ['dynamo serve graphs.agg_router:Frontend -f configs/agg.yaml', 'dynamo serve'],
    ['dynamo run in=http out=vllm --router-mode kv', 'dynamo run'],
  ])('are named: %s', (command, program) => {
    expect(inspect({ 'a.sh': `${command}\n` }).notChecked).toMatchObject([
      { program, reason: 'no rule knows it' },
    ]);
  });
});

describe('a worker whose command is a variable', () => {
  const of = (command: string): readonly string[] =>
    inspect({ 'a.yaml': graph(front(), { type: 'worker', image: '$IMAGE', command }) }).notChecked.map(
      ({ program, reason }) => `${program}: ${reason}`,
    );
  it.each(['/bin/sh, -c, "$DECODE_COMMAND"', `bash, -c, "exec \${COMMAND}"`, '$COMMAND'])(
    'is named: %s',
    (command) => {
      expect(of(command)).toContain('Dynamo worker: its command is not in these files');
    },
  );

  it.each(['sleep, infinity', 'python3, -m, my.encoder'])('is nothing else: %s', (command) => {
    expect(of(command).filter((one) => one.startsWith('Dynamo worker'))).toEqual([]);
  });
});

describe('a frontend without a block size', () => {
  const trtllm = `python3, -m, dynamo.trtllm, --model-path, m, --publish-kv-events`;
  const of = (version: string, more = ''): readonly string[] =>
    found({
      'a.yaml': graph(front(more), { type: 'worker', command: trtllm }).replaceAll('1.2.1', version),
    });
  it.each(['0.9.0', '1.0.2', '1.2.1', '1.3.1'])('needs none where the card decides: %s', (version) => {
    expect(of(version)).toEqual([]);
  });

  it('needs one where its number decides', () => {
    expect(of('1.2.1', ', --dyn-chat-processor, vllm')).toEqual(['block-size-unset a.yaml:13 error']);
  });
});

describe('the cure of a worker that publishes no KV events', () => {
  const script = (flags: string): string =>
    `python3 -m dynamo.frontend --router-mode kv &\npython3 -m dynamo.vllm --model m --block-size 16 ${flags} &\npython3 -m dynamo.vllm --model m --block-size 16 ${flags}\n`;
  const advice = (flags: string): string | undefined =>
    inspect({ 'a.sh': script(flags) }).findings.find(({ ruleId }) => ruleId === 'kv-events-off')?.advice;

  it('keeps what its configuration says already', () => {
    expect(advice(`--kv-events-config '{"topic":"kv","endpoint":"tcp://*:20081"}'`)).toBe(
      `Start it with --kv-events-config '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:20081","topic":"kv"}', each worker of a host with a port of its own.`,
    );
    expect(
      advice(`--kv-events-config '{"enable_kv_cache_events":false,"endpoint":"tcp://*:20081"}'`),
    ).toContain(`'{"enable_kv_cache_events":true,"endpoint":"tcp://*:20081","publisher":"zmq"}'`);
  });
});

describe('a frontend of Dynamo without a router mode', () => {
  const script = (frontend: string, worker = ''): string =>
    `${frontend} &\npython3 -m dynamo.vllm --model m --block-size 64${worker}\n`;

  it.each([
    'DYN_ROUTER_USE_KV_EVENTS=false python3 -m dynamo.frontend',
    'python3 -m dynamo.frontend --kv-overlap-score-weight 2',
    'python3 -m dynamo.frontend --router-replica-sync',
  ])('has settings of the other router in vain: %s', (frontend) => {
    expect(found({ 'a.sh': script(frontend) })).toEqual(['router-settings-unread a.sh:1 warning']);
  });

  it.each([
    'DYN_ROUTER_TEMPERATURE=0.5 python3 -m dynamo.frontend --router-mode round-robin',
    'DYN_ROUTER_TEMPERATURE=0.5 DYN_ROUTER_MODE=random python3 -m dynamo.frontend',
    'DYN_ROUTER_TEMPERATURE=0.5 python3 -m dynamo.frontend $MORE',
    'python3 -m dynamo.frontend --http-port 8000',
  ])('is passed over where a mode is said, or may be: %s', (frontend) => {
    expect(found({ 'a.sh': script(frontend) })).toEqual([]);
  });

  it('has a note where a block size is all that it has', () => {
    const frontend = 'DYN_KV_CACHE_BLOCK_SIZE=64 python3 -m dynamo.frontend';
    expect(found({ 'a.sh': script(frontend) })).toEqual(['router-settings-unread a.sh:1 note']);
  });

  it('takes that of the card of a worker', () => {
    const frontend = 'DYN_ROUTER_TEMPERATURE=0.5 python3 -m dynamo.frontend';
    expect(found({ 'a.sh': script(frontend, ' --router-mode kv') })).toEqual([]);
  });
});
