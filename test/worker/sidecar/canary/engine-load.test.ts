import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EngineKind } from '../../../../src/core/contract/wire/enums.js';
import type { HttpAnswer } from '../../../../src/edge/platform/net/http-get.js';
import { SGLANG } from '../../../../src/engines/sglang/descriptor.js';
import { VLLM } from '../../../../src/engines/vllm/descriptor.js';
import { type EngineLoad, loadOf, readLoad } from '../../../../src/worker/sidecar/canary/engine-load.js';

const loadOfVllm = (page: string): EngineLoad => loadOf(page, VLLM.load ?? NO_LOAD);
const NO_LOAD = { pages: [], running: [], waiting: [] };

const recorded = (path: string): string =>
  readFileSync(new URL(`../../../fixtures/engines/${path}`, import.meta.url), 'utf8');

describe('how busy an engine is', () => {
  it('is read from recorded pages of vLLM and SGLang', () => {
    expect(loadOfVllm(recorded('vllm-0.32.0/metrics.b32.txt'))).toMatchObject({
      requests: 0,
      isCachingOff: false,
    });
    expect(loadOf(recorded('sglang-0.5.23/metrics.p32.txt'), SGLANG.load ?? NO_LOAD).requests).toBe(0);
  });

  it('adds up ranks, and is not known where one of the two numbers is missing or is none', () => {
    const running = 'vllm:num_requests_running{engine="0"} 1\nvllm:num_requests_running{engine="1"} 2\n';
    expect(loadOfVllm(`${running}vllm:num_requests_waiting{engine="0"} 4\n`).requests).toBe(7);
    expect(loadOfVllm(running).requests).toBeUndefined();
    expect(loadOfVllm(`${running}vllm:num_requests_waiting{engine="0"} NaN\n`).requests).toBeUndefined();
    expect(loadOfVllm('').requests).toBeUndefined();
  });

  it('asks SGLang for its loads and its radix cache, and knows nothing of an engine that answers nothing', async () => {
    const pages: Readonly<Record<string, string>> = {
      '/server_info': '{"disable_radix_cache": true}',
      '/v1/loads?format=prometheus':
        'sglang_num_running_reqs{dp_rank="0"} 0\nsglang_num_waiting_reqs{dp_rank="0"} 1\n',
    };
    const get = async (url: string): Promise<HttpAnswer> => {
      const body = pages[url.slice('http://e'.length)];
      if (body === undefined) throw new Error('refused');
      return { status: 200, contentType: '', body };
    };
    const modules = { get, signal: new AbortController().signal };
    expect(await readLoad(EngineKind.SGLANG, 'http://e', modules)).toMatchObject({
      requests: 1,
      isCachingOff: true,
    });
    expect(await readLoad(EngineKind.VLLM, 'http://e', modules)).toEqual({
      requests: undefined,
      isCachingOff: undefined,
      cachedTokens: undefined,
    });
  });
});
