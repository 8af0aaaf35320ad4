import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePort } from '../../support/ports.js';
import { peerPath } from './peers.js';
import { Program } from './program.js';
import { scratchFolder } from './scratch.js';
import { until } from './until.js';

/** An alert as Prometheus has it. */
export interface Alert {
  readonly state: 'pending' | 'firing';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Between two scrapes, and between two looks at the rules. */
const INTERVAL = '500ms';

/** The targets of each job, as `127.0.0.1` ports. */
export type Targets = Readonly<Record<string, readonly number[]>>;

/** A real Prometheus that scrapes processes of this machine and looks at alert rules. */
export class Prometheus {
  readonly program: Program;
  readonly #url: string;
  readonly #folder: string;

  private constructor(program: Program, url: string, folder: string) {
    this.program = program;
    this.#url = url;
    this.#folder = folder;
  }

  /** Starts it on a free port with rules as a text, and waits until it answers. */
  static async start(rules: string, jobs: readonly string[]): Promise<Prometheus> {
    const folder = mkdtempSync(join(scratchFolder(), 'prometheus-'));
    const config = {
      global: { scrape_interval: INTERVAL, scrape_timeout: INTERVAL, evaluation_interval: INTERVAL },
      rule_files: ['rules.yaml'],
      scrape_configs: jobs.map((job) => ({
        job_name: job,
        file_sd_configs: [{ files: [`targets-${job}.json`], refresh_interval: '1s' }],
      })),
    };
    writeFileSync(join(folder, 'prometheus.yml'), stringify(config));
    writeFileSync(join(folder, 'rules.yaml'), rules);
    for (const job of jobs) writeFileSync(join(folder, `targets-${job}.json`), '[]');
    const port = await freePort();
    const program = new Program({
      name: 'prometheus',
      command: [
        peerPath('prometheus', 'prometheus'),
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=warn',
      ],
    });
    const prometheus = new Prometheus(program, `http://127.0.0.1:${port}`, folder);
    await until('Prometheus to answer', async () => (await prometheus.#get('/-/ready')).ok, {
      needs: [program],
    });
    return prometheus;
  }

  /** Scrapes these from now on; Prometheus takes them up within 6 s. */
  scrape(targets: Targets): void {
    for (const [job, ports] of Object.entries(targets)) {
      const file = join(this.#folder, `targets-${job}.json`);
      writeFileSync(`${file}.new`, JSON.stringify([{ targets: ports.map((port) => `127.0.0.1:${port}`) }]));
      renameSync(`${file}.new`, file);
    }
  }

  /** The alerts that fire now. */
  async firing(): Promise<Alert[]> {
    const answer = await this.#get('/api/v1/alerts');
    const { data } = (await answer.json()) as { data: { alerts: Alert[] } };
    return data.alerts.filter(({ state }) => state === 'firing');
  }

  /** Waits until an alert of each name fires, in any order and not necessarily together. */
  async untilFired(...names: readonly string[]): Promise<Map<string, Alert>> {
    const seen = new Map<string, Alert>();
    await until(
      `${names.join(', ')} to fire`,
      async () => {
        for (const alert of await this.firing()) seen.set(alert.labels['alertname'] ?? '', alert);
        return names.every((name) => seen.has(name));
      },
      { needs: [this.program], timeoutMs: 120_000 },
    );
    return seen;
  }

  /** Waits until nothing fires. */
  async untilQuiet(): Promise<void> {
    let left: string[] = [];
    await until(
      'all alerts to resolve',
      async () => {
        left = (await this.firing()).map(({ labels }) => JSON.stringify(labels));
        return left.length === 0;
      },
      { needs: [this.program], timeoutMs: 120_000 },
    ).catch((error: unknown) => {
      throw new Error(`still firing: ${left.join(' ')}`, { cause: error });
    });
  }

  /** What an instant query finds, one line a series; an error where the query cannot be read. */
  async query(expr: string): Promise<readonly unknown[]> {
    const answer = await this.#get(`/api/v1/query?${new URLSearchParams({ query: expr })}`);
    const { data, error } = (await answer.json()) as { data?: { result: unknown[] }; error?: string };
    if (data === undefined) throw new Error(`${error} in ${expr}`);
    return data.result;
  }

  #get(path: string): Promise<Response> {
    return fetch(`${this.#url}${path}`, { signal: AbortSignal.timeout(5_000) });
  }
}
