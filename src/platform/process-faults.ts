/**
 * Calls `onFault` with what nobody caught, whether thrown or rejected, in
 * place of the platform's own end with a stack trace.
 */
export function listenForFaults(onFault: (error: unknown) => void): void {
  process.on('uncaughtException', onFault);
  process.on('unhandledRejection', onFault);
}
