import { describe, expect, it } from 'vitest';
import type { SizeSighting } from '../../../../src/tools/doctor/evidence.js';
import { sizeTable } from '../../../../src/tools/doctor/measurements/sizes.js';
import { sizeOf } from '../support/evidence.js';

function tableOf(...sizes: readonly SizeSighting[]) {
  return sizeTable({ sizes, fleets: [], findings: [], manifests: [{ file: 'graph.yaml', text: '' }] });
}

const inFile = { origin: { place: 'graph.yaml:7:3', text: '' } };

describe('the table of block sizes', () => {
  it('takes for each program the strongest of what is known, and keeps what says otherwise', () => {
    const { rows } = tableOf(
      sizeOf('worker', 16, 'configured'),
      sizeOf('worker', 32, 'observed'),
      sizeOf('worker', 32, 'declared'),
      sizeOf('frontend', 32, 'in_use'),
    );
    expect(rows.map(({ side, tokensPerBlock, basis }) => `${side} ${tokensPerBlock} ${basis}`)).toEqual([
      'frontend 32 in_use',
      'worker 32 observed',
    ]);
    expect(rows[1]?.otherwise.map(({ tokensPerBlock }) => tokensPerBlock)).toEqual([16]);
  });

  it('agrees only when router and engine themselves were seen', () => {
    expect(
      tableOf(sizeOf('frontend', 32, 'in_use'), sizeOf('worker', 32, 'declared')).agreed,
    ).toBeUndefined();
    expect(
      tableOf(sizeOf('frontend', 32, 'in_use'), sizeOf('worker', 32, 'observed')).agreed?.tokensPerBlock,
    ).toBe(32);
  });

  it('agrees on each number of a router that serves several models', () => {
    const { agreed } = tableOf(
      sizeOf('frontend', 64, 'in_use', 'b'),
      sizeOf('frontend', 16, 'in_use', 'a'),
      sizeOf('worker', 64, 'in_use', 'b-0'),
      sizeOf('worker', 16, 'in_use', 'a-0'),
    );
    expect(agreed?.numbers).toEqual([16, 64]);
  });

  it.each([
    {
      name: 'a running frontend and events',
      ours: sizeOf('frontend', 16, 'in_use'),
      theirs: sizeOf('worker', 32, 'observed'),
      isProof: true,
    },
    {
      name: "a running frontend and a worker's registration",
      ours: sizeOf('frontend', 16, 'in_use'),
      theirs: sizeOf('worker', 32, 'declared'),
      isProof: true,
    },
    {
      name: 'a running frontend and a card that only stands in a manifest',
      ours: sizeOf('frontend', 16, 'in_use'),
      theirs: { ...sizeOf('worker', 32, 'declared'), ...inFile },
      isProof: false,
    },
    {
      name: 'a router that is configured and a running engine',
      ours: sizeOf('router', 16, 'configured'),
      theirs: sizeOf('worker', 32, 'in_use'),
      isProof: true,
    },
    {
      name: "a frontend's variable and a running engine",
      ours: sizeOf('frontend', 16, 'configured'),
      theirs: sizeOf('worker', 32, 'in_use'),
      isProof: false,
    },
    {
      name: 'two defaults',
      ours: sizeOf('frontend', 16, 'default'),
      theirs: sizeOf('worker', 32, 'default'),
      isProof: false,
    },
  ])('sees a conflict of $name, proof: $isProof', ({ ours, theirs, isProof }) => {
    const { conflicts } = tableOf(ours, theirs);
    expect(conflicts).toMatchObject([{ between: 'sides', isProof }]);
  });

  it('holds a worker against its own registration', () => {
    const { conflicts } = tableOf(sizeOf('worker', 16, 'declared'), sizeOf('worker', 32, 'observed'));
    expect(conflicts).toMatchObject([
      { between: 'own', ours: { tokensPerBlock: 16 }, theirs: { tokensPerBlock: 32 } },
    ]);
  });

  it('lets a frontend serve two models with a size each', () => {
    const { conflicts } = tableOf(
      sizeOf('frontend', 16, 'in_use', 'model-a'),
      sizeOf('frontend', 32, 'in_use', 'model-b'),
      sizeOf('worker', 16, 'observed', 'a'),
      sizeOf('worker', 32, 'observed', 'b'),
    );
    expect(conflicts).toEqual([]);
  });

  it("does not believe an engine's default where a running engine was asked", () => {
    const { conflicts } = tableOf(
      sizeOf('frontend', 64, 'in_use'),
      sizeOf('worker', 1, 'default', 'in the manifest'),
      sizeOf('worker', 64, 'in_use', 'http://worker'),
    );
    expect(conflicts).toEqual([]);
  });

  it("does not compare a frontend's default with workers where the running frontend reported its number", () => {
    const { conflicts } = tableOf(
      sizeOf('frontend', 16, 'default', 'graph'),
      sizeOf('frontend', 32, 'in_use', 'tiny'),
      sizeOf('worker', 32, 'observed'),
    );
    expect(conflicts).toEqual([]);
  });

  it('takes the members of a group of kv-accord to serve one model', () => {
    const member = (worker: string, tokensPerBlock: number) => ({
      worker,
      state: 'ready',
      reason: '',
      tokensPerBlock,
      declaredTokensPerBlock: undefined,
    });
    const { conflicts } = sizeTable({
      sizes: [],
      manifests: [],
      findings: [],
      fleets: [
        {
          group: 'tiny',
          state: 'conflict',
          gateOpen: false,
          tokensPerBlock: undefined,
          routingMode: undefined,
          reasons: [],
          members: [member('a', 16), member('b', 32)],
          origin: { place: 'http://aggregator', text: '' },
        },
      ],
    });
    expect(conflicts).toMatchObject([{ between: 'workers', isProof: true }]);
  });
});
