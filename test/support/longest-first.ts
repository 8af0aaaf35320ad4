import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * A sequencer that begins with the named files, in their order, so that none of them is left alone at the end; the others
 * follow in the order of Vitest. How long each takes is said by `node scripts/slowest-tests.mjs`. `names` are paths from their
 * ends: `cli/log-reader.test.ts`.
 */
export function longestFirst(names: readonly string[]): typeof BaseSequencer {
  const rank = ({ moduleId }: TestSpecification): number => {
    const at = names.findIndex((name) => moduleId.endsWith(`/${name}`));
    return at === -1 ? names.length : at;
  };
  return class LongestFirst extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await super.sort(files);
      const projects = [...new Set(sorted.map(({ project }) => project.name))];
      // Each project by itself: processes that share their modules end where a file of another project comes next.
      return projects.flatMap((name) =>
        sorted.filter(({ project }) => project.name === name).sort((a, b) => rank(a) - rank(b)),
      );
    }
  };
}
