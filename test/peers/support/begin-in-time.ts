import { inject, type RunnerTestSuite, TestRunner } from 'vitest';

/**
 * Vitest's runner, which begins no file after the time of `beginUntilS`; without it every file is run. A file that was begun has all its time. The tests of one that was not stay "pending" in Vitest's report, and count as
 * neither passed nor failed.
 */
// biome-ignore lint/style/noDefaultExport: Vitest takes it for its runner.
export default class BeginInTime extends TestRunner {
  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    if (isFile(suite) && isLate()) {
      suite.mode = 'skip';
      console.log(`${suite.name} is not run: no time is left for it`);
    }
    await super.onBeforeRunSuite(suite);
  }
}

function isFile(suite: RunnerTestSuite): boolean {
  return suite.file === (suite as object);
}

function isLate(): boolean {
  const untilS = inject('beginUntilS');
  return untilS !== undefined && Date.now() / 1_000 > untilS;
}
