// Is loaded into a program that is measured: at its end it writes what it used into FIELD_USAGE_FILE.
import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  // maxRSS is in KiB, times in microseconds.
  const usage = { peakBytes: maxRSS * 1024, cpuMs: Math.round((userCPUTime + systemCPUTime) / 1_000) };
  writeFileSync(process.env.FIELD_USAGE_FILE, JSON.stringify(usage));
});
