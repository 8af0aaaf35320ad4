import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest, the longest first, so that none of them is left alone at the end. How long each took is
 * said by `node scripts/slowest-tests.mjs`.
 */
const LONGEST: readonly string[] = [
  'frontend-vllm',
  'tokens-templates',
  'doctor-dynamo',
  'kv-events-vllm',
  'image',
  'tokens-vllm',
  'kubernetes',
  'fleet',
];

/** Sorts the tests against programs of others. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.peer.test.ts`));
      return at === -1 ? LONGEST.length : at;
    };
    return [...files].sort((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId));
  }
}
