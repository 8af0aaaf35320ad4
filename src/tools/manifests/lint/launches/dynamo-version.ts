import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import { isBefore } from '../../../../engines/descriptor/default-size.js';

/** A release of Dynamo. */
export interface DynamoVersion {
  readonly major: number;
  readonly minor: number;
  /** As the image's tag has it. */
  readonly text: string;
}

/** Images that carry Dynamo, under whatever registry: `vllm-runtime`, `tensorrtllm-runtime`, `dynamo-frontend`… */
const DYNAMO_IMAGE =
  /(?:^|\/)(?:(?:vllm|sglang|tensorrtllm|trtllm|mocker|dynamo)[\w.-]*-runtime|dynamo(?:-[\w.]+)*):v?(?<major>\d+)\.(?<minor>\d+)(?:\.\d+)?(?:\.?(?:post|dev|rc|a|b)\d*|[^\d.]|$)/;

/** The version of Dynamo that an image says; undefined for images of one's own and tags without one. */
export function dynamoVersionOf(image: string | undefined): DynamoVersion | undefined {
  const match = DYNAMO_IMAGE.exec(image ?? '');
  const { major, minor } = match?.groups ?? {};
  return major === undefined || minor === undefined
    ? undefined
    : { major: Number(major), minor: Number(minor), text: image?.slice(image.lastIndexOf(':') + 1) ?? '' };
}

/** The version of a package: `1.3.0.dev1`; undefined for what is none. */
export function readVersion(text: string | undefined): DynamoVersion | undefined {
  const [whole, major, minor] = /^v?(\d{1,4})\.(\d{1,4})(?![\d/])[\w.+-]*$/.exec(text ?? '') ?? [];
  return whole === undefined ? undefined : { major: Number(major), minor: Number(minor), text: whole };
}

/** A chart's name and version as its `Chart.yaml` has them, on lines of their own. */
const CHART_NAME = /^name:\s*["']?dynamo-platform["']?\s*$/m;
const CHART_VERSION = /^version:\s*["']?v?(?<text>(?<major>\d+)\.(?<minor>\d+)[\w.+-]*)["']?\s*$/m;

/** The version that a `Chart.yaml` of Dynamo's own platform says; undefined for every other file. */
export function chartVersionOf(file: string, text: string): DynamoVersion | undefined {
  const { text: whole, major, minor } = CHART_VERSION.exec(text)?.groups ?? {};
  return !/(?:^|\/)Chart\.yaml$/.test(file) || !CHART_NAME.test(text) || whole === undefined
    ? undefined
    : { major: Number(major), minor: Number(minor), text: whole };
}

/** Whether a version is the given one or a later one. */
export function isAtLeast(
  { major, minor }: DynamoVersion,
  wantedMajor: number,
  wantedMinor: number,
): boolean {
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/**
 * Which number the router inside `dynamo.frontend` uses.
 *
 * `card`: the one in the workers' model cards; the frontend's variable changes
 * nothing (seen running 0.9.0, 1.1.1 and 1.6.1, read in the sources of 0.4.1, 0.5.1, 0.6.1, 0.7.0 and 0.8.0). `variable`: the frontend's
 * own, 16 when it is not set (read in the wheels of 1.0 to 1.2, whose Python
 * chat processors build the router with it). `unknown`: the image does not say its version.
 */
export function decidingNumber(
  version: DynamoVersion | undefined,
  chatProcessor: string | undefined,
): 'card' | 'variable' | 'unknown' {
  if (version === undefined || !isAtLeast(version, 0, 4)) {
    return 'unknown';
  }
  const since = engineOfWord(chatProcessor)?.launch?.dynamo?.chatProcessorSince;
  const isPython = since !== undefined && !isBefore(version, since);
  return isPython && !isAtLeast(version, 1, 3) ? 'variable' : 'card';
}
