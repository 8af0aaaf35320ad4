import { useEffect, useState } from 'preact/hooks';
import type { ViewPairs } from '../../core/view/view-pairs.js';
import { askJson, messageOf } from '../browser/ask.js';

/** How often pairs are asked for while they are looked at. */
const ASK_EVERY_MS = 5_000;

/** The pairs as they were a moment ago, and why they cannot be read; nothing is asked while `isWanted` is false. */
export function usePairs(isWanted: boolean): {
  readonly groups: ViewPairs['groups'];
  readonly problem: string;
} {
  const [groups, setGroups] = useState<ViewPairs['groups']>([]);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    if (!isWanted) {
      setGroups([]);
      return undefined;
    }
    let isShown = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      try {
        // Nobody sees a page in the background.
        if (!document.hidden) {
          const answer: ViewPairs = await askJson('view/pairs');
          if (isShown) setGroups(answer.groups);
        }
        if (isShown) setProblem('');
      } catch (error) {
        if (isShown) setProblem(messageOf(error));
      }
      if (isShown) timer = setTimeout(() => void ask(), ASK_EVERY_MS);
    };
    void ask();
    return () => {
      isShown = false;
      clearTimeout(timer);
    };
  }, [isWanted]);
  return { groups, problem };
}
