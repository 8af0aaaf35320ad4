import { describe, expect, it } from 'vitest';
import { toDecision, toSelection } from '../../../src/fleet/router/service/selection-message.js';
import { cacheSourceOf } from '../../../src/frontend/gateway/cache-source.js';
import { RecordedRoute } from '../proxy/proxy-harness.js';

const { decision } = new RecordedRoute('a:1', {
  cachedBlocks: 2,
  neighbour: { target: 'b:1', rank: 0, cachedBlocks: 12 },
});
const at =
  (url: string | undefined): (() => string | undefined) =>
  () =>
    url;

describe('the worker from which another one may fetch blocks', () => {
  it('is the one that holds so many tokens more, by host and port of its engine', () => {
    const source = { hostPort: '10.0.0.2:8000', tokens: 192 };
    expect(cacheSourceOf(decision, 160, at('http://10.0.0.2:8000/base'))).toEqual(source);
    expect(cacheSourceOf(decision, 161, at('http://10.0.0.2:8000'))).toBeUndefined();
  });

  it('is nobody where nobody holds more, or its address is not known', () => {
    expect(cacheSourceOf({ ...decision, neighbour: undefined }, 1, at('http://b'))).toBeUndefined();
    expect(cacheSourceOf(decision, 1, at(undefined))).toBeUndefined();
    expect(cacheSourceOf(decision, 1, at('no URL'))).toBeUndefined();
  });

  it.each([
    ['http://b', 0, 'b:80'],
    ['https://b', 0, 'b:443'],
    ['http://[::1]:8000', 0, '[::1]:8000'],
    ['http://b:8000', 3, 'b:8003'],
  ])('is named as its port and rank say: %s, rank %i', (url, rank, hostPort) => {
    const neighbour = { target: 'b:1', rank, cachedBlocks: 12 };
    expect(cacheSourceOf({ ...decision, neighbour }, 1, at(url))?.hostPort).toBe(hostPort);
  });

  it('crosses between processes with the decision', () => {
    expect(toDecision(toSelection(decision)).neighbour).toEqual(decision.neighbour);
    expect(toDecision(toSelection({ ...decision, neighbour: undefined })).neighbour).toBeUndefined();
  });
});
