import type { LogFindings } from '../../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../../engines/diagnosis/log-line.js';
import { type LogRule, rule } from '../../../../engines/diagnosis/log-rule.js';
import { missingLibraryOf } from './fault-classes.js';
import { isBareLineOfGlog, isErrorOfGlog, isOfGivingBack, isWarningOfGlog } from './glog.js';
import { PATH_EVENT_RULES } from './path-event-rules.js';
import { namedPathFault, type PathFaultId } from './path-faults.js';
import { pathFaultValue } from './seen-path-faults.js';
import { TRANSFER_FILES, TRANSFER_SENTENCES } from './source-files.js';

/** Texts of particular faults, which are no errors by their level everywhere. */
const PARTICULAR = [
  'emory is detected as host',
  ' support was not found! ',
  ' not available, please use one or more of',
  'failed to select lane for local device',
  'EFA internal error: (',
  'Deserialization of tag ',
  // Ascend's runtime has a form of its own, of several lines: "E19999[PID: 144223] … Call …HcclCommPrepare(…) fail, ret: 0x13[FUNC:Initialize]…".
  '[GE][MODULE]',
  'HcclException',
  'HcclCommPrepare',
  'Failed to check peer process ret status',
  // The driver of AMD's cards: "ionic_comp_msn:1277: cqe with error 12 for 0x1 (msn), qpid 2048 cqid 2049".
  'cqe with error ',
  // MoRI.
  'ProcessOneCqe: [ROOT CAUSE]',
  'SQ full (batch',
  'SQ full (notify',
  'SQ full timeout (',
  'SQ request exceeds capacity (',
  'GID is NULL, please check your GID index',
  'user-specified gid index',
  'auto-detect a valid GID',
] as const;

/** Errors of NIXL, without those that say that a transfer has not ended or is not supported. */
const NIXL_ERRORS = [
  'NIXL_ERR_BACKEND',
  'NIXL_ERR_REMOTE_DISCONNECT',
  'NIXL_ERR_NOT_FOUND',
  'NIXL_ERR_INVALID_PARAM',
  'NIXL_ERR_UNKNOWN',
  'NIXL_ERR_MISMATCH',
  'NIXL_ERR_CANCELED',
] as const;

/** Network cards that are left out: the reason where none is left, and nothing where others are. */
const UNFIT_CARDS: readonly (readonly [needle: string, id: PathFaultId])[] = [
  // "User-specified GID index 0 on mlx5_8/ has no associated network device, may not be optimal for RDMA operations".
  ['has no associated network device', 'gid'],
  ['Skipping unavailable device', 'device_files'],
  // "Device mlx5_3 port not active".
  [' port not active', 'port_down'],
];

/** A warning that names another way which was taken, or a look-up: a client of Mooncake looks for itself before it registers. */
const WAY_OUT =
  /fall(?:ing|s)? ?back|simultaneous-open|P2P (?:access|unavailable)|will (?:be )?retr|Failed to retrieve segment descriptor, name /i;

/** Entries and memory that a process takes back as it ends, and that are not there; questions that NIXL answers with no. */
const HARMLESS =
  /\bDELETE http\S{1,300} (?:http=404|curl:)|Transfer is not complete yet|telemetry is not enabled|deregisterMem: no available/;

/** What UCX writes of its modules as it loads them, at whatever level that is set to (UCX_MODULE_LOG_LEVEL). */
const LOADS_MODULES =
  /\bmodule\.c:\d{1,4} .{0,40}(?:ucs library path|loading modules? |loaded |calling '|ignoring ')/;

/** What the system said, in the form of glog, as people copy it: "Failed to register memory 0x7fa3ce000000: Input/output error [5]". */
const SYSTEM_REASON = /^Failed to register memory 0x[0-9a-f]{1,16}: [A-Z][\w /]{1,60} \[\d{1,3}\]/;

