// A plugin of the build: needles and patterns of all known faults stand in one place, as JSON, without the texts of the rows.
//
// Every log is searched for all needles; the texts beside them are ten times as much, and are read where a fault was found.
import { build } from 'rolldown';

const SIGNS = /[\\/]known-faults[\\/]known-fault-signs\.ts$/;

/** Writes what the module computes in its place. */
export function knownFaultSigns() {
  return {
    name: 'known-fault-signs',
    async load(id) {
      if (!SIGNS.test(id)) return null;
      const { output } = await build({
        input: id,
        platform: 'node',
        logLevel: 'warn',
        write: false,
        output: { codeSplitting: false },
      });
      const [{ code }] = output;
      const { KNOWN_FAULT_SIGNS } = await import(
        `data:text/javascript;base64,${Buffer.from(code).toString('base64')}`
      );
      const json = JSON.stringify(JSON.stringify(KNOWN_FAULT_SIGNS));
      return { code: `export const KNOWN_FAULT_SIGNS = JSON.parse(${json});`, moduleType: 'js' };
    },
  };
}
