import { observeWindowOffset, observeWindowRect, Virtualizer, windowScroll } from '@tanstack/virtual-core';
import type { JSX, RefObject, VNode } from 'preact';
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
/** Height of a row that is not there any more, in pixels. */
const USUAL_HEIGHT = 32;

/** By how many rows a key moves. */
const STEPS: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  j: 1,
  ArrowUp: -1,
  k: -1,
  PageDown: 15,
  PageUp: -15,
};

/**
 * A list of which only the rows in sight are in the document. It scrolls with
 * the page; up and down, Home, End and Enter work on it.
 */
export function VirtualRows<Row>(props: VirtualRowsProps<Row>): JSX.Element {
  const { rows, keyOf, render, onOpen, label } = props;
  const list = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const virtualizer = useVirtualizer(props, list);

  const move = (to: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    setActive(next);
    virtualizer.scrollToIndex(next, { align: 'auto' });
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(`[data-at="${next}"]`)?.focus());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = STEPS[event.key];
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

/** Which rows are in sight, and where; draws the list again when that changes. */
function useVirtualizer<Row>(
  props: VirtualRowsProps<Row>,
  list: RefObject<HTMLElement>,
): Virtualizer<Window, Element> {
  const { rows, heightOf } = props;
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const latest = useRef(props);
  latest.current = props;
  const [virtualizer] = useState(
    () =>
      new Virtualizer<Window, Element>({
        count: 0,
        getScrollElement: () => window,
        estimateSize: () => USUAL_HEIGHT,
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
      return row === undefined ? USUAL_HEIGHT : latest.current.heightOf(row);
    },
  });
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  // Heights belong to places in the list: other rows, or another width, have others.
  const heights = rows.map((row) => heightOf(row)).join();
  useEffect(() => virtualizer.measure(), [heights, virtualizer]);
  return virtualizer;
}
