// Builds the web app of the status page out of src/page into dist/page: one
// script, one style sheet, and the licences of the packages that stand in them.
// Unlike the rest of dist nothing stays outside: a browser installs no packages.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';

/** Packages whose code is in the files: a build that bundles another one fails. */
const BUNDLED = ['@preact/signals', '@preact/signals-core', '@tanstack/virtual-core', 'preact', 'uplot'];

/** Style sheets of src/page/styles, in the order in which they count. */
const STYLES = ['base', 'sections', 'fleet', 'routing', 'timeline', 'topology', 'narrow'];

/** Writes dist/page below `root`. */
export async function buildPage(root) {
  const out = join(root, 'dist/page');
  const { output } = await build({
    cwd: root,
    input: { app: 'src/page/app/main.tsx' },
    platform: 'browser',
    logLevel: 'warn',
    tsconfig: 'src/page/tsconfig.json',
    transform: { target: 'es2022', define: { 'process.env.NODE_ENV': '"production"' } },
    output: { dir: out, entryFileNames: '[name].js', minify: true, comments: false, codeSplitting: false },
  });
  const bundled = new Set(
    output.flatMap(({ moduleIds = [] }) => moduleIds.map(packageOf)).filter((name) => name !== undefined),
  );
  const unknown = [...bundled].filter((name) => !BUNDLED.includes(name));
  if (unknown.length > 0)
    throw new Error(`the page bundles ${unknown.join(', ')}; name it in scripts/parts/build-page.mjs`);
  mkdirSync(out, { recursive: true });
  const styles = [
    'node_modules/uplot/dist/uPlot.min.css',
    ...STYLES.map((name) => `src/page/styles/${name}.css`),
  ];
  writeFileSync(join(out, 'app.css'), styles.map((file) => compact(read(root, file))).join('\n'));
  writeFileSync(join(out, 'licences.txt'), BUNDLED.map((name) => licenceOf(root, name)).join('\n'));
}

/** The package that a module of the bundle is of; undefined for our own. */
function packageOf(id) {
  const at = id.lastIndexOf('node_modules/');
  if (at === -1) return undefined;
  const [first, second] = id.slice(at + 'node_modules/'.length).split('/');
  return first.startsWith('@') ? `${first}/${second}` : first;
}

function licenceOf(root, name) {
  const folder = join(root, 'node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} brings no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
}

/** Without comments and indentation: the rest is for gzip. */
function compact(css) {
  return css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s*\n\s*/g, '\n')
    .trim();
}

function read(root, file) {
  return readFileSync(join(root, file), 'utf8');
}
