/** What this page keeps in the browser. */
export type StoredName = 'theme' | 'token';

/** The token goes when the tab is closed; what the reader likes stays. */
function storageOf(name: StoredName): Storage {
  return name === 'token' ? sessionStorage : localStorage;
}

/** The kept value; empty where there is none, or the browser keeps nothing. */
export function stored(name: StoredName): string {
  try {
    return storageOf(name).getItem(`kv-accord.${name}`) ?? '';
  } catch {
    // A browser whose owner forbids it to keep anything throws; the page works without.
    return '';
  }
}

/** Keeps a value; empty forgets it. */
export function store(name: StoredName, value: string): void {
  try {
    if (value === '') storageOf(name).removeItem(`kv-accord.${name}`);
    else storageOf(name).setItem(`kv-accord.${name}`, value);
  } catch {
    // As above: then it is asked for again next time.
  }
}
