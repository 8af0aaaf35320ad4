import type { AgreementSource } from '../../src/fleet/aggregator/agreement-source.js';
import { Agreement, AgreementState } from '../../src/gen/kvaccord/v1/fleet.js';

/** A source that says what the test says. */
export class FakeAgreementSource implements AgreementSource {
  agreements: readonly Agreement[] = [];
  readonly problem: undefined = undefined;
  readonly refusal: undefined = undefined;
  readonly watchers: Set<() => void> = new Set();

  agree(tokensPerBlock: number): void {
    const state = AgreementState.AGREED;
    this.say(Agreement.fromPartial({ group: 'tiny', state, contract: { tokensPerBlock } }));
  }

  contradict(text: string): void {
    const state = AgreementState.CONFLICT;
    this.say(Agreement.fromPartial({ group: 'tiny', state, reasons: [{ code: 'conflict', text }] }));
  }

  say(agreement: Agreement): void {
    this.agreements = [agreement];
    for (const watcher of [...this.watchers]) watcher();
  }

  watch(onChange: () => void): () => void {
    this.watchers.add(onChange);
    return () => this.watchers.delete(onChange);
  }

  start(): void {}

  async close(): Promise<void> {}
}
