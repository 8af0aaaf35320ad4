// Makes src/gen from proto/: TypeScript by ts-proto, and the compiler's own
// descriptors, from which server reflection answers.
//
//   node scripts/generate.mjs            writes src/gen
//   node scripts/generate.mjs --check    exits 1 when src/gen is out of date
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesBelow } from './parts/files-below.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const committed = join(root, 'src/gen');
const buf = join(root, 'node_modules/.bin/buf');

/** Every file below a folder, relative to it, in order. */
function placesBelow(folder) {
  return filesBelow(folder).map((file) => relative(folder, file));
}

const scratch = mkdtempSync(join(tmpdir(), 'kv-accord-gen-'));
try {
  execFileSync(buf, ['generate', '--include-imports', '--output', scratch], { cwd: root, stdio: 'inherit' });
  const made = join(scratch, 'src/gen');
  const descriptors = join(scratch, 'descriptors.binpb');
  execFileSync(
    buf,
    [
      'build',
      '--as-file-descriptor-set',
      '--exclude-source-info',
      '-o',
      descriptors,
      '--path',
      'proto/kvaccord',
      '--path',
      'proto/grpc',
      // So that tools can show the details of an error.
      '--path',
      'proto/google',
      '--path',
      'proto/envoy',
    ],
    { cwd: root, stdio: 'inherit' },
  );
  writeFileSync(
    join(made, 'descriptors.ts'),
    `// The compiled descriptors of everything that kv-accord serves: a serialized\n// google.protobuf.FileDescriptorSet, base64. Written by scripts/generate.mjs.\nexport const FILE_DESCRIPTOR_SET_BASE64: string =\n  '${readFileSync(descriptors).toString('base64')}';\n`,
  );

  // Of an enumeration's value that only a newer peer knows, ts-proto makes an error: one such worker would take the
  // JSON of a whole fleet away. Proto3's JSON has the number.
  for (const file of placesBelow(made)) {
    const path = join(made, file);
    const text = readFileSync(path, 'utf8');
    const tolerant = text.replace(
      /throw new globalThis\.Error\("Unrecognized enum value " \+ object \+ " for enum \w+"\);/g,
      'return object as unknown as string;',
    );
    if (tolerant !== text) writeFileSync(path, tolerant);
  }

  if (process.argv.includes('--check')) {
    const differing = [...new Set([...placesBelow(made), ...placesBelow(committed)])].filter((file) => {
      try {
        return !readFileSync(join(made, file)).equals(readFileSync(join(committed, file)));
      } catch {
        return true; // on one side only
      }
    });
    if (differing.length > 0) {
      console.error(`src/gen is out of date, run "npm run generate": ${differing.join(', ')}`);
      process.exitCode = 1;
    }
  } else {
    rmSync(committed, { recursive: true, force: true });
    cpSync(made, committed, { recursive: true });
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
