#!/usr/bin/env node
// Asks a sidecar what its engine uses, or watches an aggregator's fleet. README.md shows both.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { credentials, Metadata, status } from '@grpc/grpc-js';
import { Capabilities, Fleet } from './kv-accord.mjs';

const USAGE = `Usage: client.mjs capabilities HOST:PORT [flags]   what a sidecar reports about its engine
       client.mjs watch HOST:PORT [flags]          an aggregator's fleet, now and at every change

  --group MODEL           watch: the served model, where the fleet serves several
  --timeout SECONDS       longest wait for the first answer (default 5)
  --json                  the messages as JSON, one a line
  --tls-ca FILE           authorities that the server's certificate must come from, PEM
  --tls-cert, --tls-key   this client's own certificate and key, PEM
  --tls-server-name NAME  the name in the server's certificate, where it is not HOST
  --token-file FILE       file with the bearer token
  --insecure              allow plaintext beyond this machine`;

/** A watched server sends a heartbeat every 5 s: after three without one it counts as gone. */
const SILENCE_MS = 15_000;

/** What the caller has to change before anything is asked. */
class UsageError extends Error {}

function readCommandLine() {
  const text = { type: 'string' };
  const flag = { type: 'boolean' };
  const options = {
    ...{ group: text, timeout: text, json: flag, help: { type: 'boolean', short: 'h' } },
    ...{ 'tls-ca': text, 'tls-cert': text, 'tls-key': text, 'tls-server-name': text },
    ...{ 'token-file': text, insecure: flag },
  };
  const { values: flags, positionals } = parseArgs({ options, allowPositionals: true });
  const [command, target = '', ...rest] = positionals;
  const timeoutMs = 1_000 * Number(flags.timeout ?? 5);
  if (flags.help) return { flags };
  if (!['capabilities', 'watch'].includes(command)) throw new UsageError('name "capabilities" or "watch"');
  if (!/^(.+:\d{1,5}|unix:.+)$/.test(target) || rest.length > 0) throw new UsageError('name one HOST:PORT');
  if (!(timeoutMs > 0 && timeoutMs <= 3_600_000))
    throw new UsageError(`--timeout is ${flags.timeout}; give seconds, above 0 and at most 3600`);
  return { flags, command, target, timeoutMs };
}

