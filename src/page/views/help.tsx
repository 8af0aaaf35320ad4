import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['1 … 5', 'fleet, routing, index, GPUs and links, timeline'],
  ['/', 'search'],
  ['↓ ↑ or j k', 'to the list of workers, and through it'],
  ['PgDn PgUp Home End', 'through the list in larger steps'],
  ['Enter', 'open the worker'],
  ['Esc', 'back from a worker; leave the search; clear the filters'],
  ['?', 'this list'],
];

/** The keys of the page. */
export function Help({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" onClose={onClose} aria-label="Keys">
      <h2>Keys</h2>
      <dl class="facts">
        {KEYS.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
