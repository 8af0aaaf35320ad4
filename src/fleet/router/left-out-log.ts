import type { MemberView } from '../../core/agreement/view/snapshot.js';
import { nameSome } from '../../core/text/lists.js';
import { workerName } from '../../core/text/worker-name.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { LeftOut } from './choice/candidate-list.js';

/** Workers that one line of the log names. */
const MAX_NAMED = 10;

const LEFT_OUT_MESSAGES: Readonly<Record<LeftOut, string>> = {
  role: 'serve only prefill or only decode, and get no requests: how their engines exchange KV blocks is not known, or is none of what this version speaks (NIXL of vLLM, the bootstrap server of SGLang)',
  alone:
    'serve only prefill or only decode, and get no requests: no worker of the model serves the other part',
  unreachable:
    'get no requests: no address of their OpenAI server is known. Let their sidecars ask the engine (--engine), or name the address with --worker-urls',
};

/** Logs once each worker that the agreement offers and that gets nothing all the same. */
export class LeftOutLog {
  readonly #logger: Logger;
  /** Targets that were logged, by group. */
  readonly #logged = new Map<string, Set<string>>();

  constructor({ logger }: { readonly logger: Logger }) {
    this.#logger = logger;
  }

  /** These of its members get nothing at present. */
  report(
    group: string,
    leftOut: ReadonlyMap<string, LeftOut>,
    members: readonly Pick<MemberView, 'workerId' | 'target'>[],
  ): void {
    const logged = this.#logged.get(group) ?? new Set<string>();
    this.#logged.set(group, logged);
    for (const target of logged) if (!leftOut.has(target)) logged.delete(target);
    for (const why of ['role', 'alone', 'unreachable'] as const) {
      const news = [...leftOut].flatMap(([target, its]) =>
        its === why && !logged.has(target) ? [target] : [],
      );
      if (news.length === 0) continue;
      for (const target of news) logged.add(target);
      const names = news.map((target) =>
        workerName(members.find((member) => member.target === target) ?? { workerId: '', target }),
      );
      this.#logger.warn(
        { group },
        `Workers of "${group}" ${LEFT_OUT_MESSAGES[why]}: ${nameSome(names, MAX_NAMED)}.`,
      );
    }
  }

  /** The group has ended. */
  end(group: string): void {
    this.#logged.delete(group);
  }
}
