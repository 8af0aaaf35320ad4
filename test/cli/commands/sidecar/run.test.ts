import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../../../src/cli/commands.js';
import { runCli } from '../../../../src/cli/run.js';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { findPathProblem, readTextFile } from '../../../../src/edge/platform/files/file.js';
import { TextRecorder } from '../../../support/text-recorder.js';

interface Report {
  readonly workerId: string;
  readonly engine?: {
    readonly state?: string;
    readonly role?: string;
    readonly servingAddresses?: readonly unknown[];
  };
  readonly contract?: { readonly tokensPerBlock?: number; readonly hashAlgorithm?: string };
  readonly completeness: { readonly state: string; readonly reasons?: readonly string[] };
  readonly topology?: { readonly notes?: readonly string[]; readonly gpus?: readonly unknown[] };
}

const FREE_PORTS = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'];
const started: { stop(): Promise<number> }[] = [];
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kv-accord-sidecar-'));
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(async () => {
  for (const sidecar of started.splice(0)) await sidecar.stop();
});

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

/** Runs the command to its end. */
async function run(
  flags: readonly string[],
  modules: { readonly signal?: AbortSignal; readonly environment?: Record<string, string> } = {},
): Promise<{ code: number; stdout: TextRecorder; stderr: TextRecorder; log: string[] }> {
  const stdout = new TextRecorder();
  const stderr = new TextRecorder();
  const log: string[] = [];
  const code = await runCli(['sidecar', ...flags], {
    commands,
    clock: systemClock,
    environment: modules.environment ?? {},
    stdout,
    stderr,
    signal: modules.signal ?? AbortSignal.abort(),
    takeOverSignals: () => undefined,
    version: '1.2.3',
    logDestination: { write: (line) => void log.push(line) },
    readTextFile,
    findPathProblem,
  });
  return { code, stdout, stderr, log };
}

/** Starts the command; resolves when it has printed where it serves. */
async function start(
  flags: readonly string[],
  environment: Record<string, string> = {},
): Promise<{ http: string; stop(): Promise<number> }> {
  const stop = new AbortController();
  const stdout = new TextRecorder();
  const stderr = new TextRecorder();
  const listening = new Promise<string>((resolve) => {
    stdout.write = resolve;
  });
  const ended = runCli(['sidecar', '--json', ...FREE_PORTS, ...flags], {
    commands,
    clock: systemClock,
    environment,
    stdout,
    stderr,
    signal: stop.signal,
    takeOverSignals: () => undefined,
    version: '1.2.3',
    logDestination: { write: () => undefined },
    readTextFile,
    findPathProblem,
  });
  const failed = ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${stderr.text}`)));
  const { http } = JSON.parse(await Promise.race([listening, failed])) as { http: string };
  failed.catch(() => undefined);
  const sidecar = {
    http: `http://${http}`,
    stop: () => {
      stop.abort();
      return ended;
    },
  };
  started.push(sidecar);
  return sidecar;
}

/** The first report that is as wanted; asked over HTTP. */
async function reportOf(
  sidecar: { readonly http: string },
  isWanted: (report: Report) => boolean = () => true,
): Promise<Report> {
  for (;;) {
    const response = await fetch(`${sidecar.http}/api/v1/capabilities`, { headers: { connection: 'close' } });
    const report = (await response.json()) as Report;
    if (isWanted(report)) return report;
  }
}

interface Events {
  readonly reason: string;
  readonly sources: readonly unknown[];
  readonly ranks: readonly unknown[];
}

/** What is said of the KV events when it is as wanted; asked over HTTP. */
async function eventsOf(
  sidecar: { readonly http: string },
  isWanted: (events: Events) => boolean = () => true,
): Promise<Events> {
  for (;;) {
    const response = await fetch(`${sidecar.http}/api/v1/kv-events`, { headers: { connection: 'close' } });
    const events = (await response.json()) as Events;
    if (isWanted(events)) return events;
  }
}

const isComplete = ({ completeness }: Report): boolean => completeness.state === 'STATE_COMPLETE';

