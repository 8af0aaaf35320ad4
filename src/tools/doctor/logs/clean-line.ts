import { isJsonObject, type JsonObject } from '../../../edge/platform/data/json-object.js';
import { type FlatRecord, flatRecord } from './flat-record.js';
import { timeOf, timeOfField } from './log-time.js';
import { quoteLongNumbers } from './long-numbers.js';
import type { TimeGaps } from './quick-time.js';
import { MAX_FIELDS, MAX_VALUE_CHARS } from './record-scan.js';

/** A line without what was put around it on its way. */
export interface CleanLine {
  /** The message, with fields as `name=value` behind it when the line was JSON. */
  readonly text: string;
  /** Wall-clock milliseconds; undefined when the line has no time. */
  readonly ms: number | undefined;
  /** The pod, container or service that a prefix names; empty without one. */
  readonly who: string;
  /** The fields of a JSON line; undefined for text. */
  readonly fields: Readonly<Record<string, unknown>> | undefined;
  /** Undefined for text, and for JSON that needs a parser. */
  readonly record: FlatRecord | undefined;
}

/** What belongs to the whole log. */
export interface CleaningContext {
  /** The present time, for times without a year. */
  readonly nowMs: number;
  readonly gaps: TimeGaps;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for.
const ESCAPE_SEQUENCES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
/** `kubectl logs --prefix`: `[pod/frontend-0/main] `. */
const KUBECTL_PREFIX = /^\[pod\/([^/\]\s]{1,253})\/[^\]\s]{1,253}\] ?/;
/** `docker compose logs`: `frontend-1  | `. */
const COMPOSE_PREFIX = /^([A-Za-z0-9][\w.-]{0,120}) {1,60}\| ?/;
/** `stern`: `frontend-0 main `, before something that lines of programs begin with. */
const STERN_PREFIX =
  /^([a-z][a-z0-9.-]{1,252}) [a-z0-9][a-z0-9-]{0,62} (?=\d{4}-\d\d-\d\d[T ]|\{|\[|\(|Error: |(?:DEBUG|INFO|WARNING|ERROR) +\d\d-\d\d )/;
/** What a container runtime writes on the node: `2026-02-16T14:38:53.9Z stdout F `. */
const RUNTIME_PREFIX = /^(\d{4}-\d\d-\d\dT\S{8,30}) (?:stdout|stderr) [FP] /;
/** `journalctl` and syslog: `Feb 16 14:38:53 node-1 python3[812]: `. */
const JOURNAL_PREFIX =
  /^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})? [\w.-]{1,253} [\w@./:-]{1,120}(?:\[\d{1,10}\])?: /;
/** The same with `-o short-iso`: `2026-02-16T14:38:53+0000 node-1 python3[812]: `. */
const ISO_JOURNAL_PREFIX = /^(\d{4}-\d\d-\d\dT\S{8,30}) [\w.-]{1,253} [\w@./:-]{1,120}\[\d{1,10}\]: /;
/** `logcli query`: `2026-02-16T14:38:53Z {app="frontend", pod="frontend-0"} `. */
const LOKI_PREFIX = /^(\d{4}-\d\d-\d\dT\S{8,30}) \{([^{}]{0,2000})\} +/;
/**
 * `kubectl logs --timestamps`, `docker logs -t`, logs of GitHub's actions. Programs write fewer digits, or a level in a column of five
 * characters behind them.
 */
const STAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7,9}(?:Z|[+-]\d\d:?\d\d)) (?! (?:INFO|WARN) )/;
const SHORTEST_STAMP = 28;
/** `mpirun --tag-output`: `[1,0]<stderr>:`. */
const MPI_PREFIX = /^\[\d{1,6},\d{1,6}\]<std(?:out|err)>: ?/;
/** A record of JSON in an indented quotation. */
const INDENTATION = /^\s{1,40}(?=\{")/;
/** What Ray writes before the lines of an actor: `(ServeReplica:app:LLMServer pid=7, ip=10.0.0.1) `. */
const RAY_PREFIX = /^\([^()]{1,120} pid=\d{1,10}[^()]{0,60}\) (?=\{")/;
/** Where " std" of such a line can stand at the latest. */
const LONGEST_RUNTIME_TIME = 41;
/** `{"log":"…\n","stream":"stdout","time":"2026-02-16T14:38:53.9Z"}`. */
const DOCKER_START = '{"log":"';
const DOCKER_STREAM = '","stream":"std';
const DOCKER_REST = /","stream":"std(?:out|err)","time":"([^"\\]{8,40})"\}\s*$/y;
/** What Docker writes for the end of a line. */
const DOCKER_LINE_FEED = '\\n';
/** The answer of an OpenAI API to a request that failed, as curl prints it: no record of a log, and its sentence is in an object. */
const ANSWER_START = '{"error":{"';
const ANSWER = /^\{"error":\{[^{}]{1,4000}\}\}\s*$/;
/** The same of a list of models or workers without any. */
const EMPTY_LIST = /^\{(?:"object": ?"list", ?)?"(?:data|workers)": ?\[\]/;
/** What a copy from a framed terminal (k9s) has around a line, and Markdown before a quoted one. */
const FRAME = /^(?:\u2502 ?|> )/;
const FRAME_END = /\s*\u2502\s*$/;
/** Wrappings within each other: a runtime's JSON around a prefix around a program's JSON. */
const MAX_LAYERS = 5;

/** Collectors that put a whole line into one field: Docker, journald, Loki, Google Cloud Logging. */
const LINE_FIELDS = ['log', 'MESSAGE', 'line', 'textPayload'];
const MESSAGE_FIELDS = ['message', 'msg', 'event', 'log_message'];
const TIME_FIELDS = ['time', 'timestamp', 'ts', 'asctime', '@timestamp'];

/** Takes off colours, prefixes and JSON. Never throws. */
export function cleanLine(raw: string, context: CleaningContext): CleanLine {
  let text = raw;
  let who = '';
  let ms: number | undefined;
  if (text.includes('\u001b')) text = text.replace(ESCAPE_SEQUENCES, '');
  for (let layer = 0; layer < MAX_LAYERS; layer += 1) {
    const first = text.charCodeAt(0);
    const isDigit = first >= 48 && first <= 57;
    if (isDigit) {
      const space = text.indexOf(' ');
      const isOfRuntime = space < LONGEST_RUNTIME_TIME && text.startsWith('std', space + 1);
      const collected = isOfRuntime ? RUNTIME_PREFIX.exec(text) : collectedPrefix(text, space);
      if (collected === null) break;
      ms ??= timeOf(collected[1] ?? '', context.nowMs, context.gaps);
      who ||= isOfRuntime ? '' : ownerOf(collected[2] ?? '');
      text = text.slice(collected[0].length);
      continue;
    }
    if (first === 123) {
      if ((text.startsWith(ANSWER_START) && ANSWER.test(text)) || EMPTY_LIST.test(text)) break;
      const docker = dockerLine(text);
      if (docker !== undefined) {
        ms ??= timeOf(docker.time, context.nowMs, context.gaps);
        text = docker.log.trimEnd();
        if (text.includes('\u001b')) text = text.replace(ESCAPE_SEQUENCES, '');
        continue;
      }
      const flat = flatRecord(text, true);
      if (flat !== undefined) {
        ms ??= timeOfField(flat.time, context.nowMs, context.gaps);
        ms ??= timeOf(flat.text, context.nowMs, context.gaps);
        return new FlatLine(flat, ms, who, text);
      }
      const object = parsed(text);
      if (object === undefined) break;
      const time = TIME_FIELDS.find((name) => name in object);
      ms ??= time === undefined ? undefined : timeOfField(object[time], context.nowMs, context.gaps);
      const lineField = LINE_FIELDS.find((name) => typeof object[name] === 'string');
      const inner = lineField === undefined ? undefined : object[lineField];
      if (typeof inner === 'string') {
        text = inner.trimEnd();
        if (text.includes('\u001b')) text = text.replace(ESCAPE_SEQUENCES, '');
        continue;
      }
      const line = new ParsedLine(object, ms, who);
      if (ms !== undefined) return line;
      const lateMs = timeOf(line.text, context.nowMs, context.gaps);
      return lateMs === undefined ? line : new ParsedLine(object, lateMs, who);
    }
    if (first === 0x2502 || (first === 62 && text.charCodeAt(1) === 32)) {
      text = text.replace(FRAME, '').replace(FRAME_END, '');
      continue;
    }
    const prefix = prefixOf(text, first);
    if (prefix === null) break;
    who ||= prefix[1] ?? '';
    text = text.slice(prefix[0].length);
  }
  ms ??= timeOf(text, context.nowMs, context.gaps);
  return { text, ms, who, fields: undefined, record: undefined };
}

/** A record whose text is made, and whose fields are parsed, when they are first asked for: few rules need them. */
class FlatLine implements CleanLine {
  readonly record: FlatRecord;
  readonly ms: number | undefined;
  readonly who: string;
  readonly #json: string;
  #fields: Readonly<Record<string, unknown>> | undefined;

  constructor(record: FlatRecord, ms: number | undefined, who: string, json: string) {
    this.record = record;
    this.ms = ms;
    this.who = who;
    this.#json = json;
  }

  get text(): string {
    return this.record.text;
  }

  get fields(): Readonly<Record<string, unknown>> | undefined {
    this.#fields ??= parsed(this.#json);
    return this.#fields;
  }
}

/** What a parser made of a line; its text is made when it is first asked for. */
class ParsedLine implements CleanLine {
  readonly record = undefined;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly ms: number | undefined;
  readonly who: string;
  #text: string | undefined;

  constructor(fields: Readonly<Record<string, unknown>>, ms: number | undefined, who: string) {
    this.fields = fields;
    this.ms = ms;
    this.who = who;
  }

  get text(): string {
    this.#text ??= asText(this.fields);
    return this.#text;
  }
}

/** A line of Docker's own log driver without parsing all of it; undefined for every other form. */
function dockerLine(text: string): { readonly log: string; readonly time: string } | undefined {
  if (!text.startsWith(DOCKER_START)) return undefined;
  const end = text.lastIndexOf(DOCKER_STREAM);
  if (end === -1) return undefined;
  DOCKER_REST.lastIndex = end;
  const time = DOCKER_REST.exec(text)?.[1];
  if (time === undefined) return undefined;
  const start = DOCKER_START.length;
  const slash = text.indexOf('\\', start);
  // Most lines of text have no other escape than that of their end.
  if (slash === end - DOCKER_LINE_FEED.length && text.startsWith(DOCKER_LINE_FEED, slash))
    return { log: text.slice(start, slash), time };
  const log = parsedText(text.slice(start - 1, end + 1));
  return log === undefined ? undefined : { log, time };
}

/** A text with its quotation marks, as JSON has it. */
function parsedText(quoted: string): string | undefined {
  try {
    const value: unknown = JSON.parse(quoted);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What is put before a line, by the first character of the whole. */
function prefixOf(text: string, first: number): RegExpExecArray | null {
  if (first === 91) return text.startsWith('[pod/') ? KUBECTL_PREFIX.exec(text) : MPI_PREFIX.exec(text);
  if (first === 32 || first === 9) return INDENTATION.exec(text);
  if (first === 40) return text.charCodeAt(text.indexOf(') ') + 2) === 123 ? RAY_PREFIX.exec(text) : null;
  const isSmall = first >= 97 && first <= 122;
  if (!isSmall && (first < 65 || first > 90)) return null;
  const space = text.indexOf(' ');
  if (space === -1) return null;
  let next = space + 1;
  while (text.charCodeAt(next) === 32) next += 1;
  if (text.charCodeAt(next) === 124) return COMPOSE_PREFIX.exec(text);
  return isSmall ? STERN_PREFIX.exec(text) : JOURNAL_PREFIX.exec(text);
}

/** What collectors write before a line that they begin with a time; null for the line itself. */
function collectedPrefix(text: string, space: number): RegExpExecArray | null {
  if (space === -1 || space >= LONGEST_RUNTIME_TIME) return null;
  const next = text.charCodeAt(space + 1);
  const loki = next === 123 ? LOKI_PREFIX.exec(text) : null;
  if (loki !== null) return loki;
  const stamp = space >= SHORTEST_STAMP ? STAMP.exec(text) : null;
  if (stamp !== null) return stamp;
  // A level in capitals, or a second space, is the program's own.
  return next >= 97 && next <= 122 ? ISO_JOURNAL_PREFIX.exec(text) : null;
}

/** The pod that a set of labels names; a host is no worker, and several may run on it. */
function ownerOf(labels: string): string {
  return /\b(?:pod|container|app)="([^"]{1,253})"/.exec(labels)?.[1] ?? '';
}

function parsed(text: string): Record<string, unknown> | undefined {
  const end = text.trimEnd();
  if (!end.endsWith('}')) return undefined;
  // Worker ids of 64 bits lose their last digits as numbers.
  const quoted = quoteLongNumbers(end);
  const value = parsedAs(quoted) ?? (quoted === end ? undefined : parsedAs(end));
  return value;
}

function parsedAs(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) return undefined;
    if (!('fields' in value)) return value;
    // tracing's own formatter puts message and fields one level deeper.
    const { fields, ...rest } = value;
    return isJsonObject(fields) ? { ...rest, ...fields } : value;
  } catch {
    return undefined;
  }
}

/** A JSON line as the text that the same program would have written. */
function asText(object: Readonly<Record<string, unknown>>): string {
  const name = MESSAGE_FIELDS.find((field) => typeof object[field] === 'string');
  let text = name === undefined ? '' : String(object[name]);
  let count = 0;
  for (const field of Object.keys(object)) {
    const value = object[field];
    if (field === name || typeof value === 'object' || TIME_FIELDS.includes(field)) continue;
    if (count === MAX_FIELDS) break;
    count += 1;
    text += ` ${field}=${typeof value === 'string' ? valueText(value) : String(value)}`;
  }
  return text;
}

function valueText(value: string): string {
  const text = value.length > MAX_VALUE_CHARS ? value.slice(0, MAX_VALUE_CHARS) : value;
  return /[\s"]/.test(text) ? JSON.stringify(text) : text;
}
