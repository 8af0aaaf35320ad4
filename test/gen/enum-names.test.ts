import { describe, expect, it } from 'vitest';
import * as capabilities from '../../src/gen/kvaccord/v1/capabilities.js';
import * as fleet from '../../src/gen/kvaccord/v1/fleet.js';
import * as indexer from '../../src/gen/kvaccord/v1/indexer.js';
import * as kvEvents from '../../src/gen/kvaccord/v1/kv_events.js';
import * as router from '../../src/gen/kvaccord/v1/router.js';
import * as view from '../../src/gen/kvaccord/v1/view.js';
import { readRegistry } from '../examples/support/random-message.js';

const generated: Readonly<Record<string, unknown>> = {
  ...capabilities,
  ...fleet,
  ...indexer,
  ...kvEvents,
  ...router,
  ...view,
};

/** `kvaccord.v1.Canary.State` is written by `canary_StateToJSON`. */
function writerOf(typeName: string): unknown {
  const name = typeName.replace('kvaccord.v1.', '').replaceAll('.', '_');
  return generated[`${name.charAt(0).toLowerCase()}${name.slice(1)}ToJSON`];
}

const enums = [...readRegistry()]
  .filter((one) => one.kind === 'enum')
  .filter(({ typeName }) => typeName.startsWith('kvaccord.'));

describe('an enumeration', () => {
  it('is looked for in every message of the wire', () => {
    expect(enums.length).toBeGreaterThan(12);
  });

  it.each(enums.map((one) => [one.typeName, one] as const))(
    '%s has the names of its proto file in JSON, with their prefix',
    (typeName, one) => {
      const write = writerOf(typeName) as (value: number) => string;
      expect(one.values.map(({ number }) => write(number))).toEqual(one.values.map(({ name }) => name));
    },
  );
});
