import { AggregatorHarness } from './aggregator-harness.js';
import { FakeSidecar, type FakeSidecarOptions } from './fake-sidecar.js';
import { makeWireReport, type WireSketch } from './reports.js';

/** What one test has opened, so that `close` in `afterEach` leaves nothing behind. */
export class OpenThings {
  readonly #things: (() => unknown)[] = [];

  /** Closes, in the reverse order, all that was opened. */
  async close(): Promise<void> {
    for (const close of this.#things.splice(0).reverse()) await close();
  }

  /** Calls `close` with the rest. */
  add(close: () => unknown): void {
    this.#things.push(close);
  }

  /** A sidecar whose worker reports as sketched. */
  async sidecar(
    name: string,
    sketch: WireSketch = {},
    options: Omit<FakeSidecarOptions, 'report'> = {},
  ): Promise<FakeSidecar> {
    const made = await FakeSidecar.start({ ...options, report: makeWireReport(name, sketch) });
    this.add(() => made.stop());
    return made;
  }

  /** An aggregator over `sidecars`. */
  async aggregator(
    sidecars: readonly FakeSidecar[],
    options: Parameters<typeof AggregatorHarness.start>[1] = {},
    places: Parameters<typeof AggregatorHarness.start>[2] = {},
  ): Promise<AggregatorHarness> {
    const made = await AggregatorHarness.start(
      sidecars.map(({ address }) => address),
      options,
      places,
    );
    this.add(() => made.stop());
    return made;
  }
}

/** The addresses of sidecars as `--workers` takes them. */
export function workersOf(...sidecars: readonly FakeSidecar[]): string[] {
  return ['--workers', sidecars.map(({ address }) => address).join(',')];
}
