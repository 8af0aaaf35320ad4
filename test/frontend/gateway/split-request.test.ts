import { describe, expect, it } from 'vitest';
import { JsonScan } from '../../../src/edge/platform/data/json-scan.js';
import { APIS, type Api } from '../../../src/frontend/apis/api.js';
import { type AskedBody, parseBody, type ReadBody } from '../../../src/frontend/gateway/request-body.js';
import { splitBodies, splitProtocols } from '../../../src/frontend/gateway/split-request.js';

function read(text: string): ReadBody {
  const bytes = Buffer.from(text);
  const scan = new JsonScan();
  scan.add(bytes);
  return { bytes, scan };
}

function api(path: string): Api {
  const found = APIS.find((one) => one.path === path);
  if (found === undefined) throw new Error(path);
  return found;
}

function asked(body: Readonly<Record<string, unknown>>, path: string): AskedBody {
  return parseBody(read(JSON.stringify({ model: 'm', ...body })), api(path).prompt);
}

describe('a request can be split', () => {
  it.each([
    ['/v1/chat/completions', { messages: [] }, ['nixl', 'bootstrap']],
    ['/v1/completions', { prompt: 'one' }, ['nixl', 'bootstrap']],
    ['/v1/completions', { prompt: [1, 2, 3] }, ['nixl', 'bootstrap']],
    ['/v1/messages', { messages: [] }, ['nixl', 'bootstrap']],
    ['/v1/responses', { input: 'one' }, ['nixl']],
  ])('on %s of %j by %j', (path, body, protocols) => {
    expect(splitProtocols(api(path), asked(body, path))).toEqual(protocols);
  });

  it.each([
    ['/v1/completions', { prompt: ['one', 'two'] }],
    ['/v1/completions', { prompt: [[1], [2]] }],
    ['/v1/completions', { prompt: 'one', n: 2 }],
    ['/v1/completions', { prompt: 'one', prompt_logprobs: 0 }],
    ['/v1/chat/completions', { messages: [], kv_transfer_params: { do_remote_decode: true } }],
    ['/v1/chat/completions', { messages: [], bootstrap_room: 1 }],
    ['/v1/embeddings', { input: 'one' }],
  ])('but not on %s of %j', (path, body) => {
    expect(splitProtocols(api(path), asked(body, path))).toEqual([]);
  });
});

describe('its body', () => {
  const text =
    '{ "model":"m","temperature":1.0, "seed": 9007199254740993 ,"max_tokens":7,"min_tokens":3,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"é \\"stream\\": 1"}]}';
  const bodies = splitBodies(read(text), { path: '/v1/chat/completions' });

  it('asks the prefill engine for one token, in one piece', () => {
    expect(JSON.parse(bodies.forPrefill().toString())).toEqual({
      ...{ model: 'm', temperature: 1, messages: [{ role: 'user', content: 'é "stream": 1' }] },
      seed: Number('9007199254740993'),
      ...{ max_tokens: 1, stream: false },
      kv_transfer_params: { do_remote_decode: true, do_remote_prefill: false },
    });
  });

  it('keeps all other bytes, numbers that JavaScript does not have included', () => {
    const sent = bodies.withTransfer(Buffer.from('{"remote_block_ids":[[1]]}')).toString();
    expect(sent).toContain('"temperature":1.0,"seed": 9007199254740993 ,"max_tokens":7');
    expect(sent.endsWith(',"kv_transfer_params":{"remote_block_ids":[[1]]}}')).toBe(true);
    expect(JSON.parse(sent)).toMatchObject({ stream: true, min_tokens: 3 });
  });

  it('gives the decode engine what the prefill engine answered, fields that are not known here included', () => {
    const parameters =
      '{"remote_block_ids":[[1]], "remote_registration_generation": 18446744073709551615,"later":{"a":[1.0]}}';
    const sent = bodies.withTransfer(Buffer.from(parameters)).toString();
    expect(sent.endsWith(`,"kv_transfer_params":${parameters}}`)).toBe(true);
  });

  it('keeps fields for SGLang that are not known here', () => {
    const own =
      '"bootstrap_pair_key": 18446744073709551615,"data_parallel_rank":1,"later":{"bootstrap_room":3}';
    const known = '"bootstrap_host":"a","bootstrap_room":null';
    const { withBootstrap } = splitBodies(read(`{"model":"m",${own},${known}}`), {
      path: '/v1/chat/completions',
    });
    const sent = withBootstrap('10.0.0.1', 8998, 5n).toString();
    expect(sent).toContain(own);
    expect(sent.endsWith('"bootstrap_host":"10.0.0.1","bootstrap_port":8998,"bootstrap_room":5}')).toBe(true);
    expect(JSON.parse(sent)).toMatchObject({ bootstrap_host: '10.0.0.1', bootstrap_room: 5 });
  });

  it('names the meeting of both engines', () => {
    const sent = bodies.withBootstrap('10.0.0.1', 8998, 4_611_686_018_427_387_903n).toString();
    expect(sent).toContain(
      '"bootstrap_host":"10.0.0.1","bootstrap_port":8998,"bootstrap_room":4611686018427387903}',
    );
  });

  it('of a response is not kept by the prefill engine', () => {
    const { forPrefill } = splitBodies(read('{"model":"m","input":"one","max_output_tokens":9}'), {
      path: '/v1/responses',
    });
    expect(JSON.parse(forPrefill().toString())).toMatchObject({ max_output_tokens: 1, store: false });
  });

  it('of an empty object is one with what is added', () => {
    const { withBootstrap } = splitBodies(read('{}'), { path: '/v1/completions' });
    expect(withBootstrap('h', 1, 2n).toString()).toBe(
      '{"bootstrap_host":"h","bootstrap_port":1,"bootstrap_room":2}',
    );
  });
});
