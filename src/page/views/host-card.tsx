import type { JSX } from 'preact';
import { gibibytes } from '../model/format.js';
import { drawHost, type HostDrawing } from '../model/host-drawing.js';
import type { Host, HostGpu } from '../model/hosts.js';
import { Empty, Name, Tone } from './parts.js';

/** Devices of which the table of links has a row and a column each. */
const MAX_MATRIX = 40;

/** One machine: its GPUs, NICs and NUMA nodes with their links as a drawing, and as a table for those who cannot see it. */
export function HostCard({ host }: { readonly host: Host }): JSX.Element {
  const products = new Map<string, number>();
  for (const { gpu } of host.gpus) {
    const memory = gpu.memoryBytes === undefined ? '' : ` ${gibibytes(Number(gpu.memoryBytes))}`;
    const name = `${gpu.productName ?? 'GPU'}${memory}`;
    products.set(name, (products.get(name) ?? 0) + 1);
  }
  const where = [
    ...(host.zone === '' ? [] : [`zone ${host.zone}`]),
    ...(host.rack === '' ? [] : [`rack ${host.rack}`]),
    ...(host.driver === '' ? [] : [`driver ${host.driver}`]),
  ];
  return (
    <article class="host">
      <header>
        <h3>
          <Name text={host.isNamed ? host.name : `Host of ${host.name}`} />
        </h3>
        <span class="dim">{where.join(' · ')}</span>
        <span>{[...products].map(([name, count]) => `${count} × ${name}`).join(', ')}</span>
      </header>
      {host.gpus.length === 0 ? (
        <Empty>
          No GPU is known here{host.notes.length === 0 ? '' : `: ${host.notes.join('; ')}`}. Workers:{' '}
          {host.workers.map(({ name }) => name).join(', ')}
        </Empty>
      ) : (
        <>
          <Drawing host={host} drawing={drawHost(host)} />
          {host.notes.length === 0 ? null : <p class="dim">{host.notes.join('; ')}</p>}
          <Matrix host={host} />
        </>
      )}
    </article>
  );
}

function Drawing({ host, drawing }: { readonly host: Host; readonly drawing: HostDrawing }): JSX.Element {
  const { width, height, numa, gpus, nics, buses, wires, counted } = drawing;
  return (
    <>
      <div class="drawing">
        <svg
          width={width}
          height={height}
          viewBox={`-1 -1 ${width + 2} ${height + 2}`}
          role="img"
          aria-label={`${host.name}: ${gpus.length} GPUs, ${nics.length} NICs; the table below has their links`}
        >
          {numa.map(({ title, ...box }) => (
            <g key={title}>
              <rect class="numa" {...box} rx={5} />
              <text class="numa-title" x={box.x + 10} y={box.y + 16}>
                {title}
              </text>
            </g>
          ))}
          {wires.map(({ kind, path }, at) => (
            <path key={at} class={`wire link-${kind}`} d={path} />
          ))}
          {buses.map(({ kind, label, y, x1, x2, stubs, bottom }) => (
            <g key={`${label} ${y} ${x1}`} class={`bus link-${kind}`}>
              <line x1={x1 - 8} x2={x2 + 8} y1={y} y2={y} />
              {stubs.map((x) => (
                <line key={x} class="stub" x1={x} x2={x} y1={y} y2={bottom} />
              ))}
              <text x={x1 - 4} y={y - 5}>
                {label}: each with each
              </text>
            </g>
          ))}
          {wires.map(({ kind, label, labelX, labelY }, at) =>
            kind === 'PIX' || kind === 'PXB' ? null : (
              <text key={at} class="wire-label" x={labelX} y={labelY}>
                {label}
              </text>
            ),
          )}
          {gpus.map(({ gpu, ...box }) => (
            <Gpu key={gpu.id} gpu={gpu} x={box.x} y={box.y} width={box.width} height={box.height} />
          ))}
          {nics.map(({ name, ...box }) => (
            <g key={name} class="nic">
              <title>{name}</title>
              <rect {...box} rx={3} />
              <text x={box.x + box.width / 2} y={box.y + 15}>
                {short(name, 8)}
              </text>
            </g>
          ))}
        </svg>
      </div>
      {counted.length === 0 ? null : <p class="dim">Not drawn: {counted.join(', ')}.</p>}
    </>
  );
}

