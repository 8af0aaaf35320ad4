import type { JSX } from 'preact';
import { change, place } from './state.js';

interface SearchFieldProps {
  /** What it finds, shown while it is empty. */
  readonly placeholder: string;
  readonly label: string;
  /** The key that leads to it, where there is one. */
  readonly shortcut?: string;
}

/** The field whose text is the `text` of the page's address. */
export function SearchField({ placeholder, label, shortcut }: SearchFieldProps): JSX.Element {
  return (
    <input
      id="search"
      type="search"
      placeholder={placeholder}
      aria-label={label}
      aria-keyshortcuts={shortcut}
      value={place.value.parameters['text'] ?? ''}
      onInput={(event) => change({ text: event.currentTarget.value })}
    />
  );
}
