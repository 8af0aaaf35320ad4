import { clip } from '../../text/lists.js';
import type { FleetView } from './snapshot.js';

/** One line of a verbose probe. */
export interface ReadinessCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly text: string;
}

/**
 * G4: whether requests may come, and if not, why. A fleet of several models is
 * ready as soon as one of them can be served, because one model in conflict
 * must not take the others down; those that cannot be served are named.
 */
export function readinessChecks(view: FleetView): ReadinessCheck[] {
  if (view.groups.length === 0)
    return view.reasons.map(({ code, text }) => ({ name: code, ok: false, text }));
  const served = view.groups.filter(({ ready }) => ready);
  const waiting = view.groups.filter(({ ready }) => !ready);
  const checks = served.map(({ group, values, epoch, routingMode, partialReason }) => ({
    name: `gate:${group}`,
    ok: true,
    text: `open: ${values?.tokens_per_block ?? 0} tokens per block, epoch ${epoch}, routing ${routingMode}${partialReason === '' ? '' : `; partial: ${partialReason}`}`,
  }));
  const shut = waiting.map(({ group, gateOpen, reasons }) => ({
    name: `gate:${group}`,
    ok: served.length > 0,
    text: `${gateOpen ? 'open' : 'closed'}, not ready: ${reasons.map(({ text }) => text).join('; ')}`,
  }));
  return withinBudget([...shut, ...checks]);
}

/** Longest answer of a probe, whose body a kubelet and a load balancer read every few seconds. */
const MAX_ANSWER_CHARS = 32_768;

/** What is left of one text when the answer is full: 256 models may be shut, and each is still named. */
const MAX_SHORT_CHARS = 100;

/** The texts of one answer cut so that it stays within a bound: those that come first have the room. */
export class AnswerBudget {
  #leftChars = MAX_ANSWER_CHARS;

  clip(text: string): string {
    const clipped = clip(text, Math.max(MAX_SHORT_CHARS, this.#leftChars));
    this.#leftChars -= clipped.length;
    return clipped;
  }

  /** The reasons of one model: none after the room is used up but the first. */
  clipAll(texts: readonly string[]): string[] {
    return texts
      .slice(0, MAX_REASONS)
      .flatMap((text, at) => (at === 0 || this.#leftChars > 0 ? [this.clip(text)] : []));
  }
}

/** Reasons of one model in one answer; the agreement has fewer. */
const MAX_REASONS = 16;

function withinBudget(checks: readonly ReadinessCheck[]): ReadinessCheck[] {
  const budget = new AnswerBudget();
  return checks.map((check) => ({ ...check, text: budget.clip(check.text) }));
}
