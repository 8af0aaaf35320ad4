/** The views of the page. */
export const VIEW_NAMES = ['fleet', 'routing', 'index', 'topology', 'timeline', 'worker'] as const;

/** One of `VIEW_NAMES`. */
export type ViewName = (typeof VIEW_NAMES)[number];

/** Where the reader is: it stands in the address, so that it can be sent to a colleague. */
export interface Place {
  readonly view: ViewName;
  /** Filters and the like. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Longest address that is read, in characters; a longer one is the first view. */
const MAX_CHARS = 4_096;

/** Reads what stands after the `#` of an address; what makes no sense is the fleet. */
export function readPlace(hash: string): Place {
  const text = hash.replace(/^#\/?/, '');
  if (text.length > MAX_CHARS) return { view: 'fleet', parameters: {} };
  const [name = '', query = ''] = text.split('?', 2);
  const view = VIEW_NAMES.find((each) => each === name);
  return view === undefined
    ? { view: 'fleet', parameters: {} }
    : { view, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** What stands after the address for a place; empty values are left out. */
export function placeHash(view: ViewName, parameters: Readonly<Record<string, string>> = {}): string {
  const kept = Object.entries(parameters).filter(([, value]) => value !== '');
  const query = new URLSearchParams(kept).toString();
  return `#/${view}${query === '' ? '' : `?${query}`}`;
}
