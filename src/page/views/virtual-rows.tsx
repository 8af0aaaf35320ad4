import { observeWindowOffset, observeWindowRect, Virtualizer, windowScroll } from '@tanstack/virtual-core';
import type { JSX, VNode } from 'preact';
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';

/** What a list of rows is made of. */
export interface VirtualRowsProps<Row> {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => number | string;
  /** Height of a row in pixels: known before it is drawn, so that nothing jumps. */
  readonly heightOf: (row: Row) => number;
  readonly render: (row: Row, isActive: boolean) => VNode;
  readonly onOpen: (row: Row) => void;
  /** What the list is called for those who hear it. */
  readonly label: string;
}

/** Rows that are drawn above and below those in sight. */
const OVERSCAN = 12;

/**
 * A list of which only the rows in sight are in the document. It scrolls with
 * the page; up and down, Home, End and Enter work on it.
 */
export function VirtualRows<Row>(props: VirtualRowsProps<Row>): JSX.Element {
  const { rows, keyOf, heightOf, render, onOpen, label } = props;
  const list = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const [active, setActive] = useState(0);
  const latest = useRef(props);
  latest.current = props;
  const [virtualizer] = useState(
    () =>
      new Virtualizer<Window, Element>({
        count: 0,
        getScrollElement: () => window,
        estimateSize: () => 32,
        observeElementRect: observeWindowRect,
        observeElementOffset: observeWindowOffset,
        scrollToFn: windowScroll,
        initialOffset: () => window.scrollY,
        onChange: () => redraw(undefined),
      }),
  );
  virtualizer.setOptions({
    ...virtualizer.options,
    count: rows.length,
    overscan: OVERSCAN,
    scrollMargin: list.current?.offsetTop ?? 0,
    getItemKey: (at) => {
      const row = latest.current.rows[at];
      return row === undefined ? at : latest.current.keyOf(row);
    },
    estimateSize: (at) => {
      const row = latest.current.rows[at];
      return row === undefined ? 32 : latest.current.heightOf(row);
    },
  });
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  // Heights belong to places in the list: other rows, or another width, have others.
  const heights = rows.map((row) => heightOf(row)).join();
  useEffect(() => virtualizer.measure(), [heights, virtualizer]);

  const move = (to: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    setActive(next);
    virtualizer.scrollToIndex(next, { align: 'auto' });
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(`[data-at="${next}"]`)?.focus());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      j: 1,
      ArrowUp: -1,
      k: -1,
      PageDown: 15,
      PageUp: -15,
    };
    const step = steps[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step !== undefined) move(active + step);
    else if (event.key === 'Home') move(0);
    else if (event.key === 'End') move(rows.length - 1);
    else if (event.key === 'Enter') {
      const row = rows[active];
      if (row !== undefined) onOpen(row);
    } else return;
    event.preventDefault();
  };
  const margin = virtualizer.options.scrollMargin;
  const tabStop = Math.min(active, rows.length - 1);
  return (
    <div
      ref={list}
      class="rows"
      role="rowgroup"
      aria-label={label}
      style={{ height: `${virtualizer.getTotalSize()}px` }}
      onKeyDown={onKeyDown}
    >
      {virtualizer.getVirtualItems().map((item) => {
        const row = rows[item.index];
        if (row === undefined) return null;
        return (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys of all its rows
          <div
            key={keyOf(row)}
            class="row"
            role="row"
            aria-rowindex={item.index + 2}
            data-at={item.index}
            tabIndex={item.index === tabStop ? 0 : -1}
            style={{ height: `${item.size}px`, transform: `translateY(${item.start - margin}px)` }}
            onFocus={() => setActive(item.index)}
            onClick={() => onOpen(row)}
          >
            {render(row, item.index === tabStop)}
          </div>
        );
      })}
    </div>
  );
}
