// Writes Grafana's dashboards, for people (deploy/grafana) and for the chart, out of scripts/dashboards/pages.mjs.
//
//   node scripts/dashboards.mjs           writes them
//   node scripts/dashboards.mjs --check   fails where a file is not what would be written
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dashboardOf } from './dashboards/model.mjs';
import { pages } from './dashboards/pages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The chart can read only what lies in it, and Kustomize only what lies beside its file. */
const FOLDERS = ['deploy/grafana', 'deploy/helm/kv-accord/files/dashboards'];

const isCheck = process.argv.includes('--check');
for (const page of pages) {
  const text = `${JSON.stringify(dashboardOf(page), null, 2)}\n`;
  for (const folder of FOLDERS) {
    const file = `${folder}/${page.name}.json`;
    const path = join(root, file);
    if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
    if (isCheck) {
      console.error(`${file} is not what scripts/dashboards.mjs writes: run it`);
      process.exitCode = 1;
      continue;
    }
    mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(path, text);
    console.log(file);
  }
}