/** Lines of libraries that move KV blocks: UCX, NIXL, libfabric, Mooncake, Ascend's HCCL and MoRI. */
export const TRANSFER_LIBRARY_RULES: readonly LogRule[] = [
  ...TRANSFER_FILES.map((needle) =>
    rule(needle, (line, found) => {
      const isError = isErrorOfGlog(line.text);
      if (!isError && !isWarningOfGlog(line.text) && !isBareLineOfGlog(line.text)) return;
      if (HARMLESS.test(line.text) || isOfGivingBack(line.text)) return;
      const missing = missingLibraryOf(line.text);
      if (missing !== undefined)
        found.addSignal(missing.signal, line, { value: missing.value, about: needle });
      // A warning counts where it names one of the faults: "W0613 … ucx_utils.cpp:43] Unexpected UCX error: Endpoint timeout".
      else if (isError) add(line, found, namedPathFault(line.text) ?? 'backend_error', needle);
      else if (!WAY_OUT.test(line.text)) add(line, found, namedPathFault(line.text), needle);
    }),
  ),
  ...TRANSFER_SENTENCES.map((needle) =>
    rule(needle, (line, found) => {
      if (isErrorOfGlog(line.text) || isBareLineOfGlog(line.text) || SYSTEM_REASON.test(line.text))
        add(line, found, namedPathFault(line.text), needle);
    }),
  ),
  ...PARTICULAR.map((needle) =>
    rule(needle, (line, found) => add(line, found, namedPathFault(line.text), needle.trim())),
  ),
  // MoRI: "… RegisterRdmaMemoryRegion failed! addr:0x7382…, accessFlag:15, errno:22 (Invalid argument)"; it tries one way and then another: "RegisterRdmaMemoryRegionAuto dmabuf registration failed (…)".
  rule('RegisterRdmaMemoryRegion', (line, found) => {
    if (/MemoryRegion\w{0,40} failed/.test(line.text))
      add(line, found, namedPathFault(line.text), 'RegisterRdmaMemoryRegion');
  }),
  ...UNFIT_CARDS.map(([needle, id]) =>
    rule(needle, (line, found) =>
      found.addSignal('card_unfit', line, { value: pathFaultValue(id, line.text), about: needle }),
    ),
  ),
  // The frames that are printed where a process ends inside Mooncake: "File "<unknown>", line 0, in mooncake::RdmaEndPoint::deconstruct()".
  rule(', line 0, in mooncake::', (line, found) =>
    found.addSignal('connector_crashed', line, { value: 'Mooncake', about: 'in mooncake::' }),
  ),
  rule('Please set max locked memory', (line, found) =>
    add(line, found, 'memory_limit', 'max locked memory'),
  ),
  // The others where a viewer colours the level. No shorter one for all: the shortest needle decides how fast all are looked for.
  ...[
    ' UCX  ERROR ',
    ...['31m', '91m', '33m', '1;31m', '0;31m', '01;31m'].map((code) => ` UCX  \u001b[${code}ERROR`),
  ].map((needle) =>
    rule(needle, (line, found) => {
      if (line.text.includes(' UCX  ERROR ') && !LOADS_MODULES.test(line.text))
        add(line, found, namedPathFault(line.text) ?? 'backend_error', 'UCX  ERROR');
    }),
  ),
  ...NIXL_ERRORS.map((needle) =>
    rule(needle, (line, found) => add(line, found, namedPathFault(line.text) ?? 'backend_error', needle)),
  ),
  // "NIXL ERROR   _api.py:300 Skipping backend registration UCX due to the missing plugin."
  rule('due to the missing plugin', (line, found) => {
    const missing = missingLibraryOf(line.text);
    if (missing !== undefined)
      found.addSignal(missing.signal, line, { value: missing.value, about: 'missing plugin' });
  }),
  ...PATH_EVENT_RULES,
  // TensorRT-LLM: "Cannot assign cache transfer buffer … left the buffer pool poisoned. The process must restart …".
  // Its ranks then: "Disagg KV cache transfer buffer is poisoned; process restart is required".
  ...['left the buffer pool poisoned', 'transfer buffer is poisoned'].map((needle) =>
    rule(needle, (line, found) => add(line, found, 'poisoned', needle)),
  ),
  rule('Error in kv cache transfer for', (line, found) =>
    add(line, found, 'peer_gone', 'Error in kv cache transfer for'),
  ),
  // Mooncake's interface for Python, at the level of information: "Sync batch data transfer timeout after 33061142969ns".
  rule('data transfer timeout after ', (line, found) =>
    found.addSignal('transfer_failed', line, { value: 'data transfer timeout', about: 'transfer timeout' }),
  ),
  ...['Failed to get kvcache from prefill instance', 'Failed to send kv chunk of'].map((needle) =>
    rule(needle, (line, found) => add(line, found, 'prefill_silent', needle)),
  ),
];

function add(line: LogLine, found: LogFindings, id: PathFaultId | undefined, about: string): void {
  if (id !== undefined)
    found.addSignal('transfer_path_broken', line, { value: pathFaultValue(id, line.text), about });
}
