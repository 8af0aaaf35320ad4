/** `--with` of the commands that read manifests. It stands apart from what reads the files, so that no other command loads that. */
export const withSettings = {
  with: {
    kind: 'list',
    item: 'source',
    placeholder: '[PATH=]FILE',
    group: 'Input',
    help: "A file that programs of the manifests read and that is in their image or beside them: an engine's YAML, LMCache's, an .env file. It stands for every path that ends in its name, or for PATH. Repeat it for each.",
  },
} as const;
