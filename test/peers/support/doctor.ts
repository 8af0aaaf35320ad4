import { fileURLToPath } from 'node:url';
import type { Program } from './program.js';
import { run } from './run.js';

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

/** What `kv-accord doctor` said. */
export interface DoctorAnswer {
  /** 0 healthy, 1 findings, 5 nothing read, 6 cannot tell. */
  readonly status: number;
  readonly verdict: string;
  readonly headline: string;
  readonly advice: string;
  /** `block_size_mismatch certain`, the first first. */
  readonly causes: readonly string[];
  readonly unknowns: readonly string[];
  /** `router 0 %, engines 65.9 %`, for people. */
  readonly hits: string;
  /** The whole report, as text. */
  readonly json: string;
}

/** Something whose log and metrics an operator can show. */
export interface Shown {
  readonly program: Program;
  readonly url: string;
}

interface Report {
  readonly verdict: string;
  readonly headline: string;
  readonly advice: string;
  readonly assessments: readonly { readonly cause: string; readonly confidence: string }[];
  readonly unknowns: readonly string[];
  readonly routing: {
    readonly router_hit_rate: number | null;
    readonly engine_hit_rate: number | null;
  } | null;
}

/** Runs the built command to its end, as an operator would, and reads its report for programs. */
export async function doctor(...flags: readonly string[]): Promise<DoctorAnswer> {
  const { status, stdout, stderr } = await run(process.execPath, [MAIN, 'doctor', '--json', ...flags]);
  if (stdout === '') throw new Error(`no report, status ${status}: ${stderr}`);
  const { verdict, headline, advice, assessments, unknowns, routing } = JSON.parse(stdout) as Report;
  const percent = (share: number | null | undefined): string =>
    typeof share === 'number' ? `${(share * 100).toFixed(1)} %` : 'not stated';
  return {
    status,
    verdict,
    headline,
    advice,
    causes: assessments.map(({ cause, confidence }) => `${cause} ${confidence}`),
    unknowns,
    hits: `router ${percent(routing?.router_hit_rate)}, engines ${percent(routing?.engine_hit_rate)}`,
    json: stdout,
  };
}

/** The flags that give the doctor the logs of some programs. */
export function logsOf(...shown: readonly { readonly program: Program }[]): readonly string[] {
  return shown.flatMap(({ program }) => ['--logs', program.logFile]);
}

/** The flags that give it their pages of metrics. */
export function metricsOf(...shown: readonly { readonly url: string }[]): readonly string[] {
  return shown.flatMap(({ url }) => ['--metrics', `${url}/metrics`]);
}

/** One line for anyone who reads the run. */
export function describeAnswer(
  what: string,
  { status, verdict, causes, headline, hits }: DoctorAnswer,
): string {
  return `doctor, ${what}: exit ${status}, ${verdict}; ${causes.join(', ') || 'no cause'}; ${headline}; ${hits}`;
}
