import type { ComponentChildren, JSX } from 'preact';
import type { ViewTone } from '../../core/view/view-document.js';

const SYMBOLS: Readonly<Record<ViewTone, string>> = { good: '●', warn: '▲', bad: '■', plain: '○' };

/** A state in words, with a sign and a colour that say the same. */
export function Tone({ tone, text }: { readonly tone: ViewTone; readonly text: string }): JSX.Element {
  return (
    <span class={`tone ${tone}`}>
      <span class="sign" aria-hidden="true">
        {SYMBOLS[tone]}
      </span>{' '}
      {text}
    </span>
  );
}

/** A text that a worker or an engine chose: its direction of writing stays inside. */
export function Name({ text }: { readonly text: string }): JSX.Element {
  return (
    <bdi class="name" title={text}>
      {text}
    </bdi>
  );
}

/** A part of a page with a title. */
export function Section({
  title,
  note,
  children,
}: {
  readonly title: string;
  readonly note?: string | undefined;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="section">
      <h2>
        {title}
        {note === undefined || note === '' ? null : <small>{note}</small>}
      </h2>
      {children}
    </section>
  );
}

/** Names and values below each other; those without a value are left out. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
}): JSX.Element {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== '' && value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** A table of texts; nothing where there are no rows. */
export function Table({
  columns,
  rows,
  numeric = [],
}: {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
  /** Places of columns with numbers. */
  readonly numeric?: readonly number[];
}): JSX.Element {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            {columns.map((column, at) => (
              <th scope="col" key={column} class={numeric.includes(at) ? 'number' : ''}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column} class={numeric.includes(column) ? 'number' : ''}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What is said where there is nothing to show, and why. */
export function Empty({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}

const SPARK = { width: 72, height: 18 };

/** A small curve; its last value stands beside it in words, so it is not read out. */
export function Spark({ values }: { readonly values: readonly number[] }): JSX.Element {
  const top = Math.max(...values, 1e-9);
  const step = SPARK.width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, at) =>
      `${(at * step).toFixed(1)},${(SPARK.height - 1 - (value / top) * (SPARK.height - 2)).toFixed(1)}`,
  );
  return (
    <svg class="spark" width={SPARK.width} height={SPARK.height} aria-hidden="true">
      {values.length > 1 ? <polyline points={points.join(' ')} /> : null}
    </svg>
  );
}

/** Parts of a whole as a bar; the words beside it say the same. */
export function Bar({
  parts,
  whole,
}: {
  readonly parts: readonly { readonly kind: string; readonly value: number }[];
  readonly whole: number;
}): JSX.Element {
  let x = 0;
  return (
    <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      {parts
        .filter(({ value }) => value > 0)
        .map(({ kind, value }) => {
          // What is there can be seen: one of a thousand has at least a line.
          const width = Math.max(0.8, (100 * value) / Math.max(1, whole));
          const from = x;
          x += width;
          return <rect key={kind} class={`fill-${kind}`} x={from} y={0} width={width} height={8} />;
        })}
    </svg>
  );
}
