/** What YAML's parser says, with line and column, without the picture of the line that follows. */
export function firstLineOf(error: { readonly message: string }): string {
  const [line = ''] = error.message.split('\n', 1);
  return line.replace(/:$/, '');
}
