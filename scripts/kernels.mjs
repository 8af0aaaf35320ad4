// Compiles the WebAssembly kernels of src/core/blocks from their AssemblyScript in
// kernel/ and embeds them, so that neither a build nor an installation needs a
// compiler or reads a file beside the code.
//
//   node scripts/kernels.mjs            writes src/core/blocks/kernels
//   node scripts/kernels.mjs --check    exits 1 when src/core/blocks/kernels is out of date
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const root = fileURLToPath(new URL('..', import.meta.url));
const isCheck = process.argv.includes('--check');
const target = `${root}src/core/blocks/kernels`;

const OPTIONS = [
  ...['-O3', '--noAssert'],
  // No garbage collector and no runtime: a kernel lays its memory out itself.
  ...['--runtime', 'stub'],
  ...['--importMemory', '--enable', 'simd'],
  // The largest that 32-bit addresses reach; what is not used costs addresses alone.
  ...['--initialMemory', '1', '--maximumMemory', '65536'],
];

/** Kernels whose memory grows under views of it: only those of a shared memory stay valid. Copying to one that is not shared takes half the time. */
const SHARED = new Set(['index']);
const SHARED_OPTIONS = ['--sharedMemory', '--enable', 'threads'];

/** The compiled module of kernel/<name>/index.ts. */
async function compile(name) {
  let bytes;
  const { error, stderr } = await asc.main(
    [
      ...[`kernel/${name}/index.ts`, '--outFile', 'kernel.wasm', ...OPTIONS],
      ...(SHARED.has(name) ? SHARED_OPTIONS : []),
    ],
    {
      readFile: (file, base) => {
        try {
          return readFileSync(`${base}/${file}`, 'utf8');
        } catch {
          return null;
        }
      },
      writeFile: (_file, contents) => {
        bytes = contents;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || bytes === undefined)
    throw new Error(`kernel/${name}: ${stderr.toString()}`, { cause: error });
  return bytes;
}

mkdirSync(target, { recursive: true });
for (const name of readdirSync(`${root}kernel`, { withFileTypes: true }).flatMap((e) =>
  e.isDirectory() ? [e.name] : [],
)) {
  process.chdir(root);
  const bytes = await compile(name);
  const constant = `${name.toUpperCase()}_KERNEL_BASE64`;
  const text =
    `// The compiled module of kernel/${name} (${bytes.length} bytes), base64. Written by scripts/kernels.mjs.\n` +
    `export const ${constant}: string =\n  '${Buffer.from(bytes).toString('base64')}';\n`;
  const file = `${target}/${name}-kernel.ts`;
  if (!isCheck) writeFileSync(file, text);
  else {
    let held = '';
    try {
      held = readFileSync(file, 'utf8');
    } catch {
      // Not there is out of date as well.
    }
    if (held !== text) {
      console.error(`src/core/blocks/kernels/${name}-kernel.ts is out of date, run "npm run generate"`);
      process.exitCode = 1;
    }
  }
}
