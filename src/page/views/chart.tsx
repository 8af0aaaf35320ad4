import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { CHART_COLORS } from '../model/palette.js';
import { theme } from './state.js';

/** One line of a chart. */
export interface Line {
  readonly label: string;
  /** A number of the palette below, from 0. Lines differ in their dashes too. */
  readonly color: number;
  readonly values: readonly (number | null)[];
}

/** What a chart shows. */
export interface ChartProps {
  /** Milliseconds since 1970, growing. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  /** Of the values, for the axis and the legend. */
  readonly format: (value: number) => string;
  /** What the chart shows, for those who do not see it. */
  readonly label: string;
}

const HEIGHT = 170;
const WIDTH = 400;

const DASHES: readonly (readonly number[])[] = [[], [6, 4], [2, 3], [8, 3, 2, 3], [1, 4]];

/** A chart over time, drawn again when its numbers, its width or the theme change. */
export function Chart({ times, lines, format, label }: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const chosen = theme.value;
  const shape = lines.map((line) => line.label).join();
  // A plot is made again for other lines or colours alone.
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const make = (): void => {
      plot.current?.destroy();
      const isDark = chosen === 'dark' || (chosen === 'auto' && dark.matches);
      plot.current = new uPlot(
        optionsOf(lines, format, element.clientWidth || WIDTH, isDark),
        dataOf(times, lines),
        element,
      );
    };
    make();
    const resized = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth || WIDTH, height: HEIGHT }),
    );
    resized.observe(element);
    dark.addEventListener('change', make);
    return () => {
      resized.disconnect();
      dark.removeEventListener('change', make);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape, chosen]);
  useEffect(() => plot.current?.setData(dataOf(times, lines)));
  return <div ref={place} class="chart" role="img" aria-label={`${label}: ${summaryOf(lines, format)}`} />;
}

function dataOf(times: readonly number[], lines: readonly Line[]): uPlot.AlignedData {
  return [times.map((time) => time / 1_000), ...lines.map(({ values }) => [...values])];
}

function summaryOf(lines: readonly Line[], format: (value: number) => string): string {
  return lines
    .map(({ label, values }) => {
      const last = values.findLast((value) => value !== null);
      return `${label} ${last === undefined || last === null ? 'no value' : format(last)}`;
    })
    .join(', ');
}

/** Times of day, to the second where the lines of the grid are nearer than a minute. */
function timesOf(
  _plot: uPlot,
  splits: number[],
  _axisIndex: number,
  _spacePx: number,
  stepSeconds: number,
): string[] {
  const length = stepSeconds < 60 ? 'HH:mm:ss'.length : 'HH:mm'.length;
  return splits.map((seconds) => new Date(seconds * 1_000).toTimeString().slice(0, length));
}

function optionsOf(
  lines: readonly Line[],
  format: (value: number) => string,
  width: number,
  isDark: boolean,
): uPlot.Options {
  const colors = CHART_COLORS[isDark ? 'dark' : 'light'];
  const colorOf = (at: number): string => colors[(lines[at - 1]?.color ?? 0) % colors.length] ?? colors[0];
  const axis = {
    stroke: isDark ? '#98a3af' : '#59636e',
    grid: { stroke: isDark ? '#2a323c' : '#e3e7eb', width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  return {
    width,
    height: HEIGHT,
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    legend: {
      live: true,
      markers: {
        width: 2,
        stroke: (_plot, at) => colorOf(at),
        fill: (_plot, at) =>
          DASHES[(lines[at - 1]?.color ?? 0) % DASHES.length]?.length === 0 ? colorOf(at) : 'transparent',
      },
    },
    hooks: {
      // Where nothing is pointed at, the legend says the last values.
      ready: [showLast],
      setCursor: [(plot) => (typeof plot.cursor.idx === 'number' ? undefined : showLast(plot))],
      setData: [showLast],
    },
    scales: { y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] } },
    axes: [
      { ...axis, size: 26, values: timesOf, space: 60 },
      { ...axis, size: 58, values: (_plot, values) => values.map((value) => format(value)) },
    ],
    series: [
      { label: 'at', value: '{HH}:{mm}:{ss}' },
      ...lines.map(({ label, color }, place) => ({
        label,
        stroke: colorOf(place + 1),
        width: 1.75,
        dash: [...(DASHES[color % DASHES.length] ?? [])],
        // A line needs two values side by side; a few that stand alone are points.
        points: { size: 4, show: (plot: uPlot, at: number) => isSparse(plot.data[at]) },
        spanGaps: false,
        value: (_plot: uPlot, value: number | null) =>
          value === null || value === undefined ? '–' : format(value),
      })),
    ],
  };
}

function showLast(plot: uPlot): void {
  plot.setLegend({ idx: plot.data[0].length - 1 }, false);
}

/** Values of a line below which each is a point as well. */
const SPARSE = 20;

function isSparse(values: uPlot.AlignedData[number] | undefined): boolean {
  let count = 0;
  for (const value of values ?? []) if (value !== null && value !== undefined) count += 1;
  return count < SPARSE;
}
