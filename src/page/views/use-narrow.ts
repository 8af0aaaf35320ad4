import { useEffect, useState } from 'preact/hooks';

/** The width below which rows become cards; `styles/narrow.css` has the same number. */
const NARROW = '(max-width: 700px)';

/** Whether the window is as narrow as a telephone. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const take = (): void => setNarrow(query.matches);
    query.addEventListener('change', take);
    return () => query.removeEventListener('change', take);
  }, []);
  return isNarrow;
}