function Gpu({
  gpu: { name, workers, gpu },
  x,
  y,
  width,
  height,
}: {
  readonly gpu: HostGpu;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}): JSX.Element {
  const [worker] = workers;
  const tone = worker?.tone ?? 'plain';
  const who = worker === undefined ? '' : worker.name.replace(/ \(.*\)$/, '');
  return (
    <g class={`gpu ${tone}`}>
      <title>
        {[name, gpu.productName, gpu.uuid, gpu.pciBusId, gpu.migProfile, ...workers.map((each) => each.name)]
          .filter((text) => text !== undefined && text !== '')
          .join('\n')}
      </title>
      <rect x={x} y={y} width={width} height={height} rx={4} />
      <text class="gpu-name" x={x + 7} y={y + 16}>
        {name}
      </text>
      <text class="sign" x={x + width - 14} y={y + 16}>
        {{ good: '●', warn: '▲', bad: '■', plain: '○' }[tone]}
      </text>
      <text x={x + 7} y={y + 33}>
        {short(who, 11)}
      </text>
      <text class="dim" x={x + 7} y={y + 49}>
        {workers.length > 1
          ? `and ${workers.length - 1} more`
          : worker?.role === 'aggregated'
            ? ''
            : worker?.role}
      </text>
    </g>
  );
}

function short(text: string, chars: number): string {
  return text.length > chars ? `${text.slice(0, chars - 1)}…` : text;
}

function Matrix({ host: { gpus, nics, links } }: { readonly host: Host }): JSX.Element | null {
  if (links.length === 0) return <p class="dim">No link between these devices was reported.</p>;
  const devices = [
    ...gpus.map(({ id, name }) => ({ id, name })),
    ...nics.map(({ name }) => ({ id: name, name })),
  ];
  if (devices.length > MAX_MATRIX) return null;
  const labels = new Map<string, string>();
  for (const { a, b, label } of links) {
    labels.set(`${a}\n${b}`, label);
    labels.set(`${b}\n${a}`, label);
  }
  return (
    <details>
      <summary>Links as a table</summary>
      <div class="scroll">
        <table class="matrix">
          <thead>
            <tr>
              <td />
              {devices.map(({ id, name }) => (
                <th key={id} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {devices.slice(0, gpus.length).map((row) => (
              <tr key={row.id}>
                <th scope="row">{row.name}</th>
                {devices.map(({ id }) => (
                  <td key={id}>{id === row.id ? '·' : (labels.get(`${row.id}\n${id}`) ?? '–')}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** What the lines of the drawings mean. */
export function LinkLegend(): JSX.Element {
  return (
    <ul class="legend">
      {LINKS.map(([kind, words]) => (
        <li key={kind}>
          <svg class="key" viewBox="0 0 24 10" aria-hidden="true">
            <line class={`wire link-${kind}`} x1="0" x2="24" y1="5" y2="5" />
          </svg>
          {words}
        </li>
      ))}
      <li>
        <Tone tone="good" text="offered" /> <Tone tone="warn" text="not yet" />{' '}
        <Tone tone="bad" text="kept out" />
      </li>
    </ul>
  );
}

const LINKS = [
  ['NVLINK', 'NV: NVLink, with its lanes'],
  ['XGMI', 'XGMI'],
  ['PIX', 'PIX: one PCIe bridge'],
  ['PXB', 'PXB: several PCIe bridges'],
  ['PHB', 'PHB: a PCIe host bridge'],
  ['NODE', 'NODE: within a NUMA node'],
  ['SYS', 'SYS: between NUMA nodes'],
] as const;
