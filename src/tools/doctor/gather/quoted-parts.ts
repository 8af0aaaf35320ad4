import type { NamedText } from '../../manifests/lint/fixes/apply-fixes.js';
import type { EvidencePart } from '../evidence.js';
import type { KnownFaultSighting } from '../logs/log-summary.js';
import { quotedCommands } from './quoted-commands.js';
import { quotedMetrics } from './quoted-metrics.js';
import { quotedPrompts } from './quoted-prompts.js';
import { quotedSettings } from './quoted-settings.js';
import { plainText } from './read-text.js';

/** Longest log in which commands, metrics and settings are looked for: what a person pastes. Logs of scripts that start one fleet after the other are longer. */
const MAX_BYTES = 64 * 1024;

/** The rule of lint about settings of a cache that one command does not switch on. */
const UNREAD = 'cache-settings-unread';

/** What a text has beside the lines of a log. */
export interface QuotedEvidence extends Omit<EvidencePart, 'source'> {
  readonly knownFaults?: readonly KnownFaultSighting[];
}

/** Keeps the text of a short log that passes by. */
export class QuotedText {
  #parts: Uint8Array[] | undefined = [];
  #bytes = 0;

  /** The same pieces. */
  async *watch(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      this.#bytes += piece.length;
      if (this.#bytes > MAX_BYTES) this.#parts = undefined;
      // A piece holds until the next one is asked for.
      this.#parts?.push(Uint8Array.from(piece));
      yield piece;
    }
  }

  /** What it quotes that is no line of a log: commands that start engines and routers, lines of pages of metrics, settings that need others, and prompts that are compared. */
  async evidence(name: string): Promise<QuotedEvidence> {
    const { text } = this;
    if (text === undefined) return {};
    const named: NamedText = { file: name, text };
    const [commands, metrics] = [await quotedCommands(named), quotedMetrics(named)];
    const settings = await quotedSettings(named);
    const findings = commands.findings ?? [];
    return {
      knownFaults: [...settings, ...(await quotedPrompts(named))],
      // A fault of the whole text says the same.
      findings: settings.length === 0 ? findings : findings.filter(({ ruleId }) => ruleId !== UNREAD),
      metrics: metrics.metrics ?? [],
      sizes: [...(commands.sizes ?? []), ...(metrics.sizes ?? [])],
      settings: [...(commands.settings ?? []), ...(metrics.settings ?? [])],
    };
  }

  /** All of it, where it is short and text. */
  get text(): string | undefined {
    if (this.#parts === undefined) return undefined;
    try {
      return plainText(Buffer.concat(this.#parts), MAX_BYTES);
    } catch {
      // Damaged or no text: the reader of logs says so.
      return undefined;
    }
  }
}
