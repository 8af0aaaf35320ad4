import { type DynamoVersion, decidingNumber } from '../../manifests/lint/launches/dynamo-version.js';
import type { SettingSighting } from '../evidence.js';

/** What is known of the Dynamo at hand, as far as it decides about the fix. */
export interface DynamoFacts {
  /** Undefined when it is not known, or several are running. */
  readonly version: DynamoVersion | undefined;
  /** Which number the router inside `dynamo.frontend` uses. */
  readonly decides: ReturnType<typeof decidingNumber>;
}

/** Reads the version from settings, which have it of images, packages and start lines. */
export function dynamoFacts(settings: readonly SettingSighting[]): DynamoFacts {
  const version = only(valuesOf(settings, 'dynamo_version').map(versionOf), (one) => one?.text ?? '');
  const chat = only(valuesOf(settings, 'chat_processor'), (one) => one);
  return { version, decides: decidingNumber(version, chat) };
}

function valuesOf(settings: readonly SettingSighting[], wanted: SettingSighting['name']): readonly string[] {
  return settings.filter(({ name }) => name === wanted).map(({ value }) => value.trim().toLowerCase());
}

function versionOf(text: string): DynamoVersion | undefined {
  const match = /(?:^|[^\d.])v?(\d{1,4})\.(\d{1,4})(?:\.\d{1,4})?/.exec(text);
  return match === null ? undefined : { major: Number(match[1]), minor: Number(match[2]), text };
}

function only<T>(values: readonly T[], keyOf: (value: T) => string): T | undefined {
  return new Set(values.map(keyOf)).size === 1 ? values[0] : undefined;
}
