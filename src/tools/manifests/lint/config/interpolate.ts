/** What Compose puts in for a variable: https://docs.docker.com/reference/compose-file/interpolation/ */
const VARIABLE = /\$\$|\$\{([A-Za-z_]\w*)(?:(:?[-+?])([^}]*))?\}|\$([A-Za-z_]\w*)/g;

/** The text with its variables, or their defaults; undefined where one is not known and has none. */
export function interpolate(text: string, lookUp: (name: string) => string | undefined): string | undefined {
  let isKnown = true;
  const result = text.replace(
    VARIABLE,
    (
      whole,
      braced: string | undefined,
      operator: string | undefined,
      operand: string | undefined,
      plain: string | undefined,
    ) => {
      if (whole === '$$') return '$';
      const value = lookUp(braced ?? plain ?? '');
      const isSet = value !== undefined && (value !== '' || operator?.startsWith(':') !== true);
      // `${NAME:+other}` is empty where nothing is set.
      if (operator?.endsWith('+')) return isSet ? (operand ?? '') : '';
      if (isSet) return value;
      if (operator?.endsWith('-')) return operand ?? '';
      isKnown = false;
      return '';
    },
  );
  return isKnown ? result : undefined;
}