describe('kv-accord sidecar', () => {
  it('reports what was declared when there is no engine to ask, marked as such, and ends with 0', async () => {
    const sidecar = await start(['--engine', 'none', '--tokens-per-block', '32', '--model', 'tiny']);
    const report = await reportOf(sidecar, isComplete);
    expect(report).toMatchObject({
      contract: { tokensPerBlock: 32 },
      warnings: [expect.stringContaining('every value here is declared')],
      evidence: expect.arrayContaining([
        expect.objectContaining({
          field: 'contract.tokens_per_block',
          source: 'EVIDENCE_SOURCE_DECLARED',
          origin: '--tokens-per-block',
        }),
      ]),
    });
    expect(await sidecar.stop()).toBe(0);
  });

  it('reads declared values from a file', async () => {
    const path = await file('declare.yaml', 'tokens_per_block: 64\nmodel: { served_names: [m] }\n');
    const report = await reportOf(await start(['--engine', 'none', '--declare', path]), isComplete);
    expect(report.contract?.tokensPerBlock).toBe(64);
  });

  it('reports the declared role, and by which address others reach the engine', async () => {
    const sidecar = await start(['--engine', 'none', '--advertise-engine', 'http://gpu-7.lan:8000/llama/'], {
      KV_ACCORD_ROLE: 'decode',
    });
    const { engine } = await reportOf(sidecar, (report) => report.engine?.role !== undefined);
    expect(engine).toMatchObject({
      role: 'ENGINE_ROLE_DECODE',
      servingAddresses: [{ protocol: 'PROTOCOL_OPENAI_HTTP', address: 'http://gpu-7.lan:8000/llama' }],
    });
    const page = await fetch(`${sidecar.http}/`, { headers: { accept: 'text/html', connection: 'close' } });
    expect(await page.text()).toContain('decode');
  });

  it('is named by --worker-id, else by the pod', async () => {
    const none = ['--engine', 'none'];
    expect((await reportOf(await start(none, { POD_UID: 'uid-7' }))).workerId).toBe('uid-7');
    const both = await start([...none, '--worker-id', 'w-9'], { POD_UID: 'uid-7' });
    expect((await reportOf(both)).workerId).toBe('w-9');
  });

  it('goes on while its engine cannot be reached', async () => {
    const sidecar = await start(['--engine', 'http://127.0.0.1:9']);
    const report = await reportOf(sidecar, (each) => each.engine?.state === 'ENGINE_STATE_UNREACHABLE');
    expect(report.completeness.reasons?.[0]).toContain('http://127.0.0.1:9');
  });

  it('reads no KV events when that is off, and says why nothing is read otherwise', async () => {
    const none = ['--engine', 'none'];
    expect(await eventsOf(await start([...none, '--kv-event-sources', 'off']))).toEqual({
      reason: 'KV events are not read here (--kv-event-sources off)',
      sources: [],
      ranks: [],
    });
    const auto = await eventsOf(await start(none), ({ reason }) => reason.includes('--kv-event-sources'));
    expect(auto.reason).toContain('the engine names no source of KV events');
  });

  it('reads the KV events that are named, rank by rank', async () => {
    const { sources } = await eventsOf(
      await start([
        ...['--engine', 'none', '--kv-event-sources', 'tcp://127.0.0.1:9,tcp://127.0.0.1:10'],
        ...['--kv-replay-sources', 'tcp://127.0.0.1:19,tcp://127.0.0.1:20'],
      ]),
      (each) => each.ranks.length > 0,
    );
    expect(sources).toEqual([
      {
        kind: 'zmq',
        rank: 0,
        endpoint: 'tcp://127.0.0.1:9',
        topic: '',
        replayEndpoint: 'tcp://127.0.0.1:19',
      },
      {
        kind: 'zmq',
        rank: 1,
        endpoint: 'tcp://127.0.0.1:10',
        topic: '',
        replayEndpoint: 'tcp://127.0.0.1:20',
      },
    ]);
  });

  it('takes a recorded topology as it is', async () => {
    const path = await file('topology.json', '{"notes":["from a file"],"gpus":[{"uuid":"GPU-1"}]}');
    const sidecar = await start(['--engine', 'none', '--topology', path]);
    const report = await reportOf(sidecar, ({ topology }) => topology !== undefined);
    expect(report.topology?.gpus).toHaveLength(1);
  });

  it('prints where it listens', async () => {
    const { stdout, code } = await run(['--engine', 'none', '--topology', 'off', ...FREE_PORTS]);
    expect(code).toBe(0);
    expect(stdout.text).toMatch(/^kv-accord sidecar: gRPC on 127\.0\.0\.1:\d+, HTTP on 127\.0\.0\.1:\d+\n$/);
  });
});

