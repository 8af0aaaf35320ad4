import { canonicalSize, isRehashable, MAX_REHASHED_TOKENS } from '../../contract/rehash.js';
import type { WorkerReport } from '../../contract/worker-report.js';
import { nameSome } from '../../text/lists.js';
import { memberName } from '../state/member-name.js';

/** Workers that are named in one sentence; a conflict names all sizes elsewhere. */
const MAX_NAMED = 3;

/** One member with a size, as a sentence about re-hashing needs it. */
interface Sized {
  readonly target: string;
  readonly report: WorkerReport | undefined;
}

/**
 * A15: what a conflict of block sizes has to do with re-hashing: why it does not end it, or, where it is not allowed,
 * that it would. Empty where it is neither.
 */
export function rehashAdvice(members: readonly Sized[], isRehashing: boolean): string {
  const sizes = members.flatMap(({ report }) => sizeOf(report) ?? []);
  const canonical = canonicalSize(sizes);
  if (canonical === undefined) {
    const words = `their least common multiple is larger than ${MAX_REHASHED_TOKENS} tokens`;
    return isRehashing ? `Re-hashing does not bring these sizes together: ${words}.` : '';
  }
  const unable = members.filter(
    ({ report }) => sizeOf(report) !== canonical && report?.rehash.isPossible !== true,
  );
  if (unable.length === 0)
    return isRehashing
      ? ''
      : `Or let the sidecars re-hash smaller blocks into blocks of ${canonical} tokens with --block-size-policy=rehash.`;
  if (!isRehashing) return '';
  const workers = unable.map((member) => `${memberName(member)} (${member.report?.rehash.reason})`);
  return `Blocks of these workers cannot be re-hashed into blocks of ${canonical} tokens: ${nameSome(workers, MAX_NAMED)}.`;
}

/** A15: why the blocks of a worker that differs are not re-hashed into blocks of `agreed` tokens; empty where it is not asked. */
export function rehashRefusal(report: WorkerReport, agreed: number, isRehashing: boolean): string {
  const own = sizeOf(report);
  if (!isRehashing || own === undefined || own === agreed) return '';
  const why = isRehashable(own, agreed)
    ? report.rehash.reason
    : agreed % own === 0
      ? `at most ${MAX_REHASHED_TOKENS} tokens are re-hashed into one block`
      : `${own} does not divide ${agreed}`;
  return ` Its blocks cannot be re-hashed into blocks of ${agreed} tokens: ${why}.`;
}

function sizeOf(report: WorkerReport | undefined): number | undefined {
  const size = report?.values.tokens_per_block;
  return typeof size === 'number' ? size : undefined;
}
