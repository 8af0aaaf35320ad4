import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

/** Bundles the thread that tokenises, as the build does, into an address that a thread can start from. */
export async function bundledThread(): Promise<URL> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL('../../../../src/frontend/tokens/tokenizing-thread.ts', import.meta.url)),
    platform: 'node',
    logLevel: 'silent',
  });
  const { output } = await bundle.generate({ format: 'esm' });
  await bundle.close();
  return new URL(`data:text/javascript;base64,${Buffer.from(output[0].code).toString('base64')}`);
}
