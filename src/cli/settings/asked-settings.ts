/** What a command has that asks one running process and shows its answer. */
export const askedSettings = {
  timeout: {
    kind: 'duration',
    default: '5s',
    min: '100ms',
    max: '1h',
    group: 'Output',
    help: 'Longest wait for the first answer.',
  },
} as const;
