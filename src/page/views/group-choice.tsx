import type { JSX } from 'preact';
import { change } from './state.js';

/** Which model is looked at; nothing where there is one alone. */
export function GroupChoice({
  groups,
  chosen,
}: {
  readonly groups: readonly string[];
  readonly chosen: string;
}): JSX.Element | null {
  if (groups.length < 2 && chosen === '') return null;
  return (
    <div class="toolbar">
      <label>
        Model{' '}
        <select value={chosen} onChange={(event) => change({ group: event.currentTarget.value })}>
          <option value="">all models</option>
          {[...groups].sort().map((group) => (
            <option key={group} value={group}>
              {group}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