/** A client of `Service`, and the metadata that each of its calls carries. */
function connect(Service, { target, flags }) {
  const read = (name) => (flags[name] === undefined ? null : readFileSync(flags[name]));
  const authorities = read('tls-ca');
  const isLocal = /^(unix:|localhost:|127\.|\[::1\])/.test(target);
  // Nor does a token leave this machine in plaintext.
  if (authorities === null && !isLocal && !flags.insecure)
    throw new UsageError(`${target} is not on this machine: set --tls-ca, or --insecure for plaintext`);
  const metadata = new Metadata();
  if (flags['token-file'] !== undefined) {
    const token = /^[^#\s]\S*/m.exec(read('token-file').toString())?.[0]; // lines with # are comments
    if (token === undefined) throw new UsageError(`${flags['token-file']} has no token`);
    metadata.set('authorization', `Bearer ${token}`);
  }
  const channelCredentials =
    authorities === null
      ? credentials.createInsecure()
      : credentials.createSsl(authorities, read('tls-key'), read('tls-cert'));
  const client = new Service(target, channelCredentials, {
    'grpc.enable_http_proxy': 0, // the proxy of a pod's environment is for the world outside
    ...(flags['tls-server-name'] && { 'grpc.ssl_target_name_override': flags['tls-server-name'] }),
  });
  return { client, metadata };
}

/** Prints one line; text of others cannot steer the terminal. */
function print(line) {
  console.log(line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd'));
}

async function askCapabilities(asked) {
  const { client, metadata } = connect(Capabilities, asked);
  const { report } = await new Promise((resolve, reject) => {
    const options = { deadline: Date.now() + asked.timeoutMs }; // without one, grpc-js waits for ever
    client.GetCapabilities({}, metadata, options, (error, answer) =>
      error ? reject(error) : resolve(answer),
    );
  }).finally(() => client.close());
  if (asked.flags.json) return console.log(JSON.stringify(report));
  const { engine, model, contract, capacity, topology, completeness } = report;
  const line = (name, ...words) => print(`${name.padEnd(18)}${words.filter(Boolean).join(' ')}`);
  line('worker', report.worker_id);
  line('engine', engine?.kind, engine?.version, engine?.state);
  line('model', model?.served_names.join(', '));
  // An absent `optional` field is undefined: the engine cannot say. 0 would be what it said.
  const size = contract?.tokens_per_block;
  const from = report.evidence.find(({ field }) => field === 'contract.tokens_per_block');
  line('tokens per block', `${size ?? 'not known'}`, from && `(${from.source}, ${from.origin})`);
  const blocks = capacity?.total_kv_blocks;
  const tokens = blocks !== undefined && size && `(${BigInt(blocks) * BigInt(size)} tokens)`;
  line('KV blocks', blocks ?? 'not known', tokens);
  for (const gpu of topology?.gpus ?? [])
    line('GPU', gpu.product_name, `(memory: ${gpu.memory_bytes ?? 'unknown'} bytes)`);
  for (const [name, value] of Object.entries(topology?.placement?.topology_domains ?? {}))
    line('topology domain', `${name}=${value}`);
  line('report', completeness?.state, completeness?.reasons.join('; '));
}

async function watchFleet(asked) {
  const { client, metadata } = connect(Fleet, asked);
  const call = client.WatchAgreement({ group: asked.flags.group ?? '' }, metadata); // it has no deadline
  let silenceMs;
  const expectWithin = (ms) =>
    setTimeout(() => {
      silenceMs = ms;
      call.cancel();
    }, ms);
  let timer = expectWithin(asked.timeoutMs);
  try {
    for await (const { agreement } of call) {
      clearTimeout(timer);
      timer = expectWithin(SILENCE_MS);
      if (agreement === undefined) continue; // a heartbeat
      if (asked.flags.json) console.log(JSON.stringify(agreement));
      else printAgreement(agreement);
    }
    throw new Error('the server ended the watch; ask again to go on');
  } catch (error) {
    throw silenceMs === undefined ? error : { code: status.DEADLINE_EXCEEDED, silenceMs };
  } finally {
    clearTimeout(timer);
    client.close();
  }
}

function printAgreement({ group, gate_open, contract, epoch, routing_mode, members, reasons }) {
  const size = contract === null ? 'nothing agreed' : `${contract.tokens_per_block} tokens per block`;
  const gate = `gate ${gate_open ? 'open' : 'shut'}`;
  print(`${new Date().toISOString()} ${group}: ${gate}, ${size}, epoch ${epoch}, routing ${routing_mode}`);
  for (const { text } of reasons) print(`  because ${text.replaceAll('\n', ' ')}`);
  for (const { target, state, tokens_per_block, reason } of members)
    print(`  ${target}  ${state}  ${tokens_per_block ?? '-'}  ${reason}`.trimEnd());
}

/** What an operator reads when a call has failed. */
function explain({ code, details, message, silenceMs }, { command, target, timeoutMs }) {
  if (code === status.UNAVAILABLE) return `${target} is unavailable: ${details}`;
  if (code === status.UNAUTHENTICATED)
    return `${target} does not accept this client: ${details}; see --token-file`;
  if (code === status.DEADLINE_EXCEEDED)
    return `${target} said nothing for ${(silenceMs ?? timeoutMs) / 1_000} s`;
  if (code === status.UNIMPLEMENTED)
    return `${target} does not serve "${command}": sidecars serve capabilities, aggregators watch (${details})`;
  return `${target}: ${details ?? message}`;
}

process.stdout.on('error', () => process.exit()); // its reader has left, as `head` does
let asked;
try {
  asked = readCommandLine();
  if (asked.flags.help) console.log(USAGE);
  else await (asked.command === 'watch' ? watchFleet : askCapabilities)(asked);
} catch (error) {
  // Node's own errors, of arguments and files, have words for codes.
  const isUsage = error instanceof UsageError || typeof error.code === 'string';
  console.error(`client.mjs: ${isUsage ? `${error.message} (--help has the flags)` : explain(error, asked)}`);
  process.exitCode = isUsage ? 2 : 1;
}
