// Writes the bill of materials of production as CycloneDX, out of package-lock.json:
//
//   node scripts/sbom.mjs            prints it
//   node scripts/sbom.mjs FILE       writes it
//
// The same lock file gives the same text. The container image carries it as
// /opt/kv-accord/sbom.cdx.json. It says what is in there, not whether any of it
// is known to be vulnerable: that is for a scanner with a database of its own.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readSbom } from './parts/sbom.mjs';

const text = `${JSON.stringify(readSbom(fileURLToPath(new URL('..', import.meta.url))), undefined, 2)}\n`;
const file = process.argv[2];
if (file === undefined) process.stdout.write(text);
else writeFileSync(file, text);
