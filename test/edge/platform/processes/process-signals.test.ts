import { expect, test } from 'vitest';
import {
  abortOnStopSignals,
  exitCodeOfSignal,
  exitOnStopSignals,
  StoppedBySignal,
} from '../../../../src/edge/platform/processes/process-signals.js';

test('the first stop signal aborts with its name, the second ends the process immediately', () => {
  const exits: number[] = [];
  let send: (signal: NodeJS.Signals) => void = () => {};
  let isListening = true;
  const controller = new AbortController();
  const stop = abortOnStopSignals(controller, {
    listenForSignals: (signals, onSignal) => {
      expect(signals).toEqual(['SIGTERM', 'SIGINT', 'SIGHUP']);
      send = onSignal;
      return () => {
        isListening = false;
      };
    },
    exit: (code) => void exits.push(code),
  });
  expect(controller.signal.aborted).toBe(false);
  send('SIGTERM');
  expect(controller.signal.reason).toBeInstanceOf(StoppedBySignal);
  expect((controller.signal.reason as StoppedBySignal).signal).toBe('SIGTERM');
  expect(exits).toEqual([]);
  send('SIGINT');
  expect(exits).toEqual([130]);
  stop();
  expect(isListening).toBe(false);
});

test('where nothing is left to end in order, the first stop signal ends the process immediately', () => {
  const exits: number[] = [];
  exitOnStopSignals({
    listenForSignals: (signals, onSignal) => {
      for (const signal of signals) onSignal(signal);
      return () => undefined;
    },
    exit: (code) => void exits.push(code),
  });
  expect(exits).toEqual([143, 130, 129]);
});

test('exit codes of signals are 128+n', () => {
  expect([exitCodeOfSignal('SIGINT'), exitCodeOfSignal('SIGTERM'), exitCodeOfSignal('SIGKILL')]).toEqual([
    130, 143, 137,
  ]);
});
