import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/ports.js';
import { gateway, type Played, playTranscript, type Sent } from './support/ext-proc.js';
import { type Served, startKvAccord, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import type { Program } from './support/program.js';
import { type ReferencePicker, startReferencePicker } from './support/reference-picker.js';
import { until } from './support/until.js';

const ADDRESSES = ['127.0.0.11', '127.0.0.12', '127.0.0.13'];
const nameOf = (endpoint: string): string => `E${ADDRESSES.indexOf(endpoint.split(':')[0] ?? '') + 1}`;

const POST = {
  ':method': 'POST',
  ':path': '/v1/completions',
  'content-type': 'application/json',
  'x-request-id': 'r-1',
};
const BODY = '{"model":"m","prompt":"hello","max_tokens":1}';
const OF_TOKENS = '{"model":"m","prompt":[1,2,3],"max_tokens":1}';

/** Those of the Inference Extension's `test/integration/epp` that concern a picker's answers, and what gateways may do beside. */
const CASES: Readonly<Record<string, readonly Sent[]>> = {
  'a completion': [gateway.requestHeaders(POST), gateway.requestBody(BODY, true)],
  'a prompt of token ids': [gateway.requestHeaders(POST), gateway.requestBody(OF_TOKENS, true)],
  'a body in two pieces': [
    gateway.requestHeaders(POST),
    gateway.requestBody(BODY.slice(0, 12), false),
    gateway.requestBody(BODY.slice(12), true),
  ],
  'a body with trailers behind it': [
    gateway.requestHeaders(POST),
    gateway.requestBody(BODY, false),
    gateway.requestTrailers(),
  ],
  'a body that is no JSON': [gateway.requestHeaders(POST), gateway.requestBody('no healthy upstream', true)],
  'a body without a model': [gateway.requestHeaders(POST), gateway.requestBody('{"prompt":"hello"}', true)],
  'a model that nobody serves': [
    gateway.requestHeaders(POST),
    gateway.requestBody(BODY.replace('"m"', '"other"'), true),
  ],
  'headers alone': [
    gateway.requestHeaders({ ':method': 'GET', ':path': '/v1/models' }, { endOfStream: true }),
  ],
  'a subset of one': [
    gateway.requestHeaders(POST, { subset: ['127.0.0.13:8000'] }),
    gateway.requestBody(BODY, true, ['127.0.0.13:8000']),
  ],
  'a subset of one, as a text': [
    gateway.requestHeaders(POST, { subset: '127.0.0.13:8000' }),
    gateway.requestBody(BODY, true, '127.0.0.13:8000'),
  ],
  'a subset of nobody': [
    gateway.requestHeaders(POST, { subset: ['127.0.0.99:8000'] }),
    gateway.requestBody(BODY, true, ['127.0.0.99:8000']),
  ],
  'an endpoint that the client names': [
    gateway.requestHeaders({ ...POST, 'x-gateway-destination-endpoint': '127.0.0.66:1' }),
    gateway.requestBody(BODY, true),
  ],
  'a response alone': [
    gateway.responseHeaders({ 'content-type': 'application/json' }),
    gateway.responseBody('{"id":1', false),
    gateway.responseBody('}', true),
  ],
  'a stream of events alone': [
    gateway.responseHeaders({ 'content-type': 'text/event-stream', status: '200' }),
    gateway.responseBody('data: {}', false),
    gateway.responseBody('', true),
  ],
  'a body before any headers': [gateway.requestBody(BODY, true)],
  'a stream that is ended before its body': [gateway.requestHeaders(POST), 'close'],
};

const CHAT = ['requestHeaders, to A,B,C, with metadata', `requestBody, body ${BODY} end`, 'end: open'];
const ONE = ['requestHeaders, to E3, with metadata', `requestBody, body ${BODY} end`, 'end: open'];
const refusal = (status: number, error: object): readonly string[] => [
  `immediateResponse ${status} ${JSON.stringify({ error })}\n`,
  'end: ok',
];
const invalid = { type: 'invalid_request_error', param: null, code: null };

/** What kv-accord does. */
const OURS: Readonly<Record<string, readonly string[]>> = {
  'a completion': CHAT,
  'a prompt of token ids': [
    'requestHeaders, to A,B,C, with metadata',
    `requestBody, body ${OF_TOKENS} end`,
    'end: open',
  ],
  'a body in two pieces': [
    'requestHeaders, to A,B,C, with metadata',
    `requestBody, body ${BODY} end`,
    'end: open',
  ],
  'a body with trailers behind it': [
    'requestHeaders, to A,B,C, with metadata',
    `requestBody, body ${BODY}`,
    'requestTrailers',
    'end: open',
  ],
  'a body that is no JSON': refusal(400, {
    message: `The body is not valid JSON: Unexpected token 'o', "no healthy upstream" is not valid JSON.`,
    ...invalid,
  }),
  'a body without a model': refusal(400, {
    message: 'You must provide a model parameter.',
    ...invalid,
    param: 'model',
  }),
  'a model that nobody serves': refusal(404, {
    message: 'The model `other` does not exist. Served here: `m`.',
    ...invalid,
    param: 'model',
    code: 'model_not_found',
  }),
  'headers alone': ['requestHeaders, to A,B,C, with metadata', 'end: open'],
  'a subset of one': ONE,
  'a subset of one, as a text': ONE,
  'a subset of nobody': refusal(503, {
    message:
      'No worker of m that takes requests is among the 1 endpoints that the gateway offers for this request.',
    type: 'server_error',
    param: null,
    code: 'no_endpoint',
  }),
  'an endpoint that the client names': CHAT,
  'a response alone': [
    'responseHeaders',
    'responseBody, body {"id":1',
    'responseBody, body } end',
    'end: open',
  ],
  'a stream of events alone': [
    'responseHeaders',
    'responseBody, body data: {}',
    'responseBody, body  end',
    'end: open',
  ],
  'a body before any headers': ['end: 3 INVALID_ARGUMENT: request_body came before request_headers'],
  'a stream that is ended before its body': ['end: ok'],
};

/** The endpoints' order is the router's: they are numbered as they come. */
function inOrder({ answers, end }: Played): readonly string[] {
  const names = new Map<string, string>();
  const lines = [...answers, `end: ${end}`];
  return lines.map((line) =>
    line.replaceAll(/\bE\d\b/g, (name) => {
      if (name === 'E0') return 'unknown';
      if (!names.has(name)) names.set(name, String.fromCharCode(65 + names.size));
      return names.get(name) ?? '';
    }),
  );
}

async function playAll(port: number): Promise<Record<string, readonly string[]>> {
  // Side by side, as a gateway's streams come: most of the time of each is the wait for one more answer.
  const played = await Promise.all(
    Object.entries(CASES).map(async ([name, sent]) => {
      const one = await playTranscript(port, sent, nameOf);
      // A subset of one leaves no order open.
      const isOrdered = name === 'a subset of one' || name.startsWith('a subset of one,');
      return [name, isOrdered ? [...one.answers, `end: ${one.end}`] : inOrder(one)] as const;
    }),
  );
  return Object.fromEntries(played);
}

describe('the transcripts of gateways', () => {
  const sidecars: Served[] = [];
  const programs: Program[] = [];

  afterAll(async () => {
    for (const program of [...programs, ...sidecars.map((one) => one.program as Program)])
      await program.stop();
  });

  async function startPicker(name: string, sizes: readonly number[]): Promise<number> {
    const port = await freePort();
    const addresses: string[] = [];
    for (const [index, size] of sizes.entries()) {
      const sidecar = await startSidecar(
        `${name}-${index}`,
        ...['--engine', 'none', '--tokens-per-block', String(size), '--model', 'm'],
        ...['--advertise-engine', `http://${ADDRESSES[index]}:8000`],
      );
      sidecars.push(sidecar);
      addresses.push(`127.0.0.1:${sidecar.grpcPort}`);
    }
    const program = startKvAccord(name, [
      ...['epp', '--workers', addresses.join(), '--ext-proc-listen', `127.0.0.1:${port}`],
      ...[
        '--secure-serving',
        'false',
        '--settle',
        '500ms',
        '--health-listen',
        `127.0.0.1:${await freePort()}`,
      ],
      ...['--listen', `127.0.0.1:${await freePort()}`, '--http-listen', `127.0.0.1:${await freePort()}`],
    ]);
    programs.push(program);
    await until(
      'the picker to have its workers',
      async () => {
        const { answers } = await playTranscript(port, CASES['a completion'] ?? [], nameOf);
        return answers.some((line) => line.includes(' to ') || line.includes('disagree'));
      },
      { needs: [program] },
    );
    return port;
  }

  it('are answered by kv-accord as documented', async () => {
    expect(await playAll(await startPicker('picker', [32, 32, 32]))).toEqual(OURS);
  });

  it('are answered with the reason while workers contradict each other', async () => {
    const port = await startPicker('shut', [32, 16]);
    const { answers } = await playTranscript(port, CASES['a completion'] ?? [], nameOf);
    expect(answers).toHaveLength(1);
    expect(answers[0]).toMatch(/^immediateResponse 503 .*disagree on the KV block size.*"code":"gate_shut"/);
  });
});

/** Whether a picker names an endpoint for a completion. */
async function picks(port: number): Promise<boolean> {
  const { answers } = await playTranscript(port, CASES['a completion'] ?? [], nameOf);
  return answers.some((line) => line.includes(' to E'));
}

const NO_ENDPOINTS =
  'end: 13 INTERNAL: internal error: rpc error: code = Unavailable desc = no endpoints available';

/** What the reference pickers do; `epp` writes the body again, with its keys in order. */
const AGAIN = 'requestBody, body {"max_tokens":1,"model":"m","prompt":"hello"} end';
const ANY = ['requestHeaders, to A, with metadata', AGAIN, 'end: open'];
const THEIRS: Readonly<Record<ReferencePicker, Readonly<Record<string, readonly string[]>>>> = {
  epp: {
    'a completion': ANY,
    'a prompt of token ids': [
      'immediateResponse 400 inference error: BadRequest - invalid completions request: must have prompt field',
      'end: ok',
    ],
    'a body in two pieces': ANY,
    'a body with trailers behind it': ['end: open'],
    'a body that is no JSON': [
      "immediateResponse 400 inference error: BadRequest - error unmarshaling request bodyMap: invalid character 'o' in literal null (expecting 'u')",
      'end: ok',
    ],
    'a body without a model': [
      'immediateResponse 400 inference error: BadRequest - model not found in request body',
      'end: ok',
    ],
    'a model that nobody serves': [
      'requestHeaders, to A, with metadata',
      AGAIN.replace('"m"', '"other"'),
      'end: open',
    ],
    'headers alone': ['requestHeaders, to A, with metadata', 'end: open'],
    'a subset of one': ['requestHeaders, to E3, with metadata', AGAIN, 'end: open'],
    // Any of the three: it reads lists alone.
    'a subset of one, as a text': [expect.stringMatching(/ to E[123],/), AGAIN, 'end: open'],
    'a subset of nobody': [
      'immediateResponse 503 inference error: ServiceUnavailable - failed to find endpoint candidates for serving the request',
      'end: ok',
    ],
    'an endpoint that the client names': ANY,
    'a response alone': ['responseHeaders', 'responseBody, body {"id":1} end', 'end: open'],
    'a stream of events alone': [
      'responseHeaders',
      'responseBody, body data: {}',
      'responseBody, body  end',
      'end: open',
    ],
    'a body before any headers': ANY,
    'a stream that is ended before its body': ['end: ok'],
  },
  lwepp: {
    ...Object.fromEntries(
      [
        'a completion',
        'a prompt of token ids',
        'a body that is no JSON',
        'a body without a model',
        'a model that nobody serves',
      ].map((name) => [name, ['requestHeaders, to A, with metadata', 'requestBody', 'end: open']]),
    ),
    'a body in two pieces': [
      'requestBody',
      'requestHeaders, to A, with metadata',
      'requestBody',
      'end: open',
    ],
    'a body with trailers behind it': ['requestBody', 'end: open'],
    'headers alone': ['requestHeaders, to A, with metadata', 'end: open'],
    'a subset of one': ['requestHeaders, to E3, with metadata', 'requestBody', 'end: open'],
    'a subset of one, as a text': ['requestHeaders, to E3, with metadata', 'requestBody', 'end: open'],
    'a subset of nobody': [NO_ENDPOINTS],
    'an endpoint that the client names': ['requestHeaders, to A, with metadata', 'requestBody', 'end: open'],
    'a response alone': ['responseHeaders', 'responseBody', 'responseBody', 'end: open'],
    'a stream of events alone': ['responseHeaders', 'responseBody', 'responseBody', 'end: open'],
    'a body before any headers': [NO_ENDPOINTS],
    'a stream that is ended before its body': ['end: ok'],
  },
};

describe.skipIf(lacks('reference-pickers'))('the same transcripts', () => {
  it.each(['epp', 'lwepp'] as const)(
    'are answered by the reference picker %s as documented',
    async (name) => {
      const port = await startReferencePicker(name, { addresses: ADDRESSES, ports: [8000] }, picks);
      expect(await playAll(port)).toEqual(THEIRS[name]);
    },
  );

  it('are routed on by both where the engines say that their block sizes differ', async () => {
    const addresses = ADDRESSES.slice(0, 2);
    const first = await startMetrics(addresses[0] ?? '', 0, 32);
    await startMetrics(addresses[1] ?? '', first, 16);
    for (const name of ['epp', 'lwepp'] as const) {
      const port = await startReferencePicker(name, { addresses, ports: [first] }, picks);
      const { answers } = await playTranscript(port, CASES['a completion'] ?? [], nameOf);
      expect(answers[0], name).toMatch(/^requestHeaders, to E[12], with metadata$/);
    }
  });
});

/** An engine's metrics, as vLLM has them; returns the port. */
async function startMetrics(host: string, port: number, blockSize: number): Promise<number> {
  const page = [
    'vllm:num_requests_waiting{model_name="m"} 0',
    'vllm:num_requests_running{model_name="m"} 0',
    'vllm:kv_cache_usage_perc{model_name="m"} 0',
    `vllm:cache_config_info{block_size="${blockSize}",num_gpu_blocks="1000"} 1`,
  ];
  const server = createServer((_, response) => response.end(`${page.join('\n')}\n`));
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return (server.address() as AddressInfo).port;
}