describe('a setting of kv-accord sidecar that cannot be used', () => {
  async function refusal(...flags: string[]): Promise<string> {
    const { code, stdout, stderr, log } = await run([...FREE_PORTS, ...flags]);
    expect(code).toBe(2);
    expect(stdout.text).toBe('');
    expect(log).toEqual([]);
    expect(stderr.text).toMatch(/^kv-accord sidecar: [^\n]*\n$/);
    return stderr.text;
  }

  it('names a port that is taken', async () => {
    const taken: Server = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    for (const flag of ['--listen', '--http-listen']) {
      const text = await refusal(flag, `127.0.0.1:${port}`);
      expect(text).toContain(`${flag}: cannot listen on 127.0.0.1:${port}: another process listens on it`);
    }
    await new Promise((resolve) => taken.close(resolve));
  });

  it('does not serve plaintext to other machines', async () => {
    expect(await refusal('--listen', '0.0.0.0:0')).toContain('--insecure');
    expect(await refusal('--http-listen', '0.0.0.0:0')).toContain('--http-listen');
  });

  it('names the file, the field and the value of a wrong declaration', async () => {
    const path = await file('wrong.yaml', 'tokens_per_block: 0\n');
    expect(await refusal('--declare', path)).toContain(`file ${path}: tokens_per_block is 0`);
  });

  it('names the member of a wrong topology', async () => {
    const path = await file('wrong.json', '{"gpus": 7}');
    expect(await refusal('--topology', path)).toContain(path);
  });

  it.each([
    ['http://gpu-7.lan:8000/v1', 'must be without /v1 at its end: /v1/… is appended to it'],
    ['http://me@gpu-7.lan', 'must be a comma-separated list of URLs without user name and password'],
    ['http://gpu-7.lan:0', 'must be with a port from 1 to 65535'],
    ['gpu-7.lan:8000', 'must be a comma-separated list of URLs'],
  ])('names an address of the engine that nobody could use: %s', async (url, expected) => {
    expect(await refusal('--advertise-engine', url)).toContain(expected);
  });

  it('takes no password in an address, and does not show it', async () => {
    const text = await refusal('--engine', 'http://me:sesame@127.0.0.1:8000');
    expect(text).toContain(
      '--engine "http://me:***@127.0.0.1:8000" (on the command line): must be auto, or none',
    );
    expect(text).toContain('URLs without user name and password');
    expect(text).not.toContain('sesame');
  });

  it('is asked for a folder where it wants one', async () => {
    expect(await refusal('--dynamo-file-kv', '')).toContain('must be a folder that can be read');
    expect(await refusal('--trtllm-config', '')).toContain('must be a file that can be read');
  });

  const SIZE = '--tokens-per-block (KV_ACCORD_TOKENS_PER_BLOCK)';
  const EVENTS = '--kv-event-sources (KV_ACCORD_KV_EVENT_SOURCES)';
  it.each([
    [[], `${SIZE} and ${EVENTS}, or with tokens_per_block and kv_event_sources in the file of --declare`],
    [['--tokens-per-block', '16'], `${EVENTS}, or with kv_event_sources in the file of --declare`],
    [
      ['--kv-event-sources', 'tcp://127.0.0.1:1'],
      `${SIZE}, or with tokens_per_block in the file of --declare`,
    ],
  ])('names what an engine that is not known here needs, with %j', async (flags, needs) => {
    expect(await refusal('--engine-kind', 'other', ...flags)).toContain(
      `--engine-kind other: must be given together with ${needs}: `,
    );
  });

  it.each([
    ['by flags', ['--tokens-per-block', '16', '--kv-event-sources', 'tcp://127.0.0.1:1']],
    ['without KV events', ['--tokens-per-block', '16', '--kv-event-sources', 'off']],
  ])('is none for such an engine that is declared %s', async (_how, flags) => {
    const given = ['--engine', 'none', '--engine-kind', 'other', '--topology', 'off', ...FREE_PORTS];
    expect((await run([...given, ...flags])).code).toBe(0);
  });

  it('is none for such an engine that is declared by a file', async () => {
    const sources = 'kv_event_sources: [{data_parallel_rank: 0, endpoint: "tcp://127.0.0.1:1"}]\n';
    const path = await file('other.yaml', `tokens_per_block: 16\n${sources}`);
    const given = ['--engine', 'none', '--engine-kind', 'other', '--topology', 'off', ...FREE_PORTS];
    expect((await run([...given, '--declare', path])).code).toBe(0);
  });

  it('never shows what may be a key', async () => {
    const path = await file('key.txt', 'two words\n');
    const text = await refusal('--engine-api-key-file', path);
    expect(text).toContain('--engine-api-key-file');
    expect(text).not.toContain('two words');
  });

  it.each([
    [
      ['--kv-event-sources', 'tcp://127.0.0.1'],
      '--kv-event-sources "tcp://127.0.0.1" (on the command line): must be auto, or off, or a comma-separated list of ' +
        'ZMQ endpoints such as tcp://127.0.0.1:5557 (or @tcp://*:5557 to bind)',
    ],
    [
      ['--kv-event-sources', 'tcp://a:1,tcp://a:1'],
      '"tcp://a:1" (on the command line): must be a list that names each source once',
    ],
    [
      ['--kv-replay-sources', 'tcp://a:2'],
      '--kv-replay-sources "tcp://a:2" (on the command line): must be left out while --kv-event-sources is auto',
    ],
    [
      ['--kv-event-sources', 'tcp://a:1,tcp://b:1', '--kv-replay-sources', 'tcp://a:2'],
      '"tcp://a:2" (on the command line): must be as many as --kv-event-sources: 2',
    ],
    [
      ['--kv-event-sources', 'tcp://a:1', '--kv-replay-sources', '@tcp://a:2'],
      '"@tcp://a:2" (on the command line): must be without @',
    ],
    [
      ['--kv-event-sources', 'off', '--trtllm-drain-events'],
      '--trtllm-drain-events "true" (on the command line): must be left out unless --kv-event-sources is auto',
    ],
  ])('names what is wrong about sources of KV events: %j', async (flags, expected) => {
    expect(await refusal(...flags)).toContain(expected);
  });
});
