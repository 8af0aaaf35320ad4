const MIB = 1024 * 1024;

/** The whole of it for people. */
export function textReport({ repositories, precision, sample }) {
  const lines = [];
  for (const { name, lint, inject, doctor } of repositories) {
    lines.push(`== ${name}`);
    if (lint !== undefined) {
      const { bySeverity } = lint;
      lines.push(
        `lint: ${lint.end} ${lint.code}, ${seconds(lint.ms)} (${seconds(lint.cpuMs)} of a core), ${mib(lint.peakBytes)}; ${['error', 'warning', 'note'].map((severity) => `${bySeverity[severity] ?? 0} ${severity}s`).join(', ')}`,
      );
      lines.push(...table(lint.byRule));
      if (Object.keys(lint.unreadable ?? {}).length > 0)
        lines.push('  unreadable:', ...table(lint.unreadable, '    '));
      if (lint.said !== '') lines.push(...lint.said.split('\n').map((line) => `  | ${line}`));
    }
    if (inject !== undefined) {
      lines.push(
        `inject: ${inject.files} files, ${inject.changed} changed, ${inject.roundTrips} round trips, ${inject.broken.length} broken, ${inject.unstable.length} changed again by a second run, ${inject.crashes.length} crashes, ${seconds(inject.ms)}`,
      );
      lines.push(...table(inject.kinds));
      if (Object.keys(inject.refusals).length > 0)
        lines.push('  refused:', ...table(inject.refusals, '    '));
      for (const file of inject.broken) lines.push(`  broken: ${file}`);
      for (const crash of inject.crashes) lines.push(`  crash: ${JSON.stringify(crash)}`);
    }
    if (doctor !== undefined) {
      lines.push(`doctor: ${doctor.logs} logs, ${doctor.read.length} read, ${doctor.crashes.length} crashes`);
      lines.push(...table(doctor.byVerdict), ...table(doctor.byCause));
      for (const { file, end } of doctor.crashes) lines.push(`  crash: ${file} (${end})`);
    }
    lines.push('');
  }
  if (precision !== undefined) lines.push(...precisionTable(precision), '');
  lines.push(`== ${sample.length} findings to judge`, '');
  for (const finding of sample) {
    const { id, name, file, line, severity, rule, message, advice, hasFix } = finding;
    lines.push(
      `${id} ${name} ${file}:${line} ${severity} ${rule}${hasFix ? ' (fix)' : ''}`,
      `  ${message}`,
      `  -> ${advice}`,
      ...finding.lines,
      '',
    );
  }
  return `${lines.join('\n')}\n`;
}

function precisionTable({ rows, errors, errorsButUnreadable, all }) {
  const share = ({ share: value }) => (value === undefined ? 'not judged' : `${(100 * value).toFixed(1)} %`);
  const sum = (name, one) =>
    `${name}: ${share(one)} right (${one.right} of ${one.judged} judged, ${one.found} found)`;
  return [
    '== precision',
    ...rows.map(
      ({ rule, severity, found, right, wrong }) =>
        `  ${`${rule} ${severity}`.padEnd(42)} ${String(found).padStart(6)} found  ${String(right).padStart(5)} right  ${String(wrong).padStart(5)} wrong`,
    ),
    sum('errors', errors),
    sum('errors without unreadable', errorsButUnreadable),
    sum('all, weighted by class', all),
  ];
}

function table(counts, indent = '  ') {
  return Object.entries(counts).map(([word, count]) => `${indent}${String(count).padStart(6)}  ${word}`);
}

function seconds(ms) {
  return ms === undefined ? 'time not known' : `${(ms / 1_000).toFixed(1)} s`;
}

function mib(bytes) {
  return bytes === undefined ? 'memory not known' : `${Math.round(bytes / MIB)} MiB`;
}
